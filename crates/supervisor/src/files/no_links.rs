//! Paths on which no part is a link: how everything in the state folder is reached (semantics, section 22).
//!
//! An agent can put a link in the place of any file or folder that it can write beside. The path of a state folder is
//! resolved once, when it is named; after that a link anywhere on a path below it is an error, told by the kernel in the
//! same step that opens the file. What is renamed or removed is renamed or removed in a folder that was opened like that.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::syncs::sync_folder;

/// How often a name for a new file is looked for that is not taken.
const MOST_TRIES: u32 = 16;
/// Begins the names of files that are not complete yet.
pub const UNFINISHED: &str = ".tmp-";

/// How a folder is opened on the way to something in it, whether or not it can be read.
const STEP: OFlags = {
    #[cfg(target_os = "linux")]
    let way = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    let way = OFlags::RDONLY;
    way.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC)
};

/// The absolute path of `path` without links: of the last part too, if that is there. What does not exist yet is named
/// below what does.
///
/// # Errors
/// When the current directory is gone, or a link leads nowhere.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match fs::canonicalize(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(&path).is_err() => {
            real_parent(&path)
        }
        found => found,
    }
}

/// The path without links, but for the last part, which stays what it is.
///
/// # Errors
///
/// As [`real_path`].
pub fn real_parent(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => Ok(real_path(parent)?.join(name)),
        _ => Ok(path),
    }
}

/// A new folder for what one command needs while it works, removed when dropped. Its path holds no link.
///
/// # Errors
/// Whatever the file system says.
pub fn scratch_folder() -> io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(real_path(&std::env::temp_dir())?)
}

/// Removes a folder with all that is in it, however its folders were closed.
///
/// # Errors
/// Whatever the file system says.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_folders(path);
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Lets us change what lies in a folder, however its folders were closed; what cannot be opened stays as it is. Each is held
/// before it is changed: nobody can put a link in its place meanwhile.
pub fn open_folders(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let Ok(opened) = rustix::fs::open(folder, STEP, Mode::empty()) else {
        return;
    };
    let held = OpenFolder { opened, path: folder.to_owned() };
    let here = held.through("".as_ref());
    let _ = fs::set_permissions(&here, fs::Permissions::from_mode(0o755));
    let entries = fs::read_dir(&here).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        open_folders(&held.through(&entry.file_name()));
    }
}

/// Opens what is at a path, no part of which may be a link.
///
/// # Errors
/// `InvalidInput` that names the link, and whatever the file system says.
pub fn open(path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The kernel takes rights only where a file may be made.
    let mode = if makes_file(flags) { mode } else { Mode::empty() };
    opened(CWD, path, (flags, mode), false).map_err(|error| match first_link(path) {
        // A folder that is wanted as a folder is "not a directory" where it is a link.
        Some(link) if matches!(error, Errno::LOOP | Errno::NOTDIR) => {
            let what = if link == path {
                "it is a link".to_owned()
            } else {
                format!("{} is a link", link.display())
            };
            io::Error::new(io::ErrorKind::InvalidInput, what)
        }
        _ => error.into(),
    })
}

fn makes_file(flags: OFlags) -> bool {
    #[cfg(target_os = "linux")]
    let unnamed = flags.contains(OFlags::TMPFILE);
    #[cfg(not(target_os = "linux"))]
    let unnamed = false;
    unnamed || flags.contains(OFlags::CREATE)
}

fn first_link(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<&Path> = path.ancestors().collect();
    parts.reverse();
    let is_link = |path: &&&Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    parts.iter().find(is_link).map(|path| (*path).to_owned())
}

