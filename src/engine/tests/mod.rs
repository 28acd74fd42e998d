//! The engine against a scripted world, a random world, and every crash in between.

mod change;
mod evidence;
mod operator;
mod properties;
pub(crate) mod random;
mod scenarios;
pub(crate) mod simulation;
mod verification;
mod waiting;
