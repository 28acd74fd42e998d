//! How the replies of judges are read (semantics, sections 4, 7 and 10), through the binary: one reader for all of them.

use serde_json::{Value, json};

use crate::support::{Says, Workspace, attempts, standing, task};

/// One worker and the scripted judge `j`; `keys` are the task's, `top` the mission's.
fn judged(keys: &str, top: &str, replies: &[&str]) -> Workspace {
    let workspace = Workspace::with(&format!(
        "
name: judged
agents:
  worker: {{run: [/bin/sh, '@agents/keep-prompt.sh', prompts]}}
  j: {{run: [/bin/sh, '@agents/judge.sh', j], role: reviewer}}
{top}
tasks: [{{title: work, assignTo: worker, description: Write about the sea., {keys}}}]
"
    ));
    workspace.judge("j", replies);
    workspace
}

const STAGE: &str = "review: none, stages: [{name: licence, agent: j, criteria: Only free licences.}]";
const GRADED: &str = "review: none, verification: {rubric: default-task}";
const PANEL: &str = "expectations: [{type: llm_review, criteria: It is deep., reviewers: [j], dimensions: [{name: depth, weight: 1}]}]";

/// The same object as a chatty model would send it.
fn wrapped(object: &Value) -> String {
    let mut object = object.clone();
    object["thoughts"] = json!("many");
    format!("Here is my review:\n\n```json\n{object}\n```\n\nI hope that helps.")
}

fn grades(verdict: &str, confidence: f64) -> Value {
    json!({
        "criteria": {"correctness": {"grade": 1, "reasoning": "r"}, "completeness": {"grade": 1, "reasoning": "r"},
                     "probe-adherence": {"grade": 1, "reasoning": "r"}},
        "verdict": verdict, "confidence": confidence,
    })
}

fn depth(score: u8, more: &Value) -> String {
    let mut reply = json!({"scores": {"depth": {"reasoning": format!("reason-{score}"), "score": score}}});
    for (key, value) in more.as_object().into_iter().flatten() {
        reply[key] = value.clone();
    }
    reply.to_string()
}

#[test]
fn prose_a_fence_and_more_keys_are_no_obstacle_for_any_kind_of_judge() {
    let panel = json!({"scores": {"depth": {"reasoning": "r", "score": 4}}});
    for (keys, reply) in
        [(STAGE, json!({"verdict": "pass", "reason": "free"})), (GRADED, grades("pass", 0.9)), (PANEL, panel)]
    {
        let workspace = judged(keys, "", &[&wrapped(&reply)]);
        workspace.run_json(0, &[]);
        assert_eq!(workspace.calls("j"), 1, "{keys}");
        workspace.quorum(&["review", "--replay"]).exits(0);
    }
}

