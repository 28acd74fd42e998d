//! Who is told of what, and what becomes of what could not be done (sections 13 and 18).

use crate::domain::{FailureClass, Millis, Purpose, Status, TaskId};
use crate::engine::{
    Command, DeliveryFailure, Effect, Event, Fact, FailedOperation, NoticeEvent, Operation, RunEvent,
    RunPhase, State, StopCause, Topic, Undelivered, holds_the_end, pending_effects,
};
use crate::plan::RunOptions;

use super::operator::says;
use super::simulation::{Response, Simulation, good, options, statuses};

/// Two tasks, the second on top of the first, and a default channel.
const CHAIN: &str = "name: m
agents: {w: {run: [x]}}
channels: {ops: {type: file, path: f}, dev: {type: file, path: g}}
settings: {defaultChannels: [ops], maxRetries: 0}
tasks: [{title: a, review: none}, {title: b, review: none, dependsOn: [a]}]
";

/// Two tasks with a gate between them, which has these further keys.
fn gated(keys: &str) -> String {
    let gate = format!("qualityGates: [{{name: g, afterTasks: [a], blocksTasks: [b]{keys}}}]\n");
    CHAIN.replace(", dependsOn: [a]", "") + &gate
}

fn own(channel: &str, topic: Topic) -> (String, Topic) {
    (channel.to_owned(), topic)
}

fn ops(topic: Topic) -> (String, Topic) {
    own("ops", topic)
}

fn notices(simulation: &Simulation) -> impl Iterator<Item = &NoticeEvent> {
    let events = simulation.journal.iter().flatten();
    events.filter_map(|event| match event {
        Event::Notice(event) => Some(&**event),
        _ => None,
    })
}

/// Channel and topic of everything that was to be told, in order.
fn told(simulation: &Simulation) -> Vec<(String, Topic)> {
    let told = notices(simulation).filter_map(|event| match event {
        NoticeEvent::Requested { channel, notice, .. } => Some((channel.to_string(), notice.topic)),
        _ => None,
    });
    told.collect()
}

fn letters(simulation: &Simulation) -> Vec<FailedOperation> {
    let letters = notices(simulation).filter_map(|event| match event {
        NoticeEvent::Died(letter) => Some((**letter).clone()),
        _ => None,
    });
    letters.collect()
}

fn deliveries<'e>(effects: impl IntoIterator<Item = &'e Effect>) -> Vec<(u32, u32)> {
    let deliveries = effects.into_iter().filter_map(|effect| match effect {
        Effect::Deliver { number, tried, .. } => Some((*number, *tried)),
        _ => None,
    });
    deliveries.collect()
}

/// Whether this is about a channel or the queue.
fn is_of_notices(effect: &Effect) -> bool {
    matches!(effect, Effect::Deliver { .. } | Effect::File { .. })
}

/// Does everything but to tell anybody.
fn work(simulation: &mut Simulation, mut script: impl FnMut(&State, &Effect) -> Response) {
    while let Some(next) = simulation.todo.iter().position(|effect| !is_of_notices(effect)) {
        simulation.perform(next, &mut script);
    }
}

fn first_fails(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::AgentFailed(FailureClass::Unknown)
        }
        _ => good(state, effect),
    }
}

fn refused(class: FailureClass) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Deliver { .. } => Response::Unreachable(class),
        _ => good(state, effect),
    }
}

#[test]
fn a_gate_tells_its_own_channels_and_the_default_ones_hear_of_failures_only() {
    let run = |keys: &str, script: fn(&State, &Effect) -> Response| {
        let mut simulation = Simulation::new(&gated(keys), options());
        simulation.run(script);
        told(&simulation)
    };
    let end = || ops(Topic::RunFinished);
    assert_eq!(run(", notifyChannels: [dev]", good), [own("dev", Topic::GatePassed), end()]);
    assert_eq!(run("", good), [end()]);
    let failed = || ops(Topic::TaskFailed);
    let told = run(", requireAllPassed: true, notifyChannels: [dev]", first_fails);
    assert_eq!(told, [failed(), own("dev", Topic::GateFailed), end()]);
    let told = run(", requireAllPassed: true", first_fails);
    assert_eq!(told, [failed(), ops(Topic::GateFailed), end()]);
    let told = run(", requireAllPassed: true, notifyChannels: []", first_fails);
    assert_eq!(told, [failed(), end()]);
}

