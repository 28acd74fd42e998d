//! The tables of expectations: what "done" means, by `type`.

use rust_decimal::Decimal;

use super::tables::{
    AGENT_NAMES, BAR, FILLED, FLAG, INDEPENDENCE, JUDGE_BREAKER, NON_EMPTY_PATHS, PANEL, PATH, REFER_BELOW,
    SPAN,
};
use super::{Key, Shape, Table, key, one, one_shape};
use crate::mission::model::{Consensus, ExpectationType, Seats};
use crate::mission::scalar::{Name, Positive, RubricLevel};

const TYPE: Key = key(
    "type",
    one::<ExpectationType>(),
    "What kind of expectation it is.",
)
.required();
const COMMAND: Key = key(
    "command",
    FILLED,
    "A command that must exit 0; several lines run under `bash -euo pipefail`.",
)
.required();
const TIMEOUT: Key = key("timeout", SPAN, "How long the command may take [10m].");

static COMMAND_EXPECTATION: Table = Table {
    name: "a test or script expectation",
    keys: &[
        TYPE,
        COMMAND,
        TIMEOUT,
        key("cwd", PATH, "Where the command runs, relative to the workspace."),
    ],
};

static FILE_EXPECTATION: Table = Table {
    name: "a file_exists expectation",
    keys: &[
        TYPE,
        key(
            "paths",
            NON_EMPTY_PATHS,
            "Paths or globs, relative to the workspace; each must match a file.",
        )
        .required(),
        key("minBytes", one::<u64>(), "The least size of each file."),
        key("contains", FILLED, "A text that each file must contain."),
    ],
};

static METRIC_EXPECTATION: Table = Table {
    name: "a metric expectation",
    keys: &[
        TYPE,
        key("name", one::<Name>(), "The name of the metric.").required(),
        COMMAND,
        TIMEOUT,
        key(
            "min",
            one::<Decimal>(),
            "The number that the command prints must not be below this.",
        ),
        key(
            "max",
            one::<Decimal>(),
            "The number that the command prints must not be above this.",
        ),
    ],
};

static REVIEW_EXPECTATION: Table = Table {
    name: "an llm_review expectation",
    keys: &[
        TYPE,
        key("criteria", FILLED, "What good work is, in words."),
        key(
            "dimensions",
            Shape::List(&Shape::Map(&DIMENSION)),
            "What is scored from 1 to 5, with weights [correctness, completeness, code_quality, edge_cases].",
        ),
        key("threshold", BAR, "What the weighted mean must reach [60 of 100]."),
        key(
            "reviewers",
            Shape::Either(&[AGENT_NAMES, one::<Seats>()]),
            "How many reviewers, or which agents [3].",
        ),
        key(
            "consensus",
            one::<Consensus>(),
            "How the seats' scores become one [median].",
        ),
        key(
            "verifyPriorFeedback",
            FLAG,
            "Whether a reviewer must answer for every earlier finding [true].",
        ),
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
        key("name", one::<Name>(), "The name of the dimension.").required(),
        key("weight", one::<Positive>(), "Its weight in the mean.").required(),
        key("description", FILLED, "What is to be looked at."),
        key(
            "rubric",
            Shape::Named(&one_shape::<RubricLevel>(), &FILLED),
            "What each score from 1 to 5 means.",
        ),
    ],
};
