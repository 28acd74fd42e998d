//! One task of `quorum.run/v1`.

use rust_decimal::prelude::ToPrimitive;

use serde::Serialize;

use crate::domain::{
    BarOrigin, Cause, DimensionScore, Edge, FailureClass, FailureMode, Phase, Points, QualityFlag, Status,
    TaskId, Timestamp, Verdict,
};
use crate::engine::{HoldStage, State};
use crate::mission::Part;
use crate::report::asked::{Asked, WINDOW, Window, of_task, window_of};
use crate::report::findings::FindingRow;
use crate::report::reviews::ReviewRow;
use crate::report::stages::at_work;
use crate::report::view::{AttemptView, FailureView, RunView};

use super::{NOT_TAKEN, Source, Usage};

/// The row of one task, as in the run's document.
pub(in crate::report) fn task_row<'a>(state: &'a State, view: &'a RunView, id: TaskId) -> TaskRow<'a> {
    TaskRow::of(Source { state, view }, id)
}
/// One task.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::report) struct TaskRow<'a> {
    pub title: &'a str,
    pub agent: &'a str,
    pub status: &'static str,
    phase: Option<&'static str>,
    /// The stage behind the verification that looks at it now.
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<&'a str>,
    pub quality_flag: Option<&'static str>,
    pub points: Option<f64>,
    score: Option<f64>,
    pub bar: Option<f64>,
    bar_origin: Option<BarOrigin>,
    attempts: Vec<AttemptRow>,
    dimensions: Vec<DimensionRow<'a>>,
    reviews: Vec<ReviewRow<'a>>,
    findings: Vec<FindingRow<'a>>,
    pub failure: Option<FailureRow<'a>>,
    pub waiting: Option<WaitingRow>,
    /// Where a task comes from that the mission does not have itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    added: Option<AddedRow<'a>>,
    /// For failed tasks: the fixup that made up for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_by: Option<&'a str>,
    /// The agent that handed it down.
    #[serde(skip_serializing_if = "Option::is_none")]
    delegated_by: Option<&'a str>,
    pub depends_on: Vec<&'a str>,
    pub blocked_by: Vec<&'a str>,
    started_at: Option<String>,
    finished_at: Option<String>,
    usage: Usage,
    /// Left out where it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<DeadlineRow>,
    /// Of a verification.
    #[serde(skip_serializing_if = "Option::is_none")]
    edges: Option<EdgesRow<'a>>,
    /// For a task that is not taken: the verification whose verdict left it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_by: Option<LeftOutRow<'a>>,
}
/// Where the edges of a verification lead, and which one it took.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::report) struct EdgesRow<'a> {
    pub on_pass: &'a str,
    pub on_fail: &'a str,
    pub on_refer: &'a str,
    /// `null` as long as its verdict is open.
    pub taken: Option<&'static str>,
    /// Verdicts so far.
    pub visits: u32,
    /// `null` where `onFail` leads on.
    pub max_visits: Option<u32>,
}
impl<'a> EdgesRow<'a> {
    pub fn of(state: &'a State, id: TaskId) -> Option<Self> {
        let route = state.plan.route(id)?;
        let title = |edge| &*state.plan.task(route.target(edge)).title;
        let task = state.task(id);
        // The verdict that ended it took no edge.
        let last = u32::from(task.status() == Status::Failed && task.mode() == Some(FailureMode::Quality));
        Some(Self {
            on_pass: title(Edge::Pass),
            on_fail: title(Edge::Fail),
            on_refer: title(Edge::Refer),
            taken: task.edge().map(Edge::as_str),
            visits: task.course.visits + last,
            max_visits: route.fail_goes_back.then_some(route.max_visits),
        })
    }
}
#[derive(Serialize)]
struct LeftOutRow<'a> {
    task: &'a str,
    edge: &'static str,
}
/// A task's deadline.
#[derive(Serialize)]
struct DeadlineRow {
    /// The moment; `None` as long as its time has not begun.
    at: Option<String>,
    /// waiting, running, warning, violated or met
    status: &'static str,
}
impl DeadlineRow {
    fn of(state: &State, id: TaskId) -> Option<Self> {
        state.plan.task(id).deadline?;
        let known = state.deadlines.of(Some(id));
        Some(Self {
            at: known.map(|known| known.due.to_rfc3339()),
            status: known.map_or("waiting", |known| known.status()),
        })
    }
}
impl<'a> TaskRow<'a> {
    pub(super) fn of(source: Source<'a>, id: TaskId) -> Self {
        let Source { state, view } = source;
        let (plan, task, seen) = (state.plan.task(id), state.task(id), view.task(id));
        let bar = state.plan.bar(id);
        let review = seen.review.as_deref();
        let seats = review.map_or(&[][..], |review| &review.seats);
        let dimensions = review.map_or(&[][..], |review| &review.dimensions);
        let dependencies = state.plan.dependencies.of(id.index()).iter();
        Self {
            title: &plan.title,
            agent: &state.plan.agent(plan.agent).name,
            status: match plan.part {
                Part::Selected if !task.not_taken => task.status().as_str(),
                Part::Selected | Part::NotSelected => NOT_TAKEN,
                Part::Removed => "removed",
            },
            phase: task.phase().map(Phase::as_str),
            stage: at_work(state, id),
            quality_flag: task.flag().map(QualityFlag::as_str),
            points: task.attempt.points.map(Points::to_f64),
            score: task.attempt.points.map(Points::score_f64),
            bar: bar.map(|bar| bar.points.to_f64()),
            bar_origin: bar.map(|bar| bar.origin),
            attempts: seen.attempts.iter().map(AttemptRow::of).collect(),
            dimensions: dimensions
                .iter()
                .map(|score| DimensionRow::of(source, id, score))
                .collect(),
            reviews: seats
                .iter()
                .map(|seat| ReviewRow::of(state, seat))
                .chain(
                    view.verifications
                        .get(&id)
                        .map(|report| ReviewRow::of_verification(state, id, report, view.graders.get(&id))),
                )
                .chain(
                    view.scrutiny
                        .get(&id)
                        .into_iter()
                        .flatten()
                        .map(|report| ReviewRow::of_stage(state, id, report)),
                )
                .chain(view.persons.get(&id).map(|name| ReviewRow::of_person(name)))
                .collect(),
            findings: FindingRow::all(state, view, id),
            failure: seen.failure.as_deref().map(FailureRow::of),
            waiting: of_task(state, view, id)
                .map(WaitingRow::of)
                .or_else(|| window_of(state, id).map(WaitingRow::of_window)),
            added: plan.provenance.as_deref().map(|from| AddedRow {
                origin: from.origin.as_str(),
                source: from.source.map(|id| &*state.plan.task(id).title),
                request: from.request.as_deref(),
            }),
            superseded_by: task
                .is_superseded()
                .then(|| &*state.plan.task(state.standing(id)).title),
            delegated_by: plan.delegated_by.map(|id| &*state.plan.agent(id).name),
            depends_on: dependencies.map(|id| &*state.plan.task(*id).title).collect(),
            blocked_by: blocked_by(state, id),
            started_at: seen.started_at.map(Timestamp::to_rfc3339),
            finished_at: seen.finished_at.map(Timestamp::to_rfc3339),
            usage: Usage::of_task(view, id),
            deadline: DeadlineRow::of(state, id),
            edges: EdgesRow::of(state, id),
            left_out_by: task
                .not_taken
                .then(|| state.left_out_by(id))
                .flatten()
                .map(|(by, edge)| LeftOutRow {
                    task: &state.plan.task(by).title,
                    edge: edge.as_str(),
                }),
        }
    }
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AddedRow<'a> {
    origin: &'static str,
    source: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
}
/// What holds a pending task: titles of dependencies that are not done, or of the fixups that are to mend them, then names
/// of checkpoints, delays and gates that did not pass.
pub(in crate::report) fn blocked_by(state: &State, id: TaskId) -> Vec<&str> {
    let plan = &state.plan;
    if state.task(id).status() != Status::Pending || !state.takes(id) {
        return Vec::new();
    }
    let dependencies = plan.dependencies.of(id.index()).iter();
    let gates = plan.gates_before.of(id.index()).iter();
    dependencies
        .filter(|on| !state.is_met(**on) && !state.task(id).does_without(**on))
        .map(|on| &*plan.task(state.open_fixup(*on).unwrap_or(*on)).title)
        .chain(
            plan.holds_before
                .of(id.index())
                .iter()
                .filter(|id| state.hold(**id).stage != HoldStage::Passed)
                .map(|id| &*plan.hold(*id).name),
        )
        .chain(
            gates
                .filter(|id| !state.gate(**id).is_open())
                .map(|id| &*plan.gate(*id).name),
        )
        .chain(reopened_before(state, id))
        .collect()
}

