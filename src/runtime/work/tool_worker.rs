//! Workers behind HTTP with tools: a model reads, writes and runs by way of this program, and every call is on record.
//! What the record holds is evidence (semantics, sections 1 and 6).
//!
//! A turn that is under way dies with its session: it is started anew, like any turn that is lost.
//!
//! | file | what |
//! |---|---|
//! | `context` | what the model works with: each call is checked, carried out, put on record and told |

mod context;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::agents::endpoint::Endpoint;
use crate::agents::model::ModelRequest;
use crate::agents::tool_loop::{Broken, Conversation, ConversationUsage, Limits, converse};
use crate::agents::tools::confined::Confined;
use crate::agents::tools::{FOR_REVIEWERS, Tool, Toolbox};
use crate::agents::transport::Transport;
use crate::executor::error::WorkError;
use crate::executor::spool::read_head;
use crate::executor::task_command::TaskCommands;
use crate::executor::workspace::make_folder;
use crate::review::snapshot::Guarded;
use crate::store::{RunFolder, SpoolName};
use rules::domain::{Digest, FailureClass, Millis, Timestamp, TurnId};
use rules::engine::{Asked, Exit, Fact, FailedTool, State, TurnEnd, TurnUpdate};
use rules::judging::question::may_be_question;
use rules::mission::model::{AgentMiddleware, ToolKind};
use rules::mission::{Plan, SubTask};
use serde_json::Value;
use supervisor::MountPlan;

use super::agent_messages::{handed_down, question};
use super::calls::{CUT_SHORT, unanswered, usage_of};
use super::context::{Message, WorkContext, blocking, jitter, not_reachable};
use super::middleware::{self, LastMessage};
use super::reply;
use super::reviewer_tools::usage_until;
use super::tool_ledger::{ToolLedger, unkept};
use crate::runtime::isolation::protection::{Protection, protected_scopes};
use crate::runtime::session::effects::Executor;
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
struct ToolTurn {
    turn: TurnId,
    line: Transport,
    endpoint: Endpoint,
    request: ModelRequest,
    task: TaskCommands,
    /// The mounts that a process of the agent would have; `None` where it would not be confined.
    mounts: Option<MountPlan>,
    /// The call that a person has allowed, once.
    allowed: Option<Digest>,
    context: WorkContext,
}

impl Executor {
    /// A worker that uses tools: a conversation is its whole turn.
    pub fn work_with_tools(&mut self, state: &State, turn: TurnId, line: Transport, endpoint: Endpoint) {
        self.remember(state, turn);
        let agent = state.plan.worker_of(turn.task);
        let dialog = state.task(turn.task).dialog.as_deref();
        let work = ToolTurn {
            turn,
            line,
            endpoint,
            request: ModelRequest {
                system: Some(HINT.to_owned()),
                ..ModelRequest::to(&agent.spec, "", state.plan.task(turn.task).turn_timeout)
            },
            task: self.task_commands(&state.plan, turn.task, turn.attempt),
            mounts: self
                .confiner
                .of_tools((&state.plan, &self.context.protection), turn),
            allowed: dialog.and_then(|dialog| dialog.allowed),
            context: self.context.clone(),
        };
        self.work_beside(turn, work.go());
    }

    /// A turn behind HTTP ended. What it did to files is looked at, where that was noted before.
    pub fn worked(&mut self, plan: &Arc<Plan>, mut end: Box<TurnEnd>) {
        self.context.at_work().model_turns.remove(&end.turn);
        let after = self.after(end.turn);
        let (plan, folder) = (plan.clone(), self.context.folder.clone());
        self.blocking(move || {
            end.files = after.seen(&plan, &folder, (end.turn.task, &mut end.delegate));
            vec![Fact::TurnEnded(end)]
        });
    }
}

