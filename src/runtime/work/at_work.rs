//! Who is at work in a session: whoever judges asks, for what others change meanwhile is not known to be the work's (semantics,
//! section 22).

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use tokio::sync::oneshot;

use crate::executor::program_watch::ProgramWatch;
use crate::executor::runner::{CommandOwner, Runner};
use rules::domain::{Millis, TaskId, TurnId};
use rules::judging::protected::own_targets;
use rules::plan::Plan;

/// What is done for a task as long as its presence lives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Activity {
    /// A turn that may write files.
    Turn,
    /// A part of judging.
    Judging,
    /// The files of work that has ended are looked at.
    Look,
}

/// A task that is at work.
#[derive(Debug)]
pub struct Presence {
    task: TaskId,
    activity: Activity,
    /// Whether mounts hold files for it.
    is_confined: bool,
}

/// All who are at work.
#[derive(Default)]
pub struct AtWork {
    /// The commands at work.
    pub runner: Runner,
    /// The programs at work that presets read.
    pub programs: ProgramWatch,
    /// Turns that have no process. Each can be told how long it was silent, which ends it; where its sender is dropped, nobody wants
    /// to hear of its end.
    pub model_turns: HashMap<TurnId, oneshot::Sender<Millis>>,
    present: Vec<Weak<Presence>>,
    /// How many parts of judging were ever begun.
    pub judgings: u64,
    /// How many commands were begun: by each task, and by all.
    begun: (HashMap<TaskId, u64>, u64),
    /// The plan by which the last command or turn was started.
    pub newest_plan: Option<Arc<Plan>>,
}

impl AtWork {
    /// As long as what comes back lives, the task is at work.
    pub fn enter(&mut self, task: TaskId, activity: Activity, is_confined: bool) -> Arc<Presence> {
        let presence = Arc::new(Presence { task, activity, is_confined });
        self.judgings += u64::from(activity == Activity::Judging);
        self.present.retain(|present| present.strong_count() > 0);
        self.present.push(Arc::downgrade(&presence));
        presence
    }

    fn present(&self) -> impl Iterator<Item = Arc<Presence>> {
        self.present.iter().filter_map(Weak::upgrade)
    }

    /// Whether mounts hold files for each who is at work.
    pub fn confined(&self) -> Vec<bool> {
        self.present().map(|present| present.is_confined).collect()
    }

    /// Whether any part of judging is at work.
    pub fn is_judging(&self) -> bool {
        self.present().any(|present| present.activity == Activity::Judging)
    }

    /// Notes that a task begins a command.
    pub fn begins(&mut self, task: TaskId) {
        *self.begun.0.entry(task).or_default() += 1;
        self.begun.1 += 1;
    }

    /// How many commands other tasks have begun.
    pub fn begun_by_others(&self, task: TaskId) -> u64 {
        self.begun.1 - self.begun.0.get(&task).copied().unwrap_or_default()
    }

    /// Whether another task's turn or command is at work.
    pub fn others_at_work(&self, task: TaskId) -> bool {
        let mut commands = self.runner.at_work().filter_map(CommandOwner::task);
        commands.any(|of| of != task) || self.model_turns.keys().any(|turn| turn.task != task)
    }

    /// Whether nobody is at work who could change a file that a part of judging of this task rests on.
    pub fn is_alone(&self, task: TaskId) -> bool {
        self.present().next().is_none() && !self.others_at_work(task)
    }

    /// The files that others at work are to make, and those that one that has just ended made: these are not on record yet.
    pub fn made_by_others(&self, task: TaskId) -> Vec<PathBuf> {
        let Some(plan) = &self.newest_plan else {
            return Vec::new();
        };
        let working = self.present().filter(|present| present.activity != Activity::Judging);
        let others = working.map(|working| working.task);
        // Delegated work is in no plan but those of the time since.
        let others = others.filter(|other| *other != task && other.index() < plan.tasks.len());
        others.flat_map(|other| own_targets(plan, other)).collect()
    }
}
