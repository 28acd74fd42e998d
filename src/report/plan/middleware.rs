//! What is done around turns and around the whole graph, as it would run (semantics, section 17).

use serde::Serialize;

use crate::domain::TaskId;
use crate::mission::Plan;
use crate::mission::model::{Agent, AgentChain, AgentHook, AgentMiddleware, CoordinationChain};

/// The chains of a mission.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MiddlewareRow {
    /// Around every turn, by hook, in the order of a turn.
    agent: Vec<HookRow>,
    /// Around the work on the whole graph, in order.
    coordination: Vec<&'static str>,
    /// Whether the mission names another chain than every mission has.
    #[serde(skip)]
    pub is_own: bool,
}

/// What runs at one hook, in the order in which it runs; of what wraps a call the outermost first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HookRow {
    hook: &'static str,
    entries: Vec<&'static str>,
    /// Those of them that hold in every run, named or not.
    always: Vec<&'static str>,
}

impl MiddlewareRow {
    pub fn of(plan: &Plan) -> Self {
        let (agent, coordination) = (&plan.rules.middleware, &plan.rules.coordination);
        Self {
            agent: rows(agent),
            coordination: coordination.names().collect(),
            is_own: *agent != AgentChain::default() || *coordination != CoordinationChain::default(),
        }
    }

    /// In a line.
    pub fn words(&self) -> String {
        let coordination = match self.coordination.as_slice() {
            [] => "nothing".to_owned(),
            names => names.join(", "),
        };
        format!(
            "around every turn: {}; around the graph: {coordination}",
            words(&self.agent)
        )
    }
}

/// What is done around the turns of a task that says so itself.
pub(super) fn own(plan: &Plan, id: TaskId) -> Option<Vec<HookRow>> {
    let own = plan.task(id).middleware.as_deref();
    own.map(rows)
}

/// The hooks that come around an agent: of one that nobody can look into only those outside.
pub(super) fn hooks(agent: &Agent) -> Vec<&'static str> {
    let comes = |hook: &&AgentHook| hook.is_outside() || agent.works_with_tools();
    AgentHook::ALL
        .iter()
        .filter(comes)
        .map(|hook| hook.as_str())
        .collect()
}

fn rows(chain: &AgentChain) -> Vec<HookRow> {
    let row = |hook: &AgentHook| {
        let mut entries = chain.at(*hook);
        // What holds in every run stands there too where the chain leaves it out.
        let held = AgentMiddleware::DEFAULT
            .into_iter()
            .filter(|entry| entry.hook() == *hook);
        entries.extend(held.filter(|entry| entry.is_always_on() && !chain.has(*entry)));
        let always = entries.iter().filter(|entry| entry.is_always_on());
        HookRow {
            hook: hook.as_str(),
            always: always.map(|entry| entry.as_str()).collect(),
            entries: entries.iter().map(|entry| entry.as_str()).collect(),
        }
    };
    let rows = AgentHook::ALL.iter().map(row);
    rows.filter(|row| !row.entries.is_empty()).collect()
}

/// The entries of a chain in a line.
pub(super) fn words(rows: &[HookRow]) -> String {
    let row = |row: &HookRow| format!("{} {}", row.hook, row.entries.join(", "));
    rows.iter().map(row).collect::<Vec<_>>().join("; ")
}
