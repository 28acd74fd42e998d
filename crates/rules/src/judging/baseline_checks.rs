//! What is looked at of a task before its first attempt, what each of it is to be then, and whether that is a proof (semantics,
//! section 24).

use crate::domain::{BeforeWork, Digest, StageKey, TaskId};
use crate::mission::model::{BeforeRule, Check, TaskType};
use crate::plan::{Extent, FinishCommand, ListOf, Plan, Requirement, StageJudge, StagePlan, TaskPlan};

use super::heuristic;

/// Where a check stands in its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CheckPlace {
    /// An expectation of the task, by position.
    Check(u32),
    /// Among the commands of its finish gate, by position.
    Finish(u32),
    /// A criterion of the task that facts decide, by position.
    Criterion(u32),
    /// A stage of the task's own or the mission's that is a command.
    Stage(StageKey),
}

/// One check of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineCheck {
    pub place: CheckPlace,
    /// The result before the work that the file declares; `None` where it declares none.
    pub declared: Option<BeforeRule>,
    /// The list of tests that names the check; `None` where none does.
    pub list: Option<ListOf>,
    /// Whether the check guards whatever the file says: it asks whether the work compiles.
    pub guards_by_nature: bool,
    /// The digest of what it does: equal for two that say the same of the same files.
    pub key: Digest,
    /// Whether the check names a variable that says which task it is for: another task's says something else.
    pub is_of_its_task: bool,
    /// The name of the check in places that workers may read.
    pub label: String,
}

impl BaselineCheck {
    /// Whether the check is to fail before the work.
    pub fn is_to_be_red(&self) -> bool {
        self.declared == Some(BeforeRule::Red) || self.list == Some(ListOf::FailToPass)
    }

    /// Whether the check is not there to show that the work was done.
    pub fn is_declared_guard(&self) -> bool {
        self.guards_by_nature || matches!(self.declared, Some(BeforeRule::Green | BeforeRule::Any))
    }
}

/// How many checks a message names.
pub const MOST_NAMED: usize = 5;

/// The labels of checks, as a sentence has them.
pub fn named(items: &[BaselineCheck]) -> String {
    let first = items.iter().take(MOST_NAMED);
    let mut names: Vec<String> = first.map(|item| format!("`{}`", item.label)).collect();
    if items.len() > MOST_NAMED {
        names.push(format!("{} more", items.len() - MOST_NAMED));
    }
    names.join(", ")
}

/// Checks that are to fail before the work and pass. Of `failToPass` one that does not pass is enough.
pub fn wrongly_green(
    all: &[BaselineCheck],
    before: impl Fn(&BaselineCheck) -> BeforeWork,
) -> Vec<BaselineCheck> {
    let is_green = |item: &&BaselineCheck| before(item) == BeforeWork::Green;
    let is_of_list = |item: &&BaselineCheck| item.list == Some(ListOf::FailToPass);
    let all_pass = all.iter().filter(is_of_list).all(|item| is_green(&item));
    let is_wrong = |item: &&BaselineCheck| item.is_to_be_red() && (!is_of_list(item) || all_pass);
    all.iter().filter(is_green).filter(is_wrong).cloned().collect()
}

/// Whether anything is looked at before the work on a task: it does work, which harms nobody when parts of it are done twice, and
/// nobody has switched it off.
pub fn is_wanted(plan: &Plan, task: TaskId) -> bool {
    let work = plan.task(task);
    let is_on = work.baseline.unwrap_or(plan.rules.settings.baseline);
    is_on && !work.side_effects && plan.rules.extent != Extent::Judging && each(work).next().is_some()
}

/// Everything that a task is checked by without anybody's opinion, in the order of its stages.
pub fn items(task: &TaskPlan) -> Vec<BaselineCheck> {
    each(task).collect()
}

/// The checks of a task, made one after the other: a caller that only asks whether there is one of a kind makes
/// no more of them.
pub(super) fn each(task: &TaskPlan) -> impl Iterator<Item = BaselineCheck> {
    let stages = match task.kind {
        TaskType::Verification => &[],
        _ => &task.pipeline[..],
    };
    stages.iter().flat_map(items_of)
}

