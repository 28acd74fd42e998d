//! Intake: how far a request for work has come (semantics, section 16).

worded! {
    /// The state of a request.
    pub enum RequestStatus {
        /// The request was handed in (`quorum request`) and nobody has looked at it.
        Submitted = "submitted",
        /// Somebody decides whether it is wanted. `quorum request approve ID` makes it a task, `quorum request
        /// reject ID` refuses it.
        Triaging = "triaging",
        /// The request is being made into a task.
        Scoping = "scoping",
        /// The request may become a task.
        Approved = "approved",
        /// The task that does it is part of a run.
        TaskCreated = "task_created",
        /// A person withdrew it, or it was refused with a reason.
        Cancelled = "cancelled",
    }
}

impl RequestStatus {
    /// Whether nothing follows any more.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::TaskCreated | Self::Cancelled)
    }

    /// The one state that follows where nothing is called off; `None` at the end.
    #[must_use]
    pub fn next(self) -> Option<Self> {
        // They are listed in this order.
        (!self.is_terminal()).then(|| Self::ALL[self as usize + 1])
    }

    /// Whether this step may be taken: to the next state, or out of any that is not final. Nothing is skipped.
    pub fn may_become(self, to: Self) -> bool {
        self.next() == Some(to) || (to == Self::Cancelled && !self.is_terminal())
    }
}

#[cfg(test)]
mod tests {
    use super::RequestStatus::{self, Approved, Cancelled, Scoping, Submitted, TaskCreated, Triaging};

    #[test]
    fn nothing_is_skipped_and_nothing_goes_back() {
        let edges = [
            (Submitted, Triaging),
            (Triaging, Scoping),
            (Scoping, Approved),
            (Approved, TaskCreated),
            (Submitted, Cancelled),
            (Triaging, Cancelled),
            (Scoping, Cancelled),
            (Approved, Cancelled),
        ];
        for from in RequestStatus::ALL {
            for to in RequestStatus::ALL {
                assert_eq!(from.may_become(to), edges.contains(&(from, to)), "{from:?} -> {to:?}");
            }
            assert_eq!(serde_json::to_value(from).unwrap(), from.as_str());
        }
    }
}
