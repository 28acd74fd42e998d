//! What the seats of a panel say together (semantics, sections 7 and 9).

use crate::domain::{
    AgentId, Answer, Bar, Cause, DimensionScore, Finding, Points, PriorAnswer, Purpose, SeatPlace, Severity,
    TaskId, Verdict,
};
use crate::engine::state::Seat;
use crate::judging::consensus::{SeatScores, is_decided, is_unsure, merge};
use crate::mission::model::PanelMode;
use crate::plan::{Panel, Plan};

use super::judge::{KEY, fallbacks, no_verdict};
use super::open_points::{carry_on, open_points};
use super::view::{Next, Request, View, names};

/// Seats of an adaptive panel that are always asked.
const FIRST_SEATS: usize = 2;

/// Opens a round: every seat is asked at once, each in a context of its own; of an adaptive panel only the first.
pub fn ask_round(view: View<'_>) -> Next {
    let seats = view.seats();
    let at_once = if is_adaptive(view.plan(), view.id) { FIRST_SEATS.min(seats.len()) } else { seats.len() };
    let round = view.task.attempt.rounds + 1;
    let asked = seats[..at_once].iter().enumerate();
    Next::Open(asked.map(|(seat, agent)| ask_seat(view, round, seat, *agent)).collect())
}

fn ask_seat(view: View<'_>, round: u32, seat: usize, agent: AgentId) -> Request {
    let place = SeatPlace {
        attempt: view.task.attempt.number,
        round,
        seat: u32::try_from(seat).expect("the loader limits the seats of a panel"),
    };
    Request::Ask(Purpose::Score(place), agent)
}

/// Whether a panel asks its later seats only while they could change the verdict. Where anything else consumes the score
/// (a gate's minScore, the mission's threshold, `referBelow`, a fit to labelled work) every seat has its say.
fn is_adaptive(plan: &Plan, task: TaskId) -> bool {
    let gates = plan.gates_after.of(task);
    plan.task(task).panel().is_some_and(|panel| {
        panel.mode == PanelMode::Adaptive
            && panel.refer_below.is_none()
            && panel.calibrated.is_none()
            && plan.rules.quality_threshold.is_none()
            && gates.iter().all(|gate| plan.gate(*gate).min_score.is_none())
    })
}

/// Every seat that was asked has come to an end: another one is asked, or the stage has its verdict.
pub fn conclude(view: View<'_>, panel: &Panel) -> Next {
    let seats = &view.judging().seats;
    let (asked, more) = view.seats().split_at(seats.len().min(view.seats().len()));
    let bar = view.plan().relieved(view.id, panel.bar);
    if let Some(next) = more.first().filter(|_| could_change(panel, bar.points, seats, more.len())) {
        let round = view.judging().round;
        return Next::Open(vec![ask_seat(view, round, asked.len(), *next)]);
    }
    settle(view, panel, seats, more)
}

/// Whether seats that were not asked yet could still change the verdict. Two replies at least are wanted.
fn could_change(panel: &Panel, bar: Points, seats: &[Seat], more: usize) -> bool {
    let inputs = inputs(&scored(seats));
    inputs.len() < FIRST_SEATS || is_decided(&inputs, more, &panel.dimensions, panel.consensus, bar).is_none()
}

/// A seat that gave scores: its position, what it scored, what it found, what it answered.
type Scored<'a> = (u32, &'a Vec<DimensionScore>, &'a Vec<Finding>, &'a [PriorAnswer]);

fn scored(seats: &[Seat]) -> Vec<Scored<'_>> {
    let scored = (0..).zip(seats).filter_map(|(index, seat)| match seat.answer()? {
        Answer::Scores { scores: dimensions, findings, prior } => {
            Some((index, dimensions, findings, prior.as_slice()))
        }
        _ => None,
    });
    scored.collect()
}

