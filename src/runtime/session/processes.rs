//! The processes of a session: commands are started below its supervisor, what that tells is taken in, and signals go to it. How each
//! kind of command is started and what it says stands in `executor`.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use crate::executor::command::GRACE;
use crate::executor::runner::{CommandOwner, CommandRequest, EndedCommand, Runner};
use crate::store::RunFolder;
use rules::domain::TurnId;
use rules::engine::{Fact, ProcessRef, State, SupervisorRef, TurnEnd, TurnUpdate, WorkId};
use supervisor::{SupervisorCommand, SupervisorEvent};

use super::error::RunError;
use crate::runtime::{
    isolation::{confinement::Confiner, hidden},
    recovery::adopt::Left,
    work::{at_work::AtWork, context::WorkContext},
};

/// How many signs of life may be missing.
const SIGNS_MISSED: u32 = 5;
/// How long a supervisor that gave no sign of life, once it is woken, may take to end what it holds.
const LAST_CHANCE: Duration = Duration::from_secs(2);

/// The processes of a session, below its supervisor.
pub struct SessionProcesses {
    supervisor: supervisor::Client,
    /// Signs of life that the supervisor was asked for since it said anything.
    unanswered: u32,
    /// The rules for what the processes may see and change.
    pub confiner: Confiner,
    at_work: Arc<Mutex<AtWork>>,
    /// Notified whenever something that was at work has ended.
    ended: Arc<Notify>,
    /// Whether the session stops: then nothing begins any more but deliveries.
    pub stopping: bool,
}

impl SessionProcesses {
    pub fn new(supervisor: supervisor::Client, context: &WorkContext) -> Self {
        Self {
            supervisor,
            unanswered: 0,
            confiner: Confiner::default(),
            at_work: context.at_work.clone(),
            ended: context.ended.clone(),
            stopping: false,
        }
    }

    /// Tells the supervisor where exits are recorded.
    pub fn open(&mut self, folder: &RunFolder) -> Result<(), RunError> {
        self.send(&SupervisorCommand::Open { exits_log: folder.exits(), socket: folder.supervisor_socket() })
    }

