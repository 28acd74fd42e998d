//! Work that is under way for a run: turns of workers, questions to agents, commands and looks at files, notifications. Here
//! is what holds for all of it, whatever it is for: how often it failed and what follows from that, whether it is still
//! waited for. What its answer means is the rules' business, in `decide` and in `stages`.
//!
//! | file | what |
//! |---|---|
//! | `id` | what names a piece of work: its effect and its end alike |
//! | `open` | what is out for a task, and whether an end of it is still waited for |
//! | `policy` | what becomes of work that fails: how many retries and strict reprompts, whether another one is asked, by kind of work and purpose of asking (13) |
//! | `retry` | what follows when a try failed: another one after a pause, the wait for a limit that resets, or nothing (13) |

pub mod id;
mod open;
pub mod policy;
pub mod retry;
