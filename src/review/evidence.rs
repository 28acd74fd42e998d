//! What the runtime itself sees of the workspace: files with size and hash. Text about files is a claim; this is not.
//!
//! Only files that the task's rules name are looked at, and only regular files beneath the workspace: a link that
//! leads out of it, a FIFO or a device is "no such file".

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use globset::GlobSet;
use rustix::fs::{Mode, OFlags};

use rules::domain::{Digest, Hasher};
use rules::engine::FileFact;
use rules::mission::paths::readings;

/// Folders that are never looked into, whatever a pattern says.
const NEVER: [&str; 2] = [".polpo", ".git"];
/// How many files a pattern may match before the rest is left out.
const MOST_MATCHES: usize = 1000;
/// The largest file whose content is taken in. A file may claim to be far larger than the disk; its size is evidence
/// enough then.
const MOST_HASHED: u64 = 1 << 30;
/// How deep a pattern is followed.
const DEEPEST: usize = 32;

/// Looks at each path or pattern; a path that is not there is reported as such, a pattern that matches nothing
/// likewise under its own text.
pub fn scan<'a>(workspace: &Path, patterns: impl IntoIterator<Item = &'a str>) -> Vec<FileFact> {
    let mut facts: Vec<FileFact> = Vec::new();
    for pattern in patterns {
        let paths = expand(workspace, pattern);
        if paths.is_empty() && !facts.iter().any(|fact| fact.path == pattern) {
            facts.push(FileFact { path: pattern.to_owned(), ..FileFact::default() });
        }
        for path in paths {
            if !facts.iter().any(|fact| fact.path == path) {
                facts.push(look(workspace, path));
            }
        }
    }
    facts
}

/// The files that a path or pattern names, relative to the workspace, sorted.
pub fn expand(workspace: &Path, pattern: &str) -> Vec<String> {
    if !pattern.contains(['*', '?', '[', '{']) || open_beneath(workspace, pattern).is_ok() {
        return vec![pattern.to_owned()];
    }
    let readings: GlobSet =
        readings(pattern).collect::<Result<Vec<_>, _>>().and_then(GlobSet::new).unwrap_or_default();
    let mut found = Vec::new();
    walk(workspace, Path::new(""), &readings, DEEPEST, &mut found);
    found.sort();
    found
}

fn walk(root: &Path, below: &Path, matcher: &GlobSet, depth: usize, found: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !NEVER.contains(name)) else {
            continue;
        };
        let path = below.join(name);
        // The entry's own type: links to folders are not followed.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            walk(root, &path, matcher, depth - 1, found);
        } else if !kind.is_dir() && matcher.is_match(&path) && found.len() < MOST_MATCHES {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}

/// Looks at one path. Blocks.
pub fn look(workspace: &Path, path: String) -> FileFact {
    match open_beneath(workspace, &path).and_then(|file| hash(file, MOST_HASHED)) {
        Ok((size, digest)) => FileFact { path, size: Some(size), digest, ..FileFact::default() },
        Err(error) => FileFact {
            obstacle: obstacle(workspace, &path, &error).map(String::into_boxed_str),
            path,
            ..FileFact::default()
        },
    }
}

/// Why something that stands at a path could not be looked at; `None` if nothing stands there. What is a link that leads
/// nowhere or out of the workspace, a folder or a FIFO is no file, but neither is it nothing.
pub fn obstacle(workspace: &Path, path: &str, error: &io::Error) -> Option<String> {
    match fs::symlink_metadata(workspace.join(path)) {
        Err(gone) if matches!(gone.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => None,
        Ok(found) if found.is_symlink() && error.kind() == ErrorKind::NotFound => {
            Some("it is a link that leads to no file of the workspace".to_owned())
        }
        // What the system says, without its number.
        Ok(_) | Err(_) => error.to_string().split(" (os error").next().map(str::to_lowercase),
    }
}

/// Size and digest of what a file holds; no digest beyond `most` bytes.
fn hash(file: File, most: u64) -> io::Result<(u64, Option<Digest>)> {
    let stated = file.metadata()?.len();
    if stated > most {
        return Ok((stated, None));
    }
    let (read, digest) = digest(&file, most)?;
    // What was not read to its end states its size itself.
    let size = if digest.is_some() { read } else { file.metadata()?.len().max(read) };
    Ok((size, digest))
}

/// Length and digest of all that a reader gives. Where that is more than `most` bytes there is no digest, for that of
/// the beginning would pass for the whole's, and the length is only what was read.
///
/// # Errors
/// Whatever the reader says.
pub fn digest(mut reader: impl Read, most: u64) -> io::Result<(u64, Option<Digest>)> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; 64 * 1024];
    let mut len = 0;
    loop {
        let read = reader.read(&mut buffer)?;
        if read == 0 {
            return Ok((len, Some(hasher.finish())));
        }
        len += read as u64;
        if len > most {
            return Ok((len, None));
        }
        hasher.update(&buffer[..read]);
    }
}

/// Opens a regular file beneath the workspace. Never blocks and never leaves the workspace.
///
/// # Errors
/// `NotFound` for what is not a regular file beneath the workspace, and whatever the file system says.
pub fn open_beneath(workspace: &Path, path: &str) -> io::Result<File> {
    let root = fs::canonicalize(workspace)?;
    let real: PathBuf = fs::canonicalize(root.join(path))?;
    if !real.starts_with(&root) {
        return Err(io::Error::new(io::ErrorKind::NotFound, "it lies outside of the workspace"));
    }
    // Resolved already: what is a link now was put there in between.
    let file = open_as_named(&real)?;
    let found = file.metadata()?;
    if !found.is_file() {
        let what = if found.is_dir() { "it is a folder" } else { "it is not a regular file" };
        return Err(io::Error::new(io::ErrorKind::NotFound, what));
    }
    Ok(file)
}

