//! Points of an earlier review and what the next reviewer answers for them (semantics, section 4).
//!
//! Answers decide nothing: scores and verdicts do. What they are for is that nothing that was found once is lost without a
//! word: a point that nobody says was addressed stays, as an open finding of its old severity.

use crate::domain::{Addressed, DimensionScore, Finding, Points, PriorAnswer, Severity};

/// Points that a reviewer is asked to answer for; the gravest ones, where there are more.
pub const MOST_POINTS: usize = 25;

/// The points that a review left: what it found, but for remarks; where it found nothing in so many words, each dimension
/// that fell short.
pub fn points(findings: &[Finding], dimensions: &[DimensionScore]) -> Vec<Finding> {
    let mut points: Vec<Finding> = Vec::new();
    for finding in findings.iter().filter(|finding| finding.severity > Severity::Info) {
        if !points.iter().any(|known| known.description == finding.description) {
            points.push(finding.clone());
        }
    }
    if points.is_empty() {
        let short = dimensions.iter().filter(|dimension| dimension.points < Points::FULL);
        points.extend(short.map(|dimension| {
            let score = dimension.points.score().round_dp(2).normalize();
            let words = format!("{}: {score} of 5. {}", dimension.dimension, dimension.reasoning);
            Finding::new(Severity::Medium, words.trim())
        }));
    }
    points.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    points.truncate(MOST_POINTS);
    points
}

/// Why a reviewer is asked once more who left some of so many points without an answer; `None` if it left none.
pub fn unanswered(points: usize, answers: &[PriorAnswer]) -> Option<String> {
    let numbers = (1..=points).filter(|number| !answers.iter().any(|answer| answer.id as usize == *number));
    let missing: Vec<String> = numbers.map(|number| number.to_string()).collect();
    match &missing[..] {
        [] => None,
        [one] => Some(format!("it does not say whether point {one} of the earlier feedback was addressed")),
        several => Some(format!(
            "it does not say whether the points {} of the earlier feedback were addressed",
            several.join(", ")
        )),
    }
}

/// The points that are still open by what the reviewers that count answered: one of them says no, or none says anything and
/// nothing else has shown that it was addressed.
pub fn open(points: Vec<Finding>, reviewers: &[&[PriorAnswer]], unless_answered: bool) -> Vec<Finding> {
    let still_open = |(index, mut point): (usize, Finding)| {
        let answers = reviewers.iter().flat_map(|answers| answers.iter());
        let mut answers = answers.filter(|answer| answer.id as usize == index + 1).peekable();
        let is_silent = answers.peek().is_none();
        let denied = answers.find(|answer| answer.addressed == Addressed::No);
        if let Some(note) = denied.map(|answer| &answer.note).filter(|note| !note.is_empty()) {
            point.evidence = Some(note.clone());
        }
        point.open = true;
        (is_silent && unless_answered || denied.is_some()).then_some(point)
    };
    points.into_iter().enumerate().filter_map(still_open).collect()
}

/// The open points that a reviewer itself says were not addressed.
pub fn denied(points: &[Finding], answers: &[PriorAnswer]) -> Vec<Finding> {
    let is_denied = |(index, _): &(usize, &Finding)| {
        let mut answers = answers.iter();
        answers.any(|answer| answer.id as usize == index + 1 && answer.addressed == Addressed::No)
    };
    points.iter().enumerate().filter(is_denied).map(|(_, point)| point.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(point: u32, addressed: Addressed) -> PriorAnswer {
        PriorAnswer { id: point, addressed, note: String::new() }
    }

    fn dimension(score: u8) -> DimensionScore {
        DimensionScore {
            dimension: "depth".to_owned(),
            points: Points::whole(score),
            reasoning: "too shallow".to_owned(),
        }
    }

    #[test]
    fn what_was_found_are_points_and_without_findings_what_fell_short() {
        let found = [
            Finding::new(Severity::Info, "single reviewer"),
            Finding::new(Severity::Low, "typo"),
            Finding::new(Severity::High, "no tests"),
            Finding::new(Severity::Low, "typo"),
        ];
        let words = |points: Vec<Finding>| -> Vec<String> {
            points.into_iter().map(|point| point.description).collect()
        };
        assert_eq!(words(points(&found, &[dimension(40)])), ["no tests", "typo"]);
        let short = points(&found[..1], &[dimension(40), dimension(100)]);
        assert_eq!(words(short), ["depth: 2 of 5. too shallow"]);
        let many: Vec<Finding> = (0..30).map(|n| Finding::new(Severity::Low, n.to_string())).collect();
        assert_eq!(points(&many, &[]).len(), MOST_POINTS);
    }

    #[test]
    fn silence_and_no_leave_a_point_open() {
        use Addressed::{No, Partly, Yes};
        let points: Vec<Finding> = (1..=4).map(|n| Finding::new(Severity::High, n.to_string())).collect();
        let first = [answer(1, Yes), answer(2, No), answer(3, Partly)];
        let second = [answer(1, Yes), answer(2, Yes)];
        let still: Vec<(String, bool)> = open(points.clone(), &[&first, &second], true)
            .into_iter()
            .map(|point| (point.description, point.open))
            .collect();
        assert_eq!(still, [("2".to_owned(), true), ("4".to_owned(), true)]);
        let shown = open(points.clone(), &[&first, &second], false);
        assert_eq!(shown.len(), 1, "silence says nothing where it was seen");
        assert_eq!(denied(&points, &first).len(), 1);
        assert_eq!(unanswered(3, &first), None);
        assert!(unanswered(4, &first).is_some_and(|why| why.contains("point 4")));
        assert!(unanswered(4, &second).is_some_and(|why| why.contains("points 3, 4")));
        assert_eq!(unanswered(0, &[]), None);
    }
}
