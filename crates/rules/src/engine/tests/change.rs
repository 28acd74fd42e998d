//! A changed mission that a person accepted: what holds, what is done again, and that every journal with such a change
//! can go on.

use proptest::prelude::*;

use crate::domain::{AgentId, Digest, FailureClass, OutcomeClass, Status, TaskId};
use crate::engine::{
    Asked, BarrierStage, Command, Effect, Event, Fact, Job, MissionChange, OperatorInput, RunEvent, RunPhase,
    State, TurnEvent, outcome,
};
use crate::plan::{Part, RunOptions};

use super::properties::{random_run, really_ok};
use super::simulation::consistency::followed;
use super::simulation::random::{Random, random_mission};
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

/// A panel, a chain, a gate, and two that stand alone.
const BASE: &str = "
name: base
agents:
  w: {run: [/bin/true]}
  j: {run: [/bin/true], role: reviewer}
tasks:
  - {title: a, assignTo: w, expectations: [{type: llm_review, criteria: c, reviewers: [j]}]}
  - {title: b, assignTo: w, dependsOn: [a], review: none}
  - {title: c, assignTo: w, review: none}
  - {title: d, assignTo: w, review: none}
  - {title: f, assignTo: w, review: none, maxAttempts: 1}
qualityGates:
  - {name: g, afterTasks: [a], blocksTasks: [d], minScore: 4}
";

fn change(yaml: &str, options: &RunOptions) -> Fact {
    Fact::ChangeMission {
        number: 2,
        from: Digest::of(b"old"),
        to: Digest::of(yaml.as_bytes()),
        mission: Some(plan_of(yaml, options)),
    }
}

/// Everything is done but `f`, which failed.
fn ended() -> Simulation {
    let mut simulation = Simulation::new(BASE, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(4) => {
            Response::AgentFailed(FailureClass::Unknown)
        }
        _ => good(state, effect),
    });
    simulation
}

fn changed_to(replacements: &[(&str, &str)]) -> Simulation {
    let mut simulation = ended();
    let mut yaml = BASE.to_owned();
    for (old, new) in replacements {
        assert!(yaml.contains(old), "{old}");
        yaml = yaml.replace(old, new);
    }
    let input = change(&yaml, &options());
    assert!(simulation.say(&input));
    simulation
}

/// Titles of the tasks that are to be done, of all that the run takes.
fn to_do(state: &State) -> String {
    let open = state.plan.selected_ids().filter(|id| state.task(*id).status() == Status::Pending);
    let titles: Vec<&str> = open.map(|id| &*state.plan.task(id).title).collect();
    titles.join(" ")
}

fn has_result(simulation: &Simulation) -> bool {
    simulation.state.gates[0].result.is_some()
}

#[test]
fn only_what_depends_on_the_change_is_done_again() {
    for (old, new, again, gate_stays) in [
        ("title: a,", "title: a, description: more,", "a b d", false),
        ("criteria: c", "criteria: other", "a b d", false),
        ("{run: [/bin/true], role", "{run: [/bin/false], role", "a b d", false),
        ("criteria: c,", "criteria: c, threshold: 4,", "a b d", false),
        ("title: c,", "title: c, targetFiles: [x],", "c", true),
        ("title: c,", "title: c, dependsOn: [b],", "c", true),
        (
            "title: c,",
            "title: c, acceptance: ['`x.txt` exists'], verification: {grader: heuristic},",
            "c",
            true,
        ),
        ("dependsOn: [a], ", "", "b", true),
        ("w: {run: [/bin/true]}", "w: {run: [/bin/false]}", "a b c d f", false),
        // How fast, how often and in which order makes done work neither better nor worse.
        ("title: c,", "title: c, priority: 3, exclusive: true, maxRetries: 9, maxDuration: 1h,", "", true),
        ("w: {run: [/bin/true]}", "w: {run: [/bin/true], maxConcurrent: 1}", "", true),
        ("name: base", "description: nothing but words\nname: other", "", true),
        // It may save what failed.
        ("maxAttempts: 1", "maxAttempts: 2", "f", true),
        // The answer of a gate depends on its question, not on whom it holds.
        ("minScore: 4", "minScore: 4.5", "", false),
        ("afterTasks: [a]", "afterTasks: [a, c]", "", false),
        ("blocksTasks: [d]", "blocksTasks: [d, f]", "", true),
    ] {
        let simulation = changed_to(&[(old, new)]);
        let state = &simulation.state;
        assert_eq!((to_do(state).as_str(), has_result(&simulation)), (again, gate_stays), "{new}");
        let reached = state.tasks.iter().filter(|task| task.status().is_terminal()).count();
        assert_eq!((state.sums.counts.done + state.sums.counts.failed) as usize, reached, "{new}");
    }
}

