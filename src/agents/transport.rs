//! How a model is reached: over the network, over the network with a record of it, or from a record alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::Client;

use super::cassette::{CallKey, Cassette, RecordedQuestion};
use super::model::{ModelError, ModelReply};

/// The use that a run may make of the network.
#[derive(Debug, Clone, Default)]
pub enum Network {
    /// The run may use all of the network.
    #[default]
    Open,
    /// The run may use all of the network, and the replies of models are recorded.
    Recording(Arc<Cassette>),
    /// Nothing. Models reply what is on record, where there is one.
    Offline(Option<Arc<Cassette>>),
}

/// The line to a model.
#[derive(Debug, Clone)]
pub enum Transport {
    /// Requests go over the network.
    Direct(Client),
    /// Over the network; what comes back is written down.
    Recording(Client, CassetteCursor),
    /// Replies come from a record.
    Recorded(CassetteCursor),
}

impl Transport {
    /// Whether what comes over it is recorded, or is from a record. Then the same must be asked again and again: nothing
    /// that only this session remembers may change a question.
    pub fn is_on_record(&self) -> bool {
        matches!(self, Self::Recording(..) | Self::Recorded(_))
    }
}

/// The record of one call.
#[derive(Debug, Clone)]
pub struct CassetteCursor {
    cassette: Arc<Cassette>,
    call: CallKey,
    /// Requests of the call so far.
    requests: Arc<AtomicU32>,
}

impl CassetteCursor {
    /// The record of a call whose first request comes next.
    pub fn new(cassette: Arc<Cassette>, call: CallKey) -> Self {
        Self { cassette, call, requests: Arc::default() }
    }

    fn next(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The recorded reply to the same question.
    pub(super) async fn replay(&self, question: RecordedQuestion) -> Result<ModelReply, ModelError> {
        let (tape, number) = (self.clone(), self.next());
        let read = tokio::task::spawn_blocking(move || tape.cassette.get(&tape.call, number, &question));
        read.await.unwrap_or_else(|error| Err(ModelError::here(error.to_string())))
    }

    /// Writes down what came back. A reply that is not on record is none: a recording with a hole in it would fail
    /// whoever works from it.
    pub(super) async fn record(
        &self,
        question: RecordedQuestion,
        result: Result<ModelReply, ModelError>,
    ) -> Result<ModelReply, ModelError> {
        let (tape, number) = (self.clone(), self.next());
        let written = tokio::task::spawn_blocking(move || {
            let written = tape.cassette.put(&tape.call, number, &question, &result);
            written.map_or_else(|why| Err(ModelError::here(why.to_string())), |()| result)
        });
        written.await.unwrap_or_else(|error| Err(ModelError::here(error.to_string())))
    }
}
