//! `rubrics`: what a judge grades work by (semantics, section 10).

use rust_decimal::Decimal;

use crate::{
    domain::{DeclaredVerdict, Points},
    mission::file::{
        keys::{keys, words},
        scalar::{Filled, Fraction, Name, Positive, RubricLevel},
    },
};

keys! {
    /// The criteria that a judge grades work by.
    #[derive(Default, Eq, Hash)]
    pub struct Rubric: "a rubric" {
        /// What it is for.
        "description" description: Option<Box<str>>;
        /// What is graded.
        "criteria" criteria: Vec<Criterion>, filled, required;
        /// Graded examples for the judge.
        "examples" examples: Vec<Example>;
        /// The confidence below which a grade counts as referred.
        "minConfidence" min_confidence: Option<Fraction>;
    }
}

keys! {
    /// One thing that is graded. The weights of a rubric sum to 1.
    #[derive(Eq, Hash)]
    pub struct Criterion: "a criterion" {
        /// The name of the criterion, unique in the rubric.
        "name" name: Box<str> as Name, required;
        /// What is looked at.
        "description" description: Option<Box<str>> as Filled;
        /// The weight of the criterion in the mean.
        "weight" weight: Positive, required;
        /// Which grades there are [=].
        "grade" grade: GradeKind, or("score");
        /// Whether failing it fails everything.
        "required" required: bool, or("false");
        /// What each level means.
        "levels" levels: Vec<(u8, String)> as RubricLevel;
    }
}

words! {
    /// The grades of a criterion, as shares from 0 to 1.
    #[derive(Default)]
    pub enum GradeKind: "a kind of grade" {
        /// The grades 0 and 1.
        Binary = "binary",
        /// 0, 0.5 or 1.
        Ternary = "ternary",
        /// Anything from 0 to 1.
        #[default]
        Score = "score",
    }
}

keys! {
    /// Work that was graded already, for the judge to go by.
    #[derive(Eq, Hash)]
    pub struct Example: "an example" {
        /// The work.
        "artifact" artifact: Box<str> as Filled, required;
        /// What a judge should say of it.
        "verdict" verdict: DeclaredVerdict, required;
        /// Why that verdict is right.
        "rationale" rationale: Box<str> as Filled, required;
        /// The grade of each criterion.
        "grades" grades: Vec<(Box<str>, Points)> as Fraction;
    }
}

words!(of DeclaredVerdict: "a verdict", "pass" => Pass, "fail" => Fail, "refer" => Refer);

words! {
    /// The treatment of work of which the judge is not sure.
    #[derive(Default)]
    pub enum OnRefer: "what happens to referred work" {
        /// A person decides about the work.
        #[default]
        Human = "human",
        /// The work goes back to its worker.
        Rework = "rework",
        /// The work is accepted, and marked as unverified.
        Pass = "pass",
    }
}

impl Rubric {
    /// A rubric that needs no definition.
    pub fn built_in(name: &str) -> Option<Self> {
        let (description, criteria): (_, &[BuiltIn]) = match name {
            "frontend-design" => ("The design of a user interface.", &FRONTEND_DESIGN),
            "default-task" => ("Any task.", &DEFAULT_TASK),
            _ => return None,
        };
        let criterion = |(name, percent, grade, description): &BuiltIn| Criterion {
            name: (*name).into(),
            description: Some((*description).into()),
            weight: Positive::percent(*percent),
            grade: *grade,
            required: false,
            levels: Vec::new(),
        };
        Some(Self {
            description: Some(description.into()),
            criteria: criteria.iter().map(criterion).collect(),
            ..Self::default()
        })
    }

    /// The weights, in the order of the criteria.
    pub fn weights(&self) -> impl Iterator<Item = Decimal> {
        self.criteria.iter().map(|criterion| criterion.weight.get())
    }
}

/// The names of the rubrics that need no definition.
pub const BUILT_IN: [&str; 2] = ["frontend-design", "default-task"];

/// Name, weight in percent, grades, what is looked at.
type BuiltIn = (&'static str, u8, GradeKind, &'static str);

const FRONTEND_DESIGN: [BuiltIn; 4] = [
    (
        "design",
        25,
        GradeKind::Score,
        "Colours, type, layout and pictures make one whole with a mood of its own",
    ),
    (
        "originality",
        25,
        GradeKind::Score,
        "Decisions were made for this product; it is no template with the defaults left in",
    ),
    ("craft", 25, GradeKind::Score, "Spacing, alignment, contrast and hierarchy are carried out with care"),
    (
        "functionality",
        25,
        GradeKind::Score,
        "Somebody who has never seen it finds what they need and can do what they came for",
    ),
];

const DEFAULT_TASK: [BuiltIn; 3] = [
    ("correctness", 40, GradeKind::Score, "What was made does what the task asks, and what it says is true"),
    ("completeness", 35, GradeKind::Score, "Everything that the task asks for is there"),
    (
        "probe-adherence",
        25,
        GradeKind::Binary,
        "Every one of the task's acceptance criteria holds; where it has none, the task's own words are kept",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_rubrics_weigh_one_in_all() {
        for name in BUILT_IN {
            let rubric = Rubric::built_in(name).unwrap();
            assert_eq!(rubric.weights().sum::<Decimal>(), Decimal::ONE, "{name}");
        }
        assert_eq!(Rubric::built_in("mine"), None);
    }
}
