//! Failed dependencies (semantics, section 11): what is tried for a task, in the order of its `onDependencyFailed`,
//! until something applies. Only direct dependents are touched; those of a task that is skipped have their own turn.

use crate::domain::{Answer, FailureMode, Purpose, TaskId};
use crate::engine::event::{DependencyStep, Event, TaskEvent};
use crate::engine::event_payload::{FileFact, Way};
use crate::engine::job::Job;
use crate::engine::rounds::{ESCALATE_AFTER, stall_before};
use crate::engine::state::State;
use crate::mission::model::{CoordinationMiddleware, Remedy};

use super::draft::Draft;
use super::{fixups, outgoing, redo};

/// A dependency of a task failed for good, or what it waited for has come: what becomes of it.
pub fn failed(state: &State, task: TaskId, dependency: TaskId) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    let known = draft.task.remedies.as_deref().is_some_and(|remedies| remedies.entry(dependency).is_some());
    if !known {
        emit(&mut draft, dependency, DependencyStep::Detected, String::new());
    }
    try_next(&mut draft, dependency);
    draft.into_events()
}

/// Tries what has not been tried yet.
fn try_next(draft: &mut Draft<'_>, dependency: TaskId) {
    let rules = &draft.plan().rules;
    let own = draft.task_plan().on_dependency_failed;
    let order = own.unwrap_or(rules.settings.on_dependency_failed);
    if draft.plan().route(dependency).is_some() {
        // Nothing stands in for a verdict.
        return skip(draft, dependency, None);
    }
    let remedies = draft.task.remedies.as_deref();
    let entry = remedies.and_then(|remedies| remedies.entry(dependency));
    let looked = entry.is_some_and(|entry| entry.looked);
    let asked = entry.is_some_and(|entry| entry.no_way.is_some());
    let resolutions = remedies.map(|remedies| remedies.resolutions).unwrap_or_default();
    let mut nowhere = None;
    for remedy in order.iter() {
        match remedy {
            Remedy::Artifacts if !looked && !draft.plan().task(dependency).target_files.is_empty() => {
                return outgoing::run(draft, Job::Artifacts(dependency));
            }
            Remedy::Partial => match partial(draft) {
                Share::Open => return,
                Share::Enough => return do_without_all(draft),
                Share::TooFew => {}
            },
            // Nothing more is to be started, neither the task nor what it needs; or nobody is to be asked for another way.
            Remedy::Resolve
                if draft.state.session.failed_fast
                    || !rules.coordination.has(CoordinationMiddleware::CoordinationReplan) => {}
            Remedy::Resolve if !asked && resolutions < rules.settings.max_resolution_attempts => {
                if let Some(orchestrator) = rules.orchestrator {
                    nowhere = gets_nowhere(draft);
                    if nowhere.is_none() {
                        return outgoing::ask(draft, Purpose::Resolve { dependency }, orchestrator);
                    }
                }
            }
            Remedy::Skip => break,
            Remedy::Artifacts | Remedy::Resolve => {}
        }
    }
    // What was skipped for it is told with the first of them.
    let is_first = draft.state.task(dependency).mode() != Some(FailureMode::Cascade);
    skip(draft, dependency, nowhere.filter(|_| is_first));
}

/// How many waves in a row brought nothing, where these are too many for another plan by an agent (section 17): a person is told.
fn gets_nowhere(draft: &Draft<'_>) -> Option<u32> {
    let chain = &draft.plan().rules.coordination;
    let wave = draft.task_plan().wave;
    // Before the first waves there are not so many to look at.
    let may_be = wave >= ESCALATE_AFTER && chain.has(CoordinationMiddleware::ProgressLedger);
    let waves = may_be.then(|| stall_before(draft.state, wave))?;
    (waves >= ESCALATE_AFTER).then_some(waves)
}

/// Whether enough of a task's dependencies are done.
enum Share {
    /// Some of the files have not been looked at.
    Open,
    Enough,
    TooFew,
}

/// The share of done dependencies against the threshold of the failed ones; of several the highest.
fn partial(draft: &Draft<'_>) -> Share {
    let dependencies = draft.plan().dependencies.of(draft.id);
    let state = draft.state;
    if dependencies.iter().any(|id| !state.is_settled(*id)) {
        return Share::Open;
    }
    let done = dependencies.iter().filter(|id| state.is_met(**id)).count();
    let mut thresholds =
        missing(draft).map(|id| threshold(state.task(id).mode().unwrap_or(FailureMode::Error)));
    let enough = |percent: usize| done * 100 >= percent * dependencies.len();
    if thresholds.all(|threshold| threshold.is_some_and(enough)) { Share::Enough } else { Share::TooFew }
}

