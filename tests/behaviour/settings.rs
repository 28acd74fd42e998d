//! Flags, variables, files: what wins, and what they do.

use serde_json::json;

use crate::support::{Mission, Running, Workspace, attempts, standing, task};

const EVALUATED: &str = "
name: evaluated
agents:
  worker: {run: echo work}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
settings: {evalThreshold: 70}
tasks: [{title: work, assignTo: worker}]
";

/// The bar of the task, and who said so, when it scores 100.
fn bar(config: &str, variables: &[(&str, &str)], flags: &[&str]) -> (f64, String) {
    let workspace = Workspace::with(&EVALUATED.replace("settings: {evalThreshold: 70}", config));
    workspace.judge("judge", &["SCORE: 100"]);
    let arguments = [&["run", "mission.yaml", "--json"], flags].concat();
    let document = workspace.quorum_with(variables, &arguments).exits(0).json();
    let work = task(&document, "work");
    (work["bar"].as_f64().unwrap(), work["barOrigin"].as_str().unwrap().to_owned())
}

#[test]
fn flag_beats_variable_beats_mission_beats_default() {
    let mission = "settings: {evalThreshold: 70}";
    assert_eq!(bar("", &[], &[]), (60.0, "default".into()));
    assert_eq!(bar(mission, &[], &[]), (70.0, "mission".into()));
    let variable = [("EVAL_THRESHOLD", "80")];
    assert_eq!(bar(mission, &variable, &[]), (80.0, "environment".into()));
    assert_eq!(bar(mission, &[("QUORUM_EVAL_THRESHOLD", "4.5")], &[]), (90.0, "environment".into()));
    assert_eq!(bar(mission, &variable, &["--eval-threshold", "10/100"]), (10.0, "flag".into()));
}

#[test]
fn mission_beats_project_beats_user() {
    let tell = |mission: &str, project: bool| {
        let workspace = Workspace::with(&EVALUATED.replace("settings: {evalThreshold: 70}", mission));
        workspace.judge("judge", &["SCORE: 100"]);
        workspace.write("home/.config/quorum/quorum.yaml", "settings: {evalThreshold: 30}\n");
        if project {
            workspace.write("quorum.yaml", "settings: {evalThreshold: 50}\n");
        }
        task(&workspace.run_json(0, &[]), "work")["bar"].clone()
    };
    assert_eq!(tell("settings: {evalThreshold: 70}", true), 70.0);
    assert_eq!(tell("", true), 50.0);
    assert_eq!(tell("", false), 30.0);
}

#[test]
fn a_projects_agents_and_state_are_found_from_below() {
    let workspace = Workspace::new();
    workspace.write("quorum.yaml", "agents: {worker: {run: echo work}}\n");
    workspace.write("deep/down/mission.yaml", "name: below\ntasks: [{title: work}]\n");
    let mut command = workspace.command(&["run", "mission.yaml", "--json"]);
    command.current_dir(workspace.path("deep/down"));
    let document = Running::start(command).finish().exits(0).json();
    assert_eq!(task(&document, "work")["agent"], "worker");
    assert!(workspace.exists(".polpo/runs"));
}

#[test]
fn the_score_is_held_against_the_resolved_bar() {
    for (score, threshold, code) in [("69.9", "3.5", 5), ("70", "3.5", 0), ("10", "10/100", 0)] {
        let workspace = Workspace::with(EVALUATED);
        workspace.judge("judge", &[&format!("SCORE: {score}")]);
        workspace.run_json(code, &["--eval-threshold", threshold]);
    }
}

#[test]
fn evaluation_is_switched_off_by_variable_too() {
    for value in ["off", "OFF", "false", "0", "no"] {
        let workspace = Workspace::with(EVALUATED);
        let finished = workspace.quorum_with(&[("EVAL", value)], &["run", "mission.yaml", "--json"]).exits(0);
        assert_eq!(standing(&finished.json(), "work"), ("done", "unreviewed"), "{value}");
        assert_eq!(workspace.calls("judge"), 0);
    }
    let workspace = Workspace::with(EVALUATED);
    workspace.judge("judge", &["SCORE: 90"]);
    workspace.quorum_with(&[("EVAL", "on")], &["run", "mission.yaml"]).exits(0);
    assert_eq!(workspace.calls("judge"), 1);
}

