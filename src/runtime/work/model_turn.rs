//! The turn of a worker that is one request to a model, and what such a turn shares with calls to judges.

use crate::agents::model::{self, ModelError, ModelReply, ModelRequest};
use crate::executor::error::WorkError;
use crate::executor::spool::read_head;
use crate::executor::task_command::TaskCommands;
use crate::store::SpoolName;
use rules::domain::{FailureClass, Millis, Timestamp, TurnId};
use rules::engine::{Exit, Fact, TurnEnd, Usage};
use rules::plan::AgentPlan;

use super::agent_messages::detected;
use super::context::{WorkContext, blocking, jitter, not_reachable};
use super::middleware::{self, LastWords};
use super::reply;
use super::turn_order::{ModelWorker, TurnOrder};

/// How long a reviewer may take, where its agent does not say.
const REVIEW_TIMEOUT: Millis = Millis::from_secs(600);
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

/// Does the turn of a worker that is one request.
///
/// # Errors
/// When the program ends meanwhile.
pub async fn turn(context: &WorkContext, order: &TurnOrder, worker: &ModelWorker) -> Result<Fact, WorkError> {
    let (turn, commands) = (order.turn, order.commands.clone());
    let plan = commands.plan.clone();
    let begin = Timestamp::now();
    let task = plan.task(turn.task);
    let mut request = ModelRequest::to(&plan.agent(task.agent).spec, "", task.turn_timeout);
    let prompt = commands.file(&SpoolName::Prompt(turn));
    request.prompt = match blocking(move || read_head(&prompt, u64::MAX)).await? {
        Ok(prompt) => prompt,
        Err(error) => return Ok(not_reachable(turn, format!("cannot read the prompt: {error}"))),
    };
    let result = model::complete(&worker.line, &worker.endpoint, &request, begin).await;
    let duration = Timestamp::now().since(begin);
    let warnings = worker.endpoint.untold().into_iter();
    warnings.for_each(|warning| context.post(Fact::Warn(warning)));
    let end = match result {
        Ok(reply) => replied(context, &commands, turn, &reply).await,
        // Our own timer ended the turn: that is the turn's end, not a request to repeat.
        Err(error) if error.is_our_timer() => {
            let message = format!("no reply within {}", Millis::from(request.timeout));
            TurnEnd { killed: true, ..TurnEnd::failed(turn, FailureClass::Timeout, message) }
        }
        Err(error) => return Ok(unanswered(turn, error)),
    };
    Ok(Fact::TurnEnded(Box::new(TurnEnd { duration, ..end })))
}

/// The end of a turn whose model has replied.
async fn replied(
    context: &WorkContext,
    commands: &TaskCommands,
    turn: TurnId,
    reply: &ModelReply,
) -> TurnEnd {
    let plan = &commands.plan;
    let text = commands.secrets.redact(&reply.text);
    let output = match reply::store(&commands.file(&SpoolName::Out(turn)), &text).await {
        Ok(output) => output,
        // The model has replied, and that was paid for.
        Err(why) => {
            return TurnEnd {
                usage: usage_of(reply),
                model: reply.model.clone(),
                ..TurnEnd::failed(turn, FailureClass::Unknown, why)
            };
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
    let asked = detected(can_confirm, &text);
    let heard = middleware::after(plan, turn.task, &exit, LastWords::Message(&text));
    if let Some(warning) = heard.warning {
        context.post(Fact::Warn(warning));
    }
    TurnEnd {
        exit,
        output,
        asked,
        broken: heard.broken,
        cues: heard.cues,
        usage: usage_of(reply),
        model: reply.model.clone(),
        ..TurnEnd::clean(turn)
    }
}

/// Why a turn came to nothing whose last reply is cut.
pub const CUT_SHORT: &str = "the model's reply ran into its token limit and is cut short";

pub fn review_timeout(agent: &AgentPlan) -> Millis {
    agent.spec.timeout.unwrap_or(REVIEW_TIMEOUT)
}

pub fn usage_of(reply: &ModelReply) -> Usage {
    Usage { input_tokens: reply.usage.input_tokens, output_tokens: reply.usage.output_tokens, cost: None }
}
