//! `quorum.judge-test/v1`: whether the replies of an agent can be read where it is asked as a judge.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::fields;
use crate::report::folds::view::RunView;
use crate::runtime::said_by_answer;
use rules::domain::{Answer, Cause, FailureClass, OutcomeClass, Status, TaskId, Timestamp};
use rules::engine::{AskEvent, AskReply, Event, TaskEvent};

/// Whether the replies of an agent can be read where it is asked as a judge: `quorum judge test`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "schema", rename = "quorum.judge-test/v1")]
pub struct JudgeTestDocument<'a> {
    /// The name of the agent.
    agent: &'a str,
    /// The outcome that gives the exit code.
    #[schemars(with = "fields::OutcomeShape")]
    outcome: &'static str,
    /// The exit code of the process.
    pub exit_code: u8,
    /// The kinds of question that were to be asked.
    kinds: Vec<KindRow>,
}

/// How an agent answered one kind of question.
#[derive(Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Answered {
    /// The agent was not asked.
    #[default]
    NotAsked,
    /// A reply that can be read.
    Read,
    /// A reply that cannot be read, or none in its time.
    Unread,
    /// The agent could not be reached.
    Unreachable,
    /// The agent cannot be asked so.
    NotPossible,
}

/// One kind of question.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KindRow {
    /// `evaluation`, `panel`, `grade`, `stage`, `redTeam`, `vision` or `approve`.
    kind: &'static str,
    /// How the agent answered.
    state: Answered,
    /// Replies that came; with 2 the last one is that to the strict second request.
    replies: u32,
    /// What was read from the reply, also from one that has its form and does not count.
    read: Option<Value>,
    /// Why nothing was; of what was read on the second request, why not on the first.
    why: Option<String>,
    /// How the last reply begins that could not be read.
    reply: Option<String>,
    /// Tokens of requests; `null` where nobody told.
    input_tokens: Option<u64>,
    /// Tokens of replies; `null` where nobody told.
    output_tokens: Option<u64>,
    /// The known cost; `null` where nothing is known of it.
    cost: Option<f64>,
    /// The time that the call took, in milliseconds.
    duration_ms: Option<u64>,
    #[serde(skip)]
    began: Option<Timestamp>,
}

impl KindRow {
    /// One that nothing has come of.
    pub fn of(kind: &'static str) -> Self {
        Self { kind, ..Self::default() }
    }

    /// One that does not fit the agent.
    pub fn not_possible(kind: &'static str, why: &str) -> Self {
        Self { state: Answered::NotPossible, why: Some(why.to_owned()), ..Self::of(kind) }
    }

    /// Takes in an event of its task.
    pub fn take(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::Ask(_, AskEvent::Requested { .. }) => self.began = self.began.or(Some(at)),
            Event::Ask(_, AskEvent::Replied(AskReply { reply, answer, .. })) => {
                self.ended(at);
                let asked_again = reply.tools.as_deref().is_some_and(|tools| tools.asked_again);
                self.replies += 1 + u32::from(asked_again);
                if let Answer::Unreadable { why, excerpt, .. } = answer {
                    self.state = Answered::Unread;
                    (self.why, self.reply) = (Some(why.clone()), Some(excerpt.clone()));
                } else {
                    self.state = Answered::Read;
                    self.read = Some(answer.short().unwrap_or_else(|| said_by_answer(answer)));
                }
            }
            Event::Ask(_, AskEvent::Failed { class, message, .. }) => {
                self.ended(at);
                self.state = match class {
                    FailureClass::Timeout => Answered::Unread,
                    class if class.passes_by_itself() || class.exhausts_at_once() => Answered::Unreachable,
                    _ => Answered::Unread,
                };
                self.why = Some(format!("{}: {message}", class.as_str()));
            }
            // A reply that has its form need not be one that counts.
            Event::Task(_, TaskEvent::StageVerdict(report))
                if report.cause == Some(Cause::GateError) && self.state == Answered::Read =>
            {
                self.state = Answered::Unread;
                let said = report.findings.first();
                self.why = said.map(|finding| finding.description.clone());
            }
            Event::Task(_, TaskEvent::Transition { to: Status::Failed, reason, .. })
                if self.state == Answered::NotAsked =>
            {
                self.why.clone_from(reason);
            }
            _ => {}
        }
    }

    fn ended(&mut self, at: Timestamp) {
        self.duration_ms = self.began.map(|began| at.since(began).0);
    }

    /// Takes in what its task used.
    pub fn used(&mut self, view: &RunView, id: TaskId) {
        let usage = &view.task(id).usage;
        (self.input_tokens, self.output_tokens) = (usage.input_tokens, usage.output_tokens);
        self.cost = view.costs.get(&id).map(|cost| cost.to_f64());
    }
}

impl<'a> JudgeTestDocument<'a> {
    /// The outcome of all questions, by how the run of them ended. A kind that is not possible is no failure
    /// where nobody named it.
    pub fn of(agent: &'a str, kinds: Vec<KindRow>, ended: OutcomeClass, is_named: bool) -> Self {
        let came = |state| kinds.iter().any(|row: &KindRow| row.state == state);
        let class = if ended.is_signal() {
            ended
        } else if came(Answered::Unreachable) {
            OutcomeClass::Environment
        } else if ended.is_stop() {
            ended
        } else if came(Answered::Unread)
            || came(Answered::NotAsked)
            || is_named && came(Answered::NotPossible)
        {
            OutcomeClass::Indeterminate
        } else {
            OutcomeClass::Ok
        };
        Self { agent, outcome: class.as_str(), exit_code: class.exit_code(), kinds }
    }
}
