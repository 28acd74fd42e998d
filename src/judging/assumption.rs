//! Whether an agent says that what it was told does not hold (semantics, section 17). Then a person is asked before its work is
//! judged: no number of attempts mends a premise.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::{Assumption, BrokenAssumption};

/// The last message is looked at, up to so many characters from its end: what is longer is the work itself.
pub const LAST_CHARS: usize = 2_000;
/// Characters of what is kept of it.
const EVIDENCE_CHARS: usize = 200;

/// What is said of what, with the words that may stand between.
const PATTERNS: [(Assumption, &str); 5] = [
    (
        Assumption::PreconditionChanged,
        r"\bpreconditions?\s+(?:(?:has|have|is|are|was|were|been)\s+)*(?:changed|no\s+longer|violated)\b",
    ),
    (
        Assumption::CriteriaConflict,
        r"\bcriteri(?:a|on)\s+(?:\w+\s+)?(?:conflict|contradict)(?:s|ed|ing)?\b",
    ),
    (
        Assumption::DependencyFailed,
        r"\bdependenc(?:y|ies)\s+(?:(?:has|have|is|are|was|were|been)\s+)*(?:failed|unavailable|broken)\b",
    ),
    (
        Assumption::PreconditionChanged,
        r"\bstuck\s+because\s+(?:[^\s.!?]+\s+){1,5}changed\b",
    ),
    (
        Assumption::PreconditionChanged,
        r"\b(?:cannot|can\s+not|can['’]?t)\s+proceed\s*,?\s+(?:because|since|as)\b",
    ),
];

static COMPILED: LazyLock<Vec<(Assumption, Regex)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the patterns are fixed and tested");
    PATTERNS.map(|(kind, pattern)| (kind, compile(pattern))).into()
});

/// Words before it that make it no news: `if a dependency failed`, `no dependency failed`.
const SUPPOSING: [&str; 11] = [
    "if", "when", "whenever", "whether", "unless", "until", "once", "no", "not", "never", "should",
];
/// Words that may stand between those and what is supposed.
const BETWEEN: [&str; 12] = [
    "a",
    "an",
    "the",
    "any",
    "some",
    "its",
    "their",
    "your",
    "my",
    "acceptance",
    "one",
    "that",
];

/// The first broken assumption that the end of an agent's last message speaks of.
#[must_use]
pub fn broken(message: &str) -> Option<BrokenAssumption> {
    let text = last_chars(message);
    let found = COMPILED.iter().filter_map(|(kind, pattern)| {
        let mut all = pattern.find_iter(text);
        let said = all.find(|found| !is_supposed(&text[..found.start()]))?;
        Some((said.start(), *kind))
    });
    let (start, kind) = found.min_by_key(|(start, _)| *start)?;
    // From the beginning of its sentence, unless that is far away.
    let sentence = text[..start]
        .rfind(['.', '!', '?', '\n'])
        .map_or(0, |end| end + 1);
    let is_near = text[sentence..start].chars().count() <= EVIDENCE_CHARS / 2;
    let words = text[if is_near { sentence } else { start }..].trim();
    Some(BrokenAssumption {
        kind,
        evidence: words.chars().take(EVIDENCE_CHARS).collect(),
    })
}

fn last_chars(text: &str) -> &str {
    let mut starts = text.char_indices().rev().skip(LAST_CHARS - 1);
    starts.next().map_or(text, |(at, _)| &text[at..])
}

/// Whether the words right before say that it is only supposed, or is not so.
fn is_supposed(before: &str) -> bool {
    let sentence = before
        .rsplit(['.', '!', '?', ';', ':', '\n'])
        .next()
        .unwrap_or_default();
    let mut words = sentence.split_whitespace().rev().map(str::to_lowercase);
    let word = words.find(|word| !BETWEEN.contains(&word.as_str()));
    word.is_some_and(|word| {
        let alone = word.trim_matches(|c: char| !c.is_alphanumeric());
        SUPPOSING.contains(&alone) || (alone == "case" && words.next().as_deref() == Some("in"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<&'static str> {
        broken(text).map(|found| found.kind.as_str())
    }

    #[test]
    fn what_does_not_hold_is_heard() {
        for (text, want) in [
            (
                "The preconditions changed since the plan was made.",
                "precondition_changed",
            ),
            ("A precondition has been violated", "precondition_changed"),
            ("The preconditions are no longer met", "precondition_changed"),
            ("The dependency failed completely.", "dependency_failed"),
            ("Both dependencies are unavailable.", "dependency_failed"),
            ("The acceptance criteria conflict.", "criteria_conflict"),
            ("criteria conflicts", "criteria_conflict"),
            ("The criterion conflicts with the other", "criteria_conflict"),
            (
                "These criteria directly contradict each other",
                "criteria_conflict",
            ),
            ("I'm stuck because schema changed", "precondition_changed"),
            (
                "stuck because the database schema has changed",
                "precondition_changed",
            ),
            ("I cannot proceed because there is no key", "precondition_changed"),
            ("I can’t proceed, since it is gone", "precondition_changed"),
            ("Can not\nproceed as told", "precondition_changed"),
        ] {
            assert_eq!(kind(text), Some(want), "{text:?}");
        }
    }

    #[test]
    fn what_is_only_supposed_or_denied_is_not() {
        for text in [
            "",
            "All done.",
            "If a dependency failed, the task is skipped.",
            "When the dependency is unavailable it waits.",
            "No dependency failed.",
            "In case the preconditions changed, run it again.",
            "It proceeds because it can.",
            "stuck. The schema changed",
            "independency failed",
            "The precondition changes nothing",
        ] {
            assert_eq!(kind(text), None, "{text:?}");
        }
        // The one that is no supposition counts.
        assert_eq!(
            kind("If a dependency failed we stop. The dependency failed."),
            Some("dependency_failed")
        );
    }

    #[test]
    fn the_end_of_the_last_message_counts_and_little_of_it_is_kept() {
        let long = format!("The dependency failed. {}", "é".repeat(LAST_CHARS));
        assert_eq!(broken(&long), None);
        let short = format!("Sorry: the dependency failed. {}", "é".repeat(500));
        let found = broken(&short).unwrap();
        assert_eq!(found.evidence.chars().count(), EVIDENCE_CHARS);
        assert!(found.evidence.starts_with("Sorry: the dependency failed. é"));
    }
}
