//! The seats of judges: of a panel, and of a judge that is alone in its stage.

use crate::domain::{AgentId, Answer, Digest, FailureClass};

/// One seat of a panel, or the single seat of an evaluation or of a stage that asks an agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    /// The agent on the seat.
    pub agent: AgentId,
    /// Requests that the provider of who sits on it refused, before its first reply and behind it.
    pub failed_requests: u32,
    /// Why the last request failed, in words.
    pub unreached: Option<Box<str>>,
    /// The first reply of a judge that is asked for a second one: the first counts if only that can be read.
    pub first: Option<Answer>,
    /// The last reply that could not be read.
    pub unread: Option<Digest>,
    /// Whether the strict reprompt brought the same text once more.
    pub repeats: bool,
    /// The state of the call.
    pub state: SeatState,
}

/// Where a seat stands.
#[derive(Debug, Clone, PartialEq)]
pub enum SeatState {
    /// The seat is asked.
    Asked,
    /// The seat replied, be it in vain.
    Replied(Answer),
    /// The agent on the seat could not be asked.
    Failed(FailureClass),
}

impl Seat {
    /// A seat that is asked for the first time.
    pub(crate) fn of(agent: AgentId) -> Self {
        Self {
            agent,
            failed_requests: 0,
            unreached: None,
            first: None,
            unread: None,
            repeats: false,
            state: SeatState::Asked,
        }
    }

    /// The reply that counts: the last one that can be read, else the first.
    pub fn answer(&self) -> Option<&Answer> {
        let last = match &self.state {
            SeatState::Replied(answer) => Some(answer),
            SeatState::Asked | SeatState::Failed(_) => None,
        };
        let mut replies = last.into_iter().chain(&self.first);
        replies.find(|answer| answer.unreadable().is_none())
    }
}
