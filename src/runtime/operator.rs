//! What a person says to a run that nobody works on: journaled by whoever holds the lock, executed by the next session.

use std::io;
use std::time::Duration;

use crate::domain::Timestamp;
use crate::engine::{self, Command, Event, Input, KeeperRef, OperatorInput, RunPhase, State};
use crate::keeper;
use crate::store::{self, Found, FsLog, Journal, JournalError, OperatorKey, Queued, RunFolder, StateFolder};

use super::recover::{RecoverError, recover};

/// Why a run could not be told.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// It cannot be read.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// Its journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What still runs of it cannot be ended.
    #[error("processes of the earlier session still run and cannot be ended: {0}")]
    StillRuns(io::Error),
    /// The inbox cannot be read or emptied.
    #[error("cannot use {path}: {source}")]
    Inbox {
        /// The inbox.
        path: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Its journal cannot be opened.
    #[error("cannot write {path}: {source}")]
    Open {
        /// The journal.
        path: std::path::PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Decides inputs of a run that nobody works on, durably. Nothing is started; but a run whose last task ends with them
/// gets its end. The caller holds the lock of the state folder. Returns the state they lead to.
///
/// # Errors
/// [`TellError`]; then the journal holds what was durable.
pub fn tell(run: &RunFolder, inputs: &[Input]) -> Result<State, TellError> {
    let recovered = recover(run, |_, _| {})?;
    if inputs.iter().any(calls_off) {
        end_keeper(&recovered.keeper)?;
    }
    let open = |source| TellError::Open {
        path: run.journal(),
        source,
    };
    let file = FsLog::open(&run.journal(), recovered.end.offset).map_err(open)?;
    let mut teller = Teller {
        journal: Journal::new(file, &run.journal(), recovered.end),
        state: recovered.state,
    };
    let mut moved = false;
    for input in inputs {
        moved |= teller.decide(input)?;
    }
    if moved && !teller.state.is_unfinished() && teller.state.phase != RunPhase::New {
        let resume = Input::Resume {
            options: Box::new(teller.state.options.clone()),
            keeper: recovered.keeper,
        };
        teller.decide(&resume)?;
        while teller.decide(&Input::Advance)? {}
    }
    teller.journal.commit()?;
    Ok(teller.state)
}

/// Takes every command that waits in the inbox. Nobody may be working on any run of the folder: the caller holds the
/// lock. Returns what was refused, in words.
///
/// # Errors
/// [`TellError`]; what was not taken still waits.
pub fn drain(folder: &StateFolder) -> Result<Vec<String>, TellError> {
    let inbox = folder.inbox();
    let failed = |source| TellError::Inbox {
        path: folder.inbox(),
        source,
    };
    let mut refused = Vec::new();
    for found in store::waiting(&inbox, OperatorKey::existing).map_err(failed)? {
        match found {
            Found::Command(path, queued) => {
                match take(folder, &queued) {
                    Ok(_) => std::fs::remove_file(&path).map_err(failed)?,
                    Err(why) => {
                        store::move_aside(&path).map_err(failed)?;
                        refused.push(format!("{}: {why}", path.display()));
                    }
                };
            }
            Found::Refused(path, why) => {
                store::move_aside(&path).map_err(failed)?;
                refused.push(format!(
                    "{} is no command and was moved aside: {why}",
                    path.display()
                ));
            }
        }
    }
    Ok(refused)
}

/// Takes one command for a run that nobody works on. Returns the state that it leads to.
pub(super) fn take(folder: &StateFolder, queued: &Queued) -> Result<State, TellError> {
    tell(&folder.run(&queued.run), &[input_of(queued)])
}

/// A command that was sent, as the engine takes it.
pub(super) fn input_of(queued: &Queued) -> Input {
    Input::Operator(Box::new(OperatorInput {
        id: Some(queued.id.clone()),
        command: queued.command.clone(),
        by: queued.by.clone(),
    }))
}

fn calls_off(input: &Input) -> bool {
    let Input::Operator(input) = input else {
        return false;
    };
    matches!(input.command, Command::CancelRun | Command::CancelTask { .. })
}

/// Makes sure that nothing of an earlier session still runs: its keeper is recognised by boot, pid and start time.
///
/// # Errors
/// [`TellError::StillRuns`]
pub fn end_keeper(keeper: &KeeperRef) -> Result<(), TellError> {
    if keeper.pid == 0 {
        return Ok(());
    }
    let identity = keeper::ProcessIdentity {
        pid: keeper.pid,
        start_time: keeper.start_time,
        boot_id: keeper.boot_id.clone(),
    };
    keeper::end(&identity, Duration::from_secs(10)).map_err(TellError::StillRuns)
}

struct Teller {
    journal: Journal<FsLog>,
    state: State,
}

impl Teller {
    /// Whether the input changed anything.
    fn decide(&mut self, input: &Input) -> Result<bool, JournalError> {
        let now = Timestamp::now();
        let events = engine::decide(&self.state, input, now);
        if events.is_empty() {
            return Ok(false);
        }
        self.journal.push(now, input.name(), &events)?;
        for event in &events {
            engine::apply(&mut self.state, event);
        }
        let only_noted = |event: &Event| matches!(event, Event::CommandTaken { .. } | Event::Warning { .. });
        Ok(!events.iter().all(only_noted))
    }
}
