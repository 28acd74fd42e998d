//! The record of files before a turn, in the spool: how it is read back, and which tests a task that git does not commit has changed
//! since (semantics, sections 1 and 24).

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::executor::error::WorkError;
use crate::executor::spool::check;
use crate::review::file_changes::{FileMarks, MOST_READ, Scope, changed_paths, look};
use crate::store::RunFolder;
use rules::domain::TaskId;
use rules::engine::FileRef;
use rules::judging::tests_changed::{self, TestPatterns, TouchedTests};
use rules::plan::Plan;
use supervisor::files;

use super::protection::canonical;
use super::worktrees::Worktrees;

/// How many changes a record holds; the others are counted.
const MOST_NAMED: usize = 20;

/// The state of a task's files, and their folders: files that were carried elsewhere are looked for there.
#[derive(Debug, Serialize, Deserialize)]
pub struct FileRecord {
    #[serde(default)]
    pub folders: Vec<FolderId>,
    /// The protected files, by path, as they were when they were noted.
    #[serde(default)]
    pub protected: FileMarks,
    /// The files that the task's rules ask about; `None` where they could not be looked at.
    pub watched: Option<FileMarks>,
    /// The tests, or all files; `None` where nobody asks.
    pub tests: Option<TestsBefore>,
}

/// A folder without links, and its number in the file system. A copy of it has another one, and does not show
/// when its files were written.
pub type FolderId = (PathBuf, u64);

/// The folders that files of a task lie in: that of the run, and its own.
pub fn folders(plan: &Plan, task: TaskId) -> Vec<FolderId> {
    let all = [plan.root_of(task), plan.workspace_of(task)].map(|folder| canonical(&folder));
    all.map(|folder| (folder.clone(), std::fs::metadata(folder).map_or(0, |found| found.ino()))).into()
}

/// Marks of files that lay in folders which lie elsewhere now.
pub fn carried(marks: FileMarks, from: &[FolderId], to: &[FolderId]) -> FileMarks {
    let place = |path: &str| {
        let mut folders = from.iter().zip(to);
        folders.find_map(|(from, to)| Some(to.0.join(Path::new(path).strip_prefix(&from.0).ok()?)))
    };
    let name = |path: String| place(&path).map_or(path, |place| place.to_string_lossy().into_owned());
    marks.into_iter().map(|(path, mark)| (name(path), mark)).collect()
}

pub fn read_record(path: &Path, expected: &FileRef) -> Result<FileRecord, WorkError> {
    check(path, expected)?;
    let bytes = files::read_regular(path, files::LONGEST_FILE)?;
    Ok(serde_json::from_slice(&bytes)?)
}

pub fn cut(changes: &mut Vec<String>) {
    if changes.len() > MOST_NAMED {
        let more = changes.len() - MOST_NAMED;
        changes.truncate(MOST_NAMED);
        changes.push(format!("{more} more"));
    }
}

/// The tests of a task before its first turn.
#[derive(Debug, Serialize, Deserialize)]
pub enum TestsBefore {
    /// All that lay in the workspace, as git has taken it.
    Tree(String),
    /// The state of the tests.
    Stamps(FileMarks),
    /// Nobody can tell: why.
    Lost(String),
}

/// The tests of a task that git does not commit. Blocks.
pub fn tests_of(plan: &Plan, (folder, worktrees): (&RunFolder, &Worktrees), task: TaskId) -> TestsBefore {
    let tree = if plan.task(task).is_isolated() {
        None
    } else {
        // Where git cannot take it, the files themselves tell what was changed.
        worktrees.tree_of_workspace(plan).unwrap_or_default()
    };
    tree.map_or_else(|| marks_of_tests(plan, folder, task), TestsBefore::Tree)
}

fn marks_of_tests(plan: &Plan, folder: &RunFolder, task: TaskId) -> TestsBefore {
    let scope = Scope {
        root: plan.root_of(task),
        patterns: tests_changed::globs(plan, task).iter().map(ToString::to_string).collect(),
    };
    match look(&[scope], folder.state_folder().path(), MOST_READ) {
        Ok(marks) => TestsBefore::Stamps(marks),
        Err(mut unknown) => {
            cut(&mut unknown);
            TestsBefore::Lost(unknown.join("; "))
        }
    }
}

/// The tests that differ from those before the first turn of a task; `None` where none does. Blocks.
pub fn touched(
    plan: &Plan,
    (folder, worktrees): (&RunFolder, &Worktrees),
    task: TaskId,
    first: Option<&(PathBuf, FileRef)>,
) -> Option<TouchedTests> {
    if plan.task(task).commits() {
        return None;
    }
    let (path, expected) = first?;
    let patterns = TestPatterns::of(plan, task);
    let (then, before) = match read_record(path, expected) {
        Ok(record) => (record.folders, record.tests?),
        Err(why) => return Some(TouchedTests::lost(&format!("the record of them is lost: {why}"))),
    };
    match before {
        TestsBefore::Lost(why) => Some(TouchedTests::lost(&why)),
        TestsBefore::Tree(base) => {
            let work = worktrees.tree_of_workspace(plan).and_then(|tree| {
                let work = tree.ok_or("the workspace is no repository any more")?;
                let found = worktrees.of_looks(true).touched([&base, &work], &patterns)?;
                let trees = Some([base.into(), work.into()]);
                Ok(found.map(|found| TouchedTests { trees, ..found }))
            });
            work.unwrap_or_else(|why: WorkError| Some(TouchedTests::lost(&why.to_string())))
        }
        TestsBefore::Stamps(before) => match marks_of_tests(plan, folder, task) {
            TestsBefore::Stamps(after) => {
                let now = folders(plan, task);
                let (before, root) = (carried(before, &then, &now), now[0].0.clone());
                let changed = changed_paths(&before, &after, &root);
                let changed: Vec<(&str, bool)> = changed
                    .map(|(path, _)| {
                        let inner = Path::new(path).strip_prefix(&root).ok();
                        let was_there = before.contains_key(path);
                        (inner.and_then(Path::to_str).unwrap_or(path), was_there)
                    })
                    .collect();
                patterns.touched(changed)
            }
            TestsBefore::Lost(why) => Some(TouchedTests::lost(&why)),
            TestsBefore::Tree(_) => None,
        },
    }
}
