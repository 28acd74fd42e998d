//! Where nothing can be confined.

use std::process::ExitStatus;

use rustix::process::Pid;

use super::starter::Starter;
use crate::mount_plan::MountPlan;
use crate::protocol::Tier;
use crate::start::{NotStarted, Start};

/// How the program of a confined child ended.
pub struct ExitReport;

impl ExitReport {
    pub fn status(self) -> Option<ExitStatus> {
        None
    }
}

/// A starter of children.
pub struct Launcher(Starter);

impl Launcher {
    pub fn new() -> Self {
        Self(Starter::new())
    }

    /// Nothing can be confined here.
    pub fn try_confinement(&mut self) -> Tier {
        Tier::None("confinement is built for Linux only".to_owned())
    }

    /// Starts a child, as it is.
    ///
    /// # Errors
    /// See [`NotStarted`]; then there is no process.
    pub fn start(
        &mut self,
        start: &Start<'_>,
        _: Option<&MountPlan>,
    ) -> Result<(Pid, Option<ExitReport>), NotStarted> {
        let started = self.0.start(start).map(|pid| (pid, None));
        started.map_err(NotStarted::Program)
    }
}
