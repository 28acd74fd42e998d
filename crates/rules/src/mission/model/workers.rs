//! How work is handed to workers on other machines, for agents with a `queue`.

use crate::{
    domain::Millis,
    mission::file::{keys::keys, scalar::Filled},
};

keys! {
    /// `settings.workers`. `None` leaves a value to the next level and at last to the default.
    #[derive(Default)]
    pub struct Workers: "workers", by level {
        /// The bare git repository by which folders go to workers and come back: a path, relative to the mission, or a URL that
        /// git takes.
        "exchange" exchange: Option<Box<str>> as Filled;
        /// How long a worker may be unheard of before its turn is lost, from 2 s to the turn's time-out [30s, or a third of that
        /// time-out where it is shorter].
        "lease" lease: Option<Millis>;
        /// How long a turn, or a question, waits for a worker that takes it [=].
        "waitForWorker" wait_for_worker: Option<Millis> = "10m";
    }
}

impl Workers {
    /// The shortest lease that may be written: a shorter one ends turns for a moment's pause.
    pub const SHORTEST_LEASE: Millis = Millis::from_secs(2);

    /// How long a worker may be unheard of whose turn may take `timeout`.
    pub fn lease_of(&self, timeout: Millis) -> Millis {
        self.lease.unwrap_or_else(|| Millis::from_secs(30).min(Millis(timeout.0 / 3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_nobody_wrote_is_short_where_turns_are() {
        let nobody = Workers::default();
        assert_eq!(nobody.lease_of(Millis::from_secs(1800)), Millis::from_secs(30));
        assert_eq!(nobody.lease_of(Millis::from_secs(60)), Millis::from_secs(20));
        let written = Workers { lease: Some(Millis::from_secs(5)), ..nobody };
        assert_eq!(written.lease_of(Millis::from_secs(60)), Millis::from_secs(5));
    }
}
