//! Seats: whose word counts, and what is said of how a verdict came about.

use crate::domain::{Answer, FailureClass, Finding, Purpose, TaskId, Timestamp};
use crate::engine::{AskEvent, AskReply, Effect, Event, Fact, State, TaskEvent, decide};

use super::simulation::{Response, Simulation, good, inputs, options};

/// A worker and reviewers of these models; the task is reviewed as `task` says.
fn mission(reviewers: &[(&str, &str)], task: &str) -> String {
    let reviewers: String = reviewers
        .iter()
        .map(|(name, model)| format!("  {name}: {{adapter: ollama, model: {model}, role: reviewer}}\n"))
        .collect();
    format!(
        "name: m\nagents:\n  w: {{adapter: ollama, model: small}}\n{reviewers}settings: {{independence: model, maxAttempts: \
         1}}\ntasks:\n  - {{title: t, assignTo: w{task}}}\n"
    )
}

const PANEL: &str = ", expectations: [{type: llm_review, criteria: c, reviewers: 1, independence: model}]";

/// Performs until a seat is called.
fn until_asked(simulation: &mut Simulation) -> Effect {
    while !matches!(simulation.todo.front(), Some(Effect::Ask { purpose: Purpose::Score(_), .. })) {
        simulation.perform(0, &mut good);
    }
    simulation.todo.pop_front().unwrap()
}

fn findings(simulation: &Simulation) -> Vec<Finding> {
    let events = simulation.journal.iter().flatten();
    let reports = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => Some(report.findings.clone()),
        _ => None,
    });
    reports.flatten().collect()
}

#[test]
fn a_reply_that_the_authors_model_gave_does_not_count() {
    // What was asked for differs; what the provider says it used does not.
    for (served, counts) in [(None, true), (Some("other"), true), (Some("small"), false)] {
        let mut simulation = Simulation::new(&mission(&[("j", "big")], PANEL), options());
        let effect = until_asked(&mut simulation);
        for mut input in inputs(&simulation.state, &effect, &Response::Score(90)) {
            if let Fact::AskReplied(AskReply { reply, .. }) = &mut input {
                reply.model = served.map(str::to_owned);
            }
            simulation.feed(&input);
        }
        let refused = simulation.count(|event| {
            matches!(event, Event::Ask(_, AskEvent::Failed { class: FailureClass::PolicyBlocked, message, .. })
                if message == "'j' is not independent: uses the author's model, small")
        });
        assert_eq!(refused > 0, !counts, "{served:?}");
        assert_eq!(simulation.state.task(TaskId(0)).attempt.points.is_some(), counts);
        // A panel without a usable word is asked anew at once.
        let mut left = simulation.todo.iter();
        let anew = left.any(
            |effect| matches!(effect, Effect::Ask { purpose: Purpose::Score(seat), .. } if seat.round == 2),
        );
        assert_eq!(anew, !counts, "{served:?}");
    }
}

#[test]
fn a_reply_of_an_earlier_round_is_not_one_of_this() {
    let task = ", expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]";
    let yaml = mission(&[("i", "big"), ("j", "large")], task);
    let mut simulation = Simulation::new(&yaml, options());
    let mut down = |state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreachable(FailureClass::ProviderAuth),
        _ => good(state, effect),
    };
    let round = |simulation: &Simulation| simulation.state.task(TaskId(0)).attempt.rounds;
    let mut first = None;
    while round(&simulation) < 2 {
        let next = simulation.todo.front();
        let asked = next.filter(|effect| matches!(effect, Effect::Ask { .. }));
        first = asked.cloned().or(first);
        simulation.perform(0, &mut down);
    }
    let says = |effect: &Effect| inputs(&simulation.state, effect, &Response::Score(90)).remove(0);
    let decided = |effect: &Effect| decide(&simulation.state, &says(effect), Timestamp(9)).len();
    let of_round = |effect: &&Effect, wanted: u32| matches!(effect, Effect::Ask { purpose: Purpose::Score(seat), .. } if seat.round == wanted);
    let first = first.expect("somebody was asked in the first round");
    let second = simulation.todo.iter().find(|effect| of_round(effect, 2)).unwrap();
    assert_eq!((decided(&first), decided(second)), (0, 1));
    assert!(matches!(says(second), Fact::AskReplied(AskReply { answer: Answer::Scores { .. }, .. })));
}

