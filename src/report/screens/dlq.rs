//! The dead-letter queue for people.

use minijinja::value::Serde;
use minijinja::{Error, context};

use super::style::TextLayout;
use super::templates::render;
use crate::report::documents::commands::DeadLettersDocument;

/// One line each, the first of them the oldest; or everything about one.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn human(document: DeadLettersDocument<'_>, screen: &TextLayout) -> Result<String, Error> {
    let args = document.letter.map(|letter| letter.args.to_string());
    let page = context! { args, ..Serde(document) };
    Ok(screen.wrap(&render(screen, include_str!("dlq.txt"), page)?))
}
