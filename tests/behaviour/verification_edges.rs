//! Verifications as nodes of the graph: `type: verification` with `onPass`, `onFail`, `onRefer` (semantics, section 10).

use serde_json::{Value, json};

use crate::support::{Has, Mission, Says, Workspace, attempts, junit, standing, task};

/// A guide that the scripted judge `editor` verifies; what `onFail` names, and keys of the verification.
fn guide(fail: &str, keys: Value, replies: &[Value]) -> Workspace {
    let usable = json!([
        {"name": "example", "weight": 0.6, "grade": "binary", "required": true},
        {"name": "short", "weight": 0.4, "grade": "binary"},
    ]);
    let verify = json!({
        "type": "verification", "description": "Is it usable?", "acceptance": ["there is an example"],
        "verification": {"rubric": "usable", "threshold": 70},
        "onPass": "publish", "onFail": fail, "onRefer": "ask",
    });
    let workspace = Mission::new()
        .key("rubrics", json!({"usable": {"criteria": usable}}))
        .key("qualityGates", json!([{"name": "out", "afterTasks": ["publish"], "blocksTasks": ["announce"]}]))
        .agent_with("writer", json!({"run": ["/bin/sh", "write.sh"]}))
        .answerer("editor", &[])
        .task("guide", |t| t.set("description", "Write the guide.").files(["guide.md"]))
        .task("verify", |t| t.by("editor").needs("guide").with(verify).with(keys))
        .tasks(["publish"])
        .task("announce", |t| t.needs("publish"))
        .tasks(["repair", "ask"])
        .workspace();
    workspace.write(
        "write.sh",
        "cat > \"prompt.$QUORUM_TASK.$QUORUM_ATTEMPT\"\necho \"$QUORUM_TASK $QUORUM_ATTEMPT\" >> log\n[ $QUORUM_TASK != guide ] || echo \"$QUORUM_TASK $QUORUM_ATTEMPT\" > guide.md\necho 'the text of the guide'\n",
    );
    workspace.judge("editor", replies);
    workspace
}

fn graded(example: u8, verdict: &str, confidence: f64) -> Value {
    json!({
        "criteria": {"example": {"grade": example, "reasoning": "looked for one"}, "short": {"grade": 1}},
        "verdict": verdict, "confidence": confidence,
    })
}

fn routed(workspace: &Workspace) -> Vec<(String, String)> {
    let events = workspace.events();
    let routed = events.iter().filter(|event| event["event"] == "verification:routed");
    let word = |event: &Value, key: &str| event[key].as_str().unwrap_or_default().to_owned();
    routed.map(|event| (word(event, "edge"), word(event, "to"))).collect()
}

#[test]
fn a_verdict_chooses_what_follows_and_the_rest_leaves_the_run() {
    let table = [
        (graded(1, "pass", 0.9), "onPass", vec!["repair", "ask"]),
        (graded(0, "pass", 0.9), "onFail", vec!["publish", "announce", "ask"]),
        (graded(1, "pass", 0.2), "onRefer", vec!["publish", "announce", "repair"]),
    ];
    for (reply, edge, left) in table {
        let workspace = guide("repair", json!({}), &[reply]);
        let reports =
            ["--report", "junit=junit.xml", "--report", "markdown=report.md", "--report", "html=r.html"];
        let document = workspace.run_json(0, &reports);
        let counts = &document["counts"];
        assert_eq!(counts["notTaken"], left.len(), "{edge}");
        assert_eq!((&counts["pending"], &counts["failed"]), (&json!(0), &json!(0)));
        assert_eq!(document["resumable"], false);
        let verify = task(&document, "verify");
        assert_eq!(verify["edges"]["taken"], edge);
        assert_eq!(standing(&document, "verify"), ("done", "clean"));
        let cases = junit::read(&workspace.read("junit.xml"));
        for title in &left {
            let task = task(&document, title);
            assert_eq!(task["status"], "notTaken", "{edge} {title}");
            assert_eq!(task["leftOutBy"], json!({"task": "verify", "edge": edge}));
            let skipped = cases.case(title).all("skipped");
            assert_eq!(skipped[0].attribute("message"), format!("not taken: 'verify' took {edge}"));
        }
        let word = if edge == "onPass" { "passed" } else { "notTaken" };
        assert_eq!(document["gates"][0]["state"], word);
        let ended = workspace.quorum(&["status"]).exits(0);
        ended.shows(&[&format!("{} not taken", left.len())]).hides(&["not selected"]);
        assert!(workspace.read("report.md").contains("not taken"));
        let of_gate = workspace.quorum(&["gate", "out"]);
        assert_eq!(of_gate.code(), Some(if edge == "onPass" { 0 } else { 2 }), "{}", of_gate.stderr);
    }
}

