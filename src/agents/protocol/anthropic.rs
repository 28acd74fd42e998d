//! Anthropic's Messages API.
//!
//! A reply that must keep to a schema is asked for as the input of a tool that the model has to call: every model of the
//! provider knows tools, only the newer ones know structured output.

use serde_json::{Value, json};

use super::{Protocol, version_after};
use crate::agents::model::{
    Dialogue, ModelReply, ModelRequest, ModelUsage, ProviderError, ResponseBody, ToolCall, ToolExchange,
    error_message, non_empty, string, temperature,
};

/// The protocol demands a limit. This one holds a long document and is allowed by every current model.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The tool whose input is the reply.
const TOOL: &str = "verdict";

/// The Messages API of Anthropic.
pub const PROTOCOL: Protocol = Protocol {
    name: "anthropic",
    default_base: "https://api.anthropic.com/v1",
    own_service: Some(("api.anthropic.com", "ANTHROPIC_API_KEY")),
    key_header: ("x-api-key", ""),
    fixed_headers: &[("anthropic-version", "2023-06-01")],
    schema_words: &["tool_choice", "input_schema", "tools."],
    good_ends: &["end_turn", "stop_sequence", "tool_use"],
    reply_name: "a message",
    path,
    body,
    answer,
    error_in,
};

fn path(last: &str, _model: &str) -> Vec<String> {
    let version = version_after(last, "v1").into_iter();
    version.chain(["messages".to_owned()]).collect()
}

fn body(model: &str, _has_new_name: bool, request: &ModelRequest, dialogue: &Dialogue) -> Value {
    let mut messages = vec![json!({"role": "user", "content": question(request)})];
    messages.extend(dialogue.exchanges.iter().flat_map(turns));
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": messages,
        "stream": false,
    });
    if let Some(system) = &request.system {
        body["system"] = json!(system);
    }
    if let Some(temperature) = temperature(request) {
        body["temperature"] = temperature;
    }
    let offered = dialogue.tools.iter();
    let mut tools: Vec<Value> = offered
        .map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters}),
        )
        .collect();
    if let Some(schema) = &request.schema {
        tools.push(json!({
            "name": TOOL,
            "description": "Gives the reply that was asked for, in its exact form.",
            "input_schema": schema,
        }));
        body["tool_choice"] = json!({"type": "tool", "name": TOOL, "disable_parallel_tool_use": true});
    } else if dialogue.must_reply && !tools.is_empty() {
        body["tool_choice"] = json!({"type": "none"});
    }
    if !tools.is_empty() {
        body["tools"] = json!(tools);
    }
    body
}

fn answer(body: &Value) -> ResponseBody {
    let Some(blocks) = body["content"].as_array() else {
        return ResponseBody::NotAReply;
    };
    let finish_reason = non_empty(&body["stop_reason"]);
    let mut text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    if finish_reason.as_deref() == Some("refusal") {
        return ResponseBody::Declined(format!("the model refuses: {text}"));
    }
    // What was said beside the tool is not the reply. Two calls are two replies, between which there is no choice.
    let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
    let (replies, wanted): (Vec<_>, Vec<_>) = calls.partition(|call| call["name"] == TOOL);
    let inputs: Vec<_> = replies.iter().map(|call| call["input"].to_string()).collect();
    let by_tool = !inputs.is_empty();
    if by_tool {
        text = inputs.join("\n");
    }
    let calls: Vec<ToolCall> = wanted
        .into_iter()
        .map(|block| ToolCall {
            id: string(&block["id"]),
            name: string(&block["name"]),
            arguments: block["input"].clone(),
        })
        .collect();
    if finish_reason.as_deref() == Some("tool_use") && calls.is_empty() && !by_tool {
        return ResponseBody::Declined("the reply stops for calls of tools and has none".to_owned());
    }
    let usage = &body["usage"];
    ResponseBody::Reply(ModelReply {
        said: body["content"].clone(),
        calls,
        text,
        model: non_empty(&body["model"]),
        usage: ModelUsage {
            input_tokens: input_tokens(usage),
            output_tokens: usage["output_tokens"].as_u64(),
        },
        finish_reason,
    })
}

fn error_in(body: &Value) -> ProviderError<'_> {
    let error = &body["error"];
    ProviderError {
        codes: error["type"].as_str().into_iter().collect(),
        message: error_message(error),
        ..ProviderError::default()
    }
}

/// The question: a plain text, or pictures and then the text, as the provider advises.
fn question(request: &ModelRequest) -> Value {
    if request.images.is_empty() {
        return json!(request.prompt);
    }
    let images = request.images.iter().map(|image| {
        let source = json!({"type": "base64", "media_type": image.media_type, "data": image.data});
        json!({"type": "image", "source": source})
    });
    images.chain([json!({"type": "text", "text": request.prompt})]).collect()
}

/// The messages of one exchange: the reply, and the results of the tools.
fn turns(exchange: &ToolExchange) -> [Value; 2] {
    let results: Vec<Value> = exchange
        .calls
        .iter()
        .map(|(call, result)| {
            json!({
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": result.text,
                "is_error": result.failed,
            })
        })
        .collect();
    [json!({"role": "assistant", "content": exchange.said}), json!({"role": "user", "content": results})]
}

/// All that was read: the provider counts what came from its cache apart.
fn input_tokens(usage: &Value) -> Option<u64> {
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let mut sum = usage["input_tokens"].as_u64()?;
    for key in cached {
        match &usage[key] {
            Value::Null => {}
            count => sum = sum.checked_add(count.as_u64()?)?,
        }
    }
    Some(sum)
}
