//! Transcripts: what a run tells the outside, fact by fact, when the world and people do this and that.
//!
//! Each test tells a mission what happens, in the words of [`driver::Run`], and holds the public events that follow
//! against a text in `snapshots/`. Tests name tasks by their titles and agents by their names; nothing of the engine's
//! inside stands in them or in the texts, so both outlive a rewrite of it. Only the driver knows how a fact is put to
//! the engine.
//!
//! A text is the mission, then each fact (`>`) with the events it led to. What the test does not mention happens by
//! itself and goes well. Times are told from the moment of the event. Where variants matter only by whom they ask and how
//! they end, they stand below as one line each.
//!
//! After a change of names or rules that is meant, write the texts anew and read the difference:
//! `INSTA_UPDATE=always cargo test --lib transcripts::`
//!
//! | file | what |
//! |---|---|
//! | `attempts` | how a worker's attempts go: fixes, retries, the finish gate, files, lost turns |
//! | `dependencies` | what becomes of work whose dependency failed, and of work that others made or changed |
//! | `driver` | what transcripts are told with: facts in plain words, put to the engine as its inputs |
//! | `edges` | verifications as nodes: which edge is taken, what leaves the run, what is done again |
//! | `event_line` | a public event on one short line: its name, the task, and the keys that matter |
//! | `holds` | what stands between tasks: checkpoints, delays, gates; and who lets them pass |
//! | `limits` | what a budget leaves room for, and time that runs out |
//! | `people` | somebody's agreement before a task starts, and before one with side effects acts again |
//! | `questions` | what an agent asks, wishes or says instead of working, and who answers |
//! | `reviews` | how work is judged: panels, evaluations, criteria, rubrics; and who has the last word |
//! | `stages` | stages, red team, vision check; who is asked, who is not and why |

/// Holds a transcript against the text of its test.
macro_rules! transcript {
    ($text:expr) => {
        insta::with_settings!({omit_expression => true}, { insta::assert_snapshot!($text) })
    };
}

mod attempts;
mod dependencies;
mod driver;
mod edges;
mod event_line;
mod holds;
mod limits;
mod people;
mod questions;
mod reviews;
mod stages;
