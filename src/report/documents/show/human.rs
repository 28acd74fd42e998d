//! One task for people: what it is, then attempt by attempt what was done and said.

use super::{CallRow, CheckRow, FileView, FullAttempt, ScoreRow, StageRow, TaskDocument, ToolsRow, TurnRow};
use crate::domain::{Finding, Millis, Points, Severity, Stage};
use crate::report::documents::{AttemptRow, TaskRow};
use crate::report::style::{Role, Screen};
use crate::report::text::{number, sanitize, sanitize_line};

/// Lines of a file that are shown; the path beside them leads to the rest.
const PREVIEW_LINES: usize = 12;

/// Lines of the description that the short page shows.
const SHORT_LINES: usize = 3;

/// What stands below a short page.
const MORE: &str = "\n--full adds prompts, replies, tools, and what earlier attempts were sent back with\n";

/// The page, with a line feed at its end: `full`, or what was decided about the task, why, and what its agent said last.
pub fn human(document: &TaskDocument<'_>, full: bool, screen: &Screen) -> String {
    let mut text = String::new();
    let task = &document.task;
    let head = format!("task: {}", sanitize(task.title));
    append_line!(text, "{}", screen.style.paint(Role::Strong, head));
    let run = document.run_id.map_or("", |run| run.as_str());
    let flag = task
        .quality_flag
        .map_or_else(String::new, |flag| format!(", {}", flag.as_str()));
    let person = document.accepted_by;
    let person = person.map_or_else(String::new, |name| format!(", accepted by {}", sanitize(name)));
    append_line!(
        text,
        "run {run}: {}; agent {}: {}{flag}{person}{}",
        sanitize(document.mission),
        sanitize(task.agent),
        task.status,
        score_words(
            task.points.map(Points::to_f64),
            task.bar.map(|bar| bar.points.to_f64())
        )
    );
    if let Some(description) = document.description {
        let most = if full { usize::MAX } else { SHORT_LINES };
        block(&mut text, "  ", description, most);
    }
    names(&mut text, "depends on", &task.depends_on);
    names(&mut text, "held by", &task.blocked_by);
    let files: Vec<&str> = document.target_files.iter().map(AsRef::as_ref).collect();
    names(&mut text, "must produce", &files);
    let checks: Vec<&str> = document.checks.iter().map(String::as_str).collect();
    names(&mut text, "checks", &checks);
    proof_and_place(&mut text, task);
    if let Some(criteria) = document.criteria.filter(|_| full) {
        append_line!(text, "criteria: {}", sanitize(criteria));
    }
    if let Some(waiting) = &task.waiting {
        let message = document.waits_for.unwrap_or_default();
        let id = waiting.id.as_deref().map(|id| format!(" ({id})"));
        let line = format!(
            "waits for {}{}: {}",
            waiting.reason,
            id.unwrap_or_default(),
            sanitize(message)
        );
        append_line!(text, "{}", screen.style.paint(Role::Warn, line));
    }
    if document.agent_at_work {
        let line = "its agent is still at work, though no session is; `quorum resume` takes it over";
        append_line!(text, "{}", screen.style.paint(Role::Warn, line));
    }
    if let Some(failure) = &task.failure {
        let line = format!("failed: {}", failure.words());
        append_line!(text, "{}", screen.style.paint(Role::Bad, line));
    }
    of_the_run(&mut text, document, screen);
    let last = document.attempts.last().map(|attempt| attempt.attempt.n);
    for attempt in &document.attempts {
        attempt_head(&mut text, &attempt.attempt, screen);
        if full {
            attempt_lines(&mut text, attempt);
        } else if last == Some(attempt.attempt.n) {
            short_lines(&mut text, attempt);
        }
    }
    text.push_str(if full { "" } else { MORE });
    screen.wrap(&text)
}

/// What a task changed, and where it works, if that is a folder of its own.
/// What shows that the work was done, and where an isolated task has it.
fn proof_and_place(text: &mut String, task: &TaskRow<'_>) {
    if let Some(proof) = &task.proof {
        append_line!(text, "proof: {}", proof.words);
    }
    if let Some(diff) = &task.diff {
        append_line!(text, "{}", sanitize(&diff.words()));
        let named = diff.named();
        names(
            text,
            "files",
            &named.iter().map(String::as_str).collect::<Vec<_>>(),
        );
    }
    if let Some(folder) = &task.folder {
        append_line!(text, "works in {}", sanitize(folder));
    }
}

/// What else must be known of the run, whatever became of the task.
fn of_the_run(text: &mut String, document: &TaskDocument<'_>, screen: &Screen) {
    let unconfined = document
        .unconfined
        .map(|why| format!("unconfined: {}", sanitize(why)));
    let warnings = document.warnings.iter();
    let warnings = warnings.map(|warning| format!("warning about the run: {}", sanitize(warning)));
    for line in unconfined.into_iter().chain(warnings) {
        append_line!(text, "{}", screen.style.paint(Role::Warn, line));
    }
}

