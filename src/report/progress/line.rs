//! The line that an event is worth, if any. One computation for every kind of progress, so that none shows what the
//! other hides.

use std::fmt::Write as _;

use crate::domain::{
    Advice, AttemptKind, Cause, FailureMode, HoldId, Millis, Points, QualityFlag, RunId, Stage, Status,
    TaskId, Timestamp, TurnId, Verdict,
};
use crate::engine::{
    self, DeadlineStep, Event, GateResult, NoticeEvent, SeatResult, StageReport, State, Way,
};
use crate::report::budget::ceiling_words;
use crate::report::events::stop_cause;
use crate::report::ids::{ApprovalId, CheckpointId};
use crate::report::scrutiny::stage_words;
use crate::report::style::{Role, Screen, Symbols};
use crate::report::text::{against_bar, count, criteria_words, sanitize, seconds, width};

use super::live::Live;
use super::verbose::Details;

/// Columns of the verb, as in cargo.
const VERB_WIDTH: usize = 12;

/// One line of progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// What happened, in capitals.
    verb: &'static str,
    role: Role,
    /// When, counted from the session's start.
    elapsed: Millis,
    /// To what: a task's title, a gate's name.
    subject: String,
    /// What there is to say of it.
    detail: String,
    /// Whether `-q` shows it.
    pub is_failure: bool,
}

impl Line {
    pub(super) fn new(verb: &'static str, role: Role, subject: &str, detail: impl Into<String>) -> Self {
        Self {
            verb,
            role,
            elapsed: Millis::default(),
            subject: sanitize(subject).into_owned(),
            detail: sanitize(&detail.into()).into_owned(),
            is_failure: role == Role::Bad,
        }
    }

    /// The line for a screen, without a line feed: `      REVIEW [  41.2s] implement-api  3/3 judges  78 >= 60`.
    pub fn render(&self, screen: &Screen) -> String {
        let style = screen.style;
        let verb = format!("{:>VERB_WIDTH$}", self.verb);
        let time = format!("[{:>7}]", seconds(self.elapsed));
        let used = width(&verb) + 1 + width(&time) + 1;
        let gap = if self.detail.is_empty() { "" } else { "  " };
        let (subject, detail) = screen.fit_both(&self.subject, gap, &self.detail, used);
        let line = format!(
            "{} {} {}{gap}{detail}",
            style.paint(self.role, verb),
            style.paint(Role::Dim, time),
            style.paint(Role::Strong, subject),
        );
        line.trim_end().to_owned()
    }
}

/// Makes lines from events.
#[derive(Debug)]
pub(super) struct Lines {
    /// What runs.
    pub live: Live,
    /// What `-v` adds.
    pub details: Option<Details>,
    run: RunId,
    symbols: &'static Symbols,
}

impl Lines {
    /// For a run and a screen.
    pub fn new(run: RunId, screen: &Screen) -> Self {
        Self {
            live: Live::default(),
            details: None,
            run,
            symbols: screen.style.symbols(),
        }
    }

    /// The lines of one record; `state` is the state after it.
    pub fn of_record(&mut self, state: &State, at: Timestamp, events: &[Event]) -> Vec<Line> {
        let mut lines = Vec::new();
        for event in events {
            self.live.observe(state, at, event);
            let from = lines.len();
            lines.extend(self.of_event(state, event));
            if let Some(details) = &self.details {
                lines.extend(details.of_event(state, event));
            }
            for line in &mut lines[from..] {
                line.elapsed = self.live.elapsed();
            }
            self.live.forget(event);
        }
        lines
    }

    /// What still runs, for a heartbeat: the tasks that have run longest come first.
    pub fn heartbeat(&mut self, state: &State, at: Timestamp) -> Option<Line> {
        const NAMED: usize = 3;
        self.live.tick(at);
        let mut running: Vec<_> = self.live.running().collect();
        if running.is_empty() {
            return None;
        }
        running.sort_by_key(|(id, running)| (running.since, *id));
        let mut names: Vec<String> = running
            .iter()
            .take(NAMED)
            .map(|(id, running)| {
                let took = seconds(self.live.since(running));
                format!(
                    "{} ({}, {took})",
                    state.plan.task(*id).title,
                    super::live::activity(state, *id, running)
                )
            })
            .collect();
        if running.len() > NAMED {
            names.push(format!("{} more", running.len() - NAMED));
        }
        let mut line = Line::new(
            "RUNNING",
            Role::Active,
            &count(running.len(), "task"),
            names.join(", "),
        );
        line.elapsed = self.live.elapsed();
        Some(line)
    }

