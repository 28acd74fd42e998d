//! The line that an event is worth, if any. One computation for every kind of progress, so that none shows what the
//! other hides.

mod run;
mod verdict;
mod waits;

use std::fmt::Write as _;

use crate::domain::{Millis, Purpose, QualityFlag, RunId, TaskId, Timestamp};
use crate::engine::{
    AskEvent, BudgetEvent, Event, GateEvent, GateResult, HoldEvent, NoticeEvent, RunEvent, State, TaskEvent,
    TurnEvent, Way, WorkEvent,
};
use crate::report::events::no_progress;
use crate::report::style::{Role, Screen, Symbols};
use crate::report::text::{count, elapsed, sanitize, sanitize_line, seconds, short, width};

use super::live::Live;
use super::verb::Verb;
use super::verbose::Details;
pub(super) use verdict::passed_words;
use verdict::planned;
use waits::of_deferral;

/// Columns of the verb, as in cargo.
const VERB_WIDTH: usize = 12;

/// Lines of an output that are shown below what failed: its end says most.
const BLOCK: usize = 10;

/// One line of progress, and below it the end of an output where there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    verb: Verb,
    role: Role,
    /// When, counted from the session's start.
    elapsed: Millis,
    /// To what: a task's title, a gate's name.
    subject: String,
    /// What there is to say of it.
    detail: String,
    /// The last lines of what a command printed.
    block: Vec<String>,
    /// Whether `-q` shows it.
    pub is_failure: bool,
    /// Whether the live rows of a terminal say the same.
    pub is_live: bool,
}

impl Line {
    pub(super) fn new(verb: Verb, role: Role, subject: &str, detail: impl AsRef<str>) -> Self {
        Self {
            verb,
            role,
            elapsed: Millis::default(),
            subject: sanitize(subject).into_owned(),
            detail: short(&sanitize(detail.as_ref())).into_owned(),
            block: Vec::new(),
            is_failure: role == Role::Bad,
            is_live: false,
        }
    }

    /// The same for a message that may hold an output: its first line is said, and the end of the others stands below.
    pub(super) fn told(verb: Verb, role: Role, subject: &str, message: impl AsRef<str>) -> Self {
        let message = message.as_ref().trim_end();
        let (first, output) = message.split_once('\n').unwrap_or((message, ""));
        let mut line = Self::new(verb, role, subject, first);
        let output = output.lines().map(sanitize_line);
        line.block.extend(output.filter(|line| !line.trim().is_empty()));
        line.block.drain(..line.block.len().saturating_sub(BLOCK));
        line
    }

    /// Something to look at that changes no task.
    pub(super) fn warning(subject: &str, detail: impl AsRef<str>) -> Self {
        Self::new(
            Verb::Run,
            Role::Warn,
            "warning",
            format!("{subject}{}", detail.as_ref()),
        )
    }

    /// The same, said by a live row as well.
    fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

    /// The line for a screen, without a line feed: `      REVIEW [  41.2s] implement-api  3/3 judges  78 >= 60`. What is
    /// too long goes on below its subject, broken between words: nothing is cut.
    pub fn render(&self, screen: &Screen) -> String {
        let style = screen.style;
        let verb = format!("{:>VERB_WIDTH$}", self.verb.as_str());
        let time = format!("[{:>7}]", seconds(self.elapsed));
        let used = width(&verb) + 1 + width(&time) + 1;
        let gap = if self.detail.is_empty() { "" } else { "  " };
        let said = screen.wrap_beside(&format!("{}{gap}{}", self.subject, self.detail), used);
        let said = match said.strip_prefix(&self.subject) {
            Some(rest) => format!("{}{rest}", style.paint(Role::Strong, &self.subject)),
            None => said,
        };
        let mut text = format!(
            "{} {} {}",
            style.paint(self.role, verb),
            style.paint(Role::Dim, time),
            said.trim_end(),
        );
        text.truncate(text.trim_end().len());
        for line in &self.block {
            let quoted = screen.wrap(&format!("{:VERB_WIDTH$} | {line}", ""));
            for line in quoted.lines() {
                let _ = write!(text, "\n{}", style.paint(Role::Dim, line));
            }
        }
        text
    }
}

/// Makes lines from events.
#[derive(Debug)]
pub(super) struct Lines {
    /// What runs.
    pub live: Live,
    /// What `-v` adds.
    pub details: Option<Details>,
    /// The run, where it can be asked about later.
    run: Option<RunId>,
    symbols: &'static Symbols,
}

