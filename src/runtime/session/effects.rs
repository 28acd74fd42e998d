//! Performing effects: the only place that turns the engine's wishes into processes, requests and file reads.
//!
//! Every effect ends in one [`Fact`] or none. What ends on its own comes back over the supervisor or the channel.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::agents::cassette::CallKey;
use crate::agents::endpoint::Endpoint;
use crate::agents::transport::{CassetteCursor, Network, Transport};
use crate::executor::command::GRACE;
use crate::executor::error::WorkError;
use crate::executor::program_watch::{ProgramWatch, WatchedPrograms};
use crate::executor::runner::{CommandOwner, CommandRequest, Commands, Runner};
use crate::executor::spool;
use crate::store::{RunFolder, SpoolName};
use crate::test_clock::scaled;
use rules::domain::{AgentId, Digest, FailureClass, TaskId, Timestamp, TurnId};
use rules::engine::{
    Effect, Fact, Looks, ProcessRef, Prompt, State, SupervisorRef, TurnEnd, TurnUpdate, WorkId, may_be_made,
};
use rules::mission::Plan;
use supervisor::SupervisorCommand;

use super::error::RunError;
use super::stall_detector::StallDetector;
use crate::runtime::isolation::confinement::Confiner;
use crate::runtime::isolation::guard::{Begun, Guard};
use crate::runtime::isolation::protection::{Protection, SeenFiles};
use crate::runtime::isolation::watch::{Frozen, TurnBaseline, frozen};
use crate::runtime::isolation::worktrees::Worktrees;
use crate::runtime::recovery::adopt::{Adopted, Left};
use crate::runtime::work::agent_backends::{AgentBackends, AgentsWithoutTools};
use crate::runtime::work::agent_messages::TurnProgress;
use crate::runtime::work::message_folders::MessageFolders;
use crate::runtime::work::middleware;
use crate::runtime::work::seen_on::SeenOn;
use crate::runtime::work::upstream::{Remembered, UpstreamOutputs};
use crate::runtime::work::worker_prompt;

/// How many signs of life may be missing.
const SIGNS_MISSED: u32 = 5;
/// How long a supervisor that gave no sign of life, once it is woken, may take to end what it holds.
const LAST_CHANCE: Duration = Duration::from_secs(2);

/// A message to the loop over its channel.
pub enum Message {
    /// A fact that happened.
    Fact(Fact),
    /// An effect whose moment has come.
    Due(Effect),
    /// A command that had to be prepared can be started.
    Ready(Box<Ready>),
    /// A command whose folder had to be made can be started.
    Begin(Arc<Plan>, Box<CommandRequest>),
    /// A turn of a model that works with tools ended.
    Worked(Box<TurnEnd>),
    /// Protected files were looked at before a part of judging.
    Looked(Box<(Effect, Result<SeenFiles, Vec<String>>)>),
    /// An input, with what was looked at before it was handed on.
    FilesLooked(Vec<Fact>),
    /// The outputs that the prompt of a turn quotes were read.
    UpstreamRead {
        turn: TurnId,
        /// The outputs, by turn.
        said: UpstreamOutputs,
    },
    /// The executor cannot do its own part, in which nobody who works or judges has a share.
    Broken(WorkError),
    /// Programs at work were looked at.
    ProgramsSeen(WatchedPrograms),
    /// An audit has looked at the files.
    AuditLooked {
        /// The number of the audit.
        number: u32,
        /// The files as the audit saw them.
        looks: Looks,
    },
}

/// The command of an effect that can be started, or what comes of it that it cannot.
pub struct Ready {
    /// The effect that the command is for.
    pub effect: Effect,
    pub command: Result<CommandRequest, Box<Fact>>,
}

/// Where messages for the loop are handed in.
pub type Sender = mpsc::UnboundedSender<Message>;

