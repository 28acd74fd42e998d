//! What events carry: how a run started, how a process ended, what a reviewer said, what a stage decided.
//!
//! Like the events themselves they stand in the journal: fields are only ever added, with a default.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::{
    AgentId, Cause, CriterionGrade, Digest, DimensionScore, FailureClass, Finding, Millis, Money, Points,
    RunId, Stage, StageKey, StageReply, TaskId, Timestamp, Verdict,
};
use crate::engine::quality_flag::Mark;
use crate::judging::tests_changed::TouchedTests;
use crate::plan::RunOptions;

/// The part of a damaged journal that was kept, and the part that was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Salvaged {
    /// By whom, as recorded.
    pub by: String,
    /// The line at which the damage began, counted from 1.
    pub line: u64,
    /// The bytes that were moved aside.
    pub bytes: u64,
    /// The lines among those bytes, readable or not.
    pub records: u64,
    /// The name of the file, beside the journal, that holds those bytes now.
    pub file: String,
}

/// The start of a run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// The event format, [`super::FORMAT`].
    pub format: u32,
    /// The number of the rules by which the session decides, [`super::RULES`].
    pub rules: u32,
    /// The version of the program.
    pub version: String,
    /// The id of the run.
    pub run_id: RunId,
    /// Digest of the frozen mission.
    pub mission_digest: Digest,
    /// Where the mission came from; `None` for standard input.
    pub mission_path: Option<std::path::PathBuf>,
    /// Resolved flags and environment.
    pub options: RunOptions,
    /// The process that holds this session's children.
    pub supervisor: SupervisorRef,
    /// The code of the key that vouches for the start; `None` where there was no key.
    pub origin: Option<OriginCode>,
}

/// The word of an operator's key for a record (semantics, section 22): a run that somebody else put into the state folder has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OriginCode {
    /// The key's fingerprint, which tells nothing of the key.
    #[serde(rename = "f")]
    pub key: String,
    /// The key's code of what the record says.
    #[serde(rename = "c")]
    pub code: String,
}

/// The supervisor of a session, as it can be recognised after a crash: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SupervisorRef {
    /// The process id.
    #[serde(rename = "p")]
    pub pid: u32,
    /// Start time in clock ticks since boot.
    #[serde(rename = "s")]
    pub start_time: u64,
    /// The boot in which the two mean something.
    #[serde(rename = "b")]
    pub boot_id: String,
    /// The digest of the last word that it will put on record if it ends in order, with nothing of the run left.
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    pub farewell: Option<String>,
}

/// Why a session stops before its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A signal SIGINT stopped the session.
    Interrupted,
    /// SIGTERM, or a terminal that was closed (SIGHUP).
    Terminated,
    /// The time of `--timeout` was reached.
    TimeLimit,
}

/// A process as it can be recognised later: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProcessRef {
    /// Process id, and process group id.
    #[serde(rename = "p")]
    pub pid: u32,
    /// Start time in clock ticks since boot; 0 for a process that was gone before anybody looked.
    #[serde(rename = "s", default, skip_serializing_if = "is_default")]
    pub start_time: u64,
}

/// How a turn ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, where the process exited.
    #[serde(rename = "c")]
    pub code: Option<i32>,
    /// Signal, where one ended it.
    #[serde(rename = "s")]
    pub signal: Option<i32>,
    /// The class of the failure; `None` if the agent finished.
    #[serde(rename = "f")]
    pub failure: Option<FailureClass>,
    /// The failure in words.
    #[serde(rename = "m")]
    pub message: Option<String>,
    /// How long whoever failed asks to be left alone, where that was told.
    #[serde(rename = "w")]
    pub retry_after: Option<Millis>,
}

impl Exit {
    /// The end of a turn that came to nothing.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self {
            failure: Some(class),
            message: Some(message.into()),
            ..Self::default()
        }
    }
}

/// A task waits for a moment or for a slot, and holds none.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deferral {
    /// Why the task waits.
    pub why: DeferralReason,
    /// The moment that the task waits for.
    pub until: Timestamp,
    /// Since when the moment is waited for, in this session.
    pub since: Timestamp,
    /// The reason of the wait in words.
    #[serde(default, skip_serializing_if = "is_default")]
    pub message: String,
    /// The stage behind which a task that waits for a slot goes on; `None`: with whoever is asked already.
    pub stage: Option<StageKey>,
}

