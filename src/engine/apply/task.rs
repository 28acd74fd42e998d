//! What events change of one task. What other tasks feel of it is the business of [`super::apply`].

use crate::domain::{
    Advice, AgentId, AskId, AttemptKind, Cause, Digest, FailureClass, Millis, Phase, Purpose, QualityFlag,
    SeatPlace, Stage, Status, Timestamp, TurnId, Verdict, WaitingReason,
};
use crate::engine::audit::{Acceptance, AfterScan};
use crate::engine::event::{
    AskEvent, BudgetEvent, Event, GateEvent, HoldEvent, RunEvent, TaskEvent, TurnEvent, WorkEvent,
};
use crate::engine::payload::{Exit, FileFact, StageReport, ToolCalls, TurnFiles};
use crate::judging::parser::Unparsed;

use crate::engine::state::{
    APPROVED, Answer, Ask, Calls, Deferral, Evidence, Feedback, Grading, Heard, Judging, Noted, Nudged,
    OpenStep, OutputRefs, PersonsWord, Seat, SeatState, Streak, TaskState, Turn, Waiting,
};

/// An attempt that ends within so long of its start was over before it had begun.
const INSTANT: Millis = Millis::from_secs(1);
/// How many rounds of feedback a task carries along; older ones are in the journal.
const FEEDBACK_KEPT: usize = 8;
impl TaskState {
    /// Changes one task by one of its events. What other tasks feel of it is [`apply`]'s business.
    pub(in crate::engine) fn apply(&mut self, event: &Event) {
        match event {
            Event::Task(
                _,
                TaskEvent::Transition {
                    to,
                    phase,
                    mode,
                    flag,
                    ..
                },
            ) => self.enter(*to, *phase, *mode, *flag),
            Event::Task(_, TaskEvent::AttemptPlanned { attempt, kind }) => self.plan_attempt(*attempt, *kind),
            Event::Turn(turn, TurnEvent::Started { .. }) => {
                self.turn = turn.turn;
                self.acted = true;
                self.allowed_again = false;
                self.running = Some(Turn {
                    failed_requests: 0,
                    not_before: None,
                });
            }
            Event::Task(_, TaskEvent::StageVoided(_)) => {
                if let Some(judging) = &mut self.judging {
                    judging.voided += 1;
                }
            }
            Event::Turn(turn, TurnEvent::FilesNoted { file, shared }) => {
                self.evidence.noted = Some(Box::new(Noted {
                    turn: *turn,
                    file: file.clone(),
                    starts: 0,
                    shared: *shared,
                }));
            }
            Event::Turn(_, TurnEvent::RequestFailed { not_before, .. }) => {
                if let Some(running) = &mut self.running {
                    running.failed_requests += 1;
                    running.not_before = Some(*not_before);
                }
            }
            Event::Task(
                _,
                TaskEvent::Deferred {
                    why,
                    until,
                    since,
                    message,
                    stage,
                    step,
                },
            ) => {
                // What goes on behind a stage waits for nobody who was asked before.
                if stage.is_some() {
                    self.asks.retain(|open| !open.purpose.is_judging());
                }
                self.deferral = Some(Box::new(Deferral {
                    why: *why,
                    until: *until,
                    since: *since,
                    message: message.clone(),
                    stage: *stage,
                    step: *step,
                }));
            }
            Event::Task(_, TaskEvent::Released) => self.deferral = None,
            Event::Turn(
                turn,
                TurnEvent::Finished {
                    exit,
                    duration,
                    output,
                    result,
                    files,
                    tool_calls,
                    asked,
                    model,
                    tools,
                    ..
                },
            ) => {
                self.running = None;
                self.streak.take_turn(*turn, exit, *duration);
                self.model = model.as_deref().map(Box::from);
                if asked.is_some() || self.dialog.is_some() {
                    let dialog = self.dialog.get_or_insert_default();
                    dialog.said.clone_from(asked);
                    dialog.end_turn();
                }
                self.evidence.take_turn(*turn, files.as_ref(), *tool_calls);
                self.output = OutputRefs {
                    stdout: output.clone(),
                    result: result.clone(),
                    tools: tools.as_deref().and_then(|tools| tools.file.clone()),
                };
            }
            Event::Turn(_, TurnEvent::Lost) => {
                self.running = None;
                if let Some(dialog) = &mut self.dialog {
                    dialog.end_turn();
                }
                self.evidence.calls = self.evidence.calls.and(None);
            }
            Event::Work(_, WorkEvent::ScanRequested { then }) => {
                self.scans += 1;
                let judging = self.judging_mut();
                (judging.scanning, judging.then) = (true, *then);
                if *then == AfterScan::Repeat {
                    judging.repeated = Some(judging.asked_stage());
                    judging.rounds_before = match (judging.step, judging.grading) {
                        (Some(open), _) => open.round,
                        (None, Some(grading)) => grading.round,
                        (None, None) => 0,
                    };
                    judging.heard = None;
                }
            }
            Event::Work(_, WorkEvent::FilesScanned { files, hollow }) => {
                let judging = self.judging_mut();
                // Whoever looks at screenshots looks at nothing else.
                if std::mem::take(&mut judging.scanning) {
                    (judging.stale, judging.changed) = (false, false);
                }
                judging.files.clone_from(files);
                judging.hollow.clone_from(hollow);
            }
            Event::Task(_, TaskEvent::FilesChanged { paths, files }) => self.files_changed(paths, files),
            Event::Task(_, TaskEvent::AcceptanceRecorded { files, checks }) => {
                let judging = self.judging.as_deref();
                let passed = judging.map_or(&[][..], |judging| &judging.passed);
                let is_meant = |(check, _): &&(u32, u64)| checks.contains(check);
                self.acceptance = Some(Box::new(Acceptance {
                    files: files.clone(),
                    checks: passed.iter().filter(is_meant).copied().collect(),
                    ..Acceptance::default()
                }));
            }
            Event::Work(_, WorkEvent::FinishRequested { .. }) => {
                let judging = self.judging_mut();
                judging.stale = true;
                judging.finish.push(None);
            }
            Event::Work(_, WorkEvent::FinishChecked { result, .. }) => {
                if let Some(slot) = self.judging_mut().finish.last_mut() {
                    *slot = Some(result.clone());
                }
            }
            Event::Task(
                _,
                TaskEvent::Nudged {
                    compilation,
                    others,
                    missing,
                },
            ) => {
                self.nudged.compilation += u32::from(*compilation);
                self.nudged.others += u32::from(*others);
                self.missing.clone_from(missing);
            }
            Event::Work(_, WorkEvent::CheckRequested { check }) => {
                let judging = self.judging_mut();
                judging.stale = true;
                judging.passed.retain(|(passed, _)| passed != check);
                let checks = &mut judging.checks;
                if checks.len() <= *check as usize {
                    checks.resize(*check as usize + 1, None);
                }
            }
            Event::Work(_, WorkEvent::CheckFinished { check, result }) => {
                let judging = self.judging_mut();
                if let Some(slot) = judging.checks.get_mut(*check as usize) {
                    *slot = Some(result.clone());
                }
                if result.passed {
                    judging.passed.push((*check, judging.turns_ended));
                }
            }
            Event::Work(_, WorkEvent::GradingRequested { round, unreviewed }) => {
                self.forget_what_was_heard(*round);
                self.forget_reviewers();
                self.judging_mut().grading = Some(Grading {
                    round: *round,
                    open: true,
                    unreviewed: *unreviewed,
                });
            }
            Event::Work(_, WorkEvent::GradingFailed { .. }) => self.end_grading(),
            Event::Work(
                _,
                WorkEvent::StepRequested {
                    step,
                    round,
                    plain,
                    grounds,
                },
            ) => {
                self.forget_what_was_heard(*round);
                self.forget_reviewers();
                // In its first round a vision check only looks.
                self.judging_mut().stale |= *plain && *round > 0;
                self.judging_mut().step = Some(OpenStep {
                    step: *step,
                    round: *round,
                    open: true,
                    plain: *plain,
                    grounds: *grounds,
                });
            }
            Event::Work(_, WorkEvent::StepFailed { .. }) => self.end_step(),
            Event::Task(_, TaskEvent::StageVerdict(report)) => self.take_verdict(report),
            Event::Task(
                _,
                TaskEvent::ApprovalRequested {
                    number,
                    reason,
                    cause,
                    stage,
                    step,
                    gate,
                    expires,
                    ..
                },
            ) => {
                self.asked = *number;
                self.waiting = Some(Waiting {
                    reason: *reason,
                    cause: *cause,
                    stage: stage.unwrap_or(Stage::Judge),
                    step: *step,
                    number: *number,
                    gate: gate.as_deref().map(Box::from),
                    expires: *expires,
                    asking: None,
                    undecided: 0,
                });
            }
            Event::Work(_, WorkEvent::ApproverAsked { approver, .. }) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.asking = Some(*approver);
                }
            }
            Event::Work(_, WorkEvent::ApproverUndecided { approver, again, .. }) => {
                if let Some(waiting) = &mut self.waiting {
                    waiting.asking = None;
                    waiting.undecided = approver + 1;
                    if again.is_some() {
                        waiting.undecided = 0;
                    }
                }
            }
            Event::Task(
                _,
                TaskEvent::ApprovalResolved {
                    number, resolution, ..
                },
            ) => self.resolve(*number, resolution == APPROVED),
            Event::Task(_, TaskEvent::DeadlockDetected { .. } | TaskEvent::DependencyResolved { .. })
            | Event::Work(_, WorkEvent::ArtifactsRequested { .. } | WorkEvent::ArtifactsScanned { .. }) => {
                self.remedies.get_or_insert_default().apply(event)
            }
            Event::Task(_, TaskEvent::Question { .. }) => {
                self.phase = Some(Phase::Clarification);
                self.dialog.get_or_insert_default().apply(event);
            }
            Event::Task(_, TaskEvent::Answered { .. }) => {
                self.dialog.get_or_insert_default().apply(event);
                if self.status == Status::InProgress {
                    self.phase = Some(self.kind.phase());
                }
            }
            Event::Ask(
                id,
                AskEvent::Requested {
                    purpose,
                    agent,
                    strict,
                    not_before,
                },
            ) => {
                self.ask(*id, *purpose, *agent, strict.as_ref(), *not_before);
                if let Purpose::Score(place) = purpose {
                    self.rounds = self.rounds.max(place.round);
                    self.judging_mut().seat_asked(*place, *agent);
                }
            }
            Event::Ask(
                id,
                AskEvent::Replied {
                    purpose,
                    reply,
                    advice,
                    ..
                },
            ) => {
                let strict = self.end_ask(*id).and_then(|open| open.strict);
                match purpose {
                    Purpose::Score(place) => {
                        self.streak.windows = 0;
                        let judging = self.judging_mut();
                        judging.seat_replied(*place, advice, reply.file.digest, strict.as_deref());
                    }
                    _ if purpose.is_judging() => {
                        self.judging_mut().heard = Some(Box::new(Heard {
                            advice: advice.clone(),
                            reply: reply.file.digest,
                            id: *id,
                        }));
                    }
                    _ => self.no_way_yet(*purpose),
                }
            }
            Event::Ask(
                id,
                AskEvent::Failed {
                    purpose,
                    gave_up,
                    class,
                    message,
                    until,
                    ..
                },
            ) => {
                self.streak.windows += u32::from(until.is_some());
                if let Purpose::Score(place) = purpose {
                    let class = gave_up.then_some(*class);
                    self.judging_mut().seat_failed(*place, class, message);
                }
                if *gave_up {
                    self.end_ask(*id);
                    self.no_way_yet(*purpose);
                } else if let Some(open) = self.asks.iter_mut().find(|open| open.id == *id) {
                    // The next try stands behind it in the same record, or a limit must reset first.
                    open.failed_requests += u32::from(until.is_none());
                    open.window = *until;
                }
            }
            Event::Task(_, TaskEvent::DelegationRequested { sub_tasks }) => {
                for sub_task in sub_tasks {
                    self.delegations.retain(|earlier| earlier.title != sub_task.title);
                    self.delegations.push(sub_task.clone());
                }
            }
            Event::Task(_, TaskEvent::Probed { probes }) => self.probes.clone_from(probes),
            Event::Task(
                _,
                TaskEvent::EdgeTaken {
                    edge,
                    visit,
                    stopped: _,
                    ..
                },
            ) => {
                self.visits = *visit;
                // Sent back, it stands where it stood before its first verdict.
                self.edge = (self.status == Status::Review).then_some(*edge);
            }
            // Whatever becomes of the work now, the score of earlier work is not its score.
            Event::Task(_, TaskEvent::EvalUnparsed) => self.points = None,
            // What these say is in the transition beside them, or matters to readers only.
            Event::Turn(
                _,
                TurnEvent::Spawned { .. }
                | TurnEvent::Activity { .. }
                | TurnEvent::Stale { .. }
                | TurnEvent::Adopted
                | TurnEvent::AuthorityCues { .. }
                | TurnEvent::Escalated { .. },
            )
            | Event::Task(
                _,
                TaskEvent::ApprovalTimedOut { .. }
                | TaskEvent::RetryBlocked { .. }
                | TaskEvent::FellBack { .. }
                | TaskEvent::Regressed { .. }
                | TaskEvent::DelegationDrift { .. }
                | TaskEvent::NoProgress { .. }
                | TaskEvent::ForceAccepted { .. }
                | TaskEvent::DelegationRefused { .. }
                | TaskEvent::DependencyFailed { .. },
            )
            | Event::Ask(_, AskEvent::HandedOver { .. }) => {}
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::ProtectionNoted { .. }
                | RunEvent::Resumed { .. }
                | RunEvent::Moved { .. }
                | RunEvent::Stopping { .. }
                | RunEvent::Finished { .. }
                | RunEvent::ThresholdFailed { .. }
                | RunEvent::MissionChanged(_)
                | RunEvent::TasksAdded(_)
                | RunEvent::TasksWithdrawn { .. }
                | RunEvent::Paused { .. }
                | RunEvent::Waiting { .. }
                | RunEvent::CommandTaken { .. }
                | RunEvent::Salvaged { .. }
                | RunEvent::AuditRequested { .. }
                | RunEvent::AuditFinished { .. },
            )
            | Event::Gate(_, GateEvent::Evaluated { .. } | GateEvent::Overridden { .. })
            | Event::Hold(
                _,
                HoldEvent::Reached { .. } | HoldEvent::Passed { .. } | HoldEvent::Rejected { .. },
            )
            | Event::Task(_, TaskEvent::Superseded { .. })
            | Event::Deadline(_)
            | Event::Budget(
                BudgetEvent::Exhausted { .. }
                | BudgetEvent::Held { .. }
                | BudgetEvent::Released { .. }
                | BudgetEvent::Clock { .. },
            )
            | Event::Run(RunEvent::SessionLimit { .. })
            | Event::Notice(_)
            | Event::Run(RunEvent::StateForeign { .. } | RunEvent::Warning { .. }) => {}
        }
    }

    /// What was asked is answered.
    fn resolve(&mut self, number: u32, approved: bool) {
        self.answers.push(Answer { number, approved });
        self.is_no_longer_open();
        let Some(waiting) = self.waiting.take().filter(|_| approved) else {
            return;
        };
        match waiting.reason {
            WaitingReason::Approval => self.agreed.push(waiting.gate),
            WaitingReason::SideEffects => self.allowed_again = true,
            _ => {}
        }
    }
    /// Judges that were missing are asked again, or a person has spoken instead: what comes of it is said anew.
    fn is_no_longer_open(&mut self) {
        if self.waiting.as_ref().is_some_and(Waiting::is_for_judges) {
            self.indeterminate = false;
        }
    }

    /// An ask, or another try of one: of the same agent, or of one that is asked instead and has failed nobody yet.
    fn ask(
        &mut self,
        id: AskId,
        purpose: Purpose,
        agent: AgentId,
        strict: Option<&String>,
        not_before: Option<Timestamp>,
    ) {
        self.asked_agents = self.asked_agents.max(id.number);
        if matches!(purpose, Purpose::Resolve { .. }) && id.attempt_try == 1 {
            self.remedies.get_or_insert_default().resolutions += 1;
        }
        let before = self.asks.iter().position(|open| open.id.number == id.number);
        let before = before.map(|at| self.asks.remove(at));
        let failed = before.filter(|before| before.agent == agent);
        self.asks.push(Ask {
            id,
            purpose,
            agent,
            failed_requests: failed.map_or(0, |before| before.failed_requests),
            strict: strict.cloned(),
            not_before,
            window: None,
        });
    }

    fn end_ask(&mut self, id: AskId) -> Option<Ask> {
        let at = self.asks.iter().position(|open| open.id == id)?;
        Some(self.asks.remove(at))
    }

    /// Whoever was asked for a way around a dependency came back: where it knew one, the entry goes with the next event.
    fn no_way_yet(&mut self, purpose: Purpose) {
        if let Purpose::Resolve { dependency } = purpose
            && let Some(entry) = self
                .remedies
                .as_deref_mut()
                .and_then(|remedies| remedies.entry_mut(dependency))
        {
            entry.unresolvable = true;
        }
    }

    /// Files are not what was shown of them. Whoever judges them looks anew; a person says yes to what there is now.
    fn files_changed(&mut self, paths: &[String], files: &[FileFact]) {
        if self.status != Status::AwaitingApproval {
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

    fn end_grading(&mut self) {
        if let Some(grading) = self
            .judging
            .as_deref_mut()
            .and_then(|judging| judging.grading.as_mut())
        {
            grading.open = false;
        }
    }

    fn end_step(&mut self) {
        let judging = self.judging.as_deref_mut();
        if let Some(step) = judging.and_then(|judging| judging.step.as_mut()) {
            step.open = false;
        }
    }

    /// Once the criteria, or a stage behind them, are asked about, no reviewer is waited for any more.
    fn forget_reviewers(&mut self) {
        self.asks.retain(|open| open.purpose.seat().is_none());
    }

    /// In its first round a judge has said nothing yet.
    fn forget_what_was_heard(&mut self, round: u32) {
        if round <= 1 {
            self.judging_mut().heard = None;
        }
    }

    fn judging_mut(&mut self) -> &mut Judging {
        self.judging.get_or_insert_default()
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
        let withdrawn = self.waiting.is_some() && to == Status::Pending;
        if self.status.is_terminal() || withdrawn {
            self.agreed = Vec::new();
            self.allowed_again = false;
            self.edge = None;
        }
        // Whatever it is sent to wait for a moment with is decided before. What waits for a slot waits as it is.
        if to != Status::Pending || self.is_queued() {
            self.deferral = None;
        }
        self.status = to;
        self.phase = phase;
        self.mode = mode;
        self.flag = flag;
        if to == Status::Assigned && self.attempt == 0 {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        // Whoever judges on after a person's word is shown the files that were seen before it.
        let judged = self.judging.take_if(|_| to != Status::Review);
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
            self.acceptance = None;
        }
        if to != Status::AwaitingApproval {
            self.waiting = None;
            self.panel = None;
        }
        if to.is_terminal() {
            self.running = None;
            self.delegations.clear();
        }
        self.asks.clear();
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
    pub(in crate::engine) fn plan_attempt(&mut self, attempt: u32, kind: AttemptKind) {
        self.attempt = attempt;
        self.kind = kind;
        self.turn = 0;
        self.rounds = 0;
        self.tries += 1;
        self.indeterminate = false;
        // The score of earlier work is not the score of what is coming, however that is judged.
        self.points = None;
        self.evidence.calls = Calls::default();
        if let Some(dialog) = &mut self.dialog {
            dialog.forget_calls();
        }
        // A fix corrects what was found and keeps what was good; every other attempt asks anew.
        if kind != AttemptKind::Fix {
            self.delegations.clear();
        }
        self.nudged = Nudged::default();
        self.missing = Vec::new();
        self.accepted = None;
        self.unverified = false;
        self.faulted = false;
        self.relaxed = false;
        match kind {
            // The first one, or the first by a person's word: full allowances, and nothing left of an old result.
            AttemptKind::Execute => {
                if attempt > 1 {
                    self.agreed = Vec::new();
                    self.sent_back = false;
                }
                self.tries = 1;
                self.fixes = 0;
                self.retries = 0;
                self.signature = None;
                self.streak = Streak::default();
                self.visits = 0;
                self.probes = Vec::new();
                if let Some(dialog) = &mut self.dialog {
                    dialog.rounds = 0;
                }
                self.evidence = Evidence::default();
            }
            AttemptKind::Fix => self.fixes += 1,
            AttemptKind::Retry => {
                self.retries += 1;
                self.fixes = 0;
            }
        }
    }

    fn take_verdict(&mut self, report: &StageReport) {
        self.streak.take_verdict(report);
        match report.stage {
            Stage::Verification => self.end_grading(),
            Stage::Stages | Stage::RedTeam | Stage::Vision => self.end_step(),
            _ => {}
        }
        match report.verdict {
            Verdict::Pass if report.stage == Stage::Judge => {
                self.points = report.points;
                self.judging_mut().scored = report.points.is_some();
                self.relaxed = report.relaxed;
                self.indeterminate = false;
            }
            // What judges scored stays the score. Without any, the criteria that were met are.
            Verdict::Pass if report.stage == Stage::Verification => {
                self.relaxed |= report.relaxed;
                let scored = self.judging.as_deref().is_some_and(|judging| judging.scored);
                let confirmed = self.accepted.as_deref().is_some_and(|word| word.scored);
                if !scored && !confirmed && report.by.is_none() {
                    self.points = report.points;
                }
                self.indeterminate = false;
            }
            Verdict::Fail => {
                self.points = report.points;
                self.indeterminate = report.cause == Some(Cause::Unparsed);
                self.sent_back |= report.stage == Stage::Judge;
                self.signature = crate::engine::decide::signature(report, self.judging.as_deref());
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
                self.indeterminate = matches!(
                    report.cause,
                    Some(Cause::GateError | Cause::NoReviewer | Cause::Unstable)
                );
                let asks_about_score = matches!(report.cause, Some(Cause::Person | Cause::Confidence));
                if report.stage == Stage::Judge && asks_about_score {
                    self.points = report.points;
                    self.panel = report.points.map(|_| Box::new(report.clone()));
                }
            }
            // Nobody saw what should have been shown.
            Verdict::Skip if matches!(report.cause, Some(Cause::Unmet | Cause::Breaker | Cause::Changed)) => {
                self.unverified = true;
                self.indeterminate |= report.indeterminate;
            }
            Verdict::Pass if report.stage == Stage::Finish => self.unverified = false,
            Verdict::Fault if matches!(report.stage, Stage::RedTeam | Stage::Vision) => self.faulted = true,
            Verdict::Pass | Verdict::Skip | Verdict::Fault => {}
        }
        if report.by.is_some() && report.verdict == Verdict::Pass {
            let before = self.accepted.take();
            self.accepted = Some(Box::new(PersonsWord {
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
    fn take_turn(&mut self, turn: TurnId, exit: &Exit, duration: Millis) {
        self.was_quick = turn.turn == 1 && duration < INSTANT;
        match exit.failure {
            Some(FailureClass::UsageWindow) => self.windows += 1,
            _ => self.windows = 0,
        }
    }

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

impl Evidence {
    /// A turn ended. What it did is on record, and the next one is looked at anew. But one that never came to its work,
    /// and whose files nobody looked at, leaves the record of a turn that was lost before it: that one may have acted.
    fn take_turn(&mut self, turn: TurnId, files: Option<&TurnFiles>, calls: Option<ToolCalls>) {
        let noted = self.noted.as_deref().map(|noted| noted.turn);
        let was_watched = noted.is_some();
        if files.is_some() || noted == Some(turn) {
            self.noted = None;
        }
        self.calls = self.calls.and(calls);
        if !was_watched {
            return;
        }
        let shared = files.is_some_and(|files| files.shared);
        self.changed = self.changed.and(files.and_then(|files| files.changed), shared);
        self.written = self.written.and(files.and_then(|files| files.written), shared);
    }
}

/// Whether a reply is wrapped in the JSON of a program once more: it never is the same text, and never another answer.
fn is_envelope_again(why: &str, before: Option<&str>) -> bool {
    before == Some(why) && why == Unparsed::Envelope.to_string()
}

impl Judging {
    fn seat_asked(&mut self, place: SeatPlace, agent: AgentId) {
        if self.round != place.round {
            self.round = place.round;
            self.rounds += 1;
            self.seats.clear();
        }
        let asked = |instead_of| Seat {
            agent,
            instead_of,
            unreached: None,
            first: None,
            unread: None,
            repeats: false,
            state: SeatState::Asked,
        };
        match self.seats.get_mut(place.seat as usize) {
            Some(existing) if existing.agent == agent => {
                if let SeatState::Replied(result) = &existing.state {
                    existing.first = Some(result.clone());
                }
                *existing = Seat {
                    first: existing.first.take(),
                    unread: existing.unread,
                    ..asked(existing.instead_of)
                };
            }
            Some(existing) => *existing = asked(Some(existing.instead_of.unwrap_or(existing.agent))),
            None => self.seats.push(asked(None)),
        }
    }

    fn seat_replied(&mut self, place: SeatPlace, advice: &Advice, reply: Digest, strict: Option<&str>) {
        let Some(seat) = self.seats.get_mut(place.seat as usize) else {
            return;
        };
        if let Advice::Unreadable { why, .. } = advice {
            seat.repeats = seat.unread == Some(reply) || is_envelope_again(why, strict);
            seat.unread = Some(reply);
        }
        seat.state = match (advice, seat.first.take()) {
            // What was said first could be read.
            (Advice::Unreadable { .. }, Some(first)) => SeatState::Replied(first),
            (Advice::Unreadable { .. }, None) => SeatState::Unparsed(advice.clone()),
            (advice, _) => SeatState::Replied(advice.clone()),
        };
    }

    /// `class` where it is not asked again.
    fn seat_failed(&mut self, place: SeatPlace, class: Option<FailureClass>, message: &str) {
        if let Some(seat) = self.seats.get_mut(place.seat as usize) {
            seat.unreached = Some(message.into());
            if let Some(class) = class {
                seat.state = SeatState::Failed(class);
            }
        }
    }
}
