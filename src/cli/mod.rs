//! The command line: one file per subcommand, from arguments to calls to rendering. Rules live elsewhere.
//!
//! Here is the table of all commands, which no file below imports. A command imports no other one: what two of them need
//! has a file of its own.
//!
//! | file | what |
//! |---|---|
//! | `active_titles` | titles that are active in another unfinished run: what is in the way of a run is refused or cancelled |
//! | `args` | what can be typed with several commands: flags of results and of sessions |
//! | `calibration` | bars that labelled work gives to panels, as a run takes them when it begins |
//! | `changed_mission` | a mission file that was changed since its run froze it: `--accept-changed-mission` |
//! | `command_error` | why a command could not do what it was asked: a message, what to do next, an exit code |
//! | `command_tree` | the command line as one tree: what the structs declare, with what they cannot say |
//! | `commands` | the subcommands, one file each. A command imports no other one: what two of them need lies above |
//! | `complete` | what a shell offers at the tab key |
//! | `confirm` | questions to a person |
//! | `decision` | a person's decisions, as commands and forms give them |
//! | `defined_agents` | the agents that a file defines, for judging without a run |
//! | `desk` | `--via temporal`: a command is done at the desk of its run, on another machine |
//! | `event_loop` | the event loop of a command: asynchronous work is waited for |
//! | `file_view` | a file of a run as it is quoted: its beginning, if it is as records say |
//! | `finish_gate` | what finish gates need from the disk before a run may start: lists of tests, and what says how to compile |
//! | `folded_task` | one task of a run, as the run's journal tells it |
//! | `harmless` | a writer to a terminal that shows what would move the cursor, turn the reading direction or stay unseen |
//! | `hosted` | `quorum run --hosted`: the session is on whichever machine hosts sessions |
//! | `later_session` | a later session of a run, for commands that go on with it: it is opened, vouched for, and given what it lacks |
//! | `launch` | a run begins: its folder, its frozen mission, its journal, its first session |
//! | `listing` | a run as a row of a list |
//! | `load` | a mission for a run: where it is, its text checked, and the plan of what is selected of it |
//! | `lock` | the lock of the state folder: taken, or named with who has it |
//! | `operator_client` | how a command from outside reaches its run, and what it says about it |
//! | `options` | the options of a session: configuration files, and what flags and the environment say above them |
//! | `panics` | what a bug of ours looks like to a user: exit code 1, and how the run goes on |
//! | `project` | where things are: the project's `quorum.yaml`, the user's, the state folder, the runs in it |
//! | `reference` | the page `docs/reference/cli.md`: what `--help` says, command by command |
//! | `report_kind` | the kinds of reports: their names, where one goes, and what each is made of |
//! | `report_place` | where a report goes: a file is replaced whole, a FIFO or a device written to |
//! | `reports` | reports that a session leaves behind: files that were asked for, GitHub's summary and annotations |
//! | `screen` | what is printed where: results on stdout, progress and diagnostics on stderr |
//! | `session` | what sessions have in common: the supervisor, programs and credentials, the session itself |
//! | `telemetry` | the spans of a session, handed to whoever collects them (20) |
//! | `variables` | variables that hold for a session and are no flag's |
//! | `writer` | who works on a run now: a session, or agents that outlived one |

#[macro_use]
mod command_error;

mod active_titles;
mod args;
mod calibration;
mod changed_mission;
mod command_tree;
mod commands;
mod complete;
mod confirm;
mod decision;
mod defined_agents;
mod desk;
mod event_loop;
mod file_view;
mod finish_gate;
mod folded_task;
mod harmless;
mod hosted;
mod later_session;
mod launch;
mod listing;
mod load;
mod lock;
mod operator_client;
mod options;
mod panics;
mod project;
#[cfg(test)]
mod reference;
mod report_kind;
mod report_place;
mod reports;
mod screen;
mod session;
mod telemetry;
mod variables;
mod writer;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::report::documents::Halves;
use command_error::Failure;
use commands::{
    agent, answer, calibrate, cancel, clean, compare, completions, config, diff, dlq, doctor, events,
    explain, gate, help, inbox, init, judge, logs, man, mcp, merge, metrics, plan, report, request, resume,
    review, run, runs, schema, serve, show, stats, status, validate, worker,
};
use screen::{Screen, not_printed};

