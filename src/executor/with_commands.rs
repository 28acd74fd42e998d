//! Commands that are run outside of a session: below a supervisor of their own.

use std::io;

use crate::test_clock::scaled;
use supervisor::files::no_links::scratch_folder;
use supervisor::{Client, SupervisorCommand, SupervisorEvent};

use super::program_watch::{LOOK, ProgramWatch, WatchedProgram};
use super::runner::{Commands, Runner};

/// Waits for `work`, which runs its commands by a supervisor of its own. For work outside of a session.
///
/// # Errors
///
/// When the supervisor is gone.
pub async fn with_commands<T>(
    mut supervisor: Client,
    work: impl AsyncFnOnce(Commands) -> T,
) -> io::Result<T> {
    let (commands, mut requests) = Commands::new();
    // Nobody will look for what ended here.
    let records = scratch_folder()?;
    supervisor.send(&SupervisorCommand::Open {
        exits_log: records.path().join("exits.log"),
        socket: records.path().join("supervisor.sock"),
    })?;
    let (mut runner, mut programs) = (Runner::default(), ProgramWatch::default());
    let mut looks = tokio::time::interval(scaled(LOOK));
    let result = {
        let work = work(commands);
        tokio::pin!(work);
        loop {
            let ended = tokio::select! {
                result = &mut work => break result,
                Some(request) = requests.recv() => runner.start(&mut supervisor, request)?,
                event = supervisor.recv() => match event? {
                    SupervisorEvent::Printed { key, from, bytes } => {
                        programs.printed(key, from, &bytes);
                        None
                    }
                    event => runner.take(&mut supervisor, event),
                },
                _ = looks.tick() => {
                    if let Some(mut looked_at) = programs.begin(&runner) {
                        looked_at.values_mut().for_each(WatchedProgram::look);
                        programs.end(looked_at, &mut runner, |command| supervisor.send(&command), |_, _| {})?;
                    }
                    None
                }
            };
            if let Some(ended) = ended {
                ended.finish();
            }
        }
    };
    supervisor.shutdown().await?;
    Ok(result)
}
