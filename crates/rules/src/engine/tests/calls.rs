//! What is kept of calls that are out when their task moves on, when a session ends and when the next one begins.

use std::sync::Arc;

use crate::domain::{
    AgentId, Answer, AskId, Digest, FailureClass, Millis, Purpose, Status, TaskId, Timestamp, TurnId,
};
use crate::engine::apply::drop_what_nobody_waits_for;
use crate::engine::ledger::CallAdmission;
use crate::engine::{
    AskFailure, AskReply, BudgetEvent, Ceiling, Command, Effect, Event, Fact, FileRef, OperatorInput,
    ReplyRef, RunEvent, State, StopCause, TaskWork, Timer, Usage, WorkId, apply, decide, effects,
};

use super::simulation::{Simulation, good, options};

const MISSION: &str = "name: m
agents:
  w: {run: [/bin/true], maxCostPerTurn: 0.25}
  j: {run: [/bin/true], role: reviewer}
tasks: [{title: a, assignTo: w}, {title: b, assignTo: w}, {title: c, assignTo: w}]
";
const JUDGED: TaskId = TaskId(0);
const WORKS: TaskId = TaskId(1);
const WAITS: TaskId = TaskId(2);

fn turn(task: TaskId, turn: u32) -> WorkId {
    WorkId::turn(TurnId { task, attempt: 1, turn })
}

fn held(state: &State, call: WorkId) -> Event {
    Event::Budget(BudgetEvent::Held { call, agent: state.plan.task(call.task).agent, released: false })
}

/// One task is judged, one works, and one waits until there is room for its turn. Nobody knows what the judge may cost.
fn in_the_middle() -> (State, WorkId) {
    let mut simulation = Simulation::new(MISSION, options());
    let plan = Arc::make_mut(&mut simulation.state.plan);
    plan.rules.budget.max_cost = Some("10".parse().unwrap());
    let mut perform = |wanted: &dyn Fn(&Effect) -> bool| {
        let at = simulation.todo.iter().position(wanted).unwrap();
        simulation.perform(at, &mut good);
    };
    for task in [JUDGED, WORKS] {
        perform(&|effect| matches!(effect, Effect::PreparePrompt(turn) if turn.task == task));
    }
    perform(&|effect| matches!(effect, Effect::RunTurn { turn, .. } if turn.task == JUDGED));
    let seat = simulation.todo.iter().find_map(|effect| match effect {
        Effect::Ask { id, .. } => Some(WorkId::ask(*id)),
        _ => None,
    });
    let mut state = simulation.state;
    let waits = held(&state, turn(WAITS, 1));
    apply(&mut state, &waits);
    (state, seat.unwrap())
}

#[test]
fn a_later_session_makes_again_what_was_out_and_leaves_turns_as_they_are() {
    let (mut state, seat) = in_the_middle();
    let before = *state.ledger.spent();
    assert!(state.ledger.is_open(seat) && state.ledger.is_open(turn(WORKS, 1)));
    assert!(state.ledger.is_held(turn(WAITS, 1)));
    let resume = Fact::resume(state.options.clone());
    let resumed = decide(&state, &resume, Timestamp(9)).into_iter();
    let resumed = resumed.filter(|event| matches!(event, Event::Run(RunEvent::Resumed(_))));
    for event in resumed.collect::<Vec<_>>() {
        apply(&mut state, &event);
    }
    assert!(state.ledger.is_open(turn(WORKS, 1)), "it may still be at work");
    assert!(!state.ledger.is_held(turn(WAITS, 1)), "whether it has room is found out anew");
    assert!(state.ledger.is_open(seat));
    let after = state.ledger.spent();
    assert_eq!(after.requests, before.requests + 1, "it is another request");
    assert_eq!(after.untold, before.untold + 1, "of the lost one nobody knows");
    // To go on all the same was a person's word.
    let judge = state.plan.find_agent("j").unwrap();
    assert_eq!(state.ledger.room(&state.plan, judge, true), CallAdmission::Admitted);
}

#[test]
fn a_task_that_moves_on_keeps_only_what_it_waits_for() {
    let (middle, seat) = in_the_middle();
    let WorkId { work: seat, .. } = seat;
    let seat = WorkId { task: WAITS, work: seat };
    let (coming, later) = (turn(WAITS, 1), turn(WAITS, 2));
    for (call, status, stays) in [
        (coming, Status::Assigned, true),
        (coming, Status::InProgress, true),
        (coming, Status::Pending, false),
        (coming, Status::Failed, false),
        (later, Status::Assigned, false),
        (seat, Status::Assigned, false),
        (seat, Status::Review, false),
    ] {
        let mut state = middle.clone();
        state.tasks[WAITS.index()].lifecycle = status.into();
        let plan = state.plan.clone();
        let event = held(&state, call);
        state.ledger.follow(&plan, &event);
        drop_what_nobody_waits_for(&mut state, WAITS);
        assert_eq!(state.ledger.is_held(call), stays, "{call:?} of a task {status:?}");
    }
    // A reviewer that is still out is paid for and forgotten.
    let mut state = middle;
    let plan = state.plan.clone();
    let call = held(&state, seat);
    state.ledger.follow(&plan, &call);
    state
        .ledger
        .follow(&plan, &Event::Budget(BudgetEvent::Held { call: seat, agent: AgentId(0), released: true }));
    assert!(state.ledger.is_open(seat));
    drop_what_nobody_waits_for(&mut state, WAITS);
    assert!(!state.ledger.is_open(seat));
    assert!(state.ledger.is_held(coming) && state.ledger.is_open(turn(WORKS, 1)));
}

