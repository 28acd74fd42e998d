//! The block at the end of a session: always printed, also on failure and Ctrl-C.
//!
//! What was accepted below the bar stands on a line of its own even when it is nothing, so that its absence cannot be
//! mistaken for good news.

use crate::domain::{FailureMode, GateId, OutcomeClass, Points, Status, TaskId};
use crate::engine::{GateStanding, Mark, Outcome, State};
use crate::mission::Loosening;

use super::budget;
use super::documents::{FailureRow, GateRow, RunDocument, Wait, blocked_by};
use super::findings::{self, Accepted};
use super::rank::{Rank, reason};
use super::style::{Role, Screen, Sheet};
use super::text::{against_bar, columns, count, elapsed, sanitize, time_of_day};

/// Rows of a list; more are counted.
const ROWS: usize = 10;

/// The banner of a run without reviews: by what they are switched off, and what that means.
pub(super) fn not_reviewed(state: &State) -> Option<String> {
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

/// Before the rows of a list.
const INDENT: &str = "  ";

/// The block of a session that has ended, with a line feed at its end.
pub fn summary(run: &RunDocument<'_>, screen: &Screen) -> String {
    let mut page = Sheet::new(screen);
    head(&mut page, run);
    tallies(&mut page, run);
    gates(&mut page, run);
    scores(&mut page, run.tasks.state);
    failures(&mut page, run);
    accepted_findings(&mut page, run);
    waiting(&mut page, run);
    if let Some(why) = run.unconfined {
        page.line(Some(Role::Warn), &format!("unconfined: {}", sanitize(why)));
    }
    let warnings = run.warnings.iter().map(|warning| sanitize(warning).into_owned());
    page.list("warnings:", Role::Warn, warnings.collect(), run.warnings.len());
    let undelivered = run.tasks.view.undelivered;
    if undelivered > 0 {
        let text = format!("{} could not be delivered", count(undelivered, "notification"));
        page.line(Some(Role::Warn), &text);
    }
    usage(&mut page, run);
    if let Some(outcome) = run.ended {
        exit(&mut page, outcome);
    }
    next(&mut page, &next_commands(run));
    page.text
}

impl Sheet<'_> {
    /// A heading and its rows, of which there may be more than are given; nothing where there are none.
    fn list(&mut self, heading: &str, role: Role, rows: Vec<String>, total: usize) {
        if total == 0 {
            return;
        }
        self.line(Some(role), heading);
        self.rows(rows, total);
    }

    /// Rows below a heading, of which there may be more than are given.
    fn rows(&mut self, rows: Vec<String>, total: usize) {
        let shown = rows.len().min(ROWS);
        for row in rows.into_iter().take(ROWS) {
            for line in row.split('\n') {
                self.line(None, &format!("{INDENT}{line}"));
            }
        }
        if total > shown {
            self.line(None, &format!("{INDENT}and {} more", total - shown));
        }
    }
}

fn head(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let id = run.run_id.map(|id| format!("run {id}: ")).unwrap_or_default();
    let name = sanitize(run.mission);
    let worked = run.worked_for().map(|worked| format!(", {}", elapsed(worked)));
    let cancelled = if run.cancelled { ", cancelled" } else { "" };
    page.text.push('\n');
    let text = format!("{id}{name}{}{cancelled}", worked.unwrap_or_default());
    page.line(Some(Role::Strong), &text);
    if let Some(words) = not_reviewed(run.tasks.state) {
        page.line(Some(Role::Warn), &sanitize(&words));
    }
    if let Some(words) = run.counts.left_out() {
        page.line(Some(Role::Warn), &words);
    }
}

