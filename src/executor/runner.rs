//! Starts commands below the supervisor, knows which of them are at work, and hands their ends on.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::{mpsc, oneshot};

use rules::domain::{AgentId, AskId, TaskId, TurnId};
use rules::engine::{ProcessRef, WorkKind, policy};
use supervisor::{ChildExit, Client, MountPlan, ProcessIdentity, Spawn, SupervisorCommand, SupervisorEvent};

use super::command::{CommandEnd, CommandJob, CommandOutputs, GivenUp};
use super::error::WorkError;

/// The work that a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CommandOwner {
    /// A worker's turn itself.
    Turn(TurnId),
    /// A call of a tool within a turn: it ends with that.
    Tool(TurnId),
    /// A command that judges a task or agrees to it.
    Task(TaskId),
    /// An agent that is asked about a task.
    Ask(AskId, AgentId),
    /// A look at work that was accepted: it ends with the session.
    Audit,
    /// Nobody's in a run, as a delivery: it ends within its own time-out.
    Nobody,
}

impl CommandOwner {
    /// The task that it works or judges for.
    pub fn task(self) -> Option<TaskId> {
        match self {
            Self::Turn(turn) | Self::Tool(turn) => Some(turn.task),
            Self::Task(task) => Some(task),
            Self::Ask(id, _) => Some(id.task),
            Self::Audit | Self::Nobody => None,
        }
    }

    /// How often a command that never came to be is started again here. Every other failed start is told, and
    /// begun anew by those who asked for it.
    fn start_retries(self) -> u32 {
        match self {
            Self::Task(_) | Self::Audit => policy(WorkKind::Command).start_retries,
            Self::Turn(_) | Self::Tool(_) | Self::Ask(..) | Self::Nobody => 0,
        }
    }

    /// The turn that it is.
    pub fn as_turn(self) -> Option<TurnId> {
        match self {
            Self::Turn(turn) => Some(turn),
            Self::Tool(_) | Self::Task(_) | Self::Ask(..) | Self::Audit | Self::Nobody => None,
        }
    }

    /// The turn that it is, or is a part of.
    pub fn turn(self) -> Option<TurnId> {
        match self {
            Self::Tool(turn) => Some(turn),
            _ => self.as_turn(),
        }
    }
}

/// The variable of the folder for temporary files.
const TEMPORARY: &str = "TMPDIR";

/// Hands the end of a command on to whoever waits for it. Blocks, but for a turn.
type Then = Box<dyn FnOnce(EndedCommand) + Send>;

/// The end of a command whose outputs are not looked at yet: whoever waits for it has more to look at. Nothing comes where the
/// command is not wanted any more.
pub type UnreadExit = oneshot::Receiver<EndedCommand>;

/// A command that is to be started.
pub struct CommandRequest {
    job: CommandJob,
    owner: CommandOwner,
    then: Option<Then>,
}

impl CommandRequest {
    /// One whose end somebody waits for.
    pub fn awaited(
        owner: CommandOwner,
        job: CommandJob,
    ) -> (Self, impl Future<Output = CommandEnd> + Send + use<>) {
        let (reply, end) = oneshot::channel();
        // Who no longer waits does not want to know.
        let then: Then =
            Box::new(move |ended: EndedCommand| drop(reply.send(ended.outputs.end(ended.result))));
        let nobody = |_| CommandEnd::not_started("there is nobody left to start it");
        let end = async move { end.await.unwrap_or_else(nobody) };
        let then = Some(then);
        (Self { job, owner, then }, end)
    }

    /// The command that is to be started.
    pub fn job(&self) -> &CommandJob {
        &self.job
    }

    /// Confines the command; `scratch` is its folder for temporary files, where it has one of its own.
    #[must_use]
    pub fn confined(mut self, mounts: MountPlan, scratch: Option<&Path>) -> Self {
        self.job.confinement = Some(mounts);
        if let Some(scratch) = scratch.and_then(Path::to_str) {
            self.job.variables.retain(|(name, _)| name != TEMPORARY);
            self.job.variables.push((TEMPORARY.to_owned(), scratch.to_owned()));
        }
        self
    }

    /// Keeps a value, which is dropped before anybody hears of the command's end.
    #[must_use]
    pub fn holding(mut self, held: impl Send + 'static) -> Self {
        self.then = self.then.map(|then| -> Then {
            Box::new(|ended| {
                drop(held);
                then(ended);
            })
        });
        self
    }

    /// Moves the command into a copy of a folder.
    #[must_use]
    pub fn in_copy(mut self, folder: &Path, copy: PathBuf) -> Self {
        if let Ok(inner) = self.job.cwd.strip_prefix(folder) {
            self.job.cwd = copy.components().chain(inner.components()).collect();
        }
        self.job.within = Some(copy.clone());
        self.job.copy = Some(copy);
        self
    }

