//! What judges work behind its verification (semantics, sections 6.7 to 6.9 and 15): the mission's own stages in their
//! order, then the red team, then the vision check, then acceptance.
//!
//! A stage that fails or cannot be told apart from one that failed stops the chain: it closes. The red team and the
//! vision check are beside the point of whether the work was judged, so a fault of theirs is recorded and open. Each of
//! them leaves a verdict, one that was not asked too.

use crate::domain::{
    Advice, AgentId, Cause, DeclaredVerdict, Finding, FindingsReport, Opinion, PriorAnswer, Purpose,
    Severity, Step, TaskId, Verdict,
};
use crate::engine::audit::AfterScan;
use crate::engine::event::{Event, TaskEvent};
use crate::engine::job::Job;
use crate::engine::payload::{FileFact, Grounds, StageReport};
use crate::engine::policy::{WorkKind, policy};
use crate::engine::state::{OpenStage, State};
use crate::judging::eligibility::depends_on_author;
use crate::judging::prior;
use crate::judging::stages::route;
use crate::mission::model::{Adapter, OnMissing, VisionKind};
use crate::mission::{Plan, RedTeamPlan, StageJudge, VisionPlan};

use super::ask;
use super::conclude::{self, Accepted};
use super::draft::Draft;
use super::jobs;
use super::prior::{answers, carry_on, heard_before, open_points, prior_points};
use super::seats::fell_back;
use super::stages;

/// The round in which a vision check looks which of its screenshots are there, before anybody is asked. What was seen of
/// them when the worker had finished is old: a check may have made them.
const LOOK: u32 = 0;

/// Who speaks in a step. Nobody where a command is run or pictures are measured.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Speaker<'a> {
    agent: Option<AgentId>,
    /// The model that its provider says it used.
    model: Option<&'a str>,
}

impl<'a> Speaker<'a> {
    pub(super) fn of(agent: AgentId, model: Option<&'a str>) -> Self {
        let agent = Some(agent);
        Self { agent, model }
    }

    /// Puts its name under a verdict of a step.
    fn sign(self, report: &mut StageReport) {
        report.judge = self.agent;
        report.model = self.model.map(str::to_owned);
    }

    /// That somebody else was to speak, where it is so.
    fn stood_in(self, draft: &Draft<'_>, step: Step) -> Option<Finding> {
        let first = draft.task_plan().scrutiny.agent(step)?;
        let instead = self.agent.filter(|agent| *agent != first)?;
        Some(fell_back(draft.plan(), first, instead))
    }
}

/// How a step begins.
enum Opening {
    /// Its agent is asked.
    Asks,
    /// A command is run, or pictures are measured.
    Runs,
    /// First its screenshots are looked for.
    Looks,
    /// It does not apply, and this is why.
    Skips(String),
    /// Judges are switched off.
    Withdrawn,
    /// Its verdict is clear without anybody's word.
    Blocks(String),
    /// A person decides.
    Refers(Cause, String),
    /// It cannot give a report for this cause, and the work goes on without.
    Faults(Cause, String),
}

/// The stages before are content: on to what the mission wants beside them.
pub(super) fn begin(draft: &mut Draft<'_>, grounds: Accepted) {
    go_on(draft, None, grounds);
}

/// On behind a step that is content.
pub(super) fn go_on(draft: &mut Draft<'_>, behind: Option<Step>, grounds: Accepted) {
    let mut grounds = grounds;
    let mut behind = behind;
    while let Some(step) = draft.task_plan().scrutiny.next(behind) {
        let opening = opening(draft, step);
        match open(draft, step, opening, grounds, Speaker::default()) {
            Some(still) => grounds = still,
            None => return,
        }
        behind = Some(step);
    }
    stages::accept(draft, grounds);
}

/// The files were looked at anew: the step is asked once more.
pub(super) fn once_more(draft: &mut Draft<'_>, step: Step, open: OpenStage) {
    ask(draft, step, open.round + 1, open.grounds.into());
}

