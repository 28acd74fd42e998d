//! What becomes of a task.

use crate::report::{events::no_progress, progress::verb::Verb, screens::style::Role};
use rules::{
    domain::{Finding, TaskId},
    engine::{DependencyStep, State, TaskEvent, Way},
};

use super::verdict::planned;
use super::waits::of_deferral;
use super::{LineBuilder, ProgressLine, title};

impl LineBuilder {
    pub fn of_task(&self, state: &State, task: TaskId, event: &TaskEvent) -> Option<ProgressLine> {
        let name = title(state, task);
        Some(match event {
            TaskEvent::Transition { .. } => return self.of_transition(state, task, event),
            TaskEvent::AttemptPlanned { attempt, kind } => planned(state, task, *attempt, *kind),
            TaskEvent::StageVerdict(report) => return self.of_verdict(state, report),
            TaskEvent::EvalUnparsed => {
                ProgressLine::new(Verb::Review, Role::Warn, name, "no score could be read, twice")
            }
            TaskEvent::StageFailed { stage, message } => match stage.step() {
                None => ProgressLine::new(Verb::Review, Role::Warn, name, message.as_str()),
                Some(step) => {
                    let detail = format!("{}: {message}", state.plan.task(task).step_name(step));
                    ProgressLine::new(Verb::Stage, Role::Warn, name, detail)
                }
            },
            TaskEvent::Superseded { by } => {
                let detail = format!("superseded by '{}'", title(state, *by));
                ProgressLine::new(Verb::Fixup, Role::Good, name, detail)
            }
            TaskEvent::EdgeTaken { edge, to, not_taken: left, .. } => {
                let mut detail = format!("{}: goes on with '{}'", edge.as_str(), title(state, *to));
                if !left.is_empty() {
                    let left: Vec<_> = left.iter().map(|id| title(state, *id)).collect();
                    detail.push_str(&format!("; not taken: {}", left.join(", ")));
                }
                ProgressLine::new(Verb::Review, Role::Active, name, detail)
            }
            TaskEvent::FellBack { from, to, class, message, work } => {
                let (from, to) = (state.plan.agent_name(*from), state.plan.agent_name(*to));
                let goes_on = if *work { "goes on " } else { "" };
                let detail = format!("{to} {goes_on}instead of {from}: {} {message}", class.as_str());
                ProgressLine::new(Verb::Fallback, Role::Warn, name, detail)
            }
            TaskEvent::Nudged { missing, .. } => nudged(name, missing),
            TaskEvent::DependencyFailed { dependency, step, .. } => {
                return of_dependency(state, name, *dependency, *step);
            }
            TaskEvent::DelegationRefused { refused: wanted, reason } => {
                ProgressLine::warning(name, format!(": '{wanted}' is not delegated: {reason}"))
            }
            TaskEvent::DelegationDrift { .. } => ProgressLine::warning(
                name,
                ": its text, or that of the task that delegated it, has changed since it was delegated",
            ),
            TaskEvent::Deferred { until: Some(deferral) } => return of_deferral(name, deferral),
            _ => return self.of_question(state, task, event),
        })
    }

    /// The line of a question to a person, or of the answer; `None` for other events.
    fn of_question(&self, state: &State, task: TaskId, event: &TaskEvent) -> Option<ProgressLine> {
        let name = title(state, task);
        Some(match event {
            // The line about its wait for a person says the same, with the id.
            TaskEvent::Question { question, .. } if state.task(task).hold().is_none() => {
                ProgressLine::new(Verb::Wait, Role::Warn, name, format!("question: {question}"))
            }
            TaskEvent::Answered { answer, by, .. } => {
                ProgressLine::new(Verb::Answer, Role::Active, name, format!("{by}: {answer}"))
            }
            _ => return None,
        })
    }
}

/// The line of a dependency that failed; `None` where another event says what becomes of the task.
fn of_dependency(state: &State, name: &str, id: TaskId, step: DependencyStep) -> Option<ProgressLine> {
    let failed = title(state, id);
    let (verb, detail) = match step {
        DependencyStep::Resolved(Way::Retry) => {
            (Verb::Retry, format!("its dependency '{failed}' is tried again"))
        }
        DependencyStep::Resolved(way) => {
            (Verb::Fallback, format!("goes on without '{failed}' ({})", way.as_str()))
        }
        DependencyStep::Unresolvable(waves) => {
            return Some(ProgressLine::warning(name, format!(": {}", no_progress(waves?))));
        }
        DependencyStep::Detected => return None,
    };
    Some(ProgressLine::new(verb, Role::Warn, name, detail))
}

/// The line that an agent was told what its finish gate misses.
fn nudged(name: &str, missing: &[Finding]) -> ProgressLine {
    let first = missing.first().map_or("", |finding| finding.description.as_str());
    let detail = match missing.len().saturating_sub(1) {
        0 => first.to_owned(),
        more => format!("{first}, and {more} more"),
    };
    let detail = format!("its finish gate misses: {detail}");
    ProgressLine::new(Verb::Check, Role::Warn, name, detail)
}
