//! What the agent of a task asks, and is answered, as state (semantics, section 5). The rules are in `decide::questions`.

use crate::domain::Digest;

use super::event::Event;
use super::payload::Asked;

/// How many answered questions a task carries along.
const EXCHANGES_KEPT: usize = 16;

/// What the agent of a task asked, and was answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// The tool calls of the current attempt that a person has allowed.
    pub allowed: Vec<Digest>,
}

/// A question that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// What was asked.
    pub question: String,
    /// What was answered.
    pub answer: String,
    /// Where a person answered: the approval's number within the task.
    pub number: Option<u32>,
}

impl Dialog {
    /// Takes one of the events about it.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Question { question, call, .. } => {
                // A person who is asked about each call is asked as often as it takes.
                self.rounds += u32::from(call.is_none());
                self.open = Some(question.clone());
                self.call = *call;
            }
            Event::Answered { answer, number, .. } => {
                let question = self.open.take().unwrap_or_default();
                self.allowed.extend(self.call.take());
                if self.exchanges.len() == EXCHANGES_KEPT {
                    self.exchanges.remove(0);
                }
                self.exchanges.push(Exchange {
                    question,
                    answer: answer.clone(),
                    number: *number,
                });
            }
            _ => {}
        }
    }
}
