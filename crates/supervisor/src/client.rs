//! The runner's end: forking the supervisor, or finding one that outlived its runner, and talking to it without ever waiting
//! for it.
//!
//! | file | what |
//! |---|---|
//! | `testing` | connections for the tests of other packages |

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

use super::concealment;
use super::event_loop::{self, Greeting};
use super::identity::{ProcessIdentity, pid_of};
use super::orderly_end::SupervisorSecret;
use super::platform;
use super::posix::{self, Forked};
use super::protocol::{
    Frames, Holding, Outgoing, PROTOCOL, SupervisorCommand, SupervisorEvent, Tier, VersionGreeting, encode,
};
use super::socket::SocketAddress;

#[cfg(any(test, feature = "testing"))]
mod testing;

const READ_SIZE: usize = 64 << 10;
/// How long the end of a supervisor may take: longer than it waits itself for what will not die.
const SHUTDOWN_WITHIN: Duration = Duration::from_secs(8);

/// The pause between two tries to connect to a supervisor whose adoption socket is not open yet.
const CONNECT_AGAIN: Duration = Duration::from_millis(5);

/// Forks the supervisor and waits until it is ready. From then on neither can be read by others of its user.
///
/// The supervisor of a host starts sessions, which are no agents': it leaves no mark on them, and the supervisor of each session marks
/// what that starts.
///
/// Must be called while the process has one thread, and before anything is opened or locked that children or a
/// surviving supervisor must not hold (the supervisor closes what it inherits, but only after the fork).
///
/// # Errors
///
/// `InvalidInput` if the process has several threads, else what the system refuses.
pub fn fork(is_of_host: bool) -> io::Result<Handle> {
    let threads = platform::thread_count()?;
    if threads != 1 {
        let message = format!("the supervisor must be started from one thread, there are {threads}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let secret = SupervisorSecret::new()?;
    // SAFETY: there is one thread, as was just checked where the system tells.
    unsafe { concealment::conceal() };
    let (mut runner, supervisor) = UnixStream::pair()?;
    // SAFETY: as above.
    match unsafe { posix::fork() }? {
        Forked::Supervisor => {
            drop(runner);
            event_loop::run(supervisor, secret, is_of_host)
        }
        Forked::Runner { supervisor: pid } => {
            drop(supervisor);
            let mut incoming = Frames::default();
            let greeting = receive(&mut runner, &mut incoming, None, Frames::next);
            let started = greeting.and_then(|greeting: Greeting| greeting.map_err(io::Error::other));
            let identity = started.inspect_err(|_| {
                // It is ending; only the zombie would stay.
                let _ = posix::wait_for(pid);
            })?;
            Ok(Handle {
                socket: runner,
                pid,
                identity,
                farewell: Some(secret.digest()),
                incoming,
                received: VecDeque::new(),
            })
        }
    }
}

/// Does what nobody needs to wait for in a process of its own, which holds nothing that is open here; in this one where that cannot
/// be. Returns once the other has let go of everything: a lock would outlive this process.
pub fn behind(work: impl FnOnce()) {
    let Ok((mut let_go, held)) = io::pipe() else {
        return work();
    };
    // SAFETY: there is one thread.
    let forked = matches!(platform::thread_count(), Ok(1)).then(|| unsafe { posix::fork() });
    match forked {
        Some(Ok(Forked::Runner { .. })) => {
            drop(held);
            // Its end and an error say the same: it has none of it any more.
            let _ = let_go.read(&mut [0]);
        }
        Some(Ok(Forked::Supervisor)) => {
            let open = platform::open_descriptors();
            if rustix::process::setsid().is_ok()
                && open.is_ok_and(|open| posix::close_inherited(-1, open).is_ok())
            {
                work();
            }
            posix::exit_now(0)
        }
        _ => work(),
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the supervisor has ended")
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
        // Before it connects: a supervisor that ends has recorded the exits of all it held.
        if !platform::alive(identity) {
            return Err(NotFound::Ended);
        }
        match enter(path, identity, deadline) {
            Ok(entered) => return Ok(entered),
            Err(NotFound::Unreachable(_)) if Instant::now() < deadline => std::thread::sleep(CONNECT_AGAIN),
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
        return Err(unreachable(io::Error::new(io::ErrorKind::PermissionDenied, message)));
    }
    socket.set_nonblocking(false).map_err(unreachable)?;
    let mut frames = Frames::default();
    let greeting = receive(&mut socket, &mut frames, Some(deadline), Frames::next_for_ever);
    let greeting: VersionGreeting = greeting.map_err(unreachable)?;
    if greeting.protocol != PROTOCOL {
        return Err(NotFound::OtherVersion(greeting.protocol));
    }
    let holding = receive(&mut socket, &mut frames, Some(deadline), Frames::next).map_err(unreachable)?;
    let pid = pid_of(identity.pid).ok_or(io::ErrorKind::InvalidInput.into());
    let handle = Handle {
        socket,
        pid: pid.map_err(unreachable)?,
        identity: identity.clone(),
        farewell: None,
        incoming: frames,
        received: VecDeque::new(),
    };
    Ok((handle, holding))
}

/// The next message as `next` reads it, which is waited for no longer than to the deadline, if there is one.
fn receive<T>(
    socket: &mut UnixStream,
    frames: &mut Frames,
    deadline: Option<Instant>,
    next: impl Fn(&mut Frames) -> io::Result<Option<T>>,
) -> io::Result<T> {
    let mut buffer = [0; 4096];
    loop {
        if let Some(message) = next(frames)? {
            return Ok(message);
        }
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(left)?;
        match socket.read(&mut buffer) {
            Ok(0) => return Err(ended()),
            Ok(length) => frames.extend(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(error) => return Err(error),
        }
    }
}

/// A supervisor that runs and waits for commands. Dropping this ends it, unless it holds children that outlive a runner.
#[derive(Debug)]
pub struct Handle {
    socket: UnixStream,
    pid: Pid,
    identity: ProcessIdentity,
    farewell: Option<String>,
    incoming: Frames,
    received: VecDeque<SupervisorEvent>,
}

impl Handle {
    /// The supervisor's process id.
    pub fn pid(&self) -> u32 {
        self.identity.pid
    }

    /// How the supervisor is recognised after a crash of the runner; see [`end`](super::end).
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// The digest of the last word that the supervisor will put on record if it ends in order.
    pub fn farewell(&self) -> Option<&str> {
        self.farewell.as_deref()
    }

    /// Sets the digest of the supervisor's farewell, which another process has learnt.
    #[must_use]
    pub fn that_promised(mut self, farewell: Option<String>) -> Self {
        self.farewell = farewell;
        self
    }

    /// Ends these children and waits until they are gone. Blocks; what else happens meanwhile is not lost.
    ///
    /// # Errors
    ///
    /// `TimedOut` if they are not gone by then, and what else breaks the connection.
    pub fn end_children(&mut self, keys: &[u64], grace: Duration, within: Duration) -> io::Result<()> {
        let deadline = Instant::now() + within;
        self.socket.set_nonblocking(false)?;
        let mut bytes = Vec::new();
        for &key in keys {
            let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
            encode(&SupervisorCommand::Terminate { key, grace_ms }, &mut bytes)?;
        }
        self.socket.write_all(&bytes)?;
        let mut left: BTreeSet<u64> = keys.iter().copied().collect();
        while !left.is_empty() {
            let event = receive(&mut self.socket, &mut self.incoming, Some(deadline), Frames::next)?;
            if let SupervisorEvent::Exited(exit) = &event {
                left.remove(&exit.key);
            }
            self.received.push_back(event);
        }
        Ok(())
    }

    /// Asks whether children can be confined here, and by what. Blocks; what else happens meanwhile is not lost.
    ///
    /// # Errors
    ///
    /// `TimedOut` if there is no answer by then, and what else breaks the connection.
    pub fn try_confinement(&mut self, within: Duration) -> io::Result<Tier> {
        let deadline = Instant::now() + within;
        self.socket.set_nonblocking(false)?;
        let mut bytes = Vec::new();
        encode(&SupervisorCommand::TryConfinement, &mut bytes)?;
        self.socket.write_all(&bytes)?;
        loop {
            match receive(&mut self.socket, &mut self.incoming, Some(deadline), Frames::next)? {
                SupervisorEvent::Confinement(tier) => return Ok(tier),
                event => self.received.push_back(event),
            }
        }
    }

    /// Lets the supervisor go, because another one does its work. It ends, having nothing to hold.
    pub fn dismiss(self) {
        drop(self.socket);
        // It has nothing to end, and whoever has stopped it must not hold this process up.
        let _ = rustix::process::kill_process(self.pid, rustix::process::Signal::KILL);
        // If it cannot be waited for it is a zombie until this process ends, which disturbs nobody.
        let _ = posix::wait_for(self.pid);
    }

    /// The way to talk to the supervisor. Must be called inside a tokio runtime with I/O enabled.
    pub fn into_async(self) -> io::Result<Client> {
        self.socket.set_nonblocking(true)?;
        Ok(Client {
            socket: watch(self.socket, Interest::READABLE)?,
            room: None,
            pid: self.pid,
            identity: self.identity,
            incoming: self.incoming,
            received: self.received,
            outgoing: Outgoing::default(),
            read_buffer: vec![0; READ_SIZE],
        })
    }
}

/// The runner's connection to the supervisor. Dropping it without [`shutdown`](Self::shutdown) means that the runner died: the
/// supervisor holds what outlives a runner for the next one, and kills the rest.
#[derive(Debug)]
pub struct Client {
    /// Watched for events only: a watch for room as well would wake the runner whenever the supervisor takes a command.
    socket: AsyncFd<UnixStream>,
    /// Watched for room, while the socket has none.
    room: Option<AsyncFd<UnixStream>>,
    pid: Pid,
    identity: ProcessIdentity,
    incoming: Frames,
    /// Events that were received before there was a loop to take them.
    received: VecDeque<SupervisorEvent>,
    outgoing: Outgoing,
    read_buffer: Vec<u8>,
}

impl Client {
    /// How the supervisor is recognised after a crash of the runner.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Sends a command, or keeps what the socket does not take at once until [`recv`](Self::recv) or
    /// [`flush`](Self::flush) is called. Never blocks and never loses part of a command.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a command that cannot be sent (a path that is not UTF-8, more than 16 MiB); the connection
    /// stays whole. Any other error means that the supervisor is gone.
    pub fn send(&mut self, command: &SupervisorCommand) -> io::Result<()> {
        // What waits already would not have waited if the socket had room.
        let waiting = !self.outgoing.is_empty();
        self.outgoing.push(command)?;
        if waiting { Ok(()) } else { self.write() }
    }

    /// Waits until everything sent is on its way. Cancel safe.
    pub async fn flush(&mut self) -> io::Result<()> {
        while let Some(room) = self.watch_for_room()? {
            room.writable().await?.clear_ready();
            self.write()?;
        }
        Ok(())
    }

    /// The next event. Meanwhile sends what is left to be sent. Cancel safe: no event is lost.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` once the supervisor has ended and all its events have been received.
    pub async fn recv(&mut self) -> io::Result<SupervisorEvent> {
        loop {
            if let Some(event) = self.received.pop_front() {
                return Ok(event);
            }
            if let Some(event) = self.incoming.next()? {
                return Ok(event);
            }
            self.watch_for_room()?;
            let has_room = async {
                match &self.room {
                    Some(room) => room.writable().await.map(|mut room| room.clear_ready()),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                readable = self.socket.readable() => {
                    let mut readable = readable?;
                    match readable.get_inner().read(&mut self.read_buffer) {
                        Ok(0) => return Err(ended()),
                        Ok(length) => {
                            // A read that did not fill the buffer has emptied the socket; the next message wakes us.
                            if length < self.read_buffer.len() {
                                readable.clear_ready_matching(Ready::READABLE);
                            }
                            self.incoming.extend(&self.read_buffer[..length]);
                        }
                        Err(error) => match error.kind() {
                            io::ErrorKind::WouldBlock => readable.clear_ready_matching(Ready::READABLE),
                            io::ErrorKind::Interrupted => {}
                            io::ErrorKind::ConnectionReset => return Err(ended()),
                            _ => return Err(error),
                        },
                    }
                }
                ready = has_room => {
                    ready?;
                    if self.write().is_err() {
                        // The supervisor is gone, but what it said before can still be read.
                        self.outgoing.clear();
                        self.room = None;
                    }
                }
            }
        }
    }

    /// Makes the supervisor kill what still runs and end, and waits for that. Returns the events that had not been
    /// received yet, among them the exits of the killed children.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` if it ended without its farewell, `TimedOut` if it does not end, and what else breaks the
    /// connection. Then nobody knows what is left of its children.
    pub async fn shutdown(&mut self) -> io::Result<Vec<SupervisorEvent>> {
        // If it cannot be sent, the supervisor is ending already.
        let _ = self.send(&SupervisorCommand::Shutdown);
        let mut events = Vec::new();
        let ended = tokio::time::timeout(SHUTDOWN_WITHIN, async {
            loop {
                match self.recv().await {
                    // What it may say behind that concerns nobody.
                    Ok(SupervisorEvent::Farewell) => return Ok(()),
                    Ok(event) => events.push(event),
                    Err(error) => return Err(error),
                }
            }
        });
        ended.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        // Its end of the socket is closed, so it is only just not a zombie yet.
        posix::wait_for(self.pid)?;
        Ok(events)
    }

    fn write(&mut self) -> io::Result<()> {
        let mut socket = self.socket.get_ref();
        self.outgoing.write_with(|bytes| socket.write(bytes))?;
        if self.outgoing.is_empty() {
            self.room = None;
        }
        Ok(())
    }

    /// Begins to watch for room, if something waits for it. Not when it is sent: that may be outside of the loop.
    fn watch_for_room(&mut self) -> io::Result<Option<&AsyncFd<UnixStream>>> {
        if !self.outgoing.is_empty() && self.room.is_none() {
            let again = self.socket.get_ref().try_clone()?;
            self.room = Some(watch(again, Interest::WRITABLE)?);
        }
        Ok(self.room.as_ref())
    }
}

/// Has the event loop watch a socket for one thing only.
fn watch(socket: UnixStream, interest: Interest) -> io::Result<AsyncFd<UnixStream>> {
    // SAFETY: the standard library's socket owns its descriptor and gives the same one out until it is dropped, and the
    // `AsyncFd`, which is never taken apart, drops it after it has stopped to watch.
    let watched = unsafe { AsyncFd::register_with_interest(socket, interest) };
    Ok(watched?)
}
