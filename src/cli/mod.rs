//! The command line: one file per subcommand, from arguments to calls to rendering. Rules live elsewhere.
//!
//! | file | what |
//! |---|---|
//! | `agent_commands` | `quorum agent ask`, `delegate`, `progress` and `result`: what an agent says to its run while it works on a task |
//! | `answer` | `quorum approve`, `quorum reject` and `quorum answer`: a person decides about what waits for one |
//! | `args` | what can be typed |
//! | `calibrate` | `quorum calibrate`: judges, recorded or live, held against people |
//! | `cancel` | `quorum cancel` and `quorum pause`: a person calls work off, or lets a session come to rest |
//! | `changed_mission` | a mission file that was changed since its run froze it: `--accept-changed-mission` |
//! | `clean` | `quorum clean`: removes runs that nobody needs any more |
//! | `command` | the command line as one tree: what the structs of `args` declare, with what they cannot say |
//! | `complete` | what a shell offers at the tab key |
//! | `completions` | `quorum completions`: what a shell reads once, so that it asks `complete` at every key |
//! | `config` | `quorum config show`: which settings hold, and which layer each of them comes from |
//! | `confirm` | questions to a person |
//! | `dlq` | `quorum dlq`: what failed for good, and what becomes of it (13) |
//! | `doctor` | `quorum doctor`: whether this machine can run the mission, before anything is spent |
//! | `event_loop` | the event loop of a command: asynchronous work is waited for |
//! | `events` | `quorum events`: what happened, under the public names |
//! | `explain` | `quorum explain`: what a code, a flag or a word of a screen means |
//! | `failure` | why a command could not do what it was asked: a message, what to do next, an exit code |
//! | `finish_gate` | what finish gates need from the disk before a run may start: lists of tests, and what says how to compile |
//! | `gate` | `quorum gate`: gates from stored state; a person may let a failed one pass |
//! | `harmless` | a writer to a terminal that shows what would move the cursor, turn the reading direction or stay unseen |
//! | `help` | `quorum --help`, and `quorum help` with the pages of the documentation |
//! | `inbox` | `quorum inbox`, `approvals` and `requests`: what waits for a person |
//! | `init` | `quorum init`: a mission that runs as written, to be changed step by step |
//! | `logs` | `quorum logs`: what the agent of a task said, turn by turn, also while it is still saying it |
//! | `man` | `quorum man`: manual pages, made from the same tree as the help |
//! | `metrics` | `quorum metrics`: how tasks, agents and the mission of a run did |
//! | `operator_client` | how a command from outside reaches its run, and what it says about it |
//! | `panics` | what a bug of ours looks like to a user: exit code 1, and how the run goes on |
//! | `plan` | `quorum plan` and `quorum run --dry-run`: what would happen |
//! | `project` | where things are: the project's `quorum.yaml`, the user's, the state folder, the runs in it |
//! | `reference` | the page `docs/reference/cli.md`: what `--help` says, command by command |
//! | `report` | `quorum report`: the reports of a run, written again from its journal |
//! | `report_place` | where a report goes: a file is replaced whole, a FIFO or a device written to |
//! | `reports` | reports that a session leaves behind: files that were asked for, GitHub's summary and annotations |
//! | `request` | `quorum request`: work that somebody asks for from outside, and what becomes of it (16) |
//! | `resume` | `quorum resume`: continue a run from its journal |
//! | `review` | `quorum review`: judges a task of a run again, or any work without a run |
//! | `run` | `quorum run`: validate, run, judge, report |
//! | `runs` | `quorum runs`: the runs of the state folder |
//! | `schema` | `quorum schema`: what a file may hold, for editors as JSON Schema and for people key by key |
//! | `screen` | what is printed where: results on stdout, progress and diagnostics on stderr |
//! | `session` | what `run` and `resume` have in common: options, the session itself, the end |
//! | `show` | `quorum show`: everything about one task of a run |
//! | `status` | `quorum status`: a run as its journal tells it, whether somebody works on it or not |
//! | `validate` | `quorum validate`: everything that is wrong with mission files, without a network and without starting anything |
//! | `variables` | variables that hold for a session and are no flag's |

mod agent_commands;
mod answer;
mod args;
mod calibrate;
mod cancel;
mod changed_mission;
mod clean;
mod command;
mod complete;
mod completions;
mod config;
mod confirm;
mod dlq;
mod doctor;
mod event_loop;
mod events;
mod explain;
mod failure;
mod finish_gate;
mod gate;
mod harmless;
mod help;
mod inbox;
mod init;
mod logs;
mod man;
mod metrics;
mod operator_client;
mod panics;
mod plan;
mod project;
mod reference;
mod report;
mod report_place;
mod reports;
mod request;
mod resume;
mod review;
mod run;
mod runs;
mod schema;
mod screen;
mod session;
mod show;
mod status;
mod validate;
mod variables;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Arguments, Subcommand};

