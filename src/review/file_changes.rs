//! What stands in the files that a task's rules name, before and after a turn: how the runtime sees for itself what a
//! turn did to them (semantics, sections 1 and 6; protected paths).
//!
//! Links are never followed: a link is itself what stands there. What cannot be read is said, by name; it never counts
//! as unchanged. Only what the patterns name is walked through and read, and all of it is bounded.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use globset::{GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use rules::domain::Digest;
use rules::mission::paths::readings;

use super::evidence::{digest, open_as_named};

/// How many files the patterns of one task may name.
const MOST_FILES: usize = 20_000;
/// How many entries of folders are looked at to find them.
const MOST_ENTRIES: usize = 500_000;
/// How many bytes are read in one look. Of what goes beyond, size and times of change stand for the content: the time
/// at which the system saw the last change cannot be set by a program.
pub const MOST_READ: u64 = 2 << 30;
/// How deep folders are followed.
const DEEPEST: usize = 64;

/// Patterns and the folder that they are relative to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The absolute path of the folder.
    pub root: PathBuf,
    /// Paths or globs. One that names a folder means everything in it.
    pub patterns: Vec<String>,
}

/// The state of files, by absolute path.
pub type FileMarks = BTreeMap<String, PathState>;

/// The state of one path.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PathState {
    /// The path is a regular file.
    #[serde(rename = "f")]
    File {
        /// The size in bytes.
        #[serde(rename = "n")]
        size: u64,
        /// The digest of the bytes; `None` where they were not read.
        #[serde(rename = "d")]
        digest: Option<Digest>,
        /// The identity of the file, and when it was last changed.
        #[serde(rename = "s")]
        stamp: Stamp,
        /// Whether the file may be executed; `None` where nobody looked.
        #[serde(rename = "x")]
        executable: Option<bool>,
    },
    /// A link, with what it leads to.
    #[serde(rename = "l")]
    Link(String),
    /// A pipe, a socket, a device.
    #[serde(rename = "o")]
    Other,
}

/// Inode, time of the last write, time of the last change (seconds and nanoseconds).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Stamp(u64, (i64, i64), (i64, i64));

impl Stamp {
    /// The stamp of a file.
    pub fn of(found: &Metadata) -> Self {
        Self(found.ino(), (found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()))
    }
}

/// The number of files that a turn changed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FileDifference {
    /// Files whose content is another one, that appeared or vanished.
    pub changed: u32,
    /// Files as in `changed`, and files that were written anew with the bytes that they held.
    pub written: u32,
}

/// Looks at everything that the patterns name, but nothing in the folder `never`, and reads so many bytes of it. Blocks.
///
/// # Errors
/// One sentence for each thing that cannot be told.
pub fn look(scopes: &[Scope], never: &Path, most_read: u64) -> Result<FileMarks, Vec<String>> {
    let nothing = KnownFiles::default();
    let mut look = FileScan::new(never, &nothing);
    look.most_read = most_read;
    for scope in scopes {
        look.scope(scope);
    }
    look.finish()
}

/// The state of files at some moment. A file that shows no change since need not be read again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KnownFiles {
    /// The state of each file.
    pub marks: FileMarks,
    /// The moment of the look, in seconds and nanoseconds since 1970. A file that was changed about then may
    /// have been changed once more without showing it.
    taken: (i64, i64),
}

/// How old a change must be to show the next one: twice as long as the clock of a file system stands still, which is a tick
/// of the kernel, at most a hundredth of a second.
pub const SHOWS_AFTER: Duration = Duration::from_millis(20);

impl KnownFiles {
    /// The state of files by a record, which has only their digests.
    pub fn recorded(marks: FileMarks) -> Self {
        Self { marks, taken: (0, 0) }
    }

    /// Whether this is what a record says of the file at this path.
    pub fn is_record_of(&self, path: &str) -> bool {
        self.taken == (0, 0) && self.marks.contains_key(path)
    }

    /// The file at this path, if it holds what it held.
    fn still(&self, path: &Path, found: &Metadata) -> Option<&PathState> {
        let known = self.marks.get(&*path.to_string_lossy())?;
        let PathState::File { size, digest: Some(_), stamp, executable } = known else {
            return None;
        };
        let (seconds, nanos) = stamp.2;
        let since = self.taken.0.saturating_sub(seconds).saturating_mul(1_000_000_000);
        let shows =
            i128::from(since.saturating_add(self.taken.1 - nanos)) > SHOWS_AFTER.as_nanos().cast_signed();
        let is_same = *size == found.len() && *stamp == Stamp::of(found);
        (shows && is_same && *executable == Some(is_executable(found))).then_some(known)
    }

