//! The commands of jobs, below the supervisor of a worker.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::agents::secrets::Secrets;
use crate::executor::command::GRACE;
use crate::executor::runner::{CommandRequest, Commands, Runner};
use rules::domain::TurnId;
use supervisor::SupervisorCommand;

/// The last bytes that a command has printed which go with each heartbeat.
const PIECE: u64 = 48 << 10;

/// The commands at work below the supervisor.
pub struct JobCommands {
    runner: Mutex<Runner>,
    pub commands: Commands,
    ends: UnboundedSender<(TurnId, Duration)>,
}

impl JobCommands {
    /// With what is to be waited for: the end of the supervisor, which comes only where it is not wanted.
    pub fn begin(
        supervisor: supervisor::Handle,
        folder: PathBuf,
    ) -> io::Result<(Arc<Self>, impl Future<Output = io::Error>)> {
        let mut supervisor = supervisor.into_async()?;
        supervisor.send(&SupervisorCommand::Open {
            exits_log: folder.join("exits.log"),
            socket: folder.join("supervisor.sock"),
        })?;
        let (commands, requests) = Commands::new();
        let (ends, to_end) = unbounded_channel();
        let below = Arc::new(Self { runner: Mutex::default(), commands, ends });
        let kept = {
            let below = below.clone();
            async move {
                let why = below.keep(supervisor, requests, to_end).await;
                // Nobody will hear of those at work any more.
                *crate::locked(&below.runner) = Runner::default();
                why
            }
        };
        Ok((below, kept))
    }

    async fn keep(
        &self,
        mut supervisor: supervisor::Client,
        mut requests: UnboundedReceiver<CommandRequest>,
        mut ends: UnboundedReceiver<(TurnId, Duration)>,
    ) -> io::Error {
        loop {
            let ended = tokio::select! {
                Some(request) = requests.recv() => {
                    match crate::locked(&self.runner).start(&mut supervisor, request) {
                        Ok(ended) => ended,
                        Err(why) => return why,
                    }
                }
                Some((turn, grace)) = ends.recv() => {
                    let keys = crate::locked(&self.runner).keys(|owner| owner.as_turn() == Some(turn));
                    let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
                    for (key, _) in keys {
                        if let Err(why) = supervisor.send(&SupervisorCommand::Terminate { key, grace_ms }) {
                            return why;
                        }
                    }
                    None
                }
                event = supervisor.recv() => match event {
                    Err(why) => return why,
                    Ok(event) => crate::locked(&self.runner).take(&mut supervisor, event),
                },
            };
            if let Some(ended) = ended {
                ended.finish();
            }
        }
    }

    /// Ends a command: SIGTERM, and SIGKILL after so long.
    pub fn end(&self, turn: TurnId, grace: Duration) {
        // Where nobody takes it, the supervisor is gone, and all commands with it.
        let _ = self.ends.send((turn, grace));
    }

    pub fn end_all(&self) {
        let turns: Vec<_> =
            crate::locked(&self.runner).at_work().filter_map(|owner| owner.as_turn()).collect();
        turns.into_iter().for_each(|turn| self.end(turn, GRACE.as_duration()));
    }

    /// The last that a command has printed, without secrets. What could be the beginning of one is held back. Blocks.
    pub fn printed(&self, turn: TurnId, secrets: &Secrets) -> Option<(u64, Vec<u8>)> {
        let process = crate::locked(&self.runner).processes_of(turn).into_iter().next()?;
        let mut output = supervisor::open_output(&process, 1)?;
        let length = output.metadata().ok()?.len();
        let held = secrets.longest().saturating_sub(1) as u64;
        let from = length.saturating_sub(PIECE + 2 * held);
        output.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        output.take(length - from).read_to_end(&mut bytes).ok()?;
        secrets.redact_bytes(&mut bytes);
        let held = usize::try_from(held).ok()?;
        bytes.truncate(bytes.len().saturating_sub(held));
        // The first bytes may be the end of a secret whose beginning is not here.
        let before = if from == 0 { 0 } else { held.min(bytes.len()) };
        bytes.drain(..before);
        Some((from + before as u64, bytes))
    }
}
