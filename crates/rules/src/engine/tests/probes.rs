//! Criteria that an agent cuts into probes before a judge grades: when it is asked, what its word leads to, and when it
//! is asked again.

use crate::domain::{Cause, Digest, FailureClass, OutcomeClass, Purpose, QualityFlag, Status, TaskId};
use crate::engine::{AskEvent, Effect, Event, Fact, FileRef, State, TaskEvent, outcome, worst_case};

use crate::mission::model::Budget;

use super::simulation::random::{grades, probes};
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

const T: TaskId = TaskId(0);

/// Agents `w` (0), `j` (1), `p` (2) and `q` (3), and a task with two criteria that `p` cuts and `j` grades.
const MISSION: &str = "
name: m
agents:
  w: {run: [/bin/true]}
  j: {run: [/bin/true], role: reviewer}
  p: {run: [/bin/true]}
  q: {run: [/bin/true]}
tasks:
  - {title: t, assignTo: w, review: none, maxAttempts: 2, acceptance: [c, d], decomposer: {agent: p}}
";

/// Whoever cuts says this, and whoever grades is content.
fn cut(said: Response) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Decompose { .. }, .. } => said.clone(),
        Effect::Ask { purpose: Purpose::Grade { .. }, .. } => Response::Answer(grades(100)),
        _ => good(state, effect),
    }
}

fn run(yaml: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script);
    simulation
}

/// Who was asked for what, in order.
fn asked(simulation: &Simulation) -> Vec<(&'static str, u32)> {
    let events = simulation.journal.iter().flatten();
    events
        .filter_map(|event| match event {
            Event::Ask(_, AskEvent::Requested { purpose, agent, .. }) => Some((purpose.as_str(), agent.0)),
            _ => None,
        })
        .collect()
}

fn whole() -> Response {
    Response::Answer(probes(&[1, 2, 2]))
}

fn without_the_second() -> Response {
    Response::Answer(probes(&[1]))
}

#[test]
fn they_are_cut_once_and_hold_for_every_attempt() {
    let mut graded = 0;
    let simulation = run(MISSION, |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Grade { .. }, .. } => {
            assert_eq!(state.task(T).course.probes.len(), 3, "the judge is told them");
            graded += 1;
            Response::Answer(grades(if graded == 1 { 0 } else { 100 }))
        }
        _ => cut(whole())(state, effect),
    });
    assert_eq!(asked(&simulation), [("decompose", 2), ("grade", 1), ("grade", 1)]);
    assert_eq!(simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Probed { .. }))), 1);
    let handed_over = simulation
        .count(|event| matches!(event, Event::Ask(_, AskEvent::HandedOver { agent, .. }) if agent.0 == 1));
    assert_eq!(handed_over, 2, "each grading is handed over, and nothing else");
    let task = simulation.state.task(T);
    assert_eq!((task.course.tries, task.flag()), (2, Some(QualityFlag::Clean)));
    let most = worst_case(&simulation.state, T);
    assert_eq!(most.judge_calls, Some(3), "one cut, and one grading in each of two attempts");
}

#[test]
fn a_criterion_without_a_probe_is_asked_about_again_and_is_never_a_verdict() {
    for (said, times) in [
        (without_the_second(), 2),
        (Response::Answer(probes(&[1, 2, 3])), 2),
        (Response::Answer(probes(&[1, 1, 1, 1, 1, 1, 2])), 2),
        (Response::Unreadable, 2),
        // A failure that does not pass by itself is not asked about again.
        (Response::Unreachable(FailureClass::Unknown), 1),
    ] {
        let mut simulation = run(MISSION, cut(said.clone()));
        assert_eq!(asked(&simulation), vec![("decompose", 2); times], "{said:?}");
        let task = simulation.state.task(T);
        let cause = task.hold().and_then(|waiting| waiting.cause);
        assert_eq!((task.course.tries, cause), (1, Some(Cause::GateError)), "{said:?}");
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
        // A later session asks again, without another attempt.
        simulation.resume();
        simulation.run(cut(whole()));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
        assert_eq!(simulation.state.task(T).course.tries, 1);
    }
}

#[test]
fn what_was_asked_about_again_and_is_whole_then_counts() {
    let mut said = 0;
    let simulation = run(MISSION, |state, effect| {
        said += u32::from(matches!(effect, Effect::Ask { .. }));
        cut(if said == 1 { without_the_second() } else { whole() })(state, effect)
    });
    assert_eq!(asked(&simulation), [("decompose", 2), ("decompose", 2), ("grade", 1)]);
    assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Clean));
}

