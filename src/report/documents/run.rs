//! `quorum.run/v1`: the document of `status --json` and `run --json`.
//!
//! The stable core is in the command line's contract; fields are only ever added. Rows of tasks are made while they are
//! drawn, so a mission of 100,000 tasks costs one row of memory.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::counts::Counts;
use super::fields;
use super::gates::GateRow;
use super::task::TaskRow;
use super::waits::{HoldRow, RequestRow, Wait, requests, waits};
use crate::report::{
    folds::{
        rank::{Rank, rank, worst_first},
        view::RunView,
    },
    vocabulary::budget::ceiling_words,
};
use rules::domain::{Millis, Money, OutcomeClass, Points, RunId, TaskId, Timestamp};
use rules::engine::{self, AuditStanding, GateStanding, Outcome, RunPhase, State};
use rules::mission::model::{FinalChecks, Review};
use rules::plan::BarrierKind;

worded! {
    /// Where a run stands as seen from outside: `state` of the document.
    pub enum RunState {
        /// A live process writes to it.
        Running = "running",
        /// Nobody writes to it, and its last session has no end on record.
        Crashed = "crashed",
        /// The last session ended and left work.
        Suspended = "suspended",
        /// Every task is done or failed.
        Ended = "ended",
        /// A person cancelled all that was not done.
        Cancelled = "cancelled",
    }
}

impl RunState {
    /// The standing of a run (semantics, section 5), given whether a live process writes to it.
    pub fn of(state: &State, has_writer: bool) -> Self {
        match state.phase {
            _ if has_writer => Self::Running,
            RunPhase::Finished if state.is_unfinished() => Self::Suspended,
            RunPhase::Finished if state.is_cancelled() => Self::Cancelled,
            RunPhase::Finished => Self::Ended,
            RunPhase::New | RunPhase::Running | RunPhase::Stopping => Self::Crashed,
        }
    }
}

/// A run: `quorum run`, `resume`, `status`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.run/v1")]
pub struct RunDocument<'a> {
    /// The id of the run; `null` before it has one.
    pub(crate) run_id: Option<&'a RunId>,
    /// The name of the mission.
    pub(crate) mission: &'a str,
    /// Where the run stands.
    pub(crate) state: RunState,
    /// Whether a session works on it now.
    live: bool,
    /// Whether `quorum resume` has something to do.
    pub(crate) resumable: bool,
    /// The outcome of the last session; `null` until one has ended.
    #[schemars(with = "Option<fields::OutcomeShape>")]
    outcome: Option<&'static str>,
    /// The exit code of that outcome; `null` until a session has ended.
    exit_code: Option<u8>,
    /// All conditions that hold.
    #[schemars(with = "Vec<fields::OutcomeShape>")]
    conditions: Vec<&'static str>,
    /// Conditions that `--allow` took out.
    #[schemars(with = "Vec<fields::OutcomeShape>")]
    allowed: Vec<&'static str>,
    /// Whether all that was unfinished or failed was cancelled.
    pub(crate) cancelled: bool,
    /// Why agents worked without confinement, where they did.
    pub(crate) unconfined: Option<&'a str>,
    /// The folder from which the state was carried to where it lies.
    moved_from: Option<Cow<'a, str>>,
    /// Whether and how accepted work is looked at again at the end.
    final_checks: FinalChecks,
    /// How far the last audit of accepted work is.
    audit: AuditStanding,
    /// When a limit of a subscription resets that the run waits for, or ended with.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    pub(crate) resumable_at: Option<Timestamp>,
    /// The start of the first session.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    pub(crate) started_at: Option<Timestamp>,
    /// The end of the last session; `null` while one goes on.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    pub(crate) finished_at: Option<Timestamp>,
    /// The deadline of the mission; `null` where it has none.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    deadline: Option<Timestamp>,
    /// How many tasks are what.
    pub(crate) counts: Counts,
    /// The usage of the whole run.
    usage: RunUsage,
    /// Left out where nothing is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetRow>,
    /// The tasks, in file order.
    #[serde(skip_serializing_if = "fields::in_templates")]
    #[schemars(with = "Vec<TaskRow>")]
    pub(crate) tasks: Tasks<'a>,
    /// The quality gates, in file order.
    pub(crate) gates: Vec<GateRow<'a>>,
    /// Left out where the mission has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) checkpoints: Vec<HoldRow<'a>>,
    /// Left out where the mission has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) delays: Vec<HoldRow<'a>>,
    /// The score of the whole mission.
    pub(crate) mission_score: MissionScore,
    /// The waits for a person or for a moment.
    approvals: Vec<Wait<'a>>,
    /// Work that was accepted below the bar, which operators should know of.
    pub(crate) requests: Vec<RequestRow<'a>>,
    /// Sentences about the run that a person should know.
    pub(crate) warnings: &'a [String],
    /// Titles of tasks whose agents outlived the session that started them and are still at work; left out
    /// where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) agents_at_work: Vec<&'a str>,
    /// The outcome of the last session, for reports; `None` while a session goes on, or after a crash. JSON has
    /// the outcome that is on record.
    #[serde(skip)]
    pub(crate) ended: Option<&'a Outcome>,
    /// The reference with accepted work that the user's branch does not have.
    #[serde(skip)]
    pub(crate) to_merge: Option<&'a str>,
}

