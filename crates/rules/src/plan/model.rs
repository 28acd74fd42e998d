//! The plan: a validated mission in the form the engine works on.
//!
//! Names are resolved to dense ids, defaults and precedence are applied, adjacency lies in two flat vectors. The
//! plan is computed from the frozen mission and the frozen flags alone, so that a replay sees the same plan.

use std::sync::Arc;

use rust_decimal::Decimal;
use thin_vec::ThinVec;

use crate::{
    domain::{AgentId, BarrierId, GateId, Millis, Points, TaskId},
    mission::{
        adjacency::Edges,
        file::{scalar::Deadline, strictness_source::Loosening},
        model,
    },
};

use super::calibrated::Calibration;
use super::confinement::Confinement;
use super::further_stages::FurtherStages;
use super::pipeline::StagePlan;
use super::provenance::{Fixups, Provenance, Titles};
use super::route::Route;
use super::run_options::RunOptions;
use super::sla_plan::SlaPlan;
use super::task_list::TaskList;
use super::worktree_plan::{HiddenFiles, WorktreePlan};

/// A mission in the form that a run carries out.
#[derive(Debug, Clone)]
pub struct Plan {
    pub name: String,
    /// Agents in file order.
    pub agents: Arc<Vec<AgentPlan>>,
    /// Tasks in file order; behind them those that came while the run worked.
    pub tasks: TaskList,
    /// Gates in file order.
    pub gates: Arc<Vec<GatePlan>>,
    /// Channels that notifications can go to.
    pub channels: Arc<Vec<ChannelPlan>>,
    /// `dependsOn`, from a task to what it needs.
    pub dependencies: Edges<TaskId>,
    /// `dependsOn` turned round: from a task to the tasks that need it.
    pub dependents: Edges<TaskId>,
    /// From a task to the gates that wait for it.
    pub gates_after: Edges<GateId>,
    /// From a task to the gates that hold it.
    pub gates_before: Edges<GateId>,
    /// Checkpoints in file order, then delays.
    pub barriers: Arc<Vec<BarrierPlan>>,
    /// From a task to the checkpoints and delays that wait for it.
    pub barriers_after: Edges<BarrierId>,
    /// From a task to the checkpoints and delays that hold it.
    pub barriers_before: Edges<BarrierId>,
    /// Rules for the whole run.
    pub rules: Rules,
    /// From a task to the verifications that may have it done again, or judged it when they did.
    pub returns: Edges<TaskId>,
    /// Everything that tasks that come later are compiled with.
    pub recipe: Arc<CompileContext>,
    pub titles: Titles,
    pub fixups: Fixups,
}

/// Everything that a task is compiled with, beside the agents.
#[derive(Debug, Clone, Default)]
pub struct CompileContext {
    pub settings: model::Settings,
    pub options: RunOptions,
    pub scrutiny: FurtherStages,
}

impl Plan {
    /// How a process is confined that works for a task, is an agent, or both.
    pub fn confinement(&self, task: Option<TaskId>, agent: Option<AgentId>) -> Confinement {
        let of_task = task.map(|task| self.task(task).confinement).unwrap_or_default();
        let of_agent = agent.map(|agent| Confinement::of_agent(&self.agent(agent).spec));
        let all = of_task.or(of_agent.unwrap_or_default()).or(Confinement::of_settings(&self.rules.settings));
        all.in_session(self.rules.session_sandbox)
    }

    /// How the processes of a run are confined: of the tasks that it takes, of all agents, and of channels that are.
    pub fn confinements(&self) -> impl Iterator<Item = Confinement> {
        let tasks = self.selected_ids().map(|id| (Some(id), Some(self.task(id).agent)));
        let agents = (0..self.agents.len()).map(|index| (None, Some(AgentId::from_index(index))));
        let all = tasks.chain(agents).chain([(None, None)]);
        let channels = self.channels.iter();
        let of_channels = channels.map(|channel| Confinement::default().in_session(channel.spec.sandbox));
        all.map(|(task, agent)| self.confinement(task, agent)).chain(of_channels.filter(|how| !how.is_off()))
    }