fn item(place: CheckPlace, declared: Option<BeforeRule>, key: &str, label: String) -> BaselineCheck {
    BaselineCheck {
        place,
        declared,
        list: None,
        guards_by_nature: false,
        key: Digest::of(key.as_bytes()),
        is_of_its_task: key.contains("QUORUM_"),
        label,
    }
}

fn items_of(stage: &StagePlan) -> Vec<BaselineCheck> {
    match stage {
        StagePlan::Finish(gate) => (0..).zip(&gate.commands).map(required).collect(),
        StagePlan::Checks(checks) => {
            let all = (0..).zip(checks);
            all.map(|(at, check)| {
                item(CheckPlace::Check(at), check.before(), &key_of(check), check.label_for_worker())
            })
            .collect()
        }
        StagePlan::Verification(by) if by.rubric.is_none() => {
            let all = (0..).zip(&by.criteria);
            let facts = all.filter(|(_, criterion)| heuristic::is_about_the_world(criterion));
            facts
                .map(|(at, criterion)| {
                    let key = format!("criterion {criterion}");
                    item(CheckPlace::Criterion(at), by.before, &key, criterion.clone())
                })
                .collect()
        }
        StagePlan::Own(own) => match &own.by {
            StageJudge::Command(command) => {
                let label = format!("stage {}: {command}", own.name);
                vec![item(CheckPlace::Stage(own.key), own.before, &label, label.clone())]
            }
            StageJudge::Agent { .. } => Vec::new(),
        },
        StagePlan::Preflight | StagePlan::Judge(_) | StagePlan::Verification(_) => Vec::new(),
        StagePlan::RedTeam(_) | StagePlan::Vision(_) => Vec::new(),
    }
}

/// A command of a finish gate.
fn required((at, command): (u32, &FinishCommand)) -> BaselineCheck {
    let label = match &command.shows {
        Requirement::Compilation => format!("compilation: {}", command.command),
        Requirement::Test(test) => format!("test {test}"),
        Requirement::Command => format!("command: {}", command.command),
    };
    let declared = match command.list {
        Some(ListOf::FailToPass) => None,
        Some(ListOf::PassToPass) => Some(BeforeRule::Green),
        None => command.before,
    };
    let key = format!("{:?} {}", command.shows, command.command);
    BaselineCheck {
        list: command.list,
        guards_by_nature: command.shows == Requirement::Compilation,
        ..item(CheckPlace::Finish(at), declared, &key, label)
    }
}

/// The key that two equal checks share: what they run, where, for how long, how often, or what they look for.
fn key_of(check: &Check) -> String {
    // A hidden one sees other files.
    let hidden = if check.is_hidden() { "hidden " } else { "" };
    let what = match check {
        Check::Command { command, timeout, cwd, .. } => format!("{command}\n{timeout}\n{cwd:?}"),
        Check::FileExists { paths, min_bytes, contains, .. } => {
            format!("files {paths:?} {min_bytes:?} {contains:?}")
        }
        Check::Metric { command, min, max, timeout, .. } => {
            format!("metric {command}\n{timeout}\n{min:?} {max:?}")
        }
    };
    match check.reruns() {
        0 => format!("{hidden}{what}"),
        reruns => format!("{hidden}{what}\n{reruns} reruns"),
    }
}

/// The results of a check that stands for accepted work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weighed {
    /// The result before the work.
    pub before: BeforeWork,
    /// Whether the check failed only because its program or its folder was not there: that shows nothing.
    pub never_ran: bool,
    /// Whether tests that the work brings fail without it, by this check, which passed before; or pass without it. `None` where
    /// nobody knows.
    pub new_tests_fail: Option<bool>,
    /// Whether the check passes now.
    pub passes: bool,
    /// Whether the check is not there to show that the work was done.
    pub is_declared_guard: bool,
    /// Whether nothing is held against the work by it.
    pub is_left_out: bool,
}

