//! What can be typed with several commands: flags of results and of sessions.

use std::path::PathBuf;

use anyhow::{bail, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{ArgAction, Args, ValueEnum};

use crate::store::HOSTED;
use rules::{
    domain::{Millis, Money, OutcomeClass, Points, RunId},
    mission::model::{MergeInto, Sandbox},
};

use super::report_kind::{ReportKind, ReportTargets};

/// The word for the run that began last.
pub const LATEST: &str = "latest";

/// Whether a text switches a flag on, as people and pipelines write it; clap alone takes `true` only.
pub fn switch(text: &str) -> anyhow::Result<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        // Pipelines hand on variables that nobody has set.
        "" | "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => bail!("it is neither true nor false"),
    }
}

/// Reads the id of a new run, which cannot be the word for the run that began last.
fn new_run_id(text: &str) -> anyhow::Result<RunId> {
    let id = RunId::new(text)?;
    ensure!(id.as_str() != LATEST, "it is the word for the run that began last");
    Ok(id)
}

/// A ceiling of nothing would be no run.
fn max_cost(text: &str) -> anyhow::Result<Money> {
    let amount: Money = text.trim_start_matches('$').parse()?;
    ensure!(amount != Money::ZERO, "it must be above 0");
    Ok(amount)
}

fn share(text: &str) -> anyhow::Result<Points> {
    let share: rust_decimal::Decimal = text.parse()?;
    let share = share.checked_mul(rust_decimal::Decimal::ONE_HUNDRED);
    share.and_then(Points::new).ok_or_else(|| anyhow::anyhow!("it is no share from 0 to 1"))
}

/// What holds for every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct OutputArgs {
    /// How results are printed
    #[arg(long, global = true, value_enum, value_name = "FORMAT", env = "QUORUM_FORMAT", hide_env = true)]
    pub format: Option<Format>,
    /// JSON output: the same as --format json
    #[arg(
        long,
        global = true,
        conflicts_with = "format",
        env = "QUORUM_JSON",
        hide_env = true,
        action = ArgAction::SetTrue,
        value_parser = JsonFlag::of_switch
    )]
    pub json: JsonFlag,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t, env = "QUORUM_COLOR")]
    pub color: When,
    /// Print only failures and the result
    #[arg(short, long, global = true, env = "QUORUM_QUIET", hide_env = true)]
    pub quiet: bool,
    /// Answer yes where a person would be asked
    #[arg(short, long, global = true, env = "QUORUM_YES", hide_env = true)]
    pub yes: bool,
    /// Never ask: what needs an answer ends with exit 2
    #[arg(long, global = true, env = "QUORUM_NO_INPUT")]
    pub no_input: bool,
    /// The state folder [default: .polpo beside the nearest quorum.yaml, or here; what reads a run looks above, too]
    #[arg(long, global = true, value_name = "DIR", env = "QUORUM_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
    /// Print help
    #[arg(short, long, global = true, action = ArgAction::HelpShort)]
    pub help: Option<bool>,
}

/// The value of `--json`. It is a flag, but `report` writes to a file with it; a subcommand's flag takes the
/// place of a global one of the same name, and clap then wants both to have one type.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonFlag {
    /// Nothing.
    Unsaid,
    /// The result is one document.
    Document,
    /// `report`: the run's document goes to this file.
    File(PathBuf),
}

impl JsonFlag {
    fn of_switch(text: &str) -> anyhow::Result<Self> {
        let said = switch(text)?;
        Ok(if said { Self::Document } else { Self::Unsaid })
    }
}

/// Whether a run is gone by that nobody vouches for.
#[derive(Debug, Clone, Copy, Args)]
pub struct Trust {
    /// Go by a run though this machine's key does not vouch for it: you know where it comes from
    #[arg(long)]
    pub trust_origin: bool,
}