impl<'a> RunDocument<'a> {
    /// The document of a run. `ended` is what reports say that its last session ended with: what is on record, or
    /// `internal` where the state could not be written any more.
    pub fn of(state: &'a State, view: &'a RunView, standing: RunState, ended: Option<&'a Outcome>) -> Self {
        let outcome = view.outcome.as_ref();
        let names = |classes: &[OutcomeClass]| classes.iter().map(|class| class.as_str()).collect();
        let holds = |is_checkpoint: bool| {
            let ids = state.plan.barrier_ids();
            ids.filter(|id| (state.plan.barrier(*id).kind == BarrierKind::Checkpoint) == is_checkpoint)
                .map(|id| HoldRow::of(state, view, id))
                .collect()
        };
        Self {
            run_id: view.run_id.as_ref(),
            mission: &state.plan.name,
            state: standing,
            live: standing == RunState::Running,
            resumable: state.is_resumable(),
            outcome: outcome.map(|outcome| outcome.class.as_str()),
            exit_code: outcome.map(|outcome| outcome.class.exit_code()),
            conditions: outcome.map_or_else(Vec::new, |outcome| names(&outcome.conditions)),
            allowed: outcome.map_or_else(Vec::new, |outcome| names(&outcome.allowed)),
            cancelled: state.is_cancelled(),
            unconfined: state.unconfined.as_deref(),
            moved_from: state.moved_from.as_deref().map(Path::to_string_lossy),
            final_checks: state.plan.rules.settings.final_checks,
            audit: state.audit_standing(),
            resumable_at: state.resumable_at(),
            started_at: view.started_at,
            finished_at: view.finished_at,
            deadline: state.deadlines.of(None).map(|known| known.due),
            counts: Counts::of(state, view),
            usage: RunUsage::of(state),
            budget: BudgetRow::of(state),
            tasks: Tasks { state, view },
            gates: state.plan.gate_ids().map(|id| GateRow::of(state, id)).collect(),
            checkpoints: holds(true),
            delays: holds(false),
            mission_score: MissionScore::of(state),
            approvals: waits(state, view).collect(),
            requests: requests(state, view).collect(),
            warnings: &view.warnings,
            agents_at_work: at_work(state, view),
            ended,
            // What is not whole is not to be merged.
            to_merge: state
                .delivery
                .as_ref()
                .filter(|_| !state.is_unfinished())
                .and_then(|delivery| delivery.waits.as_deref()),
        }
    }

    /// The document of a run that no session works on any more.
    pub fn of_session(state: &'a State, view: &'a RunView, ended: Option<&'a Outcome>) -> Self {
        Self::of(state, view, RunState::of(state, false), ended)
    }

    /// Writes the document as JSON, and a line feed.
    ///
    /// # Errors
    ///
    /// When `out` cannot be written to.
    pub fn write(&self, out: impl io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::new(out);
        serde_json::to_writer(&mut out, self)?;
        io::Write::write_all(&mut out, b"\n")?;
        io::Write::flush(&mut out)
    }

