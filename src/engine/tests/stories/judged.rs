//! How an attempt is judged: finish gate, checks, reviewers, criteria; and what is told of it.

use crate::domain::{FailureClass, TaskId};
use crate::engine::{Command, Effect, Input, StopCause, TurnFiles};
use crate::mission::RunOptions;

use super::super::simulation::{Answer, good, options};
use super::{Step, approve, reject, told, told_with, world};

fn mission(settings: &str, task: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  i: {{run: [/bin/true], role: reviewer}}\n  j: {{run: [/bin/true], \
         role: reviewer}}\n  k: {{run: [/bin/true], role: qa}}\n  p: {{adapter: human}}\nsettings: {{maxFixAttempts: 1, \
         maxRetries: 1{settings}}}\nchannels: {{ops: {{type: file, path: f}}, dev: {{type: file, path: g}}}}\ntasks:\n  - \
         {{title: a, assignTo: w{task}}}\n"
    )
}

const PANEL: &str = ", expectations: [{type: llm_review, criteria: c}]";

fn seat(answer: Answer) -> (&'static str, Answer) {
    ("CallSeat", answer)
}

#[test]
fn a_panel_asks_again_what_it_cannot_read_or_reach() {
    let yaml = mission("", PANEL);
    let script = world(vec![
        seat(Answer::Unreadable),
        seat(Answer::Unreachable(FailureClass::RateLimited)),
        seat(Answer::Unreachable(FailureClass::ProviderAuth)),
        seat(Answer::Unreadable),
        seat(Answer::Score(40)),
        seat(Answer::Score(70)),
        seat(Answer::Score(40)),
        seat(Answer::Score(80)),
    ]);
    insta::assert_snapshot!(told(&yaml, script, vec![]));
    let down = || seat(Answer::Unreachable(FailureClass::ProviderAuth));
    let settings = ", maxAssessmentRetries: 1";
    let script = world((0..9).map(|_| down()).collect());
    let steps = vec![Step::Resumes, reject(0, 1), approve(0, 2)];
    insta::assert_snapshot!(
        "a_panel_that_cannot_be_reached",
        told(&mission(settings, PANEL), script, steps)
    );
}

#[test]
fn people_have_the_last_word_beside_a_panel() {
    let yaml = mission(
        "",
        ", expectations: [{type: llm_review, criteria: c, reviewers: [j, p, k]}]",
    );
    let steps = vec![reject(0, 1), approve(0, 2)];
    insta::assert_snapshot!(told(&yaml, good, steps));
}

#[test]
fn an_evaluation_is_read_reworked_and_accepted_below_the_bar() {
    let yaml = mission(", defaultChannels: [ops]", "");
    let script = world(vec![
        seat(Answer::Unreadable),
        seat(Answer::Unreadable),
        seat(Answer::Score(40)),
        ("Deliver", Answer::Unreachable(FailureClass::ProviderTransient)),
        ("Deliver", Answer::Unreachable(FailureClass::ProviderTransient)),
        ("Deliver", Answer::Unreachable(FailureClass::ProviderTransient)),
    ]);
    insta::assert_snapshot!(told(&yaml, script, vec![Step::Resumes]));
}

#[test]
fn a_finish_gate_nudges_and_lets_go() {
    let verify = ", review: none, verify: {requireCompilation: true, compileCommand: x, compilationMaxAttempts: 2, commands: \
                  [y], requiredTests: [t], testCommand: \"z {test}\", requireFileChanges: true, maxAttempts: 1}, targetFiles: [f]";
    let red = || ("RunFinish", Answer::Check(false));
    let green = || ("RunFinish", Answer::Check(true));
    let script = world(vec![red(), green(), red(), red(), green(), green(), red(), red()]);
    insta::assert_snapshot!(told(&mission("", verify), script, vec![]));
}

#[test]
fn criteria_are_graded_and_what_cannot_be_told_is_put_to_a_person() {
    let criteria = ", acceptance: [c, d], verification: {grader: heuristic}";
    let script = world(vec![
        ("Grade", Answer::Score(20)),
        ("Grade", Answer::Unreachable(FailureClass::Unknown)),
        ("Grade", Answer::Unreadable),
    ]);
    let steps = vec![reject(0, 1), approve(0, 2)];
    insta::assert_snapshot!(told(&mission(", maxAttempts: 5", criteria), script, steps));
    let script = world(vec![("Grade", Answer::Unreadable)]);
    let yaml = mission("", &format!("{criteria}, review: none"));
    insta::assert_snapshot!(
        "criteria_of_work_that_nobody_reviewed",
        told(&yaml, script, vec![approve(0, 1)])
    );
}

