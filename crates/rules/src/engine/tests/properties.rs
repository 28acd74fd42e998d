//! Random missions in a random world: no illegal transition, no false `ok`, and a state that can go on after every
//! prefix of the journal.

use proptest::prelude::*;

use crate::domain::{FailureClass, OutcomeClass, QualityFlag, Status, Timestamp, TurnId};
use crate::engine::quality_flag::Mark;
use crate::engine::{
    AskEvent, Event, Fact, RunEvent, RunPhase, State, StopCause, TurnEvent, apply, decide, outcome,
    worst_case,
};
use crate::plan::{Part, RunOptions};

use super::simulation::consistency::{forgotten_by_a_restart, is_up_to_date};
use super::simulation::random::{Random, random_mission, random_options, random_response, routed_mission};
use super::simulation::{Simulation, good, plan_of, statuses};

fn any_mission(random: &mut Random) -> String {
    match random.chance(30) {
        true => routed_mission(random),
        false => random_mission(random),
    }
}

pub(super) fn random_run(seed: u64) -> (String, RunOptions, Simulation) {
    let mut random = Random(seed);
    let yaml = any_mission(&mut random);
    let options = random_options(&mut random, &yaml);
    let mut simulation = Simulation::new(&yaml, options.clone());
    let stop_after = if random.chance(25) { random.below(30) } else { usize::MAX };
    let mut steps = 0;
    while !simulation.todo.is_empty() || simulation.time_passes() {
        if steps == stop_after {
            simulation.feed(&Fact::Stop(StopCause::Interrupted));
        }
        simulation.timers_fire();
        if random.chance(3) {
            simulation.time_passes();
        }
        let index = random.below(simulation.todo.len().max(1));
        simulation.perform(index, &mut |_, effect| random_response(&mut random, effect));
        steps += 1;
        assert!(steps < 10_000, "the engine does not come to an end:\n{yaml}");
    }
    (yaml, options, simulation)
}

/// What `ok` promises, computed from the tasks and not from the engine's sums.
pub(super) fn really_ok(state: &State, options: &RunOptions) -> bool {
    let mut taken = state.plan.selected_ids().filter(|id| state.takes(*id));
    let tasks_ok = taken.all(|id| {
        let task = state.task(id);
        let flag = task.flag();
        let mended = || {
            state.effective_task(id) != id
                && state.task(state.effective_task(id)).flag() == Some(QualityFlag::Clean)
        };
        (task.status() == Status::Failed && mended())
            || task.status() == Status::Done
                && matches!(flag, Some(QualityFlag::Clean | QualityFlag::Relaxed | QualityFlag::Unreviewed))
                && !(options.strict
                    && (flag == Some(QualityFlag::Unreviewed)
                        || task.attempt.has(Mark::Faulted)
                        || task.attempt.has(Mark::BaselineUnknown)))
                && !task.attempt.has(Mark::Indeterminate)
    });
    let mut gates = state.plan.gates.iter().zip(&state.gates);
    let gates_ok = gates.all(|(plan, gate)| gate.is_open() == (plan.part == Part::Selected));
    let is_delivered = state.delivery.as_ref().is_none_or(|delivery| delivery.why.is_none());
    tasks_ok
        && gates_ok
        && is_delivered
        && state.session.threshold_failed.is_none()
        && state.session.stop.is_none()
}

/// The first of the lives that the properties below are about: a mistake shows in them at once.
#[test]
fn in_a_few_lives_everything_is_kept_up_to_date() {
    for seed in 0..60 {
        let (yaml, options, simulation) = random_run(seed);
        let mut state = State::new(plan_of(&yaml, &options));
        for record in &simulation.journal {
            record.iter().for_each(|event| apply(&mut state, event));
            is_up_to_date(&state);
        }
        let plan = state.plan.clone();
        for id in plan.task_ids() {
            let task = state.task(id);
            let (redo, retry) = (Fact::Redo(id), Fact::RetryFailed);
            let input = if task.status() == Status::Done { redo } else { retry };
            for event in decide(&state, &input, Timestamp(9)) {
                apply(&mut state, &event);
            }
            is_up_to_date(&state);
        }
    }
}

