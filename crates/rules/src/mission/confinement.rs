//! How far the processes of a run are confined: what the task says, else the agent, else the settings (semantics, section
//! 23).

use serde::{Deserialize, Serialize};

use super::model::{Agent, EffectiveSettings, FileScope, NetworkAccess, Sandbox, Task};
use super::plan::Plan;
use super::run_options::RunOptions;

/// The confinement that one level asks for; `None` where it leaves a setting to the next level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    sandbox: Option<Sandbox>,
    network: Option<NetworkAccess>,
    files: Option<FileScope>,
}

impl Confinement {
    /// The confinement that a task asks for.
    pub fn of_task(task: &Task) -> Self {
        Self {
            sandbox: task.sandbox,
            network: task.network,
            files: task.files,
        }
    }

    /// The confinement that an agent asks for.
    pub fn of_agent(agent: &Agent) -> Self {
        Self {
            sandbox: agent.sandbox,
            network: agent.network,
            files: agent.files,
        }
    }

    /// The confinement that the settings ask for.
    pub fn of_settings(settings: &EffectiveSettings) -> Self {
        Self {
            sandbox: Some(settings.sandbox),
            network: Some(settings.network),
            files: Some(settings.files),
        }
    }

    /// Fills each setting that is `None` from `below`.
    pub fn or(self, below: Self) -> Self {
        Self {
            sandbox: self.sandbox.or(below.sandbox),
            network: self.network.or(below.network),
            files: self.files.or(below.files),
        }
    }

    /// Replaces the sandbox by the session's own, where that names one.
    pub fn in_session(self, sandbox: Option<Sandbox>) -> Self {
        Self {
            sandbox: sandbox.or(self.sandbox),
            ..self
        }
    }

    /// Whether the system is asked to confine.
    pub fn sandbox(self) -> Sandbox {
        self.sandbox.unwrap_or_default()
    }

    /// Whether no level asks for confinement.
    pub fn is_off(self) -> bool {
        self.sandbox() == Sandbox::Off
    }

    /// Whether the network is kept away.
    pub fn without_network(self) -> bool {
        self.network == Some(NetworkAccess::Deny)
    }

    /// Whether nothing outside of the workspace may be changed.
    pub fn only_workspace(self) -> bool {
        self.files == Some(FileScope::Workspace)
    }
}

impl Plan {
    /// The source of the rule that nothing may begin where processes cannot be confined; `None` where nobody sets it (section 23).
    pub fn must_be_confined(&self, options: &RunOptions) -> Option<&'static str> {
        if self.confinements().any(|how| how.sandbox() == Sandbox::Required) {
            return Some("`sandbox: required`");
        }
        let is_wanted = !self.confinements().all(Confinement::is_off);
        (options.strict && is_wanted).then_some("`--strict`")
    }
}