#[test]
fn a_reply_to_an_earlier_try_is_none_to_this_one() {
    let mut simulation = Simulation::new(&mission(&[("j", "big")], PANEL), options());
    let first = until_asked(&mut simulation);
    let says = |effect: &Effect, state: &State| inputs(state, effect, &Response::Score(90)).remove(0);
    for input in inputs(&simulation.state, &first, &Response::Unreadable) {
        simulation.feed(&input);
    }
    let second = until_asked(&mut simulation);
    let decided =
        |effect: &Effect| decide(&simulation.state, &says(effect, &simulation.state), Timestamp(9)).len();
    assert_eq!(decided(&first), 0);
    assert!(decided(&second) > 0);
}

#[test]
fn a_strict_reprompt_makes_no_request_good_that_had_failed_before_it() {
    let mut simulation = Simulation::new(&mission(&[("j", "big")], PANEL), options());
    let refused = Response::Unreachable(FailureClass::RateLimited);
    for answer in [&refused, &refused, &Response::Unreadable, &refused] {
        let asked = until_asked(&mut simulation);
        for input in inputs(&simulation.state, &asked, answer) {
            simulation.feed(&input);
        }
    }
    let last = until_asked(&mut simulation);
    for input in inputs(&simulation.state, &last, &refused) {
        simulation.feed(&input);
    }
    // Once, three requests more, and one reprompt: what is asked next is the next round.
    let Effect::Ask { id, .. } = until_asked(&mut simulation) else {
        panic!("a seat is asked");
    };
    assert_eq!((id.number, id.attempt_try), (2, 1));
}

#[test]
fn only_where_others_were_asked_is_one_reviewer_said_to_be_alone() {
    let alone = ", expectations: [{type: llm_review, criteria: c, reviewers: [j]}]";
    let mut simulation = Simulation::new(&mission(&[("j", "big")], alone), options());
    simulation.run(good);
    // It was judged, and nothing was found.
    assert!(simulation.state.task(TaskId(0)).attempt.points.is_some());
    assert_eq!(findings(&simulation), []);
}

#[test]
fn where_nobody_may_review_the_first_who_would_is_named() {
    let yaml = mission(&[("i", "small"), ("j", "small")], ", review: required");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    let found = findings(&simulation);
    assert_eq!(found.len(), 1);
    assert_eq!(
        &*found[0].description,
        "nobody may review this work: nobody independent is able to judge: 'i': uses the author's model, small"
    );
}

/// The seats of an adaptive panel that were asked, when they answer so one after the other.
fn asked_of(panel: &str, seats: &str, answers: &[Response]) -> Vec<String> {
    let reviewers = [("i", "big"), ("j", "large"), ("k", "huge"), ("l", "vast")];
    let task = format!(
        ", expectations: [{{type: llm_review, criteria: c, reviewers: [{seats}], panel: adaptive{panel}}}]"
    );
    let mut simulation = Simulation::new(&mission(&reviewers, &task), options());
    let mut asked = Vec::new();
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), agent, .. } => {
            asked.push(state.plan.agent(*agent).name.to_string());
            answers[asked.len() - 1].clone()
        }
        _ => good(state, effect),
    });
    asked
}

#[test]
fn the_seats_of_an_adaptive_panel_are_asked_in_their_order() {
    let torn = [Response::Score(100), Response::Score(20), Response::Score(100), Response::Score(100)];
    assert_eq!(asked_of("", "i, j, k, l", &torn)[..3], ["i", "j", "k"]);
}

#[test]
fn one_reply_alone_decides_nothing_while_a_seat_is_left() {
    let one = [Response::Unreachable(FailureClass::ProviderAuth), Response::Score(100), Response::Score(100)];
    // With two replies no third one could push the work below such a bar.
    assert_eq!(asked_of(", threshold: 21", "i, j, k", &one), ["i", "j", "k"]);
    let two = [Response::Score(100), Response::Score(100)];
    assert_eq!(asked_of(", threshold: 21", "i, j, k", &two), ["i", "j"]);
}
