//! Admission (semantics, section 5): the one rule by which a task takes a slot, on whichever way it comes: out of the
//! ready queue, behind an approval, an answer or a person's word about its work, or because a moment that it waited for
//! has come. A task that has one begins: its checks are looked at, then its agent starts (section 24).
//!
//! Work that goes on where it stopped and is not admitted stays in review without a slot, in the ready queue beside what
//! has not begun (`TaskEvent::Deferred` with [`DeferralReason::Slot`]); the schedule lets it go on.

use std::collections::BTreeMap;

use crate::domain::{AgentId, StageKey, Status, TaskId, Timestamp};
use crate::engine::baseline_record::BaselineResult;
use crate::engine::event::{Event, TaskEvent};
use crate::engine::event_payload::DeferralReason;
use crate::engine::fact::Prompt;
use crate::engine::job::Job;
use crate::engine::state::{RunPhase, State};

use super::draft::Draft;
use super::{after_baseline, deferral, outgoing, pipeline, turns};

/// How far the work is that wants a slot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// The agent of the task is to be started, or started again.
    New,
    /// The task goes on where it stopped.
    Begun,
}

/// The slots that are left, while several tasks take one in the same decision.
pub struct Admission<'a> {
    state: &'a State,
    slots: u32,
    is_taken_alone: bool,
    by_agent: BTreeMap<AgentId, u32>,
}

impl<'a> Admission<'a> {
    pub fn of(state: &'a State) -> Self {
        Self {
            state,
            slots: state.sums.slots,
            is_taken_alone: state.sums.exclusive > 0,
            by_agent: BTreeMap::new(),
        }
    }

    /// Whether anything may take a slot at all. Nothing does before it is known whether what was accepted still stands.
    pub fn is_open(&self) -> bool {
        let state = self.state;
        let is_running = state.phase == RunPhase::Running && !state.is_held();
        is_running && !self.is_taken_alone && self.slots < state.plan.rules.concurrency
    }

    /// Whether the task, the next of the ready queue, may take a slot: one is left for it and for its agent, and neither it
    /// nor what works wants to be alone. What has not begun must also be allowed to: nothing blocks it, and the run is not
    /// halted. What has begun may finish.
    pub fn admits(&self, id: TaskId, work: Work) -> bool {
        let (state, plan) = (self.state, self.state.plan.task(id));
        let taken = self.by_agent.get(&plan.agent).copied().unwrap_or(0);
        self.is_open()
            && !(plan.exclusive && self.slots > 0)
            && state.queues.ready.has_room_for(plan.agent, taken)
            && (work == Work::Begun || state.may_begin(id) && !state.lacks(id))
    }

    pub fn take(&mut self, id: TaskId) {
        let plan = self.state.plan.task(id);
        self.slots += 1;
        self.is_taken_alone |= plan.exclusive;
        *self.by_agent.entry(plan.agent).or_default() += 1;
    }
}

/// Whether a task that is not in the ready queue may take a slot: it never overtakes one that waits at the head of the
/// queue to be alone, or that one might never start.
pub fn admits(state: &State, id: TaskId, work: Work) -> bool {
    let is_exclusive = |id: TaskId| state.plan.task(id).exclusive;
    let waits_to_be_alone = || state.queues.ready.next_up().next().is_some_and(is_exclusive);
    Admission::of(state).admits(id, work) && !waits_to_be_alone()
}

/// Goes on with work in review behind a stage: at once where that needs no slot or the task is admitted, else once it is.
pub fn go_on_behind(draft: &mut Draft<'_>, stage: StageKey, now: Timestamp) {
    let mut ahead = draft.clone();
    pipeline::go_on_behind(&mut ahead, stage);
    if ahead.task.holds_slot() && !admits(draft.state, draft.id, Work::Begun) {
        deferral::queue(draft, Some(stage), deferral::NO_SLOT, now);
    } else {
        *draft = ahead;
    }
}

/// Ends the wait of a task: it goes on, if it has begun. One that has not is ready.
pub fn release(draft: &mut Draft<'_>) {
    let behind = draft.task.deferral.as_deref().and_then(|deferral| deferral.stage);
    draft.emit_own(TaskEvent::Deferred { until: None });
    match behind {
        Some(stage) => pipeline::go_on_behind(draft, stage),
        None if draft.task.status() == Status::Review && pipeline::call_off_in_vain(draft) => {}
        None => outgoing::ask_limited_again(draft),
    }
}

/// The moment has come: the task is ready again, or whoever met the limit is asked once more.
pub fn moment_came(state: &State, task: TaskId, now: Timestamp) -> Vec<Event> {
    if state.task(task).deferral.is_none() {
        return Vec::new();
    }
    let mut draft = Draft::new(state, task);
    let takes_a_slot = matches!(draft.task.status(), Status::Review | Status::InProgress);
    if takes_a_slot && !admits(state, task, Work::Begun) {
        deferral::queue(&mut draft, None, deferral::NO_SLOT, now);
    } else {
        release(&mut draft);
    }
    draft.into_events()
}

/// A later session waits anew, by limits of its own; not for those whom it does not want asked.
pub fn wait_anew(state: &State, task: TaskId, in_vain: bool, now: Timestamp) -> Vec<Event> {
    let Some(deferral) = state.task(task).deferral.as_deref() else {
        return Vec::new();
    };
    let mut draft = Draft::new(state, task);
    match deferral.why {
        DeferralReason::Slot => {}
        _ if in_vain => deferral::queue(&mut draft, None, "", now),
        // What nobody knew the end of may be over.
        _ if deferral.moment().is_none() => return moment_came(state, task, now),
        why => deferral::defer(&mut draft, why, deferral.until, (&deferral.message, None), now),
    }
    draft.into_events()
}

/// The task has a slot: its checks are looked at, or its agent starts.
pub fn begin(draft: &mut Draft<'_>) {
    draft.enter(Status::Assigned);
    if !draft.state.must_look_before(draft.id) {
        start_turn(draft);
    } else {
        outgoing::run(draft, Job::Baseline);
        if draft.state.turn_is_near(draft.id) {
            after_baseline::unknown(draft, BaselineResult::TURN_NEAR);
        }
    }
}

/// Starts the first turn where nothing is to be written for it before; else that is the next thing to be done.
pub fn start_turn(draft: &mut Draft<'_>) {
    let state = draft.state;
    if !state.gets_prompt(draft.id) && may_start(state, draft.id) && !goes_back(draft) {
        turns::start_turn(draft, Prompt::default());
    }
}

/// Whether a turn of a task that has a slot may start. A halted run starts no task, but what has started may finish its
/// attempts. And none begins while it is not known whether what was accepted stands.
pub fn may_start(state: &State, id: TaskId) -> bool {
    state.phase == RunPhase::Running
        && !state.is_held()
        && !state.must_note(id)
        && !state.baseline_is_near(id)
}

/// Sends back a task that has a slot and has not begun, where something that it needs was withdrawn meanwhile, also
/// where it is there again. Whether it does.
pub fn goes_back(draft: &mut Draft<'_>) -> bool {
    let goes = draft.state.must_go_back(draft.id, &draft.task);
    if goes {
        draft.enter_because(Status::Pending, "what it needs does not stand any more");
    }
    goes
}
