//! Random missions in a random world: no illegal transition, no false `ok`, and a state that can go on after every
//! prefix of the journal.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::domain::{FailureClass, Millis, OutcomeClass, QualityFlag, Status, TurnId};
use crate::engine::{Effect, Event, Input, RunPhase, State, StopCause, apply, decide, outcome, worst_case};
use crate::mission::{Part, RunOptions};

use super::simulation::{Answer, Simulation, good, options, plan_of, statuses};

/// SplitMix64: a few lines, the same on every machine.
pub(super) struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).unwrap()
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

pub(super) fn random_mission(random: &mut Random) -> String {
    let n = 1 + random.below(9);
    let mut yaml = String::from("name: random\nagents:\n  w1: {run: [/bin/true]}\n");
    yaml.push_str(random.pick(&[
        "  w2: {run: [/bin/true], input: none}\n",
        "  w2: {run: [/bin/true], maxConcurrent: 1}\n",
    ]));
    yaml.push_str("  h: {adapter: human}\n");
    let judges = random.below(4);
    for judge in 0..judges {
        let _ = writeln!(yaml, "  j{judge}: {{run: [/bin/true], role: reviewer}}");
    }
    let _ = writeln!(
        yaml,
        "settings: {{maxAttempts: {}, maxFixAttempts: {}, maxRetries: {}, maxAssessmentRetries: {}, \
         failOpenOnUnparsedEval: {}}}",
        1 + random.below(4),
        random.below(3),
        random.below(3),
        random.below(2),
        random.chance(10),
    );
    if random.chance(30) {
        let _ = writeln!(yaml, "qualityThreshold: {}", 2 + random.below(3));
    }
    yaml.push_str("tasks:\n");
    for task in 0..n {
        let _ = write!(
            yaml,
            "  - {{title: t{task}, assignTo: {}",
            random.pick(&["w1", "w2"])
        );
        let dependencies: Vec<String> = (0..task)
            .filter(|_| random.chance(25))
            .map(|d| format!("t{d}"))
            .collect();
        let _ = write!(
            yaml,
            ", dependsOn: [{}], priority: {}",
            dependencies.join(", "),
            1 + random.below(3)
        );
        yaml.push_str(random.pick(&[
            "",
            "",
            ", targetFiles: [a]",
            ", exclusive: true",
            ", review: none",
            ", review: required",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            ", expectations: [{type: test, command: x}, {type: script, command: y}]",
            ", expectations: [{type: llm_review, criteria: c}]",
            ", expectations: [{type: test, command: x}, {type: llm_review, criteria: c, reviewers: 2}]",
            match judges {
                0 => ", expectations: [{type: llm_review, criteria: c, reviewers: [h]}]",
                _ => ", expectations: [{type: llm_review, criteria: c, reviewers: [h, j0]}]",
            },
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            "",
            ", acceptance: [c, d], verification: {grader: heuristic}",
        ]));
        yaml.push_str(random.pick(&[
            "",
            "",
            ", onExhausted: accept",
            ", onExhausted: fail",
            ", maxAttempts: 2",
        ]));
        yaml.push_str("}\n");
    }
    if n > 1 && random.chance(60) {
        let cut = 1 + random.below(n - 1);
        let (after, blocked) = (random.below(cut), cut + random.below(n - cut));
        let _ = writeln!(
            yaml,
            "qualityGates:\n  - {{name: g, afterTasks: [t{after}], blocksTasks: [t{blocked}]{}}}",
            random.pick(&[
                "",
                ", minScore: 4",
                ", requireAllPassed: true",
                ", minScore: 2, onFail: halt",
                ", acceptBelowThreshold: true"
            ]),
        );
    }
    yaml
}

