//! `quorum.yaml` of a project and of a user: agents, channels and settings beneath a mission.
//!
//! What the mission says wins over the project, the project over the user. Named things are taken whole, settings one
//! by one.

use std::collections::HashSet;

use super::keys::{Keys, Named};
use super::load::{Document, Report, Source, read_document};
use super::shape::Shape;
use super::strictness_source::WrittenSettings;
use crate::{
    domain::{Bar, BarOrigin},
    mission::{
        model::{Config, Mission, Settings},
        validate,
    },
};

/// The owner of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConfigLayer {
    /// `quorum.yaml` of the project.
    Project,
    /// `quorum.yaml` in the user's configuration folder.
    User,
}

/// The configuration files beneath a mission.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    pub project: Option<Config>,
    pub user: Option<Config>,
    /// Whether this build hands work to workers on other machines.
    pub has_workers: bool,
    /// The file of the workspace by which folders of tasks are filled, where it is there.
    pub filled_by: Option<&'static str>,
}

impl Layers {
    /// The mission with the layers beneath it.
    pub fn under(&self, mut mission: Mission) -> Mission {
        mission.own_agents = mission.agents.0.len();
        for config in self.each() {
            mission.settings = mission.settings.or(config.settings.clone());
            mission.written.push(config.written.clone());
            add_missing(&mut mission.agents, &config.agents);
            add_missing(&mut mission.channels, &config.channels);
            add_missing(&mut mission.rubrics, &config.rubrics);
            add_missing(&mut mission.presets, &config.presets);
        }
        crate::mission::presets::assign(&mut mission.agents, &mission.presets);
        mission
    }

    pub fn each(&self) -> impl Iterator<Item = &Config> {
        self.project.iter().chain(&self.user)
    }

    pub fn channels(&self) -> HashSet<Box<str>> {
        self.each().flat_map(|config| config.channels.0.iter().map(|(name, _)| name.clone())).collect()
    }

    pub fn rubrics(&self) -> HashSet<Box<str>> {
        self.each().flat_map(|config| config.rubrics.0.iter().map(|(name, _)| name.clone())).collect()
    }
}

fn add_missing<T: Clone>(above: &mut Named<T>, below: &Named<T>) {
    if below.0.is_empty() {
        return;
    }
    let taken: HashSet<Box<str>> = above.0.iter().map(|(name, _)| name.clone()).collect();
    above.0.extend(below.0.iter().filter(|(name, _)| !taken.contains(name)).cloned());
}

/// Loads and validates a `quorum.yaml`; `has_workers` says whether this build hands work to workers on other machines.
///
/// # Errors
/// Everything that is wrong with the file.
pub fn load_config(source: &Source, layer: ConfigLayer, has_workers: bool) -> Result<Config, Report> {
    let text = source.text()?;
    let Document { tree, checked, value: mut config } =
        read_document::<Config>(&source.name, text, Some(Mission::TABLE))?;
    let mut problems = checked.problems;
    problems.append(validate::validate_config(&config, has_workers));
    let failed = problems.has_errors();
    let (diagnostics, more) = problems.locate(&source.name, text, Some(&tree));
    if failed {
        return Err(Report { diagnostics, more });
    }
    config.notes = diagnostics;
    config.written = WrittenSettings::of(&source.name, text, &tree);
    let origin = match layer {
        ConfigLayer::Project => BarOrigin::Project,
        ConfigLayer::User => BarOrigin::User,
    };
    config.settings.eval_threshold = config.settings.eval_threshold.map(|bar| Bar { origin, ..bar });
    Ok(config)
}

/// The paths of all keys below `settings`, in the order of their declaration: `concurrency`, `sla.warningThreshold`; each
/// with whether quorum acts on it.
pub fn setting_paths() -> Vec<(String, bool)> {
    let mut paths = Vec::new();
    for key in Settings::TABLE.keys {
        match key.shape {
            Shape::Map(below) => paths.extend(below.keys.iter().map(|inner| {
                let is_built = key.is_built() && inner.is_built();
                (format!("{}.{}", key.name, inner.name), is_built)
            })),
            _ => paths.push((key.name.to_owned(), key.is_built())),
        }
    }
    paths
}

/// The settings that a mission itself gives, with its own budget among them.
pub fn settings_of(mission: Mission) -> Settings {
    Settings { budget: mission.budget.or(mission.settings.budget), ..mission.settings }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mission::default_settings;

    /// Every key that quorum acts on has a value as soon as somebody gives one.
    #[test]
    fn every_setting_can_be_shown() {
        let text = "
channels: {c: {type: file, path: x}}
settings:
  concurrency: 1
  orchestrator: a
  referBelow: 1
  protect: [a]
  approvalGates: [{name: g}]
  defaultChannels: [c]
  prices: {m: {input: 1, output: 2}}
  worktree: {copy: [a], link: [b], setup: c}
  calibration: {file: f}
  workers: {exchange: e, lease: 5s}
  telemetry: {otlp: 'http://c', file: f}
  serve: {url: 'http://s'}
  budget: {maxCost: 1, maxTokens: 1, maxRequests: 1, maxTime: 1m, reserveForJudging: 0.2}
agents: {a: {run: x}}
";
        let config = load_config(&Source::new("quorum.yaml", text), ConfigLayer::Project, false);
        let settings = config.expect("it is right").settings.or(default_settings());
        let paths = setting_paths();
        assert!(paths.len() > 40, "{paths:?}");
        for (path, is_built) in paths {
            assert_eq!(settings.value_at(&path).is_some(), is_built, "{path}");
        }
    }
}
