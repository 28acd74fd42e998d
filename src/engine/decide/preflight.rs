//! Preflight: cheap checks of plain evidence that spend no judge call (semantics, section 6). The first that fails wins.
//!
//! Unknown is never zero: an agent without a ledger of its tool calls may have made any number, and a file that another
//! turn may have written may be this one's.

use crate::domain::{Cause, Stage, Verdict};
use crate::engine::audit::is_lost;
use crate::engine::payload::FileFact;
use crate::engine::state::{Known, TaskState};
use crate::judging::evidence_rules::{
    FileState, PreflightReject, TargetFile, artifacts, asks_for_file, hollow_work, is_watched,
    nothing_written, requires_tool_calls, zero_tool_calls,
};

use super::conclude;
use super::draft::Draft;
use super::{finish_gate, stages};

/// Whether what the agent said is to be read: only of one that is known to have done nothing.
pub(super) fn asks_what_it_said(task: &TaskState) -> bool {
    task.attempt.calls.known().is_some_and(|calls| calls.calls == 0)
}

/// Runs the checks; on to the next stage, or back to the worker.
pub(super) fn run(draft: &mut Draft<'_>) {
    if draft.task_plan().route.is_some() {
        // A verification has no work of its own.
        return stages::checks(draft);
    }
    if rejects_artifacts(draft) {
        return;
    }
    match not_done(draft) {
        Some(found) => reject(draft, Cause::Preflight, found),
        None => {
            if !draft.task_plan().target_files.is_empty() {
                conclude::stage(draft, Stage::Preflight, Verdict::Pass, None, |_| {});
            }
            finish_gate::begin(draft);
        }
    }
}

/// Sends the work back where its declared files are all missing or empty.
pub(super) fn rejects_artifacts(draft: &mut Draft<'_>) -> bool {
    let found = artifacts_missing(draft);
    let rejects = found.is_some();
    if let Some(found) = found {
        reject(draft, Cause::Artifact, found);
    }
    rejects
}

fn reject(draft: &mut Draft<'_>, cause: Cause, found: PreflightReject) {
    conclude::stage(draft, Stage::Preflight, Verdict::Fail, Some(cause), |report| {
        report.points = Some(found.points);
        report.findings = found.findings;
    });
    conclude::not_good_enough(draft);
}

/// Declared files must not all be missing or empty; and of accepted work that did not stand, none that was there.
fn artifacts_missing(draft: &Draft<'_>) -> Option<PreflightReject> {
    let targets = &draft.task_plan().target_files;
    let judging = draft.task.judging();
    let files = judging.map_or(&[][..], |judging| &judging.files);
    let lost = draft.task.reopened.as_deref().map_or(&[][..], |open| &open.files);
    let lost: Vec<TargetFile> = lost
        .iter()
        .filter(|recorded| is_lost(recorded, files))
        .map(|recorded| target_file(&recorded.path, files))
        .collect();
    if !lost.is_empty() {
        return artifacts(&lost);
    }
    let targets: Vec<TargetFile> = targets.iter().map(|path| target_file(path, files)).collect();
    artifacts(&targets)
}

/// The evidence shows that nothing was done.
fn not_done(draft: &Draft<'_>) -> Option<PreflightReject> {
    let plan = draft.task_plan();
    let evidence = &draft.task.course.evidence;
    let calls = draft.task.attempt.calls.known();
    let no_calls = calls.is_some_and(|calls| calls.calls == 0);
    if no_calls && requires_tool_calls(plan) {
        return Some(zero_tool_calls());
    }
    let asked = plan.description.as_deref().is_some_and(asks_for_file);
    let is_seen = is_watched(draft.plan(), draft.id) && !plan.target_files.is_empty();
    let none_seen = is_seen && evidence.written == Known::No;
    let none_written = match calls {
        Some(_) => no_calls && (none_seen || !is_seen),
        // What was called is unknown; that nobody wrote to the files that the task must produce is not.
        None => none_seen,
    };
    if none_written && (asked || (no_calls && !plan.target_files.is_empty())) {
        return Some(nothing_written(&plan.target_files));
    }
    let said = draft.task.judging().and_then(|judging| judging.hollow.as_deref());
    let no_files = evidence.written == Known::No;
    said.filter(|_| no_calls && no_files).map(hollow_work)
}

fn target_file(path: &str, files: &[FileFact]) -> TargetFile {
    let size = files
        .iter()
        .find(|file| file.path == path)
        .and_then(|file| file.size);
    let state = match size {
        None => FileState::Missing,
        Some(0) => FileState::Empty,
        Some(_) => FileState::Filled,
    };
    TargetFile {
        path: path.to_owned(),
        state,
    }
}
