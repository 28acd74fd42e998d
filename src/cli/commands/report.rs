//! `quorum report`: the reports of a run, written again from its journal.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::{
    cli::{
        args::{JsonFlag, OfRun},
        command_error::Failure,
        project::{open_run, run_of},
        report_kind::{ReportKind, ReportTarget},
        reports::{Reports, exit_code},
        screen::{LiveView, Screen},
        writer::has_writer,
    },
    report::{
        documents::{RunDocument, RunState},
        formats::markdown::markdown,
    },
};

/// Without a file the report goes to stdout: Markdown, or the run's document with `--format json`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    #[command(flatten)]
    pub of: OfRun,
    #[arg(
        long,
        value_name = "KIND=PATH",
        help = format!("Write a report (repeatable): {}; `-` is stdout", ReportKind::names())
    )]
    pub to: Vec<ReportTarget>,
    /// Write JUnit XML to this file (repeatable; `-` is stdout)
    #[arg(long, value_name = "FILE", hide = true)]
    pub junit: Vec<PathBuf>,
    /// Write Markdown to this file (repeatable; `-` is stdout)
    #[arg(long, value_name = "FILE", hide = true)]
    pub markdown: Vec<PathBuf>,
    /// Write a page that browsers show without a network to this file (repeatable; `-` is stdout)
    #[arg(long, value_name = "FILE", hide = true)]
    pub html: Vec<PathBuf>,
    /// Write the run's document to this file [default: stdout]
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        help_heading = "Global options",
        default_missing_value = "-",
        value_parser = PathBufValueParser::new().map(JsonFlag::File)
    )]
    pub json: Vec<JsonFlag>,
}

impl ReportArgs {
    fn targets(&self) -> Vec<ReportTarget> {
        let json = self.json.iter().filter_map(|json| match json {
            JsonFlag::File(path) => Some(path.clone()),
            // The global flag's variable, which concerns stdout.
            JsonFlag::Document | JsonFlag::Unsaid => None,
        });
        let kinds = [
            (ReportKind::Junit, self.junit.clone()),
            (ReportKind::Markdown, self.markdown.clone()),
            (ReportKind::Html, self.html.clone()),
            (ReportKind::Json, json.collect()),
        ];
        let of_kind = |(kind, paths): (ReportKind, Vec<PathBuf>)| {
            paths.into_iter().map(move |path| ReportTarget { kind, path })
        };
        let named = self.to.iter().cloned();
        named.chain(kinds.into_iter().flat_map(of_kind)).collect()
    }
}

pub fn report(arguments: &ReportArgs, screen: &Screen) -> Result<u8, Failure> {
    let targets = arguments.targets();
    if screen.is_json() && targets.iter().any(ReportTarget::is_stdout) {
        return Err(usage!("stdout holds one thing: a report, or the run's document")
            .help("leave out --format json, or name a file for the report"));
    }
    let reports = Reports::to(&targets)?;
    let (folder, run) = run_of(&arguments.of, screen)?;
    let mut view = LiveView::default();
    let recovered = open_run(&run, |state, record| view.take(state, record))?;
    reports.check_against(&recovered, &folder)?;
    let view = view.into_view(&recovered.state);
    let (state, outcome) = (&recovered.state, view.outcome.as_ref());
    let standing = RunState::of(state, has_writer(&folder, &run));
    let document = RunDocument::of(state, &view, standing, outcome);
    let reported = reports.write(&run, &document, screen);
    if screen.is_json() {
        let bytes = document.to_bytes().map_err(Failure::internal)?;
        screen.result(&String::from_utf8_lossy(&bytes));
    } else if targets.is_empty() {
        screen.drawn(markdown(&document, usize::MAX));
    }
    Ok(exit_code(0, reported))
}