    /// No catch-all: a new event must decide here whether people see it.
    fn of_event(&self, state: &State, event: &Event) -> Option<Line> {
        match event {
            Event::RunStarted(_)
            | Event::RunResumed { .. }
            | Event::MissionChanged(_)
            | Event::TasksAdded(_)
            | Event::TasksWithdrawn { .. }
            | Event::Stopping { .. }
            | Event::Paused { .. }
            | Event::Waiting { .. }
            | Event::Warning { .. }
            | Event::Salvaged { .. }
            | Event::LimitReached { .. }
            | Event::Deadline(_)
            | Event::ThresholdFailed { .. } => self.of_run(state, event),
            Event::GateEvaluated { gate, result } => Some(gate_line(&state.plan.gate(*gate).name, result)),
            Event::Notice(event) => of_notice(event),
            Event::AgentStale { turn, idle, killed } => {
                let end = if *killed { ": it is killed" } else { "" };
                let detail = format!("nothing was heard of its agent for {idle}{end}");
                Some(Line::new("SILENT", Role::Warn, title(state, turn.task), detail))
            }
            Event::GateOverridden { gate, reason, by } => {
                let detail = format!("overridden by {by}: {reason}");
                Some(Line::new(
                    "GATE",
                    Role::Warn,
                    &state.plan.gate(*gate).name,
                    detail,
                ))
            }
            Event::Transition { .. } => self.of_transition(state, event),
            Event::Superseded { task, by } => {
                let detail = format!("superseded by '{}'", title(state, *by));
                Some(Line::new("MEND", Role::Good, title(state, *task), detail))
            }
            Event::EdgeTaken {
                task, edge, to, left, ..
            } => {
                let mut detail = format!("{}: {}", edge.as_str(), title(state, *to));
                if !left.is_empty() {
                    let left: Vec<_> = left.iter().map(|id| title(state, *id)).collect();
                    detail.push_str(&format!("; not taken: {}", left.join(", ")));
                }
                Some(Line::new("ROUTE", Role::Active, title(state, *task), detail))
            }
            Event::FellBack {
                task,
                from,
                to,
                class,
                message,
            } => {
                let (from, to) = (&state.plan.agent(*from).name, &state.plan.agent(*to).name);
                let detail = format!("{to} instead of {from}: {} {message}", class.as_str());
                Some(Line::new("INSTEAD", Role::Warn, title(state, *task), detail))
            }
            Event::AttemptPlanned { task, attempt, kind } => Some(planned(state, *task, *attempt, *kind)),
            Event::StageVerdict(report) => self.of_verdict(state, report),
            Event::TurnStarted { turn, .. }
            | Event::TurnRequestFailed { turn, .. }
            | Event::TurnLost { turn }
            | Event::TurnAdopted { turn } => self.of_turn(state, *turn, event),
            Event::SeatReplied { task, .. }
            | Event::SeatFailed { task, .. }
            | Event::EvalUnparsed { task } => {
                let trouble = review_trouble(event)?;
                Some(Line::new("REVIEW", Role::Warn, title(state, *task), trouble))
            }
            Event::Nudged { task, missing, .. } => {
                let first = missing.first().map_or("", |finding| finding.description.as_str());
                let more = missing.len().saturating_sub(1);
                let detail = match more {
                    0 => first.to_owned(),
                    more => format!("{first}, and {more} more"),
                };
                Some(Line::new("NUDGE", Role::Warn, title(state, *task), detail))
            }
            Event::ConsultReplied { id, .. } | Event::ConsultFailed { id, .. } => {
                let trouble = consult_trouble(event)?;
                Some(Line::new("ASK", Role::Warn, title(state, id.task), trouble))
            }
            Event::GradingFailed { task, message, .. } => Some(Line::new(
                "VERIFY",
                Role::Warn,
                title(state, *task),
                message.as_str(),
            )),
            Event::StepFailed {
                task, step, message, ..
            } => {
                let name = state.plan.task(*task).scrutiny.name(*step);
                let detail = format!("{name}: {message}");
                Some(Line::new("STAGE", Role::Warn, title(state, *task), detail))
            }
            Event::ApprovalRequested { task, .. }
            | Event::ApprovalResolved { task, .. }
            | Event::ApproverUndecided { task, .. }
            | Event::ApprovalTimedOut { task, .. } => self.of_approval(state, *task, event),
            Event::HoldReached { .. } | Event::HoldPassed { .. } | Event::HoldRejected { .. } => {
                self.of_hold(state, event)
            }
            Event::AgentActivity { turn, summary } => Some(Line::new(
                "SAYS",
                Role::Dim,
                title(state, turn.task),
                summary.as_str(),
            )),
            Event::Question { task, question, .. } => Some(Line::new(
                "ASKS",
                Role::Warn,
                title(state, *task),
                question.as_str(),
            )),
            Event::Answered { task, answer, by, .. } => {
                let detail = format!("{by}: {answer}");
                Some(Line::new("ANSWER", Role::Active, title(state, *task), detail))
            }
            Event::DependencyResolved {
                task,
                dependency,
                way,
                ..
            } => {
                let failed = title(state, *dependency);
                let detail = match way {
                    Way::Retry => format!("'{failed}' is tried again"),
                    Way::Artifacts | Way::Partial | Way::Absorb => {
                        format!("goes on without '{failed}' ({})", way.as_str())
                    }
                };
                Some(Line::new("DEPEND", Role::Warn, title(state, *task), detail))
            }
            Event::DelegationRefused {
                task,
                title: wanted,
                reason,
            } => {
                let detail = format!("not handed down: {wanted}: {reason}");
                Some(Line::new("WARN", Role::Warn, title(state, *task), detail))
            }
            // Said by the lines around them, or by the final block.
            Event::RunFinished { .. }
            | Event::AgentSpawned { .. }
            | Event::FilesNoted { .. }
            | Event::TurnFinished { .. }
            | Event::ScanRequested { .. }
            | Event::FilesScanned { .. }
            | Event::FinishRequested { .. }
            | Event::FinishChecked { .. }
            | Event::CheckRequested { .. }
            | Event::CheckFinished { .. }
            | Event::GradingRequested { .. }
            | Event::StepRequested { .. }
            | Event::SeatRequested { .. }
            | Event::ConsultRequested { .. }
            | Event::ForceAccepted { .. }
            | Event::DelegationRequested { .. }
            | Event::CommandTaken { .. }
            | Event::DeadlockDetected { .. }
            | Event::ArtifactsRequested { .. }
            | Event::ArtifactsScanned { .. }
            | Event::ApproverAsked { .. }
            | Event::RetryBlocked { .. }
            | Event::CallHeld { .. }
            | Event::CallReleased { .. }
            | Event::BudgetClock { .. }
            | Event::DependencyFailed { .. } => None,
        }
    }

