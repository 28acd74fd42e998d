//! What people say to a run: gates let pass, work tried again, answers, calling off, pausing.

use proptest::prelude::*;

use crate::domain::{
    AttemptKind, Cause, FailureClass, FailureMode, GateId, OutcomeClass, Purpose, QualityFlag, Status, TaskId,
};
use crate::engine::quality_flag::Mark;
use crate::engine::{
    ApprovalDecision, AskEvent, Command, CommandResult, Effect, Event, Fact, HoldEvent, MOST_AT_ONCE,
    OperatorInput, RunEvent, RunPhase, State, TaskEvent, TaskState, evaluate_command, outcome,
};

use super::properties::{has_ended_well_or_says_so, random_run};
use super::simulation::consistency::is_up_to_date;
use super::simulation::random::{Random, random_response};
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

const AGENTS: &str = "name: m\nagents:\n  w: {run: [/bin/true]}\n  j: {run: [/bin/true], role: reviewer}\n";
const CHAIN: &str = "tasks:\n  - {title: a, assignTo: w, maxAttempts: 1}\n  - {title: b, assignTo: w, dependsOn: [a]}\n  \
                     - {title: c, assignTo: w, dependsOn: [b]}\n  - {title: beside, assignTo: w}\n";

fn mission(tasks: &str) -> String {
    format!("{AGENTS}{tasks}")
}

fn run(tasks: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(&mission(tasks), options());
    simulation.run(script);
    simulation
}

pub fn says(command: Command) -> Fact {
    Fact::Operator(Box::new(OperatorInput { id: None, command, by: "ada".to_owned() }))
}

fn turns_of(simulation: &Simulation, task: u32) -> Vec<u32> {
    let turns = simulation.turns.iter().filter(|turn| turn.task == TaskId(task));
    turns.map(|turn| turn.attempt).collect()
}

/// Everything that is kept as it changes, against what the tasks themselves say.
fn consistent(state: &State) {
    is_up_to_date(state);
    let plan = &state.plan;
    for (gate, plan) in state.gates.iter().zip(plan.gates.iter()) {
        let open = plan.after.iter().filter(|id| !state.is_settled(**id));
        assert_eq!(gate.open as usize, open.count());
        assert!(gate.result.is_none() || gate.open == 0);
    }
    let count = |wanted: &dyn Fn(&super::super::TaskState) -> bool| {
        u32::try_from(state.tasks.iter().filter(|task| wanted(task)).count()).unwrap()
    };
    assert_eq!(state.sums.counts.done, count(&|task| task.status() == Status::Done));
    let failed = |task: &super::super::TaskState| task.status() == Status::Failed;
    assert_eq!(state.sums.counts.failed, count(&|task| failed(task) && !task.is_superseded()));
    assert_eq!(state.sums.counts.superseded, count(&|task| failed(task) && task.is_superseded()));
    assert_eq!(state.sums.counts.awaiting, count(&|task| task.status() == Status::AwaitingApproval));
    assert_eq!(state.sums.counts.clean, count(&|task| task.flag() == Some(QualityFlag::Clean)));
    assert_eq!(state.sums.counts.indeterminate, count(&|task| task.attempt.has(Mark::Indeterminate)));
    assert_eq!(state.sums.slots, count(&|task| task.holds_slot()));
    assert_eq!(state.sums.turns_running, count(&|task| task.work.turn.is_some()));
}

fn agent_fails(_: &State, effect: &Effect) -> Response {
    match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::AgentFailed(FailureClass::Unknown)
        }
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(90),
        _ => Response::Finished,
    }
}

#[test]
fn failed_work_is_tried_again_with_full_allowances_and_its_dependents_with_it() {
    let mut simulation = run(CHAIN, agent_fails);
    let (failed, done) = (Status::Failed, Status::Done);
    assert_eq!(statuses(&simulation.state), [failed, failed, failed, done]);
    assert!(simulation.say(&Fact::RetryFailed));
    consistent(&simulation.state);
    let task = &simulation.state.tasks[0];
    assert_eq!((task.attempt.number, task.course.tries, task.attempt.kind), (2, 1, AttemptKind::Execute));
    assert_eq!(task.feedback.len(), 1, "old feedback is carried");
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!(turns_of(&simulation, 0), [1, 2]);
    assert_eq!((turns_of(&simulation, 1), turns_of(&simulation, 3)), (vec![1], vec![1]));
}

