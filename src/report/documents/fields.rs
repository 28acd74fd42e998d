//! How points, scores, moments and outcomes are written: one scale and one clock for every document. What a field is in the
//! schema of a document stands beside it.

use std::borrow::Cow;

use minijinja::value::serializing_for_value;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use rules::domain::{Bar, OutcomeClass, Points, Timestamp};

/// A field that another type stands behind: its name and its schema.
macro_rules! shape {
    ($(#[doc = $doc:literal] $Shape:ident = $schema:expr;)+) => {
        $(
            #[doc = $doc]
            pub(crate) struct $Shape;

            impl JsonSchema for $Shape {
                fn inline_schema() -> bool {
                    true
                }

                fn schema_name() -> Cow<'static, str> {
                    stringify!($Shape).into()
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    $schema
                }
            }
        )+
    };
}

shape! {
    /// The schema of what [`points`] and [`bar`] write.
    PointsShape = json_schema!({"type": "number", "minimum": 0, "maximum": 100});
    /// The schema of what [`score`] writes.
    ScoreShape = json_schema!({"type": "number", "minimum": 0, "maximum": 5});
    /// The schema of what [`moment`] and [`this_moment`] write.
    MomentShape = json_schema!({"type": "string", "format": "date-time"});
    /// The name of an outcome.
    OutcomeShape = json_schema!({"type": "string", "enum": outcomes()});
}

/// Each name once: both signals have the same.
fn outcomes() -> Vec<&'static str> {
    let mut names: Vec<_> = OutcomeClass::BY_PRECEDENCE.map(OutcomeClass::as_str).into();
    names.dedup();
    names
}

/// Left out of JSON: a fact that words are made from, for templates only.
pub(crate) fn in_json<T>(_: &T) -> bool {
    !serializing_for_value()
}

/// Left out of what templates see: they are given a choice of the tasks, each when its turn comes.
pub(crate) fn in_templates<T>(_: &T) -> bool {
    serializing_for_value()
}

/// Makes writers of values that may be missing.
macro_rules! writers {
    ($($(#[$doc:meta])+ $name:ident: $T:ty => $written:expr;)+) => {$(
        $(#[$doc])+
        pub fn $name<S: Serializer>(value: &Option<$T>, serializer: S) -> Result<S::Ok, S::Error> {
            value.map($written).serialize(serializer)
        }
    )+};
}

writers! {
    /// Points from 0 to 100, at most four decimals.
    points: Points => Points::to_f64;
    /// Points on the scale from 1 to 5, at most two decimals.
    score: Points => Points::score_f64;
    /// A moment by RFC 3339.
    moment: Timestamp => Timestamp::to_rfc3339;
    /// The points of a bar.
    bar: Bar => |bar| bar.points.to_f64();
}

/// A moment that is always known, by RFC 3339.
pub fn this_moment<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    at.to_rfc3339().serialize(serializer)
}
