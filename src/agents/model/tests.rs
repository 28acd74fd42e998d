use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use wiremock::matchers::{body_partial_json, header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;
use rules::mission::model::{Adapter, Agent};
use rules::plan::AgentPlan;

pub(crate) const KEY: &str = "sk-very-secret";

/// 21 November 2026, 21:59:00 UTC.
const NOW: Timestamp = Timestamp(1_795_298_340_000);

fn endpoint(base_url: &str) -> Endpoint {
    endpoint_of(Adapter::Openai, base_url)
}

pub(crate) fn endpoint_of(adapter: Adapter, base_url: &str) -> Endpoint {
    let agent = AgentPlan {
        name: "judge".into(),
        removed: false,
        reports_to: None,
        spec: Agent {
            adapter: adapter.into(),
            model: Some("asked-model".to_owned()),
            base_url: Some(base_url.to_owned()),
            api_key: Some("${KEY}".to_owned()),
            ..Agent::default()
        },
    };
    Endpoint::of_agent(&agent, |_| Some(KEY.to_owned())).unwrap()
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        system: Some("You judge.".to_owned()),
        prompt: "Judge this.".to_owned(),
        images: Vec::new(),
        schema: None,
        temperature: None,
        max_tokens: None,
        timeout: Duration::from_secs(20),
    }
}

fn body_of(base_url: &str, request: &ModelRequest) -> Value {
    let endpoint = endpoint(base_url);
    (endpoint.protocol.body)(&endpoint.model, endpoint.is_own_service(), request, &Dialogue::default())
}

async fn ask(base_url: &str, request: &ModelRequest) -> Result<ModelReply, ModelError> {
    ask_endpoint(&endpoint(base_url), request).await
}

pub async fn ask_endpoint(endpoint: &Endpoint, request: &ModelRequest) -> Result<ModelReply, ModelError> {
    complete(&endpoint.line().unwrap(), endpoint, request, NOW).await
}

/// Asks a server that gives this answer to everything.
async fn answered(answer: ResponseTemplate, request: &ModelRequest) -> Result<ModelReply, ModelError> {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(answer).expect(1).mount(&server).await;
    ask(&server.uri(), request).await
}

fn reply(message: Value) -> Value {
    json!({
        "model": "used-model",
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3},
    })
}

pub fn ok(body: Value) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_json(body)
}

/// Asks a server that does with the connection whatever `serve` does, after it has read the request.
async fn served(
    timeout: Duration,
    serve: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<ModelReply, ModelError> {
    served_to(Adapter::Openai, timeout, serve).await
}

pub async fn served_to(
    adapter: Adapter,
    timeout: Duration,
    serve: impl FnOnce(TcpStream) + Send + 'static,
) -> Result<ModelReply, ModelError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let server = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().unwrap();
        read_request(&mut stream);
        serve(stream);
    });
    let request = ModelRequest { timeout, ..request() };
    let outcome = ask_endpoint(&endpoint_of(adapter, &base_url), &request).await;
    server.await.unwrap();
    outcome
}

/// Reads one request to the end of its body, so that nothing unread turns a close into a reset.
fn read_request(stream: &mut TcpStream) {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.split("content-length: ").nth(1).unwrap();
            let length: usize = length.lines().next().unwrap().parse().unwrap();
            if body.len() >= length {
                return;
            }
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "the request ended early");
        seen.extend_from_slice(&buffer[..count]);
    }
}

#[tokio::test]
async fn a_question_is_asked_with_all_it_needs() {
    let server = MockServer::start().await;
    let schema = json!({"type": "object"});
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .and(header("authorization", format!("Bearer {KEY}").as_str()))
        .and(body_partial_json(json!({
            "model": "asked-model",
            "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "Judge this."}],
            "temperature": 0.5,
            "max_tokens": 99,
            "response_format": {"type": "json_schema", "json_schema": {"strict": true, "schema": schema}},
        })))
        .respond_with(ok(reply(json!({"content": "SCORE: 72"}))))
        .expect(1)
        .mount(&server)
        .await;
    let request = ModelRequest {
        schema: Some(schema),
        temperature: Some("0.5".parse().unwrap()),
        max_tokens: Some(99),
        ..request()
    };
    let reply = ask(&format!("{}/v1", server.uri()), &request).await.unwrap();
    assert_eq!(
        reply,
        ModelReply {
            text: "SCORE: 72".to_owned(),
            model: Some("used-model".to_owned()),
            usage: ModelUsage { input_tokens: Some(7), output_tokens: Some(3) },
            finish_reason: Some("stop".to_owned()),
            calls: Vec::new(),
            said: Value::Null,
        }
    );
}