    /// Whether each of these files, and whether one is there at all, is as it was. Reads none: what cannot be told so is
    /// not as it was.
    pub fn is_untouched<'p>(&self, files: impl IntoIterator<Item = &'p PathBuf>) -> bool {
        files.into_iter().all(|path| match fs::symlink_metadata(path) {
            Ok(found) if found.is_symlink() => {
                let known = self.marks.get(&*path.to_string_lossy());
                link_at(path).is_ok_and(|now| known == Some(&now))
            }
            Ok(found) => self.still(path, &found).is_some(),
            Err(error) => is_gone(&error) && !self.marks.contains_key(&*path.to_string_lossy()),
        })
    }
}

fn link_at(path: &Path) -> io::Result<PathState> {
    let target = fs::read_link(path)?;
    Ok(PathState::Link(target.to_string_lossy().into_owned()))
}

fn is_executable(found: &Metadata) -> bool {
    found.mode() & 0o111 != 0
}

/// Looks at these files and at everything that the patterns name, but nothing in the folder `never`; what is known already is
/// not read again. Blocks.
///
/// # Errors
/// One sentence for each thing that cannot be told.
pub fn look_again(
    scopes: &[Scope],
    files: &[PathBuf],
    never: &Path,
    known: &KnownFiles,
) -> Result<KnownFiles, Vec<String>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let taken = (i64::try_from(now.as_secs()).unwrap_or(i64::MAX), i64::from(now.subsec_nanos()));
    let mut look = FileScan::new(never, known);
    for path in files {
        if let Some(found) = look.if_there(path, fs::symlink_metadata(path)) {
            look.mark(path, &found);
        }
    }
    for scope in scopes {
        look.scope(scope);
    }
    let marks = look.finish()?;
    Ok(KnownFiles { marks, taken })
}

/// The files that differ, each by its path and in one sentence.
pub fn changed_paths<'m>(
    before: &'m FileMarks,
    after: &'m FileMarks,
    root: &'m Path,
) -> impl Iterator<Item = (&'m str, String)> {
    let paths = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    paths.filter_map(move |path| {
        let what = match (before.get(path), after.get(path)) {
            (Some(old), Some(new)) if same(old, new) => match is_executable_now(old, new) {
                None => return None,
                Some(true) => "was made executable",
                Some(false) => "is not executable any more",
            },
            (Some(PathState::File { .. }), Some(PathState::Link(_))) => "was replaced by a link",
            (Some(_), Some(_)) => "was changed",
            (None, _) => "appeared",
            (Some(_), None) => "is gone",
        };
        Some((path.as_str(), format!("{} {what}", shown(path, root))))
    })
}

/// Whether a file came to be executable, or is it no more; `None` where that is as it was, or unknown.
fn is_executable_now(old: &PathState, new: &PathState) -> Option<bool> {
    match (old, new) {
        (PathState::File { executable: Some(was), .. }, PathState::File { executable: Some(is), .. })
            if was != is =>
        {
            Some(*is)
        }
        _ => None,
    }
}

/// The files whose content is the same and that were touched meanwhile, each by its path and in one sentence.
pub fn restored_paths<'m>(
    before: &'m FileMarks,
    after: &'m FileMarks,
    root: &'m Path,
) -> impl Iterator<Item = (&'m str, String)> {
    before.iter().filter_map(move |(path, old)| {
        let new = after.get(path)?;
        let is_touched = same(old, new) && old != new;
        is_touched.then(|| {
            let said = format!("{} was changed and put back", shown(path, root));
            (path.as_str(), said)
        })
    })
}

/// The files that differ, one sentence each.
pub fn changes(before: &FileMarks, after: &FileMarks, root: &Path) -> Vec<String> {
    let mut said: Vec<String> = changed_paths(before, after, root).map(|(_, said)| said).collect();
    said.sort();
    said
}

/// Counts the files that differ.
pub fn difference(before: &FileMarks, after: &FileMarks) -> FileDifference {
    let mut difference = FileDifference::default();
    let one = |count: &mut u32, yes: bool| *count = count.saturating_add(u32::from(yes));
    for (path, old) in before {
        let new = after.get(path);
        one(&mut difference.changed, new.is_none_or(|new| !same(old, new)));
        one(&mut difference.written, new != Some(old));
    }
    let appeared = after.keys().filter(|path| !before.contains_key(*path)).count();
    let appeared = u32::try_from(appeared).unwrap_or(u32::MAX);
    difference.changed = difference.changed.saturating_add(appeared);
    difference.written = difference.written.saturating_add(appeared);
    difference
}