    /// A plan of these agents, tasks and gates; `dependencies` are pairs of a task and one that it needs.
    pub fn new(
        name: String,
        agents: Vec<AgentPlan>,
        tasks: Vec<TaskPlan>,
        gates: Vec<GatePlan>,
        dependencies: &[(u32, TaskId)],
        rules: Rules,
    ) -> Self {
        let turned: Vec<_> = dependencies.iter().map(|(from, to)| (to.0, TaskId(*from))).collect();
        let mut plan = Self {
            name,
            dependents: Edges::new(tasks.len(), &turned),
            dependencies: Edges::new(tasks.len(), dependencies),
            gates_after: gate_edges(tasks.len(), &gates, |gate| &gate.after),
            gates_before: gate_edges(tasks.len(), &gates, |gate| &gate.blocks),
            barriers: Arc::default(),
            barriers_after: Edges::new(tasks.len(), &[]),
            barriers_before: Edges::new(tasks.len(), &[]),
            returns: Edges::new(tasks.len(), &[]),
            agents: Arc::new(agents),
            tasks: tasks.into(),
            gates: Arc::new(gates),
            channels: Arc::default(),
            rules,
            recipe: Arc::default(),
            titles: Titles::default(),
            fixups: Fixups::default(),
        };
        plan.resolve_pipelines();
        plan
    }

    /// Adds checkpoints and delays between the tasks.
    #[must_use]
    pub fn with_barriers(self, barriers: Vec<BarrierPlan>) -> Self {
        let edges = |side: fn(&BarrierPlan) -> &Vec<TaskId>| {
            let all = (0..).map(BarrierId).zip(&barriers);
            let pairs = all.flat_map(|(id, hold)| side(hold).iter().map(move |task| (task.0, id)));
            Edges::new(self.tasks.len(), &pairs.collect::<Vec<_>>())
        };
        Self {
            barriers_after: edges(|hold| &hold.after),
            barriers_before: edges(|hold| &hold.blocks),
            barriers: Arc::new(barriers),
            ..self
        }
    }

    /// The task with this id.
    pub fn task(&self, id: TaskId) -> &TaskPlan {
        &self.tasks[id.index()]
    }

    /// The title of a task.
    pub fn title(&self, id: TaskId) -> &str {
        &self.task(id).title
    }

    /// The titles of tasks, in their order.
    pub fn titles(&self, ids: &[TaskId]) -> Vec<&str> {
        ids.iter().map(|id| self.title(*id)).collect()
    }

    /// The middleware around the turns of a task (semantics, section 17).
    pub fn middleware(&self, id: TaskId) -> &model::AgentChain {
        let own = self.task(id).middleware.as_deref();
        own.unwrap_or(&self.rules.middleware)
    }

    /// The agent with this id.
    pub fn agent(&self, id: AgentId) -> &AgentPlan {
        &self.agents[id.index()]
    }

    /// The agents who may be given tasks.
    pub fn workers(&self) -> impl Iterator<Item = AgentId> {
        let all = (0..self.agents.len()).map(AgentId::from_index);
        all.filter(|id| self.may_work(*id))
    }

    /// Whether an agent may be given tasks: it is there, and no person.
    pub fn may_work(&self, id: AgentId) -> bool {
        let agent = self.agent(id);
        !agent.removed && agent.spec.adapter != model::Adapter::Human
    }

    /// The agent who works on a task.
    pub fn worker_of(&self, task: TaskId) -> &AgentPlan {
        self.agent(self.task(task).agent)
    }

    /// The name of an agent.
    pub fn agent_name(&self, id: AgentId) -> &str {
        &self.agent(id).name
    }

    /// The names of agents, in their order.
    pub fn agent_names(&self, ids: &[AgentId]) -> Vec<&str> {
        ids.iter().map(|id| self.agent_name(*id)).collect()
    }

