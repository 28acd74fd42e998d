//! Work that agents hand down.

use serde_json::json;

use crate::domain::{AskId, Purpose, QualityFlag, Status, TaskId};
use crate::engine::{AskEvent, Effect, Event, Fact, Prerequisite, RunEvent, State, TaskEvent};
use crate::plan::{Part, SubTask, read_delegations};

use super::simulation::consistency::is_up_to_date;
use super::simulation::{Response, Simulation, good, options, plan_of, statuses};

const LEAD: &str = "name: m
agents:
  lead: {run: [/bin/true], role: reviewer}
  w: {run: [/bin/true]}
  boss: {adapter: human}
tasks:
  - {title: plan, assignTo: lead, expectations: [{type: test, command: x}]}
  - {title: after, assignTo: w, dependsOn: [plan], review: none}
  - {title: behind, assignTo: w, review: none}
qualityGates: [{name: g, afterTasks: [plan], blocksTasks: [behind]}]
";

fn wants(list: &serde_json::Value) -> Vec<SubTask> {
    let (read, refused) = read_delegations(list);
    assert!(refused.is_empty(), "{refused:?}");
    read
}

fn run(yaml: &str, list: &serde_json::Value) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script(list));
    simulation
}

/// The first task hands this down; everybody else does well.
fn script(list: &serde_json::Value) -> impl FnMut(&State, &Effect) -> Response + use<> {
    let sub_tasks = wants(list);
    move |state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => Response::HandsDown(sub_tasks.clone()),
        _ => good(state, effect),
    }
}

fn refusals(simulation: &Simulation) -> Vec<String> {
    let events = simulation.journal.iter().flatten();
    let refused = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::DelegationRefused { refused: title, reason }) => {
            Some(format!("{title}: {reason}"))
        }
        _ => None,
    });
    refused.collect()
}

fn order(simulation: &Simulation) -> Vec<u32> {
    simulation.turns.iter().map(|turn| turn.task.0).collect()
}

#[test]
fn what_waits_for_the_task_waits_for_what_it_handed_down() {
    let list = json!([{"title": "b", "assignTo": "w", "dependsOn": ["a"]}, {"title": "a"}]);
    let simulation = run(LEAD, &list);
    let state = &simulation.state;
    assert_eq!(refusals(&simulation), [] as [&str; 0]);
    assert_eq!(statuses(state), [Status::Done; 5]);
    assert_eq!(order(&simulation)[..3], [0, 3, 4], "a, then b, before the others");
    let a = state.plan.find("a").unwrap();
    assert_eq!((a, state.sums.counts.selected), (TaskId(3), 5));
    assert_eq!(state.plan.depth(a), 1);
    let (lead, w) = (state.plan.find_agent("lead"), state.plan.find_agent("w"));
    assert_eq!((state.plan.task(a).delegated_by, Some(state.plan.task(a).agent)), (lead, w));
    // Reviewed by who handed it down.
    let seats = simulation.count(|event| {
        matches!(event, Event::Ask(AskId { task, .. }, AskEvent::Requested { purpose: Purpose::Score(_), agent, .. }) if *task == a && Some(*agent) == lead)
    });
    assert_eq!(seats, 1);
}

#[test]
fn what_may_not_be_is_refused_one_by_one() {
    let list = json!([
        {"title": "good", "assignTo": "w"},
        {"title": "after", "assignTo": "w"},
        {"title": "self", "assignTo": "lead"},
        {"title": "person", "assignTo": "boss"},
        {"title": "nobody", "assignTo": "x"},
        {"title": "early", "assignTo": "w", "dependsOn": ["behind"]},
        {"title": "one", "assignTo": "w", "dependsOn": ["two"]},
        {"title": "two", "assignTo": "w", "dependsOn": ["one"]},
        {"title": "late", "assignTo": "w", "dependsOn": ["good"]},
    ]);
    let simulation = run(LEAD, &list);
    let refused = refusals(&simulation);
    assert_eq!(refused.len(), 7, "{refused:#?}");
    for (title, why) in [
        ("after", "there already"),
        ("self", "itself"),
        ("person", "a person"),
        ("nobody", "there is no agent"),
        ("early", "done"),
        ("one", "cycle"),
        ("two", "cycle"),
    ] {
        let found = refused.iter().find(|text| text.starts_with(&format!("{title}: "))).unwrap();
        assert!(found.contains(why), "{found}");
    }
    let titles: Vec<&str> = simulation.state.plan.tasks.iter().skip(3).map(|task| &*task.title).collect();
    assert_eq!(titles, ["good", "late"]);
    assert_eq!(statuses(&simulation.state), [Status::Done; 5]);
}

