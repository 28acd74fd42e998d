//! The projection for readers: what state does not keep because no rule needs it.
//!
//! State knows the current attempt; readers want all of them, who reviewed and what they said, when things happened
//! and what they used. [`RunView`] folds that from the same events, live and from the journal alike. It holds nothing
//! that state already has (status, flag, score, counts), so the two cannot contradict each other. A task that just
//! works costs one small row; what is rare is boxed, because a mission may have 100,000 of them.

use std::collections::BTreeMap;

use crate::domain::{
    Advice, AgentId, AttemptKind, Cause, DimensionScore, FailureClass, FailureMode, HoldId, Money, Points,
    Purpose, QualityFlag, RunId, Stage, Status, TaskId, Timestamp, Verdict, WaitingReason,
};
use crate::engine::{
    Call, DeadlineStep, Event, NoticeEvent, Outcome, ReplyRef, SeatId, SeatResult, StageReport,
    ToolLedgerRef, Usage, Used,
};
use crate::mission::Plan;

/// A run as readers see it, beside its [`crate::engine::State`].
#[derive(Debug, Clone, Default)]
pub struct RunView {
    /// Number of the last event seen: where a follower goes on.
    pub seq: Option<u64>,
    /// The run, once it has started.
    pub run_id: Option<RunId>,
    /// When it started.
    pub started_at: Option<Timestamp>,
    /// When its current or last session started.
    pub session_started_at: Option<Timestamp>,
    /// When its last session ended; `None` while one goes on, or after a crash.
    pub finished_at: Option<Timestamp>,
    /// What its last session ended with; `None` while one goes on, or after a crash.
    pub outcome: Option<Outcome>,
    /// What operators are told, the oldest first.
    pub requests: Vec<OperatorRequest>,
    /// What people should know, the oldest first.
    pub warnings: Vec<String>,
    /// Tasks whose agents outlived the session that started them and still work below its keeper. No event says so: whoever
    /// looks at the run looks at its processes too.
    pub at_work: Vec<TaskId>,
    /// Persons who had the last word about a task's work.
    pub persons: BTreeMap<TaskId, String>,
    /// When each checkpoint and delay was reached last.
    pub holds: BTreeMap<HoldId, Timestamp>,
    /// What a verification said last of a task's current attempt. Few tasks have one.
    pub verifications: BTreeMap<TaskId, StageReport>,
    /// Who was asked last to grade a task by its rubric, and the model that answered.
    pub graders: BTreeMap<TaskId, (AgentId, Option<Box<str>>)>,
    /// What stages behind the verification said last of a task's current attempt, in their order. Few tasks have any.
    pub scrutiny: BTreeMap<TaskId, Vec<StageReport>>,
    /// Notifications of the last session that failed for good.
    pub undelivered: usize,
    /// What is known of the cost of each task. Where nobody asks for it, few tell it.
    pub costs: BTreeMap<TaskId, Money>,
    tasks: Vec<TaskView>,
}

/// A task as readers see it, beside its [`crate::engine::TaskState`].
#[derive(Debug, Clone, Default)]
pub struct TaskView {
    /// All attempts, the first one first.
    pub attempts: Vec<AttemptView>,
    /// When its first turn started.
    pub started_at: Option<Timestamp>,
    /// When it became done or failed.
    pub finished_at: Option<Timestamp>,
    /// What its turns and reviews used.
    pub usage: UsageView,
    /// What its reviewers said last.
    pub review: Option<Box<ReviewView>>,
    /// The verdicts that sent it back or ended it, the oldest first. State forgets them when the task has ended.
    pub rejections: Option<Box<RejectionsView>>,
    /// For failed tasks: how.
    pub failure: Option<Box<FailureView>>,
    /// For tasks that wait for a person: what for.
    pub waiting: Option<Box<WaitingView>>,
}

/// One attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptView {
    /// Its number, from 1 over the whole run.
    pub number: u32,
    /// Its kind.
    pub kind: AttemptKind,
    /// What came out; `None` while it works or is judged, and for work that nobody judged.
    pub verdict: Option<Verdict>,
    /// Why.
    pub cause: Option<Cause>,
    /// What the agent itself failed with.
    pub failure: Option<FailureClass>,
    /// The score, where there is one.
    pub points: Option<Points>,
}

