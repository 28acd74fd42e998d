//! What can be typed. Every flag has its `QUORUM_*` variable.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, Resettable, StringValueParser, TypedValueParser, ValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, CommandFactory, Parser, ValueEnum};

use crate::domain::{Millis, Money, OutcomeClass, ParseMoneyError, Points, RunId};

use super::answer::{Answer, Approve, Reject};
use super::approvals::OfRun;
use super::cancel::{Cancel, Pause};
use super::gate::Gate;
use super::resume::Resume;

const AFTER_HELP: &str = "\
Exit codes: 0 ok · 1 internal · 2 usage · 3 task_failed · 4 gate_failed · 5 below_threshold · 6 indeterminate · \
7 limit · 8 awaiting · 9 environment · 130/143 interrupted

Examples: quorum run mission.yaml
          quorum init && quorum";

/// Runs missions: graphs of tasks given to AI agents, judged by independent reviewers against evidence. Exits 0 only
/// when the work was really done and really passed.
#[derive(Debug, Parser)]
#[command(name = "quorum", version, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Subcommand>,
    #[command(flatten)]
    pub run: RunFlags,
    #[command(flatten)]
    pub output: Output,
}

/// The whole command line.
///
/// A switch whose variable is `1`, `yes` or `on` is on, as people and pipelines write it; clap alone takes `true` only.
#[must_use]
pub fn command() -> Command {
    fn with_switches(command: Command) -> Command {
        let is_switch = |argument: &Arg| {
            matches!(argument.get_action(), ArgAction::SetTrue)
                && argument.get_value_parser().type_id() == ValueParser::bool().type_id()
        };
        let is_run =
            |argument: &Arg| argument.get_value_parser().type_id() == ValueParser::new(RunWord).type_id();
        command
            .mut_args(|argument| match is_switch(&argument) {
                true => argument.value_parser(switch),
                false if is_run(&argument) && argument.get_id() != "run_id" => {
                    argument.value_parser(RunWord).hide_possible_values(true)
                }
                false => argument,
            })
            .mut_subcommands(with_switches)
    }
    with_switches(Arguments::command())
}

/// A run as it is typed. Shells complete the one word that names a run without its id.
#[derive(Debug, Clone, Copy)]
struct RunWord;

impl TypedValueParser for RunWord {
    type Value = RunId;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<Self::Value, clap::Error> {
        StringValueParser::new()
            .try_map(RunId::new)
            .parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new([PossibleValue::new(super::project::LATEST)].into_iter()))
    }
}

/// What was typed. A variable that belongs to the flags of a bare `quorum` says nothing to a subcommand, which reads those of
/// its own flags.
///
/// # Errors
/// What clap says; where a variable is to blame it is named.
pub fn parse(words: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    let of_subcommands = command().mut_args(|argument| match argument.is_global_set() {
        true => argument,
        false => argument.env(Resettable::<clap::builder::OsStr>::Reset),
    });
    let found = match of_subcommands.try_get_matches_from(words.clone()) {
        Ok(matches) if matches.subcommand().is_some() => return Ok(matches),
        Err(error) if error.exit_code() != 0 => Err(error),
        _ => command().try_get_matches_from(words.clone()),
    };
    found.map_err(|error| hint_at_run(name_variable(error, &words)))
}

/// Who types a mission in the place of a command means to run it.
fn hint_at_run(mut error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let is_mission = word.ends_with(".yaml") || word.ends_with(".yml") || Path::new(word).is_file();
    if is_mission {
        let hint = format!("to run a mission, type `quorum run {word}`");
        error.insert(
            ContextKind::Suggested,
            ContextValue::StyledStrs(vec![hint.into()]),
        );
    }
    error
}

/// A wrong value that nobody typed comes from a variable, which the message then names.
fn name_variable(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let (Some(argument), Some(value)) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue))
    else {
        return error;
    };
    let long = argument.split([' ', '=']).next().unwrap_or_default().to_owned();
    let is_typed = words.iter().any(|word| word.to_string_lossy().starts_with(&long));
    let mut known = command();
    known.build();
    if let Some(variable) = variable_of(&known, &argument, &value).filter(|_| !is_typed) {
        let named = format!("{argument}, by the environment variable {variable}");
        error.insert(ContextKind::InvalidArg, ContextValue::String(named));
    }
    error
}

