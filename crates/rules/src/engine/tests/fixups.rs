//! Fixups: what they are made from, who waits for them, and what their end means.

use crate::domain::{
    AttemptKind, FailureMode, OutcomeClass, Purpose, QualityFlag, Status, TaskId, TurnId, WaitingReason,
};
use crate::engine::{
    Command, Effect, Event, Fact, Job, OperatorInput, RunEvent, State, StopCause, TaskEvent, apply, outcome,
};
use crate::plan::{Origin, Part};

use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

const BASE: TaskId = TaskId(0);
const BROKEN: TaskId = TaskId(1);
const AFTER: TaskId = TaskId(2);
const BEHIND: TaskId = TaskId(3);
const FIXUP: TaskId = TaskId(4);

const MISSION: &str = "name: m
onExhausted: fixup
settings: {maxFixAttempts: 0, maxRetries: 1}
agents:
  w: {run: [/bin/true]}
tasks:
  - {title: base, assignTo: w, review: none}
  - title: broken
    assignTo: w
    dependsOn: [base]
    description: Do it well.
    type: implement
    priority: 3
    expectations: [{type: test, command: x}]
  - {title: after, assignTo: w, dependsOn: [broken], review: none}
  - {title: behind, assignTo: w, review: none}
qualityGates: [{name: g, afterTasks: [broken], blocksTasks: [behind], requireAllPassed: true}]
";

/// Checks of the broken task fail; those of its fixup as the script says.
fn script(fixup_passes: bool) -> impl FnMut(&State, &Effect) -> Response + Clone {
    move |state, effect| match effect {
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } if *task == BROKEN => {
            Response::Check(false)
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) }
            if state.plan.mended_by(*task) == Some(BROKEN) =>
        {
            Response::Check(fixup_passes)
        }
        _ => good(state, effect),
    }
}

fn run(yaml: &str, fixup_passes: bool) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script(fixup_passes));
    simulation
}

fn order(simulation: &Simulation) -> Vec<u32> {
    simulation.turns.iter().map(|turn| turn.task.0).collect()
}

#[test]
fn a_clean_fixup_supersedes_its_original() {
    let simulation = run(MISSION, true);
    let state = &simulation.state;
    let plan = state.plan.task(FIXUP);
    assert_eq!(&*plan.title, "broken (fixup)");
    assert_eq!(plan.description.as_deref(), Some("Do it well."));
    assert_eq!((plan.kind, plan.priority), (state.plan.task(BROKEN).kind, 3.into()));
    assert_eq!(plan.checks(), state.plan.task(BROKEN).checks());
    assert_eq!(plan.wave, state.plan.task(BROKEN).wave + 1);
    assert_eq!(state.plan.dependencies.of(FIXUP), [BASE]);
    let feedback: Vec<u32> = state.task(FIXUP).feedback.iter().map(|f| f.attempt).collect();
    assert_eq!(feedback, [1, 2], "it knows what was found about both attempts");

    assert_eq!(order(&simulation)[..4], [0, 1, 1, 4], "dependents and gates wait");
    assert!(state.task(BROKEN).is_superseded());
    assert_eq!(state.task(BROKEN).status(), Status::Failed);
    assert_eq!(state.effective_task(BROKEN), FIXUP);
    let counts = state.sums.counts;
    assert_eq!((counts.selected, counts.done, counts.failed, counts.superseded), (5, 4, 0, 1));
    assert!(!state.is_unfinished());
    assert_eq!(outcome(state).class, OutcomeClass::Ok);
    assert!(state.gates[0].is_open(), "{:?}", state.gates[0]);
    let superseded = Event::Task(BROKEN, TaskEvent::Superseded { by: FIXUP });
    assert_eq!(simulation.count(|event| *event == superseded), 1);
}

#[test]
fn a_failure_is_made_up_for_once() {
    let mut state = run(MISSION, true).state;
    let superseded = Event::Task(BROKEN, TaskEvent::Superseded { by: FIXUP });
    let counted = |state: &State| (state.sums.counts.failed, state.sums.counts.superseded);
    apply(&mut state, &superseded);
    assert_eq!(counted(&state), (0, 1));
    // Two such tasks: one begins anew, the other stays.
    state.sums.counts.superseded = 2;
    let pending = Event::Task(
        BROKEN,
        TaskEvent::Transition {
            from: Status::Failed,
            to: Status::Pending,
            phase: None,
            mode: None,
            flag: None,
            reason: None,
        },
    );
    apply(&mut state, &pending);
    assert_eq!(state.sums.counts.superseded, 1);
}

