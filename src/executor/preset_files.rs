//! The files with settings that a preset has for its program.

use std::path::{Path, PathBuf};

use rules::mission::model::Preset;

use super::error::WorkError;
use super::spool;

/// Writes the files of a preset beside the prompt of one start, each anew: what stood there may be anybody's. What their paths
/// begin with, and the paths. Blocks.
///
/// # Errors
/// What the file system says.
pub fn files_of(preset: &Preset, prompt: &Path) -> Result<(String, Vec<PathBuf>), WorkError> {
    let begin = format!("{}.", prompt.with_extension("preset").display());
    let write = |(name, text): (&String, &String)| {
        let path = PathBuf::from(format!("{begin}{name}"));
        spool::write(&path, text.as_bytes()).map(|()| path)
    };
    let files = preset.files.iter().map(write).collect::<Result<_, _>>()?;
    Ok((begin, files))
}
