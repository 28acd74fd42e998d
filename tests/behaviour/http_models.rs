//! Workers and judges behind the protocols of the providers, against a server that speaks them.

use serde_json::{Value, json};
use wiremock::matchers::{header, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::support::{Has, Mission, Workspace, standing, task};

/// Runs a mission with agents at a server with these answers by path. Its document.
fn run(
    mission: impl FnOnce(Mission) -> Mission,
    code: i32,
    answers: &[(&str, ResponseTemplate)],
) -> (Workspace, Value) {
    // The server lives on a thread of its own; only asking it needs a runtime.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made");
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        for (at, answer) in answers {
            let mock = Mock::given(path(*at));
            let mock = match *at {
                "/v1/messages" => mock.and(header("x-api-key", "sk-of-a")),
                "/v1beta/models/m:generateContent" => mock.and(header("x-goog-api-key", "sk-of-g")),
                _ => mock,
            };
            mock.respond_with(answer.clone()).mount(&server).await;
        }
        server
    });
    let model = |adapter: &str, key: &str| json!({"adapter": adapter, "baseUrl": server.uri(), "model": "m", "apiKey": key});
    let agents = Mission::new()
        .agent_with("a", model("anthropic", "${KEY_A}"))
        .agent_with("g", model("gemini-api", "${KEY_G}"))
        .agent_with("o", json!({"adapter": "ollama", "baseUrl": server.uri(), "model": "m"}));
    let workspace = mission(agents).workspace();
    let keys = [("KEY_A", "sk-of-a"), ("KEY_G", "sk-of-g")];
    let finished = workspace.quorum_with(&keys, &["run", "mission.yaml", "--json"]);
    let document = finished.exits(code).json();
    (workspace, document)
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

fn anthropic(block: Value, stop: &str) -> ResponseTemplate {
    ok(json!({
        "model": "used-a", "content": [block], "stop_reason": stop,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }))
}

fn gemini(text: &str, finish: &str) -> ResponseTemplate {
    ok(json!({
        "candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": finish}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 2}, "modelVersion": "used-g",
    }))
}

fn ollama(text: &str) -> ResponseTemplate {
    ok(json!({
        "model": "used-o", "message": {"content": text}, "done": true, "done_reason": "stop",
        "prompt_eval_count": 1000, "eval_count": 3,
    }))
}

const A: &str = "/v1/messages";
const G: &str = "/v1beta/models/m:generateContent";
const O: &str = "/api/chat";

#[test]
fn each_protocol_works_and_judges() {
    let scores = json!({"scores": {"depth": {"score": 4, "reasoning": "deep"}}, "findings": []});
    let verdict = json!({"type": "tool_use", "name": "verdict", "input": scores});
    let (_, document) = run(
        |m| m.task("work", |t| t.by("o").scored(["a", "g"], "depth")),
        0,
        &[
            (O, ollama("the work")),
            (A, anthropic(verdict, "tool_use")),
            (G, gemini(&scores.to_string(), "STOP")),
        ],
    );
    let work = task(&document, "work");
    assert_eq!((work["points"].as_f64(), standing(&document, "work").0), (Some(80.0), "done"));
    let models: Vec<_> = work["reviews"].as_array().unwrap().iter().map(|review| &review["model"]).collect();
    assert_eq!(models, [&json!("used-a"), &json!("used-g")]);
    document["usage"].has(json!({"inputTokens": 1110, "outputTokens": 6}));
}

#[test]
fn a_worker_that_is_refused_blocked_or_says_nothing_has_done_no_work() {
    let text = |text: &str| json!({"type": "text", "text": text});
    for (agent, at, answer, said) in [
        ("a", A, anthropic(text("No."), "refusal"), "refuses"),
        ("a", A, anthropic(text(" "), "end_turn"), "empty"),
        ("g", G, gemini("half", "SAFETY"), "SAFETY"),
        ("g", G, gemini("", "MAX_TOKENS"), "token limit"),
        ("o", O, ollama("\n"), "empty"),
    ] {
        let settings = "evaluate: false, maxRetries: 0, maxFixAttempts: 0";
        let mission = |m: Mission| m.settings(settings).task("work", |t| t.by(agent));
        let (_, document) = run(mission, 3, &[(at, answer)]);
        let failure = &task(&document, "work")["failure"];
        assert!(failure["message"].as_str().unwrap().contains(said), "{failure}");
    }
}

