//! The end of a session that ended in order.

use tokio::time::{Duration, Instant};

use super::signals::{SessionSignals, or_never};
use crate::runtime::work::dead_letters;
use rules::engine::{self, StopCause};

use super::{Ending, LAST_RETRIES, RunError, Session};

impl Session {
    /// Gives letters that are being tried again a moment, for sessions that end at once. What is left of them is
    /// pending again for whoever looks next.
    async fn end_draining(&mut self, patient: bool) {
        let Some(mut draining) = self.effects.deliveries.retries.take() else {
            return;
        };
        let patience = if patient { LAST_RETRIES } else { Duration::ZERO };
        let end = Instant::now() + patience;
        loop {
            tokio::select! {
                biased;
                _ = &mut draining => return,
                // Whoever asks again at the end of a session waits for nothing more.
                _ = or_never(self.signals.as_mut().map(SessionSignals::next)) => break,
                () = tokio::time::sleep_until(end) => break,
                Some(request) = self.commands.recv() => {
                    if self.effects.processes.start(&self.state, &self.effects.context, request).is_err() {
                        break;
                    }
                }
                event = self.effects.processes.event() => match event {
                    // What could not be begun does not matter any more.
                    Ok(event) => drop(self.effects.processes.take(event, &mut Vec::new())),
                    Err(_) => break,
                }
            }
        }
        draining.abort();
    }

    /// Ends in order: what is under way is given a moment, what is left of it is on record.
    pub async fn end(mut self) -> Result<Ending, RunError> {
        let by_signal =
            matches!(self.state.session.stop, Some(StopCause::Interrupted | StopCause::Terminated));
        self.end_draining(!by_signal).await;
        if let Err(error) = self.effects.close().await {
            self.note_foreign(format!("the process that holds the agents did not end in order: {error}"));
        }
        self.leave_inbox();
        let outcome = engine::outcome(&self.state);
        // The run has ended well: what the queue does not have yet stays in the journal for the next session.
        let unfiled = dead_letters::file_all(&self.folder, &self.state.plan, &self.state.notices);
        self.write_snapshot(Some(outcome.class));
        let warnings = unfiled.into_iter().chain(self.snapshots.problem()).collect();
        for observer in &mut self.observers {
            observer.on_end(&self.state);
        }
        Ok(Ending { outcome: outcome.class, state: self.state, warnings })
    }
}
