//! JUnit XML, as Jenkins, GitLab and Surefire's readers understand it.
//!
//! | a task that is | becomes |
//! |---|---|
//! | done | a testcase; after rework with a `flakyFailure` for each failed attempt |
//! | done below the bar | `failure type="below-threshold"`, `degraded`, `unverified` |
//! | failed | `failure type=` its mode |
//! | without a trustworthy verdict | `error type="indeterminate"` |
//! | blocked or waiting | `skipped` with the reason |
//!
//! Gates and the mission's own bar are testcases of a suite of their own, and a run that was cut short has an `error`:
//! a run that did not end well must not look green because all of its tasks do.

use std::time::Duration;

use chrono::DateTime;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestRerun, TestSuite};

use crate::domain::{Cause, FailureClass, FailureMode, OutcomeClass, QualityFlag, TaskId, Timestamp};
use crate::engine::{GateStanding, Outcome, State, gate_view};

use super::findings;
use super::rank::{Rank, rank, reason};
use super::stages::{remarks, stage_words};
use super::summary::outcome_words;
use super::text::criteria_words;
use super::view::{AttemptView, RunView};

/// The document. `outcome` is what the last session ended with; `None` while one goes on, or after a crash.
///
/// # Errors
/// When it cannot be serialised.
pub fn junit(state: &State, view: &RunView, outcome: Option<&Outcome>) -> Result<String, SerializeError> {
    let plan = &state.plan;
    let mut report = Report::new(clean(&plan.name));
    let mut tasks = TestSuite::new(clean(&plan.name));
    if let Some(at) = view.started_at.and_then(moment) {
        report.set_timestamp(at);
        tasks.set_timestamp(at);
    }
    if let Some(span) = view.worked_for().map(|worked| worked.as_duration()) {
        report.set_time(span);
        tasks.set_time(span);
    }
    if let Some(run) = &view.run_id {
        tasks.add_property(("runId", run.as_str()));
    }
    if let Some(outcome) = outcome {
        tasks.add_property(("outcome", outcome.class.as_str()));
        tasks.add_property(("exitCode", outcome.class.exit_code().to_string().as_str()));
        let allowed: Vec<_> = outcome.allowed.iter().map(|class| class.as_str()).collect();
        if !allowed.is_empty() {
            tasks.add_property(("allowed", allowed.join(",").as_str()));
        }
    }
    if !plan.rules.evaluate {
        tasks.add_property(("evaluate", "off"));
        for off in plan.rules.loosened.iter().filter(|found| found.is_off) {
            tasks.add_property(("evaluateOffBy", clean(&off.place).as_str()));
        }
    }
    for warning in &view.warnings {
        tasks.add_property(("warning", clean(warning).as_str()));
    }
    for id in plan.task_ids() {
        tasks.add_test_case(test_case(state, view, id));
    }
    report.add_test_suite(tasks);
    let gates = gates(state);
    if !gates.test_cases.is_empty() {
        report.add_test_suite(gates);
    }
    if let Some(run) = cut_short(state, outcome) {
        report.add_test_suite(run);
    }
    report.to_string()
}

/// Text without the characters that XML 1.0 cannot hold. The crate takes out escape sequences and control characters;
/// the two that are no characters at all are left to us.
fn clean(text: &str) -> String {
    text.replace(['\u{fffe}', '\u{ffff}'], "")
}

fn moment(at: Timestamp) -> Option<DateTime<chrono::FixedOffset>> {
    let millis = i64::try_from(at.0).ok()?;
    DateTime::from_timestamp_millis(millis).map(|at| at.fixed_offset())
}

fn span(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<Duration> {
    Some(to?.since(from?).as_duration())
}

fn test_case(state: &State, view: &RunView, id: TaskId) -> TestCase {
    let (plan, task, seen) = (state.plan.task(id), state.task(id), view.task(id));
    let mut case = TestCase::new(clean(&plan.title), status(state, view, id));
    case.set_classname(clean(&state.plan.name));
    if let Some(span) = span(seen.started_at, seen.finished_at) {
        case.set_time(span);
    }
    case.add_property(("agent", clean(&state.plan.agent(plan.agent).name).as_str()));
    case.add_property(("attempts", seen.attempts.len().to_string().as_str()));
    if let Some(flag) = task.flag() {
        case.add_property(("qualityFlag", flag.as_str()));
    }
    if let Some(points) = task.attempt.points {
        case.add_property(("score", points.to_string().as_str()));
    }
    if let Some(bar) = state.plan.bar(id) {
        case.add_property(("bar", bar.points.to_string().as_str()));
    }
    let seats = seen.review.as_deref().map_or(&[][..], |review| &review.seats);
    let reviewers: Vec<String> = seats
        .iter()
        .map(|seat| clean(&state.plan.agent(seat.reviewer).name))
        .collect();
    if !reviewers.is_empty() {
        case.add_property(("reviewers", reviewers.join(", ").as_str()));
    }
    if let Some(cost) = view.costs.get(&id) {
        case.add_property(("cost", cost.to_f64().to_string().as_str()));
    }
    if let Some(report) = view.verifications.get(&id) {
        case.add_property(("verification", criteria_words(&report.grades).as_str()));
    }
    let further = view.scrutiny.get(&id).map_or(&[][..], Vec::as_slice);
    for report in further {
        case.add_property((report.stage.as_str(), clean(&stage_words(report)).as_str()));
    }
    for found in view.task(id).found() {
        let line = findings::whole(state, found);
        case.add_property(("finding", clean(&line).as_str()));
    }
    for remark in remarks(further) {
        case.add_property(("remark", clean(&remark).as_str()));
    }
    case
}

fn status(state: &State, view: &RunView, id: TaskId) -> TestCaseStatus {
    let task = state.task(id);
    let rank = rank(state, view, id);
    let message = clean(&reason(state, view, rank, id));
    let not_good = |kind, ty: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(&message).set_type(ty);
        status.set_description(describe(view, id, &message));
        status
    };
    let mut status = match rank {
        Rank::Failed | Rank::Cascaded => not_good(
            NonSuccessKind::Failure,
            task.mode().map_or("error", FailureMode::as_str),
        ),
        Rank::BelowBar => not_good(
            NonSuccessKind::Failure,
            task.flag().map_or("below-threshold", QualityFlag::as_str),
        ),
        Rank::Indeterminate => not_good(NonSuccessKind::Error, OutcomeClass::Indeterminate.as_str()),
        Rank::Waiting | Rank::Open | Rank::Superseded | Rank::NotTaken | Rank::NotSelected => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(&message);
            return status;
        }
        Rank::Unreviewed | Rank::Reworked | Rank::Done => TestCaseStatus::success(),
    };
    // The last attempt is the testcase itself; those before it were sent back.
    if let Some((_, earlier)) = view.task(id).attempts.split_last() {
        status.add_reruns(earlier.iter().map(|attempt| rerun(view, id, attempt)));
    }
    status
}

