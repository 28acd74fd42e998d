//! What each piece of work is given of the state, by value: that is read here, where its effect is performed, and nowhere below.

use std::pin::Pin;

use serde_json::Value;
use tokio::sync::oneshot;

use crate::executor::heuristic::Grading;
use crate::executor::runner::CommandOwner;
use crate::executor::task_command::TaskCommands;
use rules::domain::{AgentId, AskId, DeadLetter, FailureClass, Millis, Purpose, TaskId, TurnId};
use rules::engine::{Dialog, Effect, Fact, Job, State, asks_what_it_said};
use rules::plan::ApproverPlan;

use crate::runtime::{
    isolation::{
        confinement::Confiner,
        watch::{NotedFiles, record_before_turn},
    },
    work::{
        agent_backends::Backend,
        ask, audit, baseline,
        context::{AskOrder, JobOrder, Undone, WorkContext, blocking, not_reachable, refused},
        dead_letters::letter_of,
        further_stages::stage,
        jobs,
        notices::document,
        scan, test_looks,
        turn_order::{ModelWorker, TurnOrder, Worker},
        worker_prompt::PromptOrder,
    },
};

/// A piece of work that has been given all that it needs, and has not begun.
pub type OrderedWork = Pin<Box<dyn Future<Output = Result<Fact, Undone>> + Send>>;

/// The things that orders are made from.
pub struct Orders<'s> {
    pub state: &'s State,
    pub context: &'s WorkContext,
    pub confiner: &'s Confiner,
}

impl<'s> Orders<'s> {
    /// The values that all commands of a task share.
    pub fn commands(&self, task: TaskId, attempt: u32) -> TaskCommands {
        TaskCommands {
            plan: self.state.plan.clone(),
            folder: self.context.folder.clone(),
            secrets: self.context.agents.secrets(),
            trace: self.state.options.trace.clone(),
            task,
            attempt,
            elsewhere: None,
            apart: None,
        }
    }

    /// The work that an effect asks for, but for turns and deliveries; `None` where it asks for none.
    pub fn work(&self, effect: &Effect) -> Option<OrderedWork> {
        let (plan, context) = (&self.state.plan, self.context.clone());
        Some(match *effect {
            Effect::Ask { id, purpose, agent, ref strict, .. } => {
                Box::pin(ask::ask(context, self.question((id, purpose), agent, strict.clone())))
            }
            Effect::NoteFiles { turn, starts, shared } => {
                let is_isolated = plan.task(turn.task).is_isolated();
                let known = is_isolated.then(|| self.state.committed(turn.task));
                let commands = self.commands(turn.task, turn.attempt);
                Box::pin(record_before_turn(context, commands, (turn, starts, shared), known))
            }
            Effect::Audit { number } => {
                let work = (number, self.state.audited_work());
                Box::pin(audit::audit(context, self.commands(TaskId(0), 0), work))
            }
            Effect::DeliverWork { merge } => {
                let plan = plan.clone();
                Box::pin(async move {
                    let delivered = blocking(move || context.worktrees.deliver(&plan, merge)).await?;
                    Ok(Fact::WorkDelivered(delivered))
                })
            }
            Effect::Job { turn, job } => return self.job(turn, job),
            _ => return None,
        })
    }

    /// A call to an agent.
    fn question(&self, (id, purpose): (AskId, Purpose), agent: AgentId, strict: Option<String>) -> AskOrder {
        let known = |id| (id, self.state.task(id).clone());
        let task = self.state.task(id.task);
        AskOrder {
            id,
            purpose,
            agent,
            strict,
            commands: self.commands(id.task, task.attempt.number),
            task: task.clone(),
            dependency: purpose.dependency().map(|id| self.state.task(id).clone()),
            judged: match purpose {
                Purpose::Grade { .. } => self.state.judged(id.task).map(known).collect(),
                _ => Vec::new(),
            },
            is_confined: self.confiner.holds(&self.state.plan, CommandOwner::Task(id.task)),
        }
    }

