//! The one value a run ends with. Exit code, JSON, summary and reports all render it; nothing else computes success
//! (semantics, section 20).

use crate::domain::OutcomeClass;

use super::payload::StopCause;
use super::state::State;

/// What a session ended with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The condition that weighs most, of those not allowed.
    pub class: OutcomeClass,
    /// All that hold, the one that weighs most first; `[ok]` if none does.
    pub conditions: Vec<OutcomeClass>,
    /// Those that hold and were allowed.
    pub allowed: Vec<OutcomeClass>,
}

/// The outcome of a state in which nothing moves any more. Total: every state has exactly one.
#[must_use]
pub fn outcome(state: &State) -> Outcome {
    let mut conditions = conditions(state);
    let (allowed, counting): (Vec<_>, Vec<_>) = conditions
        .iter()
        .copied()
        .partition(|class| class.may_be_allowed() && state.options.allow.contains(class));
    let mut class = counting.first().copied().unwrap_or(OutcomeClass::Ok);
    let delivery = state.delivery.as_ref();
    // What would be well is not, where the work is not where it was wanted.
    if class == OutcomeClass::Ok && delivery.is_some_and(|delivery| delivery.why.is_some()) {
        class = OutcomeClass::Environment;
        conditions.retain(|other| *other != OutcomeClass::Ok);
        conditions.insert(0, class);
    }
    Outcome {
        class,
        conditions,
        allowed,
    }
}

/// All conditions that hold, the one that weighs most first; `[ok]` if none does.
#[must_use]
pub fn conditions(state: &State) -> Vec<OutcomeClass> {
    let counts = &state.sums.counts;
    let for_judges = state.parked_for_judges();
    let accounted = counts.ended();
    let holds = |class: OutcomeClass| match class {
        OutcomeClass::Interrupted => state.stop == Some(StopCause::Interrupted),
        OutcomeClass::Terminated => state.stop == Some(StopCause::Terminated),
        OutcomeClass::Limit => {
            state.stop == Some(StopCause::TimeLimit)
                || state.ledger.limit().is_some()
                || !state.ledger.overshoot(&state.plan).is_none()
                || state.ends_before_a_moment()
        }
        OutcomeClass::TaskFailed => counts.failed > 0,
        OutcomeClass::GateFailed => state.gates.iter().any(super::state::GateState::has_failed),
        OutcomeClass::Indeterminate => {
            counts.indeterminate > 0 || (state.options.strict && counts.unreviewed + state.sums.faulted > 0)
        }
        OutcomeClass::BelowThreshold => {
            counts.below_threshold + counts.degraded + counts.unverified > 0
                || state.threshold_failed.is_some()
        }
        OutcomeClass::Awaiting => {
            counts.awaiting > for_judges
                || state.checkpoints_that_wait().next().is_some()
                || (state.paused && accounted != counts.selected)
        }
        OutcomeClass::Internal => state.foreign,
        OutcomeClass::Ok | OutcomeClass::Usage | OutcomeClass::Environment => false,
    };
    let mut conditions: Vec<_> = OutcomeClass::BY_PRECEDENCE
        .into_iter()
        .filter(|class| holds(*class))
        .collect();
    // A run that is not finished and cannot say why must never look like success.
    if conditions.is_empty() && state.is_unfinished() {
        conditions.push(OutcomeClass::Internal);
    }
    if conditions.is_empty() {
        conditions.push(OutcomeClass::Ok);
    }
    conditions
}
