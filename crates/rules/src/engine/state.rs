//! The state of a run: what the rules need to know, and nothing that could be computed from the journal on demand.
//!
//! | file | what |
//! |---|---|
//! | `attempt` | what a task's state holds of its attempts |
//! | `audit` | what the state knows of accepted work: what an audit covers, whether one is due (6) |
//! | `hold` | what keeps a task, or what stands behind a checkpoint or a delay, from moving, and what an answer leads to |
//! | `jobs` | commands and looks at files that were asked for and have not come back |
//! | `recovery` | what was tried about dependencies of a task that failed (11) |
//! | `seat` | the seats of judges: who is asked, and the reply that counts |
//! | `start` | what stands between a task and its agent, before the agent acts |
//! | `task` | the state of one task |
//! | `wait_list` | what tasks that are to begin wait for |

mod attempt;
mod audit;
mod hold;
mod jobs;
pub mod recovery;
mod seat;
mod start;
mod task;
mod wait_list;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::domain::{
    AgentId, BarrierId, FailureMode, GateId, HoldOwner, Points, Status, TaskId, Timestamp, TurnId,
};
use crate::mission::Deadline;
use crate::plan::{BarrierKind, FilesIn, Plan, RunOptions};

use super::audit::Audit;
use super::deadline::Deadlines;
use super::event::Ceiling;
use super::event_payload::{Deferral, GateResult, ProtectedFiles, SessionRef, StopCause, Usage};
use super::fact::Fact;
use super::fact::TurnEnd;
use super::ledger::Ledger;
use super::merging::Delivery;
use super::notice::Notices;
use super::operator_command::CommandResult;
use super::ready::ReadyQueue;
use super::sums::Sums;
use super::timers::{Timer, Timers};

pub use attempt::{
    Attempt, BelowBar, Committed, Course, Evidence, FileSnapshot, FirstNoted, FirstTurn, HumanDecision,
    Known, Streak,
};
#[cfg(test)]
pub use attempt::{Calls, Nudged};
pub use hold::Hold;
pub(super) use hold::Resume;
pub use seat::{Seat, SeatState};
pub use task::{
    ApprovalDecision, Ask, Feedback, Judging, Merging, OpenStage, OutputRefs, Reopened, SaidVerdict,
    TaskState,
};
#[cfg(test)]
pub use task::{Consent, OpenWork};
pub(crate) use task::{End, Lifecycle};
pub use wait_list::{Prerequisite, WaitList};

/// A run's state: `fold(apply, journal)` over the plan it starts with.
#[derive(Debug, Clone)]
pub struct State {
    /// The resolved mission that the run carries out.
    pub plan: Arc<Plan>,
    /// Where the session stands.
    pub phase: RunPhase,
    /// The state of the session that works, or of the last one.
    pub session: SessionState,
    /// The options that hold.
    pub options: RunOptions,
    /// The folder from which the state was carried to where it lies now.
    pub moved_from: Option<PathBuf>,
    /// Why processes of a session of the run were not confined; `None` where all were.
    pub unconfined: Option<String>,
    /// Notes for readers on the origin of the run. No rule looks at them.
    pub notes: Vec<String>,
    /// One for each task of the plan.
    pub tasks: Vec<TaskState>,
    /// One for each gate of the plan.
    pub gates: Vec<GateState>,
    /// One for each checkpoint and delay of the plan.
    pub barriers: Vec<BarrierState>,
    /// Sums over all tasks: derived, and kept because adding up costs O(tasks).
    pub sums: Sums,
    /// Whether a person called the whole run off, and nothing of it was begun again since.
    pub called_off: bool,
    /// The timers that become due by themselves.
    pub timers: Timers,
    /// Commands that were taken, by id, with what they met.
    pub commands: BTreeMap<String, CommandResult>,
    /// Notifications and dead letters on their way.
    pub notices: Notices,
    /// Deadlines, as far as their time is known.
    pub deadlines: Deadlines,
    /// The usage so far, and the reserves for calls that are out.
    pub ledger: Ledger,
    /// The programs and scripts that judge, each with what it held when the run began.
    pub protected: Option<ProtectedFiles>,
    /// Where the audit of accepted work stands.
    pub audit: Audit,
    /// The number of sessions that began.
    pub sessions: u32,
    /// Acceptances that were ever recorded.
    pub acceptances: u64,
    /// Turns that ever ended, however they did.
    pub turns_ended: u64,
    /// By workspace: how many had, with the last one there.
    pub turn_ends: BTreeMap<FilesIn, u64>,
    /// The commit of all work of isolated tasks that was accepted; `None` where none was.
    pub landed: Option<Box<str>>,
    /// Whether accepted work is being brought into the user's repository.
    pub delivering: bool,
    /// The result of the delivery; `None` before it, once more was accepted, and in a session after one that
    /// failed at it.
    pub delivery: Option<Delivery>,
    /// Whether the delivery that was asked for last was to merge the work, because the run was well.
    pub delivered_to_merge: bool,
    /// The session that asked for it, counted from 1; 0 before any.
    pub delivered_in: u32,
    /// The queues of what is next, so that no decision looks at all tasks.
    pub queues: Queues,
    /// Turns that were ever started: how a turn learns whether another one overlapped.
    pub turns_started: u64,
    /// Judged rejections in a row, by whose work it is and in which wave.
    pub rejections: BTreeMap<(Box<str>, u32), u32>,
}

