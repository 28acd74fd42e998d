//! Performing effects: the only place that turns the engine's wishes into processes, requests and file reads.
//!
//! Every effect ends in one [`Fact`] or none. What ends on its own comes back over the supervisor or the channel.

use std::collections::HashMap;
use std::io;
use std::time::Duration;

use tokio::task::AbortHandle;

use crate::agents::cassette::CallKey;
use crate::agents::endpoint::Endpoint;
use crate::agents::transport::{CassetteCursor, Network, Transport};
use crate::executor::command::GRACE;
use crate::executor::error::WorkError;
use crate::executor::probes::Grading;
use crate::executor::runner::{CommandOwner, Runner};
use crate::executor::spool;
use crate::store::SpoolName;
use crate::test_clock::scaled;
use rules::domain::{AgentId, Digest, TaskId, Timestamp, TurnId};
use rules::engine::{Effect, Fact, Job, Prompt, State, SupervisorRef, may_be_made};
use rules::mission::ApproverPlan;
use supervisor::SupervisorCommand;

use super::error::RunError;
use crate::runtime::isolation::confinement::Confiner;
use crate::runtime::isolation::watch::record_before_turn;
use crate::runtime::recovery::adopt::Left;
use crate::runtime::work::agent_backends::{AgentBackends, AgentsWithoutTools};
use crate::runtime::work::audit::audit;
use crate::runtime::work::baseline::baseline;
use crate::runtime::work::context::{JobOrder, Message, Undone, WorkContext, blocking};
use crate::runtime::work::dead_letters::{due_letters, filed, letters_of, try_again};
use crate::runtime::work::jobs::{self, JobWork, ask_approver, check, finish, merge};
use crate::runtime::work::middleware;
use crate::runtime::work::notices::{DeliveryContext, deliver, document, no_such_channel};
use crate::runtime::work::scan::{IdleAnswer, artifacts, scan};
use crate::runtime::work::stages::stage;
use crate::runtime::work::test_looks::{look, sides};
use crate::runtime::work::upstream::Remembered;
use crate::runtime::work::worker_prompt::{self, UpstreamOutputs, quoted};

/// How many signs of life may be missing.
const SIGNS_MISSED: u32 = 5;
/// How long a supervisor that gave no sign of life, once it is woken, may take to end what it holds.
const LAST_CHANCE: Duration = Duration::from_secs(2);

