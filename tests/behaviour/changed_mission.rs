//! A mission file that was changed after its run started: refused with the difference, or accepted by a person.

use serde_json::{Value, json};

use crate::support::journal;
use crate::support::{Has, Says, Workspace, attempts, gate, standing, task};

/// A chain of two, a gate over its first, a task behind the gate, and one that fails.
const MISSION: &str = "
name: grows
agents:
  worker: {run: [/bin/sh, '@agents/logger.sh', log]}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge]}
  weak: {run: 'echo weak $QUORUM_ATTEMPT >> log; exit 1'}
tasks:
  - {title: base, assignTo: worker, description: as it was, expectations: [{type: llm_review, threshold: 3, reviewers: [judge], dimensions: [{name: x, weight: 1}]}]}
  - {title: upper, assignTo: worker, dependsOn: [base], review: none}
  - {title: beside, assignTo: worker, review: none}
  - {title: behind, assignTo: worker, review: none}
  - {title: weak, assignTo: weak, maxAttempts: 1, review: none}
qualityGates:
  - {name: door, afterTasks: [base], blocksTasks: [behind], minScore: 3}
";

/// The mission has run: all is done but `weak`, which failed.
fn ended() -> Workspace {
    let workspace = Workspace::with(MISSION);
    workspace.judge("judge", &[r#"{"scores": {"x": {"reasoning": "r", "score": 4}}}"#]);
    workspace.run_json(3, &["--run-id", "r1", "-j", "1"]);
    let mut log = workspace.lines("log");
    log.sort();
    assert_eq!(log, ["base 1 1", "behind 1 1", "beside 1 1", "upper 1 1", "weak 1"]);
    workspace.write("log", "");
    workspace
}

/// Works until `go` is there.
const WAITS: &str = "
name: waits
agents:
  worker: {run: 'echo $QUORUM_TASK $QUORUM_ATTEMPT $QUORUM_TURN >> log; echo > started; while [ ! -e go ]; do sleep 0.02; done'}
tasks:
  - {title: first, description: old words, review: none}
  - {title: second, dependsOn: [first], review: none}
";

/// The mission was interrupted by a crash in its first task.
fn crashed() -> Workspace {
    let workspace = Workspace::with(WAITS);
    workspace.kill_at(&["run", "mission.yaml", "--run-id", "r1"], "started");
    workspace
}

fn change(workspace: &Workspace, from: &str, to: &str) {
    let text = workspace.read("mission.yaml");
    assert!(text.contains(from), "{from}");
    workspace.write("mission.yaml", text.replace(from, to));
}

fn sorted_log(workspace: &Workspace) -> Vec<String> {
    let mut log = workspace.lines("log");
    log.sort();
    log
}

fn changes(workspace: &Workspace) -> Vec<Value> {
    workspace.events().named("mission:changed")
}

#[test]
fn a_changed_mission_is_refused_with_the_difference() {
    let workspace = crashed();
    let before = std::fs::read(workspace.journal()).unwrap();
    change(&workspace, "old words", "new words");
    workspace.write("go", "");
    let difference = [
        "-  - {title: first, description: old words",
        "+  - {title: first, description: new words",
        "   - {title: second",
        "quorum resume r1 --accept-changed-mission",
        "runs/r1/mission.yaml",
    ];
    for flags in [&["resume"][..], &["resume", "--redo", "first"], &["resume", "--retry-failed"]] {
        workspace.quorum(flags).exits(2).says(&difference);
    }
    let document = workspace.quorum(&["resume", "--json"]).exits(2).json();
    document["details"].says(&["+  - {title: first, description: new words"]);
    assert_eq!(std::fs::read(workspace.journal()).unwrap(), before, "nothing has happened");

    // Undone, or gone: what was started goes on.
    change(&workspace, "new words", "old words");
    std::fs::rename(workspace.path("mission.yaml"), workspace.path("away.yaml")).unwrap();
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["counts"]["done"], 2);
}

#[test]
fn an_accepted_change_does_again_what_depends_on_it_and_nothing_else() {
    let workspace = ended();
    change(&workspace, "as it was", "as it is now");
    let finished = workspace.quorum(&["resume", "--accept-changed-mission", "--json"]).exits(3).says(&[
        "+  - {title: base, assignTo: worker, description: as it is now",
        "changed: base",
        "done again, because built on what was changed: upper, behind",
        "gates that are evaluated again: door",
    ]);
    let document = finished.json();
    assert_eq!(sorted_log(&workspace), ["base 2 1", "behind 2 1", "upper 2 1"]);
    assert_eq!(attempts(&document, "base"), ["execute", "execute"]);
    assert_eq!(standing(&document, "beside").0, "done");
    assert_eq!(standing(&document, "weak").0, "failed");
    assert_eq!(gate(&document, "door")["state"], "passed");
    assert!(workspace.asked("judge", 2).contains("as it is now"));
    assert!(!workspace.asked("judge", 1).contains("as it is now"));

    // The first text lies beside the second, and the file is the mission of the run now.
    let folder = workspace.run_folder();
    let frozen = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(frozen("mission.yaml").contains("as it was"));
    assert_eq!(frozen("mission.2.yaml"), workspace.read("mission.yaml"));
    workspace.quorum(&["resume"]).exits(3).says(&["nothing to resume"]);
    let accepted = changes(&workspace);
    assert_eq!(accepted.len(), 1);
    accepted[0].has(json!({"changed": ["base"], "number": 2}));
}

#[test]
fn tasks_are_added_and_removed_and_every_reader_follows() {
    let workspace = ended();
    change(&workspace, "  - {title: beside, assignTo: worker, review: none}\n", "");
    change(
        &workspace,
        "  - {title: weak, assignTo: weak, maxAttempts: 1, review: none}\n",
        "  - {title: fresh, assignTo: worker, dependsOn: [upper], review: none}\n",
    );
    change(&workspace, "  weak: {run: 'echo weak $QUORUM_ATTEMPT >> log; exit 1'}\n", "");
    let shown = workspace.quorum(&["resume", "--accept-changed-mission"]).exits(0);
    shown.says(&["added: fresh", "removed: beside, weak"]);
    assert_eq!(sorted_log(&workspace), ["fresh 1 1"]);
    let document = workspace.status();
    let counts = &document["counts"];
    assert_eq!(
        [&counts["total"], &counts["done"], &counts["failed"], &counts["notTaken"]],
        [&json!(4), &json!(4), &json!(0), &json!(0)]
    );
    let titles: Vec<_> = document["tasks"].as_array().unwrap().iter().map(|task| &task["title"]).collect();
    assert_eq!(titles, ["base", "upper", "behind", "fresh"]);
    assert_eq!(document["outcome"], "ok");

    // What is gone can still be looked at, and the events before the change are told as they were.
    workspace.quorum(&["show", "weak"]).exits(0);
    workspace.quorum(&["logs", "beside"]).exits(0).shows(&["did beside"]);
    let events = workspace.events();
    let failed = events.iter().find(|event| event["title"] == "weak" && event["to"] == "failed");
    assert!(failed.is_some());
    let created: Vec<_> = events.iter().filter(|event| event["event"] == "task:created").collect();
    assert_eq!(created.len(), 6);
    assert_eq!(created[5]["title"], "fresh");
    for command in [
        &["metrics", "--json"][..],
        &["runs", "--json"],
        &["status"],
        &["events"],
        &["gate"],
        &[
            "report",
            "--junit",
            "junit.xml",
            "--markdown",
            "report.md",
            "--html",
            "report.html",
            "--json",
            "report.json",
        ],
    ] {
        workspace.quorum(command).exits(0);
    }
    for report in ["junit.xml", "report.html"] {
        assert!(!workspace.read(report).contains("weak"), "{report}");
        assert!(workspace.read(report).contains("fresh"), "{report}");
    }
    workspace.quorum(&["runs"]).exits(0).shows(&["4/4"]);
}

#[test]
fn a_failed_task_whose_definition_changed_is_tried_again() {
    let workspace = ended();
    change(&workspace, "; exit 1'", "; exit 0'");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(standing(&document, "weak").0, "done");
    assert_eq!(sorted_log(&workspace), ["weak 2"]);
}

#[test]
fn work_that_would_lie_elsewhere_is_done_again() {
    for (from, to) in [
        ("name: elsewhere", "name: elsewhere\nisolation: copy"),
        ("title: A", "title: A, isolation: temp"),
        ("name: elsewhere", "name: elsewhere\nisolation: worktree"),
        ("title: A", "title: A, isolation: worktree"),
        ("title: A", "title: A, workspace: sub"),
        ("name: elsewhere", "name: elsewhere\nworkspace: sub"),
    ] {
        let workspace = Workspace::with(
            "
name: elsewhere
agents: {a: {run: 'echo $QUORUM_TASK >> \"TOP/log\"; mkdir -p sub; echo x > $QUORUM_TASK.txt'}}
settings: {evaluate: false}
tasks:
  - {title: A, targetFiles: [A.txt]}
  - {title: B, dependsOn: [A], requiresApproval: true}
",
        );
        let top = workspace.root().display().to_string();
        let workspace = workspace.tap_mission("TOP", &top);
        workspace
            .bash(
                "git init -q . && printf '.polpo\nhome\nlog\n' > .gitignore && git add -A &&
            git -c user.name=a -c user.email=a@example.org commit -qm base",
            )
            .exits(0);
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
        change(&workspace, from, to);
        workspace.bash("git -c user.name=a -c user.email=a@example.org commit -qam changed").exits(0);
        let said = workspace.quorum(&["resume", "r1", "--accept-changed-mission"]).exits(8);
        said.says(&["changed: A", "attempt 2"]);
        assert_eq!(workspace.lines("log"), ["A", "A"], "{to}");
    }
}

/// One task in the workspace itself, and a person before the next; in a repository.
fn begun_in_the_workspace(setup: &str) -> Workspace {
    let workspace = Workspace::with(
        "
name: elsewhere
agents: {a: {run: 'test $QUORUM_TASK = B || { cat base; echo $QUORUM_ATTEMPT; } > A.txt; echo done'}}
settings: {evaluate: false, worktree: {merge: ff}}
tasks: [{title: A, targetFiles: [A.txt]}, {title: B, dependsOn: [A], requiresApproval: true}]
",
    );
    workspace.write("base", "base\n");
    workspace.bash(setup).exits(0);
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    workspace
}

const COMMIT: &str = "git -c user.name=a -c user.email=a@example.org commit -qm";

#[test]
fn a_run_that_began_in_the_workspace_goes_on_and_ends_in_worktrees() {
    let setup = format!(
        "git init -q . && printf '.polpo\nhome\nA.txt\n' > .gitignore && git add -A && {COMMIT} base"
    );
    let workspace = begun_in_the_workspace(&setup);
    change(&workspace, "name: elsewhere", "name: elsewhere\nisolation: worktree");
    workspace
        .bash(&format!(
            "rm A.txt .gitignore && printf '.polpo\nhome\n' > .gitignore && git add -A && {COMMIT} changed"
        ))
        .exits(0);
    // The next session goes on with the worktrees that this one begins.
    let document = workspace.resume_json(8, &["r1", "--accept-changed-mission"]);
    assert_eq!(standing(&document, "A").0, "done", "{document:#}");
    let id = document["approvals"][0]["id"].as_str().expect("B waits").to_owned();
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &["r1"]);
    assert_eq!(standing(&document, "B").0, "done", "{document:#}");
    workspace.bash("test \"$(git show HEAD:A.txt)\" = 'base\n2' || { git show HEAD:A.txt; test \"$(git show HEAD:A.txt | tail -1)\" != ''; }").exits(0);
    assert!(workspace.bash("git status --porcelain --untracked-files=no").exits(0).stdout.is_empty());
}

