//! What a person says to a run without a session: journaled by whoever holds the lock, executed by the next session.

use std::io;
use std::path::{Path, PathBuf};

use crate::store::{
    self, FsLog, InboxFile, Journal, JournalDecision, JournalEnd, JournalError, OperatorKey, Queued, Reader,
    RunFolder, StateFolder,
};
use rules::domain::{HoldOwner, RunId, Timestamp, WaitingReason};
use rules::engine::{
    self, Command, CommandResult, Concern, Event, Fact, LaterSession, OperatorInput, RULES, RunEvent,
    RunPhase, State, TaskEvent, Timer,
};

use crate::runtime::{
    recovery::{
        origin::{code_of_word, operator_key},
        recover::{RecoverError, Recovered, recover},
        supervision::{self, NoWord},
    },
    session::entry::{Due, Entry},
    work::{dead_letters::file_all, scan},
};

/// Why a run could not be told.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The run cannot be read.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// The journal of the run cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A process that still runs of the run cannot be ended.
    #[error("processes of the earlier session still run and cannot be ended: {0}")]
    StillRuns(io::Error),
    /// No command is taken for it now.
    #[error(transparent)]
    NoWord(#[from] NoWord),
    /// The inbox cannot be read or emptied.
    #[error("cannot use {path}: {source}")]
    Inbox {
        /// The path of the inbox.
        path: PathBuf,
        source: io::Error,
    },
    /// The journal of the run cannot be opened.
    #[error("cannot write {path}: {source}")]
    Open {
        /// The path of the journal.
        path: PathBuf,
        source: io::Error,
    },
}

/// Decides inputs of a run without a session, durably. Nothing is started; but a run whose last task ends with them
/// gets its end. The caller holds the lock of the state folder. Returns the state they lead to.
///
/// # Errors
/// [`ApplyError`]; then the journal holds what was durable.
pub fn apply_offline(run: &RunFolder, inputs: &[Fact]) -> Result<State, ApplyError> {
    let recovered = recover(run, |_, _| {})?;
    supervision::allows(run, &recovered, inputs)?;
    end_what_is_called_off(run, &recovered, inputs)?;
    let mut writer = OfflineWriter {
        run: run.id().clone(),
        key: operator_key(),
        journal: journal_from(run, recovered.end)?,
        state: recovered.state,
    };
    let mut moved = false;
    // An answer that comes after its time is up comes too late, though no session was there to say so.
    let due = writer.state.timers.due(Timestamp::now());
    let of_holds = |(_, timer): &(Timestamp, Timer)| matches!(timer, Timer::Expiry { .. });
    let due: Vec<_> = due.filter(of_holds).collect();
    for (at, timer) in due {
        moved |= writer.decide(Fact::TimerDue { at, timer })?;
    }
    for input in inputs {
        if let Fact::Operator(operator) = input
            && let Some(seen) = files_of(&writer.state, &operator.command)
        {
            writer.decide(seen)?;
        }
        while writer.decide(input.clone())? {
            moved = true;
            if !input.takes_several_records() {
                break;
            }
        }
    }
    if moved && writer.state.may_end_without_session() && writer.state.phase != RunPhase::New {
        let mut options = writer.state.options.clone();
        options.state_base = crate::runtime::recovery::moved::state_base(&run.state_folder());
        let resume = Fact::Resume(Box::new(LaterSession {
            delivers: false,
            options,
            supervisor: recovered.last.supervisor,
            kept: Vec::new(),
            rules: RULES,
            last: None,
        }));
        writer.decide(resume)?;
        while writer.decide(Fact::Advance)? {}
        // There is nobody to deliver anything: what is on its way goes to the dead-letter queue.
        if writer.state.phase != RunPhase::Finished {
            writer.decide(Fact::NoticesOverdue)?;
        }
    }
    writer.journal.commit()?;
    // What the queue does not have yet stays in the journal for the next session.
    let state = &writer.state;
    if let Some(why) = file_all(run, &state.plan, &state.notices) {
        writer.decide(Fact::Warn(why))?;
        writer.journal.commit()?;
    }
    Ok(writer.state)
}

