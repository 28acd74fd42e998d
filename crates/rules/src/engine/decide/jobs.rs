//! Commands and looks at files that came back (semantics, sections 5, 6, 10, 11): whoever asked for them goes on.

use crate::domain::Timestamp;
use crate::engine::event::Event;
use crate::engine::fact::Fact;
use crate::engine::job::{Job, JobEnd};
use crate::engine::payload::CheckResult;
use crate::engine::state::State;

use super::transaction::Transaction;
use super::{admission, approvals, dependencies, merge, pipeline, request};

/// Decides about the end of a command, or of a look at files.
pub fn ended(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::JobEnded { turn, job, end } = fact else {
        return Vec::new();
    };
    let job = *job;
    let mut draft = Transaction::new(state, turn.task);
    draft.emit_fact(fact);
    match (job, end) {
        (_, JobEnd::Checked(result)) if runs_again(&mut draft, job, result) => {}
        (Job::Artifacts(dependency), JobEnd::Seen { files, .. }) => {
            dependencies::scanned(&mut draft, dependency, files);
        }
        (Job::Baseline, JobEnd::Baseline { .. }) => admission::baseline_ended(&mut draft),
        (Job::Merge(_), JobEnd::Merged(merged)) => merge::ended(&mut draft, merged),
        (Job::PeerCheck(..), JobEnd::Checked(_)) => merge::checked(&mut draft),
        (Job::Check(_), JobEnd::Checked(_)) if merge::has_begun(&draft) => merge::checked(&mut draft),
        (Job::Approver { number, approver }, JobEnd::Approver(said)) => {
            approvals::said(&mut draft, number, approver, said, now);
        }
        (Job::Scan { .. } | Job::Stage(..), JobEnd::Seen { .. })
        | (Job::Finish(_) | Job::Check(_), JobEnd::Checked(_))
        | (Job::Grade(_), JobEnd::Graded(_))
        | (Job::Look(_), JobEnd::Looked(_))
        | (Job::Stage(..), JobEnd::Judged(_)) => pipeline::came_back(&mut draft, job, end),
        // An end that is none of this work.
        _ => return Vec::new(),
    }
    draft.into_events()
}

/// Has a check run again that failed, as often as the mission says. Whether it does.
fn runs_again(draft: &mut Transaction<'_>, job: Job, result: &CheckResult) -> bool {
    let (task, check) = match job {
        Job::Check(check) => (draft.id, check),
        Job::PeerCheck(peer, check) => (peer, check),
        _ => return false,
    };
    let declared = draft.plan().task(task).checks().get(check as usize);
    let again = !result.passed && declared.is_some_and(|check| result.reruns < check.reruns());
    if again {
        request::run(draft, job);
    }
    again
}
