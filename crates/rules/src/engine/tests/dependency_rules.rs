//! Dependencies that failed, as tables.

use crate::domain::{FailureClass, FailureMode, Status, TaskId};
use crate::engine::rounds::stall_before;
use crate::engine::simulation::{Response, Simulation, good, options};
use crate::engine::state::Lifecycle;
use crate::engine::{
    AskEvent, DependencyStep, Effect, Event, Fact, FileFact, Job, JobEnd, TaskEvent, Way, decide,
};
use crate::plan::RunOptions;

use super::rules::{NOW, mission, simulation};

#[test]
fn so_many_dependencies_must_be_done_when_another_failed_like_this() {
    let tasks: String =
        (0..10).map(|n| format!("  - {{title: t{n}, assignTo: w, review: none}}\n")).collect();
    let list = (0..10).map(|n| format!("t{n}")).collect::<Vec<_>>().join(", ");
    let tasks = format!("{tasks}  - {{title: x, assignTo: w, dependsOn: [{list}]}}\n");
    let yaml = mission("settings: {onDependencyFailed: [partial, skip]}\n", &tasks);
    let begun = simulation(&yaml).state;
    // So many done, the others failed in turn like these; `None`: one of them is still at work.
    let decided = |done: usize, modes: &[Option<FailureMode>]| {
        let mut state = begun.clone();
        for (index, task) in state.tasks.iter_mut().take(10).enumerate() {
            let mode = modes[index % modes.len()];
            let status = match (index < done, mode) {
                (true, _) => Status::Done,
                (false, Some(_)) => Status::Failed,
                (false, None) => Status::InProgress,
            };
            task.lifecycle = Lifecycle::default().next(status, None, (mode, None));
        }
        let failed = (0..10).find(|index| state.tasks[*index].status() == Status::Failed).unwrap();
        state.queues.cascades_due.insert((TaskId(10), TaskId::from_index(failed)));
        let events = decide(&state, &Fact::Advance, NOW);
        let resolved = events.iter().filter(|event| {
            matches!(
                event,
                Event::Task(
                    _,
                    TaskEvent::DependencyFailed { step: DependencyStep::Resolved(Way::Partial), .. }
                )
            )
        });
        let failed = events.iter().any(|event| {
            matches!(
                event,
                Event::Task(_, TaskEvent::DependencyFailed { step: DependencyStep::Unresolvable(_), .. })
            )
        });
        (resolved.count(), failed)
    };
    use FailureMode::{
        Cancelled, Cascade, Deadline, Error, Hollow, Protected, Quality, RateLimit, Rejected, Timeout,
    };
    for (mode, least) in [
        (Timeout, Some(0)),
        (RateLimit, Some(3)),
        (Error, Some(5)),
        (Quality, Some(7)),
        (Hollow, Some(7)),
        (Cascade, Some(8)),
        (Rejected, None),
        (Cancelled, None),
        (Protected, None),
        (Deadline, None),
    ] {
        for done in 0..10 {
            let is_enough = least.is_some_and(|least| done >= least);
            let expected = if is_enough { (10 - done, false) } else { (0, true) };
            assert_eq!(decided(done, &[Some(mode)]), expected, "{mode:?} {done}");
        }
    }
    // Of several the highest, and nothing before all have ended.
    assert_eq!(decided(6, &[Some(Timeout), Some(Quality)]), (0, true));
    assert_eq!(decided(7, &[Some(Timeout), Some(Quality)]), (3, false));
    assert_eq!(decided(8, &[Some(Error), None]), (0, false));
}

#[test]
fn a_share_that_is_nearly_enough_is_not_enough() {
    let tasks: String =
        (0..23).map(|n| format!("  - {{title: t{n}, assignTo: w, review: none}}\n")).collect();
    let list = (0..23).map(|n| format!("t{n}")).collect::<Vec<_>>().join(", ");
    let tasks = format!("{tasks}  - {{title: x, assignTo: w, dependsOn: [{list}]}}\n");
    let yaml = mission("settings: {onDependencyFailed: [partial, skip]}\n", &tasks);
    // 70 % of 23 is 16.1.
    for (done, is_enough) in [(16, false), (17, true)] {
        let mut state = simulation(&yaml).state;
        for (index, task) in state.tasks.iter_mut().take(23).enumerate() {
            let status = if index < done { Status::Done } else { Status::Failed };
            task.lifecycle = Lifecycle::default().next(status, None, (Some(FailureMode::Quality), None));
        }
        state.queues.cascades_due.insert((TaskId(23), TaskId(22)));
        let events = decide(&state, &Fact::Advance, NOW);
        let goes_on = events.iter().all(|event| {
            !matches!(
                event,
                Event::Task(_, TaskEvent::DependencyFailed { step: DependencyStep::Unresolvable(_), .. })
            )
        });
        assert_eq!(goes_on, is_enough, "{done} of 23");
    }
}

