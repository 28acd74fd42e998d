//! The dead-letter queue for people.

use crate::domain::DeadLetter;

use super::style::{Role, Screen};
use super::text::sanitize;

/// One line each, the first of them the oldest.
pub fn list(letters: &[DeadLetter], screen: &Screen) -> String {
    if letters.is_empty() {
        return "there are no dead letters\n".to_owned();
    }
    let line = |letter: &DeadLetter| {
        let status = screen
            .style
            .paint(role(letter), letter.status.as_str().to_owned());
        format!(
            "{}  {status}  {}  {}: {}\n",
            sanitize(&letter.id),
            sanitize(&letter.operation),
            letter.category.as_str(),
            sanitize(&letter.error)
        )
    };
    let lines: String = letters.iter().map(line).collect();
    screen.wrap(&lines)
}

/// Everything about one.
pub fn letter(letter: &DeadLetter, screen: &Screen) -> String {
    let text = |text: &str| sanitize(text).into_owned();
    let mut lines = vec![
        ("id", text(&letter.id)),
        ("status", letter.status.as_str().to_owned()),
        ("operation", text(&letter.operation)),
        ("run", letter.run.to_string()),
        ("category", letter.category.as_str().to_owned()),
        ("error", text(&letter.error)),
        ("tried again", letter.retry_count.to_string()),
        ("created", letter.created_at.to_rfc3339()),
        ("changed", letter.updated_at.to_rfc3339()),
    ];
    lines.extend(letter.next_retry.map(|at| ("next try", at.to_rfc3339())));
    lines.extend(letter.note.as_deref().map(|note| ("reason", text(note))));
    lines.push(("args", text(&letter.args.to_string())));
    screen.fields(lines)
}

fn role(letter: &DeadLetter) -> Role {
    if letter.status.is_closed() {
        Role::Dim
    } else {
        Role::Warn
    }
}
