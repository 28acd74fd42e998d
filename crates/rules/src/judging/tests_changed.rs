//! Which files of those that work changes are tests (semantics, section 24).

use std::collections::BTreeSet;

use globset::{GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::domain::TaskId;
use crate::mission::model::{Check, TaskType};
use crate::mission::paths::{place_in, readings};
use crate::plan::{Extent, Plan};

use super::baseline_checks::{BaselineCheck, CheckPlace, each};

/// How many files of each kind are on record.
const MOST_NAMED: usize = 100;
/// Folders that runners of tests and installers of packages write by themselves: nothing in them is a test.
const NEVER: [&str; 3] = ["__pycache__", ".pytest_cache", "node_modules"];
/// Files that say among other things how tests run.
const CONFIGURATION: [&str; 5] = ["package.json", "pyproject.toml", "Cargo.toml", "Makefile", "setup.cfg"];

/// Tests that differ from what a task began with, seen from the folder that stands for the workspace.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TouchedTests {
    /// The first of those that were there, and are changed or gone.
    pub old: Vec<Box<str>>,
    /// The first of those that were not there.
    pub new: Vec<Box<str>>,
    /// The first of the files that say how tests run, among other things.
    pub configuration: Vec<Box<str>>,
    /// In the workspace itself: the trees of what the task began with and of what it left, where git could take both.
    pub trees: Option<[Box<str>; 2]>,
    /// Whether another turn was at work in between.
    pub shared: bool,
    /// Why nobody can tell which tests differ.
    pub lost: Option<Box<str>>,
}

impl TouchedTests {
    /// Nobody can tell: why.
    pub fn lost(why: &str) -> Self {
        Self { lost: Some(why.into()), ..Self::default() }
    }

    /// Whether a test that was there may be another one now.
    pub fn touches_old(&self) -> bool {
        !self.old.is_empty() || self.lost.is_some()
    }

    /// Whether the old ones are all files that the mission has its own task make.
    pub fn is_asked_for(&self, plan: &Plan, id: TaskId) -> bool {
        let task = plan.task(id);
        let folder = task.workspace.as_deref().unwrap_or_default();
        let targets = task.target_files.iter().map(|target| place_in(folder, target));
        let targets: BTreeSet<String> = targets.collect();
        let is_whole = self.lost.is_none() && self.old.len() < MOST_NAMED;
        is_whole && task.is_of_mission() && self.old.iter().all(|path| targets.contains(&**path))
    }
}

/// Whether tests that the work of a task changes are looked at: it has commands that can run them, it may run them twice, and its
/// worker can write files.
pub fn is_wanted(plan: &Plan, id: TaskId) -> bool {
    let work = plan.task(id);
    let has_hands = plan.agent(work.agent).spec.has_hands();
    let runs =
        work.kind != TaskType::Verification && !work.side_effects && plan.rules.extent != Extent::Judging;
    runs && has_hands && !globs(plan, id).is_empty() && each(work).any(|item| is_command(plan, id, &item))
}

/// Whether a check of a task is a command that can be run on other files: one of its expectations, or of its finish gate.
pub fn is_command(plan: &Plan, id: TaskId, item: &BaselineCheck) -> bool {
    match item.place {
        CheckPlace::Check(at) => {
            let check = plan.task(id).checks().get(at as usize);
            // Nobody who works is told what a hidden one says.
            check.is_some_and(|check| !check.is_hidden() && !matches!(check, Check::FileExists { .. }))
        }
        CheckPlace::Finish(_) => true,
        CheckPlace::Criterion(_) | CheckPlace::Stage(_) => false,
    }
}

/// The globs of what is a test.
pub fn globs(plan: &Plan, id: TaskId) -> &[Box<str>] {
    let own = plan.task(id).tests.as_deref();
    own.unwrap_or(&plan.rules.settings.tests)
}

/// The patterns that tell tests from other files of a task.
pub struct TestPatterns {
    tests: GlobSet,
    /// The patterns of files that checks write.
    written: GlobSet,
    /// The folder in which the task works, where it has one of its own.
    folder: Option<String>,
}

impl TestPatterns {
    /// The patterns of a task. Those that cannot be read were refused when the mission was loaded.
    pub fn of(plan: &Plan, id: TaskId) -> Self {
        let set = |globs: &[Box<str>]| {
            let mut set = GlobSetBuilder::new();
            for glob in globs.iter().flat_map(|glob| readings(glob)).flatten() {
                set.add(glob);
            }
            set.build().unwrap_or_default()
        };
        let written = plan.task(id).checks_may_write.as_deref();
        Self {
            tests: set(globs(plan, id)),
            written: set(written.unwrap_or(&plan.rules.settings.checks_may_write)),
            folder: plan.task(id).workspace.as_deref().map(|own| place_in(own, "") + "/"),
        }
    }

    /// Whether a path, seen from the folder that stands for the workspace, is a test.
    pub fn is_test(&self, path: &str) -> bool {
        let inner = self.folder.as_deref().and_then(|folder| path.strip_prefix(folder));
        let inner = inner.unwrap_or(path);
        let is_made = path.split('/').any(|part| NEVER.contains(&part));
        let is_in = |set: &GlobSet| set.is_match(path) || set.is_match(inner);
        !is_made && !is_in(&self.written) && is_in(&self.tests)
    }

    /// The paths that are about tests; each comes with whether it was there before. `None` where none is.
    pub fn touched<'p>(&self, paths: impl IntoIterator<Item = (&'p str, bool)>) -> Option<TouchedTests> {
        let mut found = TouchedTests::default();
        for (path, was_there) in paths {
            let name = path.rsplit('/').next().unwrap_or(path);
            let kind = match (self.is_test(path), was_there) {
                (true, true) => &mut found.old,
                (true, false) => &mut found.new,
                (false, _) if CONFIGURATION.contains(&name) => &mut found.configuration,
                (false, _) => continue,
            };
            if kind.len() < MOST_NAMED {
                kind.push(path.into());
            }
        }
        (found != TouchedTests::default()).then_some(found)
    }
}
