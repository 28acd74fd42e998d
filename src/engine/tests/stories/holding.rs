//! What stands between tasks: checkpoints, delays, gates; and who lets them pass.

use crate::domain::{GateId, HoldId, TaskId};
use crate::engine::{Command, Input};

use super::super::simulation::good;
use super::{Step, told};

const TASKS: &str = "name: m
agents:
  w: {run: [/bin/true]}
tasks:
  - {title: a, assignTo: w, review: none}
  - {title: b, assignTo: w, review: none}
  - {title: c, assignTo: w, review: none, dependsOn: [b]}
";

const CHECKPOINT: &str = "checkpoints: [{name: h, afterTasks: [a], blocksTasks: [b]}]\n";

fn pass(number: u32) -> Step {
    let hold = HoldId(0);
    Step::Says(Command::PassCheckpoint { hold, number })
}

fn refuse(number: u32) -> Step {
    Step::Says(Command::RejectCheckpoint {
        hold: HoldId(0),
        number,
        reason: "no".to_owned(),
    })
}

fn redo(task: u32) -> Step {
    Step::Comes(Input::Redo(TaskId(task)))
}

#[test]
fn a_checkpoint_is_passed_by_a_person_and_again_when_its_work_is_redone() {
    let yaml = format!("{TASKS}{CHECKPOINT}");
    let steps = vec![
        pass(2),
        pass(1),
        pass(1),
        Step::Resumes,
        redo(0),
        Step::Resumes,
        pass(1),
        pass(2),
    ];
    insta::assert_snapshot!(told(&yaml, good, steps));
}

#[test]
fn a_checkpoint_that_is_refused_fails_what_it_blocks_until_that_is_tried_again() {
    let yaml = format!("{TASKS}{CHECKPOINT}");
    let steps = vec![
        refuse(1),
        pass(1),
        Step::Comes(Input::RetryFailed),
        Step::Resumes,
        pass(2),
    ];
    insta::assert_snapshot!(told(&yaml, good, steps));
}

#[test]
fn a_checkpoint_before_nothing_that_is_open_asks_nobody() {
    let yaml = format!("{TASKS}{CHECKPOINT}");
    let steps = vec![
        Step::Says(Command::CancelTask { task: TaskId(1) }),
        pass(1),
        Step::Comes(Input::RetryFailed),
        Step::Resumes,
        pass(1),
    ];
    insta::assert_snapshot!(told(&yaml, good, steps));
}

#[test]
fn a_delay_passes_by_itself_in_this_session_or_a_later_one() {
    let yaml = format!("{TASKS}delays: [{{name: h, afterTasks: [a], blocksTasks: [b], duration: 5s}}]\n");
    let steps = vec![
        Step::TimePasses,
        redo(0),
        Step::Resumes,
        Step::Resumes,
        Step::TimePasses,
    ];
    insta::assert_snapshot!(told(&yaml, good, steps));
    let steps = vec![
        Step::Says(Command::Pause),
        pass(1),
        Step::Resumes,
        Step::TimePasses,
    ];
    insta::assert_snapshot!("a_paused_run_waits_for_no_delay", told(&yaml, good, steps));
}

#[test]
fn a_gate_is_let_pass_once_it_has_failed() {
    let gate = |more: &str| {
        format!("{TASKS}qualityGates: [{{name: g, afterTasks: [a], blocksTasks: [b], minScore: 4{more}}}]\n")
    };
    let over = || {
        Step::Says(Command::OverrideGate {
            gate: GateId(0),
            reason: "risk".to_owned(),
        })
    };
    for (name, more) in [("continue", ""), ("halt", ", onFail: halt")] {
        let steps = vec![over(), over(), Step::Resumes];
        insta::assert_snapshot!(
            format!("a_gate_is_overridden_{name}"),
            told(&gate(more), good, steps)
        );
    }
}

#[test]
fn a_stop_a_pause_and_a_wait_end_a_session_each_in_its_way() {
    let yaml = format!("{TASKS}{CHECKPOINT}");
    let steps = vec![
        Step::TimePasses,
        Step::Resumes,
        Step::Says(Command::Pause),
        Step::Resumes,
        pass(1),
    ];
    insta::assert_snapshot!(told(&yaml, good, steps));
}

#[test]
fn a_run_waits_anew_at_each_of_two_checkpoints() {
    let two = "checkpoints: [{name: h, afterTasks: [a], blocksTasks: [b]}, {name: i, afterTasks: [a], blocksTasks: [b]}]\n";
    let other = Step::Says(Command::PassCheckpoint {
        hold: HoldId(1),
        number: 1,
    });
    insta::assert_snapshot!(told(&format!("{TASKS}{two}"), good, vec![pass(1), other]));
}

#[test]
fn what_is_done_again_before_anything_waits_for_it_is_waited_for() {
    // Nothing is left behind the checkpoint when its task ends, so it is not reached; then both are to be done again.
    let mut simulation = super::Simulation::new(&format!("{TASKS}{CHECKPOINT}"), super::patient());
    let says = |simulation: &mut super::Simulation, command| {
        simulation.feed(&super::super::operator::says(command));
    };
    says(&mut simulation, Command::CancelTask { task: TaskId(1) });
    simulation.run(good);
    assert_eq!(simulation.state.holds[0].number, 0);
    assert!(simulation.say(&Input::Redo(TaskId(0))));
    super::super::properties::is_up_to_date(&simulation.state);
    simulation.resume();
    assert_eq!(simulation.state.holds[0].number, 0, "its task is at work again");
    super::perform_all(&mut simulation, &mut good);
    assert_eq!(simulation.state.holds[0].number, 1);
}

#[test]
fn a_checkpoint_holds_as_long_as_any_of_what_it_blocks_is_open() {
    let yaml = format!("{TASKS}{}", CHECKPOINT.replace("[b]", "[b, c]"));
    let mut simulation = super::Simulation::new(&yaml, super::patient());
    let cancel = Command::CancelTask { task: TaskId(2) };
    simulation.feed(&super::super::operator::says(cancel));
    super::perform_all(&mut simulation, &mut good);
    assert_eq!(simulation.state.checkpoints_that_wait().count(), 1);
}