/// Values that follow from the plan and from the states of tasks, gates and barriers. To find any of them anew
/// costs O(tasks and edges), or O(gates) and O(barriers), and each decision asks for them; to keep them costs
/// O(log n) a change. [`State::derive`] makes them from nothing by the same rules.
#[derive(Debug, Clone, Default)]
pub struct Queues {
    /// Tasks that could start, and those that hold a slot, by agent.
    pub ready: ReadyQueue,
    /// The prerequisites that tasks watch which are to begin and lack something.
    pub watchers: WaitList,
    /// Tasks with a dependency that failed for good, about which is to be decided.
    pub cascades_due: BTreeSet<(TaskId, TaskId)>,
    /// Gates that are to be evaluated.
    pub gates_due: BTreeSet<GateId>,
    /// Gates that failed and halt the run.
    pub halting: BTreeSet<GateId>,
    /// Checkpoints and delays whose tasks have all ended.
    pub barriers_due: BTreeSet<BarrierId>,
    /// Checkpoints and delays that were reached and not passed.
    pub barriers_reached: BTreeSet<BarrierId>,
}

/// The state of one session, which the next one does not take over.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionState {
    /// Why the session stops or stopped before its work was done.
    pub stop: Option<StopCause>,
    /// The end of the session, where it has a time limit.
    pub ends: Option<Timestamp>,
    /// Whether the mission threshold was missed: its score.
    pub threshold_failed: Option<Points>,
    /// Whether somebody else touched what it rests on (`state:foreign`).
    pub foreign: bool,
    /// Whether a person asked that nothing more be started in it.
    pub paused: bool,
    /// Whether a task failed in the session and the first failure is to be the last start (`--fail-fast`). Over
    /// with the last failure that is withdrawn.
    pub failed_fast: bool,
}

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunPhase {
    /// The run has not started.
    New,
    /// The run works.
    Running,
    /// Ending what runs; nothing new starts.
    Stopping,
    /// The session has ended; the run may be resumable.
    Finished,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct GateState {
    /// Tasks of `afterTasks` that are not terminal yet.
    pub open: u32,
    /// The result of the gate, once it was evaluated.
    pub result: Option<GateResult>,
    /// Whether a person let it pass.
    pub overridden: bool,
    /// Whether verdicts of verifications left out all that it waits for: then it says nothing and holds nobody.
    pub left: bool,
}

impl GateState {
    /// Whether what it blocks may start.
    pub fn is_open(&self) -> bool {
        self.left || self.overridden || self.result.as_ref().is_some_and(|result| result.passed)
    }

    /// Whether the gate failed and nobody overrode it.
    pub fn has_failed(&self) -> bool {
        !self.overridden && self.result.as_ref().is_some_and(|result| !result.passed)
    }
}

/// The state of a checkpoint or a delay.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BarrierState {
    /// Tasks of `afterTasks` that are not terminal yet.
    pub open: u32,
    /// How often the barrier was reached: the number of its latest hold.
    pub number: u32,
    /// The stage that the barrier has come to.
    pub stage: BarrierStage,
}