    /// The agents that are asked instead of one that cannot be reached, in order; each once, with their own
    /// fallbacks.
    pub fn fallbacks(&self, agent: AgentId) -> Vec<AgentId> {
        let mut found: Vec<AgentId> = Vec::new();
        let named = |id: AgentId| {
            let names = self.agent(id).spec.fallback.iter().rev();
            names.filter_map(|name| self.find_agent(name)).collect::<Vec<_>>()
        };
        let mut open = named(agent);
        while let Some(next) = open.pop() {
            if next != agent && !found.contains(&next) {
                found.push(next);
                open.extend(named(next));
            }
        }
        found
    }

    /// The price of a model, if it has one.
    pub fn price(&self, model: &str) -> Option<&model::Price> {
        let mut prices = self.rules.prices.iter();
        prices.find(|(known, _)| **known == *model).map(|(_, price)| price)
    }

    /// The model of an agent that is paid by its tokens and has no price; `None` where everything is known.
    pub fn unpriced_model(&self, agent: AgentId) -> Option<&str> {
        let model = crate::mission::validate::budget::model_of(&self.agent(agent).spec)?;
        self.price(model).is_none().then_some(model)
    }

    /// The channel of this name.
    pub fn channel(&self, name: &str) -> Option<&ChannelPlan> {
        self.channels.iter().find(|channel| &*channel.name == name)
    }

    /// The names of all channels that anything in the plan notifies, each once.
    pub fn notified_channels(&self) -> std::collections::BTreeSet<&str> {
        let of_gates = self.gates.iter().filter_map(|gate| gate.notify.as_deref());
        let of_barriers = self.barriers.iter().filter_map(|hold| hold.notify.as_deref());
        let sla = &self.rules.sla;
        let of_run = [&*self.rules.default_channels, &sla.warning_channels, &sla.violation_channels];
        let all = of_gates.chain(of_barriers).chain(of_run).flatten();
        all.map(|name| &**name).collect()
    }

    /// The gate with this id.
    pub fn gate(&self, id: GateId) -> &GatePlan {
        &self.gates[id.index()]
    }

    /// The hold with this id.
    pub fn barrier(&self, id: BarrierId) -> &BarrierPlan {
        &self.barriers[id.index()]
    }

    /// The ids of all checkpoints and delays of the mission, reached or not.
    pub fn barrier_ids(&self) -> impl Iterator<Item = BarrierId> {
        let all = (0..self.barriers.len()).map(BarrierId::from_index);
        all.filter(|id| self.barrier(*id).part != Part::Removed)
    }

    /// The ids of all tasks of the mission, selected or not. In file order; what a changed mission added comes last.
    pub fn task_ids(&self) -> impl Iterator<Item = TaskId> + Clone {
        self.every_task_id().filter(|id| self.task(*id).part != Part::Removed)
    }

    /// The ids of all tasks that the run takes.
    pub fn selected_ids(&self) -> impl Iterator<Item = TaskId> {
        self.every_task_id().filter(|id| self.task(*id).part == Part::Selected)
    }

    /// The ids of all tasks that the run ever had: those that a changed mission no longer has, too.
    pub fn every_task_id(&self) -> impl Iterator<Item = TaskId> + Clone + use<> {
        (0..self.tasks.len()).map(TaskId::from_index)
    }

    /// The ids of all gates of the mission, evaluated or not.
    pub fn gate_ids(&self) -> impl Iterator<Item = GateId> {
        let all = (0..self.gates.len()).map(GateId::from_index);
        all.filter(|id| self.gate(*id).part != Part::Removed)
    }
}

fn gate_edges(tasks: usize, gates: &[GatePlan], side: impl Fn(&GatePlan) -> &[TaskId]) -> Edges<GateId> {
    let mut pairs = Vec::new();
    for (index, gate) in gates.iter().enumerate() {
        pairs.extend(side(gate).iter().map(|task| (task.0, GateId::from_index(index))));
    }
    Edges::new(tasks, &pairs)
}

