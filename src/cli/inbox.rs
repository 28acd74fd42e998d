//! `quorum inbox`: what waits for a person, and what operators should know of. `quorum approvals` and `quorum requests` are
//! its halves.

use clap::Args;

use crate::domain::RunId;
use crate::report::documents::{Halves, InboxDocument};

use super::failure::Failure;
use super::project::{find_run, open_run, state_folder};
use super::screen::{LiveView, Screen};

#[derive(Debug, Args)]
pub struct OfRun {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
}

/// Prints what is asked for of a run.
pub fn inbox(arguments: &OfRun, halves: Halves, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut view = LiveView::default();
    let state = open_run(&run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    let document = InboxDocument::of(run.id(), &state, &view, halves);
    if screen.is_json() {
        screen.document(&document);
    } else {
        screen.result(&document.human(&screen.out()));
    }
    Ok(0)
}