/// Everything outside of the loop.
pub struct Executor {
    pub folder: RunFolder,
    pub programs: AgentBackends,
    pub sender: Sender,
    /// The commands at work.
    pub runner: Runner,
    /// The processes of running turns.
    pub processes: BTreeMap<TurnId, ProcessRef>,
    pub model_turns: HashMap<TurnId, AbortHandle>,
    /// Agents that are not offered tools any more.
    pub without_tools: AgentsWithoutTools,
    /// The files that must not change while the session lives.
    pub protection: Arc<Protection>,
    /// The rules for what the session's processes may see and change.
    pub confiner: Confiner,
    /// The folders of isolated tasks, and what was accepted of their work.
    pub worktrees: Worktrees,
    /// The results of checks on commits that nobody has worked on.
    pub seen_on: Arc<std::sync::Mutex<SeenOn>>,
    /// The guards of the parts of judging that are at work.
    pub guards: HashMap<WorkId, Guard>,
    /// How many parts of judging were ever begun.
    pub judgings: u64,
    pub begun: Begun,
    /// The state of files before each turn in flight.
    pub before: HashMap<TurnId, TurnBaseline>,
    /// The tasks of turns that have ended and whose files are still looked at: alive as long as they are.
    pub looked_at: Vec<Weak<TaskId>>,
    /// The frozen missions of the run.
    pub frozen: Vec<Frozen>,
    pub progress: TurnProgress,
    /// Turns at work whose agents may fall silent.
    pub stalls: StallDetector,
    pub programs_at_work: ProgramWatch,
    background: Vec<AbortHandle>,
    /// The deliveries of notifications that are under way.
    pub deliveries: Vec<AbortHandle>,
    /// Where commands are handed in by what works beside the loop, which takes them.
    pub commands: Commands,
    /// The plan by which the last command or turn was started.
    pub newest_plan: Option<Arc<Plan>>,
    /// Folders for messages that no turn uses.
    pub messages: MessageFolders,
    /// The outputs that were read for prompts.
    pub upstream: Remembered,
    /// The work on letters that are due to be tried again.
    pub draining: Option<tokio::task::JoinHandle<()>>,
    /// Failed operations that go to the dead-letter queue with the effects of this turn of the loop.
    letters_due: Vec<String>,
    http: HashMap<AgentId, reqwest::Client>,
    pub supervisor: supervisor::Client,
    /// Signs of life that the supervisor was asked for since it said anything.
    unanswered: u32,
    pub stopping: bool,
}

impl Executor {
    pub fn new(
        folder: RunFolder,
        supervisor: supervisor::Client,
        programs: AgentBackends,
        sender: Sender,
        commands: Commands,
    ) -> Self {
        Self {
            frozen: frozen(&folder),
            protection: Arc::new(Protection::none()),
            confiner: Confiner::default(),
            worktrees: Worktrees::at_rest(&folder),
            seen_on: Arc::default(),
            guards: HashMap::new(),
            judgings: 0,
            begun: Begun::default(),
            before: HashMap::new(),
            looked_at: Vec::new(),
            folder,
            programs,
            sender,
            runner: Runner::default(),
            processes: BTreeMap::new(),
            model_turns: HashMap::new(),
            without_tools: AgentsWithoutTools::default(),
            progress: TurnProgress::default(),
            stalls: StallDetector::default(),
            programs_at_work: ProgramWatch::default(),
            background: Vec::new(),
            deliveries: Vec::new(),
            commands,
            newest_plan: None,
            messages: MessageFolders::default(),
            upstream: Remembered::default(),
            draining: None,
            letters_due: Vec::new(),
            http: HashMap::new(),
            supervisor,
            unanswered: 0,
            stopping: false,
        }
    }

    /// Tells the supervisor where exits are recorded.
    pub fn open(&mut self) -> Result<(), RunError> {
        self.send(&SupervisorCommand::Open {
            exits_log: self.folder.exits(),
            socket: self.folder.supervisor_socket(),
        })
    }

    /// The supervisor's next event. Cancel safe.
    pub async fn supervisor_event(&mut self) -> io::Result<supervisor::SupervisorEvent> {
        let event = self.supervisor.recv().await?;
        self.unanswered = 0;
        Ok(event)
    }

    /// Whether the supervisor has anything to do for this session.
    pub fn something_runs(&self) -> bool {
        self.runner.at_work().next().is_some()
    }

    /// Asks the supervisor for a sign of life. Called once in a while.
    ///
    /// # Errors
    /// [`RunError::Silent`] if too many of them are missing.
    pub fn ask_for_sign(&mut self) -> Result<(), RunError> {
        // Counted and not timed: while this process itself stood still nobody could have heard an answer.
        if self.unanswered >= SIGNS_MISSED {
            return Err(RunError::Silent);
        }
        self.unanswered += 1;
        self.send(&SupervisorCommand::Ping)
    }

