//! What a worker is told: the task, what earlier tasks said, and what its last attempt was sent back with.
//!
//! The task's own description is never rewritten in state; a prompt is composed from parts each time (semantics,
//! section 4). Everything that another agent wrote is fenced as data.

use std::collections::BTreeMap;
use std::path::Path;

use rules::domain::{AttemptKind, Cause, Digest, Edge, Finding, QualityFlag, Stage, Status, TaskId, TurnId};
use rules::engine::{Fact, Feedback, OutputRefs, Prompt, ProtectedFiles, TaskState, Way};
use rust_decimal::Decimal;

use crate::executor::error::WorkError;
use crate::executor::spool;
use crate::review::fence::{TextExcerpt, fence, fence_excerpt};
use crate::store::SpoolName;
use rules::judging::tests_changed;
use rules::mission::model::Check;
use rules::plan::{Plan, Requirement, Route, StageJudge};

use super::context::WorkContext;
use super::middleware;

/// The output of each turn, or why it cannot be shown.
pub type UpstreamOutputs = BTreeMap<TurnId, Result<TextExcerpt, String>>;

/// How much of one dependency's output a dependent is shown, in characters.
pub const UPSTREAM_CHARS: usize = 4_000;
/// How many dependencies are quoted; the others are only named.
const UPSTREAM_QUOTED: usize = 10;
/// How much of one question is shown, in characters.
const QUESTION_CHARS: usize = 8_000;
/// How much of one finding's evidence is shown, in characters.
const EVIDENCE_CHARS: usize = 2_000;

/// How much is told to an agent for whose model a prompt was too long, in characters.
const SHORT_CHARS: usize = 16_000;
/// How many files that judge are named.
const MOST_JUDGING: usize = 30;

/// The things that a prompt is made from. It is made on the loop, which needs it for the record that begins its turn, and so borrows
/// what it reads.
pub struct PromptOrder<'s> {
    pub plan: &'s Plan,
    pub id: TaskId,
    pub task: &'s TaskState,
    /// Whether the turn goes on in a session that knows all that was said so far.
    pub goes_on: bool,
    /// The files that judge work, as they are on record.
    pub judging: Option<&'s ProtectedFiles>,
    /// What the task builds on, in order: each of its dependencies, or the fixup whose work stands for that.
    pub upstream: Vec<(TaskId, &'s TaskState)>,
    /// The verifications that may have its work done again.
    pub returned_by: Vec<(TaskId, &'s TaskState)>,
}

impl PromptOrder<'_> {
    /// The turns whose outputs the task is shown, each with what vouches for it.
    pub fn quoted(&self) -> Vec<(TurnId, OutputRefs)> {
        if self.task.course.streak.too_long {
            return Vec::new();
        }
        let shown = self.upstream.iter().take(UPSTREAM_QUOTED);
        let tasks = shown.filter(|(id, task)| self.plan.route(*id).is_none() && !task.not_taken);
        tasks.map(|(id, task)| (task.turn(*id), task.output.clone())).collect()
    }

    /// The part of a prompt for an agent that may have acted already and that a person lets act again.
    fn acted(&self) -> &'static str {
        if self.plan.task(self.id).side_effects && self.task.consent.acted { DO_NOT_REPEAT } else { "" }
    }
}

/// Composes and writes the prompt of a turn. Not synced: after a power loss the turn is lost with it and starts with a new one.
/// Blocks.
///
/// # Errors
/// When it cannot be written.
pub fn write(
    context: &WorkContext,
    turn: TurnId,
    order: &PromptOrder<'_>,
    said: &UpstreamOutputs,
) -> Result<Prompt, WorkError> {
    let mut warnings = Vec::new();
    let prompt = compose(order, said, &mut warnings);
    for warning in warnings {
        context.post(Fact::Warn(warning));
    }
    let (prompt, cues) = middleware::before(order.plan, turn.task, prompt);
    let path = context.folder.spool_file(&SpoolName::Prompt(turn));
    spool::write(&path, prompt.as_bytes())?;
    Ok(Prompt { turn, digest: Some(Digest::of(prompt.as_bytes())), cues })
}

/// The prompt of a task's next turn. `said` is what the turns of [`PromptOrder::quoted`] said; those that cannot be shown are
/// warned about.
fn compose(of: &PromptOrder<'_>, said: &UpstreamOutputs, warnings: &mut Vec<String>) -> String {
    if of.task.course.streak.too_long {
        return short(of);
    }
    if of.goes_on {
        return going_on(of);
    }
    let mut prompt = of_task(of);
    criteria(&mut prompt, of.plan, of.id);
    upstream(&mut prompt, of, said, warnings);
    without(&mut prompt, of);
    fixup_part(&mut prompt, of);
    feedback(&mut prompt, of);
    sent_back(&mut prompt, of);
    prompt.push_str(of.acted());
    missing(&mut prompt, of);
    answers(&mut prompt, of);
    prompt
}

