//! What the reference model says of tasks that come, go or are mended, and of dependencies that failed.

use std::collections::BTreeSet;

use rules::domain::{FailureMode, Status, TaskId};
use rules::engine::{Event, MissionChange, State, Way, apply};
use rules::mission::model::{CoordinationMiddleware, OnExhausted};
use rules::plan::{Addition, Part, Plan, migrate_plan};

use super::{ReferenceModel, Seen, Standing};

impl ReferenceModel {
    /// What is changed, and what was looked at and lacks something in the changed mission, is looked at anew (section 24).
    pub(super) fn outdated_by(&mut self, change: &MissionChange, state: &State, until: &[Event]) {
        let mut changed = state.clone();
        until.iter().for_each(|event| apply(&mut changed, event));
        for (index, seen) in self.tasks.iter_mut().enumerate() {
            let task = TaskId::from_index(index);
            if change.changed.contains(&task) || seen.before.is_some() && changed.lacks(task) {
                seen.outdate();
            }
        }
    }

    /// Takes in another mission: a task that keeps its title keeps its number, and one that does not hold any
    /// more was withdrawn before.
    pub(super) fn mission_changed(&mut self, state: &State, change: &MissionChange) {
        let mission = change.mission.as_deref();
        let mission = mission.expect("whoever reads a journal puts it in").clone();
        let plan = migrate_plan(&state.plan, mission);
        for (old, new) in state.plan.tasks.iter().zip(plan.tasks.iter()) {
            assert_eq!(old.title, new.title);
        }
        for (old, new) in state.plan.gates.iter().zip(plan.gates.iter()) {
            assert_eq!(old.name, new.name);
        }
        for task in change.removed.iter().chain(&change.changed) {
            let seen = &self.tasks[task.index()];
            assert!(seen.status == Status::Pending && !seen.in_flight, "{task:?} {seen:?}");
        }
        for task in &change.removed {
            if let Some(source) = self.tasks[task.index()].fixup_of.take() {
                self.tasks[source.index()].fixup = None;
            }
        }
        for gate in &change.gates {
            self.gates[gate.index()] = (None, false);
        }
        self.tasks.resize_with(plan.tasks.len(), Seen::default);
        self.gates.resize_with(plan.gates.len(), Default::default);
        self.holds.resize(plan.barriers.len(), (0, Standing::Ahead));
        // A hold that waits for something else now has not been reached.
        let after = |plan: &Plan, index: usize| {
            let hold = plan.barriers.get(index)?;
            Some((hold.kind, hold.after.iter().copied().collect::<BTreeSet<_>>()))
        };
        let tasks = (0..self.tasks.len()).map(TaskId::from_index);
        let settled: Vec<bool> = tasks.map(|id| self.has_ended(id)).collect();
        for (index, held) in self.holds.iter_mut().enumerate() {
            let hold = &plan.barriers[index];
            let ended = |id: &TaskId| settled.get(id.index()).is_some_and(|settled| *settled);
            let stands = hold.part == Part::Selected && hold.after.iter().all(ended);
            let moved = after(&state.plan, index).is_some_and(|old| after(&plan, index) != Some(old));
            if moved || (held.1 == Standing::Reached && !stands) {
                held.1 = Standing::Ahead;
            }
        }
    }

    /// The share that is done against how the one that it does without failed, counted anew (section 11). Another that
    /// failed is decided about by itself.
    pub(super) fn may_do_without(&self, state: &State, task: TaskId, on: TaskId, way: Way) {
        if way != Way::Partial {
            return;
        }
        let needs = state.plan.dependencies.of(task);
        let done = needs.iter().filter(|on| self.is_there(**on));
        let share = done.count() as f64 / needs.len() as f64;
        let least = match self.tasks[on.index()].mode {
            Some(FailureMode::Timeout) => 0.0,
            Some(FailureMode::RateLimit) => 0.3,
            Some(FailureMode::Error) => 0.5,
            Some(FailureMode::Quality | FailureMode::Hollow) => 0.7,
            Some(FailureMode::Cascade) => 0.8,
            mode => panic!("{task:?} goes on without {on:?}: {mode:?}"),
        };
        assert!(share >= least, "{task:?} goes on without {on:?}");
    }

    pub(super) fn dependencies_hold(&self, state: &State, task: TaskId) {
        for on in state.plan.dependencies.of(task) {
            let seen = &self.tasks[task.index()];
            if seen.without.contains_key(on) || seen.goes_on.contains(on) {
                continue;
            }
            assert!(self.is_there(*on), "{task:?} starts before {on:?} is done");
        }
    }

