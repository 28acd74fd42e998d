//! What is on record of tests that the work of a task changed: those that were there on the work, and those that it brings
//! without it (semantics, section 24).

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use thin_vec::ThinVec;

use crate::domain::{BeforeWork, Digest};

use super::baseline_record::BaselineResult;

worded! {
    /// A kind of look at tests that the work changed or brought.
    #[derive(PartialOrd, Ord)]
    pub enum Look {
        /// The tests that were there, on the work.
        Old = "old-tests",
        /// The tests of the work, without it.
        New = "new-tests",
    }
}

/// The result of one look.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Looked {
    /// The first of the tests that were put in the place of others.
    pub files: Vec<Box<str>>,
    /// The result of each distinct command.
    pub checks: Vec<BaselineResult>,
    /// The results of the failed commands on the work as it is, in a folder made for the look, where they were
    /// not known.
    pub control: Vec<BaselineResult>,
    /// Why nothing could be run.
    pub lost: Option<Box<str>>,
}

/// The looks of an attempt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TestLooks {
    /// The one that is out.
    pub open: Option<Look>,
    /// The looks that came back.
    pub made: ThinVec<(Look, Looked)>,
    /// Whether the meaning of the looks was told.
    pub told: bool,
}

impl TestLooks {
    /// The looks for whoever judges the attempt once more.
    pub fn again(&self) -> Self {
        Self { open: None, made: self.made.clone(), told: false }
    }

    /// The result of a look, if it was made.
    pub fn of(&self, look: Look) -> Option<&Looked> {
        self.made.iter().find(|(made, _)| *made == look).map(|(_, looked)| looked)
    }

    /// The known results of commands on the work as it is, in a folder made for the look.
    pub fn control(&self) -> impl Iterator<Item = &BaselineResult> {
        self.made.iter().flat_map(|(_, looked)| &looked.control)
    }

    /// The result of the check of this key for the tests that the work brings, without the work; `None` where
    /// that was not looked at.
    pub fn new_tests(&self, key: Digest) -> Option<BeforeWork> {
        let looked = self.of(Look::New)?;
        let seen = looked.checks.iter().find(|seen| seen.key == key)?;
        Some(self.counted(seen))
    }

    /// The result of a command of a look. A failure counts only if the command passes on the
    /// work as it is.
    pub fn counted(&self, seen: &BaselineResult) -> BeforeWork {
        let passes =
            |control: &BaselineResult| control.key == seen.key && control.before == BeforeWork::Green;
        match seen.before {
            BeforeWork::Red if !self.control().any(passes) => BeforeWork::Unknown,
            before => before,
        }
    }
}
