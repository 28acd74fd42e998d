//! `quorum worker`: runs agents of other machines' missions, or their sessions.

use std::num::NonZeroU16;

use clap::Args;

use crate::cli::{command_error::Failure, screen::Screen};

/// Run agents of other machines that have this queue, or sessions
#[derive(Debug, Args)]
#[command(
    after_help = "The server is that of Temporal's own settings (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, …).\n\
                  SIGTERM takes no more commands and lets those at work end; a second one ends them.\n\n\
                  Examples: quorum worker --queue gpu --slots 2\n          quorum worker --sessions --slots 4"
)]
pub struct WorkerArgs {
    /// The queue, as `queue` of the agents names it
    #[arg(long, value_name = "NAME", required_unless_present = "sessions")]
    pub queue: Option<String>,
    /// Host the sessions of `quorum run --hosted`, in folders that have the same paths on all machines
    #[arg(long, conflicts_with = "queue")]
    pub sessions: bool,
    /// How many agents, or sessions, may work here at once
    #[arg(long, value_name = "N", default_value = "1")]
    pub slots: NonZeroU16,
}

/// Refuses: this build knows no other machines.
#[cfg(not(feature = "temporal"))]
pub fn worker(_: &WorkerArgs, _: &Screen) -> Result<u8, Failure> {
    Err(no_workers("work for other machines"))
}

/// The refusal of what only other machines could do.
#[cfg(not(feature = "temporal"))]
pub fn no_workers(what: &str) -> Failure {
    usage!("this build of quorum cannot {what}: it has no workers")
        .help("install one that has: `cargo install --path . --features temporal` (Rust 1.92, and `protoc`)")
}

/// Serves a queue until it is told to end.
#[cfg(feature = "temporal")]
pub fn worker(arguments: &WorkerArgs, screen: &Screen) -> Result<u8, Failure> {
    use std::io::{self, Write as _};

    use crate::cli::event_loop::block_on;
    use crate::cli::operator_client::refuse_agents;
    use crate::cli::session::{begun, can_be_confined};
    use crate::report::sanitize;
    use crate::runtime::{SESSIONS, WorkerError, WorkerSetup, serve, team_key};
    use crate::store::folder_of_user;

    refuse_agents()?;
    // While there is one thread.
    let mut supervisor = begun(supervisor::fork(arguments.sessions))?;
    let refused = can_be_confined(&mut supervisor)?.refused();
    let key = team_key().map_err(Failure::environment)?;
    let caches = folder_of_user("XDG_CACHE_HOME", ".cache")
        .ok_or_else(|| environment!("there is no home folder for the jobs; set XDG_CACHE_HOME"))?;
    let setup = WorkerSetup {
        queue: arguments.queue.clone().unwrap_or_else(|| SESSIONS.to_owned()),
        slots: arguments.slots.get().into(),
        key,
        folder: caches.join("quorum/worker"),
        refused,
    };
    let is_quiet = screen.output().quiet;
    let tell = move |text: &str| {
        if !is_quiet {
            // Whoever does not read it is served all the same.
            let _ = writeln!(io::stderr(), "{}", sanitize(text));
        }
    };
    let served = block_on(serve(setup, supervisor, tell));
    match served.map_err(Failure::internal)? {
        Ok(()) => Ok(0),
        Err(why @ (WorkerError::Server(_) | WorkerError::Folder(_))) => Err(Failure::environment(why)),
        Err(why) => Err(Failure::internal(why)),
    }
}