#[test]
fn a_redone_task_takes_along_what_was_built_on_it() {
    let mut simulation = run(CHAIN, good);
    assert!(simulation.say(&Fact::Redo(TaskId(1))));
    consistent(&simulation.state);
    let (pending, done) = (Status::Pending, Status::Done);
    assert_eq!(statuses(&simulation.state), [done, pending, pending, done]);
    assert_eq!(simulation.state.tasks[1].attempt.points, None, "the old score is withdrawn");
    assert!(!simulation.say(&Fact::Redo(TaskId(1))), "only done work can be redone");
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!((turns_of(&simulation, 0), turns_of(&simulation, 1)), (vec![1], vec![1, 2]));
}

const GATED: &str = "tasks:\n  - {title: a, assignTo: w, maxAttempts: 1}\n  - {title: b, assignTo: w}\nqualityGates:\n  \
                     - {name: g, afterTasks: [a], blocksTasks: [b], minScore: 4}\n";

fn scores(points: u8) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(points),
        other => good(state, other),
    }
}

#[test]
fn a_gate_over_redone_work_is_evaluated_again() {
    let mut simulation = run(GATED, scores(70));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::GateFailed);
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    assert_eq!(simulation.state.gates[0].result, None);
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);

    // And a pass is withdrawn with what went through it.
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    assert_eq!(statuses(&simulation.state), [Status::Pending; 2]);
    simulation.resume();
    simulation.run(scores(70));
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Pending]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::GateFailed);
}

#[test]
fn an_override_is_withdrawn_with_the_work_it_was_about() {
    let mut simulation = run(GATED, scores(70));
    let over = || says(Command::OverrideGate { gate: GateId(0), reason: "risk".to_owned() });
    assert!(simulation.say(&over()));
    assert!(!simulation.say(&over()), "once is enough");
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    assert!(!simulation.state.gates[0].overridden);
    consistent(&simulation.state);
    simulation.resume();
    simulation.run(scores(70));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::GateFailed);
}

const PARKED: &str = "tasks:\n  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c}]}\n  \
                      - {title: b, assignTo: w, dependsOn: [a]}\n";

fn no_judge(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Unreachable(FailureClass::ProviderAuth),
        other => good(state, other),
    }
}

fn approve(number: u32) -> Command {
    Command::approve(TaskId(0), number)
}

fn reject(number: u32) -> Command {
    Command::reject(TaskId(0), number, "wrong")
}

#[test]
fn work_is_accepted_on_a_persons_word() {
    let mut simulation = run(PARKED, no_judge);
    assert_eq!(evaluate_command(&simulation.state, &approve(2)), CommandResult::Unknown);
    assert!(simulation.say(&says(approve(1))));
    consistent(&simulation.state);
    assert_eq!(simulation.state.tasks[0].flag(), Some(QualityFlag::Clean));
    assert_eq!(simulation.state.tasks[0].consent.answers, [ApprovalDecision { number: 1, approved: true }]);
    assert_eq!(evaluate_command(&simulation.state, &approve(1)), CommandResult::AlreadySo);
    assert_eq!(evaluate_command(&simulation.state, &reject(1)), CommandResult::DecidedOtherwise);
    let by_ada = |event: &Event| matches!(event, Event::Task(_, TaskEvent::StageVerdict(report)) if report.by.as_deref() == Some("ada"));
    assert!(simulation.journal.iter().flatten().any(by_ada));
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn rejected_work_goes_back_with_the_reason_until_its_attempts_are_used_up() {
    let mut simulation = run(PARKED, no_judge);
    let mut number = 0;
    while simulation.state.tasks[0].status() == Status::AwaitingApproval {
        number += 1;
        assert!(simulation.say(&says(reject(number))));
        consistent(&simulation.state);
        simulation.resume();
        simulation.run(no_judge);
    }
    // Three retries with two fixes each, as for any other verdict.
    assert_eq!(number, 12);
    let feedback = simulation.state.tasks[0].feedback.last().unwrap();
    assert_eq!((feedback.cause, &*feedback.findings[0].description), (Some(Cause::Rejected), "wrong"));
    assert_eq!(simulation.state.tasks[0].mode(), Some(FailureMode::Quality));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
}

#[test]
fn people_who_are_named_as_reviewers_are_asked_and_nobody_else() {
    const NAMED: &str = "  p: {adapter: human}\ntasks:\n  - {title: a, assignTo: w, expectations: [{type: llm_review, \
                         criteria: c, reviewers: [p]}]}\n";
    let mut simulation = run(NAMED, good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
    let asked = |event: &Event| {
        matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }))
    };
    assert!(!simulation.journal.iter().flatten().any(asked));
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
    assert!(simulation.say(&says(approve(1))));
    assert_eq!(simulation.state.tasks[0].flag(), Some(QualityFlag::Clean));
}

