//! Rows 26 to 38 of the false greens: those that were found in the program itself. Row 27 is in `false_greens_of_reports`.

use crate::support::journal;
use crate::support::model::{Model, says};
#[cfg(target_os = "linux")]
use crate::support::scenes::burglars::{burgled, orphaned};
use crate::support::scenes::forgers::{
    REWRITE, beside_a_judge, checked, free, left_behind, rewritten_request, rewritten_tests, swapped_tests,
};
use crate::support::{
    Mission, RUN_AS_R1, Says, Workspace, attempts, gate, is_alive, makes_namespaces, read_pid, skipped,
    standing, task,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// Nobody who works gives the score.
fn assert_not_forged(workspace: &Workspace, codes: [i32; 2]) {
    let finished =
        workspace.start_unprivileged(&["run", "mission.yaml", "--json", "--timeout", "4m"]).finish();
    let document = finished.json();
    assert!(finished.code().is_some_and(|code| codes.contains(&code)), "{:?}\n{document:#}", finished.code());
    let work = task(&document, "work");
    assert!(work["points"].as_f64().is_none_or(|points| points <= 10.0), "{work:#}");
    assert_ne!(standing(&document, "work"), ("done", "clean"));
}

#[test]
fn false_green_30_a_request_that_is_rewritten_is_no_request() {
    let workspace = rewritten_request();
    assert_not_forged(&workspace, [6, 5]);
    // What is read from standard input cannot be rewritten at all, and is not judged by all the same.
    let workspace = beside_a_judge("echo work", "-", REWRITE);
    assert_not_forged(&workspace, [6, 5]);
}

#[test]
fn false_green_30_what_the_author_leaves_behind_does_not_reach_its_judge() {
    let workspace = left_behind();
    assert_not_forged(&workspace, [5, 5]);
    assert!(!workspace.exists("tried"), "something of the turn lived on");
}

#[test]
fn false_green_30_a_reply_cannot_be_rewritten() {
    let forge = r#"
    until test -s judge.pid; do sleep 0.01; done
    (echo "SCORE: 95" > /proc/$(cat judge.pid)/fd/1) 2>/dev/null
    echo yes > tried
    n=0; while test $n -lt 200; do n=$((n + 1))
      for f in .polpo/runs/*/*/*.reply; do test -e $f && echo "SCORE: 95" > $f; done
      sleep 0.002
    done"#;
    let workspace = beside_a_judge("echo work", "-", forge);
    let text = workspace.read("mission.yaml");
    let text = text
        .replace(
            "n=0; until test -e tried",
            "echo 'SCORE: 10'; echo $$ > judge.pid; n=0; until test -e tried",
        )
        .replace("else echo \"SCORE: 10\"; fi", "fi");
    workspace.write("mission.yaml", text);
    assert_not_forged(&workspace, [5, 6]);
}

#[test]
fn false_green_37_a_metric_of_several_numbers_or_none_is_a_failed_check() {
    for printed in ["95\\n10", "10\\n95", "95 10", "95.5% of lines", "9_0", "coverage: 95", ""] {
        let workspace = Workspace::with(&format!(
            "
name: measured
agents: {{worker: {{run: echo work}}}}
tasks:
  - title: work
    maxAttempts: 1
    expectations: [{{type: metric, name: coverage, command: \"printf '{}\\\\n'\", min: 5}}]
",
            printed.replace('%', "%%").replace("\\n", "\\\\n")
        ));
        let document = workspace.run_json(3, &[]);
        assert_eq!(standing(&document, "work"), ("failed", ""), "{printed}");
        let ended = workspace.quorum(&["show", "work", "--json"]).exits(0);
        ended.shows(&["must print one number and nothing else"]);
    }
}

/// Two of the three tasks before the gate end badly; the third is praised.
fn crashed(rule: &str) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: crashed
agents:
  ok: {{run: echo work}}
  bad: {{run: exit 3}}
  judge: {{run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}}
settings: {{maxRetries: 0, concurrency: 1}}
tasks:
  - {{title: Good, assignTo: ok}}
  - {{title: Crash one, assignTo: bad}}
  - {{title: Crash two, assignTo: bad}}
  - {{title: Deploy, assignTo: ok, review: none}}
qualityGates: [{{name: ready, afterTasks: [Good, Crash one, Crash two], blocksTasks: [Deploy], minScore: 80{rule}}}]
"
    ));
    workspace.judge("judge", &["SCORE: 90"]);
    workspace
}

#[test]
fn false_green_38_a_gate_does_not_open_over_tasks_that_crashed() {
    let workspace = crashed("");
    let document = workspace.run_json(3, &[]);
    assert_eq!(document["conditions"], json!(["task_failed", "gate_failed"]));
    let ready = gate(&document, "ready");
    assert_eq!(ready["state"], "failed", "{ready}");
    ready["reason"].to_string().says(&["failed: Crash one, Crash two"]);
    assert_eq!(standing(&document, "Deploy").0, "pending");
    workspace.quorum(&["gate", "ready"]).exits(4);
}

#[test]
fn false_green_38_a_gate_opens_over_failed_tasks_only_where_that_is_written() {
    let workspace = crashed(", requireAllPassed: false");
    let document = workspace.run_json(3, &[]);
    let ready = gate(&document, "ready");
    assert_eq!(ready["state"], "passed", "{ready}");
    // What is not counted is named.
    ready["reason"].to_string().says(&["Crash one, Crash two"]);
    assert_eq!(standing(&document, "Deploy").0, "done");
}

#[test]
fn false_green_38_a_gate_does_not_open_over_tasks_that_were_called_off() {
    let workspace = Mission::new()
        .agent("ok", "echo work")
        .judge("judge", &["SCORE: 90"])
        .key("qualityGates", json!([
            {"name": "halfway", "afterTasks": ["good", "rest"], "blocksTasks": ["deploy"], "minScore": 60},
        ]))
        .tasks(["good"])
        .task("rest", |t| t.approved())
        .tasks(["deploy"])
        .workspace();
    workspace.run_json(8, &[]);
    workspace.quorum(&["cancel", "rest", "--yes"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    let halfway = gate(&document, "halfway");
    assert_eq!(halfway["state"], "failed", "{halfway}");
    assert_eq!(standing(&document, "deploy").0, "pending");
    workspace.quorum(&["gate", "halfway"]).exits(4);
}

fn assert_protected(workspace: &Workspace, title: &str, words: &str) {
    let finished =
        workspace.start_unprivileged(&["run", "mission.yaml", "--json", "--timeout", "4m"]).finish().exits(3);
    let document = finished.json();
    let failure = &task(&document, title)["failure"];
    assert_eq!(failure["mode"], "protected", "{document:#}");
    let message = failure["message"].as_str().unwrap_or_default();
    assert!(message.contains(words), "'{message}' does not say {words}");
}

#[test]
fn false_green_31_tests_that_the_authors_code_rewrites_while_they_run() {
    let workspace = rewritten_tests();
    assert_protected(&workspace, "work", "tests/check.sh was changed");
    // Put back again, with the time that it had and as the very file that it was.
    for put_back in [
        "cp -p tests/check.sh kept; echo exit 0 > tests/check.sh; sh tests/check.sh; cp -p kept tests/check.sh",
        "mv tests/check.sh kept; echo exit 0 > tests/check.sh; sh tests/check.sh; mv kept tests/check.sh",
    ] {
        let script = format!("echo '{put_back}; exit 0' > build.sh");
        let workspace = free(checked(&script, "sh build.sh && true"));
        assert_protected(&workspace, "work", "tests/check.sh was changed and put back");
    }
}

#[test]
fn false_green_31_tests_that_another_turn_swaps_and_restores() {
    let workspace = swapped_tests();
    let finished =
        workspace.start_unprivileged(&["run", "mission.yaml", "--json", "--timeout", "4m"]).finish().exits(3);
    // What it said while they were others is no verdict; it is asked again, and says what they say.
    let document = finished.json();
    assert_eq!(standing(&document, "work").0, "failed", "{document:#}");
    assert_eq!(standing(&document, "beside").0, "done", "{document:#}");
    let said = workspace.events();
    let voided = said.iter().find(|event| event["event"] == "stage:voided");
    assert!(voided.is_some_and(|event| event["shared"] == true), "{said:#?}");
}

#[test]
fn false_green_34_the_scripts_of_judges_checks_stages_and_approvers_are_protected() {
    let rows = [
        ("judge.sh", "review: required", ""),
        ("check.sh", "expectations: [{type: test, command: sh check.sh}]", ""),
        ("check.sh", "expectations: [{type: metric, name: m, command: sh check.sh, min: 1}]", ""),
        ("check.sh", "verify: {commands: [sh check.sh]}", ""),
        ("check.sh", "review: none", "stages: [{name: lint, command: ./check.sh}]"),
    ];
    for (script, task, mission) in rows {
        let workspace = Workspace::with(&format!(
            "
name: who judges
agents:
  worker: {{run: 'echo \"echo 5; echo SCORE: 97\" > {script}'}}
  judge: {{run: [/bin/sh, judge.sh], role: reviewer}}
tasks:
  - {{title: work, assignTo: worker, {task}}}
{mission}
"
        ));
        for name in ["judge.sh", "check.sh"] {
            workspace.write(name, "echo SCORE: 10; exit 1");
        }
        assert_protected(&workspace, "work", &format!("{script} was changed"));
    }
    // An approver's, for the task that is approved next.
    let workspace = Mission::new()
        .worker("echo exit 0 > approve.sh")
        .task("work", |t| t.unreviewed())
        .task("next", |t| {
            t.unreviewed()
                .needs("work")
                .set("requiresApproval", json!({"approvers": [{"command": "sh approve.sh"}]}))
        })
        .workspace();
    workspace.write("approve.sh", "exit 1");
    assert_protected(&workspace, "work", "approve.sh was changed");
}

#[test]
fn false_green_35_a_recording_that_the_worker_edits() {
    let model = Model::new(|_| says("Thin work.\nSCORE: 10"));
    let workspace = Mission::new()
        .worker("test -d forged && cp forged/* tape/replies/; echo work")
        .model("judge", &model, json!({"role": "reviewer"}))
        .task("work", |t| t.attempts(1).set("review", "required"))
        .workspace();
    let document = workspace.run_json(5, &["--record", "tape"]);
    assert_eq!(task(&document, "work")["points"], 10.0);
    let replies = std::fs::read_dir(workspace.path("tape/replies")).expect("replies were recorded");
    for reply in replies {
        let name = reply.expect("it can be read").file_name();
        let name = name.to_string_lossy();
        let text = workspace.read(&format!("tape/replies/{name}"));
        let forged = text.replace("SCORE: 10", "SCORE: 97");
        let mut document: Value = serde_json::from_str(&forged).expect("it is a document");
        let digest = Sha256::digest(document["entry"].to_string().as_bytes());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        document["checksum"] = digest.into();
        workspace.write(&format!("forged/{name}"), document.to_string());
    }
    let finished = workspace
        .start_unprivileged(&["run", "mission.yaml", "--json", "--offline", "--record", "tape"])
        .finish()
        .exits(3);
    let document = finished.json();
    let work = task(&document, "work");
    assert_eq!(work["failure"]["mode"], "protected", "{work:#}");
    assert!(work["points"].is_null(), "{work:#}");
}

#[cfg(target_os = "linux")]
#[test]
fn false_green_32_an_orphan_of_a_killed_supervisor_does_not_approve() {
    let workspace = orphaned();
    assert_eq!(workspace.lines("codes"), ["9", "9", "9"], "{}", workspace.read("said"));
    let document = workspace.status();
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    workspace.write("go", "");
}

#[cfg(target_os = "linux")]
#[test]
fn false_green_32_a_process_in_a_namespace_of_its_own_does_not_approve() {
    let workspace = burgled(
        "for way in 'unshare -Urpf' 'unshare -Urpf --mount-proc' 'unshare -Ur' 'unshare -Urm'; do
        $way env -i HOME=\"$HOME\" @quorum approve r1.0.1 --as boss 2>> said; echo $? >> codes
        $way setsid -w env -i HOME=\"$HOME\" @quorum approve r1.0.1 --as boss 2>> said; echo $? >> codes
        done",
    );
    workspace.start_unprivileged(RUN_AS_R1).finish().exits(8);
    let codes = workspace.lines("codes");
    assert_eq!(codes.len(), 8);
    let said = workspace.read("said");
    if makes_namespaces() {
        assert_eq!(codes, ["9"; 8], "{said}");
    } else {
        skipped("this machine makes no namespaces for users");
    }
    assert!(!workspace.exists(&journal::inbox("")), "it was not heard and left a letter");
    assert_eq!(standing(&workspace.status(), "work"), ("awaiting_approval", ""));
}

/// Row 24, where it is the supervisor that hangs.
#[cfg(target_os = "linux")]
#[test]
fn false_green_24_a_supervisor_that_is_stopped_does_not_hang_the_run() {
    let workspace = burgled("echo $$ > pid; kill -STOP $K; sleep 60");
    let ended = workspace.start_unprivileged(&["run", "mission.yaml", "--run-id", "r1"]).finish().exits(1);
    ended.says(&["gave no sign of life"]);
    assert!(!is_alive(read_pid(&workspace.path("pid"))), "the agent works on unseen");
    let foreign = |event: &serde_json::Value| event["event"] == "state:foreign";
    assert!(workspace.events().iter().any(foreign));
}

/// Two tasks of one wave write the same file, one after the other: `first` is accepted before `second` writes.
const OVERWRITTEN: &str = "
name: two write one file
agents:
  alpha: {run: 'echo alpha > out.txt'}
  beta: {run: 'until test -e checked; do sleep 0.02; done; echo beta > out.txt'}
settings: {concurrency: 2, evaluate: false}
tasks:
  - title: first
    assignTo: alpha
    targetFiles: [out.txt]
    expectations: [{type: test, command: 'grep -q alpha out.txt && touch checked'}]
  - title: second
    assignTo: beta
    targetFiles: [out.txt]
    expectations: [{type: test, command: 'grep -q beta out.txt'}]
";

#[test]
fn false_green_26_what_a_parallel_task_overwrote_does_not_stand() {
    let workspace = Workspace::with(OVERWRITTEN);
    // It is done again, which overwrites the other's work; that one is done again, and in the end one of them has failed.
    let document = workspace.run_json(3, &[]);
    assert_eq!(attempts(&document, "first"), ["execute", "fix"]);
    assert_eq!(attempts(&document, "second"), ["execute", "fix"]);
    assert_eq!(standing(&document, "first"), ("failed", ""));
    assert_eq!(standing(&document, "second"), ("done", "clean"));
    let failure = &task(&document, "first")["failure"];
    assert_eq!(failure["mode"], "regressed");
    failure["message"].to_string().says(&["grep -q alpha", "out.txt is also named by task 'second'"]);
    assert_eq!(document["counts"]["regressed"], 2);
    assert_eq!((&document["audit"], &document["finalChecks"]), (&"held".into(), &"auto".into()));
    assert_eq!(document["resumable"], false);
    let events = workspace.events();
    let regressed = events.iter().find(|event| event["event"] == "task:regressed");
    assert_eq!(regressed.expect("it is told")["title"], "first");
}

#[test]
fn false_green_26_what_a_later_task_removed_does_not_stand() {
    let workspace = Mission::new()
        .agent("writer", "echo done > calc.py")
        .agent("tidy", "rm calc.py")
        .setting("evaluate", false)
        .task("a", |t| t.files(["calc.py"]))
        .task("b", |t| t.by("tidy").needs("a"))
        .workspace();
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "a"), ["execute", "fix"], "it is done again");
    assert_eq!(attempts(&document, "b"), ["execute"]);
    assert_eq!(workspace.read("calc.py"), "done\n");
    let events = workspace.events();
    let regressed = events.iter().find(|event| event["event"] == "task:regressed");
    assert_eq!(regressed.expect("it is told")["reason"], "calc.py was removed after it was accepted");
}

#[test]
fn false_green_26_a_fresh_checkout_without_the_work_is_not_resumed() {
    let workspace = Mission::new()
        .agent("writer", "echo x >> turns; echo one > One.txt")
        .agent("other", "touch touched")
        .setting("evaluate", false)
        .task("One", |t| t.files(["One.txt"]))
        .task("Two", |t| t.by("other").needs("One").approved())
        .workspace();
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().expect("it has an id").to_owned();
    std::fs::remove_file(workspace.path("One.txt")).expect("it is there");
    workspace.quorum(&["approve", &id]).exits(0);
    for _ in 0..2 {
        workspace.quorum(&["resume"]).exits(9).says(&["One.txt", "'One'", "--reopen"]);
    }
    assert!(!workspace.exists("touched"), "something was done all the same");
    let document = workspace.resume_json(0, &["--reopen"]);
    assert_eq!(workspace.lines("turns").len(), 2);
    assert_eq!(task(&document, "One")["attempts"][1]["n"], 2);
    assert_eq!(standing(&document, "Two").0, "done");

    // Nor is the end of a run told in a folder without its work.
    std::fs::remove_file(workspace.path("One.txt")).expect("it is there");
    let refused = workspace.quorum(&["resume"]).exits(9);
    refused.says(&["One.txt", "'One'", "--reopen"]);
    // A resume that is refused has withdrawn nothing.
    let before = workspace.status();
    workspace.quorum(&["resume", "--redo", "Two"]).exits(9);
    assert_eq!(workspace.status()["tasks"], before["tasks"]);
    workspace.resume_json(0, &["--reopen"]);
    assert_eq!(workspace.lines("turns").len(), 3);
}

#[test]
fn false_green_20_an_ended_run_does_not_answer_for_a_mission_that_was_changed() {
    let mission = "
name: the mission has grown
agents: {worker: {run: touch did}}
settings: {evaluate: false}
tasks:
  - {title: One, assignTo: worker}
";
    let workspace = Workspace::with(mission);
    workspace.run_json(0, &[]);
    workspace.quorum(&["resume"]).exits(0);
    let workspace = workspace.tap_mission("tasks:", "tasks:\n  - {title: Two, assignTo: worker}");
    let ended = workspace.quorum(&["resume"]).exits(2);
    ended.says(&["was changed since", "title: Two", "--accept-changed-mission"]);
}

#[test]
fn false_green_26_a_verdict_about_other_files_does_not_count() {
    let workspace = Mission::new()
        .worker("echo good > out.txt")
        .agent("other", "until test -e asked; do sleep 0.02; done; echo evil > out.txt; touch changed")
        .reviewer(
            "judge",
            "prompt=$(cat); echo x >> calls; touch asked\n\
            until test -e changed; do sleep 0.02; done\n\
            case $prompt in *evil*) echo 'SCORE: 10' ;; *) echo 'SCORE: 95' ;; esac\n",
        )
        .setting("concurrency", 2)
        .task("work", |t| t.files(["out.txt"]).attempts(1).set("onExhausted", "fail"))
        .task("beside", |t| t.by("other").unreviewed())
        .workspace();
    let document = workspace.run_json(3, &[]);
    assert_eq!(workspace.lines("calls").len(), 2, "it is judged once more");
    assert_eq!(standing(&document, "work"), ("failed", ""));
    let work = task(&document, "work");
    assert_eq!(work["failure"]["mode"], "quality");
    assert_eq!(work["attempts"][0]["points"], 10.0);
}
