//! Files before and after a turn: what it may not change, and what it is asked to write (protected paths; semantics,
//! sections 1 and 6).
//!
//! What stands in them is written into the spool before the turn starts, and the journal vouches for that record. The
//! end of the turn is held against it, whichever session sees it. The frozen mission is watched for every turn.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::spool::{read_tail, write_sealed};
use crate::executor::task_command::TaskCommands;
use crate::review::snapshot::{FileMarks, MOST_READ, Scope, Stamp, changes, difference, look};
use crate::store::{RunFolder, SpoolName};
use rules::domain::{TaskId, TurnId};
use rules::engine::{Committed, Fact, FileRef, FileSnapshot, State, TurnFiles};
use rules::judging::evidence_rules::{is_written_enough, watched};
use rules::judging::touched::{self, TestPatterns};
use rules::mission::{Plan, SubTask};

use super::file_records::{FileRecord, carried, cut, folders, read_record, tests_of, touched};
use super::protection::{Protection, ReadBefore, SeenFiles, protected_scopes};
use super::worktrees::{NotCommitted, Worktrees};
use crate::runtime::session::effects::Executor;
use crate::runtime::work::at_work::{Activity, Presence};
use crate::runtime::work::context::{Undone, WorkContext, blocking};

/// The largest record that is read back.
const LARGEST_RECORD: u64 = 64 * 1024 * 1024;

/// The state before a turn, which its files are held against once it ends.
#[derive(Debug, Clone)]
pub struct TurnBaseline {
    noted: Option<(PathBuf, FileRef)>,
    /// The record of files before the first turn.
    first: Option<(PathBuf, FileRef)>,
    missions: Vec<Option<Stamp>>,
    /// The state of what is protected by default.
    pub by_default: SeenFiles,
    /// How many parts of judging had begun.
    judgings: u64,
    /// The commits of a task in a worktree before the turn.
    committed: Committed,
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
    Ok(Fact::FilesNoted {
        turn,
        starts,
        shared,
        result: noted.await?.map_err(String::from),
    })
}

impl Executor {
    /// Remembers what a turn that is starting, or was taken over, is held against.
    pub fn remember(&mut self, state: &State, turn: TurnId) {
        let by_default = self.context.protection.by_default(turn.task);
        self.remember_with(state, turn, by_default);
    }

    /// Remembers the state before a turn that was at work before the session began.
    pub fn remember_kept(&mut self, state: &State, turn: TurnId) {
        let by_default = self
            .context
            .protection
            .on_record(state)
            .unwrap_or_else(|| self.context.protection.by_default(turn.task));
        self.remember_with(state, turn, by_default);
    }

    /// Looks at all that is to be protected while the session lives, before anything works. Blocks.
    pub fn protect(&mut self, state: &State, first: &Fact, read: &ReadBefore) -> Vec<Fact> {
        let options = state.options_of(first);
        let taken = Protection::take((state, options), read, self.context.folder.state_folder().path());
        self.context.protection = Arc::new(taken.protection);
        let warnings = taken.warnings.into_iter().map(Fact::Warn);
        let noted = taken.to_note.map(Fact::ProtectionNoted);
        noted.into_iter().chain(warnings).collect()
    }

    fn remember_with(&mut self, state: &State, turn: TurnId, mut by_default: SeenFiles) {
        let is_confined = self.confiner.holds(&state.plan, CommandOwner::Turn(turn));
        by_default.is_confined = is_confined;
        let noted = state.task(turn.task).course.evidence.noted.as_deref();
        let path = |noted: &FileSnapshot| self.context.folder.spool_file(&SpoolName::Before(noted.turn));
        let mut at_work = self.context.at_work();
        let before = TurnBaseline {
            noted: noted.map(|noted| (path(noted), noted.file.clone())),
            first: state
                .first_noted(turn.task)
                .map(|noted| (path(noted), noted.file.clone())),
            missions: stamps(&self.frozen),
            by_default,
            judgings: at_work.judgings,
            committed: state.committed(turn.task),
            _presence: at_work.enter(turn.task, Activity::Turn, is_confined),
        };
        at_work.newest_plan = Some(state.plan.clone());
        drop(at_work);
        self.before.insert(turn, before);
    }

    /// The state of the frozen missions, and of the files if they are to be looked at, which blocks.
    pub fn after(&mut self, turn: TurnId) -> After {
        let before = self.before.remove(&turn);
        let now = stamps(&self.frozen);
        let is_same = before.as_ref().is_none_or(|before| before.missions == now);
        let WorkContext {
            protection,
            worktrees,
            ..
        } = self.context.clone();
        let mut at_work = self.context.at_work();
        let of_others = at_work.made_by_others(turn.task);
        let looked_at = at_work.enter(turn.task, Activity::Look, false);
        let touched = before
            .as_ref()
            .filter(|before| !protection.is_as_seen(&before.by_default))
            .map(|before| Touched {
                before: before.by_default.clone(),
                of_others,
                checked: at_work.is_judging() || before.judgings != at_work.judgings,
            });
        After {
            looked_at,
            protection,
            touched,
            worktrees,
            committed: before
                .as_ref()
                .map(|before| before.committed.clone())
                .unwrap_or_default(),
            first: before.as_ref().and_then(|before| before.first.clone()),
            noted: before.and_then(|before| before.noted),
            mission: (!is_same).then(|| "the frozen mission of the run was changed".to_owned()),
        }
    }
}

