//! Tabs in the indentation, which YAML does not allow.

use crate::mission::file::shown_text::char_start;

/// The tab that indents the line of a place; the line below it counts too where `looks_below`, for a text that goes on there is
/// told where it begins.
pub fn indenting_tab(source: &str, at: usize, looks_below: bool) -> Option<usize> {
    let at = char_start(source, at);
    let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let mut place = start;
    for line in source[start..].split_inclusive('\n').take(1 + usize::from(looks_below)) {
        let indentation = &line[..line.len() - line.trim_start().len()];
        if let Some(tab) = indentation.find('\t') {
            return Some(place + tab);
        }
        place += line.len();
    }
    None
}
