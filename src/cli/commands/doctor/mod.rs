//! `quorum doctor`: whether this machine can run the mission, before anything is spent.
//!
//! Nothing of the mission is started but agents' programs, for their version; nothing is written and no endpoint is contacted; what could only be found out that way
//! is reported as skipped, never as fine.
//!
//! | file | what |
//! |---|---|
//! | `agents` | the mission and its agents: programs, variables, who can judge |
//! | `confinement` | whether processes can be confined here: how far, by what, and why not |
//! | `machine` | the state folder and what is around it: permissions, space, lock, locale, clock |
//! | `programs` | git; programs of agents that presets start: version, node, login |
//! | `state` | `quorum doctor state`: whether what is on the disk is whole, and the way out where a journal is not |

mod agents;
mod confinement;
mod machine;
mod programs;
mod state;

use std::path::PathBuf;

use clap::{Args, Command, Subcommand};

use crate::{
    cli::{
        args::Demands, command_error::Failure, load::mission_file, project::state_folder_at, screen::Screen,
        variables,
    },
    report::documents::doctor::{CheckOutcome, DoctorDocument, HealthCheck},
};
use rules::domain::OutcomeClass;

/// Check the machine, the state folder, the agents
#[derive(Debug, Args)]
#[command(
    after_help = "Examples: quorum doctor --mission mission.yaml\n          quorum doctor state",
    args_conflicts_with_subcommands = true
)]
pub struct Doctor {
    #[command(subcommand)]
    pub part: Option<DoctorPart>,
    /// The mission whose agents are looked for [default: mission.yaml, if it is there]
    #[arg(long, value_name = "FILE")]
    pub mission: Option<PathBuf>,
    #[command(flatten)]
    pub demands: Demands,
}

/// What is looked at instead.
#[derive(Debug, Subcommand)]
pub enum DoctorPart {
    State(state::StateArgs),
}

/// Looks at everything and says what it found.
pub fn doctor(arguments: &Doctor, root: &Command, screen: &Screen) -> Result<u8, Failure> {
    if let Some(DoctorPart::State(arguments)) = &arguments.part {
        return state::state(arguments, screen);
    }
    // First of all, while there is one thread.
    let tier = confinement::tier()?;
    let folder = state_folder_at(screen.output().state_dir.as_deref(), false)?;
    let mut checks = machine::checks(&folder, screen);
    checks.push(programs::git());
    let unknown = variables::unknown(root).into_iter();
    checks.extend(unknown.map(|why| HealthCheck::new("variables", CheckOutcome::Warn, why)));
    let mission = mission_file(arguments.mission.as_deref());
    let mission = agents::load(mission.as_deref(), &arguments.demands)?;
    let required = mission.as_ref().ok().and_then(agents::LoadedMission::must_be_confined);
    checks.push(confinement::check(tier, required));
    match mission {
        Ok(mission) => checks.extend(agents::checks(&mission)),
        Err(check) => checks.push(check),
    }
    Ok(show(&checks, screen, OutcomeClass::Environment))
}

/// Prints the checks. Returns 0, or the code of `failed` if one of them failed.
fn show(checks: &[HealthCheck], screen: &Screen, failed: OutcomeClass) -> u8 {
    let ok = checks.iter().all(|check| check.verdict != CheckOutcome::Fail);
    screen.show(&DoctorDocument { ok, checks });
    let class = if ok { OutcomeClass::Ok } else { failed };
    class.exit_code()
}
