//! The block at the end of a session: always printed, also on failure and Ctrl-C.
//!
//! What was accepted below the bar stands on a line of its own even when it is nothing, so that its absence cannot be
//! mistaken for good news.

use std::fmt::Write as _;

use crate::domain::{
    FailureMode, GateId, OutcomeClass, Points, RunId, Status, TaskId, Timestamp, WaitingReason,
};
use crate::engine::Mark;
use crate::engine::{self, GateStanding, Outcome, RunPhase, State, gate_view};
use crate::mission::{Loosening, Part};

use super::asked::{Asked, asked, windows};
use super::budget;
use super::findings;
use super::json::{is_cancelled, regressed, skipped};
use super::style::{Role, Screen};
use super::text::{against_bar, count, elapsed, sanitize, time_of_day, width};
use super::view::{FailureView, RunView};

/// Rows of a list; more are counted.
const ROWS: usize = 10;

/// The banner of a run without reviews: by what they are switched off, and what that means.
pub(super) fn not_reviewed(state: &State) -> Option<String> {
    let rules = &state.plan.rules;
    if rules.evaluate {
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

/// The block, with a line feed at its end. `outcome` is what the session ended with: the view's, or `internal` where
/// the state could not be written any more.
#[must_use]
pub fn summary(state: &State, view: &RunView, outcome: &Outcome, screen: &Screen) -> String {
    let mut page = Page {
        text: String::new(),
        screen,
    };
    head(&mut page, state, view);
    tallies(&mut page, state);
    gates(&mut page, state);
    scores(&mut page, state);
    failures(&mut page, state, view);
    accepted_findings(&mut page, state, view);
    waiting(&mut page, state, view);
    let warnings = view.warnings.iter().map(|warning| sanitize(warning).into_owned());
    page.list("warnings:", Role::Warn, warnings.collect(), view.warnings.len());
    if view.undelivered > 0 {
        let text = format!(
            "{} could not be delivered",
            count(view.undelivered, "notification")
        );
        page.line(Some(Role::Warn), &text);
    }
    usage(&mut page, state);
    exit(&mut page, outcome);
    if let Some(run) = &view.run_id {
        next(&mut page, &next_commands(state, view, Some(outcome), run));
    }
    page.text
}

/// Text under construction: every line broken between words where the screen ends. What is cut cannot be acted on.
struct Page<'s> {
    text: String,
    screen: &'s Screen,
}

impl Page<'_> {
    fn line(&mut self, role: Option<Role>, text: &str) {
        let wrapped = self.screen.wrap(text.trim_end());
        for line in wrapped.split('\n') {
            let _ = match role {
                Some(role) => writeln!(self.text, "{}", self.screen.style.paint(role, line)),
                None => writeln!(self.text, "{line}"),
            };
        }
    }

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

fn head(page: &mut Page<'_>, state: &State, view: &RunView) {
    let run = view.run_id.as_ref();
    let run = run.map(|run| format!("run {run}: ")).unwrap_or_default();
    let name = sanitize(&state.plan.name);
    let cancelled = if is_cancelled(state) { ", cancelled" } else { "" };
    let text = match view.worked_for() {
        Some(worked) => format!("{run}{name}, {}{cancelled}", elapsed(worked)),
        None => format!("{run}{name}{cancelled}"),
    };
    page.text.push('\n');
    page.line(Some(Role::Strong), &text);
    if let Some(words) = not_reviewed(state) {
        page.line(Some(Role::Warn), &sanitize(&words));
    }
    if let Some(words) = left_out(state) {
        page.line(Some(Role::Warn), &words);
    }
}

fn tallies(page: &mut Page<'_>, state: &State) {
    let counts = &state.sums.counts;
    page.line(None, &format!("tasks: {}", task_counts(state)));
    if counts.clean > 0 {
        page.line(None, &format!("clean: {}", counts.clean));
    }
    let below = counts.below_threshold + counts.degraded + counts.unverified;
    let mut text = format!("accepted below the bar: {below}");
    if counts.degraded + counts.unverified > 0 {
        let _ = write!(
            text,
            " ({} below the threshold, {} degraded, {} unverified)",
            counts.below_threshold, counts.degraded, counts.unverified
        );
    }
    page.line((below > 0).then_some(Role::Warn), &text);
    if counts.unreviewed > 0 {
        page.line(Some(Role::Warn), &format!("unreviewed: {}", counts.unreviewed));
    }
    if counts.indeterminate > 0 {
        let text = format!("without a trustworthy verdict: {}", counts.indeterminate);
        page.line(Some(Role::Warn), &text);
    }
}

/// What a run with `--only` says beside its result: it is not the whole mission's.
pub(super) fn left_out(state: &State) -> Option<String> {
    let left_out = not_selected(state);
    (left_out > 0).then(|| {
        let all = count(
            (state.sums.counts.not_taken + state.sums.counts.selected) as usize,
            "task",
        );
        format!("ONLY A PART: {left_out} of {all} left out (--only)")
    })
}

/// Tasks that the run was told to leave out. A verdict that leaves tasks out makes it no part of a run.
fn not_selected(state: &State) -> usize {
    if state.options.only.is_empty() {
        return 0;
    }
    let ids = state.plan.task_ids();
    ids.filter(|id| state.plan.task(*id).part == Part::NotSelected)
        .count()
}

/// `4 of 8 done, 2 failed, 1 under way, 1 pending, 1 waiting, 2 reworked`: what is none is left out.
pub(super) fn task_counts(state: &State) -> String {
    let counts = &state.sums.counts;
    let elsewhere = counts.ended() + counts.awaiting + counts.running;
    let pending = counts.selected.saturating_sub(elsewhere) as usize;
    let skipped = skipped(state);
    let (under_way, stopped) = match state.phase {
        // No session lives: nobody works on what it was at.
        RunPhase::Finished => (0, counts.running as usize),
        RunPhase::New | RunPhase::Running | RunPhase::Stopping => (counts.running as usize, 0),
    };
    let not_selected = not_selected(state);
    let mut text = format!("{} of {} done", counts.done, counts.selected);
    for (number, what) in [
        ((counts.failed - skipped.min(counts.failed)) as usize, "failed"),
        (skipped as usize, "skipped"),
        (counts.superseded as usize, "superseded"),
        (under_way, "under way"),
        (stopped, "interrupted"),
        (pending, "pending"),
        (counts.awaiting as usize, "waiting"),
        (counts.reworked as usize, "reworked"),
        (regressed(state) as usize, "regressed"),
        (not_selected, "not selected"),
        (
            (counts.not_taken as usize).saturating_sub(not_selected),
            "not taken",
        ),
    ] {
        if number > 0 {
            let _ = write!(text, ", {number} {what}");
        }
    }
    text
}

fn gates(page: &mut Page<'_>, state: &State) {
    if let Some(bar) = state.plan.rules.quality_threshold {
        let score = match engine::mission_score(state) {
            Some(points) if points >= bar => {
                format!("{points} {} {bar}", page.screen.style.symbols().reaches)
            }
            Some(points) => format!("{points} < {bar}"),
            None => format!("none yet, bar {bar}"),
        };
        let role = state.threshold_failed.map(|_| Role::Bad);
        page.line(role, &format!("mission score: {score}"));
    }
    if state.plan.gates.is_empty() {
        return;
    }
    page.line(None, &format!("gates: {}", gate_sums(state)));
    let failed: Vec<GateId> = failed_gates(state).collect();
    let row = |id: &GateId| {
        let name = sanitize(&state.plan.gate(*id).name).into_owned();
        let reason = gate_view(state, *id).reason.unwrap_or_default();
        format!("{name}: {}", sanitize(&reason))
    };
    let rows = failed.iter().take(ROWS).map(row).collect();
    page.list("failed gates:", Role::Bad, rows, failed.len());
}

fn failed_gates(state: &State) -> impl Iterator<Item = GateId> + '_ {
    let gates = state.plan.gate_ids();
    gates.filter(|id| gate_view(state, *id).standing == GateStanding::Failed)
}

