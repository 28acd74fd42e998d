//! What GitHub shows beside a job: a few annotations, the worst first. GitHub keeps ten of a kind, so the last one
//! counts the rest instead of letting it vanish. A run that is not `ok` has at least one that says so.

use crate::report::{
    documents::RunDocument,
    folds::rank::{Rank, reason},
    screens::{summary::unwell, text::sanitize},
};

/// Annotations of one kind that GitHub shows.
const MOST: usize = 10;

/// The workflow commands, one a line.
pub fn annotations(run: &RunDocument<'_>) -> String {
    let (mut errors, mut warnings, mut notices) = (Vec::new(), Vec::new(), Vec::new());
    for gate in run.failed_gates() {
        let why = gate.reason.as_deref().unwrap_or("failed").to_owned();
        errors.push((format!("gate {}", gate.name), why));
    }
    if let (Some(points), Some(bar)) = (run.mission_score.missed_with, run.mission_score.bar) {
        errors.push(("mission score".to_owned(), format!("{points} < {bar}")));
    }
    if let Some(words) = run.counts.left_out() {
        notices.push(("quorum".to_owned(), words));
    }
    for wait in run.asked() {
        let command = wait.command.as_deref().unwrap_or_default();
        let what = format!("waits for {}: {}; type `{command}`", wait.reason, wait.message);
        warnings.push((wait.title().to_owned(), what));
    }
    for task in run.tasks.worst_first() {
        let list = match task.rank {
            Rank::Failed | Rank::Cascaded | Rank::Indeterminate => &mut errors,
            Rank::BelowBar => &mut warnings,
            Rank::Unreviewed => &mut notices,
            Rank::Waiting
            | Rank::Open
            | Rank::Reworked
            | Rank::Done
            | Rank::Superseded
            | Rank::NotTaken
            | Rank::NotSelected => continue,
        };
        list.push((task.title.to_owned(), reason(&task)));
    }
    let is_told = run.got_to_its_end() && !(errors.is_empty() && warnings.is_empty());
    if let Some((_, words)) = unwell(run).filter(|_| !is_told) {
        errors.insert(0, ("run".to_owned(), words));
    }
    let mut text = String::new();
    for (kind, list) in [("error", errors), ("warning", warnings), ("notice", notices)] {
        let shown = if list.len() > MOST { MOST - 1 } else { list.len() };
        for (title, message) in &list[..shown] {
            append_line!(text, "::{kind} title={}::{}", property(title), data(message));
        }
        if shown < list.len() {
            append_line!(text, "::{kind} title=quorum::{} more", list.len() - shown);
        }
    }
    text
}

/// The message of a workflow command: nothing in it may begin another one.
fn data(text: &str) -> String {
    sanitize(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