/// What it was shown is not what there is.
fn shown_something_else(
    draft: &mut Draft<'_>,
    (step, grounds): (Step, Grounds),
    changed: Result<(), String>,
    speaker: Speaker<'_>,
) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: Some(step),
            message: "files changed while it judged them".to_owned(),
        },
    ));
    match changed {
        Ok(()) => stages::scan(draft, AfterScan::Repeat),
        Err(message) => refer(draft, step, Cause::Unstable, &message, grounds, speaker),
    }
}

/// Begins a step so. Where the work goes on behind it at once: on what grounds.
fn open(
    draft: &mut Draft<'_>,
    step: Step,
    opening: Opening,
    grounds: Accepted,
    speaker: Speaker<'_>,
) -> Option<Accepted> {
    match opening {
        Opening::Asks | Opening::Runs => ask(draft, step, 1, grounds),
        Opening::Looks => look(draft, step, grounds),
        Opening::Skips(why) => {
            verdict(draft, step, Verdict::Skip, None, |report| {
                report.findings = vec![Finding::new(Severity::Info, why)];
                speaker.sign(report);
            });
            return Some(grounds);
        }
        Opening::Withdrawn => {
            verdict(draft, step, Verdict::Skip, None, |report| {
                let why = "not asked: reviews are switched off";
                report.findings = vec![Finding::new(Severity::Info, why)];
            });
            return Some(Accepted::Unreviewed);
        }
        Opening::Blocks(why) => {
            verdict(draft, step, Verdict::Fail, Some(cause_of(step)), |report| {
                report.findings = vec![Finding::new(Severity::High, why)];
            });
            conclude::not_good_enough(draft);
        }
        Opening::Refers(cause, message) => {
            refer(draft, step, cause, &message, grounds.on_record(), speaker);
        }
        Opening::Faults(cause, why) => {
            fault(draft, step, cause, (&why, ""), speaker);
            return Some(grounds);
        }
    }
    None
}

/// How a step begins, as far as the plan alone says it.
fn by_plan(plan: &Plan, task: TaskId, step: Step) -> Opening {
    let scrutiny = &plan.task(task).scrutiny;
    match step {
        Step::Stage(n) => match scrutiny.stage(n).map(|stage| &stage.by) {
            Some(StageJudge::Agent { .. }) if !plan.rules.evaluate => Opening::Withdrawn,
            Some(StageJudge::Agent { agent, .. }) => agent_stage(plan, task, step, *agent),
            Some(StageJudge::Command(_)) => Opening::Runs,
            None => Opening::Skips("the mission has no such stage any more".to_owned()),
        },
        Step::RedTeam => match &scrutiny.red_team {
            Some(red_team) => red_team_opens(plan, task, red_team),
            None => Opening::Skips("the mission has no red team any more".to_owned()),
        },
        Step::Vision => match &scrutiny.vision {
            Some(vision) => vision_opens(plan, task, vision),
            None => Opening::Skips("the mission has no vision check any more".to_owned()),
        },
    }
}

fn vision_opens(plan: &Plan, task: TaskId, vision: &VisionPlan) -> Opening {
    match (vision.kind, vision.agent) {
        (VisionKind::Noop, _) => Opening::Skips("not asked: its kind is noop".to_owned()),
        _ if vision.screenshots.is_empty() => {
            Opening::Skips("not asked: the mission names no screenshots".to_owned())
        }
        (VisionKind::Heuristic, _) | (VisionKind::LlmVision, None) => Opening::Runs,
        (VisionKind::LlmVision, Some(_)) if !plan.rules.evaluate => Opening::Withdrawn,
        (VisionKind::LlmVision, Some(agent)) => asks_unless_dependent(plan, task, Step::Vision, agent),
    }
}

fn agent_stage(plan: &Plan, task: TaskId, step: Step, agent: AgentId) -> Opening {
    if plan.agent(agent).spec.adapter == Adapter::Human {
        let name = plan.task(task).scrutiny.name(step);
        let who = &plan.agent(agent).name;
        let message = format!("stage '{name}': to be reviewed by {who}");
        return Opening::Refers(Cause::Person, message);
    }
    asks_unless_dependent(plan, task, step, agent)
}

fn asks_unless_dependent(plan: &Plan, task: TaskId, step: Step, agent: AgentId) -> Opening {
    match depends_on_author(plan, task, agent) {
        None => Opening::Asks,
        Some(why) => without(plan, task, step, agent, &why),
    }
}

