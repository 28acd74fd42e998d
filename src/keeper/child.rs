//! One child's life: starting it, its deadlines, ending it as a tree, and what it left.
//!
//! Children are started by the standard library without a hook between fork and exec and by absolute path, because
//! only then does it use `posix_spawn`, whose cost does not grow with the process that calls it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, getpgid, kill_process, kill_process_group};

use super::identity::number;
use super::orphans::TURN_KEY_VARIABLE;
use super::platform;
use super::posix::Usage;
use super::protocol::{Event, Exit, Spawn};

/// A child that was started and not yet reaped. Its process id is therefore its own, and may be signalled.
pub(super) struct Child {
    pub(super) key: u64,
    pub(super) label: String,
    pub(super) pid: Pid,
    pub(super) start_time: u64,
    started: Instant,
    started_ms: u64,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
    grace: Duration,
    /// When to send SIGTERM, if there is a time-out and it has not fired.
    time_out: Option<Instant>,
    /// When to send SIGKILL, once SIGTERM was sent.
    kill: Option<Instant>,
    timed_out: bool,
    terminated: bool,
}

/// A child that is reaped but not yet reported, because processes of its tree may still be dying.
pub(super) struct Ended {
    pub(super) label: String,
    /// Only to be compared with group ids of processes that still live, never to be signalled.
    pub(super) pid: Pid,
    pub(super) start_time: u64,
    /// Report it at this time even if its processes have not died.
    pub(super) give_up: Instant,
    exit: Exit,
    stdout: Option<PathBuf>,
    stderr: Option<PathBuf>,
}

/// Why there never was a process.
#[derive(Debug)]
pub(super) struct SpawnError {
    errno: Option<i32>,
    message: String,
}

impl SpawnError {
    pub(super) fn refused(message: impl Into<String>) -> SpawnError {
        SpawnError {
            errno: None,
            message: message.into(),
        }
    }

    fn system(what: &str, path: &Path, error: &io::Error) -> SpawnError {
        SpawnError {
            errno: error.raw_os_error(),
            message: format!("{what} `{}`: {error}", path.display()),
        }
    }

    pub(super) fn event(self, key: u64) -> Event {
        Event::SpawnFailed {
            key,
            errno: self.errno,
            message: self.message,
        }
    }
}

impl Child {
    /// Starts a child; `marker` is the value of [`TURN_KEY_VARIABLE`] for it. On error nothing is left behind.
    pub(super) fn spawn(spawn: Spawn, marker: &str) -> Result<Child, SpawnError> {
        let (started_ms, started) = (wall_clock_ms(), Instant::now());
        let pid = start(&spawn, marker).inspect_err(|_| {
            for output in [&spawn.stdout, &spawn.stderr] {
                settle(output.as_deref());
            }
        })?;
        Ok(Child {
            key: spawn.key,
            label: spawn.label,
            pid,
            // A zombie can still be asked, so this fails only where the system does not tell.
            start_time: platform::start_time(pid).unwrap_or(0),
            started,
            started_ms,
            stdout: spawn.stdout,
            stderr: spawn.stderr,
            grace: Duration::from_millis(spawn.grace_ms),
            time_out: spawn
                .timeout_ms
                .and_then(|ms| started.checked_add(Duration::from_millis(ms))),
            kill: None,
            timed_out: false,
            terminated: false,
        })
    }

    pub(super) fn spawned(&self) -> Event {
        Event::Spawned {
            key: self.key,
            pid: number(self.pid),
            start_time: self.start_time,
        }
    }

    /// When [`enforce`](Self::enforce) has something to do next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (self.time_out, self.kill) {
            (Some(time_out), Some(kill)) => Some(time_out.min(kill)),
            (one, other) => one.or(other),
        }
    }

    /// Sends the signals that are due.
    pub(super) fn enforce(&mut self, now: Instant) {
        if self.time_out.is_some_and(|due| due <= now) {
            self.time_out = None;
            self.timed_out = true;
            self.ask_to_end(now, self.grace);
        }
        if self.kill.is_some_and(|due| due <= now) {
            self.kill = None;
            self.kill_tree();
        }
    }

    /// SIGTERM now, SIGKILL after `grace`, because the runner wants it.
    pub(super) fn terminate(&mut self, now: Instant, grace: Duration) {
        self.terminated = true;
        self.ask_to_end(now, grace);
    }

    /// SIGKILL now, because the runner wants it or is gone.
    pub(super) fn kill(&mut self) {
        self.terminated = true;
        self.kill_tree();
    }

    fn ask_to_end(&mut self, now: Instant, grace: Duration) {
        // A second request never prolongs the first one's grace.
        let due = now.checked_add(grace).into_iter().chain(self.kill).min();
        self.kill = due;
        self.signal(Signal::TERM);
    }

    /// SIGKILL to all that is still in the child's process group, the child itself included.
    pub(super) fn kill_tree(&self) {
        self.signal(Signal::KILL);
    }

    /// Reaches the child's process group, and the child itself if it moved to another one. A refusal means that there
    /// is nobody to reach, or somebody who changed the user; neither can be helped.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.pid, signal);
        if getpgid(Some(self.pid)) != Ok(self.pid) {
            let _ = kill_process(self.pid, signal);
        }
    }

    /// Turns a child that was just reaped into what is to be reported of it.
    pub(super) fn ended(self, status: ExitStatus, usage: Usage, now: Instant, patience: Duration) -> Ended {
        let duration = now.saturating_duration_since(self.started);
        Ended {
            label: self.label,
            pid: self.pid,
            start_time: self.start_time,
            give_up: now + patience,
            stdout: self.stdout,
            stderr: self.stderr,
            exit: Exit {
                key: self.key,
                code: status.code(),
                signal: status.signal(),
                timed_out: self.timed_out,
                terminated: self.terminated,
                stdout_len: 0,
                stderr_len: 0,
                started_ms: self.started_ms,
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                user_us: usage.user_us,
                system_us: usage.system_us,
                max_rss: usage.max_rss,
            },
        }
    }
}