/// The part of a task or a gate in a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Part {
    /// The task is worked on, or the gate is evaluated.
    #[default]
    Selected,
    /// The mission has it, but the run was told to leave it out (`--only`).
    NotSelected,
    /// Only a mission that the run had before has it. It keeps its id, because the journal speaks of it.
    Removed,
}

/// The extent to which a mission is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Extent {
    /// The whole mission is carried out.
    #[default]
    Whole,
    /// Handed-in work is judged, and no work is done (`quorum review`).
    Judging,
    /// The results of checks before the work are looked at, and no work is done (`quorum plan --baseline`).
    Baselines,
}

/// An agent with its name and manager resolved; the rest as written in the file.
#[derive(Debug, Clone)]
pub struct AgentPlan {
    pub name: Arc<str>,
    /// Whether only a mission that the run had before has it.
    pub removed: bool,
    /// The manager of the agent.
    pub reports_to: Option<AgentId>,
    /// The agent as the file describes it.
    pub spec: model::Agent,
}

/// A channel with its name, and what holds for its `sandbox`; the rest as written in the file.
#[derive(Debug, Clone, PartialEq)]
pub struct ChannelPlan {
    pub name: Box<str>,
    /// The channel as the file describes it.
    pub spec: model::Channel,
}

/// A task in the form that a run carries out.
#[derive(Debug, Clone)]
pub struct TaskPlan {
    /// The title, unique in the run.
    pub title: Box<str>,
    /// Whether the run takes it.
    pub part: Part,
    /// The moment until which the task must be finished.
    pub deadline: Option<Deadline>,
    /// The work to do.
    pub description: Option<Box<str>>,
    /// The agent that the mission names for the task.
    pub assigned: AgentId,
    /// The agent that has the task now: the assigned one, or another one that goes on with it.
    pub agent: AgentId,
    /// Others who worked on it before, each once.
    pub agents_before: ThinVec<AgentId>,
    /// The agent that handed it down, if any.
    pub delegated_by: Option<AgentId>,
    /// Orders the ready queue and weighs in the mission threshold. Greater than zero.
    pub priority: Decimal,
    /// The kind of the work.
    pub kind: model::TaskType,
    /// The confinement that the task asks for itself.
    pub confinement: Confinement,
    /// Whether nothing else may run while the task runs and is judged.
    pub exclusive: bool,
    /// Whether only a person's word makes its agent act again.
    pub side_effects: bool,
    /// The approvals that the task needs before it starts, in order.
    pub approvals: Vec<Arc<ApprovalPlan>>,
    /// Whether work without any tool call counts as not done; `None` goes by the kind of work.
    pub requires_tool_calls: Option<bool>,
    /// How long one turn may take.
    pub turn_timeout: Millis,
    /// The silence of the agent that is still taken for work.
    pub silence: IdleTimeout,
    /// The limits on attempts.
    pub limits: AttemptLimits,
    /// The review that the task asks for.
    pub review: model::Review,
    /// The end of the task when its attempts are exhausted; `None` is the default of semantics section 3.
    pub on_exhausted: Option<model::OnExhausted>,
    /// The remedies when a dependency failed; `None` where the mission's hold.
    pub on_dependency_failed: Option<model::RemedyOrder>,
    /// The workspace of the task relative to the mission's; `None` where that is used.
    pub workspace: Option<Box<str>>,
    /// The way in which the task shares the workspace with others.
    pub isolation: model::Isolation,
    /// Files that the task must produce; preflight checks them.
    pub target_files: ThinVec<Box<str>>,
    /// Paths or globs in its workspace that its agent must not change, beside those of the mission.
    pub protect: ThinVec<Box<str>>,
    /// Whether the checks are looked at before the work; `None` where the mission's setting holds.
    pub baseline: Option<bool>,
    /// The treatment of work that nothing proves; `None` where the mission's holds.
    pub proof: Option<model::ProofRule>,
    /// The globs that tell tests; `None` where the mission's hold.
    pub tests: Option<ThinVec<Box<str>>>,
    /// Whether the work may change tests that are there.
    pub may_change_tests: bool,
    /// Globs of files that may appear or change below protected folders while one of the task's checks runs;
    /// `None` where the mission's hold.
    pub checks_may_write: Option<ThinVec<Box<str>>>,
    /// Caches that its checks and judges find empty, where that is not what the mission says.
    pub scratch: Option<ThinVec<Box<str>>>,
    /// The stages that judge the task, in this order; equal tasks share one list.
    pub pipeline: Arc<[StagePlan]>,
    /// How much agents may decide alone.
    pub autonomy: model::Autonomy,
    /// How much harm wrong work would do.
    pub stakes: model::Stakes,
    /// Whether so much is built on it that it gets relief.
    pub foundation: bool,
    /// The middleware around the turns of the task; `None` where the mission's holds.
    pub middleware: Option<Box<model::AgentChain>>,
    /// The criteria by which the work is accepted, in words: the worker and all judges are told.
    pub acceptance: ThinVec<Box<str>>,
    /// For a verification: where its edges lead.
    pub route: Option<Box<Route>>,
    /// The layer of the task in the mission's graph, from 0.
    pub wave: u32,
    /// The origin of a task that is not the mission's own; `None` for one that is.
    pub provenance: Option<Box<Provenance>>,
}

