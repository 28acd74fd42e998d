//! `quorum explain` for people.

use rules::mission::Code;

use super::style::{Role, TextLayout};
use crate::report::vocabulary::words;

/// The meaning of a code and what to do about it, with a line feed at the end.
pub fn one(code: Code, screen: &TextLayout) -> String {
    let head = format!("{code}: {}", code.summary());
    let head = screen.style.paint(Role::Strong, head);
    let text = format!("{head}\n\n{}\n", code.explanation());
    screen.wrap_flush(&letters(&text, screen))
}

/// The meaning of a named thing, with a line feed at the end.
pub fn word(name: &str, meaning: &str, screen: &TextLayout) -> String {
    let head = screen.style.paint(Role::Strong, format!("{name}:"));
    screen.wrap_flush(&letters(&format!("{head} {meaning}\n"), screen))
}

/// All codes and words with a few words each.
pub fn all(screen: &TextLayout) -> String {
    let line = |name: &str, says: &str| {
        let name = screen.style.paint(Role::Strong, name);
        format!("{name}  {says}\n")
    };
    let codes = Code::ALL.iter().map(|code| line(code.as_str(), code.summary()));
    let words = words::all().map(|word| line(word.name(), word.meaning));
    let text: String = codes.chain(words).collect();
    screen.wrap(&letters(&text, screen))
}

/// Our own words in the letters of the screen.
fn letters(text: &str, screen: &TextLayout) -> String {
    if screen.style.unicode {
        text.to_owned()
    } else {
        text.replace('…', screen.style.symbols().ellipsis)
            .replace('–', "-")
    }
}
