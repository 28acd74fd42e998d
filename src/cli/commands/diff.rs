//! `quorum diff`: what an isolated task, or all accepted work of a run, changed, as git shows it.

use std::io::{IsTerminal, Write};

use anyhow::anyhow;
use clap::Args;

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        folded_task::fold_task,
        harmless::Harmless,
        project::{find_run, open_run, run_of, state_folder},
        screen::{Screen, not_printed},
    },
    report::escape,
    runtime::{run_diff, work_diff},
    store::RunFolder,
};
use rules::domain::RunId;

#[derive(Debug, Args)]
pub struct Diff {
    /// The task's title, or a run, of which all accepted work is shown
    #[arg(value_name = "TASK|RUN")]
    pub task: String,
    #[command(flatten)]
    pub of: OfRun,
}

pub fn diff(arguments: &Diff, screen: &Screen) -> Result<u8, Failure> {
    let patch = match whole_run(arguments, screen)? {
        Some(run) => of_run(&run)?,
        None => of_task(arguments, screen)?,
    };
    let stdout = std::io::stdout();
    let mut out: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(Harmless::new(stdout, escape)) } else { Box::new(stdout) };
    match out.write_all(&patch).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(error) => not_printed(error),
    }
}

/// The run that is named in the place of a task. The title of a task goes first.
fn whole_run(arguments: &Diff, screen: &Screen) -> Result<Option<RunFolder>, Failure> {
    let folder = state_folder(screen.output())?;
    let (None, Ok(named)) = (arguments.of.id(), RunId::new(&arguments.task)) else {
        return Ok(None);
    };
    let latest = find_run(&folder, None)?;
    if open_run(&latest, |_, _| {})?.state.plan.find(&arguments.task).is_some() {
        return Ok(None);
    }
    // What is neither is told of as a task.
    Ok(find_run(&folder, Some(&named)).ok())
}

fn of_run(run: &RunFolder) -> Result<Vec<u8>, Failure> {
    let state = open_run(run, |_, _| {})?.state;
    if !state.plan.task_ids().any(|task| state.plan.task(task).commits()) {
        return Err(shared(&format!("every task of run {}", run.id())));
    }
    run_diff(run, &state).map_err(Failure::environment)
}

fn of_task(arguments: &Diff, screen: &Screen) -> Result<Vec<u8>, Failure> {
    let (_, run) = run_of(&arguments.of, screen)?;
    let told = fold_task(&run, &arguments.task)?;
    let task = told.history.task;
    if !told.state.plan.task(task).commits() {
        return Err(shared(&format!("'{}'", arguments.task)));
    }
    work_diff(&run, &told.state, task).map_err(Failure::environment)
}

/// The refusal of what nobody can tell.
fn shared(who: &str) -> Failure {
    let why = anyhow!("{who} works in the workspace that all share: nobody can tell what it alone changed");
    Failure::usage(why).help("`isolation: worktree` gives a task a checkout of its own")
}