/// The share of dependencies that must be done, in percent, when one failed like this; `None`: never.
fn threshold(mode: FailureMode) -> Option<usize> {
    match mode {
        FailureMode::Timeout => Some(0),
        FailureMode::RateLimit => Some(30),
        FailureMode::Error => Some(50),
        FailureMode::Quality | FailureMode::Hollow => Some(70),
        FailureMode::Cascade => Some(80),
        FailureMode::Rejected
        | FailureMode::Cancelled
        | FailureMode::Protected
        | FailureMode::Deadline
        | FailureMode::Regressed => None,
    }
}

/// The dependencies that failed for good, and that it does not do without yet.
fn missing(draft: &Draft<'_>) -> impl Iterator<Item = TaskId> {
    let dependencies = draft.plan().dependencies.of(draft.id).iter().copied();
    dependencies.filter(|id| draft.state.has_failed_for_good(*id) && !draft.task.does_without(*id))
}

fn do_without_all(draft: &mut Draft<'_>) {
    for dependency in missing(draft).collect::<Vec<_>>() {
        do_without(draft, dependency, Way::Partial, String::new());
    }
}

fn do_without(draft: &mut Draft<'_>, dependency: TaskId, way: Way, note: String) {
    emit(draft, dependency, DependencyStep::Resolved(way), note);
}

fn emit(draft: &mut Draft<'_>, dependency: TaskId, step: DependencyStep, note: String) {
    draft.emit_own(TaskEvent::DependencyFailed { dependency, step, note });
}

/// The files of a failed dependency were looked at: half of them, with content, are enough.
pub fn scanned(draft: &mut Draft<'_>, dependency: TaskId, files: &[FileFact]) {
    let targets = &draft.plan().task(dependency).target_files;
    let is_there = |path: &str| files.iter().any(|file| file.path == path && file.has_content());
    let there: Vec<&str> = targets.iter().map(AsRef::as_ref).filter(|path| is_there(path)).collect();
    if there.len() * 2 >= targets.len() && !there.is_empty() {
        do_without(draft, dependency, Way::Artifacts, there.join(", "));
    } else {
        try_next(draft, dependency);
    }
}

/// The orchestrator decided, or did not.
pub fn resolved(draft: &mut Draft<'_>, dependency: TaskId, answer: Result<&Answer, &str>) {
    let failed = draft.state.task(dependency);
    match answer {
        Ok(Answer::Absorb { prompt }) => do_without(draft, dependency, Way::Absorb, prompt.clone()),
        Ok(Answer::Retry { reason })
            if may_be_tried_again(failed.mode()) && !draft.state.session.failed_fast =>
        {
            do_without(draft, dependency, Way::Retry, reason.clone());
            let events = redo::from_the_start(draft.state, dependency, "the orchestrator has it tried again");
            draft.also(events);
            draft.also(fixups::taken_back(draft.state, dependency));
        }
        _ => try_next(draft, dependency),
    }
}

/// Whether an agent's word may begin a failed task anew. It may not where a person or a rule ended the task.
/// Nor where the task failed only because something else did: that has not changed, and each link of a chain
/// would multiply the tries of the one before.
fn may_be_tried_again(mode: Option<FailureMode>) -> bool {
    mode.is_some_and(|mode| mode != FailureMode::Cascade && threshold(mode).is_some())
}

/// Nothing stands in: the task fails too.
fn skip(draft: &mut Draft<'_>, dependency: TaskId, waves: Option<u32>) {
    let remedies = draft.task.remedies.as_deref();
    let entry = remedies.and_then(|remedies| remedies.entry(dependency));
    let no_way = entry.and_then(|entry| entry.no_way.as_deref()).unwrap_or_default();
    let title = draft.plan().title(dependency);
    let reason = match no_way {
        "" => format!("dependency '{title}' failed"),
        no_way => format!("dependency '{title}' failed; the orchestrator: {no_way}"),
    };
    let step = DependencyStep::Unresolvable(waves);
    emit(draft, dependency, step, reason.clone());
    draft.fail(FailureMode::Cascade, reason);
}
