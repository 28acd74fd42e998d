//! What events carry: how a run started, how a process ended, what a reviewer said, what a stage decided.
//!
//! Like the events themselves they stand in the journal: fields are only ever added, with a default.

use serde::{Deserialize, Serialize};
use serde_with::{apply, skip_serializing_none};

use crate::domain::{
    AgentId, Cause, CriterionGrade, Digest, DimensionScore, FailureClass, Finding, Millis, Money, Points,
    RunId, Stage, StageKey, StageReply, TaskId, Timestamp, Verdict,
};
use crate::engine::quality_flag::Mark;
use crate::judging::tests_changed::TouchedTests;
use crate::plan::RunOptions;

/// The part of a damaged journal that was kept, and the part that was not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Salvaged {
    /// By whom, as recorded.
    pub by: String,
    /// The line at which the damage began, counted from 1.
    pub line: u64,
    /// The bytes that were moved aside.
    pub lost_bytes: u64,
    /// The lines among those bytes, readable or not.
    pub lost_records: u64,
    /// The name of the file, beside the journal, that holds those bytes now.
    pub file: String,
}

/// The start of a run.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// The version of the program.
    pub version: String,
    /// The event format, [`super::FORMAT`].
    pub format: u32,
    /// Digest of the frozen mission.
    pub mission_digest: Digest,
    /// Where the mission came from; `None` for standard input.
    pub mission_path: Option<std::path::PathBuf>,
    /// Resolved flags and environment.
    pub options: RunOptions,
    /// The number of the rules by which the session decides, [`super::RULES`].
    pub rules: u32,
    /// The id of the run.
    pub run_id: RunId,
    /// The process that holds this session's children.
    pub supervisor: SupervisorRef,
    /// The code of the key that vouches for the start; `None` where there was no key.
    pub origin: Option<OriginCode>,
}

/// The word of an operator's key for a record (semantics, section 22): a run that somebody else put into the state folder has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OriginCode {
    /// The key's fingerprint, which tells nothing of the key.
    pub key: String,
    /// The key's code of what the record says.
    pub code: String,
}

/// The supervisor of a session, as it can be recognised after a crash: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SupervisorRef {
    /// The process id.
    pub pid: u32,
    /// Start time in clock ticks since boot.
    pub start_time: u64,
    /// The boot in which the two mean something.
    pub boot_id: String,
    /// The digest of the last word that it will put on record if it ends in order, with nothing of the run left.
    pub farewell: Option<String>,
}

worded! {
    /// Why a session stops before its work is done.
    pub enum StopCause {
        /// A signal SIGINT stopped the session.
        Interrupted = "interrupted",
        /// SIGTERM, or a terminal that was closed (SIGHUP).
        Terminated = "terminated",
        /// The time of `--timeout` was reached.
        TimeLimit = "time limit",
    }
}

/// A process as it can be recognised later: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessRef {
    /// Process id, and process group id.
    pub pid: u32,
    /// Start time in clock ticks since boot; 0 for a process that was gone before anybody looked.
    pub start_time: u64,
}

/// How a turn ended.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Exit code, where the process exited.
    pub code: Option<i32>,
    /// Signal, where one ended it.
    pub signal: Option<i32>,
    /// The class of the failure; `None` if the agent finished.
    pub failure: Option<FailureClass>,
    /// The failure in words.
    pub message: Option<String>,
    /// How long whoever failed asks to be left alone, where that was told.
    pub retry_after: Option<Millis>,
}

