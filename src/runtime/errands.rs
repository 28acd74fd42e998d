//! Commands that are run for somebody who waits for their end: a channel's, in a session or outside of one, or a model's
//! that works with tools. Like every child they are started, watched and ended by the supervisor.

use std::collections::HashMap;
use std::io;

use tokio::sync::{mpsc, oneshot};

use crate::domain::TurnId;
use crate::engine::ProcessRef;
use crate::store::no_links::scratch_folder;
use crate::supervisor::{self, Command, Spawn};

/// Whose work a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrandOwner {
    /// A channel's: it ends within its own time-out.
    Channel,
    /// Part of a turn: it ends with it.
    Turn(TurnId),
    /// An audit's: it ends with the session.
    Audit,
}

/// A command, and who waits for its end.
pub struct Errand {
    /// What is started; its key is given by whoever starts it.
    pub spawn: Spawn,
    /// Whose work it is.
    pub owner: ErrandOwner,
    /// Who waits: for its exit, or for why it never ran.
    pub reply: oneshot::Sender<Result<supervisor::Exit, String>>,
}

/// Who waits for a command that was started.
pub(super) struct Waiting {
    pub reply: oneshot::Sender<Result<supervisor::Exit, String>>,
    /// Its process, once it is known.
    pub process: Option<ProcessRef>,
}

/// Where errands are handed in.
pub type Errands = mpsc::UnboundedSender<Errand>;

/// Runs a command and waits for its end.
///
/// # Errors
/// Why it never ran.
pub async fn run_errand(
    errands: &Errands,
    spawn: Spawn,
    owner: ErrandOwner,
) -> Result<supervisor::Exit, String> {
    let (reply, end) = oneshot::channel();
    let nobody = || "there is nobody left to start it".to_owned();
    let errand = Errand { spawn, owner, reply };
    errands.send(errand).map_err(|_| nobody())?;
    end.await.unwrap_or_else(|_| Err(nobody()))
}

/// Waits for `work`, running its errands by a supervisor of its own. For commands that have no session.
///
/// # Errors
/// When the supervisor is gone.
pub async fn with_errands<T>(
    mut supervisor: supervisor::Client,
    work: impl AsyncFnOnce(Errands) -> T,
) -> io::Result<T> {
    let (sender, mut inbox) = mpsc::unbounded_channel::<Errand>();
    // Nobody will look for what ended here.
    let records = scratch_folder()?;
    supervisor.send(&Command::Open {
        exits_log: records.path().join("exits.log"),
        socket: records.path().join("supervisor.sock"),
    })?;
    let mut out: HashMap<u64, oneshot::Sender<Result<supervisor::Exit, String>>> = HashMap::new();
    let mut next_key = 1;
    let result = {
        let work = work(sender);
        tokio::pin!(work);
        loop {
            tokio::select! {
                result = &mut work => break result,
                Some(mut errand) = inbox.recv() => {
                    errand.spawn.key = next_key;
                    next_key += 1;
                    match supervisor.send(&Command::Spawn(errand.spawn)) {
                        Ok(()) => drop(out.insert(next_key - 1, errand.reply)),
                        Err(error) => drop(errand.reply.send(Err(error.to_string()))),
                    }
                }
                event = supervisor.recv() => match event? {
                    supervisor::Event::Exited(exit) => {
                        if let Some(reply) = out.remove(&exit.key) {
                            // Who no longer waits does not want to know.
                            let _ = reply.send(Ok(exit));
                        }
                    }
                    supervisor::Event::SpawnFailed { key, message, .. } => {
                        if let Some(reply) = out.remove(&key) {
                            let _ = reply.send(Err(message));
                        }
                    }
                    supervisor::Event::Spawned { .. }
                    | supervisor::Event::Warning { .. }
                    | supervisor::Event::Alive
                    | supervisor::Event::Farewell => {}
                },
            }
        }
    };
    supervisor.shutdown().await?;
    Ok(result)
}
