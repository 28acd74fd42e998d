//! `quorum runs`: the runs of the state folder.

use clap::Args;

use crate::{
    cli::{
        command_error::Failure,
        listing::row,
        project::{all_runs, state_folder},
        screen::Screen,
    },
    report::documents::runs::{RunRow, RunsDocument},
};

#[derive(Debug, Args)]
pub struct Runs {
    /// Only the last N
    #[arg(short = 'n', long, value_name = "N")]
    pub last: Option<usize>,
}

pub fn runs(arguments: &Runs, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let runs = all_runs(&folder)?;
    let skipped = arguments.last.map_or(0, |last| runs.len().saturating_sub(last));
    let rows: Vec<RunRow> = runs.into_iter().skip(skipped).map(|run| row(&folder, run)).collect();
    let runs = &rows;
    screen.show(&RunsDocument { runs, skipped });
    Ok(0)
}
