//! One session of a run: from `run:started` or `run:resumed` to `run:finished`.
//!
//! | file | what |
//! |---|---|
//! | `clock` | the clock of a session: it hands the engine the timers whose moment has come |
//! | `control` | `control.sock`: commands of people to the live session |
//! | `deliveries` | what is told outside of the run while it goes on: channels, dead letters |
//! | `effects` | performs effects: each becomes a process, a request or a look at files |
//! | `end` | the end of a session that ended in order |
//! | `entry` | a record on its way: vouched for, applied, with what becomes due by it, appended |
//! | `error` | why a session could not go on |
//! | `queued_commands` | what lies in the inbox: commands of people who could not reach the session at its socket |
//! | `observer` | who watches a session |
//! | `orders` | what each piece of work is given of the state, by value |
//! | `other_runs` | commands for the other runs of the state folder while this session holds its lock |
//! | `processes` | commands below the supervisor, what that tells, and signals to it |
//! | `signals` | SIGINT, SIGTERM, and SIGHUP of a terminal that was closed |
//! | `snapshots` | when `state.json` is written |

pub mod clock;
pub mod control;
mod deliveries;
pub mod effects;
mod end;
pub mod entry;
pub mod error;
pub mod observer;
mod orders;
pub mod other_runs;
mod processes;
mod queued_commands;
pub mod signals;
pub mod snapshots;

use std::collections::{BTreeSet, VecDeque};

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, Interval, MissedTickBehavior, interval_at};

use crate::executor::runner::{CommandRequest, Commands};
use crate::store::{FsLog, Journal, OperatorKey, RunFolder};
use crate::test_clock::scaled;
use rules::domain::{OutcomeClass, Timestamp};
use rules::engine::{
    self, Effect, Event, Fact, Prompt, RunPhase, State, StopCause, TurnEvent, TurnUpdate, pending_effects,
};
use supervisor::ProcessIdentity;

#[cfg(feature = "temporal")]
use crate::runtime::carry::desk::open_desk;
use crate::runtime::{
    isolation::{
        git,
        protection::{Protection, ReadBefore},
        watch::frozen,
        worktrees::Worktrees,
    },
    outside::operator,
    recovery::{adopt::Adopted, foreign_runs::ForeignRuns, supervision},
    work::{
        agent_backends::AgentBackends,
        baseline_cache::BaselineCache,
        context::{Message, WorkContext},
        program_looks::look_at_programs,
    },
};
use clock::Clock;
use control::{ControlAnswer, ControlRequest, ControlSocket, PendingCommand};
use effects::EffectHandler;
use entry::{Due, Entry, Written, ends};
use error::RunError;
use observer::Observer;
use other_runs::Others;
use signals::{SessionSignals, or_never};
use snapshots::Snapshots;

/// How often a quiet session says that it is alive.
const HEARTBEAT: Duration = Duration::from_secs(60);

/// How often the supervisor is asked for a sign of life, while it has something to do. In tests as well: a busy machine is no dead
/// supervisor.
const SIGN_OF_LIFE: Duration = Duration::from_secs(1);

/// How long the supervisor may take to end everything at once, when a second signal asks for it.
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// How often the inbox is looked into. It is for those who cannot reach the socket.
const INBOX_LOOK: Duration = Duration::from_secs(1);

/// How many things in the inbox that are no commands are told at most.
const INBOX_TROUBLES_TOLD: usize = 8;

/// How long the end of a session waits for notifications on their way.
const LAST_DELIVERIES: Duration = Duration::from_secs(45);

/// The time that the session waits for letters that are being tried again.
const LAST_RETRIES: Duration = Duration::from_secs(15);

/// The things that a session needs to begin.
pub struct SessionSetup {
    /// Where the run lives.
    pub folder: RunFolder,
    /// The state so far.
    pub state: State,
    /// The journal of the run, at its end.
    pub journal: Journal<FsLog>,
    /// The process that holds the children.
    pub supervisor: supervisor::Client,
    /// Programs and endpoints of the agents, resolved.
    pub programs: AgentBackends,
    /// The processes that outlived the session before.
    pub adopted: Adopted,
    /// The files that were read before the session began.
    pub read: ReadBefore,
    /// The observers of the session.
    pub observers: Vec<Box<dyn Observer>>,
    /// The key that vouches for the end of the session.
    pub key: Option<OperatorKey>,
    /// When the session begins, if not now.
    pub begins: Option<Timestamp>,
    /// Why no process can be confined here; `None` where each can.
    pub refused: Option<String>,
}

