//! `quorum.yaml` of a project and of a user: agents, channels and settings beneath a mission.
//!
//! What the mission says wins over the project, the project over the user. Named things are taken whole, settings one
//! by one.

use std::collections::HashSet;

use super::keys;
use super::load::{Document, Report, Source, read_document};
use super::loosened::Written;
use super::model::{Config, Mission};
use super::read::Named;
use super::validate;
use crate::domain::{Bar, BarOrigin};

/// Whose a configuration file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigLayer {
    /// `quorum.yaml` of the project.
    Project,
    /// `quorum.yaml` in the user's configuration folder.
    User,
}

/// The configuration files beneath a mission.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The project's.
    pub project: Option<Config>,
    /// The user's.
    pub user: Option<Config>,
}

impl Layers {
    /// The mission with the layers beneath it.
    pub(super) fn under(&self, mut mission: Mission) -> Mission {
        mission.own_agents = mission.agents.0.len();
        for config in self.each() {
            mission.settings = mission.settings.or(config.settings.clone());
            mission.written.push(config.written.clone());
            add_missing(&mut mission.agents, &config.agents);
            add_missing(&mut mission.channels, &config.channels);
            add_missing(&mut mission.rubrics, &config.rubrics);
        }
        mission
    }

    fn each(&self) -> impl Iterator<Item = &Config> {
        self.project.iter().chain(&self.user)
    }

    pub(super) fn channels(&self) -> HashSet<Box<str>> {
        self.each()
            .flat_map(|config| config.channels.0.iter().map(|(name, _)| name.clone()))
            .collect()
    }

    pub(super) fn rubrics(&self) -> HashSet<Box<str>> {
        self.each()
            .flat_map(|config| config.rubrics.0.iter().map(|(name, _)| name.clone()))
            .collect()
    }
}

fn add_missing<T: Clone>(above: &mut Named<T>, below: &Named<T>) {
    if below.0.is_empty() {
        return;
    }
    let taken: HashSet<Box<str>> = above.0.iter().map(|(name, _)| name.clone()).collect();
    above
        .0
        .extend(below.0.iter().filter(|(name, _)| !taken.contains(name)).cloned());
}

/// Loads and validates a `quorum.yaml`.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load_config(source: &Source, layer: ConfigLayer) -> Result<Config, Report> {
    let text = source.text()?;
    let Document {
        tree,
        checked,
        value: mut config,
    } = read_document::<Config>(&source.name, text, &keys::CONFIG)?;
    let mut problems = checked.problems;
    problems.append(validate::validate_config(&config));
    if problems.has_errors() {
        let (diagnostics, more) = problems.locate(&source.name, text, Some(&tree));
        return Err(Report { diagnostics, more });
    }
    config.written = Written::of(&source.name, text, &tree);
    let origin = match layer {
        ConfigLayer::Project => BarOrigin::Project,
        ConfigLayer::User => BarOrigin::User,
    };
    config.settings.eval_threshold = config.settings.eval_threshold.map(|bar| Bar { origin, ..bar });
    Ok(config)
}