/// The agent of a step may not judge the work: by what the mission declares, or by the model that its provider says it
/// used. Nothing that the worker could do would change it.
fn without(plan: &Plan, task: TaskId, step: Step, agent: AgentId, why: &str) -> Opening {
    let scrutiny = &plan.task(task).scrutiny;
    let who = &plan.agent(agent).name;
    match step {
        Step::Stage(_) => {
            let name = scrutiny.name(step);
            let why = format!("nobody may judge in the stage '{name}': '{who}' {why}");
            Opening::Refers(Cause::NoReviewer, why)
        }
        Step::RedTeam => {
            let why = format!("the red team may not attack: '{who}' {why}");
            match scrutiny.red_team.map(|red_team| red_team.on_missing) {
                Some(OnMissing::Skip) => Opening::Skips(why),
                Some(OnMissing::Block) | None => Opening::Refers(Cause::NoReviewer, why),
            }
        }
        Step::Vision => Opening::Faults(Cause::NoReviewer, format!("nobody may look: '{who}' {why}")),
    }
}

fn red_team_opens(plan: &Plan, task: TaskId, red_team: &RedTeamPlan) -> Opening {
    let stakes = plan.task(task).scrutiny.stakes;
    if stakes < red_team.min_stakes {
        return Opening::Skips(format!(
            "not asked: the stakes are {}, and it is asked from {} on",
            stakes.as_str(),
            red_team.min_stakes.as_str()
        ));
    }
    if !plan.rules.evaluate {
        return Opening::Withdrawn;
    }
    asks_unless_dependent(plan, task, Step::RedTeam, red_team.agent)
}

/// How a step begins.
fn opening(draft: &Draft<'_>, step: Step) -> Opening {
    let opening = by_plan(draft.plan(), draft.id, step);
    let red_team = draft.task_plan().scrutiny.red_team.as_ref();
    match (step, opening, red_team) {
        (Step::RedTeam, Opening::Asks, Some(red_team)) if !has_deliverable(draft) => {
            let why = "the red team has nothing to attack: the answer is empty, and no file that the task names has \
                       content";
            match red_team.on_missing {
                OnMissing::Block => Opening::Blocks(why.to_owned()),
                OnMissing::Skip => Opening::Skips(why.to_owned()),
            }
        }
        (Step::Vision, Opening::Asks | Opening::Runs | Opening::Withdrawn | Opening::Faults(..), _) => {
            Opening::Looks
        }
        (_, opening, _) => opening,
    }
}

/// How a vision check goes on once it is known which of its screenshots are there. Without any it does not apply; one
/// that stands there and cannot be looked at may show anything, so nothing is known of what it should show.
fn seen(draft: &Draft<'_>) -> Opening {
    let screenshots = screenshots(draft);
    let is_absent =
        |file: Option<&FileFact>| file.is_none_or(|file| file.size.is_none() && file.obstacle.is_none());
    if screenshots.iter().all(|(_, file)| is_absent(*file)) {
        let paths = missing_screenshots(draft).join(", ");
        return Opening::Skips(format!("not asked: there is no screenshot ({paths})"));
    }
    let mut obstacles = screenshots.iter().filter_map(|(path, file)| {
        let why = file.as_ref()?.obstacle.as_deref()?;
        Some(format!("{path} cannot be looked at: {why}"))
    });
    match (by_plan(draft.plan(), draft.id, Step::Vision), obstacles.next()) {
        (Opening::Asks | Opening::Runs, Some(why)) => Opening::Faults(Cause::GateError, why),
        (opening, _) => opening,
    }
}

/// The screenshots of the task, each with what was last seen of it.
fn screenshots<'d>(draft: &'d Draft<'_>) -> Vec<(&'d str, Option<&'d FileFact>)> {
    let files = draft.task.judging();
    let files = files.map_or(&[][..], |judging| &judging.files);
    let paths = draft.task_plan().scrutiny.screenshots();
    let with_fact = |path| (path, files.iter().find(|file| file.path == path));
    paths.map(with_fact).collect()
}

