//! What the program of an agent is passed of the environment, and whether it can log in, as far as that is seen without starting
//! it: a variable with a key, or a file that a login leaves. Who needs a login and has none is refused.

use std::path::PathBuf;

use crate::executor::error::WorkError;
use rules::mission::model::Login;
use rules::plan::AgentPlan;

/// Variables that are passed on to every program that a preset starts: how it reaches the network, whose certificates it
/// trusts, who it works for, and where that keeps its files.
const PASSED: [&str; 20] = [
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "https_proxy",
    "http_proxy",
    "no_proxy",
    "all_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "TZ",
    "LC_ALL",
    "LC_CTYPE",
    "USER",
    "LOGNAME",
    "SHELL",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

/// The sign of a login.
#[derive(Debug, Clone, PartialEq)]
pub enum LoginState {
    /// The variable of this name is set.
    Variable(String),
    /// The file at this path is there.
    File(PathBuf),
    /// Nothing; what to do about it.
    Missing(String),
}

/// The sign of the login of an agent's program; `None` where its preset does not name one.
pub fn login_of(agent: &AgentPlan) -> Option<LoginState> {
    let preset = agent.spec.preset.as_deref()?;
    let Login { env, files, help, .. } = &preset.login;
    if env.is_empty() && files.is_empty() {
        return None;
    }
    let own = |name: &str| agent.spec.env.contains_key(name);
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let passed = |name: &str| passed_to(agent).any(|passed| passed == name) && is_set(name);
    if let Some(name) = env.iter().find(|name| own(name) || passed(name)) {
        return Some(LoginState::Variable(name.to_string()));
    }
    let home = agent.spec.env.get("HOME").map(PathBuf::from).or_else(std::env::home_dir)?;
    let found = files.iter().map(|file| home.join(&**file)).find(|file| file.exists());
    Some(found.map_or_else(
        || LoginState::Missing(help.as_deref().unwrap_or("log in with its program").to_owned()),
        LoginState::File,
    ))
}

/// Refuses an agent whose program needs a login that is not there.
///
/// # Errors
/// What to do about it.
pub fn require_login(agent: &AgentPlan) -> Result<(), WorkError> {
    let preset = agent.spec.preset.as_deref();
    if let Some(LoginState::Missing(help)) = login_of(agent)
        && preset.is_some_and(|preset| preset.login.required)
    {
        return Err(format!("it has no login, and would go on elsewhere without one: {help}").into());
    }
    Ok(())
}

/// The names of the variables that an agent's program is passed, where they are set.
pub fn passed_to(agent: &AgentPlan) -> impl Iterator<Item = &str> {
    let preset = agent.spec.preset.as_deref();
    let of_preset = preset.into_iter().flat_map(|preset| &preset.pass_env);
    let own = agent.spec.pass_env.iter().map(String::as_str);
    let of_preset = of_preset.map(|name| &**name);
    own.chain(of_preset).chain(PASSED.into_iter().filter(move |_| preset.is_some()))
}