    fn of_run(&self, state: &State, event: &Event) -> Option<Line> {
        let mission = &*state.plan.name;
        let tasks = || count(state.counts.selected as usize, "task");
        Some(match event {
            Event::RunStarted(started) => {
                let review = if state.plan.rules.evaluate {
                    ""
                } else {
                    ", nothing is reviewed"
                };
                let slots = state.plan.rules.concurrency;
                let left_out = match state.counts.not_taken {
                    0 => String::new(),
                    left_out => format!(", {left_out} left out"),
                };
                let run = &started.run_id;
                let detail = format!("{}{left_out}, {slots} at a time{review}  {run}", tasks());
                Line::new("RUN", Role::Active, mission, detail)
            }
            Event::RunResumed { .. } => {
                let finished = state.counts.ended();
                let detail = format!("{finished} of {} finished before", tasks());
                Line::new("RESUME", Role::Active, mission, detail)
            }
            Event::MissionChanged(change) => {
                let parts = [
                    (change.added.len(), "added"),
                    (change.removed.len(), "removed"),
                    (change.changed.len(), "changed"),
                ];
                let parts = parts.map(|(number, what)| format!("{number} {what}"));
                Line::new("MISSION", Role::Warn, mission, parts.join(", "))
            }
            Event::TasksAdded(addition) => {
                let titles = addition.tasks.iter().map(|task| &*task.title);
                let titles = titles.collect::<Vec<_>>().join(", ");
                let source = addition.source.map_or(mission, |id| title(state, id));
                Line::new(
                    "ADD",
                    Role::Active,
                    source,
                    format!("{}: {titles}", addition.origin.as_str()),
                )
            }
            Event::TasksWithdrawn { tasks } => {
                let titles = tasks.iter().map(|id| title(state, *id));
                let titles = titles.collect::<Vec<_>>().join(", ");
                Line::new("REMOVE", Role::Warn, mission, titles)
            }
            Event::Stopping { cause } => {
                let detail = format!("{}: what runs is ended, nothing new starts", stop_cause(*cause));
                Line::new("STOP", Role::Warn, mission, detail)
            }
            Event::Deadline(event) => {
                let subject = event.task.map_or(mission, |id| title(state, id));
                let due = event.due.to_rfc3339();
                match event.step {
                    DeadlineStep::Warned => {
                        let share = event.share_used() * 100.0;
                        let detail = format!("{share:.0} % of the time to its deadline, {due}, is gone");
                        Line::new("LATE", Role::Warn, subject, detail)
                    }
                    DeadlineStep::Violated => {
                        Line::new("LATE", Role::Bad, subject, format!("its deadline, {due}, passed"))
                    }
                    DeadlineStep::Set | DeadlineStep::Met => return None,
                }
            }
            Event::LimitReached { ceiling } => {
                let detail = format!(
                    "{}; what runs may finish its turn",
                    ceiling_words(state, *ceiling)
                );
                Line::new("LIMIT", Role::Warn, mission, detail)
            }
            Event::Paused { by } => {
                let detail = format!("by {by}: what has started may finish, nothing new starts");
                Line::new("PAUSE", Role::Warn, mission, detail)
            }
            Event::Waiting { until } => {
                let waiting = count(state.counts.awaiting as usize, "answer");
                let detail = format!("for {waiting} of a person, until {}", until.to_rfc3339());
                Line::new("WAIT", Role::Warn, mission, detail)
            }
            Event::ThresholdFailed { points, threshold } => {
                let detail = format!("mission score {points} < {threshold}");
                Line::new("GATE", Role::Bad, mission, detail)
            }
            Event::Warning { message } => Line::new("WARN", Role::Warn, message, ""),
            Event::Salvaged { by, line, .. } => {
                let detail = format!("cut at line {line} by {by}");
                Line::new("WARN", Role::Warn, "damaged journal", detail)
            }
            _ => return None,
        })
    }

