//! Where things are: the project's `quorum.yaml`, the user's, the state folder, the runs in it.

use anyhow::anyhow;
use std::path::{Path, PathBuf};

use crate::domain::RunId;
use crate::engine::State;
use crate::mission::ConfigLayer;
use crate::runtime::{RecoverError, Recovered, SettingsError, recover, settings_files};
use crate::store::{DamagedJournal, FolderError, Record, RunFolder, StateFolder, is_unfit};

use super::args::Output;
use super::failure::Failure;

/// What to do about something that has no place in a state folder.
const MISPLACED: &str = "nothing was started, and nothing was touched; remove it, or name another state folder with \
                         --state-dir";
/// What to do about a state folder that cannot be written.
pub const WRITABLE: &str = "make the folder writable, or name another one with --state-dir";

/// The text of the project's settings and of the user's, each `None` where there is none.
pub fn settings_texts() -> Result<[Option<String>; 2], Failure> {
    let mut texts = [None, None];
    for file in settings_files(&current_dir()?) {
        let text = file.read().map_err(unreadable_settings)?;
        let layer = usize::from(file.layer == ConfigLayer::User);
        texts[layer] = texts[layer].take().or(text);
    }
    Ok(texts)
}

/// Where the nearest `quorum.yaml` is, which must be a regular file.
pub fn project_config_path() -> Result<Option<PathBuf>, Failure> {
    let mut places = settings_files(&current_dir()?).into_iter();
    let Some(file) = places.find(|place| place.exists && place.layer == ConfigLayer::Project) else {
        return Ok(None);
    };
    file.check().map_err(unreadable_settings)?;
    Ok(Some(file.path))
}

fn unreadable_settings(error: SettingsError) -> Failure {
    Failure::usage(error).help("nothing was started; put a regular file there, or take away what is there")
}

fn project_folder() -> Result<Option<PathBuf>, Failure> {
    let file = project_config_path()?;
    Ok(file.and_then(|path| path.parent().map(Path::to_owned)))
}

/// The current folder.
pub fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir()
        .map_err(|error| Failure::environment(anyhow!("there is no current folder: {error}")))
}

/// The state folder that the flags, the project or the current folder name. It may not exist.
pub fn state_folder(output: &Output) -> Result<StateFolder, Failure> {
    let folder = unchecked_state_folder(output)?;
    folder.check().map_err(unusable)?;
    Ok(folder)
}

/// A state folder that cannot be used as it is.
pub fn unusable(error: FolderError) -> Failure {
    match error {
        FolderError::Misplaced(_) => Failure::environment(error).help(MISPLACED),
        FolderError::Io { ref source, .. } if is_unfit(source) => Failure::environment(error).help(MISPLACED),
        FolderError::Io { .. } => Failure::environment(error).help(WRITABLE),
        error => Failure::environment(error),
    }
}

/// The same whatever is in it.
pub fn unchecked_state_folder(output: &Output) -> Result<StateFolder, Failure> {
    let folder = match &output.state_dir {
        Some(path) => StateFolder::named(path),
        None => match project_folder()? {
            Some(folder) => StateFolder::at(&folder.join(".polpo")),
            None => StateFolder::at(&current_dir()?.join(".polpo")),
        },
    };
    folder.map_err(Failure::environment)
}

/// All runs, the oldest first.
pub fn all_runs(folder: &StateFolder) -> Result<Vec<RunFolder>, Failure> {
    folder.runs().map_err(|error| {
        let failure = Failure::environment(anyhow!(
            "cannot read the runs in {}: {error}",
            folder.path().display()
        ));
        match is_unfit(&error) {
            true => failure.help(MISPLACED),
            false => failure,
        }
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
        // Nothing of the state is in the place of something of the state.
        RecoverError::Misplaced(_) => Failure::environment(error).help(MISPLACED),
        RecoverError::Journal(DamagedJournal::Io { ref source, .. })
        | RecoverError::Mission { ref source, .. }
        | RecoverError::Runs { ref source, .. }
            if is_unfit(source) =>
        {
            Failure::environment(error).help(MISPLACED)
        }
        RecoverError::Journal(_)
        | RecoverError::Foreign { .. }
        | RecoverError::Mission { .. }
        | RecoverError::Runs { .. } => Failure::internal(error),
    }
}