impl Lines {
    /// For a run and a screen.
    pub fn new(run: impl Into<Option<RunId>>, screen: &Screen) -> Self {
        Self {
            live: Live::default(),
            details: None,
            run: run.into(),
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
                let took = elapsed(self.live.attempt(running));
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
        let running = format!("{} running", count(running.len(), "task"));
        let mut line = Line::new(Verb::Run, Role::Active, &running, names.join(", ")).live();
        line.elapsed = self.live.elapsed();
        Some(line)
    }

    /// No catch-all: a new event must decide here whether people see it.
    fn of_event(&self, state: &State, event: &Event) -> Option<Line> {
        match event {
            Event::Run(
                RunEvent::Started(_)
                | RunEvent::Resumed { .. }
                | RunEvent::Moved { .. }
                | RunEvent::MissionChanged(_)
                | RunEvent::TasksAdded(_)
                | RunEvent::TasksWithdrawn { .. }
                | RunEvent::Stopping { .. }
                | RunEvent::Paused { .. }
                | RunEvent::Waiting { .. }
                | RunEvent::StateForeign { .. }
                | RunEvent::Warning { .. }
                | RunEvent::Salvaged { .. },
            )
            | Event::Budget(BudgetEvent::Exhausted { .. })
            | Event::Deadline(_)
            | Event::Run(RunEvent::ThresholdFailed { .. }) => self.of_run(state, event),
            Event::Gate(gate, GateEvent::Evaluated { result }) => {
                Some(gate_line(&state.plan.gate(*gate).name, result))
            }
            Event::Notice(event) => of_notice(event),
            Event::Turn(turn, TurnEvent::Stale { idle, killed }) => {
                let end = if *killed { "; it is ended" } else { "" };
                let detail = format!("its agent has printed nothing for {idle}{end}");
                Some(Line::new(Verb::Lost, Role::Warn, title(state, turn.task), detail))
            }
            Event::Gate(gate, GateEvent::Overridden { reason, by }) => {
                let detail = format!("overridden by {by}: {reason}");
                Some(Line::new(
                    Verb::Gate,
                    Role::Warn,
                    &state.plan.gate(*gate).name,
                    detail,
                ))
            }
            Event::Task(_, TaskEvent::Transition { .. }) => self.of_transition(state, event),
            Event::Task(task, TaskEvent::Superseded { by }) => {
                let detail = format!("superseded by '{}'", title(state, *by));
                Some(Line::new(Verb::Fixup, Role::Good, title(state, *task), detail))
            }
            Event::Task(task, TaskEvent::EdgeTaken { edge, to, left, .. }) => {
                let mut detail = format!("{}: goes on with '{}'", edge.as_str(), title(state, *to));
                if !left.is_empty() {
                    let left: Vec<_> = left.iter().map(|id| title(state, *id)).collect();
                    detail.push_str(&format!("; not taken: {}", left.join(", ")));
                }
                Some(Line::new(Verb::Review, Role::Active, title(state, *task), detail))
            }
            Event::Task(
                task,
                TaskEvent::FellBack {
                    from,
                    to,
                    class,
                    message,
                },
            ) => {
                let (from, to) = (&state.plan.agent(*from).name, &state.plan.agent(*to).name);
                let detail = format!("{to} instead of {from}: {} {message}", class.as_str());
                Some(Line::new(Verb::Fallback, Role::Warn, title(state, *task), detail))
            }
            Event::Task(task, TaskEvent::AttemptPlanned { attempt, kind }) => {
                Some(planned(state, *task, *attempt, *kind))
            }
            Event::Task(_, TaskEvent::StageVerdict(report)) => self.of_verdict(state, report),
            Event::Turn(
                turn,
                TurnEvent::Started { .. }
                | TurnEvent::RequestFailed { .. }
                | TurnEvent::Lost
                | TurnEvent::Adopted,
            ) => self.of_turn(state, *turn, event),
            Event::Task(task, TaskEvent::EvalUnparsed) => {
                let trouble = "no score could be read, twice";
                Some(Line::new(Verb::Review, Role::Warn, title(state, *task), trouble))
            }
            Event::Task(task, TaskEvent::Nudged { missing, .. }) => {
                let first = missing.first().map_or("", |finding| finding.description.as_str());
                let more = missing.len().saturating_sub(1);
                let detail = match more {
                    0 => first.to_owned(),
                    more => format!("{first}, and {more} more"),
                };
                let detail = format!("its finish gate misses: {detail}");
                Some(Line::new(Verb::Check, Role::Warn, title(state, *task), detail))
            }
            Event::Ask(id, AskEvent::Replied { purpose, .. } | AskEvent::Failed { purpose, .. }) => {
                let trouble = self.ask_trouble(state, event)?;
                let verb = match purpose {
                    Purpose::Score(_) => Verb::Review,
                    _ => Verb::Answer,
                };
                Some(Line::new(verb, Role::Warn, title(state, id.task), trouble))
            }
            Event::Work(task, WorkEvent::GradingFailed { message, .. }) => Some(Line::new(
                Verb::Review,
                Role::Warn,
                title(state, *task),
                message.as_str(),
            )),
            Event::Work(task, WorkEvent::StepFailed { step, message, .. }) => {
                let name = state.plan.task(*task).scrutiny.name(*step);
                let detail = format!("{name}: {message}");
                Some(Line::new(Verb::Stage, Role::Warn, title(state, *task), detail))
            }
            Event::Task(
                task,
                TaskEvent::ApprovalRequested { .. }
                | TaskEvent::ApprovalResolved { .. }
                | TaskEvent::ApprovalTimedOut { .. },
            )
            | Event::Work(task, WorkEvent::ApproverUndecided { .. }) => self.of_approval(state, *task, event),
            Event::Hold(
                _,
                HoldEvent::Reached { .. } | HoldEvent::Passed { .. } | HoldEvent::Rejected { .. },
            ) => self.of_hold(state, event),
            Event::Task(task, TaskEvent::Deferred { .. }) => of_deferral(title(state, *task), event),
            Event::Turn(turn, TurnEvent::Activity { summary }) => {
                Some(Line::new(Verb::Run, Role::Dim, title(state, turn.task), summary.as_str()).live())
            }
            Event::Task(task, TaskEvent::Question { question, .. }) => Some(Line::new(
                Verb::Wait,
                Role::Warn,
                title(state, *task),
                format!("question: {question}"),
            )),
            Event::Turn(turn, TurnEvent::Escalated { broken }) => Some(Line::new(
                Verb::Wait,
                Role::Warn,
                title(state, turn.task),
                format!("its agent reports {}: {}", broken.kind.as_str(), broken.evidence),
            )),
            Event::Task(task, TaskEvent::NoProgress { waves }) => Some(Line::warning(
                title(state, *task),
                format!(": {}", no_progress(*waves)),
            )),
            Event::Task(task, TaskEvent::DelegationDrift { .. }) => Some(Line::warning(
                title(state, *task),
                ": its text, or that of the task that delegated it, has changed since it was delegated",
            )),
            Event::Task(task, TaskEvent::Answered { answer, by, .. }) => {
                let detail = format!("{by}: {answer}");
                Some(Line::new(Verb::Answer, Role::Active, title(state, *task), detail))
            }
            Event::Task(task, TaskEvent::DependencyResolved { dependency, way, .. }) => {
                let failed = title(state, *dependency);
                let (verb, detail) = match way {
                    Way::Retry => (Verb::Retry, format!("its dependency '{failed}' is tried again")),
                    Way::Artifacts | Way::Partial | Way::Absorb => (
                        Verb::Fallback,
                        format!("goes on without '{failed}' ({})", way.as_str()),
                    ),
                };
                Some(Line::new(verb, Role::Warn, title(state, *task), detail))
            }
            Event::Task(
                task,
                TaskEvent::DelegationRefused {
                    title: wanted,
                    reason,
                },
            ) => {
                let detail = format!(": '{wanted}' is not delegated: {reason}");
                Some(Line::warning(title(state, *task), detail))
            }
            Event::Run(RunEvent::AuditRequested { .. }) => Some(audit_line(state)),
            // Said by the lines around them, or by the final block.
            Event::Run(
                RunEvent::Finished { .. }
                | RunEvent::ProtectionNoted { .. }
                | RunEvent::AuditFinished { .. }
                | RunEvent::CommandTaken { .. }
                | RunEvent::SessionLimit { .. },
            )
            | Event::Turn(
                _,
                TurnEvent::Spawned { .. }
                | TurnEvent::FilesNoted { .. }
                | TurnEvent::AuthorityCues { .. }
                | TurnEvent::Finished { .. },
            )
            | Event::Task(
                _,
                TaskEvent::StageVoided(_)
                | TaskEvent::FilesChanged { .. }
                | TaskEvent::AcceptanceRecorded { .. }
                | TaskEvent::Regressed { .. }
                | TaskEvent::Probed { .. }
                | TaskEvent::ForceAccepted { .. }
                | TaskEvent::DelegationRequested { .. }
                | TaskEvent::DeadlockDetected { .. }
                | TaskEvent::RetryBlocked { .. }
                | TaskEvent::Released
                | TaskEvent::DependencyFailed { .. },
            )
            | Event::Work(
                _,
                WorkEvent::ScanRequested { .. }
                | WorkEvent::FilesScanned { .. }
                | WorkEvent::FinishRequested { .. }
                | WorkEvent::FinishChecked { .. }
                | WorkEvent::CheckRequested { .. }
                | WorkEvent::CheckFinished { .. }
                | WorkEvent::GradingRequested { .. }
                | WorkEvent::StepRequested { .. }
                | WorkEvent::ArtifactsRequested { .. }
                | WorkEvent::ArtifactsScanned { .. }
                | WorkEvent::ApproverAsked { .. },
            )
            | Event::Ask(_, AskEvent::HandedOver { .. } | AskEvent::Requested { .. })
            | Event::Budget(
                BudgetEvent::Held { .. } | BudgetEvent::Released { .. } | BudgetEvent::Clock { .. },
            ) => None,
        }
    }
}

pub(super) fn title(state: &State, task: TaskId) -> &str {
    &state.plan.task(task).title
}

/// What was accepted is looked at again.
fn audit_line(state: &State) -> Line {
    let tasks = state.covered().count();
    let detail = "final check that accepted work still stands";
    Line::new(Verb::Check, Role::Active, &count(tasks, "task"), detail)
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
    Line::new(Verb::Gate, role, name, detail)
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
            let detail = format!(": the notification was not delivered: {message}");
            Some(Line::warning(channel, detail))
        }
        NoticeEvent::Requested { .. }
        | NoticeEvent::Sent { .. }
        | NoticeEvent::Retried { .. }
        | NoticeEvent::Died(_)
        | NoticeEvent::Filed { .. } => None,
    }
}
