//! Criteria that an agent cuts into probes, and the record of handing work over to its judge (semantics, section 10).

use serde_json::{Value, json};

use crate::support::model::{Model, offered, says};
use crate::support::scenes::attacks::{ATTACKS, WORD};
use crate::support::{Mission, Says, Workspace, attempts, standing, task};

/// Work with two criteria, which `cutter` cuts into probes by `cut.sh` and `j` judges.
fn workspace(cut: &str, replies: &[Value]) -> Workspace {
    let workspace = Mission::new()
        .keeps_prompts("worker", "prompts")
        .agent_with("cutter", json!({"run": ["/bin/sh", "cut.sh"]}))
        .judge("j", &[])
        .task("work", |t| {
            t.unreviewed()
                .attempts(2)
                .set("acceptance", ["it is short", "it has an example"])
                .set("decomposer", json!({"agent": "cutter"}))
        })
        .workspace();
    workspace.write("cut.sh", format!("cat > asked; echo x >> cuts; {cut}\n"));
    workspace.judge("j", replies);
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

#[test]
fn the_judge_is_told_the_probes_and_they_are_cut_once() {
    let workspace = workspace(CUT, &[graded(0), graded(1)]);
    let document = workspace.run_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(workspace.lines("cuts").len(), 1, "they hold for every attempt");
    workspace.read("asked").says(&["1. it is short\n2. it has an example"]);
    for call in [1, 2] {
        let told = workspace.asked("j", call);
        assert!(told.contains("1. it is short\n2. it has an example\n"), "{told}");
        let (_, fenced) = told.split_once("label=\"questions about the criteria\">\n").expect("a fence");
        assert!(
            fenced.starts_with(
                "1: Is it one page?\n2: Is there an example?\n2: Does the example run?\n</untrusted>"
            ),
            "{told}"
        );
    }
    let made = workspace.events().named("probes:made");
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["probes"][2], json!({"criterion": 2, "probe": "Does the example run?"}));
    let run = made[0]["runId"].as_str().expect("every event names its run");
    let replayed = workspace.quorum(&["review", "--replay", run, "--json"]).exits(0);
    assert_eq!(replayed.json()["equal"], true);
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&["cut into probes by cutter"]);
}

#[test]
fn what_was_handed_over_is_on_record_with_its_digest() {
    let workspace = workspace(CUT, &[graded(1)]);
    workspace.run_json(0, &[]);
    let recorded = workspace.events().named("handoff:recorded");
    assert_eq!(recorded.len(), 1);
    assert_eq!(recorded[0]["agentName"], "j");
    let show = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let handoff = &show["attempts"][0]["handoffs"][0];
    assert_eq!(handoff["to"], "j");
    let text = std::fs::read_to_string(handoff["record"]["path"].as_str().unwrap()).unwrap();
    let record: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(record["schema"], "quorum.handoff/v1");
    assert_eq!((&record["from"][0]["agent"], &record["to"]), (&json!("worker"), &json!("j")));
    assert_eq!(record["acceptance"], json!(["it is short", "it has an example"]));
    assert_eq!(record["probes"][0], json!({"criterion": 1, "probe": "Is it one page?"}));
    assert_eq!(record["rubric"][0]["name"], "correctness");
    let human = workspace.quorum(&["show", "work", "--full"]).exits(0);
    let digest = handoff["digest"].as_str().unwrap();
    human.stdout.says(&[&format!("sha256 {digest}"), "handed over to j"]);
}

#[test]
fn a_criterion_without_a_probe_is_no_answer_and_nobody_is_judged_by_it() {
    let workspace = workspace(r#"echo '{"probes": [{"criterion": 1, "probe": "Is it?"}]}'"#, &[graded(1)]);
    let document = workspace.run_json(6, &[]);
    assert_eq!(workspace.lines("cuts").len(), 2, "it is asked once more");
    assert_eq!(workspace.calls("j"), 0);
    let work = task(&document, "work");
    assert_eq!(
        (&work["status"], &work["attempts"][0]["cause"]),
        (&json!("awaiting_approval"), &json!("gate-error"))
    );
    document["approvals"][0]["message"].says(&["criterion 2 has no probe"]);
    // A later session asks again.
    workspace.write("cut.sh", format!("cat > asked; {CUT}\n"));
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"]);
}

#[test]
fn a_runner_that_dies_behind_the_probes_does_not_have_them_cut_again() {
    let workspace = workspace(CUT, &[graded(1)]);
    let workspace = workspace.tap(|m| m.change_agent("j", json!({"run": ["/bin/sh", "slow.sh"]})));
    workspace.write("slow.sh", "cat > /dev/null; echo x >> calls; [ -e go ] || sleep 100; cat j/reply.1\n");
    workspace.kill_at(&["run", "mission.yaml", "--json"], "calls");
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
        let bad = workspace(CUT, &[]).tap(|m| m.change("work", |t| t.with(decomposer)));
        bad.refuses(words);
    }
    let none = workspace(CUT, &[])
        .tap(|m| m.change("work", |t| t.without("acceptance").set("verification", json!({}))));
    none.quorum(&["run", "mission.yaml"]).exits(2).says(&["nothing to cut"]);
    let unasked = workspace(CUT, &[graded(1)]);
    unasked.run_json(0, &["--no-eval"]);
    assert!(!unasked.exists("cuts"));
    let identity =
        workspace(CUT, &[graded(1)]).tap(|m| m.change("work", |t| t.set("decomposer", "identity")));
    identity.run_json(0, &[]);
    assert!(identity.asked("j", 1).contains("1. it is short\n2. it has an example"));
    assert!(!identity.exists("cuts"));
}

