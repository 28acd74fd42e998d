//! `quorum.run/v1`: the document of `status --json` and `run --json`.
//!
//! The stable core is in the command line's contract; fields are only ever added. Rows are made while they are
//! written, so a mission of 100,000 tasks costs one row of memory.
//!
//! | file | what |
//! |---|---|
//! | `task` | one task of `quorum.run/v1` |

mod task;

use std::borrow::Cow;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize, Serializer};

use crate::domain::{
    FailureMode, Money, OutcomeClass, Points, QualityFlag, RunId, Status, TaskId, Timestamp,
};
use crate::engine::{self, AuditStanding, HoldStage, RunPhase, State, TaskState, gate_view};
use crate::mission::HoldKind;

use super::asked::{asked, delay_until, delays, hold_state, windows};
use super::budget::ceiling_words;
use super::ids::RequestId;
use super::view::{RunView, SeverityCounts};

pub(super) use task::{EdgesRow, TaskRow, blocked_by, task_row, weight};

/// The name and version of the document.
pub const SCHEMA: &str = "quorum.run/v1";

/// The status of a task, and the state of a gate, that the run was told to leave out.
pub(super) const NOT_TAKEN: &str = "notTaken";

/// Where a run stands as seen from outside: `state` of the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Standing {
    /// A live process writes to it.
    Running,
    /// Nobody writes to it, and its last session has no end on record.
    Crashed,
    /// Its last session ended and left work.
    Suspended,
    /// Every task is done or failed.
    Ended,
}

impl Standing {
    /// The standing of a run (semantics, section 5), given whether a live process writes to it.
    #[must_use]
    pub fn of(state: &State, has_writer: bool) -> Self {
        match state.phase {
            _ if has_writer => Self::Running,
            RunPhase::Finished if state.is_unfinished() => Self::Suspended,
            RunPhase::Finished => Self::Ended,
            RunPhase::New | RunPhase::Running | RunPhase::Stopping => Self::Crashed,
        }
    }

    /// The name as written in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Crashed => "crashed",
            Self::Suspended => "suspended",
            Self::Ended => "ended",
        }
    }
}

/// Writes the document and a line feed.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_run(out: impl io::Write, state: &State, view: &RunView, standing: Standing) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    serde_json::to_writer(&mut out, &run_document(state, view, standing))?;
    io::Write::write_all(&mut out, b"\n")?;
    io::Write::flush(&mut out)
}

/// The document, to be serialised.
pub fn run_document<'a>(state: &'a State, view: &'a RunView, standing: Standing) -> impl Serialize + 'a {
    document(state, view, standing, true)
}

/// The document without its tasks: for a page that tells of them in another order, and not of all in full.
pub(super) fn run_facts<'a>(state: &'a State, view: &'a RunView, standing: Standing) -> impl Serialize + 'a {
    document(state, view, standing, false)
}

fn document<'a>(
    state: &'a State,
    view: &'a RunView,
    standing: Standing,
    with_tasks: bool,
) -> RunDocument<'a> {
    let outcome = view.outcome.as_ref();
    let names = |classes: &[OutcomeClass]| classes.iter().map(|class| class.as_str()).collect();
    let source = Source { state, view };
    RunDocument {
        schema: SCHEMA,
        run_id: view.run_id.as_ref(),
        mission: &state.plan.name,
        state: standing,
        live: standing == Standing::Running,
        resumable: state.is_unfinished(),
        outcome: outcome.map(|outcome| outcome.class.as_str()),
        exit_code: outcome.map(|outcome| outcome.class.exit_code()),
        conditions: outcome.map_or_else(Vec::new, |outcome| names(&outcome.conditions)),
        allowed: outcome.map_or_else(Vec::new, |outcome| names(&outcome.allowed)),
        cancelled: is_cancelled(state),
        unconfined: None,
        moved_from: state.moved_from.as_deref().map(Path::to_string_lossy),
        final_checks: state.plan.rules.final_checks.as_str(),
        audit: state.audit_standing(),
        resumable_at: state.resumable_at().map(Timestamp::to_rfc3339),
        started_at: view.started_at.map(Timestamp::to_rfc3339),
        finished_at: view.finished_at.map(Timestamp::to_rfc3339),
        deadline: state.deadlines.of(None).map(|known| known.due.to_rfc3339()),
        counts: Counts::of(state, view),
        usage: RunUsage::of(state),
        budget: BudgetRow::of(state),
        tasks: with_tasks.then_some(Tasks(source)),
        gates: Gates(source),
        checkpoints: holds(source, true),
        delays: holds(source, false),
        mission_score: MissionScore::of(state),
        approvals: Approvals(source),
        requests: Requests(source),
        warnings: &view.warnings,
        agents_at_work: at_work(state, view),
    }
}

