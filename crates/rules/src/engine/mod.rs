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
//! Rules about *how good* work is live in `judging`; this module knows only *when* something happens.
//!
//! | file | what |
//! |---|---|
//! | `apply` | state and event to state: the only way state changes, live and in recovery |
//! | `audit` | what work was accepted for, and whether it still stands (6) |
//! | `baseline_due` | when checks are looked at before the work of their task begins (24) |
//! | `baseline_record` | what checks said before the work of their task began, on record (24) |
//! | `before_work` | the same as the state knows it, and what of it is weighed (24) |
//! | `operator_command` | what a person can say to a run from outside, while it works or while nobody works on it |
//! | `deadline` | deadlines of tasks and of the mission (14): when they began, when they end, and what was said of them |
//! | `decide` | state and fact to events: the rules, one file a subject |
//! | `derive` | what follows from a plan and the states of its tasks: what holds what, what is ready, what is due, sums |
//! | `dialog` | what the agent of a task asks, and is answered, as state (5) |
//! | `effect` | what the runtime must do about an event; what is still to be done after a crash |
//! | `event` | the events of the journal, grouped by the entity that they are about |
//! | `fact` | what the world tells the engine |
//! | `fixups` | fixups as state (12): what the failure of a task that has one means for everybody who waits for it |
//! | `gate` | where a gate stands, for `quorum gate`, `status`, every report (14) |
//! | `growth` | tasks that come and go while the run works: what `super::apply` does to the state about them |
//! | `job` | commands that are run and files that are looked at for a task: what is out, how it ends (6, 21) |
//! | `judged_again` | work that another run has on record is judged once more: `quorum review TASK` |
//! | `ledger` | the budget: what was used, what is reserved for calls that are out, what still fits (19) |
//! | `legal` | transitions that are no edge of the life cycle or do not say how a task ended, and what a status has no place for: refused before they are journaled, damage when they are read (5) |
//! | `quality_flag` | what should be known of work beside its verdicts, and the quality flag that follows from it (1) |
//! | `unknown_ids` | records that cannot be: ids and numbers that are none of the mission's |
//! | `merging` | what became of the work of isolated tasks (22) |
//! | `mission_change` | `mission:changed`: what the journal says of a changed mission that a person accepted |
//! | `no_progress` | what a failed attempt looked like: two alike end the attempts, in `decide/conclude` (4) |
//! | `notice` | notifications and dead letters, as they stand in the journal and in the state (13, 18) |
//! | `outcome` | which conditions hold at the end (20); which of them weighs most: `domain/outcome.rs` |
//! | `event_payload` | what events carry |
//! | `prerequisite` | what a task that is to begin lacks, and who watches for it |
//! | `ready` | the ready queue: by priority, then file order, with a limit per agent |
//! | `remedies` | dependencies that failed, as state: what is done about them (11) |
//! | `rounds` | waves as rounds: whether the work gets on (17, `progress_ledger`) |
//! | `simulation` | a scripted world for the engine, for tests of all packages |
//! | `stages` | the stages of judging an attempt, one file each: what they ask, what they make of the answer (6 to 10, 15) |
//! | `state` | the state of a run: what the rules need to know |
//! | `sums` | sums over tasks: what one task adds to them |
//! | `test_looks` | what was looked at of tests that the work changed, on record (24) |
//! | `tests_changed` | what the state knows of tests that the work changed (24) |
//! | `timers` | what becomes due by itself, and when |
//! | `not_taken` | verdicts of verifications, as state: what they leave out of the run (10) |
//! | `voided` | a stage whose verdict counts for nothing (22) |
//! | `work` | what holds for all work that is under way: its names, what is out, its retries, its policies (13) |

mod apply;
mod audit;
mod baseline_due;
mod baseline_record;
mod before_work;
mod deadline;
mod decide;
mod derive;
mod dialog;
mod effect;
mod event;
mod event_payload;
mod fact;
mod fixups;
mod gate;
mod growth;
mod job;
mod judged_again;
mod ledger;
mod legal;
mod merging;
mod mission_change;
mod no_progress;
mod not_taken;
mod notice;
mod operator_command;
mod outcome;
mod prerequisite;
mod quality_flag;
mod ready;
mod remedies;
mod rounds;
#[cfg(any(test, feature = "testing"))]
pub mod simulation;
mod stages;
mod state;
mod sums;
mod test_looks;
#[cfg(test)]
mod tests;
mod tests_changed;
mod timers;
mod unknown_ids;
mod voided;
mod work;

