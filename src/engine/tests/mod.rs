//! The engine against a scripted world, a random world, and every crash in between.

mod breaker;
mod budget;
mod change;
mod deadlines;
mod delegation;
mod dependency_rules;
mod edges;
mod evidence;
mod exhausted;
mod fallback;
mod finish;
mod fixups;
mod foundation;
mod gate_rules;
mod intake;
mod notices;
mod operator;
mod properties;
pub(crate) mod random;
mod rules;
mod scenarios;
mod scrutiny;
pub(crate) mod simulation;
mod stories;
mod task;
mod verification;
mod waiting;
