//! What waits: for its turn, for a person, for a time.

use crate::report::{
    progress::verb::Verb,
    screens::{
        style::Role,
        text::{seconds, time_of_day},
    },
    vocabulary::ids::ApprovalId,
};
use rules::{
    domain::{HoldOwner, Millis, RunId, Timestamp, TurnId, WaitingReason},
    engine::{Deferral, DeferralReason, HoldEvent, State, TurnEvent, TurnUpdate},
    plan::BarrierKind,
};

use super::{LineBuilder, ProgressLine, title};

impl LineBuilder {
    pub fn of_turn(&self, state: &State, turn: TurnId, event: &TurnEvent) -> Option<ProgressLine> {
        let title = title(state, turn.task);
        Some(match event {
            TurnEvent::Started(_) => {
                let agent = &state.plan.worker_of(turn.task).name;
                let attempt = match turn.attempt {
                    1 => String::new(),
                    n => format!("  attempt {n}"),
                };
                ProgressLine::new(Verb::Start, Role::Active, title, format!("{agent}{attempt}")).live()
            }
            TurnEvent::RequestFailed { class, message, not_before, of, never_began } => {
                let tries = state.task(turn.task).work.turn;
                let failed =
                    tries.map_or(1, |tries| if *never_began { tries.starts } else { tries.requests });
                let again = self.again((failed, *of), *not_before);
                let detail = format!("{again}: {} {message}", class.as_str());
                ProgressLine::new(Verb::Retry, Role::Warn, title, detail)
            }
            TurnEvent::Progress(TurnUpdate::Activity { summary }) => {
                ProgressLine::new(Verb::Run, Role::Dim, title, summary.as_str()).live()
            }
            TurnEvent::Progress(TurnUpdate::Stale { idle, killed }) => {
                let end = if *killed { "; it is ended" } else { "" };
                let detail = format!("its agent has printed nothing for {idle}{end}");
                ProgressLine::new(Verb::Lost, Role::Warn, title, detail)
            }
            TurnEvent::Finished(end) => {
                let broken = end.broken.as_ref()?;
                let detail = format!("its agent reports {}: {}", broken.kind.as_str(), broken.evidence);
                ProgressLine::new(Verb::Wait, Role::Warn, title, detail)
            }
            TurnEvent::Lost => ProgressLine::new(Verb::Lost, Role::Warn, title, "its turn was interrupted"),
            TurnEvent::Adopted => ProgressLine::new(
                Verb::Resume,
                Role::Active,
                title,
                "its agent outlived the last session and goes on",
            ),
            _ => return None,
        })
    }

    /// `retry 2 of 4 in 2.0s`: the request after so many that failed, of so many in all where that is known.
    pub fn again(&self, (failed, all): (u32, u32), at: Timestamp) -> String {
        let wait = self.live.offset(at).0.saturating_sub(self.live.elapsed().0);
        let of = match all {
            0 => String::new(),
            all => format!(" of {all}"),
        };
        format!("retry {}{of} in {}", failed + 1, seconds(Millis(wait)))
    }

    /// The id by which people answer, and a gap; nothing where the run is gone once it has ended.
    fn id(&self, id: impl Fn(&RunId) -> String) -> String {
        self.run.as_ref().map_or_else(String::new, |run| format!("{}  ", id(run)))
    }

    /// The line of an event about the hold of a task, a checkpoint or a delay.
    pub fn of_hold(&self, state: &State, of: HoldOwner, event: &HoldEvent) -> ProgressLine {
        let name = match of {
            HoldOwner::Task(task) => title(state, task),
            HoldOwner::Barrier(barrier) => &*state.plan.barrier(barrier).name,
        };
        match event {
            HoldEvent::Opened { reason: WaitingReason::Delay, expires: Some(until), .. } => {
                let detail = format!("delay until {}", until.to_rfc3339());
                ProgressLine::new(Verb::Wait, Role::Active, name, detail)
            }
            HoldEvent::Opened { number, reason, message, .. } => {
                // The id first, because it is to be copied and must not be cut.
                let number = *number;
                let id = self.id(|run| ApprovalId { run, of, number }.to_string());
                let detail = format!("{id}{}: {message}", reason.as_str());
                ProgressLine::new(Verb::Wait, Role::Warn, name, detail.trim_end_matches(": "))
            }
            HoldEvent::Undecided { message, .. } => {
                ProgressLine::new(Verb::Wait, Role::Warn, name, format!("left open: {message}"))
            }
            HoldEvent::TimedOut { .. } => ProgressLine::new(
                Verb::Wait,
                Role::Warn,
                name,
                "nobody approved it in time; it goes on waiting",
            ),
            HoldEvent::Closed { reason: Some(reason), by, .. } => {
                let detail = format!("rejected by {by}: {reason}");
                ProgressLine::new(Verb::Answer, Role::Bad, name, detail)
            }
            HoldEvent::Closed { resolution, by, .. } => {
                match of.barrier().map(|id| state.plan.barrier(id).kind) {
                    Some(BarrierKind::Delay(_)) => {
                        ProgressLine::new(Verb::Wait, Role::Active, name, "the delay is over")
                    }
                    _ => ProgressLine::new(
                        Verb::Answer,
                        Role::Active,
                        name,
                        format!("{} by {by}", resolution.as_str()),
                    ),
                }
            }
        }
    }
}

/// A task waits for a moment.
pub fn of_deferral(title: &str, deferral: &Deferral) -> Option<ProgressLine> {
    let (until, since, message) = (deferral.until, deferral.since, &deferral.message);
    let detail = match deferral.why {
        DeferralReason::Window if deferral.moment().is_none() => message.clone(),
        DeferralReason::Window => format!("until {}: {message}", time_of_day(until, since)),
        DeferralReason::Slot if message.is_empty() => return None,
        DeferralReason::Slot => message.clone(),
        DeferralReason::BackOff => format!("next attempt in {}", seconds(until.since(since))),
    };
    Some(ProgressLine::new(Verb::Wait, Role::Warn, title, detail))
}
