//! Deadlines: said once, kept over sessions, and never a change of the outcome by themselves.

use crate::domain::{
    Digest, FailureClass, FailureMode, Millis, OutcomeClass, Status, TaskId, Timestamp, TurnId,
};
use crate::engine::{
    DeadlineEvent, DeadlineStep, Deferral, DeferralReason, Effect, Event, Fact, Job, RunEvent, State,
    StopCause, Timer, outcome,
};
use crate::plan::Part;

use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

pub const TASK: Option<TaskId> = Some(TaskId(0));

fn mission(more: &str, tasks: &str) -> String {
    format!("name: m\nagents: {{w: {{run: [/bin/true]}}}}\nsettings: {{evaluate: false{more}}}\n{tasks}\n")
}

pub fn steps(simulation: &Simulation, task: Option<TaskId>) -> Vec<DeadlineStep> {
    let events = simulation.journal.iter().flatten();
    let of = |event: &Event| match event {
        Event::Deadline(event) if event.task == task => Some(event.step),
        _ => None,
    };
    events.filter_map(of).collect()
}

/// The turns of its tasks are in flight, and nothing else is done.
pub fn at_work(yaml: &str) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    let prompt = |effect: &Effect| matches!(effect, Effect::PreparePrompt(_));
    while let Some(index) = simulation.todo.iter().position(prompt) {
        simulation.perform(index, &mut good);
    }
    simulation
}

#[test]
fn a_warning_then_a_violation_then_nothing_more() {
    let yaml = mission("", "tasks: [{title: a, deadline: 1h}]");
    let mut simulation = at_work(&yaml);
    assert_eq!(steps(&simulation, TASK), [DeadlineStep::Set]);
    assert!(simulation.time_passes());
    assert_eq!(steps(&simulation, TASK), [DeadlineStep::Set, DeadlineStep::Warned]);
    let warned = simulation.journal.last().unwrap().first().cloned();
    let Some(Event::Deadline(warned)) = warned else {
        panic!("{warned:?}");
    };
    assert!((warned.share_used() - 0.8).abs() < 0.01, "{warned:?}");
    assert!(simulation.time_passes());
    simulation.run(good);
    use DeadlineStep::{Set, Violated, Warned};
    assert_eq!(steps(&simulation, TASK), [Set, Warned, Violated], "done too late is not met");
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok, "it changes no exit code");
    // Done again, it says nothing again.
    simulation.feed(&Fact::Redo(TaskId(0)));
    simulation.resume();
    simulation.run(good);
    assert_eq!(steps(&simulation, TASK).len(), 3);
}

#[test]
fn work_in_time_meets_its_deadline_and_the_mission_its_own() {
    let yaml = mission("", "deadline: 2h\ntasks: [{title: a, deadline: 1h}, {title: b}]");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(good);
    assert_eq!(steps(&simulation, TASK), [DeadlineStep::Set, DeadlineStep::Met]);
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set, DeadlineStep::Met]);
    assert_eq!(steps(&simulation, Some(TaskId(1))), []);
    let last = simulation.journal.last().unwrap().last();
    assert!(matches!(last, Some(Event::Run(RunEvent::Finished { .. }))), "the end stays the end: {last:?}");
}

#[test]
fn a_violation_that_fails_ends_the_work_without_a_retry() {
    let yaml = mission(
        ", sla: {violationAction: fail, warningThreshold: 1}",
        "tasks: [{title: a, deadline: 1h}, {title: b, dependsOn: [a]}]",
    );
    let mut simulation = at_work(&yaml);
    while steps(&simulation, TASK).last() != Some(&DeadlineStep::Violated) {
        assert!(simulation.time_passes());
    }
    assert_eq!(simulation.state.task(TaskId(0)).mode(), Some(FailureMode::Deadline));
    assert!(simulation.todo.contains(&Effect::StopTask(TaskId(0))));
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Failed]);
    assert_eq!(simulation.state.task(TaskId(0)).attempt.number, 1);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
    // What ended is not ended twice.
    assert_eq!(steps(&simulation, TASK).iter().filter(|step| **step == DeadlineStep::Violated).count(), 1);
}

