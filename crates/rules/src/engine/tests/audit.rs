//! What was accepted must still stand: of what an audit speaks, and of what it does not (semantics, section 6).

use crate::domain::{Answer, AttemptKind, Digest, FailureMode, Millis, Money, Status, TaskId, Timestamp};
use crate::engine::{
    AskReply, AuditEvidence, BudgetEvent, CheckResult, Command, Effect, Event, Fact, FileFact, Job, Looks,
    RunEvent, State, TaskEvent, TurnEvent, apply, decide, may_be_made,
};

use crate::engine::audit::{AuditStanding, differing};

use super::operator::says;
use super::simulation::{Response, Simulation, good, inputs, options, report_of, statuses};

const MISSION: &str = "name: m
settings: {concurrency: 1}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: first, expectations: [{type: test, command: x}]}
  - {title: second, dependsOn: [first], review: none, targetFiles: [a]}
";
const FIRST: TaskId = TaskId(0);

#[test]
fn only_files_that_are_others_than_they_were_differ() {
    let plan = Simulation::new(MISSION, options()).state.plan.clone();
    let file = |content: &str| FileFact {
        path: "a".to_owned(),
        size: Some(3),
        digest: Some(Digest::of(content.as_bytes())),
        obstacle: None,
        stored: None,
    };
    let differ = |before: &[FileFact], now: &[FileFact]| differing(plan.task(TaskId(1)), before, now);
    assert!(differ(&[file("one")], &[file("one")]).is_empty());
    assert_eq!(differ(&[file("one")], &[file("two")]), ["a"]);
    assert_eq!(differ(&[file("one")], &[]), ["a"]);
    assert_eq!(differ(&[], &[file("two")]), ["a"]);
}

fn passed() -> CheckResult {
    CheckResult { passed: true, message: String::new(), duration: Millis(1), reruns: 0 }
}

/// The audit that is out has seen this.
fn feed_audit(simulation: &mut Simulation, seen: AuditEvidence) {
    let number = simulation.state.audit.number;
    simulation.feed(&Fact::Audited(Box::new(report_of(number, seen))));
}

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
    run_until(&mut simulation, |effect| matches!(effect, Effect::Job { job: Job::Scan { .. }, .. }));
    simulation.resume();
    assert!(simulation.state.audit.out, "the first task is accepted");
    let scan = simulation.todo.iter();
    let scan =
        scan.enumerate().find(|(_, effect)| matches!(effect, Effect::Job { job: Job::Scan { .. }, .. }));
    let (scan, _) = scan.expect("it is looked for again");
    simulation.perform(scan, &mut |_, _| Response::Files(Some(1), 1));
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    // It looked before the second task was accepted.
    simulation.todo.retain(|effect| !matches!(effect, Effect::Audit { .. }));
    let mut seen = AuditEvidence { looks: vec![(FIRST, Vec::new())], ..AuditEvidence::default() };
    seen.take(FIRST, 0, passed());
    feed_audit(&mut simulation, seen);
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    simulation.run(good);
    let audits = simulation.count(|event| matches!(event, Event::Run(RunEvent::AuditFinished { .. })));
    assert_eq!(audits, 2, "the second task is looked at before the run ends");
}

/// A session begins while a merge is under way: what comes in by it is for the next audit.
#[test]
fn work_that_is_merged_while_an_audit_looks_takes_nothing_from_what_was_accepted() {
    let mission = MISSION.replace("settings:", "isolation: worktree\nsettings:");
    let mut simulation = Simulation::new(&mission, options());
    let merges = |task: TaskId| move |effect: &Effect| matches!(effect, Effect::Job { turn, job: Job::Merge(_), .. } if turn.task == task);
    run_until(&mut simulation, merges(TaskId(1)));
    simulation.resume();
    assert!(simulation.state.audit.out, "the first task is accepted");
    // It runs the check, and then the second task's work comes in.
    let looks: Looks = vec![(FIRST, Vec::new())];
    assert_eq!(simulation.state.checks_due(&looks), [(FIRST, 0)]);
    while let Some(at) = simulation.todo.iter().position(merges(TaskId(1))) {
        simulation.perform(at, &mut good);
    }
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    simulation.todo.retain(|effect| !matches!(effect, Effect::Audit { .. }));
    let mut seen = AuditEvidence { looks: looks.clone(), ..AuditEvidence::default() };
    seen.take(FIRST, 0, passed());
    feed_audit(&mut simulation, seen);
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
    run_until(&mut simulation, |effect| matches!(effect, Effect::Audit { .. }));
    assert_eq!(simulation.state.checks_due(&looks), [(FIRST, 0)], "the next one runs it");
}

