//! What readers see of one task: its attempts, who reviewed them and what they said.

use schemars::JsonSchema;
use serde::Serialize;

use super::UsageView;
use crate::report::documents::fields;
use rules::{
    domain::{
        AgentId, Answer, AttemptKind, Cause, DimensionScore, FailureClass, FailureMode, Finding, Points,
        QualityFlag, SeatPlace, Severity, Stage, Status, TaskId, Timestamp, Verdict, WaitingReason,
    },
    engine::{ReplyRef, StageReport, Way},
    judging::{parser::without_score_lines, protected::PROTECTED},
    plan::Plan,
};

/// A task as readers see it, beside its [`rules::engine::TaskState`].
#[derive(Debug, Clone, Default)]
pub struct TaskView {
    /// All attempts, the first one first.
    pub attempts: Vec<AttemptRow>,
    /// The start of the task's first turn.
    pub started_at: Option<Timestamp>,
    /// The moment when the task became done or failed.
    pub finished_at: Option<Timestamp>,
    /// The usage of the task's turns and reviews.
    pub usage: UsageView,
    /// The last words of the task's reviewers.
    pub review: Option<Box<ReviewView>>,
    /// The findings and rejections of judging, where there are any. The engine's state forgets them when the
    /// task has ended.
    pub judged: Option<Box<JudgedView>>,
    /// For failed tasks: how.
    pub failure: Option<Box<FailureRow>>,
    /// For tasks that wait for a person: what for.
    pub waiting: Option<Box<WaitingView>>,
}

/// The result of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct AttemptRow {
    /// The number of the attempt, from 1.
    #[serde(rename = "n")]
    pub number: u32,
    /// The kind of the attempt: the first one, a rework, a retry and so on.
    pub kind: AttemptKind,
    /// The verdict on the attempt; `null` while it is open.
    pub verdict: Option<Verdict>,
    /// Why the verdict is what it is.
    pub cause: Option<Cause>,
    /// The score in points; `null` where there is none.
    #[serde(serialize_with = "fields::points")]
    #[schemars(with = "Option<fields::PointsShape>")]
    pub points: Option<Points>,
    /// With what its agent failed.
    #[serde(skip)]
    pub failure: Option<FailureClass>,
    /// Whether a person gave the verdict, not those that judge.
    #[serde(skip)]
    pub is_by_person: bool,
}

/// The findings and rejections of judging. Rare, so a task that just works has a pointer and no lists.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JudgedView {
    /// The verdicts that sent it back or ended it, the oldest first.
    rejections: Vec<StageReport>,
    /// The findings of the stages in the current attempt, or in the last one of a task that has ended; in the
    /// stages' order.
    found: Vec<FindingView>,
    /// Findings from before the work began, which stay whatever the stages report.
    kept: Vec<FindingView>,
}

/// A finding of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingView {
    pub stage: Stage,
    /// For one of the mission's own stages: its name.
    pub name: Option<Box<str>>,
    /// The reviewer of the finding; `None` where the runtime itself saw it, or where no single reviewer said
    /// so.
    pub reviewer: Option<AgentId>,
    /// For a finding of a person: who.
    pub person: Option<Box<str>>,
    pub finding: Finding,
}

/// The review of one attempt by reviewers.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewView {
    pub attempt: u32,
    /// The round of the panel.
    pub round: u32,
    /// The scores of the panel together, per dimension; empty for evaluations and before the verdict.
    pub dimensions: Vec<DimensionScore>,
    /// The state of each seat, by position.
    pub seats: Vec<SeatView>,
}

/// The review of one seat.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatView {
    pub reviewer: AgentId,
    /// The model as the provider returned it.
    pub model: Option<Box<str>>,
    /// Where the seat stands.
    pub state: SeatStanding,
    /// The reviewer's own score: weighted over the dimensions, or the one number of an evaluation.
    pub points: Option<Points>,
    /// Score and reasons per dimension, in the task's order.
    pub dimensions: Vec<SeatDimension>,
    /// The findings of the reviewer.
    pub findings: Vec<Finding>,
}

