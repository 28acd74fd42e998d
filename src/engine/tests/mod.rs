//! The engine against a scripted world, a random world, and every crash in between.

mod change;
mod operator;
mod properties;
mod scenarios;
pub(crate) mod simulation;
mod verification;
mod waiting;
