//! What a verdict was read from: stored beside every reply, so that the verdict can be derived again later, when the
//! work itself may have moved on.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::agents::model::{ModelReply, ModelRequest};
use rules::domain::{Digest, Timestamp};
use rules::engine::FileRef;
use rules::judging::parser::Quoted;

/// The name and version of the document.
pub const SCHEMA: &str = "quorum.judgement/v1";

/// One call to a judge: all that its verdict rests on beside the reply itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Judgement {
    /// The schema of the file, [`SCHEMA`].
    pub schema: String,
    /// The moment of the question, in UTC.
    pub asked_at: String,
    /// The prompt, word for word: the `.request` file beside this one.
    pub prompt: Content,
    /// The inputs that the prompt was made of.
    pub inputs: Inputs,
    /// The parameters of the model; `None` for other agents.
    pub parameters: Option<Parameters>,
    /// Why the reply ended, in the provider's word.
    pub finish_reason: Option<String>,
    /// Whether the reply ended because it ran into its limit, so that it says nothing.
    #[serde(default)]
    pub cut_short: bool,
    /// Verdicts that stand in the work itself; a reply that repeats one is none.
    pub work: Quoted,
}

/// A text, by length and digest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Content {
    /// The length in bytes.
    pub bytes: u64,
    /// The digest of the bytes.
    pub digest: Digest,
}

impl Content {
    /// Describes a text in memory.
    pub fn of(text: &str) -> Self {
        Self { bytes: text.len() as u64, digest: Digest::of(text.as_bytes()) }
    }
}

impl From<&FileRef> for Content {
    fn from(file: &FileRef) -> Self {
        Self { bytes: file.length, digest: file.digest }
    }
}

/// The parts of the work that a reviewer was shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inputs {
    /// The outputs of each task whose work is judged.
    pub outputs: Vec<InputOutput>,
    /// The files in question.
    pub files: Vec<InputFile>,
    /// The results of the declared checks.
    pub checks: Vec<InputCheck>,
    /// Findings of the review before.
    pub prior_findings: usize,
}

/// The output of the worker of a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputOutput {
    /// The title of the task.
    pub task: String,
    /// The standard output; `None` where there is none.
    pub output: Option<Content>,
    /// The result file; `None` where the worker wrote none.
    pub result: Option<Content>,
}

/// A file, as the runtime saw it when the judging began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputFile {
    /// The path of the file in the workspace.
    pub path: String,
    /// The size in bytes; `None` where there was no such file.
    pub bytes: Option<u64>,
    /// The digest of the bytes; `None` where they were not read.
    pub digest: Option<Digest>,
    /// Whether any of its content was shown.
    pub shown: bool,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InputCheck {
    /// Whether the check passed.
    pub passed: bool,
    /// The output of the check.
    pub output: Content,
}

/// The parameters that a model was asked with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// The model that was asked for; the one that answered stands in the journal.
    pub model: String,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<Decimal>,
    /// Tokens that the reply might have; `None` leaves it to the provider.
    pub max_tokens: Option<u32>,
    /// Whether the provider held the reply to a schema.
    pub schema: bool,
}

impl Judgement {
    /// The judgement before its reply has come.
    pub fn asked(prompt: &str, inputs: Inputs, work: Quoted, now: Timestamp) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            asked_at: now.to_rfc3339(),
            prompt: Content::of(prompt),
            inputs,
            parameters: None,
            finish_reason: None,
            cut_short: false,
            work,
        }
    }

    /// With the reply of a model.
    #[must_use]
    pub fn answered(mut self, model: &str, request: &ModelRequest, reply: &ModelReply) -> Self {
        self.parameters = Some(Parameters {
            model: model.to_owned(),
            temperature: request.temperature,
            max_tokens: request.max_tokens,
            schema: request.schema.is_some(),
        });
        self.finish_reason.clone_from(&reply.finish_reason);
        self.cut_short = reply.is_cut_short();
        self
    }
}
