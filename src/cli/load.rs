//! A mission for a run: where it is, its text checked, and the plan of what is selected of it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::runtime::{INCLUDED, layers_of};
use rules::{
    mission::{self, LONGEST_MISSION, Layers, Loaded, Report, Source},
    plan::{self, Plan, RunOptions},
};

use super::calibration;
use super::command_error::Failure;
use super::finish_gate::freeze;
use super::project::current_dir;
use super::report_place::open_stream;
use super::screen::Screen;

/// The mission that was named, or `mission.yaml` if it is there.
pub fn mission_file(named: Option<&Path>) -> Option<PathBuf> {
    let usual = PathBuf::from("mission.yaml");
    named.map(Path::to_owned).or_else(|| usual.is_file().then_some(usual))
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
    if mission.as_os_str() == "-" { None } else { std::path::absolute(mission).ok() }
}

/// Reads a mission file, or standard input if the path is `-`. Stops at the size limit, whatever the file is.
///
/// # Errors
/// When there is no such file, or it cannot be read.
pub fn read(path: &Path) -> Result<Source, Report> {
    let is_stdin = path.as_os_str() == "-";
    let name: Arc<str> = if is_stdin { "<stdin>".into() } else { path.to_string_lossy().into() };
    let mut bytes = Vec::new();
    let limit = LONGEST_MISSION + 1;
    let read = if is_stdin {
        io::stdin().lock().take(limit).read_to_end(&mut bytes)
    } else {
        open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
    };
    read.map_err(|error| Report::unreadable(&name, path, &error))?;
    Ok(Source { name, bytes })
}

/// A regular file: what never ends, or waits for somebody, is no mission.
fn open(path: &Path) -> io::Result<File> {
    let file = open_stream(File::options().read(true), path)?;
    match file.metadata()? {
        found if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        found if found.is_file() => Ok(file),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Loads a mission of `folder` over the files beneath it, with what lies in its workspace.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load_over(source: &Source, layers: &Layers, folder: &Path) -> Result<Loaded, Report> {
    let loaded = mission::load(source, layers)?;
    let included = folder.join(&*loaded.mission.workspace()).join(INCLUDED);
    if !included.is_file() {
        return Ok(loaded);
    }
    let filled_by = Some(INCLUDED);
    mission::load(source, &Layers { filled_by, ..layers.clone() })
}

/// Loads a mission for a run, and says what is to be noted of it.
pub fn load(source: &Source, options: &RunOptions, screen: &Screen) -> Result<Loaded, Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let loaded = load_over(source, &layers, &options.mission_folder).map_err(Failure::mission)?;
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
        return calibration::applies(plan::compile(loaded.mission, options));
    }
    let whole = plan::compile(loaded.mission.clone(), options);
    options.only = plan::named_tasks(&whole, only).map_err(|unknown| {
        // `--only` takes all words up to the next flag.
        let help = if Path::new(&unknown.title).is_file() {
            "write the mission before the flag: `quorum run MISSION --only TASK`".to_owned()
        } else {
            unknown.help.clone()
        };
        Failure::usage(unknown).help(help)
    })?;
    calibration::applies(plan::compile(loaded.mission, options))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_refused_by_its_kind() {
        for (path, code) in [("no/such/file.yaml", "Q0101"), ("src", "Q0102"), ("Cargo.toml/x", "Q0103")] {
            let report = read(Path::new(path)).unwrap_err();
            assert_eq!(report.diagnostics[0].code.as_str(), code);
        }
    }
}
