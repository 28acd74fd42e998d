//! The clock of a session that waits for a person.

use tokio::time::{Instant, sleep_until};

use crate::domain::Timestamp;

/// The wait that the state is in, if any, by a clock that nobody sets: the state says until when, and how far away that
/// is, is asked once.
#[derive(Debug, Default)]
pub(super) struct Wait(Option<(Timestamp, Instant)>);

impl Wait {
    /// Takes over what the state says now.
    pub fn follow(&mut self, until: Option<Timestamp>) {
        if self.0.map(|(until, _)| until) != until {
            let due = |until: Timestamp| Instant::now() + until.since(Timestamp::now()).as_duration();
            self.0 = until.map(|until| (until, due(until)));
        }
    }

    /// Comes when nobody has ended the wait in time. Cancel safe.
    pub async fn over(&self) -> Timestamp {
        match self.0 {
            Some((until, due)) => {
                sleep_until(due).await;
                until
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Millis;

    #[test]
    fn each_wait_has_its_own_end() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut wait = Wait::default();
            wait.follow(Some(Timestamp::now().plus(Millis::from_secs(3600))));
            let (_, due) = wait.0.unwrap();
            assert!(due > Instant::now() + Millis::from_secs(1800).as_duration());
            // The next one is over already.
            wait.follow(Some(Timestamp(1)));
            assert_eq!(wait.over().await, Timestamp(1));
            wait.follow(None);
            assert_eq!(wait.0, None);
        });
    }
}
