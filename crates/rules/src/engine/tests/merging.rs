//! How good merged work is: as good as its verdicts said, however often its merge was tried.

use crate::domain::{FailureClass, QualityFlag, Status, TaskId};
use crate::engine::{Command, Effect, Event, Fact, Job, Mark, OperatorInput, TaskEvent, judged_again};
use crate::plan::RunOptions;

use super::simulation::{Response, Simulation, good, options};

const TASK: TaskId = TaskId(0);

fn isolated(settings: &str, keys: &str) -> Simulation {
    let yaml = format!(
        "name: m
isolation: worktree
agents: {{w: {{run: [/bin/true]}}, j: {{run: [/bin/true], role: reviewer}}}}
settings: {{maxRetries: 0, maxFixAttempts: 0{settings}}}
tasks: [{{title: t, assignTo: w, targetFiles: [a]{keys}}}]
"
    );
    Simulation::new(&yaml, options())
}

/// Its first tries to merge find work of others; judges say this.
fn play(simulation: &mut Simulation, beside: u32, judges: &Response) {
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Merge(number), .. } if *number <= beside => Response::BesideOthers,
        Effect::Ask { .. } => judges.clone(),
        _ => good(state, effect),
    });
}

fn flag(simulation: &Simulation) -> Option<QualityFlag> {
    simulation.state.task(TASK).flag()
}

#[test]
fn the_flag_of_merged_work_is_that_of_its_first_acceptance() {
    use QualityFlag::{BelowThreshold, Clean, Degraded, Unreviewed};
    let panel = ", expectations: [{type: llm_review, criteria: c}]";
    let (low, high) = (Response::Score(20), Response::Score(90));
    for (keys, judges, expected) in [
        (String::new(), &low, BelowThreshold),
        (String::new(), &Response::Unreadable, BelowThreshold),
        (String::new(), &high, Clean),
        (", review: none".to_owned(), &high, Unreviewed),
        (format!("{panel}, onExhausted: accept"), &low, BelowThreshold),
        (format!("{panel}, onExhausted: degrade"), &low, Degraded),
        (", expectations: [{type: test, command: x}]".to_owned(), &high, Clean),
    ] {
        for beside in 0..4 {
            let mut simulation = isolated("", &keys);
            play(&mut simulation, beside, judges);
            assert_eq!(flag(&simulation), Some(expected), "{keys} {judges:?} {beside}");
        }
    }
}

#[test]
fn a_check_of_merged_work_that_passes_only_on_a_rerun_leaves_it_relaxed_however_often_it_is_tried() {
    let check = ", review: none, expectations: [{type: test, command: y, before: any, reruns: 1}]";
    let mission = |second: &str, own: &str| {
        format!(
            "{second}
  - {{title: u, assignTo: w, targetFiles: [b]{own}}}
"
        )
    };
    for (yaml, task, flaky) in [
        (mission("", check), TASK, Job::Check(0)),
        (
            mission(
                "
  - {title: first, assignTo: w, targetFiles: [a], review: none, expectations: [{type: test, command: y, before: any, reruns: 1}]}",
                ", review: none, dependsOn: [first], expectations: [{type: test, command: z, before: any}]",
            ),
            TaskId(1),
            Job::PeerCheck(TASK, 0),
        ),
    ] {
        for beside in 1..4 {
            let mut simulation = Simulation::new(
                &format!("name: m\nisolation: worktree\nagents: {{w: {{run: [/bin/true]}}}}\ntasks: {yaml}"),
                options(),
            );
            let (mut merges, mut failed) = (0, false);
            simulation.run(|state, effect| match effect {
                Effect::Job { turn, job } if turn.task == task => match job {
                    Job::Merge(number) if *number <= beside => {
                        merges = *number;
                        Response::BesideOthers
                    }
                    // Once, in the first try.
                    job if *job == flaky && merges == 1 && !failed => {
                        failed = true;
                        Response::Check(false)
                    }
                    _ => good(state, effect),
                },
                _ => good(state, effect),
            });
            assert!(failed, "{flaky:?} ran on merged work");
            let flag = simulation.state.task(task).flag();
            assert_eq!(flag, Some(QualityFlag::Relaxed), "{flaky:?} {beside}");
        }
    }
}

#[test]
fn a_persons_yes_is_the_review_of_work_however_often_it_is_merged() {
    for keys in
        [", onExhausted: refer", ", onExhausted: refer, expectations: [{type: llm_review, criteria: c}]"]
    {
        for beside in 0..3 {
            let mut simulation = isolated("", keys);
            play(&mut simulation, 0, &Response::Score(20));
            assert_eq!(simulation.state.task(TASK).status(), Status::AwaitingApproval);
            simulation.feed(&Fact::Operator(Box::new(OperatorInput {
                id: None,
                command: Command::approve(TASK, 1),
                by: "ada".to_owned(),
            })));
            simulation.resume();
            play(&mut simulation, beside, &Response::Score(20));
            assert_eq!(flag(&simulation), Some(QualityFlag::Clean), "{keys} {beside}");
        }
    }
}

