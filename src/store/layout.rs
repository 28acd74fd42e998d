//! Where things are below `.polpo/`.

use std::ffi::OsString;
use std::fmt::{self, Write};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use rules::domain::{AskId, RunId, StageKey, TaskId, Timestamp, TurnId};

use super::journal::{DamagedJournal, Reader, first_record};
use super::log_file::foreign_write_mark;
use super::record::Record;
use super::survey::{Misplaced, OF_RUN, OF_STATE, look_at, look_at_root, may_be_run};
use supervisor::files::no_links::{OpenFolder, real_parent, real_path};
use supervisor::files::{create_dir_durable, if_there, read_regular, replace_file};

/// Before the name of a run that is being removed: no run id begins like this, so nobody takes it for a run.
const TRASH: &str = ".trash-";

/// The folder of a run's prompts, outputs and replies.
const SPOOL: &str = "work";
/// Room for that and the name of a file in it; a longer one only takes longer.
const LONGEST_NAME: usize = 48;

/// The VERSION file is shorter, in bytes.
const LONGEST_VERSION: u64 = 4096;
/// The format of the state folder. A newer one is refused.
const FORMAT: u32 = 4;
/// The problem of a path that no record can hold.
pub const NOT_UTF8: &str = "its path is not UTF-8 text, and could not be recorded";

/// A state folder, `.polpo/` by default.
#[derive(Debug, Clone, PartialEq)]
pub struct StateFolder {
    root: PathBuf,
}

/// Why a state folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Written by a newer version.
    #[error(
        "{path} has state format {found}, this version of quorum knows up to {FORMAT}; use a newer quorum"
    )]
    Newer {
        /// The folder's VERSION file.
        path: PathBuf,
        found: u32,
    },
    /// Written by an older version, whose runs this one cannot go on with.
    #[error(
        "{path} has state format {found}: this state was written by an older quorum; finish its runs with that version or \
         move {folder} away"
    )]
    Older {
        /// The folder's VERSION file.
        path: PathBuf,
        found: u32,
        /// The path of the state folder.
        folder: String,
    },
    /// Something that is not the state's is in it.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// The VERSION file says something else.
    #[error("{path} does not hold a format number; is this really a quorum state folder?")]
    NotAFolder {
        /// The folder's VERSION file.
        path: PathBuf,
    },
    /// The file system said no.
    #[error("cannot use the state folder {path}: {source}")]
    Io {
        /// The path that was touched.
        path: PathBuf,
        source: io::Error,
    },
}

impl StateFolder {
    /// The folder at `root`, existing or not, which must not be a link. The way there is resolved now, once.
    ///
    /// # Errors
    /// When the current directory is gone, or a link on the way leads nowhere.
    pub fn at(root: &Path) -> io::Result<Self> {
        let root = real_parent(root)?;
        Ok(Self { root })
    }

    /// The folder that a person named: a link to it is as good as the folder.
    ///
    /// # Errors
    /// As [`StateFolder::at`].
    pub fn named(root: &Path) -> io::Result<Self> {
        let root = real_path(root)?;
        Ok(Self { root })
    }

