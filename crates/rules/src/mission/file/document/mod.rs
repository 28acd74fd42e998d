//! The document as a tree with places.
//!
//! | file | what |
//! |---|---|
//! | `node` | a value of a document together with its tree: what a type is read from |
//! | `tab` | a tab that indents a line |
//! | `tree` | the YAML document as a flat tree whose every value knows its place in the text |

mod node;
mod tab;
mod tree;

pub use node::Node;
pub use tree::{MapEntry, NodeId, NodeKind, Tree, YamlError};
