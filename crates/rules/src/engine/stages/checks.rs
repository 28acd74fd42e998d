//! Declared checks (semantics, section 6): all are asked for at once and weighed together.

use std::collections::BTreeSet;

use crate::domain::{Cause, Finding, Severity, StageKey};
use crate::engine::event_payload::{CheckResult, StageReport};
use crate::engine::job::Job;
use crate::engine::quality_flag::Mark;
use crate::mission::model::Check;

use super::view::{Next, Request, View};

const KEY: StageKey = StageKey::CHECKS;

pub fn open(checks: &[Check]) -> Next {
    let checks = (0..).zip(checks);
    Next::Open(checks.map(|(check, _)| Request::Run(Job::Check(check))).collect())
}

/// How what is found of a check begins that failed, and passed when it ran again.
pub const FLAKY: &str = "flaky: ";

/// Says of which checks that passed it took reruns (semantics, section 24).
pub fn note_flaky<'a>(report: &mut StageReport, ran: impl Iterator<Item = (&'a Check, &'a CheckResult)>) {
    for (check, result) in ran.filter(|(_, result)| result.is_flaky()) {
        let (label, times) = (check.label_for_worker(), result.reruns);
        let text = format!("{FLAKY}`{label}` passed only when it ran again, after {times} failed run(s)");
        report.add(Severity::Medium, text);
        report.mark = Some(Mark::Flaky);
    }
}

/// A check ended. Once all have, all failures are reported, not only the first.
pub fn conclude(view: View<'_>) -> Next {
    let Some(results) =
        view.judging().checks.iter().map(Option::as_ref).collect::<Option<Vec<&CheckResult>>>()
    else {
        return Next::Wait;
    };
    let failed = (0..).zip(&results).filter(|(_, result)| !result.passed);
    let failed = failed.map(|(check, result)| view.work().message_for_worker(check, &result.message));
    let mut failed: Vec<Finding> = failed.map(|told| Finding::new(Severity::High, told)).collect();
    // Of those that are hidden not even how many there are is told.
    let mut seen = BTreeSet::new();
    failed.retain(|finding| seen.insert(finding.description.clone()));
    let passes = failed.is_empty();
    let mut report = view.judged(KEY, passes, Cause::Checks);
    note_flaky(&mut report, view.work().checks().iter().zip(results));
    if passes {
        return Next::Pass(Some(report));
    }
    report.findings = failed;
    Next::Fail(report)
}
