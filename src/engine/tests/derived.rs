//! What follows from the plan and from where tasks stand is made anew whatever was kept before, and what may start.

use crate::domain::{GateId, HoldId, TaskId, Timestamp};
use crate::engine::state::Judging;
use crate::engine::{HoldStage, State, Timer, apply};

use super::properties::{followed, random_run};
use super::simulation::{Simulation, good, options, plan_of};

/// Everything that is derived says something wrong.
fn soiled(state: &State) -> State {
    let mut soiled = state.clone();
    let (gates, holds) = (state.gates.len(), state.holds.len());
    soiled.gates_due = (0..gates).map(GateId::from_index).collect();
    soiled.holds_due = (0..holds).map(HoldId::from_index).collect();
    soiled.holds_reached = soiled.holds_due.clone();
    soiled.cascades_due = [(TaskId(0), TaskId(0))].into();
    soiled.approvals_due = [TaskId(0)].into();
    soiled.halted = !state.halted;
    soiled.counts.selected += 7;
    for sum in [
        &mut soiled.slots,
        &mut soiled.turns_running,
        &mut soiled.exclusive,
        &mut soiled.calls_open,
        &mut soiled.looked_at,
        &mut soiled.faulted,
        &mut soiled.approvers_asked,
    ] {
        *sum += 3;
    }
    soiled.gates.iter_mut().for_each(|gate| {
        gate.open += 5;
        gate.left = !gate.left;
    });
    soiled.holds.iter_mut().for_each(|hold| hold.open += 5);
    soiled.tasks.iter_mut().for_each(|task| {
        task.blockers += 5;
        task.not_taken = !task.not_taken;
    });
    soiled
}

#[test]
fn nothing_of_what_was_kept_before_is_left() {
    for seed in 0..15 {
        let (yaml, options, simulation) = random_run(seed);
        let mut state = State::new(plan_of(&yaml, &options));
        for record in &simulation.journal {
            record.iter().for_each(|event| apply(&mut state, event));
            let mut anew = soiled(&state);
            anew.derive();
            assert_eq!(followed(&anew), followed(&state), "{yaml}");
        }
    }
}

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
    let (state, hold, timer) = (&simulation.state, HoldId(0), Timer::Delay(HoldId(0)));
    let runs = |state: &State| state.timers.iter().any(|(_, of)| of == timer);
    assert_eq!(state.hold(hold).stage, HoldStage::Reached);
    assert!(runs(state));
    let mut same = state.clone();
    same.derive();
    assert_eq!(same.hold(hold).stage, HoldStage::Reached);
    assert!(runs(&same));
    let mut waits = state.clone();
    waits.tasks[0].status = crate::domain::Status::Pending;
    let mut foreign = state.clone();
    let plan = std::sync::Arc::make_mut(&mut foreign.plan);
    std::sync::Arc::make_mut(&mut plan.holds)[0].part = crate::mission::Part::Removed;
    for mut state in [waits, foreign] {
        state.derive();
        assert_eq!(state.hold(hold).stage, HoldStage::Ahead);
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
    assert!(simulation.state.halted && anew.halted);
}

#[test]
fn a_waiting_task_has_room_beside_others_unless_one_wants_to_be_alone() {
    let room = |exclusive: bool, slots: u32, alone: u32| {
        let yaml = format!(
            "name: m\nagents: {{w: {{run: [/bin/true]}}}}\ntasks: [{{title: a, exclusive: {exclusive}}}, {{title: b}}]\n"
        );
        let mut simulation = Simulation::new(&yaml, options());
        let state = &mut simulation.state;
        (state.slots, state.exclusive) = (slots, alone);
        state.has_room_for(TaskId(0))
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
            judging: Some(Box::new(judging)),
            ..Default::default()
        }
        .is_looked_at()
    };
    assert!(!looked_at(Judging::default()));
    assert!(looked_at(Judging {
        scanning: true,
        ..Judging::default()
    }));
    assert!(looked_at(Judging {
        checks: vec![None],
        ..Judging::default()
    }));
    let grading = |open| Judging {
        grading: Some(crate::engine::state::Grading {
            round: 1,
            open,
            unreviewed: false,
        }),
        ..Judging::default()
    };
    assert!(looked_at(grading(true)));
    assert!(!looked_at(grading(false)));
}

#[test]
fn a_session_whose_journal_was_cut_says_anew_how_it_ends() {
    let mut simulation = Simulation::new(
        "name: m\nagents: {w: {run: [/bin/true]}}\ntasks: [{title: a}]\n",
        options(),
    );
    simulation.run(good);
    let state = &mut simulation.state;
    state.timers.set(Timer::WaitOver, Timestamp(5));
    let salvaged = crate::engine::Event::Salvaged {
        by: "ada".to_owned(),
        line: 2,
        bytes: 1,
        records: 1,
        file: "f".to_owned(),
    };
    apply(state, &salvaged);
    assert_eq!(state.phase, crate::engine::RunPhase::Running);
    assert_eq!(state.next_timer(), None);
}