fn names(text: &mut String, label: &str, names: &[&str]) {
    if !names.is_empty() {
        let names: Vec<_> = names.iter().map(|name| sanitize(name)).collect();
        append_line!(text, "{label}: {}", names.join(", "));
    }
}

fn score_words(points: Option<f64>, bar: Option<f64>) -> String {
    match (points, bar) {
        (Some(points), Some(bar)) => format!(", {points} of 100, bar {bar}"),
        (Some(points), None) => format!(", {points} of 100"),
        (None, _) => String::new(),
    }
}

fn attempt_head(text: &mut String, attempt: &AttemptRow, screen: &Screen) {
    let mut head = format!("attempt {}, {}", attempt.n, attempt.kind.as_str());
    if let Some(verdict) = attempt.verdict {
        let cause = attempt.cause.map(|cause| format!(" ({})", cause.as_str()));
        let points = score_words(attempt.points.map(Points::to_f64), None);
        let (verdict, cause) = (verdict.as_str(), cause.unwrap_or_default());
        append!(head, ": {verdict}{cause}{points}");
    }
    append_line!(text, "\n{}", screen.style.paint(Role::Strong, head));
}

/// What decides about an attempt, and what its agent said last.
fn short_lines(text: &mut String, full: &FullAttempt<'_>) {
    check_lines(text, full.checks.iter().filter(|check| !check.passed));
    // What failed checks printed stands above.
    let stages = full.stages.iter();
    let stages = stages.filter(|stage| {
        let is_beside = full.checks.iter().all(|check| check.passed) && !stage.findings.is_empty();
        stage.stage != Stage::Checks.as_str() || full.checks.is_empty() || is_beside
    });
    stages.for_each(|stage| stage_lines(text, stage));
    if let Some(turn) = full.turns.last() {
        turn_line(text, turn);
        file_lines(text, "output", turn.output.as_ref());
        file_lines(
            text,
            "stderr",
            turn.stderr.as_ref().filter(|_| turn.failure.is_some()),
        );
    }
}

fn check_lines<'c>(text: &mut String, checks: impl Iterator<Item = &'c CheckRow<'c>>) {
    for check in checks {
        let verdict = if check.passed { "passed" } else { "failed" };
        let before = check
            .before
            .map(|before| format!(" ({} before the work)", before.as_str()));
        let before = before.unwrap_or_default();
        let hidden = if check.hidden { " (hidden)" } else { "" };
        append_line!(
            text,
            "  check {}{hidden}: {verdict}{before}",
            sanitize(&check.check)
        );
        if !check.passed {
            block(text, "    ", check.message, PREVIEW_LINES);
        }
    }
}

fn attempt_lines(text: &mut String, full: &FullAttempt<'_>) {
    for turn in &full.turns {
        turn_line(text, turn);
        file_lines(text, "prompt", turn.prompt.as_ref());
        file_lines(text, "output", turn.output.as_ref());
        file_lines(text, "stderr", turn.stderr.as_ref());
        file_lines(text, "result", turn.result.as_ref());
        tool_lines(text, turn.tools.as_ref());
    }
    check_lines(text, full.checks.iter());
    for look in &full.looks {
        let verdict = look
            .passed
            .map_or("unknown", |passed| if passed { "passed" } else { "failed" });
        append_line!(text, "  {} {}: {verdict}", look.kind, sanitize(&look.command));
    }
    full.reviews.iter().for_each(|call| call_lines(text, call));
    for handoff in &full.handoffs {
        let record = handoff.record.as_ref();
        let bytes = record.map_or_else(|| "gone".to_owned(), |file| format!("{} bytes", file.bytes));
        append_line!(
            text,
            "  handed over to {}: {bytes}, sha256 {}",
            sanitize(handoff.to),
            handoff.digest
        );
        if let Some(file) = record {
            append_line!(text, "    record: {}", file.shown.display());
        }
    }
    full.asks.iter().for_each(|call| call_lines(text, call));
    full.stages.iter().for_each(|stage| stage_lines(text, stage));
}

fn turn_line(text: &mut String, turn: &TurnRow<'_>) {
    let mut line = format!("  turn {}: {}", turn.n, turn.state);
    match (turn.exit_code, turn.signal) {
        (Some(code), _) => {
            append!(line, ", exit {code}");
        }
        (None, Some(signal)) => {
            append!(line, ", signal {signal}");
        }
        (None, None) => {}
    }
    if let Some(duration) = turn.duration_ms {
        append!(line, ", {}", crate::report::text::seconds(Millis(duration)));
    }
    if let (Some(failure), message) = (turn.failure, turn.message.unwrap_or_default()) {
        append!(line, ", {}: {}", failure.as_str(), sanitize(message));
    }
    append_line!(text, "{line}");
    for refused in turn.refused {
        append_line!(text, "    refused: {}", sanitize(refused));
    }
}

