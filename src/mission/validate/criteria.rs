//! The clarification gate (semantics, section 17): criteria that say nothing that could be judged, before any work starts.
//!
//! A mission that says nothing of it is warned about criteria that it writes and that say nothing. `clarification: warn` warns
//! about tasks without any, too; `enforce` refuses both. Work that an agent hands down while the mission runs has no criteria of
//! its own: whoever handed it down reviews it.

use unicode_width::UnicodeWidthStr;

use super::quoted;
use crate::mission::codes::Code;
use crate::mission::diagnostics::Severity;
use crate::mission::model::{
    Clarification, CoordinationChain, CoordinationMiddleware, Mission, Task, TaskType,
};
use crate::mission::problem::{Path, Place, Problem, Problems};

/// A criterion that takes fewer columns says too little.
const SHORT: usize = 10;
/// Words that say that work is finished, and not by what anybody could tell.
const GENERIC: [&str; 12] = [
    "done",
    "complete",
    "completed",
    "works",
    "work",
    "working",
    "finished",
    "finish",
    "ready",
    "good",
    "ok",
    "okay",
];
/// Words that add nothing to those.
const FILLERS: [&str; 24] = [
    "it",
    "is",
    "are",
    "the",
    "a",
    "an",
    "this",
    "that",
    "all",
    "everything",
    "task",
    "feature",
    "code",
    "should",
    "must",
    "be",
    "and",
    "fully",
    "properly",
    "correctly",
    "well",
    "fine",
    "has",
    "been",
];

/// What is refused: everything unclear, where the mission says so.
pub(super) fn enforce(mission: &Mission, problems: &mut Problems) {
    let chain = mission.settings.middleware.coordination.as_ref();
    let has_gate = |chain: &CoordinationChain| chain.has(CoordinationMiddleware::ClarificationGate);
    let is_on = chain.is_none_or(has_gate);
    match mission.settings.clarification {
        Some(_) if !is_on => {
            let place = Place::Value(Path::of("settings").key("clarification"));
            let message =
                "`clarification` does nothing: `middleware.coordination` leaves out clarification_gate";
            problems.push(
                Problem::error(Code::KeyDoesNotApply, place, message)
                    .help("add clarification_gate to `coordination`, or remove `clarification`"),
            );
        }
        Some(Clarification::Enforce) => look(mission, Severity::Error, true, problems),
        _ => {}
    }
}

/// What is warned about.
pub(super) fn warn(mission: &Mission, problems: &mut Problems) {
    let chain = mission
        .settings
        .middleware
        .coordination
        .clone()
        .unwrap_or_default();
    let is_on = chain.has(CoordinationMiddleware::ClarificationGate);
    match mission.settings.clarification {
        _ if !is_on => {}
        Some(Clarification::Enforce) => {}
        said => look(mission, Severity::Warning, said.is_some(), problems),
    }
}

fn look(mission: &Mission, severity: Severity, asks_for_some: bool, problems: &mut Problems) {
    for (index, task) in mission.tasks.iter().enumerate() {
        if asks_for_some && has_none(task) {
            let place = Place::Value(Path::of("tasks").item(index).key("title"));
            let message = format!(
                "the task {} has no criteria that its work is accepted by",
                quoted(&task.title)
            );
            problems.push(
                Problem::error(Code::UnclearCriteria, place, message)
                    .severity(severity)
                    .help("add `acceptance: [...]` with what can be told from the work, or `expectations`"),
            );
        }
        for (item, criterion) in task.acceptance.iter().enumerate() {
            let reasons = unclear(criterion);
            if reasons.is_empty() {
                continue;
            }
            let place = Place::Value(Path::of("tasks").item(index).key("acceptance").item(item));
            let message = format!("the criterion {} {}", quoted(criterion), reasons.join(", and "));
            problems.push(
                Problem::error(Code::UnclearCriteria, place, message)
                    .severity(severity)
                    .help("say what can be told from the work, for example \"the API answers 200 to a GET of /health\""),
            );
        }
    }
}

/// Whether nothing says when a task's work is good. A verification is about the work of others.
fn has_none(task: &Task) -> bool {
    task.kind != TaskType::Verification
        && task.acceptance.is_empty()
        && task.expectations.is_empty()
        && task.verification.is_none()
}

/// Why nobody could judge by a criterion. One that names a file, a command or a value in backticks is held against that.
fn unclear(criterion: &str) -> Vec<&'static str> {
    let text = criterion.trim();
    let mut reasons = Vec::new();
    if text.contains('`') {
        return reasons;
    }
    if text.width() < SHORT {
        reasons.push("is too short to say what is to be judged");
    }
    let words = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let known = |list: &[&str], word: &String| list.contains(&word.as_str());
    let is_generic = words.iter().any(|word| known(&GENERIC, word))
        && words
            .iter()
            .all(|word| known(&GENERIC, word) || known(&FILLERS, word));
    if is_generic {
        reasons.push("only says that the work is to be finished");
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::unclear;

    #[test]
    fn what_says_nothing_is_short_or_only_says_that_it_is_done() {
        for (criterion, reasons) in [
            ("short", 1),
            ("done", 2),
            ("  Done.  ", 2),
            ("It works", 2),
            ("The feature is complete", 1),
            ("Everything must be finished properly.", 1),
            ("", 1),
            ("All unit tests pass with 80% coverage", 0),
            ("API endpoint returns 200 OK", 0),
            ("Login works with SSO via Okta", 0),
            ("The feature is complete and documented", 0),
            ("Abandoned carts are deleted", 0),
            ("`a.txt`", 0),
            ("登录成功后返回令牌", 0),
        ] {
            assert_eq!(unclear(criterion).len(), reasons, "{criterion:?}");
        }
    }
}
