//! The files with settings that a preset has for its program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::mission::model::Preset;
use crate::store;

use super::error::WorkError;

/// Their folder, beside the prompts.
const FOLDER: &str = "presets";

/// The files of a preset, written where they are not there yet, in the folder of a prompt. The folder in which they lie.
///
/// # Errors
/// What the file system says.
pub fn files_of(preset: &Preset, prompt: &Path) -> Result<PathBuf, WorkError> {
    let folder = prompt.parent().unwrap_or(prompt).join(FOLDER);
    let folder = folder.join(
        preset
            .argv
            .first()
            .map_or("", |program| program.rsplit('/').next().unwrap_or_default()),
    );
    for (name, text) in &preset.files {
        let path = folder.join(name);
        let write = || -> io::Result<()> {
            // Somebody may have changed it since: what it says is what its preset says.
            if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
                return Ok(());
            }
            fs::create_dir_all(&folder)?;
            store::replace_file(&path, text.as_bytes())
        };
        write().map_err(WorkError::file("write", &path))?;
    }
    Ok(folder)
}