pub use reference::reference_page;

/// Parses the arguments, does what they say, and returns the exit code (semantics, section 20).
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = arguments.into_iter().collect();
    if complete::answers_shell(&words) {
        return ExitCode::SUCCESS;
    }
    panics::take_charge();
    let matches = match command::parse(&words) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout and are no error; a broken pipe there is nobody's business.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    // It is refused for signals that do not exist only.
    let _ = crate::supervisor::survive_file_size_limit();
    let name = matches.subcommand_name().unwrap_or("run").to_owned();
    let matches = matches.subcommand().map_or(&matches, |(_, matches)| matches);
    let refused = command::refuse_format(&mut arguments, &name, matches);
    let log = variables::log(&arguments.output, matches);
    let screen = screen::Screen::new(&arguments.output, log.as_ref().ok().copied().flatten());
    if let Err(failure) = refused.and(log.map(drop)) {
        return ExitCode::from(failure.report(&screen));
    }
    let result = match arguments.command {
        None => run::run(arguments.run.bare(), matches, &screen),
        Some(Subcommand::Run(arguments)) => run::run(arguments, matches, &screen),
        Some(Subcommand::Resume(arguments)) => resume::resume(&arguments, matches, &screen),
        Some(Subcommand::Review(arguments)) => review::review(&arguments, matches, &screen),
        Some(Subcommand::Plan(arguments)) => plan::plan(&arguments.run, matches, &screen),
        Some(Subcommand::Validate(arguments)) => validate::validate(&arguments, matches, &screen),
        Some(Subcommand::Status(arguments)) => status::status(&arguments, &screen),
        Some(Subcommand::Show(arguments)) => show::show(&arguments, &screen),
        Some(Subcommand::Logs(arguments)) => logs::logs(&arguments, &screen),
        Some(Subcommand::Runs(arguments)) => runs::runs(&arguments, &screen),
        Some(Subcommand::Clean(arguments)) => clean::clean(&arguments, &screen),
        Some(Subcommand::Metrics(arguments)) => metrics::metrics(&arguments, &screen),
        Some(Subcommand::Calibrate(arguments)) => calibrate::calibrate(&arguments, &screen),
        Some(Subcommand::Report(arguments)) => report::report(&arguments, &screen),
        Some(Subcommand::Gate(arguments)) => gate::gate(&arguments, &screen),
        Some(Subcommand::Approve(arguments)) => answer::approve(&arguments, &screen),
        Some(Subcommand::Reject(arguments)) => answer::reject(&arguments, &screen),
        Some(Subcommand::Answer(arguments)) => answer::answer_question(&arguments, &screen),
        Some(Subcommand::Agent(arguments)) => agent_commands::agent(&arguments.command, &screen),
        Some(Subcommand::OfAgents(command)) => agent_commands::agent(&command, &screen),
        Some(Subcommand::Inbox(arguments)) => inbox::inbox(&arguments, &screen),
        Some(Subcommand::Approvals(arguments)) => inbox::approvals(&arguments, &screen),
        Some(Subcommand::Requests(arguments)) => inbox::requests(&arguments, &screen),
        Some(Subcommand::Request(arguments)) => request::request(&arguments, &screen),
        Some(Subcommand::Dlq(arguments)) => dlq::dlq(&arguments, &screen),
        Some(Subcommand::Cancel(arguments)) => cancel::cancel(&arguments, &screen),
        Some(Subcommand::Pause(arguments)) => cancel::pause(&arguments, &screen),
        Some(Subcommand::Events(arguments)) => events::events(&arguments, &screen),
        Some(Subcommand::Explain(arguments)) => explain::explain(&arguments, &screen),
        Some(Subcommand::Schema(arguments)) => schema::schema(&arguments, &screen),
        Some(Subcommand::Config(arguments)) => config::config(&arguments, matches, &screen),
        Some(Subcommand::Doctor(arguments)) => doctor::doctor(&arguments, &screen),
        Some(Subcommand::Init(arguments)) => init::init(&arguments, &screen),
        Some(Subcommand::Man(arguments)) => man::man(&arguments, &screen),
        Some(Subcommand::Help(arguments)) => help::help(&arguments, &screen),
        Some(Subcommand::Completions(arguments)) => completions::completions(&arguments, &screen),
    };
    let code = result.unwrap_or_else(|failure| failure.report(&screen));
    ExitCode::from(screen.exit_code(code))
}
