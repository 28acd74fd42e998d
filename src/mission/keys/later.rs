//! The parts of the table that nothing acts on yet: complete, so that a file written today is checked today.

use crate::mission::scalar::words;

/// Declares an enum whose values nothing reads yet: only its words are checked.
macro_rules! word_list {
    ($name:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        pub(super) enum $name { $($value),+ }
        words!($name: $expects, $($word => $value),+);
    };
}

word_list!(Sandbox: "a kind of sandbox", "auto" => Auto, "required" => Required, "off" => Off);
word_list!(Network: "what the network is", "allow" => Allow, "deny" => Deny);
word_list!(FileScope: "a scope of files", "open" => Open, "workspace" => Workspace);
word_list!(AgentSession: "what becomes of a session", "keep" => Keep, "fresh" => Fresh);
word_list!(Permissions: "a set of permissions", "read" => Read, "edit" => Edit, "full" => Full);
word_list!(Merge: "a way to merge", "ff" => FastForward, "never" => Never);
word_list!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);
