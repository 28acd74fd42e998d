//! What happened: the events of the journal in their compact, final shape.
//!
//! Codes and short keys keep a record of a trivial task below two hundred bytes; `quorum events` prints full names
//! (see `report::events`). Fields are only ever added, with a default.

use serde::{Deserialize, Serialize};

use crate::domain::{
    AgentId, AttemptKind, Cause, CriterionGrade, Digest, DimensionScore, FailureClass, FailureMode, Finding,
    GateId, Millis, OutcomeClass, Phase, Points, QualityFlag, RunId, Stage, Status, TaskId, Timestamp,
    TurnId, Verdict, WaitingReason,
};
use crate::mission::RunOptions;

use super::command::CommandResult;
use super::mission_change::MissionChange;

/// One thing that happened. State changes only by [`super::apply`]ing these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Event {
    /// `run:started`
    #[serde(rename = "run")]
    RunStarted(Box<RunStarted>),
    /// `run:resumed`: a later session of the same run, with the options that now hold.
    #[serde(rename = "res")]
    RunResumed {
        /// Options after the flags of `resume` were laid over the frozen ones.
        #[serde(rename = "o")]
        options: Box<RunOptions>,
        /// The process that holds this session's children.
        #[serde(rename = "k")]
        keeper: KeeperRef,
    },
    /// The session stops: nothing new is started, running turns are ended.
    #[serde(rename = "stop")]
    Stopping {
        /// Why.
        #[serde(rename = "c")]
        cause: StopCause,
    },
    /// `run:finished`: the last event of each session.
    #[serde(rename = "fin")]
    RunFinished {
        /// The outcome.
        #[serde(rename = "o")]
        outcome: OutcomeClass,
        /// All conditions that hold, the one that weighs most first.
        #[serde(rename = "c")]
        conditions: Vec<OutcomeClass>,
        /// Conditions that hold and were allowed by `--allow`.
        #[serde(rename = "a", default, skip_serializing_if = "Vec::is_empty")]
        allowed: Vec<OutcomeClass>,
    },
    /// `task:transition`
    #[serde(rename = "tr")]
    Transition {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The state it leaves.
        #[serde(rename = "f")]
        from: Status,
        /// The state it enters.
        #[serde(rename = "o")]
        to: Status,
        /// The phase it is in then.
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        phase: Option<Phase>,
        /// For `failed`: how.
        #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
        mode: Option<FailureMode>,
        /// For `done`: how good.
        #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
        flag: Option<QualityFlag>,
        /// Why, where the states do not say it.
        #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A new attempt begins (`task:fix`, `task:retry` for the later ones).
    #[serde(rename = "at")]
    AttemptPlanned {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its number, counted from 1 over the whole run.
        #[serde(rename = "a")]
        attempt: u32,
        /// Its kind.
        #[serde(rename = "k")]
        kind: AttemptKind,
    },
    /// `turn:started`: durable before the process or request exists.
    #[serde(rename = "ts")]
    TurnStarted {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
        /// Digest of the prompt; `None` where the agent gets none.
        #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Digest>,
    },
    /// `agent:spawned`
    #[serde(rename = "sp")]
    AgentSpawned {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
        /// Its process; `None` for an HTTP agent.
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        process: Option<ProcessRef>,
    },
    /// The process or connection could not be made, or a provider refused the request; it is tried again.
    #[serde(rename = "tx")]
    TurnRequestFailed {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
        /// What went wrong, by class.
        #[serde(rename = "c")]
        class: FailureClass,
        /// What went wrong, in words.
        #[serde(rename = "m")]
        message: String,
        /// When it is tried again.
        #[serde(rename = "n")]
        not_before: Timestamp,
    },
    /// `turn:finished`
    #[serde(rename = "tf")]
    TurnFinished {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
        /// How it ended.
        #[serde(rename = "x", default, skip_serializing_if = "Exit::is_clean")]
        exit: Exit,
        /// What it said, if anything.
        #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
        output: Option<FileRef>,
        /// What it wrote to standard error, if anything.
        #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
        stderr: Option<FileRef>,
        /// Its result file, if it wrote one: claims, not evidence.
        #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
        result: Option<FileRef>,
        /// How long it took.
        #[serde(rename = "d", default)]
        duration: Millis,
        /// What it used.
        #[serde(rename = "u", default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
        /// The model as the provider returned it.
        #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The turn was lost to the death or interruption of the runner: no verdict on the agent.
    #[serde(rename = "tl")]
    TurnLost {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
    },
    /// `turn:adopted`: the turn outlived the runner that started it. It still works, or its end is on the keeper's record.
    #[serde(rename = "ta")]
    TurnAdopted {
        /// The turn.
        #[serde(rename = "i", with = "turn_id")]
        turn: TurnId,
    },
    /// The files that the task's rules name are to be looked at.
    #[serde(rename = "sc")]
    ScanRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
    },
    /// What was seen of the files that the task's rules name.
    #[serde(rename = "fs")]
    FilesScanned {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What was seen.
        #[serde(rename = "f")]
        files: Vec<FileFact>,
    },
    /// A check is to be run.
    #[serde(rename = "cq")]
    CheckRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its position among the task's checks.
        #[serde(rename = "n")]
        check: u32,
    },
    /// `check:finished`
    #[serde(rename = "cf")]
    CheckFinished {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its position among the task's checks.
        #[serde(rename = "n")]
        check: u32,
        /// What it showed.
        #[serde(rename = "r")]
        result: CheckResult,
    },
    /// `seat:requested`: a reviewer is to be asked.
    #[serde(rename = "sq")]
    SeatRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which seat, round and try.
        #[serde(rename = "s")]
        seat: SeatId,
        /// Who is asked.
        #[serde(rename = "g")]
        agent: AgentId,
        /// For a strict reprompt: why the reply before could not be read.
        #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
        strict: Option<String>,
        /// Not before this moment (back-off).
        #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// `seat:replied`
    #[serde(rename = "sr")]
    SeatReplied {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which seat, round and try.
        #[serde(rename = "s")]
        seat: SeatId,
        /// The raw reply.
        #[serde(rename = "y")]
        reply: ReplyRef,
        /// What could be read from it.
        #[serde(rename = "r")]
        result: SeatResult,
    },
    /// `seat:failed`: the reviewer could not be asked or did not answer.
    #[serde(rename = "sx")]
    SeatFailed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which seat, round and try.
        #[serde(rename = "s")]
        seat: SeatId,
        /// What went wrong, by class.
        #[serde(rename = "c")]
        class: FailureClass,
        /// What went wrong, in words.
        #[serde(rename = "m")]
        message: String,
    },
    /// `grading:requested`: the task's criteria are to be held against what there is.
    #[serde(rename = "vq")]
    GradingRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The round of this judging, from 1.
        #[serde(rename = "r")]
        round: u32,
        /// Whether the stages before left the work without a review that it would have had.
        #[serde(rename = "u", default, skip_serializing_if = "std::ops::Not::not")]
        unreviewed: bool,
    },
    /// `grading:failed`: the grader itself failed. Its success is the verdict of the stage.
    #[serde(rename = "vx")]
    GradingFailed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The round.
        #[serde(rename = "r")]
        round: u32,
        /// What went wrong.
        #[serde(rename = "m")]
        message: String,
    },
    /// `stage:verdict`
    #[serde(rename = "sv")]
    StageVerdict(Box<StageReport>),
    /// `task.eval.unparsed`
    #[serde(rename = "eu")]
    EvalUnparsed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
    },
    /// `task.forceAccept`: accepted below the bar, after all attempts.
    #[serde(rename = "fa")]
    ForceAccepted {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The last score; `None` if it could not be read.
        #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
        points: Option<Points>,
        /// What the operator is told.
        #[serde(rename = "m")]
        message: String,
    },
    /// `approval:requested`: the task waits for a person.
    #[serde(rename = "aq")]
    ApprovalRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its number within the task; the id is made of it.
        #[serde(rename = "n")]
        number: u32,
        /// Why.
        #[serde(rename = "w")]
        reason: WaitingReason,
        /// For a refer: its cause.
        #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
        cause: Option<Cause>,
        /// For a refer: the stage that a person decides instead of; `None` is the judge.
        #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
        stage: Option<Stage>,
        /// What the person is told.
        #[serde(rename = "m")]
        message: String,
    },
    /// `approval:resolved`
    #[serde(rename = "ar")]
    ApprovalResolved {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which approval, by its number within the task.
        #[serde(rename = "n")]
        number: u32,
        /// How.
        #[serde(rename = "r")]
        resolution: String,
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
    },
    /// `deadlock:unresolvable`: a dependency failed for good and nothing can stand in for it.
    #[serde(rename = "du")]
    DependencyFailed {
        /// The task that cannot start.
        #[serde(rename = "t")]
        task: TaskId,
        /// What it needed.
        #[serde(rename = "d")]
        dependency: TaskId,
    },
    /// `quality:gate:passed`, `quality:gate:failed`
    #[serde(rename = "g")]
    GateEvaluated {
        /// The gate.
        #[serde(rename = "g")]
        gate: GateId,
        /// What came out.
        #[serde(rename = "r")]
        result: GateResult,
    },
    /// A person let a failed gate pass. Audited, and not clean.
    #[serde(rename = "go")]
    GateOverridden {
        /// The gate.
        #[serde(rename = "g")]
        gate: GateId,
        /// Why, as given.
        #[serde(rename = "r")]
        reason: String,
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
    },
    /// `run:paused`: nothing more is started in this session.
    #[serde(rename = "pa")]
    Paused {
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
    },
    /// `run:waiting`: only a person can move the run on; the session is kept alive for an answer. Whatever moves a task
    /// ends the wait.
    #[serde(rename = "wa")]
    Waiting {
        /// When the session ends without one.
        #[serde(rename = "u")]
        until: Timestamp,
    },
    /// `operator:command`: a command was taken, with its result.
    #[serde(rename = "oc")]
    CommandTaken {
        /// Its id.
        #[serde(rename = "i")]
        id: String,
        /// What it met.
        #[serde(rename = "r")]
        result: CommandResult,
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
    },
    /// `quality:threshold:failed`
    #[serde(rename = "qf")]
    ThresholdFailed {
        /// The mission's score.
        #[serde(rename = "s")]
        points: Points,
        /// What it should have reached.
        #[serde(rename = "b")]
        threshold: Points,
    },
    /// `run:salvaged`: a person kept the good beginning of a damaged journal. What was recorded behind it is unknown.
    #[serde(rename = "sa")]
    Salvaged {
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
        /// The line at which the damage began.
        #[serde(rename = "l")]
        line: u64,
        /// The bytes that were moved aside.
        #[serde(rename = "n")]
        bytes: u64,
        /// The lines among them, readable or not.
        #[serde(rename = "r")]
        records: u64,
        /// The name of the file, beside the journal, that holds them now.
        #[serde(rename = "f")]
        file: String,
    },
    /// `mission:changed`: from here on the run goes by another mission.
    #[serde(rename = "mc")]
    MissionChanged(Box<MissionChange>),
    /// Something a person should know that changes nothing.
    #[serde(rename = "wn")]
    Warning {
        /// What.
        #[serde(rename = "m")]
        message: String,
    },
}

