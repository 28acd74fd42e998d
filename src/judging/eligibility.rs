//! Who may judge a task, and in which order they are asked (semantics, section 8).

use std::fmt;

use crate::domain::{AgentId, Step, TaskId};
use crate::mission::model::{Adapter, Independence};
use crate::mission::{Plan, Reviewers};

use super::independence::{Dependence, Mind};

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

/// Everybody who may judge `task`, in the order in which they are asked; each agent once, never the author, nobody who
/// is not independent of it.
///
/// `named` are the agents that the mission names for this review. Within a rule, agents keep the order of the file.
#[must_use]
pub fn reviewers(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<Eligible> {
    let mut able = able(plan, task, named);
    able.retain(|eligible| dependence(plan, task, eligible.agent).is_none());
    able
}

/// Those who would judge `task` if they were independent of its author, and what keeps them from it.
#[must_use]
pub fn excluded(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<(AgentId, Dependence)> {
    let able = able(plan, task, named).into_iter();
    able.filter_map(|eligible| Some((eligible.agent, dependence(plan, task, eligible.agent)?)))
        .collect()
}

/// The reviewers that the mission names for a task.
#[must_use]
pub fn named(plan: &Plan, task: TaskId) -> Option<&[AgentId]> {
    let panel = plan.task(task).expectations.as_deref()?.panel.as_ref()?;
    match &panel.reviewers {
        Reviewers::Named(agents) => Some(agents.as_slice()),
        Reviewers::Seats(_) => None,
    }
}

/// The judge that grades a task by its rubric: the first who may. None where plain facts grade, or nobody may. A person
/// is asked by an approval, not for grades.
#[must_use]
pub fn grader(plan: &Plan, task: TaskId) -> Option<AgentId> {
    plan.task(task).verification.as_deref()?.rubric.as_ref()?;
    if plan.route(task).is_some() {
        return verifier(plan, task);
    }
    let able = reviewers(plan, task, named(plan, task)).into_iter();
    able.map(|eligible| eligible.agent)
        .find(|agent| plan.agent(*agent).spec.adapter != Adapter::Human)
}

/// The agent that a verification is assigned to, if it may judge the work of the tasks that the verification is about.
fn verifier(plan: &Plan, task: TaskId) -> Option<AgentId> {
    let judge = plan.task(task).agent;
    let is_author = authors(plan, task).any(|author| author == judge);
    let depends = dependence(plan, task, judge).is_some();
    let is_person = plan.agent(judge).spec.adapter == Adapter::Human;
    (!is_author && !depends && !is_person).then_some(judge)
}

/// The agents whose work is judged: the task's own, or those of the tasks that a verification is about.
pub fn authors(plan: &Plan, task: TaskId) -> impl Iterator<Item = AgentId> + '_ {
    let is_node = plan.route(task).is_some();
    let own = (!is_node).then(|| plan.task(task).agent);
    let judged = is_node.then(|| plan.judged(task)).into_iter().flatten();
    own.into_iter().chain(judged.map(|task| plan.task(task).agent))
}

/// Who is asked instead of a judge that cannot be reached: the next after `current` of those who stand in for `first`, if it
/// may judge the task in this step, where it is one.
#[must_use]
pub fn next_judge(
    plan: &Plan,
    task: TaskId,
    first: AgentId,
    current: AgentId,
    step: Option<Step>,
) -> Option<AgentId> {
    let all = std::iter::once(first).chain(plan.fallbacks(first));
    let mut rest = all.skip_while(|agent| *agent != current).skip(1);
    rest.find(|agent| may_stand_in(plan, task, *agent, step))
}

/// How many may be asked, one after the other, where `first` cannot be reached.
#[must_use]
pub fn stand_ins(plan: &Plan, task: TaskId, first: AgentId, step: Option<Step>) -> usize {
    let others = plan.fallbacks(first).into_iter();
    others
        .filter(|agent| may_stand_in(plan, task, *agent, step))
        .count()
}

/// A fallback never breaks independence, and whoever looks at pictures must see them.
fn may_stand_in(plan: &Plan, task: TaskId, agent: AgentId, step: Option<Step>) -> bool {
    let spec = &plan.agent(agent).spec;
    spec.adapter != Adapter::Human
        && (step != Some(Step::Vision) || spec.vision)
        && authors(plan, task).all(|author| author != agent)
        && dependence(plan, task, agent).is_none()
}

/// What keeps an agent from cutting the criteria of `task` into what its judge is asked, in words: whoever did the work, or
/// is not independent of them, would choose its own questions. `None` where nothing does.
#[must_use]
pub fn keeps_from_cutting(plan: &Plan, task: TaskId, agent: AgentId) -> Option<String> {
    if authors(plan, task).any(|author| author == agent) {
        return Some("did the work itself".to_owned());
    }
    dependence(plan, task, agent).map(|why| why.to_string())
}

/// What the mission wants a reviewer of `task` not to share with its author.
#[must_use]
pub fn independence(plan: &Plan, task: TaskId) -> Independence {
    let panel = plan
        .task(task)
        .expectations
        .as_deref()
        .and_then(|e| e.panel.as_ref());
    panel.map_or(plan.rules.independence, |panel| panel.independence)
}

/// What keeps an agent that the mission names from judging `task`, in words; `None` where nothing does.
#[must_use]
pub fn depends_on_author(plan: &Plan, task: TaskId, agent: AgentId) -> Option<String> {
    if agent == plan.task(task).agent {
        return Some("did the work itself".to_owned());
    }
    if plan.agent(agent).removed {
        return Some("is not in the mission any more".to_owned());
    }
    dependence(plan, task, agent).map(|why| why.to_string())
}

/// What keeps an agent from judging `task`, by what the mission declares.
fn dependence(plan: &Plan, task: TaskId, agent: AgentId) -> Option<Dependence> {
    let rule = independence(plan, task);
    if rule == Independence::Identity {
        return None;
    }
    let reviewer = Mind::of(plan.agent(agent), None);
    authors(plan, task).find_map(|author| reviewer.depends_on(&Mind::of(plan.agent(author), None), rule))
}

fn able(plan: &Plan, task: TaskId, named: Option<&[AgentId]>) -> Vec<Eligible> {
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
        let spec = &plan.agent(agent).spec;
        if !spec.may_judge() {
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
    claims
        .into_iter()
        .map(|((why, _), agent)| Eligible { agent, why })
        .collect()
}

/// Fills `seats` in order. Those whom the mission names come first; of the others, one whose family has no seat yet goes
/// before one whose family has. With fewer eligible agents than seats they repeat, each time in a fresh context; the
/// task then carries a finding. Nobody eligible fills nothing.
#[must_use]
pub fn seat_agents(plan: &Plan, eligible: &[Eligible], seats: usize) -> Vec<AgentId> {
    let mut waiting: Vec<(&Eligible, Mind<'_>)> = eligible
        .iter()
        .map(|eligible| (eligible, Mind::of(plan.agent(eligible.agent), None)))
        .collect();
    let mut seated: Vec<(&Eligible, Mind<'_>)> = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let is_new = |mind: &Mind<'_>| {
            mind.family()
                .is_none_or(|family| seated.iter().all(|(_, other)| other.family() != Some(family)))
        };
        let next = waiting
            .iter()
            .position(|(eligible, mind)| eligible.why == Why::Named || is_new(mind));
        seated.push(waiting.remove(next.unwrap_or(0)));
    }
    let agents = seated.iter().map(|(eligible, _)| eligible.agent);
    agents.cycle().take(seats).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Bar, Millis};
    use crate::mission::model::{Agent, Review, TaskType};
    use crate::mission::{AgentPlan, AttemptLimits, Rules, TaskPlan};

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
            foundation: false,
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
            route: None,
            scrutiny: std::sync::Arc::default(),
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
            independence: crate::mission::model::Independence::Identity,
            auto_reject_on_timeout: false,
            quality_threshold: None,
            max_delegation_depth: 3,
            foundation: false,
            max_delegations: 20,
            on_exhausted: None,
            verify_prior_feedback: true,
            workspace: "/".into(),
            default_channels: Box::default(),
            scrutiny: std::sync::Arc::default(),
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
    fn nobody_looks_at_pictures_instead_who_cannot_see_them() {
        let team: &[Row] = &[
            ("worker", Adapter::Command, None, None),
            ("eye", Adapter::Openai, None, None),
            ("blind", Adapter::Openai, None, None),
            ("other", Adapter::Openai, None, None),
        ];
        let mut plan = plan(team, 0, None);
        let agents = std::sync::Arc::make_mut(&mut plan.agents);
        agents[1].spec.fallback = vec!["blind".into(), "other".into()];
        agents[3].spec.vision = true;
        let (eye, blind, other) = (AgentId(1), AgentId(2), AgentId(3));
        let next = |current, step| next_judge(&plan, TaskId(0), eye, current, step);
        assert_eq!(next(eye, Some(Step::Vision)), Some(other));
        assert_eq!(next(other, Some(Step::Vision)), None);
        for step in [None, Some(Step::RedTeam), Some(Step::Stage(0))] {
            assert_eq!((next(eye, step), next(blind, step)), (Some(blind), Some(other)));
            assert_eq!(stand_ins(&plan, TaskId(0), eye, step), 2);
        }
        assert_eq!(stand_ins(&plan, TaskId(0), eye, Some(Step::Vision)), 1);
    }

    #[test]
    fn too_few_agents_sit_more_than_once() {
        let eligible = |id| Eligible {
            agent: AgentId(id),
            why: Why::Able,
        };
        let team: &[Row] = &[
            ("a", Adapter::Command, None, None),
            ("b", Adapter::Command, None, None),
        ];
        let plan = plan(team, 0, None);
        let ids = |eligible: &[Eligible], seats| -> Vec<u32> {
            seat_agents(&plan, eligible, seats)
                .iter()
                .map(|id| id.0)
                .collect()
        };
        let pair = [eligible(1), eligible(0)];
        assert_eq!(ids(&pair, 3), [1, 0, 1]);
        assert_eq!(ids(&pair, 2), [1, 0]);
        assert_eq!(ids(&pair, 1), [1]);
        assert_eq!(ids(&[], 3), [0_u32; 0]);
    }

    #[test]
    fn seats_prefer_families_that_have_none_yet_unless_the_mission_names_them() {
        let team: &[Row] = &[
            ("worker", Adapter::Command, None, None),
            ("claude", Adapter::Anthropic, Some("reviewer"), None),
            ("claude-too", Adapter::Claude, None, None),
            ("script", Adapter::Command, Some("qa"), None),
            ("gemini", Adapter::GeminiApi, None, None),
        ];
        let plan = plan(team, 0, None);
        let seats = |named: Option<&[AgentId]>, seats| -> Vec<u32> {
            let eligible = reviewers(&plan, TaskId(0), named);
            seat_agents(&plan, &eligible, seats)
                .iter()
                .map(|id| id.0)
                .collect()
        };
        assert_eq!(seats(None, 4), [1, 3, 4, 2]);
        assert_eq!(seats(Some(&[AgentId(2), AgentId(1)]), 2), [2, 1]);
    }

    #[test]
    fn who_shares_the_authors_family_does_not_judge_and_is_told_why() {
        let team: &[Row] = &[
            ("worker", Adapter::Claude, None, None),
            ("claude", Adapter::Anthropic, Some("reviewer"), None),
            ("gemini", Adapter::GeminiApi, None, None),
            ("script", Adapter::Command, Some("qa"), None),
        ];
        let mut plan = plan(team, 0, None);
        plan.rules.independence = Independence::Family;
        assert_eq!(asked(&plan, Some(&[1])), [("gemini", Why::Able)]);
        let excluded = excluded(&plan, TaskId(0), None);
        let excluded: Vec<_> = excluded
            .iter()
            .map(|(agent, why)| (&*plan.agent(*agent).name, why.to_string()))
            .collect();
        assert_eq!(
            excluded,
            [
                ("claude", "is of the author's family, claude".to_owned()),
                (
                    "script",
                    "the family of 'script' is not known: give it a family".to_owned()
                ),
            ]
        );
    }

    fn compiled(task: &str) -> Plan {
        let yaml = format!(
            "name: m\nagents:\n  w: {{run: [x]}}\n  p: {{adapter: human}}\n  j: {{run: [x], role: reviewer}}\n  \
             k: {{run: [x], role: reviewer}}\ntasks: [{{title: a, assignTo: w{task}}}]\n"
        );
        let source = crate::mission::Source::new("mission.yaml", yaml.as_str());
        let loaded = crate::mission::load(&source, &crate::mission::Layers::default()).unwrap();
        crate::mission::compile(loaded.mission, &crate::mission::RunOptions::default())
    }

    #[test]
    fn whoever_grades_by_a_rubric_is_the_first_who_may_and_no_person() {
        let grades = |task: &str| {
            let plan = compiled(task);
            grader(&plan, TaskId(0)).map(|agent| plan.agent(agent).name.to_string())
        };
        let rubric = "verification: {rubric: default-task}";
        assert_eq!(grades(&format!(", {rubric}")).as_deref(), Some("j"));
        let named = |who: &str| {
            format!(", {rubric}, expectations: [{{type: llm_review, criteria: c, reviewers: [{who}]}}]")
        };
        assert_eq!(grades(&named("k, j")).as_deref(), Some("k"));
        assert_eq!(grades(&named("p, k")).as_deref(), Some("k"));
        assert_eq!(
            grades(", acceptance: [c], verification: {grader: heuristic}"),
            None
        );
        assert_eq!(grades(""), None);
    }

    #[test]
    fn named_reviewers_are_those_of_the_panel() {
        let names = |reviewers: &str| {
            let plan = compiled(&format!(
                ", expectations: [{{type: llm_review, criteria: c{reviewers}}}]"
            ));
            named(&plan, TaskId(0)).map(<[AgentId]>::to_vec)
        };
        assert_eq!(names(", reviewers: [k, j]"), Some(vec![AgentId(3), AgentId(2)]));
        assert_eq!(names(", reviewers: 2"), None);
        assert_eq!(named(&compiled(""), TaskId(0)), None);
    }
}