    /// The folder's path, absolute.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// Makes the folder, if it is not there, and checks its format.
    ///
    /// # Errors
    /// [`FolderError`]
    pub fn create(&self) -> Result<(), FolderError> {
        let version = self.root.join("VERSION");
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| FolderError::Io { path, source }
        };
        look_at_root(&self.root)?;
        create_dir_durable(&self.root).map_err(io(&self.root))?;
        self.look()?;
        if !version.exists() {
            replace_file(&version, format!("{FORMAT}\n").as_bytes()).map_err(io(&version))?;
            // The state must never be committed by accident: it holds prompts and outputs.
            let ignore = self.root.join(".gitignore");
            replace_file(&ignore, b"*\n").map_err(io(&ignore))?;
        }
        create_dir_durable(&self.root.join("runs")).map_err(io(&self.root))?;
        self.check()
    }

    fn look(&self) -> Result<(), FolderError> {
        look_at_root(&self.root)?;
        Ok(look_at(&self.root, &self.root, OF_STATE)?)
    }

    /// Checks the format of an existing folder, and that nothing in it leads elsewhere; a missing folder is fine.
    ///
    /// # Errors
    /// [`FolderError`]
    pub fn check(&self) -> Result<(), FolderError> {
        if self.root.to_str().is_none() {
            let path = self.root.clone();
            let source = io::Error::other(NOT_UTF8);
            return Err(FolderError::Io { path, source });
        }
        self.look()?;
        let path = self.root.join("VERSION");
        let text = if_there(read_regular(&path, LONGEST_VERSION));
        let text = text.map_err(|source| FolderError::Io { path: path.clone(), source })?;
        let format = text.map(|text| String::from_utf8_lossy(&text).trim().parse::<u32>());
        match format {
            None | Some(Ok(FORMAT)) => Ok(()),
            Some(Ok(found)) if found > FORMAT => Err(FolderError::Newer { path, found }),
            Some(Ok(found)) => {
                let folder = self.root.file_name().unwrap_or_default();
                let folder = folder.to_string_lossy().into_owned();
                Err(FolderError::Older { path, found, folder })
            }
            Some(Err(_)) => Err(FolderError::NotAFolder { path }),
        }
    }

    /// The lock file of the one writer.
    pub fn lock_path(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Where a live writer is asked.
    pub fn control(&self) -> PathBuf {
        self.root.join("control.sock")
    }

    /// Where operators' commands wait for the writer.
    pub fn inbox(&self) -> PathBuf {
        self.root.join("commands")
    }

    /// The folder of one run.
    pub fn run(&self, id: &RunId) -> RunFolder {
        RunFolder { root: self.root.join("runs").join(id.as_str()), id: id.clone() }
    }

    /// All runs that have a journal, the one that began first at first.
    ///
    /// # Errors
    /// When the folder cannot be read, or something else is in the place of a run; a missing folder has no runs.
    pub fn runs(&self) -> io::Result<Vec<RunFolder>> {
        let runs = self.known_runs()?.into_iter();
        Ok(runs.map(|known| known.folder).collect())
    }

    /// The runs with their first records. Which run is the newest is what these say, never the names of folders
    /// (semantics, section 22).
    ///
    /// # Errors
    ///
    /// As [`Self::runs`].
    pub fn known_runs(&self) -> io::Result<Vec<KnownRun>> {
        let mut runs = Vec::new();
        for name in self.names_of_runs()? {
            let Some(id) = name.to_str().and_then(|name| RunId::new(name).ok()) else {
                continue;
            };
            let run = self.run(&id);
            // What is in the place of a journal is a journal that cannot be read.
            if may_be_run(&self.root, run.path())? && fs::symlink_metadata(run.journal()).is_ok() {
                runs.push(KnownRun::of(run));
            }
        }
        runs.sort_by(|a, b| (a.began, &a.folder.id).cmp(&(b.began, &b.folder.id)));
        Ok(runs)
    }

    /// The names of all folders that are taken for runs; none where that cannot be told.
    pub fn run_names(&self) -> Vec<String> {
        let names = self.names_of_runs().unwrap_or_default().into_iter();
        let names = names.filter_map(|name| name.into_string().ok());
        let is_run = |name: &String| {
            let id = RunId::new(name.as_str()).ok();
            id.is_some_and(|id| fs::symlink_metadata(self.run(&id).journal()).is_ok())
        };
        names.filter(is_run).collect()
    }

    /// Removes what the interrupted removal of a run left behind. The caller holds the lock.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn sweep(&self) -> io::Result<()> {
        let Some(runs) = self.open_runs()? else {
            return Ok(());
        };
        let mut names = runs.names()?;
        names.retain(|name| name.to_string_lossy().starts_with(TRASH));
        names.iter().try_for_each(|name| runs.remove_all(name))
    }

    fn open_runs(&self) -> io::Result<Option<OpenFolder>> {
        if_there(OpenFolder::open(&self.root.join("runs")))
    }

    fn names_of_runs(&self) -> io::Result<Vec<OsString>> {
        let runs = self.open_runs()?;
        runs.map_or_else(|| Ok(Vec::new()), |runs| runs.names())
    }
}

