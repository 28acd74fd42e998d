//! The finish gate (`verify`): what must hold before an agent may call itself finished (semantics, section 6.3).
//!
//! One command after the other, each judged by the exit of its own run. What is missing is told to the worker in another
//! turn of the same attempt, as often as the gate allows; compilation is counted apart. After that the work goes on to
//! its judges, unverified.

use crate::domain::{Cause, Finding, Severity, Stage, Status, Verdict};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::job::Job;
use crate::engine::payload::CheckResult;
use crate::engine::state::Known;
use crate::mission::{FinishGate, Requirement};

use super::conclude;
use super::draft::Draft;
use super::jobs;
use super::stages::checks;

/// Preflight is content: on to the gate, where the task has one.
pub(super) fn begin(draft: &mut Draft<'_>) {
    match draft.task_plan().finish.as_deref() {
        None => checks(draft),
        Some(gate) if gate.commands.is_empty() => settle(draft, gate, &[]),
        Some(_) => request(draft, 0),
    }
}

fn request(draft: &mut Draft<'_>, command: usize) {
    let command = u32::try_from(command).expect("the loader limits the commands of a gate");
    jobs::request(draft, Job::Finish(command));
}

/// A command of the gate ended.
pub(super) fn checked(draft: &mut Draft<'_>) {
    let Some(gate) = draft.task_plan().finish.as_deref() else {
        return;
    };
    let judging = draft.task.judging();
    let results: Vec<CheckResult> = judging.map_or_else(Vec::new, |judging| {
        judging.finish.iter().flatten().cloned().collect()
    });
    if results.len() < gate.commands.len() {
        request(draft, results.len());
    } else {
        settle(draft, gate, &results);
    }
}

/// What a gate misses, by the counter that it is told under.
#[derive(Default)]
struct Missing {
    compilation: Vec<Finding>,
    others: Vec<Finding>,
    unknown: Option<Finding>,
}

fn missing(draft: &Draft<'_>, gate: &FinishGate, results: &[CheckResult]) -> Missing {
    let mut missing = Missing::default();
    for (command, result) in gate
        .commands
        .iter()
        .zip(results)
        .filter(|(_, result)| !result.passed)
    {
        let (list, what) = match &command.shows {
            Requirement::Compilation => (&mut missing.compilation, "it does not compile".to_owned()),
            Requirement::Test(test) => (&mut missing.others, format!("the test {test} is not green")),
            Requirement::Command => (&mut missing.others, "a required command failed".to_owned()),
        };
        list.push(Finding::new(Severity::High, what).with_evidence(result.message.clone()));
    }
    if gate.require_file_changes {
        match draft.task.course.evidence.changed {
            Known::Yes => {}
            Known::No => missing.others.push(Finding::new(
                Severity::High,
                "no file was changed, and the task requires it",
            )),
            Known::Unknown => {
                missing.unknown = Some(Finding::new(
                    Severity::Medium,
                    "whether it changed a file cannot be told: other work went on at the same time (`exclusive: true` \
                     keeps them apart)",
                ));
            }
        }
    }
    missing
}

/// All is in: met, told to the worker, or forced.
fn settle(draft: &mut Draft<'_>, gate: &FinishGate, results: &[CheckResult]) {
    let Missing {
        compilation,
        others,
        unknown,
    } = missing(draft, gate, results);
    let told = draft.task.attempt.nudged;
    let tell_compilation = !compilation.is_empty() && told.compilation < gate.max_compile_nudges;
    let tell_others = !others.is_empty() && told.others < gate.max_nudges;
    if tell_compilation || tell_others {
        let mut findings = Vec::new();
        findings.extend(compilation.into_iter().filter(|_| tell_compilation));
        findings.extend(others.into_iter().filter(|_| tell_others));
        return nudge(draft, tell_compilation, tell_others, findings);
    }
    let unmet: Vec<Finding> = compilation.into_iter().chain(others).chain(unknown).collect();
    if unmet.is_empty() {
        conclude::stage(draft, Stage::Finish, Verdict::Pass, None, |_| {});
    } else {
        conclude::stage(
            draft,
            Stage::Finish,
            Verdict::Skip,
            Some(Cause::Unmet),
            |report| report.findings = unmet,
        );
    }
    checks(draft);
}

/// Another turn of the same attempt, with what is missing.
fn nudge(draft: &mut Draft<'_>, compilation: bool, others: bool, missing: Vec<Finding>) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::Nudged {
            compilation,
            others,
            missing,
        },
    ));
    draft.enter(Status::InProgress);
}
