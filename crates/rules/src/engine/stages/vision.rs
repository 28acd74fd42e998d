//! The vision check (semantics, section 6.9): screenshots that are looked at by an agent, or measured.

use crate::domain::{Answer, Cause, Finding, Severity, StageKey};
use crate::engine::event_payload::FileFact;
use crate::engine::job::Job;
use crate::mission::model::VisionKind;
use crate::plan::{Plan, VisionPlan};

use super::step::{Opening, begin, found};
use super::view::{Actor, Next, Request, View, Word};

const KEY: StageKey = StageKey::VISION;

/// The round that looks which of the screenshots are there, before anybody is asked. What was seen of them when
/// the worker had finished is old: a check may have made them.
const LOOK: u32 = 0;

/// Begins the vision check, by the plan alone.
pub fn opening(plan: &Plan, vision: &VisionPlan) -> Opening {
    match (vision.kind, vision.agent, &vision.barred) {
        (VisionKind::Noop, ..) => Opening::Skips("not asked: its kind is noop".to_owned()),
        _ if vision.screenshots.is_empty() => {
            Opening::Skips("not asked: the mission names no screenshots".to_owned())
        }
        (VisionKind::LlmVision, Some(_), _) if !plan.rules.settings.evaluate => Opening::Withdrawn,
        (VisionKind::LlmVision, Some(agent), Some(why)) => without(plan.agent_name(agent), why),
        (VisionKind::Heuristic, ..) | (VisionKind::LlmVision, ..) => Opening::Starts,
    }
}

/// Refers a vision check whose agent may not look: nothing that the worker could do would change it.
pub fn without(who: &str, why: &str) -> Opening {
    Opening::Faults(Cause::NoReviewer, format!("nobody may look: '{who}' {why}"))
}

pub fn open(view: View<'_>, vision: &VisionPlan) -> Next {
    match opening(view.plan(), vision) {
        skips @ Opening::Skips(_) => begin(view, KEY, skips, Actor::default()),
        _ => Next::Open(vec![Request::Run(Job::Stage(KEY, LOOK))]),
    }
}

pub fn conclude(view: View<'_>, vision: &VisionPlan, word: Word<'_>, speaker: Actor<'_>) -> Next {
    match word {
        Word::Known => begin(view, KEY, seen(view, vision), Actor::default()),
        Word::Answered(Answer::Findings(report)) => {
            let missing = missing_screenshots(view).join(", ");
            let unseen = (!missing.is_empty()).then(|| {
                let text = format!("not looked at, for it is not there: {missing}");
                Finding::new(Severity::Info, text)
            });
            found(view, (KEY, Cause::Vision), report, unseen, speaker)
        }
        Word::Answered(_) | Word::Graded(_) => Next::Wait,
    }
}

/// Begins the check once it is known which of the screenshots are there. Without any it does not apply; one
/// that stands there and cannot be looked at may show anything, so nothing is known of what it should show.
fn seen(view: View<'_>, vision: &VisionPlan) -> Opening {
    let is_absent =
        |file: Option<&FileFact>| file.is_none_or(|file| file.size.is_none() && file.obstacle.is_none());
    if screenshots(view).all(|(_, file)| is_absent(file)) {
        let paths = missing_screenshots(view).join(", ");
        return Opening::Skips(format!("not asked: there is no screenshot ({paths})"));
    }
    let mut obstacles = screenshots(view).filter_map(|(path, file)| {
        let why = file?.obstacle.as_deref()?;
        Some(format!("{path} cannot be looked at: {why}"))
    });
    match (opening(view.plan(), vision), obstacles.next()) {
        (Opening::Starts, Some(why)) => Opening::Faults(Cause::GateError, why),
        (opening, _) => opening,
    }
}

/// The screenshots of the task, each with what was last seen of it.
fn screenshots(view: View<'_>) -> impl Iterator<Item = (&str, Option<&FileFact>)> {
    let files = view.files();
    let paths = view.work().screenshots();
    paths.map(move |path| (path, files.iter().find(|file| file.path == path)))
}

/// The screenshots that are not there.
fn missing_screenshots(view: View<'_>) -> Vec<&str> {
    let missing = screenshots(view).filter(|(_, file)| file.is_none_or(|file| file.size.is_none()));
    missing.map(|(path, _)| path).collect()
}
