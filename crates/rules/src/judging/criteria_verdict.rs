//! What the grades of a task's criteria mean (semantics, section 10), whoever gave them.
//!
//! The order of decision is fixed: not sure enough refers, a failed required criterion fails, points against the bar
//! decide the rest. What was not checked earns no points and makes the grader less sure.

use rust_decimal::Decimal;

use crate::domain::{Bar, Cause, CriterionGrade, CriterionResult, Finding, Points, Severity, Verdict};

/// The verdict of a verification, with its grounds.
#[derive(Debug, Clone, PartialEq)]
pub struct VerificationDecision {
    /// Pass, fail or refer.
    pub verdict: Verdict,
    /// Why, unless it is a pass.
    pub cause: Option<Cause>,
    /// The mean of all grades; `None` if nothing could be checked.
    pub points: Option<Points>,
    /// How sure the verdict is, a share as points.
    pub confidence: Points,
    /// The findings: failed criteria, and those that were not checked.
    pub findings: Vec<Finding>,
}

/// Decides about `criteria`, each of which is required: they are what the work is accepted by.
pub fn decide(
    criteria: &[String],
    grades: &[CriterionGrade],
    bar: Bar,
    min_confidence: Points,
) -> VerificationDecision {
    let confidence = confidence(grades);
    let points = points(grades);
    let failed_required = grades.iter().any(|grade| grade.points == Some(Points::ZERO));
    let (verdict, cause) = verdict(points.filter(|_| confidence >= min_confidence), failed_required, bar);
    VerificationDecision { verdict, cause, points, confidence, findings: findings(criteria, grades) }
}

/// The verdict on the points; without any that are sure enough, a person is referred to. A failed required criterion
/// fails the work, and the bar decides the rest.
pub(super) fn verdict(points: Option<Points>, failed_required: bool, bar: Bar) -> (Verdict, Option<Cause>) {
    match points {
        None => (Verdict::Refer, Some(Cause::Confidence)),
        Some(_) if failed_required => (Verdict::Fail, Some(Cause::RequiredCriterion)),
        Some(points) if bar.is_reached_by(points) => (Verdict::Pass, None),
        Some(_) => (Verdict::Fail, Some(Cause::Score)),
    }
}

/// The share of the criteria that were checked. Once a required one is shown not to hold the work fails whatever the
/// others would have said, and nothing about that is uncertain.
fn confidence(grades: &[CriterionGrade]) -> Points {
    if grades.iter().any(|grade| grade.points == Some(Points::ZERO)) {
        return Points::FULL;
    }
    let checked = |grade: &CriterionGrade| match grade.points {
        Some(_) => Points::FULL,
        None => Points::ZERO,
    };
    mean(grades.iter().map(checked)).unwrap_or(Points::ZERO)
}

/// The mean of the grades, in which a criterion that was not checked earns nothing, so that points say no more
/// than was seen. `None` if none was checked.
fn points(grades: &[CriterionGrade]) -> Option<Points> {
    grades.iter().find_map(|grade| grade.points)?;
    mean(grades.iter().map(|grade| grade.points.unwrap_or(Points::ZERO)))
}

fn mean(points: impl Iterator<Item = Points>) -> Option<Points> {
    Points::weighted_mean(points.map(|points| (points, Decimal::ONE)))
}

fn findings(criteria: &[String], grades: &[CriterionGrade]) -> Vec<Finding> {
    let found = |result, severity, what: &'static str| {
        let of_kind = criteria.iter().zip(grades).filter(move |(_, grade)| grade.result() == result);
        of_kind.map(move |(criterion, grade)| {
            let (seen, more) = grade.evidence.split_once('\n').unwrap_or((&grade.evidence, ""));
            let finding = Finding::new(severity, format!("{what}: {criterion} ({seen})"));
            match more {
                "" => finding,
                more => finding.with_evidence(more),
            }
        })
    };
    let failed = found(CriterionResult::Failed, Severity::High, "not met");
    let partial = found(CriterionResult::Partial, Severity::Medium, "met in part");
    let open = found(CriterionResult::Unchecked, Severity::Info, "not checked");
    failed.chain(partial).chain(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOT_CHECKED: Option<u8> = None;
    const MET: Option<u8> = Some(100);
    const NOT_MET: Option<u8> = Some(0);

    fn decided(grades: &[Option<u8>], min_confidence: u8) -> VerificationDecision {
        let criteria: Vec<String> = (0..grades.len()).map(|n| format!("c{n}")).collect();
        let grades: Vec<CriterionGrade> = grades
            .iter()
            .map(|points| CriterionGrade {
                points: points.map(Points::whole),
                evidence: "seen\nand printed".to_owned(),
            })
            .collect();
        decide(&criteria, &grades, Bar::default_bar(), Points::whole(min_confidence))
    }

    #[test]
    fn the_order_of_decision() {
        use Verdict::{Fail, Pass, Refer};
        for (grades, verdict, cause, points) in [
            (&[][..], Refer, Some(Cause::Confidence), None),
            (&[NOT_CHECKED][..], Refer, Some(Cause::Confidence), None),
            (&[MET, NOT_CHECKED], Refer, Some(Cause::Confidence), Some(50)),
            (&[MET, MET, MET, NOT_CHECKED], Pass, None, Some(75)),
            (&[MET, MET], Pass, None, Some(100)),
            (&[NOT_MET], Fail, Some(Cause::RequiredCriterion), Some(0)),
            // Above the bar in points, and still not what was asked for.
            (&[MET, MET, NOT_MET, MET], Fail, Some(Cause::RequiredCriterion), Some(75)),
            // What was not checked cannot save it.
            (&[NOT_MET, NOT_CHECKED], Fail, Some(Cause::RequiredCriterion), Some(0)),
            (&[Some(50), Some(50)], Fail, Some(Cause::Score), Some(50)),
            (&[Some(50), MET], Pass, None, Some(75)),
        ] {
            let decision = decided(grades, 70);
            assert_eq!(
                (decision.verdict, decision.cause, decision.points),
                (verdict, cause, points.map(Points::whole)),
                "{grades:?}"
            );
        }
        assert_eq!(decided(&[MET, MET, MET, NOT_CHECKED], 100).verdict, Refer);
        assert_eq!(decided(&[MET, MET, MET, NOT_CHECKED], 75).verdict, Pass);
        assert_eq!(decided(&[NOT_CHECKED], 0).verdict, Refer, "nothing was seen");
        assert_eq!(decided(&[MET, NOT_CHECKED], 50).confidence, Points::whole(50));
    }

    #[test]
    fn findings_tell_what_failed_and_what_was_not_checked() {
        let decision = decided(&[NOT_CHECKED, MET, NOT_MET], 70);
        let told: Vec<_> = decision
            .findings
            .iter()
            .map(|finding| (finding.severity, finding.description.as_str()))
            .collect();
        assert_eq!(
            told,
            [(Severity::High, "not met: c2 (seen)"), (Severity::Info, "not checked: c0 (seen)")]
        );
        let printed: Vec<_> = decision.findings.iter().map(|f| f.evidence.as_deref()).collect();
        assert_eq!(printed, [Some("and printed"), Some("and printed")]);
        let short = CriterionGrade { points: Some(Points::ZERO), evidence: "seen".to_owned() };
        assert_eq!(findings(&["c0".to_owned()], &[short])[0].evidence, None);
    }
}
