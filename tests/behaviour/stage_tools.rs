//! Judges behind the panel that look for themselves: agents of stages, the red team, and whoever grades at a verification
//! with edges (semantics, sections 6, 7, 10 and 15). What a tool shows them changes what becomes of the work; a provider
//! that fails while they look is a fault.

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use crate::support::model::{Model, offered, refuses, results, says, wants};
use crate::support::verdicts;
use crate::support::{Has, Says, Workspace, standing, task};

/// The middle of a file that is longer than a prompt shows.
const STUB: &str = "fn parse() { todo!() }";
const DONE: &str = "fn parse() {}";

/// A worker who writes such a file with this in its middle, and a judge behind HTTP.
fn workspace(middle: &str, judged: &str, model: &Model) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: looked at
agents:
  worker: {{run: [/bin/sh, work.sh]}}
  judge: {{adapter: openai, model: m, baseUrl: '{}'}}
{judged}
",
        model.base()
    ));
    let long = "yes '// It reads one line after the other.' | head -80";
    workspace.write(
        "work.sh",
        format!("mkdir -p src; {{ {long}; echo '{middle}'; {long}; }} >src/parser.rs; echo done\n"),
    );
    workspace
}

const STAGE: &str = "stages: [{name: honest, agent: judge}]
tasks: [{title: work, assignTo: worker, targetFiles: [src/parser.rs], review: none, maxAttempts: 1}]";

const RED_TEAM: &str = "redTeam: {agent: judge}
tasks: [{title: work, assignTo: worker, targetFiles: [src/parser.rs], review: none, maxAttempts: 1}]";

const EDGES: &str = "rubrics: {honest: {criteria: [{name: whole, weight: 1, grade: binary}]}}
tasks:
  - {title: work, assignTo: worker, targetFiles: [src/parser.rs], review: none}
  - {title: verify, type: verification, assignTo: judge, dependsOn: [work], verification: {rubric: honest},
     onPass: publish, onFail: repair, onRefer: ask}
  - {title: publish, assignTo: worker, review: none}
  - {title: repair, assignTo: worker, review: none}
  - {title: ask, assignTo: worker, review: none}";

/// Searches the work, then replies by what it saw; without tools it takes the work for good.
fn searching(stub: Value, good: Value) -> impl Fn(&Value) -> ResponseTemplate {
    move |body| match (offered(body).is_empty(), results(body).is_empty()) {
        (false, true) => wants(&[("search", json!({"pattern": "todo!|unimplemented!"}))]),
        _ if body["messages"].to_string().contains(STUB) => says(stub.to_string()),
        _ => says(good.to_string()),
    }
}

/// Looks, and then its provider is gone.
fn failing(body: &Value) -> ResponseTemplate {
    match results(body).is_empty() {
        true => wants(&[("list", json!({"path": "."}))]),
        false => refuses(401, "the key has expired"),
    }
}

/// What `show` has of the calls to the judge of a task, in JSON and for people.
fn asks(workspace: &Workspace, title: &str) -> (Vec<Value>, String) {
    let shown = workspace.quorum(&["show", title, "--json"]).exits(0).json();
    let attempts = shown["attempts"].as_array().unwrap();
    let rows = attempts.iter().flat_map(|attempt| attempt["asks"].as_array());
    let human = workspace.quorum(&["show", title, "--full"]).exits(0).stdout;
    (rows.flatten().cloned().collect(), human)
}

/// The judge's only call, which used a tool once: its record is shown as it is of seats.
fn assert_it_looked(workspace: &Workspace, title: &str, (stage, name): (&str, Value), line: &str) {
    let (rows, human) = asks(workspace, title);
    assert_eq!(rows.len(), 1, "{rows:?}");
    let row = &rows[0];
    assert_eq!((&row["stage"], &row["name"]), (&json!(stage), &name));
    assert_eq!((&row["reviewer"], &row["state"]), (&json!("judge"), &json!("replied")));
    let tools = &row["tools"];
    assert_eq!((&tools["calls"], &tools["failed"], &tools["requests"]), (&json!(1), &json!(0), &json!(2)));
    let text = std::fs::read_to_string(tools["ledger"]["path"].as_str().unwrap()).unwrap();
    text.says(&["\"tool\":\"search\""]);
    let (_, after) = human.split_once(&format!("  {line} by judge (scripted-1): replied\n")).expect(&human);
    assert!(after.contains("tools: 1 calls, 0 of them refused or failed, 2 requests"), "{human}");
}

