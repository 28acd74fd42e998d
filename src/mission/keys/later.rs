//! The parts of the table that nothing acts on yet: complete, so that a file written today is checked today.

use std::num::NonZeroU32;

use super::tables::{CHANNEL_NAMES, TASK_TITLES};
use super::{Referent, Shape, Table, key, one, one_shape, reference};
use crate::domain::{Millis, Points};
use crate::mission::environment::Template;
use crate::mission::scalar::{Filled, Fraction, InnerPath, Name, Positive, words};

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
word_list!(Independence: "a kind of independence",
    "identity" => Identity, "model" => Model, "family" => Family);
word_list!(PanelMode: "a kind of panel", "parallel" => Parallel, "adaptive" => Adaptive);
word_list!(Clarification: "a way to treat unclear criteria", "warn" => Warn, "enforce" => Enforce);
word_list!(DependencyFailure: "what can be tried when a dependency failed",
    "artifacts" => Artifacts, "partial" => Partial, "resolve" => Resolve, "skip" => Skip);
word_list!(OnMissing: "what happens without a red team", "block" => Block, "skip" => Skip);
word_list!(VisionKind: "a kind of vision check",
    "noop" => Noop, "heuristic" => Heuristic, "llm_vision" => LlmVision);
word_list!(ViolationAction: "what happens when a deadline passes", "notify" => Notify, "fail" => Fail);
word_list!(OnRefer: "what happens to referred work", "human" => Human, "rework" => Rework, "pass" => Pass);
word_list!(Grader: "a kind of grader", "llm" => Llm, "heuristic" => Heuristic);
word_list!(Grade: "a kind of grade", "binary" => Binary, "ternary" => Ternary, "score" => Score);
word_list!(ExpectedVerdict: "a verdict", "pass" => Pass, "fail" => Fail, "refer" => Refer);
word_list!(ChannelType: "a type of channel",
    "webhook" => Webhook, "slack" => Slack, "command" => Command, "file" => File,
    "email" => Email, "telegram" => Telegram);
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
const TEXT: Shape = one::<String>();
const FILLED: Shape = one::<Filled>();
const FLAG: Shape = one::<bool>();
const COUNT: Shape = one::<NonZeroU32>();
const SPAN: Shape = one::<Millis>();
const SHARE: Shape = one::<Fraction>();
const PATHS: Shape = Shape::List(&one::<InnerPath>());
const TEXTS: Shape = Shape::List(&FILLED);
const AGENT: Shape = reference(Referent::Agent);
const COMMAND_LINE: Shape = Shape::Either(&[Shape::NonEmptyList(&TEXT), FILLED]);

pub(super) static CHANNEL: Table = Table {
    name: "a channel",
    keys: &[
        key("type", one::<ChannelType>()).required(),
        key("url", one::<Template>()),
        key("path", FILLED),
        key("run", COMMAND_LINE),
        key("headers", Shape::Named(&one_shape::<Name>(), &one::<Template>())),
        key("timeout", SPAN),
    ],
};

pub(super) static RUBRIC: Table = Table {
    name: "a rubric",
    keys: &[
        key("description", TEXT),
        key("criteria", Shape::NonEmptyList(&Shape::Map(&CRITERION))).required(),
        key("examples", Shape::List(&Shape::Map(&EXAMPLE))),
        key("minConfidence", SHARE),
    ],
};

static CRITERION: Table = Table {
    name: "a criterion",
    keys: &[
        key("name", NAME).required(),
        key("description", FILLED),
        key("weight", one::<Positive>()).required(),
        key("grade", one::<Grade>()),
        key("required", FLAG),
        key(
            "levels",
            Shape::Named(&one_shape::<crate::mission::scalar::RubricLevel>(), &FILLED),
        ),
    ],
};

static EXAMPLE: Table = Table {
    name: "an example",
    keys: &[
        key("artifact", FILLED).required(),
        key("verdict", one::<ExpectedVerdict>()).required(),
        key("rationale", FILLED).required(),
        key("grades", Shape::Named(&one_shape::<Name>(), &SHARE)),
    ],
};

pub(super) static CHECKPOINT: Table = Table {
    name: "a checkpoint",
    keys: &[
        key("name", NAME).required(),
        key("afterTasks", TASK_TITLES).required(),
        key("blocksTasks", TASK_TITLES).required(),
        key("message", TEXT),
        key("notifyChannels", CHANNEL_NAMES),
    ],
};

