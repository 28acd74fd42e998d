//! The reference model: it keeps its own, simpler account of a run from the events alone and panics where the rules are
//! broken. It shares no code with `engine::apply` and `engine::decide`, so that both would have to be wrong
//! in the same way.
//!
//! | file | what |
//! |---|---|
//! | `attempts` | the life of a task: who may start, what may be done, how often |
//! | `audits` | accepted work: what it was accepted for, when it must be looked at (6) |
//! | `calls` | what calls cost: each is counted once, whatever became of it |
//! | `deadlines` | what the reference model says of deadlines |
//! | `growth` | tasks that come or go, fixups, dependencies that failed |
//! | `judges` | who is to judge a task, by what it declares |
//! | `seats` | what the reference model says of seats |
//! | `verdicts` | what the reference model makes of verdicts: of a stage, of a gate, of the run |

mod attempts;
mod audits;
mod calls;
mod deadlines;
mod growth;
mod judges;
mod seats;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use audits::{Audits, Record, Reopened};
use calls::Calls;

use rules::domain::{
    AgentId, Answer, BarrierId, BeforeWork, Cause, Digest, Edge, FailureClass, FailureMode, HoldOwner,
    OutcomeClass, Points, Purpose, QualityFlag, StageKey, Status, TaskId, TurnId, Verdict, WaitingReason,
};
use rules::engine::{
    AfterScan, AskEvent, AskReply, BudgetEvent, Concern, DeferralReason, DependencyStep, Event, FileFact,
    GateEvent, GateResult, HoldEvent, Job, JobEnd, Resolution, RunEvent, RunWork, State, StopCause,
    TaskEvent, TaskWork, TurnEvent, TurnUpdate, Way, WorkEvent,
};
use rules::mission::model::OnExhausted;
use rules::plan::{Origin, Plan};

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

/// The outside view of a task.
#[derive(Debug, Clone, Default)]
struct Seen {
    status: Status,
    flag: Option<QualityFlag>,
    attempt: u32,
    turn: u32,
    in_flight: bool,
    /// The turn before which was noted what the next one is held against.
    noted: Option<TurnId>,
    /// Whether the finish gate of this attempt was met; `None` before it ran.
    gate_met: Option<bool>,
    /// The commands of the finish gate that ended since the last turn.
    gate: Vec<bool>,
    /// How often the worker was told that the work does not compile, and how often of the rest.
    nudged: (u32, u32),
    /// Whether judges sent the work back since the task last began.
    sent_back: bool,
    /// The judge breaker was open.
    not_judged: bool,
    /// The flag under which the work is accepted in spite of its last verdict.
    forced: Option<QualityFlag>,
    /// A person answered that.
    answered: bool,
    /// Whether the work is being merged, and whether it has landed.
    merging: bool,
    landed: bool,
    /// How often the work could not be merged as it was, since the task last began by a person's word.
    conflicts: u32,
    /// How many parts of the judging of its attempt did not count.
    voided: u32,
    /// Whether the work changed a protected file.
    tampered: bool,
    /// The attempt's agent has finished on record: nobody may start it again.
    finished: bool,
    /// Agents that others went on for, since the task last began by a person's word.
    given_up: BTreeSet<AgentId>,
    /// By kind, of the current allowance.
    tries: u32,
    fixes: u32,
    retries: u32,
    agent_failed: bool,
    scan_open: bool,
    /// The files that were seen, each with whether it has content.
    files: BTreeMap<String, bool>,
    checks: BTreeMap<u32, Option<bool>>,
    round: u32,
    rounds: u32,
    seats: BTreeMap<u32, SeenSeat>,
    judge: Option<(Verdict, bool)>,
    verification: Option<(Verdict, bool)>,
    unparsed: bool,
    grading: Option<u32>,
    /// The judge that was asked last in a stage of one, in which stage and round, and whether strictly.
    alone: Option<(AgentId, StageKey, u32, bool)>,
    /// Further stages: the one that is out, and what each said, a person instead of it too.
    step: Option<(StageKey, u32)>,
    /// Whether the pictures that are there were looked at.
    looked: bool,
    steps: BTreeMap<StageKey, (Verdict, bool)>,
    /// Whether a stage was withdrawn, because judges are switched off.
    withdrawn: bool,
    /// Whether a stage was withdrawn and no person has vouched for the work at a later one.
    unlooked: bool,
    points: Option<Points>,
    /// Judges gave this attempt its points.
    scored: bool,
    indeterminate: bool,
    /// The number of the approval that is open.
    open_approval: Option<u32>,
    for_judges: bool,
    asked: u32,
    /// Dependencies that it goes on without.
    without: BTreeMap<TaskId, Way>,
    mode: Option<FailureMode>,
    /// The fixup that it has, and what it is the fixup of.
    fixup: Option<TaskId>,
    fixup_of: Option<TaskId>,
    superseded: bool,
    /// Whether the task delegated work since it last began.
    delegated: bool,
    /// A pass of this attempt missed the bar that would hold without a relief.
    relief: bool,
    /// A check of this attempt passed only when it ran again.
    flaky: bool,
    questions: u32,
    question_open: bool,
    /// Whether the agent says that something does not hold, and nobody has answered.
    escalated: bool,
    /// The results of the checks before the work, each with whether it failed only for it could not run.
    before: Option<BTreeMap<Digest, (BeforeWork, bool)>>,
    /// Whether the look at the checks before the work is under way.
    looked_before: bool,
    /// Whether a person let the task begin although a check was green that is to be red.
    begins_green: bool,
    /// Whether it has had a turn.
    has_begun: bool,
    /// Whether something that it needs was withdrawn before its first turn.
    outdated: bool,
    /// Whether the work was accepted by checks of which nobody knows what they said before.
    baseline_unknown: bool,
    /// Why a person is asked, for which approval gate, and whether a check was green that is to be red.
    reason: Option<(WaitingReason, Option<String>, bool)>,
    /// Approvals that were given for the next start.
    agreed: Vec<Option<String>>,
    /// The wait for a limit to reset or for the next attempt: its reason, and the tries that it counts.
    waits: Option<(DeferralReason, u32)>,
    /// The agents that were asked and met a limit, by the number of the ask.
    limited: BTreeMap<u32, Purpose>,
    /// Whether the agent may have acted, and whether a person lets it act again.
    acted: bool,
    allowed: bool,
    /// Turns that had ended when a check began.
    passed_at: BTreeMap<u32, u64>,
    /// The files and checks that the work was accepted for.
    record: Option<Record>,
    /// An audit says that this does not stand.
    regressed: bool,
    /// How often one did, since it last began by a person's word.
    regressions: u32,
    /// The second judging or attempt of accepted work that did not stand.
    reopened: Option<Reopened>,
    /// For a verification: the edge that its verdict took, and its visits.
    edge: Option<Edge>,
    visits: u32,
    /// Dependencies that did not stand after it had begun.
    goes_on: BTreeSet<TaskId>,
    /// The judges that were asked last, and those that were asked once more because files changed.
    asked_last: Asked,
    repeated: BTreeSet<Asked>,
}

