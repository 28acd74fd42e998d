//! One task of a run, as the run's journal tells it.

use crate::{
    report::folds::{history::TaskHistory, view::RunView},
    runtime::{Left, VerifiedFiles},
    store::{JournalEnd, RunFolder},
};
use rules::{
    engine::{State, SupervisorRef},
    mission::suggestion,
};

use super::command_error::Failure;
use super::project::{is_run, open_run};
use super::screen::LiveView;

/// A run, folded, with the story of one of its tasks.
pub struct FoldedTask {
    pub state: State,
    pub view: RunView,
    pub history: TaskHistory,
    /// The supervisor of the last session.
    pub supervisor: SupervisorRef,
    /// The processes that the last session may have left running.
    pub left: Left,
    /// How far the journal was read.
    pub end: JournalEnd,
    /// The recorded digests of the task's files.
    pub vouched: VerifiedFiles,
}

/// Folds a run and keeps the story of the task with this title.
pub fn fold_task(run: &RunFolder, title: &str) -> Result<FoldedTask, Failure> {
    let mut view = LiveView::default();
    let mut history = None;
    let mut vouched = VerifiedFiles::default();
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
        let titles = titles.map(|id| state.plan.title(id));
        let help = if is_run(&run.state_folder(), title) {
            format!("{title} is a run: the title of a task comes before it")
        } else {
            suggestion(title, titles, "the tasks of this run are")
        };
        return Err(usage!("there is no task '{title}' in run {}", run.id()).help(help));
    };
    let view = view.into_view(&state);
    Ok(FoldedTask { state, view, history, left, supervisor, end: recovered.end, vouched })
}

/// An attempt that there was not is a typing error, not an empty answer.
pub fn check_attempt(history: &TaskHistory, attempt: Option<u32>) -> Result<(), Failure> {
    let Some(wanted) = attempt else {
        return Ok(());
    };
    if history.attempts.iter().any(|attempt| attempt.number == wanted) {
        return Ok(());
    }
    let known: Vec<String> = history.attempts.iter().map(|attempt| attempt.number.to_string()).collect();
    let help = if known.is_empty() {
        "the task has not started".to_owned()
    } else {
        format!("its attempts are: {}", known.join(", "))
    };
    Err(usage!("the task has no attempt {wanted}").help(help))
}
