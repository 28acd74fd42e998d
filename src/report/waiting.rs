//! `quorum inbox` for people: a line for each, the id first, because it is to be copied.

use super::style::{Role, Screen};
use super::text::sanitize;

/// Something that a person should look at.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// What `approve`, `reject` and `answer` take; `-` where nobody is asked.
    pub id: &'a str,
    /// The task's title.
    pub task: &'a str,
    /// Why it is listed, in a word.
    pub kind: &'a str,
    /// The moment that ends it, if there is one.
    pub until: Option<&'a str>,
    /// Why it is listed, in a sentence.
    pub message: &'a str,
}

/// The list, with a line feed at its end.
#[must_use]
pub fn human(items: &[Item<'_>], screen: &Screen) -> String {
    let line = |item: &Item<'_>| {
        let task = sanitize(item.task);
        let (id, task) = (item.id, screen.style.paint(Role::Strong, task));
        let until = item
            .until
            .map(|until| format!(" until {until}"))
            .unwrap_or_default();
        format!("{id}  {task}  {}{until}: {}\n", item.kind, sanitize(item.message))
    };
    let text: String = items.iter().map(line).collect();
    screen.wrap(&text)
}
