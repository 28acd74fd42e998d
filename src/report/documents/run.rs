//! `quorum.run/v1`: the document of `status --json` and `run --json`.
//!
//! The stable core is in the command line's contract; fields are only ever added. Rows of tasks are made while they are
//! drawn, so a mission of 100,000 tasks costs one row of memory.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use super::counts::Counts;
use super::fields;
use super::gates::GateRow;
use super::task::TaskRow;
use super::tasks::Tasks;
use super::waits::{HoldRow, RequestRow, Wait, requests, waits};
use crate::report::{
    folds::view::RunView,
    screens::text::count,
    vocabulary::budget::{ceiling_words, cost_words, requests_words, sentences},
};
use rules::{
    domain::{Millis, Money, OutcomeClass, Points, RunId, TaskId, Timestamp},
    engine::{self, AuditStanding, Ceiling, GateStanding, Outcome, RunPhase, State},
    mission::{Loosening, model::FinalChecks},
    plan::{BarrierKind, Plan},
};

worded! {
    /// Where a run stands as seen from outside: `state` of the document.
    pub enum RunState {
        /// A session works on it.
        Running = "running",
        /// Its last session ended without saying so (killed, power lost). `quorum resume` continues from the last
        /// record.
        Crashed = "crashed",
        /// Its last session ended in order and work is left. `quorum resume` continues.
        Suspended = "suspended",
        /// Nothing is left to do. `quorum run` starts a new one.
        Ended = "ended",
        /// A person ended it, and everything that was unfinished was cancelled.
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
    pub(crate) usage: RunUsage,
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
    /// The outcome that is on record.
    #[serde(skip)]
    pub(crate) recorded: Option<&'a Outcome>,
    /// Where the run stands if nobody writes to it.
    #[serde(skip)]
    pub(crate) unattended: RunState,
    /// What switched reviews off; `None` where they are on.
    #[serde(skip)]
    pub(crate) reviews_off: Option<Vec<&'a Loosening>>,
    /// Whether an orchestrator looks for other ways around what failed.
    #[serde(skip)]
    pub(crate) has_orchestrator: bool,
    /// The limit of the budget that ended the work of the last session.
    #[serde(skip)]
    pub(crate) limit: Option<Ceiling>,
    /// That limit, and by how much the budget was overshot, in sentences.
    #[serde(skip)]
    pub(crate) limits: Vec<String>,
    /// Until when the session waits for a person.
    #[serde(skip)]
    pub(crate) waits_until: Option<Timestamp>,
    /// Notifications of the last session that failed for good.
    #[serde(skip)]
    pub(crate) undelivered: usize,
    /// The number of the last event that the document tells of.
    #[serde(skip)]
    pub(crate) seq: Option<u64>,
    /// The mission file, where the run began with one.
    #[serde(skip)]
    pub(crate) mission_path: Option<&'a Path>,
    /// The folder in which the state lies: that of the project.
    #[serde(skip)]
    pub(crate) base: Option<&'a Path>,
    /// The folder in which agents work.
    #[serde(skip)]
    pub(crate) workspace: &'a Path,
    /// What is drawn as a graph.
    #[serde(skip)]
    pub(crate) plan: &'a Plan,
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
            tasks: Tasks::of(state, view),
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
            recorded: outcome,
            unattended: RunState::of(state, false),
            reviews_off: reviews_off(state),
            has_orchestrator: state.plan.rules.orchestrator.is_some(),
            limit: state.ledger.limit(),
            limits: sentences(state),
            waits_until: state.waits_until(),
            undelivered: view.undelivered,
            seq: view.seq,
            mission_path: view.mission_path.as_deref(),
            base: state.options.state_base.as_deref(),
            workspace: &state.plan.rules.workspace,
            plan: &state.plan,
        }
    }

    /// The folder in which agents work.
    pub fn workspace(&self) -> &Path {
        self.workspace
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
        self.tasks.worked_for()
    }

    /// Whether the run got to its end, so that its tasks and gates say what is wrong with it.
    pub(crate) fn got_to_its_end(&self) -> bool {
        self.ended.is_some_and(|outcome| !outcome.class.is_cut_short())
    }

    /// The sentence for reports of a run without an outcome: that it has not ended, and its state.
    pub(crate) fn not_ended(&self) -> String {
        format!("the run has not ended: {}", self.state.as_str())
    }

    /// The banner of a run without reviews: by what they are switched off, and what that means.
    pub(crate) fn not_reviewed(&self) -> Option<String> {
        let off = self.reviews_off.as_ref()?.first();
        let off = off.map_or_else(|| "reviews are switched off".to_owned(), |off| off.words());
        Some(format!("NOTHING WAS REVIEWED: {off}, agents' work was taken as it came"))
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

fn reviews_off(state: &State) -> Option<Vec<&Loosening>> {
    let rules = &state.plan.rules;
    let off = rules.loosened.iter().filter(|found| found.is_off);
    (!rules.settings.evaluate).then(|| off.collect())
}

/// Titles of tasks whose agents work on without a session.
fn at_work<'a>(state: &'a State, view: &RunView) -> Vec<&'a str> {
    let tasks = view.at_work.iter();
    tasks.map(|id| state.plan.title(*id)).collect()
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
pub(crate) struct RunUsage {
    #[serde(flatten)]
    used: Usage,
    /// The limit of the cost, `maxCost`, in dollars.
    budget: Option<f64>,
    /// Turns and calls that told nothing, or not all.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    untold: u64,
    /// Requests, tokens and cost, of what there may be.
    #[serde(skip)]
    pub words: String,
}

impl RunUsage {
    /// The known cost in dollars.
    pub fn cost(&self) -> Option<f64> {
        self.used.cost
    }

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
            untold: spent.untold,
            words: usage_words(state),
        }
    }
}

/// `3 requests, tokens 10 in, 20 out of 100, cost $0.84`
fn usage_words(state: &State) -> String {
    let usage = state.ledger.spent();
    let mut text = requests_words(state);
    if usage.input_tokens.is_some() || usage.output_tokens.is_some() {
        let tokens = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), |tokens| tokens.to_string());
        let (read, written) = (tokens(usage.input_tokens), tokens(usage.output_tokens));
        append!(text, ", tokens {read} in, {written} out");
        if let Some(most) = state.plan.rules.budget.max_tokens {
            append!(text, " of {most}");
        }
    }
    text.push_str(&cost_words(state));
    // A sum over some of the calls must not pass for the whole.
    if usage.untold > 0 && (usage.cost.is_some() || usage.input_tokens.or(usage.output_tokens).is_some()) {
        let calls = count(usize::try_from(usage.untold).unwrap_or(usize::MAX), "request");
        append!(text, "; {calls} reported no tokens");
    }
    text
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
