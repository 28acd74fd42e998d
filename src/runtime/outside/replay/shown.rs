//! What a judge was shown: by its judgement, and by what is on record as seen before it was asked.

use crate::executor::error::WorkError;
use crate::review::judgement::{Content, Judgement};
use rules::domain::AskId;
use rules::engine::{CheckResult, FileFact, State, WorkId};

/// The files and checks that could be shown to an agent that was asked about a task.
pub struct AskEvidence {
    files: Vec<FileFact>,
    checks: Vec<CheckResult>,
}

impl AskEvidence {
    /// The material of a call that has just been made; `None` where it is not about the work of one task.
    pub fn of(state: &State, id: AskId) -> Option<Self> {
        let task = state.task(id.task);
        let open = task.open_ask(WorkId::ask(id));
        let judging = task.judging()?;
        let is_about_it =
            open.is_some_and(|open| open.purpose.is_judging()) && state.plan.route(id.task).is_none();
        is_about_it.then(|| Self {
            files: judging.files.clone(),
            checks: judging.checks.iter().flatten().cloned().collect(),
        })
    }

    /// Whether a judge was shown this.
    ///
    /// # Errors
    /// What it was shown that is not on record.
    pub fn is_in(&self, judgement: &Judgement) -> Result<(), WorkError> {
        let inputs = &judgement.inputs;
        let is_seen = |shown: &&crate::review::judgement::InputFile| {
            let mut seen = self.files.iter().filter(|seen| seen.path == shown.path);
            seen.any(|seen| (seen.size, seen.digest) == (shown.bytes, shown.digest))
        };
        if let Some(other) = inputs.files.iter().find(|shown| !is_seen(shown)) {
            return Err(
                format!("the judge was shown another {} than is on record as seen", other.path).into()
            );
        }
        let shown = inputs.checks.iter().map(|check| (check.passed, check.output.clone()));
        let seen = self.checks.iter().map(|check| (check.passed, Content::of(&check.message)));
        if shown.eq(seen) {
            Ok(())
        } else {
            Err("the judge was shown other results of checks than are on record".into())
        }
    }
}
