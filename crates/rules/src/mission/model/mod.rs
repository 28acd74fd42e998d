//! The document as written: the kinds of maps of a mission file, each key declared once.
//!
//! A declaration makes the struct, what the document is checked against, and how it is read (`keys`). Keys that are known but
//! not built yet stop a run before it starts: their fields hold nothing.
//!
//! | file | what |
//! |---|---|
//! | `agent` | agents, as the file describes them |
//! | `approval` | `requiresApproval` and `approvalGates`: who must agree before a task starts (5) |
//! | `budget` | budgets and prices (19) |
//! | `calibration` | bars that labelled work gives to panels (2) |
//! | `channel` | channels: where notifications go, as the file describes them (18) |
//! | `command_line` | command lines, as the file writes them |
//! | `expectation` | expectations: what "done" means for a task |
//! | `finish_gate` | `verify`: the finish gate of a task (6.3) |
//! | `middleware` | middleware: what is done around a turn, and around the whole graph (17) |
//! | `mission` | the mission, its settings and gates, and the `quorum.yaml` beneath it |
//! | `permissions` | `permissions` of an agent: what its program may do, and how long a person is waited for |
//! | `preset` | presets: how the program of an agent is started and read, as data |
//! | `rubric` | `rubrics`: what a judge grades work by (10) |
//! | `serve` | where people reach the pages of runs |
//! | `sla` | what is said and done about deadlines (14) |
//! | `stages` | what judges work behind its verification: `stages`, `redTeam` and `vision` (6.7, 15) |
//! | `task` | tasks, as the file describes them |
//! | `tools` | `tools` of an agent: what a model behind HTTP may do itself (7) |
//! | `verification` | `verification`: how a task's `acceptance` is graded |
//! | `words` | words of the file: enums that are written as one of a fixed list of words |
//! | `telemetry` | where the spans of a run go (20) |
//! | `workers` | how work is handed to workers on other machines |
//! | `worktree` | how worktrees are prepared and merged |
//! | `defaults` | default settings whose value no key can say as text, dimensions and their weights (2, 3); all others stand with their keys in `model` |

/// The meaning of a key that stands in several kinds of maps.
macro_rules! says {
    (after_tasks) => { "Titles of the tasks that it waits for." };
    (agents) => { "Who works and judges, by name." };
    (approval_message) => { "What they are asked." };
    (approval_timeout) => { "How long it waits; what follows then, `autoRejectOnTimeout` says [for ever]." };
    (approvers) => {
        "Who may agree: people, agents, or `{command}` (exit 0 agrees, 1 refuses); one of them is enough [any person]."
    };
    (autonomy) => {
        "How much agents may decide alone: under locked and supervised, findings of medium severity block too, and a person \
         agrees to a plan of two tasks or more before its work begins [=]."
    };
    (baseline) => { "Whether what checks say before the work is looked at, so that one that was green all along proves nothing [=]." };
    (before) => { "What it is to be before the work begins; where one that is to be red is green, a person decides." };
    (blocks_tasks) => { "Titles of the tasks that wait for it." };
    (budget) => { "What a run may use in all; then it ends with exit 7 and can be resumed." };
    (channels) => { "Where notifications go, by name." };
    (check_command) => { "A command that must exit 0: one line under `bash -o pipefail`, several under `bash -euo pipefail`." };
    (check_timeout) => { "How long the command may take [=]." };
    (checks_may_write) => {
        "Globs of files below protected folders that may appear or change while a check runs [=]."
    };
    (reruns) => { "How often it runs again where it fails, 5 at most; green in the end it passes, and is told to be flaky [=]." };
    (consensus) => { "How the seats' scores become one [=]." };
    (deadline) => {
        "When it must be finished: a moment (UTC where it names no zone), or a duration from the start."
    };
    (expectation_type) => { "What kind of expectation it is." };
    (files) => { "Which files agents may change [=]." };
    (hidden) => { "Whether workers are shown neither its command nor its files nor its output." };
    (hold_name) => { "Its unique name." };
    (independence) => { "What a reviewer must not share with the author [=]." };
    (isolation) => { "What tasks share of the workspace [=]." };
    (judge_breaker) => {
        "After so many rejections in a row the work of a model is not judged any more in its wave; 0 is never [=]."
    };
    (max_fix_attempts) => { "Fixes after one first attempt or retry [=]." };
    (max_retries) => { "Retries in all [=]." };
    (network) => { "Whether agents reach the network [=]." };
    (on_dependency_failed) => { "What is tried, in this order, when a dependency failed [=]." };
    (on_exhausted) => { "What happens to work that still fails when its attempts are used up." };
    (panel) => {
        "Whether all seats are asked at once, or a third only while it could change the verdict [=]."
    };
    (proof) => { "What becomes of work whose checks were all green before it began, and that nobody judges [=]." };
    (protect) => {
        "Paths or globs of files that agents must not change; a folder means everything in it."
    };
    (refer_below) => {
        "Refer to a person where |score - bar| / (spread of the seats + 0.25), on 1 to 5, is below it."
    };
    (rubrics) => { "Rubrics for verification, by name." };
    (sandbox) => { "Whether agents are kept away from what judges them by the system [=]." };
    (scratch) => {
        "Globs of caches in or beside protected folders: every check and judge finds them empty, and what it leaves there is \
         thrown away [=]."
    };
    (settings) => { "How the mission is run." };
    (stakes) => { "How much harm wrong work would do: `redTeam.minStakes` goes by it [=]." };
    (tests) => {
        "Globs of what is a test: tests that the work changes are run on it as they were, and those that it brings without it \
         [=]."
    };
    (verify_prior_feedback) => { "Whether a reviewer must answer for every earlier finding [=]." };
}

