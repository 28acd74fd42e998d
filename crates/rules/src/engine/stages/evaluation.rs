//! What one routed reviewer says (semantics, sections 3 and 7).

use crate::domain::{Answer, Cause, Finding, Severity, Verdict};
use crate::engine::state::SeatState;

use super::judge::{KEY, fallbacks, no_verdict};
use super::open_points::{carry_on, open_points};
use super::view::{Next, View};

/// The reviewer's seat has come to an end.
pub fn conclude(view: View<'_>) -> Next {
    let seats = &view.judging().seats;
    let [seat] = seats.as_slice() else {
        return no_verdict(view, seats);
    };
    match (seat.answer(), &seat.state) {
        (Some(Answer::Evaluation { points, reasoning, findings, prior }), _) => {
            let bar = view.plan().relieved(view.id, view.plan().rules.settings.eval_threshold);
            let passed = bar.is_reached_by(*points);
            let mut report = view.judged(KEY, passed, Cause::Score);
            report.points = Some(*points);
            report.findings.clone_from(findings);
            if !passed && !reasoning.is_empty() {
                report.add(Severity::Medium, reasoning.clone());
            }
            report.findings.extend(fallbacks(view, seats));
            carry_on(&mut report.findings, open_points(view, &[prior]));
            Next::by_verdict(report, String::new)
        }
        (_, SeatState::Replied(Answer::Unreadable { excerpt, .. })) => unparsed(view, excerpt),
        _ => no_verdict(view, seats),
    }
}

/// Twice no score could be read: the work goes back, it is never waved through unless the mission says so.
fn unparsed(view: View<'_>, excerpt: &str) -> Next {
    if view.plan().rules.settings.fail_open_on_unparsed_eval {
        return Next::Unread(None);
    }
    let mut report = view.report(KEY, Verdict::Fail, Some(Cause::Unparsed));
    let finding = Finding::new(Severity::Medium, "no score could be read from the review");
    report.findings = vec![finding.with_evidence(excerpt)];
    Next::Unread(Some(report))
}
