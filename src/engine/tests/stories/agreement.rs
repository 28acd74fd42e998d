//! Somebody's agreement before a task starts, and before one with side effects acts again.

use crate::domain::{Advice, FailureClass, Status, TaskId};
use crate::engine::{Command, Input};
use crate::mission::RunOptions;

use super::super::simulation::{Answer, good};
use super::{Step, approve, patient, reject, told, world};

/// One task of this kind, among agents of every sort.
fn mission(task: &str) -> String {
    format!(
        "name: m\nagents:\n  w: {{run: [/bin/true]}}\n  o: {{run: [/bin/true]}}\n  k: {{run: [/bin/true]}}\n\
         tasks:\n  - {{title: a, assignTo: w, review: none{task}}}\n"
    )
}

fn open() -> Answer {
    Answer::Unreadable
}

fn advice(advice: Advice) -> Answer {
    Answer::Advice(advice)
}

#[test]
fn a_person_agrees_or_refuses() {
    for (name, step) in [("agrees", approve(0, 1)), ("refuses", reject(0, 1))] {
        let yaml = mission(", requiresApproval: true");
        insta::assert_snapshot!(format!("a_person_{name}"), told(&yaml, good, vec![step]));
    }
}

#[test]
fn who_is_asked_is_said() {
    let message = |approval: &str| {
        let text = told(&mission(&format!(", requiresApproval: {approval}")), good, vec![]);
        let line = text.lines().find(|line| line.starts_with("ApprovalRequested"));
        line.map(str::to_owned).unwrap_or_default()
    };
    let messages = [
        "{approvers: [ada]}",
        "{approvers: [ada, bob]}",
        "{approvers: [ada, bob, o, {command: x}]}",
        "{approvers: [ada], message: may it go?}",
    ];
    insta::assert_snapshot!(messages.map(message).join("\n"));
}

#[test]
fn approvers_are_asked_in_turn_and_after_a_while_again() {
    let yaml = mission(", requiresApproval: {approvers: [{command: x}, ada, o, k]}");
    let undecided = Advice::Undecided {
        reason: "hm".to_owned(),
    };
    let script = || {
        world(vec![
            ("AskApprover", open()),
            ("Consult", advice(undecided.clone())),
            ("Consult", advice(Advice::IsQuestion(true))),
            ("AskApprover", open()),
            ("Consult", Answer::Unreachable(FailureClass::ProviderAuth)),
            ("Consult", advice(Advice::Approve)),
        ])
    };
    insta::assert_snapshot!(told(&yaml, script(), vec![Step::TimePasses]));
    // Others may answer while some are asked, and a restart asks at once.
    let steps = vec![Step::Resumes];
    insta::assert_snapshot!("a_restart_asks_at_once", told(&yaml, script(), steps));
    let refused = Advice::Reject {
        reason: "not now".to_owned(),
    };
    let script = world(vec![("AskApprover", open()), ("Consult", advice(refused))]);
    insta::assert_snapshot!("an_agent_refuses", told(&yaml, script, vec![]));
    let script = world(vec![("AskApprover", Answer::Score(20))]);
    insta::assert_snapshot!("a_command_refuses", told(&yaml, script, vec![]));
}

#[test]
fn what_comes_too_late_or_from_nobody_that_is_asked_means_nothing() {
    let yaml = mission(", requiresApproval: {approvers: [{command: x}, {command: y}]}");
    let said = |number, approver| {
        Step::Comes(Input::ApproverSaid {
            task: TaskId(0),
            number,
            approver,
            said: crate::engine::ApproverSaid::Yes,
        })
    };
    let script = world(vec![("AskApprover", open()), ("AskApprover", open())]);
    let steps = vec![said(1, 0), said(2, 1), said(1, 7), reject(0, 1), said(1, 1)];
    insta::assert_snapshot!(told(&yaml, script, steps));
}

#[test]
fn one_approval_after_the_other_and_all_of_them_again_when_it_is_done_anew() {
    let gates =
        "settings: {approvalGates: [{name: g, when: \"task.priority > 2\", approvers: [{command: y}]}]}\n";
    let yaml = mission(", priority: 3, requiresApproval: true") + gates;
    let steps = vec![
        approve(0, 1),
        Step::Comes(Input::Redo(TaskId(0))),
        Step::Resumes,
        approve(0, 3),
        reject(0, 4),
    ];
    let script = world(vec![("AskApprover", Answer::Score(90)), ("AskApprover", open())]);
    insta::assert_snapshot!(told(&yaml, script, steps));
}

#[test]
fn whoever_left_it_open_is_not_asked_again_once_a_person_has_answered() {
    let yaml = mission(", requiresApproval: {approvers: [{command: x}]}");
    let mut simulation = super::Simulation::new(&yaml, patient());
    super::perform_all(&mut simulation, &mut world(vec![("AskApprover", open())]));
    let timers = |simulation: &super::Simulation| simulation.state.timers.iter().count();
    assert_eq!(timers(&simulation), 2, "to ask again, and the end of the wait");
    let Step::Says(command) = approve(0, 1) else {
        unreachable!()
    };
    simulation.feed(&super::super::operator::says(command));
    assert_eq!(timers(&simulation), 0);
}

