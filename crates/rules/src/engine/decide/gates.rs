//! Quality gates: when one is due it is passed or failed by what is on record of its tasks (section 14).
//!
//! Where a gate stands for readers is told by `engine/gate.rs`; a person lets one pass in `operator`.

use rust_decimal::Decimal;

use crate::domain::{GateId, Points, QualityFlag, Status};
use crate::engine::event::{Event, GateEvent};
use crate::engine::event_payload::GateResult;
use crate::engine::state::State;

pub fn due(state: &State) -> Vec<Event> {
    let due = state.queues.gates_due.iter();
    due.map(|gate| Event::Gate(*gate, GateEvent::Evaluated { result: evaluate_gate(state, *gate) })).collect()
}

/// Evaluates a gate from stored state only (section 14).
pub fn evaluate_gate(state: &State, id: GateId) -> GateResult {
    let gate = state.plan.gate(id);
    let title = |task: &crate::domain::TaskId| state.plan.title(*task);
    let list = |tasks: Vec<&str>| tasks.join(", ");
    // What a verdict left out of the run says nothing.
    let after = || gate.after.iter().filter(|task| !state.task(**task).not_taken);
    let of = |wanted: &dyn Fn(&crate::engine::state::TaskState) -> bool| -> Vec<&str> {
        after().filter(|task| wanted(state.task(state.effective_task(**task)))).map(title).collect()
    };
    let scores: Vec<Points> =
        after().filter_map(|task| state.task(state.effective_task(*task)).attempt.points).collect();
    let avg = Points::weighted_mean(scores.iter().map(|points| (*points, Decimal::ONE)));
    let unscored = of(&|task| task.attempt.points.is_none());

    let mut reasons = Vec::new();
    let failed = of(&|task| task.status() == Status::Failed);
    if gate.require_all_passed && !failed.is_empty() {
        reasons.push(format!("failed: {}", list(failed)));
    }
    let below = of(&|task| task.flag().is_some_and(QualityFlag::is_below_bar));
    if !gate.accept_below_threshold && !below.is_empty() {
        reasons.push(format!("accepted below the bar: {}", list(below)));
    }
    // Of work that was accepted without a score from its review nobody knows whether it is below a bar.
    let is_open = state.plan.rules.settings.fail_open_on_unparsed_eval;
    let unknown = of(&|task| {
        let is_unknown = |flag: QualityFlag| match flag {
            QualityFlag::BelowThreshold => true,
            QualityFlag::Unreviewed => gate.min_score.is_some() && is_open && task.attempt.rounds > 0,
            flag => gate.min_score.is_some() && flag.is_below_bar(),
        };
        task.attempt.points.is_none() && task.flag().is_some_and(is_unknown)
    });
    if !unknown.is_empty() {
        reasons.push(format!("its score is not known: {}", list(unknown)));
    }
    if let Some(min) = gate.min_score {
        match avg {
            _ if !state.plan.rules.settings.evaluate => {
                reasons.push("minScore cannot be met: reviews are switched off".to_owned())
            }
            None => reasons.push(format!(
                "no score to hold against minScore {min}; unscored: {}",
                list(unscored.clone())
            )),
            Some(avg) if avg < min => reasons.push(format!("average score {avg} is below {min}")),
            Some(_) => {}
        }
    }
    let passed = reasons.is_empty();
    if gate.min_score.is_some() && avg.is_some() && !unscored.is_empty() {
        reasons.push(format!("unscored, not counted: {}", list(unscored)));
    }
    GateResult { passed, avg_score: avg, reason: (!reasons.is_empty()).then(|| reasons.join("; ")) }
}
