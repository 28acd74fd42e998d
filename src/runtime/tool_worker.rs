//! Workers behind HTTP with tools: a model reads, writes and runs by way of this program, and every call is on record.
//! What the record holds is evidence (semantics, sections 1 and 6).
//!
//! A turn that is under way dies with its session: it is started anew, like any turn that is lost.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::mpsc;

use crate::agents::endpoint::Endpoint;
use crate::agents::model::{ModelReply, ModelRequest, ToolCall, ToolResult, ToolSpec};
use crate::agents::tool_loop::{Broken, Conversation, Limits, Spent, ToolHost, ToolRecord, converse};
use crate::agents::tools::confined::Confined;
use crate::agents::tools::messages::{self, AgentMessage};
use crate::agents::tools::{FOR_REVIEWERS, Tool, Toolbox, brief, run};
use crate::agents::transport::Line;
use crate::domain::{Digest, FailureClass, Millis, Timestamp, TurnId};
use crate::engine::{Asked, Exit, Fact, FailedTool, State, ToolCalls, TurnEnd};
use crate::executor::command::{CommandEnd, CommandJob, How};
use crate::executor::error::WorkError;
use crate::executor::runner::{Commands, Owner};
use crate::executor::spool::{read_ends, read_head};
use crate::executor::task_command::TaskCommands;
use crate::executor::workspace::make_folder;
use crate::judging::question::may_be_question;
use crate::mission::model::{ToolKind, ToolPolicy, Tools};
use crate::mission::{Plan, SubTask};
use crate::review::fence::Excerpt;
use crate::review::snapshot::Guarded;
use crate::store::{RunFolder, SpoolName};
use crate::supervisor;

use super::agent_messages::{handed_down, question};
use super::calls::{failed, usage_of};
use super::effects::{Executor, Message, jitter, not_reachable};
use super::middleware::{self, Heard};
use super::permission::Permission;
use super::protection::{Protection, protected_scopes};
use super::reply;
use super::reviewer_tools::usage_until;
use super::tool_ledger::{ToolLedger, unkept};

/// Bytes of either end of a command's output that the model is given.
const SHOWN: usize = 12 * 1024;
/// Calls of one turn that are told as its activity. Later ones are only on record.
const MOST_TOLD: u32 = 200;
/// Characters of what is told of a call.
const LONGEST_TOLD: usize = 200;
/// How long after its turn's time a command is ended. Before it, its end and the turn's would race for what becomes of it.
const AFTERWARDS: Duration = Duration::from_millis(100);
/// Calls of one turn that failed for good and go to the dead letters. All are on record.
const MOST_LETTERS: usize = 20;

/// What such a worker is told beside its task.
const HINT: &str = "\
You do the task yourself, in a workspace, with the tools that you are given; paths are relative to the workspace. Nothing \
that you only say is done: files that are to exist must be written. When you are done, reply with a short account of what \
you did, without calling a tool.";

/// A turn, with all that it needs.
struct Work {
    turn: TurnId,
    line: Line,
    endpoint: Endpoint,
    request: ModelRequest,
    task: TaskCommands,
    protection: Arc<Protection>,
    /// The call that a person has allowed, once.
    allowed: Option<Digest>,
    commands: Commands,
    sender: mpsc::UnboundedSender<Message>,
}

impl Executor {
    /// A worker that uses tools: a conversation is its whole turn.
    pub(super) fn work_with_tools(&mut self, state: &State, turn: TurnId, line: Line, endpoint: Endpoint) {
        self.remember(state, turn);
        let agent = state.plan.agent(state.plan.task(turn.task).agent);
        let dialog = state.task(turn.task).dialog.as_deref();
        let work = Work {
            turn,
            line,
            endpoint,
            request: ModelRequest {
                system: Some(HINT.to_owned()),
                ..ModelRequest::to(&agent.spec, "", state.plan.task(turn.task).turn_timeout)
            },
            task: self.task_commands(&state.plan, turn.task, turn.attempt),
            protection: self.protection.clone(),
            allowed: dialog.and_then(|dialog| dialog.allowed),
            commands: self.commands.clone(),
            sender: self.sender.clone(),
        };
        let work = tokio::spawn(work.go());
        self.model_turns.insert(turn, work.abort_handle());
        self.model_turns.retain(|_, work| !work.is_finished());
    }

