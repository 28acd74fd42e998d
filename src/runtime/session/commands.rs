//! Commands of a session: started below its supervisor, and what their ends mean to the loop. How each kind is started
//! and what it says stands in `executor`.

use std::sync::Arc;

use crate::executor::runner::{CommandOwner, CommandRequest, EndedCommand};
use crate::executor::task_command::TaskCommands;
use rules::domain::TaskId;
use rules::engine::{Fact, ProcessRef, State, TurnUpdate, WorkId};
use rules::mission::Plan;
use supervisor::SupervisorEvent;

use super::effects::Executor;
use super::error::RunError;
use crate::runtime::isolation::hidden;
use crate::runtime::isolation::protection::{Protection, ReadBefore};

impl Executor {
    /// The values that all commands of a task share.
    pub fn task_commands(&self, plan: &Arc<Plan>, task: TaskId, attempt: u32) -> TaskCommands {
        TaskCommands {
            plan: plan.clone(),
            folder: self.context.folder.clone(),
            secrets: self.programs.secrets(),
            task,
            attempt,
            elsewhere: None,
            apart: None,
        }
    }

    /// Looks at all that is to be protected while the session lives, before anything works. Blocks.
    pub fn protect(&mut self, state: &State, first: &Fact, read: &ReadBefore) -> Vec<Fact> {
        let options = state.options_of(first);
        let taken = Protection::take((state, options), read, self.context.folder.state_folder().path());
        self.context.protection = Arc::new(taken.protection);
        let warnings = taken.warnings.into_iter().map(Fact::Warn);
        let noted = taken.to_note.map(Fact::ProtectionNoted);
        noted.into_iter().chain(warnings).collect()
    }

    /// Looks at what the processes of the session are kept from. Why none of them can be, where that is so, and what they
    /// are not kept from. Blocks.
    pub fn confine(&mut self, state: &State) -> impl Iterator<Item = Fact> + use<> {
        let folder = self.context.folder.state_folder();
        let not_held = self.confiner.look(&state.plan, &folder, &self.context.protection);
        let refused = self.confiner.refused.clone().map(Fact::Unconfined);
        let hidden = state.plan.rules.hidden.iter();
        let not_held: Vec<String> = not_held
            .into_iter()
            .chain(hidden.flat_map(|hidden| hidden.shown.clone()))
            .collect();
        refused.into_iter().chain(not_held.into_iter().map(Fact::Warn))
    }

    /// Starts a command, if its work is still wanted: what a turn does after its end nobody would see.
    pub fn start(&mut self, state: &State, request: CommandRequest) -> Result<(), RunError> {
        let (plan, owner) = (&state.plan, request.owner());
        let is_wanted = match owner {
            CommandOwner::Turn(turn) => state.is_out(WorkId::turn(turn)),
            CommandOwner::Tool(turn) => self.context.at_work().model_turns.contains_key(&turn),
            CommandOwner::Ask(id, _) => state.is_out(WorkId::ask(id)),
            _ => true,
        };
        if !is_wanted || self.stopping && owner != CommandOwner::Nobody {
            match owner.as_turn() {
                // Whoever waits for it hears nothing.
                Some(turn) => self.interrupt(state, turn),
                None => request.refused("it is not wanted any more".into()).finish(),
            }
            return Ok(());
        }
        if let Some(folder) = hidden::folder_to_copy(plan, request.job()) {
            let (worktrees, commands) = (self.context.worktrees.clone(), self.context.commands.clone());
            tokio::task::spawn_blocking(move || match worktrees.with_hidden_files(&folder, &request) {
                Ok((copy, gone)) => commands.start(request.in_copy(&folder, copy).holding(gone)),
                Err(why) => request.refused(why).finish(),
            });
            return Ok(());
        }
        let of = (&**plan, &*self.context.protection);
        let scratch = self.confiner.scratch(of, &request, &self.context.folder);
        let mut at_work = crate::locked(&self.context.at_work);
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
        if let Some(ended) = started {
            self.ended(ended);
        }
        Ok(())
    }

    /// Takes in an event of the supervisor, and adds the facts that follow from it.
    ///
    /// # Errors
    ///
    /// When a process could not be confined that was to be.
    pub fn take(&mut self, event: SupervisorEvent, inputs: &mut Vec<Fact>) -> Result<(), RunError> {
        let ended = match event {
            SupervisorEvent::Spawned { key, pid, start_time } => {
                let process = ProcessRef { pid, start_time };
                let owner = self.context.at_work().runner.spawned(key, process.clone());
                if let Some(CommandOwner::Turn(turn)) = owner {
                    let process = Some(process);
                    inputs.push(Fact::TurnProgress(turn, TurnUpdate::Spawned { process }));
                }
                None
            }
            // No fault of the program, whatever it was for.
            SupervisorEvent::SpawnFailed {
                message,
                confinement: true,
                ..
            } => return Err(RunError::Confinement(message)),
            SupervisorEvent::SpawnFailed { key, message, .. } if self.stopping => {
                self.context.at_work().runner.ended(key, Err(message.into()))
            }
            SupervisorEvent::SpawnFailed { key, message, .. } => {
                let mut at_work = crate::locked(&self.context.at_work);
                at_work
                    .runner
                    .not_started(&mut self.supervisor, key, message.into())
            }
            SupervisorEvent::Exited(exit) => self.context.at_work().runner.ended(exit.key, Ok(exit)),
            SupervisorEvent::Printed { key, from, bytes } => {
                self.context.at_work().programs.printed(key, from, &bytes);
                None
            }
            SupervisorEvent::Warning { message } => {
                inputs.push(Fact::Warn(message));
                None
            }
            // Of its good-bye the end of the connection tells, which is next.
            SupervisorEvent::Alive | SupervisorEvent::Confinement(_) | SupervisorEvent::Farewell => None,
        };
        if let Some(ended) = ended {
            self.ended(ended);
        }
        Ok(())
    }

    fn ended(&mut self, ended: EndedCommand) {
        self.context.ended.notify_waiters();
        let is_heard_of = matches!(ended.owner, CommandOwner::Turn(_) | CommandOwner::Nobody);
        // What is dropped is done again by the next session.
        if is_heard_of || !self.stopping {
            ended.finish();
        }
    }
}
