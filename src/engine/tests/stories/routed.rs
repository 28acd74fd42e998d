//! Verifications as nodes: which edge is taken, what leaves the run, what is done again.

use crate::domain::{FailureClass, HoldId, OutcomeClass, Status, TaskId};
use crate::engine::{Command, Effect, Event, Input, State, Timer, outcome};

use super::super::properties::is_up_to_date;
use super::super::simulation::{Answer, Simulation, good};
use super::{Step, approve, patient, told, told_with};

const HEAD: &str = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: write}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [good], verification: {grader: heuristic}, onPass: publish, onFail: FAIL, onRefer: ask, maxVisits: 3}
  - {title: publish}
  - {title: repair}
  - {title: ask}
  - {title: tell, dependsOn: [publish]}
  - {title: mourn, dependsOn: [repair, ask]}
";

fn mission(fail: &str, more: &str) -> String {
    format!("{}{more}", HEAD.replace("FAIL", fail))
}

const GOOD: Answer = Answer::Score(90);
const BAD: Answer = Answer::Score(10);
const UNSURE: Answer = Answer::Unreadable;

/// The grader says this, one after the other, and the last for ever.
fn graded(answers: &[Answer]) -> impl FnMut(&State, &Effect) -> Answer {
    let mut answers = answers.to_vec();
    move |state, effect| match effect {
        Effect::Grade { .. } if answers.len() > 1 => answers.remove(0),
        Effect::Grade { .. } => answers[0].clone(),
        _ => good(state, effect),
    }
}

fn redo(task: u32) -> Step {
    Step::Comes(Input::Redo(TaskId(task)))
}

#[test]
fn each_verdict_takes_its_edge_and_leaves_the_others_out() {
    for (name, answer) in [("pass", GOOD), ("fail", BAD), ("refer", UNSURE)] {
        let steps = vec![redo(0), Step::Resumes];
        let story = told(&mission("repair", ""), graded(&[answer, GOOD]), steps);
        insta::assert_snapshot!(format!("edge_{name}"), story);
    }
}

#[test]
fn work_is_sent_back_until_it_is_good_or_its_visits_are_used_up() {
    let script = graded(&[BAD, BAD, GOOD]);
    insta::assert_snapshot!(
        "sent_back_until_good",
        told(&mission("write", ""), script, vec![Step::Resumes])
    );
    let steps = vec![Step::Comes(Input::RetryFailed), Step::Resumes];
    insta::assert_snapshot!(
        "sent_back_too_often",
        told(&mission("write", ""), graded(&[BAD]), steps)
    );
}

#[test]
fn gates_and_holds_over_what_was_left_out_are_passed() {
    let more = "qualityGates: [{name: g, afterTasks: [repair], blocksTasks: [tell]}]
checkpoints: [{name: h, afterTasks: [ask], blocksTasks: [tell]}]
delays: [{name: d, afterTasks: [repair, ask], blocksTasks: [tell], duration: 5s}]
";
    let steps = vec![redo(0), Step::Resumes];
    let story = told(&mission("repair", more), graded(&[GOOD, BAD]), steps);
    insta::assert_snapshot!("held_by_what_left", story);
    let pass = Step::Says(Command::PassCheckpoint {
        hold: HoldId(0),
        number: 1,
    });
    let steps = vec![pass, Step::TimePasses, redo(0), Step::Resumes];
    let story = told(&mission("repair", more), graded(&[UNSURE, GOOD]), steps);
    insta::assert_snapshot!("held_by_what_was_taken", story);
}

#[test]
fn what_waits_for_a_person_leaves_with_the_rest() {
    let more = "";
    let yaml = mission("repair", more)
        .replace(
            "{title: publish}",
            "{title: publish, requiresApproval: true, deadline: 1h}",
        )
        .replace(
            "{title: ask}",
            "{title: ask, requiresApproval: true, deadline: 1h, sideEffects: true}",
        );
    let steps = vec![approve(2, 1), redo(0), Step::Resumes, approve(4, 1)];
    insta::assert_snapshot!(
        "people_and_edges",
        told_with(&yaml, patient(), graded(&[GOOD, UNSURE]), steps)
    );
}

#[test]
fn a_verification_behind_another_is_redone_with_its_visits_kept() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false}
tasks:
  - {title: write}
  - {title: first, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: extend, onFail: write, onRefer: ask, maxVisits: 2}
  - {title: extend}
  - {title: second, type: verification, dependsOn: [extend], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: ask, maxVisits: 3}
  - {title: publish}
  - {title: ask}
  - {title: beside, dependsOn: [write], requiresApproval: true}
qualityGates: [{name: g, afterTasks: [write], blocksTasks: [ask]}]
";
    let steps = vec![Step::Resumes];
    insta::assert_snapshot!(
        "twice_verified",
        told(yaml, graded(&[GOOD, BAD, GOOD, BAD, GOOD]), steps)
    );
}