const AFTER_HELP: &str = "\
Examples: quorum init && quorum
          quorum run mission.yaml -j 4 --report junit=junit.xml";

/// Run graphs of tasks with AI agents, judged by independent reviewers
#[derive(Debug, Parser)]
#[command(
    name = "quorum",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_flag = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Action>,
    #[command(flatten)]
    run: args::RunFlags,
    #[command(flatten)]
    output: args::OutputArgs,
}

// What can be done. Each command stands once: how it is called, what its help says, and below, what does it.
#[derive(Debug, Subcommand)]
enum Action {
    /// Run a mission: work, judge, gate, report
    #[command(after_help = "Example: quorum run mission.yaml -j 4 --max-cost 5 --report junit=junit.xml")]
    Run(args::Run),
    /// Continue a run that was stopped or is waiting
    #[command(after_help = "Example: quorum resume --retry-failed")]
    Resume(resume::ResumeArgs),
    /// Show what a run would do, without running it
    #[command(after_help = "Example: quorum plan mission.yaml --format mermaid")]
    Plan(plan::PlanArgs),
    /// Check mission files
    #[command(after_help = "Example: quorum validate mission.yaml")]
    Validate(validate::Validate),
    /// Let running tasks finish, and start no more
    #[command(after_help = "Example: quorum pause && quorum status")]
    Pause(cancel::Pause),
    /// Cancel a run or one of its tasks
    #[command(after_help = "Example: quorum cancel 'write the docs'")]
    Cancel(cancel::Cancel),
    /// Show a run: tasks, scores, gates, what waits
    #[command(after_help = "Example: quorum status --json | jq .outcome")]
    Status(status::StatusArgs),
    /// Print what the agent of a task wrote
    #[command(after_help = "Example: quorum logs implement-api -f")]
    Logs(logs::Logs),
    /// Print what a task in a worktree, or a run, changed
    #[command(after_help = "Example: quorum diff implement-api | less")]
    Diff(diff::Diff),
    /// Merge the accepted work of a run that ended well
    #[command(
        after_help = "Examples: quorum merge 20261121-215900-123\n          quorum merge latest --into 'branch done'"
    )]
    Merge(merge::Merge),
    /// Print the events of a run
    #[command(
        after_help = "Example: quorum events --format jsonl | jq 'select(.event == \"task:transition\")'"
    )]
    Events(events::EventsArgs),
    /// List what waits for a person
    #[command(after_help = "Example: quorum inbox --json | jq -r '.approvals[].id'")]
    Inbox(args::OfRun),
    /// Approve what waits for a person
    #[command(after_help = "Example: quorum approve 20261121-215900-123.0.1 --as ada")]
    Approve(answer::Approve),
    /// Send back what waits for a person, with a reason
    #[command(after_help = "Example: quorum reject 20261121-215900-123.0.1 --reason 'the tests are missing'")]
    Reject(answer::Reject),
    /// Answer a question of an agent
    #[command(after_help = "Example: quorum answer 20261121-215900-123.0.1 'Use the second one.'")]
    Answer(answer::AnswerArgs),
    /// Check gates, or override a failed one
    #[command(
        after_help = "Examples: quorum gate code-review --wait --timeout 5m\n          quorum gate code-review --override --reason 'accepted risk'"
    )]
    Gate(gate::GateArgs),
    /// Submit new work, and decide about it
    #[command(after_help = "Example: quorum request submit 'Fix the login' && quorum request approve req-1")]
    Request(request::RequestArguments),
    /// Judge a task again, or files, a diff, a pipe
    #[command(
        after_help = "Examples: quorum review 'Implement GET /users'\n          quorum review --replay\n          git diff main | quorum review --criteria 'No secrets, tests for every change' -"
    )]
    Review(review::ReviewArgs),
    /// Show whether the replies of a judge can be read
    #[command(after_help = "Example: quorum judge test critic")]
    Judge(judge::JudgeArguments),
    Calibrate(calibrate::Calibrate),
    /// Show a task: attempts, verdicts, findings
    #[command(after_help = "Example: quorum show implement-api --attempt 2")]
    Show(show::Show),
    /// Show scores, fixes, retries of tasks and agents
    #[command(after_help = "Example: quorum metrics --json | jq .mission.avgScore")]
    Metrics(metrics::MetricsArgs),
    /// Show how agents and judges did over all runs
    #[command(after_help = "Example: quorum stats --since 30d --by judge")]
    Stats(stats::StatsArgs),
    /// List the runs, the newest last
    #[command(after_help = "Example: quorum runs -n 5")]
    Runs(runs::Runs),
    /// Remove runs that have ended
    #[command(after_help = "Example: quorum clean --older-than 30d")]
    Clean(clean::Clean),
    /// Write reports of a run, by kind
    #[command(after_help = "Example: quorum report latest --to junit=junit.xml --to html=report.html")]
    Report(report::ReportArgs),
    /// Hold a run against an earlier one: scores, findings
    #[command(after_help = "Example: quorum compare latest --max-drop 2 --no-new-findings")]
    Compare(compare::CompareArgs),
    /// Inspect and retry notifications that failed
    #[command(after_help = "Example: quorum dlq retry 20261121-215900-123.n1")]
    Dlq(dlq::Dlq),
    Init(init::Init),
    Worker(worker::WorkerArgs),
    Mcp(mcp::Mcp),
    Serve(serve::Serve),
    Doctor(doctor::Doctor),
    Config(config::ConfigArgs),
    Schema(schema::Schema),
    Explain(explain::Explain),
    Man(man::Man),
    Completions(completions::Completions),
    Help(help::Help),
    /// For agents inside a task: ask, delegate, progress, result
    #[command(after_help = "Example: quorum agent ask 'Which of the two databases is meant?'")]
    Agent(agent::AgentArgs),
    /// List what waits for a person: the first half of `quorum inbox`
    #[command(hide = true, after_help = "Example: quorum approvals --json | jq -r '.approvals[].id'")]
    Approvals(args::OfRun),
    /// List work that was accepted below the bar: the second half of `quorum inbox`
    #[command(hide = true, after_help = "Example: quorum requests")]
    Requests(args::OfRun),
    // The commands of `quorum agent` under the names that agents were told first.
    #[command(flatten)]
    OfAgents(agent::AgentCommand),
}