/// A mission that is frozen in a run's folder.
#[derive(Debug)]
pub struct Frozen {
    path: PathBuf,
    /// Held open, which spares looking for it twice a turn: that it was written to, removed or replaced shows in its own
    /// times. `None` if it could not be opened.
    file: Option<File>,
}

impl Frozen {
    fn stamp(&self) -> Option<Stamp> {
        let found = match &self.file {
            Some(file) => file.metadata(),
            None => std::fs::symlink_metadata(&self.path),
        };
        Some(Stamp::of(&found.ok()?))
    }
}

/// The missions that are frozen in a run's folder.
pub fn frozen(folder: &RunFolder) -> Vec<Frozen> {
    (1..)
        .map(|number| folder.mission(number))
        .take_while(|path| path.exists())
        .map(|path| Frozen {
            file: File::open(&path).ok(),
            path,
        })
        .collect()
}

fn stamps(frozen: &[Frozen]) -> Vec<Option<Stamp>> {
    frozen.iter().map(Frozen::stamp).collect()
}

/// Something has touched what is protected by default while a turn worked.
struct Touched {
    before: SeenFiles,
    /// The files that others at work are to make.
    of_others: Vec<PathBuf>,
    checked: bool,
}

impl Touched {
    /// The changes to protected files, one sentence each. Blocks.
    fn changes(&self, protection: &Protection, plan: &Plan, task: TaskId) -> Vec<String> {
        protection.after_turn(plan, task, &self.before, &self.of_others, self.checked)
    }
}

/// How much of what a turn printed is searched for writes that were refused, in bytes from its end.
const LAST_PRINTED: u64 = 256 << 10;

/// The looks that are due when a turn has ended.
pub struct After {
    /// Tells, as long as it lives, that the files of this task are not looked at yet.
    looked_at: Arc<Presence>,
    protection: Arc<Protection>,
    worktrees: Worktrees,
    committed: Committed,
    touched: Option<Touched>,
    noted: Option<(PathBuf, FileRef)>,
    first: Option<(PathBuf, FileRef)>,
    mission: Option<String>,
}

impl After {
    /// Whether nothing needs to be read for it.
    pub fn is_known(&self) -> bool {
        self.noted.is_none() && self.touched.is_none()
    }

    /// Writes of protected files that were refused, by what the turn printed. Blocks.
    pub fn refused_writes(&self, plan: &Plan, task: TaskId, printed: [&Path; 2]) -> Vec<Box<str>> {
        // What cannot be read here is told where it is sealed.
        let texts = printed.map(|path| read_tail(path, LAST_PRINTED).unwrap_or_default());
        self.protection.refused_writes(plan, task, &texts.join("\n"))
    }

    /// The changes of the turn, and which of the files that it wants sub-tasks to make are protected. Blocks.
    pub fn seen(
        self,
        plan: &Plan,
        folder: &RunFolder,
        (task, sub_tasks): (TaskId, &mut [SubTask]),
    ) -> Option<TurnFiles> {
        self.protection.mark(plan, task, sub_tasks);
        let noted = self.noted.as_ref();
        let mut files = noted.map(|(path, record)| compare(plan, folder, task, path, record));
        if let Some(files) = files.as_mut().filter(|_| touched::is_wanted(plan, task)) {
            files.tests = touched(plan, (folder, &self.worktrees), task, self.first.as_ref()).map(Box::new);
        }
        if plan.task(task).commits() {
            let known = (&self.worktrees, &self.committed, &*self.protection);
            commit(plan, known, task, files.get_or_insert_default());
        }
        let touched = self
            .touched
            .map(|touched| touched.changes(&self.protection, plan, task));
        if let Some(changes) = touched.filter(|changes| !changes.is_empty()) {
            let protected = &mut files.get_or_insert_default().protected;
            protected.extend(changes);
            protected.sort();
            protected.dedup();
        }
        if let Some(change) = self.mission {
            files.get_or_insert_default().protected.push(change);
        }
        if let Some(files) = &mut files {
            cut(&mut files.protected);
        }
        drop(self.looked_at);
        files
    }
}

/// The state of the watched files; `None` where it is not known, and where nothing is watched.
fn look_at_watched(plan: &Plan, folder: &RunFolder, task: TaskId) -> Option<FileMarks> {
    let scope = Scope {
        root: plan.workspace_of(task),
        patterns: watched(plan, task),
    };
    if scope.patterns.is_empty() {
        return None;
    }
    let most_read = if is_written_enough(plan, task) {
        0
    } else {
        MOST_READ
    };
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
            if touched::is_wanted(plan, task) {
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
    let protected = look(
        &protected_scopes(plan, turn.task),
        folder.state_folder().path(),
        MOST_READ,
    );
    let is_asked = touched::is_wanted(plan, turn.task) && !plan.task(turn.task).commits();
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
        if was_carried {
            carried(marks, &record.folders, &now)
        } else {
            marks
        }
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