#[test]
fn a_moment_passes_for_work_that_never_began_and_over_sessions() {
    let yaml =
        mission("", "tasks: [{title: a}, {title: b, deadline: '1970-01-01T01:00:00', dependsOn: [a]}]");
    let second = Some(TaskId(1));
    let mut simulation = at_work(&yaml);
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut good);
    }
    // Without a zone it is UTC; the session that finds it passed says so.
    let mut later = Simulation::recovered(plan_of(&yaml, &options()), &simulation.journal);
    let at = Timestamp(3_600_001);
    assert_eq!(later.state.timers.at(Timer::DeadlinePassed(second)), Some(at));
    later.resume();
    later.feed(&Fact::TimerDue { at, timer: Timer::DeadlinePassed(second) });
    let said = steps(&later, second);
    later.feed(&Fact::TimerDue { at, timer: Timer::DeadlinePassed(second) });
    assert_eq!((said.len(), steps(&later, second).len()), (1, 1));
}

#[test]
fn the_missions_deadline_fails_what_is_left() {
    let yaml = mission(
        ", sla: {violationAction: fail}, concurrency: 1",
        "deadline: 1h\ntasks: [{title: a}, {title: b}]",
    );
    let mut simulation = at_work(&yaml);
    while simulation.time_passes() {}
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Failed]);
    assert_eq!(steps(&simulation, None).last(), Some(&DeadlineStep::Violated));
}

#[test]
fn the_deadline_of_a_changed_mission_begins_with_the_session_that_takes_it_up() {
    // A moment becomes a span: what is left of the moment means nothing any more.
    let yaml = mission("", "deadline: '1970-01-01T01:00:00'\ntasks: [{title: a}]");
    let plain = mission("", "tasks: [{title: a}]");
    let spans = mission("", "deadline: 1h\ntasks: [{title: a}]");
    let mut simulation = at_work(&plain);
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    simulation.run(good);
    for (number, text) in [(2, &yaml), (3, &spans)] {
        assert!(simulation.say(&Fact::ChangeMission {
            number,
            from: Digest::of(b"old"),
            to: Digest::of(text.as_bytes()),
            mission: Some(plan_of(text, &options())),
        }));
    }
    assert_eq!(simulation.state.deadlines.of(None), None);
    simulation.resume();
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set]);
    let known = simulation.state.deadlines.of(None).copied().unwrap();
    assert_eq!(Some(known.due), known.since.map(|since| since.plus(Millis::from_secs(3600))));
    simulation.run(good);
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set, DeadlineStep::Met]);
}

/// A task that is not good enough, one that takes the slot after it, and the fixup, which is.
const MENDED: &str = "tasks:
  - {title: a, maxAttempts: 1, onExhausted: fixup, expectations: [{type: test, command: x}], deadline: '1970-01-01T01:00:00'}
  - {title: b}";
const FIXUP: TaskId = TaskId(2);

fn mends(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } => Response::Check(*task == FIXUP),
        _ => good(state, effect),
    }
}

#[test]
fn a_fixup_has_the_moment_of_what_it_mends_until_it_is_withdrawn() {
    let yaml = mission(", concurrency: 1, sla: {violationAction: fail}", MENDED);
    let passing = Timer::DeadlinePassed(Some(FIXUP));
    let at = Timestamp(3_600_001);
    let mut simulation = Simulation::new(&yaml, options());
    while simulation.state.tasks.len() == 2 {
        simulation.perform(0, &mut mends);
    }
    assert_eq!(simulation.state.task(FIXUP).attempt.turn, 0);
    assert_eq!(simulation.state.timers.at(passing), Some(at), "it has not begun");
    // It is not good enough either, so the whole is tried again without it.
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => good(state, effect),
    });
    assert_eq!(simulation.state.sums.counts.failed, 2);
    assert!(simulation.say(&Fact::RetryFailed));
    assert_eq!(simulation.state.plan.task(FIXUP).part, Part::Removed);
    assert_eq!(simulation.state.timers.at(passing), None, "nobody does it any more");
    simulation.resume();
    simulation.feed(&Fact::TimerDue { at, timer: passing });
    assert_eq!(simulation.state.sums.counts.failed, 0);
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn a_mission_whose_failed_task_was_mended_meets_its_deadline() {
    let yaml = mission("", &format!("deadline: 2h\n{MENDED}"));
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(mends);
    assert!(simulation.state.task(TaskId(0)).is_superseded());
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set, DeadlineStep::Met]);
}