/// Where a seat stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SeatStanding {
    /// Asked, no reply yet.
    Asked,
    /// The reviewer gave scores.
    Scored,
    /// The reply of the reviewer could not be read.
    Unparsed,
    /// The reviewer could not be asked.
    Failed,
}

/// One reviewer's score of one dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct SeatDimension {
    /// The score and why.
    pub score: DimensionScore,
    /// Whether the score was too far from the others to count.
    pub outlier: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureRow {
    /// How the task failed.
    pub mode: FailureMode,
    /// With what its agent failed; `null` where the agent did not.
    pub class: Option<FailureClass>,
    /// The class of the failure by the conventions of telemetry (`error.type`); `null` where there is no class.
    error_type: Option<&'static str>,
    /// The failure in words.
    pub message: String,
}

/// The wait of a task for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitingView {
    /// The approval's number within the task; see [`super::ids::ApprovalId`].
    pub number: u32,
    pub reason: WaitingReason,
    /// The moment when the wait began.
    pub since: Timestamp,
    /// The reason of the wait, for a person.
    pub message: String,
    /// The moment when the time for an answer is up, or was; `None` where there is no limit.
    pub expires: Option<Timestamp>,
}

impl TaskView {
    /// The verdicts that sent it back or ended it, the oldest first.
    pub fn rejections(&self) -> &[StageReport] {
        self.judged.as_deref().map_or(&[], |judged| &judged.rejections)
    }

