//! Files of the spool: sealing what a record will vouch for, and reading it back in bounded pieces.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;

use crate::agents::secrets::Secrets;
use crate::review::evidence;
use crate::review::fence::TextExcerpt;
use crate::store::{RunFolder, SpoolName};
use rules::domain::{Digest, Hasher, TurnId, without_mark};
use rules::engine::{FileRef, OutputRefs, Usage};
use supervisor::files;
use supervisor::files::no_links::OpenFolder;
use supervisor::{ChildExit, RequestFile};

use super::error::WorkError;

/// The largest result file that is read.
const LARGEST_RESULT: u64 = 1024 * 1024;
/// The largest file that is taken for what somebody said. A file may claim to be far larger than the disk, and taking
/// its digest would then hold the run up for hours.
const LARGEST_SAID: u64 = 1 << 30;

/// The claims of an agent in its result file. Claims, not evidence.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResultClaims {
    pub output: Option<String>,
    pub question: Option<String>,
    pub model: Option<String>,
    pub usage: ClaimedUsage,
    pub delegate: serde_json::Value,
    pub nothing_to_do: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimedUsage {
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    cost: Option<serde_json::Number>,
}

impl ClaimedUsage {
    /// Missing or negative usage is unknown, never free.
    pub fn as_usage(&self) -> Usage {
        let known = |tokens: Option<i64>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
        Usage {
            input_tokens: known(self.input_tokens),
            output_tokens: known(self.output_tokens),
            cost: self.cost.as_ref().and_then(|cost| cost.to_string().parse().ok()),
        }
    }
}

/// Takes out of a file of the spool what nobody may read. One that cannot be cleaned is not kept. Blocks.
///
/// # Errors
/// Why it is gone.
pub fn clean_file(secrets: &Secrets, path: &Path) -> Result<(), WorkError> {
    secrets.redact_file(path).map_err(|error| {
        let kept = files::remove_file(path).err();
        let kept = kept.map_or_else(String::new, |error| format!(", nor can it be removed: {error}"));
        format!("keys cannot be taken out of {}: {error}{kept}", path.display()).into()
    })
}

/// Whether a file is still what the supervisor took in of it, where that is known. Blocks.
///
/// # Errors
/// That it is not.
pub fn is_as_printed(path: &Path, exit: &ChildExit) -> Result<(), WorkError> {
    let Some(printed) = exit.stdout_digest.filter(|_| exit.output_lost.is_none()) else {
        return Ok(());
    };
    let found = digest(path, LARGEST_SAID)?;
    if found.map_or_else(|| Digest::of(b""), |(_, found)| found.digest) == printed {
        Ok(())
    } else {
        Err(format!("{} is not what was printed", path.display()).into())
    }
}

/// Makes sure that there is nothing at a path of the spool. Blocks.
///
/// # Errors
/// Why something is left.
pub fn clear(path: &Path) -> Result<(), WorkError> {
    files::remove_all(path).map_err(WorkError::file("remove", path))
}

/// Writes a file of the spool anew. Blocks.
///
/// # Errors
/// Why it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), WorkError> {
    files::write_new(path, bytes).map_err(WorkError::file("write", path))
}

/// Writes a file by which somebody is asked. Blocks.
///
/// # Errors
/// Why it cannot be written.
pub fn write_request(path: &Path, bytes: &[u8]) -> Result<RequestFile, WorkError> {
    write(path, bytes)?;
    Ok(RequestFile { path: path.to_owned(), digest: Digest::of(bytes) })
}

/// Makes a file durable and takes its length and digest, so that a record can name it; `None` if there is nothing, or an
/// empty file. Blocks.
///
/// # Errors
/// When it is not a regular file, or cannot be read.
pub fn seal(path: &Path) -> io::Result<Option<FileRef>> {
    seal_within(path, LARGEST_SAID)
}

/// Writes a file of the spool and seals it. Blocks.
///
/// # Errors
/// Why it cannot be written.
pub fn write_sealed(path: &Path, bytes: &[u8]) -> Result<FileRef, WorkError> {
    write(path, bytes)?;
    sealed(path)
}

/// Seals a file of the spool that was written. Blocks.
///
/// # Errors
/// Why it is not there any more, or not on the disk.
pub fn sealed(path: &Path) -> Result<FileRef, WorkError> {
    let file = seal(path).map_err(WorkError::lost(path.display().to_string()))?;
    file.ok_or_else(|| format!("{} is gone", path.display()).into())
}

