//! The verification stage: the task's criteria, graded one by one by a judge with a rubric or by plain facts (semantics,
//! sections 6.6 and 10). What grades mean is said in `judging::criteria_verdict` and `judging::rubric_grades`.

use crate::domain::{
    Answer, Cause, CriterionGrade, Points, Purpose, RubricReply, Severity, StageKey, Verdict,
};
use crate::engine::job::Job;
use crate::judging::criteria_verdict::{VerificationDecision, decide};
use crate::judging::{probes, rubric_grades};
use crate::mission::model::{OnRefer, Rubric};
use crate::plan::VerificationPlan;

use super::judge::nobody_may;
use super::open_points::{carry_on, open_points};
use super::view::{Actor, Next, Request, View, Word};

const KEY: StageKey = StageKey::VERIFICATION;

/// Asks whoever grades: plain facts, or the first who may judge the task; before that, whoever cuts the criteria.
pub fn open(view: View<'_>, by: &VerificationPlan, round: u32) -> Next {
    if by.rubric.is_none() {
        return Next::Open(vec![Request::Run(Job::Grade(round))]);
    }
    if !view.plan().rules.settings.evaluate {
        // No judge of any kind is called, and nobody else grades by a rubric.
        return Next::Pass(None);
    }
    let Some(grader) = by.grader else {
        return lacks_judge(view, nobody_may(view));
    };
    let is_open = view.task.course.probes.is_empty() && !view.work().acceptance.is_empty();
    let request = match by.decomposer.filter(|_| is_open) {
        None => Request::Ask(Purpose::Grade { round }, grader),
        Some(agent) => {
            // Whoever did the work, or is not independent of it, would choose its own questions.
            if let Some(why) = &by.decomposer_barred {
                let name = view.plan().agent_name(agent);
                let message =
                    format!("nobody may cut the criteria of this work into probes: '{name}': {why}");
                return lacks_judge(view, message);
            }
            Request::Ask(Purpose::Decompose { round }, agent)
        }
    };
    Next::Open(vec![request])
}

fn lacks_judge(view: View<'_>, message: String) -> Next {
    let report = view.remark(KEY, Verdict::Refer, Some(Cause::NoReviewer), &message);
    Next::Refer(report, message)
}

/// Why a reply does not count, with the beginning of its sentence; `None` where it does.
pub fn unread(
    view: View<'_>,
    by: &VerificationPlan,
    purpose: Option<Purpose>,
    said: &Answer,
) -> Option<(&'static str, String)> {
    let is_cut = matches!(purpose, Some(Purpose::Decompose { .. }));
    let unread = "the reply could not be read: ";
    match (said, by.rubric.as_deref()) {
        (Answer::Probes(found), _) if is_cut => {
            Some(("", probes::fit(view.work().acceptance.len(), found).err()?))
        }
        (Answer::Grades(reply), Some(rubric)) if !is_cut => {
            Some((unread, rubric_grades::fit(rubric, reply).err()?))
        }
        (Answer::Unreadable { why, .. }, _) => Some((unread, why.clone())),
        _ => Some(("the reply is ", "about something else".to_owned())),
    }
}

/// Nothing that counts was said, and nobody is asked again.
pub fn on_no_reply(view: View<'_>, why: &str) -> Next {
    refer(view, Cause::GateError, &format!("the criteria could not be graded: {why}"))
}

/// Decides a verification whose grader, or whoever cut the criteria, is not independent after all. Asked again
/// it would be answered by the same model: it is as if nobody had been eligible.
pub fn depends(view: View<'_>, why: &str) -> Next {
    let message = format!("nobody may judge this work by its criteria: {why}");
    refer(view, Cause::NoReviewer, &message)
}

/// A person decides instead of the judges.
pub fn refer(view: View<'_>, cause: Cause, message: &str) -> Next {
    let message = view.put_to_a_person(KEY, message);
    Next::Refer(view.remark(KEY, Verdict::Refer, Some(cause), &message), message)
}

pub fn conclude(view: View<'_>, by: &VerificationPlan, word: Word<'_>, speaker: Actor<'_>) -> Next {
    match (word, by.rubric.as_deref()) {
        (Word::Answered(Answer::Probes(probes)), _) => Next::Probed(probes.clone()),
        (Word::Answered(Answer::Grades(reply)), Some(rubric)) => judged(view, (by, rubric), reply, speaker),
        (Word::Graded(grades), _) => found(view, by, grades),
        _ => Next::Wait,
    }
}

/// Concludes the verification by the grades of its judge.
fn judged(
    view: View<'_>,
    (by, rubric): (&VerificationPlan, &Rubric),
    reply: &RubricReply,
    speaker: Actor<'_>,
) -> Next {
    let Ok(grades) = rubric_grades::fit(rubric, reply) else {
        return Next::Wait;
    };
    let bar = view.plan().relieved(view.id, by.bar);
    let mut decision = rubric_grades::decide(rubric, &grades, reply, bar, by.min_confidence);
    let instead = view.fell_back(Purpose::Grade { round: 1 }, speaker.agent);
    decision.findings.extend(instead);
    carry_on(&mut decision.findings, open_points(view, &[&reply.prior]));
    let percent = |points: Points| points.value().round_dp(1);
    let (sure, least) = (percent(reply.confidence), percent(by.min_confidence));
    let unsure = if reply.confidence < by.min_confidence {
        format!("the judge is {sure} % sure, below the minimum of {least} %")
    } else {
        "the judge says that it cannot decide, and leaves it to a person".to_owned()
    };
    // Whoever graded the work has reviewed it.
    settle(view, by, &grades, decision, unsure.clone(), unsure)
}

/// Plain facts were held against the criteria.
fn found(view: View<'_>, by: &VerificationPlan, grades: &[CriterionGrade]) -> Next {
    let bar = view.plan().relieved(view.id, by.bar);
    let decision = decide(&by.criteria, grades, bar, by.min_confidence);
    let open = by.criteria.iter().zip(grades);
    let open: Vec<&str> =
        open.filter(|(_, grade)| grade.points.is_none()).map(|(criterion, _)| criterion.as_str()).collect();
    let unsure =
        format!("{} of {} criteria could not be checked: {}", open.len(), grades.len(), open.join("; "));
    let question = view.put_to_a_person(KEY, &unsure);
    settle(view, by, grades, decision, unsure, question)
}

/// Settles the verification by the grades. `unsure` says what speaks against deciding without a person,
/// `question` says it to them.
fn settle(
    view: View<'_>,
    by: &VerificationPlan,
    grades: &[CriterionGrade],
    decision: VerificationDecision,
    unsure: String,
    question: String,
) -> Next {
    let (verdict, cause) = match (decision.verdict, by.on_refer) {
        (Verdict::Refer, OnRefer::Rework) => (Verdict::Fail, decision.cause),
        // What could not be told is no pass, whatever follows from it: the work is marked.
        (Verdict::Refer, OnRefer::Pass) => (Verdict::Skip, Some(Cause::Unmet)),
        _ => (decision.verdict, decision.cause),
    };
    let is_unsure = decision.verdict == Verdict::Refer;
    let mut report = view.report(KEY, verdict, cause);
    report.points = decision.points;
    report.findings = decision.findings;
    report.grades = grades.to_vec();
    report.confidence = Some(decision.confidence);
    if is_unsure && by.on_refer != OnRefer::Human {
        report.add(Severity::Medium, unsure);
    }
    Next::by_verdict(report, || question)
}
