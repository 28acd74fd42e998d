//! Whether the program of an agent can log in, as far as that is seen without starting it: a variable with a key, or a file that
//! a login leaves.

use std::path::PathBuf;

use crate::mission::AgentPlan;
use crate::mission::model::{Login, Preset};

/// What is seen of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoginState {
    /// This variable is set.
    Variable(String),
    /// This file is there.
    File(PathBuf),
    /// Nothing; what to do about it.
    Missing(String),
}

/// What is seen of the login of an agent's program; `None` where its preset does not say by what it is seen.
#[must_use]
pub fn login_of(agent: &AgentPlan) -> Option<LoginState> {
    let preset = agent.spec.preset.as_deref()?;
    let Login { env, files, help, .. } = &preset.login;
    if env.is_empty() && files.is_empty() {
        return None;
    }
    let own = |name: &str| agent.spec.env.contains_key(name);
    let passed = |name: &str| {
        let mut passed = agent
            .spec
            .pass_env
            .iter()
            .map(String::as_str)
            .chain(passed_by(preset));
        passed.any(|passed| passed == name) && std::env::var_os(name).is_some_and(|value| !value.is_empty())
    };
    if let Some(name) = env.iter().find(|name| own(name) || passed(name)) {
        return Some(LoginState::Variable(name.to_string()));
    }
    let home = agent
        .spec
        .env
        .get("HOME")
        .map(PathBuf::from)
        .or_else(std::env::home_dir)?;
    let found = files
        .iter()
        .map(|file| home.join(&**file))
        .find(|file| file.exists());
    Some(found.map_or_else(
        || LoginState::Missing(help.as_deref().unwrap_or("log in with its program").to_owned()),
        LoginState::File,
    ))
}

fn passed_by(preset: &Preset) -> impl Iterator<Item = &str> {
    preset.pass_env.iter().map(|name| &**name)
}
