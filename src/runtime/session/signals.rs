//! SIGINT, SIGTERM, and SIGHUP of a terminal that was closed.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use rules::engine::StopCause;

/// The signals that end a session.
pub struct SessionSignals {
    interrupt: Signal,
    terminate: Signal,
    /// `None` where whoever started us wants the session to survive its terminal (`nohup`).
    hang_up: Option<Signal>,
    heard: bool,
}

/// The request of a signal.
pub struct SignalRequest {
    /// Why the session stops.
    pub cause: StopCause,
    /// Whether the same was asked before, so that the session will not wait any longer.
    pub again: bool,
}

impl SessionSignals {
    pub fn listen() -> io::Result<Self> {
        let hang_up = SignalKind::hangup();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: (!supervisor::is_ignored(hang_up.as_raw_value())?)
                .then(|| signal(hang_up))
                .transpose()?,
            heard: false,
        })
    }

    /// The next signal. Cancel safe.
    pub async fn next(&mut self) -> SignalRequest {
        let cause = tokio::select! {
            _ = self.interrupt.recv() => StopCause::Interrupted,
            _ = self.terminate.recv() => StopCause::Terminated,
            // Once: kernel and shell may both tell, and neither of them is a person who has lost patience.
            _ = or_never(self.hang_up.as_mut().map(Signal::recv)), if !self.heard => StopCause::Terminated,
        };
        let again = std::mem::replace(&mut self.heard, true);
        SignalRequest { cause, again }
    }
}

/// Waits for what there is to wait for, and for ever where there is nothing.
pub async fn or_never<T>(wanted: Option<impl Future<Output = T>>) -> T {
    match wanted {
        Some(wanted) => wanted.await,
        None => std::future::pending().await,
    }
}
