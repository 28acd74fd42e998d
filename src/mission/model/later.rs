//! What nothing acts on yet: complete, so that a file written today is checked today.

use crate::mission::keys::{Later, keys, words};

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

keys! {
    #[allow(dead_code, reason = "nothing acts on it yet")]
    pub(super) struct Preset: "a preset" {
        /// The program with its arguments.
        "argv" argv: Later as CommandLine;
    }
}
