//! The table of `verification` and what belongs to it on a task: the heuristic grader is built, rubrics and models are
//! not.

use super::later::{DECOMPOSER, OnRefer};
use super::tables::{BAR, FILLED};
use super::{Key, Referent, Shape, Table, key, one, reference};
use crate::mission::model::Grader;
use crate::mission::scalar::Fraction;

const AREA: &str = "verification";

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
    "Who cuts the criteria into probes [identity]: each one is a probe.",
)
.later_unless(AREA, "identity");

static TABLE: Table = Table {
    name: "a verification",
    keys: &[
        key(
            "grader",
            one::<Grader>(),
            "Who grades: a judge [llm], or plain facts about files, commands and output (heuristic).",
        )
        .only(&["heuristic"], AREA),
        key("rubric", reference(Referent::Rubric), "The rubric by its name.").later(AREA),
        key(
            "threshold",
            BAR,
            "What the mean of the grades must reach [60 of 100].",
        ),
        key(
            "minConfidence",
            one::<Fraction>(),
            "The share of criteria that must have been checked, or a person decides [0.7].",
        ),
        key(
            "onRefer",
            one::<OnRefer>(),
            "What happens to referred work [human].",
        )
        .later_unless(AREA, "human"),
    ],
};