    /// Whether the supervisor lives. A moment after its death this is known before the connection to it tells.
    pub fn is_supervised(&self) -> bool {
        let identity = self.supervisor.identity();
        // Where the system does not tell, the connection does.
        identity.start_time == 0 || supervisor::alive(identity)
    }

    /// Composes and writes the prompt of a turn of what it quotes. Not synced: after a power loss the turn is lost with it and starts with a new one.
    pub fn write_prompt(
        &mut self,
        state: &State,
        turn: TurnId,
        said: &UpstreamOutputs,
    ) -> Result<Prompt, RunError> {
        if !state.gets_prompt(turn.task) {
            return Ok(Prompt {
                turn,
                digest: None,
                cues: 0,
            });
        }
        let mut warnings = Vec::new();
        let prompt = worker_prompt::compose(state, turn.task, said, &mut warnings);
        for warning in warnings {
            self.post(Fact::Warn(warning));
        }
        let (prompt, cues) = middleware::before(&state.plan, turn.task, prompt);
        let path = self.folder.spool_file(&SpoolName::Prompt(turn));
        spool::write(&path, prompt.as_bytes())?;
        Ok(Prompt {
            turn,
            digest: Some(Digest::of(prompt.as_bytes())),
            cues,
        })
    }

    /// Writes the prompts that are due, and takes them out of what is due: each is a fact at once, so that its turn starts with
    /// the same commit, but for those that quote so much that it is read beside the loop. Harmless to repeat.
    pub fn write_prompts(&mut self, state: &State, due: &mut Vec<Effect>) -> Result<Vec<Prompt>, RunError> {
        let is_prompt = |effect: &mut Effect| matches!(effect, Effect::PreparePrompt(_));
        let mut written = Vec::new();
        for effect in due.extract_if(.., is_prompt).collect::<Vec<_>>() {
            if let Effect::PreparePrompt(turn) = effect
                && let Some(said) = self.read_for_prompt(state, turn)
            {
                written.push(self.write_prompt(state, turn, &said)?);
            }
        }
        Ok(written)
    }

    /// Performs an effect whose record is durable.
    pub fn perform(&mut self, state: &State, effect: Effect) -> Result<(), RunError> {
        match effect {
            Effect::StopAll => return self.stop_all(),
            Effect::Deliver {
                number,
                tried,
                not_before,
            } => {
                self.deliver(state, number, tried, not_before);
                return Ok(());
            }
            Effect::File { letter } => {
                self.letters_due.push(letter);
                return Ok(());
            }
            _ => {}
        }
        // An effect may be overtaken: by a stop, or by the end of the task it was for.
        if self.stopping || !may_be_made(state, &effect) {
            return Ok(());
        }
        match self.guard(state, effect) {
            Some(effect) => self.perform_guarded(state, effect),
            None => Ok(()),
        }
    }

    /// Performs an effect that is wanted, while protected files are as they must be.
    pub fn perform_guarded(&mut self, state: &State, mut effect: Effect) -> Result<(), RunError> {
        if self.stopping || !may_be_made(state, &effect) {
            return Ok(());
        }
        if let Some(at) = not_before(&mut effect) {
            self.later(at, effect);
            return Ok(());
        }
        match effect {
            effect @ Effect::Ask { .. } => self.ask(state, effect),
            Effect::RunTurn { turn, .. } => return self.run_turn(state, turn),
            Effect::NoteFiles { turn, starts, shared } => self.snapshot_files(state, turn, starts, shared),
            Effect::Audit { number } => self.audit(state, number),
            Effect::DeliverWork { merge } => {
                let (worktrees, plan) = (self.worktrees.clone(), state.plan.clone());
                self.aside(move || Message::Fact(Fact::WorkDelivered(worktrees.deliver(&plan, merge))));
            }
            Effect::Job { turn, job } => return self.run_job(state, turn, job),
            Effect::KillTurn { turn, idle } => return self.kill_turn(state, turn, idle),
            Effect::StopTask(task) => return self.stop_task(task),
            Effect::PreparePrompt(_) | Effect::StopAll | Effect::Deliver { .. } | Effect::File { .. } => {}
        }
        Ok(())
    }

