//! What an agent is asked, and what it may answer: no worker's turn, but a question with an answer of a fixed form.
//! Reviewers are asked like this too.
//!
//! [`Purpose::row`] is the one table of purposes. What becomes of a question that fails, who is meant by it and what events
//! call it follows from there.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    DimensionScore, Finding, FindingsReport, Opinion, Points, PriorAnswer, Probe, RubricReply, Stage,
    StageKey, TaskId,
};

/// The purpose of a call to an agent. Variants are only ever added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Purpose {
    /// To score the work by a panel's dimensions, or in one number (sections 7 and 9).
    Score(SeatPlace),
    /// Whether what another agent said instead of working is a question (section 5).
    Confirm,
    /// To answer another agent's question (section 5).
    Answer,
    /// To say what becomes of a task whose dependency failed (section 11).
    Resolve { dependency: TaskId },
    /// Whether a task may start (section 5).
    Approve {
        /// The number of the approval within the task.
        number: u32,
        /// The position of the agent among the approvers.
        approver: u32,
    },
    /// To grade the work by a rubric (section 10).
    Grade {
        /// The round of the verification, from 1.
        round: u32,
    },
    /// To cut the criteria of a task into yes-or-no questions (section 10).
    Decompose {
        /// The round of the verification, from 1.
        round: u32,
    },
    /// To judge the work in a stage behind the verification (sections 6.7 and 15).
    Stage {
        step: StageKey,
        /// The round of the stage, from 1.
        round: u32,
    },
}

impl Purpose {
    /// The word for the purpose, and for one on whose answer a stage rests its verdict: the stage, and the
    /// round in which it asks, from 1.
    const fn row(self) -> (&'static str, Option<(StageKey, u32)>) {
        match self {
            Self::Score(place) => ("score", Some((StageKey::JUDGE, place.round))),
            Self::Grade { round } => ("grade", Some((StageKey::VERIFICATION, round))),
            Self::Decompose { round } => ("decompose", Some((StageKey::VERIFICATION, round))),
            Self::Stage { step, round } => (step.as_str(), Some((step, round))),
            Self::Confirm => ("confirm", None),
            Self::Answer => ("answer", None),
            Self::Resolve { .. } => ("resolve", None),
            Self::Approve { .. } => ("approve", None),
        }
    }

    /// The word for the purpose: in events, and for the agent that is asked (`QUORUM_PURPOSE`).
    pub const fn as_str(self) -> &'static str {
        self.row().0
    }

    /// The stage whose verdict rests on the answer, and which time it asks for the same, from 1; `None` where no stage asks.
    pub const fn asked_by(self) -> Option<(StageKey, u32)> {
        self.row().1
    }

    /// The kind of that stage.
    pub fn stage(self) -> Option<Stage> {
        self.asked_by().map(|(key, _)| key.stage())
    }

    /// The key of the stage behind the verification; `None` for other purposes.
    pub fn step(self) -> Option<StageKey> {
        self.asked_by()?.0.step()
    }

    /// The number of the call for the same judgement, from 1; `None` where nobody judges.
    pub fn round(self) -> Option<u32> {
        self.asked_by().map(|(_, round)| round)
    }

    /// Whether the call asks a judge: the same agent that did the work never is one, and nobody is where judges
    /// are switched off. For a judge that cannot be reached another one is asked; anybody else is asked by
    /// name.
    pub const fn is_judging(self) -> bool {
        self.asked_by().is_some()
    }

    /// Whether the work is judged itself. Whoever cuts criteria into probes sees none, so no work can tell it what to ask.
    pub fn sees_the_work(self) -> bool {
        self.is_judging() && !matches!(self, Self::Decompose { .. })
    }

    /// The seat of a panel or an evaluation that is asked.
    pub fn seat(self) -> Option<SeatPlace> {
        match self {
            Self::Score(place) => Some(place),
            _ => None,
        }
    }

    /// The dependency whose failure the call is about.
    pub fn dependency(self) -> Option<TaskId> {
        match self {
            Self::Resolve { dependency } => Some(dependency),
            _ => None,
        }
    }
}