/// What a run starts with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStarted {
    /// The event format, [`super::FORMAT`].
    pub format: u32,
    /// The version of the program.
    pub version: String,
    /// The run.
    pub run_id: RunId,
    /// Digest of the frozen mission.
    pub mission_digest: Digest,
    /// Where the mission came from; `None` for standard input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mission_path: Option<std::path::PathBuf>,
    /// Resolved flags and environment.
    pub options: RunOptions,
    /// The process that holds this session's children.
    pub keeper: KeeperRef,
}

/// The keeper of a session, as it can be recognised after a crash: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct KeeperRef {
    /// Process id.
    #[serde(rename = "p")]
    pub pid: u32,
    /// Start time in clock ticks since boot.
    #[serde(rename = "s")]
    pub start_time: u64,
    /// The boot in which the two mean something.
    #[serde(rename = "b")]
    pub boot_id: String,
}

/// Why a session stops before its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// SIGINT.
    Interrupted,
    /// SIGTERM.
    Terminated,
    /// `--timeout` was reached.
    TimeLimit,
}

/// A process as it can be recognised later: a pid alone may be reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRef {
    /// Process id, and process group id.
    #[serde(rename = "p")]
    pub pid: u32,
    /// Start time in clock ticks since boot.
    #[serde(rename = "s")]
    pub start_time: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Exit {
    /// Exit code, where the process exited.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub code: Option<i32>,
    /// Signal, where one ended it.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// What went wrong, by class; `None` if the agent finished.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// What went wrong, in words.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Exit {
    /// An exit as it should be.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// What a turn or call used. `None` is unknown, never free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens written.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
}

