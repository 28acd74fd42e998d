//! `quorum show`: everything about one task of a run.

use clap::Args;

use crate::{
    cli::{
        args::OfRun,
        command_error::Failure,
        file_view::file_view,
        folded_task::{check_attempt, fold_task},
        project::run_of,
        screen::Screen,
        writer::{at_work, has_writer},
    },
    report::documents::{RunState, Tasks, show::TaskDocument},
    store::SpoolName,
};

#[derive(Debug, Args)]
pub struct Show {
    /// The task's title
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Only this attempt, counted from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Prompts, replies, tools and every attempt too
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub of: OfRun,
}

pub fn show(arguments: &Show, screen: &Screen) -> Result<u8, Failure> {
    let (folder, run) = run_of(&arguments.of, screen)?;
    let mut told = fold_task(&run, &arguments.task)?;
    let standing = RunState::of(&told.state, has_writer(&folder, &run));
    told.view.at_work = at_work(&told.left, standing);
    check_attempt(&told.history, arguments.attempt)?;
    let files = |name: &SpoolName| file_view(&run, name, &told.vouched);
    let mut document =
        TaskDocument::of(Tasks::of(&told.state, &told.view), &told.history, arguments.attempt, &files);
    document.full = arguments.full;
    screen.show(&document);
    Ok(0)
}