#[test]
fn nobody_answers_in_time() {
    let refused = "settings: {autoRejectOnTimeout: true}\n";
    let twice = vec![Step::TimePasses, Step::TimePasses, Step::Resumes];
    for (name, settings, steps) in [
        ("waits_on", "", twice),
        ("is_refused", refused, vec![Step::TimePasses]),
    ] {
        let yaml = mission(", requiresApproval: {timeout: 2s}") + settings;
        insta::assert_snapshot!(format!("nobody_answers_{name}"), told(&yaml, good, steps));
    }
}

#[test]
fn what_is_agreed_to_starts_where_there_is_room() {
    let beside =
        |more: &str| format!("  - {{title: b, assignTo: w, review: none, requiresApproval: true{more}}}\n");
    // The answers come while the first task works.
    for (name, first, second, jobs) in [
        ("room_for_both", "", "", 2),
        ("no_slot", "", "", 1),
        ("one_alone", ", exclusive: true", "", 2),
        ("the_other_alone", "", ", exclusive: true", 2),
        ("an_agent_at_its_limit", "", "", 3),
    ] {
        let mut yaml = mission(&format!(", requiresApproval: true{first}")) + &beside(second);
        if name == "an_agent_at_its_limit" {
            yaml = yaml.replacen("]}", "], maxConcurrent: 1}", 1);
        }
        let options = RunOptions {
            jobs: Some(jobs),
            ..patient()
        };
        let plan = super::plan_of(&yaml, &options);
        let mut simulation = super::Simulation::new(&yaml, options);
        for task in [0, 1] {
            let Step::Says(command) = approve(task, 1) else {
                unreachable!()
            };
            simulation.feed(&super::super::operator::says(command));
        }
        simulation.run(good);
        insta::assert_snapshot!(name, super::telling(plan, &simulation.journal));
    }
}

#[test]
fn what_is_agreed_to_overtakes_nothing_that_waits_to_be_alone_and_starts_in_no_paused_run() {
    let others = "  - {title: b, assignTo: w, review: none, priority: 3}\n  - {title: alone, assignTo: w, review: none, \
                  exclusive: true, priority: 2}\n";
    let yaml = mission(", requiresApproval: true") + others;
    let says = |simulation: &mut super::Simulation, command| {
        simulation.feed(&super::super::operator::says(command));
    };
    let task = TaskId(0);
    let mut simulation = super::Simulation::new(&yaml, patient());
    assert!(simulation.state.tasks[1].holds_slot() && !simulation.state.tasks[2].holds_slot());
    says(&mut simulation, Command::Approve { task, number: 1 });
    assert_eq!(simulation.state.task(task).status, Status::Pending);
    let mut simulation = super::Simulation::new(&mission(", requiresApproval: true"), patient());
    says(&mut simulation, Command::Pause);
    says(&mut simulation, Command::Approve { task, number: 1 });
    assert_eq!(simulation.state.task(task).status, Status::Pending);
}

#[test]
fn only_a_person_makes_an_agent_with_side_effects_act_again() {
    let yaml = mission(", sideEffects: true");
    let fails = || ("RunTurn", Answer::AgentFailed(FailureClass::Unknown));
    let steps = vec![approve(0, 1), reject(0, 2)];
    insta::assert_snapshot!(
        "a_failed_agent_acts_again_by_a_persons_word",
        told(&yaml, world(vec![fails(), fails()]), steps)
    );
    let steps = vec![Step::Comes(Input::Redo(TaskId(0))), Step::Resumes, approve(0, 1)];
    insta::assert_snapshot!("done_work_is_redone_by_a_persons_word", told(&yaml, good, steps));
    let yaml = mission(", sideEffects: true, requiresApproval: true");
    let steps = vec![
        approve(0, 1),
        Step::Comes(Input::Redo(TaskId(0))),
        Step::Resumes,
        approve(0, 2),
        approve(0, 3),
    ];
    insta::assert_snapshot!(
        "agreement_and_the_word_for_acting_again",
        told(&yaml, good, steps)
    );
    let mut simulation = super::Simulation::new(&mission(", sideEffects: true"), patient());
    while simulation.running().is_empty() {
        simulation.perform(0, &mut good);
    }
    let mut later = super::Simulation::recovered(simulation.state.plan.clone(), &simulation.journal);
    later.resume();
    super::perform_all(&mut later, &mut good);
    assert_eq!(
        later.state.tasks[0].status,
        Status::AwaitingApproval,
        "its turn was lost"
    );
    let checked = mission(", sideEffects: true, expectations: [{type: test, command: x}]");
    let script = world(vec![
        ("RunCheck", Answer::Check(false)),
        ("RunCheck", Answer::Check(false)),
    ]);
    let steps = vec![approve(0, 1), Step::Says(Command::CancelTask { task: TaskId(0) })];
    insta::assert_snapshot!("failed_checks_are_put_to_a_person", told(&checked, script, steps));
    let script = world(vec![("RunTurn", Answer::NeverStarted(FailureClass::RateLimited))]);
    insta::assert_snapshot!(
        "a_refused_request_may_have_acted",
        told(&yaml, script, vec![approve(0, 1)])
    );
}