/// Whether the same stands there. Where one of the two was not read, what the system says about the file decides.
fn same(old: &PathState, new: &PathState) -> bool {
    match (old, new) {
        (PathState::File { digest: Some(old), .. }, PathState::File { digest: Some(new), .. }) => old == new,
        (PathState::File { size: old, stamp: was, .. }, PathState::File { size: new, stamp: is, .. }) => {
            (old, was) == (new, is)
        }
        _ => old == new,
    }
}

/// A path as people know it: beneath the workspace without it.
fn shown<'p>(path: &'p str, root: &Path) -> std::borrow::Cow<'p, str> {
    let beneath = Path::new(path).strip_prefix(root);
    beneath.map_or_else(|_| path.into(), Path::to_string_lossy)
}

/// A pattern of files cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PatternError {
    /// The pattern cannot be read by itself.
    #[error("the pattern {0} cannot be read: {1}")]
    One(String, #[source] globset::Error),
    /// The patterns cannot be read together.
    #[error(transparent)]
    Together(#[from] globset::Error),
}

/// The patterns of some scopes, ready for a path that is about to be written.
#[derive(Debug, Default)]
pub struct Guarded(Vec<(PathBuf, GlobSet)>);

impl Guarded {
    /// Makes the patterns ready.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn of(scopes: &[Scope]) -> Result<Self, PatternError> {
        let ready = |scope: &Scope| {
            let root = fs::canonicalize(&scope.root).unwrap_or_else(|_| scope.root.clone());
            Ok((root, ScopePatterns::of(&scope.patterns)?.globs))
        };
        scopes.iter().map(ready).collect::<Result<_, _>>().map(Self)
    }

    /// Whether any of them names this absolute path, or a folder that it lies in.
    pub fn holds(&self, path: &Path) -> bool {
        self.0.iter().any(|(root, globs)| path.strip_prefix(root).is_ok_and(|inner| globs.is_match(inner)))
    }
}

struct FileScan<'k> {
    known: &'k KnownFiles,
    never: PathBuf,
    marks: FileMarks,
    unknown: Vec<String>,
    entries: usize,
    read: u64,
    most_read: u64,
}

/// The patterns of a scope, made ready.
struct ScopePatterns {
    globs: GlobSet,
    /// Deeper than this no pattern matches what is not in a folder that one names.
    deepest: usize,
    /// The folder or file at which each begins to matter, without those that lie within another.
    beginnings: Vec<PathBuf>,
}

impl ScopePatterns {
    fn of(patterns: &[String]) -> Result<Self, PatternError> {
        let mut globs = GlobSetBuilder::new();
        let mut deepest = 0;
        let mut beginnings = Vec::new();
        for pattern in patterns {
            let parts = parts(pattern);
            for text in [parts.join("/"), format!("{}/**", parts.join("/"))] {
                for glob in readings(&text) {
                    globs.add(glob.map_err(|error| PatternError::One(pattern.clone(), error))?);
                }
            }
            let depth = if parts.iter().any(|part| part.contains("**")) { DEEPEST } else { parts.len() };
            deepest = deepest.max(depth);
            let plain = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{', '\\']));
            beginnings.push(plain.collect::<PathBuf>());
        }
        beginnings.sort();
        beginnings.dedup_by(|later, earlier| later.starts_with(&*earlier));
        let globs = globs.build()?;
        Ok(Self { globs, deepest, beginnings })
    }
}

/// The components of a pattern, without `.` and with `..` resolved: it stays inside, the loader has seen to that.
fn parts(pattern: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in pattern.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts
}

impl<'k> FileScan<'k> {
    fn new(never: &Path, known: &'k KnownFiles) -> Self {
        Self {
            known,
            never: fs::canonicalize(never).unwrap_or_else(|_| never.to_owned()),
            marks: FileMarks::new(),
            unknown: Vec::new(),
            entries: 0,
            read: 0,
            most_read: MOST_READ,
        }
    }

    fn finish(self) -> Result<FileMarks, Vec<String>> {
        if self.unknown.is_empty() { Ok(self.marks) } else { Err(self.unknown) }
    }