#[test]
fn a_workspace_that_no_worktree_can_begin_with_is_named_and_the_run_can_go_on() {
    // No repository at all, and one with changes that are not committed.
    let repository =
        format!("git init -q . && printf '.polpo\nhome\n' > .gitignore && git add -A && {COMMIT} base");
    for (setup, spoils, mends, why) in [
        ("true", "true", repository.as_str(), "needs a git repository"),
        (&repository, "echo more >> base", "git checkout -q base", "not committed"),
    ] {
        let workspace = begun_in_the_workspace(setup);
        change(&workspace, "name: elsewhere", "name: elsewhere\nisolation: worktree");
        workspace
            .bash(&format!("if test -d .git; then git add -A && {COMMIT} changed; fi; {spoils}"))
            .exits(0);
        let refused = workspace.quorum(&["resume", "r1", "--accept-changed-mission"]).exits(9);
        refused.says(&[why]);
        workspace.bash(mends).exits(0);
        let document = workspace.resume_json(8, &["r1", "--accept-changed-mission"]);
        assert_eq!(standing(&document, "A").0, "done", "{why}: {document:#}");
    }
}

#[test]
fn how_worktrees_are_prepared_is_a_part_of_the_work_in_them_only() {
    let mission = |isolation: &str| {
        let workspace = Workspace::with(&format!(
            "
name: prepared
isolation: {isolation}
agents: {{a: {{run: 'echo x > A.txt'}}}}
settings: {{evaluate: false, worktree: {{setup: 'true', merge: never}}}}
tasks: [{{title: A, targetFiles: [A.txt]}}, {{title: B, dependsOn: [A], requiresApproval: true}}]
"
        ));
        workspace
            .bash(
                "git init -q . && printf '.polpo\nhome\n' > .gitignore && git add -A &&
            git -c user.name=a -c user.email=a@example.org commit -qm base",
            )
            .exits(0);
        workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
        workspace
    };
    for (isolation, from, to, attempts_made) in [
        ("worktree", "setup: 'true'", "setup: 'true; true'", 2),
        ("worktree", "setup: 'true'", "copy: [home]", 2),
        ("worktree", "merge: never", "merge: ff", 1),
        ("shared", "setup: 'true'", "setup: 'true; true'", 1),
    ] {
        let workspace = mission(isolation);
        change(&workspace, from, to);
        workspace.bash("git -c user.name=a -c user.email=a@example.org commit -qam changed").exits(0);
        let document = workspace.resume_json(8, &["r1", "--accept-changed-mission"]);
        let events = workspace.events();
        let turns =
            events.iter().filter(|event| event["event"] == "task:transition" && event["to"] == "in_progress");
        assert_eq!(turns.count(), attempts_made, "{isolation} {to}: {document:#}");
    }
}