/// Does what was asked for. Returns the exit code.
fn perform(action: Action, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    match action {
        Action::Run(arguments) if arguments.flags.dry_run => plan::plan(&arguments, matches, screen),
        Action::Run(arguments) if arguments.flags.hosted => hosted::run(arguments, matches, screen),
        Action::Run(arguments) => run::run(arguments, matches, screen),
        Action::Resume(arguments) => resume::resume(&arguments, matches, screen),
        Action::Review(arguments) => review::review(&arguments, matches, screen),
        Action::Judge(arguments) => judge::judge(&arguments, matches, screen),
        Action::Plan(arguments) => arguments.show(matches, screen),
        Action::Validate(arguments) => validate::validate(&arguments, matches, screen),
        Action::Status(arguments) => status::status(&arguments, screen),
        Action::Show(arguments) => show::show(&arguments, screen),
        Action::Logs(arguments) => logs::logs(&arguments, screen),
        Action::Diff(arguments) => diff::diff(&arguments, screen),
        Action::Merge(arguments) => merge::merge(&arguments, screen),
        Action::Runs(arguments) => runs::runs(&arguments, screen),
        Action::Clean(arguments) => clean::clean(&arguments, screen),
        Action::Metrics(arguments) => metrics::metrics(&arguments, screen),
        Action::Stats(arguments) => stats::stats(&arguments, screen),
        Action::Calibrate(arguments) => calibrate::calibrate(&arguments, screen),
        Action::Report(arguments) => report::report(&arguments, screen),
        Action::Compare(arguments) => compare::compare(&arguments, screen),
        Action::Gate(arguments) => gate::gate(&arguments, screen),
        Action::Approve(arguments) => answer::approve(&arguments, screen),
        Action::Reject(arguments) => answer::reject(&arguments, screen),
        Action::Answer(arguments) => answer::answer_question(&arguments, screen),
        Action::Agent(arguments) => agent::agent(&arguments.command, screen),
        Action::OfAgents(command) => agent::agent(&command, screen),
        Action::Inbox(arguments) => inbox::inbox(&arguments, Halves::Both, screen),
        Action::Approvals(arguments) => inbox::inbox(&arguments, Halves::Approvals, screen),
        Action::Requests(arguments) => inbox::inbox(&arguments, Halves::Requests, screen),
        Action::Request(arguments) => request::request(&arguments, screen),
        Action::Dlq(arguments) => dlq::dlq(&arguments, screen),
        Action::Cancel(arguments) => cancel::cancel(&arguments, screen),
        Action::Pause(arguments) => cancel::pause(&arguments, screen),
        Action::Events(arguments) => events::events(&arguments, screen),
        Action::Explain(arguments) => explain::explain(&arguments, &command_line(), screen),
        Action::Schema(arguments) => schema::schema(&arguments, screen),
        Action::Config(arguments) => config::config(&arguments, matches, screen),
        Action::Doctor(arguments) => doctor::doctor(&arguments, &command_line(), screen),
        Action::Mcp(arguments) => mcp::mcp(&arguments, &command_line(), screen),
        Action::Serve(arguments) => serve::serve(&arguments, screen),
        Action::Worker(arguments) => worker::worker(&arguments, screen),
        Action::Init(arguments) => init::init(&arguments, screen),
        Action::Man(arguments) => man::man(&arguments, command_line(), screen),
        Action::Help(arguments) => help::help(&arguments, command_line(), screen),
        Action::Completions(arguments) => completions::completions(&arguments, screen),
    }
}

