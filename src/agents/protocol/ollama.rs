//! Ollama's chat API.
//!
//! Ollama cuts a prompt that does not fit into the context it was given, and says nothing: a judge would then judge
//! half of the evidence. So it is told not to; such a prompt is an error. Servers older than that wish ignore it.

use serde_json::{Value, json};

use super::openai::{calls, messages, said, tools};
use super::{BEARER, Protocol};
use crate::agents::model::{
    Dialogue, ModelReply, ModelRequest, ModelUsage, ProviderError, ResponseBody, error_message, non_empty,
    string, temperature,
};

/// The chat API of Ollama.
pub const PROTOCOL: Protocol = Protocol {
    name: "ollama",
    default_base: "http://127.0.0.1:11434",
    own_service: None,
    key_header: BEARER,
    fixed_headers: &[],
    schema_words: &["format", "grammar", "json schema"],
    // Older servers say no more than that they are done.
    good_ends: &["stop", ""],
    reply_name: "an Ollama chat reply",
    path,
    body,
    answer,
    error_in,
};

fn path(last: &str, _model: &str) -> Vec<String> {
    let api = (last != "api").then(|| "api".to_owned());
    api.into_iter().chain(["chat".to_owned()]).collect()
}

fn body(model: &str, _has_new_name: bool, request: &ModelRequest, dialogue: &Dialogue) -> Value {
    let mut question = json!({"role": "user", "content": request.prompt});
    if !request.images.is_empty() {
        let images = request.images.iter().map(|image| image.data.as_str());
        question["images"] = images.collect();
    }
    let messages = messages(
        request,
        question,
        dialogue,
        |(call, result)| json!({"role": "tool", "tool_name": call.name, "content": result.text}),
    );
    let mut body = json!({
        "model": model,
        "messages": messages,
        "stream": false,
        "truncate": false,
        "shift": false,
    });
    let mut options = json!({});
    if let Some(temperature) = temperature(request) {
        options["temperature"] = temperature;
    }
    if let Some(max_tokens) = request.max_tokens {
        options["num_predict"] = json!(max_tokens);
    }
    if options.as_object().is_some_and(|options| !options.is_empty()) {
        body["options"] = options;
    }
    if let Some(schema) = &request.schema {
        body["format"] = schema.clone();
    }
    // It knows no other way to forbid them.
    if !dialogue.tools.is_empty() && !dialogue.must_reply {
        body["tools"] = tools(&dialogue.tools);
    }
    body
}

fn answer(body: &Value) -> ResponseBody {
    if !body["message"].is_object() {
        return ResponseBody::NotAReply;
    }
    if body["done"] != json!(true) {
        return ResponseBody::Declined("the server sent only the beginning of its reply".to_owned());
    }
    ResponseBody::Reply(ModelReply {
        said: said(&body["message"]),
        calls: calls(&body["message"]),
        text: string(&body["message"]["content"]),
        model: non_empty(&body["model"]),
        usage: ModelUsage {
            input_tokens: body["prompt_eval_count"].as_u64(),
            output_tokens: body["eval_count"].as_u64(),
        },
        finish_reason: non_empty(&body["done_reason"]),
    })
}

fn error_in(body: &Value) -> ProviderError<'_> {
    ProviderError { message: error_message(&body["error"]), ..ProviderError::default() }
}
