//! The projection for readers: what state does not keep because no rule needs it.
//!
//! State knows the current attempt; readers want all of them, who reviewed and what they said, when things happened
//! and what they used. [`RunView`] folds that from the same events, live and from the journal alike. It holds nothing
//! that state already has (status, flag, score, counts), so the two cannot contradict each other. A task that just
//! works costs one small row; what is rare is boxed, because a mission may have 100,000 of them.
//!
//! | file | what |
//! |---|---|
//! | `task` | what readers see of one task: its attempts, who reviewed them and what they said |

mod task;

use std::collections::BTreeMap;
use std::path::PathBuf;

use rules::{
    domain::{
        AgentId, Answer, AskId, BarrierId, Cause, HoldOwner, Millis, Money, Purpose, RunId, Stage, Status,
        TaskId, Timestamp, TurnId, Verdict,
    },
    engine::{
        AskEvent, AskReply, BudgetEvent, Concern, DeadlineStep, DependencyStep, Event, HoldEvent, Outcome,
        ReplyRef, RunEvent, Salvaged, StageReport, TaskEvent, TaskWork, ToolLedgerRef, TurnEvent, TurnUpdate,
        Usage, Way, WorkId, add_known,
    },
    mission::model::FinalChecks,
    plan::{NO_FINAL_CHECKS, Plan},
};

pub use task::{
    AttemptRow, FailureRow, FindingView, SeatDimension, SeatStanding, SeatView, SeverityCounts, TaskView,
    WaitingView,
};

/// A run as readers see it, beside its [`rules::engine::State`].
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// Number of the last event seen: where a follower goes on.
    pub seq: Option<u64>,
    /// The id of the run, once it has started.
    pub run_id: Option<RunId>,
    /// The mission file, where the run began with one.
    pub mission_path: Option<PathBuf>,
    /// The start of the run.
    pub started_at: Option<Timestamp>,
    /// The start of the current or last session.
    pub session_started_at: Option<Timestamp>,
    /// The end of the last session; `None` while one goes on, or after a crash.
    pub finished_at: Option<Timestamp>,
    /// The sessions, each from its start to its end, the current or last one at the end. One that has no end on
    /// record lived until its last event.
    sessions: Vec<(Timestamp, Timestamp)>,
    /// Whether the last session has no end on record.
    session_lives: bool,
    /// The outcome of the last session; `None` while one goes on, or after a crash.
    pub outcome: Option<Outcome>,
    /// The requests to operators, the oldest first.
    pub requests: Vec<OperatorRequest>,
    /// Sentences about the run that people should know, the oldest first.
    pub warnings: Vec<String>,
    /// Tasks whose agents outlived the session that started them and still work below its supervisor. No event says so: whoever
    /// looks at the run looks at its processes too.
    pub at_work: Vec<TaskId>,
    /// Persons who had the last word about a task's work.
    pub persons: BTreeMap<TaskId, String>,
    /// The last wait of each checkpoint and delay that was reached.
    pub barriers: BTreeMap<BarrierId, WaitingView>,
    /// The last verification report on a task's current attempt. Few tasks have one.
    pub verifications: BTreeMap<TaskId, StageReport>,
    /// The agent that was asked last to grade a task by its rubric, and the model that answered.
    pub graders: BTreeMap<TaskId, (AgentId, Option<Box<str>>)>,
    /// The last reports of the stages behind the verification on a task's current attempt, in their order. Few
    /// tasks have any.
    pub scrutiny: BTreeMap<TaskId, Vec<StageReport>>,
    /// Notifications of the last session that failed for good.
    pub undelivered: usize,
    /// Why what was accepted is not where it was wanted; one of the warnings.
    not_merged: Option<String>,
    /// The known cost of each task; a task whose agents tell no cost has no entry.
    pub costs: BTreeMap<TaskId, Money>,
    tasks: Vec<TaskView>,
    /// How many of the warnings are of earlier sessions.
    warned_before: usize,
}

