//! Who is to judge a task, by what it declares: derived apart from the pipeline that the plan has resolved.

use rules::domain::{AgentId, TaskId};
use rules::engine::State;
use rules::mission::model::{Adapter, Review};
use rules::plan::Requirement;
use rules::plan::eligibility::{named, reviewers};

/// The judges of the work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// A panel, and whether people have the last word.
    Panel { people: bool },
    /// A single reviewer.
    Evaluation,
    /// Nobody is to be asked: what is declared decides.
    ChecksOnly,
    /// The work is judged by nobody.
    Nobody,
}

/// The judges that are to judge the work of a task.
pub fn expected(state: &State, id: TaskId) -> Expected {
    let (plan, task) = (&state.plan, state.plan.task(id));
    if task.route.is_some() {
        return Expected::ChecksOnly;
    }
    let has_expectations = !task.checks().is_empty() || task.panel().is_some();
    let mut finish = task.finish().into_iter().flat_map(|gate| &gate.commands);
    let is_checked = has_expectations
        || task.delegated_by.is_none() && finish.any(|command| command.shows != Requirement::Compilation)
        || task.verification().is_some()
        || task.own_stages().next().is_some();
    let able: Vec<AgentId> = reviewers(plan, id, named(plan, id)).iter().map(|able| able.agent).collect();
    let is_wanted = match task.review {
        Review::None => false,
        Review::Required => true,
        Review::Auto => !has_expectations && !able.is_empty(),
    };
    if !plan.rules.settings.evaluate && (task.panel().is_some() || is_wanted) {
        return Expected::Nobody;
    }
    match task.panel() {
        Some(_) => Expected::Panel {
            people: able.iter().any(|agent| plan.agent(*agent).spec.adapter == Adapter::Human),
        },
        None if is_wanted => Expected::Evaluation,
        None if is_checked => Expected::ChecksOnly,
        None => Expected::Nobody,
    }
}
