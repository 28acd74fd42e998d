//! What reviewers are shown of a task's work: its output, its files and its checks, as they are on record.

use crate::domain::{TaskId, Timestamp, TurnId};
use crate::engine::TaskState;
use crate::judging::parser::Quoted;
use crate::mission::{Origin, Plan};
use crate::review::evidence::{self, Preview};
use crate::review::fence::Excerpt;
use crate::review::prompt::{Artifact, CheckReport, MAX_FILES, MAX_OUTPUT, MAX_PREVIEW, Work};
use crate::store::RunFolder;

use super::calls::panel_of;
use super::spool::read_output;
use super::world::workspace;

/// How much of a file is looked through for verdicts that are not the reviewer's, in bytes.
const LARGEST_QUOTED: u64 = 1024 * 1024;

/// The material of one review.
pub(super) struct Material {
    output: Excerpt,
    artifacts: Vec<Artifact>,
    checks: Vec<CheckReport>,
    /// What the work says that is no word of a reviewer's.
    pub said: Quoted,
}

impl Material {
    /// Reads the work's output and files. Blocks.
    ///
    /// # Errors
    /// When the output is not what was recorded: work whose evidence is lost is not judged by the rest of it.
    pub(super) fn gather(
        folder: &RunFolder,
        plan: &Plan,
        task: TaskId,
        task_state: &TaskState,
    ) -> Result<Self, String> {
        let turn = TurnId {
            task,
            attempt: task_state.attempt,
            turn: task_state.turn,
        };
        let output = read_output(folder, turn, &task_state.output, 4 * MAX_OUTPUT)
            .map_err(|error| format!("the work's output is lost: {error}"))?;
        let workspace = workspace(plan, task);
        let judging = task_state.judging.as_deref();
        let files = judging.map_or(&[][..], |judging| &judging.files);
        // Whoever looks at pictures is shown pictures; as text they say nothing.
        let is_picture = |path: &str| plan.task(task).scrutiny.screenshots().any(|shot| shot == path);
        let mut artifacts: Vec<Artifact> = files
            .iter()
            .filter(|file| !is_picture(&file.path))
            .take(MAX_FILES)
            .map(|file| Artifact {
                path: file.path.clone(),
                size: file.size,
                preview: evidence::preview(&workspace, file, LARGEST_QUOTED),
            })
            .collect();
        let results = judging
            .into_iter()
            .flat_map(|judging| judging.checks.iter().flatten());
        let checks: Vec<CheckReport> = (1..)
            .zip(results)
            .map(|(n, result)| CheckReport {
                name: format!("check {n}"),
                passed: result.passed,
                output: result.message.clone(),
            })
            .collect();
        let mut said = Quoted::default();
        said.add(&output.head);
        said.add(&output.tail);
        checks.iter().for_each(|check| said.add(&check.output));
        for artifact in &mut artifacts {
            if let Preview::Text(text) = &mut artifact.preview {
                said.add(text);
                // The prompt shows less, and what it does not need must not be held.
                let most = (0..=4 * MAX_PREVIEW).rfind(|at| text.is_char_boundary(*at));
                text.truncate(most.unwrap_or_default());
            }
        }
        Ok(Self {
            output,
            artifacts,
            checks,
            said,
        })
    }

    /// The work as a prompt shows it.
    pub(super) fn work<'a>(&'a self, plan: &'a Plan, task: TaskId, task_state: &'a TaskState) -> Work<'a> {
        let task_plan = plan.task(task);
        let panel = panel_of(plan, task);
        let verify = panel.map_or(plan.rules.verify_prior_feedback, |panel| {
            panel.verify_prior_feedback
        });
        let prior = task_state.feedback.last().filter(|_| verify);
        Work {
            title: &task_plan.title,
            description: task_plan.description.as_deref(),
            handed_down: task_plan
                .provenance
                .as_deref()
                .is_some_and(|provenance| provenance.origin == Origin::Delegated),
            criteria: panel.and_then(|panel| panel.criteria.as_deref()),
            output: &self.output,
            artifacts: &self.artifacts,
            checks: &self.checks,
            prior_feedback: prior.map_or(&[][..], |feedback| &feedback.findings),
            now: Timestamp::now(),
        }
    }
}
