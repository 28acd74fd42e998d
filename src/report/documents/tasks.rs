//! The tasks of a run: their rows, and which of them are asked for. State and view end here.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use super::task::{TaskRow, blocked_by, weight};
use crate::report::folds::{
    findings::FindingRow,
    rank::{self, Rank, rank},
    view::{RunView, SeverityCounts},
};
use rules::{
    domain::{FailureMode, GateId, Millis, Points, QualityFlag, Severity, Status, TaskId, Timestamp},
    engine::State,
    mission::model::Review,
};

/// The tasks of a run. Each row is made when it is asked for.
#[derive(Clone, Copy)]
pub struct Tasks<'a> {
    pub(super) state: &'a State,
    pub(super) view: &'a RunView,
}

impl<'a> Tasks<'a> {
    pub fn of(state: &'a State, view: &'a RunView) -> Self {
        Self { state, view }
    }

    pub fn row(self, id: TaskId) -> TaskRow<'a> {
        TaskRow::of(self.state, self.view, id)
    }

    pub fn title(self, id: TaskId) -> &'a str {
        self.state.plan.title(id)
    }

    fn ids(self) -> impl Iterator<Item = TaskId> + use<'a> {
        self.state.plan.task_ids()
    }

    /// The rows of the tasks, in file order.
    pub fn rows(self) -> impl Iterator<Item = TaskRow<'a>> {
        self.ids().map(move |id| self.row(id))
    }

    /// The tasks of one rank, in file order.
    pub fn of_rank(self, wanted: Rank) -> Vec<TaskId> {
        let ids = self.ids();
        ids.filter(|id| rank(self.state, self.view, *id) == wanted).collect()
    }

    /// The first task that failed and that nobody cancelled.
    pub fn broken(self) -> Option<TaskId> {
        let failed = self.of_rank(Rank::Failed).into_iter();
        let mut failed = failed.filter(|id| self.state.task(*id).mode() != Some(FailureMode::Cancelled));
        failed.next()
    }

    /// Tasks that nothing but the limit of the budget keeps from going on.
    pub fn kept_by_limit(self) -> Vec<TaskId> {
        if self.state.ledger.limit().is_none() {
            return Vec::new();
        }
        let mut kept = self.of_rank(Rank::Open);
        kept.retain(|id| blocked_by(self.state, *id).is_empty());
        kept
    }

    /// Accepted work whose checks were green all along, and that nothing else stands for, in file order.
    pub fn unproven(self) -> Vec<TaskId> {
        let is_vacuous = |id: &TaskId| {
            let task = self.state.task(*id);
            task.flag().is_some() && task.attempt.is_vacuous()
        };
        self.ids().filter(is_vacuous).collect()
    }

    /// Whether what checks say before the work is not looked at by the mission's own word.
    pub fn has_baselines_off(self) -> bool {
        let plan = &self.state.plan;
        let is_off = |id| plan.task(id).baseline.unwrap_or(plan.rules.settings.baseline);
        plan.selected_ids().any(|id| !is_off(id))
    }

    /// Whether work that nobody judged was to be judged: `review: none` is a decision and no warning.
    pub fn lacks_reviews(self) -> bool {
        let unreviewed = self.of_rank(Rank::Unreviewed);
        unreviewed.into_iter().any(|id| self.state.plan.task(id).review != Review::None)
    }

    /// Each task with its rank, the worst first; in file order where nothing tells them apart.
    pub fn ranked(self) -> Vec<(Rank, TaskId)> {
        rank::worst_first(self.state, self.view)
    }

    /// The rows of the tasks, the worst first.
    pub fn worst_first(self) -> impl Iterator<Item = TaskRow<'a>> {
        self.ranked().into_iter().map(move |(_, id)| self.row(id))
    }

    /// The scores that count, the lowest first.
    pub fn scores(self) -> Vec<(Points, TaskId)> {
        let counts = self.ids().filter(|id| !self.state.task(*id).is_superseded());
        let mut scored: Vec<_> =
            counts.filter_map(|id| Some((self.state.task(id).attempt.points?, id))).collect();
        scored.sort_unstable();
        scored
    }

    /// The done task before a gate that has the lowest score, or the first one where none has any.
    pub fn worst_before(self, gate: GateId) -> Option<TaskId> {
        let before = self.state.plan.gate(gate).after.iter().copied();
        let done = before.filter(|id| self.state.task(*id).status() == Status::Done);
        done.min_by_key(|id| {
            let points = self.state.task(*id).attempt.points;
            (points.is_none(), points)
        })
    }

    /// So many tasks in file order. What is done and clean gives way to others.
    pub fn news_first(self, most: usize) -> Vec<TaskId> {
        let counts = &self.state.sums.counts;
        if (counts.selected + counts.not_taken) as usize <= most {
            return self.ids().collect();
        }
        let is_news = |id: &TaskId| self.state.task(*id).flag() != Some(QualityFlag::Clean);
        let mut shown: Vec<_> = self.ids().filter(is_news).take(most).collect();
        let room = most - shown.len();
        shown.extend(self.ids().filter(|id| !is_news(id)).take(room));
        shown.sort_unstable();
        shown
    }

    /// The rows of tasks that stages behind the verification have looked at.
    pub fn looked_at_further(self) -> impl Iterator<Item = TaskRow<'a>> {
        self.view.scrutiny.keys().map(move |id| self.row(*id))
    }

    /// The weights of a task's dimensions, by name.
    pub fn weights(self, id: TaskId) -> BTreeMap<&'a str, f64> {
        let panel = self.state.plan.task(id).panel();
        let dimensions = panel.map_or(&[][..], |panel| &panel.dimensions);
        dimensions
            .iter()
            .filter_map(|dimension| Some((&*dimension.name, weight(self.state, id, &dimension.name)?)))
            .collect()
    }

    /// When a task that has no end on record moved on: when it began to wait, or ended, or else the session did.
    pub fn moved_on(self, id: TaskId) -> Option<Timestamp> {
        let seen = self.view.task(id);
        let waits = seen.waiting.as_deref().map(|waiting| waiting.since);
        waits.or(seen.finished_at).or(self.view.finished_at)
    }

    /// The end of the session that a moment lies in.
    pub fn session_end(self, moment: Timestamp) -> Option<Timestamp> {
        self.view.session_end(moment)
    }

    /// The time that the sessions worked; see [`RunView::worked_for`].
    pub fn worked_for(self) -> Option<Millis> {
        self.view.worked_for()
    }

    /// The findings of accepted work.
    pub fn accepted(self) -> Accepted<'a> {
        let (state, view) = (self.state, self.view);
        let mut accepted = Accepted { counts: SeverityCounts::default(), severe: Vec::new() };
        let done = self.ids().filter(|id| state.task(*id).status() == Status::Done);
        for (id, found) in done.flat_map(|id| view.task(id).found().iter().map(move |found| (id, found))) {
            // What is for the record says how the verdict came about, not what is wrong with the work.
            if found.finding.severity > Severity::Info {
                accepted.counts.add(found.finding.severity);
            }
            if found.finding.severity >= Severity::High {
                let title = state.plan.title(id);
                accepted.severe.push((title, FindingRow::of(state, found)));
            }
        }
        accepted
    }
}

/// The findings of accepted work: how many there are of each severity, and every critical and high one with the
/// title of its task.
pub(crate) struct Accepted<'a> {
    pub counts: SeverityCounts,
    pub severe: Vec<(&'a str, FindingRow<'a>)>,
}

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}