/// The audit that is next finds that no check passes any more.
fn nothing_passes(simulation: &mut Simulation) {
    run_until(simulation, |effect| matches!(effect, Effect::Audit { .. }));
    simulation.todo.clear();
    let state = &simulation.state;
    let looks: Looks = state.covered().map(|(id, _)| (id, Vec::new())).collect();
    let mut seen = AuditEvidence::default();
    for (task, check) in state.checks_due(&looks) {
        let result = CheckResult { passed: false, message: "x".to_owned(), duration: Millis(1), reruns: 0 };
        seen.take(task, check, result);
    }
    seen.looks = looks;
    feed_audit(simulation, seen);
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
        assert_eq!((task.attempt.number, task.attempt.kind), (attempt, AttemptKind::Fix));
        assert_eq!((task.course.tries, task.course.fixes), (1, 0), "it is in no allowance");
        assert_eq!((task.flag(), task.acceptance().is_none()), (None, true));
    }
    run_until(&mut simulation, |effect| matches!(effect, Effect::Audit { .. }));
    simulation.resume();
    assert_eq!(simulation.state.audit.of_session, 1, "each session counts its own");
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
    simulation.feed(&says(Command::approve(FIRST, 1)));
    nothing_passes(&mut simulation);
    let task = simulation.state.task(FIRST);
    assert_eq!((task.attempt.number, task.course.regressions), (2, 1), "its work is done again");
    let before = *simulation.state.ledger.spent();
    let no = Answer::Reject { reason: "no".to_owned() };
    let mut late = inputs(&simulation.state, &asked, &Response::Answer(no)).remove(0);
    let cost: Option<Money> = Some("0.5".parse().unwrap());
    if let Fact::AskReplied(AskReply { reply, .. }) = &mut late {
        reply.usage.cost = cost;
    }
    let settled = decide(&simulation.state, &late, Timestamp(9));
    assert!(matches!(&settled[..], [Event::Budget(BudgetEvent::Settled { .. })]), "{settled:?}");
    apply(&mut simulation.state, &settled[0]);
    assert_eq!(decide(&simulation.state, &late, Timestamp(9)), []);
    let spent = simulation.state.ledger.spent();
    assert_eq!((spent.requests, spent.cost), (before.requests, cost));
    // The no was to another start than the one that is asked about now.
    simulation.feed(&says(Command::approve(FIRST, 2)));
    simulation.run(good);
    let task = simulation.state.task(FIRST);
    assert_eq!((task.status(), task.attempt.number), (Status::Done, 2));
}

/// `first` stands behind `second` in what they wait for, and before it in the file.
const TURNED_ROUND: &str = "name: m
settings: {concurrency: 2}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: first, dependsOn: [second], review: none, targetFiles: [a]}
  - {title: second, review: none, targetFiles: [a]}
";

/// The audit that is next finds no file any more.
fn no_file_is_there(simulation: &mut Simulation) {
    run_until(simulation, |effect| matches!(effect, Effect::Audit { .. }));
    simulation.todo.clear();
    let state = &simulation.state;
    let gone = |id: TaskId| {
        let files = state.plan.task(id).target_files.iter();
        files.map(|path| crate::engine::FileFact {
            path: path.to_string(),
            size: None,
            digest: None,
            obstacle: None,
            stored: None,
        })
    };
    let looks = state.covered().map(|(id, _)| (id, gone(id).collect()));
    let seen = AuditEvidence { looks: looks.collect(), ..AuditEvidence::default() };
    feed_audit(simulation, seen);
}