#[test]
fn an_edge_to_what_the_run_was_not_told_to_take_ends_it() {
    let only = |titles: &[&str]| crate::mission::RunOptions {
        only: titles.iter().map(|title| (*title).to_owned()).collect(),
        ..patient()
    };
    for (name, answer) in [("pass", GOOD), ("fail", BAD), ("refer", UNSURE)] {
        let options = only(&["write", "verify"]);
        let story = told_with(&mission("repair", ""), options, graded(&[answer]), vec![]);
        insta::assert_snapshot!(format!("edge_out_of_the_run_{name}"), story);
    }
}

#[test]
fn what_failed_before_a_verdict_led_elsewhere_is_left_out_when_it_is_tried_again() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: base, priority: 9}
  - {title: write}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: repair, onRefer: repair}
  - {title: publish, dependsOn: [base], deadline: 1h}
  - {title: tell, dependsOn: [publish], deadline: 1h}
  - {title: repair}
";
    let mut grader = graded(&[BAD]);
    let mut works = false;
    let script = move |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) && !std::mem::replace(&mut works, true) => {
            Answer::AgentFailed(FailureClass::Unknown)
        }
        _ => grader(state, effect),
    };
    let steps = vec![Step::Comes(Input::RetryFailed), Step::Resumes];
    insta::assert_snapshot!(told(yaml, script, steps));
}

#[test]
fn what_made_up_for_work_is_taken_back_when_that_is_sent_back() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0, maxFixAttempts: 0}
tasks:
  - {title: write, onExhausted: fixup, expectations: [{type: test, command: x}]}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: publish}
";
    let mut grader = graded(&[BAD, GOOD]);
    let mut checks = 0;
    let script = move |state: &State, effect: &Effect| match effect {
        Effect::RunCheck { .. } => {
            checks += 1;
            Answer::Check(checks > 1)
        }
        _ => grader(state, effect),
    };
    insta::assert_snapshot!(told(yaml, script, vec![Step::Resumes]));
}

#[test]
fn what_is_sent_back_takes_along_whom_it_handed_down_to_and_who_looks_at_it() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, boss: {run: [/bin/true], role: reviewer}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: write, assignTo: boss, expectations: [{type: test, command: x}]}
  - {title: second, assignTo: w, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: third, assignTo: w, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: tell, onFail: tell, onRefer: tell}
  - {title: publish, assignTo: w}
  - {title: tell, assignTo: w}
";
    let mut grader = graded(&[BAD, GOOD]);
    let mut hands_down = true;
    let script = move |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) && std::mem::take(&mut hands_down) => {
            let (asked, _) =
                crate::mission::read_delegations(&serde_json::json!([{"title": "part", "assignTo": "w"}]));
            Answer::HandsDown(asked)
        }
        _ => grader(state, effect),
    };
    insta::assert_snapshot!(told(yaml, script, vec![Step::Resumes]));
}

#[test]
fn a_failure_that_is_withdrawn_is_no_first_failure() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks:
  - {title: write}
  - {title: beside, dependsOn: [write], priority: 9}
  - {title: verify, type: verification, dependsOn: [write], acceptance: [c], verification: {grader: heuristic}, onPass: publish, onFail: write, onRefer: publish, maxVisits: 2}
  - {title: publish}
";
    let options = crate::mission::RunOptions {
        fail_fast: true,
        jobs: Some(2),
        ..patient()
    };
    let mut grader = graded(&[BAD, GOOD]);
    let mut fails = true;
    let script = move |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(1) && std::mem::take(&mut fails) => {
            Answer::AgentFailed(FailureClass::ProviderAuth)
        }
        _ => grader(state, effect),
    };
    let mut simulation = Simulation::new(yaml, options);
    let mut script = script;
    // It has failed before the verdict comes.
    while !simulation.todo.is_empty() {
        let is_grade = |effect: &Effect| matches!(effect, Effect::Grade { .. });
        let other = simulation.todo.iter().position(|effect| !is_grade(effect));
        simulation.perform(other.unwrap_or(0), &mut script);
        is_up_to_date(&simulation.state);
    }
    assert!(
        simulation.count(|event| matches!(
            event,
            Event::Transition {
                task: TaskId(1),
                to: Status::Failed,
                ..
            }
        )) == 1
    );
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn who_returns_with_a_verdict_has_its_deadline_again() {
    let yaml = mission("repair", "").replace(
        "{title: repair}",
        "{title: repair, deadline: '2099-01-01T00:00:00Z'}",
    );
    let repair = Some(TaskId(3));
    let armed = |simulation: &Simulation| {
        let timer = Timer::DeadlinePassed(repair);
        simulation.state.timers.at(timer).is_some()
    };
    let mut simulation = Simulation::new(&yaml, patient());
    assert!(armed(&simulation));
    simulation.run(graded(&[GOOD]));
    assert!(!armed(&simulation), "it was left out");
    assert!(simulation.say(&Input::Redo(TaskId(0))));
    assert!(armed(&simulation));
    is_up_to_date(&simulation.state);
}
