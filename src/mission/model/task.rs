//! Tasks, as the file describes them.

use std::num::{NonZeroU16, NonZeroU32};

use serde::Deserialize;
use thin_vec::ThinVec;

use crate::domain::Edge;
use crate::mission::read;
use crate::mission::scalar::{
    Deadline, Filled, InnerGlob, Positive, Span, TargetFile, TaskTitle, Title, Tries,
};

use super::approval::{Approval, approval};
use super::verification::{Decomposer, decomposer};
use super::{
    AgentChain, AgentMiddleware, Autonomy, Expectation, FinishGate, OnExhausted, RemedyOrder, Review, Stage,
    Stakes, TaskType, Verification,
};

/// A unit of work. A mission may have 100,000 of them, so lists take one word.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// How long its agent may be silent.
    #[serde(deserialize_with = "read::option")]
    pub stale_threshold: Option<Span>,
    /// When it must be finished.
    #[serde(deserialize_with = "read::boxed")]
    pub deadline: Option<Box<Deadline>>,
    /// Its unique title.
    #[serde(deserialize_with = "read::text_as::<Title, _>")]
    pub title: Box<str>,
    /// Who does it; may be left out if there is one agent.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub assign_to: Option<Box<str>>,
    /// What is to be done.
    #[serde(deserialize_with = "read::option")]
    pub description: Option<Box<str>>,
    /// What kind of work it is.
    #[serde(rename = "type", deserialize_with = "read::or_default")]
    pub kind: TaskType,
    /// Titles of the tasks it needs; they may come later in the file.
    #[serde(deserialize_with = "read::list_as::<TaskTitle, _, _>")]
    pub depends_on: ThinVec<Box<str>>,
    /// Orders the ready queue and weighs in the mission threshold.
    #[serde(deserialize_with = "read::boxed")]
    pub priority: Option<Box<Positive>>,
    /// The user's own labels.
    #[serde(deserialize_with = "read::list_as::<Filled, _, _>")]
    pub tags: ThinVec<Box<str>>,
    /// Whether nothing else may run while it runs and is judged.
    #[serde(deserialize_with = "read::or_default")]
    pub exclusive: bool,
    /// Whether running it twice does harm; `None` where the file does not say.
    #[serde(deserialize_with = "read::option")]
    pub side_effects: Option<bool>,
    /// Who must agree before it starts, if anybody.
    #[serde(deserialize_with = "approval")]
    pub requires_approval: Option<Box<Approval>>,
    /// Whether work without any tool call counts as not done.
    #[serde(deserialize_with = "read::option")]
    pub requires_tool_calls: Option<bool>,
    /// Files it must produce.
    #[serde(deserialize_with = "read::list_as::<TargetFile, _, _>")]
    pub target_files: ThinVec<Box<str>>,
    /// Paths or globs of files that its agent must not change, beside the mission's.
    #[serde(deserialize_with = "read::list_as::<InnerGlob, _, _>")]
    pub protect: ThinVec<Box<str>>,
    /// Globs of files that may appear or change below protected folders while one of its checks runs.
    #[serde(deserialize_with = "read::maybe_thin_list_as::<InnerGlob, _>")]
    pub checks_may_write: Option<ThinVec<Box<str>>>,
    /// The agent that handed it down.
    #[serde(deserialize_with = "read::rare_as::<Filled, _>")]
    pub delegated_by: Option<Box<Box<str>>>,
    /// Whether it asks for review.
    #[serde(deserialize_with = "read::or_default")]
    pub review: Review,
    /// What it must pass.
    #[serde(deserialize_with = "read::or_empty")]
    pub expectations: ThinVec<Expectation>,
    /// Criteria that it is accepted by.
    #[serde(deserialize_with = "read::list_as::<Filled, _, _>")]
    pub acceptance: ThinVec<Box<str>>,
    /// Who cuts them into probes, where that is said: then they are graded.
    #[serde(deserialize_with = "decomposer")]
    pub decomposer: Option<Box<Decomposer>>,
    /// How they are graded.
    #[serde(deserialize_with = "read::or_empty")]
    pub verification: Option<Box<Verification>>,
    /// For a verification: the task that follows if the work passes.
    #[serde(deserialize_with = "read::rare_as::<TaskTitle, _>")]
    pub on_pass: Option<Box<Box<str>>>,
    /// The task that follows if it fails, or that does it again.
    #[serde(deserialize_with = "read::rare_as::<TaskTitle, _>")]
    pub on_fail: Option<Box<Box<str>>>,
    /// The task that follows if that cannot be told.
    #[serde(deserialize_with = "read::rare_as::<TaskTitle, _>")]
    pub on_refer: Option<Box<Box<str>>>,
    /// How often a verification may be entered whose `onFail` points back.
    #[serde(deserialize_with = "read::visits")]
    pub max_visits: Option<NonZeroU16>,
    /// What must hold before its agent may call itself finished.
    #[serde(deserialize_with = "read::or_empty")]
    pub verify: Option<Box<FinishGate>>,
    /// Further stages of judging, behind those of the mission.
    #[serde(deserialize_with = "read::or_empty")]
    pub stages: ThinVec<Stage>,
    /// What is done around its turns instead of what the mission says.
    #[serde(deserialize_with = "read::boxed_chain::<AgentMiddleware, _, _>")]
    pub middleware: Option<Box<AgentChain>>,
    /// How much its agent may decide alone.
    #[serde(deserialize_with = "read::option")]
    pub autonomy: Option<Autonomy>,
    /// How much harm wrong work would do.
    #[serde(deserialize_with = "read::option")]
    pub stakes: Option<Stakes>,
    /// Cap on attempts of every kind.
    #[serde(deserialize_with = "read::option")]
    pub max_attempts: Option<NonZeroU32>,
    /// Fixes after one execute or retry.
    #[serde(deserialize_with = "read::option")]
    pub max_fix_attempts: Option<Tries>,
    /// Retries in all.
    #[serde(deserialize_with = "read::option")]
    pub max_retries: Option<Tries>,
    /// How long one turn may take.
    #[serde(deserialize_with = "read::option")]
    pub max_duration: Option<Span>,
    /// What happens when attempts are exhausted.
    #[serde(deserialize_with = "read::option")]
    pub on_exhausted: Option<OnExhausted>,
    /// What is tried when a dependency failed.
    #[serde(deserialize_with = "read::remedies")]
    pub on_dependency_failed: Option<RemedyOrder>,
    /// Its workspace, relative to the mission's folder.
    #[serde(deserialize_with = "read::rare_as::<Filled, _>")]
    pub workspace: Option<Box<Box<str>>>,
}

impl Task {
    /// The title that an edge of a verification leads to.
    #[must_use]
    pub fn edge(&self, edge: Edge) -> Option<&str> {
        let title = match edge {
            Edge::Pass => &self.on_pass,
            Edge::Fail => &self.on_fail,
            Edge::Refer => &self.on_refer,
        };
        title.as_deref().map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_small() {
        assert!(size_of::<Task>() <= 256, "{} bytes", size_of::<Task>());
    }
}
