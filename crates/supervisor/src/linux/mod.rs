//! What only Linux has: adopting the orphans of one's descendants, and `/proc` to find and recognise processes.
//!
//! | file | what |
//! |---|---|
//! | `bubblewrap` | confining a child by bubblewrap, where only that may |
//! | `confine` | how a child is started: as it is, or confined by the first way that works |
//! | `forebears` | from whom a process descends, as `/proc` shows it |
//! | `namespaces` | confining a child by the supervisor itself: namespaces of its own, and a mount plan carried out in them |
//! | `scope` | keeping a child from others' processes where no namespaces can be made, and a short program from others' files: domains of Landlock |
//! | `starter` | starting a program |
//! | `tcp_peers` | the processes at the other end of a TCP connection |

pub mod bubblewrap;
pub mod confine;
pub mod forebears;
mod namespaces;
mod scope;
pub mod starter;
pub mod tcp_peers;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, MemfdFlags, Mode, OFlags, SealFlags, linkat};
use rustix::io::Errno;
use rustix::path::DecInt;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::files::{if_there, no_links};
use crate::identity::{ProcessIdentity, number, pid_of};
use crate::turn_marker::{TURN_KEY_VARIABLE, TurnMarker};
use crate::{mark, posix};

/// How long processes that were sent SIGKILL may take to be gone; more means that the kernel holds them.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// A supervisor is recognised again, so it may outlive its runner.
pub const IS_FOUND_AGAIN: bool = true;

/// From now on a descendant whose parent dies becomes a child of this process, however it hid.
pub fn adopt_orphans() -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    Ok(())
}

/// A name for `ps`. Only a comfort, so a failure is none.
pub fn name_process(name: &str) {
    // The thread's way: a process that has hidden may not write to its own.
    let _ = fs::write("/proc/thread-self/comm", name);
}

/// How many threads this process has.
pub fn thread_count() -> io::Result<usize> {
    Ok(fs::read_dir("/proc/self/task")?.count())
}

/// The open file descriptors of this process.
pub fn open_descriptors() -> io::Result<Vec<RawFd>> {
    posix::numbers_in("/proc/self/fd")
}

/// A random name of this boot: process ids and start times mean nothing in another one.
pub fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim_end().to_owned())
}

/// When a process started, in clock ticks since boot.
pub fn start_time(pid: Pid) -> io::Result<u64> {
    Ok(Stat::of(pid)?.start_time)
}

/// The part of `/proc/PID/stat` that we need.
pub struct Stat {
    dead: bool,
    pub parent: i32,
    session: i32,
    pub start_time: u64,
    /// Whether the process is in the foreground of a terminal that controls it.
    pub at_terminal: bool,
}

impl Stat {
    pub fn of(pid: Pid) -> io::Result<Stat> {
        let mut bytes = [0; 1024];
        let length = File::open(format!("/proc/{pid}/stat"))?.read_at(&mut bytes, 0)?;
        Stat::parse(&bytes[..length]).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("/proc/{pid}/stat is not understood"))
        })
    }

    fn parse(bytes: &[u8]) -> Option<Stat> {
        // The program's name stands in parentheses and may contain anything, so count from the last one.
        let end = bytes.iter().rposition(|&byte| byte == b')')?;
        let mut fields = std::str::from_utf8(&bytes[end + 1..]).ok()?.split_ascii_whitespace();
        let dead = matches!(fields.next()?, "Z" | "X");
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?;
        let session = fields.next()?.parse().ok()?;
        let (terminal, foreground) = (fields.next()?, fields.next()?);
        Some(Stat {
            dead,
            parent,
            session,
            start_time: fields.nth(13)?.parse().ok()?,
            at_terminal: terminal != "0" && group == foreground,
        })
    }
}

/// SIGCHLD and SIGTERM as something that can be polled.
pub struct Signals {
    waiting: OwnedFd,
    asked_to_end: bool,
}

/// How the system tells of one signal: this many bytes, of which the first four are its number.
const SIGNAL_SIZE: usize = size_of::<libc::signalfd_siginfo>();

impl Signals {
    /// Takes over all signals of the process.
    pub fn install() -> io::Result<Signals> {
        let held_back = posix::hold_back(&[libc::SIGCHLD, libc::SIGTERM])?;
        posix::take_over_signals()?;
        Ok(Signals { waiting: posix::signal_descriptor(&held_back)?, asked_to_end: false })
    }