#[test]
fn a_clock_that_was_set_back_does_not_make_a_moment_come_twice() {
    let yaml = mission("", "tasks: [{title: a, deadline: 1h}]");
    let simulation = at_work(&yaml);
    let (at, timer) = simulation.state.next_timer().unwrap();
    let said_at = |now: u64| {
        let events = crate::engine::decide(&simulation.state, &Fact::TimerDue { at, timer }, Timestamp(now));
        match events.first() {
            Some(Event::Deadline(event)) => event.at.0,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(said_at(at.0 - 500), at.0);
    assert_eq!(said_at(at.0 + 500), at.0 + 500, "it was late");
}

const CHANNELS: &str =
    "channels: {near: {type: file, path: n}, over: {type: file, path: o}, ops: {type: file, path: p}}\n";

fn timed(sla: &str, more: &str) -> String {
    format!(
        "name: m\nagents: {{w: {{run: [/bin/true]}}}}\n{CHANNELS}settings: {{evaluate: false, maxRetries: 1, \
         defaultChannels: [ops], sla: {{warningChannels: [near], violationChannels: [over]{sla}}}}}\n{more}\n"
    )
}

fn said(simulation: &Simulation) -> Vec<DeadlineEvent> {
    let events = simulation.journal.iter().flatten();
    let said = events.filter_map(|event| match event {
        Event::Deadline(event) => Some(**event),
        _ => None,
    });
    said.collect()
}

#[test]
fn a_mission_that_failed_met_nothing() {
    let yaml = timed("", "deadline: 2h\ntasks: [{title: a}, {title: b}]");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::AgentFailed(FailureClass::ProviderAuth)
        }
        effect => good(state, effect),
    });
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set]);
}

#[test]
fn in_time_is_up_to_and_with_the_last_moment() {
    let ends = |span: u64| {
        let yaml = timed("", &format!("tasks: [{{title: a, deadline: {span}}}]"));
        let mut simulation = at_work(&yaml);
        while !simulation.todo.is_empty() {
            simulation.perform(0, &mut good);
        }
        let said = said(&simulation);
        let end = said.last().unwrap();
        (end.step, end.at.since(end.since.unwrap()).0)
    };
    let (_, took) = ends(3_600_000);
    assert_eq!(ends(took).0, DeadlineStep::Met);
    assert_eq!(ends(took - 1).0, DeadlineStep::Violated);
}

#[test]
fn a_warning_that_comes_late_is_none() {
    let warned = |span: u64| {
        let yaml = timed("", &format!("tasks: [{{title: a, deadline: {span}}}]"));
        let mut simulation = at_work(&yaml);
        let (at, timer) = simulation.state.next_timer().unwrap();
        simulation.feed(&Fact::TimerDue { at, timer });
        let said = said(&simulation);
        let last = *said.last().unwrap();
        (last.step, last.at, last.since.unwrap(), at)
    };
    let (step, when, since, due) = warned(3_600_000);
    assert_eq!(step, DeadlineStep::Warned);
    assert_eq!(when, due, "a clock that was set back does not make it earlier");
    // With little time the timer is due long before anybody looks.
    let (_, looked, _, _) = warned(10);
    let gap = looked.since(since).0;
    assert_eq!(warned(gap).0, DeadlineStep::Warned, "the last moment is in time");
    assert_eq!(warned(gap - 1).0, DeadlineStep::Violated);
}

