//! What nothing acts on yet: complete, so that a file written today is checked today.

use crate::mission::document::Node;
use crate::mission::keys::{Later, Value, keys, words};
use crate::mission::scalar::{Filled, InnerPath};
use crate::mission::shape::Shape;

use super::command_line::CommandLine;

/// Declares an enum whose values nothing reads yet: only its words are checked.
macro_rules! word_list {
    ($name:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        pub(super) enum $name { $($value),+ }
        words!(of $name: $expects, $($word => $value),+);
        crate::mission::keys::single!($name);
    };
}

word_list!(AgentSession: "what becomes of a session", "keep" => Keep, "fresh" => Fresh);
word_list!(PermissionSet: "a set of permissions", "read" => Read, "edit" => Edit, "full" => Full);
word_list!(Merge: "a way to merge", "ff" => FastForward, "never" => Never);
word_list!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);

keys! {
    #[allow(dead_code, reason = "nothing acts on it yet")]
    pub(super) struct Preset: "a preset" {
        /// The program with its arguments.
        "argv" argv: Later as CommandLine;
    }
}

keys! {
    #[allow(dead_code, reason = "nothing acts on it yet")]
    pub(super) struct Worktree: "worktree" {
        /// Files that are copied into each worktree.
        "copy" copy: Later as Vec<InnerPath>;
        /// Files and folders that each worktree links to.
        "link" link: Later as Vec<InnerPath>;
        /// A command that prepares a worktree.
        "setup" setup: Later as Filled;
        /// What becomes of the branch at the end: ff, never, or `branch NAME` [=].
        "merge" merge: Later as MergeOrBranch, or("ff");
    }
}

/// `ff`, `never`, or `branch NAME`.
struct MergeOrBranch;

impl Value for MergeOrBranch {
    const SHAPE: Shape = Shape::Either(&[Shape::one::<Merge>(), Shape::one::<Filled>()]);

    fn read(_: Node<'_, '_>) -> Option<Self> {
        Some(Self)
    }
}