#[test]
fn a_fixup_that_fails_leaves_everything_as_it_would_be_without_it() {
    let simulation = run(MISSION, false);
    let state = &simulation.state;
    let modes: Vec<_> = state.tasks.iter().map(|task| task.mode()).collect();
    let quality = Some(FailureMode::Quality);
    assert_eq!(modes, [None, quality, Some(FailureMode::Cascade), None, quality]);
    assert_eq!((state.sums.counts.failed, state.sums.counts.superseded), (3, 0));
    assert!(state.gates[0].has_failed());
    assert_eq!(outcome(state).class, OutcomeClass::TaskFailed);
    let made = simulation.count(|event| matches!(event, Event::Run(RunEvent::TasksAdded(_))));
    assert_eq!(made, 1, "a fixup gets none itself");
}

#[test]
fn done_is_not_enough_where_it_is_not_clean() {
    // Reviews are switched off before the fixup is judged: nobody can say that it is good.
    let yaml = MISSION.replace("[{type: test, command: x}]", "[{type: llm_review, criteria: c}]");
    let yaml = yaml.replace("agents:\n", "agents:\n  j: {run: [/bin/true], role: reviewer}\n");
    let mut simulation = Simulation::new(&yaml, options());
    let bad = |state: &State, effect: &Effect| match effect {
        Effect::Ask { purpose: Purpose::Score(_), .. } => Response::Score(20),
        _ => good(state, effect),
    };
    while simulation.state.tasks.len() == 4 {
        simulation.perform(0, &mut |state, effect| bad(state, effect));
    }
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    simulation.run(bad);
    let mut off = options();
    off.no_eval = true;
    let mut again = Simulation::recovered(plan_of(&yaml, &off), &simulation.journal);
    again.resume();
    again.run(good);
    let state = &again.state;
    assert_eq!(
        (state.task(FIXUP).status(), state.task(FIXUP).flag()),
        (Status::Done, Some(QualityFlag::Unreviewed))
    );
    assert!(!state.task(BROKEN).is_superseded());
    assert_eq!(state.task(AFTER).mode(), Some(FailureMode::Cascade));
    assert_eq!(outcome(state).class, OutcomeClass::TaskFailed);
}

#[test]
fn a_task_may_have_a_fixup_though_everything_else_says_accept() {
    let yaml = MISSION.replace("onExhausted: fixup\n", "onExhausted: accept\n");
    let yaml = yaml.replace("type: implement", "onExhausted: fixup");
    let simulation = run(&yaml, true);
    assert!(simulation.state.task(BROKEN).is_superseded());
}

#[test]
fn there_is_none_for_an_agent_that_failed() {
    let mut simulation = Simulation::new(MISSION, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == BROKEN => {
            Response::AgentFailed(crate::domain::FailureClass::Unknown)
        }
        _ => good(state, effect),
    });
    assert_eq!(simulation.state.tasks.len(), 4);
    assert_eq!(simulation.state.task(BROKEN).mode(), Some(FailureMode::Error));
}

#[test]
fn there_is_none_for_work_that_could_never_be_clean() {
    let yaml = MISSION.replace(
        "review: none}\n  - title",
        "expectations: [{type: test, command: y}], targetFiles: [a]}\n  - title",
    );
    let yaml = yaml.replace("settings: {", "settings: {onDependencyFailed: [artifacts], ");
    let yaml = yaml.replacen("onExhausted: fixup\n", "", 1).replace("type: implement", "onExhausted: fixup");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => good(state, effect),
    });
    assert_eq!(simulation.state.task(BROKEN).mode(), Some(FailureMode::Quality));
    assert_eq!(simulation.state.tasks.len(), 4, "it was built on half of what it needs");
}

/// Why the tasks failed, in the order in which they did.
fn reasons(simulation: &Simulation) -> Vec<String> {
    let events = simulation.journal.iter().flatten();
    let failed = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::Transition { to: Status::Failed, reason, .. }) => reason.clone(),
        _ => None,
    });
    failed.collect()
}

