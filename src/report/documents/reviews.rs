//! `reviews` of a task in JSON: what each reviewer said, a person and a grader among them.

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use rules::{
    domain::{AgentId, Cause, DimensionScore, Finding, Points, Stage, TaskId, Verdict},
    engine::{StageReport, State},
};

use crate::report::folds::{
    further_stages::{judge_of, stage_name},
    view::{RunView, SeatDimension, SeatView},
};

/// The review of one reviewer, stage or person.
#[skip_serializing_none]
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct ReviewRow<'a> {
    /// The stage of judging.
    #[schemars(with = "Stage")]
    stage: &'static str,
    /// The agent or person who judged, or the kind of judge.
    pub reviewer: &'a str,
    /// The model that the provider says it used.
    #[serialize_always]
    model: Option<&'a str>,
    /// The score in points; `null` where the judge gave none.
    #[serialize_always]
    points: Option<f64>,
    /// The dimensions as it scored them.
    dimensions: Vec<ScoreRow<'a>>,
    /// The verdict; for a verification and a stage behind it only.
    verdict: Option<Verdict>,
    /// How sure the judge was, from 0 to 1.
    pub confidence: Option<f64>,
    /// The result of each criterion; for a verification only.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<CriterionRow<'a>>,
    /// The name of the stage; for a stage behind the verification only.
    pub name: Option<&'a str>,
    /// Why the verdict is what it is.
    cause: Option<Cause>,
    /// Why the verdict is what it is, in the judge's words; for a stage behind the verification only.
    reason: Option<&'a str>,
    /// The findings of the judge; for a stage behind the verification only.
    findings: Option<&'a [Finding]>,
    /// Whether a seat of the panel, or of the evaluation, said it.
    #[serde(skip)]
    pub is_seat: bool,
    /// The report of a verification or of a stage behind it; `None` for a seat.
    #[serde(skip)]
    pub report: Option<&'a StageReport>,
}

impl<'a> ReviewRow<'a> {
    /// All reviews of a task: of seats, the verification, the stages behind it, and a person.
    pub fn all(state: &'a State, view: &'a RunView, id: TaskId) -> Vec<Self> {
        let seats = view.task(id).review.as_deref().map(|review| &review.seats);
        let seats = seats.into_iter().flatten().map(|seat| Self::of_seat(state, seat));
        let verification = view.verifications.get(&id);
        let verification =
            verification.map(|report| Self::of_verification(state, id, report, view.graders.get(&id)));
        let stages = view.scrutiny.get(&id).into_iter().flatten();
        let stages = stages.map(|report| Self::of_stage(state, id, report));
        let person = view.persons.get(&id).map(|name| Self::of_person(name));
        seats.chain(verification).chain(stages).chain(person).collect()
    }

    fn of_seat(state: &'a State, seat: &'a SeatView) -> Self {
        let row = |scored: &'a SeatDimension| ScoreRow::of(&scored.score, scored.outlier);
        Self {
            stage: Stage::Judge.as_str(),
            reviewer: state.plan.agent_name(seat.reviewer),
            model: seat.model.as_deref(),
            points: seat.points.map(Points::to_f64),
            dimensions: seat.dimensions.iter().map(row).collect(),
            is_seat: true,
            ..Self::default()
        }
    }

    /// Who judged, and the model behind them where it is known.
    pub fn seat(&self) -> (&'a str, Option<&'a str>) {
        (self.reviewer, self.model)
    }

    /// A person decides without scores.
    fn of_person(name: &'a str) -> Self {
        Self { stage: Stage::Judge.as_str(), reviewer: name, ..Self::default() }
    }

    /// The review of a grader, with each criterion.
    fn of_verification(
        state: &'a State,
        id: TaskId,
        report: &'a StageReport,
        asked: Option<&'a (AgentId, Option<Box<str>>)>,
    ) -> Self {
        let judge = asked.map(|(judge, _)| *judge).or_else(|| state.plan.task(id).verification()?.grader);
        Self {
            stage: report.stage.as_str(),
            reviewer: judge.map_or(HEURISTIC, |judge| state.plan.agent_name(judge)),
            model: asked.and_then(|(_, model)| model.as_deref()),
            points: report.points.map(Points::to_f64),
            verdict: Some(report.verdict),
            confidence: report.confidence.map(share),
            criteria: criterion_rows(state, id, report),
            report: Some(report),
            ..Self::default()
        }
    }

    /// The review of a stage behind the verification.
    fn of_stage(state: &'a State, id: TaskId, report: &'a StageReport) -> Self {
        Self {
            stage: report.stage.as_str(),
            reviewer: judge_of(state, id, report),
            model: report.model.as_deref(),
            verdict: Some(report.verdict),
            name: Some(stage_name(report)),
            cause: report.cause,
            reason: report.reason.as_deref(),
            findings: Some(&report.findings),
            report: Some(report),
            ..Self::default()
        }
    }
}

/// The reviewer of a verification without a model.
const HEURISTIC: &str = "heuristic";

/// A share that is kept as points, from 0 to 1.
pub(crate) fn share(points: Points) -> f64 {
    let share = points.value() / Decimal::ONE_HUNDRED;
    share.round_dp(4).to_f64().unwrap_or_default()
}

/// One criterion of a verification.
#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct CriterionRow<'a> {
    /// As the mission writes it.
    pub criterion: &'a str,
    /// `passed`, `failed`, `partial` or `unchecked`.
    pub result: &'static str,
    /// The grade, from 0 to 1; `null` if the criterion could not be checked.
    pub grade: Option<f64>,
    /// The evidence that was seen, or why nothing could be said.
    pub evidence: &'a str,
}

/// The criteria of a task with their grades.
pub(crate) fn criterion_rows<'a>(
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
            result: grade.result().as_str(),
            grade: grade.points.map(share),
            evidence: &grade.evidence,
        })
        .collect()
}

/// One dimension as one reviewer scored it.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ScoreRow<'a> {
    /// The name of the dimension.
    pub dimension: &'a str,
    /// From 1 to 5.
    pub score: f64,
    /// Whether the score was too far from those of the other reviewers to count.
    pub outlier: bool,
    /// The reason for the score.
    pub reasoning: &'a str,
}

impl<'a> ScoreRow<'a> {
    /// One that counts, as far as is known.
    pub fn plain(scored: &'a DimensionScore) -> Self {
        Self::of(scored, false)
    }

    fn of(scored: &'a DimensionScore, outlier: bool) -> Self {
        Self {
            dimension: &scored.dimension,
            score: scored.points.score_f64(),
            outlier,
            reasoning: &scored.reasoning,
        }
    }
}
