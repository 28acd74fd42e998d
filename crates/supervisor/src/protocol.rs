//! What the runner and the supervisor say to each other, and how it is framed.
//!
//! A frame is a length (four bytes, little endian) and that many bytes: of the `postcard` form, which holds the values
//! without their names, or of JSON for the one message that every version understands. Prompts and outputs never travel
//! here, only their paths, so frames are small.

use std::io;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::mount_plan::MountPlan;
use rules::domain::Digest;

/// Longest frame in bytes. Linux refuses an argument list of more than a few MiB, so a longer one is a damaged stream.
const MAX_FRAME: usize = 16 << 20;

const HEADER: usize = size_of::<u32>();

/// A command of the runner to the supervisor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SupervisorCommand {
    /// Where the run's exits are recorded. Must come before the first [`SupervisorCommand::Spawn`].
    Open {
        /// Path of `exits.log`; created if missing, appended to otherwise.
        exits_log: PathBuf,
        /// Where the next runner finds the supervisor when this one is gone. There is nothing before.
        socket: PathBuf,
    },
    /// Starts a child.
    Spawn(Box<Spawn>),
    /// SIGTERM to the child's process group, SIGKILL after the grace. Ignored if the child has already ended.
    Terminate {
        /// The [`Spawn::key`] of the child.
        key: u64,
        /// Milliseconds between SIGTERM and SIGKILL.
        grace_ms: u64,
    },
    /// SIGKILL to all children at once; each is still reported by an [`SupervisorEvent::Exited`].
    KillAll,
    /// Kills all children, reports their exits, and ends the supervisor. A runner that goes without it is taken
    /// for dead.
    Shutdown,
    /// Give a sign of life: [`SupervisorEvent::Alive`].
    Ping,
    /// Try whether a child could be confined: [`SupervisorEvent::Confinement`].
    TryConfinement,
    /// Tell what a [`sealed`](Spawn::sealed) child has printed so far: [`SupervisorEvent::Printed`]. Ignored if that is nothing more.
    Peek {
        /// The [`Spawn::key`] of the child.
        key: u64,
        /// How many bytes of it are known.
        from: u64,
    },
}

/// A child to start. Paths and strings must be UTF-8, else [`Client::send`](super::Client::send) refuses the command.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Spawn {
    /// The runner's name for the child, unique for the supervisor's life.
    pub key: u64,
    /// The name of the child for people and `exits.log`: `task.attempt.turn`.
    pub label: String,
    /// The program, as an absolute path (see [`resolve`](super::resolve())), and its arguments.
    pub argv: Vec<String>,
    /// The whole environment. The supervisor adds [`TURN_KEY_VARIABLE`](super::TURN_KEY_VARIABLE) and nothing else.
    pub env: Vec<(String, String)>,
    /// The working directory of the child.
    pub cwd: PathBuf,
    /// A regular file to read as standard input; without one `/dev/null`.
    pub stdin: Option<PathBuf>,
    /// Files that it is asked by. Each must be what its digest says, or the child is not started; one that somebody touches
    /// while the child works makes the child's output count as lost. Its standard input, if it is one of them, is a copy
    /// that nobody can write to.
    pub told: Vec<RequestFile>,
    /// Whether what it prints comes to the supervisor by a pipe, so that nobody can take any of it away or write over it. Of
    /// what is larger than any reply only the beginning is kept.
    pub sealed: bool,
    /// File for standard output; without one `/dev/null`. What was there before is gone, and at the end there is a file
    /// only if something was written to it.
    ///
    /// On Linux the file often has no name before the child's end. What the child has written so far is found through
    /// the child itself: `/proc/PID/fd/1` (and `2`) can be opened like any file, and a reader that holds it open keeps it
    /// from being given to another child. It must be opened anew after the child's end, under this path.
    pub stdout: Option<PathBuf>,
    /// The file for standard error. May be the same path as `stdout`, then both share one position in it.
    pub stderr: Option<PathBuf>,
    /// Milliseconds until the child's process group gets SIGTERM.
    pub timeout_ms: Option<u64>,
    /// Milliseconds between the time-out's SIGTERM and SIGKILL.
    pub grace_ms: u64,
    /// How many bytes both outputs may hold together. What the child prints beyond is dropped; it is never held up.
    pub max_output: Option<u64>,
    /// Whether the child goes on when the runner dies, for the next runner to take over. A child that is fed
    /// through the runner, or can simply be repeated, must not.
    pub outlives_runner: bool,
    /// The mounts of the child; `None` gives it as much as the supervisor. Where no plan can be carried out it
    /// is only kept from others' processes, if the system can do that ([`Tier::Signals`]).
    pub confinement: Option<MountPlan>,
}