    /// A turn behind HTTP ended. What it did to files is looked at, where that was noted before.
    pub(super) fn worked(&mut self, plan: &Arc<Plan>, mut end: Box<TurnEnd>) {
        self.model_turns.remove(&end.turn);
        let after = self.after(end.turn);
        let (plan, folder) = (plan.clone(), self.folder.clone());
        self.blocking(move || {
            end.files = after.seen(&plan, &folder, end.turn.task);
            vec![Fact::TurnEnded(end)]
        });
    }
}

impl Work {
    async fn go(mut self) {
        let (turn, sender) = (self.turn, self.sender.clone());
        // After the loop has ended it is of no use.
        let _ = sender.send(Message::Fact(Fact::TurnSpawned { turn, process: None }));
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
                match talk.await {
                    Ok(conversation) => self.ended(context, conversation, begin).await,
                    Err(broken) => self.broke_off(context, broken, begin).await,
                }
            }
        };
        let _ = sender.send(message);
    }

    async fn prepare(&mut self) -> Result<ToolContext, WorkError> {
        let prompt = self.task.folder.spool_file(&SpoolName::Prompt(self.turn));
        let (plan, folder, turn) = (self.task.plan.clone(), self.task.folder.clone(), self.turn);
        let (protection, cwd) = (self.protection.clone(), self.task.workspace());
        let prepared = tokio::task::spawn_blocking(move || {
            make_folder(&cwd, &plan.rules.workspace)?;
            let prompt = read_head(&prompt, u64::MAX).map_err(WorkError::lost("cannot read the prompt"))?;
            let toolbox = toolbox(&plan, &folder, &protection, (turn, &cwd))?;
            Ok::<_, WorkError>((prompt, toolbox))
        });
        let (prompt, toolbox) = prepared.await??;
        self.request.prompt = prompt;
        Ok(ToolContext {
            turn,
            tools: tools_of(&self.task.plan, turn),
            toolbox: Arc::new(toolbox),
            ledger: ToolLedger::new(
                self.task.folder.spool_file(&SpoolName::TurnTools(turn)),
                self.task.secrets.clone(),
            ),
            end: Instant::now() + self.request.timeout + AFTERWARDS,
            task: self.task.clone(),
            commands: self.commands.clone(),
            sender: self.sender.clone(),
            done: Mutex::new(Done {
                permission: Permission::of(self.allowed),
                ..Done::default()
            }),
        })
    }

    async fn ended(&self, context: ToolContext, conversation: Conversation, begin: Timestamp) -> Message {
        let Conversation {
            reply,
            spent,
            used_up,
            ..
        } = conversation;
        if reply.is_cut_short() {
            let cut = format!(
                "turn {}: the model's reply ran into its token limit and is cut short",
                self.turn
            );
            let _ = self.sender.send(Message::Fact(Fact::Warn(cut)));
        }
        let said = context.done().clone();
        let usage = usage_of(&reply);
        let text = said.result.as_ref().unwrap_or(&reply.text);
        let text = self.task.secrets.redact(text);
        let did_nothing =
            said.calls.calls == 0 && said.questions.is_empty() && said.permission.wish().is_none();
        let exit = if used_up {
            // It wanted to go on, so it is not done, whatever it says.
            failed(FailureClass::Unknown, stopped(Limits::WORKER))
        } else if text.trim().is_empty() && did_nothing {
            // Saying nothing and doing nothing is not doing the work, whatever the provider's status was.
            failed(
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
            Some(_) => Heard::default(),
        };
        if let Some(warning) = heard.warning {
            let _ = self.sender.send(Message::Fact(Fact::Warn(warning)));
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

    /// The sub-tasks that it hands down; whoever watches is told of those that cannot be read.
    fn delegated(&self, items: Vec<Value>) -> Vec<SubTask> {
        let plan = &self.task.plan;
        let (sub_tasks, refused) = handed_down(plan, self.turn.task, &Value::Array(items));
        for why in refused {
            let title = &plan.task(self.turn.task).title;
            let warning = Fact::Warn(format!("'{title}' wants to delegate work: {why}"));
            let _ = self.sender.send(Message::Fact(warning));
        }
        sub_tasks
    }

    fn asked(&self, said: &Done, text: &str) -> Option<Asked> {
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
            return Message::Fact(Fact::TurnRequestFailed {
                turn: self.turn,
                class: error.class,
                before_effect: error.status.is_none() && !error.ours,
                message: error.message,
                retry_after: error.retry_after,
                jitter: jitter(),
            });
        }
        let message = match is_time_out {
            true => format!("not done within {}", Millis::from(self.request.timeout)),
            false => error.message.clone(),
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

    /// Its record is made durable; without it what it did is not known.
    async fn end(&self, context: ToolContext, end: TurnEnd, spent: &Spent, begin: Timestamp) -> Message {
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
        TurnEnd {
            exit: failed(class, message),
            ..TurnEnd::clean(self.turn)
        }
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

fn tools_of(plan: &Plan, turn: TurnId) -> Tools {
    let agent = plan.agent(plan.task(turn.task).agent);
    agent.spec.tools.unwrap_or_default()
}

/// The tools that touch files. Protected ones are refused beforehand; what a command does to them is seen afterwards.
fn toolbox(
    plan: &Plan,
    folder: &RunFolder,
    protection: &Protection,
    (turn, cwd): (TurnId, &Path),
) -> Result<Toolbox, WorkError> {
    let tools = tools_of(plan, turn);
    let mut kinds = Vec::new();
    let looks = tools.offers(ToolKind::Read).then_some(FOR_REVIEWERS);
    kinds.extend(looks.into_iter().flatten());
    kinds.extend(tools.offers(ToolKind::Write).then_some(Tool::Write));
    let guarded = Guarded::of(&protected_scopes(plan, turn.task))?;
    let by_default = protection.guards(plan, turn.task);
    let confined = Confined::open(cwd).map_err(WorkError::file("look into", cwd))?;
    let confined = confined.hiding(folder.state_folder().path());
    let confined = confined.guarding(move |path| guarded.holds(path) || by_default(path));
    Ok(Toolbox::new(confined, &kinds))
}

/// What a model works with.
struct ToolContext {
    turn: TurnId,
    tools: Tools,
    toolbox: Arc<Toolbox>,
    ledger: Arc<ToolLedger>,
    /// When a command ends at the latest: then the turn's time is up.
    end: Instant,
    task: TaskCommands,
    commands: Commands,
    sender: mpsc::UnboundedSender<Message>,
    done: Mutex<Done>,
}

/// What it has done and said.
#[derive(Debug, Clone, Default)]
struct Done {
    /// Calls that were made; what was refused did nothing.
    calls: ToolCalls,
    commands: u32,
    told: u32,
    questions: Vec<String>,
    /// A person's word about calls.
    permission: Permission,
    delegated: Vec<Value>,
    result: Option<String>,
    /// What its last message says beside the work.
    heard: Heard,
    /// Calls that came to nothing for a reason that may pass, by their digest. One that is made again and goes well is none.
    lost: Vec<(Digest, FailedTool)>,
}

impl ToolHost for ToolContext {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs();
        specs.extend(self.tools.offers(ToolKind::Run).then(run::spec));
        specs.extend(messages::specs());
        specs
    }

    /// `sanitize_message`: what tools gave back has no control characters and no secrets.
    fn before_model(&self, calls: &mut [(ToolCall, ToolResult)]) {
        for (_, result) in calls {
            let mut text = self.task.secrets.redact(&result.text);
            middleware::sanitize(&mut text);
            result.text = text;
        }
    }

    /// `assumption_violation`, `semantic_drift` and what goes to a delegator: of what the model says only its last message counts.
    fn after_model(&self, reply: &ModelReply, is_last: bool) {
        if !is_last {
            return;
        }
        let mut done = self.done();
        let text = self
            .task
            .secrets
            .redact(done.result.as_ref().unwrap_or(&reply.text));
        let said = middleware::LastWords::Message(&text);
        done.heard = middleware::after(&self.task.plan, self.turn.task, &Exit::default(), said);
    }

    async fn perform(&self, call: &ToolCall) -> ToolResult {
        let mut clean = call.clone();
        // Its words go to others and on record.
        self.task.secrets.redact_value(&mut clean.arguments);
        if let Some(message) = messages::message_of(&clean) {
            return message.map_or_else(ToolResult::refused, |message| self.take_message(message));
        }
        self.note_activity(told_of(call));
        let is_run = call.name == run::RUN && self.tools.offers(ToolKind::Run);
        let result = if let Some(refused) = self.must_ask(call) {
            refused
        } else if is_run {
            self.run(call).await
        } else {
            self.touch(call).await
        };
        self.note_failure(call, &result);
        if !result.failed {
            let mut done = self.done();
            done.calls.calls += 1;
            // What a command did to files is unknown, and unknown is not nothing.
            done.calls.writes += u32::from(is_run || call.name == "write");
        }
        result
    }

    async fn note(&self, record: ToolRecord) {
        self.ledger.note(record).await;
    }

    fn has_form(&self, _: &str) -> bool {
        true
    }

    async fn set_aside(&self, reply: &str) {
        self.ledger.set_aside(reply).await;
    }
}

/// A call in a few words.
fn told_of(call: &ToolCall) -> String {
    let arguments = &call.arguments;
    let what = match (&arguments["argv"], &arguments["shell"], &arguments["path"]) {
        (Value::Array(argv), ..) => argv
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" "),
        (_, Value::String(text), _) | (_, _, Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    format!("{} {what}", call.name)
}

impl ToolContext {
    fn done(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever watches what goes on.
    fn note_activity(&self, text: String) {
        let mut done = self.done();
        if done.told >= MOST_TOLD {
            return;
        }
        done.told += 1;
        let text = self.task.secrets.redact(&text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = text.chars().take(LONGEST_TOLD).collect();
        let turn = self.turn;
        // After the loop has ended it is of no use.
        let _ = self.sender.send(Message::Fact(Fact::Activity { turn, text }));
    }

    /// Keeps a call that came to nothing for a reason that may pass, until the same call goes well.
    fn note_failure(&self, call: &ToolCall, result: &ToolResult) {
        let made = Digest::of(format!("{} {}", call.name, call.arguments).as_bytes());
        let mut done = self.done();
        done.lost.retain(|(earlier, _)| *earlier != made);
        let Some(class) = result.class.filter(|class| class.request_retried()) else {
            return;
        };
        if done.lost.len() >= MOST_LETTERS {
            return;
        }
        let mut arguments = brief(&call.arguments);
        self.task.secrets.redact_value(&mut arguments);
        let error = result.why.as_deref().unwrap_or_default();
        let failed = FailedTool {
            tool: call.name.as_str().into(),
            arguments,
            class,
            error: self.task.secrets.redact(error),
        };
        done.lost.push((made, failed));
    }

    /// Why a call is not made that a person has to allow first. A yes is for one call.
    fn must_ask(&self, call: &ToolCall) -> Option<ToolResult> {
        let kind = match call.name.as_str() {
            run::RUN => ToolKind::Run,
            "write" => ToolKind::Write,
            _ => ToolKind::Read,
        };
        if self.tools.policy(kind) != ToolPolicy::Ask {
            return None;
        }
        // Nobody is asked about what cannot be done.
        let checked = match kind {
            ToolKind::Run => run::command_of(call).map(drop),
            _ => self.toolbox.check(call),
        };
        if let Err(why) = checked {
            return Some(ToolResult::refused(why));
        }
        let mut done = self.done();
        let asks = !done.questions.is_empty();
        done.permission.use_for(call, asks).err().map(ToolResult::refused)
    }

    fn take_message(&self, message: AgentMessage) -> ToolResult {
        match message {
            AgentMessage::Progress(text) => {
                self.note_activity(text);
                ToolResult::given("noted")
            }
            AgentMessage::Ask(question) if question.trim().is_empty() => {
                ToolResult::refused("the question is empty")
            }
            AgentMessage::Ask(_) if self.done().permission.wish().is_some() => ToolResult::refused(
                "a person is asked about your call first; end your turn now, and ask in the next one",
            ),
            AgentMessage::Ask(question) => {
                self.done().questions.push(question);
                ToolResult::given(
                    "Your question is taken. End your turn now; the answer comes with the next one.",
                )
            }
            AgentMessage::Delegate(sub_task) => {
                match handed_down(&self.task.plan, self.turn.task, &sub_task).1.first() {
                    Some(why) => ToolResult::refused(why.clone()),
                    None => {
                        let mut done = self.done();
                        done.delegated.push(sub_task);
                        // Whoever has others work has not done nothing.
                        done.calls.calls += 1;
                        ToolResult::given("It will be done once your task has ended well.")
                    }
                }
            }
            AgentMessage::Result(text) => {
                self.done().result = Some(text);
                ToolResult::given("taken as your answer")
            }
        }
    }

    /// Uses a tool that touches files, on a thread that may wait for the disk.
    async fn touch(&self, call: &ToolCall) -> ToolResult {
        let (toolbox, call) = (self.toolbox.clone(), call.clone());
        tokio::task::spawn_blocking(move || toolbox.call(&call))
            .await
            .unwrap_or_else(|_| ToolResult::refused("the tool broke off"))
    }

    /// Runs a command by the supervisor, like every child: a group of its own, a clean environment, a time-out.
    async fn run(&self, call: &ToolCall) -> ToolResult {
        let wanted = match run::command_of(call) {
            Ok(wanted) => wanted,
            Err(why) => return ToolResult::refused(why),
        };
        let number = {
            let mut done = self.done();
            done.commands += 1;
            done.commands
        };
        let output = SpoolName::TurnRun(self.turn, number);
        let left = Millis::from(self.end.saturating_duration_since(Instant::now()));
        let turn = ("QUORUM_TURN".to_owned(), self.turn.turn.to_string());
        let timeout = wanted.timeout.min(left);
        let mut job = CommandJob {
            label: format!("{}.run.{number}", self.turn),
            ..self.task.plain("", Vec::new(), vec![turn], &output, timeout)
        };
        job.argv = match resolved(wanted.argv, &job.env, &job.cwd) {
            Ok(argv) => argv,
            Err(why) => return ToolResult::refused(why),
        };
        let end = self.commands.run(Owner::Tool(self.turn), job).await;
        let output = self.task.file(&output);
        let read = tokio::task::spawn_blocking(move || read_ends(&output, SHOWN)).await;
        let read = read.map_err(std::io::Error::other).and_then(|read| read);
        told_end(&end, timeout, read)
    }
}

fn resolved(mut argv: Vec<String>, env: &[(String, String)], cwd: &Path) -> Result<Vec<String>, WorkError> {
    let path = env.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or("", |(_, value)| value.as_str());
    let program = argv.first_mut().ok_or("there is no program")?;
    let found = supervisor::resolve(program, path, cwd)
        .map_err(|error| format!("'{program}' cannot be run: {error}"))?;
    *program = found.to_string_lossy().into_owned();
    Ok(argv)
}

/// What a model is told of a command that ended.
fn told_end(end: &CommandEnd, timeout: Millis, output: std::io::Result<Excerpt>) -> ToolResult {
    let how = match end.how() {
        How::NotStarted(why) => return ToolResult::refused(format!("it could not be started: {why}")),
        How::TimedOut => format!("killed after its time-out of {timeout}"),
        How::Exited(code) => format!("exit {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
    };
    let text = match (end.lost(), output) {
        (Some(why), _) => format!("[its output is lost: {why}]"),
        (None, Err(error)) => format!("[its output cannot be read: {error}]"),
        (None, Ok(output)) if output.missing > 0 => format!(
            "{}\n[… {} characters cut here …]\n{}",
            output.head, output.missing, output.tail
        ),
        (None, Ok(output)) => output.head,
    };
    let exit = &end.exit;
    ToolResult {
        exit: exit.code.filter(|_| !exit.timed_out),
        class: exit.timed_out.then_some(FailureClass::Timeout),
        why: exit.timed_out.then(|| how.clone()),
        ..ToolResult::given(format!("{how}\n{text}"))
    }
}