fn seal_within(path: &Path, largest: u64) -> io::Result<Option<FileRef>> {
    let Some((file, found)) = digest(path, largest)? else {
        return Ok(None);
    };
    files::sync_file(&file)?;
    Ok(Some(found))
}

/// Length and digest of what is at a path; `None` for nothing or an empty file.
fn digest(path: &Path, largest: u64) -> io::Result<Option<(File, FileRef)>> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let stated = file.metadata()?.len();
    let too_large = |len: u64| io::Error::other(format!("it has {len} bytes, more than {largest}"));
    if stated > largest {
        return Err(too_large(stated));
    }
    // It may grow while it is read.
    let (len, digest) = evidence::digest(&file, largest)?;
    let digest = digest.ok_or_else(|| too_large(len))?;
    Ok((len > 0).then_some((file, FileRef { length: len, digest })))
}

/// Opens a regular file without following a link and without waiting for a FIFO; `None` if there is nothing.
fn open_regular(path: &Path) -> io::Result<Option<File>> {
    files::if_there(files::open_of_any_length(path))
}

/// The length of a regular file; `None` for anything else.
pub fn open_regular_len(path: &Path) -> Option<u64> {
    let file = open_regular(path).ok().flatten()?;
    Some(file.metadata().ok()?.len())
}

/// Reads a result file: regular, at most 1 MiB, links not followed. `Ok(None)` if there is none.
///
/// # Errors
/// What is wrong with it.
pub fn read_claims(path: &Path) -> Result<Option<(FileRef, ResultClaims)>, WorkError> {
    let unreadable = || WorkError::lost("the result file cannot be read");
    let sealed = seal_within(path, LARGEST_RESULT).inspect_err(|_| {
        // What is refused is nobody's any more, however large it is.
        let _ = OpenFolder::of(path).and_then(|(folder, name)| folder.remove(name));
    });
    let Some(file) = sealed.map_err(unreadable())? else {
        return Ok(None);
    };
    let text = read_head(path, LARGEST_RESULT).map_err(unreadable())?;
    let claims =
        parse_claims(&text).map_err(|error| format!("the result file is not what it should be: {error}"))?;
    Ok(Some((file, claims)))
}

/// An object and nothing else: a list would be taken for the fields in their order.
fn parse_claims(text: &str) -> serde_json::Result<ResultClaims> {
    let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(without_mark(text))?;
    serde_json::from_value(object.into())
}

/// The first `most` bytes of a file as text; empty if there is none.
pub fn read_head(path: &Path, most: u64) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&read_head_bytes(path, most)?).into_owned())
}

/// The first `most` bytes of a file as they stand there; empty if there is none.
pub fn read_head_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(file) = open_regular(path)? {
        file.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The beginning of a file of the spool and its whole length; `None` if there is no such regular file. Blocks.
pub fn preview(path: &Path, most: u64) -> Option<(String, u64)> {
    let file = open_regular(path).ok().flatten()?;
    let len = file.metadata().ok()?.len();
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some((String::from_utf8_lossy(&bytes).into_owned(), len))
}

/// The last `most` bytes of a file as text; empty if there is none.
pub fn read_tail(path: &Path, most: u64) -> io::Result<String> {
    use std::io::{Seek, SeekFrom};
    let Some(mut file) = open_regular(path)? else {
        return Ok(String::new());
    };
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads the output of a task's last turn, checked against the record that vouches for it. Of a long output the
/// beginning and the end, each at most `most` bytes. Blocks.
///
/// # Errors
///
/// When the file is not the one that the record names: then that evidence is lost.
pub fn read_output(
    run: &RunFolder,
    turn: TurnId,
    output: &OutputRefs,
    most: usize,
) -> io::Result<TextExcerpt> {
    if let Some(result) = &output.result {
        let path = run.spool_file(&SpoolName::Result(turn));
        let bytes = read_recorded(&path, result, LARGEST_RESULT, |file| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map(|_| bytes)
        })?;
        let claims = parse_claims(&String::from_utf8_lossy(&bytes)).ok();
        if let Some(claimed) = claims.and_then(|claims| claims.output) {
            return Ok(TextExcerpt::whole(claimed));
        }
    }
    let Some(stdout) = &output.stdout else {
        return Ok(TextExcerpt::default());
    };
    let path = run.spool_file(&SpoolName::Out(turn));
    read_recorded(&path, stdout, LARGEST_SAID, |file| ends(file, most))
}

/// A reader that takes the digest of what it hands out.
struct Hashed<R> {
    inner: R,
    hasher: Hasher,
    len: u64,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..read]);
        self.len += read as u64;
        Ok(read)
    }
}

