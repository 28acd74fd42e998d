//! How the agents and channels of a run are reached: found out before anything starts.

use std::collections::{BTreeSet, HashMap};
use std::env::VarError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::agents::channel::{ChannelRoute, DeliveryChannel};
use crate::agents::command::{ChildEnv, INHERITED, Program, has_bash};
use crate::agents::endpoint::Endpoint;
use crate::agents::preset::{ByPreset, CommandAgent};
use crate::agents::secrets::{Secrets, own_variable};
use crate::agents::transport::Network;
use crate::executor::error::WorkError;
use crate::store::NOT_UTF8;
use rules::domain::AgentId;
use rules::engine::{State, agents_needed};
use rules::judging::protected::judging_commands;
use rules::mission::model::{AdapterKind, CommandLine};
use rules::mission::shell_line::needs_bash;
use rules::mission::{AgentPlan, Plan, first_line};

use super::login::{LoginState, login_of, passed_to};

/// Why an agent or a channel cannot be used offline.
const OFFLINE: &str = "needs the network, and the run is offline";

/// Agents whose providers were seen to know no tools: they are not offered any again in this session.
pub type AgentsWithoutTools = Arc<Mutex<BTreeSet<AgentId>>>;

/// The channels of a run, with their secrets.
pub type Channels = HashMap<Box<str>, Arc<DeliveryChannel>>;

/// One channel, ready to be used; relative paths in `folder`.
pub fn channel_of(plan: &Plan, name: &str, folder: &Path) -> Result<DeliveryChannel, WorkError> {
    let channel = plan.channel(name).ok_or("the mission has no such channel")?;
    Ok(DeliveryChannel::of_plan(channel, folder, own_variable)?)
}

/// How each agent of a run is reached.
pub struct AgentBackends {
    needed: HashMap<AgentId, Backend>,
    /// The secrets that none of them may show.
    secrets: Arc<Secrets>,
    /// The backends of agents that are not needed yet but may get work later, or why there is none.
    others: HashMap<AgentId, Result<Backend, EnvironmentProblem>>,
    pub channels: Channels,
    pub network: Network,
    pub mission_folder: PathBuf,
}
/// How an agent is reached.
#[derive(Clone)]
pub enum Backend {
    /// By starting a program with an environment of its own.
    Command(Arc<CommandAgent>),
    /// A model that is reached over HTTP.
    Model(Box<Endpoint>),
    /// The agent of this program that repeats its prompt.
    Echo,
}
/// A thing that a run would need and this machine does not have.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{who}: {problem}")]
pub struct EnvironmentProblem {
    /// The agent that could not work, or the channel that could not be reached.
    pub who: String,
    pub problem: String,
}
impl EnvironmentProblem {
    /// A problem of `who`.
    pub fn of(who: String, problem: impl Into<WorkError>) -> Self {
        let problem = problem.into().into();
        Self { who, problem }
    }
}

impl AgentBackends {
    /// Finds the programs and credentials of all agents and channels that the run would need; relative programs in
    /// `folder`. Without a network no agent may need one; models that are on record need no credentials either.
    ///
    /// # Errors
    /// All that is missing; no agent was started.
    pub fn resolve(state: &State, folder: &Path, network: Network) -> Result<Self, Vec<EnvironmentProblem>> {
        let mut found = HashMap::new();
        let folders = [
            ("the folder of the mission", folder),
            ("the workspace", &state.plan.rules.workspace),
        ];
        let unrecorded = folders.into_iter().filter(|(_, path)| path.to_str().is_none());
        let unrecorded = unrecorded.map(|(who, _)| EnvironmentProblem::of(who.to_owned(), NOT_UTF8));
        let mut problems: Vec<_> = unrecorded.collect();
        for id in agents_needed(state) {
            let agent = state.plan.agent(id);
            match backend_of(agent, folder, &network) {
                Ok(backend) => {
                    found.insert(id, backend);
                }
                Err(problem) => {
                    problems.push(EnvironmentProblem::of(format!("agent '{}'", agent.name), problem));
                }
            }
        }
        let of_agents = problems.len();
        let mut channels = Channels::new();
        for name in state.plan.notified_channels() {
            match channel_of(&state.plan, name, folder) {
                Ok(channel) => drop(channels.insert(name.into(), Arc::new(channel))),
                Err(problem) => problems.push(EnvironmentProblem::of(format!("channel '{name}'"), problem)),
            }
        }
        if matches!(network, Network::Offline(_)) && problems.len() == of_agents {
            let mut online: Vec<&str> = channels
                .iter()
                .filter(|(_, channel)| matches!(channel.way, ChannelRoute::Http(_)))
                .map(|(name, _)| &**name)
                .collect();
            online.sort_unstable();
            for name in online {
                problems.push(EnvironmentProblem::of(format!("channel '{name}'"), OFFLINE));
            }
        }
        problems.extend(lacking_bash(&state.plan));
        if !problems.is_empty() {
            return Err(problems);
        }
        let agents = (0..).map(AgentId).zip(state.plan.agents.iter());
        let others = agents.filter(|(id, agent)| !agent.removed && !found.contains_key(id));
        let others = others.map(|(id, agent)| {
            let who = format!("agent '{}' cannot be reached", agent.name);
            let backend = backend_of(agent, folder, &network);
            (id, backend.map_err(|why| EnvironmentProblem::of(who, why)))
        });
        let others: HashMap<AgentId, _> = others.collect();
        let all = found.values().chain(others.values().flatten());
        let secrets = Secrets::all(all.filter_map(Backend::secrets));
        if let Network::Recording(cassette) | Network::Offline(Some(cassette)) = &network {
            cassette.hold_back(secrets.clone());
        }
        Ok(Self {
            others,
            needed: found,
            secrets: Arc::new(secrets),
            channels,
            network,
            mission_folder: folder.to_owned(),
        })
    }

