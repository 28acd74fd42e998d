//! A folder that nothing leads out of: what a model's tools may look at and write (semantics, section 7).
//!
//! Every path is opened beneath the folder by the kernel itself, so neither `..`, an absolute path nor a link that is put
//! there in between leads out. Nothing blocks: a FIFO or a device is "not a regular file".

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use supervisor::files::no_links;
use supervisor::{Access, MountPlan};

/// Names that are never shown, at any depth: our own state, other tools' state, secrets.
fn is_hidden(name: &str) -> bool {
    name == ".polpo" || name == ".git" || name.starts_with(".env")
}

/// Names of one folder that are held at a time.
const MOST_NAMES: usize = 20_000;

/// A folder that is opened for tools.
pub struct Confined {
    root: OwnedFd,
    path: PathBuf,
    /// A folder that is not shown, wherever it lies.
    hidden: Option<PathBuf>,
    guard: Option<WriteGuard>,
    /// The mounts that a process in its place would have.
    mounts: MountPlan,
}

/// Says of an absolute path whether it may not be written.
type WriteGuard = Box<dyn Fn(&Path) -> bool + Send + Sync>;

/// Why a path is refused or cannot be used: a text for the model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PathRefused {
    /// The name is one of those that are never shown.
    #[error("'{0}' is not shown to anybody")]
    Hidden(String),
    /// The path leads out of the folder.
    #[error("'{0}' lies outside of the workspace")]
    Outside(String),
    /// There is nothing at the path.
    #[error("there is no '{0}'")]
    Missing(String),
    /// The path is a folder, a FIFO, a device or a socket where a file is wanted, or the other way round.
    #[error("'{0}' is not {1}")]
    NotA(String, &'static str),
    /// The file is protected from being written.
    #[error("'{0}' is protected and may not be changed")]
    Protected(String),
    /// The system refused; the second text is its error.
    #[error("'{0}' cannot be used: {1}")]
    System(String, String),
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FolderEntry {
    /// The name; a folder's ends in `/`.
    pub name: String,
    /// The size of a regular file, in bytes.
    pub size: Option<u64>,
}

/// The entries of a folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// The entries of the folder, sorted by name.
    pub entries: Vec<FolderEntry>,
    /// Whether there are more.
    pub more: bool,
    /// Names that are not UTF-8, so that nobody can ask for them.
    pub unnamed: usize,
}

