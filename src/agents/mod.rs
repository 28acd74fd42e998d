//! Adapters: how quorum talks to what works and judges. They know protocols and processes; they decide nothing.

pub mod command;
pub mod openai;
