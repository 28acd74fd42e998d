//! What work was accepted for, and whether it still stands (semantics, section 6): the record that acceptance makes, and
//! what an audit is to look at. What follows from it is decided in `decide::audit`.
//!
//! | rule | of a recorded file |
//! |---|---|
//! | 1 | it is there, and not empty where it was not |
//! | 2 | it is what it was at the latest acceptance of any task that names it |
//! | 3 | the checks that had passed pass again, where a turn ended in the workspace behind them |

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::TaskId;
use crate::plan::{FilesIn, TaskPlan};

use super::event_payload::{CheckResult, FileFact, FileRef};

/// The evidence that a task was accepted for. Files and checks that it does not name are not in it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Acceptance {
    /// The files that were there, as an audit saw them last.
    pub files: Vec<FileFact>,
    /// The checks that passed, by position, each with the number of turns that had ended when it was asked for.
    pub checks: Vec<(u32, u64)>,
    /// The place among all acceptances: of two that name a file, the later one says what it holds.
    pub order: u64,
    /// Turns that had ended when its files were looked at last.
    pub turns: u64,
    /// The session in which the work was accepted.
    pub session: u32,
}

/// Where the audit of a run stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Audit {
    /// How many were asked for.
    pub number: u32,
    /// The number of audits in the session that works now, or did last.
    pub of_session: u32,
    /// Whether one is under way.
    pub out: bool,
    /// The last acceptance on record when the audit was asked for, by its [`order`](Acceptance::order). The
    /// audit knows nothing of what was accepted later.
    pub covers: u64,
    /// How many turns had ended when it was asked for.
    pub turns: u64,
    /// The last end of a turn where each task's files lie. The audit knows nothing of what ends or is merged
    /// while it looks.
    pub turn_ends: BTreeMap<FilesIn, u64>,
    /// Whether work was accepted, or a turn ended behind accepted work, since the last one.
    pub due: bool,
    /// The evidence that work was accepted for which is done again, until it is accepted anew.
    pub replaced: BTreeMap<TaskId, Acceptance>,
}

/// The state of the final check of accepted work, by its word in documents.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AuditStanding {
    /// There is nothing to look at, or no look is wanted.
    None,
    /// Accepted work is still to be looked at.
    Open,
    /// Accepted work was looked at, and nothing happened since.
    Held,
}

/// The step behind a look at the files that a task's rules name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AfterScan {
    /// The judging of the work begins.
    #[default]
    Preflight,
    /// The checks of the work have passed, and judges are next.
    Judges,
    /// A stage judged files that were changed meanwhile, and is asked once more.
    Repeat,
    /// The work is accepted.
    Accept,
}

/// The files of each task as an audit saw them, in the order of its record.
pub type Looks = Vec<(TaskId, Vec<FileFact>)>;

/// The result of an audit. A record names the file that holds what was seen, by its digest: what many tasks
/// have in common must not make a record that is too long.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AuditReport {
    /// The number of the audit in the run, from 1.
    pub number: u32,
    /// The sealed file that holds what was seen. `None` in older journals, whose records hold it themselves.
    pub file: Option<FileRef>,
    /// The evidence; `None` where the file with it was not read.
    #[serde(skip)]
    pub seen: Option<Box<AuditEvidence>>,
}

/// The evidence that an audit saw of all accepted work.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AuditEvidence {
    /// The files before any command ran.
    pub looks: Looks,
    /// The checks that were due, each with the position of what it showed among `results`.
    pub checks: Vec<(TaskId, u32, u32)>,
    /// The results of the checks. Tasks that share a command share its result.
    pub results: Vec<CheckResult>,
    /// The files behind the commands; empty where none ran.
    pub behind: Looks,
}

impl AuditEvidence {
    /// Adds what a check showed.
    pub fn take(&mut self, task: TaskId, check: u32, result: CheckResult) {
        if self.results.last() != Some(&result) {
            self.results.push(result);
        }
        let last = self.results.len().saturating_sub(1);
        self.checks.push((task, check, last.try_into().unwrap_or(u32::MAX)));
    }

    /// The result of a check, by its position in `checks`.
    pub fn result(&self, position: u32) -> Option<&CheckResult> {
        self.results.get(position as usize)
    }
}

