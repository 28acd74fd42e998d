//! How a command from outside reaches its run, and what it says about it.

use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use clap::Args;

use crate::{
    report::{documents::commands::CommandDocument, sanitize},
    runtime::{ApplyError, ControlAnswer, NoWord, Reply, apply_offline, ask, drain},
    store::{Lock, LockError, OperatorKey, Queued, Reader, RunFolder, StateFolder, put},
};
use rules::{
    domain::Timestamp,
    engine::{Command, CommandResult, Event, Fact, OperatorInput, RunEvent, evaluate_command},
};

use super::command_error::Failure;
use super::project::WRITABLE;
use super::project::{open_run, refuse};
use super::screen::Screen;

/// How long a live writer may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// The holder in the lock while a command is decided under it.
pub const OPERATOR: &str = "an operator's command";
/// How long one try through the socket may take.
const SOCKET_WITHIN: Duration = Duration::from_secs(3);
/// A holder of the lock without a socket may be about to let go, or to open it.
const GRACE: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(20);
/// The advice about processes that a killed supervisor left behind.
const LEFT_ALIVE: &str = "end that process, or say it at a terminal";

/// The person who gives the command.
#[derive(Debug, Clone, Args)]
pub struct ActorArgs {
    /// The name that is recorded: a record, not a proof [default: the user's]
    #[arg(long = "as", value_name = "NAME")]
    pub acts_as: Option<String>,
}

impl ActorArgs {
    /// The name that is recorded.
    pub fn name(&self) -> String {
        let user = || ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let name = self.acts_as.clone().or_else(user).filter(|name| !name.trim().is_empty());
        name.unwrap_or_else(|| "operator".to_owned())
    }
}

/// An agent must not speak for a person: not approve its own work, nor open its own gate.
pub fn refuse_agents() -> Result<(), Failure> {
    if supervisor::is_of_an_agent() {
        return Err(environment!("this command is refused to agents of a run and to what they start")
            .help("a person must give it, from a terminal of their own"));
    }
    Ok(())
}

/// A run that an agent began, as a client of `quorum mcp`, takes a person's word at a terminal only, or on the page of a server that
/// was begun at one: the agent has a shell, too.
///
/// # Errors
/// When nobody sat at standard input when this process began, and the run is such a one.
pub fn refuse_without_a_person(run: &RunFolder) -> Result<(), Failure> {
    if io::stdin().is_terminal() {
        return Ok(());
    }
    let first = Reader::open(&run.journal()).and_then(|mut reader| reader.next_record());
    let options = match first.ok().flatten().and_then(|record| record.events.into_iter().next()) {
        Some(Event::Run(RunEvent::Started(started))) => started.options,
        // The whole of it tells what is wrong.
        _ => open_run(run, |_, _| {})?.started.options,
    };
    if !options.over_mcp {
        return Ok(());
    }
    let id = run.id();
    Err(environment!(
        "an agent began run {id} by way of `quorum mcp`: this command is for a person, at a terminal"
    )
    .help("give it where standard input is a terminal, or on the page of a `quorum serve` that was begun at one"))
}

/// The fate of a command that was submitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Submitted {
    /// The writer decided about the command, durably.
    Decided(CommandResult),
    /// The command waits in the inbox for a writer that did not answer.
    Queued,
}

/// Gives a command to a run. Without a live writer it is decided here, under the lock. A live one is asked through its
/// socket; only one that was never reached there is asked through the inbox, and its answer is what it journaled.
pub fn submit_command(
    folder: &StateFolder,
    run: &RunFolder,
    command: Command,
    actor: &ActorArgs,
) -> Result<Submitted, Failure> {
    submit_as(folder, run, command, actor.name())
}

/// Gives a command to a run, as [`submit_command`] does, by a person of this name.
pub fn submit_as(
    folder: &StateFolder,
    run: &RunFolder,
    command: Command,
    by: String,
) -> Result<Submitted, Failure> {
    static GIVEN: AtomicU32 = AtomicU32::new(0);
    refuse_agents()?;
    if !command.only_stops() {
        refuse_without_a_person(run)?;
    }
    let queued = Queued {
        // Sorts by time; a server gives more than one.
        id: {
            let number = GIVEN.fetch_add(1, Ordering::Relaxed);
            format!("{:015}-{}-{number}", Timestamp::now().0, std::process::id())
        },
        run: run.id().clone(),
        by,
        command,
    };
    let mut waiting: Option<PathBuf> = None;
    let mut reached = false;
    let begin = Instant::now();
    loop {
        match Lock::take(&folder.lock_path(), OPERATOR, Some(run.id())) {
            Ok(_lock) => {
                for refused in drain(folder).map_err(apply_failure)? {
                    // Whoever read us may be gone: that is silent.
                    let _ = writeln!(io::stderr(), "warning: {}", sanitize(&refused.to_string()));
                }
                return match waiting {
                    Some(_) => journaled(run, &queued.id),
                    None => decide_here(run, queued),
                };
            }
            Err(error @ LockError::Io { .. }) => return Err(Failure::environment(error).help(WRITABLE)),
            Err(LockError::Held { .. }) => {}
        }
        match &waiting {
            Some(path) if !path.exists() => return journaled(run, &queued.id),
            Some(_) if begin.elapsed() > ANSWER_WITHIN => return Ok(Submitted::Queued),
            Some(_) => {}
            None => match ask(folder, &queued, SOCKET_WITHIN) {
                Reply::Answer(ControlAnswer::Result(met)) => return Ok(Submitted::Decided(met)),
                Reply::Answer(ControlAnswer::Error(why)) => {
                    return Err(environment!("the live session refused: {why}"));
                }
                // It was reached, so its word counts and no file: whoever can write one could have kept it from speaking.
                Reply::Silence if begin.elapsed() > ANSWER_WITHIN => return Err(unanswered()),
                Reply::Nobody if reached && begin.elapsed() > ANSWER_WITHIN => return Err(unanswered()),
                Reply::Silence => reached = true,
                Reply::Nobody if reached || begin.elapsed() < GRACE => {}
                Reply::Nobody => match evaluate_command(&open_run(run, |_, _| {})?.state, &queued.command) {
                    // What is decided stays decided; there is nothing to ask the writer.
                    met @ (CommandResult::Unknown
                    | CommandResult::DecidedOtherwise
                    | CommandResult::AlreadySo) => {
                        return Ok(Submitted::Decided(met));
                    }
                    CommandResult::Applied | CommandResult::TooEarly => {
                        waiting = Some(queue(folder, &queued)?);
                    }
                },
            },
        }
        std::thread::sleep(PAUSE);
    }
}

