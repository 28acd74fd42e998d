//! Limits of subscriptions that whoever is asked runs into, whatever it is asked for (semantics, section 13).

use crate::domain::{Answer, FailureClass, OutcomeClass, Purpose, Status, TaskId};
use crate::engine::{
    AskEvent, Asked, Command, Deferral, Effect, Event, Fact, Job, RunPhase, State, TaskEvent, WorkId, apply,
    outcome,
};
use crate::plan::RunOptions;

use super::operator::says;
use super::rules::{is_turn, until};
use super::simulation::consistency::is_up_to_date;
use super::simulation::{Response, Simulation, good, options};

const PURPOSES: [&str; 4] = ["confirm", "answer", "resolve", "approve"];

/// A run in which `o` is asked for this.
fn asking(purpose: &str, settings: &str) -> Simulation {
    let more = match purpose {
        "approve" => ", requiresApproval: {approvers: [o]}",
        _ => "",
    };
    let yaml = format!(
        "name: m
settings: {{maxFixAttempts: 0, maxRetries: 0, orchestrator: o{settings}}}
agents: {{w: {{run: [/bin/true]}}, o: {{run: [/bin/true]}}}}
tasks:
  - {{title: a, assignTo: w, review: none{more}}}
  - {{title: b, assignTo: w, review: none, dependsOn: [a]}}
"
    );
    Simulation::new(&yaml, options())
}

/// `o` has met a limit at its first so many asks.
fn script(purpose: &'static str, mut limited: u32) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) && turn.turn == 1 => match purpose {
            "resolve" => Response::AgentFailed(FailureClass::Unknown),
            "approve" => Response::Finished,
            _ => Response::Asks(Asked {
                text: "Which one?".to_owned(),
                detected: purpose == "confirm",
                call: None,
            }),
        },
        Effect::Ask { .. } if limited > 0 => {
            limited -= 1;
            Response::Unreachable(FailureClass::UsageWindow)
        }
        Effect::Ask { .. } => Response::Answer(match purpose {
            "confirm" => Answer::IsQuestion(false),
            "answer" => Answer::Text("The second.".to_owned()),
            "resolve" => Answer::Absorb { prompt: "do without it".to_owned() },
            _ => Answer::Approve,
        }),
        effect => good(state, effect),
    }
}

fn asked(simulation: &Simulation) -> usize {
    simulation.count(|event| matches!(event, Event::Ask(_, AskEvent::Requested { .. })))
}

#[test]
fn whoever_met_a_limit_is_asked_again_once_it_has_reset() {
    for purpose in PURPOSES {
        let mut simulation = asking(purpose, "");
        simulation.run(script(purpose, 2));
        assert_eq!(asked(&simulation), 3, "{purpose}");
        let waits =
            simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Deferred { until: Some(_) })));
        assert_eq!(waits, 2, "{purpose}");
        // Work that goes on without what failed does not make that good.
        let expected = match purpose {
            "resolve" => OutcomeClass::TaskFailed,
            _ => OutcomeClass::Ok,
        };
        assert_eq!(outcome(&simulation.state).class, expected, "{purpose}");
    }
}

#[test]
fn a_session_that_may_not_wait_so_long_ends() {
    for purpose in PURPOSES {
        let mut simulation = asking(purpose, ", maxWindowWait: 1m");
        let mut script = script(purpose, 1);
        while !simulation.todo.is_empty() {
            simulation.perform(0, &mut script);
        }
        assert_eq!(simulation.state.phase, RunPhase::Finished, "{purpose}");
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit, "{purpose}");
        // A session that begins when it has reset asks again.
        simulation.now += 30 * 60 * 1000;
        simulation.resume();
        simulation.run(script);
        assert_eq!(asked(&simulation), 2, "{purpose}");
    }
}

#[test]
fn a_limit_whose_end_nobody_knows_is_waited_for_by_no_session_and_the_next_one_begins_at_once() {
    for (fallback, goes_on) in [("", false), (", fallback: v", true)] {
        let yaml = format!(
            "name: m
settings: {{maxRetries: 0}}
agents: {{w: {{run: [/bin/true]{fallback}}}, v: {{run: [/bin/true]}}}}
tasks: [{{title: a, assignTo: w, review: none}}]
"
        );
        let mut simulation = Simulation::new(&yaml, options());
        let begins = |simulation: &mut Simulation| match until(simulation, is_turn) {
            Effect::RunTurn { turn, .. } => turn,
            other => panic!("{other:?}"),
        };
        let turn = begins(&mut simulation);
        simulation.todo.pop_front();
        simulation.feed(&Fact::TurnRequestFailed {
            turn,
            class: FailureClass::UsageWindow,
            before_effect: true,
            message: "nobody took it".to_owned(),
            retry_after: Some(Deferral::UNKNOWN),
            jitter: 0,
        });
        if !goes_on {
            while !simulation.todo.is_empty() {
                simulation.perform(0, &mut good);
            }
            assert_eq!(simulation.state.phase, RunPhase::Finished);
            assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
            assert_eq!(simulation.state.resumable_at(), None);
            simulation.resume();
        }
        let next = begins(&mut simulation);
        assert_eq!((next.attempt, next.turn), (turn.attempt, turn.turn + 1));
        simulation.run(good);
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    }
}

const LIMITED: Response = Response::Unreachable(FailureClass::UsageWindow);

