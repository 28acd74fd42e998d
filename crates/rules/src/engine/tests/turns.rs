//! Turns: how long a refused request waits, and what may not be spoken to once more.

use crate::domain::{BeforeWork, FailureClass, Purpose, Status, TaskId, Timestamp, WaitingReason};
use crate::engine::{
    Asked, Command, Effect, Event, Fact, HoldEvent, Job, RunEvent, State, ToolCalls, TurnEnd, TurnEvent,
    TurnFiles,
};

use super::operator::says;
use super::rules::{is_turn, mission, simulation, until};
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

#[test]
fn a_pause_is_never_longer_than_half_as_much_again() {
    let yaml = mission("", "  - {title: a, assignTo: w, review: none}\n");
    let mut simulation = simulation(&yaml);
    let mut waited = Vec::new();
    for _ in 0..3 {
        let Effect::RunTurn { turn, .. } = until(&mut simulation, is_turn) else { unreachable!() };
        let before = simulation.state.clone();
        let refused = |jitter| Fact::TurnRequestFailed {
            turn,
            class: FailureClass::RateLimited,
            before_effect: false,
            message: "no".to_owned(),
            retry_after: None,
            jitter,
        };
        let pause = |jitter| {
            let events = crate::engine::decide(&before, &refused(jitter), Timestamp(0));
            match events.first() {
                Some(Event::Turn(_, TurnEvent::RequestFailed { not_before, .. })) => not_before.0,
                other => panic!("{other:?}"),
            }
        };
        waited.push([pause(0), pause(500), pause(1000), pause(u16::MAX)]);
        simulation.todo.pop_front();
        simulation.feed(&refused(0));
    }
    assert_eq!(waited, [[1000, 1250, 1500, 1500], [2000, 2500, 3000, 3000], [4000, 5000, 6000, 6000]]);
}

/// What becomes of a turn whose tries fail like this one after the other: `of` of each that is made again; whether the
/// turn has ended then.
fn tries(failures: &[(FailureClass, bool)]) -> (Vec<u32>, bool) {
    let yaml = mission("", "  - {title: a, assignTo: w, review: none}\n");
    let mut simulation = simulation(&yaml);
    let turn = match until(&mut simulation, is_turn) {
        Effect::RunTurn { turn, .. } => turn,
        other => panic!("{other:?}"),
    };
    for (class, before_effect) in failures {
        simulation.feed(&Fact::TurnRequestFailed {
            turn,
            class: *class,
            before_effect: *before_effect,
            message: "no".to_owned(),
            retry_after: None,
            jitter: 0,
        });
    }
    let again = simulation.journal.iter().flatten().filter_map(|event| match event {
        Event::Turn(_, TurnEvent::RequestFailed { of, .. }) => Some(*of),
        _ => None,
    });
    (again.collect(), simulation.state.task(TaskId(0)).work.turn.is_none())
}

const REFUSED: (FailureClass, bool) = (FailureClass::RateLimited, false);
const UNCONNECTED: (FailureClass, bool) = (FailureClass::Unknown, true);

#[test]
fn a_connection_is_made_once_more_whatever_requests_were_refused_before() {
    assert_eq!(tries(&[REFUSED, UNCONNECTED]), (vec![4, 2], false));
    assert_eq!(tries(&[REFUSED, UNCONNECTED, UNCONNECTED]), (vec![4, 2], true));
}

#[test]
fn a_connection_that_was_not_made_takes_no_request_away() {
    let all = [UNCONNECTED, REFUSED, REFUSED, REFUSED];
    assert_eq!(tries(&all), (vec![2, 4, 4, 4], false));
    assert_eq!(tries(&[&all[..], &[REFUSED]].concat()), (vec![2, 4, 4, 4], true));
}

/// What people are asked about the task, in order.
fn asked(simulation: &Simulation) -> Vec<String> {
    let events = simulation.journal.iter().flatten();
    let asked = events.filter_map(|event| match event {
        Event::Hold(_, HoldEvent::Opened { message, .. }) => Some(message.clone()),
        _ => None,
    });
    asked.collect()
}

