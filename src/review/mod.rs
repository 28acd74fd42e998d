//! Performing one step of judging: what the reviewer is shown, and how.
//!
//! This module counts nothing and loops over nothing: whether a judge is asked, and what its verdict leads to, is the
//! engine's business; how a form is found in a reply is `judging`'s.
//!
//! | file | what |
//! |---|---|
//! | `checks` | deterministic checks: what their results mean (6.4) |
//! | `evidence` | what the runtime itself sees of the workspace: files with size and hash |
//! | `facts` | files that criteria name, looked at for the heuristic grader (10) |
//! | `fence` | fences around text that nobody vouches for (7) |
//! | `handoff` | handing work over to whoever judges it: a frozen record of what was given to whom (10) |
//! | `judgement` | what a verdict was read from: stored beside every reply, for `review --replay` |
//! | `pictures` | screenshots: regular files of bounded size, PNG or JPEG by what they hold (15) |
//! | `prompt` | what a reviewer is asked; the words of the strict reprompt (7, 9) |
//! | `questions` | what agents are asked that judge no work, and how the reply of each purpose is read (13) |
//! | `rubric` | what a judge is asked that grades by a rubric (10) |
//! | `file_changes` | files that a task's rules name, before and after a turn (1, 6) |
//! | `further_stages` | what further stages are asked, and what their commands' ends say (6.7, 15) |
//! | `stored_reply` | what a stored reply says |

pub mod checks;
pub mod evidence;
pub mod facts;
pub mod fence;
pub mod file_changes;
pub mod further_stages;
pub mod handoff;
pub mod judgement;
pub mod pictures;
pub mod prompt;
pub mod questions;
pub mod rubric;
pub mod stored_reply;
