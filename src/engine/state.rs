//! The state of a run: what the rules need to know, and nothing that could be computed from the journal on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::{
    AgentId, AttemptKind, Cause, DimensionScore, FailureClass, FailureMode, Finding, GateId, Phase, Points,
    QualityFlag, Stage, Status, TaskId, Timestamp, TurnId, WaitingReason,
};
use crate::mission::{Plan, RunOptions};

use super::command::CommandResult;
use super::payload::{
    CheckResult, FileFact, FileRef, GateResult, SeatId, SeatResult, StageReport, StopCause,
};
use super::ready::ReadyQueue;
use super::timers::{Timer, Timers};

/// A run's state: `fold(apply, journal)` over the plan it starts with.
#[derive(Debug, Clone)]
pub struct State {
    /// The resolved mission.
    pub plan: Arc<Plan>,
    /// Where the session stands.
    pub phase: RunPhase,
    /// Why the session stops or stopped before its work was done.
    pub stop: Option<StopCause>,
    /// The options that hold.
    pub options: RunOptions,
    /// One for each task of the plan.
    pub tasks: Vec<TaskState>,
    /// One for each gate of the plan.
    pub gates: Vec<GateState>,
    /// Sums over all tasks, kept as they change.
    pub counts: Counts,
    /// Whether the mission threshold was missed: its score.
    pub threshold_failed: Option<Points>,
    /// Whether a person asked that nothing more be started in this session.
    pub paused: bool,
    /// What becomes due by itself.
    pub timers: Timers,
    /// Commands that were taken, by id, with what they met.
    pub commands: BTreeMap<String, CommandResult>,
    pub(super) ready: ReadyQueue,
    pub(super) slots: u32,
    pub(super) turns_running: u32,
    /// Exclusive tasks that hold a slot. Two at most for the length of one decision, when a parked one is answered.
    pub(super) exclusive: u32,
    pub(super) gates_due: BTreeSet<GateId>,
    pub(super) cascades_due: BTreeSet<(TaskId, TaskId)>,
    pub(super) halted: bool,
    /// A task failed in this session, and the first failure is to be the last start (`--fail-fast`).
    pub(super) failed_fast: bool,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunPhase {
    /// No `run:started` yet.
    New,
    /// Working.
    Running,
    /// Ending what runs; nothing new starts.
    Stopping,
    /// The session has ended; the run may be resumable.
    Finished,
}

/// Sums over all tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counts {
    /// Tasks that the run takes.
    pub selected: u32,
    /// Tasks of the mission that the run was told to leave out.
    pub not_taken: u32,
    /// Tasks that are done.
    pub done: u32,
    /// Tasks that failed.
    pub failed: u32,
    /// Tasks that wait for a person.
    pub awaiting: u32,
    /// Tasks that hold a slot.
    pub running: u32,
    /// Done tasks by flag: clean.
    pub clean: u32,
    /// Done tasks by flag: relaxed.
    pub relaxed: u32,
    /// Done tasks by flag: unreviewed.
    pub unreviewed: u32,
    /// Done tasks by flag: unverified.
    pub unverified: u32,
    /// Done tasks by flag: degraded.
    pub degraded: u32,
    /// Done tasks by flag: below-threshold.
    pub below_threshold: u32,
    /// Tasks whose asked-for review gave no trustworthy verdict.
    pub indeterminate: u32,
    /// Tasks that needed more than one attempt.
    pub reworked: u32,
}

impl Counts {
    pub(super) fn of_flag(&mut self, flag: QualityFlag) -> &mut u32 {
        match flag {
            QualityFlag::Clean => &mut self.clean,
            QualityFlag::Relaxed => &mut self.relaxed,
            QualityFlag::Unreviewed => &mut self.unreviewed,
            QualityFlag::Unverified => &mut self.unverified,
            QualityFlag::Degraded => &mut self.degraded,
            QualityFlag::BelowThreshold => &mut self.below_threshold,
        }
    }
}

/// A gate's state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateState {
    /// Tasks of `afterTasks` that are not terminal yet.
    pub open: u32,
    /// What came out, once it was evaluated.
    pub result: Option<GateResult>,
    /// Whether a person let it pass.
    pub overridden: bool,
}

impl GateState {
    /// Whether what it blocks may start.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.overridden || self.result.as_ref().is_some_and(|result| result.passed)
    }

    /// Whether it failed and nobody overrode it.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        !self.overridden && self.result.as_ref().is_some_and(|result| !result.passed)
    }
}

