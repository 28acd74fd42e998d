//! `quorum approve`, `quorum reject` and `quorum answer`: a person decides about what waits for one.

use clap::Args;

use crate::{
    cli::{
        command_error::Failure,
        confirm::confirm,
        operator_client::{ActorArgs, Submitted, print_result, refuse_agents, submit_command},
        project::{find_run, open_run, state_folder},
        screen::{LiveView, Screen},
    },
    report::{
        documents::asked,
        vocabulary::ids::{parse_approval, parse_request},
    },
    store::RunFolder,
};
use rules::{
    domain::{HoldOwner, RunId},
    engine::{Command, CommandResult},
};

#[derive(Debug, Args)]
pub struct Approve {
    /// What is approved, as `quorum inbox` or `quorum requests` shows it [default: the only approval, after a question]
    #[arg(value_name = "APPROVAL")]
    pub id: Option<String>,
    #[command(flatten)]
    pub actor: ActorArgs,
}

#[derive(Debug, Args)]
pub struct Reject {
    /// What is refused, as `quorum inbox` or `quorum requests` shows it
    #[arg(value_name = "APPROVAL")]
    pub id: String,
    /// Why: what the worker is told
    #[arg(long, value_name = "TEXT")]
    pub reason: String,
    #[command(flatten)]
    pub actor: ActorArgs,
}

#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// The question, as `quorum inbox` shows it
    #[arg(value_name = "QUESTION")]
    pub id: String,
    /// What the agent is told
    #[arg(value_name = "TEXT")]
    pub text: String,
    #[command(flatten)]
    pub actor: ActorArgs,
}

/// A longer answer is a file of the workspace.
const LONGEST_ANSWER: usize = 32 << 10;

pub fn answer_question(arguments: &AnswerArgs, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let text = arguments.text.trim();
    if text.is_empty() {
        return Err(usage!("the answer is empty"));
    }
    if text.len() > LONGEST_ANSWER {
        return Err(usage!("the answer has more than {LONGEST_ANSWER} bytes")
            .help("write it to a file of the workspace and say where it is"));
    }
    decide(&arguments.id, "answer", &arguments.actor, screen, |of, number| match of {
        HoldOwner::Task(task) => Ok(Command::Answer { task, number, text: text.to_owned() }),
        HoldOwner::Barrier(_) => {
            Err(usage!("a checkpoint asks nothing").help("`quorum approve` lets the run go on behind it"))
        }
    })
}

pub fn approve(arguments: &Approve, screen: &Screen) -> Result<u8, Failure> {
    let id = match &arguments.id {
        Some(id) => id.clone(),
        None => the_only_one(screen)?,
    };
    answer(&id, None, &arguments.actor, screen)
}

/// The id of what waits for a person in the latest run, if that is one approval and a person at a terminal means it.
fn the_only_one(screen: &Screen) -> Result<String, Failure> {
    refuse_agents()?;
    let run = find_run(&state_folder(screen.output())?, None)?;
    let waiting = waiting(&run)?;
    let commands: Vec<&str> = waiting.iter().map(|(_, command, _)| command.as_str()).collect();
    match waiting.as_slice() {
        [] => Err(usage!("nothing in run {} waits for a person", run.id())),
        [(id, command, line)] if command.starts_with("quorum approve ") => {
            confirm(screen, &format!("approve {line}?"), &format!("type `{command}`"))?;
            Ok(id.clone())
        }
        _ => Err(usage!("which of them is meant?").help(commands.join(", "))),
    }
}

/// The waits for a person in a run: ids, each with the command that answers it and a line about it.
fn waiting(run: &RunFolder) -> Result<Vec<(String, String, String)>, Failure> {
    let mut view = LiveView::default();
    let state = open_run(run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    let rows = asked(&state, &view);
    Ok(rows.filter_map(|wait| Some((wait.id.clone()?, wait.command.clone()?, wait.line()))).collect())
}

pub fn reject(arguments: &Reject, screen: &Screen) -> Result<u8, Failure> {
    if arguments.reason.trim().is_empty() {
        return Err(usage!("a rejection needs a reason: it is what the worker is told"));
    }
    answer(&arguments.id, Some(&arguments.reason), &arguments.actor, screen)
}

fn answer(id: &str, rejected: Option<&str>, actor: &ActorArgs, screen: &Screen) -> Result<u8, Failure> {
    let word = if rejected.is_some() { "reject" } else { "approve" };
    if let Some((run, task, attempt)) = parse_request(id) {
        let refused = rejected.map(str::to_owned);
        let command = Command::AnswerAcceptance { task, attempt, refused };
        return submit_answer(&run, command, &format!("{word} {id}"), actor, screen).map(|(_, _, code)| code);
    }
    decide(id, word, actor, screen, |of, number| {
        Ok(match rejected {
            None => Command::approve(of, number),
            Some(reason) => Command::reject(of, number, reason),
        })
    })
}

/// Gives a run its command, and says what became of it: with the exit code.
fn submit_answer(
    run: &RunId,
    command: Command,
    what: &str,
    actor: &ActorArgs,
    screen: &Screen,
) -> Result<(RunFolder, Submitted, u8), Failure> {
    refuse_agents()?;
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, Some(run))?;
    let given = submit_command(&folder, &run, command, actor)?;
    let code = print_result(screen, &run, given, what);
    Ok((run, given, code))
}

/// Gives the run of an approval its command.
fn decide(
    id: &str,
    word: &str,
    actor: &ActorArgs,
    screen: &Screen,
    command: impl FnOnce(HoldOwner, u32) -> Result<Command, Failure>,
) -> Result<u8, Failure> {
    refuse_agents()?;
    let Some((run, of, number)) = parse_approval(id) else {
        return Err(usage!("'{id}' is not the id of an approval")
            .help("`quorum inbox` shows what waits for a person, `quorum requests` what was accepted below its bar, with ids"));
    };
    let (run, given, code) =
        submit_answer(&run, command(of, number)?, &format!("{word} {id}"), actor, screen)?;
    if given == Submitted::Decided(CommandResult::Unknown) {
        let waiting = waiting(&run)?;
        if let Some((_, command, _)) = waiting.iter().find(|(known, ..)| known == id) {
            screen.error(&format!("help: it waits for another word: `{command}`\n"));
        }
    }
    Ok(code)
}