#[test]
fn allow_removes_one_condition_and_says_so() {
    let mission = "
name: several
agents:
  worker: {run: echo work}
  breaker: {run: exit 1}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
tasks:
  - {title: poor, assignTo: worker}
  - {title: broken, assignTo: breaker, maxAttempts: 1}
";
    for (allow, code) in [
        (&[][..], 3),
        (&["--allow", "task_failed"], 5),
        (&["--allow", "below_threshold"], 3),
        (&["--allow", "task_failed", "--allow", "below_threshold"], 0),
        (&["--allow", "task_failed,below_threshold"], 0),
    ] {
        let workspace = Workspace::with(mission);
        workspace.judge("judge", &["SCORE: 10"]);
        let document = workspace.run_json(code, allow);
        assert_eq!(document["conditions"], json!(["task_failed", "below_threshold"]));
        let allowed = document["allowed"].as_array().unwrap();
        assert_eq!(allowed.is_empty(), allow.is_empty());
        workspace.quorum(&["status", "--exit-code"]).exits(code);
    }
}

#[test]
fn unreviewed_work_is_indeterminate_when_strict() {
    let workspace = Mission::new().worker("true").tasks(["work"]).workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(document["counts"]["unreviewed"], 1);
    let document = workspace.run_json(6, &["--strict"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    workspace.quorum_with(&[("QUORUM_STRICT", "true")], &["run", "mission.yaml"]).exits(6);
}

#[test]
fn max_attempts_caps_every_kind_of_attempt() {
    let checked = "
name: capped
agents: {worker: {run: 'echo x >> log'}}
tasks: [{title: work, expectations: [{type: test, command: 'false'}]}]
";
    for (flags, expected) in [(&[][..], 12), (&["--max-attempts", "1"], 1), (&["--max-attempts", "5"], 5)] {
        let workspace = Workspace::with(checked);
        workspace.run_json(3, flags);
        assert_eq!(workspace.lines("log").len(), expected);
    }
    let workspace = Workspace::with(EVALUATED);
    workspace.judge("judge", &["SCORE: 30"]);
    let document = workspace.run_json(5, &["--max-attempts", "4"]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix", "fix", "retry"]);
}

/// Tasks that say when they begin and end.
fn concurrent(settings: &str, tasks: &str) -> Workspace {
    Workspace::with(&format!(
        "
name: at once
agents:
  worker: {{run: 'echo + >> log; sleep 0.05; echo - >> log'}}
  single: {{run: 'echo + >> log; sleep 0.05; echo - >> log', maxConcurrent: 1}}
settings: {{{settings}}}
tasks: [{tasks}]
"
    ))
}

fn most_at_once(workspace: &Workspace) -> usize {
    let mut now = 0;
    let counts = workspace.lines("log").into_iter().map(|line| {
        now = if line == "+" { now + 1 } else { now - 1 };
        now
    });
    counts.max().unwrap_or(0)
}

fn tasks(agent: &str, more: &str, range: std::ops::Range<u32>) -> String {
    let one = |n| format!("{{title: t{n}, assignTo: {agent}{more}}}");
    range.map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn no_more_tasks_run_at_once_than_allowed() {
    let workspace = concurrent("concurrency: 2", &tasks("worker", "", 0..6));
    workspace.run_json(0, &[]);
    assert!(most_at_once(&workspace) <= 2);
    let workspace = concurrent("concurrency: 6", &tasks("worker", "", 0..6));
    workspace.run_json(0, &["-j", "1"]);
    assert_eq!(most_at_once(&workspace), 1);
    let workspace = concurrent("concurrency: 6", &tasks("single", "", 0..4));
    workspace.run_json(0, &[]);
    assert_eq!(most_at_once(&workspace), 1);
}

#[test]
fn many_tasks_do_run_at_once() {
    // Each waits until all four are there: with fewer at a time it would never end.
    let workspace = Workspace::with(&format!(
        "
name: together
agents: {{worker: {{run: 'echo here >> log; while [ \"$(wc -l < log)\" -lt 4 ]; do sleep 0.02; done'}}}}
tasks: [{}]
",
        tasks("worker", "", 0..4)
    ));
    workspace.run_json(0, &["-j", "4", "--timeout", "4m"]);
}

#[test]
fn an_exclusive_task_runs_alone() {
    let all = format!(
        "{}, {}, {}",
        tasks("worker", "", 0..2),
        tasks(
            "worker",
            ", exclusive: true, expectations: [{type: script, command: 'echo c >> log; sleep 0.05; echo d >> log'}]",
            2..3
        ),
        tasks("worker", "", 3..5)
    );
    let workspace = concurrent("concurrency: 8", &all);
    workspace.run_json(0, &[]);
    let log = workspace.lines("log").join("");
    // Its work and its judging, with nothing in between.
    assert!(log.contains("+-cd"), "{log}");
    let (before, after) = log.split_once("+-cd").unwrap();
    for part in [before, after] {
        assert_eq!(part.matches('+').count(), part.matches('-').count(), "{log}");
    }
}

#[test]
fn ready_tasks_start_by_priority_and_then_in_order() {
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "@agents/logger.sh", "log"]}))
        .tasks(["normal"])
        .task("low", |t| t.set("priority", 0.5))
        .tasks(["also-normal"])
        .task("high", |t| t.set("priority", 10))
        .workspace();
    workspace.run_json(0, &["-j", "1"]);
    assert_eq!(workspace.lines("log"), ["high 1 1", "normal 1 1", "also-normal 1 1", "low 1 1"]);
}

