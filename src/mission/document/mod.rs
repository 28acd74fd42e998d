//! The document as a tree with places.
//!
//! | file | what |
//! |---|---|
//! | `deserialize` | serde over the tree: how the checked and pruned document becomes structs |
//! | `tree` | the YAML document as a flat tree whose every value knows its place in the text |

mod deserialize;
mod tree;

pub(super) use tree::{Entry, Kind, NodeId, Refusal, Tree};
