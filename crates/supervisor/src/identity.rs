//! How a process is recognised again after a crash: its number alone may by then be a stranger's.

use std::io;

use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::belonging;
use super::forebears::any_forebear;
use super::orphans::TurnMarker;
use super::platform;
use super::protocol::TURN_KEY_VARIABLE;

/// How supervisors are called in `/proc`: the kernel keeps 15 characters of a name.
pub const SUPERVISOR_NAME: &str = "quorum-supervis";
/// The variable that names its run to every child.
const RUN_VARIABLE: &str = "QUORUM_RUN_ID";

/// A process, told apart from every other one that had or will have its number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessIdentity {
    /// The process id.
    pub pid: u32,
    /// The start of the process, in clock ticks since boot (from `/proc/PID/stat`); 0 where the system does not
    /// tell.
    pub start_time: u64,
    /// The boot in which the two mean something; empty where the system does not tell.
    pub boot_id: String,
}

impl ProcessIdentity {
    /// The identity of this process.
    pub fn own() -> io::Result<ProcessIdentity> {
        let pid = rustix::process::getpid();
        Ok(ProcessIdentity {
            pid: number(pid),
            start_time: platform::start_time(pid)?,
            boot_id: platform::boot_id()?,
        })
    }
}

/// The process id that a number is, if it is one.
pub fn pid_of(number: u32) -> Option<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw)
}

/// A process id as the number it is.
pub fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Whether this process was started by an agent, a check or a judge of some run, however far down its tree: such a one
/// must not speak for a person.
pub fn is_of_an_agent() -> bool {
    // A process that cannot even see itself shall not speak for a person either.
    !belonging::knows_itself() || is_an_agents(std::process::id()).unwrap_or(true)
}

/// Whether another process is an agent's, as far as the system tells (all but Linux: not at all).
///
/// # Errors
///
/// When there is no such process any more, or it is hidden: then nothing is known of it.
pub fn is_an_agents(pid: u32) -> io::Result<bool> {
    if pid_of(pid).is_some_and(belonging::carries_a_mark) {
        return Ok(true);
    }
    any_forebear(pid, |forebear| {
        let names = [TURN_KEY_VARIABLE, RUN_VARIABLE];
        let marked = names.iter().any(|name| forebear.variable(name).is_some());
        marked || forebear.name() == SUPERVISOR_NAME
    })
}

/// Whether this process belongs to a run whose sessions had these supervisors: by what it carries, by its session, by whom it
/// descends from, or because it hides in namespaces of its own. Such a one must not begin the next session of that run.
pub fn is_of_the_run(run: &str, supervisors: &[ProcessIdentity]) -> bool {
    let own = rustix::process::getpid();
    let here = supervisors
        .iter()
        .filter(|supervisor| is_this_boot(&supervisor.boot_id));
    let here: Vec<&ProcessIdentity> = here.collect();
    if !belonging::knows_itself()
        || here
            .iter()
            .any(|supervisor| belonging::is_marked_by(own, supervisor))
    {
        return true;
    }
    let markers: Vec<TurnMarker> = here.iter().map(|supervisor| TurnMarker::of(supervisor)).collect();
    let below = any_forebear(number(own), |forebear| {
        let key = forebear.variable(TURN_KEY_VARIABLE);
        let of_turn = key.is_some_and(|key| markers.iter().any(|marker| marker.key_in(&key).is_some()));
        let is_supervisor = || here.iter().any(|supervisor| forebear.is(supervisor));
        of_turn || forebear.variable(RUN_VARIABLE).as_deref() == Some(run) || is_supervisor()
    });
    below.unwrap_or(true) || here.iter().any(|supervisor| shares_session(supervisor))
}

/// Whether this process is in the session that a supervisor began: then it was started below it, and did not leave.
fn shares_session(supervisor: &ProcessIdentity) -> bool {
    let session = platform::own_session();
    let session = session.filter(|session| number(*session) == supervisor.pid);
    // The number may be another process's by now, which then has begun a session of its own.
    session.is_some_and(|leader| {
        platform::start_time(leader).map_or(true, |start_time| start_time == supervisor.start_time)
    })
}

/// Whether this is the boot of that name, so that process ids and start times of it mean something.
pub fn is_this_boot(boot_id: &str) -> bool {
    platform::boot_id().is_ok_and(|current| current == boot_id)
}

/// The id of this boot of the system; empty where it has none.
pub fn this_boot() -> String {
    platform::boot_id().unwrap_or_default()
}