/// A session that has ended, with the state it ended in.
pub struct Ending {
    pub outcome: OutcomeClass,
    /// The state at the end.
    pub state: State,
    /// Warnings about files that could not be written behind the end, and are not on record therefore.
    pub warnings: Vec<String>,
}

/// A running session: the one owner of the state.
pub struct Session {
    state: State,
    journal: Journal<FsLog>,
    snapshots: Snapshots,
    effects: EffectHandler,
    folder: RunFolder,
    others: Others,
    /// The problems of the inbox that were reported already.
    inbox_troubles: BTreeSet<String>,
    /// Whether the session listens, or did, at its socket: a command found in the inbox since then was not left
    /// for want of another way.
    listens: bool,
    /// Supervisors of earlier sessions that were killed.
    killed: Vec<ProcessIdentity>,
    signals: Option<SessionSignals>,
    control: Option<ControlSocket>,
    /// Peers whose commands the next commit makes durable.
    asked: Vec<PendingCommand>,
    inbox: mpsc::UnboundedReceiver<Message>,
    /// Commands to be started for what works beside the loop.
    commands: mpsc::UnboundedReceiver<CommandRequest>,
    adopted: Adopted,
    read: ReadBefore,
    observers: Vec<Box<dyn Observer>>,
    key: Option<OperatorKey>,
    begins: Option<Timestamp>,
    foreign_runs: ForeignRuns,
}

impl Session {
    /// Joins what a session needs. Nothing happens yet.
    pub fn new(setup: SessionSetup) -> Self {
        let (sender, inbox) = mpsc::unbounded_channel();
        let (commands, requests) = Commands::new();
        let context = WorkContext {
            worktrees: Worktrees::of(&setup.folder, &setup.state),
            seen_on: Mutex::new(BaselineCache::of(setup.state.baselines())).into(),
            folder: setup.folder.clone(),
            commands,
            agents: setup.programs.into(),
            protection: Arc::new(Protection::none()),
            frozen: frozen(&setup.folder),
            messages: Arc::default(),
            at_work: Arc::default(),
            ended: Arc::default(),
            sender,
        };
        let snapshots = Snapshots::new(setup.folder.clone(), setup.key.clone());
        let mut effects = EffectHandler::new(context, setup.supervisor);
        effects.processes.confiner.refused = setup.refused;
        Self {
            state: setup.state,
            journal: setup.journal,
            snapshots,
            effects,
            others: Others::of(setup.folder.state_folder()),
            foreign_runs: ForeignRuns::since_now(&setup.folder),
            folder: setup.folder,
            inbox_troubles: BTreeSet::new(),
            listens: false,
            killed: setup.adopted.killed.clone(),
            signals: None,
            control: None,
            asked: Vec::new(),
            inbox,
            commands: requests,
            adopted: setup.adopted,
            read: setup.read,
            observers: setup.observers,
            key: setup.key,
            begins: setup.begins,
        }
    }

    /// Runs until nothing is left to do. `first` is what the session begins with: a start, a resume, a cancel.
    ///
    /// # Errors
    /// [`RunError`]; the children are gone then.
    pub async fn run(mut self, first: Fact) -> Result<Ending, RunError> {
        let worked = self.work(first).await;
        self.control = None;
        self.others.finish().await;
        match worked {
            Ok(()) => self.end().await,
            Err(error) => {
                match &error {
                    RunError::Supervisor(_) | RunError::Silent => {
                        self.note_foreign(error.to_string());
                        self.effects.end_what_is_left();
                    }
                    // What ended the session weighs more than how its supervisor ended.
                    _ => drop(self.effects.close().await),
                }
                self.leave_inbox();
                Err(error)
            }
        }
    }

