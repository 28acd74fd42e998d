//! The block at the end of a session: always printed, also on failure and Ctrl-C.
//!
//! What was accepted below the bar stands on a line of its own even when it is nothing, so that its absence cannot be
//! mistaken for good news.

use minijinja::value::{Serde, Value};
use minijinja::{Error, context};
use serde::Serialize;

use rules::{
    domain::{OutcomeClass, Points, TaskId},
    engine::{GateStanding, Outcome},
};

use super::pages::Page;
use super::style::TextLayout;
use super::templates::render;
use super::text::{against_bar, elapsed, time_of_day};
use crate::report::{
    documents::{GateRow, RunDocument},
    folds::{
        findings,
        rank::{Rank, reason},
        view::FailureRow,
    },
    vocabulary::budget,
};

/// Rows of a list; more are counted.
const ROWS: usize = 10;

/// The block of a session that has ended. Its template breaks lines itself, before it paints them.
impl Page for RunDocument<'_> {
    const TEMPLATE: &'static str = include_str!("summary.txt");

    fn human(&self, screen: &TextLayout) -> Result<String, Error> {
        let (tasks, counts) = (self.tasks, &self.counts);
        let of_rank = |rank| tasks.of_rank(rank);
        let because = |id: &TaskId| {
            let task = tasks.row(*id);
            line(task.title, &reason(&task))
        };
        let failure = |id: &TaskId| {
            let task = tasks.row(*id);
            let how = task.failure.map(FailureRow::words).unwrap_or_default();
            [vec![line(task.title, &how)], findings::top_lines(&task)].concat()
        };
        // Each for which the orchestrator said why there is no other way.
        let mut skipped = Vec::new();
        if counts.skipped > 0 && self.has_orchestrator {
            skipped = of_rank(Rank::Cascaded);
            skipped.retain(|id| failure(id)[0].contains("; the orchestrator: "));
        }
        let gate = |gate: &&GateRow<'_>| line(gate.name, gate.reason.as_deref().unwrap_or_default());
        let symbols = screen.style.symbols();
        let score = |(points, id): &(Points, TaskId)| {
            let task = tasks.row(*id);
            (against_bar(*points, task.bar, symbols), task.title)
        };
        let accepted = tasks.accepted();
        let (asked, windows): (Vec<_>, Vec<_>) = (self.asked().collect(), self.windows().collect());
        let page = context! {
            below_bar => list(&of_rank(Rank::BelowBar), because),
            unproven => list(&tasks.unproven(), because),
            baselines_off => tasks.has_baselines_off(),
            unjudged => list(&of_rank(Rank::Indeterminate), because),
            failed_gates => list(&self.failed_gates().collect::<Vec<_>>(), gate),
            scores => list(&tasks.scores(), score),
            failed => list(&of_rank(Rank::Failed), failure),
            skipped => list(&skipped, failure),
            found => accepted.counts.words(),
            severe => list(&accepted.severe, |(title, found)| line(title, &found.line())),
            asked => list(&asked, |wait| wait.line()),
            windows => list(&windows, |wait| wait.line()),
            told => list(self.warnings, String::clone),
            undelivered => self.undelivered,
            limits => &self.limits,
            kept => list(&tasks.kept_by_limit(), |id| tasks.title(*id)),
            used => &self.usage.words,
            is_ok => self.ended.is_some_and(|outcome| outcome.class == OutcomeClass::Ok),
            ..facts(self)
        };
        render(screen, Self::TEMPLATE, page)
    }
}

/// What all pages of a run are drawn from: its document, and what is only told to people.
pub fn facts(run: &RunDocument<'_>) -> Value {
    context! {
        worked => run.worked_for().map(elapsed),
        not_reviewed => run.not_reviewed(),
        left_out => run.counts.left_out(),
        words => run.counts.words(),
        below => run.counts.below_bar(),
        lacks_reviews => run.tasks.lacks_reviews(),
        points => run.mission_score.points.map(|points| points.to_string()),
        bar => run.mission_score.bar.map(|bar| bar.to_string()),
        gate_sums => gate_sums(&run.gates),
        resumes => resumable_at(run),
        exit => run.ended.map(outcome_words),
        next => next_commands(run),
        ..Serde(run)
    }
}

/// The first rows of a list, and how many there are.
fn list<T, R: Serialize>(all: &[T], row: impl Fn(&T) -> R) -> Value {
    let rows: Vec<R> = all.iter().take(ROWS).map(row).collect();
    Serde((rows, all.len())).into()
}

fn line(title: &str, words: &str) -> String {
    format!("{title}: {words}")
}

