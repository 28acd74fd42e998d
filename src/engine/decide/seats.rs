//! Asking reviewers: the seats of a panel, or the one seat of an evaluation (semantics, sections 7, 9 and 13).
//!
//! The engine counts here: one strict reprompt a seat, three request retries a seat and round, rounds of the panel.
//! A judge that fails never costs the worker an attempt.

use crate::domain::{
    Advice, AgentId, Cause, DimensionScore, Finding, Points, PriorAnswer, Purpose, SeatPlace, Severity,
    Stage, TaskId, Timestamp, Verdict,
};
use crate::engine::audit::AfterScan;
use crate::engine::event::{Event, TaskEvent};
use crate::engine::policy::{WorkKind, policy};
use crate::engine::state::{Ask, Judging, Seat, SeatState, State};
use crate::judging::consensus::{SeatScores, is_decided, is_unsure, merge};
use crate::judging::eligibility::independence;
use crate::judging::independence::{Dependence, Mind};
use crate::judging::prior;
use crate::mission::model::PanelMode;
use crate::mission::{Panel, Plan};

use super::conclude;
use super::deferral;
use super::draft::Draft;
use super::prior::{carry_on, open_points, prior_points};
use super::stages::{JudgedBy, judged_by, names};
use super::{ask, stages, verification};

/// Rounds that a panel without any verdict is given.
pub(super) fn panel_rounds(plan: &Plan) -> u64 {
    u64::from(plan.rules.max_assessment_retries) + 1
}

/// Seats of an adaptive panel that are always asked.
const FIRST_SEATS: usize = 2;

/// Opens a round: every seat is asked at once, each in a context of its own; of an adaptive panel only the first.
pub(super) fn ask_round(draft: &mut Draft<'_>, agents: &[AgentId]) {
    let round = draft.task.attempt.rounds + 1;
    let at_once = if is_adaptive(draft.plan(), draft.id) {
        FIRST_SEATS.min(agents.len())
    } else {
        agents.len()
    };
    for (seat, agent) in agents[..at_once].iter().enumerate() {
        ask_seat(draft, round, seat, *agent);
    }
}

fn ask_seat(draft: &mut Draft<'_>, round: u32, seat: usize, agent: AgentId) {
    let place = SeatPlace {
        attempt: draft.task.attempt.number,
        round,
        seat: u32::try_from(seat).expect("the loader limits the seats of a panel"),
    };
    ask::ask(draft, Purpose::Score(place), agent);
}

/// Whether a panel asks its later seats only while they could change the verdict. Where anything else consumes the score
/// (a gate's minScore, the mission's threshold, `referBelow`) every seat has its say.
pub(in crate::engine) fn is_adaptive(plan: &Plan, task: TaskId) -> bool {
    let gates = plan.gates_after.of(task.index());
    panel_of(plan, task).is_some_and(|panel| {
        panel.mode == PanelMode::Adaptive
            && panel.refer_below.is_none()
            && plan.rules.quality_threshold.is_none()
            && gates.iter().all(|gate| plan.gate(*gate).min_score.is_none())
    })
}

fn panel_of(plan: &Plan, task: TaskId) -> Option<&Panel> {
    plan.task(task).expectations.as_deref()?.panel.as_ref()
}

/// The agents of all seats of the task's panel, asked or not.
fn all_seats(state: &State, task: TaskId) -> Vec<AgentId> {
    match judged_by(state, task) {
        JudgedBy::Panel(panel) => panel.seats,
        JudgedBy::Evaluation(agents) => agents,
        JudgedBy::ChecksOnly | JudgedBy::Nobody => Vec::new(),
    }
}

/// A reviewer replied: it is asked once more where its reply lacks something, and has not been asked again.
pub(super) fn replied(
    draft: &mut Draft<'_>,
    open: &Ask,
    advice: &Advice,
    was_asked_again: bool,
    now: Timestamp,
) {
    let lacking = what_it_lacks(draft, advice);
    let reprompts = u32::from(open.strict.is_some() || was_asked_again);
    let is_asked_again = reprompts < policy(WorkKind::Ask(open.purpose)).reprompts;
    match lacking.filter(|_| is_asked_again) {
        Some(why) => ask::ask_again(draft, open, open.agent, Some(why), None),
        None => settle(draft, now),
    }
}

fn seat<'d>(draft: &'d Draft<'_>, place: SeatPlace) -> Option<&'d Seat> {
    draft.task.judging()?.seats.get(place.seat as usize)
}

/// Whether a seat has said something that counts, while it is asked for the second time.
pub(super) fn has_said(draft: &Draft<'_>, place: SeatPlace) -> bool {
    seat(draft, place).is_some_and(|seat| seat.first.is_some())
}