/// The reason why a task waits without a slot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum DeferralReason {
    /// A limit of a subscription that resets (section 13).
    #[serde(rename = "w")]
    Window,
    /// The pause between two attempts (section 4).
    #[serde(rename = "b")]
    BackOff,
    /// The judging of the task goes on once a slot is free (section 5).
    #[serde(rename = "s")]
    Slot,
}

impl Exit {
    /// An exit as it should be.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// The usage of a turn or call. `None` is unknown, never free.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// The tokens that were read.
    #[serde(rename = "i")]
    pub input_tokens: Option<u64>,
    /// The tokens that were written.
    #[serde(rename = "o")]
    pub output_tokens: Option<u64>,
    /// The cost: by the price table when it was decided, else as the agent said.
    #[serde(rename = "c")]
    pub cost: Option<Money>,
}

/// The session of an agent's program, in which its next turn goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRef {
    /// The id that the program gave the session.
    pub id: Box<str>,
    /// The usage that the program has counted in the session so far, of what it counts from the session's
    /// beginning.
    #[serde(rename = "u", default, skip_serializing_if = "is_default")]
    pub counted: Usage,
}

impl Usage {
    /// What is known and nothing.
    pub const ZERO: Self = Self {
        input_tokens: Some(0),
        output_tokens: Some(0),
        cost: Some(Money::ZERO),
    };

    /// Whether nothing is known.
    pub fn is_none(&self) -> bool {
        self.input_tokens.is_none() && self.output_tokens.is_none() && self.cost.is_none()
    }

    /// The usage since `before`, for the values that both count from the same beginning; the rest as it is.
    #[must_use]
    pub(crate) fn since(self, counted: Self, before: Self) -> Self {
        let tokens = |told: Option<u64>, now: Option<u64>, before: Option<u64>| match (now, before) {
            (Some(now), Some(before)) => Some(now.saturating_sub(before)),
            _ => told,
        };
        let told = counted.cost.zip(before.cost);
        Self {
            input_tokens: tokens(self.input_tokens, counted.input_tokens, before.input_tokens),
            output_tokens: tokens(self.output_tokens, counted.output_tokens, before.output_tokens),
            cost: told.map_or(self.cost, |(now, before)| Some(now.minus(before))),
        }
    }
}

/// A total to which a part is added where it is known. A total to which nothing known was added stays unknown.
pub fn add_known(total: &mut Option<u64>, part: Option<u64>) {
    *total = part.map_or(*total, |part| Some(total.unwrap_or(0).saturating_add(part)));
}

worded! {
    /// The way around a dependency that failed.
    pub enum Way {
        /// Enough of the files that it declared are there.
        Artifacts = "artifacts" as "a",
        /// Enough of its other dependencies are done.
        Partial = "partial" as "p",
        /// Nothing of it is taken: the task does itself what is needed.
        Absorb = "absorb" as "b",
        /// The dependency is tried again.
        Retry = "retry" as "r",
    }
}

/// The possible question that a turn ended with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The agent's words, cut to a bounded length.
    #[serde(rename = "t")]
    pub text: String,
    /// Whether the text only looks like a question; else the agent asked in so many words.
    #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
    pub detected: bool,
    /// For a tool call that needs a person's word: its digest.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Digest>>,
}

/// A file in the spool that a record vouches for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRef {
    /// The length in bytes.
    #[serde(rename = "n")]
    pub len: u64,
    /// The digest of the bytes.
    #[serde(rename = "d")]
    pub digest: Digest,
}

/// One file that the task's rules name, as the runtime saw it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileFact {
    /// The path of the file, relative to the workspace.
    #[serde(rename = "p")]
    pub path: String,
    /// The size in bytes; `None` if there is no such regular file.
    #[serde(rename = "n")]
    pub size: Option<u64>,
    /// The digest of the bytes; `None` where they could not be read.
    #[serde(rename = "d")]
    pub digest: Option<Digest>,
    /// Where there is no such regular file, but something stands there all the same: why it cannot be looked at.
    #[serde(rename = "o")]
    pub obstacle: Option<Box<str>>,
    /// The name of what git stores of it, in a worktree; `None` where git was not asked or cannot tell.
    #[serde(rename = "g")]
    pub stored: Option<Box<str>>,
}

impl FileFact {
    /// Whether the file is there, with something in it.
    pub fn has_content(&self) -> bool {
        self.size.is_some_and(|size| size > 0)
    }
}

