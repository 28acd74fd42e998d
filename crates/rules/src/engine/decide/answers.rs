//! Answers to holds, by whomever (semantics, sections 5, 6, 14 and 17): whatever anybody says goes through [`said`], the end of
//! the time through [`time_is_up`]. What an answer leads to is told by the hold itself.

use crate::domain::{
    BarrierId, Cause, Edge, FailureMode, Finding, HoldOwner, Severity, Stage, StageKey, Status, TaskId,
    Timestamp, Verdict, WaitingReason,
};
use crate::engine::event::{Event, HoldEvent, Resolution, TaskEvent};
use crate::engine::event_payload::StageReport;
use crate::engine::state::{Hold, Resume, State};

use super::draft::Draft;
use super::holds::resolve;
use super::{admission, approvals, conclude, worker_questions};

/// The words for an agent whose tool call a person allows.
const ALLOWED_ONCE: &str = "a person allows this call, once";

/// The answer to a hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HoldCommand<'a> {
    Yes,
    /// A no, with its reason.
    No(&'a str),
    /// The answer to a question.
    Text(&'a str),
    /// Nobody said anything in time.
    Silence,
}

/// Decides about somebody's answer to a hold.
pub fn said(state: &State, of: HoldOwner, word: HoldCommand<'_>, by: &str, now: Timestamp) -> Vec<Event> {
    match of {
        HoldOwner::Task(task) => {
            let mut draft = Draft::new(state, task);
            answer(&mut draft, word, by, now);
            draft.into_events()
        }
        HoldOwner::Barrier(barrier) => answer_barrier(state, barrier, word, by),
    }
}

impl<'a> HoldCommand<'a> {
    /// How a hold is resolved with it, what that leads to, and what was said.
    fn resolves(self, hold: &Hold) -> (Resolution, Resume, &'a str) {
        match self {
            Self::Yes => (Resolution::Approved, hold.on_yes(), ALLOWED_ONCE),
            Self::Text(text) => (Resolution::Answered, hold.on_yes(), text),
            Self::No(reason) => (Resolution::Rejected, hold.on_no(), reason),
            Self::Silence => (Resolution::TimedOut, hold.on_silence(), ""),
        }
    }
}

/// A task's hold is answered: the task moves as the hold says.
pub fn answer(draft: &mut Draft<'_>, word: HoldCommand<'_>, by: &str, now: Timestamp) {
    let Some(hold) = draft.task.hold().cloned() else {
        return;
    };
    let (resolution, resume, said) = word.resolves(&hold);
    resolve(draft, resolution, by);
    draft.no_slot = (!admission::admits(draft.state, draft.id, admission::Work::Begun)).then_some(now);
    match resume {
        Resume::Start => approvals::go_on(draft, now),
        Resume::Turn => worker_questions::take(draft, said, by, Some(hold.number)),
        Resume::Judge => {
            draft.enter(Status::Review);
            admission::go_on_behind(draft, hold.stage, now);
        }
        Resume::Pass => {
            stands_for_the_stage(draft, &hold, None, by);
            admission::go_on_behind(draft, hold.stage, now);
        }
        Resume::Accept => {
            stands_for_the_stage(draft, &hold, None, by);
            conclude::accept(draft, Edge::Pass, None);
        }
        Resume::Rework => {
            stands_for_the_stage(draft, &hold, Some(said), by);
            conclude::not_good_enough(draft);
        }
        Resume::GiveUp => {
            stands_for_the_stage(draft, &hold, Some(said), by);
            draft.fail(FailureMode::Rejected, format!("rejected by {by}: {said}"));
        }
        Resume::Fail(mode) => {
            let why = match (word, hold.reason) {
                (HoldCommand::Silence, reason) => unanswered(draft, reason),
                (_, WaitingReason::Auth) => format!("a tool call was refused by {by}: {said}"),
                _ => format!("rejected by {by}: {said}"),
            };
            draft.fail(mode, why);
        }
        // What only a checkpoint and a delay lead to.
        Resume::Release | Resume::Block => {}
    }
}

/// The hold of a checkpoint or a delay is answered: what stands behind it starts, or has failed.
fn answer_barrier(state: &State, barrier: BarrierId, word: HoldCommand<'_>, by: &str) -> Vec<Event> {
    let Some(hold) = state.hold(barrier.into()) else {
        return Vec::new();
    };
    let (resolution, resume, said) = word.resolves(hold);
    let mut events = vec![Event::Hold(
        barrier.into(),
        HoldEvent::Closed {
            number: hold.number,
            resolution,
            by: by.to_owned(),
            reason: (resume == Resume::Block).then(|| said.to_owned()),
        },
    )];
    if resume != Resume::Block {
        return events;
    }
    let plan = state.plan.barrier(barrier);
    for id in &plan.blocks {
        if state.task(*id).status() != Status::Pending || !state.takes(*id) {
            continue;
        }
        let mut draft = Draft::new(state, *id);
        let why = format!("checkpoint '{}' rejected by {by}: {said}", plan.name);
        draft.fail(FailureMode::Rejected, why);
        events.extend(draft.into_events());
    }
    events
}

/// A person's word stands for the stage that referred the work: that person is the reviewer. With a yes, they are so beside
/// the panel that let it pass, if there was one, and its score is the work's score; with a no, what a panel found goes
/// along, but not its score, for the work is not as good as the panel thought.
fn stands_for_the_stage(draft: &mut Draft<'_>, hold: &Hold, objection: Option<&str>, by: &str) {
    let before = draft.state.task(draft.id);
    let judged = before.judged();
    let panel = judged.and_then(|judged| judged.panel.as_deref());
    let panel = panel.filter(|_| hold.stage == StageKey::JUDGE);
    draft.enter(Status::Review);
    let (verdict, cause) = match objection {
        None => (Verdict::Pass, None),
        Some(_) => (Verdict::Fail, Some(Cause::Rejected)),
    };
    let mut report = draft.view().report(hold.stage, verdict, cause);
    report.by = Some(by.to_owned());
    let objected = objection.map(|reason| Finding::new(Severity::High, reason));
    let found = panel.into_iter().flat_map(|panel| panel.findings.clone());
    report.findings = objected.into_iter().chain(found).collect();
    if objection.is_none() {
        // What the judges gave stays the score, whatever the person says of it.
        report.points = before.attempt.points.filter(|_| hold.on_yes() == Resume::Accept);
        if let Some(panel) = panel {
            report.points = panel.points;
            report.dimensions.clone_from(&panel.dimensions);
            report.outliers.clone_from(&panel.outliers);
        }
        let since = |path: &String| {
            let text =
                format!("{path} changed after the question was asked; the yes is for what it was when given");
            Finding::new(Severity::Info, text)
        };
        let changed = judged.iter().flat_map(|judged| &judged.changed);
        report.findings.extend(changed.map(since));
    }
    conclude::record(draft, *report);
}

/// A person answers that work was accepted below its bar: they know of it, which changes nothing of it; or refuse it, and its
/// task has failed. What was done on it stays.
pub fn below_its_bar(state: &State, task: TaskId, refused: Option<&str>, by: &str) -> Vec<Event> {
    let mut draft = Draft::new(state, task);
    let (by, reason) = (by.to_owned(), refused.map(str::to_owned));
    let why = refused.map(|reason| format!("rejected by {by}: {reason}"));
    if let Some(reason) = refused {
        let attempt = &draft.task.attempt;
        let (stage, cause) = (Stage::Judge, Some(Cause::Rejected));
        let mut report = StageReport::new(task, attempt.number, stage, Verdict::Fail, cause);
        report.points = attempt.points;
        report.by = Some(by.clone());
        report.add(Severity::High, reason);
        draft.emit(Event::verdict(report));
    }
    draft.emit_own(TaskEvent::AcceptanceAnswered { by, reason });
    if let Some(why) = why {
        draft.enter_because(Status::Pending, "its work is refused after all");
        draft.fail(FailureMode::Rejected, why);
    }
    draft.into_events()
}

/// The words about work that ends because nobody answered in time.
fn unanswered(draft: &Draft<'_>, reason: WaitingReason) -> String {
    let (what, limit) = match reason {
        WaitingReason::Auth => ("allowed a tool call of its agent", worker_questions::patience(draft)),
        _ => ("approved it", approvals::patience(draft)),
    };
    let within = limit.map_or_else(String::new, |limit| format!(" within {limit}"));
    format!("nobody {what}{within}")
}

/// The time of a hold is up: the moment of a delay has come; else nobody answered in time, which is a no, or it is said so
/// and stays open. A tool call is denied.
pub fn time_is_up(state: &State, of: HoldOwner, number: u32, now: Timestamp) -> Vec<Event> {
    let Some(hold) = state.hold(of).filter(|hold| hold.number == number) else {
        return Vec::new();
    };
    if hold.ends_by_silence(state.plan.rules.settings.auto_reject_on_timeout) {
        said(state, of, HoldCommand::Silence, "quorum", now)
    } else {
        vec![Event::Hold(of, HoldEvent::TimedOut { number })]
    }
}
