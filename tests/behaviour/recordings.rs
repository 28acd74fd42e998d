//! Missions whose models' replies are recorded, and run again from the recording alone.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use crate::support::model::{Model, offered, refuses, scores as score};
use crate::support::{Finished, Mission, Says, Workspace, attempts, standing, task};

const KEY: &str = "sk-0123456789abcdef";

/// A provider that can be switched off.
struct Provider {
    server: Option<MockServer>,
    runtime: tokio::runtime::Runtime,
}

impl Provider {
    /// Answers chat completions: the reply to the n-th request of a model.
    fn start(reply: impl Fn(&str, usize) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        // The server lives on a thread of its own; only asking it needs a runtime.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let counts: [AtomicUsize; 4] = Default::default();
        let answer = move |request: &Request| {
            let body: Value = serde_json::from_slice(&request.body).expect("it is asked in JSON");
            let model = body["model"].as_str().expect("a model is asked for").to_owned();
            let models = ["writer", "first", "second", "grader"];
            let index = models.iter().position(|known| *known == model).expect("it is known");
            let number = counts[index].fetch_add(1, Ordering::Relaxed) + 1;
            reply(&model, number)
        };
        let server = runtime.block_on(async {
            // One of its own: those of the pool go on listening.
            let server = MockServer::builder().start().await;
            let mock = Mock::given(path("/v1/chat/completions")).respond_with(answer);
            mock.mount(&server).await;
            server
        });
        Self { server: Some(server), runtime }
    }

    fn url(&self) -> String {
        format!("{}/v1", self.server.as_ref().expect("it is on").uri())
    }

    fn gone(mut self) {
        let server = self.server.take();
        self.runtime.block_on(async { drop(server) });
    }
}

fn says(model: &str, text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "model": format!("{model}-2026"),
        "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5},
    }))
}

fn scores(score: u32) -> String {
    json!({"scores": {"depth": {"score": score, "reasoning": "seen"}}, "findings": [], "summary": "s"})
        .to_string()
}

fn grades(grade: f64) -> String {
    let row = json!({"grade": grade, "reasoning": "read"});
    json!({"criteria": {"reads": row}, "verdict": "pass", "confidence": 0.9, "findings": []}).to_string()
}

/// Work in two attempts, a panel in which one seat is refused once and one cannot be read once, an evaluation, a rubric.
const MISSION: &str = "
name: everything
agents:
  writer: {adapter: openai, baseUrl: '@url', model: writer, apiKey: '${THE_KEY}'}
  grader: {adapter: openai, baseUrl: '@url', model: grader, apiKey: '${THE_KEY}', role: reviewer}
  first: {adapter: openai, baseUrl: '@url', model: first, apiKey: '${THE_KEY}', role: reviewer}
  second: {adapter: openai, baseUrl: '@url', model: second, apiKey: '${THE_KEY}', role: reviewer}
rubrics:
  own: {description: Whether it can be read., criteria: [{name: reads, weight: 1, grade: score}]}
tasks:
  - title: panel
    assignTo: writer
    description: Write something deep.
    expectations:
      - {type: llm_review, criteria: It is deep., reviewers: [first, second], dimensions: [{name: depth, weight: 1}]}
  - {title: rubric, assignTo: writer, dependsOn: [panel], review: none, verification: {rubric: own}}
settings: {concurrency: 1, tellCriteria: false}
";

fn reply(model: &str, number: usize) -> ResponseTemplate {
    match (model, number) {
        ("first", 1) => ResponseTemplate::new(429)
            .insert_header("retry-after-ms", "0")
            .set_body_json(json!({"error": {"message": format!("slow down, {KEY}")}})),
        ("first", 2) => says(model, &scores(2)),
        ("second", 1) => says(model, "It is fine, I think."),
        ("second", 2) => says(model, &scores(2)),
        ("first", _) => says(model, &scores(4)),
        ("second", _) => says(model, &scores(5)),
        ("grader", _) => says(model, &grades(0.8)),
        (_, number) => says(model, &format!("Work number {number}, with {KEY} in it.")),
    }
}

