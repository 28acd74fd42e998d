//! Small files of the state: lines with checksums, read whole and replaced whole (dead letters, requests).

use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::lock::LockError;
use supervisor::files::{checked_line, if_there, read_regular, replace_file};

/// Why such a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateFileError {
    /// A line is not what was written.
    #[error("{path} is damaged, line {line}: {why}; move the file away to go on without it")]
    Damaged {
        /// The path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The mistake in the line.
        why: String,
    },
    /// The file holds as much as it may.
    #[error("{0} is full; remove what is old")]
    Full(PathBuf),
    /// The file system said no.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The path that was touched.
        path: PathBuf,
        source: io::Error,
    },
    /// Another process writes and does not end.
    #[error(transparent)]
    Locked(#[from] LockError),
}

impl StateFileError {
    /// The file system said no about this path.
    pub fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Reads the lines of a file; a missing one has none. A torn last line never happened.
pub fn read_lines<T: DeserializeOwned>(path: &Path, longest: u64) -> Result<Vec<T>, StateFileError> {
    let bytes = if_there(read_regular(path, longest)).map_err(StateFileError::io(path))?;
    let bytes = bytes.unwrap_or_default();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let lines = lines.filter_map(|line| line.strip_suffix(b"\n"));
    let read = |(number, line)| {
        let whole = checked_line::verify(line).map_err(str::to_owned);
        let value = whole.and_then(|()| serde_json::from_slice(line).map_err(|error| error.to_string()));
        value.map_err(|why| StateFileError::Damaged { path: path.to_owned(), line: number, why })
    };
    (1..).zip(lines).map(read).collect()
}

/// Puts these lines in the place of what is there, in one step.
pub fn replace_lines<T: Serialize>(path: &Path, values: &[T]) -> Result<(), StateFileError> {
    let mut bytes = Vec::new();
    let encoded = values.iter().try_for_each(|value| {
        checked_line::encode(&mut bytes, value)?;
        bytes.push(b'\n');
        Ok::<_, serde_json::Error>(())
    });
    let replaced = encoded.map_err(io::Error::from).and_then(|()| replace_file(path, &bytes));
    replaced.map_err(StateFileError::io(path))
}
