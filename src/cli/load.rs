//! A mission for a run: where it is, its text checked, and the plan of what is selected of it.

use std::path::{Path, PathBuf};

use crate::mission::{self, Loaded, Plan, RunOptions, Source};
use crate::runtime::layers_of;

use super::calibration;
use super::failure::Failure;
use super::finish_gate::freeze;
use super::project::current_dir;
use super::screen::Screen;

/// The mission that was named, or `mission.yaml` if it is there.
pub fn mission_file(named: Option<&Path>) -> Option<PathBuf> {
    let usual = PathBuf::from("mission.yaml");
    named
        .map(Path::to_owned)
        .or_else(|| usual.is_file().then_some(usual))
}

/// Where a mission's relative paths begin: beside its file; the current folder for standard input.
pub fn mission_folder(mission: &Path) -> Result<PathBuf, Failure> {
    match absolute(mission).as_deref().and_then(Path::parent) {
        Some(folder) => Ok(folder.to_owned()),
        None => current_dir(),
    }
}

/// The absolute path of a mission file; `None` for standard input.
pub fn absolute(mission: &Path) -> Option<PathBuf> {
    if mission.as_os_str() == "-" {
        None
    } else {
        std::path::absolute(mission).ok()
    }
}

/// Loads a mission for a run, and says what is to be noted of it.
pub fn load(source: &Source, options: &RunOptions, screen: &Screen) -> Result<Loaded, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let loaded = mission::load(source, &layers).map_err(Failure::mission)?;
    if !loaded.notes.diagnostics.is_empty() && !screen.is_json() {
        screen.error(&loaded.notes.render(screen.diagnostics()));
    }
    Ok(loaded)
}

/// The plan of what `--only` selects, with its titles in the options; of all tasks without it.
pub fn selected_plan(loaded: Loaded, options: &mut RunOptions, only: &[String]) -> Result<Plan, Failure> {
    freeze(&loaded.mission, options)?;
    calibration::freeze(&loaded.mission, options)?;
    if only.is_empty() {
        return calibration::applies(mission::compile(loaded.mission, options));
    }
    let whole = mission::compile(loaded.mission.clone(), options);
    options.only = mission::named_tasks(&whole, only).map_err(|unknown| {
        // `--only` takes all words up to the next flag.
        let help = if Path::new(&unknown.title).is_file() {
            "write the mission before the flag: `quorum run MISSION --only TASK`".to_owned()
        } else {
            unknown.help.clone()
        };
        Failure::usage(unknown).help(help)
    })?;
    calibration::applies(mission::compile(loaded.mission, options))
}