impl BarrierState {
    /// The hold of the barrier, where its tasks have ended and nobody has said anything yet.
    pub fn hold(&self) -> Option<&Hold> {
        match &self.stage {
            BarrierStage::Held(hold) => Some(hold),
            BarrierStage::Ahead | BarrierStage::Passed | BarrierStage::Rejected => None,
        }
    }
}

/// How far a checkpoint or a delay got.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum BarrierStage {
    /// The tasks before the barrier have not all ended.
    #[default]
    Ahead,
    /// The tasks before the barrier have ended: the tasks behind it wait with this hold.
    Held(Hold),
    /// The tasks behind the barrier may start.
    Passed,
    /// A person refused to let the tasks start.
    Rejected,
}

impl State {
    /// The options of the session that a fact begins; of any other one those on record.
    pub fn options_of<'o>(&'o self, first: &'o Fact) -> &'o RunOptions {
        match first {
            Fact::Start(started) => &started.options,
            Fact::Resume(resume) => &resume.options,
            _ => &self.options,
        }
    }

    /// The state before the first event.
    pub fn new(plan: Arc<Plan>) -> Self {
        let mut state = Self {
            plan,
            phase: RunPhase::New,
            session: SessionState::default(),
            options: RunOptions::default(),
            moved_from: None,
            unconfined: None,
            notes: Vec::new(),
            tasks: Vec::new(),
            gates: Vec::new(),
            barriers: Vec::new(),
            sums: Sums::default(),
            protected: None,
            audit: Audit::default(),
            sessions: 0,
            acceptances: 0,
            turns_ended: 0,
            turn_ends: BTreeMap::new(),
            landed: None,
            delivering: false,
            delivery: None,
            delivered_to_merge: false,
            delivered_in: 0,
            queues: Queues::default(),
            turns_started: 0,
            rejections: BTreeMap::new(),
            timers: Timers::default(),
            commands: BTreeMap::new(),
            notices: Notices::default(),
            deadlines: Deadlines::default(),
            ledger: Ledger::default(),
            called_off: false,
        };
        state.derive();
        state
    }

    /// The state of a task.
    pub fn task(&self, id: TaskId) -> &TaskState {
        &self.tasks[id.index()]
    }

    /// The usage of a turn by itself: its program may count from the beginning of its session.
    pub(crate) fn own_usage(&self, end: &TurnEnd) -> Usage {
        match (&end.session, &self.task(end.turn.task).course.session) {
            (Some(now), Some(before)) if now.id == before.id => end.usage.since(now.counted, before.counted),
            _ => end.usage,
        }
    }

    /// The state of a task, to be changed in what no sum is made of: see [`Self::alter`].
    pub(crate) fn task_mut(&mut self, id: TaskId) -> &mut TaskState {
        &mut self.tasks[id.index()]
    }

    /// The state of a task, if the run has it: what comes from outside may name another.
    pub fn known(&self, id: TaskId) -> Option<&TaskState> {
        self.tasks.get(id.index())
    }

    /// Whether an agent could take on one more task, as far as its own limit goes.
    pub fn has_room_for(&self, agent: AgentId) -> bool {
        self.queues.ready.has_room_for(agent, 0)
    }

    /// The hold of a task, a checkpoint or a delay; `None` where it waits with none.
    pub(crate) fn hold(&self, of: HoldOwner) -> Option<&Hold> {
        match of {
            HoldOwner::Task(task) => self.known(task)?.hold(),
            HoldOwner::Barrier(barrier) => self.barriers.get(barrier.index())?.hold(),
        }
    }

