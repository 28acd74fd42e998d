//! How the agents and channels of a run are reached: found out before anything starts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::env::VarError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::agents::cassette::CallKey;
use crate::agents::channel::{ChannelRoute, DeliveryChannel};
use crate::agents::command_line::{ChildEnv, INHERITED, Program, has_bash};
use crate::agents::endpoint::Endpoint;
use crate::agents::preset::{ByPreset, CommandAgent};
use crate::agents::secrets::{Secrets, own_variable};
use crate::agents::transport::{CassetteCursor, Network, Transport};
use crate::executor::error::WorkError;
use crate::store::NOT_UTF8;
use rules::domain::AgentId;
use rules::judging::protected::judging_commands;
use rules::mission::first_line;
use rules::mission::model::{AdapterKind, CommandLine};
use rules::mission::shell_line::needs_bash;
use rules::plan::{AgentPlan, Plan};

use super::login::{passed_to, require_login};

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
    /// The backends of all agents, also of those that are not needed yet but may get work later, or why there is none.
    backends: BTreeMap<AgentId, Result<Backend, EnvironmentProblem>>,
    /// The secrets that none of them may show.
    secrets: Arc<Secrets>,
    pub channels: Channels,
    network: Network,
    pub mission_folder: PathBuf,
    /// The HTTP clients of agents, each made when it is first needed.
    clients: Mutex<HashMap<AgentId, reqwest::Client>>,
    pub without_tools: AgentsWithoutTools,
    /// Where each agent is that the run needs, in the order of the mission: see [`locate`].
    pub places: Vec<(String, String)>,
    /// Variables that these do not get, and values too short to be taken out of outputs, a sentence each.
    pub warnings: Vec<String>,
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
    /// Finds the programs and credentials of the agents that are `needed`, and of all channels; relative programs in
    /// `folder`. Without a network no agent may need one; models that are on record need no credentials either.
    ///
    /// # Errors
    /// All that is missing; no agent was started.
    pub fn resolve(
        plan: &Plan,
        needed: BTreeSet<AgentId>,
        folder: &Path,
        network: Network,
    ) -> Result<Self, Vec<EnvironmentProblem>> {
        let folders = [("the folder of the mission", folder), ("the workspace", &plan.rules.workspace)];
        let unrecorded = folders.into_iter().filter(|(_, path)| path.to_str().is_none());
        let unrecorded = unrecorded.map(|(who, _)| EnvironmentProblem::of(who.to_owned(), NOT_UTF8));
        let mut problems: Vec<_> = unrecorded.collect();
        let backends = backends_of(plan, &needed, folder, &network);
        let missing = needed.iter().filter_map(|id| backends.get(id)?.as_ref().err());
        problems.extend(missing.cloned());
        #[cfg(any(feature = "temporal", test))]
        problems.extend(super::carried::out_of_reach(plan, &needed, folder));
        let of_agents = problems.len();
        let mut channels = Channels::new();
        for name in plan.notified_channels() {
            match channel_of(plan, name, folder) {
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
        problems.extend(lacking_bash(plan));
        if !problems.is_empty() {
            return Err(problems);
        }
        let all = backends.values().flatten();
        let secrets = Secrets::all(all.filter_map(Backend::secrets));
        if let Network::Recording(cassette) | Network::Offline(Some(cassette)) = &network {
            cassette.hold_back(secrets.clone());
        }
        let needed = needed.iter();
        let needed = needed.filter_map(|id| Some((plan.agent(*id), backends.get(id)?.as_ref().ok()?)));
        let needed: Vec<(&AgentPlan, &Backend)> = needed.collect();
        let place =
            |(agent, backend): &(&AgentPlan, &Backend)| (agent.name.to_string(), backend.place_of(agent));
        Ok(Self {
            places: needed.iter().map(place).collect(),
            // Nobody is handed anything where recorded replies stand for them.
            warnings: match network {
                Network::Offline(_) => Vec::new(),
                Network::Open | Network::Recording(_) => Self::warnings(&needed),
            },
            backends,
            secrets: Arc::new(secrets),
            channels,
            network,
            mission_folder: folder.to_owned(),
            clients: Mutex::default(),
            without_tools: AgentsWithoutTools::default(),
        })
    }

    pub fn secrets(&self) -> Arc<Secrets> {
        self.secrets.clone()
    }

    /// Warnings about variables that agents do not get, and about values too short to be taken out of outputs.
    fn warnings(needed: &[(&AgentPlan, &Backend)]) -> Vec<String> {
        let short = needed.iter().filter_map(|(agent, backend)| {
            let count = backend.secrets()?.too_short();
            (count > 0).then(|| {
                let values = if count == 1 { "a value" } else { "values" };
                format!(
                    "agent '{}' is handed {values} of fewer than 6 characters from the environment: too short to be \
                     searched for, so it is not taken out of what agents print",
                    agent.name
                )
            })
        });
        let here = needed.iter().filter(|(agent, _)| agent.spec.queue.is_none());
        let lost = here.flat_map(|(agent, _)| {
            let handed = passed_to(agent).chain(INHERITED);
            let lost = handed.filter(|name| matches!(std::env::var(name), Err(VarError::NotUnicode(_))));
            lost.map(|name| {
                format!("agent '{}' is not handed {name}: its value is not UTF-8 text", agent.name)
            })
        });
        short.chain(lost).collect()
    }

    /// How an agent is reached, or why it is not. That does not change in a session.
    pub fn get(&self, agent: AgentId) -> Result<Backend, EnvironmentProblem> {
        let gone = "the mission does not have it any more";
        let gone = || Err(EnvironmentProblem::of("the agent".to_owned(), gone));
        self.backends.get(&agent).cloned().unwrap_or_else(gone)
    }

    /// The line to an agent for one call.
    ///
    /// # Errors
    /// Why there is none.
    pub fn line(&self, agent: AgentId, endpoint: &Endpoint, call: CallKey) -> Result<Transport, WorkError> {
        match self.network.clone() {
            Network::Open => self.client(agent, endpoint).map(Transport::Direct),
            Network::Recording(cassette) => self
                .client(agent, endpoint)
                .map(|client| Transport::Recording(client, CassetteCursor::new(cassette, call))),
            Network::Offline(Some(cassette)) => Ok(Transport::Recorded(CassetteCursor::new(cassette, call))),
            Network::Offline(None) => Err("it needs the network, and the run is offline".into()),
        }
    }

    fn client(&self, agent: AgentId, endpoint: &Endpoint) -> Result<reqwest::Client, WorkError> {
        let mut clients = crate::locked(&self.clients);
        if let Some(client) = clients.get(&agent) {
            return Ok(client.clone());
        }
        let client = endpoint.client().map_err(|error| format!("cannot make an HTTP client: {error}"))?;
        clients.insert(agent, client.clone());
        Ok(client)
    }
}
/// How each agent of a plan is reached, or why it is not; those that are `needed` are named without more words.
fn backends_of(
    plan: &Plan,
    needed: &BTreeSet<AgentId>,
    folder: &Path,
    network: &Network,
) -> BTreeMap<AgentId, Result<Backend, EnvironmentProblem>> {
    let agents = (0..).map(AgentId).zip(plan.agents.iter());
    let agents = agents.filter(|(id, agent)| !agent.removed || needed.contains(id));
    let backends = agents.map(|(id, agent)| {
        let lack = if needed.contains(&id) { "" } else { " cannot be reached" };
        let who = format!("agent '{}'{lack}", agent.name);
        let backend = backend_of(agent, folder, network);
        (id, backend.map_err(|why| EnvironmentProblem::of(who, why)))
    });
    backends.collect()
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
            let line = agent.spec.run.as_ref().or(own.as_ref()).ok_or("it has no `run`")?;
            let by = ByPreset::of(&agent.spec)?;
            if agent.spec.queue.is_some() {
                // What is there to be found, its worker finds.
                let program = Program::elsewhere(line);
                let env = ChildEnv::elsewhere(agent.spec.env.iter(), passed_to(agent));
                return Ok(Backend::Command(Arc::new(CommandAgent { program, env, by })));
            }
            let program = Program::resolve(line, folder)?;
            let env = ChildEnv::of_agent(agent.spec.env.iter(), passed_to(agent), own_variable)?;
            require_login(agent)?;
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
                if offline { Some("-".to_owned()) } else { own_variable(name) }
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
    use rules::mission::load;
    use rules::mission::{Layers, Source};
    use rules::plan::{RunOptions, compile};

    /// The first agent of a mission, whose `agents` are this.
    fn agent(agents: &str) -> AgentPlan {
        let text = format!(
            "name: m\nagents: {agents}\nisolation: worktree\nsettings: {{workers: {{exchange: e.git}}}}\ntasks: [{{title: t}}]\n"
        );
        let layers = Layers { has_workers: true, ..Layers::default() };
        let loaded = load(&Source::new("m.yaml", text), &layers).expect("it is right");
        compile(loaded.mission, &RunOptions::default()).agents[0].clone()
    }

    #[test]
    fn what_an_agent_on_another_machine_needs_is_not_looked_for_here() {
        for (there, here) in [
            ("run: [no-such-program, x], queue: gpu", "run: [no-such-program, x]"),
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
            assert!(locate(&agent(&format!("{{a: {{{here}}}}}")), folder).is_err(), "{here}");
        }
        let spec = "{a: {run: [./agent], env: {A: '${NO_SUCH_VARIABLE}'}, passEnv: [B], queue: gpu}}";
        let Ok(Backend::Command(found)) = backend_of(&agent(spec), Path::new("/"), &Network::Open) else {
            panic!("it is a command");
        };
        assert_eq!(found.program.path(), Path::new("./agent"));
        let names: Vec<&str> = found.env.variables.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, [&["A", "B"][..], &INHERITED].concat());
        assert!(found.env.secrets.is_empty());
    }
}