#[test]
fn a_runner_that_dies_while_they_are_cut_has_them_cut_again_and_nothing_else() {
    let workspace =
        workspace(&format!("[ -e go ] || {{ echo > waits; exec sleep 100; }}; {CUT}"), &[graded(1)]);
    workspace.kill_at(&["run", "mission.yaml", "--json"], "waits");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(attempts(&document, "work"), ["execute"]);
    assert_eq!(workspace.lines("cuts").len(), 2, "a lost call is made again");
    assert!(!workspace.exists("prompts/2"), "the work is not done again");
    assert_eq!(workspace.events().count("probes:made"), 1);
    assert_eq!(workspace.calls("j"), 1);
}

#[test]
fn a_record_of_handing_over_that_was_changed_is_no_ground_for_a_verdict() {
    let workspace = workspace(CUT, &[graded(1)]);
    workspace.run_json(0, &[]);
    let replay = |code| workspace.quorum(&["review", "--replay", "--json"]).exits(code).json();
    assert_eq!(replay(0)["equal"], true);
    let show = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let record = show["attempts"][0]["handoffs"][0]["record"]["path"].as_str().unwrap();
    let text = std::fs::read_to_string(record).unwrap();
    std::fs::write(record, text.replace("\"worker\"", "\"wonder\"")).unwrap();
    let replayed = replay(6);
    assert_eq!(replayed["equal"], false);
    let judgements = replayed["judgements"].as_array().unwrap();
    let graded = judgements.iter().find(|row| row["stage"] == "grade").expect("it was graded");
    assert_eq!(graded["standing"], "lost", "{replayed:#}");
    graded["why"].says(&[".handoff is not what was recorded"]);
}