/// A person vouches for all that a run is so far, whoever wrote it. Without a key nobody can. The caller holds the lock.
///
/// # Errors
/// When the journal cannot be read or written.
pub fn vouch_for(run: &RunFolder) -> Result<(), ApplyError> {
    let Ok(key) = OperatorKey::existing_or_new() else {
        return Ok(());
    };
    let end = Reader::end_of(&run.journal()).map_err(RecoverError::from)?;
    let mut journal = journal_from(run, end)?;
    let message = "a person vouches for what stands before this in the journal".to_owned();
    let event = Event::Run(RunEvent::Warning(Concern::Notice, message.clone()));
    let decision = JournalDecision::of(Fact::Warn(message), vec![event]);
    journal.push_vouched(Timestamp::now(), &decision, |before, text| {
        code_of_word(&key, run.id(), before, text)
    })?;
    Ok(journal.commit()?)
}

/// The journal of a run, to be gone on with from its end.
fn journal_from(run: &RunFolder, end: JournalEnd) -> Result<Journal<FsLog>, ApplyError> {
    let path = run.journal();
    match FsLog::open(&path, end.offset) {
        Ok(file) => Ok(Journal::new(file, &path, end)),
        Err(source) => Err(ApplyError::Open { path, source }),
    }
}

/// Takes every command that waits in the inbox. No run of the folder may have a session: the caller holds the
/// lock. Returns what was refused, in words.
///
/// # Errors
/// [`ApplyError`]; what was not taken still waits.
pub fn drain(folder: &StateFolder) -> Result<Vec<String>, ApplyError> {
    let inbox = folder.inbox();
    let failed = |source| ApplyError::Inbox { path: folder.inbox(), source };
    let mut refused = Vec::new();
    for found in store::waiting(&inbox, OperatorKey::existing).map_err(failed)? {
        match found {
            InboxFile::Command(path, queued) => {
                match take(folder, &queued) {
                    Ok(_) => store::taken(&path).map_err(failed)?,
                    Err(why) => {
                        store::move_aside(&path).map_err(failed)?;
                        refused.push(format!("{}: {why}", path.display()));
                    }
                };
            }
            InboxFile::Stranger(path) => refused.push(stranger(&path)),
            InboxFile::Refused(path, why) => {
                store::move_aside(&path).map_err(failed)?;
                refused.push(format!("{} is no command and was moved aside: {why}", path.display()));
            }
        }
    }
    Ok(refused)
}

/// Words about something in the inbox that is no letter.
pub fn stranger(path: &Path) -> String {
    format!("{} is no command of quorum's and was left alone; remove it", path.display())
}

/// Takes one command for a run without a session. Returns the state that it leads to.
pub fn take(folder: &StateFolder, queued: &Queued) -> Result<State, ApplyError> {
    apply_offline(&folder.run(&queued.run), &[input_of(queued)])
}

/// A command that was sent, as the engine takes it.
pub fn input_of(queued: &Queued) -> Fact {
    Fact::Operator(Box::new(OperatorInput {
        id: Some(queued.id.clone()),
        command: queued.command.clone(),
        by: queued.by.clone(),
    }))
}

/// The files of work that a person is about to accept, as they are now: a yes is for what is there when it is
/// given. Blocks.
pub fn files_of(state: &State, command: &Command) -> Option<Fact> {
    let Command::Approve { of: HoldOwner::Task(task), .. } = command else {
        return None;
    };
    let waiting = state.known(*task)?.hold()?;
    let is_asked = waiting.reason == WaitingReason::Refer && state.plan.task(*task).names_files();
    let counts = is_asked && engine::evaluate_command(state, command) == CommandResult::Applied;
    counts.then(|| Fact::FilesSeen {
        task: *task,
        attempt: state.task(*task).attempt.number,
        files: scan::files_of(&state.plan, *task),
    })
}

