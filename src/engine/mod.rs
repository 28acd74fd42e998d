//! The pure core: what happens next, and why. No I/O, no clock, no randomness, no async.
//!
//! ```text
//! Fact  ──decide(&State, &Fact, now)──▶  Vec<Event>     rules only
//! Event  ──apply(&mut State, &Event)───▶  State          the only way state changes, live and in recovery
//! Event  ──effects(&State, &Event)─────▶  Vec<Effect>    what the runtime must do about it
//! State  ──outcome(&State)─────────────▶  Outcome        the one value a run ends with
//! ```
//!
//! The journal is the truth; state is `fold(apply, journal)`. Deciding on an input costs O(degree of the task),
//! never O(all tasks): what becomes due is pushed to queues by `apply` and drained by [`Fact::Advance`].
//! Rules about *how good* work is live in `judging`; this room knows only *when* something happens.

mod apply;
mod audit;
mod command;
mod deadline;
mod decide;
mod derive;
mod dialog;
mod effect;
mod event;
mod fact;
mod fixups;
mod gate;
mod growth;

mod ledger;
mod members;
mod mission_change;
mod notice;
mod outcome;
mod payload;
mod place;
mod policy;
mod ready;
mod remedies;
mod rounds;
mod routes;
mod state;
#[cfg(test)]
mod tests;
mod timers;
#[cfg(test)]
pub(crate) use tests::{properties, random, simulation};

pub use apply::apply;
pub use audit::{Acceptance, AfterScan, Audit, AuditReport, AuditStanding, Looks};
pub use command::{Command, CommandResult, meets};
pub use deadline::{DeadlineEvent, DeadlineState, DeadlineStep, Deadlines};
pub use decide::{JudgedBy, Panel, WorstCase, decide, pause_before_retry, prior_points, reprompt};
pub use dialog::{Dialog, Exchange};
pub use effect::{Effect, effects, gets_prompt, may_be_made, pending_effects, waits_for_prompt};
pub use event::{
    AskEvent, BudgetEvent, Event, GateEvent, HoldEvent, RunEvent, TaskEvent, TurnEvent, WorkEvent,
};
pub use fact::{ApproverSaid, AskFailure, Fact, OperatorInput, TurnEnd, Undelivered};
pub use gate::{GateStanding, GateView, gate_view};
pub use ledger::{Call, CallId, Ceiling, Ledger, Overshoot, Spent};
pub use members::{Stranger, members_only};
pub use mission_change::MissionChange;
pub use notice::{FailedOperation, FailedTool, Notice, NoticeEvent, Notices, OpenNotice, Operation, Topic};
pub use outcome::{Outcome, conditions, outcome};
pub use payload::{
    Asked, CheckResult, DeferralReason, Exit, FileFact, FileRef, GateResult, Grounds, OriginCode, ProcessRef,
    ReplyRef, RunStarted, StageReport, StopCause, SupervisorRef, ToolCalls, ToolLedgerRef, TurnFiles, Usage,
    Used, VoidedStage, Way, add_known,
};
pub use place::JudgingPlace;
pub use policy::{AfterCrash, Job, Letter, Policy, policy};
pub use remedies::{FailedDependency, Remedies, Without};
pub use rounds::{ESCALATE_AFTER, REPLAN_AFTER, Round, stall};
pub use state::{
    Answer, Ask, Counts, Deferral, Evidence, Feedback, GateState, Grading, Heard, HoldStage, HoldState,
    Judging, Known, Noted, Nudged, OpenStep, OutputRefs, RunPhase, Seat, SeatState, State, TaskState, Turn,
    Waiting,
};
pub use timers::{Timer, Timers};

/// What a gate would say of the state as it is (section 14).
#[must_use]
pub fn evaluate_gate(state: &State, gate: crate::domain::GateId) -> GateResult {
    decide::evaluate_gate(state, gate)
}

/// What a task's score must reach, and who said so; `None` where no score decides about it (sections 2 and 3).
#[must_use]
pub fn bar(state: &State, task: crate::domain::TaskId) -> Option<crate::domain::Bar> {
    decide::bar(state, task)
}

/// Who judges a task, once its deterministic stages have passed. Depends on the plan alone (section 3).
#[must_use]
pub fn judged_by(state: &State, task: crate::domain::TaskId) -> JudgedBy {
    decide::judged_by(state, task)
}

/// The most that a task may take in a run without a person's help (sections 4 and 7).
#[must_use]
pub fn worst_case(state: &State, task: crate::domain::TaskId) -> WorstCase {
    decide::worst_case(state, task)
}

/// What is done again when a verification sends this task back: the task, and everything that is built on it (section 5).
#[must_use]
pub fn done_again(plan: &crate::mission::Plan, task: crate::domain::TaskId) -> Vec<crate::domain::TaskId> {
    decide::done_again(plan, task)
}

/// Why a stage behind the verification will not be asked about a task, where that is known beforehand.
#[must_use]
pub fn not_asked(state: &State, task: crate::domain::TaskId, step: crate::domain::Step) -> Option<String> {
    decide::not_asked(&state.plan, task, step)
}

/// The agents that a run would need: who works, and who would be asked to judge.
#[must_use]
pub fn agents_needed(state: &State) -> std::collections::BTreeSet<crate::domain::AgentId> {
    decide::agents_needed(state)
}

/// The agents who judge work or agree to it, without those who stand in for them.
#[must_use]
pub fn judging_agents(state: &State) -> std::collections::BTreeSet<crate::domain::AgentId> {
    decide::judging_agents(state)
}

/// Whether a session has nothing left to do but to wait for notifications on their way.
#[must_use]
pub fn holds_the_end(state: &State) -> bool {
    decide::holds_the_end(state)
}

/// Why a run cannot have this task, in words; `None` where it can (section 16).
#[must_use]
pub fn cannot_add(state: &State, task: &crate::mission::SubTask) -> Option<String> {
    decide::scope(&state.plan, task).err()
}

/// The task that a run has for a request from outside (section 16).
#[must_use]
pub fn task_of_request(state: &State, request: &str) -> Option<crate::domain::TaskId> {
    decide::task_of(&state.plan, request)
}

/// The mission's score over its done tasks; `None` if none has a score (section 14).
#[must_use]
pub fn mission_score(state: &State) -> Option<crate::domain::Points> {
    decide::mission_score(state)
}

/// The version of the event format. A journal of a newer one is refused; every older one replays for ever.
pub const FORMAT: u32 = 2;

/// The number of the rules. Raised by each change after which the same facts may lead to other decisions: what older
/// rules decided is recovered as it is recorded, and not held against these.
pub const RULES: u32 = 1;
