//! The tables of what is built, with the keys that are not yet in their places.

use std::num::NonZeroU32;

use rust_decimal::Decimal;
use semver::VersionReq;

use super::later::{
    ACCEPTANCE, APPROVAL, APPROVAL_GATE, AgentMiddleware, Autonomy, BUDGET, CHANNEL, CHECKPOINT,
    Clarification, DECOMPOSER, DELAY, DependencyFailure, FINISH_GATE, Independence, Isolation, MIDDLEWARE,
    PRICE, PanelMode, RED_TEAM, RUBRIC, SLA, STAGES, Stakes, VERIFICATION, VISION,
};
use super::{Key, OneShape, Referent, Shape, Table, key, one, one_shape, reference};
use crate::domain::{Millis, Points};
use crate::mission::environment::{Secret, Template};
use crate::mission::model::{
    Adapter, Consensus, ExpectationType, GateFailure, Input, OnExhausted, Review, Seats, TaskType, Url,
};
use crate::mission::scalar::{Deadline, Filled, InnerPath, Name, Positive, RubricLevel, Temperature};

const TITLE: OneShape = one_shape::<Name>();
const TEXT: Shape = one::<String>();
const FILLED: Shape = one::<Filled>();
const PATH: Shape = one::<InnerPath>();
const FLAG: Shape = one::<bool>();
const COUNT: Shape = one::<NonZeroU32>();
const NUMBER: Shape = one::<u32>();
const BAR: Shape = one::<Points>();
const SPAN: Shape = one::<Millis>();
const TEXTS: Shape = Shape::List(&FILLED);
const PATHS: Shape = Shape::List(&PATH);
const NON_EMPTY_PATHS: Shape = Shape::NonEmptyList(&PATH);
const TEMPLATE: Shape = one::<Template>();
const TEMPLATES: Shape = Shape::Named(&TITLE, &TEMPLATE);
const AGENT_NAME: Shape = reference(Referent::Agent);
const TASK_TITLE: Shape = reference(Referent::Task);
const CHANNEL_NAME: Shape = reference(Referent::Channel);
pub(super) const AGENT_NAMES: Shape = Shape::NonEmptyList(&AGENT_NAME);
pub(super) const TASK_TITLES: Shape = Shape::List(&TASK_TITLE);
pub(super) const CHANNEL_NAMES: Shape = Shape::List(&CHANNEL_NAME);
const COMMAND_LINE: Shape = Shape::Either(&[Shape::NonEmptyList(&TEXT), FILLED]);

const ON_EXHAUSTED: Key =
    key("onExhausted", one::<OnExhausted>()).only(&["fail", "accept"], "exhausted tasks");
const AUTONOMY: Key = key("autonomy", one::<Autonomy>()).later_unless("red team", "semi");
const STAKES: Key = key("stakes", one::<Stakes>()).later_unless("red team", "medium");
const ISOLATION: Key = key("isolation", one::<Isolation>()).later_unless("isolation", "shared");
const DEADLINE: Key = key("deadline", one::<Deadline>()).later("deadlines");
const PROTECT: Key = key("protect", PATHS).later("protected paths");

/// A mission file.
pub(in crate::mission) static MISSION: Table = Table {
    name: "a mission",
    keys: &[
        key("name", one::<Name>()).required(),
        key("description", TEXT),
        key("requires", one::<VersionReq>()),
        key("workspace", FILLED),
        ISOLATION,
        DEADLINE,
        key("qualityThreshold", BAR),
        AGENTS,
        CHANNELS,
        RUBRICS,
        SETTINGS_KEY,
        key("tasks", Shape::List(&Shape::Map(&TASK))),
        key("qualityGates", Shape::List(&Shape::Map(&GATE))),
        key("checkpoints", Shape::List(&Shape::Map(&CHECKPOINT))).later("checkpoints and delays"),
        key("delays", Shape::List(&Shape::Map(&DELAY))).later("checkpoints and delays"),
        key("budget", Shape::Map(&BUDGET)).later("budget"),
        key("redTeam", Shape::Map(&RED_TEAM)).later("red team"),
        key("vision", Shape::Map(&VISION)).later("vision"),
        key("stages", STAGES).later("stages"),
        AUTONOMY,
        STAKES,
        ON_EXHAUSTED,
    ],
};

/// A `quorum.yaml`.
pub(in crate::mission) static CONFIG: Table = Table {
    name: "a quorum.yaml",
    keys: &[AGENTS, CHANNELS, RUBRICS, SETTINGS_KEY],
};

