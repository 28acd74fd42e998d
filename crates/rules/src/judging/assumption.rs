//! Whether an agent says that what it was told does not hold (semantics, section 17). Then a person is asked before its work is
//! judged: no number of attempts mends a premise.

use std::sync::LazyLock;

use regex::Regex;

use super::parser::visible;
use crate::domain::{Assumption, BrokenAssumption};

/// The last message is looked at, up to so many characters from its end: what is longer is the work itself.
pub const LAST_CHARS: usize = 2_000;
/// The number of last lines of an output that may be a last message.
const LAST_LINES: usize = 3;
/// Characters of what is kept of it.
const EVIDENCE_CHARS: usize = 200;

/// The pattern for THING: words for what an agent was told to rely on.
const THING: &str = r"(?:assumptions?|premises?|pre-?conditions?|prerequisites?)";
/// The pattern for BEEN: words between a thing and what is said of it.
const BEEN: &str = r"(?:(?:has|have|had|is|are|was|were|been|be|turned\s+out\s+to\s+be|proved\s+to\s+be|seems?\s+to\s+be)\s+)*";
/// The sentences that say it, by kind. The guide for people lists them in plain words.
const PATTERNS: &[(Assumption, &[&str])] = &[
    (
        Assumption::PreconditionChanged,
        &[
            r"\bTHING\s+(?:(?:that|about|behind|of|for|on|in|from|made\s+in)\s+(?:[^\s.!?;:,]+\s+){1,12}?)?BEEN(?:wrong|false|incorrect|invalid|mistaken|outdated|violated|broken|missing|changed|failed|untrue|unmet|not\s+true|no\s+longer\s+(?:true|valid|met|given|hold))\b",
            r"\bTHING\s+(?:(?:that|about|behind|of|for|on|in|from|made\s+in)\s+(?:[^\s.!?;:,]+\s+){1,12}?)?(?:(?:do(?:es)?|did|is|are|was|were)\s+not|(?:do(?:es)?|did|is|are|was|were)n['’]t|(?:is|are|was|were)?\s*no\s+longer)\s+(?:hold|holds|stands?|match|apply|applies|met|satisfied|fulfilled|given|true|valid|correct)\b",
            r"\b(?:based|built|rests?|relies|rely|relied|founded)\s+on\s+(?:an?\s+|the\s+)?(?:wrong|false|incorrect|invalid|broken|outdated)\s+THING\b",
            r"(?:^|[.!?\n]\s*)(?:wrong|false|invalid|broken|violated)\s+THING\b",
            r"\bcontrary\s+to\s+(?:the\s+|this\s+|its\s+)?(?:task|description|brief|plan|prompt|instructions?|issue|ticket|specification|spec|what\s+(?:the\s+)?(?:task|description|plan|i\s+was\s+told))\b",
            r"\b(?:i\s+am|i['’]m|this\s+task\s+is|the\s+task\s+is|work\s+is)\s+(?:stuck|blocked)\s*(?:because|since|as|by|:)",
            r"\bstuck\s+because\s+(?:[^\s.!?]+\s+){1,5}changed\b",
            r"\b(?:cannot|can\s+not|can['’]?t|unable\s+to|impossible\s+to|not\s+possible\s+to)\s+(?:be\s+)?(?:proceed|continue|go\s+on|complete|completed|do|done|finish|finished|start|started|carry\s+out|implement|implemented)\s*(?:(?:the|this|that|it)\b(?:\s+(?:task|work))?)?\s*(?:,?\s*(?:because|since|as)\s|:|\s+without\b)",
            r"\b(?:task|description|plan|instructions?|brief|prompt|issue|ticket|specification|spec)\s+(?:assumes?|presupposes?|presumes?|expects?|says?|claims?|states?|refers?\s+to|mentions?|names?|describes?)\s+(?:[^.!?\n]|\.[[:word:]]){1,120}?(?:\bbut\s+(?:there\s+(?:is|are)\s+(?:no|none|only)|no\s|none\b|it\s+(?:is|does)\s*n[o'’]t|i\s+(?:found|find|see)\s+(?:no|none|only))|(?:which|that)\s+(?:do(?:es)?\s+not\s+exist|(?:is|are)\s+(?:not\s+(?:there|in)\b|missing|gone)))",
            r"\b(?:file|folder|directory|module|function|class|method|endpoint|table|script|package|branch|service|server|api|page|command|library|field|column)\s+(?:(?:that|which)\s+)?(?:(?:the\s+)?(?:task|description|plan|instructions?|you)\s+(?:mentions?|names?|refers?\s+to|describes?|assumes?|expects?)|(?:named|mentioned|described|assumed|expected)\s+in\s+the\s+(?:task|description|plan|instructions?)|in\s+the\s+(?:task|description)|i\s+was\s+told\s+to\s+\w+)\s+(?:do(?:es)?\s+not\s+exist|(?:is|are)\s+(?:missing|gone|not\s+there)|cannot\s+be\s+found)\b",
            r"\b(?:assumed|described|expected|required)\s+\w+\s+(?:do(?:es)?\s+not\s+exist|(?:is|are)\s+(?:missing|gone|not\s+there))\b",
            r"\b(?:is|are)\s+not\s+(?:as|what)\s+(?:(?:the\s+)?(?:task|description|plan)\s+(?:describes?|says?|assumes?|expects?)|described|assumed|expected|stated)\b",
            r"\bdo(?:es)?\s+not\s+match\s+(?:the|its)\s+(?:description|task|plan|assumptions?)\b",
            r"\b(?:differs?|(?:is|are)\s+different)\s+from\s+what\s+(?:(?:the\s+)?(?:task|description|plan)\s+(?:assumes?|describes?|says?|expects?)|(?:was|is)\s+(?:assumed|described|expected))\b",
            r"\bwhat\s+the\s+(?:task|description|plan)\s+(?:describes?|assumes?|expects?|names?|refers?\s+to)\s+do(?:es)?\s+not\s+exist\b",
            r"\bthere\s+(?:is|are)\s+no\s+(?:[^\s.!?,]+\s+){1,4}(?:as|like|that)\s+(?:the\s+(?:task|description|plan)\b|described|assumed)",
            r"\bchanged\s+since\s+(?:the|this)\s+(?:task|description|plan)\s+was\s+(?:written|made)\b",
            r"\b(?:requirements?|task|request|issue|ticket)\s+(?:(?:is|are)\s+obsolete|no\s+longer\s+(?:applies|apply|makes?\s+sense))\b",
            r"\bwhat\s+i\s+was\s+told\b[^.!?\n]{0,60}?\b(?:is|are|was)\s+(?:not\s+(?:true|the\s+case|right)|wrong|false|outdated)\b",
            r"\bi\s+was\s+told\s+that\s+[^.!?\n]{1,80}?;\s+(?:it|they|there)\s+(?:do(?:es)?|is|are)\s+(?:not|none)\b",
            r"\b(?:task|brief|task\s+description|information\s+in\s+the\s+(?:task|description))\s+(?:is|are)\s+(?:wrong|outdated|out\s+of\s+date|incorrect|mistaken)\b",
        ],
    ),
    (
        Assumption::DependencyFailed,
        &[
            r"\b(?:dependenc(?:y|ies)(?:['’]s?\s+(?:outputs?|results?|files?))?|upstream\s+(?:tasks?|outputs?|results?|services?))\s+BEEN(?:failed|unavailable|broken|missing|down|empty|not\s+(?:available|there|ready|usable|delivered|finished))\b",
            r"\bdependenc(?:y|ies)\s+(?:(?:do(?:es)?|did)\s+not|(?:do(?:es)?|did)n['’]t)\s+(?:exist|produce|deliver|finish|work|provide)\b",
            r"\b(?:results?|outputs?|work|files?)\s+of\s+the\s+(?:upstream|earlier|previous|preceding)\s+task\s+(?:is|are|was|were)\s+(?:missing|empty|unusable|broken|gone)\b",
            r"\bthat\s+this\s+depends\s+on\s+(?:is|are)\s+(?:down|missing|gone|broken|unavailable|not\s+available)\b",
        ],
    ),
    (
        Assumption::CriteriaConflict,
        &[
            r"\b(?:criteri(?:a|on)|requirements?|instructions?)\s+(?:\d+\s+|\w+ly\s+|both\s+|also\s+|themselves\s+)?(?:conflict|contradict)(?:s|ed|ing)?\b",
            r"\b(?:criteria|requirements?|instructions?)\s+(?:are|is)\s+(?:contradictory|inconsistent|in\s+conflict|mutually\s+exclusive|incompatible|impossible\s+to\s+(?:meet|satisfy|fulfil)\s+(?:together|at\s+once))\b",
            r"\b(?:criteria|requirements)\s+(?:exclude|rule\s+out)\s+each\s+other\b",
            r"\b(?:criteria|requirements?)\s+(?:cannot|can\s+not|can['’]t)\s+(?:both|all)\s+be\s+(?:met|satisfied|fulfilled)\b",
        ],
    ),
];

