//! Time that runs out: what is said of it and to whom.

use crate::domain::{FailureClass, TaskId, Timestamp};
use crate::engine::{DeadlineEvent, DeadlineStep, Effect, Event, Input, Timer};

use super::super::deadlines::{TASK, at_work, steps};
use super::super::simulation::{Answer, Simulation, good, options};
use super::{Step, told, world};

const CHANNELS: &str =
    "channels: {near: {type: file, path: n}, over: {type: file, path: o}, ops: {type: file, path: p}}\n";

fn mission(sla: &str, more: &str) -> String {
    format!(
        "name: m\nagents: {{w: {{run: [/bin/true]}}}}\n{CHANNELS}settings: {{evaluate: false, maxRetries: 1, \
         defaultChannels: [ops], sla: {{warningChannels: [near], violationChannels: [over]{sla}}}}}\n{more}\n"
    )
}

#[test]
fn what_is_said_of_the_missions_deadline_comes_before_its_end() {
    let yaml = "name: m
deadline: 1h
qualityThreshold: 5
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c}]}]
";
    let story = told(yaml, good, vec![]);
    let end = story.lines().rev().take(3).collect::<Vec<_>>();
    assert!(end[0].starts_with("RunFinished"), "{story}");
    assert!(story.contains("ThresholdFailed"), "{story}");
    assert!(story.contains("Met"), "{story}");
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
fn a_task_and_the_mission_run_out_of_time_while_a_person_is_waited_for() {
    for (fails, times) in [("", 3), (", violationAction: fail", 2)] {
        let tasks = "deadline: 2h\ntasks: [{title: a, deadline: 1h, requiresApproval: true}, {title: b}]";
        let yaml = mission(fails, tasks);
        let yaml = yaml.replace("sla: {", "autoRejectOnTimeout: false, sla: {");
        let steps = (0..times).map(|_| Step::TimePasses).collect();
        let options = crate::mission::RunOptions {
            wait_approvals: Some(crate::domain::Millis::from_secs(36_000)),
            ..options()
        };
        insta::assert_snapshot!(
            format!("out_of_time{}", fails.len()),
            super::told_with(&yaml, options, good, steps)
        );
    }
}

#[test]
fn a_second_try_begins_no_second_time() {
    let yaml = mission(
        "",
        "deadline: 2h\nqualityThreshold: 60\ntasks: [{title: a, deadline: 1h}]",
    );
    let script = world(vec![("RunTurn", Answer::AgentFailed(FailureClass::Unknown))]);
    insta::assert_snapshot!(told(&yaml, script, vec![]));
    let mut simulation = at_work(&yaml);
    simulation.resume();
    simulation.run(good);
    use DeadlineStep::{Met, Set};
    assert_eq!(steps(&simulation, None), [Set, Met]);
    assert_eq!(steps(&simulation, TASK), [Set, Met]);
}

#[test]
fn a_mission_that_failed_met_nothing() {
    let yaml = mission("", "deadline: 2h\ntasks: [{title: a}, {title: b}]");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Answer::AgentFailed(FailureClass::ProviderAuth)
        }
        effect => good(state, effect),
    });
    assert_eq!(steps(&simulation, None), [DeadlineStep::Set]);
}

#[test]
fn in_time_is_up_to_and_with_the_last_moment() {
    let ends = |span: u64| {
        let yaml = mission("", &format!("tasks: [{{title: a, deadline: {span}}}]"));
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
        let yaml = mission("", &format!("tasks: [{{title: a, deadline: {span}}}]"));
        let mut simulation = at_work(&yaml);
        let (at, timer) = simulation.state.next_timer().unwrap();
        simulation.feed(&Input::TimerDue { at, timer });
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
    let yaml = mission(", warningThreshold: 1", "tasks: [{title: a, deadline: 1h}]");
    let simulation = at_work(&yaml);
    let due = said(&simulation)[0].due;
    let next = simulation.state.next_timer();
    assert_eq!(next, Some((due, Timer::DeadlineNear(TASK))));
}

#[test]
fn where_a_deadline_stands_has_a_word() {
    let yaml = mission(
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
fn a_checkpoint_and_a_delay_tell_the_channels_that_they_name() {
    for (name, kind, channels) in [
        (
            "checkpoint_own",
            "checkpoints: [{name: h",
            ", notifyChannels: [near]",
        ),
        ("checkpoint_default", "checkpoints: [{name: h, message: look", ""),
        (
            "delay_own",
            "delays: [{name: h, duration: 1h",
            ", notifyChannels: [near]",
        ),
        ("delay_default", "delays: [{name: h, duration: 1h", ""),
    ] {
        let more = format!(
            "{kind}, afterTasks: [a], blocksTasks: [b]{channels}}}]\ntasks: [{{title: a}}, {{title: b}}]"
        );
        insta::assert_snapshot!(name, told(&mission("", &more), good, vec![]));
    }
}
