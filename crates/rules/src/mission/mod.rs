//! The mission document: loading, validation, diagnostics with source spans.
//!
//! Everything that can be wrong with a file is found here, before any agent starts. The way of a file:
//!
//! 1. `file/document`: the text becomes a flat tree whose every value knows its place;
//! 2. `file/key_check`: the tree is checked against the tables of `model`, and what is wrong is pruned;
//! 3. `model`: the rest is read into structs, each of which declares its keys (`file/keys`);
//! 4. `validate`: the structs are checked for what no table can say (names, circles, what belongs together);
//! 5. `file/violation`, `file/diagnostics`: what was found is located and drawn, or
//! 6. [`plan::compile`](crate::plan::compile()): the mission becomes the plan that the engine works on.
//!
//! There is one way for right and wrong files alike, so both are always judged by the same rules. Going straight from
//! the text into the structs was measured as well: it is slower, because a general reader does more per value, and an
//! unknown key costs it unbounded memory.
//!
//! | file | what |
//! |---|---|
//! | `adjacency` | adjacency that can grow: dense where it was known from the start, and a small map for what came later |
//! | `check_words` | what of a check's words judges, and not the work that it is about (22) |
//! | `condition` | `when` of an approval gate: which tasks it holds |
//! | `file` | from the text of a file to a checked tree: keys, values, places, and what is wrong with them |
//! | `model` | the document as written: the kinds of maps of a mission file |
//! | `paths` | paths and patterns of files as a mission writes them: what they mean, and where they lie |
//! | `presets` | the built-in presets, each a file of data |
//! | `shell_line` | what can be told of a shell command by its words alone: what is quoted, where its pipes are, and whether something reads from one of them without reading all (6.4) |
//! | `validate` | what no table can say: names that exist, cycles, what belongs together |

pub(crate) mod adjacency;
pub mod check_words;
pub(crate) mod condition;
pub mod file;
pub mod model;
pub mod paths;
pub mod presets;
pub mod shell_line;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod validate;

pub use file::codes::Code;
pub use file::config::{ConfigLayer, Layers, load_config, setting_paths, settings_of};
#[cfg(any(test, feature = "testing"))]
pub use file::diagnostics::DiagnosticSeverity;
pub use file::diagnostics::{DiagnosticRow, DiagnosticStyle};
pub use file::environment::{UnsetVariable, expand};
pub use file::levels::money_value;
pub use file::load::{
    LONGEST_MISSION, Loaded, Report, Source, agents_in, load, plain, warn_of_missing_files,
};
pub use file::scalar::Deadline;
#[cfg(any(test, feature = "testing"))]
pub use file::scalar::Positive;
pub use file::schema::{FieldDoc, FileKind, NoSuchField, field_doc, json_schema};
pub use file::shown_text::{char_start, first_line};
pub use file::strictness_source::Loosening;
pub use file::suggest::{did_you_mean, suggestion};
pub use model::defaults::default_settings;
#[cfg(any(test, feature = "testing"))]
pub use presets::preset_of;