/// Opens a path below `root` so that the kernel itself refuses every link, or those only that lead out of it.
///
/// # Errors
/// Whatever the file system says; a link that is not followed is `LOOP` or `NOTDIR`, one that leads out `XDEV`.
pub fn opened(
    root: BorrowedFd<'_>,
    path: &Path,
    (flags, mode): (OFlags, Mode),
    follows: bool,
) -> rustix::io::Result<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = if follows {
            ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS
        } else {
            ResolveFlags::NO_SYMLINKS
        };
        match rustix::fs::openat2(root, path, flags, mode, resolve) {
            // A kernel before 5.6, or a sandbox that does not know the call: no link at all is followed then.
            Err(Errno::NOSYS | Errno::PERM) => {}
            result => return result,
        }
    }
    step_by_step(root, path, flags, mode)
}

/// Opens a path below `root` part by part, following no link at all.
///
/// # Errors
/// Whatever the file system says; a link is `LOOP` or `NOTDIR`.
pub fn step_by_step(
    root: BorrowedFd<'_>,
    path: &Path,
    flags: OFlags,
    mode: Mode,
) -> rustix::io::Result<OwnedFd> {
    let mut parts: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    let last = parts.pop().unwrap_or(OsStr::new("."));
    let mut folder: Option<OwnedFd> = None;
    for part in parts {
        let from = folder.as_ref().map_or(root, AsFd::as_fd);
        folder = Some(rustix::fs::openat(from, part, STEP, Mode::empty())?);
    }
    let from = folder.as_ref().map_or(root, AsFd::as_fd);
    rustix::fs::openat(from, last, flags | OFlags::NOFOLLOW, mode)
}

/// An opened folder that no link led to.
#[derive(Debug)]
pub struct OpenFolder {
    opened: OwnedFd,
    path: PathBuf,
}

/// The identity of a file, when its content was changed last, and when anything of it was. Nobody without
/// special rights can set the last back.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileTimes {
    inode: u64,
    /// Not before 1970, whatever its owner says.
    pub modified: SystemTime,
    changed: (i64, i64),
}