fn play(simulation: &mut Simulation, script: &mut dyn FnMut(&State, &Effect) -> Response) {
    while !simulation.todo.is_empty() {
        simulation.perform(0, script);
    }
}

fn patient() -> crate::plan::RunOptions {
    crate::plan::RunOptions { wait_approvals: Some(crate::domain::Millis::from_secs(60)), ..options() }
}

#[test]
fn an_agent_that_may_have_acted_is_not_told_what_its_work_misses_without_a_persons_word() {
    let task = "  - {title: a, assignTo: w, review: none, sideEffects: true, verify: {commands: [y], maxAttempts: 1}}\n";
    let mut simulation = Simulation::new(&mission("", task), patient());
    let mut red = |state: &State, effect: &Effect| match effect {
        Effect::Job { job: Job::Finish(_), .. } => Response::Check(false),
        _ => good(state, effect),
    };
    play(&mut simulation, &mut red);
    let waiting = simulation.state.task(TaskId(0)).hold();
    assert_eq!(waiting.map(|waiting| waiting.reason), Some(WaitingReason::SideEffects));
    assert_eq!(simulation.turns.len(), 1);
    let asked = asked(&simulation);
    assert!(asked[0].contains("spoken to once more"), "{asked:?}");
}

#[test]
fn a_person_who_lets_it_act_again_is_told_what_the_last_attempt_failed_by() {
    let task = "  - {title: a, assignTo: w, sideEffects: true, review: required, expectations: [{type: test, command: x}]}\n";
    let mut simulation = Simulation::new(&mission("settings: {maxAttempts: 9}\n", task), patient());
    let mut checks = vec![true, false];
    let mut script = |state: &State, effect: &Effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(checks.pop().unwrap_or(true)),
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(40),
        _ => good(state, effect),
    };
    play(&mut simulation, &mut script);
    simulation.feed(&says(Command::approve(TaskId(0), 1)));
    play(&mut simulation, &mut script);
    let asked = asked(&simulation);
    assert_eq!(asked.len(), 2);
    for (message, why) in asked.iter().zip(["(checks)", "(score)"]) {
        assert!(message.contains(&format!("the last attempt failed {why}")), "{message}");
    }
}

#[test]
fn whoever_has_worked_asks_nothing() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
settings: {maxQuestionRounds: 2, orchestrator: o}
tasks: [{title: a, assignTo: w, review: none, targetFiles: [f], verify: {requireFileChanges: true}}]
";
    let detected = Asked { text: "Which one?".to_owned(), detected: true, call: None };
    let asked = |calls: Option<u32>, changed: Option<u32>| {
        let mut simulation = Simulation::new(yaml, options());
        while let Some(effect) = simulation.todo.front().cloned() {
            if let Effect::RunTurn { turn, .. } = effect {
                simulation.todo.pop_front();
                simulation.feed(&Fact::TurnEnded(Box::new(TurnEnd {
                    asked: Some(detected.clone()),
                    tool_calls: calls.map(|calls| ToolCalls { calls, writes: 0 }),
                    files: Some(TurnFiles { changed, written: changed, ..TurnFiles::default() }),
                    ..TurnEnd::clean(turn)
                })));
                break;
            }
            simulation.perform(0, &mut good);
        }
        !simulation.state.tasks[0].work.asks.is_empty()
    };
    for (calls, changed, is_asked) in [
        (None, Some(0), true),
        (Some(4), Some(0), true),
        (Some(5), Some(0), false),
        (None, Some(1), false),
        (None, None, true),
    ] {
        assert_eq!(asked(calls, changed), is_asked, "{calls:?} {changed:?}");
    }
}

