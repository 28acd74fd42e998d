//! What events change of one task. What other tasks feel of it is the business of [`super::apply`].

use crate::domain::{
    AttemptKind, Cause, FailureClass, Phase, QualityFlag, Stage, StageKey, Status, Verdict, WaitingReason,
};
use crate::engine::audit::Acceptance;
use crate::engine::event::{Event, TaskEvent};
use crate::engine::payload::{FileFact, StageReport};

use crate::engine::state::{
    APPROVED, Answer, Attempt, Course, Deferral, Feedback, Hold, Judging, OpenStage, PersonsWord, Reopened,
    SaidVerdict, Streak, TaskState,
};

/// How many rounds of feedback a task carries along; older ones are in the journal.
const FEEDBACK_KEPT: usize = 8;

impl TaskState {
    /// Changes one task by one of its events. What other tasks feel of it is the business of [`super::apply`].
    pub(in crate::engine) fn apply(&mut self, event: &Event) {
        match event {
            Event::Task(_, event) => self.apply_standing(event),
            Event::Work(_, event) => self.apply_work(event),
            Event::Turn(turn, event) => self.apply_turn(*turn, event),
            Event::Ask(id, event) => self.apply_ask(*id, event),
            Event::Run(_)
            | Event::Gate(..)
            | Event::Hold(..)
            | Event::Budget(_)
            | Event::Deadline(_)
            | Event::Notice(_) => {}
        }
    }

