//! The order of judging one attempt (semantics, section 6): preflight, checks, judge, verification, accept.
//!
//! Each stage either leads to the next at once or asks the world for something and goes on when it comes back.

use crate::domain::{AgentId, Bar, Cause, Finding, Severity, Stage, Step, TaskId, Verdict};
use crate::engine::audit::AfterScan;
use crate::engine::job::Job;
use crate::engine::payload::{CheckResult, StageReport};
use crate::engine::state::State;
use crate::judging::eligibility::{excluded, named, reviewers, seat_agents};
use crate::judging::heuristic::named_files;
use crate::mission::model::{Adapter, Check, Review};
use crate::mission::{Expectations, Plan, Reviewers};

use super::conclude;
use super::draft::Draft;
use super::{ask, breaker, jobs, later_stages, preflight, seats, verification};

/// What judges an attempt once the deterministic stages have passed (section 3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgedBy {
    /// An `llm_review`.
    Panel(Panel),
    /// One routed reviewer. Empty: it was asked for, and nobody may.
    Evaluation(Vec<AgentId>),
    /// Declared checks alone; nobody was asked for an opinion.
    ChecksOnly,
    /// Nobody: not asked for, nobody eligible, or switched off.
    Nobody,
}

/// Who judges in a panel. Nobody at all: nobody may.
///
/// People are asked last and only about work that is worth their time: first the agents' seats are judged as if there
/// were nobody else. Below the bar the work goes back and no person is bothered; without any verdict the judges are
/// missing, which no person is asked to make up for. What reaches the bar is then put before the people, as an
/// approval: yes accepts it with the panel's score, no sends it back with their reason. One answer decides, however
/// many people are named, because an approval has one id and one answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panel {
    /// The agents, one a seat.
    pub seats: Vec<AgentId>,
    /// The people who were named.
    pub people: Vec<AgentId>,
}

impl Panel {
    fn of(plan: &Plan, reviewers: Vec<AgentId>) -> Self {
        let is_person = |id: &AgentId| plan.agent(*id).spec.adapter == Adapter::Human;
        let (people, seats) = reviewers.into_iter().partition(is_person);
        Self { seats, people }
    }

    /// Whether nobody may review.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seats.is_empty() && self.people.is_empty()
    }
}

/// Who judges a task, once its deterministic stages have passed. Depends on the plan alone (section 3).
#[must_use]
pub fn judged_by(state: &State, id: TaskId) -> JudgedBy {
    judged_by_plan(&state.plan, id)
}

/// Who judges this task by a plan, whichever holds.
pub(super) fn judged_by_plan(plan: &Plan, id: TaskId) -> JudgedBy {
    let task = plan.task(id);
    if task.route.is_some() {
        // A verification has its own judge.
        return JudgedBy::ChecksOnly;
    }
    let expectations = task.expectations.as_deref();
    let asks_for_judge = expectations.is_some_and(|e| e.panel.is_some()) || task.review == Review::Required;
    // Checks and criteria that plain facts decide ask nobody.
    let checked = expectations.is_some() || task.verification.is_some() || !task.scrutiny.stages.is_empty();
    let otherwise = if checked {
        JudgedBy::ChecksOnly
    } else {
        JudgedBy::Nobody
    };
    if !plan.rules.evaluate {
        let withdrawn = asks_for_judge || is_evaluated(plan, id);
        return if withdrawn { JudgedBy::Nobody } else { otherwise };
    }
    if let Some(panel) = expectations.and_then(|e| e.panel.as_ref()) {
        let (named, seats) = match &panel.reviewers {
            Reviewers::Named(agents) => (Some(agents.as_slice()), agents.len()),
            Reviewers::Seats(seats) => (None, *seats as usize),
        };
        let eligible = reviewers(plan, id, named);
        return JudgedBy::Panel(Panel::of(plan, seat_agents(plan, &eligible, seats)));
    }
    let wanted = match task.review {
        Review::None => false,
        Review::Auto => expectations.is_none(),
        Review::Required => true,
    };
    if !wanted {
        return otherwise;
    }
    let first = reviewers(plan, id, None).first().map(|eligible| eligible.agent);
    match (first, task.review) {
        (Some(agent), _) => JudgedBy::Evaluation(vec![agent]),
        (None, Review::Required) => JudgedBy::Evaluation(Vec::new()),
        (None, _) => otherwise,
    }
}

/// Whether somebody would evaluate the task without its asking.
fn is_evaluated(plan: &Plan, id: TaskId) -> bool {
    let task = plan.task(id);
    task.review == Review::Auto && task.expectations.is_none() && !reviewers(plan, id, None).is_empty()
}

/// What a task's score must reach, and who said so; `None` where no score decides about it (sections 2 and 3).
#[must_use]
pub fn bar(state: &State, id: TaskId) -> Option<Bar> {
    let bar = bar_of_plan(&state.plan, id)?;
    Some(state.plan.relieved(id, bar))
}