    /// Takes what woke the supervisor. There are never more than two, since a signal that waits already comes once.
    pub fn take(&mut self) {
        let mut bytes = [0; 2 * SIGNAL_SIZE];
        let read = rustix::io::read(&self.waiting, &mut bytes).unwrap_or(0);
        for signal in bytes[..read].chunks_exact(SIGNAL_SIZE) {
            let number = signal.first_chunk().map(|number| u32::from_ne_bytes(*number));
            self.asked_to_end |= number == Some(libc::SIGTERM.cast_unsigned());
        }
    }

    /// Whether a SIGTERM ever came.
    pub fn asked_to_end(&self) -> bool {
        self.asked_to_end
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waiting.as_fd()
    }
}

/// The children of this process, adopted ones included.
pub struct Children {
    /// The kernel's list, kept open: reading it again costs a quarter of opening it. Some kernels have none.
    file: Option<File>,
    bytes: Vec<u8>,
}

impl Children {
    pub fn open() -> Children {
        Children { file: File::open("/proc/thread-self/children").ok(), bytes: vec![0; 4096] }
    }

    /// Puts the process ids of the children into `pids`.
    pub fn list(&mut self, pids: &mut Vec<Pid>) -> io::Result<()> {
        pids.clear();
        let Some(file) = &self.file else {
            return list_by_parent(pids);
        };
        let mut length = 0;
        loop {
            match file.read_at(&mut self.bytes[length..], length as u64)? {
                0 => break,
                read => length += read,
            }
            if length == self.bytes.len() {
                self.bytes.resize(2 * length, 0);
            }
        }
        let words = self.bytes[..length].split(|&byte| byte == b' ');
        pids.extend(words.filter_map(|word| Pid::from_raw(std::str::from_utf8(word).ok()?.parse().ok()?)));
        Ok(())
    }
}

fn list_by_parent(list: &mut Vec<Pid>) -> io::Result<()> {
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let is_child = |pid: &Pid| Stat::of(*pid).is_ok_and(|stat| stat.parent == parent);
    list.extend(pids()?.into_iter().filter(is_child));
    Ok(())
}

/// The environment that a process was started with; empty where it may not be read.
pub fn environment_of(pid: Pid) -> Vec<u8> {
    fs::read(format!("/proc/{pid}/environ")).unwrap_or_default()
}

