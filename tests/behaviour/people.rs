//! Panels in which agents and people sit together: the agents are asked first, a person has the last word.

use serde_json::{Value, json};

use crate::support::{Has, Mission, Says, Workspace, attempts, standing, task, wait_for};

/// Two scripted judges and a person, who are all named.
fn mission() -> Mission {
    Mission::new()
        .keeps_prompts("worker", "prompts")
        .agent_with("judge-a", json!({"run": ["/bin/sh", "@agents/judge.sh", "a"], "role": "reviewer"}))
        .agent_with("judge-b", json!({"run": ["/bin/sh", "@agents/judge.sh", "b"], "role": "reviewer"}))
        .person("boss")
        .task("work", |t| {
            t.expects(json!({
                "type": "llm_review", "reviewers": ["judge-a", "boss", "judge-b"], "threshold": 3,
                "dimensions": [{"name": "depth", "weight": 1}]
            }))
        })
        .task("next", |t| t.needs("work").unreviewed())
}

fn reviewed_by(mission: Mission, reviewers: &[&str]) -> Mission {
    mission.change("work", |t| t.change_expectation(json!({"reviewers": reviewers})))
}

fn depth(score: u8, why: &str) -> String {
    json!({"scores": {"depth": {"reasoning": why, "score": score}}, "findings": [{"severity": "low", "description": why}]})
        .to_string()
}

/// The scores of the two judges, call by call.
fn mixed(scores: &[(u8, u8)]) -> Workspace {
    let workspace = mission().workspace();
    let replies = |of: &dyn Fn(&(u8, u8)) -> u8, why: &str| -> Vec<String> {
        scores.iter().map(|pair| depth(of(pair), why)).collect()
    };
    let (a, b) = (replies(&|pair| pair.0, "from a"), replies(&|pair| pair.1, "from b"));
    workspace.judge("a", &a);
    workspace.judge("b", &b);
    workspace
}

fn reviewers(document: &Value) -> Vec<&str> {
    let reviews = task(document, "work")["reviews"].as_array();
    let names = reviews.into_iter().flatten();
    names.map(|review| review["reviewer"].as_str().unwrap_or_default()).collect()
}

fn calls(workspace: &Workspace) -> (usize, usize) {
    (workspace.calls("a"), workspace.calls("b"))
}

/// It waits for the person, and whoever looks sees what the panel gave.
fn assert_waits(document: &Value) -> String {
    document.has(json!({"outcome": "awaiting", "exitCode": 8, "resumable": true}));
    assert_eq!(standing(document, "work"), ("awaiting_approval", ""));
    assert_eq!(standing(document, "next"), ("pending", ""));
    let work = task(document, "work");
    assert_eq!((&work["points"], &work["bar"]), (&json!(90.0), &json!(60.0)));
    assert_eq!(work["dimensions"][0]["score"], 4.5);
    assert_eq!(reviewers(document), ["judge-a", "judge-b"]);
    assert_eq!(work["reviews"][1]["points"], 100.0);
    assert_eq!(work["attempts"][0]["cause"], "person");
    assert_eq!(work["waiting"]["reason"], "refer");
    let approval = &document["approvals"][0];
    assert_eq!(approval["message"], "judge-a and judge-b gave 90, bar 60; to be accepted by boss");
    approval["id"].as_str().expect("it has an id").to_owned()
}

