//! Google's `generateContent`.

use serde_json::{Value, json};

use super::{Protocol, version_after};
use crate::agents::model::{
    Dialogue, ModelReply, ModelRequest, ModelUsage, ProviderError, ResponseBody, ToolCall, ToolExchange,
    error_message, millis_of, non_empty, string, temperature,
};

/// Under this code a quota that lasts for days is told apart from one that lasts for a minute.
const DAILY_QUOTA: &str = "quota_exhausted";

/// The `generateContent` API of Google.
pub const PROTOCOL: Protocol = Protocol {
    name: "gemini",
    default_base: "https://generativelanguage.googleapis.com/v1beta",
    own_service: Some(("generativelanguage.googleapis.com", "GEMINI_API_KEY")),
    key_header: ("x-goog-api-key", ""),
    fixed_headers: &[],
    schema_words: &[
        "response_json_schema",
        "responsejsonschema",
        "response_schema",
        "response_mime_type",
        "response mime type",
        "json mode",
    ],
    good_ends: &["STOP"],
    reply_name: "a generateContent reply",
    path,
    body,
    answer,
    error_in,
};

fn path(last: &str, model: &str) -> Vec<String> {
    let (kind, name) = model.split_once('/').unwrap_or(("models", model));
    let version = version_after(last, "v1beta").into_iter();
    let model = [kind.to_owned(), format!("{name}:generateContent")];
    version.chain(model).collect()
}

fn body(_model: &str, _has_new_name: bool, request: &ModelRequest, dialogue: &Dialogue) -> Value {
    let mut parts = vec![json!({"text": request.prompt})];
    parts.extend(
        request
            .images
            .iter()
            .map(|image| json!({"inlineData": {"mimeType": image.media_type, "data": image.data}})),
    );
    let mut contents = vec![json!({"role": "user", "parts": parts})];
    contents.extend(dialogue.exchanges.iter().flat_map(turns));
    let mut body = json!({"contents": contents});
    if !dialogue.tools.is_empty() {
        let declared: Vec<Value> = dialogue
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                })
            })
            .collect();
        body["tools"] = json!([{"functionDeclarations": declared}]);
        if dialogue.must_reply {
            body["toolConfig"] = json!({"functionCallingConfig": {"mode": "NONE"}});
        }
    }
    if let Some(system) = &request.system {
        body["systemInstruction"] = json!({"parts": [{"text": system}]});
    }
    let mut config = json!({});
    if let Some(temperature) = temperature(request) {
        config["temperature"] = temperature;
    }
    if let Some(max_tokens) = request.max_tokens {
        config["maxOutputTokens"] = json!(max_tokens);
    }
    if let Some(schema) = &request.schema {
        config["responseMimeType"] = json!("application/json");
        config["responseJsonSchema"] = schema.clone();
    }
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        body["generationConfig"] = config;
    }
    body
}

fn answer(body: &Value) -> ResponseBody {
    if let Some(reason) = non_empty(&body["promptFeedback"]["blockReason"]) {
        return ResponseBody::Declined(format!("the provider blocked the prompt: {reason}"));
    }
    // A reply without candidates is told from any other JSON by what else it carries.
    if ["candidates", "usageMetadata", "promptFeedback"].iter().all(|key| body.get(key).is_none()) {
        return ResponseBody::NotAReply;
    }
    let Some(candidate) = body["candidates"].get(0) else {
        return ResponseBody::Declined("the provider's answer has no candidates".to_owned());
    };
    let finish_reason = non_empty(&candidate["finishReason"]);
    let parts = candidate["content"]["parts"].as_array();
    let said = parts
        .into_iter()
        .flatten()
        // Thoughts are not the reply.
        .filter(|part| part["thought"] != json!(true));
    let usage = &body["usageMetadata"];
    ResponseBody::Reply(ModelReply {
        said: candidate["content"].clone(),
        calls: calls(parts),
        text: said.filter_map(|part| part["text"].as_str()).collect(),
        model: non_empty(&body["modelVersion"]),
        usage: ModelUsage {
            input_tokens: usage["promptTokenCount"].as_u64(),
            output_tokens: output_tokens(usage),
        },
        finish_reason,
    })
}

fn error_in(body: &Value) -> ProviderError<'_> {
    let error = &body["error"];
    let details = || error["details"].as_array().into_iter().flatten();
    let mut codes: Vec<&str> = error["status"].as_str().into_iter().collect();
    codes.extend(details().filter_map(|detail| detail["reason"].as_str()));
    let mut violations = details().flat_map(|detail| detail["violations"].as_array().into_iter().flatten());
    if violations.any(|violation| violation["quotaId"].as_str().is_some_and(|id| id.contains("PerDay"))) {
        codes.push(DAILY_QUOTA);
    }
    ProviderError {
        status: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()),
        codes,
        message: error_message(error),
        about: None,
        // The provider writes `34s`, `34.5s`.
        retry_after: details()
            .find_map(|detail| millis_of(detail["retryDelay"].as_str()?.strip_suffix('s')?)),
    }
}

/// The messages of one exchange: the reply, and the results of the tools.
fn turns(exchange: &ToolExchange) -> [Value; 2] {
    let parts: Vec<Value> = exchange
        .calls
        .iter()
        .map(|(call, result)| {
            let key = if result.failed { "error" } else { "output" };
            let mut response = json!({"name": call.name, "response": {key: result.text}});
            if !call.id.is_empty() {
                response["id"] = json!(call.id);
            }
            json!({"functionResponse": response})
        })
        .collect();
    [exchange.said.clone(), json!({"role": "user", "parts": parts})]
}

fn calls(parts: Option<&Vec<Value>>) -> Vec<ToolCall> {
    let calls = parts.into_iter().flatten().map(|part| &part["functionCall"]);
    calls
        .filter(|call| call.is_object())
        .map(|call| ToolCall {
            id: string(&call["id"]),
            name: string(&call["name"]),
            arguments: match &call["args"] {
                Value::Null => json!({}),
                arguments => arguments.clone(),
            },
        })
        .collect()
}

/// The tokens that were written: the provider counts thoughts apart, and leaves out what is zero.
fn output_tokens(usage: &Value) -> Option<u64> {
    let count = |key: &str| match &usage[key] {
        Value::Null => Some(None),
        count => count.as_u64().map(Some),
    };
    let (said, thought) = (count("candidatesTokenCount")?, count("thoughtsTokenCount")?);
    if said.is_none() && thought.is_none() {
        return None;
    }
    said.unwrap_or_default().checked_add(thought.unwrap_or_default())
}