/// The new part of a prompt, for a session that knows the task and all that was said so far.
fn going_on(of: &PromptOrder<'_>) -> String {
    let mut prompt = format!("# Task: {}, once more\n", of.plan.title(of.id));
    // Nobody knows whether a turn that was lost was told: whoever is told twice corrects it once.
    let is_fix = of.task.attempt.kind == AttemptKind::Fix;
    match of.task.feedback.last().filter(|_| is_fix) {
        Some(last) => {
            correct(&mut prompt, last.stage);
            describe(&mut prompt, of.plan, last);
        }
        None => prompt.push_str("\nGo on where you left off.\n"),
    }
    sent_back(&mut prompt, of);
    prompt.push_str(of.acted());
    missing(&mut prompt, of);
    answers(&mut prompt, of);
    prompt
}

/// The prompt where the whole was too long (section 13): the task with its criteria and the newest findings,
/// and no words of others.
fn short(of: &PromptOrder<'_>) -> String {
    let mut rest = String::new();
    criteria(&mut rest, of.plan, of.id);
    // Why the prompt was too long is nothing that the agent could correct.
    let mut judged = of.task.feedback.iter().rev();
    if let Some(last) = judged.find(|feedback| feedback.stage != Stage::Outcome) {
        rest.push_str("\n## What was found last\n");
        describe(&mut rest, of.plan, last);
    }
    rest.push_str(of.acted());
    missing(&mut rest, of);
    let cut = "\n(cut: the whole was too long)\n";
    let rest = shortened(&rest, SHORT_CHARS / 2, cut);
    let room = SHORT_CHARS - rest.chars().count();
    format!("{}{rest}", shortened(&of_task(of), room, cut))
}

/// The beginning of a text, which says that it is cut where it is.
fn shortened(text: &str, most: usize, cut: &str) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept = most.saturating_sub(cut.chars().count());
    text.chars().take(kept).chain(cut.chars()).collect()
}

/// The part of a prompt with the task itself.
fn of_task(of: &PromptOrder<'_>) -> String {
    let plan = of.plan.task(of.id);
    let mut prompt = format!("# Task: {}\n", plan.title);
    if let Some(description) = &plan.description {
        append!(prompt, "\n{}\n", description.trim());
    }
    if !plan.target_files.is_empty() {
        let files: Vec<&str> = plan.target_files.iter().map(AsRef::as_ref).collect();
        append!(prompt, "\nFiles that must exist and have content when you are done: {}\n", files.join(", "));
    }
    let protected = of.plan.rules.protect.iter().chain(plan.protect.iter());
    let protected: Vec<&str> = protected.map(AsRef::as_ref).collect();
    if !protected.is_empty() {
        append!(
            prompt,
            "\nProtected files, which you must not change, add to or remove: {}\n",
            protected.join(", ")
        );
    }
    let is_own = |path: &&str| plan.target_files.iter().any(|own| Path::new(path).ends_with(&**own));
    let judging = of.judging.iter().flat_map(|known| &known.files);
    let judging = judging.map(|(path, _)| path.as_str());
    let hidden = of.plan.rules.hidden.iter().flat_map(|hidden| &hidden.files);
    let is_hidden = |path: &&str| hidden.clone().any(|file| file.ends_with(path));
    let judging = judging.filter(|path| !is_own(path) && !is_hidden(path));
    let judging: Vec<&str> = judging.take(MOST_JUDGING).collect();
    if !judging.is_empty() {
        append!(
            prompt,
            "\nFiles that judge work, which you must not change either: {}\n",
            judging.join(", ")
        );
    }
    prompt
}