/// Regressed tasks that name a file of a regressed one and are done again before it.
fn reopened_before(state: &State, id: TaskId) -> impl Iterator<Item = &str> {
    let is_open = state.task(id).reopened.is_some();
    let tasks = is_open.then(|| state.plan.task_ids()).into_iter().flatten();
    let first = tasks.filter(move |first| {
        let open = state.task(*first).reopened.as_deref();
        open.is_some_and(|open| open.ahead_of.contains(&id))
    });
    first.map(|first| &*state.plan.task(first).title)
}

#[derive(Serialize)]
struct AttemptRow {
    n: u32,
    kind: &'static str,
    verdict: Option<&'static str>,
    cause: Option<&'static str>,
    points: Option<f64>,
}
impl AttemptRow {
    fn of(attempt: &AttemptView) -> Self {
        Self {
            n: attempt.number,
            kind: attempt.kind.as_str(),
            verdict: attempt.verdict.map(Verdict::as_str),
            cause: attempt.cause.map(Cause::as_str),
            points: attempt.points.map(Points::to_f64),
        }
    }
}
#[derive(Serialize)]
struct DimensionRow<'a> {
    dimension: &'a str,
    score: f64,
    weight: Option<f64>,
    reasoning: &'a str,
}
impl<'a> DimensionRow<'a> {
    fn of(source: Source<'a>, id: TaskId, scored: &'a DimensionScore) -> Self {
        Self {
            dimension: &scored.dimension,
            score: scored.points.score_f64(),
            weight: weight(source.state, id, &scored.dimension),
            reasoning: &scored.reasoning,
        }
    }
}
/// The weight of one of the task's dimensions.
pub(in crate::report) fn weight(state: &State, id: TaskId, dimension: &str) -> Option<f64> {
    let dimensions = &state.plan.task(id).panel()?.dimensions;
    let found = dimensions.iter().find(|candidate| candidate.name == dimension)?;
    found.weight.to_f64()
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::report) struct FailureRow<'a> {
    pub mode: &'static str,
    class: Option<&'static str>,
    error_type: Option<&'static str>,
    pub message: &'a str,
}
impl<'a> FailureRow<'a> {
    fn of(failure: &'a FailureView) -> Self {
        Self {
            mode: failure.mode.as_str(),
            class: failure.class.map(FailureClass::as_str),
            error_type: failure.class.map(FailureClass::error_type),
            message: &failure.message,
        }
    }
}
#[derive(Serialize)]
pub(in crate::report) struct WaitingRow {
    pub reason: &'static str,
    /// `null` where a moment ends the wait, not a person.
    pub id: Option<String>,
    since: String,
}
impl WaitingRow {
    fn of_window(window: Window<'_>) -> Self {
        Self {
            reason: WINDOW,
            id: None,
            since: window.since.to_rfc3339(),
        }
    }

    fn of(asked: Asked<'_>) -> Self {
        Self {
            reason: asked.reason,
            since: asked.since.to_rfc3339(),
            id: Some(asked.id),
        }
    }
}
