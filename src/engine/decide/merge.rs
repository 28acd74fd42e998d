//! Work of an isolated task that is good enough is merged before it is accepted (semantics, section 22).
//!
//! Where others were accepted meanwhile, their work comes into the task's folder first and the task's checks are run there
//! once more. Where both changed the same, or a check fails on both together, the work is sent back with one fix beside its
//! allowances. Nobody waits for a lock: who lands first, lands, and the other tries once more.

use crate::domain::{Cause, Edge, Finding, Severity, Stage, StageKey, Verdict};
use crate::engine::event::{Event, TaskEvent};
use crate::engine::job::Job;
use crate::engine::mark::Mark;
use crate::engine::payload::Merged;
use crate::engine::state::Merging;

use super::transaction::Transaction;
use super::{conclude, pipeline, request};

/// Whether the work is to be merged before it is accepted.
pub(super) fn is_due(draft: &Transaction<'_>) -> bool {
    let landed = merging(draft).is_some_and(|merge| merge.landed);
    draft.task_plan().commits() && !landed
}

/// The work is good enough: it is merged.
pub(super) fn begin(draft: &mut Transaction<'_>, mark: Option<Mark>) {
    let mark = mark.or_else(|| self::mark(draft));
    draft.emit(Event::Task(draft.id, TaskEvent::MergeBegun { mark }));
    let number = merging(draft).map_or(1, |merge| merge.number + 1);
    request::run(draft, Job::Merge(number));
}

/// What the acceptance of merged work leaves to be known.
pub(super) fn mark(draft: &Transaction<'_>) -> Option<Mark> {
    merging(draft)?.mark
}

/// A try to merge came back.
pub(super) fn ended(draft: &mut Transaction<'_>, merged: &Merged) {
    match merged {
        Merged::Landed(_) => accept(draft),
        Merged::Candidate(_) => {
            let checks = draft.task_plan().checks().len();
            if checks == 0 {
                return pipeline::accept(draft);
            }
            (0..)
                .take(checks)
                .for_each(|check| request::run(draft, Job::Check(check)));
        }
        Merged::Conflict { files, with, .. } => {
            let others = match with.is_empty() {
                true => String::new(),
                false => format!(" (by {})", with.join(", ")),
            };
            let finding = |file: &String| {
                let text = format!(
                    "{file}: changed here and by work that was accepted meanwhile{others}; the file has both between \
                     conflict marks: keep what both were for, and remove the marks"
                );
                Finding::new(Severity::High, text)
            };
            send_back(draft, files.iter().map(finding).collect());
        }
        Merged::Refused(why) => {
            let text = format!("the work cannot be committed: {why}");
            send_back(draft, vec![Finding::new(Severity::High, text)]);
        }
    }
}

/// Whether a check is run on merged work.
pub(super) fn is_checked(draft: &Transaction<'_>) -> bool {
    merging(draft).is_some()
}

/// A check of merged work came back.
pub(super) fn checked(draft: &mut Transaction<'_>) {
    let Some(judging) = draft.task.judging() else {
        return;
    };
    let Some(results) = judging
        .checks
        .iter()
        .map(Option::as_ref)
        .collect::<Option<Vec<_>>>()
    else {
        return;
    };
    let failed = results.iter().filter(|result| !result.passed);
    let finding = |message: &str| {
        let text = format!("with work that was accepted meanwhile, which is in the folder now: {message}");
        Finding::new(Severity::High, text)
    };
    let found: Vec<Finding> = failed.map(|result| finding(&result.message)).collect();
    match found.is_empty() {
        true => pipeline::accept(draft),
        false => send_back(draft, found),
    }
}

fn accept(draft: &mut Transaction<'_>) {
    let key = StageKey::Of(Stage::Merge);
    let report = draft.view().report(key, Verdict::Pass, None);
    conclude::record(draft, *report);
    conclude::accept(draft, Edge::Pass, None);
}

fn send_back(draft: &mut Transaction<'_>, findings: Vec<Finding>) {
    let key = StageKey::Of(Stage::Merge);
    let mut report = draft.view().report(key, Verdict::Fail, Some(Cause::Merge));
    report.findings = findings;
    conclude::record(draft, *report);
    conclude::not_good_enough(draft);
}

fn merging<'d>(draft: &'d Transaction<'_>) -> Option<&'d Merging> {
    draft.task.judging()?.merge.as_ref()
}
