//! How a child is started on Linux: as it is, or confined by the first way that works here.

use std::io;
use std::path::PathBuf;

use rustix::process::Pid;

use super::child::Start;
use super::mount_plan::MountPlan;
use super::protocol::Tier;
use super::starter::Starter;
use super::{bubblewrap, namespaces};

pub(super) use super::namespaces::Report;

/// Why a confined child was not started.
pub(super) enum NotStarted {
    /// The program could not be begun, as it could not be without confinement.
    Program(io::Error),
    /// The system does not let the plan be carried out: no fault of the program.
    Confinement(String),
}

/// Starts children.
pub(super) struct Launcher {
    starter: Starter,
    /// Where bubblewrap is, if that confines them.
    bubblewrap: Option<PathBuf>,
}

impl Launcher {
    pub(super) fn new() -> Self {
        Self {
            starter: Starter::new(),
            bubblewrap: None,
        }
    }

    /// Tries for nothing whether and how children can be confined; what works is what confines them from then on.
    pub(super) fn try_confinement(&mut self) -> Tier {
        self.bubblewrap = None;
        let Some(refused) = namespaces::probe() else {
            return Tier::Native;
        };
        let Some(place) = bubblewrap::installed() else {
            return Tier::None(refused);
        };
        match bubblewrap::probe(&place, &mut self.starter) {
            None => {
                self.bubblewrap = Some(place);
                Tier::Bubblewrap
            }
            Some(also) => Tier::None(format!("{refused}; nor by bubblewrap: {also}")),
        }
    }

    /// Starts a child, confined where there is a plan.
    ///
    /// # Errors
    /// See [`NotStarted`]; then there is no process.
    pub(super) fn start(
        &mut self,
        start: &Start<'_>,
        plan: Option<&MountPlan>,
    ) -> Result<(Pid, Option<Report>), NotStarted> {
        let started = match (plan, &self.bubblewrap) {
            (None, _) => {
                let started = self.starter.start(start);
                return started.map(|pid| (pid, None)).map_err(NotStarted::Program);
            }
            (Some(plan), None) => namespaces::start(&mut self.starter, start, plan),
            (Some(plan), Some(place)) => bubblewrap::start(place, &mut self.starter, start, plan),
        };
        started.map(|(pid, report)| (pid, Some(report)))
    }
}