pub(super) static DELAY: Table = Table {
    name: "a delay",
    keys: &[
        key("name", NAME).required(),
        key("afterTasks", TASK_TITLES).required(),
        key("blocksTasks", TASK_TITLES).required(),
        key("duration", SPAN).required(),
        key("message", TEXT),
        key("notifyChannels", CHANNEL_NAMES),
    ],
};

pub(super) static BUDGET: Table = Table {
    name: "a budget",
    keys: &[
        key("maxCost", one::<Positive>()),
        key("maxTokens", one::<u64>()),
        key("maxRequests", one::<u64>()),
        key("maxTime", SPAN),
    ],
};

pub(super) static RED_TEAM: Table = Table {
    name: "a red team",
    keys: &[
        key("agent", AGENT).required(),
        key("minStakes", one::<Stakes>()),
        key("onMissing", one::<OnMissing>()),
    ],
};

pub(super) static VISION: Table = Table {
    name: "a vision check",
    keys: &[
        key("kind", one::<VisionKind>()),
        key("agent", AGENT),
        key("screenshots", PATHS),
        key("expectations", Shape::List(&Shape::Anything)),
        key("tolerance", SHARE),
    ],
};

static STAGE: Table = Table {
    name: "a stage",
    keys: &[
        key("name", NAME).required(),
        key("agent", AGENT),
        key("command", FILLED),
        key("timeout", SPAN),
    ],
};

pub(super) const STAGES: Shape = Shape::List(&Shape::Map(&STAGE));

pub(super) static SLA: Table = Table {
    name: "sla settings",
    keys: &[
        key("warningThreshold", SHARE),
        key("checkIntervalMs", COUNT),
        key("warningChannels", CHANNEL_NAMES),
        key("violationChannels", CHANNEL_NAMES),
        key("violationAction", one::<ViolationAction>()),
    ],
};

pub(super) static MIDDLEWARE: Table = Table {
    name: "middleware settings",
    keys: &[
        key("agent", Shape::List(&one::<AgentMiddleware>())),
        key("coordination", Shape::List(&one::<CoordinationMiddleware>())),
    ],
};

static APPROVER_COMMAND: Table = Table {
    name: "an approver",
    keys: &[key("command", FILLED).required()],
};

/// Approvers are people, agents or commands; a person's name is any text.
const APPROVERS: Shape = Shape::NonEmptyList(&Shape::Either(&[Shape::Map(&APPROVER_COMMAND), FILLED]));

pub(super) static APPROVAL: Table = Table {
    name: "an approval",
    keys: &[
        key("approvers", APPROVERS),
        key("timeout", SPAN),
        key("message", TEXT),
    ],
};

pub(super) static APPROVAL_GATE: Table = Table {
    name: "an approval gate",
    keys: &[
        key("name", NAME).required(),
        key("when", FILLED),
        key("approvers", APPROVERS),
        key("timeout", SPAN),
    ],
};

pub(super) static PRICE: Table = Table {
    name: "a price",
    keys: &[key("input", one::<Positive>()), key("output", one::<Positive>())],
};

pub(super) static VERIFICATION: Table = Table {
    name: "a verification",
    keys: &[
        key("rubric", reference(Referent::Rubric)).required(),
        key("threshold", one::<Points>()),
        key("onRefer", one::<OnRefer>()),
        key("minConfidence", SHARE),
        key("grader", one::<Grader>()),
    ],
};

pub(super) const ACCEPTANCE: Shape = Shape::NonEmptyList(&FILLED);

static AGENT_DECOMPOSER: Table = Table {
    name: "a decomposer",
    keys: &[key("agent", AGENT).required()],
};

pub(super) const DECOMPOSER: Shape =
    Shape::Either(&[Shape::Map(&AGENT_DECOMPOSER), one::<IdentityDecomposer>()]);

pub(super) static FINISH_GATE: Table = Table {
    name: "a finish gate",
    keys: &[
        key("requiredTests", TEXTS),
        key("testCommand", FILLED),
        key(
            "failToPass",
            Shape::Either(&[Shape::NonEmptyList(&FILLED), FILLED]),
        ),
        key("requireFileChanges", FLAG),
        key("requireCompilation", FLAG),
        key("compileCommand", FILLED),
        key("commands", TEXTS),
        key("maxAttempts", COUNT),
        key("compilationMaxAttempts", COUNT),
    ],
};
