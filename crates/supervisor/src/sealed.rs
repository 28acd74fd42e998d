//! What a child is asked, and what it answers, where others may want to change either.
//!
//! Every child reads its input from a copy that cannot be written to: the descriptor of a file would lead to the record of it.
//! Whoever judges prints into a pipe whose other end only the supervisor holds: what others add to it stands beside the
//! answer, and nothing of the answer is taken away. The files that it may read instead are held against what they were when
//! it started.

use std::fs::File;
use std::io::{self, PipeReader, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, fcntl_setfl};

use super::platform;
use super::protocol::RequestFile;
use crate::files::{if_there, open_blocking, remove_file, write_new};
use rules::domain::Digest;

/// The largest file that a child is asked by, in bytes.
const LARGEST_REQUEST: u64 = 64 << 20;
/// How much of an answer is kept, in bytes; far more than any reader of answers takes.
const MOST_KEPT: usize = 16 << 20;
/// The most bytes of an answer that are shown at once.
const MOST_SHOWN: usize = 1 << 20;
/// How much is read at once, in bytes: what a pipe holds.
const PIECE: usize = 64 << 10;
/// How many pieces are read of what another process may go on writing.
const MOST_PIECES: usize = 1 << 10;

/// Device and number of a file, its length, and when it was last written to and changed: the last cannot be set
/// by a program.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

fn stamp(file: &std::fs::Metadata) -> FileStamp {
    let (written, changed) = ((file.mtime(), file.mtime_nsec()), (file.ctime(), file.ctime_nsec()));
    (file.ino(), file.len(), written, changed)
}

/// The files that a running child is asked by.
#[derive(Debug, Default)]
pub struct RequestFiles {
    files: Vec<(PathBuf, FileStamp)>,
    /// A copy of what it reads as its standard input.
    pub input: Option<File>,
}

impl RequestFiles {
    /// Holds the files against what they must be, and copies the one at `input`.
    ///
    /// # Errors
    /// Which file is not what was written, or cannot be read.
    pub fn open(requests: &[RequestFile], input: Option<&Path>) -> io::Result<RequestFiles> {
        let mut request = RequestFiles::default();
        for RequestFile { path, digest } in requests {
            let (bytes, stamp) = read(path)?;
            if Digest::of(&bytes) != *digest {
                return Err(io::Error::other(changed(path)));
            }
            if input == Some(path.as_path()) {
                request.input = Some(unwritable(path, &bytes)?);
            }
            request.files.push((path.clone(), stamp));
        }
        if let (Some(path), None) = (input, &request.input) {
            request.input = Some(unwritable(path, &read(path)?.0)?);
        }
        Ok(request)
    }

    /// The first of the files that was touched since; `None` where none was.
    pub fn changed(&self) -> Option<String> {
        let is_same = |(path, was): &&(PathBuf, FileStamp)| {
            std::fs::symlink_metadata(path).is_ok_and(|found| stamp(&found) == *was)
        };
        let touched = self.files.iter().find(|file| !is_same(file));
        touched.map(|(path, _)| changed(path))
    }
}

fn changed(path: &Path) -> String {
    format!("what it was asked was changed by somebody else: `{}`", path.display())
}

fn read(path: &Path) -> io::Result<(Vec<u8>, FileStamp)> {
    let read = || {
        let file = open_blocking(path, OFlags::RDONLY)?;
        let found = file.metadata()?;
        if found.len() > LARGEST_REQUEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let mut bytes = Vec::new();
        file.take(LARGEST_REQUEST).read_to_end(&mut bytes)?;
        Ok((bytes, stamp(&found)))
    };
    read().map_err(|error| unreadable(path, &error))
}

fn unreadable(path: &Path, why: &io::Error) -> io::Error {
    io::Error::other(format!("cannot read `{}`: {why}", path.display()))
}

/// A copy of a file's bytes that nobody can write to; the file itself where the system has no such copies.
fn unwritable(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let copy = match platform::sealed(bytes) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => open_blocking(path, OFlags::RDONLY),
        sealed => sealed,
    };
    copy.map_err(|error| unreadable(path, &error))
}