/// Who was to sit on a seat.
pub(super) fn first_asked(draft: &Draft<'_>, place: SeatPlace) -> Option<AgentId> {
    seat(draft, place)?.instead_of
}

/// Why a reply would be asked for once more: it cannot be read, or leaves points of the earlier review without an answer.
fn what_it_lacks(draft: &Draft<'_>, advice: &Advice) -> Option<String> {
    match advice {
        Advice::Unreadable { why, .. } => Some(why.clone()),
        Advice::Scores { prior, .. } | Advice::Evaluation { prior, .. } => {
            let points = prior_points(draft.plan(), draft.id, &draft.task);
            prior::unanswered(points.len(), prior)
        }
        _ => None,
    }
}

/// What keeps a reviewer's word from counting, by the models that the providers say they used (section 8).
pub(super) fn dependence(draft: &Draft<'_>, reviewer: AgentId, returned: Option<&str>) -> Option<Dependence> {
    let plan = draft.plan();
    let rule = independence(plan, draft.id);
    let reviewer = Mind::of(plan.agent(reviewer), returned);
    let depends_on =
        |agent: AgentId, model: Option<&str>| reviewer.depends_on(&Mind::of(plan.agent(agent), model), rule);
    if plan.route(draft.id).is_none() {
        return depends_on(plan.task(draft.id).agent, draft.task.output.model.as_deref());
    }
    // A verification judges the work of others.
    let mut judged = plan.judged(draft.id).map(|id| draft.state.standing(id));
    judged.find_map(|id| {
        let model = draft.state.task(id).output.model.as_deref();
        depends_on(plan.task(id).agent, model)
    })
}

/// Once every seat has come to an end: the stage's verdict.
pub(super) fn settle(draft: &mut Draft<'_>, now: Timestamp) {
    if draft.task.work.asks.iter().any(|open| open.purpose.is_judging()) {
        return deferral::judges_wait(draft, now);
    }
    let Some(judging) = draft.task.judging() else {
        return;
    };
    let (mut seats, round) = (judging.seats.clone(), judging.round);
    match stages::must_be_asked_again(draft) {
        Some(Ok(())) => return stages::scan(draft, AfterScan::Repeat),
        Some(Err(message)) => return conclude::refer(draft, Stage::Judge, Cause::Unstable, &message),
        None => {}
    }
    for seat in &mut seats {
        // Asked once more it could not be reached: what it said first counts.
        if let (SeatState::Failed(_), Some(first)) = (&seat.state, seat.first.take()) {
            seat.state = SeatState::Replied(first);
        }
    }
    let Some(panel) = panel_of(draft.plan(), draft.id) else {
        return settle_evaluation(draft, &seats);
    };
    let all = all_seats(draft.state, draft.id);
    let more = all.len().saturating_sub(seats.len());
    let bar = draft.plan().relieved(draft.id, panel.bar);
    if more > 0 && could_change(panel, bar.points, &seats, more) {
        return ask_seat(draft, round, seats.len(), all[seats.len()]);
    }
    settle_panel(draft, &seats, &all[all.len() - more..]);
}

/// Whether seats that were not asked yet could still change the verdict. Two replies at least are wanted.
fn could_change(panel: &Panel, bar: Points, seats: &[Seat], more: usize) -> bool {
    let inputs = inputs(&scored(seats));
    inputs.len() < FIRST_SEATS || is_decided(&inputs, more, &panel.dimensions, panel.consensus, bar).is_none()
}

/// A seat that gave scores: its position, what it scored, what it found, what it answered.
type Scored<'a> = (u32, &'a Vec<DimensionScore>, &'a Vec<Finding>, &'a [PriorAnswer]);

fn scored(seats: &[Seat]) -> Vec<Scored<'_>> {
    (0..)
        .zip(seats)
        .filter_map(|(index, seat)| match &seat.state {
            SeatState::Replied(Advice::Scores {
                dimensions,
                findings,
                prior,
            }) => Some((index, dimensions, findings, prior.as_slice())),
            _ => None,
        })
        .collect()
}

