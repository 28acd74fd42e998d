//! What events change of one task. What other tasks feel of it is the business of [`super::apply`].

use crate::domain::{
    AgentId, AttemptKind, Cause, FailureClass, Finding, Phase, Purpose, Stage, Status, Verdict, WaitingReason,
};
use crate::engine::event::{DependencyStep, Event, HoldEvent, Resolution, TaskEvent};
use crate::engine::event_payload::{Deferral, FileFact, StageReport};
use crate::engine::no_progress::signature;
use crate::engine::quality_flag::Mark;
use crate::engine::stages::FLAKY;
use crate::engine::state::{
    ApprovalDecision, Attempt, BelowBar, Course, End, Evidence, Feedback, FirstTurn, Hold, HumanDecision,
    Lifecycle, Reopened, Streak, TaskState,
};

/// How many rounds of feedback a task carries along; older ones are in the journal.
const FEEDBACK_KEPT: usize = 8;

impl TaskState {
    /// Changes one task by one of its events. What other tasks feel of it is the business of [`super::apply`].
    pub(crate) fn apply(&mut self, event: &Event) {
        if let Lifecycle::Review(judging) = &mut self.lifecycle {
            judging.apply(event, &self.work.asks);
        }
        match event {
            Event::Task(_, event) => self.apply_standing(event),
            Event::Work(_, event) => self.apply_work(event),
            Event::Turn(turn, event) => self.apply_turn(*turn, event),
            Event::Ask(id, event) => self.apply_ask(*id, event),
            Event::Hold(_, event) => self.apply_hold(event),
            // What other entities do to a task is the business of its caller.
            _ => {}
        }
    }

