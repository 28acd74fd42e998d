//! `quorum report`: the reports of a run, written again from its journal.

use std::path::PathBuf;

use clap::Args;

use crate::domain::RunId;
use crate::report::json::{Standing, write_run};
use crate::report::markdown::markdown;

use super::failure::Failure;
use super::project::{find_run, open_run, state_folder};
use super::reports::{ReportKind, ReportTarget, Reports, exit_code};
use super::screen::{LiveView, Screen};
use super::status::has_writer;

/// Without a file the report goes to stdout: Markdown, or the run's document with `--json`.
#[derive(Debug, Args)]
pub struct Report {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Write JUnit XML to this file
    #[arg(long, value_name = "FILE", env = "QUORUM_JUNIT")]
    pub junit: Option<PathBuf>,
    /// Write Markdown to this file
    #[arg(long, value_name = "FILE", env = "QUORUM_MARKDOWN")]
    pub markdown: Option<PathBuf>,
    /// Write a report of any kind (repeatable): junit, markdown, json
    #[arg(
        long = "report",
        value_name = "KIND=PATH",
        env = "QUORUM_REPORT",
        value_delimiter = ','
    )]
    pub reports: Vec<ReportTarget>,
}

impl Report {
    fn targets(&self) -> Vec<ReportTarget> {
        let named = |kind, path: &Option<PathBuf>| path.clone().map(|path| ReportTarget { kind, path });
        let mut targets = self.reports.clone();
        targets.extend(named(ReportKind::Junit, &self.junit));
        targets.extend(named(ReportKind::Markdown, &self.markdown));
        targets
    }
}

pub fn report(arguments: &Report, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut view = LiveView::default();
    let recovered = open_run(&run, |state, record| view.take(state, record))?;
    let view = view.into_view(&recovered.state);
    let (state, outcome) = (&recovered.state, view.outcome.as_ref());
    let targets = arguments.targets();
    let reported = Reports::to_files(&targets)?.write(state, &view, outcome, screen);
    if screen.is_json() {
        let mut bytes = Vec::new();
        write_run(
            &mut bytes,
            state,
            &view,
            Standing::of(state, has_writer(&folder, &run)),
        )
        .map_err(Failure::internal)?;
        screen.result(&String::from_utf8_lossy(&bytes));
    } else if targets.is_empty() {
        screen.result(&markdown(state, &view, outcome, usize::MAX));
    }
    Ok(exit_code(0, reported))
}
