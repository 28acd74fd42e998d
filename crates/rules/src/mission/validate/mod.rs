//! What a mission must be beyond having the right keys: names that exist, no circles, nothing said twice.
//!
//! Works on the structs, is linear in tasks and edges, and collects everything it finds.
//!
//! | file | what |
//! |---|---|
//! | `agents` | agents: what their adapter needs, and who reports to whom |
//! | `budget` | a model without a price is refused under a budget (19) |
//! | `channels` | channels: each needs the key that says where it leads, and no other |
//! | `criteria` | criteria that say nothing that could be judged (17) |
//! | `verification_edges` | verifications as nodes: exactly one edge of each kind (10) |
//! | `fallback` | `fallback` on agents that never judge does nothing |
//! | `order` | cycles: tasks and gates that wait for each other |
//! | `presets` | presets: what they name is there, and stays where it belongs |
//! | `shared_files` | tasks that may work at the same time and name the same target file (6) |
//! | `stages` | further stages and the red team: who judges, by what, and never the own work |
//! | `tasks` | tasks: titles, who works, what they depend on, who judges |
//! | `unscored_gates` | gates that ask for a score where no task before them has one (14) |
//! | `waits` | what a run waits for: approvals, gates, checkpoints, delays |
//! | `workers` | agents with a `queue`: what their adapter, their tasks and the settings must be |

mod agents;
pub mod budget;
mod channels;
mod criteria;
mod fallback;
pub mod order;
mod presets;
mod shared_files;
mod stages;
mod tasks;
mod unscored_gates;
mod verification_edges;
mod waits;
mod workers;

pub use criteria::unclear;

use std::collections::{HashMap, HashSet};

use super::file::codes::Code;
use super::file::scalar::Referent;
use super::file::shown_text::quoted;
use super::file::suggest::suggestion;
use super::file::violation::{Path, Violation, ViolationPlace, Violations};
use super::model::{Config, Mission, Task};
use crate::domain::skeleton_of;

/// The names of a mission's parts, with the index of the first that bears each.
pub struct Names<'m> {
    pub tasks: HashMap<&'m str, usize>,
    pub agents: HashSet<&'m str>,
    /// The agents with a `queue`.
    pub queued: HashSet<&'m str>,
    /// What fills the folders of tasks from the workspace.
    pub filled_by: Option<&'m str>,
    /// The first task of each look, where any title is not plain ASCII.
    pub looks: HashMap<String, usize>,
    /// The places that hidden checks name, each with the title of such a check's task.
    pub hidden: HashMap<String, &'m str>,
    mission: &'m Mission,
    /// Kinds of which some names are unknown because their part of the file was wrong.
    incomplete: &'m HashSet<Referent>,
}

impl<'m> Names<'m> {
    pub fn new(mission: &'m Mission, incomplete: &'m HashSet<Referent>) -> Self {
        let mut tasks = HashMap::with_capacity(mission.tasks.len());
        for (index, task) in mission.tasks.iter().enumerate().filter(|(_, task)| !task.title.is_empty()) {
            tasks.entry(&*task.title).or_insert(index);
        }
        let agents = mission.agents.0.iter().map(|(name, _)| &**name).collect();
        let queued = mission.agents.0.iter().filter(|(_, agent)| agent.queue.is_some());
        let mut looks = HashMap::new();
        if tasks.keys().any(|title| !title.is_ascii()) {
            for (index, task) in mission.tasks.iter().enumerate() {
                looks.entry(skeleton_of(&task.title)).or_insert(index);
            }
        }
        Self {
            tasks,
            agents,
            queued: queued.map(|(name, _)| &**name).collect(),
            filled_by: workers::filled_by(mission),
            looks,
            hidden: tasks::named_by_hidden(mission),
            mission,
            incomplete,
        }
    }

    /// Reports a name that no agent has.
    pub fn check_agent<P: Into<ViolationPlace>>(
        &self,
        name: &str,
        place: impl FnOnce() -> P,
        problems: &mut Violations,
    ) {
        // That a required name is missing has been said.
        if name.is_empty() || self.agents.contains(name) || self.incomplete.contains(&Referent::Agent) {
            return;
        }
        problems.push_with(|| {
            // The set's order is not stable; what people read must be.
            let mut known: Vec<&str> = self.agents.iter().copied().collect();
            known.sort_unstable();
            Violation::error(Code::UnknownAgent, place(), format!("there is no agent {}", quoted(name)))
                .help(suggestion(name, known, "known agents"))
        });
    }

    /// Reports the name of one who is asked about tasks that no agent has, or an agent that their folders cannot go to.
    pub fn check_asked(
        &self,
        name: &str,
        place: impl Fn() -> Path,
        about: &[Task],
        problems: &mut Violations,
    ) {
        self.check_agent(name, &place, problems);
        workers::refuse_asked(name, &place, about, self, problems);
    }

