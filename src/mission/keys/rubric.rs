//! The table of `rubrics`.

use super::{Shape, Table, key, one, one_shape};
use crate::domain::DeclaredVerdict;
use crate::mission::model::GradeKind;
use crate::mission::scalar::{Filled, Fraction, Name, Positive, RubricLevel};

const TEXT: Shape = one::<String>();
const FILLED: Shape = one::<Filled>();
const SHARE: Shape = one::<Fraction>();

pub(super) static RUBRIC: Table = Table {
    name: "a rubric",
    keys: &[
        key("description", TEXT, "What it is for."),
        key(
            "criteria",
            Shape::NonEmptyList(&Shape::Map(&CRITERION)),
            "What is graded.",
        )
        .required(),
        key(
            "examples",
            Shape::List(&Shape::Map(&EXAMPLE)),
            "Graded examples for the judge.",
        ),
        key(
            "minConfidence",
            SHARE,
            "The confidence below which a grade counts as referred.",
        ),
    ],
};

static CRITERION: Table = Table {
    name: "a criterion",
    keys: &[
        key("name", one::<Name>(), "Its name.").required(),
        key("description", FILLED, "What is looked at."),
        key("weight", one::<Positive>(), "Its weight.").required(),
        key("grade", one::<GradeKind>(), "Which grades there are [score]."),
        key("required", one::<bool>(), "Whether failing it fails everything."),
        key(
            "levels",
            Shape::Named(&one_shape::<RubricLevel>(), &FILLED),
            "What each level means.",
        ),
    ],
};

static EXAMPLE: Table = Table {
    name: "an example",
    keys: &[
        key("artifact", FILLED, "The work.").required(),
        key(
            "verdict",
            one::<DeclaredVerdict>(),
            "What a judge should say of it.",
        )
        .required(),
        key("rationale", FILLED, "Why that verdict is right.").required(),
        key(
            "grades",
            Shape::Named(&one_shape::<Name>(), &SHARE),
            "The grade of each criterion.",
        ),
    ],
};
