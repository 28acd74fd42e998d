//! What findings lead to, by their severity and the autonomy of the task (semantics, section 15).

use crate::domain::{Finding, Severity, Verdict};
use crate::mission::model::Autonomy;

/// Whether a finding keeps work from being accepted.
pub fn blocks(severity: Severity, autonomy: Autonomy) -> bool {
    match severity {
        Severity::Critical | Severity::High => true,
        Severity::Medium => autonomy <= Autonomy::Supervised,
        Severity::Low | Severity::Info => false,
    }
}

/// The verdict that findings lead to: `fail` if any of them blocks. A pass may carry the others.
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

    const SEVERITIES: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];
    const LEVELS: [Autonomy; 4] = [Autonomy::Locked, Autonomy::Supervised, Autonomy::Semi, Autonomy::Full];

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
    }
}
