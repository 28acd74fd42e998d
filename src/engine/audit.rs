//! What work was accepted for, and whether it still stands (semantics, section 6): the record that acceptance makes, and
//! what an audit is to look at. What follows from it is decided in `decide::audit`.
//!
//! | rule | of a recorded file |
//! |---|---|
//! | 1 | it is there, and not empty where it was not |
//! | 2 | it is what it was at the latest acceptance of any task that names it |
//! | 3 | the checks that had passed pass again, where a turn ended in the workspace behind them |

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Status, TaskId};
use crate::mission::TaskPlan;
use crate::mission::model::FinalChecks;
use crate::mission::named_files::place;

use super::payload::{CheckResult, FileFact};
use super::state::State;

/// What a task was accepted for. Files and checks that it does not name are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Acceptance {
    /// The files that were there, as an audit saw them last.
    pub files: Vec<FileFact>,
    /// The checks that passed, by position, each with the number of turns that had ended when it was asked for.
    pub checks: Vec<(u32, u64)>,
    /// Its place among all acceptances: of two that name a file, the later one says what it holds.
    pub order: u64,
    /// Turns that had ended when its files were looked at last.
    pub turns: u64,
    /// The session in which they were.
    pub session: u32,
}

/// Where the audit of a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Audit {
    /// How many were asked for.
    pub number: u32,
    /// How many of them in the session that works now, or did last.
    pub of_session: u32,
    /// Whether one is under way.
    pub out: bool,
    /// The last acceptance on record when it was asked for, by its [`order`](Acceptance::order). Of what was accepted
    /// later it knows nothing.
    pub covers: u64,
    /// Whether work was accepted, or a turn ended behind accepted work, since the last one.
    pub due: bool,
}

/// The word for it in documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditStanding {
    /// There is nothing that one could look at, or none is wanted.
    None,
    /// What was accepted is still to be looked at.
    Open,
    /// It was, and nothing happened since.
    Held,
}

/// What follows once the files that a task's rules name were looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum AfterScan {
    /// Its judging begins.
    #[default]
    #[serde(rename = "p")]
    Preflight,
    /// Its checks have passed, and judges are next.
    #[serde(rename = "j")]
    Judges,
    /// A stage judged files that were changed meanwhile, and is asked once more.
    #[serde(rename = "r")]
    Repeat,
    /// It is accepted.
    #[serde(rename = "a")]
    Accept,
}

/// What an audit saw of one task's files, in the order of its record.
pub type Looks = Vec<(TaskId, Vec<FileFact>)>;

/// What an audit came to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AuditReport {
    /// Which audit.
    pub number: u32,
    /// The files before any command ran.
    pub looks: Looks,
    /// What the checks that were due showed.
    pub checks: Vec<(TaskId, u32, CheckResult)>,
    /// The files behind the commands; empty where none ran.
    pub behind: Looks,
}

/// What became of a recorded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It is what it was.
    Same,
    /// It holds something else.
    Changed,
    /// It holds nothing any more.
    Emptied,
    /// It is not there.
    Gone,
}

/// Holds what is seen of a file against its record, and against the latest of all records of it.
pub(super) fn found(recorded: &FileFact, latest: &FileFact, seen: &FileFact) -> Found {
    match seen.size {
        None => Found::Gone,
        Some(0) if recorded.size != Some(0) => Found::Emptied,
        _ if is_same(latest, seen) => Found::Same,
        Some(_) => Found::Changed,
    }
}

/// Whether a file of a record is not there, or holds nothing any more, by what was seen of the files that a task names.
pub(super) fn is_lost(recorded: &FileFact, seen: &[FileFact]) -> bool {
    let seen = seen.iter().find(|seen| seen.path == recorded.path);
    seen.is_none_or(|seen| matches!(found(recorded, recorded, seen), Found::Gone | Found::Emptied))
}

/// Whether two looks at a file saw the same.
pub(super) fn is_same(one: &FileFact, other: &FileFact) -> bool {
    (one.size, one.digest) == (other.size, other.digest)
}

/// The paths of which two looks at the files that a task names saw different things.
pub(super) fn differing(task: &TaskPlan, before: &[FileFact], now: &[FileFact]) -> Vec<String> {
    let named = |files: &[FileFact]| -> BTreeMap<String, FileFact> {
        let named = files
            .iter()
            .filter(|file| task.names(&file.path) && file.size.is_some());
        named.map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, now) = (named(before), named(now));
    let paths = before
        .keys()
        .chain(now.keys().filter(|path| !before.contains_key(*path)));
    let differs = |path: &&String| match (before.get(*path), now.get(*path)) {
        (Some(one), Some(other)) => !is_same(one, other),
        _ => true,
    };
    paths.filter(differs).cloned().collect()
}