pub(super) fn random_answer(random: &mut Random, effect: &Effect) -> Answer {
    let class = [
        FailureClass::Unknown,
        FailureClass::Timeout,
        FailureClass::ProviderAuth,
        FailureClass::RateLimited,
    ][random.below(4)];
    match effect {
        Effect::RunTurn { .. } if random.chance(8) => Answer::NeverStarted(class),
        Effect::RunTurn { .. } if random.chance(15) => Answer::AgentFailed(class),
        Effect::RunTurn { .. } => Answer::Finished,
        Effect::ScanFiles { .. } if random.chance(25) => Answer::Files(None, 0),
        Effect::ScanFiles { .. } => Answer::Files(Some(1), random.next() % 3),
        Effect::RunCheck { .. } => Answer::Check(random.chance(65)),
        _ if random.chance(15) => Answer::Unreachable(class),
        _ if random.chance(15) => Answer::Unreadable,
        _ => Answer::Score(u8::try_from(20 + random.below(81)).unwrap()),
    }
}

/// Mostly everything; else some of the tasks that there are.
fn random_selection(random: &mut Random, yaml: &str) -> Vec<String> {
    if random.chance(70) {
        return Vec::new();
    }
    let titles = (0..10).map(|n| format!("t{n}"));
    let titles = titles.filter(|title| yaml.contains(&format!("title: {title},")));
    let mut titles: Vec<String> = titles.collect();
    let kept = titles.remove(random.below(titles.len()));
    titles.retain(|_| random.chance(20));
    titles.push(kept);
    titles
}

pub(super) fn random_run(seed: u64) -> (String, RunOptions, Simulation) {
    let mut random = Random(seed);
    let yaml = random_mission(&mut random);
    let options = RunOptions {
        no_eval: random.chance(10),
        strict: random.chance(10),
        fail_fast: random.chance(10),
        jobs: Some(1 + u32::try_from(random.below(4)).unwrap()),
        only: random_selection(&mut random, &yaml),
        wait_approvals: random.chance(30).then_some(Millis(1000)),
        ..options()
    };
    let mut simulation = Simulation::new(&yaml, options.clone());
    let stop_after = if random.chance(25) {
        random.below(30)
    } else {
        usize::MAX
    };
    let mut steps = 0;
    while !simulation.todo.is_empty() || simulation.nobody_answers() {
        if steps == stop_after {
            simulation.feed(&Input::Stop(StopCause::Interrupted));
        }
        let index = random.below(simulation.todo.len().max(1));
        simulation.perform(index, &mut |_, effect| random_answer(&mut random, effect));
        steps += 1;
        assert!(steps < 10_000, "the engine does not come to an end:\n{yaml}");
    }
    (yaml, options, simulation)
}

/// What `ok` promises, computed from the tasks and not from the engine's sums.
pub(super) fn really_ok(state: &State, options: &RunOptions) -> bool {
    let tasks_ok = state.plan.selected_ids().all(|id| {
        let task = state.task(id);
        let flag = task.flag;
        task.status == Status::Done
            && matches!(
                flag,
                Some(QualityFlag::Clean | QualityFlag::Relaxed | QualityFlag::Unreviewed)
            )
            && !(options.strict && flag == Some(QualityFlag::Unreviewed))
            && !task.indeterminate
    });
    let mut gates = state.plan.gates.iter().zip(&state.gates);
    let gates_ok = gates.all(|(plan, gate)| gate.is_open() == (plan.part == Part::Selected));
    tasks_ok && gates_ok && state.threshold_failed.is_none() && state.stop.is_none()
}

