//! Preflight: cheap checks of plain evidence that spend no judge call (semantics, section 6). The first that fails wins.
//!
//! Unknown is never zero: an agent without a ledger of its tool calls may have made any number, and a file that another
//! turn may have written may be this one's.

use crate::domain::{Cause, Stage, StageKey, Verdict};
use crate::engine::audit::is_lost;
use crate::engine::payload::{FileFact, StageReport};
use crate::engine::state::{Known, TaskState};
use crate::judging::evidence_rules::{
    FileState, PreflightReject, TargetFile, artifacts, asks_for_file, hollow_work, is_watched,
    nothing_written, requires_tool_calls, zero_tool_calls,
};

use super::view::{Next, View};

const KEY: StageKey = StageKey::Of(Stage::Preflight);

/// Whether what the agent said is to be read: only of one that is known to have done nothing.
pub fn asks_what_it_said(task: &TaskState) -> bool {
    task.attempt.calls.known().is_some_and(|calls| calls.calls == 0)
}

pub(super) fn open(view: View<'_>) -> Next {
    if let Some(report) = lacks_files(view) {
        return Next::Fail(report);
    }
    match not_done(view) {
        Some(found) => Next::Fail(reject(view, Cause::Preflight, found)),
        None if view.work().target_files.is_empty() => Next::Pass(None),
        None => Next::Pass(Some(view.report(KEY, Verdict::Pass, None))),
    }
}

/// What is said against work whose declared files are all missing or empty.
pub fn lacks_files(view: View<'_>) -> Option<Box<StageReport>> {
    artifacts_missing(view).map(|found| reject(view, Cause::Artifact, found))
}

fn reject(view: View<'_>, cause: Cause, found: PreflightReject) -> Box<StageReport> {
    let mut report = view.report(KEY, Verdict::Fail, Some(cause));
    report.points = Some(found.points);
    report.findings = found.findings;
    report
}

/// Declared files must not all be missing or empty; and of accepted work that did not stand, none that was there.
fn artifacts_missing(view: View<'_>) -> Option<PreflightReject> {
    let files = view.files();
    let lost = view.task.reopened.as_deref().map_or(&[][..], |open| &open.files);
    let lost: Vec<TargetFile> = lost
        .iter()
        .filter(|recorded| is_lost(recorded, files))
        .map(|recorded| target_file(&recorded.path, files))
        .collect();
    if !lost.is_empty() {
        return artifacts(&lost);
    }
    let targets = view.work().target_files.iter();
    let targets: Vec<TargetFile> = targets.map(|path| target_file(path, files)).collect();
    artifacts(&targets)
}

/// The evidence shows that nothing was done.
fn not_done(view: View<'_>) -> Option<PreflightReject> {
    let plan = view.work();
    let evidence = &view.task.course.evidence;
    let calls = view.task.attempt.calls.known();
    let no_calls = calls.is_some_and(|calls| calls.calls == 0);
    if no_calls && requires_tool_calls(plan) {
        return Some(zero_tool_calls());
    }
    let asked = plan.description.as_deref().is_some_and(asks_for_file);
    let is_seen = is_watched(view.plan(), view.id) && !plan.target_files.is_empty();
    let none_seen = is_seen && evidence.written == Known::No;
    let none_written = match calls {
        Some(_) => no_calls && (none_seen || !is_seen),
        // What was called is unknown; that nobody wrote to the files that the task must produce is not.
        None => none_seen,
    };
    if none_written && (asked || (no_calls && !plan.target_files.is_empty())) {
        return Some(nothing_written(&plan.target_files));
    }
    let said = view.judging().and_then(|judging| judging.hollow.as_deref());
    let no_files = evidence.written == Known::No;
    said.filter(|_| no_calls && no_files).map(hollow_work)
}

fn target_file(path: &str, files: &[FileFact]) -> TargetFile {
    let fact = files.iter().find(|file| file.path == path);
    let state = match fact.map(|fact| (fact.size, &fact.obstacle)) {
        None | Some((None, None)) => FileState::Missing,
        Some((None, Some(why))) => FileState::Obstacle(why.clone()),
        Some((Some(0), _)) => FileState::Empty,
        Some((Some(_), _)) => FileState::Filled,
    };
    TargetFile {
        path: path.to_owned(),
        state,
    }
}