#[test]
fn one_failure_is_told_once_and_not_for_everything_that_hangs_on_it() {
    let mut simulation = Simulation::new(CHAIN, options());
    simulation.run(first_fails);
    assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Failed]);
    assert_eq!(told(&simulation), [ops(Topic::TaskFailed), ops(Topic::RunFinished)]);
}

#[test]
fn nobody_hears_of_what_a_person_called_off_but_of_the_end() {
    let mut simulation = Simulation::new(CHAIN, options());
    simulation.feed(&says(Command::CancelRun));
    simulation.run(good);
    assert_eq!(told(&simulation), [ops(Topic::RunFinished)]);
}

#[test]
fn who_waits_for_a_person_is_told_of_when_it_begins_to_wait() {
    let mission = CHAIN.replace("{title: a, review: none}", "{title: a, review: required}");
    let mut simulation = Simulation::new(&mission, options());
    simulation.run(good);
    assert_eq!(told(&simulation), [ops(Topic::ApprovalRequested), ops(Topic::RunFinished)]);
}

#[test]
fn work_that_is_accepted_below_the_bar_is_told_of() {
    let mission = "name: m\nagents: {w: {run: [x]}, j: {run: [x], role: reviewer}}\n\
        channels: {ops: {type: file, path: f}}\nsettings: {defaultChannels: [ops], maxAttempts: 1}\n\
        tasks: [{title: a, assignTo: w}]\n";
    let mut simulation = Simulation::new(mission, options());
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(30),
        _ => good(state, effect),
    });
    assert_eq!(told(&simulation), [ops(Topic::ForceAccepted), ops(Topic::RunFinished)]);
}

#[test]
fn a_delivery_holds_the_end_and_a_kill_loses_none() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, first_fails);
    // One after the other: the end of the run waits behind the failed task.
    assert_eq!(told(&simulation), [ops(Topic::TaskFailed), ops(Topic::RunFinished)]);
    assert_eq!(deliveries(&simulation.todo), [(1, 1)]);
    assert!(holds_the_end(&simulation.state));
    assert_eq!(simulation.state.phase, RunPhase::Running);
    // A killed session finds it again, under the same number, and announces nothing twice but its own end.
    let mut again = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    again.resume();
    assert_eq!(deliveries(&again.todo), [(1, 1)]);
    again.run(good);
    let end = ops(Topic::RunFinished);
    assert_eq!(told(&again), [ops(Topic::TaskFailed), end.clone(), end]);
    let sent = notices(&again).filter(|event| matches!(event, NoticeEvent::Tried { failure: None, .. }));
    assert_eq!(sent.count(), 3);
    assert!(matches!(again.journal.last().unwrap().last(), Some(Event::Run(RunEvent::Finished { .. }))));
}

#[test]
fn three_tries_then_a_dead_letter_and_what_waited_behind_it_goes_with_it() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, first_fails);
    let mut tried = Vec::new();
    simulation.run(|state, effect| {
        tried.extend(deliveries([effect]));
        refused(FailureClass::ProviderTransient)(state, effect)
    });
    assert_eq!(tried, [(1, 1), (1, 2), (1, 3)]);
    let letters = letters(&simulation);
    let of = |letter: &FailedOperation| (letter.id.clone(), letter.class, letter.error.clone());
    let (class, no) = (FailureClass::ProviderTransient, || "no".to_owned());
    assert_eq!(
        letters.iter().map(of).collect::<Vec<_>>(),
        [("n2".to_owned(), class, no()), ("n1".to_owned(), class, no())]
    );
    // No task failed for it.
    assert_eq!(simulation.state.sums.counts.failed, 2);
    assert_eq!(simulation.state.phase, RunPhase::Finished);
}

