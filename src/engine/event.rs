//! What happened: the events of the journal in their compact, final shape.
//!
//! Codes and short keys keep a record of a trivial task below two hundred bytes; `quorum events` prints full names
//! (see `report::events`). Fields are only ever added, with a default.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::domain::{
    Advice, AgentId, AskId, AttemptKind, BrokenAssumption, Cause, Digest, Edge, FailureClass, FailureMode,
    Finding, GateId, HoldId, Millis, OutcomeClass, Phase, Points, Probe, Purpose, QualityFlag, Stage, Status,
    Step, TaskId, Timestamp, TurnId, WaitingReason,
};
use crate::mission::{Addition, RunOptions, SubTask};

use super::audit::AfterScan;
use super::command::CommandResult;
use super::deadline::DeadlineEvent;
use super::ledger::{CallId, Ceiling};
use super::mission_change::MissionChange;
use super::notice::NoticeEvent;
use super::payload::{
    Asked, CheckResult, DeferralReason, Exit, FileFact, FileRef, GateResult, Grounds, OriginCode, ProcessRef,
    ReplyRef, RunStarted, StageReport, StopCause, SupervisorRef, ToolCalls, ToolLedgerRef, TurnFiles, Usage,
    Used, VoidedStage, Way, is_zero,
};

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
        supervisor: SupervisorRef,
    },
    /// `run:moved`: the state was carried elsewhere, and the session that begins works where it lies now.
    #[serde(rename = "mv")]
    RunMoved {
        /// The folder in which it lay.
        #[serde(rename = "f")]
        from: PathBuf,
        /// The folder in which it lies.
        #[serde(rename = "t")]
        to: PathBuf,
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
        /// By whose key it is vouched for, together with all that stands before it. Rules know nothing of keys: whoever
        /// writes the record adds it.
        #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
        origin: Option<Box<OriginCode>>,
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
    /// `work:started` of a turn: durable before the process or request exists.
    #[serde(rename = "ts")]
    TurnStarted {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// Digest of the prompt; `None` where the agent gets none.
        #[serde(rename = "d", default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Digest>,
    },
    /// `authority:cues`: the prompt of the turn that starts speaks with authority, and says that this is to be weighed; or what
    /// a delegated task brought does.
    #[serde(rename = "ah")]
    AuthorityCues {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// How often.
        #[serde(rename = "n")]
        cues: u32,
        /// Whether they stand in what the turn brought, on its way to whoever delegated the task, not in its prompt.
        #[serde(rename = "r", default, skip_serializing_if = "std::ops::Not::not")]
        result: bool,
    },
    /// `task:escalated`: the agent says that what it was told does not hold; a person is asked before its work is judged.
    #[serde(rename = "te")]
    Escalated {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// What does not hold.
        #[serde(rename = "b")]
        broken: BrokenAssumption,
    },
    /// `protection:noted`: the programs and scripts that judge, as they were when the run began: they are protected as long
    /// as it lasts.
    #[serde(rename = "pn")]
    ProtectionNoted {
        /// Each with what it held.
        #[serde(rename = "f")]
        files: Vec<(String, Option<Digest>)>,
    },
    /// `stage:voided`: while a part of judging was at work, protected files were not what they were: it is done again, or
    /// the task has failed.
    #[serde(rename = "vo")]
    StageVoided(Box<VoidedStage>),
    /// `files:noted`: what stands in the files that the turn is held against was written down. Before the turn starts.
    #[serde(rename = "fb")]
    FilesNoted {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// The record, in the spool.
        #[serde(rename = "f")]
        file: FileRef,
        /// Whether another turn was under way meanwhile.
        #[serde(rename = "s", default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool,
    },
    /// `agent:spawned`
    #[serde(rename = "sp")]
    AgentSpawned {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// Its process; `None` for an HTTP agent.
        #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
        process: Option<ProcessRef>,
    },
    /// `agent:activity`: what the agent of a turn says about its progress. Changes nothing.
    #[serde(rename = "ac")]
    AgentActivity {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// Its words, cut to a line.
        #[serde(rename = "s")]
        summary: String,
    },
    /// `agent:stale`: the agent of a turn has said nothing for some time.
    #[serde(rename = "as")]
    AgentStale {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
        /// For how long.
        #[serde(rename = "d")]
        idle: Millis,
        /// Whether it is killed for it; else it is a warning.
        #[serde(rename = "k", default, skip_serializing_if = "std::ops::Not::not")]
        killed: bool,
    },
    /// The process or connection could not be made, or a provider refused the request; it is tried again.
    #[serde(rename = "tx")]
    TurnRequestFailed {
        /// The turn.
        #[serde(rename = "i")]
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
        /// How many requests there may be in all; 0 in journals that do not tell.
        #[serde(rename = "a", default, skip_serializing_if = "is_zero")]
        of: u32,
    },
    /// `work:ended` of a turn.
    #[serde(rename = "tf")]
    TurnFinished {
        /// The turn.
        #[serde(rename = "i")]
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
        /// What it did to files, where that was looked at.
        #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
        files: Option<TurnFiles>,
        /// The tool calls that its adapter saw; `None` where it sees none.
        #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
        tool_calls: Option<ToolCalls>,
        /// The record of them in the spool, where this program made them.
        #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
        tools: Option<Box<ToolLedgerRef>>,
        /// What it ended with that may be a question.
        #[serde(rename = "q", default, skip_serializing_if = "Option::is_none")]
        asked: Option<Asked>,
    },
    /// The turn was lost to the death or interruption of the runner: no verdict on the agent.
    #[serde(rename = "tl")]
    TurnLost {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
    },
    /// `work:progressed` (`adopted`): the turn outlived the runner that started it. It still works, or its end is on the supervisor's record.
    #[serde(rename = "ta")]
    TurnAdopted {
        /// The turn.
        #[serde(rename = "i")]
        turn: TurnId,
    },
    /// The files that the task's rules name are to be looked at.
    #[serde(rename = "sc")]
    ScanRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What follows.
        #[serde(rename = "w", default, skip_serializing_if = "AfterScan::is_preflight")]
        then: AfterScan,
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
        /// Why its answer stands for no work, where that was asked.
        #[serde(rename = "h", default, skip_serializing_if = "Option::is_none")]
        hollow: Option<String>,
    },
    /// `files:changed`: files that a task names are not what was shown to its judges, or to the person who is asked.
    #[serde(rename = "fc")]
    FilesChanged {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which.
        #[serde(rename = "c")]
        paths: Vec<String>,
        /// While a person is asked: what there is now.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileFact>,
    },
    /// `acceptance:recorded`: what a task is accepted for. Before its transition.
    #[serde(rename = "ab")]
    AcceptanceRecorded {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The files that it names and that are there.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileFact>,
        /// The checks that passed, by position.
        #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
        checks: Vec<u32>,
    },
    /// `work:requested`: what was accepted is to be looked at again.
    #[serde(rename = "uq")]
    AuditRequested {
        /// Which audit of the run, from 1.
        #[serde(rename = "n")]
        number: u32,
    },
    /// `task:regressed`: what it was accepted for does not stand any more.
    #[serde(rename = "rg")]
    Regressed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Why.
        #[serde(rename = "r")]
        reason: String,
    },
    /// `work:ended` of an audit.
    #[serde(rename = "uf")]
    Audited {
        /// Which audit.
        #[serde(rename = "n")]
        number: u32,
        /// Tasks whose checks ran again and passed.
        #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
        checked: Vec<TaskId>,
        /// Files of tasks that stand though they hold something else now.
        #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<(TaskId, Vec<FileFact>)>,
    },
    /// `work:requested`: a command of the task's finish gate is to be run.
    #[serde(rename = "nq")]
    FinishRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its position among the gate's commands.
        #[serde(rename = "n")]
        command: u32,
    },
    /// `work:ended` of a command of the finish gate.
    #[serde(rename = "nf")]
    FinishChecked {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its position among the gate's commands.
        #[serde(rename = "n")]
        command: u32,
        /// What it showed.
        #[serde(rename = "r")]
        result: CheckResult,
    },
    /// `task:nudge`: the worker is told what its finish gate misses, in another turn of the same attempt.
    #[serde(rename = "nu")]
    Nudged {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Whether it counts as being told that the work does not compile.
        #[serde(rename = "c", default, skip_serializing_if = "std::ops::Not::not")]
        compilation: bool,
        /// Whether it counts as being told of the rest.
        #[serde(rename = "o", default, skip_serializing_if = "std::ops::Not::not")]
        others: bool,
        /// What is missing.
        #[serde(rename = "f")]
        missing: Vec<Finding>,
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
    /// `work:ended` of a check.
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
    /// `agent:fallback`: an agent cannot be reached, and another one is asked instead.
    #[serde(rename = "ag")]
    FellBack {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Who cannot be reached.
        #[serde(rename = "f")]
        from: AgentId,
        /// Who is asked instead.
        #[serde(rename = "o")]
        to: AgentId,
        /// Why, by class.
        #[serde(rename = "c")]
        class: FailureClass,
        /// Why, in words.
        #[serde(rename = "m")]
        message: String,
    },
    /// `task:question`: the agent of a task waits for an answer; `tool:asked`: for a person's word about a tool call.
    #[serde(rename = "qa")]
    Question {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What it asks.
        #[serde(rename = "q")]
        question: String,
        /// Whether it only looked like a question and the orchestrator confirmed it.
        #[serde(rename = "d", default, skip_serializing_if = "std::ops::Not::not")]
        detected: bool,
        /// For a tool call: its digest.
        #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
        call: Option<Digest>,
    },
    /// `task:answered`
    #[serde(rename = "qr")]
    Answered {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What its agent is told.
        #[serde(rename = "a")]
        answer: String,
        /// By whom: the orchestrator, or a person as recorded.
        #[serde(rename = "b")]
        by: String,
        /// Where a person answered: the approval's number within the task.
        #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
    },
    /// An agent is to be asked.
    #[serde(rename = "kq")]
    AskRequested {
        /// Which call.
        #[serde(rename = "i")]
        id: AskId,
        /// What about.
        #[serde(rename = "p")]
        purpose: Purpose,
        /// Who is asked.
        #[serde(rename = "g")]
        agent: AgentId,
        /// For a strict reprompt of a reviewer: why the reply before could not be read.
        #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
        strict: Option<String>,
        /// Not before this moment (back-off).
        #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// An agent that was asked replied.
    #[serde(rename = "kr")]
    AskReplied {
        /// Which call.
        #[serde(rename = "i")]
        id: AskId,
        /// What about.
        #[serde(rename = "p")]
        purpose: Purpose,
        /// Who was asked.
        #[serde(rename = "g")]
        agent: AgentId,
        /// The raw reply.
        #[serde(rename = "y")]
        reply: ReplyRef,
        /// What could be read from it.
        #[serde(rename = "r")]
        advice: Advice,
    },
    /// An agent could not be asked, or did not answer.
    #[serde(rename = "kx")]
    AskFailed {
        /// Which call.
        #[serde(rename = "i")]
        id: AskId,
        /// What about.
        #[serde(rename = "p")]
        purpose: Purpose,
        /// Who was asked.
        #[serde(rename = "g")]
        agent: AgentId,
        /// Whether it is not asked again: nothing is to be expected of it any more.
        #[serde(rename = "e", default, skip_serializing_if = "std::ops::Not::not")]
        gave_up: bool,
        /// What went wrong, by class.
        #[serde(rename = "c")]
        class: FailureClass,
        /// What went wrong, in words.
        #[serde(rename = "m")]
        message: String,
        /// What it had used until then, where that is known.
        #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
        used: Option<Box<Used>>,
        /// For a limit that resets: when.
        #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// `probes:made`: the criteria of a task were cut into probes. They hold until the task begins anew.
    #[serde(rename = "pr")]
    Probed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The probes.
        #[serde(rename = "p")]
        probes: Vec<Probe>,
    },
    /// `handoff:recorded`: work was handed over to whoever grades it.
    #[serde(rename = "ho")]
    HandedOver {
        /// The call.
        #[serde(rename = "i")]
        id: AskId,
        /// Who grades it.
        #[serde(rename = "g")]
        agent: AgentId,
        /// The record of what was handed over, in the spool.
        #[serde(rename = "f")]
        file: FileRef,
    },
    /// `work:requested` where plain facts decide: the task's criteria are to be held against what there is.
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
    /// `work:ended` (`failed`) where plain facts decide: the grader itself failed. Its success is the verdict of the stage.
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
    /// `work:requested` where no agent is asked: a stage behind the verification is to look at the work.
    #[serde(rename = "gq")]
    StepRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which one.
        #[serde(rename = "s")]
        step: Step,
        /// The round of this judging, from 1.
        #[serde(rename = "r")]
        round: u32,
        /// Whether it needs no agent; else one is consulted.
        #[serde(rename = "p", default, skip_serializing_if = "std::ops::Not::not")]
        plain: bool,
        /// On what grounds the work came to it.
        #[serde(rename = "g")]
        grounds: Grounds,
    },
    /// `work:ended` (`failed`) where no agent is asked: the stage itself failed. Its success is its verdict.
    #[serde(rename = "gx")]
    StepFailed {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which one.
        #[serde(rename = "s")]
        step: Step,
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
        /// For a stage behind the verification: which one.
        #[serde(rename = "k", default, skip_serializing_if = "Option::is_none")]
        step: Option<Step>,
        /// What the person is told.
        #[serde(rename = "m")]
        message: String,
        /// The approval gate that asks, where one does.
        #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
        gate: Option<String>,
        /// When its time is up.
        #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
    },
    /// `work:requested` of a command: an approver that is no person is asked.
    #[serde(rename = "aa")]
    ApproverAsked {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which approval, by its number within the task.
        #[serde(rename = "n")]
        number: u32,
        /// Which of its approvers, by position.
        #[serde(rename = "p")]
        approver: u32,
    },
    /// `work:ended`: an approver left it open.
    #[serde(rename = "au")]
    ApproverUndecided {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which approval, by its number within the task.
        #[serde(rename = "n")]
        number: u32,
        /// Which of its approvers, by position.
        #[serde(rename = "p")]
        approver: u32,
        /// Why, in words.
        #[serde(rename = "m")]
        message: String,
        /// For the last of them: when they are asked again, should a session live then.
        #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
        again: Option<Timestamp>,
    },
    /// `approval:timeout`: nobody answered in time; it keeps waiting.
    #[serde(rename = "ax")]
    ApprovalTimedOut {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Which approval, by its number within the task.
        #[serde(rename = "n")]
        number: u32,
    },
    /// `task:retry:blocked`: its agent would act again, and only a person may let it (section 5, side effects).
    #[serde(rename = "rb")]
    RetryBlocked {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What it would act again for.
        #[serde(rename = "r")]
        reason: String,
    },
    /// `hold:opened` of a checkpoint or delay.
    #[serde(rename = "hr")]
    HoldReached {
        /// The checkpoint or delay.
        #[serde(rename = "h")]
        hold: HoldId,
        /// How often it was reached, this time included; makes the ids of approvals.
        #[serde(rename = "n")]
        number: u32,
        /// For a delay: when it is over.
        #[serde(rename = "x", default, skip_serializing_if = "Option::is_none")]
        until: Option<Timestamp>,
    },
    /// `hold:closed`: what it blocks may start.
    #[serde(rename = "hp")]
    HoldPassed {
        /// The checkpoint or delay.
        #[serde(rename = "h")]
        hold: HoldId,
        /// For a checkpoint: who said so, as recorded.
        #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// `hold:closed` (`no`): what it blocks does not start.
    #[serde(rename = "hx")]
    HoldRejected {
        /// The checkpoint.
        #[serde(rename = "h")]
        hold: HoldId,
        /// Why, as given.
        #[serde(rename = "r")]
        reason: String,
        /// By whom, as recorded.
        #[serde(rename = "b")]
        by: String,
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
    /// `deadlock:detected`: a task cannot start, because a dependency failed for good.
    #[serde(rename = "dd")]
    DeadlockDetected {
        /// The task that cannot start.
        #[serde(rename = "t")]
        task: TaskId,
        /// What it needs.
        #[serde(rename = "d")]
        dependency: TaskId,
    },
    /// The files of a failed dependency are to be looked at.
    #[serde(rename = "dq")]
    ArtifactsRequested {
        /// The task that needs it.
        #[serde(rename = "t")]
        task: TaskId,
        /// What failed.
        #[serde(rename = "d")]
        dependency: TaskId,
    },
    /// What was seen of the files of a failed dependency.
    #[serde(rename = "df")]
    ArtifactsScanned {
        /// The task that needs it.
        #[serde(rename = "t")]
        task: TaskId,
        /// What failed.
        #[serde(rename = "d")]
        dependency: TaskId,
        /// What was seen.
        #[serde(rename = "f")]
        files: Vec<FileFact>,
    },
    /// `deadlock:resolved`: the task can do without the dependency, or that is tried again.
    #[serde(rename = "dw")]
    DependencyResolved {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What failed.
        #[serde(rename = "d")]
        dependency: TaskId,
        /// What was done about it.
        #[serde(rename = "w")]
        way: Way,
        /// What the task is told, the files that are there, or why it is tried again.
        #[serde(rename = "n", default, skip_serializing_if = "String::is_empty")]
        note: String,
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
    /// `verification:routed`: the verdict of a verification took one of its edges. It stands before the verification is done,
    /// or behind what is done again.
    #[serde(rename = "et")]
    EdgeTaken {
        /// The verification.
        #[serde(rename = "t")]
        task: TaskId,
        /// The edge.
        #[serde(rename = "e")]
        edge: Edge,
        /// Where it leads.
        #[serde(rename = "o")]
        to: TaskId,
        /// How often the verification has judged, since it last began by a person's word.
        #[serde(rename = "v")]
        visit: u32,
        /// Tasks that leave the run: nothing leads to them any more.
        #[serde(rename = "l", default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<TaskId>,
        /// Tasks that were at work on what is done again.
        #[serde(rename = "s", default, skip_serializing_if = "Vec::is_empty")]
        stopped: Vec<TaskId>,
        /// Other verifications that are redone, with the visits that they had: those count on.
        #[serde(rename = "k", default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<(TaskId, u32)>,
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
    /// `task:window`, the pause between two attempts, or `task:queued`: the task waits for a moment or for a slot, and holds
    /// none.
    #[serde(rename = "td")]
    TaskDeferred {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// Why.
        #[serde(rename = "w")]
        why: DeferralReason,
        /// The moment.
        #[serde(rename = "u")]
        until: Timestamp,
        /// Since when it is waited for, in this session.
        #[serde(rename = "s")]
        since: Timestamp,
        /// What was said of it.
        #[serde(rename = "m", default, skip_serializing_if = "String::is_empty")]
        message: String,
        /// What waits for a slot goes on behind this stage; `None`: with whoever is asked already.
        #[serde(rename = "sg", default, skip_serializing_if = "Option::is_none")]
        stage: Option<Stage>,
        /// Which of several such stages.
        #[serde(rename = "sp", default, skip_serializing_if = "Option::is_none")]
        step: Option<Step>,
    },
    /// The moment has come, or a slot is free.
    #[serde(rename = "to")]
    TaskReleased {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
    },
    /// The session has a time limit: this is its end.
    #[serde(rename = "sl")]
    SessionLimit {
        /// The moment.
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
    /// `delegation:requested`: the agent wants to hand down sub-tasks. They are made when its task ends clean.
    #[serde(rename = "dg")]
    DelegationRequested {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// What it asks for.
        #[serde(rename = "s")]
        sub_tasks: Vec<SubTask>,
    },
    /// `delegation:refused`: a sub-task that was asked for is not made.
    #[serde(rename = "dr")]
    DelegationRefused {
        /// The task whose agent asked.
        #[serde(rename = "t")]
        task: TaskId,
        /// The title of the sub-task.
        #[serde(rename = "l")]
        title: String,
        /// Why.
        #[serde(rename = "r")]
        reason: String,
    },
    /// `delegation:drift`: a task is about to be worked on whose text, or that of those who delegated it, is not what it was when
    /// it was delegated.
    #[serde(rename = "dh")]
    DelegationDrift {
        /// The task.
        #[serde(rename = "t")]
        task: TaskId,
        /// The digest on record.
        #[serde(rename = "h")]
        stored: Digest,
        /// The digest now.
        #[serde(rename = "n")]
        now: Digest,
    },
    /// `task:escalated`: waves in a row brought nothing, so no agent is asked for another way around what failed.
    #[serde(rename = "np")]
    NoProgress {
        /// The task that waited for another way.
        #[serde(rename = "t")]
        task: TaskId,
        /// How many waves.
        #[serde(rename = "n")]
        waves: u32,
    },
    /// `tasks:added`: the run has more tasks from here on. They follow with their `task:created`.
    #[serde(rename = "ad")]
    TasksAdded(Box<Addition>),
    /// `tasks:withdrawn`: added tasks that the run does not have any more, because what asked for them is done again.
    #[serde(rename = "aw")]
    TasksWithdrawn {
        /// The tasks.
        #[serde(rename = "t")]
        tasks: Vec<TaskId>,
    },
    /// `task:superseded`: a clean fixup made up for the failure of a task.
    #[serde(rename = "su")]
    Superseded {
        /// The task that failed.
        #[serde(rename = "t")]
        task: TaskId,
        /// Its fixup.
        #[serde(rename = "b")]
        by: TaskId,
    },
    /// `mission:changed`: from here on the run goes by another mission.
    #[serde(rename = "mc")]
    MissionChanged(Box<MissionChange>),
    /// `deadline:set`, `sla:warning`, `sla:violated`, `sla:met`
    #[serde(rename = "dl")]
    Deadline(Box<DeadlineEvent>),
    /// `budget:exhausted`: nothing more is started in this session. What runs may finish its turn.
    #[serde(rename = "bx")]
    LimitReached {
        /// What is used up.
        #[serde(rename = "c")]
        ceiling: Ceiling,
    },
    /// `work:progressed` (`held`): a call has no room now.
    #[serde(rename = "bh")]
    CallHeld {
        /// Which.
        #[serde(rename = "i")]
        call: CallId,
        /// Whom it goes to.
        #[serde(rename = "g")]
        agent: AgentId,
    },
    /// `work:progressed` (`released`): a call that was held has room.
    #[serde(rename = "br")]
    CallReleased {
        /// Which.
        #[serde(rename = "i")]
        call: CallId,
    },
    /// `budget:clock`: the time that the run may work is counted.
    #[serde(rename = "bc")]
    BudgetClock {
        /// When this session began.
        #[serde(rename = "a")]
        since: Timestamp,
        /// What the sessions before it took.
        #[serde(rename = "u")]
        used: Millis,
        /// When nothing is left.
        #[serde(rename = "x")]
        until: Timestamp,
    },
    /// What happens to notifications and dead letters.
    #[serde(rename = "no")]
    Notice(Box<NoticeEvent>),
    /// `state:foreign`: what the session rests on was touched by somebody else. Nothing that it ends with is believed: the
    /// outcome is internal, until a later session begins.
    #[serde(rename = "sf")]
    StateForeign {
        /// What was touched, and how that was seen.
        #[serde(rename = "w")]
        what: String,
    },
    /// Something a person should know that changes nothing.
    #[serde(rename = "wn")]
    Warning {
        /// What.
        #[serde(rename = "m")]
        message: String,
    },
}