    async fn work(&mut self, first: Fact) -> Result<(), RunError> {
        self.signals = Some(SessionSignals::listen().map_err(RunError::Signals)?);
        let begin = Instant::now();
        let (heartbeat, sign) = (scaled(HEARTBEAT), SIGN_OF_LIFE);
        let mut heartbeat = every(heartbeat, begin + heartbeat);
        let mut looks = every(INBOX_LOOK, begin);
        let mut signs = every(sign, begin + sign);
        let mut clock = Clock::default();
        self.begin(first, &mut clock)?;
        let limit = self.state.options.timeout;
        let limit = limit.map(|timeout| begin + timeout.as_duration());
        let mut overdue = None;
        let mut impatient = None;
        while self.state.phase != RunPhase::Finished {
            let mut inputs = Vec::new();
            let mut due = Vec::new();
            let mut taken = Vec::new();
            clock.follow(&self.state);
            let is_held = engine::holds_the_end(&self.state);
            overdue = is_held.then(|| overdue.unwrap_or_else(|| Instant::now() + LAST_DELIVERIES));
            tokio::select! {
                biased;
                heard = or_never(self.signals.as_mut().map(SessionSignals::next)) => {
                    if heard.again {
                        self.effects.processes.kill_all();
                        impatient.get_or_insert_with(|| Instant::now() + LAST_PATIENCE);
                    }
                    inputs.push(Fact::Stop(heard.cause));
                }
                event = self.effects.processes.event() => self.effects.processes.take(event?, &mut inputs)?,
                Some(message) = self.inbox.recv() => self.sort(message, &mut inputs, &mut due)?,
                Some(request) = self.commands.recv() => self.effects.processes.start(&self.state, &self.effects.context, request)?,
                () = or_never(impatient.map(tokio::time::sleep_until)) => {
                    impatient = None;
                    if self.effects.processes.something_runs() {
                        return Err(RunError::Silent);
                    }
                    inputs.push(Fact::NoticesOverdue);
                }
                _ = signs.tick(), if self.effects.processes.something_runs() => self.effects.processes.ask_for_sign()?,
                () = or_never(overdue.map(tokio::time::sleep_until)) => inputs.push(Fact::NoticesOverdue),
                () = or_never(limit.map(tokio::time::sleep_until)), if self.state.phase == RunPhase::Running => {
                    inputs.push(Fact::Stop(StopCause::TimeLimit));
                }
                request = or_never(self.control.as_mut().map(ControlSocket::next)) => self.handle(request, &mut inputs),
                said = self.others.next() => inputs.extend(said.map(Fact::Warn)),
                timer = clock.next() => inputs.extend(clock.fire(&self.state, timer)),
                _ = looks.tick() => self.look(&mut inputs, &mut taken),
                _ = heartbeat.tick() => self.beat(),
            }
            self.drain(&mut inputs, &mut due).await?;
            if inputs.iter().any(|input| matches!(input, Fact::Stop(_))) {
                git::hurry(Instant::now().into_std());
            }
            self.turn(inputs, due)?;
            // Their ids are durable now, with what they met.
            for asked in std::mem::take(&mut self.asked) {
                let met = self.state.commands.get(&asked.queued.id).copied();
                asked.answer(&ControlAnswer::of(met));
            }
            self.remove(taken)?;
        }
        Ok(())
    }

    /// Looks at what tells nobody that it changed: the inbox, runs beside this one, what agents say in mid-turn.
    fn look(&mut self, inputs: &mut Vec<Fact>, taken: &mut Vec<PathBuf>) {
        self.look_into_inbox(inputs, taken);
        inputs.extend(self.foreign_runs.look());
    }

    /// The work that is done now and then, whatever happens.
    fn beat(&mut self) {
        for observer in &mut self.observers {
            observer.on_heartbeat(&self.state, Timestamp::now());
        }
        if self.snapshots.is_behind(&self.journal) {
            self.write_snapshot(None);
        }
    }

