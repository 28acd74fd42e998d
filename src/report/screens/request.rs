//! Requests for work, for people and for programs (semantics, section 16).

use minijinja::Error;
use minijinja::value::Serde;

use crate::store::WorkRequest;
use rules::domain::RequestStatus;

use super::style::TextLayout;
use super::templates::render;
use crate::report::documents::commands::{IntakeDocument, IntakeRow, IntakeStep};

/// A request in a document.
pub fn row(request: &WorkRequest) -> IntakeRow<'_> {
    let created = request.status == RequestStatus::TaskCreated;
    let cancelled = request.status == RequestStatus::Cancelled;
    let steps = request.history.iter().map(|step| IntakeStep {
        status: step.status,
        at: step.at.to_rfc3339(),
        by: &step.by,
        reason: step.reason.as_deref(),
    });
    let task = &request.task;
    IntakeRow {
        id: request.id(),
        status: request.status,
        title: &task.title,
        description: task.description.as_deref(),
        assign_to: task.assign_to.as_deref(),
        kind: task.kind,
        depends_on: &task.depends_on,
        target_files: &task.target_files,
        run_id: request.run.as_ref(),
        task: created.then_some(&*task.title),
        rejection_reason: request.reason().filter(|_| cancelled),
        history: steps.collect(),
    }
}

/// One line each, the first of them the oldest; or everything about one.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn human(document: IntakeDocument<'_>, screen: &TextLayout) -> Result<String, Error> {
    let text = render(screen, include_str!("request.txt"), Serde(document).into())?;
    Ok(screen.wrap(&text))
}
