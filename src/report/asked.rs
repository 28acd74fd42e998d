//! What waits for a person's word: tasks and checkpoints, as every report lists them.

use crate::domain::{HoldId, TaskId, Timestamp};
use crate::engine::{Deferral, DeferralReason, HoldStage, State};
use crate::mission::{HoldKind, Part};

use super::ids::{ApprovalId, CheckpointId};
use super::text::{sanitize, time_of_day};
use super::view::RunView;

/// Something that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked<'a> {
    /// What `approve` and `reject` take.
    pub id: String,
    /// The task, where one waits.
    pub task: Option<TaskId>,
    /// Its title; of a checkpoint its name.
    pub title: &'a str,
    /// Why, in a word.
    pub reason: &'static str,
    /// What the person is told.
    pub message: &'a str,
    /// Since when.
    pub since: Timestamp,
    /// When its time is up, or was.
    pub expires: Option<Timestamp>,
}

impl Asked<'_> {
    /// `<id>  <title>: <reason>: <message>`
    #[must_use]
    pub fn line(&self) -> String {
        let (title, message) = (sanitize(self.title), sanitize(self.message));
        format!("{}  {title}: {}: {message}", self.id, self.reason)
    }
}

/// All that waits for a person: checkpoints, then tasks in their order.
pub fn asked<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = Asked<'a>> {
    let checkpoints = state
        .checkpoints_that_wait()
        .filter_map(|id| checkpoint(state, view, id));
    checkpoints.chain(state.plan.task_ids().filter_map(|id| of_task(state, view, id)))
}

/// What waits for a moment: a task for a limit of a subscription to reset, tasks for a delay to be over. No person ends
/// that, so it has no id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window<'a> {
    /// The task, where one waits.
    pub task: Option<TaskId>,
    /// Its title; of a delay its name.
    pub title: &'a str,
    /// Why, in a word.
    pub reason: &'static str,
    /// What was said of it.
    pub message: &'a str,
    /// Since when it waits in this session.
    pub since: Timestamp,
    /// The moment.
    pub until: Timestamp,
}

/// The words for what waits without a task that asks a person, beside those for tasks.
pub const WINDOW: &str = "window";
/// See [`WINDOW`].
pub const DELAY: &str = "delay";
/// See [`WINDOW`].
pub const CHECKPOINT: &str = "checkpoint";

impl Window<'_> {
    /// `<title>: window until 01:57: <message>`
    #[must_use]
    pub fn line(&self) -> String {
        let (title, message) = (sanitize(self.title), sanitize(self.message));
        let until = time_of_day(self.until, self.since);
        format!("{title}: {} until {until}: {message}", self.reason)
    }
}

/// The delays that run, as long as anything waits for them.
pub fn delays<'a>(state: &'a State, view: &'a RunView) -> impl Iterator<Item = Window<'a>> {
    let delay = |id: HoldId| {
        let plan = state.plan.hold(id);
        let is_delay = matches!(plan.kind, HoldKind::Delay(_));
        Some(Window {
            task: None,
            title: &plan.name,
            reason: DELAY,
            message: plan.message.as_deref().unwrap_or("the run waits here"),
            since: *view.holds.get(&id)?,
            until: delay_until(state, id)?,
        })
        .filter(|_| is_delay)
    };
    state.holds_that_wait().filter_map(delay)
}

/// The tasks that wait for a limit to reset, in their order.
pub fn windows(state: &State) -> impl Iterator<Item = Window<'_>> {
    let deferrals = state.deferrals();
    deferrals.filter_map(|(id, deferral)| window(state, id, deferral))
}

/// The limit that a task waits for, if it waits for one.
#[must_use]
pub fn window_of(state: &State, task: TaskId) -> Option<Window<'_>> {
    window(state, task, state.task(task).deferral.as_deref()?)
}

fn window<'a>(state: &'a State, task: TaskId, deferral: &'a Deferral) -> Option<Window<'a>> {
    (deferral.why == DeferralReason::Window).then(|| Window {
        task: Some(task),
        reason: WINDOW,
        title: &state.plan.task(task).title,
        message: &deferral.message,
        since: deferral.since,
        until: deferral.until,
    })
}

/// What a task waits for a person with.
#[must_use]
pub fn of_task<'a>(state: &'a State, view: &'a RunView, task: TaskId) -> Option<Asked<'a>> {
    let waiting = view.task(task).waiting.as_deref()?;
    let id = ApprovalId {
        run: view.run_id.as_ref()?,
        task,
        number: waiting.number,
    };
    Some(Asked {
        id: id.to_string(),
        task: Some(task),
        title: &state.plan.task(task).title,
        reason: waiting.reason.as_str(),
        message: &waiting.message,
        since: waiting.since,
        expires: waiting.expires,
    })
}

fn checkpoint<'a>(state: &'a State, view: &'a RunView, hold: HoldId) -> Option<Asked<'a>> {
    let plan = state.plan.hold(hold);
    let id = CheckpointId {
        run: view.run_id.as_ref()?,
        hold,
        number: state.hold(hold).number,
    };
    Some(Asked {
        id: id.to_string(),
        task: None,
        title: &plan.name,
        reason: CHECKPOINT,
        message: plan
            .message
            .as_deref()
            .unwrap_or("the run waits here for a person"),
        since: *view.holds.get(&hold)?,
        expires: None,
    })
}

/// Whether verdicts of verifications left out all that a hold waits for.
fn is_left(state: &State, after: &[TaskId]) -> bool {
    !after.is_empty() && after.iter().all(|id| state.task(*id).not_taken)
}

/// `waiting`, `reached` (a checkpoint) or `running` (a delay), `passed`, `rejected`, or that the run leaves it out.
#[must_use]
pub fn hold_state(state: &State, id: HoldId) -> &'static str {
    let plan = state.plan.hold(id);
    match (state.hold(id).stage, plan.kind) {
        _ if plan.part != Part::Selected || is_left(state, &plan.after) => super::json::NOT_TAKEN,
        (HoldStage::Ahead, _) => "waiting",
        (HoldStage::Reached, HoldKind::Checkpoint) => "reached",
        (HoldStage::Reached, HoldKind::Delay(_)) => "running",
        (HoldStage::Passed, _) => "passed",
        (HoldStage::Rejected, _) => "rejected",
    }
}

/// When a delay that runs is over.
#[must_use]
pub fn delay_until(state: &State, id: HoldId) -> Option<Timestamp> {
    state.timers.at(crate::engine::Timer::Delay(id))
}