/// The changes of a turn to the files that its task's rules name or that are protected from it, as the runtime
/// saw them before and after.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TurnFiles {
    /// The changes of protected files, one sentence each.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// Watched files whose content is another one now, that appeared or vanished; `None` where it is not known.
    #[serde(rename = "c")]
    pub changed: Option<u32>,
    /// The watched files that count as changed, and those that were written anew with the bytes that they held;
    /// `None` where it is not known.
    #[serde(rename = "w")]
    pub written: Option<u32>,
    /// Whether another turn overlapped: then it is not known who did it.
    #[serde(rename = "s", default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// Why there was nothing to do, as the worker says.
    pub nothing_to_do: Option<Box<str>>,
    /// For a task in a worktree: what was committed.
    #[serde(rename = "k")]
    pub commit: Option<Box<Commit>>,
    /// Tests that differ from what the task began with.
    #[serde(rename = "t")]
    pub tests: Option<Box<TouchedTests>>,
}

/// The files that judge, each with the digest of its content.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProtectedFiles {
    /// The programs and scripts, as they are.
    pub files: Vec<(String, Option<Digest>)>,
    /// The files that programs of judges load by themselves, as they were when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loaded: Vec<(String, Option<Digest>)>,
}

/// A commit of the work of an isolated task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Commit {
    /// The name of the commit in git.
    pub id: Box<str>,
    /// Files that differ from what the task began with.
    #[serde(rename = "n")]
    pub files: u32,
    /// Lines that were added to them.
    #[serde(rename = "a", default, skip_serializing_if = "is_default")]
    pub insertions: u32,
    /// Lines that were taken from them.
    #[serde(rename = "d", default, skip_serializing_if = "is_default")]
    pub deletions: u32,
    /// The first of the files, as git names them.
    #[serde(rename = "p", default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Box<str>>,
    /// The first of the files that the task wrote and that git ignores: they are not in the commit.
    #[serde(rename = "l", default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The first of the files that it removes and that other accepted work of the run had written.
    #[serde(rename = "r", default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// The commit that this one lies on: the one that the task began with, or that was merged into its folder
    /// since.
    #[serde(rename = "o")]
    pub onto: Box<str>,
}

/// The tool calls of a turn in an adapter's ledger: evidence, because the adapter itself saw the calls. Agents
/// whose adapter sees none of them have no ledger, which is unknown and not zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCalls {
    /// Calls of every kind.
    #[serde(rename = "n")]
    pub calls: u32,
    /// The calls that wrote a file.
    #[serde(rename = "w", default)]
    pub writes: u32,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Whether the check passed.
    #[serde(rename = "p")]
    pub passed: bool,
    /// In words, with the end of the output.
    #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The time that the check took.
    #[serde(rename = "d", default)]
    pub duration: Millis,
    /// How often the check had failed just before, and ran again for that.
    #[serde(rename = "r", default, skip_serializing_if = "is_default")]
    pub reruns: u32,
}

impl CheckResult {
    /// The result of a check that ran once.
    pub fn new(passed: bool, message: impl Into<String>, duration: Millis) -> Self {
        Self {
            passed,
            message: message.into(),
            duration,
            reruns: 0,
        }
    }

    /// Whether the check passed only once it was run again.
    pub fn is_flaky(&self) -> bool {
        self.passed && self.reruns > 0
    }
}

/// A raw reply and what is known about it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyRef {
    /// The file with the reply's text.
    #[serde(rename = "f")]
    pub file: FileRef,
    /// The model as the provider returned it.
    #[serde(rename = "m")]
    pub model: Option<String>,
    /// The usage of the call.
    #[serde(rename = "u", default, skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
    /// The grounds of the verdict beside the reply: prompt, inputs, parameters. `None` in older journals, and
    /// where no verdict was asked for.
    #[serde(rename = "j")]
    pub judgement: Option<Box<FileRef>>,
    /// The tool calls of the agent, where it was given tools and its provider took them.
    #[serde(rename = "l")]
    pub tools: Option<Box<ToolLedgerRef>>,
}

/// The counts of a model's tool calls: every call is on record in the spool.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolLedgerRef {
    /// The record, one line a call; `None` if there was no call.
    #[serde(rename = "f", skip_serializing_if = "Option::is_none")]
    pub file: Option<FileRef>,
    /// Calls that it asked for.
    #[serde(rename = "n", default)]
    pub calls: u32,
    /// The calls that were refused or failed.
    #[serde(rename = "x", default)]
    pub failed: u32,
    /// The requests to the provider that were answered.
    #[serde(rename = "q", default)]
    pub requests: u32,
    /// Requests that were made in vain: refused, or without an answer.
    #[serde(rename = "u", default, skip_serializing_if = "is_default")]
    pub unanswered: u32,
    /// Whether a reply of it lacked its form and it was asked once more in the same conversation. What it said first
    /// stands in the record.
    #[serde(rename = "r", default, skip_serializing_if = "std::ops::Not::not")]
    pub asked_again: bool,
}