/// The verdicts that sent a task back or ended it. Rare, so a task that just works has a pointer and no list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejectionsView {
    /// The oldest first.
    pub reports: Vec<StageReport>,
}

/// What reviewers said about one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// The attempt.
    pub attempt: u32,
    /// The round of the panel.
    pub round: u32,
    /// What they said together, per dimension; empty for evaluations and before the verdict.
    pub dimensions: Vec<DimensionScore>,
    /// What each of them said, by seat.
    pub seats: Vec<SeatView>,
}

/// What one reviewer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatView {
    /// Who.
    pub reviewer: AgentId,
    /// The model as the provider returned it.
    pub model: Option<Box<str>>,
    /// Where the seat stands.
    pub state: SeatStanding,
    /// The reviewer's own score: weighted over the dimensions, or the one number of an evaluation.
    pub points: Option<Points>,
    /// Score and reasons per dimension, in the task's order.
    pub dimensions: Vec<SeatDimension>,
}

/// Where a seat stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatStanding {
    /// Asked, no reply yet.
    Asked,
    /// It gave scores.
    Scored,
    /// Its reply could not be read.
    Unparsed,
    /// It could not be asked.
    Failed,
}

/// One reviewer's score of one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatDimension {
    /// The score and why.
    pub score: DimensionScore,
    /// Whether it was too far from the others to count.
    pub outlier: bool,
}

/// How a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureView {
    /// How.
    pub mode: FailureMode,
    /// With what, where the agent itself failed.
    pub class: Option<FailureClass>,
    /// In words.
    pub message: String,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingView {
    /// The approval's number within the task; see [`super::ids::ApprovalId`].
    pub number: u32,
    /// Why.
    pub reason: WaitingReason,
    /// Since when.
    pub since: Timestamp,
    /// What the person is told.
    pub message: String,
    /// When its time is up, or was.
    pub expires: Option<Timestamp>,
}

/// Something that operators are told about work that was accepted all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRequest {
    /// The task.
    pub task: TaskId,
    /// The attempt after which it was raised; see [`super::ids::RequestId`].
    pub attempt: u32,
    /// What they are told.
    pub message: String,
}

/// What turns and calls used.
///
/// `requests` counts what reached an agent or was charged for: every worker turn whose process or request came into
/// being (`agent:spawned`), and every call to a reviewer (`seat:requested`) or a consulted agent (`consult:requested`),
/// reprompts and repeats included. A spawn
/// that failed reached nobody. Tokens are sums over what was told, `None` where nobody told: unknown is never free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UsageView {
    /// Worker turns and judge calls.
    pub requests: u32,
    /// Finished turns and replies that did not tell what they used.
    pub untold: u32,
    /// Tokens read.
    pub input_tokens: Option<u64>,
    /// Tokens written.
    pub output_tokens: Option<u64>,
}

impl UsageView {
    fn add(&mut self, usage: Usage) {
        if usage.is_none() {
            self.untold += 1;
        }
        let sum = |total: &mut Option<u64>, part: Option<u64>| {
            if let Some(part) = part {
                *total = Some(total.unwrap_or(0).saturating_add(part));
            }
        };
        sum(&mut self.input_tokens, usage.input_tokens);
        sum(&mut self.output_tokens, usage.output_tokens);
    }
}