/// `2 passed, 1 failed`; empty where there are no gates.
pub(super) fn gate_sums(state: &State) -> String {
    let gates = state.plan.gate_ids();
    let states: Vec<GateStanding> = gates.map(|id| gate_view(state, id).standing).collect();
    let kinds = [
        (GateStanding::Passed, "passed"),
        (GateStanding::Failed, "failed"),
        (GateStanding::Overridden, "overridden"),
        (GateStanding::Waiting, "waiting"),
        (GateStanding::NotTaken, "not taken"),
    ];
    let sums = kinds.map(|(wanted, words)| {
        let number = states.iter().filter(|state| **state == wanted).count();
        (number > 0).then(|| format!("{number} {words}"))
    });
    let sums: Vec<_> = sums.into_iter().flatten().collect();
    sums.join(", ")
}

/// Only where scores are: the worst come first.
fn scores(page: &mut Page<'_>, state: &State) {
    let mut scored: Vec<(Points, TaskId)> = state
        .plan
        .task_ids()
        .filter(|id| !state.task(*id).is_superseded())
        .filter_map(|id| Some((state.task(id).attempt.points?, id)))
        .collect();
    scored.sort_unstable();
    let rows: Vec<(String, TaskId)> = scored
        .iter()
        .take(ROWS)
        .map(|(points, id)| {
            let symbols = page.screen.style.symbols();
            (against_bar(*points, state.plan.bar(*id), symbols), *id)
        })
        .collect();
    let widest = rows.iter().map(|(score, _)| width(score)).max().unwrap_or(0);
    let row = |(score, id): (String, TaskId)| {
        let gap = " ".repeat(widest - width(&score));
        format!("{score}{gap}  {}", sanitize(&state.plan.task(id).title))
    };
    let rows = rows.into_iter().map(row).collect();
    page.list("scores, worst first:", Role::Strong, rows, scored.len());
}

