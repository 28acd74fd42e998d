//! The options of a session: configuration files, and what flags and the environment say above them.

use std::time::Instant;

use clap::ArgMatches;
use clap::parser::ValueSource;

use crate::runtime::git;
use rules::{
    domain::{Bar, BarOrigin, Millis, Points},
    plan::RunOptions,
};

use super::args::{Demands, ReviewFlags, SessionFlags};
use super::command_error::Failure;
use super::project::settings_texts;
use super::variables;

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

/// Applies flags and environment to options. What is not said stays as it is.
pub fn apply_flags(
    options: &mut RunOptions,
    flags: &SessionFlags,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    apply_review_flags(options, &flags.reviews, matches)?;
    options.max_attempts = flags.max_attempts.or(options.max_attempts);
    options.jobs = flags.jobs.or(options.jobs);
    options.max_cost = flags.max_cost.or(options.max_cost);
    options.max_tokens = flags.max_tokens.or(options.max_tokens);
    options.timeout = flags.timeout.or(options.timeout);
    // What is asked of git before the session begins is a part of its time.
    let limit = options.timeout.map(Millis::as_duration);
    if let Some(then) = limit.and_then(|limit| Instant::now().checked_add(limit)) {
        git::hurry(then);
    }
    options.wait_approvals = flags.wait_approvals.or(options.wait_approvals);
    apply_demands(options, &flags.demands);
    options.merge = flags.merge.clone().or_else(|| options.merge.take());
    options.fail_fast |= flags.fail_fast;
    options.offline |= flags.offline;
    if let Some(folder) = &flags.record {
        let folder =
            std::path::absolute(folder).map_err(|error| usage!("--record {}: {error}", folder.display()))?;
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

/// Applies to options what a session demands.
pub fn apply_demands(options: &mut RunOptions, demands: &Demands) {
    options.strict |= demands.strict;
    options.sandbox = demands.sandbox.or(options.sandbox);
}

/// Applies to options what flags and environment say of reviews alone.
///
/// # Errors
/// When a variable says something that it cannot mean.
pub fn apply_review_flags(
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
        let origin = if by_variable { BarOrigin::Environment } else { BarOrigin::Flag };
        options.eval_threshold = Some(Bar { points, origin });
    } else if let Some(text) = std::env::var_os("EVAL_THRESHOLD").filter(|text| !text.is_empty()) {
        let points: Points = text
            .to_string_lossy()
            .parse()
            .map_err(|error| usage!("the environment variable EVAL_THRESHOLD: {error}"))?;
        // A flag of an earlier session is a person's word: it stays.
        if options.eval_threshold.is_none_or(|bar| bar.origin != BarOrigin::Flag) {
            options.said_by.eval_threshold = Some("EVAL_THRESHOLD".to_owned());
            options.eval_threshold = Some(Bar { points, origin: BarOrigin::Environment });
        }
    }
    Ok(())
}

/// Refuses variables that could loosen what a mission demands. Those that cannot are a list; what is not in it is not taken.
///
/// # Errors
/// When a variable is set that is not in the list, or means nothing.
pub fn refuse_loosening() -> Result<(), Failure> {
    let off = eval_is_off()?.then(|| "EVAL".to_owned());
    let Some(name) = off.or_else(variables::loosening) else {
        return Ok(());
    };
    Err(usage!("the environment variable {name} is set: agents have missions run as they are written")
        .help(format!("start it without {name}; a person can say it with `quorum run`")))
}

/// Whether `EVAL` switches reviews off. A word that means neither is no guess: the wrong one would cost a review or money.
fn eval_is_off() -> Result<bool, Failure> {
    let value = std::env::var_os("EVAL").unwrap_or_default();
    let value = value.to_string_lossy();
    match value.trim().to_lowercase().as_str() {
        "" | "on" | "true" | "1" | "yes" => Ok(false),
        "off" | "false" | "0" | "no" => Ok(true),
        _ => Err(usage!("the environment variable EVAL: '{value}' is neither on nor off")
            .help("`EVAL=off` switches reviews off, `EVAL=on` (or unset) leaves them on")),
    }
}
