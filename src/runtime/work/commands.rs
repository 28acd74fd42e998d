//! Commands of a session: started below its supervisor, and what their ends mean to the loop. How each kind is started
//! and what it says stands in `executor`.

use std::sync::Arc;

use crate::agents::command::missing_program;
use crate::executor::approver;
use crate::executor::command::{CommandEnd, CommandJob, How};
use crate::executor::probes::Grading;
use crate::executor::program_watch::{WatchedProgram, WatchedPrograms};
use crate::executor::runner::{CommandOwner, CommandRequest, EndedCommand};
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::executor::{check, finish_gate};
use crate::store::SpoolName;
use rules::domain::{TaskId, TurnId};
use rules::engine::{CheckResult, Effect, Fact, Job, JobEnd, ProcessRef, State, TurnUpdate};
use rules::mission::model::Check;
use rules::mission::{ApproverPlan, Plan};
use supervisor::SupervisorEvent;

use crate::runtime::isolation::hidden;
use crate::runtime::session::effects::{Executor, Message, Ready, Sender};
use crate::runtime::session::error::RunError;

/// A command whose end is one fact.
pub fn request(
    sender: Sender,
    owner: CommandOwner,
    command: CommandJob,
    meaning: impl FnOnce(&CommandEnd) -> Fact + Send + 'static,
) -> CommandRequest {
    // After the loop has ended it is of no use.
    let then = move |end| drop(sender.send(Message::Fact(meaning(&end))));
    CommandRequest::new(owner, command, Box::new(then))
}

fn finish(ended: EndedCommand) {
    tokio::task::spawn_blocking(|| ended.finish());
}

impl Executor {
    /// The values that all commands of a task share.
    pub fn task_commands(&self, plan: &Arc<Plan>, task: TaskId, attempt: u32) -> TaskCommands {
        TaskCommands {
            plan: plan.clone(),
            folder: self.folder.clone(),
            secrets: self.programs.secrets(),
            task,
            attempt,
            elsewhere: None,
            apart: None,
        }
    }

    /// Looks at what the processes of the session are kept from. Why none of them can be, where that is so, and what they
    /// are not kept from. Blocks.
    pub fn confine(&mut self, state: &State) -> impl Iterator<Item = Fact> + use<> {
        let folder = self.folder.state_folder();
        let not_held = self.confiner.look(&state.plan, &folder, &self.protection);
        let refused = self.confiner.refused.clone().map(Fact::Unconfined);
        let hidden = state.plan.rules.hidden.iter();
        let not_held: Vec<String> = not_held
            .into_iter()
            .chain(hidden.flat_map(|hidden| hidden.shown.clone()))
            .collect();
        refused.into_iter().chain(not_held.into_iter().map(Fact::Warn))
    }

    /// Starts a command. What a turn does after its end nobody would see.
    pub fn start(&mut self, plan: &Arc<Plan>, request: CommandRequest) -> Result<(), RunError> {
        let owner = request.owner();
        if matches!(owner, CommandOwner::Tool(turn) if !self.is_at_work(turn)) {
            finish(request.refused("its turn has ended".into()));
            return Ok(());
        }
        if let Some(folder) = hidden::folder_to_copy(plan, request.job()) {
            let (worktrees, sender, plan) = (self.worktrees.clone(), self.sender.clone(), plan.clone());
            tokio::task::spawn_blocking(move || match worktrees.with_hidden_files(&folder, &request) {
                Ok((copy, gone)) => {
                    let request = request.in_copy(&folder, copy).holding(gone);
                    // After the loop has ended it is of no use.
                    let _ = sender.send(Message::Begin(plan, Box::new(request)));
                }
                Err(why) => request.refused(why).finish(),
            });
            return Ok(());
        }
        if let Some(task) = owner.task() {
            self.begun.count(task);
        }
        self.newest_plan = Some(plan.clone());
        let of = (&**plan, &*self.protection);
        let started = match self.confiner.scratch(of, &request, &self.folder) {
            Ok(scratch) => {
                let request = self.confiner.confined(of, request, scratch);
                let started = self.runner.start(&mut self.supervisor, request);
                started.map_err(RunError::Supervisor)?
            }
            Err(why) => Some(request.refused(why)),
        };
        if let Some(ended) = started {
            let mut inputs = Vec::new();
            self.ended(ended, &mut inputs);
            inputs.into_iter().for_each(|input| self.post(input));
        }
        Ok(())
    }

