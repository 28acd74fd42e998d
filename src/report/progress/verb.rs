//! The first word of a line of progress.

/// What a line of progress says has happened. The one table of these words: no line begins with another one, and
/// `quorum explain` has a text for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::report) enum Verb {
    Start,
    Check,
    Review,
    Rework,
    Retry,
    Fallback,
    Fixup,
    Wait,
    Done,
    Fail,
    Skip,
    Gate,
    Deadline,
    Stop,
    Resume,
    Run,
    Reopen,
    Stage,
    Answer,
    Lost,
    Cancel,
}

impl Verb {
    /// All of them.
    #[cfg(test)]
    pub const ALL: [Self; 21] = [
        Self::Start,
        Self::Check,
        Self::Review,
        Self::Rework,
        Self::Retry,
        Self::Fallback,
        Self::Fixup,
        Self::Wait,
        Self::Done,
        Self::Fail,
        Self::Skip,
        Self::Gate,
        Self::Deadline,
        Self::Stop,
        Self::Resume,
        Self::Run,
        Self::Reopen,
        Self::Stage,
        Self::Answer,
        Self::Lost,
        Self::Cancel,
    ];

    /// The word as it is printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Start => "START",
            Self::Check => "CHECK",
            Self::Review => "REVIEW",
            Self::Rework => "REWORK",
            Self::Retry => "RETRY",
            Self::Fallback => "FALLBACK",
            Self::Fixup => "FIXUP",
            Self::Wait => "WAIT",
            Self::Done => "DONE",
            Self::Fail => "FAIL",
            Self::Skip => "SKIP",
            Self::Gate => "GATE",
            Self::Deadline => "DEADLINE",
            Self::Stop => "STOP",
            Self::Resume => "RESUME",
            Self::Run => "RUN",
            Self::Reopen => "REOPEN",
            Self::Stage => "STAGE",
            Self::Answer => "ANSWER",
            Self::Lost => "LOST",
            Self::Cancel => "CANCEL",
        }
    }
}
