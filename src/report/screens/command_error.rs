//! Why a command could not do what it was asked, for people.

use super::style::{Role, TextLayout};
use super::text::sanitize_lines;

/// `error: …` and `help: …`, with a line feed at the end.
pub fn human(message: &str, help: Option<&str>, screen: &TextLayout) -> String {
    let error = screen.style.paint(Role::Bad, "error:");
    let mut text = format!("{error} {}\n", sanitize_lines(message));
    text.push_str(&help.map_or_else(String::new, |help| self::help(help, screen)));
    screen.wrap(&text)
}

/// The line that says what to do next, with a line feed at its end.
pub fn help(help: &str, screen: &TextLayout) -> String {
    let label = screen.style.paint(Role::Active, "help:");
    screen.wrap(&format!("{label} {}\n", sanitize_lines(help)))
}
