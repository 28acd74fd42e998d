//! `quorum show`: everything about one task of a run.

use anyhow::anyhow;
use clap::Args;

use crate::domain::RunId;
use crate::engine::{State, SupervisorRef};
use crate::executor::spool::preview;
use crate::mission::suggestion;
use crate::report::history::TaskHistory;
use crate::report::json::Standing;
use crate::report::show::{FileView, TaskDocument, human};
use crate::report::view::RunView;
use crate::runtime::{Left, Vouched};
use crate::store::{JournalEnd, RunFolder, SpoolName};

use super::failure::Failure;
use super::project::{find_run, open_run, state_folder};
use super::screen::{LiveView, Screen};
use super::status::{at_work, has_writer};

/// How much of a file is quoted, in bytes.
const PREVIEW: u64 = 2_000;

#[derive(Debug, Args)]
pub struct Show {
    /// The task's title
    #[arg(value_name = "TASK")]
    pub task: String,
    /// Only this attempt, counted from 1
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// The run [default: the latest]
    #[arg(long, value_name = "RUN")]
    pub run: Option<RunId>,
}

/// A run, folded, with the story of one of its tasks.
pub struct Told {
    pub state: State,
    pub view: RunView,
    pub history: TaskHistory,
    /// The supervisor of the last session.
    pub supervisor: SupervisorRef,
    /// What that session may have left running.
    pub left: Left,
    /// How far the journal was read.
    pub end: JournalEnd,
    /// What records say of the task's files.
    pub vouched: Vouched,
}

pub fn show(arguments: &Show, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut told = tell(&run, &arguments.task)?;
    let standing = Standing::of(&told.state, has_writer(&folder, &run));
    told.view.at_work = at_work(&told.left, standing);
    check_attempt(&told.history, arguments.attempt)?;
    let files = |name: &SpoolName| file_view(&run, name, &told.vouched);
    let document = TaskDocument::of(&told.state, &told.view, &told.history, arguments.attempt, &files);
    if screen.is_json() {
        screen.document(&document);
    } else {
        screen.result(&human(&document, &screen.out()));
    }
    Ok(0)
}

/// Folds a run and keeps the story of the task with this title.
pub fn tell(run: &RunFolder, title: &str) -> Result<Told, Failure> {
    let mut view = LiveView::default();
    let mut history = None;
    let mut vouched = Vouched::default();
    let recovered = open_run(run, |state, record| {
        view.take(state, record);
        if history.is_none() {
            history = state.plan.find(title).map(TaskHistory::new);
        }
        if let Some(history) = &mut history {
            for event in &record.events {
                history.apply(record.at, event);
                if event.task() == Some(history.task) {
                    vouched.take(run, event);
                }
            }
        }
    })?;
    let (left, supervisor) = (recovered.left(), recovered.supervisor().clone());
    let state = recovered.state;
    let Some(history) = history else {
        let titles = state.plan.every_task_id();
        let titles = titles.map(|id| state.plan.task(id).title.as_ref());
        let help = suggestion(title, titles, "the tasks of this run are");
        return Err(Failure::usage(anyhow!("there is no task '{title}' in run {}", run.id())).help(help));
    };
    let view = view.into_view(&state);
    Ok(Told {
        state,
        view,
        history,
        left,
        supervisor,
        end: recovered.end,
        vouched,
    })
}

/// An attempt that there was not is a typing error, not an empty answer.
pub fn check_attempt(history: &TaskHistory, attempt: Option<u32>) -> Result<(), Failure> {
    let Some(wanted) = attempt else {
        return Ok(());
    };
    if history.attempts.iter().any(|attempt| attempt.number == wanted) {
        return Ok(());
    }
    let known: Vec<String> = history
        .attempts
        .iter()
        .map(|attempt| attempt.number.to_string())
        .collect();
    let help = match known.is_empty() {
        true => "the task has not started".to_owned(),
        false => format!("its attempts are: {}", known.join(", ")),
    };
    Err(Failure::usage(anyhow!("the task has no attempt {wanted}")).help(help))
}

/// What is shown instead of a file that was changed since.
const CHANGED: &str = "[changed since it was recorded, so it is not shown: `quorum doctor state` says more]";

/// A file of the run, with its beginning, if it is as records say; `None` where there is none or it is empty.
pub fn file_view(run: &RunFolder, name: &SpoolName, vouched: &Vouched) -> Option<FileView> {
    let path = run.spool_file(name);
    let (beginning, bytes) = preview(&path, PREVIEW)?;
    if bytes > 0 && vouched.is_changed(&path) {
        return Some(FileView {
            path,
            bytes,
            cut: false,
            preview: CHANGED.to_owned(),
        });
    }
    (bytes > 0).then_some(FileView {
        path,
        bytes,
        cut: bytes > PREVIEW,
        preview: beginning,
    })
}
