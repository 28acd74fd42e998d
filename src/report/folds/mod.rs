//! What the journal tells and state does not keep, folded for readers: documents are made from it.
//!
//! | file | what |
//! |---|---|
//! | `alerts` | what a pipeline is to show of a run, one alert for each thing that is wrong (20) |
//! | `findings` | what was found, for every report alike: causes of failures, what accepted work carries (20) |
//! | `further_stages` | the further stages for readers: who they are, what they said |
//! | `history` | one task, attempt by attempt: what `show`, `logs` and `metrics` are made from |
//! | `metrics` | how tasks, agents and the mission did, collected (14) |
//! | `rank` | what a task amounts to in a report: one ranking for JUnit, Markdown and annotations |
//! | `spans` | the spans of a run for OpenTelemetry (20) |
//! | `track_record` | how agents and judges did over all runs of a state folder (14) |
//! | `view` | the projection that documents are made from: what state does not keep |

pub mod alerts;
pub(super) mod findings;
pub(super) mod further_stages;
pub mod history;
pub mod metrics;
pub(super) mod rank;
pub mod spans;
pub mod track_record;
pub mod view;