/// The run that a command is about.
#[derive(Debug, Args)]
pub struct OfRun {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// The run, as older scripts name it
    #[arg(long = "run", value_name = "RUN", hide = true, conflicts_with = "run")]
    pub named: Option<RunId>,
}

impl OfRun {
    /// The run that is named.
    pub fn id(&self) -> Option<&RunId> {
        self.run.as_ref().or(self.named.as_ref())
    }
}

worded! {
    /// How a result is printed.
    #[derive(ValueEnum)]
    pub enum Format {
        /// For people
        Human = "human",
        /// One document
        Json = "json",
        /// One object a line
        Jsonl = "jsonl",
        /// A drawing for Graphviz
        Dot = "dot",
        /// A drawing for Markdown
        Mermaid = "mermaid",
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum When {
    /// If the output is a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, ValueEnum)]
pub enum Progress {
    /// Bars on a terminal, else plain lines
    #[default]
    Auto,
    /// Running tasks at the bottom of the terminal
    Bar,
    /// One line per change
    Plain,
    /// Nothing
    None,
}

#[derive(Debug, Args)]
pub struct Run {
    /// The mission file; `-` is standard input
    #[arg(value_name = "MISSION", default_value = "mission.yaml")]
    pub mission: PathBuf,
    #[command(flatten)]
    pub flags: RunFlags,
}

#[derive(Debug, Clone, Args)]
pub struct RunFlags {
    /// Name the run instead of letting quorum do it
    #[arg(long, value_name = "ID", env = HOSTED, hide_env = true, value_parser = new_run_id)]
    pub run_id: Option<RunId>,
    /// Cancel the unfinished runs that have a task in common with this mission
    #[arg(long, env = "QUORUM_FRESH", hide_env = true)]
    pub fresh: bool,
    /// Where another session has the state folder, wait for it: so long, or for as long as it takes. Without it that is exit 9
    #[arg(long, value_name = "DURATION", num_args = 0..=1)]
    pub wait: Option<Option<Millis>>,
    /// Run only these tasks (repeatable, or with commas) and what they depend on
    #[arg(long, value_name = "TASK", env = "QUORUM_ONLY", hide_env = true, num_args = 1..)]
    pub only: Vec<String>,
    /// The share of bad work, 0 to 1, that may pass panels whose bar `settings.calibration` gives
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub max_false_pass: Option<Points>,
    /// Show the plan instead of running it (the same as quorum plan)
    #[arg(long)]
    pub dry_run: bool,
    /// Have a machine that runs `quorum worker --sessions` do it, and wait for that; with the --run-id of one that has begun, go on with it
    #[arg(long)]
    pub hosted: bool,
    /// An agent begins the run, as a client of quorum mcp: people decide about it at a terminal only
    #[arg(long, hide = true)]
    pub over_mcp: bool,
    #[command(flatten)]
    pub session: SessionFlags,
}

impl RunFlags {
    /// Bare `quorum` runs `./mission.yaml`.
    pub fn bare(self) -> Run {
        Run { mission: PathBuf::from("mission.yaml"), flags: self }
    }
}

/// What can be said of reviews.
#[derive(Debug, Default, Clone, Args)]
pub struct ReviewFlags {
    /// Call no judge of any kind; the work is reported as unreviewed. EVAL=off does the same
    #[arg(long, env = "QUORUM_NO_EVAL", hide_env = true)]
    pub no_eval: bool,
    /// The bar of every review, above what the mission says: 1-5, 20-100, "3.5/5" or "10/100". EVAL_THRESHOLD in the
    /// environment is weaker: the bar of reviews for which the mission names none
    #[arg(long, value_name = "N", env = "QUORUM_EVAL_THRESHOLD", hide_env = true)]
    pub eval_threshold: Option<Points>,
}

/// What a session demands beyond its mission.
#[derive(Debug, Default, Clone, Args)]
pub struct Demands {
    /// Unreviewed work is indeterminate (exit 6)
    #[arg(long, env = "QUORUM_STRICT")]
    pub strict: bool,
    /// Keep agents and commands from what judges them by the system: where it can be done, by all means, or not at all
    #[arg(
        long,
        value_name = "MODE",
        env = "QUORUM_SANDBOX",
        value_parser = PossibleValuesParser::new(["auto", "required", "off"]).map(sandbox)
    )]
    pub sandbox: Option<Sandbox>,
}

/// What can be said of one session: a run's first or a later one.
#[derive(Debug, Default, Clone, Args)]
pub struct SessionFlags {
    #[command(flatten)]
    pub reviews: ReviewFlags,
    /// Maximum attempts per task, of every kind
    #[arg(long, value_name = "N", env = "QUORUM_MAX_ATTEMPTS", hide_env = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: Option<u32>,
    /// Tasks that may run at the same time [default: the number of CPUs]
    #[arg(short, long, value_name = "N", env = "QUORUM_JOBS", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Maximum cost of the run, all its sessions together; models need a price in `settings.prices`
    #[arg(long, value_name = "AMOUNT", env = "QUORUM_MAX_COST", hide_env = true, value_parser = max_cost)]
    pub max_cost: Option<Money>,
    /// Maximum tokens of the run, read and written, all its sessions together
    #[arg(long, value_name = "N", env = "QUORUM_MAX_TOKENS", hide_env = true)]
    pub max_tokens: Option<u64>,
    /// Stop after this time (90s, 30m, 2h); the run can be resumed
    #[arg(long, value_name = "DURATION", env = "QUORUM_TIMEOUT", hide_env = true)]
    pub timeout: Option<Millis>,
    /// Wait so long for a person's decision (30m, 2h) [default: exit 8 at once]
    #[arg(long, value_name = "DURATION", env = "QUORUM_WAIT_APPROVALS", hide_env = true)]
    pub wait_approvals: Option<Millis>,
    /// Ignore this failure class when computing the exit code (repeatable): task_failed, gate_failed, below_threshold, …
    #[arg(long, value_name = "CLASS", env = "QUORUM_ALLOW", hide_env = true, value_delimiter = ',')]
    pub allow: Vec<OutcomeClass>,
    #[command(flatten)]
    pub demands: Demands,
    /// What becomes of work that was accepted in worktrees, at the end: ff, never, or "branch NAME"
    #[arg(long, value_name = "HOW")]
    pub merge: Option<MergeInto>,
    /// Start nothing more once a task has failed; the run can be resumed
    #[arg(long, env = "QUORUM_FAIL_FAST", hide_env = true)]
    pub fail_fast: bool,
    /// Use no network: what needs it is an error at the start. With --record, models reply as recorded
    #[arg(long, env = "QUORUM_OFFLINE")]
    pub offline: bool,
    /// Record what models behind HTTP reply, for --offline. Commands are not recorded: they run again
    #[arg(long, value_name = "DIR", env = "QUORUM_RECORD")]
    pub record: Option<PathBuf>,
    /// How progress is shown
    #[arg(long, value_enum, value_name = "KIND", default_value_t, env = "QUORUM_PROGRESS")]
    pub progress: Progress,
    /// Print more: every turn and check with its time, each reviewer's answer, errors of agents
    #[arg(short, long, env = "QUORUM_VERBOSE", hide_env = true, conflicts_with = "quiet")]
    pub verbose: bool,
    #[arg(
        long = "report",
        help = format!("Write a report at the end, however it ends (repeatable): {}", ReportKind::names()),
        value_name = "KIND=PATH",
        env = "QUORUM_REPORT",
        hide_env = true
    )]
    pub reports: Vec<ReportTargets>,
}

/// The word of `--sandbox`, one of those that are accepted.
fn sandbox(word: String) -> Sandbox {
    match word.as_str() {
        "required" => Sandbox::Required,
        "off" => Sandbox::Off,
        _ => Sandbox::Auto,
    }
}
