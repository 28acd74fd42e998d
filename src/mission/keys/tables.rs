//! The tables of what is built, with the keys that are not yet in their places.

use std::num::NonZeroU32;

use semver::VersionReq;

use super::budget::{BUDGET, PRICE};
use super::channels::CHANNEL;
use super::finish_gate::VERIFY;
use super::later::{AgentSession, FileScope, Isolation, Merge, Network, Permissions, Sandbox};
use super::middleware::{CLARIFICATION, MIDDLEWARE_KEY, OWN_MIDDLEWARE};
use super::rubric::RUBRIC;
use super::sla::SLA;
use super::stages::{AUTONOMY, RED_TEAM_KEY, STAGES, STAKES, VISION_KEY};
use super::verification::{ACCEPTANCE, DECOMPOSES, VERIFICATION};
use super::waits::{APPROVAL, APPROVAL_GATE, CHECKPOINT, DELAY};
use super::{Key, OneShape, Referent, Shape, Table, key, one, one_shape, reference};
use crate::domain::{Millis, Money, Points};
use crate::mission::environment::{Secret, Template};
use crate::mission::model::{
    Adapter, Consensus, FinalChecks, GateFailure, Independence, Input, OnExhausted, PanelMode, Remedy,
    Review, TaskType, ToolKind, ToolPolicy, Url,
};
use crate::mission::scalar::{
    Bytes, Deadline, Filled, InnerGlob, InnerPath, Name, Positive, TargetFile, Temperature, Tries,
};

const TITLE: OneShape = one_shape::<Name>();
const TEXT: Shape = one::<String>();
pub(super) const FILLED: Shape = one::<Filled>();
pub(super) const PATH: Shape = one::<InnerPath>();
pub(super) const FLAG: Shape = one::<bool>();
const COUNT: Shape = one::<NonZeroU32>();
const NUMBER: Shape = one::<u32>();
const TRIES: Shape = one::<Tries>();
const TARGETS: Shape = Shape::List(&one::<TargetFile>());
pub(super) const BAR: Shape = one::<Points>();
pub(super) const SPAN: Shape = one::<Millis>();
const TEXTS: Shape = Shape::List(&FILLED);
const PATHS: Shape = Shape::List(&PATH);
pub(super) const NON_EMPTY_PATHS: Shape = Shape::NonEmptyList(&PATH);
const TEMPLATE: Shape = one::<Template>();
const TEMPLATES: Shape = Shape::Named(&TITLE, &TEMPLATE);
const AGENT_NAME: Shape = reference(Referent::Agent);
const TASK_TITLE: Shape = reference(Referent::Task);
const CHANNEL_NAME: Shape = reference(Referent::Channel);
pub(super) const AGENT_NAMES: Shape = Shape::NonEmptyList(&AGENT_NAME);
pub(super) const TASK_TITLES: Shape = Shape::List(&TASK_TITLE);
pub(super) const CHANNEL_NAMES: Shape = Shape::List(&CHANNEL_NAME);
pub(super) const COMMAND_LINE: Shape = Shape::Either(&[Shape::NonEmptyList(&TEXT), FILLED]);

