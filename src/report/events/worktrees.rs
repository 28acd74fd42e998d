//! Worktrees under their public names: what an isolated task works in, what it did, what became of it.

use rules::engine::{Commit, Event, JobEnd, Merged, TurnEvent, WorkEvent};

use super::expander::{EventExpander, NamedPayload};
use super::payload::{Payload, payload};

impl EventExpander {
    /// The public event about a worktree; `None` for an event about anything else.
    pub fn worktree_event(&self, event: &Event) -> Option<NamedPayload> {
        let commit =
            |head: Payload, commit: &Commit| payload!(head; "commit": commit.id, "files": commit.files);
        match event {
            Event::Turn(turn, TurnEvent::FilesNoted { .. }) if self.plan.task(turn.task).is_isolated() => {
                let folder = self.plan.workspace_of(turn.task);
                let payload = payload!(self.task(turn.task); "path": folder.to_string_lossy());
                Some(("workspace:created", payload))
            }
            Event::Turn(turn, TurnEvent::Finished(end)) => {
                let done = end.files.as_ref()?.commit.as_ref()?;
                Some(("work:committed", commit(self.turn(turn.to_owned()), done)))
            }
            Event::Work(task, WorkEvent::Ended { end: JobEnd::Merged(merged), .. }) => match merged {
                Merged::Landed(landed) => Some(("work:merged", commit(self.task(*task), landed))),
                Merged::Conflict { files, with, .. } => {
                    Some(("work:conflict", payload!(self.task(*task); files, with)))
                }
                Merged::Candidate(_) | Merged::Refused(_) => None,
            },
            _ => None,
        }
    }
}
