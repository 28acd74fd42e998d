//! `--only`: a part of a mission, which never looks like the whole.

use serde_json::{Value, json};

use crate::support::{Has, Mission, Says, Workspace, gate, standing};

/// Two chains, a gate between them, a task with a comma in its title, and one that would fail.
const MISSION: &str = "
name: parts
agents:
  worker: {run: 'echo $QUORUM_TASK >> log'}
  weak: {run: 'echo $QUORUM_TASK >> log; exit 1'}
tasks:
  - {title: ground, assignTo: worker, review: none}
  - {title: wall, assignTo: worker, dependsOn: [ground], review: none}
  - {title: roof, assignTo: worker, review: none}
  - {title: 'doors, windows', assignTo: worker, review: none}
  - {title: garden, assignTo: weak, maxAttempts: 1, review: none}
  - {title: party, assignTo: worker, review: none}
qualityGates:
  - {name: built, afterTasks: [wall], blocksTasks: [roof], requireAllPassed: true}
  - {name: pretty, afterTasks: [roof, garden], blocksTasks: [party], requireAllPassed: true}
";

fn log(workspace: &Workspace) -> Vec<String> {
    let mut log = workspace.lines("log");
    log.sort();
    log
}

fn counts(document: &Value) -> [u64; 4] {
    ["total", "done", "pending", "notTaken"].map(|key| document["counts"][key].as_u64().unwrap())
}

#[test]
fn what_is_selected_runs_with_all_that_it_needs() {
    let workspace = Workspace::with(MISSION);
    let document = workspace.run_json(0, &["--only", "roof"]);
    assert_eq!(log(&workspace), ["ground", "roof", "wall"]);
    assert_eq!(counts(&document), [6, 3, 0, 3]);
    assert_eq!((&document["state"], &document["resumable"]), (&json!("ended"), &json!(false)));
    assert_eq!(standing(&document, "garden").0, "notTaken");
    assert_eq!(gate(&document, "built")["state"], "passed");
    assert_eq!(gate(&document, "pretty")["state"], "notTaken");
    workspace.quorum(&["resume"]).exits(0).says(&["nothing to resume"]);
    workspace.quorum(&["gate"]).exits(0);
    workspace.quorum(&["gate", "pretty"]).exits(2).says(&["not evaluated", "--only"]);
    workspace.quorum(&["cancel", "garden", "--yes"]).exits(4);
}

#[test]
fn a_part_says_everywhere_that_it_is_one() {
    let workspace = Workspace::with(MISSION);
    let finished = workspace
        .quorum(&[
            "run",
            "mission.yaml",
            "--only",
            "wall",
            "--report",
            "junit=junit.xml",
            "--report",
            "markdown=report.md",
            "--report",
            "html=report.html",
        ])
        .exits(0);
    let left_out = "ONLY A PART: 4 of 6 tasks left out (--only)";
    assert!(finished.stdout.contains(left_out), "{}", finished.stdout);
    assert!(finished.stdout.contains("tasks: 2 of 2 done, 4 not selected"), "{}", finished.stdout);
    let status = workspace.quorum(&["status"]).exits(0).stdout;
    assert!(status.contains(left_out), "{status}");
    let text = status.lines().find(|line| line.contains("garden")).expect("it is listed");
    text.says(&["not selected"]).omits(&["pending"]);
    for report in ["report.md", "report.html"] {
        assert!(workspace.read(report).contains("4 of 6 tasks left out"), "{report}");
    }
    let junit = workspace.read("junit.xml");
    assert_eq!(junit.matches("not selected (--only)").count(), 4, "{junit}");
    workspace.quorum(&["runs"]).exits(0).shows(&["2/2 of 6"]);
    let created = workspace.events().into_iter().filter(|event| event["event"] == "task:created");
    assert_eq!(created.count(), 2);
}

#[test]
fn only_what_is_selected_decides_the_outcome() {
    let workspace = Workspace::with(MISSION);
    workspace.run_json(3, &["--only", "garden"]);
    assert_eq!(log(&workspace), ["garden"]);
    // A failure of what is left out cannot reach it, and its dependents are not failed by what they need.
    let workspace = Workspace::with(
        &MISSION
            .replace("{title: ground, assignTo: worker", "{title: ground, assignTo: weak, maxAttempts: 1"),
    );
    let document = workspace.run_json(3, &["--only", "ground"]);
    assert_eq!(standing(&document, "wall").0, "notTaken");
    assert_eq!(document["counts"]["failed"], 1);
}

