//! How a child is started on Linux: as it is, or confined by the strongest way that works here.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::process::Pid;

use super::namespaces::Processes;
use super::starter::Starter;
use super::{bubblewrap, namespaces, scope};
use crate::mount_plan::MountPlan;
use crate::protocol::{NamespaceMaker, Tier};
use crate::start::{NotStarted, Start};

pub use super::namespaces::ExitReport;

/// A starter of children.
pub struct Launcher {
    starter: Starter,
    how: ConfineMethod,
}

/// How children that have a plan are confined.
enum ConfineMethod {
    /// In namespaces that the supervisor makes.
    Namespaces(Processes),
    /// In namespaces that the bubblewrap at this path makes.
    Bubblewrap(PathBuf, Processes),
    /// No plan can be carried out. In the domain, if there is one, children can neither read nor signal
    /// processes outside of it.
    Scope(Option<OwnedFd>),
}

/// Why no namespaces can be made, by any way.
struct NoNamespaces(String);

impl Launcher {
    pub fn new() -> Self {
        Self { starter: Starter::new(), how: ConfineMethod::Namespaces(Processes::Own) }
    }

    /// Tries for nothing how far children can be confined; what works is what confines them from then on.
    pub fn try_confinement(&mut self) -> Tier {
        let (how, tier) = match self.namespaces(Processes::Own) {
            Ok((how, way)) => (how, Tier::Whole(way)),
            Err(NoNamespaces(refused)) => match self.namespaces(Processes::Everybodys) {
                Ok((how, way)) => (how, Tier::SharedProcesses(way, refused)),
                Err(_) => match scope::domain() {
                    Some(domain) => (ConfineMethod::Scope(Some(domain)), Tier::Signals(refused)),
                    None => (ConfineMethod::Scope(None), Tier::None(refused)),
                },
            },
        };
        self.how = how;
        tier
    }

    /// The first way that makes namespaces here; else why each does not.
    fn namespaces(&mut self, processes: Processes) -> Result<(ConfineMethod, NamespaceMaker), NoNamespaces> {
        let Some(refused) = namespaces::probe(processes) else {
            return Ok((ConfineMethod::Namespaces(processes), NamespaceMaker::Native));
        };
        let Some(place) = bubblewrap::installed() else {
            return Err(NoNamespaces(refused));
        };
        match bubblewrap::probe(&place, &mut self.starter, processes) {
            None => Ok((ConfineMethod::Bubblewrap(place, processes), NamespaceMaker::Bubblewrap)),
            Some(also) => Err(NoNamespaces(format!("{refused}; nor by bubblewrap: {also}"))),
        }
    }

    /// Starts a child, confined where there is a plan.
    ///
    /// # Errors
    /// See [`NotStarted`]; then there is no process.
    pub fn start(
        &mut self,
        start: &Start<'_>,
        plan: Option<&MountPlan>,
    ) -> Result<(Pid, Option<ExitReport>), NotStarted> {
        let starter = &mut self.starter;
        let as_it_is = |started: io::Result<Pid>| started.map(|pid| (pid, None)).map_err(NotStarted::Program);
        let started = match (plan, &self.how) {
            (None, _) | (Some(_), ConfineMethod::Scope(None)) => return as_it_is(starter.start(start)),
            (Some(_), ConfineMethod::Scope(Some(domain))) => {
                return as_it_is(starter.start_in_domain(start, domain));
            }
            (Some(plan), ConfineMethod::Namespaces(processes)) => {
                namespaces::start(starter, start, (plan, *processes))
            }
            (Some(plan), ConfineMethod::Bubblewrap(place, processes)) => {
                bubblewrap::start(place, starter, start, (plan, *processes))
            }
        };
        started.map(|(pid, report)| (pid, Some(report)))
    }
}
