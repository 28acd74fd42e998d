//! When attempts were worked on and judged, counted from the start of the run.

use serde::Serialize;

use rules::domain::{Millis, TaskId, Timestamp};

use super::{PageInput, cut};
use crate::report::{
    documents::RunDocument,
    folds::history::{AttemptHistory, TaskHistory, TurnHistory, TurnStanding},
    screens::text::{count, elapsed},
};

/// Rows of the drawing.
const ROWS: usize = 100;

/// The drawing of all attempts.
#[derive(Serialize)]
pub struct Timeline<'a> {
    rows: Vec<TimelineRow<'a>>,
    left_out: usize,
    ticks: Vec<Tick>,
    total: String,
}

#[derive(Serialize)]
struct Tick {
    left: String,
    text: String,
}

#[derive(Serialize)]
struct TimelineRow<'a> {
    id: u32,
    title: &'a str,
    words: String,
    bars: Vec<TimelineBar>,
    #[serde(skip)]
    began: u64,
}

/// A piece of time, in hundredths of the whole.
#[derive(Serialize)]
struct TimelineBar {
    kind: &'static str,
    left: String,
    width: String,
    words: String,
    /// The attempt, where the bar has room for its number.
    n: Option<u32>,
}

/// When an attempt was worked on.
#[derive(Serialize)]
pub struct AttemptTimes {
    /// Since the start of the run.
    at: Option<String>,
    /// The time that all turns of the task worked; `None` where it had none.
    worked: Option<String>,
}

/// Work and judging of one attempt.
struct AttemptPiece {
    kind: &'static str,
    from: u64,
    to: u64,
    n: u32,
}

/// The timeline of these tasks, as many as fit.
pub fn timeline<'a>(told: &PageInput<'a>, tasks: &[TaskId]) -> Timeline<'a> {
    let (run, histories) = (told.run, told.histories);
    let start = run.started_at.unwrap_or_default();
    let mut lists: Vec<(TaskId, usize, Vec<AttemptPiece>)> = Vec::new();
    let mut left_out = run.plan.task_ids().count().saturating_sub(tasks.len());
    for id in tasks {
        let Some(history) = histories.task(*id).filter(|history| history.turns().next().is_some()) else {
            continue;
        };
        if lists.len() == ROWS {
            left_out += 1;
        } else {
            lists.push((*id, history.attempts.len(), pieces(run, history, start)));
        }
    }
    let ends = lists.iter().flat_map(|(_, _, pieces)| pieces.iter().map(|piece| piece.to));
    let total = ends.chain(run.finished_at.map(|at| at.since(start).0)).max().unwrap_or(0).max(1);
    let mut rows: Vec<TimelineRow<'_>> = lists
        .into_iter()
        .map(|(id, attempts, pieces)| {
            let sum = |kind: &str| -> u64 {
                let of_kind = pieces.iter().filter(|piece| piece.kind == kind);
                of_kind.map(|piece| piece.to - piece.from).sum()
            };
            TimelineRow {
                id: id.0,
                title: run.tasks.title(id),
                words: format!(
                    "{}: work {}, judging {}",
                    count(attempts, "attempt"),
                    elapsed(Millis(sum("work"))),
                    elapsed(Millis(sum("judging")))
                ),
                began: pieces.iter().map(|piece| piece.from).min().unwrap_or(0),
                bars: pieces.iter().map(|piece| piece.bar(total)).collect(),
            }
        })
        .collect();
    rows.sort_by_key(|row| (row.began, row.id));
    Timeline {
        rows,
        left_out,
        ticks: (0..=4)
            .map(|quarter| Tick {
                left: format!("{}", quarter * 25),
                text: elapsed(Millis(total * quarter / 4)),
            })
            .collect(),
        total: elapsed(Millis(total)),
    }
}

/// When each attempt of a task was worked on.
pub fn times(run: &RunDocument<'_>, history: &TaskHistory) -> Vec<AttemptTimes> {
    let start = run.started_at.unwrap_or_default();
    let of = |attempt: &AttemptHistory| {
        let worked: Vec<u64> = attempt.turns.iter().filter_map(duration).collect();
        AttemptTimes {
            at: attempt.turns.first().map(|turn| elapsed(turn.started_at.since(start))),
            worked: (!worked.is_empty()).then(|| elapsed(Millis(worked.iter().sum()))),
        }
    };
    history.attempts.iter().map(of).collect()
}

fn duration(turn: &TurnHistory) -> Option<u64> {
    match &turn.end {
        TurnStanding::Finished(result) => Some(result.duration.0),
        TurnStanding::Open | TurnStanding::Lost => None,
    }
}

fn pieces(run: &RunDocument<'_>, history: &TaskHistory, start: Timestamp) -> Vec<AttemptPiece> {
    let since = |at: Timestamp| at.since(start).0;
    // What has no end on record lasted until the task, or else the session, moved on.
    let end = run.tasks.moved_on(history.task).map(since);
    let begins: Vec<u64> = history.turns().map(|turn| since(turn.started_at)).collect();
    let mut pieces = Vec::new();
    let mut position = 0;
    for attempt in &history.attempts {
        let mut last = None;
        for turn in &attempt.turns {
            let from = begins[position];
            position += 1;
            let next = begins.get(position).copied().or(end).unwrap_or(from).max(from);
            let (kind, to) = match duration(turn) {
                Some(duration) => ("work", from + duration),
                // Lost with its session: nobody worked on it in the pause that followed.
                None => {
                    let lived = run.tasks.session_end(turn.started_at).map(since);
                    ("lost", lived.map_or(next, |lived| lived.clamp(from, next)))
                }
            };
            pieces.push(AttemptPiece { kind, from, to, n: attempt.number });
            last = duration(turn).map(|_| (to, next));
        }
        let judged = !attempt.stages.is_empty() || !attempt.calls.is_empty() || !attempt.checks.is_empty();
        if let Some((from, to)) = last.filter(|(from, to)| judged && to > from) {
            pieces.push(AttemptPiece { kind: "judging", from, to, n: attempt.number });
        }
    }
    pieces
}

impl AttemptPiece {
    fn bar(&self, total: u64) -> TimelineBar {
        let share = |millis: u64| format!("{:.2}", millis as f64 * 100.0 / total as f64);
        let what = match self.kind {
            "work" => "work",
            "judging" => "judging",
            _ => "work that was lost with its session",
        };
        TimelineBar {
            kind: self.kind,
            left: share(self.from),
            width: share(self.to - self.from),
            words: cut(
                &format!(
                    "attempt {}: {what}, from {} to {}",
                    self.n,
                    elapsed(Millis(self.from)),
                    elapsed(Millis(self.to))
                ),
                200,
            ),
            n: ((self.to - self.from) * 50 >= total).then_some(self.n),
        }
    }
}
