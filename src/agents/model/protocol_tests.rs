//! The protocols beside OpenAI's, each against a server that speaks it.

use std::io::{Read, Write};

use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::tests::{KEY, ask_endpoint, endpoint_of, ok, request, served_to};
use super::*;
use rules::mission::model::Adapter;

/// All but OpenAI's, which has tests of its own.
fn others() -> impl Iterator<Item = Adapter> {
    Adapter::all().filter(|adapter| adapter.is_http() && *adapter != Adapter::Openai)
}

/// A reply of each protocol with this text.
fn reply(adapter: Adapter, text: &str) -> Value {
    match adapter {
        Adapter::Anthropic => json!({
            "type": "message", "model": "used-model", "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "cache_creation_input_tokens": null, "cache_read_input_tokens": 2, "output_tokens": 3},
        }),
        Adapter::GeminiApi => json!({
            "candidates": [{"content": {"parts": [{"text": "I think", "thought": true}, {"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 2, "thoughtsTokenCount": 1},
            "modelVersion": "used-model",
        }),
        _ => json!({
            "model": "used-model", "message": {"role": "assistant", "content": text, "thinking": "I think"},
            "done": true, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3,
        }),
    }
}

/// An error as each protocol tells it.
fn error(adapter: Adapter, status: u16, code: &str, message: &str) -> ResponseTemplate {
    let body = match adapter {
        Adapter::Anthropic => json!({"type": "error", "error": {"type": code, "message": message}}),
        Adapter::GeminiApi => json!({"error": {"code": status, "status": code, "message": message}}),
        _ => json!({"error": message}),
    };
    ResponseTemplate::new(status).set_body_json(body)
}

#[test]
fn every_adapter_of_models_has_a_protocol_and_no_other_one() {
    for adapter in Adapter::all() {
        let protocol = crate::agents::protocol::of(adapter);
        assert_eq!(protocol.is_some(), adapter.is_http(), "{adapter:?}");
    }
}

async fn answered(
    adapter: Adapter,
    answer: ResponseTemplate,
    request: &ModelRequest,
) -> Result<ModelReply, ModelError> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).expect(1).mount(&server).await;
    ask_endpoint(&endpoint_of(adapter, &server.uri()), request).await
}

/// What was sent to a server that answers with `answer`.
async fn sent(adapter: Adapter, request: &ModelRequest) -> (Request, ModelReply) {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ok(reply(adapter, "SCORE: 72"))).mount(&server).await;
    let reply = ask_endpoint(&endpoint_of(adapter, &server.uri()), request).await;
    let received = server.received_requests().await.unwrap().remove(0);
    (received, reply.unwrap())
}

#[tokio::test]
async fn a_question_is_asked_with_all_it_needs_and_the_reply_read_with_what_it_used() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let request = ModelRequest {
        schema: Some(schema.clone()),
        temperature: Some("0.5".parse().unwrap()),
        max_tokens: Some(99),
        ..request()
    };
    for (adapter, at, (key, value), body) in [
        (
            Adapter::Anthropic,
            "/v1/messages",
            ("x-api-key", KEY.to_owned()),
            json!({
                "model": "asked-model", "system": "You judge.", "max_tokens": 99, "temperature": 0.5,
                "messages": [{"role": "user", "content": "Judge this."}],
                "tools": [{"name": "verdict", "input_schema": schema}],
                "tool_choice": {"type": "tool", "name": "verdict", "disable_parallel_tool_use": true},
            }),
        ),
        (
            Adapter::GeminiApi,
            "/v1beta/models/asked-model:generateContent",
            ("x-goog-api-key", KEY.to_owned()),
            json!({
                "systemInstruction": {"parts": [{"text": "You judge."}]},
                "contents": [{"role": "user", "parts": [{"text": "Judge this."}]}],
                "generationConfig": {
                    "temperature": 0.5, "maxOutputTokens": 99, "responseMimeType": "application/json",
                    "responseJsonSchema": schema,
                },
            }),
        ),
        (
            Adapter::Ollama,
            "/api/chat",
            ("authorization", format!("Bearer {KEY}")),
            json!({
                "model": "asked-model", "stream": false, "truncate": false,
                "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Judge this."}],
                "options": {"temperature": 0.5, "num_predict": 99}, "format": schema,
            }),
        ),
    ] {
        let server = MockServer::start().await;
        Mock::given(method("POST"))
            .and(path(at))
            .and(header(key, value.as_str()))
            .and(body_partial_json(body))
            .respond_with(ok(reply(adapter, "SCORE: 72")))
            .expect(1)
            .mount(&server)
            .await;
        let reply = ask_endpoint(&endpoint_of(adapter, &server.uri()), &request).await.unwrap();
        let ends = match adapter {
            Adapter::Anthropic => "end_turn",
            Adapter::GeminiApi => "STOP",
            _ => "stop",
        };
        let want = ModelReply {
            text: "SCORE: 72".to_owned(),
            model: Some("used-model".to_owned()),
            usage: ModelUsage { input_tokens: Some(7), output_tokens: Some(3) },
            finish_reason: Some(ends.to_owned()),
            calls: Vec::new(),
            said: Value::Null,
        };
        assert_eq!(reply, want, "{adapter:?}");
    }
}

