//! `quorum worker`: takes commands of other machines from a queue, runs each below the supervisor of this process in a folder of its
//! own, and hands back what it has left.
//!
//! The server counts a worker as gone that it has not heard of for as long as the lease of the job says, and the command is then begun
//! elsewhere. So a command begins here only behind a heartbeat that the server has answered, and is ended before the lease is over
//! if none is answered any more. A worker that stood still meanwhile begins nothing of what it was handed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use temporalio_client::{ActivityIdentifier, NamespacedClient as _, RpcOptions};
use temporalio_common::error::ApplicationFailure;
use temporalio_common::protos::TaskToken;
use temporalio_sdk::activities::{ActivityContext, ActivityError, activities};
use temporalio_sdk::runtime::RuntimeOptions;
use temporalio_sdk::runtime::worker_tuner::{FixedSizeSlotSupplier, TunerHolder};
use temporalio_sdk::{Runtime, Worker, WorkerOptions};
use tokio::task::{JoinError, spawn_blocking};
use tokio::time::timeout;

use super::client::{CALLED_OFF, LONGEST_SESSION};
use super::form::{
    COMMAND, CarriedCommand, CarriedEnd, CarriedJob, CarriedPiece, CarriedPlaces, FORM, HostedCommand,
    MESSAGES, RESULT, SESSIONS, STDERR, STDOUT, queue_name,
};
use super::job_commands::JobCommands;
use super::lease::{Lease, NoEnd};
use super::server::{ServerError, connect};
use super::worker_folder::{JobFolder, WorkerFolder, clean, named_by_secrets};
use crate::agents::command_line::{ChildEnv, path_variable};
use crate::agents::secrets::{Secrets, own_variable, own_variables};
use crate::executor::command::{CommandJob, CommandOutputs, GRACE};
use crate::executor::error::WorkError;
use crate::executor::runner::{CommandOwner, EndedCommand, UnreadExit};
use crate::runtime::{
    isolation::{
        confinement::Confiner,
        worktrees::exchange::{CarriedFile, CheckedOut, CommitId, GitExchange},
    },
    session::signals::SessionSignals,
};
use crate::store::{HOSTED, OperatorKey, folder_of_user, host};
use rules::domain::{TaskId, TurnId};
use rules::mission::model::Sandbox;
use rules::plan::Confinement;
use supervisor::{Access, ChildExit, MountPlan};

/// How often it is tried to hand files back, and the pause between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);
/// The largest command that is read, and the most that a session may print, in bytes.
const LARGEST: u64 = 64 << 20;
/// How much of the end of a session's output travels with its result, in bytes; the server takes twice as much.
const LONGEST_OUTPUT: usize = 1 << 20;
/// How long the end of all commands may take once the worker is told twice to end, and that of a session that is called off.
const END_WITHIN: Duration = Duration::from_secs(8);

/// What a worker is started with.
pub struct WorkerSetup {
    pub queue: String,
    /// How many commands may be at work at once.
    pub slots: usize,
    /// The key of the team.
    pub key: OperatorKey,
    /// Where folders of jobs are made, and the repository that keeps what was fetched.
    pub folder: PathBuf,
    /// Why no command can be confined here; `None` where each can be.
    pub refused: Option<String>,
}

