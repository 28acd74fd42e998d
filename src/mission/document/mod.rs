//! The document as a tree with places: what the careful way of reading a file works on.

mod deserialize;
mod tree;

pub(super) use tree::{Entry, Kind, NodeId, Refusal, Tree};
