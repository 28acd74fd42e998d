//! Performing effects: the only place that turns the engine's wishes into processes, requests and file reads.
//!
//! Every effect ends in one [`Fact`] or none. What ends on its own comes back over the supervisor or the channel.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::agents::cassette::CallKey;
use crate::agents::endpoint::Endpoint;
use crate::agents::transport::{CassetteCursor, Network, Transport};
use crate::executor::command::GRACE;
use crate::executor::error::WorkError;
use crate::executor::probes::Grading;
use crate::executor::program_watch::ProgramWatch;
use crate::executor::runner::CommandOwner;
use crate::executor::spool;
use crate::store::SpoolName;
use crate::test_clock::scaled;
use rules::domain::{AgentId, Digest, TaskId, Timestamp, TurnId};
use rules::engine::{
    Effect, Fact, Job, ProcessRef, Prompt, State, SupervisorRef, TurnEnd, TurnUpdate, may_be_made,
};
use rules::mission::ApproverPlan;
use supervisor::SupervisorCommand;

use super::error::RunError;
use super::stall_detector::StallDetector;
use crate::runtime::isolation::confinement::Confiner;
use crate::runtime::isolation::protection::PROGRAMS;
use crate::runtime::isolation::watch::{Frozen, TurnBaseline, frozen, record_before_turn};
use crate::runtime::recovery::adopt::{Adopted, Left};
use crate::runtime::work::agent_backends::{AgentBackends, AgentsWithoutTools};
use crate::runtime::work::agent_messages::TurnProgress;
use crate::runtime::work::audit::audit;
use crate::runtime::work::baseline::baseline;
use crate::runtime::work::context::{JobOrder, Message, Undone, WorkContext, blocking};
use crate::runtime::work::jobs::{self, JobWork, ask_approver, check, finish, merge};
use crate::runtime::work::looks::{look, sides};
use crate::runtime::work::message_folders::MessageFolders;
use crate::runtime::work::middleware;
use crate::runtime::work::scan::{IdleAnswer, artifacts, scan};
use crate::runtime::work::stages::stage;
use crate::runtime::work::upstream::Remembered;
use crate::runtime::work::worker_prompt::{self, UpstreamOutputs};

/// How many signs of life may be missing.
const SIGNS_MISSED: u32 = 5;
/// How long a supervisor that gave no sign of life, once it is woken, may take to end what it holds.
const LAST_CHANCE: Duration = Duration::from_secs(2);

