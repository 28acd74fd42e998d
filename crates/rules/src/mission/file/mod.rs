//! From the text of a file to a checked tree: keys, values, places, and what is wrong with them.
//!
//! | file | what |
//! |---|---|
//! | `codes` | every code a diagnostic can carry, with the paragraph that `quorum explain CODE` prints |
//! | `config` | `quorum.yaml` of a project and of a user: agents, channels and settings beneath a mission |
//! | `criteria_and_weights` | keys that only make sense together: names twice, criteria without a grader, weights |
//! | `diagnostics` | what is wrong with a file, ready to be shown: as text like a compiler's, or as JSON |
//! | `document` | the document as a tree with places |
//! | `environment` | `${NAME}`: values that come from the environment of the run, never from the file |
//! | `key_check` | the tree against the table of keys: unknown keys, wrong values |
//! | `keys` | keys, each declared once: the macro that makes struct, table and reading of a declaration |
//! | `levels` | levels of settings: mission, project, user, defaults; and what `quorum config show` prints of them |
//! | `load` | from bytes to a validated mission, or to everything that is wrong with it |
//! | `scalar` | single values as they stand in the file |
//! | `schema` | the JSON Schema of mission files, and one key's documentation for people |
//! | `shape` | what may stand where in a file: shapes of values, and tables of keys |
//! | `shown_text` | showing texts of a file safely |
//! | `strictness_source` | where it is said how strictly work is judged: a mission, a file beneath it, a flag, a variable |
//! | `suggest` | "did you mean": what a misspelt key, task, agent or command was meant to be |
//! | `synonyms` | spellings that mean a key of another name or place |
//! | `violation` | what is wrong, before it is known where that stands in the text |

pub(crate) mod codes;
pub(crate) mod config;
pub(crate) mod criteria_and_weights;
pub(crate) mod diagnostics;
pub(crate) mod document;
pub(crate) mod environment;
pub(crate) mod key_check;
pub(crate) mod keys;
pub(crate) mod levels;
pub(crate) mod load;
pub(crate) mod scalar;
pub(crate) mod schema;
pub(crate) mod shape;
pub(crate) mod shown_text;
pub(crate) mod strictness_source;
pub(crate) mod suggest;
pub(crate) mod synonyms;
pub(crate) mod violation;
