//! What becomes of work whose attempts are used up: `onExhausted`.

use crate::domain::{FailureMode, QualityFlag, Status, TaskId};
use crate::engine::{Command, Effect, Event, Fact, Job, JobEnd, OperatorInput, TaskEvent, ToolCalls};

use super::simulation::{Response, Simulation, good, options};

const TASK: TaskId = TaskId(0);

/// One attempt whose check fails, with four declared files of which these are there.
fn run(policy: &str, there: &[&str]) -> Simulation {
    let size = |path| there.contains(&path).then_some(3);
    run_with(policy, &["a", "b", "c", "d"].map(|path| (path, size(path))))
}

/// The same with these declared files, of these sizes.
fn run_with(policy: &str, declared: &[(&str, Option<u64>)]) -> Simulation {
    let names: Vec<&str> = declared.iter().map(|(path, _)| *path).collect();
    let names = names.join(", ");
    let yaml = format!(
        "name: m
agents: {{w: {{run: [/bin/true]}}}}
tasks:
  - {{title: t, maxAttempts: 1, onExhausted: {policy}, targetFiles: [{names}], expectations: [{{type: test, command: x}}]}}
"
    );
    let mut simulation = Simulation::new(&yaml, options());
    while let Some(effect) = simulation.todo.front().cloned() {
        if let Effect::Job { turn, job: job @ Job::Scan { .. } } = effect {
            simulation.todo.pop_front();
            let fact = |(path, size): &(&str, Option<u64>)| crate::engine::FileFact {
                path: (*path).to_owned(),
                size: *size,
                digest: None,
                obstacle: None,
                stored: None,
            };
            simulation.feed(&Fact::JobEnded {
                turn,
                job,
                end: JobEnd::Seen { files: declared.iter().map(fact).collect(), hollow: None },
            });
        } else {
            simulation.perform(0, &mut |state, effect| match effect {
                Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
                _ => good(state, effect),
            });
        }
    }
    simulation
}

#[test]
fn half_of_the_files_are_enough_for_degraded_work_and_less_is_not() {
    let half = run("degrade", &["a", "c"]);
    assert_eq!(half.state.task(TASK).flag(), Some(QualityFlag::Degraded));
    assert_eq!(half.state.sums.counts.degraded, 1);
    assert_eq!(half.count(|event| matches!(event, Event::Task(_, TaskEvent::ForceAccepted { .. }))), 1);
    let less = run("degrade", &["d"]);
    let task = less.state.task(TASK);
    assert_eq!((task.status(), task.mode()), (Status::Failed, Some(FailureMode::Quality)));
}

#[test]
fn what_is_half_of_the_files_is_counted_by_their_content() {
    let (one, empty, missing) = (Some(1), Some(0), None);
    for (declared, is_enough) in [
        (vec![("a", one)], true),
        (vec![("a", one), ("b", missing)], true),
        (vec![("a", one), ("b", missing), ("c", missing)], false),
        (vec![("a", one), ("b", empty), ("c", missing), ("d", missing)], false),
        (vec![("a", one), ("b", one), ("c", empty), ("d", missing)], true),
        // What declares no file has produced none.
        (vec![], false),
    ] {
        let simulation = run_with("degrade", &declared);
        let expected = if is_enough { Status::Done } else { Status::Failed };
        assert_eq!(simulation.state.task(TASK).status(), expected, "{declared:?}");
    }
}

#[test]
fn files_that_are_there_do_not_degrade_what_no_stage_behind_preflight_has_seen() {
    let yaml = "name: m
agents: {w: {adapter: openai, model: m, tools: {write: allow}}}
tasks: [{title: t, maxAttempts: 1, onExhausted: degrade, requiresToolCalls: true, targetFiles: [a], review: none}]
";
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { .. } => Response::Called(ToolCalls::default()),
        _ => good(state, effect),
    });
    let task = simulation.state.task(TASK);
    assert_eq!((task.status(), task.mode()), (Status::Failed, Some(FailureMode::Hollow)));
}

#[test]
fn a_preflight_reject_is_failed_whatever_the_policy_says() {
    for policy in ["accept", "degrade", "refer"] {
        let hollow = run(policy, &[]);
        let task = hollow.state.task(TASK);
        assert_eq!((task.status(), task.mode()), (Status::Failed, Some(FailureMode::Hollow)), "{policy}");
    }
}

#[test]
fn a_person_has_the_last_word_about_referred_work() {
    for approve in [true, false] {
        let mut simulation = run("refer", &["a", "b", "c", "d"]);
        assert_eq!(simulation.state.task(TASK).status(), Status::AwaitingApproval);
        let (task, number) = (TASK, 1);
        let command = match approve {
            true => Command::approve(task, number),
            false => Command::reject(task, number, "no use"),
        };
        simulation.say(&Fact::Operator(Box::new(OperatorInput {
            id: Some("c".to_owned()),
            command,
            by: "ada".to_owned(),
        })));
        let task = simulation.state.task(TASK);
        let expected = match approve {
            true => (Status::Done, Some(QualityFlag::Clean), None),
            false => (Status::Failed, None, Some(FailureMode::Rejected)),
        };
        assert_eq!((task.status(), task.flag(), task.mode()), expected);
        assert_eq!(task.attempt.number, 1, "nobody works on it again");
    }
}