/// Those of the screenshots that are not there.
fn missing_screenshots<'d>(draft: &'d Draft<'_>) -> Vec<&'d str> {
    let all = screenshots(draft).into_iter();
    let missing = all.filter(|(_, file)| file.is_none_or(|file| file.size.is_none()));
    missing.map(|(path, _)| path).collect()
}

/// Why a step will not be asked, where that is known beforehand.
pub(in crate::engine) fn not_asked(plan: &Plan, task: TaskId, step: Step) -> Option<String> {
    match by_plan(plan, task, step) {
        Opening::Asks | Opening::Runs | Opening::Looks => None,
        Opening::Withdrawn => Some("reviews are switched off".to_owned()),
        Opening::Skips(why) | Opening::Blocks(why) | Opening::Refers(_, why) | Opening::Faults(_, why) => {
            Some(why)
        }
    }
}

/// Whether there is anything to look at: an answer, or a file with content that the task's rules name.
fn has_deliverable(draft: &Draft<'_>) -> bool {
    let said = &draft.task.output;
    let files = draft.task.judging().map_or(&[][..], |judging| &judging.files);
    said.stdout.as_ref().is_some_and(|out| out.len > 0)
        || said.result.is_some()
        || files.iter().any(|file| file.size.is_some_and(|size| size > 0))
}

fn ask(draft: &mut Draft<'_>, step: Step, round: u32, grounds: Accepted) {
    let agent = draft.task_plan().scrutiny.agent(step);
    begin_round(draft, (step, round), agent.is_none(), grounds);
    match agent {
        Some(agent) => ask::ask(draft, Purpose::Scrutinise { step, round }, agent),
        None => jobs::request(draft, Job::Stage(step, round)),
    }
}

/// Looks which of the screenshots are there.
fn look(draft: &mut Draft<'_>, step: Step, grounds: Accepted) {
    begin_round(draft, (step, LOOK), true, grounds);
    jobs::request(draft, Job::Stage(step, LOOK));
}

fn begin_round(draft: &mut Draft<'_>, (step, round): (Step, u32), plain: bool, grounds: Accepted) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageOpened {
            step: Some(step),
            round,
            plain,
            grounds: grounds.on_record(),
        },
    ));
}

/// It was looked which of the screenshots are there.
pub(super) fn looked(draft: &mut Draft<'_>) {
    let Some(open_stage) = out(draft, Step::Vision, LOOK) else {
        return;
    };
    let opening = seen(draft);
    let grounds = open_stage.grounds.into();
    if let Some(grounds) = open(draft, Step::Vision, opening, grounds, Speaker::default()) {
        go_on(draft, Some(Step::Vision), grounds);
    }
}