/// A task's state.
#[derive(Debug, Clone, Default)]
pub struct TaskState {
    /// One of the seven states.
    pub status: Status,
    /// What goes on inside it.
    pub phase: Option<Phase>,
    /// Dependencies not done and gates not passed.
    pub blockers: u32,
    /// Number of the current or last attempt; 0 before the first.
    pub attempt: u32,
    /// Number of the current or last turn of the attempt.
    pub turn: u32,
    /// Kind of the attempt.
    pub kind: AttemptKind,
    /// Attempts of the current allowance.
    pub tries: u32,
    /// Fixes since the last execute or retry.
    pub fixes: u32,
    /// Retries of the current allowance.
    pub retries: u32,
    /// The turn in flight.
    pub running: Option<Turn>,
    /// What the last finished turn said.
    pub output: OutputRefs,
    /// Judging in progress.
    pub judging: Option<Box<Judging>>,
    /// Rounds in which reviewers were asked about this attempt. Numbers count on when a parked attempt is judged
    /// again, so that no reply ever takes the name of an older one.
    pub rounds: u32,
    /// What was found so far, the oldest first; carried into prompts and reviews.
    pub feedback: Vec<Feedback>,
    /// The last score.
    pub points: Option<Points>,
    /// For done tasks.
    pub flag: Option<QualityFlag>,
    /// For failed tasks.
    pub mode: Option<FailureMode>,
    /// Whether the last verdict of a review that was asked for could not be trusted.
    pub indeterminate: bool,
    /// For tasks that wait for a person.
    pub waiting: Option<Waiting>,
    /// While a person is asked about work that a panel let pass: what the panel said.
    pub panel: Option<Box<StageReport>>,
    /// How often a person was asked about it; makes the ids of approvals.
    pub asked: u32,
    /// What persons answered, the oldest first.
    pub answers: Vec<Answer>,
    /// What the last failed attempt looked like: failed checks, scores, files. Equal twice means no progress.
    pub signature: Option<u64>,
}

/// The files that hold what a turn said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputRefs {
    /// Standard output.
    pub stdout: Option<FileRef>,
    /// The result file; its `output`, where there is one, stands for standard output.
    pub result: Option<FileRef>,
}

/// A turn in flight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Requests refused or spawns failed so far.
    pub failed_requests: u32,
    /// When the next request may be made.
    pub not_before: Option<Timestamp>,
}

/// Why a task waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The reason.
    pub reason: WaitingReason,
    /// For a refer: its cause.
    pub cause: Option<Cause>,
    /// For a refer: the stage that a person decides instead of.
    pub stage: Stage,
    /// The approval's number within the task.
    pub number: u32,
}

/// How an approval is resolved, as the journal says it: the person says yes.
pub(super) const APPROVED: &str = "approved";
/// The person says no.
pub(super) const REJECTED: &str = "rejected";

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// The approval's number within the task.
    pub number: u32,
    /// Whether the answer was yes.
    pub approved: bool,
}

impl Waiting {
    /// Whether it is the judges, not a person, that are missing: such a task is asked about again on resume and
    /// counts as indeterminate (section 20).
    #[must_use]
    pub fn is_for_judges(&self) -> bool {
        self.reason == WaitingReason::Refer
            && matches!(self.cause, Some(Cause::GateError | Cause::NoReviewer))
    }
}

/// What an attempt was sent back with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The attempt.
    pub attempt: u32,
    /// The stage that failed.
    pub stage: Stage,
    /// Why.
    pub cause: Option<Cause>,
    /// The points, where there are any.
    pub points: Option<Points>,
    /// Scores and reasoning per dimension.
    pub dimensions: Vec<DimensionScore>,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Judging of the current attempt in progress.
#[derive(Debug, Clone, Default)]
pub struct Judging {
    /// Whether the scan was asked for and has not come back.
    pub scanning: bool,
    /// What was seen of the files, once it was looked.
    pub files: Vec<FileFact>,
    /// One for each of the task's checks, once they were asked for.
    pub checks: Vec<Option<CheckResult>>,
    /// The round of the panel that is out; 0 before judges were asked.
    pub round: u32,
    /// Rounds of this judging: what `maxAssessmentRetries` bounds.
    pub rounds: u32,
    /// The seats of the round.
    pub seats: Vec<Seat>,
    /// Whether the judges' score is the work's score: in this judging, or as a person confirmed it.
    pub scored: bool,
    /// The verification, once it was asked for.
    pub grading: Option<Grading>,
}