impl Weighed {
    /// Whether the check shows that the work was done: it failed before, or does with the tests of the work and
    /// without the rest of it, and passes now. What tests alone make pass shows nothing.
    pub fn is_proof(self) -> bool {
        let has_failed = match self.new_tests_fail {
            Some(false) => false,
            Some(true) | None => {
                self.before == BeforeWork::Red && !self.never_ran || self.is_proven_by_new_tests()
            }
        };
        has_failed && self.passes && !self.is_left_out
    }

    /// The reason why the check shows that the work was done, as outputs name it; `None` where it does not show
    /// that.
    pub fn proven_by(self) -> Option<&'static str> {
        match (self.is_proof(), self.is_proven_by_new_tests()) {
            (false, _) => None,
            (true, false) => Some("baseline"),
            (true, true) => Some("new-tests"),
        }
    }

    /// Whether tests that the work brings are what shows that it was done.
    pub fn is_proven_by_new_tests(self) -> bool {
        self.before == BeforeWork::Green
            && self.new_tests_fail == Some(true)
            && self.passes
            && !self.is_left_out
    }
}

/// The proof of accepted work, of which no check has failed: the first that applies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ProofOf {
    /// The work has no check.
    Unchecked,
    /// A check that failed before it.
    Proven,
    /// The judgement of somebody with an opinion.
    Judged,
    /// Checks that are declared to be guards.
    Guards,
    /// Checks of which nobody knows what they said before.
    Unknown,
    /// Checks that were green all along.
    Vacuous,
}

/// The proof of work with these checks. `is_judged`: somebody with an opinion has let it pass;
/// `is_refactoring`: the work is to keep everything green.
pub fn proof_of(checks: &[Weighed], is_judged: bool, is_refactoring: bool) -> ProofOf {
    if checks.is_empty() {
        ProofOf::Unchecked
    } else if checks.iter().any(|check| check.is_proof()) {
        ProofOf::Proven
    } else if is_judged {
        ProofOf::Judged
    } else if is_refactoring || checks.iter().all(|check| check.is_declared_guard) {
        ProofOf::Guards
    } else if checks.iter().any(|check| check.before == BeforeWork::Unknown) {
        ProofOf::Unknown
    } else {
        ProofOf::Vacuous
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: BeforeWork) -> Weighed {
        Weighed {
            before,
            never_ran: false,
            new_tests_fail: None,
            passes: true,
            is_declared_guard: false,
            is_left_out: false,
        }
    }

    #[test]
    fn only_what_failed_before_and_passes_now_is_a_proof() {
        use BeforeWork::{Green, Red, Unknown};
        assert!(check(Red).is_proof());
        assert!(!check(Green).is_proof() && !check(Unknown).is_proof());
        let (never_ran, passes) = (true, false);
        assert!(!Weighed { never_ran, ..check(Red) }.is_proof());
        assert!(!Weighed { passes, ..check(Red) }.is_proof());
    }

    #[test]
    fn what_stands_for_work_is_the_first_that_applies() {
        use BeforeWork::{Green, Red, Unknown};
        let guard = Weighed { is_declared_guard: true, ..check(Green) };
        let no_program = Weighed { never_ran: true, ..check(Red) };
        for (checks, judged, refactoring, expected) in [
            (&[][..], true, true, ProofOf::Unchecked),
            (&[check(Green), check(Red)], false, false, ProofOf::Proven),
            (&[guard, check(Red)], true, true, ProofOf::Proven),
            (&[check(Green)], true, true, ProofOf::Judged),
            (&[check(Green)], false, true, ProofOf::Guards),
            (&[guard, guard], false, false, ProofOf::Guards),
            (&[guard, check(Unknown)], false, false, ProofOf::Unknown),
            (&[guard, check(Green)], false, false, ProofOf::Vacuous),
            (&[no_program], false, false, ProofOf::Vacuous),
        ] {
            assert_eq!(proof_of(checks, judged, refactoring), expected, "{checks:?}");
        }
    }
}