const ON_EXHAUSTED: Key = key(
    "onExhausted",
    one::<OnExhausted>(),
    "What happens to work that still fails when its attempts are used up.",
);
const ISOLATION: Key = key(
    "isolation",
    one::<Isolation>(),
    "What tasks share of the workspace [shared].",
)
.later_unless("isolation", "shared");
const SANDBOX: Key = key(
    "sandbox",
    one::<Sandbox>(),
    "Whether agents are kept away from what judges them by the system [auto].",
)
.later("confinement");
const NETWORK: Key = key(
    "network",
    one::<Network>(),
    "Whether agents reach the network [allow].",
)
.later("confinement");
const FILES: Key = key(
    "files",
    one::<FileScope>(),
    "Which files agents may change [open].",
)
.later("confinement");
const BUDGET_KEY: Key = key(
    "budget",
    Shape::Map(&BUDGET),
    "What a run may use in all; then it ends with exit 7 and can be resumed.",
);
const DEADLINE: Key = key(
    "deadline",
    one::<Deadline>(),
    "When it must be finished: a moment (UTC where it names no zone), or a duration from the start.",
);
const PROTECT: Key = key(
    "protect",
    Shape::List(&one::<InnerGlob>()),
    "Paths or globs of files that agents must not change; a folder means everything in it.",
);
const CHECKS_MAY_WRITE: Key = key(
    "checksMayWrite",
    Shape::List(&one::<InnerGlob>()),
    "Globs of files below protected folders that may appear or change while a check runs [**/__pycache__/**, \
     **/.pytest_cache/**, **/target/**, **/node_modules/.cache/**].",
);

/// A mission file.
pub(in crate::mission) static MISSION: Table = Table {
    name: "a mission",
    keys: &[
        key(
            "name",
            one::<Name>(),
            "The name of the mission, shown in all reports.",
        )
        .required(),
        key("description", TEXT, "What the mission is for."),
        key(
            "requires",
            one::<VersionReq>(),
            "The versions of quorum that can run it, for example \">=0.1.0\".",
        ),
        key(
            "workspace",
            FILLED,
            "Where agents work, relative to the mission's folder [.]; made if it is missing.",
        ),
        ISOLATION,
        DEADLINE,
        key(
            "qualityThreshold",
            BAR,
            "The bar that the mean score of all scored tasks must reach, or the run exits 5.",
        ),
        AGENTS,
        CHANNELS,
        RUBRICS,
        SETTINGS_KEY,
        key(
            "tasks",
            Shape::List(&Shape::Map(&TASK)),
            "What is to be done; at least one task.",
        ),
        key(
            "qualityGates",
            Shape::List(&Shape::Map(&GATE)),
            "Checkpoints between tasks: what they block starts only when they pass.",
        ),
        key(
            "checkpoints",
            Shape::List(&Shape::Map(&CHECKPOINT)),
            "Places where the run waits for `quorum approve`.",
        ),
        key(
            "delays",
            Shape::List(&Shape::Map(&DELAY)),
            "Places where the run waits for some time.",
        ),
        BUDGET_KEY,
        RED_TEAM_KEY,
        VISION_KEY,
        key(
            "stages",
            STAGES,
            "Further stages of judging for every task, in order; the first fail sends the work back.",
        ),
        AUTONOMY,
        STAKES,
        ON_EXHAUSTED,
    ],
};

/// A `quorum.yaml`.
pub(in crate::mission) static CONFIG: Table = Table {
    name: "a quorum.yaml",
    keys: &[AGENTS, CHANNELS, RUBRICS, SETTINGS_KEY, PRESETS],
};

const ONE_PRESET: Shape = Shape::Map(&PRESET);
const PRESETS: Key = key(
    "presets",
    Shape::Named(&TITLE, &ONE_PRESET),
    "How agent programs are started and read, by name.",
)
.later("presets");
static PRESET: Table = Table {
    name: "a preset",
    keys: &[key("argv", COMMAND_LINE, "The program with its arguments.")],
};
static WORKTREE: Table = Table {
    name: "worktree",
    keys: &[
        key("copy", PATHS, "Files that are copied into each worktree."),
        key("link", PATHS, "Files and folders that each worktree links to."),
        key("setup", FILLED, "A command that prepares a worktree."),
        key(
            "merge",
            Shape::Either(&[one::<Merge>(), FILLED]),
            "What becomes of the branch at the end: ff, never, or `branch NAME` [ff].",
        ),
    ],
};

