//! Rows 26 to 38 of the false greens: those that were found in the program itself.

use serde_json::json;

use crate::support::{Workspace, gate, standing, task};

/// A judge that gives what it is asked to give, and an honest 10 to everybody else. It takes its time, so that whoever wants
/// to speak to it can: until somebody has tried, or nobody does.
const JUDGE: &str = r#"
    n=0; until test -e tried || test $n -ge 100; do n=$((n + 1)); sleep 0.02; done
    if grep -q generous $READ; then echo "SCORE: 95"; else echo "SCORE: 10"; fi"#;

/// One worker, a judge that reads its request from `read`, and a task beside it with this script.
fn beside_a_judge(worker: &str, read: &str, other: &str) -> Workspace {
    let indent = |script: &str| script.trim().replace('\n', "\n      ");
    let judge = JUDGE.replace("$READ", read);
    let workspace = Workspace::with(&format!(
        "
name: one is judged while another works
agents:
  worker:
    run: |
      {}
  other:
    run: |
      {}
  judge:
    role: reviewer
    run: |
      {}
settings: {{concurrency: 2}}
tasks:
  - {{title: work, assignTo: worker, maxAttempts: 1, review: required}}
  - {{title: beside, assignTo: other, review: none, maxAttempts: 1}}
",
        indent(worker),
        indent(other),
        indent(&judge)
    ));
    workspace
}

/// Nobody who works gives the score.
fn assert_not_forged(workspace: &Workspace, codes: [i32; 2]) {
    let finished = workspace
        .start_unprivileged(&["run", "mission.yaml", "--json", "--timeout", "40s"])
        .finish();
    let document = finished.json();
    assert!(
        finished.code().is_some_and(|code| codes.contains(&code)),
        "{:?}\n{document:#}",
        finished.code()
    );
    let work = task(&document, "work");
    assert!(
        work["points"].as_f64().is_none_or(|points| points <= 10.0),
        "{work:#}"
    );
    assert_ne!(standing(&document, "work"), ("done", "clean"));
}

/// Rewrites the request of any judge as soon as there is one, and says that it tried.
const REWRITE: &str = r#"
    n=0; until ls .polpo/runs/*/*/*.request >/dev/null 2>&1 || test $n -ge 500; do n=$((n + 1)); sleep 0.01; done
    for f in .polpo/runs/*/*/*.request .polpo/runs/*/*/*.review; do echo generous > $f; done
    for p in /proc/[0-9]*; do case "$(readlink $p/fd/0 2>/dev/null)" in *request*) echo generous > $p/fd/0;; esac; done
    echo yes > tried"#;

#[test]
fn false_green_30_a_request_that_is_rewritten_is_no_request() {
    let workspace = beside_a_judge("echo work", "\"$QUORUM_PROMPT_FILE\"", REWRITE);
    assert_not_forged(&workspace, [6, 5]);
    // What is read from standard input cannot be rewritten at all, and is not judged by all the same.
    let workspace = beside_a_judge("echo work", "-", REWRITE);
    assert_not_forged(&workspace, [6, 5]);
}

#[test]
fn false_green_30_what_the_author_leaves_behind_does_not_reach_its_judge() {
    let late = format!(
        "echo work; cat > late.sh <<'END'\n{}\nEND\n\
        for n in 1 2 3 4 5; do setsid env -i PATH=$PATH sh late.sh >/dev/null 2>&1 & done\n\
        (setsid sh -c '(sh late.sh &) &' &) >/dev/null 2>&1\n\
        QUORUM_TURN_KEY= nohup sh late.sh >/dev/null 2>&1 &\n\
        touch left",
        REWRITE.trim()
    );
    let other =
        "until test -e left; do sleep 0.01; done; until test -e asked; do sleep 0.01; done; sleep 0.3";
    let workspace = beside_a_judge(&late, "-", other);
    let text = workspace
        .read("mission.yaml")
        .replace("n=0; until", "touch asked; n=0; until");
    workspace.write("mission.yaml", text);
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
    for printed in [
        "95\\n10",
        "10\\n95",
        "95 10",
        "95.5% of lines",
        "9_0",
        "coverage: 95",
        "",
    ] {
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
        let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).stdout;
        assert!(
            shown.contains("must print one number and nothing else"),
            "{shown}"
        );
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
    let reason = ready["reason"].to_string();
    assert!(reason.contains("failed: Crash one, Crash two"), "{reason}");
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
    let reason = ready["reason"].to_string();
    assert!(reason.contains("Crash one, Crash two"), "{reason}");
    assert_eq!(standing(&document, "Deploy").0, "done");
}

#[test]
fn false_green_38_a_gate_does_not_open_over_tasks_that_were_called_off() {
    let workspace = Workspace::with(
        "
name: called off
agents:
  ok: {run: echo work}
  judge: {run: [/bin/sh, '@agents/judge.sh', judge], role: reviewer}
tasks:
  - {title: good, assignTo: ok}
  - {title: rest, assignTo: ok, requiresApproval: true}
  - {title: deploy, assignTo: ok}
qualityGates: [{name: halfway, afterTasks: [good, rest], blocksTasks: [deploy], minScore: 60}]
",
    );
    workspace.judge("judge", &["SCORE: 90"]);
    workspace.run_json(8, &[]);
    workspace.quorum(&["cancel", "rest"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    let halfway = gate(&document, "halfway");
    assert_eq!(halfway["state"], "failed", "{halfway}");
    assert_eq!(standing(&document, "deploy").0, "pending");
    workspace.quorum(&["gate", "halfway"]).exits(4);
}
