//! Somebody who reads along: keeps its own, simpler account of a run from the events alone and says no where the
//! rules are broken. It shares no code with `engine::apply` and `engine::decide`, so that both would have to be wrong
//! in the same way.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{
    AttemptKind, Cause, FailureMode, HoldId, OutcomeClass, Points, QualityFlag, Status, TaskId, TurnId,
    Verdict, WaitingReason,
};
use crate::engine::{
    DeadlineEvent, DeadlineStep, Event, GateResult, HoldStage, JudgedBy, MissionChange, SeatId, SeatResult,
    State, StopCause, Way, judged_by,
};
use crate::mission::model::OnExhausted;
use crate::mission::{Addition, Deadline, Origin, Part, Plan, succeed};

/// The table of the life cycle (semantics, section 5), written down again.
fn is_edge(from: Status, to: Status) -> bool {
    use Status::{Assigned, AwaitingApproval, Done, Failed, InProgress, Pending, Review};
    let edges: &[Status] = match from {
        Pending => &[Assigned, AwaitingApproval, Failed],
        AwaitingApproval => &[Assigned, InProgress, Pending, Review, Failed],
        Assigned => &[InProgress, Pending, Failed],
        InProgress => &[Review, AwaitingApproval, Pending, Failed],
        Review => &[Done, InProgress, Pending, AwaitingApproval, Failed],
        Done | Failed => &[Pending],
    };
    edges.contains(&to)
}

/// What a task looks like from outside.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    pub(super) status: Status,
    pub(super) flag: Option<QualityFlag>,
    pub(super) attempt: u32,
    pub(super) turn: u32,
    pub(super) in_flight: bool,
    /// What its turn is held against is on record.
    pub(super) noted: bool,
    /// What the finish gate said of this attempt.
    pub(super) gate_met: Option<bool>,
    /// The commands of the finish gate that ended since the last turn.
    pub(super) gate: Vec<bool>,
    /// How often it was told that it does not compile, and of the rest.
    pub(super) nudged: (u32, u32),
    /// Judges sent it back since it last began.
    pub(super) sent_back: bool,
    /// The judge breaker was open.
    pub(super) not_judged: bool,
    /// It changed a protected file.
    pub(super) tampered: bool,
    /// The attempt's agent has finished on record: nobody may start it again.
    pub(super) finished: bool,
    /// By kind, of the current allowance.
    pub(super) tries: u32,
    pub(super) fixes: u32,
    pub(super) retries: u32,
    pub(super) agent_failed: bool,
    pub(super) scan_open: bool,
    pub(super) has_file: bool,
    pub(super) checks: BTreeMap<u32, Option<bool>>,
    pub(super) round: u32,
    pub(super) rounds: u32,
    pub(super) seats: BTreeMap<u32, SeenSeat>,
    pub(super) judge: Option<(Verdict, bool)>,
    pub(super) verification: Option<(Verdict, bool)>,
    pub(super) unparsed: bool,
    pub(super) grading: Option<u32>,
    pub(super) points: Option<Points>,
    /// Judges gave this attempt its points.
    pub(super) scored: bool,
    pub(super) indeterminate: bool,
    /// The number of the approval that is open.
    pub(super) open_approval: Option<u32>,
    pub(super) for_judges: bool,
    pub(super) asked: u32,
    /// Dependencies that it goes on without.
    pub(super) without: BTreeMap<TaskId, Way>,
    pub(super) mode: Option<FailureMode>,
    /// The fixup that it has, and what it is the fixup of.
    pub(super) fixup: Option<TaskId>,
    pub(super) mends: Option<TaskId>,
    pub(super) superseded: bool,
    /// It handed work down since it last began.
    pub(super) handed_down: bool,
    /// A pass of this attempt missed the bar that would hold without a relief.
    pub(super) relief: bool,
    pub(super) questions: u32,
    pub(super) question_open: bool,
    /// Why a person is asked, and for which approval gate.
    pub(super) reason: Option<(WaitingReason, Option<String>)>,
    /// Approvals that were given for the next start.
    pub(super) agreed: Vec<Option<String>>,
    /// Its agent may have acted, and whether a person lets it act again.
    pub(super) acted: bool,
    pub(super) allowed: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct SeenSeat {
    pub(super) tries: u32,
    pub(super) open: bool,
    pub(super) result: Option<SeatResult>,
}

/// The account of one run.
#[derive(Debug, Clone)]
pub struct Witness {
    pub(super) tasks: Vec<Seen>,
    pub(super) gates: Vec<(Option<GateResult>, bool)>,
    /// How often each hold was reached, and how far it got.
    pub(super) holds: Vec<(u32, HoldStage)>,
    pub(super) commands: BTreeSet<String>,
    pub(super) stop: Option<StopCause>,
    pub(super) paused: bool,
    pub(super) threshold: bool,
    /// The budget ended the work of the session.
    pub(super) limit: bool,
    /// What was said of which deadline.
    deadlines: BTreeSet<(Option<TaskId>, u8)>,
    /// Judged rejections in a row, by agent and wave.
    pub(super) rejections: BTreeMap<(String, u32), u32>,
    /// Turns that were ever decided on, and those that ended on record.
    pub started: BTreeSet<TurnId>,
    pub ended: BTreeSet<TurnId>,
}

