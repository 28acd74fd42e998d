//! The stages of judging one attempt (semantics, sections 6 to 10 and 15): what each of them asks or runs, and what it makes
//! of what comes back.
//!
//! A stage is two pure functions over a read-only [`View`]: one opens it, one concludes from what came back. What it
//! wants it says in [`Next`]; whoever acts on that is the loop in `decide::pipeline`. No stage calls another one, and none
//! knows of failures of requests, of money or of time.
//!
//! | file | what |
//! |---|---|
//! | `changed_and_new_test_files` | tests that the work changed or brought; no stage, but said behind the checks (24) |
//! | `checks` | declared checks: asked for at once, weighed together (6) |
//! | `evaluation` | what one routed reviewer says (3, 7) |
//! | `finish_gate` | `verify`: what must hold before a worker may call itself finished (6.3) |
//! | `judge` | who has an opinion of the work: seats, people, the judge breaker, a panel without a verdict (3, 7, 9) |
//! | `own` | the mission's own stages: a command, an agent, a person (6.7) |
//! | `panel` | what the seats of a panel say together (7, 9) |
//! | `preflight` | what plain evidence rejects before anybody is asked (6) |
//! | `open_points` | points of an earlier review, and the answers to them (4) |
//! | `proof` | what stands for work of which every check passes; no stage, but weighed where it is accepted (24) |
//! | `red_team` | an agent that attacks the work (6.8) |
//! | `step` | what the further stages have in common (6.7 to 6.9, 15) |
//! | `verification` | the task's criteria: who grades, what grades lead to (6.6, 10) |
//! | `view` | what a stage sees of its task, and what it may say |
//! | `vision` | screenshots that are looked at by an agent, or measured (6.9) |

mod changed_and_new_test_files;
mod checks;
mod evaluation;
mod finish_gate;
mod judge;
mod open_points;
mod own;
mod panel;
mod preflight;
mod proof;
mod red_team;
mod step;
mod verification;
mod view;
mod vision;

use crate::domain::{AgentId, Answer, Cause, Purpose, Stage, StageKey, TaskId};
use crate::mission::model::Adapter;
use crate::plan::{Judge, Plan, StagePlan};

pub use changed_and_new_test_files::findings_of_tests;
pub(super) use changed_and_new_test_files::{
    accepted as weigh_accepted_tests, sends_back, weigh as weigh_tests,
};
pub use checks::FLAKY;
pub(super) use checks::note_flaky;
pub(super) use judge::panel_rounds;
use judge::seat_at;
pub use open_points::prior_points;
pub use preflight::{asks_what_it_said, nothing_to_do, signs_of_no_work};
pub(super) use preflight::{lacks_files, untouched};
pub(super) use proof::weigh as weigh_proof;
pub(super) use view::{Actor, Next, Request, View, Word, names};

/// Begins a stage, or has it asked once more in this round of its.
pub fn open(stage: &StagePlan, view: View<'_>, round: u32) -> Next {
    match (stage, stage.key().step()) {
        // Whether it is to be asked was decided in its first round.
        (_, Some(step)) if round > 1 => step::ask(view, step, round),
        (StagePlan::Preflight, _) => preflight::open(view),
        (StagePlan::Finish(gate), _) => finish_gate::open(view, gate),
        (StagePlan::Checks(checks), _) => checks::open(checks),
        (StagePlan::Judge(_), _) => judge::open(view),
        (StagePlan::Verification(by), _) => verification::open(view, by, round),
        (StagePlan::Own(own), _) => {
            let opening = own::opening(view.plan(), own);
            step::begin(view, own.key, opening, Actor::default())
        }
        (StagePlan::RedTeam(red_team), _) => red_team::open(view, red_team),
        (StagePlan::Vision(vision), _) => vision::open(view, vision),
    }
}

/// Concludes a stage by the part of its replies that counts.
pub fn conclude(stage: &StagePlan, view: View<'_>, word: Word<'_>, speaker: Actor<'_>) -> Next {
    match (stage, word) {
        (StagePlan::Preflight, _) => Next::Wait,
        (StagePlan::Finish(gate), _) => finish_gate::conclude(view, gate),
        (StagePlan::Checks(_), _) => checks::conclude(view),
        (StagePlan::Judge(Judge::Panel(panel)), _) => panel::conclude(view, panel),
        (StagePlan::Judge(_), _) => evaluation::conclude(view),
        (StagePlan::Verification(by), _) => verification::conclude(view, by, word, speaker),
        (StagePlan::Own(own), Word::Answered(Answer::Opinion(opinion))) => {
            own::conclude(view, own, opinion, speaker)
        }
        (StagePlan::Own(_), _) => Next::Wait,
        (StagePlan::RedTeam(_), _) => red_team::conclude(view, word, speaker),
        (StagePlan::Vision(vision), _) => vision::conclude(view, vision, word, speaker),
    }
}