pub use apply::apply;
pub use audit::{AfterScan, AuditEvidence, AuditReport, AuditStanding, AuditedWork, Looks};
pub use baseline_record::{Baseline, BaselineResult};
pub use deadline::{DeadlineEvent, DeadlineStep};
pub use decide::{
    agents_needed, decide, done_again, evaluate_command, holds_the_end, judging_agents, mission_score,
    worst_case,
};
pub use dialog::Dialog;
pub use effect::{Effect, effects, may_be_made, pending_effects, waits_for_prompt};
pub use event::{
    AskEvent, BudgetEvent, Ceiling, Concern, DependencyStep, Event, GateEvent, HoldEvent, MOST_AT_ONCE,
    Resolution, RunEvent, RunWork, TaskEvent, TurnEvent, WorkEvent,
};
pub use event_payload::{
    Asked, CheckResult, Commit, Deferral, DeferralReason, Exit, FileFact, FileRef, GateResult, OriginCode,
    ProcessRef, ProtectedFiles, ReplyRef, RunStarted, Salvaged, SessionRef, StageReport, StopCause,
    SupervisorRef, ToolCalls, ToolLedgerRef, TurnFiles, Usage, Used, Way, add_known,
};
pub use fact::{
    AskFailure, AskReply, Fact, LaterSession, OperatorInput, Prompt, TurnEnd, TurnUpdate, Undelivered,
};
pub use gate::{GateStanding, gate_view};
pub use job::{ApproverSaid, Job, JobEnd};
pub use judged_again::judged_again;
#[cfg(any(test, feature = "testing"))]
pub use ledger::{Ledger, Overshoot, Spent};
pub use legal::legal_only;
pub use merging::{Delivery, Merged};
pub use mission_change::MissionChange;
pub use notice::{
    DeliveryFailure, FailedOperation, FailedTool, Notice, NoticeEvent, Notices, OpenNotice, Operation, Topic,
};
pub use operator_command::{Command, CommandResult};
#[cfg(any(test, feature = "testing"))]
pub use outcome::conditions;
pub use outcome::{Outcome, outcome};
pub use quality_flag::Mark;
pub use rounds::{ESCALATE_AFTER, REPLAN_AFTER, Round, stall};
pub use stages::{
    FLAKY, asks_what_it_said, findings_of_tests, nothing_to_do, prior_points, signs_of_no_work,
};
#[cfg(any(test, feature = "testing"))]
pub use state::recovery::{DependencyRecovery, FailedDependency};
#[cfg(any(test, feature = "testing"))]
pub use state::{ApprovalDecision, Ask, Evidence, Judging};
pub use state::{
    BarrierStage, BelowBar, Committed, Feedback, FileSnapshot, Hold, Known, OutputRefs, Prerequisite,
    RunPhase, Seat, SeatState, State, TaskState,
};
pub use sums::Counts;
pub use test_looks::{Look, Looked};
pub use timers::Timer;
pub use unknown_ids::{evidence_of_members, fact_of_members, members_only};
pub use voided::VoidedStage;
pub use work::id::{TaskWork, WorkId};
pub use work::policy::{AfterCrash, WorkKind, policy};
pub use work::retry::{FailedTry, Retry, Tries};

/// Why a further stage will not be asked about a task, where that is known beforehand.
pub fn not_asked(
    state: &State,
    task: crate::domain::TaskId,
    step: crate::domain::StageKey,
) -> Option<String> {
    stages::not_asked(&state.plan, task, step)
}

/// Why a run cannot have this task, in words; `None` where it can (section 16).
pub fn cannot_add(state: &State, task: &crate::plan::SubTask) -> Option<String> {
    decide::scope(&state.plan, task).err()
}

/// The task that a run has for a request from outside (section 16).
pub fn task_of_request(state: &State, request: &str) -> Option<crate::domain::TaskId> {
    decide::task_of(&state.plan, request)
}

/// The version of the event format. A journal of a newer one is refused; every older one replays for ever.
pub const FORMAT: u32 = 5;

/// The number of the rules. Raised by each change after which the same facts may lead to other decisions: what older
/// rules decided is recovered as it is recorded, and not held against these.
pub const RULES: u32 = 7;