    fn scope(&mut self, scope: &Scope) {
        let patterns = match ScopePatterns::of(&scope.patterns) {
            Ok(patterns) => patterns,
            Err(why) => return self.unknown.push(why.to_string()),
        };
        let Some(root) = self.if_there(&scope.root, fs::canonicalize(&scope.root)) else {
            return;
        };
        for beginning in &patterns.beginnings {
            if self.leads_elsewhere(&root, beginning) {
                continue;
            }
            self.at(&root, beginning, &patterns, 0);
        }
    }

    /// Whether a link stands on the way to where a pattern begins: what it leads to would go unwatched.
    fn leads_elsewhere(&mut self, root: &Path, beginning: &Path) -> bool {
        let mut path = root.to_owned();
        for component in beginning.components() {
            let Component::Normal(part) = component else {
                continue;
            };
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
                let name = path.strip_prefix(root).unwrap_or(&path).display();
                self.unknown
                    .push(format!("{name} is a link, and links are not followed: name what it leads to"));
                return true;
            }
        }
        false
    }

    /// Takes in what is at a path: a file that a pattern names, or a folder with more of them.
    fn at(&mut self, root: &Path, below: &Path, patterns: &ScopePatterns, depth: usize) {
        let path = root.join(below);
        if path == self.never {
            return;
        }
        let Some(found) = self.if_there(&path, fs::symlink_metadata(&path)) else {
            return;
        };
        let is_named = patterns.globs.is_match(below);
        if !found.is_dir() {
            if is_named {
                self.mark(&path, &found);
            }
            return;
        }
        // What version control keeps is looked at only where a pattern begins there.
        let is_hidden = below.file_name().is_some_and(|name| name == ".git") && depth > 0;
        let may_hold_more = is_named || below.components().count() < patterns.deepest;
        if is_hidden || !may_hold_more {
            return;
        }
        if depth > DEEPEST {
            return self.unknown.push(format!("{} lies too deep", path.display()));
        }
        for entry in self.if_there(&path, fs::read_dir(&path)).into_iter().flatten() {
            self.entries += 1;
            if self.entries > MOST_ENTRIES || self.marks.len() > MOST_FILES {
                if self.entries < usize::MAX / 2 {
                    // Said once: nothing more is looked at.
                    self.entries = usize::MAX / 2;
                    self.unknown.push(format!(
                        "the patterns name too much (more than {MOST_FILES} files, or {MOST_ENTRIES} entries to look \
                         through): narrow them"
                    ));
                }
                return;
            }
            if let Some(entry) = self.if_there(&path, entry) {
                let below = below.join(entry.file_name());
                // A file that no pattern names is not asked for: most of a large tree is that. What the folder does not tell
                // is looked at.
                let is_file = entry.file_type().is_ok_and(|kind| !kind.is_dir());
                if !is_file || patterns.globs.is_match(&below) {
                    self.at(root, &below, patterns, depth + 1);
                }
            }
        }
    }

    fn mark(&mut self, path: &Path, found: &Metadata) {
        let mark = if found.is_symlink() {
            link_at(path)
        } else if found.is_file() {
            self.file(path, found)
        } else {
            Ok(PathState::Other)
        };
        if let Some(mark) = self.if_there(path, mark) {
            self.marks.insert(path.to_string_lossy().into_owned(), mark);
        }
    }

    fn file(&mut self, path: &Path, found: &Metadata) -> io::Result<PathState> {
        if let Some(known) = self.known.still(path, found) {
            return Ok(known.clone());
        }
        let mark = |found: &Metadata, digest| PathState::File {
            size: found.len(),
            digest,
            stamp: Stamp::of(found),
            executable: Some(is_executable(found)),
        };
        if self.most_read == 0 {
            return Ok(mark(found, None));
        }
        // What is a link now was put there in between.
        let file = open_as_named(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Ok(PathState::Other);
        }
        let left = self.most_read.saturating_sub(self.read);
        if found.len() > left {
            return Ok(mark(&found, None));
        }
        let (read, digest) = digest(file.take(left), left)?;
        self.read += read;
        Ok(mark(&found, digest))
    }

    /// The value of a look at `path`, if anything is there; an error other than absence is noted.
    fn if_there<T>(&mut self, path: &Path, found: io::Result<T>) -> Option<T> {
        let found = found.map_err(|error| {
            if !is_gone(&error) {
                self.unknown.push(format!("cannot read {}: {error}", path.display()));
            }
        });
        found.ok()
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