/// Semantics, section 24: no turn begins where checks are being looked at; one that waits for a look that is called off begins then.
#[test]
fn a_turn_that_waited_for_a_look_begins_where_the_look_is_called_off() {
    let check = "review: none, expectations: [{type: script, command: x}]";
    let a = format!("  - {{title: a, assignTo: w, {check}}}\n");
    let yaml = mission("", &format!("{a}  - {{title: b, assignTo: k, {check}}}\n"));
    let begun = Simulation::new(&yaml, options());
    let Some(Event::Run(RunEvent::Started(start))) = begun.journal[0].first() else {
        panic!("{:?}", begun.journal[0]);
    };
    let call_off: [fn(&mut Simulation); 2] = [
        |simulation| simulation.feed(&says(Command::CancelTask { task: TaskId(0) })),
        // Where nobody calls it off, it ends.
        |_| {},
    ];
    let red = |state: &State, effect: &Effect| match effect {
        Effect::Job { job: Job::Baseline, .. } => Response::Before(0),
        effect => good(state, effect),
    };
    for (way, call_off) in call_off.into_iter().enumerate() {
        let mut simulation =
            Simulation { asks_before: true, ..Simulation::recovered(plan_of(&yaml, &options()), &[]) };
        simulation.feed(&Fact::Start(start.clone()));
        let of_b = |effect: &Effect| matches!(effect, Effect::Job { turn, job: Job::Baseline } if turn.task == TaskId(1));
        let look = simulation.todo.iter().position(of_b).unwrap();
        simulation.perform(look, &mut |state, effect| red(state, effect));
        let is_looked_at = |task| simulation.state.task(task).is_looked_at_before();
        assert!(is_looked_at(TaskId(0)) && !is_looked_at(TaskId(1)), "{way}");
        assert!(simulation.running().is_empty(), "{way}");
        call_off(&mut simulation);
        simulation.run(red);
        let a = if way == 1 { Status::Done } else { Status::Failed };
        assert_eq!(statuses(&simulation.state), [a, Status::Done], "{way}");
    }
}

/// Red before the work; its judge gives the first task 20 points.
fn red_and_poor(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { job: Job::Baseline, .. } => Response::Before(0),
        Effect::Ask { id, .. } if id.task == TaskId(0) => Response::Score(20),
        effect => good(state, effect),
    }
}

/// Performs what is to be done until an effect is the next, and has it wait.
fn wait_before(simulation: &mut Simulation, wanted: impl Fn(&Effect) -> bool) -> usize {
    for _ in 0..1_000 {
        if let Some(at) = simulation.todo.iter().position(&wanted) {
            return at;
        }
        simulation.perform(0, &mut |state, effect| red_and_poor(state, effect));
    }
    panic!("nobody asks for it");
}

/// Two tasks of which the second builds on the first, with their keys, and a worker that is told nothing beside the others.
fn one_on_another(settings: &str, first: &str, second: &str) -> String {
    let tasks =
        format!("  - {{title: a, assignTo: w, {first}}}\n  - {{title: b, dependsOn: [a], {second}}}\n");
    mission(settings, &tasks).replace("agents:\n", "agents:\n  mute: {run: [x], input: none}\n")
}

const CHECK: &str = "review: none, expectations: [{type: script, command: x}]";

fn look_of_b(effect: &Effect) -> bool {
    matches!(effect, Effect::Job { turn, job: Job::Baseline } if turn.task == TaskId(1))
}

fn prompt_of_b(effect: &Effect) -> bool {
    matches!(effect, Effect::PreparePrompt(turn) if turn.task == TaskId(1))
}

/// A person refuses the work of the first task after all.
fn refuse(simulation: &mut Simulation) {
    simulation.feed(&says(Command::AnswerAcceptance {
        task: TaskId(0),
        attempt: 1,
        refused: Some("no".to_owned()),
    }));
}

