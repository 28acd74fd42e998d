//! The runner's end: forking the keeper, and talking to it without ever waiting for it.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::process::Pid;
use tokio::io::Interest;

use super::identity::ProcessIdentity;
use super::platform;
use super::posix::{self, Forked};
use super::process::{self, Greeting};
use super::protocol::{Command, Event, Frames, Outgoing};

const READ_SIZE: usize = 64 << 10;

/// Forks the keeper and waits until it is ready.
///
/// Must be called while the process has one thread, and before anything is opened or locked that children or a
/// surviving keeper must not hold (the keeper closes what it inherits, but only after the fork).
///
/// # Errors
///
/// `InvalidInput` if the process has several threads, else what the system refuses.
pub fn fork() -> io::Result<Handle> {
    let threads = platform::thread_count()?;
    if threads != 1 {
        let message = format!("the keeper must be forked by one thread, there are {threads}");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let (runner, keeper) = UnixStream::pair()?;
    // SAFETY: there is one thread, as was just checked where the system tells.
    match unsafe { posix::fork() }? {
        Forked::Keeper => {
            drop(runner);
            process::run(keeper)
        }
        Forked::Runner { keeper: pid } => {
            drop(keeper);
            let identity = greeted(&runner).inspect_err(|_| {
                // It is ending; only the zombie would stay.
                let _ = posix::wait_for(pid);
            })?;
            Ok(Handle {
                socket: runner,
                pid,
                identity,
            })
        }
    }
}

fn greeted(mut socket: &UnixStream) -> io::Result<ProcessIdentity> {
    let mut frames = Frames::default();
    let mut buffer = [0; 1024];
    loop {
        if let Some(greeting) = frames.next::<Greeting>()? {
            return greeting
                .map_err(|message| io::Error::other(format!("the keeper cannot start: {message}")));
        }
        match socket.read(&mut buffer) {
            Ok(0) => return Err(ended()),
            Ok(length) => frames.extend(&buffer[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn ended() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the keeper has ended")
}

/// A keeper that runs and waits for its first command. Dropping this ends it.
#[derive(Debug)]
pub struct Handle {
    socket: UnixStream,
    pid: Pid,
    identity: ProcessIdentity,
}

impl Handle {
    /// The keeper's process id.
    pub fn pid(&self) -> u32 {
        self.identity.pid
    }

    /// How the keeper is recognised after a crash of the runner; see [`end`](super::end).
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// The way to talk to the keeper. Must be called inside a tokio runtime with I/O enabled.
    pub fn into_async(self) -> io::Result<Client> {
        self.socket.set_nonblocking(true)?;
        Ok(Client {
            socket: tokio::net::UnixStream::from_std(self.socket)?,
            pid: self.pid,
            identity: self.identity,
            incoming: Frames::default(),
            outgoing: Outgoing::default(),
            read_buffer: vec![0; READ_SIZE],
        })
    }
}

/// The runner's connection to the keeper. Dropping it makes the keeper kill all children and end.
#[derive(Debug)]
pub struct Client {
    socket: tokio::net::UnixStream,
    pid: Pid,
    identity: ProcessIdentity,
    incoming: Frames,
    outgoing: Outgoing,
    read_buffer: Vec<u8>,
}

impl Client {
    /// How the keeper is recognised after a crash of the runner.
    pub fn identity(&self) -> &ProcessIdentity {
        &self.identity
    }

    /// Sends a command, or keeps what the socket does not take at once until [`recv`](Self::recv) or
    /// [`flush`](Self::flush) is called. Never blocks and never loses part of a command.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for a command that cannot be sent (a path that is not UTF-8, more than 16 MiB); the connection
    /// stays whole. Any other error means that the keeper is gone.
    pub fn send(&mut self, command: &Command) -> io::Result<()> {
        // What waits already would not have waited if the socket had room.
        let waiting = !self.outgoing.is_empty();
        self.outgoing.push(command)?;
        if waiting { Ok(()) } else { self.write() }
    }

    /// Waits until everything sent is on its way. Cancel safe.
    pub async fn flush(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            self.socket.writable().await?;
            self.write()?;
        }
        Ok(())
    }

    /// The next event. Meanwhile sends what is left to be sent. Cancel safe: no event is lost.
    ///
    /// # Errors
    ///
    /// `UnexpectedEof` once the keeper has ended and all its events have been received.
    pub async fn recv(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.incoming.next()? {
                return Ok(event);
            }
            let interest = match self.outgoing.is_empty() {
                true => Interest::READABLE,
                false => Interest::READABLE | Interest::WRITABLE,
            };
            let ready = self.socket.ready(interest).await?;
            if ready.is_writable() && self.write().is_err() {
                // The keeper is gone, but what it said before can still be read.
                self.outgoing.clear();
            }
            match self.socket.try_read(&mut self.read_buffer) {
                Ok(0) => return Err(ended()),
                Ok(length) => self.incoming.extend(&self.read_buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Err(ended()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes the keeper kill what still runs and end, and waits for that. Returns the events that had not been
    /// received yet, among them the exits of the killed children.
    pub async fn shutdown(mut self) -> io::Result<Vec<Event>> {
        // If it cannot be sent, the keeper is ending already.
        let _ = self.send(&Command::Shutdown);
        let mut events = Vec::new();
        loop {
            match self.recv().await {
                Ok(event) => events.push(event),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break,
                Err(error) => return Err(error),
            }
        }
        // Its end of the socket is closed, so it is only just not a zombie yet.
        posix::wait_for(self.pid)?;
        Ok(events)
    }

    fn write(&mut self) -> io::Result<()> {
        self.outgoing.write_with(|bytes| self.socket.try_write(bytes))
    }
}

#[cfg(test)]
impl Client {
    /// A connection whose keeper has ended.
    pub(crate) async fn left_alone() -> Self {
        let (runner, keeper) = UnixStream::pair().expect("sockets can be made");
        drop(keeper);
        let handle = Handle {
            socket: runner,
            pid: rustix::process::getpid(),
            identity: ProcessIdentity {
                pid: 0,
                start_time: 0,
                boot_id: String::new(),
            },
        };
        let client = handle.into_async().expect("a socket can be made asynchronous");
        // Before the first look at it nothing is known about a socket, and all that is sent waits.
        client.socket.writable().await.expect("it can be looked at");
        client
    }
}