#[test]
fn tasks_come_and_go_under_ids_that_stay() {
    let added = "  - {title: e, assignTo: w, dependsOn: [c], review: none}\n  - {title: f";
    let mut simulation = changed_to(&[
        ("  - {title: b, assignTo: w, dependsOn: [a], review: none}\n", ""),
        ("  - {title: f", added),
    ]);
    let state = &simulation.state;
    assert_eq!(to_do(state), "e");
    assert_eq!(state.plan.task(TaskId(1)).part, Part::Removed);
    assert_eq!(&*state.plan.task(TaskId(5)).title, "e");
    assert_eq!((state.sums.counts.selected, state.sums.counts.done, state.sums.counts.failed), (5, 3, 1));
    let change = simulation.journal.last().and_then(|record| record.last());
    let Some(Event::Run(RunEvent::MissionChanged(change))) = change else {
        panic!("{change:?}");
    };
    let MissionChange { added, removed, changed, gates, .. } = &**change;
    assert_eq!((added, removed), (&vec![TaskId(5)], &vec![TaskId(1)]));
    assert_eq!((changed.len(), gates.len()), (0, 0));
    simulation.resume();
    simulation.turns.clear();
    simulation.run(good);
    let worked: Vec<TaskId> = simulation.turns.iter().map(|turn| turn.task).collect();
    assert_eq!(worked, [TaskId(5)]);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::TaskFailed);
}

#[test]
fn a_task_that_comes_back_begins_anew() {
    let without = BASE.replace("  - {title: c, assignTo: w, review: none}\n", "");
    let mut simulation = ended();
    let input = change(&without, &options());
    assert!(simulation.say(&input));
    assert_eq!(to_do(&simulation.state), "");
    let input = change(BASE, &options());
    assert!(simulation.say(&input));
    assert_eq!(to_do(&simulation.state), "c");
    assert_eq!(simulation.state.task(TaskId(2)).attempt.number, 2, "attempt numbers go on");
}

#[test]
fn an_agent_that_is_gone_judges_nothing() {
    let alone = BASE
        .replace("  j: {run: [/bin/true], role: reviewer}\n", "")
        .replace(", expectations: [{type: llm_review, criteria: c, reviewers: [j]}]", ", review: required");
    let mut simulation = ended();
    let input = change(&alone, &options());
    assert!(simulation.say(&input));
    simulation.resume();
    simulation.run(good);
    let task = simulation.state.task(TaskId(0));
    assert!(task.hold().is_some(), "{task:?}");
}

#[test]
fn a_selection_outlives_a_change() {
    let options = RunOptions { only: vec!["b".to_owned()], ..options() };
    let mut simulation = Simulation::new(BASE, options.clone());
    simulation.run(good);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!((simulation.state.sums.counts.selected, simulation.state.sums.counts.not_taken), (2, 3));
    // From here on b needs c as well.
    let yaml = BASE.replace("dependsOn: [a]", "dependsOn: [a, c]");
    let input = change(&yaml, &options);
    assert!(simulation.say(&input));
    assert_eq!(to_do(&simulation.state), "b c");
    assert_eq!((simulation.state.sums.counts.selected, simulation.state.sums.counts.not_taken), (3, 2));
}