/// A person speaks of the first while the second has the only slot.
#[test]
fn what_a_persons_word_has_merged_waits_for_a_slot() {
    let yaml = "name: m
isolation: worktree
agents: {w: {run: [/bin/true]}, p: {adapter: human}}
settings: {maxRetries: 0, maxFixAttempts: 0, concurrency: 1}
tasks:
  - {title: t, assignTo: w, onExhausted: accept, expectations: [{type: llm_review, criteria: c, reviewers: [p]}]}
  - {title: u, assignTo: w}
";
    let says_no = Command::reject(TASK, 1, "no".to_owned());
    for (command, expected) in
        [(Command::approve(TASK, 1), QualityFlag::Clean), (says_no, QualityFlag::BelowThreshold)]
    {
        let mut simulation = Simulation::new(yaml, RunOptions { jobs: Some(1), ..options() });
        let of_u = |effect: &Effect| matches!(effect, Effect::RunTurn { turn, .. } if turn.task != TASK);
        while !simulation.todo.iter().any(of_u) {
            simulation.perform(0, &mut good);
        }
        assert_eq!(simulation.state.task(TASK).status(), Status::AwaitingApproval);
        simulation.feed(&Fact::Operator(Box::new(OperatorInput { id: None, command, by: "ada".to_owned() })));
        assert_eq!(simulation.state.sums.slots, 1, "{expected:?}");
        let merges = |effect: &Effect| matches!(effect, Effect::Job { job: Job::Merge(_), .. });
        assert!(!simulation.todo.iter().any(merges), "{expected:?}");
        simulation.run(good);
        let task = simulation.state.task(TASK);
        assert_eq!((task.status(), task.flag()), (Status::Done, Some(expected)));
    }
}

#[test]
fn a_conflict_takes_the_marks_of_the_attempt_that_it_sends_back() {
    let mut simulation = isolated("", "");
    simulation.run(|state, effect| match effect {
        Effect::Job { turn, job: Job::Merge(_) } if turn.attempt == 1 => Response::Conflict,
        Effect::Ask { id, .. } if state.task(id.task).attempt.number == 1 => Response::Score(20),
        _ => good(state, effect),
    });
    assert_eq!(flag(&simulation), Some(QualityFlag::Clean));
    let merges = simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::MergeBegun { .. })));
    assert_eq!(merges, 2);
}

#[test]
fn work_on_record_is_judged_again_without_its_worker_and_by_all_stages() {
    let keys = ", verify: {commands: [x]}, expectations: [{type: test, command: y}, {type: llm_review, criteria: c}], \
                stages: [{name: s, command: z}]";
    let mut first = isolated("", keys);
    play(&mut first, 0, &Response::Score(90));
    let mut plan = crate::plan::Plan::clone(&first.state.plan);
    plan.leave_one_to_judge(TASK);
    let plan = std::sync::Arc::new(plan);
    let again = |fails: &dyn Fn(&Job) -> bool, judges: Response| {
        let state = judged_again(plan.clone(), TASK, &first.state);
        let mut simulation = Simulation::of_state(state, options());
        simulation.run(|state, effect| match effect {
            Effect::RunTurn { .. } | Effect::PreparePrompt(_) => panic!("nobody works: {effect:?}"),
            Effect::Job { job, .. } if fails(job) => Response::Check(false),
            Effect::Ask { .. } => judges.clone(),
            _ => good(state, effect),
        });
        let task = simulation.state.task(TASK);
        (task.flag(), task.attempt.number, task.attempt.has(Mark::Indeterminate))
    };
    let none = |_: &Job| false;
    assert_eq!(again(&none, Response::Score(90)), (Some(QualityFlag::Clean), 1, false));
    let below = (Some(QualityFlag::BelowThreshold), 1, false);
    assert_eq!(again(&none, Response::Score(20)), below);
    assert_eq!(again(&|job| matches!(job, Job::Check(_)), Response::Score(90)), below);
    assert_eq!(again(&|job| matches!(job, Job::Stage(..)), Response::Score(90)), below);
    let unmet = (Some(QualityFlag::Unverified), 1, false);
    assert_eq!(again(&|job| matches!(job, Job::Finish(_)), Response::Score(90)), unmet);
    let unknown = again(&none, Response::Unreachable(FailureClass::ProviderAuth));
    assert_eq!(unknown, (None, 1, true));
}