    /// Records what the session begins with and what it finds, and performs what is due by that.
    fn begin(&mut self, first: Fact, clock: &mut Clock) -> Result<(), RunError> {
        let recovered =
            if self.state.phase == RunPhase::New { Vec::new() } else { pending_effects(&self.state) };

        for observer in &mut self.observers {
            observer.on_start(&self.state);
        }
        crate::runtime::work::notices::sweep(self.folder.state_folder().path());
        let protected = self.effects.protect(&self.state, &first, &self.read);
        let confined = self.effects.processes.confine(&self.state, &self.effects.context);
        let goes_on = matches!(first, Fact::Resume(_));
        let mut beginning = vec![first];
        beginning.extend(protected);
        beginning.extend(confined);
        if goes_on {
            beginning.push(Fact::Audit);
        }
        match ControlSocket::open(&self.folder.state_folder()) {
            Ok(door) => self.control = Some(door),
            Err(error) => beginning.push(Fact::Warn(format!(
                "operators' commands are taken from the inbox only: cannot open {}: {error}",
                self.folder.state_folder().control().display()
            ))),
        }
        // Letters that were there before: their senders found no session.
        let mut taken = Vec::new();
        self.look_into_inbox(&mut beginning, &mut taken);
        self.listens = self.control.is_some();
        let adopted = std::mem::take(&mut self.adopted);
        beginning.extend(adopted.warnings.iter().cloned().map(Fact::Warn));
        let of_agents = self.effects.context.agents.warnings.iter();
        beginning.extend(of_agents.cloned().map(Fact::Warn));
        let unusable = OperatorKey::existing_or_new().err();
        beginning.extend(unusable.map(|why| Fact::Warn(format!("nobody vouches for this run: {why}"))));
        // Before any work, and on record: what is switched off elsewhere is seen by nobody who reads the mission.
        let loosened = self.state.plan.rules.loosened.iter();
        let loosened = loosened.filter(|found| found.is_beneath);
        beginning.extend(loosened.map(|found| Fact::Warn(found.words())));
        self.effects.adopt(&self.state, adopted, &mut beginning);
        tokio::spawn(look_at_programs(self.effects.context.clone()));
        // What became due while the run had no session comes before anything is concluded from the state.
        beginning.extend(clock.due(&self.state, Timestamp::now()));
        beginning.extend(self.effects.deliveries.try_again(&self.effects.context));
        let due = self.record(beginning, recovered)?;
        // Not before the beginning is durable: whoever finds a record of exits knows that there was one.
        self.effects.processes.open(&self.folder)?;
        #[cfg(feature = "temporal")]
        if self.state.plan.rules.workers.exchange.is_some() {
            open_desk(self.effects.context.clone());
        }
        self.effects.perform(&self.state, due)?;
        self.remove(taken)
    }

    /// Puts on record that another process touched what this session rests on. It ends as internal, recorded or not. A run
    /// that has not begun leaves no record: without its beginning nobody could make anything of that.
    fn note_foreign(&mut self, what: String) {
        if self.state.phase == RunPhase::New {
            return;
        }
        let (now, fact) = (Timestamp::now(), Fact::Foreign(what));
        let events = engine::decide(&self.state, &fact, now);
        let written = self.write((fact, events), now, false);
        // Nobody hears of what is not durable; the state that it led to holds all the same.
        if let Ok(Written { seq, events, .. }) = written
            && self.journal.commit().is_ok()
        {
            self.show(seq, now, &events);
        }
    }

    /// Puts a decision on record, not yet durable.
    fn write(
        &mut self,
        decided: (Fact, Vec<Event>),
        now: Timestamp,
        is_last: bool,
    ) -> Result<Written, RunError> {
        let entry = Entry {
            run: self.folder.id(),
            state: &mut self.state,
            journal: &mut self.journal,
            key: self.key.as_ref(),
        };
        let effects = &mut self.effects;
        let mut prompts = |state: &State, due: &mut Vec<Effect>| effects.write_prompts(state, due);
        let with = if is_last { Due::Now(&mut prompts) } else { Due::Later };
        entry.write(decided, now, with)
    }

    fn show(&mut self, seq: u64, at: Timestamp, events: &[Event]) {
        for observer in &mut self.observers {
            observer.on_events(&self.state, seq, at, events);
        }
    }

    /// Why a command is refused now, though it came from one who may speak.
    fn refusal(&self, asked: &PendingCommand) -> Option<String> {
        if !self.effects.processes.is_supervised() {
            return Some(
                "the process that holds the agents was killed; resume the run, then say it again".to_owned(),
            );
        }
        supervision::refusal(&self.killed, &asked.queued.command, asked.proven)
    }

    /// Takes what came through the socket.
    fn handle(&mut self, request: ControlRequest, inputs: &mut Vec<Fact>) {
        let folder = self.folder.state_folder();
        let request = match request {
            ControlRequest::Asked(asked) => match self.refusal(&asked) {
                None => ControlRequest::Asked(asked),
                Some(why) => {
                    asked.answer(&ControlAnswer::Error(why.clone()));
                    ControlRequest::Refused(why)
                }
            },
            refused @ ControlRequest::Refused(_) => refused,
        };
        match request {
            ControlRequest::Asked(asked) if asked.queued.run == *self.folder.id() => {
                inputs.extend(operator::files_of(&self.state, &asked.queued.command));
                inputs.push(operator::input_of(&asked.queued));
                self.asked.push(asked);
            }
            ControlRequest::Asked(asked) => self.others.ask(asked),
            ControlRequest::Refused(why) => {
                inputs.push(Fact::Warn(format!("{}: {why}", folder.control().display())));
            }
        }
    }

