//! Where children's output goes: files that get their name only once there is something in them.
//!
//! Most children print nothing, and creating two files to remove them again costs more than anything else the supervisor
//! does for such a child. So a child writes to a file without a name, made in the folder of the one that was asked for.
//! At its end a file with something in it gets its name; an empty one goes to the next child, and the file system never
//! heard of either. Where that is not possible (another system, a file system that cannot do it, something already there
//! under the name), the file has its name from the start and is removed if it stays empty.
//!
//! Two children never write to the same file: one that is given out is in nobody's pool, and it comes back only when the
//! system says that no other process has it open.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, OFlags, access};
use rustix::process::{Resource, getrlimit};

use super::platform::{Reopen, Unnamed};
use super::sealed::{AnswerPipe, not_kept};
use crate::files::{open_blocking, remove_file};
use rules::domain::Digest;

/// One output of a running child. To be given to [`Outputs::settle`] when the child has ended.
#[derive(Debug)]
pub enum Output {
    /// The file has its name.
    Named(PathBuf),
    /// The output comes by a pipe.
    Piped(AnswerPipe),
    /// The file gets its name at the end, if there is something in it.
    Unnamed { file: Unnamed, folder: OutputFolder, path: PathBuf },
}

impl Output {
    /// How much is in it by now; nothing where that cannot be told, or where it is bounded already. A file that only
    /// claims to be long holds nothing: whoever reads it later refuses it for what it is.
    pub fn length(&self) -> u64 {
        let found = match self {
            Self::Named(path) => fs::symlink_metadata(path),
            Self::Unnamed { file, .. } => file.metadata(),
            Self::Piped(_) => return 0,
        };
        let held = |found: &fs::Metadata| found.blocks().saturating_mul(512 * 64) >= found.len();
        found.ok().filter(held).map_or(0, |found| found.len())
    }

    /// Drops what lies behind so many bytes. Whoever writes appends, and goes on there.
    pub fn cut(&self, length: u64) -> io::Result<()> {
        match self {
            Self::Named(path) => open_blocking(path, OFlags::WRONLY)?.set_len(length),
            Self::Unnamed { file, .. } => file.cut(length),
            Self::Piped(_) => Ok(()),
        }
    }
}

/// The identity of a folder, whatever it is called, and its owner and rights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OutputFolder {
    device: u64,
    inode: u64,
    owner: u32,
    mode: u32,
}

/// The folder that was last found to be there, while the outputs of one child are opened: both are in the same one.
#[derive(Debug, Default)]
pub struct CheckedFolder(Option<(PathBuf, OutputFolder)>);

impl CheckedFolder {
    fn folder(&mut self, path: &Path) -> Option<OutputFolder> {
        if let Some((_, folder)) = self.0.as_ref().filter(|(checked, _)| checked == path) {
            return Some(*folder);
        }
        let folder = OutputFolder::at(path).ok()?;
        self.0 = Some((path.to_owned(), folder));
        Some(folder)
    }
}

/// The pool of files without a name.
#[derive(Debug)]
pub struct Outputs {
    /// Empty files that only the supervisor has open, with the folder each was made in. There are never more than
    /// children had outputs at the same time.
    idle: Vec<(OutputFolder, Unnamed)>,
    /// How many files without a name exist, idle or given to a child.
    open: usize,
    /// How many may exist: each takes a descriptor, and the supervisor needs some for other things.
    most: usize,
    /// Devices whose file systems cannot make files without a name.
    unable: HashSet<u64>,
    reopen: Reopen,
}

impl Outputs {
    pub fn new() -> Outputs {
        let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        Outputs {
            idle: Vec::new(),
            open: 0,
            most: usize::try_from(descriptors / 2).unwrap_or(usize::MAX),
            unable: HashSet::new(),
            reopen: Reopen::new(),
        }
    }

