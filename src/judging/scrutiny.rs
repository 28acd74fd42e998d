//! What stages behind the verification say, and what findings lead to (semantics, sections 6.7 and 15).
//!
//! Two forms of reply: a stage gives a verdict with its reasons, a red team gives findings and no verdict, because what
//! follows from them is not its business. Anything else says nothing.

use serde::Deserialize;

use crate::domain::{DeclaredVerdict, Finding, Opinion, Severity, Verdict};
use crate::mission::model::Autonomy;

use super::advice::object;

/// Findings of one report.
pub const MOST_FINDINGS: usize = 25;

/// Characters of each text of a finding that are kept.
const LONGEST_TEXT: usize = 2_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StageReply {
    verdict: DeclaredVerdict,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    findings: Vec<Found>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingsReply {
    findings: Vec<Found>,
    #[serde(default, rename = "summary")]
    _summary: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Found {
    severity: Severity,
    #[serde(default)]
    surface: Option<Surface>,
    #[serde(default)]
    category: Option<Category>,
    description: String,
    #[serde(default)]
    evidence: String,
    #[serde(default)]
    suggested_fix: String,
}

/// Where a red team attacks.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Surface {
    Correctness,
    Security,
    Requirements,
    Grounding,
}

/// What a vision check finds wrong.
#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Category {
    RequirementsMismatch,
    MissingElement,
    VisualDefect,
}

impl Category {
    fn as_str(self) -> &'static str {
        match self {
            Self::RequirementsMismatch => "requirements_mismatch",
            Self::MissingElement => "missing_element",
            Self::VisualDefect => "visual_defect",
        }
    }
}

impl Surface {
    fn as_str(self) -> &'static str {
        match self {
            Self::Correctness => "correctness",
            Self::Security => "security",
            Self::Requirements => "requirements",
            Self::Grounding => "grounding",
        }
    }
}

