//! One child's life: starting it, ending it as a tree, and what it left.
//!
//! | file | what |
//! |---|---|
//! | `ending` | time-outs, SIGTERM, grace, SIGKILL |

use std::fs::{self, File};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Pid;

use super::identity::number;
use super::outputs::{CheckedFolder, Output, Outputs};
use super::platform;
use super::platform::confine::{ExitReport, Launcher};
use super::posix::ChildUsage;
use super::protocol::{ChildExit, HeldChild, Spawn, SupervisorEvent};
use super::sealed::{AnswerPipe, RequestFiles};
use super::start::{NotStarted, Start};
use rules::domain::Digest;

mod ending;

/// A child that was started and not yet reaped. Its process id is therefore its own, and may be signalled.
pub struct Child {
    pub key: u64,
    pub label: String,
    pub pid: Pid,
    /// The start in clock ticks since boot; 0 until [`Child::ask_start_time`].
    pub start_time: u64,
    started: Instant,
    started_ms: u64,
    streams: Streams,
    request: RequestFiles,
    /// Where a confined child's program tells how it ended.
    report: Option<ExitReport>,
    grace: Duration,
    /// When to send SIGTERM, if there is a time-out and it has not fired.
    time_out: Option<Instant>,
    /// When to send SIGKILL, once SIGTERM was sent.
    kill: Option<Instant>,
    timed_out: bool,
    terminated: bool,
    outlives_runner: bool,
    /// The next moment at which the printed bytes are counted.
    look: Option<Instant>,
}

/// The pause between two counts of a child's printed bytes: what it prints meanwhile lies on the disk.
const LOOK: Duration = Duration::from_millis(100);

/// A child that is reaped but not yet reported, because processes of its tree may still be dying.
pub struct Ended {
    /// The reaped child. Its process id is only to be compared with group ids of processes that still live,
    /// never to be signalled.
    pub child: Child,
    /// The moment at which the end is reported even if the child's processes have not died.
    pub give_up: Instant,
    exit: ChildExit,
}

/// Where a child's two outputs go.
#[derive(Debug, Default)]
struct Streams {
    stdout: Option<Output>,
    stderr: Option<Output>,
    /// Standard error goes to the file of `stdout`.
    shared: bool,
    /// How many bytes both may hold together.
    most: Option<u64>,
    /// Whether something was dropped.
    cut: bool,
}

/// The state of the two outputs at the end.
struct Settled {
    lengths: [u64; 2],
    /// The digest of the standard output, where it is known.
    digest: Option<Digest>,
    /// The error that lost an output; `None` where both are whole.
    lost: Option<String>,
}

/// Why there never was a process.
#[derive(Debug)]
pub struct SpawnError {
    errno: Option<i32>,
    message: String,
    confinement: bool,
}

impl SpawnError {
    pub fn refused(message: impl Into<String>) -> SpawnError {
        SpawnError { errno: None, message: message.into(), confinement: false }
    }

    fn unconfined(why: &str) -> SpawnError {
        SpawnError { confinement: true, ..SpawnError::refused(format!("the sandbox cannot be made: {why}")) }
    }

    fn system(what: &str, path: &Path, error: &io::Error) -> SpawnError {
        SpawnError {
            errno: error.raw_os_error(),
            message: format!("{what} `{}`: {error}", path.display()),
            confinement: false,
        }
    }

    pub fn event(self, key: u64) -> SupervisorEvent {
        SupervisorEvent::SpawnFailed {
            key,
            errno: self.errno,
            message: self.message,
            confinement: self.confinement,
        }
    }
}

