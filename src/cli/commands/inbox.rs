//! `quorum inbox`: what waits for a person, and what operators should know of. `quorum approvals` and `quorum requests` are
//! its halves.

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        project::{open_run, run_of},
        screen::{LiveView, Screen},
    },
    report::documents::{Halves, InboxDocument},
};

/// Prints what is asked for of a run.
pub fn inbox(arguments: &OfRun, halves: Halves, screen: &Screen) -> Result<u8, Failure> {
    let (_, run) = run_of(arguments, screen)?;
    let mut view = LiveView::default();
    let state = open_run(&run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    screen.show(&InboxDocument::of(run.id(), &state, &view, halves));
    Ok(0)
}
