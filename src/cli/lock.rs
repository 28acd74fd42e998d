//! The lock of the state folder: taken by a command that writes, or named with who has it.

use std::time::{Duration, Instant};

use crate::store::{Lock, LockError, StateFolder};
use rules::domain::RunId;

use super::command_error::Failure;
use super::operator_client::OPERATOR;
use super::project::WRITABLE;

/// How long a session waits for an operator's command to be done.
const OPERATOR_PATIENCE: Duration = Duration::from_secs(5);

/// Takes the lock of the state folder, or says who has it.
pub fn lock(folder: &StateFolder, command: &str, run: &RunId) -> Result<Lock, Failure> {
    let begin = Instant::now();
    let taken = loop {
        match Lock::take(&folder.lock_path(), command, Some(run)) {
            // Somebody answers an approval or the like: that takes a moment and is no session in the way.
            Err(LockError::Held {
                holder: Some(holder), ..
            }) if holder.command == OPERATOR && begin.elapsed() < OPERATOR_PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            taken => break taken,
        }
    };
    taken.map_err(not_taken)
}

/// The failure of a command because the lock cannot be had: somebody else writes, or there is no writing.
pub fn not_taken(error: LockError) -> Failure {
    let elsewhere = match &error {
        LockError::Held { holder, .. } => holder.as_ref().filter(|holder| !holder.is_here()),
        LockError::Io { .. } => return Failure::environment(error).help(WRITABLE),
    };
    let help = match elsewhere {
        Some(holder) => format!(
            "it works on another machine, {}, in the same folder: wait until it ends or end it there, or use a state \
             folder of its own with --state-dir",
            holder.host
        ),
        None => "wait until it ends, or use a state folder of its own with --state-dir".to_owned(),
    };
    Failure::environment(error).help(help)
}
