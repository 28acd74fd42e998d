//! Files before and after a turn: what it may not change, and what it is asked to write (protected paths; semantics,
//! sections 1 and 6).
//!
//! What stands in them is written into the spool before the turn starts, and the journal vouches for that record. The
//! end of the turn is held against it, whichever session sees it. The frozen mission is watched for every turn.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::executor::error::WorkError;
use crate::executor::spool::{read_tail, write_sealed};
use crate::executor::task_command::TaskCommands;
use crate::review::file_changes::{FileMarks, MOST_READ, Scope, Stamp, changes, difference, look};
use crate::store::{RunFolder, SpoolName};
use rules::domain::{TaskId, TurnId};
use rules::engine::{Committed, Fact, FileRef, FileSnapshot, State, TurnFiles};
use rules::judging::evidence_rules::{is_written_enough, watched};
use rules::judging::tests_changed::{self, TestPatterns};
use rules::plan::{Plan, SubTask};

use super::file_records::{FileRecord, carried, cut, folders, read_record, tests_of, touched};
use super::protection::{Protection, SeenFiles, protected_scopes};
use super::worktrees::{NotCommitted, Worktrees};
use crate::runtime::work::{
    at_work::{Activity, Presence},
    context::{Undone, WorkContext, blocking},
};

/// The largest record that is read back.
const LARGEST_RECORD: u64 = 64 * 1024 * 1024;

/// The state before a turn, which its files are held against once it ends.
#[derive(Debug)]
pub struct TurnBaseline {
    files: NotedFiles,
    missions: Vec<Option<Stamp>>,
    /// The state of what is protected by default.
    by_default: SeenFiles,
    /// How many parts of judging had begun.
    judgings: u64,
    /// Tells, as long as it lives, that the turn is at work.
    _presence: Arc<Presence>,
}

/// Writes down what stands in the files of the next turn; `known` is what the folder of an isolated task is made with.
pub async fn record_before_turn(
    context: WorkContext,
    commands: TaskCommands,
    (turn, starts, shared): (TurnId, u64, bool),
    known: Option<Committed>,
) -> Result<Fact, Undone> {
    let plan = commands.plan.clone();
    if let Some(known) = known {
        context.own_folder(commands, known).await?;
    }
    let noted = blocking(move || note(&plan, (&context.folder, &context.worktrees), turn));
    Ok(Fact::FilesNoted { turn, starts, shared, result: noted.await?.map_err(String::from) })
}

/// The records of files that a turn is held against, and its commits.
#[derive(Debug, Clone)]
pub struct NotedFiles {
    turn: TurnId,
    /// Whether mounts hold files for it.
    is_confined: bool,
    noted: Option<(PathBuf, FileRef)>,
    /// The record of files before the first turn.
    first: Option<(PathBuf, FileRef)>,
    /// The commits of a task in a worktree before the turn.
    committed: Committed,
}

impl NotedFiles {
    /// What the engine knows of a turn and those before it.
    pub fn of(state: &State, folder: &RunFolder, turn: TurnId, is_confined: bool) -> Self {
        let task = turn.task;
        let record = |noted: &FileSnapshot| {
            let path = folder.spool_file(&SpoolName::Before(noted.turn));
            (path, noted.file.clone())
        };
        let noted = state.task(task).course.evidence.noted.as_deref();
        Self {
            turn,
            is_confined,
            noted: noted.map(record),
            first: state.first_noted(task).map(record),
            committed: state.committed(task),
        }
    }
}

impl TurnBaseline {
    /// Remembers what a turn that is starting, or was taken over, is held against. `known` is what is protected by default as
    /// an earlier session saw it.
    pub fn take(context: &WorkContext, files: NotedFiles, known: Option<SeenFiles>) -> Self {
        let (task, is_confined) = (files.turn.task, files.is_confined);
        let mut by_default = known.unwrap_or_else(|| context.protection.by_default(task));
        by_default.is_confined = is_confined;
        let mut at_work = context.at_work();
        Self {
            files,
            missions: stamps(&context.frozen),
            by_default,
            judgings: at_work.judgings,
            _presence: at_work.enter(task, Activity::Turn, is_confined),
        }
    }