/// The criteria that the work will be judged by (semantics, section 6.0), in the words of the mission: nothing
/// that a judge alone is to know, such as the examples of a rubric.
fn criteria(prompt: &mut String, plan: &Plan, id: TaskId) {
    let task = plan.task(id);
    if !plan.rules.settings.tell_criteria {
        return;
    }
    let mut told = String::new();
    list(&mut told, "It is accepted by", task.acceptance.iter().map(|criterion| criterion.to_string()));
    list(
        &mut told,
        "These checks must pass",
        task.checks().iter().filter(|check| !check.is_hidden()).map(check_words),
    );
    let finish = task.finish().map_or(&[][..], |finish| &finish.commands);
    let finish = finish.iter().map(|command| match &command.shows {
        Requirement::Test(test) => format!("the test {test} passes"),
        Requirement::Compilation | Requirement::Command => exits_0(&command.command),
    });
    list(&mut told, "Before you are finished, these must hold", finish);
    if tests_changed::is_wanted(plan, id) && !task.may_change_tests {
        append!(
            told,
            "\nTests that are there already are run on your work as they are now, whatever you make of them; tests that you add are \
             run without it, and must fail there.\n"
        );
    }
    if let Some(panel) = task.panel() {
        if let Some(criteria) = &panel.criteria {
            append!(told, "\nReviewers judge it by this:\n\n{}\n", criteria.trim());
        }
        let dimensions = panel.dimensions.iter();
        let dimensions =
            dimensions.map(|dimension| described(&dimension.name, dimension.description.as_deref()));
        list(&mut told, "Reviewers score it on", dimensions);
    }
    let rubric = task.verification().and_then(|by| by.rubric.as_deref());
    let graded = rubric.into_iter().flat_map(|rubric| &rubric.criteria);
    let graded = graded.map(|criterion| described(&criterion.name, criterion.description.as_deref()));
    list(&mut told, "It is graded on", graded);
    let stages = task.own_stages().filter_map(|stage| match &stage.by {
        StageJudge::Agent { criteria, .. } => Some(described(&stage.name, Some(criteria.as_deref()?))),
        StageJudge::Command(command) => Some(format!("{}: {}", stage.name, exits_0(command))),
    });
    list(&mut told, "Then it passes these stages", stages);
    if !told.is_empty() {
        append!(prompt, "\n## How your work will be judged\n{told}");
    }
}

/// The condition of a check, in a line or a few.
fn check_words(check: &Check) -> String {
    match check {
        Check::Command { command, cwd, .. } => match cwd {
            Some(folder) => format!("in {folder}: {}", exits_0(command)),
            None => exits_0(command),
        },
        Check::FileExists { paths, min_bytes, contains, .. } => {
            let least =
                min_bytes.map_or_else(String::new, |bytes| format!(", each of {bytes} bytes or more"));
            let text =
                contains.as_ref().map_or_else(String::new, |text| format!(", each with the text `{text}`"));
            format!("these files exist: {}{least}{text}", paths.join(", "))
        }
        Check::Metric { name, command, min, max, .. } => {
            let bound = |word: &str, bound: &Option<Decimal>| {
                bound.as_ref().map_or_else(String::new, |number| format!(", {word} {number}"))
            };
            let (least, most) = (bound("at least", min), bound("at most", max));
            format!("{name}: the number that `{}` prints{least}{most}", command.trim())
        }
    }
}

fn exits_0(command: &str) -> String {
    match command.trim() {
        script if script.contains('\n') => {
            let lines: String = script.lines().map(|line| format!("\n      {line}")).collect();
            format!("this script exits 0:\n{lines}\n")
        }
        command => format!("`{command}` exits 0"),
    }
}

fn list(text: &mut String, title: &str, items: impl Iterator<Item = String>) {
    let mut items = items.peekable();
    if items.peek().is_some() {
        append!(text, "\n{title}:\n\n");
        for item in items {
            append_line!(text, "- {item}");
        }
    }
}

fn described(name: &str, description: Option<&str>) -> String {
    match description.map(str::trim) {
        Some(description) if !description.is_empty() => format!("{name}: {description}"),
        _ => name.to_owned(),
    }
}

/// The part of a prompt for an agent that may have acted already and that a person lets act again.
const DO_NOT_REPEAT: &str = "
## Do not repeat what has already happened

This task acts on the world outside of its workspace, and an earlier turn of it may have done so already: messages may have been sent, things deployed, bought or deleted. Find out first what is already done. Do not repeat external actions that have happened; do only what is missing.
";
/// The part of a prompt that says that the task is there to mend another.
fn fixup_part(prompt: &mut String, of: &PromptOrder<'_>) {
    if let Some(failed) = of.plan.mended_by(of.id) {
        let title = of.plan.title(failed);
        append!(
            prompt,
            "\n## What this task is for\n\nThe task '{title}' was given up: its work was not good enough. You do it anew, \
             and what was found about it is part of your task. Its files may still be there.\n"
        );
    }
}

