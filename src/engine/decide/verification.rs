//! The verification stage: the task's criteria, graded one by one (semantics, sections 6.6 and 10).
//!
//! The engine counts rounds here and knows of no grader: whoever grades, its grades come back as one input, and what
//! they mean is decided in `judging::verification`. A grader that fails never costs the worker an attempt.

use crate::domain::{
    Advice, AgentId, Cause, CriterionGrade, Finding, Points, Purpose, RubricReply, Severity, Stage, TaskId,
    Verdict,
};
use crate::engine::audit::AfterScan;
use crate::engine::event::{Event, TaskEvent};
use crate::engine::job::Job;
use crate::engine::payload::Grounds;
use crate::engine::policy::{WorkKind, policy};
use crate::engine::state::OpenStage;
use crate::judging::eligibility::{grader, keeps_from_cutting};
use crate::judging::verification::{Decision, decide};
use crate::judging::{prior, probes, rubric};
use crate::mission::Plan;
use crate::mission::model::OnRefer;

use super::ask;
use super::conclude::{self, Accepted};
use super::draft::Draft;
use super::jobs;
use super::later_stages;
use super::prior::{carry_on, heard_before, open_points, prior_points};
use super::routes;
use super::seats::fell_back;
use super::stages;

/// The stages before are content: on to the criteria, where the task has some, else to acceptance.
pub(super) fn begin(draft: &mut Draft<'_>, grounds: Accepted) {
    let Some(verification) = draft.task_plan().verification.as_deref() else {
        return later_stages::begin(draft, grounds);
    };
    if verification.rubric.is_some() && !draft.plan().rules.evaluate {
        // No judge of any kind is called, and nobody else grades by a rubric.
        return later_stages::begin(draft, Accepted::Unreviewed);
    }
    ask(draft, 1, grounds.on_record());
}

/// Asks whoever grades: plain facts, or the first who may judge the task.
fn ask(draft: &mut Draft<'_>, round: u32, grounds: Grounds) {
    let judge = grader(draft.plan(), draft.id);
    if judge.is_none() && !grades_by_facts(draft.plan(), draft.id) {
        return stages::nobody_may(draft, Stage::Verification);
    }
    let decomposer = decomposer(draft);
    if let Some(why) = decomposer.and_then(|agent| keeps_from_cutting(draft.plan(), draft.id, agent)) {
        return nobody_may_cut(draft, decomposer, &why);
    }
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageOpened {
            step: None,
            round,
            plain: judge.is_none(),
            grounds,
        },
    ));
    match (judge, decomposer) {
        (Some(_), Some(agent)) => ask::ask(draft, Purpose::Decompose { round }, agent),
        (Some(judge), None) => ask::ask(draft, Purpose::Grade { round }, judge),
        (None, _) => jobs::request(draft, Job::Grade(round)),
    }
}

/// Who is to cut the criteria of a task into probes first.
fn decomposer(draft: &Draft<'_>) -> Option<AgentId> {
    let verification = draft.task_plan().verification.as_deref()?;
    let is_open = draft.task.course.probes.is_empty() && !draft.task_plan().acceptance.is_empty();
    verification.decomposer.filter(|_| is_open)
}

/// Whoever is to cut the criteria is not independent of the work: a review that was asked for is missing.
fn nobody_may_cut(draft: &mut Draft<'_>, agent: Option<AgentId>, why: &str) {
    let name = agent.map_or("", |agent| &*draft.plan().agent(agent).name);
    let message = format!("nobody may cut the criteria of this work into probes: '{name}': {why}");
    conclude::refer(draft, Stage::Verification, Cause::NoReviewer, &message);
}

/// The criteria were cut into probes, or could not be.
pub(super) fn decomposed(draft: &mut Draft<'_>, round: u32, advice: Result<&Advice, &str>) {
    let Some(stage) = out(draft, round) else {
        return;
    };
    let criteria = draft.task_plan().acceptance.len();
    let probes = match advice {
        Ok(Advice::Probes(found)) => probes::fit(criteria, found).map(|()| found.clone()),
        Ok(Advice::Unreadable { why, .. }) => Err(format!("the reply could not be read: {why}")),
        Ok(_) => Err("the reply is about something else".to_owned()),
        Err(message) => Err(message.to_owned()),
    };
    match (probes, grader(draft.plan(), draft.id)) {
        (Ok(probes), Some(judge)) => {
            draft.emit(Event::Task(draft.id, TaskEvent::Probed { probes }));
            ask::ask(draft, Purpose::Grade { round }, judge);
        }
        (Ok(_), None) => stages::nobody_may(draft, Stage::Verification),
        (Err(why), _) => {
            let message = format!("they could not be cut into probes: {why}");
            let more = advice.map_or(0, |_| {
                policy(WorkKind::Ask(Purpose::Decompose { round })).reprompts
            });
            no_grades(draft, round, &message, stage.grounds, more);
        }
    }
}