    /// What is to be looked at now that the turn has ended. It asks whether files are as they were, and reads none.
    pub fn after(self, context: &WorkContext) -> After {
        let task = self.files.turn.task;
        let is_touched = !context.protection.is_as_seen(&self.by_default);
        let mut at_work = context.at_work();
        After {
            context: context.clone(),
            is_touched,
            of_others: at_work.made_by_others(task),
            checked: at_work.is_judging() || self.judgings != at_work.judgings,
            _presence: at_work.enter(task, Activity::Look, false),
            before: self,
        }
    }
}

/// The missions that are frozen in a run's folder.
pub fn frozen(folder: &RunFolder) -> Arc<[PathBuf]> {
    let paths = (1..).map(|number| folder.mission(number));
    paths.take_while(|path| path.exists()).collect()
}

/// When each file was changed last; `None` for one that is gone.
fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    let stamp = |path| Some(Stamp::of(&std::fs::symlink_metadata(path).ok()?));
    files.iter().map(stamp).collect()
}

/// How much of what a turn printed is searched for writes that were refused, in bytes from its end.
const LAST_PRINTED: u64 = 256 << 10;

/// The looks that are due when a turn has ended.
pub struct After {
    context: WorkContext,
    before: TurnBaseline,
    /// Whether something has touched what is protected by default.
    is_touched: bool,
    /// The files that others at work are to make.
    of_others: Vec<PathBuf>,
    /// Whether any part of judging was at work with the turn.
    checked: bool,
    /// Tells, as long as it lives, that the files of this task are not looked at yet.
    _presence: Arc<Presence>,
}

impl After {
    /// Whether nothing is to be read for it, and nothing to be committed.
    pub fn is_known(&self, plan: &Plan) -> bool {
        let commits = plan.task(self.before.files.turn.task).commits();
        self.before.files.noted.is_none() && !self.is_touched && !commits
    }

    /// Writes of protected files that were refused, by what the turn printed. Blocks.
    pub fn refused_writes(&self, plan: &Plan, task: TaskId, printed: [&Path; 2]) -> Vec<Box<str>> {
        // What cannot be read here is told where it is sealed.
        let texts = printed.map(|path| read_tail(path, LAST_PRINTED).unwrap_or_default());
        let protection = &self.context.protection;
        protection.refused_writes(plan, task, &texts.join("\n"))
    }

    /// The changes of the turn, and which of the files that it wants sub-tasks to make are protected. Blocks, unless all is known.
    pub fn seen(self, plan: &Plan, (task, sub_tasks): (TaskId, &mut [SubTask])) -> Option<TurnFiles> {
        let WorkContext { protection, worktrees, folder, frozen, .. } = &self.context;
        let TurnBaseline { files: known, by_default, .. } = &self.before;
        protection.mark(plan, task, sub_tasks);
        let noted = known.noted.as_ref();
        let mut files = noted.map(|(path, record)| compare(plan, folder, task, path, record));
        if let Some(files) = files.as_mut().filter(|_| tests_changed::is_wanted(plan, task)) {
            files.tests = touched(plan, (folder, worktrees), task, known.first.as_ref()).map(Box::new);
        }
        if plan.task(task).commits() {
            let known = (worktrees, &known.committed, &**protection);
            commit(plan, known, task, files.get_or_insert_default());
        }
        if self.is_touched {
            let changes = protection.after_turn(plan, task, by_default, &self.of_others, self.checked);
            if !changes.is_empty() {
                let protected = &mut files.get_or_insert_default().protected;
                protected.extend(changes);
                protected.sort();
                protected.dedup();
            }
        }
        if self.before.missions != stamps(frozen) {
            let change = "the frozen mission of the run was changed".to_owned();
            files.get_or_insert_default().protected.push(change);
        }
        if let Some(files) = &mut files {
            cut(&mut files.protected);
        }
        files
    }
}

