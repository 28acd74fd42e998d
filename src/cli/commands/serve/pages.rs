//! The pages: runs, a run as its report tells it, what waits in it. Who reads a journal does it beside the event loop, one page at
//! a time; a page that shows what is there already is not drawn again.

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use tokio::task::spawn_blocking;

use crate::{
    cli::{
        command_error::Failure,
        listing::row,
        project::{all_runs, open_run},
        report_kind::page,
        screen::LiveView,
        writer::has_writer,
    },
    report::{
        documents::{Halves, InboxDocument, RunDocument, RunState, Wait, runs::RunRow},
        formats::html::{
            InboxInput, ServedWord, ShownState, histories, html, inbox_page, runs_page, waiting_histories,
            word_page,
        },
    },
    runtime::work_diff,
    store::RunFolder,
};
use rules::{
    domain::{RunId, TaskId},
    engine::{RunPhase, State as RunStateOfEngine},
};

use super::changes::Watched;
use super::served_folder::{PageKind, PageServer, ServedFolder};

/// Pages that are kept as they were drawn.
const KEPT_PAGES: usize = 8;
/// Runs of the list.
const LISTED: usize = 500;
/// Waits whose difference is shown.
const DIFFS: usize = 20;
/// The longest difference that is shown, in bytes.
const LONGEST_DIFF: usize = 60_000;

pub async fn runs(State(server): State<PageServer>) -> Response {
    show(server, PageKind::Runs, Watched::Runs).await
}

pub async fn report(State(server): State<PageServer>, Path(id): Path<String>) -> Response {
    of_run(server, PageKind::Report, &id).await
}

pub async fn inbox(State(server): State<PageServer>, Path(id): Path<String>) -> Response {
    of_run(server, PageKind::Inbox, &id).await
}

pub async fn nothing() -> Response {
    word(StatusCode::NOT_FOUND, "there is no such page", None)
}

async fn of_run(server: PageServer, kind: PageKind, id: &str) -> Response {
    match server.run(id) {
        Some(run) => show(server, kind, Watched::Run(run.id().clone())).await,
        None => word(StatusCode::NOT_FOUND, "there is no such run", None),
    }
}

/// A page of what is there now. Of those who ask for it at the same time the first one has it drawn.
async fn show(server: PageServer, kind: PageKind, watched: Watched) -> Response {
    let mut drawn = server.drawn.lock().await;
    let (of, last) = (server.clone(), drawn.get(&(kind, watched.clone())).cloned());
    let about = watched.clone();
    let work = move || {
        let shown = ShownState { event: about.state(&of.folder).1, events: about.address() };
        match last {
            Some((event, page)) if event == shown.event => Ok((event, page)),
            _ => Ok((shown.event.clone(), draw(&of, kind, &about, shown)?.into())),
        }
    };
    match spawn_blocking(work).await.unwrap_or_else(|error| Err(Failure::internal(error))) {
        Ok((event, page)) => {
            if drawn.len() >= KEPT_PAGES {
                drawn.clear();
            }
            drawn.insert((kind, watched), (event, page.clone()));
            markup(StatusCode::OK, page.to_string())
        }
        Err(failure) => word(StatusCode::INTERNAL_SERVER_ERROR, &failure.message(), None),
    }
}

fn draw(
    server: &ServedFolder,
    kind: PageKind,
    about: &Watched,
    shown: ShownState,
) -> Result<String, Failure> {
    match (kind, about) {
        (PageKind::Report, Watched::Run(id)) => report_of(server, &server.folder.run(id), shown),
        (PageKind::Inbox, Watched::Run(id)) => inbox_of(server, &server.folder.run(id), shown),
        _ => {
            let runs = all_runs(&server.folder)?;
            let skipped = runs.len().saturating_sub(LISTED);
            let rows: Vec<RunRow> =
                runs.into_iter().skip(skipped).map(|run| row(&server.folder, run)).collect();
            runs_page(&rows, skipped, &shown).map_err(Failure::internal)
        }
    }
}

fn report_of(server: &ServedFolder, run: &RunFolder, shown: ShownState) -> Result<String, Failure> {
    let mut view = LiveView::default();
    let state = open_run(run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    let standing = RunState::of(&state, has_writer(&server.folder, run));
    let document = RunDocument::of(&state, &view, standing, view.outcome.as_ref());
    page(run, &document, histories(&document), Some(shown), |told| html(&told)).map_err(Failure::internal)
}

fn inbox_of(server: &ServedFolder, run: &RunFolder, shown: ShownState) -> Result<String, Failure> {
    let mut view = LiveView::default();
    let state = open_run(run, |state, record| view.take(state, record))?.state;
    let view = view.into_view(&state);
    let standing = RunState::of(&state, has_writer(&server.folder, run));
    let document = RunDocument::of(&state, &view, standing, view.outcome.as_ref());
    let both =
        [Halves::Approvals, Halves::Requests].map(|half| InboxDocument::of(run.id(), &state, &view, half));
    let [mut inbox, InboxDocument { requests, .. }] = both;
    inbox.requests = requests;
    let waits = inbox.approvals.iter().flatten();
    let diffs: Vec<String> = waits.take(DIFFS).map(|wait| diff(run, &state, wait)).collect();
    let (form, open) = (server.access.form(), cancellable(&state));
    page(run, &document, waiting_histories(&document, &inbox), Some(shown), |told| {
        inbox_page(&InboxInput {
            page: told,
            inbox: &inbox,
            diffs: &diffs,
            form: &form,
            by: &server.by,
            open: &open,
        })
    })
    .map_err(Failure::internal)
}

/// What the task that waits has changed, as far as that is known.
fn diff(run: &RunFolder, state: &RunStateOfEngine, wait: &Wait<'_>) -> String {
    let task = wait.task_id.filter(|task| state.plan.task(*task).commits());
    let patch = task.map(|task| work_diff(run, state, task));
    match patch {
        None => String::new(),
        Some(Err(error)) => format!("it cannot be shown: {error}"),
        Some(Ok(mut patch)) => {
            let is_cut = patch.len() > LONGEST_DIFF;
            patch.truncate(LONGEST_DIFF);
            let text = String::from_utf8_lossy(&patch).into_owned();
            if is_cut { format!("{text}\n[cut: `quorum diff` shows all of it]") } else { text }
        }
    }
}

/// The tasks that can still be called off.
fn cancellable(state: &RunStateOfEngine) -> Vec<TaskId> {
    if state.phase == RunPhase::Finished && !state.is_resumable() {
        return Vec::new();
    }
    state.plan.task_ids().filter(|task| !state.task(*task).status().is_terminal()).collect()
}

/// A word in the place of a page.
pub fn word(status: StatusCode, message: &str, run: Option<&RunId>) -> Response {
    let title = status.canonical_reason().unwrap_or("quorum");
    spoken(status, &ServedWord { title, message, help: None, run: run.map(RunId::as_str) })
}

pub fn spoken(status: StatusCode, word: &ServedWord<'_>) -> Response {
    match word_page(word) {
        Ok(page) => markup(status, page),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn markup(status: StatusCode, page: String) -> Response {
    (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
}
