//! What is looked at of a task before its first attempt, and what each of it is to be then (semantics, section 24).

use crate::domain::{BeforeWork, Digest, StageKey, TaskId};
use crate::mission::model::{Before, Check, TaskType};
use crate::mission::{ListOf, Plan, Requirement, StageJudge, StagePlan, TaskPlan};

use super::heuristic;

/// Where a check stands in its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckPlace {
    /// Among its expectations, by position.
    Check(u32),
    /// Among the commands of its finish gate, by position.
    Finish(u32),
    /// Among its criteria that facts decide, by position.
    Criterion(u32),
    /// A stage of its own or the mission's that is a command.
    Stage(StageKey),
}

/// One check of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub place: CheckPlace,
    /// What it is to be before the work, where the file tells.
    pub declared: Option<Before>,
    /// Which list of tests names it, if one does.
    pub list: Option<ListOf>,
    /// The digest of what it does: equal for two that say the same of the same files.
    pub key: Digest,
    /// What it is, for people.
    pub label: String,
}

impl Item {
    /// Whether it is to fail before the work.
    #[must_use]
    pub fn is_to_be_red(&self) -> bool {
        self.declared == Some(Before::Red) || self.list == Some(ListOf::FailToPass)
    }

    /// Whether it is not there to show that the work was done.
    #[must_use]
    pub fn is_declared_guard(&self) -> bool {
        matches!(self.declared, Some(Before::Green | Before::Any))
    }
}

/// Whether anything is looked at before the work on a task: it does work, which harms nobody when parts of it are done twice, and
/// nobody has switched it off.
#[must_use]
pub fn is_wanted(plan: &Plan, task: TaskId) -> bool {
    let work = plan.task(task);
    let is_on = work.baseline.unwrap_or(plan.rules.settings.baseline);
    is_on && !work.side_effects && !items(work).is_empty()
}

/// Everything that a task is checked by without anybody's opinion, in the order of its stages.
#[must_use]
pub fn items(task: &TaskPlan) -> Vec<Item> {
    if task.kind == TaskType::Verification {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut add = |place, declared, list, key: String, label: String| {
        let key = Digest::of(key.as_bytes());
        all.push(Item {
            place,
            declared,
            list,
            key,
            label,
        });
    };
    for stage in task.pipeline.iter() {
        match stage {
            StagePlan::Finish(gate) => {
                for (at, command) in (0..).zip(&gate.commands) {
                    let (declared, label) = match &command.shows {
                        Requirement::Compilation => {
                            (Some(Before::Green), format!("compilation: {}", command.command))
                        }
                        Requirement::Test(test) => (None, format!("test {test}")),
                        Requirement::Command => (None, format!("command: {}", command.command)),
                    };
                    let declared = match command.list {
                        Some(ListOf::FailToPass) => None,
                        Some(ListOf::PassToPass) => Some(Before::Green),
                        None => declared.or(command.before),
                    };
                    let key = format!("{:?} {}", command.shows, command.command);
                    add(CheckPlace::Finish(at), declared, command.list, key, label);
                }
            }
            StagePlan::Checks(checks) => {
                for (at, check) in (0..).zip(checks) {
                    add(
                        CheckPlace::Check(at),
                        check.before(),
                        None,
                        key_of(check),
                        check.label(),
                    );
                }
            }
            StagePlan::Verification(by) if by.rubric.is_none() => {
                for (at, criterion) in (0..).zip(&by.criteria) {
                    if heuristic::is_about_the_world(criterion) {
                        let key = format!("criterion {criterion}");
                        add(CheckPlace::Criterion(at), by.before, None, key, criterion.clone());
                    }
                }
            }
            StagePlan::Own(own) => {
                if let StageJudge::Command(command) = &own.by {
                    let key = format!("stage {} {command}", own.name);
                    add(
                        CheckPlace::Stage(own.key),
                        own.before,
                        None,
                        key,
                        format!("stage {}: {command}", own.name),
                    );
                }
            }
            _ => {}
        }
    }
    all
}

/// What two checks have in common that say the same: what they run, where, for how long, or what they look for.
fn key_of(check: &Check) -> String {
    match check {
        Check::Command {
            command,
            timeout,
            cwd,
            ..
        } => format!("{command}\n{timeout}\n{cwd:?}"),
        Check::FileExists {
            paths,
            min_bytes,
            contains,
            ..
        } => format!("files {paths:?} {min_bytes:?} {contains:?}"),
        Check::Metric {
            command,
            min,
            max,
            timeout,
            ..
        } => format!("metric {command}\n{timeout}\n{min:?} {max:?}"),
    }
}

/// What a check that stands for accepted work has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Weighed {
    /// What it said before the work.
    pub before: BeforeWork,
    /// Whether it failed only because its program or its folder was not there: that shows nothing.
    pub never_ran: bool,
    /// Whether it passes now.
    pub passes: bool,
    /// Whether it is not there to show that the work was done.
    pub is_declared_guard: bool,
}

