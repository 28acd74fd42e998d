//! Verifications as nodes: which edge a verdict takes, what it leaves out, what it sends back, and every crash in between.

use crate::domain::{Cause, Edge, FailureClass, FailureMode, OutcomeClass, Status, TaskId, TurnId, Verdict};
use crate::engine::{
    Command, Effect, Event, Fact, Job, OperatorInput, State, TaskEvent, TurnEvent, WorkEvent, conditions,
    outcome,
};
use crate::plan::RunOptions;

use super::simulation::{Response, Simulation, good, options, statuses};

use Status::{Done, Failed, InProgress, Pending};

const WRITE: TaskId = TaskId(0);
const VERIFY: TaskId = TaskId(1);
const PUBLISH: TaskId = TaskId(2);
const REPAIR: TaskId = TaskId(3);
const ASK: TaskId = TaskId(4);

/// `write`, verified by facts; what `onFail` names is `fail`; `more` are further tasks and keys.
fn mission(fail: &str, more: &str) -> String {
    format!(
        "
name: m
agents: {{w: {{run: [/bin/true]}}}}
settings: {{evaluate: true}}
tasks:
  - {{title: write}}
  - title: verify
    type: verification
    dependsOn: [write]
    acceptance: [it is good]
    verification: {{grader: heuristic}}
    onPass: publish
    onFail: {fail}
    onRefer: ask
  - {{title: publish}}
  - {{title: repair}}
  - {{title: ask}}
{more}
"
    )
}

fn run(yaml: &str, script: impl FnMut(&State, &Effect) -> Response) -> Simulation {
    let mut simulation = Simulation::new(yaml, options());
    simulation.run(script);
    simulation
}

/// The grader answers like this, one after the other and the last for ever; everybody else is content.
fn graded(answers: &[Response]) -> impl FnMut(&State, &Effect) -> Response {
    let mut answers = answers.to_vec();
    move |state, effect| match effect {
        Effect::Job { job: Job::Grade(_), .. } if answers.len() > 1 => answers.remove(0),
        Effect::Job { job: Job::Grade(_), .. } => answers[0].clone(),
        _ => good(state, effect),
    }
}

const GOOD: Response = Response::Score(90);
const BAD: Response = Response::Score(10);
const UNSURE: Response = Response::Unreadable;

/// The tasks that are not taken, by number.
fn left_out(state: &State) -> Vec<u32> {
    let ids = state.plan.task_ids();
    ids.filter(|id| state.task(*id).not_taken).map(|id| id.0).collect()
}

fn routed(simulation: &Simulation) -> Vec<(Edge, u32)> {
    let events = simulation.journal.iter().flatten();
    events
        .filter_map(|event| match event {
            Event::Task(_, TaskEvent::EdgeTaken { edge, visit, .. }) => Some((*edge, *visit)),
            _ => None,
        })
        .collect()
}

/// Whoever reads the journal knows the same, after each record.
fn replays(simulation: &Simulation) {
    let mut replayed = Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    let facts = |state: &State| {
        let tasks: Vec<_> = state
            .tasks
            .iter()
            .map(|task| (task.status(), task.not_taken, task.edge(), task.course.visits))
            .collect();
        let gates: Vec<_> = state.gates.iter().map(|gate| (gate.open, gate.left)).collect();
        (tasks, gates, state.sums.counts)
    };
    assert_eq!(facts(&replayed.state), facts(&simulation.state));
    // And so does whoever makes it anew from where the tasks stand.
    replayed.state.derive();
    assert_eq!(facts(&replayed.state), facts(&simulation.state));
}

#[test]
fn a_verdict_takes_its_edge_and_leaves_out_what_only_the_others_lead_to() {
    for (answer, edge, taken, left) in [
        (GOOD, Edge::Pass, PUBLISH, [3, 4]),
        (BAD, Edge::Fail, REPAIR, [2, 4]),
        (UNSURE, Edge::Refer, ASK, [2, 3]),
    ] {
        let simulation = run(&mission("repair", ""), graded(&[answer]));
        let state = &simulation.state;
        assert_eq!(routed(&simulation), [(edge, 1)]);
        assert_eq!(left_out(state), left);
        assert_eq!(state.task(taken).status(), Done, "{edge:?}");
        assert_eq!(state.left_out_by(TaskId(left[0])), Some((VERIFY, edge)));
        assert_eq!(state.left_out_by(taken), None);
        assert_eq!((state.sums.counts.selected, state.sums.counts.not_taken), (3, 2));
        assert_eq!(outcome(state).class, OutcomeClass::Ok);
        assert!(!state.is_unfinished());
        assert_eq!(simulation.turns.len(), 2, "a verification has no worker");
        replays(&simulation);
    }
}

