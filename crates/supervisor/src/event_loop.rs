//! The supervisor itself: one thread in one loop that waits for the runner, for children and for the next deadline, and
//! never for anything else.
//!
//! A runner that says [`SupervisorCommand::Shutdown`] or has not started anything that may outlive it takes everything with it. One
//! that is simply gone was killed: then checks and judges are killed, turns go on under their deadlines, and the supervisor
//! waits at its socket for the next runner, until the last turn has ended.
//!
//! | file | what |
//! |---|---|
//! | `reaping` | children that have exited: their trees are ended, then they are reaped, reported and recorded |

mod reaping;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use super::adoption::{self, AdoptionSocket};
use super::belonging::SUPERVISOR_NAME;
use super::child::{Child, Ended, SpawnError, wall_clock_ms};
use super::concealment;
use super::exits::{ExitRecord, Writer};
use super::identity::ProcessIdentity;
use super::mark;
use super::orderly_end::SupervisorSecret;
use super::orphans::Orphans;
use super::outputs::Outputs;
use super::platform::confine::Launcher;
use super::platform::{self, Signals};
use super::posix;
use super::protocol::{
    Frames, HeldChild, Holding, Outgoing, Spawn, SupervisorCommand, SupervisorEvent, encode,
};
use super::sealed::AnswerPipe;
use super::turn_marker::{OF_HOST, TURN_KEY_VARIABLE, TurnMarker};

/// How long an exit waits for the rest of its tree to die after SIGKILL.
const TREE_PATIENCE: Duration = Duration::from_secs(2);
/// How long the supervisor's own end waits for children to die and for the runner to take the last events.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
/// How often a supervisor whose socket does not open tries again.
const OPEN_AGAIN: Duration = Duration::from_millis(500);
const READ_SIZE: usize = 64 << 10;
/// How long a start is not yet news. A child that ends sooner is told of once, with its start and its end, and its start
/// time is never asked for: it costs more than anything else but the start itself.
const START_WAITS: Duration = Duration::from_millis(5);

/// The first message of the supervisor, so that the runner knows that signals no longer end it by accident.
pub type Greeting = Result<ProcessIdentity, String>;

/// Lives the supervisor's life in a process of its own and ends it; `socket` leads to the runner.
pub fn run(socket: UnixStream, secret: SupervisorSecret, is_of_host: bool) -> ! {
    posix::exit_now(if serve(socket, secret, is_of_host).is_ok() { 0 } else { 1 })
}

fn serve(socket: UnixStream, secret: SupervisorSecret, is_of_host: bool) -> io::Result<()> {
    let mut socket = UnixStream::from(posix::above_standard(socket.into())?);
    let ready = become_supervisor(&socket, is_of_host);
    let greeting: Greeting = match &ready {
        Ok((_, identity)) => Ok(identity.clone()),
        Err(error) => Err(format!("the supervisor cannot start: {error}")),
    };
    let mut bytes = Vec::new();
    encode(&greeting, &mut bytes)?;
    socket.write_all(&bytes)?;
    socket.set_nonblocking(true)?;
    let (signals, identity) = ready?;
    let mut supervisor = Supervisor::new(socket, signals, (identity, is_of_host), secret);
    // SAFETY: this process has one thread, and was forked from one that has hidden.
    unsafe { concealment::forget_environment() };
    supervisor.serve();
    Ok(())
}

/// Cuts the process off from what it shares with the runner, and makes it fit to look after children.
fn become_supervisor(socket: &UnixStream, is_of_host: bool) -> io::Result<(Signals, ProcessIdentity)> {
    // A session of its own: the terminal's Ctrl-C is for the runner, which decides what it means for children.
    rustix::process::setsid()?;
    posix::close_inherited(socket.as_raw_fd(), platform::open_descriptors()?)?;
    let signals = Signals::install()?;
    platform::adopt_orphans()?;
    let identity = platform::own_identity()?;
    if !is_of_host {
        platform::name_process(SUPERVISOR_NAME);
        mark::mark_this_process(&identity);
    }
    Ok((signals, identity))
}