impl Usage {
    /// Whether nothing is known.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.input_tokens.is_none() && self.output_tokens.is_none()
    }
}

/// A file in the spool that a record vouches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// Its length in bytes.
    #[serde(rename = "n")]
    pub len: u64,
    /// Its content.
    #[serde(rename = "d")]
    pub digest: Digest,
}

/// What the runtime saw of one file that the task's rules name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFact {
    /// Its path, relative to the workspace.
    #[serde(rename = "p")]
    pub path: String,
    /// Its size in bytes; `None` if there is no such regular file.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Its content, where it could be read.
    #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// What a check showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Whether it passed.
    #[serde(rename = "p")]
    pub passed: bool,
    /// In words, with the end of the output.
    #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// How long it took.
    #[serde(rename = "d", default)]
    pub duration: Millis,
}

/// Which call to a reviewer: round of the panel, seat, try within the seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SeatId {
    /// The attempt that is judged.
    #[serde(rename = "a")]
    pub attempt: u32,
    /// The round in which reviewers were asked about this attempt, from 1.
    #[serde(rename = "r")]
    pub round: u32,
    /// The seat, from 0.
    #[serde(rename = "s")]
    pub seat: u32,
    /// The try within the seat and round, from 1: reprompts and request retries count on.
    #[serde(rename = "t")]
    pub attempt_try: u32,
}

