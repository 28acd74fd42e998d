//! The turn of a worker that is one request to a model, and what such a turn shares with calls to judges.

use std::path::PathBuf;
use std::sync::Arc;

use crate::agents::cassette::CallKey;
use crate::agents::endpoint::Endpoint;
use crate::agents::model::{self, ModelError, ModelReply, ModelRequest};
use crate::agents::secrets::Secrets;
use crate::agents::transport::Transport;
use crate::executor::spool::read_head;
use crate::store::SpoolName;
use rules::domain::{FailureClass, Millis, Timestamp, TurnId};
use rules::engine::{Asked, Exit, Fact, State, TurnEnd, TurnUpdate, Usage};
use rules::judging::question::may_be_question;
use rules::mission::{AgentPlan, Plan};

use super::context::{jitter, not_reachable};
use super::middleware::{self, LastWords};
use super::reply;
use crate::runtime::session::effects::Executor;

/// How long a reviewer may take, where its agent does not say.
const REVIEW_TIMEOUT: Millis = Millis::from_secs(600);
impl Executor {
    /// A worker behind an HTTP endpoint: one request is its whole turn.
    pub fn call_worker(&mut self, state: &State, turn: TurnId, endpoint: Endpoint) {
        let agent_id = state.plan.task(turn.task).agent;
        let agent = state.plan.agent(agent_id);
        let on_record = CallKey {
            task: state.plan.title(turn.task).to_owned(),
            agent: agent.name.to_string(),
            attempt: turn.attempt,
            stage: "work".to_owned(),
            place: vec![turn.turn],
        };
        let line = match self.line(agent_id, &endpoint, on_record) {
            Ok(line) => line,
            Err(why) => return self.context.post(not_reachable(turn, why)),
        };
        if agent.spec.works_with_tools() {
            return self.work_with_tools(state, turn, line, endpoint);
        }
        let request = ModelRequest::to(&agent.spec, "", state.plan.task(turn.task).turn_timeout);
        let context = self.context.clone();
        let work = ModelTurn {
            plan: state.plan.clone(),
            turn,
            prompt: self.context.folder.spool_file(&SpoolName::Prompt(turn)),
            out: self.context.folder.spool_file(&SpoolName::Out(turn)),
            secrets: self.programs.secrets(),
        };
        self.work_beside(turn, async move {
            context.post(Fact::TurnProgress(turn, TurnUpdate::Spawned { process: None }));
            let facts = work.go(request, &line, &endpoint).await;
            facts.into_iter().for_each(|fact| context.post(fact));
        });
    }

    /// Does the work of a turn that has no process.
    pub fn work_beside(&mut self, turn: TurnId, work: impl Future<Output = ()> + Send + 'static) {
        let work = tokio::spawn(work);
        let turns = &mut self.context.at_work().model_turns;
        turns.insert(turn, work.abort_handle());
        turns.retain(|_, work| !work.is_finished());
    }
}

/// The request of a turn came to nothing before anything was done.
pub fn unanswered(turn: TurnId, error: ModelError) -> Fact {
    Fact::TurnRequestFailed {
        turn,
        class: error.class,
        before_effect: error.status.is_none() && !error.ours,
        message: error.message,
        retry_after: error.retry_after,
        jitter: jitter(),
    }
}

/// A turn of a worker that is one request.
struct ModelTurn {
    plan: Arc<Plan>,
    turn: TurnId,
    prompt: PathBuf,
    out: PathBuf,
    /// The secrets that its reply must not show.
    secrets: Arc<Secrets>,
}

impl ModelTurn {
    async fn go(&self, mut request: ModelRequest, line: &Transport, endpoint: &Endpoint) -> Vec<Fact> {
        let turn = self.turn;
        let begin = Timestamp::now();
        request.prompt = match read_head(&self.prompt, u64::MAX) {
            Ok(prompt) => prompt,
            Err(error) => return vec![not_reachable(turn, format!("cannot read the prompt: {error}"))],
        };
        let result = model::complete(line, endpoint, &request, begin).await;
        let duration = Timestamp::now().since(begin);
        let mut facts: Vec<Fact> = endpoint.untold().into_iter().map(Fact::Warn).collect();
        facts.extend(match result {
            Ok(reply) => self.replied(&reply, duration).await,
            // Our own timer ended the turn: that is the turn's end, not a request to repeat.
            Err(error) if error.is_our_timer() => {
                let message = format!("no reply within {}", Millis::from(request.timeout));
                vec![Fact::TurnEnded(Box::new(TurnEnd {
                    duration,
                    killed: true,
                    ..TurnEnd::failed(turn, FailureClass::Timeout, message)
                }))]
            }
            Err(error) => vec![unanswered(turn, error)],
        });
        facts
    }

    async fn replied(&self, reply: &ModelReply, duration: Millis) -> Vec<Fact> {
        let (turn, plan) = (self.turn, &self.plan);
        let text = self.secrets.redact(&reply.text);
        let output = match reply::store(&self.out, &text).await {
            Ok(output) => output,
            // The model has replied, and that was paid for.
            Err(why) => {
                return vec![Fact::TurnEnded(Box::new(TurnEnd {
                    duration,
                    usage: usage_of(reply),
                    model: reply.model.clone(),
                    ..TurnEnd::failed(turn, FailureClass::Unknown, why)
                }))];
            }
        };
        let mut exit = Exit::default();
        if reply.is_cut_short() {
            exit = Exit::failed(FailureClass::Unknown, CUT_SHORT);
        } else if text.trim().is_empty() {
            // Saying nothing is not doing the work, whatever the provider's status was.
            exit = Exit::failed(FailureClass::Unknown, "the model's reply is empty");
        }
        let can_confirm = plan.rules.orchestrator.is_some() && exit.failure.is_none();
        let asked = (can_confirm && may_be_question(&text)).then(|| Asked {
            text: text.trim().to_owned(),
            detected: true,
            call: None,
        });
        let heard = middleware::after(plan, turn.task, &exit, LastWords::Message(&text));
        let end = TurnEnd {
            exit,
            output,
            duration,
            asked,
            broken: heard.broken,
            cues: heard.cues,
            usage: usage_of(reply),
            model: reply.model.clone(),
            ..TurnEnd::clean(turn)
        };
        let warning = heard.warning.map(Fact::Warn);
        warning
            .into_iter()
            .chain([Fact::TurnEnded(Box::new(end))])
            .collect()
    }
}

/// Why a turn came to nothing whose last reply is cut.
pub const CUT_SHORT: &str = "the model's reply ran into its token limit and is cut short";

pub fn review_timeout(agent: &AgentPlan) -> Millis {
    agent.spec.timeout.unwrap_or(REVIEW_TIMEOUT)
}

pub fn usage_of(reply: &ModelReply) -> Usage {
    Usage {
        input_tokens: reply.usage.input_tokens,
        output_tokens: reply.usage.output_tokens,
        cost: None,
    }
}