fn call_lines(text: &mut String, call: &CallRow<'_>) {
    let model = call
        .model
        .map_or_else(String::new, |model| format!(" ({})", sanitize(model)));
    let what = match call.purpose {
        None => "review",
        Some("decompose") => "probes",
        Some(_) => call.stage,
    };
    let name = call
        .name
        .map_or_else(String::new, |name| format!(" {}", sanitize(name)));
    let reviewer = sanitize(call.reviewer);
    let mut line = format!("  {what}{name} by {reviewer}{model}: {}", call.state);
    if call.strict {
        let why = call
            .why
            .map_or_else(String::new, |why| format!(" ({})", sanitize(why)));
        append!(line, ", asked again{why}");
    }
    if let Some(points) = call.points {
        append!(line, ", {points} of 100");
    }
    append_line!(text, "{line}");
    score_lines(text, &call.dimensions);
    if let Some(reasoning) = call.reasoning {
        block(text, "    ", reasoning, PREVIEW_LINES);
    }
    finding_lines(text, call.findings.iter());
    if let Some(reply) = &call.reply {
        append_line!(text, "    reply: {}", reply.shown.display());
    }
    tool_lines(text, call.tools.as_ref());
}

fn tool_lines(text: &mut String, tools: Option<&ToolsRow>) {
    let Some(tools) = tools else {
        return;
    };
    append_line!(
        text,
        "    tools: {} calls, {} of them refused or failed, {} requests",
        tools.calls,
        tools.failed,
        tools.requests
    );
    file_lines(text, "ledger", tools.ledger.as_ref());
}

fn stage_lines(text: &mut String, stage: &StageRow<'_>) {
    let cause = stage
        .cause
        .map_or_else(String::new, |cause| format!(" ({})", cause.as_str()));
    append_line!(
        text,
        "  {}{}: {}{cause}{}{}",
        stage.stage,
        stage
            .name
            .map_or_else(String::new, |name| format!(" {}", sanitize(name))),
        stage.verdict.as_str(),
        score_words(stage.points, None),
        stage
            .reason
            .map_or_else(String::new, |why| format!(": {}", sanitize(why))),
    );
    for row in &stage.criteria {
        let (criterion, evidence) = (sanitize(row.criterion), sanitize(row.evidence));
        append_line!(text, "    {} {criterion}: {evidence}", row.result);
    }
    if !stage.criteria.is_empty() {
        // They say what the findings say, and more; but not how the verdict came about.
        let remarks = stage
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Info);
        return finding_lines(text, remarks);
    }
    score_lines(text, &stage.dimensions);
    finding_lines(text, stage.findings.iter());
}

fn score_lines(text: &mut String, scores: &[ScoreRow<'_>]) {
    for scored in scores {
        append_line!(
            text,
            "    {} {} of 100: {}",
            sanitize(scored.dimension),
            number(scored.score * 20.0),
            sanitize(scored.reasoning)
        );
    }
}

/// Each finding once, whoever else found it too.
fn finding_lines<'f>(text: &mut String, findings: impl Iterator<Item = &'f Finding>) {
    let mut shown: Vec<(&str, Severity)> = Vec::new();
    for finding in findings {
        if shown.contains(&(&finding.description, finding.severity)) {
            continue;
        }
        shown.push((&finding.description, finding.severity));
        append_line!(
            text,
            "    [{}] {}",
            finding.severity.as_str(),
            sanitize(&finding.description)
        );
        if let Some(fix) = &finding.suggested_fix {
            append_line!(text, "      suggested: {}", sanitize(fix));
        }
    }
}

fn file_lines(text: &mut String, label: &str, file: Option<&FileView>) {
    let Some(file) = file else {
        return;
    };
    append_line!(
        text,
        "    {label}: {} ({} bytes)",
        file.shown.display(),
        file.bytes
    );
    let shown = block(text, "      | ", &file.preview, PREVIEW_LINES);
    if file.cut || !shown {
        append_line!(text, "      | (cut)");
    }
}

/// Text of several lines, made harmless line by line; `false` if lines were left out.
fn block(text: &mut String, indent: &str, content: &str, most: usize) -> bool {
    let mut lines = content.trim_end().lines();
    for line in lines.by_ref().take(most) {
        append_line!(text, "{indent}{}", sanitize_line(line));
    }
    lines.next().is_none()
}