/// No task takes more attempts and calls of judges than `plan` promises. What the limit of a subscription refused and
/// what waited for it is no call: `maxWindowWait` bounds it, not a number.
fn within_its_worst_case(seed: u64) -> Result<(), TestCaseError> {
    let (yaml, _, simulation) = random_run(seed);
    let state = &simulation.state;
    let calls = |wanted| -> i64 {
        let events = simulation.journal.iter().flatten();
        let counted = events.map(|event| match event {
            Event::Ask(id, AskEvent::Requested { purpose, .. })
                if id.task == wanted && purpose.is_judging() =>
            {
                1
            }
            Event::Ask(
                id,
                AskEvent::Failed { purpose, class: FailureClass::UsageWindow, until: Some(_), .. },
            ) if id.task == wanted && purpose.is_judging() => -1,
            _ => 0,
        });
        counted.sum()
    };
    // What a verification may take is of one visit.
    for id in state.plan.task_ids().filter(|id| state.plan.route(*id).is_none()) {
        let worst = worst_case(state, id);
        let (tries, calls) = (state.task(id).course.tries, calls(id));
        prop_assert!(
            worst.attempts.is_some_and(|most| tries <= most),
            "{id:?}: {tries} of {worst:?}\n{yaml}"
        );
        let most = worst.judge_calls_with_repeats;
        prop_assert!(
            most.is_some_and(|most| calls <= most as i64),
            "{id:?}: {calls} calls of {worst:?}\n{yaml}"
        );
    }
    Ok(())
}

#[test]
fn a_judge_that_waits_for_its_subscription_takes_no_call_of_the_worst_case() {
    // Three of the six requests for one review met a window.
    within_its_worst_case(700_129_616_578_398_723).unwrap();
}

/// A session has ended, and with ok only where everything is.
pub(super) fn has_ended_well_or_says_so(
    yaml: &str,
    options: &RunOptions,
    state: &State,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(state.phase, RunPhase::Finished, "{}\n{:?}", yaml, statuses(state));
    let class = outcome(state).class;
    prop_assert_eq!(class == OutcomeClass::Ok, really_ok(state, options), "{:?}\n{}", class, yaml);
    prop_assert_ne!(class, OutcomeClass::Internal, "{}\n{:?}", yaml, statuses(state));
    Ok(())
}

/// A session of a random mission ends, and with ok only where everything is.
fn ends_well_or_says_so(seed: u64) -> Result<(), TestCaseError> {
    let (yaml, options, simulation) = random_run(seed);
    has_ended_well_or_says_so(&yaml, &options, &simulation.state)?;
    let state = &simulation.state;
    let finished = simulation
        .journal
        .iter()
        .flatten()
        .filter(|e| matches!(e, Event::Run(RunEvent::Finished { .. })))
        .count();
    prop_assert_eq!(finished, 1);
    for id in state.plan.every_task_id().filter(|id| state.plan.task(*id).part != Part::Selected) {
        let task = state.task(id);
        let begun = task.attempt.number > 0 && state.plan.task(id).part == Part::NotSelected;
        prop_assert_eq!((task.status(), begun), (Status::Pending, false), "{:?} was left out\n{}", id, yaml);
    }
    Ok(())
}

