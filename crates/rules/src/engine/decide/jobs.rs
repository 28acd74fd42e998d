//! Commands and looks at files that came back (semantics, sections 5, 6, 10, 11): whoever asked for them goes on. What came
//! back does not count where something that judges was changed meanwhile.

use crate::domain::{Status, Timestamp};
use crate::engine::event::{Concern, Event, RunEvent};
use crate::engine::event_payload::CheckResult;
use crate::engine::fact::Fact;
use crate::engine::job::{Job, JobEnd};
use crate::engine::state::{State, TaskState};
use crate::engine::voided::VoidedStage;
use crate::engine::work::id::TaskWork;

use super::draft::Draft;
use super::{after_baseline, approvals, conclude, dependencies, merge, outgoing, pipeline};

/// Decides about the end of a command, or of a look at files.
pub fn ended(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::JobEnded { turn, job, end } = fact else {
        return Vec::new();
    };
    let job = *job;
    let mut draft = Draft::new(state, turn.task);
    fact.as_event().into_iter().for_each(|event| draft.emit(event));
    match (job, end) {
        (_, JobEnd::Checked(result)) if runs_again(&mut draft, job, result) => {}
        (Job::Artifacts(dependency), JobEnd::Seen { files, .. }) => {
            dependencies::scanned(&mut draft, dependency, files);
        }
        (Job::Baseline, JobEnd::Baseline { .. }) => after_baseline::ended(&mut draft),
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
fn runs_again(draft: &mut Draft<'_>, job: Job, result: &CheckResult) -> bool {
    let declared = draft.check_of(job);
    let again = !result.passed && declared.is_some_and(|check| result.reruns < check.reruns());
    if again {
        outgoing::run(draft, job);
    }
    again
}

/// How often a part of judging is done again in one judging after protected files were changed and put back, while nobody
/// else worked and while others did.
const REPEATS: [u32; 2] = [1, 3];

/// Throws away the result of a part of judging. The part is done again where the files are as they were, or
/// another task may yet put them back; where its own check changed them, or it happens again and again, the
/// task has failed.
pub fn voided(state: &State, voided: &VoidedStage, now: Timestamp) -> Vec<Event> {
    if let TaskWork::Job(.., Job::Approver { number, approver }) = voided.work.work {
        return approvals::voided(state, voided, (number, approver), now);
    }
    if let TaskWork::Job(.., Job::Baseline) = voided.work.work {
        return after_baseline::voided(state, voided);
    }
    let id = voided.work.task;
    let in_review = |task: &TaskState| task.status() == Status::Review;
    if !state.known(id).is_some_and(in_review) || !state.is_out(voided.work) {
        return Vec::new();
    }
    let mut draft = Draft::new(state, id);
    draft.emit(Event::voided(voided.clone()));
    let so_far = draft.task.judging().map_or(0, |judging| judging.voided);
    if voided.did_it() || so_far > REPEATS[usize::from(voided.shared)] {
        let all: Vec<String> = voided.changed.iter().chain(&voided.restored).cloned().collect();
        let hint = if voided.did_it() { conclude::BY_ITSELF } else { "" };
        conclude::protected(&mut draft, &all, hint);
        return draft.into_events();
    }
    let message = format!(
        "'{}': {} is done again, for its verdict does not count: protected: {}",
        state.plan.title(id),
        voided.work.describe(),
        voided.what()
    );
    draft.emit(Event::Run(RunEvent::Warning(Concern::Notice, message)));
    draft.into_events()
}
