//! `fallback`: who judges, or goes on with the work, instead of an agent that cannot be reached, and who never does.

use crate::domain::{AgentId, Answer, FailureClass, OutcomeClass, QualityFlag, TaskId, WaitingReason};
use crate::engine::{AskEvent, Effect, Event, Fact, HoldEvent, State, TaskEvent, TurnEvent, outcome};

use super::simulation::{Response, Simulation, good, options, plan_of};

const T: TaskId = TaskId(0);

/// Agents `w` (0), `a` (1), `b` (2), `c` (3) with these keys of each, and one task.
fn mission(keys: [&str; 4], task: &str) -> String {
    let agent = |name: &str, keys: &str| format!("  {name}: {{run: [/bin/true]{keys}}}\n");
    let agents = ["w", "a", "b", "c"].map(String::from);
    let agents: String = agents.iter().zip(keys).map(|(name, keys)| agent(name, keys)).collect();
    format!("name: m\nagents:\n{agents}tasks:\n  - {{title: t, assignTo: w, {task}}}\n")
}

/// Whoever is asked among these cannot be reached.
fn without(unreachable: &'static [u32], class: FailureClass) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Ask { agent, .. } if unreachable.contains(&agent.0) => Response::Unreachable(class),
        _ => good(state, effect),
    }
}

fn run(yaml: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script);
    simulation
}

/// Who was asked, in order.
fn asked(simulation: &Simulation) -> Vec<u32> {
    let events = simulation.journal.iter().flatten();
    events
        .filter_map(|event| match event {
            Event::Ask(_, AskEvent::Requested { agent, .. }) => Some(agent.0),
            _ => None,
        })
        .collect()
}

fn fell_back(simulation: &Simulation) -> Vec<(AgentId, AgentId)> {
    let events = simulation.journal.iter().flatten();
    events
        .filter_map(|event| match event {
            Event::Task(_, TaskEvent::FellBack { from, to, .. }) => Some((*from, *to)),
            _ => None,
        })
        .collect()
}

fn findings(simulation: &Simulation) -> Vec<String> {
    let events = simulation.journal.iter().flatten();
    let reports = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => Some(&report.findings),
        _ => None,
    });
    reports.flatten().map(|finding| finding.description.clone()).collect()
}

const PANEL: &str = "expectations: [{type: llm_review, criteria: c, reviewers: [a]}]";

#[test]
fn the_next_one_is_asked_and_it_is_said_who_judged() {
    for (task, keys) in [(PANEL, ""), ("review: required", ", role: reviewer")] {
        let yaml = mission(["", &format!(", fallback: b{keys}"), ", fallback: [c]", ""], task);
        let simulation = run(&yaml, without(&[1, 2], FailureClass::ProviderAuth));
        assert_eq!(asked(&simulation), [1, 2, 3], "{task}");
        assert_eq!(fell_back(&simulation), [(AgentId(1), AgentId(2)), (AgentId(2), AgentId(3))]);
        assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
        assert_eq!(findings(&simulation), ["'c' judged instead of 'a', which could not be reached"]);
    }
}