#[test]
fn work_that_fails_is_done_again_and_judged_again() {
    let simulation = run(&mission("write", ""), graded(&[BAD, BAD, GOOD]));
    let state = &simulation.state;
    assert_eq!(routed(&simulation), [(Edge::Fail, 1), (Edge::Fail, 2), (Edge::Pass, 3)]);
    assert_eq!((state.task(WRITE).attempt.number, state.task(VERIFY).attempt.number), (3, 3));
    assert_eq!(statuses(state), [Done, Done, Done, Done, Pending]);
    assert_eq!(left_out(state), [4], "nothing leads to `repair`, so it is simply a task");
    assert_eq!(outcome(state).class, OutcomeClass::Ok);
    replays(&simulation);
}

#[test]
fn work_that_always_fails_ends_with_the_last_visit() {
    let simulation = run(&mission("write", ""), graded(&[BAD]));
    let state = &simulation.state;
    assert_eq!(routed(&simulation), [(Edge::Fail, 1), (Edge::Fail, 2)]);
    assert_eq!(state.task(VERIFY).status(), Failed);
    assert_eq!(state.task(VERIFY).mode(), Some(FailureMode::Quality));
    assert_eq!(state.task(PUBLISH).mode(), Some(FailureMode::Cascade), "nothing stands in for a verdict");
    assert_eq!(outcome(state).class, OutcomeClass::TaskFailed);
    // One visit is none too many.
    let once = mission("write", "").replace("onRefer: ask", "onRefer: ask\n    maxVisits: 1");
    let simulation = run(&once, graded(&[BAD]));
    assert_eq!((routed(&simulation), simulation.state.task(WRITE).attempt.number), (vec![], 1));
}

#[test]
fn a_person_who_has_it_tried_again_gives_all_visits_again() {
    let mut simulation = run(&mission("write", ""), graded(&[BAD]));
    simulation.say(&Fact::RetryFailed);
    simulation.resume();
    simulation.run(graded(&[BAD, BAD, GOOD]));
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
    assert_eq!(simulation.state.task(VERIFY).course.visits, 3);
}

#[test]
fn a_judge_that_fails_has_given_no_verdict() {
    let lost = Response::Unreachable(FailureClass::Unknown);
    let simulation = run(&mission("repair", ""), graded(&[lost]));
    assert_eq!(simulation.state.task(VERIFY).status(), Status::AwaitingApproval);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Indeterminate);
    assert_eq!(left_out(&simulation.state), [0_u32; 0]);
    // Its session asks again and hears a verdict.
    let mut again = simulation_of(&simulation);
    again.resume();
    again.run(graded(&[GOOD]));
    assert_eq!(left_out(&again.state), [3, 4]);
    // Or a person says it: yes and no are verdicts.
    for (command, edge) in
        [(Command::approve(VERIFY, 1), Edge::Pass), (Command::reject(VERIFY, 1, "no"), Edge::Fail)]
    {
        let mut answered = simulation_of(&simulation);
        answered.say(&Fact::Operator(Box::new(OperatorInput { id: None, command, by: "ada".to_owned() })));
        answered.resume();
        answered.run(good);
        assert_eq!(routed(&answered), [(edge, 1)]);
    }
}

fn simulation_of(simulation: &Simulation) -> Simulation {
    Simulation::recovered(simulation.state.plan.clone(), &simulation.journal)
}

#[test]
fn what_can_be_reached_otherwise_runs_and_what_cannot_does_not() {
    let more = "
  - {title: announce, dependsOn: [publish]}
  - {title: join, dependsOn: [publish, repair]}
  - {title: report, dependsOn: [write, announce]}
  - {title: shut}
  - {title: late, dependsOn: [shut]}
qualityGates:
  - {name: g, afterTasks: [publish], blocksTasks: [shut], minScore: 60}
  - {name: h, afterTasks: [publish, repair], blocksTasks: [join], requireAllPassed: true}
checkpoints:
  - {name: c, afterTasks: [announce], blocksTasks: [report]}
";
    let simulation = run(&mission("repair", more), graded(&[BAD]));
    let state = &simulation.state;
    // publish, ask, announce, what a gate over it held, and what is built on that.
    assert_eq!(left_out(state), [2, 4, 5, 8, 9]);
    assert_eq!((state.task(TaskId(6)).status(), state.task(TaskId(7)).status()), (Done, Done));
    assert!(state.gates[0].left && state.gates[0].result.is_none());
    assert!(state.gates[1].result.as_ref().is_some_and(|result| result.passed));
    assert_eq!(conditions(state), [OutcomeClass::Ok], "no gate over nothing fails, and no checkpoint waits");
    replays(&simulation);
}