/// Something that operators are told about work that was accepted all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorRequest {
    pub task: TaskId,
    /// The attempt after which the request was raised; see [`crate::report::vocabulary::ids::RequestId`].
    pub attempt: u32,
    /// The reason of the request, for operators.
    pub message: String,
}

/// The usage of turns and calls.
///
/// `requests` counts what reached an agent or was charged for: every worker turn whose process or request came
/// into being (`agent:spawned`), and every call to a reviewer or another agent that is asked
/// (`work:requested`), reprompts and repeats included. A spawn that failed reached nobody. Tokens are sums over
/// what was told, `None` where nobody told: unknown is never free.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct UsageView {
    /// Worker turns and judge calls.
    pub requests: u32,
    /// Finished turns and replies that did not tell what they used.
    pub untold: u32,
    /// The tokens that were read.
    pub input_tokens: Option<u64>,
    /// The tokens that were written.
    pub output_tokens: Option<u64>,
}

impl UsageView {
    fn add(&mut self, usage: Usage) {
        if usage.is_none() {
            self.untold += 1;
        }
        add_known(&mut self.input_tokens, usage.input_tokens);
        add_known(&mut self.output_tokens, usage.output_tokens);
    }
}

impl RunView {
    /// The view before the first event.
    pub fn new(plan: &Plan) -> Self {
        Self { tasks: vec![TaskView::default(); plan.tasks.len()], ..Self::default() }
    }

    /// How long sessions of the run lived, up to the last event: time in which no session lived is a pause, and
    /// no delay of anybody's. `None` before it started.
    pub fn worked_for(&self) -> Option<Millis> {
        let spans = self.sessions.iter().map(|(from, to)| to.since(*from).0);
        (!self.sessions.is_empty()).then(|| Millis(spans.sum()))
    }

    /// When the session ended that lived at a moment, as far as it is on record.
    pub fn session_end(&self, moment: Timestamp) -> Option<Timestamp> {
        let mut sessions = self.sessions.iter();
        let (_, end) = sessions.find(|(from, to)| *from <= moment && moment <= *to)?;
        Some(*end)
    }

    /// The person on whose word the work of a task was accepted.
    pub fn accepted_by(&self, state: &rules::engine::State, id: TaskId) -> Option<&str> {
        let person = self.persons.get(&id)?;
        (state.task(id).status() == Status::Done).then_some(person)
    }

    /// The view of a task.
    pub fn task(&self, id: TaskId) -> &TaskView {
        &self.tasks[id.index()]
    }

    /// How many findings the current, or last, attempts of all tasks have. Fixups stand for what they made up for.
    pub fn severities(&self, state: &rules::engine::State) -> SeverityCounts {
        let mut counts = SeverityCounts::default();
        let ids = state.plan.task_ids();
        let stands = ids.filter(|id| !state.task(*id).is_superseded());
        for found in stands.flat_map(|id| self.task(id).found()) {
            counts.add(found.finding.severity);
        }
        counts
    }