    pub fn secrets(&self) -> Arc<Secrets> {
        self.secrets.clone()
    }

    /// Warnings about variables that agents do not get, and about values too short to be taken out of outputs.
    pub fn warnings(&self, state: &State) -> Vec<String> {
        // Nobody is handed anything where recorded replies stand for them.
        if matches!(self.network, Network::Offline(_)) {
            return Vec::new();
        }
        let agents = (0..).map(AgentId).zip(state.plan.agents.iter());
        let short = agents.filter_map(|(id, agent)| {
            let count = self.needed.get(&id)?.secrets()?.too_short();
            (count > 0).then(|| {
                let values = if count == 1 { "a value" } else { "values" };
                format!(
                    "agent '{}' is handed {values} of fewer than 6 characters from the environment: too short to be \
                     searched for, so it is not taken out of what agents print",
                    agent.name
                )
            })
        });
        let needed = (0..).map(AgentId).zip(state.plan.agents.iter());
        let needed = needed.filter(|(id, agent)| self.needed.contains_key(id) && agent.spec.queue.is_none());
        let lost = needed.flat_map(|(_, agent)| {
            let handed = passed_to(agent).chain(INHERITED);
            let lost = handed.filter(|name| matches!(std::env::var(name), Err(VarError::NotUnicode(_))));
            lost.map(|name| {
                format!(
                    "agent '{}' is not handed {name}: its value is not UTF-8 text",
                    agent.name
                )
            })
        });
        short.chain(lost).collect()
    }

    /// Where each agent is, in the order of the mission: see [`locate`].
    pub fn places(&self, state: &State) -> Vec<(String, String)> {
        let agents = (0..).map(AgentId).zip(state.plan.agents.iter());
        agents
            .filter_map(|(id, agent)| Some((agent.name.to_string(), self.needed.get(&id)?.place_of(agent))))
            .collect()
    }

    /// How an agent is reached, or why it is not. That does not change in a session.
    pub fn get(&self, agent: AgentId) -> Result<Backend, EnvironmentProblem> {
        match (self.needed.get(&agent), self.others.get(&agent)) {
            (Some(backend), _) => Ok(backend.clone()),
            (None, Some(other)) => other.clone(),
            (None, None) => Err(EnvironmentProblem::of(
                "the agent".to_owned(),
                "the mission does not have it any more",
            )),
        }
    }
}
/// The first command that cannot run as the pipe rule says because this machine has no bash (semantics, section
/// 6.4).
pub fn lacking_bash(plan: &Plan) -> Option<EnvironmentProblem> {
    let lacking = |id| {
        let mut commands = judging_commands(plan, id).into_iter();
        let (_, command) = commands.find(|(_, command)| needs_bash(command))?;
        Some((format!("task '{}'", plan.title(id)), command))
    };
    let (who, command) = plan.selected_ids().filter(|_| !has_bash()).find_map(lacking)?;
    let line = first_line(command.trim());
    let problem = format!("`{line}` has several lines or a pipe, and needs bash, which is not on the PATH");
    Some(EnvironmentProblem { who, problem })
}

/// Where an agent is: the path of its program, or the address of its model. Nothing is started and nothing contacted.
///
/// # Errors
/// What is missing.
pub fn locate(agent: &AgentPlan, folder: &Path) -> Result<String, WorkError> {
    backend_of(agent, folder, &Network::Open).map(|backend| backend.place_of(agent))
}
impl Backend {
    /// The secrets of the agent.
    fn secrets(&self) -> Option<&Secrets> {
        match self {
            Self::Command(agent) => Some(&agent.env.secrets),
            Self::Model(endpoint) => Some(endpoint.secrets()),
            Self::Echo => None,
        }
    }

