//! `quorum run --hosted`: the session is on whichever machine hosts sessions. That one runs the same words, and a variable names the run.

use clap::ArgMatches;

use super::args::Run;
use super::command_error::Failure;
use super::screen::Screen;

/// Refuses: this build knows no other machines.
#[cfg(not(feature = "temporal"))]
pub fn run(_: Run, _: &ArgMatches, _: &Screen) -> Result<u8, Failure> {
    Err(super::commands::worker::no_workers("have a session hosted"))
}

/// Hands a run over and waits for it, or is its session on the host: the first one, or one that goes on.
#[cfg(feature = "temporal")]
pub fn run(arguments: Run, matches: &ArgMatches, screen: &Screen) -> Result<u8, Failure> {
    use super::args::{OfRun, Trust};
    use super::commands::plan::planned;
    use super::commands::resume::{ResumeArgs, resume};
    use super::launch::new_run_id;
    use super::project::{current_dir, own_state_folder};
    use crate::runtime::{HostedCommand, hand_over};
    use crate::store::HOSTED;

    let folder = own_state_folder(screen.output())?;
    let named = arguments.flags.run_id.clone();
    let run = named.map_or_else(|| new_run_id(&folder), Ok)?;
    if std::env::var_os(HOSTED).is_none() {
        let (plan, ..) = planned(&arguments, matches, screen)?;
        let mut words = std::env::args_os().skip(1).peekable();
        // The host says that word itself.
        words.next_if(|word| word == "run");
        let command = HostedCommand {
            run: run.clone(),
            folder: current_dir()?,
            words: words.map(|word| word.to_string_lossy().into_owned()).collect(),
            prints_progress: !screen.is_json(),
        };
        screen.error(&format!("run {run} waits for a machine that hosts sessions\n"));
        return hand_over(&command, folder.path(), &plan.rules.workers).map_err(|why| {
            environment!("no host has ended run {run}: {why}")
                .help("the same command with its --run-id begins it, or goes on with it")
        });
    }
    if folder.run(&run).never_began() {
        return super::commands::run::run(arguments, matches, screen);
    }
    let later = ResumeArgs {
        of: OfRun { run: Some(run), named: None },
        retry_failed: false,
        redo: Vec::new(),
        reopen: false,
        accept_changed_mission: false,
        trust: Trust { trust_origin: false },
        flags: arguments.flags.session,
    };
    resume(&later, matches, screen)
}
