//! A run in Markdown, the worst first, never longer than it may be: for `$GITHUB_STEP_SUMMARY`, merge requests, mails.

use std::fmt::Write as _;

use crate::domain::{GateId, Points, TaskId};
use crate::engine::{self, Outcome, StageReport, State, gate_view};

use super::findings;
use super::json::is_cancelled;
use super::rank::{Rank, reason, worst_first};
use super::stages::{remarks, stage_words};
use super::summary::{left_out, not_reviewed, outcome_words, task_counts};
use super::text::{elapsed, sanitize};
use super::view::RunView;

/// Findings that are shown of one task.
const FINDINGS: usize = 5;

/// Bytes kept for what stands below a list that had to be cut.
const RESERVE: usize = 512;

/// The page. `outcome` is what the last session ended with; `most` is how many bytes it may have.
#[must_use]
pub fn markdown(state: &State, view: &RunView, outcome: Option<&Outcome>, most: usize) -> String {
    let mut page = Page {
        text: String::new(),
        most: most.saturating_sub(RESERVE),
    };
    page.push(&head(state, view, outcome));
    if !view.warnings.is_empty() {
        page.push("\n");
        let line = |warning: &String| format!("- warning: {}\n", escape(warning));
        page.rows(view.warnings.iter().map(line), "warning");
    }
    let gates = gate_rows(state);
    if !gates.is_empty() {
        page.push("\n| gate | state | mean | why |\n|---|---|---|---|\n");
        page.rows(gates.into_iter(), "gate");
    }
    let tasks = worst_first(state, view);
    page.push("\n| task | result | score | bar | attempts | reason |\n|---|---|---|---|---|---|\n");
    page.rows(
        tasks.iter().map(|(rank, id)| task_row(state, view, *rank, *id)),
        "task",
    );
    let bad = tasks.iter().filter(|(rank, _)| *rank <= Rank::BelowBar);
    page.rows(
        bad.filter_map(|(_, id)| findings(state, view, *id)),
        "task with findings",
    );
    let looked_at = view.scrutiny.iter();
    page.rows(
        looked_at.map(|(id, reports)| further(state, *id, reports)),
        "task with further stages",
    );
    page.text.truncate(floor(&page.text, most));
    page.text
}

struct Page {
    text: String,
    most: usize,
}

impl Page {
    fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// As many as fit; the rest is counted.
    fn rows(&mut self, rows: impl Iterator<Item = String>, noun: &str) {
        let mut left_out = 0usize;
        for row in rows {
            if left_out > 0 || self.text.len() + row.len() > self.most {
                left_out += 1;
            } else {
                self.text.push_str(&row);
            }
        }
        if left_out > 0 {
            let _ = writeln!(self.text, "\n{left_out} more: {noun}s that did not fit\n");
        }
    }
}

/// The greatest length up to `most` that does not cut a character.
fn floor(text: &str, most: usize) -> usize {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}

fn head(state: &State, view: &RunView, outcome: Option<&Outcome>) -> String {
    let mut text = format!("## {}\n\n", escape(&state.plan.name));
    let words = outcome.map_or_else(|| "the run has not ended".to_owned(), outcome_words);
    let _ = write!(text, "**{}**", escape(&words));
    if let Some(run) = &view.run_id {
        let _ = write!(text, " · run `{run}`");
    }
    if let Some(worked) = view.worked_for() {
        let _ = write!(text, " · {}", elapsed(worked));
    }
    if is_cancelled(state) {
        text.push_str(" · cancelled");
    }
    text.push_str("\n\n");
    if let Some(words) = not_reviewed(state) {
        let _ = writeln!(text, "> **{}**\n", escape(&words));
    }
    if let Some(words) = left_out(state) {
        let _ = writeln!(text, "> **{words}**\n");
    }
    let counts = &state.sums.counts;
    let _ = writeln!(text, "- tasks: {}", task_counts(state));
    let below = counts.below_threshold + counts.degraded + counts.unverified;
    let _ = writeln!(text, "- accepted below the bar: {below}");
    let _ = writeln!(text, "- unreviewed: {}", counts.unreviewed);
    let accepted = findings::Accepted::of(state, view);
    let words = accepted.counts.words();
    if !words.is_empty() {
        let _ = writeln!(text, "- findings in accepted work: {words}");
    }
    for (id, found) in &accepted.severe {
        let (title, line) = (&state.plan.task(*id).title, findings::line(state, found));
        let _ = writeln!(text, "  - {}: {}", escape(title), escape(&line));
    }
    if counts.indeterminate > 0 {
        let _ = writeln!(text, "- without a trustworthy verdict: {}", counts.indeterminate);
    }
    if let Some(bar) = state.plan.rules.quality_threshold {
        let score =
            engine::mission_score(state).map_or_else(|| "none yet".to_owned(), |points| points.to_string());
        let verdict = if state.threshold_failed.is_some() {
            ", missed"
        } else {
            ""
        };
        let _ = writeln!(text, "- mission score: {score}, bar {bar}{verdict}");
    }
    text
}

