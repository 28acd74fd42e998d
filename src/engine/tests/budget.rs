//! The budget: room before a call, what is charged, and how a session ends when nothing is left.

use std::sync::Arc;

use crate::domain::{FailureClass, Money, OutcomeClass, Status, TaskId};
use crate::engine::ledger::Room;
use crate::engine::{Ceiling, Effect, Event, RunPhase, State, outcome};
use crate::mission::RunOptions;
use crate::mission::model::Budget;

use super::random::{Random, random_answer, random_mission, random_options};
use super::simulation::{Answer, Simulation, good, options, statuses};

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// Three tasks judged by one reviewer; agents tell nothing of what they used.
fn mission(budget: &str) -> String {
    format!(
        "name: m
budget: {budget}
agents:
  w: {{run: [/bin/true], maxCostPerTurn: 0.25}}
  j: {{run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}}
tasks: [{{title: a, assignTo: w}}, {{title: b, assignTo: w}}, {{title: c, assignTo: w}}]
"
    )
}

/// Reports every process as spawned, as the world does.
fn played(yaml: &str, options: RunOptions) -> Simulation {
    let mut simulation = Simulation::new(yaml, options);
    simulation.run(good);
    simulation
}

fn alone() -> RunOptions {
    RunOptions {
        jobs: Some(1),
        ..options()
    }
}

fn limit(simulation: &Simulation) -> Option<Ceiling> {
    simulation.state.ledger.limit()
}

#[test]
fn unknown_calls_are_charged_with_the_most_that_they_may_cost() {
    // A turn and its review: 0.75 for each task.
    let simulation = played(&mission("{maxCost: 1.75}"), alone());
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    assert_eq!(simulation.state.ledger.spent().charged, money("1.75"));
    assert_eq!(
        statuses(&simulation.state),
        [Status::Done, Status::Done, Status::Review]
    );
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
    let enough = played(&mission("{maxCost: 2.25}"), alone());
    assert_eq!(outcome(&enough.state).class, OutcomeClass::Ok);
}

#[test]
fn what_is_out_finishes_and_what_is_held_waits_for_room() {
    let mut simulation = Simulation::new(&mission("{maxCost: 1}"), options());
    let turns = |simulation: &Simulation| simulation.running().len();
    while let Some(prompt) = simulation
        .todo
        .iter()
        .position(|effect| matches!(effect, Effect::PreparePrompt(_)))
    {
        simulation.perform(prompt, &mut good);
    }
    assert_eq!(turns(&simulation), 3, "three times 0.25");
    // A review of 0.5 does not fit beside them, but will.
    simulation.perform(0, &mut good);
    let held = |event: &Event| matches!(event, Event::CallHeld { .. });
    assert_eq!((simulation.count(held), limit(&simulation)), (1, None));
    simulation.run(good);
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    let spent = simulation.state.ledger.spent().charged;
    assert!(spent <= money("1"), "reserved calls never overshoot: {spent}");
    assert_eq!(simulation.state.phase, RunPhase::Finished);
}

#[test]
fn a_session_goes_on_where_the_last_one_was_stopped() {
    let yaml = mission("{maxRequests: 100}");
    let poor = RunOptions {
        max_cost: Some(money("1.75")),
        ..alone()
    };
    let mut simulation = played(&yaml, poor.clone());
    assert_eq!(statuses(&simulation.state)[2], Status::Review);
    // The review that was held is made by the next session, if it has the room.
    simulation.resume();
    while !simulation.todo.is_empty() {
        simulation.perform(0, &mut good);
    }
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    let reviews = |simulation: &Simulation| simulation.state.ledger.spent().charged;
    assert_eq!(reviews(&simulation), money("1.75"), "nothing was made");
    let rich = RunOptions {
        max_cost: Some(money("5")),
        ..poor
    };
    simulation.state.plan = super::simulation::plan_of(&yaml, &rich);
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!(reviews(&simulation), money("2.25"));
}

#[test]
fn requests_that_a_provider_refuses_cost_nothing_and_count() {
    let yaml = "name: m
budget: {maxCost: 5, maxRequests: 3}
settings: {evaluate: false, prices: {m: {input: 1, output: 1}}}
agents: {w: {adapter: ollama, model: m}}
tasks: [{title: a}]
";
    let mut simulation = Simulation::new(yaml, options());
    let refuse = |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { .. } => Answer::NeverStarted(FailureClass::RateLimited),
        effect => good(state, effect),
    };
    simulation.run(refuse);
    // The simulation never says that a process or request came to be, so none is counted.
    assert_eq!(simulation.state.ledger.spent().requests, 0);
    assert_eq!(simulation.state.ledger.spent().charged, Money::ZERO);
    assert_eq!(statuses(&simulation.state), [Status::Failed]);
}

#[test]
fn a_call_that_nobody_waits_for_leaves_its_reservation() {
    let mut simulation = Simulation::new(&mission("{maxCost: 0.6}"), options());
    let prompt = simulation
        .todo
        .iter()
        .position(|effect| matches!(effect, Effect::PreparePrompt(_)));
    simulation.perform(prompt.unwrap(), &mut good);
    let agent = simulation.state.plan.task(TaskId(0)).agent;
    let room = |simulation: &Simulation| simulation.state.ledger.room(&simulation.state.plan, agent);
    assert_eq!(room(&simulation), Room::Fits);
    simulation.feed(&super::operator::says(crate::engine::Command::CancelTask {
        task: TaskId(0),
    }));
    assert_eq!(room(&simulation), Room::Fits);
    assert!(simulation.state.ledger.nothing_open() || !simulation.running().is_empty());
}

#[test]
fn time_is_counted_over_sessions() {
    let mut simulation = Simulation::new(&mission("{maxTime: 1h}"), options());
    let clock = |simulation: &Simulation| simulation.state.ledger.time();
    let (used, since) = clock(&simulation);
    assert_eq!((used.0, since.is_some()), (0, true));
    simulation.resume();
    assert!(clock(&simulation).0.0 > 0, "the session before took some time");
    assert!(simulation.time_passes());
    assert_eq!(limit(&simulation), Some(Ceiling::Time));
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
}

#[test]
fn random_runs_keep_their_ceiling_and_go_on_without_it() {
    for seed in 0..150 {
        let mut random = Random(seed);
        let yaml =
            random_mission(&mut random).replace("{run: [/bin/true]", "{run: [/bin/true], maxCostPerTurn: 1");
        let ceiling = money(&(1 + random.below(12)).to_string());
        let bound = RunOptions {
            max_cost: Some(ceiling),
            ..random_options(&mut random, &yaml)
        };
        let mut simulation = Simulation::new(&yaml, bound);
        simulation.run(|_, effect| random_answer(&mut random, effect));
        let charged = simulation.state.ledger.spent().charged;
        assert!(charged <= ceiling, "{charged} of {ceiling}\n{yaml}");
        let stopped = limit(&simulation).is_some();
        let conditions = outcome(&simulation.state).conditions;
        assert_eq!(stopped, conditions.contains(&OutcomeClass::Limit), "{yaml}");
        if stopped {
            assert!(simulation.state.ledger.nothing_open(), "{yaml}");
            Arc::make_mut(&mut simulation.state.plan).rules.budget = Budget::default();
            simulation.resume();
            simulation.run(good);
            assert_eq!(limit(&simulation), None, "{yaml}");
        }
    }
}