/// A variable of such an environment.
pub fn variable_in(environment: &[u8], name: &str) -> Option<String> {
    let value = environment.split(|&byte| byte == 0).find_map(|variable| {
        let value = variable.strip_prefix(name.as_bytes())?;
        value.strip_prefix(b"=")
    });
    value.map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Reads [`TURN_KEY_VARIABLE`] of a process, as it was when it started its program. `None` where it has none, or none that
/// this user may read: it may be dead, or about to start a program.
pub fn marker_of(pid: Pid) -> Option<String> {
    variable_in(&environment_of(pid), TURN_KEY_VARIABLE)
}

/// A path to `path`, which lies in the open `folder`, that is short enough for the address of a socket.
pub fn short_path(folder: &File, path: &Path) -> PathBuf {
    let folder = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    path.file_name().map_or_else(|| folder.clone(), |name| folder.join(name))
}

/// The process that began the session of this one; `None` if that cannot be seen from here.
pub fn own_session() -> Option<Pid> {
    Pid::from_raw(Stat::of(rustix::process::getpid()).ok()?.session)
}

pub fn is_at_terminal(pid: Pid) -> bool {
    Stat::of(pid).is_ok_and(|stat| stat.at_terminal)
}

/// User and process at the other end of a socket, as they were when it was connected, or listened.
pub fn peer(socket: &UnixStream) -> io::Result<(u32, Option<u32>)> {
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    Ok((peer.uid.as_raw(), Some(number(peer.pid))))
}

/// Whether the very process of `identity` still runs: boot, number and start time all match. A zombie does not run.
/// False where the system cannot tell (all but Linux).
pub fn alive(identity: &ProcessIdentity) -> bool {
    let is_it = |stat: Stat| !stat.dead && stat.start_time == identity.start_time;
    pid_of(identity.pid).is_some_and(|pid| Stat::of(pid).is_ok_and(is_it))
        && boot_id().is_ok_and(|boot_id| boot_id == identity.boot_id)
}

/// The output of a running process, standard output (1) or error (2), from the beginning, where that is a file:
/// it may have no name yet. `None` where the process is gone, its output is no file, or the system cannot tell
/// (all but Linux).
pub fn open_output(identity: &ProcessIdentity, descriptor: RawFd) -> Option<File> {
    let pid = pid_of(identity.pid).filter(|_| alive(identity))?.as_raw_pid();
    // Never through a pipe or terminal: that would take away what another process shall read.
    let is_file = |path: &String| fs::metadata(path).is_ok_and(|found| found.is_file());
    let path = itself_and_first_below(pid).map(|pid| format!("/proc/{pid}/fd/{descriptor}")).find(is_file)?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    // Its number may have been given to another process in the meantime.
    (file.metadata().ok()?.is_file() && alive(identity)).then_some(file)
}

/// A process and where its program may be if it is confined: the first process of a namespace has closed its own files and
/// waits for its child, and bubblewrap waits for that one.
fn itself_and_first_below(pid: i32) -> impl Iterator<Item = i32> {
    std::iter::successors(Some(pid), |pid| {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
        children.split_ascii_whitespace().next()?.parse().ok()
    })
    .take(3)
}

/// Makes sure that the supervisor of a crashed run and everything below it are gone. Blocks.
///
/// A supervisor that still runs is asked with SIGTERM, on which it kills its children and ends; after `wait` it is killed.
/// Then whatever carries its marker in the environment is killed too, so this also cleans up behind a supervisor that was
/// itself killed. Nothing is signalled that is not surely part of that run.
///
/// On systems other than Linux this does nothing: there a supervisor ends with its runner, and nothing can be told apart.
///
/// # Errors
///
/// `PermissionDenied` if the caller is itself a child of that supervisor, `TimedOut` if processes cannot be killed, and
/// what the system refuses.
pub fn end(identity: &ProcessIdentity, wait: Duration) -> io::Result<()> {
    if boot_id()? != identity.boot_id {
        return Ok(());
    }
    let marker = TurnMarker::of(identity);
    // The supervisor itself carries the mark too, until whoever started it has seen its end.
    let marked = |pid| key_of(pid, &marker).is_some() || (mark::is_marked_by(pid, identity) && lives(pid));
    refuse_suicide(marked)?;
    if let Some(supervisor) = PidFd::of(pid_of(identity.pid), |_| alive(identity)) {
        supervisor.signal(Signal::TERM)?;
        // One that was stopped hears nothing else.
        supervisor.signal(Signal::CONT)?;
        if !supervisor.gone_within(wait)? {
            supervisor.signal(Signal::KILL)?;
            supervisor.gone_within(KILL_WAIT)?;
        }
    }
    // The supervisor leaves nothing if it ended itself. If it was killed, its children carry on, and only the marker tells
    // which they are.
    kill_all(marked)
}

/// Kills some children of a supervisor with everything below them, and leaves the supervisor and its other children alone: the
/// processes of `leaders`, with their groups, and whatever carries the supervisor's marker and the environment variable
/// `named`, with all that was started for the same children. Blocks. For a supervisor that cannot be spoken to; one that can
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
    (variable, value): (&str, &str),
) -> io::Result<()> {
    if boot_id()? != identity.boot_id {
        return Ok(());
    }
    let marker = TurnMarker::of(identity);
    let is_named = |pid: &Pid| variable_in(&environment_of(*pid), variable).as_deref() == Some(value);
    // The variable may be another one's further down, but the key stays.
    let mut roots = pids()?;
    roots.retain(is_named);
    roots.extend(leaders.iter().filter(|leader| alive(leader)).filter_map(|leader| pid_of(leader.pid)));
    let keys: HashSet<u64> = roots.into_iter().filter_map(|pid| key_of(pid, &marker)).collect();
    let marked = |pid| key_of(pid, &marker).is_some_and(|key| keys.contains(&key));
    refuse_suicide(marked)?;
    leaders.iter().try_for_each(end_group)?;
    kill_all(marked)
}

/// The key of the supervisor's child that a process belongs to, as its environment tells.
fn key_of(pid: Pid, marker: &TurnMarker) -> Option<u64> {
    marker.key_in(&marker_of(pid)?)
}