static COMPILED: LazyLock<Vec<(Assumption, Regex)>> = LazyLock::new(|| {
    let compile = |pattern: &str| {
        let pattern = pattern.replace("THING", THING).replace("BEEN", BEEN);
        Regex::new(&format!("(?i){pattern}")).expect("the patterns are fixed and tested")
    };
    let mut all = Vec::new();
    for (kind, patterns) in PATTERNS {
        all.extend(patterns.iter().map(|pattern| (*kind, compile(pattern))));
    }
    all
});

/// Words before a sentence's claim, in its clause, by which it is not so, or only supposed.
const DENYING: [&str; 2] = [
    "if when whenever where wherever whether unless until once case no not none",
    "neither nor never without whose each every any should would could",
];
/// The words that end a clause: what stands before them is another matter.
const BOUNDS: [&str; 3] = ["because ", "since ", "but "];
/// Words behind a sentence's claim by which the agent dealt with it.
const DEALT_WITH: [&str; 11] = [
    ", so ",
    " so i ",
    " but ",
    "instead",
    "fixed",
    "worked around",
    "handled",
    "skipped",
    "recovered",
    "; now ",
    "before th",
];

/// The first broken assumption that the end of an agent's last message speaks of.
pub fn broken(message: &str) -> Option<BrokenAssumption> {
    let text = visible(last_chars(message));
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
    Some(BrokenAssumption { kind, evidence: words.chars().take(EVIDENCE_CHARS).collect() })
}