#[test]
fn requests_are_repeated_before_anybody_stands_in() {
    let yaml = mission(["", ", fallback: b", "", ""], PANEL);
    let simulation = run(&yaml, without(&[1], FailureClass::ProviderTransient));
    assert_eq!(asked(&simulation), [1, 1, 1, 1, 2]);
    // What stands in has requests of its own.
    let simulation = run(&yaml, without(&[1, 2], FailureClass::RateLimited));
    assert_eq!(asked(&simulation)[..8], [1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
}

#[test]
fn nobody_stands_in_who_is_not_independent() {
    // Never the author.
    let yaml = mission(["", ", fallback: [w, c]", "", ""], PANEL);
    let simulation = run(&yaml, without(&[1], FailureClass::ProviderAuth));
    assert_eq!(asked(&simulation), [1, 3]);
    // Nor whoever shares the author's family, where that is asked for.
    let families = [", family: x", ", family: y, fallback: [b, c]", ", family: x", ", family: z"];
    let yaml = mission(families, PANEL) + "settings: {independence: family}\n";
    let simulation = run(&yaml, without(&[1], FailureClass::ProviderSpendLimit));
    assert_eq!(asked(&simulation), [1, 3]);
    // Nobody left: the judge is missing, and that is said.
    let families = [", family: x", ", family: y, fallback: b", ", family: x", ""];
    let yaml = mission(families, PANEL) + "settings: {independence: family, maxAssessmentRetries: 0}\n";
    let simulation = run(&yaml, without(&[1], FailureClass::ProviderAuth));
    assert_eq!(asked(&simulation), [1]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
}

#[test]
fn nobody_stands_in_for_a_judge_that_was_never_asked() {
    let never = |state: &State, effect: &Effect| match effect {
        Effect::Ask { .. } => Response::NeverAsked,
        _ => good(state, effect),
    };
    for (task, times) in [
        (PANEL, 2),
        // A failure that does not pass by itself is not asked about again.
        ("review: none, verification: {rubric: default-task}", 1),
        ("review: none, stages: [{name: s, agent: a}]", 1),
    ] {
        let yaml = mission(["", ", role: reviewer, fallback: b", "", ""], task);
        let simulation = run(&yaml, never);
        assert_eq!(asked(&simulation), vec![1; times], "{task}");
        assert_eq!(fell_back(&simulation), [], "{task}");
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    }
}

#[test]
fn a_circle_of_fallbacks_ends() {
    let yaml =
        mission(["", ", fallback: b", ", fallback: a", ""], PANEL) + "settings: {maxAssessmentRetries: 0}\n";
    let simulation = run(&yaml, without(&[1, 2], FailureClass::ProviderAuth));
    assert_eq!(asked(&simulation), [1, 2]);
}

#[test]
fn a_judge_that_grades_by_a_rubric_is_stood_in_for_too() {
    let yaml = mission(
        ["", ", role: reviewer, fallback: b", "", ""],
        "review: none, verification: {rubric: default-task}",
    );
    let simulation = run(&yaml, without(&[1], FailureClass::ProviderAuth));
    // What it says cannot be read here, so whoever said it is asked once more.
    assert_eq!(fell_back(&simulation), [(AgentId(1), AgentId(2))]);
    assert_eq!(asked(&simulation), [1, 2, 2]);
}

#[test]
fn a_crash_in_between_asks_whoever_was_asked_last() {
    let yaml = mission(["", ", fallback: b", "", ""], PANEL);
    let whole = run(&yaml, without(&[1], FailureClass::ProviderAuth));
    for end in 1..=whole.journal.len() {
        let mut simulation = Simulation::recovered(whole.state.plan.clone(), &whole.journal[..end]);
        simulation.resume();
        simulation.run(without(&[1], FailureClass::ProviderAuth));
        assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean), "after {end}");
        assert_eq!(fell_back(&simulation).len(), 1, "after {end}");
    }
}

#[test]
fn whoever_grades_by_a_rubric_instead_is_named_with_how_sure_it_is() {
    let yaml =
        mission(["", ", role: reviewer, fallback: b", "", ""], "review: none, verification: {rubric: r}");
    let yaml = format!(
        "{yaml}rubrics: {{r: {{criteria: [{{name: correctness, weight: 0.4}}, {{name: completeness, weight: 0.3}}, {{name: probe-adherence, weight: 0.3}}]}}}}\n"
    );
    let said = |confidence: &str| {
        let Answer::Grades(mut reply) = super::simulation::random::grades(100) else {
            panic!("grades are grades");
        };
        reply.confidence = crate::domain::Points::new(confidence.parse().unwrap()).unwrap();
        let simulation = run(&yaml, move |state: &State, effect: &Effect| match effect {
            Effect::Ask { agent, .. } if agent.0 == 1 => Response::Unreachable(FailureClass::ProviderAuth),
            Effect::Ask { .. } => Response::Answer(Answer::Grades(reply.clone())),
            _ => good(state, effect),
        });
        let asked = simulation.journal.iter().flatten().find_map(|event| match event {
            Event::Hold(_, HoldEvent::Opened { message, .. }) => Some(message.clone()),
            _ => None,
        });
        (findings(&simulation), asked.unwrap_or_default())
    };
    let (found, asked) = said("100");
    assert_eq!(found, ["'b' judged instead of 'a', which could not be reached"]);
    assert_eq!(asked, "");
    let (_, asked) = said("54.26");
    assert!(asked.starts_with("the judge is 54.3 % sure"), "{asked}");
}

/// Whoever works is one of these and cannot be reached.
fn worked_without(
    unreachable: &'static [u32],
    class: FailureClass,
) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::RunTurn { turn, .. } if unreachable.contains(&state.plan.task(turn.task).agent.0) => {
            Response::AgentFailed(class)
        }
        _ => good(state, effect),
    }
}

fn turns(simulation: &Simulation) -> usize {
    simulation.count(|event| matches!(event, Event::Turn(_, TurnEvent::Started(_))))
}

fn attempts(simulation: &Simulation) -> usize {
    1 + simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::AttemptPlanned { .. })))
}

const JUDGED_BY_C: &str = "expectations: [{type: llm_review, criteria: c, reviewers: [c]}]";

#[test]
fn the_next_one_goes_on_with_the_work_and_no_attempt_is_spent() {
    let yaml =
        mission([", fallback: a", ", fallback: b", "", ""], JUDGED_BY_C) + "settings: {maxRetries: 0}\n";
    for class in [
        FailureClass::UsageWindow,
        FailureClass::ProviderAuth,
        FailureClass::ProviderSpendLimit,
        FailureClass::RateLimited,
    ] {
        let simulation = run(&yaml, worked_without(&[0, 1], class));
        assert_eq!(fell_back(&simulation), [(AgentId(0), AgentId(1)), (AgentId(1), AgentId(2))], "{class:?}");
        assert_eq!((turns(&simulation), attempts(&simulation)), (3, 1), "{class:?}");
        assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean), "{class:?}");
        assert_eq!(simulation.state.plan.task(T).agent, AgentId(2));
    }
}

