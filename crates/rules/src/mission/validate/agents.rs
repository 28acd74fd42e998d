//! Agents: what their adapter needs, and who reports to whom.

use std::collections::HashMap;

use super::{Names, quoted};
use crate::mission::{
    file::{
        codes::Code,
        keys::Named,
        scalar::{Referent, Scalar, unknown_word},
        violation::{Path, Violation, ViolationPlace, Violations},
    },
    model::{Adapter, AdapterKind, AdapterName, Agent, AgentTools, CommandLine, SessionUse},
};

pub fn validate(agents: &Named<Agent>, names: &Names<'_>, problems: &mut Violations) {
    if agents.0.is_empty() && !names.incomplete.contains(&Referent::Agent) {
        problems.refuse(
            Code::NoAgents,
            Path::of("agents"),
            "the mission has no agents",
            "add for example `agents: {worker: {run: [\"my-agent\"]}}`",
        );
    }
    validate_each(agents, problems);
    unknown_adapters(agents, problems);
    for (name, agent) in &agents.0 {
        if let Some(manager) = &agent.reports_to {
            let place = || path(name).key("reportsTo");
            names.check_agent(manager, place, problems);
        }
        for (item, other) in agent.fallback.iter().enumerate() {
            let place = || path(name).key("fallback").item(item);
            names.check_agent(other, place, problems);
            if other == name {
                problems.refuse(
                    Code::BadValue,
                    place(),
                    format!("the agent {} cannot stand in for itself", quoted(name)),
                    "name another agent, or remove `fallback`",
                );
            }
            if agents.get(other).is_some_and(|found| found.adapter == Adapter::Human) {
                problems.refuse(
                    Code::BadValue,
                    place(),
                    format!("{} is a person, and nobody can be called instead of an agent", quoted(other)),
                    "name an agent; people are asked by approvals and reviews that name them",
                );
            }
        }
    }
    reporting_circles(agents, problems);
}

/// Finds the problems of each agent that need no other agent.
pub fn validate_each(agents: &Named<Agent>, problems: &mut Violations) {
    for (name, agent) in &agents.0 {
        // Git leaves these out of whoever made a commit.
        let is_left_out = |c: char| c.is_ascii_whitespace() || ".,:;<>\"\\'".contains(c);
        if !name.is_empty() && name.chars().all(is_left_out) {
            problems.refuse(
                Code::BadTitle,
                ViolationPlace::Key(path(name)),
                format!("the agent {} could sign no commit", quoted(name)),
                "give it a name with a letter or a digit",
            );
        }
        if agent.tools.is_some() && !agent.adapter.is_http() {
            problems.refuse(
                Code::KeyDoesNotApply,
                ViolationPlace::Key(path(name).key("tools")),
                format!(
                    "`tools` does not apply to the agent {}: its adapter asks no model over HTTP",
                    quoted(name)
                ),
                "remove `tools`: any other agent brings its own",
            );
        }
        match agent.adapter.kind() {
            AdapterKind::Command => command(name, agent, problems),
            AdapterKind::Model { example, .. } => {
                if agent.model.is_none() {
                    let message = format!("the agent {} has no `model`", quoted(name));
                    let place = path(name).key("model");
                    let example = format!("add for example `model: {example}`");
                    problems.refuse(Code::IncompleteAgent, place, message, example);
                }
                foreign(name, agent, problems);
            }
            AdapterKind::AgentCli => program(name, agent, problems),
            AdapterKind::Echo | AdapterKind::Person => foreign(name, agent, problems),
        }
        without_preset(name, agent, problems);
    }
}

/// Refuses keys that only an agent with a preset uses: on others they would be ignored.
fn without_preset(name: &str, agent: &Agent, problems: &mut Violations) {
    let is_program = agent.adapter.kind() == AdapterKind::AgentCli;
    let is_started = is_program || agent.adapter == Adapter::Command;
    let rules = agent.permissions.has_rules() && agent.adapter != Adapter::Acp;
    let has_words = agent.preset.as_ref().is_some_and(|preset| !preset.mcp.is_empty());
    let takes_server = agent.adapter == Adapter::Acp || has_words;
    let found = [
        ("session", agent.session == Some(SessionUse::Fresh) && !is_program),
        ("permissions", agent.permissions.set.is_some() && !is_program),
        ("permissions", rules),
        ("agentTools", agent.agent_tools == AgentTools::Mcp && (!takes_server || agent.queue.is_some())),
        ("passEnv", !agent.pass_env.is_empty() && !is_started),
    ];
    for (key, _) in found.into_iter().filter(|(_, is_found)| *is_found) {
        let place = ViolationPlace::Key(path(name).key(key));
        let (message, help) = match key {
            "permissions" if rules => (
                "rules by kind of tool hold over ACP only",
                "write `permissions: read`, `edit` or `full`, or `adapter: acp`",
            ),
            "agentTools" if agent.queue.is_some() => (
                "it works on other machines, where this program may lie elsewhere",
                "write `agentTools: cli`",
            ),
            "agentTools" => (
                "its program cannot be handed a server",
                "write `agentTools: cli`, or `adapter: claude`, `codex` or `acp`",
            ),
            "passEnv" => ("its adapter starts no program", "remove it"),
            _ => ("its adapter is no preset", "remove it, or write for example `adapter: claude`"),
        };
        problems.refuse(
            Code::KeyDoesNotApply,
            place,
            format!("`{key}` does not apply to the agent {}: {message}", quoted(name)),
            help,
        );
    }
}

