//! Work of an isolated task that is good enough is merged before it is accepted (semantics, section 22).
//!
//! Where others were accepted meanwhile, their work comes into the task's folder first and the task's checks are run there
//! once more, with those of tasks that changed the same files. Where both changed the same, or a check fails on both together, the work is sent back with one fix beside its
//! allowances. Nobody waits for a lock: who lands first, lands, and the other tries once more.

use std::collections::BTreeSet;

use crate::domain::{Cause, Edge, Finding, Severity, StageKey, Status, TaskId, Verdict};
use crate::engine::event::TaskEvent;
use crate::engine::event_payload::Commit;
use crate::engine::job::Job;
use crate::engine::merging::Merged;
use crate::engine::quality_flag::Mark;
use crate::engine::stages;
use crate::engine::state::Merging;
use crate::mission::model::Check;

use super::draft::Draft;
use super::{conclude, deferral, outgoing, pipeline};

/// Whether the work is to be merged before it is accepted.
pub fn is_due(draft: &Draft<'_>) -> bool {
    let landed = merging(draft).is_some_and(|merge| merge.landed);
    draft.task_plan().commits() && !landed
}

/// The work is good enough: it is merged. What its acceptance leaves to be known stays, however often that is tried.
pub fn begin(draft: &mut Draft<'_>, mark: Option<Mark>) {
    draft.emit_own(TaskEvent::MergeBegun { mark });
    // A person may speak when every slot is taken.
    if let Some(since) = draft.no_slot {
        return deferral::queue(draft, Some(StageKey::MERGE), deferral::NO_SLOT, since);
    }
    let number = merging(draft).map_or(1, |merge| merge.number + 1);
    outgoing::run(draft, Job::Merge(number));
}

/// A try to merge came back.
pub fn ended(draft: &mut Draft<'_>, merged: &Merged) {
    match merged {
        Merged::Landed(commit) => accept(draft, commit),
        Merged::Candidate(commit) => {
            let own = draft.task_plan().checks().len();
            let peers = peers(draft, commit);
            if own == 0 && peers.is_empty() {
                return pipeline::accept(draft);
            }
            (0..).take(own).for_each(|check| outgoing::run(draft, Job::Check(check)));
            for (peer, check) in peers {
                outgoing::run(draft, Job::PeerCheck(peer, check));
            }
        }
        Merged::Conflict { commit, files, with, unmarked } => {
            let others = if with.is_empty() { String::new() } else { format!(" (by {})", with.join(", ")) };
            let finding = |file: &String| {
                let what = match unmarked.get(file) {
                    None => "the file has both between conflict marks: keep what both were for, and remove the marks"
                        .to_owned(),
                    Some(how) => {
                        // Where checks are hidden its repository has no history.
                        let other = match draft.plan().hidden_checks().next() {
                            None => format!("; `git show {}:{file}` has the other side", commit.onto),
                            Some(_) => String::new(),
                        };
                        format!(
                            "both could not be put together ({how}), and no marks stand in it: write what keeps what both were \
                             for, or remove it; `touch` it if it is right as it lies there{other}"
                        )
                    }
                };
                let text =
                    format!("{file}: changed here and by work that was accepted meanwhile{others}; {what}");
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

/// The commands by which other accepted tasks are checked that have changed a file of this commit, each once, but for those by
/// which this task is checked itself.
fn peers(draft: &Draft<'_>, commit: &Commit) -> Vec<(TaskId, u32)> {
    let plan = draft.plan();
    let command = |check: &Check| {
        let (command, cwd) = check.command()?;
        Some((command.to_owned(), cwd.map(str::to_owned)))
    };
    let own = draft.task_plan();
    let in_own = |check| command(check).map(|command| (own.workspace.clone(), command));
    let mut known: BTreeSet<_> = own.checks().iter().filter_map(in_own).collect();
    let shares = |other: &Commit| {
        // Of a large commit only the first files are on record.
        let is_known = |commit: &Commit| commit.files as usize <= commit.paths.len();
        !is_known(commit) || !is_known(other) || other.paths.iter().any(|path| commit.paths.contains(path))
    };
    let mut found = Vec::new();
    for id in plan.selected_ids().filter(|id| *id != draft.id) {
        let other = draft.state.task(id);
        let committed = other.course.committed.as_deref();
        let merged = committed.filter(|committed| committed.merged && other.status() == Status::Done);
        if !merged.and_then(|merged| merged.commit.as_ref()).is_some_and(shares) {
            continue;
        }
        let task = plan.task(id);
        for (number, check) in (0..).zip(task.checks()) {
            if let Some(command) = command(check)
                && known.insert((task.workspace.clone(), command))
            {
                found.push((id, number));
            }
        }
    }
    found
}

/// Whether the work was good enough, and is being merged.
pub fn has_begun(draft: &Draft<'_>) -> bool {
    merging(draft).is_some()
}

/// A check of merged work came back.
pub fn checked(draft: &mut Draft<'_>) {
    let Some(judging) = draft.task.judging() else {
        return;
    };
    let own = (0..).zip(&judging.checks).map(|(check, result)| (draft.id, check, result));
    let peers = judging.merge.iter().flat_map(|merge| &merge.peers);
    let peers = peers.map(|((peer, check), result)| (*peer, *check, result));
    let mut found = Vec::new();
    for (id, check, result) in own.chain(peers) {
        let Some(result) = result else { return };
        if !result.passed {
            let message = draft.plan().task(id).message_for_worker(check, &result.message);
            let text =
                format!("with work that was accepted meanwhile, which is in the folder now: {message}");
            found.push(Finding::new(Severity::High, text));
        }
    }
    if found.is_empty() { pipeline::accept(draft) } else { send_back(draft, found) }
}

fn accept(draft: &mut Draft<'_>, commit: &Commit) {
    let mut report = draft.view().report(StageKey::MERGE, Verdict::Pass, None);
    let (left_out, removed) = (commit.left_out.join(", "), commit.removed.join(", "));
    if !removed.is_empty() {
        let text = format!("it removes what other accepted work of this run had written: {removed}");
        report.add(Severity::Medium, text);
    }
    if !left_out.is_empty() {
        let text = format!("git ignores {left_out}: that is no part of what was merged");
        report.add(Severity::Info, text);
    }
    if let Some(merge) = merging(draft) {
        let flaky = merge.flaky.iter().filter_map(|(job, result)| Some((draft.check_of(*job)?, result)));
        stages::note_flaky(&mut report, flaky);
    }
    conclude::record(draft, *report);
    conclude::accept(draft, Edge::Pass, None);
}

fn send_back(draft: &mut Draft<'_>, findings: Vec<Finding>) {
    let mut report = draft.view().report(StageKey::MERGE, Verdict::Fail, Some(Cause::Merge));
    report.findings = findings;
    conclude::record(draft, *report);
    conclude::not_good_enough(draft);
}

fn merging<'d>(draft: &'d Draft<'_>) -> Option<&'d Merging> {
    draft.task.judging()?.merge.as_ref()
}
