//! What becomes of a task whose dependency failed.

use crate::domain::{Advice, FailureClass, TaskId};
use crate::engine::{Command, Input};

use super::super::simulation::Answer;
use super::{Step, told, world};

/// `b` needs `a`, which fails, and `other`, which does well; `c` needs `b`.
fn mission(settings: &str, a: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  o: {{run: [/bin/true]}}\nsettings: {{maxRetries: 0{settings}}}\n\
         tasks:\n  - {{title: a, assignTo: w, review: none{a}}}\n  - {{title: other, assignTo: w, review: none}}\n  \
         - {{title: b, assignTo: w, review: none, dependsOn: [a, other]}}\n  \
         - {{title: c, assignTo: w, review: none, dependsOn: [b]}}\n"
    )
}

fn fails() -> (&'static str, Answer) {
    (
        "RunTurn { turn: TurnId { task: TaskId(0)",
        Answer::AgentFailed(FailureClass::Unknown),
    )
}

fn advice(advice: Advice) -> (&'static str, Answer) {
    ("Consult", Answer::Advice(advice))
}

fn retry() -> (&'static str, Answer) {
    advice(Advice::Retry {
        reason: "again".to_owned(),
    })
}

#[test]
fn without_a_remedy_the_dependents_are_skipped() {
    insta::assert_snapshot!(told(&mission("", ""), world(vec![fails()]), vec![]));
}

#[test]
fn half_of_its_files_are_enough() {
    let yaml = mission(", onDependencyFailed: [artifacts, skip]", ", targetFiles: [x, y]");
    for (name, size) in [
        ("are_there", Some(1)),
        ("are_empty", Some(0)),
        ("are_missing", None),
    ] {
        let script = world(vec![fails(), ("ScanArtifacts", Answer::Files(size, 0))]);
        insta::assert_snapshot!(format!("its_files_{name}"), told(&yaml, script, vec![]));
    }
}

#[test]
fn the_orchestrator_absorbs_retries_or_knows_no_way() {
    let yaml = mission(", orchestrator: o, maxResolutionAttempts: 2", "");
    let absorb = advice(Advice::Absorb {
        prompt: "without it".to_owned(),
    });
    let none = advice(Advice::Unresolvable {
        reason: "no way".to_owned(),
    });
    for (name, answers) in [
        ("absorbs", vec![fails(), absorb]),
        ("retries", vec![fails(), retry()]),
        (
            "retries_twice_and_no_more",
            vec![fails(), retry(), fails(), retry(), fails(), retry()],
        ),
        ("knows_no_way", vec![fails(), none]),
        (
            "cannot_be_asked",
            vec![
                fails(),
                ("Consult", Answer::Unreachable(FailureClass::ProviderAuth)),
            ],
        ),
    ] {
        insta::assert_snapshot!(
            format!("the_orchestrator_{name}"),
            told(&yaml, world(answers), vec![])
        );
    }
}

#[test]
fn a_share_of_done_dependencies_is_enough_by_how_the_others_failed() {
    let yaml = mission(", onDependencyFailed: [partial, skip]", "");
    for (name, class, is_enough) in [
        ("error", FailureClass::Unknown, true),
        ("timeout", FailureClass::Timeout, true),
        ("rate limit", FailureClass::ProviderSpendLimit, true),
    ] {
        let text = told(
            &yaml,
            world(vec![("RunTurn", Answer::AgentFailed(class))]),
            vec![],
        );
        assert_eq!(text.contains("way: Partial"), is_enough, "{name}\n{text}");
    }
    let script = world(vec![fails()]);
    insta::assert_snapshot!(told(&yaml, script, vec![]));
}

#[test]
fn a_dependency_that_a_person_has_tried_again_is_waited_for_again() {
    let yaml = mission(", onDependencyFailed: [partial, skip]", "");
    let steps = vec![
        Step::Comes(Input::RetryFailed),
        Step::Resumes,
        Step::Comes(Input::Redo(TaskId(0))),
        Step::Resumes,
    ];
    insta::assert_snapshot!(told(&yaml, world(vec![fails()]), steps));
}

#[test]
fn what_a_person_called_off_is_not_begun_anew() {
    let yaml = mission(", orchestrator: o", ", requiresApproval: true");
    let steps = vec![Step::Says(Command::CancelTask { task: TaskId(0) })];
    insta::assert_snapshot!(told(&yaml, world(vec![retry()]), steps));
}

/// `c` needs `a`, which the orchestrator lets it do without, and `other`, to which a person must agree.
const HELD: &str = "name: m
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
settings: {maxRetries: 0, orchestrator: o}
tasks:
  - {title: a, assignTo: w, review: none}
  - {title: other, assignTo: w, review: none, requiresApproval: true}
  - {title: c, assignTo: w, review: none, dependsOn: [a, other]}
";

fn absorbs() -> (&'static str, Answer) {
    advice(Advice::Absorb {
        prompt: "without it".to_owned(),
    })
}

#[test]
fn what_a_task_was_to_do_without_it_waits_for_once_that_is_tried_again() {
    let steps = vec![
        Step::Comes(Input::RetryFailed),
        super::approve(1, 1),
        Step::Resumes,
    ];
    let script = world(vec![fails(), absorbs()]);
    insta::assert_snapshot!("waits_again", told(HELD, script, steps));
    // It fails again meanwhile, and nothing that was said before holds.
    let steps = vec![
        Step::Comes(Input::RetryFailed),
        Step::Resumes,
        super::approve(1, 1),
    ];
    let script = world(vec![fails(), absorbs(), fails(), absorbs()]);
    insta::assert_snapshot!("fails_again", told(HELD, script, steps));
}

#[test]
fn a_task_waits_for_what_is_redone_before_it_began() {
    let steps = vec![
        Step::Comes(Input::Redo(TaskId(0))),
        Step::Resumes,
        super::approve(1, 1),
    ];
    insta::assert_snapshot!(told(HELD, world(vec![]), steps));
}

#[test]
fn a_task_that_begins_anew_needs_all_that_it_did_without() {
    let yaml = HELD.replace(", requiresApproval: true", "");
    let third = (
        "RunTurn { turn: TurnId { task: TaskId(2)",
        Answer::AgentFailed(FailureClass::Unknown),
    );
    let steps = vec![Step::Comes(Input::RetryFailed), Step::Resumes];
    let script = world(vec![fails(), absorbs(), third]);
    insta::assert_snapshot!(told(&yaml, script, steps));
}

#[test]
fn what_the_orchestrator_is_asked_about_means_nothing_once_it_is_tried_again() {
    // It is being asked when a person has the dependency done anew.
    let mut simulation =
        super::Simulation::new(&HELD.replace(", requiresApproval: true", ""), super::options());
    let asks = |effect: &crate::engine::Effect| matches!(effect, crate::engine::Effect::Consult { .. });
    let mut script = world(vec![fails()]);
    while let Some(at) = simulation.todo.iter().position(|effect| !asks(effect)) {
        simulation.perform(at, &mut script);
    }
    assert!(simulation.todo.iter().any(asks));
    assert_eq!(simulation.state.calls_open, 1);
    simulation.feed(&Input::RetryFailed);
    assert_eq!(simulation.state.calls_open, 0);
    assert!(simulation.state.ledger.nothing_open());
    assert!(simulation.state.cascades_due.is_empty());
}