#[test]
fn a_change_without_its_plan_changes_nothing() {
    let simulation = changed_to(&[("title: c,", "title: c, targetFiles: [x],")]);
    let text = serde_json::to_string(&simulation.journal).unwrap();
    let journal: Vec<Vec<Event>> = serde_json::from_str(&text).unwrap();
    assert_eq!(journal, simulation.journal);
    let read = Simulation::recovered(plan_of(BASE, &options()), &journal);
    assert_eq!(statuses(&read.state), statuses(&simulation.state));
    assert!(read.state.plan.task(TaskId(2)).target_files.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn every_prefix_of_a_journal_can_go_on_by_another_mission(seed: u64) {
        let (yaml, options, simulation) = random_run(seed);
        let plan = plan_of(&yaml, &options);
        let mut random = Random(seed ^ 0x5eed);
        let next = random_mission(&mut random);
        if plan_of(&next, &options).selected_ids().next().is_none() {
            return Ok(());
        }
        let input = change(&next, &options);
        for cut in 1..=simulation.journal.len() {
            let mut changed = Simulation::recovered(plan.clone(), &simulation.journal[..cut]);
            prop_assert!(changed.say(&input));
            let mut anew = changed.state.clone();
            anew.derive();
            prop_assert_eq!(followed(&anew), followed(&changed.state));
            // The journal tells the same.
            let read = Simulation::recovered(plan.clone(), &changed.journal);
            prop_assert_eq!(format!("{:?}", read.state.tasks), format!("{:?}", changed.state.tasks));
            prop_assert_eq!(followed(&read.state), followed(&changed.state));

            let finished: Vec<bool> = changed.state.tasks.iter().map(|task| task.status().is_terminal()).collect();
            changed.resume();
            changed.run(good);
            let state = &changed.state;
            prop_assert_eq!(state.phase, RunPhase::Finished);
            for task in changed.turns.iter().map(|turn| turn.task) {
                // What came only later, a fixup or work that was handed down, had not ended then.
                let was_finished = finished.get(task.index()) == Some(&true);
                prop_assert!(!was_finished, "{task:?} ran again though it was kept\n{yaml}\n{next}");
                prop_assert_eq!(state.plan.task(task).part, Part::Selected);
            }
            let class = outcome(state).class;
            prop_assert_ne!(class, OutcomeClass::Internal, "{}\n{}", yaml, next);
            prop_assert_eq!(class == OutcomeClass::Ok, really_ok(state, &options), "{:?}\n{}\n{}", class, yaml, next);
        }
    }

    #[test]
    fn the_same_mission_again_changes_nothing(seed: u64) {
        let (yaml, options, mut simulation) = random_run(seed);
        let before = (format!("{:?}", simulation.state.tasks), followed(&simulation.state));
        let input = change(&yaml, &options);
        prop_assert!(simulation.say(&input));
        prop_assert_eq!(before, (format!("{:?}", simulation.state.tasks), followed(&simulation.state)));
    }
}

/// A verification whose verdict is bad, and where its edges lead.
fn verified(fail: &str, keys: &str) -> String {
    format!(
        "
name: verified
agents: {{w: {{run: [/bin/true]}}}}
tasks:
  - {{title: write}}
  - {{title: verify, type: verification, dependsOn: [write], acceptance: [good], verification: {{grader: heuristic}},
     onPass: publish, onFail: {fail}, onRefer: ask{keys}}}
  - {{title: publish}}
  - {{title: report}}
  - {{title: ask}}
"
    )
}

fn bad_verdict(state: &State, effect: &Effect) -> Response {
    match effect {
        Effect::Job { job: Job::Grade(_), .. } => Response::Score(10),
        _ => good(state, effect),
    }
}

#[test]
fn a_verdict_holds_as_long_as_it_leads_where_it_led() {
    let after = |before: &str, yaml: &str| {
        let mut simulation = Simulation::new(before, options());
        simulation.run(bad_verdict);
        let input = change(yaml, &options());
        assert!(simulation.say(&input));
        let state = &simulation.state;
        let open = state
            .plan
            .selected_ids()
            .filter(|id| state.takes(*id) && !state.task(*id).status().is_terminal());
        let titles: Vec<&str> = open.map(|id| &*state.plan.task(id).title).collect();
        titles.join(" ")
    };
    let reported = verified("report", "");
    assert_eq!(after(&reported, &reported.replace("name: verified", "name: other")), "");
    // The work is to be done again instead of being reported: what was reported was no verdict of this mission.
    let again = after(&reported, &verified("write", ""));
    assert!(again.contains("verify"), "{again}");
    // One more visit may save what failed by its visits.
    let once = verified("write", ", maxVisits: 1");
    assert_eq!(after(&once, &verified("write", ", maxVisits: 2")), "verify publish ask");
}

#[test]
fn a_changed_task_loses_the_turn_in_flight_and_one_between_attempts_begins_anew() {
    let in_flight = |event: &Event| matches!(event, Event::Turn(_, TurnEvent::Lost));
    let mut simulation = Simulation::new(BASE, options());
    while simulation.running().is_empty() {
        simulation.perform(0, &mut good);
    }
    let turn = simulation.running()[0];
    let yaml = BASE.replace("title: a,", "title: a, description: other,");
    let input = change(&yaml, &options());
    assert_eq!(turn.task, TaskId(0));
    assert!(simulation.say(&input));
    assert_eq!(simulation.count(in_flight), 1);
    let task = &simulation.state.tasks[0];
    assert_eq!((task.status(), task.work.turn.is_some(), task.attempt.number), (Status::Pending, false, 2));
    // Sent back, and its next attempt has not begun.
    let mut simulation = Simulation::new(BASE, RunOptions { jobs: Some(1), ..options() });
    while simulation.state.tasks[0].course.retries == 0 {
        simulation.perform(0, &mut |_, _| Response::AgentFailed(FailureClass::Unknown));
    }
    simulation.state.tasks[0].lifecycle = Status::Pending.into();
    let before = simulation.state.tasks[0].attempt.number;
    assert!(simulation.say(&input));
    let task = &simulation.state.tasks[0];
    assert_eq!(
        (task.attempt.number, task.course.retries, task.course.tries),
        (before, 0, 1),
        "it is the first of the new task"
    );
    // And one that never began stays as it is.
    assert_eq!(simulation.state.tasks[1].attempt.number, 0);
}

#[test]
fn a_gates_result_holds_as_long_as_it_asks_the_same_of_the_same() {
    let withdrawn = |from: &str, to: &str| changed_to(&[(from, to)]).state.gates[0].result.is_none();
    let gate = "afterTasks: [a], blocksTasks: [d], minScore: 4";
    for (to, expected) in [
        ("afterTasks: [a], blocksTasks: [d], minScore: 4, notifyChannels: []", false),
        ("afterTasks: [a], blocksTasks: [d], minScore: 3", true),
        ("afterTasks: [a, c], blocksTasks: [d], minScore: 4", true),
        ("afterTasks: [a], blocksTasks: [d], minScore: 4, requireAllPassed: false", true),
    ] {
        assert_eq!(withdrawn(gate, to), expected, "{to}");
    }
    assert!(
        withdrawn("name: base\n", "name: base\nsettings: {evaluate: false}\n"),
        "no score is given any more"
    );
}

#[test]
fn two_changes_are_the_same_if_they_say_the_same() {
    let change = |number: u32, added: &[u32]| MissionChange {
        number,
        previous_digest: Digest::of(b"a"),
        mission_digest: Digest::of(b"b"),
        added: added.iter().map(|id| TaskId(*id)).collect(),
        removed: Vec::new(),
        changed: Vec::new(),
        gates: Vec::new(),
        mission: None,
    };
    assert!(change(2, &[1]) == change(2, &[1]));
    assert!(change(2, &[1]) != change(3, &[1]) && change(2, &[1]) != change(2, &[2]));
}

#[test]
fn a_checkpoint_that_waits_for_something_else_is_ahead_again() {
    let stage = |simulation: &Simulation| match simulation.state.barriers[0].stage {
        BarrierStage::Ahead => "ahead",
        BarrierStage::Held(_) => "held",
        BarrierStage::Passed => "passed",
        BarrierStage::Rejected => "rejected",
    };
    let held = |after: &str, blocks: &str| {
        format!("{BASE}checkpoints: [{{name: h, afterTasks: [{after}], blocksTasks: [{blocks}]}}]\n")
    };
    let reached = || {
        let mut simulation = Simulation::new(&held("c", "b"), options());
        simulation.run(good);
        assert_eq!(stage(&simulation), "held");
        simulation
    };
    let passed = || {
        let mut simulation = reached();
        let hold = crate::domain::BarrierId(0);
        let pass = Command::approve(hold, 1);
        assert!(simulation.say(&super::operator::says(pass)));
        simulation
    };
    for (yaml, from_reached, from_passed) in [
        (held("c", "b").replace("name: base", "name: other"), "held", "passed"),
        (held("c", "b, d"), "held", "passed"),
        (held("c, d", "b"), "ahead", "ahead"),
        (BASE.to_owned(), "ahead", "ahead"),
    ] {
        for (mut simulation, expected) in [(reached(), from_reached), (passed(), from_passed)] {
            assert!(simulation.say(&change(&yaml, &options())));
            assert_eq!(stage(&simulation), expected, "{yaml}");
            let waits = simulation.state.queues.barriers_reached.len();
            assert_eq!(waits, usize::from(expected == "held"));
            super::simulation::consistency::is_up_to_date(&simulation.state);
        }
    }
}

#[test]
fn a_changed_task_that_had_begun_never_uses_the_name_of_a_turn_twice() {
    let yaml = "
name: asked
agents: {w: {run: [/bin/true]}}
tasks: [{title: a, description: one, assignTo: w, review: none}]
";
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(|_, effect| match effect {
        Effect::RunTurn { .. } => {
            Response::Asks(Asked { text: "Which one?".to_owned(), detected: false, call: None })
        }
        effect => panic!("{effect:?}"),
    });
    // Answered while nobody works on the run: it waits for a slot in the middle of its attempt.
    assert!(simulation.say(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::Answer { task: TaskId(0), number: 1, text: "This one.".to_owned() },
        by: "ada".to_owned(),
    }))));
    assert_eq!(statuses(&simulation.state), [Status::Pending]);
    assert!(simulation.say(&change(&yaml.replace("description: one", "description: two"), &options())));
    simulation.resume();
    simulation.run(good);
    let events = simulation.journal.iter().flatten();
    let turns: Vec<(u32, u32)> = events
        .filter_map(|event| match event {
            Event::Turn(turn, TurnEvent::Started(_)) => Some((turn.attempt, turn.turn)),
            _ => None,
        })
        .collect();
    assert_eq!(turns, [(1, 1), (2, 1)]);
}