#[test]
fn a_clean_fixup_heals_what_could_not_be_read_of_its_original() {
    ends_well_or_says_so(6_176_596_613_125_821_096).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn every_session_ends_and_ok_means_ok(seed: u64) {
        ends_well_or_says_so(seed)?;
    }

    #[test]
    fn what_follows_from_a_plan_is_what_was_kept_up_to_date(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        let mut state = State::new(plan);
        for record in &simulation.journal {
            record.iter().for_each(|event| apply(&mut state, event));
            is_up_to_date(&state);
        }
    }

    #[test]
    fn what_a_restart_has_to_do_is_what_is_still_out(seed: u64) {
        let mut random = Random(seed);
        let yaml = any_mission(&mut random);
        let mut simulation = Simulation::new(&yaml, random_options(&mut random, &yaml));
        while !simulation.todo.is_empty() || simulation.time_passes() {
            let index = random.below(simulation.todo.len().max(1));
            simulation.perform(index, &mut |_, effect| random_response(&mut random, effect));
            if simulation.state.phase != RunPhase::Running {
                break;
            }
            prop_assert_eq!(forgotten_by_a_restart(&simulation.state, &simulation.todo), None, "{}", yaml);
        }
    }

    #[test]
    fn nothing_takes_more_than_its_worst_case(seed: u64) {
        within_its_worst_case(seed)?;
    }

    #[test]
    fn every_prefix_of_a_journal_can_go_on(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        for cut in 1..=simulation.journal.len() {
            let mut recovered = Simulation::recovered(plan.clone(), &simulation.journal[..cut]);
            let finished: Vec<_> = recovered.state.tasks.iter().map(|task| task.status().is_terminal()).collect();
            recovered.resume();
            recovered.run(good);
            for (task, was_finished) in recovered.turns.iter().map(|turn| (turn.task, finished.get(turn.task.index()) == Some(&true))) {
                prop_assert!(!was_finished, "{task:?} ran again after it was finished\n{yaml}");
            }
            let sums = recovered.state.sums.counts;
            let count = |status| recovered.state.tasks.iter().filter(|task| task.status() == status).count();
            prop_assert_eq!(sums.done as usize, count(Status::Done));
            prop_assert_eq!((sums.failed + sums.superseded) as usize, count(Status::Failed));
            prop_assert_eq!(sums.awaiting as usize, count(Status::AwaitingApproval));
            prop_assert_eq!(sums.running, 0);
        }
    }

    #[test]
    fn every_prefix_can_go_on_whichever_turns_are_alive(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        let mut random = Random(seed);
        for cut in 1..=simulation.journal.len() {
            let mut recovered = Simulation::recovered(plan.clone(), &simulation.journal[..cut]);
            let (kept, lost): (Vec<_>, Vec<_>) = recovered.running().into_iter().partition(|_| random.chance(60));
            let standing = |state: &State, turn: &TurnId| {
                let task = state.task(turn.task);
                (task.status(), task.attempt.number, task.attempt.turn, task.course.tries, task.course.retries, task.course.fixes)
            };
            let before: Vec<_> = kept.iter().map(|turn| standing(&recovered.state, turn)).collect();
            recovered.resume_keeping(&kept);
            let after: Vec<_> = kept.iter().map(|turn| standing(&recovered.state, turn)).collect();
            prop_assert_eq!(before, after, "adoption spends nothing\n{}", yaml);
            recovered.run(good);
            let resumed: Vec<_> = recovered.journal[cut..].iter().flatten().collect();
            for turn in &kept {
                let adopted = resumed.contains(&&Event::Turn(*turn, TurnEvent::Adopted));
                prop_assert!(adopted && !recovered.turns.contains(turn), "{turn} was kept\n{yaml}");
                let ended = |event: &&&Event| matches!(event, Event::Turn(of, TurnEvent::Finished(_)) if of == turn);
                prop_assert_eq!(resumed.iter().filter(ended).count(), 1);
            }
            for turn in &lost {
                prop_assert!(resumed.contains(&&Event::Turn(*turn, TurnEvent::Lost)), "{turn} was lost\n{yaml}");
            }
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_events(seed: u64) {
        let (_, _, first) = random_run(seed);
        let (_, _, second) = random_run(seed);
        prop_assert_eq!(first.journal, second.journal);
    }

    #[test]
    fn events_survive_the_journal(seed: u64) {
        let (_, _, simulation) = random_run(seed);
        for record in &simulation.journal {
            let text = serde_json::to_string(record).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Vec<Event>>(&text).unwrap(), record);
        }
    }

    #[test]
    fn a_finished_session_ignores_the_world(seed: u64) {
        let (_, _, simulation) = random_run(seed);
        let late = [Fact::Advance, Fact::Stop(StopCause::Terminated)];
        for input in late {
            prop_assert!(decide(&simulation.state, &input, crate::domain::Timestamp(9)).is_empty());
        }
    }
}
