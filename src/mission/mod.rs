//! The mission document: loading, validation, diagnostics with source spans, and the plan made from it.
//!
//! Everything that can be wrong with a file is found here, before any agent starts.

pub mod model;
mod plan;

pub use plan::{
    AgentPlan, AttemptLimits, Edges, Expectations, GatePlan, Panel, Plan, Reviewers, Rules, RunOptions,
    TaskPlan,
};