#[test]
fn whoever_reads_that_work_failed_reads_whether_a_fixup_follows() {
    let whole = run(MISSION, true);
    assert_eq!(reasons(&whole), ["a check failed; all 2 attempts are used; a fixup follows"]);
    // Built on half of what it needs, it could never be clean: none follows, and none is announced.
    let yaml = MISSION
        .replace(
            "review: none}\n  - title",
            "expectations: [{type: test, command: y}], onExhausted: fail, targetFiles: [a]}\n  - title",
        )
        .replace("settings: {", "settings: {onDependencyFailed: [artifacts], ");
    let mut half = Simulation::new(&yaml, options());
    half.run(|state, effect| match effect {
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => good(state, effect),
    });
    let found = reasons(&half);
    assert!(found.len() > 1 && found.iter().all(|reason| !reason.contains("a fixup follows")), "{found:?}");
}

/// The tasks that fixups became, in order: id and title.
fn made(simulation: &Simulation) -> Vec<(u32, String)> {
    let events = simulation.journal.iter().flatten();
    let made = events.filter_map(|event| match event {
        Event::Run(RunEvent::TasksAdded(addition)) if addition.origin == Origin::Fixup => {
            Some((addition.tasks[0].id.0, addition.tasks[0].title.to_string()))
        }
        _ => None,
    });
    made.collect()
}

#[test]
fn a_title_that_is_taken_is_left_to_whom_it_belongs() {
    let taken = "  - {title: broken (fixup), assignTo: w, review: none}\nqualityGates";
    let yaml = MISSION.replace("qualityGates", taken);
    let next = |id| [(id, "broken (fixup 2)".to_owned())];
    assert_eq!(made(&run(&yaml, true)), next(5));
    // One that the mission had, and has no more, is not taken over either.
    let mut changed = Simulation::new(&yaml, options());
    assert!(changed.say(&Fact::ChangeMission {
        number: 2,
        from: crate::domain::Digest::of(b"old"),
        to: crate::domain::Digest::of(b"new"),
        mission: Some(plan_of(MISSION, &options())),
    }));
    changed.run(script(true));
    assert_eq!(made(&changed), next(5));
    assert_eq!(changed.state.plan.task(FIXUP).part, Part::Removed);
    // Nor one that the same task handed down when it was done for the first time.
    let yaml = MISSION.replace("agents:\n", "agents:\n  o: {run: [/bin/true]}\n");
    let list = serde_json::json!([{"title": "broken (fixup)", "assignTo": "o"}]);
    let sub_tasks = crate::plan::read_delegations(&list).0;
    let mut again = Simulation::new(&yaml, options());
    again.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == BROKEN => Response::HandsDown(sub_tasks.clone()),
        _ => good(state, effect),
    });
    assert_eq!(again.state.tasks.len(), 5);
    assert!(again.say(&Fact::Redo(BROKEN)));
    again.resume();
    again.run(script(true));
    assert_eq!(made(&again), next(5));
}

#[test]
fn what_may_have_acted_does_not_act_again_through_a_fixup() {
    let yaml = MISSION.replace("type: implement", "sideEffects: true\n    maxAttempts: 1");
    let mut simulation = run(&yaml, true);
    let waits = |simulation: &Simulation| {
        let waiting = simulation.state.task(FIXUP).hold();
        waiting.map(|waiting| waiting.reason)
    };
    assert_eq!(waits(&simulation), Some(WaitingReason::SideEffects));
    assert_eq!(order(&simulation), [0, 1]);
    assert_eq!(simulation.state.task(AFTER).status(), Status::Pending, "it is not decided yet");
    simulation.say(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::approve(FIXUP, 1),
        by: "ada".to_owned(),
    })));
    simulation.resume();
    simulation.run(script(true));
    assert_eq!(order(&simulation)[2], FIXUP.0);
    assert!(simulation.state.task(BROKEN).is_superseded());
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn every_prefix_goes_on_to_the_same_end() {
    for passes in [true, false] {
        let whole = run(MISSION, passes);
        let plan = plan_of(MISSION, &options());
        for length in 1..=whole.journal.len() {
            let mut again = Simulation::recovered(plan.clone(), &whole.journal[..length]);
            again.resume();
            again.run(script(passes));
            let state = &again.state;
            assert_eq!(statuses(state), statuses(&whole.state), "after {length} records");
            assert_eq!(state.sums.counts, whole.state.sums.counts, "after {length} records");
            assert_eq!(outcome(state).class, outcome(&whole.state).class);
        }
    }
}