    pub fn enter(&mut self, to: Status, at: Timestamp, flag: Option<QualityFlag>) {
        if to == Status::Assigned && self.attempts.is_empty() {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        self.waiting = None;
        if to == Status::Pending && self.finished_at.is_some() {
            // It begins anew: what it does without is decided anew too.
            if let Some(judged) = self.judged.as_deref_mut() {
                judged.kept.clear();
            }
        }
        if to == Status::Review {
            // Judged from the start: what an earlier look at this attempt found is found again, or is no more.
            self.forget_findings();
        }
        self.finished_at = to.is_terminal().then_some(at);
        if let Some(attempt) = self.attempts.last_mut() {
            if to == Status::Review {
                // Judged again, perhaps: an earlier word that a person must decide is withdrawn.
                (attempt.verdict, attempt.cause, attempt.points) = (None, None, None);
            } else if flag.is_some_and(|flag| flag <= QualityFlag::Relaxed) && attempt.verdict.is_none() {
                // Checks alone decide by letting it through; no stage of its own says so.
                attempt.verdict = Some(Verdict::Pass);
            }
        }
    }

    pub fn plan_attempt(&mut self, number: u32, kind: AttemptKind) {
        if let Some(last) = self.attempts.last_mut().filter(|last| last.number == number) {
            // Planned anew before it had begun.
            last.kind = kind;
            return;
        }
        self.forget_findings();
        self.attempts.push(AttemptRow::open(number, kind));
    }

    pub fn failure(&self, mode: FailureMode, reason: Option<&str>) -> FailureRow {
        // Only a mode that an agent's own failure leads to has its class; a cancelled task has none.
        let class = self.attempts.last().and_then(|attempt| attempt.failure);
        let class = class.filter(|class| class.mode() == mode);
        let error_type = class.map(FailureClass::error_type);
        FailureRow { mode, class, error_type, message: reason.unwrap_or_default().to_owned() }
    }

    /// The findings of the current attempt, or of the last one of a task that has ended.
    pub fn found(&self) -> &[FindingView] {
        self.judged.as_deref().map_or(&[], |judged| &judged.found)
    }

    /// Keeps what a stage found. A stage that was asked anew says it instead of what it said before.
    fn take_findings(&mut self, report: &StageReport) {
        let name = report.name.as_deref();
        if self.judged.is_none() && report.findings.is_empty() {
            return;
        }
        let mut list = std::mem::take(&mut self.judged.get_or_insert_default().found);
        let kept = &self.judged.get_or_insert_default().kept;
        list.retain(|earlier| {
            (earlier.stage, earlier.name.as_deref()) != (report.stage, name) || kept.contains(earlier)
        });
        let seats = self.review.as_deref().map_or(&[][..], |review| &review.seats);
        for finding in &report.findings {
            let Some(finding) = worded(finding, report) else {
                continue;
            };
            let said_before = |known: &FindingView| {
                known.stage == report.stage && known.finding.description == finding.description
            };
            if list.iter().any(said_before) {
                continue;
            }
            let by_seat = seats.iter().find(|seat| seat.findings.contains(&finding));
            list.push(FindingView {
                stage: report.stage,
                name: name.map(Into::into),
                reviewer: by_seat
                    .map(|seat| seat.reviewer)
                    .or_else(|| only_reviewer(report, seats))
                    .or(report.judge),
                person: report.by.as_deref().map(Into::into),
                finding,
            });
        }
        self.judged.get_or_insert_default().found = list;
    }

    fn forget_findings(&mut self) {
        if let Some(judged) = self.judged.as_deref_mut() {
            judged.found.clone_from(&judged.kept);
        }
    }

    /// A dependency failed and the task goes on without it (semantics, section 11).
    pub fn goes_on_without(&mut self, dependency: &str, way: Way) {
        let text = format!("went on without '{dependency}' ({})", way.as_str());
        self.keep(Finding::new(Severity::Info, text));
    }

    /// The agent was not allowed to do something. What it tried with protected files is worth a finding, whatever follows.
    pub fn was_denied(&mut self, denied: &str) {
        if denied.ends_with(PROTECTED) {
            self.keep(Finding::new(Severity::Low, format!("tried to {denied}")));
        }
    }

    /// A finding of no judge, which stays.
    fn keep(&mut self, finding: Finding) {
        let known = FindingView { stage: Stage::Outcome, name: None, reviewer: None, person: None, finding };
        let judged = self.judged.get_or_insert_default();
        if !judged.kept.contains(&known) {
            judged.kept.push(known.clone());
            judged.found.push(known);
        }
    }

    pub fn take_verdict(&mut self, report: &StageReport) {
        self.take_findings(report);
        let by_judges = matches!(report.stage, Stage::Judge | Stage::Verification);
        // A passed preflight or check decides nothing yet.
        let decides = match report.verdict {
            Verdict::Pass => by_judges,
            Verdict::Fail | Verdict::Refer | Verdict::Fault => true,
            Verdict::Skip => false,
        };
        if !decides {
            return;
        }
        if report.verdict == Verdict::Fail {
            let judged = self.judged.get_or_insert_default();
            judged.rejections.push(report.clone());
        }
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.verdict = Some(report.verdict);
            attempt.is_by_person = report.by.is_some();
            attempt.cause = report.cause;
            attempt.failure = report.failure;
            // What judges scored stays the score of work that meets its criteria too.
            let scored_before = report.stage == Stage::Verification && report.verdict == Verdict::Pass;
            attempt.points = attempt.points.filter(|_| scored_before).or(report.points);
        }
        if !by_judges {
            // The last word is not the reviewers': what they said of an earlier attempt is no longer the result.
            self.review = None;
        } else if let Some(review) = self.review.as_deref_mut() {
            if report.stage == Stage::Judge {
                review.dimensions.clone_from(&report.dimensions);
            }
            for (seat, dimension) in &report.outliers {
                let seat = review.seats.get_mut(*seat as usize);
                if let Some(scored) = seat.and_then(|seat| seat.dimensions.get_mut(*dimension as usize)) {
                    scored.outlier = true;
                }
            }
        }
    }

    pub fn ask(&mut self, seat: SeatPlace, is_first: bool, reviewer: AgentId) {
        let opens_round = self
            .review
            .as_ref()
            .is_none_or(|review| (review.attempt, review.round) != (seat.attempt, seat.round));
        // Asked anew about the same attempt and round: after a resume, judging begins again at its first try.
        let begins_again = seat.seat == 0 && is_first;
        if opens_round || begins_again {
            self.review = Some(Box::new(ReviewView {
                attempt: seat.attempt,
                round: seat.round,
                dimensions: Vec::new(),
                seats: Vec::new(),
            }));
        }
        let asked = SeatView {
            reviewer,
            model: None,
            state: SeatStanding::Asked,
            points: None,
            dimensions: Vec::new(),
            findings: Vec::new(),
        };
        let seats = self.review.as_deref_mut().map(|review| &mut review.seats);
        if let Some(seats) = seats {
            match seats.get_mut(seat.seat as usize) {
                Some(existing) => *existing = asked,
                None => seats.push(asked),
            }
        }
    }