/// Its provider failed after one look: that is on record, and nothing is scored.
fn assert_it_broke_off(workspace: &Workspace, title: &str) {
    let (rows, human) = asks(workspace, title);
    assert!(!rows.is_empty());
    for row in &rows {
        row.has(json!({"state": "failed", "failure": "provider_auth", "tools": {"calls": 1}}));
    }
    assert!(human.contains("tools: 1 calls"), "{human}");
}

#[test]
fn an_agent_of_a_stage_keeps_out_what_it_found_with_its_tools() {
    let reply = |verdict: &str| json!({"verdict": verdict, "reason": "as seen"});
    for (middle, code, verdict) in [(STUB, 3, ("fail", "stage")), (DONE, 0, ("pass", ""))] {
        let model = Model::new(searching(reply("fail"), reply("pass")));
        let workspace = workspace(middle, STAGE, &model);
        let document = workspace.run_json(code, &[]);
        assert_eq!(verdicts(&document), [verdict]);
        // It was not shown what it found.
        assert!(!model.asked()[0].to_string().contains("fn parse"));
        assert_it_looked(&workspace, "work", ("stages", json!("honest")), "stages honest");
    }
}

#[test]
fn an_agent_of_a_stage_whose_provider_fails_while_it_looks_leaves_it_to_a_person() {
    let model = Model::new(failing);
    let workspace = workspace(DONE, STAGE, &model);
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(document["approvals"][0]["reason"], "refer");
    assert_eq!(task(&document, "work")["attempts"].as_array().unwrap().len(), 1);
    assert_it_broke_off(&workspace, "work");
}

#[test]
fn the_red_team_blocks_by_what_it_found_with_its_tools() {
    let hole =
        json!({"severity": "high", "surface": "correctness", "description": "a stub", "evidence": STUB});
    let report = |findings: &[&Value]| json!({"findings": findings, "summary": "looked at it"});
    for (middle, code, verdict) in [(STUB, 3, ("fail", "red-team")), (DONE, 0, ("", ""))] {
        let model = Model::new(searching(report(&[&hole]), report(&[])));
        let workspace = workspace(middle, RED_TEAM, &model);
        let document = workspace.run_json(code, &[]);
        assert_eq!(verdicts(&document), [verdict]);
        assert!(!model.asked()[0].to_string().contains("fn parse"));
        assert_it_looked(&workspace, "work", ("redTeam", Value::Null), "redTeam");
    }
}

#[test]
fn a_red_team_whose_provider_fails_while_it_looks_is_an_open_fault_that_is_seen() {
    for (flags, code) in [(&[][..], 0), (&["--strict"], 6)] {
        let model = Model::new(failing);
        let workspace = workspace(DONE, RED_TEAM, &model);
        let document = workspace.run_json(code, flags);
        let reviews = task(&document, "work")["reviews"].as_array().unwrap();
        assert_eq!((&reviews[0]["stage"], &reviews[0]["verdict"]), (&json!("redTeam"), &json!("fault")));
        document["warnings"][0].says(&["redTeam gave no report"]);
        assert_it_broke_off(&workspace, "work");
    }
}

#[test]
fn the_edge_that_a_verification_takes_hangs_on_what_its_judge_found_with_its_tools() {
    let reply = |grade: u32, verdict: &str| {
        let given = json!({"grade": grade, "reasoning": "as seen"});
        json!({"criteria": {"whole": given}, "verdict": verdict, "confidence": 0.9})
    };
    for (middle, edge) in [(STUB, "onFail"), (DONE, "onPass")] {
        let model = Model::new(searching(reply(0, "fail"), reply(1, "pass")));
        let workspace = workspace(middle, EDGES, &model);
        let document = workspace.run_json(0, &[]);
        assert_eq!(task(&document, "verify")["edges"]["taken"], edge);
        assert!(!model.asked()[0].to_string().contains("fn parse"));
        assert_it_looked(&workspace, "verify", ("verification", Value::Null), "verification");
    }
}

#[test]
fn a_verification_whose_judge_breaks_off_while_it_looks_takes_no_edge() {
    let model = Model::new(failing);
    let workspace = workspace(DONE, EDGES, &model);
    let document = workspace.run_json(6, &[]);
    assert_eq!(standing(&document, "verify").0, "awaiting_approval");
    assert_eq!(task(&document, "verify")["edges"]["taken"], Value::Null);
    for title in ["publish", "repair", "ask"] {
        assert_eq!(standing(&document, title).0, "pending", "{title}");
    }
    assert_it_broke_off(&workspace, "verify");
}