#[test]
fn checks_that_fail_twice_in_the_same_way_end_the_tries() {
    let yaml = mission(
        "",
        ", targetFiles: [f], expectations: [{type: test, command: x}, {type: script, command: y}]",
    );
    let red = || ("RunCheck", Answer::Check(false));
    let script = world(vec![
        ("ScanFiles", Answer::Files(Some(0), 0)),
        ("ScanFiles", Answer::Files(Some(1), 1)),
        red(),
        ("RunCheck", Answer::Check(true)),
        ("ScanFiles", Answer::Files(Some(1), 1)),
        red(),
    ]);
    insta::assert_snapshot!(told(&yaml, script, vec![]));
}

#[test]
fn a_protected_file_that_was_changed_ends_the_task() {
    let protected = || TurnFiles {
        protected: vec!["tests/a was changed".to_owned()],
        ..TurnFiles::default()
    };
    let yaml = mission("", ", review: none, protect: [tests/**]");
    let script = world(vec![
        ("RunTurn", Answer::AgentFailed(FailureClass::Unknown)),
        ("RunTurn", Answer::Did(protected())),
    ]);
    insta::assert_snapshot!(told(&yaml, script, vec![]));
    let script = world(vec![("NoteFiles", Answer::Unreachable(FailureClass::Unknown))]);
    insta::assert_snapshot!("files_that_cannot_be_watched", told(&yaml, script, vec![]));
}

#[test]
fn the_first_failure_is_the_last_start_where_that_is_asked_for() {
    let beside = "  - {title: b, assignTo: w, review: none}\n  - {title: c, assignTo: w, review: none}\n  - {title: d, \
                  assignTo: w, review: none, dependsOn: [c]}\n";
    let yaml = mission("", ", review: none") + beside;
    let fails = || ("RunTurn", Answer::AgentFailed(FailureClass::ProviderAuth));
    let options = RunOptions {
        fail_fast: true,
        jobs: Some(2),
        ..options()
    };
    let script = world(vec![fails(), fails()]);
    let steps = vec![Step::Comes(Input::RetryFailed), Step::Resumes];
    insta::assert_snapshot!(told_with(&yaml, options, script, steps));
}

#[test]
fn a_mission_below_its_threshold_is_told_so_in_every_session() {
    let beside = "  - {title: b, assignTo: w, priority: 3}\n";
    let yaml = mission("", "") + beside + "qualityThreshold: 4\n";
    let script = world(vec![seat(Answer::Score(70)), seat(Answer::Score(80))]);
    let steps = vec![Step::Resumes, Step::Comes(Input::Redo(TaskId(0))), Step::Resumes];
    insta::assert_snapshot!(told(&yaml, script, steps));
}

#[test]
fn turns_outlive_a_runner_or_are_lost_with_it() {
    let yaml = mission("", ", review: none, targetFiles: [f], protect: [x]");
    let (options, mut script) = (options(), world(vec![]));
    let plan = super::plan_of(&yaml, &options);
    let mut simulation = super::Simulation::new(&yaml, options);
    let starts =
        |simulation: &super::Simulation| matches!(simulation.todo.front(), Some(Effect::RunTurn { .. }));
    while !starts(&simulation) {
        simulation.perform(0, &mut script);
    }
    for kept in [true, false] {
        let running = simulation.running();
        simulation = super::Simulation::recovered(plan.clone(), &simulation.journal);
        simulation.resume_keeping(if kept { &running } else { &[] });
    }
    while !starts(&simulation) {
        simulation.perform(0, &mut script);
    }
    simulation.feed(&Input::Stop(StopCause::Interrupted));
    simulation.run(&mut script);
    simulation.resume();
    simulation.run(&mut script);
    insta::assert_snapshot!(super::telling(plan, &simulation.journal));
}

#[test]
fn a_queued_command_and_one_for_all() {
    let yaml = mission("", PANEL) + "  - {title: b, assignTo: w, review: none, dependsOn: [a]}\n";
    let down = || seat(Answer::Unreachable(FailureClass::ProviderAuth));
    let steps = vec![Step::Says(Command::CancelRun), Step::Says(Command::CancelRun)];
    insta::assert_snapshot!(told(&yaml, world(vec![down(), down(), down()]), steps));
}
