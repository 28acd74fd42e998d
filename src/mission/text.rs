//! Showing texts of a file safely, and guessing what a misspelt one was meant to be.

use crate::domain::is_invisible;

/// `text` without anything a terminal would act on, cut after `limit` characters.
pub(super) fn printable(text: &str, limit: usize) -> String {
    let mut shown: String = text
        .chars()
        .take(limit)
        .map(|c| if is_unsafe(c) { ' ' } else { c })
        .collect();
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
pub(super) fn char_start(text: &str, at: usize) -> usize {
    // A character has at most four bytes, so the search is short; position 0 always qualifies.
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or_default()
}

/// A text of the file inside a sentence: quoted, printable, at most 60 characters.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", printable(text, 60))
}

/// `text` with every character beyond ASCII replaced by `?`.
pub(super) fn ascii(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect()
}

/// How many names a suggestion is searched in; beyond that a list is too long to be compared with every typing error.
const CANDIDATES: usize = 5_000;

/// The name among `known` that `text` was probably meant to be.
pub(super) fn closest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    if wanted.chars().count() > 200 {
        return None;
    }
    // Jaro-Winkler decides what is close at all; together with the number of edits it finds the closest.
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let bare = |text: &str| text.replace(['_', '-', ' '], "");
        if bare(&name) == bare(&wanted) {
            return Some(2.0);
        }
        let likeness = Some(strsim::jaro_winkler(&wanted, &name)).filter(|likeness| *likeness > 0.8)?;
        Some(likeness + strsim::normalized_damerau_levenshtein(&wanted, &name))
    };
    known
        .into_iter()
        .take(CANDIDATES)
        .filter_map(|name| Some((similarity(name)?, name)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `did you mean 'x'?` if something is close, else the names there are (at most eight), introduced by `otherwise`.
#[must_use]
pub fn suggestion<'a, I>(text: &str, known: I, otherwise: &str) -> String
where
    I: IntoIterator<Item = &'a str>,
    I::IntoIter: Clone,
{
    let known = known.into_iter();
    if let Some(name) = closest(text, known.clone()) {
        return format!("did you mean {}?", quoted(name));
    }
    let shown: Vec<_> = known.clone().take(8).map(|name| printable(name, 60)).collect();
    if shown.is_empty() {
        return format!("{otherwise}: none");
    }
    let rest = known.count() - shown.len();
    let more = if rest > 0 {
        format!(" and {rest} more")
    } else {
        String::new()
    };
    format!("{otherwise}: {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions_find_typing_errors_and_other_spellings() {
        let known = ["dependsOn", "description", "assignTo", "maxAttempts"];
        for (wrong, right) in [
            ("dependson", Some("dependsOn")),
            ("depends_on", Some("dependsOn")),
            ("asignTo", Some("assignTo")),
            ("max-attempts", Some("maxAttempts")),
            ("zebra", None),
            ("dpendsOn", Some("dependsOn")),
        ] {
            assert_eq!(closest(wrong, known), right, "{wrong}");
        }
    }

    #[test]
    fn the_closest_of_several_wins() {
        assert_eq!(closest("taks", ["stakes", "tasks", "tags"]), Some("tasks"));
    }

    #[test]
    fn without_a_close_one_the_known_are_listed() {
        assert_eq!(
            suggestion("zebra", ["b", "c"], "known agents"),
            "known agents: b, c"
        );
        assert_eq!(suggestion("zebra", [], "known agents"), "known agents: none");
    }

    #[test]
    fn shown_texts_are_cut() {
        assert_eq!(printable("abc\n\u{1b}d", 4), "abc ...");
        assert_eq!(quoted("x"), "'x'");
    }
}
