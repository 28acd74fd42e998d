//! The mission document: loading, validation, diagnostics with source spans, and the plan made from it.
//!
//! Everything that can be wrong with a file is found here, before any agent starts. The way of a file:
//!
//! 1. `document`: the text becomes a flat tree whose every value knows its place;
//! 2. `key_check`: the tree is checked against the tables of `model`, and what is wrong is pruned;
//! 3. `model`: the rest is read into structs, each of which declares its keys (`keys`);
//! 4. `validate`: the structs are checked for what no table can say (names, circles, what belongs together);
//! 5. `violation`, `diagnostics`: what was found is located and drawn, or
//! 6. [`compile()`]: the mission becomes the plan that the engine works on.
//!
//! There is one way for right and wrong files alike, so both are always judged by the same rules. Going straight from
//! the text into the structs was measured as well: it is slower, because a general reader does more per value, and an
//! unknown key costs it unbounded memory.
//!
//! | file | what |
//! |---|---|
//! | `bar` | the bar for the score of a task, and who set it (2, 3) |
//! | `calibrated` | bars that labelled work gives to panels, and what they hold for (2) |
//! | `calibrated_panels` | the panels of a plan that these hold for, and why others have none (2) |
//! | `key_check` | the tree against the table of keys: unknown keys, wrong values |
//! | `check_words` | what of a check's words judges, and not the work that it is about (22) |
//! | `codes` | every code a diagnostic can carry, with the paragraph that `quorum explain CODE` prints |
//! | `compile` | from the validated mission to the plan: names become ids, defaults and precedence are applied |
//! | `confinement` | how far the processes of a run are confined: task, agent, settings (23) |
//! | `condition` | `when` of an approval gate: which tasks it holds |
//! | `config` | `quorum.yaml` of a project and of a user: agents, channels and settings beneath a mission |
//! | `defaults` | default settings whose value no key can say as text, dimensions and their weights (2, 3); all others stand with their keys in `model` |
//! | `delegation` | what an agent may hand down: sub-tasks as it wrote them, read strictly (12) |
//! | `diagnostics` | what is wrong with a file, ready to be shown: as text like a compiler's, or as JSON |
//! | `document` | the document as a tree with places |
//! | `adjacency` | adjacency that can grow: dense where it was known from the start, and a small map for what came later |
//! | `eligibility` | who may judge a task, never its author, in which order they are asked, and who takes over from an agent that failed (8) |
//! | `environment` | `${NAME}`: values that come from the environment of the run, never from the file |
//! | `working_folders` | the folders that tasks work in, and where their files lie for whoever comes after them (22) |
//! | `foundation` | foundation tasks: much is built on them, so less is better than nothing (12) |
//! | `growth` | tasks that a run gets while it works: sub-tasks, fixups, requests (12, 16) |
//! | `independence` | whether a reviewer is independent of the author of the work (8) |
//! | `judges` | who judges a task, or that nobody does; which checks count as judging (3) |
//! | `criteria_and_weights` | keys that only make sense together: names twice, criteria without a grader, weights |
//! | `keys` | keys, each declared once: the macro that makes struct, table and reading of a declaration |
//! | `levels` | levels of settings: mission, project, user, defaults; and what `quorum config show` prints of them |
//! | `lineage` | the digest of a task's text and of what it comes from (17) |
//! | `load` | from bytes to a validated mission, or to everything that is wrong with it |
//! | `loosened_judging` | what makes judging less strict than it would be, and where each of it is said |
//! | `migrate_plan` | a run that goes on with a changed mission: the new plan under the ids that the journal already uses |
//! | `model` | the document as written: the kinds of maps of a mission file |
//! | `named_files` | the files that a task names: targets, and what a check wants to be there |
//! | `paths` | paths and patterns of files as a mission writes them: what they mean, and where they lie |
//! | `finish_plan` | what must hold before the work of a task is judged at all (`verify`), resolved (6.0) |
//! | `pipeline` | what judges one attempt of a task, stage by stage, as types, and in which order (6, 15) |
//! | `plan` | the plan: a validated mission in the form the engine works on |
//! | `violation` | what is wrong, before it is known where that stands in the text |
//! | `presets` | the built-in presets, each a file of data |
//! | `provenance` | where a task comes from that the mission does not have, and what a plan knows of such tasks |
//! | `route` | verifications as nodes of the graph (10): where each of their edges leads |
//! | `run_options` | what the command line and the environment say about a run, frozen in its journal |
//! | `scalar` | single values as they stand in the file |
//! | `schema` | the JSON Schema of mission files, and one key's documentation for people |
//! | `selection` | `--only`: the part of a mission that a run takes (5, 20) |
//! | `shape` | what may stand where in a file: shapes of values, and tables of keys |
//! | `shell_line` | what can be told of a shell command by its words alone: what is quoted, where its pipes are, and whether something reads from one of them without reading all (6.4) |
//! | `sla_plan` | what is said and done about deadlines, as a plan has it |
//! | `further_stages` | `stages`, `redTeam`, `vision` as the mission declares them (6.7, 15) |
//! | `suggest` | "did you mean": what a misspelt key, task, agent or command was meant to be |
//! | `synonyms` | spellings that mean a key of another name or place |
//! | `task_list` | the tasks of a plan: in one block, and those that came later behind them |
//! | `testing` | plans for the tests of other modules |
//! | `shown_text` | showing texts of a file safely |
//! | `validate` | what no table can say: names that exist, cycles, what belongs together |
//! | `worktree_plan` | how the folders of isolated tasks are prepared, as a plan has it |
//! | `strictness_source` | where it is said how strictly work is judged: a mission, a file beneath it, a flag, a variable |

