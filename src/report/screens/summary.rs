//! The block at the end of a session: always printed, also on failure and Ctrl-C.
//!
//! What was accepted below the bar stands on a line of its own even when it is nothing, so that its absence cannot be
//! mistaken for good news.

use minijinja::value::{Serde, Value};
use minijinja::{Error, context};

use rules::domain::{FailureMode, GateId, OutcomeClass, Points, Status, TaskId};
use rules::engine::{GateStanding, Mark, Outcome, State};
use rules::mission::Loosening;

use super::style::TextLayout;
use super::templates::render;
use super::text::{against_bar, columns, count, elapsed, sanitize, time_of_day};
use crate::report::{
    documents::{FailureRow, GateRow, RunDocument, blocked_by},
    folds::{
        findings::{self, Accepted},
        rank::{Rank, reason},
    },
    vocabulary::budget,
};

/// Rows of a list; more are counted.
const ROWS: usize = 10;

/// The banner of a run without reviews: by what they are switched off, and what that means.
pub fn not_reviewed(state: &State) -> Option<String> {
    let rules = &state.plan.rules;
    if rules.settings.evaluate {
        return None;
    }
    let off = rules.loosened.iter().find(|found| found.is_off);
    let off = off.map_or_else(|| "reviews are switched off".to_owned(), Loosening::words);
    Some(format!(
        "NOTHING WAS REVIEWED: {off}, agents' work was taken as it came"
    ))
}

/// The block of a session that has ended, with a line feed at its end.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn summary(run: &RunDocument<'_>, screen: &TextLayout) -> Result<String, Error> {
    let (tasks, state, counts) = (run.tasks, run.tasks.state, &run.counts);
    let of_rank = |rank| tasks.of_rank(rank);
    let because = |id: &TaskId| {
        let task = tasks.row(*id);
        line(task.title, &reason(&task))
    };
    let failure = |id: &TaskId| {
        let task = tasks.row(*id);
        let how = task.failure.as_ref().map(FailureRow::words).unwrap_or_default();
        let found = findings::top_lines(&task);
        let found = found.iter().map(|found| format!("\n  {found}"));
        line(task.title, &how) + &found.collect::<String>()
    };
    // Each for which the orchestrator said why there is no other way.
    let mut skipped = Vec::new();
    if counts.skipped > 0 && state.plan.rules.orchestrator.is_some() {
        skipped = of_rank(Rank::Cascaded);
        skipped.retain(|id| failure(id).contains("; the orchestrator: "));
    }
    let mut kept = Vec::new();
    if state.ledger.limit().is_some() {
        kept = of_rank(Rank::Open);
        kept.retain(|id| blocked_by(state, *id).is_empty());
    }
    let gate = |gate: &&GateRow<'_>| line(gate.name, gate.reason.as_deref().unwrap_or_default());
    let accepted = Accepted::of(tasks);
    let (asked, windows): (Vec<_>, Vec<_>) = (run.asked().collect(), run.windows().collect());
    let page = context! {
        worked => run.worked_for().map(elapsed),
        not_reviewed => not_reviewed(state),
        left_out => counts.left_out(),
        words => counts.words(),
        below => counts.below_bar(),
        below_bar => list(&of_rank(Rank::BelowBar), because),
        lacks_reviews => tasks.lacks_reviews(),
        unproven => list(&tasks.unproven(), because),
        baselines_off => tasks.has_baselines_off(),
        unjudged => list(&of_rank(Rank::Indeterminate), because),
        points => run.mission_score.points.map(|points| points.to_string()),
        bar => run.mission_score.bar.map(|bar| bar.to_string()),
        gate_sums => gate_sums(&run.gates),
        failed_gates => list(&run.failed_gates().collect::<Vec<_>>(), gate),
        scores => scores(state, screen),
        failed => list(&of_rank(Rank::Failed), failure),
        skipped => list(&skipped, failure),
        found => accepted.counts.words(),
        severe => list(&accepted.severe, |(title, found)| line(title, &found.line())),
        asked => list(&asked, |wait| wait.line()),
        windows => list(&windows, |wait| wait.line()),
        resumes => resumable_at(run),
        told => list(run.warnings, |warning| sanitize(warning).into_owned()),
        undelivered => tasks.view.undelivered,
        limits => budget::sentences(state),
        kept => list(&kept, |id| sanitize(state.plan.title(*id)).into_owned()),
        used => usage(state),
        exit => run.ended.map(outcome_words),
        is_ok => run.ended.is_some_and(|outcome| outcome.class == OutcomeClass::Ok),
        next => next_commands(run),
        ..Serde(run)
    };
    render(screen, include_str!("summary.txt"), page)
}

/// The first rows of a list, and how many there are.
fn list<T>(all: &[T], row: impl Fn(&T) -> String) -> Value {
    let rows: Vec<String> = all.iter().take(ROWS).map(row).collect();
    Serde((rows, all.len())).into()
}

fn line(title: &str, words: &str) -> String {
    format!("{}: {}", sanitize(title), sanitize(words))
}