impl Found {
    fn finding(self) -> Result<Finding, String> {
        let description = self.description.trim();
        if description.is_empty() {
            return Err("a finding has no description".to_owned());
        }
        let kind = self.surface.map(Surface::as_str);
        let description = match kind.or(self.category.map(Category::as_str)) {
            Some(kind) => format!("{kind}: {description}"),
            None => description.to_owned(),
        };
        let text = |text: &str| Some(shortened(text.trim())).filter(|text| !text.is_empty());
        let mut finding = Finding::new(self.severity, shortened(&description));
        finding.evidence = text(&self.evidence);
        finding.suggested_fix = text(&self.suggested_fix);
        Ok(finding)
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}

/// The findings of a reply: all of them, or none if it goes on and on.
fn all(found: Vec<Found>) -> Result<Vec<Finding>, String> {
    if found.len() > MOST_FINDINGS {
        return Err(format!(
            "it has {} findings; give the {MOST_FINDINGS} that matter most",
            found.len()
        ));
    }
    found.into_iter().map(Found::finding).collect()
}

/// What the agent of a stage says.
///
/// # Errors
/// Why it says nothing.
pub fn read_opinion(text: &str) -> Result<Opinion, String> {
    let reply: StageReply = object(text)?;
    let reason = shortened(reply.reason.trim());
    let findings = all(reply.findings)?;
    if reply.verdict != DeclaredVerdict::Pass && reason.is_empty() && findings.is_empty() {
        return Err("a verdict that is not `pass` needs a `reason`".to_owned());
    }
    Ok(Opinion {
        verdict: reply.verdict,
        reason,
        findings,
    })
}

/// What a red team, or an agent that looks at pictures, found. A report that claims something grave must show it: one
/// without evidence is refused as a whole, and so is one that goes on and on.
///
/// # Errors
/// Why it says nothing.
pub fn read_findings(text: &str) -> Result<Vec<Finding>, String> {
    let reply: FindingsReply = object(text)?;
    let findings = all(reply.findings)?;
    let unproved = |finding: &&Finding| finding.severity >= Severity::High && finding.evidence.is_none();
    match findings.iter().find(unproved) {
        Some(finding) => Err(format!(
            "a finding of severity {} needs `evidence`: '{}'",
            finding.severity.as_str(),
            finding.description.chars().take(80).collect::<String>()
        )),
        None => Ok(findings),
    }
}

/// Whether a finding keeps work from being accepted.
#[must_use]
pub fn blocks(severity: Severity, autonomy: Autonomy) -> bool {
    match severity {
        Severity::Critical | Severity::High => true,
        Severity::Medium => autonomy <= Autonomy::Supervised,
        Severity::Low | Severity::Info => false,
    }
}

/// What findings lead to: `fail` if any of them blocks. A pass may carry the others.
#[must_use]
pub fn route(findings: &[Finding], autonomy: Autonomy) -> Verdict {
    if findings.iter().any(|finding| blocks(finding.severity, autonomy)) {
        Verdict::Fail
    } else {
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    const SEVERITIES: [Severity; 5] = [
        Severity::Critical,
        Severity::High,
        Severity::Medium,
        Severity::Low,
        Severity::Info,
    ];
    const LEVELS: [Autonomy; 4] = [
        Autonomy::Locked,
        Autonomy::Supervised,
        Autonomy::Semi,
        Autonomy::Full,
    ];

    /// The matrix of section 15, cell by cell.
    #[test]
    fn severity_and_autonomy_route_a_finding() {
        let matrix = [
            [true, true, true, true],
            [true, true, true, true],
            [true, true, false, false],
            [false, false, false, false],
            [false, false, false, false],
        ];
        for (severity, row) in SEVERITIES.into_iter().zip(matrix) {
            for (autonomy, expected) in LEVELS.into_iter().zip(row) {
                assert_eq!(blocks(severity, autonomy), expected, "{severity:?} {autonomy:?}");
            }
        }
        for autonomy in LEVELS {
            assert_eq!(route(&[], autonomy), Verdict::Pass);
        }
    }

    proptest! {
        /// More findings, graver ones or less autonomy never let work pass that was blocked.
        #[test]
        fn routing_is_monotone(
            severities in prop::collection::vec(0usize..5, 0..25), more in 0usize..5, level in 0usize..4, graver in 0usize..25,
        ) {
            let findings = |list: &[usize]| -> Vec<Finding> {
                list.iter().map(|at| Finding::new(SEVERITIES[*at], "x")).collect()
            };
            let blocked = |list: &[usize], level: usize| route(&findings(list), LEVELS[level]) == Verdict::Fail;
            let before = blocked(&severities, level);
            let mut longer = severities.clone();
            longer.push(more);
            prop_assert!(!before || blocked(&longer, level));
            if let Some(at) = severities.get(graver) {
                let mut list = severities.clone();
                list[graver] = at.saturating_sub(1);
                prop_assert!(!before || blocked(&list, level));
            }
            prop_assert!(!before || blocked(&severities, level.saturating_sub(1)));
            // One that blocks by itself blocks in any company.
            let alone = severities.iter().any(|at| blocks(SEVERITIES[*at], LEVELS[level]));
            prop_assert_eq!(before, alone);
        }

        #[test]
        fn no_reply_makes_the_readers_panic(text in ".{0,200}") {
            let _ = (read_opinion(&text), read_findings(&text));
        }
    }

    fn finding(severity: &str, evidence: &str) -> serde_json::Value {
        json!({"severity": severity, "surface": "security", "description": "sql in the title", "evidence": evidence,
               "suggestedFix": "bind it"})
    }

    #[test]
    fn a_grave_finding_needs_evidence_and_a_report_ends() {
        let report = |findings: &[serde_json::Value]| json!({"findings": findings}).to_string();
        for severity in ["critical", "high"] {
            read_findings(&report(&[finding(severity, "")])).unwrap_err();
            read_findings(&report(&[finding("low", ""), finding(severity, " ")])).unwrap_err();
            read_findings(&report(&[finding(severity, "line 3")])).unwrap();
        }
        for severity in ["medium", "low", "info"] {
            read_findings(&report(&[finding(severity, "")])).unwrap();
        }
        let many = |count: usize| report(&vec![finding("low", ""); count]);
        assert_eq!(read_findings(&many(25)).unwrap().len(), 25);
        assert!(read_findings(&many(26)).unwrap_err().contains("26 findings"));
        assert_eq!(read_findings(&report(&[])).unwrap(), []);
        let read = read_findings(&report(&[finding("medium", "line 3")])).unwrap();
        assert_eq!(read[0].description, "security: sql in the title");
        assert_eq!(read[0].suggested_fix.as_deref(), Some("bind it"));
    }

    #[test]
    fn no_text_of_a_finding_goes_on_and_on() {
        let long = |length: usize| {
            let finding = json!({"severity": "low", "description": "é".repeat(length), "evidence": "é".repeat(length),
                                 "suggestedFix": "é".repeat(length)});
            let found = read_findings(&json!({"findings": [finding]}).to_string())
                .unwrap()
                .remove(0);
            let texts = [Some(found.description), found.evidence, found.suggested_fix];
            texts.map(|text| text.unwrap().chars().count())
        };
        assert_eq!(long(LONGEST_TEXT), [LONGEST_TEXT; 3]);
        assert_eq!(long(LONGEST_TEXT + 1), [LONGEST_TEXT; 3]);
    }

    #[test]
    fn what_is_no_report_says_nothing() {
        for text in [
            "",
            "no findings",
            "[]",
            "{}",
            r#"{"findings": [{"severity": "grave", "description": "x"}]}"#,
            r#"{"findings": [{"severity": "low", "description": " "}]}"#,
            r#"{"findings": [{"severity": "low", "description": "x", "surface": "style"}]}"#,
            r#"{"findings": [], "verdict": "pass"}"#,
            r#"{"findings": []} {"findings": []}"#,
        ] {
            read_findings(text).unwrap_err();
        }
    }

    #[test]
    fn a_stage_says_pass_fail_or_refer_and_why() {
        let read = |text: &str| read_opinion(text);
        assert_eq!(
            read(r#"{"verdict": "pass"}"#).unwrap().verdict,
            DeclaredVerdict::Pass
        );
        let failed = read(
            r#"{"verdict": "fail", "reason": " no licence ", "findings": [{"severity": "low", "description": "x"}]}"#,
        );
        let failed = failed.unwrap();
        assert_eq!(
            (failed.verdict, &*failed.reason, failed.findings.len()),
            (DeclaredVerdict::Fail, "no licence", 1)
        );
        read(r#"{"verdict": "refer", "reason": "unsure"}"#).unwrap();
        for text in [
            "pass",
            "",
            r#"{"verdict": "maybe"}"#,
            r#"{"verdict": "fail"}"#,
            r#"{"verdict": "refer", "reason": " "}"#,
            r#"{"verdict": "pass", "score": 5}"#,
            r#"{"verdict": "pass", "verdict": "fail", "reason": "x"}"#,
            r#"{"verdict": "pass"} {"verdict": "fail", "reason": "x"}"#,
            r#"["pass"]"#,
        ] {
            read(text).unwrap_err();
        }
        let many = |count: usize| {
            json!({"verdict": "pass", "findings": vec![finding("low", ""); count]}).to_string()
        };
        assert_eq!(read(&many(25)).unwrap().findings.len(), 25);
        assert!(read(&many(26)).unwrap_err().contains("26 findings"));
    }
}
