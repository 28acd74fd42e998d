//! Spans for OpenTelemetry: what is told of a run, to whom, and what becomes of it where nobody takes it.

use serde_json::{Value, json};

use crate::support::receiver::{Answer, Receiver};
use crate::support::{Mission, Workspace};

const HANDED: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

/// A task whose check sends its first attempt back, and whose judge finds something in the second.
fn mission() -> Mission {
    Mission::new()
        .worker("echo $QUORUM_ATTEMPT > work.txt; echo $TRACEPARENT >> traces; echo the words of the worker")
        .judge(
            "judge",
            &[r#"{"scores": {"fit": 4}, "findings": [{"severity": "low", "description": "a small thing"}]}"#],
        )
        .task("work", |task| task.by("worker").check("test $(cat work.txt) = 2").scored(["judge"], "fit"))
}

fn told(mission: Mission, more: Value) -> Workspace {
    mission.setting("telemetry", more).workspace()
}

/// The spans of one line of the file.
fn spans(line: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(line).expect("a line is JSON");
    request["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("there are spans").clone()
}

fn lines(workspace: &Workspace) -> Vec<Vec<Value>> {
    workspace.read("spans.jsonl").lines().map(spans).collect()
}

fn attribute<'v>(of: &'v Value, key: &str) -> Option<&'v Value> {
    let found = of["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object()?.values().next()
}

fn named<'v>(spans: &'v [Value], name: &str) -> Vec<&'v Value> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

#[test]
fn a_run_is_a_span_with_turns_checks_and_verdicts_on_what_is_judged() {
    let workspace = told(mission(), json!({"file": "spans.jsonl"}));
    workspace.run_json(0, &["--run-id", "r1"]);
    let spans = &lines(&workspace)[0];
    let root = named(spans, "invoke_workflow mission")[0];
    assert_eq!((root.get("parentSpanId"), &root["status"]["code"]), (None, &json!(1)));
    assert_eq!(attribute(root, "cicd.pipeline.result"), Some(&json!("success")));
    let turns = named(spans, "invoke_agent worker");
    assert_eq!(turns.len(), 2, "{spans:#?}");
    for turn in &turns {
        assert_eq!((&turn["parentSpanId"], &turn["traceId"]), (&root["spanId"], &root["traceId"]));
        assert_eq!(attribute(turn, "gen_ai.conversation.id"), Some(&json!("r1")));
    }
    let verdicts = |turn: &Value| -> Vec<(String, String)> {
        let events = turn["events"].as_array().unwrap().iter();
        let told =
            |event: &Value, key| attribute(event, key).map_or("", |text| text.as_str().unwrap()).to_owned();
        events
            .map(|event| {
                (told(event, "gen_ai.evaluation.name"), told(event, "gen_ai.evaluation.score.label"))
            })
            .collect()
    };
    let has =
        |turn: &Value, name: &str, label: &str| verdicts(turn).contains(&(name.to_owned(), label.to_owned()));
    assert!(has(turns[0], "checks", "fail") && !has(turns[0], "checks", "pass"), "{:?}", verdicts(turns[0]));
    assert!(has(turns[1], "checks", "pass") && has(turns[1], "judge", "pass"), "{:?}", verdicts(turns[1]));
    let scored = turns[1]["events"].as_array().unwrap().iter();
    let scored: Vec<_> =
        scored.filter_map(|event| attribute(event, "gen_ai.evaluation.score.value")).collect();
    assert_eq!(scored, [&json!(80.0), &json!(80.0)], "the panel's score and that of its dimension");
    let checks = named(spans, "run_step check 1");
    assert_eq!(
        checks.iter().map(|check| &check["status"]["code"]).collect::<Vec<_>>(),
        [&json!(2), &json!(1)]
    );
    assert_eq!(attribute(named(spans, "invoke_agent judge")[0], "quorum.purpose"), Some(&json!("score")));
}

#[test]
fn words_about_the_work_are_told_only_where_that_is_wanted() {
    let workspace = told(mission(), json!({"file": "spans.jsonl"}));
    workspace.run_json(0, &[]);
    let written = workspace.read("spans.jsonl");
    for words in ["a small thing", "the words of the worker", "exited 1"] {
        assert!(!written.contains(words), "{words}");
    }
    let workspace = told(mission(), json!({"file": "spans.jsonl", "content": true}));
    workspace.run_json(0, &[]);
    let written = workspace.read("spans.jsonl");
    assert!(written.contains("a small thing") && written.contains("exited 1"), "{written}");
    assert!(!written.contains("the words of the worker"), "{written}");
}

