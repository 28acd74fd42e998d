//! Worktrees under their public names: what an isolated task works in, what it did, what became of it.

use crate::engine::{Commit, Event, JobEnd, Merged, TurnEvent, WorkEvent};

use super::expander::{EventExpander, Named};
use super::names::Meaning;
use super::payload::Payload;

/// Worktrees, commits, merges.
pub(super) const WORKTREES: &[Meaning] = &[
    (
        "workspace:created",
        "The worktree of an isolated task is there, on what was accepted so far.",
    ),
    (
        "work:committed",
        "What an isolated task did in a turn is a commit; `files` counts what differs from what it began with.",
    ),
    (
        "work:merged",
        "The work of an isolated task is part of what was accepted.",
    ),
    (
        "work:conflict",
        "Work that was accepted meanwhile changed the same files: both are in the worktree, with marks.",
    ),
];

impl EventExpander {
    /// What an event says of a worktree.
    pub(super) fn worktree_event(&self, event: &Event) -> Option<Named> {
        let commit = |payload: Payload, commit: &Commit| {
            payload.with("commit", &*commit.id).with("files", commit.files)
        };
        match event {
            Event::Turn(turn, TurnEvent::FilesNoted { .. }) if self.plan.task(turn.task).is_isolated() => {
                let folder = self.plan.workspace_of(turn.task);
                let told = self.task(turn.task).with("path", folder.to_string_lossy());
                Some(("workspace:created", told))
            }
            Event::Turn(
                turn,
                TurnEvent::Finished {
                    files: Some(files), ..
                },
            ) => {
                let done = files.commit.as_ref()?;
                Some(("work:committed", commit(self.turn(turn.to_owned()), done)))
            }
            Event::Work(
                task,
                WorkEvent::Ended {
                    end: JobEnd::Merged(merged),
                    ..
                },
            ) => match merged {
                Merged::Landed(landed) => Some(("work:merged", commit(self.task(*task), landed))),
                Merged::Conflict { files, with, .. } => {
                    let told = self.task(*task).with("files", files.as_slice());
                    Some(("work:conflict", told.with("with", with.as_slice())))
                }
                Merged::Candidate(_) | Merged::Refused(_) => None,
            },
            _ => None,
        }
    }
}
