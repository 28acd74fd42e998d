//! The order of judging one attempt (semantics, section 6): preflight, checks, judge, verification, accept.
//!
//! Each stage either leads to the next at once or asks the world for something and goes on when it comes back.

use crate::domain::{AgentId, Bar, Cause, Finding, Severity, Stage, Step, TaskId, Verdict};
use crate::engine::audit::AfterScan;
use crate::engine::job::Job;
use crate::engine::payload::{CheckResult, StageReport};
use crate::engine::state::State;
use crate::judging::heuristic::named_files;
use crate::mission::eligibility::{excluded, named};
use crate::mission::model::Check;
use crate::mission::{Judge, Plan};

use super::conclude;
use super::draft::Draft;
use super::{ask, breaker, jobs, later_stages, preflight, seats, verification};

/// The bar of a stage, without the relief of a foundation.
pub(super) fn full_bar(plan: &Plan, id: TaskId, stage: Stage) -> Option<Bar> {
    let task = plan.task(id);
    if stage == Stage::Verification {
        return task.verification().map(|verification| verification.bar);
    }
    Some(task.panel().map_or(plan.rules.eval_bar, |panel| panel.bar))
}

/// The attempt finished: judging begins.
pub(super) fn begin(draft: &mut Draft<'_>) {
    if needs_scan(draft) {
        scan(draft, AfterScan::Preflight);
    } else {
        preflight::run(draft);
    }
}

/// Has the files that the task's rules name looked at.
pub(super) fn scan(draft: &mut Draft<'_>, then: AfterScan) {
    let number = draft.task.scans + 1;
    jobs::request(draft, Job::Scan { number, then });
}

/// Whether files that the task names may not be what was seen of them: a command may have written some.
fn is_stale(draft: &Draft<'_>) -> bool {
    let judging = draft.task.judging.as_deref();
    draft.task_plan().names_files() && judging.is_some_and(|judging| judging.stale)
}

/// The deterministic stages passed. What a check writes is part of the work, so files are looked at behind the last one.
fn before_judges(draft: &mut Draft<'_>) {
    if is_stale(draft) {
        scan(draft, AfterScan::Judges);
    } else {
        judge(draft);
    }
}

/// Every stage is content: the work is accepted for the files as they are behind the last command.
pub(super) fn accept(draft: &mut Draft<'_>, grounds: conclude::Accepted) {
    if is_stale(draft) {
        scan(draft, AfterScan::Accept(grounds.on_record()));
    } else {
        conclude::accept(draft, grounds);
    }
}

/// Whether what a stage was shown is not what there is: then its word does not count, and it is asked once more. Where that
/// happened the second time, the message for a person.
pub(super) fn must_be_asked_again(draft: &mut Draft<'_>) -> Option<Result<(), String>> {
    let judging = draft.task.judging.as_deref().filter(|judging| judging.changed)?;
    if judging.is_repeated() {
        let message = "its files changed while it was judged, and again when it was judged once more";
        return Some(Err(message.to_owned()));
    }
    Some(Ok(()))
}

/// Which round of the asked stage this is, since it was asked about the files that are there.
pub(super) fn nth_round(draft: &Draft<'_>, round: u32) -> u32 {
    let judging = draft.task.judging.as_deref();
    let before = judging.filter(|judging| judging.is_repeated());
    round.saturating_sub(before.map_or(0, |judging| judging.rounds_before))
}

/// The files were looked at anew: the stage is asked once more.
fn ask_once_more(draft: &mut Draft<'_>) {
    let Some(judging) = draft
        .task
        .judging
        .as_deref()
        .filter(|judging| judging.is_repeated())
    else {
        return;
    };
    match judging.stage {
        None => judge(draft),
        // Somebody else is asked by now.
        Some(stage) if stage.open => {}
        Some(stage) => match stage.step {
            Some(step) => later_stages::once_more(draft, step, stage),
            None => verification::once_more(draft, stage),
        },
    }
}

