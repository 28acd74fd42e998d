//! What was found in a run, for every report alike: the causes of failures, and what accepted work carries
//! (semantics, section 20).

use serde::Serialize;

use crate::domain::{Severity, Status, TaskId};
use crate::engine::State;

use super::text::{first_line, sanitize, sanitize_line};
use super::view::{FindingView, RunView, SeverityCounts};

/// Findings of a failed task that a report shows; the rest is counted.
pub(super) const SHOWN: usize = 3;

/// Before each line of an output.
pub(super) const OUTPUT: &str = "| ";

/// One finding in `quorum.run/v1`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FindingRow<'a> {
    stage: &'static str,
    /// One of the mission's own stages: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// `null` for what quorum itself saw.
    reviewer: Option<&'a str>,
    severity: &'static str,
    description: &'a str,
    evidence: Option<&'a str>,
    suggested_fix: Option<&'a str>,
    /// Whether it is a point of an earlier review that nobody has shown to be addressed.
    open: bool,
}

impl<'a> FindingRow<'a> {
    /// The findings of a task's current, or last, attempt, in the order of the stages.
    pub fn all(state: &'a State, view: &'a RunView, id: TaskId) -> Vec<Self> {
        let row = |found: &'a FindingView| Self {
            stage: found.stage.as_str(),
            name: found.name.as_deref(),
            reviewer: reviewer(state, found),
            severity: found.finding.severity.as_str(),
            description: &found.finding.description,
            evidence: found.finding.evidence.as_deref(),
            suggested_fix: found.finding.suggested_fix.as_deref(),
            open: found.finding.open,
        };
        view.task(id).found().iter().map(row).collect()
    }
}

fn reviewer<'a>(state: &'a State, found: &'a FindingView) -> Option<&'a str> {
    let agent = found.reviewer.map(|id| &*state.plan.agent(id).name);
    found.person.as_deref().or(agent)
}

/// `[high] A password is committed (alice)`, on one line. Of an output only what says of what it is.
pub(super) fn line(state: &State, found: &FindingView) -> String {
    said(state, found, first_line(&found.finding.description))
}

/// The same with all of an output, on one line.
pub(super) fn whole(state: &State, found: &FindingView) -> String {
    said(state, found, &found.finding.description)
}

fn said(state: &State, found: &FindingView, description: &str) -> String {
    let severity = found.finding.severity.as_str();
    let open = if found.finding.open { ", still open" } else { "" };
    let said = sanitize(description);
    match reviewer(state, found) {
        Some(who) => format!("[{severity}{open}] {said} ({})", sanitize(who)),
        None => format!("[{severity}{open}] {said}"),
    }
}

/// What was found in a task, the most severe first: at most [`SHOWN`], each with the last lines
/// of its output, and a line that counts the rest. What the task's
/// failure says already is left out.
pub(super) fn top_lines(state: &State, view: &RunView, id: TaskId) -> Vec<String> {
    let seen = view.task(id);
    let failure = seen.failure.as_deref().map(|failure| failure.message.as_str());
    let found = seen.found().iter();
    let mut found: Vec<&FindingView> = found
        .filter(|found| failure != Some(&*found.finding.description))
        .collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.finding.severity));
    let mut lines = Vec::new();
    for found in found.iter().take(SHOWN) {
        lines.push(line(state, found));
        lines.extend(output(found));
    }
    if found.len() > SHOWN {
        lines.push(format!(
            "{} more",
            super::text::count(found.len() - SHOWN, "finding")
        ));
    }
    lines
}

/// The last lines of what a check printed, each marked as such.
fn output(found: &FindingView) -> Vec<String> {
    const LINES: usize = 5;
    let output = found.finding.description.lines().skip(1);
    let output: Vec<&str> = output.filter(|line| !line.trim().is_empty()).collect();
    let last = &output[output.len().saturating_sub(LINES)..];
    last.iter()
        .map(|line| format!("{OUTPUT}{}", sanitize_line(line)))
        .collect()
}

/// What accepted work carries: how many findings of each severity, and every critical and high one.
pub(super) struct Accepted<'a> {
    pub counts: SeverityCounts,
    pub severe: Vec<(TaskId, &'a FindingView)>,
}

impl<'a> Accepted<'a> {
    pub fn of(state: &State, view: &'a RunView) -> Self {
        let mut accepted = Self {
            counts: SeverityCounts::default(),
            severe: Vec::new(),
        };
        let done = state
            .plan
            .task_ids()
            .filter(|id| state.task(*id).status() == Status::Done);
        for (id, found) in done.flat_map(|id| view.task(id).found().iter().map(move |found| (id, found))) {
            // What is for the record says how the verdict came about, not what is wrong with the work.
            if found.finding.severity > Severity::Info {
                accepted.counts.add(found.finding.severity);
            }
            if found.finding.severity >= Severity::High {
                accepted.severe.push((id, found));
            }
        }
        accepted
    }
}
