//! Where nothing can be confined.

use std::io;
use std::process::ExitStatus;

use rustix::process::Pid;

use super::child::Start;
use super::mount_plan::MountPlan;
use super::starter::Starter;

/// How the program of a confined child ended.
pub(super) struct Report;

impl Report {
    pub(super) fn status(self) -> Option<ExitStatus> {
        None
    }
}

/// Why a confined child was not started.
pub(super) enum NotStarted {
    /// The program could not be begun.
    #[expect(dead_code, reason = "Linux only")]
    Program(io::Error),
    /// Nothing can be confined here.
    Confinement(String),
}

pub(super) fn start(_: &mut Starter, _: &Start<'_>, _: &MountPlan) -> Result<(Pid, Report), NotStarted> {
    Err(NotStarted::Confinement(NOT_BUILT.to_owned()))
}

/// Why nothing can be confined here.
pub(super) fn probe() -> Option<String> {
    Some(NOT_BUILT.to_owned())
}

const NOT_BUILT: &str = "confinement is built for Linux only";