/// A file that a child is asked by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The digest of the bytes.
    pub digest: Digest,
}

/// An event that the supervisor tells the runner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum SupervisorEvent {
    /// The child runs its program, or did: of one that ends at once this is told together with its end.
    Spawned {
        /// The [`Spawn::key`] of the child.
        key: u64,
        /// Process id, also the id of its process group.
        pid: u32,
        /// The start of the child, in clock ticks since boot; 0 where the system does not tell, and for a child
        /// that ended before anybody could have needed it.
        start_time: u64,
    },
    /// There never was a process, so trying again cannot repeat anything.
    SpawnFailed {
        /// The [`Spawn::key`] of the child.
        key: u64,
        /// The system's error number, if the system refused; see [`io::Error::from_raw_os_error`].
        errno: Option<i32>,
        /// The failed step, with the file or program.
        message: String,
        /// Whether the confinement could not be made, which is no failure of the program.
        confinement: bool,
    },
    /// The child and all that was found of its tree are gone.
    Exited(ChildExit),
    /// Something that ends no child but that people should know.
    Warning {
        /// A sentence for people.
        message: String,
    },
    /// The answer to [`SupervisorCommand::Ping`].
    Alive,
    /// The answer to [`SupervisorCommand::TryConfinement`].
    Confinement(Tier),
    /// The last event of a supervisor that ends in order: nothing that it started is left.
    Farewell,
    /// The answer to [`SupervisorCommand::Peek`]: a piece of the child's standard output.
    Printed {
        /// The [`Spawn::key`] of the child.
        key: u64,
        /// How many bytes stand before it.
        from: u64,
        /// At most 1 MiB.
        bytes: Vec<u8>,
    },
}

/// How far children can be confined here, strongest first (semantics, section 23).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Tier {
    /// Each sees and changes what its plan says, and no process but its own.
    Whole(NamespaceMaker),
    /// As [`Tier::Whole`], but a child sees that others' processes are there, for the reason of the text. It
    /// can neither read nor signal them.
    SharedProcesses(NamespaceMaker, String),
    /// No plan can be carried out, for this reason. A child can neither read nor signal others' processes.
    Signals(String),
    /// Nothing can be done, for this reason.
    None(String),
}

/// The maker of the namespaces of children.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum NamespaceMaker {
    /// The supervisor makes the namespaces itself.
    Native,
    /// Bubblewrap, for the supervisor may not.
    Bubblewrap,
}

impl Tier {
    /// Why no child's plan can be carried out.
    pub fn refused(self) -> Option<String> {
        match self {
            Self::Whole(_) | Self::SharedProcesses(..) => None,
            Self::Signals(why) | Self::None(why) => Some(why),
        }
    }
}

/// How a child ended.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChildExit {
    /// The [`Spawn::key`] of the child.
    pub key: u64,
    /// Exit code, unless a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time-out fired. True even if the child then exited with 0.
    pub timed_out: bool,
    /// Whether the child was still running when [`SupervisorCommand::Terminate`], [`SupervisorCommand::KillAll`] or the
    /// supervisor's own end asked it to stop.
    pub terminated: bool,
    /// Length of the standard output's file in bytes; 0 means that there is no file: nothing was written, unless
    /// [`output_lost`](Self::output_lost) says otherwise.
    pub stdout_len: u64,
    /// The length of standard error, in bytes.
    pub stderr_len: u64,
    /// Why an output is not where it should be. Nobody knows what was in it, so it must not count as empty.
    pub output_lost: Option<String>,
    /// Whether a part of its outputs was dropped, because there was more than [`Spawn::max_output`].
    #[serde(default)]
    pub output_cut: bool,
    /// The digest of the standard output of a child that was started [`sealed`](Spawn::sealed).
    pub stdout_digest: Option<Digest>,
    /// Wall clock at the start, milliseconds since 1970.
    pub started_ms: u64,
    /// From the start to the exit of the child itself, in milliseconds, by a clock that is never set.
    pub duration_ms: u64,
    /// Processor time in user mode, of the child and the descendants it waited for, in microseconds.
    pub user_us: u64,
    /// Processor time in the kernel, likewise.
    pub system_us: u64,
    /// Largest resident size of any of them, in the system's unit (KiB on Linux).
    pub max_rss: u64,
}

