//! The table of `verify`: the finish gate of a task.

use super::tables::{FILLED, FLAG};
use super::{Key, Shape, Table, key, one};

const TEXTS: Shape = Shape::List(&FILLED);
const NUMBER: Shape = one::<u32>();

pub(super) const VERIFY: Key = key(
    "verify",
    Shape::Map(&FINISH_GATE),
    "What must hold before an agent may call itself finished; else it is told what is missing.",
);

pub(in crate::mission) static FINISH_GATE: Table = Table {
    name: "a finish gate",
    keys: &[
        key(
            "requiredTests",
            TEXTS,
            "Tests that must pass, each in a run of its own.",
        ),
        key(
            "testCommand",
            FILLED,
            "The command that runs one of them; `{test}` stands for its name.",
        ),
        key(
            "failToPass",
            Shape::Either(&[Shape::NonEmptyList(&FILLED), FILLED]),
            "Tests that failed before and must pass now: a list, or a file beside the mission with a JSON list or one a line.",
        ),
        key(
            "requireFileChanges",
            FLAG,
            "Whether a file must have changed: one of targetFiles or file_exists, else any of the workspace.",
        ),
        key("requireCompilation", FLAG, "Whether it must compile."),
        key(
            "compileCommand",
            FILLED,
            "The command that compiles [npx tsc --noEmit, where there is a tsconfig.json].",
        ),
        key("commands", TEXTS, "Further commands that must exit 0."),
        key(
            "maxAttempts",
            NUMBER,
            "How often the agent is told what is missing [2].",
        ),
        key(
            "compilationMaxAttempts",
            NUMBER,
            "How often it is told that its work does not compile [8].",
        ),
    ],
};
