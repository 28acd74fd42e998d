//! Where a gate stands: the one rule (semantics, section 14) that `quorum gate`, `status`, every report and every
//! document read.

use std::borrow::Cow;

use crate::domain::{GateId, Points};
use crate::plan::Part;

use super::decide::evaluate_gate;
use super::state::State;

worded! {
    /// Where a gate stands.
    pub enum GateStanding {
        /// The run does not evaluate it: `--only` or the verdict of a verification left its tasks out.
        NotTaken = "notTaken",
        /// Tasks before it have not ended.
        Waiting = "waiting",
        /// The condition of the gate holds.
        Passed = "passed",
        /// The condition of the gate does not hold.
        Failed = "failed",
        /// It failed, and a person let it pass with `quorum gate NAME --override`, on record with name and reason.
        Overridden = "overridden",
    }
}

/// A gate as people and documents see it.
#[derive(Debug, Clone, PartialEq)]
pub struct GateView<'a> {
    /// The state of the gate.
    pub standing: GateStanding,
    /// The mean score of the gate's tasks, where there are scores and it was measured.
    pub avg: Option<Points>,
    /// Why the gate failed, what should be known about its pass, or which tasks it waits for.
    pub reason: Option<Cow<'a, str>>,
}

/// Where a gate stands, and why. One whose tasks have ended but that was not evaluated, because the run was killed before
/// it could be, is evaluated here.
pub fn gate_view(state: &State, id: GateId) -> GateView<'_> {
    let gate = state.gate(id);
    if gate.left || state.plan.gate(id).part != Part::Selected {
        return GateView { standing: GateStanding::NotTaken, avg: None, reason: None };
    }
    let (passed, avg, reason) = match &gate.result {
        Some(result) => (result.passed, result.avg_score, result.reason.as_deref().map(Cow::Borrowed)),
        None if gate.open > 0 => return waiting(state, id),
        None => {
            let result = evaluate_gate(state, id);
            (result.passed, result.avg_score, result.reason.map(Cow::Owned))
        }
    };
    let standing = match passed {
        _ if gate.overridden => GateStanding::Overridden,
        true => GateStanding::Passed,
        false => GateStanding::Failed,
    };
    GateView { standing, avg, reason }
}

fn waiting(state: &State, id: GateId) -> GateView<'_> {
    let after = state.plan.gate(id).after.iter();
    let open = after.filter(|task| !state.task(**task).status().is_terminal());
    let open: Vec<&str> = open.map(|task| state.plan.title(*task)).collect();
    GateView {
        standing: GateStanding::Waiting,
        avg: None,
        reason: Some(Cow::Owned(format!("not finished: {}", open.join(", ")))),
    }
}
