//! JUnit XML, as Jenkins, GitLab and Surefire's readers understand it.
//!
//! | a task that is | becomes |
//! |---|---|
//! | done | a testcase; after rework with a `flakyFailure` for each failed attempt, and one for each flaky check |
//! | done below the bar | `failure type="below-threshold"`, `degraded`, `unverified` |
//! | failed | `failure type=` its mode |
//! | without a trustworthy verdict | `error type="indeterminate"` |
//! | blocked or waiting | `skipped` with the reason |
//!
//! Gates and the mission's own bar are testcases of a suite of their own, and a run that was cut short, or that
//! nothing else shows to have failed, has an `error`: it must not look green because all of its tasks do.

use std::time::Duration;

use chrono::DateTime;
use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestRerun, TestSuite};

use rules::{
    domain::{Cause, FailureClass, OutcomeClass, QualityFlag, Timestamp},
    engine::GateStanding,
};

use crate::report::{
    documents::{RunDocument, TaskRow},
    folds::{
        findings::FindingRow,
        further_stages::{remarks, stage_words},
        rank::{Rank, reason},
        view::AttemptRow,
    },
    screens::{
        summary::unwell,
        text::{criteria_words, mark, sanitize, sanitize_lines},
    },
};

/// The XML of a run.
///
/// # Errors
/// When it cannot be serialised.
pub fn junit(run: &RunDocument<'_>) -> Result<String, SerializeError> {
    let mut report = Report::new(clean(run.mission));
    let mut tasks = TestSuite::new(clean(run.mission));
    if let Some(at) = run.started_at.and_then(moment) {
        report.set_timestamp(at);
        tasks.set_timestamp(at);
    }
    if let Some(span) = run.worked_for().map(|worked| worked.as_duration()) {
        report.set_time(span);
        tasks.set_time(span);
    }
    if let Some(id) = run.run_id {
        tasks.add_property(("runId", id.as_str()));
    }
    if let Some(outcome) = run.ended {
        tasks.add_property(("outcome", outcome.class.as_str()));
        tasks.add_property(("exitCode", outcome.class.exit_code().to_string().as_str()));
        let allowed: Vec<_> = outcome.allowed.iter().map(|class| class.as_str()).collect();
        if !allowed.is_empty() {
            tasks.add_property(("allowed", allowed.join(",").as_str()));
        }
    }
    if let Some(reviews_off) = &run.reviews_off {
        tasks.add_property(("evaluate", "off"));
        for off in reviews_off {
            tasks.add_property(("evaluateOffBy", clean(&off.place).as_str()));
        }
    }
    if let Some(why) = run.unconfined {
        tasks.add_property(("unconfined", clean(why).as_str()));
    }
    for warning in run.warnings {
        tasks.add_property(("warning", clean(warning).as_str()));
    }
    for task in run.tasks.rows() {
        tasks.add_test_case(test_case(run, &task));
    }
    report.add_test_suite(tasks);
    let gates = gates(run);
    if !gates.test_cases.is_empty() {
        report.add_test_suite(gates);
    }
    // What waits is skipped, and no failure.
    let waits = run.ended.is_some_and(|outcome| outcome.class == OutcomeClass::Awaiting);
    let is_told = run.got_to_its_end() && (waits || report.failures + report.errors > 0);
    if let Some((word, words)) = unwell(run).filter(|_| !is_told) {
        report.add_test_suite(not_well(run, word, &words));
    }
    report.to_string()
}

/// Text of others, made harmless line by line, without the characters that XML 1.0 cannot hold.
fn clean(text: &str) -> String {
    sanitize_lines(text).replace(['\u{fffe}', '\u{ffff}'], "")
}

/// Text of others on one line.
fn line(text: &str) -> String {
    clean(&sanitize(text))
}

fn moment(at: Timestamp) -> Option<DateTime<chrono::FixedOffset>> {
    let millis = i64::try_from(at.0).ok()?;
    DateTime::from_timestamp_millis(millis).map(|at| at.fixed_offset())
}

fn span(from: Option<Timestamp>, to: Option<Timestamp>) -> Option<Duration> {
    Some(to?.since(from?).as_duration())
}

fn test_case(run: &RunDocument<'_>, task: &TaskRow<'_>) -> TestCase {
    let mut case = TestCase::new(clean(task.title), status(task));
    case.set_classname(clean(run.mission));
    if let Some(span) = span(task.started_at, task.finished_at) {
        case.set_time(span);
    }
    let mut property = |name: &str, value: &str| {
        case.add_property((name, clean(value).as_str()));
    };
    property("agent", task.agent);
    property("attempts", &task.attempts.len().to_string());
    if let Some(flag) = task.quality_flag {
        property("qualityFlag", flag.as_str());
    }
    if let Some(proof) = &task.proof {
        property("before", &proof.words);
    }
    if let Some(points) = task.points {
        property("score", &points.to_string());
    }
    if let Some(bar) = task.bar {
        property("bar", &bar.points.to_string());
    }
    let seats = task.reviews.iter().filter(|review| review.is_seat);
    let reviewers: Vec<&str> = seats.map(|seat| seat.reviewer).collect();
    if !reviewers.is_empty() {
        property("reviewers", &reviewers.join(", "));
    }
    if let Some(cost) = task.usage.cost {
        property("cost", &cost.to_string());
    }
    if let Some(report) = task.graded().and_then(|review| review.report) {
        property("verification", &criteria_words(&report.grades));
    }
    for report in task.scrutiny() {
        property(report.stage.as_str(), &stage_words(report));
    }
    for found in &task.findings {
        property("finding", &line(&found.whole()));
    }
    for remark in remarks(task.scrutiny()) {
        property("remark", &remark);
    }
    case
}