/// What the last record says was changed.
fn said(simulation: &Simulation) -> MissionChange {
    let last = simulation.journal.last().and_then(|record| record.last());
    let Some(Event::Run(RunEvent::MissionChanged(change))) = last else {
        panic!("{last:?}");
    };
    (**change).clone()
}

#[test]
fn what_a_changed_task_had_handed_down_goes_with_its_old_work() {
    let yaml = "name: m
agents: {lead: {run: [/bin/true]}, w: {run: [/bin/true]}}
tasks: [{title: plan, description: one, assignTo: lead, expectations: [{type: test, command: x}]}]
";
    let list = serde_json::json!([{"title": "part", "assignTo": "w"}]);
    let parts = crate::plan::read_delegations(&list).0;
    let script = |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => Response::HandsDown(parts.clone()),
        _ => good(state, effect),
    };
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script);
    assert_eq!(statuses(&simulation.state), [Status::Done; 2]);
    let other = yaml.replace("description: one", "description: two");
    assert!(simulation.say(&change(&other, &options())));
    assert_eq!(to_do(&simulation.state), "plan");
    assert_eq!(simulation.state.plan.task(TaskId(1)).part, Part::Removed);
    // It may hand down the same once more.
    simulation.resume();
    simulation.run(script);
    assert_eq!(statuses(&simulation.state), [Status::Done; 2]);
    assert_eq!(simulation.state.sums.counts.selected, 2);
}

