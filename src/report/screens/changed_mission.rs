//! How a mission was changed: its text line by line, and what that means for the run.

use std::collections::BTreeSet;
use std::time::Duration;

use similar::{ChangeTag, TextDiff};

use rules::{
    domain::{Status, TaskId},
    engine::{Event, RunEvent, State, TaskEvent},
};

use super::text::sanitize;

/// Lines that a person still reads; a mission may be changed from the first line to the last.
const LINES: usize = 400;

/// Unchanged lines that are shown around a change.
const CONTEXT: usize = 3;

/// How long the shortest difference is looked for. What is left then counts as changed.
const LONGEST_SEARCH: Duration = Duration::from_secs(2);

/// Names in one list.
const NAMES: usize = 10;

/// The unified difference of two texts, made harmless for a terminal. `names` are those of the old and the new one.
pub fn unified(old: &str, new: &str, names: (&str, &str)) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let all = hunks(&old, &new);
    let mut lines = vec![format!("--- {}", names.0), format!("+++ {}", names.1)];
    lines.extend(all.iter().take(LINES).map(|(sign, text)| match sign {
        '@' => text.clone(),
        _ => format!("{sign}{}", keep_indent(text.trim_end_matches(['\n', '\r']))),
    }));
    if all.len() > LINES {
        lines.push(format!("and {} more lines", all.len() - LINES));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The lines of a unified difference with their signs; `@` stands for the header of a hunk.
fn hunks(old: &[&str], new: &[&str]) -> Vec<(char, String)> {
    let difference = TextDiff::configure().timeout(LONGEST_SEARCH).diff_slices(old, new);
    let mut lines = Vec::new();
    for hunk in difference.unified_diff().context_radius(CONTEXT).iter_hunks() {
        lines.push(('@', hunk.header().to_string()));
        lines.extend(hunk.iter_changes().map(|change| {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            (sign, change.value().to_owned())
        }));
    }
    lines
}

/// The blanks before a line of YAML say what it belongs to.
fn keep_indent(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    format!("{}{}", &line[..line.len() - rest.len()], sanitize(rest))
}

/// The consequences of an accepted change for the run, in words. `events` is the decision, `after` the state
/// that it leads to.
pub fn consequences(events: &[Event], after: &State) -> String {
    let mut text = String::new();
    let plan = &after.plan;
    let change = events.iter().find_map(|event| match event {
        Event::Run(RunEvent::MissionChanged(change)) => Some(&**change),
        _ => None,
    });
    let Some(change) = change else {
        return text;
    };
    let named: BTreeSet<TaskId> = change.changed.iter().chain(&change.removed).copied().collect();
    let again: Vec<TaskId> = events.iter().filter_map(again).collect();
    let again: Vec<TaskId> = again.into_iter().filter(|id| !named.contains(id)).collect();
    let gates = change.gates.iter().map(|id| &*plan.gate(*id).name);
    let lists: [(&str, Vec<&str>); 5] = [
        ("added", plan.titles(&change.added)),
        ("removed", plan.titles(&change.removed)),
        ("changed", plan.titles(&change.changed)),
        ("done again, because built on what was changed", plan.titles(&again)),
        ("gates that are evaluated again", gates.collect()),
    ];
    for (what, names) in lists {
        if names.is_empty() {
            continue;
        }
        let shown: Vec<_> = names.iter().take(NAMES).map(|name| sanitize(name)).collect();
        append!(text, "  {what}: {}", shown.join(", "));
        if names.len() > NAMES {
            append!(text, " and {} more", names.len() - NAMES);
        }
        text.push('\n');
    }
    if text.is_empty() {
        text.push_str("  no task and no gate is touched by it\n");
    }
    text
}

/// A task that is withdrawn.
fn again(event: &Event) -> Option<TaskId> {
    match event {
        Event::Task(task, TaskEvent::Transition { to: Status::Pending, .. }) => Some(*task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use proptest::prelude::*;

    use super::*;

    /// What `patch` does: the new text, from the old one and a unified difference. `None` if they do not fit.
    fn patched(old: &str, difference: &str) -> Option<String> {
        let old: Vec<&str> = old.lines().collect();
        let (mut at, mut new) = (0, Vec::new());
        for line in difference.lines().skip(2) {
            if let Some(header) = line.strip_prefix("@@ -") {
                let (place, _) = header.split_once(' ')?;
                let (start, count) = place.split_once(',').unwrap_or((place, "1"));
                let start: usize = start.parse().ok()?;
                let start = if count == "0" { start } else { start - 1 };
                new.extend_from_slice(old.get(at..start)?);
                at = start;
                continue;
            }
            let (sign, text) = line.split_at_checked(1)?;
            match sign {
                "+" => new.push(text),
                _ if old.get(at) != Some(&text) => return None,
                " " => (at, new) = (at + 1, [new, vec![text]].concat()),
                _ => at += 1,
            }
        }
        new.extend_from_slice(old.get(at..)?);
        Some(new.iter().map(|line| format!("{line}\n")).collect())
    }

    fn text() -> impl Strategy<Value = String> {
        let lines = proptest::collection::vec(proptest::sample::select(vec!["a", " b", "c: d", "e"]), 0..40);
        lines.prop_map(|lines| lines.iter().map(|line| format!("{line}\n")).collect())
    }

    proptest! {
        #[test]
        fn a_difference_applied_to_the_old_text_gives_the_new_one(old in text(), new in text()) {
            let difference = unified(&old, &new, ("old", "new"));
            prop_assert_eq!(patched(&old, &difference), Some(new), "{}", difference);
        }
    }

    #[test]
    fn changes_far_from_each_other_are_hunks_of_their_own() {
        let old: String = (1..=20).map(|n| format!("{n}\n")).collect();
        let new = old.replace("\n2\n", "\n").replace("\n9\n", "\nnine\n").replace("\n20\n", "\n20\n21\n");
        assert_eq!(
            unified(&old, &new, ("old", "new")),
            "--- old\n+++ new\n@@ -1,12 +1,11 @@\n 1\n-2\n 3\n 4\n 5\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n\
             @@ -18,3 +17,4 @@\n 18\n 19\n 20\n+21\n"
        );
    }

    #[test]
    fn equal_texts_have_no_hunks() {
        assert_eq!(unified("a\n", "a\n", ("old", "new")), "--- old\n+++ new\n");
    }

    #[test]
    fn lines_are_shown_with_their_indent_and_without_what_a_terminal_would_do() {
        let text = unified("a:\n  b: 1\n", "a:\n  b: \u{1b}[31m2\r\n", ("frozen", "now"));
        assert_eq!(text, "--- frozen\n+++ now\n@@ -1,2 +1,2 @@\n a:\n-  b: 1\n+  b: 2\n");
    }

    #[test]
    fn as_many_lines_as_possible_are_kept() {
        for (old, new, kept) in [
            ("", "abc", 0),
            ("abc", "", 0),
            ("abc", "xyz", 0),
            ("abcabba", "cbabac", 4),
            ("aaa", "a", 1),
            ("xaxbxcx", "abc", 3),
            ("abcdef", "defabc", 3),
        ] {
            let lines = |text: &str| text.chars().map(|c| format!("{c}\n")).collect::<String>();
            let difference = unified(&lines(old), &lines(new), ("old", "new"));
            let equal = difference.lines().filter(|line| line.starts_with(' '));
            assert_eq!(equal.count(), kept, "{old} and {new}: {difference}");
        }
    }

    #[test]
    fn the_worst_texts_are_compared_soon() {
        let lines = |line: fn(u64) -> String| (0..300_000).map(line).collect::<String>();
        let names = lines(|n| format!("{}\n", n % 7));
        let begin = Instant::now();
        for other in [lines(|n| format!("{}\n", n * n % 11)), lines(|n| format!("other {n}\n"))] {
            assert!(unified(&names, &other, ("old", "new")).contains("more lines"));
        }
        assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let new: String = (0..LINES + 7).map(|n| format!("line {n}\n")).collect();
        let text = unified("", &new, ("frozen", "now"));
        // The header of the hunk is a line as well.
        assert!(text.ends_with("+line 398\nand 8 more lines\n"), "{text}");
    }
}
