use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use wiremock::matchers::method;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::*;
use crate::agents::model::tests::{endpoint_of, request};
use crate::agents::tools::FOR_REVIEWERS;
use crate::domain::FailureClass;
use crate::mission::model::Adapter;

const ALL: [Adapter; 4] = [
    Adapter::Openai,
    Adapter::Anthropic,
    Adapter::GeminiApi,
    Adapter::Ollama,
];

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
    let server = MockServer::start().await;
    let asked: Arc<Mutex<Vec<Value>>> = Arc::default();
    let kept = asked.clone();
    Mock::given(method("POST"))
        .respond_with(move |request: &Request| {
            let mut asked = kept.lock().unwrap();
            let answer = answers[asked.len().min(answers.len() - 1)].clone();
            asked.push(serde_json::from_slice(&request.body).unwrap());
            ResponseTemplate::new(200).set_body_json(answer)
        })
        .mount(&server)
        .await;
    Provider { server, asked }
}

async fn talk(adapter: Adapter, provider: &Provider) -> Result<Conversation, ModelError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("work.txt"), "the work").unwrap();
    let endpoint = endpoint_of(adapter, &provider.server.uri());
    let toolbox = Arc::new(Toolbox::new(folder.path(), &FOR_REVIEWERS).unwrap());
    converse(&endpoint.line().unwrap(), &endpoint, &request(), toolbox).await
}

#[tokio::test]
async fn a_model_looks_and_then_replies_in_every_protocol() {
    for adapter in ALL {
        let read = [
            ("read", json!({"path": "work.txt"})),
            ("read", json!({"path": "../x"})),
        ];
        let provider = provider(vec![wants(adapter, &read), says(adapter, "SCORE: 72")]).await;
        let conversation = talk(adapter, &provider).await.unwrap();
        assert_eq!(conversation.reply.text, "SCORE: 72", "{adapter:?}");
        assert_eq!(conversation.requests, 2);
        let usage = conversation.reply.usage;
        assert_eq!(
            (usage.input_tokens, usage.output_tokens),
            (Some(10), Some(4)),
            "{adapter:?}"
        );
        let ledger = &conversation.ledger;
        assert_eq!(ledger.len(), 2);
        assert_eq!(
            (ledger[0].failed, ledger[0].bytes, ledger[1].failed),
            (false, 8, true)
        );
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
    for adapter in ALL {
        let provider = provider(vec![wants(adapter, &[("list", json!({}))])]).await;
        let conversation = talk(adapter, &provider).await.unwrap();
        // It said nothing even then: that is an empty reply, which nobody takes for a verdict.
        assert_eq!(conversation.reply.text, "", "{adapter:?}");
        assert_eq!(conversation.requests as usize, MOST_ROUNDS + 1);
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
async fn too_many_calls_at_once_are_answered_but_not_made() {
    let many: Vec<_> = (0..60).map(|_| ("read", json!({"path": "work.txt"}))).collect();
    let adapter = Adapter::Openai;
    let provider = provider(vec![wants(adapter, &many), says(adapter, "done")]).await;
    let conversation = talk(adapter, &provider).await.unwrap();
    let made = conversation.ledger.iter().filter(|record| !record.failed).count();
    assert_eq!((conversation.ledger.len(), made), (60, MOST_CALLS));
}

#[tokio::test]
async fn a_failed_request_ends_the_conversation_with_its_class() {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .respond_with(ResponseTemplate::new(529))
        .mount(&server)
        .await;
    let folder = tempfile::tempdir().unwrap();
    let endpoint = endpoint_of(Adapter::Anthropic, &server.uri());
    let toolbox = Arc::new(Toolbox::new(folder.path(), &FOR_REVIEWERS).unwrap());
    let asked = ModelRequest {
        timeout: Duration::from_secs(20),
        ..request()
    };
    let error = converse(&endpoint.line().unwrap(), &endpoint, &asked, toolbox)
        .await
        .unwrap_err();
    assert_eq!(error.class, FailureClass::ProviderTransient);
}
