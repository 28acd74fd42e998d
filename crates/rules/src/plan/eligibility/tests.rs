use super::*;
use crate::mission::model::Agent;
use crate::plan::{AgentPlan, Rules, TaskPlan};

/// `name`, adapter, role, manager.
type Row = (&'static str, Adapter, Option<&'static str>, Option<u32>);

fn plan(agents: &[Row], author: u32, delegated_by: Option<u32>) -> Plan {
    let agent = |(name, adapter, role, manager): &Row| AgentPlan {
        name: (*name).into(),
        removed: false,
        reports_to: manager.map(AgentId),
        spec: Agent {
            adapter: (*adapter).into(),
            preset: adapter.has_ledger().then(|| crate::mission::preset_of(adapter.as_str())),
            role: role.map(str::to_owned),
            ..Agent::default()
        },
    };
    let mut task = TaskPlan::plain("work", AgentId(author));
    task.delegated_by = delegated_by.map(AgentId);
    let agents = agents.iter().map(agent).collect();
    Plan::new("m".to_owned(), agents, vec![task], Vec::new(), &[], Rules::plain())
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
        [("other", Why::Named), ("lead", Why::Delegator), ("tester", Why::Role), ("boss", Why::Manager),]
    );
    assert_eq!(
        asked(&plan(team, 0, None), None),
        [("tester", Why::Role), ("lead", Why::Role), ("boss", Why::Manager), ("other", Why::Able),]
    );
}

#[test]
fn the_first_agent_of_the_file_judges_like_any_other_and_is_told_why() {
    let team: &[Row] = &[("first", Adapter::Openai, None, None), ("worker", Adapter::Claude, None, None)];
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
    assert_eq!(asked(&plan(team, 0, None), Some(&[2, 1, 2])), [("b", Why::Named), ("a", Why::Named)]);
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
        [("person", Why::Named), ("script", Why::Named), ("parrot", Why::Named), ("checker", Why::Role),]
    );
}

#[test]
fn whoever_began_the_work_and_handed_it_over_does_not_judge_it() {
    // Each of them would judge it by another rule: named, as who handed it down, by its role, as a manager, as one who is able.
    let team: &[Row] = &[
        ("worker", Adapter::Claude, None, Some(4)),
        ("named", Adapter::Openai, None, None),
        ("delegator", Adapter::Codex, Some("reviewer"), None),
        ("tester", Adapter::Acp, Some("QA"), None),
        ("manager", Adapter::Gemini, None, None),
        ("able", Adapter::Openai, None, None),
    ];
    let judges = |before: &[u32]| -> Vec<String> {
        let mut plan = plan(team, 0, Some(2));
        plan.tasks[0].agents_before = before.iter().map(|agent| AgentId(*agent)).collect();
        let able = asked(&plan, Some(&[1])).into_iter();
        able.map(|(name, _)| name.to_owned()).collect()
    };
    let all = judges(&[]);
    assert_eq!(all, ["named", "delegator", "tester", "manager", "able"]);
    for (agent, name) in (1..).zip(&all) {
        let others: Vec<&String> = all.iter().filter(|other| *other != name).collect();
        assert_eq!(judges(&[agent]).iter().collect::<Vec<_>>(), others);
    }
    assert_eq!(judges(&[1, 2, 3, 4]), ["able"]);
    assert_eq!(judges(&[1, 2, 3, 4, 5]), [""; 0]);
}

#[test]
fn whoever_began_the_work_and_handed_it_over_does_not_grade_it() {
    let mut plan = compiled(", verification: {rubric: default-task}");
    let grades = |plan: &Plan| grader(plan, TaskId(0)).map(|agent| plan.agent(agent).name.to_string());
    assert_eq!(grades(&plan).as_deref(), Some("j"));
    let first = AgentId(2);
    assert_eq!(&*plan.agent(first).name, "j");
    plan.tasks[0].agents_before = [first].into_iter().collect();
    assert_eq!(grades(&plan).as_deref(), Some("k"));
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
    let asked = |step| candidates(&plan, TaskId(0), eye, step).collect::<Vec<_>>();
    assert_eq!(asked(Some(StageKey::VISION)), [eye, other]);
    for step in [None, Some(StageKey::RED_TEAM), Some(StageKey::Own(0))] {
        assert_eq!(asked(step), [eye, blind, other]);
    }
}

