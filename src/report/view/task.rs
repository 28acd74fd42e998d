//! What readers see of one task: its attempts, who reviewed them and what they said.

use super::UsageView;
use crate::domain::{
    AgentId, AttemptKind, Cause, DimensionScore, FailureClass, FailureMode, Points, QualityFlag, Stage,
    Status, TaskId, Timestamp, Verdict, WaitingReason,
};
use crate::engine::{ReplyRef, SeatId, SeatResult, StageReport};
use crate::mission::Plan;

/// A task as readers see it, beside its [`crate::engine::TaskState`].
#[derive(Debug, Clone, Default)]
pub struct TaskView {
    /// All attempts, the first one first.
    pub attempts: Vec<AttemptView>,
    /// When its first turn started.
    pub started_at: Option<Timestamp>,
    /// When it became done or failed.
    pub finished_at: Option<Timestamp>,
    /// What its turns and reviews used.
    pub usage: UsageView,
    /// What its reviewers said last.
    pub review: Option<Box<ReviewView>>,
    /// The verdicts that sent it back or ended it, the oldest first. State forgets them when the task has ended.
    pub rejections: Option<Box<RejectionsView>>,
    /// For failed tasks: how.
    pub failure: Option<Box<FailureView>>,
    /// For tasks that wait for a person: what for.
    pub waiting: Option<Box<WaitingView>>,
}

/// One attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptView {
    /// Its number, from 1 over the whole run.
    pub number: u32,
    /// Its kind.
    pub kind: AttemptKind,
    /// What came out; `None` while it works or is judged, and for work that nobody judged.
    pub verdict: Option<Verdict>,
    /// Why.
    pub cause: Option<Cause>,
    /// What the agent itself failed with.
    pub failure: Option<FailureClass>,
    /// The score, where there is one.
    pub points: Option<Points>,
}

/// The verdicts that sent a task back or ended it. Rare, so a task that just works has a pointer and no list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RejectionsView {
    /// The oldest first.
    pub reports: Vec<StageReport>,
}

/// What reviewers said about one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewView {
    /// The attempt.
    pub attempt: u32,
    /// The round of the panel.
    pub round: u32,
    /// What they said together, per dimension; empty for evaluations and before the verdict.
    pub dimensions: Vec<DimensionScore>,
    /// What each of them said, by seat.
    pub seats: Vec<SeatView>,
}

/// What one reviewer said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatView {
    /// Who.
    pub reviewer: AgentId,
    /// The model as the provider returned it.
    pub model: Option<Box<str>>,
    /// Where the seat stands.
    pub state: SeatStanding,
    /// The reviewer's own score: weighted over the dimensions, or the one number of an evaluation.
    pub points: Option<Points>,
    /// Score and reasons per dimension, in the task's order.
    pub dimensions: Vec<SeatDimension>,
}

/// Where a seat stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatStanding {
    /// Asked, no reply yet.
    Asked,
    /// It gave scores.
    Scored,
    /// Its reply could not be read.
    Unparsed,
    /// It could not be asked.
    Failed,
}

/// One reviewer's score of one dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeatDimension {
    /// The score and why.
    pub score: DimensionScore,
    /// Whether it was too far from the others to count.
    pub outlier: bool,
}

/// How a task failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureView {
    /// How.
    pub mode: FailureMode,
    /// With what, where the agent itself failed.
    pub class: Option<FailureClass>,
    /// In words.
    pub message: String,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingView {
    /// The approval's number within the task; see [`super::ids::ApprovalId`].
    pub number: u32,
    /// Why.
    pub reason: WaitingReason,
    /// Since when.
    pub since: Timestamp,
    /// What the person is told.
    pub message: String,
    /// When its time is up, or was.
    pub expires: Option<Timestamp>,
}

impl TaskView {
    /// The verdicts that sent it back or ended it, the oldest first.
    #[must_use]
    pub fn rejections(&self) -> &[StageReport] {
        self.rejections
            .as_deref()
            .map_or(&[], |rejections| &rejections.reports)
    }

