//! The budget: room before a call, what is charged, and how a session ends when nothing is left.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::domain::{FailureClass, Money, OutcomeClass, Purpose, Status, TaskId, TurnId};
use crate::engine::ledger::CallAdmission;
use crate::engine::{
    AskEvent, BudgetEvent, Ceiling, Effect, Event, Fact, RunEvent, RunPhase, State, TurnEvent, Usage,
    may_be_made, outcome,
};
use crate::engine::{AskReply, WorkId};
use crate::mission::model::Budget;
use crate::plan::RunOptions;

use super::simulation::random::{Random, random_mission, random_options, random_response};
use super::simulation::{Response, Simulation, good, inputs, options, statuses};

fn money(text: &str) -> Money {
    text.parse().unwrap()
}

/// Three tasks judged by one reviewer; agents tell nothing of what they used, and nothing is kept for judging.
fn mission(budget: &str) -> String {
    shared(&budget.replace('}', ", reserveForJudging: 0}"))
}

fn shared(budget: &str) -> String {
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
    RunOptions { jobs: Some(1), ..options() }
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
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done, Status::Review]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
    let enough = played(&mission("{maxCost: 2.25}"), alone());
    assert_eq!(outcome(&enough.state).class, OutcomeClass::Ok);
}

#[test]
fn what_is_out_finishes_and_what_is_held_waits_for_room() {
    let mut simulation = Simulation::new(&mission("{maxCost: 1}"), options());
    let turns = |simulation: &Simulation| simulation.running().len();
    while let Some(prompt) =
        simulation.todo.iter().position(|effect| matches!(effect, Effect::PreparePrompt(_)))
    {
        simulation.perform(prompt, &mut good);
    }
    assert_eq!(turns(&simulation), 3, "three times 0.25");
    // A review of 0.5 does not fit beside them, but will.
    simulation.perform(0, &mut good);
    let held = |event: &Event| matches!(event, Event::Budget(BudgetEvent::Held { released: false, .. }));
    assert_eq!((simulation.count(held), limit(&simulation)), (1, None));
    simulation.run(good);
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    let spent = simulation.state.ledger.spent().charged;
    assert!(spent <= money("1"), "reserved calls never overshoot: {spent}");
    assert_eq!(simulation.state.phase, RunPhase::Finished);
}

#[test]
fn what_is_kept_for_judging_is_used_for_nothing_else() {
    // Two turns and their reviews come to 1.5; a third turn would leave less than is kept.
    let mut simulation = played(&shared("{maxCost: 1.75, reserveForJudging: 0.1}"), alone());
    assert_eq!(limit(&simulation), Some(Ceiling::WorkCost));
    let done = [Status::Done, Status::Done, Status::Pending];
    assert_eq!(statuses(&simulation.state), done);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
    // A later session keeps it too.
    simulation.resume();
    simulation.run(good);
    assert_eq!(limit(&simulation), Some(Ceiling::WorkCost));
    assert_eq!(statuses(&simulation.state), done);
    // Judges use all of it, and then nobody has anything.
    let simulation = played(&shared("{maxCost: 1.2, reserveForJudging: 0.1}"), options());
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    let reached = |ceiling| move |event: &Event| *event == Event::Budget(BudgetEvent::Exhausted { ceiling });
    assert_eq!(simulation.count(reached(Ceiling::WorkCost)), 0);
}

