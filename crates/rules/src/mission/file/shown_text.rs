//! Showing texts of a file safely.

use crate::domain::is_invisible;

/// `text` without anything a terminal would act on, cut after `limit` characters.
pub fn printable(text: &str, limit: usize) -> String {
    let mut shown: String = text.chars().take(limit).map(|c| if is_unsafe(c) { ' ' } else { c }).collect();
    if text.chars().nth(limit).is_some() {
        shown.push_str("...");
    }
    shown
}

/// Control characters, and the ones that reorder or hide text around them, or are not seen.
fn is_unsafe(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// The greatest position not after `at` where a character begins.
pub fn char_start(text: &str, at: usize) -> usize {
    // A character has at most four bytes, so the search is short; position 0 always qualifies.
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// A text of the file inside a sentence: quoted, printable, at most 60 characters.
pub fn quoted(text: &str) -> String {
    format!("'{}'", printable(text, 60))
}

/// `text` with every character beyond ASCII replaced by `?`.
pub fn ascii(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// The first line of a text, empty for an empty one.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_texts_are_cut() {
        assert_eq!(printable("abc\n\u{1b}d", 4), "abc ...");
        assert_eq!(quoted("x"), "'x'");
    }
}