/// Titles of tasks whose agents work on without a session.
#[must_use]
pub fn at_work<'a>(state: &'a State, view: &RunView) -> Vec<&'a str> {
    let tasks = view.at_work.iter();
    tasks.map(|id| state.plan.task(*id).title.as_ref()).collect()
}

/// What rows are made from.
#[derive(Clone, Copy)]
struct Source<'a> {
    state: &'a State,
    view: &'a RunView,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunDocument<'a> {
    schema: &'static str,
    run_id: Option<&'a RunId>,
    mission: &'a str,
    state: Standing,
    live: bool,
    resumable: bool,
    outcome: Option<&'static str>,
    exit_code: Option<u8>,
    conditions: Vec<&'static str>,
    allowed: Vec<&'static str>,
    cancelled: bool,
    /// Whether agents worked without confinement; `null` as long as nobody can tell.
    unconfined: Option<bool>,
    /// The folder from which the state was carried to where it lies.
    moved_from: Option<Cow<'a, str>>,
    /// What is looked at again of accepted work.
    final_checks: &'static str,
    /// Whether it was.
    audit: AuditStanding,
    /// When a limit of a subscription resets that the run waits for, or ended with.
    resumable_at: Option<String>,
    started_at: Option<String>,
    finished_at: Option<String>,
    deadline: Option<String>,
    counts: Counts,
    usage: RunUsage,
    /// Left out where nothing is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<BudgetRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<Tasks<'a>>,
    gates: Gates<'a>,
    /// Left out where the mission has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checkpoints: Vec<HoldRow<'a>>,
    /// Left out where the mission has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    delays: Vec<HoldRow<'a>>,
    mission_score: MissionScore,
    approvals: Approvals<'a>,
    requests: Requests<'a>,
    warnings: &'a [String],
    /// Titles of tasks whose agents outlived the session that started them and are still at work; left out
    /// where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents_at_work: Vec<&'a str>,
}

/// How many tasks are what.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub(super) total: usize,
    pub(super) done: u32,
    failed: u32,
    pending: usize,
    awaiting: u32,
    running: u32,
    pub(super) not_taken: u32,
    clean: u32,
    relaxed: u32,
    unreviewed: u32,
    unverified: u32,
    degraded: u32,
    below_threshold: u32,
    indeterminate: u32,
    reworked: u32,
    /// Of the failed ones: those that failed only because a dependency did.
    pub(super) skipped: u32,
    /// Those whose accepted work did not stand: done again since, open, or failed.
    pub(super) regressed: u32,
    findings: SeverityCounts,
    #[serde(skip_serializing_if = "is_zero")]
    superseded: u32,
}

/// Tasks that failed only because a dependency did.
pub(super) fn skipped(state: &State) -> u32 {
    // Few runs have a failure, and all tasks are many.
    if state.sums.counts.failed == 0 {
        return 0;
    }
    count(state, |task| has_failed_by(task, FailureMode::Cascade))
}

/// Tasks whose accepted work did not stand, since they last began by a person's word. Verifications among them whose
/// verdict over work that was done again was another one.
pub(super) fn regressed(state: &State) -> u32 {
    // Without an audit nothing has regressed, and all tasks are many.
    if state.audit.number == 0 {
        return 0;
    }
    count(state, |task| {
        task.course.regressions > 0 || has_failed_by(task, FailureMode::Regressed)
    })
}

fn has_failed_by(task: &TaskState, mode: FailureMode) -> bool {
    task.status() == Status::Failed && task.mode() == Some(mode)
}

