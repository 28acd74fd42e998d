//! The mission document: loading, validation, diagnostics with source spans, and the plan made from it.
//!
//! Everything that can be wrong with a file is found here, before any agent starts. [`load()`] reads a file the fast way
//! (straight into structs); if that fails for whatever reason the careful way reads it again into a tree with places,
//! checks it against the one table of keys, and collects everything that is wrong. [`compile()`] makes the plan.

mod check;
mod codes;
mod compile;
mod config;
mod defaults;
mod diagnostics;
mod document;
mod environment;
mod fast;
mod keys;
mod load;
pub mod model;
mod plan;
mod problem;
mod read;
mod scalar;
mod text;
mod validate;

pub use codes::{Code, UnknownCode};
pub use compile::{compile, waves};
pub use config::{ConfigLayer, Layers, load_config};
pub use defaults::default_dimensions;
pub use diagnostics::{Diagnostic, Severity, Spot, Style};
pub use environment::{UnsetVariable, expand, variables_of};
pub use load::{Loaded, Report, Source, later_keys, load};
pub use plan::{
    AgentPlan, AttemptLimits, Edges, Expectations, GatePlan, Panel, Plan, Reviewers, Rules, RunOptions,
    TaskPlan,
};
pub use read::Named;
pub use scalar::Positive;
