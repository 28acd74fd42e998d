//! `fallback` on agents that neither work nor judge: there it does nothing.

use std::collections::{HashMap, HashSet};

use super::quoted;
use crate::mission::{
    file::{
        codes::Code,
        violation::{Path, Violations},
    },
    model::{Adapter, Agent, Expectation, Grader, LlmReview, Mission, Review, Reviewers, Task, TaskType},
};

/// Looks only at the mission's own agents: those of a `quorum.yaml` may judge in other missions.
pub fn validate(mission: &Mission, problems: &mut Violations) {
    let own = &mission.agents.0[..mission.own_agents.min(mission.agents.0.len())];
    let mut with = own.iter().filter(|(_, agent)| !agent.fallback.is_empty()).peekable();
    if with.peek().is_none() {
        return;
    }
    let judges = judges(mission);
    let does_work = |task: &&Task| task.kind != TaskType::Verification;
    let workers: HashSet<&str> =
        mission.tasks.iter().filter(does_work).filter_map(|task| mission.assignee(task)).collect();
    for (name, agent) in with {
        let why = match *agent.adapter {
            Adapter::Human => "it is a person, who is waited for",
            _ if judges.contains(&**name) || workers.contains(&**name) => continue,
            _ => "nothing in this mission asks it to work or to judge",
        };
        problems.warn(Code::IdleFallback, Path::of("agents").key(name.to_string()).key("fallback"), format!("`fallback` of the agent {} does nothing: {why}", quoted(name)), "it says who works or judges instead of an agent that cannot be reached; answers and approvals are \
                     handed over to nobody. Remove it, or give the agent a task or the work of another to judge");
    }
}

/// Every agent that may be asked to judge something, and whoever stands in for one of them.
fn judges(mission: &Mission) -> HashSet<&str> {
    let agents: HashMap<&str, &Agent> =
        mission.agents.0.iter().map(|(name, agent)| (&**name, agent)).collect();
    let unnamed = UnnamedJudges::of(mission, &agents);
    let mut open = named(mission);
    let able = mission.agents.0.iter().filter(|(_, agent)| agent.may_judge());
    open.extend(able.map(|(name, _)| &**name).filter(|name| unnamed.may_ask(name)));
    let mut found = HashSet::new();
    while let Some(judge) = open.pop() {
        if let Some(agent) = agents.get(judge)
            && found.insert(judge)
        {
            open.extend(agent.fallback.iter().map(|name| &**name));
        }
    }
    found
}

/// The agents that the mission names as judges.
fn named(mission: &Mission) -> Vec<&str> {
    let mut named: Vec<&str> = mission.stage_agents().collect();
    for task in &mission.tasks {
        named.extend(task.decomposer.iter().filter_map(|decomposer| decomposer.agent()));
        if task.kind == TaskType::Verification {
            named.extend(mission.assignee(task));
        }
        for reviewers in panels(task).filter_map(|panel| panel.reviewers.as_ref()) {
            if let Reviewers::Named(names) = reviewers {
                named.extend(names.iter().map(|name| &**name));
            }
        }
    }
    named
}

fn panels(task: &Task) -> impl Iterator<Item = &LlmReview> {
    task.expectations.iter().filter_map(|expectation| match expectation {
        Expectation::Review(panel) => Some(&**panel),
        _ => None,
    })
}

/// The agents whose work may be judged by agents that nobody names.
#[derive(Default)]
struct UnnamedJudges<'m> {
    authors: HashSet<&'m str>,
    /// Whether tasks may come that the mission does not have: then anybody's work may be.
    grows: bool,
}

impl<'m> UnnamedJudges<'m> {
    fn of(mission: &'m Mission, agents: &HashMap<&str, &Agent>) -> Self {
        let mut unnamed = Self::default();
        for task in &mission.tasks {
            let Some(author) = mission.assignee(task) else {
                continue;
            };
            unnamed.grows |= agents.get(author).is_some_and(|agent| agent.may_delegate());
            if asks(task) {
                unnamed.authors.insert(author);
            }
        }
        unnamed
    }

    /// Nobody judges its own work.
    fn may_ask(&self, judge: &str) -> bool {
        self.grows || self.authors.iter().any(|author| *author != judge)
    }
}

/// Whether a task asks for a judge whom nobody names (semantics, section 3).
fn asks(task: &Task) -> bool {
    let is_graded =
        task.verification.as_deref().is_some_and(|verification| verification.grader == Grader::Llm);
    task.kind != TaskType::Verification && (is_graded || is_reviewed(task))
}

/// Whether a task asks for a review that gives a score: by a panel, or as a whole.
pub fn is_reviewed(task: &Task) -> bool {
    let is_evaluated = match task.review {
        Review::Required => true,
        Review::Auto => task.expectations.is_empty(),
        Review::None => false,
    };
    is_evaluated || panels(task).next().is_some()
}
