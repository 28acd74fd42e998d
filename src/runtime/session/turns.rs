//! Turns of workers: each is given what the engine decided, by value; those that a session took over as well, and those that end
//! before their time.

use std::fs::symlink_metadata;

use tokio::sync::oneshot;

use super::effects::Executor;
use super::error::RunError;
use crate::agents::cassette::CallKey;
use crate::executor::command::{CommandOutputs, GivenUp};
use crate::executor::runner::{CommandOwner, EndedCommand};
use crate::runtime::isolation::watch::NotedFiles;
use crate::runtime::recovery::adopt::Adopted;
use crate::runtime::work::agent_backends::Backend;
use crate::runtime::work::context::{not_reachable, refused};
use crate::runtime::work::turn;
use crate::runtime::work::turn_order::{ModelWorker, TurnOrder, Worker};
use rules::domain::{FailureClass, Millis, TurnId};
use rules::engine::{Dialog, Effect, Fact, ProcessRef, State, TurnEnd, TurnUpdate, WorkId};

/// The key of a command that has ended, which no other has.
const ENDED: u64 = 0;

impl Executor {
    /// Begins a turn.
    pub fn run_turn(&mut self, state: &State, turn: TurnId) {
        let plan = &state.plan;
        let agent_id = plan.task(turn.task).agent;
        let dialog = state.task(turn.task).dialog.as_deref();
        let worker = match self.programs.get(agent_id) {
            Err(why) => {
                let why = refused(turn, FailureClass::ProviderAuth, why.to_string());
                return self.context.post(why);
            }
            Ok(Backend::Echo) => Worker::Echo,
            Ok(Backend::Command(agent)) => Worker::Program(
                agent,
                state.session_of(turn.task).map(|known| known.id.clone()),
                dialog.and_then(Dialog::allowed_wish).map(str::to_owned),
            ),
            Ok(Backend::Model(endpoint)) => {
                let agent = plan.agent(agent_id);
                let on_record = CallKey {
                    task: plan.title(turn.task).to_owned(),
                    agent: agent.name.to_string(),
                    attempt: turn.attempt,
                    stage: "work".to_owned(),
                    place: vec![turn.turn],
                };
                let line = match self.line(agent_id, &endpoint, on_record) {
                    Ok(line) => line,
                    Err(why) => return self.context.post(not_reachable(turn, why)),
                };
                let (sender, silence) = oneshot::channel();
                self.context.at_work().model_turns.insert(turn, sender);
                let of = (&**plan, &*self.context.protection);
                let has_tools = agent.spec.works_with_tools();
                let worker = ModelWorker {
                    line,
                    endpoint: *endpoint,
                    mounts: has_tools.then(|| self.confiner.of_tools(of, turn)).flatten(),
                    allowed: dialog.and_then(|dialog| dialog.allowed),
                };
                Worker::Model(Box::new(worker), silence)
            }
        };
        self.begin_turn(state, turn, worker);
    }

    fn begin_turn(&mut self, state: &State, turn: TurnId, worker: Worker) {
        let plan = &state.plan;
        self.context.at_work().newest_plan = Some(plan.clone());
        let is_confined = self.confiner.holds(plan, CommandOwner::Turn(turn));
        let order = TurnOrder {
            turn,
            commands: self.task_commands(plan, turn.task, turn.attempt),
            files: NotedFiles::of(state, &self.context.folder, turn, is_confined),
        };
        let effect = Effect::RunTurn {
            turn,
            not_before: None,
        };
        // Its end is to be heard of, even where the run stops.
        drop(self.spawn(effect, turn::turn(self.context.clone(), order, worker)));
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
    }

    /// Takes over a turn, which goes on in its function from where its command is started. Gives the outputs of that.
    fn take_over(
        &mut self,
        state: &State,
        key: u64,
        turn: TurnId,
        process: Option<ProcessRef>,
    ) -> CommandOutputs {
        let commands = self.task_commands(&state.plan, turn.task, turn.attempt);
        let outputs = commands.turn_outputs(turn);
        let exit = self
            .context
            .at_work()
            .runner
            .adopt(key, turn, process, outputs.clone());
        let known = self.context.protection.on_record(state);
        self.begin_turn(state, turn, Worker::Adopted(exit, known));
        outputs
    }

    /// Ends a turn whose agent has said nothing for too long: its whole process tree, or its request.
    pub fn kill_turn(&mut self, turn: TurnId, idle: Millis) -> Result<(), RunError> {
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
        self.terminate(|owner| owner.turn() == Some(turn))
    }

    /// The run is stopped before a turn had begun, or ended that has no process: it is interrupted, if it is still wanted.
    pub fn interrupt(&self, state: &State, turn: TurnId) {
        if state.is_out(WorkId::turn(turn)) {
            let end = TurnEnd::interrupted(turn);
            self.context.post(Fact::TurnEnded(Box::new(end)));
        }
    }
}