impl RunView {
    /// The view before the first event.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self {
            tasks: vec![TaskView::default(); plan.tasks.len()],
            ..Self::default()
        }
    }

    /// The view of a task.
    #[must_use]
    pub fn task(&self, id: TaskId) -> &TaskView {
        &self.tasks[id.index()]
    }

    /// Takes in one event, decided at `at`. Costs O(1), but for the words in it.
    pub fn apply(&mut self, plan: &Plan, seq: u64, at: Timestamp, event: &Event) {
        self.seq = Some(seq);
        // A changed mission, an agent or a failed task may have added tasks.
        if self.tasks.len() < plan.tasks.len() {
            self.tasks.resize_with(plan.tasks.len(), TaskView::default);
        }
        if !matches!(
            event,
            Event::RunFinished { .. } | Event::Warning { .. } | Event::CommandTaken { .. }
        ) {
            // Something moved: what the last session ended with is not what the run is now.
            self.finished_at = None;
            self.outcome = None;
        }
        match event {
            Event::RunStarted(started) => {
                self.run_id = Some(started.run_id.clone());
                self.started_at = Some(at);
                self.session_started_at = Some(at);
            }
            Event::RunResumed { .. } => {
                self.undelivered = 0;
                self.session_started_at = Some(at);
            }
            Event::RunFinished {
                outcome,
                conditions,
                allowed,
            } => {
                self.finished_at = Some(at);
                self.outcome = Some(Outcome {
                    class: *outcome,
                    conditions: conditions.clone(),
                    allowed: allowed.clone(),
                });
            }
            Event::Notice(event) => {
                self.undelivered += usize::from(matches!(**event, NoticeEvent::Failed { .. }));
            }
            Event::Deadline(event) => {
                if event.step == DeadlineStep::Violated {
                    let whose = match event.task {
                        Some(id) => format!("'{}'", plan.task(id).title),
                        None => "the mission".to_owned(),
                    };
                    let text = format!("{whose} missed its deadline, {}", event.due.to_rfc3339());
                    self.warnings.push(text);
                }
            }
            Event::Warning { message } => self.warnings.push(message.clone()),
            Event::ApprovalTimedOut { task, .. } => {
                let title = &plan.task(*task).title;
                let text = format!("nobody approved '{title}' in time; it goes on waiting");
                self.warnings.push(text);
            }
            Event::HoldReached { hold, .. } => {
                self.holds.insert(*hold, at);
            }
            Event::DelegationRefused { task, title, reason } => {
                let from = &plan.task(*task).title;
                self.warnings
                    .push(format!("'{from}' does not hand down '{title}': {reason}"));
            }
            Event::Salvaged { .. } => self.warnings.extend(salvaged(event, at)),
            Event::Transition { .. }
            | Event::AttemptPlanned { .. }
            | Event::StageVerdict(_)
            | Event::ApprovalRequested { .. }
            | Event::ForceAccepted { .. } => self.apply_to_task(at, event),
            Event::TurnStarted { .. }
            | Event::AgentSpawned { .. }
            | Event::TurnFinished { .. }
            | Event::SeatRequested { .. }
            | Event::SeatReplied { .. }
            | Event::SeatFailed { .. }
            | Event::ConsultRequested { .. }
            | Event::CallHeld { .. }
            | Event::CallReleased { .. }
            | Event::ConsultReplied { .. } => self.apply_call(plan, at, event),
            // State or the journal alone holds what these say.
            Event::Stopping { .. }
            | Event::FilesNoted { .. }
            | Event::TurnRequestFailed { .. }
            | Event::TurnLost { .. }
            | Event::TurnAdopted { .. }
            | Event::ScanRequested { .. }
            | Event::FilesScanned { .. }
            | Event::FinishRequested { .. }
            | Event::FinishChecked { .. }
            | Event::Nudged { .. }
            | Event::CheckRequested { .. }
            | Event::CheckFinished { .. }
            | Event::GradingRequested { .. }
            | Event::GradingFailed { .. }
            | Event::StepRequested { .. }
            | Event::StepFailed { .. }
            | Event::EvalUnparsed { .. }
            | Event::ApproverAsked { .. }
            | Event::ApproverUndecided { .. }
            | Event::RetryBlocked { .. }
            | Event::HoldPassed { .. }
            | Event::HoldRejected { .. }
            | Event::ApprovalResolved { .. }
            | Event::DependencyFailed { .. }
            | Event::AgentStale { .. }
            | Event::AgentActivity { .. }
            | Event::Question { .. }
            | Event::Answered { .. }
            | Event::DeadlockDetected { .. }
            | Event::ArtifactsRequested { .. }
            | Event::ArtifactsScanned { .. }
            | Event::DependencyResolved { .. }
            | Event::ConsultFailed { .. }
            | Event::GateEvaluated { .. }
            | Event::GateOverridden { .. }
            | Event::MissionChanged(_)
            | Event::DelegationRequested { .. }
            | Event::TasksAdded(_)
            | Event::TasksWithdrawn { .. }
            | Event::Superseded { .. }
            | Event::EdgeTaken { .. }
            | Event::FellBack { .. }
            | Event::HandedOver { .. }
            | Event::Probed { .. }
            | Event::Paused { .. }
            | Event::Waiting { .. }
            | Event::CommandTaken { .. }
            | Event::LimitReached { .. }
            | Event::BudgetClock { .. }
            | Event::ThresholdFailed { .. } => {}
        }
    }

    /// What a stage behind the verification says. One that was asked anew says it instead of what it said before.
    fn take_scrutiny(&mut self, report: &StageReport) {
        let said = self.scrutiny.entry(report.task).or_default();
        said.retain(|earlier| (earlier.stage, &earlier.name) != (report.stage, &report.name));
        said.push(report.clone());
        if report.verdict == Verdict::Fault {
            let found = report.findings.iter().map(|finding| finding.description.clone());
            self.warnings.extend(found);
        }
    }

    /// What happens to a task as a whole.
    fn apply_to_task(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::Transition {
                task,
                from,
                to,
                mode,
                flag,
                reason,
                ..
            } => {
                if from.is_terminal() {
                    // Done again: what operators were told of the earlier result no longer holds.
                    self.requests.retain(|request| request.task != *task);
                    self.tasks[task.index()].review = None;
                }
                if *to == Status::Pending {
                    // What was said of an earlier attempt is in its row.
                    self.persons.remove(task);
                }
                if *to == Status::Review {
                    self.verifications.remove(task);
                }
                let view = &mut self.tasks[task.index()];
                view.enter(*to, at, *flag);
                view.failure = mode.map(|mode| Box::new(view.failure(mode, reason.as_deref())));
            }
            Event::AttemptPlanned { task, attempt, kind } => {
                self.scrutiny.remove(task);
                self.tasks[task.index()].plan_attempt(*attempt, *kind);
            }
            Event::StageVerdict(report) => {
                if report.cause == Some(Cause::Breaker) {
                    let said = report.findings.iter().map(|finding| &finding.description);
                    let new: Vec<_> = said
                        .filter(|text| !self.warnings.contains(text))
                        .cloned()
                        .collect();
                    self.warnings.extend(new);
                }
                self.tasks[report.task.index()].take_verdict(report);
                if matches!(report.stage, Stage::Stages | Stage::RedTeam | Stage::Vision) {
                    self.take_scrutiny(report);
                }
                if report.stage == Stage::Verification && !report.grades.is_empty() {
                    self.verifications.insert(report.task, (**report).clone());
                }
                if let Some(person) = &report.by {
                    self.persons.insert(report.task, person.clone());
                }
            }
            Event::ApprovalRequested {
                task,
                number,
                reason,
                message,
                expires,
                ..
            } => {
                self.tasks[task.index()].waiting = Some(Box::new(WaitingView {
                    number: *number,
                    reason: *reason,
                    since: at,
                    message: message.clone(),
                    expires: *expires,
                }));
            }
            Event::ForceAccepted { task, message, .. } => {
                let attempts = &self.tasks[task.index()].attempts;
                self.requests.push(OperatorRequest {
                    task: *task,
                    attempt: attempts.last().map_or(0, |attempt| attempt.number),
                    message: message.clone(),
                });
            }
            _ => {}
        }
    }

    /// What is said to agents and by them.
    fn apply_call(&mut self, plan: &Plan, at: Timestamp, event: &Event) {
        let (task, requests, usage) = match event {
            Event::TurnStarted { turn, .. } => {
                self.tasks[turn.task.index()].started_at.get_or_insert(at);
                (turn.task, 0, None)
            }
            Event::AgentSpawned { turn, .. } => (turn.task, 1, None),
            Event::TurnFinished {
                turn, usage, tools, ..
            } => {
                let more = tools.as_deref().map_or(0, ToolLedgerRef::more_requests);
                (turn.task, more, Some(*usage))
            }
            Event::SeatRequested {
                task, seat, agent, ..
            } => {
                self.tasks[task.index()].ask(*seat, *agent);
                (*task, 1, None)
            }
            Event::SeatReplied {
                task,
                seat,
                reply,
                result,
            } => {
                if let Some(view) = self.tasks[task.index()].seat_mut(*seat) {
                    view.reply(plan, *task, reply, result);
                }
                (*task, more_requests(reply), Some(reply.usage))
            }
            // What is held is no request before it is made.
            Event::CallHeld { call, .. } if !matches!(call.call, Call::Turn(..)) => {
                let usage = &mut self.tasks[call.task.index()].usage;
                usage.requests = usage.requests.saturating_sub(1);
                return;
            }
            Event::CallReleased { call } if !matches!(call.call, Call::Turn(..)) => (call.task, 1, None),
            Event::ConsultRequested {
                id, purpose, agent, ..
            } => {
                if matches!(purpose, Purpose::Grade { .. }) {
                    self.graders.insert(id.task, (*agent, None));
                }
                (id.task, 1, None)
            }
            Event::ConsultReplied { id, reply, advice } => {
                if let (Some(grader), Advice::Grades(_)) = (self.graders.get_mut(&id.task), advice) {
                    grader.1 = reply.model.as_deref().map(Into::into);
                }
                (id.task, more_requests(reply), Some(reply.usage))
            }
            Event::SeatFailed { task, seat, used, .. } => {
                if let Some(view) = self.tasks[task.index()].seat_mut(*seat) {
                    view.state = SeatStanding::Failed;
                }
                let (requests, usage) = used_until(used.as_deref());
                (*task, requests, usage)
            }
            Event::ConsultFailed { id, used, .. } => {
                let (requests, usage) = used_until(used.as_deref());
                (id.task, requests, usage)
            }
            _ => return,
        };
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

/// The requests of a call that failed beside the one that did, and what they used.
fn used_until(used: Option<&Used>) -> (u32, Option<Usage>) {
    let requests = used.map_or(0, |used| used.tools.requests);
    (requests, used.map(|used| used.usage))
}

impl TaskView {
    /// The verdicts that sent it back or ended it, the oldest first.
    #[must_use]
    pub fn rejections(&self) -> &[StageReport] {
        self.rejections
            .as_deref()
            .map_or(&[], |rejections| &rejections.reports)
    }

    fn enter(&mut self, to: Status, at: Timestamp, flag: Option<QualityFlag>) {
        if to == Status::Assigned && self.attempts.is_empty() {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        self.waiting = None;
        self.finished_at = to.is_terminal().then_some(at);
        if let Some(attempt) = self.attempts.last_mut() {
            if to == Status::Review {
                // Judged again, perhaps: an earlier word that a person must decide is withdrawn.
                (attempt.verdict, attempt.cause, attempt.points) = (None, None, None);
            } else if flag == Some(QualityFlag::Clean) && attempt.verdict.is_none() {
                // Checks alone decide by letting it through; no stage of its own says so.
                attempt.verdict = Some(Verdict::Pass);
            }
        }
    }

    fn plan_attempt(&mut self, number: u32, kind: AttemptKind) {
        if let Some(last) = self.attempts.last_mut().filter(|last| last.number == number) {
            // Planned anew before it had begun.
            last.kind = kind;
            return;
        }
        self.attempts.push(AttemptView {
            number,
            kind,
            verdict: None,
            cause: None,
            failure: None,
            points: None,
        });
    }

    fn failure(&self, mode: FailureMode, reason: Option<&str>) -> FailureView {
        // Only a mode that an agent's own failure leads to has its class; a cancelled task has none.
        let class = self.attempts.last().and_then(|attempt| attempt.failure);
        FailureView {
            mode,
            class: class.filter(|class| class.mode() == mode),
            message: reason.unwrap_or_default().to_owned(),
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        let by_judges = matches!(report.stage, Stage::Judge | Stage::Verification);
        // A passed preflight or check decides nothing yet.
        let decides = match report.verdict {
            Verdict::Pass => by_judges,
            Verdict::Fail | Verdict::Refer | Verdict::Fault => true,
            Verdict::Skip => false,
        };
        if !decides {
            return;
        }
        if report.verdict == Verdict::Fail {
            let rejections = self.rejections.get_or_insert_default();
            rejections.reports.push(report.clone());
        }
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.verdict = Some(report.verdict);
            attempt.cause = report.cause;
            attempt.failure = report.failure;
            // What judges scored stays the score of work that meets its criteria too.
            let scored_before = report.stage == Stage::Verification && report.verdict == Verdict::Pass;
            attempt.points = attempt.points.filter(|_| scored_before).or(report.points);
        }
        if !by_judges {
            // The last word is not the reviewers': what they said of an earlier attempt is no longer the result.
            self.review = None;
        } else if let Some(review) = self.review.as_deref_mut() {
            if report.stage == Stage::Judge {
                review.dimensions.clone_from(&report.dimensions);
            }
            for (seat, dimension) in &report.outliers {
                let seat = review.seats.get_mut(*seat as usize);
                if let Some(scored) = seat.and_then(|seat| seat.dimensions.get_mut(*dimension as usize)) {
                    scored.outlier = true;
                }
            }
        }
    }

    fn ask(&mut self, seat: SeatId, reviewer: AgentId) {
        let opens_round = self
            .review
            .as_ref()
            .is_none_or(|review| (review.attempt, review.round) != (seat.attempt, seat.round));
        // Asked anew about the same attempt and round: after a resume, judging begins again at its first try.
        let begins_again = seat.seat == 0 && seat.attempt_try == 1;
        if opens_round || begins_again {
            self.review = Some(Box::new(ReviewView {
                attempt: seat.attempt,
                round: seat.round,
                dimensions: Vec::new(),
                seats: Vec::new(),
            }));
        }
        let asked = SeatView {
            reviewer,
            model: None,
            state: SeatStanding::Asked,
            points: None,
            dimensions: Vec::new(),
        };
        let seats = self.review.as_deref_mut().map(|review| &mut review.seats);
        if let Some(seats) = seats {
            match seats.get_mut(seat.seat as usize) {
                Some(existing) => *existing = asked,
                None => seats.push(asked),
            }
        }
    }

    /// The seat of a call, if it belongs to the review that is kept.
    fn seat_mut(&mut self, seat: SeatId) -> Option<&mut SeatView> {
        let review = self.review.as_deref_mut()?;
        review.seats.get_mut(seat.seat as usize)
    }
}

impl SeatView {
    fn reply(&mut self, plan: &Plan, task: TaskId, reply: &ReplyRef, result: &SeatResult) {
        self.model = reply.model.as_deref().map(Into::into);
        match result {
            SeatResult::Scores { dimensions, .. } => {
                self.state = SeatStanding::Scored;
                self.points = weighted(plan, task, dimensions);
                let scores = dimensions.iter().cloned();
                self.dimensions = scores
                    .map(|score| SeatDimension {
                        score,
                        outlier: false,
                    })
                    .collect();
            }
            SeatResult::Evaluation { points, .. } => {
                self.state = SeatStanding::Scored;
                self.points = Some(*points);
            }
            SeatResult::Unparsed { .. } => self.state = SeatStanding::Unparsed,
        }
    }
}

/// One reviewer's score over all dimensions. Shown beside the panel's, which is made by `judging::consensus`.
fn weighted(plan: &Plan, task: TaskId, scores: &[DimensionScore]) -> Option<Points> {
    let expectations = plan.task(task).expectations.as_deref()?;
    let dimensions = &expectations.panel.as_ref()?.dimensions;
    // A reply has one score for each dimension, in their order.
    let weighed = scores.iter().zip(dimensions);
    Points::weighted_mean(weighed.map(|(score, dimension)| (score.points, dimension.weight)))
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;

/// What everybody who looks at a run whose journal was damaged is told, for ever.
pub(super) fn salvaged(event: &Event, at: Timestamp) -> Option<String> {
    let Event::Salvaged {
        by,
        line,
        bytes,
        records,
        file,
    } = event
    else {
        return None;
    };
    Some(format!(
        "the journal was damaged at line {line}: on {} {by} kept what stood before it, and {records} record(s) of {bytes} \
         bytes were moved aside to {file}; what they recorded is unknown",
        at.to_rfc3339(),
    ))
}
