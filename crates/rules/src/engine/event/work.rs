//! What happens to things that are under way: turns of workers, questions to agents, and all other work.

use serde::{Deserialize, Serialize};
use serde_with::{apply, skip_serializing_none};

use crate::domain::{AgentId, FailureClass, Purpose, Timestamp};
use crate::engine::event_payload::{FileRef, Used, is_default};
use crate::engine::fact::{AskReply, Prompt, TurnEnd, TurnUpdate};
use crate::engine::job::{Job, JobEnd};

/// An event of a turn of a task's worker.
#[skip_serializing_none]
#[apply(bool => #[serde(default, skip_serializing_if = "is_default")])]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum TurnEvent {
    /// `files:noted`: what stands in the files that the turn is held against was written down. Before the turn starts.
    FilesNoted {
        /// The record, in the spool.
        file: FileRef,
        /// Whether another turn was under way meanwhile.
        shared: bool,
    },
    /// `work:started` of a turn: durable before the process or request exists; `authority:cues` where its prompt speaks with
    /// authority.
    Started(Prompt),
    /// What is seen of it while it is under way.
    Progress(TurnUpdate),
    /// `work:progressed` (`retrying`): the process or connection could not be made, or a provider refused the request; it is tried
    /// again.
    RequestFailed {
        /// The class of the failure.
        class: FailureClass,
        /// The failure in words.
        message: String,
        /// When the request is made again.
        not_before: Timestamp,
        /// How many requests there may be in all; 0 in journals that do not tell.
        #[serde(default, skip_serializing_if = "is_default")]
        of: u32,
        /// Whether nothing was sent and no process came to be: then it was no request.
        never_began: bool,
    },
    /// `work:ended` of a turn; `delegation:requested`, `authority:cues` and `task:escalated` where it brought such things that
    /// count: those that do not are left out.
    Finished(Box<TurnEnd>),
    /// `work:ended` (`lost`): the turn was lost to the death or interruption of the runner: no verdict on the agent.
    Lost,
    /// `work:progressed` (`adopted`): the turn outlived the runner that started it. It still works, or its end is on the supervisor's
    /// record.
    Adopted,
}

/// An event of a call to an agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AskEvent {
    /// `work:requested`: the agent is to be asked.
    Requested {
        /// The purpose of the call.
        purpose: Purpose,
        agent: AgentId,
        /// For a strict reprompt of a judge: what its reply before lacks.
        strict: Option<String>,
        /// Before which moment the agent is not asked (back-off).
        not_before: Option<Timestamp>,
    },
    /// `handoff:recorded`: work was handed over to whoever grades it.
    HandedOver {
        /// The agent that grades the work.
        agent: AgentId,
        /// The record of what was handed over, in the spool.
        file: FileRef,
    },
    /// `work:ended`: the agent replied.
    Replied(AskReply),
    /// `work:ended`: the agent could not be asked or did not answer.
    Failed {
        /// The purpose of the call.
        purpose: Purpose,
        agent: AgentId,
        /// Whether the agent is not asked again: nothing is to be expected of it any more.
        #[serde(default, skip_serializing_if = "is_default")]
        gave_up: bool,
        /// The class of the failure.
        class: FailureClass,
        /// The failure in words.
        message: String,
        /// The usage of the call until then, where it is known.
        used: Option<Box<Used>>,
        /// For a limit that resets: when.
        until: Option<Timestamp>,
        /// Whether nothing was sent and no process came to be: then it was no request.
        #[serde(default, skip_serializing_if = "is_default")]
        never_began: bool,
    },
}

/// An event of any other work for a task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WorkEvent {
    /// The work was put on record (`work:requested`).
    Requested(Job),
    /// The work came to an end (`work:ended`).
    Ended {
        /// The kind of work.
        job: Job,
        end: JobEnd,
    },
}
