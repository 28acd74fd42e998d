//! Tasks, as the file describes them.

use std::num::{NonZeroU16, NonZeroU32};

use thin_vec::ThinVec;

use crate::{
    domain::Edge,
    mission::file::{
        keys::keys,
        scalar::{
            AgentName, Deadline, Filled, InnerGlob, Positive, Span, TargetFile, TaskTitle, Title, TryCount,
        },
    },
};

use super::approval::{Approval, YesOrHow};
use super::expectation::Expectation;
use super::finish_gate::FinishGate;
use super::middleware::AgentChain;
use super::stages::ExtraStage;
use super::verification::{Decomposer, Verification};
use super::words::{
    Autonomy, CHECKS_MAY_WRITE, FileScope, Isolation, NetworkAccess, OnExhausted, ProofRule, RemedyOrder,
    Review, SCRATCH, Sandbox, Stakes, TESTS, TaskType,
};

keys! {
    /// A unit of work. A mission may have 100,000 of them, so lists take one word, and so does what few tasks have.
    #[derive(Default)]
    pub struct Task: "a task" {
        /// The unique title, by which other tasks refer to it.
        "title" title: Box<str> as Title, required;
        /// The agent that does it; may be left out if there is only one.
        "assignTo" assign_to: Option<Box<Box<str>>> as AgentName;
        /// What is to be done; becomes the prompt.
        "description" description: Option<Box<str>>;
        /// What kind of work it is [=]; a verification judges the tasks that it depends on and chooses what follows.
        "type" kind: TaskType, or("other");
        /// Titles of the tasks that must be done before; they may stand later in the file.
        "dependsOn" depends_on: ThinVec<Box<str>> as TaskTitle;
        /// Orders what could start, and weighs in the mission threshold [=].
        "priority" priority: Option<Box<Positive>> = "1";
        /// Labels of your own.
        "tags" tags: ThinVec<Box<str>> as Filled;
        /// Whether nothing else may run while it runs and is judged [=].
        "exclusive" exclusive: bool, or("false");
        /// Whether running it twice does harm: then only a person's word makes its agent act again [=].
        "sideEffects" side_effects: Option<bool> = "false";
        /// Whether somebody must agree before it starts [=].
        "requiresApproval" requires_approval: Option<Box<Approval>> as YesOrHow, or("false");
        /// Whether work without any tool call counts as not done [for implement, test, refactor and deploy, where
        /// the agent's adapter sees its calls]. `false` also says that its answer may be all of the work.
        "requiresToolCalls" requires_tool_calls: Option<bool>;
        /// Files that it must produce, relative to the workspace.
        "targetFiles" target_files: ThinVec<Box<str>> as TargetFile;
        #[doc = says!(protect)]
        "protect" protect: ThinVec<Box<str>> as InnerGlob;
        #[doc = says!(baseline)]
        "baseline" baseline: Option<bool>, or("true");
        #[doc = says!(proof)]
        "proof" proof: Option<ProofRule>, or("warn");
        #[doc = says!(tests)]
        "tests" tests: Option<ThinVec<Box<str>>> as InnerGlob, or(TESTS);
        /// Whether its work may change tests that are there: then it is only said that they fail on it as they were [=].
        "mayChangeTests" may_change_tests: bool, or("false");
        #[doc = says!(checks_may_write)]
        "checksMayWrite" checks_may_write: Option<ThinVec<Box<str>>> as InnerGlob, or(CHECKS_MAY_WRITE);
        #[doc = says!(scratch)]
        "scratch" scratch: Option<ThinVec<Box<str>>> as InnerGlob, or(SCRATCH);
        /// The agent that handed it down, and is the first to be asked for a review, also where it is a command.
        "delegatedBy" delegated_by: Option<Box<Box<str>>> as AgentName;
        /// Whether work without expectations is evaluated: never, where somebody can, or by all means [=].
        "review" review: Review, or("auto");
        /// What the work must pass.
        "expectations" expectations: ThinVec<Expectation>;
        /// The most attempts of every kind.
        "maxAttempts" max_attempts: Option<NonZeroU32>;
        #[doc = says!(max_fix_attempts)]
        "maxFixAttempts" max_fix_attempts: Option<TryCount>, or("2");
        #[doc = says!(max_retries)]
        "maxRetries" max_retries: Option<TryCount>, or("3");
        /// How long its agent may be silent before somebody is warned; after twice that it is killed.
        "staleThreshold" stale_threshold: Option<Span>;
        /// How long one turn may take.
        "maxDuration" max_duration: Option<Span>;
        #[doc = says!(on_exhausted)]
        "onExhausted" on_exhausted: Option<OnExhausted>;
        /// Where its agent works, relative to the mission's folder.
        "workspace" workspace: Option<Box<Box<str>>> as Filled;
        #[doc = says!(isolation)]
        "isolation" isolation: Option<Isolation>, or("shared");
        #[doc = says!(sandbox)]
        "sandbox" sandbox: Option<Sandbox>, or("auto");
        #[doc = says!(network)]
        "network" network: Option<NetworkAccess>, or("allow");
        #[doc = says!(files)]
        "files" files: Option<FileScope>, or("open");
        #[doc = says!(deadline)]
        "deadline" deadline: Option<Box<Deadline>>;
        #[doc = says!(autonomy)]
        "autonomy" autonomy: Option<Autonomy>, or("semi");
        #[doc = says!(stakes)]
        "stakes" stakes: Option<Stakes>, or("medium");
        #[doc = says!(on_dependency_failed)]
        "onDependencyFailed" on_dependency_failed: Option<RemedyOrder>, or("[resolve, skip]");
        /// Criteria that the work is accepted by, checked one by one; all are required.
        "acceptance" acceptance: ThinVec<Box<str>> as Filled, filled;
        /// How the criteria are graded after all other judging.
        "verification" verification: Option<Box<Verification>>;
        /// Who cuts the criteria into one to five yes-or-no questions each: an agent, never the author [=: each one is a
        /// question].
        "decomposer" decomposer: Option<Box<Decomposer>>, or("identity");
        /// What must hold before an agent may call itself finished; else it is told what is missing.
        "verify" verify: Option<Box<FinishGate>>;
        /// Further stages of judging, behind those of the mission.
        "stages" stages: ThinVec<ExtraStage>;
        /// What is done around the turns of its agent, instead of what the mission says.
        "middleware" middleware: Option<Box<AgentChain>>;
        /// Of a verification: the task that follows if the work passes.
        "onPass" on_pass: Option<Box<Box<str>>> as TaskTitle;
        /// Of a verification: the task that follows if the work fails; one that it waits for is done again.
        "onFail" on_fail: Option<Box<Box<str>>> as TaskTitle;
        /// Of a verification: the task that follows if it cannot be told whether the work is good.
        "onRefer" on_refer: Option<Box<Box<str>>> as TaskTitle;
        /// Of a verification whose `onFail` points back: how often it may judge before it fails [=].
        "maxVisits" max_visits: Option<NonZeroU16> = "3";
    }
}

impl Task {
    /// The title that an edge of a verification leads to.
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
        assert!(size_of::<Task>() <= 272, "{} bytes", size_of::<Task>());
    }
}
