//! `quorum doctor`: whether this machine can run the mission, before anything is spent.
//!
//! Nothing is started, nothing is written and no endpoint is contacted; what could only be found out that way is
//! reported as skipped, never as fine.

mod agents;
mod machine;

use std::path::PathBuf;

use clap::Args;

use crate::domain::OutcomeClass;
use crate::report::doctor::{Verdict, document, human};

use super::config::mission_file;
use super::failure::Failure;
use super::project::unchecked_state_folder;
use super::screen::Screen;

/// Check the state folder, the lock, this machine and the agents of a mission: exit 0 or 9
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum doctor --mission mission.yaml")]
pub struct Doctor {
    /// The mission whose agents are looked for [default: mission.yaml, if it is there]
    #[arg(long, value_name = "FILE", env = "QUORUM_MISSION")]
    pub mission: Option<PathBuf>,
}

/// Looks at everything and says what it found.
pub fn doctor(arguments: &Doctor, screen: &Screen) -> Result<u8, Failure> {
    let folder = unchecked_state_folder(screen.output())?;
    let mut checks = machine::checks(&folder, screen);
    checks.extend(agents::checks(
        mission_file(arguments.mission.as_deref()).as_deref(),
    )?);
    let is_fit = checks.iter().all(|check| check.verdict != Verdict::Fail);
    if screen.is_json() {
        screen.document(&document(&checks, is_fit));
    } else {
        screen.result(&human(&checks, &screen.out()));
    }
    let class = if is_fit {
        OutcomeClass::Ok
    } else {
        OutcomeClass::Environment
    };
    Ok(class.exit_code())
}
