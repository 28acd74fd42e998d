//! The words of a task's life: states, phases, attempts, flags (semantics, sections 1, 4 and 5).

worded! {
    /// The seven states of a task.
    #[derive(PartialOrd, Ord, Default)]
    pub enum Status {
        /// Not begun; it waits for dependencies, gates, holds or a free slot. The note in `quorum status` says for
        /// what.
        #[default]
        Pending = "pending",
        /// A person must decide before the task goes on. `quorum inbox` lists the id; `quorum approve ID` or `quorum
        /// reject ID --reason TEXT` answers.
        AwaitingApproval = "awaiting_approval",
        /// The task has a slot, and its agent is about to start.
        Assigned = "assigned",
        /// The agent of the task works. `quorum logs TASK -f` follows its output.
        InProgress = "in_progress",
        /// The work is judged: checks, reviewers, verification, further stages.
        Review = "review",
        /// Accepted. The flag says how: clean, relaxed, unreviewed, unverified, degraded, below-threshold.
        Done = "done",
        /// Not accepted in any attempt, or ended by a rule; the failure mode says how, and `quorum show TASK` why.
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
        /// The agent works in a first attempt or in one from the beginning.
        Execution = "execution",
        /// The work is judged.
        Review = "review",
        /// The agent corrects what was found.
        Fix = "fix",
        /// The agent asked something and works on with the answer.
        Clarification = "clarification",
        /// What the checks say before the first turn is looked at.
        Baseline = "baseline",
    }
}

worded! {
    /// The kind of an attempt (section 1).
    #[derive(Default)]
    pub enum AttemptKind {
        /// The first one at a task, or one from the beginning after `--redo`.
        #[default]
        Execute = "execute",
        /// One that corrects the work of the attempt before, with what was found (`maxFixAttempts`). Accepted work
        /// that regressed gets one beside all limits.
        Fix = "fix",
        /// One from the beginning, after fixes were used up or the agent failed (`maxRetries`).
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
        /// Every check, review and stage that was asked for passed, or a person accepted the work.
        Clean = "clean",
        /// Passed under the lower bar of a foundation task, which three others or more depend on, or with a flaky
        /// check that passed when it ran again.
        Relaxed = "relaxed",
        /// Accepted without any judgement: nobody asked for one, nobody may judge, or reviews are switched off. Give
        /// the task `expectations` or a reviewer; with `--strict` it is exit 6.
        Unreviewed = "unreviewed",
        /// Accepted, though a part of the evidence is missing: its finish gate was not met, it has changed since, or
        /// the judge breaker was open. Exit 5. `quorum resume --redo TASK` does it again.
        Unverified = "unverified",
        /// Accepted after the last attempt because at least half of its target files exist (`onExhausted: degrade`),
        /// or without a dependency that failed. Exit 5.
        Degraded = "degraded",
        /// The work did not reach its bar in any attempt and was accepted all the same.
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
        /// Somebody must agree before the task starts (`requiresApproval`, an approval gate, autonomy): `quorum
        /// approve ID` or `quorum reject ID --reason TEXT`.
        Approval = "approval",
        /// Running the task twice does harm (`sideEffects`), so only a person may let its agent act again: `quorum
        /// approve ID`.
        SideEffects = "side-effects",
        /// A person must decide about the work.
        Refer = "refer",
        /// The agent asked something: `quorum answer ID TEXT` answers it.
        Question = "question",
        /// The agent asked for a permission that only a person gives: `quorum approve ID` or `quorum reject ID
        /// --reason TEXT`.
        Auth = "auth",
        /// The agent reports that what it was told does not hold, and a person must look at it; `quorum approve ID`
        /// lets it go on.
        Operator = "operator",
        /// The run waits for a person: `quorum approve ID` continues.
        Checkpoint = "checkpoint",
        /// The run waits for a moment. Nobody has to act.
        Delay = "delay",
    }
}

worded! {
    /// The result of a check before the work began (section 24).
    pub enum BeforeWork {
        /// The check failed.
        Red = "red",
        /// The check passed, so it guards what was there.
        Green = "green",
        /// Whether the check passes could not be told.
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
