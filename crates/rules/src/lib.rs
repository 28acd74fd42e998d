//! The rules of `quorum`: what a mission may say, what counts as good, and what happens next, and why.
//!
//! Nothing here starts, reads or waits for anything: no I/O, no clock, no randomness, no async.
//!
//! | file | what |
//! |---|---|
//! | `domain` | the small types that everybody shares |
//! | `engine` | what happens next: facts to events, events to state, and what is to be done about them |
//! | `judging` | how good something is: reading verdicts, joining them, choosing who may give them |
//! | `mission` | the mission document, what is wrong with it, and the plan made from it |
//! | `plan` | the plan that is made from a validated mission, in the form that the engine works on |
//!
//! Comments cite the rules that the code follows: "semantics, section 5", or "section 5" alone, is that section of
//! `docs/design/semantics.md`.

#![forbid(unsafe_code)]

/// `write!` to a text, which takes all that is written to it.
#[macro_export]
macro_rules! append {
    ($($arguments:tt)+) => {{
        use std::fmt::Write as _;
        let _ = write!($($arguments)+);
    }};
}

/// `writeln!` to a text, which takes all that is written to it.
#[macro_export]
macro_rules! append_line {
    ($($arguments:tt)+) => {{
        use std::fmt::Write as _;
        let _ = writeln!($($arguments)+);
    }};
}

/// An enum whose variants are words: `as_str` gives each its own, `ALL` are all of them, in their order. JSON has the same
/// word. The doc comment of a variant is its meaning: `MEANINGS` has it beside the word, and `quorum explain` prints it.
#[macro_export]
macro_rules! worded {
    ($(#[$meta:meta])* $seen:vis enum $name:ident { $($(#[doc = $doc:literal])* $(#[default] $default:vis)? $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $seen enum $name {
            $(
                $(#[doc = $doc])*
                #[serde(rename = $word)]
                $(#[default] $default)?
                $variant,
            )+
        }

        impl $name {
            #[allow(dead_code, reason = "not everybody goes through all of them")]
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// Each word with its meaning, in the order of the variants.
            #[allow(dead_code, reason = "not every word is explained")]
            pub const MEANINGS: [(&'static str, &'static str); Self::ALL.len()] =
                [$(($word, concat!($($doc),*).trim_ascii())),+];

            $crate::words_of! {
                /// The word for it, in JSON and for people.
                #[allow(dead_code, reason = "templates take it from documents")]
                as_str { $($variant => $word,)+ }
            }
        }
    };
}

/// Within the `impl` of an enum: a method that gives each variant its word.
#[macro_export]
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

pub mod domain;
pub mod engine;
pub mod judging;
pub mod mission;
pub mod plan;
