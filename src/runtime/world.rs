//! Performing effects: the only place that turns the engine's wishes into processes, requests and file reads.
//!
//! Every effect ends in one [`Input`] or none. What ends on its own comes back over the supervisor or the channel.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::agents::cassette::Call;
use crate::agents::endpoint::Endpoint;
use crate::agents::failure::Moment;
use crate::agents::line::{Line, Network, Tape};
use crate::domain::{AgentId, ConsultId, Digest, FailureClass, Purpose, Status, TaskId, Timestamp, TurnId};
use crate::engine::{
    Effect, Input, JudgingPlace, Looks, ProcessRef, SeatId, State, SupervisorRef, TurnEnd, gets_prompt,
    may_be_made,
};
use crate::mission::Plan;
use crate::review::judgement::Judgement;
use crate::store::{self, RunFolder, SpoolName};
use crate::supervisor::{self, Command, Spawn};
use crate::test_clock::scaled;

use super::adopt::{Adopted, Left};
use super::approver::Question;
use super::consult::PreparedConsult;
use super::errands::{Errand, ErrandOwner, Errands, Waiting};
use super::grading::{Gathering, Round};
use super::guard::{Begun, Guard};
use super::looking::Toolless;
use super::message_folders::MessageFolders;
use super::middleware;
use super::protection::{Protection, Seen};
use super::reach::Programs;
use super::scrutiny::{PreparedStep, StepRun};
use super::seat::Prepared;
use super::session::RunError;
use super::silence::Silences;
use super::upstream::{Remembered, Said};
use super::voice::Progress;
use super::watch::{Before, Frozen, frozen};
use super::worker_prompt;

/// Milliseconds between SIGTERM and SIGKILL (semantics, section 5).
pub(super) const GRACE_MS: u64 = 3_000;
pub(super) const GRACE: Duration = Duration::from_millis(GRACE_MS);

/// How many signs of life may be missing.
const SIGNS_MISSED: u32 = 5;
/// How long a supervisor that gave no sign of life, once it is woken, may take to end what it holds.
const LAST_CHANCE: Duration = Duration::from_secs(2);

/// What reaches the loop over its channel.
pub(super) enum Message {
    /// Something that happened.
    Input(Input),
    /// An effect whose moment has come.
    Due(Effect),
    /// A command judge can be started.
    Prepared(Box<Prepared>),
    /// A turn of a model that works with tools ended.
    Worked(Box<TurnEnd>),
    /// Protected files were looked at before a part of judging.
    Looked(Box<(Effect, Result<Seen, Vec<String>>)>),
    /// The command of a stage can be started.
    StepPrepared(Box<PreparedStep>),
    /// A consulted command can be started.
    ConsultPrepared(Box<PreparedConsult>),
    /// An input, with what was looked at before it was handed on.
    FilesLooked(Vec<Input>),
    /// What the prompt of a turn quotes was read.
    UpstreamRead {
        /// The turn.
        turn: TurnId,
        /// What was read.
        said: Said,
    },
    /// An audit has looked at the files.
    AuditLooked {
        /// Which audit.
        number: u32,
        /// What it saw.
        looks: Looks,
    },
}

/// A child of the supervisor, by what it does for us.
#[derive(Debug, Clone, Copy)]
pub(super) enum Child {
    Turn(TurnId),
    Check {
        task: TaskId,
        attempt: u32,
        check: u32,
    },
    Finish {
        turn: TurnId,
        command: u32,
    },
    Seat {
        task: TaskId,
        seat: SeatId,
    },
    Probe {
        round: Round,
        command: u32,
    },
    Step(StepRun),
    Approver(Question),
    Consult {
        id: ConsultId,
        purpose: Purpose,
    },
    /// Somebody waits for it, who is found by its key.
    Errand(ErrandOwner),
}

