//! The server as a child process, and what a turn says and prints, carried to and fro. One thread, so that nothing that
//! either side does not read can hold up the other.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::turn::{FAILED, TERMINATE_TIME, TERMINATED, Turn, TurnStep};
use super::wire::{MAX_LINE, Splitter};

/// How long the server has to end after its standard input was closed.
const CLOSE_TIME: Duration = Duration::from_secs(2);
/// How long before that it is asked to end by SIGTERM, which ends one that takes its time: codex-acp needs 7 s otherwise.
const SIGNAL_TIME: Duration = Duration::from_secs(1);
/// How long the rest of its output is waited for when it has ended or closed a stream.
const REST_TIME: Duration = Duration::from_millis(500);
/// How much may wait to be read by the server, beside the prompt.
const MAX_QUEUE: usize = 2 * MAX_LINE;
/// How much of a line of standard error is remembered.
const MAX_WORDS: usize = 4 << 10;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// The last line of what is read in pieces, as far as it is remembered.
#[derive(Default)]
struct LastLine {
    bytes: Vec<u8>,
    has_ended: bool,
}

impl LastLine {
    fn extend(&mut self, piece: &[u8]) {
        for line in piece.split_inclusive(|byte| *byte == b'\n') {
            let is_blank = line.trim_ascii().is_empty();
            if self.has_ended && !is_blank {
                self.bytes.clear();
                self.has_ended = false;
            }
            if !self.has_ended {
                let room = MAX_WORDS.saturating_sub(self.bytes.len()).min(line.len());
                self.bytes.extend_from_slice(line.get(..room).unwrap_or_default());
                self.has_ended = line.ends_with(b"\n") && !self.bytes.trim_ascii().is_empty();
            }
        }
    }
}

/// A server that runs.
struct RunningServer {
    child: Child,
    /// The way to the server's standard input; `None` once it is closed.
    stdin: Option<Sender>,
    stdout: Option<Receiver>,
    stderr: Option<Receiver>,
    queue: VecDeque<u8>,
    max_queue: usize,
    lines: Splitter,
    words: LastLine,
    has_exited: bool,
    /// When the turn wants to know that time is up.
    deadline: Option<Instant>,
    /// When no more output is expected of a server that has ended.
    rest: Option<Instant>,
    /// When all must have ended because somebody wants us to.
    terminate: Option<Instant>,
}

/// An event of the server's process or of the run.
enum ServerEvent {
    Output(Vec<u8>),
    /// Something of no interest to the turn.
    Nothing,
    Terminate,
    TimeIsUp,
    /// The server has ended, or has nothing more to say.
    Gone,
}

fn pipe_end(end: Option<impl Into<OwnedFd>>) -> io::Result<OwnedFd> {
    end.map(Into::into).ok_or_else(|| io::ErrorKind::BrokenPipe.into())
}

/// Runs the server and the turn with it.
///
/// # Errors
/// When the server cannot be started. What goes wrong later is printed and becomes the exit code.
pub fn run(server: &[OsString], variable: &OsStr, turn: Turn, prompt_length: usize) -> io::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before the server is there, so that nothing can end us without it.
        let terminate = signal(SignalKind::terminate())?;
        let child = signal(SignalKind::child())?;
        let (program, arguments) = server.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(arguments).env_remove(variable);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = command.spawn()?;
        let pipes = (|| {
            let stdin = Sender::from_owned_fd(pipe_end(server.stdin.take())?)?;
            let stdout = Receiver::from_owned_fd(pipe_end(server.stdout.take())?)?;
            let stderr = Receiver::from_owned_fd(pipe_end(server.stderr.take())?)?;
            Ok((stdin, stdout, stderr))
        })();
        let (stdin, stdout, stderr) = match pipes {
            Ok(pipes) => pipes,
            Err(error) => {
                end_at_once(&mut server);
                return Err(error);
            }
        };
        let running = RunningServer {
            child: server,
            stdin: Some(stdin),
            stdout: Some(stdout),
            stderr: Some(stderr),
            queue: VecDeque::new(),
            // JSON writes a character in up to six bytes.
            max_queue: MAX_QUEUE.saturating_add(prompt_length.saturating_mul(6)),
            lines: Splitter::default(),
            words: LastLine::default(),
            has_exited: false,
            deadline: None,
            rest: None,
            terminate: None,
        };
        Ok(running.serve(turn, terminate, child).await)
    })
}

fn end_at_once(server: &mut Child) {
    // It may have ended by itself.
    let _ = server.kill();
    let _ = server.wait();
}