/// A verification in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grading {
    /// Its round, from 1.
    pub round: u32,
    /// Whether the grader has not come back.
    pub open: bool,
    /// Whether the stages before left the work without a review that it would have had.
    pub unreviewed: bool,
}

/// One seat of a panel, or the single seat of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seat {
    /// Who sits on it.
    pub agent: AgentId,
    /// The last call's try number.
    pub tries: u32,
    /// Requests that the provider refused so far in this round.
    pub failed_requests: u32,
    /// Why the last reply could not be read, while a strict reprompt is out.
    pub strict: Option<String>,
    /// When the call out may be made.
    pub not_before: Option<Timestamp>,
    /// Where it stands.
    pub state: SeatState,
}

/// Where a seat stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SeatState {
    /// A call is out.
    Asked,
    /// It gave scores.
    Replied(SeatResult),
    /// It could not be read to the end.
    Unparsed(SeatResult),
    /// It could not be asked.
    Failed(FailureClass),
}

impl State {
    /// The state before the first event.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        let mut state = Self {
            plan,
            phase: RunPhase::New,
            stop: None,
            options: RunOptions::default(),
            tasks: Vec::new(),
            gates: Vec::new(),
            counts: Counts::default(),
            threshold_failed: None,
            ready: ReadyQueue::default(),
            slots: 0,
            turns_running: 0,
            exclusive: 0,
            timers: Timers::default(),
            commands: BTreeMap::new(),
            paused: false,
            gates_due: BTreeSet::new(),
            cascades_due: BTreeSet::new(),
            halted: false,
            failed_fast: false,
        };
        state.derive();
        state
    }

    /// The state of a task.
    #[must_use]
    pub fn task(&self, id: TaskId) -> &TaskState {
        &self.tasks[id.index()]
    }

    /// The state of a gate.
    #[must_use]
    pub fn gate(&self, id: GateId) -> &GateState {
        &self.gates[id.index()]
    }

    /// Whether any selected task is not terminal: the run can be resumed.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.counts.done + self.counts.failed != self.counts.selected
    }

    /// Tasks that wait because judges, not people, are missing.
    #[must_use]
    pub fn parked_for_judges(&self) -> u32 {
        // Only tasks that wait can be; the sum over all tasks is needed once a session.
        let parked = self
            .tasks
            .iter()
            .filter(|task| task.waiting.as_ref().is_some_and(Waiting::is_for_judges));
        u32::try_from(parked.count()).unwrap_or(u32::MAX)
    }

    /// The turn of a task that is or was last in flight.
    #[must_use]
    pub fn current_turn(&self, task: TaskId) -> TurnId {
        let state = self.task(task);
        TurnId {
            task,
            attempt: state.attempt,
            turn: state.turn,
        }
    }

    /// Whether work may still be started.
    #[must_use]
    pub fn may_start_work(&self) -> bool {
        self.phase == RunPhase::Running && !self.halted && !self.failed_fast && !self.paused
    }

    /// Until when the session waits for a person's answer, while nothing else can move it on (`--wait-approvals`).
    #[must_use]
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.timers.at(Timer::WaitOver)
    }

    /// The timer that is due next. A session that does not work waits for none.
    #[must_use]
    pub fn next_timer(&self) -> Option<(Timestamp, Timer)> {
        self.timers
            .iter()
            .next()
            .filter(|_| self.phase == RunPhase::Running)
    }

    /// Whether the session could go on, and only a person's answer can make it.
    #[must_use]
    pub(super) fn only_a_person_moves_it_on(&self) -> bool {
        self.may_start_work() && self.slots == 0 && self.counts.awaiting > 0
    }
}

impl TaskState {
    /// Whether the task holds a slot: from assigned to the end of review.
    #[must_use]
    pub fn holds_slot(&self) -> bool {
        matches!(
            self.status,
            Status::Assigned | Status::InProgress | Status::Review
        )
    }

    /// The call to a seat that is out.
    #[must_use]
    pub fn seat_id(&self, seat: usize) -> Option<SeatId> {
        let judging = self.judging.as_ref()?;
        let seat_state = judging.seats.get(seat)?;
        Some(SeatId {
            attempt: self.attempt,
            round: judging.round,
            seat: u32::try_from(seat).ok()?,
            attempt_try: seat_state.tries,
        })
    }
}
