//! `quorum.inbox/v1` and its halves: what waits for a person, and what operators should know of.

use schemars::JsonSchema;
use serde::Serialize;
use serde_with::skip_serializing_none;

use super::waits::{RequestRow, Wait, requests, waits};
use crate::domain::{RunId, Timestamp};
use crate::engine::State;
use crate::report::style::{Role, Screen};
use crate::report::text::sanitize;
use crate::report::view::RunView;

/// Lines of what a decision is about.
const ROWS: usize = 10;

/// What a run has for people: `quorum inbox`, `approvals`, `requests`. A half that is not asked for is left out.
#[skip_serializing_none]
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InboxDocument<'a> {
    /// The name and version of the document.
    pub(crate) schema: &'static str,
    /// The run.
    pub(crate) run_id: &'a RunId,
    /// What waits for a person or for a moment.
    pub(crate) approvals: Option<Vec<Wait<'a>>>,
    /// What operators should know of: work that was accepted below the bar.
    pub(crate) requests: Option<Vec<RequestRow<'a>>>,
}

/// Which halves are asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Halves {
    /// What waits, and what operators should know of.
    Both,
    /// What waits.
    Approvals,
    /// What operators should know of.
    Requests,
}

impl<'a> InboxDocument<'a> {
    /// What a run has for people.
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

    /// A line for each, the id first, because it is to be copied; with a line feed at its end.
    pub fn human(&self, screen: &Screen) -> String {
        let approvals = self.approvals.iter().flatten().map(|wait| {
            let until = wait.expires.map(Timestamp::to_rfc3339);
            // Where a moment ends it there is nothing to type.
            let id = wait.id.as_deref().unwrap_or("-");
            let line = line(screen, id, wait.title(), (wait.reason, until), wait.message);
            format!("{line}{}", about(wait))
        });
        let requests = self.requests.iter().flatten();
        let requests = requests.map(|row| {
            let text = line(screen, &row.id, row.task, (row.kind.as_str(), None), row.message);
            format!("{text}  answer with: {}\n", row.command)
        });
        let text: String = approvals.chain(requests).collect();
        match text.is_empty() {
            true if self.approvals.is_none() => "there are no operator requests\n".to_owned(),
            true => "nothing waits for a person\n".to_owned(),
            false => screen.wrap(&text),
        }
    }
}

/// Since when something waits, what a decision is about, and what answers it.
fn about(wait: &Wait<'_>) -> String {
    let Some(command) = &wait.command else {
        return String::new();
    };
    let mut text = format!("  since {}\n", wait.since.to_rfc3339());
    text.extend(wait.behind.iter().take(ROWS).map(|row| format!("  {row}\n")));
    let more = wait.behind.len().saturating_sub(ROWS);
    text.extend((more > 0).then(|| format!("  and {more} more\n")));
    text + &format!("  answer with: {command}\n")
}

fn line(screen: &Screen, id: &str, title: &str, why: (&str, Option<String>), message: &str) -> String {
    let title = screen.style.paint(Role::Strong, sanitize(title));
    let (kind, until) = (why.0, why.1.map(|until| format!(" until {until}")));
    let message = sanitize(message);
    format!("{id}  {title}  {kind}{}: {message}\n", until.unwrap_or_default())
}