#[test]
fn a_person_has_the_last_word_about_what_the_agents_let_pass() {
    let workspace = mixed(&[(4, 5)]);
    let id = assert_waits(&workspace.run_json(8, &[]));
    assert_waits(&workspace.status());
    // Neither a look nor another session decides anything, and no judge is asked twice.
    assert_waits(&workspace.resume_json(8, &[]));
    workspace.quorum(&["status", "--exit-code"]).exits(8);
    assert_eq!(calls(&workspace), (1, 1));
    workspace.quorum(&["show", "work", "--full"]).exits(0).shows(&[
        "90 of 100, bar 60",
        "review by judge-a: scored",
        "depth 90 of 100",
        "to be accepted by boss",
        "judge: refer (person)",
    ]);
    workspace.quorum(&["status"]).exits(0).shows(&["90 ≥ 60", "judge-a and judge-b gave 90"]);
    workspace.quorum(&["approvals"]).exits(0).shows(&["judge-a and judge-b gave 90"]);

    workspace.quorum(&["approve", &id, "--as", "ada"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(standing(&document, "next").0, "done");
    assert_eq!(reviewers(&document), ["judge-a", "judge-b", "ada"]);
    let work = task(&document, "work");
    assert_eq!((&work["points"], &work["dimensions"][0]["score"]), (&json!(90.0), &json!(4.5)));
    assert_eq!(
        work["attempts"],
        json!([{"n": 1, "kind": "execute", "verdict": "pass", "cause": null, "points": 90.0}])
    );
    assert_eq!(document["missionScore"]["points"], 90.0);
    assert_eq!(calls(&workspace), (1, 1));
    let events = workspace.events();
    let resolved = events.iter().find(|event| event["event"] == "approval:resolved");
    assert_eq!(resolved.expect("it is on record")["resolvedBy"], "ada");
    // What is assessed once is counted once.
    let metrics = workspace.quorum(&["metrics", "--json"]).exits(0).json();
    metrics["mission"].has(json!({"totalAssessments": 1, "avgScore": 4.5}));
}

#[test]
fn a_persons_no_sends_it_back_to_work_and_to_the_panel() {
    let workspace = mixed(&[(4, 5)]);
    let id = assert_waits(&workspace.run_json(8, &[]));
    workspace.quorum(&["reject", &id, "--reason", "not kind enough", "--as", "ada"]).exits(0);
    let between = workspace.status();
    assert_eq!(task(&between, "work")["points"], json!(null));
    assert_eq!(between["outcome"], json!(null));
    let document = workspace.resume_json(8, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(task(&document, "work")["attempts"][0]["cause"], "rejected");
    workspace.read("prompts/prompt.2.1").says(&["not kind enough", "from a", "from b"]);
    assert_eq!(calls(&workspace), (2, 2));
    let second = document["approvals"][0]["id"].as_str().expect("it has an id");
    assert_ne!(second, id);
    workspace.quorum(&["approve", &id]).exits(4);
    workspace.quorum(&["approve", second]).exits(0);
    workspace.resume_json(0, &[]);
}

#[test]
fn what_the_agents_send_back_bothers_no_person() {
    let workspace = mixed(&[(2, 1), (4, 5)]);
    let document = workspace.run_json(8, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let first = &task(&document, "work")["attempts"][0];
    assert_eq!((&first["cause"], &first["points"]), (&json!("score"), &json!(30.0)));
    let events = workspace.events();
    let asked = events.iter().filter(|event| event["event"] == "approval:requested");
    assert_eq!(asked.count(), 1);
    assert!(workspace.read("prompts/prompt.2.1").contains("from b"));
}

#[test]
fn judges_that_are_missing_are_a_fault_and_no_question_to_the_person() {
    let workspace = mixed(&[]);
    // They are there and have nothing to say: each call fails.
    workspace.write("a/empty", "");
    workspace.write("b/empty", "");
    let document = workspace.run_json(6, &[]);
    assert_eq!(document["outcome"], "indeterminate");
    assert_eq!(standing(&document, "work"), ("awaiting_approval", ""));
    assert_eq!(task(&document, "work")["attempts"][0]["cause"], "gate-error");
    workspace.judge("a", &[&depth(4, "a")]);
    workspace.judge("b", &[&depth(5, "b")]);
    assert_waits(&workspace.resume_json(8, &[]));
}

#[test]
fn a_runner_that_is_killed_while_a_person_thinks_has_lost_nothing() {
    let workspace = mixed(&[(4, 5)]).tap(|m| {
        m.agent("slow", "while ! test -e go; do sleep 0.02; done").task("slow", |t| t.by("slow").unreviewed())
    });
    let running = workspace.start(&["run", "mission.yaml", "--json"]);
    wait_for("the question", || {
        workspace.quorum(&["approvals", "--json"]).stdout.contains("to be accepted by boss")
    });
    running.kill();
    let crashed = workspace.status();
    assert_eq!(crashed["state"], "crashed");
    assert_eq!(task(&crashed, "work")["points"], 90.0);
    workspace.write("go", "");
    let id = assert_waits(&workspace.resume_json(8, &[]));
    assert_eq!(calls(&workspace), (1, 1));
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(reviewers(&document).len(), 3);
    assert_eq!(calls(&workspace), (1, 1));
}

#[test]
fn the_answer_of_one_of_two_people_decides() {
    let workspace = mixed(&[(4, 5)])
        .tap(|m| m.person("chief"))
        .tap(|m| reviewed_by(m, &["judge-a", "boss", "judge-b", "chief"]));
    let document = workspace.run_json(8, &[]);
    let approvals = document["approvals"].as_array().expect("a list");
    assert_eq!(approvals.len(), 1);
    let message = approvals[0]["message"].as_str().expect("words");
    assert!(message.ends_with("to be accepted by boss or chief"), "{message}");
    workspace.quorum(&["approve", approvals[0]["id"].as_str().expect("an id"), "--as", "chief"]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(reviewers(&document), ["judge-a", "judge-b", "chief"]);
}

#[test]
fn the_plan_says_that_a_person_is_asked_afterwards() {
    let workspace = mixed(&[]);
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let work = task(&plan, "work");
    work.has(json!({"seats": ["judge-a", "judge-b"], "people": ["boss"], "note": null}));
    // Two seats, twelve attempts: a person's answer is no call.
    assert_eq!(work["worstCase"]["judgeCalls"], 24);
    workspace.quorum(&["plan", "mission.yaml"]).exits(0).shows(&[
        "judged by panel of judge-a (named as reviewer), judge-b (named as reviewer), bar 60, then a person \
             is asked: boss (named as reviewer)",
    ]);
    workspace.quorum(&["doctor", "--mission", "mission.yaml"]).exits(0);
}

#[test]
fn false_green_22_an_approval_that_nobody_answers_is_never_skipped() {
    // As in a pipeline: no terminal, nobody there. A named person, beside agents or alone.
    for (what, workspace) in [
        ("a panel with a person", mixed(&[(4, 5)])),
        ("a person alone", mixed(&[]).tap(|m| reviewed_by(m, &["boss"]))),
    ] {
        let document =
            workspace.quorum_with(&[("CI", "true")], &["run", "mission.yaml", "--json"]).exits(8).json();
        let id = document["approvals"][0]["id"].clone();
        for _ in 0..2 {
            let document = workspace.quorum_with(&[("CI", "true")], &["resume", "--json"]).exits(8).json();
            assert_eq!(
                (&document["outcome"], &document["resumable"], &document["approvals"][0]["id"]),
                (&json!("awaiting"), &json!(true), &id),
                "{what}"
            );
            assert_eq!(standing(&document, "next"), ("pending", ""), "{what}");
        }
        // Strictness changes nothing, and no flag of a session answers for a person.
        workspace.resume_json(8, &["--strict"]);
        workspace.quorum(&["status", "--exit-code"]).exits(8);
    }
}

#[test]
fn a_person_who_accepted_a_panels_work_is_asked_only_about_what_is_still_open() {
    // Nobody may grade by the rubric: the only other agent is of the author's family.
    let workspace = Mission::new()
        .agent_with("worker", json!({"run": "echo n >> acts; echo done", "family": "one"}))
        .agent_with(
            "other",
            json!({
                "run": ["/bin/sh", "@agents/judge.sh", "other"],
                "role": "reviewer",
                "family": "one",
            }),
        )
        .agent_with("boss", json!({"adapter": "human"}))
        .setting("independence", "family")
        .task("work", |t| {
            t.expects(json!({"type": "script", "command": "echo n >> checks"}))
                .expects(json!({"type": "llm_review", "criteria": "good", "reviewers": ["boss"]}))
                .set("verification", json!({"rubric": "default-task"}))
        })
        .workspace();
    let open = |document: &Value| {
        let approvals = document["approvals"].as_array().expect("it is a list");
        let one = approvals.first().expect("a person is asked").clone();
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        (approvals.len(), text("id"), text("message"))
    };
    let (_, id, message) = open(&workspace.run_json(8, &[]));
    assert_eq!(message, "to be reviewed by boss");
    workspace.quorum(&["approve", &id]).exits(0);
    // The judge is missing, which is no question to the person about the panel.
    for _ in 0..2 {
        let document = workspace.resume_json(6, &[]);
        let (count, _, message) = open(&document);
        assert_eq!(count, 1);
        assert!(message.starts_with("nobody may review this work"), "{message}");
    }
    let asked = workspace.events();
    let about_the_panel = |event: &&Value| {
        event["event"] == "approval:requested" && event["message"] == "to be reviewed by boss"
    };
    assert_eq!(asked.iter().filter(about_the_panel).count(), 1);
    let (_, id, _) = open(&workspace.status());
    workspace.quorum(&["approve", &id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work"), ("done", "clean"));
    assert_eq!(workspace.lines("acts").len(), 1);
    assert_eq!(workspace.calls("other"), 0);
    assert!(workspace.lines("checks").len() > 1, "what can be seen is looked at again");
}