    /// The state of a checkpoint or a delay.
    pub fn barrier(&self, id: BarrierId) -> &BarrierState {
        &self.barriers[id.index()]
    }

    /// Checkpoints that a person is asked about, and delays that run, as long as anything waits for them.
    pub fn barriers_that_wait(&self) -> impl Iterator<Item = BarrierId> {
        self.queues.barriers_reached.iter().copied().filter(|id| self.holds_anything(*id))
    }

    /// Whether any task that could still be worked on waits for a hold.
    pub fn holds_anything(&self, id: BarrierId) -> bool {
        let mut blocked = self.plan.barrier(id).blocks.iter();
        blocked.any(|task| self.takes(*task) && !self.task(*task).status().is_terminal())
    }

    /// Whether a delay runs that will start something.
    pub fn a_delay_moves_it_on(&self) -> bool {
        let is_delay = |id: &BarrierId| self.plan.barrier(*id).kind != BarrierKind::Checkpoint;
        self.may_start_work() && self.barriers_that_wait().any(|id| is_delay(&id))
    }

    /// Tasks that wait for a moment, each with it. What waits for a slot waits for no moment.
    pub fn deferrals(&self) -> impl Iterator<Item = (TaskId, &Deferral)> {
        let deferred = self.timers.deferred().filter(|id| self.takes(*id));
        deferred.filter_map(|id| Some((id, self.task(id).deferral.as_deref()?)))
    }

    /// The deadline that the mission gives to a task or to itself.
    pub fn deadline_planned(&self, task: Option<TaskId>) -> Option<Deadline> {
        match task {
            Some(id) => self.plan.task(id).deadline,
            None => self.plan.rules.deadline,
        }
    }

    /// When a later session can go on, where only moments that this one may not wait for are missing.
    pub fn resumable_at(&self) -> Option<Timestamp> {
        let windows = self.deferrals();
        windows.filter_map(|(_, deferral)| deferral.moment()).min()
    }

    /// Whether the session ends because moments are too far away.
    pub fn ends_before_a_moment(&self) -> bool {
        let failed_fast = self.options.fail_fast && self.sums.counts.failed > 0;
        let is_stopped = self.is_halted() || self.session.paused || failed_fast;
        !is_stopped && self.deferrals().next().is_some()
    }

    /// Checkpoints that a person is asked about.
    pub fn checkpoints_that_wait(&self) -> impl Iterator<Item = BarrierId> {
        self.barriers_that_wait().filter(|id| self.plan.barrier(*id).kind == BarrierKind::Checkpoint)
    }

    /// The state of a gate.
    pub fn gate(&self, id: GateId) -> &GateState {
        &self.gates[id.index()]
    }

    /// Whether any selected task is not terminal, or what was accepted is still to be looked at.
    pub fn has_work_left(&self) -> bool {
        !self.has_all_ended() || self.audit_is_open()
    }

    /// Whether `resume` has something to do: work is left, or what was accepted is not where it was wanted.
    pub fn is_resumable(&self) -> bool {
        let delivery = self.delivery.as_ref();
        self.is_unfinished() || delivery.is_some_and(|delivery| delivery.why.is_some())
    }

    /// Whether nothing begins, because accepted work is looked at or delivered.
    pub fn is_held(&self) -> bool {
        self.audit.out || self.delivering
    }

    /// Whether every selected task is terminal.
    pub(crate) fn has_all_ended(&self) -> bool {
        self.sums.counts.ended() == self.sums.counts.selected
    }

    /// Whether all that is not done was called off by a person (semantics, section 20): nothing failed by itself, and
    /// nothing is left to do.
    pub fn is_cancelled(&self) -> bool {
        if self.sums.counts.failed == 0 || !self.has_all_ended() {
            return false;
        }
        let failed = self.tasks.iter().filter(|task| !task.is_superseded());
        let modes = failed.filter_map(|task| task.mode().filter(|_| task.status() == Status::Failed));
        let mut causes = modes.filter(|mode| *mode != FailureMode::Cascade).peekable();
        causes.peek().is_some() && causes.all(|mode| mode == FailureMode::Cancelled)
    }