const ONE_AGENT: Shape = Shape::Map(&AGENT);
const ONE_CHANNEL: Shape = Shape::Map(&CHANNEL);
const ONE_RUBRIC: Shape = Shape::Map(&RUBRIC);
const AGENTS: Key = key("agents", Shape::Named(&TITLE, &ONE_AGENT));
const CHANNELS: Key = key("channels", Shape::Named(&TITLE, &ONE_CHANNEL)).later("notifications");
const RUBRICS: Key = key("rubrics", Shape::Named(&TITLE, &ONE_RUBRIC)).later("verification");
const SETTINGS_KEY: Key = key("settings", Shape::Map(&SETTINGS));

static AGENT: Table = Table {
    name: "an agent",
    keys: &[
        key("adapter", one::<Adapter>()).only(&["command", "openai", "human"], "adapters"),
        key("run", COMMAND_LINE),
        key("input", one::<Input>()),
        key("env", TEMPLATES),
        key("timeout", SPAN),
        key("maxConcurrent", COUNT),
        key("role", FILLED),
        key("reportsTo", AGENT_NAME),
        key("family", FILLED),
        key("model", FILLED),
        key("baseUrl", one::<Url>()),
        key("apiKey", one::<Secret>()),
        key("headers", TEMPLATES),
        key("temperature", one::<Temperature>()),
        key("maxTokens", COUNT),
        key("vision", FLAG).later_unless("vision", "false"),
        key("tools", TEXTS).later("tools"),
        key("fallback", Shape::Either(&[AGENT_NAMES, AGENT_NAME])).later("fallback"),
        key("maxCostPerTurn", one::<Positive>()).later("budget"),
    ],
};

static SETTINGS: Table = Table {
    name: "settings",
    keys: &[
        key("concurrency", COUNT),
        key("orchestrator", AGENT_NAME).later("questions"),
        key("evaluate", FLAG),
        key("evalThreshold", BAR),
        key("failOpenOnUnparsedEval", FLAG),
        key("maxAttempts", COUNT),
        key("maxFixAttempts", NUMBER),
        key("maxRetries", NUMBER),
        key("maxQuestionRounds", NUMBER).later("questions"),
        key("maxResolutionAttempts", NUMBER).later("failed dependencies"),
        key("maxAssessmentRetries", NUMBER),
        key("taskTimeout", SPAN),
        key("staleThreshold", SPAN).later("stale agents"),
        key("approvalGates", Shape::List(&Shape::Map(&APPROVAL_GATE))).later("approvals"),
        key("autoRejectOnTimeout", FLAG).later_unless("approvals", "false"),
        INDEPENDENCE,
        key("consensus", one::<Consensus>()),
        PANEL,
        REFER_BELOW,
        JUDGE_BREAKER,
        key("verifyPriorFeedback", FLAG),
        key("foundation", FLAG).later_unless("foundation tasks", "false"),
        key("maxDelegationDepth", NUMBER).later("delegation"),
        key("maxDelegations", NUMBER).later("delegation"),
        ON_DEPENDENCY_FAILED,
        PROTECT,
        key("sla", Shape::Map(&SLA)).later("deadlines"),
        key("budget", Shape::Map(&BUDGET)).later("budget"),
        key("middleware", Shape::Map(&MIDDLEWARE)).later("middleware"),
        key("clarification", one::<Clarification>()).later("middleware"),
        key("hooks", Shape::Named(&TITLE, &COMMAND_LINE)).later("hooks"),
        key("prices", Shape::Named(&TITLE, &Shape::Map(&PRICE))).later("budget"),
        key("defaultChannels", CHANNEL_NAMES).later("notifications"),
    ],
};

const INDEPENDENCE: Key = key("independence", one::<Independence>()).only(&["identity"], "independence");
const PANEL: Key = key("panel", one::<PanelMode>()).only(&["parallel"], "adaptive panels");
const REFER_BELOW: Key = key("referBelow", one::<Positive>()).later("referrals");
const JUDGE_BREAKER: Key = key("judgeBreaker", NUMBER).later_unless("judge breaker", "0");
const ON_DEPENDENCY_FAILED: Key =
    key("onDependencyFailed", Shape::List(&one::<DependencyFailure>())).later("failed dependencies");