#[test]
fn what_passes_by_itself_is_tried_again_before_anybody_takes_over() {
    let yaml = mission([", fallback: a", "", "", ""], JUDGED_BY_C) + "settings: {maxRetries: 2}\n";
    let simulation = run(&yaml, worked_without(&[0], FailureClass::ProviderTransient));
    assert_eq!((turns(&simulation), attempts(&simulation)), (4, 3));
    assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
    // What its work came to is not a matter of reach.
    for class in [FailureClass::Unknown, FailureClass::ContextTooLong] {
        let simulation = run(&yaml, worked_without(&[0], class));
        assert_eq!(fell_back(&simulation), [], "{class:?}");
    }
}

#[test]
fn nobody_takes_over_who_judges_the_work_or_is_not_independent_of_its_judges() {
    let fails = |yaml: &str| {
        let simulation = run(yaml, worked_without(&[0], FailureClass::ProviderAuth));
        assert_eq!(fell_back(&simulation), [], "{yaml}");
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed, "{yaml}");
    };
    fails(&mission([", fallback: c", "", "", ""], JUDGED_BY_C));
    fails(&mission(
        [", fallback: b", ", role: reviewer", "", ""],
        "review: required, stages: [{name: s, agent: b}]",
    ));
    let family = |b: &str| {
        let keys = [", family: x, fallback: b", "", b, ", family: y"];
        mission(keys, JUDGED_BY_C) + "settings: {independence: family}\n"
    };
    fails(&family(", family: y"));
    fails(&family(""));
    let simulation = run(&family(", family: z"), worked_without(&[0], FailureClass::ProviderAuth));
    assert_eq!(fell_back(&simulation), [(AgentId(0), AgentId(2))]);
    // A verification that judges it has a judge of its own.
    let node = "assignTo: w}\n  - {title: n, assignTo: b, type: verification, acceptance: [c], dependsOn: [t], \
                onPass: e, onFail: e, onRefer: e}\n  - {title: e, assignTo: w";
    let yaml = mission([", fallback: [b, a]", "", ", role: reviewer", ""], "review: none")
        .replace("assignTo: w, review: none", &format!("review: none, {node}"));
    let simulation = run(&yaml, worked_without(&[0], FailureClass::ProviderAuth));
    assert_eq!(fell_back(&simulation)[0], (AgentId(0), AgentId(1)), "{yaml}");
}

#[test]
fn whoever_worked_on_it_before_does_not_judge_what_became_of_it() {
    let yaml = mission([", fallback: a", "", "", ", fallback: [w, b]"], JUDGED_BY_C);
    let script = |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if state.plan.task(turn.task).agent.0 == 0 => {
            Response::AgentFailed(FailureClass::UsageWindow)
        }
        Effect::Ask { agent, .. } if agent.0 == 3 => Response::Unreachable(FailureClass::ProviderAuth),
        _ => good(state, effect),
    };
    let simulation = run(&yaml, script);
    assert_eq!(asked(&simulation), [3, 2]);
}

#[test]
fn a_task_that_is_done_again_begins_with_the_agent_that_the_mission_names() {
    let yaml = mission([", fallback: a", "", "", ""], JUDGED_BY_C);
    let whole = run(&yaml, worked_without(&[0], FailureClass::UsageWindow));
    let mut again = Simulation::recovered(plan_of(&yaml, &options()), &whole.journal);
    assert_eq!(again.state.plan.task(T).agent, AgentId(1));
    again.resume();
    assert!(again.say(&Fact::Redo(T)));
    assert_eq!(again.state.plan.task(T).agent, AgentId(0));
    again.run(good);
    assert_eq!(again.state.plan.task(T).agent, AgentId(0));
}

#[test]
fn a_crash_while_work_is_handed_over_hands_it_over_once() {
    let yaml = mission([", fallback: a", "", "", ""], JUDGED_BY_C);
    let whole = run(&yaml, worked_without(&[0], FailureClass::UsageWindow));
    for end in 1..=whole.journal.len() {
        let mut simulation = Simulation::recovered(plan_of(&yaml, &options()), &whole.journal[..end]);
        simulation.resume();
        simulation.run(worked_without(&[0], FailureClass::UsageWindow));
        assert_eq!(fell_back(&simulation).len(), 1, "after {end}");
        assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean), "after {end}");
    }
}

#[test]
fn a_person_lets_the_next_one_act_where_the_first_may_have_acted() {
    let yaml = mission([", fallback: a", "", "", ""], &format!("sideEffects: true, {JUDGED_BY_C}"));
    let simulation = run(&yaml, worked_without(&[0], FailureClass::UsageWindow));
    assert_eq!(turns(&simulation), 1);
    let hold = simulation.state.task(T).hold().unwrap();
    assert_eq!(hold.reason, WaitingReason::SideEffects);
    assert_eq!(simulation.state.plan.task(T).agent, AgentId(1));
}
