//! Messages of an agent as tools: what a process says through files of its turn, a model says by calls (semantics,
//! section 17).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::agents::model::{ToolCall, ToolSpec};

use super::{ToolError, arguments};

/// A message of a model to its run.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentMessage {
    /// The model asks a question.
    Ask(String),
    /// The model delegates a sub-task.
    Delegate(Value),
    /// The model tells its progress.
    Progress(String),
    /// The answer of the model, in place of its last words.
    Result(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    text: String,
}

/// The tools by which a model sends messages.
pub fn specs() -> Vec<ToolSpec> {
    let words = |what: &str| {
        json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": what}},
            "required": ["text"],
            "additionalProperties": false,
        })
    };
    let spec = |name, description, parameters| ToolSpec { name, description, parameters };
    vec![
        spec(
            "ask",
            "Asks whoever gave you the task. Then end your turn: the answer comes with the next one.",
            words("The question."),
        ),
        spec(
            "delegate",
            "Hands down a part of the task as a task of its own; it is done after yours has ended well.",
            json!({
                "type": "object",
                "properties": {
                    "title": {"type": "string", "description": "Its title, unlike any other."},
                    "assignTo": {"type": "string", "description": "The agent that does it."},
                    "description": {"type": "string", "description": "What is to be done."},
                    "type": {"type": "string", "description": "What kind of work: implement, test, document …"},
                    "dependsOn": {"type": "array", "items": {"type": "string"}, "description": "Titles of what it waits for."},
                    "priority": {"type": "number", "description": "Above 1: before others."},
                    "targetFiles": {"type": "array", "items": {"type": "string"}, "description": "Files that it must produce."},
                    "acceptance": {"type": "array", "items": {"type": "string"}, "description": "What its work is accepted by."},
                    "verify": {"type": "object", "description": "What must hold before its agent may call itself finished: commands, requiredTests with testCommand …"},
                },
                "required": ["title", "assignTo", "description"],
            }),
        ),
        spec("progress", "Says how far you are.", words("One line.")),
        spec("result", "Gives your answer, if it is not to be your last words.", words("The answer.")),
    ]
}

/// The message that a call sends; `None` if it is none of these tools.
///
/// # Errors
///
/// Why it cannot be understood, for the model.
pub fn message_of(call: &ToolCall) -> Option<Result<AgentMessage, ToolError>> {
    let words = |of: fn(String) -> AgentMessage| arguments::<Words>(call).map(|words| of(words.text));
    Some(match call.name.as_str() {
        "ask" => words(AgentMessage::Ask),
        "progress" => words(AgentMessage::Progress),
        "result" => words(AgentMessage::Result),
        "delegate" if call.arguments.is_object() => Ok(AgentMessage::Delegate(call.arguments.clone())),
        "delegate" => Err(ToolError::NoObject),
        _ => return None,
    })
}