/// The variable of an argument that holds this value.
fn variable_of(command: &Command, argument: &str, value: &str) -> Option<String> {
    let holds = |name: &OsStr| std::env::var_os(name).is_some_and(|held| held.to_string_lossy() == value);
    let mut own = command
        .get_arguments()
        .filter(|known| known.to_string() == argument);
    let own = own.find_map(|known| known.get_env().filter(|name| holds(name)));
    own.map(|name| name.to_string_lossy().into_owned()).or_else(|| {
        command
            .get_subcommands()
            .find_map(|sub| variable_of(sub, argument, value))
    })
}

/// Whether a variable switches its flag on.
fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" | "y" | "t" => Ok(true),
        // Pipelines hand on variables that nobody has set.
        "" | "0" | "false" | "no" | "off" | "n" | "f" => Ok(false),
        _ => Err("it is neither true nor false".to_owned()),
    }
}

/// What names the run that began last can name no other one.
fn new_run_id(text: &str) -> Result<RunId, String> {
    match RunId::new(text) {
        Ok(id) if id.as_str() == super::project::LATEST => {
            Err("it is the word for the run that began last".to_owned())
        }
        id => id.map_err(|error| error.to_string()),
    }
}

/// A ceiling of nothing would be no run.
fn max_cost(text: &str) -> Result<Money, String> {
    let amount: Money = text
        .trim_start_matches('$')
        .parse()
        .map_err(|error: ParseMoneyError| error.to_string())?;
    if amount == Money::ZERO {
        return Err("it must be above 0".to_owned());
    }
    Ok(amount)
}

impl Arguments {
    /// The formats in which the command prints its result, the usual one first.
    pub fn formats(&self) -> &'static [Format] {
        const TEXT: &[Format] = &[Format::Human];
        const DOCUMENT: &[Format] = &[Format::Human, Format::Json];
        const LINES: &[Format] = &[Format::Human, Format::Json, Format::Jsonl];
        const DRAWING: &[Format] = &[Format::Human, Format::Json, Format::Dot, Format::Mermaid];
        match &self.command {
            None if self.run.dry_run => DRAWING,
            Some(Subcommand::Run(run)) if run.flags.dry_run => DRAWING,
            Some(Subcommand::Plan(_)) => DRAWING,
            Some(Subcommand::Events(_)) => LINES,
            Some(Subcommand::Completions(_)) => TEXT,
            None
            | Some(
                Subcommand::Run(_)
                | Subcommand::Resume(_)
                | Subcommand::Review(_)
                | Subcommand::Validate(_)
                | Subcommand::Status(_)
                | Subcommand::Show(_)
                | Subcommand::Logs(_)
                | Subcommand::Runs(_)
                | Subcommand::Clean(_)
                | Subcommand::Metrics(_)
                | Subcommand::Calibrate(_)
                | Subcommand::Report(_)
                | Subcommand::Gate(_)
                | Subcommand::Approve(_)
                | Subcommand::Reject(_)
                | Subcommand::Answer(_)
                | Subcommand::Ask(_)
                | Subcommand::Delegate(_)
                | Subcommand::Progress(_)
                | Subcommand::Result(_)
                | Subcommand::Approvals(_)
                | Subcommand::Requests(_)
                | Subcommand::Request(_)
                | Subcommand::Dlq(_)
                | Subcommand::Cancel(_)
                | Subcommand::Pause(_)
                | Subcommand::Explain(_)
                | Subcommand::Schema(_)
                | Subcommand::Init(_)
                | Subcommand::Doctor(_)
                | Subcommand::Config(_),
            ) => DOCUMENT,
        }
    }
}

impl Format {
    /// The name as it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Dot => "dot",
            Self::Mermaid => "mermaid",
        }
    }
}

