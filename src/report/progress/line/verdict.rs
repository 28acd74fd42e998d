//! What is said of work, and what becomes of it.

use std::fmt::Write as _;

use crate::domain::{
    Advice, AttemptKind, Cause, ConsultId, FailureMode, Points, Stage, Status, TaskId, Timestamp, Verdict,
};
use crate::engine::{self, Event, MAX_REQUEST_RETRIES, SeatId, SeatResult, SeatState, StageReport, State};
use crate::report::progress::live::Call;
use crate::report::scrutiny::stage_words;
use crate::report::style::Role;
use crate::report::text::{against_bar, count, criteria_words, sanitize, seconds};

use super::{Line, Lines, flag_role};

impl Lines {
    pub(super) fn of_verdict(&self, state: &State, report: &StageReport) -> Option<Line> {
        let title = &*state.plan.task(report.task).title;
        let running = self.live.get(report.task);
        let role = match report.verdict {
            Verdict::Pass => Role::Good,
            _ => Role::Warn,
        };
        match (report.stage, report.verdict) {
            (Stage::Preflight, Verdict::Fail) => Some(Line::new(
                "CHECK",
                role,
                title,
                first_finding(report, "rejected before review"),
            )),
            (Stage::Finish, Verdict::Skip) => Some(Line::new(
                "CHECK",
                role,
                title,
                format!(
                    "unverified: {}",
                    first_finding(report, "its finish gate is not met")
                ),
            )),
            (Stage::Judge, Verdict::Skip) => Some(Line::new(
                "REVIEW",
                role,
                title,
                first_finding(report, "not judged"),
            )),
            (Stage::Checks, Verdict::Pass | Verdict::Fail) => {
                let all = running.map_or(0, |running| running.checks) as usize;
                let detail = match report.verdict {
                    Verdict::Pass => format!("{all}/{all} checks passed"),
                    _ => format!("{}/{all} checks failed", report.findings.len()),
                };
                Some(Line::new("CHECK", role, title, detail))
            }
            (Stage::Audit, Verdict::Pass | Verdict::Skip) => Some(Line::new(
                "CHECK",
                role,
                title,
                first_finding(report, "it is not what was accepted"),
            )),
            (Stage::Stages | Stage::RedTeam | Stage::Vision, _) => {
                Some(Line::new("STAGE", role, title, stage_words(report)))
            }
            // `task.eval.unparsed` has said it.
            (Stage::Verification, _) if !report.grades.is_empty() => {
                Some(Line::new("VERIFY", role, title, criteria_words(&report.grades)))
            }
            (Stage::Judge | Stage::Verification, _) if report.cause == Some(Cause::Unparsed) => None,
            (Stage::Judge | Stage::Verification, Verdict::Pass | Verdict::Fail) => {
                let (scored, seats) = running.map_or((0, 0), |running| (running.scored, running.seats));
                // A person who is asked instead of judges stands for them.
                let judges = match &report.by {
                    Some(by) if seats == 0 => format!("by {by}"),
                    _ => format!("{scored}/{}", count(seats as usize, "judge")),
                };
                let score = self.scored(state, report.task, report.points).unwrap_or_default();
                Some(Line::new("REVIEW", role, title, format!("{judges}  {score}")))
            }
            _ => None,
        }
    }

    pub(super) fn of_transition(&self, state: &State, event: &Event) -> Option<Line> {
        let Event::Transition {
            task: id,
            to,
            mode,
            flag,
            reason,
            ..
        } = event
        else {
            return None;
        };
        let (title, points) = (&*state.plan.task(*id).title, state.task(*id).points);
        match (to, flag, mode) {
            (Status::Done, Some(flag), _) => {
                let mut detail = flag.as_str().to_owned();
                if let Some(scored) = self.scored(state, *id, points) {
                    let _ = write!(detail, "  {scored}");
                }
                if let Some(running) = self.live.get(*id) {
                    let _ = write!(detail, "  in {}", seconds(self.live.since(running)));
                }
                Some(Line::new("DONE", flag_role(*flag), title, detail))
            }
            (Status::Failed, _, Some(FailureMode::Cascade)) => {
                let reason = reason.as_deref().unwrap_or_default();
                Some(Line::new("SKIP", Role::Bad, title, reason))
            }
            (Status::Failed, _, mode) => {
                let mode = mode.map_or("failed", FailureMode::as_str);
                let reason = reason.as_deref().unwrap_or_default();
                Some(Line::new("FAIL", Role::Bad, title, format!("{mode}: {reason}")))
            }
            _ => None,
        }
    }