#[test]
fn a_session_goes_on_where_the_last_one_was_stopped() {
    let yaml = mission("{maxRequests: 100}");
    let poor = RunOptions { max_cost: Some(money("1.75")), ..alone() };
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
    let rich = RunOptions { max_cost: Some(money("5")), ..poor };
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
        Effect::RunTurn { .. } => Response::NeverStarted(FailureClass::RateLimited),
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
    let prompt = simulation.todo.iter().position(|effect| matches!(effect, Effect::PreparePrompt(_)));
    simulation.perform(prompt.unwrap(), &mut good);
    let agent = simulation.state.plan.task(TaskId(0)).agent;
    let room = |simulation: &Simulation| simulation.state.ledger.room(&simulation.state.plan, agent, false);
    assert_eq!(room(&simulation), CallAdmission::Admitted);
    simulation.feed(&super::operator::says(crate::engine::Command::CancelTask { task: TaskId(0) }));
    assert_eq!(room(&simulation), CallAdmission::Admitted);
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

/// That the ledger has the calls that tasks wait for, and no others.
fn is_balanced(state: &State, yaml: &str) {
    let known = state.ledger.known();
    let ids = || state.plan.every_task_id();
    let asked: BTreeSet<WorkId> =
        ids().flat_map(|id| state.task(id).calls_out()).map(|(call, _)| call).collect();
    let running: BTreeSet<WorkId> = ids()
        .filter(|id| state.task(*id).work.turn.is_some())
        .map(|id| WorkId::turn(state.current_turn(id)))
        .collect();
    let wanted: BTreeSet<WorkId> = asked.union(&running).copied().collect();
    assert!(known.is_superset(&wanted), "{known:?} and not {wanted:?}\n{yaml}");
    // A turn may be held before it begins.
    for call in known.difference(&wanted) {
        let task = state.task(call.task);
        let comes = WorkId::turn(TurnId { turn: task.attempt.turn + 1, ..state.current_turn(call.task) });
        let waits =
            matches!(task.status(), Status::Assigned | Status::InProgress) && task.work.turn.is_none();
        assert!(*call == comes && state.ledger.is_held(*call) && waits, "{call:?} is for nothing\n{yaml}");
    }
}

#[test]
fn the_ledger_has_the_calls_that_are_waited_for_and_no_others() {
    for seed in 0..25 {
        let mut random = Random(seed);
        let mission = random_mission(&mut random);
        let yaml = format!("budget: {{maxRequests: {}}}\n{mission}", 4 + random.below(30));
        let bound = random_options(&mut random, &yaml);
        let mut simulation = Simulation::new(&yaml, bound.clone());
        let crash = random.below(40);
        let mut steps = 0;
        while !simulation.todo.is_empty() || simulation.time_passes() {
            if simulation.state.phase != RunPhase::Running {
                break;
            }
            is_balanced(&simulation.state, &yaml);
            if steps == crash {
                let plan = super::simulation::plan_of(&yaml, &bound);
                simulation = Simulation::recovered(plan, &simulation.journal);
                simulation.resume();
                assert_eq!(limit(&simulation), None);
            } else {
                let index = random.below(simulation.todo.len().max(1));
                simulation.perform(index, &mut |_, effect| random_response(&mut random, effect));
            }
            steps += 1;
        }
    }
}

#[test]
fn random_runs_keep_their_ceiling_and_go_on_without_it() {
    for seed in 0..150 {
        let mut random = Random(seed);
        let yaml =
            random_mission(&mut random).replace("{run: [/bin/true]", "{run: [/bin/true], maxCostPerTurn: 1");
        let ceiling = money(&(1 + random.below(12)).to_string());
        let bound = RunOptions { max_cost: Some(ceiling), ..random_options(&mut random, &yaml) };
        let mut simulation = Simulation::new(&yaml, bound);
        simulation.run(|_, effect| random_response(&mut random, effect));
        let charged = simulation.state.ledger.spent().charged;
        assert!(charged <= ceiling, "{charged} of {ceiling}\n{yaml}");
        let stopped = limit(&simulation).is_some();
        let conditions = outcome(&simulation.state).conditions;
        let waits = simulation.state.resumable_at().is_some();
        assert!(stopped == conditions.contains(&OutcomeClass::Limit) || waits, "{yaml}");
        if stopped {
            assert!(simulation.state.ledger.nothing_open(), "{yaml}");
            Arc::make_mut(&mut simulation.state.plan).rules.budget = Budget::default();
            simulation.resume();
            simulation.run(good);
            assert_eq!(limit(&simulation), None, "{yaml}");
        }
    }
}

/// Reports what calls used: of each effect whose name begins so, this much, by this model.
fn told(yaml: &str, options: RunOptions, usage: Usage, model: Option<&str>, resumes: usize) -> Simulation {
    let mut simulation = Simulation::new(yaml, options);
    for session in 0..=resumes {
        if session > 0 {
            simulation.resume();
        }
        while let Some(effect) = simulation.todo.pop_front() {
            if let Effect::PreparePrompt(_) = effect {
                simulation.todo.push_front(effect);
                simulation.perform(0, &mut good);
                continue;
            }
            if !may_be_made(&simulation.state, &effect) {
                continue;
            }
            let answer = good(&simulation.state, &effect);
            for mut input in inputs(&simulation.state, &effect, &answer) {
                match &mut input {
                    Fact::TurnEnded(end) => {
                        end.usage = usage;
                        end.model = model.map(str::to_owned);
                    }
                    Fact::AskReplied(AskReply { reply, .. }) => {
                        reply.usage = usage;
                        reply.model = model.map(str::to_owned);
                    }
                    _ => {}
                }
                simulation.feed(&input);
            }
        }
    }
    simulation
}

/// What the calls of a run cost, in the order of their ends.
fn costs(simulation: &Simulation) -> Vec<Option<Money>> {
    let events = simulation.journal.iter().flatten();
    let costs = events.filter_map(|event| match event {
        Event::Turn(_, TurnEvent::Finished(end)) => Some(end.usage.cost),
        Event::Ask(_, AskEvent::Replied(AskReply { reply, .. })) => Some(reply.usage.cost),
        _ => None,
    });
    costs.collect()
}

#[test]
fn a_call_costs_what_the_model_that_served_it_costs() {
    let yaml = "name: m
settings: {prices: {small: {input: 1, output: 2}, big: {input: 10, output: 20}}}
agents:
  w: {adapter: ollama, model: small}
  j: {adapter: ollama, model: big, role: reviewer}
  g: {adapter: ollama, model: big}
tasks:
  - title: a
    assignTo: w
    verification: {rubric: default-task}
";
    let usage = |cost: Option<&str>| Usage {
        input_tokens: Some(1_000_000),
        output_tokens: Some(500_000),
        cost: cost.map(money),
    };
    let costs = |yaml: &str, usage, model| costs(&told(yaml, options(), usage, model, 0))[..3].to_vec();
    let all = |texts: [&str; 3]| texts.map(|text| Some(money(text))).to_vec();
    // The turn, its evaluation, its grades by the rubric.
    assert_eq!(costs(yaml, usage(None), None), all(["2", "20", "20"]));
    assert_eq!(costs(yaml, usage(None), Some("small")), all(["2", "2", "2"]));
    assert_eq!(
        costs(yaml, usage(None), Some("small-2024")),
        all(["2", "20", "20"]),
        "a version that no table has"
    );
    assert_eq!(costs(yaml, usage(Some("7")), None), all(["7", "7", "7"]), "what is told is not reckoned");
    let none = Usage::default();
    assert_eq!(costs(yaml, none, None), [None, None, None]);
    let echo = yaml.replace("w: {adapter: ollama, model: small}", "w: {adapter: echo}");
    assert_eq!(costs(&echo, none, None)[0], Some(Money::ZERO));
}

#[test]
fn calls_without_room_are_made_once_there_is_some() {
    let cheap = Usage { input_tokens: Some(1), output_tokens: Some(1), cost: Some(money("0.01")) };
    let rubric = |yaml: String| {
        yaml.replace("assignTo: w}", "assignTo: w, review: none, verification: {rubric: default-task}}")
    };
    for yaml in [mission("{maxCost: 1}"), rubric(mission("{maxCost: 1}"))] {
        let simulation = told(&yaml, options(), cheap, None, 0);
        let held = simulation
            .count(|event| matches!(event, Event::Budget(BudgetEvent::Held { released: false, .. })));
        let released = simulation
            .count(|event| matches!(event, Event::Budget(BudgetEvent::Held { released: true, .. })));
        assert!(held > 0, "{yaml}");
        assert_eq!(held, released);
        let asked = simulation.count(|event| matches!(event, Event::Ask(_, AskEvent::Replied(_))));
        assert!(asked >= 3, "everybody was asked: {asked}");
        assert_eq!(limit(&simulation), None);
    }
}

/// Whether each session told at most once that nothing is left.
fn limits_by_session(simulation: &Simulation) -> Vec<usize> {
    let mut sessions = Vec::new();
    for event in simulation.journal.iter().flatten() {
        match event {
            Event::Run(RunEvent::Started(_) | RunEvent::Resumed(_)) => sessions.push(0),
            Event::Budget(BudgetEvent::Exhausted { .. }) => *sessions.last_mut().unwrap() += 1,
            _ => {}
        }
    }
    sessions
}

#[test]
fn that_nothing_is_left_is_told_once_a_session() {
    let four = mission("{maxCost: 1.5}")
        .replace("title: c, assignTo: w}", "title: c, assignTo: w}, {title: d, assignTo: w}");
    let told = told(&four, options(), Usage::default(), None, 2);
    assert_eq!(limits_by_session(&told), [1, 1, 1]);
    // Two turns and a review took 1.00; the third turn's quarter left a quarter, and a review costs a half.
    assert_eq!(told.state.ledger.spent().charged, money("1.25"));
}

#[test]
fn a_later_session_makes_the_calls_for_which_there_is_room() {
    let resumed = |ceiling: &str| {
        let four = mission(&format!("{{maxCost: {ceiling}}}"))
            .replace("title: c, assignTo: w}", "title: c, assignTo: w}, {title: d, assignTo: w}");
        let wide = RunOptions { jobs: Some(4), ..options() };
        let mut simulation = Simulation::new(&four, wide);
        while let Some(at) = simulation
            .todo
            .iter()
            .position(|effect| matches!(effect, Effect::PreparePrompt(_) | Effect::RunTurn { .. }))
        {
            simulation.perform(at, &mut good);
        }
        // Reviews were asked for and none was made: the runner dies.
        simulation.todo.clear();
        simulation.resume();
        let mut journal = simulation.journal.iter();
        let last = journal.rfind(|record| matches!(record.first(), Some(Event::Run(RunEvent::Resumed(_)))));
        let held = last.unwrap().iter().filter_map(|event| match event {
            Event::Budget(BudgetEvent::Held { call, released: false, .. }) => Some(call.task.0),
            _ => None,
        });
        let held: Vec<u32> = held.collect();
        let asked = simulation.todo.iter();
        let asked = asked.filter(|effect| matches!(effect, Effect::Ask { purpose: Purpose::Score(_), .. }));
        let made = asked.filter(|effect| may_be_made(&simulation.state, effect)).count();
        let charged = simulation.state.ledger.spent().charged;
        (charged, limit(&simulation), held, made)
    };
    for ceiling in ["1.5", "2", "2.5", "3"] {
        let nobody = (money(ceiling), Some(Ceiling::Cost), vec![0, 1, 2, 3], 0);
        assert_eq!(resumed(ceiling), nobody);
    }
    assert_eq!(resumed("4"), (money("3"), None, vec![2, 3], 2));
    assert_eq!(resumed("5"), (money("3"), None, vec![], 4));
}

#[test]
fn time_that_is_used_up_ends_a_session_as_it_begins() {
    let until = |simulation: &Simulation| {
        let events = simulation.journal.iter().flatten();
        let clocks = events.filter_map(|event| match event {
            Event::Budget(BudgetEvent::Clock { since, used, until }) => Some((since.0, used.0, until.0)),
            _ => None,
        });
        clocks.collect::<Vec<_>>()
    };
    let mut simulation = Simulation::new(&mission("{maxTime: 20}"), options());
    simulation.resume();
    let clocks = until(&simulation);
    let (since, used, end) = clocks[1];
    assert_eq!(clocks[0].2, clocks[0].0 + 20);
    assert_eq!(end, since + 20 - used.min(20));
    // Exactly all of it is used up.
    let all = format!("{{maxTime: {used}}}");
    let mut simulation = Simulation::new(&mission(&all), options());
    simulation.resume();
    assert_eq!(until(&simulation)[1].1, used);
    assert_eq!(limits_by_session(&simulation), [0, 1]);
    let more = format!("{{maxTime: {}}}", used + 1);
    let mut simulation = Simulation::new(&mission(&more), options());
    simulation.resume();
    assert_eq!(limits_by_session(&simulation), [0, 0]);
}

#[test]
fn where_there_is_no_room_for_any_turn_that_is_said_and_none_is_started() {
    let simulation = played(&mission("{maxCost: 0.2}"), options());
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    assert_eq!(limits_by_session(&simulation), [1]);
    assert!(simulation.turns.is_empty());
    assert_eq!(statuses(&simulation.state), [Status::Pending; 3]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Limit);
}

#[test]
fn what_a_person_agreed_to_waits_for_room_too() {
    // Two turns fit. The third was agreed to while they are out, and gets no prompt that would be asked for first.
    let yaml = "name: m
budget: {maxCost: 0.5}
settings: {evaluate: false, concurrency: 3}
agents: {w: {run: [/bin/true], input: none, maxCostPerTurn: 0.25}}
tasks: [{title: a}, {title: b}, {title: c, requiresApproval: true}]
";
    let mut simulation = Simulation::new(yaml, options());
    assert_eq!(simulation.running().len(), 2);
    simulation.feed(&super::operator::says(crate::engine::Command::approve(TaskId(2), 1)));
    assert_eq!(simulation.running().len(), 2);
    simulation.run(good);
    assert_eq!(limit(&simulation), Some(Ceiling::Cost));
    assert_eq!(simulation.state.ledger.spent().charged, money("0.5"));
}

/// Until the first of what is to be done is such an effect.
fn until(simulation: &mut Simulation, wanted: impl Fn(&Effect) -> bool) {
    while !simulation.todo.front().is_some_and(&wanted) {
        assert!(!simulation.todo.is_empty());
        simulation.perform(0, &mut good);
    }
}

#[test]
fn a_verification_begins_though_its_worker_would_have_to_wait() {
    let yaml = "name: m
budget: {maxCost: 1}
agents: {w: {run: [/bin/true], maxCostPerTurn: 1}, free: {adapter: echo}}
settings: {evaluate: false}
tasks:
  - {title: long, assignTo: w, priority: 9}
  - {title: base, assignTo: free}
  - {title: verify, assignTo: w, type: verification, dependsOn: [base], acceptance: [c], verification: {grader: heuristic}, onPass: p, onFail: p, onRefer: p}
  - {title: p, assignTo: free, dependsOn: [long]}
";
    let mut simulation = Simulation::new(yaml, options());
    let is_long = |effect: &Effect| matches!(effect, Effect::RunTurn { turn, .. } if turn.task == TaskId(0));
    while let Some(next) = simulation.todo.iter().position(|effect| !is_long(effect)) {
        simulation.perform(next, &mut good);
    }
    let worker = simulation.state.plan.task(TaskId(2)).agent;
    let room = simulation.state.ledger.room(&simulation.state.plan, worker, false);
    assert_eq!((room, simulation.todo.len()), (CallAdmission::Wait, 1));
    assert_eq!(simulation.state.task(TaskId(2)).status(), Status::Done);
}

#[test]
fn who_gets_room_is_asked_and_nobody_else_again() {
    // Two of three are out; one of them turns out cheap.
    let yaml = "name: m
budget: {maxCost: 1.2}
agents:
  w: {adapter: echo}
  i: {run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}
  j: {run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}
  k: {run: [/bin/true], role: reviewer, maxCostPerTurn: 0.5}
tasks: [{title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [i, j, k]}]}]
";
    let mut simulation = Simulation::new(yaml, options());
    until(&mut simulation, |effect| matches!(effect, Effect::Ask { purpose: Purpose::Score(_), .. }));
    let made = |effect: &&Effect| may_be_made(&simulation.state, effect);
    assert_eq!(simulation.todo.iter().filter(made).count(), 2, "the third has no room");
    let first = simulation.todo.pop_front().unwrap();
    let before = simulation.todo.len();
    for mut input in inputs(&simulation.state, &first, &Response::Score(90)) {
        if let Fact::AskReplied(AskReply { reply, .. }) = &mut input {
            reply.usage.cost = Some(money("0.01"));
        }
        simulation.feed(&input);
    }
    let asked: Vec<u32> = simulation
        .todo
        .iter()
        .skip(before)
        .map(|effect| match effect {
            Effect::Ask { purpose: Purpose::Score(seat), .. } => seat.seat,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(asked, [2]);
}

#[test]
fn a_turn_that_is_ready_when_nothing_is_left_says_nothing_more() {
    let yaml = "name: m
budget: {maxTokens: 10}
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true], role: reviewer}}
settings: {concurrency: 3}
tasks: [{title: a, assignTo: w}, {title: b, assignTo: w}, {title: c, assignTo: w}]
";
    let mut simulation = Simulation::new(yaml, options());
    // Two turns are out, and the prompt of a third is being written.
    let is_turn = |effect: &Effect| matches!(effect, Effect::RunTurn { .. });
    while simulation.todo.iter().filter(|effect| is_turn(effect)).count() < 2 {
        let next = simulation.todo.iter().position(|effect| !is_turn(effect));
        simulation.perform(next.unwrap(), &mut good);
    }
    let ready = simulation.todo.iter().position(|effect| !is_turn(effect));
    let ready = simulation.todo.remove(ready.unwrap()).unwrap();
    let turn = simulation.todo.pop_front().unwrap();
    for mut input in inputs(&simulation.state, &turn, &Response::Finished) {
        if let Fact::TurnEnded(end) = &mut input {
            (end.usage.input_tokens, end.usage.output_tokens) = (Some(9), Some(9));
        }
        simulation.feed(&input);
    }
    assert_eq!(limit(&simulation), Some(Ceiling::Tokens));
    assert_eq!(simulation.state.phase, RunPhase::Running);
    simulation.todo.push_front(ready);
    simulation.perform(0, &mut good);
    let told = simulation.count(|event| matches!(event, Event::Budget(BudgetEvent::Exhausted { .. })));
    assert_eq!(told, 1);
}
