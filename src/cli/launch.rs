//! A run begins: its folder, its frozen mission, its journal, its first session.

use std::path::{Path, PathBuf};

use crate::{
    report::folds::view::RunView,
    runtime::{AgentBackends, Ending, Keeping, Observer, code_of_start, next_start},
    store::{FsLog, Journal, JournalEnd, OperatorKey, RunFolder, SpoolName, StateFolder},
};
use rules::{
    domain::{Digest, RunId, Timestamp},
    engine::{FORMAT, Fact, RULES, RunStarted, State},
    plan::RunOptions,
};
use supervisor::files::{replace_file, sync_parent};

use super::args::SessionFlags;
use super::command_error::Failure;
use super::lock::lock;
use super::project::WRITABLE;
use super::reports::Reports;
use super::screen::{LiveView, Screen};
use super::session::{refuse_unpriced, resolve_programs, run_session, supervisor_ref, try_confinement};

/// Ids sort by start time; the digits at the end keep apart what starts in the same second.
pub fn new_run_id(folder: &StateFolder) -> Result<RunId, Failure> {
    let now = Timestamp::now();
    let seconds: String = now.to_rfc3339().chars().take(19).filter(char::is_ascii_alphanumeric).collect();
    (0..1000)
        .map(|n| (now.0 + n) % 1000)
        .filter_map(|n| RunId::new(format!("{}-{}-{n:03}", &seconds[..8], &seconds[9..])).ok())
        .find(|id| !folder.run(id).path().exists())
        .ok_or_else(|| environment!("no free run id: a thousand runs were started in this second"))
}

/// A run that is ready to begin, in a state folder that is locked and clear.
pub struct Launch<'a> {
    pub run: RunFolder,
    /// The mission's bytes, to be frozen.
    pub mission: &'a [u8],
    /// The file that the bytes came from; `None` for standard input.
    pub mission_path: Option<PathBuf>,
    pub options: RunOptions,
    pub state: State,
    pub programs: AgentBackends,
    pub supervisor: supervisor::Handle,
    /// Why no process can be confined here, where any is to be.
    pub unconfined: Option<String>,
    pub observers: Vec<Box<dyn Observer>>,
    /// Files that lie in its spool from the beginning, each with what is copied there.
    pub spooled: Vec<(SpoolName, PathBuf)>,
    /// Earlier ones are removed once nothing can refuse the run any more.
    pub reports: Option<&'a Reports>,
}

impl Launch<'_> {
    /// Makes the run's folder, freezes the mission, opens the journal and runs the first session.
    pub fn start(self) -> Result<Ending, Failure> {
        let run = self.run;
        run.create().map_err(|error| {
            let failure = environment!("cannot make the run: {error}");
            match error.kind() {
                std::io::ErrorKind::AlreadyExists => failure,
                _ => failure.help(WRITABLE),
            }
        })?;
        let io = |error| internal!("cannot write {}: {error}", run.path().display());
        replace_file(&run.mission(1), self.mission).map_err(io)?;
        for (name, from) in &self.spooled {
            let to = run.spool_file(name);
            // A result file lies in a folder of its turn.
            to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(io)?;
            std::fs::copy(from, to).map_err(io)?;
        }
        let key = OperatorKey::existing_or_new().ok();
        let begins = next_start(&run.state_folder(), key.as_ref());
        let mission_digest = Digest::of(self.mission);
        let file = FsLog::open(&run.journal(), 0).map_err(io)?;
        sync_parent(&run.journal()).map_err(io)?;
        let journal = Journal::new(file, &run.journal(), JournalEnd::START);
        if let Some(reports) = self.reports {
            reports.clear()?;
        }
        let mission = self.mission_path.clone();
        let started = RunStarted {
            format: FORMAT,
            rules: RULES,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: run.id().clone(),
            mission_digest,
            mission_path: self.mission_path,
            options: self.options,
            supervisor: supervisor_ref(&self.supervisor),
            origin: key.map(|key| code_of_start(&key, run.id(), begins, mission_digest)),
        };
        let first = Fact::Start(Box::new(started));
        run_session(
            &run,
            self.state,
            journal,
            Keeping::fresh(self.supervisor),
            self.programs,
            self.observers,
            (first, Some(begins), mission, self.unconfined),
        )
    }
}

/// A run beside those of the project: in a state folder of its own, of which nothing is kept.
pub struct InPassing {
    /// The bytes of the mission that it is of.
    pub mission: Vec<u8>,
    pub options: RunOptions,
    pub state: State,
    /// The outputs of the worker, where they are on record already.
    pub spooled: Vec<(SpoolName, PathBuf)>,
}

impl InPassing {
    /// Runs the mission, below a supervisor, with its state in `place`, for a command of that name.
    pub fn start(
        self,
        (command, mut supervisor, place): (&str, supervisor::Handle, &Path),
        flags: &SessionFlags,
        screen: &Screen,
    ) -> Result<(Ending, RunView), Failure> {
        // Beside the work: what is confined does not see the state.
        let folder = StateFolder::at(&place.join("state")).map_err(Failure::environment)?;
        folder.create().map_err(Failure::environment)?;
        let id = new_run_id(&folder)?;
        refuse_unpriced(&self.state)?;
        let programs = resolve_programs(&self.state, &self.options, &id)?;
        let unconfined = try_confinement(&mut supervisor, &self.state, &self.options)?;
        let _lock = lock(&folder, command, &id)?;
        let run = folder.run(&id);
        let places = programs.places.clone();
        let watchers = screen.watch(&run, false, flags, places, LiveView::default());
        let launch = Launch {
            reports: None,
            run,
            mission: &self.mission,
            mission_path: None,
            options: self.options,
            state: self.state,
            programs,
            supervisor,
            unconfined,
            spooled: self.spooled,
            observers: watchers.observers,
        };
        let ending = launch.start()?;
        let view = watchers.view.take().into_view(&ending.state);
        Ok((ending, view))
    }
}