    fn of_turn(&self, state: &State, turn: TurnId, event: &Event) -> Option<Line> {
        let title = title(state, turn.task);
        Some(match event {
            Event::TurnStarted { .. } => {
                let agent = &state.plan.agent(state.plan.task(turn.task).agent).name;
                let attempt = match turn.attempt {
                    1 => String::new(),
                    n => format!("  attempt {n}"),
                };
                Line::new("START", Role::Active, title, format!("{agent}{attempt}"))
            }
            Event::TurnRequestFailed {
                class,
                message,
                not_before,
                ..
            } => {
                let wait = self
                    .live
                    .offset(*not_before)
                    .0
                    .saturating_sub(self.live.elapsed().0);
                let wait = seconds(Millis(wait));
                let detail = format!("request again in {wait}: {} {message}", class.as_str());
                Line::new("RETRY", Role::Warn, title, detail)
            }
            Event::TurnLost { .. } => Line::new("LOST", Role::Warn, title, "its turn was interrupted"),
            Event::TurnAdopted { .. } => {
                Line::new("ADOPT", Role::Active, title, "its turn outlived the last session")
            }
            _ => return None,
        })
    }

    fn of_approval(&self, state: &State, task: TaskId, event: &Event) -> Option<Line> {
        let title = title(state, task);
        Some(match event {
            Event::ApprovalRequested {
                number,
                reason,
                message,
                ..
            } => {
                let id = ApprovalId {
                    run: &self.run,
                    task,
                    number: *number,
                };
                // The id first, because it is to be copied and must not be cut.
                let detail = format!("{id}  {}: {message}", reason.as_str());
                Line::new("WAIT", Role::Warn, title, detail)
            }
            Event::ApprovalResolved { resolution, by, .. } => {
                Line::new("ANSWER", Role::Active, title, format!("{resolution} by {by}"))
            }
            Event::ApproverUndecided { message, .. } => {
                Line::new("WAIT", Role::Warn, title, format!("left open: {message}"))
            }
            Event::ApprovalTimedOut { .. } => Line::new(
                "WAIT",
                Role::Warn,
                title,
                "nobody approved it in time; it goes on waiting",
            ),
            _ => return None,
        })
    }

