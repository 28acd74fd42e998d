//! A later session of a run: what was in flight is lost or adopted, what waited for judges is asked again (section 22).

use std::collections::BTreeSet;

use crate::domain::{StageKey, Status, Timestamp, TurnId, WaitingReason};
use crate::engine::event::{Event, RunEvent, TurnEvent};
use crate::engine::fact::LaterSession;
use crate::engine::state::State;
use crate::mission::model::AgentMiddleware;

use super::draft::Draft;
use super::{admission, approvals, deferral, pipeline, side_effects, turns};

/// A later session: what was in flight is lost unless it was kept, and judges that were missing are asked again. A kept
/// turn goes on as if nothing had happened; nothing is spent on it.
pub fn resume(state: &State, resume: &LaterSession, now: Timestamp) -> Vec<Event> {
    let kept: BTreeSet<&TurnId> = resume.kept.iter().collect();
    let is_open = |waiting: &crate::engine::state::Hold| waiting.reason == WaitingReason::Approval;
    let mut events = vec![Event::Run(RunEvent::Resumed(Box::new(resume.clone())))];
    if let (Some(from), Some(to)) = (&state.options.state_base, &resume.options.state_base)
        && from != to
    {
        events.push(Event::Run(RunEvent::Moved { from: from.clone(), to: to.clone() }));
    }
    for id in state.plan.task_ids() {
        let task = state.task(id);
        if task.deferral.is_some() {
            events.extend(admission::wait_anew(state, id, pipeline::judge_disabled(state, id), now));
        }
        if task.work.turn.is_some() {
            let turn = state.current_turn(id);
            if kept.contains(&turn) {
                events.push(Event::Turn(turn, TurnEvent::Adopted));
            } else if state.plan.middleware(id).has(AgentMiddleware::CheckpointResume)
                || task.must_be_allowed(state.plan.task(id))
            {
                events.extend(side_effects::turn_lost(state, turn));
            } else {
                events.extend(turns::left_behind(state, turn, now));
            }
        } else if task.hold().is_some_and(is_open) {
            events.extend(approvals::ask_again(state, id));
        } else if task.hold().is_some_and(crate::engine::state::Hold::is_for_judges) {
            let mut draft = Draft::new(state, id);
            draft.enter_because(Status::Review, "the reviewers are asked again");
            deferral::queue(&mut draft, Some(StageKey::OUTCOME), "", now);
            events.extend(draft.into_events());
        } else if task.deferral.is_none() {
            let mut draft = Draft::new(state, id);
            pipeline::call_off_in_vain(&mut draft);
            events.extend(draft.into_events());
        }
    }
    events
}
