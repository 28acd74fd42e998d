//! What a person's word in the place of a judge settles, in this session and in later ones.

use super::*;
use crate::domain::Purpose;
use crate::engine::event::{AskEvent, HoldEvent};

#[test]
fn a_person_who_is_asked_about_a_stage_is_told_that_nobody_reviewed_the_work() {
    let question = |no_eval: bool| {
        let options = RunOptions { no_eval, ..options() };
        let killed = Response::Unreachable(FailureClass::Unknown);
        let simulation =
            run_with("stages: [{name: lint, command: c}]", "", options, steps(Response::Finished, killed));
        let events = simulation.journal.iter().flatten();
        let mut asked = events.filter_map(|event| match event {
            Event::Hold(_, HoldEvent::Opened { message, .. }) => Some(message.clone()),
            _ => None,
        });
        asked.next_back().unwrap_or_default()
    };
    assert!(question(true).ends_with("whoever approves it is its only reviewer"));
    // Here `j` has.
    assert!(!question(false).contains("reviewer"), "{}", question(false));
}

#[test]
fn whoever_lets_work_pass_has_reviewed_it_where_reviews_are_switched_off() {
    let no_eval = RunOptions { no_eval: true, ..options() };
    let killed = Response::Unreachable(FailureClass::Unknown);
    let mut simulation = run_with(BOTH, "", no_eval, steps(Response::Finished, killed));
    approve(&mut simulation, 1);
    simulation.run(good);
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Clean)));
}

#[test]
fn what_a_person_accepted_is_asked_of_nobody_again_when_later_judges_were_missing() {
    // A person accepts the panel's place, the stage of another person, or what stands for both; the red team is missing.
    let top = "stages: [{name: owner, agent: h}, {name: legal, agent: x}]\nredTeam: {agent: x}";
    let panel = ", expectations: [{type: llm_review, criteria: c, reviewers: [j, h]}]";
    let mut simulation = Simulation::new(&mission(top, panel), options());
    let down = |state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose, .. } if purpose.seat().is_none() => {
            Response::Unreachable(FailureClass::ProviderAuth)
        }
        _ => good(state, effect),
    };
    simulation.run(down);
    let asks = |simulation: &Simulation| {
        let waiting = simulation.state.task(T).hold();
        let waiting = waiting.expect("a person is asked");
        (waiting.stage.stage(), waiting.stage.step(), waiting.cause, waiting.number)
    };
    assert_eq!(asks(&simulation), (Stage::Judge, None, Some(Cause::Person), 1));
    approve(&mut simulation, 1);
    simulation.resume();
    simulation.run(down);
    let owner = Some(StageKey::Own(0));
    assert_eq!(asks(&simulation), (Stage::Stages, owner, Some(Cause::Person), 2));
    approve(&mut simulation, 2);
    simulation.resume();
    simulation.run(down);
    let legal = Some(StageKey::Own(1));
    assert_eq!(asks(&simulation), (Stage::Stages, legal, Some(Cause::GateError), 3));
    let seats = |simulation: &Simulation| {
        simulation.count(|event| {
            matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }))
        })
    };
    assert_eq!(seats(&simulation), 1);
    // Neither the panel, nor whoever was asked beside it, nor the owner is asked again, in no later session.
    for number in 4..6 {
        simulation.resume();
        simulation.run(down);
        assert_eq!(asks(&simulation), (Stage::Stages, legal, Some(Cause::GateError), number));
        assert_eq!(seats(&simulation), 1);
    }
    simulation.resume();
    simulation.run(content);
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Clean)));
    assert!(task.attempt.points.is_some(), "the panel's score is the work's");
}

#[test]
fn whoever_is_missing_behind_two_accepted_stages_is_asked_again_alone() {
    let top = "stages: [{name: a, agent: x}, {name: b, agent: x}, {name: c, agent: x}]";
    let mut simulation = Simulation::new(&mission(top, ", review: none"), options());
    let down = || steps(Response::Unreachable(FailureClass::ProviderAuth), Response::Finished);
    simulation.run(down());
    for number in 1..3 {
        approve(&mut simulation, number);
        simulation.resume();
        simulation.run(down());
    }
    let asks = |simulation: &Simulation| {
        let waiting = simulation.state.task(T).hold();
        waiting.map(|waiting| (waiting.number, waiting.stage.step()))
    };
    assert_eq!(asks(&simulation), Some((3, Some(StageKey::Own(2)))));
    simulation.resume();
    simulation.run(down());
    assert_eq!(asks(&simulation), Some((4, Some(StageKey::Own(2)))));
}

#[test]
fn a_persons_word_about_one_attempt_is_none_about_the_next() {
    let top = "stages: [{name: owner, agent: h}, {name: legal, agent: x}]";
    let mut simulation = Simulation::new(&mission(top, ", review: none, maxAttempts: 2"), options());
    let verdict = |verdict| steps(word(verdict), Response::Finished);
    simulation.run(verdict(DeclaredVerdict::Fail));
    approve(&mut simulation, 1);
    simulation.resume();
    simulation.run(verdict(DeclaredVerdict::Fail));
    // The stage behind it sent the work back.
    let task = simulation.state.task(T);
    assert_eq!((task.status(), task.attempt.number, task.consent.asked), (Status::AwaitingApproval, 2, 2));
    assert_eq!(task.hold().and_then(|waiting| waiting.stage.step()), Some(StageKey::Own(0)));
}
