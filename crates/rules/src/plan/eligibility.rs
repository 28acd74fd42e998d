//! Who may judge a task, who takes over from whom, and in which order they are asked (semantics, section 8).

use std::fmt;

use crate::{
    domain::{AgentId, StageKey, TaskId},
    mission::model::{Adapter, Independence},
};

use super::independence::{Dependence, ModelIdentity};
use super::model::{ApproverPlan, Plan, TaskPlan};
use super::pipeline::PanelSeats;

/// An agent that may judge, and why it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Eligible {
    pub agent: AgentId,
    /// The first rule that lets it in.
    pub why: Why,
}

worded! {
    /// Why an agent is asked to judge, the strongest claim first.
    #[derive(PartialOrd, Ord)]
    pub enum Why {
        /// The mission names it.
        Named = "named as reviewer",
        /// The agent delegated the task.
        Delegator = "delegated the task",
        /// Judging is its role.
        Role = "role reviewer or qa",
        /// The worker reports to it.
        Manager = "manager of the worker",
        /// The agent is able to judge.
        Able = "able to judge",
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everybody who may judge `task`, in the order in which they are asked; each agent once, never the author, nobody who
/// is not independent of it.
///
/// `named` are the agents that the mission names for this review. Within a rule, agents keep the order of the file.
pub fn reviewers(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<Eligible> {
    let mut able = able(plan, task, named);
    able.retain(|eligible| dependence(plan, task, eligible.agent).is_none());
    able
}

/// The agents that would judge `task` if they were independent of its author, and what they share with it.
pub fn excluded(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<(AgentId, Dependence)> {
    let able = able(plan, task, named).into_iter();
    able.filter_map(|eligible| Some((eligible.agent, dependence(plan, task, eligible.agent)?))).collect()
}

/// The reviewers that the mission names for a task.
pub fn named(plan: &Plan, task: TaskId) -> Option<&[AgentId]> {
    match &plan.task(task).panel()?.reviewers {
        PanelSeats::Named(agents) => Some(agents.as_slice()),
        PanelSeats::Seats(_) => None,
    }
}

/// The judge that grades a task by its rubric: the first who may. None where plain facts grade, or nobody may. A person
/// is asked by an approval, not for grades.
pub fn grader(plan: &Plan, task: TaskId) -> Option<AgentId> {
    plan.task(task).verification()?.rubric.as_ref()?;
    if plan.route(task).is_some() {
        return verifier(plan, task);
    }
    let able = reviewers(plan, task, named(plan, task)).into_iter();
    able.map(|eligible| eligible.agent).find(|agent| plan.agent(*agent).spec.adapter != Adapter::Human)
}

/// The agent that a verification is assigned to, if it may judge the work of the tasks that the verification is about.
fn verifier(plan: &Plan, task: TaskId) -> Option<AgentId> {
    let judge = plan.task(task).agent;
    let is_author = authors(plan, task).any(|author| author == judge);
    let depends = dependence(plan, task, judge).is_some();
    let is_person = plan.agent(judge).spec.adapter == Adapter::Human;
    (!is_author && !depends && !is_person).then_some(judge)
}

/// The agents whose work is judged: whoever works on the task or did, or on the tasks that a verification is about.
pub fn authors(plan: &Plan, task: TaskId) -> impl Iterator<Item = AgentId> {
    let is_node = plan.route(task).is_some();
    let own = (!is_node).then_some(task);
    let judged = is_node.then(|| plan.judged(task)).into_iter().flatten();
    own.into_iter().chain(judged).flat_map(|task| plan.task(task).workers())
}

/// The agent that goes on with the work of `task` where its agent cannot be reached: the next of the fallbacks
/// that is no person and does not cost the work a judge. This excludes judges, approvers, and whoever a judge
/// depends on.
pub fn successor(plan: &Plan, task: TaskId) -> Option<AgentId> {
    let work = plan.task(task);
    let first = work.assigned;
    let all = std::iter::once(first).chain(plan.fallbacks(first));
    let mut next = all.skip_while(|agent| *agent != work.agent).skip(1);
    next.find(|agent| keeps_from_taking_over(plan, task, *agent).is_none())
}

/// Why an agent may not go on with the work of `task`, in words; `None` where it may.
pub fn keeps_from_taking_over(plan: &Plan, task: TaskId, agent: AgentId) -> Option<String> {
    if plan.agent(agent).spec.adapter == Adapter::Human {
        return Some("is a person".to_owned());
    }
    let work = plan.task(task);
    if !plan.reaches(agent, task) {
        return Some("works on other machines, where the task's folder cannot go".to_owned());
    }
    if work.approving_agents().any(|approver| approver == agent) {
        return Some("agrees to its start".to_owned());
    }
    let dependents = plan.dependents.of(task).iter().copied();
    let verifications = dependents.filter(|id| plan.route(*id).is_some());
    std::iter::once(task).chain(verifications).find_map(|judged| {
        let mut judges = plan.task(judged).judging_agents();
        judges.find_map(|judge| {
            if judge == agent {
                return Some("judges the work".to_owned());
            }
            let declared = |agent: AgentId| ModelIdentity::of(plan.agent(agent), None);
            let why = declared(judge).depends_on(&declared(agent), independence(plan, judged))?;
            let judge = plan.agent_name(judge);
            Some(format!("would be judged by '{judge}', who is not independent of it: {why}"))
        })
    })
}

/// The agents that are asked, one after the other, for a judgement by `first`: `first`, then each where those
/// before it cannot be reached. A fallback never breaks independence, and an agent that looks at pictures must
/// see them.
pub fn candidates(
    plan: &Plan,
    task: TaskId,
    first: AgentId,
    step: Option<StageKey>,
) -> impl Iterator<Item = AgentId> {
    let may_stand_in = move |agent: &AgentId| {
        let spec = &plan.agent(*agent).spec;
        spec.adapter != Adapter::Human
            && plan.reaches(*agent, task)
            && (step != Some(StageKey::VISION) || spec.vision)
            && authors(plan, task).all(|author| author != *agent)
            && dependence(plan, task, *agent).is_none()
    };
    std::iter::once(first).chain(plan.fallbacks(first).into_iter().filter(may_stand_in))
}

/// Why an agent may not cut the criteria of `task` into the questions for its judge, in words: an author, or an
/// agent that is not independent of one, would choose its own questions. `None` where it may.
pub fn keeps_from_cutting(plan: &Plan, task: TaskId, agent: AgentId) -> Option<String> {
    if authors(plan, task).any(|author| author == agent) {
        return Some("did the work itself".to_owned());
    }
    dependence(plan, task, agent).map(|why| why.to_string())
}

/// The rule of the mission for what a reviewer of `task` must not share with its author.
pub fn independence(plan: &Plan, task: TaskId) -> Independence {
    let panel = plan.task(task).panel();
    panel.map_or(plan.rules.settings.independence, |panel| panel.independence)
}

/// Why an agent that the mission names may not judge `task`, in words; `None` where it may.
pub fn depends_on_author(plan: &Plan, task: TaskId, agent: AgentId) -> Option<String> {
    if plan.task(task).workers().any(|author| author == agent) {
        return Some("did the work itself".to_owned());
    }
    if plan.agent(agent).removed {
        return Some("is not in the mission any more".to_owned());
    }
    dependence(plan, task, agent).map(|why| why.to_string())
}

/// The reason for which an agent may not judge `task`, by what the mission declares; `None` where it may.
fn dependence(plan: &Plan, task: TaskId, agent: AgentId) -> Option<Dependence> {
    let rule = independence(plan, task);
    if rule == Independence::Identity {
        return None;
    }
    let declared = |agent: AgentId| ModelIdentity::of(plan.agent(agent), None);
    authors(plan, task).find_map(|author| declared(agent).depends_on(&declared(author), rule))
}

fn able(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<Eligible> {
    let work = plan.task(task);
    let author = work.agent;
    let named = named.unwrap_or_default();
    let manager = plan.agent(author).reports_to;
    let claim = |agent: AgentId| {
        let spec = &plan.agent(agent).spec;
        let is_out = plan.agent(agent).removed || !plan.reaches(agent, task);
        if is_out || work.workers().any(|author| author == agent) {
            return None;
        }
        if let Some(position) = named.iter().position(|name| *name == agent) {
            return Some((Why::Named, position));
        }
        let answers_for_it = work.delegated_by == Some(agent) || manager == Some(agent);
        let is_able = spec.may_judge() || (answers_for_it && spec.adapter == Adapter::Command);
        if !is_able {
            return None;
        }
        let why = if work.delegated_by == Some(agent) {
            Why::Delegator
        } else if spec.has_judging_role() {
            Why::Role
        } else if manager == Some(agent) {
            Why::Manager
        } else {
            Why::Able
        };
        Some((why, agent.index()))
    };
    let mut claims: Vec<_> = (0..plan.agents.len())
        .map(AgentId::from_index)
        .filter_map(|agent| claim(agent).map(|claim| (claim, agent)))
        .collect();
    claims.sort_unstable_by_key(|(claim, _)| *claim);
    claims.into_iter().map(|((why, _), agent)| Eligible { agent, why }).collect()
}

/// Fills `seats` in order. Those whom the mission names come first; of the others, one whose family has no seat yet goes
/// before one whose family has. With fewer eligible agents than seats they repeat, each time in a fresh context; the
/// task then carries a finding. Nobody eligible fills nothing.
pub fn seat_agents(plan: &Plan, eligible: &[Eligible], seats: usize) -> Vec<AgentId> {
    let mut waiting: Vec<(&Eligible, ModelIdentity<'_>)> = eligible
        .iter()
        .map(|eligible| (eligible, ModelIdentity::of(plan.agent(eligible.agent), None)))
        .collect();
    let mut seated: Vec<(&Eligible, ModelIdentity<'_>)> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_new = |mind: &ModelIdentity<'_>| {
            mind.family().is_none_or(|family| seated.iter().all(|(_, other)| other.family() != Some(family)))
        };
        let next = waiting.iter().position(|(eligible, mind)| eligible.why == Why::Named || is_new(mind));
        seated.push(waiting.remove(next.unwrap_or(0)));
    }
    let agents = seated.iter().map(|(eligible, _)| eligible.agent);
    agents.cycle().take(seats).collect()
}

impl TaskPlan {
    /// The agents that work on the task or did.
    pub fn workers(&self) -> impl Iterator<Item = AgentId> {
        let before = self.agents_before.iter().copied();
        before.filter(|agent| *agent != self.agent).chain([self.agent])
    }

    /// The agents of which one may have to agree before it starts.
    pub fn approving_agents(&self) -> impl Iterator<Item = AgentId> {
        let approvers = self.approvals.iter().flat_map(|approval| &approval.approvers);
        approvers.filter_map(|approver| match approver {
            ApproverPlan::Agent(agent) => Some(*agent),
            ApproverPlan::Person(_) | ApproverPlan::Command(_) => None,
        })
    }
}

#[cfg(test)]
mod tests;