struct Supervisor {
    /// The connection to the runner; `None` while there is none.
    runner: Option<UnixStream>,
    /// Where the socket for the next runner will be.
    adoption_path: Option<PathBuf>,
    /// Open while there is no runner and something to hold for the next one.
    adoption_socket: Option<AdoptionSocket>,
    signals: Signals,
    incoming: Frames,
    outgoing: Outgoing,
    read_buffer: Vec<u8>,
    /// The moment at which opening the adoption socket is tried again.
    open_again: Option<Instant>,
    identity: ProcessIdentity,
    /// Whether its children are sessions.
    is_of_host: bool,
    exits: ExitsFile,
    /// Running children, by key.
    children: HashMap<u64, Child>,
    by_pid: HashMap<Pid, u64>,
    /// The first key that no child has had.
    next_key: u64,
    /// Children whose start was not told yet.
    starting: Vec<u64>,
    /// The moment at which the starts are told.
    tell_starts: Option<Instant>,
    /// Reaped but not reported.
    ended: Vec<Ended>,
    orphans: Orphans,
    outputs: Outputs,
    launcher: Launcher,
    /// Whether there are no processes below the supervisor at all.
    alone: bool,
    /// When to look for orphans.
    hunt: Option<Instant>,
    /// The supervisor is ending; this is when it ends at the latest.
    stop: Option<Instant>,
    /// The secret of the last message; `None` once that is sent.
    secret: Option<SupervisorSecret>,
}

enum ExitsFile {
    /// [`SupervisorCommand::Open`] has not come yet.
    Awaited,
    Open(Writer),
    /// Writing failed, and the runner was told.
    Failed,
}

/// The events that have happened, and what the runner's end of the connection, or the listening socket, allows.
#[derive(Default)]
struct ReadySources {
    signalled: bool,
    readable: bool,
    closed: bool,
    /// A peer has connected.
    connected_peer: bool,
    /// A child has answered something.
    answered: bool,
}

impl Supervisor {
    fn new(
        socket: UnixStream,
        signals: Signals,
        (identity, is_of_host): (ProcessIdentity, bool),
        secret: SupervisorSecret,
    ) -> Supervisor {
        let outer = std::env::var(TURN_KEY_VARIABLE).ok();
        let marker = TurnMarker::of(&identity).within(outer);
        Supervisor {
            runner: Some(socket),
            adoption_path: None,
            adoption_socket: None,
            signals,
            incoming: Frames::default(),
            outgoing: Outgoing::default(),
            read_buffer: vec![0; READ_SIZE],
            open_again: None,
            identity,
            is_of_host,
            exits: ExitsFile::Awaited,
            children: HashMap::new(),
            by_pid: HashMap::new(),
            next_key: 1,
            starting: Vec::new(),
            tell_starts: None,
            ended: Vec::new(),
            orphans: Orphans::new(marker),
            outputs: Outputs::new(),
            launcher: Launcher::new(),
            alone: true,
            hunt: None,
            stop: None,
            secret: Some(secret),
        }
    }

    /// One turn of the loop obeys at most one command, so that a burst of them holds up neither exits nor time-outs.
    fn serve(&mut self) {
        while !self.finished() {
            let ready = self.wait();
            if ready.connected_peer {
                self.admit();
            } else if ready.closed {
                self.runner_gone();
            } else if ready.readable {
                self.read();
            }
            if ready.answered {
                let answers = self.children.values_mut().filter_map(Child::answer);
                answers.for_each(AnswerPipe::read_available);
            }
            if ready.signalled {
                self.signals.take();
                self.reap();
            }
            if self.signals.asked_to_end() {
                self.stop();
            }
            if let Some(command) = self.next_command() {
                self.obey(command);
            }
            let now = Instant::now();
            for child in self.children.values_mut() {
                child.enforce(now);
            }
            self.report_ended(now);
            if self.runner.is_none() && !self.holds_turns() {
                self.stop();
            }
            if self.open_again.is_some_and(|due| due <= now) {
                self.open_adoption_socket(now);
            }
            self.tell_starts(now);
            if self.stop.is_some() && self.all_gone() {
                self.say_farewell();
            }
            self.write();
        }
        // The runner may have gone in the very last moment.
        if self.all_gone() {
            self.say_farewell();
            self.write();
        }
    }

