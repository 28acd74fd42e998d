//! A run as one page for a browser: self-contained, without a network, without a script.
//!
//! The page tells the same facts as the other reports, from the same documents: the run's ([`crate::report::documents`]), its tasks'
//! ([`crate::report::documents::show`]), the ranking ([`crate::report::folds::rank`]). What workers and reviewers wrote is untrusted: the template
//! engine escapes every value, the formatter takes out what moves a cursor or turns the reading direction, and a
//! policy in the page forbids everything but its own style.
//!
//! | file | what |
//! |---|---|
//! | `report.html` | the page |
//! | `style.css` | its style |
//! | `calibration.html` | judges held against people, in pictures |
//! | `task.html` | one task in full |
//! | `graph` | the drawing of tasks and gates |
//! | `layout` | where its boxes and lines are |
//! | `timeline` | when attempts were worked on and judged |
//! | `served` | the other pages of `quorum serve`: runs, what waits for a person; with `live.js`, which shows what is new |

mod graph;
mod layout;
mod served;
mod timeline;

use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, UndefinedBehavior, context, escape_formatter};
use rust_decimal::Decimal;
use serde::Serialize;

use rules::{
    domain::{Gravity, Millis, Money, TaskId},
    engine::Outcome,
};

use crate::report::{
    documents::{
        RunDocument, TaskRow, calibration,
        show::{Files, TaskDocument},
    },
    folds::{
        history::{Histories, TaskHistory},
        rank::{Rank, reason},
    },
    screens::{
        summary::{facts, outcome_words},
        text::{elapsed, number, sanitize_lines},
    },
};

pub use served::{
    InboxInput, LIVE_SCRIPT, ServedWord, ShownState, inbox_page, runs_page, waiting_histories, word_page,
};

/// Tasks that are told in full, the worst first; of the others there are rows.
const IN_FULL: usize = 300;

/// Bytes that all tasks told in full may take together.
const IN_FULL_BYTES: usize = 6 * 1024 * 1024;

/// Rows of the table of tasks.
const ROWS: usize = 10_000;

/// The input of the template of a page.
pub struct PageInput<'a> {
    pub run: &'a RunDocument<'a>,
    /// The stories of the tasks of [`histories`].
    pub histories: &'a Histories,
    /// The files that histories are quoted from.
    pub files: &'a Files<'a>,
    /// The state that a page of `quorum serve` shows; `None` for a file.
    pub shown: Option<ShownState>,
}

/// The stories that the page tells, still empty: those of the worst tasks, of all in a mission of usual size.
pub fn histories(run: &RunDocument<'_>) -> Histories {
    let tasks = run.tasks.ranked().into_iter().map(|(_, id)| id);
    Histories::of(tasks.take(IN_FULL), run.seq)
}

/// The page.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn html(told: &PageInput<'_>) -> Result<String, minijinja::Error> {
    let run = told.run;
    let environment = environment()?;
    let ranked = run.tasks.ranked();
    let sections = sections(&environment, told, &ranked)?;
    let rows: Vec<TaskTableRow<'_>> = run
        .tasks
        .worst_first()
        .take(ROWS)
        .enumerate()
        .map(|(place, task)| TaskTableRow::of(&task, place < sections.len()))
        .collect();
    let full: Vec<TaskId> = ranked[..sections.len()].iter().map(|(_, id)| *id).collect();
    let page = context! {
        run => facts(run),
        outcome => Serde(run.ended.map(OutcomeRow::of)),
        unjudged => run.tasks.of_rank(Rank::Indeterminate).len(),
        drawing => Serde(graph::drawing(run, &ranked, &full)),
        timeline => Serde(timeline::timeline(told, &full)),
        rows_left_out => ranked.len().saturating_sub(ROWS),
        in_full => sections.len(),
        total => ranked.len(),
        rows => Serde(rows),
        sections => sections,
        served => Serde(&told.shown),
    };
    environment.get_template("report.html")?.render(page)
}

/// Judges held against people, in pictures.
///
/// # Errors
/// When the template does not fit its values: our bug.
pub fn calibration_page(document: &calibration::CalibrationDocument) -> Result<String, minijinja::Error> {
    environment()?.get_template("calibration.html")?.render(Serde(document))
}

/// As many tasks in full as there is room for, the worst first.
fn sections(
    environment: &Environment<'_>,
    told: &PageInput<'_>,
    ranked: &[(Rank, TaskId)],
) -> Result<Vec<Value>, minijinja::Error> {
    let mut sections = Vec::new();
    let mut room = IN_FULL_BYTES;
    for (rank, id) in ranked {
        let Some(history) = told.histories.task(*id) else {
            break;
        };
        let section = story(environment, told, *id, history, *rank <= Rank::Waiting)?;
        let bytes = section.as_str().map_or(0, str::len);
        let Some(left) = room.checked_sub(bytes) else {
            break;
        };
        room = left;
        sections.push(section);
    }
    Ok(sections)
}