/// The whole command line.
fn command_line() -> Command {
    let hide = |root: Command, name: String| root.mut_subcommand(name, |old| old.hide(true));
    let declared = desk::with_via(Arguments::command());
    command_tree::with_help(agent::names().fold(declared, hide))
}

/// Parses the arguments, does what they say, and returns the exit code (semantics, section 20).
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.into_iter().collect();
    #[cfg(target_os = "linux")]
    supervisor::live_as_first_of_a_namespace(&words);
    if let Some(code) = crate::agents::acp::run_if_asked(&words) {
        return code;
    }
    #[cfg(feature = "temporal")]
    if let Some(code) = crate::runtime::run_if_asked(&words) {
        return code;
    }
    if complete::answers_shell(&words, command_line) {
        return ExitCode::SUCCESS;
    }
    panics::take_charge();
    session::fork_early(&words);
    let matches = match command_tree::parse(&command_line(), &words) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout and are no error; a broken pipe there is nobody's business.
            let printed = error.print().and_then(|()| io::stdout().flush());
            if let (0, Err(lost)) = (error.exit_code(), printed) {
                return ExitCode::from(not_printed(lost).unwrap_or_else(|failure| failure.exit_code()));
            }
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    // Only signals that do not exist are refused.
    let _ = supervisor::own_signals();
    let name = matches.subcommand_name().unwrap_or("run").to_owned();
    let matches = matches.subcommand().map_or(&matches, |(_, matches)| matches);
    let refused = command_tree::refuse_format(&mut arguments.output, &name, matches);
    let log = variables::log(&arguments.output, matches);
    let screen = Screen::new(&arguments.output, log.as_ref().ok().copied().flatten());
    if let Err(failure) = refused.and(log.map(drop)) {
        return ExitCode::from(screen.fail(failure));
    }
    if ["run", "resume", "plan", "validate"].contains(&name.as_str()) {
        for unknown in variables::unknown(&command_line()) {
            screen.note(&format!("warning: {unknown}"));
        }
    }
    let action = arguments.command.unwrap_or(Action::Run(arguments.run.bare()));
    let elsewhere = desk::done_elsewhere(matches, &words);
    let result = elsewhere.unwrap_or_else(|| perform(action, matches, &screen));
    let code = result.unwrap_or_else(|failure| screen.fail(failure));
    #[cfg(feature = "temporal")]
    crate::runtime::close_desk();
    ExitCode::from(screen.exit_code(code))
}

#[cfg(test)]
#[path = "args_tests.rs"]
mod tests;
