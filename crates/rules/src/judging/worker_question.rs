//! Whether what an agent said instead of working may be a question (semantics, section 5). Whoever coordinates has the
//! last word about it; this only spares it the texts that cannot be one.

/// A longer text is work, or a report of it.
pub const MAX_CHARS: usize = 2_000;
/// The question mark must stand in one of so many last lines.
const LAST_LINES: usize = 3;

/// Whether a text is short enough and ends like a question.
pub fn may_be_question(text: &str) -> bool {
    let mut last = text.lines().rev().filter(|line| !line.trim().is_empty()).take(LAST_LINES);
    text.chars().count() <= MAX_CHARS && last.any(|line| line.contains(['?', '？']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_stands_at_the_end_of_a_short_text() {
        assert!(may_be_question("Should I use TypeScript?"));
        assert!(may_be_question("Which one?\n\n  \nA: tabs\n\nB: spaces\n"));
        assert!(!may_be_question("Which one?\na\nb\nc"));
        assert!(!may_be_question(""));
        assert!(!may_be_question("I did it."));
        let long = |chars: usize| "x".repeat(chars - 1) + "?";
        assert!(may_be_question(&long(2_000)));
        assert!(!may_be_question(&long(2_001)));
        assert!(may_be_question(&"é".repeat(1_999).chars().chain(['?']).collect::<String>()));
    }
}
