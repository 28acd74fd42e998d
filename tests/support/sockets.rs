//! Unix sockets at paths of any length: an address has room for some hundred bytes, a folder for temporary files may take all
//! of them.

#![allow(dead_code, reason = "each of the test binaries that share it uses a part")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A short path to a file of the opened folder.
fn short(path: &Path) -> io::Result<(File, PathBuf)> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = File::open(folder)?;
    let path = Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name);
    Ok((folder, path))
}

/// Listens at a path, whose folder is there.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    let (_folder, path) = short(path)?;
    UnixListener::bind(path)
}

/// Connects to whoever listens at a path.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (_folder, path) = short(path)?;
    UnixStream::connect(path)
}
