//! `quorum.runs/v1`: the runs of a state folder, the newest last.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use rules::{
    domain::{Millis, OutcomeClass, RunId, Timestamp},
    engine::State,
};

use super::{Counts, RunState, fields};
use crate::report::{
    folds::view::RunView,
    screens::{
        style::{Role, TextLayout},
        text::{columns, count, elapsed, sanitize},
    },
};

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
pub(super) struct RunsDocument<'a> {
    /// The runs, the newest last.
    runs: &'a [RunRow],
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

    /// One line of words: state, outcome, how much is done, which mission.
    fn cells(&self, nothing: &str) -> [String; 7] {
        let done = self.counts.as_ref().map_or_else(
            || nothing.to_owned(),
            |counts| match counts.not_taken {
                0 => format!("{}/{}", counts.done, counts.total),
                left_out => format!(
                    "{}/{} of {}",
                    counts.done,
                    counts.total - left_out as usize,
                    counts.total
                ),
            },
        );
        // Minutes are enough for people, and so are days without their year: a table must fit into 80 columns.
        let when = self
            .started_at
            .as_deref()
            .map_or(nothing, |at| at.get(5..16).unwrap_or(at));
        [
            self.run_id.to_string(),
            self.state.to_string(),
            self.outcome.as_deref().unwrap_or(nothing).to_owned(),
            done,
            when.replace('T', " "),
            self.duration_ms
                .map_or_else(|| nothing.to_owned(), |spent| elapsed(Millis(spent))),
            sanitize(
                self.mission
                    .as_deref()
                    .or(self.error.as_deref())
                    .unwrap_or_default(),
            )
            .into_owned(),
        ]
    }
}

/// Makes the document of `quorum runs`.
pub fn document(runs: &[RunRow]) -> impl Serialize {
    RunsDocument { runs }
}

/// The list for people, of which so many were left out, with a line feed at its end.
pub fn human(runs: &[RunRow], skipped: usize, screen: &TextLayout) -> String {
    if runs.is_empty() {
        return match skipped {
            0 => "there are no runs\n".to_owned(),
            _ => format!("{} not shown\n", count(skipped, "run")),
        };
    }
    let heads = [
        "RUN",
        "STATE",
        "OUTCOME",
        "DONE",
        "STARTED (UTC)",
        "TIME",
        "MISSION",
    ]
    .map(str::to_owned);
    let nothing = screen.style.symbols().nothing;
    let rows: Vec<[String; 7]> = std::iter::once(heads)
        .chain(runs.iter().map(|run| run.cells(nothing)))
        .collect();
    let mut text = String::new();
    for (number, line) in columns(&rows).iter().enumerate() {
        let line = screen.fit(line, 0);
        let _ = match number {
            0 => writeln!(text, "{}", screen.style.paint(Role::Dim, line)),
            _ => writeln!(text, "{line}"),
        };
    }
    // Of what cannot be read at all there is nothing to vouch for.
    let unvouched = runs
        .iter()
        .filter(|run| run.origin != "verified" && run.error.is_none());
    let unvouched: Vec<&str> = unvouched.map(|run| run.run_id.as_str()).collect();
    if !unvouched.is_empty() {
        let words = format!("origin not verified: {}\n", unvouched.join(", "));
        text.push_str(&screen.wrap(&words));
    }
    text
}

/// The result of `quorum clean` in words, with a line feed at its end.
pub fn cleaned(removed: &[&RunRow], kept: &[&RunRow]) -> String {
    let lines: String = removed
        .iter()
        .map(|row| format!("removed {}\n", row.brief()))
        .collect();
    format!("{lines}{} removed, {} kept\n", removed.len(), kept.len())
}

/// Why `quorum clean` left runs that nobody can read, or whose agents are still at work; nothing where there are none.
pub fn left(kept: &[&RunRow], screen: &TextLayout) -> String {
    let line = |row: &&RunRow| {
        let id = &row.run_id;
        let why = match row.error.as_deref() {
            Some(error) => sanitize(error).into_owned(),
            None if row.agents_at_work => format!(
                "agents of it are still at work; `quorum resume {id}` takes them over, `quorum cancel {id}` ends them"
            ),
            None => return None,
        };
        Some(format!("note: {id} was left: {why}\n"))
    };
    let text: String = kept.iter().filter_map(line).collect();
    screen.wrap(&text)
}