#[test]
fn regressed_work_of_one_file_never_goes_ahead_of_what_it_waits_for() {
    let mut simulation = Simulation::new(TURNED_ROUND, options());
    no_file_is_there(&mut simulation);
    assert_eq!(statuses(&simulation.state)[0], Status::Pending);
    assert_ne!(statuses(&simulation.state)[1], Status::Pending, "it goes first");
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
}

/// What a fixup that nobody reviewed has mended counts as failed, until the fixup is done again.
#[test]
fn regressed_work_never_goes_ahead_of_the_fixup_of_what_it_needs() {
    let mission = "name: m
onExhausted: fixup
settings: {maxFixAttempts: 0, maxRetries: 0, orchestrator: o}
agents: {w: {run: [/bin/true]}, o: {run: [/bin/true]}}
tasks:
  - {title: broken, assignTo: w, review: none, targetFiles: [a]}
  - {title: after, assignTo: w, dependsOn: [broken], review: none, targetFiles: [a]}
";
    let mut simulation = Simulation::new(mission, options());
    let without = |state: &State, effect: &Effect| match effect {
        Effect::Job { turn, job: Job::Scan { .. } } if turn.task == FIRST => Response::Files(None, 0),
        Effect::Ask { .. } => Response::Answer(Answer::Absorb { prompt: "without it".to_owned() }),
        _ => good(state, effect),
    };
    simulation.run(without);
    use Status::{Done, Failed, Pending};
    assert_eq!(statuses(&simulation.state), [Failed, Done, Done]);
    simulation.resume();
    no_file_is_there(&mut simulation);
    let after = simulation.state.task(TaskId(1)).status();
    let fixup = simulation.state.task(TaskId(2)).status();
    assert!(after == Pending && fixup != Pending, "the fixup goes first: {after:?}, {fixup:?}");
    simulation.run(without);
    assert_eq!(statuses(&simulation.state), [Failed, Done, Done]);
}

#[test]
fn an_attempt_to_restore_work_whose_files_cannot_be_watched_has_not_restored_it() {
    let mission = TURNED_ROUND.replace("dependsOn: [second], ", "protect: [tests], ");
    let mut simulation = Simulation::new(&mission, options());
    no_file_is_there(&mut simulation);
    run_until(&mut simulation, |effect| matches!(effect, Effect::NoteFiles { .. }));
    let Some(Effect::NoteFiles { turn, .. }) = simulation.todo.pop_front() else {
        panic!("its files are noted");
    };
    simulation.feed(&Fact::FilesNoted {
        turn,
        starts: 0,
        shared: false,
        result: Err("it is gone".to_owned()),
    });
    let task = simulation.state.task(FIRST);
    assert_eq!(task.mode(), Some(FailureMode::Regressed));
}

#[test]
fn a_verification_that_was_to_judge_once_more_and_is_redone_decides_anew() {
    let mission = "name: m
settings: {finalChecks: always}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: plan}
  - {title: write, dependsOn: [plan], expectations: [{type: test, command: x}]}
  - title: verify
    type: verification
    dependsOn: [write]
    acceptance: [it is good]
    verification: {grader: heuristic}
    onPass: publish
    onFail: repair
    onRefer: ask
  - {title: publish}
  - {title: repair}
  - {title: ask}
";
    let left_out = |simulation: &Simulation| -> Vec<bool> {
        let tasks = simulation.state.tasks.iter();
        tasks.map(|task| task.not_taken).collect()
    };
    let mut simulation = Simulation::new(mission, options());
    nothing_passes(&mut simulation);
    let verify = simulation.state.task(TaskId(2));
    assert_eq!((verify.status(), verify.reopened.is_some()), (Status::Pending, true));
    assert_eq!(left_out(&simulation), [false, false, false, false, true, true]);
    simulation.say(&Fact::Redo(FIRST));
    assert_eq!(left_out(&simulation), [false; 6], "its verdict is withdrawn");
    let kept = simulation.state.sums.counts;
    simulation.state.derive();
    assert_eq!((left_out(&simulation), simulation.state.sums.counts), (vec![false; 6], kept));
    simulation.resume();
    simulation.run(|state, effect| match effect {
        Effect::Job { job: Job::Grade(_), .. } => Response::Score(10),
        _ => good(state, effect),
    });
    use Status::{Done, Pending};
    assert_eq!(statuses(&simulation.state), [Done, Done, Done, Pending, Done, Pending]);
}