#[test]
fn who_is_to_be_warned_at_the_end_is_warned() {
    let yaml = timed(", warningThreshold: 1", "tasks: [{title: a, deadline: 1h}]");
    let simulation = at_work(&yaml);
    let due = said(&simulation)[0].due;
    let next = simulation.state.next_timer();
    assert_eq!(next, Some((due, Timer::DeadlineNear(TASK))));
}

#[test]
fn where_a_deadline_stands_has_a_word() {
    let yaml = timed(
        "",
        "tasks: [{title: a, deadline: 1h}, {title: b, dependsOn: [a], deadline: '1970-01-02T00:00:00'}]",
    );
    let mut simulation = at_work(&yaml);
    let status = |simulation: &Simulation, task: u32| {
        let known = simulation.state.deadlines.of(Some(TaskId(task)));
        known.map(|known| known.status())
    };
    assert_eq!(status(&simulation, 0), Some("running"));
    assert_eq!(status(&simulation, 1), Some("waiting"));
    assert!(simulation.time_passes());
    assert_eq!(status(&simulation, 0), Some("warning"));
    assert!(simulation.time_passes());
    assert_eq!(status(&simulation, 0), Some("violated"));
    simulation.run(good);
    assert_eq!(status(&simulation, 1), Some("met"));
}

#[test]
fn the_share_of_the_time_that_is_gone() {
    let share = |since: u64, due: u64, at: u64| {
        let event = DeadlineEvent {
            step: DeadlineStep::Warned,
            task: None,
            since: Some(Timestamp(since)),
            due: Timestamp(due),
            at: Timestamp(at),
        };
        (event.share_used() * 100.0).round()
    };
    assert_eq!(share(5, 5, 5), 100.0, "there was none to use");
    assert_eq!(share(5, 6, 5), 0.0);
    assert_eq!(share(0, 200, 150), 75.0);
}

#[test]
fn a_second_try_after_a_crash_begins_no_second_time() {
    let mut simulation =
        at_work(&timed("", "deadline: 2h\nqualityThreshold: 60\ntasks: [{title: a, deadline: 1h}]"));
    simulation.resume();
    simulation.run(good);
    use DeadlineStep::{Met, Set};
    assert_eq!(steps(&simulation, None), [Set, Met]);
    assert_eq!(steps(&simulation, TASK), [Set, Met]);
}

#[test]
fn what_was_said_of_a_deadline_is_said_again_by_no_later_session() {
    use DeadlineStep::{Met, Set, Violated, Warned};
    let yaml = mission("", "deadline: 2h\ntasks: [{title: a, deadline: 1h}]");
    let next_session = |before: &Simulation| {
        let mut later = Simulation::recovered(plan_of(&yaml, &options()), &before.journal);
        later.now = before.now;
        later.resume();
        later.timers_fire();
        later
    };
    let mut first = at_work(&yaml);
    assert!(first.time_passes());
    assert_eq!(steps(&first, TASK), [Set, Warned]);
    let third = next_session(&next_session(&first));
    assert_eq!((steps(&third, TASK), steps(&third, None)), (vec![Set, Warned], vec![Set]));
    // In time.
    let mut done = next_session(&third);
    done.run(good);
    assert_eq!((steps(&done, TASK), steps(&done, None)), (vec![Set, Warned, Met], vec![Set, Met]));
    // Late, with a session for each moment.
    let mut late = next_session(&third);
    while late.time_passes() {
        late = next_session(&late);
    }
    late.run(good);
    let all = vec![Set, Warned, Violated];
    assert_eq!((steps(&late, TASK), steps(&late, None)), (all.clone(), all));
}

#[test]
fn a_wait_may_last_until_the_deadline_and_not_beyond_it() {
    let simulation = at_work(&mission("", "tasks: [{title: a, deadline: 1h}]"));
    let due = simulation.state.deadlines.of(TASK).expect("it has one").due;
    for (until, may) in [(due, true), (Timestamp(due.0 + 1), false)] {
        let deferral = Deferral {
            why: DeferralReason::Window,
            until,
            since: Timestamp(simulation.now),
            message: String::new(),
            stage: None,
        };
        assert_eq!(simulation.state.may_wait(TaskId(0), &deferral), may);
    }
}
