//! A run as a row of a list.

use serde_json::from_value;

use crate::{
    report::documents::{RunState, runs::RunRow},
    runtime::{Left, RecoverError, operator_key, origin, recover, summary_of_snapshot, vouched},
    store::{RunFolder, StateFolder},
};
use rules::domain::Timestamp;

use super::screen::{FirstPage, LiveView};
use super::writer::{at_work, has_writer};

/// A run and what a list, or the decision to remove it, needs of it.
pub struct Listed {
    pub folder: RunFolder,
    pub row: RunRow,
    /// The moment of the last event of the run.
    pub last_at: Option<Timestamp>,
    /// The processes that the last session may have left running.
    pub left: Left,
    /// Whether nothing ever ran in the run.
    pub never_started: bool,
}

/// One run. A large one whose last session has ended is not folded: its snapshot tells.
pub fn row(folder: &StateFolder, run: RunFolder) -> RunRow {
    // Before the look at the journal: who writes to it then may end while it is read.
    let live = has_writer(folder, &run);
    let vouched = vouched(&run, operator_key().as_ref());
    let told = summary_of_snapshot(&run, vouched).filter(|told| told.tail.is_none() && !live);
    let page = told.and_then(|told| Some((from_value::<FirstPage>(told.page).ok()?, told.outcome?)));
    let Some((page, outcome)) = page else {
        return list(folder, run).row;
    };
    let place = (run.path().to_owned(), vouched.origin.as_str());
    page.row.seen(place, page.status.run_state(live), outcome)
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
