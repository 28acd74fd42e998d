//! The state of one task.

use std::collections::BTreeMap;

use thin_vec::ThinVec;

use crate::domain::{
    AgentId, AskId, Cause, DimensionScore, Edge, FailureMode, Finding, Phase, Points, Purpose, QualityFlag,
    Stage, StageKey, Status, TaskId, Timestamp, TurnId, Verdict,
};
use crate::engine::audit::{Acceptance, AfterScan};
use crate::engine::baseline_record::BaselineResult;
use crate::engine::dialog::Dialog;
use crate::engine::event_payload::{
    CheckResult, Deferral, DeferralReason, FileFact, FileRef, StageReport, Way,
};
use crate::engine::job::Job;
use crate::engine::quality_flag::Mark;
use crate::engine::work::retry::Tries;
use crate::judging::baseline_checks::{BaselineCheck, CheckPlace};
use crate::plan::SubTask;

use super::attempt::{Attempt, Course};
use super::hold::Hold;
use super::recovery::DependencyRecovery;
use super::seat::Seat;

#[derive(Debug, Clone, Default)]
pub struct TaskState {
    pub(crate) lifecycle: Lifecycle,
    /// The current or last attempt.
    pub attempt: Attempt,
    /// The results since the task last began by a person's word.
    pub course: Course,
    /// The work that is under way for the task.
    pub work: OpenWork,
    /// The outputs of the last finished turn.
    pub output: OutputRefs,
    /// The findings so far, the oldest first; carried into prompts and reviews.
    pub feedback: Vec<Feedback>,
    /// The questions to persons, and what they let the agent do.
    pub consent: Consent,
    /// The recovery from dependencies that failed.
    pub remedies: Option<Box<DependencyRecovery>>,
    /// The questions of the task's agent, and their answers.
    pub dialog: Option<Box<Dialog>>,
    /// Sub-tasks that the agent wants to delegate, by title.
    pub delegations: ThinVec<SubTask>,
    /// Whether the verdict of a verification left it out of the run.
    pub not_taken: bool,
    /// The reason and the limits of a second judging or attempt of accepted work that did not stand.
    pub reopened: Option<Box<Reopened>>,
    /// The moment that it waits for, without a slot.
    pub deferral: Option<Box<Deferral>>,
}

/// The status of a task with its data: what holds in one status only is not there in another. Transitions lead from one to
/// the next, and nothing else does.
#[derive(Debug, Clone)]
pub(crate) enum Lifecycle {
    /// The task waits for others, for a slot, or for a moment.
    Pending {
        /// The phase in which the agent goes on once there is room for it; `None`: the task begins, or begins
        /// anew.
        phase: Option<Phase>,
    },
    /// The task waits for a person.
    AwaitingApproval {
        /// The hold; `None` between an answer and what follows from it.
        hold: Option<Hold>,
        /// The part of the judging that is kept while a person is asked.
        judged: Option<Box<Judging>>,
    },
    /// The agent of the task is about to start.
    Assigned,
    /// The agent of the task works, or asks something.
    InProgress,
    /// The work is judged.
    Review(Box<Judging>),
    /// The work is accepted.
    Done {
        /// The flag that says how good the work is.
        flag: QualityFlag,
        /// The evidence that the work was accepted for, where it names files or has checks.
        acceptance: Option<Box<Acceptance>>,
    },
    /// The task failed.
    Failed {
        mode: FailureMode,
        /// Whether a clean fixup has superseded it.
        superseded: bool,
    },
}

/// How an end is said: the mode of a failure, the flag of accepted work.
pub(crate) type End = (Option<FailureMode>, Option<QualityFlag>);

/// The work that is under way for a task, or waits to be.
#[derive(Debug, Clone, Default)]
pub struct OpenWork {
    /// The turn in flight, with the requests that were refused and the spawns that failed.
    pub turn: Option<Tries>,
    /// Agents that are asked about the task and have not answered. They end with the task's next transition.
    pub asks: Vec<Ask>,
    /// How often an agent was asked about it; numbers the asks.
    pub asked: u32,
    /// How often the task's files were to be looked at: what an earlier look saw comes too late.
    pub scans: u32,
}