impl Weighed {
    /// Whether it shows that the work was done: it failed before, and passes now.
    #[must_use]
    pub fn is_proof(self) -> bool {
        self.before == BeforeWork::Red && !self.never_ran && self.passes
    }
}

/// What stands for accepted work, of which no check has failed: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It has no check.
    Unchecked,
    /// A check that failed before it.
    Proven,
    /// Somebody's judgement.
    Judged,
    /// Checks that are declared to be guards.
    Guards,
    /// Checks of which nobody knows what they said before.
    Unknown,
    /// Checks that were green all along.
    Vacuous,
}

/// What stands for work with these checks. `is_judged`: somebody with an opinion has let it pass; `is_refactoring`: what it does is
/// to keep everything green.
#[must_use]
pub fn standing(checks: &[Weighed], is_judged: bool, is_refactoring: bool) -> Standing {
    if checks.is_empty() {
        Standing::Unchecked
    } else if checks.iter().any(|check| check.is_proof()) {
        Standing::Proven
    } else if is_judged {
        Standing::Judged
    } else if is_refactoring || checks.iter().all(|check| check.is_declared_guard) {
        Standing::Guards
    } else if checks.iter().any(|check| check.before == BeforeWork::Unknown) {
        Standing::Unknown
    } else {
        Standing::Vacuous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: BeforeWork) -> Weighed {
        Weighed {
            before,
            never_ran: false,
            passes: true,
            is_declared_guard: false,
        }
    }

    #[test]
    fn only_what_failed_before_and_passes_now_is_a_proof() {
        use BeforeWork::{Green, Red, Unknown};
        assert!(check(Red).is_proof());
        assert!(!check(Green).is_proof() && !check(Unknown).is_proof());
        let (never_ran, passes) = (true, false);
        assert!(
            !Weighed {
                never_ran,
                ..check(Red)
            }
            .is_proof()
        );
        assert!(!Weighed { passes, ..check(Red) }.is_proof());
    }

    #[test]
    fn what_stands_for_work_is_the_first_that_applies() {
        use BeforeWork::{Green, Red, Unknown};
        let guard = Weighed {
            is_declared_guard: true,
            ..check(Green)
        };
        let no_program = Weighed {
            never_ran: true,
            ..check(Red)
        };
        for (checks, judged, refactoring, expected) in [
            (&[][..], true, true, Standing::Unchecked),
            (&[check(Green), check(Red)], false, false, Standing::Proven),
            (&[guard, check(Red)], true, true, Standing::Proven),
            (&[check(Green)], true, true, Standing::Judged),
            (&[check(Green)], false, true, Standing::Guards),
            (&[guard, guard], false, false, Standing::Guards),
            (&[guard, check(Unknown)], false, false, Standing::Unknown),
            (&[guard, check(Green)], false, false, Standing::Vacuous),
            (&[no_program], false, false, Standing::Vacuous),
        ] {
            assert_eq!(standing(checks, judged, refactoring), expected, "{checks:?}");
        }
    }
}
