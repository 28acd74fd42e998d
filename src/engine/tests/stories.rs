//! Stories: what the engine decides and asks for, step by step, when the world and people do this and that. One story a
//! rule. It is compared in full with its telling in `snapshots/`, so that whatever the rule changes shows.

mod agreement;
mod allowing;
mod asking;
mod deadlines;
mod escalated;
mod holding;
mod judged;
mod remedies;
mod routed;
mod rubric;
mod scrutinised;
mod spending;

use std::fmt::{Debug, Write as _};
use std::sync::Arc;

use crate::domain::{Millis, TaskId};
use crate::engine::{Command, Effect, Event, Input, OperatorInput, State, apply, effects, pending_effects};
use crate::mission::{ApproverPlan, Plan, RunOptions};

use super::properties::is_up_to_date;
use super::simulation::{Answer, Simulation, good, options, plan_of};

/// What happens once the world has done all that it was asked for.
#[allow(clippy::large_enum_variant, reason = "a story has a few steps")]
enum Step {
    /// A person says something.
    Says(Command),
    /// The next timer is due.
    TimePasses,
    /// Anything else that comes from outside.
    Comes(Input),
    /// The runner dies and another one goes on.
    Resumes,
}

/// Tells what becomes of a mission whose sessions wait a minute for people.
fn told(yaml: &str, script: impl FnMut(&State, &Effect) -> Answer, steps: Vec<Step>) -> String {
    told_with(yaml, patient(), script, steps)
}

fn patient() -> RunOptions {
    RunOptions {
        wait_approvals: Some(Millis::from_secs(60)),
        ..options()
    }
}

fn told_with(
    yaml: &str,
    options: RunOptions,
    mut script: impl FnMut(&State, &Effect) -> Answer,
    steps: Vec<Step>,
) -> String {
    let plan = plan_of(yaml, &options);
    let mut simulation = Simulation::new(yaml, options);
    let mut script: &mut dyn FnMut(&State, &Effect) -> Answer = &mut script;
    perform_all(&mut simulation, &mut script);
    for step in steps {
        match step {
            Step::Says(command) => simulation.feed(&Input::Operator(Box::new(OperatorInput {
                id: None,
                command,
                by: "ada".to_owned(),
            }))),
            Step::TimePasses => assert!(simulation.time_passes(), "nothing is waited for"),
            Step::Comes(input) => simulation.feed(&input),
            Step::Resumes => {
                simulation = Simulation::recovered(plan.clone(), &simulation.journal);
                simulation.resume();
            }
        }
        perform_all(&mut simulation, &mut script);
    }
    telling(plan, &simulation.journal)
}

/// Each answer goes to the first effect whose name begins so; for all else everything is good.
fn world(answers: Vec<(&'static str, Answer)>) -> impl FnMut(&State, &Effect) -> Answer {
    let mut answers = answers;
    move |state, effect| {
        let name = format!("{effect:?}");
        let found = answers.iter().position(|(wanted, _)| name.starts_with(wanted));
        found.map_or_else(|| good(state, effect), |index| answers.remove(index).1)
    }
}

fn approve(task: u32, number: u32) -> Step {
    let task = TaskId(task);
    Step::Says(Command::Approve { task, number })
}

fn reject(task: u32, number: u32) -> Step {
    Step::Says(Command::Reject {
        task: TaskId(task),
        number,
        reason: "no".to_owned(),
    })
}

fn perform_all(simulation: &mut Simulation, script: &mut dyn FnMut(&State, &Effect) -> Answer) {
    while let Some(effect) = simulation.todo.front() {
        if is_consulted(&simulation.state, effect) {
            simulation.todo.pop_front();
        } else {
            simulation.perform(0, script);
        }
    }
}

/// An approver that is an agent answers as whoever is consulted does.
fn is_consulted(state: &State, effect: &Effect) -> bool {
    let Effect::AskApprover { task, approver, .. } = effect else {
        return false;
    };
    let approvals = &state.plan.task(*task).approvals;
    let asked = approvals
        .iter()
        .find_map(|approval| approval.approvers.get(*approver as usize));
    matches!(asked, Some(ApproverPlan::Agent(_)))
}

/// The journal as text, with the effects of each event and what a restart would still have to do.
fn telling(plan: Arc<Plan>, journal: &[Vec<Event>]) -> String {
    let mut state = State::new(plan);
    let mut text = String::new();
    let mut before = Vec::new();
    for record in journal {
        for event in record {
            apply(&mut state, event);
            let _ = writeln!(text, "{}", line(&state, event).trim_end());
            for effect in effects(&state, event) {
                let _ = writeln!(text, "    > {}", shown(&state, &effect));
            }
        }
        is_up_to_date(&state);
        let pending = pending_effects(&state);
        if pending != before {
            let pending: Vec<String> = pending.iter().map(|effect| shown(&state, effect)).collect();
            let _ = writeln!(text, "{}", format!("    = {}", pending.join("; ")).trim_end());
        }
        before = pending;
    }
    text
}

fn line(state: &State, event: &Event) -> String {
    match event {
        Event::RunStarted(_) => "RunStarted".to_owned(),
        Event::RunResumed { .. } => "RunResumed".to_owned(),
        Event::TurnFinished {
            turn, exit, asked, ..
        } => {
            let asked = asked.as_ref().map(|asked| &asked.text);
            let failure = exit.failure;
            format!("{} ended {}", shown(state, turn), list(&[&failure, &asked]))
        }
        Event::ConsultReplied { id, advice, .. } => {
            format!("{} replied {advice:?}", shown(state, id))
        }
        Event::Transition {
            task,
            from,
            to,
            phase,
            mode,
            flag,
            reason,
        } => {
            let title = &state.plan.task(*task).title;
            format!(
                "{title}: {from:?} -> {to:?} {}",
                list(&[phase, mode, flag, reason])
            )
        }
        other => shown(state, other),
    }
}

/// Those that there are.
fn list(all: &[&dyn Debug]) -> String {
    let all = all.iter().map(|one| format!("{one:?}"));
    let some: Vec<String> = all.filter(|one| one != "None").collect();
    some.join(" ")
}

/// As it prints itself, without what is empty, and with titles for tasks.
fn shown(state: &State, of: &dyn Debug) -> String {
    let mut text = format!("{of:?}").replace("Some(", "(");
    for (index, task) in state.plan.tasks.iter().enumerate() {
        text = text.replace(&format!("TaskId({index})"), &task.title);
    }
    for empty in ["None", "[]", "false"] {
        let mut words: Vec<String> = Vec::new();
        for word in text.split(", ") {
            match word.split_once(&format!(": {empty}")) {
                // The brackets behind it close what stands before it.
                Some((before, rest)) => match (before.split_once("{ "), words.last_mut()) {
                    (None, Some(last)) => last.push_str(rest),
                    (Some((name, _)), _) => words.push(format!("{name}{{{rest}")),
                    (None, None) => words.push(rest.to_owned()),
                },
                None => words.push(word.to_owned()),
            }
        }
        text = words.join(", ");
    }
    text
}