fn unanswered() -> Failure {
    environment!(
        "the live session of the state folder was reached and does not answer; nothing was left for it to find"
    )
    .help("`quorum status` shows whether it took the command; else give it again when the session goes on")
}

fn queue(folder: &StateFolder, queued: &Queued) -> Result<PathBuf, Failure> {
    let key = OperatorKey::existing_or_new()
        .map_err(|error| environment!("cannot use the key for queued commands: {error}"))?;
    put(&folder.inbox(), &key, queued)
        .map_err(|error| environment!("cannot write to {}: {error}", folder.inbox().display()))
}

/// The result that the writer journaled for a queued command.
fn journaled(run: &RunFolder, wanted: &str) -> Result<Submitted, Failure> {
    let mut met = None;
    open_run(run, |_, record| {
        for event in &record.events {
            if let Event::Run(RunEvent::CommandTaken { id, result, .. }) = event
                && id == wanted
            {
                met = Some(*result);
            }
        }
    })?;
    met.map(Submitted::Decided).ok_or_else(|| {
        environment!(
            "the command was not accepted by the session of the state folder"
        )
        .help(
            "the session listens at its socket and takes no letters, or knows another key; `quorum doctor` looks at the folder",
        )
    })
}

fn decide_here(run: &RunFolder, queued: Queued) -> Result<Submitted, Failure> {
    let Queued { id, by, command, .. } = queued;
    // What nobody works on is paused already.
    if command == Command::Pause {
        return Ok(Submitted::Decided(CommandResult::AlreadySo));
    }
    let met = evaluate_command(&open_run(run, |_, _| {})?.state, &command);
    if met == CommandResult::Applied {
        let input = Fact::Operator(Box::new(OperatorInput {
            // Whoever asks for work is named by no other event.
            id: matches!(command, Command::AddTask { .. }).then_some(id),
            command: command.clone(),
            by,
        }));
        let state = apply_offline(run, &[input]).map_err(apply_failure)?;
        // Its time was up before it came.
        if evaluate_command(&state, &command) == CommandResult::DecidedOtherwise {
            return Ok(Submitted::Decided(CommandResult::DecidedOtherwise));
        }
    }
    Ok(Submitted::Decided(met))
}

/// The failure of a command that could not be applied to its run.
pub fn apply_failure(error: ApplyError) -> Failure {
    match error {
        ApplyError::Recover(error) => refuse(error),
        error @ ApplyError::StillRuns(_) => Failure::environment(error),
        ApplyError::NoWord(why) => {
            let help = match &why {
                NoWord::Unsupervised(run) => format!(
                    "`quorum resume {run}` ends what is left and makes a new supervisor; then say it again"
                ),
                NoWord::LeftAlive(_) => LEFT_ALIVE.to_owned(),
            };
            Failure::environment(why).help(help)
        }
        error => Failure::internal(error),
    }
}

impl Submitted {
    /// What became of the command, as documents say it, and the exit code.
    pub fn word(self) -> (&'static str, u8) {
        match self {
            Self::Decided(CommandResult::Applied) => ("applied", 0),
            Self::Decided(CommandResult::AlreadySo) => ("already-so", 0),
            Self::Decided(CommandResult::Unknown) => ("unknown", 2),
            Self::Decided(CommandResult::DecidedOtherwise) => ("decided-otherwise", 4),
            Self::Decided(CommandResult::TooEarly) => ("too-early", 8),
            Self::Queued => ("queued", 8),
        }
    }
}

/// Says what became of a command. Returns the exit code.
pub fn print_result(screen: &Screen, run: &RunFolder, given: Submitted, what: &str) -> u8 {
    let (word, code) = given.word();
    if screen.is_json() {
        screen.document(&CommandDocument { run_id: run.id(), result: word, exit_code: code });
        return code;
    }
    let line = format!("{}: {}\n", sanitize(what), word.replace('-', " "));
    if code == 0 {
        screen.result(&line);
    } else {
        screen.error(&line);
    }
    code
}