const MIXED: &str = "  k: {run: [/bin/true], role: qa}\n  p: {adapter: human}\n  q: {adapter: human}\ntasks:\n  - {title: a, \
                     assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j, p, k, q]}]}\n";

fn seats_asked(simulation: &Simulation) -> usize {
    let events = simulation.journal.iter().flatten();
    events
        .filter(|event| {
            matches!(event, Event::Ask(_, AskEvent::Requested { purpose: Purpose::Score(_), .. }))
        })
        .count()
}

#[test]
fn people_have_the_last_word_about_what_a_panel_lets_pass() {
    let mut simulation = run(MIXED, good);
    let seen = |simulation: &Simulation| {
        let task = &simulation.state.tasks[0];
        let waiting = task.hold();
        assert_eq!(waiting.and_then(|waiting| waiting.cause), Some(Cause::Person));
        assert_eq!(task.attempt.points, Some(crate::domain::Points::whole(90)));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
        assert_eq!(seats_asked(simulation), 2);
    };
    seen(&simulation);
    let said = |event: &Event| match event {
        Event::Hold(_, HoldEvent::Opened { message, .. }) => Some(message.clone()),
        _ => None,
    };
    let message = simulation.journal.iter().flatten().find_map(said);
    assert_eq!(message.as_deref(), Some("j and k gave 90, bar 60; to be accepted by p or q"));
    // It still waits in the next session, and no judge is asked again.
    simulation.resume();
    simulation.run(good);
    seen(&simulation);
    assert!(simulation.say(&says(approve(1))));
    let task = &simulation.state.tasks[0];
    assert_eq!((task.status(), task.flag()), (Status::Done, Some(QualityFlag::Clean)));
    assert_eq!(task.attempt.points, Some(crate::domain::Points::whole(90)));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    consistent(&simulation.state);
}

#[test]
fn people_are_not_asked_about_what_a_panel_sends_back() {
    let poor = |_: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(40),
        _ => Response::Finished,
    };
    let simulation = run(MIXED, poor);
    assert_eq!(simulation.state.tasks[0].consent.asked, 0);
    assert_eq!(simulation.state.tasks[0].status(), Status::Failed);
    assert_eq!(seats_asked(&simulation), 24);

    // Judges that cannot be asked are a fault, not a question for the people who were named.
    let mut simulation = run(MIXED, no_judge);
    let cause = |simulation: &Simulation| simulation.state.tasks[0].hold().unwrap().cause;
    assert_eq!(cause(&simulation), Some(Cause::GateError));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    simulation.resume();
    simulation.run(good);
    assert_eq!(cause(&simulation), Some(Cause::Person));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
}

#[test]
fn what_a_person_sends_back_is_judged_anew_and_loses_the_panels_score() {
    let mut simulation = run(MIXED, good);
    assert!(simulation.say(&says(reject(1))));
    let task = &simulation.state.tasks[0];
    assert_eq!((task.attempt.points, task.judged().is_none()), (None, true));
    let told = task.feedback.last().unwrap();
    assert_eq!(told.cause, Some(Cause::Rejected));
    assert_eq!(&*told.findings[0].description, "wrong");
    simulation.resume();
    simulation.run(good);
    let task = &simulation.state.tasks[0];
    assert_eq!((task.attempt.number, task.attempt.kind), (2, AttemptKind::Fix));
    assert_eq!(task.hold().unwrap().number, 2);
    assert_eq!(seats_asked(&simulation), 4);
}

#[test]
fn a_queued_command_is_taken_once() {
    let mut simulation = run(PARKED, no_judge);
    let queued = Fact::Operator(Box::new(OperatorInput {
        id: Some("c1".to_owned()),
        command: reject(1),
        by: "ada".to_owned(),
    }));
    assert!(simulation.say(&queued));
    assert!(!simulation.say(&queued));
    let taken = simulation.journal.iter().flatten();
    assert_eq!(taken.filter(|event| matches!(event, Event::Run(RunEvent::CommandTaken { .. }))).count(), 1);
}

