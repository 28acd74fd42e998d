//! `--via temporal`: a command is done at the desk of its run, on another machine.

use std::ffi::OsString;

use clap::{Arg, ArgMatches, Command};

use super::command_error::Failure;

/// Adds the flag to the commands that a desk does.
pub fn with_via(root: Command) -> Command {
    let via = Arg::new("via")
        .long("via")
        .value_name("SERVICE")
        .value_parser(["temporal"])
        .help("Have it done on the machine of the run, which is named by its whole id, by way of");
    let names = ["approve", "reject", "answer", "cancel", "gate", "inbox", "status", "events", "logs"];
    let add = |root: Command, name| root.mut_subcommand(name, |command| command.arg(&via));
    names.into_iter().fold(root, add)
}

/// What another machine has done of a command; `None` where it is to be done here.
pub fn done_elsewhere(matches: &ArgMatches, words: &[OsString]) -> Option<Result<u8, Failure>> {
    let via = matches.try_get_raw("via").ok().flatten();
    #[cfg(feature = "temporal")]
    if let Ok(run) = std::env::var("QUORUM_AT_DESK") {
        let is_of_run = named_run(matches).is_some_and(|named| named.as_str() == run);
        let refused = Err(usage!("the desk of run {run} does not do that"));
        return (via.is_none() || !is_of_run).then_some(refused);
    }
    via?;
    Some(ask(matches, words))
}

/// Refuses: this build knows no other machines.
#[cfg(not(feature = "temporal"))]
fn ask(_: &ArgMatches, _: &[OsString]) -> Result<u8, Failure> {
    Err(super::commands::worker::no_workers("ask other machines"))
}

/// Has a command done at the desk of its run, and prints what that prints.
#[cfg(feature = "temporal")]
fn ask(matches: &ArgMatches, words: &[OsString]) -> Result<u8, Failure> {
    use std::io;

    use super::event_loop::block_on;
    use super::operator_client::{ActorArgs, refuse_agents};
    use super::screen::{not_printed, text_of_others};
    use crate::runtime::{DeskCall, ask_desk, operator_key};

    refuse_agents()?;
    let run = named_run(matches).ok_or_else(|| {
        usage!("which run is meant? Here nobody knows which one is the latest; the whole id of it is needed")
    })?;
    let key = operator_key().ok_or_else(|| {
        environment!("there is no key of the operator that can be used; set QUORUM_OPERATOR_KEY as on the machine of the run")
    })?;
    let words = words.iter().map(|word| word.to_string_lossy().into_owned());
    let by = ActorArgs { acts_as: None }.name();
    let call = DeskCall::new((&run, &key), words.collect(), by);
    let outputs = [text_of_others(io::stdout()), text_of_others(io::stderr())];
    let asked = block_on(ask_desk(&run, call, outputs)).flatten();
    asked.or_else(|why| match why.downcast() {
        Ok(lost) => not_printed(lost),
        Err(why) => Err(Failure::environment(why)),
    })
}

/// The run that a command names, itself or by what it decides about.
#[cfg(any(feature = "temporal", test))]
fn named_run(matches: &ArgMatches) -> Option<rules::domain::RunId> {
    let text = |id| matches.try_get_raw(id).ok()??.next()?.to_str();
    let named = ["run", "named", "target"].into_iter().find_map(text);
    // What waits for a person is named by its run, and two words more.
    let decided = || text("id")?.rsplitn(3, '.').last();
    rules::domain::RunId::new(named.or_else(decided)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command_line;
    use crate::cli::command_tree::parse;

    /// The run that a command names; an error where it has not the flag.
    fn named(line: &str) -> Result<Option<String>, clap::Error> {
        let words: Vec<_> = format!("quorum {line} --via temporal").split(' ').map(Into::into).collect();
        let matches = parse(&command_line(), &words)?;
        let named = matches.subcommand().and_then(|(_, matches)| named_run(matches));
        Ok(named.map(|run| run.to_string()))
    }

    #[test]
    fn a_command_for_another_machine_names_its_run() {
        for line in [
            "approve r-1.0.1",
            "reject r-1.0.r1 --reason no",
            "answer r-1.c0.1 yes",
            "cancel r-1 --yes",
            "cancel work r-1",
            "gate --run r-1 --override g --reason fine",
            "status --json r-1 --watch",
            "inbox --run r-1",
            "events r-1 -f",
            "logs work -f --run r-1",
        ] {
            assert_eq!(named(line).unwrap().as_deref(), Some("r-1"), "{line}");
        }
        assert_eq!(named("approve r.1.0.1").unwrap().as_deref(), Some("r.1"));
        for line in ["approve", "status", "gate g", "logs work", "events -f"] {
            assert_eq!(named(line).unwrap(), None, "{line}");
        }
        for line in ["run m.yaml", "pause r-1", "request approve r-1", "show work r-1", "clean"] {
            assert!(named(line).is_err(), "{line}");
        }
    }
}