    fn of_hold(&self, state: &State, event: &Event) -> Option<Line> {
        let name = |hold: HoldId| &*state.plan.hold(hold).name;
        Some(match event {
            Event::HoldReached {
                hold,
                until: Some(until),
                ..
            } => Line::new(
                "DELAY",
                Role::Active,
                name(*hold),
                format!("until {}", until.to_rfc3339()),
            ),
            Event::HoldReached { hold, number, .. } => {
                let id = CheckpointId {
                    run: &self.run,
                    hold: *hold,
                    number: *number,
                };
                let message = state.plan.hold(*hold).message.as_deref().unwrap_or_default();
                let detail = format!("{id}  checkpoint: {message}");
                Line::new("WAIT", Role::Warn, name(*hold), detail.trim_end_matches(": "))
            }
            Event::HoldPassed { hold, by: None } => Line::new("DELAY", Role::Active, name(*hold), "over"),
            Event::HoldPassed { hold, by: Some(by) } => {
                Line::new("ANSWER", Role::Active, name(*hold), format!("approved by {by}"))
            }
            Event::HoldRejected { hold, reason, by } => {
                let detail = format!("rejected by {by}: {reason}");
                Line::new("ANSWER", Role::Bad, name(*hold), detail)
            }
            _ => return None,
        })
    }

    fn of_transition(&self, state: &State, event: &Event) -> Option<Line> {
        let Event::Transition {
            task: id,
            to,
            mode,
            flag,
            reason,
            ..
        } = event
        else {
            return None;
        };
        let (title, points) = (&*state.plan.task(*id).title, state.task(*id).points);
        match (to, flag, mode) {
            (Status::Done, Some(flag), _) => {
                let mut detail = flag.as_str().to_owned();
                if let Some(scored) = self.scored(state, *id, points) {
                    let _ = write!(detail, "  {scored}");
                }
                if let Some(running) = self.live.get(*id) {
                    let _ = write!(detail, "  in {}", seconds(self.live.since(running)));
                }
                Some(Line::new("DONE", flag_role(*flag), title, detail))
            }
            (Status::Failed, _, Some(FailureMode::Cascade)) => {
                let reason = reason.as_deref().unwrap_or_default();
                Some(Line::new("SKIP", Role::Bad, title, reason))
            }
            (Status::Failed, _, mode) => {
                let mode = mode.map_or("failed", FailureMode::as_str);
                let reason = reason.as_deref().unwrap_or_default();
                Some(Line::new("FAIL", Role::Bad, title, format!("{mode}: {reason}")))
            }
            _ => None,
        }
    }

    fn of_verdict(&self, state: &State, report: &StageReport) -> Option<Line> {
        let title = &*state.plan.task(report.task).title;
        let running = self.live.get(report.task);
        let role = match report.verdict {
            Verdict::Pass => Role::Good,
            _ => Role::Warn,
        };
        match (report.stage, report.verdict) {
            (Stage::Preflight, Verdict::Fail) => Some(Line::new(
                "CHECK",
                role,
                title,
                first_finding(report, "rejected before review"),
            )),
            (Stage::Finish, Verdict::Skip) => Some(Line::new(
                "CHECK",
                role,
                title,
                format!(
                    "unverified: {}",
                    first_finding(report, "its finish gate is not met")
                ),
            )),
            (Stage::Judge, Verdict::Skip) => Some(Line::new(
                "REVIEW",
                role,
                title,
                first_finding(report, "not judged"),
            )),
            (Stage::Checks, Verdict::Pass | Verdict::Fail) => {
                let all = running.map_or(0, |running| running.checks) as usize;
                let detail = match report.verdict {
                    Verdict::Pass => format!("{all}/{all} checks passed"),
                    _ => format!("{}/{all} checks failed", report.findings.len()),
                };
                Some(Line::new("CHECK", role, title, detail))
            }
            (Stage::Stages | Stage::RedTeam | Stage::Vision, _) => {
                Some(Line::new("STAGE", role, title, stage_words(report)))
            }
            // `task.eval.unparsed` has said it.
            (Stage::Verification, _) if !report.grades.is_empty() => {
                Some(Line::new("VERIFY", role, title, criteria_words(&report.grades)))
            }
            (Stage::Judge | Stage::Verification, _) if report.cause == Some(Cause::Unparsed) => None,
            (Stage::Judge | Stage::Verification, Verdict::Pass | Verdict::Fail) => {
                let (scored, seats) = running.map_or((0, 0), |running| (running.scored, running.seats));
                let judges = format!("{scored}/{}", count(seats as usize, "judge"));
                let score = self.scored(state, report.task, report.points).unwrap_or_default();
                Some(Line::new("REVIEW", role, title, format!("{judges}  {score}")))
            }
            _ => None,
        }
    }