/// The questions to persons about a task, and what they let its agent do.
#[derive(Debug, Clone, Default)]
pub struct Consent {
    /// How often a person was asked about it; makes the ids of approvals.
    pub asked: u32,
    /// The answers of persons, the oldest first.
    pub answers: Vec<ApprovalDecision>,
    /// The approvals that were given for its next start: the names of their gates, `None` for its own.
    pub agreed: Vec<Option<Box<str>>>,
    /// Whether the agent may have acted: from then on one with side effects acts again only by a person's word.
    pub acted: bool,
    /// Whether a person let the agent act again; good for one turn.
    pub allowed_again: bool,
    /// Whether a person let the work begin although a check that was to be red was green.
    pub begins_green: bool,
}

/// Accepted work is done once more, in one attempt beside all limits, because it did not stand; or a verification judges
/// once more, because work that it had judged is done again. Over when the task ends or begins anew.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reopened {
    /// Why the accepted work did not stand.
    pub why: Box<str>,
    /// The files of the old acceptance that are to be there again.
    pub files: Vec<FileFact>,
    /// Tasks that wait until this one has ended, because they name a file of it and are done again too.
    pub ahead_of: Vec<TaskId>,
    /// Tasks that this one waits for in the same way.
    pub behind: Vec<TaskId>,
}

/// The outputs of a turn: the files that hold them, and the agent.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OutputRefs {
    /// The standard output of the turn.
    pub stdout: Option<FileRef>,
    /// The result file; its `output`, where there is one, stands for the standard output.
    pub result: Option<FileRef>,
    /// The record of the turn's tool calls, where this program made them.
    pub tools: Option<FileRef>,
    /// The model that the provider says did it; `None` where nobody said.
    pub model: Option<Box<str>>,
    /// Why there was nothing to do, as the worker says.
    pub nothing_to_do: Option<Box<str>>,
}
/// The answer of a person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApprovalDecision {
    /// The approval's number within the task.
    pub number: u32,
    /// Whether the answer was yes.
    pub approved: bool,
}
/// An agent that is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The call that is out.
    pub id: AskId,
    pub purpose: Purpose,
    pub agent: AgentId,
    /// Requests to the agent so far.
    pub tries: Tries,
    /// What the last reply of a judge lacks, while a strict reprompt is out.
    pub strict: Option<String>,
    /// The moment at which the call met a limit that resets, so that no call is out.
    pub window: Option<Timestamp>,
}
/// The findings with which an attempt was sent back.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    pub attempt: u32,
    /// The stage that failed.
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<String>,
    pub cause: Option<Cause>,
    /// The points, where there are any.
    pub points: Option<Points>,
    /// Scores and reasoning per dimension.
    pub dimensions: Vec<DimensionScore>,
    /// The findings in order.
    pub findings: Vec<Finding>,
}
/// Judging of the current attempt in progress; while a person is asked about the work, what is kept of it.
#[derive(Debug, Clone, Default)]
pub struct Judging {
    /// How many parts of it did not count, because protected files were not what they were.
    pub voided: u32,
    /// Whether the scan was asked for and has not come back.
    pub scanning: bool,
    /// The step behind the look at the files.
    pub then: AfterScan,
    /// The files as they were seen, once they were looked at.
    pub files: Vec<FileFact>,
    /// Whether a command that may write files was asked for since.
    pub stale: bool,
    /// Files that changed while somebody judged them, or since the person was asked.
    pub changed: Vec<String>,
    /// The stage that was asked once more for that.
    pub repeated: Option<StageKey>,
    /// Turns that had ended when the checks were asked for.
    pub turns_ended: u64,
    /// The checks that passed, by position, each with that number.
    pub passed: Vec<(u32, u64)>,
    /// Why the agent's answer stands for no work, where that was asked.
    pub hollow: Option<String>,
    /// One for each command of the finish gate that was asked for.
    pub finish: Vec<Option<CheckResult>>,
    /// One for each of the task's checks, once they were asked for.
    pub checks: Vec<Option<CheckResult>>,
    /// How often checks that failed were asked for again.
    pub reruns: BTreeMap<Job, u32>,
    /// The round of the panel that is out; 0 before judges were asked.
    pub round: u32,
    /// Rounds of this judging: what `maxAssessmentRetries` bounds.
    pub rounds: u32,
    /// The seats of the round.
    pub seats: Vec<Seat>,
    /// Whether the judges' score is the work's score: in this judging, or as a person confirmed it.
    pub scored: bool,
    /// The stage that was asked last, where that is not the panel: the verification or a further stage.
    pub stage: Option<OpenStage>,
    /// Where a panel let the work pass and a person is asked about it: what the panel said.
    pub panel: Option<Box<StageReport>>,
    /// The merge of work that is good enough, once it has begun.
    pub merge: Option<Merging>,
    /// The evidence that the work is accepted for, as soon as it is on record.
    pub acceptance: Option<Box<Acceptance>>,
    /// The verdicts of judges so far, the last word of each last.
    pub verdicts: Vec<SaidVerdict>,
}
/// Where the merge of an isolated task's work stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Merging {
    /// The number of the try, from 1.
    pub number: u32,
    /// Whether the try is under way.
    pub open: bool,
    /// Whether the work is part of what was accepted.
    pub landed: bool,
    /// Checks of tasks that have changed the same files, with what each says of merged work.
    pub peers: BTreeMap<(TaskId, u32), Option<CheckResult>>,
    /// Checks that passed on merged work only when they were run again, in any try, each as it passed last.
    pub flaky: BTreeMap<Job, CheckResult>,
}