/// Causes first; what was skipped because of them is only counted.
fn failures(page: &mut Page<'_>, state: &State, view: &RunView) {
    let failed = || {
        state
            .plan
            .task_ids()
            .filter(|id| state.task(*id).status() == Status::Failed && !state.task(*id).is_superseded())
    };
    let causes: Vec<TaskId> = failed()
        .filter(|id| state.task(*id).mode() != Some(FailureMode::Cascade))
        .collect();
    let row = |id: &TaskId| {
        let title = sanitize(&state.plan.task(*id).title).into_owned();
        let failure = view.task(*id).failure.as_deref();
        let how = failure.map(failure_words).unwrap_or_default();
        let found = findings::top_lines(state, view, *id);
        let found = found.iter().map(|line| format!("\n{INDENT}{line}"));
        format!("{title}: {how}{}", found.collect::<String>())
    };
    let rows = causes.iter().take(ROWS).map(row).collect();
    page.list("failed:", Role::Bad, rows, causes.len());
    let skipped = skipped(state);
    if skipped > 0 {
        let text = format!("skipped because a dependency failed: {skipped}");
        page.line(Some(Role::Bad), &text);
    }
}

/// What accepted work carries: how many findings, and each that is critical or high.
fn accepted_findings(page: &mut Page<'_>, state: &State, view: &RunView) {
    let accepted = findings::Accepted::of(state, view);
    let words = accepted.counts.words();
    if words.is_empty() {
        return;
    }
    let rows = accepted.severe.iter().map(|(id, found)| {
        let title = sanitize(&state.plan.task(*id).title);
        format!("{title}: {}", findings::line(state, found))
    });
    let rows: Vec<String> = rows.take(ROWS).collect();
    let role = (!rows.is_empty()).then_some(Role::Warn);
    page.line(role, &format!("findings in accepted work: {words}"));
    let total = accepted.severe.len();
    page.rows(rows, total);
}

fn waiting(page: &mut Page<'_>, state: &State, view: &RunView) {
    let rows = approvals(state, view, ROWS);
    page.list(
        "waiting for a decision:",
        Role::Warn,
        rows,
        state.sums.counts.awaiting as usize + state.checkpoints_that_wait().count(),
    );
    let rows = windows(state).map(|window| window.line());
    let rows: Vec<String> = rows.collect();
    let total = rows.len();
    page.list("waiting for a limit to reset:", Role::Warn, rows, total);
    if let Some(words) = resumable_at(state, view.finished_at.unwrap_or_default()) {
        page.line(Some(Role::Warn), &words);
    }
}

/// `resumable at 01:57`, where the run ended because a limit of a subscription resets too late for it.
pub(super) fn resumable_at(state: &State, from: Timestamp) -> Option<String> {
    let at = state.resumable_at()?;
    Some(format!("resumable at {}", time_of_day(at, from)))
}

/// `<id>  <title>: <reason>: <message>` of the first tasks that wait.
pub(super) fn approvals(state: &State, view: &RunView, limit: usize) -> Vec<String> {
    asked(state, view).map(|asked| asked.line()).take(limit).collect()
}

