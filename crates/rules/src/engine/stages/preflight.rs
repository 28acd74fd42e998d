//! Preflight: cheap checks of plain evidence that spend no judge call (semantics, section 6). The first that fails wins.
//!
//! Unknown is never zero: an agent without a ledger of its tool calls may have made any number, and a file that another
//! turn may have written may be this one's.

use crate::domain::{Cause, Severity, StageKey, TaskId, Verdict};
use crate::engine::audit::is_lost;
use crate::engine::event_payload::{FileFact, StageReport};
use crate::engine::state::{Known, TaskState};
use crate::judging::baseline_checks::{BaselineCheck, CheckPlace, Weighed};
use crate::judging::evidence_rules::{
    FileState, PreflightReject, TargetFileFact, artifacts, hollow_work, is_all_watched, must_touch,
    must_write, nothing_touched, nothing_written, requires_tool_calls, watched, zero_tool_calls,
};
use crate::judging::write_intent::asked_files;
use crate::plan::{Extent, Plan};

use super::view::{Next, View};

const KEY: StageKey = StageKey::PREFLIGHT;

/// Whether what the agent said is to be read: only of one that is known to have done nothing, and where the work is to write
/// files, of one that is known to have written none.
pub fn asks_what_it_said(plan: &Plan, id: TaskId, task: &TaskState) -> bool {
    has_no_calls(task) || (must_write(plan.task(id)) && has_written_nothing(plan, id, task))
}

fn has_no_calls(task: &TaskState) -> bool {
    task.attempt.calls.known().is_some_and(|calls| calls.calls == 0)
}

/// Whether it is known that the task's agent wrote no file: by what was looked at, or because the agent called
/// nothing or has no way to write.
fn has_written_nothing(plan: &Plan, id: TaskId, task: &TaskState) -> bool {
    let can_write = plan.worker_of(id).spec.has_hands();
    match task.course.evidence.written {
        Some(Known::Yes) => false,
        Some(Known::No) if !watched(plan, id).is_empty() => true,
        _ => has_no_calls(task) || !can_write,
    }
}

/// Whether work that was to touch files wrote any anew, where it left all of them as they were; `None` where it
/// did not, or need not. In a worktree all count but those that git ignores, elsewhere those that are named.
pub fn undone(plan: &Plan, id: TaskId, task: &TaskState) -> Option<bool> {
    let (work, evidence) = (plan.task(id), &task.course.evidence);
    // What is handed down is written by others, later.
    let is_meant = must_touch(work) && task.delegations.is_empty() && plan.rules.extent != Extent::Judging;
    let is_seen = work.is_isolated() || !work.target_files.is_empty();
    let spec = &plan.worker_of(id).spec;
    match evidence.written {
        _ if !is_meant || !is_seen => None,
        // It can only answer.
        _ if spec.adapter.is_http() && !spec.has_hands() => Some(false),
        _ if evidence.changed != Known::No => None,
        _ if work.is_isolated() && is_all_watched(plan, id) => Some(false),
        Some(Known::Yes) => Some(true),
        Some(Known::No) => Some(false),
        Some(Known::Unknown) | None => None,
    }
}

/// Why there was nothing to do, as the worker of a task says, where nothing is known against it.
#[must_use]
pub fn nothing_to_do(task: &TaskState) -> Option<&str> {
    let stands = task.course.evidence.changed != Known::Yes && task.delegations.is_empty();
    task.output.nothing_to_do.as_deref().filter(|_| stands)
}

/// Sentences for judges where no file is another one than before the work, or where its worker says that there
/// was nothing to do.
#[must_use]
pub fn signs_of_no_work(plan: &Plan, id: TaskId, task: &TaskState) -> Vec<String> {
    let unchanged = undone(plan, id, task).map(|_| "No file is another one than before the work.".to_owned());
    let claim = nothing_to_do(task).map(|why| format!("The worker says that there was nothing to do: {why}"));
    unchanged.into_iter().chain(claim).collect()
}

pub fn open(view: View<'_>) -> Next {
    if let Some(report) = lacks_files(view) {
        return Next::Fail(report);
    }
    if let Some(found) = not_done(view) {
        return Next::Fail(reject(view, Cause::Preflight, found));
    }
    let mut report = view.report(KEY, Verdict::Pass, None);
    let claim = view.task.output.nothing_to_do.as_deref();
    if let Some(claim) = claim.filter(|_| nothing_to_do(view.task).is_none()) {
        let text = format!("it says that there was nothing to do, and did something: {claim}");
        report.add(Severity::Low, text);
    }
    let is_silent = view.work().target_files.is_empty() && report.findings.is_empty();
    Next::Pass((!is_silent).then_some(report))
}

/// The report, behind the checks, against work that was to touch files and touched none, where no check shows
/// that it was done.
pub fn untouched(view: View<'_>) -> Option<Box<StageReport>> {
    let (state, task) = (view.state, view.task);
    let is_none = undone(view.plan(), view.id, task) == Some(false) && nothing_to_do(task).is_none();
    let may_prove = |item: &BaselineCheck| {
        // These facts are looked at later.
        let is_later = matches!(item.place, CheckPlace::Criterion(_));
        let weighed = state.weighed(view.id, task, item);
        let passes = weighed.passes || is_later;
        Weighed { passes, ..weighed }.is_proof()
    };
    let stands = task.attempt.accepted.is_some() || state.weighed_items(view.id).iter().any(may_prove);
    let found = || nothing_touched(&view.work().target_files.join(", "));
    (is_none && !stands).then(|| reject(view, Cause::Preflight, found()))
}

/// The report against work whose declared files are all missing or empty.
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
    let lost: Vec<TargetFileFact> = lost
        .iter()
        .filter(|recorded| is_lost(recorded, files))
        .map(|recorded| target_file(&recorded.path, files))
        .collect();
    if !lost.is_empty() {
        return artifacts(&lost);
    }
    let targets = view.work().target_files.iter();
    let targets: Vec<TargetFileFact> = targets.map(|path| target_file(path, files)).collect();
    artifacts(&targets)
}

/// The evidence shows that nothing was done.
fn not_done(view: View<'_>) -> Option<PreflightReject> {
    let plan = view.work();
    let no_calls = has_no_calls(view.task);
    if nothing_to_do(view.task).is_some() {
        return None;
    }
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
    let is_asked = asked.as_ref().is_some_and(|names| can_write || no_calls || !names.is_empty());
    if is_asked || (no_calls && !plan.target_files.is_empty()) {
        let targets = plan.target_files.iter().map(AsRef::as_ref);
        let names: Vec<&str> = targets.chain(asked.into_iter().flatten()).collect();
        return Some(nothing_written(&names));
    }
    let said = view.judging().hollow.as_deref();
    said.filter(|_| asks_what_it_said(view.plan(), view.id, view.task)).map(hollow_work)
}

fn target_file(path: &str, files: &[FileFact]) -> TargetFileFact {
    let fact = files.iter().find(|file| file.path == path);
    let state = match fact.map(|fact| (fact.size, &fact.obstacle)) {
        None | Some((None, None)) => FileState::Missing,
        Some((None, Some(why))) => FileState::Obstacle(why.clone()),
        Some((Some(0), _)) => FileState::Empty,
        Some((Some(_), _)) => FileState::Filled,
    };
    TargetFileFact { path: path.to_owned(), state }
}
