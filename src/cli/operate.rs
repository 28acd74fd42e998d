//! How a command from outside reaches its run, and what it says about it.

use anyhow::anyhow;
use clap::Args;

use crate::engine::{Command, CommandResult, Input, OperatorInput, meets};
use crate::keeper;
use crate::runtime::{TellError, tell};
use crate::store::{LockError, RunFolder, StateFolder};

use super::failure::Failure;
use super::project::{open_run, refuse};
use super::run::end_old_keeper;

/// Who speaks.
#[derive(Debug, Clone, Args)]
pub struct Speaker {
    /// The name that is recorded [default: the user's]. A record, not a proof
    #[arg(long = "as", value_name = "NAME", env = "QUORUM_AS")]
    pub speaks_as: Option<String>,
}

impl Speaker {
    /// The name that is recorded.
    pub fn name(&self) -> String {
        let user = || {
            ["USER", "LOGNAME"]
                .into_iter()
                .find_map(|name| std::env::var(name).ok())
        };
        let name = self
            .speaks_as
            .clone()
            .or_else(user)
            .filter(|name| !name.trim().is_empty());
        name.unwrap_or_else(|| "operator".to_owned())
    }
}

/// An agent must not speak for a person: not approve its own work, nor open its own gate.
pub fn refuse_agents() -> Result<(), Failure> {
    if keeper::is_of_an_agent() {
        return Err(Failure::environment(anyhow!(
            "this command is refused to agents of a run and to what they start"
        ))
        .help("a person must give it, from a terminal of their own"));
    }
    Ok(())
}

/// Gives a command to a run and returns what it met.
pub fn give(
    folder: &StateFolder,
    run: &RunFolder,
    command: Command,
    speaker: &Speaker,
) -> Result<CommandResult, Failure> {
    refuse_agents()?;
    let _lock = crate::store::Lock::take(
        &folder.lock_path(),
        "quorum (an operator's command)",
        Some(run.id()),
    )
    .map_err(|error| match error {
        LockError::Held { .. } => {
            Failure::environment(error).help("give the command again when that session has ended")
        }
        LockError::Io { .. } => Failure::environment(error),
    })?;
    let recovered = open_run(run, |_, _| {})?;
    let met = meets(&recovered.state, &command);
    // What nobody works on is paused already.
    if command == Command::Pause {
        return Ok(CommandResult::AlreadySo);
    }
    if met == CommandResult::Applied {
        if matches!(command, Command::CancelRun | Command::CancelTask { .. }) {
            end_old_keeper(&recovered.keeper)?;
        }
        let input = Input::Operator(Box::new(OperatorInput {
            id: None,
            command,
            by: speaker.name(),
        }));
        tell(run, &[input]).map_err(told)?;
    }
    Ok(met)
}

/// What it means that a run could not be told.
pub fn told(error: TellError) -> Failure {
    match error {
        TellError::Recover(error) => refuse(error),
        error => Failure::internal(error),
    }
}
