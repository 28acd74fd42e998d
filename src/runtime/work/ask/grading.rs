//! What a judge is given that grades work by a rubric, and the record of handing it over (semantics, section 10).

use serde_json::json;

use crate::executor::error::WorkError;
use crate::executor::spool::{sealed, write};
use crate::review::handoff::{Author, Handoff, HandoffContent};
use crate::review::rubric::{self, AcceptanceCriteria};
use crate::runtime::work::{
    context::{AskOrder, WorkContext},
    review_context::{Judged, Material},
};
use crate::store::AskFile;
use rules::domain::{Purpose, Timestamp};
use rules::engine::Fact;
use rules::mission::model::Rubric;

use super::AskInput;

impl AskOrder {
    /// The prompt for a judge that grades the work by a rubric, and its record. Blocks.
    pub(super) fn grading(&self, round: u32) -> Result<AskInput, WorkError> {
        let (plan, id) = (&self.commands.plan, self.id.task);
        let rubric = self.rubric().ok_or("the task has no rubric any more")?;
        let material = Material::gather(self.case(), &self.judged)?;
        let acceptance =
            AcceptanceCriteria { criteria: &plan.task(id).acceptance, cut: &self.task.course.probes };
        self.hand_over(round, rubric, acceptance, &material)?;
        let work = material.work(plan, id);
        let asked = rubric::grades(&work, rubric, acceptance, self.strict.as_deref());
        let prior = work.prior.points.len();
        let mut judgement = material.judgement(&asked.joined(), prior);
        // What whoever cut the criteria says is no word of the judge's.
        let cut = self.task.course.probes.iter();
        cut.for_each(|probe| judgement.work.add(&probe.probe));
        let criteria: Vec<_> = rubric
            .criteria
            .iter()
            .map(|criterion| {
                json!({
                    "name": criterion.name,
                    "weight": criterion.weight.get().to_string(),
                    "grade": criterion.grade.as_str(),
                    "required": criterion.required,
                    "description": criterion.description,
                })
            })
            .collect();
        let review = self.case().as_json(round, &asked, json!({"criteria": criteria}));
        Ok(AskInput { review: Some(review), ..AskInput::of(asked.joined(), judgement) })
    }

    pub fn rubric(&self) -> Option<&Rubric> {
        let verification = self.commands.plan.task(self.id.task).verification()?;
        verification.rubric.as_deref()
    }

    /// Writes down what is handed over to whoever grades. Blocks.
    fn hand_over(
        &self,
        round: u32,
        rubric: &Rubric,
        acceptance: AcceptanceCriteria<'_>,
        material: &Material,
    ) -> Result<(), WorkError> {
        let author = |(id, state): &Judged| Author {
            task: self.commands.plan.title(*id).to_owned(),
            agent: self.commands.plan.agent(self.commands.plan.task(*id).agent).name.to_string(),
            attempt: state.attempt.number,
            model: state.output.model.as_deref().map(str::to_owned),
        };
        let handoff = Handoff::new(HandoffContent {
            task: self.commands.plan.title(self.id.task),
            round,
            from: self.judged.iter().map(author).collect(),
            to: self.commands.plan.agent_name(self.agent),
            output: &material.output,
            artifacts: &material.facts,
            acceptance,
            rubric,
            at: Timestamp::now(),
        })?;
        write(&self.path(AskFile::Handoff), &handoff.to_bytes())
    }

    /// Makes the record of what is handed over to whoever grades durable, and tells of it. Blocks.
    ///
    /// # Errors
    /// When there is no such record on the disk: then nobody may be asked.
    pub fn handed_over(&self, context: &WorkContext) -> Result<(), WorkError> {
        if matches!(self.purpose, Purpose::Grade { .. }) {
            let file = sealed(&self.path(AskFile::Handoff))?;
            context.post(Fact::HandedOver { id: self.id, file });
        }
        Ok(())
    }
}