    /// Whether nothing is left of what the supervisor started, nor anything to tell of it.
    fn all_gone(&self) -> bool {
        self.alone && self.children.is_empty() && self.ended.is_empty()
    }

    /// Says that it ends with nothing left, to its runner and on record, once.
    fn say_farewell(&mut self) {
        if let Some(secret) = self.secret.take() {
            self.record(ExitRecord::farewell(&self.identity, &secret));
            self.send(&SupervisorEvent::Farewell);
        }
    }

    fn finished(&self) -> bool {
        let all_gone = self.all_gone();
        let all_said = self.outgoing.is_empty() || self.runner.is_none();
        self.stop.is_some_and(|deadline| (all_gone && all_said) || deadline <= Instant::now())
    }

    /// Sleeps until there is something to do: a message, room for one, a signal or a deadline.
    fn wait(&self) -> ReadySources {
        let mut interest = PollFlags::empty();
        let listening = self.stop.is_none();
        let obeying = listening && self.incoming.has_frame();
        interest.set(PollFlags::IN, listening && !obeying);
        interest.set(PollFlags::OUT, !self.outgoing.is_empty());
        let mut descriptors = vec![PollFd::new(&self.signals, PollFlags::IN)];
        match (&self.runner, &self.adoption_socket) {
            (Some(runner), _) => descriptors.push(PollFd::new(runner, interest)),
            (None, Some(adoption_socket)) => {
                descriptors.push(PollFd::new(&adoption_socket.listener, PollFlags::IN))
            }
            (None, None) => {}
        }
        let before = descriptors.len();
        let answers = self.children.values().filter_map(Child::answers);
        descriptors.extend(answers.map(|answer| PollFd::from_borrowed_fd(answer, PollFlags::IN)));
        let timeout = if obeying { Some(Duration::ZERO) } else { self.time_left() };
        // A time-out out of the system's range is as good as none.
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        if poll(&mut descriptors, timeout.as_ref()).is_err() {
            // Interrupted by a signal that does nothing.
            return ReadySources::default();
        }
        let signalled = descriptors[0].revents().contains(PollFlags::IN);
        let events = match before {
            1 => PollFlags::empty(),
            _ => descriptors[1].revents(),
        };
        let connected = self.runner.is_some();
        let readable = events.contains(PollFlags::IN);
        ReadySources {
            signalled,
            readable: readable && connected,
            closed: events.intersects(PollFlags::HUP | PollFlags::ERR) && connected,
            connected_peer: readable && self.adoption_socket.is_some(),
            answered: descriptors[before..].iter().any(|answer| !answer.revents().is_empty()),
        }
    }

