//! Requests for work, for people and for programs (semantics, section 16).

use crate::domain::RequestStatus;
use crate::store::Request;

use super::documents::commands::{IntakeRow, IntakeStep};
use super::style::{Role, Screen};
use super::text::sanitize;

/// A request in a document.
pub fn row(request: &Request) -> IntakeRow<'_> {
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

/// One line each, the first of them the oldest.
pub fn list(requests: &[Request], screen: &Screen) -> String {
    if requests.is_empty() {
        return "there are no requests\n".to_owned();
    }
    let line = |request: &Request| {
        let status = screen
            .style
            .paint(role(request), request.status.as_str().to_owned());
        format!("{}  {status}  {}\n", request.id(), sanitize(&request.task.title))
    };
    let lines: String = requests.iter().map(line).collect();
    screen.wrap(&lines)
}

/// Everything about one.
pub fn one(request: &Request, screen: &Screen) -> String {
    let text = |text: &str| sanitize(text).into_owned();
    let mut lines = vec![
        ("id", request.id()),
        ("status", request.status.as_str().to_owned()),
        ("title", text(&request.task.title)),
    ];
    lines.extend(
        request
            .task
            .description
            .as_deref()
            .map(|it| ("description", text(it))),
    );
    lines.extend(request.task.assign_to.as_deref().map(|it| ("agent", text(it))));
    lines.extend(request.run.as_ref().map(|run| ("run", run.to_string())));
    for step in &request.history {
        let reason = step
            .reason
            .as_deref()
            .map(|reason| format!(": {}", sanitize(reason)));
        let what = format!(
            "{} {} by {}{}",
            step.at.to_rfc3339(),
            step.status.as_str(),
            sanitize(&step.by),
            reason.unwrap_or_default()
        );
        lines.push(("", what));
    }
    screen.fields(lines)
}

fn role(request: &Request) -> Role {
    match request.status {
        RequestStatus::TaskCreated => Role::Good,
        RequestStatus::Cancelled => Role::Dim,
        _ => Role::Warn,
    }
}