#[test]
fn what_is_not_set_is_not_sent() {
    let request = ModelRequest { system: None, max_tokens: None, ..request() };
    let body = body_of("http://h/v1", &request);
    let keys: Vec<_> = body.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["model", "messages", "stream"]);
    let limited = ModelRequest { max_tokens: Some(5), ..request };
    let body = body_of("https://api.openai.com/v1", &limited);
    assert_eq!(body["max_completion_tokens"], 5);
}

#[tokio::test]
async fn what_the_provider_does_not_say_stays_unknown() {
    for (body, want) in [
        (json!({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}), "hi"),
        (
            json!({"choices": [{"message": {"content": null}, "finish_reason": "stop"}], "model": "", "usage": {"prompt_tokens": -1}}),
            "",
        ),
        (
            json!({"choices": [{"message": {"content": [{"text": "a"}, {"text": "b"}]}, "finish_reason": "stop"}], "usage": {"completion_tokens": "3"}}),
            "ab",
        ),
    ] {
        let reply = answered(ok(body), &request()).await.unwrap();
        assert_eq!(
            reply,
            ModelReply {
                text: want.to_owned(),
                model: None,
                usage: ModelUsage::default(),
                finish_reason: Some("stop".to_owned()),
                calls: Vec::new(),
                said: Value::Null,
            }
        );
    }
}

#[tokio::test]
async fn a_refusal_is_a_failure_and_never_a_reply() {
    let mut filtered = reply(json!({"content": "SCORE: 9"}));
    filtered["choices"][0]["finish_reason"] = json!("content_filter");
    for (body, said) in [
        (reply(json!({"content": null, "refusal": "I cannot"})), "I cannot"),
        (filtered, "content_filter"),
        (json!({"choices": []}), "no choices"),
    ] {
        let error = answered(ok(body), &request()).await.unwrap_err();
        assert_eq!((error.class, error.status), (FailureClass::Unknown, Some(200)));
        assert!(error.message.contains(said), "{error}");
    }
}

#[tokio::test]
async fn an_error_in_a_list_is_read_too() {
    let body = json!([{"error": {"code": 429, "message": "slow down"}}]);
    let error = answered(ok(body), &request()).await.unwrap_err();
    assert_eq!((error.class, error.status), (FailureClass::RateLimited, Some(429)));
}

#[tokio::test]
async fn a_reply_that_ran_into_its_limit_says_so() {
    let mut body = reply(json!({"content": "SCORE: 7"}));
    assert!(!answered(ok(body.clone()), &request()).await.unwrap().is_cut_short());
    body["choices"][0]["finish_reason"] = json!("length");
    assert!(answered(ok(body), &request()).await.unwrap().is_cut_short());
}

#[tokio::test]
async fn errors_are_classed_and_told_without_secrets() {
    let error = |code: &str| json!({"error": {"code": code, "message": format!("bad {KEY}\nkey")}});
    for (answer, class, status) in [
        (ResponseTemplate::new(401).set_body_json(error("x")), FailureClass::ProviderAuth, 401),
        (ResponseTemplate::new(429).set_body_json(error("x")), FailureClass::RateLimited, 429),
        (
            ResponseTemplate::new(429).set_body_json(error("insufficient_quota")),
            FailureClass::ProviderSpendLimit,
            429,
        ),
        (ResponseTemplate::new(503).set_body_string("<html>"), FailureClass::ProviderTransient, 503),
        (ResponseTemplate::new(504), FailureClass::Timeout, 504),
        (ResponseTemplate::new(400).set_body_json(json!({"error": "bad"})), FailureClass::Unknown, 400),
        (ok(json!({"error": {"code": 429, "message": "slow"}})), FailureClass::RateLimited, 429),
        (ok(json!({"choices": []})), FailureClass::Unknown, 200),
        (ok(json!({})), FailureClass::Unknown, 200),
        (ResponseTemplate::new(200).set_body_string("<html>"), FailureClass::Unknown, 200),
    ] {
        let error = answered(answer, &request()).await.unwrap_err();
        assert_eq!((error.class, error.status), (class, Some(status)), "{error:?}");
        assert!(!format!("{error:?}").contains(KEY), "{error:?}");
        assert!(!error.message.contains('\n') && !error.message.is_empty(), "{error:?}");
        assert!(!error.schema_unsupported);
    }
}

#[tokio::test]
async fn a_page_instead_of_a_reply_is_called_that() {
    let answer = ResponseTemplate::new(200).set_body_string("<html>");
    let error = answered(answer, &request()).await.unwrap_err();
    let (before, after) = error.message.split_once("127.0.0.1:").unwrap();
    let port = after.strip_suffix(" is not a chat completion").unwrap();
    assert!(before == "the answer of " && port.parse::<u16>().is_ok(), "{error:?}");
}

