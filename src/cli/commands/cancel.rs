//! `quorum cancel` and `quorum pause`: a person calls work off, or lets a session come to rest.

use anyhow::anyhow;
use clap::Args;

use rules::{
    domain::{RunId, TaskId, is_same_name},
    engine::Command,
};

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        confirm::confirm,
        operator_client::{ActorArgs, print_result, refuse_agents, submit_command},
        project::{find_run, is_run, open_run, run_of, state_folder},
        screen::Screen,
    },
    store::{RunFolder, StateFolder},
};

#[derive(Debug, Args)]
pub struct Cancel {
    /// A run by its id, or a task by its title
    #[arg(value_name = "RUN|TASK")]
    pub target: String,
    #[command(flatten)]
    pub of: OfRun,
    #[command(flatten)]
    pub actor: ActorArgs,
}

#[derive(Debug, Args)]
pub struct Pause {
    #[command(flatten)]
    pub of: OfRun,
    #[command(flatten)]
    pub actor: ActorArgs,
}

pub fn cancel(arguments: &Cancel, screen: &Screen) -> Result<u8, Failure> {
    refuse_agents()?;
    let folder = state_folder(screen.output())?;
    let (run, command) = meant(&folder, arguments)?;
    refuse_agents()?;
    let question = format!("cancel {}?", arguments.target);
    confirm(screen, &question, "add --yes to cancel it without a question")?;
    let given = submit_command(&folder, &run, command, &arguments.actor)?;
    Ok(print_result(screen, &run, given, &format!("cancel {}", arguments.target)))
}

/// The task of a run with this title.
fn titled(run: &RunFolder, title: &str) -> Result<Option<TaskId>, Failure> {
    let plan = open_run(run, |_, _| {})?.state.plan;
    let mut tasks = plan.task_ids();
    Ok(tasks.find(|id| is_same_name(plan.title(*id), title)))
}

/// The run with this very id, else the task with this title, else the run that is meant by a part of its id.
fn meant(folder: &StateFolder, arguments: &Cancel) -> Result<(RunFolder, Command), Failure> {
    let named = RunId::new(arguments.target.clone()).ok();
    let named = named.filter(|_| arguments.of.id().is_none());
    if let Some(id) = named.as_ref().filter(|id| is_run(folder, id.as_str())) {
        if let Ok(latest) = find_run(folder, None)
            && titled(&latest, id.as_str())?.is_some()
        {
            let why = anyhow!("'{id}' is a run, and the title of a task of run {}", latest.id());
            return Err(Failure::usage(why).help(format!(
                "`quorum cancel {id} {}` cancels the task; a part of its id cancels the run",
                latest.id()
            )));
        }
        return Ok((find_run(folder, Some(id))?, Command::CancelRun));
    }
    let run = find_run(folder, arguments.of.id())?;
    if let Some(task) = titled(&run, &arguments.target)? {
        return Ok((run, Command::CancelTask { task }));
    }
    if let Some(Ok(run)) = named.map(|id| find_run(folder, Some(&id))) {
        return Ok((run, Command::CancelRun));
    }
    Err(usage!("'{}' is neither a run nor a task of run {}", arguments.target, run.id())
        .help("`quorum status` shows the tasks of a run"))
}

pub fn pause(arguments: &Pause, screen: &Screen) -> Result<u8, Failure> {
    let (folder, run) = run_of(&arguments.of, screen)?;
    let given = submit_command(&folder, &run, Command::Pause, &arguments.actor)?;
    Ok(print_result(screen, &run, given, &format!("pause {}", run.id())))
}