/// A verdict of a stage of judges.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SaidVerdict {
    /// The kind of stage.
    pub stage: Stage,
    pub verdict: Verdict,
    /// The mark that the verdict leaves on the work.
    pub mark: Option<Mark>,
    /// Whether an agent or a person gave it.
    pub by_somebody: bool,
}
/// A stage that is asked and is no panel: the verification, or a further stage.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenStage {
    pub key: StageKey,
    /// The round of the stage, from 1; in round 0 a vision check looks which of its screenshots are there.
    pub round: u32,
    /// Whether the answer has not come back.
    pub open: bool,
    /// The seat of the stage's judge; `None` where the stage needs no agent.
    pub seat: Option<Seat>,
}
impl Default for Lifecycle {
    fn default() -> Self {
        Self::Pending { phase: None }
    }
}
impl Lifecycle {
    /// The next state behind a transition from here. That `done` comes with a flag and `failed` with a mode is
    /// made sure before (`engine::legal`).
    pub(crate) fn next(self, to: Status, phase: Option<Phase>, (mode, flag): End) -> Self {
        let judged = match self {
            Self::Review(judging) => Some(judging),
            Self::AwaitingApproval { judged, .. } => judged,
            _ => None,
        };
        match to {
            Status::Pending => Self::Pending { phase },
            Status::AwaitingApproval => {
                Self::AwaitingApproval { hold: None, judged: judged.map(|judging| Box::new(judging.kept())) }
            }
            Status::Assigned => Self::Assigned,
            Status::InProgress => Self::InProgress,
            // Whoever judges on after a person's word is shown the files that were seen before it.
            Status::Review => Self::Review(Box::new(Judging {
                panel: None,
                ..judged.map(|judging| judging.kept()).unwrap_or_default()
            })),
            Status::Done => Self::Done {
                flag: flag.unwrap_or(QualityFlag::BelowThreshold),
                acceptance: judged.and_then(|judging| judging.acceptance),
            },
            Status::Failed => Self::Failed { mode: mode.unwrap_or(FailureMode::Error), superseded: false },
        }
    }

    /// The hold of a task that waits for a person; `None` for other tasks.
    pub(crate) fn hold_mut(&mut self) -> Option<&mut Option<Hold>> {
        match self {
            Self::AwaitingApproval { hold, .. } => Some(hold),
            _ => None,
        }
    }
}
impl Judging {
    /// The part of the judging that is kept while a person is asked about the work.
    fn kept(self) -> Self {
        Self { files: self.files, passed: self.passed, panel: self.panel, ..Self::default() }
    }

    /// The stage that asks somebody, or did last.
    pub(crate) fn asked_stage(&self) -> StageKey {
        self.stage.as_ref().map_or(StageKey::JUDGE, |stage| stage.key)
    }