#[test]
fn a_later_try_that_works_is_enough() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, good);
    let pauses = simulation.journal.len();
    simulation.run(|state, effect| match effect {
        Effect::Deliver { tried: 1 | 2, .. } => Response::Unreachable(FailureClass::RateLimited),
        _ => good(state, effect),
    });
    assert!(letters(&simulation).is_empty());
    assert!(simulation.journal.len() > pauses);
    let sent = notices(&simulation)
        .filter(|event| matches!(event, NoticeEvent::Tried { number: 1, failure: None, .. }));
    assert_eq!(sent.count(), 1);
}

#[test]
fn a_pause_that_a_receiver_asks_for_is_kept_within_bounds() {
    for (asked, pause) in
        [(None, 1_000), (Some(3_000), 3_000), (Some(500_000), 10_000), (Some(900_000), 10_000)]
    {
        let mut simulation = Simulation::new(CHAIN, options());
        work(&mut simulation, good);
        let failure = Undelivered {
            class: FailureClass::RateLimited,
            message: "slow down".to_owned(),
            retry_after: asked.map(Millis),
            hopeless: false,
            jitter: 0,
        };
        let at = simulation.state.notices.open(1).unwrap().notice.at;
        simulation.feed(&Fact::Delivered { number: 1, tried: 1, result: Err(failure) });
        let not_before = simulation.state.notices.open(1).unwrap().tries.not_before.unwrap();
        let waited = not_before.since(at).0;
        assert!((pause..pause + 100).contains(&waited), "{asked:?}: {waited}");
    }
}

#[test]
fn results_that_come_late_or_twice_mean_nothing() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, good);
    for (number, tried) in [(1, 2), (1, 0), (2, 1), (9, 1)] {
        let result = Ok(());
        assert!(!simulation.say(&Fact::Delivered { number, tried, result }), "{number} {tried}");
    }
    let ids = vec!["n1".to_owned(), "n9".to_owned()];
    assert!(!simulation.say(&Fact::Filed(ids)));
}

#[test]
fn a_channel_that_failed_is_left_alone_for_a_minute() {
    let mut simulation = Simulation::new(&gated(", notifyChannels: [ops]"), options());
    // The gate's message fails for good while the second task has not begun, which then fails as well.
    while told(&simulation).is_empty() {
        simulation.perform(0, &mut good);
    }
    for _ in 0..3 {
        let at = simulation.todo.iter().position(is_of_notices).unwrap();
        simulation.perform(at, &mut refused(FailureClass::Timeout));
    }
    assert_eq!(letters(&simulation).len(), 1);
    work(&mut simulation, |_, _| Response::AgentFailed(FailureClass::ProviderAuth));
    // What the channel is to be told now is a dead letter at once: nothing waits for a receiver that is down.
    assert_eq!(told(&simulation).len(), 3);
    assert_eq!(letters(&simulation).len(), 3);
    assert_eq!(simulation.state.notices.open_numbers().count(), 0);
    assert_eq!(simulation.state.phase, RunPhase::Finished);
}

#[test]
fn nobody_waits_for_a_channel_for_ever() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, good);
    assert!(holds_the_end(&simulation.state));
    simulation.feed(&Fact::NoticesOverdue);
    assert_eq!(simulation.state.phase, RunPhase::Finished);
    assert_eq!(letters(&simulation)[0].class, FailureClass::Timeout);
    // With the end of the session it is for whoever ends it to file them; the journal keeps them until they are.
    assert_eq!(simulation.state.notices.letters().len(), 1);
    assert!(matches!(simulation.journal.last().unwrap().last(), Some(Event::Run(RunEvent::Finished { .. }))));
}

#[test]
fn before_its_end_a_session_is_not_overdue() {
    let mut simulation = Simulation::new(CHAIN, options());
    assert!(!holds_the_end(&simulation.state));
    assert!(!simulation.say(&Fact::NoticesOverdue));
}

#[test]
fn who_presses_ctrl_c_waits_for_no_channel() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, first_fails);
    assert_eq!(simulation.state.phase, RunPhase::Running);
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    assert_eq!(simulation.state.phase, RunPhase::Finished);
    assert_eq!(letters(&simulation).len(), 2, "what was on its way is not lost");
}