#[derive(Debug, clap::Subcommand)]
pub enum Subcommand {
    /// Validate a mission, run it, judge it, and report
    #[command(after_help = "Example: quorum run mission.yaml -j 4 --eval-threshold 70")]
    Run(Run),
    /// Continue the latest (or named) run after a crash, an interrupt or a gate override
    #[command(after_help = "Example: quorum resume --retry-failed")]
    Resume(Resume),
    /// Judge a task of a run again, or any work without a run: files, a diff, a pipe. Exit 0, 5 or 6
    #[command(
        after_help = "Examples: quorum review 'Implement GET /users'\n          quorum review --replay\n          git diff main | quorum review --criteria 'No secrets, tests for every change' -"
    )]
    Review(super::review::Review),
    /// Show what a mission would do: waves, who judges whom and why, gates, the worst case; no agent starts
    #[command(after_help = "Example: quorum plan mission.yaml --format mermaid")]
    Plan(super::plan::Plan),
    /// Check mission files without a network: exit 0 or 2
    #[command(after_help = "Example: quorum validate mission.yaml")]
    Validate(Validate),
    /// Show a run: tasks, phases, scores, flags, gates, what waits, the outcome
    #[command(after_help = "Example: quorum status --json | jq .outcome")]
    Status(Status),
    /// Show everything about one task: attempts, verdicts, findings, scores, reviews, files
    #[command(after_help = "Example: quorum show implement-api --attempt 2")]
    Show(super::show::Show),
    /// Print what the agent of a task said; -f follows it until the task ends
    #[command(after_help = "Example: quorum logs implement-api -f")]
    Logs(super::logs::Logs),
    /// List the runs, the newest last
    #[command(after_help = "Example: quorum runs -n 5")]
    Runs(super::runs::Runs),
    /// Remove runs that have ended
    #[command(after_help = "Example: quorum clean --older-than 30d")]
    Clean(super::clean::Clean),
    /// Show how tasks, agents and the mission did: assessments, scores, fixes, retries
    #[command(after_help = "Example: quorum metrics --json | jq .mission.avgScore")]
    Metrics(super::metrics::Metrics),
    Calibrate(super::calibrate::Calibrate),
    /// Write a run's reports again: JUnit, Markdown, HTML, JSON
    #[command(after_help = "Example: quorum report latest --to junit=junit.xml --to html=report.html")]
    Report(super::report::Report),
    /// Evaluate gates from stored state, or let a failed one pass: exit 0 passed, 4 failed, 8 not finished, 2 unknown
    #[command(
        after_help = "Examples: quorum gate code-review --wait --timeout 5m\n          quorum gate code-review --override --reason 'accepted risk'"
    )]
    Gate(Gate),
    /// Accept what waits for a person: exit 0 applied, 2 unknown, 4 decided otherwise, 8 queued, 9 refused
    #[command(after_help = "Example: quorum approve 20261121-215900-123.0.1 --as ada")]
    Approve(Approve),
    /// Send back what waits for a person, with what the worker is told
    #[command(after_help = "Example: quorum reject 20261121-215900-123.0.1 --reason 'the tests are missing'")]
    Reject(Reject),
    /// Answer what the agent of a task asks: exit 0 applied, 2 unknown, 4 answered otherwise, 8 queued, 9 refused
    #[command(after_help = "Example: quorum answer 20261121-215900-123.0.1 'Use the second one.'")]
    Answer(Answer),
    /// For agents: ask something about the task; the answer comes in the next turn
    #[command(after_help = "Example: quorum ask 'Which of the two databases is meant?'")]
    Ask(super::voice::Message),
    /// For agents: hand work down; the sub-task is made once the task ends clean
    #[command(after_help = "Example: quorum delegate 'Write the tests' 'For the parser.' --to tester")]
    Delegate(super::voice::Delegate),
    /// For agents: say how far the work is
    #[command(after_help = "Example: quorum progress '3 of 5 files done'")]
    Progress(super::voice::Message),
    /// For agents: write the result file of the turn
    #[command(after_help = "Example: quorum result 'All five files are written.' --output-tokens 5000")]
    Result(super::voice::AgentResult),
    /// List what waits for a person
    #[command(after_help = "Example: quorum approvals --json | jq -r '.approvals[].id'")]
    Approvals(OfRun),
    /// List what operators should know of: work that was accepted below the bar
    #[command(after_help = "Example: quorum requests")]
    Requests(OfRun),
    /// Ask for work from outside, and approve, reject or cancel what was asked for
    #[command(after_help = "Example: quorum request submit 'Fix the login' && quorum request approve req-1")]
    Request(super::request::RequestArguments),
    /// Look at what failed for good (notifications, judges), try it again or close it
    #[command(after_help = "Example: quorum dlq retry 20261121-215900-123.n1")]
    Dlq(super::dlq::Dlq),
    /// Call off a run or one of its tasks; what runs for it is ended
    #[command(after_help = "Example: quorum cancel 'write the docs'")]
    Cancel(Cancel),
    /// Start nothing more in the session that runs; it ends resumable once what has started is finished
    #[command(after_help = "Example: quorum pause && quorum status")]
    Pause(Pause),
    /// Print what happened in a run, event by event
    #[command(
        after_help = "Example: quorum events --format jsonl | jq 'select(.event == \"task:transition\")'"
    )]
    Events(Events),
    Explain(super::explain::Explain),
    Schema(super::schema::Schema),
    Init(super::init::Init),
    Doctor(super::doctor::Doctor),
    Config(super::config::Config),
    Completions(super::completions::Completions),
}