    /// Work of a task that is neither a turn nor a question to an agent.
    fn job(&self, turn: TurnId, job: Job) -> Option<OrderedWork> {
        let (state, context) = (self.state, self.context.clone());
        let (plan, task, task_state) = (&state.plan, turn.task, state.task(turn.task));
        let order = JobOrder { turn, job, commands: self.commands(task, turn.attempt) };
        let given = order.clone();
        let mut makes_folder = None;
        let work: jobs::JobWork = match job {
            Job::Scan { .. } => {
                let is_asked = asks_what_it_said(plan, task, task_state);
                let answer = is_asked.then(|| task_state.output.clone());
                Box::pin(scan::scan(context, given, answer))
            }
            Job::Artifacts(dependency) => Box::pin(scan::artifacts(plan.clone(), dependency)),
            Job::Baseline => {
                makes_folder = plan.task(task).is_isolated().then(|| state.committed(task));
                Box::pin(baseline::baseline(context, given))
            }
            Job::Look(at) => {
                let control = task_state.attempt.looks.control();
                let known = control.map(|seen| seen.key).collect();
                Box::pin(test_looks::look(context, given, (at, state.look_sides(task)), known))
            }
            Job::Finish(command) => Box::pin(jobs::finish(context, given, command)),
            Job::Check(at) => Box::pin(jobs::check(context, given, (task, at), task_state.reruns(job))),
            Job::PeerCheck(of, at) => Box::pin(jobs::check(context, given, (of, at), task_state.reruns(job))),
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
                Box::pin(jobs::merge(context, given, has_worked.then(|| state.committed(task))))
            }
            Job::Approver { number, approver } => {
                // Agents are asked as agents are; people answer by themselves.
                let command = self.approver_command(task, approver)?;
                Box::pin(jobs::ask_approver(context, given, (number, approver), command))
            }
        };
        let is_confined = self.confiner.holds(plan, CommandOwner::Task(task));
        let context = self.context.clone();
        Some(Box::pin(jobs::job(context, order, (is_confined, makes_folder), work)))
    }

    /// The command that is asked for an approval that a task waits for; `None` where the approver is none.
    fn approver_command(&self, task: TaskId, approver: u32) -> Option<Box<str>> {
        let waiting = self.state.task(task).hold()?;
        let mut approvals = self.state.plan.task(task).approvals.iter();
        let approval = approvals.find(|approval| waiting.gate == approval.gate)?;
        match approval.approvers.get(approver as usize)? {
            ApproverPlan::Command(command) => Some(command.clone()),
            ApproverPlan::Agent(_) | ApproverPlan::Person(_) => None,
        }
    }

    /// What the prompt of a task's next turn is made from.
    pub fn prompt(&self, id: TaskId) -> PromptOrder<'s> {
        let (state, plan) = (self.state, &*self.state.plan);
        let named = |id| (id, state.task(id));
        let stands = |id| match plan.route(id) {
            Some(_) => id,
            // The work of its fixup is what there is to build on.
            None => state.effective_task(id),
        };
        let upstream = plan.dependencies.of(id).iter();
        PromptOrder {
            plan,
            id,
            task: state.task(id),
            goes_on: state.session_of(id).is_some(),
            judging: state.protected.as_ref(),
            upstream: upstream.map(|on| named(stands(*on))).collect(),
            returned_by: plan.returns.of(id).iter().map(|by| named(*by)).collect(),
        }
    }

    /// A turn, whoever does it.
    pub fn turn(&self, turn: TurnId) -> TurnOrder {
        let is_confined = self.confiner.holds(&self.state.plan, CommandOwner::Turn(turn));
        TurnOrder {
            turn,
            commands: self.commands(turn.task, turn.attempt),
            files: NotedFiles::of(self.state, &self.context.folder, turn, is_confined),
        }
    }

    /// The worker of a turn, and the sender that ends it where it has no process.
    ///
    /// # Errors
    /// The fact that its agent is not reached.
    pub fn worker(&self, turn: TurnId) -> Result<(Worker, Option<oneshot::Sender<Millis>>), Box<Fact>> {
        let (plan, agents) = (&self.state.plan, &self.context.agents);
        let id = plan.task(turn.task).agent;
        let dialog = self.state.task(turn.task).dialog.as_deref();
        let backend = agents.get(id);
        let backend =
            backend.map_err(|why| Box::new(refused(turn, FailureClass::ProviderAuth, why.to_string())))?;
        let endpoint = match backend {
            Backend::Echo => return Ok((Worker::Echo, None)),
            Backend::Command(agent) => {
                let session = self.state.session_of(turn.task);
                let session = session.map(|known| known.id.clone());
                let allowed = dialog.and_then(Dialog::allowed_wish).map(str::to_owned);
                return Ok((Worker::Program(agent, session, allowed), None));
            }
            Backend::Model(endpoint) => endpoint,
        };
        let agent = plan.agent(id);
        let commands = self.commands(turn.task, turn.attempt);
        let on_record = commands.call_key(id, "work", vec![turn.turn]);
        let line = agents.line(id, &endpoint, on_record);
        let of = (&**plan, &*self.context.protection);
        let has_tools = agent.spec.works_with_tools();
        let worker = ModelWorker {
            line: line.map_err(|why| Box::new(not_reachable(turn, why)))?,
            endpoint: *endpoint,
            mounts: has_tools.then(|| self.confiner.of_tools(of, turn)).flatten(),
            allowed: dialog.and_then(|dialog| dialog.allowed),
        };
        let (sender, silence) = oneshot::channel();
        Ok((Worker::Model(Box::new(worker), silence), Some(sender)))
    }

    /// The name of the channel that a notification is for, and what it is told; `None` where that is not open any more.
    pub fn delivery(&self, number: u32) -> Option<(Box<str>, Value)> {
        let open = self.state.notices.open(number)?;
        let (plan, run, channel) = (&self.state.plan, self.context.folder.id(), &open.channel);
        let document = document(plan, run, number, channel, &open.notice);
        Some((channel.clone(), document))
    }

    /// Letters for failed operations of the run that the queue is not known to have.
    pub fn letters(&self, ids: &[String]) -> Vec<DeadLetter> {
        let known = self.state.notices.letters();
        let failed = ids.iter().filter_map(|id| known.get(id));
        let letter = |failed| letter_of(&self.state.plan, self.context.folder.id(), failed);
        failed.map(letter).collect()
    }
}
