//! Programs of agents that a preset starts and reads (`docs/reference/presets.md`): data makes the command line, and rules read
//! what is printed.
//!
//! | file | what |
//! |---|---|
//! | `agent` | an agent that is a program: how it is started, with a preset or without |
//! | `invocation` | the command line and environment of one turn or question |
//! | `reading` | rules applied to what a program prints, and what is known then |
//! | `tool_server` | the server of a turn's tools, in the forms in which programs are told of a server |

mod agent;
mod invocation;
mod reading;
mod tool_server;

pub use agent::{ByPreset, CommandAgent};
pub use invocation::{ProgramStart, TurnSession, Use};
pub use reading::{Called, OutputReader, PrintedTurn};
