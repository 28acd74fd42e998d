//! Tasks that wait for a moment and for nobody: a limit of a subscription that resets (semantics, section 13), and the
//! back-off between attempts that failed for a reason of the provider (section 4).
//!
//! A task that waits so holds no slot, and nothing of it is under way. The run lives on as long as the moment may be
//! waited for: not beyond the session's own limit, a deadline, or `maxWindowWait`. Else the run ends when nothing else
//! can be done (outcome limit), and a later session goes on.

use crate::domain::{Millis, StageKey, Status, TaskId, Timestamp};
use crate::engine::event::{Event, RunEvent, TaskEvent};
use crate::engine::event_payload::{Deferral, DeferralReason, Exit};
use crate::engine::fact::TurnEnd;
use crate::engine::stages::names;
use crate::engine::state::State;
use crate::engine::work::retry;

use super::draft::Draft;
use super::side_effects;

/// The words about work that must wait for a slot.
pub const NO_SLOT: &str = "its judging goes on once a slot is free";

/// The first pause between two attempts; each one in a row doubles it.
const FIRST_PAUSE: Millis = Millis::from_secs(5);
/// Doublings, at most: what is still down after an hour is looked at once an hour.
const MOST_DOUBLINGS: u32 = 9;

impl Deferral {
    /// The pause that a failure asks for whose reason ends nobody knows when: no session waits so long, and a later one asks anew.
    pub const UNKNOWN: Millis = Millis(1000 * YEAR);

    /// The moment that the task waits for; `None` where nobody knows it.
    pub fn moment(&self) -> Option<Timestamp> {
        // A question may have failed long before the task came to wait for it.
        (self.until.since(self.since) < Millis(500 * YEAR)).then_some(self.until)
    }
}

/// The milliseconds of a year of 365 days.
const YEAR: u64 = 365 * 24 * 3600 * 1000;

impl State {
    /// Whether a task waits for a moment that this session may wait for.
    pub fn a_moment_moves_it_on(&self) -> bool {
        let mut deferrals = self.deferrals();
        self.may_start_work() && deferrals.any(|(id, deferral)| self.may_wait(id, deferral))
    }

    /// Whether a moment may be waited for by this session.
    pub fn may_wait(&self, task: TaskId, deferral: &Deferral) -> bool {
        let within_session = self.session.ends.is_none_or(|end| deferral.until <= end);
        let within_reason = deferral.until.since(deferral.since) <= self.plan.rules.settings.max_window_wait;
        let mut deadlines = [Some(task), None].into_iter().filter_map(|of| self.deadlines.of(of));
        // One that has passed already is missed, whether or not the work goes on.
        let misses =
            deadlines.any(|deadline| deadline.due >= deferral.since && deadline.due < deferral.until);
        deferral.moment().is_some()
            && within_session
            && within_reason
            && (deferral.why == DeferralReason::BackOff || !misses)
    }
}

/// A worker met a limit that resets: no attempt is spent. It goes on in a new turn of the same attempt.
pub fn turn_waits(draft: &mut Draft<'_>, exit: &Exit, now: Timestamp) {
    let message = exit.message.as_deref().unwrap_or_default();
    if side_effects::is_held(draft) {
        return side_effects::hold_back(
            draft,
            &format!(
                "its agent ran into a limit of its subscription ({message}), and how far it came is unknown"
            ),
        );
    }
    let met = draft.task.course.streak.windows.saturating_sub(1);
    let until = retry::resets(exit.retry_after, met, now);
    defer(draft, DeferralReason::Window, until, (message, None), now);
    draft.enter_because(Status::Pending, "waits until the limit of a subscription resets");
}

/// Lets a task wait for the last of the limits that reset, where whoever is asked about it, for whatever
/// purpose, met such limits, and no judge is out any more.
pub fn asked_wait(draft: &mut Draft<'_>, now: Timestamp) {
    if draft.task.asks_out().any(|open| open.purpose.is_judging()) {
        return;
    }
    let limited = draft.task.work.asks.iter();
    let limited: Vec<_> = limited.filter_map(|open| Some((open.agent, open.window?))).collect();
    let agents: Vec<_> = limited.iter().map(|(agent, _)| *agent).collect();
    if let Some(until) = limited.iter().map(|(_, until)| *until).max() {
        let names = names(draft.plan(), &agents, "and");
        let message = format!("{names} met a limit of a subscription");
        defer(draft, DeferralReason::Window, until, (&message, None), now);
    }
}

/// The pause before the attempt that was just planned behind a turn that its provider failed.
pub fn back_off(draft: &mut Draft<'_>, end: &TurnEnd, now: Timestamp) {
    let before = draft.task.course.streak.provider.saturating_sub(1);
    let pause = retry::back_off(FIRST_PAUSE, before.min(MOST_DOUBLINGS), end.jitter);
    let until = now.plus(end.exit.retry_after.map_or(pause, |told| told.max(pause)));
    let message = end.exit.message.as_deref().unwrap_or_default();
    defer(draft, DeferralReason::BackOff, until, (message, None), now);
}

/// The task waits for a slot; `behind` is where its judging goes on, where that is not with whoever is asked already.
/// Without a `message` nobody is told: it may well go on at once.
pub fn queue(draft: &mut Draft<'_>, behind: Option<StageKey>, message: &str, now: Timestamp) {
    defer(draft, DeferralReason::Slot, now, (message, behind), now);
}

/// The task waits until a moment; in words, and behind which stage it goes on where that is not with whoever is asked.
pub fn defer(
    draft: &mut Draft<'_>,
    why: DeferralReason,
    until: Timestamp,
    (message, stage): (&str, Option<StageKey>),
    now: Timestamp,
) {
    draft.emit_own(TaskEvent::Deferred {
        until: Some(Box::new(Deferral { why, until, since: now, message: message.to_owned(), stage })),
    });
}

/// The end of a session that has a time limit, on record: no moment behind it is waited for.
pub fn follow_up(mut events: Vec<Event>, now: Timestamp) -> Vec<Event> {
    let options = match events.first() {
        Some(Event::Run(RunEvent::Started(started))) => &started.options,
        Some(Event::Run(RunEvent::Resumed(resume))) => &resume.options,
        _ => return events,
    };
    let limit = options
        .timeout
        .map(|timeout| Event::Run(RunEvent::SessionLimit { until: now.plus(timeout), waits: false }));
    events.extend(limit);
    events
}