    /// The work that the command belongs to.
    pub fn owner(&self) -> CommandOwner {
        self.owner
    }

    /// The end of a command that is not started, for this reason.
    pub fn refused(self, why: WorkError) -> EndedCommand {
        EndedCommand { owner: self.owner, result: Err(why), outputs: self.job.outputs, then: self.then }
    }
}

/// A command that has ended, or never began. What it left is not looked at yet.
pub struct EndedCommand {
    /// The work that the command belonged to.
    pub owner: CommandOwner,
    /// The exit as the supervisor tells it, or why the command never began.
    pub result: Result<ChildExit, WorkError>,
    /// The files that the command may have left.
    pub outputs: CommandOutputs,
    then: Option<Then>,
}

impl EndedCommand {
    /// Hands the end on to whoever asked for the command, who reads the outputs of turns and of those who were asked; those of others
    /// are read before, on a thread of their own.
    pub fn finish(mut self) {
        match self.then.take() {
            Some(then) if self.owner.as_turn().is_some() => then(self),
            Some(then) => drop(tokio::task::spawn_blocking(|| then(self))),
            None => {}
        }
    }
}

/// Whoever waits for the end of a command and reads its outputs, at both ends.
fn unread() -> (Then, UnreadExit) {
    let (reply, exit) = oneshot::channel();
    // Who no longer waits does not want to know.
    (Box::new(move |ended| drop(reply.send(ended))), exit)
}

struct Started {
    owner: CommandOwner,
    process: Option<ProcessRef>,
    outputs: CommandOutputs,
    then: Option<Then>,
    /// The start to repeat where the command never comes to be, and how often.
    again: Option<(Box<Spawn>, u32)>,
}

/// The commands that are at work below one supervisor.
#[derive(Default)]
pub struct Runner {
    started: HashMap<u64, Started>,
    last_key: u64,
}