/// Everything outside of the loop.
pub(super) struct World {
    pub(super) folder: RunFolder,
    pub(super) programs: Programs,
    pub(super) sender: mpsc::UnboundedSender<Message>,
    pub(super) children: HashMap<u64, (Child, Arc<Plan>)>,
    /// The processes of running turns.
    pub(super) processes: BTreeMap<TurnId, ProcessRef>,
    pub(super) model_turns: HashMap<TurnId, AbortHandle>,
    /// What command judges that are at work were asked.
    pub(super) judgements: HashMap<(TaskId, SeatId), Judgement>,
    /// The same of consulted commands.
    pub(super) consulted: HashMap<ConsultId, Judgement>,
    pub(super) gatherings: Vec<Gathering>,
    /// Agents that are not offered tools any more.
    pub(super) toolless: Toolless,
    /// What must not change while the session lives.
    pub(super) protection: Arc<Protection>,
    /// What parts of judging at work are held against.
    pub(super) guards: HashMap<JudgingPlace, Guard>,
    /// How many parts of judging were ever begun.
    pub(super) judgings: u64,
    pub(super) begun: Begun,
    /// What turns in flight are held against.
    pub(super) before: HashMap<TurnId, Before>,
    /// The frozen missions of the run.
    pub(super) frozen: Vec<Frozen>,
    pub(super) progress: Progress,
    /// Turns at work whose agents may fall silent.
    pub(super) silences: Silences,
    background: Vec<AbortHandle>,
    /// Deliveries of notifications.
    pub(super) deliveries: Vec<AbortHandle>,
    /// Who waits for a command of a channel, by its key.
    pub(super) waiting_for: HashMap<u64, Waiting>,
    /// Where commands of channels are handed in; the loop takes them.
    pub(super) errands: Errands,
    /// The plan by which the last turn was started.
    pub(super) newest_plan: Option<Arc<Plan>>,
    /// Folders for messages that no turn uses.
    pub(super) messages: MessageFolders,
    /// What was read of outputs that prompts quote.
    pub(super) upstream: Remembered,
    /// The work on letters that are due to be tried again.
    pub(super) draining: Option<tokio::task::JoinHandle<()>>,
    /// Failed operations that go to the dead-letter queue with the effects of this turn of the loop.
    letters_due: Vec<String>,
    http: HashMap<AgentId, reqwest::Client>,
    supervisor: supervisor::Client,
    next_key: u64,
    /// Signs of life that the supervisor was asked for since it said anything.
    unanswered: u32,
    stopping: bool,
}

impl World {
    pub fn new(
        folder: RunFolder,
        supervisor: supervisor::Client,
        programs: Programs,
        sender: mpsc::UnboundedSender<Message>,
        errands: Errands,
    ) -> Self {
        Self {
            frozen: frozen(&folder),
            protection: Arc::new(Protection::none()),
            guards: HashMap::new(),
            judgings: 0,
            begun: Begun::default(),
            before: HashMap::new(),
            folder,
            programs,
            sender,
            children: HashMap::new(),
            processes: BTreeMap::new(),
            model_turns: HashMap::new(),
            judgements: HashMap::new(),
            consulted: HashMap::new(),
            gatherings: Vec::new(),
            toolless: Toolless::default(),
            progress: Progress::default(),
            silences: Silences::default(),
            background: Vec::new(),
            deliveries: Vec::new(),
            waiting_for: HashMap::new(),
            errands,
            newest_plan: None,
            messages: MessageFolders::default(),
            upstream: Remembered::default(),
            draining: None,
            letters_due: Vec::new(),
            http: HashMap::new(),
            supervisor,
            next_key: 1,
            unanswered: 0,
            stopping: false,
        }
    }

    /// Tells the supervisor where exits are recorded.
    pub fn open(&mut self) -> Result<(), RunError> {
        self.send(&Command::Open {
            exits_log: self.folder.exits(),
            socket: self.folder.supervisor_socket(),
        })
    }