/// How long an agent may be silent (semantics, section 5).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdleTimeout {
    /// The silence after which somebody is warned.
    pub warned_after: Millis,
    /// The silence after which the agent is killed; `None` is never. An agent that prints once at its end is
    /// not stale, so only one that was given a threshold of its own is.
    pub killed_after: Option<Millis>,
}

impl IdleTimeout {
    /// By the threshold of the task or its agent, else by the one of all.
    pub fn of(own: Option<Millis>, all: Millis) -> Self {
        Self {
            warned_after: own.unwrap_or(all),
            killed_after: own.map(|own| Millis(own.0.saturating_mul(2))),
        }
    }
}

/// How often a task may be tried (semantics, section 4).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttemptLimits {
    /// Fixes after one execute or retry.
    pub max_fix_attempts: u32,
    /// The most retries in all.
    pub max_retries: u32,
    /// Cap on attempts of every kind, from the task itself or `--max-attempts`: holds however the task is judged.
    pub max_attempts: Option<u32>,
    /// Cap on attempts where the task is judged by evaluation (`settings.maxAttempts`, default 2).
    pub max_evaluated_attempts: u32,
}

/// A quality gate in the form that a run carries out.
#[derive(Debug, Clone)]
pub struct GatePlan {
    /// The name of the gate, unique among gates.
    pub name: Box<str>,
    /// Whether the run evaluates it: all of its `after` are selected.
    pub part: Part,
    /// The tasks that must have ended before the gate is evaluated.
    pub after: Vec<TaskId>,
    /// The tasks that wait for the gate to pass.
    pub blocks: Vec<TaskId>,
    /// The mean score `after` must reach.
    pub min_score: Option<Points>,
    /// Whether a task that failed or was called off fails the gate.
    pub require_all_passed: bool,
    /// Whether work accepted below the bar may pass.
    pub accept_below_threshold: bool,
    /// Whether a failure of the gate stops everything else too.
    pub halt_on_fail: bool,
    /// The channels that hear of its result; `None`: the default channels, of failures only.
    pub notify: Option<Box<[Box<str>]>>,
}

/// Somebody's agreement that a task needs before it starts, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalPlan {
    /// The approval gate that asks for it; `None` for the task's own `requiresApproval`.
    pub gate: Option<Box<str>>,
    /// The people and agents that may agree; one of them is enough. Empty: any person.
    pub approvers: Vec<ApproverPlan>,
    /// The time after which nobody is waited for any more; `None` waits for ever.
    pub timeout: Option<Millis>,
    /// The question to the approvers.
    pub message: Option<Box<str>>,
}

