//! Adapters: everything that talks to an agent, whatever it is.
//!
//! The rest of the program knows no provider and no protocol. An adapter takes a prompt and gives back a reply with
//! what was really used, or a failure with its class; it never decides whether to try again.
//!
//! | file | what |
//! |---|---|
//! | `acp` | one turn of an agent that speaks the Agent Client Protocol, as a command of its own |
//! | `cassette` | recorded replies of models: `--record DIR` writes them, `--offline` works from them |
//! | `channel` | channels of notifications: where they lead, and how one is handed over (18) |
//! | `command_line` | an agent's command line, its environment and its files |
//! | `endpoint` | where an HTTP model is, and the client that reaches it |
//! | `failure` | classes of failure: exit codes, 401, 429, time-outs, error fields of providers (13) |
//! | `model` | one request to a model over HTTP: sent, timed out, bounded, its `Retry-After` read, its failure classed |
//! | `preset` | programs of agents that a preset starts and reads: their command lines, and rules for what they print |
//! | `protocol` | what a provider of models implements: base address, how a key is shown, who reads and writes its JSON; the table of them |
//! | `secrets` | what must stand in no text: values of `${NAME}` and keys of providers |
//! | `tool_loop` | a model with tools: it asks for them, gets their results, and in the end gives its reply |
//! | `tools` | tools for models that have none of their own: list, read and search; write and run for workers |
//! | `transport` | how a model is reached: over the network, the same on record, or from a record alone |

pub mod acp;
pub mod cassette;
pub mod channel;
pub mod command_line;
pub mod endpoint;
pub mod failure;
pub mod model;
pub mod preset;
pub mod protocol;
pub mod secrets;
pub mod tool_loop;
pub mod tools;
pub mod transport;
