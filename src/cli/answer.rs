//! `quorum approve` and `quorum reject`: a person decides about what waits for one.

use anyhow::anyhow;
use clap::Args;

use crate::engine::Command;
use crate::report::ids::{Waits, parse_approval};

use super::failure::Failure;
use super::operate::{Speaker, give, refuse_agents, say};
use super::project::{find_run, state_folder};
use super::screen::Screen;

#[derive(Debug, Args)]
pub struct Approve {
    /// The approval, as `quorum approvals` shows it
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub speaker: Speaker,
}

#[derive(Debug, Args)]
pub struct Reject {
    /// The approval, as `quorum approvals` shows it
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why: what the worker is told
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub speaker: Speaker,
}

pub fn approve(arguments: &Approve, screen: &Screen) -> Result<u8, Failure> {
    answer(&arguments.id, None, &arguments.speaker, screen)
}

pub fn reject(arguments: &Reject, screen: &Screen) -> Result<u8, Failure> {
    if arguments.reason.trim().is_empty() {
        return Err(Failure::usage(anyhow!(
            "a rejection needs a reason: it is what the worker is told"
        )));
    }
    answer(&arguments.id, Some(&arguments.reason), &arguments.speaker, screen)
}

fn answer(id: &str, rejected: Option<&str>, speaker: &Speaker, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let Some((run, waits, number)) = parse_approval(id) else {
        return Err(Failure::usage(anyhow!("'{id}' is not the id of an approval"))
            .help("`quorum approvals` shows what waits for a person, with ids"));
    };
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, Some(&run))?;
    let reason = rejected.map(str::to_owned);
    let word = if reason.is_some() { "reject" } else { "approve" };
    let command = match (waits, reason) {
        (Waits::Task(task), None) => Command::Approve { task, number },
        (Waits::Task(task), Some(reason)) => Command::Reject { task, number, reason },
        (Waits::Checkpoint(hold), None) => Command::PassCheckpoint { hold, number },
        (Waits::Checkpoint(hold), Some(reason)) => Command::RejectCheckpoint { hold, number, reason },
    };
    let given = give(&folder, &run, command, speaker)?;
    Ok(say(screen, &run, given, &format!("{word} {id}")))
}
