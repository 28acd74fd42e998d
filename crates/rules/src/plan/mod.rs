//! The plan that is made from a validated mission, in the form that the engine works on.
//!
//! | file | what |
//! |---|---|
//! | `bar` | the bar for the score of a task, and who set it (2, 3) |
//! | `calibrated` | bars that labelled work gives to panels, and what they hold for (2) |
//! | `calibrated_panels` | the panels of a plan that these hold for, and why others have none (2) |
//! | `compile` | from the validated mission to the plan: names become ids, defaults and precedence are applied |
//! | `confinement` | how far the processes of a run are confined: task, agent, settings (23) |
//! | `delegation` | what an agent may hand down: sub-tasks as it wrote them, read strictly (12) |
//! | `eligibility` | who may judge a task, never its author, in which order they are asked, and who takes over from an agent that failed (8) |
//! | `finish_plan` | what must hold before the work of a task is judged at all (`verify`), resolved (6.0) |
//! | `foundation` | foundation tasks: much is built on them, so less is better than nothing (12) |
//! | `further_stages` | `stages`, `redTeam`, `vision` as the mission declares them (6.7, 15) |
//! | `growth` | tasks that a run gets while it works: sub-tasks, fixups, requests (12, 16) |
//! | `independence` | whether a reviewer is independent of the author of the work (8) |
//! | `judges` | who judges a task, or that nobody does; which checks count as judging (3) |
//! | `lineage` | the digest of a task's text and of what it comes from (17) |
//! | `loosened_judging` | what makes judging less strict than it would be, and where each of it is said |
//! | `migrate_plan` | a run that goes on with a changed mission: the new plan under the ids that the journal already uses |
//! | `model` | the plan: a validated mission in the form the engine works on |
//! | `named_files` | the files that a task names: targets, and what a check wants to be there |
//! | `pipeline` | what judges one attempt of a task, stage by stage, as types, and in which order (6, 15) |
//! | `provenance` | where a task comes from that the mission does not have, and what a plan knows of such tasks |
//! | `route` | verifications as nodes of the graph (10): where each of their edges leads |
//! | `run_options` | what the command line and the environment say about a run, frozen in its journal |
//! | `selection` | `--only`: the part of a mission that a run takes (5, 20) |
//! | `sla_plan` | what is said and done about deadlines, as a plan has it |
//! | `task_list` | the tasks of a plan: in one block, and those that came later behind them |
//! | `testing` | plans for the tests of other modules |
//! | `working_folders` | the folders that tasks work in, and where their files lie for whoever comes after them (22) |
//! | `worktree_plan` | how the folders of isolated tasks are prepared, as a plan has it |

mod bar;
mod calibrated;
mod calibrated_panels;
mod compile;
mod confinement;
mod delegation;
pub mod eligibility;
mod finish_plan;
mod foundation;
mod further_stages;
mod growth;
pub mod independence;
mod judges;
mod lineage;
mod loosened_judging;
mod migrate_plan;
mod model;
mod named_files;
mod pipeline;
mod provenance;
mod route;
mod run_options;
mod selection;
mod sla_plan;
mod task_list;
#[cfg(any(test, feature = "testing"))]
mod testing;
#[cfg(test)]
mod tests;
mod working_folders;
mod worktree_plan;

pub use calibrated::{CalibratedBar, Calibration, dimensions_digest};
pub use compile::{compile, waves};
pub use confinement::Confinement;
pub use delegation::{SubTask, read_delegations, read_sub_task};
pub use finish_plan::{FinishCommand, FinishGatePlan, ListOf, Requirement};
pub use growth::{AddedTask, Addition, PlanStep};
pub use loosened_judging::NO_FINAL_CHECKS;
pub use migrate_plan::migrate_plan;
pub use model::{
    AgentPlan, ApprovalPlan, ApproverPlan, BarrierKind, BarrierPlan, ChannelPlan, Extent, GatePlan, Part,
    Plan, Rules, TaskPlan,
};
#[cfg(any(test, feature = "testing"))]
pub use model::{AttemptLimits, IdleTimeout};
pub use pipeline::{
    Judge, OwnStage, Panel, PanelSeats, RedTeamPlan, StageJudge, StagePlan, VerificationPlan, VisionPlan,
};
pub use provenance::Origin;
pub use route::Route;
pub use run_options::RunOptions;
pub use selection::named_tasks;
#[cfg(any(test, feature = "testing"))]
pub use sla_plan::SlaPlan;
pub use working_folders::FilesIn;
pub use worktree_plan::HiddenFiles;
#[cfg(any(test, feature = "testing"))]
pub use worktree_plan::WorktreePlan;