/// The kind of judge that is asked about a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Asked {
    #[default]
    Judges,
    Grader,
    Step(StageKey),
}

#[derive(Debug, Clone, Default)]
struct SeenSeat {
    tries: u32,
    /// Tries that met a limit which resets: no failures.
    windows: u32,
    open: bool,
    /// The first reply, while the seat is asked for the answers that it left out.
    first: Option<Answer>,
    result: Option<Answer>,
}

impl Seen {
    /// Whether a file with content was there when they were looked at last.
    fn has_file(&self) -> bool {
        self.files.values().any(|there| *there)
    }

    /// From assigned to the end of review, and never while it waits for a moment or for a slot.
    fn holds_a_slot(&self) -> bool {
        let works = matches!(self.status, Status::Assigned | Status::InProgress | Status::Review);
        works && self.waits.is_none()
    }
}

/// How far a checkpoint or a delay got.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Standing {
    Ahead,
    Reached,
    Passed,
    Rejected,
}

/// The account of one run.
#[derive(Debug, Clone)]
pub struct ReferenceModel {
    tasks: Vec<Seen>,
    gates: Vec<(Option<GateResult>, bool)>,
    /// How often each hold was reached, and how far it got.
    holds: Vec<(u32, Standing)>,
    commands: BTreeSet<String>,
    stop: Option<StopCause>,
    /// Somebody else touched what this session rests on.
    foreign: bool,
    paused: bool,
    /// The run was called off as a whole, and nothing of it began again since.
    called_off: bool,
    threshold: bool,
    /// Whether accepted work could not be delivered.
    not_merged: bool,
    /// The budget ended the work of the session.
    limit: bool,
    /// Whether the rest of the budget is kept for verdicts.
    judging_goes_on: bool,
    /// The deadlines that were told of, each with the step.
    deadlines: BTreeSet<(Option<TaskId>, u8)>,
    /// Judged rejections in a row, by agent and wave.
    rejections: BTreeMap<(String, u32), u32>,
    /// The acceptances, and when they were looked at.
    audits: Audits,
    /// The cost of calls.
    calls: Calls,
    /// Turns that were ever decided on, and those that ended on record.
    pub started: BTreeSet<TurnId>,
    pub ended: BTreeSet<TurnId>,
}

impl ReferenceModel {
    pub fn new(plan: &Plan) -> Self {
        Self {
            tasks: vec![Seen::default(); plan.tasks.len()],
            gates: vec![(None, false); plan.gates.len()],
            holds: vec![(0, Standing::Ahead); plan.barriers.len()],
            commands: BTreeSet::new(),
            stop: None,
            foreign: false,
            paused: false,
            called_off: false,
            threshold: false,
            not_merged: false,
            limit: false,
            judging_goes_on: false,
            deadlines: BTreeSet::new(),
            rejections: BTreeMap::new(),
            audits: Audits::default(),
            calls: Calls::default(),
            started: BTreeSet::new(),
            ended: BTreeSet::new(),
        }
    }