/// The story of one task, rendered with its escapes already.
fn story(
    environment: &Environment<'_>,
    told: &PageInput<'_>,
    id: TaskId,
    history: &TaskHistory,
    open: bool,
) -> Result<Value, minijinja::Error> {
    let tasks = told.run.tasks;
    let document = TaskDocument::of(tasks, history, None, told.files);
    let section = environment.get_template("task.html")?.render(context! {
        row => Serde(TaskTableRow::of(&document.task, true)),
        told => Serde(&document),
        times => Serde(timeline::times(told.run, history)),
        weights => Serde(tasks.weights(id)),
        person => document.task.person,
        open => open,
    })?;
    Ok(Value::from_safe_string(section))
}

fn environment() -> Result<Environment<'static>, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(|out, state, value| match value.as_str() {
        Some(text) if !value.is_safe() => escape_formatter(out, state, &Value::from(sanitize_lines(text))),
        None if value.is_none() => Ok(()),
        None if value.is_number() => {
            let number = value.to_string();
            Ok(out.write_str(number.strip_suffix(".0").unwrap_or(&number))?)
        }
        _ => escape_formatter(out, state, value),
    });
    environment.add_filter("cut", |text: &str, most: usize| cut(text, most));
    environment.add_filter("num", number);
    environment.add_filter("money", |cost: f64| {
        Decimal::try_from(cost).ok().and_then(Money::new).map(|cost| cost.to_string())
    });
    environment.add_filter("percent", |score: f64| format!("{:.1}", (score * 20.0).clamp(0.0, 100.0)));
    environment.add_filter("ms", |millis: u64| elapsed(Millis(millis)));
    environment.add_template("report.html", include_str!("report.html"))?;
    environment.add_template("calibration.html", include_str!("calibration.html"))?;
    environment.add_template("task.html", include_str!("task.html"))?;
    environment.add_template("style.css", include_str!("style.css"))?;
    served::add_templates(&mut environment)?;
    Ok(environment)
}

/// The text, cut after so many characters; a cut says so.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            let more = text[end..].chars().count();
            format!("{} … [cut: {more} more characters]", &text[..end])
        }
    }
}

/// The outcome of a run, for the head of a page.
#[derive(Serialize)]
struct OutcomeRow {
    class: &'static str,
    code: u8,
    words: String,
    meaning: &'static str,
    tone: &'static str,
}

impl OutcomeRow {
    fn of(outcome: &Outcome) -> Self {
        let class = outcome.class;
        // What helps is for a terminal.
        let meaning = class.meaning().split_inclusive('.').next().unwrap_or_default();
        let (tone, meaning) = match class.gravity() {
            // What was allowed makes the exit code 0, not the work good.
            Gravity::Good if !outcome.allowed.is_empty() => {
                ("warn", "What was not good enough was allowed not to count.")
            }
            Gravity::Good => ("good", meaning),
            Gravity::Warning => ("warn", meaning),
            Gravity::Bad => ("bad", meaning),
        };
        Self { class: class.as_str(), code: class.exit_code(), words: outcome_words(outcome), meaning, tone }
    }
}

/// One task in the table.
#[derive(Serialize)]
pub(super) struct TaskTableRow<'a> {
    id: u32,
    /// Whether the page has its story, to link to.
    told: bool,
    words: &'static str,
    tone: &'static str,
    sign: &'static str,
    title: &'a str,
    agent: &'a str,
    points: Option<String>,
    bar: Option<String>,
    attempts: usize,
    reason: String,
}

impl<'a> TaskTableRow<'a> {
    pub(super) fn of(task: &TaskRow<'a>, told: bool) -> Self {
        Self {
            id: task.id.0,
            told,
            words: task.rank.words(),
            tone: tone(task.rank),
            sign: sign(task.rank),
            title: task.title,
            agent: task.agent,
            points: task.points.map(|points| points.to_string()),
            bar: task.bar.map(|bar| bar.points.to_string()),
            attempts: task.attempts.len(),
            reason: reason(task),
        }
    }
}

/// The colour of a rank. Never alone: a sign and words stand beside it.
fn tone(rank: Rank) -> &'static str {
    match rank {
        Rank::Failed | Rank::Cascaded => "bad",
        Rank::Indeterminate | Rank::BelowBar | Rank::Waiting => "warn",
        Rank::Open | Rank::Unreviewed | Rank::Superseded | Rank::NotTaken | Rank::NotSelected => "open",
        Rank::Reworked | Rank::Done => "good",
    }
}

/// The sign of a rank: a shape of its own for each tone, from characters that every font has.
fn sign(rank: Rank) -> &'static str {
    match rank {
        Rank::Failed | Rank::Cascaded => "×",
        Rank::Indeterminate => "?",
        Rank::BelowBar => "!",
        Rank::Waiting => "‖",
        Rank::Open => "○",
        Rank::Unreviewed | Rank::Superseded | Rank::NotTaken | Rank::NotSelected => "–",
        Rank::Reworked | Rank::Done => "✓",
    }
}

#[cfg(test)]
mod tests;
