//! Looks at what the checks of a task say before its work begins, in the folder that it will work in (semantics, section 24).

use std::collections::BTreeMap;

use crate::executor::baseline::BaselineLook;
use crate::executor::error::WorkError;
use rules::domain::{TaskId, TurnId};
use rules::engine::{Effect, Fact, Job, JobEnd, SeenBefore, State};

use super::seen_on::{SeenOn, known};
use crate::runtime::isolation::worktrees::Preparation;
use crate::runtime::session::effects::{Executor, Message};

impl Executor {
    /// Makes the folder of an isolated task before its checks are looked at, and looks at the protected files behind that: what a
    /// folder begins with is nobody's change.
    pub fn prepare_baseline(&mut self, state: &State, task: TaskId, effect: Effect) {
        let protection = self.protection.clone();
        let groups = protection.groups_of(&state.plan, task);
        self.in_own_folder(state, task, move || {
            Message::Looked(Box::new((effect, protection.look(groups))))
        });
    }

    /// Looks what the checks of a task say before its work.
    pub fn take_baseline(&mut self, state: &State, turn: TurnId) {
        let look = BaselineLook {
            commands: self.task_commands(&state.plan, turn.task, turn.attempt),
            turn,
            known: BTreeMap::new(),
            elsewhere: None,
        };
        let preparation = self.preparation(state, turn.task);
        let seen_on = self.seen_on.clone();
        self.beside(async move {
            let (on, checks) = look_from(&preparation, look, &seen_on).await?;
            Ok(Message::Fact(Fact::JobEnded {
                turn,
                job: Job::Baseline,
                end: JobEnd::Baseline { on, checks },
            }))
        });
    }
}

/// Looks, and puts a worktree back to what it began with: on which commit, and what was seen.
async fn look_from(
    preparation: &Preparation,
    mut look: BaselineLook,
    seen_on: &std::sync::Mutex<SeenOn>,
) -> Result<(Option<Box<str>>, Vec<SeenBefore>), WorkError> {
    let (plan, task) = (look.commands.plan.clone(), look.commands.task);
    if !plan.task(task).has_worktree() {
        return Ok((None, look.look(&preparation.commands).await));
    }
    let worktrees = preparation.worktrees.clone();
    let of = plan.clone();
    let (commit, start) = tokio::task::spawn_blocking(move || worktrees.start_of(&of, task)).await??;
    let place = {
        let mut all = crate::locked(seen_on);
        all.on(&commit, plan.task(task).workspace.as_deref())
    };
    let mut seen = place.lock().await;
    look.known = seen.clone();
    let checks = look.look(&preparation.commands).await;
    seen.extend(known(&checks));
    drop(seen);
    let worktrees = preparation.worktrees.clone();
    tokio::task::spawn_blocking(move || worktrees.put_back(task, &start)).await??;
    Ok((Some(commit.into()), checks))
}