/// The answer of an agent that was asked, as far as it fits the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// [`Purpose::Score`]: a score for every dimension of a panel.
    Scores {
        /// The reviewer's answers to the points of the review before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prior: Vec<PriorAnswer>,
        /// One for each of the task's dimensions, in their order.
        scores: Vec<DimensionScore>,
        /// The findings of the reviewer.
        findings: Vec<Finding>,
    },
    /// [`Purpose::Score`]: the one number of an evaluation.
    Evaluation {
        /// The judge's answers to the points of the review before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        prior: Vec<PriorAnswer>,
        /// The score in points.
        points: Points,
        /// The text of the reviewer.
        reasoning: String,
        /// The findings of the judge, where they had a form.
        findings: Vec<Finding>,
    },
    /// For [`Purpose::Confirm`]: whether the output is a question.
    IsQuestion(bool),
    /// For [`Purpose::Answer`]: the answer.
    Text(String),
    /// For [`Purpose::Answer`]: the agent does not know, and a person should be asked.
    DoesNotKnow,
    /// [`Purpose::Resolve`]: the task can do without, if it is told this.
    Absorb {
        /// The prompt for the task's agent.
        prompt: String,
    },
    /// [`Purpose::Resolve`]: the dependency is to be tried again.
    Retry { reason: String },
    /// [`Purpose::Resolve`]: nothing can be done.
    Unresolvable { reason: String },
    /// [`Purpose::Approve`]: the task may start.
    Approve,
    /// For [`Purpose::Approve`]: the work may not begin.
    Reject { reason: String },
    /// [`Purpose::Approve`]: somebody else should say.
    Undecided { reason: String },
    /// For [`Purpose::Grade`]: the grades.
    Grades(Box<RubricReply>),
    /// For [`Purpose::Decompose`]: the questions.
    Probes(Vec<Probe>),
    /// [`Purpose::Stage`]: what one of the mission's own stages says.
    Opinion(Box<Opinion>),
    /// [`Purpose::Stage`]: what a red team or a vision check found, as far as its report could be read.
    Findings(Box<FindingsReport>),
    /// The reply does not fit the question, so it says nothing.
    Unreadable {
        why: String,
        /// The beginning of the reply.
        excerpt: String,
        /// Whether the reply speaks of something grave all the same: a report that must not be passed over
        /// (section 15).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        grave: bool,
    },
}

impl Answer {
    /// Why the reply says nothing; `None` where it fits the question.
    pub fn unreadable(&self) -> Option<&str> {
        match self {
            Self::Unreadable { why, .. } => Some(why),
            _ => None,
        }
    }

    /// A short answer in the form in which it was asked for, as events tell it; `None` for what a judge says, and for what
    /// says nothing.
    pub fn short(&self) -> Option<Value> {
        Some(match self {
            Self::IsQuestion(question) => json!({"question": question}),
            Self::Text(answer) => json!({"answer": answer}),
            Self::DoesNotKnow => json!({"answer": null}),
            Self::Absorb { prompt } => json!({"action": "absorb", "prompt": prompt}),
            Self::Retry { reason } => json!({"action": "retry", "reason": reason}),
            Self::Unresolvable { reason } => json!({"action": "unresolvable", "reason": reason}),
            Self::Approve => json!({"decision": "approve"}),
            Self::Reject { reason } => json!({"decision": "reject", "reason": reason}),
            Self::Undecided { reason } => json!({"decision": "undecided", "reason": reason}),
            Self::Scores { .. }
            | Self::Evaluation { .. }
            | Self::Grades(_)
            | Self::Probes(_)
            | Self::Opinion(_)
            | Self::Findings(_)
            | Self::Unreadable { .. } => return None,
        })
    }
}

/// The seat and round that are asked about an attempt: the name of the work to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct SeatPlace {
    /// The attempt that is judged.
    pub attempt: u32,
    /// The round in which reviewers were asked about this attempt, from 1.
    pub round: u32,
    /// The seat, from 0.
    pub seat: u32,
}

/// The id of a call to an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AskId {
    /// The task that it is about.
    pub task: TaskId,
    /// The number of the call within the task, from 1 over the whole run.
    pub number: u32,
    /// The try, from 1: request retries count on.
    pub attempt_try: u32,
}

impl fmt::Display for AskId {
    /// Writes the beginning of the names of the call's spool files: `12.ask.1.1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.ask.{}.{}", self.task.0, self.number, self.attempt_try)
    }
}