fn gate_rows(state: &State) -> Vec<String> {
    let row = |id: GateId| {
        let gate = gate_view(state, id);
        format!(
            "| {} | {} | {} | {} |\n",
            escape(&state.plan.gate(id).name),
            gate.standing.as_str(),
            number(gate.avg),
            escape(gate.reason.as_deref().unwrap_or_default()),
        )
    };
    state.plan.gate_ids().map(row).collect()
}

fn number(points: Option<Points>) -> String {
    points.map_or_else(String::new, |points| points.to_string())
}

fn task_row(state: &State, view: &RunView, rank: Rank, id: TaskId) -> String {
    format!(
        "| {} | {} {} | {} | {} | {} | {} |\n",
        escape(&state.plan.task(id).title),
        sign(rank),
        rank.words(),
        number(state.task(id).attempt.points),
        number(state.plan.bar(id).map(|bar| bar.points)),
        view.task(id).attempts.len(),
        escape(&reason(state, view, rank, id)),
    )
}

/// A sign for a rank, so that the words are found at a glance.
fn sign(rank: Rank) -> &'static str {
    match rank {
        Rank::Failed | Rank::Cascaded => "❌",
        Rank::Indeterminate => "❓",
        Rank::BelowBar => "⚠️",
        Rank::Waiting => "⏸",
        Rank::Open => "⏹",
        Rank::Unreviewed | Rank::Superseded | Rank::NotTaken | Rank::NotSelected => "➖",
        Rank::Reworked | Rank::Done => "✅",
    }
}

/// What the last attempt was sent back with.
fn findings(state: &State, view: &RunView, id: TaskId) -> Option<String> {
    let last = view.task(id).rejections().last()?;
    let found = findings::top_lines(state, view, id);
    if found.is_empty() && last.dimensions.is_empty() {
        return None;
    }
    let mut text = format!(
        "\n<details><summary>{}</summary>\n\n",
        escape(&state.plan.task(id).title)
    );
    for scored in &last.dimensions {
        let _ = writeln!(
            text,
            "- {}: {} of 100. {}",
            escape(&scored.dimension),
            scored.points,
            escape(&scored.reasoning)
        );
    }
    for line in found {
        let _ = match line.strip_prefix(findings::OUTPUT) {
            Some(output) => writeln!(text, "  <br>{}", escape(output)),
            None => writeln!(text, "- {}", escape(&line)),
        };
    }
    text.push_str("\n</details>\n");
    Some(text)
}

/// What further stages said of a task, with what they found in work that they let pass.
fn further(state: &State, id: TaskId, reports: &[StageReport]) -> String {
    let title = escape(&state.plan.task(id).title);
    let mut text = format!("\n<details><summary>{title}: further stages</summary>\n\n");
    for report in reports {
        let _ = writeln!(text, "- {}", escape(&stage_words(report)));
    }
    for remark in remarks(reports).iter().take(FINDINGS) {
        let _ = writeln!(text, "- {}", escape(remark));
    }
    text.push_str("\n</details>\n");
    text
}

/// Anybody's text on one line, so that Markdown, HTML and tables take it for text.
fn escape(text: &str) -> String {
    let mut safe = String::new();
    for c in sanitize(text).chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            // Somebody else's name must not be called by what an agent wrote.
            '@' => safe.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe
}
