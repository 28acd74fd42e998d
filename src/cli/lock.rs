//! The lock of the state folder: taken by a command that writes, or named with who has it.

use std::time::{Duration, Instant};

use crate::{
    runtime::HAS_WORKERS,
    store::{HOSTED, Holder, Lock, LockError, StateFolder},
};
use rules::domain::RunId;

use super::command_error::Failure;
use super::operator_client::OPERATOR;
use super::project::WRITABLE;
use super::screen::Screen;

/// How long a session waits for an operator's command to be done.
const OPERATOR_PATIENCE: Duration = Duration::from_secs(5);

/// How often a lock is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(5);

/// How long the session of a host waits for the lock that another one has for the same run. The server has given that one up, so that
/// its host has ended it, or is gone; a server of files forgets the locks of a machine only after a while. Nobody takes the lock away.
const HANDED_OVER: Duration = Duration::from_secs(120);

/// Takes the lock of the state folder, or says who has it.
pub fn lock(folder: &StateFolder, command: &str, run: &RunId) -> Result<Lock, Failure> {
    let is_hosted = HAS_WORKERS && std::env::var_os(HOSTED).is_some();
    lock_while(folder, command, run, |holder, waited| {
        // Somebody answers an approval or the like: that takes a moment and is no session in the way.
        holder.is_some_and(|holder| {
            holder.command == OPERATOR && waited < OPERATOR_PATIENCE
                || is_hosted && holder.run.as_ref() == Some(run) && waited < HANDED_OVER
        })
    })
}

/// Takes the lock of the state folder as soon as whoever has it lets go, and says for whom it waits. Without `most` it waits for ever.
pub fn wait_for_lock(
    folder: &StateFolder,
    command: &str,
    run: &RunId,
    most: Option<Duration>,
    screen: &Screen,
) -> Result<Lock, Failure> {
    let mut told = None;
    lock_while(folder, command, run, |holder, waited| {
        let waits = most.is_none_or(|most| waited < most);
        if let Some(holder) = holder.filter(|holder| waits && told != Some(holder.pid)) {
            let what = holder.run.as_ref().map_or_else(|| holder.command.clone(), |run| format!("run {run}"));
            screen.note(&format!(
                "note: waits for {what} (process {}), which has the state folder",
                holder.pid
            ));
            told = Some(holder.pid);
        }
        waits
    })
}

/// Takes the lock once it is free, as long as whoever has it is to be waited for.
fn lock_while(
    folder: &StateFolder,
    command: &str,
    run: &RunId,
    mut waits: impl FnMut(Option<&Holder>, Duration) -> bool,
) -> Result<Lock, Failure> {
    let begin = Instant::now();
    loop {
        match Lock::take(&folder.lock_path(), command, Some(run)) {
            Err(LockError::Held { holder, .. }) if waits(holder.as_deref(), begin.elapsed()) => {
                std::thread::sleep(LOOK);
            }
            taken => return taken.map_err(not_taken),
        }
    }
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