/// Reads a file that a record vouches for, of at most `largest` bytes. What is handed out is what was looked at.
///
/// # Errors
/// When it is not as recorded, however it came to that.
fn read_recorded<T>(
    path: &Path,
    expected: &FileRef,
    largest: u64,
    read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
) -> io::Result<T> {
    let Some(file) = open_regular(path)? else {
        return Err(is_gone(path));
    };
    if file.metadata()?.len() != expected.length || expected.length > largest {
        return Err(is_another(path));
    }
    let mut file = Hashed { inner: file.take(expected.length + 1), hasher: Hasher::default(), len: 0 };
    let found = read(&mut file)?;
    io::copy(&mut file, &mut io::sink())?;
    if (file.len, file.hasher.finish()) != (expected.length, expected.digest) {
        return Err(is_another(path));
    }
    Ok(found)
}

/// The first and the last `most` bytes of a file as text, and how many characters lie between them.
pub fn read_ends(path: &Path, most: usize) -> io::Result<TextExcerpt> {
    match open_regular(path)? {
        Some(mut file) => ends(&mut file, most),
        None => Ok(TextExcerpt::default()),
    }
}

fn ends(file: &mut dyn Read, most: usize) -> io::Result<TextExcerpt> {
    let mut head = Vec::new();
    file.take(most as u64).read_to_end(&mut head)?;
    let mut tail: Vec<u8> = Vec::new();
    let mut missing = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        tail.extend_from_slice(&buffer[..read]);
        if tail.len() > most {
            let surplus = tail.len() - most;
            // Bytes of UTF-8 that begin a character.
            let begin = tail.drain(..surplus).filter(|byte| byte & 0b1100_0000 != 0b1000_0000);
            missing += begin.count();
        }
    }
    if missing == 0 {
        head.append(&mut tail);
        return Ok(TextExcerpt::whole(String::from_utf8_lossy(&head)));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(TextExcerpt { head: text(&head), missing, tail: text(&tail) })
}

/// Whether a file is the one that a record vouches for.
pub fn check(path: &Path, expected: &FileRef) -> io::Result<()> {
    is_as_recorded(path, &expected.into())
}

/// The recorded content of a file.
pub struct Recorded {
    /// The length in bytes, where it is recorded.
    pub len: Option<u64>,
    pub digest: Digest,
}

impl From<&FileRef> for Recorded {
    fn from(file: &FileRef) -> Self {
        Self { len: Some(file.length), digest: file.digest }
    }
}

/// Whether a file is what was recorded.
pub fn is_as_recorded(path: &Path, expected: &Recorded) -> io::Result<()> {
    match digest(path, expected.len.unwrap_or(LARGEST_SAID))? {
        Some((_, found))
            if found.digest == expected.digest && expected.len.is_none_or(|len| len == found.length) =>
        {
            Ok(())
        }
        Some(_) => Err(is_another(path)),
        None => Err(is_gone(path)),
    }
}

fn is_another(path: &Path) -> io::Error {
    io::Error::other(format!("{} is not what was recorded", path.display()))
}

fn is_gone(path: &Path) -> io::Error {
    io::Error::other(format!("{} was recorded and is gone", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use supervisor::files::syncs_double::on_a_disk;

    #[test]
    fn no_record_vouches_for_an_output_that_is_not_on_the_disk() {
        let place = files::no_links::scratch_folder().unwrap();
        let path = place.path().join("0.1.1.out");
        fs::write(&path, "said").unwrap();
        let said = FileRef { length: 4, digest: Digest::of(b"said") };
        let (sealed, synced) = on_a_disk(None, || seal(&path));
        assert_eq!((sealed.unwrap(), synced), (Some(said), vec![(path.clone(), 4)]));
        on_a_disk(Some(0), || seal(&path)).0.unwrap_err();
        // So is what an agent left in its result file.
        let claims = place.path().join("result.json");
        fs::write(&claims, "{\"output\": \"done\"}").unwrap();
        let (read, synced) = on_a_disk(None, || read_claims(&claims));
        assert!(read.unwrap().is_some());
        assert_eq!(synced, [(claims.clone(), 18)]);
        assert!(on_a_disk(Some(0), || read_claims(&claims)).0.is_err());
        // What says nothing has nothing to lose.
        fs::write(&path, "").unwrap();
        for path in [&path, &place.path().join("missing")] {
            let (sealed, synced) = on_a_disk(Some(0), || seal(path));
            assert_eq!((sealed.unwrap(), synced.len()), (None, 0));
        }
    }
}