    /// The seat of a call, if it belongs to the review that is kept.
    pub fn seat_mut(&mut self, seat: SeatPlace) -> Option<&mut SeatView> {
        let review = self.review.as_deref_mut()?;
        review.seats.get_mut(seat.seat as usize)
    }
}

impl AttemptRow {
    /// An attempt that nobody has judged.
    pub fn open(number: u32, kind: AttemptKind) -> Self {
        Self { number, kind, verdict: None, cause: None, points: None, failure: None, is_by_person: false }
    }
}

impl FailureRow {
    /// `timeout: killed after 30m`
    pub fn words(&self) -> String {
        format!("{}: {}", self.mode.as_str(), self.message)
    }
}

impl SeatView {
    pub fn reply(&mut self, plan: &Plan, task: TaskId, reply: &ReplyRef, answer: &Answer) {
        self.model = reply.model.as_deref().map(Into::into);
        match answer {
            Answer::Scores { scores: dimensions, findings, .. } => {
                self.findings.clone_from(findings);
                self.state = SeatStanding::Scored;
                self.points = weighted(plan, task, dimensions);
                let scores = dimensions.iter().cloned();
                self.dimensions = scores.map(|score| SeatDimension { score, outlier: false }).collect();
            }
            Answer::Evaluation { points, .. } => {
                self.state = SeatStanding::Scored;
                self.points = Some(*points);
            }
            _ => self.state = SeatStanding::Unparsed,
        }
    }
}

/// The reviewer of an evaluation, whose text is the finding.
fn only_reviewer(report: &StageReport, seats: &[SeatView]) -> Option<AgentId> {
    let [seat] = seats else { return None };
    (report.stage == Stage::Judge && report.by.is_none()).then_some(seat.reviewer)
}

/// A finding as people read it. The text of an evaluation is one, and ends with its score, which is shown as such: a text
/// that says nothing else is no finding.
fn worded(finding: &Finding, report: &StageReport) -> Option<Finding> {
    if report.stage != Stage::Judge || !report.dimensions.is_empty() {
        return Some(finding.clone());
    }
    let description = without_score_lines(&finding.description);
    (!description.is_empty()).then(|| Finding { description, ..finding.clone() })
}

/// How many findings there are of each severity.
#[derive(
    Debug, Clone, Copy, PartialEq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
pub struct SeverityCounts {
    /// Findings of severity critical.
    pub critical: u32,
    /// Findings of severity high.
    pub high: u32,
    /// Findings of severity medium.
    pub medium: u32,
    /// Findings of severity low.
    pub low: u32,
    /// Findings of severity info.
    pub info: u32,
}

impl SeverityCounts {
    /// Counts one more finding.
    pub fn add(&mut self, severity: Severity) {
        let count = match severity {
            Severity::Critical => &mut self.critical,
            Severity::High => &mut self.high,
            Severity::Medium => &mut self.medium,
            Severity::Low => &mut self.low,
            Severity::Info => &mut self.info,
        };
        *count += 1;
    }

    /// `2 high, 1 low`; empty where there are none.
    pub fn words(&self) -> String {
        let counts = [
            (self.critical, "critical"),
            (self.high, "high"),
            (self.medium, "medium"),
            (self.low, "low"),
            (self.info, "info"),
        ];
        let words = counts.iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = words.map(|(count, name)| format!("{count} {name}")).collect();
        words.join(", ")
    }
}

/// One reviewer's score over all dimensions. Shown beside the panel's, which is made by `judging::consensus`.
fn weighted(plan: &Plan, task: TaskId, scores: &[DimensionScore]) -> Option<Points> {
    let dimensions = &plan.task(task).panel()?.dimensions;
    // A reply has one score for each dimension, in their order.
    let weighed = scores.iter().zip(dimensions);
    Points::weighted_mean(weighed.map(|(score, dimension)| (score.points, dimension.weight)))
}