    fn time_left(&self) -> Option<Duration> {
        let children = self.children.values().filter_map(Child::deadline);
        let ended = self.ended.iter().map(|ended| ended.give_up);
        let own = self.hunt.into_iter().chain(self.stop).chain(self.tell_starts);
        let own = own.chain(self.open_again);
        let next = children.chain(ended).chain(own).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn read(&mut self) {
        let Some(runner) = &mut self.runner else {
            return;
        };
        match runner.read(&mut self.read_buffer) {
            Ok(0) => self.runner_gone(),
            Ok(length) => self.incoming.extend(&self.read_buffer[..length]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.runner_gone(),
        }
    }

    fn write(&mut self) {
        if let Some(runner) = &mut self.runner
            && self.outgoing.write_with(|bytes| runner.write(bytes)).is_err()
        {
            self.runner_gone();
        }
    }

    fn send(&mut self, event: &SupervisorEvent) {
        // An event the supervisor made itself can always be encoded.
        if self.runner.is_some() && self.outgoing.push(event).is_err() {
            self.runner_gone();
        }
    }

    fn warn(&mut self, message: String) {
        self.send(&SupervisorEvent::Warning { message });
    }

    fn next_command(&mut self) -> Option<SupervisorCommand> {
        if self.stop.is_some() {
            return None;
        }
        match self.incoming.next() {
            Ok(command) => command,
            Err(error) => {
                // The stream cannot be trusted any more, and without it there is no runner.
                self.warn(format!(
                    "the supervisor ends, because it does not understand the session: {error}"
                ));
                self.stop();
                None
            }
        }
    }

    fn obey(&mut self, command: SupervisorCommand) {
        match command {
            SupervisorCommand::Open { exits_log, socket } => {
                self.adoption_path = Some(socket);
                match Writer::open(&exits_log) {
                    Ok(writer) => self.exits = ExitsFile::Open(writer),
                    Err(error) => self.exits_failed(&format!("`{}`: {error}", exits_log.display())),
                }
            }
            SupervisorCommand::Spawn(spawn) => self.spawn(*spawn),
            SupervisorCommand::Terminate { key, grace_ms } => {
                if let Some(child) = self.children.get_mut(&key) {
                    child.terminate(Instant::now(), Duration::from_millis(grace_ms));
                }
            }
            SupervisorCommand::KillAll => self.children.values_mut().for_each(Child::kill),
            SupervisorCommand::Shutdown => self.stop(),
            SupervisorCommand::Peek { key, from } => {
                let answer = self.children.get_mut(&key).and_then(Child::answer);
                if let Some(bytes) = answer.and_then(|answer| answer.after(from)) {
                    let bytes = bytes.to_vec();
                    self.send(&SupervisorEvent::Printed { key, from, bytes });
                }
            }
            SupervisorCommand::Ping => self.send(&SupervisorEvent::Alive),
            SupervisorCommand::TryConfinement => {
                let tier = self.launcher.try_confinement();
                self.send(&SupervisorEvent::Confinement(tier));
            }
        }
    }

    fn spawn(&mut self, spawn: Spawn) {
        let key = spawn.key;
        self.next_key = self.next_key.max(key.saturating_add(1));
        let taken = self.children.contains_key(&key) || self.ended.iter().any(|ended| ended.child.key == key);
        let spawned = if taken {
            Err(SpawnError::refused(format!("there already is a child with the key {key}")))
        } else if matches!(self.exits, ExitsFile::Awaited) {
            Err(SpawnError::refused("the supervisor was not told where to record exits"))
        } else {
            let marker = if self.is_of_host { OF_HOST.to_owned() } else { self.orphans.marker_for(key) };
            Child::spawn(spawn, &marker, &mut self.outputs, &mut self.launcher)
        };
        match spawned {
            Ok(child) => {
                self.alone = false;
                self.starting.push(key);
                self.tell_starts.get_or_insert_with(|| Instant::now() + START_WAITS);
                self.by_pid.insert(child.pid, key);
                self.children.insert(key, child);
            }
            Err(error) => self.send(&error.event(key)),
        }
    }

    /// Tells of children that have lived long enough to be news.
    fn tell_starts(&mut self, now: Instant) {
        if self.tell_starts.is_none_or(|due| now < due) {
            return;
        }
        self.tell_starts = None;
        for key in std::mem::take(&mut self.starting) {
            let started = self.children.get_mut(&key);
            match started.map(|child| child.ask_start_time().spawned()) {
                Some(event) => self.send(&event),
                // It has exited; both is told when its tree is gone.
                None => self.starting.push(key),
            }
        }
    }

    /// Puts a record down with the time of now.
    fn record(&mut self, mut record: ExitRecord) {
        record.at_ms = wall_clock_ms();
        if let ExitsFile::Open(writer) = &mut self.exits
            && let Err(error) = writer.append(&record)
        {
            self.exits_failed(&error.to_string());
        }
    }

    /// The runner still hears of every exit, so a lost record only matters if the runner dies too.
    fn exits_failed(&mut self, reason: &str) {
        self.exits = ExitsFile::Failed;
        self.warn(format!("exits cannot be recorded: {reason}"));
    }

    /// The one place that decides what becomes of the children when the runner is gone: what may outlive it goes on, the
    /// rest is killed.
    fn runner_gone(&mut self) {
        let Some(mut runner) = self.runner.take() else {
            return;
        };
        self.outgoing.clear();
        // What it said last still counts: it may have called something off.
        while let Ok(length @ 1..) = runner.read(&mut self.read_buffer) {
            self.incoming.extend(&self.read_buffer[..length]);
        }
        while let Some(command) = self.next_command() {
            // Nobody waits for what it would have started, and what never was can be started by the next runner.
            if !matches!(command, SupervisorCommand::Spawn(_)) {
                self.obey(command);
            }
        }
        self.incoming = Frames::default();
        // The next runner hears of them at the socket.
        self.starting.clear();
        self.tell_starts = None;
        let must_go = |child: &&mut Child| !child.outlives_runner();
        self.children.values_mut().filter(must_go).for_each(Child::kill);
        if self.stop.is_some() || !self.holds_turns() {
            return self.stop();
        }
        self.open_adoption_socket(Instant::now());
    }

    /// Opens the socket for the next runner. Where that fails, the children go on, and their exits are on record when they
    /// end; a runner that comes sooner and finds no socket, ever, ends them, and is told the reason by the record of exits.
    fn open_adoption_socket(&mut self, now: Instant) {
        let first = self.open_again.take().is_none();
        let Some(path) = self.adoption_path.as_deref() else {
            return;
        };
        match AdoptionSocket::open(path) {
            Ok(adoption_socket) => {
                self.adoption_socket = Some(adoption_socket);
                if !first {
                    self.note(String::new());
                }
            }
            Err(error) => {
                let why = format!("the supervisor cannot open its socket {}: {error}", path.display());
                self.open_again = Some(now + OPEN_AGAIN);
                if first {
                    self.note(why);
                }
            }
        }
    }

    /// Puts on record what there is no session to tell; an empty text takes the last one back.
    fn note(&mut self, text: String) {
        self.record(ExitRecord::note(&self.identity, text));
    }

    /// Whether there is anything that the next runner would want.
    fn holds_turns(&self) -> bool {
        self.children.values().any(Child::outlives_runner)
            || self.ended.iter().any(|ended| ended.child.outlives_runner())
    }

    /// Lets the next runner in and tells it what is here.
    fn admit(&mut self) {
        let Some(runner) = self.adoption_socket.as_ref().and_then(AdoptionSocket::admit) else {
            return;
        };
        let running = self.children.values_mut().map(|child| child.ask_start_time().held());
        let mut children: Vec<HeldChild> = running.collect();
        children.extend(self.ended.iter().map(|ended| ended.child.held()));
        let holding = Holding { next_key: self.next_key, children };
        self.outgoing.clear();
        if adoption::greet(&mut self.outgoing, &holding).is_ok() {
            self.runner = Some(runner);
            self.adoption_socket = None;
        }
    }

    /// Kills everything; the loop ends when all of it is reaped and reported.
    fn stop(&mut self) {
        if self.stop.is_some() {
            return;
        }
        // Nobody is let in any more: what is here is about to be gone.
        self.adoption_socket = None;
        self.open_again = None;
        let now = Instant::now();
        self.stop = Some(now + STOP_PATIENCE);
        self.hunt = Some(now);
        self.children.values_mut().for_each(Child::kill);
    }
}
