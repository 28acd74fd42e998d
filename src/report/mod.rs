//! What people and machines read: progress lines, the final block, the status table, JSON documents, the event stream.
//!
//! This room only reads state and events; it decides nothing. Whether a run succeeded is said by
//! [`crate::engine::outcome`] alone and merely rendered here, so that no two outputs can disagree.
//!
//! | file | what |
//! |---|---|
//! | `annotations` | what GitHub shows beside a job: a few annotations, the worst first |
//! | `asked` | what waits for a person's word: tasks and checkpoints, as every report lists them |
//! | `budget` | the budget in words: what was used of it, and what ended the work |
//! | `calibration` | `quorum.calibration/v1`: judges and panels held against people |
//! | `codes` | `quorum explain` for people |
//! | `dead_letters` | the dead-letter queue for people |
//! | `difference` | how a mission was changed: its text line by line, and what that means for the run |
//! | `doctor` | `quorum.doctor/v1`: whether this machine can run a mission |
//! | `edits` | which lines two texts have in common |
//! | `events` | `quorum events`: the journal under its public names (21) |
//! | `failure` | why a command could not do what it was asked, for people |
//! | `findings` | what was found, for every report alike: causes of failures, what accepted work carries (20) |
//! | `forewarning` | what is known before a run starts and would else be a surprise at its end |
//! | `gate` | `quorum gate` for people: a line for each gate |
//! | `history` | one task, attempt by attempt: what `show`, `logs` and `metrics` are made from |
//! | `html` | a run as one page for a browser: self-contained, without a network |
//! | `ids` | the ids that people type: of what waits for them, and of what they are told |
//! | `intake` | requests for work, for people and for programs (16) |
//! | `json` | `quorum.run/v1`: the document of `status --json` and `run --json` |
//! | `junit` | JUnit XML |
//! | `logs` | `quorum logs`: what stands between the outputs of turns |
//! | `markdown` | a run in Markdown, the worst first, for `$GITHUB_STEP_SUMMARY`, merge requests, mails |
//! | `metrics` | `quorum.metrics/v1`: how tasks, agents and the mission did (14) |
//! | `plan` | `quorum.plan/v1`: a mission as it would run |
//! | `progress` | a session while it runs |
//! | `rank` | what a task amounts to in a report: one ranking for JUnit, Markdown and annotations |
//! | `replay` | `quorum.replay/v1`: judgements derived again, held against what the journal says |
//! | `review` | the result of `quorum review` for people |
//! | `reviews` | `reviews` of a task in JSON: what each reviewer said, a person and a grader among them |
//! | `runs` | `quorum.runs/v1`: the runs of a state folder, the newest last |
//! | `settings` | `quorum config show` for people |
//! | `show` | `quorum.show/v1`: one task with all that is known about it |
//! | `stages` | the further stages for readers: who they are, what they said |
//! | `status` | `quorum status` for people: one row per task, then gates, what waits, and the outcome |
//! | `style` | colours, symbols and the screen they go to |
//! | `summary` | the final block of a session: always printed, also on failure and Ctrl-C |
//! | `testing` | scenes for tests: plans made by hand, events made by the engine |
//! | `text` | text on a terminal: what others wrote made harmless, cut to a width; times for people |
//! | `view` | the projection that documents are made from: what state does not keep |
//! | `waiting` | `quorum inbox` for people: a line for each, the id first |
//! | `words` | every word of a screen with its meaning, for `quorum explain` |

pub mod annotations;
pub mod calibration;
pub mod codes;
pub mod dead_letters;
pub mod difference;
pub mod doctor;
mod edits;
pub mod events;
pub mod failure;
mod findings;
pub mod forewarning;
pub mod gate;
pub mod history;
pub mod html;
pub mod ids;
pub mod intake;
pub mod json;
pub mod junit;
pub mod logs;
pub mod markdown;
pub mod metrics;
pub mod plan;
pub mod progress;
mod rank;
pub mod replay;
pub mod review;
mod reviews;
pub mod runs;
pub mod settings;
pub mod show;
mod stages;
pub mod status;
pub mod style;
pub mod summary;
mod text;
pub use text::{count, escape, escape_json, sanitize};
pub mod asked;
mod budget;
pub mod view;
pub mod waiting;
pub mod words;

#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod testing;
