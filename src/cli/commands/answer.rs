//! `quorum approve`, `quorum reject` and `quorum answer`: a person decides about what waits for one.

use clap::Args;

use crate::{
    cli::{
        command_error::Failure,
        confirm::confirm,
        decision::SpokenDecision,
        operator_client::{ActorArgs, Submitted, print_result, refuse_agents, submit_command},
        project::{find_run, open_run, state_folder},
        screen::{LiveView, Screen},
    },
    report::documents::asked,
    store::RunFolder,
};
use rules::engine::CommandResult;

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

pub fn answer_question(arguments: &AnswerArgs, screen: &Screen) -> Result<u8, Failure> {
    decide(&arguments.id, SpokenDecision::Answer(&arguments.text), &arguments.actor, screen)
}

pub fn approve(arguments: &Approve, screen: &Screen) -> Result<u8, Failure> {
    let id = match &arguments.id {
        Some(id) => id.clone(),
        None => the_only_one(screen)?,
    };
    decide(&id, SpokenDecision::Approve, &arguments.actor, screen)
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
    decide(&arguments.id, SpokenDecision::Reject(&arguments.reason), &arguments.actor, screen)
}

/// Gives the run of what waits its command, and says what became of it.
fn decide(id: &str, word: SpokenDecision<'_>, actor: &ActorArgs, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let (run, command) = word.about(id)?;
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, Some(&run))?;
    let given = submit_command(&folder, &run, command, actor)?;
    let code = print_result(screen, &run, given, &format!("{} {id}", word.verb()));
    if given == Submitted::Decided(CommandResult::Unknown) {
        let waiting = waiting(&run)?;
        if let Some((_, command, _)) = waiting.iter().find(|(known, ..)| known == id) {
            screen.error(&format!("help: it waits for another word: `{command}`\n"));
        }
    }
    Ok(code)
}