#[test]
fn a_key_that_is_refused_ends_the_task_at_once_and_is_never_shown() {
    let body =
        json!({"type": "error", "error": {"type": "authentication_error", "message": "invalid key sk-of-a"}});
    let answer = ResponseTemplate::new(401).set_body_json(body);
    let mission = |m: Mission| m.setting("evaluate", false).tasks(["work"]);
    let (workspace, document) = run(mission, 3, &[(A, answer)]);
    let work = task(&document, "work");
    assert_eq!(work["failure"]["class"], "provider_auth");
    assert_eq!(work["attempts"].as_array().unwrap().len(), 1);
    let journal = std::fs::read_to_string(workspace.journal()).unwrap();
    assert!(!journal.contains("sk-of-a") && !document.to_string().contains("sk-of-a"));
}

#[test]
fn half_a_number_is_no_number() {
    // The end of `SCORE: 72` is missing, and of a reply that would have gone on.
    let mission = |m: Mission| {
        m.without_agent("g")
            .without_agent("o")
            .worker("echo work")
            .setting("maxAttempts", 1)
            .task("work", |t| t.by("worker"))
    };
    let cut = anthropic(json!({"type": "text", "text": "SCORE: 7"}), "max_tokens");
    let (_, document) = run(mission, 6, &[(A, cut)]);
    assert_eq!(task(&document, "work")["points"], json!(null));
    let whole = anthropic(json!({"type": "text", "text": "SCORE: 72"}), "end_turn");
    let (_, document) = run(mission, 0, &[(A, whole)]);
    assert_eq!(task(&document, "work")["points"], 72.0);
}

#[test]
fn without_its_key_a_provider_is_not_even_tried() {
    for (adapter, variable) in
        [("anthropic", "ANTHROPIC_API_KEY"), ("gemini-api", "GEMINI_API_KEY"), ("openai", "OPENAI_API_KEY")]
    {
        let workspace = Mission::new()
            .agent_with("a", json!({"adapter": adapter, "model": "m"}))
            .tasks(["work"])
            .workspace();
        workspace.quorum(&["run", "mission.yaml"]).exits(9).says(&[variable, "not set"]);
        workspace.assert_nothing_started();
    }
}

#[test]
fn a_reviewer_that_answers_with_the_authors_model_has_no_say() {
    // Both are declared with models of their own; one provider sends the author's instead, whose word would pass it.
    let scores =
        |score: u32| json!({"scores": {"depth": {"score": score, "reasoning": "r"}}, "findings": []});
    let fell_back = |score: u32| {
        ok(json!({
            "candidates": [{"content": {"parts": [{"text": scores(score).to_string()}]}, "finishReason": "STOP"}],
            "modelVersion": "claude-opus-4-20250514",
        }))
    };
    let author = ok(json!({
        "model": "claude-opus-4", "content": [{"type": "text", "text": "the work"}], "stop_reason": "end_turn",
    }));
    for (independence, points, code) in [("identity", 50.0, 3), ("model", 20.0, 3)] {
        let mission = |m: Mission| {
            m.change_agent("g", "family: gemini")
                .change_agent("o", "model: llama3")
                .setting("independence", independence)
                .task("work", |t| t.attempts(1).scored(["g", "o"], "depth"))
        };
        let own = ok(json!({
            "model": "llama3", "message": {"content": scores(1).to_string()}, "done": true, "done_reason": "stop",
        }));
        let (_, document) = run(mission, code, &[(A, author.clone()), (G, fell_back(4)), (O, own)]);
        assert_eq!(task(&document, "work")["points"], points, "{independence}");
    }
    // Where it is the only one, the review is missing: nobody but a person can accept the work.
    let mission = |m: Mission| {
        m.change_agent("g", "family: gemini")
            .setting("independence", "model")
            .task("work", |t| t.scored(["g"], "depth"))
    };
    let (_, document) = run(mission, 6, &[(A, author), (G, fell_back(5))]);
    assert_eq!(standing(&document, "work").0, "awaiting_approval");
}