/// Everything outside of the loop.
pub struct Executor {
    /// The things by which work reaches the world.
    pub context: WorkContext,
    pub programs: AgentBackends,
    /// Agents that are not offered tools any more.
    pub without_tools: AgentsWithoutTools,
    /// The rules for what the session's processes may see and change.
    pub confiner: Confiner,
    /// The work that a stop ends, each with its effect.
    work: Vec<(Effect, AbortHandle)>,
    /// The deliveries of notifications that are under way.
    pub deliveries: Vec<AbortHandle>,
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
            context,
            confiner: Confiner::default(),
            programs,
            without_tools: AgentsWithoutTools::default(),
            work: Vec::new(),
            deliveries: Vec::new(),
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
    fn write_prompt(
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
    /// the same commit, but for those that quote what is to be read for it first. Harmless to repeat.
    pub fn write_prompts(&mut self, state: &State, due: &mut Vec<Effect>) -> Result<Vec<Prompt>, RunError> {
        let is_prompt = |effect: &mut Effect| matches!(effect, Effect::PreparePrompt(_));
        let mut written = Vec::new();
        for effect in due.extract_if(.., is_prompt).collect::<Vec<_>>() {
            let Effect::PreparePrompt(turn) = effect else {
                continue;
            };
            let quoted = match state.gets_prompt(turn.task) {
                true => quoted(state, turn.task),
                false => Vec::new(),
            };
            let Some(said) = self.upstream.take(turn, &quoted) else {
                // They are read first, and the prompt is due once more behind that.
                let (upstream, run) = (self.upstream.clone(), self.context.folder.clone());
                self.begin(effect, async move {
                    blocking(move || upstream.read(&run, turn, quoted)).await?;
                    Err(Undone::NotNow)
                });
                continue;
            };
            written.push(self.write_prompt(state, turn, &said)?);
        }
        Ok(written)
    }

    /// Tells a channel something. A session that stops does not end this: it ends it, or gives up on it, when it ends.
    fn deliver(&mut self, state: &State, (number, tried): (u32, u32), not_before: Option<Timestamp>) {
        let Some(open) = state.notices.open(number) else {
            return;
        };
        let name = &*open.channel;
        let channel = self.programs.channels.get(name).cloned();
        let channel = channel.ok_or_else(|| no_such_channel(name));
        let document = document(&state.plan, self.context.folder.id(), number, name, &open.notice);
        let world = DeliveryContext {
            commands: self.context.commands.clone(),
            state_folder: self.context.folder.state_folder().path().to_owned(),
            cwd: self.programs.mission_folder.clone(),
            secrets: self.programs.secrets(),
        };
        let context = self.context.clone();
        let work = tokio::spawn(async move {
            let result = deliver(not_before, channel, document, world).await;
            context.post(Fact::Delivered {
                number,
                tried,
                result,
            });
        });
        self.deliveries.retain(|work| !work.is_finished());
        self.deliveries.push(work.abort_handle());
    }

    /// Begins to try again what is due: what there is to say about the queue comes back. Blocks.
    pub fn drain_dead_letters(&mut self) -> Option<Fact> {
        let due = match due_letters(&self.context.folder.state_folder()) {
            Ok(due) => due,
            Err(why) => return Some(Fact::Warn(why.into())),
        };
        self.draining = (!due.is_empty()).then(|| tokio::spawn(try_again(self.context.clone(), due)));
        None
    }

    /// Performs an effect whose record is durable.
    pub fn perform(&mut self, state: &State, mut effect: Effect) -> Result<(), RunError> {
        // An effect may be overtaken: by a stop, or by the end of the task it was for.
        let is_late = self.stopping || !may_be_made(state, &effect);
        if let Some(at) = not_before(&mut effect).filter(|_| !is_late) {
            let pause = scaled(at.since(Timestamp::now()).as_duration());
            self.begin(effect, async move {
                tokio::time::sleep(pause).await;
                Err(Undone::NotNow)
            });
            return Ok(());
        }
        let context = self.context.clone();
        match effect {
            Effect::StopAll => return self.stop_all(state),
            Effect::Deliver {
                number,
                tried,
                not_before,
            } => self.deliver(state, (number, tried), not_before),
            Effect::File { letter } => self.letters_due.push(letter),
            Effect::RunTurn { turn, .. } if is_late => self.interrupt(state, turn),
            _ if is_late => {}
            effect @ Effect::Ask { .. } => self.ask(state, effect),
            Effect::RunTurn { turn, .. } => self.run_turn(state, turn),
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
            Effect::KillTurn { turn, idle } => return self.kill_turn(turn, idle),
            Effect::StopTask(task) => return self.stop_task(task),
            Effect::PreparePrompt(_) => {}
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
            let letters = letters_of(state, self.context.folder.id(), &due);
            let letter = due[0].clone();
            drop(self.spawn(Effect::File { letter }, filed(self.context.clone(), letters, due)));
        }
    }

    /// Does work beside the loop, which hears of its end.
    pub fn spawn(
        &self,
        effect: Effect,
        work: impl Future<Output = Result<Fact, Undone>> + Send + 'static,
    ) -> AbortHandle {
        let context = self.context.clone();
        tokio::spawn(async move {
            let undone = match work.await {
                Ok(fact) => return context.post(fact),
                Err(Undone::NotNow) => Message::Due(effect),
                Err(Undone::CalledOff) => return,
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

    /// Ends the supervisor and with it every child.
    ///
    /// # Errors
    /// When it did not end in order; whatever could be found of what it held is gone all the same.
    pub async fn close(&mut self) -> io::Result<()> {
        self.work.iter().for_each(|(_, work)| work.abort());
        self.remove_empty_folders();
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
        self.context.at_work().runner = Runner::default();
        self.remove_empty_folders();
    }

    /// Removes folders for messages that no turn uses.
    fn remove_empty_folders(&self) {
        drop(std::mem::take(&mut *crate::locked(&self.context.messages)));
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
            processes: self.context.at_work().runner.turn_processes().collect(),
        }
    }

    /// Running turns are ended and count as lost; checks and reviews are dropped, they are simply done again.
    fn stop_all(&mut self, state: &State) -> Result<(), RunError> {
        self.stopping = true;
        for (effect, work) in std::mem::take(&mut self.work) {
            if let Effect::RunTurn { turn, .. } = effect
                && !work.is_finished()
            {
                self.interrupt(state, turn);
            }
            work.abort();
        }
        let turns = std::mem::take(&mut self.context.at_work().model_turns);
        turns.into_keys().for_each(|turn| self.interrupt(state, turn));
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
        let of_others = |turn: &TurnId, _: &mut _| turn.task != task;
        self.context.at_work().model_turns.retain(of_others);
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
