//! Adapters: everything that talks to an agent, whatever it is.
//!
//! The rest of the program knows no provider and no protocol. An adapter takes a prompt and gives back a reply with
//! what was really used, or a failure with its class; it never decides whether to try again.

pub mod cassette;
pub mod channel;
pub mod command;
pub mod endpoint;
pub mod failure;
pub mod model;
pub mod protocol;
pub mod secrets;
pub mod tool_loop;
pub mod tools;
pub mod transport;

mod anthropic;
mod gemini;
mod ollama;
mod openai;