#[test]
fn a_cancelled_task_ends_what_runs_for_it() {
    let mut simulation = Simulation::new(&mission(CHAIN), options());
    simulation.perform(0, &mut good);
    assert!(simulation.state.tasks[0].work.turn.is_some());
    simulation.feed(&says(Command::CancelTask { task: TaskId(0) }));
    assert!(simulation.todo.contains(&Effect::StopTask(TaskId(0))));
    assert_eq!(simulation.state.tasks[0].mode(), Some(FailureMode::Cancelled));
    simulation.run(good);
    consistent(&simulation.state);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
    let cancel = Command::CancelTask { task: TaskId(0) };
    assert_eq!(evaluate_command(&simulation.state, &cancel), CommandResult::AlreadySo);
}

#[test]
fn a_paused_session_finishes_what_it_started_and_waits_for_a_person() {
    let mut simulation = Simulation::new(&mission(CHAIN), options());
    simulation.feed(&says(Command::Pause));
    simulation.run(good);
    let (pending, done) = (Status::Pending, Status::Done);
    assert_eq!(statuses(&simulation.state), [done, pending, pending, done]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Awaiting);
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn what_a_panel_found_stays_with_the_work_that_a_person_accepts() {
    let mut reached = false;
    let mut simulation = run(MIXED, move |state, effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } if std::mem::replace(&mut reached, true) => {
            Response::Unreachable(FailureClass::ProviderAuth)
        }
        other => good(state, other),
    });
    assert!(simulation.say(&says(approve(1))));
    let accepted = simulation.journal.iter().flatten().rev().find_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) => Some((report.by.clone(), report.findings.clone())),
        _ => None,
    });
    let (by, findings) = accepted.unwrap();
    assert_eq!(by.as_deref(), Some("ada"));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].description.contains("single reviewer: 1 of 2 seats"));
}

#[test]
fn a_gate_that_was_let_pass_is_open_and_one_that_the_mission_lost_decides_nothing() {
    let over = || Command::OverrideGate { gate: GateId(0), reason: "risk".to_owned() };
    let mut simulation = run(GATED, scores(70));
    assert_eq!(evaluate_command(&simulation.state, &over()), CommandResult::Applied);
    let mut let_pass = run(GATED, scores(70));
    assert!(let_pass.say(&says(over())));
    assert_eq!(evaluate_command(&let_pass.state, &over()), CommandResult::AlreadySo);
    let without = mission(&GATED[..GATED.find("qualityGates").unwrap()]);
    assert!(simulation.say(&Fact::ChangeMission {
        number: 2,
        from: crate::domain::Digest::of(b"old"),
        to: crate::domain::Digest::of(b"new"),
        mission: Some(plan_of(&without, &options())),
    }));
    assert_eq!(evaluate_command(&simulation.state, &over()), CommandResult::TooEarly);
}

/// A mission of one task, and as many others that need it.
fn fan(others: usize) -> String {
    let others =
        (0..others).map(|n| format!("  - {{title: t{n}, assignTo: w, dependsOn: [root], review: none}}\n"));
    let root = "tasks:\n  - {title: root, assignTo: w, review: none}\n".to_owned();
    mission(&std::iter::once(root).chain(others).collect::<String>())
}

/// No record of a journal may be longer, in bytes.
const LONGEST_RECORD: u64 = 16 << 20;

/// Says something for as long as anything follows from it: what follows each time, none of it longer than a record may be.
fn said_to_the_end<'s>(simulation: &'s mut Simulation, fact: &Fact) -> &'s [Vec<Event>] {
    assert!(fact.takes_several_records());
    let before = simulation.journal.len();
    while simulation.say(fact) {}
    let decided = &simulation.journal[before..];
    for events in decided {
        let length = serde_json::to_vec(events).unwrap().len() as u64;
        assert!(length < LONGEST_RECORD / 2, "{length} bytes");
    }
    decided
}

#[test]
fn a_run_of_many_tasks_is_cancelled_in_several_records_and_the_command_is_taken_with_the_last() {
    for (tasks, records, is_queued) in
        [(MOST_AT_ONCE, 1, true), (MOST_AT_ONCE + 1, 2, false), (2 * MOST_AT_ONCE + 1, 3, true)]
    {
        let id = is_queued.then(|| "x".to_owned());
        let mut simulation = Simulation::new(&fan(tasks - 1), options());
        let command = Fact::Operator(Box::new(OperatorInput {
            id: id.clone(),
            command: Command::CancelRun,
            by: "ada".to_owned(),
        }));
        let decided = said_to_the_end(&mut simulation, &command);
        let taken = |events: &Vec<Event>| {
            let is_taken = |event: &Event| {
                matches!(event, Event::Run(RunEvent::CommandTaken { result: CommandResult::Applied, .. }))
            };
            events.iter().any(is_taken)
        };
        let taken: Vec<bool> = decided.iter().map(taken).collect();
        let mut expected = vec![false; records];
        expected[records - 1] = id.is_some();
        assert_eq!(taken, expected, "{tasks}");
        let cancelled = |task: &TaskState| task.mode() == Some(FailureMode::Cancelled);
        assert!(simulation.state.tasks.iter().all(cancelled), "{tasks}");
    }
}

