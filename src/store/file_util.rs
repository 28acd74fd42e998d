//! The one way to replace a small file, and to make a new folder survive a power loss.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces `path` by `bytes` in one step: temporary file beside it, fsync, rename, fsync of the folder. Readers see
/// the old content or the new one, never a part.
///
/// # Errors
/// Whatever the file system says; the old content is then still there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new().prefix(".tmp-").tempfile_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    sync_parent(path)
}

/// Makes the entry of `path` in its folder durable.
///
/// # Errors
/// Whatever the file system says.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

/// Makes a folder and its missing parents, each durable in its parent.
///
/// # Errors
/// Whatever the file system says.
pub fn create_dir_durable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        create_dir_durable(parent)?;
    }
    match fs::create_dir(path) {
        Ok(()) => sync_parent(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replacing_leaves_no_temporary_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/state.json");
        create_dir_durable(path.parent().unwrap()).unwrap();
        replace_file(&path, b"one").unwrap();
        replace_file(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }
}
