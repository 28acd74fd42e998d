//! What the runtime sees of a turn beside its exit: files that it may not change, files that it should, tool calls
//! (semantics, sections 1 and 6; protected paths).
//!
//! What stands in the files is on record before the turn starts, so whatever happens to the runner meanwhile, the end of
//! the turn is held against it. A turn that was lost, or never came to its work, leaves its record to the next one.

use crate::domain::{FailureMode, TurnId};
use crate::engine::event::{Event, TurnEvent};
use crate::engine::event_payload::TurnFiles;
use crate::engine::fact::Fact;
use crate::engine::state::{RunPhase, State};
use crate::judging::tests_changed::TouchedTests;

use super::draft::Draft;

/// The files were noted: the prompt is next. If they could not be, nobody could tell what the turn did, so there is none.
pub fn noted(state: &State, input: &Fact) -> Vec<Event> {
    let Fact::FilesNoted { turn, starts, shared, result } = input else {
        return Vec::new();
    };
    let expected = state.waits_for_turn(*turn) && state.must_note(turn.task);
    if !expected || state.phase != RunPhase::Running {
        return Vec::new();
    }
    match result {
        Ok(file) => vec![Event::Turn(
            *turn,
            TurnEvent::FilesNoted { file: file.clone(), shared: *shared || *starts != state.turns_started },
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

/// The changes of a turn, with whether another one overlapped. The turn itself is the one start that is allowed
/// since.
pub fn with_company(state: &State, turn: TurnId, files: TurnFiles) -> TurnFiles {
    let noted = state.task(turn.task).course.evidence.noted.as_deref();
    let isolated = state.plan.task(turn.task).is_isolated();
    let alone =
        isolated || noted.is_some_and(|noted| !noted.shared && state.turns_started <= noted.starts + 1);
    let tests = files.tests.map(|tests| {
        let shared = !isolated && !state.is_alone_since_first(turn.task);
        Box::new(TouchedTests { shared, ..*tests })
    });
    TurnFiles { overlapped: !alone, tests, ..files }
}
