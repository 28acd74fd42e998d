//! Tests of the module as a whole: files in, missions or diagnostics out.

mod accepted;
mod refused;
mod table;

use super::*;

/// Loads a text as a file called `m.yaml`, without configuration files.
pub(crate) fn load_text(text: &str) -> Result<Loaded, Report> {
    load(&Source::new("m.yaml", text), &Layers::default())
}

/// The codes of what a text is told, in order.
pub(crate) fn codes(text: &str) -> Vec<&'static str> {
    let report = load_text(text).map_or_else(|report| report, |loaded| loaded.notes);
    report.diagnostics.iter().map(|diagnostic| diagnostic.code.as_str()).collect()
}

/// A mission with two agents and these lines below `tasks:` and after it.
pub(crate) fn with_tasks(tasks: &str) -> String {
    format!("name: m\nagents:\n  a: {{run: [x]}}\n  b: {{run: [x]}}\ntasks:\n{tasks}")
}
