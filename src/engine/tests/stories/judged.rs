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
fn what_goes_well_beside_the_first_failure_starts_nothing_more() {
    let beside = "  - {title: b, assignTo: w, review: none}\n  - {title: c, assignTo: w, review: none}\n";
    let yaml = mission("", ", review: none") + beside;
    let options = RunOptions {
        fail_fast: true,
        jobs: Some(2),
        ..options()
    };
    let script = world(vec![("RunTurn", Answer::AgentFailed(FailureClass::ProviderAuth))]);
    let text = told_with(&yaml, options, script, vec![]);
    assert!(text.contains("b: Review -> Done"), "{text}");
    assert!(!text.contains("c: Pending -> Assigned"), "{text}");
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

#[test]
fn an_adaptive_panel_asks_its_third_seat_only_if_that_could_change_the_verdict() {
    let task = ", maxAttempts: 1, expectations: [{type: llm_review, criteria: c, panel: adaptive}]";
    let gate = "qualityGates: [{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4}]\n";
    let behind = "  - {title: b, assignTo: w, review: none}\n";
    let calls = |yaml: &str, scores: [u8; 3]| {
        let script = world(scores.map(|score| seat(Answer::Score(score))).to_vec());
        let text = told(yaml, script, vec![]);
        (
            text.matches("\nSeatRequested {").count(),
            text.contains("not asked: no score of theirs"),
        )
    };
    let plain = mission("", task);
    let consumed = [
        mission("", task) + behind + gate,
        mission("", task) + "qualityThreshold: 2\n",
        mission("", &task.replace("adaptive", "adaptive, referBelow: 0.01")),
        mission("", &task.replace(", panel: adaptive", "")),
    ];
    assert_eq!(calls(&plain, [90, 80, 20]), (2, true), "whatever the third says");
    assert_eq!(calls(&plain, [30, 40, 90]), (2, true));
    assert_eq!(calls(&plain, [30, 90, 70]), (3, false));
    for yaml in &consumed {
        assert_eq!(
            calls(yaml, [90, 80, 20]),
            (3, false),
            "its score is used elsewhere\n{yaml}"
        );
    }
    // A gate that asks for no score uses none.
    let gate = gate.replace(", minScore: 4", "");
    assert_eq!(
        calls(&(mission("", task) + behind + &gate), [90, 80, 20]),
        (2, true)
    );
    // A seat that could not be reached leaves the others to say it.
    let script = world(vec![
        seat(Answer::Score(90)),
        seat(Answer::Unreachable(FailureClass::ProviderAuth)),
        seat(Answer::Score(90)),
    ]);
    insta::assert_snapshot!(told(&plain, script, vec![]));
}

#[test]
fn a_panel_that_is_too_near_the_bar_or_too_far_apart_asks_a_person() {
    let task = ", expectations: [{type: llm_review, criteria: c, referBelow: 2}]";
    let scores = |scores: [u8; 3]| world(scores.map(|score| seat(Answer::Score(score))).to_vec());
    for (name, points) in [
        ("near_the_bar", [65, 65, 65]),
        ("far_apart", [100, 80, 60]),
        ("sure", [90, 90, 90]),
    ] {
        let steps = if name == "sure" {
            vec![]
        } else {
            vec![approve(0, 1)]
        };
        let text = told(&mission("", task), scores(points), steps);
        insta::assert_snapshot!(format!("a_panel_is_{name}"), text);
    }
    // Whoever is asked anyway is asked once; what is below the bar is not accepted for that.
    let named = task.replace("criteria: c", "criteria: c, reviewers: [i, p, j]");
    let causes = |points: [u8; 3]| {
        let text = told(&mission("", &named), scores(points), vec![]);
        let line = text
            .lines()
            .find(|line| line.starts_with("ApprovalRequested"))
            .unwrap_or_default();
        (
            line.contains("cause: (Person)"),
            line.contains("cause: (Confidence)"),
        )
    };
    assert_eq!(causes([65, 65, 65]), (true, false));
    assert_eq!(causes([55, 55, 55]), (false, true));
}

#[test]
fn what_a_panel_found_goes_with_the_persons_word() {
    let task = ", expectations: [{type: llm_review, criteria: c, reviewers: [i, j, k, p]}]";
    let script = || world([90, 90, 20].map(|score| seat(Answer::Score(score))).to_vec());
    insta::assert_snapshot!(told(&mission("", task), script(), vec![approve(0, 1)]));
    let one = task.replace("i, j, k, p", "i, j, p");
    let down = seat(Answer::Unreachable(FailureClass::ProviderAuth));
    let script = world(vec![seat(Answer::Score(90)), down]);
    let steps = vec![reject(0, 1), approve(0, 2)];
    insta::assert_snapshot!(
        "a_single_reviewer_is_mentioned",
        told(&mission("", &one), script, steps)
    );
}

#[test]
fn people_alone_are_asked_by_name() {
    let task = ", expectations: [{type: llm_review, criteria: c, reviewers: [p]}]";
    insta::assert_snapshot!(told(&mission("", task), good, vec![approve(0, 1)]));
    // And where nobody may review, that is said.
    let yaml = "name: m\nagents: {w: {run: [/bin/true]}}\ntasks: [{title: a, expectations: [{type: llm_review, criteria: c}]}, \
                {title: b, review: required}]\n";
    insta::assert_snapshot!("nobody_may_review", told(yaml, good, vec![]));
}

#[test]
fn a_person_ends_what_its_attempts_have_not_mended() {
    let task = ", onExhausted: refer, maxAttempts: 1";
    for (name, step) in [("accepts", approve(0, 1)), ("refuses", reject(0, 1))] {
        let text = told(
            &mission("", task),
            world(vec![seat(Answer::Score(40))]),
            vec![step],
        );
        insta::assert_snapshot!(format!("a_person_{name}_what_was_not_mended"), text);
    }
}

#[test]
fn a_person_who_accepts_what_was_not_mended_has_the_last_word() {
    let criteria = ", onExhausted: refer, maxAttempts: 1, acceptance: [c], verification: {grader: heuristic}";
    let text = told(
        &mission("", criteria),
        world(vec![seat(Answer::Score(40))]),
        vec![approve(0, 1)],
    );
    assert!(text.contains("a: Review -> Done"), "{text}");
    assert!(!text.contains("GradingRequested"), "{text}");
}

#[test]
fn a_gate_without_commands_looks_at_what_was_changed() {
    let task = ", review: none, targetFiles: [f], verify: {requireFileChanges: true, maxAttempts: 1}";
    let wrote = |changed| {
        let files = TurnFiles {
            changed,
            written: changed,
            ..TurnFiles::default()
        };
        ("RunTurn", Answer::Did(files))
    };
    for (name, turns) in [
        ("something", vec![wrote(Some(0)), wrote(Some(1))]),
        ("nothing", vec![wrote(Some(0)), wrote(Some(0))]),
        ("what_nobody_can_tell", vec![wrote(None)]),
    ] {
        let text = told(&mission("", task), world(turns), vec![]);
        insta::assert_snapshot!(format!("an_agent_changed_{name}"), text);
    }
}

#[test]
fn a_broken_row_of_rejections_is_forgotten_and_other_work_is_not_touched() {
    let tasks: String = ["b", "c", "d"]
        .map(|title| format!("  - {{title: {title}, assignTo: w}}\n"))
        .concat();
    let free = "  - {title: e, assignTo: w, review: none}\n";
    let yaml = mission(", judgeBreaker: 2, maxAttempts: 1", "") + &tasks + free;
    let options = RunOptions {
        jobs: Some(1),
        ..options()
    };
    let flags = |scores: &[u8], steps| {
        let script = world(scores.iter().map(|score| seat(Answer::Score(*score))).collect());
        told_with(&yaml, options.clone(), script, steps)
    };
    insta::assert_snapshot!(flags(&[40, 40], vec![]));
    // What is done anew by a person's word is judged anew.
    let steps = vec![Step::Comes(Input::Redo(TaskId(0))), Step::Resumes];
    insta::assert_snapshot!("a_redone_task_is_judged_anew", flags(&[40, 40], steps));
    // Work that reviewers let pass and put before a person ends the row.
    let named = ", expectations: [{type: llm_review, criteria: c, reviewers: [i, p]}]";
    let yaml = mission(", judgeBreaker: 2, maxFixAttempts: 0, maxRetries: 0", "")
        .replace("maxFixAttempts: 1, maxRetries: 1, ", "")
        + &format!(
            "  - {{title: b, assignTo: w{named}}}\n  - {{title: c, assignTo: w}}\n  - {{title: d, assignTo: w}}\n"
        );
    let script = world([40, 90, 40, 40].map(|score| seat(Answer::Score(score))).to_vec());
    let text = told_with(&yaml, options, script, vec![]);
    assert!(!text.contains("Unverified"), "{text}");
    // People who were asked alone have said nothing of it.
    let named = named.replace("[i, p]", "[p]");
    let yaml = mission(", judgeBreaker: 2, maxAttempts: 1", "")
        + &format!(
            "  - {{title: b, assignTo: w{named}}}\n  - {{title: c, assignTo: w}}\n  - {{title: d, assignTo: w}}\n"
        );
    let script = world([40, 40, 90].map(|score| seat(Answer::Score(score))).to_vec());
    let options = RunOptions {
        jobs: Some(1),
        ..super::super::simulation::options()
    };
    let text = told_with(&yaml, options, script, vec![]);
    assert!(text.contains("Unverified"), "{text}");
}