    /// `78 >= 60`, `40 < 60`.
    pub(super) fn scored(&self, state: &State, task: TaskId, points: Option<Points>) -> Option<String> {
        let bar = engine::bar(state, task);
        points.map(|points| against_bar(points, bar, self.symbols))
    }
}

/// Characters of a reply that could not be read that are shown.
const SAID: usize = 60;

impl Lines {
    /// What went wrong with asking a reviewer; `None` for a reply that could be read: the verdict tells of it.
    pub(super) fn review_trouble(&self, state: &State, task: TaskId, event: &Event) -> Option<String> {
        let name = |seat: &SeatId| match self.live.asked(task, Call::Seat(seat.seat)) {
            Some(agent) => state.plan.agent(agent).name.to_string(),
            None => format!("judge {}", seat.seat + 1),
        };
        match event {
            Event::SeatReplied {
                seat,
                result: SeatResult::Unparsed { why, excerpt },
                ..
            } => Some(format!("{}: {why}{}", name(seat), said(excerpt))),
            Event::SeatFailed {
                seat, class, message, ..
            } => {
                let judging = state.task(task).judging.as_deref();
                let asked = judging.and_then(|judging| judging.seats.get(seat.seat as usize));
                let asked = asked.filter(|asked| {
                    asked.state == SeatState::Asked
                        && asked.tries > seat.attempt_try
                        && asked.failed_requests > 0
                });
                let again = self.request_again(asked.map(|asked| (asked.failed_requests, asked.not_before)));
                Some(format!("{}: {} {message}{again}", name(seat), class.as_str()))
            }
            Event::EvalUnparsed { .. } => Some("no score could be read, twice".to_owned()),
            _ => None,
        }
    }

    /// What went wrong with consulting an agent; `None` for a reply that could be read: what it leads to is told.
    pub(super) fn consult_trouble(&self, state: &State, id: ConsultId, event: &Event) -> Option<String> {
        let agent = self.live.asked(id.task, Call::Consult(id.number));
        let name = agent.map_or("advice", |agent| &*state.plan.agent(agent).name);
        match event {
            Event::ConsultReplied {
                advice: Advice::Unreadable { why, .. },
                ..
            } => Some(format!("{name}: {why}")),
            Event::ConsultFailed { class, message, .. } => {
                let mut open = state.task(id.task).consults.iter();
                let asked =
                    open.find(|open| open.id.number == id.number && open.id.attempt_try > id.attempt_try);
                let again = self.request_again(asked.map(|asked| (asked.failed_requests, asked.not_before)));
                Some(format!("{name}: {} {message}{again}", class.as_str()))
            }
            _ => None,
        }
    }

    /// `; retry 2 of 4 in 2.0s`: when a judge or another consulted agent is asked once more, after so many requests that
    /// failed; nothing where nobody asks it again.
    fn request_again(&self, asked: Option<(u32, Option<Timestamp>)>) -> String {
        let again = asked.and_then(|(failed, at)| Some(self.again((failed, MAX_REQUEST_RETRIES + 1), at?)));
        again.map_or_else(String::new, |again| format!("; {again}"))
    }
}

/// The beginning of a reply that could not be read, in quotes.
fn said(reply: &str) -> String {
    let reply = sanitize(reply);
    let mut shown: String = reply.chars().take(SAID).collect();
    if shown.len() < reply.len() {
        shown.push_str("...");
    }
    match shown.is_empty() {
        true => String::new(),
        false => format!(" (it said \"{shown}\")"),
    }
}

/// Rework says why in a few words: the last feedback stands in the state.
pub(super) fn planned(state: &State, task: TaskId, attempt: u32, kind: AttemptKind) -> Line {
    let title = &*state.plan.task(task).title;
    let verb = match kind {
        AttemptKind::Execute => "AGAIN",
        AttemptKind::Fix => "REWORK",
        AttemptKind::Retry => "RETRY",
    };
    let mut detail = format!("attempt {attempt}");
    if let Some(feedback) = state.task(task).feedback.last() {
        let why = feedback
            .findings
            .first()
            .map(|finding| finding.description.as_str());
        let cause = feedback.cause.map_or("fail", Cause::as_str);
        let _ = write!(detail, "  {cause}");
        if let Some(points) = feedback.points {
            let _ = write!(detail, " {points}");
        }
        if let Some(why) = why.filter(|why| !why.is_empty()) {
            let _ = write!(detail, ": {why}");
        }
    }
    Line::new(verb, Role::Warn, title, detail)
}

fn first_finding<'a>(report: &'a StageReport, otherwise: &'a str) -> &'a str {
    let first = report.findings.first();
    first.map_or(otherwise, |finding| finding.description.as_str())
}
