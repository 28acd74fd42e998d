//! What was accepted must still stand: of what an audit speaks, and of what it does not (semantics, section 6).

use crate::domain::{Advice, AttemptKind, FailureMode, Millis, Money, Status, TaskId, Timestamp};
use crate::engine::{
    AuditReport, BudgetEvent, CheckResult, Command, Effect, Event, Fact, Job, Looks, RunEvent, apply, decide,
};

use super::operator::says;
use super::simulation::{Answer, Simulation, good, inputs, options, statuses};

const MISSION: &str = "name: m
settings: {concurrency: 1}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: first, expectations: [{type: test, command: x}]}
  - {title: second, dependsOn: [first], review: none, targetFiles: [a]}
";
const FIRST: TaskId = TaskId(0);

/// Performs whatever is due, one by one, until such an effect is next.
fn run_until(simulation: &mut Simulation, wanted: impl Fn(&Effect) -> bool) {
    while !simulation.todo.front().is_some_and(&wanted) {
        assert!(!simulation.todo.is_empty(), "it never became due");
        simulation.perform(0, &mut good);
    }
}

#[test]
fn an_audit_says_nothing_of_what_was_accepted_while_it_was_made() {
    let mut simulation = Simulation::new(MISSION, options());
    run_until(&mut simulation, |effect| {
        matches!(
            effect,
            Effect::Job {
                job: Job::Scan { .. },
                ..
            }
        )
    });
    simulation.resume();
    assert!(simulation.state.audit.out, "the first task is accepted");
    let scan = simulation.todo.iter();
    let scan = scan.enumerate().find(|(_, effect)| {
        matches!(
            effect,
            Effect::Job {
                job: Job::Scan { .. },
                ..
            }
        )
    });
    let (scan, _) = scan.expect("it is looked for again");
    simulation.perform(scan, &mut |_, _| Answer::Files(Some(1), 1));
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    // It looked before the second task was accepted.
    simulation
        .todo
        .retain(|effect| !matches!(effect, Effect::Audit { .. }));
    let passed = CheckResult {
        passed: true,
        message: String::new(),
        duration: Millis(1),
    };
    simulation.feed(&Fact::Audited(Box::new(AuditReport {
        number: simulation.state.audit.number,
        looks: vec![(FIRST, Vec::new())],
        checks: vec![(FIRST, 0, passed)],
        ..AuditReport::default()
    })));
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    simulation.run(good);
    let audits = simulation.count(|event| matches!(event, Event::Run(RunEvent::AuditFinished { .. })));
    assert_eq!(audits, 2, "the second task is looked at before the run ends");
}

/// The audit that is next finds that no check passes any more.
fn nothing_passes(simulation: &mut Simulation) {
    run_until(simulation, |effect| matches!(effect, Effect::Audit { .. }));
    simulation.todo.clear();
    let state = &simulation.state;
    let looks: Looks = state.covered().map(|(id, _)| (id, Vec::new())).collect();
    let failed = |(task, check)| {
        let result = CheckResult {
            passed: false,
            message: "x".to_owned(),
            duration: Millis(1),
        };
        (task, check, result)
    };
    let report = AuditReport {
        number: state.audit.number,
        checks: state.checks_due(&looks).into_iter().map(failed).collect(),
        looks,
        ..AuditReport::default()
    };
    simulation.feed(&Fact::Audited(Box::new(report)));
}

#[test]
fn work_is_done_again_twice_beside_its_limits_and_then_fails_in_whatever_session() {
    let mission = "name: m
settings: {finalChecks: always}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: only, maxAttempts: 1, onExhausted: fixup, expectations: [{type: test, command: x}]}
";
    let mut simulation = Simulation::new(mission, options());
    for attempt in [2, 3] {
        nothing_passes(&mut simulation);
        let task = simulation.state.task(FIRST);
        assert_eq!(
            (task.attempt.number, task.attempt.kind),
            (attempt, AttemptKind::Fix)
        );
        assert_eq!(
            (task.course.tries, task.course.fixes),
            (1, 0),
            "it is in no allowance"
        );
        assert_eq!((task.flag(), task.acceptance().is_none()), (None, true));
    }
    run_until(&mut simulation, |effect| matches!(effect, Effect::Audit { .. }));
    simulation.resume();
    assert_eq!(
        simulation.state.audit.of_session, 1,
        "each session counts its own"
    );
    nothing_passes(&mut simulation);
    let task = simulation.state.task(FIRST);
    assert_eq!(
        (task.status(), task.mode(), task.attempt.number),
        (Status::Failed, Some(FailureMode::Regressed), 3)
    );
    simulation.run(good);
    assert_eq!(simulation.state.plan.tasks.len(), 1, "nobody gets a fixup");
}

#[test]
fn what_was_dropped_before_work_is_done_again_is_settled_and_refused() {
    let mission = "name: m
settings: {finalChecks: always}
agents: {w: {run: [/bin/true]}, j: {run: [/bin/true]}}
tasks:
  - {title: only, assignTo: w, expectations: [{type: test, command: x}], requiresApproval: {approvers: [j]}}
";
    let mut simulation = Simulation::new(mission, options());
    let is_ask = |effect: &Effect| matches!(effect, Effect::Ask { .. });
    run_until(&mut simulation, is_ask);
    let asked = simulation.todo.pop_front().expect("somebody is asked");
    // A person is faster, and nobody waits for the agent any more.
    simulation.feed(&says(Command::Approve {
        task: FIRST,
        number: 1,
    }));
    nothing_passes(&mut simulation);
    let task = simulation.state.task(FIRST);
    assert_eq!(
        (task.attempt.number, task.course.regressions),
        (2, 1),
        "its work is done again"
    );
    let before = *simulation.state.ledger.spent();
    let no = Advice::Reject {
        reason: "no".to_owned(),
    };
    let mut late = inputs(&simulation.state, &asked, &Answer::Advice(no)).remove(0);
    let cost: Option<Money> = Some("0.5".parse().unwrap());
    if let Fact::AskReplied { reply, .. } = &mut late {
        reply.usage.cost = cost;
    }
    let settled = decide(&simulation.state, &late, Timestamp(9));
    assert!(
        matches!(&settled[..], [Event::Budget(BudgetEvent::Settled { .. })]),
        "{settled:?}"
    );
    apply(&mut simulation.state, &settled[0]);
    assert_eq!(decide(&simulation.state, &late, Timestamp(9)), []);
    let spent = simulation.state.ledger.spent();
    assert_eq!((spent.requests, spent.cost), (before.requests, cost));
    // The no was to another start than the one that is asked about now.
    simulation.feed(&says(Command::Approve {
        task: FIRST,
        number: 2,
    }));
    simulation.run(good);
    let task = simulation.state.task(FIRST);
    assert_eq!((task.status(), task.attempt.number), (Status::Done, 2));
}