fn run(workspace: &Workspace, keyed: bool, flags: &[&str]) -> Finished {
    let keys = [("THE_KEY", KEY)];
    let keys = if keyed { &keys[..] } else { &[] };
    workspace.quorum_with(keys, &[&["run", "mission.yaml", "--json"], flags].concat())
}

/// A workspace with the recording of [`MISSION`] in `tape`, its provider gone, and the run's document.
fn recorded() -> (Workspace, Value) {
    let provider = Provider::start(reply);
    let workspace = Workspace::with(&MISSION.replace("@url", &provider.url()));
    let document = run(&workspace, true, &["--record", "tape"]).exits(0).json();
    provider.gone();
    (workspace, document)
}

fn files(workspace: &Workspace) -> Vec<String> {
    let replies = std::fs::read_dir(workspace.path("tape/replies")).expect("replies were recorded");
    let mut names: Vec<String> = replies
        .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_mission_runs_again_from_its_recording() {
    let (workspace, first) = recorded();
    assert_eq!(attempts(&first, "panel"), ["execute", "fix"]);
    assert_eq!(task(&first, "panel")["points"], 90.0);
    // No key, and nobody there: only the recording answers.
    let again = run(&workspace, false, &["--offline", "--record", "tape"]).exits(0).json();
    for title in ["panel", "rubric"] {
        for key in ["status", "qualityFlag", "points", "attempts", "dimensions", "reviews"] {
            assert_eq!(task(&first, title)[key], task(&again, title)[key], "{title} {key}");
        }
    }
    // What it was asked with is on record too, and the verdicts follow from it.
    let replayed = workspace.quorum(&["review", "--replay", "--json"]).exits(0).json();
    // Seats reply in any order.
    let judgements = replayed["judgements"].as_array().expect("they are listed");
    let mut bases = judgements.iter().map(|judgement| &judgement["basis"]);
    let basis = bases.find(|basis| basis["parameters"]["model"] == "second").expect("it was asked");
    let parameters = json!({"model": "second", "temperature": null, "maxTokens": null, "schema": true});
    assert_eq!((&basis["parameters"], &basis["finishReason"]), (&parameters, &json!("stop")));
    assert_eq!(replayed["counts"]["judgements"], 8, "{replayed:#}");
    assert_eq!(first["usage"]["inputTokens"], again["usage"]["inputTokens"]);
    assert_eq!((&first["outcome"], &first["exitCode"]), (&again["outcome"], &again["exitCode"]));
    assert_ne!(first["runId"], again["runId"]);
}

#[test]
fn a_recording_can_be_read_by_people_and_holds_no_key() {
    let (workspace, _) = recorded();
    let names = files(&workspace);
    // Two turns and one; of each seat three tries, and in the second round one more for the points of the first; a grade.
    let of = |stage: &str| names.iter().filter(|name| name.contains(stage)).count();
    assert_eq!((of(".work."), of(".judge."), of(".grade.")), (3, 8, 1), "{names:?}");
    for name in &names {
        let text = workspace.read(&format!("tape/replies/{name}"));
        assert!(!text.contains(KEY), "{text}");
        let entry: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(entry["schema"], "quorum.recorded-reply/v1");
        assert!(entry["entry"]["question"]["prompt"].is_string(), "{entry}");
    }
    let refused = names.iter().find(|name| name.contains("panel-") && name.contains("1.judge.0-1-1"));
    let refused = workspace.read(&format!("tape/replies/{}", refused.expect("the first seat was asked")));
    assert!(refused.contains("rate_limited"), "{refused}");
}

#[test]
fn offline_nobody_is_asked_who_is_not_on_record() {
    let workspace = Mission::new()
        .agent_with("w", json!({"adapter": "ollama", "model": "m"}))
        .agent_with("j", json!({"adapter": "openai", "model": "m", "role": "reviewer"}))
        .agent("c", "touch touched")
        .key(
            "channels",
            json!({
                "hook": {"type": "webhook", "url": "http://127.0.0.1:9/x"},
                "log": {"type": "file", "path": "log"},
            }),
        )
        .setting("defaultChannels", ["hook", "log"])
        .tasks(["work"])
        .task("other", |t| t.by("c").unreviewed())
        .workspace();
    workspace.quorum(&["run", "mission.yaml", "--offline"]).exits(9).says(&[
        "agent 'w': needs the network, and the run is offline",
        "agent 'j': needs the network",
        "channel 'hook': needs the network",
        "--record DIR",
    ]);
    workspace.assert_nothing_started();
    let missing = workspace.quorum(&["run", "mission.yaml", "--offline", "--record", "tape"]);
    missing.exits(9).says(&["tape holds no recording"]);
    workspace.assert_nothing_started();

    let commands =
        Mission::new().agent("c", "echo done").setting("evaluate", false).tasks(["work"]).workspace();
    let document = commands.run_json(0, &["--offline"]);
    assert_eq!(standing(&document, "work").0, "done");
    // Nothing was asked, and that is a recording too.
    commands.run_json(0, &["--record", "tape"]);
    commands.run_json(0, &["--offline", "--record", "tape"]);
}

#[test]
fn another_question_never_gets_the_recorded_reply() {
    let (workspace, _) = recorded();
    let offline = ["--offline", "--record", "tape"];
    // The worker is told something else.
    let text = workspace.read("mission.yaml");
    workspace.write("mission.yaml", text.replace("something deep", "something shallow"));
    let document = run(&workspace, false, &offline).exits(3).json();
    let failure = &task(&document, "panel")["failure"];
    failure["message"].says(&["task 'panel', attempt 1", "something deep", "something shallow", "prompt"]);
    assert_eq!(failure["class"], "policy_blocked");
    assert_eq!(attempts(&document, "panel"), ["execute"], "it is not tried again");

    // A judge is asked by another criterion: its verdict is missing, which is no low score.
    workspace.write("mission.yaml", text.replace("It is deep.", "It is wide."));
    let document = run(&workspace, false, &[&offline[..], &["--fresh", "--yes"]].concat()).exits(6).json();
    assert_eq!(standing(&document, "panel").0, "awaiting_approval");
    assert_eq!(task(&document, "panel")["points"], Value::Null);
    let ended = workspace.quorum(&["events", "--format", "jsonl"]).exits(0);
    ended.shows(&["It is wide.", "another question was recorded"]);
}

#[test]
fn a_recording_is_not_mixed_with_another_and_not_believed_when_changed() {
    let (workspace, _) = recorded();
    let ended = run(&workspace, true, &["--record", "tape"]).exits(9);
    ended.says(&["tape holds a recording already", "another folder"]);
    let name = files(&workspace).into_iter().find(|name| name.contains(".work.")).expect("it worked");
    let path = format!("tape/replies/{name}");
    workspace.write(&path, workspace.read(&path).replace("Work number", "Word number"));
    let document = run(&workspace, false, &["--offline", "--record", "tape"]).exits(3).json();
    assert!(document.to_string().contains("changed since it was recorded"), "{document}");
}

#[test]
fn a_session_that_goes_on_is_as_it_was_told() {
    let provider = Provider::start(reply);
    let mission = MISSION
        .replace("@url", &provider.url())
        .replace("{title: rubric,", "{title: rubric, requiresApproval: true,");
    let workspace = Workspace::with(&mission);
    let keys = [("THE_KEY", KEY)];
    let waits = run(&workspace, true, &["--record", "tape"]).exits(8).json();
    let approve = |document: &Value| {
        let id = document["approvals"][0]["id"].as_str().expect("it waits").to_owned();
        workspace.quorum(&["approve", &id]).exits(0);
    };
    approve(&waits);
    // Nothing is said of a recording: it goes on into the same one.
    workspace.quorum_with(&keys, &["resume"]).exits(0);
    provider.gone();
    assert!(files(&workspace).iter().any(|name| name.contains("rubric-")));

    let waits = run(&workspace, false, &["--offline", "--record", "tape"]).exits(8).json();
    approve(&waits);
    let ended = workspace.resume_json(0, &[]);
    assert_eq!(task(&ended, "rubric")["points"], 80.0);
}

#[test]
fn no_key_of_any_agent_is_recorded_whoever_repeats_it() {
    const OTHER: &str = "sk-fedcba9876543210";
    let provider = Provider::start(reply);
    let mission = ["first", "second", "grader"].iter().fold(
        MISSION.replace("@url", &provider.url()),
        |mission, model| {
            let agent = format!("model: {model}, apiKey: '${{");
            mission.replace(&format!("{agent}THE_KEY"), &format!("{agent}OTHER_KEY"))
        },
    );
    let workspace = Workspace::with(&mission);
    let keys = [("THE_KEY", KEY), ("OTHER_KEY", OTHER)];
    let recording = ["run", "mission.yaml", "--json", "--record", "tape"];
    // The writer repeats its key, and its judges are shown what it said.
    let first = workspace.quorum_with(&keys, &recording).exits(0).json();
    provider.gone();
    for name in files(&workspace) {
        let text = workspace.read(&format!("tape/replies/{name}"));
        assert!(!text.contains(KEY) && !text.contains(OTHER), "{name}: {text}");
    }
    let again = run(&workspace, false, &["--offline", "--record", "tape"]).exits(0).json();
    assert_eq!(task(&first, "panel")["reviews"], task(&again, "panel")["reviews"]);
}

#[test]
fn a_run_that_goes_on_does_not_write_into_the_recording_of_another() {
    let provider = Provider::start(reply);
    let mission = MISSION.replace("@url", &provider.url());
    let workspace = Workspace::with(&mission);
    run(&workspace, true, &["--record", "tape"]).exits(0);
    let recorded: Vec<(String, String)> = files(&workspace)
        .into_iter()
        .map(|name| (name.clone(), workspace.read(&format!("tape/replies/{name}"))))
        .collect();
    workspace.mission(&mission.replace("title: panel\n", "title: panel\n    requiresApproval: true\n"));
    let waits = run(&workspace, true, &[]).exits(8).json();
    let id = waits["approvals"][0]["id"].as_str().expect("it waits");
    workspace.quorum(&["approve", id]).exits(0);
    let keys = [("THE_KEY", KEY)];
    let ended = workspace.quorum_with(&keys, &["resume", "--record", "tape"]).exits(9);
    ended.says(&["tape holds a recording already", "another folder"]);
    for (name, text) in recorded {
        assert_eq!(workspace.read(&format!("tape/replies/{name}")), text, "{name}");
    }
    workspace.quorum_with(&keys, &["resume", "--record", "other"]).exits(0);
}

#[test]
fn what_a_session_learns_of_a_provider_changes_no_recorded_question() {
    // It takes no tools, which a session remembers; the next one has to learn it again.
    let model = Model::new(|body| match offered(body).is_empty() {
        false => refuses(400, "tools are not supported"),
        true => score("depth", 4),
    });
    let review = "[{type: llm_review, reviewers: [j], dimensions: [{name: depth, weight: 1}]}]";
    let mission = format!(
        "
name: toolless
agents:
  worker: {{run: 'echo work > \"$QUORUM_TASK.txt\"; echo done', input: none}}
  j: {{adapter: openai, model: m, baseUrl: '{}', role: reviewer}}
tasks:
  - {{title: first, assignTo: worker, targetFiles: [first.txt], expectations: {review}}}
  - {{title: second, assignTo: worker, targetFiles: [second.txt], expectations: {review}, dependsOn: [first], requiresApproval: true}}
",
        model.base()
    );
    let workspace = Workspace::with(&mission);
    let waits = workspace.run_json(8, &["--record", "tape"]);
    let id = waits["approvals"][0]["id"].as_str().expect("it waits");
    workspace.quorum(&["approve", id]).exits(0);
    workspace.resume_json(0, &[]);
    // The same in one session.
    workspace.mission(&mission.replace(", requiresApproval: true", ""));
    // Judges are told where work only writes again what was there.
    for file in ["first.txt", "second.txt"] {
        std::fs::remove_file(workspace.path(file)).expect("the work");
    }
    let again = workspace.run_json(0, &["--offline", "--record", "tape"]);
    assert_eq!(task(&again, "second")["points"], 80.0);
}