/// A run of a state folder and how it began.
#[derive(Debug, Clone)]
pub struct KnownRun {
    pub folder: RunFolder,
    /// The first record; `None` where it cannot be read.
    pub first: Option<Record>,
    /// The start of the run, by that record.
    pub began: Timestamp,
}

impl KnownRun {
    fn of(folder: RunFolder) -> Self {
        let first = first_record(&folder.journal()).ok().flatten();
        let began = match &first {
            Some(first) => first.at,
            None if folder.never_began() => Timestamp(0),
            // What cannot be read may well be the newest: it must not be passed over for an older one. Its mission was
            // frozen when it began, and is written once.
            None => last_change(&folder.mission(1)),
        };
        Self { folder, first, began }
    }
}

/// When a file was changed last; the beginning of time where that cannot be told.
fn last_change(path: &Path) -> Timestamp {
    let changed = fs::metadata(path).and_then(|file| file.modified());
    let since = changed.map(|at| at.duration_since(UNIX_EPOCH).unwrap_or_default());
    Timestamp(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFolder {
    root: PathBuf,
    id: RunId,
}

impl RunFolder {
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// The folder's path, absolute.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The folder in the run's for builds of commands that judge.
    pub fn builds(&self) -> PathBuf {
        self.root.join("builds")
    }

    /// The state folder that it is in.
    pub fn state_folder(&self) -> StateFolder {
        let root = self.root.ancestors().nth(2).unwrap_or(&self.root);
        StateFolder { root: root.to_owned() }
    }

    /// Checks that nothing in the folder leads elsewhere.
    ///
    /// # Errors
    /// [`Misplaced`]
    pub fn check(&self) -> Result<(), Misplaced> {
        look_at(&self.state_folder().root, &self.root, OF_RUN)
    }

    /// Makes the folder, durable. One in which no run ever began, because its runner was killed first, makes room.
    /// The caller holds the lock.
    ///
    /// # Errors
    /// Whatever the file system says; `AlreadyExists` if the run id is taken.
    pub fn create(&self) -> io::Result<()> {
        if fs::symlink_metadata(&self.root).is_ok() {
            self.check()?;
        }
        if self.root.exists() && self.never_began() {
            self.remove()?;
        }
        if self.root.exists() {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("run '{}' exists already", self.id),
            ));
        }
        create_dir_durable(&self.spool())
    }

    /// Whether there is no first record: then nothing was ever started. What cannot be read has perhaps begun.
    pub fn never_began(&self) -> bool {
        if self.foreign_write().exists() || self.trace_of_work().is_some() {
            return false;
        }
        match Reader::open(&self.journal()) {
            Ok(mut reader) => matches!(reader.next_record(), Ok(None)),
            Err(DamagedJournal::Io { source, .. }) => source.kind() == io::ErrorKind::NotFound,
            Err(_) => false,
        }
    }

    /// A file, beside the journal, that shows that the run has worked: children of it have ended, or a session
    /// has.
    pub fn trace_of_work(&self) -> Option<PathBuf> {
        let is_trace = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|file| file.len() > 0);
        [self.exits(), self.snapshot()].into_iter().find(is_trace)
    }

    /// Removes the run: in one step it is no run any more, then its files go. The caller holds the lock.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn remove(&self) -> io::Result<()> {
        let trash = format!("{TRASH}{}", self.id);
        let (runs, name) = OpenFolder::of(&self.root)?;
        runs.rename(name, &runs, trash.as_ref())?;
        runs.sync()?;
        runs.remove_all(trash.as_ref())
    }

    /// The worktrees of isolated tasks, and the repository that they are merged in.
    pub fn worktrees(&self) -> PathBuf {
        self.root.join("worktrees")
    }

    /// The folder of what is known of a command that other machines do, by its label.
    #[cfg(any(feature = "temporal", test))]
    pub fn carried(&self, label: &str) -> PathBuf {
        self.worktrees().join("carried").join(label)
    }

    /// What the child is asked that stands here for such a command.
    #[cfg(any(feature = "temporal", test))]
    pub fn carried_request(&self, label: &str) -> PathBuf {
        self.carried(label).join("request")
    }

    /// A frozen mission: 1 is the one that the run started with, the others were accepted later.
    pub fn mission(&self, number: u32) -> PathBuf {
        match number {
            0 | 1 => self.root.join("mission.yaml"),
            later => self.root.join(format!("mission.{later}.yaml")),
        }
    }

    /// The path of the journal, in which all decisions stand.
    pub fn journal(&self) -> PathBuf {
        self.root.join("journal.jsonl")
    }

    /// The snapshot for readers.
    pub fn snapshot(&self) -> PathBuf {
        self.root.join("state.json")
    }

    /// The mark that another process wrote to the journal while a session did. Nothing in it can be trusted
    /// then.
    pub fn foreign_write(&self) -> PathBuf {
        foreign_write_mark(&self.journal())
    }

    /// The supervisor's record of exits.
    pub fn exits(&self) -> PathBuf {
        self.root.join("exits.log")
    }

    /// Where the next runner finds a supervisor whose runner died.
    pub fn supervisor_socket(&self) -> PathBuf {
        self.root.join("supervisor.sock")
    }

    /// The folder of prompts, outputs and replies.
    pub fn spool(&self) -> PathBuf {
        self.root.join(SPOOL)
    }

    /// One file of the spool.
    pub fn spool_file(&self, name: &SpoolName) -> PathBuf {
        // One of the few things that are done several times for every task, hence in one piece.
        let mut path = OsString::with_capacity(self.root.as_os_str().len() + LONGEST_NAME);
        path.push(&self.root);
        for part in ["/", SPOOL, "/"] {
            path.push(part);
        }
        write!(path, "{name}").expect("nothing refuses to be written to memory");
        path.into()
    }
}