/// What is wrong, with what was found at last.
fn describe(view: &RunView, id: TaskId, message: &str) -> String {
    let last = view.task(id).attempts.last().map(|attempt| attempt.number);
    let findings = last.map_or_else(String::new, |attempt| findings(view, id, attempt));
    clean(&format!("{message}\n{findings}"))
}

fn rerun(view: &RunView, id: TaskId, attempt: &AttemptView) -> TestRerun {
    let mut rerun = TestRerun::new(NonSuccessKind::Failure);
    let ty = attempt
        .failure
        .map(FailureClass::as_str)
        .or(attempt.cause.map(Cause::as_str))
        .unwrap_or("rework");
    let mut message = format!("attempt {}, {}: {ty}", attempt.number, attempt.kind.as_str());
    if let Some(points) = attempt.points {
        message.push_str(&format!(", score {points}"));
    }
    rerun.set_type(ty).set_message(message.as_str());
    let findings = clean(&findings(view, id, attempt.number));
    if !findings.is_empty() {
        rerun.set_stack_trace(findings.as_str());
    }
    rerun
}

/// What an attempt was sent back with, a line each.
fn findings(view: &RunView, id: TaskId, attempt: u32) -> String {
    let rejections = view.task(id).rejections().iter();
    let findings = rejections
        .filter(|rejection| rejection.attempt == attempt)
        .flat_map(|rejection| &rejection.findings);
    let lines: Vec<String> = findings
        .map(|finding| format!("[{}] {}", finding.severity.as_str(), finding.description))
        .collect();
    lines.join("\n")
}

/// Gates, and the mission's own bar.
fn gates(state: &State) -> TestSuite {
    let mut suite = TestSuite::new("quality gates");
    let class = format!("{} quality gates", clean(&state.plan.name));
    for id in state.plan.gate_ids() {
        let gate = gate_view(state, id);
        let skipped = |message| {
            let mut status = TestCaseStatus::skipped();
            status.set_message(message);
            status
        };
        let status = match gate.standing {
            GateStanding::Failed => failure("gate-failed", gate.reason.as_deref().unwrap_or_default()),
            GateStanding::Waiting => skipped("not evaluated: its tasks have not ended"),
            GateStanding::NotTaken => skipped("not evaluated: not all of its tasks were selected (--only)"),
            GateStanding::Passed | GateStanding::Overridden => TestCaseStatus::success(),
        };
        let name = clean(&state.plan.gate(id).name);
        let mut case = TestCase::new(name, status);
        case.set_classname(class.as_str());
        case.add_property(("state", gate.standing.as_str()));
        if let Some(points) = gate.avg {
            case.add_property(("score", points.to_string().as_str()));
        }
        suite.add_test_case(case);
    }
    if let Some(bar) = state.plan.rules.quality_threshold {
        let status = match state.threshold_failed {
            Some(points) => failure("below-threshold", &format!("mission score {points} < {bar}")),
            None if state.is_unfinished() => {
                let mut status = TestCaseStatus::skipped();
                status.set_message("the run has not ended");
                status
            }
            None => TestCaseStatus::success(),
        };
        let mut case = TestCase::new("mission score", status);
        case.set_classname(class.as_str());
        case.add_property(("bar", bar.to_string().as_str()));
        suite.add_test_case(case);
    }
    suite
}

fn failure(ty: &str, message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let message = clean(message);
    status
        .set_type(ty)
        .set_message(&message)
        .set_description(&message);
    status
}

/// A run that did not get to its end is an error of its own: what it skipped would read as harmless.
fn cut_short(state: &State, outcome: Option<&Outcome>) -> Option<TestSuite> {
    let (ty, message) = match outcome {
        None => ("crashed", "the run has no end on record".to_owned()),
        Some(outcome) if outcome.class.is_cut_short() => (outcome.class.as_str(), outcome_words(outcome)),
        Some(_) => return None,
    };
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(ty).set_message(message.as_str());
    let mut case = TestCase::new("run", status);
    case.set_classname(format!("{} run", clean(&state.plan.name)).as_str());
    let mut suite = TestSuite::new("run");
    suite.add_test_case(case);
    Some(suite)
}
