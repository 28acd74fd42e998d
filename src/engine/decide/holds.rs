//! Checkpoints and delays: what stands between tasks until a person says so, or until some time has passed (section 14).

use crate::domain::{FailureMode, HoldId, Status, Timestamp};
use crate::engine::event::{Event, HoldEvent};
use crate::engine::state::{HoldStage, State};
use crate::mission::HoldKind;

use super::draft::Draft;

/// Holds whose tasks have all ended begin to wait, if anything waits for them.
pub(super) fn reached(state: &State, now: Timestamp) -> Vec<Event> {
    let due = state.holds_due.iter().filter(|id| state.holds_anything(**id));
    due.map(|id| {
        Event::Hold(
            *id,
            HoldEvent::Reached {
                number: state.hold(*id).number + 1,
                until: match state.plan.hold(*id).kind {
                    HoldKind::Checkpoint => None,
                    HoldKind::Delay(duration) => Some(now.plus(duration)),
                },
            },
        )
    })
    .collect()
}

/// A delay is over.
pub(super) fn over(hold: HoldId) -> Vec<Event> {
    vec![Event::Hold(hold, HoldEvent::Passed { by: None })]
}

/// A person lets the run pass a checkpoint.
pub(super) fn pass(hold: HoldId, by: &str) -> Vec<Event> {
    vec![Event::Hold(
        hold,
        HoldEvent::Passed {
            by: Some(by.to_owned()),
        },
    )]
}

/// A person does not: what it blocks has failed.
pub(super) fn reject(state: &State, hold: HoldId, reason: &str, by: &str) -> Vec<Event> {
    let plan = state.plan.hold(hold);
    let mut events = vec![Event::Hold(
        hold,
        HoldEvent::Rejected {
            reason: reason.to_owned(),
            by: by.to_owned(),
        },
    )];
    for id in &plan.blocks {
        if state.task(*id).status != Status::Pending || !state.takes(*id) {
            continue;
        }
        let mut draft = Draft::new(state, *id);
        let why = format!("checkpoint '{}' rejected by {by}: {reason}", plan.name);
        draft.fail(FailureMode::Rejected, why);
        events.extend(draft.into_events());
    }
    events
}

/// Whether a checkpoint waits for this very answer.
pub(in crate::engine) fn waits_for(state: &State, hold: HoldId, number: u32) -> bool {
    let held = state.hold(hold);
    held.stage == HoldStage::Reached && held.number == number
}