/// The same by a plan, whichever holds, without the relief of a foundation.
pub(super) fn bar_of_plan(plan: &Plan, id: TaskId) -> Option<Bar> {
    match judged_by_plan(plan, id) {
        JudgedBy::Panel(_) => {
            let expectations = plan.task(id).expectations.as_deref();
            expectations.and_then(|e| e.panel.as_ref()).map(|panel| panel.bar)
        }
        JudgedBy::Evaluation(_) => Some(plan.rules.eval_bar),
        JudgedBy::ChecksOnly | JudgedBy::Nobody => {
            let verification = plan.task(id).verification.as_deref();
            verification.map(|verification| verification.bar)
        }
    }
}

/// The bar of a stage, without the relief of a foundation.
pub(super) fn full_bar(plan: &Plan, id: TaskId, stage: Stage) -> Option<Bar> {
    let task = plan.task(id);
    if stage == Stage::Verification {
        return task.verification.as_deref().map(|verification| verification.bar);
    }
    let panel = task.expectations.as_deref().and_then(|e| e.panel.as_ref());
    Some(panel.map_or(plan.rules.eval_bar, |panel| panel.bar))
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
    let number = draft.task.work.scans + 1;
    jobs::request(draft, Job::Scan { number, then });
}

/// Whether files that the task names may not be what was seen of them: a command may have written some.
fn is_stale(draft: &Draft<'_>) -> bool {
    let judging = draft.task.judging();
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
    let judging = draft.task.judging().filter(|judging| judging.changed)?;
    if judging.is_repeated() {
        let message = "its files changed while it was judged, and again when it was judged once more";
        return Some(Err(message.to_owned()));
    }
    Some(Ok(()))
}

/// Which round of the asked stage this is, since it was asked about the files that are there.
pub(super) fn nth_round(draft: &Draft<'_>, round: u32) -> u32 {
    let judging = draft.task.judging();
    let before = judging.filter(|judging| judging.is_repeated());
    round.saturating_sub(before.map_or(0, |judging| judging.rounds_before))
}

/// The files were looked at anew: the stage is asked once more.
fn ask_once_more(draft: &mut Draft<'_>) {
    let Some(judging) = draft.task.judging().filter(|judging| judging.is_repeated()) else {
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
    let names_files = |e: &Expectations| {
        e.checks
            .iter()
            .any(|check| matches!(check, Check::FileExists { .. }))
    };
    !task.target_files.is_empty()
        || task.scrutiny.screenshots().next().is_some()
        || (task.route.is_none() && preflight::asks_what_it_said(&draft.task))
        || task.expectations.as_deref().is_some_and(names_files)
        || task
            .verification
            .as_deref()
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
    let count = draft
        .task_plan()
        .expectations
        .as_deref()
        .map_or(0, |e| e.checks.len());
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
    let judging = draft.task.judging();
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
    match judged_by(draft.state, draft.id) {
        JudgedBy::Panel(panel) if panel.is_empty() => nobody_may(draft, Stage::Judge),
        JudgedBy::Panel(panel) if panel.seats.is_empty() => ask_people(draft, &panel.people),
        JudgedBy::Evaluation(agents) if agents.is_empty() => nobody_may(draft, Stage::Judge),
        JudgedBy::Panel(Panel { seats: agents, .. }) | JudgedBy::Evaluation(agents) => {
            seats::ask_round(draft, &agents);
        }
        JudgedBy::ChecksOnly => verification::begin(draft, conclude::Accepted::Checked),
        JudgedBy::Nobody => verification::begin(draft, conclude::Accepted::Unreviewed),
    }
}

/// The last of the task's judges in whose place a person accepted this attempt, as far as the mission still has it.
fn accepted(draft: &Draft<'_>) -> Option<(Stage, Option<Step>)> {
    let word = draft.task.attempt.accepted.as_deref()?;
    let scrutiny = &draft.task_plan().scrutiny;
    let is_it = |step: &Step| {
        let name = word.name.as_deref();
        step.stage() == word.stage && name.is_none_or(|name| name == scrutiny.name(*step))
    };
    match word.stage {
        Stage::Judge | Stage::Verification => Some((word.stage, None)),
        _ => Some((word.stage, Some(scrutiny.steps().find(is_it)?))),
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
    let judging = state.task(id).judging();
    let asks = judging.is_some_and(|judging| judging.stage.is_none() && !judging.seats.is_empty());
    let stage = judging.and_then(|judging| judging.stage);
    let grades = stage.is_some_and(|stage| stage.step.is_none() && stage.open && !stage.plain)
        && !state.plan.rules.evaluate;
    grades || asks && matches!(judged_by(state, id), JudgedBy::ChecksOnly | JudgedBy::Nobody)
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
pub(super) fn people(state: &State, id: TaskId) -> Vec<AgentId> {
    match judged_by(state, id) {
        JudgedBy::Panel(panel) => panel.people,
        JudgedBy::Evaluation(_) | JudgedBy::ChecksOnly | JudgedBy::Nobody => Vec::new(),
    }
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