const ONE_AGENT: Shape = Shape::Map(&AGENT);
const ONE_CHANNEL: Shape = Shape::Map(&CHANNEL);
const ONE_RUBRIC: Shape = Shape::Map(&RUBRIC);
const AGENTS: Key = key(
    "agents",
    Shape::Named(&TITLE, &ONE_AGENT),
    "Who works and judges, by name.",
);
const CHANNELS: Key = key(
    "channels",
    Shape::Named(&TITLE, &ONE_CHANNEL),
    "Where notifications go, by name.",
);
const RUBRICS: Key = key(
    "rubrics",
    Shape::Named(&TITLE, &ONE_RUBRIC),
    "Rubrics for verification, by name.",
);
const SETTINGS_KEY: Key = key("settings", Shape::Map(&SETTINGS), "How the mission is run.");

const POLICY: Shape = one::<ToolPolicy>();

static TOOLS: Table = Table {
    name: "the tools of an agent",
    keys: &[
        key(
            "read",
            POLICY,
            "Whether it may look into the workspace, or a person is asked each time [deny].",
        ),
        key(
            "write",
            POLICY,
            "Whether it may write files of the workspace, or a person is asked each time [deny].",
        ),
        key(
            "run",
            POLICY,
            "Whether it may run commands in the workspace, or a person is asked each time [deny].",
        ),
    ],
};

static PERMISSIONS: Table = Table {
    name: "permissions",
    keys: &[
        key(
            "timeout",
            SPAN,
            "How long a person is waited for who must allow a tool call; then it is denied, and the task is cancelled [without end].",
        ),
        key("read", FILLED, "A rule for reading.").later("presets"),
        key("edit", FILLED, "A rule for editing.").later("presets"),
        key("run", FILLED, "A rule for running commands.").later("presets"),
    ],
};

static AGENT: Table = Table {
    name: "an agent",
    keys: &[
        key(
            "adapter",
            one::<Adapter>(),
            "How the agent is talked to [command].",
        )
        .only(
            &[
                "command",
                "echo",
                "human",
                "openai",
                "anthropic",
                "gemini-api",
                "ollama",
            ],
            "adapters",
        ),
        key(
            "run",
            COMMAND_LINE,
            "Its command line: a list is executed as it is, a text by `sh -c`.",
        ),
        key(
            "input",
            one::<Input>(),
            "How a command agent gets its prompt [stdin].",
        ),
        key(
            "env",
            TEMPLATES,
            "Variables for it; ${NAME} is taken from the environment of quorum.",
        ),
        key(
            "timeout",
            SPAN,
            "How long one turn may take, where the task does not say.",
        ),
        key(
            "staleThreshold",
            SPAN,
            "How long it may be silent before somebody is warned; after twice that it is killed.",
        ),
        key(
            "maxConcurrent",
            COUNT,
            "Turns that it may work on at the same time.",
        ),
        key(
            "role",
            FILLED,
            "Its role. With `reviewer` or `qa` it is asked to judge before others are; a command is asked only with such a role, as \
             the manager or the delegator of whoever worked, or where `reviewers` names it.",
        ),
        key(
            "reportsTo",
            AGENT_NAME,
            "Its manager, who judges its work where neither a delegator nor a reviewer can; a command may too.",
        ),
        key(
            "family",
            FILLED,
            "The family of its model, where it should not be derived from the model's name.",
        ),
        key("model", FILLED, "The model of an HTTP agent."),
        key(
            "baseUrl",
            one::<Url>(),
            "The address of an HTTP agent, for example http://127.0.0.1:8080/v1.",
        ),
        key(
            "apiKey",
            one::<Secret>(),
            "The key of an HTTP agent, as ${NAME} of an environment variable.",
        ),
        key(
            "headers",
            TEMPLATES,
            "Headers of an HTTP agent, in which ${NAME} is taken from the environment.",
        ),
        key(
            "temperature",
            one::<Temperature>(),
            "Sampling temperature of an HTTP agent.",
        ),
        key(
            "maxTokens",
            COUNT,
            "The most tokens of one reply of an HTTP agent.",
        ),
        key("vision", FLAG, "Whether it can look at pictures [false]."),
        key(
            "tools",
            Shape::Either(&[Shape::List(&one::<ToolKind>()), Shape::Map(&TOOLS)]),
            "What a model behind HTTP may do itself: read (list, read, search), write, run. What is not named is denied \
             [nothing as a worker; read as a reviewer of files].",
        ),
        key(
            "fallback",
            Shape::Either(&[AGENT_NAMES, AGENT_NAME]),
            "Who judges instead when it cannot be reached: one agent, or several in this order.",
        ),
        key(
            "maxCostPerTurn",
            one::<Money>(),
            "The most that one of its turns may cost, reserved before it starts and charged where it does not say; 0 \
             for an agent that costs nothing.",
        ),
        key(
            "passEnv",
            TEXTS,
            "Variables that are passed on where they are set.",
        )
        .later("presets"),
        key(
            "session",
            one::<AgentSession>(),
            "Whether a fix goes on in the same session [keep].",
        )
        .later("presets"),
        key(
            "permissions",
            Shape::Either(&[one::<Permissions>(), Shape::Map(&PERMISSIONS)]),
            "What it may do: read, edit, full, or rules [edit]; and how long a person is waited for who must allow a tool call.",
        )
        .only(&[], "presets"),
        key(
            "queue",
            FILLED,
            "The queue of workers on other machines that it belongs to.",
        )
        .later("workers"),
        SANDBOX,
        NETWORK,
        FILES,
    ],
};

