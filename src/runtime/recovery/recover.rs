//! Recovery is replay: state = fold(apply, journal). The snapshot plays no part in it.

use std::io;
use std::path::PathBuf;

use crate::store::{DamagedJournal, JournalEnd, Misplaced, Reader, Record, RunFolder};
use rules::domain::{OutcomeClass, RunId, Timestamp};
use rules::engine::{
    self, Concern, Event, FORMAT, Fact, RunEvent, RunStarted, State, SupervisorRef, TaskEvent,
};
use rules::mission::{ConfigLayer, Layers, Report, Source, load_config};
use rules::plan::RunOptions;

use super::adopt::Left;
use super::missions::Missions;
use super::moved;
use super::origin::{UNSAID, is_unsaid};
use super::supervision::Served;

/// A run as its journal tells it.
#[derive(Debug)]
pub struct Recovered {
    /// The state after the last record.
    pub state: State,
    /// How the run started.
    pub started: RunStarted,
    /// The missions that it went by.
    pub missions: Missions,
    /// The processes that the last session started, wherever its state lay then.
    pub last: Left,
    /// The supervisors of the sessions before, where they were others, each with whether its last session is on
    /// record as ended.
    pub supervisors_before: Vec<Served>,
    /// The end of the last good record.
    pub end: JournalEnd,
    /// Length of the torn tail, if there was one.
    pub torn: Option<u64>,
    /// The warning that a person's word is as if it had never been said, because nothing vouches for it.
    pub unsaid: Option<&'static str>,
    /// The outcome of the last session; `None` if it did not end.
    pub finished: Option<OutcomeClass>,
    /// When the last session is known to have worked last.
    pub worked_last: Option<Timestamp>,
    /// Whether the folder that its state was carried from has the run too.
    pub is_copy: bool,
}

/// Why a run cannot be recovered.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] DamagedJournal),
    /// Something else is in the place of a file or folder of the run.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// The journal has not even a first record.
    #[error("{journal} has no readable record: run '{run}' never started")]
    NeverStarted { run: RunId, journal: PathBuf },
    /// Written by a newer version.
    #[error(
        "run '{run}' has journal format {found}, this version of quorum knows up to {FORMAT}; use a newer quorum"
    )]
    Newer {
        run: RunId,
        /// The version that the journal names.
        found: u32,
    },
    /// another process wrote to the journal while a session did.
    #[error(
        "{journal} was changed by somebody else while run '{run}' was working, so nothing in it can be trusted; \
         start a new run"
    )]
    Foreign { run: RunId, journal: PathBuf },
    /// The frozen mission is not the one that the run was started with.
    #[error(
        "the frozen mission {path} was changed since run '{run}' started (its digest is {found}, not {expected})"
    )]
    MissionChanged {
        run: RunId,
        /// The path of the frozen mission.
        path: PathBuf,
        /// The digest that the journal names.
        expected: String,
        /// The digest that the file has now.
        found: String,
    },
    /// The runs of a state folder cannot be listed.
    #[error("cannot list the runs in {path}: {source}")]
    Runs {
        /// The path of the state folder.
        path: PathBuf,
        source: io::Error,
    },
    /// The frozen mission cannot be read.
    #[error("cannot read the frozen mission {path}: {source}")]
    Mission {
        /// The path of the frozen mission.
        path: PathBuf,
        source: io::Error,
    },
    /// The frozen mission does not load, though its digest is right.
    #[error("the frozen mission {path} does not load with this version of quorum: {message}")]
    MissionRefused {
        /// The path of the frozen mission.
        path: PathBuf,
        message: String,
    },
}

/// Folds a run's journal. `watch` sees each record once it is applied.
///
/// # Errors
/// [`RecoverError`]
pub fn recover(run: &RunFolder, watch: impl FnMut(&State, &Record)) -> Result<Recovered, RecoverError> {
    let all_of = |_: &State, record: &Record, _| RecoveryStep { count: record.events.len(), instead: None };
    fold(run, Fold::Quick, all_of, watch)
}