#[test]
fn a_verification_whose_work_has_left_the_run_passes_nothing() {
    let more = "
  - title: recheck
    type: verification
    dependsOn: [repair]
    acceptance: [it is good]
    verification: {grader: heuristic}
    onPass: announce
    onFail: shout
    onRefer: call
  - {title: announce}
  - {title: shout}
  - {title: call}
";
    let yaml = mission("repair", more).replace("onRefer: ask", "onRefer: recheck");
    // Whoever is asked about nothing finds nothing wrong with it.
    let simulation = run(&yaml, graded(&[UNSURE, GOOD]));
    let state = &simulation.state;
    assert_eq!(routed(&simulation), [(Edge::Refer, 1), (Edge::Refer, 1)]);
    assert_eq!(left_out(state), [2, 3, 6, 7]);
    assert_eq!(state.task(TaskId(8)).status(), Done);
    let events = simulation.journal.iter().flatten();
    let mut said = events.filter_map(|event| match event {
        Event::Task(_, TaskEvent::StageVerdict(report)) if report.task == TaskId(5) => {
            Some((report.verdict, report.cause, &report.findings))
        }
        _ => None,
    });
    let (verdict, cause, findings) = said.next_back().unwrap();
    assert_eq!((verdict, cause), (Verdict::Refer, Some(Cause::Artifact)));
    let why = "there is nothing to judge: 'repair' is not part of the run";
    assert_eq!(findings.iter().map(|found| &*found.description).collect::<Vec<_>>(), [why]);
    replays(&simulation);
}

#[test]
fn work_that_is_between_two_attempts_begins_anew_where_what_it_was_built_on_does() {
    let more = "  - {title: side, dependsOn: [write]}\n";
    let side = TaskId(5);
    let mut simulation = Simulation::new(&mission("write", more), options());
    let mut script = |state: &State, effect: &Effect| match effect {
        Effect::RunTurn { turn, .. } if turn.task == side => Response::AgentFailed(FailureClass::Unknown),
        Effect::Job { job: Job::Grade(_), .. } => BAD,
        _ => good(state, effect),
    };
    let is_grade = |effect: &Effect| matches!(effect, Effect::Job { job: Job::Grade(_), .. });
    // Everything but the verdict, until `side` has failed and nothing new may start.
    while simulation.state.task(side).status() != InProgress {
        let next = simulation.todo.iter().position(|effect| !is_grade(effect)).unwrap();
        simulation.perform(next, &mut script);
    }
    simulation.feed(&Fact::Operator(Box::new(OperatorInput {
        id: None,
        command: Command::Pause,
        by: "ada".to_owned(),
    })));
    while let Some(next) = simulation.todo.iter().position(|effect| !is_grade(effect)) {
        simulation.perform(next, &mut script);
    }
    let task = simulation.state.task(side);
    assert_eq!((task.status(), task.attempt.number, task.course.retries), (Pending, 2, 1));
    simulation.perform(0, &mut script);
    assert_eq!(routed(&simulation), [(Edge::Fail, 1)]);
    let task = simulation.state.task(side);
    assert_eq!(
        (task.status(), task.attempt.number, task.course.retries, task.course.tries),
        (Pending, 2, 0, 1)
    );
    replays(&simulation);
}

#[test]
fn a_verification_that_is_redone_decides_anew() {
    let more = "  - {title: announce, dependsOn: [publish]}\n  - {title: mend, dependsOn: [repair]}\n";
    let mut simulation = run(&mission("repair", more), graded(&[BAD]));
    assert_eq!(left_out(&simulation.state), [2, 4, 5]);
    simulation.say(&Fact::Redo(WRITE));
    assert_eq!(left_out(&simulation.state), [0_u32; 0], "its verdict is withdrawn");
    replays(&simulation);
    simulation.resume();
    simulation.run(graded(&[GOOD]));
    assert_eq!(left_out(&simulation.state), [3, 4, 6]);
    assert_eq!(statuses(&simulation.state), [Done, Done, Done, Pending, Pending, Done, Pending]);
    replays(&simulation);
}

