//! Workers behind HTTP with tools: a model reads, writes and runs by way of this program, and every call is on record.
//! What the record holds is evidence (semantics, sections 1 and 6).
//!
//! A turn that is under way dies with its session: it is started anew, like any turn that is lost.
//!
//! | file | what |
//! |---|---|
//! | `context` | what the model works with: each call is checked, carried out, put on record and told |
//! | `permission` | a person's word about a tool call of such a model (5) |

mod context;
mod permission;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::agents::model::ModelRequest;
use crate::agents::tool_loop::{Broken, Conversation, ConversationUsage, Limits, converse};
use crate::agents::tools::confined::Confined;
use crate::agents::tools::{FOR_REVIEWERS, Tool, Toolbox};
use crate::executor::error::WorkError;
use crate::executor::spool::read_head;
use crate::executor::task_command::TaskCommands;
use crate::executor::workspace::make_folder;
use crate::review::file_changes::Guarded;
use crate::store::{RunFolder, SpoolName};
use rules::domain::{FailureClass, Millis, Timestamp, TurnId};
use rules::engine::{Asked, Exit, Fact, FailedTool, TurnEnd};
use rules::mission::model::{AgentMiddleware, ToolKind};
use rules::plan::Plan;
use serde_json::Value;
use supervisor::MountPlan;

use super::agent_messages::{detected, question};
use super::context::{WorkContext, blocking, jitter, not_reachable};
use super::delegated_gate::taken;
use super::middleware::{self, LastMessage};
use super::model_turn::{CUT_SHORT, unanswered, usage_of};
use super::reply;
use super::reviewer_tools::usage_until;
use super::tool_ledger::{ToolLedger, unkept};
use super::turn_order::{ModelWorker, TurnOrder};
use crate::runtime::isolation::protection::{Protection, protected_scopes};
use context::{ModelProgress, ToolContext};

/// The time behind a turn's end at which a command is ended. Before that, both ends would race for what becomes
/// of the command.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// The part of the prompt that such a worker gets beside its task.
const HINT: &str = "\
You do the task yourself, in a workspace, with the tools that you are given; paths are relative to the workspace. Nothing \
that you only say is done: files that are to exist must be written. When you are done, reply with a short account of what \
you did, without calling a tool.";

/// A turn, with all that it needs.
struct ToolTurn<'w> {
    turn: TurnId,
    worker: &'w ModelWorker,
    request: ModelRequest,
    task: TaskCommands,
    context: &'w WorkContext,
}

/// Does the turn of a worker that uses tools: a conversation is its whole turn.
pub async fn turn(context: &WorkContext, order: &TurnOrder, worker: &ModelWorker) -> Fact {
    let (turn, plan) = (order.turn, &order.commands.plan);
    let agent = plan.worker_of(turn.task);
    let work = ToolTurn {
        turn,
        worker,
        request: ModelRequest {
            system: Some(HINT.to_owned()),
            ..ModelRequest::to(&agent.spec, "", plan.task(turn.task).turn_timeout)
        },
        task: order.commands.clone(),
        context,
    };
    work.go().await
}