#[test]
fn a_time_limit_is_told_of_before_the_end() {
    let mut simulation = Simulation::new(CHAIN, options());
    simulation.feed(&Fact::Stop(StopCause::TimeLimit));
    simulation.run(good);
    assert_eq!(told(&simulation), [ops(Topic::RunFinished)]);
    assert!(letters(&simulation).is_empty());
}

#[test]
fn an_answer_while_the_end_is_announced_lets_the_run_go_on_and_its_end_is_told_again() {
    let mission = CHAIN.replace("{title: a, review: none}", "{title: a, review: required}");
    let options = RunOptions { wait_approvals: Some(Millis::from_secs(60)), ..options() };
    let mut simulation = Simulation::new(&mission, options);
    work(&mut simulation, good);
    assert_eq!(told(&simulation), [ops(Topic::ApprovalRequested)], "it waits for the answer");
    assert!(simulation.time_passes());
    assert_eq!(told(&simulation).len(), 2);
    simulation.feed(&says(Command::approve(TaskId(0), 1)));
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    let end = ops(Topic::RunFinished);
    assert_eq!(told(&simulation), [ops(Topic::ApprovalRequested), end.clone(), end]);
}

#[test]
fn a_judge_that_failed_for_good_is_one_dead_letter_however_often_it_was_asked() {
    let mission = "name: m
agents: {w: {run: [x]}, j: {run: [x], role: reviewer}}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j]}]}]
";
    let mut simulation = Simulation::new(mission, options());
    let mut asked = 0;
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => {
            asked += 1;
            Response::Unreachable(FailureClass::ProviderTransient)
        }
        _ => good(state, effect),
    });
    // Two rounds of one call and three retries each.
    assert_eq!(asked, 8);
    let all = letters(&simulation);
    assert!(all.iter().all(|letter| letter.id == "j0.1.1"), "{all:?}");
    assert!(matches!(
        &all[0].operation,
        Operation::Judge { agent, task, attempt: 1 } if agent.0 == 1 && *task == TaskId(0)
    ));
    assert!(!all.is_empty());
}

#[test]
fn a_judge_that_is_asked_again_and_answers_is_no_dead_letter() {
    let mission = "name: m
agents: {w: {run: [x]}, j: {run: [x], role: reviewer}}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j]}]}]
";
    let mut simulation = Simulation::new(mission, options());
    let mut asked = 0;
    simulation.run(|state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } if asked < 3 => {
            asked += 1;
            Response::Unreachable(FailureClass::RateLimited)
        }
        _ => good(state, effect),
    });
    assert!(letters(&simulation).is_empty());
}

#[test]
fn a_text_is_bounded() {
    let mut simulation = Simulation::new(CHAIN, options());
    let long = "ä".repeat(5_000);
    while simulation.running().is_empty() {
        simulation.perform(0, &mut good);
    }
    let turn = simulation.running()[0];
    simulation.feed(&Fact::TurnEnded(Box::new(crate::engine::TurnEnd {
        exit: crate::engine::Exit {
            failure: Some(FailureClass::ProviderAuth),
            message: Some(long),
            ..crate::engine::Exit::default()
        },
        ..crate::engine::TurnEnd::clean(turn)
    })));
    let text = &simulation.state.notices.open(1).unwrap().notice.text;
    assert_eq!(text.chars().count(), 1_001);
}

#[test]
fn pending_effects_are_those_that_were_not_done() {
    let mut simulation = Simulation::new(CHAIN, options());
    work(&mut simulation, first_fails);
    while simulation.state.notices.open(2).is_some() {
        let at = simulation.todo.iter().position(|effect| matches!(effect, Effect::Deliver { .. })).unwrap();
        simulation.perform(at, &mut refused(FailureClass::Timeout));
    }
    let pending = pending_effects(&simulation.state);
    let files = |letter: &str| Effect::File { letter: letter.to_owned() };
    assert_eq!(pending, [files("n1"), files("n2")]);
}

