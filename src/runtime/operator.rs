//! What a person says to a run that nobody works on: journaled by whoever holds the lock, executed by the next session.

use std::io;

use crate::domain::Timestamp;
use crate::engine::{self, Event, Input, RunPhase, State};
use crate::store::{FsLog, Journal, JournalError, RunFolder};

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