/// The state of a recorded file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Found {
    /// The file is unchanged since acceptance.
    Same,
    /// The file has another content.
    Changed,
    /// The file is empty now.
    Emptied,
    /// The file is not there any more.
    Gone,
}

/// Holds what is seen of a file against its record, and against the latest of all records of it.
pub fn found(recorded: &FileFact, latest: &FileFact, seen: &FileFact) -> Found {
    match seen.size {
        None => Found::Gone,
        Some(0) if recorded.size != Some(0) => Found::Emptied,
        _ if is_same(latest, seen) => Found::Same,
        Some(_) => Found::Changed,
    }
}

/// Accepted work that an audit looks at, by value.
#[derive(Debug, Clone)]
pub struct AuditedWork {
    pub task: TaskId,
    /// The number of the attempt that was accepted.
    pub attempt: u32,
    /// The files of its record, each with the newest record of it.
    pub files: Vec<(FileFact, FileFact)>,
    /// The checks that may run again, each with whether it does whatever is seen.
    pub(crate) checks: Vec<(u32, bool)>,
}

impl AuditedWork {
    /// The checks that run again, given what was seen of the files.
    pub fn checks_due<'s>(&'s self, seen: &[FileFact]) -> impl Iterator<Item = u32> + use<'s> {
        let is_changed = |(file, newest): &(FileFact, FileFact)| {
            let mut seen = seen.iter().filter(|seen| seen.path == file.path);
            seen.any(|seen| found(file, newest, seen) == Found::Changed)
        };
        let changed = !self.checks.is_empty() && self.files.iter().any(is_changed);
        let due = self.checks.iter().filter(move |(_, always)| *always || changed);
        due.map(|(check, _)| *check)
    }
}

/// Whether a file of a record is not there, or holds nothing any more, by what was seen of the files that a task names.
pub fn is_lost(recorded: &FileFact, seen: &[FileFact]) -> bool {
    let seen = seen.iter().find(|seen| seen.path == recorded.path);
    seen.is_none_or(|seen| matches!(found(recorded, recorded, seen), Found::Gone | Found::Emptied))
}

/// Whether two looks at a file saw the same: the same bytes, or bytes of which git stores the same, whatever a checkout makes
/// its lines end with.
pub fn is_same(one: &FileFact, other: &FileFact) -> bool {
    (one.size, one.digest) == (other.size, other.digest) || one.stored.is_some() && one.stored == other.stored
}

/// The paths of which two looks at the files that a task names saw different things.
pub fn differing(task: &TaskPlan, before: &[FileFact], now: &[FileFact]) -> Vec<String> {
    let named = |files: &[FileFact]| -> BTreeMap<String, FileFact> {
        let named = files.iter().filter(|file| task.names(&file.path) && file.size.is_some());
        named.map(|file| (file.path.clone(), file.clone())).collect()
    };
    let (before, now) = (named(before), named(now));
    let paths = before.keys().chain(now.keys().filter(|path| !before.contains_key(*path)));
    let differs = |path: &&String| match (before.get(*path), now.get(*path)) {
        (Some(one), Some(other)) => !is_same(one, other),
        _ => true,
    };
    paths.filter(differs).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Digest;

    #[test]
    fn files_are_the_same_by_their_bytes_or_by_what_git_stores_of_them() {
        let file = |bytes: &str, stored: Option<&str>| FileFact {
            path: "f".to_owned(),
            size: Some(bytes.len() as u64),
            digest: Some(Digest::of(bytes.as_bytes())),
            stored: stored.map(Box::from),
            ..FileFact::default()
        };
        let accepted = file("a\n", Some("1"));
        for (seen, same) in [
            (file("a\n", Some("1")), true),
            (file("a\n", None), true),
            (file("a\r\n", Some("1")), true),
            (file("a\r\n", Some("2")), false),
            (file("a\r\n", None), false),
        ] {
            assert_eq!(is_same(&accepted, &seen), same, "{seen:?}");
            assert_eq!(is_same(&seen, &accepted), same, "{seen:?}");
        }
        assert!(!is_same(&file("a", None), &file("b", None)));
    }
}