#[test]
fn the_judge_sees_the_work_it_judges_and_what_follows_is_told_the_verdict() {
    let workspace = guide("repair", json!({}), &[graded(0, "fail", 0.9)]);
    workspace.run_json(0, &[]);
    workspace.asked("editor", 1).says(&[
        "Is it usable?",
        "Write the guide.",
        "the text of the guide",
        "guide.md",
        "guide 1",
        "there is an example",
        "example (0 or 1, required)",
    ]);
    let shown = workspace.read("prompt.repair.1");
    shown.says(&["What it judged failed, 40 of 100 points: guide.", "example is failed: looked for one"]);
    assert_eq!(workspace.lines("log"), ["guide 1", "repair 1"], "a verification does no work");
}

#[test]
fn failed_work_is_done_again_with_what_was_found_until_it_passes() {
    let replies = [graded(0, "fail", 0.9), graded(1, "pass", 0.9)];
    let workspace = guide("guide", json!({}), &replies);
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "guide"), ["execute", "execute"]);
    let verdicts: Vec<_> = task(&document, "verify")["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|attempt| attempt["verdict"].clone())
        .collect();
    assert_eq!(verdicts, ["fail", "pass"]);
    let text = workspace.read("prompt.guide.2");
    text.says(&["Sent back by the verification 'verify'", "example is failed: looked for one"]);
    let way = |edge: &str, to: &str| (edge.to_owned(), to.to_owned());
    assert_eq!(routed(&workspace), [way("onFail", "guide"), way("onPass", "publish")]);
    assert!(workspace.asked("editor", 2).contains("example is failed"), "it must answer for it");
    let transitions = workspace.events();
    let again = transitions.iter().find(|event| {
        event["event"] == "task:transition" && event["from"] == "done" && event["to"] == "pending"
    });
    assert_eq!(again.unwrap()["reason"], "sent back by the verification 'verify'");
}

#[test]
fn the_visits_are_bounded_and_what_is_left_says_so() {
    let workspace = guide("guide", json!({"maxVisits": 2}), &[graded(0, "fail", 0.9)]);
    let document = workspace.run_json(3, &[]);
    let verify = task(&document, "verify");
    assert_eq!(verify["status"], "failed");
    let message = verify["failure"]["message"].as_str().unwrap();
    assert_eq!(message, "the work failed verification in all 2 visits (maxVisits)");
    assert_eq!(verify["edges"]["visits"], 2);
    assert_eq!(task(&document, "publish")["failure"]["mode"], "cascade");
    assert_eq!(attempts(&document, "guide").len(), 2);
    // A person's word gives all visits again.
    workspace.judge("editor", &[&graded(1, "pass", 0.9).to_string()]);
    let document = workspace.resume_json(0, &["--retry-failed"]);
    assert_eq!(task(&document, "verify")["edges"]["taken"], "onPass");
}

#[test]
fn a_judge_that_says_nothing_chooses_nothing() {
    let workspace = guide("repair", json!({}), &[json!("I like it")]);
    let document = workspace.run_json(6, &[]);
    assert_eq!(task(&document, "verify")["status"], "awaiting_approval");
    assert_eq!(document["counts"]["notTaken"], 0);
    assert_eq!(task(&document, "publish")["status"], "pending");
    workspace.judge("editor", &[&graded(1, "pass", 0.9).to_string()]);
    let document = workspace.resume_json(0, &[]);
    assert_eq!(task(&document, "verify")["edges"]["taken"], "onPass");
}

