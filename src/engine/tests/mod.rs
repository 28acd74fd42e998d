//! The engine against a scripted world, a random world, and every crash in between.

mod breaker;
mod budget;
mod change;
mod deadlines;
mod delegation;
mod evidence;
mod exhausted;
mod finish;
mod fixups;
mod foundation;
mod intake;
mod notices;
mod operator;
mod properties;
pub(crate) mod random;
mod rules;
mod scenarios;
pub(crate) mod simulation;
mod stories;
mod task;
mod verification;
mod waiting;
