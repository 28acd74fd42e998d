//! Which runs are unfinished, and which of them are in the way of a new one (semantics, section 5).

use std::collections::HashSet;

use crate::store::{OperatorKey, RunFolder, Snapshot, StateFolder};
use rules::domain::RunId;
use rules::plan::Plan;

use super::origin::operator_key;
use super::recover::{RecoverError, recover};

/// An unfinished run that has a title in common with a new mission.
#[derive(Debug)]
pub struct Unfinished {
    /// The folder of the run.
    pub run: RunFolder,
    /// The first title in common.
    pub title: String,
}

impl Unfinished {
    /// The id of the run.
    pub fn id(&self) -> &RunId {
        self.run.id()
    }
}

/// Finds the unfinished runs of a folder that have a not yet terminal task with a title of `plan`.
///
/// # Errors
/// When a run cannot be read: it might be in the way, so it must not be passed over.
pub fn unfinished_runs(folder: &StateFolder, plan: &Plan) -> Result<Vec<Unfinished>, RecoverError> {
    let selected = plan.selected_ids();
    let titles = selected.map(|id| plan.title(id)).collect();
    unfinished_with(folder, &titles)
}

/// Finds the unfinished runs of a folder that have a not yet ended task with one of `titles`.
///
/// # Errors
///
/// When a run cannot be read.
pub fn unfinished_with(
    folder: &StateFolder,
    titles: &HashSet<&str>,
) -> Result<Vec<Unfinished>, RecoverError> {
    let runs =
        folder.runs().map_err(|source| RecoverError::Runs { path: folder.path().to_owned(), source })?;
    let key = operator_key();
    let mut found = Vec::new();
    for run in runs {
        let active = active_titles(&run, key.as_ref())?.unwrap_or_default();
        let title = active.into_iter().find(|title| titles.contains(title.as_str()));
        found.extend(title.map(|title| Unfinished { run, title }));
    }
    Ok(found)
}

/// The titles of a run's tasks that are not terminal; `None` if it is finished or never began. A snapshot that fits the
/// journal spares the folding.
fn active_titles(run: &RunFolder, key: Option<&OperatorKey>) -> Result<Option<Vec<String>>, RecoverError> {
    if !run.foreign_write().exists()
        && let Some(snapshot) = Snapshot::read(run, key)
        && snapshot.front.outcome.is_some()
    {
        let active = snapshot.rows.map(|rows| {
            let active = rows.into_iter().filter(|(_, status, ..)| !status.is_terminal());
            active.map(|(title, ..)| title).collect()
        });
        return Ok(active.filter(|_| snapshot.unfinished));
    }
    let state = match recover(run, |_, _| {}) {
        Ok(recovered) => recovered.state,
        // A crash between making the folder and the first record: nothing ever ran.
        Err(RecoverError::NeverStarted { .. }) => return Ok(None),
        // It can never be resumed, so nothing of it is in the way.
        Err(RecoverError::Foreign { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let selected = state.plan.selected_ids();
    let open = selected.filter(|id| state.takes(*id) && !state.task(*id).status().is_terminal());
    Ok(state.is_unfinished().then(|| open.map(|id| state.plan.title(id).to_owned()).collect()))
}