/// A process that still lives of what these supervisors, which were killed, have started: it carries the mark of one, or a
/// limit that may have been one. Blocks.
pub fn something_left_of(supervisors: &[ProcessIdentity]) -> Option<u32> {
    if supervisors.is_empty() {
        return None;
    }
    let markers: Vec<TurnMarker> = supervisors.iter().map(TurnMarker::of).collect();
    let own_user = rustix::process::geteuid().as_raw();
    let is_ours = |pid: Pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|it| it.uid() == own_user);
    let left = |&pid: &Pid| {
        let keyed = markers.iter().any(|marker| key_of(pid, marker).is_some());
        let marked = keyed || supervisors.iter().any(|supervisor| mark::is_marked_by(pid, supervisor));
        (marked || (mark::may_have_lowered_its_mark(pid) && is_ours(pid))) && lives(pid)
    };
    pids().ok()?.into_iter().find(left).map(number)
}

/// Whether there is such a process and it is no zombie.
fn lives(pid: Pid) -> bool {
    Stat::of(pid).is_ok_and(|stat| !stat.dead)
}

fn pids() -> io::Result<Vec<Pid>> {
    let numbers = posix::numbers_in("/proc")?.into_iter();
    Ok(numbers.filter_map(Pid::from_raw).collect())
}

fn refuse_suicide(marked: impl Fn(Pid) -> bool) -> io::Result<()> {
    if !marked(rustix::process::getpid()) {
        return Ok(());
    }
    let message = "this process was started by the run that it is to end";
    Err(io::Error::new(io::ErrorKind::PermissionDenied, message))
}

/// Kills all processes that a mark is found on. One may start another before it dies, so look until a look finds nothing.
fn kill_all(marked: impl Fn(Pid) -> bool) -> io::Result<()> {
    let deadline = Instant::now() + KILL_WAIT;
    loop {
        let all = pids()?.into_iter();
        let left: Vec<PidFd> = all.filter_map(|pid| PidFd::of(Some(pid), &marked)).collect();
        if left.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            let message = format!("{} processes of the run cannot be killed", left.len());
            return Err(io::Error::new(io::ErrorKind::TimedOut, message));
        }
        for process in &left {
            process.signal(Signal::KILL)?;
        }
        for process in &left {
            process.gone_within(deadline.saturating_duration_since(Instant::now()))?;
        }
    }
}

/// Kills the process group of a child whose supervisor is gone, if its leader is still the very process of `identity`: such a
/// one need not carry the marker any more that [`end`] goes by, for a program may overwrite its own environment. Blocks
/// until the leader is gone.
///
/// # Errors
///
/// `TimedOut` if it cannot be killed, and what the system refuses.
pub fn end_group(identity: &ProcessIdentity) -> io::Result<()> {
    let Some(leader) = PidFd::of(pid_of(identity.pid), |_| alive(identity)) else {
        return Ok(());
    };
    // It was there a moment ago, and a number is not given out again so soon.
    if let Some(group) = pid_of(identity.pid) {
        let _ = kill_process_group(group, Signal::KILL);
    }
    leader.signal(Signal::KILL)?;
    if leader.gone_within(KILL_WAIT)? {
        return Ok(());
    }
    let message = format!("process {} cannot be killed", identity.pid);
    Err(io::Error::new(io::ErrorKind::TimedOut, message))
}

/// A process held by a descriptor, so that a signal cannot reach another one with the same number.
struct PidFd(OwnedFd);

impl PidFd {
    /// Nothing if there is no such process, or it is not the right one.
    fn of(pid: Option<Pid>, right: impl Fn(Pid) -> bool) -> Option<PidFd> {
        let pid = pid?;
        // A look before saves the descriptor of most; only the look after it counts.
        if !right(pid) {
            return None;
        }
        let held = PidFd(pidfd_open(pid, PidfdFlags::empty()).ok()?);
        right(pid).then_some(held)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.0, signal) {
            Err(Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the process has ended; false if it still runs.
    fn gone_within(&self, wait: Duration) -> io::Result<bool> {
        let deadline = Instant::now() + wait;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout)) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(ready) => return Ok(ready > 0),
            }
        }
    }
}