/// Ends the turns that the inputs call off, which must not go on working below a supervisor that outlived its
/// session. Other tasks' turns may. A command that changes nothing, or was taken before, ends nothing.
fn end_what_is_called_off(run: &RunFolder, recovered: &Recovered, inputs: &[Fact]) -> Result<(), ApplyError> {
    let state = &recovered.state;
    let taken = |id: &Option<String>| id.as_ref().is_some_and(|id| state.commands.contains_key(id));
    let commands = inputs.iter().filter_map(|input| match input {
        Fact::Operator(input) if !taken(&input.id) => Some(&input.command),
        _ => None,
    });
    for command in commands {
        if engine::evaluate_command(state, command) != CommandResult::Applied {
            continue;
        }
        let ended = match command {
            Command::CancelRun => recovered.left().end(),
            Command::CancelTask { task } => {
                let title = state.plan.title(*task);
                recovered.left().end_task(run, *task, title)
            }
            _ => Ok(()),
        };
        ended.map_err(ApplyError::StillRuns)?;
    }
    Ok(())
}

struct OfflineWriter {
    run: RunId,
    key: Option<OperatorKey>,
    journal: Journal<FsLog>,
    state: State,
}

impl OfflineWriter {
    /// Whether the input changed anything.
    fn decide(&mut self, fact: Fact) -> Result<bool, JournalError> {
        let now = Timestamp::now();
        let events = engine::decide(&self.state, &fact, now);
        if events.is_empty() {
            return Ok(false);
        }
        let entry = Entry {
            run: &self.run,
            state: &mut self.state,
            journal: &mut self.journal,
            key: self.key.as_ref(),
        };
        let events = entry.write::<JournalError>((fact, events), now, Due::Later)?.events;
        let only_noted = |event: &Event| {
            matches!(
                event,
                Event::Run(RunEvent::CommandTaken { .. } | RunEvent::Warning(Concern::Notice, _))
                    | Event::Task(_, TaskEvent::AcceptanceAnswered { .. })
            )
        };
        Ok(!events.iter().all(only_noted))
    }
}

#[cfg(test)]
mod tests {
    use rules::domain::Status;
    use rules::engine::simulation::{Simulation, good, options};
    use rules::engine::{Exit, TurnEnd};

    use super::*;

    const YAML: &str = "
name: m
agents: {w: {run: [/bin/true]}}
settings: {evaluate: false}
tasks: [{title: a}]
";

    /// A run whose worker is at its turn, and what that turn ends with.
    fn at_work() -> (State, Fact) {
        let mut simulation = Simulation::new(YAML, options());
        while simulation.running().is_empty() {
            simulation.perform(0, &mut good);
        }
        let end = TurnEnd {
            exit: Exit { code: Some(0), ..Exit::default() },
            ..serde_json::from_value(serde_json::json!({ "turn": simulation.running()[0] })).unwrap()
        };
        (simulation.state, Fact::TurnEnded(Box::new(end)))
    }

    #[test]
    fn what_no_task_can_do_is_never_journaled() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        let (state, end) = at_work();
        let writer = |state: State| OfflineWriter {
            run: "r1".parse().unwrap(),
            key: None,
            journal: Journal::new(FsLog::open(&path, 0).unwrap(), &path, JournalEnd::START),
            state,
        };
        assert!(writer(state.clone()).decide(end.clone()).unwrap());
        let mut wrong = state.clone();
        wrong.tasks[0].put_at(Status::Pending);
        let mut writer = writer(wrong);
        let error = writer.decide(end).unwrap_err().to_string();
        assert!(error.contains("transition of task 0 from pending to review"), "{error}");
        assert_eq!(writer.state.task(rules::domain::TaskId(0)).status(), Status::Pending);
        assert!(writer.journal.commit().is_err(), "nothing more is written");
        assert_eq!(std::fs::read(&path).unwrap(), b"");
    }
}
