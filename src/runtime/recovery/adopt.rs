//! What a session that died left behind: turns that still work below its supervisor, or ended while no session looked.
//!
//! A worker turn runs for half an hour and costs money, so it outlives its runner, and the next one takes it over:
//! from the supervisor while that lives, else by the supervisor's record of exits. Nothing is believed that cannot be told apart
//! from something else: a process counts by boot, number and start time, an exit by its only record.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::time::Duration;

use crate::agents::command_line::TASK_VARIABLE;
use crate::executor::command::GRACE;
use crate::store::RunFolder;
use rules::domain::{TaskId, TurnId};
use rules::engine::{Event, ProcessRef, RunEvent, State, SupervisorRef, TurnEvent, TurnUpdate};
#[cfg(any(feature = "temporal", test))]
use rules::mission::model::AgentMiddleware;
#[cfg(any(feature = "temporal", test))]
use rules::plan::Plan;
use supervisor::{ExitRecord, Handle, Holding, NotFound, ProcessIdentity};

use super::recover::Recovered;
use super::supervision;

/// How long a supervisor may take to see that its runner is gone.
const REUNION_WITHIN: Duration = Duration::from_secs(5);
/// How long one may take that could not open its socket at first.
const DOOR_WITHIN: Duration = Duration::from_millis(1_500);
/// How long a supervisor, or a child, may take to end.
const END_WITHIN: Duration = Duration::from_secs(10);

/// The processes that a session may have left running, so that they can be recognised later.
#[derive(Debug, Clone, Default)]
pub struct Left {
    pub supervisor: SupervisorRef,
    /// The processes of its turns in flight.
    pub processes: BTreeMap<TurnId, ProcessRef>,
}

impl Left {
    /// Takes in one event of a run, so that it holds what the last session started and put no end of on record.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Run(RunEvent::Started(started)) => self.supervisor = started.supervisor.clone(),
            Event::Run(RunEvent::Resumed(resume)) => self.supervisor = resume.supervisor.clone(),
            Event::Turn(turn, TurnEvent::Progress(TurnUpdate::Spawned { process: Some(process) })) => {
                self.processes.insert(*turn, process.clone());
            }
            Event::Turn(turn, TurnEvent::Finished(_) | TurnEvent::Lost) => {
                self.processes.remove(turn);
            }
            _ => {}
        }
    }

    fn identity(&self) -> ProcessIdentity {
        supervision::identity(&self.supervisor)
    }

    fn process(&self, process: &ProcessRef) -> ProcessIdentity {
        ProcessIdentity {
            pid: process.pid,
            start_time: process.start_time,
            boot_id: self.supervisor.boot_id.clone(),
        }
    }

    /// The turns that still work below their supervisor.
    pub fn at_work(&self) -> Vec<TurnId> {
        if self.processes.is_empty() || !supervisor::alive(&self.identity()) {
            return Vec::new();
        }
        let running = self.processes.iter();
        running
            .filter(|(_, process)| supervisor::alive(&self.process(process)))
            .map(|(turn, _)| *turn)
            .collect()
    }

    /// Whether the supervisor holds turns that a next session could take over. The caller holds the lock of the state folder.
    /// Blocks.
    pub fn holds_turns(&self, run: &RunFolder) -> bool {
        match self.reconnect(run) {
            Ok((_, holding)) => !holding.children.is_empty(),
            Err(NotFound::Ended) => false,
            Err(_) => !self.at_work().is_empty(),
        }
    }

    /// Makes sure that nothing of it still runs. What is recognised by boot, number and start time is killed, and what
    /// carries the supervisor's marker; nothing else is ever signalled. Blocks.
    ///
    /// # Errors
    /// What cannot be ended.
    pub fn end(&self) -> io::Result<()> {
        self.end_within(END_WITHIN)
    }

    /// Ends the supervisor and the processes, where the supervisor itself has only `wait` to do it.
    ///
    /// # Errors
    ///
    /// What cannot be ended.
    pub fn end_within(&self, wait: Duration) -> io::Result<()> {
        if self.supervisor.pid == 0 {
            return Ok(());
        }
        supervisor::end(&self.identity(), wait)?;
        let mut left = self.processes.values();
        left.try_for_each(|process| supervisor::end_group(&self.process(process)))
    }

    /// Ends the turns of one task and leaves those of all others alone: through the supervisor, if it lives and can be spoken
    /// to, else whatever is recognised as the task's. Blocks.
    ///
    /// # Errors
    /// What cannot be ended.
    pub fn end_task(&self, run: &RunFolder, task: TaskId, title: &str) -> io::Result<()> {
        if self.supervisor.pid == 0 {
            return Ok(());
        }
        match self.reconnect(run) {
            Ok((mut supervisor, holding)) => {
                let of_task = format!("{}.", task.0);
                let called_off = holding.children.iter();
                let called_off = called_off.filter(|child| child.label.starts_with(&of_task));
                let keys: Vec<u64> = called_off.map(|child| child.key).collect();
                supervisor.end_children(&keys, GRACE.as_duration(), END_WITHIN)
            }
            Err(_) => {
                let of_task = self.processes.iter().filter(|(turn, _)| turn.task == task);
                let leaders: Vec<_> = of_task.map(|(_, process)| self.process(process)).collect();
                supervisor::end_some(&self.identity(), &leaders, (TASK_VARIABLE, title))
            }
        }
    }

    /// Why the supervisor cannot be found, as it had no session to tell.
    pub fn note(&self, run: &RunFolder) -> Option<String> {
        let identity = self.identity();
        let log = supervisor::read_exits(&run.exits()).ok().filter(|_| supervisor::alive(&identity))?;
        log.last_note_of(&identity).map(str::to_owned)
    }

    fn reconnect(&self, run: &RunFolder) -> Result<(Handle, Holding), NotFound> {
        let within = match self.note(run) {
            None => REUNION_WITHIN,
            // It has seen that its runner is gone, and tries again to open its socket.
            Some(_) => DOOR_WITHIN,
        };
        supervisor::reconnect(&run.supervisor_socket(), &self.identity(), within)
    }
}