/// `2 passed, 1 failed`; empty where there are no gates.
fn gate_sums(gates: &[GateRow<'_>]) -> String {
    let kinds = [
        (GateStanding::Passed, "passed"),
        (GateStanding::Failed, "failed"),
        (GateStanding::Overridden, "overridden"),
        (GateStanding::Waiting, "waiting"),
        (GateStanding::NotTaken, "not taken"),
    ];
    let sums = kinds.map(|(wanted, words)| {
        let number = gates.iter().filter(|gate| gate.state == wanted).count();
        (number > 0).then(|| format!("{number} {words}"))
    });
    let sums: Vec<_> = sums.into_iter().flatten().collect();
    sums.join(", ")
}

/// `resumable at 01:57`, where the run ended because a limit of a subscription resets too late for it.
pub fn resumable_at(run: &RunDocument<'_>) -> Option<String> {
    let from = run.finished_at.unwrap_or_default();
    Some(format!("resumable at {}", time_of_day(run.resumable_at?, from)))
}

/// How a run ended that is not `ok`, or that has not ended, by its word and in words: whatever else a report says of it, this it
/// must not leave out. Nothing but `ok` is good.
pub fn unwell(run: &RunDocument<'_>) -> Option<(&'static str, String)> {
    match run.ended {
        Some(outcome) if outcome.class == OutcomeClass::Ok => None,
        Some(outcome) => Some((outcome.class.as_str(), outcome_words(outcome))),
        None => Some((run.state.as_str(), run.not_ended())),
    }
}

/// `exit 3 (task_failed), also gate_failed; allowed: below_threshold`
pub fn outcome_words(outcome: &Outcome) -> String {
    let class = outcome.class;
    let mut text = format!("exit {} ({})", class.exit_code(), class.as_str());
    let names = |classes: &[OutcomeClass]| {
        let names: Vec<_> = classes.iter().map(|class| class.as_str()).collect();
        names.join(", ")
    };
    let mut others = outcome.conditions.clone();
    others.retain(|other| *other != class && !outcome.allowed.contains(other));
    if !others.is_empty() {
        append!(text, ", also {}", names(&others));
    }
    if !outcome.allowed.is_empty() {
        append!(text, "; allowed: {}", names(&outcome.allowed));
    }
    text
}

/// The commands that can be typed now, in the order in which a person would: look at what failed, decide what
/// waits, open what is shut, go on.
fn next_commands(run: &RunDocument<'_>) -> Vec<String> {
    let (tasks, mut commands) = (run.tasks, Vec::new());
    let Some(id) = run.run_id else {
        return commands;
    };
    let first = |rank| tasks.of_rank(rank).first().copied();
    let broken = tasks.broken();
    let worst = broken.or_else(|| first(Rank::Indeterminate));
    if let Some(task) = worst.or_else(|| first(Rank::BelowBar)) {
        let title = shell_word(tasks.title(task));
        commands.push(format!("quorum show {title} {id}"));
    }
    // What was accepted below its bar a person may know of, or refuse.
    commands.extend(run.requests.first().map(|request| request.command.clone()));
    // Where judges were missing they are asked again before a person is.
    let waits = |again: bool| {
        let first = run.asked().find(|asked| asked.is_for_judges == again)?;
        first.command.clone()
    };
    let asked = waits(false);
    let judges_first = asked.is_none();
    commands.extend(asked);
    let shut = run.failed_gates().next();
    let was_stopped = run.ended.is_some_and(|outcome| outcome.class.is_stop());
    if broken.is_some() && !was_stopped {
        commands.push(format!("quorum resume {id} --retry-failed"));
    } else if let Some(worst) = shut.and_then(|gate| tasks.worst_before(gate.id)).filter(|_| !was_stopped) {
        // A gate that failed stays so as long as the work before it is what it was.
        let title = shell_word(tasks.title(worst));
        commands.push(format!("quorum resume {id} --redo {title}"));
    } else if run.resumable {
        let more = run.limit.map_or("", budget::what_helps);
        commands.push(format!("quorum resume {id}{more}"));
    }
    commands.extend(waits(true).filter(|_| judges_first));
    // Never before what would mend it.
    if let Some(gate) = shut {
        let name = shell_word(gate.name);
        commands.push(format!("quorum gate {name} --override --reason REASON"));
    }
    if run.undelivered > 0 {
        commands.push("quorum dlq list".to_owned());
    }
    let is_ok = run.ended.is_some_and(|outcome| outcome.class == OutcomeClass::Ok);
    commands.extend(run.to_merge.iter().map(|name| match is_ok {
        true => format!("quorum merge {id}"),
        // What did not end well a person may take all the same, by other means.
        false => format!("git merge {name}"),
    }));
    commands.push(format!("quorum status {id}"));
    commands
}

/// A name as one word of a shell command. Names with control characters are shown without them: better a command that
/// finds no gate than one that does something to the terminal.
pub fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