    /// The seat of the judge that is asked for a purpose.
    pub(crate) fn seat(&self, purpose: Purpose) -> Option<&Seat> {
        match purpose.seat() {
            Some(place) => self.seats.get(place.seat as usize),
            None if purpose.is_judging() => self.stage.as_ref()?.seat.as_ref(),
            None => None,
        }
    }

    /// The seat of the judge that is asked for a purpose, to be changed.
    pub(crate) fn seat_mut(&mut self, purpose: Purpose) -> Option<&mut Seat> {
        match purpose.seat() {
            Some(place) => self.seats.get_mut(place.seat as usize),
            None if purpose.is_judging() => self.stage.as_mut()?.seat.as_mut(),
            None => None,
        }
    }

    /// Whether the panel or evaluation has come to an end: it let the work pass, or the work is accepted all
    /// the same.
    pub(crate) fn has_spoken(&self) -> bool {
        self.merge.is_some() || self.verdicts.iter().any(|said| said.stage == Stage::Judge)
    }

    /// Whether that stage is asked for the second time, because files changed the first time.
    pub(crate) fn is_repeated(&self) -> bool {
        self.repeated == Some(self.asked_stage())
    }

    /// The command of the finish gate that is out.
    pub(crate) fn finish_open(&self) -> Option<u32> {
        let open = self.finish.last()?.is_none();
        open.then(|| u32::try_from(self.finish.len() - 1).ok()).flatten()
    }
}
impl TaskState {
    /// One of the seven states.
    pub fn status(&self) -> Status {
        match &self.lifecycle {
            Lifecycle::Pending { .. } => Status::Pending,
            Lifecycle::AwaitingApproval { .. } => Status::AwaitingApproval,
            Lifecycle::Assigned => Status::Assigned,
            Lifecycle::InProgress => Status::InProgress,
            Lifecycle::Review(_) => Status::Review,
            Lifecycle::Done { .. } => Status::Done,
            Lifecycle::Failed { .. } => Status::Failed,
        }
    }

    /// The current or last turn in flight, as that of this task.
    pub fn turn(&self, task: TaskId) -> TurnId {
        let Attempt { number: attempt, turn, .. } = self.attempt;
        TurnId { task, attempt, turn }
    }

    /// The activity within the status; `None` where there is none.
    pub fn phase(&self) -> Option<Phase> {
        let asks = self.dialog.as_deref().is_some_and(|dialog| dialog.open.is_some());
        match &self.lifecycle {
            Lifecycle::Pending { phase } => *phase,
            Lifecycle::InProgress | Lifecycle::AwaitingApproval { .. } if asks => Some(Phase::Clarification),
            Lifecycle::Assigned if self.is_looked_at_before() => Some(Phase::Baseline),
            Lifecycle::InProgress => Some(self.attempt.kind.phase()),
            Lifecycle::Review(_) => Some(Phase::Review),
            _ => None,
        }
    }

    /// For done tasks: how good.
    pub fn flag(&self) -> Option<QualityFlag> {
        match &self.lifecycle {
            Lifecycle::Done { flag, .. } => Some(*flag),
            _ => None,
        }
    }

    /// For failed tasks: how.
    pub fn mode(&self) -> Option<FailureMode> {
        match &self.lifecycle {
            Lifecycle::Failed { mode, .. } => Some(*mode),
            _ => None,
        }
    }

    /// Whether the task failed and a clean fixup has superseded it.
    pub fn is_superseded(&self) -> bool {
        matches!(&self.lifecycle, Lifecycle::Failed { superseded: true, .. })
    }

    /// For a verification that is done, or judges what it did once more: the edge that its verdict took.
    pub fn edge(&self) -> Option<Edge> {
        self.course.edge
    }

    /// For a done task: what it was accepted for, where it names files or has checks.
    pub(crate) fn acceptance(&self) -> Option<&Acceptance> {
        match &self.lifecycle {
            Lifecycle::Done { acceptance, .. } => acceptance.as_deref(),
            _ => None,
        }
    }

