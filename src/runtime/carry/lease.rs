//! The lease of a job: heartbeats that the server answers.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use temporalio_client::errors::AsyncActivityError;
use temporalio_client::{AsyncActivityHandle, Client, RpcOptions};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};

use super::form::CarriedPiece;

/// How often it is looked for what a command has printed.
const LOOK: Duration = Duration::from_millis(500);
/// How much of its lease a command may live without an answer of the server, in hundredths. What is left is for its end.
const UNANSWERED: u32 = 65;

/// Why a job has no end that could be told.
pub enum NoEnd {
    /// The server has given the lease up, or was not heard.
    Lost,
    /// Whoever began it has called it off.
    CalledOff,
    /// The worker is told to end at once.
    Over,
}

/// The lease of a job: as long as the server answers in time, nobody else begins it.
pub struct Lease {
    handle: AsyncActivityHandle<Client>,
    /// How long the server waits for a heartbeat.
    pub lease: Duration,
    /// When the heartbeat was sent that was answered last.
    answered: Instant,
    /// What goes with each heartbeat.
    pub piece: CarriedPiece,
    /// How many bytes of output the piece reaches to.
    reaches: u64,
}

impl Lease {
    pub fn of(handle: AsyncActivityHandle<Client>, lease: Duration) -> Self {
        Self { handle, lease, answered: Instant::now(), piece: CarriedPiece::default(), reaches: 0 }
    }

    /// How often it is looked for something to tell.
    pub fn looks(&self) -> tokio::time::Interval {
        let mut looks = interval(LOOK.min(self.lease / 5));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        looks
    }

    /// Tells the last that a command has printed, where that is new, or where nothing was told for long.
    pub async fn report(&mut self, printed: Option<(u64, Vec<u8>)>) -> Result<(), NoEnd> {
        let printed = printed.map(|(from, bytes)| (from, from + bytes.len() as u64, bytes));
        let is_new = printed.as_ref().is_some_and(|(_, reaches, _)| *reaches > self.reaches);
        if let Some((from, reaches, bytes)) = printed.filter(|_| is_new) {
            self.reaches = reaches;
            self.piece.from = from;
            self.piece.bytes = STANDARD.encode(bytes);
        }
        if is_new || self.answered.elapsed() >= self.lease / 5 {
            self.beat().await?;
        }
        Ok(())
    }

    /// Sends a heartbeat until it is answered.
    pub async fn beat(&mut self) -> Result<(), NoEnd> {
        let until = self.answered + self.lease * UNANSWERED / 100;
        loop {
            let asked = Instant::now();
            let beat = self.handle.heartbeat(Some(self.piece.clone()), RpcOptions::default());
            match timeout_at(until, beat).await {
                Ok(Ok(answer)) => {
                    self.answered = asked;
                    return if answer.cancel_requested { Err(NoEnd::CalledOff) } else { Ok(()) };
                }
                Ok(Err(AsyncActivityError::NotFound(_))) | Err(_) => return Err(NoEnd::Lost),
                Ok(Err(_)) => sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Waits for work, and keeps the lease meanwhile.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Result<T, NoEnd> {
        let mut work = std::pin::pin!(work);
        let mut look = self.looks();
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                _ = look.tick() => self.report(None).await?,
            }
        }
    }
}