    /// Tasks that wait because judges, not people, are missing.
    pub(crate) fn parked_for_judges(&self) -> u32 {
        // Only tasks that wait can be; the sum over all tasks is needed once a session.
        let parked = self.tasks.iter().filter(|task| task.hold().is_some_and(Hold::is_for_judges));
        u32::try_from(parked.count()).unwrap_or(u32::MAX)
    }

    /// The session in which the turn of a task that comes, or is under way, goes on.
    pub fn session_of(&self, task: TaskId) -> Option<&SessionRef> {
        let agent = &self.plan.worker_of(task).spec;
        let session = self.task(task).course.session.as_deref();
        session.filter(|_| agent.keeps_session())
    }

    /// The turn of a task that is or was last in flight.
    pub fn current_turn(&self, task: TaskId) -> TurnId {
        self.task(task).turn(task)
    }

    /// The turn behind that one.
    pub(crate) fn next_turn(&self, task: TaskId) -> TurnId {
        let current = self.current_turn(task);
        TurnId { turn: current.turn + 1, ..current }
    }

    /// The agents that work on a task or did, each with the model that its provider says it used, as far as
    /// that is known.
    pub(crate) fn authors(&self, id: TaskId) -> impl Iterator<Item = (AgentId, Option<&str>)> {
        let (work, task) = (self.plan.task(id), self.task(id));
        let before = task.course.authors_before.iter();
        let before = before.map(|(agent, model)| (*agent, model.as_deref()));
        before.chain([(work.agent, task.output.model.as_deref())])
    }

    /// The author of a task's work, as far as the judge breaker goes: the model of its agent; the agent itself,
    /// where it names none.
    pub(crate) fn worker_model(&self, task: TaskId) -> &str {
        let agent = self.plan.worker_of(task);
        agent.spec.model.as_deref().unwrap_or(&agent.name)
    }

    /// Judged rejections in a row of such work in the task's wave.
    pub fn rejections(&self, task: TaskId) -> u32 {
        let key = (Box::from(self.worker_model(task)), self.plan.task(task).wave);
        self.rejections.get(&key).copied().unwrap_or(0)
    }

    /// Whether work may still be started.
    pub(crate) fn may_start_work(&self) -> bool {
        self.may_go_on() && self.ledger.limit().is_none()
    }

    /// Whether a gate halts the run.
    pub fn is_halted(&self) -> bool {
        !self.queues.halting.is_empty()
    }

    fn may_go_on(&self) -> bool {
        self.phase == RunPhase::Running
            && !self.is_halted()
            && !self.session.failed_fast
            && !self.session.paused
    }

    /// Whether a task may still begin: a verification may while what is left is kept for judging.
    pub(crate) fn may_begin(&self, id: TaskId) -> bool {
        let is_open = |limit: Ceiling| limit.leaves_judging() && self.plan.route(id).is_some();
        self.may_go_on() && self.ledger.limit().is_none_or(is_open)
    }

    /// Until when the session waits for a person's answer, while nothing else can move it on (`--wait-approvals`).
    pub fn waits_until(&self) -> Option<Timestamp> {
        self.timers.at(Timer::WaitOver)
    }

    /// Whether the session could go on, and only a person's answer can make it.
    pub fn only_a_person_moves_it_on(&self) -> bool {
        self.may_start_work()
            && !self.is_held()
            && self.sums.slots == 0
            && self.sums.approvers_asked == 0
            && self.sums.calls_open == 0
            && !self.a_delay_moves_it_on()
            && !self.a_moment_moves_it_on()
            && (self.sums.counts.awaiting > 0 || self.checkpoints_that_wait().next().is_some())
    }
}
