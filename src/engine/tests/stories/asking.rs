//! What an agent asks instead of working, and who answers.

use crate::domain::{Advice, FailureClass, TaskId};
use crate::engine::{Asked, Command, Input, ToolCalls, TurnFiles};

use super::super::simulation::Answer;
use super::{Step, reject, told, world};

fn mission(settings: &str, task: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  o: {{run: [/bin/true]}}\nsettings: {{maxRetries: 1, \
         maxQuestionRounds: 2{settings}}}\ntasks:\n  - {{title: a, assignTo: w, review: none{task}}}\n"
    )
}

fn asks(detected: bool) -> (&'static str, Answer) {
    let text = "Which one?".to_owned();
    (
        "RunTurn",
        Answer::Asks(Asked {
            text,
            detected,
            call: None,
        }),
    )
}

fn says(advice: Advice) -> (&'static str, Answer) {
    ("Consult", Answer::Advice(advice))
}

fn answer(number: u32) -> Step {
    Step::Says(Command::Answer {
        task: TaskId(0),
        number,
        text: "The second.".to_owned(),
    })
}

#[test]
fn a_person_answers_and_after_two_rounds_the_work_is_judged_as_it_is() {
    let script = world(vec![asks(false), asks(false), asks(false)]);
    let steps = vec![answer(1), answer(1), answer(2)];
    insta::assert_snapshot!(told(&mission("", ""), script, steps));
}

#[test]
fn one_round_is_one_question() {
    let yaml = mission("", "").replace("maxQuestionRounds: 2", "maxQuestionRounds: 1");
    let script = world(vec![asks(false), asks(false)]);
    let text = told(&yaml, script, vec![answer(1)]);
    assert_eq!(text.matches("\nQuestion {").count(), 1, "{text}");
}

#[test]
fn the_orchestrator_is_asked_three_times_more_at_most() {
    let yaml = mission(", orchestrator: o", "");
    let refused = || ("Consult", Answer::Unreachable(FailureClass::RateLimited));
    let mut answers = vec![asks(false)];
    answers.extend((0..9).map(|_| refused()));
    let text = told(&yaml, world(answers), vec![]);
    assert_eq!(text.matches("\nConsultRequested {").count(), 4, "{text}");
}

#[test]
fn the_orchestrator_answers_or_leaves_it_to_a_person() {
    let yaml = mission(", orchestrator: o", "");
    let script = world(vec![
        asks(false),
        says(Advice::Answer("The first.".to_owned())),
        asks(false),
        says(Advice::NoAnswer),
    ]);
    insta::assert_snapshot!(told(&yaml, script, vec![answer(1)]));
    let script = world(vec![
        asks(false),
        ("Consult", Answer::Unreachable(FailureClass::RateLimited)),
        ("Consult", Answer::Unreachable(FailureClass::ProviderAuth)),
    ]);
    insta::assert_snapshot!(
        "the_orchestrator_cannot_be_asked",
        told(&yaml, script, vec![answer(1)])
    );
    // Nobody answers itself.
    let yaml = yaml.replace("assignTo: w", "assignTo: o");
    insta::assert_snapshot!(
        "its_own_orchestrator",
        told(&yaml, world(vec![asks(false)]), vec![answer(1)])
    );
}

#[test]
fn what_looks_like_a_question_is_one_if_the_orchestrator_says_so() {
    let yaml = mission(", orchestrator: o", "");
    for (name, word) in [
        ("is_one", Answer::Advice(Advice::IsQuestion(true))),
        ("is_none", Answer::Advice(Advice::IsQuestion(false))),
        ("is_unread", Answer::Unreadable),
        ("is_unasked", Answer::Unreachable(FailureClass::ProviderAuth)),
    ] {
        let script = world(vec![asks(true), ("Consult", word), says(Advice::NoAnswer)]);
        insta::assert_snapshot!(
            format!("what_looks_like_a_question_{name}"),
            told(&yaml, script, vec![])
        );
    }
    let script = world(vec![asks(true)]);
    insta::assert_snapshot!(
        "without_an_orchestrator_it_is_none",
        told(&mission("", ""), script, vec![])
    );
}

#[test]
fn whoever_has_worked_asks_nothing() {
    let yaml = mission(
        ", orchestrator: o",
        ", targetFiles: [f], verify: {requireFileChanges: true}",
    );
    let detected = Asked {
        text: "Which one?".to_owned(),
        detected: true,
        call: None,
    };
    let consulted = |calls: Option<u32>, changed: Option<u32>| {
        let mut simulation = super::Simulation::new(&yaml, super::options());
        while let Some(effect) = simulation.todo.front().cloned() {
            if let crate::engine::Effect::RunTurn { turn, .. } = effect {
                simulation.todo.pop_front();
                simulation.feed(&Input::TurnEnded(Box::new(crate::engine::TurnEnd {
                    asked: Some(detected.clone()),
                    tool_calls: calls.map(|calls| ToolCalls { calls, writes: 0 }),
                    files: Some(TurnFiles {
                        changed,
                        written: changed,
                        ..TurnFiles::default()
                    }),
                    ..crate::engine::TurnEnd::clean(turn)
                })));
                break;
            }
            simulation.perform(0, &mut super::good);
        }
        !simulation.state.tasks[0].consults.is_empty()
    };
    for (calls, changed, is_asked) in [
        (None, Some(0), true),
        (Some(4), Some(0), true),
        (Some(5), Some(0), false),
        (None, Some(1), false),
        (None, None, true),
    ] {
        assert_eq!(consulted(calls, changed), is_asked, "{calls:?} {changed:?}");
    }
}

#[test]
fn an_open_question_ends_with_its_task() {
    let steps = vec![
        reject(0, 1),
        Step::Resumes,
        Step::Says(Command::CancelTask { task: TaskId(0) }),
        answer(1),
        Step::Comes(Input::RetryFailed),
        Step::Resumes,
        answer(2),
    ];
    let script = world(vec![asks(false), asks(false)]);
    insta::assert_snapshot!(told(&mission("", ""), script, steps));
}

#[test]
fn whoever_is_answered_goes_on_where_there_is_room() {
    let beside = "  - {title: b, assignTo: w, review: none, dependsOn: [a]}\n  - {title: c, assignTo: w, review: none}\n";
    let yaml = mission("", "") + beside;
    let options = crate::mission::RunOptions {
        jobs: Some(1),
        ..super::patient()
    };
    let plan = super::plan_of(&yaml, &options);
    let mut simulation = super::Simulation::new(&yaml, options);
    let mut script = world(vec![asks(false)]);
    while simulation.state.tasks[0].waiting.is_none() {
        simulation.perform(0, &mut script);
    }
    let Step::Says(command) = answer(1) else {
        unreachable!()
    };
    simulation.feed(&super::super::operator::says(command));
    simulation.run(script);
    insta::assert_snapshot!(super::telling(plan, &simulation.journal));
}