#[test]
fn whoever_is_asked_once_more_is_told_the_real_reason() {
    let unfit = json!({"criteria": {"correctness": 1}, "verdict": "pass", "confidence": 1}).to_string();
    for (keys, reply, reason) in [
        (STAGE, r#"{"verdict": "maybe"}"#, "`verdict` is not one of: pass, fail, refer"),
        (STAGE, "it is fine", "the reply contains no JSON object with `verdict`"),
        (GRADED, unfit.as_str(), "'completeness' is not graded"),
        (PANEL, r#"{"scores": {}}"#, "there is no score for: depth"),
    ] {
        let workspace = judged(keys, "settings: {maxAssessmentRetries: 1}", &[reply, "and again"]);
        workspace.run_json(6, &[]);
        workspace.asked("j", 2).says(&[&format!("The reason: {reason}")]);
    }
}

#[test]
fn a_reply_in_the_json_of_a_program_is_named_and_not_asked_for_for_ever() {
    let envelope = r#"{"type":"result","subtype":"success","result":"depth is 5","session_id":"s"}"#;
    let workspace = judged(PANEL, "", &[envelope]);
    let document = workspace.run_json(6, &[]);
    assert!(document.to_string().contains("looks like an agent's JSON envelope"), "{document:#}");
    assert_eq!(workspace.calls("j"), 2, "the same non-answer twice is enough");
    // One that says it in other words each time is asked in a second round.
    let workspace = judged(PANEL, "", &["no", "nothing", "never", "not now"]);
    workspace.run_json(6, &[]);
    assert_eq!(workspace.calls("j"), 4);
}

#[test]
fn a_judge_that_is_not_sure_decides_nothing_not_even_a_fail() {
    let workspace = judged(GRADED, "", &[&grades("fail", 0.4).to_string()]);
    let document = workspace.run_json(8, &[]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
    assert_eq!(attempts(&document, "work"), ["execute"], "no attempt is spent on a doubt");
}

fn prior(answers: &[(u8, &str)]) -> Value {
    let rows: Vec<Value> = answers
        .iter()
        .map(|(id, addressed)| json!({"id": id, "addressed": addressed, "note": format!("note-{id}")}))
        .collect();
    json!({ "prior": rows })
}

#[test]
fn scores_and_reasons_of_a_review_reach_the_next_judge_of_any_kind() {
    let workspace = judged(
        &format!("{PANEL}, maxAttempts: 2").replace(
            "expectations:",
            "verification: {rubric: default-task}, stages: [{name: licence, agent: j}], expectations:",
        ),
        "redTeam: {agent: j}",
        &[],
    );
    let replies = [
        depth(1, &json!({})),
        depth(5, &prior(&[(1, "yes")])),
        wrapped(&grades("pass", 1.0)),
        r#"{"verdict": "pass", "prior": [{"id": 1, "addressed": "yes"}]}"#.to_owned(),
        r#"{"findings": [], "prior": [{"id": 1, "addressed": "yes"}]}"#.to_owned(),
    ];
    workspace.judge("j", &replies.each_ref().map(String::as_str));
    workspace.run_json(0, &[]);
    for call in 2..=5 {
        let asked = workspace.asked("j", call);
        for words in ["- depth: 1. reason-1", "1. [medium] depth: 1 of 5. reason-1", "\"prior\": [{\"id\":"] {
            assert!(asked.contains(words), "{call} {words}:\n{asked}");
        }
    }
    workspace.quorum(&["review", "--replay"]).exits(0);
}

/// A panel that sent the work back with two points, and what it replies the second and third time.
fn asked_for_answers(more: &str, second: &str, third: &str) -> Workspace {
    let found = json!({"findings": [
        {"severity": "high", "description": "no whales", "evidence": "page 1"},
        {"severity": "low", "description": "no squids"},
    ]});
    let workspace =
        judged(&format!("{PANEL}, maxAttempts: 2{more}"), "", &[&depth(1, &found), second, third]);
    workspace.write("j/every-call", "");
    workspace
}

#[test]
fn a_check_that_passes_now_is_not_open_because_a_judge_says_nothing_of_it() {
    let workspace = judged(
        &PANEL.replace(
            "expectations: [",
            "maxAttempts: 2, expectations: [{type: script, command: 'test $QUORUM_ATTEMPT -gt 1'}, ",
        ),
        "",
        &[&depth(5, &json!({})), &depth(5, &json!({}))],
    );
    let document = workspace.run_json(0, &[]);
    assert_eq!(attempts(&document, "work"), ["execute", "fix"]);
    assert_eq!(task(&document, "work")["findings"], json!([]));
}

#[test]
fn who_leaves_points_without_an_answer_is_asked_once_more_and_what_stays_open_is_shown() {
    let whole = depth(5, &prior(&[(1, "yes"), (2, "partly")]));
    let answered = asked_for_answers("", &whole, "");
    answered.run_json(0, &[]);
    assert_eq!(answered.calls("j"), 2);
    assert!(!answered.quorum(&["show", "work", "--json"]).exits(0).stdout.contains("\"open\": true"));

    // Silent twice: what it said counts, and the points are carried on.
    let silent = asked_for_answers("", &depth(5, &json!({})), &depth(4, &json!({})));
    let document = silent.run_json(0, &[]);
    assert_eq!(silent.calls("j"), 3, "one reprompt in all");
    assert!(silent.asked("j", 3).contains("whether the points 1, 2 of the earlier feedback were addressed"));
    assert_eq!(task(&document, "work")["points"], 80.0, "the second reply counts");
    let shown = silent.quorum(&["show", "work", "--json"]).exits(0).json();
    let open = |document: &Value| -> Vec<String> {
        let mut found = Vec::new();
        let mut all = vec![document.clone()];
        while let Some(value) = all.pop() {
            if value["open"] == true {
                found.push(value["description"].as_str().unwrap_or_default().to_owned());
            }
            all.extend(value.as_array().into_iter().flatten().cloned());
            all.extend(value.as_object().into_iter().flat_map(|object| object.values().cloned()));
        }
        found.sort();
        found.dedup();
        found
    };
    assert_eq!(open(&shown), ["no squids", "no whales"], "{shown:#}");
    silent.quorum(&["review", "--replay"]).exits(0);

    // One that it denies is open too, with what it says of it; scores decide.
    let denied = asked_for_answers("", &depth(5, &prior(&[(1, "no"), (2, "yes")])), "");
    denied.run_json(0, &[]);
    let shown = denied.quorum(&["show", "work", "--json"]).exits(0).json();
    assert_eq!(open(&shown), ["no whales"]);
    assert!(shown.to_string().contains("note-1"), "{shown:#}");

    // A second reply that cannot be read takes nothing back.
    let lost = asked_for_answers("", &depth(5, &json!({})), "what?");
    let document = lost.run_json(0, &[]);
    assert_eq!(lost.calls("j"), 3);
    assert_eq!(task(&document, "work")["points"], 100.0, "the first reply counts");
    lost.quorum(&["review", "--replay"]).exits(0);

    let off = asked_for_answers("", &depth(5, &json!({})), "")
        .tap_mission("reviewers: [j]", "reviewers: [j], verifyPriorFeedback: false");
    off.run_json(0, &[]);
    assert_eq!(off.calls("j"), 2);
    assert!(!off.asked("j", 2).contains("no whales"));
}

#[test]
fn a_reply_in_words_answers_in_lines_before_its_score() {
    let second = "It is better.\nPOINT 1: yes – there are whales\nSCORE: 90";
    let workspace = judged("review: auto", "", &["It lacks whales.\nSCORE: 20", second]);
    workspace.write("j/every-call", "");
    workspace.run_json(0, &[]);
    assert_eq!(workspace.calls("j"), 2);
    assert!(workspace.asked("j", 2).contains("of the form `POINT n: yes – why`"));
    let silent = judged("review: auto", "", &["It lacks whales.\nSCORE: 20", "SCORE: 90"]);
    silent.write("j/every-call", "");
    silent.run_json(0, &[]);
    assert_eq!(silent.calls("j"), 3);
    assert!(silent.asked("j", 3).contains("whether point 1 of the earlier feedback was addressed"));
}

#[test]
fn a_worker_is_told_what_it_will_be_judged_by_and_nothing_that_is_the_judges() {
    let rubrics = "
rubrics:
  own:
    criteria: [{name: shape, weight: 1, description: It has a shape.}]
    examples: [{artifact: SECRET EXAMPLE, verdict: fail, rationale: SECRET REASON, grades: {shape: 0}}]";
    let keys = "acceptance: [It names three whales.], targetFiles: [sea.md], verification: {rubric: own}, \
        stages: [{name: licence, agent: j, criteria: Only free licences.}], \
        expectations: [{type: script, command: test -s sea.md}, {type: file_exists, paths: [more.md], minBytes: 9}, \
        {type: metric, name: words, command: wc -w < sea.md, min: 3}, \
        {type: llm_review, criteria: It is deep., dimensions: [{name: depth, weight: 1, description: How deep it goes}]}]";
    for (top, told) in [("", true), ("settings: {tellCriteria: false}", false)] {
        let workspace = judged(&format!("{keys}, maxAttempts: 1"), &format!("{rubrics}\n{top}"), &["-"]);
        workspace.run_json(3, &[]);
        let prompt = workspace.read("prompts/prompt.1.1");
        for words in [
            "How your work will be judged",
            "It names three whales.",
            "`test -s sea.md` exits 0",
            "these files exist: more.md, each of 9 bytes or more",
            "words: the number that `wc -w < sea.md` prints, at least 3",
            "It is deep.",
            "depth: How deep it goes",
            "shape: It has a shape.",
            "licence: Only free licences.",
        ] {
            assert_eq!(prompt.contains(words), told, "{words}:\n{prompt}");
        }
        assert!(prompt.contains("sea.md") && !prompt.contains("SECRET"), "{prompt}");
    }
}

#[test]
fn acceptance_is_told_to_every_judge_and_adds_none() {
    let told = |keys: &str, top: &str, reply: &str| {
        let workspace = judged(&format!("{keys}, acceptance: [It names three whales.]"), top, &[reply]);
        workspace.run_json(0, &[]);
        assert_eq!(workspace.calls("j"), 1, "it is judged once: {keys}");
        let asked = workspace.asked("j", 1);
        assert!(asked.contains("It names three whales."), "{keys}:\n{asked}");
        let request: Value =
            serde_json::from_str(&workspace.read("j/call.1/review.json")).expect("it is JSON");
        assert_eq!(request["acceptance"], json!(["It names three whales."]), "{keys}");
    };
    told("review: auto", "", "SCORE: 90");
    told(PANEL, "", &depth(5, &json!({})));
    told(STAGE, "", r#"{"verdict": "pass"}"#);
    told("review: none", "redTeam: {agent: j}", r#"{"findings": []}"#);
    told(GRADED, "", &grades("pass", 1.0).to_string());
    told("review: none, decomposer: identity", "", &grades("pass", 1.0).to_string());
    // Criteria alone ask for no grades.
    let alone = judged("review: none, acceptance: [It names three whales.]", "", &["-"]);
    let document = alone.run_json(0, &[]);
    assert_eq!((standing(&document, "work"), alone.calls("j")), (("done", "unreviewed"), 0));
}

/// What an attempt came to, and what the work is worth.
fn came_to(workspace: &Workspace, code: i32) -> (String, Value) {
    let document = workspace.run_json(code, &[]);
    (standing(&document, "work").0.to_owned(), task(&document, "work")["points"].clone())
}

#[test]
fn one_number_is_enough_wherever_one_is_asked_for() {
    let evaluation = "review: required";
    let number = "It is deep enough.\nSCORE: 80";
    let json = r#"{"score": 80, "reasoning": "It is deep enough."}"#;
    let form = depth(4, &json!({}));
    for keys in [PANEL, evaluation] {
        for reply in [number, json, &form] {
            let workspace = judged(keys, "", &[reply]);
            assert_eq!(came_to(&workspace, 0), ("done".to_owned(), json!(80.0)), "{keys} {reply}");
            assert_eq!(workspace.calls("j"), 1, "{keys} {reply}");
            workspace.quorum(&["review", "--replay"]).exits(0);
        }
    }
    // A stage passes what reaches the bar of the work, and sends back what does not, with the reviewer's words.
    for reply in [number, json, &form] {
        let workspace = judged(STAGE, "", &[reply]);
        assert_eq!(came_to(&workspace, 0).0, "done", "{reply}");
        assert_eq!(workspace.calls("j"), 1);
    }
    let workspace = judged(STAGE, "", &["Its licence is missing.\nSCORE: 59", number]);
    assert_eq!(came_to(&workspace, 0).0, "done");
    assert_eq!(workspace.calls("j"), 2);
    workspace
        .read("prompts/prompt.2.1")
        .says(&["licence", "59 of 100, the bar is 60: Its licence is missing."]);
    workspace.quorum(&["review", "--replay"]).exits(0);
    let strict = judged(STAGE, "settings: {evalThreshold: 90}", &[number]);
    strict.run_json(3, &[]);
}

#[test]
fn a_number_that_may_be_meant_on_either_scale_or_says_something_else_is_asked_for_again() {
    let settings = "settings: {maxAssessmentRetries: 1}";
    for (keys, reply, reason) in [
        (PANEL, "SCORE: 4", "the score is 4, `SCORE: n` goes from 0 to 100, and 5 or less"),
        (PANEL, r#"{"score": 5}"#, "the score is 5, "),
        (PANEL, "SCORE: 20\n{\"scores\": {\"depth\": 5}}", "several scores that differ"),
        (PANEL, "Verdict: FAIL\nSCORE: 90", "disagree"),
        (STAGE, "Verdict: FAIL\nSCORE: 90", "disagree"),
        (STAGE, "{\"verdict\": \"pass\"}\nSCORE: 20", "disagree"),
        (STAGE, "SCORE: 101", "not on the scale from 0 to 100"),
    ] {
        let workspace = judged(keys, settings, &[reply, "SCORE: 80"]);
        assert_eq!(came_to(&workspace, 0).0, "done", "{reply}");
        assert_eq!(workspace.calls("j"), 2, "{reply}");
        workspace.asked("j", 2).says(&[reason]);
    }
    // In an evaluation and at a stage there is but one scale.
    for keys in [STAGE, "maxAttempts: 1"] {
        let workspace = judged(keys, settings, &["SCORE: 4"]);
        let code = if keys == STAGE { 3 } else { 5 };
        workspace.run_json(code, &[]);
    }
}

#[test]
fn who_gave_one_number_for_several_dimensions_is_shown_the_form_filled_in() {
    let two = PANEL.replace("{name: depth, weight: 1}", "{name: depth, weight: 1}, {name: style, weight: 1}");
    let workspace = judged(&two, "", &["SCORE: 80", "SCORE: 80"]);
    workspace.run_json(6, &[]);
    let asked = workspace.asked("j", 2);
    asked.says(&["The reason: the reply contains no JSON object with the scores", "in place of each 0"]);
    let form = asked.lines().find_map(|line| serde_json::from_str::<Value>(line).ok()).expect("it is there");
    assert_eq!(
        form["scores"],
        json!({"depth": {"reasoning": "why", "score": 0},
                                      "style": {"reasoning": "why", "score": 0}})
    );
    // Whoever sends it back as it is has said nothing.
    let parrot = judged(&two, "", &["SCORE: 80", &form.to_string()]);
    let document = parrot.run_json(6, &[]);
    assert_eq!(task(&document, "work")["points"], Value::Null);
    let filled = judged(&two, "", &["SCORE: 80", &form.to_string().replace(":0}", ":4}")]);
    assert_eq!(came_to(&filled, 0), ("done".to_owned(), json!(80.0)));
}