impl OpenFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// When there is none, or a link leads to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let opened = open(path, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Self { opened, path: path.to_owned() })
    }

    /// Opens the folder in which something lies, and tells its name there.
    ///
    /// # Errors
    /// As [`OpenFolder::open`], and for a path without a name.
    pub fn of(path: &Path) -> io::Result<(Self, &OsStr)> {
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "it names no file");
        let name = path.file_name().ok_or_else(no_name)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok((Self::open(folder.unwrap_or(Path::new(".")))?, name))
    }

    /// The identity of the folder, by device and number. As long as it is open no other one has both.
    ///
    /// # Errors
    ///
    /// Whatever the file system says.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let found = rustix::fs::fstat(&self.opened)?;
        Ok((found.st_dev as u64, found.st_ino as u64))
    }

    /// The names in the folder, in no order.
    ///
    /// # Errors
    ///
    /// Whatever the file system says.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        use std::os::unix::ffi::OsStringExt;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.opened)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// The kind of the entry `name`; `None` for nothing. A link is a link.
    ///
    /// # Errors
    ///
    /// Whatever the file system says.
    pub fn kind(&self, name: &OsStr) -> io::Result<Option<FileType>> {
        match rustix::fs::statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(FileType::from_raw_mode(found.st_mode))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file, link, FIFO or the like, never a folder.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.opened, name, AtFlags::empty())?)
    }

    /// Makes a folder in it where nothing is; after a power loss there may be none.
    ///
    /// # Errors
    /// Whatever the file system says, also where something has the name.
    pub fn make_new(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.opened, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes a folder in it that has nothing in it.
    ///
    /// # Errors
    /// Whatever the file system says, also where it is something else.
    pub fn remove_empty(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.opened, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a folder with all that is in it; links in it are removed, not followed.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn remove_all(&self, name: &OsStr) -> io::Result<()> {
        remove_folder(&self.through(name))
    }

    /// Gives something another name, in this folder or another one. What had that name before is replaced.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn rename(&self, name: &OsStr, to: &Self, new: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.opened, name, &to.opened, new)?)
    }

    /// The moments of the last changes to the entry `name`.
    ///
    /// # Errors
    ///
    /// Whatever the file system says.
    pub fn times(&self, name: &OsStr) -> io::Result<FileTimes> {
        let found = rustix::fs::statat(&self.opened, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileTimes {
            inode: found.st_ino as u64,
            modified: SystemTime::UNIX_EPOCH
                + Duration::new(u64::try_from(found.st_mtime).unwrap_or(0), found.st_mtime_nsec as u32),
            changed: (found.st_ctime as i64, found.st_ctime_nsec as i64),
        })
    }

    /// Whether there is nothing in a folder of it.
    ///
    /// # Errors
    /// Whatever the file system says, and when it is no folder.
    pub fn is_empty(&self, name: &OsStr) -> io::Result<bool> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.opened, name, flags, Mode::empty())?;
        for entry in rustix::fs::Dir::new(opened)? {
            if !matches!(entry?.file_name().to_bytes(), b"." | b"..") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Removes whatever has a name in it, a folder with all that is in it. Nothing there is fine.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn clear(&self, name: &OsStr) -> io::Result<()> {
        match self.kind(name)? {
            None => Ok(()),
            Some(FileType::Directory) => self.remove_all(name),
            Some(_) => self.remove(name),
        }
    }

    /// Gives something another name in this folder, which nothing has.
    ///
    /// # Errors
    /// Whatever the file system says; some know no such renaming.
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    pub fn rename_to_new(&self, name: &OsStr, new: &OsStr) -> io::Result<()> {
        let flags = rustix::fs::RenameFlags::NOREPLACE;
        Ok(rustix::fs::renameat_with(&self.opened, name, &self.opened, new, flags)?)
    }

    /// Refuses to rename, where the system knows no such renaming.
    ///
    /// # Errors
    ///
    /// Always.
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    pub fn rename_to_new(&self, _: &OsStr, _: &OsStr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes a folder in it, durable, if it is not there.
    ///
    /// # Errors
    /// Whatever the file system says, also where something else has the name.
    pub fn make(&self, name: &OsStr) -> io::Result<()> {
        match rustix::fs::mkdirat(&self.opened, name, Mode::from_raw_mode(0o777)) {
            // Without that it goes again: whoever finds it next takes it for one that is on the disk.
            Ok(()) => self.sync().or_else(|error| {
                self.remove_empty(name)?;
                Err(error)
            }),
            Err(Errno::EXIST) => match self.kind(name)? {
                Some(FileType::Directory) => Ok(()),
                kind => {
                    let what = match kind {
                        Some(FileType::Symlink) => "a link",
                        _ => "no folder",
                    };
                    let path = self.path.join(name);
                    let message = format!("{} is {what}", path.display());
                    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
                }
            },
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the entries of the folder durable.
    ///
    /// # Errors
    ///
    /// Whatever the file system says.
    pub fn sync(&self) -> io::Result<()> {
        sync_folder(&self.opened)
    }

    /// A path to the entry `name` that leads through the opened folder, where the system has such paths. Valid
    /// in this process, as long as the folder is open.
    pub fn through(&self, name: &OsStr) -> PathBuf {
        if cfg!(target_os = "linux") {
            let mut path = PathBuf::from(format!("/proc/self/fd/{}", self.opened.as_raw_fd()));
            path.push(name);
            path
        } else {
            self.path.join(name)
        }
    }
}

impl AsFd for OpenFolder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.opened.as_fd()
    }
}

/// Puts a new file in the place of whatever has a name in an opened folder: readers see the old content or the new one,
/// never a part. `finish` sees the new file before it gets its name.
///
/// # Errors
/// Whatever the file system says; the old content is then still there.
pub fn replace(
    folder: impl AsFd,
    name: &OsStr,
    content: &[u8],
    finish: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder.as_fd();
    let (temporary, mut file) = new_beside(folder)?;
    let written = file.write_all(content).and_then(|()| {
        finish(&file)?;
        Ok(rustix::fs::renameat(folder, temporary.as_str(), folder, name)?)
    });
    if written.is_err() {
        let _ = rustix::fs::unlinkat(folder, temporary.as_str(), AtFlags::empty());
    }
    written
}

/// A new file that no other process writes, and that was not put there for us to write: a name that cannot be foreseen.
fn new_beside(folder: BorrowedFd<'_>) -> io::Result<(String, File)> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut tries = 1;
    loop {
        let name = format!("{UNFINISHED}{:016x}", RandomState::new().build_hasher().finish());
        // As any file that a program makes: who may read it is for the user's umask to say, not for us.
        match rustix::fs::openat(folder, name.as_str(), flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) if tries < MOST_TRIES => tries += 1,
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_moment_before_1970_is_told_as_its_beginning() {
        let place = scratch_folder().unwrap();
        let dated = File::open(place.path()).unwrap();
        dated.set_modified(SystemTime::UNIX_EPOCH - Duration::from_secs(1 << 32)).unwrap();
        let (folder, name) = OpenFolder::of(place.path()).unwrap();
        assert_eq!(folder.times(name).unwrap().modified, SystemTime::UNIX_EPOCH);
    }

    #[test]
    fn closed_folders_are_opened_and_no_link_is_followed() {
        use std::os::unix::fs::PermissionsExt;
        let place = scratch_folder().unwrap();
        let at = |name: &str| place.path().join(name);
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        let close =
            |name: &str, mode: u32| fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        fs::create_dir_all(at("work/a/b")).unwrap();
        fs::create_dir_all(at("others/kept")).unwrap();
        symlink(at("others"), at("work/a/link")).unwrap();
        close("work/a/b", 0);
        close("work/a", 0o500);
        close("work", 0);
        close("others", 0o700);
        open_folders(&at("work"));
        assert_eq!((mode("work"), mode("work/a"), mode("work/a/b")), (0o755, 0o755, 0o755));
        open_folders(&at("work/a/link"));
        assert_eq!(mode("others"), 0o700);
        remove_folder(&at("work")).unwrap();
        assert!(at("others/kept").is_dir());
    }

    #[test]
    fn no_part_of_a_path_may_be_a_link() {
        let place = scratch_folder().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("real/deep")).unwrap();
        fs::write(at("real/deep/file"), "x").unwrap();
        symlink("real", at("link")).unwrap();
        symlink("file", at("real/deep/last")).unwrap();
        let ways: [fn(&Path) -> io::Result<OwnedFd>; 2] = [
            |path| open(path, OFlags::RDONLY, Mode::empty()),
            |path| {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW;
                Ok(step_by_step(CWD, path, flags, Mode::empty())?)
            },
        ];
        for open in ways {
            open(&at("real/deep/file")).unwrap();
            open(&at("link/deep/file")).unwrap_err();
            open(&at("real/deep/last")).unwrap_err();
            open(&at("link")).unwrap_err();
        }
        let said = |name: &str| OpenFolder::open(&at(name)).unwrap_err().to_string();
        assert_eq!(said("link"), "it is a link");
        assert_eq!(said("link/deep"), format!("{} is a link", at("link").display()));
        assert_eq!(real_path(&at("link/deep/new/er")).unwrap(), at("real/deep/new/er"));
        assert_eq!(real_parent(&at("link/deep/last")).unwrap(), at("real/deep/last"));
    }

    #[test]
    fn replacing_leaves_no_temporary_behind() {
        let place = scratch_folder().unwrap();
        let folder = OpenFolder::open(place.path()).unwrap();
        let name = OsStr::new("file");
        replace(&folder, name, b"one", |_| Ok(())).unwrap();
        replace(&folder, name, b"two", |_| Err(io::Error::other("no"))).unwrap_err();
        assert_eq!(fs::read(place.path().join(name)).unwrap(), b"one");
        assert_eq!(folder.names().unwrap(), [name]);
    }
}