/// The part of a prompt about work that the task has to do without.
fn without(prompt: &mut String, of: &PromptOrder<'_>) {
    let remedies = of.task.remedies.as_deref();
    let missing = remedies.map_or(&[][..], |remedies| &remedies.without);
    if missing.is_empty() {
        return;
    }
    prompt.push_str("\n## What is missing\n");
    for without in missing {
        let title = of.plan.title(without.dependency);
        match without.way {
            Way::Artifacts => append_line!(
                prompt,
                "\nThe task '{title}' failed. Of its files these are there, perhaps unfinished: {}.",
                without.note
            ),
            Way::Partial => append_line!(
                prompt,
                "\nThe task '{title}' failed: its result is missing. Work with the others."
            ),
            Way::Absorb | Way::Retry => append_line!(
                prompt,
                "\nThe task '{title}' failed. Do without it, as the coordinator says: {}",
                without.note
            ),
        }
    }
}

/// The sentence for an agent whose call a person allowed.
const MAKE_IT: &str = "a person allows this call, once: make it now, exactly as it was";
/// The sentence for the turns after that one.
const MADE: &str =
    "a person allowed this call, once, in an earlier turn, and it may have been made then: do not repeat it";

/// The part of a prompt with the agent's questions and their answers.
fn answers(prompt: &mut String, of: &PromptOrder<'_>) {
    let Some(dialog) = of.task.dialog.as_deref() else {
        return;
    };
    let last = dialog.exchanges.len().saturating_sub(1);
    for (index, exchange) in dialog.exchanges.iter().enumerate() {
        if index == 0 {
            prompt.push_str("\n## Your questions\n\nYou asked about this task. Go on with the answers.\n");
        }
        prompt.push_str(&fence("what you asked", &exchange.question, QUESTION_CHARS));
        let answer = if !exchange.is_call {
            exchange.answer.trim()
        } else if index == last && dialog.allowed.is_some() {
            MAKE_IT
        } else {
            MADE
        };
        append_line!(prompt, "Answer: {answer}");
    }
}

fn upstream(prompt: &mut String, of: &PromptOrder<'_>, said: &UpstreamOutputs, warnings: &mut Vec<String>) {
    if of.upstream.is_empty() {
        return;
    }
    prompt.push_str("\n## Results of earlier tasks\n");
    for (index, (dependency, done)) in of.upstream.iter().enumerate() {
        if let Some(route) = of.plan.route(*dependency) {
            verdict_of(prompt, of.plan, (*dependency, done), route);
            continue;
        }
        append!(prompt, "\n### {}\n", of.plan.title(*dependency));
        if done.flag() == Some(QualityFlag::BelowThreshold) {
            let points = done.attempt.points;
            let score = points.map_or_else(|| "score unknown".to_owned(), |points| format!("score {points}"));
            append_line!(prompt, "[ACCEPTED BELOW QUALITY BAR, {score}]");
        }
        if done.flag() == Some(QualityFlag::Degraded) {
            prompt.push_str("[DEGRADED: ACCEPTED ON PARTIAL ARTIFACTS]\n");
        }
        if done.status() == Status::Failed {
            prompt.push_str("[FAILED: do not rely on it]\n");
        }
        if done.not_taken {
            prompt.push_str("[NOT DONE: the verdict of a verification led elsewhere]\n");
            continue;
        }
        if index >= UPSTREAM_QUOTED {
            prompt.push_str("(output left out: too many earlier tasks to quote them all)\n");
            continue;
        }
        let said = said.get(&done.turn(*dependency));
        match said.map_or(Err("it was not read"), |said| said.as_ref().map_err(String::as_str)) {
            Ok(text) if text.is_blank() => prompt.push_str("(no output)\n"),
            Ok(text) => prompt.push_str(&fence_excerpt("output of an earlier task", text, UPSTREAM_CHARS)),
            Err(error) => {
                append_line!(prompt, "(its output cannot be shown: {error})");
                let (title, needed) = (of.plan.title(of.id), of.plan.title(*dependency));
                warnings.push(format!("'{title}' is not shown what '{needed}' said: {error}"));
            }
        }
    }
}

/// The part of a prompt with the verdict of the verification that led to this task.
fn verdict_of(prompt: &mut String, plan: &Plan, (id, node): (TaskId, &TaskState), route: &Route) {
    append!(prompt, "\n### {} (a verification)\n", plan.title(id));
    let judged: Vec<&str> = plan.judged(id).map(|task| plan.title(task)).collect();
    let verdict = match node.edge() {
        Some(Edge::Pass) => "passed",
        Some(Edge::Fail) => "failed",
        Some(Edge::Refer) => "could not be decided about",
        None => "was not decided about yet",
    };
    let points = node.attempt.points;
    let score = points.map_or_else(String::new, |points| format!(", {points} of 100 points"));
    append_line!(prompt, "What it judged {verdict}{score}: {}.", judged.join(", "));
    if node.edge().is_some_and(|edge| edge == Edge::Fail && !route.fail_goes_back)
        && let Some(found) = node.feedback.last()
    {
        findings(prompt, plan, &found.findings);
    }
}

