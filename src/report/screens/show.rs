//! One task for people: what it is, then attempt by attempt what was done and said.

use minijinja::value::Serde;
use minijinja::{Error, context};

use super::style::TextLayout;
use super::templates::render;
use crate::report::documents::{diff::DiffRow, show::TaskDocument};

/// The page, with a line feed at its end: `full`, or what was decided about the task, why, and what its agent said last.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn human(document: &TaskDocument<'_>, full: bool, screen: &TextLayout) -> Result<String, Error> {
    let diff = document.task.diff.as_ref();
    let (change, files) = (diff.map(DiffRow::words), diff.map(DiffRow::named));
    let page = context! { full, change, files, ..Serde(document) };
    Ok(screen.wrap(&render(screen, include_str!("show.txt"), page)?))
}
