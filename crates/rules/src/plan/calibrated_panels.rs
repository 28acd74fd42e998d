//! The panels of a plan that labelled work gives a bar to, and why others have none (semantics, section 2).

use super::calibrated::{Calibrated, CalibratedBar, Calibration, dimensions_digest};
use super::model::Plan;
use super::pipeline::{Judge, Panel};
use crate::domain::{AgentId, Bar, BarOrigin, Digest, TaskId};

impl Panel {
    /// The least bar that a pass can have without a relief: the panel's own, or the lower one that holds where
    /// others judge.
    pub fn least_bar(&self) -> Bar {
        let instead = self.calibrated.as_ref().map(|calibrated| calibrated.instead);
        let lower = instead.filter(|instead| instead.points < self.bar.points);
        lower.unwrap_or(self.bar)
    }
}

impl Plan {
    /// A panel with these seats, under the bar of the fit that holds for it.
    pub fn calibrated(&self, panel: &Panel, seats: &[AgentId]) -> (Bar, Option<Calibrated>) {
        let usual = panel.calibrated.as_ref().map_or(panel.bar, |was| was.instead);
        let fit = self.fit_of(panel, seats);
        let Some((points, refer)) = fit.and_then(|fit| Some((fit.bar?, fit.refer))) else {
            return (usual, None);
        };
        let bar = Bar { points, origin: BarOrigin::Calibration };
        let instead = usual;
        (bar, Some(Calibrated { instead, refer }))
    }

    fn fit_of(&self, panel: &Panel, seats: &[AgentId]) -> Option<&CalibratedBar> {
        let calibration = self.rules.calibration.as_deref().filter(|_| !panel.names_bar)?;
        let dimensions = dimensions_digest(&panel.dimensions);
        let seats = self.seat_digests(seats, calibration);
        calibration.bars.iter().find(|fit| {
            let merges_alike = fit.consensus.is_none_or(|consensus| consensus == panel.consensus);
            fit.seats == seats && fit.dimensions == dimensions && merges_alike
        })
    }

    fn seat_digests(&self, seats: &[AgentId], calibration: &Calibration) -> Vec<Digest> {
        let digest = |id: &AgentId| self.agent(*id).spec.seat_digest(calibration.request);
        let mut seats: Vec<Digest> = seats.iter().map(digest).collect();
        seats.sort_unstable();
        seats
    }

    /// Why the review of a task keeps its own bar though the run has others from labelled work; `None` where it does not, or
    /// where somebody named its bar.
    pub fn not_calibrated(&self, id: TaskId) -> Option<String> {
        let calibration = self.rules.calibration.as_deref()?;
        let panel = match self.judge(id)? {
            Judge::Panel(panel) if !panel.names_bar => panel,
            Judge::Evaluation(_) => return Some("it is an evaluation, and fits are of panels".to_owned()),
            Judge::Panel(_) | Judge::Nobody => return None,
        };
        if panel.calibrated.is_some() {
            return None;
        }
        let seats = self.seat_digests(&panel.seats, calibration);
        let of_judges = || calibration.bars.iter().filter(|fit| fit.seats == seats);
        Some(if self.fit_of(panel, &panel.seats).is_some() {
            format!("no score of its judges keeps false passes below {} %", calibration.max_false_pass)
        } else if of_judges().next().is_none() {
            let names = self.agent_names(&panel.seats).join(", ");
            format!("nothing is stored of these judges, their models or what they are asked ({names})")
        } else {
            "its judges scored other dimensions, or were merged by another `consensus`".to_owned()
        })
    }
}