mod agent;
mod approval;
mod budget;
mod calibration;
mod channel;
mod command_line;
pub(crate) mod defaults;
mod expectation;
mod finish_gate;
mod middleware;
mod mission;
mod permissions;
mod preset;
mod rubric;
mod serve;
mod sla;
mod stages;
mod task;
mod telemetry;
mod tools;
mod verification;
mod words;
mod workers;
mod worktree;

pub use agent::{Adapter, AdapterKind, AdapterName, Agent, AgentTools, Input, SessionUse, http_adapters};
pub use approval::{ApprovalGate, Approver};
pub use budget::{Budget, Price};
pub use channel::{Channel, ChannelType};
pub use command_line::CommandLine;
pub use expectation::{Check, CommandCheck, Expectation, LlmReview, Reviewers};
pub use finish_gate::{FinishGate, TestList};
pub use middleware::{
    AgentChain, AgentHook, AgentMiddleware, Around, Clarification, CoordinationChain, CoordinationHook,
    CoordinationMiddleware,
};
#[cfg(test)]
pub use mission::Gate;
pub use mission::{Config, Delay, EffectiveSettings, GateFailure, Mission, Settings};
pub use permissions::{PermissionRule, PermissionSet, Permissions};
pub use preset::{
    Field, Grant, Loads, Login, OutputFormat, Preset, PromptRoute, Rule, RuleChange, RuleOperation,
};
pub use rubric::{BUILT_IN as BUILT_IN_RUBRICS, Criterion, GradeKind, OnRefer, Rubric};
pub use sla::{Sla, ViolationAction};
pub use stages::{Color, Expected, ExtraStage, OnMissing, Region, Vision, VisionKind};
pub use task::Task;
pub use telemetry::Telemetry;
pub use tools::{ToolKind, ToolPolicy, Tools};
pub use verification::{Decomposer, Grader, Verification};
pub use words::{
    Autonomy, BeforeRule, Consensus, FileScope, FinalChecks, Independence, Isolation, NetworkAccess,
    OnExhausted, PanelMode, ProofRule, Remedy, RemedyOrder, Review, Sandbox, Stakes, TaskType,
};
pub use workers::Workers;
pub use worktree::{MergeInto, Worktree, is_branch_name};