/// Two of them would write the record that the turn is held against, one after the other, and neither would vouch for it.
#[test]
fn what_waits_for_an_audit_is_begun_once() {
    let notes = |effect: &Effect| matches!(effect, Effect::NoteFiles { .. });
    let mut simulation = Simulation::new(
        "name: m
settings: {concurrency: 1}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: first, expectations: [{type: file_exists, paths: [x]}]}
  - {title: second, dependsOn: [first], protect: [a]}
",
        options(),
    );
    run_until(&mut simulation, notes);
    simulation.todo.clear();
    simulation.resume();
    let may_be_noted = |simulation: &Simulation| {
        let due = simulation.todo.iter().filter(|effect| notes(effect));
        due.filter(|effect| may_be_made(&simulation.state, effect)).count()
    };
    assert!(simulation.state.audit.out, "the first task is accepted");
    assert_eq!(may_be_noted(&simulation), 0, "it waits for the audit");
    // The session makes what is due at once.
    simulation.todo.retain(|effect| !notes(effect));
    let audit = simulation.todo.iter();
    let audit = audit.enumerate().find(|(_, effect)| matches!(effect, Effect::Audit { .. }));
    let (audit, _) = audit.expect("it is asked for");
    simulation.perform(audit, &mut good);
    assert_eq!(may_be_noted(&simulation), 1);
    simulation.run(good);
    assert_eq!(statuses(&simulation.state), [Status::Done, Status::Done]);
}

#[test]
fn what_was_accepted_is_open_until_one_audit_was_held() {
    let always = MISSION.replace("concurrency: 1", "concurrency: 1, finalChecks: always");
    let mut simulation = Simulation::new(&always, options());
    run_until(&mut simulation, |effect| matches!(effect, Effect::Audit { .. }));
    assert_eq!(simulation.state.audit_standing(), AuditStanding::Open);
    simulation.run(good);
    assert_eq!(simulation.state.audit.number, 1);
    assert_eq!(simulation.state.audit_standing(), AuditStanding::Held);
}

/// Five of them name one file, and the last of them, by the file, is what the second is built on.
const CHAIN: &str = "name: m
settings: {concurrency: 5}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: t0, review: none, targetFiles: [a]}
  - {title: t1, review: none, targetFiles: [a, b]}
  - {title: t2, review: none, targetFiles: [a]}
  - {title: t3, review: none, targetFiles: [b]}
  - {title: t4, review: none, targetFiles: [a, b]}
";

/// What each task waits for, by the state.
fn goes_behind(simulation: &Simulation) -> Vec<Vec<u32>> {
    let tasks = simulation.state.tasks.iter();
    let open = tasks.map(|task| task.reopened.as_deref());
    open.map(|open| open.map_or_else(Vec::new, |open| open.behind.iter().map(|id| id.0).collect())).collect()
}

#[test]
fn regressed_work_of_one_file_waits_for_the_one_before_it_and_for_no_other() {
    let mut simulation = Simulation::new(CHAIN, options());
    no_file_is_there(&mut simulation);
    let expected: [&[u32]; 5] = [&[], &[0], &[1], &[1], &[2, 3]];
    assert_eq!(goes_behind(&simulation), expected);
    let begun = |simulation: &Simulation| -> Vec<usize> {
        let tasks = simulation.state.tasks.iter().enumerate();
        let begun = tasks.filter(|(_, task)| task.status() != Status::Pending);
        begun.map(|(index, _)| index).collect()
    };
    assert_eq!(begun(&simulation), [0]);
    // Whoever leaves the order leaves its place to what waited for it.
    simulation.say(&says(Command::CancelTask { task: TaskId(1) }));
    assert_eq!(begun(&simulation), [0, 1], "nothing has begun beside the first");
    assert_eq!(goes_behind(&simulation), [&[] as &[u32], &[], &[0], &[0], &[2, 3]]);
    super::simulation::consistency::is_up_to_date(&simulation.state);
    simulation.run(good);
    use Status::{Done, Failed};
    assert_eq!(statuses(&simulation.state), [Done, Failed, Done, Done, Done]);
}

