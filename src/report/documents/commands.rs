//! What single commands print: one small struct each.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;

use super::fields;
use crate::store::WorkRequest;
use rules::{
    domain::{DeadLetter, RequestStatus, RunId},
    mission::{DiagnosticRow, model::TaskType},
};

/// What is wrong with mission files: `quorum validate`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.validate/v1")]
pub struct ValidateDocument<'a> {
    /// Whether every file can be used.
    pub valid: bool,
    /// The files, in the order in which they were named.
    pub files: Vec<ValidatedFile<'a>>,
}

/// The result for one mission file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidatedFile<'a> {
    /// The file, as it was named.
    pub file: String,
    /// Whether the file can be used.
    pub valid: bool,
    /// The errors and warnings of the file.
    pub diagnostics: Vec<DiagnosticRow<'a>>,
    /// How many diagnostics there are beyond these.
    pub more: usize,
    /// Files that no task may change unless it names them.
    pub protected: &'a [ProtectedFile],
    /// Problems that are known before a run: what will not work.
    pub warnings: &'a [String],
    /// How many tasks the mission has.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub tasks: usize,
    /// A command that judges by what other files say.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub unseen: Option<&'a str>,
}

/// A file that no task may change unless it names it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProtectedFile {
    /// The path of the file.
    pub path: String,
    /// The command that names it, which judges or serves the run.
    pub command: String,
}

/// Why a command refused, or could not do its work.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.error/v1")]
pub struct ErrorDocument<'a> {
    /// The outcome that gives the exit code.
    #[schemars(with = "fields::OutcomeShape")]
    pub outcome: &'static str,
    /// The exit code of the process.
    pub exit_code: u8,
    /// Why, in one line.
    pub message: String,
    /// A command or a change that helps; left out where none is known.
    #[serialize_always]
    pub help: Option<&'a str>,
    /// Lines that show what it is about.
    pub details: Option<&'a str>,
    /// The errors of the mission, where the mission is what is wrong.
    pub diagnostics: Option<Vec<DiagnosticRow<'a>>>,
    /// The document of the run, as far as it was durable: `quorum.run/v1`.
    pub run: Option<&'a Value>,
}

/// What a command from outside a run came to: `approve`, `reject`, `answer`, `cancel`, `pause`, `gate --override`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.command/v1")]
pub struct CommandDocument<'a> {
    /// The id of the run.
    pub run_id: &'a RunId,
    /// `applied`, `already-so`, `unknown`, `decided-otherwise`, `too-early` or `queued`.
    pub result: &'static str,
    /// The exit code of the process.
    pub exit_code: u8,
}

/// Where a server shows runs: `quorum serve`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.serve/v1")]
pub struct ServeDocument<'a> {
    /// The address of the server.
    pub address: &'a str,
    /// The address that lets a browser in; with a token of a file, that token is still to be added to it.
    pub url: &'a str,
    /// The number of the server's process, which SIGINT ends.
    pub process: u32,
}

/// What an agent told its run: that it was recorded.
#[derive(Serialize, JsonSchema)]
pub struct RecordedDocument {
    /// The name and version of the document.
    pub schema: &'static str,
    /// Always true: what cannot be recorded is refused.
    pub recorded: bool,
}

/// The outputs of an agent, turn by turn: `quorum logs`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.logs/v1")]
pub struct LogsDocument<'a> {
    /// The id of the run.
    pub run_id: &'a RunId,
    /// The task's title, as it was asked for.
    pub task: &'a str,
    /// `stdout`, `stderr` or `tools`.
    pub stream: &'static str,
    /// The turns, the oldest first.
    pub turns: Vec<LogsTurn>,
}

/// The output of one turn.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogsTurn {
    /// The attempt, from 1.
    pub attempt: u32,
    /// The turn of the attempt, from 1.
    pub turn: u32,
    /// Whether the turn is over.
    pub ended: bool,
    /// The length of what was said, in bytes.
    pub bytes: usize,
    /// The output. What is not UTF-8 is replaced.
    pub text: String,
}

