//! What a run waits for, and what operators should know of.

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::diff::DiffRow;
use super::{NOT_TAKEN, fields};
use crate::report::{
    folds::view::RunView,
    screens::{
        style::Style,
        text::{against_bar, time_of_day},
    },
    vocabulary::ids::{ApprovalId, RequestId},
};
use rules::{
    domain::{BarrierId, GateId, HoldOwner, QualityFlag, RunId, Status, TaskId, Timestamp, WaitingReason},
    engine::{BarrierStage, BelowBar, DeferralReason, Mark, RunPhase, State, gate_view},
    plan::{BarrierKind, BarrierPlan, Part},
};

/// Something that a run waits for: a person's word, or a moment.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Wait<'a> {
    /// The id for `approve` and `reject`; `null` where a moment ends the wait, not a person.
    pub id: Option<String>,
    /// The command that answers; `null` where a moment ends the wait.
    pub command: Option<String>,
    /// The title of the task that waits; `null` for a checkpoint and a delay.
    pub task: Option<&'a str>,
    /// The name of a checkpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<&'a str>,
    /// The name of a delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<&'a str>,
    /// Why, in a word.
    pub reason: &'static str,
    /// The reason of the wait, for a person.
    pub message: &'a str,
    /// Since when; where a limit must reset, in this session.
    #[serde(serialize_with = "fields::this_moment")]
    #[schemars(with = "fields::MomentShape")]
    pub since: Timestamp,
    /// The moment when the time for an answer is up, or was; for a wait that a moment ends, that moment.
    #[serde(serialize_with = "fields::moment")]
    #[schemars(with = "Option<fields::MomentShape>")]
    pub expires: Option<Timestamp>,
    /// The tasks and gates that the decision is about, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<String>,
    /// The task that waits.
    #[serde(skip)]
    pub task_id: Option<TaskId>,
    /// Whether judges can be asked again before a person is.
    #[serde(skip)]
    pub is_for_judges: bool,
}

impl<'a> Wait<'a> {
    /// The title of the task, or the name of the checkpoint or delay.
    pub fn title(&self) -> &'a str {
        self.task.or(self.checkpoint).or(self.delay).unwrap_or_default()
    }

    /// `<id>  <title>: <reason>: <message>`, or `<title>: window until 01:57: <message>` where a moment ends it, `<title>: <message>` where
    /// nobody knows which.
    pub fn line(&self) -> String {
        let (title, message) = (self.title(), self.message);
        let until = self.expires.map(|until| time_of_day(until, self.since));
        match (&self.id, until) {
            (Some(id), _) => format!("{id}  {title}: {}: {message}", self.reason),
            (None, Some(until)) => format!("{title}: {} until {until}: {message}", self.reason),
            (None, None) => format!("{title}: {message}"),
        }
    }

    /// A wait of nobody yet.
    fn new(reason: &'static str, message: &'a str, since: Timestamp) -> Self {
        Self {
            id: None,
            command: None,
            task: None,
            checkpoint: None,
            delay: None,
            reason,
            message,
            since,
            expires: None,
            behind: Vec::new(),
            task_id: None,
            is_for_judges: false,
        }
    }

    fn of(self, state: &'a State, task: TaskId) -> Self {
        Self {
            task: Some(state.plan.title(task)),
            task_id: Some(task),
            is_for_judges: state.task(task).attempt.has(Mark::Indeterminate),
            ..self
        }
    }

    /// The wait of a task, a checkpoint or a delay; `None` where the owner does not wait.
    fn for_hold(state: &'a State, view: &'a RunView, of: HoldOwner) -> Option<Self> {
        let waiting = match of {
            HoldOwner::Task(task) => view.task(task).waiting.as_deref()?,
            HoldOwner::Barrier(barrier) => view.barriers.get(&barrier)?,
        };
        let usual = match waiting.reason {
            WaitingReason::Checkpoint => Some("the run waits here for a person"),
            WaitingReason::Delay => Some("the run waits here"),
            _ => None,
        };
        let usual = usual.filter(|_| waiting.message.is_empty());
        let message = usual.unwrap_or(&waiting.message);
        let (run, number) = (view.run_id.as_ref()?, waiting.number);
        let is_asked = waiting.reason != WaitingReason::Delay;
        let id = is_asked.then(|| ApprovalId { run, of, number }.to_string());
        let wait = Self {
            command: id.as_ref().map(|id| match waiting.reason {
                WaitingReason::Question => format!("quorum answer {id} 'ANSWER'"),
                _ => format!("quorum approve {id}"),
            }),
            id,
            expires: waiting.expires,
            behind: if is_asked { behind(state, run, of) } else { Default::default() },
            ..Self::new(waiting.reason.as_str(), message, waiting.since)
        };
        Some(match of {
            HoldOwner::Task(task) => wait.of(state, task),
            HoldOwner::Barrier(barrier) => {
                let name = Some(&*state.plan.barrier(barrier).name);
                Self { checkpoint: name.filter(|_| is_asked), delay: name.filter(|_| !is_asked), ..wait }
            }
        })
    }

    /// The limit of a subscription that a task waits for.
    fn for_window(state: &'a State, task: TaskId) -> Option<Self> {
        let deferral = state.task(task).deferral.as_deref()?;
        let wait = Self::new("window", &deferral.message, deferral.since);
        (deferral.why == DeferralReason::Window)
            .then(|| Self { expires: deferral.moment(), ..wait.of(state, task) })
    }

    /// The wait of a task for a person, or for a limit to reset; `None` where the task does not wait.
    pub(crate) fn of_task(state: &'a State, view: &'a RunView, task: TaskId) -> Option<Self> {
        Self::for_hold(state, view, task.into()).or_else(|| Self::for_window(state, task))
    }
}