impl ToolLedgerRef {
    /// Requests beyond the one that every call is.
    pub fn more_requests(&self) -> u32 {
        self.requests.saturating_add(self.unanswered).saturating_sub(1)
    }
}

/// Whether a field says nothing: it is left out of the record.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The usage of a failed call until its failure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Used {
    /// The usage of the requests that were answered.
    #[serde(rename = "u", default, skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
    /// The tool calls until the failure.
    #[serde(rename = "l", default)]
    pub tools: ToolLedgerRef,
}

/// The verdict of one stage on one attempt.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    #[serde(rename = "t")]
    pub task: TaskId,
    #[serde(rename = "a")]
    pub attempt: u32,
    #[serde(rename = "s")]
    pub stage: Stage,
    #[serde(rename = "v")]
    pub verdict: Verdict,
    #[serde(rename = "c")]
    pub cause: Option<Cause>,
    /// The points, where there are any.
    #[serde(rename = "p")]
    pub points: Option<Points>,
    /// The consensus per dimension.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<DimensionScore>,
    /// Seats and dimensions (by position) whose score was an outlier.
    #[serde(rename = "x", default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<(u32, u32)>,
    /// The findings of the stage.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// For the verification stage: one for each criterion, in their order.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<CriterionGrade>,
    /// How sure the stage is of its verdict, a share from 0 to 1 as points; `None` where it does not say.
    #[serde(rename = "k")]
    pub confidence: Option<Points>,
    /// For the outcome stage: what the agent failed with.
    #[serde(rename = "w")]
    pub failure: Option<FailureClass>,
    /// The name of the person who decided; `None` where no person did.
    #[serde(rename = "b")]
    pub by: Option<String>,
    /// The mark that the stage leaves on the work, beside what its verdict and cause say.
    #[serde(rename = "l")]
    pub mark: Option<Mark>,
    /// For one of the mission's own stages: its name.
    #[serde(rename = "n")]
    pub name: Option<String>,
    /// For one of the mission's own stages: why, in its words.
    #[serde(rename = "r")]
    pub reason: Option<String>,
    /// The model of the judge, as the provider returned it. Of a panel the seats have it.
    #[serde(rename = "m")]
    pub model: Option<String>,
    /// For a further stage: the agent that was asked last. `None` where none was, and in older journals.
    #[serde(rename = "j")]
    pub judge: Option<AgentId>,
}

impl StageReport {
    /// Whether judges leave it to a person whether their score holds.
    pub(crate) fn asks_about_score(&self) -> bool {
        (self.stage, self.verdict) == (Stage::Judge, Verdict::Refer)
            && matches!(self.cause, Some(Cause::Person | Cause::Confidence))
    }

    /// A report without points or findings.
    pub fn new(task: TaskId, attempt: u32, stage: Stage, verdict: Verdict, cause: Option<Cause>) -> Self {
        Self {
            task,
            attempt,
            stage,
            verdict,
            cause,
            points: None,
            dimensions: Vec::new(),
            grades: Vec::new(),
            confidence: None,
            outliers: Vec::new(),
            findings: Vec::new(),
            failure: None,
            by: None,
            mark: None,
            name: None,
            reason: None,
            model: None,
            judge: None,
        }
    }

    /// All that it leaves to be known about the work.
    pub(crate) fn marks(&self) -> impl Iterator<Item = Mark> {
        let by_itself = match (self.verdict, self.cause) {
            (Verdict::Skip, Some(Cause::Unmet | Cause::Breaker | Cause::Changed)) => Some(Mark::Unverified),
            (Verdict::Fault, _) if self.stage.reply() == Some(StageReply::Findings) => Some(Mark::Faulted),
            (Verdict::Fail, Some(Cause::Unparsed)) => Some(Mark::Indeterminate),
            (Verdict::Refer, Some(cause)) if cause.is_of_judges() => Some(Mark::Indeterminate),
            _ => None,
        };
        by_itself.into_iter().chain(self.mark)
    }
}

/// The result of a gate.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// Whether the gate passed.
    #[serde(rename = "p")]
    pub passed: bool,
    /// The mean score of the gate's tasks, where there are scores.
    #[serde(rename = "s")]
    pub avg: Option<Points>,
    /// Why the gate failed, or what should be known about the pass.
    #[serde(rename = "r")]
    pub reason: Option<String>,
}
