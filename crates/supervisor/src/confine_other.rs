//! Where nothing can be confined.

use std::io;
use std::process::ExitStatus;

use rustix::process::Pid;

use super::child::Start;
use super::mount_plan::MountPlan;
use super::protocol::Tier;
use super::starter::Starter;

/// How the program of a confined child ended.
pub struct ExitReport;

impl ExitReport {
    pub fn status(self) -> Option<ExitStatus> {
        None
    }
}

/// Why a confined child was not started.
pub enum NotStarted {
    /// The program could not be begun.
    Program(io::Error),
    /// Nothing can be confined here.
    #[expect(dead_code, reason = "Linux only")]
    Confinement(String),
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