/// Why a worker cannot work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The folder for jobs cannot be used.
    #[error(transparent)]
    Folder(#[from] WorkError),
    /// The client of the server has ended for a reason of its own.
    #[error("{0}")]
    Client(String),
    #[error("the supervisor: {0}")]
    Supervisor(#[from] io::Error),
}

/// Takes commands from a queue until it is told to end: once, and what is at work comes to its end; twice, and it is ended. `tell`
/// hears what people should know.
///
/// # Errors
/// [`WorkerError`]
pub async fn serve(
    setup: WorkerSetup,
    supervisor: supervisor::Handle,
    tell: impl Fn(&str) + Send + Sync + 'static,
) -> Result<(), WorkerError> {
    let name = format!("{}:{}", host(), std::process::id());
    let mut signals = SessionSignals::listen()?;
    let client = connect(&name).await?;
    let folder = WorkerFolder::make(&setup.folder)?;
    let WorkerSetup { queue, slots, .. } = &setup;
    tell(&format!(
        "{name} serves the queue '{queue}' in the namespace '{}' with {slots} slot(s)",
        client.namespace()
    ));
    let (below, kept) = JobCommands::begin(supervisor, folder.own.0.clone())?;
    let options = WorkerOptions::new(queue_name(queue)).tuner(tuner(*slots)).max_cached_workflows(0);
    let place = Arc::new(Place {
        name,
        setup,
        folder,
        below,
        turns: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
        tell: Box::new(tell),
    });
    let options = options.register_activity::<CarriedActivity>(place.clone()).build();
    let failed = |why: &dyn std::fmt::Display| WorkerError::Client(why.to_string());
    let runtime = worker_runtime().map_err(|why| failed(&why))?;
    let mut worker = Worker::new(&runtime, client, options).map_err(|why| failed(&why))?;
    let drain = worker.shutdown_handle();
    let mut kept = std::pin::pin!(kept);
    {
        let mut at_work = std::pin::pin!(worker.run());
        loop {
            tokio::select! {
                biased;
                gone = &mut kept => return Err(gone.into()),
                ended = &mut at_work => {
                    ended.map_err(|why| failed(&why))?;
                    break;
                }
                request = signals.next() => {
                    drain();
                    if request.again && place.setup.queue == SESSIONS {
                        // They end with the supervisor, and other hosts go on with what works elsewhere for them.
                        break;
                    }
                    if request.again {
                        place.is_over.store(true, Ordering::Relaxed);
                        place.below.end_all();
                        // What has not ended by then ends with the supervisor.
                        let left = async { tokio::select! { gone = &mut kept => Err(gone), _ = &mut at_work => Ok(()) } };
                        if let Ok(Err(gone)) = timeout(END_WITHIN, left).await {
                            return Err(gone.into());
                        }
                        break;
                    }
                    (place.tell)("no more commands are taken; those at work come to their end (a second signal ends them)");
                }
            }
        }
    }
    Ok(())
}

/// What a worker of the server needs: the event loop of this thread.
pub fn worker_runtime() -> anyhow::Result<Runtime> {
    let options = RuntimeOptions::builder().heartbeat_interval(None).build();
    let options = options.map_err(anyhow::Error::msg)?;
    Ok(Runtime::from_current_tokio(options)?)
}

fn tuner(slots: usize) -> TunerHolder {
    let some = |count| FixedSizeSlotSupplier::new(count);
    TunerHolder::builder()
        .workflow_task_slot_supplier(some(1))
        .activity_task_slot_supplier(some(slots))
        .local_activity_task_slot_supplier(some(1))
        .nexus_task_slot_supplier(some(1))
        .build()
}

/// What a worker knows for all of its jobs.
pub struct Place {
    name: String,
    setup: WorkerSetup,
    folder: WorkerFolder,
    below: Arc<JobCommands>,
    /// How many jobs were begun.
    turns: AtomicU32,
    is_over: AtomicBool,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

/// What is begun at the server.
pub type CarriedActivity = place::Run;

#[activities]
impl Place {
    /// Runs a command of another machine. All that the server is told of it is told here, and its answers are waited for.
    #[activity(name = "quorum.command")]
    pub async fn run(
        self: Arc<Self>,
        ctx: ActivityContext,
        job: CarriedJob,
    ) -> Result<CarriedEnd, ActivityError> {
        let about = ctx.info();
        let handle = || {
            let token = TaskToken::from(about.task_token.clone());
            ctx.client().get_async_activity_handle(ActivityIdentifier::from_task_token(token))
        };
        let refused = job.refused((&self.setup.queue, &about.activity_id), &self.setup.key);
        let end = match (refused, about.heartbeat_timeout) {
            (Some(why), _) => Ok(self.never_started(why.to_owned())),
            (None, None) => Ok(self.never_started("the job has no lease".to_owned())),
            (None, Some(lease)) => self.job(Lease::of(handle(), lease), &job).await,
        };
        let (id, handle) = (&job.id, handle());
        let told = match end {
            Ok(end) => {
                let word = end.why.as_deref().unwrap_or("ended");
                (self.tell)(&format!("{id}: {word}"));
                handle.complete(Some(end), RpcOptions::default()).await
            }
            Err(NoEnd::CalledOff) => {
                (self.tell)(&format!("{id}: called off"));
                handle.report_cancelation(None::<()>, RpcOptions::default()).await
            }
            Err(NoEnd::Over) => {
                (self.tell)(&format!("{id}: ended with the worker"));
                let why = ApplicationFailure::new(io::Error::other("the worker was ended"));
                handle.fail(why, None::<()>, RpcOptions::default()).await
            }
            Err(NoEnd::Lost) => {
                (self.tell)(&format!("{id}: the server has not answered in time, so it was ended"));
                Ok(())
            }
        };
        if let Err(why) = told {
            (self.tell)(&format!("{id}: its end is not taken: {why}"));
        }
        Err(ActivityError::WillCompleteAsync)
    }
}

impl Place {
    /// The end of a command that never was a process.
    fn never_started(&self, why: String) -> CarriedEnd {
        CarriedEnd {
            form: FORM,
            worker: self.name.clone(),
            commit: None,
            exit: None,
            why: Some(why),
            printed: None,
        }
    }

    /// Does a job, from the first heartbeat to the commit that comes back.
    async fn job(self: &Arc<Self>, mut lease: Lease, job: &CarriedJob) -> Result<CarriedEnd, NoEnd> {
        lease.beat().await?;
        let number = self.turns.fetch_add(1, Ordering::Relaxed);
        let folder = JobFolder(self.folder.own.0.join(number.to_string()));
        let made = {
            let (place, job, folder) = (self.clone(), job.clone(), folder.0.clone());
            lease.during(spawn_blocking(move || place.prepare(&job, &folder))).await?
        };
        let Prepared { checked_out, command, secrets } = match flat(made) {
            Ok(made) => made,
            Err(why) => return Ok(self.never_started(why.to_string())),
        };
        lease.piece.worker = Some(self.name.clone());
        lease.beat().await?;
        if self.is_over.load(Ordering::Relaxed) {
            return Err(NoEnd::Over);
        }
        let turn = TurnId { task: TaskId(number), attempt: 1, turn: 1 };
        let ended = self.at_work(&mut lease, turn, (command, &secrets)).await?;
        let Some(checked_out) = checked_out else {
            return self.session_end(ended);
        };
        let left = {
            let (place, job, secrets) = (self.clone(), job.clone(), secrets.clone());
            let work = spawn_blocking(move || place.hand_back(&job, &checked_out, ended, &secrets));
            lease.during(work).await?
        };
        Ok(flat(left).unwrap_or_else(|why| self.never_started(secrets.redact(&why.to_string()))))
    }

    /// Makes the folders of a job, and the command in them. Blocks.
    fn prepare(&self, job: &CarriedJob, folder: &Path) -> Result<Prepared, WorkError> {
        fs::create_dir(folder).map_err(WorkError::file("make", folder))?;
        if self.setup.queue == SESSIONS {
            return session_of(job, folder);
        }
        let commit = CommitId::try_from(job.commit.clone())?;
        let checked_out = exchange(job)?.check_out(&commit, &self.setup.folder.join("cache"), folder)?;
        let (within, given) = (&checked_out.folder, &checked_out.files);
        let left = folder.join("left");
        let messages = left.join(MESSAGES);
        fs::create_dir_all(&messages).map_err(WorkError::file("make", &messages))?;
        let path = given.join(COMMAND);
        let text = supervisor::files::read_regular(&path, LARGEST).map_err(WorkError::file("read", &path))?;
        let carried: CarriedCommand = serde_json::from_slice(&text)?;
        let places = CarriedPlaces { folder: within, given, left: &left };
        let mut command = carried.at(places)?;
        if let Some((name, _)) = command.env.iter().find(|(_, text)| text.contains("${TEMPORAL_")) {
            return Err(format!("{name} names a variable of Temporal, which no command is told here").into());
        }
        // What is passed, or what everything inherits at home, is not set everywhere, and only here the values are known.
        let (written, passed) = command.env.split_at(carried.written.min(command.env.len()));
        let written = written.iter().map(|(name, text)| (name, text));
        let passed = passed.iter().map(|(name, _)| name.as_str());
        let env = ChildEnv::of_agent(written, passed, own_variable);
        let env = env.map_err(|why| format!("on {}: {why}", self.name))?;
        let secrets = Secrets::all([&env.secrets, &*command.outputs.secrets].into_iter());
        command.env = env.variables;
        command.outputs.secrets = Arc::new(secrets);
        let program = command.argv.first_mut().ok_or("there is no program")?;
        let found = supervisor::resolve(program, &path_variable(), &command.cwd);
        let found = found.map_err(|why| format!("on {}: {why}", self.name))?;
        *program = found.to_string_lossy().into_owned();
        command.confinement = self.confinement(carried.confinement, (job, places), folder, &command)?;
        Ok(Prepared { secrets: command.outputs.secrets.clone(), command, checked_out: Some(checked_out) })
    }

    /// The mounts of a command.
    fn confinement(
        &self,
        how: Confinement,
        (job, places): (&CarriedJob, CarriedPlaces<'_>),
        folder: &Path,
        command: &CommandJob,
    ) -> Result<Option<MountPlan>, WorkError> {
        if how.is_off() || command.is_free {
            return Ok(None);
        }
        match &self.setup.refused {
            Some(why) if how.sandbox() == Sandbox::Required => {
                return Err(format!("on {} nothing can be confined: {why}", self.name).into());
            }
            // No mounts; the supervisor may still be able to keep it from others' processes.
            Some(_) => return Ok(Some(MountPlan::default())),
            None => {}
        }
        // What is not there cannot be mounted.
        if let Some(result) = &command.outputs.result {
            let made = fs::OpenOptions::new().write(true).create_new(true).open(result);
            made.map_err(WorkError::file("make", result))?;
        }
        let own =
            [(places.folder, Access::Write), (places.given, Access::Read), (places.left, Access::Write)];
        let kept_away = kept_away(job);
        let mut mounts = Confiner::of_carried(how, &self.setup.folder, &own, &kept_away, command);
        mounts.instead.retain(|path, _| path.starts_with(folder));
        Ok(Some(mounts))
    }

    /// Runs the command, and tells meanwhile what it prints. It is ended where its lease is, or where it is called off.
    async fn at_work(
        &self,
        lease: &mut Lease,
        turn: TurnId,
        (command, secrets): (CommandJob, &Arc<Secrets>),
    ) -> Result<EndedCommand, NoEnd> {
        let mut exit: UnreadExit = self.below.commands.unread(CommandOwner::Turn(turn), command);
        let mut look = lease.looks();
        let mut no_end = None;
        loop {
            tokio::select! {
                biased;
                ended = &mut exit => {
                    return match (no_end, ended) {
                        (Some(why), _) => Err(why),
                        (None, _) if self.is_over.load(Ordering::Relaxed) => Err(NoEnd::Over),
                        (None, Ok(ended)) => Ok(ended),
                        // The supervisor is gone, and whatever it held.
                        (None, Err(_)) => Err(NoEnd::Over),
                    };
                }
                _ = look.tick(), if !matches!(no_end, Some(NoEnd::Lost)) => {
                    let (below, secrets) = (self.below.clone(), secrets.clone());
                    let printed = spawn_blocking(move || below.printed(turn, &secrets)).await;
                    if let Err(why) = lease.report(printed.ok().flatten()).await {
                        let grace = match why {
                            NoEnd::CalledOff if self.setup.queue == SESSIONS => END_WITHIN,
                            // It would call off what works elsewhere, with which the next host goes on.
                            _ if self.setup.queue == SESSIONS => Duration::ZERO,
                            NoEnd::Lost => lease.lease / 10,
                            NoEnd::CalledOff | NoEnd::Over => GRACE.as_duration(),
                        };
                        if no_end.is_none() || matches!(why, NoEnd::Lost) {
                            self.below.end(turn, grace);
                        }
                        no_end = Some(why);
                    }
                }
            }
        }
    }

    /// The end of a session. One that was ended from outside has none: another host goes on.
    fn session_end(&self, ended: EndedCommand) -> Result<CarriedEnd, NoEnd> {
        let exit = match ended.result {
            Ok(exit) if exit.signal.is_some() || exit.code == Some(CALLED_OFF.into()) => {
                return Err(NoEnd::Over);
            }
            Ok(exit) => exit,
            Err(why) => return Ok(self.never_started(why.to_string())),
        };
        let output = ended.outputs.stdout.unwrap_or_default();
        // Where it cannot be read, its exit code still says how it has ended.
        let bytes = fs::read(output).unwrap_or_default();
        let from = bytes.len().saturating_sub(LONGEST_OUTPUT);
        let printed = CarriedPiece {
            worker: Some(self.name.clone()),
            from: from as u64,
            bytes: STANDARD.encode(&bytes[from..]),
        };
        Ok(CarriedEnd {
            exit: Some(exit),
            printed: Some(printed),
            why: None,
            ..self.never_started(String::new())
        })
    }

    /// Takes the secrets out of what a command has left, and hands it back. Blocks.
    fn hand_back(
        &self,
        job: &CarriedJob,
        work: &CheckedOut,
        ended: EndedCommand,
        secrets: &Secrets,
    ) -> Result<CarriedEnd, WorkError> {
        let result = ended.result.map_err(|why| WorkError::from(format!("on {}: {why}", self.name)));
        let not_started = result.as_ref().err().map(ToString::to_string);
        let end = ended.outputs.end(result);
        if let Some(why) = not_started {
            return Ok(self.never_started(why));
        }
        let exit: ChildExit = end.exit;
        let left = work.folder.with_file_name("left");
        clean(&left.join(MESSAGES), secrets)?;
        let ended =
            |commit, why| CarriedEnd { commit, exit: Some(exit), why, ..self.never_started(String::new()) };
        if let Some(why) = named_by_secrets(&work.folder, secrets) {
            return Ok(ended(None, Some(why)));
        }
        let outputs = [STDOUT, STDERR, RESULT, MESSAGES];
        let outputs = outputs.map(|name| (name.into(), CarriedFile::At(left.join(name)))).into();
        let exchange = exchange(job)?;
        let mut tried = 1;
        loop {
            match exchange.hand_back(work, &outputs) {
                Ok(commit) => return Ok(ended(Some(commit.into()), None)),
                Err(why) if tried == TRIES => {
                    let why = secrets.redact(&why.to_string());
                    return Ok(ended(None, Some(format!("what it has left is lost: {why}"))));
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
            tried += 1;
        }
    }
}

/// A job whose folders are made.
struct Prepared {
    /// Where it works; `None` where it is a session.
    checked_out: Option<CheckedOut>,
    command: CommandJob,
    secrets: Arc<Secrets>,
}

/// The session that a job asks for, which is this program's, with a folder for what it prints.
fn session_of(job: &CarriedJob, folder: &Path) -> Result<Prepared, WorkError> {
    let asked: HostedCommand = serde_json::from_str(&job.commit)?;
    let program = supervisor::this_program()?.to_string_lossy().into_owned();
    let told =
        [(HOSTED.to_owned(), asked.run.to_string()), ("QUORUM_STATE_DIR".to_owned(), job.exchange.clone())];
    let stdout = Some(folder.join(STDOUT));
    Ok(Prepared {
        checked_out: None,
        secrets: Arc::default(),
        command: CommandJob {
            label: asked.run.to_string(),
            argv: [vec![program, "run".to_owned()], asked.words].concat(),
            // Of one name the first holds.
            variables: told.into_iter().chain(own_variables()).collect(),
            cwd: asked.folder,
            outputs: CommandOutputs {
                stderr: stdout.clone().filter(|_| asked.prints_progress),
                stdout,
                limit: LARGEST,
                ..CommandOutputs::default()
            },
            timeout: LONGEST_SESSION,
            is_free: true,
            ..CommandJob::default()
        },
    })
}

/// The exchange of a job.
fn exchange(job: &CarriedJob) -> Result<GitExchange, WorkError> {
    GitExchange::of(&job.exchange, Path::new("/"))
}

fn flat<T>(made: Result<Result<T, WorkError>, JoinError>) -> Result<T, WorkError> {
    made?
}

/// What a command sees nothing of: where Temporal keeps its own settings, with keys, and an exchange of this machine.
fn kept_away(job: &CarriedJob) -> Vec<PathBuf> {
    let named = ["TEMPORAL_CONFIG_FILE", "TEMPORAL_TLS_CLIENT_KEY_PATH"].map(std::env::var_os);
    let config = folder_of_user("XDG_CONFIG_HOME", ".config").map(|folder| folder.join("temporalio"));
    named
        .into_iter()
        .flatten()
        .map(PathBuf::from)
        .chain(config)
        .chain([PathBuf::from(&job.exchange)])
        .collect()
}
