//! Unix sockets in a folder of the state: how they are bound and reached, and who may speak there.

use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use crate::files::{if_there, no_links};

use super::belonging::{self, is_an_agents};
use super::identity::pid_of;
use super::platform;
use super::platform::tcp_peers::tcp_peer;
use super::posix;

/// The most peers that may have connected before they are let in.
const PEERS_WAITING: i32 = 128;

/// The address of a socket. A path may be far longer than an address can be, so where the system has a shorter way to
/// say it, that one is used.
#[derive(Debug)]
pub struct SocketAddress {
    path: PathBuf,
    // The short way leads through its descriptor.
    _folder: File,
}

impl SocketAddress {
    /// The address of the socket at `path`, there or not. Its folder must be.
    ///
    /// # Errors
    /// When the folder cannot be opened.
    pub fn of(path: &Path) -> io::Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        let folder = no_links::open(folder, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        let folder = File::from(folder);
        Ok(Self { path: platform::short_path(&folder, path), _folder: folder })
    }

    /// The path to bind or connect to, as long as this lives.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the address over from whoever had it and listens there, for this user only.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn bind(&self) -> io::Result<UnixListener> {
        self.remove()?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        // The name gets the socket's rights where the system does it so; a name could be another process's by then. Who
        // connects is asked for its user all the same.
        let _ = rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR);
        rustix::net::bind(&socket, &SocketAddrUnix::new(&self.path)?)?;
        rustix::net::listen(&socket, PEERS_WAITING)?;
        Ok(UnixListener::from(socket))
    }

    /// Connects without ever waiting for whoever listens.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(&self.path)?)?;
        Ok(UnixStream::from(socket))
    }

    /// Takes the socket's name away, if it has one.
    ///
    /// # Errors
    /// Whatever the file system says.
    pub fn remove(&self) -> io::Result<()> {
        if_there(fs::remove_file(&self.path)).map(drop)
    }
}

/// Why a peer is sent away.
#[derive(Debug, PartialEq)]
pub enum PeerRefused {
    /// The peer has gone by itself.
    Gone,
    /// The peer is told this reason.
    Because(String),
}

fn because(why: impl Into<String>) -> Result<(), PeerRefused> {
    Err(PeerRefused::Because(why.into()))
}

/// Whether a process at the other end of a socket, as the system names it, may give commands, or answer them: only this
/// user's own, and nothing that was started by an agent of a run.
///
/// # Errors
/// [`PeerRefused`]
pub fn may_speak(uid: u32, pid: Option<u32>) -> Result<(), PeerRefused> {
    if uid != rustix::process::geteuid().as_raw() {
        return because(format!("user {uid} is not the user of the run"));
    }
    let Some(pid) = pid else {
        return Ok(());
    };
    match is_an_agents(pid) {
        Ok(false) => Ok(()),
        Ok(true) => {
            because(format!("process {pid} belongs to an agent of a run; a person must give commands"))
        }
        // It was in a hurry, or lives where it cannot be seen: nothing is known of it, so nothing is taken from it.
        Err(_) if pid != 0 => Err(PeerRefused::Gone),
        Err(_) => because("the process that asks cannot be seen from here"),
    }
}

/// Whether the process that connected this socket, with the user and the number that the system gives for it, may give
/// commands: as [`may_speak`], and it must live in the namespaces of this process, where its forebears can be seen.
///
/// # Errors
/// [`PeerRefused`]
pub fn may_command(socket: &impl AsFd, uid: u32, pid: Option<u32>) -> Result<(), PeerRefused> {
    // From here on it is the same process, or none: its number cannot become another's without our seeing it end.
    let held = posix::peer_descriptor(socket.as_fd());
    may_speak(uid, pid)?;
    let number = pid.and_then(pid_of);
    let here = number.map_or(Ok(true), belonging::lives_here);
    match here {
        Ok(true) => {}
        Ok(false) => {
            return because(
                "the process that asks lives in namespaces of its own; a person must give commands",
            );
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return because("the process that asks has hidden where it lives; a person must give commands");
        }
        Err(_) => return Err(PeerRefused::Gone),
    }
    match held {
        Some(held) if belonging::has_ended(&held) => Err(PeerRefused::Gone),
        _ => Ok(()),
    }
}

/// Whether whoever is at the other end of a TCP connection may give commands: from this machine only this user's own processes, and
/// none that was started by an agent of a run. Of another machine, and where the system does not tell, nothing is known.
///
/// # Errors
/// [`PeerRefused`]; also when the process is on this machine and cannot be told.
pub fn may_command_by_tcp(ours: SocketAddr, theirs: SocketAddr) -> Result<(), PeerRefused> {
    let unseen = "the process that asks cannot be seen from here; give the command at a terminal";
    let peer = match tcp_peer(ours, theirs) {
        Ok(Some(peer)) => peer,
        Ok(None) => return Ok(()),
        Err(_) => return because(unseen),
    };
    if peer.holders.is_empty() {
        return because(unseen);
    }
    for pid in peer.holders {
        may_speak(peer.uid, Some(pid))?;
        match pid_of(pid).map(belonging::lives_among_us) {
            Some(Ok(true)) => {}
            Some(Ok(false)) => {
                return because(
                    "the process that asks lives in namespaces of its own; give the command at a terminal",
                );
            }
            _ => return because(unseen),
        }
    }
    Ok(())
}

/// Whether a process is in the foreground of a terminal that controls it (all but Linux: not known, so not).
pub fn is_at_terminal(pid: u32) -> bool {
    pid_of(pid).is_some_and(platform::is_at_terminal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_but_the_user_of_the_run_speaks_to_it() {
        let own = rustix::process::geteuid().as_raw();
        let this = std::process::id();
        assert_eq!(may_speak(own, None), Ok(()));
        let (ours, _theirs) = UnixStream::pair().unwrap();
        for other in [own + 1, if own == 0 { 65534 } else { 0 }] {
            // Whatever process it is, also one of which nothing is known.
            for pid in [Some(this), None, Some(0)] {
                for refused in [may_speak(other, pid), may_command(&ours, other, pid)] {
                    let why = format!("user {other} is not the user of the run");
                    assert_eq!(refused, Err(PeerRefused::Because(why)), "{pid:?}");
                }
            }
        }
    }
}
