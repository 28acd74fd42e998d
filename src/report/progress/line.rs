//! The line that an event is worth, if any. One computation for every kind of progress, so that none shows what the
//! other hides.
//!
//! | file | what |
//! |---|---|
//! | `run` | what happens to the run as a whole |
//! | `task` | what becomes of a task |
//! | `verdict` | what is said of work, and what becomes of it |
//! | `waits` | what waits: for its turn, for a person, for a time |

mod run;
mod task;
mod verdict;
mod waits;

use crate::report::screens::{
    style::{Role, Symbols, TextLayout},
    text::{count, elapsed, sanitize, sanitize_line, seconds, short, width},
};
use rules::{
    domain::{Millis, QualityFlag, RunId, TaskId, Timestamp},
    engine::{Event, GateEvent, NoticeEvent, State},
    mission::model::Review,
    plan::TaskPlan,
};

use super::live::Live;
use super::verb::Verb;
use super::verbose::Details;
use run::{of_budget, of_deadline};
pub(super) use verdict::passed_words;

/// Columns of the verb, as in cargo.
const VERB_WIDTH: usize = 12;

/// Lines of an output that are shown below what failed: its end says most.
const BLOCK: usize = 6;

/// A line of progress, and below it the end of an output where there is one.
#[derive(Debug, Clone, PartialEq)]
pub struct ProgressLine {
    verb: Verb,
    role: Role,
    /// When, counted from the session's start.
    elapsed: Millis,
    /// To what: a task's title, a gate's name.
    subject: String,
    /// The words about the subject.
    detail: String,
    /// The last lines of what a command printed.
    block: Vec<String>,
    /// Whether `-q` shows it.
    pub is_failure: bool,
    /// Whether the live rows of a terminal say the same.
    pub is_live: bool,
}

impl ProgressLine {
    pub fn new(verb: Verb, role: Role, subject: &str, detail: impl AsRef<str>) -> Self {
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

    /// A line for a message that may hold an output: its first line stands on the line, the end of the others
    /// below it.
    pub fn with_output(verb: Verb, role: Role, subject: &str, message: impl AsRef<str>) -> Self {
        let message = message.as_ref().trim_end();
        let (first, output) = message.split_once('\n').unwrap_or((message, ""));
        let mut line = Self::new(verb, role, subject, first);
        let output = output.lines().map(sanitize_line);
        // A rule of one sign says nothing, and is often wider than what is left of the screen.
        line.block.extend(output.filter(|line| line.contains(char::is_alphanumeric)));
        line.block.drain(..line.block.len().saturating_sub(BLOCK));
        line
    }

    /// Something to look at that changes no task.
    pub fn warning(subject: &str, detail: impl AsRef<str>) -> Self {
        Self::new(Verb::Run, Role::Warn, "warning", format!("{subject}{}", detail.as_ref()))
    }

    /// Marks the line as one that a live row of a terminal says as well.
    fn live(mut self) -> Self {
        self.is_live = true;
        self
    }

    /// The line for a screen, without a line feed: `      REVIEW [  41.2s] implement-api  3/3 judges  78 >= 60`. What is
    /// too long goes on below its subject, broken between words: nothing is cut.
    pub fn render(&self, screen: &TextLayout) -> String {
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
        let mut text =
            format!("{} {} {}", style.paint(self.role, verb), style.paint(Role::Dim, time), said.trim_end(),);
        text.truncate(text.trim_end().len());
        for line in &self.block {
            let quoted = screen.wrap(&format!("{:VERB_WIDTH$} | {line}", ""));
            for line in quoted.lines() {
                append!(text, "\n{}", style.paint(Role::Dim, line));
            }
        }
        text
    }
}

/// Makes lines from events.
pub struct LineBuilder {
    /// The tasks that run.
    pub live: Live,
    /// The details that `-v` adds; `None` without it.
    pub details: Option<Details>,
    /// The id of the run, where people can ask about it later.
    run: Option<RunId>,
    symbols: &'static Symbols,
}

impl LineBuilder {
    /// For a run and a screen.
    pub fn new(run: impl Into<Option<RunId>>, screen: &TextLayout) -> Self {
        Self { live: Live::default(), details: None, run: run.into(), symbols: screen.style.symbols() }
    }

    /// The lines of one record; `state` is the state after it.
    pub fn of_record(&mut self, state: &State, at: Timestamp, events: &[Event]) -> Vec<ProgressLine> {
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

    /// The line of a heartbeat about the tasks that still run, those that have run longest first.
    pub fn heartbeat(&mut self, state: &State, at: Timestamp) -> Option<ProgressLine> {
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
                format!("{} ({}, {took})", state.plan.title(*id), super::live::activity(state, *id, running))
            })
            .collect();
        if running.len() > NAMED {
            names.push(format!("{} more", running.len() - NAMED));
        }
        let running = format!("{} running", count(running.len(), "task"));
        let mut line = ProgressLine::new(Verb::Run, Role::Active, &running, names.join(", ")).live();
        line.elapsed = self.live.elapsed();
        Some(line)
    }

    /// The line of an event; `None` where the lines around it, or the final block, say it.
    fn of_event(&self, state: &State, event: &Event) -> Option<ProgressLine> {
        match event {
            Event::Run(event) => self.of_run(state, event),
            Event::Task(task, event) => self.of_task(state, *task, event),
            Event::Turn(turn, event) => self.of_turn(state, *turn, event),
            Event::Ask(id, event) => self.of_ask(state, *id, event),
            Event::Gate(gate, event) => Some(gate_line(&state.plan.gate(*gate).name, event)),
            Event::Hold(hold, event) => Some(self.of_hold(state, *hold, event)),
            Event::Budget(event) => of_budget(state, event),
            Event::Deadline(event) => of_deadline(state, event),
            Event::Notice(event) => of_notice(event),
            _ => None,
        }
    }
}

pub fn title(state: &State, task: TaskId) -> &str {
    state.plan.title(task)
}

fn gate_line(name: &str, event: &GateEvent) -> ProgressLine {
    let result = match event {
        GateEvent::Evaluated { result } => result,
        GateEvent::Overridden { reason, by } => {
            return ProgressLine::new(Verb::Gate, Role::Warn, name, format!("overridden by {by}: {reason}"));
        }
    };
    let (role, mut detail) =
        if result.passed { (Role::Good, "passed".to_owned()) } else { (Role::Bad, "failed".to_owned()) };
    if let Some(avg) = result.avg_score {
        append!(detail, "  average {avg}");
    }
    if let Some(reason) = &result.reason {
        append!(detail, "  {reason}");
    }
    ProgressLine::new(Verb::Gate, role, name, detail)
}

/// How a flag of a task looks: below the bar is not green, though it is done; what the mission has judged by nobody is no
/// warning.
fn flag_role(task: &TaskPlan, flag: QualityFlag) -> Role {
    match flag {
        QualityFlag::Clean => Role::Good,
        QualityFlag::Unreviewed if task.review == Review::None => Role::Strong,
        QualityFlag::Relaxed
        | QualityFlag::Unreviewed
        | QualityFlag::Unverified
        | QualityFlag::Degraded
        | QualityFlag::BelowThreshold => Role::Warn,
    }
}

/// Only what a person may have to do something about.
fn of_notice(event: &NoticeEvent) -> Option<ProgressLine> {
    let (channel, failure) = event.given_up()?;
    let detail = format!(": the notification was not delivered: {}", failure.message);
    Some(ProgressLine::warning(channel, detail))
}