    /// Takes one record, before which the engine's state was `state`.
    pub fn take(&mut self, state: &State, record: &[Event]) {
        let held: Vec<bool> = self.tasks.iter().map(Seen::holds_a_slot).collect();
        for (at, event) in record.iter().enumerate() {
            if let Event::Run(RunEvent::MissionChanged(change)) = event {
                self.outdated_by(change, state, &record[..=at]);
            }
            self.calls.take(state, event);
            self.limits(event);
            self.stages(state, event);
            self.event(state, event);
        }
        self.regressed_are_settled(state, record);
        self.slots_hold(state, &held);
        self.deadlines_hold(state, record);
    }

    fn event(&mut self, state: &State, event: &Event) {
        match event {
            Event::Task(task, TaskEvent::Transition { from, to, mode, flag, .. }) => {
                assert_eq!(self.tasks[task.index()].status, *from, "{event:?}");
                assert!(is_edge(*from, *to), "no such edge: {event:?}");
                let was_over = matches!(from, Status::Done | Status::Failed);
                self.called_off &= !was_over || matches!(to, Status::Done | Status::Failed);
                match to {
                    Status::Assigned => self.may_start(state, *task),
                    Status::Done => {
                        self.is_recorded(state, *task);
                        self.may_be_done(state, *task, *flag);
                    }
                    Status::Failed => self.may_fail(state, *task, *mode),
                    _ => {}
                }
                if *to != Status::Review {
                    self.tasks[task.index()].voided = 0;
                }
                self.tasks[task.index()].escalated &= *to == Status::AwaitingApproval;
                self.enter(state, *task, *to, *flag);
            }
            Event::Task(task, TaskEvent::AttemptPlanned { attempt, kind }) => {
                self.plan_attempt(state, *task, *attempt, *kind)
            }
            Event::Turn(turn, TurnEvent::Started(_)) => {
                assert!(!self.limit, "nothing is started any more: {event:?}");
                self.no_audit_is_out(turn.task);
                self.dependencies_hold(state, turn.task);
                assert!(self.started.insert(*turn), "started twice: {turn:?}");
                let seen = &mut self.tasks[turn.task.index()];
                assert!(matches!(seen.status, Status::Assigned | Status::InProgress), "{event:?} {seen:?}");
                assert!(!seen.in_flight && !seen.finished, "{event:?} {seen:?}");
                assert!(!seen.looked_before, "works while it is looked: {event:?}");
                assert_eq!(seen.waits, None, "it waits for a moment: {event:?}");
                assert_eq!((turn.attempt, turn.turn), (seen.attempt, seen.turn + 1), "{event:?}");
                let is_protected = !state.plan.task(turn.task).protect.is_empty();
                assert!(seen.noted.is_some() || !is_protected, "nobody looked before: {event:?}");
                seen.turn += 1;
                seen.gate.clear();
                (seen.in_flight, seen.has_begun) = (true, true);
                let twice = seen.acted && state.plan.task(turn.task).side_effects;
                assert!(!twice || seen.allowed, "side effects twice without a person: {turn:?}");
                (seen.acted, seen.allowed) = (true, false);
            }
            Event::Task(_, TaskEvent::StageVoided(voided)) => {
                let seen = &mut self.tasks[voided.work.task.index()];
                if matches!(voided.work.work, TaskWork::Job(.., Job::Approver { .. })) {
                    assert_eq!(seen.status, Status::AwaitingApproval, "{event:?} {seen:?}");
                    seen.tampered |= !voided.shared && !voided.changed.is_empty();
                    return;
                }
                if matches!(voided.work.work, TaskWork::Job(.., Job::Baseline)) {
                    return;
                }
                assert_eq!(seen.status, Status::Review, "{event:?} {seen:?}");
                assert!(!seen.tampered, "done again after it was over: {event:?}");
                seen.voided += 1;
                let most = if voided.shared { 3 } else { 1 };
                let by_its_check = !voided.shared && !voided.changed.is_empty();
                seen.tampered |= by_its_check || seen.voided > most;
            }
            Event::Turn(turn, TurnEvent::FilesNoted { .. }) => {
                let seen = &mut self.tasks[turn.task.index()];
                let next = (seen.attempt, seen.turn + 1);
                assert!(!seen.in_flight && seen.noted.is_none(), "{event:?} {seen:?}");
                assert_eq!((turn.attempt, turn.turn), next, "{event:?} {seen:?}");
                seen.noted = Some(*turn);
            }
            Event::Turn(
                turn,
                TurnEvent::Progress(TurnUpdate::Spawned { .. })
                | TurnEvent::Adopted
                | TurnEvent::RequestFailed { .. },
            ) => self.is_in_flight(*turn),
            Event::Turn(turn, TurnEvent::Finished(end)) => {
                let (exit, files) = (&end.exit, &end.files);
                self.is_in_flight(*turn);
                assert!(self.ended.insert(*turn));
                let seen = &mut self.tasks[turn.task.index()];
                (seen.in_flight, seen.finished) = (false, true);
                seen.escalated |= end.broken.is_some();
                // What was noted before a turn that was lost stays until somebody looked.
                seen.noted = seen.noted.filter(|noted| files.is_none() && noted != turn);
                seen.tampered |= files.as_ref().is_some_and(|files| !files.protected.is_empty());
                seen.agent_failed = exit.failure.is_some();
                self.a_turn_ended(state, turn.task);
                let seen = &mut self.tasks[turn.task.index()];
                // A limit that resets is no failure: another turn of the same attempt follows, or a person decides.
                if exit.failure == Some(FailureClass::UsageWindow) && !seen.tampered {
                    (seen.finished, seen.agent_failed) = (false, false);
                }
            }
            Event::Task(task, TaskEvent::Deferred { until: Some(deferral) }) => {
                let seen = &mut self.tasks[task.index()];
                // What goes on behind a stage waits for nobody who was asked before.
                for seat in seen.seats.values_mut().filter(|_| deferral.stage.is_some()) {
                    seat.open = false;
                }
                assert!(!seen.in_flight, "{event:?} {seen:?}");
                assert!(!matches!(seen.status, Status::Done | Status::Failed), "{event:?}");
                assert!(seen.seats.values().all(|seat| !seat.open), "{event:?} {seen:?}");
                seen.waits = Some((deferral.why, seen.tries));
            }
            Event::Task(task, TaskEvent::Deferred { until: None }) => {
                let seen = &mut self.tasks[task.index()];
                let waited = seen.waits.take();
                assert_eq!(
                    waited.map(|(_, tries)| tries),
                    Some(seen.tries),
                    "an attempt was spent: {event:?}"
                );
            }
            Event::Turn(turn, TurnEvent::Lost) => {
                self.is_in_flight(*turn);
                self.tasks[turn.task.index()].in_flight = false;
                self.a_turn_ended(state, turn.task);
            }
            Event::Work(task, WorkEvent::Requested(Job::Baseline)) => {
                let seen = &mut self.tasks[task.index()];
                assert!(
                    seen.status == Status::Assigned && seen.turn == 0 && seen.before.is_none(),
                    "{event:?} {seen:?}"
                );
                seen.looked_before = true;
            }
            Event::Work(task, WorkEvent::Ended { end: JobEnd::Baseline { checks, .. }, .. }) => {
                let seen = &mut self.tasks[task.index()];
                assert!(std::mem::take(&mut seen.looked_before), "{event:?} {seen:?}");
                let said = checks.iter().map(|check| (check.key, (check.before, check.never_ran)));
                seen.before = Some(said.collect());
            }
            Event::Work(task, WorkEvent::Requested(Job::Scan { then, .. })) => {
                if *then == AfterScan::Repeat {
                    let seen = &mut self.tasks[task.index()];
                    assert!(seen.repeated.insert(seen.asked_last), "asked a third time: {event:?} {seen:?}");
                }
                assert!(!self.tasks[task.index()].escalated, "judged before a person was asked: {event:?}");
                self.tasks[task.index()].scan_open = true;
            }
            Event::Work(
                task,
                WorkEvent::Ended {
                    job: job @ (Job::Scan { .. } | Job::Stage(..)),
                    end: JobEnd::Seen { files, .. },
                },
            ) => {
                let seen = &mut self.tasks[task.index()];
                assert!(std::mem::take(&mut seen.scan_open), "looked at without being asked: {event:?}");
                seen.step.take_if(|step| *step == (StageKey::VISION, 0));
                if matches!(job, Job::Scan { .. }) {
                    seen.files.clear();
                }
                seen.is_restored(files);
                let there = |file: &FileFact| file.size.is_some_and(|size| size > 0);
                let files = files.iter().map(|file| (file.path.clone(), there(file)));
                seen.files.extend(files);
            }
            Event::Work(task, WorkEvent::Requested(Job::Finish(command))) => {
                let gate = &self.tasks[task.index()].gate;
                assert_eq!(gate.len(), *command as usize, "{event:?}");
            }
            Event::Work(
                task,
                WorkEvent::Ended { job: Job::Finish(command), end: JobEnd::Checked(result) },
            ) => {
                let gate = &mut self.tasks[task.index()].gate;
                assert_eq!(gate.len(), *command as usize, "{event:?}");
                gate.push(result.passed);
            }
            Event::Task(task, TaskEvent::Nudged { compilation, others, missing }) => {
                let gate = state.plan.task(*task).finish().expect("it has a gate");
                let seen = &mut self.tasks[task.index()];
                seen.nudged.0 += u32::from(*compilation);
                seen.nudged.1 += u32::from(*others);
                assert!(seen.nudged.0 <= gate.max_compile_nudges, "{event:?}");
                assert!(seen.nudged.1 <= gate.max_nudges, "{event:?}");
                assert!((*compilation || *others) && !missing.is_empty(), "{event:?}");
                assert!(seen.gate.contains(&false), "{event:?} {seen:?}");
                seen.finished = false;
            }
            Event::Work(task, WorkEvent::Requested(Job::Check(check))) => {
                assert!(!self.tasks[task.index()].escalated, "judged before a person was asked: {event:?}");
                self.tasks[task.index()].checks.insert(*check, None);
                self.a_check_begins(*task, *check);
            }
            Event::Work(task, WorkEvent::Ended { job: Job::Check(check), end: JobEnd::Checked(result) }) => {
                let seen = &mut self.tasks[task.index()];
                let before = seen.checks.insert(*check, Some(result.passed));
                assert_eq!(before, Some(None), "not asked, or answered twice: {event:?}");
                seen.flaky |= result.passed && result.reruns > 0;
            }
            Event::Work(task, WorkEvent::Ended { job: Job::PeerCheck(..), end: JobEnd::Checked(result) }) => {
                self.tasks[task.index()].flaky |= result.passed && result.reruns > 0
            }
            Event::Ask(id, AskEvent::Requested { purpose: Purpose::Score(seat), .. }) => {
                self.seat_requested(state, *id, *seat)
            }
            Event::Ask(id, AskEvent::Replied(AskReply { purpose: Purpose::Score(seat), answer, .. })) => {
                let place = self.seat_ended(*id, *seat);
                let first = place.first.take().filter(|_| matches!(answer, Answer::Unreadable { .. }));
                place.result = first.or(Some(answer.clone()));
            }
            Event::Ask(id, AskEvent::Failed { purpose: Purpose::Score(seat), class, until, .. }) => {
                // What one says that is not independent after all does not count; and who waits for a limit is called off.
                let is_given_up = matches!(class, FailureClass::PolicyBlocked | FailureClass::Unknown);
                let place = self.seat_ended_or(*id, *seat, is_given_up);
                place.result = None;
                place.windows += u32::from(until.is_some());
            }
            Event::Task(task, TaskEvent::StageFailed { stage: StageKey::VERIFICATION, .. }) => {
                assert!(self.tasks[task.index()].grading.take().is_some(), "{event:?}");
            }
            Event::Task(task, TaskEvent::StageFailed { stage: step, .. }) => {
                let open = self.tasks[task.index()].step.take();
                assert_eq!(open.map(|(open, _)| open), Some(*step), "{event:?}");
            }
            Event::Task(_, TaskEvent::StageVerdict(report)) => self.verdict(state, report),
            Event::Task(task, TaskEvent::EvalUnparsed) => {
                let seen = &mut self.tasks[task.index()];
                // The score of an earlier judging is not that of this one.
                (seen.unparsed, seen.points) = (true, None);
            }
            Event::Task(task, TaskEvent::MergeBegun { .. }) => {
                let seen = &mut self.tasks[task.index()];
                assert!(state.plan.task(*task).commits() && !seen.landed, "{event:?} {seen:?}");
                seen.merging = true;
            }
            Event::Work(task, WorkEvent::Ended { end: JobEnd::Merged(merged), .. }) => {
                self.merged(*task, merged)
            }
            Event::Task(task, TaskEvent::ForceAccepted { .. }) => {
                self.is_exhausted(state, *task);
                let policy = state.plan.task(*task).on_exhausted;
                let seen = &mut self.tasks[task.index()];
                assert!(seen.reopened.is_none() && !seen.merging, "{event:?} {seen:?}");
                seen.forced = Some(match policy {
                    Some(OnExhausted::Degrade) => QualityFlag::Degraded,
                    _ => QualityFlag::BelowThreshold,
                });
            }
            Event::Task(task, TaskEvent::AcceptanceAnswered { reason, .. }) => {
                if reason.is_some() {
                    self.fell(state, *task);
                }
                let seen = &mut self.tasks[task.index()];
                assert!(
                    seen.status == Status::Done && seen.forced.is_some() && !seen.answered,
                    "{event:?} {seen:?}"
                );
                seen.answered = true;
            }
            Event::Hold(HoldOwner::Task(task), HoldEvent::Opened { number, cause, reason, gate, .. }) => {
                let seen = &mut self.tasks[task.index()];
                assert_eq!((seen.status, *number), (Status::AwaitingApproval, seen.asked + 1), "{event:?}");
                let acts_again = *reason == WaitingReason::SideEffects;
                assert!(!acts_again || seen.acted && state.plan.task(*task).side_effects, "{event:?}");
                seen.asked = *number;
                seen.open_approval = Some(*number);
                seen.reason = Some((*reason, gate.clone(), *cause == Some(Cause::Vacuous)));
                seen.for_judges =
                    matches!(cause, Some(Cause::GateError | Cause::NoReviewer | Cause::Unstable));
            }
            Event::Hold(HoldOwner::Task(task), HoldEvent::Closed { number, resolution, .. }) => {
                let seen = &mut self.tasks[task.index()];
                let open = seen.open_approval.take();
                seen.escalated = false;
                assert_eq!(open, Some(*number), "answered twice or never asked: {event:?}");
                match seen.reason.take().filter(|_| *resolution == Resolution::Approved) {
                    Some((WaitingReason::Approval, _, true)) => seen.begins_green = !seen.outdated,
                    Some((WaitingReason::Approval, gate, _)) => seen.agreed.push(gate),
                    Some((WaitingReason::SideEffects, ..)) => seen.allowed = true,
                    _ => {}
                }
            }
            Event::Work(task, WorkEvent::Requested(Job::Approver { number, .. }))
            | Event::Hold(
                HoldOwner::Task(task),
                HoldEvent::Undecided { number, .. } | HoldEvent::TimedOut { number },
            ) => {
                assert_eq!(self.tasks[task.index()].open_approval, Some(*number), "{event:?}");
            }
            Event::Hold(HoldOwner::Barrier(hold), HoldEvent::Opened { number, .. }) => {
                assert!(
                    state.plan.barrier(*hold).after.iter().all(|id| self.has_ended(*id)),
                    "too early: {event:?}"
                );
                let (asked, stage) = self.holds[hold.index()];
                // What a person refused is asked about again for work that is to be done all the same.
                let is_ahead = match stage {
                    Standing::Ahead => true,
                    Standing::Rejected => {
                        let blocks = state.plan.barrier(*hold).blocks.iter();
                        blocks.map(|id| &self.tasks[id.index()]).any(|seen| seen.status == Status::Pending)
                    }
                    _ => false,
                };
                assert!(is_ahead && asked == number - 1, "{asked} {stage:?}: {event:?}");
                self.holds[hold.index()] = (*number, Standing::Reached);
            }
            Event::Hold(HoldOwner::Barrier(hold), HoldEvent::Closed { number, resolution, .. }) => {
                self.closes(*hold, *number, *resolution);
            }
            Event::Hold(HoldOwner::Barrier(_), HoldEvent::Undecided { .. } | HoldEvent::TimedOut { .. }) => {
                panic!("a checkpoint has no approvers and no time-out: {event:?}")
            }
            Event::Task(task, TaskEvent::DependencyFailed { dependency, step, .. }) => {
                self.failed_for_good(*dependency);
                match step {
                    DependencyStep::Detected => {
                        assert_eq!(self.tasks[task.index()].status, Status::Pending, "{event:?}");
                    }
                    DependencyStep::Resolved(Way::Retry) => {}
                    DependencyStep::Resolved(way) => {
                        self.may_do_without(state, *task, *dependency, *way);
                        self.tasks[task.index()].without.insert(*dependency, *way);
                    }
                    DependencyStep::Unresolvable(waves) => {
                        assert!(state.plan.dependencies.of(*task).contains(dependency), "{event:?}");
                        if let Some(waves) = waves {
                            self.gets_nowhere(state, *task, *waves);
                        }
                    }
                }
            }
            Event::Gate(gate, GateEvent::Evaluated { result }) => self.gate_evaluated(state, *gate, result),
            Event::Gate(gate, GateEvent::Overridden { .. }) => {
                let (result, overridden) = &mut self.gates[gate.index()];
                assert!(result.as_ref().is_some_and(|result| !result.passed), "{event:?}");
                *overridden = true;
            }
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::Moved { .. }
                | RunEvent::ProtectionNoted(_)
                | RunEvent::Warning(Concern::Notice | Concern::Unconfined, _)
                | RunEvent::SessionLimit { .. },
            ) => {}
            Event::Run(RunEvent::Resumed(_)) => {
                self.audit_dropped();
                self.session_begins();
                (self.stop, self.paused, self.threshold) = (None, false, false);
                self.limit = false;
                self.foreign = false;
                self.not_merged = false;
            }
            Event::Run(RunEvent::Warning(Concern::Foreign, _)) => self.foreign = true,
            Event::Run(RunEvent::Stopping(cause)) => {
                self.stop = Some(*cause);
                self.audit_dropped();
            }
            Event::Task(task, TaskEvent::AcceptanceRecorded { files, checks }) => {
                self.accepted_for(state, *task, files, checks);
            }
            Event::Run(RunEvent::WorkRequested(RunWork::Delivery { merge })) => {
                // It is tried anew, whatever kept it before.
                self.not_merged = false;
                assert_eq!(*merge, self.conditions(state) == [OutcomeClass::Ok], "{event:?}");
            }
            Event::Run(RunEvent::WorkDelivered(delivery)) => self.not_merged = delivery.why.is_some(),
            Event::Run(RunEvent::WorkRequested(RunWork::Audit { number })) => {
                self.audit_requested(state, *number)
            }
            Event::Run(RunEvent::AuditFinished { number, checked, files, .. }) => {
                self.audited(event, *number, checked, files)
            }
            Event::Task(task, TaskEvent::FilesChanged { paths, .. }) => {
                let seen = &self.tasks[task.index()];
                let is_asked = matches!(seen.status, Status::Review | Status::AwaitingApproval);
                assert!(is_asked && !paths.is_empty(), "{event:?} {seen:?}");
            }
            Event::Deadline(said) => self.deadline(said),
            Event::Budget(BudgetEvent::Exhausted { ceiling }) => {
                let goes_on = !self.limit || self.judging_goes_on && !ceiling.leaves_judging();
                assert!(goes_on && !state.plan.rules.budget.is_none(), "{event:?}");
                (self.limit, self.judging_goes_on) = (true, ceiling.leaves_judging());
            }
            Event::Budget(BudgetEvent::Held { call, released: true, .. }) => {
                let ask = state.task(call.task).open_ask(*call);
                let judges = ask.is_some_and(|ask| ask.purpose.is_judging());
                assert!(!self.limit || judges && self.judging_goes_on, "{event:?}");
            }
            Event::Budget(BudgetEvent::Held { .. } | BudgetEvent::Clock { .. }) => {
                assert!(!state.plan.rules.budget.is_none(), "{event:?}");
            }
            // What it cost is counted with the calls.
            Event::Budget(BudgetEvent::Settled { .. }) => {}
            Event::Run(RunEvent::Paused { for_good, .. }) => {
                self.paused |= !for_good;
                self.called_off |= for_good;
            }
            Event::Run(RunEvent::ThresholdFailed { avg_score: points, threshold }) => {
                assert!(points < threshold, "{event:?}");
                self.threshold = true;
            }
            Event::Run(RunEvent::Finished { outcome, conditions, .. }) => {
                let expected = self.conditions(state);
                assert_eq!((expected[0], &expected), (*outcome, conditions), "{:?}", self.tasks);
                assert!(
                    self.foreign || !expected.contains(&OutcomeClass::Internal),
                    "no reason to have ended: {:?}",
                    self.tasks
                );
                assert!(self.tasks.iter().all(|seen| !seen.in_flight), "ended with work in flight");
                let stops = expected.iter().any(|class| class.is_stop());
                if expected == [OutcomeClass::Ok] {
                    self.all_stands(state);
                }
                let ended = !self.is_open_work(state);
                assert!(
                    stops
                        || !ended
                        || !self.audit_is_open(state)
                        || self.called_off && expected.contains(&OutcomeClass::TaskFailed),
                    "ended, and nobody looked at what was accepted: {:?}",
                    self.audits
                );
            }
            Event::Run(RunEvent::TasksAdded(addition)) => {
                for added in &addition.tasks {
                    assert!(added.id.index() <= self.tasks.len(), "{event:?}");
                    let size = self.tasks.len().max(added.id.index() + 1);
                    self.tasks.resize_with(size, Seen::default);
                }
                match addition.origin {
                    Origin::Fixup => self.fixup_added(state, addition),
                    Origin::Delegated => self.delegated(state, addition),
                    Origin::Request => self.asked_for_more(),
                }
            }
            Event::Task(task, TaskEvent::EdgeTaken { edge, visit, kept, .. }) => {
                self.takes_edge(*task, *edge, *visit);
                for (id, visits) in kept {
                    self.tasks[id.index()].visits = *visits;
                }
            }
            Event::Task(task, TaskEvent::FellBack { from, to, work: true, .. }) => {
                self.goes_on_with(state, *task, *from, *to)
            }
            Event::Task(_, TaskEvent::FellBack { .. } | TaskEvent::Probed { .. })
            | Event::Ask(_, AskEvent::HandedOver { .. }) => {}
            Event::Task(task, TaskEvent::Superseded { by }) => {
                let seen = &mut self.tasks[task.index()];
                assert_eq!((seen.status, seen.fixup), (Status::Failed, Some(*by)), "{event:?}");
                assert!(!std::mem::replace(&mut seen.superseded, true), "{event:?}");
            }
            Event::Run(RunEvent::TasksWithdrawn { tasks }) => {
                for id in tasks {
                    let seen = &mut self.tasks[id.index()];
                    assert!(seen.status == Status::Pending && !seen.in_flight, "{event:?}");
                    if let Some(source) = seen.fixup_of.take() {
                        self.tasks[source.index()].fixup = None;
                    }
                }
            }
            Event::Run(RunEvent::CommandTaken { id, .. }) => {
                assert!(self.commands.insert(id.clone()), "taken twice: {event:?}")
            }
            Event::Task(task, TaskEvent::Question { call, .. }) => {
                let seen = &mut self.tasks[task.index()];
                assert!(seen.finished && seen.status == Status::InProgress, "{event:?}");
                seen.questions += u32::from(call.is_none());
                assert!(seen.questions <= state.plan.rules.settings.max_question_rounds, "{event:?}");
                seen.question_open = true;
            }
            // The next turn of the attempt follows.
            Event::Task(task, TaskEvent::Answered { .. }) => {
                let seen = &mut self.tasks[task.index()];
                assert!(std::mem::take(&mut seen.question_open), "{event:?}");
                seen.finished = false;
            }
            Event::Run(RunEvent::MissionChanged(change)) => self.mission_changed(state, change),
            Event::Task(_, TaskEvent::DelegationDrift { .. }) => {
                panic!("nothing changes what was delegated: {event:?}")
            }
            Event::Ask(id, AskEvent::Requested { purpose: Purpose::Resolve { .. }, .. })
                if id.attempt_try == 1 =>
            {
                self.may_ask_for_another_way(state, id.task)
            }
            Event::Turn(_, TurnEvent::Progress(_))
            | Event::Work(..)
            | Event::Ask(_, AskEvent::Requested { .. } | AskEvent::Replied(_) | AskEvent::Failed { .. })
            | Event::Notice(_)
            | Event::Task(_, TaskEvent::DelegationRefused { .. })
            | Event::Run(RunEvent::Salvaged(_)) => {}
            Event::Task(task, TaskEvent::Regressed { files, judged_again, .. }) => {
                self.regressed(state, *task, files, judged_again)
            }
        }
    }

    fn is_in_flight(&self, turn: TurnId) {
        let seen = &self.tasks[turn.task.index()];
        let current = seen.in_flight && (seen.attempt, seen.turn) == (turn.attempt, turn.turn);
        assert!(current, "a turn that is over: {turn:?} {seen:?}");
    }

    /// Done, or superseded by a fixup.
    fn is_there(&self, id: TaskId) -> bool {
        let seen = &self.tasks[id.index()];
        seen.status == Status::Done || seen.superseded
    }

    /// Whether the task has ended, and if it failed nothing is under way that could make up for it.
    fn has_ended(&self, id: TaskId) -> bool {
        let ended = |id: TaskId| matches!(self.tasks[id.index()].status, Status::Done | Status::Failed);
        let seen = &self.tasks[id.index()];
        ended(id) && (seen.status == Status::Done || seen.fixup.is_none_or(ended))
    }

    fn closes(&mut self, hold: BarrierId, number: u32, resolution: Resolution) {
        let held = &mut self.holds[hold.index()];
        assert_eq!(*held, (number, Standing::Reached), "{hold:?} {resolution:?}");
        held.1 = match resolution {
            Resolution::Approved | Resolution::TimedOut => Standing::Passed,
            Resolution::Answered | Resolution::Rejected => Standing::Rejected,
        };
    }

    /// A gate holds tasks, not turns: what has started may finish its attempt when the gate is withdrawn
    /// (`--retry-failed` of a task that the gate had let fail).
    fn gates_are_open(&self, state: &State, task: TaskId) {
        for gate in state.plan.gates_before.of(task) {
            let (result, overridden) = &self.gates[gate.index()];
            let open = *overridden || result.as_ref().is_some_and(|result| result.passed);
            assert!(open, "{task:?} starts before {gate:?} is open");
        }
    }

    /// Whether the engine's own account says the same.
    pub fn agrees_with(&self, state: &State) {
        self.calls.agree_with(state);
        for (seen, task) in self.tasks.iter().zip(&state.tasks) {
            assert_eq!(
                (seen.status, seen.flag, seen.attempt, seen.in_flight, seen.tries),
                (
                    task.status(),
                    task.flag(),
                    task.attempt.number,
                    task.work.turn.is_some(),
                    task.course.tries
                )
            );
            assert_eq!(
                (seen.regressions, seen.reopened.is_some()),
                (task.course.regressions, task.reopened.is_some()),
                "{seen:?}"
            );
            assert_eq!(
                (seen.points, seen.indeterminate, seen.superseded),
                (
                    task.attempt.points,
                    task.attempt.has(rules::engine::Mark::Indeterminate),
                    task.is_superseded()
                ),
                "{seen:?}"
            );
        }
    }
}

