//! Agents with a `queue`, who work on other machines: what their adapter, their tasks and the settings must be.

use std::collections::HashSet;

use super::stages::stand_ins;
use super::{Names, quoted};
use crate::domain::Millis;
use crate::mission::{
    file::{
        codes::Code,
        keys::Named,
        scalar::Span,
        violation::{Path, ViolationPlace, Violations},
    },
    model::{Adapter, AdapterKind, Agent, Isolation, Mission, SessionUse, Settings, Task, TaskType, Workers},
};

/// Finds the problems that a `queue` has whatever the mission; `has_workers` says whether this build hands work to workers.
pub fn validate_each(agents: &Named<Agent>, has_workers: bool, problems: &mut Violations) {
    for (name, agent) in agents.0.iter().filter(|(_, agent)| agent.queue.is_some()) {
        let place = |key| ViolationPlace::Key(Path::of("agents").key(name.to_string()).key(key));
        let name = quoted(name);
        if !has_workers {
            problems.refuse(
                Code::NotInThisBuild,
                place("queue"),
                format!(
                    "the agent {name} has a `queue`, and this build of quorum hands no work to other machines"
                ),
                "remove `queue`, or build quorum with `--features temporal`",
            );
            continue;
        }
        let is_command = matches!(agent.adapter.kind(), AdapterKind::Command | AdapterKind::AgentCli);
        if !is_command || agent.adapter == Adapter::Acp {
            problems.refuse(
                Code::KeyDoesNotApply,
                place("queue"),
                format!("`queue` does not apply to the agent {name}: only commands and agent programs work on other machines"),
                "remove it, or name another `adapter`",
            );
        } else if agent.session == Some(SessionUse::Keep) {
            problems.refuse(
                Code::KeyDoesNotApply,
                place("session"),
                format!(
                    "the agent {name} cannot keep its session: each of its turns may be on another machine"
                ),
                "remove it: with a `queue` each turn begins a new session",
            );
        }
    }
}

/// Finds the problems that settings have whatever the mission.
pub fn settings(settings: &Settings, problems: &mut Violations) {
    let shortest = Workers::SHORTEST_LEASE;
    if settings.workers.lease.is_some_and(|lease| lease < shortest) {
        problems.refuse(
            Code::BadValue,
            lease_key(),
            format!("a lease is {shortest} or longer: a shorter one would lose turns for a moment's pause"),
            "write for example `lease: 30s`, or remove it",
        );
    }
}

/// Refuses to ask an agent with a `queue` about tasks whose folders cannot go to its workers.
pub fn refuse_asked(
    name: &str,
    place: impl Fn() -> Path,
    about: &[Task],
    names: &Names<'_>,
    problems: &mut Violations,
) {
    let mission = names.mission;
    if !names.queued.contains(name) {
        return;
    }
    let stays = |task: &&Task| !isolation(mission, task).is_carried();
    let (code, what) = match about.iter().find(stays) {
        Some(task) => (Code::KeyDoesNotApply, stays_here(mission, task)),
        None if mission.settings.workers.exchange.is_none() => {
            (Code::MissingKey, "`settings.workers` names no `exchange`".to_owned())
        }
        None => match names.filled_by {
            Some(what) => (Code::KeyDoesNotApply, format!("`{what}` does not reach them")),
            None => return,
        },
    };
    problems.refuse(
        code,
        place(),
        format!("the agent {} is asked on other machines, and {what}", quoted(name)),
        "name an agent without a `queue`, or let the folders go there: `isolation: worktree` or `temp`, \
         `settings: {workers: {exchange: ../exchange.git}}`, and `worktree.setup` makes what they need",
    );
}

fn isolation(mission: &Mission, task: &Task) -> Isolation {
    task.isolation.unwrap_or(mission.isolation())
}

/// Says that the folder of a task cannot go to other machines.
fn stays_here(mission: &Mission, task: &Task) -> String {
    let (title, isolation) = (quoted(&task.title), isolation(mission, task));
    format!("{title} has no folder that can go there (`isolation: {}`)", isolation.as_str())
}

/// Finds the problems of tasks that are worked on elsewhere.
pub fn validate(mission: &Mission, names: &Names<'_>, problems: &mut Violations) {
    if names.queued.is_empty() {
        return;
    }
    let mut told = HashSet::new();
    for (index, task) in mission.tasks.iter().enumerate() {
        let Some(agent) = carried_by(mission, names, task) else {
            continue;
        };
        // Of tasks that say nothing of it, one agent's first is enough.
        if !isolation(mission, task).is_carried() && (task.isolation.is_some() || told.insert(agent)) {
            let (agent, stays) = (quoted(agent), stays_here(mission, task));
            problems.refuse(
                Code::KeyDoesNotApply,
                Path::of("tasks").item(index).key("isolation"),
                format!("the agent {agent} works on other machines, and {stays}"),
                "write `isolation: worktree`, or `temp`",
            );
        }
        let timeout = turn_timeout(mission, agent, task);
        if let Some(lease) = mission.settings.workers.lease.filter(|lease| *lease > timeout) {
            problems.refuse(
                Code::BadValue,
                lease_key(),
                format!(
                    "the lease of {lease} is longer than a turn of {} may take: {timeout}",
                    quoted(&task.title)
                ),
                "write a shorter one, or remove it",
            );
        }
    }
    let carried = |task| carried_by(mission, names, task);
    let Some(agent) = mission.tasks.iter().find_map(carried) else {
        return;
    };
    let queue = Path::of("agents").key(agent.to_owned()).key("queue");
    if let Some(what) = names.filled_by {
        let key = what.strip_prefix("worktree.");
        let place = |key: &str| Path::of("settings").key("worktree").key(key.to_owned());
        problems.refuse(
            Code::KeyDoesNotApply,
            key.map_or_else(|| queue.clone(), place),
            format!("`{what}` does not reach other machines, where the agent {} works", quoted(agent)),
            "remove it, and let `worktree.setup` make what is needed: it runs here and on the worker",
        );
    }
    if mission.settings.workers.exchange.is_none() {
        problems.refuse(
            Code::MissingKey,
            queue,
            format!("the agent {} has a `queue`, and `settings.workers` names no `exchange`", quoted(agent)),
            "add for example `settings: {workers: {exchange: ../exchange.git}}`, a bare git repository that all machines reach",
        );
    }
}

/// The key of a mission that fills the folders of tasks from the workspace.
pub fn filled_by(mission: &Mission) -> Option<&'static str> {
    let worktree = &mission.settings.worktree;
    let keys = [("worktree.copy", &worktree.copy), ("worktree.link", &worktree.link)];
    keys.into_iter().find_map(|(key, named)| (!named.is_empty()).then_some(key))
}

/// The first agent with a `queue` among those who may work on a task: its own, and whoever goes on instead. A
/// verification is no work.
fn carried_by<'m>(mission: &'m Mission, names: &Names<'m>, task: &'m Task) -> Option<&'m str> {
    let first = mission.assignee(task).filter(|_| task.kind != TaskType::Verification)?;
    let all = std::iter::once(first).chain(stand_ins(mission, first));
    all.into_iter().find(|name| names.queued.contains(name))
}

/// How long one turn of a task may take, by whom it is worked on.
fn turn_timeout(mission: &Mission, agent: &str, task: &Task) -> Millis {
    let of_agent = mission.agents.get(agent).and_then(|agent| agent.timeout);
    let own = task.max_duration.map(Span::get);
    own.or(of_agent).unwrap_or_else(|| mission.settings.task_timeout())
}

fn lease_key() -> Path {
    Path::of("settings").key("workers").key("lease")
}
