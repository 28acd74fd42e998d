//! Where things are: the project's `quorum.yaml`, the user's, the state folder, the runs in it.

use anyhow::anyhow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain::RunId;
use crate::engine::State;
use crate::runtime::{RecoverError, Recovered, recover};
use crate::store::{Record, RunFolder, StateFolder};

use super::args::Output;
use super::failure::Failure;

const CONFIG: &str = "quorum.yaml";

/// The text of the nearest `quorum.yaml` at or above the current folder.
pub fn project_config() -> Result<Option<String>, Failure> {
    project_config_path()?
        .map(|path| read(&path))
        .transpose()
        .map(Option::flatten)
}

/// Where the nearest `quorum.yaml` is.
pub fn project_config_path() -> Result<Option<PathBuf>, Failure> {
    Ok(project_folder()?.map(|folder| folder.join(CONFIG)))
}

/// The text of the user's `quorum.yaml`.
pub fn user_config() -> Result<Option<String>, Failure> {
    user_config_path().map_or(Ok(None), |path| read(&path))
}

/// Where the user's `quorum.yaml` is or would be.
pub fn user_config_path() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let base = base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config")));
    let base = base.filter(|base| base.is_absolute())?;
    Some(base.join("quorum").join(CONFIG))
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::usage(anyhow!("cannot read {}: {error}", path.display()))),
    }
}

fn project_folder() -> Result<Option<PathBuf>, Failure> {
    let here = current_dir()?;
    Ok(here
        .ancestors()
        .find(|folder| folder.join(CONFIG).is_file())
        .map(Path::to_owned))
}

/// The current folder.
pub fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::environment(anyhow!("there is no current folder: {error}")))
}

/// The state folder that the flags, the project or the current folder name. It may not exist.
pub fn state_folder(output: &Output) -> Result<StateFolder, Failure> {
    let folder = unchecked_state_folder(output)?;
    folder.check().map_err(Failure::environment)?;
    Ok(folder)
}

/// The same whatever is in it.
pub fn unchecked_state_folder(output: &Output) -> Result<StateFolder, Failure> {
    let path = match &output.state_dir {
        Some(path) => path.clone(),
        None => match project_folder()? {
            Some(folder) => folder.join(".polpo"),
            None => current_dir()?.join(".polpo"),
        },
    };
    StateFolder::at(&path).map_err(Failure::environment)
}

/// All runs, the oldest first.
pub fn all_runs(folder: &StateFolder) -> Result<Vec<RunFolder>, Failure> {
    folder.runs().map_err(|error| {
        Failure::environment(anyhow!(
            "cannot read the runs in {}: {error}",
            folder.path().display()
        ))
    })
}

/// The named run, or the latest.
pub fn find_run(folder: &StateFolder, wanted: Option<&RunId>) -> Result<RunFolder, Failure> {
    let runs = all_runs(folder)?;
    let found = match wanted {
        Some(id) => runs.iter().find(|run| run.id() == id),
        None => runs.last(),
    };
    found.cloned().ok_or_else(|| {
        let place = folder.path().display();
        match wanted {
            _ if runs.is_empty() => Failure::usage(anyhow!("there is no run in {place}"))
                .help("start one with `quorum run MISSION`"),
            None => Failure::usage(anyhow!("there is no run in {place}")),
            Some(id) => {
                let known: Vec<&str> = runs.iter().rev().take(5).map(|run| run.id().as_str()).collect();
                Failure::usage(anyhow!("there is no run '{id}' in {place}"))
                    .help(format!("the latest runs are: {}", known.join(", ")))
            }
        }
    })
}

/// Folds a run's journal.
pub fn open_run(run: &RunFolder, watch: impl FnMut(&State, &Record)) -> Result<Recovered, Failure> {
    recover(run, watch).map_err(refuse)
}

/// What an unreadable run means for a command: the user changed something, or the state is damaged.
pub fn refuse(error: RecoverError) -> Failure {
    match error {
        RecoverError::MissionChanged { .. } | RecoverError::NeverStarted { .. } => {
            Failure::usage(error).help("restore the file, or start a new run with `quorum run`")
        }
        RecoverError::Journal(ref damage) if damage.place().is_some() => {
            let run = damage
                .path()
                .parent()
                .and_then(Path::file_name)
                .unwrap_or_default();
            let run = run.to_string_lossy().into_owned();
            Failure::internal(error).help(format!(
                "`quorum doctor state {run}` looks at the whole run; `quorum doctor state --keep-good-prefix {run}` keeps \
                 what stands before the damage and moves the rest aside. A run that is moved out of the state folder is in \
                 nobody's way"
            ))
        }
        RecoverError::Newer { .. } | RecoverError::MissionRefused { .. } => Failure::environment(error),
        RecoverError::Journal(_)
        | RecoverError::Foreign { .. }
        | RecoverError::Mission { .. }
        | RecoverError::Runs { .. } => Failure::internal(error),
    }
}