async fn read(stream: &mut Option<Receiver>) -> Vec<u8> {
    let Some(pipe) = stream else {
        return std::future::pending().await;
    };
    let mut piece = Vec::with_capacity(PIECE);
    // What cannot be read any more has ended.
    let _ = pipe.read_buf(&mut piece).await;
    if piece.is_empty() {
        *stream = None;
    }
    piece
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

impl RunningServer {
    async fn serve(mut self, mut turn: Turn, mut terminate: Signal, mut child: Signal) -> u8 {
        let mut steps = turn.begin();
        loop {
            if let Some(code) = self.perform(steps) {
                return self.close(code, &mut child).await;
            }
            steps = match self.next(&mut terminate, &mut child).await {
                ServerEvent::Output(piece) => match self.take(&piece, &mut turn) {
                    Some(code) => return self.close(code, &mut child).await,
                    None => Vec::new(),
                },
                ServerEvent::Nothing => {
                    turn.words(&String::from_utf8_lossy(&self.words.bytes));
                    Vec::new()
                }
                ServerEvent::Terminate => {
                    self.terminate = self.terminate.or(Some(Instant::now() + TERMINATE_TIME));
                    turn.terminate()
                }
                ServerEvent::TimeIsUp => {
                    self.deadline = None;
                    turn.time_is_up()
                }
                ServerEvent::Gone => {
                    let mut steps = turn.line(std::mem::take(&mut self.lines).rest());
                    let status = self.child.try_wait().ok().flatten();
                    let status = status.map_or_else(String::new, |status| format!(" ({status})"));
                    steps.extend(turn.broken(&format!("the server ended before the turn did{status}")));
                    steps
                }
            };
            if self.queue.len() > self.max_queue {
                steps.extend(turn.broken("the server does not read what it asks for"));
            }
        }
    }

    /// Hands whole lines to the turn and does what follows. The exit code, once there is one.
    fn take(&mut self, piece: &[u8], turn: &mut Turn) -> Option<u8> {
        self.lines.extend(piece);
        loop {
            let steps = match self.lines.next_line() {
                Ok(Some(line)) => turn.line(&line),
                Ok(None) => return None,
                Err(_) => {
                    turn.broken(&format!("the server printed a line of more than {} MiB", MAX_LINE >> 20))
                }
            };
            if let Some(code) = self.perform(steps) {
                return Some(code);
            }
        }
    }

    /// The exit code, once there is one.
    fn perform(&mut self, steps: Vec<TurnStep>) -> Option<u8> {
        for step in steps {
            match step {
                TurnStep::Send(message) => self.queue.extend(bytes(&message)),
                TurnStep::Print(line) => {
                    let mut stdout = io::stdout().lock();
                    let printed = stdout.write_all(&bytes(&line)).and_then(|()| stdout.flush());
                    // Nobody reads what is printed, so nobody wants the turn.
                    if printed.is_err() {
                        return Some(FAILED);
                    }
                }
                TurnStep::WaitAtMost(time) => self.deadline = Some(Instant::now() + time),
                TurnStep::Exit(code) => return Some(code),
            }
        }
        None
    }

    async fn next(&mut self, terminate: &mut Signal, child: &mut Signal) -> ServerEvent {
        let moment = [self.deadline, self.rest].into_iter().flatten().min();
        let event = tokio::select! {
            piece = read(&mut self.stdout) => {
                if piece.is_empty() { ServerEvent::Nothing } else { ServerEvent::Output(piece) }
            }
            piece = read(&mut self.stderr) => {
                self.pass_on(&piece);
                ServerEvent::Nothing
            }
            () = writable(self.stdin.as_ref(), !self.queue.is_empty()) => {
                self.write();
                ServerEvent::Nothing
            }
            _ = terminate.recv() => ServerEvent::Terminate,
            _ = child.recv() => {
                self.has_exited |= !matches!(self.child.try_wait(), Ok(None));
                ServerEvent::Nothing
            }
            () = until(moment) => {
                if self.rest.is_some_and(|rest| Instant::now() >= rest) { ServerEvent::Gone } else { ServerEvent::TimeIsUp }
            }
        };
        if self.has_exited || self.stdout.is_none() {
            if self.has_exited && self.stdout.is_none() && self.stderr.is_none() {
                return ServerEvent::Gone;
            }
            self.rest = self.rest.or(Some(Instant::now() + REST_TIME));
        }
        event
    }

    /// Passes on what the server prints on its standard error.
    fn pass_on(&mut self, piece: &[u8]) {
        self.words.extend(piece);
        // Whoever does not read it misses it.
        let _ = io::stderr().write_all(piece);
    }

    fn write(&mut self) {
        let Some(stdin) = &self.stdin else { return };
        let (first, _) = self.queue.as_slices();
        match stdin.try_write(first) {
            Ok(count) => drop(self.queue.drain(..count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // It reads no more, and will say why or end.
            Err(_) => self.stdin = None,
        }
    }

    /// Closes the server's standard input once everything is written, waits for its end, kills it where it does not come.
    async fn close(mut self, code: u8, child: &mut Signal) -> u8 {
        let latest = Instant::now() + CLOSE_TIME;
        let latest = self.terminate.map_or(latest, |moment| moment.min(latest));
        let mut signal = Some(latest - SIGNAL_TIME);
        while !self.has_exited && Instant::now() < latest {
            if signal.is_some_and(|moment| Instant::now() >= moment) {
                signal = None;
                // It may just have ended; its number is nobody else's until it was waited for.
                let _ = kill_process(Pid::from_child(&self.child), rustix::process::Signal::TERM);
            }
            if self.queue.is_empty() {
                self.stdin = None;
            }
            tokio::select! {
                _ = read(&mut self.stdout) => {}
                piece = read(&mut self.stderr) => self.pass_on(&piece),
                () = writable(self.stdin.as_ref(), !self.queue.is_empty()) => self.write(),
                _ = child.recv() => self.has_exited = !matches!(self.child.try_wait(), Ok(None)),
                () = sleep_until(signal.unwrap_or(latest)) => {}
            }
        }
        end_at_once(&mut self.child);
        if self.terminate.is_some() { TERMINATED } else { code }
    }
}

async fn writable(stdin: Option<&Sender>, is_wanted: bool) {
    match stdin.filter(|_| is_wanted) {
        // What cannot be written to any more is found out by writing.
        Some(stdin) => drop(stdin.writable().await),
        None => std::future::pending().await,
    }
}

/// A message as a line.
fn bytes(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
}