/// `2 passed, 1 failed`; empty where there are no gates.
pub fn gate_sums(gates: &[GateRow<'_>]) -> String {
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

/// Only where scores are: the worst come first.
fn scores(state: &State, screen: &TextLayout) -> Value {
    let mut scored: Vec<(Points, TaskId)> = state
        .plan
        .task_ids()
        .filter(|id| !state.task(*id).is_superseded())
        .filter_map(|id| Some((state.task(id).attempt.points?, id)))
        .collect();
    scored.sort_unstable();
    let symbols = screen.style.symbols();
    let row = |(points, id): &(Points, TaskId)| {
        let title = sanitize(state.plan.title(*id)).into_owned();
        [against_bar(*points, state.plan.bar(*id), symbols), title]
    };
    let rows: Vec<[String; 2]> = scored.iter().take(ROWS).map(row).collect();
    Serde((columns(&rows), scored.len())).into()
}

/// `resumable at 01:57`, where the run ended because a limit of a subscription resets too late for it.
pub fn resumable_at(run: &RunDocument<'_>) -> Option<String> {
    let from = run.finished_at.unwrap_or_default();
    Some(format!("resumable at {}", time_of_day(run.resumable_at?, from)))
}

/// Requests, tokens and cost, of what there may be.
fn usage(state: &State) -> String {
    let usage = state.ledger.spent();
    let mut text = budget::requests_words(state);
    if usage.input_tokens.is_some() || usage.output_tokens.is_some() {
        let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
        let (read, written) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
        append!(text, ", tokens {read} in, {written} out");
        if let Some(most) = state.plan.rules.budget.max_tokens {
            append!(text, " of {most}");
        }
    }
    text.push_str(&budget::cost_words(state));
    // A sum over some of the calls must not pass for the whole.
    if usage.untold > 0 && (usage.cost.is_some() || usage.input_tokens.or(usage.output_tokens).is_some()) {
        let calls = count(usize::try_from(usage.untold).unwrap_or(usize::MAX), "request");
        append!(text, "; {calls} reported no tokens");
    }
    text
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
pub fn next_commands(run: &RunDocument<'_>) -> Vec<String> {
    let (state, mut commands) = (run.tasks.state, Vec::new());
    let Some(id) = run.run_id else {
        return commands;
    };
    let of_rank = |rank| run.tasks.of_rank(rank);
    let mut failed = of_rank(Rank::Failed);
    failed.retain(|id| state.task(*id).mode() != Some(FailureMode::Cancelled));
    let broken = failed.first().copied();
    let worst = || broken.or(of_rank(Rank::Indeterminate).first().copied());
    if let Some(task) = worst().or(of_rank(Rank::BelowBar).first().copied()) {
        let title = shell_word(state.plan.title(task));
        commands.push(format!("quorum show {title} {id}"));
    }
    // What was accepted below its bar a person may know of, or refuse.
    commands.extend(run.requests.first().map(|request| request.command.clone()));
    // Where judges were missing they are asked again before a person is.
    let waits = |again: bool| {
        let is_for_judges = |task| state.task(task).attempt.has(Mark::Indeterminate);
        let mut asked = run.asked();
        let first = asked.find(|asked| asked.task_id.is_some_and(is_for_judges) == again)?;
        first.command.clone()
    };
    let asked = waits(false);
    let judges_first = asked.is_none();
    commands.extend(asked);
    let shut = run.failed_gates().next();
    let was_stopped = run.ended.is_some_and(|outcome| outcome.class.is_stop());
    if broken.is_some() && !was_stopped {
        commands.push(format!("quorum resume {id} --retry-failed"));
    } else if let Some(worst) = shut
        .and_then(|gate| worst_before(state, gate.id))
        .filter(|_| !was_stopped)
    {
        // A gate that failed stays so as long as the work before it is what it was.
        let title = shell_word(state.plan.title(worst));
        commands.push(format!("quorum resume {id} --redo {title}"));
    } else if run.resumable {
        let more = state.ledger.limit().map_or("", budget::what_helps);
        commands.push(format!("quorum resume {id}{more}"));
    }
    commands.extend(waits(true).filter(|_| judges_first));
    // Never before what would mend it.
    if let Some(gate) = shut {
        let name = shell_word(gate.name);
        commands.push(format!("quorum gate {name} --override --reason REASON"));
    }
    if run.tasks.view.undelivered > 0 {
        commands.push("quorum dlq list".to_owned());
    }
    commands.extend(run.to_merge.iter().map(|name| format!("git merge {name}")));
    commands.push(format!("quorum status {id}"));
    commands
}

/// The done task before a gate that has the lowest score, or the first one where none has any.
fn worst_before(state: &State, gate: GateId) -> Option<TaskId> {
    let before = state.plan.gate(gate).after.iter().copied();
    let done = before.filter(|id| state.task(*id).status() == Status::Done);
    done.min_by_key(|id| {
        state
            .task(*id)
            .attempt
            .points
            .map_or((1, None), |points| (0, Some(points)))
    })
}

/// A name as one word of a shell command. Names with control characters are shown without them: better a command that
/// finds no gate than one that does something to the terminal.
fn shell_word(name: &str) -> String {
    let name = sanitize(name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+,=".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        name.into_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
#[path = "summary_tests.rs"]
mod tests;