#[test]
fn work_that_was_added_and_that_another_agent_took_over_stays_as_it_is() {
    let yaml = "name: m
agents: {lead: {run: [/bin/true]}, w: {run: [/bin/true], fallback: [o]}, o: {run: [/bin/true]}}
settings: {maxRetries: 0, maxFixAttempts: 0}
tasks:
  - {title: plan, assignTo: lead, expectations: [{type: test, command: x, before: any}]}
  - {title: mended, assignTo: w, onExhausted: fixup, expectations: [{type: test, command: y, before: any}]}
";
    let list = serde_json::json!([{"title": "part", "assignTo": "w"}]);
    let parts = crate::plan::read_delegations(&list).0;
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => Response::HandsDown(parts.clone()),
        // What was added is begun by an agent that cannot go on.
        Effect::RunTurn { turn, .. }
            if turn.task.0 > 1 && state.plan.task(turn.task).agents_before.is_empty() =>
        {
            Response::AgentFailed(FailureClass::ProviderAuth)
        }
        Effect::Job { turn, job: Job::Check(_) } if turn.task == TaskId(1) => Response::Check(false),
        _ => good(state, effect),
    });
    let agents = |simulation: &Simulation| {
        let plan = &simulation.state.plan;
        let tasks = [2, 3].map(|id| plan.task(TaskId(id)));
        tasks.map(|task| (task.assigned, task.agent, task.agents_before.clone()))
    };
    let (w, o) = (AgentId(1), AgentId(2));
    assert_eq!(agents(&simulation), [(w, o, vec![w].into()), (w, o, vec![w].into())]);
    let before = statuses(&simulation.state);
    let more = format!("{yaml}  - {{title: another, assignTo: o}}\n");
    for changed in [yaml, &more] {
        assert!(simulation.say(&change(changed, &options())));
        assert_eq!(said(&simulation).changed, [], "nothing of it was changed");
        assert_eq!(statuses(&simulation.state)[..before.len()], before);
        assert_eq!(agents(&simulation), [(w, o, vec![w].into()), (w, o, vec![w].into())]);
    }
}

