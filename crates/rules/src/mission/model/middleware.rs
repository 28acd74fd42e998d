//! Middleware (semantics, section 17): what is done around every turn of an agent, and around the work on the whole graph.
//!
//! A chain is ordered: what runs before runs from left to right, what runs after from right to left, and of what wraps a call
//! the first is the outermost. Each entry switches what it names: where a chain leaves it out, that is not done.

use crate::mission::file::{
    document::Node,
    keys::{Value, keys, words},
    levels::ShowValue,
    shape::Shape,
};

worded! {
    /// A moment of an agent's turn.
    pub enum AgentHook {
        /// The hook before the turn.
        BeforeAgent = "beforeAgent",
        /// Before each request to its model.
        BeforeModel = "beforeModel",
        /// Around each request to its model.
        WrapModelCall = "wrapModelCall",
        /// Around each tool call.
        WrapToolCall = "wrapToolCall",
        /// After each reply of its model.
        AfterModel = "afterModel",
        /// The hook after the turn.
        AfterAgent = "afterAgent",
    }
}

impl AgentHook {
    /// Whether the hook comes around an agent that nobody can look into.
    fn is_outside(self) -> bool {
        matches!(self, Self::BeforeAgent | Self::AfterAgent)
    }

    /// Whether the last of a chain runs first.
    fn is_after(self) -> bool {
        matches!(self, Self::AfterModel | Self::AfterAgent)
    }
}

/// How far middleware comes around an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Around {
    /// An agent with all six hooks: its turn is a conversation with tools that is led here.
    Inside,
    /// Only before and after the turn: a command, or a model without tools. Nobody can look into it.
    Outside,
}

impl Around {
    /// The hooks that come, in the order of a turn.
    pub fn hooks(self) -> impl Iterator<Item = AgentHook> {
        let comes = move |hook: &AgentHook| self == Self::Inside || hook.is_outside();
        AgentHook::ALL.into_iter().filter(comes)
    }
}

words! {
    /// An entry around a turn.
    pub enum AgentMiddleware: "an agent middleware" {
        /// A turn that a crash left behind is taken over or begun anew; without it its attempt has failed.
        CheckpointResume = "checkpoint_resume",
        /// The digest of each task's text is on record, and delegated work that differs from its digest is told.
        DelegationChainHash = "delegation_chain_hash",
        /// Words of authority in a prompt are counted, and the agent is told to weigh them.
        AuthorityDeference = "authority_deference",
        /// Control characters are kept from prompts and from what tools give back.
        SanitizeMessage = "sanitize_message",
        /// A model's tools refuse to write protected paths and to run destructive commands.
        SecurityInterceptor = "security_interceptor",
        /// A model gets no tool that is denied to it.
        PolicyGate = "policy_gate",
        /// A person is asked about each call of a tool with the policy `ask`.
        ApprovalGate = "approval_gate",
        /// An agent that says that what it was told does not hold is not judged before a person was asked.
        AssumptionViolation = "assumption_violation",
        /// Failures are told apart by their class; without it each is `unknown`.
        Classification = "classification",
        /// What a turn used is on record; without it nobody knows, and a cost ceiling ends the run.
        CostRecording = "cost_recording",
        /// Work that has few words in common with what was asked is warned about. Only where a chain names it.
        SemanticDrift = "semantic_drift",
    }
}