#[test]
fn a_higher_bar_asks_the_judges_or_the_gate_again() {
    let workspace = ended();
    change(&workspace, "minScore: 3", "minScore: 4.5");
    let document = workspace.resume_json(3, &["--accept-changed-mission"]);
    assert_eq!(gate(&document, "door")["state"], "failed");
    assert!(document["conditions"].as_array().unwrap().contains(&json!("gate_failed")));
    assert_eq!((sorted_log(&workspace).len(), workspace.calls("judge")), (0, 1));

    change(&workspace, "threshold: 3,", "threshold: 4.5, ");
    change(&workspace, "{title: base, assignTo: worker,", "{title: base, assignTo: worker, maxAttempts: 1,");
    let document = workspace.resume_json(3, &["--accept-changed-mission"]);
    assert_eq!(standing(&document, "base").0, "failed");
    assert_eq!((task(&document, "base")["bar"].as_f64(), workspace.calls("judge")), (Some(90.0), 2));
    assert!(workspace.run_folder().join("mission.3.yaml").is_file());
}

#[test]
fn without_a_difference_the_flag_does_nothing() {
    let workspace = crashed();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(document["counts"]["done"], 2);
    assert!(changes(&workspace).is_empty());
    assert!(!workspace.run_folder().join("mission.2.yaml").exists());
}