impl Confined {
    /// Opens the folder.
    ///
    /// # Errors
    /// When it is no folder that can be read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC;
        let root = rustix::fs::open(folder, flags, Mode::empty())?;
        Ok(Self {
            root,
            path: fs::canonicalize(folder)?,
            hidden: None,
            guard: None,
            mounts: MountPlan::default(),
        })
    }

    /// Refuses to write the absolute paths that `is_guarded` holds for.
    #[must_use]
    pub fn guarding(self, is_guarded: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self { guard: Some(Box::new(is_guarded)), ..self }
    }

    /// Hides one folder, whatever its name is. Where this folder lies in that one, nothing of this one is
    /// hidden.
    #[must_use]
    pub fn hiding(self, folder: &Path) -> Self {
        let hidden = fs::canonicalize(folder).ok();
        Self { hidden: hidden.filter(|hidden| !self.path.starts_with(hidden)), ..self }
    }

    /// Follows a mount plan: files that a confined process could not see or change are not shown or changed.
    #[must_use]
    pub fn planned(self, mounts: MountPlan) -> Self {
        Self { mounts, ..self }
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// When it is hidden, outside, missing or no regular file.
    pub fn read(&self, path: &str) -> Result<File, PathRefused> {
        let file = self.open_beneath(path, OFlags::RDONLY | OFlags::NONBLOCK)?;
        let file = File::from(file);
        match file.metadata() {
            Ok(data) if data.is_file() => Ok(file),
            Ok(_) => Err(PathRefused::NotA(path.to_owned(), "a regular file")),
            Err(error) => Err(system(path, &error)),
        }
    }

    /// The names in a folder, sorted; at most `most` of them. Links are named, not followed.
    ///
    /// # Errors
    /// When it is hidden, outside, missing or no folder.
    pub fn list(&self, path: &str, most: usize) -> Result<Listing, PathRefused> {
        let folder = self.folder(path)?;
        let entries = rustix::fs::Dir::read_from(&folder).map_err(|error| system(path, &error.into()))?;
        let mut found = Listing::default();
        for entry in entries {
            let entry = entry.map_err(|error| system(path, &error.into()))?;
            if found.entries.len() >= MOST_NAMES {
                found.more = true;
                break;
            }
            let Ok(name) = entry.file_name().to_str() else {
                found.unnamed += 1;
                continue;
            };
            if name == "." || name == ".." || is_hidden(name) {
                continue;
            }
            found.entries.push(described(&folder, name));
        }
        found.entries.sort();
        found.more |= found.entries.len() > most;
        found.entries.truncate(most);
        Ok(found)
    }

    /// Writes a file whole: what was there before stays until the new one is complete, and who may do what with it is as
    /// before. Folders on the way are made.
    ///
    /// # Errors
    /// When it is hidden, outside, or what is there is no regular file.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<(), PathRefused> {
        self.check_write(path)?;
        let parts = parts(path)?;
        let Some((name, folders)) = parts.split_last() else {
            return Err(PathRefused::NotA(path.to_owned(), "a regular file"));
        };
        let mut below = String::new();
        for folder in folders {
            below = join(&below, folder);
            self.make_folder(&below)?;
        }
        let parent = self.folder(&below)?;
        // A link on the way may have led elsewhere within the folder.
        if let Some(real) = real_path(&parent) {
            self.unguarded(path, &real.join(name))?;
        }
        let mode = match rustix::fs::statat(&parent, *name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile => {
                return Err(PathRefused::NotA(path.to_owned(), "a regular file"));
            }
            Ok(there) => Some(Mode::from_raw_mode(there.st_mode & 0o777)),
            Err(Errno::NOENT) => None,
            Err(error) => return Err(system(path, &error.into())),
        };
        replace(&parent, name, content, mode).map_err(|error| system(path, &error))
    }

    /// Whether a file may be written as far as its path says.
    ///
    /// # Errors
    /// When it is hidden, outside, no file, or protected.
    pub fn check_write(&self, path: &str) -> Result<(), PathRefused> {
        let parts = parts(path)?;
        if parts.is_empty() {
            return Err(PathRefused::NotA(path.to_owned(), "a regular file"));
        }
        self.unguarded(path, &self.path.join(parts.join("/")))
    }

    fn unguarded(&self, path: &str, real: &Path) -> Result<(), PathRefused> {
        match &self.guard {
            _ if self.mounts.access(real) != Access::Write => Err(PathRefused::Protected(path.to_owned())),
            Some(is_guarded) if is_guarded(real) => Err(PathRefused::Protected(path.to_owned())),
            _ => Ok(()),
        }
    }

    fn make_folder(&self, path: &str) -> Result<(), PathRefused> {
        match self.folder(path) {
            Err(PathRefused::Missing(_)) => {}
            found => return found.map(drop),
        }
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let parent = self.folder(parent)?;
        rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777))
            .map_err(|error| system(path, &error.into()))
    }

    fn folder(&self, path: &str) -> Result<OwnedFd, PathRefused> {
        self.open_beneath(path, OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_beneath(&self, path: &str, flags: OFlags) -> Result<OwnedFd, PathRefused> {
        let parts = parts(path)?;
        let inner = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
        let how = (flags | OFlags::CLOEXEC, Mode::empty());
        let opened = no_links::opened(self.root.as_fd(), Path::new(&inner), how, true).map_err(|error| {
            let path = path.to_owned();
            match error {
                Errno::NOENT => PathRefused::Missing(path),
                Errno::XDEV | Errno::LOOP => PathRefused::Outside(path),
                Errno::NOTDIR => PathRefused::NotA(path, "a folder"),
                // A socket, or a FIFO without a reader.
                Errno::NXIO | Errno::ISDIR => PathRefused::NotA(path, "a regular file"),
                _ => system(&path, &error.into()),
            }
        })?;
        self.still_shown(path, opened)
    }

    /// A link with a harmless name may lead to a hidden file: what was really opened counts.
    fn still_shown(&self, path: &str, opened: OwnedFd) -> Result<OwnedFd, PathRefused> {
        let (Some(root), Some(real)) = (real_path(&self.root), real_path(&opened)) else {
            // No /proc: then links are not followed at all (see [`no_links::opened`]), so the name is the file.
            return Ok(opened);
        };
        let inner = real.strip_prefix(&root).unwrap_or(&real);
        let hidden = inner.components().any(|part| part.as_os_str().to_str().is_some_and(is_hidden));
        let in_folder = self.hidden.as_ref().is_some_and(|folder| real.starts_with(folder));
        if hidden || in_folder || self.mounts.access(&real) > Access::Read {
            return Err(PathRefused::Hidden(path.to_owned()));
        }
        Ok(opened)
    }
}

/// Where an opened file or folder really is; `None` where the system does not tell.
fn real_path(opened: &OwnedFd) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(opened))).ok()
}