static SETTINGS: Table = Table {
    name: "settings",
    keys: &[
        key(
            "concurrency",
            COUNT,
            "Tasks that may run at the same time [the number of CPUs].",
        ),
        key(
            "orchestrator",
            AGENT_NAME,
            "The agent that answers questions of the others and decides what becomes of tasks whose dependency failed.",
        ),
        key("evaluate", FLAG, "Whether judges are called at all [true]."),
        key("evalThreshold", BAR, "The bar of evaluations [60 of 100]."),
        key(
            "failOpenOnUnparsedEval",
            FLAG,
            "Whether an evaluation that cannot be read passes, flagged as unreviewed [false].",
        ),
        key(
            "maxAttempts",
            COUNT,
            "Attempts of a task that is judged by evaluation [2].",
        ),
        key(
            "maxFixAttempts",
            NUMBER,
            "Fixes after one first attempt or retry [2].",
        ),
        key("maxRetries", NUMBER, "Retries in all [3]."),
        key(
            "maxQuestionRounds",
            NUMBER,
            "Questions that an agent may ask about one task [2].",
        ),
        key(
            "maxResolutionAttempts",
            NUMBER,
            "How often the orchestrator is asked about one task whose dependency failed [2].",
        ),
        key(
            "maxAssessmentRetries",
            NUMBER,
            "How often a panel without any verdict is run again [1].",
        ),
        key("taskTimeout", SPAN, "How long one turn may take [30m]."),
        key(
            "staleThreshold",
            SPAN,
            "How long an agent may be silent before somebody is warned [5m].",
        ),
        key(
            "maxWindowWait",
            SPAN,
            "How long the run waits for a subscription's limit to reset; where that is farther away it ends (7) and can be resumed [6h].",
        ),
        key(
            "maxOutput",
            one::<Bytes>(),
            "How much one turn may print to both outputs together; the rest is cut, and that is said [256 MiB].",
        ),
        key(
            "approvalGates",
            Shape::List(&Shape::Map(&APPROVAL_GATE)),
            "Rules that make tasks wait for somebody's agreement.",
        ),
        key(
            "autoRejectOnTimeout",
            FLAG,
            "Whether an approval that nobody gave in time counts as refused [false].",
        ),
        INDEPENDENCE,
        key(
            "consensus",
            one::<Consensus>(),
            "How the seats' scores become one [median].",
        ),
        PANEL,
        REFER_BELOW,
        JUDGE_BREAKER,
        key(
            "verifyPriorFeedback",
            FLAG,
            "Whether a reviewer must answer for every earlier finding [true].",
        ),
        key(
            "tellCriteria",
            FLAG,
            "Whether a worker is told what its work will be judged by: criteria of reviews, acceptance, commands of checks, \
             target files; never the examples of a rubric [true].",
        ),
        key(
            "finalChecks",
            one::<FinalChecks>(),
            "What is looked at again of accepted work, at the end of a run and when one is resumed: files, and checks \
             behind which another turn ended (auto), files and all checks (always), or nothing (never) [auto].",
        ),
        key(
            "foundation",
            FLAG,
            "Whether a task that three others or more depend on has a lower bar and one more attempt [true].",
        ),
        key(
            "maxDelegationDepth",
            NUMBER,
            "How many levels deep agents may delegate tasks [3].",
        ),
        key(
            "maxDelegations",
            NUMBER,
            "How many tasks the agent of one task may delegate [20].",
        ),
        ON_DEPENDENCY_FAILED,
        PROTECT,
        CHECKS_MAY_WRITE,
        key(
            "sla",
            Shape::Map(&SLA),
            "Warnings before deadlines, and what follows when one passes.",
        ),
        BUDGET_KEY,
        MIDDLEWARE_KEY,
        CLARIFICATION,
        key(
            "hooks",
            Shape::Named(&TITLE, &COMMAND_LINE),
            "Commands that are run when something happens, by event.",
        )
        .later("hooks"),
        key(
            "prices",
            Shape::Named(&TITLE, &Shape::Map(&PRICE)),
            "What models cost, by model.",
        ),
        key(
            "defaultChannels",
            CHANNEL_NAMES,
            "Channels of notifications that name none: waiting approvals, failed tasks and gates, the end of the run.",
        ),
        key(
            "worktree",
            Shape::Map(&WORKTREE),
            "How worktrees are prepared and merged, where tasks are isolated in them.",
        )
        .later("isolation"),
        SANDBOX,
        NETWORK,
        FILES,
    ],
};

