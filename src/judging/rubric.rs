//! Grading by a rubric (semantics, section 10): reading what a judge said, holding it against the rubric, deciding.
//!
//! A grade that the rubric does not know, a criterion left out or named twice, a confidence that is no share: the reply
//! says nothing. What the judge declares never makes its grades better than they are; where it is stricter, it counts.

use std::collections::BTreeMap;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::Number;

use crate::domain::{
    Bar, Cause, CriterionGrade, DeclaredVerdict, Finding, GradeGiven, Points, RubricReply, Severity, Verdict,
};
use crate::mission::model::{Criterion, GradeKind, Rubric};

use super::verification::Decision;

/// Findings of one reply that are kept.
const MOST_FINDINGS: usize = 25;

// A key that nobody asked for may be the one that the judge meant its verdict to hang on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reply {
    criteria: Criteria,
    verdict: DeclaredVerdict,
    confidence: Number,
    #[serde(default)]
    findings: Vec<Found>,
}

/// The criteria of a reply; one that stands there twice is no answer.
#[derive(Deserialize)]
#[serde(try_from = "Entries")]
struct Criteria(BTreeMap<String, Grade>);

struct Entries(Vec<(String, Grade)>);

#[derive(Deserialize)]
struct Grade {
    grade: Number,
    #[serde(default)]
    reasoning: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    severity: Severity,
    description: String,
    #[serde(default)]
    evidence: String,
    #[serde(default)]
    suggested_fix: String,
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Entries;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object with every criterion")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}

impl TryFrom<Entries> for Criteria {
    type Error = String;