/// The parts of a path that may lead somewhere beneath the folder.
fn parts(path: &str) -> Result<Vec<&str>, PathRefused> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(part) => {
                let part = part.to_str().ok_or_else(|| PathRefused::Missing(path.to_owned()))?;
                if is_hidden(part) {
                    return Err(PathRefused::Hidden(path.to_owned()));
                }
                parts.push(part);
            }
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(PathRefused::Outside(path.to_owned()));
            }
        }
    }
    Ok(parts)
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

fn system(path: &str, error: &io::Error) -> PathRefused {
    PathRefused::System(path.to_owned(), error.to_string())
}

fn described(folder: &OwnedFd, name: &str) -> FolderEntry {
    let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let is = |kind| stat.is_some_and(|stat| FileType::from_raw_mode(stat.st_mode) == kind);
    let end = if is(FileType::Directory) { "/" } else { "" };
    let size = stat.filter(|_| is(FileType::RegularFile));
    FolderEntry { name: format!("{name}{end}"), size: size.and_then(|stat| u64::try_from(stat.st_size).ok()) }
}

/// A new file, then renamed over the old one.
fn replace(folder: &OwnedFd, name: &str, content: &[u8], mode: Option<Mode>) -> io::Result<()> {
    no_links::replace(folder, OsStr::new(name), content, |file| match mode {
        Some(mode) => Ok(rustix::fs::fchmod(file, mode)?),
        None => Ok(()),
    })
}