/// Whether plain facts grade the criteria of a task, and no judge.
pub(in crate::engine) fn grades_by_facts(plan: &Plan, task: TaskId) -> bool {
    let verification = plan.task(task).verification.as_deref();
    verification.is_some_and(|verification| verification.rubric.is_none())
}

/// The judge graded, or could not be asked.
pub(super) fn advised(draft: &mut Draft<'_>, round: u32, judge: AgentId, advice: Result<&Advice, &str>) {
    let Some(stage) = out(draft, round) else {
        return;
    };
    let verification = draft.task_plan().verification.as_deref();
    let Some((verification, rubric)) = verification.and_then(|v| Some((v, v.rubric.as_deref()?))) else {
        return;
    };
    if advice.is_ok()
        && let Some(changed) = stages::must_be_asked_again(draft)
    {
        return shown_something_else(draft, stage, changed);
    }
    let nth = stages::nth_round(draft, round);
    let graded = |advice: Result<&Advice, &str>| {
        let reply = match advice {
            Ok(Advice::Grades(reply)) => reply.clone(),
            Ok(Advice::Unreadable { why, .. }) => {
                return Err(format!("the reply could not be read: {why}"));
            }
            Ok(_) => return Err("the reply is about something else".to_owned()),
            Err(message) => return Err(message.to_owned()),
        };
        let grades =
            rubric::fit(rubric, &reply).map_err(|why| format!("the reply could not be read: {why}"))?;
        Ok((grades, reply))
    };
    // The second reply counts if it can be read, else the first.
    let first = heard_before(draft).filter(|_| nth > 1);
    let read = graded(advice).or_else(|why| {
        first.map_or(Err(why.clone()), |first| {
            graded(Ok(&first.advice)).map_err(|_| why)
        })
    });
    let more = advice.map_or(0, |_| policy(WorkKind::Ask(Purpose::Grade { round })).reprompts);
    let lacks_answers = |reply: &RubricReply| {
        let points = prior_points(draft.plan(), draft.id, &draft.task);
        nth <= more && prior::unanswered(points.len(), &reply.prior).is_some()
    };
    match read {
        Ok((_, reply)) if lacks_answers(&reply) => ask(draft, round + 1, stage.grounds),
        Ok((grades, reply)) => {
            let reply = &*reply;
            let open = open_points(draft, &[&reply.prior]);
            let mut decision = rubric::decide(
                rubric,
                &grades,
                reply,
                draft.plan().relieved(draft.id, verification.bar),
                verification.min_confidence,
            );
            let first = grader(draft.plan(), draft.id).filter(|first| *first != judge);
            let stood_in = first.map(|first| fell_back(draft.plan(), first, judge));
            decision.findings.extend(stood_in);
            carry_on(&mut decision.findings, open);
            let percent = |points: Points| points.value().round_dp(1);
            let (sure, least) = (percent(reply.confidence), percent(verification.min_confidence));
            let message = match reply.confidence < verification.min_confidence {
                true => format!("the judge is {sure} % sure, below the minimum of {least} %"),
                false => "the judge says that it cannot decide, and leaves it to a person".to_owned(),
            };
            // Whoever graded the work has reviewed it.
            settle(draft, &grades, decision, message, false, Accepted::Reviewed);
        }
        Err(message) => no_grades(draft, round, &message, stage.grounds, more),
    }
}

/// What was graded is not what there is.
fn shown_something_else(draft: &mut Draft<'_>, stage: OpenStage, changed: Result<(), String>) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: None,
            message: "files changed while it was graded".to_owned(),
        },
    ));
    match changed {
        Ok(()) => stages::scan(draft, AfterScan::Repeat),
        Err(message) => {
            let message = conclude::put_to_a_person(&message, stage.grounds == Grounds::Unreviewed);
            conclude::refer(draft, Stage::Verification, Cause::Unstable, &message);
        }
    }
}

/// The files were looked at anew.
pub(super) fn once_more(draft: &mut Draft<'_>, stage: OpenStage) {
    ask(draft, stage.round + 1, stage.grounds);
}