/// Folds a run's journal as its sessions lived it, each with the options that it had. `watch` sees the events of each record
/// before they are applied, from the number that it is told on, and says what becomes of how many of them until it is asked
/// again.
///
/// # Errors
/// [`RecoverError`]
pub fn retell(
    run: &RunFolder,
    watch: impl FnMut(&State, &Record, usize) -> RecoveryStep,
) -> Result<Recovered, RecoverError> {
    fold(run, Fold::AsItWas, watch, |_, _| {})
}

/// The number of events of a record that are done with, and their replacement.
pub struct RecoveryStep {
    /// The number of events that are done with, at least one.
    pub count: usize,
    /// The events that are applied in their place; `None` where they stand.
    pub instead: Option<Vec<Event>>,
}

/// How a journal is folded. Options change rules, never the graph, so they matter only to who asks the rules.
#[derive(Clone, Copy, PartialEq)]
enum Fold {
    /// With the options of the first session, and those of the last at the end.
    Quick,
    /// With the options that each session had.
    AsItWas,
}

fn fold(
    run: &RunFolder,
    how: Fold,
    mut before: impl FnMut(&State, &Record, usize) -> RecoveryStep,
    mut after: impl FnMut(&State, &Record),
) -> Result<Recovered, RecoverError> {
    if run.foreign_write().exists() {
        return Err(RecoverError::Foreign { run: run.id().clone(), journal: run.journal() });
    }
    run.check()?;
    let mut reader = Reader::open(&run.journal())?;
    let (first, mut recovered) = Recovered::at_the_start(run, &mut reader)?;
    let mut record = Some(first);
    while let Some(mut current) = record {
        if is_unsaid(run, &current, &reader)? {
            recovered.unsaid = Some(UNSAID);
            recovered.end = reader.before();
            return recovered.at_the_end(run);
        }
        recovered.missions.complete(&mut current)?;
        let plan = &recovered.state.plan;
        let strange = engine::members_only(plan, &current.events).and_then(|()| match how {
            Fold::Quick => Ok(()),
            Fold::AsItWas => engine::fact_of_members(plan, &current.fact),
        });
        strange.map_err(|stranger| reader.not_of_mission(stranger.to_string()))?;
        engine::legal_only(&recovered.state, &current.events)
            .map_err(|illegal| reader.not_of_mission(illegal.to_string()))?;
        if how == Fold::AsItWas
            && let Fact::Resume(resume) = &current.fact
        {
            recovered.replan(&resume.options)?;
        }
        recovered.take_record(&current, &mut before);
        after(&recovered.state, &current);
        record = reader.next_record()?;
    }
    (recovered.end, recovered.torn) = (reader.end(), reader.torn());
    recovered.at_the_end(run)
}

/// A journal without a record, though children of the run have ended or a session has: it was not like this, and the work
/// that it told of must not begin anew as if it had never been.
fn emptied(run: &RunFolder) -> Option<RecoverError> {
    let trace = run.trace_of_work()?;
    let damaged = DamagedJournal::Damaged {
        path: run.journal(),
        line: 1,
        byte: 0,
        what: format!("it holds no record, though {} shows that the run has worked", trace.display()),
    };
    Some(damaged.into())
}

impl Recovered {
    /// A run of which nothing but the beginning of its first record is known, and that record.
    fn at_the_start(run: &RunFolder, reader: &mut Reader) -> Result<(Record, Self), RecoverError> {
        let never = || RecoverError::NeverStarted { run: run.id().clone(), journal: run.journal() };
        let Some(first) = reader.next_record()? else {
            return Err(emptied(run).unwrap_or_else(never));
        };
        let Some(Event::Run(RunEvent::Started(started))) = first.events.first() else {
            return Err(never());
        };
        if started.format > FORMAT {
            return Err(RecoverError::Newer { run: run.id().clone(), found: started.format });
        }
        let mut started = (**started).clone();
        moved::take_start_along(&mut started, &run.state_folder());
        let (missions, plan) = Missions::of(run, &started)?;
        let recovered = Self {
            state: State::new(plan),
            missions,
            last: Left::default(),
            supervisors_before: Vec::new(),
            started,
            end: JournalEnd::START,
            torn: None,
            unsaid: None,
            finished: None,
            worked_last: None,
            is_copy: false,
        };
        Ok((first, recovered))
    }

