//! Git, and programs of agents that presets start: their version beside the one that was tried, the node that runs them, and whether
//! they can log in. A program is asked for its version and for nothing else, and only one that the user has installed: a mission
//! or a `quorum.yaml` may come with a repository, and what `run` names of it is not started here.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{
    report::documents::doctor::{CheckOutcome, HealthCheck},
    runtime::{LoginState, git, locate, login_of},
};
use rules::{mission::model::Adapter, plan::AgentPlan};

/// How long a program may take to say its version.
const WITHIN: Duration = Duration::from_secs(15);
/// How much of what it says is read, in bytes.
const MOST: u64 = 4096;

/// The checks of an agent whose program a preset starts.
pub fn checks(agent: &AgentPlan, folder: &Path) -> Vec<HealthCheck> {
    let Some(preset) = agent.spec.preset.as_deref() else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    if let Ok(place) = locate(agent, folder)
        && agent.spec.adapter != Adapter::Acp
    {
        checks.push(version(agent, &place, preset.version.as_deref()));
        checks.extend(node(agent, Path::new(&place)));
    }
    checks.extend(login(agent, preset.login.required));
    checks
}

/// Checks the version of a program against the one that its preset was written for.
fn version(agent: &AgentPlan, place: &str, tried: Option<&str>) -> HealthCheck {
    let name = format!("version of {}", agent.name);
    let own = agent.spec.preset.as_deref().and_then(|preset| preset.argv.first());
    if agent.spec.run.is_some() || own.is_none_or(|program| program.contains('/')) {
        let message = "not asked: the mission or a quorum.yaml names the program";
        return HealthCheck::new(name, CheckOutcome::Skipped, message).with("tried", tried);
    }
    let said = said_by(Command::new(place).arg("--version"));
    let first =
        |text: &str| text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    let (verdict, message) = match (said, tried) {
        (Err(why), _) => (CheckOutcome::Warn, format!("it does not say its version: {why}")),
        (Ok(text), Some(tried)) if !text.contains(tried) => {
            (CheckOutcome::Warn, format!("{}; its preset is for {tried}", first(&text)))
        }
        (Ok(text), _) => (CheckOutcome::Ok, first(&text)),
    };
    HealthCheck::new(name, verdict, message).with("tried", tried)
}

/// The node that runs a program that is a script for it.
fn node(agent: &AgentPlan, place: &Path) -> Option<HealthCheck> {
    let mut begin = [0; 64];
    let read = File::open(place).and_then(|mut file| file.read(&mut begin)).ok()?;
    let begin = String::from_utf8_lossy(&begin[..read]).into_owned();
    let line = begin.strip_prefix("#!")?.lines().next()?.to_owned();
    line.contains("node").then(|| {
        let name = format!("node of {}", agent.name);
        let path = std::env::var("PATH").unwrap_or_default();
        match supervisor::resolve("node", &path, Path::new("/")) {
            Err(_) => HealthCheck::new(
                name,
                CheckOutcome::Fail,
                "there is no `node` on the PATH, and its program needs it",
            ),
            Ok(node) => match said_by(Command::new(&node).arg("--version")) {
                Ok(version) => {
                    HealthCheck::new(name, CheckOutcome::Ok, format!("{} {}", node.display(), version.trim()))
                }
                Err(why) => HealthCheck::new(
                    name,
                    CheckOutcome::Fail,
                    format!("{} cannot be run: {why}", node.display()),
                ),
            },
        }
    })
}

/// Checks whether the program can log in, as far as that is seen without a call.
fn login(agent: &AgentPlan, is_required: bool) -> Option<HealthCheck> {
    let name = format!("login of {}", agent.name);
    Some(match login_of(agent)? {
        LoginState::Variable(variable) => {
            HealthCheck::new(name, CheckOutcome::Ok, format!("{variable} is set"))
        }
        LoginState::File(file) => {
            HealthCheck::new(name, CheckOutcome::Ok, format!("{} is there", file.display()))
        }
        LoginState::Missing(help) => {
            let verdict = if is_required { CheckOutcome::Fail } else { CheckOutcome::Warn };
            HealthCheck::new(name, verdict, format!("none is seen: {help}"))
        }
    })
}

/// Git, and whether there is something here that it knows of: isolated tasks and reviews of differences need both.
pub fn git() -> HealthCheck {
    let here = Path::new(".");
    let ask = |arguments: &[&str]| {
        let git = git::Configuration::of(here)?.git().at(here);
        git.line(arguments)
    };
    let (verdict, message) = match (ask(&["--version"]), ask(&["rev-parse", "--show-toplevel"])) {
        (Err(_), _) => (
            CheckOutcome::Warn,
            "there is no `git` on the PATH: worktrees and reviews of what changed need it".to_owned(),
        ),
        (Ok(_), Err(why)) if why.to_string().contains("not a git repository") => {
            (CheckOutcome::Ok, "this folder is in no git repository".to_owned())
        }
        (Ok(_), Err(why)) => (CheckOutcome::Warn, why.to_string()),
        (Ok(_), Ok(top)) if ask(&["rev-parse", "--verify", "-q", "HEAD"]).is_err() => {
            (CheckOutcome::Ok, format!("the repository {top} has no commit yet"))
        }
        (Ok(version), Ok(_)) => (CheckOutcome::Ok, version),
    };
    HealthCheck::new("git", verdict, message)
}

/// The output of a command, if it ends in time and well.
fn said_by(command: &mut Command) -> anyhow::Result<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let home = std::env::home_dir().unwrap_or_default();
    let command = command
        .env_clear()
        .envs([("PATH", path.as_os_str()), ("HOME", home.as_os_str())])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let begun = Instant::now();
    let status = loop {
        match child.try_wait()? {
            Some(status) => break status,
            None if begun.elapsed() < WITHIN => std::thread::sleep(Duration::from_millis(20)),
            None => {
                // It may have ended just now; either way it is not waited for any longer.
                let _ = child.kill();
                let _ = child.wait();
                anyhow::bail!("it did not end in time");
            }
        }
    };
    anyhow::ensure!(status.success(), "it ended with {status}");
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        output.take(MOST).read_to_string(&mut text)?;
    }
    Ok(text)
}