/// The error that the output for this path is lost.
pub fn not_kept(path: &Path, why: &io::Error) -> io::Error {
    io::Error::other(format!("`{}` could not be kept: {why}", path.display()))
}

/// An answer that is on its way.
#[derive(Debug)]
pub struct AnswerPipe {
    path: PathBuf,
    pipe: PipeReader,
    kept: Vec<u8>,
    /// Nobody holds the other end any more.
    ended: bool,
}

impl AnswerPipe {
    /// A pipe for a child whose answer is to stand at `path`: our end, and the child's.
    pub fn open(path: &Path) -> io::Result<(AnswerPipe, File)> {
        let (pipe, writer) = io::pipe()?;
        fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        let answer = AnswerPipe { path: path.to_owned(), pipe, kept: Vec::new(), ended: false };
        Ok((answer, File::from(OwnedFd::from(writer))))
    }

    /// The descriptor to wait at; `None` once nothing more comes.
    pub fn waits(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.pipe.as_fd())
    }

    /// Takes in what is there. What is too much is read and dropped, so that no process waits for room.
    pub fn read_available(&mut self) {
        let mut piece = [0; PIECE];
        for _ in 0..MOST_PIECES {
            match self.pipe.read(&mut piece) {
                Ok(0) => {
                    self.ended = true;
                    return;
                }
                Ok(read) => {
                    let room = MOST_KEPT - self.kept.len();
                    self.kept.extend_from_slice(&piece[..read.min(room)]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // There is nothing now, or never again.
                Err(_) => return,
            }
        }
    }

    /// A piece of the answer behind the first `from` bytes; `None` where nothing has come.
    pub fn after(&self, from: u64) -> Option<&[u8]> {
        let new = self.kept.get(usize::try_from(from).ok()?..)?;
        let piece = &new[..new.len().min(MOST_SHOWN)];
        (!piece.is_empty()).then_some(piece)
    }

    /// Puts the answer where it is to be, in place of whatever stands there: its length, where 0 means that there is no
    /// file, and its digest.
    ///
    /// # Errors
    /// It is lost.
    pub fn settle(mut self) -> io::Result<(u64, Digest)> {
        self.read_available();
        let lost = |error| not_kept(&self.path, &error);
        if_there(remove_file(&self.path)).map_err(lost)?;
        if !self.kept.is_empty() {
            write_new(&self.path, &self.kept).map_err(lost)?;
        }
        Ok((self.kept.len() as u64, Digest::of(&self.kept)))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_request_is_what_was_written_and_stays_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("request");
        let told = |text: &str| vec![RequestFile { path: path.clone(), digest: Digest::of(text.as_bytes()) }];
        std::fs::write(&path, "be strict").unwrap();
        assert!(RequestFiles::open(&told("be kind"), None).is_err());
        let request = RequestFiles::open(&told("be strict"), Some(&path)).unwrap();
        assert_eq!(request.changed(), None);
        #[cfg(target_os = "linux")]
        {
            let mut input = request.input.as_ref().unwrap();
            assert!(input.write_all(b"x").is_err());
            assert!(input.set_len(0).is_err());
            let mut text = String::new();
            input.read_to_string(&mut text).unwrap();
            assert_eq!(text, "be strict");
        }
        // The same words again are another file.
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "be strict").unwrap();
        assert!(request.changed().unwrap().contains("request"));
    }

    #[test]
    fn an_answer_is_kept_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reply");
        std::fs::write(&path, "planted").unwrap();
        let (answer, writer) = AnswerPipe::open(&path).unwrap();
        drop(writer);
        assert_eq!(answer.settle().unwrap().0, 0);
        assert!(!path.exists());
        let (mut answer, mut writer) = AnswerPipe::open(&path).unwrap();
        let line = vec![b'x'; PIECE];
        for _ in 0..=MOST_KEPT / PIECE {
            writer.write_all(&line).unwrap();
            answer.read_available();
        }
        assert!(answer.waits().is_some());
        let (length, digest) = answer.settle().unwrap();
        assert_eq!(length, MOST_KEPT as u64);
        assert_eq!(digest, Digest::of(&std::fs::read(&path).unwrap()));
    }
}
