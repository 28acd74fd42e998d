//! `quorum inbox`: what waits for a person, and what operators should know of. `quorum approvals` and `quorum requests` are
//! its halves.

use clap::Args;
use serde_json::json;

use crate::domain::RunId;
use crate::engine::State;
use crate::report::json::{ApprovalRow, RequestRow};
use crate::report::view::RunView;
use crate::report::waiting::{Item, human};
use crate::store::RunFolder;

use super::failure::Failure;
use super::project::{find_run, open_run, state_folder};
use super::screen::{LiveView, Screen};

#[derive(Debug, Args)]
pub struct OfRun {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
}

/// Prints both halves.
pub fn inbox(arguments: &OfRun, screen: &Screen) -> Result<u8, Failure> {
    let (run, state, view) = open(arguments, screen)?;
    let (approvals, requests) = (approvals_of(&state, &view), requests_of(&state, &view));
    if screen.is_json() {
        screen.document(&json!({
            "schema": "quorum.inbox/v1",
            "runId": run.id().as_str(),
            "approvals": approvals,
            "requests": requests,
        }));
    } else {
        let items = approvals.iter().map(waiting).chain(requests.iter().map(notice));
        print(screen, &items.collect::<Vec<_>>(), "nothing waits for a person\n");
    }
    Ok(0)
}

/// Prints what waits.
pub fn approvals(arguments: &OfRun, screen: &Screen) -> Result<u8, Failure> {
    let (run, state, view) = open(arguments, screen)?;
    let rows = approvals_of(&state, &view);
    if screen.is_json() {
        let run = run.id().as_str();
        screen.document(&json!({"schema": "quorum.approvals/v1", "runId": run, "approvals": rows}));
    } else {
        let items: Vec<Item<'_>> = rows.iter().map(waiting).collect();
        print(screen, &items, "nothing waits for a person\n");
    }
    Ok(0)
}

/// Prints what was accepted below the bar.
pub fn requests(arguments: &OfRun, screen: &Screen) -> Result<u8, Failure> {
    let (run, state, view) = open(arguments, screen)?;
    let rows = requests_of(&state, &view);
    if screen.is_json() {
        let run = run.id().as_str();
        screen.document(&json!({"schema": "quorum.requests/v1", "runId": run, "requests": rows}));
    } else {
        let items: Vec<Item<'_>> = rows.iter().map(notice).collect();
        print(screen, &items, "there are no operator requests\n");
    }
    Ok(0)
}

fn open(arguments: &OfRun, screen: &Screen) -> Result<(RunFolder, State, RunView), Failure> {
    let folder = state_folder(screen.output())?;
    let run = find_run(&folder, arguments.run.as_ref())?;
    let mut view = LiveView::default();
    let state = open_run(&run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    Ok((run, state, view))
}

fn approvals_of<'a>(state: &'a State, view: &'a RunView) -> Vec<ApprovalRow<'a>> {
    crate::report::json::approvals(state, view).collect()
}

fn requests_of<'a>(state: &'a State, view: &'a RunView) -> Vec<RequestRow<'a>> {
    crate::report::json::requests(state, view).collect()
}

fn waiting<'a>(row: &'a ApprovalRow<'a>) -> Item<'a> {
    Item {
        // A moment ends it: there is nothing to type.
        id: row.id.as_deref().unwrap_or("-"),
        task: row.task.or(row.checkpoint).or(row.delay).unwrap_or_default(),
        kind: row.reason,
        until: row.expires.as_deref(),
        message: row.message,
    }
}

fn notice<'a>(row: &'a RequestRow<'a>) -> Item<'a> {
    Item {
        id: &row.id,
        task: row.task,
        kind: row.kind,
        until: None,
        message: row.message,
    }
}

/// A line for each.
fn print(screen: &Screen, items: &[Item<'_>], none: &str) {
    let lines = human(items, &screen.out());
    screen.result(if lines.is_empty() { none } else { &lines });
}
