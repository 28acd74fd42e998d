//! SIGINT and SIGTERM.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::engine::StopCause;

/// The signals that end a session.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The next signal. Cancel safe.
    pub async fn next(&mut self) -> StopCause {
        tokio::select! {
            _ = self.interrupt.recv() => StopCause::Interrupted,
            _ = self.terminate.recv() => StopCause::Terminated,
        }
    }
}