impl ToolTurn {
    async fn go(mut self) {
        let (turn, sender) = (self.turn, self.context.sender.clone());
        let spawned = TurnUpdate::Spawned { process: None };
        self.context.post(Fact::TurnProgress(turn, spawned));
        let begin = Timestamp::now();
        let message = match self.prepare().await {
            Err(why) => Message::Fact(not_reachable(turn, why)),
            Ok(context) => {
                let talk = converse(
                    &self.line,
                    &self.endpoint,
                    &self.request,
                    Limits::WORKER,
                    &context,
                );
                let talked = talk.await;
                for warning in self.endpoint.untold() {
                    self.context.post(Fact::Warn(warning));
                }
                match talked {
                    Ok(conversation) => self.ended(context, conversation, begin).await,
                    Err(broken) => self.broke_off(context, broken, begin).await,
                }
            }
        };
        // After the loop has ended it is of no use.
        let _ = sender.send(message);
    }

    async fn prepare(&mut self) -> Result<ToolContext, WorkError> {
        let prompt = self.task.folder.spool_file(&SpoolName::Prompt(self.turn));
        let (plan, folder, turn) = (self.task.plan.clone(), self.task.folder.clone(), self.turn);
        let (protection, cwd) = (self.context.protection.clone(), self.task.workspace());
        let mounts = self.mounts.take();
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
            done: Mutex::new(ModelProgress::of(self.allowed)),
        })
    }

    async fn ended(&self, context: ToolContext, conversation: Conversation, begin: Timestamp) -> Message {
        let Conversation {
            reply,
            spent,
            used_up,
            ..
        } = conversation;
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
            Exit::failed(
                FailureClass::Unknown,
                "the model said nothing and used no tool".to_owned(),
            )
        } else {
            Exit::default()
        };
        let output = match reply::store(&self.task.folder.spool_file(&SpoolName::Out(self.turn)), &text).await
        {
            Ok(output) => output,
            Err(why) => {
                let end = TurnEnd {
                    usage,
                    ..self.failed(FailureClass::Unknown, why.into())
                };
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
        let delegate = self.delegated(said.delegated);
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

    /// The sub-tasks that the agent delegates; whoever watches is told of those that cannot be read.
    fn delegated(&self, items: Vec<Value>) -> Vec<SubTask> {
        let plan = &self.task.plan;
        let (sub_tasks, refused) = handed_down(plan, self.turn.task, &Value::Array(items));
        for why in refused {
            let title = plan.title(self.turn.task);
            let warning = Fact::Warn(format!("'{title}' wants to delegate work: {why}"));
            self.context.post(warning);
        }
        sub_tasks
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
        (can_confirm && may_be_question(text)).then(|| question(text.trim(), true))
    }

    async fn broke_off(&self, context: ToolContext, broken: Broken, begin: Timestamp) -> Message {
        let Broken { error, spent } = broken;
        let is_time_out = error.is_our_timer();
        if spent.requests == 0 && !is_time_out {
            // Nothing was done yet, so it may be begun anew.
            return Message::Fact(unanswered(self.turn, error));
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
            ..self.failed(error.class, message)
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
    ) -> Message {
        let (calls, lost) = {
            let done = context.done();
            (done.calls, done.lost.clone())
        };
        let failed_tools: Vec<FailedTool> = lost.into_iter().map(|(_, failed)| failed).collect();
        let end = match context.ledger.clone().seal(spent).await {
            Ok(tools) => TurnEnd {
                tools: Some(Box::new(tools)),
                tool_calls: Some(calls),
                ..end
            },
            Err(why) => TurnEnd {
                usage: end.usage,
                tools: Some(Box::new(unkept(spent))),
                ..self.failed(FailureClass::Unknown, why.into())
            },
        };
        Message::Worked(Box::new(TurnEnd {
            failed_tools,
            duration: Timestamp::now().since(begin),
            ..end
        }))
    }

    fn failed(&self, class: FailureClass, message: String) -> TurnEnd {
        TurnEnd::failed(self.turn, class, message)
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
    let refuses = plan
        .middleware(turn.task)
        .has(AgentMiddleware::SecurityInterceptor);
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