/// The settings that a run would have: `quorum config show`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.config/v1")]
pub struct ConfigDocument<'a> {
    /// The settings, in the order of the pages.
    pub settings: Vec<ConfigSetting<'a>>,
    /// The files that they come from.
    pub files: ConfigFiles,
    /// Whether people are told where each setting comes from.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub with_origin: bool,
}

/// One setting, and the layer that decided it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigSetting<'a> {
    /// The key of the setting, dotted.
    pub name: &'a str,
    /// The value as a file would spell it; `null` where nothing is set.
    pub value: &'a Value,
    /// The value as people are told it.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub shown: String,
    /// The layer that decided it: `flag`, `environment`, `mission`, `project`, `user` or `default`.
    pub origin: &'static str,
    /// The flag, the variable or the file.
    pub source: Option<&'a str>,
}

/// Files with settings; `null` where there is none.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigFiles {
    /// The path of the mission's file.
    pub mission: Option<String>,
    /// The path of the project's `quorum.yaml`.
    pub project: Option<String>,
    /// The path of the user's file.
    pub user: Option<String>,
}

/// The files that `quorum init` wrote.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.init/v1")]
pub struct InitDocument<'a> {
    /// The path of the folder.
    pub folder: String,
    /// The files, below the folder.
    pub files: Vec<&'a str>,
    /// The lines that `.gitignore` got.
    pub ignored: Vec<&'a str>,
}

/// The runs that `quorum clean` removed and left.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.clean/v1")]
pub struct CleanDocument<'a> {
    /// The runs that were removed.
    pub removed: Vec<CleanedRun<'a>>,
    /// The runs that were left.
    pub kept: Vec<CleanedRun<'a>>,
}

/// A run that was removed or left.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CleanedRun<'a> {
    /// The id of the run.
    pub run_id: &'a RunId,
    /// The state of the run, or `unreadable`.
    pub state: &'a str,
    /// The outcome of the last session; left out where none ended.
    #[schemars(with = "Option<fields::OutcomeShape>")]
    pub outcome: Option<&'a str>,
}

/// Dead letters: `quorum dlq`.
#[skip_serializing_none]
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.dlq/v1")]
pub struct DeadLettersDocument<'a> {
    /// The letters, the oldest first; in a list only.
    pub letters: Option<&'a [DeadLetter]>,
    /// The one that was asked for.
    pub letter: Option<&'a DeadLetter>,
}

/// Requests for work: `quorum request`.
#[skip_serializing_none]
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.request/v1")]
pub struct IntakeDocument<'a> {
    /// The requests, the oldest first; in a list only.
    pub requests: Option<Vec<IntakeRow<'a>>>,
    /// The one that was asked for.
    pub request: Option<IntakeRow<'a>>,
}

/// One request for work.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntakeRow<'a> {
    /// The id of the request: `req-7`.
    pub id: String,
    /// The state of the request.
    pub status: RequestStatus,
    /// The title of the task that is asked for.
    pub title: &'a str,
    /// The work that is asked for.
    pub description: Option<&'a str>,
    /// The agent that is to do it.
    pub assign_to: Option<&'a str>,
    /// The type of the task.
    #[serde(rename = "type")]
    pub kind: TaskType,
    /// The titles of what it depends on.
    pub depends_on: &'a [String],
    /// The files that it is to make.
    pub target_files: &'a [String],
    /// The run that has its task, or is to have it.
    pub run_id: Option<&'a RunId>,
    /// The title of the request's task, once there is one.
    pub task: Option<&'a str>,
    /// Why the request was refused or called off.
    pub rejection_reason: Option<&'a str>,
    /// Every status it had, the oldest first.
    pub history: Vec<IntakeStep<'a>>,
}