    /// The document as JSON in memory, with a line feed at its end.
    ///
    /// # Errors
    ///
    /// Never for a document that can be serialised.
    pub fn to_bytes(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write(&mut bytes)?;
        Ok(bytes)
    }

    /// The time that the sessions worked; see [`RunView::worked_for`].
    pub(crate) fn worked_for(&self) -> Option<Millis> {
        self.tasks.view.worked_for()
    }

    /// The sentence for reports of a run without an outcome: that it has not ended, and its state.
    pub(crate) fn not_ended(&self) -> String {
        format!("the run has not ended: {}", self.state.as_str())
    }

    /// The waits that a person can answer: checkpoints, then tasks in their order.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Wait<'a>> {
        self.approvals.iter().filter(|wait| wait.id.is_some())
    }

    /// The tasks that wait for a limit to reset, in their order.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Wait<'a>> {
        let moments = self.approvals.iter().filter(|wait| wait.id.is_none());
        moments.filter(|wait| wait.task.is_some())
    }

    /// The gates that did not pass.
    pub(crate) fn failed_gates(&self) -> impl Iterator<Item = &GateRow<'a>> {
        let gates = self.gates.iter();
        gates.filter(|gate| gate.state == GateStanding::Failed)
    }
}

/// Titles of tasks whose agents work on without a session.
fn at_work<'a>(state: &'a State, view: &RunView) -> Vec<&'a str> {
    let tasks = view.at_work.iter();
    tasks.map(|id| state.plan.title(*id)).collect()
}

/// The tasks of a run. Each row is made when it is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Tasks<'a> {
    pub state: &'a State,
    pub view: &'a RunView,
}

impl<'a> Tasks<'a> {
    pub fn row(self, id: TaskId) -> TaskRow<'a> {
        TaskRow::of(self.state, self.view, id)
    }

    /// The rows of the tasks, in file order.
    pub fn rows(self) -> impl Iterator<Item = TaskRow<'a>> {
        self.state.plan.task_ids().map(move |id| self.row(id))
    }

    /// The tasks of one rank, in file order.
    pub fn of_rank(self, wanted: Rank) -> Vec<TaskId> {
        let ids = self.state.plan.task_ids();
        ids.filter(|id| rank(self.state, self.view, *id) == wanted)
            .collect()
    }

    /// Accepted work whose checks were green all along, and that nothing else stands for, in file order.
    pub fn unproven(self) -> Vec<TaskId> {
        let done = self.state.plan.task_ids();
        let is_vacuous = |id: &TaskId| {
            let task = self.state.task(*id);
            task.flag().is_some() && task.attempt.is_vacuous()
        };
        done.filter(is_vacuous).collect()
    }

    /// Whether what checks say before the work is not looked at by the mission's own word.
    pub fn has_baselines_off(self) -> bool {
        let plan = &self.state.plan;
        let is_off = |id| plan.task(id).baseline.unwrap_or(plan.rules.settings.baseline);
        plan.selected_ids().any(|id| !is_off(id))
    }

    /// Whether work that nobody judged was to be judged: `review: none` is a decision and no warning.
    pub fn lacks_reviews(self) -> bool {
        let unreviewed = self.of_rank(Rank::Unreviewed);
        unreviewed
            .into_iter()
            .any(|id| self.state.plan.task(id).review != Review::None)
    }

    /// The worst first; in file order where nothing tells them apart.
    pub fn worst_first(self) -> impl Iterator<Item = TaskRow<'a>> {
        let ranked = worst_first(self.state, self.view);
        ranked.into_iter().map(move |(_, id)| self.row(id))
    }
}

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Usage {
    /// Requests to models, and turns of other agents.
    requests: u64,
    /// Tokens of requests; `null` where nobody told.
    input_tokens: Option<u64>,
    /// Tokens of replies; `null` where nobody told.
    output_tokens: Option<u64>,
    /// The known cost; `null` where nothing is known of it.
    pub cost: Option<f64>,
}

