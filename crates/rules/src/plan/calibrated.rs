//! Bars that labelled work gives to panels, and what they hold for (semantics, section 2): these judges, as they are
//! asked, for these dimensions. The bars are decided when the run begins, and frozen.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    domain::{Bar, Digest, Dimension, Points},
    mission::model::{Agent, Consensus},
};

/// The bars that a run took from a file of fits when it began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Calibration {
    /// The file, as the mission names it.
    pub file: String,
    /// The share of bad work that may pass, of 100.
    pub max_false_pass: Points,
    /// The share of work that a person decides, of 100.
    pub refer_share: Points,
    /// The form of a request, as its digest.
    pub request: Digest,
    pub bars: Vec<CalibratedBar>,
}

/// The bar of one fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibratedBar {
    /// The digests of how the judges are asked, sorted.
    pub seats: Vec<Digest>,
    /// How the scores of the judges become one; `None` for a judge alone.
    pub consensus: Option<Consensus>,
    pub dimensions: Digest,
    /// `None` where no score keeps bad work out.
    pub bar: Option<Points>,
    /// The scores that a person decides, the lowest and the highest.
    pub refer: Option<[Points; 2]>,
}

/// The values of a fit that a panel uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Calibrated {
    /// The bar that holds where others judge than those who were measured.
    pub instead: Bar,
    /// The scores that a person decides.
    pub refer: Option<[Points; 2]>,
}

impl Agent {
    /// The values of an agent that can change its reply to the same request.
    pub fn asked_as(&self) -> Value {
        json!({
            "adapter": self.adapter,
            "model": self.model,
            "baseUrl": self.base_url,
            "run": self.run,
            "temperature": self.temperature,
            "maxTokens": self.max_tokens,
        })
    }

    /// The digest of the agent as a judge: how it is asked, and the form of the request.
    pub fn seat_digest(&self, request: Digest) -> Digest {
        Digest::of(format!("{request} {}", self.asked_as()).as_bytes())
    }
}

/// The digest of the dimensions that are scored.
pub fn dimensions_digest(dimensions: &[Dimension]) -> Digest {
    let all = dimensions.iter().map(|dimension| {
        let weight = dimension.weight.normalize().to_string();
        json!([dimension.name, weight, dimension.description, dimension.rubric])
    });
    Digest::of(Value::from_iter(all).to_string().as_bytes())
}
