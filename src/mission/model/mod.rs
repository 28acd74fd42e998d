//! The document as written: what serde reads from a mission file.
//!
//! The structs have a field for every key whose behaviour is built. Keys that are known but not built yet are checked
//! against the table in `keys` and stop a run before it starts, so nothing here would ever read them.
//!
//! | file | what |
//! |---|---|
//! | `agent` | agents, as the file describes them |
//! | `approval` | `requiresApproval` and `approvalGates`: who must agree before a task starts (5) |
//! | `budget` | budgets and prices (19) |
//! | `channel` | channels: where notifications go, as the file describes them (18) |
//! | `expectation` | expectations: what "done" means for a task |
//! | `finish_gate` | `verify`: the finish gate of a task (6.3) |
//! | `middleware` | middleware: what is done around a turn, and around the whole graph (17) |
//! | `mission` | the mission, its settings and gates, and the `quorum.yaml` beneath it |
//! | `permissions` | `permissions` of an agent: how long a person is waited for |
//! | `rubric` | `rubrics`: what a judge grades work by (10) |
//! | `sla` | what is said and done about deadlines (14) |
//! | `stages` | what judges work behind its verification: `stages`, `redTeam` and `vision` (6.7, 15) |
//! | `task` | tasks, as the file describes them |
//! | `tools` | `tools` of an agent: what a model behind HTTP may do itself (7) |
//! | `verification` | `verification`: how a task's `acceptance` is graded |
//! | `words` | words of the file: enums that are written as one of a fixed list of words |

mod agent;
mod approval;
mod budget;
mod channel;
mod expectation;
mod finish_gate;
mod middleware;
mod mission;
mod permissions;
mod rubric;
mod sla;
mod stages;
mod task;
mod tools;
mod verification;
mod words;

pub use agent::{Adapter, Agent, CommandLine, Input};
pub use approval::{Approval, ApprovalGate, Approver};
pub use budget::{Budget, Price};
pub use channel::{Channel, ChannelType};
pub use expectation::{Check, CommandCheck, Expectation, LlmReview, Reviewers};
pub use finish_gate::{FailToPass, FinishGate};
pub use middleware::{
    AgentChain, AgentHook, AgentMiddleware, Around, Clarification, CoordinationChain, CoordinationHook,
    CoordinationMiddleware, Middleware,
};
pub use mission::{Config, Gate, GateFailure, Hold, Mission, Settings};
pub use permissions::Permissions;
pub use rubric::{BUILT_IN as BUILT_IN_RUBRICS, Criterion, Example, GradeKind, OnRefer, Rubric};
pub use sla::{CheckInterval, Sla, ViolationAction};
pub use stages::{Color, Expected, OnMissing, RedTeam, Region, Stage, Vision, VisionKind};
pub use task::Task;
pub use tools::{ToolKind, ToolPolicy, Tools};
pub use verification::{Decomposer, Grader, Identity, Verification};
pub use words::{
    Autonomy, Consensus, FinalChecks, Independence, OnExhausted, PanelMode, Remedy, RemedyOrder, Review,
    Stakes, TaskType,
};

pub(super) use agent::Url;
pub(super) use expectation::{ExpectationType, Seats};
