//! What is on record of tests that the work of a task changed: those that were there on the work, and those that it brings
//! without it (semantics, section 24).

use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use crate::domain::{BeforeWork, Digest};

use super::seen_before::SeenBefore;

worded! {
    /// Which of both.
    #[derive(PartialOrd, Ord)]
    pub enum Look {
        /// The tests that were there, on the work.
        Old = "old-tests" as "old",
        /// The tests of the work, without it.
        New = "new-tests" as "new",
    }
}

/// What one of them showed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
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
#[derive(Debug, Clone, PartialEq, Default)]
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
    pub fn again(&self) -> Self {
        Self {
            open: None,
            made: self.made.clone(),
            told: false,
        }
    }

    /// What one showed, if it was made.
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