    /// Waves in a row before a task's in which somebody worked and nothing was done, counted from the last one that has ended
    /// (section 17).
    fn waves_in_vain(&self, state: &State, task: TaskId) -> u32 {
        let mut in_vain = 0;
        let mut has_ended = false;
        for wave in (0..state.plan.task(task).wave).rev() {
            let of_wave = |id: &TaskId| state.plan.task(*id).wave == wave && !state.task(*id).not_taken;
            let tasks: Vec<&Seen> =
                state.plan.selected_ids().filter(of_wave).map(|id| &self.tasks[id.index()]).collect();
            if tasks.iter().all(|seen| seen.attempt == 0) {
                continue;
            }
            let is_over = tasks.iter().all(|seen| matches!(seen.status, Status::Done | Status::Failed));
            if tasks.iter().any(|seen| seen.status == Status::Done) || (has_ended && !is_over) {
                break;
            }
            has_ended |= is_over;
            in_vain += u32::from(is_over);
        }
        in_vain
    }

    /// A person is told instead of the orchestrator: there is one, and it would be asked in vain.
    pub(super) fn gets_nowhere(&self, state: &State, task: TaskId, waves: u32) {
        assert!(state.plan.rules.orchestrator.is_some(), "{task:?}");
        assert_eq!(self.waves_in_vain(state, task), waves, "{task:?}");
        assert!(waves >= 3, "{task:?} {waves}");
    }

    /// The orchestrator is asked for another way: where it leads anywhere.
    pub(super) fn may_ask_for_another_way(&self, state: &State, task: TaskId) {
        let is_watched = state.plan.rules.coordination.has(CoordinationMiddleware::ProgressLedger);
        assert!(!is_watched || self.waves_in_vain(state, task) < 3, "{task:?}");
    }

    pub(super) fn failed_for_good(&self, id: TaskId) {
        let seen = &self.tasks[id.index()];
        assert_eq!(seen.status, Status::Failed, "{id:?} {seen:?}");
        assert!(!seen.superseded && self.has_ended(id), "{id:?} {seen:?}");
    }

    /// A task is about to be done and hands work down: what it asked for, once, and only if it is done clean.
    pub(super) fn delegated(&mut self, state: &State, addition: &Addition) {
        let source = addition.source.expect("somebody hands it down");
        let most = state.plan.rules.settings.max_delegations as usize;
        assert!(addition.tasks.len() <= most, "{addition:?}");
        assert!(addition.tasks.iter().all(|added| added.needs.contains(&source)), "{addition:?}");
        for added in &addition.tasks {
            let seen = &self.tasks[added.id.index()];
            assert_eq!(seen.status, Status::Pending, "made twice: {added:?}");
            for waiting in &added.awaited_by {
                let seen = &self.tasks[waiting.index()];
                assert_eq!(seen.status, Status::Pending, "it has begun: {added:?}");
            }
        }
        let seen = &mut self.tasks[source.index()];
        assert_eq!(seen.status, Status::Review, "{addition:?} {seen:?}");
        assert!(!std::mem::replace(&mut seen.delegated, true), "{addition:?}");
    }

    /// A task is about to fail and gets a fixup: at most one, and never a fixup itself.
    pub(super) fn fixup_added(&mut self, state: &State, addition: &Addition) {
        let (Some(source), [fixup]) = (addition.source, addition.tasks.as_slice()) else {
            panic!("{addition:?}");
        };
        let policy = state.plan.task(source).on_exhausted.or(state.plan.rules.on_exhausted);
        assert_eq!(policy, Some(OnExhausted::Fixup), "{addition:?}");
        let seen = self.tasks[source.index()].clone();
        assert_eq!(seen.status, Status::Review, "{addition:?} {seen:?}");
        assert!(seen.fixup.is_none() && seen.fixup_of.is_none(), "{addition:?} {seen:?}");
        assert!(fixup.needs.iter().all(|on| self.is_there(*on)), "{addition:?}");
        self.tasks[source.index()].fixup = Some(fixup.id);
        let mending = &mut self.tasks[fixup.id.index()];
        assert_eq!(mending.status, Status::Pending, "{addition:?}");
        mending.fixup_of = Some(source);
        mending.acted |= seen.acted;
        mending.sent_back = seen.sent_back;
    }
}