fn feedback(prompt: &mut String, of: &PromptOrder<'_>) {
    let Some((last, earlier)) = of.task.feedback.split_last() else {
        return;
    };
    match of.task.attempt.kind {
        AttemptKind::Fix => correct(prompt, last.stage),
        AttemptKind::Execute | AttemptKind::Retry => prompt.push_str(
            "\n## An earlier attempt failed\n\nStart afresh and avoid what went wrong. Files of the earlier attempt \
             may still be there.\n",
        ),
    }
    describe(prompt, of.plan, last);
    if !earlier.is_empty() {
        prompt.push_str("\n### Feedback on the attempts before\n");
        for feedback in earlier {
            describe(prompt, of.plan, feedback);
        }
    }
}

/// The part of a prompt that says that work is to be corrected after a verdict of this stage.
fn correct(prompt: &mut String, stage: Stage) {
    prompt.push_str(match stage {
        Stage::Audit => {
            "\n## What you delivered does not hold any more\n\nYour work was accepted. Since then something changed that it was \
             accepted for, most likely the work of another task. Restore exactly what does not hold. Where another task \
             names the same file, keep what that task needs: both must hold.\n"
        }
        _ => {
            "\n## Correct your work\n\nYour last attempt was reviewed and sent back. The files are as you left them. \
             Correct exactly what was found; keep what was good.\n"
        }
    });
}

/// The part of a prompt with the findings of verifications that had the work done again, the last of each.
fn sent_back(prompt: &mut String, of: &PromptOrder<'_>) {
    for (by, verification) in &of.returned_by {
        let Some(found) = verification.feedback.last() else {
            continue;
        };
        let title = of.plan.title(*by);
        append!(
            prompt,
            "\n## Sent back by the verification '{title}'\n\nThe work was judged together with what it is part of, and is \
             done again. Correct what was found; files of the earlier work are still there.\n"
        );
        describe(prompt, of.plan, found);
    }
}

/// A worker whose finish gate is not met goes on with the same attempt.
fn missing(prompt: &mut String, of: &PromptOrder<'_>) {
    let missing = &of.task.attempt.missing;
    if missing.is_empty() {
        return;
    }
    prompt.push_str(
        "\n## Not finished yet\n\nYou stopped, and the work is not finished. The files are as you left them. Go on \
         until all of this holds; your last answer replaces the one before, so give it in full.\n\n",
    );
    findings(prompt, of.plan, missing);
}

fn describe(prompt: &mut String, plan: &Plan, feedback: &Feedback) {
    let score = feedback.points.map_or_else(String::new, |points| format!(", {points} of 100 points"));
    let what = match feedback.cause {
        Some(Cause::Unparsed) => "no score could be read from the review".to_owned(),
        _ if feedback.stage == Stage::Audit => "it was accepted, and does not stand any more".to_owned(),
        _ => {
            let stage = feedback.name.as_deref().unwrap_or(feedback.stage.as_str());
            format!("failed at stage '{stage}'{score}")
        }
    };
    append!(prompt, "\nAttempt {}: {what}\n", feedback.attempt);
    for dimension in &feedback.dimensions {
        let score = dimension.points.score().round_dp(2).normalize();
        append_line!(prompt, "- {}: {score} of 5. {}", dimension.dimension, dimension.reasoning.trim());
    }
    findings(prompt, plan, &feedback.findings);
}

fn findings(prompt: &mut String, plan: &Plan, findings: &[Finding]) {
    // What failed before its check came to be hidden is on record with all that it said.
    let is_told = |finding: &&Finding| {
        let mut hidden = plan.hidden_checks().filter_map(|(_, check)| check.command());
        !hidden.any(|(command, _)| finding.description.contains(command))
    };
    for finding in findings.iter().filter(is_told) {
        append_line!(prompt, "- [{}] {}", finding.severity.as_str(), finding.description.trim());
        if let Some(evidence) = &finding.evidence {
            prompt.push_str(&fence("what the reviewer wrote", evidence, EVIDENCE_CHARS));
        }
        if let Some(fix) = &finding.suggested_fix {
            append_line!(prompt, "  Suggested: {}", fix.trim());
        }
    }
}
