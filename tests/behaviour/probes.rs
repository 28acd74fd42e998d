//! Criteria that an agent cuts into probes, and the record of handing work over to its judge (semantics, section 10).

use serde_json::{Value, json};

use crate::support::{Workspace, attempts, standing, task, wait_for};

/// Work with two criteria, which `cutter` cuts into probes by `cut.sh` and `j` judges.
fn workspace(cut: &str, replies: &[Value]) -> Workspace {
    let workspace = Workspace::with(
        "
name: cut
agents:
  worker: {run: [/bin/sh, '@agents/keep-prompt.sh', prompts]}
  cutter: {run: [/bin/sh, cut.sh]}
  j: {run: [/bin/sh, '@agents/judge.sh', j], role: reviewer}
tasks:
  - title: work
    assignTo: worker
    review: none
    maxAttempts: 2
    acceptance: [it is short, it has an example]
    decomposer: {agent: cutter}
",
    );
    workspace.write("cut.sh", format!("cat > asked; echo x >> cuts; {cut}\n"));
    let replies: Vec<String> = replies.iter().map(Value::to_string).collect();
    workspace.judge("j", &replies.iter().map(String::as_str).collect::<Vec<_>>());
    workspace
}

fn graded(correctness: u8) -> Value {
    json!({
        "criteria": {
            "correctness": {"grade": correctness}, "completeness": {"grade": correctness}, "probe-adherence": {"grade": 1},
        },
        "verdict": "pass", "confidence": 1,
    })
}

const CUT: &str = r#"echo '{"probes": [{"criterion": 1, "probe": "Is it one page?"}, {"criterion": 2, "probe": "Is there
an example?"}, {"criterion": 2, "probe": "Does the example run?"}]}' | tr '\n' ' '"#;

fn named(workspace: &Workspace, name: &str) -> Vec<Value> {
    let events = workspace.events().into_iter();
    events.filter(|event| event["event"] == name).collect()
}

#[test]
fn the_judge_is_told_the_probes_and_they_are_cut_once() {
    let workspace = workspace(CUT, &[graded(0), graded(1)]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(workspace.lines("cuts").len(), 1, "they hold for every attempt");
    let asked = workspace.read("asked");
    assert!(asked.contains("1. it is short\n2. it has an example"), "{asked}");
    for call in [1, 2] {
        let told = workspace.asked("j", call);
        assert!(told.contains("1. it is short\n2. it has an example\n"), "{told}");
        let (_, fenced) = told
            .split_once("label=\"questions about the criteria\">\n")
            .expect("a fence");
        assert!(
            fenced.starts_with(
                "1: Is it one page?\n2: Is there an example?\n2: Does the example run?\n</untrusted>"
            ),
            "{told}"
        );
    }
    let made = named(&workspace, "probes:made");
    assert_eq!(made.len(), 1);
    assert_eq!(
        made[0]["probes"][2],
        json!({"criterion": 2, "probe": "Does the example run?"})
    );
    let run = made[0]["runId"].as_str().expect("every event names its run");
    let replayed = workspace.quorum(&["review", "--replay", run, "--json"]).exits(0);
    assert_eq!(replayed.json()["equal"], true);
    let plan = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
    assert!(
        plan.stdout.contains("cut into probes by cutter"),
        "{}",
        plan.stdout
    );
}

#[test]
fn what_was_handed_over_is_on_record_with_its_digest() {
    let workspace = workspace(CUT, &[graded(1)]);
    workspace.run_json(0, &[]);
    let recorded = named(&workspace, "handoff:recorded");
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0]["agentName"], "j");
    let show = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let handoff = &show["attempts"][0]["handoffs"][0];
    assert_eq!(handoff["to"], "j");
    let text = std::fs::read_to_string(handoff["record"]["path"].as_str().unwrap()).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["schema"], "quorum.handoff/v1");
    assert_eq!(
        (&record["from"][0]["agent"], &record["to"]),
        (&json!("worker"), &json!("j"))
    );
    assert_eq!(record["acceptance"], json!(["it is short", "it has an example"]));
    assert_eq!(
        record["probes"][0],
        json!({"criterion": 1, "probe": "Is it one page?"})
    );
    assert_eq!(record["rubric"][0]["name"], "correctness");
    let human = workspace.quorum(&["show", "work"]).exits(0);
    let digest = handoff["digest"].as_str().unwrap();
    assert!(
        human.stdout.contains(&format!("sha256 {digest}")),
        "{}",
        human.stdout
    );
    assert!(human.stdout.contains("handed over to j"), "{}", human.stdout);
}

#[test]
fn a_criterion_without_a_probe_is_no_answer_and_nobody_is_judged_by_it() {
    let workspace = workspace(
        r#"echo '{"probes": [{"criterion": 1, "probe": "Is it?"}]}'"#,
        &[graded(1)],
    );
    let document = workspace.run_json(6, &[]);
    assert_eq!(workspace.lines("cuts").len(), 2, "it is asked once more");
    assert_eq!(workspace.calls("j"), 0);
    let work = task(&document, "work");
    assert_eq!(
        (&work["status"], &work["attempts"][0]["cause"]),
        (&json!("awaiting_approval"), &json!("gate-error"))
    );
    let message = document["approvals"][0]["message"].as_str().unwrap();
    assert!(message.contains("criterion 2 has no probe"), "{message}");
    // A later session asks again.
    workspace.write("cut.sh", format!("cat > asked; {CUT}\n"));
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn a_runner_that_dies_behind_the_probes_does_not_have_them_cut_again() {
    let workspace = workspace(CUT, &[graded(1)]);
    let mission = workspace.read("mission.yaml");
    let judge = mission.lines().find(|line| line.contains(" j: {run")).unwrap();
    let workspace = workspace.tap_mission(judge, "  j: {run: [/bin/sh, slow.sh], role: reviewer}");
    workspace.write(
        "slow.sh",
        "cat > /dev/null; echo x >> calls; [ -e go ] || sleep 100; cat j/reply.1\n",
    );
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for("the call", || workspace.exists("calls"));
    running.kill();
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("cuts").len(), 1);
}

#[test]
fn who_cuts_is_checked_before_anything_starts_and_not_asked_without_reviews() {
    for (decomposer, words) in [
        ("decomposer: {agent: worker}", &["Q0410", "its own work"][..]),
        ("decomposer: {agent: cuter}", &["Q0302", "did you mean"]),
        (
            "decomposer: {agent: cutter}, verification: {grader: heuristic}",
            &["Q0206", "facts are held against"],
        ),
        ("decomposer: each", &["identity"]),
        ("decomposer: {}", &["agent"]),
    ] {
        let decomposer = decomposer.replace(", verification", "\n    verification");
        let bad = workspace(CUT, &[]).tap_mission("decomposer: {agent: cutter}", &decomposer);
        bad.quorum(&["run", "mission.yaml"]).exits(2).says(words);
        bad.assert_nothing_started();
    }
    let none =
        workspace(CUT, &[]).tap_mission("acceptance: [it is short, it has an example]", "verification: {}");
    none.quorum(&["run", "mission.yaml"])
        .exits(2)
        .says(&["nothing to cut"]);
    let unasked = workspace(CUT, &[graded(1)]);
    unasked.run_json(0, &["--no-eval"]);
    assert!(!unasked.exists("cuts"));
    let identity =
        workspace(CUT, &[graded(1)]).tap_mission("decomposer: {agent: cutter}", "decomposer: identity");
    identity.run_json(0, &[]);
    assert!(
        identity
            .asked("j", 1)
            .contains("1. it is short\n2. it has an example")
    );
    assert!(!identity.exists("cuts"));
}
