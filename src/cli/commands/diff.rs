//! `quorum diff`: what an isolated task changed, as git shows it.

use std::io::{IsTerminal, Write};

use anyhow::anyhow;
use clap::Args;

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        folded_task::fold_task,
        harmless::Harmless,
        project::run_of,
        screen::{Screen, not_printed},
    },
    report::escape,
    runtime::work_diff,
};

#[derive(Debug, Args)]
pub struct Diff {
    /// The task's title
    #[arg(value_name = "TASK")]
    pub task: String,
    #[command(flatten)]
    pub of: OfRun,
}

pub fn diff(arguments: &Diff, screen: &Screen) -> Result<u8, Failure> {
    let (_, run) = run_of(&arguments.of, screen)?;
    let told = fold_task(&run, &arguments.task)?;
    let task = told.history.task;
    if !told.state.plan.task(task).commits() {
        let why = anyhow!(
            "'{}' works in the workspace that all share: nobody can tell what it alone changed",
            arguments.task
        );
        return Err(Failure::usage(why).help("`isolation: worktree` gives a task a checkout of its own"));
    }
    let patch = work_diff(&run, &told.state, task).map_err(Failure::environment)?;
    let stdout = std::io::stdout();
    let mut out: Box<dyn Write> =
        if stdout.is_terminal() { Box::new(Harmless::new(stdout, escape)) } else { Box::new(stdout) };
    match out.write_all(&patch).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(error) => not_printed(error),
    }
}
