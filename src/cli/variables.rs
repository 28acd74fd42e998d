//! The variables that hold for a session and are no flag's. `QUORUM_STATE_DIR`, `_JOBS`, `_COLOR`, `_PROGRESS`, `_NO_INPUT`,
//! `_OFFLINE`, `_RECORD`, `_STRICT` and `_SANDBOX` stand with their flags.

use std::path::PathBuf;

use clap::{ArgMatches, Command};

use crate::runtime::CONFIG;
use rules::mission::did_you_mean;

use super::args::OutputArgs;
use super::command_error::Failure;

/// The variables and their meaning, for people: the page of the command line lists them.
pub const VARIABLES: [(&str, &str); 15] = [
    ("QUORUM_STATE_DIR", "the state folder, as `--state-dir`"),
    ("QUORUM_JOBS", "tasks that may run at the same time, as `--jobs`"),
    ("QUORUM_COLOR", "when to use colour, as `--color`"),
    ("QUORUM_PROGRESS", "how progress is shown, as `--progress`"),
    ("QUORUM_NO_INPUT", "never ask, as `--no-input`"),
    ("QUORUM_OFFLINE", "use no network, as `--offline`"),
    ("QUORUM_RECORD", "where replies of models are recorded, as `--record`"),
    ("QUORUM_STRICT", "unreviewed work is indeterminate, as `--strict`"),
    ("QUORUM_SANDBOX", "how processes are confined (`auto`, `required`, `off`), as `--sandbox`"),
    (CONFIG, "a settings file in the place of `$XDG_CONFIG_HOME/quorum/quorum.yaml`"),
    (LOG, "how much is printed: `error` or `warn` as `--quiet`, `info`, `debug` or `trace` as `--verbose`"),
    (
        "QUORUM_OPERATOR_KEY",
        "the key that vouches for runs and for what people say from outside; else the file `$XDG_STATE_HOME/quorum/key`",
    ),
    (
        "QUORUM_WORKER_KEY",
        "the key under which machines of a team run agents for each other; else the file `$XDG_CONFIG_HOME/quorum/worker-key`",
    ),
    ("EVAL", "`off`, `0`, `false` or `no`: call no judge, as `--no-eval`"),
    ("EVAL_THRESHOLD", "the bar of reviews for which the mission names none; weaker than `--eval-threshold`"),
];

const LOG: &str = "QUORUM_LOG";

/// Variables that begin like ours and are no user's setting: what children are told, and what installs, builds and tests use.
/// One that ends with `_` stands for all that begin so.
const OF_OTHERS: [&str; 23] = [
    "QUORUM_RUN_ID",
    "QUORUM_TASK",
    "QUORUM_ATTEMPT",
    "QUORUM_TURN",
    "QUORUM_TURN_KEY",
    "QUORUM_ACP_TURN",
    "QUORUM_TASK_DIR",
    "QUORUM_RESULT_FILE",
    "QUORUM_PROMPT_FILE",
    "QUORUM_REVIEW_FILE",
    "QUORUM_PURPOSE",
    "QUORUM_STAGE",
    "QUORUM_RELEASE_URL",
    "QUORUM_COMMIT",
    "QUORUM_SOURCE",
    "QUORUM_BINARY",
    "QUORUM_COMPLETE",
    "QUORUM_TEST_",
    "QUORUM_SIM_",
    "QUORUM_SOAK_",
    "QUORUM_TORTURE_",
    "QUORUM_MATRIX",
    "QUORUM_PARSER_",
];

/// Variables of a session that can only tighten it, or say where things are and how they look.
const NEVER_LOOSENING: [&str; 19] = [
    "QUORUM_STATE_DIR",
    "QUORUM_JOBS",
    "QUORUM_COLOR",
    "QUORUM_FORMAT",
    "QUORUM_JSON",
    "QUORUM_QUIET",
    "QUORUM_VERBOSE",
    "QUORUM_PROGRESS",
    "QUORUM_NO_INPUT",
    "QUORUM_STRICT",
    "QUORUM_FAIL_FAST",
    "QUORUM_MAX_ATTEMPTS",
    "QUORUM_MAX_COST",
    "QUORUM_MAX_TOKENS",
    "QUORUM_TIMEOUT",
    "QUORUM_WAIT_APPROVALS",
    "QUORUM_OPERATOR_KEY",
    "QUORUM_WORKER_KEY",
    LOG,
];

/// A variable that is set and could loosen what a mission demands.
pub fn loosening() -> Option<String> {
    let of_sandbox = |value: &str| ["auto", "required"].contains(&value);
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let mut names = set.filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let tightens = name == "QUORUM_SANDBOX" && value.to_str().is_some_and(of_sandbox);
        let is_harmless = tightens || NEVER_LOOSENING.contains(&name.as_str()) || is_of_others(&name);
        let is_ours = name.starts_with("QUORUM_") || name == "EVAL_THRESHOLD";
        (is_ours && !is_harmless).then_some(name)
    });
    names.next()
}

fn is_of_others(name: &str) -> bool {
    OF_OTHERS.iter().any(|known| name == *known || known.ends_with('_') && name.starts_with(known))
}

/// Warnings about variables that begin like ours and that nothing heeds: a misspelt one would loosen what it
/// was to tighten, in silence.
pub fn unknown(root: &Command) -> Vec<String> {
    let mut known = of_flags(root);
    known.extend(VARIABLES.map(|(name, _)| name.to_owned()));
    known.extend(OF_OTHERS.map(str::to_owned));
    let is_known = |name: &String| known.contains(name) || is_of_others(name);
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let unknown = names.filter(|name| name.starts_with("QUORUM_") && !is_known(name));
    let said = unknown.map(|name| {
        let meant = did_you_mean(&name, known.iter().map(String::as_str));
        let meant = meant.map_or_else(String::new, |meant| format!("; {meant}"));
        format!("the environment variable {name} is not known and changes nothing{meant}")
    });
    said.collect()
}

/// The variables of a command's flags, and of those below it.
fn of_flags(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(clap::Arg::get_env);
    let own = own.map(|name| name.to_string_lossy().into_owned());
    own.chain(command.get_subcommands().flat_map(of_flags)).collect()
}

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Log {
    /// The level of `--quiet`.
    Quiet,
    /// As without a flag.
    Usual,
    /// The level of `--verbose`.
    Verbose,
}

/// The text of a variable; `None` where it is set to nothing.
fn text(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().trim().to_owned())
}

fn wrong(name: &str, value: &str, words: &str) -> Failure {
    usage!("the environment variable {name}: '{value}' is not one of: {words}")
}

/// The level that `QUORUM_LOG` sets, where no flag does.
///
/// # Errors
///
/// When the variable has another value.
pub fn log(output: &OutputArgs, matches: &ArgMatches) -> Result<Option<Log>, Failure> {
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
    Err(usage!("the environment variable {CONFIG}: there is no file {}", path.display())
        .help("nothing was started; correct the path, or unset it"))
}
