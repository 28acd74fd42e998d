//! `quorum gate` for people: a line for each gate.

use super::style::{Role, Screen};
use super::text::sanitize;

/// The line, with a line feed at its end. `stands` is `passed`, `overridden`, `failed` or `waiting`.
#[must_use]
pub fn human(name: &str, stands: &str, reason: Option<&str>, screen: &Screen) -> String {
    let role = match stands {
        "passed" => Role::Good,
        "failed" => Role::Bad,
        _ => Role::Warn,
    };
    let why = reason.map_or_else(String::new, |reason| format!(": {}", sanitize(reason)));
    let stands = screen.style.paint(role, stands);
    screen.wrap(&format!("gate {} {stands}{why}\n", sanitize(name)))
}
