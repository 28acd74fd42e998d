//! `quorum config show` for people.

use super::style::{Role, TextLayout};
use super::text::{sanitize, width};

/// A setting and its value.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The key of the setting, dotted.
    pub name: String,
    /// The value as a file would spell it.
    pub value: String,
    /// The layer that decided it.
    pub origin: String,
}

/// The table, with a line feed at its end.
pub fn human(settings: &[Setting], with_origin: bool, screen: &TextLayout) -> String {
    let values: Vec<_> = settings.iter().map(|setting| sanitize(&setting.value)).collect();
    // A long list takes the room that it needs, and no other line is moved aside for it.
    const BESIDE: usize = 20;
    let name = settings
        .iter()
        .map(|setting| setting.name.len())
        .max()
        .unwrap_or(0);
    let widest = values
        .iter()
        .map(|value| width(value))
        .filter(|width| *width <= BESIDE)
        .max()
        .unwrap_or(0);
    let line = |(setting, value): (&Setting, &std::borrow::Cow<'_, str>)| {
        let key = format!("{:name$}", setting.name);
        let key = screen.style.paint(Role::Strong, key);
        if !with_origin {
            return format!("{key}  {value}\n");
        }
        let gap = " ".repeat(widest.saturating_sub(width(value)));
        let origin = sanitize(&setting.origin);
        format!("{key}  {value}{gap}  {}\n", screen.style.paint(Role::Dim, origin))
    };
    let text: String = settings.iter().zip(&values).map(line).collect();
    screen.wrap(&text)
}