#[test]
fn many_tasks_are_redone_in_several_records_and_the_first_of_them_goes_with_the_last() {
    let built = MOST_AT_ONCE * 3 / 5;
    let mut simulation = Simulation::new(&fan(built), options());
    simulation.run(good);
    let decided = said_to_the_end(&mut simulation, &Fact::Redo(TaskId(0)));
    assert_eq!(decided.len(), 2);
    let root = |events: &Vec<Event>| {
        let mut tasks = events.iter();
        tasks.any(|event| matches!(event, Event::Task(TaskId(0), TaskEvent::AttemptPlanned { .. })))
    };
    assert_eq!(decided.iter().map(root).collect::<Vec<_>>(), [false, true]);
    let again = |task: &TaskState| task.status() == Status::Pending && task.attempt.number == 2;
    assert!(simulation.state.tasks.iter().all(again));
    is_up_to_date(&simulation.state);
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

/// Something that a person might say, sensible or not.
fn anything(random: &mut Random, state: &State) -> Fact {
    let task = TaskId::from_index(random.below(state.tasks.len()));
    let number = state.task(task).consent.asked.max(1);
    match random.below(8) {
        0 | 1 => says(Command::approve(task, number)),
        2 | 3 => says(Command::reject(task, number, "no")),
        4 => says(Command::CancelTask { task }),
        5 => says(Command::OverrideGate { gate: GateId(0), reason: "risk".to_owned() }),
        6 if random.chance(20) => says(Command::CancelRun),
        _ => says(Command::Pause),
    }
}

/// People say anything between the sessions of a random run, and in them.
fn survives_whatever_people_say(seed: u64) -> Result<(), TestCaseError> {
    let (yaml, options, first) = random_run(seed);
    let plan = plan_of(&yaml, &options);
    let mut random = Random(seed ^ 0xabcd);
    let cut = 1 + random.below(first.journal.len());
    let mut simulation = Simulation::recovered(plan.clone(), &first.journal[..cut]);
    for _ in 0..3 {
        // Nobody works on it.
        for _ in 0..random.below(4) {
            let input = match random.below(4) {
                0 => Fact::RetryFailed,
                1 => Fact::Redo(TaskId::from_index(random.below(plan.tasks.len()))),
                _ => anything(&mut random, &simulation.state),
            };
            simulation.say(&input);
            consistent(&simulation.state);
        }
        // Somebody does.
        simulation.todo.clear();
        simulation.resume();
        let mut steps = 0;
        let mut patience = 3;
        // What is left to do of a session that has ended is done by nobody, and said to nobody.
        while simulation.state.phase != RunPhase::Finished {
            let waits = simulation.todo.is_empty();
            if waits && patience == 0 {
                simulation.time_passes();
            }
            if simulation.todo.is_empty() && simulation.state.next_timer().is_none() {
                break;
            }
            patience = u32::saturating_sub(patience, u32::from(waits));
            if waits || random.chance(5) {
                let input = anything(&mut random, &simulation.state);
                simulation.feed(&input);
            }
            let index = random.below(simulation.todo.len().max(1));
            simulation.perform(index, &mut |_, effect| random_response(&mut random, effect));
            consistent(&simulation.state);
            steps += 1;
            prop_assert!(steps < 10_000, "the engine does not come to an end:\n{yaml}");
        }
        has_ended_well_or_says_so(&yaml, &options, &simulation.state)?;
    }
    let replayed = Simulation::recovered(plan, &simulation.journal);
    consistent(&replayed.state);
    prop_assert_eq!(statuses(&replayed.state), statuses(&simulation.state));
    for record in &simulation.journal {
        let text = serde_json::to_string(record).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Vec<Event>>(&text).unwrap(), record);
    }
    Ok(())
}

#[test]
fn what_returns_from_its_approval_leaves_the_run_if_its_verification_led_elsewhere_meanwhile() {
    survives_whatever_people_say(2_700_157_897_687_305_452).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_run_survives_whatever_people_say(seed: u64) {
        survives_whatever_people_say(seed)?;
    }
}
