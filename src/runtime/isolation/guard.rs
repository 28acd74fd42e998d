//! Around each part of judging: protected files are looked at before it starts and after it has come back. What it says
//! while they were not as they must be does not count (semantics, section 22, protected by default).

use std::path::PathBuf;
use std::sync::Arc;

use crate::executor::runner::CommandOwner;
use rules::domain::{Millis, TaskId, Timestamp};
use rules::engine::{Effect, Fact, Job, State, VoidedStage, WorkId};
use rules::judging::protected::named_by_judging;
use rules::mission::Plan;

use super::protection::{Compared, PROGRAMS, SeenFiles};
use crate::runtime::session::effects::{Executor, Message};
use crate::runtime::session::error::RunError;

/// How long is waited for others to put back what is not as it must be, before it is looked again.
const LOOK_AGAIN: Millis = Millis(200);

/// The state that protected files must have while a part of judging is at work.
#[derive(Debug)]
pub struct Guard {
    plan: Arc<Plan>,
    before: SeenFiles,
    /// Whether another task was at work when it began.
    shared: bool,
    /// How often others had begun something.
    begun: u64,
}

/// How often something was begun: in all, and for each task.
#[derive(Debug, Default)]
pub struct Begun {
    all: u64,
    own: std::collections::HashMap<TaskId, u64>,
}

impl Begun {
    pub fn count(&mut self, task: TaskId) {
        self.all += 1;
        *self.own.entry(task).or_default() += 1;
    }

    fn of_others(&self, task: TaskId) -> u64 {
        self.all - self.own.get(&task).copied().unwrap_or_default()
    }
}

impl Executor {
    /// Looks at the protected files before a part of judging starts. What comes back may start at once; else it is done
    /// after a look.
    pub fn guard(&mut self, state: &State, effect: Effect) -> Option<Effect> {
        let work = effect.judged_work();
        let groups = match (&effect, work) {
            // What was updated before it is not its doing.
            (Effect::RunTurn { .. }, _) => vec![PROGRAMS],
            (
                Effect::Ask {
                    not_before: Some(_), ..
                },
                _,
            )
            | (_, None) => return Some(effect),
            (
                Effect::Job {
                    turn,
                    job: Job::Baseline,
                },
                _,
            ) if state.plan.task(turn.task).is_isolated() => {
                self.prepare_baseline(state, turn.task, effect);
                return None;
            }
            (_, Some(work)) => self.protection.groups_of(&state.plan, work.task),
        };
        if let Some(before) = self.protection.untouched(&groups) {
            if let Some(work) = work {
                self.set_guard(&state.plan, work, before);
            }
            return Some(effect);
        }
        let protection = self.protection.clone();
        self.aside(move || {
            let seen = protection.look(groups);
            Message::Looked(Box::new((effect, seen)))
        });
        None
    }

    fn set_guard(&mut self, plan: &Arc<Plan>, work: WorkId, mut before: SeenFiles) {
        let task = work.task;
        before.is_confined = self.confiner.holds(plan, CommandOwner::Task(task));
        let guard = Guard {
            plan: plan.clone(),
            before,
            shared: self.others_at_work(task),
            begun: self.begun.of_others(task),
        };
        self.guards.insert(work, guard);
        self.judgings += 1;
    }

    /// The files were looked at before a part of judging: it starts, waits for what others may yet put back, or is void.
    pub fn looked(
        &mut self,
        state: &State,
        effect: Effect,
        seen: Result<SeenFiles, Vec<String>>,
    ) -> Result<(), RunError> {
        let turns = self.before.values().map(|before| before.by_default.is_confined);
        let guards = self.guards.values().map(|guard| guard.before.is_confined);
        let looked_at = self.looked_at.iter().filter(|task| task.strong_count() > 0);
        let at_work: Vec<bool> = turns.chain(guards).chain(looked_at.map(|_| false)).collect();
        let updated = seen
            .iter()
            .flat_map(|seen| self.protection.updated(seen, &at_work));
        for said in updated {
            self.post(Fact::Warn(format!(
                "{said}, by nothing that works here: this program is held as it is now"
            )));
        }
        let Some(work) = effect.judged_work() else {
            return self.perform_guarded(state, effect);
        };
        let changed = match seen {
            Ok(seen) => {
                let of_others = self.of_no_concern(&state.plan, work.task);
                let compared = (self.protection).compare(&state.plan, work.task, (None, &seen), &of_others);
                if compared.changed.is_empty() {
                    self.set_guard(&state.plan, work, seen);
                    return self.perform_guarded(state, effect);
                }
                compared.changed
            }
            Err(unknown) => unknown,
        };
        if !at_work.is_empty() || self.others_at_work(work.task) {
            self.later(Timestamp::now().plus(LOOK_AGAIN), effect);
            return Ok(());
        }
        self.post(Fact::StageVoided(Box::new(VoidedStage {
            work,
            changed,
            restored: Vec::new(),
            shared: false,
        })));
        Ok(())
    }

    /// Looks at the protected files after a part of judging has come back with a word. What it says is taken at once if
    /// nothing has touched them; else after a look.
    pub fn weigh(&mut self, input: Fact) -> Option<Fact> {
        let guard = input
            .judged_work()
            .and_then(|work| Some((work, self.guards.remove(&work)?)));
        let Some((work, guard)) = guard else {
            return Some(input);
        };
        if self.protection.is_as_seen(&guard.before) {
            return Some(input);
        }
        let task = work.task;
        let shared = guard.shared || self.others_at_work(task) || self.begun.of_others(task) != guard.begun;
        let of_others = self.of_no_concern(&guard.plan, task);
        let protection = self.protection.clone();
        let looked_at = self.looking_at(task);
        self.blocking(move || {
            let _looked_at = looked_at;
            let compared = match protection.look(guard.before.groups()) {
                Ok(now) => protection.compare(&guard.plan, task, (Some(&guard.before), &now), &of_others),
                Err(unknown) => Compared {
                    changed: unknown,
                    ..Compared::default()
                },
            };
            if compared == Compared::default() {
                return vec![input];
            }
            vec![Fact::StageVoided(Box::new(VoidedStage {
                work,
                changed: compared.changed,
                restored: compared.restored,
                shared,
            }))]
        });
        None
    }

    /// The files that other tasks at work are to make, but for those that may judge this task.
    fn of_no_concern(&mut self, plan: &Plan, task: TaskId) -> Vec<PathBuf> {
        let mut of_others = self.made_by_others(task);
        if !of_others.is_empty() {
            let judging = named_by_judging(plan, [task], &self.protection.judges).paths;
            of_others.retain(|path| !judging.contains_key(path));
        }
        of_others
    }

    /// Whether another task's turn or command is at work.
    fn others_at_work(&self, task: TaskId) -> bool {
        let mut commands = self.runner.at_work().filter_map(CommandOwner::task);
        commands.any(|of| of != task) || self.model_turns.keys().any(|turn| turn.task != task)
    }
}