fn tallies(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let counts = &run.counts;
    page.line(None, &format!("tasks: {}", counts.words()));
    if counts.clean > 0 {
        page.line(None, &format!("clean: {}", counts.clean));
    }
    let below = counts.below_bar();
    let mut text = format!("accepted below the bar: {below}");
    if counts.degraded + counts.unverified > 0 {
        append!(
            text,
            " ({} below the threshold, {} degraded, {} unverified)",
            counts.below_threshold,
            counts.degraded,
            counts.unverified
        );
    }
    page.line((below > 0).then_some(Role::Warn), &text);
    named(page, run, &run.tasks.of_rank(Rank::BelowBar));
    let unjudged = run.tasks.of_rank(Rank::Indeterminate);
    if counts.unreviewed > 0 {
        let role = run.tasks.lacks_reviews().then_some(Role::Warn);
        page.line(role, &format!("unreviewed: {}", counts.unreviewed));
    }
    if counts.unproven > 0 {
        let text = format!("proved by nothing: {}", counts.unproven);
        page.line(Some(Role::Warn), &text);
        named(page, run, &run.tasks.unproven());
    }
    if counts.baseline_unknown > 0 {
        let off = if run.tasks.has_baselines_off() {
            " (baselines off)"
        } else {
            ""
        };
        page.line(
            Some(Role::Warn),
            &format!("baseline unknown: {}{off}", counts.baseline_unknown),
        );
    }
    if !unjudged.is_empty() {
        let text = format!("without a trustworthy verdict: {}", unjudged.len());
        page.line(Some(Role::Warn), &text);
        named(page, run, &unjudged);
    }
}

/// Tasks, each with why it stands where it stands.
fn named(page: &mut Sheet<'_>, run: &RunDocument<'_>, ids: &[TaskId]) {
    let rows = ids.iter().take(ROWS).map(|id| run.tasks.row(*id));
    let rows = rows.map(|task| format!("{}: {}", sanitize(task.title), reason(&task)));
    page.rows(rows.collect(), ids.len());
}

fn gates(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let score = &run.mission_score;
    if let Some(bar) = score.bar {
        let words = match score.points {
            Some(points) if points >= bar => {
                format!("{points} {} {bar}", page.screen.style.symbols().reaches)
            }
            Some(points) => format!("{points} < {bar}"),
            None => format!("none yet, bar {bar}"),
        };
        let role = score.missed_with.map(|_| Role::Bad);
        page.line(role, &format!("mission score: {words}"));
    }
    if run.gates.is_empty() {
        return;
    }
    page.line(None, &format!("gates: {}", gate_sums(&run.gates)));
    let row = |gate: &GateRow<'_>| {
        let reason = gate.reason.as_deref().unwrap_or_default();
        format!("{}: {}", sanitize(gate.name), sanitize(reason))
    };
    let rows: Vec<String> = run.failed_gates().map(row).collect();
    let total = rows.len();
    page.list("failed gates:", Role::Bad, rows, total);
}