impl AgentMiddleware {
    /// The hook of the entry around a turn that is led here; the hook around a turn that nobody can look into (`None`: nobody
    /// sees there what the entry looks at); and what a run does without where a chain leaves out an entry that guards it.
    fn entry(self) -> (AgentHook, Option<AgentHook>, Option<&'static str>) {
        use AgentHook::{AfterAgent, AfterModel, BeforeAgent, BeforeModel, WrapModelCall, WrapToolCall};
        match self {
            Self::CheckpointResume | Self::AuthorityDeference => (BeforeAgent, Some(BeforeAgent), None),
            Self::DelegationChainHash => {
                let without = "handed-down work is not held against its digest";
                (BeforeAgent, Some(BeforeAgent), Some(without))
            }
            Self::SanitizeMessage => {
                (BeforeModel, Some(BeforeAgent), Some("control characters reach agents"))
            }
            Self::SecurityInterceptor => {
                let without = "tools of models may write protected paths and run destructive commands";
                (WrapToolCall, None, Some(without))
            }
            Self::PolicyGate => (WrapToolCall, None, Some("models get tools that are denied to them")),
            Self::ApprovalGate => (WrapToolCall, None, Some("no person is asked about tool calls")),
            // What a turn said and did is known there when it has ended.
            Self::AssumptionViolation => {
                let without = "no person is asked where an assumption is broken";
                (AfterModel, Some(AfterAgent), Some(without))
            }
            Self::Classification => (WrapModelCall, Some(AfterAgent), None),
            Self::CostRecording => (AfterAgent, Some(AfterAgent), None),
            Self::SemanticDrift => (AfterModel, Some(AfterAgent), None),
        }
    }

    fn hook(self, around: Around) -> Option<AgentHook> {
        let (inside, outside, _) = self.entry();
        match around {
            Around::Inside => Some(inside),
            Around::Outside => outside,
        }
    }

    /// The protection that a run loses where a chain leaves out an entry; `None` for an entry that guards
    /// nothing.
    pub fn guards(self) -> Option<&'static str> {
        self.entry().2
    }
}

/// The entries of a chain, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain<T>(Box<[T]>);

/// The entries around every turn.
pub type AgentChain = Chain<AgentMiddleware>;

/// The entries around the work on the whole graph.
pub type CoordinationChain = Chain<CoordinationMiddleware>;

impl<T> FromIterator<T> for Chain<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        Self(entries.into_iter().collect())
    }
}

impl<T: Copy> Chain<T> {
    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.0.iter().copied()
    }
}

impl<T: PartialEq> Chain<T> {
    /// Whether an entry is in it.
    pub fn has(&self, entry: T) -> bool {
        self.0.contains(&entry)
    }
}

impl<T: Value> Value for Chain<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        node.items().map(T::read).collect()
    }
}

impl<T: ShowValue> ShowValue for Chain<T> {
    fn shown(&self) -> serde_json::Value {
        self.0.iter().map(ShowValue::shown).collect()
    }
}

impl Default for AgentChain {
    fn default() -> Self {
        Middleware::default().agent()
    }
}

impl AgentChain {
    /// The entries that run at a hook, in the order in which they run; of what wraps a call the outermost
    /// first.
    pub fn at(&self, hook: AgentHook, around: Around) -> Vec<AgentMiddleware> {
        let entries = self.0.iter().copied();
        let mut entries: Vec<_> = entries.filter(|entry| entry.hook(around) == Some(hook)).collect();
        if hook.is_after() {
            entries.reverse();
        }
        entries
    }
}

words! {
    /// An entry around the work on the whole graph.
    pub enum CoordinationMiddleware: "a coordination middleware" {
        /// Criteria that say nothing are told before any work starts.
        ClarificationGate = "clarification_gate",
        /// The plan is written down before each wave.
        TaskLedger = "task_ledger",
        /// Under `autonomy: locked` or `supervised` a plan of two tasks or more waits here for a person: `quorum
        /// approve ID` starts it, `quorum reject ID --reason TEXT` fails its tasks. A chain
        /// `settings.middleware.coordination` without it asks nobody.
        PlanReviewGate = "plan_review_gate",
        /// The result of each wave is written down; after three in a row without any, no agent is asked for
        /// another way.
        ProgressLedger = "progress_ledger",
        /// Where work has failed that other work needs, the orchestrator is asked for another way, as
        /// `onDependencyFailed: [resolve]` says.
        CoordinationReplan = "coordination_replan",
        /// Words that speak with authority are counted in the result of a delegated task before its delegator sees
        /// it (`authority:cues`, `in: result`).
        AuthorityDeferenceCoordination = "authority_deference_coordination",
    }
}