fn count(state: &State, wanted: impl Fn(&TaskState) -> bool) -> u32 {
    let tasks = state.plan.task_ids().map(|id| state.task(id));
    let counted = tasks.filter(|task| !task.is_superseded() && wanted(task));
    u32::try_from(counted.count()).unwrap_or(u32::MAX)
}

/// Whether all that is not done was called off by a person (semantics, section 20): nothing failed by itself, and
/// nothing is left to do.
#[must_use]
pub fn is_cancelled(state: &State) -> bool {
    if state.is_unfinished() {
        return false;
    }
    let failed = state.plan.task_ids().map(|id| state.task(id));
    let failed = failed.filter(|task| task.status() == Status::Failed && !task.is_superseded());
    let mut some = false;
    for task in failed {
        match task.mode() {
            Some(FailureMode::Cancelled) => some = true,
            Some(FailureMode::Cascade) => {}
            _ => return false,
        }
    }
    some
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Counts {
    pub(super) fn of(state: &State, view: &RunView) -> Self {
        let counts = &state.sums.counts;
        let elsewhere = counts.ended() + counts.awaiting + counts.running;
        Self {
            total: (counts.selected + counts.not_taken) as usize,
            done: counts.done,
            failed: counts.failed,
            pending: counts.selected.saturating_sub(elsewhere) as usize,
            awaiting: counts.awaiting,
            running: counts.running,
            not_taken: counts.not_taken,
            clean: counts.clean,
            relaxed: counts.relaxed,
            unreviewed: counts.unreviewed,
            unverified: counts.unverified,
            degraded: counts.degraded,
            below_threshold: counts.below_threshold,
            indeterminate: counts.indeterminate,
            reworked: counts.reworked,
            skipped: skipped(state),
            regressed: regressed(state),
            findings: view.severities(state),
            superseded: counts.superseded,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Usage {
    requests: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cost: Option<f64>,
}

impl Usage {
    fn of_task(view: &RunView, id: TaskId) -> Self {
        let usage = &view.task(id).usage;
        Self {
            requests: usage.requests.into(),
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cost: view.costs.get(&id).map(|cost| cost.to_f64()),
        }
    }
}

#[derive(Serialize)]
struct RunUsage {
    #[serde(flatten)]
    used: Usage,
    /// `maxCost`
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

/// What a run may use, and how that stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetRow {
    max_cost: Option<f64>,
    max_tokens: Option<u64>,
    max_requests: Option<u64>,
    /// Milliseconds.
    max_time: Option<u64>,
    /// Turns and calls that told nothing, or not all.
    unknown: u64,
    /// What is charged for calls of unknown cost, beside the known cost.
    charged: f64,
    /// The part of the known cost that only the agents themselves say.
    claimed: f64,
    /// What ended the work of the last session, in words.
    exhausted: Option<String>,
    /// By how much calls in flight went beyond the ceilings.
    overshoot: Overshoot,
}

#[derive(Serialize)]
struct Overshoot {
    cost: Option<f64>,
    tokens: Option<u64>,
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

struct Tasks<'a>(Source<'a>);

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ids = self.0.state.plan.task_ids();
        serializer.collect_seq(ids.map(|id| TaskRow::of(self.0, id)))
    }
}

struct Gates<'a>(Source<'a>);

impl Serialize for Gates<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.0.state;
        let rows = state.plan.gate_ids().map(|id| {
            let gate = gate_view(state, id);
            GateRow {
                name: &state.plan.gate(id).name,
                state: gate.standing.as_str(),
                avg_score: gate.avg.map(Points::score_f64),
                reason: gate.reason,
            }
        });
        serializer.collect_seq(rows)
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GateRow<'a> {
    name: &'a str,
    state: &'static str,
    avg_score: Option<f64>,
    reason: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HoldRow<'a> {
    name: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    since: Option<String>,
    /// For a delay: in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
    /// For a delay that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// Checkpoints, or delays.
fn holds(source: Source<'_>, checkpoints: bool) -> Vec<HoldRow<'_>> {
    let Source { state, view } = source;
    let ids = state.plan.hold_ids();
    ids.filter(|id| (state.plan.hold(*id).kind == HoldKind::Checkpoint) == checkpoints)
        .map(|id| {
            let plan = state.plan.hold(id);
            let reached = state.hold(id).stage == HoldStage::Reached;
            HoldRow {
                name: &plan.name,
                state: hold_state(state, id),
                message: plan.message.as_deref(),
                since: view.holds.get(&id).filter(|_| reached).map(|at| at.to_rfc3339()),
                duration_ms: match plan.kind {
                    HoldKind::Checkpoint => None,
                    HoldKind::Delay(duration) => Some(duration.0),
                },
                until: delay_until(state, id).map(Timestamp::to_rfc3339),
            }
        })
        .collect()
}

#[derive(Serialize)]
struct MissionScore {
    points: Option<f64>,
    bar: Option<f64>,
    passed: Option<bool>,
}

impl MissionScore {
    /// The threshold is held against a finished run only: before that `passed` is null, unless there is no bar.
    fn of(state: &State) -> Self {
        let bar = state.plan.rules.quality_threshold;
        let decided = state.phase == RunPhase::Finished && !state.is_unfinished();
        let passed = match bar {
            None => Some(true),
            Some(_) if state.threshold_failed.is_some() => Some(false),
            Some(_) => decided.then_some(true),
        };
        Self {
            points: engine::mission_score(state).map(Points::to_f64),
            bar: bar.map(Points::to_f64),
            passed,
        }
    }
}

struct Approvals<'a>(Source<'a>);

impl Serialize for Approvals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(approvals(self.0.state, self.0.view))
    }
}

