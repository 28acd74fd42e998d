//! The child that stands for a command elsewhere: `quorum --carried FILE`, with a [`CarriedRequest`] in the file.
//!
//! It begins the command by its name, which the server gives to one job only, prints what the command prints, and ends as that does. A
//! child that comes after another one, on whichever machine, finds what that has begun and goes on. What else it knows it tells in a
//! [`CarriedReport`]. SIGTERM calls the command off.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use temporalio_client::errors::{ActivityInteractionError, ActivityResultError, StartActivityError};
use temporalio_client::{
    ActivityCancelOptions, ActivityDescribeOptions, ActivityHandle, ActivityIdConflictPolicy,
    ActivityIdReusePolicy, ActivityStartOptions, Client, RetryPolicy,
};
use temporalio_common::error::{IncomingError, TimeoutType};
use tokio::time::{Instant, sleep};

use super::form::{
    CHILD_WORD, CarriedEnd, CarriedJob, CarriedOutcome, CarriedPiece, CarriedReport, CarriedRequest,
    HostedCommand, SESSIONS, STDERR, STDOUT, activity_id, queue_name,
};
use super::server::{ServerError, check, connect, is_passing, team_key};
use super::worker::{CarriedActivity, Place};
use crate::executor::command::GRACE;
use crate::executor::error::WorkError;
use crate::runtime::{
    isolation::worktrees::exchange::{CarriedName, CommitId, GitExchange},
    session::signals::SessionSignals,
};
use crate::store::host;
use rules::domain::{Millis, OutcomeClass};
use rules::engine::StopCause;
use rules::mission::model::Workers;
use supervisor::files::{if_there, no_links::scratch_folder, open_of_any_length};

/// How often it is looked for what the command has printed.
const LOOK: Duration = Duration::from_millis(400);
/// The pause before a call is made again.
const PAUSE: Duration = Duration::from_millis(500);
/// The time that a worker has for handing files over, beside the time of the command.
const HAND_OVER: Duration = Duration::from_secs(600);
/// How long a session may take.
pub const LONGEST_SESSION: Millis = Millis::from_secs(365 * 24 * 3600);
/// How many hosts may begin a session, one after another: where each is lost, another one helps as little.
const MOST_HOSTS: u32 = 20;
/// The largest file of a request, in bytes.
const LARGEST: u64 = 64 << 10;

/// The exit code of a child that tells in its report why there is none of a command.
const NO_EXIT: u8 = 1;
/// The exit code of a child whose command was called off: that of a program that SIGTERM ends.
pub const CALLED_OFF: u8 = 143;

/// Stands for a command if this program was started for that, and gives its exit code.
pub fn run_if_asked(words: &[OsString]) -> Option<ExitCode> {
    let [_, word, file] = words else {
        return None;
    };
    if word != CHILD_WORD {
        return None;
    }
    Some(ExitCode::from(run(Path::new(file)).unwrap_or_else(|why| {
        // Whoever does not read it sees the exit code.
        let _ = writeln!(io::stderr(), "{CHILD_WORD}: {why}");
        NO_EXIT
    })))
}

fn run(file: &Path) -> Result<u8, WorkError> {
    let text = supervisor::files::read_regular(file, LARGEST).map_err(WorkError::file("read", file))?;
    let (code, _) = stand_for(&serde_json::from_slice(&text)?)?;
    Ok(code)
}

/// Has a host do a command, with its state in a folder that it reaches, and gives its exit code. Blocks.
///
/// # Errors
/// When it cannot be handed over, or no host has ended it.
pub fn hand_over(command: &HostedCommand, state: &Path, workers: &Workers) -> Result<u8, WorkError> {
    check()?;
    let place = scratch_folder()?;
    let ended = stand_for(&CarriedRequest {
        exchange: state.to_string_lossy().into_owned(),
        commit: serde_json::to_string(command)?,
        name: CarriedName::of(&command.run, "session"),
        id: activity_id(&command.run, &format!("{:016x}", fastrand::u64(..)), "session"),
        queue: SESSIONS.to_owned(),
        lease: workers.lease_of(LONGEST_SESSION),
        wait: workers.wait_for_worker(),
        timeout: LONGEST_SESSION,
        most: 0,
        repository: state.to_owned(),
        report: place.path().join("report"),
    });
    match ended? {
        (_, CarriedOutcome::Lost(why) | CarriedOutcome::NeverBegan(why) | CarriedOutcome::NotBegun(why)) => {
            Err(why.into())
        }
        (code, _) => Ok(code),
    }
}

