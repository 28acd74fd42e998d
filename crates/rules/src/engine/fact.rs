//! What the world tells the engine.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_with::{apply, skip_serializing_none};

use crate::domain::{
    AgentId, Answer, AskId, BrokenAssumption, Digest, FailureClass, Millis, Purpose, TaskId, Timestamp,
    TurnId,
};
use crate::plan::{Plan, RunOptions, SubTask};

use super::audit::AuditReport;
use super::event::{AskEvent, Concern, Event, RunEvent, TaskEvent, TurnEvent, WorkEvent};
use super::event_payload::{
    Asked, Exit, FileFact, FileRef, ProcessRef, ProtectedFiles, ReplyRef, RunStarted, Salvaged, SessionRef,
    StopCause, SupervisorRef, ToolCalls, ToolLedgerRef, TurnFiles, Usage, Used, is_default,
};
use super::job::{ApproverSaid, Job, JobEnd};
use super::merging::Delivery;
use super::notice::{FailedTool, NoticeEvent};
use super::operator_command::Command;
use super::timers::Timer;
use super::voided::VoidedStage;
use super::work::id::WorkId;

/// Something that happened outside. Each one leads to one decision: one record of the journal.
#[skip_serializing_none]
#[apply(Vec => #[serde(default, skip_serializing_if = "is_default")], bool => #[serde(default, skip_serializing_if = "is_default")])]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fact {
    /// A run begins, with this start.
    Start(Box<RunStarted>),
    /// A later session of the run begins; what was in flight and is not kept is lost.
    Resume(Box<LaterSession>),
    /// Look at what has become due: gates, failed dependencies, free slots, the end of the run. On record as a fact only
    /// where nothing else became known with it.
    Advance,
    /// A person kept the good beginning of a damaged journal.
    Salvaged(Salvaged),
    /// A prompt is written.
    PromptReady(Prompt),
    /// The state of the files that a turn is held against was written down, or could not be.
    FilesNoted {
        /// The turn that the files are noted for.
        turn: TurnId,
        /// Turns that were ever started when the look began.
        starts: u64,
        /// Whether another turn was under way then.
        shared: bool,
        /// The record in the spool, or why there is none.
        result: Result<FileRef, String>,
    },
    /// Something was seen of a turn that is under way.
    TurnProgress(TurnId, TurnUpdate),
    /// The process or session never existed, or the provider refused the request.
    TurnRequestFailed {
        turn: TurnId,
        /// The class of the failure.
        class: FailureClass,
        /// Whether the failure was before a process or connection existed.
        before_effect: bool,
        /// The failure in words.
        message: String,
        /// The pause that the provider asked for.
        retry_after: Option<Millis>,
        /// Randomness for the back-off, 0 to 1000.
        #[serde(default, skip_serializing_if = "is_default")]
        jitter: u16,
    },
    TurnEnded(Box<TurnEnd>),
    /// Work for a task that is neither a turn nor a question to an agent ended.
    JobEnded {
        /// The turn at which the task was when the work was asked for.
        turn: TurnId,
        /// The kind of work.
        job: Job,
        end: JobEnd,
    },
    /// The files that a task names were looked at, because a judge, or a person who says yes, is about to be heard.
    FilesSeen {
        task: TaskId,
        /// The attempt that is judged.
        attempt: u32,
        /// The files as they were seen.
        files: Vec<FileFact>,
    },
    /// A session goes on with a run: what was accepted is looked at before anything else.
    Audit,
    /// The audit that an effect asked for has ended.
    Audited(Box<AuditReport>),
    /// The accepted work of isolated tasks was brought into the user's repository, or could not be.
    WorkDelivered(Delivery),
    /// Work was handed over to whoever grades it.
    HandedOver {
        /// The id of the call.
        id: AskId,
        /// The reference to the record.
        file: FileRef,
    },
    /// The files that judge were found, each with the digest of its content.
    ProtectionNoted(ProtectedFiles),
    /// While a part of judging was at work, protected files were not what they were.
    StageVoided(Box<VoidedStage>),
    /// An agent that was asked replied.
    AskReplied(AskReply),
    /// An agent could not be asked, or did not answer.
    AskFailed(Box<AskFailure>),
    /// Stop: a signal, or the time limit.
    Stop(StopCause),
    /// A timer's moment has come.
    TimerDue {
        /// The moment that is due.
        at: Timestamp,
        timer: Timer,
    },
    /// An operator says something from outside.
    Operator(Box<OperatorInput>),
    /// Failed tasks are to be tried again.
    RetryFailed,
    /// A done task is to be done again, with everything that was built on it.
    Redo(TaskId),
    /// Done work whose files are not there any more is to be done again.
    Reopen(TaskId),
    /// A person accepted a changed mission.
    ChangeMission {
        /// The number of the mission among those that the run froze.
        number: u32,
        /// Digest of the mission that held before.
        from: Digest,
        /// The digest of the mission.
        to: Digest,
        /// The mission as it was compiled, under ids of its own. Not on record: the run keeps the file, by its number.
        #[serde(skip)]
        mission: Option<Arc<Plan>>,
    },
    /// A try to deliver a notification ended.
    Delivered {
        number: u32,
        /// The number of the try, from 1.
        tried: u32,
        /// Whether the channel took the notification, or why not.
        result: Result<(), Undelivered>,
    },
    /// The dead-letter queue has taken these over, or has said why it cannot.
    /// By their ids within the run.
    Filed(Vec<String>),
    /// The end of the session has waited long enough for what is on its way.
    NoticesOverdue,
    /// Somebody else touched a file that the session rests on: which, and how that was seen.
    Foreign(String),
    /// The processes of the session are not kept from what judges them by the system, not all of them at least: why.
    Unconfined(String),
    /// Something a person should know.
    Warn(String),
}

