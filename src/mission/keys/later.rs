//! The parts of the table that nothing acts on yet: complete, so that a file written today is checked today.

use super::{Shape, Table, key, one};
use crate::mission::scalar::words;

/// Declares an enum whose values nothing reads yet: only its words are checked.
macro_rules! word_list {
    ($name:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        pub(super) enum $name { $($value),+ }
        words!($name: $expects, $($word => $value),+);
    };
}

word_list!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);
word_list!(Clarification: "a way to treat unclear criteria", "warn" => Warn, "enforce" => Enforce);
word_list!(AgentMiddleware: "an agent middleware",
    "checkpoint_resume" => CheckpointResume, "delegation_chain_hash" => DelegationChainHash,
    "authority_deference" => AuthorityDeference, "sanitize_message" => SanitizeMessage,
    "security_interceptor" => SecurityInterceptor, "policy_gate" => PolicyGate, "approval_gate" => ApprovalGate,
    "assumption_violation" => AssumptionViolation, "classification" => Classification,
    "cost_recording" => CostRecording, "semantic_drift" => SemanticDrift);
word_list!(CoordinationMiddleware: "a coordination middleware",
    "clarification_gate" => ClarificationGate, "task_ledger" => TaskLedger, "plan_review_gate" => PlanReviewGate,
    "progress_ledger" => ProgressLedger, "coordination_replan" => CoordinationReplan,
    "authority_deference_coordination" => AuthorityDeferenceCoordination);

pub(super) static MIDDLEWARE: Table = Table {
    name: "middleware settings",
    keys: &[
        key(
            "agent",
            Shape::List(&one::<AgentMiddleware>()),
            "Around every agent, in order.",
        ),
        key(
            "coordination",
            Shape::List(&one::<CoordinationMiddleware>()),
            "Around the whole run, in order.",
        ),
    ],
};