/// A turn that goes on in the next session.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    pub turn: TurnId,
    pub process: ProcessRef,
    /// Whether the journal knows the process.
    pub known: bool,
}

/// The processes that a session takes over from the one that died.
#[derive(Debug, Default)]
pub struct Adopted {
    /// Supervisors of the run that were killed: what they left must not speak for a person.
    pub killed: Vec<ProcessIdentity>,
    /// The first key that is free for its own children.
    pub next_key: u64,
    /// The turns that still work, by their keys.
    pub running: BTreeMap<u64, Running>,
    /// The turns that have ended.
    pub ended: Vec<(TurnId, supervisor::ChildExit)>,
    /// The turns that were handed to other machines, with nobody here any more who stands for them.
    pub elsewhere: Vec<TurnId>,
    /// Sentences that a person should know.
    pub warnings: Vec<String>,
}

impl Adopted {
    /// The turns that are not lost.
    pub fn turns(&self) -> Vec<TurnId> {
        let ended = self.ended.iter().map(|(turn, _)| *turn);
        self.running
            .values()
            .map(|running| running.turn)
            .chain(ended)
            .chain(self.elsewhere.iter().copied())
            .collect()
    }
}

/// The supervisor of a session, with what it took over.
#[derive(Debug)]
pub struct Keeping {
    /// The one supervisor of the run.
    pub supervisor: Handle,
    /// The processes that outlived the session before.
    pub adopted: Adopted,
}

impl Keeping {
    /// A supervisor that was just forked, for a run that just begins.
    pub fn fresh(supervisor: Handle) -> Self {
        Self { supervisor, adopted: Adopted::default() }
    }
}

/// Takes over what a session left, or ends what cannot be taken over. `fresh` is the supervisor that this process forked; it is
/// dismissed where the old one still serves. The caller holds the lock of the state folder. Blocks.
///
/// # Errors
/// What cannot be ended: two must never work at once.
pub fn adopt(run: &RunFolder, recovered: &Recovered, fresh: Handle) -> io::Result<Keeping> {
    let left = recovered.left();
    let mut wanted = in_flight(&recovered.state);
    let mut adopted = Adopted::default();
    if left.supervisor.pid == 0 {
        // Of a copy nothing works here; what other machines do for its original is done for it as well.
        #[cfg(any(feature = "temporal", test))]
        adopted.find_elsewhere(run, &recovered.state.plan, &wanted);
        return Ok(Keeping { supervisor: fresh, adopted });
    }
    adopted.killed = supervision::killed(run, recovered);
    let supervisor = match left.reconnect(run) {
        Ok((mut old, holding)) => {
            let keys = adopted.take_over(&left, holding, &mut wanted);
            old.end_children(&keys, Duration::ZERO, END_WITHIN)?;
            fresh.dismiss();
            old.that_promised(left.supervisor.farewell.clone())
        }
        Err(why) => {
            let note = left.note(run).map(|note| format!(" ({note})")).unwrap_or_default();
            left.end()?;
            if supervisor::is_held(&run.exits()) {
                let message = "their supervisor cannot be seen from here; resume in the namespace of processes that it runs in";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
            }
            if !matches!(why, NotFound::Ended) {
                adopted.warnings.push(format!(
                    "the supervisor of the last session was ended, with the agents it held: {why}{note}"
                ));
            }
            fresh
        }
    };
    if let Some(pid) = supervisor::something_left_of(&adopted.killed) {
        adopted.warnings.push(supervision::left_alive(pid));
    }
    #[cfg(any(feature = "temporal", test))]
    adopted.find_elsewhere(run, &recovered.state.plan, &wanted);
    // Behind the look at what runs: what ended before it is on record.
    adopted.look_up(run, &left, &wanted);
    Ok(Keeping { supervisor, adopted })
}

