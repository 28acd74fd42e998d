//! How the folders of isolated tasks are prepared, as a plan has it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::mission::model;

/// How the folders of isolated tasks are prepared, and what becomes of what was accepted there.
#[derive(Debug, Clone)]
pub struct WorktreePlan {
    /// The folder that the worktrees lie in, once the run has a folder.
    pub root: Option<PathBuf>,
    /// The files that are copied into each folder.
    pub copy: Box<[Box<str>]>,
    /// The files that each folder has a link to.
    pub link: Box<[Box<str>]>,
    /// The command that prepares each of them.
    pub setup: Option<Box<str>>,
    /// The largest file that a task may leave there, in bytes.
    pub max_file: u64,
    /// The destination of accepted work.
    pub merge: model::MergeInto,
}

/// The files that are kept from workers where a check is hidden.
#[derive(Debug)]
pub struct HiddenFiles {
    /// The workspace that the run began with.
    pub workspace: PathBuf,
    /// The files, absolute, without links.
    pub files: BTreeSet<PathBuf>,
    /// The hidden files in the workspace, relative to it.
    pub inner: BTreeSet<String>,
    /// The reasons why workers may see hidden files all the same, one sentence each.
    pub shown: Vec<String>,
}