#[test]
fn another_cuts_where_one_cannot_be_reached_but_never_the_author() {
    let with = |fallback: &str| {
        let own = format!("  p: {{run: [/bin/true], fallback: {fallback}}}");
        let yaml = MISSION.replace("  p: {run: [/bin/true]}", &own);
        run(&yaml, |state, effect| match effect {
            Effect::Ask { agent, .. } if agent.0 == 2 => Response::Unreachable(FailureClass::ProviderAuth),
            _ => cut(whole())(state, effect),
        })
    };
    let stood_in = with("[w, q]");
    assert_eq!(asked(&stood_in), [("decompose", 2), ("decompose", 3), ("grade", 1)]);
    assert_eq!(outcome(&stood_in.state).class, OutcomeClass::Ok);
    let nobody = with("w");
    assert_eq!(asked(&nobody), [("decompose", 2)]);
    assert_eq!(outcome(&nobody.state).class, OutcomeClass::Indeterminate);
}

#[test]
fn whoever_depends_on_the_author_by_the_missions_rule_cuts_nothing() {
    let family = MISSION.replace("tasks:", "settings: {independence: family}\ntasks:");
    let same = |who: &str| {
        let mut yaml = family.clone();
        for name in ["w", "j", "p", "q"] {
            let of = if who.contains(name) { "same" } else { name };
            let own = format!("  {name}: {{run: [/bin/true], family: {of}");
            yaml = yaml.replace(&format!("  {name}: {{run: [/bin/true]"), &own);
        }
        run(&yaml, cut(whole()))
    };
    let dependent = same("wp");
    assert_eq!(asked(&dependent), []);
    let cause = dependent.state.task(T).hold().and_then(|waiting| waiting.cause);
    assert_eq!(cause, Some(Cause::NoReviewer));
    assert_eq!(outcome(&dependent.state).class, OutcomeClass::Indeterminate);
    assert_eq!(outcome(&same("wq").state).class, OutcomeClass::Ok);
}

#[test]
fn without_reviews_nobody_is_asked_to_cut() {
    let off = crate::plan::RunOptions { no_eval: true, ..options() };
    let mut simulation = Simulation::new(MISSION, off.clone());
    simulation.run(good);
    assert_eq!(asked(&simulation), []);
    assert_eq!(simulation.state.task(T).flag(), Some(QualityFlag::Unreviewed));
    // Nor is anybody waited for who was asked before they were switched off.
    let mut simulation = Simulation::new(MISSION, options());
    while !matches!(simulation.todo.front(), Some(Effect::Ask { .. })) {
        simulation.perform(0, &mut good);
    }
    let mut resumed = Simulation::recovered(plan_of(MISSION, &off), &simulation.journal);
    resumed.state.options = off;
    resumed.resume();
    resumed.run(cut(whole()));
    assert_eq!(resumed.count(|event| matches!(event, Event::Task(_, TaskEvent::Probed { .. }))), 0);
    assert_eq!(resumed.state.task(T).flag(), Some(QualityFlag::Unreviewed));
}

#[test]
fn a_call_that_has_no_room_in_the_budget_ends_the_session_and_is_made_in_a_later_one() {
    // Once: the session waited for ever for grades that nobody was asked for.
    for (most, made) in [(1, 0), (2, 1)] {
        let yaml = MISSION.replace("tasks:", &format!("budget: {{maxRequests: {most}}}\ntasks:"));
        let mut simulation = run(&yaml, cut(whole()));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit, "{most}");
        let probed = simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Probed { .. })));
        assert_eq!(probed, made, "{most}");
        std::sync::Arc::make_mut(&mut simulation.state.plan).rules.budget = Budget::default();
        simulation.resume();
        simulation.run(cut(whole()));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok, "{most}");
        assert_eq!(simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Probed { .. }))), 1);
    }
}

#[test]
fn a_task_that_begins_anew_has_its_criteria_cut_anew() {
    let mut simulation = run(MISSION, cut(whole()));
    assert_eq!(statuses(&simulation.state), [Status::Done]);
    simulation.feed(&Fact::Redo(T));
    simulation.resume();
    simulation.run(cut(whole()));
    assert_eq!(asked(&simulation), [("decompose", 2), ("grade", 1), ("decompose", 2), ("grade", 1)]);
}

#[test]
fn what_is_handed_over_to_nobody_who_is_asked_is_no_event() {
    let simulation = run(MISSION, cut(whole()));
    let late = Fact::HandedOver {
        id: crate::domain::AskId { task: T, number: 2, attempt_try: 1 },
        file: FileRef { length: 1, digest: Digest::of(b"x") },
    };
    assert_eq!(crate::engine::decide(&simulation.state, &late, crate::domain::Timestamp(1)), []);
}