fn usage(page: &mut Page<'_>, state: &State) {
    let usage = state.ledger.spent();
    for sentence in budget::sentences(state) {
        page.line(Some(Role::Bad), &format!("limit: {sentence}"));
    }
    let mut text = format!("usage: {}", budget::requests_words(state));
    if usage.input_tokens.is_some() || usage.output_tokens.is_some() {
        let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
        let (read, written) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
        let _ = write!(text, ", tokens {read} in, {written} out");
        if let Some(most) = state.plan.rules.budget.max_tokens {
            let _ = write!(text, " of {most}");
        }
    }
    text.push_str(&budget::cost_words(state));
    // A sum over some of the calls must not pass for the whole.
    if usage.untold > 0 && (usage.cost.is_some() || usage.input_tokens.or(usage.output_tokens).is_some()) {
        let calls = count(usize::try_from(usage.untold).unwrap_or(usize::MAX), "request");
        let _ = write!(text, "; {calls} reported no usage");
    }
    page.line(Some(Role::Dim), &text);
}

fn exit(page: &mut Page<'_>, outcome: &Outcome) {
    let ok = outcome.class == OutcomeClass::Ok;
    let role = if ok { Role::Good } else { Role::Bad };
    // Not cut: it is what the block is for.
    let _ = writeln!(
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
        let _ = write!(text, ", also {}", names(&others));
    }
    let allowed: Vec<_> = outcome.allowed.iter().collect();
    if !allowed.is_empty() {
        let _ = write!(text, "; allowed: {}", names(&allowed));
    }
    text
}

/// `timeout: killed after 30m`
pub(super) fn failure_words(failure: &FailureView) -> String {
    format!("{}: {}", failure.mode.as_str(), sanitize(&failure.message))
}

/// What can be typed now, in the order in which a person would: look at what failed, decide what waits, open what is
/// shut, go on.
pub(super) fn next_commands(
    state: &State,
    view: &RunView,
    outcome: Option<&Outcome>,
    run: &RunId,
) -> Vec<String> {
    let mut commands = Vec::new();
    let has_failed = |id: &TaskId| {
        let task = state.task(*id);
        let by_itself = !matches!(task.mode(), Some(FailureMode::Cascade | FailureMode::Cancelled));
        task.status() == Status::Failed && by_itself && !task.is_superseded()
    };
    let broken = state.plan.task_ids().find(has_failed);
    if let Some(task) = broken {
        let title = shell_word(&state.plan.task(task).title);
        commands.push(format!("quorum show {title} --run {run}"));
    }
    // Where judges were missing they are asked again before a person is.
    let waits = |again: bool| {
        let for_judges = |asked: &Asked<'_>| {
            asked
                .task
                .is_some_and(|task| state.task(task).attempt.has(Mark::Indeterminate))
        };
        let first = asked(state, view).find(|asked| for_judges(asked) == again)?;
        Some(if first.reason == WaitingReason::Question.as_str() {
            format!("quorum answer {} 'ANSWER'", first.id)
        } else {
            format!("quorum approve {}", first.id)
        })
    };
    let asked = waits(false);
    let judges_first = asked.is_none();
    commands.extend(asked);
    let shut = failed_gates(state).next();
    let was_stopped = outcome.is_some_and(|outcome| outcome.class.is_stop());
    if broken.is_some() && !was_stopped {
        commands.push(format!("quorum resume {run} --retry-failed"));
    } else if let Some(worst) = shut
        .and_then(|gate| worst_before(state, gate))
        .filter(|_| !was_stopped)
    {
        // A gate that failed stays so as long as the work before it is what it was.
        let title = shell_word(&state.plan.task(worst).title);
        commands.push(format!("quorum resume {run} --redo {title}"));
    } else if state.is_unfinished() {
        commands.push(format!("quorum resume {run}"));
    }
    commands.extend(waits(true).filter(|_| judges_first));
    // Never before what would mend it.
    if let Some(gate) = shut {
        let name = shell_word(&state.plan.gate(gate).name);
        commands.push(format!("quorum gate {name} --override --reason REASON"));
    }
    if view.undelivered > 0 {
        commands.push("quorum dlq list".to_owned());
    }
    commands.push(format!("quorum status {run}"));
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

fn next(page: &mut Page<'_>, commands: &[String]) {
    for (index, command) in commands.iter().enumerate() {
        let label = if index == 0 { "next:" } else { "" };
        // Not cut: a command that is cut is a wrong command.
        let _ = writeln!(page.text, "{label:<5} {command}");
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
