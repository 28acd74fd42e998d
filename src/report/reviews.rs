//! `reviews` of a task in JSON: what each reviewer said, a person and a grader among them.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde::Serialize;

use crate::domain::{AgentId, Cause, Finding, Points, Stage, TaskId};
use crate::engine::{StageReport, State};

use super::stages::{judge_of, stage_name};
use super::view::{SeatDimension, SeatView};

#[derive(Default, Serialize)]
pub(super) struct ReviewRow<'a> {
    stage: &'static str,
    reviewer: &'a str,
    model: Option<&'a str>,
    points: Option<f64>,
    dimensions: Vec<SeatDimensionRow<'a>>,
    /// Of a verification only, like what follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confidence: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    criteria: Vec<CriterionRow<'a>>,
    /// Of a further stage only, like what follows: what it is called, and why its verdict is what it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    findings: Option<&'a [Finding]>,
}

impl<'a> ReviewRow<'a> {
    pub fn of(state: &'a State, seat: &'a SeatView) -> Self {
        let row = |scored: &'a SeatDimension| SeatDimensionRow {
            dimension: &scored.score.dimension,
            score: scored.score.points.score_f64(),
            outlier: scored.outlier,
            reasoning: &scored.score.reasoning,
        };
        Self {
            stage: Stage::Judge.as_str(),
            reviewer: &state.plan.agent(seat.reviewer).name,
            model: seat.model.as_deref(),
            points: seat.points.map(Points::to_f64),
            dimensions: seat.dimensions.iter().map(row).collect(),
            ..Self::default()
        }
    }

    /// A person decides without scores.
    pub fn of_person(name: &'a str) -> Self {
        Self {
            stage: Stage::Judge.as_str(),
            reviewer: name,
            ..Self::default()
        }
    }

    /// What a grader said of each criterion.
    pub fn of_verification(
        state: &'a State,
        id: TaskId,
        report: &'a StageReport,
        asked: Option<&'a (AgentId, Option<Box<str>>)>,
    ) -> Self {
        let judge = asked
            .map(|(judge, _)| *judge)
            .or_else(|| state.plan.task(id).verification()?.grader);
        Self {
            stage: report.stage.as_str(),
            reviewer: judge.map_or(HEURISTIC, |judge| &*state.plan.agent(judge).name),
            model: asked.and_then(|(_, model)| model.as_deref()),
            points: report.points.map(Points::to_f64),
            verdict: Some(report.verdict.as_str()),
            confidence: report.confidence.map(share),
            criteria: criterion_rows(state, id, report),
            ..Self::default()
        }
    }

    /// What a further stage said.
    pub fn of_stage(state: &'a State, id: TaskId, report: &'a StageReport) -> Self {
        Self {
            stage: report.stage.as_str(),
            reviewer: judge_of(state, id, report),
            model: report.model.as_deref(),
            verdict: Some(report.verdict.as_str()),
            name: Some(stage_name(report)),
            cause: report.cause.map(Cause::as_str),
            reason: report.reason.as_deref(),
            findings: Some(&report.findings),
            ..Self::default()
        }
    }
}

/// The reviewer of a verification without a model.
const HEURISTIC: &str = "heuristic";

/// A share that is kept as points, from 0 to 1.
pub(super) fn share(points: Points) -> f64 {
    let share = points.value() / Decimal::ONE_HUNDRED;
    share.round_dp(4).to_f64().unwrap_or_default()
}

/// One criterion of a verification.
#[derive(Serialize)]
pub(super) struct CriterionRow<'a> {
    /// As the mission writes it.
    pub criterion: &'a str,
    /// `passed`, `failed`, `partial` or `unchecked`.
    pub result: &'static str,
    /// The grade, from 0 to 1; `null` if it could not be checked.
    pub grade: Option<f64>,
    /// What was seen, or why nothing could be said.
    pub evidence: &'a str,
}

/// The criteria of a task with their grades.
pub(super) fn criterion_rows<'a>(
    state: &'a State,
    id: TaskId,
    report: &'a StageReport,
) -> Vec<CriterionRow<'a>> {
    let verification = state.plan.task(id).verification();
    let criteria = verification.map_or(&[][..], |verification| &verification.criteria);
    let graded = criteria.iter().zip(&report.grades);
    graded
        .map(|(criterion, grade)| CriterionRow {
            criterion,
            result: grade.result(),
            grade: grade.points.map(share),
            evidence: &grade.evidence,
        })
        .collect()
}

#[derive(Serialize)]
struct SeatDimensionRow<'a> {
    dimension: &'a str,
    score: f64,
    outlier: bool,
    reasoning: &'a str,
}
