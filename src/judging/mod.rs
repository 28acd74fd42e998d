//! How good something is: reading verdicts, joining them, choosing who may give them.
//!
//! Everything here is pure: no I/O, no clock, no randomness. *When* a judge is asked is the engine's business, *asking*
//! it is done in `review`; here is only what a reply says, what several replies say together, who is entitled to
//! reply, and what plain facts say without any judge.

pub mod advice;
pub mod assumption;
pub mod authority;
pub mod calibration;
pub mod colour;
pub mod consensus;
pub mod drift;
pub mod eligibility;
pub mod evidence_rules;
pub mod heuristic;
pub mod hollow;
pub mod independence;
pub mod parser;
pub mod prior;
pub mod probes;
pub mod protected;
pub mod question;
pub mod rubric;
pub mod stages;
pub mod triage;
pub mod verification;