/// A raw reply and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyRef {
    /// The reply's text.
    #[serde(rename = "f")]
    pub file: FileRef,
    /// The model as the provider returned it.
    #[serde(rename = "m", default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the call used.
    #[serde(rename = "u", default, skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
}

/// What could be read from a reviewer's reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum SeatResult {
    /// Every dimension of a panel was scored.
    #[serde(rename = "s")]
    Scores {
        /// One for each of the task's dimensions, in their order.
        #[serde(rename = "d")]
        dimensions: Vec<DimensionScore>,
        /// What the reviewer found.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        findings: Vec<Finding>,
    },
    /// An evaluation gave one number.
    #[serde(rename = "e")]
    Evaluation {
        /// The number.
        #[serde(rename = "p")]
        points: Points,
        /// The reviewer's text.
        #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
        reasoning: String,
    },
    /// Nothing trustworthy could be read.
    #[serde(rename = "u")]
    Unparsed {
        /// Why.
        #[serde(rename = "w")]
        why: String,
        /// The beginning of the reply, for feedback.
        #[serde(rename = "t", default, skip_serializing_if = "String::is_empty")]
        excerpt: String,
    },
}

/// The verdict of one stage on one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageReport {
    /// The task.
    #[serde(rename = "t")]
    pub task: TaskId,
    /// The attempt.
    #[serde(rename = "a")]
    pub attempt: u32,
    /// The stage.
    #[serde(rename = "s")]
    pub stage: Stage,
    /// What it says.
    #[serde(rename = "v")]
    pub verdict: Verdict,
    /// Why.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The points, where there are any.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Points>,
    /// The consensus per dimension.
    #[serde(rename = "d", default, skip_serializing_if = "Vec::is_empty")]
    pub dimensions: Vec<DimensionScore>,
    /// Seats and dimensions (by position) whose score was an outlier.
    #[serde(rename = "x", default, skip_serializing_if = "Vec::is_empty")]
    pub outliers: Vec<(u32, u32)>,
    /// What was found.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// For the verification stage: one for each criterion, in their order.
    #[serde(rename = "g", default, skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<CriterionGrade>,
    /// How sure the stage is of its verdict, a share from 0 to 1 as points; `None` where it does not say.
    #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Points>,
    /// For the outcome stage: what the agent failed with.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureClass>,
    /// Who said so, where it was a person.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// What came out of a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateResult {
    /// Whether it passed.
    #[serde(rename = "p")]
    pub passed: bool,
    /// The mean score of its tasks, where there are scores.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub avg: Option<Points>,
    /// Why it failed, or what should be known about the pass.
    #[serde(rename = "r", default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// `[task, attempt, turn]`
mod turn_id {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::domain::{TaskId, TurnId};

    pub fn serialize<S: Serializer>(id: &TurnId, serializer: S) -> Result<S::Ok, S::Error> {
        (id.task.0, id.attempt, id.turn).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TurnId, D::Error> {
        let (task, attempt, turn) = Deserialize::deserialize(deserializer)?;
        Ok(TurnId {
            task: TaskId(task),
            attempt,
            turn,
        })
    }
}
