//! How far the processes of a run are confined: what the task says, else the agent, else the settings (semantics, section
//! 23).

use serde::{Deserialize, Serialize};

use crate::mission::model::{Agent, EffectiveSettings, FileScope, NetworkAccess, Sandbox, Task};

/// The confinement that one level asks for; `None` where it leaves a setting to the next level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Confinement {
    sandbox: Option<Sandbox>,
    network: Option<NetworkAccess>,
    files: Option<FileScope>,
}

impl Confinement {
    /// The source of the rule that nothing may begin where processes cannot be confined; `None` where nobody sets it.
    pub fn required_by(mut all: impl Iterator<Item = Self>, strict: bool) -> Option<&'static str> {
        let mut is_wanted = false;
        let is_required = all.any(|how| {
            is_wanted |= !how.is_off();
            how.sandbox() == Sandbox::Required
        });
        if is_required { Some("`sandbox: required`") } else { (strict && is_wanted).then_some("`--strict`") }
    }

    /// The confinement that a task asks for.
    pub fn of_task(task: &Task) -> Self {
        Self { sandbox: task.sandbox, network: task.network, files: task.files }
    }

    /// The confinement that an agent asks for.
    pub fn of_agent(agent: &Agent) -> Self {
        Self { sandbox: agent.sandbox, network: agent.network, files: agent.files }
    }

    /// The confinement that the settings ask for.
    pub fn of_settings(settings: &EffectiveSettings) -> Self {
        Self { sandbox: Some(settings.sandbox), network: Some(settings.network), files: Some(settings.files) }
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
        Self { sandbox: sandbox.or(self.sandbox), ..self }
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