fn inputs(scored: &[Scored<'_>]) -> Vec<SeatScores> {
    scored
        .iter()
        .map(|(_, dimensions, ..)| SeatScores {
            scores: (*dimensions).clone(),
        })
        .collect()
}

/// The panel's verdict. `unasked` are the seats that could not have changed it.
fn settle_panel(draft: &mut Draft<'_>, seats: &[Seat], unasked: &[AgentId]) {
    let Some(panel) = panel_of(draft.plan(), draft.id) else {
        return;
    };
    let scored = scored(seats);
    if scored.is_empty() {
        return no_verdict(draft, seats);
    }
    let inputs = inputs(&scored);
    let merged = merge(&inputs, &panel.dimensions, panel.consensus);
    let Some(points) = merged.points else {
        return no_verdict(draft, seats);
    };
    let bar = draft.plan().relieved(draft.id, panel.bar);
    let passed = bar.is_reached_by(points);
    let position = |name: &str| {
        panel
            .dimensions
            .iter()
            .position(|dimension| dimension.name == name)
    };
    let outliers: Vec<(u32, u32)> = merged
        .outliers
        .iter()
        .filter_map(|outlier| {
            let dimension = u32::try_from(position(&outlier.dimension)?).ok()?;
            Some((scored.get(outlier.seat)?.0, dimension))
        })
        .collect();
    let mut findings: Vec<Finding> = scored
        .iter()
        .flat_map(|(_, _, findings, _)| (*findings).clone())
        .collect();
    let answered: Vec<&[PriorAnswer]> = scored.iter().map(|(.., prior)| *prior).collect();
    findings.extend(remarks(seats, scored.len()));
    findings.extend(stood_in(draft.plan(), seats));
    if !unasked.is_empty() {
        let names = names(draft.plan(), unasked, "and");
        findings.push(Finding::new(
            Severity::Info,
            format!("{names} not asked: no score of theirs could have changed the verdict"),
        ));
    }
    carry_on(&mut findings, open_points(draft, &answered));
    let is_unsure = panel
        .refer_below
        .is_some_and(|least| is_unsure(&inputs, &merged, &panel.dimensions, bar.points, least));
    let people = super::stages::people(draft.state, draft.id);
    let (verdict, cause) = match passed {
        // What a person is to accept anyway needs no second reason to be asked.
        _ if is_unsure && (!passed || people.is_empty()) => (Verdict::Refer, Some(Cause::Confidence)),
        false => (Verdict::Fail, Some(Cause::Score)),
        true if people.is_empty() => (Verdict::Pass, None),
        true => (Verdict::Refer, Some(Cause::Person)),
    };
    let gave: Vec<AgentId> = scored
        .iter()
        .filter_map(|(index, ..)| Some(seats.get(*index as usize)?.agent))
        .collect();
    let gave = format!(
        "{} gave {points}, bar {}",
        names(draft.plan(), &gave, "and"),
        bar.points
    );
    let question = match cause {
        Some(Cause::Confidence) => format!("{gave}: too close or too far apart to decide without a person"),
        _ => format!("{gave}; to be accepted by {}", names(draft.plan(), &people, "or")),
    };
    conclude::stage(draft, Stage::Judge, verdict, cause, |report| {
        report.points = Some(points);
        report.dimensions = merged.dimensions;
        report.outliers = outliers;
        report.findings = findings;
    });
    match cause {
        None => verification::begin(draft, conclude::Accepted::Reviewed),
        Some(cause @ (Cause::Person | Cause::Confidence)) => {
            conclude::ask_person(draft, Stage::Judge, cause, &question);
        }
        Some(_) => conclude::not_good_enough(draft),
    }
}

/// What should be known about how a panel's verdict came about.
fn remarks(seats: &[Seat], scored: usize) -> Vec<Finding> {
    let mut remarks = Vec::new();
    if seats.len() > 1 && scored == 1 {
        remarks.push(Finding::new(
            Severity::Info,
            format!(
                "single reviewer: {} of {} seats gave no verdict",
                seats.len() - 1,
                seats.len()
            ),
        ));
    }
    let distinct: std::collections::BTreeSet<_> = seats.iter().map(|seat| seat.agent).collect();
    if distinct.len() < seats.len() {
        remarks.push(Finding::new(
            Severity::Info,
            format!(
                "{} seats were filled by {} agent(s): fewer eligible reviewers than seats",
                seats.len(),
                distinct.len()
            ),
        ));
    }
    remarks
}

/// Who judged instead of somebody else: never a silent thing.
fn stood_in(plan: &Plan, seats: &[Seat]) -> Vec<Finding> {
    let instead = seats.iter().filter_map(|seat| Some((seat, seat.instead_of?)));
    instead
        .map(|(seat, first)| fell_back(plan, first, seat.agent))
        .collect()
}

/// What should be known where a judge was asked instead of another one.
pub(super) fn fell_back(plan: &Plan, first: AgentId, instead: AgentId) -> Finding {
    let (first, instead) = (&plan.agent(first).name, &plan.agent(instead).name);
    Finding::new(
        Severity::Info,
        format!("'{instead}' judged instead of '{first}', which could not be reached"),
    )
}

fn settle_evaluation(draft: &mut Draft<'_>, seats: &[Seat]) {
    let stood_in = stood_in(draft.plan(), seats);
    let states: Vec<&SeatState> = seats.iter().map(|seat| &seat.state).collect();
    match states[..] {
        [
            SeatState::Replied(Advice::Evaluation {
                points,
                reasoning,
                findings,
                prior,
            }),
        ] => {
            let (points, text) = (*points, reasoning.clone());
            let findings = findings.clone();
            let open = open_points(draft, &[prior]);
            let bar = draft.plan().relieved(draft.id, draft.plan().rules.eval_bar);
            let passed = bar.is_reached_by(points);
            let (verdict, cause) = if passed {
                (Verdict::Pass, None)
            } else {
                (Verdict::Fail, Some(Cause::Score))
            };
            conclude::stage(draft, Stage::Judge, verdict, cause, |report| {
                report.points = Some(points);
                report.findings = findings;
                if !passed && !text.is_empty() {
                    report.findings.push(Finding::new(Severity::Medium, text));
                }
                report.findings.extend(stood_in);
                carry_on(&mut report.findings, open);
            });
            if passed {
                verification::begin(draft, conclude::Accepted::Reviewed);
            } else {
                conclude::not_good_enough(draft);
            }
        }
        [SeatState::Unparsed(Advice::Unreadable { excerpt, .. })] => {
            let excerpt = excerpt.clone();
            unparsed_evaluation(draft, excerpt);
        }
        _ => no_verdict(draft, seats),
    }
}

/// Twice no score could be read: the work goes back, it is never waved through.
fn unparsed_evaluation(draft: &mut Draft<'_>, excerpt: String) {
    draft.emit(Event::Task(draft.id, TaskEvent::EvalUnparsed));
    if draft.plan().rules.fail_open_on_unparsed_eval {
        return verification::begin(draft, conclude::Accepted::Unreviewed);
    }
    conclude::stage(
        draft,
        Stage::Judge,
        Verdict::Fail,
        Some(Cause::Unparsed),
        |report| {
            let finding = Finding::new(Severity::Medium, "no score could be read from the review");
            report.findings = vec![finding.with_evidence(excerpt)];
        },
    );
    conclude::not_good_enough(draft);
}

/// Reviewers that are named with what kept them from answering.
const UNREACHED_NAMED: usize = 3;

/// Who could not be reached, and why: `alice (provider_auth: HTTP 401 from …), bob (…)`.
fn unreached(plan: &Plan, seats: &[Seat]) -> String {
    let why = |seat: &Seat| match (&seat.state, seat.unreached.as_deref()) {
        (SeatState::Failed(class), Some(message)) if !message.is_empty() => {
            format!("{} ({}: {message})", plan.agent(seat.agent).name, class.as_str())
        }
        (SeatState::Failed(class), _) => format!("{} ({})", plan.agent(seat.agent).name, class.as_str()),
        _ => plan.agent(seat.agent).name.to_string(),
    };
    let mut named: Vec<String> = seats.iter().take(UNREACHED_NAMED).map(why).collect();
    if seats.len() > UNREACHED_NAMED {
        named.push(format!("{} more", seats.len() - UNREACHED_NAMED));
    }
    named.join(", ")
}

/// No seat gave a verdict: the panel is run again within its bound, then a person must decide.
fn no_verdict(draft: &mut Draft<'_>, seats: &[Seat]) {
    let judging = draft.task.judging();
    let rounds = judging.map(|judging| judging.rounds).unwrap_or_default();
    let is_panel = panel_of(draft.plan(), draft.id).is_some();
    // Who gives the same non-answer to a strict question gives it to any.
    let is_hopeless = seats.iter().all(|seat| seat.repeats);
    let more = judging.is_some_and(Judging::is_repeated);
    if is_panel && !is_hopeless && u64::from(rounds) < panel_rounds(draft.plan()) + u64::from(more) {
        let agents = all_seats(draft.state, draft.id);
        return ask_round(draft, &agents);
    }
    let unread = seats
        .iter()
        .filter(|seat| matches!(seat.state, SeatState::Unparsed(_)))
        .count();
    let mut whys = seats.iter().filter_map(|seat| match &seat.state {
        SeatState::Unparsed(Advice::Unreadable { why, .. }) => Some(why.as_str()),
        _ => None,
    });
    let why = whys
        .next_back()
        .map_or_else(String::new, |why| format!(": {why}"));
    let message = match unread {
        0 => format!("no reviewer could be reached: {}", unreached(draft.plan(), seats)),
        n if n == seats.len() => format!("no reviewer's reply could be read{why}"),
        n => format!(
            "{n} of {} reviewers sent replies that could not be read, the others could not be reached",
            seats.len()
        ),
    };
    conclude::refer(draft, Stage::Judge, Cause::GateError, &message);
}