#[test]
fn a_mission_may_come_from_standard_input() {
    let workspace = Workspace::new();
    workspace.write("text", "name: piped\nagents: {worker: {run: 'echo x >> log'}}\ntasks: [{title: one}]\n");
    let document = workspace.bash("exec \"$0\" run - --json < text").exits(0).json();
    assert_eq!(standing(&document, "one").0, "done");
    assert_eq!(workspace.lines("log").len(), 1);
}

#[test]
fn flags_of_resume_override_and_are_remembered() {
    let workspace =
        Mission::new().worker("echo work").reviewer("judge", "exit 1").tasks(["work"]).workspace();
    workspace.run_json(6, &["--strict", "--run-id", "r1"]);
    let document = workspace.resume_json(6, &["--no-eval"]);
    assert_eq!(standing(&document, "work"), ("done", "unreviewed"));
    assert_eq!(document["conditions"], json!(["indeterminate"]));
    assert_eq!(workspace.status()["exitCode"], 6);
}

#[test]
fn a_gate_over_nothing_is_refused() {
    let workspace = Mission::new()
        .worker("touch touched")
        .key("qualityGates", json!([{"name": "door", "blocksTasks": ["work"], "minScore": 4}]))
        .tasks(["work"])
        .workspace();
    workspace.refuses(&["door", "afterTasks"]);
}

#[test]
fn fail_fast_starts_nothing_after_a_failure_and_leaves_the_rest_resumable() {
    let workspace = Mission::new()
        .agent("bad", "exit 1")
        .agent("good", "echo >> ran")
        .task("first", |t| t.set("priority", 2).attempts(1))
        .task("second", |t| t.by("good").unreviewed())
        .workspace();
    let document = workspace.run_json(3, &["-j", "1", "--fail-fast"]);
    assert_eq!(standing(&document, "second").0, "pending");
    assert_eq!((document["resumable"].as_bool(), workspace.exists("ran")), (Some(true), false));
    let document = workspace.resume_json(3, &[]);
    assert_eq!(standing(&document, "second").0, "done");
}

#[test]
fn settings_that_are_no_regular_file_are_refused_before_anything_starts() {
    let makes: [(&str, &str); 4] = [
        ("a FIFO", "mkfifo \"$1\""),
        ("a link to a FIFO", "mkfifo \"$1.fifo\" && ln -s \"$1.fifo\" \"$1\""),
        ("a folder", "mkdir \"$1\""),
        ("a link to nothing", "ln -s nowhere \"$1\""),
    ];
    for place in ["quorum.yaml", "home/.config/quorum/quorum.yaml"] {
        for (what, make) in makes {
            let workspace = Mission::new().agent("a", "touch touched").tasks(["work"]).workspace();
            let path = workspace.path(place);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let made = workspace.other_command("sh").args(["-c", make, "sh"]).arg(&path).status();
            assert!(made.unwrap().success(), "{what}");
            workspace.refuses(&["quorum.yaml", "cannot read the settings"]);
        }
    }
}
