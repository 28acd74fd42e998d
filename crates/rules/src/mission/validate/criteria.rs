//! The clarification gate (semantics, section 17): criteria that say nothing that could be judged, before any work starts.
//!
//! Criteria that say nothing are warned about (`clarification: warn`, the default); `enforce` refuses them, and tasks without any.
//! Work that comes while the mission runs may have none; criteria that it has are held to the same where they are enforced.

use unicode_width::UnicodeWidthStr;

use super::quoted;
use crate::mission::{
    file::{
        codes::Code,
        diagnostics::DiagnosticSeverity,
        violation::{Path, Violation, Violations},
    },
    model::{Clarification, CoordinationChain, CoordinationMiddleware, Expectation, Mission, Task, TaskType},
};

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

/// Refuses tasks without criteria, and criteria that say nothing, where the settings ask for it.
pub fn enforce(mission: &Mission, problems: &mut Violations) {
    if mission.settings.clarification == Some(Clarification::Enforce) {
        for (index, task) in mission.tasks.iter().enumerate().filter(|(_, task)| has_none(task)) {
            problems.refuse(
                Code::UnclearCriteria,
                Path::of("tasks").item(index).key("title"),
                format!("the task {} has no criteria that its work is accepted by", quoted(&task.title)),
                "add `acceptance: [...]` with what can be told from the work, or `expectations`",
            );
        }
        look(mission, DiagnosticSeverity::Error, problems);
    }
}

/// Warns about criteria that say nothing, unless the chain leaves the gate out and nobody asks for it.
pub fn warn(mission: &Mission, problems: &mut Violations) {
    let settings = &mission.settings;
    let has_gate = |chain: &CoordinationChain| chain.has(CoordinationMiddleware::ClarificationGate);
    let is_on = match settings.clarification {
        Some(Clarification::Enforce) => false,
        Some(Clarification::Warn) => true,
        None => settings.middleware.coordination.as_ref().is_none_or(has_gate),
    };
    if is_on {
        look(mission, DiagnosticSeverity::Warning, problems);
    }
}

fn look(mission: &Mission, severity: DiagnosticSeverity, problems: &mut Violations) {
    for (index, task) in mission.tasks.iter().enumerate() {
        for (item, criterion) in task.acceptance.iter().enumerate() {
            let place = || Path::of("tasks").item(index).key("acceptance").item(item);
            criticise(criterion, severity, place, problems);
        }
        for (item, expectation) in task.expectations.iter().enumerate() {
            // What a panel is told may be short where nobody asks for more.
            if severity == DiagnosticSeverity::Error
                && let Expectation::Review(panel) = expectation
                && let Some(criteria) = &panel.criteria
                && panel.dimensions.is_empty()
            {
                let place = || Path::of("tasks").item(index).key("expectations").item(item).key("criteria");
                criticise(criteria, severity, place, problems);
            }
        }
    }
}

fn criticise(
    criterion: &str,
    severity: DiagnosticSeverity,
    place: impl FnOnce() -> Path,
    problems: &mut Violations,
) {
    let reasons = unclear(criterion);
    if reasons.is_empty() {
        return;
    }
    let message = format!("the criterion {} {}", quoted(criterion), reasons.join(", and "));
    problems.push(
        Violation::error(Code::UnclearCriteria, place(), message).severity(severity).help(
            "say what can be told from the work, for example \"the API answers 200 to a GET of /health\"",
        ),
    );
}

/// Whether nothing says when a task's work is good. A verification is about the work of others.
fn has_none(task: &Task) -> bool {
    task.kind != TaskType::Verification
        && task.acceptance.is_empty()
        && task.expectations.is_empty()
        && task.verification.is_none()
}

/// Why nobody could judge by a criterion. One that names a file, a command or a value in backticks is held against that.
pub fn unclear(criterion: &str) -> Vec<&'static str> {
    let text = criterion.trim();
    let mut reasons = Vec::new();
    if text.split('`').nth(2).is_some() {
        return reasons;
    }
    if text.width() < SHORT {
        reasons.push("is too short to say what is to be judged");
    }
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    let known = |list: &[&str], word: &String| list.contains(&word.as_str());
    let is_generic = words.iter().any(|word| known(&GENERIC, word))
        && words.iter().all(|word| known(&GENERIC, word) || known(&FILLERS, word));
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
            ("a `", 1),
            ("登录成功后返回令牌", 0),
        ] {
            assert_eq!(unclear(criterion).len(), reasons, "{criterion:?}");
        }
    }
}
