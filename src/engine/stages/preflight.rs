//! Preflight: cheap checks of plain evidence that spend no judge call (semantics, section 6). The first that fails wins.
//!
//! Unknown is never zero: an agent without a ledger of its tool calls may have made any number, and a file that another
//! turn may have written may be this one's.

use crate::domain::{Cause, Stage, StageKey, TaskId, Verdict};
use crate::engine::audit::is_lost;
use crate::engine::payload::{FileFact, StageReport};
use crate::engine::state::{Known, TaskState};
use crate::judging::evidence_rules::{
    FileState, PreflightReject, TargetFile, artifacts, hollow_work, must_write, nothing_written,
    requires_tool_calls, watched, zero_tool_calls,
};
use crate::judging::write_intent::asked_files;
use crate::mission::Plan;

use super::view::{Next, View};

const KEY: StageKey = StageKey::Of(Stage::Preflight);

/// Whether what the agent said is to be read: only of one that is known to have done nothing, and where the work is to write
/// files, of one that is known to have written none.
pub fn asks_what_it_said(plan: &Plan, id: TaskId, task: &TaskState) -> bool {
    has_no_calls(task) || (must_write(plan.task(id)) && has_written_nothing(plan, id, task))
}

fn has_no_calls(task: &TaskState) -> bool {
    task.attempt.calls.known().is_some_and(|calls| calls.calls == 0)
}

/// Whether it is known that no file was written: by what was looked at, or because the agent called nothing or has no hands.
fn has_written_nothing(plan: &Plan, id: TaskId, task: &TaskState) -> bool {
    let can_write = plan.worker_of(id).spec.has_hands();
    match task.course.evidence.written {
        Some(Known::Yes) => false,
        Some(Known::No) if !watched(plan, id).is_empty() => true,
        _ => has_no_calls(task) || !can_write,
    }
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
    let no_calls = has_no_calls(view.task);
    if no_calls && requires_tool_calls(plan) {
        return Some(zero_tool_calls());
    }
    // What is handed down is written by others, later.
    if !has_written_nothing(view.plan(), view.id, view.task) || !view.task.delegations.is_empty() {
        return None;
    }
    let asked = plan.description.as_deref().and_then(asked_files);
    let can_write = view.plan().agent(plan.agent).spec.has_hands();
    // Of who cannot write the answer may be the report.
    let is_asked = asked
        .as_ref()
        .is_some_and(|names| can_write || no_calls || !names.is_empty());
    if is_asked || (no_calls && !plan.target_files.is_empty()) {
        let targets = plan.target_files.iter().map(AsRef::as_ref);
        let names: Vec<&str> = targets.chain(asked.into_iter().flatten()).collect();
        return Some(nothing_written(&names));
    }
    let said = view.judging().and_then(|judging| judging.hollow.as_deref());
    said.filter(|_| asks_what_it_said(view.plan(), view.id, view.task))
        .map(hollow_work)
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
