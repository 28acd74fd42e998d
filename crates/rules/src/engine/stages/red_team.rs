//! The red team (semantics, section 6.8): an agent that attacks the work.

use crate::domain::{Answer, Cause, Severity, StageKey, Verdict};
use crate::engine::event_payload::FileFact;
use crate::mission::model::{OnMissing, Stakes};
use crate::plan::{Plan, RedTeamPlan};

use super::step::{Opening, begin, found};
use super::view::{Actor, Next, View, Word};

const KEY: StageKey = StageKey::RED_TEAM;

/// Begins the red team, by the plan alone.
pub fn opening(plan: &Plan, stakes: Stakes, red_team: &RedTeamPlan) -> Opening {
    if stakes < red_team.min_stakes {
        return Opening::Skips(format!(
            "not asked: the stakes are {}, and it is asked from {} on",
            stakes.as_str(),
            red_team.min_stakes.as_str()
        ));
    }
    match &red_team.barred {
        _ if !plan.rules.settings.evaluate => Opening::Withdrawn,
        None => Opening::Starts,
        Some(why) => without(red_team, plan.agent_name(red_team.agent), why),
    }
}

/// Refuses or skips a red team whose agent may not attack: nothing that the worker could do would change it.
pub fn without(red_team: &RedTeamPlan, who: &str, why: &str) -> Opening {
    let why = format!("the red team may not attack: '{who}' {why}");
    match red_team.on_missing {
        OnMissing::Skip => Opening::Skips(why),
        OnMissing::Block => Opening::Refers(Cause::NoReviewer, why),
    }
}

pub fn open(view: View<'_>, red_team: &RedTeamPlan) -> Next {
    let opening = opening(view.plan(), view.work().stakes, red_team);
    if !matches!(opening, Opening::Starts) || has_deliverable(view) {
        return begin(view, KEY, opening, Actor::default());
    }
    let why = "the red team has nothing to attack: the answer is empty, and no file that the task names has content";
    match red_team.on_missing {
        OnMissing::Skip => begin(view, KEY, Opening::Skips(why.to_owned()), Actor::default()),
        OnMissing::Block => {
            let mut report = view.report(KEY, Verdict::Fail, Some(Cause::RedTeam));
            report.add(Severity::High, why);
            Next::Fail(report)
        }
    }
}

/// Whether there is anything to look at: an answer, or a file with content that the task's rules name.
fn has_deliverable(view: View<'_>) -> bool {
    let said = &view.task.output;
    said.stdout.as_ref().is_some_and(|out| out.length > 0)
        || said.result.is_some()
        || view.files().iter().any(FileFact::has_content)
}

/// Concludes the stage by the report of the red team.
pub fn conclude(view: View<'_>, word: Word<'_>, speaker: Actor<'_>) -> Next {
    match word {
        Word::Answered(Answer::Findings(report)) => found(view, (KEY, Cause::RedTeam), report, None, speaker),
        _ => Next::Wait,
    }
}