#[tokio::test]
async fn what_is_not_set_is_not_sent_but_what_a_protocol_demands_is() {
    let bare = ModelRequest { system: None, ..request() };
    for (adapter, want) in [
        (Adapter::Anthropic, &["model", "max_tokens", "messages", "stream"][..]),
        (Adapter::GeminiApi, &["contents"]),
        (Adapter::Ollama, &["model", "messages", "stream", "truncate", "shift"]),
    ] {
        let (received, _) = sent(adapter, &bare).await;
        let body: Value = received.body_json().unwrap();
        let keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, want, "{adapter:?}");
        let version = received.headers.get("anthropic-version");
        assert_eq!(version.is_some(), adapter == Adapter::Anthropic);
    }
}

#[tokio::test]
async fn every_failure_has_its_class() {
    use FailureClass::*;
    for adapter in others() {
        for (status, code, message, class) in [
            (401, "UNAUTHENTICATED", "bad key", ProviderAuth),
            (402, "billing_error", "no money", ProviderSpendLimit),
            (403, "PERMISSION_DENIED", "not you", ProviderAuth),
            (408, "x", "late", Timeout),
            (429, "RESOURCE_EXHAUSTED", "slow down", RateLimited),
            (429, "insufficient_quota", "no more", RateLimited),
            (500, "INTERNAL", "oh", ProviderTransient),
            (503, "UNAVAILABLE", "busy", ProviderTransient),
            (504, "x", "late", Timeout),
            (529, "overloaded_error", "busy", ProviderTransient),
            (400, "INVALID_ARGUMENT", "bad request", Unknown),
            (404, "not_found_error", "model 'x' not found", Unknown),
        ] {
            // Only protocols with codes can tell a quota from a limit.
            let class = match (code, adapter) {
                ("insufficient_quota", Adapter::Anthropic | Adapter::GeminiApi) => ProviderSpendLimit,
                _ => class,
            };
            let told = format!("{message}: {KEY}\nline");
            let answer = error(adapter, status, code, &told).insert_header("retry-after", "7");
            let failed = answered(adapter, answer, &request()).await.unwrap_err();
            assert_eq!((failed.class, failed.status), (class, Some(status)), "{adapter:?} {failed:?}");
            assert_eq!(failed.retry_after, Some(Millis(7_000)));
            assert!(failed.message.contains(message), "{failed}");
            assert!(!format!("{failed:?}").contains(KEY) && !failed.message.contains('\n'), "{failed:?}");
        }
    }
}

