//! An agent that is a program: how it is started for a turn or a question, with a preset or without.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agents::acp;
use crate::agents::command_line::{ChildEnv, Program};
use rules::domain::Money;
use rules::mission::model::{
    Adapter, Agent, AgentTools, PermissionRule, PermissionSet, Permissions, Preset, PromptRoute,
};

use super::invocation::{Invocation, ProgramStart, TurnSession, Use};
use super::tool_server::ToolServer;

/// An agent that is a program.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandAgent {
    pub program: Program,
    pub env: ChildEnv,
    /// The preset by which the program is started and read; `None` where it has its own command line, and its
    /// output is the reply.
    pub by: Option<ByPreset>,
}

/// How a preset starts an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ByPreset {
    pub preset: Arc<Preset>,
    /// The path of this program, where it is the agent's client.
    client: Option<PathBuf>,
    /// The path of this program, where the agent is handed the tools of its turn.
    tools: Option<PathBuf>,
    model: Option<String>,
    permissions: Permissions,
    budget: Option<Money>,
}

impl ByPreset {
    /// The settings of an agent that has a preset; `None` for other agents.
    ///
    /// # Errors
    ///
    /// Where it needs this program, and that cannot be found.
    pub fn of(agent: &Agent) -> std::io::Result<Option<Self>> {
        let Some(preset) = agent.preset.clone() else {
            return Ok(None);
        };
        let is_acp = agent.adapter == Adapter::Acp;
        let has_tools = agent.agent_tools == AgentTools::Mcp;
        Ok(Some(Self {
            preset,
            tools: has_tools.then(std::env::current_exe).transpose()?,
            client: is_acp.then(supervisor::this_program).transpose()?,
            model: agent.model.clone(),
            permissions: agent.permissions.clone(),
            budget: agent.max_cost_per_turn,
        }))
    }

    /// The permissions of the agent as a worker.
    pub fn permissions(&self) -> PermissionSet {
        self.permissions.set()
    }

    /// The options for the agent's client; `None` where it has none.
    fn acp_options(&self, start: &ProgramStart<'_>, tools: Option<&ToolServer>) -> Option<Value> {
        self.client.as_ref()?;
        let permissions = match start.purpose {
            Use::Question => PermissionSet::Read,
            Use::Work(permissions) => permissions,
        };
        let rule = |rule: &Option<PermissionRule>, else_: &str| match rule {
            None => json!(else_),
            Some(PermissionRule::Every(policy)) => json!(policy),
            Some(PermissionRule::Paths(globs)) => json!({"allow": globs}),
        };
        let rules = json!({
            "read": rule(&self.permissions.read, "allow"),
            "edit": rule(&self.permissions.edit, "allow"),
            "run": rule(&self.permissions.run, "deny"),
        });
        let has_rules = self.permissions.has_rules() && start.purpose != Use::Question;
        Some(json!({
            "permissions": permissions.as_str(),
            "rules": has_rules.then_some(rules),
            "session": match start.session {
                TurnSession::New(_) => None,
                TurnSession::Resumed(id) => Some(id),
            },
            "model": self.model,
            "allowed": start.allowed,
            "servers": tools.map(ToolServer::acp).into_iter().collect::<Vec<_>>(),
        }))
    }
}

impl CommandAgent {
    /// Whether the prompt is an argument; else it is the standard input.
    pub fn takes_prompt_as_argument(&self) -> bool {
        let by = self.by.as_ref();
        by.is_some_and(|by| by.preset.prompt == PromptRoute::Argument)
    }

    /// The argument list of a start, and the variables that come before those of the agent; `told` are the first of them, which
    /// nothing else may name.
    pub fn start(
        &self,
        mut told: Vec<(String, String)>,
        start: &ProgramStart<'_>,
    ) -> (Vec<String>, Vec<(String, String)>) {
        let words = self.program.argv(&start.placeholders);
        let Some(by) = &self.by else {
            return (words, told);
        };
        let client =
            by.client.iter().flat_map(|client| [client.to_string_lossy().into_owned(), acp::WORD.to_owned()]);
        let program: Vec<String> = client.chain(words).collect();
        let tools = match (&by.tools, start.purpose) {
            (Some(program), Use::Work(_)) => Some(ToolServer::new(program, &told)),
            _ => None,
        };
        let invocation = Invocation {
            tools: tools.as_ref(),
            preset: &by.preset,
            program: &program,
            model: by.model.as_deref(),
            budget: by.budget.filter(|budget| *budget != Money::ZERO),
            start,
        };
        told.extend(
            by.acp_options(start, tools.as_ref())
                .map(|options| (acp::VARIABLE.to_owned(), options.to_string())),
        );
        for (name, value) in invocation.variables() {
            // What the agent itself is given weighs more than what its preset says.
            if told.iter().chain(&self.env.variables).all(|(known, _)| *known != name) {
                told.push((name, value));
            }
        }
        for (name, value) in invocation.granted() {
            told.retain(|(known, _)| *known != name);
            told.push((name, value));
        }
        (invocation.argv(), told)
    }
}