impl Fact {
    /// The work of a task that it tells of.
    pub fn work(&self) -> Option<WorkId> {
        Some(match self {
            Self::TurnProgress(turn, _) | Self::TurnRequestFailed { turn, .. } => WorkId::turn(*turn),
            Self::TurnEnded(end) => WorkId::turn(end.turn),
            Self::JobEnded { turn, job, .. } => WorkId::job(*turn, *job),
            Self::HandedOver { id, .. } => WorkId::ask(*id),
            Self::AskReplied(reply) => WorkId::ask(reply.id),
            Self::AskFailed(failure) => WorkId::ask(failure.id),
            _ => return None,
        })
    }

    /// Whether the fact is decided again until nothing follows from it any more: its effects on many tasks are
    /// more than one record holds.
    pub fn takes_several_records(&self) -> bool {
        match self {
            Self::RetryFailed | Self::Redo(_) => true,
            Self::Operator(said) => matches!(said.command, Command::CancelRun),
            _ => false,
        }
    }

    /// The part of judging that has come back with a word. One that failed has none.
    pub fn judged_work(&self) -> Option<WorkId> {
        let is_word = match self {
            Self::JobEnded { job, end, .. } => {
                job.judges() && !matches!(end, JobEnd::Seen { .. } | JobEnd::Approver(ApproverSaid::Open(_)))
            }
            _ => matches!(self, Self::AskReplied(_)),
        };
        self.work().filter(|_| is_word)
    }

    /// Whether the fact is a person's word, by which something passes or does not: nobody else may give it.
    pub fn is_a_persons_word(&self) -> bool {
        match self {
            Self::Operator(said) => said.command.is_a_persons_word(),
            Self::ChangeMission { .. } => true,
            _ => false,
        }
    }