#[tokio::test]
async fn what_only_one_provider_says() {
    use FailureClass::*;
    let gemini = |status: u16, told: &str, details: Value| {
        let body = json!({"error": {"code": status, "status": told, "message": "m", "details": details}});
        (Adapter::GeminiApi, ResponseTemplate::new(status).set_body_json(body))
    };
    let anthropic =
        |status, code, message| (Adapter::Anthropic, error(Adapter::Anthropic, status, code, message));
    for ((adapter, answer), class, wait) in [
        (gemini(400, "INVALID_ARGUMENT", json!([{"reason": "API_KEY_INVALID"}])), ProviderAuth, None),
        (gemini(403, "PERMISSION_DENIED", json!([{"reason": "BILLING_DISABLED"}])), ProviderSpendLimit, None),
        (gemini(429, "RESOURCE_EXHAUSTED", json!([{"retryDelay": "34.5s"}])), RateLimited, Some(34_500)),
        (
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                json!([{"violations": [{"quotaId": "GenerateRequestsPerMinutePerProject"}]}]),
            ),
            RateLimited,
            None,
        ),
        (
            gemini(
                429,
                "RESOURCE_EXHAUSTED",
                json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProject"}]}]),
            ),
            ProviderSpendLimit,
            None,
        ),
        (
            anthropic(400, "invalid_request_error", "Your credit balance is too low to go on"),
            ProviderSpendLimit,
            None,
        ),
        (anthropic(200, "overloaded_error", "Overloaded"), ProviderTransient, None),
        ((Adapter::Ollama, ok(json!({"error": "the model has crashed"}))), Unknown, None),
    ] {
        let failed = answered(adapter, answer, &request()).await.unwrap_err();
        assert_eq!((failed.class, failed.retry_after), (class, wait.map(Millis)), "{failed:?}");
    }
}

#[tokio::test]
async fn a_refusal_a_block_or_nothing_at_all_is_a_failure_and_never_a_reply() {
    let mut refused = reply(Adapter::Anthropic, "I will not");
    refused["stop_reason"] = json!("refusal");
    let mut unsafe_reply = reply(Adapter::GeminiApi, "SCORE: 9");
    unsafe_reply["candidates"][0]["finishReason"] = json!("SAFETY");
    let mut unknown_end = reply(Adapter::GeminiApi, "SCORE: 9");
    unknown_end["candidates"][0]["finishReason"] = json!("SOMETHING_NEW");
    let mut half = reply(Adapter::Ollama, "SCORE: 9");
    half["done"] = json!(false);
    for (adapter, body, said) in [
        (Adapter::Anthropic, refused, "refuses: I will not"),
        (Adapter::Anthropic, json!({}), "is not a message"),
        (Adapter::GeminiApi, unsafe_reply, "SAFETY"),
        (Adapter::GeminiApi, unknown_end, "SOMETHING_NEW"),
        (
            Adapter::GeminiApi,
            json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
            "blocked the prompt: PROHIBITED_CONTENT",
        ),
        (Adapter::GeminiApi, json!({"candidates": []}), "no candidates"),
        (Adapter::GeminiApi, json!({"usageMetadata": {"promptTokenCount": 7}}), "no candidates"),
        (Adapter::GeminiApi, json!({}), "is not a generateContent reply"),
        (Adapter::Ollama, half, "only the beginning"),
        (Adapter::Ollama, json!({"models": []}), "is not an Ollama chat reply"),
    ] {
        let failed = answered(adapter, ok(body), &request()).await.unwrap_err();
        assert_eq!((failed.class, failed.status), (FailureClass::Unknown, Some(200)));
        assert!(failed.message.contains(said), "{adapter:?}: {failed}");
    }
}

