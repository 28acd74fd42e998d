//! Tools that a person is asked about: a yes is for one call (semantics, section 5).

use serde_json::json;

use crate::support::model::{Model, results, says, wants};
use crate::support::scenes::tool_workers::tool_worker;
use crate::support::{Says, Workspace, attempts, standing, task};

#[test]
fn a_person_is_asked_about_each_call_that_needs_one() {
    // A model that makes its call again once its prompt says that it may.
    let model = Model::new(|body| {
        let prompt = body["messages"].to_string();
        let may = prompt.contains("a person allows this call");
        match (results(body).len(), may) {
            (0, _) => wants(&[("run", json!({"argv": ["touch", "published"]}))]),
            (1, false) => wants(&[("run", json!({"argv": ["touch", "second"]}))]),
            (1, true) => says("I published it, as it was allowed."),
            _ => says("I wait for a person."),
        }
    });
    let workspace = tool_worker(&model, "{read: allow, run: ask}", "review: none");
    let document = workspace.run_json(8, &[]);
    assert!(!workspace.exists("published") && !workspace.exists("second"));
    let waiting = &document["approvals"][0];
    assert_eq!(waiting["reason"], "auth");
    let message = waiting["message"].as_str().unwrap();
    assert!(message.contains(r#"run ["touch","published"]"#), "{message}");
    let refusals = results(model.asked().last().unwrap());
    assert!(refusals[0].contains("A person must allow this call"), "{refusals:?}");
    assert!(refusals[1].contains("an earlier call of this turn first"), "{refusals:?}");

    let id = waiting["id"].as_str().unwrap();
    workspace.quorum(&["answer", id, "yes"]).exits(2);
    workspace.quorum(&["approve", id]).exits(0);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done");
    assert!(workspace.exists("published") && !workspace.exists("second"));
    assert_eq!(attempts(&document, "work"), ["execute"], "it spends no attempt");
    let events = workspace.events();
    let asked: Vec<_> = events.iter().filter(|event| event["event"] == "tool:asked").collect();
    assert_eq!(
        (asked.len(), &asked[0]["call"]),
        (1, &json!(r#"run ["touch","published"], whatever the files hold that it uses"#))
    );
}

#[test]
fn what_was_allowed_is_that_call_and_no_other() {
    let model = Model::new(|body| {
        let allowed = body["messages"].to_string().contains("a person allows this call");
        match results(body).len() {
            0 if allowed => wants(&[("write", json!({"path": "b.txt", "content": "b"}))]),
            0 => wants(&[("write", json!({"path": "a.txt", "content": "a"}))]),
            _ => says("I wait for a person, who is asked about what I want to write."),
        }
    });
    let workspace = tool_worker(&model, "{write: ask}", "review: none");
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().unwrap();
    workspace.quorum(&["approve", id]).exits(0);
    let document = workspace.resume_json(8, &[]);
    let waiting = &document["approvals"][0];
    assert!(
        waiting["message"].as_str().unwrap().contains(r#"write "b.txt", whatever it holds"#),
        "{waiting}"
    );
    assert!(!workspace.exists("a.txt") && !workspace.exists("b.txt"));

    let id = waiting["id"].as_str().unwrap();
    workspace.quorum(&["reject", id, "--reason", "not there"]).exits(0);
    let document = workspace.resume_json(3, &[]);
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "cancelled");
    assert!(failure["message"].as_str().unwrap().contains("not there"), "{failure}");
}

/// A model that makes these calls in their order, each until its result is that of a command, then says that it is done; a
/// turn in which a call is refused ends.
fn one_after_the_other(calls: &'static [&'static str]) -> Model {
    Model::new(move |body| {
        let prompt = body["messages"].to_string();
        let given = results(body);
        if given.last().is_some_and(|last| last.contains("must allow") || last.contains("comes first")) {
            return says("I wait for a person.");
        }
        // What was allowed in earlier turns was made then.
        let made = prompt.matches("a person allowed this call").count() + given.len();
        match calls.get(made) {
            Some(call) => wants(&[("run", json!({"shell": *call}))]),
            None => says("I did all that I was to do, each of it once."),
        }
    })
}

/// Answers what waits with yes until the run ends; the number of answers.
fn allow_all(workspace: &Workspace) -> usize {
    let mut document = workspace.run_json(8, &[]);
    let mut allowed = 0;
    loop {
        let id = document["approvals"][0]["id"].as_str().unwrap().to_owned();
        workspace.quorum(&["approve", &id]).exits(0);
        allowed += 1;
        let ended = workspace.quorum(&["resume", "--json"]);
        document = ended.json();
        if document["exitCode"] != 8 {
            assert_eq!(document["exitCode"], 0, "{document:#}");
            return allowed;
        }
    }
}

#[test]
fn a_yes_is_for_one_call() {
    let model = one_after_the_other(&["echo A >> log.txt", "echo B >> log.txt", "echo A >> log.txt"]);
    let workspace = tool_worker(&model, "{run: ask}", "review: none");
    assert_eq!(allow_all(&workspace), 3, "the same call once more needs another yes");
    assert_eq!(workspace.read("log.txt"), "A\nB\nA\n");
}

#[test]
fn a_yes_does_not_outlive_the_turn_that_it_was_for() {
    // The runner dies while the allowed command runs: whether it was made is unknown, so a person is asked again.
    let model =
        one_after_the_other(&["echo made >> log.txt; echo > begun; while [ ! -e go ]; do sleep 0.05; done"]);
    let workspace = tool_worker(&model, "{run: ask}", "review: none");
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().unwrap();
    workspace.quorum(&["approve", id]).exits(0);
    workspace.kill_at(&["resume"], "begun");
    workspace.write("go", "");
    // Made or not: the model is told not to repeat it, and does not.
    let document = workspace.resume_json(0, &[]);
    assert_eq!(standing(&document, "work").0, "done");
    assert_eq!(workspace.read("log.txt"), "made\n");
    let prompts = model.asked();
    prompts.last().unwrap()["messages"].to_string().says(&["do not repeat it"]).omits(&["make it now"]);
}

#[test]
fn what_was_allowed_to_one_attempt_is_nothing_to_the_next() {
    let model = Model::new(|body| {
        let prompt = body["messages"].to_string();
        match results(body).len() {
            0 => wants(&[("run", json!({"argv": ["touch", "made"]}))]),
            _ if prompt.contains("must allow") => says("I wait for a person."),
            _ => says("I made the call that I was allowed to make, and that is all."),
        }
    });
    let workspace = tool_worker(
        &model,
        "{run: ask}",
        "maxFixAttempts: 1, expectations: [{type: test, command: 'test -e fixed'}]",
    );
    let document = workspace.run_json(8, &[]);
    let id = document["approvals"][0]["id"].as_str().unwrap();
    workspace.quorum(&["approve", id]).exits(0);
    // The check fails; the fix wants the same call, and is asked about it anew.
    let document = workspace.resume_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "auth");
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    let shown = workspace.quorum(&["show", "work", "--json"]).exits(0).json();
    let path = shown["attempts"][1]["turns"][0]["prompt"]["path"].as_str().unwrap();
    std::fs::read_to_string(path).unwrap().omits(&["this call"]);
}

#[test]
fn nobody_is_asked_about_what_cannot_be_done_nor_about_two_things_at_once() {
    let calls = [
        ("run", json!({"argv": ["rm", "-rf", "/"]})),
        ("write", json!({"path": "../x", "content": "x"})),
        ("bash", json!({"shell": "x"})),
        ("ask", json!({"text": "Which one?"})),
        ("run", json!({"argv": ["true"]})),
    ];
    let model = Model::new(move |body| match calls.get(results(body).len()) {
        Some(call) => wants(std::slice::from_ref(call)),
        None => says("I wait for an answer."),
    });
    let workspace = tool_worker(&model, "{read: ask, write: ask, run: ask}", "review: none");
    let document = workspace.run_json(8, &[]);
    assert_eq!(document["approvals"][0]["reason"], "question");
    let given = results(model.asked().last().unwrap());
    let expected = ["refused", "outside", "no tool 'bash'", "taken", "your question comes first"];
    assert_eq!(given.len(), expected.len(), "{given:?}");
    for (result, words) in given.iter().zip(expected) {
        assert!(result.contains(words), "{result}: {words}");
    }
}

#[test]
fn a_tool_call_that_nobody_allows_in_time_is_denied() {
    let model = Model::new(|body| match results(body).len() {
        0 => wants(&[("run", json!({"argv": ["touch", "published"]}))]),
        _ => says("I wait for a person."),
    });
    let mission = |permissions: &str| {
        Workspace::with(&format!(
            "name: m\nagents: {{w: {{adapter: openai, model: m, baseUrl: '{}', tools: {{run: ask}}{permissions}}}}}\n\
             tasks: [{{title: work, review: none}}]\n",
            model.base()
        ))
    };
    // Without a time it waits for ever.
    let document = mission("").run_json(8, &[]);
    assert_eq!(document["approvals"][0]["expires"], serde_json::Value::Null);
    let workspace = mission(", permissions: {timeout: 300}");
    let ended = workspace.quorum(&["run", "mission.yaml", "--json", "--wait-approvals", "1h"]);
    let document = ended.exits(3).json();
    let failure = &task(&document, "work")["failure"];
    assert_eq!(failure["mode"], "cancelled");
    failure["message"].says(&["nobody allowed a tool call of its agent within 300"]);
    assert!(!workspace.exists("published"));
    let resolved = workspace.events().first_named("approval:resolved");
    assert_eq!((&resolved["status"], &resolved["resolvedBy"]), (&json!("timeout"), &json!("quorum")));
    // One whose session has ended meanwhile is denied when the next begins.
    let workspace = mission(", permissions: {timeout: 1}");
    workspace.run_json(8, &[]);
    let document = workspace.resume_json(3, &[]);
    assert_eq!(task(&document, "work")["failure"]["mode"], "cancelled");
}

#[test]
fn permissions_that_would_hold_nobody_are_refused() {
    for (permissions, words) in
        [("edit", "does not apply"), ("{read: allow}", "over ACP only"), ("{time: 1}", "timeout")]
    {
        let workspace = Workspace::with(&format!(
            "name: m\nagents: {{w: {{run: 'true', permissions: {permissions}}}}}\ntasks: [{{title: work, review: none}}]\n"
        ));
        workspace.refuses(&[words]);
    }
}