/// The name of a file in the spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpoolName {
    /// The prompt of a worker's turn.
    Prompt(TurnId),
    /// The state of files that a turn is held against.
    Before(TurnId),
    /// The standard output of a turn.
    Out(TurnId),
    /// The output of a turn's program, where a preset reads it: the words of the agent are a part of it.
    Stream(TurnId),
    /// The standard error of a turn.
    Err(TurnId),
    /// The claims of a turn in its result file, which is one of its messages.
    Result(TurnId),
    /// The tool calls of a turn, one line each.
    TurnTools(TurnId),
    /// The output of a command that a turn ran as a tool, by position.
    TurnRun(TurnId, u32),
    /// The folder in which a turn may leave questions, delegations, progress and its result.
    Drop(TurnId),
    /// The output of a check, by attempt and position.
    Check(TaskId, u32, u32),
    /// The output of a check of another task on merged work.
    PeerCheck(TaskId, u32, TaskId, u32),
    /// The output of a command of an audit, by the number of the audit and its position.
    Audit(u32, u32),
    /// The files as an audit saw them, by its number.
    AuditSeen(u32),
    /// The output of a command that was asked for an approval, by number and position of the approver.
    Approver(TaskId, u32, u32),
    /// The output of a check of a task before the work, by position.
    Baseline(TaskId, u32),
    /// The output of a command in a look at tests that the work changed, by attempt, kind of look, and
    /// position.
    Look(TaskId, u32, &'static str, u32),
    /// The output of a command of a finish gate, by the turn that it looked at and its position.
    Finish(TurnId, u32),
    /// The output of a command that a criterion names, by attempt, round and position.
    Probe(TaskId, u32, u32, u32),
    /// The output of the command of a stage, by attempt, stage and round.
    StageOut(TaskId, u32, StageKey, u32),
    /// The input of the command of a stage, as JSON.
    StageReview(TaskId, u32, StageKey, u32),
    /// The output of the command that prepares a worktree: that of a task, or of all accepted work.
    Setup(Option<TaskId>),
    /// A file of one call to an agent.
    Ask(AskId, AskFile),
}

