//! What a reviewer is asked that scores work: on a panel by its dimensions, else in one number.

use serde_json::json;

use crate::domain::SeatPlace;
use crate::executor::error::WorkError;
use crate::mission::Panel;
use crate::review::judgement::Judgement;
use crate::review::prompt::{self, JudgePrompt};
use crate::runtime::review_context::Material;

use super::Call;

impl Call {
    pub(super) fn panel(&self) -> Option<&Panel> {
        self.plan.task(self.id.task).panel()
    }

    /// What a reviewer is asked, and the record of that. Reads the work's output and files. Blocks.
    ///
    /// # Errors
    /// When the output is not what was recorded: work whose evidence is lost is not judged by the rest of it.
    pub(super) fn scoring(&self) -> Result<(JudgePrompt, Judgement), WorkError> {
        let (plan, task) = (&self.plan, self.id.task);
        let own = [(task, self.task.clone())];
        let material = Material::gather((&self.folder, &self.secrets), plan, task, &self.task, &own)?;
        let work = material.work(plan, task);
        let asked = match self.panel() {
            Some(panel) => prompt::panel(&work, &panel.dimensions, self.strict.as_deref()),
            None => prompt::evaluation(&work, self.strict.as_deref()),
        };
        let prior = work.prior.points.len();
        let judgement = material.judgement(&asked.joined(), prior);
        Ok((asked, judgement))
    }

    /// The same for a command judge that would rather not read prose.
    pub(super) fn scoring_json(&self, place: SeatPlace, asked: &str) -> Vec<u8> {
        let task = self.plan.task(self.id.task);
        let dimensions = self.panel().into_iter().flat_map(|panel| &panel.dimensions);
        let dimensions: Vec<_> = dimensions
            .map(|dimension| {
                json!({
                    "name": dimension.name,
                    "weight": dimension.weight.to_string(),
                    "description": dimension.description,
                })
            })
            .collect();
        let request = json!({
            "schema": "quorum.review-request/v1",
            "task": task.title,
            "description": task.description,
            "attempt": place.attempt,
            "round": place.round,
            "seat": place.seat,
            "try": self.id.attempt_try,
            "strict": self.strict,
            "dimensions": dimensions,
            "acceptance": task.acceptance,
            "prompt": asked,
        });
        request.to_string().into_bytes()
    }
}
