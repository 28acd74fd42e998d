//! What `run` and `resume` have in common: options, the session itself, the end.

use anyhow::anyhow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::agents::cassette::{Cassette, CassetteError};
use crate::agents::transport::Network;
use crate::domain::{Bar, BarOrigin, Points, RunId, Timestamp};
use crate::engine::{Fact, State, SupervisorRef, agents_needed};
use crate::mission::RunOptions;
use crate::report::sanitize;
use crate::runtime::{
    Ending, EnvironmentProblem, Keeping, Observer, Programs, ReadBefore, Session, SessionSetup,
    settings_files,
};
use crate::store::{FsLog, Journal, OperatorKey, RunFolder};
use crate::supervisor;

use super::args::{ReviewFlags, SessionFlags};
use super::event_loop::block_on;
use super::failure::Failure;
use super::panics;
use super::project::{current_dir, settings_texts};
use super::variables::refuse_sandbox;

/// Options that hold nothing but the configuration files beneath a mission.
pub fn options_with_config() -> Result<RunOptions, Failure> {
    let [project, user] = settings_texts()?;
    let (project_config_name, project_config) = project.unzip();
    let (user_config_name, user_config) = user.unzip();
    Ok(RunOptions {
        project_config,
        project_config_name,
        user_config,
        user_config_name,
        ..RunOptions::default()
    })
}

/// Lays flags and environment over options. What is not said stays as it is.
pub fn lay_over(options: &mut RunOptions, flags: &SessionFlags, matches: &ArgMatches) -> Result<(), Failure> {
    refuse_sandbox()?;
    lay_over_reviews(options, &flags.reviews, matches)?;
    options.max_attempts = flags.max_attempts.or(options.max_attempts);
    options.jobs = flags.jobs.or(options.jobs);
    options.max_cost = flags.max_cost.or(options.max_cost);
    options.max_tokens = flags.max_tokens.or(options.max_tokens);
    options.timeout = flags.timeout.or(options.timeout);
    options.wait_approvals = flags.wait_approvals.or(options.wait_approvals);
    options.strict |= flags.strict;
    options.fail_fast |= flags.fail_fast;
    options.offline |= flags.offline;
    if let Some(folder) = &flags.record {
        let folder = std::path::absolute(folder)
            .map_err(|error| Failure::usage(anyhow!("--record {}: {error}", folder.display())))?;
        options.record = Some(folder);
    }
    if matches.value_source("allow") == Some(ValueSource::EnvVariable) {
        options.said_by.allow = Some("QUORUM_ALLOW".to_owned());
    }
    for class in &flags.allow {
        if !options.allow.contains(class) {
            options.allow.push(*class);
        }
    }
    Ok(())
}

/// Lays over options what flags and environment say of reviews alone.
///
/// # Errors
/// When a variable says something that it cannot mean.
pub fn lay_over_reviews(
    options: &mut RunOptions,
    flags: &ReviewFlags,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let by_variable = |id: &str| matches.value_source(id) == Some(ValueSource::EnvVariable);
    let off_by = match (flags.no_eval, by_variable("no_eval")) {
        (true, true) => Some("QUORUM_NO_EVAL"),
        (true, false) => Some("--no-eval"),
        (false, _) => eval_is_off()?.then_some("EVAL=off"),
    };
    options.no_eval |= off_by.is_some();
    if let Some(by) = off_by {
        options.said_by.no_eval = Some(by.to_owned());
    }
    if let Some(points) = flags.eval_threshold {
        let by_variable = by_variable("eval_threshold");
        options.said_by.eval_threshold = by_variable.then(|| "QUORUM_EVAL_THRESHOLD".to_owned());
        let origin = if by_variable {
            BarOrigin::Environment
        } else {
            BarOrigin::Flag
        };
        options.eval_threshold = Some(Bar { points, origin });
    } else if let Some(text) = std::env::var_os("EVAL_THRESHOLD").filter(|text| !text.is_empty()) {
        let points: Points = text
            .to_string_lossy()
            .parse()
            .map_err(|error| Failure::usage(anyhow!("the environment variable EVAL_THRESHOLD: {error}")))?;
        // A flag of an earlier session is a person's word: it stays.
        if options
            .eval_threshold
            .is_none_or(|bar| bar.origin != BarOrigin::Flag)
        {
            options.said_by.eval_threshold = Some("EVAL_THRESHOLD".to_owned());
            options.eval_threshold = Some(Bar {
                points,
                origin: BarOrigin::Environment,
            });
        }
    }
    Ok(())
}

/// Whether `EVAL` switches reviews off. A word that means neither is no guess: the wrong one would cost a review or money.
fn eval_is_off() -> Result<bool, Failure> {
    let value = std::env::var_os("EVAL").unwrap_or_default();
    let value = value.to_string_lossy();
    match value.trim().to_lowercase().as_str() {
        "" | "on" | "true" | "1" | "yes" => Ok(false),
        "off" | "false" | "0" | "no" => Ok(true),
        _ => Err(Failure::usage(anyhow!(
            "the environment variable EVAL: '{}' is neither on nor off",
            sanitize(&value)
        ))
        .help("`EVAL=off` switches reviews off, `EVAL=on` (or unset) leaves them on")),
    }
}

