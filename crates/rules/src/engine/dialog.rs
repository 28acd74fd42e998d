//! What the agent of a task asks, and is answered, as state (semantics, section 5). The rules are in `decide::worker_questions`.

use crate::domain::Digest;

use super::event::TaskEvent;
use super::event_payload::Asked;

/// How many answered questions a task carries along.
const EXCHANGES_KEPT: usize = 16;

/// The questions of a task's agent, and the answers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Dialog {
    /// The possible question that the last turn ended with.
    pub said: Option<Asked>,
    /// The question that is open.
    pub open: Option<String>,
    /// The questions and their answers, the oldest first.
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
    /// The question of the agent.
    pub question: String,
    /// The answer to the agent.
    pub answer: String,
    /// Where a person answered: the approval's number within the task.
    pub number: Option<u32>,
    /// Whether the question was about a tool call, which a person allowed.
    pub is_call: bool,
}

impl Dialog {
    /// Takes one of the events about it.
    pub fn apply(&mut self, event: &TaskEvent) {
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
    pub fn end_turn(&mut self) {
        self.allowed = None;
    }

    /// Forgets the calls that were allowed to an earlier attempt: this one was told nothing of them.
    pub fn forget_calls(&mut self) {
        self.allowed = None;
        self.exchanges.retain(|exchange| !exchange.is_call);
    }
}