/// Only files that the task's rules name are looked at.
fn needs_scan(draft: &Draft<'_>) -> bool {
    let task = draft.task_plan();
    let names_files = |check: &Check| matches!(check, Check::FileExists { .. });
    !task.target_files.is_empty()
        || task.screenshots().next().is_some()
        || (task.route.is_none() && preflight::asks_what_it_said(&draft.task))
        || task.checks().iter().any(names_files)
        || task
            .verification()
            .is_some_and(|v| !named_files(&v.criteria).is_empty())
}

/// The files that the task's rules name were looked at.
pub(super) fn scanned(draft: &mut Draft<'_>, then: AfterScan) {
    match then {
        AfterScan::Preflight => preflight::run(draft),
        // Without its files nobody needs to judge it.
        _ if preflight::rejects_artifacts(draft) => {}
        AfterScan::Judges => judge(draft),
        AfterScan::Repeat => ask_once_more(draft),
        AfterScan::Accept(grounds) => conclude::accept(draft, grounds.into()),
    }
}

pub(super) fn checks(draft: &mut Draft<'_>) {
    let count = draft.task_plan().checks().len();
    if count == 0 {
        return before_judges(draft);
    }
    for check in 0..count {
        let check = u32::try_from(check).expect("the loader limits the checks of a task");
        jobs::request(draft, Job::Check(check));
    }
}

/// A check ended. Once all have, they are weighed together.
pub(super) fn check_finished(draft: &mut Draft<'_>) {
    let judging = draft.task.judging.as_deref();
    let results = judging.map_or_else(Vec::new, |judging| judging.checks.clone());
    if let Some(results) = results.into_iter().collect::<Option<Vec<_>>>() {
        checked(draft, &results);
    }
}

/// All checks are in: all failures are reported, not only the first.
fn checked(draft: &mut Draft<'_>, results: &[CheckResult]) {
    let failed: Vec<Finding> = results
        .iter()
        .filter(|result| !result.passed)
        .map(|result| Finding::new(Severity::High, result.message.clone()))
        .collect();
    if failed.is_empty() {
        conclude::stage(draft, Stage::Checks, Verdict::Pass, None, |_| {});
        before_judges(draft);
    } else {
        conclude::stage(
            draft,
            Stage::Checks,
            Verdict::Fail,
            Some(Cause::Checks),
            |report| report.findings = failed,
        );
        conclude::not_good_enough(draft);
    }
}

/// The deterministic stages passed: who has an opinion?
pub(super) fn judge(draft: &mut Draft<'_>) {
    if draft.task_plan().route.is_some() {
        return verification::begin(draft, conclude::Accepted::Checked);
    }
    // Nobody is asked again about what a person has accepted, not even that person.
    if let Some((stage, step)) = accepted(draft) {
        return go_on_behind(draft, stage, step);
    }
    if let Some(rejections) = breaker::open(draft.state, draft.id) {
        return breaker::not_judged(draft, rejections);
    }
    match draft.plan().judge(draft.id) {
        Some(Judge::Panel(panel)) if !panel.seats.is_empty() => seats::ask_round(draft, &panel.seats),
        Some(Judge::Panel(panel)) if !panel.people.is_empty() => ask_people(draft, &panel.people),
        Some(Judge::Evaluation(Some(agent))) => seats::ask_round(draft, &[*agent]),
        Some(Judge::Panel(_) | Judge::Evaluation(None)) => nobody_may(draft, Stage::Judge),
        Some(Judge::Nobody) => verification::begin(draft, conclude::Accepted::Unreviewed),
        None => verification::begin(draft, conclude::Accepted::Checked),
    }
}

/// The last of the task's judges in whose place a person accepted this attempt, as far as the mission still has it.
fn accepted(draft: &Draft<'_>) -> Option<(Stage, Option<Step>)> {
    let word = draft.task.accepted.as_deref()?;
    let task_plan = draft.task_plan();
    let is_it = |step: &Step| {
        let name = word.name.as_deref();
        step.stage() == word.stage && name.is_none_or(|name| name == task_plan.step_name(*step))
    };
    match word.stage {
        Stage::Judge | Stage::Verification => Some((word.stage, None)),
        _ => Some((word.stage, Some(task_plan.steps().find(is_it)?))),
    }
}

