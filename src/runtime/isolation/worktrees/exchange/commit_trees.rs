//! What a tree from elsewhere has: it is looked at before any of it is written, so that nothing can come to lie outside of the
//! folder that it is for.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::difference::NotCommitted;
use super::super::merge::{not_utf8, own_repository};
use super::super::unmerged::{GITLINK, LINK, is_git_name};
use crate::runtime::isolation::unfit_for_git::too_large;

/// The most folders that lie one in the other.
const MOST_FOLDERS: usize = 200;
/// The longest path, in bytes.
const LONGEST_PATH: usize = 2_000;
/// The longest name, in bytes: that of most file systems.
const LONGEST_NAME: usize = 255;
/// The longest target of a link, in bytes.
pub const LONGEST_TARGET: u64 = 4_095;
/// How many bytes all that a turn has made anew may have.
pub const MOST_BYTES: u64 = 4 << 30;
/// The modes that files have.
const FILES: [&str; 2] = ["100644", "100755"];
/// The mode of a folder.
const FOLDER: &str = "040000";

/// What lies at a path of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeEntry<'l> {
    pub mode: &'l str,
    pub id: &'l str,
    /// The length of the file, in bytes.
    pub size: u64,
}

/// Files and links by their paths.
pub type TreeFiles<'l> = BTreeMap<&'l [u8], TreeEntry<'l>>;

/// A listing of a commit as `git ls-tree -r -t -z -l` prints it: what lies in its folder of work, and in the one beside it.
#[derive(Debug, Default)]
pub struct TreeListing<'l> {
    /// The trees of both, by their ids.
    pub trees: [&'l str; 2],
    pub work: TreeFiles<'l>,
    pub beside: TreeFiles<'l>,
}

fn work(why: String) -> NotCommitted {
    NotCommitted::Work(why)
}

/// A path as it is told.
pub fn told(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

impl<'l> TreeListing<'l> {
    /// Reads a listing, in which nothing names a place outside of its folder, or what no honest tree has.
    ///
    /// # Errors
    /// What it has of that, in words.
    pub fn read(printed: &'l [u8]) -> Result<Self, NotCommitted> {
        let mut found = Self::default();
        // The last name that was listed in each folder, as git sorts it.
        let mut last: HashMap<&[u8], Vec<u8>> = HashMap::from([(&b""[..], Vec::new())]);
        let mut seen = HashSet::new();
        for line in printed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let (path, entry) =
                line_of(line).ok_or_else(|| work(format!("{} cannot be read", told(line))))?;
            let at = path.iter().rposition(|byte| *byte == b'/');
            let (folder, name) = match at {
                Some(at) => (&path[..at], &path[at + 1..]),
                None => (&path[..0], path),
            };
            let shown = || told(below(path).unwrap_or(path));
            let is_folder = entry.mode == FOLDER;
            let sorted = [name, if is_folder { b"/" } else { b"" }].concat();
            // A folder is listed before what is in it.
            let before = last.get_mut(folder);
            let before = before.ok_or_else(|| work(format!("{} has a name that is a path", shown())))?;
            if *before >= sorted || !seen.insert(path) {
                return Err(work(format!("{} stands twice, or in the wrong place, in its tree", shown())));
            }
            *before = sorted;
            named(name).map_err(|why| work(format!("{} {why}", shown())))?;
            if is_folder {
                last.insert(path, Vec::new());
            } else if entry.mode == GITLINK {
                return Err(work(own_repository(&shown())));
            } else if entry.mode == LINK && entry.size > LONGEST_TARGET {
                return Err(work(format!("{} is a link of {} bytes", shown(), entry.size)));
            } else if entry.mode != LINK && !FILES.contains(&entry.mode) {
                return Err(work(format!("{} has the mode {}, which no file has", shown(), entry.mode)));
            }
            if path.len() > LONGEST_PATH || path.iter().filter(|byte| **byte == b'/').count() > MOST_FOLDERS {
                let path = shown().chars().take(100).collect::<String>();
                return Err(work(format!("{path}… lies too deep")));
            }
            match below(path) {
                None if is_folder && path == b"w" => found.trees[0] = entry.id,
                None if is_folder && path == b"q" => found.trees[1] = entry.id,
                None => return Err(work(format!("{} lies beside the work", shown()))),
                Some(_) if is_folder => {}
                Some(inner) if path.starts_with(b"w/") => drop(found.work.insert(inner, entry)),
                Some(_) if entry.mode == LINK => return Err(work(format!("{} is a link", shown()))),
                Some(inner) => drop(found.beside.insert(inner, entry)),
            }
        }
        if found.trees.contains(&"") {
            Err(work("it has no folder of work, or none beside it".to_owned()))
        } else {
            Ok(found)
        }
    }

    /// Files that lie in a tree of ours, by a listing of it alone.
    pub fn of_tree(printed: &'l [u8]) -> TreeFiles<'l> {
        let lines = printed.split(|byte| *byte == 0);
        lines.filter_map(line_of).collect()
    }

    /// Whether nothing that is not as it was before is larger than a file may be, or has a name that cannot be recorded, and all of it
    /// together is not larger than work may be.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn is_fit(&self, before: &Self, largest: u64) -> Result<(), NotCommitted> {
        let mut all = 0_u64;
        for (path, entry) in self.changed(before) {
            if std::str::from_utf8(path).is_err() {
                return Err(work(not_utf8(&told(path))));
            }
            if entry.size > largest {
                return Err(work(too_large(&told(path), entry.size, largest)));
            }
            all = all.saturating_add(entry.size);
        }
        if all > MOST_BYTES {
            return Err(work(format!("what is new has {all} bytes, more than {MOST_BYTES}")));
        }
        Ok(())
    }

    /// The paths of the work that are not as they were before.
    pub fn changed<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = (&'l [u8], TreeEntry<'l>)> + 'a {
        let all = self.work.iter().map(|(path, entry)| (*path, *entry));
        all.filter(|(path, entry)| before.work.get(path) != Some(entry))
    }
}

/// Whether a name is one, and names nothing but what lies under it.
fn named(name: &[u8]) -> Result<(), &'static str> {
    match name {
        b"" | b"." | b".." => Err("leads out of its folder"),
        _ if is_git_name(name) => Err("is what git keeps for itself"),
        _ if name.len() > LONGEST_NAME => Err("has a name that is too long"),
        _ => Ok(()),
    }
}

/// The path and the entry of one line: `MODE KIND ID SIZE<tab>PATH`.
fn line_of(line: &[u8]) -> Option<(&[u8], TreeEntry<'_>)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace();
    let [mode, _, id, size] = std::array::from_fn(|_| words.next().unwrap_or_default());
    let size = match size {
        "-" => 0,
        size => size.parse().ok()?,
    };
    Some((&line[tab + 1..], TreeEntry { mode, id, size }))
}

/// What lies behind the first name of a path; `None` where there is one name only.
fn below(path: &[u8]) -> Option<&[u8]> {
    let at = path.iter().position(|byte| *byte == b'/')?;
    Some(&path[at + 1..])
}
