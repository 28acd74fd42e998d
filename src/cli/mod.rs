//! The command line: one file per subcommand, from arguments to calls to rendering. Rules live elsewhere.

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