#[test]
fn a_mission_that_is_wrong_changes_nothing() {
    let workspace = crashed();
    workspace.write("go", "");
    let before = std::fs::read(workspace.journal()).unwrap();
    let right = workspace.read("mission.yaml");
    for (text, code, said) in [
        (right.replace("dependsOn: [first]", "dependsOn: [frist]"), 2, "did you mean"),
        (
            right
                .replace("agents:\n", "agents:\n  ghost: {run: [no-such-program-anywhere]}\n")
                .replace("{title: first,", "{title: first, assignTo: worker,")
                .replace("{title: second,", "{title: second, assignTo: ghost,"),
            9,
            "no-such-program-anywhere",
        ),
        ("soup: [".to_owned(), 2, "mission.yaml"),
    ] {
        workspace.write("mission.yaml", text);
        workspace.quorum(&["resume", "--accept-changed-mission"]).exits(code).says(&[said]);
        assert_eq!(std::fs::read(workspace.journal()).unwrap(), before);
        assert!(!workspace.run_folder().join("mission.2.yaml").exists());
    }
    workspace.write("mission.yaml", right);
    workspace.resume_json(0, &[]);
}

#[test]
fn a_kill_right_after_accepting_loses_nothing() {
    let workspace = crashed();
    // What a crash between freezing and the journal would leave is written over.
    workspace.write(".polpo/runs/r1/mission.2.yaml", "half a miss");
    change(&workspace, "old words", "new words");
    change(
        &workspace,
        "  - {title: second",
        "  - {title: third, dependsOn: [first], review: none}\n  - {title: second",
    );
    std::fs::remove_file(workspace.path("started")).unwrap();
    workspace.kill_at(&["resume", "--accept-changed-mission"], "started");

    let document = workspace.status();
    assert_eq!((&document["state"], &document["counts"]["total"]), (&json!("crashed"), &json!(3)));
    workspace.write("go", "");
    // It goes by the new mission, and nobody has to accept it again.
    let document = workspace.resume_json(0, &[]);
    assert_eq!(document["counts"]["done"], 3);
    assert_eq!(changes(&workspace).len(), 1);
    let log = workspace.lines("log");
    // The turn by the old words was ended; the one by the new words outlived the kill and was taken over.
    assert_eq!(log[..2], ["first 1 1", "first 2 1"]);
    assert!(!log.contains(&"first 2 2".to_owned()));
    // The old text is a change now.
    workspace.quorum(&["resume"]).exits(0);
}