impl Default for CoordinationChain {
    fn default() -> Self {
        Middleware::default().coordination()
    }
}

worded! {
    /// A moment of the work on the whole graph.
    pub enum CoordinationHook {
        /// Before the plan is made.
        BeforeDecompose = "beforeDecompose",
        /// The hook behind the plan, once that is made: its warnings, whatever the chain says.
        AfterDecompose = "afterDecompose",
        /// The hook before a wave.
        BeforeDispatch = "beforeDispatch",
        /// Once a wave has ended.
        AfterRollup = "afterRollup",
        /// Before the result of delegated work reaches its delegator.
        BeforeUpdateParent = "beforeUpdateParent",
    }
}

impl CoordinationMiddleware {
    /// The hook at which the entry runs.
    pub fn hook(self) -> CoordinationHook {
        match self {
            Self::ClarificationGate => CoordinationHook::BeforeDecompose,
            Self::TaskLedger | Self::PlanReviewGate => CoordinationHook::BeforeDispatch,
            Self::ProgressLedger | Self::CoordinationReplan => CoordinationHook::AfterRollup,
            Self::AuthorityDeferenceCoordination => CoordinationHook::BeforeUpdateParent,
        }
    }
}

keys! {
    /// `settings.middleware`. `None` leaves a chain to the next level and at last to the default.
    #[derive(Default)]
    pub struct Middleware: "middleware settings", by level {
        /// Around every turn of an agent, in order [all but semantic_drift].
        "agent" agent: Option<AgentChain> = "[checkpoint_resume, delegation_chain_hash, authority_deference, \
            sanitize_message, security_interceptor, policy_gate, approval_gate, assumption_violation, \
            classification, cost_recording]";
        /// Around the work on the whole graph, in order [=].
        "coordination" coordination: Option<CoordinationChain> = "[clarification_gate, task_ledger, plan_review_gate, \
            progress_ledger, coordination_replan, authority_deference_coordination]";
    }
}

words! {
    /// The treatment of criteria that say nothing that could be judged.
    #[derive(Default)]
    pub enum Clarification: "a way to treat unclear criteria" {
        /// Such criteria give a warning.
        #[default]
        Warn = "warn",
        /// The mission is refused.
        Enforce = "enforce",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentMiddleware::{
        AssumptionViolation, AuthorityDeference, Classification, CostRecording, PolicyGate,
        SecurityInterceptor,
    };

    #[test]
    fn before_from_left_to_right_after_from_right_to_left_and_the_first_wraps_the_others() {
        let chain: AgentChain = [
            PolicyGate,
            AssumptionViolation,
            AuthorityDeference,
            Classification,
            SecurityInterceptor,
            CostRecording,
            AgentMiddleware::CheckpointResume,
        ]
        .into_iter()
        .collect();
        let at = |hook| chain.at(hook, Around::Inside);
        assert_eq!(at(AgentHook::BeforeAgent), [AuthorityDeference, AgentMiddleware::CheckpointResume]);
        assert_eq!(at(AgentHook::WrapModelCall), [Classification]);
        assert_eq!(at(AgentHook::WrapToolCall), [PolicyGate, SecurityInterceptor]);
        assert_eq!(at(AgentHook::AfterModel), [AssumptionViolation]);
        assert_eq!(at(AgentHook::AfterAgent), [CostRecording]);
        assert_eq!(
            chain.at(AgentHook::AfterAgent, Around::Outside),
            [CostRecording, Classification, AssumptionViolation]
        );
    }

    #[test]
    fn every_entry_runs_at_one_hook_that_comes_around_its_agent() {
        let chain = AgentChain::default();
        for (around, most) in [(Around::Inside, 10), (Around::Outside, 7)] {
            let all: usize = around.hooks().map(|hook| chain.at(hook, around).len()).sum();
            assert_eq!(all, most, "{around:?}");
        }
    }
}
