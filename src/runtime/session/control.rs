//! The live runner's socket for operators' commands: a Unix socket in the state folder.
//!
//! A connection carries one command and its answer, a line each. The command is the same document as a file of the
//! inbox; the answer is written once what was decided is durable. Who speaks is known from the system, not from what is
//! said: only the runner's own user, and nothing that was started by an agent of a run.

use std::io::{self, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::store::{LONGEST_COMMAND, OperatorKey, Queued, StateFolder};
use rules::engine::CommandResult;
use supervisor::{PeerRefused, SocketAddress};

/// How long a peer may take to say its line. It holds nothing up meanwhile.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);
/// Peers that may be listened to at the same time; who comes on top of that is sent away without an answer.
const PEERS: usize = 16;
/// How long to wait where the system cannot give a connection (no descriptor left).
const PAUSE: Duration = Duration::from_millis(100);
/// Peers that are sent away and told why when they have said what they want; who comes on top is told at once.
const SENT_AWAY: usize = 16;
/// Refusals that are put on record in a session: a program that keeps knocking must not fill the journal.
const REFUSALS_SAID: u32 = 8;
/// A longer id is none of ours.
const LONGEST_ID: usize = 128;

/// The answer to a peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlAnswer {
    /// The durable result of the command: `{"result":"applied"}`.
    Result(CommandResult),
    /// The line is no command, is not this peer's to give, or cannot be taken: `{"error":"…"}`.
    Error(String),
}

impl ControlAnswer {
    /// The answer for the result of a command; `None` where the run takes none.
    pub fn of(met: Option<CommandResult>) -> Self {
        let refused = || Self::Error("the run does not take commands now".to_owned());
        met.map_or_else(refused, Self::Result)
    }
}

/// A request that comes through the socket.
pub enum ControlRequest {
    /// A command of a peer that may give it.
    Asked(PendingCommand),
    /// A peer was sent away.
    Refused(String),
}

/// A command that wants an answer. Dropped without one, the peer sees that it was not heard.
pub struct PendingCommand {
    /// The command that was given.
    pub queued: Queued,
    /// Whether the command came with what only a person has: a terminal, or the key of this session's
    /// environment.
    pub proven: bool,
    peer: UnixStream,
}

/// The line that a connection carries: a command, with its code under `QUORUM_OPERATOR_KEY` where the speaker
/// has that.
#[skip_serializing_none]
#[derive(Debug, Serialize, Deserialize)]
struct SignedCommand {
    #[serde(flatten)]
    queued: Queued,
    code: Option<String>,
}

impl SignedCommand {
    fn of(queued: &Queued) -> io::Result<Self> {
        let body = serde_json::to_string(queued)?;
        Ok(Self { queued: queued.clone(), code: OperatorKey::of_environment().map(|key| key.code(&body)) })
    }

    /// Whether the request carries the code of this session's own `QUORUM_OPERATOR_KEY`. The key of a file,
    /// which agents can read, does not count.
    fn is_under_the_key(&self) -> bool {
        let (Some(key), Some(code)) = (OperatorKey::of_environment(), &self.code) else {
            return false;
        };
        serde_json::to_string(&self.queued).is_ok_and(|body| key.verifies(&body, code))
    }
}

impl PendingCommand {
    pub fn answer(self, answer: &ControlAnswer) {
        send_answer(self.peer, answer);
    }
}

/// The socket of a live session. Closed and removed when dropped.
pub struct ControlSocket {
    address: SocketAddress,
    requests: mpsc::Receiver<ControlRequest>,
    listening: tokio::task::JoinHandle<()>,
    refused: u32,
}

impl ControlSocket {
    /// Opens the socket. The caller holds the lock of the state folder, so a socket that is there is a dead runner's.
    pub fn open(folder: &StateFolder) -> io::Result<Self> {
        let address = SocketAddress::of(&folder.control())?;
        let listener = UnixListener::from_std(address.bind()?)?;
        let (sender, requests) = mpsc::channel(PEERS);
        Ok(Self { address, requests, listening: tokio::spawn(listen(listener, sender)), refused: 0 })
    }

    /// The next one that is worth to be heard of. Cancel safe.
    pub async fn next(&mut self) -> ControlRequest {
        loop {
            match self.requests.recv().await {
                // The listening task ends with the socket only.
                None => std::future::pending().await,
                Some(ControlRequest::Refused(why)) => {
                    self.refused += 1;
                    match self.refused {
                        ..REFUSALS_SAID => return ControlRequest::Refused(why),
                        REFUSALS_SAID => return ControlRequest::Refused(format!("{why}; more are not told")),
                        _ => {}
                    }
                }
                Some(asked) => return asked,
            }
        }
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        self.listening.abort();
        // If it cannot be removed, the next session will, and nobody answers meanwhile.
        let _ = self.address.remove();
    }
}