/// Each is built on the one before it, and all name one file.
const BUILT: &str = "name: m
settings: {concurrency: 4}
agents: {w: {run: [/bin/true]}}
tasks:
  - {title: t0, review: none, targetFiles: [a]}
  - {title: t1, dependsOn: [t0], review: none, targetFiles: [a]}
  - {title: t2, dependsOn: [t1], review: none, targetFiles: [a]}
  - {title: t3, dependsOn: [t2], review: none, targetFiles: [a]}
";

#[test]
fn a_middle_one_of_regressed_work_that_is_redone_takes_along_what_was_built_on_it() {
    use Status::{Done, Pending};
    let middle = Fact::Redo(TaskId(1));
    let starts = |simulation: &Simulation| -> Vec<u32> {
        let events = simulation.journal.iter().flatten();
        let started = events.filter_map(|event| match event {
            Event::Turn(turn, TurnEvent::Started(_)) => Some(turn.task.0),
            _ => None,
        });
        started.collect()
    };
    // Whether the file is gone once more when the session begins in which it is redone.
    for is_gone in [false, true] {
        let mut simulation = Simulation::new(BUILT, options());
        no_file_is_there(&mut simulation);
        let expected: [&[u32]; 4] = [&[], &[0], &[1], &[2]];
        assert_eq!(goes_behind(&simulation), expected);
        assert!(!simulation.say(&middle), "it is done again as it is");
        while statuses(&simulation.state)[1] != Done {
            simulation.perform(0, &mut good);
        }
        simulation.resume();
        assert!(simulation.say(&middle));
        assert_eq!(statuses(&simulation.state), [Done, Pending, Pending, Pending]);
        super::simulation::consistency::is_up_to_date(&simulation.state);
        let before = starts(&simulation).len();
        if is_gone {
            no_file_is_there(&mut simulation);
            super::simulation::consistency::is_up_to_date(&simulation.state);
        }
        simulation.run(good);
        assert_eq!(statuses(&simulation.state), [Done; 4]);
        let expected: &[u32] = if is_gone { &[0, 1, 2, 3] } else { &[1, 2, 3] };
        assert_eq!(starts(&simulation)[before..], *expected);
        let open = simulation.state.tasks.iter();
        assert_eq!(open.filter(|task| task.reopened.is_some()).count(), 0);
    }
}

/// A graph search for each pair of them once took the fourth power of their number.
#[test]
fn many_that_name_one_file_are_ordered_at_once_and_in_few_words() {
    let mut mission =
        "name: m\nsettings: {concurrency: 4}\nagents: {w: {run: [/bin/true]}}\ntasks:\n".to_owned();
    for n in 0..300 {
        mission.push_str(&format!("  - {{title: t{n}, review: none, targetFiles: [a]}}\n"));
    }
    let mut simulation = Simulation::new(&mission, options());
    no_file_is_there(&mut simulation);
    let behind = goes_behind(&simulation);
    assert!(behind.iter().skip(1).all(|behind| behind.len() == 1), "{behind:?}");
}

#[test]
fn an_audit_says_no_more_than_a_record_holds_and_the_next_one_goes_on() {
    let mut mission =
        "name: m\nsettings: {concurrency: 4}\nagents: {w: {run: [/bin/true]}}\ntasks:\n".to_owned();
    let name = "x".repeat(40_000);
    for n in 0..150 {
        mission.push_str(&format!("  - {{title: t{n}, review: none, targetFiles: [{name}{n}]}}\n"));
    }
    let mut simulation = Simulation::new(&mission, options());
    no_file_is_there(&mut simulation);
    let again = |simulation: &Simulation| {
        simulation.count(|event| matches!(event, Event::Task(_, TaskEvent::Regressed { .. })))
    };
    let first = again(&simulation);
    assert!((50..140).contains(&first), "{first}");
    assert_eq!(simulation.state.audit.of_session, 0, "it is none of the three");
    no_file_is_there(&mut simulation);
    assert!(again(&simulation) > first);
    assert_eq!(simulation.state.task(TaskId(0)).course.regressions, 2);
}