#[test]
fn too_few_agents_sit_more_than_once() {
    let eligible = |id| Eligible { agent: AgentId(id), why: Why::Able };
    let team: &[Row] = &[("a", Adapter::Command, None, None), ("b", Adapter::Command, None, None)];
    let plan = plan(team, 0, None);
    let ids = |eligible: &[Eligible], seats| -> Vec<u32> {
        seat_agents(&plan, eligible, seats).iter().map(|id| id.0).collect()
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
        seat_agents(&plan, &eligible, seats).iter().map(|id| id.0).collect()
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
    plan.rules.settings.independence = Independence::Family;
    assert_eq!(asked(&plan, Some(&[1])), [("gemini", Why::Able)]);
    let excluded = excluded(&plan, TaskId(0), None);
    let excluded: Vec<_> =
        excluded.iter().map(|(agent, why)| (&*plan.agent(*agent).name, why.to_string())).collect();
    assert_eq!(
        excluded,
        [
            ("claude", "is of the author's family, claude".to_owned()),
            ("script", "the family of 'script' is not known: give it a family".to_owned()),
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
    crate::plan::compile(loaded.mission, &crate::plan::RunOptions::default())
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
    assert_eq!(grades(", acceptance: [c], verification: {grader: heuristic}"), None);
    assert_eq!(grades(""), None);
}

#[test]
fn named_reviewers_are_those_of_the_panel() {
    let names = |reviewers: &str| {
        let plan = compiled(&format!(", expectations: [{{type: llm_review, criteria: c{reviewers}}}]"));
        named(&plan, TaskId(0)).map(<[AgentId]>::to_vec)
    };
    assert_eq!(names(", reviewers: [k, j]"), Some(vec![AgentId(3), AgentId(2)]));
    assert_eq!(names(", reviewers: 2"), None);
    assert_eq!(named(&compiled(""), TaskId(0)), None);
}

/// Who judges, who may stand in, and of whom: two did the work that a verification is about.
const NODE: &str = "name: m
agents:
  w: {run: [x]}
  v: {run: [x]}
  j: {run: [x], role: reviewer}
  k: {run: [x], role: reviewer}
tasks:
  - {title: a, assignTo: w}
  - {title: b, assignTo: v}
  - {title: judge, type: verification, assignTo: j, dependsOn: [a, b], acceptance: [c], verification: {rubric: default-task}, onPass: go, onFail: go, onRefer: go}
  - {title: go, assignTo: w}
";

fn node() -> (Plan, [AgentId; 4]) {
    let source = crate::mission::Source::new("mission.yaml", NODE);
    let loaded = crate::mission::load(&source, &crate::mission::Layers::default()).unwrap();
    let plan = crate::plan::compile(loaded.mission, &crate::plan::RunOptions::default());
    let agents = ["w", "v", "j", "k"].map(|name| plan.find_agent(name).unwrap());
    (plan, agents)
}

#[test]
fn none_of_those_who_did_the_work_stands_in_for_its_judge() {
    let (mut plan, [worker, other, judge, free]) = node();
    let task = TaskId(2);
    assert_eq!(authors(&plan, task).collect::<Vec<_>>(), [worker, other]);
    let agents = std::sync::Arc::make_mut(&mut plan.agents);
    agents[judge.index()].spec.fallback = vec!["w".into(), "v".into(), "k".into()];
    assert_eq!(candidates(&plan, task, judge, None).collect::<Vec<_>>(), [judge, free]);
}

#[test]
fn a_verification_is_graded_by_none_of_those_who_did_the_work_or_began_it() {
    let (plan, [worker, other, judge, free]) = node();
    let task = TaskId(2);
    for (agent, grades) in [(judge, true), (free, true), (worker, false), (other, false)] {
        let mut plan = plan.clone();
        plan.tasks[2].agent = agent;
        assert_eq!(grader(&plan, task), grades.then_some(agent));
        // Whoever handed any of the work over has done a part of it.
        for judged in 0..2 {
            let mut began = plan.clone();
            began.tasks[judged].agents_before = [agent].into_iter().collect();
            assert_eq!(grader(&began, task), None, "{judged}");
        }
    }
}

#[test]
fn none_of_those_who_did_the_work_cuts_what_it_is_asked() {
    let (plan, [worker, other, judge, free]) = node();
    for agent in [worker, other] {
        let why = keeps_from_cutting(&plan, TaskId(2), agent);
        assert_eq!(why.as_deref(), Some("did the work itself"));
    }
    for agent in [judge, free] {
        assert_eq!(keeps_from_cutting(&plan, TaskId(2), agent), None);
    }
}

#[test]
fn what_keeps_a_named_agent_from_judging_is_said() {
    let team: &[Row] = &[
        ("worker", Adapter::Claude, None, None),
        ("sibling", Adapter::Anthropic, None, None),
        ("gemini", Adapter::GeminiApi, None, None),
        ("gone", Adapter::GeminiApi, None, None),
    ];
    let mut plan = plan(team, 0, None);
    std::sync::Arc::make_mut(&mut plan.agents)[3].removed = true;
    let both = |plan: &Plan, agent| {
        let agent = AgentId(agent);
        (depends_on_author(plan, TaskId(0), agent), keeps_from_cutting(plan, TaskId(0), agent))
    };
    let itself = Some("did the work itself".to_owned());
    let gone = Some("is not in the mission any more".to_owned());
    let family = Some("is of the author's family, claude".to_owned());
    assert_eq!(both(&plan, 0), (itself.clone(), itself.clone()));
    assert_eq!(both(&plan, 1), (None, None));
    assert_eq!(both(&plan, 3).0, gone);
    plan.rules.settings.independence = Independence::Family;
    assert_eq!(both(&plan, 0), (itself.clone(), itself));
    assert_eq!(both(&plan, 1), (family.clone(), family));
    assert_eq!(both(&plan, 2), (None, None));
    assert_eq!(both(&plan, 3).0, gone);
}