/// Reads at most `most` bytes, and says whether there are more.
///
/// # Errors
/// What the system says.
pub fn read_at_most(file: File, most: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    file.take(most + 1).read_to_end(&mut bytes)?;
    let more = bytes.len() as u64 > most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok((bytes, more))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn workspace() -> tempfile::TempDir {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("work");
        fs::create_dir_all(inner.join("src/deep")).unwrap();
        for (path, text) in [
            ("work/a.txt", "alpha"),
            ("work/src/b.rs", "beta"),
            ("work/.env", "SECRET=1"),
            ("work/.env.local", "SECRET=2"),
            ("outside.txt", "out"),
        ] {
            fs::write(outer.path().join(path), text).unwrap();
        }
        for hidden in [".polpo", ".git"] {
            fs::create_dir(inner.join(hidden)).unwrap();
            fs::write(inner.join(hidden).join("key"), "k").unwrap();
        }
        symlink("../outside.txt", inner.join("leads-out")).unwrap();
        symlink("..", inner.join("up")).unwrap();
        symlink("/", inner.join("root")).unwrap();
        symlink("a.txt", inner.join("inside")).unwrap();
        symlink(".env", inner.join("harmless.txt")).unwrap();
        symlink("/proc/self/environ", inner.join("environ")).unwrap();
        symlink("loop", inner.join("loop")).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            inner.join("fifo"),
            FileType::Fifo,
            Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        outer
    }

    #[test]
    fn what_a_confined_process_could_not_do_no_tool_does() {
        let outer = workspace();
        let path = |name: &str| fs::canonicalize(outer.path().join("work")).unwrap().join(name);
        let mounts =
            MountPlan::new(Access::Write, [(path("src"), Access::Read), (path("a.txt"), Access::Masked)]);
        let confined = confined(&outer).planned(mounts);
        confined.write("new.txt", b"mine").unwrap();
        assert!(confined.read("src/b.rs").is_ok());
        let protected = Err(PathRefused::Protected("src/b.rs".to_owned()));
        assert_eq!(confined.write("src/b.rs", b"evil"), protected);
        assert!(matches!(confined.write("src/deep/new.rs", b"evil"), Err(PathRefused::Protected(_))));
        assert!(matches!(confined.read("a.txt"), Err(PathRefused::Hidden(_))));
        assert!(matches!(confined.read("inside"), Err(PathRefused::Hidden(_))));
    }

    fn confined(outer: &tempfile::TempDir) -> Confined {
        Confined::open(&outer.path().join("work")).unwrap()
    }

    fn text(confined: &Confined, path: &str) -> Result<String, PathRefused> {
        let (bytes, _) = read_at_most(confined.read(path)?, 100).unwrap();
        Ok(String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn what_lies_inside_is_read() {
        let outer = workspace();
        let confined = confined(&outer);
        for (path, want) in [("a.txt", "alpha"), ("./src/b.rs", "beta"), ("inside", "alpha")] {
            assert_eq!(text(&confined, path).as_deref(), Ok(want), "{path}");
        }
        let (bytes, more) = read_at_most(confined.read("a.txt").unwrap(), 2).unwrap();
        assert_eq!((bytes.as_slice(), more), (b"al".as_slice(), true));
    }

    #[test]
    fn nothing_leads_out() {
        let outer = workspace();
        let confined = confined(&outer);
        let absolute = outer.path().join("outside.txt");
        for path in [
            "../outside.txt",
            "src/../../outside.txt",
            absolute.to_str().unwrap(),
            "leads-out",
            "up/outside.txt",
            "root/etc/passwd",
            "environ",
            "loop",
        ] {
            assert!(matches!(text(&confined, path), Err(PathRefused::Outside(_))), "{path}");
            assert!(confined.list(path, 10).is_err(), "{path}");
            assert!(confined.write(path, b"x").is_err() || path == "loop", "{path}");
        }
        assert_eq!(fs::read_to_string(absolute).unwrap(), "out");
    }

    #[test]
    fn hidden_names_are_hidden_whatever_points_at_them() {
        let outer = workspace();
        let confined = confined(&outer);
        for path in [".env", ".env.local", ".polpo/key", ".git/key", "src/../.env", "harmless.txt"] {
            let refused = text(&confined, path).unwrap_err();
            assert!(matches!(refused, PathRefused::Hidden(_) | PathRefused::Outside(_)), "{path}: {refused}");
        }
        assert!(matches!(confined.write(".env", b""), Err(PathRefused::Hidden(_))));
        let entries = confined.list(".", 100).unwrap().entries;
        let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
        assert!(names.contains(&"src/") && names.contains(&"a.txt"), "{names:?}");
        assert!(
            !names
                .iter()
                .any(|name| name.starts_with(".env") || name.starts_with(".p") || name.starts_with(".g"))
        );
    }

    #[test]
    fn a_fifo_or_a_folder_is_no_file_and_nothing_hangs() {
        let outer = workspace();
        let confined = confined(&outer);
        for path in ["fifo", "src"] {
            assert!(matches!(text(&confined, path), Err(PathRefused::NotA(..))), "{path}");
            assert!(matches!(confined.write(path, b""), Err(PathRefused::NotA(..))), "{path}");
        }
        assert!(matches!(confined.list("a.txt", 1), Err(PathRefused::NotA(..))));
        assert!(matches!(text(&confined, "none"), Err(PathRefused::Missing(_))));
    }

    #[test]
    fn files_are_written_whole_and_links_are_not_written_through() {
        let outer = workspace();
        let confined = confined(&outer);
        confined.write("new/deep/file.txt", b"one").unwrap();
        confined.write("new/deep/file.txt", b"two").unwrap();
        assert_eq!(text(&confined, "new/deep/file.txt").as_deref(), Ok("two"));
        assert!(matches!(confined.write("inside", b"x"), Err(PathRefused::NotA(..))));
        assert!(confined.write("up/new.txt", b"x").is_err());
        assert_eq!(text(&confined, "a.txt").as_deref(), Ok("alpha"));
        let left: Vec<_> = fs::read_dir(outer.path().join("work/new/deep")).unwrap().collect();
        assert_eq!(left.len(), 1, "no temporary file is left");
    }

    #[test]
    fn who_may_do_what_with_a_file_outlives_its_being_written() {
        use std::os::unix::fs::PermissionsExt;
        let outer = workspace();
        let path = outer.path().join("work/run.sh");
        fs::write(&path, "old").unwrap();
        for mode in [0o755, 0o600, 0o444] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            confined(&outer).write("run.sh", b"new").unwrap();
            let now = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            assert_eq!(now, mode, "{mode:o}");
        }
    }

    #[test]
    fn two_who_write_one_file_do_not_write_into_each_others() {
        let outer = workspace();
        let confined = confined(&outer);
        let whole = [vec![b'a'; 300_000], vec![b'b'; 100_000]];
        std::thread::scope(|scope| {
            for content in &whole {
                scope.spawn(|| (0..50).for_each(|_| confined.write("both", content).unwrap()));
            }
        });
        let left = fs::read(outer.path().join("work/both")).unwrap();
        assert!(whole.contains(&left), "{} bytes", left.len());
        let names = fs::read_dir(outer.path().join("work")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(names.filter(|name| name.starts_with(".tmp-")).count(), 0);
    }

    #[test]
    fn names_that_nobody_can_say_are_counted() {
        use std::os::unix::ffi::OsStrExt;
        let outer = workspace();
        let name = std::ffi::OsStr::from_bytes(b"odd-\xff");
        fs::write(outer.path().join("work/src").join(name), "x").unwrap();
        let found = confined(&outer).list("src", 10).unwrap();
        assert_eq!((found.entries.len(), found.unnamed, found.more), (2, 1, false));
    }

    #[test]
    fn a_kernel_without_the_call_follows_no_link() {
        let outer = workspace();
        let root = confined(&outer).root;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        let open = |path: &str| no_links::step_by_step(root.as_fd(), Path::new(path), flags, Mode::empty());
        assert!(open("src/b.rs").is_ok());
        for path in ["inside", "leads-out", "up/outside.txt"] {
            assert!(open(path).is_err(), "{path}");
        }
    }
}
