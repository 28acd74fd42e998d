//! What is said of work, and what becomes of it.

use crate::report::{
    documents::ProofRow,
    folds::further_stages::stage_words,
    progress::{live::RunningTask, verb::Verb},
    screens::{
        style::Role,
        text::{against_bar, count, criteria_words, elapsed},
    },
};
use rules::{
    domain::{
        AgentId, Answer, AskId, AttemptKind, Cause, FailureMode, Points, Purpose, Stage, Status, TaskId,
        Verdict,
    },
    engine::{AskEvent, AskReply, StageReport, State, TaskEvent, WorkKind, policy},
    mission::first_line,
};

use super::{LineBuilder, ProgressLine, flag_role};

impl LineBuilder {
    pub fn of_verdict(&self, state: &State, report: &StageReport) -> Option<ProgressLine> {
        let title = state.plan.title(report.task);
        let running = self.live.get(report.task);
        let role = match report.verdict {
            Verdict::Pass => Role::Good,
            _ => Role::Warn,
        };
        match (report.stage, report.verdict) {
            // The line about the end of the attempt says what passed.
            (_, Verdict::Pass) if passed_words(state, report, running).is_some() => None,
            (Stage::Preflight, Verdict::Fail) => Some(ProgressLine::with_output(
                Verb::Check,
                role,
                title,
                first_finding(report, "rejected before review"),
            )),
            (Stage::Finish, Verdict::Skip) => Some(ProgressLine::with_output(
                Verb::Check,
                role,
                title,
                format!("unverified: {}", first_finding(report, "its finish gate is not met")),
            )),
            (Stage::Judge, Verdict::Skip) => Some(ProgressLine::with_output(
                Verb::Review,
                role,
                title,
                first_finding(report, "not judged"),
            )),
            (Stage::Checks, Verdict::Fail) => Some(ProgressLine::with_output(
                Verb::Check,
                role,
                title,
                failed_checks(report, running.map_or(0, |running| running.checks)),
            )),
            (Stage::Audit, Verdict::Pass | Verdict::Skip) => Some(ProgressLine::with_output(
                Verb::Check,
                role,
                title,
                first_finding(report, "it is not what was accepted"),
            )),
            (stage, _) if stage.is_further() => {
                Some(ProgressLine::new(Verb::Stage, role, title, stage_words(report)))
            }
            // `task.eval.unparsed` has said it.
            (Stage::Verification, _) if !report.grades.is_empty() => {
                Some(ProgressLine::new(Verb::Review, role, title, criteria_words(&report.grades)))
            }
            (Stage::Judge | Stage::Verification, _) if report.cause == Some(Cause::Unparsed) => None,
            (Stage::Judge | Stage::Verification, Verdict::Fail) => {
                let judges = judges_words(report, running);
                let score = self.scored(state, report.task, report.points).unwrap_or_default();
                Some(ProgressLine::new(Verb::Review, role, title, format!("{judges}  {score}")))
            }
            _ => None,
        }
    }

    pub fn of_transition(&self, state: &State, id: TaskId, event: &TaskEvent) -> Option<ProgressLine> {
        let TaskEvent::Transition { to, mode, flag, reason, .. } = event else {
            return None;
        };
        let (title, points) = (state.plan.title(id), state.task(id).attempt.points);
        match (to, flag, mode) {
            (Status::Done, Some(flag), _) => {
                let mut parts = vec![flag.as_str().to_owned()];
                parts.extend(self.scored(state, id, points));
                if let Some(running) = self.live.get(id) {
                    let passed = running.passed.join(", ");
                    parts.extend(Some(passed).filter(|passed| !passed.is_empty()));
                    let took = self.live.since(running);
                    // A time that is nothing says nothing.
                    parts.extend((took.0 >= 100).then(|| elapsed(took)));
                }
                let role = flag_role(state.plan.task(id), *flag);
                Some(ProgressLine::new(Verb::Done, role, title, parts.join("  ")))
            }
            (Status::Failed, _, Some(FailureMode::Cascade)) => {
                let reason = reason.as_deref().unwrap_or_default();
                Some(ProgressLine::new(Verb::Skip, Role::Bad, title, reason))
            }
            (Status::Failed, _, Some(FailureMode::Cancelled)) => {
                let reason = reason.as_deref().unwrap_or_default();
                Some(ProgressLine::new(Verb::Cancel, Role::Bad, title, reason))
            }
            (Status::Failed, _, mode) => {
                let mode = mode.map_or("failed", FailureMode::as_str);
                let reason = reason.as_deref().unwrap_or_default();
                Some(ProgressLine::with_output(Verb::Fail, Role::Bad, title, format!("{mode}: {reason}")))
            }
            _ => None,
        }
    }

    /// `78 >= 60`, `40 < 60`.
    pub fn scored(&self, state: &State, task: TaskId, points: Option<Points>) -> Option<String> {
        let bar = state.plan.bar(task);
        points.map(|points| against_bar(points, bar, self.symbols))
    }
}

/// Characters of a reply that could not be read that are shown.
const SAID: usize = 60;