/// Semantics, section 24: what has a slot and has not begun goes back when the work that it builds on is refused.
#[test]
fn what_has_not_begun_goes_back_when_what_it_builds_on_is_refused() {
    for (is_looked_at, agent) in [(true, "w"), (true, "mute"), (false, "w")] {
        let yaml = one_on_another("", "maxAttempts: 1", &format!("assignTo: {agent}, {CHECK}"));
        let mut simulation = Simulation::new(&yaml, options());
        simulation.asks_before = true;
        let at = wait_before(&mut simulation, look_of_b);
        if !is_looked_at {
            simulation.perform(at, &mut |state, effect| red_and_poor(state, effect));
            wait_before(&mut simulation, prompt_of_b);
        }
        refuse(&mut simulation);
        if is_looked_at {
            simulation.todo.retain(look_of_b);
            simulation.perform(0, &mut |state, effect| red_and_poor(state, effect));
            assert_eq!(simulation.todo, [], "what begins again at once would be due twice: {agent}");
        }
        simulation.run(red_and_poor);
        assert_eq!(statuses(&simulation.state), [Status::Failed, Status::Failed], "{is_looked_at} {agent}");
        let turns = simulation.turns.iter().filter(|turn| turn.task == TaskId(1));
        assert_eq!(turns.count(), 0, "{is_looked_at} {agent}");
    }
}

/// Semantics, section 24: a person's word that work begins although its check is green is for what it builds on. When that is
/// withdrawn before the first turn, the check is looked at anew.
#[test]
fn a_word_that_work_begins_green_lapses_with_what_it_builds_on() {
    let to_be_red = "assignTo: w, review: none, expectations: [{type: script, command: x, before: red}]";
    let yaml = one_on_another("", "review: none", to_be_red);
    let approve = |simulation: &mut Simulation| simulation.feed(&says(Command::approve(TaskId(1), 1)));
    let redo = |simulation: &mut Simulation| assert!(simulation.say(&Fact::Redo(TaskId(0))));
    for word_first in [true, false] {
        for is_redone in [true, false] {
            let mut simulation = Simulation::new(&yaml, options());
            simulation.asks_before = true;
            let look = wait_before(&mut simulation, look_of_b);
            simulation.perform(look, &mut |_, _| Response::Before(1));
            simulation.run(red_and_poor);
            if word_first {
                approve(&mut simulation);
            }
            if is_redone {
                redo(&mut simulation);
            }
            if !word_first {
                approve(&mut simulation);
            }
            simulation.resume();
            simulation.run(red_and_poor);
            let seen = (word_first, is_redone);
            assert_eq!(statuses(&simulation.state), [Status::Done; 2], "{seen:?}");
            let b = simulation.state.task(TaskId(1));
            assert_eq!((b.consent.begins_green, b.consent.asked), (!is_redone, 1), "{seen:?}");
            let said = b.course.baseline.as_deref().unwrap().checks[0].before;
            let expected = if is_redone { BeforeWork::Red } else { BeforeWork::Green };
            assert_eq!(said, expected, "{seen:?}");
        }
    }
}

/// Semantics, section 6.10: nothing begins before it is known whether what was accepted stands, whoever is told nothing either.
#[test]
fn nothing_begins_during_an_audit_when_its_look_ends() {
    for agent in ["w", "mute"] {
        let lint = "stages: [{name: lint, command: x}]\n";
        let yaml = one_on_another(lint, CHECK, &format!("assignTo: {agent}, review: none"));
        let mut killed = Simulation::new(&yaml, options());
        killed.asks_before = true;
        wait_before(&mut killed, look_of_b);
        let mut simulation = Simulation {
            asks_before: true,
            ..Simulation::recovered(plan_of(&yaml, &options()), &killed.journal)
        };
        simulation.resume();
        assert!(simulation.state.audit.out, "{agent}");
        let look = simulation.todo.iter().position(look_of_b).unwrap();
        simulation.perform(look, &mut |state, effect| red_and_poor(state, effect));
        assert!(simulation.running().is_empty(), "{agent}");
        simulation.run(red_and_poor);
        assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done], "{agent}");
    }
}