/// Why a reply says nothing that counts in a stage, with the beginning of a sentence that says it; `None` where it does.
fn unread(
    stage: &StagePlan,
    view: View<'_>,
    purpose: Option<Purpose>,
    said: &Answer,
) -> Option<(&'static str, String)> {
    match stage {
        StagePlan::Verification(by) => verification::unread(view, by, purpose, said),
        _ => match stage.key().stage().reply() {
            Some(wanted) => step::unread(view, wanted, said),
            None => said.unreadable().map(|why| ("", why.to_owned())),
        },
    }
}

/// Why what was said does not count in a stage, in a sentence; `None` where it does.
pub fn unfit(
    stage: &StagePlan,
    view: View<'_>,
    purpose: Option<Purpose>,
    said: Result<&Answer, &str>,
) -> Option<String> {
    let why = match said {
        Ok(answer) => {
            let (before, why) = unread(stage, view, purpose, answer)?;
            format!("{before}{why}")
        }
        Err(message) => message.to_owned(),
    };
    Some(match purpose {
        Some(Purpose::Decompose { .. }) => format!("they could not be cut into probes: {why}"),
        _ => why,
    })
}

/// Why a judge's reply would be asked for once more: it says nothing that counts, or leaves points of the earlier review
/// without an answer.
pub fn what_it_lacks(stage: &StagePlan, view: View<'_>, purpose: Purpose, said: &Answer) -> Option<String> {
    let unread = unread(stage, view, Some(purpose), said).map(|(_, why)| why);
    // One that keeps the work out has said enough.
    let answers_for_points = purpose.sees_the_work() && !step::blocks(view, said);
    let points = || view.prior_points().len();
    unread.or_else(|| answers_for_points.then(|| open_points::unanswered(points(), said))?)
}

/// Decides a stage in which no reply counts, of those now and before.
pub fn on_no_reply(
    stage: &StagePlan,
    view: View<'_>,
    why: &str,
    heard: [Option<&Answer>; 2],
    speaker: Actor<'_>,
) -> Next {
    match stage.key().step() {
        Some(step) => step::on_no_reply(view, step, why, heard, speaker),
        None => verification::on_no_reply(view, why),
    }
}

/// Decides a stage in which a judge is not independent of the work after all. Asked again it would be answered
/// by the same model.
pub fn depends(
    stage: &StagePlan,
    view: View<'_>,
    who: &str,
    why: &str,
    speaker: Actor<'_>,
) -> (String, Next) {
    let opening = match stage {
        StagePlan::Own(own) => own::without(own, who, why),
        StagePlan::RedTeam(red_team) => red_team::without(red_team, who, why),
        StagePlan::Vision(_) => vision::without(who, why),
        _ => {
            let message = format!("'{who}' is not independent: {why}");
            let next = verification::depends(view, &message);
            return (message, next);
        }
    };
    (format!("'{who}' {why}"), step::begin(view, stage.key(), opening, speaker))
}

/// A person decides instead of a stage: the files changed whenever it was asked about them.
pub fn unstable(key: StageKey, view: View<'_>, message: &str, speaker: Actor<'_>) -> Next {
    match key.stage() {
        Stage::Verification => verification::refer(view, Cause::Unstable, message),
        stage if stage.is_further() => step::refer(view, key, Cause::Unstable, message, speaker),
        _ => judge::refer(view, Cause::Unstable, message),
    }
}

/// The agents that would be asked to judge a task, and for what in a first round. People are asked from outside.
pub fn judges(plan: &Plan, id: TaskId) -> Vec<(Purpose, AgentId)> {
    let (task, round) = (plan.task(id), 1);
    let seats = (0..).zip(task.judge().map_or(&[][..], Judge::seats));
    let seats = seats.map(|(seat, agent)| (Purpose::Score(seat_at(seat)), *agent));
    let by = task.verification();
    let by = by.filter(|by| by.grader.is_some() && by.decomposer_barred.is_none());
    let cuts = by.and_then(|by| Some((Purpose::Decompose { round }, by.decomposer?)));
    let grades = by.and_then(|by| Some((Purpose::Grade { round }, by.grader?)));
    let may = |(_, agent): &(StageKey, AgentId)| plan.agent(*agent).spec.adapter != Adapter::Human;
    let behind = task.pipeline.iter().filter(|stage| stage.barred().is_none());
    let behind = behind.filter_map(|stage| Some((stage.key().step()?, stage.agent()?)));
    let behind = behind.filter(may);
    let behind = behind.map(|(step, agent)| (Purpose::Stage { step, round }, agent));
    let all = seats.chain(cuts).chain(grades).chain(behind);
    all.filter(|_| plan.rules.settings.evaluate).collect()
}

/// Why a further stage will not be asked about a task, where the plan alone says so.
pub fn not_asked(plan: &Plan, task: TaskId, step: StageKey) -> Option<String> {
    let work = plan.task(task);
    let opening = match work.stage(step)? {
        StagePlan::Own(own) => own::opening(plan, own),
        StagePlan::RedTeam(red_team) => red_team::opening(plan, work.stakes, red_team),
        StagePlan::Vision(vision) => vision::opening(plan, vision),
        _ => return None,
    };
    opening.why_not()
}