#[test]
fn a_runner_that_dies_while_the_judge_thinks_asks_it_again_and_repeats_no_work() {
    let workspace = guide("guide", json!({}), &[graded(1, "pass", 0.9)]);
    let workspace = workspace.tap(|m| m.agent_with("editor", json!({"run": ["/bin/sh", "slow.sh"]})));
    workspace
        .write("slow.sh", "cat > /dev/null; echo x >> calls; [ -e go ] || sleep 100; cat editor/reply.1\n");
    workspace.kill_at(&["run", "mission.yaml", "--json"], "calls");
    workspace.write("go", "");
    let document = workspace.resume_json(0, &[]);
    assert_eq!(task(&document, "verify")["edges"]["taken"], "onPass");
    let log = workspace.lines("log");
    assert_eq!(log.iter().filter(|line| line.starts_with("guide ")).count(), 1, "{log:?}");
    assert_eq!(attempts(&document, "guide"), ["execute"]);
    assert_eq!(attempts(&document, "verify"), ["execute"]);
}

#[test]
fn switched_off_reviews_take_the_pass_unreviewed() {
    let workspace = guide("repair", json!({}), &[graded(0, "fail", 0.9)]);
    let document = workspace.run_json(0, &["--no-eval"]);
    assert_eq!(standing(&document, "verify"), ("done", "unreviewed"));
    assert_eq!(workspace.calls("editor"), 0);
}

#[test]
fn facts_and_checks_decide_without_any_judge() {
    let work = "echo $QUORUM_ATTEMPT >> work.md; [ $QUORUM_ATTEMPT = 1 ] || echo good >> work.md";
    for decides in [
        json!({"acceptance": ["`grep -q good work.md` passes"], "verification": {"grader": "heuristic"}}),
        json!({"expectations": [{"type": "script", "command": "grep -q good work.md"}]}),
    ] {
        let edges = json!({"type": "verification", "onPass": "ship", "onFail": "work", "onRefer": "ask"});
        let workspace = Mission::new()
            .agent_with("w", json!({"run": work, "input": "none"}))
            .tasks(["work"])
            .task("verify", |t| t.without("assignTo").needs("work").with(edges).with(decides.clone()))
            .tasks(["ship", "ask"])
            .workspace();
        let document = workspace.run_json(0, &[]);
        assert_eq!(attempts(&document, "work"), ["execute", "execute"], "{decides}");
        assert_eq!(task(&document, "ask")["status"], "notTaken");
    }
}

#[test]
fn the_plan_shows_the_edges_in_every_form() {
    let workspace = guide("guide", json!({"maxVisits": 4}), &[]);
    let plan = workspace.quorum(&["plan", "mission.yaml", "--json"]).exits(0).json();
    let verify = task(&plan, "verify");
    assert_eq!(
        verify["edges"],
        json!({"onPass": "publish", "onFail": "guide", "onRefer": "ask", "taken": null, "visits": 0, "maxVisits": 4})
    );
    verify.has(json!({"grader": "editor", "worstCase": {"judgeCalls": 4}}));
    assert_eq!(task(&plan, "publish")["dependsOn"], json!(["verify"]));
    let ended = workspace.quorum(&["plan", "mission.yaml"]).exits(0);
    ended.shows(&["onPass: publish; onFail: guide (done again, at most 4 visits); onRefer: ask"]);
    let ended = workspace.quorum(&["plan", "mission.yaml", "--format", "dot"]).exits(0);
    ended.shows(&["t1 -> t2 [label=\"onPass\"];", "t1 -> t0 [label=\"onFail\", style=dashed"]);
    let ended = workspace.quorum(&["plan", "mission.yaml", "--format", "mermaid"]).exits(0);
    ended.shows(&["t1 -.->|onFail| t0"]);
}