pub(super) const INDEPENDENCE: Key = key(
    "independence",
    one::<Independence>(),
    "What a reviewer must not share with the author [identity].",
);
pub(super) const PANEL: Key = key(
    "panel",
    one::<PanelMode>(),
    "Whether all seats are asked at once, or a third only while it could change the verdict [parallel].",
);
pub(super) const REFER_BELOW: Key = key(
    "referBelow",
    one::<Positive>(),
    "Refer to a person where |score - bar| / (spread of the seats + 0.25), on 1 to 5, is below it.",
);
pub(super) const JUDGE_BREAKER: Key = key(
    "judgeBreaker",
    NUMBER,
    "After so many rejections in a row the work of a model is not judged any more in its wave; 0 is never [5].",
);
const ON_DEPENDENCY_FAILED: Key = key(
    "onDependencyFailed",
    Shape::List(&one::<Remedy>()),
    "What is tried, in this order, when a dependency failed [resolve, skip].",
);

static TASK: Table = Table {
    name: "a task",
    keys: &[
        key(
            "title",
            one::<Name>(),
            "The unique title, by which other tasks refer to it.",
        )
        .required(),
        key(
            "assignTo",
            AGENT_NAME,
            "The agent that does it; may be left out if there is only one.",
        ),
        key("description", TEXT, "What is to be done; becomes the prompt."),
        key(
            "type",
            one::<TaskType>(),
            "What kind of work it is [other]; a verification judges the tasks that it depends on and chooses what follows.",
        ),
        key(
            "dependsOn",
            TASK_TITLES,
            "Titles of the tasks that must be done before; they may stand later in the file.",
        ),
        key(
            "priority",
            one::<Positive>(),
            "Orders what could start, and weighs in the mission threshold [1].",
        ),
        key("tags", TEXTS, "Labels of your own."),
        key(
            "exclusive",
            FLAG,
            "Whether nothing else may run while it runs and is judged [false].",
        ),
        key(
            "sideEffects",
            FLAG,
            "Whether running it twice does harm: then only a person's word makes its agent act again [false].",
        ),
        key(
            "requiresApproval",
            Shape::Either(&[Shape::Map(&APPROVAL), FLAG]),
            "Whether somebody must agree before it starts [false].",
        ),
        key(
            "requiresToolCalls",
            FLAG,
            "Whether work without any tool call counts as not done [for implement, test, refactor and deploy, where \
             the agent's adapter sees its calls].",
        ),
        key(
            "targetFiles",
            TARGETS,
            "Files that it must produce, relative to the workspace.",
        ),
        PROTECT,
        CHECKS_MAY_WRITE,
        key(
            "delegatedBy",
            AGENT_NAME,
            "The agent that handed it down, and is the first to be asked for a review, also where it is a command.",
        ),
        key(
            "review",
            one::<Review>(),
            "Whether work without expectations is evaluated: never, where somebody can, or by all means [auto].",
        ),
        key("expectations", Shape::Expectations, "What the work must pass."),
        key("maxAttempts", COUNT, "The most attempts of every kind."),
        key(
            "maxFixAttempts",
            TRIES,
            "Fixes after one first attempt or retry [2].",
        ),
        key("maxRetries", TRIES, "Retries in all [3]."),
        key(
            "staleThreshold",
            SPAN,
            "How long its agent may be silent before somebody is warned; after twice that it is killed.",
        ),
        key("maxDuration", SPAN, "How long one turn may take."),
        ON_EXHAUSTED,
        key(
            "workspace",
            FILLED,
            "Where its agent works, relative to the mission's folder.",
        ),
        ISOLATION,
        SANDBOX,
        NETWORK,
        FILES,
        DEADLINE,
        AUTONOMY,
        STAKES,
        ON_DEPENDENCY_FAILED,
        ACCEPTANCE,
        VERIFICATION,
        DECOMPOSES,
        VERIFY,
        key(
            "stages",
            STAGES,
            "Further stages of judging, behind those of the mission.",
        ),
        OWN_MIDDLEWARE,
        key(
            "onPass",
            TASK_TITLE,
            "Of a verification: the task that follows if the work passes.",
        ),
        key(
            "onFail",
            TASK_TITLE,
            "Of a verification: the task that follows if the work fails; one that it waits for is done again.",
        ),
        key(
            "onRefer",
            TASK_TITLE,
            "Of a verification: the task that follows if it cannot be told whether the work is good.",
        ),
        key(
            "maxVisits",
            COUNT,
            "Of a verification whose `onFail` points back: how often it may judge before it fails [3].",
        ),
    ],
};

static GATE: Table = Table {
    name: "a gate",
    keys: &[
        key(
            "name",
            one::<Name>(),
            "The unique name, by which it is shown and overridden.",
        )
        .required(),
        key(
            "afterTasks",
            TASK_TITLES,
            "Titles of the tasks that it waits for: at least one.",
        ),
        key(
            "blocksTasks",
            TASK_TITLES,
            "Titles of the tasks that wait for it: at least one.",
        ),
        key(
            "minScore",
            BAR,
            "What the mean score of `afterTasks` must reach: failed ones count, unscored ones are named, and without any \
             score the gate fails.",
        ),
        key(
            "requireAllPassed",
            FLAG,
            "Whether one task that failed or was cancelled fails the gate [true]. `false` lets it open over such tasks.",
        ),
        key(
            "acceptBelowThreshold",
            FLAG,
            "Whether work accepted below the bar may pass [false].",
        ),
        key(
            "onFail",
            one::<GateFailure>(),
            "What its failure does to the rest of the run [continue].",
        ),
        key(
            "notifyChannels",
            CHANNEL_NAMES,
            "Channels that hear of its result [`defaultChannels`, of failures only].",
        ),
    ],
};