    /// Reports a title that no task has.
    pub fn check_task<P: Into<ViolationPlace>>(
        &self,
        title: &str,
        mission: &Mission,
        place: impl FnOnce() -> P,
        problems: &mut Violations,
    ) {
        if self.tasks.contains_key(title) || self.incomplete.contains(&Referent::Task) {
            return;
        }
        problems.push_with(|| {
            let titles = mission.tasks.iter().map(|task| &*task.title).filter(|title| !title.is_empty());
            Violation::error(Code::UnknownTask, place(), format!("there is no task {}", quoted(title)))
                .help(suggestion(title, titles, "known tasks"))
        });
    }
}

/// Everything that is wrong with a mission whose keys are right; `has_workers` says whether this build hands work to workers, and
/// `filled_by` which file of the workspace fills the folders of tasks.
pub fn validate(
    mission: &Mission,
    incomplete: &HashSet<Referent>,
    (has_workers, filled_by): (bool, Option<&'static str>),
) -> Violations {
    let mut problems = Violations::default();
    let mut names = Names::new(mission, incomplete);
    names.filled_by = names.filled_by.or(filled_by);
    version(mission, &mut problems);
    agents::validate(&mission.agents, &names, &mut problems);
    workers::validate_each(&mission.agents, has_workers, &mut problems);
    if let Some(orchestrator) = &mission.settings.orchestrator {
        let place = || Path::of("settings").key("orchestrator");
        names.check_agent(orchestrator, place, &mut problems);
        if names.queued.contains(&**orchestrator) {
            problems.refuse(
                Code::NotBuiltYet,
                place(),
                format!(
                    "the agent {} has a `queue`, and what an orchestrator is asked may belong to no task whose folder goes there",
                    quoted(orchestrator)
                ),
                "name an agent without a `queue`",
            );
        }
    }
    channels::validate(&mission.channels, &mut problems);
    budget::validate(mission, &mut problems);
    tasks::validate(mission, &names, &mut problems);
    stages::validate(mission, &names, &mut problems);
    criteria::enforce(mission, &mut problems);
    waits::settings(&mission.settings, &mut problems);
    workers::settings(&mission.settings, &mut problems);
    waits::validate(mission, &names, &mut problems);
    verification_edges::validate(mission, &names, &mut problems);
    verification_edges::extra(mission, &names, &mut problems);
    order::validate(mission, &names, &mut problems);
    if has_workers {
        workers::validate(mission, &names, &mut problems);
    }
    problems
}

/// Warns about parts of a right mission that have no effect.
pub fn advise(mission: &Mission) -> Violations {
    let mut problems = Violations::default();
    fallback::validate(mission, &mut problems);
    criteria::warn(mission, &mut problems);
    shared_files::warn(mission, &mut problems);
    unscored_gates::warn(mission, &mut problems);
    problems
}

/// Finds the problems of a `quorum.yaml` by itself. Managers may be defined in the mission, so they are not
/// looked for.
pub fn validate_config(config: &Config, has_workers: bool) -> Violations {
    let mut problems = Violations::default();
    agents::validate_each(&config.agents, &mut problems);
    workers::validate_each(&config.agents, has_workers, &mut problems);
    waits::settings(&config.settings, &mut problems);
    workers::settings(&config.settings, &mut problems);
    channels::validate(&config.channels, &mut problems);
    presets::validate(&config.presets, &mut problems);
    problems
}

fn version(mission: &Mission, problems: &mut Violations) {
    let part = |text: &str| text.parse().unwrap_or_default();
    let this = semver::Version::new(
        part(env!("CARGO_PKG_VERSION_MAJOR")),
        part(env!("CARGO_PKG_VERSION_MINOR")),
        part(env!("CARGO_PKG_VERSION_PATCH")),
    );
    if let Some(range) = mission.requires.as_ref().filter(|range| !range.matches(&this)) {
        problems.refuse(
            Code::RequiresOther,
            Path::of("requires"),
            format!("the mission needs quorum {range}, this is {this}"),
            "install a fitting version of quorum, or change the range",
        );
    }
}

/// Reports that a name which nobody else may have stands at two places.
fn named_twice(what: &str, name: &str, place: Path, first: Path, problems: &mut Violations) {
    let message = format!("two {what}s are called {}", quoted(name));
    problems.push(
        Violation::error(Code::DuplicateGate, place, message)
            .label("again here")
            .help("rename one of them")
            .related(first, "first here"),
    );
}

/// Reports names that a list holds twice.
fn repeated(names: &[Box<str>], key: &str, place: impl Fn(usize) -> Path, problems: &mut Violations) {
    if names.len() < 2 {
        return;
    }
    let mut seen = HashMap::new();
    for (index, name) in names.iter().enumerate() {
        if let Some(earlier) = seen.insert(&**name, index) {
            let message = format!("`{key}` names {} twice", quoted(name));
            problems.push(
                Violation::error(Code::Repeated, place(index), message)
                    .help("remove one of them")
                    .related(place(earlier), "first here"),
            );
        }
    }
}