/// An agent said something, or could not be asked; or what needed no agent came back.
pub(super) fn advised(
    draft: &mut Draft<'_>,
    step: Step,
    round: u32,
    advice: Result<&Advice, &str>,
    speaker: Speaker<'_>,
) {
    let Some(open) = out(draft, step, round) else {
        return;
    };
    if advice.is_ok()
        && let Some(changed) = stages::must_be_asked_again(draft)
    {
        return shown_something_else(draft, (step, open.grounds), changed, speaker);
    }
    let nth = stages::nth_round(draft, round);
    let is_judge = speaker.agent.is_some();
    // Whoever said something may say it better. What a command did once, it does not do again.
    let more = match advice {
        Ok(_) if is_judge => policy(WorkKind::Ask(Purpose::Scrutinise { step, round })).reprompts,
        _ => 0,
    };
    let autonomy = draft.task_plan().scrutiny.autonomy;
    let counts = |advice: &Advice| match (step, advice) {
        (Step::Stage(_), Advice::Opinion(_)) => true,
        // What can be read of it and blocks does so, whatever else is wrong with it.
        (Step::RedTeam | Step::Vision, Advice::Findings(report)) => {
            report.unread.is_none() || route(&report.findings, autonomy) == Verdict::Fail
        }
        _ => false,
    };
    // The second reply counts if it can be read, else the first.
    let first = heard_before(draft).filter(|_| is_judge && nth > 1);
    let first = first.map(|first| &first.advice);
    let word = advice
        .ok()
        .filter(|advice| counts(advice))
        .or(first.filter(|first| counts(first)));
    let Some(word) = word else {
        let is_grave = [advice.ok(), first]
            .into_iter()
            .flatten()
            .any(speaks_of_something_grave);
        let (why, said) = match advice {
            Ok(Advice::Unreadable { why, excerpt, .. }) => {
                (format!("its reply could not be read: {why}"), excerpt.as_str())
            }
            Ok(Advice::Findings(report)) => {
                let why = report.unread.as_deref().unwrap_or_default();
                (format!("its report could not be read whole: {why}"), "")
            }
            Ok(_) => ("its reply is about something else".to_owned(), ""),
            Err(message) => (message.to_owned(), ""),
        };
        let open = (step, round, open.grounds);
        return no_word(draft, open, (&why, said, is_grave), speaker, more);
    };
    let points = prior_points(draft.plan(), draft.id, &draft.task);
    let blocks =
        matches!(word, Advice::Findings(report) if route(&report.findings, autonomy) == Verdict::Fail);
    // One that keeps the work out has said enough.
    if is_judge && nth <= more && !blocks && prior::unanswered(points.len(), answers(word)).is_some() {
        return ask(draft, step, round + 1, open.grounds.into());
    }
    match word {
        Advice::Opinion(opinion) => said(draft, step, opinion, speaker, open.grounds),
        Advice::Findings(report) => found(draft, step, report, speaker, open.grounds),
        _ => {}
    }
}

/// Whether a reply that does not count speaks of something that must not be passed over.
fn speaks_of_something_grave(advice: &Advice) -> bool {
    match advice {
        Advice::Unreadable { grave, .. } => *grave,
        Advice::Findings(report) => report.grave,
        _ => false,
    }
}

/// An agent replied that is not independent after all. Whatever it says does not count, and asking it again would be
/// answered by the same model: it is as if it could not have been asked.
pub(super) fn depends(draft: &mut Draft<'_>, step: Step, round: u32, why: &str, speaker: Speaker<'_>) {
    let (Some(open_step), Some(agent)) = (out(draft, step, round), speaker.agent) else {
        return;
    };
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: Some(step),
            message: format!("'{}' {why}", draft.plan().agent(agent).name),
        },
    ));
    let opening = without(draft.plan(), draft.id, step, agent, why);
    if let Some(grounds) = open(draft, step, opening, open_step.grounds.into(), speaker) {
        go_on(draft, Some(step), grounds);
    }
}

/// A round of a step that is still out.
fn out(draft: &Draft<'_>, step: Step, round: u32) -> Option<OpenStage> {
    let open = draft.task.judging().and_then(|judging| judging.stage);
    open.filter(|open| open.open && open.step == Some(step) && open.round == round)
}

/// What needed no agent came back.
pub(super) fn judged(draft: &mut Draft<'_>, (step, round): (Step, u32), result: &Result<Advice, String>) {
    let advice = result.as_ref().map_err(String::as_str);
    advised(draft, step, round, advice, Speaker::default());
}

/// A stage gave its verdict.
fn said(draft: &mut Draft<'_>, step: Step, opinion: &Opinion, speaker: Speaker<'_>, grounds: Grounds) {
    let name = draft.task_plan().scrutiny.name(step).to_owned();
    let stood_in = speaker.stood_in(draft, step);
    let outcome = match opinion.verdict {
        DeclaredVerdict::Pass => Verdict::Pass,
        DeclaredVerdict::Fail => Verdict::Fail,
        DeclaredVerdict::Refer => Verdict::Refer,
    };
    let cause = (outcome != Verdict::Pass).then_some(Cause::Stage);
    let open = open_points_of(draft, speaker, &opinion.prior);
    verdict(draft, step, outcome, cause, |report| {
        report.reason = Some(opinion.reason.clone()).filter(|reason| !reason.is_empty());
        speaker.sign(report);
        if outcome == Verdict::Fail {
            // Whoever mends it must know which stage wants what.
            let reason = match opinion.reason.as_str() {
                "" => format!("the stage '{name}' failed it"),
                reason => format!("stage '{name}': {reason}"),
            };
            report.findings.push(Finding::new(Severity::High, reason));
        }
        report.findings.extend(opinion.findings.iter().cloned());
        report.findings.extend(stood_in);
        carry_on(&mut report.findings, open);
    });
    match outcome {
        // It looked at one thing. What nobody has reviewed as a whole stays so.
        Verdict::Pass => go_on(draft, Some(step), grounds.into()),
        Verdict::Fail => conclude::not_good_enough(draft),
        Verdict::Refer | Verdict::Skip | Verdict::Fault => {
            let message = match opinion.reason.as_str() {
                "" => format!("the stage '{name}' leaves it to a person"),
                reason => format!("the stage '{name}' leaves it to a person: {reason}"),
            };
            ask_person(draft, step, Cause::Stage, &message, grounds);
        }
    }
}