worded! {
    /// A file that belongs to one try of an ask.
    pub enum AskFile {
        /// The prompt of the call.
        Request = "request",
        /// The prompt as JSON, for a command that judges.
        Review = "review",
        /// The record that was handed over, where the agent is to grade.
        Handoff = "handoff",
        /// The reply of the agent.
        Reply = "reply",
        /// The output of the agent's program, where a preset reads it: the reply is a part of it.
        Stream = "stream",
        /// The JSON Schema that its program is to hold its reply to.
        Schema = "schema",
        /// The grounds of the verdict beside the reply.
        Judgement = "judgement",
        /// The standard error of a command.
        Err = "err",
        /// The claims of the agent in its result file.
        Result = "result",
        /// The tool calls of the agent, one line each.
        Tools = "tools",
    }
}

impl fmt::Display for SpoolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_turn = |f: &mut fmt::Formatter<'_>, turn: &TurnId, kind: &str| {
            write!(f, "{}.{}.{}.{kind}", turn.task.0, turn.attempt, turn.turn)
        };
        match self {
            Self::Prompt(turn) => of_turn(f, turn, "prompt"),
            Self::Before(turn) => of_turn(f, turn, "before"),
            Self::Out(turn) => of_turn(f, turn, "out"),
            Self::Stream(turn) => of_turn(f, turn, "stream"),
            Self::Err(turn) => of_turn(f, turn, "err"),
            Self::Result(turn) => of_turn(f, turn, "drop/result"),
            Self::Drop(turn) => of_turn(f, turn, "drop"),
            Self::TurnTools(turn) => of_turn(f, turn, "tools"),
            Self::TurnRun(turn, n) => {
                write!(f, "{}.{}.{}.run.{n}", turn.task.0, turn.attempt, turn.turn)
            }
            Self::Check(task, attempt, check) => write!(f, "{}.{attempt}.check.{check}.out", task.0),
            Self::PeerCheck(task, attempt, peer, check) => {
                write!(f, "{}.{attempt}.merge.{}.{check}.out", task.0, peer.0)
            }
            Self::Audit(number, n) => write!(f, "run.audit.{number}.{n}.out"),
            Self::AuditSeen(number) => write!(f, "run.audit.{number}.seen"),
            Self::Approver(task, number, n) => write!(f, "{}.0.approval.{number}.{n}.out", task.0),
            Self::Baseline(task, n) => write!(f, "{}.0.baseline.{n}.out", task.0),
            Self::Look(task, attempt, what, n) => write!(f, "{}.{attempt}.{what}.{n}.out", task.0),
            Self::Finish(turn, n) => {
                write!(f, "{}.{}.finish.{n}.{}.out", turn.task.0, turn.attempt, turn.turn)
            }
            Self::Probe(task, attempt, round, n) => {
                write!(f, "{}.{attempt}.verification.{n}.{round}.out", task.0)
            }
            Self::StageOut(task, attempt, stage, round) => {
                write!(f, "{}.{attempt}.{stage}.{round}.out", task.0)
            }
            Self::StageReview(task, attempt, stage, round) => {
                write!(f, "{}.{attempt}.{stage}.{round}.review", task.0)
            }
            Self::Setup(Some(task)) => write!(f, "{}.0.setup.out", task.0),
            Self::Setup(None) => f.write_str("run.setup.out"),
            Self::Ask(id, file) => write!(f, "{id}.{}", file.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_or_older_format_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::at(&folder.path().join(".polpo")).unwrap();
        state.create().unwrap();
        state.create().unwrap();
        fs::write(state.path().join("VERSION"), "5\n").unwrap();
        assert!(matches!(state.check(), Err(FolderError::Newer { found: 5, .. })));
        fs::write(state.path().join("VERSION"), "3\n").unwrap();
        let older = state.check().unwrap_err();
        assert!(matches!(older, FolderError::Older { found: 3, .. }));
        assert!(older.to_string().contains("move .polpo away"), "{older}");
        fs::write(state.path().join("VERSION"), "soup").unwrap();
        assert!(matches!(state.check(), Err(FolderError::NotAFolder { .. })));
    }
}