    /// The supervisor's next event. Cancel safe.
    pub async fn supervisor_event(&mut self) -> io::Result<supervisor::Event> {
        let event = self.supervisor.recv().await?;
        self.unanswered = 0;
        Ok(event)
    }

    /// Whether the supervisor has anything to do for this session.
    pub fn something_runs(&self) -> bool {
        !self.children.is_empty()
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
        self.send(&Command::Ping)
    }

    /// Whether the supervisor lives. A moment after its death this is known before the connection to it tells.
    pub fn is_supervised(&self) -> bool {
        let identity = self.supervisor.identity();
        // Where the system does not tell, the connection does.
        identity.start_time == 0 || supervisor::alive(identity)
    }

    /// Composes and writes the prompt of a turn of what it quotes. Not synced: after a power loss the turn is lost with it and starts with a new one.
    pub fn write_prompt(&mut self, state: &State, turn: TurnId, said: &Said) -> Result<Input, RunError> {
        if !gets_prompt(state, turn.task) {
            return Ok(Input::PromptReady {
                turn,
                digest: None,
                cues: 0,
            });
        }
        let mut warnings = Vec::new();
        let prompt = worker_prompt::compose(state, turn.task, said, &mut warnings);
        for warning in warnings {
            self.post(Input::Warn(warning));
        }
        let (prompt, cues) = middleware::before(&state.plan, turn.task, prompt);
        let path = self.folder.spool_file(&SpoolName::Prompt(turn));
        write_file(&path, prompt.as_bytes())?;
        Ok(Input::PromptReady {
            turn,
            digest: Some(Digest::of(prompt.as_bytes())),
            cues,
        })
    }

