//! `quorum validate`: everything that is wrong with mission files, without a network and without starting anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{ArgMatches, Args};

use crate::{
    cli::{
        args::ReviewFlags,
        calibration,
        command_error::Failure,
        finish_gate::freeze,
        load::{self, load_over, mission_folder},
        options::{apply_review_flags, options_with_config},
        screen::Screen,
    },
    report::{
        documents::commands::{ProtectedFile, ValidateDocument, ValidatedFile},
        screens::forewarning::{forewarnings, loosened, unjudged},
    },
    runtime::{ReadBefore, files_nobody_makes, lacking_bash, layers_of, listed, named_scripts, not_hidden},
};
use rules::{
    engine::{State, judging_agents},
    judging::protected::named_by_judging,
    mission::{self, Report, first_line},
    plan::{self, RunOptions},
};

#[derive(Debug, Args)]
pub struct Validate {
    /// Mission files; `-` is standard input
    #[arg(value_name = "MISSION", default_value = "mission.yaml")]
    pub missions: Vec<PathBuf>,
    #[command(flatten)]
    pub reviews: ReviewFlags,
}

pub fn validate(arguments: &Validate, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    let mut options = options_with_config()?;
    apply_review_flags(&mut options, &arguments.reviews, matches)?;
    let layers = layers_of(&options).map_err(Failure::mission)?;
    let mut seen = Vec::new();
    for path in &arguments.missions {
        let (mut protected, mut calls) = (Vec::new(), None);
        options.mission_folder = mission_folder(path)?;
        let loaded = load::read(path).and_then(|source| {
            load_over(&source, &layers, &options.mission_folder).map(|loaded| (source, loaded))
        });
        let (mut warnings, mut tasks) = (Vec::new(), 0);
        let report = match loaded {
            Ok((source, mut loaded)) => {
                options.test_lists.clear();
                freeze(&loaded.mission, &mut options)?;
                calibration::freeze(&loaded.mission, &mut options)?;
                tasks = loaded.mission.tasks.len();
                let plan = calibration::applies(plan::compile(loaded.mission, &options))?;
                let state = State::new(Arc::new(plan));
                let missing = mission::warn_of_missing_files(&source, files_nobody_makes(&state.plan));
                loaded.notes.diagnostics.extend(missing);
                protected = protected_files(&state, &options, path);
                calls = unseen(&state);
                warnings = warned(&state, &options);
                loaded.notes
            }
            Err(report) => report,
        };
        show(screen, &report);
        for warning in &warnings {
            screen.aside(&format!("warning: {warning}"));
        }
        let file = SeenFile { path, report, protected, calls, warnings, tasks };
        screen.page(&file.row());
        seen.push(file);
    }
    let files: Vec<ValidatedFile<'_>> = seen.iter().map(SeenFile::row).collect();
    let valid = files.iter().all(|file| file.valid);
    if screen.is_json() {
        screen.document(&ValidateDocument { valid, files });
    }
    Ok(if valid { 0 } else { 2 })
}

/// Warnings about a right mission before it runs. Blocks.
fn warned(state: &State, options: &RunOptions) -> Vec<String> {
    let mut warnings = loosened(state);
    warnings.extend(forewarnings(state));
    warnings.extend(unjudged(state));
    warnings.extend(not_hidden(state, options, false));
    warnings.extend(listed(state, options, &ReadBefore::default()).1);
    warnings.extend(lacking_bash(&state.plan).map(|problem| problem.to_string()));
    warnings
}

/// The files that are protected because commands name them, and that agents could reach.
fn protected_files(state: &State, options: &RunOptions, path: &Path) -> Vec<ProtectedFile> {
    let folder = std::fs::canonicalize(&options.mission_folder).unwrap_or_default();
    let shown = |path: &Path| path.strip_prefix(&folder).unwrap_or(path).display().to_string();
    let scripts = named_scripts(state, options).into_iter();
    let is_mission = |file: &Path| std::fs::canonicalize(path).is_ok_and(|mission| mission == file);
    scripts
        .filter(|(file, _)| !is_mission(file))
        .map(|(file, command)| ProtectedFile { path: shown(&file), command })
        .collect()
}

/// A command that judges by what other files say: which ones, nobody can tell from its words.
fn unseen(state: &State) -> Option<String> {
    let commands =
        named_by_judging(&state.plan, state.plan.selected_ids(), &judging_agents(state)).paths.into_values();
    let calls = |command: &String| {
        let mut words = command.split_whitespace();
        words.any(|word| ["make", "npm", "npx", "yarn", "pnpm", "just"].contains(&word))
    };
    let found = commands.filter(calls).min()?;
    Some(first_line(&found).to_owned())
}

/// A mission file that was read.
struct SeenFile<'a> {
    path: &'a Path,
    report: Report,
    protected: Vec<ProtectedFile>,
    calls: Option<String>,
    warnings: Vec<String>,
    tasks: usize,
}

impl SeenFile<'_> {
    fn row(&self) -> ValidatedFile<'_> {
        ValidatedFile {
            file: self.path.display().to_string(),
            valid: !self.report.has_errors(),
            diagnostics: self.report.rows(),
            more: self.report.more,
            protected: &self.protected,
            warnings: &self.warnings,
            tasks: self.tasks,
            unseen: self.calls.as_deref(),
        }
    }
}

fn show(screen: &Screen, report: &Report) {
    if !report.diagnostics.is_empty() && !screen.is_json() {
        screen.error(&report.render(screen.diagnostics()));
    }
}
