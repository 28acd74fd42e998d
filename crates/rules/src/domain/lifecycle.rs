//! The words of a task's life: states, phases, attempts, flags (semantics, sections 1, 4 and 5).

worded! {
    /// The seven states of a task.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Status {
        /// Waiting for dependencies, gates or a slot.
        #[default]
        Pending = "pending",
        /// Waiting for a person.
        AwaitingApproval = "awaiting_approval",
        /// An agent is chosen and about to start.
        Assigned = "assigned",
        /// An agent is working.
        InProgress = "in_progress",
        /// The work is being judged.
        Review = "review",
        /// The work is accepted.
        Done = "done",
        /// The task failed for good.
        Failed = "failed",
    }
}

impl Status {
    /// Whether nothing happens to the task any more by itself.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Done | Self::Failed)
    }

    /// Whether the life cycle's table (section 5) has the edge from this state to `to`.
    pub fn may_become(self, to: Self) -> bool {
        use Status::{Assigned, AwaitingApproval, Done, Failed, InProgress, Pending, Review};
        match self {
            Pending => matches!(to, Assigned | AwaitingApproval | Failed),
            AwaitingApproval => matches!(to, Assigned | InProgress | Pending | Review | Failed),
            Assigned => matches!(to, InProgress | Pending | Failed),
            InProgress => matches!(to, Review | AwaitingApproval | Pending | Failed),
            Review => matches!(to, Done | InProgress | Pending | AwaitingApproval | Failed),
            Done | Failed => to == Pending,
        }
    }
}

worded! {
    /// The activity inside `assigned`, `in_progress` and `review`.
    pub enum Phase {
        /// First run or retry.
        Execution = "execution",
        /// The work is being judged.
        Review = "review",
        /// Correcting what the review found.
        Fix = "fix",
        /// A question is being answered.
        Clarification = "clarification",
        /// The results of the checks before the work are looked at.
        Baseline = "baseline",
    }
}

worded! {
    /// The kind of an attempt (section 1).
    #[derive(Default)]
    pub enum AttemptKind {
        /// The first try.
        #[default]
        Execute = "execute",
        /// The agent goes on in the same session where there is one, told what to correct.
        Fix = "fix",
        /// A fresh session and prompt; files stay as they are.
        Retry = "retry",
    }
}

impl AttemptKind {
    /// The phase a task is in while such an attempt works.
    pub fn phase(self) -> Phase {
        match self {
            Self::Fix => Phase::Fix,
            Self::Execute | Self::Retry => Phase::Execution,
        }
    }
}

worded! {
    /// How good a done task is: the last that applies (section 1).
    #[derive(PartialOrd, Ord)]
    pub enum QualityFlag {
        /// Everything that was asked for passed.
        Clean = "clean",
        /// Passed only with a foundation task's relief, or when a check ran again.
        Relaxed = "relaxed",
        /// Nobody judged the work.
        Unreviewed = "unreviewed",
        /// A finish gate was forced or a judge breaker was open.
        Unverified = "unverified",
        /// Accepted on partial artifacts.
        Degraded = "degraded",
        /// Accepted below the bar.
        BelowThreshold = "below-threshold",
    }
}

impl QualityFlag {
    /// Whether the work was accepted without having reached what was asked: it fails gates and the outcome.
    pub fn is_below_bar(self) -> bool {
        matches!(self, Self::BelowThreshold | Self::Degraded | Self::Unverified)
    }
}

worded! {
    /// Why a task waits for a person (section 5), or what stands behind a checkpoint or a delay does not start (section 14).
    pub enum WaitingReason {
        /// `requiresApproval` or an approval gate.
        Approval = "approval",
        /// Acting again needs a person's word.
        SideEffects = "side-effects",
        /// A person must decide about the work.
        Refer = "refer",
        /// The agent asked something.
        Question = "question",
        /// A tool call in mid-execution needs approval.
        Auth = "auth",
        /// Escalated to the operator.
        Operator = "operator",
        /// A checkpoint is reached: a person decides whether the run goes on behind it.
        Checkpoint = "checkpoint",
        /// A delay runs: its moment ends it, and nobody is asked.
        Delay = "delay",
    }
}

worded! {
    /// The result of a check before the work began (section 24).
    pub enum BeforeWork {
        /// The check failed.
        Red = "red",
        /// The check passed.
        Green = "green",
        /// The result could not be told.
        Unknown = "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_is_final_but_for_an_explicit_redo() {
        use Status::{Assigned, Done, Failed, InProgress, Pending};
        for to in Status::ALL {
            assert_eq!(Failed.may_become(to), to == Pending);
            assert_eq!(Done.may_become(to), to == Pending);
            assert!(!to.may_become(to), "{to:?} must not become itself");
        }
        assert!(!Assigned.may_become(Done) && !InProgress.may_become(Done) && !Pending.may_become(Done));
    }
}
