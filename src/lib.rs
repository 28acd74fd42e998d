//! `quorum` runs missions: graphs of tasks given to AI agents, judged by independent reviewers against evidence.
//!
//! Every module has one job, and imports point only downwards in this list: `cli`, `report`, `runtime`, `executor`, `review`,
//! `agents`, `supervisor`, `store`, `engine`, `judging`, `mission`, `domain`. Beside them stand `test_clock`, which whoever waits may
//! ask, and for tests only `simulation`, random histories held
//! against a reference model, and `transcripts`, what rules lead to in public events. `docs/design/architecture.md` has the job of each.
//!
//! Comments cite the rules that the code follows: "semantics, section 5", or "section 5" alone, is that section of
//! `docs/design/semantics.md`.

#[cfg(not(unix))]
compile_error!("quorum runs on Linux and other Unixes; on Windows use it inside WSL");

/// `write!` to a text, which takes all that is written to it.
macro_rules! append {
    ($($arguments:tt)+) => {{
        use std::fmt::Write as _;
        let _ = write!($($arguments)+);
    }};
}

/// `writeln!` to a text, which takes all that is written to it.
macro_rules! append_line {
    ($($arguments:tt)+) => {{
        use std::fmt::Write as _;
        let _ = writeln!($($arguments)+);
    }};
}

/// An enum whose variants are words: `as_str` gives each its own, `ALL` are all of them, in their order. JSON has the same
/// word, or the one behind `as`.
macro_rules! worded {
    ($(#[$meta:meta])* $seen:vis enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ }) => {
        worded! {
            $(#[$meta])*
            $seen enum $name {
                $($(#[$of])* $variant = $word as $word,)+
            }
        }
    };
    ($(#[$meta:meta])* $seen:vis enum $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal as $written:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $seen enum $name {
            $(
                $(#[$of])*
                #[serde(rename = $written)]
                $variant,
            )+
        }

        impl $name {
            #[allow(dead_code, reason = "not everybody goes through all of them")]
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            words_of! {
                /// The word for it, in JSON and for people.
                #[allow(dead_code, reason = "templates take it from documents")]
                as_str { $($variant => $word,)+ }
            }
        }
    };
}

/// Within the `impl` of an enum: a method that gives each variant its word.
macro_rules! words_of {
    ($(#[$doc:meta])* $method:ident { $($variant:ident => $word:literal,)+ }) => {
        $(#[$doc])*
        pub const fn $method(self) -> &'static str {
            match self {
                $(Self::$variant => $word,)+
            }
        }
    };
}

/// Locks a value, whatever became of who held the lock before.
fn locked<T>(lock: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

pub(crate) mod agents;
pub(crate) mod cli;
pub(crate) mod domain;
pub(crate) mod engine;
pub(crate) mod executor;
pub(crate) mod judging;
pub(crate) mod mission;
// What unit tests share with the tests beside them, which have a format of their own.
#[cfg(all(test, target_os = "linux"))]
#[path = "../tests/support/refused_calls.rs"]
#[rustfmt::skip]
mod refused_calls;
pub(crate) mod report;
pub(crate) mod review;
pub(crate) mod runtime;
#[cfg(test)]
mod simulation;
#[cfg(test)]
#[path = "../tests/support/sockets.rs"]
#[rustfmt::skip]
mod sockets;
#[cfg(test)]
#[path = "../tests/support/somebody_else.rs"]
#[rustfmt::skip]
mod somebody_else;
pub(crate) mod store;
pub mod supervisor;
pub(crate) mod test_clock;
#[cfg(test)]
mod transcripts;

// What the binary and tests from outside go by. Whatever else is `pub` below is not seen from there, so that the compiler
// finds what nobody uses.
pub use cli::main;
pub use domain::{FailureClass, OutcomeClass, Purpose, Stage};
pub use engine::{Effect, Job};
pub use mission::model::http_adapters;
pub use mission::{Code, FieldDoc, FileKind, field_doc, json_schema};
pub use report::documents::schema::{DocumentKind, documents};
pub use report::words;
pub use store::Lock;
