//! What follows from tests that the work changed or brought: those that were there must not fail on it as they were, and where
//! the mission asks for that, one that it brings must fail without it (semantics, section 24). Not a stage: it is said behind the
//! checks, and where the work is accepted.

use crate::domain::{BeforeWork, Cause, Finding, Severity, StageKey, TaskId, Verdict};
use crate::engine::event_payload::StageReport;
use crate::engine::quality_flag::Mark;
use crate::engine::state::TaskState;
use crate::engine::test_looks::{Look, Looked};
use crate::engine::tests_changed::OldTests;
use crate::judging::baseline_checks::{BaselineCheck, items};
use crate::mission::model::{BeforeRule, TaskType};
use crate::plan::Plan;

use super::checks::note_flaky;
use super::proof;
use super::view::View;

/// The words about work that brings no test which shows it.
const NO_NEW_TEST: &str = "none of the tests that this work brings fails without it";
/// How the mission lets work change tests.
const WAYS_OUT: &str = "where that is meant, the mission says so: `mayChangeTests: true` on the task, or these files in its \
                        `targetFiles`";

/// The report on tests before anybody judges the work. A fail sends the work back as a check does. `None` where
/// there is nothing.
pub fn weigh(view: View<'_>) -> Option<Box<StageReport>> {
    let findings = findings_of_tests(view.plan(), view.id, view.task);
    if findings.is_empty() && view.task.attempt.looks.made.is_empty() {
        return None;
    }
    let lacks = lacking(view.plan(), view.id, view.task).next().is_some();
    let fails_by = if sends_back(view) { Some(Cause::TestsChanged) } else { lacks.then_some(Cause::Checks) };
    let cause = fails_by.unwrap_or(Cause::Checks);
    let mut report = view.judged(StageKey::CHECKS, fails_by.is_none(), cause);
    report.findings = findings;
    // It takes the place of what the checks said.
    let results = view.judging().checks.iter().flatten();
    note_flaky(&mut report, view.work().checks().iter().zip(results));
    Some(report)
}

/// Whether the work goes back for tests that it changed: once, where nobody is to judge it.
pub fn sends_back(view: View<'_>) -> bool {
    let is_seen = |(finding, is_red): (Finding, bool)| is_red && finding.severity == Severity::High;
    let is_first = !view.task.course.told_of_tests && !view.plan().will_be_judged(view.id);
    is_first && old_tests(view.plan(), view.id, view.task).is_some_and(is_seen)
}

/// The report on accepted work that changed tests, where nobody judged it and the mission does not let it.
pub fn accepted(view: View<'_>) -> Option<Box<StageReport>> {
    let is_grave = |(finding, _): &(Finding, bool)| finding.severity == Severity::High;
    let old = old_tests(view.plan(), view.id, view.task).filter(is_grave);
    old.filter(|_| !view.is_judged())?;
    let mut report = view.report(proof::KEY, Verdict::Pass, Some(Cause::TestsChanged));
    report.mark = Some(Mark::TestsChanged);
    Some(report)
}

/// All that is said of tests that the work of a task changed or brought, as far as they were looked at.
pub fn findings_of_tests(plan: &Plan, id: TaskId, task: &TaskState) -> Vec<Finding> {
    let old = old_tests(plan, id, task).map(|(finding, _)| finding);
    let lacking = lacking(plan, id, task);
    let lacking =
        lacking.map(|item| Finding::new(Severity::High, format!("`{}`: {NO_NEW_TEST}", item.label)));
    old.into_iter().chain(lacking).chain(remarks(plan, id, task)).collect()
}

/// The checks that are to fail with the tests of the work and without the rest of it, and do not.
fn lacking(plan: &Plan, id: TaskId, task: &TaskState) -> impl Iterator<Item = BaselineCheck> {
    let items = items(plan.task(id)).into_iter();
    items.filter(move |item| {
        let fails = task.new_tests_fail(plan, id, item.key);
        item.declared == Some(BeforeRule::NewTests) && fails != Some(true)
    })
}

/// The finding about tests that were there and are changed or gone, and whether they were seen to fail.
fn old_tests(plan: &Plan, id: TaskId, task: &TaskState) -> Option<(Finding, bool)> {
    let (what, is_red) = match task.old_tests(plan, id) {
        OldTests::Fine => return None,
        OldTests::Red(seen) => (format!("as they were they fail on this work: {}", seen.reason), true),
        OldTests::Unknown(why) => (format!("it cannot be told whether they pass as they were: {why}"), false),
    };
    let touched = task.course.evidence.tests.as_deref();
    let names = touched.map_or(&[][..], |touched| &touched.old);
    let severity = if task.may_change_tests(plan, id) { Severity::Info } else { Severity::High };
    let text = format!("tests-changed: changed or gone: {}; {what}; {WAYS_OUT}", names.join(", "));
    Some((Finding::new(severity, text), is_red))
}

/// Remarks beside that, which decide nothing here.
fn remarks(plan: &Plan, id: TaskId, task: &TaskState) -> Vec<Finding> {
    let (work, looks) = (plan.task(id), &task.attempt.looks);
    let seen = |item: &BaselineCheck| looks.new_tests(item.key) == Some(BeforeWork::Green);
    let is_about_tests = work.kind == TaskType::Test && work.is_of_mission();
    let severity = if is_about_tests { Severity::Info } else { Severity::Medium };
    let proves_nothing = items(work).into_iter().filter(seen).map(|item| {
        let text =
            format!("tests-prove-nothing: `{}` passes without the work, by its tests alone", item.label);
        Finding::new(severity, text)
    });
    let lost = |looked: &Looked| {
        let why = match looked.lost.as_deref() {
            Some(why) => why,
            None if looked.checks.iter().any(|seen| looks.counted(seen) == BeforeWork::Unknown) => {
                "what failed there does not pass on the work itself in such a folder"
            }
            None => return None,
        };
        let text = format!("what its tests say without the work is not known: {why}");
        Some(Finding::new(Severity::Info, text))
    };
    let touched = task.course.evidence.tests.as_deref();
    let configuration = touched.map_or(&[][..], |touched| &touched.configuration);
    let configuration = (!configuration.is_empty()).then(|| {
        let text = format!("test-configuration-changed: {} may say how tests run", configuration.join(", "));
        Finding::new(Severity::Medium, text)
    });
    proves_nothing.chain(looks.of(Look::New).and_then(lost)).chain(configuration).collect()
}
