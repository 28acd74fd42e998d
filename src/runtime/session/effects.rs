//! Performing effects: the only place that turns the engine's wishes into processes, requests and file reads.
//!
//! Every effect ends in one [`Fact`] or none. What ends on its own comes back over the supervisor or the channel.

use std::fs::symlink_metadata;
use std::io;
use std::sync::Arc;

use tokio::task::AbortHandle;

use crate::executor::command::{CommandOutputs, GivenUp};
use crate::executor::runner::{CommandOwner, EndedCommand};
use crate::test_clock::scaled;
use rules::domain::{Millis, TaskId, Timestamp, TurnId};
use rules::engine::{Effect, Fact, Job, ProcessRef, Prompt, State, TurnUpdate, may_be_made};

use super::deliveries::Deliveries;
use super::error::RunError;
use super::orders::Orders;
use super::processes::{SessionProcesses, interrupt};
#[cfg(any(feature = "temporal", test))]
use crate::runtime::work::carried;
use crate::runtime::{
    isolation::protection::{Protection, ReadBefore},
    recovery::adopt::Adopted,
    work::{
        context::{Undone, WorkContext, blocking},
        dead_letters::filed,
        notices::deliver,
        turn::turn,
        turn_order::Worker,
        upstream::Remembered,
        worker_prompt,
    },
};

/// The key of a command that has ended, which no other has.
const ENDED: u64 = 0;

/// Performs the effects of a session, and ends what they have begun.
pub struct EffectHandler {
    /// The things by which work reaches the world.
    pub context: WorkContext,
    pub processes: SessionProcesses,
    pub deliveries: Deliveries,
    /// The work that a stop ends, each with its effect.
    work: Vec<(Effect, AbortHandle)>,
    /// The outputs that were read for prompts.
    upstream: Remembered,
}

