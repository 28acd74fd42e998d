//! What a task amounts to in a report, the worst first: one ranking for JUnit, Markdown and annotations, so that no
//! report calls good what another one calls bad.

use rules::{
    domain::{FailureMode, QualityFlag, Status, TaskId, Verdict},
    engine::{Hold, Mark, State},
    plan::Part,
};

use super::further_stages::stage_words;
use super::view::{FailureRow, RunView};
use crate::report::{
    documents::TaskRow,
    screens::{style::Style, text::against_bar},
};

/// The group of a task in reports, by state and by how it was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// The task failed by itself.
    Failed,
    /// Failed because of another task.
    Cascaded,
    /// A review that was asked for gave no trustworthy verdict.
    Indeterminate,
    /// Accepted below the bar.
    BelowBar,
    /// Waits for a person.
    Waiting,
    /// Not done and not failed.
    Open,
    /// Done, judged by nobody.
    Unreviewed,
    /// The task is done after rework.
    Reworked,
    /// The task is done at once.
    Done,
    /// Failed, and a fixup has made up for it.
    Superseded,
    /// Left out by the verdict of a verification.
    NotTaken,
    /// Left out of the run (`--only`).
    NotSelected,
}

impl Rank {
    words_of! {
        /// A few words for people.
        words {
            Failed => "failed",
            Cascaded => "skipped: a dependency failed",
            Indeterminate => "no trustworthy verdict",
            BelowBar => "below the bar",
            Waiting => "waiting",
            Open => "not finished",
            Unreviewed => "done, unreviewed",
            Reworked => "done after rework",
            Done => "done",
            Superseded => "superseded",
            NotTaken => "not taken",
            NotSelected => "not selected",
        }
    }
}

/// The rank of a task. Total: every state has exactly one.
pub fn rank(state: &State, view: &RunView, id: TaskId) -> Rank {
    let task = state.task(id);
    if state.plan.task(id).part != Part::Selected {
        return Rank::NotSelected;
    }
    if task.not_taken {
        return Rank::NotTaken;
    }
    let for_judges = task.hold().is_some_and(Hold::is_for_judges);
    match (task.status(), task.flag()) {
        (Status::Failed, _) if task.is_superseded() => Rank::Superseded,
        (Status::Failed, _) if task.mode() == Some(FailureMode::Cascade) => Rank::Cascaded,
        (Status::Failed, _) => Rank::Failed,
        (Status::Done, _) if task.attempt.has(Mark::Indeterminate) => Rank::Indeterminate,
        (Status::AwaitingApproval, _) if for_judges || task.attempt.has(Mark::Indeterminate) => {
            Rank::Indeterminate
        }
        (Status::AwaitingApproval, _) => Rank::Waiting,
        (Status::Done, Some(flag)) if flag.is_below_bar() => Rank::BelowBar,
        (Status::Done, flag)
            if state.options.strict
                && (flag == Some(QualityFlag::Unreviewed)
                    || task.attempt.has(Mark::Faulted)
                    || task.attempt.has(Mark::BaselineUnknown)) =>
        {
            Rank::Indeterminate
        }
        (Status::Done, Some(QualityFlag::Unreviewed)) => Rank::Unreviewed,
        (Status::Done, _) if view.task(id).attempts.len() > 1 => Rank::Reworked,
        (Status::Done, _) => Rank::Done,
        (Status::Pending | Status::Assigned | Status::InProgress | Status::Review, _) => Rank::Open,
    }
}

/// All tasks, the worst first; in file order where nothing tells them apart.
pub fn worst_first(state: &State, view: &RunView) -> Vec<(Rank, TaskId)> {
    let mut tasks: Vec<_> = state.plan.task_ids().map(|id| (rank(state, view, id), id)).collect();
    tasks.sort_by_key(|(rank, id)| (*rank, state.task(*id).attempt.points, *id));
    tasks
}

/// Why the task stands where it stands, in one line.
pub fn reason(row: &TaskRow<'_>) -> String {
    match (row.nothing_to_do, standing_words(row)) {
        (None, words) => words,
        (Some(_), words) if words.is_empty() => "nothing to do".to_owned(),
        (Some(_), words) => format!("nothing to do; {words}"),
    }
}

fn standing_words(row: &TaskRow<'_>) -> String {
    let waiting = || {
        let waiting = row.waiting.as_ref();
        let waiting = waiting.filter(|waiting| waiting.id.is_some());
        waiting.map(|waiting| format!("waits for {}: {}", waiting.reason, waiting.message))
    };
    let score = || {
        let symbols = Style { unicode: true, ..Style::default() }.symbols();
        row.points.map(|points| against_bar(points, row.bar, symbols))
    };
    match row.rank {
        Rank::Failed | Rank::Cascaded => row.failure.map(FailureRow::words).unwrap_or_default(),
        Rank::Indeterminate if row.quality_flag == Some(QualityFlag::Unreviewed) => match row.shows_nothing {
            Some(why) => format!("{why} (--strict)"),
            None => "unreviewed (--strict)".to_owned(),
        },
        Rank::Indeterminate if row.is_of_unknown_baseline => "baseline unknown (--strict)".to_owned(),
        Rank::Indeterminate if row.is_faulted => {
            let mut faults = row.scrutiny().filter(|report| report.verdict == Verdict::Fault);
            let fault = faults.next().map(stage_words).unwrap_or_default();
            format!("{} (--strict)", fault)
        }
        Rank::Indeterminate => {
            waiting().unwrap_or_else(|| "no score could be read from the review".to_owned())
        }
        Rank::BelowBar => {
            let flag = row.quality_flag.map_or("below the bar", QualityFlag::as_str);
            let score = score().unwrap_or_else(|| "score unknown".to_owned());
            match row.shows_nothing {
                Some(why) => format!("accepted all the same: {flag}, {why}"),
                None => format!("accepted all the same: {flag}, {score}"),
            }
        }
        Rank::Waiting => waiting().unwrap_or_default(),
        Rank::Open => match row.blocked_by.as_slice() {
            [] if row.standing == Status::Pending => "not started".to_owned(),
            [] => format!("not finished: {}", row.status),
            blockers => {
                format!("blocked by {}", blockers.join(", "))
            }
        },
        Rank::NotSelected => "not selected (--only)".to_owned(),
        Rank::NotTaken => row.not_taken_words(),
        Rank::Superseded => format!("superseded by '{}'", row.superseded_by.unwrap_or_default()),
        Rank::Unreviewed => row.shows_nothing.unwrap_or("nobody judged it").to_owned(),
        Rank::Reworked | Rank::Done => score().unwrap_or_default(),
    }
}
