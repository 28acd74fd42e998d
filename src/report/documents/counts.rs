//! How many tasks are what, as numbers and in words.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::{
    folds::view::{RunView, SeverityCounts},
    screens::text,
};
use rules::{
    domain::{FailureMode, Status},
    engine::{RunPhase, State, TaskState},
    plan::Part,
};

/// How many tasks are what.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// All tasks, those that are not taken among them.
    pub(crate) total: usize,
    /// Tasks that were accepted.
    pub(crate) done: u32,
    /// Tasks that failed for good.
    failed: u32,
    /// Tasks that have not begun.
    pending: usize,
    /// Waiting for a person.
    pub(crate) awaiting: u32,
    /// Being worked on or judged.
    running: u32,
    /// Left out by `--only` or by the verdict of a verification.
    pub(crate) not_taken: u32,
    /// Done: everything that was asked for passed.
    pub(crate) clean: u32,
    /// Done: passed only with a foundation task's relief.
    relaxed: u32,
    /// Done: nobody judged it.
    pub(crate) unreviewed: u32,
    /// Done: a finish gate was forced or no judge could be reached.
    pub(crate) unverified: u32,
    /// Done: accepted though the task failed, for its files are there.
    pub(crate) degraded: u32,
    /// Done: accepted below the bar.
    pub(crate) below_threshold: u32,
    /// Tasks of which judging could not say anything.
    pub(crate) indeterminate: u32,
    /// Tasks that needed more than one attempt.
    reworked: u32,
    /// Failed tasks that failed only because a dependency did.
    pub(crate) skipped: u32,
    /// Tasks whose accepted work did not stand: done again since, open, or failed.
    regressed: u32,
    /// Findings of the tasks, by severity.
    findings: SeverityCounts,
    /// Done ones whose checks were green all along, with nothing else to stand for them; left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) unproven: u32,
    /// Done ones that only checks stand for of which nobody knows what they said before; left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) baseline_unknown: u32,
    /// Failed ones that a fixup made up for; left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    superseded: u32,
    /// Tasks that are not taken because `--only` left them out.
    #[serde(skip)]
    not_selected: usize,
    /// No session lives: nobody works on what is running.
    #[serde(skip)]
    is_interrupted: bool,
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl Counts {
    pub(crate) fn of(state: &State, view: &RunView) -> Self {
        let counts = &state.sums.counts;
        let elsewhere = counts.ended() + counts.awaiting + counts.running;
        Self {
            total: (counts.selected + counts.not_taken) as usize,
            done: counts.done,
            failed: counts.failed,
            pending: counts.selected.saturating_sub(elsewhere) as usize,
            awaiting: counts.awaiting,
            running: counts.running,
            not_taken: counts.not_taken,
            clean: counts.clean,
            relaxed: counts.relaxed,
            unreviewed: counts.unreviewed,
            unverified: counts.unverified,
            degraded: counts.degraded,
            below_threshold: counts.below_threshold,
            indeterminate: counts.indeterminate,
            reworked: counts.reworked,
            skipped: skipped(state),
            regressed: regressed(state),
            findings: view.severities(state),
            unproven: counts.unproven,
            baseline_unknown: counts.baseline_unknown,
            superseded: counts.superseded,
            not_selected: not_selected(state),
            is_interrupted: state.phase == RunPhase::Finished,
        }
    }

    /// Tasks that were accepted below the bar.
    pub(crate) fn below_bar(&self) -> u32 {
        self.below_threshold + self.degraded + self.unverified
    }

    /// `4 of 8 done, 2 failed, 1 under way, 1 pending, 1 waiting, 2 reworked`: what is none is left out.
    pub(crate) fn words(&self) -> String {
        let left = self.not_taken as usize;
        let running = if self.is_interrupted { "interrupted" } else { "under way" };
        let mut text = format!("{} of {} done", self.done, self.total - left);
        for (number, what) in [
            (self.failed.saturating_sub(self.skipped) as usize, "failed"),
            (self.skipped as usize, "skipped"),
            (self.superseded as usize, "superseded"),
            (self.running as usize, running),
            (self.pending, "pending"),
            (self.awaiting as usize, "waiting"),
            (self.reworked as usize, "reworked"),
            (self.regressed as usize, "regressed"),
            (self.not_selected, "not selected"),
            (left.saturating_sub(self.not_selected), "not taken"),
        ] {
            if number > 0 {
                append!(text, ", {number} {what}");
            }
        }
        text
    }

    /// The sentence beside the result of a run with `--only`, whose result is not the whole mission's; `None`
    /// for other runs.
    pub(crate) fn left_out(&self) -> Option<String> {
        let (left_out, all) = (self.not_selected, text::count(self.total, "task"));
        (left_out > 0).then(|| format!("ONLY A PART: {left_out} of {all} left out (--only)"))
    }
}

/// Tasks that the run was told to leave out. A verdict that leaves tasks out makes it no part of a run.
fn not_selected(state: &State) -> usize {
    if state.options.only.is_empty() {
        return 0;
    }
    let ids = state.plan.task_ids();
    ids.filter(|id| state.plan.task(*id).part == Part::NotSelected).count()
}

/// Tasks that failed only because a dependency did.
pub(crate) fn skipped(state: &State) -> u32 {
    // Few runs have a failure, and all tasks are many.
    if state.sums.counts.failed == 0 {
        return 0;
    }
    count(state, |task| has_failed_by(task, FailureMode::Cascade))
}

/// Counts the tasks whose accepted work did not stand, since they last began by a person's word. Verifications
/// among them whose verdict over work that was done again was another one.
fn regressed(state: &State) -> u32 {
    // Without an audit nothing has regressed, and all tasks are many.
    if state.audit.number == 0 {
        return 0;
    }
    count(state, |task| task.course.regressions > 0 || has_failed_by(task, FailureMode::Regressed))
}

fn has_failed_by(task: &TaskState, mode: FailureMode) -> bool {
    task.status() == Status::Failed && task.mode() == Some(mode)
}

fn count(state: &State, wanted: impl Fn(&TaskState) -> bool) -> u32 {
    let tasks = state.plan.task_ids().map(|id| state.task(id));
    let counted = tasks.filter(|task| !task.is_superseded() && wanted(task));
    u32::try_from(counted.count()).unwrap_or(u32::MAX)
}
