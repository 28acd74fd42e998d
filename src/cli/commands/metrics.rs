//! `quorum metrics`: how tasks, agents and the mission of a run did.

use clap::Args;

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        project::{open_run, run_of},
        screen::Screen,
    },
    report::folds::metrics::Metrics as Collected,
};

#[derive(Debug, Args)]
pub struct MetricsArgs {
    #[command(flatten)]
    pub of: OfRun,
}

pub fn metrics(arguments: &MetricsArgs, screen: &Screen) -> Result<u8, Failure> {
    let (_, run) = run_of(&arguments.of, screen)?;
    let mut metrics = Collected::default();
    let recovered = open_run(&run, |state, record| {
        for event in &record.events {
            metrics.apply(&state.plan, event);
        }
    })?;
    screen.show(&metrics.document(&recovered.state.plan, run.id()));
    Ok(0)
}