/// What comes behind a stage in whose place a person accepted the work; behind the outcome, all of the judging.
pub(super) fn go_on_behind(draft: &mut Draft<'_>, stage: Stage, step: Option<Step>) {
    let grounds = conclude::Accepted::ByPerson;
    match (stage, step) {
        (Stage::Outcome, _) => begin(draft),
        (Stage::Judge, _) => verification::begin(draft, grounds),
        (Stage::Verification, _) => later_stages::begin(draft, grounds),
        (_, Some(step)) => later_stages::go_on(draft, Some(step), grounds),
        (_, None) => conclude::accept(draft, grounds),
    }
}

/// No agent is asked: the people who were named decide.
pub(super) fn ask_people(draft: &mut Draft<'_>, people: &[AgentId]) {
    let message = format!("to be reviewed by {}", names(draft.plan(), people, "or"));
    conclude::refer(draft, Stage::Judge, Cause::Person, &message);
}

/// Whether anybody is asked whom the options, as they are now, do not want asked (`resume --no-eval`).
pub(super) fn asks_in_vain(state: &State, id: TaskId) -> bool {
    later_stages::asks_in_vain(state, id) || asks_the_panel_in_vain(state, id)
}

/// The same of a panel, an evaluation, or a grader.
fn asks_the_panel_in_vain(state: &State, id: TaskId) -> bool {
    let judging = state.task(id).judging.as_deref();
    let asks = judging.is_some_and(|judging| judging.stage.is_none() && !judging.seats.is_empty());
    let stage = judging.and_then(|judging| judging.stage);
    let grades = stage.is_some_and(|stage| stage.step.is_none() && stage.open && !stage.plain)
        && !state.plan.rules.evaluate;
    grades || asks && matches!(state.plan.judge(id), Some(Judge::Nobody) | None)
}

/// Calls off whom the options do not want asked any more, and goes on without them. Whether there was anybody.
pub(super) fn call_off_in_vain(draft: &mut Draft<'_>) -> bool {
    if later_stages::asks_in_vain(draft.state, draft.id) {
        later_stages::withdraw(draft);
    } else if asks_the_panel_in_vain(draft.state, draft.id) {
        ask::call_off(draft);
        judge(draft);
    } else {
        return false;
    }
    true
}

/// A review that was asked for is missing.
pub(super) fn nobody_may(draft: &mut Draft<'_>, at: Stage) {
    let plan = draft.plan();
    let dependent = excluded(plan, draft.id, named(plan, draft.id));
    let why = match dependent.first() {
        None => "no agent other than its author is able to judge".to_owned(),
        Some((agent, why)) => format!(
            "nobody independent is able to judge: '{}': {why}",
            plan.agent(*agent).name
        ),
    };
    let message = format!("nobody may review this work: {why}");
    conclude::refer(draft, at, Cause::NoReviewer, &message);
}

/// The people who have the last word about work that a panel let pass.
pub(super) fn people(plan: &Plan, id: TaskId) -> &[AgentId] {
    plan.judge(id).map_or(&[], Judge::people)
}

/// Names of agents as a sentence has them: `a, b and c`.
pub(super) fn names(plan: &Plan, agents: &[AgentId], word: &str) -> String {
    let names: Vec<&str> = agents.iter().map(|id| &*plan.agent(*id).name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} {word} {last}", others.join(", ")),
        _ => names.concat(),
    }
}

impl StageReport {
    /// A report without points or findings.
    pub(crate) fn new(
        task: TaskId,
        attempt: u32,
        stage: Stage,
        verdict: Verdict,
        cause: Option<Cause>,
    ) -> Self {
        Self {
            task,
            attempt,
            stage,
            verdict,
            cause,
            points: None,
            dimensions: Vec::new(),
            grades: Vec::new(),
            confidence: None,
            outliers: Vec::new(),
            findings: Vec::new(),
            failure: None,
            by: None,
            indeterminate: false,
            relaxed: false,
            name: None,
            reason: None,
            model: None,
            judge: None,
        }
    }
}