/// Performs what is to be done in order, but leaves out what is none of the script's business, and lets no time pass.
fn perform_all(simulation: &mut Simulation, mut script: impl FnMut(&State, &Effect) -> Option<Response>) {
    let mut left = Vec::new();
    while let Some(effect) = simulation.todo.front() {
        match script(&simulation.state, effect) {
            Some(response) => simulation.perform(0, &mut |_, _| response.clone()),
            None => left.extend(simulation.todo.pop_front()),
        }
    }
    simulation.todo.extend(left);
    is_up_to_date(&simulation.state);
}

fn approve(simulation: &mut Simulation, task: TaskId) {
    simulation.feed(&says(Command::approve(task, simulation.state.task(task).consent.asked)));
    is_up_to_date(&simulation.state);
}

#[test]
fn whoever_is_asked_for_an_approval_that_a_person_gives_is_waited_for_no_more() {
    let yaml = "name: m
settings:
  approvalGates:
    - {name: one, when: task.priority > 0, approvers: [o, ada]}
    - {name: two, when: task.priority > 0, approvers: [{command: c}]}
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
tasks: [{title: a, assignTo: w, review: none, priority: 3}]
";
    for is_limited in [false, true] {
        let mut simulation = Simulation::new(yaml, options());
        perform_all(&mut simulation, |state, effect| match effect {
            Effect::Ask { .. } => is_limited.then_some(LIMITED),
            effect => Some(good(state, effect)),
        });
        let ask = simulation.state.task(TaskId(0)).work.asks[0].id;
        approve(&mut simulation, TaskId(0));
        let task = simulation.state.task(TaskId(0));
        assert!(task.work.asks.is_empty(), "its word would mean nothing");
        assert!(task.deferral.is_none(), "it waits for a command, not for a limit");
        assert!(!simulation.state.ledger.is_open(WorkId::ask(ask)));
        assert_eq!(simulation.state.sums.approvers_asked, 1);
        let is_command = |effect: &Effect| {
            let Effect::Job { job, .. } = effect else {
                return false;
            };
            matches!(job, Job::Approver { number: 2, .. })
        };
        assert_eq!(simulation.todo.iter().filter(|effect| is_command(effect)).count(), 1);
        // What the agent says in the end changes nothing.
        simulation.run(good);
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
        assert_eq!(asked(&simulation), 1);
    }
}

#[test]
fn approved_work_waits_for_a_slot_and_not_for_the_limit_of_its_approver() {
    let yaml = "name: m
settings: {maxWindowWait: 1m}
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
tasks:
  - {title: a, assignTo: w, review: none, requiresApproval: {approvers: [o]}}
  - {title: b, assignTo: w, review: none}
";
    let one_at_a_time = RunOptions { jobs: Some(1), ..options() };
    let mut simulation = Simulation::new(yaml, one_at_a_time);
    perform_all(&mut simulation, |state, effect| match effect {
        Effect::Ask { .. } => Some(LIMITED),
        Effect::RunTurn { .. } => None,
        effect => Some(good(state, effect)),
    });
    approve(&mut simulation, TaskId(0));
    assert_eq!(simulation.state.task(TaskId(0)).status(), Status::Pending);
    perform_all(&mut simulation, |state, effect| Some(good(state, effect)));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn a_dependency_that_is_tried_again_is_waited_for_and_no_limit_of_whoever_was_asked_about_it() {
    let yaml = "name: m
settings: {maxFixAttempts: 0, maxRetries: 0, orchestrator: o, maxWindowWait: 1m}
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
tasks:
  - {title: a, assignTo: w, review: none}
  - {title: b, assignTo: w, review: none, dependsOn: [a]}
  - {title: c, assignTo: w, review: none, dependsOn: [a]}
";
    let mut simulation = Simulation::new(yaml, options());
    let mut fails = true;
    perform_all(&mut simulation, |state, effect| {
        Some(match effect {
            Effect::RunTurn { turn, .. } if turn.task == TaskId(0) && std::mem::take(&mut fails) => {
                Response::AgentFailed(FailureClass::Unknown)
            }
            Effect::Ask { id, .. } if id.task == TaskId(1) => LIMITED,
            Effect::Ask { purpose, .. } => {
                assert!(matches!(purpose, Purpose::Resolve { .. }));
                Response::Answer(Answer::Retry { reason: String::new() })
            }
            effect => good(state, effect),
        })
    });
    assert_eq!(asked(&simulation), 2);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn work_that_is_sent_back_waits_for_no_judge_of_what_it_was() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j]}]}]
";
    let mut simulation = Simulation::new(yaml, options());
    perform_all(&mut simulation, |state, effect| {
        Some(match effect {
            Effect::Ask { .. } => LIMITED,
            effect => good(state, effect),
        })
    });
    assert!(simulation.state.task(TaskId(0)).deferral.is_some());
    let back = TaskEvent::Transition {
        from: Status::Review,
        to: Status::Pending,
        phase: None,
        mode: None,
        flag: None,
        reason: None,
    };
    apply(&mut simulation.state, &Event::Task(TaskId(0), back));
    assert!(simulation.state.task(TaskId(0)).deferral.is_none());
    is_up_to_date(&simulation.state);
    assert_eq!(simulation.state.queues.ready.next_up().next(), Some(TaskId(0)));
}