    /// `78 >= 60`, `40 < 60`.
    fn scored(&self, state: &State, task: TaskId, points: Option<Points>) -> Option<String> {
        let bar = engine::bar(state, task);
        points.map(|points| against_bar(points, bar, self.symbols))
    }
}

pub(super) fn title(state: &State, task: TaskId) -> &str {
    &state.plan.task(task).title
}

/// What went wrong with asking a reviewer; `None` for a reply that could be read: the verdict tells of it.
fn review_trouble(event: &Event) -> Option<String> {
    match event {
        Event::SeatReplied {
            seat,
            result: SeatResult::Unparsed { why, .. },
            ..
        } => Some(format!("judge {}: {why}", seat.seat + 1)),
        Event::SeatFailed {
            seat, class, message, ..
        } => Some(format!("judge {}: {} {message}", seat.seat + 1, class.as_str())),
        Event::EvalUnparsed { .. } => Some("no score could be read, twice".to_owned()),
        _ => None,
    }
}

/// What went wrong with consulting an agent; `None` for a reply that could be read: what it leads to is told.
fn consult_trouble(event: &Event) -> Option<String> {
    match event {
        Event::ConsultReplied {
            advice: Advice::Unreadable { why, .. },
            ..
        } => Some(format!("advice: {why}")),
        Event::ConsultFailed { class, message, .. } => Some(format!("advice: {} {message}", class.as_str())),
        _ => None,
    }
}

/// Rework says why in a few words: the last feedback stands in the state.
fn planned(state: &State, task: TaskId, attempt: u32, kind: AttemptKind) -> Line {
    let title = &*state.plan.task(task).title;
    let verb = match kind {
        AttemptKind::Execute => "AGAIN",
        AttemptKind::Fix => "REWORK",
        AttemptKind::Retry => "RETRY",
    };
    let mut detail = format!("attempt {attempt}");
    if let Some(feedback) = state.task(task).feedback.last() {
        let why = feedback
            .findings
            .first()
            .map(|finding| finding.description.as_str());
        let cause = feedback.cause.map_or("fail", Cause::as_str);
        let _ = write!(detail, "  {cause}");
        if let Some(points) = feedback.points {
            let _ = write!(detail, " {points}");
        }
        if let Some(why) = why.filter(|why| !why.is_empty()) {
            let _ = write!(detail, ": {why}");
        }
    }
    Line::new(verb, Role::Warn, title, detail)
}

fn gate_line(name: &str, result: &GateResult) -> Line {
    let (role, mut detail) = match result.passed {
        true => (Role::Good, "passed".to_owned()),
        false => (Role::Bad, "failed".to_owned()),
    };
    if let Some(avg) = result.avg {
        let _ = write!(detail, "  average {avg}");
    }
    if let Some(reason) = &result.reason {
        let _ = write!(detail, "  {reason}");
    }
    Line::new("GATE", role, name, detail)
}

fn first_finding<'a>(report: &'a StageReport, otherwise: &'a str) -> &'a str {
    let first = report.findings.first();
    first.map_or(otherwise, |finding| finding.description.as_str())
}

/// How a flag looks: below the bar is not green, though it is done.
pub(in crate::report) fn flag_role(flag: QualityFlag) -> Role {
    match flag {
        QualityFlag::Clean => Role::Good,
        QualityFlag::Relaxed
        | QualityFlag::Unreviewed
        | QualityFlag::Unverified
        | QualityFlag::Degraded
        | QualityFlag::BelowThreshold => Role::Warn,
    }
}

/// Only what a person may have to do something about.
fn of_notice(event: &NoticeEvent) -> Option<Line> {
    match event {
        NoticeEvent::Failed { channel, message, .. } => {
            let detail = format!("not delivered: {message}");
            Some(Line::new("NOTIFY", Role::Warn, channel, detail))
        }
        NoticeEvent::Requested { .. }
        | NoticeEvent::Sent { .. }
        | NoticeEvent::Retried { .. }
        | NoticeEvent::Died(_)
        | NoticeEvent::Filed { .. } => None,
    }
}
