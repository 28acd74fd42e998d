//! How a process is recognised again after a crash: its number alone may by then be a stranger's.

use std::io;
use std::time::Duration;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::belonging;
use super::forebears::any_forebear;
use super::orphans::{Marker, TURN_KEY_VARIABLE};
use super::platform;

/// How keepers are called in `/proc`.
pub(super) const KEEPER_NAME: &str = "quorum-keeper";
/// The variable that names its run to every child.
const RUN_VARIABLE: &str = "QUORUM_RUN_ID";

/// A process, told apart from every other one that had or will have its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// When it started, in clock ticks since boot (from `/proc/PID/stat`); 0 where the system does not tell.
    pub start_time: u64,
    /// The boot in which the two mean something; empty where the system does not tell.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// This process.
    pub(super) fn own() -> io::Result<ProcessIdentity> {
        let pid = rustix::process::getpid();
        Ok(ProcessIdentity {
            pid: number(pid),
            start_time: platform::start_time(pid)?,
            boot_id: platform::boot_id()?,
        })
    }
}

/// A process id as the number it is.
pub(super) fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Whether the very process of `identity` still runs: boot, number and start time all match. A zombie does not run.
/// False where the system cannot tell (all but Linux).
pub fn alive(identity: &ProcessIdentity) -> bool {
    platform::alive(identity)
}

/// Whether this process was started by an agent, a check or a judge of some run, however far down its tree: such a one
/// must not speak for a person.
#[must_use]
pub fn is_of_an_agent() -> bool {
    // A process that cannot even see itself shall not speak for a person either.
    !belonging::knows_itself() || is_an_agents(std::process::id()).unwrap_or(true)
}

/// The same of another process, as far as the system tells (all but Linux: not at all).
///
/// # Errors
/// When there is no such process any more, or it is hidden: then nothing is known of it.
pub fn is_an_agents(pid: u32) -> io::Result<bool> {
    let marked = i32::try_from(pid).ok().and_then(Pid::from_raw);
    if marked.is_some_and(belonging::carries_a_mark) {
        return Ok(true);
    }
    any_forebear(pid, |forebear| {
        let names = [TURN_KEY_VARIABLE, RUN_VARIABLE];
        let marked = names.iter().any(|name| forebear.variable(name).is_some());
        marked || forebear.name() == KEEPER_NAME
    })
}

/// Whether this process belongs to a run whose sessions had these keepers: by what it carries, by its session, by whom it
/// descends from, or because it hides in namespaces of its own. Such a one must not begin the next session of that run.
#[must_use]
pub fn is_of_the_run(run: &str, keepers: &[ProcessIdentity]) -> bool {
    let own = rustix::process::getpid();
    let here = keepers.iter().filter(|keeper| is_this_boot(&keeper.boot_id));
    let here: Vec<&ProcessIdentity> = here.collect();
    if !belonging::knows_itself() || here.iter().any(|keeper| belonging::is_marked_by(own, keeper)) {
        return true;
    }
    let markers: Vec<Marker> = here.iter().map(|keeper| Marker::of(keeper)).collect();
    let below = any_forebear(number(own), |forebear| {
        let key = forebear.variable(TURN_KEY_VARIABLE);
        let of_turn = key.is_some_and(|key| markers.iter().any(|marker| marker.key_in(&key).is_some()));
        let is_keeper = || here.iter().any(|keeper| forebear.is(keeper));
        of_turn || forebear.variable(RUN_VARIABLE).as_deref() == Some(run) || is_keeper()
    });
    below.unwrap_or(true) || here.iter().any(|keeper| shares_session(keeper))
}

/// Whether this process is in the session that a keeper began: then it was started below it, and did not leave.
fn shares_session(keeper: &ProcessIdentity) -> bool {
    let session = platform::own_session();
    let session = session.filter(|session| number(*session) == keeper.pid);
    // The number may be another process's by now, which then has begun a session of its own.
    session.is_some_and(|leader| {
        platform::start_time(leader).map_or(true, |start_time| start_time == keeper.start_time)
    })
}

/// A process that still lives of what these keepers, which were killed, have started: it carries the mark of one, or a
/// limit that may have been one. Blocks.
#[must_use]
pub fn something_left_of(keepers: &[ProcessIdentity]) -> Option<u32> {
    platform::something_left_of(keepers)
}

/// Whether this is the boot of that name, so that process ids and start times of it mean something.
#[must_use]
pub fn is_this_boot(boot_id: &str) -> bool {
    platform::boot_id().is_ok_and(|current| current == boot_id)
}

/// The id of this boot of the system; empty where it has none.
#[must_use]
pub fn this_boot() -> String {
    platform::boot_id().unwrap_or_default()
}

/// What a running process writes to its standard output (1) or error (2), from the beginning, where that is a file: it
/// may have no name yet. `None` where the process is gone, its output is no file, or the system cannot tell (all but
/// Linux).
#[must_use]
pub fn open_output(identity: &ProcessIdentity, descriptor: std::os::fd::RawFd) -> Option<std::fs::File> {
    platform::open_output(identity, descriptor)
}

/// Makes sure that the keeper of a crashed run and everything below it are gone. Blocks.
///
/// A keeper that still runs is asked with SIGTERM, on which it kills its children and ends; after `wait` it is killed.
/// Then whatever carries its marker in the environment is killed too, so this also cleans up behind a keeper that was
/// itself killed. Nothing is signalled that is not surely part of that run.
///
/// On systems other than Linux this does nothing: there a keeper ends with its runner, and nothing can be told apart.
///
/// # Errors
///
/// `PermissionDenied` if the caller is itself a child of that keeper, `TimedOut` if processes cannot be killed, and
/// what the system refuses.
pub fn end(identity: &ProcessIdentity, wait: Duration) -> io::Result<()> {
    platform::end(identity, wait)
}

/// Kills some children of a keeper with everything below them, and leaves the keeper and its other children alone: the
/// processes of `leaders`, with their groups, and whatever carries the keeper's marker and the environment variable
/// `named`, with all that was started for the same children. Blocks. For a keeper that cannot be spoken to; one that can
/// is better asked.
///
/// On systems other than Linux this does nothing, as [`end`].
///
/// # Errors
///
/// As [`end`].
pub fn end_some(
    identity: &ProcessIdentity,
    leaders: &[ProcessIdentity],
    named: (&str, &str),
) -> io::Result<()> {
    platform::end_some(identity, leaders, named)
}

/// Kills the process group of a child whose keeper is gone, if its leader is still the very process of `identity`: such a
/// one need not carry the marker any more that [`end`] goes by, for a program may overwrite its own environment. Blocks
/// until the leader is gone.
///
/// # Errors
///
/// `TimedOut` if it cannot be killed, and what the system refuses.
pub fn end_group(identity: &ProcessIdentity) -> io::Result<()> {
    platform::end_group(identity)
}