/// The subject of a decision, a line each: the task and its dependencies with the gates before it, or what a
/// checkpoint comes behind and all gates; each task with flag, score and the size of its difference, as far as
/// there are any.
fn behind(state: &State, run: &RunId, of: HoldOwner) -> Vec<String> {
    let plan = &state.plan;
    let (own, before, gates) = match of {
        HoldOwner::Task(id) => {
            let gates = plan.gates_before.of(id).to_vec();
            (Some(id), plan.dependencies.of(id), gates)
        }
        HoldOwner::Barrier(id) => (None, &*plan.barrier(id).after, plan.gate_ids().collect()),
    };
    let task = |id: TaskId| {
        let task = state.task(id);
        let flag = task.flag().map(|flag| flag.as_str().to_owned());
        let symbols = Style::default().symbols();
        let score = task.attempt.points.map(|points| against_bar(points, plan.bar(id), symbols));
        let size = DiffRow::of(state, Some(run), id).map(|diff| diff.words());
        let known: Vec<String> = [flag, score, size].into_iter().flatten().collect();
        Some(known.join(", ")).filter(|known| !known.is_empty()).map(|known| (plan.title(id), known))
    };
    let gate =
        |id: GateId| (&*plan.gate(id).name, format!("gate {}", gate_view(state, id).standing.as_str()));
    let tasks = own.into_iter().chain(before.iter().copied()).filter_map(task);
    let rows = tasks.chain(gates.into_iter().map(gate));
    rows.map(|(name, known)| format!("{name}: {known}")).collect()
}

/// All that waits for a person: checkpoints, then tasks in their order.
pub fn asked<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = Wait<'a>> {
    let checkpoints = state.checkpoints_that_wait().filter_map(|id| Wait::for_hold(state, view, id.into()));
    let tasks = state.plan.task_ids();
    checkpoints.chain(tasks.filter_map(|id| Wait::for_hold(state, view, id.into())))
}

/// All that a run waits for: what a person is asked, then what a moment ends.
pub fn waits<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = Wait<'a>> {
    let is_delay = |id: &BarrierId| matches!(state.plan.barrier(*id).kind, BarrierKind::Delay(_));
    let delays = state.barriers_that_wait().filter(is_delay);
    let delays = delays.filter_map(|id| Wait::for_hold(state, view, id.into()));
    let windows = state.deferrals();
    let windows = windows.filter_map(|(id, _)| Wait::for_window(state, id));
    asked(state, view).chain(delays).chain(windows)
}

/// The turn that a task waits for, where it lacks nothing else.
pub(crate) enum SlotWait<'a> {
    /// The pause before the next attempt, which ends at this moment.
    Attempt(Timestamp),
    /// The agent of the task, which does so many tasks at a time.
    Agent(&'a str, u32),
    /// One of so many slots.
    Slot(u32),
}

