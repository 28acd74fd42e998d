//! The small types that every room shares: ids, scores, times, and the words of the life cycle.
//!
//! Nothing here does I/O and nothing here decides. The words are those of the field (mission, task,
//! attempt, verdict, gate); the same word stands in YAML, JSON, logs and code.
//!
//! | file | what |
//! |---|---|
//! | `answer` | what the longer answers of agents that are asked are made of (13) |
//! | `assumption` | assumptions that an agent found broken (17) |
//! | `date_line` | the line of a prompt that tells the time |
//! | `dead_letter` | dead letters: operations that failed for good, and what may still become of them (13) |
//! | `digest` | content digests: what ties a record in the journal to a file beside it |
//! | `duration` | times: integer milliseconds everywhere, text only at the edges |
//! | `edge` | the edges that lead out of a verification (10) |
//! | `failure` | classes and modes of failure, and what each means for the task (13) |
//! | `ids` | ids: dense `u32` indices inside a run, a sortable text for the run itself |
//! | `lifecycle` | the words of a task's life: states, phases, attempts, flags (1, 4, 5) |
//! | `lookalikes` | characters that nobody sees, byte order marks, and names that cannot be told apart (22) |
//! | `money` | money in exact decimal arithmetic (19) |
//! | `outcome` | what a run ends with: exit codes, and which condition weighs most (20) |
//! | `purpose` | what an agent is asked, and what it may answer: the one table of purposes (13) |
//! | `intake` | intake: how far a request for work has come (16) |
//! | `score` | scores and bars in exact decimal arithmetic (2) |
//! | `stages` | the stages of judging: a row for each kind, and what names one of a task's (6, 15) |
//! | `trace` | the trace that the spans of a run belong to (20) |
//! | `verdict` | what judging yields: verdicts, findings, scored dimensions (1, 2) |

mod answer;
mod assumption;
mod date_line;
mod dead_letter;
mod digest;
mod duration;
mod edge;
mod failure;
mod ids;
mod intake;
mod lifecycle;
mod lookalikes;
mod money;
mod outcome;
mod purpose;
mod score;
mod stages;
mod trace;
mod verdict;

pub use answer::{FindingsReport, GradeGiven, Probe, RubricReply};
pub use assumption::{Assumption, BrokenAssumption};
pub use date_line::{date_line, undated};
pub use dead_letter::{DeadLetter, LetterStatus};
pub use digest::{Digest, Hasher};
pub use duration::{Millis, Timestamp};
pub use edge::Edge;
pub use failure::{FailureClass, FailureMode, ShellFailure};
pub use ids::{AgentId, BarrierId, GateId, HoldOwner, RunId, TaskId, TurnId};
pub use intake::RequestStatus;
pub use lifecycle::{AttemptKind, BeforeWork, Phase, QualityFlag, Status, WaitingReason};
pub use lookalikes::{
    folded, invisible_in, is_invisible, is_misleading, is_same_name, look_alike, skeleton_of, without_mark,
};
pub use money::Money;
pub use outcome::{Gravity, OutcomeClass};
pub use purpose::{Answer, AskId, Purpose, SeatPlace};
pub use score::{Bar, BarOrigin, Points};
pub use stages::{Opinion, Stage, StageKey, StageReply};
pub use trace::{NoTrace, RUN_SPAN, TraceParent, call_span, turn_span};
pub use verdict::{
    Addressed, Cause, CriterionGrade, CriterionResult, DeclaredVerdict, Dimension, DimensionScore, Finding,
    PriorAnswer, Severity, Verdict,
};
