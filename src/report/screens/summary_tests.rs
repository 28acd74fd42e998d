//! Tests of the final block.

use super::*;
use crate::report::testing::{Mission, SCREENS, Scene, assert_fits, eventful, play_eventful};
use rules::engine::StopCause;

fn block(scene: &Scene<'_>, screen: &TextLayout) -> String {
    let outcome = scene.view.outcome.as_ref().expect("the session has ended");
    RunDocument::human(&RunDocument::of_session(&scene.state, &scene.view, Some(outcome)), screen).unwrap()
}

fn plain(scene: &Scene<'_>) -> String {
    block(scene, &TextLayout::default())
}

#[test]
fn an_eventful_run_in_one_block() {
    let mut scene = Scene::start(eventful());
    play_eventful(&mut scene);
    for (name, screen) in SCREENS {
        let text = block(&scene, &screen);
        // Commands are not cut: they are to be copied.
        let (block, _) = text.split_once("\nnext:").unwrap();
        assert_fits(block, &screen);
        insta::assert_snapshot!(format!("summary_{name}"), text);
    }
}

#[test]
fn a_clean_run_says_what_is_not_the_case_too() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]));
    scene.after(2).works(0).evaluated(0, 90, "good");
    insta::assert_snapshot!(plain(&scene), @r"

    run 20261121-215900-ab12: m, 2.0s
    tasks: 1 of 1 done
    clean: 1
    accepted below the bar: 0
    scores, worst first:
      90 >= 60  a
    usage: 2 requests, tokens 1000 in, 50 out; 1 request reported no tokens
    exit 0 (ok)
    next: quorum status 20261121-215900-ab12
    ");
}

#[test]
fn without_reviews_a_banner_says_so() {
    let mut mission = Mission::new("m").task("a", &[]);
    mission.plan.rules.settings.evaluate = false;
    let mut scene = Scene::start(mission);
    scene.works(0);
    insta::assert_snapshot!(plain(&scene), @r"

    run 20261121-215900-ab12: m, 0.0s
    NOTHING WAS REVIEWED: reviews are switched off, agents' work was taken as it came
    tasks: 1 of 1 done
    accepted below the bar: 0
    unreviewed: 1
    usage: 1 request
    exit 0 (ok)
    next: quorum status 20261121-215900-ab12
    ");
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).task("b", &[0]));
    scene.spawned(0).after(65).stopped(StopCause::Interrupted);
    insta::assert_snapshot!(plain(&scene), @r"

    run 20261121-215900-ab12: m, 01:05
    tasks: 0 of 2 done, 1 interrupted, 1 pending
    accepted below the bar: 0
    usage: 1 request
    exit 130 (interrupted)
    next: quorum resume 20261121-215900-ab12
          quorum status 20261121-215900-ab12
    ");
}

#[test]
fn what_was_allowed_is_named() {
    let mut scene = Scene::start(Mission::new("m").task("a", &[]).attempts(1));
    scene.state.options.allow = vec![OutcomeClass::TaskFailed];
    scene.fails(0, rules::domain::FailureClass::Unknown, "exit status 3");
    let text = plain(&scene);
    assert!(text.contains("\nexit 0 (ok); allowed: task_failed\n"), "{text}");
}

#[test]
fn long_lists_are_counted() {
    let mission = (0..13).fold(Mission::new("m"), |mission, n| mission.task(&format!("task {n}"), &[]));
    let mut scene = Scene::start(mission);
    while let Some(task) = (0..13).find(|task| scene.state.task(TaskId(*task)).work.turn.is_some()) {
        scene.works(task).evaluated(task, 70, "");
    }
    let text = plain(&scene);
    assert_eq!(text.matches("  70 >= 60  task").count(), 10);
    assert!(text.contains("\n  and 3 more\n"), "{text}");
}

#[test]
fn names_are_quoted_for_the_shell() {
    assert_eq!(shell_word("design-done"), "design-done");
    assert_eq!(shell_word("release gate"), "'release gate'");
    assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
    assert_eq!(shell_word(""), "''");
}