    fn apply_standing(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Transition { to, phase, mode, flag, .. } => self.enter(*to, *phase, (*mode, *flag)),
            TaskEvent::AttemptPlanned { attempt, kind } => self.plan_attempt(*attempt, *kind),
            TaskEvent::Deferred { until } => self.defer(until.clone()),
            TaskEvent::FilesChanged { paths, files } => self.files_changed(paths, files),
            TaskEvent::Regressed { reason, files, .. } => {
                self.course.regressions += 1;
                self.reopen(reason, files);
            }
            TaskEvent::MergeBegun { mark } => self.attempt.leave(*mark),
            TaskEvent::Nudged { compilation, others, missing } => {
                self.attempt.nudge(*compilation, *others, missing)
            }
            TaskEvent::StageVerdict(report) => self.take_verdict(report),
            TaskEvent::DependencyFailed { dependency, step, note } => match step {
                DependencyStep::Detected => self.remedies.get_or_insert_default().detected(*dependency),
                DependencyStep::Resolved(way) => {
                    let remedies = self.remedies.get_or_insert_default();
                    remedies.resolved(*dependency, *way, note);
                }
                // The transition beside it says what becomes of the task.
                DependencyStep::Unresolvable(_) => {}
            },
            TaskEvent::Question { .. } | TaskEvent::Answered { .. } => {
                self.dialog.get_or_insert_default().apply(event);
            }
            TaskEvent::Probed { probes } => self.course.probes.clone_from(probes),
            TaskEvent::EdgeTaken { edge, visit, .. } => {
                self.course.visits = *visit;
                // Sent back, it stands where it stood before its first verdict.
                self.course.edge = self.judging().map(|_| *edge);
            }

            // Whatever becomes of the work now, the score of earlier work is not its score.
            TaskEvent::EvalUnparsed => self.attempt.points = None,

            TaskEvent::ForceAccepted { .. } => self.attempt.below_bar = BelowBar::Told,
            TaskEvent::AcceptanceAnswered { reason, .. } => {
                self.attempt.below_bar = BelowBar::Answered(reason.is_none());
            }
            TaskEvent::FellBack { from, work: true, .. } => self.hand_over(*from),

            // What these say is in the transition beside them, is the business of its judging, or matters to readers only.
            TaskEvent::StageVoided(_)
            | TaskEvent::AcceptanceRecorded { .. }
            | TaskEvent::StageFailed { .. }
            | TaskEvent::Superseded { .. }
            | TaskEvent::FellBack { .. }
            | TaskEvent::DelegationDrift { .. }
            | TaskEvent::DelegationRefused { .. } => {}
        }
    }

    fn apply_hold(&mut self, event: &HoldEvent) {
        match event {
            HoldEvent::Opened { number, .. } => {
                self.consent.asked = *number;
                if let Some(hold) = self.lifecycle.hold_mut() {
                    *hold = Hold::opened(event);
                }
            }
            HoldEvent::Closed { number, resolution, .. } => {
                self.resolve(*number, *resolution == Resolution::Approved)
            }
            HoldEvent::Undecided { approver, again, .. } => {
                if let Some(Some(waiting)) = self.lifecycle.hold_mut() {
                    waiting.asking = None;
                    // Where nobody is left, all are asked again.
                    waiting.undecided = if again.is_some() { 0 } else { approver + 1 };
                }
            }
            HoldEvent::TimedOut { .. } => {}
        }
    }

    fn defer(&mut self, until: Option<Box<Deferral>>) {
        // What goes on behind a stage waits for nobody who was asked before.
        if until.as_ref().is_some_and(|deferral| deferral.stage.is_some()) {
            self.keep_asks(|purpose| !purpose.is_judging());
        }
        self.deferral = until;
    }

    /// Hands the task to another agent.
    fn hand_over(&mut self, from: AgentId) {
        let author = (from, self.output.model.take());
        if !self.course.authors_before.contains(&author) {
            self.course.authors_before.push(author);
        }
        // Neither the session nor what failed in a row is of the next one.
        self.course.session = None;
        self.course.streak = Streak::default();
    }

    /// Begins a second attempt, or a second judging, of accepted work that did not stand.
    pub fn reopen(&mut self, why: &str, files: &[FileFact]) {
        self.reopened =
            Some(Box::new(Reopened { why: why.into(), files: files.to_vec(), ..Reopened::default() }));
    }

    /// Something that the task needs was withdrawn, or it is another one in a changed mission. Where the task has not begun, what was
    /// looked at before its first turn, and a person's word about that, are of what does not stand any more (section 24).
    /// It is looked at anew once it has a slot; one that has a slot goes back first.
    pub fn outdate(&mut self) {
        if self.course.first_turn != FirstTurn::Begun {
            self.course.first_turn = FirstTurn::Outdated;
            self.consent.begins_green = false;
        }
    }

    /// Closes the question to a person: it is answered.
    fn resolve(&mut self, number: u32, approved: bool) {
        self.consent.answers.push(ApprovalDecision { number, approved });
        // An agent that is still asked for it is too late.
        self.keep_asks(|purpose| !matches!(purpose, Purpose::Approve { .. }));
        self.is_no_longer_open();
        let hold = self.lifecycle.hold_mut().and_then(Option::take);
        let Some(waiting) = hold.filter(|_| approved) else {
            return;
        };
        match waiting.reason {
            WaitingReason::Approval if waiting.cause == Some(Cause::Vacuous) => {
                self.consent.begins_green = self.course.first_turn != FirstTurn::Outdated;
            }
            WaitingReason::Approval => self.consent.agreed.push(waiting.gate),
            WaitingReason::SideEffects => self.consent.allowed_again = true,
            _ => {}
        }
    }
    /// Judges that were missing are asked again, or a person has spoken instead: what comes of it is said anew.
    fn is_no_longer_open(&mut self) {
        if self.hold().is_some_and(Hold::is_for_judges) {
            self.attempt.marks.retain(|mark| *mark != Mark::Indeterminate);
        }
    }

    /// Files are not what was shown of them. Whoever judges them looks anew; a person says yes to what there is now.
    fn files_changed(&mut self, paths: &[String], files: &[FileFact]) {
        let judging = match &mut self.lifecycle {
            Lifecycle::Review(judging) => judging,
            Lifecycle::AwaitingApproval { judged, .. } => {
                let judged = judged.get_or_insert_default();
                judged.files = files.to_vec();
                judged
            }
            _ => return,
        };
        for path in paths {
            if !judging.changed.contains(path) {
                judging.changed.push(path.clone());
            }
        }
    }

    fn enter(&mut self, to: Status, phase: Option<Phase>, end: End) {
        if to == Status::Review {
            self.is_no_longer_open();
        }
        // A result that is withdrawn, and a request that nobody answered, take earlier agreement along.
        let withdrawn = self.hold().is_some() && to == Status::Pending;
        let ended = self.status().is_terminal();
        if ended || withdrawn {
            self.consent.agreed = Vec::new();
            self.consent.allowed_again = false;
            // What it left out stays left out while it is judged once more.
            self.course.edge.take_if(|_| self.reopened.is_none());
        }
        self.keep_asks(|_| false);
        // What was called off is looked at when the task begins after all.
        self.course.baseline.take_if(|baseline| baseline.open);
        self.attempt.looks.open = None;
        // Whatever it is sent to wait for a moment with is decided before. What waits for a slot waits as it is.
        if to != Status::Pending || self.is_queued() {
            self.deferral = None;
        }
        self.lifecycle = std::mem::take(&mut self.lifecycle).next(to, phase, end);
        if to == Status::Assigned && self.attempt.number == 0 {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        if ended && to == Status::Pending {
            self.outdate();
        }
        if to == Status::Assigned && self.course.first_turn == FirstTurn::Outdated {
            self.course.first_turn = FirstTurn::Ahead;
            (self.course.baseline, self.course.first) = (None, None);
            self.course.evidence = Evidence::default();
        }
        if to.is_terminal() {
            self.work.turn = None;
            self.delegations.clear();
            self.reopened = None;
        }
        if let Some(remedies) = &mut self.remedies {
            remedies.failed.clear();
            remedies.scanning.clear();
        }
        if !matches!(to, Status::InProgress | Status::AwaitingApproval)
            && let Some(dialog) = &mut self.dialog
        {
            dialog.open = None;
            dialog.call = None;
        }
    }

    /// Begins an attempt and counts it against the allowances (section 4).
    pub(crate) fn plan_attempt(&mut self, number: u32, kind: AttemptKind) {
        self.attempt = Attempt { number, kind, ..Attempt::default() };
        if let Some(dialog) = &mut self.dialog {
            dialog.forget_calls();
        }
        // A fix corrects what was found and keeps what was good; every other attempt asks anew.
        if kind != AttemptKind::Fix {
            self.delegations.clear();
            self.course.session = None;
        }
        // What is done again because it did not stand counts against no allowance.
        let counts = u32::from(self.reopened.is_none());
        match kind {
            // The first one, or the first by a person's word: full allowances, and nothing left of an old result.
            AttemptKind::Execute => {
                if number > 1 {
                    self.consent.agreed = Vec::new();
                }
                self.reopened = None;
                let mut committed = self.course.committed.take();
                if let Some(committed) = &mut committed {
                    committed.conflicts = 0;
                }
                self.course = Course {
                    tries: 1,
                    // It lies in its worktree still.
                    committed,
                    authors_before: std::mem::take(&mut self.course.authors_before),
                    baseline: self.course.baseline.take(),
                    first: self.course.first.take(),
                    first_turn: self.course.first_turn,
                    told_of_tests: self.course.told_of_tests,
                    // The judges of what a fixup mends have sent back what the fixup begins with.
                    sent_back: self.course.sent_back && number == 1,
                    ..Course::default()
                };
                if let Some(dialog) = &mut self.dialog {
                    dialog.rounds = 0;
                }
            }
            AttemptKind::Fix => {
                self.course.tries += counts;
                self.course.fixes += counts;
            }
            AttemptKind::Retry => {
                self.course.tries += counts;
                self.course.retries += 1;
                self.course.fixes = 0;
            }
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        self.course.streak.take_verdict(report);
        self.attempt.take_marks(report);
        // Checks say of themselves only that they are flaky.
        let is_beside = |finding: &Finding| !finding.description.starts_with(FLAKY);
        let looks = &mut self.attempt.looks;
        looks.told |= report.stage == Stage::Checks
            && (!looks.made.is_empty() || report.findings.iter().any(is_beside));
        // A file of done work changed, and no check holds it any more.
        if let (Stage::Audit, Lifecycle::Done { flag, .. }) = (report.stage, &mut self.lifecycle) {
            *flag = (*flag).max(report.marks().collect());
        }
        match report.verdict {
            Verdict::Pass if report.stage == Stage::Judge => self.attempt.points = report.points,
            // What judges scored stays the score. Without any, the criteria that were met are.
            Verdict::Pass if report.stage == Stage::Verification => {
                let scored = self.judging().is_some_and(|judging| judging.scored);
                let confirmed = self.attempt.accepted.as_deref().is_some_and(|word| word.scored);
                if !scored && !confirmed && report.by.is_none() {
                    self.attempt.points = report.points;
                }
            }
            Verdict::Fail => {
                self.attempt.points = report.points;
                self.course.sent_back |= report.stage == Stage::Judge;
                self.course.told_of_tests |= report.cause == Some(Cause::TestsChanged);
                if report.stage == Stage::Merge {
                    self.course.committed.get_or_insert_default().conflicts += 1;
                }
                self.course.signature = signature(report, self.judging());
                if self.feedback.len() == FEEDBACK_KEPT {
                    self.feedback.remove(0);
                }
                self.feedback.push(Feedback {
                    attempt: report.attempt,
                    stage: report.stage,
                    name: report.name.clone(),
                    cause: report.cause,
                    points: report.points,
                    dimensions: report.dimensions.clone(),
                    findings: report.findings.clone(),
                });
            }
            Verdict::Refer => {
                if report.asks_about_score() {
                    self.attempt.points = report.points;
                }
            }
            Verdict::Pass | Verdict::Skip | Verdict::Fault => {}
        }
        if report.by.is_some() && report.verdict == Verdict::Pass {
            let before = self.attempt.accepted.take();
            self.attempt.accepted = Some(Box::new(HumanDecision {
                stage: report.stage,
                name: report.name.as_deref().map(Box::from),
                scored: match report.stage {
                    Stage::Judge => report.points.is_some(),
                    _ => before.is_some_and(|before| before.scored),
                },
            }));
        }
    }
}

impl Streak {
    /// Only an agent that failed itself goes on with a row.
    fn take_verdict(&mut self, report: &StageReport) {
        let class = report.failure.filter(|_| report.stage == Stage::Outcome);
        let next = |goes_on: bool, row: u32| if goes_on { row + 1 } else { 0 };
        self.provider = next(class.is_some_and(FailureClass::is_of_provider), self.provider);
        self.instant = next(class == Some(FailureClass::Unknown) && self.was_quick, self.instant);
        self.too_long |= class == Some(FailureClass::ContextTooLong);
    }
}
