use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::*;
use crate::agents::model::tests::{endpoint_of, request};
use crate::agents::tools::{FOR_REVIEWERS, Toolbox};
use rules::domain::FailureClass;
use rules::mission::model::Adapter;

fn all() -> impl Iterator<Item = Adapter> {
    Adapter::all().filter(|adapter| adapter.is_http())
}

/// What a provider sends when its model wants these tools.
fn wants(adapter: Adapter, calls: &[(&str, Value)]) -> Value {
    let numbered = || (1..).zip(calls);
    match adapter {
        Adapter::Openai => {
            let calls: Vec<_> = numbered()
                .map(|(n, (name, arguments))| {
                    json!({"id": format!("c{n}"), "type": "function",
                           "function": {"name": name, "arguments": arguments.to_string()}})
                })
                .collect();
            json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls},
                   "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
        }
        Adapter::Anthropic => {
            let calls: Vec<_> = numbered()
                .map(|(n, (name, input))| json!({"type": "tool_use", "id": format!("c{n}"), "name": name, "input": input}))
                .collect();
            json!({"content": calls, "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 2}})
        }
        Adapter::GeminiApi => {
            let parts: Vec<_> = calls
                .iter()
                .map(|(name, args)| json!({"functionCall": {"name": name, "args": args}, "thoughtSignature": "sig"}))
                .collect();
            json!({"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
                   "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}})
        }
        _ => {
            let calls: Vec<_> = calls
                .iter()
                .map(|(name, arguments)| json!({"function": {"name": name, "arguments": arguments}}))
                .collect();
            json!({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": true,
                   "prompt_eval_count": 5, "eval_count": 2})
        }
    }
}

fn says(adapter: Adapter, text: &str) -> Value {
    match adapter {
        Adapter::Openai => json!({"choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                                  "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        Adapter::Anthropic => json!({"content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                                     "usage": {"input_tokens": 5, "output_tokens": 2}}),
        Adapter::GeminiApi => {
            json!({"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}],
                                     "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}})
        }
        _ => json!({"message": {"content": text}, "done": true, "prompt_eval_count": 5, "eval_count": 2}),
    }
}

/// A provider that sends these answers, the last one for ever; what it was asked is kept.
struct Provider {
    server: MockServer,
    asked: Arc<Mutex<Vec<Value>>>,
}

async fn provider(answers: Vec<Value>) -> Provider {
    failing(answers.into_iter().map(ok).collect()).await
}

/// The same with answers of these statuses.
async fn failing(answers: Vec<ResponseTemplate>) -> Provider {
    let server = MockServer::start().await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = asked.clone();
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            let mut asked = kept.lock().unwrap();
            let answer = answers[asked.len().min(answers.len() - 1)].clone();
            asked.push(serde_json::from_slice(&request.body).unwrap());
            answer
        })
        .mount(&server)
        .await;
    Provider { server, asked }
}

fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// Reviewers' tools over a folder with one file; what is done with them is kept.
struct Bench {
    folder: tempfile::TempDir,
    toolbox: Toolbox,
    ledger: Mutex<Vec<ToolRecord>>,
    set_aside: Mutex<Vec<String>>,
    /// Hooks as they came.
    hooks: Mutex<Vec<String>>,
    /// What a reply must hold to have its form.
    form: &'static str,
}

impl Bench {
    fn new(form: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("work.txt"), "the work").unwrap();
        Self {
            toolbox: Toolbox::new(
                crate::agents::tools::confined::Confined::open(folder.path()).unwrap(),
                &FOR_REVIEWERS,
            ),
            folder,
            ledger: Mutex::default(),
            set_aside: Mutex::default(),
            hooks: Mutex::default(),
            form,
        }
    }
}

impl ToolHost for Bench {
    fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs()
    }

    fn before_model(&self, calls: &mut [(ToolCall, ToolResult)]) {
        self.hooks.lock().unwrap().push(format!("before model, {} results", calls.len()));
        for (_, result) in calls {
            result.text.retain(|c| c != '\u{7}');
        }
    }

    fn after_model(&self, _: &ModelReply, is_last: bool) {
        let last = if is_last { ", the last" } else { "" };
        self.hooks.lock().unwrap().push(format!("after model{last}"));
    }

    async fn perform(&self, call: &ToolCall) -> ToolResult {
        self.hooks.lock().unwrap().push(format!("around {}", call.name));
        self.toolbox.call(call)
    }

    async fn note(&self, record: ToolRecord) {
        self.ledger.lock().unwrap().push(record);
    }

    fn has_form(&self, reply: &str) -> bool {
        reply.contains(self.form)
    }

    async fn set_aside(&self, reply: &str) {
        self.set_aside.lock().unwrap().push(reply.to_owned());
    }
}

async fn talk(adapter: Adapter, provider: &Provider, host: &Bench) -> Result<Conversation, Broken> {
    talk_of(adapter, provider, host, &request()).await
}

async fn talk_of(
    adapter: Adapter,
    provider: &Provider,
    host: &Bench,
    request: &ModelRequest,
) -> Result<Conversation, Broken> {
    let endpoint = endpoint_of(adapter, &provider.server.uri());
    let line = endpoint.line().unwrap();
    converse(&line, &endpoint, request, Limits::REVIEWER, host).await
}

#[tokio::test]
async fn a_model_looks_and_then_replies_in_every_protocol() {
    for adapter in all() {
        let read = [("read", json!({"path": "work.txt"})), ("read", json!({"path": "../x"}))];
        let provider = provider(vec![wants(adapter, &read), says(adapter, "SCORE: 72")]).await;
        let host = Bench::new("");
        let conversation = talk(adapter, &provider, &host).await.unwrap();
        assert_eq!(conversation.reply.text, "SCORE: 72", "{adapter:?}");
        assert_eq!((conversation.spent.requests, conversation.spent.calls), (2, 2));
        let usage = conversation.reply.usage;
        assert_eq!((usage.input_tokens, usage.output_tokens), (Some(10), Some(4)), "{adapter:?}");
        let ledger = host.ledger.lock().unwrap();
        assert_eq!(ledger.len(), 2);
        assert_eq!((ledger[0].failed, ledger[0].bytes, ledger[1].failed), (false, 8, true));
        assert_eq!(ledger[0].digest, Digest::of(b"the work"));
        let asked = provider.asked.lock().unwrap();
        assert!(asked[0]["tools"].is_array(), "{adapter:?}: {}", asked[0]);
        let second = asked[1].to_string();
        for part in ["the work", "lies outside of the workspace"] {
            assert!(second.contains(part), "{adapter:?}: {second}");
        }
        let key = match adapter {
            Adapter::Openai => r#""tool_call_id":"c2""#,
            Adapter::Anthropic => r#""is_error":true"#,
            Adapter::GeminiApi => r#""thoughtSignature":"sig""#,
            _ => r#""tool_name":"read""#,
        };
        assert!(second.contains(key), "{adapter:?}: {second}");
    }
}

#[tokio::test]
async fn a_model_that_never_stops_looking_must_reply() {
    for adapter in all() {
        let provider = provider(vec![wants(adapter, &[("list", json!({}))])]).await;
        let host = Bench::new("");
        let conversation = talk(adapter, &provider, &host).await.unwrap();
        // It said nothing even then: that is an empty reply, which nobody takes for a verdict.
        assert_eq!(conversation.reply.text, "", "{adapter:?}");
        // Denied once, it must reply.
        assert_eq!(conversation.spent.requests as usize, Limits::REVIEWER.rounds + 2);
        assert!(conversation.used_up, "{adapter:?}");
        let ledger = host.ledger.lock().unwrap();
        let made = ledger.iter().filter(|record| !record.failed).count();
        assert_eq!((made, ledger.len()), (Limits::REVIEWER.rounds, made + 1));
        let asked = provider.asked.lock().unwrap();
        let last = asked.last().unwrap();
        let forbidden = match adapter {
            Adapter::Openai => last["tool_choice"] == "none",
            Adapter::Anthropic => last["tool_choice"]["type"] == "none",
            Adapter::GeminiApi => last["toolConfig"]["functionCallingConfig"]["mode"] == "NONE",
            _ => last.get("tools").is_none(),
        };
        assert!(forbidden, "{adapter:?}: {last}");
    }
}

#[tokio::test]
async fn a_model_that_needs_all_that_it_may_use_has_ended_by_itself() {
    let adapter = Adapter::Openai;
    let list = || wants(adapter, &[("list", json!({}))]);
    let mut answers: Vec<Value> = (0..Limits::REVIEWER.rounds).map(|_| list()).collect();
    answers.push(says(adapter, "done"));
    let provider = provider(answers).await;
    let conversation = talk(adapter, &provider, &Bench::new("")).await.unwrap();
    assert_eq!((conversation.reply.text.as_str(), conversation.used_up), ("done", false));
}

#[tokio::test]
async fn the_calls_of_a_reply_that_was_cut_short_are_not_made() {
    let adapter = Adapter::Openai;
    let mut cut = wants(adapter, &[("list", json!({}))]);
    cut["choices"][0]["finish_reason"] = json!("length");
    let provider = provider(vec![cut, says(adapter, "done")]).await;
    let host = Bench::new("");
    let conversation = talk(adapter, &provider, &host).await.unwrap();
    assert!(!conversation.used_up);
    let ledger = host.ledger.lock().unwrap();
    let why = ledger[0].why.as_deref().unwrap();
    assert!(why.contains("cut short"), "{why}");
    let asked = provider.asked.lock().unwrap();
    assert!(asked[1].to_string().contains("say less at a time"), "{}", asked[1]);
}

#[tokio::test]
async fn what_a_model_says_is_bounded_like_what_it_is_given() {
    let adapter = Adapter::Openai;
    let huge = json!({"path": "x".repeat(Limits::REVIEWER.bytes / 4)});
    let name = "n".repeat(100_000);
    let read = || wants(adapter, &[("read", huge.clone()), (&name, json!({}))]);
    let provider = provider(vec![read(), read(), read(), says(adapter, "done")]).await;
    let host = Bench::new("");
    let conversation = talk(adapter, &provider, &host).await.unwrap();
    assert!(conversation.used_up);
    // The second one is over it, and then it must reply.
    assert_eq!(provider.asked.lock().unwrap().len(), 3);
    let ledger = host.ledger.lock().unwrap();
    for record in ledger.iter() {
        assert!(serde_json::to_string(record).unwrap().len() < 1_000, "{record:?}");
    }
}

#[tokio::test]
async fn too_many_calls_at_once_are_answered_but_not_made() {
    let many: Vec<_> = (0..60).map(|_| ("read", json!({"path": "work.txt"}))).collect();
    let adapter = Adapter::Openai;
    let provider = provider(vec![wants(adapter, &many), says(adapter, "done")]).await;
    let host = Bench::new("");
    let conversation = talk(adapter, &provider, &host).await.unwrap();
    let ledger = host.ledger.lock().unwrap();
    let made = ledger.iter().filter(|record| !record.failed).count();
    assert_eq!((ledger.len(), made), (60, Limits::REVIEWER.calls));
    assert_eq!(conversation.reply.text, "done");
}

#[tokio::test]
async fn a_failed_request_ends_the_conversation_with_its_class() {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ResponseTemplate::new(529)).mount(&server).await;
    let endpoint = endpoint_of(Adapter::Anthropic, &server.uri());
    let asked = ModelRequest { timeout: Duration::from_secs(20), ..request() };
    let line = endpoint.line().unwrap();
    let host = Bench::new("");
    let broken = converse(&line, &endpoint, &asked, Limits::REVIEWER, &host).await.unwrap_err();
    assert_eq!(broken.error.class, FailureClass::ProviderTransient);
    // The first request is for others to repeat.
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_later_request_is_made_again_within_its_bounds() {
    let adapter = Adapter::Ollama;
    let read = || ok(wants(adapter, &[("read", json!({"path": "work.txt"}))]));
    let busy = |status: u16| ResponseTemplate::new(status).insert_header("retry-after-ms", "1");
    let provider = failing(vec![read(), busy(503), busy(429), ok(says(adapter, "fine"))]).await;
    let host = Bench::new("");
    let conversation = talk(adapter, &provider, &host).await.unwrap();
    assert_eq!(conversation.reply.text, "fine");
    // What was done until then is not done twice, and what was refused used nothing but a request.
    assert_eq!((conversation.spent.requests, conversation.spent.unanswered), (2, 2));
    assert_eq!(host.ledger.lock().unwrap().len(), 1);
    assert_eq!(conversation.reply.usage.input_tokens, Some(10));
    for (status, requests) in [(503, 5), (401, 2)] {
        let provider = failing(vec![read(), busy(status)]).await;
        let broken = talk(adapter, &provider, &Bench::new("")).await.unwrap_err();
        assert_eq!(broken.spent.usage.input_tokens, Some(5));
        assert_eq!(provider.asked.lock().unwrap().len(), requests, "{status}");
        let made = broken.spent.requests + broken.spent.unanswered;
        assert_eq!(made as usize, requests, "{status}");
    }
}

#[tokio::test]
async fn a_reply_without_its_form_is_asked_for_once_more_by_schema() {
    let asked = ModelRequest { schema: Some(json!({"type": "object"})), ..request() };
    for adapter in all() {
        let read = wants(adapter, &[("read", json!({"path": "work.txt"}))]);
        let provider = provider(vec![read, says(adapter, "hm"), says(adapter, "{}")]).await;
        let host = Bench::new("{}");
        let conversation = talk_of(adapter, &provider, &host, &asked).await.unwrap();
        assert_eq!(conversation.reply.text, "{}", "{adapter:?}");
        assert!(!conversation.used_up, "{adapter:?}");
        // What it said first is kept.
        assert_eq!(*host.set_aside.lock().unwrap(), ["hm"], "{adapter:?}");
        let asked = provider.asked.lock().unwrap();
        assert_eq!(asked.len(), 3, "{adapter:?}");
        let has_schema = |body: &Value| match adapter {
            Adapter::Openai => body["response_format"].is_object(),
            Adapter::Anthropic => body["tool_choice"]["name"] == "verdict",
            Adapter::GeminiApi => body["generationConfig"]["responseJsonSchema"].is_object(),
            _ => body["format"].is_object(),
        };
        let with: Vec<bool> = asked.iter().map(has_schema).collect();
        assert_eq!(with, [false, false, true], "{adapter:?}: {}", asked[2]);
        // It still knows what it has seen.
        assert!(asked[2].to_string().contains("the work"), "{adapter:?}");
    }
}

#[tokio::test]
async fn a_refusal_of_tools_is_known_by_its_words_and_only_before_any_was_used() {
    let refusal =
        |message: &str| ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message}}));
    for (message, about_tools) in [
        ("registry.ollama.ai/library/m does not support tools", true),
        ("\"auto\" tool choice requires --enable-auto-tool-choice", true),
        ("Function calling is not enabled for this model", true),
        ("maximum context length exceeded", false),
    ] {
        let provider = failing(vec![refusal(message)]).await;
        let broken = talk(Adapter::Openai, &provider, &Bench::new("")).await.unwrap_err();
        assert_eq!(broken.error.tools_unsupported, about_tools, "{message}");
    }
    let read = ok(wants(Adapter::Openai, &[("read", json!({"path": "work.txt"}))]));
    let provider = failing(vec![read, refusal("too many tool messages")]).await;
    let broken = talk(Adapter::Openai, &provider, &Bench::new("")).await.unwrap_err();
    assert!(!broken.error.tools_unsupported);
}

#[tokio::test]
async fn the_time_out_holds_for_the_whole_conversation() {
    let list = ok(wants(Adapter::Openai, &[("list", json!({}))])).set_delay(Duration::from_millis(60));
    let provider = failing(vec![list]).await;
    let asked = ModelRequest { timeout: Duration::from_millis(250), ..request() };
    let broken = talk_of(Adapter::Openai, &provider, &Bench::new(""), &asked).await.unwrap_err();
    assert_eq!(broken.error.class, FailureClass::Timeout);
    assert!(provider.asked.lock().unwrap().len() < 6);
}

#[tokio::test]
async fn hooks_come_around_each_request_and_each_call() {
    let read = ("read", json!({"path": "bell.txt"}));
    let provider = provider(vec![
        wants(Adapter::Openai, &[read.clone(), ("list", json!({"path": "."}))]),
        says(Adapter::Openai, "It is good."),
    ])
    .await;
    let host = Bench::new("");
    std::fs::write(host.folder.path().join("bell.txt"), "a bell: \u{7}!").unwrap();
    talk(Adapter::Openai, &provider, &host).await.unwrap();
    assert_eq!(
        *host.hooks.lock().unwrap(),
        ["after model", "around read", "around list", "before model, 2 results", "after model, the last"]
    );
    // What stands before the model is what the hook made of it.
    let asked = provider.asked.lock().unwrap();
    let told = asked.last().unwrap().to_string();
    assert!(told.contains("a bell: !"), "{told}");
}