    fn sort(
        &mut self,
        message: Message,
        inputs: &mut Vec<Fact>,
        due: &mut Vec<Effect>,
    ) -> Result<(), RunError> {
        match message {
            Message::Fact(input) => inputs.push(input),
            // It may have been written meanwhile, and be in use.
            Message::Due(Effect::PreparePrompt(turn)) if !engine::waits_for_prompt(&self.state, turn) => {}
            Message::ToSupervisor(command) => self.effects.processes.send(&command)?,
            Message::Due(effect) => due.push(effect),
            // Whoever stops has the commands ended that it would have come from.
            Message::Broken(_) if self.effects.processes.stopping => {}
            Message::Broken(why) => return Err(RunError::Folder(why)),
        }
        Ok(())
    }

    /// Takes what else has already arrived, so that it shares the next commit.
    async fn drain(&mut self, inputs: &mut Vec<Fact>, due: &mut Vec<Effect>) -> Result<(), RunError> {
        while let Ok(message) = self.inbox.try_recv() {
            self.sort(message, inputs, due)?;
        }
        loop {
            tokio::select! {
                biased;
                event = self.effects.processes.event() => self.effects.processes.take(event?, inputs)?,
                request = or_never(self.control.as_mut().map(ControlSocket::next)) => self.handle(request, inputs),
                () = std::future::ready(()) => return Ok(()),
            }
        }
    }

    /// One turn of the loop: decide all inputs and what they make due, one commit, then the effects.
    fn turn(&mut self, inputs: Vec<Fact>, due: Vec<Effect>) -> Result<(), RunError> {
        let due = self.record(inputs, due)?;
        self.effects.perform(&self.state, due)
    }

    /// Decides all inputs and puts what follows on record, in one commit. What is due now that it is durable.
    fn record(&mut self, inputs: Vec<Fact>, mut due: Vec<Effect>) -> Result<Vec<Effect>, RunError> {
        let mut queue = VecDeque::from(inputs);
        let mut sync = false;
        // Prompts are harmless to write twice, so what is due from before a crash may be prepared right away.
        queue.extend(facts_of(self.effects.write_prompts(&self.state, &mut due)?));
        loop {
            let fact = queue.pop_front().unwrap_or(Fact::Advance);
            let advanced = matches!(fact, Fact::Advance);
            let now = self.begins.take().unwrap_or_else(Timestamp::now);
            let events = engine::decide(&self.state, &fact, now);
            if ends(&events) {
                // It is not looked at any more once it has ended.
                let found = self.foreign_runs.look();
                if !found.is_empty() {
                    queue.push_front(fact);
                    found.into_iter().for_each(|found| queue.push_front(found));
                    continue;
                }
            }
            if events.is_empty() {
                if advanced && queue.is_empty() {
                    break;
                }
                continue;
            }
            if fact.takes_several_records() {
                queue.push_front(fact.clone());
            }
            let Written { seq, events, due: more, prompts } =
                self.write((fact, events), now, queue.is_empty())?;
            due.extend(more);
            queue.extend(facts_of(prompts));
            sync |= events.iter().any(|event| {
                use TurnUpdate::{Activity, Spawned};
                !matches!(event, Event::Turn(_, TurnEvent::Progress(Spawned { .. } | Activity { .. })))
            });
            self.show(seq, now, &events);
            queue.extend(facts_of(self.effects.write_prompts(&self.state, &mut due)?));
        }
        // `agent:spawned` alone needs no sync of its own: after a power loss there is no agent either.
        if sync {
            self.journal.commit()?;
        } else {
            self.journal.write()?;
        }
        if self.snapshots.is_due(&self.journal) {
            self.write_snapshot(None);
        }
        Ok(due)
    }

    /// Writes what readers may know without folding the journal. `outcome` is that of the session, once it is over.
    fn write_snapshot(&mut self, outcome: Option<OutcomeClass>) {
        // The page that readers show first is made by an observer.
        let mut observers = self.observers.iter();
        let page = observers.find_map(|observer| observer.page(&self.state));
        let left = self.effects.processes.left();
        self.snapshots.write(&self.state, &self.journal, outcome, page, left);
    }
}

fn facts_of(prompts: impl IntoIterator<Item = Prompt>) -> impl Iterator<Item = Fact> {
    prompts.into_iter().map(Fact::PromptReady)
}

/// Ticks from a moment on. Those that were missed are not made up for.
fn every(period: Duration, first: Instant) -> Interval {
    let mut ticks = interval_at(first, period);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