impl Exit {
    /// The end of a turn that came to nothing.
    pub fn failed(class: FailureClass, message: impl Into<String>) -> Self {
        Self { failure: Some(class), message: Some(message.into()), ..Self::default() }
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
    pub message: String,
    /// The stage behind which a task that waits for a slot goes on; `None`: with whoever is asked already.
    pub stage: Option<StageKey>,
}

/// The reason why a task waits without a slot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeferralReason {
    /// A limit of a subscription that resets (section 13).
    Window,
    /// The pause between two attempts (section 4).
    BackOff,
    /// The judging of the task goes on once a slot is free (section 5).
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
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// The tokens that were read.
    pub input_tokens: Option<u64>,
    /// The tokens that were written.
    pub output_tokens: Option<u64>,
    /// The cost: by the price table when it was decided, else as the agent said.
    pub cost: Option<Money>,
}

/// The session of an agent's program, in which its next turn goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRef {
    /// The id that the program gave the session.
    pub id: Box<str>,
    /// The usage that the program has counted in the session so far, of what it counts from the session's
    /// beginning.
    pub counted: Usage,
}

impl Usage {
    /// What is known and nothing.
    pub const ZERO: Self = Self { input_tokens: Some(0), output_tokens: Some(0), cost: Some(Money::ZERO) };

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
        Artifacts = "artifacts",
        /// Enough of its other dependencies are done.
        Partial = "partial",
        /// Nothing of it is taken: the task does itself what is needed.
        Absorb = "absorb",
        /// The dependency is tried again.
        Retry = "retry",
    }
}

/// The possible question that a turn ended with.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The agent's words, cut to a bounded length.
    pub text: String,
    /// Whether the text only looks like a question; else the agent asked in so many words.
    pub detected: bool,
    /// For a tool call that needs a person's word: its digest.
    pub call: Option<Box<Digest>>,
}

/// A file in the spool that a record vouches for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileRef {
    /// The length in bytes.
    pub length: u64,
    /// The digest of the bytes.
    pub digest: Digest,
}

/// One file that the task's rules name, as the runtime saw it.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FileFact {
    /// The path of the file, relative to the workspace.
    pub path: String,
    /// The size in bytes; `None` if there is no such regular file.
    pub size: Option<u64>,
    /// Where there is no such regular file, but something stands there all the same: why it cannot be looked at.
    pub obstacle: Option<Box<str>>,
    /// The digest of the bytes; `None` where they could not be read.
    pub digest: Option<Digest>,
    /// The name of what git stores of it, in a worktree; `None` where git was not asked or cannot tell.
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
#[serde(rename_all = "camelCase")]
pub struct TurnFiles {
    /// The changes of protected files, one sentence each.
    pub protected: Vec<String>,
    /// Watched files whose content is another one now, that appeared or vanished; `None` where it is not known.
    pub changed: Option<u32>,
    /// The watched files that count as changed, and those that were written anew with the bytes that they held;
    /// `None` where it is not known.
    pub written: Option<u32>,
    /// Whether another turn overlapped: then it is not known who did it.
    pub overlapped: bool,
    /// Why there was nothing to do, as the worker says.
    pub nothing_to_do: Option<Box<str>>,
    /// For a task in a worktree: what was committed.
    pub commit: Option<Box<Commit>>,
    /// Tests that differ from what the task began with.
    pub tests: Option<Box<TouchedTests>>,
}

/// The files that judge, each with the digest of its content.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ProtectedFiles {
    /// The programs and scripts, as they are.
    pub files: Vec<(String, Option<Digest>)>,
    /// The files that programs of judges load by themselves, as they were when the run began.
    pub loaded: Vec<(String, Option<Digest>)>,
}

/// A commit of the work of an isolated task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    /// The name of the commit in git.
    pub id: Box<str>,
    /// Files that differ from what the task began with.
    pub files: u32,
    /// Lines that were added to them.
    pub insertions: u32,
    /// Lines that were taken from them.
    pub deletions: u32,
    /// The first of the files, as git names them.
    pub paths: Vec<Box<str>>,
    /// The first of the files that the task wrote and that git ignores: they are not in the commit.
    pub left_out: Vec<String>,
    /// The first of the files that it removes and that other accepted work of the run had written.
    pub removed: Vec<String>,
    /// The commit that this one lies on: the one that the task began with, or that was merged into its folder
    /// since.
    pub onto: Box<str>,
}

