//! What a failed attempt looked like: two alike brought nothing (4).

use std::hash::{DefaultHasher, Hash, Hasher};

use super::event_payload::{FileFact, StageReport};
use super::state::Judging;

/// The signature of a failed attempt: failed checks, scores per dimension, hashes of the files in question, or
/// that they are not there. `None` where there is no such file, or one is unknown: then two attempts cannot be
/// said to be the same.
pub fn signature(report: &StageReport, judging: Option<&Judging>) -> Option<u64> {
    let files = judging.map_or(&[][..], |judging| &judging.files);
    // What is there and nobody hashed may have changed: that is unknown, not "no progress".
    let unknown = |file: &FileFact| file.digest.is_none() && (file.size.is_some() || file.obstacle.is_some());
    if files.is_empty() || files.iter().any(unknown) {
        return None;
    }
    // The standard hasher has fixed keys: the same inputs give the same signature in every replay.
    let mut hasher = DefaultHasher::new();
    (report.stage, report.points, report.cause).hash(&mut hasher);
    for dimension in &report.dimensions {
        (&dimension.dimension, dimension.points).hash(&mut hasher);
    }
    for grade in &report.grades {
        grade.points.hash(&mut hasher);
    }
    if let Some(name) = &report.name {
        name.hash(&mut hasher);
    }
    for check in judging.into_iter().flat_map(|judging| &judging.checks) {
        check.as_ref().map(|check| check.passed).hash(&mut hasher);
    }
    for file in files {
        (&file.path, file.size, file.digest).hash(&mut hasher);
    }
    Some(hasher.finish())
}
