//! The finish gate (`verify`): what must hold before an agent may call itself finished (semantics, section 6.3).
//!
//! One command after the other, each judged by the exit of its own run. What is missing is told to the worker in another
//! turn of the same attempt, as often as the gate allows; compilation is counted apart. After that the work goes on to
//! its judges, unverified.

use crate::domain::{Cause, Finding, Severity, StageKey, Verdict};
use crate::engine::event_payload::CheckResult;
use crate::engine::job::Job;
use crate::engine::state::Known;
use crate::judging::baseline_checks::{CheckPlace, items};
use crate::plan::{FinishGatePlan, Requirement};

use super::view::{Next, Request, View};

const KEY: StageKey = StageKey::FINISH;

pub fn open(view: View<'_>, gate: &FinishGatePlan) -> Next {
    if gate.commands.is_empty() { settle(view, gate, &[]) } else { request(0) }
}

fn request(command: usize) -> Next {
    let command = u32::try_from(command).expect("the loader limits the commands of a gate");
    Next::Open(vec![Request::Run(Job::Finish(command))])
}

/// A command of the gate ended.
pub fn conclude(view: View<'_>, gate: &FinishGatePlan) -> Next {
    let results: Vec<CheckResult> = view.judging().finish.iter().flatten().cloned().collect();
    if results.len() < gate.commands.len() { request(results.len()) } else { settle(view, gate, &results) }
}

/// The unmet requirements of a gate, by the counter that they are told under.
#[derive(Default)]
struct Missing {
    compilation: Vec<Finding>,
    others: Vec<Finding>,
    unknown: Option<Finding>,
}

fn missing(view: View<'_>, gate: &FinishGatePlan, results: &[CheckResult]) -> Missing {
    let mut missing = Missing::default();
    let ended = gate.commands.iter().zip(results);
    let is_left_out = |at: u32| {
        let all = items(view.work());
        let item = all.iter().find(|item| item.place == CheckPlace::Finish(at));
        item.is_some_and(|item| view.state.is_left_out(view.id, item))
    };
    let failed = (0..).zip(ended).filter(|(at, (_, result))| !result.passed && !is_left_out(*at));
    for (_, (command, result)) in failed {
        let (list, what) = match &command.shows {
            Requirement::Compilation => (&mut missing.compilation, "it does not compile".to_owned()),
            Requirement::Test(test) => (&mut missing.others, format!("the test {test} is not green")),
            Requirement::Command => (&mut missing.others, "a required command failed".to_owned()),
        };
        list.push(Finding::new(Severity::High, what).with_evidence(result.message.clone()));
    }
    if gate.require_file_changes {
        match view.task.course.evidence.changed {
            Known::Yes => {}
            Known::No => missing
                .others
                .push(Finding::new(Severity::High, "no file was changed, and the task requires it")),
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
fn settle(view: View<'_>, gate: &FinishGatePlan, results: &[CheckResult]) -> Next {
    let Missing { compilation, others, unknown } = missing(view, gate, results);
    let told = view.task.attempt.nudged;
    let tell_compilation = !compilation.is_empty() && told.compilation < gate.max_compile_nudges;
    let tell_others = !others.is_empty() && told.others < gate.max_nudges;
    if tell_compilation || tell_others {
        let compilation = compilation.into_iter().filter(|_| tell_compilation);
        return Next::Nudge {
            compilation: tell_compilation,
            others: tell_others,
            missing: compilation.chain(others.into_iter().filter(|_| tell_others)).collect(),
        };
    }
    let unmet: Vec<Finding> = compilation.into_iter().chain(others).chain(unknown).collect();
    let mut report = if unmet.is_empty() {
        view.report(KEY, Verdict::Pass, None)
    } else {
        view.report(KEY, Verdict::Skip, Some(Cause::Unmet))
    };
    report.findings = unmet;
    Next::Pass(Some(report))
}
