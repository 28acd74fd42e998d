//! `quorum explain` for people.

use crate::mission::Code;

use super::style::{Role, Screen};

/// What a code means and what to do about it, with a line feed at the end.
#[must_use]
pub fn one(code: Code, screen: &Screen) -> String {
    let head = format!("{code}: {}", code.summary());
    let head = screen.style.paint(Role::Strong, head);
    let text = format!("{head}\n\n{}\n", code.explanation());
    screen.wrap_flush(&letters(&text, screen))
}

/// All codes with a few words each.
#[must_use]
pub fn all(screen: &Screen) -> String {
    let line = |code: &Code| {
        let name = screen.style.paint(Role::Strong, code.as_str());
        format!("{name}  {}\n", code.summary())
    };
    let text: String = Code::ALL.iter().map(line).collect();
    screen.wrap(&letters(&text, screen))
}

/// Our own words in the letters of the screen.
fn letters(text: &str, screen: &Screen) -> String {
    match screen.style.unicode {
        true => text.to_owned(),
        false => text
            .replace('…', screen.style.symbols().ellipsis)
            .replace('–', "-"),
    }
}
