//! What was found in a run, for every report alike: the causes of failures, and what accepted work carries
//! (semantics, section 20).

use schemars::JsonSchema;
use serde::Serialize;

use rules::{
    domain::{Severity, Stage, TaskId},
    engine::{FLAKY, State},
    mission::first_line,
};

use super::view::{FindingView, RunView};
use crate::report::{
    documents::TaskRow,
    screens::text::{count, mark},
};

/// Findings of a failed task that a report shows; the rest is counted.
pub const SHOWN: usize = 3;

/// Before each line of an output.
pub const OUTPUT: &str = "| ";

/// One finding in `quorum.run/v1`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingRow<'a> {
    /// The stage that found it.
    #[schemars(with = "Stage")]
    pub(super) stage: &'static str,
    /// One of the mission's own stages: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<&'a str>,
    /// `null` for what quorum itself saw.
    reviewer: Option<&'a str>,
    /// The severity of the finding.
    pub(super) severity: Severity,
    /// The finding in words.
    pub(super) description: &'a str,
    /// The evidence of the finding.
    pub(super) evidence: Option<&'a str>,
    /// A way to correct the problem.
    suggested_fix: Option<&'a str>,
    /// Whether the finding is a point of an earlier review that nobody has shown to be addressed.
    open: bool,
}

impl<'a> FindingRow<'a> {
    /// The findings of a task's current, or last, attempt, in the order of the stages.
    pub fn all(state: &'a State, view: &'a RunView, id: TaskId) -> Vec<Self> {
        let found = view.task(id).found().iter();
        found.map(|found| Self::of(state, found)).collect()
    }

    pub fn of(state: &'a State, found: &'a FindingView) -> Self {
        let agent = found.reviewer.map(|id| state.plan.agent_name(id));
        Self {
            stage: found.stage.as_str(),
            name: found.name.as_deref(),
            reviewer: found.person.as_deref().or(agent),
            severity: found.finding.severity,
            description: &found.finding.description,
            evidence: found.finding.evidence.as_deref(),
            suggested_fix: found.finding.suggested_fix.as_deref(),
            open: found.finding.open,
        }
    }

    /// Whether the finding tells of a check that failed, and passed when it ran again.
    pub fn is_flaky(&self) -> bool {
        self.reviewer.is_none() && self.description.starts_with(FLAKY)
    }

    /// `[high] A password is committed (alice)`, on one line. Of an output only what says of what it is.
    pub fn line(&self) -> String {
        self.words(first_line(self.description))
    }

    /// The finding with all of an output, on one line.
    pub fn whole(&self) -> String {
        self.words(self.description)
    }

    fn words(&self, description: &str) -> String {
        let by = self.reviewer.map_or_else(String::new, |who| format!(" ({who})"));
        format!("{} {}{by}", mark(self.severity, self.open), description.trim())
    }
}

/// The findings of a task, the most severe first: at most [`SHOWN`], each with the last lines of its output,
/// and a line that counts the rest. A finding that the task's failure repeats is left out.
pub fn top_lines(task: &TaskRow<'_>) -> Vec<String> {
    let failure = task.failure.map(|failure| &*failure.message);
    let found = task.findings.iter();
    let mut found: Vec<_> = found.filter(|found| failure != Some(found.description)).collect();
    found.sort_by_key(|found| std::cmp::Reverse(found.severity));
    let mut lines = Vec::new();
    for found in found.iter().take(SHOWN) {
        lines.push(found.line());
        lines.extend(output(found.description));
    }
    if found.len() > SHOWN {
        lines.push(format!("{} more", count(found.len() - SHOWN, "finding")));
    }
    lines
}

/// The last lines of what a check printed, each marked as such.
fn output(description: &str) -> Vec<String> {
    const LINES: usize = 5;
    let output = description.lines().skip(1);
    let output: Vec<&str> = output.filter(|line| !line.trim().is_empty()).collect();
    let last = &output[output.len().saturating_sub(LINES)..];
    last.iter().map(|line| format!("{OUTPUT}{line}")).collect()
}
