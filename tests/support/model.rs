//! A scripted model behind HTTP, in the protocol that most servers speak.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// A server of its own for one test. What it was asked is kept.
pub struct Model {
    server: MockServer,
    asked: Arc<Mutex<Vec<Value>>>,
}

impl Model {
    /// A model that answers each request by what stands in it.
    pub fn new(answer: impl Fn(&Value) -> ResponseTemplate + Send + Sync + 'static) -> Self {
        // The server lives on a thread of its own; only asking it needs a runtime.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
        let kept = asked.clone();
        let server = runtime.block_on(async {
            let server = MockServer::start().await;
            let respond = move |request: &Request| {
                let body: Value = serde_json::from_slice(&request.body).expect("requests are JSON");
                kept.lock().expect("nobody panics with it").push(body.clone());
                answer(&body)
            };
            Mock::given(path("/v1/chat/completions")).respond_with(respond).mount(&server).await;
            server
        });
        Self { server, asked }
    }

    /// Its base URL.
    pub fn base(&self) -> String {
        format!("{}/v1", self.server.uri())
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Value> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

fn reply(message: &Value, finish: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(json!({
        "model": "scripted-1",
        "choices": [{"message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10},
    }))
}

/// The model replies.
pub fn says(text: impl Into<String>) -> ResponseTemplate {
    reply(&json!({"role": "assistant", "content": text.into()}), "stop")
}

/// The model gives this score to the one dimension of its panel.
pub fn scores(dimension: &str, score: u32) -> ResponseTemplate {
    let given = json!({"scores": {dimension: {"reasoning": "as seen", "score": score}}, "findings": [], "summary": ""});
    says(given.to_string())
}

/// The model wants these tools to be used.
pub fn wants(calls: &[(&str, Value)]) -> ResponseTemplate {
    let calls: Vec<Value> = (1..)
        .zip(calls)
        .map(|(n, (name, arguments))| {
            json!({"id": format!("c{n}"), "type": "function",
                   "function": {"name": name, "arguments": arguments.to_string()}})
        })
        .collect();
    reply(&json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
}

/// The provider refuses.
pub fn refuses(status: u16, message: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({"error": {"message": message}}))
}

/// What tools gave so far in a conversation.
pub fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let results = messages.filter(|message| message["role"] == "tool");
    results.map(|message| message["content"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The names of the tools that are offered.
pub fn offered(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools.map(|tool| tool["function"]["name"].as_str().unwrap_or_default().to_owned()).collect()
}
