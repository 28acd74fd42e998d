//! Fits as they are stored beside a mission: `.quorum/calibration.json`.

use serde::{Deserialize, Serialize};

use super::fit::{Figures, Fit, LabelledWork, Unfit};
use crate::domain::{Digest, Points};
use crate::mission::model::Consensus;

/// The version of the form.
const VERSION: u32 = 1;

/// All fits of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredFits {
    version: u32,
    pub fits: Vec<StoredFit>,
}

/// The fit of judges' scores to labels: of these judges, as they were asked, for these dimensions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredFit {
    /// The rows that it comes from.
    pub source: String,
    pub seats: Vec<StoredSeat>,
    /// How the scores of the judges become one; `None` for a judge alone.
    pub consensus: Option<Consensus>,
    /// The digest of what they score.
    pub dimensions: Digest,
    /// The score from which people call work good.
    pub good_from: Points,
    pub fit: Fit,
    pub figures: Figures,
    pub cases: Vec<LabelledWork>,
}

/// A judge as it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StoredSeat {
    pub agent: String,
    /// The digest of what it is asked as: its definition, its model among it, and the form of the request.
    pub asked_as: Digest,
}

/// Why a file of fits cannot be used: with the line, where one is to blame.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    #[error("{line}: {0}", line = .0.line())]
    Json(#[from] serde_json::Error),
    #[error("1: it has the form {0}, and this quorum reads {VERSION}")]
    Version(u64),
    #[error("it holds no fit")]
    Empty,
    #[error("the fit of {0}: {1}")]
    Unfit(String, Unfit),
    #[error("the fit of {0} is not the one of its cases")]
    Damaged(String),
}

impl StoredFits {
    pub fn new(fits: Vec<StoredFit>) -> Self {
        Self { version: VERSION, fits }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Where it is damaged, or of another version.
    pub fn read(text: &str) -> Result<Self, StoredError> {
        let any: serde_json::Value = serde_json::from_str(text)?;
        match any["version"].as_u64() {
            Some(version) if version != u64::from(VERSION) => return Err(StoredError::Version(version)),
            _ => {}
        }
        let read: Self = serde_json::from_str(text)?;
        if read.fits.is_empty() {
            return Err(StoredError::Empty);
        }
        for stored in &read.fits {
            stored.check()?;
        }
        Ok(read)
    }
}

impl StoredFit {
    /// The names of the judges, with commas.
    pub fn names(&self) -> String {
        let names: Vec<&str> = self.seats.iter().map(|seat| seat.agent.as_str()).collect();
        names.join(" + ")
    }

    /// Checks that the numbers of the fit are those of its cases.
    fn check(&self) -> Result<(), StoredError> {
        let mut cases = self.cases.clone();
        let again = Fit::of(&mut cases).map_err(|why| StoredError::Unfit(self.names(), why))?;
        let is_near = |a: f64, b: f64| (a - b).abs() < 1e-3;
        let mut ends = [Points::ZERO, Points::FULL].into_iter();
        let is_same = ends.all(|points| is_near(self.fit.good(points), again.good(points)))
            && cases.iter().zip(&self.cases).all(|(again, case)| {
                is_near(again.held_out, case.held_out) && Points::new(case.points.value()).is_some()
            });
        if is_same { Ok(()) } else { Err(StoredError::Damaged(self.names())) }
    }
}