impl Ended {
    pub(super) fn key(&self) -> u64 {
        self.exit.key
    }

    /// Measures the outputs, removes the empty ones and completes the report. To be called when nobody writes any more.
    pub(super) fn report(&mut self) -> &Exit {
        self.exit.stdout_len = settle(self.stdout.as_deref());
        self.exit.stderr_len = settle(self.stderr.as_deref());
        &self.exit
    }
}

/// Milliseconds since 1970.
pub(super) fn wall_clock_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn start(spawn: &Spawn, marker: &str) -> Result<Pid, SpawnError> {
    let Some((program, arguments)) = spawn.argv.split_first() else {
        return Err(SpawnError::refused("no program is given"));
    };
    if !program.starts_with('/') {
        return Err(SpawnError::refused(format!(
            "`{program}` is not an absolute path"
        )));
    }
    let (stdout, stderr) = open_outputs(spawn)?;
    let child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(spawn.env.iter().map(|(name, value)| (name, value)))
        .env(TURN_KEY_VARIABLE, marker)
        .current_dir(&spawn.cwd)
        .process_group(0)
        .stdin(open_input(spawn.stdin.as_deref())?)
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .map_err(|error| refusal(program, &spawn.cwd, &error))?;
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| SpawnError::refused("the system gave a process id out of range"))
}

/// The system does not say whether it was the program or the directory that it could not find.
fn refusal(program: &str, cwd: &Path, error: &io::Error) -> SpawnError {
    match fs::metadata(cwd) {
        Ok(metadata) if metadata.is_dir() => SpawnError::system("cannot start", Path::new(program), error),
        _ => SpawnError::system("cannot enter the working directory", cwd, error),
    }
}

fn open_input(path: Option<&Path>) -> Result<Stdio, SpawnError> {
    match path {
        None => Ok(Stdio::null()),
        Some(path) => open_regular(OpenOptions::new().read(true), path)
            .map(Stdio::from)
            .map_err(|error| SpawnError::system("cannot read the input", path, &error)),
    }
}

fn open_outputs(spawn: &Spawn) -> Result<(Stdio, Stdio), SpawnError> {
    let open = |path: &Path| {
        open_regular(OpenOptions::new().write(true).create(true).truncate(true), path)
            .map_err(|error| SpawnError::system("cannot write the output", path, &error))
    };
    match (&spawn.stdout, &spawn.stderr) {
        (Some(stdout), Some(stderr)) if stdout == stderr => {
            let file = open(stdout)?;
            let same = file.try_clone();
            let same = same.map_err(|error| SpawnError::system("cannot share the output", stdout, &error))?;
            Ok((file.into(), same.into()))
        }
        (stdout, stderr) => {
            let stdio = |path: &Option<PathBuf>| match path {
                None => Ok(Stdio::null()),
                Some(path) => open(path).map(Stdio::from),
            };
            Ok((stdio(stdout)?, stdio(stderr)?))
        }
    }
}

/// Opens a regular file and nothing else: a link could lead anywhere, and opening a FIFO would wait for its other end.
fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    // Not blocking was for the opening only, the child shall not inherit it.
    fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

/// The length of an output; an empty one is removed. What is not a regular file any more counts as none.
fn settle(output: Option<&Path>) -> u64 {
    let Some((path, metadata)) = output.and_then(|path| Some((path, fs::symlink_metadata(path).ok()?)))
    else {
        return 0;
    };
    if metadata.is_file() && metadata.len() == 0 {
        // It only stays as an empty file then.
        let _ = fs::remove_file(path);
    }
    if metadata.is_file() { metadata.len() } else { 0 }
}