fn inputs(scored: &[Scored<'_>]) -> Vec<SeatScores> {
    let scores = scored.iter().map(|(_, dimensions, ..)| SeatScores { scores: (*dimensions).clone() });
    scores.collect()
}

/// The bar of a panel, and the scores that a person decides. What labelled work says holds for the judges that it was
/// measured with, all of them: with others, or fewer, the usual bar does.
fn held_to(panel: &Panel, seats: &[Seat], scored: usize) -> (Bar, Option<[Points; 2]>) {
    let Some(calibrated) = &panel.calibrated else {
        return (panel.bar, None);
    };
    let agents = seats.iter().map(|seat| &seat.agent);
    if scored == panel.seats.len() && agents.eq(&panel.seats) {
        (panel.bar, calibrated.refer)
    } else {
        (calibrated.instead, None)
    }
}

/// The panel's verdict. `unasked` are the seats that could not have changed it.
fn settle(view: View<'_>, panel: &Panel, seats: &[Seat], unasked: &[AgentId]) -> Next {
    let scored = scored(seats);
    let inputs = inputs(&scored);
    let merged = merge(&inputs, &panel.dimensions, panel.consensus);
    let Some(points) = merged.points.filter(|_| !scored.is_empty()) else {
        return no_verdict(view, seats);
    };
    let (full, refer) = held_to(panel, seats, scored.len());
    let bar = view.plan().relieved(view.id, full);
    let is_near = refer.is_some_and(|[low, high]| (low..=high).contains(&points));
    let is_unsure = panel
        .refer_below
        .is_some_and(|least| is_unsure(&inputs, &merged, &panel.dimensions, bar.points, least))
        || is_near;
    let (verdict, cause) = match bar.is_reached_by(points) {
        // What a person is to accept anyway needs no second reason to be asked.
        passed if is_unsure && (!passed || panel.people.is_empty()) => {
            (Verdict::Refer, Some(Cause::Confidence))
        }
        false => (Verdict::Fail, Some(Cause::Score)),
        true if panel.people.is_empty() => (Verdict::Pass, None),
        true => (Verdict::Refer, Some(Cause::Person)),
    };
    let mut report = view.report(KEY, verdict, cause);
    report.points = Some(points);
    report.findings = findings(view, &scored, seats, unasked);
    if full != panel.bar {
        let message = format!("held to the bar {}: others judged than those who were calibrated", bar.points);
        report.findings.push(Finding::new(Severity::Info, message));
    }
    let position = |name: &str| panel.dimensions.iter().position(|dimension| dimension.name == name);
    let outliers = merged.outliers.iter().filter_map(|outlier| {
        let dimension = u32::try_from(position(&outlier.dimension)?).ok()?;
        Some((scored.get(outlier.seat)?.0, dimension))
    });
    report.outliers = outliers.collect();
    report.dimensions = merged.dimensions;
    Next::by_verdict(report, || question(view, panel, &scored, seats, points, cause))
}

/// The question to a person whom the panel leaves the decision to.
fn question(
    view: View<'_>,
    panel: &Panel,
    scored: &[Scored<'_>],
    seats: &[Seat],
    points: Points,
    cause: Option<Cause>,
) -> String {
    let gave = scored.iter().filter_map(|(index, ..)| Some(seats.get(*index as usize)?.agent));
    let gave: Vec<AgentId> = gave.collect();
    let gave = format!(
        "{} gave {points}, bar {}",
        names(view.plan(), &gave, "and"),
        view.plan().relieved(view.id, panel.bar).points
    );
    match cause {
        Some(Cause::Confidence) => format!("{gave}: too close or too far apart to decide without a person"),
        _ => format!("{gave}; to be accepted by {}", names(view.plan(), &panel.people, "or")),
    }
}

fn findings(view: View<'_>, scored: &[Scored<'_>], seats: &[Seat], unasked: &[AgentId]) -> Vec<Finding> {
    let found = scored.iter().flat_map(|(_, _, findings, _)| (*findings).clone());
    let mut findings: Vec<Finding> = found.collect();
    findings.extend(remarks(seats, scored.len()));
    findings.extend(fallbacks(view, seats));
    if !unasked.is_empty() {
        let names = names(view.plan(), unasked, "and");
        findings.push(Finding::new(
            Severity::Info,
            format!("{names} not asked: no score of theirs could have changed the verdict"),
        ));
    }
    let answered: Vec<&[PriorAnswer]> = scored.iter().map(|(.., prior)| *prior).collect();
    carry_on(&mut findings, open_points(view, &answered));
    findings
}

/// Remarks about the way in which a panel's verdict came about.
fn remarks(seats: &[Seat], scored: usize) -> Vec<Finding> {
    let mut remarks = Vec::new();
    if seats.len() > 1 && scored == 1 {
        remarks.push(format!(
            "single reviewer: {} of {} seats gave no verdict",
            seats.len() - 1,
            seats.len()
        ));
    }
    let distinct: std::collections::BTreeSet<_> = seats.iter().map(|seat| seat.agent).collect();
    if distinct.len() < seats.len() {
        remarks.push(format!(
            "{} seats were filled by {} agent(s): fewer eligible reviewers than seats",
            seats.len(),
            distinct.len()
        ));
    }
    let remarks = remarks.into_iter();
    remarks.map(|text| Finding::new(Severity::Info, text)).collect()
}
