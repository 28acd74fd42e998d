//! `quorum.runs/v1`: the runs of a state folder, the newest last.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rules::{
    domain::{OutcomeClass, RunId, Timestamp},
    engine::State,
};

use super::{Counts, RunState, fields};
use crate::report::folds::view::RunView;

/// One run of a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRow {
    /// The id of the run.
    pub run_id: RunId,
    /// The name of the mission; `null` if it cannot be read.
    pub mission: Option<String>,
    /// The state of the run, or `unreadable`.
    pub state: Cow<'static, str>,
    /// Whether all that is not done in it was called off.
    pub cancelled: bool,
    /// Whether the run can be resumed.
    pub resumable: bool,
    /// The outcome of the last session.
    #[schemars(with = "Option<fields::OutcomeShape>")]
    pub outcome: Option<Cow<'static, str>>,
    /// The exit code of that outcome.
    pub exit_code: Option<u8>,
    /// The tasks of the run, counted by state.
    pub counts: Option<Counts>,
    /// The start of the run.
    pub started_at: Option<String>,
    /// The end of the last session.
    pub finished_at: Option<String>,
    /// The time that the sessions worked, in milliseconds.
    pub duration_ms: Option<u64>,
    /// The path of the run's folder.
    pub path: PathBuf,
    /// The origin of the run by this machine's key: `verified`, `unknown` or `forged`.
    pub origin: Cow<'static, str>,
    /// Why the run cannot be read.
    pub error: Option<String>,
    /// Whether agents of it outlived its last session and are still at work.
    pub agents_at_work: bool,
}

/// The runs of a state folder: `quorum runs`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.runs/v1")]
pub struct RunsDocument<'a> {
    /// The runs, the newest last.
    pub runs: &'a [RunRow],
    /// How many runs were left out.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    pub skipped: usize,
}

/// Runs that `quorum clean` left, though they were meant: nobody can read them, or their agents are still at work.
#[derive(Serialize)]
pub struct LeftRuns<'a> {
    /// The runs that were kept.
    pub kept: &'a [&'a RunRow],
}

impl RunRow {
    /// A run that was folded.
    pub fn of(
        run: RunId,
        (path, origin): (PathBuf, &'static str),
        state: &State,
        view: &RunView,
        standing: RunState,
    ) -> Self {
        let outcome = view.outcome.as_ref().map(|outcome| outcome.class);
        Self {
            run_id: run,
            mission: Some(state.plan.name.clone()),
            state: standing.as_str().into(),
            resumable: state.is_resumable(),
            outcome: outcome.map(|outcome| outcome.as_str().into()),
            exit_code: outcome.map(OutcomeClass::exit_code),
            counts: Some(Counts::of(state, view)),
            cancelled: state.is_cancelled(),
            started_at: view.started_at.map(Timestamp::to_rfc3339),
            finished_at: view.finished_at.map(Timestamp::to_rfc3339),
            duration_ms: view.worked_for().map(|worked| worked.0),
            path,
            origin: origin.into(),
            error: None,
            agents_at_work: !view.at_work.is_empty(),
        }
    }

    /// A run whose snapshot tells this, as it is now: where it lies and what vouches for it, where it stands, and what its
    /// last session ended with.
    #[must_use]
    pub fn seen(
        self,
        (path, origin): (PathBuf, &'static str),
        standing: RunState,
        outcome: OutcomeClass,
    ) -> Self {
        Self {
            state: standing.as_str().into(),
            outcome: Some(outcome.as_str().into()),
            exit_code: Some(outcome.exit_code()),
            path,
            origin: origin.into(),
            ..self
        }
    }

    /// A run that cannot be folded: it must not hide the others.
    pub fn unreadable(run: RunId, (path, origin): (PathBuf, &'static str), error: String) -> Self {
        Self {
            run_id: run,
            mission: None,
            state: "unreadable".into(),
            resumable: false,
            outcome: None,
            exit_code: None,
            counts: None,
            cancelled: false,
            started_at: None,
            finished_at: None,
            duration_ms: None,
            path,
            origin: origin.into(),
            error: Some(error),
            agents_at_work: false,
        }
    }

    /// The run in a few words: `20261121-215900-001 (ended, ok)`.
    pub fn brief(&self) -> String {
        let outcome = self.outcome.as_deref().unwrap_or("no outcome");
        format!("{} ({}, {outcome})", self.run_id, self.state)
    }
}
