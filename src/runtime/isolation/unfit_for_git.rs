//! Files that git could not take, or would wait for, are looked for before it adds anything.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use crate::executor::error::WorkError;
use supervisor::files::no_links::scratch_folder;

use super::git::{Git, entries};

fn large(length: u64, most: u64) -> String {
    format!("has {length} bytes, more than settings.worktree.maxFile ({most} bytes)")
}

/// The sentence about a file that has more than `most` bytes.
#[cfg(any(feature = "temporal", test))]
pub fn too_large(path: &str, length: u64, most: u64) -> String {
    format!("{path} {}: remove it", large(length, most))
}

/// The first file of a folder that git does not ignore and that is a pipe, a device or a socket, or has more than `most` bytes:
/// a sentence that names it. A file that git itself would read is not asked about. `git` works in the folder. Blocks.
///
/// # Errors
/// In the words of git.
pub fn odd_file(
    git: impl Fn() -> Result<Git, WorkError>,
    folder: &Path,
    most: u64,
) -> Result<Option<String>, WorkError> {
    let mut odd = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        // Of what cannot be read git says so itself.
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let (Ok(kind), name) = (entry.file_type(), entry.file_name()) else {
                continue;
            };
            if kind.is_dir() {
                if name != ".git" {
                    folders.push(entry.path());
                }
                continue;
            }
            let what = if kind.is_file() {
                let length = entry.metadata().map_or(0, |found| found.len());
                let is_large = length > most;
                is_large.then(|| large(length, most))
            } else {
                let special = [
                    (kind.is_fifo(), "a pipe"),
                    (kind.is_socket(), "a socket"),
                    (kind.is_block_device() || kind.is_char_device(), "a device"),
                ];
                let kind = special.iter().find(|(is_it, _)| *is_it);
                kind.map(|(_, kind)| format!("is {kind}, and git keeps none"))
            };
            let Some(what) = what else { continue };
            let path = entry.path();
            let path = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            let sentence = format!("{path} {what}: remove it");
            if name.as_encoded_bytes().starts_with(b".git") {
                return Ok(Some(sentence));
            }
            odd.push((path, sentence));
        }
    }
    if odd.is_empty() {
        return Ok(None);
    }
    let place = scratch_folder()?;
    let asked = place.path().join("asked");
    fs::write(&asked, odd.iter().map(|(path, _)| format!("{path}\0")).collect::<String>())?;
    let ignored = git()?.reading(&asked).answer(["check-ignore", "-z", "--stdin"])?;
    let ignored: BTreeSet<String> = ignored.iter().flat_map(entries).collect();
    odd.retain(|(path, _)| !ignored.contains(path));
    Ok(odd.into_iter().min().map(|(_, sentence)| sentence))
}
