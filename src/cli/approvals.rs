//! `quorum approvals` and `quorum requests`: what waits for a person, and what operators should know of.

use clap::Args;
use serde_json::{Value, json};

use crate::domain::{RunId, Timestamp};
use crate::engine::State;
use crate::report::asked::{WINDOW, asked, windows};
use crate::report::ids::RequestId;
use crate::report::json::request_kind;
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

pub fn approvals(arguments: &OfRun, screen: &Screen) -> Result<u8, Failure> {
    let (run, state, view) = open(arguments, screen)?;
    let waiting = asked(&state, &view).map(|asked| {
        let mut row = json!({
            "id": asked.id,
            "task": asked.task.map(|_| asked.title),
            "reason": asked.reason,
            "message": asked.message,
            "since": asked.since.to_rfc3339(),
            "expires": asked.expires.map(Timestamp::to_rfc3339),
        });
        if asked.task.is_none() {
            row["checkpoint"] = json!(asked.title);
        }
        row
    });
    let windows = windows(&state).map(|window| {
        json!({
            "id": null,
            "task": window.title,
            "reason": WINDOW,
            "message": window.message,
            "since": window.since.to_rfc3339(),
            "expires": window.until.to_rfc3339(),
        })
    });
    let waiting = waiting.chain(windows);
    print(
        screen,
        &run,
        "approvals",
        "reason",
        waiting.collect(),
        "nothing waits for a person\n",
    );
    Ok(0)
}

pub fn requests(arguments: &OfRun, screen: &Screen) -> Result<u8, Failure> {
    let (run, state, view) = open(arguments, screen)?;
    let requests = view.requests.iter().map(|request| {
        let id = RequestId {
            run: run.id(),
            task: request.task,
            attempt: request.attempt,
        };
        json!({
            "id": id.to_string(),
            "task": state.plan.task(request.task).title,
            "kind": request_kind(&state, request.task),
            "message": request.message,
        })
    });
    print(
        screen,
        &run,
        "requests",
        "kind",
        requests.collect(),
        "there are no operator requests\n",
    );
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

/// One document, or a line for each.
fn print(screen: &Screen, run: &RunFolder, kind: &str, why: &str, rows: Vec<Value>, none: &str) {
    if screen.is_json() {
        let mut document = json!({"schema": format!("quorum.{kind}/v1"), "runId": run.id().as_str()});
        document[kind] = Value::Array(rows);
        return screen.document(&document);
    }
    fn text<'a>(row: &'a Value, key: &str) -> &'a str {
        row[key].as_str().unwrap_or_default()
    }
    let items: Vec<Item<'_>> = rows
        .iter()
        .map(|row| Item {
            id: text(row, "id"),
            task: row["checkpoint"].as_str().unwrap_or_else(|| text(row, "task")),
            kind: text(row, why),
            message: text(row, "message"),
        })
        .collect();
    let lines = human(&items, &screen.out());
    screen.result(if lines.is_empty() { none } else { &lines });
}
