//! The document as a tree with places.

mod deserialize;
mod tree;

pub(super) use tree::{Entry, Kind, NodeId, Refusal, Tree};