#[test]
fn only_a_request_for_agreement_depends_on_whose_agreement_is_asked_for() {
    let yaml = |keys: &str| {
        format!(
            "name: m\nagents: {{w: {{run: [/bin/true]}}, p: {{adapter: human}}}}\ntasks: [{{title: a, assignTo: w, \
             {keys}}}]\n"
        )
    };
    let panel = "expectations: [{type: llm_review, criteria: c, reviewers: [p]}]";
    let changed = |from: &str, to: &str| {
        let mut simulation = Simulation::new(&yaml(from), options());
        simulation.run(good);
        assert_eq!(statuses(&simulation.state), [Status::AwaitingApproval]);
        assert!(simulation.say(&change(&yaml(to), &options())));
        said(&simulation).changed.len()
    };
    let agreed = "review: none, requiresApproval";
    assert_eq!(changed(&format!("{agreed}: true"), &format!("{agreed}: {{approvers: [ada]}}")), 1);
    assert_eq!(changed(panel, &format!("{panel}, requiresApproval: true")), 0, "its work waits");
}

#[test]
fn a_gate_over_several_is_named_where_any_of_them_is_done_again() {
    let two = BASE.replace("afterTasks: [a]", "afterTasks: [a, c]");
    for (title, gates) in [("a", 1), ("c", 1), ("f", 0)] {
        let mut simulation = Simulation::new(&two, options());
        simulation.run(good);
        let yaml = two.replace(&format!("title: {title},"), &format!("title: {title}, description: more,"));
        assert!(simulation.say(&change(&yaml, &options())));
        assert_eq!(said(&simulation).gates.len(), gates, "{title}");
    }
}

#[test]
fn only_a_gate_that_asks_for_a_score_asks_something_else_without_reviews() {
    let yaml = |settings: &str, score: &str| {
        format!(
            "name: m\nagents: {{w: {{run: [/bin/true]}}}}\nsettings: {{{settings}}}\ntasks:\n  - {{title: a, assignTo: w, \
             review: none, acceptance: [c], verification: {{grader: heuristic}}}}\n  - {{title: b, assignTo: w, review: \
             none}}\nqualityGates: [{{name: g, afterTasks: [a], blocksTasks: [b]{score}}}]\n"
        )
    };
    for (score, withdrawn) in [(", minScore: 4", true), ("", false)] {
        for (from, to) in [("", "evaluate: false"), ("evaluate: false", "")] {
            let mut simulation = Simulation::new(&yaml(from, score), options());
            simulation.run(good);
            assert!(has_result(&simulation));
            assert!(simulation.say(&change(&yaml(to, score), &options())));
            assert_eq!(said(&simulation).changed, []);
            assert_eq!(!has_result(&simulation), withdrawn, "{score} {to}");
        }
    }
}
