//! Foundation tasks (semantics, section 12): much is built on them, so a little less is better than nothing at all.
//!
//! A task of the mission that three others or more depend on, and whose own file sets no threshold, has its bars lowered
//! by 20 points, never below 40 (or the bar itself, where that is lower), and one more attempt than the settings say. A cap
//! that the task or the command line sets stays the cap. What others hand down, a fixup, and what is asked for from
//! outside has no such relief: what a plan shows before anything runs is all that there is.

use rust_decimal::Decimal;

use super::model::Plan;
use crate::domain::{Bar, BarOrigin, Points, TaskId};

/// The number of tasks that depend on a task and make it a foundation.
const DEPENDENTS: usize = 3;
/// The points by which the bars of a foundation are lower.
const RELIEF: u8 = 20;
/// Points below which no bar is lowered.
const FLOOR: u8 = 40;

/// Marks the foundations of a mission that was just compiled. `names_bar` tells of each task whether it says itself what a
/// score must reach; what a person says with `--eval-threshold` is said of every task.
pub fn mark(plan: &mut Plan, names_bar: &[bool]) {
    if !plan.rules.settings.foundation || plan.rules.settings.eval_threshold.origin == BarOrigin::Flag {
        return;
    }
    for index in 0..plan.tasks.len() {
        // A verification is no work that anything is built on.
        let is_work = plan.tasks[index].route.is_none();
        let is_one = is_work
            && plan.dependents.of(index).len() >= DEPENDENTS
            && !names_bar.get(index).is_some_and(|names| *names);
        if is_one {
            plan.tasks[index].foundation = true;
        }
    }
}

impl Plan {
    /// The bar that work on a task must reach where `bar` holds: the same, or less for a foundation. A bar that
    /// keeps bad work out by measurement is not lowered, for then it would not keep it out any more.
    pub fn relieved(&self, id: TaskId, bar: Bar) -> Bar {
        if !self.task(id).foundation || bar.origin == BarOrigin::Calibration {
            return bar;
        }
        let lowered = (bar.points.value() - Decimal::from(RELIEF)).max(Decimal::from(FLOOR));
        Points::new(lowered)
            .filter(|points| *points < bar.points)
            .map_or(bar, |points| Bar { points, origin: BarOrigin::Foundation })
    }
}
