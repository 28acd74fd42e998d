//! What waits: for its turn, for a person, for a time.

use crate::domain::{HoldId, Millis, TaskId, TurnId};
use crate::engine::{DeferralReason, Event, State};
use crate::report::ids::{ApprovalId, CheckpointId};
use crate::report::style::Role;
use crate::report::text::{seconds, time_of_day};

use super::{Line, Lines, title};

impl Lines {
    pub(super) fn of_turn(&self, state: &State, turn: TurnId, event: &Event) -> Option<Line> {
        let title = title(state, turn.task);
        Some(match event {
            Event::TurnStarted { .. } => {
                let agent = &state.plan.agent(state.plan.task(turn.task).agent).name;
                let attempt = match turn.attempt {
                    1 => String::new(),
                    n => format!("  attempt {n}"),
                };
                Line::new("START", Role::Active, title, format!("{agent}{attempt}"))
            }
            Event::TurnRequestFailed {
                class,
                message,
                not_before,
                ..
            } => {
                let wait = self
                    .live
                    .offset(*not_before)
                    .0
                    .saturating_sub(self.live.elapsed().0);
                let wait = seconds(Millis(wait));
                let detail = format!("request again in {wait}: {} {message}", class.as_str());
                Line::new("RETRY", Role::Warn, title, detail)
            }
            Event::TurnLost { .. } => Line::new("LOST", Role::Warn, title, "its turn was interrupted"),
            Event::TurnAdopted { .. } => {
                Line::new("ADOPT", Role::Active, title, "its turn outlived the last session")
            }
            _ => return None,
        })
    }

    pub(super) fn of_approval(&self, state: &State, task: TaskId, event: &Event) -> Option<Line> {
        let title = title(state, task);
        Some(match event {
            Event::ApprovalRequested {
                number,
                reason,
                message,
                ..
            } => {
                let id = ApprovalId {
                    run: &self.run,
                    task,
                    number: *number,
                };
                // The id first, because it is to be copied and must not be cut.
                let detail = format!("{id}  {}: {message}", reason.as_str());
                Line::new("WAIT", Role::Warn, title, detail)
            }
            Event::ApprovalResolved { resolution, by, .. } => {
                Line::new("ANSWER", Role::Active, title, format!("{resolution} by {by}"))
            }
            Event::ApproverUndecided { message, .. } => {
                Line::new("WAIT", Role::Warn, title, format!("left open: {message}"))
            }
            Event::ApprovalTimedOut { .. } => Line::new(
                "WAIT",
                Role::Warn,
                title,
                "nobody approved it in time; it goes on waiting",
            ),
            _ => return None,
        })
    }

    pub(super) fn of_hold(&self, state: &State, event: &Event) -> Option<Line> {
        let name = |hold: HoldId| &*state.plan.hold(hold).name;
        Some(match event {
            Event::HoldReached {
                hold,
                until: Some(until),
                ..
            } => Line::new(
                "DELAY",
                Role::Active,
                name(*hold),
                format!("until {}", until.to_rfc3339()),
            ),
            Event::HoldReached { hold, number, .. } => {
                let id = CheckpointId {
                    run: &self.run,
                    hold: *hold,
                    number: *number,
                };
                let message = state.plan.hold(*hold).message.as_deref().unwrap_or_default();
                let detail = format!("{id}  checkpoint: {message}");
                Line::new("WAIT", Role::Warn, name(*hold), detail.trim_end_matches(": "))
            }
            Event::HoldPassed { hold, by: None } => Line::new("DELAY", Role::Active, name(*hold), "over"),
            Event::HoldPassed { hold, by: Some(by) } => {
                Line::new("ANSWER", Role::Active, name(*hold), format!("approved by {by}"))
            }
            Event::HoldRejected { hold, reason, by } => {
                let detail = format!("rejected by {by}: {reason}");
                Line::new("ANSWER", Role::Bad, name(*hold), detail)
            }
            _ => return None,
        })
    }
}

/// A task waits for a moment.
pub(super) fn of_deferral(title: &str, event: &Event) -> Option<Line> {
    let Event::TaskDeferred {
        why,
        until,
        since,
        message,
        ..
    } = event
    else {
        return None;
    };
    let detail = match why {
        DeferralReason::Window => format!("until {}: {message}", time_of_day(*until, *since)),
        DeferralReason::Slot if message.is_empty() => return None,
        DeferralReason::Slot => message.clone(),
        DeferralReason::BackOff => format!("next attempt in {}", seconds(until.since(*since))),
    };
    Some(Line::new("WAIT", Role::Warn, title, detail))
}