/// The version of everything that is said behind the greeting. Commands, events and what they mean change together.
pub const PROTOCOL: u32 = 4;

/// The first message of every version, in this form for ever.
#[derive(Debug, Serialize, Deserialize)]
pub struct VersionGreeting {
    pub protocol: u32,
}

/// The children that a supervisor holds.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Holding {
    /// The first key that no child has had.
    pub next_key: u64,
    /// The children whose [`SupervisorEvent::Exited`] is still to come.
    pub children: Vec<HeldChild>,
}

/// A child that a supervisor holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HeldChild {
    /// The [`Spawn::key`] of the child.
    pub key: u64,
    /// The [`Spawn::label`] of the child.
    pub label: String,
    /// Process id, also the id of its process group.
    pub pid: u32,
    /// The start of the child, in clock ticks since boot.
    pub start_time: u64,
}

/// Appends `message` to `out` as one frame. `out` is unchanged on error.
pub fn encode<T: Serialize>(message: &T, out: &mut Vec<u8>) -> io::Result<()> {
    frame(out, |out| {
        let written = postcard::serialize_with_flavor(message, AtTheEnd(out));
        // All else that a message holds has a form.
        written.map_err(|_| io::Error::other("a path in it is not UTF-8"))
    })
}

/// Where `postcard` writes: behind what is there already.
struct AtTheEnd<'a>(&'a mut Vec<u8>);

impl postcard::ser_flavors::Flavor for AtTheEnd<'_> {
    type Output = ();

    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

fn frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    let written = write(out);
    let length = out.len() - start - HEADER;
    let checked = written.and_then(|()| match u32::try_from(length) {
        Ok(header) if length <= MAX_FRAME => Ok(header),
        _ => Err(io::Error::other(format!("a message of {length} bytes is too long"))),
    });
    match checked {
        Ok(header) => {
            out[start..start + HEADER].copy_from_slice(&header.to_le_bytes());
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(io::Error::new(io::ErrorKind::InvalidInput, error))
        }
    }
}

/// Collects bytes as they arrive and cuts them into messages.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    start: usize,
}

impl Frames {
    /// Takes in what was just read.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.start);
        self.start = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether [`next`](Self::next) has something to say.
    pub fn has_frame(&self) -> bool {
        let bytes = &self.bytes[self.start..];
        bytes.split_first_chunk::<HEADER>().is_some_and(|(header, rest)| {
            let length = u32::from_le_bytes(*header) as usize;
            length > MAX_FRAME || length <= rest.len()
        })
    }

    /// The next whole message, if one has arrived. After an error the stream is of no use any more.
    pub fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.next_by(|payload| {
            let (message, rest) = postcard::take_from_bytes(payload).map_err(io::Error::other)?;
            match rest {
                [] => Ok(message),
                _ => Err(io::Error::other(format!("{} bytes too many", rest.len()))),
            }
        })
    }

    /// The next message in the form that every version understands.
    pub fn next_for_ever<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        self.next_by(|payload| Ok(serde_json::from_slice(payload)?))
    }

    fn next_by<T>(&mut self, decode: impl FnOnce(&[u8]) -> io::Result<T>) -> io::Result<Option<T>> {
        let invalid = |error: io::Error| io::Error::new(io::ErrorKind::InvalidData, error);
        let bytes = &self.bytes[self.start..];
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*header) as usize;
        if length > MAX_FRAME {
            return Err(invalid(io::Error::other(format!("a frame of {length} bytes is too long"))));
        }
        let Some(payload) = rest.get(..length) else {
            return Ok(None);
        };
        let message = decode(payload).map_err(invalid)?;
        self.start += HEADER + length;
        Ok(Some(message))
    }
}