impl Usage {
    pub fn of_task(view: &RunView, id: TaskId) -> Self {
        let usage = &view.task(id).usage;
        Self {
            requests: usage.requests.into(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost: view.costs.get(&id).map(|cost| cost.to_f64()),
        }
    }
}

#[derive(Serialize, JsonSchema)]
struct RunUsage {
    #[serde(flatten)]
    used: Usage,
    /// The limit of the cost, `maxCost`, in dollars.
    budget: Option<f64>,
}

impl RunUsage {
    fn of(state: &State) -> Self {
        let spent = state.ledger.spent();
        Self {
            used: Usage {
                requests: spent.requests,
                input_tokens: spent.input_tokens,
                output_tokens: spent.output_tokens,
                cost: spent.cost.map(Money::to_f64),
            },
            budget: state.plan.rules.budget.max_cost.map(Money::to_f64),
        }
    }
}

/// The budget of a run, and how much of it is used.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BudgetRow {
    /// The most that the run may cost.
    max_cost: Option<f64>,
    /// The most tokens that the run may use.
    max_tokens: Option<u64>,
    /// The most requests that the run may make.
    max_requests: Option<u64>,
    /// The most time that the run may take, in milliseconds.
    max_time: Option<u64>,
    /// The share of the cost and of the tokens that is kept for judging.
    reserve_for_judging: Option<f64>,
    /// Turns and calls that told nothing, or not all.
    unknown: u64,
    /// The charge for calls of unknown cost, beside the known cost.
    charged: f64,
    /// The part of the known cost that only the agents themselves say.
    claimed: f64,
    /// The limit that ended the work of the last session, in words.
    exhausted: Option<String>,
    /// By how much calls in flight went beyond the ceilings.
    overshoot: Overshoot,
}

#[derive(Serialize, JsonSchema)]
struct Overshoot {
    /// The cost above the limit, in dollars.
    cost: Option<f64>,
    /// The tokens above the limit.
    tokens: Option<u64>,
    /// The requests above the limit.
    requests: Option<u64>,
}

impl BudgetRow {
    /// `None` where nothing is limited.
    fn of(state: &State) -> Option<Self> {
        let (spent, budget) = (state.ledger.spent(), &state.plan.rules.budget);
        let over = state.ledger.overshoot(&state.plan);
        (!budget.is_none()).then(|| Self {
            max_cost: budget.max_cost.map(Money::to_f64),
            max_tokens: budget.max_tokens,
            max_requests: budget.max_requests,
            max_time: budget.max_time.map(|time| time.0),
            reserve_for_judging: budget.reserve_for_judging.map(|share| share.to_f64()),
            unknown: spent.untold,
            charged: spent.charged.to_f64(),
            claimed: spent.claimed.to_f64(),
            exhausted: state.ledger.limit().map(|ceiling| ceiling_words(state, ceiling)),
            overshoot: Overshoot {
                cost: over.cost.map(Money::to_f64),
                tokens: over.tokens,
                requests: over.requests,
            },
        })
    }
}

/// The score of the whole mission, and what it must reach.
#[derive(Serialize, JsonSchema)]
pub(crate) struct MissionScore {
    /// The score in points; `null` where there is none.
    #[serde(serialize_with = "fields::points")]
    #[schemars(with = "Option<fields::PointsShape>")]
    pub points: Option<Points>,
    /// The bar for the score, in points; `null` where the mission has no `qualityThreshold`.
    #[serde(serialize_with = "fields::points")]
    #[schemars(with = "Option<fields::PointsShape>")]
    pub bar: Option<Points>,
    /// Whether the score reached the bar; `null` until the run has ended.
    pub passed: Option<bool>,
    /// The score that missed the bar when the run ended; `None` where it did not miss it.
    #[serde(skip)]
    pub missed_with: Option<Points>,
}

impl MissionScore {
    /// The threshold is held against a finished run only: before that `passed` is null, unless there is no bar.
    fn of(state: &State) -> Self {
        let bar = state.plan.rules.quality_threshold;
        let decided = state.phase == RunPhase::Finished && !state.is_unfinished();
        let passed = match bar {
            None => Some(true),
            Some(_) if state.session.threshold_failed.is_some() => Some(false),
            Some(_) => decided.then_some(true),
        };
        Self {
            points: engine::mission_score(state),
            bar,
            passed,
            missed_with: state.session.threshold_failed,
        }
    }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
