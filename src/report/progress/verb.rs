//! The first word of a line of progress.

worded! {
    /// The verb of a line of progress. The one table of these words: no line begins with another one, and
    /// `quorum explain` has a text for each.
    pub(crate) enum Verb {
        Start = "START",
        Check = "CHECK",
        Review = "REVIEW",
        Rework = "REWORK",
        Retry = "RETRY",
        Fallback = "FALLBACK",
        Fixup = "FIXUP",
        Wait = "WAIT",
        Done = "DONE",
        Fail = "FAIL",
        Skip = "SKIP",
        Gate = "GATE",
        Deadline = "DEADLINE",
        Stop = "STOP",
        Resume = "RESUME",
        Run = "RUN",
        Reopen = "REOPEN",
        Stage = "STAGE",
        Answer = "ANSWER",
        Lost = "LOST",
        Cancel = "CANCEL",
    }
}