/// The tool calls of a turn in an adapter's ledger: evidence, because the adapter itself saw the calls. Agents
/// whose adapter sees none of them have no ledger, which is unknown and not zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolCalls {
    /// Calls of every kind.
    pub calls: u32,
    /// The calls that wrote a file.
    pub writes: u32,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Whether the check passed.
    pub passed: bool,
    /// In words, with the end of the output.
    pub message: String,
    /// The time that the check took.
    pub duration: Millis,
    /// How often the check had failed just before, and ran again for that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reruns: u32,
}

impl CheckResult {
    /// The result of a check that ran once.
    pub fn new(passed: bool, message: impl Into<String>, duration: Millis) -> Self {
        Self { passed, message: message.into(), duration, reruns: 0 }
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
    /// The model as the provider returned it.
    pub model: Option<String>,
    /// The usage of the call.
    pub usage: Usage,
    /// The file with the reply's text.
    pub reply: FileRef,
    /// The tool calls of the agent, where it was given tools and its provider took them.
    pub tools: Option<Box<ToolLedgerRef>>,
    /// The grounds of the verdict beside the reply: prompt, inputs, parameters. `None` in older journals, and
    /// where no verdict was asked for.
    pub judgement: Option<Box<FileRef>>,
}

/// The counts of a model's tool calls: every call is on record in the spool.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolLedgerRef {
    /// Calls that it asked for.
    pub calls: u32,
    /// The calls that were refused or failed.
    pub failed: u32,
    /// The requests to the provider that were answered.
    pub requests: u32,
    /// Requests that were made in vain: refused, or without an answer.
    pub unanswered: u32,
    /// Whether a reply of it lacked its form and it was asked once more in the same conversation. What it said first
    /// stands in the record.
    pub asked_again: bool,
    /// The record, one line a call; `None` if there was no call.
    pub ledger: Option<FileRef>,
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
    pub usage: Usage,
    /// The tool calls until the failure.
    pub tools: ToolLedgerRef,
}

/// The verdict of one stage on one attempt.
#[skip_serializing_none]
#[apply(Vec => #[serde(default, skip_serializing_if = "is_default")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageReport {
    pub task: TaskId,
    pub attempt: u32,
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<String>,
    pub verdict: Verdict,
    pub cause: Option<Cause>,
    /// The points, where there are any.
    pub points: Option<Points>,
    /// For the outcome stage: what the agent failed with.
    pub failure: Option<FailureClass>,
    /// The name of the person who decided; `None` where no person did.
    pub by: Option<String>,
    /// For one of the mission's own stages: why, in its words.
    pub reason: Option<String>,
    /// The model of the judge, as the provider returned it. Of a panel the seats have it.
    pub model: Option<String>,
    /// How sure the stage is of its verdict, a share from 0 to 1 as points; `None` where it does not say.
    pub confidence: Option<Points>,
    /// The findings of the stage.
    pub findings: Vec<Finding>,
    /// The consensus per dimension.
    pub dimensions: Vec<DimensionScore>,
    /// Seats and dimensions (by position) whose score was an outlier.
    pub outliers: Vec<(u32, u32)>,
    /// For the verification stage: one for each criterion, in their order.
    pub grades: Vec<CriterionGrade>,
    /// The mark that the stage leaves on the work, beside what its verdict and cause say.
    pub mark: Option<Mark>,
    /// For a further stage: the agent that was asked last. `None` where none was, and in older journals.
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
#[serde(rename_all = "camelCase")]
pub struct GateResult {
    /// Whether the gate passed.
    pub passed: bool,
    /// The mean score of the gate's tasks, where there are scores.
    pub avg_score: Option<Points>,
    /// Why the gate failed, or what should be known about the pass.
    pub reason: Option<String>,
}