    pub(super) fn enter(&mut self, to: Status, at: Timestamp, flag: Option<QualityFlag>) {
        if to == Status::Assigned && self.attempts.is_empty() {
            self.plan_attempt(1, AttemptKind::Execute);
        }
        self.waiting = None;
        self.finished_at = to.is_terminal().then_some(at);
        if let Some(attempt) = self.attempts.last_mut() {
            if to == Status::Review {
                // Judged again, perhaps: an earlier word that a person must decide is withdrawn.
                (attempt.verdict, attempt.cause, attempt.points) = (None, None, None);
            } else if flag == Some(QualityFlag::Clean) && attempt.verdict.is_none() {
                // Checks alone decide by letting it through; no stage of its own says so.
                attempt.verdict = Some(Verdict::Pass);
            }
        }
    }

    pub(super) fn plan_attempt(&mut self, number: u32, kind: AttemptKind) {
        if let Some(last) = self.attempts.last_mut().filter(|last| last.number == number) {
            // Planned anew before it had begun.
            last.kind = kind;
            return;
        }
        self.attempts.push(AttemptView {
            number,
            kind,
            verdict: None,
            cause: None,
            failure: None,
            points: None,
        });
    }

    pub(super) fn failure(&self, mode: FailureMode, reason: Option<&str>) -> FailureView {
        // Only a mode that an agent's own failure leads to has its class; a cancelled task has none.
        let class = self.attempts.last().and_then(|attempt| attempt.failure);
        FailureView {
            mode,
            class: class.filter(|class| class.mode() == mode),
            message: reason.unwrap_or_default().to_owned(),
        }
    }

    pub(super) fn take_verdict(&mut self, report: &StageReport) {
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
            let rejections = self.rejections.get_or_insert_default();
            rejections.reports.push(report.clone());
        }
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.verdict = Some(report.verdict);
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

    pub(super) fn ask(&mut self, seat: SeatId, reviewer: AgentId) {
        let opens_round = self
            .review
            .as_ref()
            .is_none_or(|review| (review.attempt, review.round) != (seat.attempt, seat.round));
        // Asked anew about the same attempt and round: after a resume, judging begins again at its first try.
        let begins_again = seat.seat == 0 && seat.attempt_try == 1;
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
    pub(super) fn seat_mut(&mut self, seat: SeatId) -> Option<&mut SeatView> {
        let review = self.review.as_deref_mut()?;
        review.seats.get_mut(seat.seat as usize)
    }
}

impl SeatView {
    pub(super) fn reply(&mut self, plan: &Plan, task: TaskId, reply: &ReplyRef, result: &SeatResult) {
        self.model = reply.model.as_deref().map(Into::into);
        match result {
            SeatResult::Scores { dimensions, .. } => {
                self.state = SeatStanding::Scored;
                self.points = weighted(plan, task, dimensions);
                let scores = dimensions.iter().cloned();
                self.dimensions = scores
                    .map(|score| SeatDimension {
                        score,
                        outlier: false,
                    })
                    .collect();
            }
            SeatResult::Evaluation { points, .. } => {
                self.state = SeatStanding::Scored;
                self.points = Some(*points);
            }
            SeatResult::Unparsed { .. } => self.state = SeatStanding::Unparsed,
        }
    }
}

/// One reviewer's score over all dimensions. Shown beside the panel's, which is made by `judging::consensus`.
fn weighted(plan: &Plan, task: TaskId, scores: &[DimensionScore]) -> Option<Points> {
    let expectations = plan.task(task).expectations.as_deref()?;
    let dimensions = &expectations.panel.as_ref()?.dimensions;
    // A reply has one score for each dimension, in their order.
    let weighed = scores.iter().zip(dimensions);
    Points::weighted_mean(weighed.map(|(score, dimension)| (score.points, dimension.weight)))
}
