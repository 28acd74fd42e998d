//! The one value a run ends with. Exit code, JSON, summary and reports all render it; nothing else computes success
//! (semantics, section 20).

use crate::domain::OutcomeClass;

use super::event_payload::StopCause;
use super::state::State;

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The condition that weighs most, of those not allowed.
    pub class: OutcomeClass,
    /// All that hold, the one that weighs most first; `[ok]` if none does.
    pub conditions: Vec<OutcomeClass>,
    /// The conditions that hold and were allowed.
    pub allowed: Vec<OutcomeClass>,
}

/// The outcome of a state in which nothing moves any more. Total: every state has exactly one.
pub fn outcome(state: &State) -> Outcome {
    let mut conditions = conditions(state);
    let (allowed, counting): (Vec<_>, Vec<_>) =
        conditions.iter().copied().partition(|class| is_allowed(state, *class));
    let mut class = counting.first().copied().unwrap_or(OutcomeClass::Ok);
    let delivery = state.delivery.as_ref();
    // What would be well is not, where the work is not where it was wanted.
    if class == OutcomeClass::Ok && delivery.is_some_and(|delivery| delivery.why.is_some()) {
        class = OutcomeClass::Environment;
        conditions.retain(|other| *other != OutcomeClass::Ok);
        conditions.insert(0, class);
    }
    Outcome { class, conditions, allowed }
}

fn is_allowed(state: &State, class: OutcomeClass) -> bool {
    class.may_be_allowed() && state.options.allow.contains(&class)
}

impl State {
    /// Whether any selected task is not terminal, or what was accepted is still to be looked at or delivered: the run can be
    /// resumed.
    pub fn is_unfinished(&self) -> bool {
        self.has_work_left() || self.is_to_be_delivered() && !self.called_off
    }

    /// Whether nothing is left that needs a session: whoever tells the run something may give it its end.
    pub fn may_end_without_session(&self) -> bool {
        !self.is_resumable() && !self.is_to_be_delivered()
    }

    /// Whether accepted work of isolated tasks was delivered by no session, or by one that could not know yet that it is to be
    /// merged (section 22).
    pub fn is_to_be_delivered(&self) -> bool {
        let is_delivered = self.delivery.is_some() && (self.delivered_to_merge || !self.is_ok_by_its_tasks());
        self.landed.is_some() && !is_delivered
    }

    /// Whether the run is well but for what may keep its work from being delivered.
    pub fn is_ok_by_its_tasks(&self) -> bool {
        let is_harmless = |class: &OutcomeClass| *class == OutcomeClass::Ok || is_allowed(self, *class);
        conditions(self).iter().all(is_harmless)
    }
}

/// All conditions that hold, the one that weighs most first; `[ok]` if none does.
pub fn conditions(state: &State) -> Vec<OutcomeClass> {
    let counts = &state.sums.counts;
    let for_judges = state.parked_for_judges();
    let accounted = counts.ended();
    let holds = |class: OutcomeClass| match class {
        OutcomeClass::Interrupted => state.session.stop == Some(StopCause::Interrupted),
        OutcomeClass::Terminated => state.session.stop == Some(StopCause::Terminated),
        OutcomeClass::Limit => {
            state.session.stop == Some(StopCause::TimeLimit)
                || state.ledger.limit().is_some()
                || !state.ledger.overshoot(&state.plan).is_none()
                || state.ends_before_a_moment()
        }
        OutcomeClass::TaskFailed => counts.failed > 0,
        OutcomeClass::GateFailed => state.gates.iter().any(super::state::GateState::has_failed),
        OutcomeClass::Indeterminate => {
            let unshown = counts.unreviewed + counts.baseline_unknown + state.sums.faulted;
            counts.indeterminate > 0 || (state.options.strict && unshown > 0)
        }
        OutcomeClass::BelowThreshold => {
            counts.below_threshold + counts.degraded + counts.unverified > 0
                || state.session.threshold_failed.is_some()
        }
        OutcomeClass::Awaiting => {
            counts.awaiting > for_judges
                || state.checkpoints_that_wait().next().is_some()
                || (state.session.paused && accounted != counts.selected)
        }
        OutcomeClass::Internal => state.session.foreign,
        OutcomeClass::Ok | OutcomeClass::Usage | OutcomeClass::Environment => false,
    };
    let mut conditions: Vec<_> =
        OutcomeClass::BY_PRECEDENCE.into_iter().filter(|class| holds(*class)).collect();
    // A run that is not finished and cannot say why must never look like success.
    if conditions.is_empty() && state.has_work_left() {
        conditions.push(OutcomeClass::Internal);
    }
    if conditions.is_empty() {
        conditions.push(OutcomeClass::Ok);
    }
    conditions
}
