//! The folder that a task works in.

use std::path::Path;

use super::error::WorkError;

/// Makes a folder that something is about to work in, if it lies below `within`, which is there already. A task's own
/// workspace may be needed by a check, a reviewer or a stage before any agent has worked there. Blocks.
///
/// # Errors
/// That it cannot be made.
pub fn make_folder(path: &Path, within: &Path) -> Result<(), WorkError> {
    if path == within || !path.starts_with(within) {
        return Ok(());
    }
    std::fs::create_dir_all(path).map_err(WorkError::file("make the workspace", path))
}