#[test]
fn the_mission_threshold_counts_what_is_selected() {
    let workspace = Mission::new()
        .worker("true")
        .reviewer("judge", "case $(cat) in *zebra*) echo SCORE: 90;; *) echo SCORE: 60;; esac")
        .key("qualityThreshold", 4)
        .tasks(["zebra", "bad"])
        .workspace();
    let document = workspace.run_json(0, &["--only", "zebra"]);
    assert_eq!(document["missionScore"]["points"], 90.0);
    workspace.run_json(5, &[]);
}

#[test]
fn names_come_one_by_one_in_a_row_or_with_commas() {
    for (variables, flags) in [
        (&[][..], &["--only", "ground", "--only", "doors, windows"][..]),
        (&[], &["--only", "ground", "doors, windows"]),
        (&[], &["--only=doors, windows", "--only=ground"]),
        (&[("QUORUM_ONLY", "doors, windows")], &[]),
        (&[("QUORUM_ONLY", "wall, ground")], &["--only", "doors, windows"]),
    ] {
        let workspace = Workspace::with(MISSION);
        let arguments = [&["run", "mission.yaml"], flags].concat();
        workspace.quorum_with(variables, &arguments).exits(0);
        assert!(log(&workspace).contains(&"doors, windows".to_owned()), "{flags:?}");
        assert!(!log(&workspace).contains(&"wall".to_owned()), "{flags:?}");
    }
    let workspace = Workspace::with(MISSION);
    workspace.quorum_with(&[("QUORUM_ONLY", "ground, garden")], &["run", "mission.yaml"]).exits(3);
    assert_eq!(log(&workspace), ["garden", "ground"]);
}

#[test]
fn an_unknown_title_is_a_usage_error_before_anything_starts() {
    let workspace = Workspace::with(MISSION);
    for command in ["run", "plan"] {
        let ended = workspace.quorum(&[command, "mission.yaml", "--only", "wal"]).exits(2);
        ended.says(&["'wal'", "did you mean 'wall'?"]);
        workspace.quorum(&[command, "mission.yaml", "--only", "wall,"]).exits(2);
        workspace.quorum(&[command, "mission.yaml", "--only", ""]).exits(2);
    }
    // The flag takes every word up to the next one.
    let ended = workspace.quorum(&["run", "--only", "wall", "mission.yaml"]).exits(2);
    ended.says(&["quorum run MISSION --only TASK"]);
    assert_eq!(log(&workspace).len(), 0);
    assert_eq!(workspace.run_folders().len(), 0);
}

#[test]
fn a_plan_shows_the_part_that_would_run() {
    let workspace = Workspace::with(MISSION);
    let plan = ["plan", "mission.yaml", "--only", "wall"];
    let document = workspace.quorum(&[&plan[..], &["--json"]].concat()).exits(0).json();
    document.has(json!({"waves": [["ground"], ["wall"]], "notTaken": 4, "worstCase": {"attempts": 8}}));
    workspace.quorum(&plan).exits(0).shows(&["only a part: 4 tasks left out (--only)"]).hides(&["garden"]);
    for format in ["dot", "mermaid"] {
        let ended = workspace.quorum(&[&plan[..], &["--format", format]].concat()).exits(0);
        ended.shows(&["ground", "wall"]).hides(&["garden", "t2"]);
    }
}

#[test]
fn a_resumed_run_keeps_its_selection_and_is_in_nobodys_way_outside_it() {
    let workspace = Workspace::with(
        "
name: parts
agents: {worker: {run: 'echo $QUORUM_TASK >> log; echo > started; while [ ! -e go ]; do sleep 0.02; done'}}
tasks:
  - {title: one, review: none}
  - {title: two, dependsOn: [one], review: none}
  - {title: three, review: none}
",
    );
    workspace.kill_at(&["run", "mission.yaml", "--only", "two", "--run-id", "r1"], "started");
    workspace.write("go", "");
    // The other part may run meanwhile; the same part may not.
    workspace.quorum(&["run", "mission.yaml", "--only", "two"]).exits(9);
    workspace.quorum(&["run", "mission.yaml", "--only", "three"]).exits(0);
    let document = workspace.resume_json(0, &["r1"]);
    assert_eq!(counts(&document), [3, 2, 0, 1]);
    assert_eq!(log(&workspace), ["one", "three", "two"]);
    // What a change adds outside of the selection stays outside.
    let text = workspace.read("mission.yaml");
    workspace.write("mission.yaml", format!("{text}  - {{title: four, review: none}}\n"));
    let document = workspace.resume_json(0, &["r1", "--accept-changed-mission"]);
    assert_eq!(counts(&document), [4, 2, 0, 2]);
    // Without anything that it was told to take there is nothing to go on with.
    workspace.write("mission.yaml", text.replace("title: two", "title: zwei"));
    workspace.quorum(&["resume", "r1", "--accept-changed-mission"]).exits(2).says(&["--only two"]);
}