    /// All records are taken: what holds now, wherever the state folder lies now.
    fn at_the_end(mut self, run: &RunFolder) -> Result<Self, RecoverError> {
        if let Some(then) = moved::take_along(&mut self.state.options, &run.state_folder()) {
            self.is_copy = moved::is_copy(run, &then);
            self.state.moved_from = Some(then);
        }
        let options = self.state.options.clone();
        if options != self.started.options {
            self.replan(&options)?;
        }
        Ok(self)
    }

    /// Applies the events of a record, as many at a time as `before` says, or what it says instead.
    fn take_record(
        &mut self,
        record: &Record,
        before: &mut impl FnMut(&State, &Record, usize) -> RecoveryStep,
    ) {
        self.note(record);
        let mut at = 0;
        while at < record.events.len() {
            let RecoveryStep { count, instead } = before(&self.state, record, at);
            let end = record.events.len().min(at + count.max(1));
            let applied = instead.as_deref().unwrap_or(&record.events[at..end]);
            applied.iter().for_each(|event| self.take(event));
            at = end;
        }
    }

    fn note(&mut self, record: &Record) {
        // What is said to a run without a session says nothing of the session before.
        let resumes = matches!(record.fact, Fact::Resume(_));
        if resumes || (self.finished.is_none() && !record.fact.may_come_from_outside()) {
            self.worked_last = Some(record.at);
        }
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Run(RunEvent::Resumed(resume)) => {
                if self.last.supervisor != resume.supervisor {
                    let before = self.last.supervisor.clone();
                    self.supervisors_before.push((before, self.finished.is_some()));
                }
                self.finished = None;
            }
            Event::Run(RunEvent::Finished { outcome, .. }) => self.finished = Some(*outcome),
            Event::Run(RunEvent::Warning(Concern::Notice, _) | RunEvent::CommandTaken { .. })
            | Event::Task(_, TaskEvent::AcceptanceAnswered { .. }) => {}
            // It was changed since: what the last session ended with is not what the run is now.
            _ => self.finished = None,
        }
        self.last.take(event);
        engine::apply(&mut self.state, event);
    }

    /// The supervisor of the last session.
    pub fn supervisor(&self) -> &SupervisorRef {
        &self.last.supervisor
    }

    /// The processes that the last session may have left running.
    pub fn left(&self) -> Left {
        // What runs belongs to the original, which may be gone on with.
        if self.is_copy {
            return Left::default();
        }
        self.last.clone()
    }

    /// Lays other options over the frozen mission. Options change rules, never the graph, so the state stays as it is.
    ///
    /// # Errors
    /// [`RecoverError`]
    pub fn replan(&mut self, options: &RunOptions) -> Result<(), RecoverError> {
        self.state.plan = self.missions.plan_with(options)?;
        Ok(())
    }
}

/// Whether this build hands work to workers on other machines.
pub const HAS_WORKERS: bool = cfg!(feature = "temporal");

/// The configuration files beneath a mission, from the texts that its options hold.
///
/// # Errors
/// Everything that is wrong with them.
pub fn layers_of(options: &RunOptions) -> Result<Layers, Report> {
    let layer = |text: &Option<String>, name: &Option<String>, unnamed: &str, layer: ConfigLayer| {
        let name = name.as_deref().unwrap_or(unnamed);
        text.as_ref()
            .map(|text| load_config(&Source::new(name, text.as_bytes()), layer, HAS_WORKERS))
            .transpose()
    };
    Ok(Layers {
        project: layer(
            &options.project_config,
            &options.project_config_name,
            "quorum.yaml",
            ConfigLayer::Project,
        )?,
        user: layer(
            &options.user_config,
            &options.user_config_name,
            "the user's quorum.yaml",
            ConfigLayer::User,
        )?,
        has_workers: HAS_WORKERS,
        filled_by: None,
    })
}