/// Its task is called off while a judge is out, which then replies.
fn judged_too_late() -> (State, Fact, WorkId, Usage) {
    let (mut state, seat) = in_the_middle();
    let cancel = Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::CancelTask { task: JUDGED },
        by: "ada".to_owned(),
    }));
    for event in decide(&state, &cancel, Timestamp(9)) {
        apply(&mut state, &event);
    }
    let TaskWork::Ask(number, attempt_try) = seat.work else { panic!("a judge is asked: {seat:?}") };
    let usage = Usage { input_tokens: Some(30), output_tokens: Some(7), cost: Some("0.5".parse().unwrap()) };
    let replied = Fact::AskReplied(AskReply {
        id: AskId { task: JUDGED, number, attempt_try },
        purpose: Purpose::Score(crate::domain::SeatPlace { attempt: 1, round: 1, seat: 0 }),
        agent: AgentId(1),
        reply: ReplyRef {
            reply: FileRef { length: 1, digest: Digest::of(b"x") },
            model: None,
            usage,
            tools: None,
            judgement: None,
        },
        answer: Answer::DoesNotKnow,
    });
    (state, replied, seat, usage)
}

#[test]
fn what_a_dropped_call_used_is_settled_once() {
    let (mut state, replied, call, usage) = judged_too_late();
    let judge = state.plan.find_agent("j").unwrap();
    let dropped = *state.ledger.spent();
    assert!(!state.ledger.is_open(call));
    assert_eq!(dropped.cost, None);
    let unknown = CallAdmission::Exhausted(Ceiling::UnknownCost(judge));
    assert_eq!(state.ledger.room(&state.plan, judge, true), unknown);

    let settled = decide(&state, &replied, Timestamp(10));
    let expected = Event::Budget(BudgetEvent::Settled { call, usage, requests: 0 });
    assert_eq!(settled, [expected]);
    apply(&mut state, &settled[0]);
    let spent = state.ledger.spent();
    assert_eq!((spent.cost, spent.untold), (usage.cost, dropped.untold - 1));
    assert_eq!(spent.requests, dropped.requests);
    assert_eq!(state.ledger.room(&state.plan, judge, true), CallAdmission::Admitted);
    assert_eq!(decide(&state, &replied, Timestamp(11)), []);
}

#[test]
fn what_never_came_to_be_is_no_request_even_if_nobody_waits_for_it() {
    let (mut state, _, call, _) = judged_too_late();
    let dropped = *state.ledger.spent();
    let TaskWork::Ask(number, attempt_try) = call.work else { panic!("a judge is asked: {call:?}") };
    let failed = Fact::AskFailed(Box::new(AskFailure {
        id: AskId { task: JUDGED, number, attempt_try },
        class: FailureClass::Unknown,
        message: "no such program".to_owned(),
        retry_after: None,
        jitter: 0,
        used: None,
        ours: false,
        never_began: true,
    }));
    for event in decide(&state, &failed, Timestamp(10)) {
        apply(&mut state, &event);
    }
    let spent = state.ledger.spent();
    let expected = (dropped.requests - 1, dropped.untold - 1);
    assert_eq!((spent.requests, spent.untold), expected);
    assert_eq!(decide(&state, &failed, Timestamp(11)), []);
}

#[test]
fn a_later_session_settles_nothing_that_an_earlier_one_dropped() {
    let (mut state, replied, ..) = judged_too_late();
    let resume = Fact::resume(state.options.clone());
    for event in decide(&state, &resume, Timestamp(10)) {
        apply(&mut state, &event);
    }
    assert_eq!(decide(&state, &replied, Timestamp(11)), []);
}

#[test]
fn a_session_that_ends_has_no_clock() {
    let mut simulation = Simulation::new(MISSION, options());
    let begun = simulation.state.clone();
    simulation.run(good);
    let mut journal = simulation.journal.into_iter().flatten();
    let finished = journal.find(|event| matches!(event, Event::Run(RunEvent::Finished { .. })));
    for end in [
        Event::Budget(BudgetEvent::Exhausted { ceiling: Ceiling::Time }),
        Event::Run(RunEvent::Stopping(StopCause::Interrupted)),
        finished.unwrap(),
    ] {
        let mut state = begun.clone();
        let clock =
            Event::Budget(BudgetEvent::Clock { since: Timestamp(1), used: Millis(0), until: Timestamp(9) });
        apply(&mut state, &clock);
        assert_eq!(state.timers.at(Timer::Budget), Some(Timestamp(9)));
        apply(&mut state, &end);
        assert_eq!(state.timers.at(Timer::Budget), None, "{end:?}");
    }
}

#[test]
fn what_has_room_again_is_asked_and_nobody_beside_it() {
    let panel = MISSION.replace("  j:", "  i: {run: [/bin/true], role: reviewer}\n  j:").replace(
        "{title: a, assignTo: w}",
        "{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j]}]}",
    );
    let mut simulation = Simulation::new(&panel, options());
    let asked = |simulation: &Simulation| -> Vec<AskId> {
        let seats = simulation.todo.iter().filter_map(|effect| match effect {
            Effect::Ask { id, .. } if id.task == JUDGED => Some(*id),
            _ => None,
        });
        seats.collect()
    };
    while asked(&simulation).is_empty() {
        simulation.perform(0, &mut good);
    }
    let seats = asked(&simulation);
    assert_eq!(seats.len(), 2);
    for seat in seats {
        let call = WorkId::ask(seat);
        let mut state = simulation.state.clone();
        let released = Event::Budget(BudgetEvent::Held { call, agent: AgentId(0), released: true });
        for event in [held(&state, call), released.clone()] {
            apply(&mut state, &event);
        }
        let effects = effects(&state, &released);
        assert!(matches!(effects.as_slice(), [Effect::Ask { id, .. }] if *id == seat), "{effects:?}");
    }
}