/// Stands for a command, and gives its exit code.
fn stand_for(request: &CarriedRequest) -> Result<(u8, CarriedOutcome), WorkError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut writer = ReportWriter::new(request);
    let outcome = runtime.block_on(carried(request, &mut writer));
    runtime.shutdown_background();
    let mut signal = None;
    let code = match &outcome {
        CarriedOutcome::Ended(end) => {
            let code = print_rest(&mut writer, end)?;
            if let Some(exit) = &end.exit {
                writer.report.began = Some(end.worker.clone());
                signal = exit.signal.filter(|_| end.commit.is_some());
            }
            code
        }
        CarriedOutcome::CalledOff => writer.called_off.unwrap_or(CALLED_OFF),
        _ => NO_EXIT,
    };
    writer.report.end = Some(outcome.clone());
    writer.write()?;
    if let Some(signal) = signal.and_then(Signal::from_named_raw) {
        // It ends as the command did; where it cannot, its code says the same.
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    Ok((code, outcome))
}

/// What was told and printed so far.
struct ReportWriter<'r> {
    request: &'r CarriedRequest,
    report: CarriedReport,
    /// Bytes of standard output that are printed.
    printed: u64,
    /// Whether another child was here before, so that the command may have begun and is not begun by this one.
    is_found: bool,
    /// The exit code of a child that was told to end, once it was.
    called_off: Option<u8>,
}

impl<'r> ReportWriter<'r> {
    fn new(request: &'r CarriedRequest) -> Self {
        Self {
            request,
            report: CarriedReport::default(),
            printed: 0,
            is_found: request.report.exists(),
            called_off: None,
        }
    }

    /// Puts the report where the session reads it.
    fn write(&self) -> Result<(), WorkError> {
        let path = &self.request.report;
        let text = serde_json::to_vec(&self.report)?;
        supervisor::files::replace_file(path, &text).map_err(WorkError::file("write", path))
    }

    /// Prints what of a piece is new and stands behind what is printed. What was missed comes at the end.
    fn piece(&mut self, piece: &CarriedPiece) -> Result<(), WorkError> {
        if piece.worker.is_some() && self.report.began != piece.worker {
            self.report.began.clone_from(&piece.worker);
            // Another host begins with a session of its own.
            self.printed = 0;
            self.write()?;
        }
        let bytes = STANDARD.decode(&piece.bytes).unwrap_or_default();
        let known = self.printed.checked_sub(piece.from);
        let known = known.and_then(|known| usize::try_from(known).ok());
        if let Some(new) = known.and_then(|known| bytes.get(known..)) {
            let mut stdout = io::stdout().lock();
            stdout.write_all(new)?;
            stdout.flush()?;
            self.printed += new.len() as u64;
        }
        Ok(())
    }
}

/// Has the command begun, and waits for its end.
async fn carried(request: &CarriedRequest, writer: &mut ReportWriter<'_>) -> CarriedOutcome {
    match begun(request, writer).await {
        Ok(handle) => ended(&handle, writer).await,
        Err(outcome) => outcome,
    }
}

type TurnHandle = ActivityHandle<Client, CarriedActivity>;