/// The bytes on their way out of a socket that may take only some of them at a time.
#[derive(Debug, Default)]
pub struct Outgoing {
    bytes: Vec<u8>,
    start: usize,
}

impl Outgoing {
    /// Adds a message at the end; nothing is added on error.
    pub fn push<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        encode(message, &mut self.bytes)
    }

    /// Queues a message as JSON, in the form that every version understands.
    pub fn push_for_ever<T: Serialize>(&mut self, message: &T) -> io::Result<()> {
        frame(&mut self.bytes, |out| Ok(serde_json::to_writer(out, message)?))
    }

    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Gives up what could not be sent.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.start = 0;
    }

    /// Hands bytes to `write` until all are gone or it would block.
    pub fn write_with(&mut self, mut write: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
        while !self.is_empty() {
            match write(&self.bytes[self.start..]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => self.start += written,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        self.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<SupervisorCommand> {
        vec![
            SupervisorCommand::Open {
                exits_log: "/tmp/exits.log".into(),
                socket: "/tmp/supervisor.sock".into(),
            },
            SupervisorCommand::Spawn(Box::new(Spawn {
                key: u64::MAX,
                argv: vec!["/bin/echo".into(), "ä\n\0".into()],
                env: vec![("A".into(), "=".into())],
                timeout_ms: Some(7),
                ..Spawn::default()
            })),
            SupervisorCommand::Terminate { key: 1, grace_ms: 3000 },
            SupervisorCommand::KillAll,
            SupervisorCommand::Shutdown,
        ]
    }

    #[test]
    fn frames_survive_any_cut() {
        let mut bytes = Vec::new();
        for message in messages() {
            encode(&message, &mut bytes).unwrap();
        }
        for size in [1, 2, 3, 5, 64, bytes.len()] {
            let mut frames = Frames::default();
            let mut seen = Vec::new();
            for piece in bytes.chunks(size) {
                frames.extend(piece);
                while let Some(message) = frames.next::<SupervisorCommand>().unwrap() {
                    seen.push(message);
                }
            }
            assert_eq!(seen, messages(), "cut into pieces of {size}");
        }
    }

    #[test]
    fn damaged_frames_are_errors() {
        let mut oversized = Frames::default();
        oversized.extend(&u32::MAX.to_le_bytes());
        assert!(oversized.next::<SupervisorCommand>().is_err());

        for payload in [&b"{}"[..], b"", b"\0", b"\x04more", b"\x01\x01\xff"] {
            let mut nonsense = Frames::default();
            nonsense.extend(&u32::try_from(payload.len()).unwrap().to_le_bytes());
            nonsense.extend(payload);
            assert!(nonsense.next::<SupervisorCommand>().is_err(), "{payload:?}");
        }
    }

    #[test]
    fn a_refused_message_leaves_the_stream_whole() {
        use std::os::unix::ffi::OsStrExt;
        let mut bytes = Vec::new();
        encode(&SupervisorCommand::KillAll, &mut bytes).unwrap();
        let before = bytes.clone();
        let path = std::ffi::OsStr::from_bytes(&[0xff]).into();
        let error = encode(
            &SupervisorCommand::Open { exits_log: path, socket: "/tmp/supervisor.sock".into() },
            &mut bytes,
        )
        .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(bytes, before);
    }

    #[test]
    fn outgoing_keeps_what_was_not_taken() {
        let mut outgoing = Outgoing::default();
        for message in messages() {
            outgoing.push(&message).unwrap();
        }
        let mut taken = Vec::new();
        let mut turn = 0;
        while !outgoing.is_empty() {
            outgoing
                .write_with(|bytes| {
                    turn += 1;
                    match turn % 3 {
                        0 => Err(io::ErrorKind::WouldBlock.into()),
                        1 => Err(io::ErrorKind::Interrupted.into()),
                        _ => {
                            let length = bytes.len().min(7);
                            taken.extend_from_slice(&bytes[..length]);
                            Ok(length)
                        }
                    }
                })
                .unwrap();
        }
        let mut frames = Frames::default();
        frames.extend(&taken);
        for message in messages() {
            assert_eq!(frames.next::<SupervisorCommand>().unwrap(), Some(message));
        }
    }
}