    /// A file for a child that will be found at `path` if the child writes to it. What is at `path` already is emptied;
    /// a link, a folder or anything but a regular file is refused, and so is a folder that cannot be written to.
    ///
    /// All writing appends, so that several processes of one child do not overwrite each other.
    pub fn open(&mut self, path: &Path, checked: &mut CheckedFolder) -> io::Result<(Output, File)> {
        if let Some((folder, file)) = self.unnamed(path, checked) {
            if let Ok(writer) = self.reopen.writer(&file) {
                let path = path.to_owned();
                return Ok((Output::Unnamed { file, folder, path }, writer));
            }
            self.open -= 1;
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND;
        let file = open_blocking(path, flags)?;
        Ok((Output::Named(path.to_owned()), file))
    }

    /// An empty file that can be given the name `path` later. None whenever anything about that is not plain: then the
    /// file is opened under its name, which either works or says what is wrong.
    fn unnamed(&mut self, path: &Path, checked: &mut CheckedFolder) -> Option<(OutputFolder, Unnamed)> {
        let free =
            matches!(fs::symlink_metadata(path), Err(error) if error.kind() == io::ErrorKind::NotFound);
        // A name that ends in a slash means a folder.
        if !free || path.as_os_str().as_bytes().ends_with(b"/") {
            return None;
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty())?;
        let folder = checked.folder(parent)?;
        if let Some(at) = self.idle.iter().rposition(|(of, _)| *of == folder) {
            return Some(self.idle.swap_remove(at));
        }
        if self.open >= self.most || self.unable.contains(&folder.device) {
            return None;
        }
        // It gets its name later, and somebody may be allowed to make a file there that has none.
        access(parent, Access::WRITE_OK | Access::EXEC_OK).ok()?;
        match Unnamed::create(parent) {
            Ok(file) => {
                self.open += 1;
                Some((folder, file))
            }
            Err(error) => {
                if error.kind() == io::ErrorKind::Unsupported {
                    self.unable.insert(folder.device);
                }
                None
            }
        }
    }

    /// Takes back the output of a child that has ended: its length, where 0 means that there is no file, and what it held,
    /// where no other process can have written it.
    ///
    /// # Errors
    ///
    /// What was written is lost.
    pub fn settle(&mut self, output: Output) -> io::Result<(u64, Option<Digest>)> {
        match output {
            Output::Piped(answer) => answer.settle().map(|(length, digest)| (length, Some(digest))),
            Output::Named(path) => settle_named(&path).map(|length| (length, None)),
            Output::Unnamed { file, folder, path } => {
                if file.is_as_new() {
                    self.idle.push((folder, file));
                    return Ok((0, None));
                }
                // Something is in it, or somebody still has it open: a process that left its tree and was not found, or
                // a reader. The next child's output must not be mixed with what the one writes, nor shown to the other.
                self.open -= 1;
                let named = file.metadata().and_then(|found| match found.len() {
                    0 => Ok(0),
                    length => file.give_name(&path).map(|()| length),
                });
                let length = named.map_err(|error| not_kept(&path, &error))?;
                Ok((length, None))
            }
        }
    }
}

impl OutputFolder {
    fn at(path: &Path) -> io::Result<OutputFolder> {
        let metadata = fs::metadata(path)?;
        Ok(OutputFolder {
            device: metadata.dev(),
            inode: metadata.ino(),
            owner: metadata.uid(),
            mode: metadata.mode(),
        })
    }
}

/// The length of an output that had its name from the start; an empty one is removed.
fn settle_named(path: &Path) -> io::Result<u64> {
    let lost = |why: &str| Err(io::Error::other(format!("`{}` is lost: {why}", path.display())));
    match fs::symlink_metadata(path) {
        Err(error) => lost(&error.to_string()),
        Ok(metadata) if !metadata.is_file() => lost("something else took its place"),
        Ok(metadata) => {
            if metadata.len() == 0 {
                // It only stays as an empty file then.
                let _ = remove_file(path);
            }
            Ok(metadata.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_system_that_cannot_is_asked_once() {
        use crate::refused_calls::{Argument, Refused, filter, install};
        // For this thread no file system makes a file without a name.
        let unnamed = i32::try_from(OFlags::TMPFILE.difference(OFlags::DIRECTORY).bits()).unwrap();
        let refused = [
            // Its flags cannot be looked at; who finds it unknown goes on with the older call.
            Refused::unknown(libc::SYS_openat2),
            Refused { call: libc::SYS_openat, with: Argument::having(2, unnamed), error: libc::EOPNOTSUPP },
        ];
        install(&mut filter(&refused)).unwrap();
        let place = tempfile::tempdir().unwrap();
        let device = fs::metadata(place.path()).unwrap().dev();
        let mut outputs = Outputs::new();
        let (output, _) = outputs.open(&place.path().join("out"), &mut CheckedFolder::default()).unwrap();
        assert!(matches!(output, Output::Named(_)));
        assert_eq!((&outputs.unable, outputs.open), (&HashSet::from([device]), 0));
        // Where nothing can be made under a name either, that is what is told.
        let error =
            outputs.open(&place.path().join("missing/out"), &mut CheckedFolder::default()).unwrap_err();
        assert_eq!((error.kind(), outputs.open), (io::ErrorKind::NotFound, 0));
    }

    #[test]
    fn where_files_cannot_be_without_a_name_they_have_one() {
        let place = tempfile::tempdir().unwrap();
        let mut outputs = Outputs::new();
        outputs.unable.insert(fs::metadata(place.path()).unwrap().dev());
        for (text, length) in [("", 0), ("text", 4)] {
            let path = place.path().join("out");
            fs::write(&path, "stale").unwrap();
            let (output, mut file) = outputs.open(&path, &mut CheckedFolder::default()).unwrap();
            assert!(matches!(output, Output::Named(_)));
            assert_eq!(fs::read(&path).unwrap(), b"");
            file.write_all(text.as_bytes()).unwrap();
            drop(file);
            assert_eq!(outputs.settle(output).unwrap(), (length, None));
            assert_eq!(fs::read_to_string(&path).ok(), (length > 0).then(|| text.to_owned()));
        }
    }

    #[test]
    fn a_writer_that_is_still_there_keeps_its_file() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("out");
        let mut outputs = Outputs::new();
        let (output, held) = outputs.open(&path, &mut CheckedFolder::default()).unwrap();
        assert_eq!(outputs.settle(output).unwrap(), (0, None));
        assert!(outputs.idle.is_empty());
        assert_eq!(outputs.open, 0);
        drop(held);
        for _ in 0..2 {
            let (output, file) = outputs.open(&path, &mut CheckedFolder::default()).unwrap();
            drop(file);
            assert_eq!(outputs.settle(output).unwrap(), (0, None));
        }
        let linux = usize::from(cfg!(target_os = "linux"));
        assert_eq!((outputs.idle.len(), outputs.open), (linux, linux));
        assert!(!path.exists());
    }
}
