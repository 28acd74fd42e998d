//! How a mission was changed: its text line by line, and what that means for the run.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use similar::TextDiff;

use crate::domain::{Status, TaskId};
use crate::engine::{Event, State};

use super::text::sanitize;

/// Lines that a person still reads; a mission may be changed from the first line to the last.
const LINES: usize = 400;

/// How long the shortest difference is looked for; then a longer one will do.
const PATIENCE: Duration = Duration::from_secs(2);

/// Names in one list.
const NAMES: usize = 10;

/// The unified difference of two texts, made harmless for a terminal. `names` are those of the old and the new one.
#[must_use]
pub fn unified(old: &str, new: &str, names: (&str, &str)) -> String {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let mut lines = vec![format!("--- {}", names.0), format!("+++ {}", names.1)];
    let mut all = 0usize;
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        let changes = hunk.iter_changes().map(|change| {
            let line = change.value().trim_end_matches(['\n', '\r']);
            format!("{}{}", change.tag(), keep_indent(line))
        });
        for line in std::iter::once(hunk.header().to_string()).chain(changes) {
            all += 1;
            if all <= LINES {
                lines.push(line);
            }
        }
    }
    if all > LINES {
        lines.push(format!("and {} more lines", all - LINES));
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// The blanks before a line of YAML say what it belongs to.
fn keep_indent(line: &str) -> String {
    let rest = line.trim_start_matches(' ');
    format!("{}{}", &line[..line.len() - rest.len()], sanitize(rest))
}

/// What an accepted change does to the run, in words. `events` is the decision, `after` the state that it leads to.
#[must_use]
pub fn consequences(events: &[Event], after: &State) -> String {
    let mut text = String::new();
    let plan = &after.plan;
    let titles = |ids: &[TaskId]| ids.iter().map(|id| &*plan.task(*id).title).collect();
    let change = events.iter().find_map(|event| match event {
        Event::MissionChanged(change) => Some(&**change),
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
        ("added", titles(&change.added)),
        ("removed", titles(&change.removed)),
        ("changed", titles(&change.changed)),
        ("done again, because built on what was changed", titles(&again)),
        ("gates that are evaluated again", gates.collect()),
    ];
    for (what, names) in lists {
        if names.is_empty() {
            continue;
        }
        let shown: Vec<_> = names.iter().take(NAMES).map(|name| sanitize(name)).collect();
        let _ = write!(text, "  {what}: {}", shown.join(", "));
        if names.len() > NAMES {
            let _ = write!(text, " and {} more", names.len() - NAMES);
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
        Event::Transition {
            task,
            to: Status::Pending,
            ..
        } => Some(*task),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_shown_with_their_indent_and_without_what_a_terminal_would_do() {
        let text = unified("a:\n  b: 1\n", "a:\n  b: \u{1b}[31m2\r\n", ("frozen", "now"));
        assert_eq!(
            text,
            "--- frozen\n+++ now\n@@ -1,2 +1,2 @@\n a:\n-  b: 1\n+  b: 2\n"
        );
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let new: String = (0..LINES + 7).map(|n| format!("line {n}\n")).collect();
        let text = unified("", &new, ("frozen", "now"));
        // The header of the hunk is a line as well.
        assert!(text.ends_with("+line 398\nand 8 more lines\n"), "{text}");
    }
}