    /// Where an agent is that is reached so.
    fn place_of(&self, agent: &AgentPlan) -> String {
        if let Some(queue) = &agent.spec.queue {
            return format!("workers of the queue {queue}");
        }
        match self {
            Self::Command(agent) => agent.program.path().display().to_string(),
            Self::Model(endpoint) => endpoint.url.to_string(),
            Self::Echo => "answers with its prompt".to_owned(),
        }
    }
}
pub fn backend_of(agent: &AgentPlan, folder: &Path, network: &Network) -> Result<Backend, WorkError> {
    match agent.spec.adapter.kind() {
        AdapterKind::AgentCli if matches!(network, Network::Offline(_)) => Err(OFFLINE.into()),
        AdapterKind::Command | AdapterKind::AgentCli => {
            let preset = agent.spec.preset.as_deref();
            let own = preset.and_then(|preset| preset.argv.first());
            let own = own.map(|program| CommandLine::Argv(vec![program.to_string()]));
            let line = agent
                .spec
                .run
                .as_ref()
                .or(own.as_ref())
                .ok_or("it has no `run`")?;
            let by = ByPreset::of(&agent.spec)?;
            if agent.spec.queue.is_some() {
                // What is there to be found, its worker finds.
                let program = Program::elsewhere(line);
                let env = ChildEnv::elsewhere(agent.spec.env.iter(), passed_to(agent));
                return Ok(Backend::Command(Arc::new(CommandAgent { program, env, by })));
            }
            let program = Program::resolve(line, folder)?;
            let env = ChildEnv::of_agent(agent.spec.env.iter(), passed_to(agent), own_variable)?;
            if let Some(LoginState::Missing(help)) = login_of(agent)
                && preset.is_some_and(|preset| preset.login.required)
            {
                return Err(format!("it has no login, and would go on elsewhere without one: {help}").into());
            }
            Ok(Backend::Command(Arc::new(CommandAgent { program, env, by })))
        }
        AdapterKind::Model { .. } => {
            let offline = match network {
                Network::Offline(None) => return Err(OFFLINE.into()),
                Network::Offline(Some(_)) => true,
                Network::Open | Network::Recording(_) => false,
            };
            // Nobody is sent a key who is not asked.
            let variable = |name: &str| {
                if offline {
                    Some("-".to_owned())
                } else {
                    own_variable(name)
                }
            };
            let endpoint = Endpoint::of_agent(agent, variable)?;
            if !offline {
                endpoint.is_fit()?;
            }
            Ok(Backend::Model(Box::new(endpoint)))
        }
        AdapterKind::Echo => Ok(Backend::Echo),
        AdapterKind::Person => Err("a person can only be named as a reviewer; give the task an agent".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::mission::{Layers, RunOptions, Source, compile, load};

    /// The first agent of a mission, whose `agents` are this.
    fn agent(agents: &str) -> AgentPlan {
        let text = format!(
            "name: m\nagents: {agents}\nisolation: worktree\nsettings: {{workers: {{exchange: e.git}}}}\ntasks: [{{title: t}}]\n"
        );
        let layers = Layers {
            has_workers: true,
            ..Layers::default()
        };
        let loaded = load(&Source::new("m.yaml", text), &layers).expect("it is right");
        compile(loaded.mission, &RunOptions::default()).agents[0].clone()
    }

    #[test]
    fn what_an_agent_on_another_machine_needs_is_not_looked_for_here() {
        for (there, here) in [
            (
                "run: [no-such-program, x], queue: gpu",
                "run: [no-such-program, x]",
            ),
            ("run: [./no/such], queue: gpu", "run: [./no/such]"),
            (
                "run: [sh], env: {A: 'x ${NO_SUCH_VARIABLE}'}, queue: gpu",
                "run: [sh], env: {A: 'x ${NO_SUCH_VARIABLE}'}",
            ),
            (
                "adapter: claude, run: [no-such-program], queue: gpu",
                "adapter: claude, run: [no-such-program]",
            ),
        ] {
            let folder = Path::new("/");
            let place = locate(&agent(&format!("{{a: {{{there}}}}}")), folder).expect(there);
            assert_eq!(place, "workers of the queue gpu");
            assert!(
                locate(&agent(&format!("{{a: {{{here}}}}}")), folder).is_err(),
                "{here}"
            );
        }
        let spec = "{a: {run: [./agent], env: {A: '${NO_SUCH_VARIABLE}'}, passEnv: [B], queue: gpu}}";
        let Ok(Backend::Command(found)) = backend_of(&agent(spec), Path::new("/"), &Network::Open) else {
            panic!("it is a command");
        };
        assert_eq!(found.program.path(), Path::new("./agent"));
        let names: Vec<&str> = found
            .env
            .variables
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, [&["A", "B"][..], &INHERITED].concat());
        assert!(found.env.secrets.is_empty());
    }
}
