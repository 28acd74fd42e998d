//! `quorum.inbox/v1` and its halves: what waits for a person, and what operators should know of. What waits is gathered in `waits`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::waits::{RequestRow, Wait, requests, waits};
use crate::report::folds::view::RunView;
use rules::{domain::RunId, engine::State};

/// What a run has for people: `quorum inbox`, `approvals`, `requests`. A half that is not asked for is left out.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxDocument<'a> {
    /// The name and version of the document.
    pub(crate) schema: &'static str,
    /// The id of the run.
    pub(crate) run_id: &'a RunId,
    /// The waits for a person or for a moment.
    pub(crate) approvals: Option<Vec<Wait<'a>>>,
    /// Work that was accepted below the bar, which operators should know of.
    pub(crate) requests: Option<Vec<RequestRow<'a>>>,
}

/// The halves of the inbox that are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Halves {
    /// Waits and requests to operators.
    Both,
    /// Waits only.
    Approvals,
    /// Requests to operators only.
    Requests,
}

impl<'a> InboxDocument<'a> {
    /// Makes the document of the halves that are asked for.
    pub fn of(run: &'a RunId, state: &'a State, view: &'a RunView, halves: Halves) -> Self {
        Self {
            schema: match halves {
                Halves::Both => "quorum.inbox/v1",
                Halves::Approvals => "quorum.approvals/v1",
                Halves::Requests => "quorum.requests/v1",
            },
            run_id: run,
            approvals: (halves != Halves::Requests).then(|| waits(state, view).collect()),
            // What holds nothing up does not wait: reports and `requests` tell of it.
            requests: match halves {
                Halves::Both => Some(Vec::new()),
                Halves::Approvals => None,
                Halves::Requests => Some(requests(state, view).collect()),
            },
        }
    }
}
