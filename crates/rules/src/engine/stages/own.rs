//! A stage that is decided by a verdict of its own (semantics, section 6.7): by a command, an agent, or a person.

use crate::domain::{Cause, DeclaredVerdict, Opinion, Purpose, Severity, Verdict};
use crate::mission::model::Adapter;
use crate::plan::{OwnStage, Plan, StageJudge};

use super::open_points::carry_on;
use super::step::{Opening, open_points_of};
use super::view::{Actor, Next, View};

/// What is asked or run when the stage begins.
pub fn opening(plan: &Plan, stage: &OwnStage) -> Opening {
    let StageJudge::Agent { agent, .. } = stage.by else {
        return Opening::Starts;
    };
    let who = plan.agent_name(agent);
    if !plan.rules.settings.evaluate {
        return Opening::Withdrawn;
    }
    if plan.agent(agent).spec.adapter == Adapter::Human {
        let message = format!("stage '{}': to be reviewed by {who}", stage.name);
        return Opening::Refers(Cause::Person, message);
    }
    match &stage.barred {
        None => Opening::Starts,
        Some(why) => without(stage, who, why),
    }
}

/// Refers a stage whose agent may not judge the work: by what the mission declares, or by the model that its
/// provider says it used. Nothing that the worker could do would change it.
pub fn without(stage: &OwnStage, who: &str, why: &str) -> Opening {
    let why = format!("nobody may judge in the stage '{}': '{who}' {why}", stage.name);
    Opening::Refers(Cause::NoReviewer, why)
}

/// Concludes the stage by its agent's verdict.
pub fn conclude(view: View<'_>, stage: &OwnStage, opinion: &Opinion, speaker: Actor<'_>) -> Next {
    let (key, name) = (stage.key, &stage.name);
    let verdict = match opinion.verdict {
        DeclaredVerdict::Pass => Verdict::Pass,
        DeclaredVerdict::Fail => Verdict::Fail,
        DeclaredVerdict::Refer => Verdict::Refer,
    };
    let mut report = view.report(key, verdict, (verdict != Verdict::Pass).then_some(Cause::Stage));
    report.reason = Some(opinion.reason.clone()).filter(|reason| !reason.is_empty());
    speaker.sign(&mut report);
    if verdict == Verdict::Fail {
        // Whoever mends it must know which stage wants what.
        let reason = match opinion.reason.as_str() {
            "" => format!("the stage '{name}' failed it"),
            reason => format!("stage '{name}': {reason}"),
        };
        report.add(Severity::High, reason);
    }
    report.findings.extend(opinion.findings.iter().cloned());
    report.findings.extend(view.fell_back(Purpose::Stage { step: key, round: 1 }, speaker.agent));
    carry_on(&mut report.findings, open_points_of(view, speaker, &opinion.prior));
    // It looked at one thing. What nobody has reviewed as a whole stays so.
    Next::by_verdict(report, || {
        let message = match opinion.reason.as_str() {
            "" => format!("the stage '{name}' leaves it to a person"),
            reason => format!("the stage '{name}' leaves it to a person: {reason}"),
        };
        view.put_to_a_person(key, &message)
    })
}