#[tokio::test]
async fn what_the_provider_does_not_say_stays_unknown() {
    for (adapter, body) in [
        (
            Adapter::Anthropic,
            json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": -1}}),
        ),
        (
            Adapter::Anthropic,
            json!({"content": [], "stop_reason": "end_turn", "usage": {"input_tokens": 4, "cache_read_input_tokens": "many"}}),
        ),
        (
            Adapter::GeminiApi,
            json!({"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"candidatesTokenCount": -4, "thoughtsTokenCount": 2}}),
        ),
        (Adapter::Ollama, json!({"message": {}, "done": true, "model": "", "eval_count": null})),
    ] {
        let mut reply = answered(adapter, ok(body), &request()).await.unwrap();
        reply.finish_reason = None;
        let nothing = ModelReply {
            text: String::new(),
            model: None,
            usage: ModelUsage::default(),
            finish_reason: None,
            calls: Vec::new(),
            said: Value::Null,
        };
        assert_eq!(reply, nothing, "{adapter:?}");
    }
}

#[tokio::test]
async fn the_verdict_tool_is_the_reply_and_two_of_them_are_two() {
    let call = |score: u8| json!({"type": "tool_use", "name": "verdict", "input": {"score": score}});
    for (blocks, want) in [
        (json!([{"type": "text", "text": "Let me see. SCORE: 1"}, call(4)]), r#"{"score":4}"#),
        (json!([call(4), call(5)]), "{\"score\":4}\n{\"score\":5}"),
    ] {
        let body = json!({"content": blocks, "stop_reason": "tool_use"});
        let reply = answered(Adapter::Anthropic, ok(body), &request()).await.unwrap();
        assert_eq!(reply.text, want);
    }
}

#[tokio::test]
async fn a_reply_that_ran_into_its_limit_says_so() {
    for (adapter, pointer, word) in [
        (Adapter::Anthropic, "/stop_reason", "max_tokens"),
        (Adapter::Anthropic, "/stop_reason", "model_context_window_exceeded"),
        (Adapter::GeminiApi, "/candidates/0/finishReason", "MAX_TOKENS"),
        (Adapter::Ollama, "/done_reason", "length"),
    ] {
        let mut body = reply(adapter, "SCORE: 7");
        let whole = answered(adapter, ok(body.clone()), &request()).await.unwrap();
        assert!(!whole.is_cut_short());
        *body.pointer_mut(pointer).unwrap() = json!(word);
        let cut = answered(adapter, ok(body), &request()).await.unwrap();
        assert!(cut.is_cut_short(), "{adapter:?}");
    }
}

#[tokio::test]
async fn a_refused_schema_is_told_apart_from_a_refused_question() {
    let with_schema = ModelRequest { schema: Some(json!({})), ..request() };
    for (adapter, message) in [
        (Adapter::Anthropic, "tools.0.custom.input_schema: not allowed here"),
        (
            Adapter::GeminiApi,
            "Invalid JSON payload received. Unknown name \"responseJsonSchema\" at 'generation_config'",
        ),
        (Adapter::Ollama, "failed to load model vocabulary required for format"),
    ] {
        for (request, message, want) in [
            (&with_schema, message, true),
            (&request(), message, false),
            (&with_schema, "the prompt is too long", false),
        ] {
            let failed = answered(adapter, error(adapter, 400, "x", message), request).await.unwrap_err();
            assert_eq!(failed.schema_unsupported, want, "{failed:?}");
        }
    }
}

#[tokio::test]
async fn silence_is_given_up_endlessness_is_cut_and_half_a_reply_is_none() {
    for adapter in others() {
        let silent = served_to(adapter, Duration::from_millis(100), |mut stream| {
            let _ = stream.read(&mut [0]);
        });
        let failed = silent.await.unwrap_err();
        assert_eq!((failed.class, failed.status), (FailureClass::Timeout, None));

        let half = served_to(adapter, Duration::from_secs(120), |mut stream| {
            stream
                .write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"message\": {\"content\": \"SCORE",
                )
                .unwrap();
        });
        let failed = half.await.unwrap_err();
        assert_eq!(failed.class, FailureClass::ProviderTransient, "{failed:?}");

        let huge = served_to(adapter, Duration::from_secs(300), |mut stream| {
            stream.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").unwrap();
            let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
            while stream.write_all(chunk.as_bytes()).is_ok() {}
        });
        let failed = huge.await.unwrap_err();
        assert!(failed.message.contains("longer than"), "{failed:?}");
    }
}
