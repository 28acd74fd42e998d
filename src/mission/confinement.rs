//! How far the processes of a run are confined: what the task says, else the agent, else the settings (semantics, section
//! 23).

use super::model::{Agent, EffectiveSettings, FileScope, NetworkAccess, Sandbox, Task};
use super::plan::Plan;
use crate::domain::{AgentId, TaskId};

/// What one level says; `None` where it leaves that to the next one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Confinement {
    sandbox: Option<Sandbox>,
    network: Option<NetworkAccess>,
    files: Option<FileScope>,
}

impl Confinement {
    /// What a task says.
    pub(super) fn of_task(task: &Task) -> Self {
        Self {
            sandbox: task.sandbox,
            network: task.network,
            files: task.files,
        }
    }

    fn of_agent(agent: &Agent) -> Self {
        Self {
            sandbox: agent.sandbox,
            network: agent.network,
            files: agent.files,
        }
    }

    fn of_settings(settings: &EffectiveSettings) -> Self {
        Self {
            sandbox: Some(settings.sandbox),
            network: Some(settings.network),
            files: Some(settings.files),
        }
    }

    /// The same, with `below` where it says nothing.
    fn or(self, below: Self) -> Self {
        Self {
            sandbox: self.sandbox.or(below.sandbox),
            network: self.network.or(below.network),
            files: self.files.or(below.files),
        }
    }

    /// Whether the system is asked to confine.
    #[must_use]
    pub fn sandbox(self) -> Sandbox {
        self.sandbox.unwrap_or_default()
    }

    /// Whether it is not asked to.
    #[must_use]
    pub fn is_off(self) -> bool {
        self.sandbox() == Sandbox::Off
    }

    /// Whether the network is kept away.
    #[must_use]
    pub fn without_network(self) -> bool {
        self.network == Some(NetworkAccess::Deny)
    }

    /// Whether nothing outside of the workspace may be changed.
    #[must_use]
    pub fn only_workspace(self) -> bool {
        self.files == Some(FileScope::Workspace)
    }
}

impl Plan {
    /// How a process is confined that works for a task, is an agent, or both.
    #[must_use]
    pub fn confinement(&self, task: Option<TaskId>, agent: Option<AgentId>) -> Confinement {
        let of_task = task.map(|task| self.task(task).confinement).unwrap_or_default();
        let of_agent = agent.map(|agent| Confinement::of_agent(&self.agent(agent).spec));
        let all = of_task
            .or(of_agent.unwrap_or_default())
            .or(Confinement::of_settings(&self.rules.settings));
        Confinement {
            sandbox: self.rules.session_sandbox.or(all.sandbox),
            ..all
        }
    }

    /// How the processes of a run are confined: of the tasks that it takes and of all agents, each once.
    pub fn confinements(&self) -> impl Iterator<Item = Confinement> {
        let tasks = self
            .selected_ids()
            .map(|id| (Some(id), Some(self.task(id).agent)));
        let agents = (0..self.agents.len()).map(|index| (None, Some(AgentId::from_index(index))));
        let all = tasks.chain(agents).chain([(None, None)]);
        all.map(|(task, agent)| self.confinement(task, agent))
    }
}
