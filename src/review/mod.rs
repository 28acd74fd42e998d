//! Performing one step of judging: what the reviewer is shown, and how.
//!
//! This room counts nothing and loops over nothing: whether a judge is asked, and what its verdict leads to, is the
//! engine's business; reading the reply is `judging`'s.

pub mod checks;
pub mod consult;
pub mod evidence;
pub mod facts;
pub mod fence;
pub mod handoff;
pub mod judgement;
pub mod pictures;
pub mod prompt;
pub mod rubric;
pub mod snapshot;
pub mod stages;
pub mod verdict;
