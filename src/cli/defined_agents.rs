//! The agents that a file defines, for judging without a run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::runtime::layers_of;
use rules::{
    mission::{self, ConfigLayer, Source},
    plan::RunOptions,
};

use super::command_error::Failure;
use super::load;

/// The agents of a mission file, and the folder that their programs are relative to.
pub fn defined_agents(
    named: Option<&Path>,
    options: &RunOptions,
    here: &Path,
) -> Result<(Value, PathBuf), Failure> {
    let default = here.join("mission.yaml");
    let path = match named {
        Some(path) => path.to_owned(),
        None if default.is_file() => default,
        None if options.project_config.is_some() || options.user_config.is_some() => {
            return Ok((json!({}), here.to_owned()));
        }
        None => {
            return Err(usage!("no agents are defined that could judge")
                .help("define them in quorum.yaml, or name a mission that has some with --mission FILE"));
        }
    };
    let source = load::read(&path).map_err(Failure::mission)?;
    let layers = layers_of(options).map_err(Failure::mission)?;
    if holds_only_agents(&source) {
        mission::load_config(&source, ConfigLayer::Project, layers.has_workers).map_err(Failure::mission)?;
    } else {
        mission::load(&source, &layers).map_err(Failure::mission)?;
    }
    let folder = std::path::absolute(&path).ok().and_then(|path| path.parent().map(Path::to_owned));
    Ok((
        mission::agents_in(&String::from_utf8_lossy(&source.bytes)),
        folder.unwrap_or_else(|| here.to_owned()),
    ))
}

/// Whether the file is no mission, but holds agents and nothing to do for them, as `quorum.yaml` may.
fn holds_only_agents(source: &Source) -> bool {
    let document = mission::plain(&String::from_utf8_lossy(&source.bytes));
    document.is_some_and(|document| {
        let is_there = |key: &str| document.get(key).is_some();
        is_there("agents") && !is_there("tasks") && !is_there("name")
    })
}

/// Reviewers that nobody defines.
pub fn refuse_strangers(reviewers: &[String], agents: &Value, options: &RunOptions) -> Result<(), Failure> {
    let layers = layers_of(options).map_err(Failure::mission)?;
    let of_layers = layers.project.iter().chain(&layers.user);
    let of_layers = of_layers.flat_map(|config| config.agents.0.iter().map(|(name, _)| &**name));
    let own = agents.as_object().into_iter().flatten();
    let known: Vec<&str> = own.map(|(name, _)| name.as_str()).chain(of_layers).collect();
    match reviewers.iter().find(|name| !known.contains(&name.as_str())) {
        Some(stranger) => Err(usage!("there is no agent '{stranger}' that could review")
            .help(mission::suggestion(stranger, known.iter().copied(), "agents are"))),
        None => Ok(()),
    }
}