impl Child {
    /// Starts a child; `marker` tells it and its descendants from others. On error nothing is left behind.
    pub fn spawn(
        spawn: Spawn,
        marker: &str,
        outputs: &mut Outputs,
        launcher: &mut Launcher,
    ) -> Result<Child, SpawnError> {
        let (started_ms, started) = (wall_clock_ms(), Instant::now());
        let mut streams = Streams { most: spawn.max_output, ..Streams::default() };
        let mut request = RequestFiles::open(&spawn.told, spawn.stdin.as_deref())
            .map_err(|error| SpawnError::refused(error.to_string()))?;
        let input = request.input.take();
        let (pid, report) = match start(&spawn, marker, input, &mut streams, outputs, launcher) {
            Ok(started) => started,
            Err(error) => {
                streams.settle(outputs);
                return Err(error);
            }
        };
        Ok(Child {
            key: spawn.key,
            label: spawn.label,
            pid,
            start_time: 0,
            started,
            started_ms,
            streams,
            request,
            report,
            grace: Duration::from_millis(spawn.grace_ms),
            time_out: spawn.timeout_ms.and_then(|ms| started.checked_add(Duration::from_millis(ms))),
            kill: None,
            timed_out: false,
            terminated: false,
            outlives_runner: spawn.outlives_runner,
            look: spawn.max_output.map(|_| started + LOOK),
        })
    }

    /// The news of its start.
    pub fn spawned(&self) -> SupervisorEvent {
        SupervisorEvent::Spawned { key: self.key, pid: number(self.pid), start_time: self.start_time }
    }

    /// The record of the child for the next runner.
    pub fn held(&self) -> HeldChild {
        HeldChild {
            key: self.key,
            label: self.label.clone(),
            pid: number(self.pid),
            start_time: self.start_time,
        }
    }

    /// The answer that it is giving.
    pub fn answer(&mut self) -> Option<&mut AnswerPipe> {
        match &mut self.streams.stdout {
            Some(Output::Piped(answer)) => Some(answer),
            _ => None,
        }
    }

    /// Where the answer comes from.
    pub fn answers(&self) -> Option<BorrowedFd<'_>> {
        match &self.streams.stdout {
            Some(Output::Piped(answer)) => answer.waits(),
            _ => None,
        }
    }

    /// Asks the system when it started, which is only known while it is not reaped.
    pub fn ask_start_time(&mut self) -> &Self {
        if self.start_time == 0 {
            self.start_time = platform::start_time(self.pid).unwrap_or(0);
        }
        self
    }

    /// Whether the child goes on without a runner.
    pub fn outlives_runner(&self) -> bool {
        self.outlives_runner && platform::IS_FOUND_AGAIN
    }

    /// Turns a child that was just reaped into what is to be reported of it.
    pub fn ended(mut self, status: ExitStatus, usage: ChildUsage, now: Instant, patience: Duration) -> Ended {
        let duration = now.saturating_duration_since(self.started);
        // Of a confined child it is the first process of its namespace that was reaped.
        let status = self.report.take().and_then(ExitReport::status).unwrap_or(status);
        Ended {
            give_up: now + patience,
            exit: ChildExit {
                key: self.key,
                code: status.code(),
                signal: status.signal(),
                timed_out: self.timed_out,
                terminated: self.terminated,
                started_ms: self.started_ms,
                duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                user_us: usage.user_us,
                system_us: usage.system_us,
                max_rss: usage.max_rss,
                ..ChildExit::default()
            },
            child: self,
        }
    }
}

impl Ended {
    /// Gives the outputs their names and completes the report. To be called once, when nothing writes any more.
    pub fn report(&mut self, outputs: &mut Outputs) -> &ChildExit {
        let child = &mut self.child;
        child.streams.trim();
        self.exit.output_cut = child.streams.cut;
        let settled = std::mem::take(&mut child.streams).settle(outputs);
        [self.exit.stdout_len, self.exit.stderr_len] = settled.lengths;
        self.exit.stdout_digest = settled.digest;
        self.exit.output_lost = settled.lost.or_else(|| child.request.changed());
        &self.exit
    }
}