    /// The event that carries what the fact carries, where there is one: a record does not repeat it. Whether it is what was
    /// decided first is for the rules to say: they may know more, such as a price.
    pub fn as_event(&self) -> Option<Event> {
        let warning = |concern, message: &String| {
            let message = message.clone();
            Event::Run(RunEvent::Warning(concern, message))
        };
        Some(match self {
            Self::Start(started) => Event::Run(RunEvent::Started(started.clone())),
            Self::Resume(resume) => Event::Run(RunEvent::Resumed(resume.clone())),
            Self::Salvaged(salvaged) => Event::Run(RunEvent::Salvaged(salvaged.clone())),
            Self::ProtectionNoted(files) => Event::Run(RunEvent::ProtectionNoted(files.clone())),
            Self::Stop(cause) => Event::Run(RunEvent::Stopping(*cause)),
            Self::WorkDelivered(delivery) => Event::Run(RunEvent::WorkDelivered(delivery.clone())),
            Self::Filed(ids) => Event::Notice(Box::new(NoticeEvent::Filed(ids.clone()))),
            Self::Warn(message) => warning(Concern::Notice, message),
            Self::Unconfined(reason) => warning(Concern::Unconfined, reason),
            Self::Foreign(what) => warning(Concern::Foreign, what),
            Self::PromptReady(prompt) => Event::Turn(prompt.turn, TurnEvent::Started(*prompt)),
            Self::FilesNoted { turn, shared, result: Ok(file), .. } => {
                Event::Turn(*turn, TurnEvent::FilesNoted { file: file.clone(), shared: *shared })
            }
            Self::TurnProgress(turn, seen) => Event::Turn(*turn, TurnEvent::Progress(seen.clone())),
            Self::TurnEnded(end) => Event::Turn(end.turn, TurnEvent::Finished(end.clone())),
            Self::JobEnded { turn, job, end } => {
                Event::Work(turn.task, WorkEvent::Ended { job: *job, end: end.clone() })
            }
            Self::AskReplied(reply) => Event::Ask(reply.id, AskEvent::Replied(reply.clone())),
            Self::StageVoided(voided) => {
                Event::Task(voided.work.task, TaskEvent::StageVoided(voided.clone()))
            }
            _ => return None,
        })
    }

    /// Whether others than a session may put it on record, while none lives.
    pub fn may_come_from_outside(&self) -> bool {
        matches!(
            self,
            Self::Operator(_)
                | Self::RetryFailed
                | Self::Redo(_)
                | Self::Reopen(_)
                | Self::FilesSeen { .. }
                | Self::ChangeMission { .. }
                | Self::Warn(_)
                | Self::Filed(_)
        )
    }
}

/// The prompt of a turn, as it was written.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The turn that the prompt is for.
    pub turn: TurnId,
    /// The digest of the prompt; `None` where the agent gets no prompt.
    pub digest: Option<Digest>,
    /// How often it speaks with authority, where its agent is told to weigh that.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cues: u32,
}

/// A later session of a run, as it begins.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaterSession {
    /// The options that hold now: the flags of `resume`, laid over the frozen ones.
    pub options: RunOptions,
    /// The process that holds this session's children.
    pub supervisor: SupervisorRef,
    /// Turns that outlived the session which started them: they still work, or their end is on record and comes next.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kept: Vec<TurnId>,
    /// The number of the rules by which the session decides, [`super::RULES`].
    pub rules: u32,
    /// When the last session is known to have worked last.
    pub last: Option<Timestamp>,
    /// A person wants the accepted work merged, whatever became of it before: `quorum merge`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delivers: bool,
}

/// What is seen of a turn while it is under way.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnUpdate {
    /// `agent:spawned`: the agent's process exists, or its request is on the way.
    Spawned {
        /// The agent's process; `None` for an HTTP agent.
        process: Option<ProcessRef>,
    },
    /// `agent:activity`: what the agent says about its progress. Changes nothing.
    Activity {
        /// The agent's words, cut to a line.
        summary: String,
    },
    /// `agent:stale`: the agent has said nothing for some time.
    Stale {
        /// The time of silence.
        idle: Millis,
        /// Whether that is too long: the agent is killed for it; else it is a warning.
        #[serde(default, skip_serializing_if = "is_default")]
        killed: bool,
    },
}

/// The reply of an agent that was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskReply {
    /// The id of the call.
    pub id: AskId,
    /// What the agent was asked about.
    pub purpose: Purpose,
    pub agent: AgentId,
    /// The reference to the raw reply.
    pub reply: ReplyRef,
    /// What could be read from the reply.
    pub answer: Answer,
}