static TASK: Table = Table {
    name: "a task",
    keys: &[
        key("title", one::<Name>()).required(),
        key("assignTo", AGENT_NAME),
        key("description", TEXT),
        key("type", one::<TaskType>()).only(
            &[
                "implement",
                "test",
                "refactor",
                "research",
                "document",
                "review",
                "deploy",
                "other",
            ],
            "verification",
        ),
        key("dependsOn", TASK_TITLES),
        key("priority", one::<Positive>()),
        key("tags", TEXTS),
        key("exclusive", FLAG),
        key("sideEffects", FLAG).later_unless("side effects", "false"),
        key("requiresApproval", Shape::Either(&[Shape::Map(&APPROVAL), FLAG]))
            .later_unless("approvals", "false"),
        key("requiresToolCalls", FLAG).later_unless("tool calls", "false"),
        key("targetFiles", PATHS),
        PROTECT,
        key("delegatedBy", AGENT_NAME),
        key("review", one::<Review>()),
        key("expectations", Shape::Expectations),
        key("maxAttempts", COUNT),
        key("maxFixAttempts", NUMBER),
        key("maxRetries", NUMBER),
        key("maxDuration", SPAN),
        ON_EXHAUSTED,
        key("workspace", FILLED),
        ISOLATION,
        DEADLINE,
        AUTONOMY,
        STAKES,
        ON_DEPENDENCY_FAILED,
        key("acceptance", ACCEPTANCE).later("verification"),
        key("verification", Shape::Map(&VERIFICATION)).later("verification"),
        key("decomposer", DECOMPOSER).later("verification"),
        key("verify", Shape::Map(&FINISH_GATE)).later("finish gate"),
        key("stages", STAGES).later("stages"),
        key("middleware", Shape::List(&one::<AgentMiddleware>())).later("middleware"),
        key("onPass", TASK_TITLE).later("verification"),
        key("onFail", TASK_TITLE).later("verification"),
        key("onRefer", TASK_TITLE).later("verification"),
        key("maxVisits", COUNT).later("verification"),
    ],
};

static GATE: Table = Table {
    name: "a gate",
    keys: &[
        key("name", one::<Name>()).required(),
        key("afterTasks", TASK_TITLES),
        key("blocksTasks", TASK_TITLES),
        key("minScore", BAR),
        key("requireAllPassed", FLAG),
        key("acceptBelowThreshold", FLAG),
        key("onFail", one::<GateFailure>()),
        key("notifyChannels", CHANNEL_NAMES).later("notifications"),
    ],
};

const TYPE: Key = key("type", one::<ExpectationType>()).required();
const COMMAND: Key = key("command", FILLED).required();
const TIMEOUT: Key = key("timeout", SPAN);

static COMMAND_EXPECTATION: Table = Table {
    name: "a test or script expectation",
    keys: &[TYPE, COMMAND, TIMEOUT, key("cwd", PATH)],
};

static FILE_EXPECTATION: Table = Table {
    name: "a file_exists expectation",
    keys: &[
        TYPE,
        key("paths", NON_EMPTY_PATHS).required(),
        key("minBytes", one::<u64>()),
        key("contains", FILLED),
    ],
};

static METRIC_EXPECTATION: Table = Table {
    name: "a metric expectation",
    keys: &[
        TYPE,
        key("name", one::<Name>()).required(),
        COMMAND,
        TIMEOUT,
        key("min", one::<Decimal>()),
        key("max", one::<Decimal>()),
    ],
};

static REVIEW_EXPECTATION: Table = Table {
    name: "an llm_review expectation",
    keys: &[
        TYPE,
        key("criteria", FILLED),
        key("dimensions", Shape::List(&Shape::Map(&DIMENSION))),
        key("threshold", BAR),
        key("reviewers", Shape::Either(&[AGENT_NAMES, one::<Seats>()])),
        key("consensus", one::<Consensus>()),
        key("verifyPriorFeedback", FLAG),
        INDEPENDENCE,
        PANEL,
        REFER_BELOW,
        JUDGE_BREAKER,
    ],
};

/// What an expectation may hold, by its `type`.
pub(in crate::mission) static EXPECTATION_TYPES: [(&str, &Table); 5] = [
    ("test", &COMMAND_EXPECTATION),
    ("script", &COMMAND_EXPECTATION),
    ("file_exists", &FILE_EXPECTATION),
    ("metric", &METRIC_EXPECTATION),
    ("llm_review", &REVIEW_EXPECTATION),
];

static DIMENSION: Table = Table {
    name: "a dimension",
    keys: &[
        key("name", one::<Name>()).required(),
        key("weight", one::<Positive>()).required(),
        key("description", FILLED),
        key("rubric", Shape::Named(&one_shape::<RubricLevel>(), &FILLED)),
    ],
};
