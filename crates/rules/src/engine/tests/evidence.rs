//! What the runtime sees of a turn beside its exit, and what follows from it.

use crate::domain::{Cause, FailureMode, QualityFlag, Stage, Status, TaskId, TurnId};
use crate::engine::{Effect, Event, Fact, Job, Known, State, TaskEvent, TurnEnd, TurnEvent, TurnFiles};

use super::simulation::{Response, Simulation, good, options, statuses};

const PROTECTED: &str = "name: m
agents: {w: {run: [/bin/true]}}
settings: {protect: [tests/**]}
onExhausted: accept
tasks:
  - {title: t, expectations: [{type: test, command: x}]}
  - {title: u, dependsOn: [t]}
";

fn tampered() -> TurnFiles {
    TurnFiles { protected: vec!["tests/a was changed".to_owned()], ..TurnFiles::default() }
}

fn noted(simulation: &Simulation) -> Vec<TurnId> {
    let events = simulation.journal.iter().flatten();
    let turns = events.filter_map(|event| match event {
        Event::Turn(turn, TurnEvent::FilesNoted { .. }) => Some(*turn),
        _ => None,
    });
    turns.collect()
}

#[test]
fn a_protected_file_that_was_changed_is_the_end() {
    let mut simulation = Simulation::new(PROTECTED, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { .. } => Response::Did(tampered()),
        other => good(state, other),
    });
    assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Failed]);
    let modes: Vec<_> = simulation.state.tasks.iter().map(|task| task.mode()).collect();
    assert_eq!(modes, [Some(FailureMode::Protected), Some(FailureMode::Cascade)]);
    assert_eq!(simulation.state.task(TaskId(0)).attempt.number, 1);
    let named = |event: &Event| {
        matches!(event, Event::Task(_, TaskEvent::StageVerdict(report))
            if report.stage == Stage::Outcome && report.cause == Some(Cause::Protected)
            && report.findings[0].description.contains("tests/a was changed"))
    };
    assert_eq!(simulation.count(named), 1);
}

#[test]
fn an_agent_that_failed_or_was_interrupted_stands_for_what_it_changed_too() {
    for interrupted in [false, true] {
        let mut simulation = Simulation::new(PROTECTED, options());
        while simulation.running().is_empty() {
            simulation.perform(0, &mut good);
        }
        simulation.todo.clear();
        let turn = simulation.running()[0];
        let end = TurnEnd { interrupted, files: Some(tampered()), ..TurnEnd::clean(turn) };
        simulation.feed(&Fact::TurnEnded(Box::new(end)));
        assert_eq!(simulation.state.task(TaskId(0)).mode(), Some(FailureMode::Protected));
    }
}

#[test]
fn files_are_noted_before_every_turn_and_a_lost_turn_leaves_its_record() {
    let mut simulation = Simulation::new(PROTECTED, options());
    while simulation.running().is_empty() {
        simulation.perform(0, &mut good);
    }
    let first = simulation.running()[0];
    assert_eq!(noted(&simulation), [first]);
    let mut later = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    later.resume();
    // The turn that was lost may have changed them: the next one is held against the same record.
    while later.running().is_empty() {
        later.perform(0, &mut good);
    }
    let second = later.running()[0];
    assert_eq!((second.attempt, second.turn), (1, 2));
    assert_eq!(noted(&later), [first]);
    let record = later.state.task(TaskId(0)).course.evidence.noted.as_deref().unwrap();
    assert_eq!(record.turn, first);
    later.run(good);
    assert_eq!(statuses(&later.state), [Status::Done, Status::Done]);
    assert_eq!(noted(&later).len(), 2, "and one for the other task");
}

#[test]
fn a_turn_that_never_began_leaves_the_record_of_the_one_that_was_lost_before_it() {
    let to_the_next_turn = |simulation: &mut Simulation| {
        while simulation.running().is_empty() {
            simulation.perform(0, &mut good);
        }
        simulation.running()[0]
    };
    let never_begins = |simulation: &mut Simulation, turn: TurnId| {
        simulation.todo.clear();
        simulation.feed(&Fact::TurnRequestFailed {
            turn,
            class: crate::domain::FailureClass::Unknown,
            before_effect: false,
            message: "nobody is there".to_owned(),
            retry_after: None,
            jitter: 0,
        });
    };
    // A turn is lost, and may have changed them; the one after it never begins, and its attempt is over.
    let mut simulation = Simulation::new(PROTECTED, options());
    let first = to_the_next_turn(&mut simulation);
    let mut later = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    later.resume();
    let second = to_the_next_turn(&mut later);
    never_begins(&mut later, second);
    let third = to_the_next_turn(&mut later);
    assert_eq!((third.attempt, noted(&later)), (2, vec![first]));
    // Where nothing was lost, nothing is held against what others did meanwhile.
    let mut simulation = Simulation::new(PROTECTED, options());
    let first = to_the_next_turn(&mut simulation);
    never_begins(&mut simulation, first);
    let second = to_the_next_turn(&mut simulation);
    assert_eq!(noted(&simulation), [first, second]);
}

#[test]
fn an_agent_whose_files_cannot_be_noted_is_not_started() {
    let mut simulation = Simulation::new(PROTECTED, options());
    simulation.run(|state, effect| match effect {
        Effect::NoteFiles { .. } => Response::Unreachable(crate::domain::FailureClass::Unknown),
        other => good(state, other),
    });
    assert!(simulation.turns.is_empty());
    assert_eq!(simulation.state.task(TaskId(0)).mode(), Some(FailureMode::Error));
}

#[test]
fn tasks_without_such_rules_are_not_looked_at() {
    let plain = PROTECTED.replace("settings: {protect: [tests/**]}", "");
    let plain = plain.replace("{type: test, command: x}", "{type: file_exists, paths: [x]}");
    let mut simulation = Simulation::new(&plain, options());
    simulation.run(good);
    assert_eq!(noted(&simulation), []);
    assert_eq!(simulation.state.task(TaskId(0)).flag(), Some(QualityFlag::Clean));
}

#[test]
fn who_wrote_a_file_is_known_only_of_a_turn_that_was_alone() {
    let mission = "name: m
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: t, description: write a report, targetFiles: [a]}
  - {title: u}
";
    let wrote = |_: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::Did(TurnFiles { changed: Some(1), written: Some(1), ..TurnFiles::default() })
        }
        Effect::Job { job: Job::Scan { .. }, .. } => Response::Files(Some(1), 0),
        _ => Response::Finished,
    };
    for (jobs, expected) in [(1, Known::Yes), (2, Known::Unknown)] {
        let mut options = options();
        options.jobs = Some(jobs);
        let mut simulation = Simulation::new(mission, options);
        simulation.run(wrote);
        let evidence = &simulation.state.task(TaskId(0)).course.evidence;
        assert_eq!((evidence.changed, evidence.written), (expected, Some(expected)), "{jobs}");
    }
}

#[test]
fn unknown_is_neither_yes_nor_no() {
    use Known::{No, Unknown, Yes};
    for (known, count, shared, expected) in [
        (No, Some(0), false, No),
        (No, Some(0), true, No),
        (No, Some(2), false, Yes),
        (No, Some(2), true, Unknown),
        (No, None, false, Unknown),
        (Yes, None, true, Yes),
        (Yes, Some(0), false, Yes),
        (Unknown, Some(0), false, Unknown),
        (Unknown, Some(1), false, Yes),
    ] {
        assert_eq!(known.and(count, shared), expected, "{known:?} {count:?} {shared}");
    }
}

#[test]
fn what_another_turn_may_have_done_meanwhile_is_unknown_however_early_that_one_began() {
    let mission = "name: m
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: long, review: none}
  - {title: first, review: none}
  - {title: t, dependsOn: [first], description: write a report, targetFiles: [a], review: none}
";
    for long_works in [true, false] {
        let mut simulation = Simulation::new(mission, options());
        let is_long =
            |effect: &Effect| matches!(effect, Effect::RunTurn { turn, .. } if turn.task == TaskId(0));
        while let Some(next) = simulation.todo.iter().position(|effect| !(long_works && is_long(effect))) {
            simulation.perform(next, &mut |state, effect| match effect {
                Effect::RunTurn { turn, .. } if turn.task == TaskId(2) => {
                    Response::Did(TurnFiles { changed: Some(1), written: Some(1), ..TurnFiles::default() })
                }
                other => good(state, other),
            });
        }
        let expected = if long_works { Known::Unknown } else { Known::Yes };
        assert_eq!(simulation.state.task(TaskId(2)).course.evidence.changed, expected, "{long_works}");
    }
}

#[test]
fn work_is_turned_down_where_the_evidence_shows_that_nothing_was_done() {
    let turned_down = |task: &str, calls: Option<u32>, written: Option<u32>, hollow: bool| {
        let yaml = format!(
            "name: m\nagents: {{w: {{adapter: openai, model: m, tools: {{write: allow}}}}}}\ntasks: [{{title: t, type: research, review: none, maxAttempts: 1{task}}}]\n"
        );
        let mut simulation = Simulation::new(&yaml, options());
        while let Some(effect) = simulation.todo.front().cloned() {
            match effect {
                Effect::RunTurn { turn, .. } => {
                    simulation.todo.pop_front();
                    let files = TurnFiles { changed: written, written, ..TurnFiles::default() };
                    let tool_calls = calls.map(|calls| crate::engine::ToolCalls { calls, writes: 0 });
                    let end = TurnEnd { files: Some(files), tool_calls, ..TurnEnd::clean(turn) };
                    simulation.feed(&Fact::TurnEnded(Box::new(end)));
                }
                Effect::Job { job: Job::Scan { .. }, .. } if hollow => {
                    simulation.perform(0, &mut |_, _| Response::Hollow)
                }
                _ => simulation.perform(0, &mut good),
            }
        }
        simulation.state.task(TaskId(0)).status() == Status::Failed
    };
    let (none, targets) = ("", ", targetFiles: [a]");
    let asked = ", targetFiles: [a], description: write a report";
    for (task, calls, written, hollow, expected) in [
        (asked, Some(0), Some(0), false, true),
        (asked, Some(3), Some(0), false, true),
        (asked, Some(3), None, false, false),
        (asked, Some(0), Some(1), false, false),
        // Unknown is not zero: but nobody wrote to the files.
        (asked, None, Some(0), false, true),
        (asked, None, None, false, false),
        (targets, Some(0), Some(0), false, true),
        (targets, None, Some(0), false, true),
        (targets, None, None, false, false),
        // An answer that stands for no work counts where nothing else was done.
        (none, Some(0), None, true, true),
        (none, Some(0), None, false, false),
        (targets, Some(2), Some(0), false, true),
        (targets, Some(0), Some(1), true, false),
    ] {
        let found = turned_down(task, calls, written, hollow);
        assert_eq!(found, expected, "{task} {calls:?} {written:?} {hollow}");
    }
}

#[test]
fn files_that_nobody_declared_are_missed_where_the_description_asks_for_some() {
    for (description, written, expected) in [
        ("write a report", Some(0), Status::Failed),
        ("write a report", Some(1), Status::Done),
        ("write a report", None, Status::Done),
        // Its protected files are looked at, which says nothing of others.
        ("look after it", Some(0), Status::Done),
        ("write ../a.md", Some(0), Status::Done),
    ] {
        let yaml = format!(
            "name: m
agents: {{w: {{run: [/bin/true]}}}}
settings: {{protect: [tests/**]}}
tasks: [{{title: t, description: {description}, review: none, maxAttempts: 1}}]
"
        );
        let mut simulation = Simulation::new(&yaml, options());
        simulation.run(|state, effect| match effect {
            Effect::RunTurn { .. } => {
                Response::Did(TurnFiles { changed: written, written, ..TurnFiles::default() })
            }
            other => good(state, other),
        });
        assert_eq!(statuses(&simulation.state), [expected], "{description} {written:?}");
    }
}

#[test]
fn files_that_are_told_of_twice_count_once() {
    let yaml = "name: m\nagents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}\ntasks: [{title: t, assignTo: w, targetFiles: [f]}]\n";
    let mut simulation = Simulation::new(yaml, options());
    while !matches!(simulation.todo.front(), Some(Effect::Job { job: Job::Scan { .. }, .. })) {
        simulation.perform(0, &mut good);
    }
    let effect = simulation.todo.pop_front().unwrap();
    let input = super::simulation::inputs(&simulation.state, &effect, &Response::Files(Some(1), 0)).remove(0);
    assert!(simulation.say(&input));
    assert!(!simulation.say(&input), "it is not looked at any more");
}