/// Whoever was to grade, or to cut the criteria, is not independent after all. Asked again it would be answered by the same
/// model: it is as if nobody had been eligible.
pub(super) fn depends(draft: &mut Draft<'_>, round: u32, why: &str) {
    let Some(stage) = out(draft, round) else {
        return;
    };
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: None,
            message: why.to_owned(),
        },
    ));
    let message = format!("nobody may judge this work by its criteria: {why}");
    let message = conclude::put_to_a_person(&message, stage.grounds == Grounds::Unreviewed);
    conclude::refer(draft, Stage::Verification, Cause::NoReviewer, &message);
}

/// The verification, if this round of it is still out.
fn out(draft: &Draft<'_>, round: u32) -> Option<OpenStage> {
    let open = draft.task.judging().and_then(|judging| judging.stage);
    open.filter(|stage| stage.step.is_none() && stage.open && stage.round == round)
}

/// Plain facts were held against the criteria.
pub(super) fn graded(draft: &mut Draft<'_>, round: u32, result: &Result<Vec<CriterionGrade>, String>) {
    let Some(stage) = out(draft, round) else {
        return;
    };
    match result {
        Ok(grades) => settle_facts(draft, grades, stage.grounds == Grounds::Unreviewed),
        Err(message) => {
            let more = draft.plan().rules.max_assessment_retries;
            no_grades(draft, round, message, stage.grounds, more);
        }
    }
}

/// The grader gave no grades: it is asked for them so many times more, then a person must decide.
fn no_grades(draft: &mut Draft<'_>, round: u32, message: &str, grounds: Grounds, more: u32) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: None,
            message: message.to_owned(),
        },
    ));
    if stages::nth_round(draft, round) <= more {
        ask(draft, round + 1, grounds);
    } else {
        let message = format!("the criteria could not be graded: {message}");
        let message = conclude::put_to_a_person(&message, grounds == Grounds::Unreviewed);
        conclude::refer(draft, Stage::Verification, Cause::GateError, &message);
    }
}

fn settle_facts(draft: &mut Draft<'_>, grades: &[CriterionGrade], unreviewed: bool) {
    let Some(verification) = draft.task_plan().verification.as_deref() else {
        return;
    };
    let decision = decide(
        &verification.criteria,
        grades,
        draft.plan().relieved(draft.id, verification.bar),
        verification.min_confidence,
    );
    let open: Vec<&str> = verification
        .criteria
        .iter()
        .zip(grades)
        .filter(|(_, grade)| grade.points.is_none())
        .map(|(criterion, _)| criterion.as_str())
        .collect();
    let message = format!(
        "{} of {} criteria could not be checked: {}",
        open.len(),
        grades.len(),
        open.join("; ")
    );
    let grounds = if unreviewed {
        Accepted::Unreviewed
    } else {
        Accepted::Checked
    };
    settle(draft, grades, decision, message, unreviewed, grounds);
}

/// What follows from the grades. `unsure` says to a person what speaks against deciding without them.
fn settle(
    draft: &mut Draft<'_>,
    grades: &[CriterionGrade],
    decision: Decision,
    unsure: String,
    unreviewed: bool,
    grounds: Accepted,
) {
    let on_refer = draft
        .task_plan()
        .verification
        .as_deref()
        .map_or(OnRefer::Human, |verification| verification.on_refer);
    let (verdict, cause) = match (decision.verdict, on_refer) {
        (Verdict::Refer, OnRefer::Rework) => (Verdict::Fail, decision.cause),
        // What could not be told is no pass, whatever follows from it: the work is marked.
        (Verdict::Refer, OnRefer::Pass) => (Verdict::Skip, Some(Cause::Unmet)),
        _ => (decision.verdict, decision.cause),
    };
    let is_unsure = decision.verdict == Verdict::Refer;
    conclude::stage(draft, Stage::Verification, verdict, cause, |report| {
        report.points = decision.points;
        report.findings = decision.findings;
        report.grades = grades.to_vec();
        report.confidence = Some(decision.confidence);
        if is_unsure && on_refer != OnRefer::Human {
            report
                .findings
                .push(Finding::new(Severity::Medium, unsure.clone()));
        }
    });
    match verdict {
        Verdict::Pass | Verdict::Skip => later_stages::begin(draft, grounds),
        Verdict::Fail => conclude::not_good_enough(draft),
        Verdict::Refer | Verdict::Fault => {
            let cause = cause.unwrap_or(Cause::Confidence);
            if let Some(route) = draft.plan().route(draft.id) {
                return routes::referred(draft, route, cause, &unsure);
            }
            let message = conclude::put_to_a_person(&unsure, unreviewed);
            conclude::ask_person(draft, Stage::Verification, cause, &message);
        }
    }
}
