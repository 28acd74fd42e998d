//! What a model with tools works with: each call is checked, carried out, put on record and told.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use serde_json::Value;

use super::permission::Permission;
use crate::agents::command_line::path_variable;
use crate::agents::model::{ModelReply, ToolCall, ToolResult, ToolSpec};
use crate::agents::tool_loop::{ToolHost, ToolRecord};
use crate::agents::tools::messages::{self, AgentMessage};
use crate::agents::tools::{ToolError, Toolbox, brief, run};
use crate::executor::command::{CommandEnd, How};
use crate::executor::error::WorkError;
use crate::executor::runner::CommandOwner;
use crate::executor::spool::read_ends;
use crate::executor::task_command::{CommandWork, TaskCommands};
use crate::review::fence::TextExcerpt;
use crate::runtime::work::{
    context::WorkContext,
    delegated_gate::handed_down,
    middleware::{self, LastMessage},
    tool_ledger::ToolLedger,
};
use crate::store::SpoolName;
use rules::domain::{Digest, FailureClass, Millis, TurnId};
use rules::engine::{Exit, Fact, FailedTool, ToolCalls, TurnUpdate};
use rules::mission::model::{AgentMiddleware, ToolKind, ToolPolicy, Tools};

/// Bytes of either end of a command's output that the model is given.
const SHOWN: usize = 12 * 1024;
/// Calls of one turn that are told as its activity. Later ones are only on record.
const MOST_TOLD: u32 = 200;
/// Characters of what is told of a call.
const LONGEST_TOLD: usize = 200;
/// Calls of one turn that failed for good and go to the dead letters. All are on record.
const MOST_LETTERS: usize = 20;

/// The things that a model works with in one turn.
pub struct ToolContext {
    pub turn: TurnId,
    pub tools: Tools,
    pub toolbox: Arc<Toolbox>,
    pub ledger: Arc<ToolLedger>,
    /// When a command ends at the latest: then the turn's time is up.
    pub end: Instant,
    pub task: TaskCommands,
    pub context: WorkContext,
    pub done: Mutex<ModelProgress>,
}

/// The deeds and words of the model so far.
#[derive(Debug, Clone, Default)]
pub struct ModelProgress {
    /// Calls that were made; what was refused did nothing.
    pub calls: ToolCalls,
    commands: u32,
    told: u32,
    pub questions: Vec<String>,
    /// A person's word about calls.
    pub permission: Permission,
    pub delegated: Vec<Value>,
    pub result: Option<String>,
    /// The messages in the last words of the turn, beside the work.
    pub heard: LastMessage,
    /// Calls that came to nothing for a reason that may pass, by their digest. One that is made again and goes well is none.
    pub lost: Vec<(Digest, FailedTool)>,
}

impl ModelProgress {
    /// Nothing yet, in a turn for which a person has allowed this call, if any.
    pub fn of(allowed: Option<Digest>) -> Self {
        Self { permission: Permission::of(allowed), ..Self::default() }
    }
}

impl ToolHost for ToolContext {
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs = self.toolbox.specs();
        specs.extend(self.tools.offers(ToolKind::Run).then(run::spec));
        specs.extend(messages::specs());
        specs
    }

    /// Takes secrets, and by `sanitize_message` control characters, out of what tools gave back.
    fn before_model(&self, calls: &mut [(ToolCall, ToolResult)]) {
        for (_, result) in calls {
            let mut text = self.task.secrets.redact(&result.text);
            middleware::sanitize(&self.task.plan, self.turn.task, &mut text);
            result.text = text;
        }
    }

    /// `assumption_violation`, `semantic_drift` and what goes to a delegator: of what the model says only its last message counts.
    fn after_model(&self, reply: &ModelReply, is_last: bool) {
        if !is_last {
            return;
        }
        let mut done = self.done();
        let text = self.task.secrets.redact(done.result.as_ref().unwrap_or(&reply.text));
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
        self.note_activity(in_words(call));
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

    async fn set_aside(&self, reply: &str) {
        self.ledger.set_aside(reply).await;
    }
}

/// A call in a few words.
fn in_words(call: &ToolCall) -> String {
    let arguments = &call.arguments;
    let what = match (&arguments["argv"], &arguments["shell"], &arguments["path"]) {
        (Value::Array(argv), ..) => argv.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        (_, Value::String(text), _) | (_, _, Value::String(text)) => text.clone(),
        _ => String::new(),
    };
    format!("{} {what}", call.name)
}

impl ToolContext {
    pub fn done(&self) -> MutexGuard<'_, ModelProgress> {
        crate::locked(&self.done)
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
        let activity = TurnUpdate::Activity { summary: text };
        self.context.post(Fact::TurnProgress(turn, activity));
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

    fn command_of(&self, call: &ToolCall) -> Result<run::ToolCommand, ToolError> {
        let chain = self.task.plan.middleware(self.turn.task);
        let wanted = run::command_of(call)?;
        if chain.has(AgentMiddleware::SecurityInterceptor) { wanted.unless_destructive() } else { Ok(wanted) }
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
            ToolKind::Run => self.command_of(call).map(drop),
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
        let wanted = match self.command_of(call) {
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
        let timeout = wanted.timeout.min(left);
        let job = resolved(wanted.argv, &self.task.workspace())
            .and_then(|argv| self.task.job(CommandWork::Tool(self.turn, number, argv, timeout)));
        let job = match job {
            Ok(job) => job,
            Err(why) => return ToolResult::refused(why),
        };
        let end = self.context.commands.run(CommandOwner::Tool(self.turn), job).await;
        let output = self.task.file(&output);
        let read = tokio::task::spawn_blocking(move || read_ends(&output, SHOWN)).await;
        let read = read.map_err(std::io::Error::other).and_then(|read| read);
        result_of(&end, timeout, read)
    }
}

fn resolved(mut argv: Vec<String>, cwd: &Path) -> Result<Vec<String>, WorkError> {
    let program = argv.first_mut().ok_or("there is no program")?;
    let found = supervisor::resolve(program, &path_variable(), cwd)
        .map_err(|error| format!("'{program}' cannot be run: {error}"))?;
    *program = found.to_string_lossy().into_owned();
    Ok(argv)
}

/// The result of a command that ended, for the model.
fn result_of(end: &CommandEnd, timeout: Millis, output: std::io::Result<TextExcerpt>) -> ToolResult {
    let how = match end.how() {
        How::NotStarted(why) => return ToolResult::refused(format!("it could not be started: {why}")),
        How::TimedOut => format!("killed after its time-out of {timeout}"),
        How::Exited(code) => format!("exit {code}"),
        How::Killed(signal) => format!("killed by signal {signal}"),
    };
    let text = match (end.lost(), output) {
        (Some(why), _) => format!("[its output is lost: {why}]"),
        (None, Err(error)) => format!("[its output cannot be read: {error}]"),
        (None, Ok(output)) if output.missing > 0 => {
            format!("{}\n[… {} characters cut here …]\n{}", output.head, output.missing, output.tail)
        }
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
