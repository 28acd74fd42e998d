//! The command line: one file per subcommand, from arguments to calls to rendering. Rules live elsewhere.

mod accept;
mod answer;
mod approvals;
mod args;
mod calibrate;
mod cancel;
mod clean;
mod completions;
mod config;
mod confirm;
mod dlq;
mod doctor;
mod events;
mod explain;
mod failure;
mod finish;
mod gate;
mod init;
mod logs;
mod metrics;
mod operate;
mod panics;
mod plan;
mod project;
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
mod voice;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::FromArgMatches;

use args::{Arguments, Subcommand};

/// Parses the arguments, does what they say, and returns the exit code (semantics, section 20).
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    panics::take_charge();
    let matches = match args::command().try_get_matches_from(arguments) {
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
    // It is refused for signals that do not exist only.
    let _ = crate::keeper::survive_file_size_limit();
    let screen = screen::Screen::new(&arguments.output);
    let matches = matches.subcommand().map_or(&matches, |(_, matches)| matches);
    if screen.is_drawing() && !arguments.is_plan() {
        let failure = failure::Failure::usage(anyhow::anyhow!("only a plan can be drawn"))
            .help("--format dot and --format mermaid belong to `quorum plan`");
        return ExitCode::from(failure.report(&screen));
    }
    let result = match arguments.command {
        None => run::run(arguments.run.bare(), matches, &screen),
        Some(Subcommand::Run(arguments)) => run::run(arguments, matches, &screen),
        Some(Subcommand::Resume(arguments)) => resume::resume(&arguments, matches, &screen),
        Some(Subcommand::Review(arguments)) => review::review(&arguments, matches, &screen),
        Some(Subcommand::Plan(arguments)) => plan::plan(&arguments.run, matches, &screen),
        Some(Subcommand::Validate(arguments)) => validate::validate(&arguments, &screen),
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
        Some(Subcommand::Ask(message)) => voice::ask(&message, &screen),
        Some(Subcommand::Delegate(arguments)) => voice::delegate(&arguments, &screen),
        Some(Subcommand::Progress(message)) => voice::progress(&message, &screen),
        Some(Subcommand::Result(arguments)) => voice::result(&arguments, &screen),
        Some(Subcommand::Approvals(arguments)) => approvals::approvals(&arguments, &screen),
        Some(Subcommand::Requests(arguments)) => approvals::requests(&arguments, &screen),
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
        Some(Subcommand::Completions(arguments)) => completions::completions(&arguments, &screen),
    };
    let code = result.unwrap_or_else(|failure| failure.report(&screen));
    ExitCode::from(screen.exit_code(code))
}