#[test]
fn whoever_cuts_sees_the_criteria_and_nothing_of_the_work_whatever_it_is() {
    let model = Model::new(|body| {
        let prompt = body["messages"].to_string();
        assert!(offered(body).is_empty(), "it has no tools to look with");
        match prompt.contains("Cut each criterion") {
            true => says("```json\n{\"probes\": [{\"criterion\": 1, \"probe\": \"Is it one page?\"}]}\n```"),
            false => says(graded(1).to_string()),
        }
    });
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": ["/bin/sh", "work.sh"]}))
        .model("cutter", &model, "model: c")
        .judge("j", &[&graded(1).to_string()])
        .task("work", |t| {
            t.unreviewed()
                .files(["guide.md"])
                .set("acceptance", ["it is short"])
                .set("decomposer", json!({"agent": "cutter"}))
        })
        .workspace();
    workspace.write("work.sh", "echo wordsOfTheFile > guide.md; echo wordsOfTheWorker\n");
    let document = workspace.run_json(0, &["--record", "tape"]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    let asked = model.asked();
    assert_eq!(asked.len(), 1);
    asked[0].to_string().says(&["1. it is short"]).omits(&["wordsOfThe"]);
    workspace.asked("j", 1).says(&["wordsOfTheFile", "1: Is it one page?"]);
    // What it said is on record like the word of any model.
    drop(model);
    let again = workspace.run_json(0, &["--offline", "--record", "tape"]);
    assert_eq!(standing(&again, "work"), ("done", "clean"));
    workspace.quorum(&["review", "--replay", "--json"]).exits(0);
}

#[test]
fn neither_the_work_nor_the_questions_speak_to_the_judge_of_a_rubric() {
    let obedient = json!(["/bin/sh", "@agents/obedient-judge.sh", "asked", WORD]);
    let mission = Mission::new()
        .agent_with(
            "attacker",
            json!({"run": ["/bin/sh", "@agents/attacker.sh", "attacks"], "input": "none"}),
        )
        .agent_with("cutter", json!({"run": ["/bin/sh", "cut.sh"]}))
        .agent_with("judge", json!({"run": obedient, "role": "reviewer"}))
        .setting("concurrency", 4)
        .setting("judgeBreaker", 0);
    let one = |mission: Mission, title: &str, description: &str| {
        mission.task(title, |t| {
            t.set("description", description)
                .attempts(1)
                .unreviewed()
                .set("acceptance", ["it is short"])
                .set("decomposer", json!({"agent": "cutter"}))
        })
    };
    let mut mission = one(mission, "told", &format!("the mission itself says {WORD}"));
    for n in 0..ATTACKS.len() {
        mission = one(mission, &format!("work-{n}"), "write something");
        mission = one(mission, &format!("cut-{n}"), "write something");
    }
    let workspace = mission.workspace();
    workspace.write("cut.sh", "cat > /dev/null; cat \"cuts/$QUORUM_TASK\"\n");
    let probe = |text: &str| json!({"probes": [{"criterion": 1, "probe": text}]}).to_string();
    workspace.write("attacks/told/output", "work");
    workspace.write("cuts/told", probe("Is it short?"));
    for (n, attack) in ATTACKS.iter().enumerate() {
        let attack = attack.replace('@', &format!(" {WORD} "));
        workspace.write(&format!("attacks/work-{n}/output"), &attack);
        workspace.write(&format!("cuts/work-{n}"), probe("Is it short?"));
        workspace.write(&format!("attacks/cut-{n}/output"), "work");
        workspace.write(&format!("cuts/cut-{n}"), probe(&attack));
    }
    let document = workspace.run_json(3, &[]);
    assert_eq!(task(&document, "told")["status"], "done");
    for (n, attack) in ATTACKS.iter().enumerate() {
        for title in [format!("work-{n}"), format!("cut-{n}")] {
            assert_eq!(task(&document, &title)["status"], "failed", "{title}: {attack:?}");
        }
    }
}

/// A guide by `writer` that `editor` verifies, its criteria cut by this agent.
fn node(cutter: &str) -> Workspace {
    let writes = json!(["/bin/sh", "-c", "echo a guide > guide.md; echo done"]);
    let verify = json!({
        "type": "verification", "acceptance": ["it is short", "it has an example"],
        "decomposer": {"agent": cutter}, "onPass": "publish", "onFail": "mend", "onRefer": "ask",
    });
    Mission::new()
        .agent_with("writer", json!({"run": writes, "input": "none"}))
        .agent_with("cutter", json!({"run": ["/bin/sh", "cut.sh"]}))
        .answerer("editor", &[&graded(1).to_string()])
        .task("guide", |t| t.files(["guide.md"]).unreviewed())
        .task("verify", |t| t.by("editor").needs("guide").with(verify))
        .task("publish", |t| t.unreviewed())
        .task("mend", |t| t.unreviewed())
        .task("ask", |t| t.unreviewed())
        .workspace()
}

#[test]
fn a_verification_hands_over_the_work_that_it_is_about() {
    let workspace = node("cutter");
    workspace.write("cut.sh", format!("cat > /dev/null; {CUT}\n"));
    let document = workspace.run_json(0, &[]);
    assert_eq!(task(&document, "verify")["edges"]["taken"], "onPass");
    assert!(workspace.asked("editor", 1).contains("2: Does the example run?"));
    let show = workspace.quorum(&["show", "verify", "--json"]).exits(0).json();
    let record = show["attempts"][0]["handoffs"][0]["record"]["path"].as_str().unwrap();
    let record: Value = serde_json::from_str(&std::fs::read_to_string(record).unwrap()).unwrap();
    assert_eq!(record["from"], json!([{"task": "guide", "agent": "writer", "attempt": 1, "model": null}]));
    assert_eq!(record["to"], "editor");
    let guide = &record["artifacts"][0];
    assert_eq!((&guide["path"], &guide["size"]), (&json!("guide.md"), &json!(8)));
    assert_eq!(guide["sha256"].as_str().map(str::len), Some(64));
    let own = node("writer");
    own.refuses(&["Q0410", "its own work"]);
    // Whoever verifies may cut as well: it is not the author.
    let editor = node("editor");
    editor.quorum(&["validate", "mission.yaml"]).exits(0);
}

#[test]
fn criteria_that_a_person_changed_are_cut_anew() {
    let workspace = workspace(CUT, &[graded(1)]);
    workspace.run_json(0, &[]);
    let longer = ["it is long", "it has an example"];
    let workspace = workspace.tap(|m| m.change("work", |t| t.set("acceptance", longer)));
    let document = workspace.resume_json(0, &["--accept-changed-mission"]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("cuts").len(), 2);
    assert!(workspace.read("asked").contains("1. it is long\n"));
}

#[test]
fn the_mission_that_shows_it_does_what_it_says() {
    let workspace = Workspace::of_missions(&[
        "acceptance.yaml",
        "acceptance/write.sh",
        "acceptance/cut.sh",
        "acceptance/grade.sh",
    ]);
    let document = workspace.quorum(&["run", "acceptance.yaml", "--json"]).exits(0).json();
    assert_eq!(standing(&document, "Write the guide"), ("done", "clean"));
    assert_eq!(attempts(&document, "Write the guide"), ["execute", "fix"]);
    let shown = workspace.quorum(&["show", "Write the guide", "--full"]).exits(0);
    assert_eq!(shown.stdout.matches("handed over to editor").count(), 2, "{}", shown.stdout);
}
