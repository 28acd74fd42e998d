//! The table of `verification` and what belongs to it on a task.

use super::tables::{BAR, FILLED};
use super::{Key, Referent, Shape, Table, key, one, reference};
use crate::mission::model::{Grader, Identity, OnRefer};
use crate::mission::scalar::Fraction;

pub(super) const ACCEPTANCE: Key = key(
    "acceptance",
    Shape::NonEmptyList(&FILLED),
    "Criteria that the work is accepted by, checked one by one; all are required.",
);
pub(super) const VERIFICATION: Key = key(
    "verification",
    Shape::Map(&TABLE),
    "How the criteria are graded after all other judging.",
);
/// Who cuts the criteria into probes: nobody, unless an agent is named.
pub(super) const DECOMPOSES: Key = key(
    "decomposer",
    DECOMPOSER,
    "Who cuts the criteria into one to five yes-or-no questions each: an agent, never the author [identity: each one is a \
     question].",
);

const DECOMPOSER: Shape = Shape::Either(&[Shape::Map(&AGENT), one::<Identity>()]);

static AGENT: Table = Table {
    name: "a decomposer",
    keys: &[key("agent", reference(Referent::Agent), "The agent that does it.").required()],
};

static TABLE: Table = Table {
    name: "a verification",
    keys: &[
        key(
            "grader",
            one::<Grader>(),
            "Who grades: a judge [llm], or plain facts about files, commands and output (heuristic).",
        ),
        key(
            "rubric",
            reference(Referent::Rubric),
            "The rubric that a judge grades by [default-task].",
        ),
        key(
            "threshold",
            BAR,
            "What the mean of the grades must reach [60 of 100].",
        ),
        key(
            "minConfidence",
            one::<Fraction>(),
            "How sure the judge, or which share of the criteria checked: below it the work is referred [0.7].",
        ),
        key(
            "onRefer",
            one::<OnRefer>(),
            "What happens to referred work: a person decides (human), it goes back (rework), or it is accepted as unverified (pass) [human].",
        ),
    ],
};