/// A red team or a vision check reported.
fn found(draft: &mut Draft<'_>, step: Step, report: &FindingsReport, speaker: Speaker<'_>, grounds: Grounds) {
    let findings = &report.findings;
    let unread = report.unread.as_deref().map(|why| {
        let message = format!("not all of the report could be read: {why}");
        Finding::new(Severity::Info, message)
    });
    let open = open_points_of(draft, speaker, &report.prior);
    // A point that it says itself was not addressed is its finding; one that it is silent about is only carried on.
    let points = prior_points(draft.plan(), draft.id, &draft.task);
    let denied = prior::denied(&points, &report.prior);
    let missing = match step {
        Step::Vision => missing_screenshots(draft).join(", "),
        Step::Stage(_) | Step::RedTeam => String::new(),
    };
    let unseen = (!missing.is_empty()).then(|| {
        Finding::new(
            Severity::Info,
            format!("not looked at, for it is not there: {missing}"),
        )
    });
    let stood_in = speaker.stood_in(draft, step);
    let autonomy = draft.task_plan().scrutiny.autonomy;
    let outcome = match (route(findings, autonomy), route(&denied, autonomy)) {
        (Verdict::Pass, Verdict::Pass) => Verdict::Pass,
        _ => Verdict::Fail,
    };
    let cause = (outcome == Verdict::Fail).then(|| cause_of(step));
    verdict(draft, step, outcome, cause, |report| {
        report.findings = findings.clone();
        let remarks = unread.into_iter().chain(unseen).chain(stood_in);
        report.findings.extend(remarks);
        carry_on(&mut report.findings, open);
        speaker.sign(report);
    });
    if outcome == Verdict::Fail {
        conclude::not_good_enough(draft);
    } else {
        go_on(draft, Some(step), grounds.into());
    }
}

/// The points of the earlier review that are still open by what somebody answered. A command, and what is measured, is not
/// asked about them.
fn open_points_of(draft: &Draft<'_>, speaker: Speaker<'_>, answers: &[PriorAnswer]) -> Vec<Finding> {
    match speaker.agent {
        Some(_) => open_points(draft, &[answers]),
        None => Vec::new(),
    }
}

/// It said nothing that counts: it is asked so many times more, and then its fault is dealt with. A report that speaks of
/// something grave is a person's to read, where no program can.
fn no_word(
    draft: &mut Draft<'_>,
    (step, round, grounds): (Step, u32, Grounds),
    (why, said, is_grave): (&str, &str, bool),
    speaker: Speaker<'_>,
    more: u32,
) {
    draft.emit(Event::Task(
        draft.id,
        TaskEvent::StageFailed {
            step: Some(step),
            message: why.to_owned(),
        },
    ));
    if stages::nth_round(draft, round) <= more {
        return ask(draft, step, round + 1, grounds.into());
    }
    let name = draft.task_plan().scrutiny.name(step);
    match step {
        Step::Stage(_) => {
            let message = format!("the stage '{name}' gave no verdict: {why}");
            refer(draft, step, Cause::GateError, &message, grounds, speaker);
        }
        Step::RedTeam | Step::Vision if is_grave => {
            let message = format!("{name} speaks of something grave, and its report cannot be read: {why}");
            let evidence = Some(said).filter(|said| !said.is_empty());
            verdict(draft, step, Verdict::Refer, Some(Cause::GateError), |report| {
                let finding = Finding::new(Severity::Info, message.as_str());
                report.findings = vec![match evidence {
                    Some(said) => finding.with_evidence(said),
                    None => finding,
                }];
                speaker.sign(report);
            });
            ask_person(draft, step, Cause::GateError, &message, grounds);
        }
        Step::RedTeam | Step::Vision => {
            fault(draft, step, Cause::GateError, (why, said), speaker);
            go_on(draft, Some(step), grounds.into());
        }
    }
}