#[test]
fn no_more_and_no_deeper_than_the_settings_say() {
    let yaml = format!("{LEAD}settings: {{maxDelegations: 2}}\n");
    let list = json!([{"title": "a"}, {"title": "b"}, {"title": "c"}]);
    let simulation = run(&yaml, &list);
    assert_eq!(simulation.state.plan.tasks.len(), 5);
    assert!(refusals(&simulation)[0].contains("maxDelegations"));

    let yaml = format!("{LEAD}settings: {{maxDelegationDepth: 1}}\n");
    let mut simulation = Simulation::new(&yaml, options());
    simulation.run(|state, effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == TaskId(0) => {
            Response::HandsDown(wants(&json!([{"title": "a", "assignTo": "w"}])))
        }
        Effect::RunTurn { turn, .. } if turn.task == TaskId(3) => {
            Response::HandsDown(wants(&json!([{"title": "b", "assignTo": "lead"}])))
        }
        _ => good(state, effect),
    });
    assert_eq!(simulation.state.plan.tasks.len(), 4);
    assert!(refusals(&simulation)[0].contains("maxDelegationDepth"));
}

#[test]
fn nothing_fans_out_from_work_that_is_not_clean() {
    let yaml = LEAD.replace("expectations: [{type: test, command: x}]", "review: none");
    let simulation = run(&yaml, &json!([{"title": "a"}]));
    assert_eq!(simulation.state.plan.tasks.len(), 3);
    assert_eq!(simulation.state.task(TaskId(0)).flag(), Some(QualityFlag::Unreviewed));
    assert!(refusals(&simulation)[0].contains("unreviewed"));
}

#[test]
fn a_replay_of_every_prefix_has_the_same_tasks() {
    let list = json!([{"title": "a"}, {"title": "b", "dependsOn": ["a"], "assignTo": "w"}]);
    let whole = run(LEAD, &list);
    let plan = plan_of(LEAD, &options());
    for length in 1..=whole.journal.len() {
        let mut again = Simulation::recovered(plan.clone(), &whole.journal[..length]);
        again.resume();
        again.run(script(&list));
        assert_eq!(statuses(&again.state), [Status::Done; 5], "after {length} records");
        assert_eq!(again.state.sums.counts.selected, 5);
    }
    // The journal alone says it.
    let text = serde_json::to_string(&whole.journal).unwrap();
    let read: Vec<Vec<Event>> = serde_json::from_str(&text).unwrap();
    assert_eq!(read, whole.journal);
}

#[test]
fn work_that_is_done_again_hands_down_anew() {
    let first = json!([{"title": "a"}, {"title": "b", "assignTo": "w"}]);
    let mut simulation = run(LEAD, &first);
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    let part = |simulation: &Simulation, id: u32| simulation.state.plan.task(TaskId(id)).part;
    assert_eq!((part(&simulation, 3), part(&simulation, 4)), (Part::Removed, Part::Removed));
    assert_eq!(simulation.state.sums.counts.selected, 3);
    simulation.resume();
    simulation.run(script(&json!([{"title": "b"}, {"title": "c"}])));
    assert_eq!(refusals(&simulation), [] as [&str; 0]);
    let state = &simulation.state;
    assert_eq!(state.plan.find("b"), Some(TaskId(4)), "it returns under its id");
    assert_eq!(part(&simulation, 3), Part::Removed);
    assert_eq!((state.sums.counts.selected, state.sums.counts.done), (5, 5));
    assert_eq!(state.task(TaskId(4)).attempt.number, 2, "attempt numbers go on");
}

/// Two who hand down, by what each of them wants in which attempt; both work one after the other.
fn handed_down_by(lists: Vec<(u32, u32, serde_json::Value)>) -> impl FnMut(&State, &Effect) -> Response {
    move |state, effect| match effect {
        Effect::RunTurn { turn, .. } => {
            is_up_to_date(state);
            let found =
                lists.iter().find(|(task, attempt, _)| (*task, *attempt) == (turn.task.0, turn.attempt));
            found.map_or(Response::Finished, |(_, _, list)| Response::HandsDown(wants(list)))
        }
        _ => good(state, effect),
    }
}

const TWO: &str = "name: m
agents:
  w: {run: [/bin/true]}
  lead: {run: [/bin/true], role: reviewer}
  other: {run: [/bin/true], role: reviewer}