impl<'a> SlotWait<'a> {
    pub fn of(state: &'a State, id: TaskId) -> Option<Self> {
        let (plan, task) = (state.plan.task(id), state.task(id));
        let deferral = task.deferral.as_deref();
        if let Some(deferral) = deferral.filter(|deferral| deferral.why == DeferralReason::BackOff) {
            return Some(Self::Attempt(deferral.until));
        }
        let waits_for_slot = deferral.is_some_and(|deferral| deferral.why == DeferralReason::Slot)
            || (deferral.is_none() && task.status() == Status::Pending && plan.part == Part::Selected);
        if !waits_for_slot || state.phase != RunPhase::Running {
            return None;
        }
        let agent = state.plan.agent(plan.agent);
        Some(match agent.spec.max_concurrent {
            Some(most) if !state.has_room_for(plan.agent) => Self::Agent(&agent.name, most),
            _ => Self::Slot(state.plan.rules.concurrency),
        })
    }
}

/// A checkpoint or a delay.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HoldRow<'a> {
    #[serde(skip)]
    pub id: BarrierId,
    /// The name of the checkpoint or delay.
    name: &'a str,
    /// `waiting`, `reached`, `running`, `passed`, `rejected` or `notTaken`.
    pub state: &'static str,
    /// The message of the checkpoint or delay for people.
    message: Option<&'a str>,
    /// The moment since which the checkpoint or delay holds; `null` while it does not.
    #[serialize_always]
    since: Option<String>,
    /// For a delay: in milliseconds.
    duration_ms: Option<u64>,
    /// For a delay that runs.
    until: Option<String>,
}

impl<'a> HoldRow<'a> {
    pub fn of(state: &'a State, view: &'a RunView, id: BarrierId) -> Self {
        let plan = state.plan.barrier(id);
        let held = state.barrier(id).hold();
        Self {
            id,
            name: &plan.name,
            state: hold_state(state, id, plan),
            message: plan.message.as_deref(),
            since: held.and(view.barriers.get(&id)).map(|waiting| waiting.since.to_rfc3339()),
            duration_ms: match plan.kind {
                BarrierKind::Checkpoint => None,
                BarrierKind::Delay(duration) => Some(duration.0),
            },
            until: held.and_then(|hold| hold.expires).map(Timestamp::to_rfc3339),
        }
    }
}

/// Whether verdicts of verifications left out all that a hold waits for.
fn is_left(state: &State, after: &[TaskId]) -> bool {
    !after.is_empty() && after.iter().all(|id| state.task(*id).not_taken)
}

/// `waiting`, `reached` (a checkpoint) or `running` (a delay), `passed`, `rejected`, or that the run leaves it out.
fn hold_state(state: &State, id: BarrierId, plan: &BarrierPlan) -> &'static str {
    match (&state.barrier(id).stage, plan.kind) {
        _ if plan.part != Part::Selected || is_left(state, &plan.after) => NOT_TAKEN,
        (BarrierStage::Ahead, _) => "waiting",
        (BarrierStage::Held(_), BarrierKind::Checkpoint) => "reached",
        (BarrierStage::Held(_), BarrierKind::Delay(_)) => "running",
        (BarrierStage::Passed, _) => "passed",
        (BarrierStage::Rejected, _) => "rejected",
    }
}

/// Something that operators should know of: work that was accepted below the bar.
#[derive(Serialize, JsonSchema)]
pub struct RequestRow<'a> {
    /// The id for `approve` and `reject`.
    pub id: String,
    /// The command that acknowledges the request; the work stays below its bar.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub command: String,
    /// The title of the task.
    pub task: &'a str,
    /// The flag under which the work was accepted.
    pub kind: QualityFlag,
    /// The reason of the request, for operators.
    pub message: &'a str,
}

/// The requests that operators have not answered, the oldest first.
pub fn requests<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = RequestRow<'a>> {
    view.requests.iter().filter_map(|request| {
        let id = RequestId { run: view.run_id.as_ref()?, task: request.task, attempt: request.attempt };
        if state.task(request.task).attempt.below_bar != BelowBar::Told {
            return None;
        }
        let flag = state.task(request.task).flag();
        let flag = flag.filter(|flag| flag.is_below_bar());
        Some(RequestRow {
            id: id.to_string(),
            command: format!("quorum approve {id}"),
            task: state.plan.title(request.task),
            kind: flag.unwrap_or(QualityFlag::BelowThreshold),
            message: &request.message,
        })
    })
}