mod adjacency;
mod bar;
mod calibrated;
mod calibrated_panels;
pub mod check_words;
mod codes;
mod compile;
mod condition;
mod config;
mod confinement;
mod criteria_and_weights;
mod defaults;
mod delegation;
mod diagnostics;
mod document;
pub mod eligibility;
mod environment;
mod finish_plan;
mod foundation;
mod further_stages;
mod growth;
pub mod independence;
mod judges;
mod key_check;
mod keys;
mod levels;
mod lineage;
mod load;
mod loosened_judging;
mod migrate_plan;
pub mod model;
mod named_files;
pub mod paths;
mod pipeline;
mod plan;
pub mod presets;
mod provenance;
mod route;
mod run_options;
mod scalar;
mod schema;
mod selection;
mod shape;
pub mod shell_line;
mod shown_text;
mod sla_plan;
mod strictness_source;
mod suggest;
mod synonyms;
mod task_list;
#[cfg(any(test, feature = "testing"))]
mod testing;
#[cfg(test)]
mod tests;
mod validate;
mod violation;
mod working_folders;
mod worktree_plan;

pub use calibrated::{CalibratedBar, Calibration, dimensions_digest};
pub use codes::Code;
pub use compile::{compile, waves};
pub use config::{ConfigLayer, Layers, load_config, setting_paths, settings_of};
pub use confinement::Confinement;
pub use defaults::default_settings;
pub use delegation::{SubTask, read_delegations, read_sub_task};
#[cfg(any(test, feature = "testing"))]
pub use diagnostics::DiagnosticSeverity;
pub use diagnostics::{DiagnosticRow, DiagnosticStyle};
pub use environment::{UnsetVariable, expand};
pub use finish_plan::{FinishCommand, FinishGatePlan, ListOf, Requirement};
pub use growth::{AddedTask, Addition, PlanStep};
pub use levels::money_value;
pub use load::{LONGEST_MISSION, Loaded, Report, Source, agents_in, load, plain, warn_of_missing_files};
pub use loosened_judging::NO_FINAL_CHECKS;
pub use migrate_plan::migrate_plan;
pub use pipeline::{
    Judge, OwnStage, Panel, PanelSeats, RedTeamPlan, StageJudge, StagePlan, VerificationPlan, VisionPlan,
};
pub use plan::{
    AgentPlan, ApprovalPlan, ApproverPlan, BarrierKind, BarrierPlan, ChannelPlan, Extent, GatePlan, Part,
    Plan, Rules, TaskPlan,
};
#[cfg(any(test, feature = "testing"))]
pub use plan::{AttemptLimits, IdleTimeout};
#[cfg(any(test, feature = "testing"))]
pub use presets::preset_of;
pub use provenance::Origin;
pub use route::Route;
pub use run_options::RunOptions;
pub use scalar::Deadline;
#[cfg(any(test, feature = "testing"))]
pub use scalar::Positive;
pub use schema::{FieldDoc, FileKind, NoSuchField, field_doc, json_schema};
pub use selection::named_tasks;
pub use shown_text::{char_start, first_line};
#[cfg(any(test, feature = "testing"))]
pub use sla_plan::SlaPlan;
pub use strictness_source::Loosening;
pub use suggest::{did_you_mean, suggestion};
pub use working_folders::FilesIn;
pub use worktree_plan::HiddenFiles;
#[cfg(any(test, feature = "testing"))]
pub use worktree_plan::WorktreePlan;