tasks:
  - {title: p, assignTo: lead, priority: 2, expectations: [{type: test, command: x}]}
  - {title: q, assignTo: other, expectations: [{type: test, command: x}]}
";

#[test]
fn a_title_that_another_one_handed_down_is_taken_even_when_that_was_withdrawn() {
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(TWO, options);
    let x = json!([{"title": "x", "assignTo": "w"}]);
    let mut script = handed_down_by(vec![(0, 1, x.clone()), (1, 2, x)]);
    simulation.run(&mut script);
    assert_eq!(simulation.state.plan.find("x"), Some(TaskId(2)));
    for task in [0, 1] {
        assert!(simulation.say(&Fact::Redo(TaskId(task))));
    }
    assert_eq!(simulation.state.plan.task(TaskId(2)).part, Part::Removed);
    simulation.resume();
    simulation.run(&mut script);
    assert_eq!(refusals(&simulation), ["x: a task of this title is there already"]);
}

#[test]
fn what_hangs_on_redone_work_is_withdrawn_only_if_that_handed_it_down() {
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(TWO, options);
    let y = json!([{"title": "y", "assignTo": "w", "dependsOn": ["p"]}]);
    simulation.run(handed_down_by(vec![(1, 1, y)]));
    assert_eq!(refusals(&simulation), Vec::<String>::new(), "p is done");
    assert_eq!(statuses(&simulation.state), [Status::Done; 3]);
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    assert_eq!(statuses(&simulation.state), [Status::Pending, Status::Done, Status::Pending]);
    assert_eq!(simulation.state.plan.task(TaskId(2)).part, Part::Selected);
}

/// What is kept of a task that is withdrawn while it waits is what would be made of it anew.
#[test]
fn a_withdrawn_task_waits_for_nobody() {
    let mut options = options();
    options.jobs = Some(1);
    let mut simulation = Simulation::new(TWO, options);
    let y = json!([{"title": "y", "assignTo": "w", "dependsOn": ["p"]}]);
    simulation.run(handed_down_by(vec![(1, 1, y)]));
    let watched = |state: &State| state.queues.watchers.watched(TaskId(2));
    assert!(simulation.say(&Fact::Redo(TaskId(0))));
    assert_eq!(watched(&simulation.state), Some(Prerequisite::Dependency(TaskId(0))));
    assert!(simulation.say(&Fact::Redo(TaskId(1))));
    assert_eq!(simulation.state.plan.task(TaskId(2)).part, Part::Removed);
    let mut anew = simulation.state.clone();
    anew.derive();
    assert_eq!((watched(&simulation.state), watched(&anew)), (None, None));
}

#[test]
fn work_for_whoever_is_left_goes_to_the_only_other_one() {
    let list = json!([{"title": "x"}]);
    let agent = |yaml: &str| {
        let mut simulation = Simulation::new(yaml, options());
        simulation.run(handed_down_by(vec![(0, 1, list.clone())]));
        let plan = simulation.state.plan.clone();
        let given = plan.find("x").map(|id| plan.worker_of(id).name.to_string());
        (given, refusals(&simulation).concat())
    };
    let two = TWO
        .replace("  other: {run: [/bin/true], role: reviewer}\n", "")
        .replace("assignTo: other", "assignTo: w");
    assert_eq!(agent(&two), (Some("w".to_owned()), String::new()));
    let many: String = (0..9).map(|n| format!("  a{n}: {{run: [/bin/true]}}\n")).collect();
    let (given, refused) = agent(&TWO.replace("agents:\n", &format!("agents:\n{many}")));
    assert_eq!(given, None);
    assert!(refused.ends_with("others are a0, a1, a2, a3, a4, a5, a6, a7"), "{refused}");
}

#[test]
fn only_what_can_still_start_waits_for_what_is_handed_down() {
    let mut simulation = Simulation::new(LEAD, options());
    let cancel = crate::engine::Command::CancelTask { task: TaskId(1) };
    simulation.feed(&super::operator::says(cancel));
    simulation.run(script(&json!([{"title": "x", "assignTo": "w"}])));
    let awaited = simulation.journal.iter().flatten().find_map(|event| match event {
        Event::Run(RunEvent::TasksAdded(addition)) => Some(addition.tasks[0].awaited_by.clone()),
        _ => None,
    });
    assert_eq!(awaited, Some(vec![TaskId(2)]), "the one behind the gate");
}