#[test]
fn failed_work_that_is_tried_again_takes_its_fixup_back() {
    let mut simulation = run(MISSION, false);
    assert!(simulation.say(&Fact::RetryFailed));
    let state = &simulation.state;
    assert_eq!(state.plan.task(FIXUP).part, Part::Removed);
    assert_eq!(state.sums.counts.selected, 4);
    assert_eq!(state.task(BROKEN).status(), Status::Pending);
    simulation.resume();
    simulation.run(good);
    let state = &simulation.state;
    assert_eq!((state.sums.counts.done, state.sums.counts.failed, state.sums.counts.superseded), (4, 0, 0));
    assert_eq!(outcome(state).class, OutcomeClass::Ok);

    // And it gets one again, under the same name, if it is not good enough again.
    let mut simulation = run(MISSION, false);
    simulation.say(&Fact::RetryFailed);
    simulation.resume();
    simulation.run(script(true));
    let state = &simulation.state;
    assert_eq!(state.tasks.len(), 5);
    assert_eq!(state.plan.task(FIXUP).part, Part::Selected);
    assert_eq!(state.plan.task(FIXUP).provenance.as_ref().unwrap().origin, Origin::Fixup);
    assert!(state.task(BROKEN).is_superseded());
    assert_eq!(outcome(state).class, OutcomeClass::Ok);
}

#[test]
fn an_open_fixup_is_not_disturbed_by_trying_failed_work_again() {
    let mut simulation = Simulation::new(MISSION, options());
    while simulation.state.tasks.len() == 4 {
        simulation.perform(0, &mut script(true));
    }
    simulation.feed(&Fact::Stop(StopCause::Interrupted));
    simulation.run(script(true));
    assert_eq!(simulation.state.open_fixup(BROKEN), Some(FIXUP));
    assert!(simulation.state.is_unfinished());
    assert!(!simulation.say(&Fact::RetryFailed));
    simulation.resume();
    simulation.run(script(true));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn a_fixup_that_is_redone_takes_along_what_was_built_on_it() {
    let mut simulation = run(MISSION, true);
    assert!(simulation.say(&Fact::Redo(FIXUP)));
    let state = &simulation.state;
    for id in [FIXUP, AFTER, BEHIND] {
        assert_eq!(state.task(id).status(), Status::Pending, "{id:?}");
    }
    assert_eq!((state.task(BROKEN).status(), state.task(BROKEN).is_superseded()), (Status::Failed, false));
    assert_eq!(state.gates[0].result, None);
    assert_eq!(state.sums.counts.failed, 1);
    simulation.resume();
    simulation.run(script(true));
    let state = &simulation.state;
    assert_eq!((state.sums.counts.done, state.sums.counts.superseded), (4, 1));
    assert_eq!(outcome(state).class, OutcomeClass::Ok);
}

#[test]
fn what_the_original_was_built_on_takes_the_fixup_along() {
    let mut simulation = run(MISSION, true);
    assert!(simulation.say(&Fact::Redo(BASE)));
    let state = &simulation.state;
    assert_eq!(state.plan.task(FIXUP).part, Part::Removed);
    assert_eq!(statuses(state), [Status::Pending; 5]);
    assert_eq!(
        (state.sums.counts.selected, state.sums.counts.failed, state.sums.counts.superseded),
        (4, 0, 0)
    );
    simulation.resume();
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn the_orchestrator_is_asked_only_when_the_fixup_has_failed_too() {
    let yaml = MISSION.replace("settings: {", "settings: {orchestrator: o, ");
    let yaml = yaml.replace("agents:\n", "agents:\n  o: {run: [/bin/true]}\n");
    let mut simulation = Simulation::new(&yaml, options());
    let mut tries = 0;
    simulation.run(|state, effect| match effect {
        Effect::Ask { .. } => {
            assert!(state.task(FIXUP).status().is_terminal());
            Response::Answer(crate::domain::Answer::Retry { reason: "once more".to_owned() })
        }
        Effect::Job { turn: TurnId { task, .. }, job: Job::Check(_) } if *task == BROKEN => {
            tries += 1;
            Response::Check(tries > 2)
        }
        Effect::Job { job: Job::Check(_), .. } => Response::Check(false),
        _ => good(state, effect),
    });
    let state = &simulation.state;
    assert_eq!(state.plan.task(FIXUP).part, Part::Removed, "its failure is nobody's any more");
    assert_eq!(state.task(BROKEN).attempt.kind, AttemptKind::Execute);
    assert_eq!(outcome(state).class, OutcomeClass::Ok);
}

#[test]
fn the_first_failure_is_the_last_start_only_once_nothing_can_mend_it() {
    let mut fast = options();
    fast.fail_fast = true;
    let mut simulation = Simulation::new(MISSION, fast);
    simulation.run(script(true));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}