/// The state of the watched files; `None` where it is not known, and where nothing is watched.
fn look_at_watched(plan: &Plan, folder: &RunFolder, task: TaskId) -> Option<FileMarks> {
    let scope = Scope { root: plan.workspace_of(task), patterns: watched(plan, task) };
    if scope.patterns.is_empty() {
        return None;
    }
    let most_read = if is_written_enough(plan, task) { 0 } else { MOST_READ };
    look(&[scope], folder.state_folder().path(), most_read).ok()
}

/// Commits the work of an isolated task: all that differs from what it began with, whoever looks. What cannot
/// be committed is no work.
fn commit(
    plan: &Plan,
    (worktrees, committed, protection): (&Worktrees, &Committed, &Protection),
    task: TaskId,
    files: &mut TurnFiles,
) {
    match worktrees.commit(plan, task, committed) {
        Ok(work) => {
            if tests_changed::is_wanted(plan, task) {
                let changed = work.changed.iter();
                let changed = changed.map(|changed| (&*changed.path, changed.was_there()));
                files.tests = TestPatterns::of(plan, task).touched(changed).map(Box::new);
            }
            files.protected.extend(work.protected(plan, protection, task));
            files.protected.sort();
            files.protected.dedup();
            files.changed = Some(work.commit.files);
            // Files that git does not follow were looked at.
            if watched(plan, task).is_empty() {
                files.written = files.changed;
            }
            files.commit = Some(Box::new(work.commit));
        }
        // Nobody can tell what it did. Its merge says why, if it comes to that.
        Err(NotCommitted::Work(_) | NotCommitted::Git(_)) => (files.changed, files.written) = (None, None),
    }
}

fn note(
    plan: &Plan,
    (folder, worktrees): (&RunFolder, &Worktrees),
    turn: TurnId,
) -> Result<FileRef, WorkError> {
    let protected = look(&protected_scopes(plan, turn.task), folder.state_folder().path(), MOST_READ);
    let is_asked = tests_changed::is_wanted(plan, turn.task) && !plan.task(turn.task).commits();
    let record = FileRecord {
        folders: folders(plan, turn.task),
        protected: protected.map_err(|mut unknown| {
            cut(&mut unknown);
            unknown.join("; ")
        })?,
        watched: look_at_watched(plan, folder, turn.task),
        tests: is_asked.then(|| tests_of(plan, (folder, worktrees), turn.task)),
    };
    let path = folder.spool_file(&SpoolName::Before(turn));
    let mut bytes = serde_json::to_vec(&record)?;
    if bytes.len() as u64 > LARGEST_RECORD {
        return Err("the patterns name too much: narrow them".into());
    }
    bytes.push(b'\n');
    write_sealed(&path, &bytes)
}

fn compare(plan: &Plan, folder: &RunFolder, task: TaskId, path: &Path, expected: &FileRef) -> TurnFiles {
    let scopes = protected_scopes(plan, task);
    let record = match read_record(path, expected) {
        Ok(record) => record,
        // It lies where agents can reach it. Without it nothing can be told, and what cannot be told is no pass.
        Err(why) => {
            return TurnFiles {
                protected: if scopes.is_empty() {
                    Vec::new()
                } else {
                    vec![format!("nobody can tell, for the record of them is lost: {why}")]
                },
                ..TurnFiles::default()
            };
        }
    };
    let now = folders(plan, task);
    // One of its own may not have been there yet.
    let was_carried = record.folders.first().is_some_and(|then| *then != now[0]);
    let carried = |marks| {
        if was_carried { carried(marks, &record.folders, &now) } else { marks }
    };
    let protected = match look(&scopes, folder.state_folder().path(), MOST_READ) {
        Ok(after) => changes(&carried(record.protected), &after, &now[0].0),
        Err(unknown) => unknown,
    };
    let watched = record.watched.map(carried);
    let watched = watched.zip(look_at_watched(plan, folder, task));
    let difference = watched.map(|(before, after)| difference(&before, &after));
    TurnFiles {
        protected,
        changed: difference.map(|difference| difference.changed),
        // Whoever carried it has written all of it anew.
        written: difference.and_then(|difference| {
            if was_carried {
                Some(difference.changed).filter(|changed| *changed > 0)
            } else {
                Some(difference.written)
            }
        }),
        ..TurnFiles::default()
    }
}