    /// Starts a command of a task, if the mission still has it.
    fn start_for(
        &mut self,
        commands: &TaskCommands,
        work: CommandWork<'_>,
        turn: TurnId,
        job: Job,
        meaning: impl FnOnce(&CommandEnd) -> JobEnd + Send + 'static,
    ) -> Result<(), RunError> {
        let Ok(command) = commands.job(work) else {
            return Ok(());
        };
        let (sender, is_check) = (self.sender.clone(), matches!(job, Job::Check(_) | Job::Finish(_)));
        let script = command
            .script()
            .filter(|_| is_check)
            .unwrap_or_default()
            .to_owned();
        let request = request(
            self.sender.clone(),
            CommandOwner::Task(turn.task),
            command,
            move |end| {
                if let (How::Exited(127), Some(program)) = (end.how(), missing_program(&script)) {
                    // No word about the work: whoever can install it need not have that done again.
                    let why = format!("`{script}` judges the work, and `{program}` was not found on PATH");
                    drop(sender.send(Message::Broken(why.into())));
                }
                let end = meaning(end);
                Fact::JobEnded { turn, job, end }
            },
        );
        self.start(&commands.plan, request)
    }

    /// Prepares the command of an effect beside the loop. It is started if it is still wanted then.
    pub fn prepare(
        &self,
        effect: Effect,
        prepare: impl FnOnce() -> Result<CommandRequest, Box<Fact>> + Send + 'static,
    ) {
        self.aside(move || {
            let command = prepare();
            Message::Ready(Box::new(Ready { effect, command }))
        });
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
                if let Some(CommandOwner::Turn(turn)) = self.runner.spawned(key, process.clone()) {
                    self.processes.insert(turn, process.clone());
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
                self.runner.ended(key, Err(message.into()))
            }
            SupervisorEvent::SpawnFailed { key, message, .. } => {
                self.runner.not_started(&mut self.supervisor, key, message.into())
            }
            SupervisorEvent::Exited(exit) => self.runner.ended(exit.key, Ok(exit)),
            SupervisorEvent::Printed { key, from, bytes } => {
                self.programs_at_work.printed(key, from, &bytes);
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
            self.ended(ended, inputs);
        }
        Ok(())
    }

    /// Looks beside the loop at the programs of agents that presets read.
    pub fn look_at_programs(&mut self) {
        let identity = self.supervisor.identity();
        if let Some(mut programs) = self.programs_at_work.begin(&self.runner, identity) {
            self.aside(move || {
                programs.values_mut().for_each(WatchedProgram::look);
                Message::ProgramsSeen(programs)
            });
        }
    }

    /// Programs were looked at: what they do is told, and whoever waits for too long is ended.
    ///
    /// # Errors
    /// When the supervisor is gone.
    pub fn programs_seen(
        &mut self,
        programs: WatchedPrograms,
        inputs: &mut Vec<Fact>,
    ) -> Result<(), RunError> {
        let tell = |turn, text| inputs.push(Fact::TurnProgress(turn, TurnUpdate::Activity { summary: text }));
        self.programs_at_work
            .end(programs, &mut self.runner, &mut self.supervisor, tell)
            .map_err(RunError::Supervisor)
    }

    fn ended(&mut self, ended: EndedCommand, inputs: &mut Vec<Fact>) {
        match ended.owner {
            CommandOwner::Turn(turn) => self.turn_ended(turn, ended.outputs, ended.result, inputs),
            CommandOwner::Nobody => finish(ended),
            // What is dropped is done again by the next session.
            CommandOwner::Tool(_) | CommandOwner::Task(_) | CommandOwner::Ask(..) | CommandOwner::Audit
                if self.stopping => {}
            CommandOwner::Tool(_) | CommandOwner::Task(_) | CommandOwner::Ask(..) | CommandOwner::Audit => {
                finish(ended)
            }
        }
    }

