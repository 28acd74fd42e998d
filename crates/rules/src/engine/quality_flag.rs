//! What should be known of work beside its verdicts, and the quality flag that follows from it (semantics, section 1).

use serde::{Deserialize, Serialize};

use crate::domain::QualityFlag;

/// A thing that should be known of work that goes on. Verdicts leave marks on the attempt, and acceptance
/// leaves its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// The work passed only with a foundation task's relief.
    Relaxed,
    /// A check of the work failed, and passed when it ran again.
    Flaky,
    /// All that stands for the work are checks that are declared to be guards.
    OnlyGuards,
    /// All that stands for the work are checks that were green before it began.
    Vacuous,
    /// All that stands for the work are checks that were green before it began, where a proof is required.
    Unproven,
    /// The work changed tests that fail on it as they were, or of which nobody can tell, and nobody judged it.
    TestsChanged,
    /// The results of the checks before the work are not known, and nothing else stands for it.
    BaselineUnknown,
    /// Nobody judged the work, or a stage of an agent was passed over because reviews are switched off.
    Unreviewed,
    /// Something that should have been shown was not shown: a forced finish gate, an open judge breaker, a file that
    /// changed and that no check holds.
    Unverified,
    /// The work is there in part, or is built on a part of what it needs.
    Degraded,
    /// The work stayed below the bar, after all attempts.
    BelowThreshold,
    /// A red team or a vision check gave no report, and the work went on without it.
    Faulted,
    /// The last verdict of a review that was asked for is missing, or cannot be trusted.
    Indeterminate,
}

impl Mark {
    /// The flag of work that is accepted with it; `None` where it counts beside the flag.
    #[must_use]
    pub fn flag(self) -> Option<QualityFlag> {
        match self {
            Self::Relaxed | Self::Flaky => Some(QualityFlag::Relaxed),
            Self::Unreviewed | Self::OnlyGuards | Self::Vacuous => Some(QualityFlag::Unreviewed),
            Self::Unverified | Self::Unproven | Self::TestsChanged => Some(QualityFlag::Unverified),
            Self::Degraded => Some(QualityFlag::Degraded),
            Self::BelowThreshold => Some(QualityFlag::BelowThreshold),
            Self::Faulted | Self::Indeterminate | Self::BaselineUnknown => None,
        }
    }
}

impl FromIterator<Mark> for QualityFlag {
    /// Takes the last one of the list of several marks that apply.
    fn from_iter<T: IntoIterator<Item = Mark>>(marks: T) -> Self {
        let flags = marks.into_iter().filter_map(Mark::flag);
        flags.max().unwrap_or(Self::Clean)
    }
}
