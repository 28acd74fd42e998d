//! How points, scores and moments are written: one scale and one clock for every document.

use serde::{Serialize, Serializer};

use crate::domain::{Bar, Points, Timestamp};

/// Points from 0 to 100, at most four decimals.
pub(super) fn points<S: Serializer>(points: &Option<Points>, serializer: S) -> Result<S::Ok, S::Error> {
    points.map(Points::to_f64).serialize(serializer)
}

/// The same on the scale from 1 to 5, at most two decimals.
pub(super) fn score<S: Serializer>(points: &Option<Points>, serializer: S) -> Result<S::Ok, S::Error> {
    points.map(Points::score_f64).serialize(serializer)
}

/// A moment by RFC 3339.
pub(super) fn moment<S: Serializer>(at: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    at.map(Timestamp::to_rfc3339).serialize(serializer)
}

/// The same, of a moment that is always known.
pub(super) fn this_moment<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    at.to_rfc3339().serialize(serializer)
}

/// The points of a bar.
pub(super) fn bar<S: Serializer>(bar: &Option<Bar>, serializer: S) -> Result<S::Ok, S::Error> {
    points(&bar.map(|bar| bar.points), serializer)
}
