//! Anthropic's Messages API.
//!
//! A reply that must keep to a schema is asked for as the input of a tool that the model has to call: every model of the
//! provider knows tools, only the newer ones know structured output.

use serde_json::{Value, json};

use super::model::{Answer, ModelReply, ModelRequest, ToldError, Usage, non_empty, temperature};

/// The protocol demands a limit. This one holds a long document and is allowed by every current model.
const DEFAULT_MAX_TOKENS: u32 = 8_192;

/// The tool whose input is the reply.
const TOOL: &str = "verdict";

pub(super) fn body(model: &str, request: &ModelRequest) -> Value {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_tokens.unwrap_or(DEFAULT_MAX_TOKENS),
        "messages": [{"role": "user", "content": request.prompt}],
        "stream": false,
    });
    if let Some(system) = &request.system {
        body["system"] = json!(system);
    }
    if let Some(temperature) = temperature(request) {
        body["temperature"] = temperature;
    }
    if let Some(schema) = &request.schema {
        body["tools"] = json!([{
            "name": TOOL,
            "description": "Gives the reply that was asked for, in its exact form.",
            "input_schema": schema,
        }]);
        body["tool_choice"] = json!({"type": "tool", "name": TOOL, "disable_parallel_tool_use": true});
    }
    body
}

pub(super) fn answer(body: &Value) -> Answer {
    let Some(blocks) = body["content"].as_array() else {
        return Answer::NotAReply;
    };
    let finish_reason = non_empty(&body["stop_reason"]);
    let mut text: String = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    if finish_reason.as_deref() == Some("refusal") {
        return Answer::Declined(format!("the model refuses: {text}"));
    }
    // What was said beside the tool is not the reply. Two calls are two replies, which nobody can choose between.
    let calls = blocks
        .iter()
        .filter(|block| block["type"] == "tool_use" && block["name"] == TOOL);
    let inputs: Vec<_> = calls.map(|call| call["input"].to_string()).collect();
    if !inputs.is_empty() {
        text = inputs.join("\n");
    }
    let usage = &body["usage"];
    Answer::Reply(ModelReply {
        text,
        model: non_empty(&body["model"]),
        usage: Usage {
            input_tokens: input_tokens(usage),
            output_tokens: usage["output_tokens"].as_u64(),
        },
        finish_reason,
    })
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

pub(super) fn told_error(body: &Value) -> ToldError<'_> {
    let error = &body["error"];
    ToldError {
        codes: error["type"].as_str().into_iter().collect(),
        message: error["message"].as_str().or(error.as_str()).unwrap_or_default(),
        ..ToldError::default()
    }
}
