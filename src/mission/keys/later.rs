//! The parts of the table that nothing acts on yet: complete, so that a file written today is checked today.

use crate::mission::scalar::words;

/// Declares an enum whose values nothing reads yet: only its words are checked.
macro_rules! word_list {
    ($name:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        pub(super) enum $name { $($value),+ }
        words!($name: $expects, $($word => $value),+);
    };
}

word_list!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);
