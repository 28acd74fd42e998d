//! Who works on a run now: a session, or agents that outlived one.

use crate::{
    report::documents::RunState,
    runtime::Left,
    store::{Lock, RunFolder, StateFolder},
};
use rules::domain::TaskId;

/// Whether a live process writes to this very run.
pub fn has_writer(folder: &StateFolder, run: &RunFolder) -> bool {
    match Lock::holder(&folder.lock_path()) {
        Ok(Some(holder)) => holder.and_then(|holder| holder.run).as_ref() == Some(run.id()),
        Ok(None) | Err(_) => false,
    }
}

/// The tasks whose agents work on without a session.
pub fn at_work(left: &Left, standing: RunState) -> Vec<TaskId> {
    match standing {
        RunState::Crashed => left.at_work().iter().map(|turn| turn.task).collect(),
        // Those of a live session are its own, and an orderly end leaves none.
        _ => Vec::new(),
    }
}
