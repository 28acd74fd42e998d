//! A run in Markdown, the worst first, never longer than it may be: for `$GITHUB_STEP_SUMMARY`, merge requests, mails.

use rules::{domain::Points, mission::char_start};

use crate::report::{
    documents::{GateRow, RunDocument, TaskRow},
    folds::{
        findings,
        further_stages::{remarks, stage_words},
        rank::{Rank, reason},
    },
    screens::{
        summary::outcome_words,
        text::{elapsed, sanitize},
    },
};

/// Findings that are shown of one task.
const FINDINGS: usize = 5;

/// Decisions that are named above the table.
const NAMED: usize = 10;

/// Bytes kept for what stands below a list that had to be cut.
const RESERVE: usize = 512;

/// The page. `most` is how many bytes it may have.
pub fn markdown(run: &RunDocument<'_>, most: usize) -> String {
    let mut page = MarkdownPage {
        text: String::new(),
        most: most.saturating_sub(RESERVE),
    };
    page.push(&head(run));
    if run.unconfined.is_some() || !run.warnings.is_empty() {
        page.push("\n");
        if let Some(why) = run.unconfined {
            page.push(&format!("- unconfined: {}\n", escape(why)));
        }
        let line = |warning: &String| format!("- warning: {}\n", escape(warning));
        page.rows(run.warnings.iter().map(line), "warning");
    }
    if !run.gates.is_empty() {
        page.push("\n| gate | state | mean | why |\n|---|---|---|---|\n");
        page.rows(run.gates.iter().map(gate_row), "gate");
    }
    page.push("\n| task | result | score | bar | attempts | reason |\n|---|---|---|---|---|---|\n");
    page.rows(run.tasks.worst_first().map(|task| task_row(&task)), "task");
    let bad = run
        .tasks
        .worst_first()
        .take_while(|task| task.rank <= Rank::BelowBar);
    page.rows(bad.filter_map(|task| findings(&task)), "task with findings");
    let looked_at = run.tasks.looked_at_further();
    page.rows(looked_at.map(|task| further(&task)), "task with further stages");
    page.text.truncate(char_start(&page.text, most));
    page.text
}

struct MarkdownPage {
    text: String,
    most: usize,
}

impl MarkdownPage {
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
            append_line!(self.text, "\n{left_out} more: {noun}s that did not fit\n");
        }
    }
}

fn head(run: &RunDocument<'_>) -> String {
    let mut text = format!("## {}\n\n", escape(run.mission));
    let words = run.ended.map_or_else(|| run.not_ended(), outcome_words);
    append!(text, "**{}**", escape(&words));
    if let Some(id) = run.run_id {
        append!(text, " · run `{id}`");
    }
    if let Some(worked) = run.worked_for() {
        append!(text, " · {}", elapsed(worked));
    }
    if run.cancelled {
        text.push_str(" · cancelled");
    }
    text.push_str("\n\n");
    if let Some(words) = run.not_reviewed() {
        append_line!(text, "> **{}**\n", escape(&words));
    }
    let counts = &run.counts;
    if let Some(words) = counts.left_out() {
        append_line!(text, "> **{words}**\n");
    }
    append_line!(text, "- tasks: {}", counts.words());
    append_line!(text, "- accepted below the bar: {}", counts.below_bar());
    append_line!(text, "- unreviewed: {}", counts.unreviewed);
    if counts.unproven > 0 {
        append_line!(text, "- proved by nothing: {}", counts.unproven);
    }
    if counts.baseline_unknown > 0 {
        append_line!(text, "- baseline unknown: {}", counts.baseline_unknown);
    }
    let accepted = run.tasks.accepted();
    let words = accepted.counts.words();
    if !words.is_empty() {
        append_line!(text, "- findings in accepted work: {words}");
    }
    for (title, found) in &accepted.severe {
        append_line!(text, "  - {}: {}", escape(title), escape(&found.line()));
    }
    if counts.indeterminate > 0 {
        append_line!(text, "- without a trustworthy verdict: {}", counts.indeterminate);
    }
    for wait in run.asked().take(NAMED) {
        let (what, command) = (escape(&wait.line()), wait.command.as_deref().unwrap_or_default());
        append_line!(text, "- waits for a person: {what}; `{command}` answers");
    }
    let score = &run.mission_score;
    if let Some(bar) = score.bar {
        let points = score
            .points
            .map_or_else(|| "none yet".to_owned(), |points| points.to_string());
        let verdict = score.missed_with.map_or("", |_| ", missed");
        append_line!(text, "- mission score: {points}, bar {bar}{verdict}");
    }
    text
}

fn gate_row(gate: &GateRow<'_>) -> String {
    format!(
        "| {} | {} | {} | {} |\n",
        escape(gate.name),
        gate.state.as_str(),
        number(gate.average),
        escape(gate.reason.as_deref().unwrap_or_default()),
    )
}

fn number(points: Option<Points>) -> String {
    points.map_or_else(String::new, |points| points.to_string())
}

fn task_row(task: &TaskRow<'_>) -> String {
    format!(
        "| {} | {} {} | {} | {} | {} | {} |\n",
        escape(task.title),
        sign(task.rank),
        task.rank.words(),
        number(task.points),
        number(task.bar.map(|bar| bar.points)),
        task.attempts.len(),
        escape(&reason(task)),
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

/// The findings with which the last attempt was sent back.
fn findings(task: &TaskRow<'_>) -> Option<String> {
    let last = task.rejections.last()?;
    let found = findings::top_lines(task);
    if found.is_empty() && last.dimensions.is_empty() {
        return None;
    }
    let mut text = format!("\n<details><summary>{}</summary>\n\n", escape(task.title));
    for scored in &last.dimensions {
        append_line!(
            text,
            "- {}: {} of 100. {}",
            escape(&scored.dimension),
            scored.points,
            escape(&scored.reasoning)
        );
    }
    for line in found {
        match line.strip_prefix(findings::OUTPUT) {
            Some(output) => append_line!(text, "  <br>{}", escape(output)),
            None => append_line!(text, "- {}", escape(&line)),
        }
    }
    text.push_str("\n</details>\n");
    Some(text)
}

/// The verdicts of the stages behind the verification, with the findings of those that let the work pass.
fn further(task: &TaskRow<'_>) -> String {
    let title = escape(task.title);
    let mut text = format!("\n<details><summary>{title}: further stages</summary>\n\n");
    for report in task.scrutiny() {
        append_line!(text, "- {}", escape(&stage_words(report)));
    }
    for remark in remarks(task.scrutiny()).iter().take(FINDINGS) {
        append_line!(text, "- {}", escape(remark));
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