/// A file with these bytes that can never be changed, not even through `/proc`.
pub fn sealed(bytes: &[u8]) -> io::Result<File> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create(c"request", flags)?);
    file.write_all(bytes)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file)
}

/// A file that has no name, only this descriptor. Nothing is written through it; children get a [`Reopen::writer`] each.
#[derive(Debug)]
pub struct Unnamed {
    file: File,
    new: Condition,
}

/// The properties of a file that a child can change: length, blocks, mode and owners.
type Condition = (u64, u64, u32, u32, u32);

impl Unnamed {
    /// Makes one that can be given a name in `folder`.
    ///
    /// # Errors
    ///
    /// `Unsupported` if the file system never can, and what the system refuses.
    pub fn create(folder: &Path) -> io::Result<Unnamed> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = match no_links::open(folder, flags, Mode::from_raw_mode(0o666)) {
            Ok(descriptor) => File::from(descriptor),
            // Kernels that do not know the flag take it for an attempt to write to a folder.
            Err(error) => {
                return Err(match error.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => {
                        io::ErrorKind::Unsupported.into()
                    }
                    _ => error,
                });
            }
        };
        let new = condition(&file)?;
        Ok(Unnamed { file, new })
    }

    pub fn metadata(&self) -> io::Result<fs::Metadata> {
        self.file.metadata()
    }

    /// Drops what lies behind so many bytes. Whoever writes appends, and goes on there.
    pub fn cut(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    /// Whether the file is just as it was made and nobody can change that any more.
    pub fn is_as_new(&self) -> bool {
        posix::sole_owner(&self.file) && condition(&self.file).is_ok_and(|now| now == self.new)
    }

    /// Makes the data the file at `path`. Whatever else came to be there is replaced; a link is not followed.
    pub fn give_name(&self, path: &Path) -> io::Result<()> {
        let (folder, name) = no_links::OpenFolder::of(path)?;
        let link = |to: &OsStr| linkat(CWD, self.path(), &folder, to, AtFlags::SYMLINK_FOLLOW);
        match link(name) {
            Err(Errno::EXIST) => {}
            done => return done.map_err(io::Error::from),
        }
        // Only renaming replaces.
        let mut beside = name.to_owned();
        beside.push(".new");
        if_there(folder.remove(&beside))?;
        link(&beside)?;
        folder.rename(&beside, &folder, name).inspect_err(|_| {
            // The error is what matters.
            let _ = folder.remove(&beside);
        })
    }

    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.file.as_raw_fd())
    }
}

/// The way to open a file without a name once more: through its descriptor.
#[derive(Debug)]
pub struct Reopen {
    /// Kept open: the way from the root to it costs most of opening a file.
    descriptors: Option<OwnedFd>,
}

impl Reopen {
    pub fn new() -> Reopen {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Reopen { descriptors: rustix::fs::open("/proc/self/fd", flags, Mode::empty()).ok() }
    }

    /// Opens the file for a child, once more and not by a duplicate: with that, children would share a position and
    /// flags, and [`is_as_new`](Unnamed::is_as_new) could not tell them from the supervisor.
    pub fn writer(&self, file: &Unnamed) -> io::Result<File> {
        let descriptors = self.descriptors.as_ref().ok_or(io::ErrorKind::Unsupported)?;
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC;
        let name = DecInt::from_fd(&file.file);
        Ok(rustix::fs::openat(descriptors, name.as_c_str(), flags, Mode::empty())?.into())
    }
}

fn condition(file: &File) -> io::Result<Condition> {
    let metadata = file.metadata()?;
    Ok((metadata.len(), metadata.blocks(), metadata.mode(), metadata.uid(), metadata.gid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_read_behind_any_program_name() {
        let line = b"7 (a) R 1 (b) Z 3 7 7 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0\n";
        let stat = Stat::parse(line).unwrap();
        assert_eq!((stat.dead, stat.parent, stat.start_time), (true, 3, 4711));
        assert!(Stat::parse(b"7 (a) R 1").is_none());
    }

    #[test]
    fn this_process_is_found_in_proc() {
        let this = rustix::process::getpid();
        assert!(start_time(this).unwrap() > 0);
        assert_eq!(boot_id().unwrap().len(), 36);
        assert!(open_descriptors().unwrap().contains(&0));
        assert!(thread_count().unwrap() >= 1);
    }
}
