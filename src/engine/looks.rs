//! What is on record of tests that the work of a task changed: those that were there on the work, and those that it brings
//! without it (semantics, section 24). When they are looked at is in `decide::looks`, what follows in `stages::proof`.

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use crate::domain::{BeforeWork, Digest, TaskId};
use crate::judging::touched_tests::{TouchedTests, is_wanted};
use crate::mission::Plan;
use crate::mission::model::TaskType;

use super::seen_before::SeenBefore;
use super::state::{FileSnapshot, State, TaskState};

worded! {
    /// Which of both.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Look {
        /// The tests that were there, on the work.
        Old = "old-tests",
        /// The tests of the work, without it.
        New = "new-tests",
    }
}

/// What one of them showed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Looked {
    /// The first of the tests that were put in the place of others.
    #[serde(rename = "f", default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Box<str>>,
    /// What each distinct command said.
    #[serde(rename = "c", default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<SeenBefore>,
    /// Of those that failed: what they say of the work as it is in such a folder, where that was not known.
    #[serde(rename = "w", default, skip_serializing_if = "Vec::is_empty")]
    pub control: Vec<SeenBefore>,
    /// Why nothing could be run.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<Box<str>>,
}

/// What was looked at of an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TestLooks {
    /// The one that is out.
    pub open: Option<Look>,
    /// Those that came back.
    pub made: ThinVec<(Look, Looked)>,
    /// Whether it was said what they mean.
    pub told: bool,
}

impl TestLooks {
    /// The same, for who judges the attempt once more.
    #[must_use]
    pub fn again(&self) -> Self {
        Self {
            open: None,
            made: self.made.clone(),
            told: false,
        }
    }

    /// What one showed, if it was made.
    #[must_use]
    pub fn of(&self, look: Look) -> Option<&Looked> {
        self.made
            .iter()
            .find(|(made, _)| *made == look)
            .map(|(_, looked)| looked)
    }

    /// What is known of commands on the work as it is in such a folder.
    pub fn control(&self) -> impl Iterator<Item = &SeenBefore> {
        self.made.iter().flat_map(|(_, looked)| &looked.control)
    }

    /// What a check of this key says of the tests that the work brings, without it; `None` where that was not looked at.
    #[must_use]
    pub fn new_tests(&self, key: Digest) -> Option<BeforeWork> {
        let looked = self.of(Look::New)?;
        let seen = looked.checks.iter().find(|seen| seen.key == key)?;
        Some(self.counted(seen))
    }

    /// What a command of a look came to. One that failed counts only if it passes on the work as it is in such a folder.
    pub fn counted(&self, seen: &SeenBefore) -> BeforeWork {
        let passes = |control: &SeenBefore| control.key == seen.key && control.before == BeforeWork::Green;
        match seen.before {
            BeforeWork::Red if !self.control().any(passes) => BeforeWork::Unknown,
            before => before,
        }
    }
}

/// What there is to say of tests that were there, and that the work changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OldTests<'a> {
    /// Nothing: they pass on it as they were, or it touched none.
    Fine,
    /// They fail on it: what they say.
    Red(&'a SeenBefore),
    /// Nobody can tell: why.
    Unknown(&'a str),
}

impl State {
    /// Whether no other turn was at work since the files of a task were noted first.
    pub(crate) fn is_alone_since_first(&self, id: TaskId) -> bool {
        let first = |id: TaskId| self.task(id).course.first.as_deref();
        // Whoever mends a task goes on with what that began with.
        let mended = self.plan.mended_by(id).and_then(first);
        let Some(from) = mended.or(first(id)) else {
            return false;
        };
        let own = [mended, first(id)].into_iter().flatten();
        let own: u64 = own.map(|first| first.turns).sum();
        !from.noted.shared && self.turns_started <= from.noted.starts + own
    }

    /// The record of files before the first turn of a task, or of what it mends.
    pub fn first_noted(&self, id: TaskId) -> Option<&FileSnapshot> {
        let first = |id: TaskId| self.task(id).course.first.as_deref();
        let mended = self.plan.mended_by(id).and_then(first);
        mended.or(first(id)).map(|first| &first.noted)
    }
}

impl TaskState {
    /// Whether a look can be made at tests that its work changed.
    pub(crate) fn can_look(&self, plan: &Plan, id: TaskId) -> bool {
        let touched = self.course.evidence.tests.as_deref();
        let can = |touched: &TouchedTests| {
            let has_trees = touched.trees.is_some() && !touched.shared;
            touched.lost.is_none() && (plan.task(id).commits() || has_trees)
        };
        is_wanted(plan, id) && touched.is_some_and(can)
    }

    /// What follows from tests that were there, as far as it was looked.
    pub(crate) fn old_tests(&self, plan: &Plan, id: TaskId) -> OldTests<'_> {
        let touched = self.course.evidence.tests.as_deref();
        let Some(touched) = touched.filter(|touched| touched.touches_old()) else {
            return OldTests::Fine;
        };
        let looks = &self.attempt.looks;
        let counted = |is: BeforeWork| {
            let checks = looks.of(Look::Old).into_iter().flat_map(|looked| &looked.checks);
            checks.into_iter().find(move |seen| looks.counted(seen) == is)
        };
        let why = match (looks.of(Look::Old), touched.lost.as_deref()) {
            (_, Some(why)) => why,
            _ if touched.shared => "another turn was at work in between",
            (None, None) if self.can_look(plan, id) => "nobody looked",
            (None, None) => "without git nobody can run them as they were",
            (Some(looked), None) => match (looked.lost.as_deref(), counted(BeforeWork::Red)) {
                (Some(why), _) => why,
                (None, Some(red)) => return OldTests::Red(red),
                (None, None) if counted(BeforeWork::Unknown).is_none() => return OldTests::Fine,
                (None, None) => "the work as it is does not pass where they were run",
            },
        };
        OldTests::Unknown(why)
    }

    /// Whether the mission lets its work change the tests that it changed.
    pub(crate) fn may_change_tests(&self, plan: &Plan, id: TaskId) -> bool {
        let touched = self.course.evidence.tests.as_deref();
        plan.task(id).may_change_tests || touched.is_some_and(|touched| touched.is_asked_for(plan, id))
    }

    /// Whether tests that the work brings fail without it, by a check of this key; `None` where nobody can tell, and where tests are
    /// all that the task is about.
    pub(crate) fn new_tests_fail(&self, plan: &Plan, id: TaskId, key: Digest) -> Option<bool> {
        let work = plan.task(id);
        match self.attempt.looks.new_tests(key)? {
            BeforeWork::Red => Some(true),
            BeforeWork::Green if work.kind == TaskType::Test && work.is_of_mission() => None,
            BeforeWork::Green => Some(false),
            BeforeWork::Unknown => None,
        }
    }
}
