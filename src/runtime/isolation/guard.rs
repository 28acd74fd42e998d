//! Around each part of judging: protected files are looked at before it starts and after it has come back. What it says
//! while they were not as they must be does not count (semantics, section 22, protected by default).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::executor::error::WorkError;
use crate::runtime::work::{
    at_work::{Activity, Presence},
    context::{Undone, WorkContext, blocking},
};
use crate::test_clock::scaled;
use rules::domain::TaskId;
use rules::engine::{Fact, VoidedStage, WorkId};
use rules::judging::protected::named_by_judging;
use rules::plan::Plan;

use super::protection::{Compared, SeenFiles};

/// How long is waited for others to put back what is not as it must be, while none of them ends, before it is looked again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// A part of judging that has begun.
struct Guard {
    plan: Arc<Plan>,
    work: WorkId,
    before: SeenFiles,
    presence: Arc<Presence>,
    /// Whether another task was at work when it began.
    shared: bool,
    /// How often others had begun something.
    begun: u64,
}

/// Does a part of judging, for which mounts hold files or do not: what it says counts where protected files were as they must be.
///
/// # Errors
/// [`Undone::NotNow`] while others at work may yet put back what is not as it must be.
pub async fn guarded(
    context: &WorkContext,
    (plan, work, is_confined): (Arc<Plan>, WorkId, bool),
    judge: impl Future<Output = Result<Fact, WorkError>>,
) -> Result<Fact, Undone> {
    let task = work.task;
    let groups = context.protection.groups_of(&plan, task);
    // It hears of what ends from now on.
    let ended = context.ended.notified();
    let mut before = match context.protection.untouched(&groups) {
        Some(before) => before,
        None => {
            let (looks, of) = (context.clone(), plan.clone());
            let right = blocking(move || looks.right_files(&of, task, groups)).await?;
            let is_alone = context.at_work().is_alone(task);
            match right {
                Ok(before) => before,
                Err(changed) if is_alone => return Ok(voided(work, (changed, Vec::new()), false)),
                Err(_) => {
                    // Whichever comes first: it is looked again.
                    let _ = tokio::time::timeout(scaled(LOOK_AGAIN), ended).await;
                    return Err(Undone::NotNow);
                }
            }
        }
    };
    before.is_confined = is_confined;
    let guard = {
        let mut at_work = context.at_work();
        Guard {
            presence: at_work.enter(task, Activity::Judging, is_confined),
            shared: at_work.others_at_work(task),
            begun: at_work.begun_by_others(task),
            plan,
            work,
            before,
        }
    };
    let fact = judge.await?;
    if fact.judged_work().is_none() || context.protection.is_as_seen(&guard.before) {
        return Ok(fact);
    }
    let context = context.clone();
    Ok(blocking(move || context.weigh(guard, fact)).await?)
}

impl WorkContext {
    /// Looks at protected files. Programs that nobody at work can have changed are held as they are now. Blocks.
    ///
    /// # Errors
    /// What cannot be told, one sentence a thing.
    pub fn look_at_protected(&self, groups: Vec<usize>) -> Result<SeenFiles, Vec<String>> {
        let seen = self.protection.look(groups)?;
        let at_work = self.at_work().confined();
        for said in self.protection.updated(&seen, &at_work) {
            self.post(Fact::Warn(format!(
                "{said}, by nothing that works here: this program is held as it is now"
            )));
        }
        Ok(seen)
    }

    /// Looks whether protected files are as they must be for judging a task. Blocks.
    ///
    /// # Errors
    /// Those that are not, one sentence each.
    fn right_files(&self, plan: &Plan, task: TaskId, groups: Vec<usize>) -> Result<SeenFiles, Vec<String>> {
        let seen = self.look_at_protected(groups)?;
        let of_others = self.of_no_concern(plan, task);
        let compared = self.protection.compare(plan, task, (None, &seen), &of_others);
        if compared.changed.is_empty() { Ok(seen) } else { Err(compared.changed) }
    }

    /// Looks at the protected files after a part of judging has come back with a word, and says what counts. Blocks.
    fn weigh(&self, guard: Guard, word: Fact) -> Fact {
        let task = guard.work.task;
        drop(guard.presence);
        let (shared, _looked_at) = {
            let mut at_work = self.at_work();
            let shared = at_work.others_at_work(task) || at_work.begun_by_others(task) != guard.begun;
            (guard.shared || shared, at_work.enter(task, Activity::Look, false))
        };
        let of_others = self.of_no_concern(&guard.plan, task);
        let compared = match self.protection.look(guard.before.groups()) {
            Ok(now) => {
                let seen = (Some(&guard.before), &now);
                self.protection.compare(&guard.plan, task, seen, &of_others)
            }
            Err(unknown) => Compared { changed: unknown, ..Compared::default() },
        };
        if compared == Compared::default() {
            word
        } else {
            voided(guard.work, (compared.changed, compared.restored), shared)
        }
    }

    /// The files that other tasks at work are to make, but for those that may judge this task.
    fn of_no_concern(&self, plan: &Plan, task: TaskId) -> Vec<PathBuf> {
        let mut of_others = self.at_work().made_by_others(task);
        if !of_others.is_empty() {
            let judging = named_by_judging(plan, [task], &self.protection.judges).paths;
            of_others.retain(|path| !judging.contains_key(path));
        }
        of_others
    }
}

fn voided(work: WorkId, (changed, restored): (Vec<String>, Vec<String>), shared: bool) -> Fact {
    Fact::StageVoided(Box::new(VoidedStage { work, changed, restored, shared }))
}