    /// After the effects of a turn of the loop: what can be done for all of them at once.
    pub fn performed(&mut self, state: &State) {
        if !self.letters_due.is_empty() {
            let due = std::mem::take(&mut self.letters_due);
            self.file(state, due);
        }
    }

    /// Starts a command that had to be prepared, if it is still wanted.
    pub fn start_ready(&mut self, state: &State, ready: Ready) -> Result<(), RunError> {
        let Ready { effect, command } = ready;
        if self.stopping || !may_be_made(state, &effect) {
            return Ok(());
        }
        match command {
            Ok(request) => self.start(&state.plan, request),
            Err(input) => {
                self.post(*input);
                Ok(())
            }
        }
    }

    /// Hands an input to the loop.
    pub fn post(&self, input: Fact) {
        // The loop holds the receiver as long as it lives; after it this is of no use.
        let _ = self.sender.send(Message::Fact(input));
    }

    /// Does something on a thread that may wait for the disk, and hands what comes of it to the loop.
    pub fn aside(&self, work: impl FnOnce() -> Message + Send + 'static) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            // After the loop has ended nothing is taken.
            let _ = sender.send(work());
        });
    }

    /// Does something beside the loop until a stop ends it, and hands what comes of it to the loop.
    pub fn beside(&mut self, work: impl Future<Output = Result<Message, WorkError>> + Send + 'static) {
        let sender = self.sender.clone();
        let work = tokio::spawn(async move {
            // The loop holds the receiver as long as it lives.
            let _ = sender.send(work.await.unwrap_or_else(Message::Broken));
        });
        self.background.retain(|work| !work.is_finished());
        self.background.push(work.abort_handle());
    }

    /// Runs blocking work on the pool; its input reaches the loop.
    pub fn blocking(&mut self, work: impl FnOnce() -> Vec<Fact> + Send + 'static) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            for input in work() {
                let _ = sender.send(Message::Fact(input));
            }
        });
    }

    /// The line to an agent for one call.
    pub fn line(
        &mut self,
        agent: AgentId,
        endpoint: &Endpoint,
        call: CallKey,
    ) -> Result<Transport, WorkError> {
        match self.programs.network.clone() {
            Network::Open => self.http(agent, endpoint).map(Transport::Direct),
            Network::Recording(cassette) => self
                .http(agent, endpoint)
                .map(|client| Transport::Recording(client, CassetteCursor::new(cassette, call))),
            Network::Offline(Some(cassette)) => Ok(Transport::Recorded(CassetteCursor::new(cassette, call))),
            Network::Offline(None) => Err("it needs the network, and the run is offline".into()),
        }
    }

    /// The HTTP client of an agent, made when it is first needed.
    fn http(&mut self, agent: AgentId, endpoint: &Endpoint) -> Result<reqwest::Client, WorkError> {
        if let Some(client) = self.http.get(&agent) {
            return Ok(client.clone());
        }
        let client = endpoint
            .client()
            .map_err(|error| format!("cannot make an HTTP client: {error}"))?;
        self.http.insert(agent, client.clone());
        Ok(client)
    }

    /// SIGKILL for everything that still runs.
    pub fn kill_all(&mut self) {
        // If the supervisor is gone, so are its children.
        let _ = self.supervisor.send(&SupervisorCommand::KillAll);
    }

    /// Takes over what outlived an earlier session.
    pub fn adopt(&mut self, state: &State, adopted: Adopted, inputs: &mut Vec<Fact>) {
        let plan = &state.plan;
        self.runner.is_taken_up_to(adopted.next_key.saturating_sub(1));
        for (key, running) in adopted.running {
            let turn = running.turn;
            self.remember_kept(state, turn);
            let outputs = self.task_commands(plan, turn.task, turn.attempt).turn_outputs(turn);
            self.runner.adopt(key, turn, running.process.clone(), outputs);
            self.processes.insert(turn, running.process.clone());
            if !running.known {
                let process = Some(running.process);
                inputs.push(Fact::TurnProgress(turn, TurnUpdate::Spawned { process }));
            }
        }
        for (turn, exit) in adopted.ended {
            self.remember_kept(state, turn);
            self.turn_ended_meanwhile(turn, plan, exit);
        }
    }

    /// Ends the supervisor and with it every child.
    ///
    /// # Errors
    /// When it did not end in order; whatever could be found of what it held is gone all the same.
    pub async fn close(&mut self) -> io::Result<()> {
        for task in self.background.iter().chain(&self.deliveries) {
            task.abort();
        }
        // It has nothing to tell any more that the run would wait for.
        let ended = self.supervisor.shutdown().await.map(drop);
        if ended.is_err() {
            self.end_what_is_left();
        }
        ended
    }

    /// The supervisor is gone, or as good as gone: ends it and what it held, so that nothing works on unseen. Blocks.
    pub fn end_what_is_left(&mut self) {
        for task in &self.background {
            task.abort();
        }
        // The session ends with an error already, and the next one looks again.
        let _ = self.left().end_within(LAST_CHANCE);
        self.processes.clear();
    }

    /// The processes that a crash of the session would leave at work now.
    pub fn left(&self) -> Left {
        let supervisor = self.supervisor.identity();
        Left {
            supervisor: SupervisorRef {
                pid: supervisor.pid,
                start_time: supervisor.start_time,
                boot_id: supervisor.boot_id.clone(),
                farewell: None,
            },
            processes: self.processes.clone(),
        }
    }

    pub fn later(&mut self, at: Timestamp, effect: Effect) {
        let pause = scaled(at.since(Timestamp::now()).as_duration());
        self.beside(async move {
            tokio::time::sleep(pause).await;
            Ok(Message::Due(effect))
        });
    }

    /// Running turns are ended and count as lost; checks and reviews are dropped, they are simply done again.
    fn stop_all(&mut self) -> Result<(), RunError> {
        self.stopping = true;
        for task in self.background.drain(..) {
            task.abort();
        }
        let turns = std::mem::take(&mut self.model_turns);
        for (turn, task) in turns {
            task.abort();
            self.post(Fact::TurnEnded(Box::new(TurnEnd::interrupted(turn))));
        }
        // A delivery is not the run's work: it ends within its own time-out.
        for (key, owner) in self.runner.keys(|owner| owner != CommandOwner::Nobody) {
            let grace_ms = if matches!(owner, CommandOwner::Turn(_)) {
                GRACE.0
            } else {
                0
            };
            self.send(&SupervisorCommand::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    /// Ends what runs for one task. What comes back of it is too late by then, and means nothing.
    fn stop_task(&mut self, task: TaskId) -> Result<(), RunError> {
        self.model_turns.retain(|turn, request| {
            if turn.task == task {
                request.abort();
            }
            turn.task != task
        });
        self.terminate(|owner| owner.task() == Some(task))
    }

    /// Ends the commands of some owners.
    pub fn terminate(&mut self, is_meant: impl Fn(CommandOwner) -> bool) -> Result<(), RunError> {
        for (key, _) in self.runner.keys(is_meant) {
            let grace_ms = GRACE.0;
            self.send(&SupervisorCommand::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    pub fn send(&mut self, command: &SupervisorCommand) -> Result<(), RunError> {
        self.supervisor.send(command).map_err(RunError::Supervisor)
    }

    /// A child of this run as the system knows it.
    pub fn identity_of(&self, process: &ProcessRef) -> supervisor::ProcessIdentity {
        supervisor::ProcessIdentity {
            pid: process.pid,
            start_time: process.start_time,
            boot_id: self.supervisor.identity().boot_id.clone(),
        }
    }
}

/// Takes from an effect the moment before which it is not to be performed.
fn not_before(effect: &mut Effect) -> Option<Timestamp> {
    match effect {
        Effect::RunTurn { not_before, .. } | Effect::Ask { not_before, .. } => not_before.take(),
        _ => None,
    }
}

/// Randomness for a back-off, 0 to 1000: calls that failed in the same moment must not come back in the same moment.
pub fn jitter() -> u16 {
    fastrand::u16(0..=1000)
}

/// An environment problem in the middle of a run: nothing was started.
pub fn not_reachable(turn: TurnId, why: impl Into<String>) -> Fact {
    refused(turn, FailureClass::Unknown, why)
}

/// The fact that a turn cannot be begun, by class.
pub fn refused(turn: TurnId, class: FailureClass, why: impl Into<String>) -> Fact {
    Fact::TurnRequestFailed {
        turn,
        class,
        before_effect: false,
        message: why.into(),
        retry_after: None,
        jitter: 0,
    }
}
