//! The one way to replace a small file, and to make a new folder survive a power loss. And the ways to read and write
//! in a folder in which agents may have put anything: no FIFO may hold us up, no link lead us elsewhere.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Opens a file for reading, if it is a regular one. Never waits for the other end of a FIFO.
///
/// # Errors
/// `InvalidInput` for what is no regular file, and whatever the file system says.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    must_be_regular(options.read(true).custom_flags(libc::O_NONBLOCK).open(path)?)
}

/// The file, if it is a regular one. It must have been opened without waiting for anybody.
///
/// # Errors
/// `InvalidInput` if it is not, and whatever the file system says.
pub fn must_be_regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

/// All of a regular file.
///
/// # Errors
/// As [`open_regular`].
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Writes a file that nobody else has a hand on: whatever stood under its name before is taken away, not written to. So
/// neither a link nor a FIFO that an agent left there matters. Not synced.
///
/// # Errors
/// Whatever the file system says; a folder under the name stays.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let create = || OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()?
        }
        created => created?,
    };
    file.write_all(bytes)
}

/// Replaces `path` by `bytes` in one step: temporary file beside it, fsync, rename, fsync of the folder. Readers see
/// the old content or the new one, never a part.
///
/// # Errors
/// Whatever the file system says; the old content is then still there.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // As any file that a program makes: who may read it is for the user's umask to say, not for us.
    let mut temporary = tempfile::Builder::new()
        .prefix(".tmp-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
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
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }
}