/// A mission whose verification has these keys, refused with these words.
fn refused(verify: &str, others: &str, words: &[&str]) {
    let workspace = Workspace::with(&format!(
        "
name: refused
agents:
  w: {{run: touch touched}}
  j: {{run: touch touched, role: reviewer}}
tasks:
  - {{title: work, assignTo: w}}
  - {{title: verify, type: verification, {verify}}}
  - {{title: yes, assignTo: w}}
  - {{title: no, assignTo: w{others}}}
"
    ));
    workspace.refuses(words);
}

#[test]
fn exactly_one_edge_of_each_kind_leads_out() {
    const GOOD: &str = "assignTo: j, dependsOn: [work], onPass: yes, onFail: work, onRefer: no";
    let without = |key: &str| GOOD.replace(key, "x-was");
    refused(&without("onPass"), "", &["Q0202", "has no `onPass`", "mission.yaml:8"]);
    refused(&without("onFail"), "", &["Q0202", "has no `onFail`"]);
    refused(&without("onRefer"), "", &["Q0202", "has no `onRefer`"]);
    refused(&format!("{GOOD}, onPass: no"), "", &["onPass", "twice"]);
    refused(&GOOD.replace("onPass: yes", "onPass: yess"), "", &["Q0403", "yess", "did you mean", "yes"]);
    refused(&GOOD.replace("onPass: yes", "onPass: verify"), "", &["Q0204", "leads to itself"]);
    refused(&GOOD.replace("onPass: yes", "onPass: work"), "", &["Q0404", "dependency cycle", "onPass"]);
    refused(&GOOD.replace("onRefer: no", "onRefer: work"), "", &["Q0404", "dependency cycle"]);
    refused(&GOOD.replace("dependsOn: [work], ", ""), "", &["Q0422", "judges nothing"]);
    refused(
        &GOOD.replace("assignTo: j", "assignTo: w"),
        "",
        &["Q0410", "cannot verify", "which it does itself"],
    );
    refused(&format!("{GOOD}, maxVisits: 0"), "", &["maxVisits"]);
    // What cannot be counted so far is refused, not cut.
    for many in ["65536", "70000", "4294967295", "4294967296"] {
        refused(&format!("{GOOD}, maxVisits: {many}"), "", &["maxVisits", "a whole number from 1 to 65535"]);
    }
    refused(
        &format!("{GOOD}, targetFiles: [a]"),
        "",
        &["Q0206", "`targetFiles` says nothing about a verification"],
    );
    for key in ["autonomy: full", "stakes: high"] {
        refused(&format!("{GOOD}, {key}"), "", &["Q0206", "says nothing about a verification"]);
    }
    refused(&format!("{GOOD}, verification: {{onRefer: pass}}"), "", &["Q0206", "the edge `onRefer`"]);
    refused(
        &format!("{GOOD}, expectations: [{{type: llm_review, criteria: c}}]"),
        "",
        &["Q0206", "not reviewed by a panel"],
    );
    refused(GOOD, ", onPass: yes", &["Q0206", "`onPass` belongs to a task of `type: verification`"]);
    refused(GOOD, ", maxVisits: 2", &["Q0206", "`maxVisits` belongs"]);
    let more = "}\n  - {title: else, assignTo: w, dependsOn: [verify]";
    refused(GOOD, more, &["Q0421", "none of its edges leads there"]);
}

#[test]
fn the_mission_that_shows_it_runs_as_it_stands() {
    let workspace =
        Workspace::of_missions(&["regenerate.yaml", "regenerate/write.sh", "regenerate/verify.sh"]);
    let document = workspace.quorum(&["run", "regenerate.yaml", "--json"]).exits(0).json();
    assert_eq!(document["counts"]["notTaken"], 1);
    assert_eq!(attempts(&document, "Write the guide").len(), 2);
    assert!(workspace.read("playground/regenerate/published.md").contains("For example"));
}