/// Starts the supervisor. Must come before anything opens a thread, a lock or a large mission.
pub fn fork_supervisor() -> Result<supervisor::Handle, Failure> {
    supervisor::fork().map_err(|error| {
        Failure::environment(anyhow!(
            "cannot start the supervisor, the process that owns all agents: {error}"
        ))
    })
}

/// The supervisor as the journal remembers it.
pub fn supervisor_ref(supervisor: &supervisor::Handle) -> SupervisorRef {
    let identity = supervisor.identity();
    SupervisorRef {
        pid: identity.pid,
        start_time: identity.start_time,
        boot_id: identity.boot_id.clone(),
        farewell: supervisor.farewell().map(str::to_owned),
    }
}

/// Programs and credentials of all agents, or everything that is missing. A run may add to what it recorded before, and to
/// no other recording.
pub fn resolve_programs(state: &State, options: &RunOptions, run: &RunId) -> Result<Programs, Failure> {
    let network = network(options, run)?;
    let offline = options.offline;
    Programs::resolve(state, &options.mission_folder, network).map_err(|problems| {
        let list: Vec<String> = problems.iter().map(EnvironmentProblem::to_string).collect();
        let failure = Failure::environment(anyhow!(list.join("\n       ")));
        failure.help(if offline {
            "nothing was started; `--offline --record DIR` takes models' replies from a recording that \
             `quorum run --record DIR` made"
        } else {
            "nothing was started; install what is missing or correct the agents, then run again"
        })
    })
}

/// What the session may use of the network.
fn network(options: &RunOptions, run: &RunId) -> Result<Network, Failure> {
    let Some(folder) = &options.record else {
        return Ok(match options.offline {
            true => Network::Offline(None),
            false => Network::Open,
        });
    };
    let opened = if options.offline {
        Cassette::open(folder).map(|cassette| Network::Offline(Some(Arc::new(cassette))))
    } else {
        Cassette::record_into(folder, run).map(|cassette| Network::Recording(Arc::new(cassette)))
    };
    opened.map_err(|error| {
        let help = match &error {
            CassetteError::Taken(_) => {
                "name another folder, or remove this one; `--offline` would work from the recording"
            }
            CassetteError::Nothing(_) => "`quorum run --record DIR` makes one",
            CassetteError::Unknown { .. } | CassetteError::Io { .. } => {
                "record again into another folder with `quorum run --record DIR`"
            }
        };
        Failure::environment(error).help(help)
    })
}

/// A ceiling on the cost needs the price of every model that may be called, whoever sets it.
pub fn refuse_unpriced(state: &State) -> Result<(), Failure> {
    let plan = &state.plan;
    if plan.rules.budget.max_cost.is_none() {
        return Ok(());
    }
    let unpriced = agents_needed(state);
    let unpriced = unpriced
        .into_iter()
        .filter_map(|id| Some((id, plan.unpriced_model(id)?)));
    let list: Vec<String> = unpriced
        .map(|(id, model)| {
            format!(
                "the model '{model}' of the agent '{}' has no price",
                plan.agent(id).name
            )
        })
        .collect();
    if list.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(anyhow!(
        "what the run may cost is limited, and {}",
        list.join("; ")
    ))
    .help("add it to `settings.prices`, or set no `--max-cost`; `quorum explain Q0308` says more"))
}

/// Makes the mission's workspace, if it is not there.
pub fn make_workspace(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|error| {
        Failure::environment(anyhow!("cannot make the workspace {}: {error}", path.display()))
    })
}

/// One session, on a runtime of its own.
pub fn drive(
    folder: &RunFolder,
    state: State,
    journal: Journal<FsLog>,
    keeping: Keeping,
    programs: Programs,
    observers: Vec<Box<dyn Observer>>,
    (first, begins, mission): (Fact, Option<Timestamp>, Option<PathBuf>),
) -> Result<Ending, Failure> {
    let run = folder.id().clone();
    panics::works_on(Some(&run));
    let settings = settings_files(&current_dir()?)
        .into_iter()
        .map(|file| file.path)
        .collect();
    let ending = block_on(async {
        let supervisor = keeping
            .supervisor
            .into_async()
            .map_err(|error| Failure::internal(anyhow!("the supervisor: {error}")))?;
        let setup = SessionSetup {
            folder: folder.clone(),
            state,
            journal,
            supervisor,
            programs,
            adopted: keeping.adopted,
            read: ReadBefore { mission, settings },
            observers,
            // Without a key the run can be worked on all the same; its readers say that nobody vouches for it.
            key: OperatorKey::existing_or_new().ok(),
            begins,
        };
        Session::new(setup).run(first).await.map_err(|error| {
            Failure::internal(error).help(format!(
                "the state is as of the last record; `quorum resume {run}` goes on from there"
            ))
        })
    });
    panics::works_on(None);
    ending.map_err(Failure::internal)?
}
