//! What the runtime sees of a turn beside its exit: files that it may not change, files that it should, tool calls
//! (semantics, sections 1 and 6; protected paths).
//!
//! What stands in the files is on record before the turn starts, so whatever happens to the runner meanwhile, the end of
//! the turn is held against it. A turn that was lost, or never came to its work, leaves its record to the next one.

use crate::domain::{
    Cause, FailureMode, Finding, Severity, Stage, StageKey, Status, TaskId, Timestamp, TurnId, Verdict,
};
use crate::engine::effect::open_at;
use crate::engine::event::{Event, RunEvent, TurnEvent};
use crate::engine::fact::Fact;
use crate::engine::job::Job;
use crate::engine::payload::TurnFiles;
use crate::engine::place::JudgingPlace;
use crate::engine::state::{RunPhase, State, TaskState};
use crate::judging::evidence_rules::is_watched;

use super::draft::Draft;
use super::turns::waits_for_turn;
use super::{approvals, conclude};

/// Whether the files of a task are to be noted before its next turn.
pub(in crate::engine) fn must_note(state: &State, id: TaskId) -> bool {
    state.task(id).course.evidence.noted.is_none() && is_watched(&state.plan, id)
}

/// The files were noted: the prompt is next. If they could not be, nobody could tell what the turn did, so there is none.
pub(super) fn noted(state: &State, input: &Fact) -> Vec<Event> {
    let Fact::FilesNoted {
        turn,
        starts,
        shared,
        result,
    } = input
    else {
        return Vec::new();
    };
    let expected = waits_for_turn(state, *turn) && must_note(state, turn.task);
    if !expected || state.phase != RunPhase::Running {
        return Vec::new();
    }
    match result {
        Ok(file) => vec![Event::Turn(
            *turn,
            TurnEvent::FilesNoted {
                file: file.clone(),
                shared: *shared || *starts != state.turns_started,
            },
        )],
        Err(why) => {
            let mut draft = Draft::new(state, turn.task);
            draft.fail(
                FailureMode::Error,
                format!("the agent was not started, because its files cannot be watched: {why}"),
            );
            draft.into_events()
        }
    }
}

/// What a turn did, with whether another one overlapped. The turn itself is the one start that is allowed since.
pub(super) fn with_company(state: &State, turn: TurnId, files: TurnFiles) -> TurnFiles {
    let noted = state.task(turn.task).course.evidence.noted.as_deref();
    let alone = noted.is_some_and(|noted| !noted.shared && state.turns_started <= noted.starts + 1);
    TurnFiles {
        shared: !alone,
        ..files
    }
}

/// How often a part of judging is done again in one judging after protected files were changed and put back, while nobody
/// else worked and while others did.
const REPEATS: [u32; 2] = [1, 3];

/// What a person may do about a check that writes a file which it names.
/// What may be done where the task itself changed such a file. Only the mission can name it: its agent cannot.
pub(super) const BY_TASK: &str =
    "; a task that is meant to change what judges it names the file in `targetFiles`";

pub(super) const BY_ITSELF: &str = "; where a check or judge is to write it, name it in `checksMayWrite`";

/// What a part of judging says does not count. It is done again where the files are as they were, or another task may yet
/// put them back; where its own check changed them, or it happens again and again, the task has failed.
pub(super) fn voided(state: &State, fact: &Fact, now: Timestamp) -> Vec<Event> {
    let Fact::StageVoided(voided) = fact else {
        return Vec::new();
    };
    if let JudgingPlace::Job(_, Job::Approver { number, approver }) = voided.place {
        return approvals::voided(state, voided, (number, approver), now);
    }
    let id = voided.place.task();
    let in_review = |task: &TaskState| task.status() == Status::Review;
    let is_open = open_at(state, voided.place).is_some();
    if !state.tasks.get(id.index()).is_some_and(in_review) || !is_open {
        return Vec::new();
    }
    let mut draft = Draft::new(state, id);
    draft.tell(fact);
    let so_far = draft.task.judging().map_or(0, |judging| judging.voided);
    let did_it = !voided.shared && !voided.changed.is_empty();
    if did_it || so_far > REPEATS[usize::from(voided.shared)] {
        let all: Vec<String> = voided.changed.iter().chain(&voided.restored).cloned().collect();
        protected(&mut draft, &all, if did_it { BY_ITSELF } else { "" });
        return draft.into_events();
    }
    let message = format!(
        "'{}': {} is done again, for its verdict does not count: protected: {}",
        state.plan.task(id).title,
        voided.place.describe(),
        voided.what()
    );
    draft.emit(Event::Run(RunEvent::Warning { message }));
    draft.into_events()
}

/// A protected file is not what it was: the task has failed, whatever else it did, and nothing accepts it.
pub(super) fn protected(draft: &mut Draft<'_>, changes: &[String], hint: &str) {
    let list = changes.join(", ");
    let key = StageKey::Of(Stage::Outcome);
    let mut report = draft.view().report(key, Verdict::Fail, Some(Cause::Protected));
    let finding = |change: &String| Finding::new(Severity::Critical, format!("protected: {change}"));
    report.findings = changes.iter().map(finding).collect();
    conclude::record(draft, *report);
    draft.fail(FailureMode::Protected, format!("protected files: {list}{hint}"));
}