impl State {
    /// The tasks whose acceptance is on record and stands. Superseded, failed and left out ones have none.
    pub fn accepted(&self) -> impl Iterator<Item = (TaskId, &Acceptance)> + '_ {
        let done = self.plan.selected_ids().filter(|id| {
            let task = self.task(*id);
            task.status() == Status::Done && !task.not_taken
        });
        done.filter_map(|id| Some((id, self.task(id).acceptance()?)))
    }

    /// Those of them that the audit under way, or else the last one, speaks of.
    pub fn covered(&self) -> impl Iterator<Item = (TaskId, &Acceptance)> + '_ {
        self.accepted()
            .filter(|(_, acceptance)| acceptance.order <= self.audit.covers)
    }

    /// The audit under way is over: whether work was accepted while it was made, and is due to be looked at.
    pub(super) fn close_audit(&mut self) {
        self.audit.out = false;
        self.audit.due = self.acceptances > self.audit.covers;
    }

    /// Whether accepted work is still to be looked at.
    #[must_use]
    pub fn audit_is_open(&self) -> bool {
        (self.audit.due || self.audit.out)
            && self.plan.rules.final_checks != FinalChecks::Never
            && self.accepted().next().is_some()
    }

    /// Where the audit of the run stands.
    #[must_use]
    pub fn audit_standing(&self) -> AuditStanding {
        if self.plan.rules.final_checks == FinalChecks::Never || self.accepted().next().is_none() {
            AuditStanding::None
        } else if self.audit.due || self.audit.out || self.audit.number == 0 {
            AuditStanding::Open
        } else {
            AuditStanding::Held
        }
    }

    /// Turns that had ended when the last one did in the workspace of a task.
    #[must_use]
    pub(super) fn last_turn_in(&self, id: TaskId) -> u64 {
        let workspace = &self.plan.task(id).workspace;
        self.turn_ends.get(workspace).copied().unwrap_or(0)
    }

    /// Whether a turn works in the workspace of a task, or ended there since its files were looked at last.
    #[must_use]
    pub fn was_worked_on_since(&self, id: TaskId, acceptance: &Acceptance) -> bool {
        let workspace = &self.plan.task(id).workspace;
        let works = |(plan, task): (&TaskPlan, &super::state::TaskState)| {
            task.work.turn.is_some() && plan.workspace == *workspace
        };
        self.last_turn_in(id) > acceptance.turns
            || self.sums.turns_running > 0 && self.plan.tasks.iter().zip(&self.tasks).any(works)
    }

    /// A turn ended in the workspace of a task: checks that had passed there may not pass any more.
    pub(super) fn turn_ended_in(&mut self, id: TaskId) {
        self.turns_ended += 1;
        let workspace = &self.plan.task(id).workspace;
        match self.turn_ends.get_mut(workspace) {
            Some(last) => *last = self.turns_ended,
            None => drop(self.turn_ends.insert(workspace.clone(), self.turns_ended)),
        }
        self.audit.due |= self.acceptances > 0;
    }

    /// Of all records of a file that an audit speaks of the latest, by its place. What is accepted while it looks is the next
    /// one's: nobody can tell whether it looked before or after.
    pub(super) fn latest_records(&self) -> BTreeMap<String, (u64, &FileFact)> {
        let mut latest: BTreeMap<String, (u64, &FileFact)> = BTreeMap::new();
        for (id, acceptance) in self.covered() {
            for file in &acceptance.files {
                let entry = latest.entry(place(self.plan.task(id), &file.path));
                let known = entry.or_insert((acceptance.order, file));
                if known.0 <= acceptance.order {
                    *known = (acceptance.order, file);
                }
            }
        }
        latest
    }

    /// The checks that an audit runs again, given what it saw of the files.
    #[must_use]
    pub fn checks_due(&self, looks: &Looks) -> Vec<(TaskId, u32)> {
        let latest = self.latest_records();
        let always = self.plan.rules.final_checks == FinalChecks::Always;
        let mut due = Vec::new();
        for (id, seen) in looks {
            let Some(acceptance) = self.task(*id).acceptance() else {
                continue;
            };
            let changed = || {
                self.found(*id, &latest, seen)
                    .any(|(_, found)| found == Found::Changed)
            };
            let asked = always || !self.plan.task(*id).side_effects;
            let (last, changed) = (self.last_turn_in(*id), asked && changed());
            let is_due = |passed: u64| asked && (always || changed || last > passed);
            let checks = acceptance.checks.iter();
            due.extend(
                checks
                    .filter(|(_, passed)| is_due(*passed))
                    .map(|(n, _)| (*id, *n)),
            );
        }
        due
    }

    /// What became of the files of a task's record.
    pub(super) fn found<'s>(
        &'s self,
        id: TaskId,
        latest: &'s BTreeMap<String, (u64, &FileFact)>,
        seen: &'s [FileFact],
    ) -> impl Iterator<Item = (&'s FileFact, Found)> + 's {
        let recorded = self.task(id).acceptance();
        let recorded = recorded.map_or(&[][..], |acceptance| &acceptance.files);
        recorded.iter().map(move |file| {
            let newest = latest.get(&place(self.plan.task(id), &file.path));
            let newest = newest.map_or(file, |(_, newest)| *newest);
            match seen.iter().find(|seen| seen.path == file.path) {
                Some(seen) => (file, found(file, newest, seen)),
                // What nobody looked at is not known to stand.
                None => (file, Found::Gone),
            }
        })
    }
}
