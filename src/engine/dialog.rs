//! What the agent of a task asks, and is answered, as state (semantics, section 5). The rules are in `decide::questions`.

use crate::domain::Digest;

use super::event::TaskEvent;
use super::payload::Asked;

/// How many answered questions a task carries along.
const EXCHANGES_KEPT: usize = 16;

/// What the agent of a task asked, and was answered.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dialog {
    /// What its last turn ended with that may be a question.
    pub said: Option<Asked>,
    /// The question that is open.
    pub open: Option<String>,
    /// What was answered, the oldest first.
    pub exchanges: Vec<Exchange>,
    /// Questions of the current allowance.
    pub rounds: u32,
    /// The tool call that the open question is about.
    pub call: Option<Digest>,
    /// The tool call that a person has allowed, once, in the turn that comes or is under way.
    pub allowed: Option<Digest>,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Exchange {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
    /// Where a person answered: the approval's number within the task.
    pub number: Option<u32>,
    /// Whether it was about a tool call, which a person allowed.
    pub is_call: bool,
}

impl Dialog {
    /// Takes one of the events about it.
    pub(super) fn apply(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Question { question, call, .. } => {
                // A person who is asked about each call is asked as often as it takes.
                self.rounds += u32::from(call.is_none());
                self.open = Some(question.clone());
                self.call = *call;
            }
            TaskEvent::Answered { answer, number, .. } => {
                let question = self.open.take().unwrap_or_default();
                self.allowed = self.call.take();
                if self.exchanges.len() == EXCHANGES_KEPT {
                    self.exchanges.remove(0);
                }
                self.exchanges.push(Exchange {
                    question,
                    answer: answer.clone(),
                    number: *number,
                    is_call: self.allowed.is_some(),
                });
            }
            _ => {}
        }
    }

    /// The call that a person has allowed, in the words in which it was asked about.
    pub fn allowed_wish(&self) -> Option<&str> {
        let last = self.exchanges.last().filter(|_| self.allowed.is_some());
        last.map(|exchange| exchange.question.as_str())
    }

    /// The turn in which an allowed call could be made is over, one way or the other: it is not to be made again.
    pub(super) fn end_turn(&mut self) {
        self.allowed = None;
    }

    /// What was allowed to an earlier attempt is nothing that this one was told.
    pub(super) fn forget_calls(&mut self) {
        self.allowed = None;
        self.exchanges.retain(|exchange| !exchange.is_call);
    }
}