async fn listen(listener: UnixListener, sender: mpsc::Sender<ControlRequest>) {
    let (mut peers, mut sent_away) = (JoinSet::new(), JoinSet::new());
    loop {
        let accepted = tokio::select! {
            Some(_) = peers.join_next() => continue,
            Some(_) = sent_away.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((peer, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        // Now, while it surely lives.
        match may_command(&peer) {
            Ok(()) if peers.len() < PEERS => {
                peers.spawn(serve(peer, sender.clone()));
            }
            Ok(()) | Err(PeerRefused::Gone) => {}
            Err(PeerRefused::Because(why)) => {
                let patient = sent_away.len() < SENT_AWAY;
                sent_away.spawn(send_away(peer, why, patient, sender.clone()));
            }
        }
    }
}

/// Hears one peer that may speak.
async fn serve(mut peer: UnixStream, sender: mpsc::Sender<ControlRequest>) {
    let at_terminal = pid_of(&peer).is_some_and(supervisor::is_at_terminal);
    let request_or_refusal = match request(&mut peer).await {
        Ok(request) => ControlRequest::Asked(PendingCommand {
            proven: at_terminal || request.is_under_the_key(),
            queued: request.queued,
            peer,
        }),
        Err(PeerRefused::Gone) => return,
        Err(PeerRefused::Because(why)) => {
            send_answer(peer, &ControlAnswer::Error(why.clone()));
            ControlRequest::Refused(why)
        }
    };
    // Only when the session is over there is nobody to hear it.
    let _ = sender.send(request_or_refusal).await;
}

/// Tells one that may not speak why. What it says is read and means nothing, but a socket that is closed with something
/// unread in it loses the answer.
async fn send_away(mut peer: UnixStream, why: String, patient: bool, sender: mpsc::Sender<ControlRequest>) {
    if patient {
        let _ = timeout(REQUEST_WITHIN, read_line(&mut peer)).await;
    }
    send_answer(peer, &ControlAnswer::Error(why.clone()));
    let _ = sender.send(ControlRequest::Refused(why)).await;
}

fn pid_of(peer: &UnixStream) -> Option<u32> {
    u32::try_from(peer.peer_cred().ok()?.pid()?).ok()
}

/// Whether the process that connected may give commands.
fn may_command(peer: &UnixStream) -> Result<(), PeerRefused> {
    let credentials = peer.peer_cred().map_err(|_| PeerRefused::Gone)?;
    supervisor::may_command(peer, credentials.uid(), pid_of(peer))
}

/// Whether the process that listens may answer.
fn may_answer(peer: &UnixStream) -> Result<(), PeerRefused> {
    let credentials = peer.peer_cred().map_err(|_| PeerRefused::Gone)?;
    supervisor::may_speak(credentials.uid(), pid_of(peer))
}

async fn request(peer: &mut UnixStream) -> Result<SignedCommand, PeerRefused> {
    let no_command = |why: String| PeerRefused::Because(format!("what was sent is no command: {why}"));
    let line = match timeout(REQUEST_WITHIN, read_line(peer)).await {
        Err(_) => return Err(no_command("it did not come in time".to_owned())),
        Ok(Err(_)) => return Err(PeerRefused::Gone),
        Ok(Ok(line)) => line,
    };
    match line.strip_suffix(b"\n") {
        Some(line) => {
            let request: SignedCommand =
                serde_json::from_slice(line).map_err(|error| no_command(error.to_string()))?;
            let id = &request.queued.id;
            if id.is_empty() || id.len() > LONGEST_ID {
                return Err(no_command("its id is empty or too long".to_owned()));
            }
            Ok(request)
        }
        None if line.is_empty() => Err(PeerRefused::Gone),
        None if line.len() as u64 > LONGEST_COMMAND => {
            Err(no_command(format!("it is longer than {LONGEST_COMMAND} bytes")))
        }
        None => Err(no_command("it breaks off".to_owned())),
    }
}

/// Reads a line with its end, or as much as there is of one.
async fn read_line(peer: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = BufReader::new(peer.take(LONGEST_COMMAND + 1));
    bounded.read_until(b'\n', &mut line).await?;
    Ok(line)
}

/// Writes an answer without ever waiting: it is smaller than what a socket takes at once, and a peer that does not
/// listen any more has only itself to blame.
fn send_answer(peer: UnixStream, answer: &ControlAnswer) {
    let Ok(mut line) = serde_json::to_vec(answer) else {
        return;
    };
    line.push(b'\n');
    let _ = peer.into_std().and_then(|mut peer| peer.write_all(&line));
}

/// The reply of a live runner.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// No runner can be reached.
    Nobody,
    /// A runner was reached and has not answered: the command may yet be taken, once, whichever way it comes.
    Silence,
    /// The runner answered.
    Answer(ControlAnswer),
}

/// Asks the live runner of a state folder.
pub fn ask(folder: &StateFolder, queued: &Queued, within: Duration) -> Reply {
    let exchange = async {
        let address = SocketAddress::of(&folder.control()).map_err(|_| Reply::Nobody)?;
        let connected = UnixStream::connect(address.path()).await;
        let mut peer = connected.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Reply::Nobody,
            _ => Reply::Silence,
        })?;
        // What an agent put there must not pass for the runner.
        if may_answer(&peer).is_err() {
            let why = format!("it is not the session that listens at {}", folder.control().display());
            return Err(Reply::Answer(ControlAnswer::Error(why)));
        }
        let unheard = |_: io::Error| Reply::Silence;
        let request = SignedCommand::of(queued).map_err(unheard)?;
        let mut line = serde_json::to_vec(&request).map_err(|_| Reply::Silence)?;
        line.push(b'\n');
        // Whoever is sent away may be told so before having said all; the answer is there all the same.
        let _ = peer.write_all(&line).await;
        let line = read_line(&mut peer).await.map_err(unheard)?;
        serde_json::from_slice(&line).map_err(|_| Reply::Silence)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return Reply::Silence;
    };
    match runtime.block_on(async { timeout(within, exchange).await }) {
        Ok(Ok(answer)) => Reply::Answer(answer),
        Ok(Err(reply)) => reply,
        Err(_) => Reply::Silence,
    }
}