/// Everything outside of the loop.
pub struct Executor {
    /// The things by which work reaches the world.
    pub context: WorkContext,
    pub programs: AgentBackends,
    /// The processes of running turns.
    pub processes: BTreeMap<TurnId, ProcessRef>,
    /// Agents that are not offered tools any more.
    pub without_tools: AgentsWithoutTools,
    /// The rules for what the session's processes may see and change.
    pub confiner: Confiner,
    /// The state of files before each turn in flight.
    pub before: HashMap<TurnId, TurnBaseline>,
    /// The frozen missions of the run.
    pub frozen: Vec<Frozen>,
    pub progress: TurnProgress,
    /// Turns at work whose agents may fall silent.
    pub stalls: StallDetector,
    pub programs_at_work: ProgramWatch,
    /// The work that a stop ends, each with its effect.
    work: Vec<(Effect, AbortHandle)>,
    /// The deliveries of notifications that are under way.
    pub deliveries: Vec<AbortHandle>,
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
    pub fn new(context: WorkContext, supervisor: supervisor::Client, programs: AgentBackends) -> Self {
        Self {
            frozen: frozen(&context.folder),
            context,
            confiner: Confiner::default(),
            before: HashMap::new(),
            programs,
            processes: BTreeMap::new(),
            without_tools: AgentsWithoutTools::default(),
            progress: TurnProgress::default(),
            stalls: StallDetector::default(),
            programs_at_work: ProgramWatch::default(),
            work: Vec::new(),
            deliveries: Vec::new(),
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
            exits_log: self.context.folder.exits(),
            socket: self.context.folder.supervisor_socket(),
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
        self.context.at_work().runner.at_work().next().is_some()
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
            self.context.post(Fact::Warn(warning));
        }
        let (prompt, cues) = middleware::before(&state.plan, turn.task, prompt);
        let path = self.context.folder.spool_file(&SpoolName::Prompt(turn));
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
    pub fn perform(&mut self, state: &State, mut effect: Effect) -> Result<(), RunError> {
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
        if let Some(at) = not_before(&mut effect) {
            let pause = scaled(at.since(Timestamp::now()).as_duration());
            self.begin(effect, async move {
                tokio::time::sleep(pause).await;
                Err(Undone::NotNow)
            });
            return Ok(());
        }
        let context = self.context.clone();
        match effect {
            effect @ Effect::Ask { .. } => self.ask(state, effect),
            Effect::RunTurn { turn, .. } => match context.protection.untouched(&[PROGRAMS]) {
                Some(_) => return self.run_turn(state, turn),
                None => drop(tokio::spawn(async move {
                    let looks = context.clone();
                    let look = blocking(move || drop(looks.look_at_protected(vec![PROGRAMS])));
                    let looked = look.await.map_or_else(Message::Broken, |()| Message::Turn(turn));
                    // The loop holds the receiver as long as it lives.
                    let _ = context.sender.send(looked);
                })),
            },
            Effect::NoteFiles { turn, starts, shared } => {
                let is_isolated = state.plan.task(turn.task).is_isolated();
                let known = is_isolated.then(|| state.committed(turn.task));
                let commands = self.task_commands(&state.plan, turn.task, turn.attempt);
                self.begin(
                    effect,
                    record_before_turn(context, commands, (turn, starts, shared), known),
                );
            }
            Effect::Audit { number } => {
                let commands = self.task_commands(&state.plan, TaskId(0), 0);
                self.begin(effect, audit(context, commands, (number, state.audited_work())));
            }
            Effect::DeliverWork { merge } => {
                let plan = state.plan.clone();
                self.spawn(effect, async move {
                    let delivered = blocking(move || context.worktrees.deliver(&plan, merge)).await?;
                    Ok(Fact::WorkDelivered(delivered))
                });
            }
            Effect::Job { turn, job } => self.run_job(state, turn, job),
            Effect::KillTurn { turn, idle } => return self.kill_turn(state, turn, idle),
            Effect::StopTask(task) => return self.stop_task(task),
            Effect::PreparePrompt(_) | Effect::StopAll | Effect::Deliver { .. } | Effect::File { .. } => {}
        }
        Ok(())
    }

    /// Begins work of a task that is neither a turn nor a question to an agent.
    fn run_job(&mut self, state: &State, turn: TurnId, job: Job) {
        let (plan, task, context) = (&state.plan, turn.task, self.context.clone());
        let order = JobOrder {
            turn,
            job,
            commands: self.task_commands(plan, task, turn.attempt),
        };
        let (given, task_state) = (order.clone(), state.task(task));
        let mut makes_folder = None;
        let work: JobWork = match job {
            Job::Scan { .. } => Box::pin(scan(context, given, IdleAnswer::asked(state, task))),
            Job::Artifacts(dependency) => Box::pin(artifacts(plan.clone(), dependency)),
            Job::Baseline => {
                makes_folder = plan.task(task).is_isolated().then(|| state.committed(task));
                Box::pin(baseline(context, given))
            }
            Job::Look(at) => {
                let control = task_state.attempt.looks.control();
                let known = control.map(|seen| seen.key).collect();
                Box::pin(look(context, given, (at, sides(state, turn)), known))
            }
            Job::Finish(command) => Box::pin(finish(context, given, command)),
            Job::Check(at) => Box::pin(check(context, given, (task, at), task_state.reruns(job))),
            Job::PeerCheck(of, at) => Box::pin(check(context, given, (of, at), task_state.reruns(job))),
            Job::Grade(round) => {
                let said = |id| (state.current_turn(id), state.task(id).output.clone());
                let grading = Grading {
                    commands: given.commands,
                    round,
                    judged: state.judged(task).map(said).collect(),
                };
                Box::pin(async move { grading.run(&context.commands).await })
            }
            Job::Stage(step, round) => Box::pin(stage(context, given, task_state.clone(), (step, round))),
            Job::Merge(_) => {
                let has_worked = task_state.attempt.number > 1 || task_state.attempt.turn > 0;
                Box::pin(merge(context, given, has_worked.then(|| state.committed(task))))
            }
            Job::Approver { number, approver } => match approver_command(state, task, approver) {
                Some(command) => Box::pin(ask_approver(context, given, (number, approver), command)),
                // Agents are asked as agents are; people answer by themselves.
                None => return,
            },
        };
        let is_confined = self.confiner.holds(plan, CommandOwner::Task(task));
        let (effect, context) = (Effect::Job { turn, job }, self.context.clone());
        let work = jobs::job(context, order, (is_confined, makes_folder), work);
        match job {
            // What it has merged is to be heard of, even where the run stops.
            Job::Merge(_) => drop(self.spawn(effect, work)),
            _ => self.begin(effect, work),
        }
    }

    /// After the effects of a turn of the loop: what can be done for all of them at once.
    pub fn performed(&mut self, state: &State) {
        if !self.letters_due.is_empty() {
            let due = std::mem::take(&mut self.letters_due);
            self.file(state, due);
        }
    }

    /// Does work beside the loop, which hears of its end.
    fn spawn(
        &self,
        effect: Effect,
        work: impl Future<Output = Result<Fact, Undone>> + Send + 'static,
    ) -> AbortHandle {
        let context = self.context.clone();
        tokio::spawn(async move {
            let undone = match work.await {
                Ok(fact) => return context.post(fact),
                Err(Undone::NotNow) => Message::Due(effect),
                Err(Undone::Broken(why)) => Message::Broken(why),
            };
            // The loop holds the receiver as long as it lives.
            let _ = context.sender.send(undone);
        })
        .abort_handle()
    }

    /// Begins work that a stop ends.
    pub fn begin(
        &mut self,
        effect: Effect,
        work: impl Future<Output = Result<Fact, Undone>> + Send + 'static,
    ) {
        let work = self.spawn(effect.clone(), work);
        self.work.retain(|(_, work)| !work.is_finished());
        self.work.push((effect, work));
    }

    /// Runs blocking work on the pool; its facts reach the loop, even where the run stops.
    pub fn blocking(&mut self, work: impl FnOnce() -> Vec<Fact> + Send + 'static) {
        let context = self.context.clone();
        tokio::task::spawn_blocking(move || work().into_iter().for_each(|fact| context.post(fact)));
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
        let next = adopted.next_key.saturating_sub(1);
        self.context.at_work().runner.is_taken_up_to(next);
        for (key, running) in adopted.running {
            let turn = running.turn;
            self.remember_kept(state, turn);
            let outputs = self
                .task_commands(plan, turn.task, turn.attempt)
                .turn_outputs(turn);
            let process = running.process.clone();
            self.context.at_work().runner.adopt(key, turn, process, outputs);
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
        self.work.iter().for_each(|(_, work)| work.abort());
        self.deliveries.iter().for_each(AbortHandle::abort);
        // It has nothing to tell any more that the run would wait for.
        let ended = self.supervisor.shutdown().await.map(drop);
        if ended.is_err() {
            self.end_what_is_left();
        }
        ended
    }

    /// The supervisor is gone, or as good as gone: ends it and what it held, so that nothing works on unseen. Blocks.
    pub fn end_what_is_left(&mut self) {
        self.work.iter().for_each(|(_, work)| work.abort());
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

    /// Running turns are ended and count as lost; checks and reviews are dropped, they are simply done again.
    fn stop_all(&mut self) -> Result<(), RunError> {
        self.stopping = true;
        self.work.drain(..).for_each(|(_, work)| work.abort());
        let turns = std::mem::take(&mut self.context.at_work().model_turns);
        for (turn, task) in turns {
            task.abort();
            self.context
                .post(Fact::TurnEnded(Box::new(TurnEnd::interrupted(turn))));
        }
        // A delivery is not the run's work: it ends within its own time-out.
        let at_work = self
            .context
            .at_work()
            .runner
            .keys(|owner| owner != CommandOwner::Nobody);
        for (key, owner) in at_work {
            let grace_ms = if matches!(owner, CommandOwner::Turn(_)) {
                GRACE.0
            } else {
                0
            };
            self.send(&SupervisorCommand::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    /// Ends what runs for one task. What comes back of it is too late by then, and means nothing but for what it used.
    fn stop_task(&mut self, task: TaskId) -> Result<(), RunError> {
        for (effect, work) in &self.work {
            if matches!(effect, Effect::Job { turn, .. } if turn.task == task) {
                work.abort();
            }
        }
        self.context.at_work().model_turns.retain(|turn, request| {
            if turn.task == task {
                request.abort();
            }
            turn.task != task
        });
        self.terminate(|owner| owner.task() == Some(task))
    }

    /// Ends the commands of some owners.
    pub fn terminate(&mut self, is_meant: impl Fn(CommandOwner) -> bool) -> Result<(), RunError> {
        let meant = self.context.at_work().runner.keys(is_meant);
        for (key, _) in meant {
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

/// The command that is asked for an approval that a task waits for; `None` where the approver is none.
fn approver_command(state: &State, task: TaskId, approver: u32) -> Option<Box<str>> {
    let waiting = state.task(task).hold()?;
    let mut approvals = state.plan.task(task).approvals.iter();
    let approval = approvals.find(|approval| waiting.gate == approval.gate)?;
    match approval.approvers.get(approver as usize)? {
        ApproverPlan::Command(command) => Some(command.clone()),
        ApproverPlan::Agent(_) | ApproverPlan::Person(_) => None,
    }
}

/// Takes from an effect the moment before which it is not to be performed.
fn not_before(effect: &mut Effect) -> Option<Timestamp> {
    match effect {
        Effect::RunTurn { not_before, .. } | Effect::Ask { not_before, .. } => not_before.take(),
        _ => None,
    }
}
