//! What happens to the run as a whole.

use crate::report::{
    progress::verb::Verb,
    screens::{style::Role, text::count},
    vocabulary::budget::ceiling_words,
};
use rules::{
    engine::{
        BudgetEvent, Concern, DeadlineEvent, DeadlineStep, MissionChange, RunEvent, RunWork, Salvaged, State,
        StopCause,
    },
    plan::{Origin, RunOptions},
};

use super::{LineBuilder, ProgressLine, title};

/// Why a session ends, and what comes of that.
fn stopping(cause: StopCause) -> String {
    let again = match cause {
        StopCause::Interrupted => "; a second Ctrl-C ends at once",
        StopCause::Terminated | StopCause::TimeLimit => "",
    };
    format!("{}: what runs is ended, nothing new starts{again}", cause.as_str())
}

impl LineBuilder {
    pub fn of_run(&self, state: &State, event: &RunEvent) -> Option<ProgressLine> {
        let mission = &*state.plan.name;
        Some(match event {
            RunEvent::Started(_) => {
                let run = self.run.as_ref().map(|run| format!("  {run}"));
                let detail = started(state) + &run.unwrap_or_default();
                ProgressLine::new(Verb::Run, Role::Active, mission, detail)
            }
            RunEvent::Resumed(resume) => {
                let detail = resumed(state, &resume.options);
                ProgressLine::new(Verb::Resume, Role::Active, mission, detail)
            }
            RunEvent::Moved { from, to } => {
                let detail = format!("from {} to {}, and works there", from.display(), to.display());
                ProgressLine::new(Verb::Resume, Role::Warn, "the state was moved", detail)
            }
            RunEvent::MissionChanged(change) => {
                let detail = format!("with a changed mission: {}", changes(change));
                ProgressLine::new(Verb::Resume, Role::Warn, mission, detail)
            }
            RunEvent::TasksAdded(addition) => {
                let titles = addition.tasks.iter().map(|task| &*task.title);
                let titles = titles.collect::<Vec<_>>().join(", ");
                let source = addition.source.map_or(mission, |id| title(state, id));
                let (verb, how) = match addition.origin {
                    Origin::Fixup => (Verb::Fixup, "a task that repairs it"),
                    Origin::Delegated => (Verb::Run, "delegated"),
                    Origin::Request => (Verb::Run, "requested"),
                };
                ProgressLine::new(verb, Role::Active, source, format!("{how}: {titles}"))
            }
            RunEvent::TasksWithdrawn { tasks } => {
                let titles = tasks.iter().map(|id| title(state, *id));
                let titles = titles.collect::<Vec<_>>().join(", ");
                let detail = format!("no longer needed: {titles}");
                ProgressLine::new(Verb::Cancel, Role::Warn, mission, detail)
            }
            RunEvent::Stopping(cause) => ProgressLine::new(Verb::Stop, Role::Warn, mission, stopping(*cause)),
            RunEvent::Paused { by, for_good: false } => {
                let detail = format!("paused by {by}: what has started may finish, nothing new starts");
                ProgressLine::new(Verb::Stop, Role::Warn, mission, detail)
            }
            RunEvent::SessionLimit { until, waits: true } => {
                let checkpoints = state.checkpoints_that_wait().count();
                let waiting = count(state.sums.counts.awaiting as usize + checkpoints, "answer");
                let detail = format!("for {waiting} by a person, until {}", until.to_rfc3339());
                ProgressLine::new(Verb::Wait, Role::Warn, mission, detail)
            }
            RunEvent::ThresholdFailed { avg_score: points, threshold } => {
                let detail = format!("mission score {points} < {threshold}");
                ProgressLine::new(Verb::Gate, Role::Bad, mission, detail)
            }
            RunEvent::Warning(Concern::Foreign, message) => {
                ProgressLine::new(Verb::Stop, Role::Bad, message, "")
            }
            RunEvent::Warning(Concern::Notice, message) => ProgressLine::warning(message, ""),
            RunEvent::Warning(Concern::Unconfined, reason) => {
                ProgressLine::warning("unconfined", format!(": {reason}"))
            }
            RunEvent::Salvaged(Salvaged { by, line, .. }) => {
                ProgressLine::warning("damaged journal", format!(" cut at line {line} by {by}"))
            }
            RunEvent::WorkRequested(RunWork::Audit { .. }) => audit_line(state),
            _ => return None,
        })
    }
}

/// The words of the line with which a run begins.
fn started(state: &State) -> String {
    let tasks = count(state.sums.counts.selected as usize, "task");
    let review = if state.plan.rules.settings.evaluate { "" } else { ", nothing is reviewed" };
    let slots = state.plan.rules.concurrency;
    let left_out = match state.sums.counts.not_taken {
        0 => String::new(),
        left_out => format!(", {left_out} left out"),
    };
    format!("{tasks}{left_out}, {slots} at a time{review}")
}

/// The words of the line with which a run goes on.
fn resumed(state: &State, options: &RunOptions) -> String {
    let tasks = count(state.sums.counts.selected as usize, "task");
    let finished = state.sums.counts.ended();
    let mut detail = format!("{finished} of {tasks} finished before");
    // What holds for this session only is said, so that nobody looks for it in the next one.
    let limits = [
        options.timeout.map(|span| format!(", stops after {span}")),
        options.wait_approvals.map(|span| format!(", waits {span} for answers")),
        options.jobs.map(|jobs| format!(", {jobs} at a time")),
    ];
    detail.extend(limits.into_iter().flatten());
    detail
}

/// How much another mission changes: `2 added, 1 changed`.
fn changes(change: &MissionChange) -> String {
    let parts =
        [(change.added.len(), "added"), (change.removed.len(), "removed"), (change.changed.len(), "changed")];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, what)| format!("{number} {what}")).collect();
    parts.join(", ")
}

pub fn of_budget(state: &State, event: &BudgetEvent) -> Option<ProgressLine> {
    let BudgetEvent::Exhausted { ceiling } = event else {
        return None;
    };
    let ceiling = ceiling_words(state, *ceiling);
    let detail = format!("limit: {ceiling}; what runs may finish its turn");
    Some(ProgressLine::new(Verb::Stop, Role::Warn, &state.plan.name, detail))
}

pub fn of_deadline(state: &State, event: &DeadlineEvent) -> Option<ProgressLine> {
    let subject = event.task.map_or(&*state.plan.name, |id| title(state, id));
    let due = event.due.to_rfc3339();
    match event.step {
        DeadlineStep::Warned => {
            let share = event.share_used() * 100.0;
            let detail = format!("{share:.0} % of the time until {due} is used");
            Some(ProgressLine::new(Verb::Deadline, Role::Warn, subject, detail))
        }
        DeadlineStep::Violated => {
            let detail = format!("missed: it was {due}");
            Some(ProgressLine::new(Verb::Deadline, Role::Bad, subject, detail))
        }
        DeadlineStep::Set | DeadlineStep::Met => None,
    }
}

/// The line that an audit of accepted work begins.
fn audit_line(state: &State) -> ProgressLine {
    let tasks = state.covered().count();
    let sums = &state.sums.counts;
    let detail = if sums.ended() == sums.selected {
        "final check that accepted work still stands"
    } else {
        "check that accepted work still stands"
    };
    ProgressLine::new(Verb::Check, Role::Active, &count(tasks, "task"), detail)
}