    /// Does work of a task that is neither a turn nor a question to an agent.
    pub fn run_job(&mut self, state: &State, turn: TurnId, job: Job) -> Result<(), RunError> {
        match job {
            Job::Scan { .. } => self.scan_files(state, turn, job),
            Job::Artifacts(dependency) => self.scan_artifacts(state, turn, dependency),
            Job::Baseline => self.take_baseline(state, turn),
            Job::Look(look) => self.take_look(state, turn, look),
            Job::Finish(command) => return self.run_finish(state, turn, command),
            Job::Check(check) => return self.run_check(state, turn, job, (turn.task, check)),
            Job::Grade(round) => self.grade(state, turn, round),
            Job::Stage(step, round) => self.run_stage(state, turn, (step, round)),
            Job::PeerCheck(peer, check) => return self.run_check(state, turn, job, (peer, check)),
            Job::Merge(_) => {
                let (plan, task) = (state.plan.clone(), turn.task);
                let attempt = &state.task(task).attempt;
                let has_worked = attempt.number > 1 || attempt.turn > 0;
                let known = has_worked.then(|| state.committed(task));
                let worktrees = self.worktrees.clone();
                let protection = self.protection.clone();
                self.aside(
                    move || match worktrees.merge(&plan, &protection, task, known.as_ref()) {
                        Err(why) => Message::Broken(why),
                        Ok(merged) => {
                            let end = JobEnd::Merged(merged);
                            Message::Fact(Fact::JobEnded { turn, job, end })
                        }
                    },
                );
            }
            Job::Approver { number, approver } => return self.ask_approver(state, turn, (number, approver)),
        }
        Ok(())
    }

    /// Runs a check of a task, or that of another one in the folder of this one, where both lie together.
    fn run_check(
        &mut self,
        state: &State,
        turn: TurnId,
        job: Job,
        (of, check): (TaskId, u32),
    ) -> Result<(), RunError> {
        let (task, plan) = (turn.task, state.plan.clone());
        let commands = TaskCommands {
            elsewhere: Some(plan.workspace_seen_by(task, of)),
            ..self.task_commands(&plan, of, turn.attempt)
        };
        if let Some(Check::FileExists { .. }) = check::declared(&plan, of, check) {
            self.look(turn, job, move || {
                JobEnd::Checked(check::files(&plan, of, check, &commands.workspace()))
            });
            return Ok(());
        }
        let output = match job {
            Job::PeerCheck(..) => SpoolName::PeerCheck(task, turn.attempt, of, check),
            _ => SpoolName::Check(task, turn.attempt, check),
        };
        let reruns = state.task(task).reruns(job);
        self.start_for(
            &commands,
            CommandWork::Check(check, output),
            turn,
            job,
            move |end| {
                JobEnd::Checked(CheckResult {
                    reruns,
                    ..check::result(&plan, of, check, end)
                })
            },
        )
    }

    fn run_finish(&mut self, state: &State, turn: TurnId, command: u32) -> Result<(), RunError> {
        let plan = state.plan.clone();
        let commands = self.task_commands(&plan, turn.task, turn.attempt);
        let work = CommandWork::Finish(command, SpoolName::Finish(turn, command));
        self.start_for(&commands, work, turn, Job::Finish(command), move |end| {
            JobEnd::Checked(finish_gate::finished(&plan, turn.task, command, end))
        })
    }

    /// Grades what plain facts decide: once all commands of the round have ended.
    fn grade(&mut self, state: &State, turn: TurnId, round: u32) {
        let said = |id| (state.current_turn(id), state.task(id).output.clone());
        let grading = Grading {
            commands: self.task_commands(&state.plan, turn.task, turn.attempt),
            round,
            judged: state.judged(turn.task).map(said).collect(),
        };
        let runner = self.commands.clone();
        self.beside(async move {
            let (job, end) = (Job::Grade(round), grading.run(&runner).await?);
            Ok(Message::Fact(Fact::JobEnded { turn, job, end }))
        });
    }

    /// Asks an approver that is a command. Agents are asked as agents are; people answer by themselves.
    fn ask_approver(
        &mut self,
        state: &State,
        turn: TurnId,
        (number, approver): (u32, u32),
    ) -> Result<(), RunError> {
        let task = state.task(turn.task);
        let waiting = task.hold();
        let mut approvals = state.plan.task(turn.task).approvals.iter();
        let approval =
            approvals.find(|approval| waiting.is_some_and(|waiting| waiting.gate == approval.gate));
        match approval.and_then(|approval| approval.approvers.get(approver as usize)) {
            Some(ApproverPlan::Command(command)) => {
                let commands = self.task_commands(&state.plan, turn.task, task.attempt.number);
                let work = CommandWork::Approver(number, approver, command);
                let (command, asked) = (command.clone(), Job::Approver { number, approver });
                let meaning = move |end: &CommandEnd| approver::answered(&command, end);
                self.start_for(&commands, work, turn, asked, meaning)
            }
            Some(ApproverPlan::Agent(_) | ApproverPlan::Person(_)) | None => Ok(()),
        }
    }
}
