//! Looks at what the checks of a task say before its work begins, in the folder that it will work in (semantics, section 24).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::domain::{BeforeWork, Digest, TurnId};
use crate::engine::{Baseline, Fact, Job, JobEnd, SeenBefore, State};
use crate::executor::baseline::BaselineLook;
use crate::executor::error::WorkError;

use super::effects::{Executor, Message};
use super::worktrees::Preparation;

/// What checks say on a commit that nobody has worked on, by that commit and the folder in it. Whoever looks holds what lies there, so
/// that nobody looks beside.
#[derive(Debug, Default)]
pub(super) struct SeenOn(HashMap<(Box<str>, Option<Box<str>>), Arc<Mutex<BTreeMap<Digest, SeenBefore>>>>);

impl SeenOn {
    /// What is on record.
    pub fn of(state: &State) -> Self {
        let mut all = Self::default();
        for (id, task) in state.plan.every_task_id().zip(&state.tasks) {
            if let Baseline::Taken {
                on: Some(commit),
                checks,
            } = &task.baseline
            {
                let place = (commit.clone(), state.plan.task(id).workspace.clone());
                let seen = all.0.entry(place).or_default();
                if let Some(seen) = Arc::get_mut(seen) {
                    seen.get_mut().extend(known(checks));
                }
            }
        }
        all
    }

    fn on(&mut self, commit: &str, workspace: Option<&Box<str>>) -> Arc<Mutex<BTreeMap<Digest, SeenBefore>>> {
        self.0
            .entry((commit.into(), workspace.cloned()))
            .or_default()
            .clone()
    }
}

/// What could be told.
fn known(checks: &[SeenBefore]) -> impl Iterator<Item = (Digest, SeenBefore)> {
    let known = checks.iter().filter(|seen| seen.before != BeforeWork::Unknown);
    known.map(|seen| (seen.key, seen.clone()))
}

impl Executor {
    /// Makes the folder of a task, and looks what its checks say there.
    pub(super) fn take_baseline(&mut self, state: &State, turn: TurnId) {
        let task = turn.task;
        let look = BaselineLook {
            commands: self.task_commands(&state.plan, task, turn.attempt),
            turn,
            known: BTreeMap::new(),
        };
        let preparation = self.preparation(state, task);
        let (known, protection) = (state.committed(task), self.protection.clone());
        let (seen_on, sender) = (self.seen_on.clone(), self.sender.clone());
        let is_isolated = state.plan.task(task).is_isolated();
        let work = tokio::spawn(async move {
            let seen = async {
                if is_isolated && preparation.for_turn(&known).await? {
                    tokio::task::spawn_blocking(move || protection.take_folder(task)).await?;
                }
                look_from(&preparation, look, &seen_on).await
            };
            let _ = sender.send(match seen.await {
                Err(why) => Message::Broken(why),
                Ok((on, checks)) => Message::Fact(Fact::JobEnded {
                    turn,
                    job: Job::Baseline,
                    end: JobEnd::Baseline { on, checks },
                }),
            });
        });
        self.keep_track(work.abort_handle());
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
        let mut all = seen_on.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        all.on(&commit, plan.task(task).workspace.as_ref())
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