#[test]
fn whatever_works_on_what_is_sent_back_is_stopped() {
    let more = "  - {title: translate, dependsOn: [write]}\n";
    let mut simulation = Simulation::new(&mission("write", more), options());
    let translate = TaskId(5);
    let mut script = graded(&[BAD, GOOD]);
    // Everything but the translation, which takes its time.
    let mut stopped = false;
    for _ in 0..200 {
        let is_held = |effect: &Effect| matches!(effect, Effect::RunTurn { turn, .. } if turn.task == translate && turn.attempt == 1);
        let at_work = simulation.state.task(translate).work.turn.is_some();
        let next = simulation.todo.iter().position(|effect| {
            !is_held(effect)
                && (at_work
                    || !matches!(effect, Effect::Job { turn: TurnId { attempt: 1, .. }, job: Job::Grade(_) }))
        });
        let Some(index) = next else { break };
        stopped |= matches!(simulation.todo[index], Effect::StopTask(task) if task == translate);
        simulation.perform(index, &mut script);
    }
    assert!(stopped, "its agent is ended");
    let lost = simulation
        .count(|event| matches!(event, Event::Turn(turn, TurnEvent::Lost) if turn.task == translate));
    assert_eq!(lost, 1);
    simulation.run(good);
    assert_eq!(simulation.state.task(translate).attempt.number, 2);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}

#[test]
fn two_verifications_of_the_same_work_come_to_an_end() {
    let more = "
  - {title: second, type: verification, dependsOn: [write], acceptance: [x], verification: {grader: heuristic},
     onPass: publish, onFail: write, onRefer: ask}
";
    let yaml = mission("write", more);
    for first_fails in [true, false] {
        let mut turn = u32::from(first_fails);
        let script = move |state: &State, effect: &Effect| match effect {
            // By turns each of them fails and the other one passes.
            Effect::Job { turn: TurnId { task, .. }, job: Job::Grade(_) } => {
                turn += 1;
                if (turn % 2 == 0) == (*task == VERIFY) { BAD } else { GOOD }
            }
            _ => good(state, effect),
        };
        let simulation = run(&yaml, script);
        assert!(routed(&simulation).len() <= 8, "{:?}", routed(&simulation));
        replays(&simulation);
    }
}

#[test]
fn every_crash_leaves_a_run_that_can_go_on() {
    let more = "  - {title: announce, dependsOn: [publish]}\n  - {title: join, dependsOn: [announce, ask]}\n";
    let whole = run(&mission("write", more), graded(&[BAD, GOOD]));
    for end in 1..=whole.journal.len() {
        let mut simulation = Simulation::recovered(whole.state.plan.clone(), &whole.journal[..end]);
        replays(&simulation);
        simulation.resume();
        simulation.run(graded(&[GOOD]));
        assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok, "after {end} records");
        assert_eq!(left_out(&simulation.state), [4], "after {end} records");
        assert!(simulation.state.task(WRITE).attempt.number <= 2);
    }
}

#[test]
fn a_route_into_what_the_run_leaves_out_is_no_success() {
    let only = |title: &str| RunOptions { only: vec![title.to_owned()], ..options() };
    for (answer, expected) in
        [(GOOD, OutcomeClass::Ok), (BAD, OutcomeClass::TaskFailed), (UNSURE, OutcomeClass::Awaiting)]
    {
        let mut simulation = Simulation::new(&mission("repair", ""), only("publish"));
        simulation.run(graded(&[answer]));
        assert_eq!(outcome(&simulation.state).class, expected);
    }
}

#[test]
fn checks_alone_may_decide_and_a_checked_verification_asks_nobody() {
    let yaml = mission("repair", "").replace(
        "acceptance: [it is good]\n    verification: {grader: heuristic}",
        "expectations: [{type: script, command: x}]",
    );
    for (passes, edge) in [(true, Edge::Pass), (false, Edge::Fail)] {
        let script = move |state: &State, effect: &Effect| match effect {
            Effect::Job { job: Job::Check(_), .. } => Response::Check(passes),
            _ => good(state, effect),
        };
        let simulation = run(&yaml, script);
        assert_eq!(routed(&simulation), [(edge, 1)]);
        assert_eq!(
            simulation.count(|event| matches!(event, Event::Work(_, WorkEvent::Requested(Job::Grade(_))))),
            0
        );
    }
}

#[test]
fn nothing_is_started_twice_and_slots_are_given_back() {
    let yaml = mission("write", "").replace("run: [/bin/true]", "run: [/bin/true], maxConcurrent: 1");
    let mut simulation = Simulation::new(&yaml, options());
    let mut script = graded(&[BAD, GOOD]);
    while !simulation.todo.is_empty() {
        let busy = simulation.state.tasks.iter().filter(|task| task.status() == InProgress);
        assert!(busy.count() <= 1);
        simulation.perform(0, &mut script);
    }
    assert_eq!(simulation.state.sums.counts.running, 0);
    assert_eq!(outcome(&simulation.state).class, OutcomeClass::Ok);
}
