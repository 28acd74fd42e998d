//! Grading by a rubric (semantics, section 10): reading what a judge said, holding it against the rubric, deciding.
//!
//! A grade that the rubric does not know, a criterion left out or named twice, a confidence that is no share: the reply
//! says nothing. What the judge declares never makes its grades better than they are; where it is stricter, it counts.

use crate::domain::{
    Bar, Cause, CriterionGrade, DeclaredVerdict, Finding, GradeGiven, Points, RubricReply, Severity, Verdict,
};
use crate::mission::model::{Criterion, GradeKind, Rubric};

use super::criteria_verdict::{self, VerificationDecision};
use super::findings_verdict::VERDICTS;
use super::parser::findings::findings_of;
use super::parser::form::{read_object, share, wrong};
use super::parser::json::{Json, plain};
use super::parser::keys::REASONS;
use super::parser::point_answers::answers_in;
use super::parser::{Quoted, Unparsed};

/// Findings of one reply that are kept.
const MOST_FINDINGS: usize = 25;

/// Reads the reply of a judge, whatever the rubric is.
///
/// # Errors
///
/// Why the reply says nothing.
pub fn read(reply: &str, work: &Quoted) -> Result<RubricReply, Unparsed> {
    read_object(reply, work, "criteria", |object| {
        let Some(criteria @ Json::Object(_)) = object.only(&["criteria"])? else {
            return Err(wrong("`criteria` is not an object with every criterion"));
        };
        let confidence = object.only(&["confidence"])?;
        let confidence = confidence.ok_or_else(|| wrong("`confidence` is missing"))?;
        let mut grades: Vec<GradeGiven> = Vec::new();
        for (name, value) in criteria.entries() {
            if grades.iter().any(|given| given.criterion == *name) {
                return Err(Unparsed::Duplicate(name.clone()));
            }
            grades.push(grade(name, value)?);
        }
        Ok(RubricReply {
            grades,
            verdict: object.required_word("verdict", &VERDICTS)?,
            confidence: share(confidence, "confidence")?,
            findings: findings_of(object, MOST_FINDINGS),
            prior: answers_in(object),
        })
    })
}

/// `"runs": {"grade": 1, "reasoning": "…"}` or `"runs": 1`
fn grade(name: &str, value: &Json) -> Result<GradeGiven, Unparsed> {
    let given = match value {
        Json::Object(_) => value.only(&["grade", "score"])?,
        plain => Some(plain),
    };
    let given = given.ok_or_else(|| Unparsed::NotANumber(name.to_owned()))?;
    Ok(GradeGiven {
        criterion: name.to_owned(),
        points: share(given, name)?,
        reasoning: value.get(REASONS).map(Json::words).unwrap_or_default(),
    })
}