/// What holds for every command.
#[derive(Debug, Clone, Args)]
pub struct Output {
    /// How results are printed
    #[arg(long, global = true, value_enum, value_name = "FORMAT", env = "QUORUM_FORMAT")]
    pub format: Option<Format>,
    /// The same as --format json
    #[arg(
        long,
        global = true,
        conflicts_with = "format",
        env = "QUORUM_JSON",
        action = ArgAction::SetTrue,
        value_parser = Json::of_switch
    )]
    pub json: Json,
    /// When to use colour
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        env = "QUORUM_COLOR"
    )]
    pub color: When,
    /// Print only failures and the result
    #[arg(short, long, global = true, env = "QUORUM_QUIET")]
    pub quiet: bool,
    /// Answer yes where a person would be asked
    #[arg(short, long, global = true, env = "QUORUM_YES")]
    pub yes: bool,
    /// Never ask, even on a terminal: what needs an answer ends with exit 2
    #[arg(long, global = true, env = "QUORUM_NO_INPUT")]
    pub no_input: bool,
    /// Where state is kept [default: .polpo beside the nearest quorum.yaml, or here]
    #[arg(long, global = true, value_name = "DIR", env = "QUORUM_STATE_DIR")]
    pub state_dir: Option<PathBuf>,
}

/// What `--json` says. It is a flag, but `report` writes to a file with it; a subcommand's flag takes the place of a
/// global one of the same name, and clap then wants both to have one type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// Nothing.
    Unsaid,
    /// The result is one document.
    Document,
    /// `report`: the run's document goes to this file.
    File(PathBuf),
}

