//! `quorum review --replay RUN`: every judgement of a run derived again from what is stored.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command};

use crate::{
    cli::{
        command_error::Failure,
        project::{find_run, refuse, state_folder},
        screen::Screen,
    },
    report::documents::replay::{class, document},
};
use rules::domain::RunId;

use super::ReviewArgs;

/// Refuses flags that a replay would leave aside. Variables hold for all commands of a pipeline, and are no such wish.
///
/// # Errors
/// The first of them.
pub fn refuse_what_it_cannot_heed(matches: &ArgMatches) -> Result<(), Failure> {
    let command = ReviewArgs::augment_args(Command::new("review"));
    let typed = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut vain = command.get_arguments().filter(|argument| {
        let id = argument.get_id().as_str();
        // Nothing is asked, and there is no progress: these are heeded as it is.
        let is_heeded = matches!(id, "replay" | "offline" | "progress" | "verbose");
        !is_heeded && typed(id)
    });
    match vain.next().and_then(|argument| argument.get_long()) {
        None => Ok(()),
        Some(name) => Err(usage!("--{name} changes nothing with --replay")
            .help("leave it out; --json prints all that was derived")),
    }
}

/// Derives, compares, prints. Starts nothing and takes no lock.
pub fn replay(wanted: &str, screen: &Screen) -> Result<u8, Failure> {
    let folder = state_folder(screen.output())?;
    let wanted = RunId::new(wanted).map_err(Failure::usage)?;
    let run = find_run(&folder, Some(&wanted))?;
    let replayed = crate::runtime::replay(&run).map_err(refuse)?;
    screen.show(&document(&replayed));
    Ok(class(&replayed).exit_code())
}
