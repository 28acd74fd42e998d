//! What a reviewer is asked that scores work: on a panel by its dimensions, else in one number.

use serde_json::json;

use crate::executor::error::WorkError;
use crate::review::prompt;
use crate::runtime::work::context::AskOrder;
use rules::domain::SeatPlace;

use super::AskInput;

impl AskOrder {
    /// The prompt for a reviewer, and its record. Reads the work's output and files. Blocks.
    pub(super) fn scoring(&self, place: SeatPlace) -> Result<AskInput, WorkError> {
        let (panel, strict) = (self.panel(), self.strict.as_deref());
        let (asked, judgement) = self.case().ask(|work| {
            Ok(match panel {
                Some(panel) => prompt::panel(work, &panel.dimensions, strict),
                None => prompt::evaluation(work, strict),
            })
        })?;
        let dimensions: Vec<_> = panel
            .into_iter()
            .flat_map(|panel| &panel.dimensions)
            .map(|dimension| {
                json!({
                    "name": dimension.name,
                    "weight": dimension.weight.to_string(),
                    "description": dimension.description,
                })
            })
            .collect();
        let more = json!({
            "seat": place.seat,
            "try": self.id.attempt_try,
            "strict": self.strict,
            "dimensions": dimensions,
        });
        let review = self.case().as_json(place.round, &asked, more);
        Ok(AskInput { prompt: asked, judgement, review: Some(review), pictures: Vec::new() })
    }
}
