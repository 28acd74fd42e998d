//! What the state knows of tests that the work of a task changed (semantics, section 24). When they are looked at is in
//! `decide::test_looks`, what follows in `stages::changed_and_new_test_files`.

use crate::domain::{BeforeWork, Digest, TaskId};
use crate::judging::tests_changed::{TouchedTests, is_wanted};
use crate::mission::model::TaskType;
use crate::plan::Plan;

use super::baseline_record::BaselineResult;
use super::state::{FileSnapshot, FirstNoted, State, TaskState};
use super::test_looks::Look;

/// The state of tests that were there, and that the work changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OldTests<'a> {
    /// The tests pass on the work as they were, or the work touched none.
    Fine,
    /// The tests fail on the work; the value is their result.
    Red(&'a BaselineResult),
    /// Nobody can tell: why.
    Unknown(&'a str),
}

impl State {
    /// Whether no other turn was at work since the files of a task were noted first.
    pub(crate) fn is_alone_since_first(&self, id: TaskId) -> bool {
        let own: u64 = self.firsts(id).map(|first| first.turns).sum();
        let mut firsts = self.firsts(id).map(|first| &first.noted);
        firsts.next().is_some_and(|from| !from.shared && self.turns_started <= from.starts + own)
    }

    /// The record of files before the first turn of a task, or of what it mends.
    pub fn first_noted(&self, id: TaskId) -> Option<&FileSnapshot> {
        self.firsts(id).next().map(|first| &first.noted)
    }

    /// What is known of the first turn of the task that a task mends, and then of its own: whoever mends goes on with what that
    /// began with.
    fn firsts(&self, id: TaskId) -> impl Iterator<Item = &FirstNoted> {
        let tasks = self.plan.mended_by(id).into_iter().chain([id]);
        tasks.filter_map(|id| self.task(id).course.first.as_deref())
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

    /// The state of the tests that were there, as far as they were looked at.
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
    pub fn new_tests_fail(&self, plan: &Plan, id: TaskId, key: Digest) -> Option<bool> {
        let work = plan.task(id);
        match self.attempt.looks.new_tests(key)? {
            BeforeWork::Red => Some(true),
            BeforeWork::Green if work.kind == TaskType::Test && work.is_of_mission() => None,
            BeforeWork::Green => Some(false),
            BeforeWork::Unknown => None,
        }
    }
}
