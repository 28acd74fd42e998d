//! Foundation tasks: a lower bar and one more attempt, and nothing of it unsaid.

use crate::domain::{
    AskId, AttemptKind, BarOrigin, FailureMode, Points, Purpose, QualityFlag, Status, TaskId, TurnId,
};
use crate::engine::quality_flag::Mark;
use crate::engine::{Effect, Event, Job, State, TaskEvent, worst_case};

use super::simulation::{Response, Simulation, good, options, plan_of};

const BASE: TaskId = TaskId(0);

/// The first task has so many dependents; `rest` is the rest of what is said of it.
fn mission(settings: &str, dependents: usize, rest: &str) -> String {
    let mut yaml = format!(
        "name: m
settings: {{{settings}}}
agents:
  w: {{run: [/bin/true]}}
  j: {{run: [/bin/true], role: reviewer}}
tasks:
  - {{title: base, assignTo: w, {rest}}}
"
    );
    for number in 0..dependents {
        yaml.push_str(&format!("  - {{title: d{number}, assignTo: w, dependsOn: [base], review: none}}\n"));
    }
    yaml
}

/// Every judgement of the first task gives this.
fn run(yaml: &str, points: u8) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(move |state: &State, effect: &Effect| match effect {
        Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. }
        | Effect::Job { turn: TurnId { task, .. }, job: Job::Grade(_) }
            if *task == BASE =>
        {
            Response::Score(points)
        }
        _ => good(state, effect),
    });
    simulation
}

fn bar_of(yaml: &str) -> (Points, BarOrigin) {
    let bar = State::new(plan_of(yaml, &options())).plan.bar(BASE).expect("a score decides about it");
    (bar.points, bar.origin)
}

#[test]
fn three_dependents_lower_the_bar_by_twenty_points_but_not_below_forty() {
    let panel = "expectations: [{type: llm_review, criteria: c}]";
    let lowered = |points| (Points::whole(points), BarOrigin::Foundation);
    assert_eq!(bar_of(&mission("", 2, "type: other")), (Points::whole(60), BarOrigin::Default));
    assert_eq!(bar_of(&mission("", 3, "type: other")), lowered(40));
    assert_eq!(bar_of(&mission("", 4, panel)), lowered(40));
    assert_eq!(bar_of(&mission("evalThreshold: 90", 3, "type: other")), lowered(70));
    assert_eq!(bar_of(&mission("evalThreshold: 45", 3, "type: other")), lowered(40));
    for low in [40, 30] {
        let settings = format!("evalThreshold: {low}");
        assert_eq!(bar_of(&mission(&settings, 3, "type: other")), (Points::whole(low), BarOrigin::Mission));
    }
    let graded = "acceptance: [c], verification: {grader: heuristic}, review: none";
    assert_eq!(bar_of(&mission("", 3, graded)), lowered(40));
}

#[test]
fn a_threshold_of_its_own_and_the_switch_keep_the_bar() {
    let own = "expectations: [{type: llm_review, criteria: c, threshold: 70}]";
    assert_eq!(bar_of(&mission("", 3, own)), (Points::whole(70), BarOrigin::Mission));
    assert_eq!(
        bar_of(&mission("foundation: false", 3, "type: other")),
        (Points::whole(60), BarOrigin::Default)
    );
    let graded = "acceptance: [c], verification: {grader: heuristic, threshold: 60}, review: none";
    assert_eq!(bar_of(&mission("", 3, graded)), (Points::whole(60), BarOrigin::Mission));
}

#[test]
fn a_pass_that_needed_the_relief_says_so() {
    for rest in ["type: other", "expectations: [{type: llm_review, criteria: c}]"] {
        for (points, flag) in
            [(60, QualityFlag::Clean), (59, QualityFlag::Relaxed), (40, QualityFlag::Relaxed)]
        {
            let simulation = run(&mission("", 3, rest), points);
            let task = simulation.state.task(BASE);
            assert_eq!((task.flag(), task.attempt.number), (Some(flag), 1), "{rest}: {points}");
            assert_eq!(simulation.state.sums.counts.relaxed, u32::from(flag == QualityFlag::Relaxed));
        }
    }
    // Without the relief it is sent back.
    let simulation = run(&mission("foundation: false", 3, "type: other"), 59);
    assert_eq!(simulation.state.task(BASE).flag(), Some(QualityFlag::BelowThreshold));
    // Replayed, it is the same.
    let simulation = run(&mission("", 3, "type: other"), 50);
    let text = serde_json::to_string(&simulation.journal).unwrap();
    let journal: Vec<Vec<Event>> = serde_json::from_str(&text).unwrap();
    let read = Simulation::recovered(plan_of(&mission("", 3, "type: other"), &options()), &journal);
    assert_eq!(read.state.task(BASE).flag(), Some(QualityFlag::Relaxed));
    assert!(read.state.task(BASE).attempt.has(Mark::Relaxed));
}

fn kinds(simulation: &Simulation) -> Vec<AttemptKind> {
    let events = simulation.journal.iter().flatten();
    let planned = events.filter_map(|event| match event {
        Event::Task(BASE, TaskEvent::AttemptPlanned { kind, .. }) => Some(*kind),
        _ => None,
    });
    planned.collect()
}

#[test]
fn it_has_one_more_attempt_than_others() {
    use AttemptKind::{Fix, Retry};
    let checked = "expectations: [{type: llm_review, criteria: c}]";
    let few = "maxFixAttempts: 1, maxRetries: 1";
    let cases: [(&str, usize, &str, &[AttemptKind]); 6] = [
        ("", 2, "type: other", &[Fix]),
        ("", 3, "type: other", &[Fix, Fix]),
        (few, 2, checked, &[Fix, Retry, Fix]),
        (few, 3, checked, &[Fix, Retry, Fix, Retry]),
        ("maxFixAttempts: 0, maxRetries: 0", 3, checked, &[Retry]),
        ("", 3, "maxAttempts: 2", &[Fix]),
    ];
    for (settings, dependents, rest, expected) in cases {
        let yaml = mission(settings, dependents, rest);
        let simulation = run(&yaml, 20);
        assert_eq!(kinds(&simulation), expected, "{yaml}");
        let most = worst_case(&simulation.state, BASE).attempts;
        assert_eq!(most, u32::try_from(expected.len() + 1).ok(), "{yaml}");
    }
}

#[test]
fn its_fixup_comes_after_the_extra_attempt_and_is_held_to_the_full_bar() {
    let rest = "onExhausted: fixup, expectations: [{type: llm_review, criteria: c}]";
    let yaml = mission("maxFixAttempts: 0, maxRetries: 0", 3, rest);
    let fixup = TaskId(4);
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state: &State, effect: &Effect| match effect {
        Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. } if *task == BASE => {
            Response::Score(20)
        }
        Effect::Ask { id: AskId { task, .. }, purpose: Purpose::Score(_), .. } if *task == fixup => {
            Response::Score(50)
        }
        _ => good(state, effect),
    });
    let state = &simulation.state;
    assert_eq!(kinds(&simulation), [AttemptKind::Retry]);
    assert_eq!(state.plan.bar(fixup).map(|bar| bar.points), Some(Points::whole(60)));
    assert_eq!(
        (state.task(fixup).status(), state.task(fixup).mode()),
        (Status::Failed, Some(FailureMode::Quality))
    );
    assert_eq!(worst_case(state, BASE).attempts, Some(3), "two of its own, one of the fixup");
}