    fn try_from(entries: Entries) -> Result<Self, String> {
        let mut criteria = BTreeMap::new();
        for (name, grade) in entries.0 {
            if criteria.insert(name.clone(), grade).is_some() {
                return Err(format!("'{name}' is graded twice"));
            }
        }
        Ok(Self(criteria))
    }
}

/// What a judge's JSON object says, whatever the rubric is.
///
/// # Errors
/// Why it says nothing.
pub fn read(text: &str) -> Result<RubricReply, String> {
    let reply: Reply = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let confidence = share(&reply.confidence).ok_or_else(|| {
        format!(
            "`confidence` must be from 0 to 1, and {} is not",
            reply.confidence
        )
    })?;
    let grade = |(name, grade): (String, Grade)| match share(&grade.grade) {
        Some(points) => Ok(GradeGiven {
            criterion: name,
            points,
            reasoning: grade.reasoning,
        }),
        None => Err(format!(
            "the grade of '{name}' must be from 0 to 1, and {} is not",
            grade.grade
        )),
    };
    if reply
        .findings
        .iter()
        .any(|found| found.description.trim().is_empty())
    {
        return Err("a finding says nothing".to_owned());
    }
    let found = reply.findings.into_iter().take(MOST_FINDINGS);
    Ok(RubricReply {
        grades: reply
            .criteria
            .0
            .into_iter()
            .map(grade)
            .collect::<Result<_, _>>()?,
        verdict: reply.verdict,
        confidence,
        findings: found.map(finding).collect(),
    })
}

fn finding(found: Found) -> Finding {
    let mut finding = Finding::new(found.severity, found.description);
    if !found.evidence.is_empty() {
        finding = finding.with_evidence(found.evidence);
    }
    if !found.suggested_fix.is_empty() {
        finding.suggested_fix = Some(found.suggested_fix);
    }
    finding
}

/// A share from 0 to 1 as points, exactly as it was written.
fn share(number: &Number) -> Option<Points> {
    let written = number.to_string();
    let number = Decimal::from_str(&written)
        .or_else(|_| Decimal::from_scientific(&written))
        .ok()?;
    Points::new(number.checked_mul(Decimal::ONE_HUNDRED)?)
}

/// The grades in the order of the rubric's criteria.
///
/// # Errors
/// When they are not the grades of exactly its criteria.
pub fn fit(rubric: &Rubric, reply: &RubricReply) -> Result<Vec<CriterionGrade>, String> {
    let is_known = |name: &str| rubric.criteria.iter().any(|criterion| &*criterion.name == name);
    if let Some(unknown) = reply.grades.iter().find(|given| !is_known(&given.criterion)) {
        return Err(format!("the rubric has no criterion '{}'", unknown.criterion));
    }
    let grade = |criterion: &Criterion| {
        let name = &*criterion.name;
        let given = reply.grades.iter().find(|given| given.criterion == name);
        let given = given.ok_or_else(|| format!("'{name}' is not graded"))?;
        if !is_legal(criterion.grade, given.points) {
            return Err(format!("'{name}' has a grade that its kind does not know"));
        }
        Ok(CriterionGrade {
            points: Some(given.points),
            evidence: given.reasoning.clone(),
        })
    };
    rubric.criteria.iter().map(grade).collect()
}

fn is_legal(kind: GradeKind, points: Points) -> bool {
    let is_either = points == Points::ZERO || points == Points::FULL;
    match kind {
        GradeKind::Binary => is_either,
        GradeKind::Ternary => is_either || points == Points::whole(50),
        GradeKind::Score => true,
    }
}

/// What the grades mean. The order is fixed: not sure enough refers, a failed required criterion fails, the weighted
/// points against the bar decide the rest; a verdict of the judge that is stricter than that wins.
#[must_use]
pub fn decide(
    rubric: &Rubric,
    grades: &[CriterionGrade],
    reply: &RubricReply,
    bar: Bar,
    min_confidence: Points,
) -> Decision {
    let given = || grades.iter().map(|grade| grade.points.unwrap_or(Points::ZERO));
    let points = Points::weighted_mean(given().zip(rubric.weights()));
    let failed_required = rubric
        .criteria
        .iter()
        .zip(given())
        .any(|(criterion, points)| criterion.required && points == Points::ZERO);
    let computed = if reply.confidence < min_confidence || points.is_none() {
        (Verdict::Refer, Some(Cause::Confidence))
    } else if failed_required {
        (Verdict::Fail, Some(Cause::RequiredCriterion))
    } else if points.is_some_and(|points| bar.is_reached_by(points)) {
        (Verdict::Pass, None)
    } else {
        (Verdict::Fail, Some(Cause::Score))
    };
    let (verdict, cause) = match (computed.0, reply.verdict) {
        (Verdict::Pass, DeclaredVerdict::Refer) => (Verdict::Refer, Some(Cause::Confidence)),
        (Verdict::Pass | Verdict::Refer, DeclaredVerdict::Fail) => (Verdict::Fail, Some(Cause::Score)),
        _ => computed,
    };
    let mut findings = reply.findings.clone();
    if verdict != computed.0 {
        let declared = match verdict {
            Verdict::Refer => "refer",
            _ => "fail",
        };
        findings.push(Finding::new(
            Severity::High,
            format!("the judge's own verdict is {declared}, whatever its grades come to"),
        ));
    }
    findings.extend(
        rubric
            .criteria
            .iter()
            .zip(grades)
            .filter(|(_, grade)| grade.points != Some(Points::FULL) && verdict == Verdict::Fail)
            .map(|(criterion, grade)| shortfall(criterion, grade)),
    );
    Decision {
        verdict,
        cause,
        points,
        confidence: reply.confidence,
        findings,
    }
}

/// What the worker is told of a criterion that is not fully met.
fn shortfall(criterion: &Criterion, grade: &CriterionGrade) -> Finding {
    let severity = if grade.points == Some(Points::ZERO) {
        Severity::High
    } else {
        Severity::Medium
    };
    let why = if grade.evidence.is_empty() {
        String::new()
    } else {
        format!(": {}", grade.evidence)
    };
    Finding::new(severity, format!("{} is {}{why}", criterion.name, grade.result()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mission::Positive;
    use serde_json::json;

    fn rubric() -> Rubric {
        let criterion = |name: &str, percent, grade, required| Criterion {
            name: name.into(),
            description: None,
            weight: Positive::percent(percent),
            grade,
            required,
            levels: Vec::new(),
        };
        Rubric {
            criteria: vec![
                criterion("runs", 50, GradeKind::Binary, true),
                criterion("reads", 30, GradeKind::Ternary, false),
                criterion("looks", 20, GradeKind::Score, false),
            ],
            ..Rubric::default()
        }
    }

    fn reply(grades: [f64; 3], verdict: &str, confidence: f64) -> String {
        let [runs, reads, looks] = grades.map(|grade| json!({"grade": grade, "reasoning": "seen"}));
        json!({"criteria": {"runs": runs, "reads": reads, "looks": looks}, "verdict": verdict, "confidence": confidence})
            .to_string()
    }

    fn decided(text: &str, bar: u8) -> Result<Decision, String> {
        let (rubric, reply) = (rubric(), read(text)?);
        let grades = fit(&rubric, &reply)?;
        let bar = Bar {
            points: Points::whole(bar),
            ..Bar::default_bar()
        };
        Ok(decide(&rubric, &grades, &reply, bar, Points::whole(70)))
    }

    #[test]
    fn of_a_rubric_with_one_criterion_every_other_is_unknown() {
        let mut rubric = rubric();
        rubric.criteria.truncate(1);
        let graded = |names: [&str; 2]| {
            let grades = names.map(|name| (name.to_owned(), json!({"grade": 1, "reasoning": "seen"})));
            let criteria: serde_json::Map<_, _> = grades.into_iter().collect();
            let text = json!({"criteria": criteria, "verdict": "pass", "confidence": 1}).to_string();
            fit(&rubric, &read(&text).unwrap())
        };
        assert!(graded(["runs", "runs"]).is_ok());
        let why = graded(["runs", "x"]).unwrap_err();
        assert_eq!(why, "the rubric has no criterion 'x'");
    }

    #[test]
    fn the_order_of_decision() {
        use Verdict::{Fail, Pass, Refer};
        let table = [
            ([1.0, 1.0, 1.0], "pass", 0.9, Pass, None, 100),
            ([1.0, 0.5, 0.0], "pass", 0.9, Pass, None, 65),
            ([1.0, 0.0, 0.45], "pass", 0.9, Fail, Some(Cause::Score), 59),
            ([1.0, 0.0, 0.5], "pass", 0.9, Pass, None, 60),
            (
                [0.0, 1.0, 1.0],
                "pass",
                0.9,
                Fail,
                Some(Cause::RequiredCriterion),
                50,
            ),
            // Not sure enough comes first, whatever the grades say.
            ([0.0, 1.0, 1.0], "pass", 0.69, Refer, Some(Cause::Confidence), 50),
            ([1.0, 1.0, 1.0], "pass", 0.7, Pass, None, 100),
            // A stricter word of the judge wins, a milder one does not.
            ([1.0, 1.0, 1.0], "refer", 0.9, Refer, Some(Cause::Confidence), 100),
            ([1.0, 1.0, 1.0], "fail", 0.9, Fail, Some(Cause::Score), 100),
            ([1.0, 1.0, 1.0], "fail", 0.5, Fail, Some(Cause::Score), 100),
            (
                [0.0, 0.0, 0.0],
                "refer",
                0.9,
                Fail,
                Some(Cause::RequiredCriterion),
                0,
            ),
        ];
        for (grades, verdict, confidence, expected, cause, points) in table {
            let decision = decided(&reply(grades, verdict, confidence), 60).unwrap();
            let seen = (decision.verdict, decision.cause, decision.points);
            assert_eq!(
                seen,
                (expected, cause, Some(Points::whole(points))),
                "{grades:?} {verdict} {confidence}"
            );
        }
    }

    #[test]
    fn what_does_not_fit_the_rubric_says_nothing() {
        let good = reply([1.0, 1.0, 1.0], "pass", 0.9);
        decided(&good, 60).unwrap();
        for (from, to) in [
            ("\"runs\"", "\"walks\""),
            ("\"verdict\":\"pass\"", "\"verdict\":\"good\""),
            ("\"confidence\":0.9", "\"confidence\":9"),
            ("\"confidence\":0.9", "\"sure\":0.9"),
            ("\"looks\":{", "\"runs\":{\"grade\":1},\"looks\":{"),
            ("\"criteria\"", "\"grades\""),
        ] {
            assert!(good.contains(from), "{from}");
            decided(&good.replacen(from, to, 1), 60).unwrap_err();
        }
        for grades in [
            [0.5, 1.0, 1.0],
            [1.0, 0.7, 1.0],
            [1.0, 1.0, 1.2],
            [1.0, 1.0, -0.1],
        ] {
            decided(&reply(grades, "pass", 0.9), 60).unwrap_err();
        }
        decided("SCORE: 90", 60).unwrap_err();
        decided("", 60).unwrap_err();
    }

    #[test]
    fn failed_work_is_told_what_it_lacks() {
        let decision = decided(&reply([0.0, 0.5, 1.0], "pass", 0.9), 60).unwrap();
        let told: Vec<_> = decision
            .findings
            .iter()
            .map(|finding| finding.description.as_str())
            .collect();
        assert_eq!(told, ["runs is failed: seen", "reads is partial: seen"]);
    }

    #[test]
    fn the_worker_is_told_of_what_is_missing_and_how_bad_it_is() {
        let text = reply([0.0, 0.5, 1.0], "fail", 0.9);
        let decision = decided(&text, 60).unwrap();
        let told: Vec<_> = decision.findings.iter().map(|finding| finding.severity).collect();
        assert_eq!(
            told,
            [Severity::High, Severity::Medium],
            "nothing of what is fully met"
        );
    }

    #[test]
    fn what_a_judge_found_is_kept_with_its_evidence_and_what_would_mend_it() {
        let mut text: serde_json::Value = serde_json::from_str(&reply([1.0, 1.0, 1.0], "pass", 0.9)).unwrap();
        text["findings"] = json!([
            {"severity": "low", "description": "x", "evidence": "line 3", "suggestedFix": "y"},
            {"severity": "low", "description": "z"},
        ]);
        let findings = decided(&text.to_string(), 60).unwrap().findings;
        let bare = Finding::new(Severity::Low, "z".to_owned());
        assert_eq!(findings[1], bare);
        assert_ne!(findings[0].evidence, bare.evidence);
        assert_eq!(findings[0].suggested_fix.as_deref(), Some("y"));
    }

    #[test]
    fn whoever_sends_no_grades_is_told_what_is_wanted() {
        let why = read(r#"{"criteria": 5, "verdict": "pass", "confidence": 1}"#).unwrap_err();
        assert!(why.contains("an object with every criterion"), "{why}");
    }

    #[test]
    fn so_many_findings_are_taken_and_no_more() {
        let finding = json!({"severity": "low", "description": "x"});
        for (given, taken) in [(MOST_FINDINGS, MOST_FINDINGS), (MOST_FINDINGS + 1, MOST_FINDINGS)] {
            let mut text: serde_json::Value =
                serde_json::from_str(&reply([1.0, 1.0, 1.0], "pass", 0.9)).unwrap();
            text["findings"] = json!(vec![finding.clone(); given]);
            let decision = decided(&text.to_string(), 60).unwrap();
            assert_eq!(decision.findings.len(), taken);
        }
    }
}