    /// The acceptance to be changed, which is made while the task is still judged.
    pub(crate) fn acceptance_mut(&mut self) -> Option<&mut Acceptance> {
        match &mut self.lifecycle {
            Lifecycle::Done { acceptance, .. } => acceptance.as_deref_mut(),
            Lifecycle::Review(judging) => judging.acceptance.as_deref_mut(),
            _ => None,
        }
    }

    /// The judging in progress.
    pub fn judging(&self) -> Option<&Judging> {
        match &self.lifecycle {
            Lifecycle::Review(judging) => Some(judging),
            _ => None,
        }
    }

    /// While a person is asked about work that was being judged: what is kept of that.
    pub(crate) fn judged(&self) -> Option<&Judging> {
        match &self.lifecycle {
            Lifecycle::AwaitingApproval { judged, .. } => judged.as_deref(),
            _ => None,
        }
    }

    /// The hold of a task that waits for a person; `None` for other tasks.
    pub fn hold(&self) -> Option<&Hold> {
        match &self.lifecycle {
            Lifecycle::AwaitingApproval { hold, .. } => hold.as_ref(),
            _ => None,
        }
    }

    /// Whether the task holds a slot: from assigned to the end of review, but not while it waits for a moment.
    pub fn holds_slot(&self) -> bool {
        let works = matches!(self.status(), Status::Assigned | Status::InProgress | Status::Review);
        works && self.deferral.is_none()
    }

    /// Whether the task waits for a slot to go on with its judging.
    pub(crate) fn is_queued(&self) -> bool {
        let deferral = self.deferral.as_deref();
        deferral.is_some_and(|deferral| deferral.why == DeferralReason::Slot)
    }

    /// Whether the runtime looks at something of its work now. Whoever is asked is a call, and one that has no room is held:
    /// nobody looks then.
    pub(crate) fn is_looked_at(&self) -> bool {
        self.is_looked_at_before()
            || self.judging().is_some_and(|judging| judging.jobs(self.work.scans).next().is_some())
    }

    /// Whether the task waits for the answer to a question, or for the word that it is one: no turn of it may start.
    pub(crate) fn is_clarified(&self) -> bool {
        let open = self.dialog.as_deref().is_some_and(|dialog| dialog.open.is_some());
        let confirming = self.status() == Status::InProgress && !self.work.asks.is_empty();
        open || confirming
    }

    /// Calls that are out for the task beside its turns and its judging.
    pub(crate) fn calls(&self) -> u32 {
        let scans = self.remedies.as_deref().map_or(0, |remedies| remedies.scanning.len());
        u32::try_from(self.asks_out().count() + scans).unwrap_or(u32::MAX)
    }

    /// The recorded result of a check of the task before the work.
    pub fn baseline_result(&self, item: &BaselineCheck) -> Option<&BaselineResult> {
        let baseline = self.course.baseline.as_deref()?;
        baseline.checks.iter().find(|seen| seen.key == item.key)
    }

    /// Whether the checks of the task are being looked at, before its first turn.
    pub fn is_looked_at_before(&self) -> bool {
        self.course.baseline.as_deref().is_some_and(|baseline| baseline.open)
    }

    /// Whether a check of work that comes through its stages passes now: the last one says of the others that they do.
    pub(crate) fn passes(&self, place: CheckPlace) -> bool {
        let judging = self.judging();
        let finish = judging.map_or(&[][..], |judging| &judging.finish);
        match place {
            // The worker was told often enough, and the work goes on without: what was not run behind it shows nothing.
            CheckPlace::Finish(at) => {
                let result = finish.get(at as usize).and_then(Option::as_ref);
                result.is_some_and(|result| result.passed)
            }
            CheckPlace::Check(_) | CheckPlace::Criterion(_) | CheckPlace::Stage(_) => true,
        }
    }

    /// Whether the task goes on without a dependency that failed.
    pub fn does_without(&self, dependency: TaskId) -> bool {
        let without = self.remedies.iter().flat_map(|remedies| &remedies.without);
        without.into_iter().any(|known| known.dependency == dependency)
    }

    /// Whether the work was built on less than it needs.
    pub(crate) fn is_degraded(&self) -> bool {
        let mut without = self.remedies.iter().flat_map(|remedies| &remedies.without);
        without.any(|known| matches!(known.way, Way::Artifacts | Way::Partial))
    }
}
