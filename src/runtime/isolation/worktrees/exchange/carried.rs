//! One commit of an exchange, read and looked at before any of it is written.

use std::collections::HashMap;
use std::fs;

use crate::executor::error::WorkError;
use supervisor::files::no_links::scratch_folder;

use super::super::difference::NotCommitted;
use super::super::git::{Git, refused};
use super::super::merge::link_out;
use super::super::unmerged::{LINK, leads_out};
use super::CommitId;
use super::commit_trees::{LONGEST_TARGET, TreeListing, told};

/// The longest listing of a tree that is read, in bytes.
const LONGEST_LISTING: usize = 64 << 20;
/// The longest head of a commit that is read, in bytes.
const LONGEST_HEAD: usize = 64 << 10;

/// The maker of a commit, and what it lies on.
#[derive(Debug)]
pub struct CommitHead {
    /// The ids of the commits that it lies on.
    pub parents: Vec<String>,
    pub author: String,
}

impl CommitHead {
    /// Reads the head of a commit. Blocks.
    ///
    /// # Errors
    ///
    /// In the words of git, and where it is no commit.
    pub fn read(git: Git, commit: &CommitId) -> Result<Self, WorkError> {
        let commit = commit.as_str();
        let head = ["log", "-1", "--no-walk", "--format=%H%n%P%n%an", commit, "--"];
        let head = git.printing_at_most(LONGEST_HEAD).line(head)?;
        let mut lines = head.lines();
        if lines.next() != Some(commit) {
            return Err(refused(format!("{commit} is no commit")));
        }
        let mut next = || lines.next().unwrap_or_default();
        Ok(Self {
            parents: next().split_whitespace().map(str::to_owned).collect(),
            author: next().to_owned(),
        })
    }
}

/// All that the tree of a commit lists.
#[derive(Debug)]
pub struct ListedCommit(Vec<u8>);

impl ListedCommit {
    /// Lists the tree of a commit. Blocks.
    ///
    /// # Errors
    ///
    /// In the words of git, and where it has more than anybody's work.
    pub fn read(git: Git, commit: &CommitId) -> Result<Self, WorkError> {
        let list = ["ls-tree", "-r", "-t", "-z", "-l", "--full-tree", commit.as_str()];
        Ok(Self(git.printing_at_most(LONGEST_LISTING).run(list)?.stdout))
    }

    /// What its tree has, in which nothing lies elsewhere.
    ///
    /// # Errors
    /// What it has of that, in words.
    pub fn listing(&self) -> Result<TreeListing<'_>, NotCommitted> {
        TreeListing::read(&self.0)
    }
}

/// Whether no link that is not as it was before leads out. Blocks.
///
/// # Errors
/// In the words of git; the value says of the first one that it does.
pub fn link_that_leads_out(
    git: impl Fn() -> Git,
    [before, after]: [&TreeListing<'_>; 2],
) -> Result<Option<String>, WorkError> {
    let links = || after.changed(before).filter(|(_, entry)| entry.mode == LINK);
    let ids: String = links().map(|(_, entry)| format!("{}\n", entry.id)).collect();
    if ids.is_empty() {
        return Ok(None);
    }
    let place = scratch_folder()?;
    let list = place.path().join("links");
    fs::write(&list, ids)?;
    let printed = git().reading(&list).run(["cat-file", "--batch"])?.stdout;
    let targets = targets(&printed).ok_or_else(|| refused("the links of a tree cannot be read"))?;
    Ok(links().find_map(|(path, entry)| {
        let (path, target) = (told(path), targets.get(entry.id)?);
        if target.is_empty() || target.contains(&0) {
            return Some(format!("{path} is a link that names nothing"));
        }
        let target = told(target);
        leads_out(&path, &target).then(|| link_out(&path, &target))
    }))
}

/// What `git cat-file --batch` prints, by ids: `ID blob SIZE`, and the bytes.
fn targets(printed: &[u8]) -> Option<HashMap<&str, &[u8]>> {
    let (mut found, mut rest) = (HashMap::new(), printed);
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let mut words = std::str::from_utf8(&rest[..end]).ok()?.split(' ');
        let (id, kind, size) = (words.next()?, words.next()?, words.next()?.parse::<u64>().ok()?);
        let size = usize::try_from(size).ok()?;
        if kind != "blob" || size as u64 > LONGEST_TARGET {
            return None;
        }
        found.insert(id, rest.get(end + 1..end + 1 + size)?);
        rest = rest.get(end + size + 2..)?;
    }
    Some(found)
}