/// `2 passed, 1 failed`; empty where there are no gates.
pub(super) fn gate_sums(gates: &[GateRow<'_>]) -> String {
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
fn scores(page: &mut Sheet<'_>, state: &State) {
    let mut scored: Vec<(Points, TaskId)> = state
        .plan
        .task_ids()
        .filter(|id| !state.task(*id).is_superseded())
        .filter_map(|id| Some((state.task(id).attempt.points?, id)))
        .collect();
    scored.sort_unstable();
    let symbols = page.screen.style.symbols();
    let row = |(points, id): &(Points, TaskId)| {
        let title = sanitize(state.plan.title(*id)).into_owned();
        [against_bar(*points, state.plan.bar(*id), symbols), title]
    };
    let rows: Vec<[String; 2]> = scored.iter().take(ROWS).map(row).collect();
    page.list("scores, worst first:", Role::Strong, columns(&rows), scored.len());
}

/// Causes first; what was skipped because of them is only counted.
fn failures(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let (state, causes) = (run.tasks.state, run.tasks.of_rank(Rank::Failed));
    let row = |id: &TaskId| {
        let task = run.tasks.row(*id);
        let how = task.failure.as_ref().map(FailureRow::words).unwrap_or_default();
        let found = findings::top_lines(&task);
        let found = found.iter().map(|line| format!("\n{INDENT}{line}"));
        format!("{}: {how}{}", sanitize(task.title), found.collect::<String>())
    };
    let rows = causes.iter().take(ROWS).map(row).collect();
    page.list("failed:", Role::Bad, rows, causes.len());
    let skipped = run.counts.skipped;
    if skipped > 0 {
        let text = format!("skipped because a dependency failed: {skipped}");
        page.line(Some(Role::Bad), &text);
        // Each for which the orchestrator said why there is no other way.
        let mut told = Vec::new();
        if state.plan.rules.orchestrator.is_some() {
            told = run.tasks.of_rank(Rank::Cascaded);
            told.retain(|id| row(id).contains("; the orchestrator: "));
        }
        page.rows(told.iter().take(ROWS).map(row).collect(), told.len());
    }
}

/// What accepted work carries: how many findings, and each that is critical or high.
fn accepted_findings(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let accepted = Accepted::of(run.tasks);
    let words = accepted.counts.words();
    if words.is_empty() {
        return;
    }
    let severe = accepted.severe.iter().take(ROWS);
    let rows: Vec<String> = severe
        .map(|(title, found)| format!("{}: {}", sanitize(title), found.line()))
        .collect();
    let role = (!rows.is_empty()).then_some(Role::Warn);
    page.line(role, &format!("findings in accepted work: {words}"));
    page.rows(rows, accepted.severe.len());
}

fn waiting(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let mut list = |heading, waits: Vec<&Wait<'_>>| {
        let rows = waits.iter().take(ROWS).map(|wait| wait.line()).collect();
        page.list(heading, Role::Warn, rows, waits.len());
    };
    list("waiting for a decision:", run.asked().collect());
    list("waiting for a limit to reset:", run.windows().collect());
    if let Some(words) = resumable_at(run) {
        page.line(Some(Role::Warn), &words);
    }
}

/// `resumable at 01:57`, where the run ended because a limit of a subscription resets too late for it.
pub(super) fn resumable_at(run: &RunDocument<'_>) -> Option<String> {
    let from = run.finished_at.unwrap_or_default();
    Some(format!("resumable at {}", time_of_day(run.resumable_at?, from)))
}

fn usage(page: &mut Sheet<'_>, run: &RunDocument<'_>) {
    let state = run.tasks.state;
    let usage = state.ledger.spent();
    for sentence in budget::sentences(state) {
        page.line(Some(Role::Bad), &format!("limit: {sentence}"));
    }
    if state.ledger.limit().is_some() {
        let mut kept = run.tasks.of_rank(Rank::Open);
        kept.retain(|id| blocked_by(state, *id).is_empty());
        let titles = kept
            .iter()
            .take(ROWS)
            .map(|id| sanitize(state.plan.title(*id)).into_owned());
        page.list(
            "kept from going on by it:",
            Role::Warn,
            titles.collect(),
            kept.len(),
        );
    }
    let mut text = format!("usage: {}", budget::requests_words(state));
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
    page.line(Some(Role::Dim), &text);
}

fn exit(page: &mut Sheet<'_>, outcome: &Outcome) {
    let ok = outcome.class == OutcomeClass::Ok;
    let role = if ok { Role::Good } else { Role::Bad };
    // Not cut: it is what the block is for.
    append_line!(
        page.text,
        "{}",
        page.screen.style.paint(role, outcome_words(outcome))
    );
}

/// `exit 3 (task_failed), also gate_failed; allowed: below_threshold`
pub(super) fn outcome_words(outcome: &Outcome) -> String {
    let class = outcome.class;
    let mut text = format!("exit {} ({})", class.exit_code(), class.as_str());
    let names = |classes: &[&OutcomeClass]| {
        let names: Vec<_> = classes.iter().map(|class| class.as_str()).collect();
        names.join(", ")
    };
    let counts_too = |other: &&OutcomeClass| **other != class && !outcome.allowed.contains(other);
    let others: Vec<_> = outcome.conditions.iter().filter(counts_too).collect();
    if !others.is_empty() {
        append!(text, ", also {}", names(&others));
    }
    let allowed: Vec<_> = outcome.allowed.iter().collect();
    if !allowed.is_empty() {
        append!(text, "; allowed: {}", names(&allowed));
    }
    text
}

/// What can be typed now, in the order in which a person would: look at what failed, decide what waits, open what is
/// shut, go on.
pub(super) fn next_commands(run: &RunDocument<'_>) -> Vec<String> {
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

fn next(page: &mut Sheet<'_>, commands: &[String]) {
    for (index, command) in commands.iter().enumerate() {
        let label = if index == 0 { "next:" } else { "" };
        // Not cut: a command that is cut is a wrong command.
        append_line!(page.text, "{label:<5} {command}");
    }
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
