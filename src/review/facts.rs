//! Gathering what the heuristic grader holds criteria against: the files that they name, looked at beneath the workspace.
//!
//! What is certainly there or certainly not there becomes a fact. What cannot be told (a folder, a link, something
//! outside of the workspace) is left out: unknown is not absent. What ought to be readable and is not is a fault.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use rules::judging::heuristic::{FileContent, FileFacts, Text};

use super::evidence::open_beneath;

/// How much of a text is searched, in bytes.
pub const MOST_SEARCHED: u64 = 16 * 1024 * 1024;

/// Why nothing may be said about a file.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// The file is there and cannot be read.
    #[error("cannot read {0}: {1}")]
    Unreadable(String, #[source] io::Error),
    /// The workspace is not there any more.
    #[error("the workspace {0} is gone")]
    NoWorkspace(PathBuf),
}

/// Looks at the files. Blocks.
///
/// # Errors
/// When a file that is there cannot be read: then nothing may be said about it.
pub fn look_at(workspace: &Path, paths: &[String]) -> Result<Vec<FileFacts>, FactsError> {
    let looked = paths.iter().filter_map(|path| look(workspace, path).transpose());
    looked.collect()
}

fn look(workspace: &Path, path: &str) -> Result<Option<FileFacts>, FactsError> {
    let fault = |error: io::Error| FactsError::Unreadable(path.to_owned(), error);
    let fact = |content| Some(FileFacts { path: path.to_owned(), content });
    if !is_inside(path) {
        return Ok(None);
    }
    match open_beneath(workspace, path) {
        Ok(file) => {
            let bytes = file.metadata().map_err(fault)?.len();
            let text = read_text(file, MOST_SEARCHED).map_err(fault)?;
            Ok(fact(Some(FileContent { bytes, text })))
        }
        Err(error) if is_not_there(&error) => {
            if !workspace.is_dir() {
                return Err(FactsError::NoWorkspace(workspace.to_owned()));
            }
            match workspace.join(path).symlink_metadata() {
                Ok(_) => Ok(None),
                Err(error) if is_not_there(&error) => Ok(fact(None)),
                Err(error) => Err(fault(error)),
            }
        }
        Err(error) => Err(fault(error)),
    }
}

/// Whether a path cannot lead out of the workspace by its own words.
fn is_inside(path: &str) -> bool {
    let mut components = Path::new(path).components();
    components.all(|component| matches!(component, Component::Normal(_) | Component::CurDir))
}

fn is_not_there(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidFilename
            | io::ErrorKind::InvalidInput
    )
}

/// At most `most` bytes as text; `None` for what is not text.
///
/// # Errors
/// Whatever the file system says.
fn read_text(source: impl Read, most: u64) -> io::Result<Option<Text>> {
    let mut bytes = Vec::new();
    source.take(most + 1).read_to_end(&mut bytes)?;
    let whole = bytes.len() as u64 <= most;
    if !whole {
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A character that was cut in half is no sign of something else than text.
        Err(error) if !whole && error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..end]).into_owned()
        }
        Err(_) => return Ok(None),
    };
    Ok(Some(Text { text, whole }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn seen(root: &Path, path: &str) -> Option<Option<FileContent>> {
        let facts = look_at(root, &[path.to_owned()]).unwrap();
        facts.into_iter().next().map(|fact| fact.content)
    }

    #[test]
    fn only_what_is_certain_is_a_fact() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::write(root.join("a.md"), "häh").unwrap();
        fs::write(root.join("image"), [0xff, 0xfe, 0]).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("out")).unwrap();
        std::os::unix::fs::symlink("a.md", root.join("in")).unwrap();
        let text = |path: &str| seen(root, path).flatten().and_then(|content| content.text);
        assert_eq!(text("a.md").unwrap().text, "häh");
        assert_eq!(text("in").unwrap().text, "häh");
        assert_eq!(
            seen(root, "image").flatten().map(|content| (content.bytes, content.text)),
            Some((3, None))
        );
        for absent in ["gone.md", "a.md/below", "folder/gone", &"x".repeat(300)] {
            assert_eq!(seen(root, absent), Some(None), "{absent}");
        }
        for unknown in ["folder", "out", "../x", "/etc/passwd", "folder/../a.md"] {
            assert_eq!(seen(root, unknown), None, "{unknown}");
        }
        assert!(look_at(&root.join("gone"), &["a.md".to_owned()]).is_err(), "no workspace, no facts");
    }

    #[test]
    fn a_text_that_is_cut_is_a_text() {
        let read = |bytes: &[u8], most| read_text(bytes, most).unwrap();
        assert_eq!(read("aä".as_bytes(), 3).unwrap(), Text { text: "aä".into(), whole: true });
        assert_eq!(read("aä".as_bytes(), 2).unwrap(), Text { text: "a".into(), whole: false });
        assert_eq!(read(&[b'a', 0xff, b'b'], 2), None);
    }
}
