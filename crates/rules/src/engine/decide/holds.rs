//! Holds: what keeps a task, or what stands behind a checkpoint or a delay, from moving until a person or a moment says so
//! (semantics, sections 5, 6, 14 and 17).
//!
//! Whatever a task waits for a person with goes through [`ask`], a checkpoint or a delay begins to hold in [`reached`]. What
//! an answer leads to is decided in `answers`.

use crate::domain::{Phase, StageKey, Status, Timestamp, WaitingReason};
use crate::engine::event::{Event, HoldEvent, Resolution};
use crate::engine::state::{End, Hold, State};
use crate::plan::BarrierKind;

use super::draft::Draft;

/// Asks a person about a task, which is parked with that if it is not yet: `because` of this, with a message to the person.
pub fn ask(draft: &mut Draft<'_>, hold: Hold, because: &str, message: String) {
    if draft.task.status() != Status::AwaitingApproval {
        let is_dialog = matches!(hold.reason, WaitingReason::Question | WaitingReason::Auth);
        let phase = is_dialog.then_some(Phase::Clarification);
        let (to, why) = (Status::AwaitingApproval, Some(because.to_owned()));
        draft.transition(to, phase, End::default(), why);
    }
    draft.emit(Event::Hold(
        draft.id.into(),
        HoldEvent::Opened {
            number: draft.task.consent.asked + 1,
            reason: hold.reason,
            cause: hold.cause,
            stage: (hold.stage != StageKey::JUDGE).then_some(hold.stage),
            message,
            gate: hold.gate.map(String::from),
            expires: hold.expires,
        },
    ));
}

/// Closes a question that is not asked any more.
pub fn resolve(draft: &mut Draft<'_>, resolution: Resolution, by: &str) {
    draft.emit(Event::Hold(
        draft.id.into(),
        HoldEvent::Closed { number: draft.task.consent.asked, resolution, by: by.to_owned(), reason: None },
    ));
}

/// Checkpoints and delays whose tasks have all ended begin to wait, if anything waits for them.
pub fn reached(state: &State, now: Timestamp) -> Vec<Event> {
    let due = state.queues.barriers_due.iter().filter(|id| state.holds_anything(**id));
    due.map(|id| {
        let plan = state.plan.barrier(*id);
        let (reason, expires) = match plan.kind {
            BarrierKind::Checkpoint => (WaitingReason::Checkpoint, None),
            BarrierKind::Delay(duration) => (WaitingReason::Delay, Some(now.plus(duration))),
        };
        Event::Hold(
            (*id).into(),
            HoldEvent::Opened {
                number: state.barrier(*id).number + 1,
                reason,
                cause: None,
                stage: None,
                message: plan.message.as_deref().unwrap_or_default().to_owned(),
                gate: None,
                expires,
            },
        )
    })
    .collect()
}
