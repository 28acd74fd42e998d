//! Where a report goes: a file is replaced whole, also where a link leads to it; a FIFO or a device is written to. While a
//! session lives its places are held: whoever works meanwhile could lead a path to any file of the user.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;

use supervisor::files::no_links::{OpenFolder, real_parent, replace};
use supervisor::files::{if_there, replace_file, sync_file};

/// How long the other end of a FIFO or a device may take nothing before it is given up.
const PATIENCE: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };
/// How many links may lead to a file.
const MOST_LINKS: usize = 40;

/// The place of a report.
#[derive(Debug, PartialEq)]
pub enum ReportPlace {
    /// A regular file, or none yet.
    File(PathBuf),
    /// A FIFO or a device.
    Stream(PathBuf),
}

impl ReportPlace {
    /// The place that a path names.
    ///
    /// # Errors
    ///
    /// For a folder, a socket, and links that lead in a circle.
    pub fn of(path: &Path) -> io::Result<Self> {
        let refused = |what: &str| Err(io::Error::new(ErrorKind::InvalidInput, what));
        match fs::metadata(path).map(|found| found.file_type()) {
            Ok(found) if found.is_file() => fs::canonicalize(path).map(Self::File),
            Ok(found) if found.is_dir() => refused("it is a folder"),
            Ok(found) if found.is_socket() => refused("it is a socket"),
            Ok(_) => Ok(Self::Stream(path.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => behind_links(path).map(Self::File),
            Err(error) => Err(error),
        }
    }

    /// Makes the folder and a file beside the report's place, as writing it will. The folder comes back if it was not there.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn try_out(&self) -> io::Result<Option<&Path>> {
        let Self::File(path) = self else {
            return Ok(None);
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        let made = Some(folder).filter(|folder| !folder.exists());
        fs::create_dir_all(folder)?;
        tempfile::Builder::new().prefix(".tmp-").tempfile_in(folder)?.close()?;
        Ok(made)
    }

    /// Writes the report there. Never waits long for whoever reads a FIFO.
    ///
    /// # Errors
    /// Whatever the file system says; an earlier file is then still there.
    pub fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(path) => replace_file(path, bytes),
            Self::Stream(path) => write_stream(&open_stream(OpenOptions::new().write(true), path)?, bytes),
        }
    }
}

/// The place of a report as it was when the session began.
#[derive(Debug)]
pub enum HeldPlace {
    /// A file in a folder that stays open.
    File(PathBuf, OpenFolder),
    /// A FIFO or a device, by device and number.
    Stream((u64, u64)),
}

impl HeldPlace {
    /// Removes the earlier report that a path names, and holds its place.
    ///
    /// # Errors
    /// As [`ReportPlace::of`], and whatever the file system says.
    pub fn cleared(path: &Path) -> io::Result<Self> {
        match ReportPlace::of(path)? {
            ReportPlace::File(path) => {
                let (folder, name) = OpenFolder::of(&path)?;
                if_there(folder.remove(name))?;
                Ok(Self::File(path, folder))
            }
            ReportPlace::Stream(path) => fs::metadata(path).map(|found| Self::Stream(identity(&found))),
        }
    }

    /// Writes the report there, where `path` still leads there and nothing has been put there since.
    ///
    /// # Errors
    /// That it leads elsewhere now, or that something is there, and whatever the file system says.
    pub fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        match (self, ReportPlace::of(path)?) {
            (Self::File(held, folder), ReportPlace::File(now)) if *held == now => {
                let (now, name) = OpenFolder::of(held)?;
                if now.identity()? != folder.identity()? {
                    return Err(moved());
                }
                if folder.kind(name)?.is_some() {
                    return Err(io::Error::other("the run's work has written a file there, which is kept"));
                }
                replace(folder, name, bytes, sync_file)?;
                folder.sync()
            }
            (Self::Stream(held), ReportPlace::Stream(path)) => {
                let stream = open_stream(OpenOptions::new().write(true), &path)?;
                if identity(&stream.metadata()?) == *held {
                    write_stream(&stream, bytes)
                } else {
                    Err(moved())
                }
            }
            _ => Err(moved()),
        }
    }
}

/// Why a report is not written where its path leads at the end of a session.
pub fn moved() -> io::Error {
    io::Error::other("something else was put in its place since the run began")
}

/// The identity of a file: its device and number.
pub fn identity(found: &fs::Metadata) -> (u64, u64) {
    (found.dev(), found.ino())
}

/// The path that a chain of links names, where nothing is yet.
fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return real_parent(&path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "too many links lead there"))
}

/// Opens a file of any kind without waiting for anybody.
///
/// # Errors
/// Whatever the file system says.
pub fn open_stream(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = options.custom_flags(flags.bits().cast_signed()).open(path);
    opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => io::Error::new(ErrorKind::NotConnected, "nobody reads it"),
        _ => error,
    })
}

/// Writes all bytes to a place that was opened without waiting, as fast as they are taken.
///
/// # Errors
///
/// When none are taken for ten seconds, and whatever the file system says.
pub fn write_stream(mut stream: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let mut wanted = [PollFd::new(stream, PollFlags::OUT)];
                match poll(&mut wanted, Some(&PATIENCE)) {
                    Ok(0) => {
                        return Err(io::Error::new(ErrorKind::TimedOut, "whoever reads it does not go on"));
                    }
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_names_what_it_leads_to() {
        let place = supervisor::files::no_links::scratch_folder().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::write(at("file"), "").unwrap();
        symlink("file", at("link")).unwrap();
        symlink("new", at("dangling")).unwrap();
        symlink("round", at("round")).unwrap();
        symlink("/dev/null", at("null")).unwrap();
        let _socket = crate::sockets::listen(&at("socket")).unwrap();
        let of = |name: &str| ReportPlace::of(&at(name)).ok();
        assert_eq!(of("link"), Some(ReportPlace::File(at("file"))));
        assert_eq!(of("dangling"), Some(ReportPlace::File(at("new"))));
        assert_eq!(of("missing"), Some(ReportPlace::File(at("missing"))));
        assert_eq!(of("null"), Some(ReportPlace::Stream(at("null"))));
        assert_eq!((of("round"), of("socket"), of(".")), (None, None, None));
    }
}
