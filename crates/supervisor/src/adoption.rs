//! How a runner and a supervisor that outlived another runner find each other: the supervisor's door, and the way in.
//!
//! Who comes in is told two things: the version of the protocol, which every version says alike, and what the supervisor
//! holds. From then on the connection is like the one between a runner and the supervisor that it forked.

use std::io::{self, Read};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::client::Handle;
use super::identity::ProcessIdentity;
use super::platform;
use super::protocol::{Frames, Outgoing};
use super::socket::{SocketAddress, may_speak};

/// The version of everything that is said behind the greeting. Commands, events and what they mean change together.
pub const PROTOCOL: u32 = 4;

/// The pause between two tries to connect to a supervisor whose adoption socket is not open yet.
const KNOCK_AGAIN: Duration = Duration::from_millis(5);

/// The first message of every version, in this form for ever.
#[derive(Debug, Serialize, Deserialize)]
struct VersionGreeting {
    protocol: u32,
}

/// The children that a supervisor holds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// The first key that no child has had.
    pub next_key: u64,
    /// The children whose [`Event::Exited`](super::Event::Exited) is still to come.
    pub children: Vec<HeldChild>,
}

/// A child that a supervisor holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldChild {
    /// The [`Spawn::key`](super::Spawn::key) of the child.
    pub key: u64,
    /// The [`Spawn::label`](super::Spawn::label) of the child.
    pub label: String,
    /// Process id, also the id of its process group.
    pub pid: u32,
    /// The start of the child, in clock ticks since boot.
    pub start_time: u64,
}

/// Where the next runner finds a supervisor without one.
pub struct AdoptionSocket {
    pub listener: UnixListener,
    address: SocketAddress,
}

impl AdoptionSocket {
    pub fn open(path: &Path) -> io::Result<AdoptionSocket> {
        let address = SocketAddress::of(path)?;
        let listener = address.bind()?;
        Ok(AdoptionSocket { listener, address })
    }

    /// Lets in who has knocked and may come in. Who may not sees the connection close.
    pub fn admit(&self) -> Option<UnixStream> {
        let (peer, _) = self.listener.accept().ok()?;
        let (uid, pid) = platform::peer(&peer).ok()?;
        may_speak(uid, pid).ok()?;
        peer.set_nonblocking(true).ok()?;
        Some(peer)
    }
}

impl Drop for AdoptionSocket {
    fn drop(&mut self) {
        // One that stays leads nowhere, and the next supervisor takes its place.
        let _ = self.address.remove();
    }
}

/// Greets a new runner: the version, then the children.
pub fn greet(outgoing: &mut Outgoing, holding: &Holding) -> io::Result<()> {
    outgoing.push_for_ever(&VersionGreeting { protocol: PROTOCOL })?;
    outgoing.push(holding)
}

/// Why an earlier session's supervisor was not found.
#[derive(Debug, thiserror::Error)]
pub enum NotFound {
    /// The supervisor has ended.
    #[error("it has ended")]
    Ended,
    /// The supervisor speaks another version of the protocol.
    #[error("it speaks version {0} of the protocol and this program version {PROTOCOL}")]
    OtherVersion(u32),
    /// The supervisor runs and cannot be spoken to.
    #[error("it does not answer: {0}")]
    Unreachable(io::Error),
}

/// Connects to the very supervisor of `identity`, whose runner is gone, through the adoption socket at `path`. Blocks, at most for
/// `within`: a supervisor may take a moment to see that it is alone.
///
/// Dropping the handle makes the supervisor wait for the next runner, as long as it holds a child that may outlive one.
///
/// # Errors
/// [`NotFound`]
pub fn reconnect(
    path: &Path,
    identity: &ProcessIdentity,
    within: Duration,
) -> Result<(Handle, Holding), NotFound> {
    let deadline = Instant::now() + within;
    loop {
        // Before the knock: a supervisor that ends has recorded the exits of all it held.
        if !platform::alive(identity) {
            return Err(NotFound::Ended);
        }
        match enter(path, identity, deadline) {
            Ok(entered) => return Ok(entered),
            Err(NotFound::Unreachable(_)) if Instant::now() < deadline => std::thread::sleep(KNOCK_AGAIN),
            Err(error) => return Err(error),
        }
    }
}

fn enter(path: &Path, identity: &ProcessIdentity, deadline: Instant) -> Result<(Handle, Holding), NotFound> {
    let unreachable = NotFound::Unreachable;
    let address = SocketAddress::of(path).map_err(unreachable)?;
    let mut socket = address.connect().map_err(unreachable)?;
    let (_, pid) = platform::peer(&socket).map_err(unreachable)?;
    if pid != Some(identity.pid) {
        // Whoever put a socket there, what it says about turns is not the supervisor's word.
        let message = "somebody else listens in its place";
        return Err(unreachable(io::Error::new(
            io::ErrorKind::PermissionDenied,
            message,
        )));
    }
    socket.set_nonblocking(false).map_err(unreachable)?;
    let mut frames = Frames::default();
    let heard = receive_by(&mut socket, &mut frames, deadline, Frames::next_for_ever);
    let greeting: VersionGreeting = heard.map_err(unreachable)?;
    if greeting.protocol != PROTOCOL {
        return Err(NotFound::OtherVersion(greeting.protocol));
    }
    let holding = receive(&mut socket, &mut frames, deadline).map_err(unreachable)?;
    let handle = Handle::reconnected(socket, identity.clone(), frames).map_err(unreachable)?;
    Ok((handle, holding))
}

/// The next message, which is waited for no longer than to the deadline.
pub fn receive<T: serde::de::DeserializeOwned>(
    socket: &mut UnixStream,
    frames: &mut Frames,
    deadline: Instant,
) -> io::Result<T> {
    receive_by(socket, frames, deadline, Frames::next)
}

fn receive_by<T>(
    socket: &mut UnixStream,
    frames: &mut Frames,
    deadline: Instant,
    next: impl Fn(&mut Frames) -> io::Result<Option<T>>,
) -> io::Result<T> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(message) = next(frames)? {
            return Ok(message);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(&mut buffer) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => frames.extend(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
}