/// A command from outside.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorInput {
    /// The id of one that was sent: it is taken once.
    pub id: Option<String>,
    /// The command that was given.
    pub command: Command,
    /// By whom, as recorded.
    pub by: String,
}

/// Why a notification was not taken.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Undelivered {
    /// The class of the failure.
    pub class: FailureClass,
    /// In words, without secrets.
    pub message: String,
    /// The pause that was asked for.
    pub retry_after: Option<Millis>,
    /// Whether trying again cannot help: there is nothing to deliver to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hopeless: bool,
    /// Randomness for the back-off, 0 to 1000.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter: u16,
}

/// How a turn ended, and with what.
#[apply(_ => #[serde(default, skip_serializing_if = "is_default")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnd {
    /// The turn that has ended.
    pub turn: TurnId,
    pub exit: Exit,
    /// Whether the runner itself ended it (an interrupt, a limit): then it is lost, not failed.
    pub interrupted: bool,
    /// The time that the turn took.
    pub duration: Millis,
    /// The model as returned.
    pub model: Option<String>,
    /// The usage of the turn.
    pub usage: Usage,
    pub output: Option<FileRef>,
    /// The standard error of the turn.
    pub stderr: Option<FileRef>,
    /// The result file, if the agent wrote one.
    pub result_file: Option<FileRef>,
    /// The changes of files, where they were looked at.
    pub files: Option<TurnFiles>,
    /// The session in which the agent's next turn can go on. Its usage counts from where `counted` does.
    pub session: Option<Box<SessionRef>>,
    /// The calls that the program was not allowed to make, as it names them.
    pub denied: Vec<Box<str>>,
    /// The tool calls that its adapter saw; `None` where it sees none.
    pub tool_calls: Option<ToolCalls>,
    /// The record of the tool calls in the spool, where this program made them.
    pub tools: Option<Box<ToolLedgerRef>>,
    /// Sub-tasks that the agent wants to hand down.
    pub delegate: Vec<SubTask>,
    /// The tool calls that failed for good, for a reason that may pass.
    pub failed_tools: Vec<FailedTool>,
    /// The possible question that the turn ended with.
    pub asked: Option<Asked>,
    /// The assumption that the agent says does not hold.
    pub broken: Option<BrokenAssumption>,
    /// How often what it brought speaks with authority, where that goes to whoever delegated the task.
    pub cues: u32,
    /// Whether a timer of this program ended it: no provider did.
    pub killed: bool,
    /// Randomness for the back-off, 0 to 1000.
    pub jitter: u16,
}

/// Why an agent gave no reply.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskFailure {
    /// The id of the call.
    pub id: AskId,
    /// The class of the failure.
    pub class: FailureClass,
    /// The failure in words.
    pub message: String,
    /// The pause that the provider asked for.
    pub retry_after: Option<Millis>,
    /// Randomness for the back-off, 0 to 1000.
    #[serde(default, skip_serializing_if = "is_default")]
    pub jitter: u16,
    /// The usage until the failure, where it is known.
    pub used: Option<Box<Used>>,
    /// Whether the agent was never asked, or its reply was lost here: that says nothing about whether it can be
    /// reached.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ours: bool,
    /// Whether nothing was sent and no process came to be: then it was no request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub never_began: bool,
}

impl TurnEnd {
    /// The end of a turn in which nothing went wrong and nothing is known to have been said.
    pub fn clean(turn: TurnId) -> Self {
        Self { turn, ..Self::default() }
    }

    /// The end of a turn that came to nothing.
    pub fn failed(turn: TurnId, class: FailureClass, message: impl Into<String>) -> Self {
        Self { exit: Exit::failed(class, message), ..Self::clean(turn) }
    }

    /// The end of a turn that the runner itself called off.
    pub fn interrupted(turn: TurnId) -> Self {
        Self { interrupted: true, ..Self::clean(turn) }
    }
}