    /// Performs an effect whose record is durable.
    pub fn perform(&mut self, state: &State, effect: Effect) -> Result<(), RunError> {
        if let Effect::StopAll = effect {
            return self.stop_all();
        }
        match effect {
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
        if self.stopping || !is_wanted(state, &effect) || !may_be_made(state, &effect) {
            return Ok(());
        }
        match self.guard(state, effect) {
            Some(effect) => self.perform_guarded(state, effect),
            None => Ok(()),
        }
    }

    /// The same of an effect that is wanted, with protected files as they must be.
    pub(super) fn perform_guarded(&mut self, state: &State, effect: Effect) -> Result<(), RunError> {
        if self.stopping || !is_wanted(state, &effect) || !may_be_made(state, &effect) {
            return Ok(());
        }
        match effect {
            Effect::RunTurn {
                not_before: Some(at),
                turn,
            } => {
                self.later(
                    at,
                    Effect::RunTurn {
                        not_before: None,
                        turn,
                    },
                );
            }
            Effect::CallSeat {
                not_before: Some(at),
                task,
                seat,
                agent,
                strict,
            } => {
                self.later(
                    at,
                    Effect::CallSeat {
                        not_before: None,
                        task,
                        seat,
                        agent,
                        strict,
                    },
                );
            }
            Effect::Consult {
                not_before: Some(at),
                id,
                purpose,
                agent,
            } => self.later(
                at,
                Effect::Consult {
                    not_before: None,
                    id,
                    purpose,
                    agent,
                },
            ),
            Effect::ScanArtifacts { task, dependency } => self.scan_artifacts(state, task, dependency),
            Effect::Consult {
                id, purpose, agent, ..
            } => return self.consult(state, id, purpose, agent),
            Effect::RunTurn { turn, .. } => return self.run_turn(state, turn),
            Effect::NoteFiles { turn, starts, shared } => self.note_files(state, turn, starts, shared),
            Effect::ScanFiles { turn, number } => self.scan_files(state, turn, number),
            Effect::Audit { number } => self.audit(state, number),
            Effect::RunFinish { turn, command } => return self.run_finish(state, turn, command),
            Effect::RunCheck { task, attempt, check } => return self.run_check(state, task, attempt, check),
            Effect::Grade { task, attempt, round } => {
                return self.grade(state, Round { task, attempt, round });
            }
            Effect::RunStep {
                task,
                attempt,
                step,
                round,
            } => self.run_step(
                state,
                StepRun {
                    task,
                    attempt,
                    step,
                    round,
                },
            ),
            Effect::CallSeat {
                task,
                seat,
                agent,
                strict,
                ..
            } => self.call_seat(state, task, seat, agent, strict),
            Effect::AskApprover {
                task,
                number,
                approver,
            } => {
                let question = Question {
                    task,
                    number,
                    approver,
                };
                return self.ask_approver(state, question);
            }
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

    /// Starts a command of a channel, or of a turn that is still at work: what a turn does after its end nobody would see.
    pub fn run_errand(&mut self, plan: &Arc<Plan>, errand: Errand) -> Result<(), RunError> {
        let Errand { spawn, owner, reply } = errand;
        if matches!(owner, ErrandOwner::Turn(turn) if !self.is_at_work(turn)) {
            // Who no longer waits does not want to know.
            let _ = reply.send(Err("its turn has ended".to_owned()));
            return Ok(());
        }
        let process = None;
        self.waiting_for.insert(self.next_key, Waiting { reply, process });
        self.spawn(plan, Child::Errand(owner), spawn)
    }

    /// Starts a child of the supervisor.
    pub(super) fn spawn(&mut self, plan: &Arc<Plan>, child: Child, mut spawn: Spawn) -> Result<(), RunError> {
        if let Some(task) = child.task() {
            self.begun.count(task);
        }
        spawn.key = self.next_key;
        spawn.grace_ms = GRACE_MS;
        spawn.max_output = Some(plan.rules.max_output);
        self.next_key += 1;
        self.children.insert(spawn.key, (child, plan.clone()));
        let key = spawn.key;
        if let Err(error) = make_workspace(plan, &spawn.cwd) {
            let message = format!("cannot make the workspace {}: {error}", spawn.cwd.display());
            self.not_spawned(key, error.raw_os_error(), message);
            return Ok(());
        }
        match self.supervisor.send(&Command::Spawn(spawn)) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                self.not_spawned(key, None, error.to_string());
                Ok(())
            }
            other => other.map_err(RunError::Supervisor),
        }
    }

    /// What can never be started: that is the child's failure, not the run's.
    fn not_spawned(&mut self, key: u64, errno: Option<i32>, message: String) {
        let mut inputs = Vec::new();
        let event = supervisor::Event::SpawnFailed { key, errno, message };
        self.take(event, &mut inputs);
        inputs.into_iter().for_each(|input| self.post(input));
    }

    /// Looks at the files of a task, and hands an input to the loop behind what was seen.
    pub(super) fn look_before(&mut self, state: &State, task: TaskId, input: Input) {
        let (plan, attempt) = (state.plan.clone(), state.task(task).attempt);
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            let files = super::children::files_of(&plan, task);
            let seen = Input::FilesSeen { task, attempt, files };
            let _ = sender.send(Message::FilesLooked(vec![seen, input]));
        });
    }

    /// Hands an input to the loop.
    pub(super) fn post(&self, input: Input) {
        // The loop holds the receiver as long as it lives; after it nobody wants to know.
        let _ = self.sender.send(Message::Input(input));
    }

    /// Runs blocking work on the pool; its input reaches the loop.
    pub(super) fn blocking(&mut self, work: impl FnOnce() -> Vec<Input> + Send + 'static) {
        let sender = self.sender.clone();
        tokio::task::spawn_blocking(move || {
            for input in work() {
                let _ = sender.send(Message::Input(input));
            }
        });
    }

    /// The line to an agent for one call.
    pub(super) fn line(&mut self, agent: AgentId, endpoint: &Endpoint, call: Call) -> Result<Line, String> {
        match self.programs.network().clone() {
            Network::Open => self.http(agent, endpoint).map(Line::Direct),
            Network::Recording(cassette) => self
                .http(agent, endpoint)
                .map(|client| Line::Recording(client, Tape::new(cassette, call))),
            Network::Offline(Some(cassette)) => Ok(Line::Recorded(Tape::new(cassette, call))),
            Network::Offline(None) => Err("it needs the network, and the run is offline".to_owned()),
        }
    }

    /// The HTTP client of an agent, made when it is first needed.
    fn http(&mut self, agent: AgentId, endpoint: &Endpoint) -> Result<reqwest::Client, String> {
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
        let _ = self.supervisor.send(&Command::KillAll);
    }

    /// What should be known before anything starts.
    pub fn warnings(&self, state: &State) -> Vec<String> {
        self.programs.warnings(state)
    }

    /// Takes over what outlived an earlier session.
    pub fn adopt(&mut self, state: &State, adopted: Adopted, inputs: &mut Vec<Input>) {
        let plan = &state.plan;
        self.next_key = self.next_key.max(adopted.next_key);
        for (key, running) in adopted.running {
            let turn = running.turn;
            self.remember_kept(state, turn);
            self.children.insert(key, (Child::Turn(turn), plan.clone()));
            self.processes.insert(turn, running.process.clone());
            if !running.known {
                let process = Some(running.process);
                inputs.push(Input::TurnSpawned { turn, process });
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
        let supervisor = self.supervisor.identity();
        let left = Left {
            supervisor: SupervisorRef {
                pid: supervisor.pid,
                start_time: supervisor.start_time,
                boot_id: supervisor.boot_id.clone(),
                farewell: None,
            },
            processes: std::mem::take(&mut self.processes),
        };
        // The session ends with an error already, and the next one looks again.
        let _ = left.end_within(LAST_CHANCE);
    }

    pub(super) fn later(&mut self, at: Timestamp, effect: Effect) {
        let sender = self.sender.clone();
        let pause = scaled(at.since(Timestamp::now()).as_duration());
        let task = tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let _ = sender.send(Message::Due(effect));
        });
        self.keep_track(task.abort_handle());
    }

    /// Remembers work that a stop must end; what has ended by itself is forgotten.
    pub(super) fn keep_track(&mut self, work: AbortHandle) {
        self.background.retain(|work| !work.is_finished());
        self.background.push(work);
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
            self.post(Input::TurnEnded(Box::new(TurnEnd::interrupted(turn))));
        }
        // A channel's command is not the run's work: it ends within its own time-out.
        let children = self
            .children
            .iter()
            .filter(|(_, (child, _))| !matches!(child, Child::Errand(ErrandOwner::Channel)));
        let keys: Vec<u64> = children.map(|(key, _)| *key).collect();
        for key in keys {
            let grace_ms = if matches!(self.children[&key].0, Child::Turn(_)) {
                GRACE_MS
            } else {
                0
            };
            self.send(&Command::Terminate { key, grace_ms })?;
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
        let of_task = |child: &Child| child.task() == Some(task);
        let children = self.children.iter().filter(|(_, (child, _))| of_task(child));
        let keys: Vec<u64> = children.map(|(key, _)| *key).collect();
        for key in keys {
            let grace_ms = GRACE_MS;
            self.send(&Command::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    pub(super) fn send(&mut self, command: &Command) -> Result<(), RunError> {
        self.supervisor.send(command).map_err(RunError::Supervisor)
    }

    /// A child of this run as the system knows it.
    pub(super) fn identity_of(&self, process: &ProcessRef) -> supervisor::ProcessIdentity {
        supervisor::ProcessIdentity {
            pid: process.pid,
            start_time: process.start_time,
            boot_id: self.supervisor.identity().boot_id.clone(),
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping
    }
}

/// Whether the task is still where the effect expects it.
fn is_wanted(state: &State, effect: &Effect) -> bool {
    match effect {
        Effect::RunTurn { turn, .. } | Effect::KillTurn { turn, .. } => {
            state.task(turn.task).running.is_some() && state.current_turn(turn.task) == *turn
        }
        Effect::NoteFiles { turn, .. } => {
            let task = state.task(turn.task);
            let waits =
                task.running.is_none() && matches!(task.status, Status::Assigned | Status::InProgress);
            waits && task.attempt == turn.attempt && task.turn < turn.turn
        }
        Effect::RunFinish { turn, command } => {
            let judging = state.task(turn.task).judging.as_deref();
            let is_open = judging.is_some_and(|judging| judging.finish_open() == Some(*command));
            is_open && state.current_turn(turn.task) == *turn
        }
        Effect::Audit { number } => state.audit.out && state.audit.number == *number,
        Effect::ScanFiles { turn, .. } => {
            state.task(turn.task).status == Status::Review && state.current_turn(turn.task) == *turn
        }
        Effect::RunCheck { task, attempt, .. } => {
            state.task(*task).status == Status::Review && state.task(*task).attempt == *attempt
        }
        Effect::Grade { task, attempt, round } => {
            let task = state.task(*task);
            let judging = task.judging.as_deref();
            let grading = judging.and_then(|judging| judging.grading);
            task.attempt == *attempt && grading.is_some_and(|grading| grading.open && grading.round == *round)
        }
        Effect::RunStep {
            task,
            attempt,
            step,
            round,
        } => {
            let run = StepRun {
                task: *task,
                attempt: *attempt,
                step: *step,
                round: *round,
            };
            run.is_wanted(state)
        }
        Effect::CallSeat { task, seat, .. } => state.task(*task).seat_id(seat.seat as usize) == Some(*seat),
        Effect::ScanArtifacts { task, dependency } => {
            let remedies = state.task(*task).remedies.as_deref();
            remedies.is_some_and(|remedies| remedies.scanning.contains(dependency))
        }
        Effect::AskApprover {
            task,
            number,
            approver,
        } => {
            let waiting = state.task(*task).waiting.as_ref();
            waiting.is_some_and(|waiting| waiting.number == *number && waiting.asking == Some(*approver))
        }
        Effect::Consult { id, .. } => state.task(id.task).consults.iter().any(|open| open.id == *id),
        Effect::PreparePrompt(_)
        | Effect::StopTask(_)
        | Effect::StopAll
        | Effect::Deliver { .. }
        | Effect::File { .. } => true,
    }
}

/// The folder a task works in, absolute.
pub(super) fn workspace(plan: &Plan, task: TaskId) -> PathBuf {
    match &plan.task(task).workspace {
        Some(own) => plan.rules.workspace.join(own.as_ref()),
        None => plan.rules.workspace.clone(),
    }
}

/// Makes the folder that something of the run is about to work in. The mission's own was made when the session started; a
/// task's own may be needed by a check, a reviewer or a stage before any agent has worked there.
///
/// # Errors
/// Whatever the file system says.
pub(super) fn make_workspace(plan: &Plan, cwd: &Path) -> io::Result<()> {
    let all = &plan.rules.workspace;
    match cwd != all && cwd.starts_with(all) {
        true => std::fs::create_dir_all(cwd),
        false => Ok(()),
    }
}

/// Writes a file of the spool.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RunError> {
    store::write_new(path, bytes).map_err(|source| RunError::Spool {
        path: path.to_owned(),
        source,
    })
}

/// Randomness for a back-off, 0 to 1000: calls that failed in the same moment must not come back in the same moment.
pub(super) fn jitter() -> u16 {
    fastrand::u16(0..=1000)
}

/// This moment at this place, by which agents tell times of day.
pub(super) fn here_and_now() -> Moment {
    Moment {
        now: Timestamp::now(),
        ahead: chrono::Local::now().offset().local_minus_utc(),
    }
}

/// An environment problem in the middle of a run: nothing was started.
pub(super) fn not_reachable(turn: TurnId, message: String) -> Input {
    Input::TurnRequestFailed {
        turn,
        class: FailureClass::Unknown,
        before_effect: false,
        message,
        retry_after: None,
        jitter: 0,
    }
}
