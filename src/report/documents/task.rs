//! One task of `quorum.run/v1`.

use rust_decimal::prelude::ToPrimitive;

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::diff::{self, DiffRow};
use super::proof::{ProofRow, flag_cause, shows_nothing};
use super::reviews::ReviewRow;
use super::run::Usage;
use super::waits::{SlotWait, Wait};
use super::{NOT_TAKEN, fields};
use crate::report::folds::{
    findings::FindingRow,
    further_stages::at_work,
    rank::{Rank, rank},
    view::{AttemptRow, FailureRow, RunView},
};
use rules::{
    domain::{
        Bar, BarOrigin, Cause, DimensionScore, Edge, FailureMode, Phase, Points, QualityFlag, Status, TaskId,
        Timestamp,
    },
    engine::{Mark, Prerequisite, SeatState, StageReport, State, TaskState, nothing_to_do},
    plan::Part,
};

/// The state of one task.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskRow<'a> {
    #[serde(skip)]
    pub id: TaskId,
    /// The group of the task in reports.
    #[serde(skip)]
    pub rank: Rank,
    /// The title of the task.
    pub title: &'a str,
    /// The name of the agent that does the task.
    pub agent: &'a str,
    /// `pending`, `assigned`, `in_progress`, `review`, `awaiting_approval`, `done`, `failed`, `notTaken` or `removed`.
    pub status: &'static str,
    /// The activity within `assigned`, `in_progress` and `review`.
    #[serialize_always]
    pub phase: Option<Phase>,
    /// The stage behind the verification that looks at it now.
    stage: Option<&'a str>,
    /// Whether a review that was asked for gave no trustworthy verdict; left out where not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    indeterminate: bool,
    /// How a done task was accepted.
    #[serialize_always]
    pub quality_flag: Option<QualityFlag>,
    /// Why the work is flagged so, where no check shows that it was done.
    flag_cause: Option<Cause>,
    /// Why there was nothing to do, as its worker says, where nothing is known against it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing_to_do: Option<&'a str>,
    /// How many checks said what before the work; left out as long as that is not known.
    pub proof: Option<ProofRow>,
    /// The score in points; `null` where there is none.
    #[serde(serialize_with = "fields::points")]
    #[schemars(with = "Option<fields::PointsShape>")]
    #[serialize_always]
    pub points: Option<Points>,
    /// The score on the scale from 1 to 5; `null` where there is none.
    #[serde(serialize_with = "fields::score")]
    #[schemars(with = "Option<fields::ScoreShape>")]
    #[serialize_always]
    score: Option<Points>,
    /// The bar for the score, in points; `null` where there is none.
    #[serde(serialize_with = "fields::bar")]
    #[schemars(with = "Option<fields::PointsShape>")]
    #[serialize_always]
    pub bar: Option<Bar>,
    /// Where the bar comes from.
    #[serialize_always]
    bar_origin: Option<BarOrigin>,
    /// The attempts at the task, the oldest first.
    pub attempts: &'a [AttemptRow],
    /// The dimensions as the reviewers scored them together.
    pub dimensions: Vec<DimensionRow<'a>>,
    /// The words of each reviewer.
    pub reviews: Vec<ReviewRow<'a>>,
    /// The findings of the last attempt.
    pub findings: Vec<FindingRow<'a>>,
    /// The failure of the task; `null` where it did not fail.
    #[serialize_always]
    pub failure: Option<&'a FailureRow>,
    /// The wait of the task for a person or a moment; `null` where there is none.
    #[serialize_always]
    pub waiting: Option<WaitingRow<'a>>,
    /// Where a task comes from that the mission does not have itself.
    added: Option<AddedRow<'a>>,
    /// For failed tasks: the fixup that made up for it.
    pub superseded_by: Option<&'a str>,
    /// The agent that handed it down.
    delegated_by: Option<&'a str>,
    /// The titles of its dependencies.
    pub depends_on: Vec<&'a str>,
    /// The obstacles of the task now: titles of tasks, names of checkpoints, delays and gates.
    pub blocked_by: Vec<&'a str>,
    /// The start of the first attempt.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    #[serialize_always]
    pub started_at: Option<Timestamp>,
    /// The moment when the task was done or failed.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    #[serialize_always]
    pub finished_at: Option<Timestamp>,
    /// The usage of the task: its turns and its reviews.
    pub usage: Usage,
    /// The change of the task. Left out where the task has no worktree, or has committed nothing.
    pub diff: Option<DiffRow<'a>>,
    /// The folder that it works in. Left out where that is the workspace.
    pub folder: Option<String>,
    /// The deadline of the task; left out where it has none.
    deadline: Option<DeadlineRow>,
    /// The edges of a verification; left out for other tasks.
    pub edges: Option<EdgesRow<'a>>,
    /// For a task that is not taken: the verification whose verdict left it out.
    left_out_by: Option<LeftOutRow<'a>>,
    /// Why the checks show nothing of the accepted work, where nothing else stands for it.
    #[serde(skip)]
    pub shows_nothing: Option<&'static str>,
    /// Whether nobody knows what its checks said before the work, and nothing else stands for it.
    #[serde(skip)]
    pub is_of_unknown_baseline: bool,
    /// Whether a stage that could not say anything is all that makes its verdict untrustworthy.
    #[serde(skip)]
    pub is_faulted: bool,
    /// The verdicts that sent it back or ended it, the oldest first.
    #[serde(skip)]
    pub rejections: &'a [StageReport],
    /// The status of the task, whatever the run takes of the mission.
    #[serde(skip)]
    pub standing: Status,
    /// Whether the verdict of a verification left it out.
    #[serde(skip)]
    pub not_taken: bool,
    /// The person who had the last word about its work.
    #[serde(skip)]
    pub person: Option<&'a str>,
    /// Why accepted work did not stand.
    #[serde(skip)]
    pub reopened: Option<&'a str>,
    /// The turn that it waits for, where it lacks nothing else.
    #[serde(skip)]
    pub queued: Option<SlotWait<'a>>,
    /// How many judges have replied, of how many that are asked now.
    #[serde(skip)]
    pub judges: (usize, usize),
}