/// The job at the server, which this child has begun, or another one before.
async fn begun(request: &CarriedRequest, writer: &ReportWriter<'_>) -> Result<TurnHandle, CarriedOutcome> {
    let not_begun = |why: String| {
        if writer.is_found { CarriedOutcome::Lost(why) } else { CarriedOutcome::NotBegun(why) }
    };
    let key = team_key().map_err(|why| not_begun(why.to_string()))?;
    let job = CarriedJob::of(request, &key);
    let until = Instant::now() + request.wait.as_duration();
    let client = loop {
        match connect(&format!("{}@{}", request.id, host())).await {
            Ok(client) => break client,
            Err(why @ ServerError::Unreachable(..)) if !writer.is_found && Instant::now() >= until => {
                return Err(CarriedOutcome::NeverBegan(why.to_string()));
            }
            Err(ServerError::Unreachable(..)) => sleep(PAUSE).await,
            Err(why) => return Err(not_begun(why.to_string())),
        }
    };
    // From here on another one only looks for it: what the server has forgotten must not begin twice.
    writer.write().map_err(|why| not_begun(why.to_string()))?;
    let handle = loop {
        if writer.is_found {
            break client.get_activity_handle(Place::run, &request.id, None);
        }
        let started = client.start_activity(Place::run, job.clone(), options(request)).await;
        match started {
            Ok(handle) => break handle,
            Err(StartActivityError::AlreadyStarted { run_id, .. }) => {
                break client.get_activity_handle(Place::run, &request.id, Some(run_id));
            }
            Err(StartActivityError::Rpc(status)) if is_passing(&status) => sleep(PAUSE).await,
            Err(why) => return Err(not_begun(why.to_string())),
        }
    };
    // Whoever holds the name may have begun another job under it.
    loop {
        let about = ActivityDescribeOptions::builder().include_input(true).build();
        match handle.describe(about).await {
            Ok(described) => match described.input().await {
                Ok(Some(input)) if input == job => return Ok(handle),
                Ok(_) | Err(_) => return Err(CarriedOutcome::Foreign),
            },
            Err(ActivityInteractionError::Rpc(status)) if is_passing(&status) => {
                sleep(PAUSE).await;
            }
            Err(why) => return Err(not_begun(why.to_string())),
        }
    }
}

fn options(request: &CarriedRequest) -> ActivityStartOptions {
    let whole = request.timeout.as_duration() + GRACE.as_duration() + HAND_OVER;
    ActivityStartOptions::with_start_to_close_timeout(queue_name(&request.queue), &request.id, whole)
        .heartbeat_timeout(request.lease.as_duration())
        .schedule_to_start_timeout(request.wait.as_duration())
        .retry_policy(
            RetryPolicy::builder()
                .initial_interval(PAUSE / 5)
                .maximum_attempts(if request.queue == SESSIONS { MOST_HOSTS } else { 1 })
                .build(),
        )
        .id_reuse_policy(ActivityIdReusePolicy::RejectDuplicate)
        .id_conflict_policy(ActivityIdConflictPolicy::UseExisting)
        .build()
}

/// Waits for the end of a job, prints meanwhile what comes, and calls it off at SIGTERM.
async fn ended(handle: &TurnHandle, writer: &mut ReportWriter<'_>) -> CarriedOutcome {
    let mut signals = match SessionSignals::listen() {
        Ok(signals) => signals,
        Err(why) => return CarriedOutcome::NotBegun(format!("signals: {why}")),
    };
    let mut result = pin!(result_of(handle));
    let mut look = tokio::time::interval(LOOK);
    look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            request = signals.next() => {
                writer.called_off = Some(match request.cause {
                    StopCause::Interrupted => OutcomeClass::Interrupted.exit_code(),
                    _ => CALLED_OFF,
                });
                // Where the server does not hear it, the lease that nobody asks for any more does not help either: it is asked again.
                while let Err(why) = handle.cancel(ActivityCancelOptions::default()).await {
                    if !matches!(&why, ActivityInteractionError::Rpc(status) if is_passing(status)) {
                        break;
                    }
                    sleep(PAUSE).await;
                }
            }
            result = &mut result => return outcome(result, writer),
            _ = look.tick() => {
                let about = ActivityDescribeOptions::builder().include_heartbeat_details(true).build();
                // What is not heard now is heard at the next look.
                let Ok(described) = handle.describe(about).await else { continue };
                if let Ok(Some(piece)) = described.heartbeat_details::<CarriedPiece>().await
                    && let Err(why) = writer.piece(&piece)
                {
                    // Nobody reads it any more: it is of no use.
                    return CarriedOutcome::Lost(why.to_string());
                }
            }
        }
    }
}

