//! The first word of a line of progress.

worded! {
    /// The verb of a line of progress. The one table of these words: no line begins with another one, and
    /// `quorum explain` has a text for each.
    pub(crate) enum Verb {
        /// The agent of a task starts a turn. On a terminal the live rows show it instead.
        Start = "START",
        /// What checks came to, or the final check of accepted work.
        Check = "CHECK",
        /// What judges came to, or what went wrong with one of them.
        Review = "REVIEW",
        /// The work goes back to its agent with what was found, for an attempt that fixes it.
        Rework = "REWORK",
        /// An attempt from the beginning follows, or a request that failed is made again, with how many remain and
        /// when.
        Retry = "RETRY",
        /// Another judge is asked because the first one cannot be reached, or a task goes on without a dependency
        /// that failed.
        Fallback = "FALLBACK",
        /// A task is made to repair another one that failed, or has done so.
        Fixup = "FIXUP",
        /// A person must decide, or a moment must come. The id is what `quorum approve`, `quorum reject` and `quorum
        /// answer` take.
        Wait = "WAIT",
        /// Work was accepted, with its score against its bar, what passed, and how long the task took.
        Done = "DONE",
        /// A task failed, with its failure mode and the reason.
        Fail = "FAIL",
        /// A task never runs, and why.
        Skip = "SKIP",
        /// A gate was evaluated or overridden.
        Gate = "GATE",
        /// A deadline is near or was missed.
        Deadline = "DEADLINE",
        /// Nothing new starts: the session was interrupted, paused or has reached a limit. What runs is ended or may
        /// finish, as the line says.
        Stop = "STOP",
        /// A session continues a run, or an agent that outlived the last session was taken over.
        Resume = "RESUME",
        /// A session begins; what runs at the moment; what an agent tells of its progress; a warning.
        Run = "RUN",
        /// Accepted or failed work is done again: from the beginning by `--redo`, `--reopen`, `--retry-failed` or a
        /// changed mission; in one attempt of kind fix where it does not stand any more (regressed).
        Reopen = "REOPEN",
        /// What a stage behind the verification came to.
        Stage = "STAGE",
        /// A question, approval or checkpoint was answered, and by whom; or an agent that was asked something gave
        /// no usable answer.
        Answer = "ANSWER",
        /// A turn was interrupted with its session, or its agent has printed nothing for longer than its
        /// `staleThreshold`; after twice that it is ended and the attempt counts as a timeout.
        Lost = "LOST",
        /// A person ended the work, or a task is no longer needed.
        Cancel = "CANCEL",
    }
}