impl ReferenceModel {
    /// Whether so many rejections in a row keep a task's work from its judges.
    fn is_open(&self, state: &State, task: TaskId) -> bool {
        let plan = state.plan.task(task);
        let key = (state.plan.agent(plan.agent).name.to_string(), plan.wave);
        let limit = state.plan.rules.settings.judge_breaker;
        let is_theirs = self.tasks[task.index()].sent_back;
        !is_theirs && limit > 0 && self.rejections.get(&key).is_some_and(|count| *count >= limit)
    }
}

impl Seen {
    fn withdraw_agreement(&mut self) {
        self.agreed.clear();
        self.allowed = false;
    }

    /// The flag of good work, where no less was shown than it should.
    fn good(&self) -> QualityFlag {
        if self.relief || self.flaky { QualityFlag::Relaxed } else { QualityFlag::Clean }
    }

    /// Something that it should have shown was not shown.
    fn unverified(&self) -> bool {
        self.not_judged || self.gate_met == Some(false)
    }

    /// What was looked at before its first turn is of what does not stand any more, unless it has begun (section 24).
    fn outdate(&mut self) {
        if !self.has_begun {
            (self.outdated, self.begins_green) = (true, false);
        }
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
            waits: self.waits,
            limited: std::mem::take(&mut self.limited),
            allowed: self.allowed,
            noted: self.noted,
            without: std::mem::take(&mut self.without),
            questions: self.questions,
            sent_back: self.sent_back,
            conflicts: self.conflicts,
            before: self.before.take(),
            has_begun: self.has_begun,
            outdated: self.outdated,
            begins_green: self.begins_green,
            fixup: self.fixup,
            fixup_of: self.fixup_of,
            superseded: self.superseded,
            regressed: self.regressed,
            regressions: self.regressions,
            reopened: self.reopened.take(),
            edge: self.edge,
            visits: self.visits,
            goes_on: std::mem::take(&mut self.goes_on),
            ..Self::default()
        };
        *self = Self { attempt, ..of_the_task };
    }
}
