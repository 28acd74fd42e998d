//! Who may judge a task, and in which order they are asked (semantics, section 8).

use std::fmt;

use crate::domain::{AgentId, TaskId};
use crate::mission::model::Adapter;
use crate::mission::{AgentPlan, Plan};

/// An agent that may judge, and why it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eligible {
    /// The agent.
    pub agent: AgentId,
    /// The first rule that lets it in.
    pub why: Why,
}

/// Why an agent is asked to judge, the strongest claim first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Why {
    /// The mission names it.
    Named,
    /// It handed the task down.
    Delegator,
    /// Judging is its role.
    Role,
    /// The worker reports to it.
    Manager,
    /// It is able to judge.
    Able,
}

impl Why {
    /// For people: why this reviewer.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Named => "named as reviewer",
            Self::Delegator => "delegated the task",
            Self::Role => "role reviewer or qa",
            Self::Manager => "manager of the worker",
            Self::Able => "able to judge",
        }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everybody who may judge `task`, in the order in which they are asked; each agent once, never the author.
///
/// `named` are the agents that the mission names for this review. Within a rule, agents keep the order of the file.
#[must_use]
pub fn reviewers(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<Eligible> {
    let work = plan.task(task);
    let author = work.agent;
    let named = named.unwrap_or_default();
    let manager = plan.agent(author).reports_to;
    let claim = |agent: AgentId| {
        if agent == author || plan.agent(agent).removed {
            return None;
        }
        if let Some(position) = named.iter().position(|name| *name == agent) {
            return Some((Why::Named, position));
        }
        let spec = plan.agent(agent);
        if !may_judge(spec) {
            return None;
        }
        let why = if work.delegated_by == Some(agent) {
            Why::Delegator
        } else if has_judging_role(spec) {
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
    claims
        .into_iter()
        .map(|((why, _), agent)| Eligible { agent, why })
        .collect()
}

/// Fills `seats` in order. With fewer eligible agents than seats they repeat, each time in a fresh context; the flag
/// says so, because the task must then carry a finding. Nobody eligible fills nothing.
#[must_use]
pub fn seat_agents(eligible: &[Eligible], seats: usize) -> (Vec<AgentId>, bool) {
    let agents: Vec<_> = eligible
        .iter()
        .map(|eligible| eligible.agent)
        .cycle()
        .take(seats)
        .collect();
    let repeated = eligible.len() < agents.len();
    (agents, repeated)
}

fn has_judging_role(agent: &AgentPlan) -> bool {
    let role = agent.spec.role.as_deref().unwrap_or_default().trim();
    role.eq_ignore_ascii_case("reviewer") || role.eq_ignore_ascii_case("qa")
}

/// Whether an agent may judge without being named. An adapter that only runs or repeats things must have been given
/// the role; a person is never asked unless the mission says so.
fn may_judge(agent: &AgentPlan) -> bool {
    match agent.spec.adapter {
        Adapter::Human => false,
        Adapter::Command | Adapter::Echo => has_judging_role(agent),
        Adapter::Openai
        | Adapter::Anthropic
        | Adapter::GeminiApi
        | Adapter::Ollama
        | Adapter::Acp
        | Adapter::Claude
        | Adapter::Codex
        | Adapter::Gemini
        | Adapter::Opencode
        | Adapter::Qwen
        | Adapter::Pi
        | Adapter::Aider => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bar, Millis};
    use crate::mission::model::{Agent, Review, TaskType};
    use crate::mission::{AttemptLimits, Rules, TaskPlan};

    /// `name`, adapter, role, manager.
    type Row = (&'static str, Adapter, Option<&'static str>, Option<u32>);

    fn plan(agents: &[Row], author: u32, delegated_by: Option<u32>) -> Plan {
        let agent = |(name, adapter, role, manager): &Row| AgentPlan {
            name: (*name).into(),
            removed: false,
            reports_to: manager.map(AgentId),
            spec: Agent {
                adapter: *adapter,
                role: role.map(str::to_owned),
                ..Agent::default()
            },
        };
        let task = TaskPlan {
            deadline: None,
            silence: crate::mission::Silence::of(None, None),
            requires_tool_calls: None,
            finish: None,
            wave: 0,
            title: "work".into(),
            part: crate::mission::Part::Selected,
            description: None,
            agent: AgentId(author),
            delegated_by: delegated_by.map(AgentId),
            priority: 1.into(),
            kind: TaskType::Other,
            exclusive: false,
            side_effects: false,
            approvals: Vec::new(),
            turn_timeout: Millis::from_secs(1),
            limits: AttemptLimits {
                max_fix_attempts: 0,
                max_retries: 0,
                max_attempts: None,
                max_evaluated_attempts: 1,
            },
            review: Review::Auto,
            on_exhausted: None,
            on_dependency_failed: None,
            workspace: None,
            target_files: Vec::new(),
            protect: Vec::new(),
            expectations: None,
            verification: None,
            provenance: None,
        };
        let rules = Rules {
            deadline: None,
            sla: crate::mission::SlaPlan::default(),
            budget: crate::mission::model::Budget::default(),
            prices: Vec::new(),
            orchestrator: None,
            max_question_rounds: 2,
            max_resolution_attempts: 2,
            on_dependency_failed: [].into_iter().collect(),
            judge_breaker: 5,
            protect: Vec::new(),
            concurrency: 1,
            evaluate: true,
            eval_bar: Bar::default_bar(),
            fail_open_on_unparsed_eval: false,
            max_assessment_retries: 1,
            auto_reject_on_timeout: false,
            quality_threshold: None,
            max_delegation_depth: 3,
            max_delegations: 20,
            on_exhausted: None,
            verify_prior_feedback: true,
            workspace: "/".into(),
            default_channels: Box::default(),
        };
        let agents = agents.iter().map(agent).collect();
        Plan::new("m".to_owned(), agents, vec![task], Vec::new(), &[], rules)
    }

    fn asked<'a>(plan: &'a Plan, named: Option<&[u32]>) -> Vec<(&'a str, Why)> {
        let named: Option<Vec<_>> = named.map(|ids| ids.iter().map(|id| AgentId(*id)).collect());
        reviewers(plan, TaskId(0), named.as_deref())
            .into_iter()
            .map(|eligible| (&*plan.agents[eligible.agent.index()].name, eligible.why))
            .collect()
    }

    #[test]
    fn the_strongest_claim_is_asked_first_and_nobody_twice() {
        let team: &[Row] = &[
            ("worker", Adapter::Claude, None, Some(4)),
            ("other", Adapter::Openai, None, None),
            ("tester", Adapter::Acp, Some("QA"), None),
            ("lead", Adapter::Codex, Some("reviewer"), None),
            ("boss", Adapter::Gemini, None, None),
        ];
        assert_eq!(
            asked(&plan(team, 0, Some(3)), Some(&[1])),
            [
                ("other", Why::Named),
                ("lead", Why::Delegator),
                ("tester", Why::Role),
                ("boss", Why::Manager),
            ]
        );
        assert_eq!(
            asked(&plan(team, 0, None), None),
            [
                ("tester", Why::Role),
                ("lead", Why::Role),
                ("boss", Why::Manager),
                ("other", Why::Able),
            ]
        );
    }

    #[test]
    fn the_first_agent_of_the_file_judges_like_any_other_and_is_told_why() {
        let team: &[Row] = &[
            ("first", Adapter::Openai, None, None),
            ("worker", Adapter::Claude, None, None),
        ];
        assert_eq!(asked(&plan(team, 1, None), None), [("first", Why::Able)]);
        let reasons = [Why::Named, Why::Delegator, Why::Role, Why::Manager, Why::Able];
        assert_eq!(
            reasons.map(|why| why.to_string()),
            [
                "named as reviewer",
                "delegated the task",
                "role reviewer or qa",
                "manager of the worker",
                "able to judge",
            ]
        );
    }

    #[test]
    fn named_reviewers_keep_the_order_of_their_naming() {
        let team: &[Row] = &[
            ("worker", Adapter::Claude, None, None),
            ("a", Adapter::Openai, None, None),
            ("b", Adapter::Openai, None, None),
        ];
        assert_eq!(
            asked(&plan(team, 0, None), Some(&[2, 1, 2])),
            [("b", Why::Named), ("a", Why::Named)]
        );
    }

    #[test]
    fn the_author_never_judges_whatever_its_claim() {
        let team: &[Row] = &[("worker", Adapter::Claude, Some("reviewer"), Some(0))];
        assert_eq!(asked(&plan(team, 0, Some(0)), Some(&[0])), []);
    }

    #[test]
    fn commands_need_the_role_or_a_name_and_people_need_a_name() {
        let team: &[Row] = &[
            ("worker", Adapter::Command, None, Some(3)),
            ("script", Adapter::Command, None, None),
            ("checker", Adapter::Command, Some("reviewer"), None),
            ("person", Adapter::Human, Some("reviewer"), None),
            ("parrot", Adapter::Echo, None, None),
        ];
        assert_eq!(asked(&plan(team, 0, Some(3)), None), [("checker", Why::Role)]);
        assert_eq!(
            asked(&plan(team, 0, Some(1)), Some(&[3, 1, 4])),
            [
                ("person", Why::Named),
                ("script", Why::Named),
                ("parrot", Why::Named),
                ("checker", Why::Role),
            ]
        );
    }

    #[test]
    fn too_few_agents_sit_more_than_once() {
        let eligible = |id| Eligible {
            agent: AgentId(id),
            why: Why::Able,
        };
        let ids = |(agents, repeated): (Vec<AgentId>, bool)| {
            (agents.iter().map(|id| id.0).collect::<Vec<_>>(), repeated)
        };
        let pair = [eligible(7), eligible(9)];
        assert_eq!(ids(seat_agents(&pair, 3)), (vec![7, 9, 7], true));
        assert_eq!(ids(seat_agents(&pair, 2)), (vec![7, 9], false));
        assert_eq!(ids(seat_agents(&pair, 1)), (vec![7], false));
        assert_eq!(ids(seat_agents(&[], 3)), (vec![], false));
    }
}