/// Everything in a state that follows from its plan and from where tasks and gates stand.
pub(super) fn followed(state: &State) -> String {
    let blockers: Vec<u32> = state
        .plan
        .selected_ids()
        .map(|id| state.task(id).blockers)
        .collect();
    let open: Vec<u32> = state.gates.iter().map(|gate| gate.open).collect();
    let due = (&state.gates_due, &state.cascades_due, state.halted);
    let ready: Vec<_> = state.ready.next_up().collect();
    let sums = (state.counts, state.slots, state.turns_running, state.exclusive);
    format!("{blockers:?} {open:?} {due:?} {ready:?} {sums:?}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn every_session_ends_and_ok_means_ok(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let state = &simulation.state;
        prop_assert_eq!(state.phase, RunPhase::Finished, "{}\n{:?}", yaml, statuses(state));
        let class = outcome(state).class;
        prop_assert_eq!(class == OutcomeClass::Ok, really_ok(state, &options), "{:?}\n{}", class, yaml);
        prop_assert_ne!(class, OutcomeClass::Internal, "{}\n{:?}", yaml, statuses(state));
        let finished = simulation.journal.iter().flatten().filter(|e| matches!(e, Event::RunFinished { .. })).count();
        prop_assert_eq!(finished, 1);
        for id in state.plan.every_task_id().filter(|id| state.plan.task(*id).part != Part::Selected) {
            let task = state.task(id);
            prop_assert_eq!((task.status, task.attempt), (Status::Pending, 0), "{:?} was left out\n{}", id, yaml);
        }
    }

    #[test]
    fn what_follows_from_a_plan_is_what_was_kept_up_to_date(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        let mut state = State::new(plan);
        for record in &simulation.journal {
            record.iter().for_each(|event| apply(&mut state, event));
            let mut anew = state.clone();
            anew.derive();
            prop_assert_eq!(followed(&anew), followed(&state), "after {:?}\n{}", record, yaml);
        }
    }

    #[test]
    fn nothing_takes_more_than_its_worst_case(seed: u64) {
        let (yaml, _, simulation) = random_run(seed);
        let state = &simulation.state;
        let calls = |wanted| simulation.journal.iter().flatten().filter(
            |event| matches!(event, Event::SeatRequested { task, .. } if *task == wanted)).count() as u64;
        for id in state.plan.task_ids() {
            let worst = worst_case(state, id);
            prop_assert!(worst.attempts.is_some_and(|most| state.task(id).tries <= most), "{yaml}");
            prop_assert!(worst.judge_calls_with_repeats.is_some_and(|most| calls(id) <= most), "{yaml}");
        }
    }

    #[test]
    fn every_prefix_of_a_journal_can_go_on(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        for cut in 1..=simulation.journal.len() {
            let mut recovered = Simulation::recovered(plan.clone(), &simulation.journal[..cut]);
            let finished: Vec<_> = recovered.state.tasks.iter().map(|task| task.status.is_terminal()).collect();
            recovered.resume();
            recovered.run(good);
            for (task, was_finished) in recovered.turns.iter().map(|turn| (turn.task, finished[turn.task.index()])) {
                prop_assert!(!was_finished, "{task:?} ran again after it was finished\n{yaml}");
            }
            let sums = recovered.state.counts;
            let count = |status| recovered.state.tasks.iter().filter(|task| task.status == status).count();
            prop_assert_eq!(sums.done as usize, count(Status::Done));
            prop_assert_eq!(sums.failed as usize, count(Status::Failed));
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
                (task.status, task.attempt, task.turn, task.tries, task.retries, task.fixes)
            };
            let before: Vec<_> = kept.iter().map(|turn| standing(&recovered.state, turn)).collect();
            recovered.resume_keeping(&kept);
            let after: Vec<_> = kept.iter().map(|turn| standing(&recovered.state, turn)).collect();
            prop_assert_eq!(before, after, "adoption spends nothing\n{}", yaml);
            recovered.run(good);
            let resumed: Vec<_> = recovered.journal[cut..].iter().flatten().collect();
            for turn in &kept {
                let adopted = resumed.contains(&&Event::TurnAdopted { turn: *turn });
                prop_assert!(adopted && !recovered.turns.contains(turn), "{turn} was kept\n{yaml}");
                let ended = |event: &&&Event| matches!(event, Event::TurnFinished { turn: of, .. } if of == turn);
                prop_assert_eq!(resumed.iter().filter(ended).count(), 1);
            }
            for turn in &lost {
                prop_assert!(resumed.contains(&&Event::TurnLost { turn: *turn }), "{turn} was lost\n{yaml}");
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
        let late = [Input::Advance, Input::Stop(StopCause::Terminated)];
        for input in late {
            prop_assert!(decide(&simulation.state, &input, crate::domain::Timestamp(9)).is_empty());
        }
    }
}