#[test]
fn a_collector_gets_them_with_the_headers_that_other_programs_use() {
    let receiver = Receiver::that(&[Answer::Status(200)]);
    let workspace = told(mission(), json!({"otlp": format!("http://{}", receiver.address)}));
    let variables =
        [("OTEL_EXPORTER_OTLP_HEADERS", "x-team=blue,authorization=Bearer $ecret"), ("TRACEPARENT", HANDED)];
    workspace.quorum_with(&variables, &["run", "mission.yaml"]).exits(0);
    let (head, body) = receiver.requests().remove(0);
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/traces ") && head.contains("x-team: blue"), "{head}");
    assert!(
        head.contains("authorization: bearer $ecret") && head.contains("content-type: application/json"),
        "{head}"
    );
    let root = spans(&body).into_iter().find(|span| span["name"] == "invoke_workflow mission").unwrap();
    assert_eq!(
        (&root["traceId"], &root["parentSpanId"]),
        (&json!("0af7651916cd43dd8448eb211c80319c"), &json!("b7ad6b7169203331"))
    );
}

#[test]
fn agents_get_the_span_that_they_work_in() {
    let workspace = told(mission(), json!({"file": "spans.jsonl"}));
    workspace.quorum_with(&[("TRACEPARENT", HANDED)], &["run", "mission.yaml"]).exits(0);
    let written = lines(&workspace).remove(0);
    let turns = named(&written, "invoke_agent worker");
    let expected: Vec<String> = turns
        .iter()
        .map(|turn| {
            format!("00-{}-{}-01", turn["traceId"].as_str().unwrap(), turn["spanId"].as_str().unwrap())
        })
        .collect();
    assert_eq!(workspace.read("traces").lines().collect::<Vec<_>>(), expected);
    // What nobody collects here is handed on all the same; what is no context is not.
    let workspace = mission().workspace();
    workspace.quorum_with(&[("TRACEPARENT", HANDED)], &["run", "mission.yaml"]).exits(0);
    assert!(workspace.read("traces").starts_with("00-0af7651916cd43dd8448eb211c80319c-"));
    let workspace = mission().workspace();
    let ended = workspace.quorum_with(&[("TRACEPARENT", "garbage")], &["run", "mission.yaml"]).exits(0);
    ended.says(&["TRACEPARENT is not heeded"]);
    assert!(!workspace.read("traces").contains("00-"), "{}", workspace.read("traces"));
}

#[test]
fn a_collector_that_takes_nothing_is_one_warning_and_no_verdict() {
    for answer in [&[Answer::Status(503)], &[Answer::Elsewhere]] {
        let receiver = Receiver::that(answer);
        let workspace = told(mission(), json!({"otlp": format!("http://{}/v1/traces", receiver.address)}));
        let ended = workspace.quorum(&["run", "mission.yaml"]).exits(0);
        assert_eq!(
            ended.stderr.matches("the spans of the run were not handed over").count(),
            1,
            "{}",
            ended.stderr
        );
        assert_eq!(receiver.requests().len(), 1);
    }
    let workspace = told(mission(), json!({"otlp": "http://127.0.0.1:9", "file": "/dev/full"}));
    let ended = workspace.quorum(&["run", "mission.yaml"]).exits(0);
    assert_eq!(
        ended.stderr.matches("the spans of the run were not handed over").count(),
        1,
        "{}",
        ended.stderr
    );
    workspace.write("mission.yaml", mission().setting("telemetry", json!({"otlp": "ftp://x"})).yaml());
    workspace.quorum(&["validate", "mission.yaml"]).exits(2).says(&["http or https URL"]);
}

/// Each session tells what ended since one before it ended in order, in the trace that the run began with.
#[test]
fn a_run_that_goes_on_stays_one_trace_and_tells_nothing_twice() {
    let workspace = told(
        mission()
            .agent("other", "true")
            .task("asks", |task| task.by("other").unreviewed().needs("work").approved()),
        json!({"file": "spans.jsonl"}),
    );
    workspace.quorum(&["run", "mission.yaml", "--run-id", "r1"]).exits(8);
    let inbox = workspace.quorum(&["inbox", "--json"]).exits(0).json();
    workspace.quorum(&["approve", inbox["approvals"][0]["id"].as_str().unwrap()]).exits(0);
    workspace.quorum(&["resume", "r1"]).exits(0);
    let [first, second] = <[Vec<Value>; 2]>::try_from(lines(&workspace)).expect("two sessions");
    let ids = |spans: &[Value]| spans.iter().map(|span| span["spanId"].to_string()).collect::<Vec<_>>();
    let root = |spans: &[Value]| named(spans, "invoke_workflow mission")[0].clone();
    assert_eq!(
        (&root(&first)["traceId"], &root(&first)["spanId"]),
        (&root(&second)["traceId"], &root(&second)["spanId"])
    );
    assert_eq!((&root(&first)["status"]["code"], &root(&second)["status"]["code"]), (&json!(2), &json!(1)));
    assert_eq!(root(&first)["startTimeUnixNano"], root(&second)["startTimeUnixNano"]);
    let again: Vec<String> = ids(&second).into_iter().filter(|id| ids(&first).contains(id)).collect();
    assert_eq!(again, [root(&first)["spanId"].to_string()], "the run itself is told again, longer");
}