impl Json {
    fn of_switch(text: &str) -> Result<Self, String> {
        let said = switch(text)?;
        Ok(if said { Self::Document } else { Self::Unsaid })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    Human,
    /// One document
    Json,
    /// One object a line
    Jsonl,
    /// A drawing for Graphviz (plan only)
    Dot,
    /// A drawing for Markdown (plan only)
    Mermaid,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// If the output is a terminal
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
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
    #[arg(long, value_name = "ID", env = "QUORUM_NEW_RUN_ID", value_parser = new_run_id)]
    pub run_id: Option<RunId>,
    /// Cancel the unfinished runs that have a task in common with this mission
    #[arg(long, env = "QUORUM_FRESH")]
    pub fresh: bool,
    /// Take only these tasks (repeatable, or with commas) and everything they need; the rest is left out of the run
    #[arg(long, value_name = "TASK", env = "QUORUM_ONLY", num_args = 1..)]
    pub only: Vec<String>,
    /// Show the plan instead of running it (the same as quorum plan)
    #[arg(long, env = "QUORUM_DRY_RUN")]
    pub dry_run: bool,
    #[command(flatten)]
    pub session: SessionFlags,
}

impl RunFlags {
    /// Bare `quorum` runs `./mission.yaml`.
    pub fn bare(self) -> Run {
        Run {
            mission: PathBuf::from("mission.yaml"),
            flags: self,
        }
    }
}

/// What can be said of reviews.
#[derive(Debug, Clone, Args)]
pub struct ReviewFlags {
    /// Call no judge of any kind; the work is reported as unreviewed [env: EVAL=off]
    #[arg(long, env = "QUORUM_NO_EVAL")]
    pub no_eval: bool,
    /// The bar of every review, whatever the mission says: 1-5, 20-100, "3.5/5" or "10/100" [env: EVAL_THRESHOLD=, where
    /// the mission says nothing]
    #[arg(long, value_name = "N", env = "QUORUM_EVAL_THRESHOLD")]
    pub eval_threshold: Option<Points>,
}

/// What can be said of one session: a run's first or a later one.
#[derive(Debug, Clone, Args)]
pub struct SessionFlags {
    #[command(flatten)]
    pub reviews: ReviewFlags,
    /// Attempts of every kind that a task may take
    #[arg(long, value_name = "N", env = "QUORUM_MAX_ATTEMPTS", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_attempts: Option<u32>,
    /// Tasks that may run at the same time [default: the number of CPUs]
    #[arg(short, long, value_name = "N", env = "QUORUM_JOBS", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// What the run may cost, all its sessions together; models need a price in `settings.prices`
    #[arg(long, value_name = "AMOUNT", env = "QUORUM_MAX_COST", value_parser = max_cost)]
    pub max_cost: Option<Money>,
    /// Tokens that the run may read and write, all its sessions together
    #[arg(long, value_name = "N", env = "QUORUM_MAX_TOKENS")]
    pub max_tokens: Option<u64>,
    /// Stop after this time (90s, 30m, 2h); the run can be resumed
    #[arg(long, value_name = "DURATION", env = "QUORUM_TIMEOUT")]
    pub timeout: Option<Millis>,
    /// Where only a person can move the run on, wait so long for the answer (30m, 2h) [default: end with 8]
    #[arg(long, value_name = "DURATION", env = "QUORUM_WAIT_APPROVALS")]
    pub wait_approvals: Option<Millis>,
    /// Let a condition not count for the exit code (repeatable): task_failed, gate_failed, below_threshold, …
    #[arg(long, value_name = "CLASS", env = "QUORUM_ALLOW", value_delimiter = ',')]
    pub allow: Vec<OutcomeClass>,
    /// Unreviewed work is indeterminate (exit 6)
    #[arg(long, env = "QUORUM_STRICT")]
    pub strict: bool,
    /// Once a task has failed, start nothing more; what runs may finish, and the run can be resumed
    #[arg(long, env = "QUORUM_FAIL_FAST")]
    pub fail_fast: bool,
    /// Use no network: what needs it is an error at the start. With --record, models reply what was recorded there
    #[arg(long, env = "QUORUM_OFFLINE")]
    pub offline: bool,
    /// Record what models behind HTTP reply, for --offline. Commands are not recorded: they run again
    #[arg(long, value_name = "DIR", env = "QUORUM_RECORD")]
    pub record: Option<PathBuf>,
    /// How progress is shown
    #[arg(
        long,
        value_enum,
        value_name = "KIND",
        default_value_t,
        env = "QUORUM_PROGRESS"
    )]
    pub progress: Progress,
    /// Say more: programs, every turn and check with its time, every reviewer's answer, what failed agents wrote to
    /// standard error
    #[arg(short, long, env = "QUORUM_VERBOSE", conflicts_with = "quiet")]
    pub verbose: bool,
    /// Write a report at the end, however it ends (repeatable): junit, markdown, html, json
    #[arg(long = "report", value_name = "KIND=PATH", env = "QUORUM_REPORT")]
    pub reports: Vec<super::reports::ReportTargets>,
}

#[derive(Debug, Args)]
pub struct Validate {
    /// Mission files; `-` is standard input
    #[arg(value_name = "MISSION", default_value = "mission.yaml")]
    pub missions: Vec<PathBuf>,
    #[command(flatten)]
    pub reviews: ReviewFlags,
}

#[derive(Debug, Args)]
pub struct Status {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Show it again whenever it changes, until the session ends
    #[arg(short, long, env = "QUORUM_WATCH")]
    pub watch: bool,
    /// Exit with the run's own code
    #[arg(long, env = "QUORUM_EXIT_CODE")]
    pub exit_code: bool,
}

#[derive(Debug, Args)]
pub struct Events {
    /// The run [default: the latest]
    #[arg(value_name = "RUN")]
    pub run: Option<RunId>,
    /// Go on as events happen, until the session ends
    #[arg(short, long, env = "QUORUM_FOLLOW")]
    pub follow: bool,
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