    /// The supervisor's next event. Cancel safe.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub async fn event(&mut self) -> Result<SupervisorEvent, RunError> {
        let event = self.supervisor.recv().await.map_err(RunError::Supervisor)?;
        self.unanswered = 0;
        Ok(event)
    }

    fn at_work(&self) -> MutexGuard<'_, AtWork> {
        crate::locked(&self.at_work)
    }

    /// Whether the supervisor has anything to do for this session.
    pub fn something_runs(&self) -> bool {
        self.at_work().runner.at_work().next().is_some()
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

    /// Looks at what the processes of the session are kept from. Why none of them can be, where that is so, and what they
    /// are not kept from. Blocks.
    pub fn confine(&mut self, state: &State, context: &WorkContext) -> impl Iterator<Item = Fact> + use<> {
        let folder = context.folder.state_folder();
        let not_held = self.confiner.look(&state.plan, &folder, &context.protection);
        let refused = self.confiner.refused.clone().map(Fact::Unconfined);
        let hidden = state.plan.rules.hidden.iter();
        let not_held: Vec<String> =
            not_held.into_iter().chain(hidden.flat_map(|hidden| hidden.shown.clone())).collect();
        refused.into_iter().chain(not_held.into_iter().map(Fact::Warn))
    }

    /// Starts a command, if its work is still wanted: what a turn does after its end nobody would see.
    pub fn start(
        &mut self,
        state: &State,
        context: &WorkContext,
        request: CommandRequest,
    ) -> Result<(), RunError> {
        let (plan, owner) = (&state.plan, request.owner());
        let is_wanted = match owner {
            CommandOwner::Turn(turn) => state.is_out(WorkId::turn(turn)),
            CommandOwner::Tool(turn) => self.at_work().model_turns.contains_key(&turn),
            CommandOwner::Ask(id, _) => state.is_out(WorkId::ask(id)),
            _ => true,
        };
        if !is_wanted || self.stopping && owner != CommandOwner::Nobody {
            match owner.as_turn() {
                // Whoever waits for it hears nothing.
                Some(turn) => interrupt(state, context, turn),
                None => request.refused("it is not wanted any more".into()).finish(),
            }
            return Ok(());
        }
        if let Some(folder) = hidden::folder_to_copy(plan, request.job()) {
            let (worktrees, commands) = (context.worktrees.clone(), context.commands.clone());
            tokio::task::spawn_blocking(move || match worktrees.with_hidden_files(&folder, &request) {
                Ok((copy, gone)) => commands.start(request.in_copy(&folder, copy).holding(gone)),
                Err(why) => request.refused(why).finish(),
            });
            return Ok(());
        }
        let of = (&**plan, &*context.protection);
        let scratch = self.confiner.scratch(of, &request, &context.folder);
        let mut at_work = crate::locked(&self.at_work);
        owner.task().inspect(|task| at_work.begins(*task));
        at_work.newest_plan = Some(plan.clone());
        let started = match scratch {
            Ok(scratch) => {
                let request = self.confiner.confined(of, request, scratch);
                let started = at_work.runner.start(&mut self.supervisor, request);
                started.map_err(RunError::Supervisor)?
            }
            Err(why) => Some(request.refused(why)),
        };
        drop(at_work);
        self.finish(started);
        Ok(())
    }

    /// Takes in an event of the supervisor, and adds the facts that follow from it.
    ///
    /// # Errors
    /// When a process could not be confined that was to be.
    pub fn take(&mut self, event: SupervisorEvent, inputs: &mut Vec<Fact>) -> Result<(), RunError> {
        let ended = match event {
            SupervisorEvent::Spawned { key, pid, start_time } => {
                let process = ProcessRef { pid, start_time };
                let owner = self.at_work().runner.spawned(key, process.clone());
                if let Some(CommandOwner::Turn(turn)) = owner {
                    let process = Some(process);
                    inputs.push(Fact::TurnProgress(turn, TurnUpdate::Spawned { process }));
                }
                None
            }
            // No fault of the program, whatever it was for.
            SupervisorEvent::SpawnFailed { message, confinement: true, .. } => {
                return Err(RunError::Confinement(message));
            }
            SupervisorEvent::SpawnFailed { key, message, .. } => {
                let mut at_work = crate::locked(&self.at_work);
                let runner = &mut at_work.runner;
                if self.stopping {
                    runner.ended(key, Err(message.into()))
                } else {
                    runner.not_started(&mut self.supervisor, key, message.into())
                }
            }
            SupervisorEvent::Exited(exit) => self.at_work().runner.ended(exit.key, Ok(exit)),
            SupervisorEvent::Printed { key, from, bytes } => {
                self.at_work().programs.printed(key, from, &bytes);
                None
            }
            SupervisorEvent::Warning { message } => {
                inputs.push(Fact::Warn(message));
                None
            }
            // Of its good-bye the end of the connection tells, which is next.
            SupervisorEvent::Alive | SupervisorEvent::Confinement(_) | SupervisorEvent::Farewell => None,
        };
        self.finish(ended);
        Ok(())
    }

    /// Hands on the end of a command, if there is one.
    fn finish(&self, ended: Option<EndedCommand>) {
        let Some(ended) = ended else {
            return;
        };
        self.ended.notify_waiters();
        let is_heard_of = matches!(ended.owner, CommandOwner::Turn(_) | CommandOwner::Nobody);
        // What is dropped is done again by the next session.
        if is_heard_of || !self.stopping {
            ended.finish();
        }
    }

    /// Ends the commands of some owners. Where the session stops, only turns are given time for it.
    pub fn terminate(&mut self, is_meant: impl Fn(CommandOwner) -> bool) -> Result<(), RunError> {
        let meant = self.at_work().runner.keys(is_meant);
        for (key, owner) in meant {
            let has_time = !self.stopping || matches!(owner, CommandOwner::Turn(_));
            let grace_ms = if has_time { GRACE.0 } else { 0 };
            self.send(&SupervisorCommand::Terminate { key, grace_ms })?;
        }
        Ok(())
    }

    /// SIGKILL for everything that still runs.
    pub fn kill_all(&mut self) {
        // If the supervisor is gone, so are its children.
        let _ = self.supervisor.send(&SupervisorCommand::KillAll);
    }

    pub fn send(&mut self, command: &SupervisorCommand) -> Result<(), RunError> {
        self.supervisor.send(command).map_err(RunError::Supervisor)
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
            processes: self.at_work().runner.turn_processes().collect(),
        }
    }

    /// Ends the supervisor and with it every child.
    ///
    /// # Errors
    /// When it did not end in order; whatever could be found of what it held is gone all the same.
    pub async fn close(&mut self) -> io::Result<()> {
        let ended = self.supervisor.shutdown().await.map(drop);
        if ended.is_err() {
            self.end_what_is_left();
        }
        ended
    }

    /// The supervisor is gone, or as good as gone: ends it and what it held, so that nothing works on unseen. Blocks.
    pub fn end_what_is_left(&mut self) {
        // The session ends with an error already, and the next one looks again.
        let _ = self.left().end_within(LAST_CHANCE);
        self.at_work().runner = Runner::default();
    }
}

/// A turn is stopped before it had begun, or is ended that has no process: it is interrupted, if it is still wanted.
pub fn interrupt(state: &State, context: &WorkContext, turn: TurnId) {
    if state.is_out(WorkId::turn(turn)) {
        let end = TurnEnd::interrupted(turn);
        context.post(Fact::TurnEnded(Box::new(end)));
    }
}