/// A red team or a vision check gave no report. That is on record and open.
fn fault(draft: &mut Draft<'_>, step: Step, cause: Cause, (why, said): (&str, &str), speaker: Speaker<'_>) {
    let name = draft.task_plan().scrutiny.name(step);
    let message = format!("{name} gave no report, and the work goes on without it: {why}");
    verdict(draft, step, Verdict::Fault, Some(cause), |report| {
        let mut finding = Finding::new(Severity::Info, message);
        if !said.is_empty() {
            finding = finding.with_evidence(said);
        }
        report.findings = vec![finding];
        speaker.sign(report);
    });
}

/// The agents that would be asked about a task, and in which step. People are asked from outside.
pub(super) fn agents(plan: &Plan, task: TaskId) -> impl Iterator<Item = (Step, AgentId)> + '_ {
    let scrutiny = &plan.task(task).scrutiny;
    let asked = scrutiny
        .steps()
        .filter_map(|step| Some((step, scrutiny.agent(step)?)));
    asked.filter(move |(_, agent)| {
        plan.rules.evaluate
            && plan.agent(*agent).spec.adapter != Adapter::Human
            && depends_on_author(plan, task, *agent).is_none()
    })
}

/// A later session does not want judges asked (`resume --no-eval`), and one of these is.
pub(super) fn asks_in_vain(state: &State, id: TaskId) -> bool {
    let stage = state.task(id).judging().and_then(|judging| judging.stage);
    stage.is_some_and(|stage| stage.step.is_some() && stage.open && !stage.plain)
        && !state.plan.rules.evaluate
}

/// Then it is withdrawn, and the work goes on without it.
pub(super) fn withdraw(draft: &mut Draft<'_>) {
    let stage = draft.task.judging().and_then(|judging| judging.stage);
    let Some((open, withdrawn)) = stage.and_then(|stage| Some((stage, stage.step?))) else {
        return;
    };
    ask::call_off(draft);
    let scrutiny = &draft.task_plan().scrutiny;
    let before = scrutiny.steps().take_while(|step| *step < withdrawn).last();
    go_on(draft, before, open.grounds.into());
}

fn cause_of(step: Step) -> Cause {
    match step {
        Step::Stage(_) => Cause::Stage,
        Step::RedTeam => Cause::RedTeam,
        Step::Vision => Cause::Vision,
    }
}

fn refer(
    draft: &mut Draft<'_>,
    step: Step,
    cause: Cause,
    message: &str,
    grounds: Grounds,
    speaker: Speaker<'_>,
) {
    verdict(draft, step, Verdict::Refer, Some(cause), |report| {
        report.findings = vec![Finding::new(Severity::Info, message)];
        speaker.sign(report);
    });
    ask_person(draft, step, cause, message, grounds);
}

fn ask_person(draft: &mut Draft<'_>, step: Step, cause: Cause, message: &str, grounds: Grounds) {
    let message = conclude::put_to_a_person(message, grounds == Grounds::Unreviewed);
    conclude::ask_person_at(draft, step.stage(), Some(step), cause, &message);
}

/// The verdict of a step, under its name.
fn verdict(
    draft: &mut Draft<'_>,
    step: Step,
    verdict: Verdict,
    cause: Option<Cause>,
    fill: impl FnOnce(&mut StageReport),
) {
    let name = match step {
        Step::Stage(_) => Some(draft.task_plan().scrutiny.name(step).to_owned()),
        Step::RedTeam | Step::Vision => None,
    };
    conclude::stage(draft, step.stage(), verdict, cause, |report| {
        report.name = name;
        fill(report);
    });
}