    fn apply_standing(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Transition {
                to,
                phase,
                mode,
                flag,
                ..
            } => self.enter(*to, *phase, *mode, *flag),
            TaskEvent::AttemptPlanned { attempt, kind } => self.plan_attempt(*attempt, *kind),
            TaskEvent::StageVoided(_) => {
                if let Some(judging) = &mut self.review {
                    judging.voided += 1;
                }
            }
            TaskEvent::Deferred {
                why,
                until,
                since,
                message,
                stage,
            } => {
                // What goes on behind a stage waits for nobody who was asked before.
                if stage.is_some() {
                    self.work.asks.retain(|open| !open.purpose.is_judging());
                }
                self.deferral = Some(Box::new(Deferral {
                    why: *why,
                    until: *until,
                    since: *since,
                    message: message.clone(),
                    stage: *stage,
                }));
            }
            TaskEvent::Released => self.deferral = None,
            TaskEvent::FilesChanged { paths, files } => self.files_changed(paths, files),
            TaskEvent::AcceptanceRecorded { files, checks } => {
                let judging = self.review.as_deref();
                let passed = judging.map_or(&[][..], |judging| &judging.passed);
                let is_meant = |(check, _): &&(u32, u64)| checks.contains(check);
                self.end.acceptance = Some(Box::new(Acceptance {
                    files: files.clone(),
                    checks: passed.iter().filter(is_meant).copied().collect(),
                    ..Acceptance::default()
                }));
            }
            TaskEvent::Regressed { reason, files, .. } => {
                self.course.regressions += 1;
                self.reopen(reason, files);
            }
            TaskEvent::Nudged {
                compilation,
                others,
                missing,
            } => {
                self.attempt.nudged.compilation += u32::from(*compilation);
                self.attempt.nudged.others += u32::from(*others);
                self.attempt.missing.clone_from(missing);
            }
            TaskEvent::StageOpened { stage, round, plain } => self.open_stage(OpenStage {
                key: *stage,
                round: *round,
                open: true,
                plain: *plain,
            }),
            TaskEvent::StageFailed { .. } => self.close_stage(),
            TaskEvent::ApprovalUndecided { approver, again, .. } => {
                if let Some(waiting) = &mut self.waits {
                    waiting.asking = None;
                    // Where nobody is left, all are asked again.
                    waiting.undecided = if again.is_some() { 0 } else { approver + 1 };
                }
            }
            TaskEvent::StageVerdict(report) => self.take_verdict(report),
            TaskEvent::ApprovalRequested {
                number,
                reason,
                cause,
                stage,
                gate,
                expires,
                ..
            } => {
                self.consent.asked = *number;
                self.waits = Some(Hold {
                    reason: *reason,
                    cause: *cause,
                    stage: stage.unwrap_or(StageKey::Of(Stage::Judge)),
                    number: *number,
                    gate: gate.as_deref().map(Box::from),
                    expires: *expires,
                    asking: None,
                    undecided: 0,
                });
            }
            TaskEvent::ApprovalResolved {
                number, resolution, ..
            } => self.resolve(*number, resolution == APPROVED),
            TaskEvent::DeadlockDetected { dependency } => {
                self.remedies.get_or_insert_default().detected(*dependency);
            }
            TaskEvent::DependencyResolved {
                dependency,
                way,
                note,
            } => {
                self.remedies
                    .get_or_insert_default()
                    .resolved(*dependency, *way, note);
            }
            TaskEvent::Question { .. } => {
                self.doing = Some(Phase::Clarification);
                self.dialog.get_or_insert_default().apply(event);
            }
            TaskEvent::Answered { .. } => {
                self.dialog.get_or_insert_default().apply(event);
                if self.state == Status::InProgress {
                    self.doing = Some(self.attempt.kind.phase());
                }
            }
            TaskEvent::DelegationRequested { sub_tasks } => {
                for sub_task in sub_tasks {
                    self.delegations.retain(|earlier| earlier.title != sub_task.title);
                    self.delegations.push(sub_task.clone());
                }
            }
            TaskEvent::Probed { probes } => self.course.probes.clone_from(probes),
            TaskEvent::EdgeTaken {
                edge,
                visit,
                stopped: _,
                ..
            } => {
                self.course.visits = *visit;
                // Sent back, it stands where it stood before its first verdict.
                self.end.edge = (self.state == Status::Review).then_some(*edge);
            }

            // Whatever becomes of the work now, the score of earlier work is not its score.
            TaskEvent::EvalUnparsed => self.attempt.points = None,

            // What these say is in the transition beside them, or matters to readers only.
            TaskEvent::ApprovalTimedOut { .. }
            | TaskEvent::RetryBlocked { .. }
            | TaskEvent::Superseded { .. }
            | TaskEvent::FellBack { .. }
            | TaskEvent::DelegationDrift { .. }
            | TaskEvent::NoProgress { .. }
            | TaskEvent::ForceAccepted { .. }
            | TaskEvent::DelegationRefused { .. }
            | TaskEvent::DependencyFailed { .. } => {}
        }
    }

    /// What it had come to is done, or judged, once more.
    pub(super) fn reopen(&mut self, why: &str, files: &[FileFact]) {
        self.reopened = Some(Box::new(Reopened {
            why: why.into(),
            files: files.to_vec(),
            edge: self.end.edge,
            ahead_of: Vec::new(),
        }));
    }

    /// What was asked is answered.
    fn resolve(&mut self, number: u32, approved: bool) {
        self.consent.answers.push(Answer { number, approved });
        self.is_no_longer_open();
        let Some(waiting) = self.waits.take().filter(|_| approved) else {
            return;
        };
        match waiting.reason {
            WaitingReason::Approval => self.consent.agreed.push(waiting.gate),
            WaitingReason::SideEffects => self.consent.allowed_again = true,
            _ => {}
        }
    }
    /// Judges that were missing are asked again, or a person has spoken instead: what comes of it is said anew.
    fn is_no_longer_open(&mut self) {
        if self.waits.as_ref().is_some_and(Hold::is_for_judges) {
            self.attempt.indeterminate = false;
        }
    }

    /// Files are not what was shown of them. Whoever judges them looks anew; a person says yes to what there is now.
    fn files_changed(&mut self, paths: &[String], files: &[FileFact]) {
        if self.state != Status::AwaitingApproval {
            self.judging_mut().changed = true;
            return;
        }
        self.seen = files.to_vec();
        for path in paths {
            if !self.changed.contains(path) {
                self.changed.push(path.clone());
            }
        }
    }

    pub(super) fn judging_mut(&mut self) -> &mut Judging {
        self.review.get_or_insert_default()
    }

    fn enter(
        &mut self,
        to: Status,
        phase: Option<Phase>,
        mode: Option<crate::domain::FailureMode>,
        flag: Option<QualityFlag>,
    ) {
        if to == Status::Review {
            self.is_no_longer_open();
        }
        // A result that is withdrawn, and a request that nobody answered, take earlier agreement along.
        let withdrawn = self.waits.is_some() && to == Status::Pending;
        if self.state.is_terminal() || withdrawn {
            self.consent.agreed = Vec::new();
            self.consent.allowed_again = false;
            // What it left out stays left out while it is judged once more.
            self.end.edge.take_if(|_| self.reopened.is_none());
        }
        // Whatever it is sent to wait for a moment with is decided before. What waits for a slot waits as it is.
        if to != Status::Pending || self.is_queued() {
            self.deferral = None;
        }
        self.state = to;
        self.doing = phase;
        self.end.mode = mode;
        self.end.flag = flag;
        if to == Status::Assigned && self.attempt.number == 0 {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        // Whoever judges on after a person's word is shown the files that were seen before it.
        let judged = self.review.take_if(|_| to != Status::Review);
        self.changed = Vec::new();
        match to {
            Status::AwaitingApproval => {
                let judged = judged.map(|judging| *judging).unwrap_or_default();
                (self.seen, self.passed) = (judged.files, judged.passed);
            }
            Status::Review if !self.seen.is_empty() || !self.passed.is_empty() => {
                let (files, passed) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.passed));
                let judging = self.judging_mut();
                (judging.files, judging.passed) = (files, passed);
            }
            _ => (self.seen, self.passed) = (Vec::new(), Vec::new()),
        }
        if to != Status::Done {
            self.end.acceptance = None;
        }
        if to != Status::AwaitingApproval {
            self.waits = None;
            self.panel = None;
        }
        if to.is_terminal() {
            self.work.turn = None;
            self.delegations.clear();
            self.reopened = None;
        }
        self.work.asks.clear();
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
    pub(in crate::engine) fn plan_attempt(&mut self, number: u32, kind: AttemptKind) {
        self.attempt = Attempt {
            number,
            kind,
            ..Attempt::default()
        };
        if let Some(dialog) = &mut self.dialog {
            dialog.forget_calls();
        }
        // A fix corrects what was found and keeps what was good; every other attempt asks anew.
        if kind != AttemptKind::Fix {
            self.delegations.clear();
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
                self.course = Course {
                    tries: 1,
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
        match report.stage {
            Stage::Verification | Stage::Stages | Stage::RedTeam | Stage::Vision => self.close_stage(),
            _ => {}
        }
        let is_said = self.state == Status::Review && report.stage >= Stage::Judge;
        if is_said && matches!(report.verdict, Verdict::Pass | Verdict::Skip) {
            self.judging_mut().verdicts.push(SaidVerdict {
                stage: report.stage,
                verdict: report.verdict,
                withdrawn: report.withdrawn,
            });
        }
        match report.verdict {
            Verdict::Pass if report.stage == Stage::Judge => {
                self.attempt.points = report.points;
                self.judging_mut().scored = report.points.is_some();
                self.attempt.relaxed = report.relaxed;
                self.attempt.indeterminate = false;
            }
            // What judges scored stays the score. Without any, the criteria that were met are.
            Verdict::Pass if report.stage == Stage::Verification => {
                self.attempt.relaxed |= report.relaxed;
                let scored = self.review.as_deref().is_some_and(|judging| judging.scored);
                let confirmed = self.attempt.accepted.as_deref().is_some_and(|word| word.scored);
                if !scored && !confirmed && report.by.is_none() {
                    self.attempt.points = report.points;
                }
                self.attempt.indeterminate = false;
            }
            Verdict::Fail => {
                self.attempt.points = report.points;
                self.attempt.indeterminate = report.cause == Some(Cause::Unparsed);
                self.course.sent_back |= report.stage == Stage::Judge;
                self.course.signature = crate::engine::decide::signature(report, self.review.as_deref());
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
                self.attempt.indeterminate = report.cause.is_some_and(Cause::is_of_judges);
                let asks_about_score = matches!(report.cause, Some(Cause::Person | Cause::Confidence));
                if report.stage == Stage::Judge && asks_about_score {
                    self.attempt.points = report.points;
                    self.panel = report.points.map(|_| Box::new(report.clone()));
                }
            }
            // Nobody saw what should have been shown.
            Verdict::Skip if matches!(report.cause, Some(Cause::Unmet | Cause::Breaker | Cause::Changed)) => {
                self.attempt.unverified = true;
                self.attempt.indeterminate |= report.indeterminate;
            }
            Verdict::Pass if report.stage == Stage::Finish => self.attempt.unverified = false,
            Verdict::Fault if matches!(report.stage, Stage::RedTeam | Stage::Vision) => {
                self.attempt.faulted = true
            }
            Verdict::Pass | Verdict::Skip | Verdict::Fault => {}
        }
        if report.by.is_some() && report.verdict == Verdict::Pass {
            let before = self.attempt.accepted.take();
            self.attempt.accepted = Some(Box::new(PersonsWord {
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
        self.instant = next(
            class == Some(FailureClass::Unknown) && self.was_quick,
            self.instant,
        );
        self.too_long |= class == Some(FailureClass::ContextTooLong);
    }
}