/// One who may agree.
#[derive(Debug, Clone, PartialEq)]
pub enum ApproverPlan {
    /// A person, by the name that the file has.
    Person(Box<str>),
    /// An agent, never the one whose task it is.
    Agent(AgentId),
    /// A command: exit 0 agrees, 1 refuses, anything else leaves it open.
    Command(Box<str>),
}

impl ApproverPlan {
    /// The approver as records name it.
    pub fn name(&self, plan: &Plan) -> String {
        match self {
            Self::Person(name) => name.to_string(),
            Self::Agent(agent) => plan.agent_name(*agent).to_owned(),
            Self::Command(command) => format!("the command '{command}'"),
        }
    }
}

/// A checkpoint or a delay, resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct BarrierPlan {
    /// The name, unique among those of its kind.
    pub name: Box<str>,
    /// The thing that the barrier waits for: a person or a time.
    pub kind: BarrierKind,
    /// Whether the run comes to it: all of its `after` are selected.
    pub part: Part,
    /// The tasks that must have ended before the barrier begins.
    pub after: Vec<TaskId>,
    /// The tasks that wait for the barrier.
    pub blocks: Vec<TaskId>,
    /// The message for the person, or the one that is shown meanwhile.
    pub message: Option<Box<str>>,
    /// The channels that are told when it is reached; `None`: the default channels of a checkpoint, none of a delay.
    pub notify: Option<Box<[Box<str>]>>,
}

/// The thing that a checkpoint or a delay waits for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BarrierKind {
    /// A person lets the tasks behind the checkpoint start.
    Checkpoint,
    /// The time that a delay lasts.
    Delay(Millis),
}

/// Rules for the whole run: settings of the file under the flags and environment of the command line.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Settings as they hold for this session: `--no-eval` and `--eval-threshold` are among them.
    pub settings: model::EffectiveSettings,
    /// Tasks that may hold a slot at the same time.
    pub concurrency: u32,
    /// The agent that answers questions and decides about failed dependencies; `None`: persons do.
    pub orchestrator: Option<AgentId>,
    /// The settings that make judging less strict, each with its place.
    pub loosened: Vec<Loosening>,
    /// The mission's own bar over all scored tasks.
    pub quality_threshold: Option<Points>,
    /// The mission-wide `onExhausted`.
    pub on_exhausted: Option<model::OnExhausted>,
    /// Paths or globs in the workspace that no agent may change.
    pub protect: Vec<Box<str>>,
    /// The absolute path of the workspace.
    pub workspace: std::path::PathBuf,
    /// The files that are kept from workers, in a session that has hidden checks.
    pub hidden: Option<std::sync::Arc<HiddenFiles>>,
    /// The isolation of tasks that do not name theirs.
    pub isolation: model::Isolation,
    /// How tasks are isolated.
    pub worktrees: WorktreePlan,
    /// How work is handed to workers on other machines.
    pub workers: model::Workers,
    /// Where the spans of the run go.
    pub telemetry: model::Telemetry,
    /// The extent to which the mission is carried out.
    pub extent: Extent,
    /// The sandbox of the session, which wins over every other setting.
    pub session_sandbox: Option<model::Sandbox>,
    /// When the mission must be finished.
    pub deadline: Option<Deadline>,
    /// The rules for deadlines.
    pub sla: SlaPlan,
    /// Bars that labelled work gives to panels.
    pub calibration: Option<Arc<Calibration>>,
    /// The limits of the run.
    pub budget: model::Budget,
    /// The prices of models.
    pub prices: Vec<(Box<str>, model::Price)>,
    /// The channels of notifications that name none.
    pub default_channels: Box<[Box<str>]>,
    /// The middleware around the turns of tasks that name none.
    pub middleware: model::AgentChain,
    /// The middleware around the work on the whole graph.
    pub coordination: model::CoordinationChain,
}
