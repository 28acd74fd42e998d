//! Gates that ask for a score where no task before them is given one: they could never pass (semantics, section 14).

use super::fallback::is_reviewed;
use super::quoted;
use crate::mission::{
    file::{
        codes::Code,
        violation::{Path, Violations},
    },
    model::{Mission, Task, TaskType},
};

pub fn warn(mission: &Mission, problems: &mut Violations) {
    // Where nothing is reviewed at all, every run says so itself.
    if mission.settings.evaluate == Some(false) {
        return;
    }
    for (index, gate) in mission.gates.iter().enumerate() {
        let Some(least) = gate.min_score else { continue };
        let before = |task: &&Task| gate.after_tasks.contains(&task.title);
        let mut before = mission.tasks.iter().filter(before).peekable();
        if before.peek().is_none() || before.any(is_scored) {
            continue;
        }
        problems.warn(
            Code::UnscoredGate,
            Path::of("qualityGates").item(index).key("minScore"),
            format!(
                "no task before the gate {} is given a score, so it cannot reach {least}",
                quoted(&gate.name)
            ),
            "add an `llm_review` or `review: required` to one of them, or leave `minScore` out",
        );
    }
}

fn is_scored(task: &Task) -> bool {
    let is_graded = task.verification.is_some() || !task.acceptance.is_empty();
    is_graded || task.kind == TaskType::Verification || is_reviewed(task)
}
