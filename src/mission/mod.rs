//! The mission document: loading, validation, diagnostics with source spans, and the plan made from it.
//!
//! Everything that can be wrong with a file is found here, before any agent starts. The way of a file:
//!
//! 1. `document`: the text becomes a flat tree whose every value knows its place;
//! 2. `check`: the tree is checked against the one table in `keys`, and what is wrong is pruned;
//! 3. `model`: serde reads the rest into structs;
//! 4. `validate`: the structs are checked for what no table can say (names, circles, what belongs together);
//! 5. `problem`, `diagnostics`: what was found is located and drawn, or
//! 6. [`compile()`]: the mission becomes the plan that the engine works on.
//!
//! There is one way for right and wrong files alike, so both are always judged by the same rules. Going straight from
//! the text into the structs was measured as well: it is slower, because a general reader does more per value, and an
//! unknown key costs it unbounded memory.

mod check;
mod codes;
mod compile;
mod condition;
mod config;
mod defaults;
mod delegation;
mod diagnostics;
mod document;
mod edges;
mod environment;
mod foundation;
mod growth;
mod keys;
mod lineage;
mod load;
mod loosened;
mod migrate_plan;
pub mod model;
pub mod named_files;
mod plan;
mod problem;
mod read;
mod route;
mod scalar;
mod schema;
mod selection;
mod setting_values;
mod stages;
mod suggest;
mod task_list;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod text;
mod together;
mod validate;

pub use codes::{Code, UnknownCode};
pub use compile::{compile, waves};
pub use config::{ConfigLayer, Layers, load_config};
pub use defaults::{default_dimensions, default_settings};
pub use delegation::{SubTask, read_delegations, read_sub_task};
pub use diagnostics::{Diagnostic, Severity, Spot, Style};
pub use edges::Edges;
pub use environment::{UnsetVariable, expand, unset_variables, variables_of};
pub use growth::{AddedTask, Addition, Origin, Provenance};
pub use load::{LONGEST_MISSION, Loaded, Report, Source, agents_in, load, plain, validate_path};
pub use loosened::{Loosening, NO_FINAL_CHECKS, SaidBy};
pub use migrate_plan::succeed;
pub use plan::{
    AgentPlan, ApprovalPlan, ApproverPlan, AttemptLimits, ChannelPlan, Expectations, FinishCommand,
    FinishGate, GatePlan, HoldKind, HoldPlan, Panel, Part, Plan, Requirement, Reviewers, Rules, RunOptions,
    Silence, SlaPlan, TaskPlan, Verification,
};
pub use read::Named;
pub use route::Route;
pub use scalar::{Deadline, Positive};
pub use schema::{FieldDoc, FileKind, NoSuchField, field_doc, json_schema};
pub use selection::{UnknownTask, named_tasks};
pub use setting_values::{money_value, setting_paths, setting_value, settings_of};
pub use stages::{RedTeamPlan, Scrutiny, StageJudge, StagePlan, VisionPlan};
pub use suggest::suggestion;
pub use task_list::TaskList;
