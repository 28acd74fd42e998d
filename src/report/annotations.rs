//! What GitHub shows beside a job: a few annotations, the worst first. GitHub keeps ten of a kind, so the last one
//! counts the rest instead of letting it vanish.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::engine::{GateStanding, State, gate_view};

use super::rank::{Rank, reason, worst_first};
use super::summary::left_out;
use super::view::RunView;

/// Annotations of one kind that GitHub shows.
const MOST: usize = 10;

/// The workflow commands, one a line.
#[must_use]
pub fn annotations(state: &State, view: &RunView) -> String {
    let (mut errors, mut warnings, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    for id in state.plan.gate_ids() {
        let gate = gate_view(state, id);
        if gate.standing == GateStanding::Failed {
            let name = &state.plan.gate(id).name;
            let why = gate.reason.map_or_else(|| "failed".to_owned(), Cow::into_owned);
            errors.push((format!("gate {name}"), why));
        }
    }
    if let (Some(points), Some(bar)) = (state.threshold_failed, state.plan.rules.quality_threshold) {
        errors.push(("mission score".to_owned(), format!("{points} < {bar}")));
    }
    if let Some(words) = left_out(state) {
        notices.push(("quorum".to_owned(), words));
    }
    for (rank, id) in worst_first(state, view) {
        let list = match rank {
            Rank::Failed | Rank::Cascaded | Rank::Indeterminate => &mut errors,
            Rank::BelowBar | Rank::Waiting => &mut warnings,
            Rank::Unreviewed => &mut notices,
            Rank::Open
            | Rank::Reworked
            | Rank::Done
            | Rank::Superseded
            | Rank::NotTaken
            | Rank::NotSelected => continue,
        };
        list.push((
            state.plan.task(id).title.to_string(),
            reason(state, view, rank, id),
        ));
    }
    let mut text = String::new();
    for (kind, list) in [("error", errors), ("warning", warnings), ("notice", notices)] {
        let shown = if list.len() > MOST { MOST - 1 } else { list.len() };
        for (title, message) in &list[..shown] {
            let _ = writeln!(text, "::{kind} title={}::{}", property(title), data(message));
        }
        if shown < list.len() {
            let _ = writeln!(text, "::{kind} title=quorum::{} more", list.len() - shown);
        }
    }
    text
}

/// The message of a workflow command: nothing in it may begin another one.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