impl Streams {
    /// Drops what is too much. Where both are long each keeps half, else the longer one keeps what the other leaves.
    fn trim(&mut self) {
        let Some(most) = self.most else {
            return;
        };
        let length = |output: &Option<Output>| output.as_ref().map_or(0, Output::length);
        let (out, err) = (length(&self.stdout), length(&self.stderr));
        if out.saturating_add(err) <= most {
            return;
        }
        let half = most / 2;
        let kept = match (out <= half, err <= half) {
            (true, _) => (out, most - out),
            (_, true) => (most - err, err),
            (false, false) => (most - half, half),
        };
        for (output, length, kept) in [(&self.stdout, out, kept.0), (&self.stderr, err, kept.1)] {
            if let Some(output) = output.as_ref().filter(|_| length > kept) {
                // What cannot be cut now is tried again in a moment, and in the end it is as long as it is.
                self.cut |= output.cut(kept).is_ok();
            }
        }
    }

    /// Opens the files that `spawn` asks for. What was opened before an error is in `self` all the same.
    fn open(&mut self, spawn: &Spawn, outputs: &mut Outputs) -> Result<[Option<File>; 2], SpawnError> {
        let mut checked = CheckedFolder::default();
        let mut open = |path: &Path, piped: bool| {
            let opened = if piped {
                AnswerPipe::open(path).map(|(answer, file)| (Output::Piped(answer), file))
            } else {
                outputs.open(path, &mut checked)
            };
            opened.map_err(|error| SpawnError::system("cannot write the output", path, &error))
        };
        let (mut stdout, mut stderr) = (None, None);
        if let Some(path) = &spawn.stdout {
            let (output, file) = open(path, spawn.sealed)?;
            self.stdout = Some(output);
            if spawn.stderr.as_ref() == Some(path) {
                let same = file.try_clone();
                let same =
                    same.map_err(|error| SpawnError::system("cannot share the output", path, &error))?;
                stderr = Some(same);
                self.shared = true;
            }
            stdout = Some(file);
        }
        if let Some(path) = spawn.stderr.as_ref().filter(|_| !self.shared) {
            let (output, file) = open(path, false)?;
            self.stderr = Some(output);
            stderr = Some(file);
        }
        Ok([stdout, stderr])
    }

    fn settle(self, outputs: &mut Outputs) -> Settled {
        let mut lost = Vec::new();
        let mut settle = |output: Option<Output>| match output.map(|output| outputs.settle(output)) {
            None => (0, None),
            Some(Ok(settled)) => settled,
            Some(Err(why)) => {
                lost.push(why.to_string());
                (0, None)
            }
        };
        let (stdout, digest) = settle(self.stdout);
        let stderr = if self.shared { stdout } else { settle(self.stderr).0 };
        Settled { lengths: [stdout, stderr], digest, lost: (!lost.is_empty()).then(|| lost.join("; ")) }
    }
}

/// The wall clock, in milliseconds since 1970.
pub fn wall_clock_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

fn start(
    spawn: &Spawn,
    marker: &str,
    input: Option<File>,
    streams: &mut Streams,
    outputs: &mut Outputs,
    launcher: &mut Launcher,
) -> Result<(Pid, Option<ExitReport>), SpawnError> {
    let Some(program) = spawn.argv.first() else {
        return Err(SpawnError::refused("no program is given"));
    };
    if !program.starts_with('/') {
        return Err(SpawnError::refused(format!("`{program}` is not an absolute path")));
    }
    let [stdout, stderr] = streams.open(spawn, outputs)?;
    let start = Start {
        arguments: &spawn.argv,
        environment: &spawn.env,
        marker,
        folder: &spawn.cwd,
        standard: [input, stdout, stderr],
    };
    let refused = |error: io::Error| refusal(program, &spawn.cwd, &error);
    launcher.start(&start, spawn.confinement.as_ref()).map_err(|not_started| match not_started {
        NotStarted::Program(error) => refused(error),
        NotStarted::Confinement(why) => SpawnError::unconfined(&why),
    })
}

/// The system does not say whether it was the program or the directory that it could not find.
fn refusal(program: &str, cwd: &Path, error: &io::Error) -> SpawnError {
    match fs::metadata(cwd) {
        Ok(metadata) if metadata.is_dir() => SpawnError::system("cannot start", Path::new(program), error),
        _ => SpawnError::system("cannot enter the working directory", cwd, error),
    }
}
