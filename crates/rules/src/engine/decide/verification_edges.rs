//! A verification as a node of the graph (semantics, section 10): it judges the work of the tasks that it depends on, and its
//! verdict takes one of its edges.
//!
//! It has no worker: it goes to its judging at once. A verdict always takes its edge, and no person is asked: that is
//! what the edges are for. A judge that fails has given no verdict; then the rules of every verification hold.

use std::collections::BTreeSet;

use crate::domain::{AttemptKind, Cause, Edge, FailureMode, StageKey, Status, TaskId, Verdict};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::not_taken::leaving;
use crate::engine::state::State;
use crate::plan::Route;

use super::conclude;
use super::draft::Draft;
use super::redo::{begin_again, built_on, from_the_start, withdraw, withdrawn};
use super::{fixups, pipeline};

/// A verification starts: there is nothing to do before it is judged.
pub fn begin(draft: &mut Draft<'_>) {
    if draft.task.status() != Status::Assigned {
        draft.enter(Status::Assigned);
    }
    draft.enter(Status::InProgress);
    draft.enter(Status::Review);
    if draft.state.judged(draft.id).next().is_none() {
        return judges_nothing(draft);
    }
    pipeline::begin(draft);
}

/// Decides about a verification that an edge led to and of whose work none is part of the run. That is no
/// verdict about any work.
fn judges_nothing(draft: &mut Draft<'_>) {
    let Some(route) = draft.plan().route(draft.id) else {
        return;
    };
    let left: Vec<&str> = draft.plan().judged(draft.id).map(|id| draft.plan().title(id)).collect();
    let message = format!("there is nothing to judge: '{}' is not part of the run", left.join("', '"));
    let (cause, key) = (Cause::Artifact, StageKey::VERIFICATION);
    let report = draft.view().remark(key, Verdict::Refer, Some(cause), &message);
    conclude::record(draft, *report);
    referred(draft, route, cause, &message);
}

/// The work is accepted, or its verdict leads on all the same: the verification is about to be done.
pub fn take(draft: &mut Draft<'_>, edge: Edge) {
    let Some(route) = draft.plan().route(draft.id) else {
        return;
    };
    draft.emit_own(TaskEvent::EdgeTaken {
        edge,
        to: route.target(edge),
        // Judging once more what is done again is no visit.
        visit: draft.task.course.visits + u32::from(draft.task.reopened.is_none()),
        not_taken: leaving(draft.state, draft.id, edge),
        stopped: Vec::new(),
        kept: Vec::new(),
    });
}

/// Whether the verdict of a verification that judges once more is another one than before: then it fails, for what was
/// built on its first verdict stays (section 6).
pub fn turns(draft: &mut Draft<'_>, edge: Edge) -> bool {
    let Some(before) = draft.task.edge().filter(|before| *before != edge) else {
        return false;
    };
    let (before, edge) = (before.as_str(), edge.as_str());
    let why = format!("its verdict was {before} and is {edge} now");
    draft.fail(FailureMode::Quality, why);
    true
}

/// The work is not good: it is done again, or the mission goes on as `onFail` says.
pub fn failed(draft: &mut Draft<'_>, route: &Route) {
    if turns(draft, Edge::Fail) {
        return;
    }
    if route.fail_goes_back {
        return send_back(draft, route);
    }
    if draft.state.takes(route.fail) {
        return conclude::accept(draft, Edge::Fail, None);
    }
    let title = draft.plan().title(route.fail);
    draft.fail(
        FailureMode::Quality,
        format!("the work failed verification, and '{title}', which follows then, was left out of the run"),
    );
}

/// Whether the work is good could not be told.
pub fn referred(draft: &mut Draft<'_>, route: &Route, cause: Cause, message: &str) {
    if turns(draft, Edge::Refer) {
        return;
    }
    if draft.state.takes(route.refer) {
        conclude::accept(draft, Edge::Refer, None);
    } else {
        conclude::ask_person(draft, StageKey::VERIFICATION, cause, message);
    }
}

/// Has the work done again with everything that was built on it, this verification included, within `maxVisits`.
fn send_back(draft: &mut Draft<'_>, route: &Route) {
    let (state, id, target) = (draft.state, draft.id, route.fail);
    let visit = draft.task.course.visits + 1;
    if visit >= route.max_visits {
        let why = format!("the work failed verification in all {visit} visits (maxVisits)");
        return draft.fail(FailureMode::Quality, why);
    }
    let title = state.plan.title(target);
    // What is not part of the run any more has not ended either.
    if !state.task(target).status().is_terminal() {
        let why = format!("the work failed verification, and '{title}' is not there to be done again");
        return draft.fail(FailureMode::Quality, why);
    }
    let again = SendBack::of(state, id, target);
    let event = Event::Task(
        id,
        TaskEvent::EdgeTaken {
            edge: Edge::Fail,
            to: target,
            visit,
            not_taken: Vec::new(),
            stopped: again.stopped,
            kept: again.kept,
        },
    );
    draft.also(again.events);
    begin_again(draft, AttemptKind::Execute, &again.why);
    draft.also(vec![event]);
}

/// The effects of sending work back.
struct SendBack {
    /// Why what was built on the work is done again too.
    why: String,
    /// The events about all tasks but the verification itself.
    events: Vec<Event>,
    /// Tasks that are at work on what is withdrawn.
    stopped: Vec<TaskId>,
    /// Other verifications that are redone, with the visits that they had.
    kept: Vec<(TaskId, u32)>,
}

impl SendBack {
    fn of(state: &State, verification: TaskId, target: TaskId) -> Self {
        let plan = &state.plan;
        let by = plan.title(verification);
        let mut events = from_the_start(state, target, &format!("sent back by the verification '{by}'"));
        // The task itself is tried again; what made up for its failure is taken back.
        let fixup = plan.fixup(target).filter(|_| state.task(target).status() == Status::Failed);
        if fixup.is_some() {
            events.extend(fixups::taken_back(state, target));
        }
        let built = built_on(plan, &[target]).into_keys();
        let built: BTreeSet<TaskId> = built.filter(|id| Some(*id) != fixup).collect();
        let why = format!("built on '{}', which was sent back", plan.title(target));
        let (mut stopped, mut kept) = (Vec::new(), Vec::new());
        for id in &built {
            if *id == verification {
                continue;
            }
            let task = state.task(*id);
            events.extend(withdraw(state, *id, &why));
            if task.holds_slot() || task.deferral.is_some() || task.status() == Status::AwaitingApproval {
                stopped.push(*id);
            }
            if plan.route(*id).is_some() && task.course.visits > 0 {
                kept.push((*id, task.course.visits));
            }
        }
        let all: BTreeSet<TaskId> = built.iter().copied().chain([target]).collect();
        events.extend(withdrawn(plan, &all, &built));
        Self { why, events, stopped, kept }
    }
}
