//! To whom a process belongs: by its mark, by whom it descends from, by its session, and by where it lives.

use std::fs;
use std::io;
use std::os::fd::AsFd;

use rustix::process::Pid;

use super::identity::{ProcessIdentity, number, pid_of};
use super::mark;
use super::platform;
use super::platform::forebears::any_forebear;
use super::turn_marker::{OF_HOST, TURN_KEY_VARIABLE, TurnMarker};

/// How supervisors are called in `/proc`: the kernel keeps 15 characters of a name.
pub const SUPERVISOR_NAME: &str = "quorum-supervis";
/// The variable that names its run to every child.
const RUN_VARIABLE: &str = "QUORUM_RUN_ID";

/// Whether this process was started by an agent, a check or a judge of some run, however far down its tree: such a one
/// must not speak for a person.
pub fn is_of_an_agent() -> bool {
    // A process that cannot even see itself shall not speak for a person either.
    !knows_itself() || is_an_agents(std::process::id()).unwrap_or(true)
}

/// Whether another process is an agent's, as far as the system tells (all but Linux: not at all).
///
/// # Errors
///
/// When there is no such process any more, or it is hidden: then nothing is known of it.
pub fn is_an_agents(pid: u32) -> io::Result<bool> {
    if pid_of(pid).is_some_and(mark::carries_a_mark) {
        return Ok(true);
    }
    any_forebear(pid, |forebear| {
        let names = [TURN_KEY_VARIABLE, RUN_VARIABLE];
        let mut values = names.iter().filter_map(|name| forebear.variable(name));
        values.any(|value| value != OF_HOST) || forebear.name() == SUPERVISOR_NAME
    })
}

/// Whether this process belongs to a run whose sessions had these supervisors: by what it carries, by its session, by whom it
/// descends from, or because it hides in namespaces of its own. Such a one must not begin the next session of that run.
pub fn is_of_the_run(run: &str, supervisors: &[ProcessIdentity]) -> bool {
    let own = rustix::process::getpid();
    let is_here = |supervisor: &&ProcessIdentity| platform::is_this_boot(&supervisor.boot_id);
    let here: Vec<&ProcessIdentity> = supervisors.iter().filter(is_here).collect();
    if !knows_itself() || here.iter().any(|supervisor| mark::is_marked_by(own, supervisor)) {
        return true;
    }
    let markers: Vec<TurnMarker> = here.iter().copied().map(TurnMarker::of).collect();
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

/// Whether this process is seen under the number that it knows itself by: not so in a namespace of processes whose `/proc`
/// is another one's.
pub fn knows_itself() -> bool {
    if cfg!(not(target_os = "linux")) {
        return true;
    }
    let own = rustix::process::getpid();
    let linked = fs::read_link("/proc/self").ok();
    let linked = linked.and_then(|path| path.to_str()?.parse::<i32>().ok());
    linked == Some(own.as_raw_nonzero().get()) && has_one_number(own).unwrap_or(false)
}

/// Whether a process has the same number for everybody who sees it from here.
fn has_one_number(pid: Pid) -> io::Result<bool> {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero()))?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // Kernels that do not tell have been built without such namespaces.
    Ok(numbers.is_none_or(|numbers| numbers.split_ascii_whitespace().count() == 1))
}

/// Whether a process lives in the namespaces of processes, users and mounts that this one lives in.
///
/// # Errors
/// When that cannot be seen.
pub fn lives_here(pid: Pid) -> io::Result<bool> {
    Ok(lives_among_us(pid)? && shares(pid, &["mnt"])?)
}

/// Whether a process lives in the namespaces of processes and users that this one lives in. Its files may be others: those of a
/// browser in a package of its own mostly are.
///
/// # Errors
/// When that cannot be seen.
pub fn lives_among_us(pid: Pid) -> io::Result<bool> {
    if cfg!(not(target_os = "linux")) {
        return Ok(true);
    }
    if !has_one_number(pid)? {
        return Ok(false);
    }
    shares(pid, &["pid", "user"])
}

/// Whether a process shares its namespaces of these kinds with this one.
fn shares(pid: Pid, kinds: &[&str]) -> io::Result<bool> {
    if cfg!(not(target_os = "linux")) {
        return Ok(true);
    }
    for kind in kinds {
        let its = fs::read_link(format!("/proc/{}/ns/{kind}", pid.as_raw_nonzero()));
        match (its, fs::read_link(format!("/proc/self/ns/{kind}"))) {
            (Ok(its), Ok(own)) if its == own => {}
            (Ok(_), Ok(_)) => return Ok(false),
            // A kernel without that kind.
            (Err(its), Err(_)) if its.kind() == io::ErrorKind::NotFound => {}
            (Err(error), _) | (_, Err(error)) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether a held process has ended.
pub fn has_ended(held: &impl AsFd) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(held, PollFlags::IN)], Some(&now)) != Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_where_it_lives() {
        assert!(knows_itself());
        assert!(lives_here(rustix::process::getpid()).unwrap());
    }
}