/// The grades in the order of the rubric's criteria. A criterion is meant by its name, or by the only one that is the same
/// but for case, spaces, underscores and hyphens; what is graded beside them is nobody's business.
///
/// # Errors
/// When one of its criteria has no grade, more than one, or one that its kind does not know.
pub fn fit(rubric: &Rubric, reply: &RubricReply) -> Result<Vec<CriterionGrade>, String> {
    let is_another = |given: &GradeGiven| rubric.criteria.iter().any(|other| *other.name == *given.criterion);
    let grade = |criterion: &Criterion| {
        let name = &*criterion.name;
        let exact = reply.grades.iter().find(|given| given.criterion == name);
        let alike = reply.grades.iter().filter(|given| plain(&given.criterion) == plain(name));
        let mut alike = alike.filter(|given| !is_another(given));
        let given = match (exact, alike.next(), alike.next()) {
            (Some(given), None, _) | (None, Some(given), None) => given,
            (_, Some(_), _) => return Err(format!("'{name}' is graded twice")),
            (None, None, _) => return Err(format!("'{name}' is not graded")),
        };
        if !is_legal(criterion.grade, given.points) {
            return Err(format!("'{name}' has a grade that its kind does not know"));
        }
        Ok(CriterionGrade { points: Some(given.points), evidence: given.reasoning.clone() })
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

/// Decides by the grades. The order is fixed: not sure enough refers, whatever was declared; a failed required
/// criterion fails, the weighted points against the bar decide the rest; a verdict of the judge that is
/// stricter than that wins.
pub fn decide(
    rubric: &Rubric,
    grades: &[CriterionGrade],
    reply: &RubricReply,
    bar: Bar,
    min_confidence: Points,
) -> VerificationDecision {
    let given = || grades.iter().map(|grade| grade.points.unwrap_or(Points::ZERO));
    let points = Points::weighted_mean(given().zip(rubric.weights()));
    let failed_required = rubric
        .criteria
        .iter()
        .zip(given())
        .any(|(criterion, points)| criterion.required && points == Points::ZERO);
    let sure = points.filter(|_| reply.confidence >= min_confidence);
    let computed = criteria_verdict::verdict(sure, failed_required, bar);
    let (verdict, cause) = match (computed.0, reply.verdict) {
        (Verdict::Pass, DeclaredVerdict::Refer) => (Verdict::Refer, Some(Cause::Confidence)),
        (Verdict::Pass, DeclaredVerdict::Fail) => (Verdict::Fail, Some(Cause::Score)),
        // Who is not sure enough decides nothing, a fail as little as a pass.
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
    VerificationDecision { verdict, cause, points, confidence: reply.confidence, findings }
}

/// The finding for the worker about a criterion that is not fully met.
fn shortfall(criterion: &Criterion, grade: &CriterionGrade) -> Finding {
    let severity = if grade.points == Some(Points::ZERO) { Severity::High } else { Severity::Medium };
    let why = if grade.evidence.is_empty() { String::new() } else { format!(": {}", grade.evidence) };
    Finding::new(severity, format!("{} is {}{why}", criterion.name, grade.result().as_str()))
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

    fn said(text: &str) -> Result<RubricReply, String> {
        read(text, &Quoted::default()).map_err(|why| why.to_string())
    }

    fn decided(text: &str, bar: u8) -> Result<VerificationDecision, String> {
        let (rubric, reply) = (rubric(), said(text)?);
        let grades = fit(&rubric, &reply)?;
        let bar = Bar { points: Points::whole(bar), ..Bar::default_bar() };
        Ok(decide(&rubric, &grades, &reply, bar, Points::whole(70)))
    }

    #[test]
    fn a_criterion_is_meant_by_its_name_and_what_is_graded_beside_it_does_not_count() {
        let mut rubric = rubric();
        rubric.criteria.truncate(1);
        let graded = |names: [&str; 2]| {
            let grades = names.map(|name| (name.to_owned(), json!({"grade": 1, "reasoning": "seen"})));
            let criteria: serde_json::Map<_, _> = grades.into_iter().collect();
            let text = json!({"criteria": criteria, "verdict": "pass", "confidence": 1}).to_string();
            fit(&rubric, &said(&text).unwrap())
        };
        assert!(graded(["runs", "x"]).is_ok());
        assert!(graded(["Runs", "x"]).is_ok());
        assert_eq!(graded(["RUNS", "Runs"]).unwrap_err(), "'runs' is graded twice");
        assert_eq!(graded(["walks", "x"]).unwrap_err(), "'runs' is not graded");
        rubric.criteria.push(Criterion { name: "r-uns".into(), ..rubric.criteria[0].clone() });
        let reply = json!({"criteria": {"runs": {"grade": 1}}, "verdict": "pass", "confidence": 1});
        let why = fit(&rubric, &said(&reply.to_string()).unwrap()).unwrap_err();
        assert_eq!(why, "'r-uns' is not graded", "another's grade is none of its own");
    }

    #[test]
    fn the_order_of_decision() {
        use Verdict::{Fail, Pass, Refer};
        let table = [
            ([1.0, 1.0, 1.0], "pass", 0.9, Pass, None, 100),
            ([1.0, 0.5, 0.0], "pass", 0.9, Pass, None, 65),
            ([1.0, 0.0, 0.45], "pass", 0.9, Fail, Some(Cause::Score), 59),
            ([1.0, 0.0, 0.5], "pass", 0.9, Pass, None, 60),
            ([0.0, 1.0, 1.0], "pass", 0.9, Fail, Some(Cause::RequiredCriterion), 50),
            // Not sure enough comes first, whatever the grades say.
            ([0.0, 1.0, 1.0], "pass", 0.69, Refer, Some(Cause::Confidence), 50),
            ([1.0, 1.0, 1.0], "pass", 0.7, Pass, None, 100),
            // A stricter word of the judge wins, a milder one does not.
            ([1.0, 1.0, 1.0], "refer", 0.9, Refer, Some(Cause::Confidence), 100),
            ([1.0, 1.0, 1.0], "fail", 0.9, Fail, Some(Cause::Score), 100),
            ([1.0, 1.0, 1.0], "fail", 0.5, Refer, Some(Cause::Confidence), 100),
            ([0.0, 0.0, 0.0], "fail", 0.69, Refer, Some(Cause::Confidence), 0),
            ([0.0, 0.0, 0.0], "refer", 0.9, Fail, Some(Cause::RequiredCriterion), 0),
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
        for grades in [[0.5, 1.0, 1.0], [1.0, 0.7, 1.0], [1.0, 1.0, 1.2], [1.0, 1.0, -0.1]] {
            decided(&reply(grades, "pass", 0.9), 60).unwrap_err();
        }
        decided("SCORE: 90", 60).unwrap_err();
        decided("", 60).unwrap_err();
    }

    #[test]
    fn failed_work_is_told_what_it_lacks() {
        let decision = decided(&reply([0.0, 0.5, 1.0], "pass", 0.9), 60).unwrap();
        let told: Vec<_> = decision.findings.iter().map(|finding| finding.description.as_str()).collect();
        assert_eq!(told, ["runs is failed: seen", "reads is partial: seen"]);
    }

    #[test]
    fn the_worker_is_told_of_what_is_missing_and_how_bad_it_is() {
        let text = reply([0.0, 0.5, 1.0], "fail", 0.9);
        let decision = decided(&text, 60).unwrap();
        let told: Vec<_> = decision.findings.iter().map(|finding| finding.severity).collect();
        assert_eq!(told, [Severity::High, Severity::Medium], "nothing of what is fully met");
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
        let why = said(r#"{"criteria": 5, "verdict": "pass", "confidence": 1}"#).unwrap_err();
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
