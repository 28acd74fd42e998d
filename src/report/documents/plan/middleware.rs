//! What is done around turns and around the whole graph, as it would run (semantics, section 17).

use schemars::JsonSchema;
use serde::Serialize;

use crate::report::documents::fields;
use rules::{
    domain::TaskId,
    mission::model::{
        Agent, AgentChain, AgentHook, AgentMiddleware, Around, CoordinationChain, CoordinationHook,
        CoordinationMiddleware,
    },
    plan::Plan,
};

/// The name of the step that runs once the plan is made, named or not: the warnings that `validate` and `run`
/// print.
const PLAN_WARNINGS: &str = "plan_warnings";

/// The chains of a mission.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MiddlewareRow {
    /// Around every turn, by hook, in the order of a turn; around an agent that nobody can look into fewer hooks come.
    agent: Vec<HookRow>,
    /// Around the work on the whole graph, in order.
    coordination: Vec<&'static str>,
    /// The entries around the whole graph, by hook, in the order in which the hooks come.
    coordination_hooks: Vec<HookRow>,
    /// Whether the mission names another chain than every mission has.
    #[serde(skip_serializing_if = "fields::in_json")]
    #[schemars(skip)]
    is_own: bool,
}

/// The entries that run at one hook, in the order in which they run; of what wraps a call the outermost first.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookRow {
    /// The name of the hook.
    hook: &'static str,
    /// The names of the entries that run at the hook.
    entries: Vec<&'static str>,
    /// The entries that hold in every run, whether the mission names them or not.
    always: Vec<&'static str>,
}

impl HookRow {
    /// Makes the row of the entries that a chain names at a hook and the one that always holds there; `None` where nothing runs.
    fn of(
        hook: &'static str,
        named: impl Iterator<Item = &'static str>,
        always: Option<&'static str>,
    ) -> Option<Self> {
        let entries: Vec<&str> = named.chain(always).collect();
        let always = always.into_iter().collect();
        (!entries.is_empty()).then_some(Self { hook, entries, always })
    }
}

impl MiddlewareRow {
    pub fn of(plan: &Plan) -> Self {
        let (agent, coordination) = (&plan.rules.middleware, &plan.rules.coordination);
        Self {
            agent: rows(agent, Around::Inside),
            coordination: coordination.iter().map(CoordinationMiddleware::as_str).collect(),
            coordination_hooks: coordination_rows(coordination),
            is_own: *agent != AgentChain::default() || *coordination != CoordinationChain::default(),
        }
    }
}

/// The entries around the turns of a task; `None` where the task does not name any itself.
pub fn own(plan: &Plan, id: TaskId) -> Option<Vec<HookRow>> {
    let own = plan.task(id).middleware.as_deref();
    own.map(|chain| rows(chain, plan.worker_of(id).spec.around()))
}

/// The hooks that come around an agent: of one that nobody can look into only those outside.
pub fn hooks(agent: &Agent) -> Vec<&'static str> {
    agent.around().hooks().map(|hook| hook.as_str()).collect()
}

/// The entries around the turns of an agent, by hook.
pub fn around(plan: &Plan, agent: &Agent) -> Vec<HookRow> {
    rows(&plan.rules.middleware, agent.around())
}

fn rows(chain: &AgentChain, around: Around) -> Vec<HookRow> {
    let row = |hook: AgentHook| {
        let named = chain.at(hook, around).into_iter().map(AgentMiddleware::as_str);
        HookRow::of(hook.as_str(), named, None)
    };
    around.hooks().filter_map(row).collect()
}

fn coordination_rows(chain: &CoordinationChain) -> Vec<HookRow> {
    let row = |hook: CoordinationHook| {
        let named = chain.iter().filter(|entry| entry.hook() == hook);
        let always = (hook == CoordinationHook::AfterDecompose).then_some(PLAN_WARNINGS);
        HookRow::of(hook.as_str(), named.map(CoordinationMiddleware::as_str), always)
    };
    CoordinationHook::ALL.into_iter().filter_map(row).collect()
}
