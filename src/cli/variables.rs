//! The variables that hold for a session and are no flag's. `QUORUM_STATE_DIR`, `_JOBS`, `_COLOR`, `_PROGRESS`, `_NO_INPUT`,
//! `_OFFLINE`, `_RECORD`, `_STRICT` and `_SANDBOX` stand with their flags.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::ArgMatches;

use crate::runtime::CONFIG;

use super::args::Output;
use super::failure::Failure;

/// What a variable means, for people: the page of the command line lists them.
pub const VARIABLES: [(&str, &str); 14] = [
    ("QUORUM_STATE_DIR", "the state folder, as `--state-dir`"),
    ("QUORUM_JOBS", "tasks that may run at the same time, as `--jobs`"),
    ("QUORUM_COLOR", "when to use colour, as `--color`"),
    ("QUORUM_PROGRESS", "how progress is shown, as `--progress`"),
    ("QUORUM_NO_INPUT", "never ask, as `--no-input`"),
    ("QUORUM_OFFLINE", "use no network, as `--offline`"),
    (
        "QUORUM_RECORD",
        "where replies of models are recorded, as `--record`",
    ),
    ("QUORUM_STRICT", "unreviewed work is indeterminate, as `--strict`"),
    (
        "QUORUM_SANDBOX",
        "how processes are confined (`auto`, `required`, `off`), as `--sandbox`",
    ),
    (
        CONFIG,
        "a settings file in the place of `$XDG_CONFIG_HOME/quorum/quorum.yaml`",
    ),
    (
        LOG,
        "how much is printed: `error` or `warn` as `--quiet`, `info`, `debug` or `trace` as `--verbose`",
    ),
    (
        "QUORUM_OPERATOR_KEY",
        "the key that vouches for runs and for what people say from outside; else the file `$XDG_STATE_HOME/quorum/key`",
    ),
    (
        "EVAL",
        "`off`, `0`, `false` or `no`: call no judge, as `--no-eval`",
    ),
    (
        "EVAL_THRESHOLD",
        "the bar of reviews for which the mission names none; weaker than `--eval-threshold`",
    ),
];

const LOG: &str = "QUORUM_LOG";

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// As with `--quiet`.
    Quiet,
    /// As without a flag.
    Usual,
    /// As with `--verbose`.
    Verbose,
}

/// The text of a variable; `None` where it is set to nothing.
fn text(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().trim().to_owned())
}

fn wrong(name: &str, value: &str, words: &str) -> Failure {
    Failure::usage(anyhow!(
        "the environment variable {name}: '{value}' is not one of: {words}"
    ))
}

/// What `QUORUM_LOG` says, where no flag says it.
///
/// # Errors
/// When it says something else.
pub fn log(output: &Output, matches: &ArgMatches) -> Result<Option<Log>, Failure> {
    let Some(level) = text(LOG) else {
        return Ok(None);
    };
    let log = match level.to_ascii_lowercase().as_str() {
        "error" | "warn" => Log::Quiet,
        "info" => Log::Usual,
        "debug" | "trace" => Log::Verbose,
        _ => return Err(wrong(LOG, &level, "error, warn, info, debug, trace")),
    };
    let is_verbose = matches!(matches.try_get_one::<bool>("verbose"), Ok(Some(true)));
    Ok(Some(log).filter(|_| !output.quiet && !is_verbose))
}

/// Refuses a `QUORUM_CONFIG` that names nothing: its settings would not hold, and nobody would know.
///
/// # Errors
/// When there is no such file.
pub fn check_config() -> Result<(), Failure> {
    let Some(path) = text(CONFIG).map(PathBuf::from).filter(|path| !path.is_file()) else {
        return Ok(());
    };
    Err(Failure::usage(anyhow!(
        "the environment variable {CONFIG}: there is no file {}",
        path.display()
    ))
    .help("nothing was started; correct the path, or unset it"))
}
