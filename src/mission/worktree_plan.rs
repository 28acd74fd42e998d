//! How the folders of isolated tasks are prepared, as a plan has it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::model;

/// How the folders of isolated tasks are prepared, and what becomes of what was accepted there.
#[derive(Debug, Clone)]
pub struct WorktreePlan {
    /// Where they lie, once the run has a folder.
    pub root: Option<PathBuf>,
    /// What is copied into each of them.
    pub copy: Box<[Box<str>]>,
    /// What each of them has a link to.
    pub link: Box<[Box<str>]>,
    /// The command that prepares each of them.
    pub setup: Option<Box<str>>,
    /// The largest file that a task may leave there, in bytes.
    pub max_file: u64,
    /// What becomes of accepted work.
    pub merge: model::MergeInto,
}

/// What is kept from workers where a check is hidden.
#[derive(Debug)]
pub struct HiddenFiles {
    /// The workspace that the run began with.
    pub workspace: PathBuf,
    /// The files, absolute, without links.
    pub files: BTreeSet<PathBuf>,
    /// Those in the workspace, seen from there.
    pub inner: BTreeSet<String>,
    /// What workers may see all the same, one sentence a reason.
    pub shown: Vec<String>,
}