impl LineBuilder {
    /// The line of a failed call to an agent; `None` for a reply that could be read: what it leads to has its
    /// own line.
    pub fn of_ask(&self, state: &State, id: AskId, event: &AskEvent) -> Option<ProgressLine> {
        let name = |agent: &AgentId| state.plan.agent_name(*agent);
        let (purpose, detail) = match event {
            AskEvent::Replied(AskReply {
                agent,
                purpose,
                answer: Answer::Unreadable { why, excerpt, .. },
                ..
            }) => {
                let said = purpose.seat().map_or_else(String::new, |_| said(excerpt));
                (purpose, format!("{}: {why}{said}", name(agent)))
            }
            AskEvent::Failed { purpose, agent, class, message, .. } => {
                let mut open = state.task(id.task).work.asks.iter();
                let is_next = |open: AskId| open.number == id.number && open.attempt_try > id.attempt_try;
                let asked = open.find(|open| is_next(open.id) && open.agent == *agent);
                let most = 1 + policy(WorkKind::Ask(*purpose)).request_retries;
                let again = asked.and_then(|asked| {
                    let again = self.again((asked.tries.requests, most), asked.tries.not_before?);
                    Some(format!("; {again}"))
                });
                let again = again.unwrap_or_default();
                (purpose, format!("{}: {} {message}{again}", name(agent), class.as_str()))
            }
            _ => return None,
        };
        let verb = match purpose {
            Purpose::Score(_) => Verb::Review,
            _ => Verb::Answer,
        };
        Some(ProgressLine::new(verb, Role::Warn, state.plan.title(id.task), detail))
    }
}

/// The beginning of a reply that could not be read, in quotes.
fn said(reply: &str) -> String {
    let reply = reply.trim();
    let mut shown: String = reply.chars().take(SAID).collect();
    if shown.len() < reply.len() {
        shown.push_str("...");
    }
    if shown.is_empty() { String::new() } else { format!(" (it said \"{shown}\")") }
}

/// Rework says why in a few words: the last feedback stands in the state.
pub fn planned(state: &State, task: TaskId, attempt: u32, kind: AttemptKind) -> ProgressLine {
    let title = state.plan.title(task);
    if let Some(open) = state.task(task).reopened.as_deref() {
        let detail = format!("attempt {attempt}  {}", open.why);
        return ProgressLine::new(Verb::Reopen, Role::Warn, title, detail);
    }
    let verb = match kind {
        AttemptKind::Execute => Verb::Reopen,
        AttemptKind::Fix => Verb::Rework,
        AttemptKind::Retry => Verb::Retry,
    };
    let mut detail = format!("attempt {attempt}");
    if let Some(feedback) = state.task(task).feedback.last() {
        let why = feedback.findings.first().map(|finding| first_line(&finding.description));
        let cause = feedback.cause.map_or("fail", Cause::as_str);
        append!(detail, "  {cause}");
        if let Some(points) = feedback.points {
            append!(detail, " {points}");
        }
        // The line about failed checks stands right above.
        let is_told = feedback.cause == Some(Cause::Checks);
        if let Some(why) = why.filter(|why| !why.is_empty() && !is_told) {
            append!(detail, ": {why}");
        }
    }
    ProgressLine::new(verb, Role::Warn, title, detail)
}

/// The words about a stage that passed, for the line about the end of the attempt. `None` for one that is not
/// worth a word there.
pub(crate) fn passed_words(
    state: &State,
    report: &StageReport,
    running: Option<&RunningTask>,
) -> Option<String> {
    if report.verdict != Verdict::Pass {
        return None;
    }
    match report.stage {
        Stage::Checks => {
            let all = running.map_or(0, |running| running.checks) as usize;
            let proof = ProofRow::of(state, report.task).map_or(0, |proof| proof.red);
            let proof = (proof > 0).then(|| format!(", {}", count(proof, "proof")));
            Some(format!("{all}/{}{}", count(all, "check"), proof.unwrap_or_default()))
        }
        Stage::Verification if !report.grades.is_empty() => Some(criteria_words(&report.grades)),
        Stage::Judge | Stage::Verification => Some(judges_words(report, running)),
        stage if stage.is_further() => Some(stage_words(report)),
        _ => None,
    }
}

fn judges_words(report: &StageReport, running: Option<&RunningTask>) -> String {
    let (scored, seats) = running.map_or((0, 0), |running| (running.scored, running.seats));
    // A person who is asked instead of judges stands for them.
    match &report.by {
        Some(by) if seats == 0 => format!("by {by}"),
        _ => format!("{scored}/{}", count(seats as usize, "judge")),
    }
}

/// How many checks failed and, one after the other, what each of them printed last.
fn failed_checks(report: &StageReport, all: u32) -> String {
    let failed = report.findings.len();
    let mut text = format!("{failed}/{} failed", count(all as usize, "check"));
    let mut found = report.findings.iter().map(|finding| finding.description.as_str());
    match failed {
        1 => text.extend(found.next().map(|said| format!(": {said}"))),
        _ => text.extend(found.map(|said| format!("\n{}", last_lines(said, OUTPUT)))),
    }
    text
}

/// Lines of each output where several checks failed.
const OUTPUT: usize = 1;

/// The first line of a message, and so many of the last ones.
fn last_lines(text: &str, most: usize) -> String {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    let lines: Vec<&str> = rest.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(most)..];
    [&[first], last].concat().join("\n")
}

fn first_finding<'a>(report: &'a StageReport, otherwise: &'a str) -> &'a str {
    let first = report.findings.first();
    first.map_or(otherwise, |finding| finding.description.as_str())
}
