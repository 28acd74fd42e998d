//! Whether an agent says that what it was told does not hold (semantics, section 17). Then a person is asked before its work is
//! judged: no number of attempts mends a premise.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::{Assumption, BrokenAssumption};

/// The last message is looked at, up to so many characters from its end: what is longer is the work itself.
pub const LAST_CHARS: usize = 2_000;
/// So many lines of what was printed may be a last message.
const LAST_LINES: usize = 3;
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
        r"\b(?:cannot|can\s+not|can['’]?t|unable\s+to)\s+(?:proceed|continue)\s*,?\s+(?:because|since|as)\b",
    ),
];

/// Colours and the like of a terminal.
static ESCAPES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b\[[0-9;?]*[ -/]*[@-~]").expect("the pattern is fixed and tested"));

static COMPILED: LazyLock<Vec<(Assumption, Regex)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the patterns are fixed and tested");
    PATTERNS.map(|(kind, pattern)| (kind, compile(pattern))).into()
});

/// Words before it, in its clause, by which it is not so, or only supposed.
const DENYING: [&str; 24] = [
    "if", "when", "whenever", "where", "wherever", "whether", "unless", "until", "once", "case", "no", "not",
    "none", "neither", "nor", "never", "without", "whose", "each", "every", "any", "should", "would",
    "could",
];
/// What ends a clause before it: what stands earlier is another matter.
const BOUNDS: [&str; 3] = ["because ", "since ", "but "];
/// Words behind it, in its sentence, by which it was dealt with.
const DEALT_WITH: [&str; 9] = [
    ", so ",
    " so i ",
    " but ",
    "instead",
    "fixed",
    "worked around",
    "handled",
    "skipped",
    "recovered",
];

/// The first broken assumption that the end of an agent's last message speaks of.
pub fn broken(message: &str) -> Option<BrokenAssumption> {
    let text = ESCAPES.replace_all(last_chars(message), "");
    let found = COMPILED.iter().filter_map(|(kind, pattern)| {
        let mut all = pattern.find_iter(&text);
        let said = all.find(|found| is_news(&text[..found.start()], &text[found.end()..]))?;
        Some((said.start(), *kind))
    });
    let (start, kind) = found.min_by_key(|(start, _)| *start)?;
    // From the beginning of its sentence, unless that is far away.
    let sentence = start - sentence_before(&text[..start]).len();
    let is_near = text[sentence..start].chars().count() <= EVIDENCE_CHARS / 2;
    let words = text[if is_near { sentence } else { start }..].trim();
    Some(BrokenAssumption {
        kind,
        evidence: words.chars().take(EVIDENCE_CHARS).collect(),
    })
}

/// Whether the agent says so itself, as something that holds now.
fn is_news(before: &str, after: &str) -> bool {
    let sentence = sentence_before(before);
    let clause = sentence
        .rsplit([',', ';', ':', '(', '\u{2013}', '\u{2014}'])
        .next()
        .unwrap_or_default();
    let clause = clause.to_lowercase();
    let begin = BOUNDS
        .iter()
        .filter_map(|bound| Some(clause.rfind(bound)? + bound.len()));
    let clause = &clause[begin.max().unwrap_or(0)..];
    let mut words = clause.split(|c: char| !c.is_alphanumeric() && !is_apostrophe(c));
    let is_denied =
        words.any(|word| DENYING.contains(&word) || word.ends_with("n't") || word.ends_with("n\u{2019}t"));
    let end = after.find(['.', '!', '?', '\n']).unwrap_or(after.len());
    let (rest, ending) = (after[..end].to_lowercase(), &after[end..]);
    let is_dealt_with = DEALT_WITH.iter().any(|words| rest.contains(words));
    !(is_denied || is_dealt_with || ending.starts_with('?') || is_quoted(sentence))
}

/// Whether a quotation is open at the end of a text.
fn is_quoted(text: &str) -> bool {
    let odd = |mark: char| text.matches(mark).count() % 2 == 1;
    let opened = text.matches(" '").count() + usize::from(text.starts_with('\''));
    let closed = text.matches("' ").count() + text.matches("',").count();
    odd('"')
        || odd('`')
        || opened > closed
        || text.matches('\u{201c}').count() > text.matches('\u{201d}').count()
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '\u{2019}')
}

/// What stands before, in the same sentence.
fn sentence_before(before: &str) -> &str {
    before.rsplit(['.', '!', '?', '\n']).next().unwrap_or_default()
}

/// The last lines of a text that is no message: what comes before them may be anything.
pub fn last_lines(text: &str) -> &str {
    let text = text.trim_end();
    let mut ends = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    ends.nth(LAST_LINES - 1).map_or(text, |at| &text[at..])
}

fn last_chars(text: &str) -> &str {
    let mut starts = text.char_indices().rev().skip(LAST_CHARS - 1);
    starts.next().map_or(text, |(at, _)| &text[at..])
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
            (
                "I am unable to continue because it is gone",
                "precondition_changed",
            ),
            (
                "I did not finish it because the dependency failed.",
                "dependency_failed",
            ),
            ("It is not done, the dependency failed", "dependency_failed"),
            ("\u{1b}[31mdependency failed\u{1b}[0m", "dependency_failed"),
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
            "None of the dependencies failed. All tests pass.",
            "Neither dependency failed",
            "Tasks whose dependency failed are now skipped.",
            "If the upstream dependency failed, we skip.",
            "I did not find that the dependency failed.",
            "It isn't so that the dependency failed.",
            "The dependency was unavailable, so I vendored it. All 12 tests pass.",
            "The dependency failed at first, but works now.",
            "Fixed: the message 'cannot proceed because it is late' is no longer shown",
            "It prints \"dependency failed\" now.",
            "The state `dependency failed` is new.",
            "Was it that the dependency failed?",
            "I handled the case where a dependency failed.",
            "The dependency failed at first, but I fixed it and all is done.",
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
    fn of_what_was_printed_the_last_three_lines_count() {
        assert_eq!(last_lines("a\nb\nc\nd\n\n"), "b\nc\nd");
        assert_eq!(last_lines("c\nd"), "c\nd");
        assert_eq!(last_lines(""), "");
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