fn status(task: &TaskRow<'_>) -> TestCaseStatus {
    let message = line(&reason(task));
    let not_good = |kind, ty: &str| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(&message).set_type(ty);
        status.set_description(describe(task, &message));
        status
    };
    let mut status = match task.rank {
        Rank::Failed | Rank::Cascaded => not_good(
            NonSuccessKind::Failure,
            task.failure.as_ref().map_or("error", |failure| failure.mode.as_str()),
        ),
        Rank::BelowBar => not_good(
            NonSuccessKind::Failure,
            task.quality_flag.map_or("below-threshold", QualityFlag::as_str),
        ),
        Rank::Indeterminate => not_good(NonSuccessKind::Error, OutcomeClass::Indeterminate.as_str()),
        Rank::Waiting | Rank::Open | Rank::Superseded | Rank::NotTaken | Rank::NotSelected => {
            return skipped(&message);
        }
        Rank::Unreviewed | Rank::Reworked | Rank::Done => TestCaseStatus::success(),
    };
    // The last attempt is the testcase itself; those before it were sent back.
    if let Some((_, earlier)) = task.attempts.split_last() {
        status.add_reruns(earlier.iter().map(|attempt| rerun(task, attempt)));
    }
    let flaky = task.findings.iter().filter(|found| found.is_flaky());
    status.add_reruns(flaky.map(|found| {
        let mut rerun = TestRerun::new(NonSuccessKind::Failure);
        rerun.set_type("flaky").set_message(line(&found.whole()));
        rerun
    }));
    status
}

fn skipped(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::skipped();
    status.set_message(message);
    status
}

/// The text of a failure: the message, and the findings of the last attempt with who found them.
fn describe(task: &TaskRow<'_>, message: &str) -> String {
    let findings: Vec<String> = task.findings.iter().map(FindingRow::whole).collect();
    clean(&format!("{message}\n{}", findings.join("\n")))
}

fn rerun(task: &TaskRow<'_>, attempt: &AttemptRow) -> TestRerun {
    let mut rerun = TestRerun::new(NonSuccessKind::Failure);
    let ty =
        attempt.failure.map(FailureClass::as_str).or(attempt.cause.map(Cause::as_str)).unwrap_or("rework");
    let mut message = format!("attempt {}, {}: {ty}", attempt.number, attempt.kind.as_str());
    if let Some(points) = attempt.points {
        append!(message, ", score {points}");
    }
    rerun.set_type(ty).set_message(message.as_str());
    let findings = clean(&findings(task, attempt.number));
    if !findings.is_empty() {
        rerun.set_stack_trace(findings.as_str());
    }
    rerun
}

/// The findings with which an attempt was sent back, a line each.
fn findings(task: &TaskRow<'_>, attempt: u32) -> String {
    let rejections = task.rejections.iter();
    let findings =
        rejections.filter(|rejection| rejection.attempt == attempt).flat_map(|rejection| &rejection.findings);
    let lines: Vec<String> = findings
        .map(|finding| format!("{} {}", mark(finding.severity, finding.open), finding.description))
        .collect();
    lines.join("\n")
}

/// Gates, and the mission's own bar.
fn gates(run: &RunDocument<'_>) -> TestSuite {
    let mut suite = TestSuite::new("quality gates");
    let class = format!("{} quality gates", clean(run.mission));
    for gate in &run.gates {
        let status = match gate.state {
            GateStanding::Failed => failure("gate-failed", gate.reason.as_deref().unwrap_or_default()),
            GateStanding::Waiting => skipped("not evaluated: its tasks have not ended"),
            GateStanding::NotTaken => skipped("not evaluated: not all of its tasks were selected (--only)"),
            GateStanding::Passed | GateStanding::Overridden => TestCaseStatus::success(),
        };
        let mut case = TestCase::new(clean(gate.name), status);
        case.set_classname(class.as_str());
        case.add_property(("state", gate.state.as_str()));
        if let Some(points) = gate.average {
            case.add_property(("score", points.to_string().as_str()));
        }
        suite.add_test_case(case);
    }
    if let Some(bar) = run.mission_score.bar {
        let status = match run.mission_score.missed_with {
            Some(points) => failure("below-threshold", &format!("mission score {points} < {bar}")),
            None if run.resumable => skipped("the run has not ended"),
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
    status.set_type(ty).set_message(&message).set_description(&message);
    status
}

/// A run that is not well by nothing else is an error of its own: what it skipped would read as harmless.
fn not_well(run: &RunDocument<'_>, word: &str, words: &str) -> TestSuite {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_type(word).set_message(words);
    let mut case = TestCase::new("run", status);
    case.set_classname(format!("{} run", clean(run.mission)).as_str());
    let mut suite = TestSuite::new("run");
    suite.add_test_case(case);
    suite
}
