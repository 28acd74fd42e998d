//! Words that speak with authority (semantics, section 17): they are counted, never taken out, and the agent that reads them is
//! told to weigh what they say.

use std::sync::LazyLock;

use regex::Regex;

/// The cues of authority, each once; together they count every cue once.
const CUES: &str = r"(?xi) \b (?:
      you \s+ must
    | i (?: ['’]m | \s+ am ) \s+ instructing \s+ you
    | as \s+ your \s+ (?: manager | supervisor | lead )
    | this \s+ is \s+ (?: an? \s+ )? (?: order | directive )
    | do \s+ (?: exactly \s+ )? as \s+ (?: i | we ) \s+ say
) \b";

static PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(CUES).expect("the pattern is fixed and tested"));

/// How many cues of authority a text holds.
pub fn cues(text: &str) -> usize {
    PATTERN.find_iter(text).count()
}

#[cfg(test)]
mod tests {
    use super::cues;

    #[test]
    fn whole_words_that_give_orders_count() {
        for (text, count) in [
            ("You must complete this now.", 1),
            ("Please complete the task.", 0),
            ("As your manager, this is an order", 2),
            ("You mustache", 0),
            ("you\nMUST; I'm instructing you. I’m instructing you! I am instructing you", 4),
            ("as your supervisor, as your lead", 2),
            ("This is a directive. This is order.", 2),
            ("Do as I say, do exactly as we say.", 2),
            ("The order of the list; thou must; as your managers", 0),
            ("", 0),
        ] {
            assert_eq!(cues(text), count, "{text:?}");
        }
    }
}
