//! What the further stages have in common (semantics, sections 6.7 to 6.9 and 15).
//!
//! A stage with a verdict of its own that fails or cannot be told apart from one that failed stops the chain: it closes. The red
//! team and the vision check are beside the point of whether the work was judged, so a fault of theirs is recorded and
//! open. Each of them leaves a verdict, one that was not asked too.

use crate::domain::{
    Answer, Cause, Finding, FindingsReport, PriorAnswer, Purpose, Severity, StageKey, StageReply, Verdict,
};
use crate::engine::event_payload::StageReport;
use crate::engine::job::Job;
use crate::engine::quality_flag::Mark;
use crate::judging::autonomy::route;
use crate::judging::prior;

use super::open_points::{carry_on, open_points};
use super::view::{Actor, Next, Request, View};

/// How a stage begins, by the plan alone.
pub enum Opening {
    /// The agent of the stage is asked, or its command is run.
    Starts,
    /// The stage does not apply, for this reason.
    Skips(String),
    /// Judges are switched off.
    Withdrawn,
    /// A person decides in place of the stage.
    Refers(Cause, String),
    /// The agent of the stage may not judge the work, and the work goes on without.
    Faults(Cause, String),
}

impl Opening {
    /// Why the stage's agent will not be asked; `None` where it will be.
    pub fn why_not(self) -> Option<String> {
        match self {
            Self::Starts => None,
            Self::Withdrawn => Some("reviews are switched off".to_owned()),
            Self::Skips(why) | Self::Refers(_, why) | Self::Faults(_, why) => Some(why),
        }
    }
}

/// Begins a stage so.
pub fn begin(view: View<'_>, step: StageKey, opening: Opening, speaker: Actor<'_>) -> Next {
    match opening {
        Opening::Starts => ask(view, step, 1),
        Opening::Skips(why) => {
            let mut report = view.remark(step, Verdict::Skip, None, &why);
            speaker.sign(&mut report);
            Next::Pass(Some(report))
        }
        Opening::Withdrawn => {
            let why = "not asked: reviews are switched off";
            let mut report = view.remark(step, Verdict::Skip, None, why);
            report.mark = Some(Mark::Unreviewed);
            Next::Pass(Some(report))
        }
        Opening::Refers(cause, message) => refer(view, step, cause, &message, speaker),
        Opening::Faults(cause, why) => fault(view, step, cause, (&why, ""), speaker),
    }
}

/// Asks the agent of a stage, or runs what it has instead.
pub fn ask(view: View<'_>, step: StageKey, round: u32) -> Next {
    let request = match view.work().step_agent(step) {
        Some(agent) => Request::Ask(Purpose::Stage { step, round }, agent),
        None => Request::Run(Job::Stage(step, round)),
    };
    Next::Open(vec![request])
}

/// A person decides instead of the stage.
pub fn refer(view: View<'_>, step: StageKey, cause: Cause, message: &str, speaker: Actor<'_>) -> Next {
    let mut report = view.remark(step, Verdict::Refer, Some(cause), message);
    speaker.sign(&mut report);
    Next::Refer(report, view.put_to_a_person(step, message))
}

/// A red team or a vision check gave no report. That is on record and open.
pub fn fault(
    view: View<'_>,
    step: StageKey,
    cause: Cause,
    (why, said): (&str, &str),
    speaker: Actor<'_>,
) -> Next {
    let name = view.work().step_name(step);
    let message = format!("{name} gave no report, and the work goes on without it: {why}");
    let report = view.remark(step, Verdict::Fault, Some(cause), &message);
    Next::Pass(Some(with_evidence(report, said, speaker)))
}

/// A report of one finding with what was said beside it, signed.
fn with_evidence(mut report: Box<StageReport>, said: &str, speaker: Actor<'_>) -> Box<StageReport> {
    if !said.is_empty() {
        let findings = report.findings.into_iter();
        report.findings = findings.map(|finding| finding.with_evidence(said)).collect();
    }
    speaker.sign(&mut report);
    report
}

