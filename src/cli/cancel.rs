//! `quorum cancel` and `quorum pause`: a person calls work off, or lets a session come to rest.

use anyhow::anyhow;
use clap::Args;

use crate::domain::{RunId, is_same_name};
use crate::engine::Command;

use super::confirm::confirm;
use super::failure::Failure;
use super::operator_client::{Actor, print_result, refuse_agents, submit_command};
use super::project::{find_run, open_run, state_folder};
use super::screen::Screen;
use crate::store::{RunFolder, StateFolder};

#[derive(Debug, Args)]
pub struct Cancel {
    /// A run by its id, or a task by its title
    #[arg(value_name = "RUN|TASK")]
    pub target: String,
    /// The run of the task [default: the latest]
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunId>,
    #[command(flatten)]
    pub actor: Actor,
}

#[derive(Debug, Args)]
pub struct Pause {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    #[command(flatten)]
    pub actor: Actor,
}

pub fn cancel(arguments: &Cancel, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let folder = state_folder(screen.output())?;
    let (run, command) = meant(&folder, arguments)?;
    refuse_agents()?;
    let question = format!("cancel {}?", arguments.target);
    confirm(screen, &question, "add --yes to cancel it without a question")?;
    let given = submit_command(&folder, &run, command, &arguments.actor)?;
    Ok(print_result(
        screen,
        &run,
        given,
        &format!("cancel {}", arguments.target),
    ))
}

/// The run with this very id, else the task with this title, else the run that is meant by a part of its id.
fn meant(folder: &StateFolder, arguments: &Cancel) -> Result<(RunFolder, Command), Failure> {
    let named = RunId::new(arguments.target.clone()).ok();
    let named = named.filter(|_| arguments.run.is_none());
    if let Some(id) = named.as_ref().filter(|id| folder.run(id).journal().is_file()) {
        return Ok((find_run(folder, Some(id))?, Command::CancelRun));
    }
    let run = find_run(folder, arguments.run.as_ref())?;
    let plan = open_run(&run, |_, _| {})?.state.plan;
    let task = plan
        .task_ids()
        .find(|id| is_same_name(&plan.task(*id).title, &arguments.target));
    if let Some(task) = task {
        return Ok((run, Command::CancelTask { task }));
    }
    if let Some(Ok(run)) = named.map(|id| find_run(folder, Some(&id))) {
        return Ok((run, Command::CancelRun));
    }
    Err(Failure::usage(anyhow!(
        "'{}' is neither a run nor a task of run {}",
        arguments.target,
        run.id()
    ))
    .help("`quorum status` shows the tasks of a run"))
}

pub fn pause(arguments: &Pause, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let given = submit_command(&folder, &run, Command::Pause, &arguments.actor)?;
    Ok(print_result(screen, &run, given, &format!("pause {}", run.id())))
}