/// Opens what stands at this very path to read it: a link is not followed, and a FIFO does not hang us.
///
/// # Errors
/// Whatever the system says.
pub(super) fn open_as_named(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// The part of a file that a prompt shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    /// The beginning of the file, as text.
    Text(String),
    /// There is no such file, or it is not quoted.
    Nothing,
    /// Something stands there that cannot be looked at, and this is why.
    Obstacle(Box<str>),
    /// The file is not the one any more that the fact is about.
    Changed,
}

/// The beginning of the very file that a fact is about, at most `most` bytes: what is shown of a file and what was
/// recorded of it are about the same bytes. What is too large to be hashed is the same as long as it stays so.
pub fn preview(workspace: &Path, fact: &FileFact, most: u64) -> Preview {
    match (open_beneath(workspace, &fact.path), fact.size) {
        (Err(_), None) => fact.obstacle.clone().map_or(Preview::Nothing, Preview::Obstacle),
        (Err(_), Some(_)) | (Ok(_), None) => Preview::Changed,
        (Ok(file), Some(size)) => begin(file, size, fact.digest, most).unwrap_or(Preview::Changed),
    }
}

fn begin(file: File, size: u64, expected: Option<Digest>, most: u64) -> io::Result<Preview> {
    let stated = file.metadata()?.len();
    let mut head = Vec::new();
    (&file).take(most).read_to_end(&mut head)?;
    let same = match expected {
        Some(_) if stated != size => false,
        Some(_) => digest(head.as_slice().chain(&file), MOST_HASHED)? == (size, expected),
        None => stated > MOST_HASHED,
    };
    if !same {
        return Ok(Preview::Changed);
    }
    Ok(Preview::Text(String::from_utf8_lossy(&head).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workspace() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        for (path, text) in [("src/a.rs", "a"), ("src/deep/b.rs", "bb"), ("empty", ""), (".git/c.rs", "c")] {
            fs::write(root.join(path), text).unwrap();
        }
        folder
    }

    fn seen(root: &Path, patterns: &[&str]) -> Vec<(String, Option<u64>)> {
        scan(root, patterns.iter().copied()).into_iter().map(|fact| (fact.path, fact.size)).collect()
    }

    #[test]
    fn files_are_seen_as_they_are() {
        let folder = workspace();
        assert_eq!(
            seen(folder.path(), &["src/a.rs", "empty", "missing", "src", "**/*.rs"]),
            [
                ("src/a.rs".to_owned(), Some(1)),
                ("empty".to_owned(), Some(0)),
                ("missing".to_owned(), None),
                ("src".to_owned(), None),
                ("src/deep/b.rs".to_owned(), Some(2)),
            ]
        );
        assert_eq!(seen(folder.path(), &["src/*.rs"]), [("src/a.rs".to_owned(), Some(1))]);
        assert_eq!(seen(folder.path(), &["*.nothing"]), [("*.nothing".to_owned(), None)]);
    }

    #[test]
    fn a_file_that_outgrows_what_is_hashed_has_no_digest() {
        let folder = workspace();
        let path = folder.path().join("grows");
        fs::write(&path, "1234").unwrap();
        let open = || File::open(&path).unwrap();
        assert_eq!(hash(open(), 4).unwrap(), (4, Some(Digest::of(b"1234"))));
        assert_eq!(hash(open(), 3).unwrap(), (4, None), "it is too large from the start");
        // A system's file states no size and has one all the same, as one that grows between the look and the read.
        let grown = File::open("/proc/self/status").unwrap();
        assert_eq!(grown.metadata().unwrap().len(), 0);
        let (size, digest) = hash(grown, 16).unwrap();
        assert!(size > 16 && digest.is_none(), "{size} {digest:?}");
    }

    #[test]
    fn what_is_shown_is_what_was_hashed() {
        let folder = workspace();
        let root = folder.path();
        let facts = scan(root, ["src/a.rs", "later", "src/deep/b.rs", "empty"]);
        let shown = |n: usize| preview(root, &facts[n], 1);
        assert_eq!(shown(0), Preview::Text("a".to_owned()));
        assert_eq!(shown(1), Preview::Nothing);
        assert_eq!(shown(2), Preview::Text("b".to_owned()), "only its beginning");
        assert_eq!(shown(3), Preview::Text(String::new()));
        // As long as before, and another beginning; the same beginning and another end; new; gone; longer.
        fs::write(root.join("src/a.rs"), "z").unwrap();
        fs::write(root.join("src/deep/b.rs"), "bz").unwrap();
        fs::write(root.join("later"), "new").unwrap();
        fs::write(root.join("empty"), "x").unwrap();
        for fact in &facts {
            assert_eq!(preview(root, fact, 1), Preview::Changed, "{}", fact.path);
        }
        fs::remove_file(root.join("src/a.rs")).unwrap();
        assert_eq!(shown(0), Preview::Changed);
    }

    #[test]
    fn what_leads_out_or_hangs_is_not_a_file() {
        let folder = workspace();
        let outside = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("src/a.rs", folder.path().join("inside")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
        let seen = seen(folder.path(), &["link", "fifo", "../x", "inside"]);
        assert_eq!(seen.iter().map(|(_, size)| *size).collect::<Vec<_>>(), [None, None, None, Some(1)]);
    }
}