#[test]
fn false_green_20_a_frozen_mission_that_was_tampered_with_is_never_gone_on_with() {
    let workspace = ended();
    change(&workspace, "minScore: 3", "minScore: 4.5");
    workspace.resume_json(3, &["--accept-changed-mission"]);
    for name in ["mission.yaml", "mission.2.yaml"] {
        let path = workspace.run_folder().join(name);
        let right = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, right.replace("threshold: 3", "threshold: 1")).unwrap();
        for command in [
            &["resume"][..],
            &["resume", "--accept-changed-mission"],
            &["resume", "--retry-failed", "--accept-changed-mission"],
            &["status"],
            &["events"],
        ] {
            workspace.quorum(command).exits(2).says(&[name, "changed", "digest"]);
        }
        std::fs::write(&path, right).unwrap();
    }
    workspace.quorum(&["status"]).exits(0);
}

#[test]
fn a_task_that_is_active_elsewhere_is_not_added() {
    let workspace = crashed();
    workspace.write(
        "other.yaml",
        "name: other\nagents: {worker: {run: 'true'}}\ntasks: [{title: elsewhere, review: required}]\n",
    );
    workspace.quorum(&["run", "other.yaml"]).exits(6);
    let before = std::fs::read(workspace.path(&journal::of("r1"))).unwrap();
    change(&workspace, "  - {title: second", "  - {title: elsewhere}\n  - {title: second");
    workspace.quorum(&["resume", "r1", "--accept-changed-mission"]).exits(9).says(&["elsewhere", "active"]);
    assert_eq!(std::fs::read(workspace.path(&journal::of("r1"))).unwrap(), before);
}

#[test]
fn a_mission_from_standard_input_has_no_file_to_compare() {
    let workspace = Workspace::with(WAITS);
    let script = "$0 run - --run-id r1 < mission.yaml & pid=$!; until [ -s started ]; do sleep 0.02; done; kill -9 $pid; wait";
    workspace.bash(script);
    workspace.write("mission.yaml", "soup");
    workspace.write("go", "");
    workspace.resume_json(0, &["--accept-changed-mission"]);
    assert!(changes(&workspace).is_empty());
}

#[test]
fn an_agent_cannot_change_its_own_mission() {
    let workspace = Workspace::with(
        "
name: soft on itself
agents:
  judge: {run: 'true'}
  burglar:
    run: |
      sed -i 's/threshold: 5/threshold: 1/' mission.yaml
      cp -r .polpo stolen
      for way in '' 'env -i' 'setsid -w env -i'; do
        for state in .polpo stolen; do
          $way @binary resume $QUORUM_RUN_ID --accept-changed-mission --state-dir \"$PWD/$state\" 2>> said; echo $? >> tries
        done
      done
tasks:
  - {title: one, assignTo: burglar, maxAttempts: 1, expectations: [{type: llm_review, threshold: 5, criteria: c, reviewers: [judge]}]}
"
        .replace("@binary", crate::support::BINARY)
        .as_str(),
    );
    // The mission file is protected by default.
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "one")["failure"]["mode"], "protected");
    assert_eq!(workspace.lines("tries"), ["9"; 6]);
    // The lock of a copy is nobody's: what refuses there is who asks.
    assert_eq!(workspace.read("said").matches("refused to agents").count(), 3);
    assert!(changes(&workspace).is_empty());
}