/// Where the edges of a verification lead, and which one it took.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EdgesRow<'a> {
    /// The task that follows a pass.
    pub on_pass: &'a str,
    /// The task that follows a fail.
    pub on_fail: &'a str,
    /// The task that follows where it could not be told.
    pub on_refer: &'a str,
    /// `null` as long as its verdict is open.
    pub taken: Option<&'static str>,
    /// The task to which that one leads.
    #[serde(skip)]
    pub led_to: Option<&'a str>,
    /// The number of verdicts so far.
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
            led_to: task.edge().map(title),
            visits: task.course.visits + last,
            max_visits: route.fail_goes_back.then_some(route.max_visits),
        })
    }
}

#[derive(Serialize, JsonSchema)]
struct LeftOutRow<'a> {
    /// The title of the verification.
    task: &'a str,
    /// The edge that it took: `onPass`, `onFail` or `onRefer`.
    edge: &'static str,
}

/// The deadline of a task.
#[derive(Serialize, JsonSchema)]
struct DeadlineRow {
    /// The moment; `null` as long as its time has not begun.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    at: Option<Timestamp>,
    /// waiting, running, warning, violated or met
    status: &'static str,
}

impl DeadlineRow {
    fn of(state: &State, id: TaskId) -> Option<Self> {
        state.plan.task(id).deadline?;
        let known = state.deadlines.of(Some(id));
        Some(Self {
            at: known.map(|known| known.due),
            status: known.map_or("waiting", |known| known.status()),
        })
    }
}

impl<'a> TaskRow<'a> {
    pub fn of(state: &'a State, view: &'a RunView, id: TaskId) -> Self {
        let (plan, task, seen) = (state.plan.task(id), state.task(id), view.task(id));
        let bar = state.plan.bar(id);
        let dimensions = seen.review.as_deref().map(|review| &review.dimensions);
        let dimensions = dimensions.into_iter().flatten();
        let rank = rank(state, view, id);
        Self {
            id,
            rank,
            indeterminate: rank == Rank::Indeterminate,
            title: &plan.title,
            agent: state.plan.agent_name(plan.agent),
            status: match plan.part {
                Part::Selected if !task.not_taken => task.status().as_str(),
                Part::Selected | Part::NotSelected => NOT_TAKEN,
                Part::Removed => "removed",
            },
            phase: task.phase(),
            stage: at_work(state, id),
            quality_flag: task.flag(),
            flag_cause: flag_cause(state, id),
            proof: ProofRow::of(state, id),
            points: task.attempt.points,
            score: task.attempt.points,
            bar,
            bar_origin: bar.map(|bar| bar.origin),
            attempts: &seen.attempts,
            dimensions: dimensions.map(|score| DimensionRow::of(state, id, score)).collect(),
            reviews: ReviewRow::all(state, view, id),
            findings: FindingRow::all(state, view, id),
            failure: seen.failure.as_deref(),
            waiting: Wait::of_task(state, view, id).map(WaitingRow::of),
            added: AddedRow::of(state, id),
            superseded_by: task.is_superseded().then(|| &*state.plan.task(state.effective_task(id)).title),
            delegated_by: plan.delegated_by.map(|id| state.plan.agent_name(id)),
            depends_on: state.plan.titles(state.plan.dependencies.of(id)),
            blocked_by: blocked_by(state, id),
            started_at: seen.started_at,
            finished_at: seen.finished_at,
            usage: Usage::of_task(view, id),
            diff: DiffRow::of(state, view.run_id.as_ref(), id),
            folder: diff::folder(state, id),
            deadline: DeadlineRow::of(state, id),
            edges: EdgesRow::of(state, id),
            left_out_by: task
                .not_taken
                .then(|| state.left_out_by(id))
                .flatten()
                .map(|(by, edge)| LeftOutRow { task: state.plan.title(by), edge: edge.as_str() }),
            shows_nothing: shows_nothing(state, id),
            nothing_to_do: nothing_to_do(task),
            is_of_unknown_baseline: task.attempt.has(Mark::BaselineUnknown),
            is_faulted: task.attempt.has(Mark::Faulted) && !task.attempt.has(Mark::Indeterminate),
            rejections: seen.rejections(),
            standing: task.status(),
            not_taken: task.not_taken,
            person: view.persons.get(&id).map(String::as_str),
            reopened: task.reopened.as_deref().map(|open| &*open.why),
            queued: SlotWait::of(state, id),
            judges: judges(task),
        }
    }

