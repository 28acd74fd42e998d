//! The pages of `quorum serve` that are no report: the list of runs, what waits for a person, a word about what was done.

use minijinja::value::{Serde, Value};
use minijinja::{Environment, context};
use serde::Serialize;

use crate::report::{
    documents::{InboxDocument, RunDocument, runs::RunRow},
    folds::history::Histories,
    screens::summary::shell_word,
};
use rules::{domain::TaskId, engine::GateStanding};

use super::{PageInput, environment, story};

/// Rows of the list of runs.
const ROWS: usize = 500;
/// Tasks that are offered to be cancelled.
const OFFERED: usize = 500;
/// The templates of these pages.
const TEMPLATES: [(&str, &str); 6] = [
    ("served.html", include_str!("served.html")),
    ("served.css", include_str!("served.css")),
    ("live.js", LIVE_SCRIPT),
    ("runs.html", include_str!("runs.html")),
    ("inbox.html", include_str!("inbox.html")),
    ("message.html", include_str!("message.html")),
];

/// The one script of the pages, as it stands between its tags but for the line feed at its end.
pub const LIVE_SCRIPT: &str = include_str!("live.js");

/// The state of the journals that a page shows, and where it hears that they have changed.
#[derive(Debug, Clone, Serialize)]
pub struct ShownState {
    /// The state that the page shows, as the address of its events says it.
    pub event: String,
    /// The address of the events.
    pub events: String,
}

/// The input of the page of what waits for a person in a run.
pub struct InboxInput<'a> {
    pub page: PageInput<'a>,
    pub inbox: &'a InboxDocument<'a>,
    /// The difference of the task of each wait; empty where there is none.
    pub diffs: &'a [String],
    /// The token that every form carries.
    pub form: &'a str,
    /// The person that decisions are recorded as.
    pub by: &'a str,
    /// Tasks that can still be cancelled; with none of them the run cannot be, either.
    pub open: &'a [TaskId],
}

/// Something that the person who asked for a page is told in its place.
#[derive(Debug, Serialize)]
pub struct ServedWord<'a> {
    pub title: &'a str,
    pub message: &'a str,
    pub help: Option<&'a str>,
    /// The run that it is about.
    pub run: Option<&'a str>,
}

/// Adds the templates of these pages.
pub fn add_templates(environment: &mut Environment<'static>) -> Result<(), minijinja::Error> {
    TEMPLATES.into_iter().try_for_each(|(name, text)| environment.add_template(name, text))
}

/// The list of runs, the newest first.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn runs_page(runs: &[RunRow], skipped: usize, shown: &ShownState) -> Result<String, minijinja::Error> {
    let rows: Vec<&RunRow> = runs.iter().rev().take(ROWS).collect();
    let skipped = skipped + runs.len() - rows.len();
    let page = context! { rows => Serde(rows), skipped, ..Serde(shown) };
    environment()?.get_template("runs.html")?.render(page)
}

/// What waits for a person in a run, with all that is known about it.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn inbox_page(told: &InboxInput<'_>) -> Result<String, minijinja::Error> {
    let environment = environment()?;
    let run = told.page.run;
    let waits = told.inbox.approvals.as_deref().unwrap_or_default();
    let stories: Result<Vec<Value>, minijinja::Error> = waits
        .iter()
        .map(|wait| match wait.task_id.and_then(|task| Some((task, told.page.histories.task(task)?))) {
            Some((task, history)) => story(&environment, &told.page, task, history, true),
            None => Ok(Value::from("")),
        })
        .collect();
    let failed = run.gates.iter().filter(|gate| gate.state == GateStanding::Failed);
    let gates = failed.map(|gate| (gate, shell_word(gate.name)));
    let open = told.open.iter().take(OFFERED).map(|task| (task.0, run.tasks.title(*task)));
    let page = context! {
        run => Serde(run),
        waits => Serde(waits),
        stories => stories?,
        diffs => Serde(told.diffs),
        requests => Serde(told.inbox.requests.as_deref().unwrap_or_default()),
        gates => Serde(gates.collect::<Vec<_>>()),
        open => Serde(open.collect::<Vec<_>>()),
        form => told.form,
        by => told.by,
        ..Serde(&told.page.shown)
    };
    environment.get_template("inbox.html")?.render(page)
}

/// The stories of the tasks that wait, still empty.
pub fn waiting_histories(run: &RunDocument<'_>, inbox: &InboxDocument<'_>) -> Histories {
    let waits = inbox.approvals.as_deref().unwrap_or_default();
    Histories::of(waits.iter().filter_map(|wait| wait.task_id), run.seq)
}

/// A word in the place of a page.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn word_page(word: &ServedWord<'_>) -> Result<String, minijinja::Error> {
    environment()?.get_template("message.html")?.render(context! { events => (), ..Serde(word) })
}
