//! OpenAI's chat completions, as spoken by OpenAI and everything that is compatible with it.

use serde_json::{Value, json};

use super::{BEARER, Protocol};
use crate::agents::model::{
    Dialogue, ModelReply, ModelRequest, ModelUsage, ProviderError, ResponseBody, ToolCall, ToolResult,
    ToolSpec, error_message, non_empty, string, temperature,
};

/// Chat completions: OpenAI, and whatever is compatible with it.
pub const PROTOCOL: Protocol = Protocol {
    name: "openai",
    default_base: "https://api.openai.com/v1",
    own_service: Some(("api.openai.com", "OPENAI_API_KEY")),
    key_header: BEARER,
    fixed_headers: &[],
    schema_words: &["response_format", "json_schema", "structured output", "guided_json"],
    good_ends: &["stop", "tool_calls", "eos", "eos_token", "stop_sequence", "end_turn"],
    reply_name: "a chat completion",
    path,
    body,
    answer,
    error_in,
};

fn path(_last: &str, _model: &str) -> Vec<String> {
    vec!["chat".to_owned(), "completions".to_owned()]
}

fn body(model: &str, has_new_name: bool, request: &ModelRequest, dialogue: &Dialogue) -> Value {
    let messages = messages(
        request,
        json!({"role": "user", "content": question(request)}),
        dialogue,
        |(call, result)| json!({"role": "tool", "tool_call_id": call.id, "content": result.text}),
    );
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    if let Some(temperature) = temperature(request) {
        body["temperature"] = temperature;
    }
    if let Some(max_tokens) = request.max_tokens {
        // OpenAI's newer models refuse the old name; other servers know no other.
        let key = if has_new_name { "max_completion_tokens" } else { "max_tokens" };
        body[key] = json!(max_tokens);
    }
    if let Some(schema) = &request.schema {
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": true, "schema": schema},
        });
    }
    if !dialogue.tools.is_empty() {
        body["tools"] = tools(&dialogue.tools);
        if dialogue.must_reply {
            body["tool_choice"] = json!("none");
        }
    }
    body
}

fn answer(body: &Value) -> ResponseBody {
    let Some(choices) = body.get("choices") else {
        return ResponseBody::NotAReply;
    };
    let Some(choice) = choices.get(0) else {
        return ResponseBody::Declined("the provider's answer has no choices".to_owned());
    };
    let message = &choice["message"];
    if let Some(refusal) = non_empty(&message["refusal"]) {
        return ResponseBody::Declined(format!("the model refuses: {refusal}"));
    }
    let finish_reason = non_empty(&choice["finish_reason"]);
    let calls = calls(message);
    if finish_reason.as_deref() == Some("tool_calls") && calls.is_empty() {
        return ResponseBody::Declined("the reply stops for calls of tools and has none".to_owned());
    }
    ResponseBody::Reply(ModelReply {
        said: said(message),
        calls,
        text: content_of(message),
        model: non_empty(&body["model"]),
        usage: ModelUsage {
            input_tokens: body["usage"]["prompt_tokens"].as_u64(),
            output_tokens: body["usage"]["completion_tokens"].as_u64(),
        },
        finish_reason,
    })
}

/// Some gateways send errors with status 200 and the true status in the body; some servers put the fields at the top.
fn error_in(body: &Value) -> ProviderError<'_> {
    let error = match &body["error"] {
        Value::Null => body,
        error => error,
    };
    let texts = [&error["code"], &error["type"]].into_iter();
    ProviderError {
        status: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()),
        codes: texts.filter_map(Value::as_str).collect(),
        message: error_message(error),
        about: error["param"].as_str(),
        retry_after: None,
    }
}

/// The question: a plain text, or a list of parts where pictures belong to it.
fn question(request: &ModelRequest) -> Value {
    if request.images.is_empty() {
        return json!(request.prompt);
    }
    let text = json!({"type": "text", "text": request.prompt});
    let images = request.images.iter().map(|image| {
        let url = format!("data:{};base64,{}", image.media_type, image.data);
        json!({"type": "image_url", "image_url": {"url": url}})
    });
    std::iter::once(text).chain(images).collect()
}

/// Tools in the form that Ollama has taken over too.
pub fn tools(tools: &[ToolSpec]) -> Value {
    let function = |tool: &ToolSpec| {
        json!({
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        })
    };
    tools.iter().map(function).collect()
}

/// The messages of a request: the system prompt, the question, and the replies since, with the result of each
/// tool.
pub fn messages(
    request: &ModelRequest,
    question: Value,
    dialogue: &Dialogue,
    given: impl Fn(&(ToolCall, ToolResult)) -> Value,
) -> Vec<Value> {
    let system = request.system.iter();
    let system = system.map(|system| json!({"role": "system", "content": system}));
    let mut messages: Vec<Value> = system.chain([question]).collect();
    for exchange in &dialogue.exchanges {
        messages.push(exchange.said.clone());
        messages.extend(exchange.calls.iter().map(&given));
    }
    messages
}

/// The tools that a message asks for. Arguments come as a text, from some servers as an object.
pub fn calls(message: &Value) -> Vec<ToolCall> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    calls
        .map(|call| {
            let function = &call["function"];
            let arguments = match &function["arguments"] {
                Value::String(text) if text.trim().is_empty() => json!({}),
                Value::String(text) => serde_json::from_str(text).unwrap_or(Value::Null),
                arguments => arguments.clone(),
            };
            ToolCall { id: string(&call["id"]), name: string(&function["name"]), arguments }
        })
        .collect()
}

/// The message as it goes back: what was said, and nothing else that a server put beside it.
pub fn said(message: &Value) -> Value {
    json!({"role": "assistant", "content": message["content"], "tool_calls": message["tool_calls"]})
}

/// The text of a message: a string, or a list of text parts.
fn content_of(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
