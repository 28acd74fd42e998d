//! The command line: one file per subcommand, from arguments to calls to rendering. Rules live elsewhere.

mod answer;
mod approvals;
mod args;
mod cancel;
mod events;
mod failure;
mod gate;
mod operate;
mod project;
mod resume;
mod run;
mod screen;
mod session;
mod status;
mod validate;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use args::{Arguments, Subcommand};

/// Parses the arguments, does what they say, and returns the exit code (semantics, section 20).
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let matches = match Arguments::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout and are no error; a broken pipe there is nobody's business.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let arguments = match Arguments::from_arg_matches(&matches) {
        Ok(arguments) => arguments,
        Err(error) => error.exit(),
    };
    let screen = screen::Screen::new(&arguments.output);
    let matches = matches.subcommand().map_or(&matches, |(_, matches)| matches);
    let result = match arguments.command {
        None => run::run(arguments.run.bare(), matches, &screen),
        Some(Subcommand::Run(arguments)) => run::run(arguments, matches, &screen),
        Some(Subcommand::Resume(arguments)) => resume::resume(&arguments, matches, &screen),
        Some(Subcommand::Validate(arguments)) => validate::validate(&arguments, &screen),
        Some(Subcommand::Status(arguments)) => status::status(&arguments, &screen),
        Some(Subcommand::Gate(arguments)) => gate::gate(&arguments, &screen),
        Some(Subcommand::Approve(arguments)) => answer::approve(&arguments, &screen),
        Some(Subcommand::Reject(arguments)) => answer::reject(&arguments, &screen),
        Some(Subcommand::Approvals(arguments)) => approvals::approvals(&arguments, &screen),
        Some(Subcommand::Requests(arguments)) => approvals::requests(&arguments, &screen),
        Some(Subcommand::Cancel(arguments)) => cancel::cancel(&arguments, &screen),
        Some(Subcommand::Pause(arguments)) => cancel::pause(&arguments, &screen),
        Some(Subcommand::Events(arguments)) => events::events(&arguments, &screen),
    };
    ExitCode::from(result.unwrap_or_else(|failure| failure.report(&screen)))
}
