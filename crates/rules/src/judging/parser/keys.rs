//! Keys by which verdicts in JSON name their parts, each without case, spaces, underscores and hyphens.

/// Keys below which a reviewer may put the scores.
pub const CONTAINERS: &[&str] =
    &["scores", "dimensions", "dimensionscores", "ratings", "evaluation", "assessment", "criteria", "grades"];
/// Keys of a dimension's name, score and reasoning, most usual first.
pub const NAMES: &[&str] = &["dimension", "name", "criterion"];
pub const SCORES: &[&str] = &["score", "rating", "grade"];
pub(crate) const REASONS: &[&str] = &["reasoning", "reason", "explanation", "rationale", "justification"];

/// Keys that name the scale's upper end.
pub const SCALE_KEYS: &[&str] = &["maxscore", "outof", "max", "maximum", "scale"];
