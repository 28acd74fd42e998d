//! Who has an opinion of the work: a panel, one evaluating reviewer, the people who were named, or nobody (semantics,
//! sections 3, 7 and 9). What replies mean is said in `panel` and `evaluation`.
//!
//! The judge breaker: so many judged rejections of one model's work in a row, and its work is not judged any more in this
//! wave. It is unverified then, never clean, and indeterminate where a review was asked for. A task that its judges have
//! sent back stays theirs, and so does the fixup that mends it: every attempt that it is allowed is judged, the last one
//! too (section 4), and work that is known to be bad is never accepted unseen.

use crate::domain::{AgentId, Cause, Finding, Purpose, SeatPlace, Severity, StageKey, TaskId, Verdict};
use crate::engine::quality_flag::Mark;
use crate::engine::state::{Seat, SeatState, State};
use crate::mission::model::Review;
use crate::plan::eligibility::{excluded, named};
use crate::plan::{Judge, Plan};

use super::panel::ask_round;
use super::view::{Next, View, names};

pub const KEY: StageKey = StageKey::JUDGE;

/// Rounds that a panel without any verdict is given.
pub fn panel_rounds(plan: &Plan) -> u64 {
    u64::from(plan.rules.settings.max_assessment_retries) + 1
}

pub fn open(view: View<'_>) -> Next {
    if let Some(rejections) = rejections(view.state, view.id) {
        return not_judged(view, rejections);
    }
    match view.plan().judge(view.id) {
        Some(judge) if !judge.seats().is_empty() => ask_round(view),
        Some(judge) if !judge.people().is_empty() => ask_people(view, judge.people()),
        Some(Judge::Panel(_) | Judge::Evaluation(_)) => refer(view, Cause::NoReviewer, &nobody_may(view)),
        Some(Judge::Nobody) | None => Next::Pass(None),
    }
}

/// The rejections in a row that keep a task's work from its judges; `None` while they are asked. Preflight rejects and
/// failed checks never count: they are no judge's word.
fn rejections(state: &State, id: TaskId) -> Option<u32> {
    let judge = state.plan.judge(id)?;
    if judge.seats().is_empty() || state.task(id).course.sent_back {
        return None;
    }
    let own = match judge {
        Judge::Panel(panel) => panel.judge_breaker,
        Judge::Evaluation(_) | Judge::Nobody => None,
    };
    let limit = own.unwrap_or(state.plan.rules.settings.judge_breaker);
    let rejections = state.rejections(id);
    (limit > 0 && rejections >= limit).then_some(rejections)
}

/// On without the judges. People who were named have their say all the same.
fn not_judged(view: View<'_>, rejections: u32) -> Next {
    let panel = view.work().panel();
    if let Some(panel) = panel.filter(|panel| !panel.people.is_empty()) {
        return ask_people(view, &panel.people);
    }
    let model = view.state.worker_model(view.id);
    let message = format!("not judged: {rejections} rejections in a row of the work of {model} in this wave");
    let mut report = view.report(KEY, Verdict::Skip, Some(Cause::Breaker));
    report.add(Severity::High, message);
    let was_asked_for = panel.is_some() || view.work().review == Review::Required;
    report.mark = was_asked_for.then_some(Mark::Indeterminate);
    Next::Pass(Some(report))
}

/// No agent is asked: the people who were named decide.
fn ask_people(view: View<'_>, people: &[AgentId]) -> Next {
    let message = format!("to be reviewed by {}", names(view.plan(), people, "or"));
    refer(view, Cause::Person, &message)
}

/// A review that was asked for is missing.
pub fn nobody_may(view: View<'_>) -> String {
    let (plan, id) = (view.plan(), view.id);
    let why = match excluded(plan, id, named(plan, id)).first() {
        None => "no agent other than its author is able to judge".to_owned(),
        Some((agent, why)) => {
            format!("nobody independent is able to judge: '{}': {why}", plan.agent_name(*agent))
        }
    };
    format!("nobody may review this work: {why}")
}

/// The findings about judges that were asked instead of somebody else, which is never silent.
pub fn fallbacks<'a>(view: View<'a>, seats: &'a [Seat]) -> impl Iterator<Item = Finding> + 'a {
    let instead = (0..).map(seat_at).zip(seats);
    instead.filter_map(move |(place, seat)| view.fell_back(Purpose::Score(place), Some(seat.agent)))
}

/// A seat, whatever the attempt and the round.
pub fn seat_at(seat: u32) -> SeatPlace {
    SeatPlace { seat, ..SeatPlace::default() }
}

/// Reviewers that are named with what kept them from answering.
const UNREACHED_NAMED: usize = 3;

/// The judges that could not be reached, and why: `alice (provider_auth: HTTP 401 from …), bob (…)`.
fn unreached(plan: &Plan, seats: &[Seat]) -> String {
    let why = |seat: &Seat| match (&seat.state, seat.unreached.as_deref()) {
        (SeatState::Failed(class), Some(message)) if !message.is_empty() => {
            format!("{} ({}: {message})", plan.agent_name(seat.agent), class.as_str())
        }
        (SeatState::Failed(class), _) => format!("{} ({})", plan.agent_name(seat.agent), class.as_str()),
        _ => plan.agent_name(seat.agent).to_owned(),
    };
    let mut named: Vec<String> = seats.iter().take(UNREACHED_NAMED).map(why).collect();
    if seats.len() > UNREACHED_NAMED {
        named.push(format!("{} more", seats.len() - UNREACHED_NAMED));
    }
    named.join(", ")
}

/// No seat gave a verdict: the panel is run again within its bound, then a person must decide.
pub fn no_verdict(view: View<'_>, seats: &[Seat]) -> Next {
    let rounds = view.judging().rounds;
    // Who gives the same non-answer to a strict question gives it to any.
    let is_hopeless = seats.iter().all(|seat| seat.repeats);
    let more = u64::from(view.judging().is_repeated());
    let may_repeat = view.work().panel().is_some() && !is_hopeless;
    if may_repeat && u64::from(rounds) < panel_rounds(view.plan()) + more {
        return ask_round(view);
    }
    let unread = seats.iter().filter_map(|seat| match &seat.state {
        SeatState::Replied(answer) => answer.unreadable(),
        SeatState::Asked | SeatState::Failed(_) => None,
    });
    let unread: Vec<&str> = unread.collect();
    let message = match (unread.len(), unread.last()) {
        (0, _) => format!("no reviewer could be reached: {}", unreached(view.plan(), seats)),
        (n, Some(why)) if n == seats.len() => format!("no reviewer's reply could be read: {why}"),
        (n, _) => format!(
            "{n} of {} reviewers sent replies that could not be read, the others could not be reached",
            seats.len()
        ),
    };
    refer(view, Cause::GateError, &message)
}

/// A person decides instead of the judges.
pub fn refer(view: View<'_>, cause: Cause, message: &str) -> Next {
    let report = view.remark(KEY, Verdict::Refer, Some(cause), message);
    Next::Refer(report, message.to_owned())
}