/// The result of a job, however often the server has to be asked.
async fn result_of(handle: &TurnHandle) -> Result<CarriedEnd, ActivityResultError> {
    loop {
        match handle.result().await {
            Err(ActivityResultError::Rpc(status)) if is_passing(&status) => sleep(PAUSE).await,
            other => return other,
        }
    }
}

fn outcome(result: Result<CarriedEnd, ActivityResultError>, writer: &mut ReportWriter<'_>) -> CarriedOutcome {
    let failure = match result {
        Ok(end) => return CarriedOutcome::Ended(Box::new(end)),
        Err(ActivityResultError::Cancelled { .. }) if !writer.is_found => return CarriedOutcome::CalledOff,
        Err(_) if writer.called_off.is_some() => return CarriedOutcome::CalledOff,
        Err(failure) => failure,
    };
    match &failure {
        ActivityResultError::ActivityFailed(IncomingError::Timeout(late)) => match late.timeout_type() {
            TimeoutType::ScheduleToStart => {
                let queue = &writer.request.queue;
                let why = format!("no worker has taken it from the queue '{queue}' within `waitForWorker`");
                // Nobody has waited for that in this session.
                if writer.is_found { CarriedOutcome::Lost(why) } else { CarriedOutcome::NeverBegan(why) }
            }
            _ => {
                // What the last heartbeat said may have come between two looks.
                if let Ok(Some(CarriedPiece { worker: Some(worker), .. })) = late.last_heartbeat_details() {
                    writer.report.began = Some(worker);
                }
                CarriedOutcome::Lost(match &writer.report.began {
                    Some(worker) => format!("{worker} was not heard of any more"),
                    None => "the worker that had taken it was not heard of any more".to_owned(),
                })
            }
        },
        other => CarriedOutcome::Lost(other.to_string()),
    }
}

/// Prints what did not come with heartbeats, and gives the exit code. Blocks.
fn print_rest(writer: &mut ReportWriter<'_>, end: &CarriedEnd) -> Result<u8, WorkError> {
    let request = writer.request;
    if let Some(piece) = &end.printed {
        writer.printed = writer.printed.max(piece.from);
        writer.piece(piece)?;
    } else if let Some(commit) = &end.commit {
        let commits = [&request.commit, commit].map(|id| CommitId::try_from(id.clone()));
        let [given, out] = commits;
        let left = request.left();
        supervisor::files::remove_all(&left).map_err(WorkError::file("remove", &left))?;
        let exchange = GitExchange::of(&request.exchange, Path::new("/"))?;
        exchange.outputs(&request.repository, [&given?, &out?], &left, request.most)?;
        let copy = |name: &str, from: u64, to: &mut dyn Write| -> Result<(), WorkError> {
            let path = left.join(name);
            let file = if_there(open_of_any_length(&path)).map_err(WorkError::file("read", &path))?;
            if let Some(mut file) = file {
                file.seek(SeekFrom::Start(from))?;
                io::copy(&mut file, to)?;
                fs::remove_file(&path).map_err(WorkError::file("remove", &path))?;
            }
            Ok(to.flush()?)
        };
        copy(STDOUT, writer.printed, &mut io::stdout().lock())?;
        copy(STDERR, 0, &mut io::stderr().lock())?;
    } else {
        // Nobody knows what it has left, so that no exit of it counts.
        let why = end.why.as_deref().unwrap_or("nothing came back");
        writeln!(io::stderr(), "{why}")?;
        return Ok(NO_EXIT);
    }
    let exit = end.exit.as_ref();
    let code = exit.and_then(|exit| exit.code.or(exit.signal.map(|signal| 128 + signal)));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NO_EXIT))
}
