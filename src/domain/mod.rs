//! The small types that every room shares: ids, scores, times, and the words of the life cycle.
//!
//! Nothing here does I/O and nothing here decides. The words are those of the field (mission, task,
//! attempt, verdict, gate); the same word stands in YAML, JSON, logs and code.

mod assumption;
mod consult;
mod date_line;
mod dead_letter;
mod digest;
mod duration;
mod edge;
mod failure;
mod ids;
mod lifecycle;
mod looks;
mod money;
mod outcome;
mod request;
mod score;
mod stages;
mod verdict;

pub use assumption::{Assumption, BrokenAssumption};
pub use consult::{
    Advice, AskId, DeclaredVerdict, FindingsReport, GradeGiven, Probe, Purpose, RubricReply, SeatPlace,
};
pub use date_line::{date_line, undated};
pub use dead_letter::{DeadLetter, LetterStatus};
pub use digest::{Digest, Hasher};
pub use duration::{Millis, ParseDurationError, Timestamp};
pub use edge::Edge;
pub use failure::{FailureClass, FailureMode, ShellFailure};
pub use ids::{AgentId, GateId, HoldId, InvalidRunId, RunId, TaskId, TurnId};
pub use lifecycle::{AttemptKind, Phase, QualityFlag, Status, WaitingReason};
pub use looks::{folded, invisible_in, is_invisible, is_misleading, is_same_name, look_alike, skeleton_of};
pub use money::{Money, ParseMoneyError};
pub use outcome::OutcomeClass;
pub use request::RequestStatus;
pub use score::{Bar, BarOrigin, ParseBarError, Points};
pub use stages::{Opinion, Step};
pub use verdict::{
    Addressed, Cause, CriterionGrade, Dimension, DimensionScore, Finding, PriorAnswer, Severity, Stage,
    Verdict,
};