impl<'a> IntakeRow<'a> {
    /// The row of a request.
    pub fn of(request: &'a WorkRequest) -> Self {
        let created = request.status == RequestStatus::TaskCreated;
        let cancelled = request.status == RequestStatus::Cancelled;
        let steps = request.history.iter().map(|step| IntakeStep {
            status: step.status,
            at: step.at.to_rfc3339(),
            by: &step.by,
            reason: step.reason.as_deref(),
        });
        let task = &request.task;
        Self {
            id: request.id(),
            status: request.status,
            title: &task.title,
            description: task.description.as_deref(),
            assign_to: task.assign_to.as_deref(),
            kind: task.kind,
            depends_on: &task.depends_on,
            target_files: &task.target_files,
            run_id: request.run.as_ref(),
            task: created.then_some(&*task.title),
            rejection_reason: request.reason().filter(|_| cancelled),
            history: steps.collect(),
        }
    }
}

/// A step that a request took.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntakeStep<'a> {
    /// The status that it came to.
    pub status: RequestStatus,
    /// The moment of the step.
    #[schemars(with = "fields::MomentShape")]
    pub at: String,
    /// The person or the agent that took the step, or quorum.
    pub by: &'a str,
    /// Why, where that was said.
    pub reason: Option<&'a str>,
}

/// What became of a damaged journal: `quorum doctor state --keep-good-prefix`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.salvage/v1")]
pub struct SalvageDocument<'a> {
    /// The id of the run.
    pub run_id: &'a RunId,
    /// Whether anything was changed; what follows is `null` where not.
    pub changed: bool,
    /// The first line that was not kept, from 1.
    pub line: Option<u64>,
    /// How many bytes were moved away.
    pub lost_bytes: Option<u64>,
    /// How many records these were.
    pub lost_records: Option<u64>,
    /// The file that they were moved to.
    pub file: Option<PathBuf>,
}

/// What words of quorum mean: `quorum explain`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.explain/v1")]
pub struct ExplainDocument {
    /// The diagnostic codes.
    pub codes: Vec<ExplainedCode>,
    /// The words and flags.
    pub words: Vec<ExplainedWord>,
}

/// The meaning of a diagnostic code.
#[derive(Serialize, JsonSchema)]
pub struct ExplainedCode {
    /// The code, such as `Q0101`.
    pub code: &'static str,
    /// The meaning in a few words.
    pub summary: &'static str,
    /// The meaning, and what to do about it.
    pub explanation: &'static str,
}

/// A word or a flag.
#[derive(Serialize, JsonSchema)]
pub struct ExplainedWord {
    /// The word, under its first name.
    pub word: String,
    /// The meaning, and what to do about it.
    pub explanation: String,
}

/// The script that a shell reads once: `quorum completions`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.completions/v1")]
pub struct CompletionsDocument<'a> {
    /// The name of the shell.
    pub shell: &'static str,
    /// The text of the script.
    pub script: &'a str,
}

/// One key of a file: `quorum schema mission KEY`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.schema/v1")]
pub struct KeyDocument<'a> {
    /// The place of the key: its dotted path.
    pub field: &'a str,
    /// The meaning of the key, with the default in square brackets.
    pub description: &'a str,
    /// The kind of value that the key takes.
    pub takes: &'a str,
    /// How a value is written, where that is not plain.
    pub how: Option<&'a str>,
    /// The words it takes, if there is a list of them.
    pub words: &'a [&'static str],
    /// Whether the map around it is incomplete without it.
    pub required: bool,
    /// What of the key's meaning is not built yet.
    pub not_built: Option<&'a str>,
    /// The keys below it.
    pub keys: Vec<KeyBelow<'a>>,
    /// The JSON Schema of the value.
    pub json_schema: &'a Value,
}

/// A key below another.
#[derive(Serialize, JsonSchema)]
pub struct KeyBelow<'a> {
    /// The name of the key.
    pub name: &'a str,
    /// The meaning of the key.
    pub description: &'a str,
}
