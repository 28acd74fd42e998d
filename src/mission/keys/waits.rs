//! The tables of what a run waits for: approvals, checkpoints, delays.

use super::tables::{CHANNEL_NAMES, FILLED, SPAN, TASK_TITLES};
use super::{Key, Shape, Table, key, one};
use crate::mission::scalar::Name;

const NAME: Shape = one::<Name>();
const TEXT: Shape = one::<String>();

static APPROVER_COMMAND: Table = Table {
    name: "an approver",
    keys: &[key("command", FILLED, "A command that decides.").required()],
};

/// Approvers are people, agents or commands; a person's name is any text.
const APPROVERS: Shape = Shape::NonEmptyList(&Shape::Either(&[Shape::Map(&APPROVER_COMMAND), FILLED]));

const APPROVERS_KEY: Key = key(
    "approvers",
    APPROVERS,
    "Who may agree: people, agents, or `{command}` (exit 0 agrees, 1 refuses); one of them is enough [any person].",
);
const TIMEOUT: Key = key(
    "timeout",
    SPAN,
    "How long it waits; what follows then, `autoRejectOnTimeout` says [for ever].",
);
const MESSAGE: Key = key("message", TEXT, "What they are asked.");

pub(super) static APPROVAL: Table = Table {
    name: "an approval",
    keys: &[APPROVERS_KEY, TIMEOUT, MESSAGE],
};

pub(super) static APPROVAL_GATE: Table = Table {
    name: "an approval gate",
    keys: &[
        key("name", NAME, "Its name.").required(),
        key(
            "when",
            FILLED,
            "Which tasks it holds: an expression over `task` and `mission`, true or false [all].",
        ),
        APPROVERS_KEY,
        TIMEOUT,
        MESSAGE,
    ],
};

const AFTER_TASKS: Key = key(
    "afterTasks",
    TASK_TITLES,
    "Titles of the tasks that it waits for.",
)
.required();
const BLOCKS_TASKS: Key = key(
    "blocksTasks",
    TASK_TITLES,
    "Titles of the tasks that wait for it.",
)
.required();

pub(super) static CHECKPOINT: Table = Table {
    name: "a checkpoint",
    keys: &[
        key("name", NAME, "Its unique name.").required(),
        AFTER_TASKS,
        BLOCKS_TASKS,
        key("message", TEXT, "What the person is told."),
        key(
            "notifyChannels",
            CHANNEL_NAMES,
            "Channels that are told when it is reached [`defaultChannels`].",
        ),
    ],
};

pub(super) static DELAY: Table = Table {
    name: "a delay",
    keys: &[
        key("name", NAME, "Its unique name.").required(),
        AFTER_TASKS,
        BLOCKS_TASKS,
        key("duration", SPAN, "How long it waits.").required(),
        key("message", TEXT, "What is shown meanwhile."),
        key(
            "notifyChannels",
            CHANNEL_NAMES,
            "Channels that are told when it begins [none].",
        ),
    ],
};