    /// The last review by the verification; `None` where there is none.
    pub fn graded(&self) -> Option<&ReviewRow<'a>> {
        let mut reviews = self.reviews.iter();
        reviews.find(|review| review.name.is_none() && review.report.is_some())
    }

    /// The last reports of the stages behind the verification, in their order.
    pub fn scrutiny(&self) -> impl Iterator<Item = &'a StageReport> {
        let stages = self.reviews.iter().filter(|review| review.name.is_some());
        stages.filter_map(|review| review.report)
    }

    /// Why the verdict of a verification left it out.
    pub fn not_taken_words(&self) -> String {
        match &self.left_out_by {
            Some(by) => format!("not taken: '{}' took {}", by.task, by.edge),
            None => "not taken".to_owned(),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AddedRow<'a> {
    /// The origin of the task: a fixup, a delegation, a request and so on.
    origin: &'static str,
    /// The title of the task that it was added for.
    source: Option<&'a str>,
    /// The request for work that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<&'a str>,
}

impl<'a> AddedRow<'a> {
    fn of(state: &'a State, id: TaskId) -> Option<Self> {
        let from = state.plan.task(id).provenance.as_deref()?;
        Some(Self {
            origin: from.origin.as_str(),
            source: from.source.map(|id| state.plan.title(id)),
            request: from.request.as_deref(),
        })
    }
}

/// How many judges have replied, of how many that are asked now.
fn judges(task: &TaskState) -> (usize, usize) {
    let seats = task.judging().map_or(&[][..], |judging| &judging.seats);
    let replied = seats.iter().filter(|seat| seat.state != SeatState::Asked);
    (replied.count(), seats.len())
}

/// What holds a pending task: titles of dependencies that are not done, or of the fixups that are to mend them, names of
/// checkpoints, delays and gates that did not pass, titles of regressed work that is done again before it.
pub(crate) fn blocked_by(state: &State, id: TaskId) -> Vec<&str> {
    let plan = &state.plan;
    if state.task(id).status() != Status::Pending || !state.takes(id) {
        return Vec::new();
    }
    let name = |(_, requirement)| match requirement {
        Prerequisite::Dependency(on) => Some(plan.title(state.open_fixup(on).unwrap_or(on))),
        Prerequisite::Barrier(hold) => Some(&*plan.barrier(hold).name),
        Prerequisite::Gate(gate) => Some(&*plan.gate(gate).name),
        Prerequisite::Regressed(first) => Some(plan.title(first)),
        Prerequisite::Agreement => None,
    };
    state.unmet(id, 0).filter_map(name).collect()
}

/// One dimension as the reviewers scored it together.
#[derive(Serialize, JsonSchema)]
pub(crate) struct DimensionRow<'a> {
    /// The name of the dimension.
    pub dimension: &'a str,
    /// From 1 to 5.
    pub score: f64,
    /// The score in points, as the reviewers gave it together.
    #[serde(skip)]
    pub points: Points,
    /// The weight of the dimension among those of the task.
    pub weight: Option<f64>,
    /// The reason for the score.
    pub reasoning: &'a str,
}

impl<'a> DimensionRow<'a> {
    fn of(state: &State, id: TaskId, scored: &'a DimensionScore) -> Self {
        Self {
            dimension: &scored.dimension,
            score: scored.points.score_f64(),
            points: scored.points,
            weight: weight(state, id, &scored.dimension),
            reasoning: &scored.reasoning,
        }
    }
}

/// The weight of one of the task's dimensions.
pub(crate) fn weight(state: &State, id: TaskId, dimension: &str) -> Option<f64> {
    let dimensions = &state.plan.task(id).panel()?.dimensions;
    let found = dimensions.iter().find(|candidate| candidate.name == dimension)?;
    found.weight.to_f64()
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct WaitingRow<'a> {
    /// Why, in a word: `approval`, `question`, `window` and so on.
    pub reason: &'static str,
    /// `null` where a moment ends the wait, not a person.
    pub id: Option<String>,
    /// The moment when the wait began.
    #[serde(serialize_with = "fields::this_moment")]
    #[schemars(with = "fields::MomentShape")]
    since: Timestamp,
    /// The reason of the wait, for a person.
    #[serde(skip)]
    pub message: &'a str,
}

impl<'a> WaitingRow<'a> {
    fn of(wait: Wait<'a>) -> Self {
        Self { reason: wait.reason, since: wait.since, id: wait.id, message: wait.message }
    }
}