#[tokio::test]
async fn a_long_message_is_cut() {
    let body = json!({"error": {"message": "é".repeat(5000)}});
    let error = answered(ResponseTemplate::new(500).set_body_json(body), &request()).await.unwrap_err();
    assert_eq!(error.message.chars().count(), MAX_MESSAGE);
}

#[tokio::test]
async fn a_refused_schema_is_told_apart_from_a_refused_question() {
    let with_schema = ModelRequest { schema: Some(json!({})), ..request() };
    let refused = |message: &str, param: &str| {
        ResponseTemplate::new(400).set_body_json(json!({"error": {"message": message, "param": param}}))
    };
    for (answer, request, want) in [
        (refused("'response_format' is not supported", ""), &with_schema, true),
        (refused("unsupported value", "response_format"), &with_schema, true),
        (refused("json_schema is unknown", ""), &request(), false),
        (refused("the prompt is too long", "messages"), &with_schema, false),
        (ResponseTemplate::new(500).set_body_string("json_schema"), &with_schema, false),
    ] {
        let error = answered(answer, request).await.unwrap_err();
        assert_eq!(error.schema_unsupported, want, "{error:?}");
    }
}

#[tokio::test]
async fn the_wish_to_be_left_alone_is_heard() {
    for (header, value, want) in [
        ("retry-after", "7", Some(7_000)),
        ("retry-after", "0.25", Some(250)),
        ("retry-after", "Sat, 21 Nov 2026 22:00:00 GMT", Some(60_000)),
        ("retry-after", "Sat, 21 Nov 2020 22:00:00 GMT", Some(0)),
        ("retry-after-ms", "1500", Some(1_500)),
        ("retry-after", "-7", None),
        ("retry-after", "soon", None),
        ("x-other", "7", None),
    ] {
        let answer = ResponseTemplate::new(429).insert_header(header, value);
        let error = answered(answer, &request()).await.unwrap_err();
        assert_eq!(error.retry_after, want.map(Millis), "{header}: {value}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let other = MockServer::start().await;
    Mock::given(method("POST")).respond_with(ok(json!({}))).expect(0).mount(&other).await;
    let answer = ResponseTemplate::new(307).insert_header("location", other.uri().as_str());
    let error = answered(answer, &request()).await.unwrap_err();
    assert_eq!((error.class, error.status), (FailureClass::Unknown, Some(307)));
    other.verify().await;
}

#[tokio::test]
async fn a_provider_that_never_answers_is_given_up() {
    let outcome = served(Duration::from_millis(100), |mut stream| {
        // Returns when the client has let go of the connection, and only then.
        let _ = stream.read(&mut [0]);
    });
    assert_eq!(outcome.await.unwrap_err().class, FailureClass::Timeout);
}

#[tokio::test]
async fn a_connection_that_breaks_may_be_tried_again() {
    let long = Duration::from_secs(20);
    let reset = served(long, |stream| {
        rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).unwrap();
    });
    let half = served(long, |mut stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": [").unwrap();
    });
    let closed = served(long, drop);
    for outcome in [reset.await, half.await, closed.await] {
        let error = outcome.unwrap_err();
        assert_eq!(error.class, FailureClass::ProviderTransient, "{error:?}");
        assert!(!format!("{error:?}").contains(KEY));
    }
}

#[tokio::test]
async fn a_refused_connection_may_be_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = ask(&base_url, &request()).await.unwrap_err();
    assert_eq!((error.class, error.status), (FailureClass::ProviderTransient, None));
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    for (status, class) in [("200 OK", FailureClass::Unknown), ("503 Busy", FailureClass::ProviderTransient)]
    {
        let error = endless(status).await.unwrap_err();
        assert_eq!(error.class, class, "{error:?}");
        assert_eq!(error.message.contains("longer than"), status == "200 OK", "{error:?}");
    }
}

/// Asks a server whose answer never ends.
async fn endless(status: &'static str) -> Result<ModelReply, ModelError> {
    let serve = move |mut stream: TcpStream| {
        let head = format!("HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
        // Ends when the client hangs up, and only then.
        while stream.write_all(chunk.as_bytes()).is_ok() {}
    };
    served(Duration::from_secs(60), serve).await
}

#[test]
fn a_key_twice_is_found_wherever_it_stands() {
    let read = |text: &str| is_doubtful(StatusCode::OK, text.as_bytes());
    for good in ["{}", "[1, -1, 1.5, true, null, \"x\", {\"a\": {\"a\": 1}}]", "{\"a\"", "[1e999]"] {
        assert_eq!(read(good), None, "{good}");
    }
    for bad in ["{\"a\": 1, \"a\": 1}", "[{\"b\": {\"a\": 1, \"c\": 2, \"a\": null}}]"] {
        assert!(read(bad).unwrap().contains("'a' stands twice"), "{bad}");
    }
}