    /// Takes in one event, decided at `at`. Costs O(1), but for the words in it.
    pub fn apply(&mut self, plan: &Plan, seq: u64, at: Timestamp, event: &Event) {
        self.seq = Some(seq);
        if self.session_lives
            && !matches!(event, Event::Run(RunEvent::Resumed(_)))
            && let Some((_, end)) = self.sessions.last_mut()
        {
            *end = at;
        }
        // A changed mission, an agent or a failed task may have added tasks.
        if self.tasks.len() < plan.tasks.len() {
            self.tasks.resize_with(plan.tasks.len(), TaskView::default);
        }
        if !matches!(
            event,
            Event::Run(
                RunEvent::Finished { .. }
                    | RunEvent::Warning(Concern::Notice, _)
                    | RunEvent::CommandTaken { .. }
            ) | Event::Task(_, TaskEvent::AcceptanceAnswered { .. })
        ) {
            // Something moved: what the last session ended with is not what the run is now.
            self.finished_at = None;
            self.outcome = None;
        }
        if matches!(event, Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_)))
            && plan.rules.settings.final_checks == FinalChecks::Never
            // One that a file of settings says is told with its place.
            && !self.warnings.iter().any(|known| known.contains(NO_FINAL_CHECKS))
            && !plan.rules.loosened.iter().any(|found| found.is_beneath && found.what == NO_FINAL_CHECKS)
        {
            self.warnings.push(format!("finalChecks: never: {NO_FINAL_CHECKS}"));
        }
        match event {
            Event::Run(event) => self.apply_run(at, event),
            Event::Task(task, event) => self.apply_task(plan, at, *task, event),
            Event::Turn(turn, event) => self.apply_turn(at, *turn, event),
            Event::Ask(id, event) => self.apply_ask(plan, *id, event),
            Event::Budget(event) => self.apply_budget(event),
            Event::Hold(of, event) => self.apply_hold(plan, at, *of, event),
            Event::Deadline(event) if event.step == DeadlineStep::Violated => {
                let whose = match event.task {
                    Some(id) => format!("'{}'", plan.title(id)),
                    None => "the mission".to_owned(),
                };
                let text = format!("{whose} missed its deadline, {}", event.due.to_rfc3339());
                self.warnings.push(text);
            }
            Event::Notice(event) => {
                self.undelivered += usize::from(event.given_up().is_some());
            }
            _ => {}
        }
    }

    /// Takes in an event about the run as a whole.
    fn apply_run(&mut self, at: Timestamp, event: &RunEvent) {
        match event {
            RunEvent::Started(started) => {
                self.run_id = Some(started.run_id.clone());
                self.mission_path.clone_from(&started.mission_path);
                self.started_at = Some(at);
                self.begin_session(at);
            }
            RunEvent::Resumed(_) => {
                self.undelivered = 0;
                // It is tried again.
                let old = self.not_merged.take();
                self.warnings.retain(|known| Some(known) != old.as_ref());
                self.warned_before = self.warnings.len();
                self.begin_session(at);
            }
            RunEvent::Finished { outcome, conditions, allowed, .. } => {
                self.session_lives = false;
                self.finished_at = Some(at);
                self.outcome = Some(Outcome {
                    class: *outcome,
                    conditions: conditions.clone(),
                    allowed: allowed.clone(),
                });
            }
            RunEvent::Warning(Concern::Notice | Concern::Foreign, message) => {
                // Each session says what holds for all of them: that is told once.
                let mut before = self.warnings.iter().take(self.warned_before);
                if !before.any(|known| known == message) {
                    self.warnings.push(message.clone());
                }
            }
            RunEvent::WorkDelivered(delivery) => {
                self.not_merged.clone_from(&delivery.why);
                self.warnings.extend(delivery.why.clone());
            }
            RunEvent::Salvaged(cut) => self.warnings.push(salvaged(cut, at)),
            _ => {}
        }
    }

    fn begin_session(&mut self, at: Timestamp) {
        self.session_started_at = Some(at);
        self.sessions.push((at, at));
        self.session_lives = true;
    }

    /// Takes in the report of a stage behind the verification. The report of a stage that was asked anew
    /// replaces the one before.
    fn take_scrutiny(&mut self, report: &StageReport) {
        let said = self.scrutiny.entry(report.task).or_default();
        said.retain(|earlier| (earlier.stage, &earlier.name) != (report.stage, &report.name));
        said.push(report.clone());
        if report.verdict == Verdict::Fault {
            let found = report.findings.iter().map(|finding| finding.description.clone());
            self.warnings.extend(found);
        }
    }

    /// Takes in an event about the state of a task.
    fn apply_task(&mut self, plan: &Plan, at: Timestamp, task: TaskId, event: &TaskEvent) {
        match event {
            TaskEvent::Transition { from, to, mode, flag, reason, .. } => {
                if from.is_terminal() {
                    // Done again: what operators were told of the earlier result no longer holds.
                    self.requests.retain(|request| request.task != task);
                    self.tasks[task.index()].review = None;
                }
                if *to == Status::Pending {
                    // What was said of an earlier attempt is in its row.
                    self.persons.remove(&task);
                }
                if *to == Status::Review {
                    self.verifications.remove(&task);
                }
                let view = &mut self.tasks[task.index()];
                view.enter(*to, at, *flag);
                view.failure = mode.map(|mode| Box::new(view.failure(mode, reason.as_deref())));
            }
            TaskEvent::AttemptPlanned { attempt, kind } => {
                self.scrutiny.remove(&task);
                self.tasks[task.index()].plan_attempt(*attempt, *kind);
            }
            TaskEvent::StageVerdict(report) => self.take_verdict(plan, report),
            TaskEvent::ForceAccepted { message, .. } => self.tell_operators(task, message),
            TaskEvent::DependencyFailed { dependency, step: DependencyStep::Resolved(way), .. }
                if *way != Way::Retry =>
            {
                let title = plan.title(*dependency);
                self.tasks[task.index()].goes_on_without(title, *way);
            }
            TaskEvent::DelegationRefused { refused: title, reason } => {
                let from = plan.title(task);
                self.warnings.push(format!("'{from}' does not delegate '{title}': {reason}"));
            }
            _ => {}
        }
    }

    /// Takes in an event about a hold.
    fn apply_hold(&mut self, plan: &Plan, at: Timestamp, of: HoldOwner, event: &HoldEvent) {
        match (event, of) {
            (HoldEvent::Opened { number, reason, message, expires, .. }, _) => {
                let waiting = WaitingView {
                    number: *number,
                    reason: *reason,
                    since: at,
                    message: message.clone(),
                    expires: *expires,
                };
                match of {
                    HoldOwner::Task(task) => self.tasks[task.index()].waiting = Some(Box::new(waiting)),
                    HoldOwner::Barrier(barrier) => {
                        self.barriers.insert(barrier, waiting);
                    }
                }
            }
            (HoldEvent::TimedOut { .. }, HoldOwner::Task(task)) => {
                let title = plan.title(task);
                let text = format!("nobody approved '{title}' in time; it goes on waiting");
                self.warnings.push(text);
            }
            _ => {}
        }
    }

    /// Work was accepted all the same: operators are told.
    fn tell_operators(&mut self, task: TaskId, message: &str) {
        let attempts = &self.tasks[task.index()].attempts;
        self.requests.push(OperatorRequest {
            task,
            attempt: attempts.last().map_or(0, |attempt| attempt.number),
            message: message.to_owned(),
        });
    }

    fn take_verdict(&mut self, plan: &Plan, report: &StageReport) {
        if report.cause == Some(Cause::Breaker) {
            let said = report.findings.iter().map(|finding| &finding.description);
            let new: Vec<_> = said.filter(|text| !self.warnings.contains(text)).cloned().collect();
            self.warnings.extend(new);
        }
        // No row of its attempts says that accepted work is marked, or what its commit has left out.
        if matches!(
            (report.stage, report.verdict),
            (Stage::Audit, Verdict::Skip) | (Stage::Merge, Verdict::Pass)
        ) {
            let title = plan.title(report.task);
            let found = report.findings.iter();
            let found = found.map(|finding| format!("'{title}': {}", finding.description));
            self.warnings.extend(found);
        }
        self.tasks[report.task.index()].take_verdict(report);
        if report.stage.is_further() {
            self.take_scrutiny(report);
        }
        if report.stage == Stage::Verification && !report.grades.is_empty() {
            self.verifications.insert(report.task, report.clone());
        }
        if let Some(person) = &report.by {
            self.persons.insert(report.task, person.clone());
        }
    }

    /// Takes in an event about a turn of a worker.
    fn apply_turn(&mut self, at: Timestamp, turn: TurnId, event: &TurnEvent) {
        match event {
            TurnEvent::Started(_) => {
                self.tasks[turn.task.index()].started_at.get_or_insert(at);
            }
            TurnEvent::Progress(TurnUpdate::Spawned { .. }) => self.count(turn.task, 1, None),
            TurnEvent::Finished(end) => {
                let task = &mut self.tasks[turn.task.index()];
                end.denied.iter().for_each(|denied| task.was_denied(denied));
                let more = end.tools.as_deref().map_or(0, ToolLedgerRef::more_requests);
                self.count(turn.task, more, Some(end.usage));
            }
            _ => {}
        }
    }

    /// Takes in an event about a call to an agent.
    fn apply_ask(&mut self, plan: &Plan, id: AskId, event: &AskEvent) {
        let task = &mut self.tasks[id.task.index()];
        match event {
            AskEvent::Requested { purpose, agent, .. } => {
                match purpose {
                    Purpose::Score(place) => task.ask(*place, id.attempt_try == 1, *agent),
                    Purpose::Grade { .. } => {
                        self.graders.insert(id.task, (*agent, None));
                    }
                    _ => {}
                }
                self.count(id.task, 1, None);
            }
            AskEvent::Replied(AskReply { purpose, reply, answer, .. }) => {
                if let Some(view) = purpose.seat().and_then(|place| task.seat_mut(place)) {
                    view.reply(plan, id.task, reply, answer);
                }
                if let (Some(grader), Answer::Grades(_)) = (self.graders.get_mut(&id.task), answer) {
                    grader.1 = reply.model.as_deref().map(Into::into);
                }
                self.count(id.task, more_requests(reply), Some(reply.usage));
            }
            AskEvent::Failed { purpose, used, never_began, .. } => {
                if let Some(view) = purpose.seat().and_then(|place| task.seat_mut(place)) {
                    view.state = SeatStanding::Failed;
                }
                task.usage.requests -= u32::from(*never_began);
                let used = used.as_deref();
                // The request that a call is counts already.
                let requests = used.map_or(0, |used| used.tools.more_requests());
                self.count(id.task, requests, used.map(|used| used.usage));
            }
            AskEvent::HandedOver { .. } => {}
        }
    }

    /// Takes in an event about the budget. A held call is no request before it is made.
    fn apply_budget(&mut self, event: &BudgetEvent) {
        if let BudgetEvent::Settled { call, usage, requests } = event {
            let total = &mut self.tasks[call.task.index()].usage;
            total.requests = total.requests.saturating_add_signed(*requests);
            return self.count(call.task, 0, Some(*usage));
        }
        let call = event.call().filter(|call| !matches!(call.work, TaskWork::Turn(..)));
        let Some(WorkId { task, .. }) = call else {
            return;
        };
        let usage = &mut self.tasks[task.index()].usage;
        match event {
            BudgetEvent::Held { released: false, .. } => usage.requests = usage.requests.saturating_sub(1),
            _ => usage.requests += 1,
        }
    }

    /// Counts what was asked of agents for a task, and what they used.
    fn count(&mut self, task: TaskId, requests: u32, usage: Option<Usage>) {
        let total = &mut self.tasks[task.index()].usage;
        total.requests += requests;
        if let Some(usage) = usage {
            total.add(usage);
            if let Some(cost) = usage.cost {
                let known = self.costs.entry(task).or_default();
                *known = known.plus(cost);
            }
        }
    }
}

/// Requests beyond the one that a call is.
fn more_requests(reply: &ReplyRef) -> u32 {
    reply.tools.as_deref().map_or(0, ToolLedgerRef::more_requests)
}

/// The warning that everybody who looks at a run whose journal was damaged gets, for ever.
pub fn salvaged(
    Salvaged { by, line, lost_bytes: bytes, lost_records: records, file }: &Salvaged,
    at: Timestamp,
) -> String {
    format!(
        "the journal was damaged at line {line}: on {} {by} kept what stood before it, and {records} record(s) of {bytes} \
         bytes were moved aside to {file}; what they recorded is unknown",
        at.to_rfc3339(),
    )
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