/// All that a run waits for: what a person is asked, then what a moment ends.
pub fn approvals<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = ApprovalRow<'a>> {
    let asked = asked(state, view).map(|asked| ApprovalRow {
        task: asked.task.map(|_| asked.title),
        checkpoint: asked.task.is_none().then_some(asked.title),
        delay: None,
        reason: asked.reason,
        message: asked.message,
        since: asked.since.to_rfc3339(),
        expires: asked.expires.map(Timestamp::to_rfc3339),
        id: Some(asked.id),
    });
    let moments = delays(state, view).chain(windows(state)).map(|wait| ApprovalRow {
        id: None,
        task: wait.task.map(|_| wait.title),
        checkpoint: None,
        delay: wait.task.is_none().then_some(wait.title),
        reason: wait.reason,
        message: wait.message,
        since: wait.since.to_rfc3339(),
        expires: Some(wait.until.to_rfc3339()),
    });
    asked.chain(moments)
}

/// Something that a run waits for.
#[derive(Serialize)]
pub struct ApprovalRow<'a> {
    /// `null` where a moment ends the wait, not a person.
    pub id: Option<String>,
    /// `null` for a checkpoint and a delay.
    pub task: Option<&'a str>,
    /// The name of a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<&'a str>,
    /// The name of a delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<&'a str>,
    /// Why, in a word.
    pub reason: &'static str,
    /// What a person is told.
    pub message: &'a str,
    /// Since when.
    pub since: String,
    /// When its time is up, or the moment that ends it.
    pub expires: Option<String>,
}

struct Requests<'a>(Source<'a>);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(requests(self.0.state, self.0.view))
    }
}

/// What operators should know of: work that was accepted below the bar.
pub fn requests<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = RequestRow<'a>> {
    view.requests.iter().filter_map(|request| {
        let id = RequestId {
            run: view.run_id.as_ref()?,
            task: request.task,
            attempt: request.attempt,
        };
        Some(RequestRow {
            id: id.to_string(),
            task: &state.plan.task(request.task).title,
            kind: request_kind(state, request.task),
            message: &request.message,
        })
    })
}

/// What kind of request it is: how the work that it is about was accepted.
fn request_kind(state: &State, task: TaskId) -> &'static str {
    let below = state.task(task).flag().filter(|flag| flag.is_below_bar());
    below.unwrap_or(QualityFlag::BelowThreshold).as_str()
}

/// Something that operators should know of.
#[derive(Serialize)]
pub struct RequestRow<'a> {
    /// The occasion; nothing is to be decided about it.
    pub id: String,
    /// The task.
    pub task: &'a str,
    /// How its work was accepted.
    pub kind: &'static str,
    /// What operators are told.
    pub message: &'a str,
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
