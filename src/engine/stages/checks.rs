//! Declared checks (semantics, section 6): all are asked for at once and weighed together.

use crate::domain::{Cause, Finding, Severity, Stage, StageKey, Verdict};
use crate::engine::job::Job;
use crate::engine::payload::CheckResult;
use crate::mission::model::Check;

use super::view::{Next, Request, View};

const KEY: StageKey = StageKey::Of(Stage::Checks);

pub(super) fn open(checks: &[Check]) -> Next {
    let checks = (0..).zip(checks);
    Next::Open(checks.map(|(check, _)| Request::Run(Job::Check(check))).collect())
}

/// A check ended. Once all have, all failures are reported, not only the first.
pub(super) fn conclude(view: View<'_>) -> Next {
    let results = view.judging().map_or(&[][..], |judging| &judging.checks);
    let Some(results) = results
        .iter()
        .map(Option::as_ref)
        .collect::<Option<Vec<&CheckResult>>>()
    else {
        return Next::Wait;
    };
    let failed = results.iter().filter(|result| !result.passed);
    let failed: Vec<Finding> = failed
        .map(|result| Finding::new(Severity::High, result.message.clone()))
        .collect();
    if failed.is_empty() {
        return Next::Pass(Some(view.report(KEY, Verdict::Pass, None)));
    }
    let mut report = view.report(KEY, Verdict::Fail, Some(Cause::Checks));
    report.findings = failed;
    Next::Fail(report)
}
