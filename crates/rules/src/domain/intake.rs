//! Intake: how far a request for work has come (semantics, section 16).

worded! {
    /// The state of a request.
    pub enum RequestStatus {
        /// Somebody asked for the work.
        Submitted = "submitted",
        /// The way in which the request is looked at is being decided.
        Triaging = "triaging",
        /// The request is being made into a task.
        Scoping = "scoping",
        /// The task is to be created.
        Approved = "approved",
        /// A run has the task. Final.
        TaskCreated = "task_created",
        /// The request was called off, or refused with a reason. Final.
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
                assert_eq!(
                    from.may_become(to),
                    edges.contains(&(from, to)),
                    "{from:?} -> {to:?}"
                );
            }
            assert_eq!(serde_json::to_value(from).unwrap(), from.as_str());
        }
    }
}
