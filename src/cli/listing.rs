//! A run as a row of a list.

use crate::domain::Timestamp;
use crate::report::documents::RunState;
use crate::report::documents::runs::RunRow;
use crate::runtime::{Left, RecoverError, operator_key, origin, recover};
use crate::store::{RunFolder, StateFolder};

use super::screen::LiveView;
use super::writer::{at_work, has_writer};

/// A run and what a list, or the decision to remove it, needs of it.
pub struct Listed {
    pub folder: RunFolder,
    pub row: RunRow,
    /// When anything last happened in it.
    pub last_at: Option<Timestamp>,
    /// What its last session may have left running.
    pub left: Left,
    /// Whether nothing ever ran in it.
    pub never_started: bool,
}

/// Folds one run. What cannot be read is listed as such: it must not hide the others.
pub fn list(folder: &StateFolder, run: RunFolder) -> Listed {
    let mut view = LiveView::default();
    let mut last_at = None;
    let recovered = recover(&run, |state, record| {
        view.take(state, record);
        last_at = Some(record.at);
    });
    let origin = origin(&run, operator_key().as_ref()).as_str();
    let (id, path) = (run.id().clone(), (run.path().to_owned(), origin));
    match recovered {
        Ok(recovered) => {
            let mut view = view.into_view(&recovered.state);
            let standing = RunState::of(&recovered.state, has_writer(folder, &run));
            view.at_work = at_work(&recovered.left(), standing);
            Listed {
                row: RunRow::of(id, path, &recovered.state, &view, standing),
                folder: run,
                last_at,
                left: recovered.left(),
                never_started: false,
            }
        }
        Err(error) => Listed {
            row: RunRow::unreadable(id, path, error.to_string()),
            folder: run,
            last_at: None,
            left: Left::default(),
            never_started: matches!(error, RecoverError::NeverStarted { .. }),
        },
    }
}