impl Runner {
    /// Starts a command. One that can never be started has ended at once: that is its failure, not the supervisor's.
    ///
    /// # Errors
    /// When the supervisor is gone; then it is nobody's failure.
    pub fn start(
        &mut self,
        supervisor: &mut Client,
        request: CommandRequest,
    ) -> io::Result<Option<EndedCommand>> {
        self.last_key += 1;
        let key = self.last_key;
        let CommandRequest { job, owner, then } = request;
        let start_retries = owner.start_retries();
        let mut started = Started { owner, process: None, outputs: job.outputs.clone(), then, again: None };
        let spawn = job.spawn(key);
        if let Ok(spawn) = &spawn
            && start_retries > 0
        {
            started.again = Some((Box::new(spawn.clone()), start_retries));
        }
        self.started.insert(key, started);
        let sent = match spawn {
            Ok(spawn) => supervisor.send(&SupervisorCommand::Spawn(Box::new(spawn))),
            Err(why) => return Ok(self.ended(key, Err(why))),
        };
        match sent {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                Ok(self.ended(key, Err(error.into())))
            }
            other => other.map(|()| None),
        }
    }

    /// Takes over a turn that an earlier session had started.
    pub fn adopt(
        &mut self,
        key: u64,
        turn: TurnId,
        process: Option<ProcessRef>,
        outputs: CommandOutputs,
    ) -> UnreadExit {
        let (then, exit) = unread();
        self.is_taken_up_to(key);
        self.started.insert(
            key,
            Started { owner: CommandOwner::Turn(turn), process, outputs, then: Some(then), again: None },
        );
        exit
    }

    /// Names that the supervisor knows already are not given again.
    pub fn is_taken_up_to(&mut self, key: u64) {
        self.last_key = self.last_key.max(key);
    }

    /// Takes what the supervisor tells of a command. The one that has ended by it.
    pub fn take(&mut self, supervisor: &mut Client, event: SupervisorEvent) -> Option<EndedCommand> {
        match event {
            SupervisorEvent::Exited(exit) => self.ended(exit.key, Ok(exit)),
            SupervisorEvent::SpawnFailed { key, message, .. } => {
                self.not_started(supervisor, key, message.into())
            }
            SupervisorEvent::Spawned { key, pid, start_time } => {
                self.spawned(key, ProcessRef { pid, start_time });
                None
            }
            SupervisorEvent::Printed { .. }
            | SupervisorEvent::Warning { .. }
            | SupervisorEvent::Alive
            | SupervisorEvent::Confinement(_)
            | SupervisorEvent::Farewell => None,
        }
    }

    /// A command has its process. Whose it is.
    pub fn spawned(&mut self, key: u64, process: ProcessRef) -> Option<CommandOwner> {
        let started = self.started.get_mut(&key)?;
        started.process = Some(process);
        Some(started.owner)
    }

    /// Starts a command again under another name where it could not be started and that is wanted; else it has
    /// ended.
    pub fn not_started(&mut self, supervisor: &mut Client, key: u64, why: WorkError) -> Option<EndedCommand> {
        let mut started = self.started.remove(&key)?;
        let Some((mut spawn, left)) = started.again.take() else {
            self.started.insert(key, started);
            return self.ended(key, Err(why));
        };
        self.last_key += 1;
        spawn.key = self.last_key;
        let sent = supervisor.send(&SupervisorCommand::Spawn(spawn.clone()));
        started.again = (left > 1).then_some((spawn, left - 1));
        self.started.insert(self.last_key, started);
        match sent {
            Ok(()) => None,
            Err(_) => self.ended(self.last_key, Err(why)),
        }
    }

    /// A command has ended. `None` for one that nobody knows.
    pub fn ended(&mut self, key: u64, result: Result<ChildExit, WorkError>) -> Option<EndedCommand> {
        let Started { owner, outputs, then, .. } = self.started.remove(&key)?;
        Some(EndedCommand { owner, result, outputs, then })
    }

    /// The owners of the commands at work, in no order.
    pub fn at_work(&self) -> impl Iterator<Item = CommandOwner> {
        self.started.values().map(|started| started.owner)
    }

    /// The names of the commands at work of some owners.
    pub fn keys(&self, is_meant: impl Fn(CommandOwner) -> bool) -> Vec<(u64, CommandOwner)> {
        let meant = self.started.iter().filter(|(_, started)| is_meant(started.owner));
        meant.map(|(key, started)| (*key, started.owner)).collect()
    }

    /// The commands at work by their names, with their processes where these are known, and what is done with what they
    /// print.
    pub fn programs(
        &self,
    ) -> impl Iterator<Item = (u64, CommandOwner, Option<&ProcessRef>, &CommandOutputs)> {
        let started = self.started.iter();
        started.map(|(key, started)| (*key, started.owner, started.process.as_ref(), &started.outputs))
    }

    /// Whether the command of a name is at work.
    pub fn is_at_work(&self, key: u64) -> bool {
        self.started.contains_key(&key)
    }

    /// A command is ended before its time, because of what it said.
    pub fn give_up(&mut self, key: u64, why: GivenUp) {
        if let Some(started) = self.started.get_mut(&key) {
            started.outputs.given_up.get_or_insert(why);
        }
    }

    /// The process of a turn, and those of the tools that it uses now.
    pub fn processes_of(&self, turn: TurnId) -> Vec<ProcessIdentity> {
        let started = self.started.values();
        let parts = started.filter(|started| started.owner.turn() == Some(turn));
        parts.filter_map(|started| started.process.as_ref()).map(identity_of).collect()
    }

    /// The processes of turns.
    pub fn turn_processes(&self) -> impl Iterator<Item = (TurnId, ProcessRef)> {
        let started = self.started.values();
        started.filter_map(|started| Some((started.owner.as_turn()?, started.process.clone()?)))
    }
}

/// A process of this boot.
pub fn identity_of(process: &ProcessRef) -> ProcessIdentity {
    ProcessIdentity { pid: process.pid, start_time: process.start_time, boot_id: supervisor::this_boot() }
}

/// Where commands are handed in by whoever works beside the loop.
#[derive(Clone)]
pub struct Commands(mpsc::UnboundedSender<CommandRequest>);

impl Commands {
    /// With the end at which they are taken.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<CommandRequest>) {
        let (sender, requests) = mpsc::unbounded_channel();
        (Self(sender), requests)
    }

    /// Runs a command, whether or not anybody waits for its end.
    pub fn run(
        &self,
        owner: CommandOwner,
        job: CommandJob,
    ) -> impl Future<Output = CommandEnd> + Send + use<> {
        let (request, end) = CommandRequest::awaited(owner, job);
        self.start(request);
        end
    }

    /// Runs a command whose outputs whoever waits for it reads.
    pub fn unread(&self, owner: CommandOwner, job: CommandJob) -> UnreadExit {
        let (then, exit) = unread();
        let then = Some(then);
        self.start(CommandRequest { job, owner, then });
        exit
    }

    /// Hands in a command.
    pub fn start(&self, request: CommandRequest) {
        // Where nobody takes it, it is dropped, and with it who would have told its end.
        let _ = self.0.send(request);
    }
}