impl Witness {
    pub fn new(plan: &Plan) -> Self {
        Self {
            tasks: vec![Seen::default(); plan.tasks.len()],
            gates: vec![(None, false); plan.gates.len()],
            holds: vec![(0, HoldStage::Ahead); plan.holds.len()],
            commands: BTreeSet::new(),
            stop: None,
            paused: false,
            threshold: false,
            limit: false,
            deadlines: BTreeSet::new(),
            rejections: BTreeMap::new(),
            started: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    /// Takes one record, before which the engine's state was `state`.
    pub fn take(&mut self, state: &State, record: &[Event]) {
        let forced = |id: TaskId| {
            let mut events = record.iter();
            events.any(|event| matches!(event, Event::ForceAccepted { task, .. } if *task == id))
        };
        for event in record {
            self.event(state, event, &forced);
        }
        self.deadlines_hold(state, record);
    }

    fn event(&mut self, state: &State, event: &Event, forced: &dyn Fn(TaskId) -> bool) {
        match event {
            Event::Transition {
                task,
                from,
                to,
                mode,
                flag,
                ..
            } => {
                assert_eq!(self.tasks[task.index()].status, *from, "{event:?}");
                assert!(is_edge(*from, *to), "no such edge: {event:?}");
                match to {
                    Status::Assigned => self.may_start(state, *task),
                    Status::Done => self.may_be_done(state, *task, *flag, forced(*task)),
                    Status::Failed => self.may_fail(state, *task, *mode),
                    _ => {}
                }
                self.enter(state, *task, *to, *flag);
            }
            Event::AttemptPlanned { task, attempt, kind } => self.plan_attempt(state, *task, *attempt, *kind),
            Event::TurnStarted { turn, .. } => {
                assert!(!self.limit, "nothing is started any more: {event:?}");
                self.dependencies_hold(state, turn.task);
                assert!(self.started.insert(*turn), "started twice: {turn:?}");
                let seen = &mut self.tasks[turn.task.index()];
                assert!(
                    matches!(seen.status, Status::Assigned | Status::InProgress),
                    "{event:?} {seen:?}"
                );
                assert!(!seen.in_flight && !seen.finished, "{event:?} {seen:?}");
                assert_eq!(
                    (turn.attempt, turn.turn),
                    (seen.attempt, seen.turn + 1),
                    "{event:?}"
                );
                let is_protected = !state.plan.task(turn.task).protect.is_empty();
                assert!(seen.noted || !is_protected, "nobody looked before: {event:?}");
                seen.turn += 1;
                seen.gate.clear();
                seen.in_flight = true;
                let twice = seen.acted && state.plan.task(turn.task).side_effects;
                assert!(
                    !twice || seen.allowed,
                    "side effects twice without a person: {turn:?}"
                );
                (seen.acted, seen.allowed) = (true, false);
            }
            Event::FilesNoted { turn, .. } => {
                let seen = &mut self.tasks[turn.task.index()];
                let next = (seen.attempt, seen.turn + 1);
                assert!(!seen.in_flight && !seen.noted, "{event:?} {seen:?}");
                assert_eq!((turn.attempt, turn.turn), next, "{event:?} {seen:?}");
                seen.noted = true;
            }
            Event::AgentSpawned { turn, .. }
            | Event::TurnAdopted { turn }
            | Event::TurnRequestFailed { turn, .. } => self.is_in_flight(*turn),
            Event::TurnFinished {
                turn, exit, files, ..
            } => {
                self.is_in_flight(*turn);
                assert!(self.ended.insert(*turn));
                let seen = &mut self.tasks[turn.task.index()];
                (seen.in_flight, seen.finished) = (false, true);
                seen.noted = false;
                seen.tampered |= files.as_ref().is_some_and(|files| !files.protected.is_empty());
                seen.agent_failed = exit.failure.is_some();
            }
            Event::TurnLost { turn } => {
                self.is_in_flight(*turn);
                self.tasks[turn.task.index()].in_flight = false;
            }
            Event::ScanRequested { task } => self.tasks[task.index()].scan_open = true,
            Event::FilesScanned { task, files, .. } => {
                let seen = &mut self.tasks[task.index()];
                assert!(
                    std::mem::take(&mut seen.scan_open),
                    "looked at without being asked: {event:?}"
                );
                seen.has_file = files.iter().any(|file| file.size.is_some_and(|size| size > 0));
            }
            Event::FinishRequested { task, command } => {
                let gate = &self.tasks[task.index()].gate;
                assert_eq!(gate.len(), *command as usize, "{event:?}");
            }
            Event::FinishChecked {
                task,
                command,
                result,
            } => {
                let gate = &mut self.tasks[task.index()].gate;
                assert_eq!(gate.len(), *command as usize, "{event:?}");
                gate.push(result.passed);
            }
            Event::Nudged {
                task,
                compilation,
                others,
                missing,
            } => {
                let gate = state.plan.task(*task).finish.as_deref().expect("it has a gate");
                let seen = &mut self.tasks[task.index()];
                seen.nudged.0 += u32::from(*compilation);
                seen.nudged.1 += u32::from(*others);
                assert!(seen.nudged.0 <= gate.max_compile_nudges, "{event:?}");
                assert!(seen.nudged.1 <= gate.max_nudges, "{event:?}");
                assert!((*compilation || *others) && !missing.is_empty(), "{event:?}");
                assert!(seen.gate.contains(&false), "{event:?} {seen:?}");
                seen.finished = false;
            }
            Event::CheckRequested { task, check } => {
                self.tasks[task.index()].checks.insert(*check, None);
            }
            Event::CheckFinished { task, check, result } => {
                let before = self.tasks[task.index()]
                    .checks
                    .insert(*check, Some(result.passed));
                assert_eq!(before, Some(None), "not asked, or answered twice: {event:?}");
            }
            Event::SeatRequested { task, seat, .. } => self.seat_requested(state, *task, *seat),
            Event::SeatReplied {
                task, seat, result, ..
            } => {
                self.seat_ended(*task, *seat).result = Some(result.clone());
            }
            Event::SeatFailed { task, seat, .. } => self.seat_ended(*task, *seat).result = None,
            Event::GradingRequested { task, round, .. } => {
                let most = state.plan.rules.max_assessment_retries + 1;
                assert!(*round <= most, "{event:?}");
                self.tasks[task.index()].grading = Some(*round);
            }
            Event::GradingFailed { task, round, .. } => {
                assert_eq!(self.tasks[task.index()].grading.take(), Some(*round), "{event:?}");
            }
            Event::StageVerdict(report) => self.verdict(state, report),
            Event::EvalUnparsed { task } => self.tasks[task.index()].unparsed = true,
            Event::ForceAccepted { task, .. } => self.is_exhausted(state, *task),
            Event::ApprovalRequested {
                task,
                number,
                cause,
                reason,
                gate,
                ..
            } => {
                let seen = &mut self.tasks[task.index()];
                assert_eq!(
                    (seen.status, *number),
                    (Status::AwaitingApproval, seen.asked + 1),
                    "{event:?}"
                );
                seen.asked = *number;
                seen.open_approval = Some(*number);
                seen.reason = Some((*reason, gate.clone()));
                seen.for_judges = matches!(cause, Some(Cause::GateError | Cause::NoReviewer));
            }
            Event::ApprovalResolved {
                task,
                number,
                resolution,
                ..
            } => {
                let seen = &mut self.tasks[task.index()];
                let open = seen.open_approval.take();
                assert_eq!(open, Some(*number), "answered twice or never asked: {event:?}");
                match seen.reason.take().filter(|_| resolution == "approved") {
                    Some((WaitingReason::Approval, gate)) => seen.agreed.push(gate),
                    Some((WaitingReason::SideEffects, _)) => seen.allowed = true,
                    _ => {}
                }
            }
            Event::ApproverAsked { task, number, .. }
            | Event::ApproverUndecided { task, number, .. }
            | Event::ApprovalTimedOut { task, number } => {
                assert_eq!(self.tasks[task.index()].open_approval, Some(*number), "{event:?}");
            }
            Event::RetryBlocked { task, .. } => {
                let seen = &self.tasks[task.index()];
                assert!(seen.acted && state.plan.task(*task).side_effects, "{event:?}");
            }
            Event::HoldReached { hold, number, .. } => {
                assert!(
                    state.plan.hold(*hold).after.iter().all(|id| self.has_ended(*id)),
                    "too early: {event:?}"
                );
                let held = &mut self.holds[hold.index()];
                assert_eq!(*held, (number - 1, HoldStage::Ahead), "{event:?}");
                *held = (*number, HoldStage::Reached);
            }
            Event::HoldPassed { hold, .. } => self.leave(*hold, HoldStage::Passed),
            Event::HoldRejected { hold, .. } => self.leave(*hold, HoldStage::Rejected),
            Event::DependencyFailed { task, dependency } => {
                self.failed_for_good(*dependency);
                assert!(
                    state.plan.dependencies.of(task.index()).contains(dependency),
                    "{event:?}"
                );
            }
            Event::GateEvaluated { gate, result } => self.gate_evaluated(state, *gate, result),
            Event::GateOverridden { gate, .. } => {
                let (result, overridden) = &mut self.gates[gate.index()];
                assert!(result.as_ref().is_some_and(|result| !result.passed), "{event:?}");
                *overridden = true;
            }
            Event::RunStarted(_) => {}
            Event::RunResumed { .. } => {
                (self.stop, self.paused, self.threshold) = (None, false, false);
                self.limit = false;
            }
            Event::Stopping { cause } => self.stop = Some(*cause),
            Event::Deadline(said) => self.deadline(said),
            Event::LimitReached { .. } => {
                assert!(!self.limit && !state.plan.rules.budget.is_none(), "{event:?}");
                self.limit = true;
            }
            Event::CallReleased { .. } => assert!(!self.limit, "{event:?}"),
            Event::CallHeld { .. } | Event::BudgetClock { .. } => {
                assert!(!state.plan.rules.budget.is_none(), "{event:?}");
            }
            Event::Paused { .. } => self.paused = true,
            Event::ThresholdFailed { points, threshold } => {
                assert!(points < threshold, "{event:?}");
                self.threshold = true;
            }
            Event::RunFinished {
                outcome, conditions, ..
            } => {
                let expected = self.conditions(state);
                assert_eq!(
                    (expected[0], &expected),
                    (*outcome, conditions),
                    "{:?}",
                    self.tasks
                );
                assert!(
                    !expected.contains(&OutcomeClass::Internal),
                    "no reason to have ended: {:?}",
                    self.tasks
                );
                assert!(
                    self.tasks.iter().all(|seen| !seen.in_flight),
                    "ended with work in flight"
                );
            }
            Event::TasksAdded(addition) => {
                for added in &addition.tasks {
                    assert!(added.id.index() <= self.tasks.len(), "{event:?}");
                    let size = self.tasks.len().max(added.id.index() + 1);
                    self.tasks.resize_with(size, Seen::default);
                }
                match addition.origin {
                    Origin::Fixup => self.fixup_added(state, addition),
                    Origin::Delegated => self.handed_down(state, addition),
                    Origin::Request => {}
                }
            }
            Event::Superseded { task, by } => {
                let seen = &mut self.tasks[task.index()];
                assert_eq!(
                    (seen.status, seen.fixup),
                    (Status::Failed, Some(*by)),
                    "{event:?}"
                );
                assert!(!std::mem::replace(&mut seen.superseded, true), "{event:?}");
            }
            Event::TasksWithdrawn { tasks } => {
                for id in tasks {
                    let seen = &mut self.tasks[id.index()];
                    assert!(seen.status == Status::Pending && !seen.in_flight, "{event:?}");
                    if let Some(source) = seen.mends.take() {
                        self.tasks[source.index()].fixup = None;
                    }
                }
            }
            Event::CommandTaken { id, .. } => {
                assert!(self.commands.insert(id.clone()), "taken twice: {event:?}")
            }
            Event::DependencyResolved {
                task,
                dependency,
                way,
                ..
            } => {
                self.failed_for_good(*dependency);
                if *way != Way::Retry {
                    self.may_do_without(state, *task, *way);
                    self.tasks[task.index()].without.insert(*dependency, *way);
                }
            }
            Event::Question { task, .. } => {
                let seen = &mut self.tasks[task.index()];
                assert!(seen.finished && seen.status == Status::InProgress, "{event:?}");
                seen.questions += 1;
                assert!(
                    seen.questions <= state.plan.rules.max_question_rounds,
                    "{event:?}"
                );
                seen.question_open = true;
            }
            // The next turn of the attempt follows.
            Event::Answered { task, .. } => {
                let seen = &mut self.tasks[task.index()];
                assert!(std::mem::take(&mut seen.question_open), "{event:?}");
                seen.finished = false;
            }
            Event::DeadlockDetected { task, dependency } => {
                self.failed_for_good(*dependency);
                assert_eq!(self.tasks[task.index()].status, Status::Pending, "{event:?}");
            }
            Event::MissionChanged(change) => self.mission_changed(state, change),
            Event::AgentActivity { .. }
            | Event::AgentStale { .. }
            | Event::ArtifactsRequested { .. }
            | Event::ArtifactsScanned { .. }
            | Event::ConsultRequested { .. }
            | Event::ConsultReplied { .. }
            | Event::ConsultFailed { .. }
            | Event::Waiting { .. }
            | Event::Warning { .. }
            | Event::Notice(_)
            | Event::DelegationRequested { .. }
            | Event::DelegationRefused { .. }
            | Event::Salvaged { .. } => {}
        }
    }

    /// Each thing is said once, and nothing behind the end of it.
    fn deadline(&mut self, said: &DeadlineEvent) {
        assert!(self.deadlines.insert((said.task, said.step as u8)), "{said:?}");
        let ended = [DeadlineStep::Violated, DeadlineStep::Met];
        let before = ended
            .iter()
            .filter(|step| **step != said.step && self.deadlines.contains(&(said.task, **step as u8)));
        assert_eq!(before.count(), 0, "{said:?}");
        match said.step {
            DeadlineStep::Met => assert!(said.at <= said.due, "{said:?}"),
            DeadlineStep::Violated => assert!(said.at > said.due, "{said:?}"),
            DeadlineStep::Set | DeadlineStep::Warned => {}
        }
    }

    /// What a record leaves open of the deadlines that it is about (section 14).
    fn deadlines_hold(&self, state: &State, record: &[Event]) {
        let passes = |task: Option<TaskId>| {
            let passed = |event: &Event| matches!(event, Event::Deadline(said) if said.task == task && said.step == DeadlineStep::Violated);
            record.iter().any(passed)
        };
        let is_set = |task| self.deadlines.contains(&(task, DeadlineStep::Set as u8));
        let ended = [DeadlineStep::Violated, DeadlineStep::Met];
        let is_settled = |task| {
            ended
                .iter()
                .any(|step| self.deadlines.contains(&(task, *step as u8)))
        };
        for event in record {
            match event {
                Event::Deadline(said) => {
                    let planned = match said.task {
                        Some(task) => state.plan.task(task).deadline,
                        None => state.plan.rules.deadline,
                    };
                    let due = match (planned, said.since) {
                        (Some(Deadline::At(at)), _) => Some(at),
                        (Some(Deadline::After(span)), since) => since.map(|since| since.plus(span)),
                        (None, _) => None,
                    };
                    assert_eq!(due, Some(said.due), "{said:?}");
                    let part = said
                        .task
                        .map_or(Part::Selected, |task| state.plan.task(task).part);
                    assert_eq!(part, Part::Selected, "{said:?}");
                }
                Event::TurnStarted { turn, .. } => {
                    let is_planned = state.plan.task(turn.task).deadline.is_some();
                    let of = Some(turn.task);
                    assert!(!is_planned || is_set(of) || is_settled(of), "{event:?}");
                }
                Event::Transition {
                    task,
                    to: Status::Done,
                    ..
                } => {
                    let of = Some(*task);
                    assert!(
                        !is_set(of) || state.plan.task(*task).deadline.is_none() || is_settled(of),
                        "{event:?}"
                    );
                }
                Event::Transition {
                    task,
                    to: Status::Failed,
                    mode: Some(FailureMode::Deadline),
                    ..
                } => {
                    assert!(
                        state.plan.rules.sla.fails && (passes(Some(*task)) || passes(None)),
                        "{event:?}"
                    );
                }
                Event::RunFinished {
                    outcome: OutcomeClass::Ok,
                    ..
                } => {
                    assert!(
                        state.plan.rules.deadline.is_none() || !is_set(None) || is_settled(None),
                        "{event:?}"
                    );
                }
                _ => {}
            }
        }
        // Done too late is done all the same; whatever else passed its moment does not go on.
        let open = |id: TaskId| !matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
        let over = state
            .plan
            .selected_ids()
            .filter(|id| passes(Some(*id)) || passes(None));
        for id in over.filter(|_| state.plan.rules.sla.fails) {
            assert!(!open(id), "{id:?} goes on: {record:?}");
        }
    }

    /// What keeps its title keeps its number, and whatever does not hold any more was withdrawn before.
    fn mission_changed(&mut self, state: &State, change: &MissionChange) {
        let mission = change.mission.as_deref();
        let mission = mission.expect("whoever reads a journal puts it in").clone();
        let plan = succeed(&state.plan, mission);
        for (old, new) in state.plan.tasks.iter().zip(plan.tasks.iter()) {
            assert_eq!(old.title, new.title);
        }
        for (old, new) in state.plan.gates.iter().zip(plan.gates.iter()) {
            assert_eq!(old.name, new.name);
        }
        for task in change.removed.iter().chain(&change.changed) {
            let seen = &self.tasks[task.index()];
            assert!(
                seen.status == Status::Pending && !seen.in_flight,
                "{task:?} {seen:?}"
            );
        }
        for task in &change.removed {
            if let Some(source) = self.tasks[task.index()].mends.take() {
                self.tasks[source.index()].fixup = None;
            }
        }
        for gate in &change.gates {
            self.gates[gate.index()] = (None, false);
        }
        self.tasks.resize_with(plan.tasks.len(), Seen::default);
        self.gates.resize_with(plan.gates.len(), Default::default);
        self.holds.resize(plan.holds.len(), (0, HoldStage::Ahead));
        // A hold that waits for something else now has not been reached.
        let after = |plan: &Plan, index: usize| {
            let hold = plan.holds.get(index)?;
            Some((hold.kind, hold.after.iter().copied().collect::<BTreeSet<_>>()))
        };
        let tasks = (0..self.tasks.len()).map(TaskId::from_index);
        let settled: Vec<bool> = tasks.map(|id| self.has_ended(id)).collect();
        for (index, held) in self.holds.iter_mut().enumerate() {
            let hold = &plan.holds[index];
            let ended = |id: &TaskId| settled.get(id.index()).is_some_and(|settled| *settled);
            let stands = hold.part == Part::Selected && hold.after.iter().all(ended);
            let moved = after(&state.plan, index).is_some_and(|old| after(&plan, index) != Some(old));
            if moved || (held.1 == HoldStage::Reached && !stands) {
                held.1 = HoldStage::Ahead;
            }
        }
    }

    fn is_in_flight(&self, turn: TurnId) {
        let seen = &self.tasks[turn.task.index()];
        let current = seen.in_flight && (seen.attempt, seen.turn) == (turn.attempt, turn.turn);
        assert!(current, "a turn that is over: {turn:?} {seen:?}");
    }

    /// The share that is done against what failed, counted anew (section 11).
    fn may_do_without(&self, state: &State, task: TaskId, way: Way) {
        if way != Way::Partial {
            return;
        }
        let needs = state.plan.dependencies.of(task.index());
        let done = needs.iter().filter(|on| self.is_there(**on));
        let share = done.count() as f64 / needs.len() as f64;
        for on in needs
            .iter()
            .filter(|on| self.tasks[on.index()].status == Status::Failed && !self.is_there(**on))
        {
            let least = match self.tasks[on.index()].mode {
                Some(FailureMode::Timeout) => 0.0,
                Some(FailureMode::RateLimit) => 0.3,
                Some(FailureMode::Error) => 0.5,
                Some(FailureMode::Quality | FailureMode::Hollow) => 0.7,
                Some(FailureMode::Cascade) => 0.8,
                mode => panic!("{task:?} goes on without {on:?}: {mode:?}"),
            };
            let known = self.tasks[task.index()].without.contains_key(on);
            assert!(known || share >= least, "{task:?} goes on without {on:?}");
        }
    }

    fn dependencies_hold(&self, state: &State, task: TaskId) {
        for on in state.plan.dependencies.of(task.index()) {
            if self.tasks[task.index()].without.contains_key(on) {
                continue;
            }
            assert!(self.is_there(*on), "{task:?} starts before {on:?} is done");
        }
    }

    /// Done, or superseded by a fixup.
    pub(super) fn is_there(&self, id: TaskId) -> bool {
        let seen = &self.tasks[id.index()];
        seen.status == Status::Done || seen.superseded
    }

    /// It has ended, and if it failed nothing is under way that could make up for it.
    pub(super) fn has_ended(&self, id: TaskId) -> bool {
        let ended = |id: TaskId| matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
        let seen = &self.tasks[id.index()];
        ended(id) && (seen.status == Status::Done || seen.fixup.is_none_or(ended))
    }

    fn failed_for_good(&self, id: TaskId) {
        let seen = &self.tasks[id.index()];
        assert_eq!(seen.status, Status::Failed, "{id:?} {seen:?}");
        assert!(!seen.superseded && self.has_ended(id), "{id:?} {seen:?}");
    }

    /// A task is about to be done and hands work down: what it asked for, once, and only if it is done clean.
    fn handed_down(&mut self, state: &State, addition: &Addition) {
        let source = addition.source.expect("somebody hands it down");
        let most = state.plan.rules.max_delegations as usize;
        assert!(addition.tasks.len() <= most, "{addition:?}");
        assert!(
            addition.tasks.iter().all(|added| added.needs.contains(&source)),
            "{addition:?}"
        );
        for added in &addition.tasks {
            let seen = &self.tasks[added.id.index()];
            assert_eq!(seen.status, Status::Pending, "made twice: {added:?}");
            for waiting in &added.awaited_by {
                let seen = &self.tasks[waiting.index()];
                assert_eq!(seen.status, Status::Pending, "it has begun: {added:?}");
            }
        }
        let seen = &mut self.tasks[source.index()];
        assert_eq!(seen.status, Status::Review, "{addition:?} {seen:?}");
        assert!(!std::mem::replace(&mut seen.handed_down, true), "{addition:?}");
    }

    /// A task is about to fail and gets a fixup: at most one, and never a fixup itself.
    fn fixup_added(&mut self, state: &State, addition: &Addition) {
        let (Some(source), [fixup]) = (addition.source, addition.tasks.as_slice()) else {
            panic!("{addition:?}");
        };
        let policy = state
            .plan
            .task(source)
            .on_exhausted
            .or(state.plan.rules.on_exhausted);
        assert_eq!(policy, Some(OnExhausted::Fixup), "{addition:?}");
        let seen = self.tasks[source.index()].clone();
        assert_eq!(seen.status, Status::Review, "{addition:?} {seen:?}");
        assert!(
            seen.fixup.is_none() && seen.mends.is_none(),
            "{addition:?} {seen:?}"
        );
        assert!(fixup.needs.iter().all(|on| self.is_there(*on)), "{addition:?}");
        self.tasks[source.index()].fixup = Some(fixup.id);
        let mending = &mut self.tasks[fixup.id.index()];
        assert_eq!(mending.status, Status::Pending, "{addition:?}");
        mending.mends = Some(source);
        mending.acted |= seen.acted;
    }

    fn leave(&mut self, hold: HoldId, stage: HoldStage) {
        let held = &mut self.holds[hold.index()];
        assert_eq!(held.1, HoldStage::Reached, "{hold:?} {stage:?}");
        held.1 = stage;
    }

    /// A gate holds tasks, not turns: what has started may finish its attempt when the gate is withdrawn
    /// (`--retry-failed` of a task that the gate had let fail).
    fn gates_are_open(&self, state: &State, task: TaskId) {
        for gate in state.plan.gates_before.of(task.index()) {
            let (result, overridden) = &self.gates[gate.index()];
            let open = *overridden || result.as_ref().is_some_and(|result| result.passed);
            assert!(open, "{task:?} starts before {gate:?} is open");
        }
    }

    /// Slots, the agent's own limit, and tasks that want to be alone.
    fn may_start(&self, state: &State, task: TaskId) {
        self.dependencies_hold(state, task);
        self.gates_are_open(state, task);
        let plan = &state.plan;
        for hold in plan.holds_before.of(task.index()) {
            let (_, stage) = self.holds[hold.index()];
            assert_eq!(
                stage,
                HoldStage::Passed,
                "{task:?} starts before {hold:?} is passed"
            );
        }
        for approval in &plan.task(task).approvals {
            let given = &self.tasks[task.index()].agreed;
            let gate = approval.gate.as_deref().map(str::to_owned);
            assert!(
                given.contains(&gate),
                "{task:?} starts without agreement to {gate:?}"
            );
        }
        assert_eq!(plan.task(task).part, Part::Selected, "{task:?} was left out");
        let is_held = |seen: &Seen| {
            matches!(
                seen.status,
                Status::Assigned | Status::InProgress | Status::Review
            )
        };
        let holders: Vec<_> = plan
            .tasks
            .iter()
            .zip(&self.tasks)
            .filter(|(_, seen)| is_held(seen))
            .collect();
        assert!(
            holders.len() < plan.rules.concurrency as usize,
            "{task:?} has no slot"
        );
        let alone = plan.task(task).exclusive || holders.iter().any(|(plan, _)| plan.exclusive);
        assert!(!alone || holders.is_empty(), "{task:?} is not alone");
        let agent = plan.task(task).agent;
        let busy = holders.iter().filter(|(plan, _)| plan.agent == agent).count();
        let limit = plan.agent(agent).spec.max_concurrent;
        assert!(
            limit.is_none_or(|limit| busy < limit as usize),
            "{task:?}: its agent is busy"
        );
    }

    /// `done` needs what the mission asked for, seen in this attempt (sections 3, 6 and 20).
    fn may_be_done(&self, state: &State, task: TaskId, flag: Option<QualityFlag>, forced: bool) {
        let seen = &self.tasks[task.index()];
        let plan = state.plan.task(task);
        assert!(
            seen.finished && !seen.agent_failed && !seen.tampered,
            "done without work: {task:?} {seen:?}"
        );
        assert_eq!(
            flag == Some(QualityFlag::BelowThreshold),
            forced,
            "{task:?} {seen:?}"
        );
        if !plan.target_files.is_empty() {
            assert!(seen.has_file, "done without its files: {task:?} {seen:?}");
        }
        if forced {
            return;
        }
        let checks = plan
            .expectations
            .as_deref()
            .map_or(0, |expectations| expectations.checks.len());
        let passed = seen
            .checks
            .values()
            .filter(|result| **result == Some(true))
            .count();
        let by_person = matches!(seen.judge, Some((Verdict::Pass, true)));
        assert!(passed == checks, "done without its checks: {task:?} {seen:?}");
        if plan.verification.is_some() {
            let said = matches!(seen.verification, Some((Verdict::Pass, _)));
            assert!(said, "done without its criteria: {task:?} {seen:?}");
        }
        let partly = |way: &Way| matches!(way, Way::Artifacts | Way::Partial);
        if plan.finish.is_some() {
            let unmet = seen.gate_met != Some(true);
            assert!(
                seen.gate_met.is_some(),
                "done without its gate: {task:?} {seen:?}"
            );
            assert_eq!(unmet, seen.gate.contains(&false), "{task:?} {seen:?}");
        }
        if seen.unverified() {
            // Never less than that, whatever else was said of it.
            let least = if seen.without.values().any(partly) {
                QualityFlag::Degraded
            } else {
                QualityFlag::Unverified
            };
            assert_eq!(flag, Some(least), "{task:?} {seen:?}");
            let judged = matches!(seen.judge, Some((Verdict::Pass, _))) || seen.not_judged;
            let asked = matches!(judged_by(state, task), JudgedBy::Panel(_));
            let by_verification = matches!(seen.verification, Some((Verdict::Pass, _)));
            assert!(judged || !asked || by_verification, "{task:?} {seen:?}");
            return;
        }
        if seen.without.values().any(partly) {
            assert_eq!(flag, Some(QualityFlag::Degraded), "{task:?} {seen:?}");
            return;
        }
        let fail_open = state.plan.rules.fail_open_on_unparsed_eval && seen.unparsed;
        let judged = matches!(seen.judge, Some((Verdict::Pass, _)));
        match judged_by(state, task) {
            JudgedBy::Panel(panel) => {
                let by_word = by_person || matches!(seen.verification, Some((Verdict::Pass, true)));
                assert!(judged && flag == Some(seen.good(by_word)), "{task:?} {seen:?}");
                assert!(
                    panel.people.is_empty() || by_person,
                    "no person said so: {task:?} {seen:?}"
                );
            }
            JudgedBy::Evaluation(_) => {
                // A person's word about the criteria stands for the whole of it.
                let by_person = by_person || matches!(seen.verification, Some((Verdict::Pass, true)));
                let clean = flag == Some(seen.good(by_person)) && (judged || by_person);
                let open = flag == Some(QualityFlag::Unreviewed) && fail_open;
                assert!(clean || open, "{task:?} {flag:?} {seen:?}");
            }
            JudgedBy::ChecksOnly => {
                let by_person = matches!(seen.verification, Some((Verdict::Pass, true)));
                assert_eq!(flag, Some(seen.good(by_person)), "{task:?} {seen:?}");
            }
            JudgedBy::Nobody => {
                // Reviewers who were asked before the reviews were switched off have spoken all the same.
                let by_person = by_person || matches!(seen.verification, Some((Verdict::Pass, true)));
                let expected = if by_person || judged {
                    seen.good(by_person)
                } else {
                    QualityFlag::Unreviewed
                };
                assert_eq!(flag, Some(expected), "{task:?} {seen:?}");
            }
        }
    }

    fn may_fail(&mut self, state: &State, task: TaskId, mode: Option<FailureMode>) {
        let mode = mode.expect("a failure has a mode");
        self.tasks[task.index()].mode = Some(mode);
        let tampered = self.tasks[task.index()].tampered;
        assert_eq!(mode == FailureMode::Protected, tampered, "{task:?}");
        if matches!(mode, FailureMode::Quality | FailureMode::Hollow) {
            self.is_exhausted(state, task);
        }
    }

    /// No further attempt is allowed, or there was no progress that anybody could see.
    fn is_exhausted(&self, state: &State, task: TaskId) {
        let seen = &self.tasks[task.index()];
        let plan = state.plan.task(task);
        let limits = plan.limits;
        let at_cap = self.cap(state, task).is_some_and(|cap| seen.tries >= cap);
        let more = u32::from(plan.foundation);
        let used = seen.fixes >= limits.max_fix_attempts && seen.retries >= limits.max_retries + more
            || seen.retries > limits.max_retries;
        let may_stall = !plan.target_files.is_empty() && seen.attempt > 1;
        assert!(
            at_cap || used || may_stall,
            "given up too early: {task:?} {seen:?} {limits:?}"
        );
    }

    fn cap(&self, state: &State, task: TaskId) -> Option<u32> {
        let limits = state.plan.task(task).limits;
        let evaluated = matches!(judged_by(state, task), JudgedBy::Evaluation(_));
        limits
            .max_attempts
            .or(evaluated
                .then_some(limits.max_evaluated_attempts + u32::from(state.plan.task(task).foundation)))
    }

    fn plan_attempt(&mut self, state: &State, task: TaskId, attempt: u32, kind: AttemptKind) {
        let cap = self.cap(state, task);
        let limits = state.plan.task(task).limits;
        let seen = &mut self.tasks[task.index()];
        // An attempt that was planned and has not begun may become the first of a changed task.
        let unbegun = kind == AttemptKind::Execute && seen.turn == 0 && attempt == seen.attempt;
        assert!(
            unbegun || attempt == seen.attempt + 1,
            "{task:?} {kind:?} {attempt} {seen:?}"
        );
        assert!(!seen.in_flight, "{task:?} {seen:?}");
        let is_forgiven = kind == AttemptKind::Execute;
        assert!(
            is_forgiven || !seen.tampered,
            "tried again by itself: {task:?} {seen:?}"
        );
        // A score is of the attempt that was judged, never of the next one.
        seen.points = None;
        match kind {
            AttemptKind::Execute => {
                let agent = state.plan.agent(state.plan.task(task).agent).name.to_string();
                self.rejections.remove(&(agent, state.plan.task(task).wave));
                seen.noted = false;
                seen.sent_back = false;
                assert_eq!(seen.status, Status::Pending, "{task:?}");
                (seen.tries, seen.fixes, seen.retries, seen.questions) = (0, 0, 0, 0);
                seen.agreed.clear();
            }
            AttemptKind::Fix => {
                assert!(!seen.agent_failed, "a crash is not fixed: {task:?} {seen:?}");
                seen.fixes += 1;
            }
            AttemptKind::Retry => {
                seen.retries += 1;
                seen.fixes = 0;
            }
        }
        seen.tries += 1;
        assert!(seen.fixes <= limits.max_fix_attempts, "{task:?} {seen:?}");
        let more = u32::from(state.plan.task(task).foundation);
        assert!(seen.retries <= limits.max_retries + more, "{task:?} {seen:?}");
        let most = (1 + limits.max_fix_attempts) * (1 + limits.max_retries) + more;
        assert!(seen.tries <= most, "{task:?} {seen:?}");
        assert!(cap.is_none_or(|cap| seen.tries <= cap), "{task:?} {seen:?}");
        seen.begin(attempt);
    }

    fn enter(&mut self, state: &State, task: TaskId, to: Status, flag: Option<QualityFlag>) {
        let seen = &mut self.tasks[task.index()];
        let from = std::mem::replace(&mut seen.status, to);
        seen.flag = flag;
        let hands_down = std::mem::take(&mut seen.handed_down);
        assert!(
            !hands_down || (to, flag) == (Status::Done, Some(QualityFlag::Clean)),
            "handed down, and not clean: {task:?} {seen:?}"
        );
        if to == Status::Assigned && seen.attempt == 0 {
            seen.tries = 1;
            seen.begin(1);
        }
        // Nobody answered: the reviewers are asked again, and everything before them is looked at again.
        let unanswered = seen.open_approval.take().is_some();
        if from == Status::AwaitingApproval && to == Status::Review && unanswered {
            assert!(seen.for_judges, "{task:?} {seen:?}");
            seen.checks.clear();
            seen.gate.clear();
            (seen.rounds, seen.scored) = (0, false);
            (seen.judge, seen.verification) = (None, None);
        }
        if matches!(to, Status::Done | Status::Failed) {
            seen.in_flight = false;
        }
        self.tasks[task.index()].question_open &= matches!(to, Status::InProgress | Status::AwaitingApproval);
        if unanswered && from == Status::AwaitingApproval && to == Status::Pending {
            self.tasks[task.index()].withdraw_agreement();
        }
        let mends = self.tasks[task.index()].mends;
        let mends = mends.filter(|source| self.tasks[source.index()].status == Status::Failed);
        if to == Status::Done
            && let Some(source) = mends
        {
            let clean = flag == Some(QualityFlag::Clean);
            assert_eq!(
                self.tasks[source.index()].superseded,
                clean,
                "{source:?} {task:?}"
            );
        }
        if matches!(from, Status::Done | Status::Failed) {
            self.tasks[task.index()].without.clear();
            self.nobody_has(state, task, from == Status::Done);
            if let Some(source) = mends {
                self.nobody_has(state, source, false);
            }
            self.tasks[task.index()].withdraw_agreement();
            for hold in state.plan.holds_before.of(task.index()) {
                let held = &mut self.holds[hold.index()];
                if held.1 == HoldStage::Rejected {
                    held.1 = HoldStage::Ahead;
                }
            }
        }
    }

    /// What a task came to does not hold any more.
    fn nobody_has(&mut self, state: &State, task: TaskId, was_done: bool) {
        let superseded = std::mem::take(&mut self.tasks[task.index()].superseded);
        // What has not begun waits for it again.
        for on_it in state.plan.dependents.of(task.index()) {
            let seen = &mut self.tasks[on_it.index()];
            if was_done || superseded || seen.status == Status::Pending {
                seen.without.remove(&task);
            }
        }
        for hold in state.plan.holds_after.of(task.index()) {
            self.holds[hold.index()].1 = HoldStage::Ahead;
        }
        for gate in state.plan.gates_after.of(task.index()) {
            self.gates[gate.index()] = (None, false);
        }
    }

    fn seat_requested(&mut self, state: &State, task: TaskId, seat: SeatId) {
        let is_panel = matches!(judged_by(state, task), JudgedBy::Panel(_));
        let most = if is_panel {
            state.plan.rules.max_assessment_retries + 1
        } else {
            1
        };
        let is_open = self.is_open(state, task);
        let seen = &mut self.tasks[task.index()];
        let is_first = seat.attempt_try == 1 && seen.rounds == 0 && seat.round != seen.round;
        assert!(
            !is_open || !is_first,
            "judged though the breaker is open: {task:?}"
        );
        assert_eq!(
            (seen.status, seen.attempt),
            (Status::Review, seat.attempt),
            "{seat:?}"
        );
        if seat.round != seen.round {
            assert_eq!(seat.round, seen.round + 1, "{task:?} {seat:?}");
            seen.round = seat.round;
            seen.rounds += 1;
            assert!(seen.rounds <= most, "{task:?} {seat:?} {seen:?}");
            seen.seats.clear();
        }
        let place = seen.seats.entry(seat.seat).or_default();
        assert!(!place.open, "{task:?} {seat:?} is asked twice");
        assert_eq!(seat.attempt_try, place.tries + 1, "{task:?} {seat:?}");
        assert!(
            seat.attempt_try <= 5,
            "one reprompt, three request retries: {seat:?}"
        );
        *place = SeenSeat {
            tries: seat.attempt_try,
            open: true,
            result: None,
        };
    }

    fn seat_ended(&mut self, task: TaskId, seat: SeatId) -> &mut SeenSeat {
        let seen = &mut self.tasks[task.index()];
        assert_eq!(
            (seen.attempt, seen.round),
            (seat.attempt, seat.round),
            "a reply of another round: {seat:?}"
        );
        let place = seen.seats.get_mut(&seat.seat).expect("the seat was asked");
        assert!(
            place.open && place.tries == seat.attempt_try,
            "a reply too many: {seat:?} {place:?}"
        );
        place.open = false;
        place
    }

    /// Whether the engine's own account says the same.
    pub fn agrees_with(&self, state: &State) {
        for (seen, task) in self.tasks.iter().zip(&state.tasks) {
            assert_eq!(
                (seen.status, seen.flag, seen.attempt, seen.in_flight, seen.tries),
                (
                    task.status,
                    task.flag,
                    task.attempt,
                    task.running.is_some(),
                    task.tries
                )
            );
            assert_eq!(
                (seen.points, seen.indeterminate, seen.superseded),
                (task.points, task.indeterminate, task.superseded),
                "{seen:?}"
            );
        }
    }
}

impl Witness {
    /// Whether so many rejections in a row keep a task's work from its judges.
    pub(super) fn is_open(&self, state: &State, task: TaskId) -> bool {
        let plan = state.plan.task(task);
        let key = (state.plan.agent(plan.agent).name.to_string(), plan.wave);
        let limit = state.plan.rules.judge_breaker;
        let is_theirs = self.tasks[task.index()].sent_back;
        !is_theirs && limit > 0 && self.rejections.get(&key).is_some_and(|count| *count >= limit)
    }
}

impl Seen {
    fn withdraw_agreement(&mut self) {
        self.agreed.clear();
        self.allowed = false;
    }

    /// What good work is, where no less was shown than it should.
    fn good(&self, by_person: bool) -> QualityFlag {
        if self.relief && !by_person {
            QualityFlag::Relaxed
        } else {
            QualityFlag::Clean
        }
    }

    /// Something that it should have shown was not shown.
    pub(super) fn unverified(&self) -> bool {
        self.not_judged || self.gate_met == Some(false)
    }

    fn begin(&mut self, attempt: u32) {
        let of_the_task = Self {
            status: self.status,
            flag: self.flag,
            tries: self.tries,
            fixes: self.fixes,
            retries: self.retries,
            points: self.points,
            asked: self.asked,
            agreed: std::mem::take(&mut self.agreed),
            acted: self.acted,
            allowed: self.allowed,
            noted: self.noted,
            without: std::mem::take(&mut self.without),
            questions: self.questions,
            sent_back: self.sent_back,
            fixup: self.fixup,
            mends: self.mends,
            superseded: self.superseded,
            ..Self::default()
        };
        *self = Self {
            attempt,
            ..of_the_task
        };
    }
}