impl ToolTurn<'_> {
    async fn go(mut self) -> Fact {
        let begin = Timestamp::now();
        let context = match self.prepare().await {
            Err(why) => return not_reachable(self.turn, why),
            Ok(context) => context,
        };
        let ModelWorker { line, endpoint, .. } = self.worker;
        let talked = converse(line, endpoint, &self.request, Limits::WORKER, &context).await;
        for warning in endpoint.untold() {
            self.context.post(Fact::Warn(warning));
        }
        match talked {
            Ok(conversation) => self.ended(context, conversation, begin).await,
            Err(broken) => self.broke_off(context, broken, begin).await,
        }
    }

    async fn prepare(&mut self) -> Result<ToolContext, WorkError> {
        let prompt = self.task.folder.spool_file(&SpoolName::Prompt(self.turn));
        let (plan, folder, turn) = (self.task.plan.clone(), self.task.folder.clone(), self.turn);
        let (protection, cwd) = (self.context.protection.clone(), self.task.workspace());
        let mounts = self.worker.mounts.clone();
        let prepared = blocking(move || {
            make_folder(&cwd, &plan.root_of(turn.task))?;
            let prompt = read_head(&prompt, u64::MAX).map_err(WorkError::lost("cannot read the prompt"))?;
            let toolbox = toolbox(&plan, &folder, (&protection, mounts), (turn, &cwd))?;
            Ok::<_, WorkError>((prompt, toolbox))
        });
        let (prompt, toolbox) = prepared.await??;
        self.request.prompt = prompt;
        Ok(ToolContext {
            turn,
            tools: middleware::tools(&self.task.plan, turn.task),
            toolbox: Arc::new(toolbox),
            ledger: ToolLedger::new(
                self.task.folder.spool_file(&SpoolName::TurnTools(turn)),
                self.task.secrets.clone(),
            ),
            end: Instant::now() + self.request.timeout + AFTERWARDS,
            task: self.task.clone(),
            context: self.context.clone(),
            done: Mutex::new(ModelProgress::of(self.worker.allowed)),
        })
    }

    async fn ended(&self, context: ToolContext, conversation: Conversation, begin: Timestamp) -> Fact {
        let Conversation { reply, spent, used_up, .. } = conversation;
        let said = context.done().clone();
        let usage = usage_of(&reply);
        let text = said.result.as_ref().unwrap_or(&reply.text);
        let text = self.task.secrets.redact(text);
        let did_nothing =
            said.calls.calls == 0 && said.questions.is_empty() && said.permission.wish().is_none();
        let exit = if used_up {
            // It wanted to go on, so it is not done, whatever it says.
            Exit::failed(FailureClass::Unknown, stopped(Limits::WORKER))
        } else if reply.is_cut_short() {
            Exit::failed(FailureClass::Unknown, CUT_SHORT)
        } else if text.trim().is_empty() && did_nothing {
            // Saying nothing and doing nothing is not doing the work, whatever the provider's status was.
            Exit::failed(FailureClass::Unknown, "the model said nothing and used no tool".to_owned())
        } else {
            Exit::default()
        };
        let output = match reply::store(&self.task.folder.spool_file(&SpoolName::Out(self.turn)), &text).await
        {
            Ok(output) => output,
            Err(why) => {
                let end = TurnEnd { usage, ..TurnEnd::failed(self.turn, FailureClass::Unknown, why) };
                return self.end(context, end, &spent, begin).await;
            }
        };
        let asked = self.asked(&said, &text).filter(|_| exit.failure.is_none());
        let heard = match exit.failure {
            None => said.heard.clone(),
            Some(_) => LastMessage::default(),
        };
        if let Some(warning) = heard.warning {
            self.context.post(Fact::Warn(warning));
        }
        let delegated = (&Value::Array(said.delegated), usize::MAX);
        let delegate = taken(self.context, &self.task.plan, self.turn.task, delegated);
        let end = TurnEnd {
            exit,
            output,
            asked,
            broken: heard.broken,
            cues: heard.cues,
            delegate,
            usage,
            model: reply.model,
            ..TurnEnd::clean(self.turn)
        };
        self.end(context, end, &spent, begin).await
    }

    fn asked(&self, said: &ModelProgress, text: &str) -> Option<Asked> {
        if let Some((wish, call)) = said.permission.wish() {
            return Some(Asked {
                call: Some(Box::new(call)),
                ..question(&self.task.secrets.redact(wish), false)
            });
        }
        if !said.questions.is_empty() {
            return Some(question(&said.questions.join("\n\n"), false));
        }
        let can_confirm = self.task.plan.rules.orchestrator.is_some();
        detected(can_confirm, text)
    }

    async fn broke_off(&self, context: ToolContext, broken: Broken, begin: Timestamp) -> Fact {
        let Broken { error, spent } = broken;
        let is_time_out = error.is_our_timer();
        if spent.requests == 0 && !is_time_out {
            // Nothing was done yet, so it may be begun anew.
            return unanswered(self.turn, error);
        }
        let message = if is_time_out {
            format!("not done within {}", Millis::from(self.request.timeout))
        } else {
            error.message.clone()
        };
        let mut end = TurnEnd {
            usage: usage_until(&error, &spent),
            killed: is_time_out,
            jitter: jitter(),
            ..TurnEnd::failed(self.turn, error.class, message)
        };
        end.exit.retry_after = error.retry_after;
        self.end(context, end, &spent, begin).await
    }

    /// Makes the record of the turn durable; without it what the agent did is not known.
    async fn end(
        &self,
        context: ToolContext,
        end: TurnEnd,
        spent: &ConversationUsage,
        begin: Timestamp,
    ) -> Fact {
        let (calls, lost) = {
            let done = context.done();
            (done.calls, done.lost.clone())
        };
        let failed_tools: Vec<FailedTool> = lost.into_iter().map(|(_, failed)| failed).collect();
        let end = match context.ledger.clone().seal(spent).await {
            Ok(tools) => TurnEnd { tools: Some(Box::new(tools)), tool_calls: Some(calls), ..end },
            Err(why) => TurnEnd {
                usage: end.usage,
                tools: Some(Box::new(unkept(spent))),
                ..TurnEnd::failed(self.turn, FailureClass::Unknown, why)
            },
        };
        Fact::TurnEnded(Box::new(TurnEnd { failed_tools, duration: Timestamp::now().since(begin), ..end }))
    }
}

/// Why a model that wanted to go on was stopped.
fn stopped(limits: Limits) -> String {
    let Limits { rounds, calls, bytes } = limits;
    format!(
        "stopped before it was done: a turn may ask for tools {rounds} times, for {calls} calls in all, with {} MiB said \
         on either side",
        bytes / (1024 * 1024)
    )
}

/// The tools that touch files. By `security_interceptor` protected ones are refused beforehand; what else changes them is seen
/// afterwards.
fn toolbox(
    plan: &Plan,
    folder: &RunFolder,
    (protection, mounts): (&Protection, Option<MountPlan>),
    (turn, cwd): (TurnId, &Path),
) -> Result<Toolbox, WorkError> {
    let tools = middleware::tools(plan, turn.task);
    let mut kinds = Vec::new();
    let looks = tools.offers(ToolKind::Read).then_some(FOR_REVIEWERS);
    kinds.extend(looks.into_iter().flatten());
    kinds.extend(tools.offers(ToolKind::Write).then_some(Tool::Write));
    let refuses = plan.middleware(turn.task).has(AgentMiddleware::SecurityInterceptor);
    let guarded = Guarded::of(&protected_scopes(plan, turn.task))?;
    let by_default = protection.guards(plan, turn.task);
    let confined = Confined::open(cwd).map_err(WorkError::file("look into", cwd))?;
    let confined = confined.hiding(folder.state_folder().path());
    let confined = confined.guarding(move |path| refuses && (guarded.holds(path) || by_default(path)));
    let confined = match mounts {
        Some(mounts) => confined.planned(mounts),
        None => confined,
    };
    Ok(Toolbox::new(confined, &kinds))
}