impl EffectHandler {
    pub fn new(context: WorkContext, supervisor: supervisor::Client) -> Self {
        Self {
            processes: SessionProcesses::new(supervisor, &context),
            context,
            deliveries: Deliveries::default(),
            work: Vec::new(),
            upstream: Remembered::default(),
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

    fn orders<'s>(&'s self, state: &'s State) -> Orders<'s> {
        Orders { state, context: &self.context, confiner: &self.processes.confiner }
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
            if !state.gets_prompt(turn.task) {
                written.push(Prompt { turn, digest: None, cues: 0 });
                continue;
            }
            let order = self.orders(state).prompt(turn.task);
            let quoted = order.quoted();
            if let Some(said) = self.upstream.take(turn, &quoted) {
                written.push(worker_prompt::write(&self.context, turn, &order, &said)?);
                continue;
            }
            // They are read first, and the prompt is due once more behind that.
            let (upstream, run) = (self.upstream.clone(), self.context.folder.clone());
            self.begin(effect, async move {
                blocking(move || upstream.read(&run, turn, quoted)).await?;
                Err(Undone::NotNow)
            });
        }
        Ok(written)
    }

    /// Performs effects whose records are durable. What goes to the dead-letter queue goes there at once.
    pub fn perform(&mut self, state: &State, due: Vec<Effect>) -> Result<(), RunError> {
        let mut failed = Vec::new();
        for effect in due {
            match effect {
                Effect::File { letter } => failed.push(letter),
                effect => self.perform_one(state, effect)?,
            }
        }
        if let Some(letter) = failed.first().cloned() {
            let filing = filed(self.context.clone(), self.orders(state).letters(&failed), failed);
            drop(self.context.spawn(Effect::File { letter }, filing));
        }
        Ok(())
    }

    fn perform_one(&mut self, state: &State, mut effect: Effect) -> Result<(), RunError> {
        // An effect may be overtaken: by a stop, or by the end of the task it was for.
        let is_late = self.processes.stopping || !may_be_made(state, &effect);
        if let Some(at) = not_before(&mut effect).filter(|_| !is_late) {
            let pause = scaled(at.since(Timestamp::now()).as_duration());
            self.begin(effect, async move {
                tokio::time::sleep(pause).await;
                Err(Undone::NotNow)
            });
            return Ok(());
        }
        match effect {
            Effect::StopAll => return self.stop_all(state),
            Effect::Deliver { number, tried, not_before } => {
                if let Some(told) = self.orders(state).delivery(number) {
                    let context = self.context.clone();
                    self.deliveries.begin(async move {
                        let result = deliver(&context, not_before, told).await;
                        context.post(Fact::Delivered { number, tried, result });
                    });
                }
            }
            Effect::RunTurn { turn, .. } if is_late => interrupt(state, &self.context, turn),
            _ if is_late => {}
            Effect::RunTurn { turn, .. } => self.run_turn(state, turn),
            Effect::KillTurn { turn, idle } => return self.kill_turn(turn, idle),
            Effect::StopTask(task) => return self.stop_task(task),
            // These are performed before, all at once.
            Effect::PreparePrompt(_) | Effect::File { .. } => {}
            effect => {
                if let Some(work) = self.orders(state).work(&effect) {
                    match effect {
                        // What it has merged is to be heard of, even where the run stops.
                        Effect::DeliverWork { .. } | Effect::Job { job: Job::Merge(_), .. } => {
                            drop(self.context.spawn(effect, work))
                        }
                        _ => self.begin(effect, work),
                    }
                }
            }
        }
        Ok(())
    }

    /// Begins work that a stop ends.
    fn begin(&mut self, effect: Effect, work: impl Future<Output = Result<Fact, Undone>> + Send + 'static) {
        let work = (effect.clone(), self.context.spawn(effect, work));
        self.work.retain(|(_, work)| !work.is_finished());
        self.work.push(work);
    }

    /// Begins a turn.
    fn run_turn(&mut self, state: &State, turn: TurnId) {
        match self.orders(state).worker(turn) {
            Ok((worker, ends)) => {
                let model = ends.map(|ends| (turn, ends));
                self.context.at_work().model_turns.extend(model);
                self.begin_turn(state, turn, worker);
            }
            Err(unreached) => self.context.post(*unreached),
        }
    }

    fn begin_turn(&mut self, state: &State, id: TurnId, worker: Worker) {
        self.context.at_work().newest_plan = Some(state.plan.clone());
        let work = Box::pin(turn(self.context.clone(), self.orders(state).turn(id), worker));
        let effect = Effect::RunTurn { turn: id, not_before: None };
        // Its end is to be heard of, even where the run stops.
        drop(self.context.spawn(effect, work));
    }

    /// Takes over what outlived an earlier session.
    pub fn adopt(&mut self, state: &State, adopted: Adopted, inputs: &mut Vec<Fact>) {
        let next = adopted.next_key.saturating_sub(1);
        self.context.at_work().runner.is_taken_up_to(next);
        for (key, running) in adopted.running {
            let (turn, process) = (running.turn, Some(running.process));
            self.take_over(state, key, turn, process.clone());
            if !running.known {
                inputs.push(Fact::TurnProgress(turn, TurnUpdate::Spawned { process }));
            }
        }
        for (turn, mut exit) in adopted.ended {
            let outputs = self.take_over(state, ENDED, turn, None);
            // It lay there unwatched and must be what the supervisor saw.
            let out = symlink_metadata(outputs.stdout.unwrap_or_default());
            let found = out.map_or(0, |out| out.len());
            if found != exit.stdout_len {
                let why = format!("it has {found} bytes, {} were printed", exit.stdout_len);
                exit.output_lost.get_or_insert(why);
            }
            let ended = self.context.at_work().runner.ended(ENDED, Ok(exit));
            ended.into_iter().for_each(EndedCommand::finish);
        }
        #[cfg(any(feature = "temporal", test))]
        for turn in adopted.elsewhere {
            let commands = self.orders(state).commands(turn.task, turn.attempt);
            match carried::taken_over(turn, &commands) {
                Ok(job) => {
                    let exit = self.context.commands.unread(CommandOwner::Turn(turn), job);
                    let known = self.context.protection.on_record(state);
                    self.begin_turn(state, turn, Worker::Adopted(exit, known));
                }
                Err(why) => inputs.push(carried::lost(turn, why.to_string())),
            }
        }
    }

    /// Takes over a turn, which goes on in its function from where its command is started. Gives the outputs of that.
    fn take_over(
        &mut self,
        state: &State,
        key: u64,
        turn: TurnId,
        process: Option<ProcessRef>,
    ) -> CommandOutputs {
        let commands = self.orders(state).commands(turn.task, turn.attempt);
        let outputs = commands.turn_outputs(turn);
        let mut at_work = self.context.at_work();
        let exit = at_work.runner.adopt(key, turn, process, outputs.clone());
        drop(at_work);
        let known = self.context.protection.on_record(state);
        self.begin_turn(state, turn, Worker::Adopted(exit, known));
        outputs
    }

    /// Ends a turn whose agent has said nothing for too long: its whole process tree, or its request.
    fn kill_turn(&mut self, turn: TurnId, idle: Millis) -> Result<(), RunError> {
        {
            let mut at_work = self.context.at_work();
            if let Some(silence) = at_work.model_turns.remove(&turn) {
                // One that has just ended by itself does not want to know.
                let _ = silence.send(idle);
            }
            for (key, _) in at_work.runner.keys(|owner| owner == CommandOwner::Turn(turn)) {
                at_work.runner.give_up(key, GivenUp::Silent(idle));
            }
        }
        self.processes.terminate(|owner| owner.turn() == Some(turn))
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
        self.processes.terminate(|owner| owner.task() == Some(task))
    }

    /// Running turns are ended and count as lost; checks and reviews are dropped, they are simply done again.
    fn stop_all(&mut self, state: &State) -> Result<(), RunError> {
        self.processes.stopping = true;
        for (effect, work) in std::mem::take(&mut self.work) {
            if let Effect::RunTurn { turn, .. } = effect
                && !work.is_finished()
            {
                interrupt(state, &self.context, turn);
            }
            work.abort();
        }
        let turns = std::mem::take(&mut self.context.at_work().model_turns);
        turns.into_keys().for_each(|turn| interrupt(state, &self.context, turn));
        // A delivery is not the run's work: it ends within its own time-out.
        self.processes.terminate(|owner| owner != CommandOwner::Nobody)
    }

    /// Ends the supervisor and with it every child.
    ///
    /// # Errors
    /// When it did not end in order; whatever could be found of what it held is gone all the same.
    pub async fn close(&mut self) -> io::Result<()> {
        self.drop_work();
        self.deliveries.abort();
        // It has nothing to tell any more that the run would wait for.
        self.processes.close().await
    }

    /// The supervisor is gone, or as good as gone: ends it and what it held, so that nothing works on unseen. Blocks.
    pub fn end_what_is_left(&mut self) {
        self.drop_work();
        self.processes.end_what_is_left();
    }

    /// Ends all work beside the loop, and removes folders for messages that no turn uses.
    fn drop_work(&self) {
        self.work.iter().for_each(|(_, work)| work.abort());
        drop(std::mem::take(&mut *crate::locked(&self.context.messages)));
    }
}

/// Takes from an effect the moment before which it is not to be performed.
fn not_before(effect: &mut Effect) -> Option<Timestamp> {
    match effect {
        Effect::RunTurn { not_before, .. } | Effect::Ask { not_before, .. } => not_before.take(),
        _ => None,
    }
}