#[test]
fn the_end_says_how_the_tasks_ended() {
    for (script, expected) in [
        (good as fn(&State, &Effect) -> Response, "2 done of 2 tasks"),
        (first_fails, "0 done, 2 failed of 2 tasks"),
    ] {
        let mut simulation = Simulation::new(CHAIN, options());
        simulation.run(script);
        let said = notices(&simulation).find_map(|event| match event {
            NoticeEvent::Requested { notice, .. } if notice.topic == Topic::RunFinished => {
                Some(notice.text.clone())
            }
            _ => None,
        });
        assert_eq!(said.as_deref(), Some(expected));
    }
}

#[test]
fn every_default_channel_hears_of_the_end_once() {
    let both = CHAIN.replace("[ops]", "[ops, dev]");
    let mut simulation = Simulation::new(&both, options());
    simulation.run(good);
    assert_eq!(told(&simulation), [ops(Topic::RunFinished), own("dev", Topic::RunFinished)]);
}

#[test]
fn a_channel_is_left_alone_for_a_minute_or_until_it_works_again() {
    // A failure that is told at such a moment, on a channel that is down until then.
    let given_up = |at: u64, works_again: bool| {
        let mut simulation = Simulation::new(CHAIN, options());
        while simulation.running().is_empty() {
            simulation.perform(0, &mut good);
        }
        let notice = Box::new(crate::engine::Notice::new(Topic::TaskFailed, crate::domain::Timestamp(1)));
        let channel: Box<str> = "ops".into();
        let until = crate::domain::Timestamp(1_000);
        let mut events = vec![
            NoticeEvent::Requested { number: 1, channel: channel.clone(), notice: notice.clone() },
            NoticeEvent::Tried {
                number: 1,
                channel: channel.clone(),
                failure: Some(DeliveryFailure {
                    class: FailureClass::Timeout,
                    message: String::new(),
                    again: None,
                    down_until: Some(until),
                }),
            },
        ];
        if works_again {
            events.push(NoticeEvent::Requested { number: 2, channel: channel.clone(), notice });
            events.push(NoticeEvent::Tried { number: 2, channel, failure: None });
        }
        for event in events {
            crate::engine::apply(&mut simulation.state, &Event::Notice(Box::new(event)));
        }
        let turn = simulation.running()[0];
        let end = crate::engine::TurnEnd {
            exit: crate::engine::Exit {
                failure: Some(FailureClass::ProviderAuth),
                ..crate::engine::Exit::default()
            },
            ..crate::engine::TurnEnd::clean(turn)
        };
        let input = Fact::TurnEnded(Box::new(end));
        let events = crate::engine::decide(&simulation.state, &input, crate::domain::Timestamp(at));
        let died =
            |event: &&Event| matches!(event, Event::Notice(event) if matches!(**event, NoticeEvent::Died(_)));
        events.iter().any(|event| died(&event))
    };
    assert_eq!([given_up(999, false), given_up(1_000, false), given_up(999, true)], [true, false, false]);
}

#[test]
fn what_holds_the_end_is_what_is_on_its_way_once_nothing_else_is_left() {
    let parked = "name: m
agents: {w: {run: [x]}, p: {adapter: human}}
channels: {ops: {type: file, path: f}}
settings: {defaultChannels: [ops]}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [p]}]}]
";
    let patient = RunOptions { wait_approvals: Some(Millis::from_secs(60)), ..options() };
    // A person is waited for: what they are told is on its way, and holds nothing up.
    let mut simulation = Simulation::new(parked, patient);
    work(&mut simulation, good);
    assert!(simulation.state.waits_until().is_some() && !simulation.state.notices.is_quiet());
    assert!(!holds_the_end(&simulation.state));
    // At work.
    let mut simulation = Simulation::new(&gated(", notifyChannels: [dev]"), options());
    work(&mut simulation, first_fails);
    assert!(holds_the_end(&simulation.state));
    simulation.state.sums.slots = 1;
    assert!(!holds_the_end(&simulation.state));
    // Of a gate alone, where nobody hears of the end.
    let quiet = gated(", notifyChannels: [dev]").replace("defaultChannels: [ops], ", "");
    let mut simulation = Simulation::new(&quiet, options());
    work(&mut simulation, good);
    assert!(holds_the_end(&simulation.state) && !simulation.state.notices.announced);
    simulation.run(good);
    assert!(!holds_the_end(&simulation.state));
}