/// Nothing that counts was said, and nobody is asked again. A report that speaks of something grave is a person's to read,
/// where no program can.
pub fn on_no_reply(
    view: View<'_>,
    step: StageKey,
    why: &str,
    heard: [Option<&Answer>; 2],
    speaker: Actor<'_>,
) -> Next {
    let name = view.work().step_name(step);
    if step.stage().reply() == Some(StageReply::Opinion) {
        let message = format!("the stage '{name}' gave no verdict: {why}");
        return refer(view, step, Cause::GateError, &message, speaker);
    }
    let said = match heard[0] {
        Some(Answer::Unreadable { excerpt, .. }) => excerpt.as_str(),
        _ => "",
    };
    if !heard.into_iter().flatten().any(speaks_of_something_grave) {
        return fault(view, step, Cause::GateError, (why, said), speaker);
    }
    let message = format!("{name} speaks of something grave, and its report cannot be read: {why}");
    let report = view.remark(step, Verdict::Refer, Some(Cause::GateError), &message);
    Next::Refer(with_evidence(report, said, speaker), view.put_to_a_person(step, &message))
}

/// Whether a reply that does not count speaks of something that must not be passed over.
fn speaks_of_something_grave(answer: &Answer) -> bool {
    match answer {
        Answer::Unreadable { grave, .. } => *grave,
        Answer::Findings(report) => report.grave,
        _ => false,
    }
}

/// Whether what was found keeps the work out, whatever else is said.
pub fn blocks(view: View<'_>, answer: &Answer) -> bool {
    matches!(answer, Answer::Findings(report) if route(&report.findings, view.work().autonomy) == Verdict::Fail)
}

/// Why a reply does not count, with the beginning of its sentence; `None` where it does.
pub fn unread(view: View<'_>, wanted: StageReply, said: &Answer) -> Option<(&'static str, String)> {
    let (before, why) = match (wanted, said) {
        (StageReply::Opinion, Answer::Opinion(_)) => return None,
        // What can be read of it and blocks does so, whatever else is wrong with it.
        (StageReply::Findings, Answer::Findings(_)) if blocks(view, said) => return None,
        (StageReply::Findings, Answer::Findings(report)) => {
            ("its report could not be read whole: ", report.unread.as_deref()?)
        }
        (_, Answer::Unreadable { why, .. }) => ("its reply could not be read: ", why.as_str()),
        _ => ("its reply is ", "about something else"),
    };
    Some((before, why.to_owned()))
}

/// The points of the earlier review that are still open by what somebody answered. A command, and what is measured, is not
/// asked about them.
pub fn open_points_of(view: View<'_>, speaker: Actor<'_>, answers: &[PriorAnswer]) -> Vec<Finding> {
    match speaker.agent {
        Some(_) => open_points(view, &[answers]),
        None => Vec::new(),
    }
}

/// A red team or a vision check reported; `unseen` is what it could not look at.
pub fn found(
    view: View<'_>,
    (step, cause): (StageKey, Cause),
    found: &FindingsReport,
    unseen: Option<Finding>,
    speaker: Actor<'_>,
) -> Next {
    // A point that it says itself was not addressed is its finding; one that it is silent about is only carried on.
    let points = view.prior_points();
    let denied = prior::denied(&points, &found.prior);
    let autonomy = view.work().autonomy;
    let passes = [&found.findings, &denied].map(|findings| route(findings, autonomy) == Verdict::Pass);
    let passes = passes == [true, true];
    let mut report = view.judged(step, passes, cause);
    report.findings.clone_from(&found.findings);
    let unread = found.unread.as_deref().map(|why| {
        let message = format!("not all of the report could be read: {why}");
        Finding::new(Severity::Info, message)
    });
    let remarks = unread
        .into_iter()
        .chain(unseen)
        .chain(view.fell_back(Purpose::Stage { step, round: 1 }, speaker.agent));
    report.findings.extend(remarks);
    carry_on(&mut report.findings, open_points_of(view, speaker, &found.prior));
    speaker.sign(&mut report);
    Next::by_verdict(report, String::new)
}