/// Turns of agents that run as processes and whose end is not in the journal, by their labels.
fn in_flight(state: &State) -> HashMap<String, TurnId> {
    let of_process = |id| state.plan.worker_of(id).spec.adapter.starts_program();
    let running = state.plan.task_ids().filter(|id| state.task(*id).work.turn.is_some());
    running
        .filter(|id| of_process(*id))
        .map(|id| state.current_turn(id))
        .map(|turn| (turn.to_string(), turn))
        .collect()
}

impl Adopted {
    /// Takes what still works. Returns the keys of children that are not wanted any more.
    fn take_over(&mut self, left: &Left, holding: Holding, wanted: &mut HashMap<String, TurnId>) -> Vec<u64> {
        self.next_key = holding.next_key;
        let mut unwanted = Vec::new();
        for child in holding.children {
            let Some(turn) = wanted.remove(&child.label) else {
                unwanted.push(child.key);
                continue;
            };
            let process = ProcessRef { pid: child.pid, start_time: child.start_time };
            let known = left.processes.contains_key(&turn);
            let running = Running { turn, process, known };
            self.running.insert(child.key, running);
        }
        unwanted
    }

    /// Finds the turns that were handed to other machines, which may still be at work there.
    #[cfg(any(feature = "temporal", test))]
    fn find_elsewhere(&mut self, run: &RunFolder, plan: &Plan, wanted: &HashMap<String, TurnId>) {
        let is_handed_out = |label: &str| run.carried_request(label).exists();
        let outlives = |turn: TurnId| plan.middleware(turn.task).has(AgentMiddleware::CheckpointResume);
        let found = wanted.iter().filter(|(label, turn)| is_handed_out(label) && outlives(**turn));
        self.elsewhere = found.map(|(_, turn)| *turn).collect();
        self.elsewhere.sort_unstable();
    }

    /// Looks up the ends of turns that no longer run. One that is not on record, or not beyond doubt, stays unknown.
    fn look_up(&mut self, run: &RunFolder, left: &Left, wanted: &HashMap<String, TurnId>) {
        // In another boot nobody knows how much of what was printed has reached the disk.
        if wanted.is_empty() || !supervisor::is_this_boot(&left.supervisor.boot_id) {
            return;
        }
        let log = match supervisor::read_exits(&run.exits()) {
            Ok(log) => log,
            Err(error) => {
                self.warnings.push(format!(
                    "{} cannot be read, so turns that ended meanwhile are lost: {error}",
                    run.exits().display()
                ));
                return;
            }
        };
        let mut found: BTreeMap<TurnId, Vec<ExitRecord>> = BTreeMap::new();
        for record in log.records {
            if let Some(turn) = wanted.get(&record.label) {
                found.entry(*turn).or_default().push(record);
            }
        }
        for (turn, records) in found {
            match <[ExitRecord; 1]>::try_from(records) {
                Ok([record]) if is_of(&record, left, turn) => {
                    // One that was asked to end did not end by itself: nothing is known of its work.
                    if !record.exit.terminated || record.exit.timed_out {
                        self.ended.push((turn, record.exit));
                        self.elsewhere.retain(|elsewhere| *elsewhere != turn);
                    }
                }
                // Several may have stood for it, one after the other. The other machine knows how it ends.
                _ if self.elsewhere.contains(&turn) => {}
                _ => self.warnings.push(format!(
                    "{} contradicts the journal about turn {turn}, which is lost",
                    run.exits().display()
                )),
            }
        }
    }
}

/// Whether a record can be about this turn: about the process that the journal knows, where it knows one.
fn is_of(record: &ExitRecord, left: &Left, turn: TurnId) -> bool {
    let same = |process: &ProcessRef| {
        let process = (process.pid, process.start_time);
        process == (record.pid, record.start_time)
    };
    record.boot_id == left.supervisor.boot_id && left.processes.get(&turn).is_none_or(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::domain::RunId;
    use rules::engine::simulation::{options, plan_of};

    #[test]
    fn a_turn_that_was_handed_out_is_taken_over_unless_its_chain_takes_over_nothing() {
        let place = tempfile::tempdir().unwrap();
        let state = crate::store::StateFolder::at(place.path()).unwrap();
        let run = state.run(&RunId::new("r").unwrap());
        let mission = "
name: m
agents: {worker: {run: work}}
tasks:
  - {title: a, assignTo: worker}
  - {title: b, assignTo: worker}
  - {title: c, assignTo: worker, middleware: []}
";
        let plan = plan_of(mission, &options());
        let turns = [0, 1, 2].map(|task| TurnId { task: TaskId(task), attempt: 1, turn: 2 });
        let wanted = turns.map(|turn| (turn.to_string(), turn)).into();
        for turn in [turns[0], turns[2]] {
            let request = run.carried_request(&turn.to_string());
            std::fs::create_dir_all(request.parent().unwrap()).unwrap();
            std::fs::write(request, "{}").unwrap();
        }
        let mut adopted = Adopted::default();
        adopted.find_elsewhere(&run, &plan, &wanted);
        assert_eq!(adopted.turns(), [turns[0]]);
    }
}
