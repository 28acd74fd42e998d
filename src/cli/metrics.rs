//! `quorum metrics`: how tasks, agents and the mission of a run did.

use clap::Args;

use crate::domain::RunId;
use crate::report::documents::metrics::human;
use crate::report::metrics::Metrics as Collected;

use super::failure::Failure;
use super::project::{find_run, open_run, state_folder};
use super::screen::Screen;

#[derive(Debug, Args)]
pub struct Metrics {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
}

pub fn metrics(arguments: &Metrics, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut metrics = Collected::default();
    let recovered = open_run(&run, |state, record| {
        for event in &record.events {
            metrics.apply(&state.plan, event);
        }
    })?;
    let document = metrics.document(&recovered.state.plan, run.id());
    if screen.is_json() {
        screen.document(&document);
    } else {
        screen.result(&human(&document, &screen.out()));
    }
    Ok(0)
}