/// An agent that a preset starts: `run` names another program.
fn program(name: &str, agent: &Agent, problems: &mut Violations) {
    let place = || path(name).key("run");
    let example = "write a list, such as `run: [\"gemini\", \"--acp\"]`";
    match &agent.run {
        None if agent.adapter == Adapter::Acp => {
            problems.refuse(
                Code::IncompleteAgent,
                place(),
                format!("the agent {} has no `run`: the server that speaks ACP", quoted(name)),
                example,
            );
        }
        Some(CommandLine::Shell(_)) => {
            problems.refuse(
                Code::BadValue,
                place(),
                format!("`run` of the agent {} is no list: its preset adds arguments", quoted(name)),
                example,
            );
        }
        Some(CommandLine::Argv(_)) => command(name, agent, problems),
        None => {}
    }
    // Its own value would stand in the place of what says what it may do.
    let preset = agent.preset.iter();
    let grants = preset.flat_map(|preset| [&preset.read, &preset.edit, &preset.full]);
    let mut granted = grants.flat_map(|grant| grant.env.keys());
    if let Some(variable) =
        granted.find(|name| agent.env.contains_key(*name) || agent.pass_env.contains(*name))
    {
        let is_own = agent.env.contains_key(variable);
        let (variable, told) = (quoted(variable), quoted(name));
        problems.refuse(
            Code::KeyDoesNotApply,
            ViolationPlace::Key(path(name).key(if is_own { "env" } else { "passEnv" })),
            format!("{variable} is how its preset says what the agent {told} may do"),
            "remove it, and write `permissions`; other settings of the program belong into a file of its own",
        );
    }
}

/// Adapters that nobody knows: neither quorum nor a preset has the name.
fn unknown_adapters(agents: &Named<Agent>, problems: &mut Violations) {
    for (name, agent) in &agents.0 {
        if agent.adapter == Adapter::Own && agent.preset.is_none() {
            let words: Vec<&str> = Adapter::all().map(Adapter::as_str).collect();
            let fault = unknown_word(agent.adapter.as_str(), AdapterName::EXPECTS, &words);
            problems.refuse(
                fault.code,
                path(name).key("adapter"),
                fault.message,
                fault.help.unwrap_or_default(),
            );
        }
    }
}

fn path(name: &str) -> Path {
    Path::of("agents").key(name.to_owned())
}

fn command(name: &str, agent: &Agent, problems: &mut Violations) {
    let place = || path(name).key("run");
    match &agent.run {
        None => problems.push(
            Violation::error(
                Code::IncompleteAgent,
                place(),
                format!("the agent {} has no `run`", quoted(name)),
            )
            .help("add `run: [\"program\", \"argument\"]`, or an `adapter`")
            .unless_wrong(path(name).key("adapter")),
        ),
        Some(CommandLine::Argv(argv)) if argv.first().is_none_or(|program| program.trim().is_empty()) => {
            problems.refuse(
                Code::EmptyValue,
                place(),
                format!("the agent {} runs nothing", quoted(name)),
                "name the program first: `run: [\"program\", \"argument\"]`",
            );
        }
        Some(CommandLine::Shell(script)) if script.trim().is_empty() => {
            problems.refuse(
                Code::EmptyValue,
                place(),
                format!("the agent {} runs nothing", quoted(name)),
                "write a command, such as `run: \"my-agent --fast\"`",
            );
        }
        Some(_) => {}
    }
}

/// `run` of an agent that is not started by a command line would be ignored.
fn foreign(name: &str, agent: &Agent, problems: &mut Violations) {
    if agent.run.is_some() {
        problems.refuse(
            Code::KeyDoesNotApply,
            ViolationPlace::Key(path(name).key("run")),
            format!("`run` does not apply to the agent {}: its adapter is not `command`", quoted(name)),
            "remove `run`, or write `adapter: command`",
        );
    }
}

/// Reports each circle of `reportsTo` once, where it begins in the file.
fn reporting_circles(agents: &Named<Agent>, problems: &mut Violations) {
    let index: HashMap<&str, usize> =
        agents.0.iter().enumerate().map(|(at, (name, _))| (&**name, at)).collect();
    let manager = |at: usize| index.get(agents.0[at].1.reports_to.as_deref()?).copied();
    // The walk that first came by, so that every agent is walked over once.
    let mut walked_by = vec![usize::MAX; agents.0.len()];
    for start in 0..agents.0.len() {
        let mut at = start;
        while walked_by[at] == usize::MAX {
            walked_by[at] = start;
            match manager(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        let closes_circle = walked_by[at] == start && manager(at).is_some();
        if closes_circle {
            let mut circle = vec![at];
            let mut next = manager(at);
            while let Some(member) = next.filter(|member| *member != at) {
                circle.push(member);
                next = manager(member);
            }
            circle.push(at);
            report(agents, &circle, problems);
        }
    }
}

fn report(agents: &Named<Agent>, circle: &[usize], problems: &mut Violations) {
    let name = |at: usize| &*agents.0[at].0;
    let place = path(name(circle[0])).key("reportsTo");
    let message = if circle.len() == 2 {
        format!("the agent {} reports to itself", quoted(name(circle[0])))
    } else {
        let shown: Vec<_> = circle.iter().take(10).map(|at| quoted(name(*at))).collect();
        format!("these agents report to each other in a cycle: {}", shown.join(" -> "))
    };
    problems.refuse(Code::ReportingCycle, place, message, "remove one `reportsTo`");
}