/// Whether the agent says so itself, as something that holds now.
fn is_news(before: &str, after: &str) -> bool {
    let sentence = sentence_before(before);
    let clause = sentence.rsplit([',', ';', ':', '(', '\u{2013}', '\u{2014}']).next().unwrap_or_default();
    let clause = clause.to_lowercase();
    let begin = BOUNDS.iter().filter_map(|bound| Some(clause.rfind(bound)? + bound.len()));
    let clause = &clause[begin.max().unwrap_or(0)..];
    let mut words = clause.split(|c: char| !c.is_alphanumeric() && !is_apostrophe(c));
    let denying = DENYING.join(" ");
    let denies = |word| denying.split(' ').any(|known| known == word);
    let is_denied = words.any(|word| denies(word) || word.ends_with("n't") || word.ends_with("n\u{2019}t"));
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

/// The last, unfinished sentence of `before`.
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
            ("The preconditions changed since the plan was made.", "precondition_changed"),
            ("A precondition has been violated", "precondition_changed"),
            ("The preconditions are no longer met", "precondition_changed"),
            ("The dependency failed completely.", "dependency_failed"),
            ("Both dependencies are unavailable.", "dependency_failed"),
            ("The acceptance criteria conflict.", "criteria_conflict"),
            ("criteria conflicts", "criteria_conflict"),
            ("The criterion conflicts with the other", "criteria_conflict"),
            ("These criteria directly contradict each other", "criteria_conflict"),
            ("I'm stuck because schema changed", "precondition_changed"),
            ("stuck because the database schema has changed", "precondition_changed"),
            ("I cannot proceed because there is no key", "precondition_changed"),
            ("I can’t proceed, since it is gone", "precondition_changed"),
            ("Can not\nproceed as told", "precondition_changed"),
            ("I am unable to continue because it is gone", "precondition_changed"),
            ("I did not finish it because the dependency failed.", "dependency_failed"),
            ("It is not done, the dependency failed", "dependency_failed"),
            ("\u{1b}[31mdependency failed\u{1b}[0m", "dependency_failed"),
        ] {
            assert_eq!(kind(text), Some(want), "{text:?}");
        }
    }

    #[test]
    fn plain_sentences_that_say_it_are_heard() {
        let sentences = include_str!("../../../../fixtures/assumptions/broken.tsv");
        let rows: Vec<(&str, &str)> = sentences.lines().filter_map(|line| line.split_once('\t')).collect();
        assert_eq!(rows.len(), 93);
        for (want, text) in rows {
            assert_eq!(kind(text), Some(want), "{text:?}");
        }
    }

    #[test]
    fn honest_reports_are_no_alarm() {
        let reports = include_str!("../../../../fixtures/assumptions/honest.txt");
        assert_eq!(reports.lines().count(), 200);
        for text in reports.lines() {
            assert_eq!(kind(text), None, "{text:?}");
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
        assert_eq!(kind("If a dependency failed we stop. The dependency failed."), Some("dependency_failed"));
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
