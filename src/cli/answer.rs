//! `quorum approve`, `quorum reject` and `quorum answer`: a person decides about what waits for one.

use anyhow::anyhow;
use clap::Args;

use crate::domain::HoldOwner;
use crate::engine::Command;
use crate::report::ids::parse_approval;

use super::failure::Failure;
use super::operator_client::{Actor, print_result, refuse_agents, submit_command};
use super::project::{find_run, state_folder};
use super::screen::Screen;

#[derive(Debug, Args)]
pub struct Approve {
    /// The approval, as `quorum inbox` shows it
    #[arg(value_name = "APPROVAL")]
    pub id: String,
    #[command(flatten)]
    pub actor: Actor,
}

#[derive(Debug, Args)]
pub struct Reject {
    /// The approval, as `quorum inbox` shows it
    #[arg(value_name = "APPROVAL")]
    pub id: String,
    /// Why: what the worker is told
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub actor: Actor,
}

#[derive(Debug, Args)]
pub struct Answer {
    /// The question, as `quorum inbox` shows it
    #[arg(value_name = "QUESTION")]
    pub id: String,
    /// What the agent is told
    #[arg(value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub actor: Actor,
}

/// A longer answer is a file of the workspace.
const LONGEST_ANSWER: usize = 32 << 10;

pub fn answer_question(arguments: &Answer, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let text = arguments.text.trim();
    if text.is_empty() {
        return Err(Failure::usage(anyhow!("the answer is empty")));
    }
    if text.len() > LONGEST_ANSWER {
        return Err(
            Failure::usage(anyhow!("the answer has more than {LONGEST_ANSWER} bytes"))
                .help("write it to a file of the workspace and say where it is"),
        );
    }
    decide(
        &arguments.id,
        "answer",
        &arguments.actor,
        screen,
        |of, number| match of {
            HoldOwner::Task(task) => Ok(Command::Answer {
                task,
                number,
                text: text.to_owned(),
            }),
            HoldOwner::Barrier(_) => Err(Failure::usage(anyhow!("a checkpoint asks nothing"))
                .help("`quorum approve` lets the run go on behind it")),
        },
    )
}

pub fn approve(arguments: &Approve, screen: &Screen) -> Result<u8, Failure> {
    answer(&arguments.id, None, &arguments.actor, screen)
}

pub fn reject(arguments: &Reject, screen: &Screen) -> Result<u8, Failure> {
    if arguments.reason.trim().is_empty() {
        return Err(Failure::usage(anyhow!(
            "a rejection needs a reason: it is what the worker is told"
        )));
    }
    answer(&arguments.id, Some(&arguments.reason), &arguments.actor, screen)
}

fn answer(id: &str, rejected: Option<&str>, actor: &Actor, screen: &Screen) -> Result<u8, Failure> {
    let word = if rejected.is_some() { "reject" } else { "approve" };
    decide(id, word, actor, screen, |of, number| {
        Ok(match rejected {
            None => Command::approve(of, number),
            Some(reason) => Command::reject(of, number, reason),
        })
    })
}

/// Gives the run of an approval its command.
fn decide(
    id: &str,
    word: &str,
    actor: &Actor,
    screen: &Screen,
    command: impl FnOnce(HoldOwner, u32) -> Result<Command, Failure>,
) -> Result<u8, Failure> {
    refuse_agents()?;
    let Some((run, of, number)) = parse_approval(id) else {
        return Err(Failure::usage(anyhow!("'{id}' is not the id of an approval"))
            .help("`quorum inbox` shows what waits for a person, with ids"));
    };
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, Some(&run))?;
    let given = submit_command(&folder, &run, command(of, number)?, actor)?;
    Ok(print_result(screen, &run, given, &format!("{word} {id}")))
}
