//! The live runner's door for operators' commands: a Unix socket in the state folder.
//!
//! A connection carries one command and its answer, a line each. The command is the same document as a file of the
//! inbox; the answer is written once what was decided is durable. Who speaks is known from the system, not from what is
//! said: only the runner's own user, and nothing that was started by an agent of a run.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::engine::CommandResult;
use crate::keeper::{self, Refusal, SocketAddress};
use crate::store::{LONGEST_COMMAND, Queued, StateFolder};

/// How long a peer may take to say its line. It holds nothing up meanwhile.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Peers that may be listened to at the same time; who comes on top of that is sent away without an answer.
const PEERS: usize = 16;
/// How long to wait where the system cannot give a connection (no descriptor left).
const PAUSE: Duration = Duration::from_millis(100);
/// Refusals that are put on record in a session: a program that keeps knocking must not fill the journal.
const REFUSALS_SAID: u32 = 8;
/// A longer id is none of ours.
const LONGEST_ID: usize = 128;

/// What a peer is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// What the command met, durably: `{"result":"applied"}`.
    Result(CommandResult),
    /// It is no command, not this peer's to give, or cannot be taken: `{"error":"…"}`.
    Error(String),
}

impl Answer {
    /// What a command met, if it was taken.
    pub(super) fn of(met: Option<CommandResult>) -> Self {
        let refused = || Self::Error("the run does not take commands now".to_owned());
        met.map_or_else(refused, Self::Result)
    }
}

/// What comes through the door.
pub(super) enum Knock {
    /// A command of a peer that may give it.
    Asked(Asked),
    /// Somebody was sent away.
    Refused(String),
}

/// A command that wants an answer. Dropped without one, the peer sees that it was not heard.
pub(super) struct Asked {
    /// The command.
    pub queued: Queued,
    peer: UnixStream,
}

impl Asked {
    pub fn answer(self, answer: &Answer) {
        say(self.peer, answer);
    }
}

/// The socket of a live session. Closed and removed when dropped.
pub(super) struct Door {
    address: SocketAddress,
    knocks: mpsc::Receiver<Knock>,
    listening: tokio::task::JoinHandle<()>,
    refused: u32,
}

impl Door {
    /// Opens the door. The caller holds the lock of the state folder, so a socket that is there is a dead runner's.
    pub fn open(folder: &StateFolder) -> io::Result<Self> {
        let address = SocketAddress::of(&folder.control())?;
        let listener = UnixListener::from_std(address.bind()?)?;
        let (sender, knocks) = mpsc::channel(PEERS);
        Ok(Self {
            address,
            knocks,
            listening: tokio::spawn(listen(listener, sender)),
            refused: 0,
        })
    }

    /// The next one that is worth to be heard of. Cancel safe.
    pub async fn next(&mut self) -> Knock {
        loop {
            match self.knocks.recv().await {
                // The listening task ends with the door only.
                None => std::future::pending().await,
                Some(Knock::Refused(why)) => {
                    self.refused += 1;
                    match self.refused {
                        ..REFUSALS_SAID => return Knock::Refused(why),
                        REFUSALS_SAID => return Knock::Refused(format!("{why}; more are not told")),
                        _ => {}
                    }
                }
                Some(asked) => return asked,
            }
        }
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.listening.abort();
        // If it cannot be removed, the next session will, and nobody answers meanwhile.
        let _ = self.address.remove();
    }
}

async fn listen(listener: UnixListener, sender: mpsc::Sender<Knock>) {
    let mut peers = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            Some(_) = peers.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((peer, _)) if peers.len() < PEERS => {
                peers.spawn(attend(peer, sender.clone()));
            }
            Ok(_) => {}
            Err(_) => sleep(PAUSE).await,
        }
    }
}

/// Hears one peer. Who may not speak is not even listened to.
async fn attend(mut peer: UnixStream, sender: mpsc::Sender<Knock>) {
    let heard = match may_speak(&peer) {
        Ok(()) => request(&mut peer).await,
        Err(refusal) => Err(refusal),
    };
    let knock = match heard {
        Ok(queued) => Knock::Asked(Asked { queued, peer }),
        Err(Refusal::Gone) => return,
        Err(Refusal::Because(why)) => {
            say(peer, &Answer::Error(why.clone()));
            Knock::Refused(why)
        }
    };
    // Only when the session is over there is nobody to hear it.
    let _ = sender.send(knock).await;
}

/// Whether the process at the other end may give commands, or answer them.
fn may_speak(peer: &UnixStream) -> Result<(), Refusal> {
    let Ok(credentials) = peer.peer_cred() else {
        return Err(Refusal::Gone);
    };
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok());
    keeper::may_speak(credentials.uid(), pid)
}

async fn request(peer: &mut UnixStream) -> Result<Queued, Refusal> {
    let no_command = |why: String| Refusal::Because(format!("what was sent is no command: {why}"));
    let line = match timeout(REQUEST_WITHIN, read_line(peer)).await {
        Err(_) => return Err(no_command("it did not come in time".to_owned())),
        Ok(Err(_)) => return Err(Refusal::Gone),
        Ok(Ok(line)) => line,
    };
    match line.strip_suffix(b"\n") {
        Some(line) => {
            let queued: Queued =
                serde_json::from_slice(line).map_err(|error| no_command(error.to_string()))?;
            if queued.id.is_empty() || queued.id.len() > LONGEST_ID {
                return Err(no_command("its id is empty or too long".to_owned()));
            }
            Ok(queued)
        }
        None if line.is_empty() => Err(Refusal::Gone),
        None if line.len() as u64 > LONGEST_COMMAND => {
            Err(no_command(format!("it is longer than {LONGEST_COMMAND} bytes")))
        }
        None => Err(no_command("it breaks off".to_owned())),
    }
}

/// A line with its end, or as much as there was.
async fn read_line(peer: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = BufReader::new(peer.take(LONGEST_COMMAND + 1));
    bounded.read_until(b'\n', &mut line).await?;
    Ok(line)
}

/// Writes an answer without ever waiting: it is smaller than what a socket takes at once, and a peer that does not
/// listen any more has only itself to blame.
fn say(peer: UnixStream, answer: &Answer) {
    let Ok(mut line) = serde_json::to_vec(answer) else {
        return;
    };
    line.push(b'\n');
    let _ = peer.into_std().and_then(|mut peer| peer.write_all(&line));
}

/// Asks the live runner of a state folder. `None` if there is none to be reached, or it does not answer in time: then the
/// command may yet be taken, once, whichever way it comes.
#[must_use]
pub fn ask(folder: &StateFolder, queued: &Queued, within: Duration) -> Option<Answer> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .ok()?;
    let mut line = serde_json::to_vec(queued).ok()?;
    line.push(b'\n');
    let address = SocketAddress::of(&folder.control()).ok()?;
    let exchange = async {
        let mut peer = UnixStream::connect(address.path()).await?;
        // What an agent put there must not pass for the runner.
        if may_speak(&peer).is_err() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        // Whoever is sent away is told so before having said all; the answer is there all the same.
        let _ = peer.write_all(&line).await;
        read_line(&mut peer).await
    };
    let line = runtime.block_on(async { timeout(within, exchange).await });
    serde_json::from_slice(&line.ok()?.ok()?).ok()
}