#[test]
fn half_of_the_files_of_a_failed_dependency_must_be_there_with_content() {
    let resolved = |targets: &str, there: &[(&str, Option<u64>)]| {
        let tasks = format!(
            "  - {{title: a, assignTo: w, review: none, targetFiles: [{targets}]}}\n  - {{title: b, assignTo: w, dependsOn: [a]}}\n"
        );
        let yaml = mission("settings: {maxRetries: 0, onDependencyFailed: [artifacts, skip]}\n", &tasks);
        let mut simulation = simulation(&yaml);
        while !matches!(simulation.todo.front(), Some(Effect::Job { job: Job::Artifacts(_), .. })) {
            simulation.perform(0, &mut |_, _| Response::AgentFailed(FailureClass::Unknown));
        }
        let fact = |(path, size): &(&str, Option<u64>)| FileFact {
            path: (*path).to_owned(),
            size: *size,
            digest: None,
            obstacle: None,
            stored: None,
        };
        let seen = Fact::JobEnded {
            turn: simulation.state.current_turn(TaskId(1)),
            job: Job::Artifacts(TaskId(0)),
            end: JobEnd::Seen { files: there.iter().map(fact).collect(), hollow: None },
        };
        let events = decide(&simulation.state, &seen, NOW);
        let note = events.iter().find_map(|event| match event {
            Event::Task(_, TaskEvent::DependencyFailed { step: DependencyStep::Resolved(_), note, .. }) => {
                Some(note.clone())
            }
            _ => None,
        });
        simulation.feed(&seen);
        assert!(decide(&simulation.state, &seen, NOW).is_empty(), "it was asked for once");
        note
    };
    let (full, empty) = (Some(1), Some(0));
    for (targets, there, expected) in [
        ("x, y", vec![("x", full), ("y", None)], Some("x")),
        ("x, y", vec![("x", empty), ("y", full)], Some("y")),
        ("x, y, z", vec![("x", full), ("y", empty), ("z", None)], None),
        ("x, y, z", vec![("x", full), ("z", full)], Some("x, z")),
        ("x", vec![("other", full)], None),
        ("x", vec![], None),
    ] {
        assert_eq!(resolved(targets, &there).as_deref(), expected, "{targets} {there:?}");
    }
}
#[test]
fn nothing_more_is_tried_about_a_dependency_once_a_failure_is_the_last_start() {
    let yaml = mission(
        "settings: {maxRetries: 0, orchestrator: k}\n",
        "  - {title: a, assignTo: w, review: none}\n  - {title: b, assignTo: w, dependsOn: [a]}\n",
    );
    let options = RunOptions { fail_fast: true, ..options() };
    let mut simulation = Simulation::new(&yaml, options);
    simulation.run(|_, _| Response::AgentFailed(FailureClass::Unknown));
    assert_eq!(simulation.count(|event| matches!(event, Event::Ask(_, AskEvent::Requested { .. }))), 0);
    assert_eq!(simulation.state.tasks[1].mode(), Some(FailureMode::Cascade));
}

#[test]
fn a_wave_that_brought_nothing_is_a_stall() {
    let yaml = "name: m\nagents: {w: {run: [/bin/true]}}\nsettings: {evaluate: false}\ntasks:
  - {title: a, assignTo: w, maxAttempts: 1}
  - {title: b, assignTo: w, dependsOn: [a]}\n";
    for (fails, stalled) in [(true, 1), (false, 0)] {
        let mut simulation = Simulation::new(yaml, options());
        simulation.run(|state, effect| match effect {
            Effect::RunTurn { .. } if fails => Response::AgentFailed(FailureClass::Unknown),
            _ => good(state, effect),
        });
        assert_eq!(stall_before(&simulation.state, 1), stalled);
    }
}
