//! The kinds of reports: their names, where one goes, and what each is made of.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use clap::ValueEnum;
use serde_json::Value;

use crate::report::{
    documents::RunDocument,
    folds::{alerts::alerts, history::Histories},
    formats::{
        code_quality::code_quality,
        html::{PageInput, ShownState, histories, html},
        junit::junit,
        markdown::markdown,
        sarif::sarif,
    },
};
use crate::{
    runtime::{VerifiedFiles, recover},
    store::{RunFolder, SpoolName},
};

use super::file_view::file_view;

/// `--report KIND=PATH`
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTarget {
    pub kind: ReportKind,
    pub path: PathBuf,
}

/// `--report KIND=PATH,KIND=PATH`: several in one value, as one variable holds them. A comma in a path is a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportTargets(pub Vec<ReportTarget>);

impl FromStr for ReportTargets {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let begins_target = |rest: &str| {
            let kind = rest.split('=').next().unwrap_or_default();
            rest.len() > kind.len() && !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_alphabetic())
        };
        let mut targets = Vec::new();
        let mut from = 0;
        for (at, _) in text.match_indices(',').filter(|(at, _)| begins_target(&text[at + 1..])) {
            targets.push(text[from..at].parse()?);
            from = at + 1;
        }
        targets.push(text[from..].parse()?);
        Ok(Self(targets))
    }
}

worded! {
    /// A kind of report on a run.
    #[derive(ValueEnum)]
    pub enum ReportKind {
        Junit = "junit",
        Markdown = "markdown",
        Html = "html",
        Json = "json",
        Sarif = "sarif",
        CodeQuality = "codequality",
    }
}

impl ReportKind {
    /// All kinds as they are typed, for people.
    pub fn names() -> String {
        let names: Vec<&str> = Self::value_variants().iter().map(|kind| kind.as_str()).collect();
        names.join(", ")
    }

    /// The report of a run.
    ///
    /// # Errors
    /// Where the journal cannot be read again, or the format refuses what it holds.
    pub fn render(self, folder: &RunFolder, run: &RunDocument<'_>) -> io::Result<Vec<u8>> {
        match self {
            Self::Html => page(folder, run, histories(run), None, |told| html(&told)).map(String::into_bytes),
            Self::Junit => Ok(junit(run).map_err(io::Error::other)?.into_bytes()),
            Self::Markdown => markdown(run, usize::MAX).map(String::into_bytes).map_err(io::Error::other),
            Self::Json => run.to_bytes(),
            Self::Sarif => document(&sarif(run, &alerts(run, &is_there(run)))),
            Self::CodeQuality => document(&code_quality(&alerts(run, &is_there(run)))),
        }
    }
}

fn document(value: &Value) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(value)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Whether a file of the workspace is there, which says what reads like the name of one.
pub fn is_there(run: &RunDocument<'_>) -> impl Fn(&Path) -> bool {
    let workspace = run.workspace().to_owned();
    move |path| workspace.join(path).is_file()
}

impl ReportTarget {
    /// Whether `-` stands for its path.
    pub fn is_stdout(&self) -> bool {
        self.path.as_os_str() == "-"
    }
}

impl FromStr for ReportTarget {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wrong = || anyhow!("'{text}' is not KIND=PATH; the kinds are: {}", ReportKind::names());
        let (kind, path) = text.split_once('=').ok_or_else(wrong)?;
        let kinds = ReportKind::value_variants();
        let kind = kinds.iter().copied().find(|known| known.as_str() == kind);
        let kind = kind.ok_or_else(wrong)?;
        if path.is_empty() {
            return Err(wrong());
        }
        Ok(Self { kind, path: PathBuf::from(path) })
    }
}

/// A page of HTML with stories of tasks. What was said in every attempt is in the journal only, so it is read once more.
///
/// # Errors
/// Where that cannot be done, or the page not be drawn.
pub fn page(
    folder: &RunFolder,
    run: &RunDocument<'_>,
    mut histories: Histories,
    shown: Option<ShownState>,
    draw: impl FnOnce(PageInput<'_>) -> Result<String, minijinja::Error>,
) -> io::Result<String> {
    let mut vouched = VerifiedFiles::default();
    recover(folder, |_, record| {
        record.events.iter().for_each(|event| vouched.take(folder, event));
        histories.take(record.seq, record.at, &record.events)
    })
    .map_err(io::Error::other)?;
    // What workers wrote is quoted; what they were told is in the mission, and replies are shown as they were read.
    let quoted = |name: &SpoolName| {
        let by_worker = matches!(name, SpoolName::Out(_) | SpoolName::Err(_) | SpoolName::Result(_));
        by_worker.then(|| file_view(folder, name, &vouched)).flatten()
    };
    draw(PageInput { run, histories: &histories, files: &quoted, shown }).map_err(io::Error::other)
}
