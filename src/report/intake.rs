//! Requests for work, for people and for programs (semantics, section 16).

use serde_json::{Value, json};

use crate::domain::RequestStatus;
use crate::store::Request;

use super::style::{Role, Screen};
use super::text::sanitize;

/// A request as JSON.
#[must_use]
pub fn row(request: &Request) -> Value {
    let created = request.status == RequestStatus::TaskCreated;
    let cancelled = request.status == RequestStatus::Cancelled;
    let steps: Vec<Value> = request
        .history
        .iter()
        .map(|step| {
            json!({
                "status": step.status.as_str(),
                "at": step.at.to_rfc3339(),
                "by": step.by,
                "reason": step.reason,
            })
        })
        .collect();
    json!({
        "id": request.id(),
        "status": request.status.as_str(),
        "title": request.task.title,
        "description": request.task.description,
        "assignTo": request.task.assign_to,
        "type": request.task.kind,
        "dependsOn": request.task.depends_on,
        "targetFiles": request.task.target_files,
        "runId": request.run.as_ref().map(crate::domain::RunId::as_str),
        "task": created.then_some(&request.task.title),
        "rejectionReason": request.reason().filter(|_| cancelled),
        "history": steps,
    })
}

/// One line each, the first of them the oldest.
#[must_use]
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
#[must_use]
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
