//! What stands for work of which every check passes: checks that failed before it began, somebody's judgement, or neither
//! (semantics, section 24). Not a stage: it is weighed where the work is accepted.

use crate::domain::{BeforeWork, Cause, Finding, Severity, Stage, StageKey, Verdict};
use crate::engine::event_payload::StageReport;
use crate::engine::quality_flag::Mark;
use crate::judging::baseline_checks::{BaselineCheck, ProofOf, Weighed, named, proof_of};
use crate::mission::model::{BeforeRule, ProofRule, TaskType};
use crate::plan::ListOf;

use super::preflight::{nothing_to_do, undone};
use super::view::View;

pub const KEY: StageKey = StageKey::Of(Stage::Proof);

/// The report on accepted work by the results of its checks before it; `None` where there is nothing to say.
pub fn weigh(view: View<'_>) -> Option<Box<StageReport>> {
    let (state, work) = (view.state, view.work());
    let items = state.weighed_items(view.id);
    let weighed: Vec<Weighed> = items.iter().map(|item| state.weighed(view.id, view.task, item)).collect();
    let is_refactoring = work.kind == TaskType::Refactor && work.is_of_mission();
    let claims = nothing_to_do(view.task).is_some();
    // What it says of that adds nothing to checks, and is no work where there are none.
    let is_undone = undone(view.plan(), view.id, view.task).is_some();
    let stands_for_it = |is_judged| match proof_of(&weighed, is_judged, is_refactoring) {
        ProofOf::Unchecked | ProofOf::Unknown if is_undone && !is_judged => ProofOf::Vacuous,
        ProofOf::Guards if is_undone && !claims => ProofOf::Vacuous,
        proof => proof,
    };
    let without_judges = stands_for_it(false);
    let proof = stands_for_it(view.is_judged());
    let mut report = view.report(KEY, Verdict::Pass, None);
    report.findings = surprises(view, &items);
    match proof {
        ProofOf::Unchecked | ProofOf::Proven => {}
        ProofOf::Judged if without_judges == ProofOf::Vacuous => report.add(
            Severity::Info,
            format!("vacuous: no check shows that the work was done, only its judges: {}", named(&items)),
        ),
        ProofOf::Judged => {}
        ProofOf::Guards => {
            report.mark = Some(Mark::OnlyGuards);
            report.add(Severity::Info, "only guards: nothing shows that the work was done");
        }
        ProofOf::Unknown => {
            report.mark = Some(Mark::BaselineUnknown);
            report
                .add(Severity::Info, "baseline unknown: what the checks said before the work cannot be told");
        }
        ProofOf::Vacuous => {
            let is_required = work.proof.unwrap_or(view.plan().rules.settings.proof) == ProofRule::Required;
            report.mark = Some(if is_required { Mark::Unproven } else { Mark::Vacuous });
            report.cause = Some(Cause::Vacuous);
            let why = if is_undone {
                "no file is another one than before the work".to_owned()
            } else {
                format!("green before the work began, and green now: {}", named(&items))
            };
            report.add(
                Severity::Medium,
                format!(
                    "proved by nothing: {why}; add a check that fails before the work, write `before: green` where it only \
                     guards, or let somebody judge"
                ),
            );
        }
    }
    let is_silent = report.findings.is_empty() && report.mark.is_none();
    (!is_silent).then_some(report)
}

/// The findings about checks that were not what the mission expects of them.
fn surprises(view: View<'_>, items: &[BaselineCheck]) -> Vec<Finding> {
    let before = |item: &BaselineCheck| view.state.before(view.id, item).result;
    let of_list = |item: &&BaselineCheck| item.list == Some(ListOf::FailToPass);
    let mut of_lists = items.iter().filter(of_list);
    let some_failed = of_lists.any(|item| before(item) == BeforeWork::Red);
    let told = items.iter().filter_map(|item| {
        let (severity, text) = match (item.declared, before(item)) {
            _ if view.state.is_left_out(view.id, item) => {
                (Severity::Info, "of `passToPass` was red before the work, and is left out")
            }
            (Some(BeforeRule::Green), BeforeWork::Red) => {
                (Severity::Medium, "was red already, and the mission wants it green before the work")
            }
            (None, BeforeWork::Green) if some_failed && of_list(&item) => {
                (Severity::Medium, "of `failToPass` was green before the work: it only guards")
            }
            _ => return None,
        };
        Some(Finding::new(severity, format!("`{}` {text}", item.label)))
    });
    told.chain(items.iter().filter_map(|item| made(view, item))).collect()
}

/// A check that failed before the work and goes by files that the work made, which nobody asked for.
fn made(view: View<'_>, item: &BaselineCheck) -> Option<Finding> {
    let (work, mut all) = (view.work(), view.state.baseline_results(view.id).iter());
    let seen = all.find(|seen| seen.key == item.key && seen.before == BeforeWork::Red)?;
    let files = seen.lacks.iter();
    let files: Vec<&str> =
        files.map(AsRef::as_ref).filter(|path| !(work.is_of_mission() && work.names(path))).collect();
    let text = format!(
        "`{}` goes by {}, which the work made, and which neither `targetFiles` nor `file_exists` names",
        item.label,
        files.join(", ")
    );
    (!files.is_empty()).then(|| Finding::new(Severity::Medium, text))
}
