//! "did you mean": what a misspelt name was meant to be: a key, a task, an agent, a gate, a command.

use super::shown_text::{printable, quoted};

/// How many names a suggestion is searched in; beyond that a list is too long to be compared with every typing error.
const CANDIDATES: usize = 5_000;

/// The name among `known` that `text` was probably meant to be.
pub fn closest<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = text.to_lowercase();
    if wanted.chars().count() > 200 {
        return None;
    }
    // Jaro-Winkler decides what is close at all; together with the number of edits it finds the closest.
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        let bare = |text: &str| text.replace(['_', '-', ' '], "");
        if bare(&name) == bare(&wanted) {
            return Some(4.0);
        }
        let likeness = strsim::jaro_winkler(&wanted, &name);
        let is_one_slip = wanted.len() > 2 && strsim::damerau_levenshtein(&wanted, &name) == 1;
        let is_close = likeness > 0.8 || is_one_slip;
        is_close.then(|| likeness + 2.0 * strsim::normalized_damerau_levenshtein(&wanted, &name))
    };
    known
        .into_iter()
        .take(CANDIDATES)
        .filter_map(|name| Some((similarity(name)?, name)))
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// `did you mean 'x'?` if something is close.
pub fn did_you_mean<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    closest(text, known).map(|name| format!("did you mean {}?", quoted(name)))
}

/// `did you mean 'x'?` if something is close, else the names there are (at most eight), introduced by `otherwise`.
pub fn suggestion<'a, I>(text: &str, known: I, otherwise: &str) -> String
where
    I: IntoIterator<Item = &'a str>,
    I::IntoIter: Clone,
{
    let known = known.into_iter();
    if let Some(meant) = did_you_mean(text, known.clone()) {
        return meant;
    }
    let shown: Vec<_> = known.clone().take(8).map(|name| printable(name, 60)).collect();
    if shown.is_empty() {
        return format!("{otherwise}: none");
    }
    let rest = known.count() - shown.len();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
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
        assert_eq!(closest("rnu", ["runs", "run"]), Some("run"));
    }

    #[test]
    fn without_a_close_one_the_known_are_listed() {
        assert_eq!(suggestion("zebra", ["b", "c"], "known agents"), "known agents: b, c");
        assert_eq!(suggestion("zebra", [], "known agents"), "known agents: none");
    }
}
