//! What follows from the plan and from where tasks stand, and what may start.

use crate::domain::{BarrierId, Status, TaskId, Timestamp};
use crate::engine::prerequisite::met;
use crate::engine::state::Judging;
use crate::engine::{BarrierStage, Command, Effect, Fact, OperatorInput, Prerequisite, State, Timer, apply};

use super::simulation::consistency::is_up_to_date;
use super::simulation::{Response, Simulation, good, options};

#[test]
fn a_hold_that_is_of_this_mission_no_more_or_has_more_to_wait_for_is_ahead_again() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false}
delays: [{name: h, afterTasks: [a], blocksTasks: [b], duration: 1h}]
tasks: [{title: a}, {title: b}]
";
    let mut simulation = Simulation::new(yaml, options());
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut good);
    }
    let (state, hold, timer) =
        (&simulation.state, BarrierId(0), Timer::Expiry { of: BarrierId(0).into(), number: 1 });
    let runs = |state: &State| state.timers.iter().any(|(_, of)| of == timer);
    assert!(state.barrier(hold).hold().is_some());
    assert!(runs(state));
    let mut same = state.clone();
    same.derive();
    assert!(same.barrier(hold).hold().is_some());
    assert!(runs(&same));
    let mut waits = state.clone();
    waits.tasks[0].lifecycle = Status::Pending.into();
    let mut foreign = state.clone();
    let plan = std::sync::Arc::make_mut(&mut foreign.plan);
    std::sync::Arc::make_mut(&mut plan.barriers)[0].part = crate::plan::Part::Removed;
    for mut state in [waits, foreign] {
        state.derive();
        assert_eq!(state.barrier(hold).stage, BarrierStage::Ahead);
        assert!(!runs(&state));
    }
}

#[test]
fn two_failed_gates_halt_like_one() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false}
qualityGates:
  - {name: g, afterTasks: [a], blocksTasks: [b], minScore: 3, onFail: halt}
  - {name: h, afterTasks: [a], blocksTasks: [b], minScore: 3, onFail: halt}
tasks: [{title: a}, {title: b}]
";
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(good);
    let mut anew = simulation.state.clone();
    anew.derive();
    assert!(simulation.state.is_halted() && anew.is_halted());
}

#[test]
fn a_waiting_task_has_room_beside_others_unless_one_wants_to_be_alone() {
    let room = |exclusive: bool, slots: u32, alone: u32| {
        let yaml = format!(
            "name: m\nagents: {{w: {{run: [/bin/true]}}}}\ntasks: [{{title: a, exclusive: {exclusive}}}, {{title: b}}]\n"
        );
        let mut simulation = Simulation::new(&yaml, options());
        let state = &mut simulation.state;
        (state.sums.slots, state.sums.exclusive) = (slots, alone);
        crate::engine::decide::admits(state, TaskId(0), crate::engine::decide::Work::New)
    };
    assert!(room(false, 0, 0) && room(false, 1, 0) && room(true, 0, 0));
    assert!(!room(true, 1, 0), "it wants to be alone");
    assert!(!room(false, 1, 1), "another one does");
    assert!(!room(false, 99, 0));
}

#[test]
fn a_task_is_looked_at_while_anything_of_it_is() {
    let looked_at = |judging: Judging| {
        crate::engine::state::TaskState {
            lifecycle: crate::engine::state::Lifecycle::Review(Box::new(judging)),
            ..Default::default()
        }
        .is_looked_at()
    };
    assert!(!looked_at(Judging::default()));
    assert!(looked_at(Judging { scanning: true, ..Judging::default() }));
    assert!(looked_at(Judging { checks: vec![None], ..Judging::default() }));
    let grading = |open| Judging {
        stage: Some(crate::engine::state::OpenStage {
            key: crate::domain::StageKey::Of(crate::domain::Stage::Verification),
            round: 1,
            open,
            seat: None,
        }),
        ..Judging::default()
    };
    assert!(looked_at(grading(true)));
    assert!(!looked_at(grading(false)));
}

#[test]
fn a_session_whose_journal_was_cut_says_anew_how_it_ends() {
    let mut simulation =
        Simulation::new("name: m\nagents: {w: {run: [/bin/true]}}\ntasks: [{title: a}]\n", options());
    simulation.run(good);
    let state = &mut simulation.state;
    state.timers.set(Timer::WaitOver, Timestamp(5));
    let salvaged = crate::engine::Event::Run(crate::engine::RunEvent::Salvaged(crate::engine::Salvaged {
        by: "ada".to_owned(),
        line: 2,
        lost_bytes: 1,
        lost_records: 1,
        file: "f".to_owned(),
    }));
    apply(state, &salvaged);
    assert_eq!(state.phase, crate::engine::RunPhase::Running);
    assert_eq!(state.next_timer(), None);
}

#[test]
fn what_was_called_off_is_not_skipped_when_its_dependency_fails() {
    let yaml = "name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false, maxRetries: 0}
tasks: [{title: a}, {title: b, dependsOn: [a]}]
";
    let mut simulation = Simulation::new(yaml, options());
    while !matches!(simulation.todo.front(), Some(Effect::RunTurn { .. })) {
        simulation.perform(0, &mut good);
    }
    simulation.feed(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::CancelTask { task: TaskId(1) },
        by: "ada".to_owned(),
    })));
    simulation.perform(0, &mut |_, _| Response::AgentFailed(crate::domain::FailureClass::Unknown));
    assert_eq!(simulation.state.task(TaskId(0)).status(), Status::Failed);
    is_up_to_date(&simulation.state);
}

/// A search that began anew each time would take the square of their number.
#[test]
fn a_join_looks_at_each_of_many_tasks_once() {
    const MANY: u32 = 50_000;
    let titles: Vec<String> = (0..MANY).map(|n| format!("t{n}")).collect();
    let tasks: String = titles.iter().map(|title| format!("  - {{title: {title}}}\n")).collect();
    let needs = titles.join(", ");
    let agents = "agents: {w: {run: [/bin/true]}}";
    let yaml = format!("name: m\n{agents}\ntasks:\n{tasks}  - {{title: join, dependsOn: [{needs}]}}\n");
    let (mut state, join) = (Simulation::new(&yaml, options()).state, TaskId(MANY));
    let begin = std::time::Instant::now();
    for id in (0..MANY).map(TaskId) {
        let watched = state.queues.watchers.watched(join);
        assert_eq!(watched, Some(Prerequisite::Dependency(id)));
        state.tasks[id.index()].lifecycle = Status::Done.into();
        met(&mut state, Prerequisite::Dependency(id));
    }
    assert_eq!(state.queues.watchers.watched(join), None);
    let took = begin.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");
}
