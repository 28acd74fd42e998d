//! The parts of the table that nothing acts on yet: complete, so that a file written today is checked today.

use super::{Referent, Shape, Table, key, one, reference};
use crate::domain::Millis;
use crate::mission::scalar::{Filled, Fraction, InnerPath, Name, words};

/// Declares an enum whose values nothing reads yet: only its words are checked.
macro_rules! word_list {
    ($name:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        pub(super) enum $name { $($value),+ }
        words!($name: $expects, $($word => $value),+);
    };
}

word_list!(Autonomy: "a level of autonomy",
    "locked" => Locked, "supervised" => Supervised, "semi" => Semi, "full" => Full);
word_list!(Stakes: "a level of stakes", "low" => Low, "medium" => Medium, "high" => High);
word_list!(Isolation: "a kind of isolation",
    "shared" => Shared, "worktree" => Worktree, "copy" => Copy, "temp" => Temp);
word_list!(Clarification: "a way to treat unclear criteria", "warn" => Warn, "enforce" => Enforce);
word_list!(OnMissing: "what happens without a red team", "block" => Block, "skip" => Skip);
word_list!(VisionKind: "a kind of vision check",
    "noop" => Noop, "heuristic" => Heuristic, "llm_vision" => LlmVision);
word_list!(IdentityDecomposer: "a decomposer", "identity" => Identity);
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

const NAME: Shape = one::<Name>();
const FILLED: Shape = one::<Filled>();
const SPAN: Shape = one::<Millis>();
const SHARE: Shape = one::<Fraction>();
const PATHS: Shape = Shape::List(&one::<InnerPath>());
const AGENT: Shape = reference(Referent::Agent);

pub(super) static RED_TEAM: Table = Table {
    name: "a red team",
    keys: &[
        key("agent", AGENT, "Who attacks.").required(),
        key(
            "minStakes",
            one::<Stakes>(),
            "The least stakes at which it is asked.",
        ),
        key(
            "onMissing",
            one::<OnMissing>(),
            "What happens if it cannot be asked.",
        ),
    ],
};

pub(super) static VISION: Table = Table {
    name: "a vision check",
    keys: &[
        key("kind", one::<VisionKind>(), "What kind of check it is."),
        key("agent", AGENT, "Who looks."),
        key("screenshots", PATHS, "The pictures."),
        key(
            "expectations",
            Shape::List(&Shape::Anything),
            "What must be seen.",
        ),
        key("tolerance", SHARE, "How much may differ."),
    ],
};

static STAGE: Table = Table {
    name: "a stage",
    keys: &[
        key("name", NAME, "Its name.").required(),
        key("agent", AGENT, "Who judges."),
        key("command", FILLED, "A command that judges."),
        key("timeout", SPAN, "How long it may take."),
    ],
};

pub(super) const STAGES: Shape = Shape::List(&Shape::Map(&STAGE));

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

static AGENT_DECOMPOSER: Table = Table {
    name: "a decomposer",
    keys: &[key("agent", AGENT, "The agent that does it.").required()],
};

pub(super) const DECOMPOSER: Shape =
    Shape::Either(&[Shape::Map(&AGENT_DECOMPOSER), one::<IdentityDecomposer>()]);
