//! Reviewers that look for themselves: models behind HTTP get tools over the workspace of a file task, which only read
//! (semantics, section 7).
//!
//! What a tool gives is the worker's doing, like everything else that is judged: it reaches the model inside a fence, and
//! a verdict that stands in it is not the reviewer's. Every call is on record.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::agents::endpoint::Endpoint;
use crate::agents::model::{self, ModelError, ModelReply, ModelRequest, ToolCall, ToolResult, ToolSpec};
use crate::agents::secrets::Secrets;
use crate::agents::tool_loop::{
    Broken, Conversation, ConversationUsage, Limits, ToolHost, ToolRecord, converse,
};
use crate::agents::tools::confined::Confined;
use crate::agents::tools::{FOR_REVIEWERS, Toolbox};
use crate::agents::transport::Transport;
use crate::executor::error::WorkError;
use crate::executor::spool;
use crate::executor::task_command::TaskCommands;
use crate::executor::workspace::make_folder;
use crate::review::fence::{collect_quotes, fence};
use crate::review::judgement::{Content, Judgement};
use crate::review::prompt::TOOLS_HINT;
use crate::store::AskFile;
use rules::domain::{AgentId, FailureClass, TaskId};
use rules::engine::{ToolLedgerRef, Usage, Used};
use rules::judging::parser::Quoted;
use rules::plan::Plan;

use super::agent_backends::AgentsWithoutTools;
use super::context::{AskOrder, blocking};
use super::model_turn::usage_of;
use super::review_context::{Judged, is_about_files};
use super::tool_ledger::{ToolLedger, unkept};

/// Whether a reply has the form that was asked for, given what the work says.
type HasForm = Box<dyn Fn(&str, &Quoted) -> bool + Send + Sync>;

/// A question to a model that judges.
pub struct ToolQuestion<'a> {
    pub line: &'a Transport,
    pub endpoint: &'a Endpoint,
    pub request: ModelRequest,
    /// Where what it is asked is kept.
    pub request_file: PathBuf,
}

/// The tools that a judge may look with.
pub struct ToolSession {
    agent: AgentId,
    name: String,
    toolbox: Arc<Toolbox>,
    ledger: Arc<ToolLedger>,
    said: Arc<Mutex<Quoted>>,
    has_form: HasForm,
    without_tools: AgentsWithoutTools,
    secrets: Arc<Secrets>,
    /// Where the judged tasks worked, if they worked apart.
    apart: Option<String>,
}

/// The result of a question.
pub struct JudgeAnswer {
    pub reply: Result<ModelReply, ModelError>,
    /// The last request that was made.
    request: ModelRequest,
    /// The tool calls of the judge; `None` where it had no tools.
    pub tools: Option<ToolLedgerRef>,
    /// The usage until the conversation broke off; `None` where it did not.
    pub used: Option<Box<Used>>,
    /// The warning for a person.
    pub warning: Option<String>,
    /// The words of the work that the judge saw with its tools, beside those in its prompt.
    saw: Option<Quoted>,
}

/// Where judged tasks worked; of several that worked apart, the mission's, and what a judge must know of that.
fn workspace(plan: &Plan, by: TaskId, judged: &[Judged]) -> (PathBuf, Option<String>) {
    let folders = judged.iter().map(|(task, _)| plan.workspace_seen_by(by, *task));
    let folders: Vec<PathBuf> = folders.collect();
    match folders.first() {
        Some(first) if folders.iter().all(|folder| folder == first) => (first.clone(), None),
        _ => {
            let root = plan.root_of(by);
            let apart = (!folders.is_empty()).then(|| worked_apart(&root, &folders));
            (root, apart)
        }
    }
}

/// Files of one name may lie in the folders of several tasks: which is which must be said. Whoever named the tasks has no
/// word in it, only the mission that named the folders.
fn worked_apart(root: &Path, folders: &[PathBuf]) -> String {
    let from_root = |folder: &PathBuf| match folder.strip_prefix(root) {
        Ok(inner) if inner.as_os_str().is_empty() => "`.`".to_owned(),
        Ok(inner) => format!("`{}`", inner.display()),
        Err(_) => "one that you cannot look into".to_owned(),
    };
    let folders: Vec<String> = folders.iter().map(from_root).collect();
    format!(
        "The tasks that you judge worked in different folders of the workspace, and the files that you are shown are named \
         relative to the folder of their task. In the order of the tasks these are: {}. Your tools take paths relative to \
         the workspace.",
        folders.join(", ")
    )
}

impl ToolHost for ToolSession {
    fn specs(&self) -> Vec<ToolSpec> {
        self.toolbox.specs()
    }

    async fn perform(&self, call: &ToolCall) -> ToolResult {
        let (toolbox, said, call) = (self.toolbox.clone(), self.said.clone(), call.clone());
        let secrets = self.secrets.clone();
        let performed = blocking(move || {
            let mut result = toolbox.call(&call);
            secrets.redact_in(&mut result.text);
            let mut said = crate::locked(&said);
            collect_quotes(&mut said, &result.text);
            drop(said);
            // Why it was refused stands on record as it is.
            ToolResult { text: fence(&label(&call), &result.text, usize::MAX), ..result }
        });
        performed.await.unwrap_or_else(|_| ToolResult::refused("the tool broke off"))
    }

    async fn note(&self, record: ToolRecord) {
        self.ledger.note(record).await;
    }

    fn has_form(&self, reply: &str) -> bool {
        (self.has_form)(reply, &crate::locked(&self.said))
    }

    async fn set_aside(&self, reply: &str) {
        self.ledger.set_aside(reply).await;
    }
}

/// The label of a result's fence.
fn label(call: &ToolCall) -> String {
    let path = call.arguments["path"].as_str().unwrap_or(".");
    format!("{} {path}", call.name)
}

impl ToolSession {
    /// The tools for a judge; `None` where it judges by what it is shown. Where what is asked `is_on_record`, or is to be, it is
    /// offered tools whatever this session has learned of its provider, so that the same is asked every time. Blocks.
    ///
    /// # Errors
    /// When the workspace cannot be opened.
    pub fn open(
        order: &AskOrder,
        (without_tools, is_on_record): (&AgentsWithoutTools, bool),
        said: Quoted,
        has_form: HasForm,
    ) -> Result<Option<Self>, WorkError> {
        let (agent, by) = (order.agent, order.id.task);
        let TaskCommands { plan, folder: run, secrets, .. } = &order.commands;
        let own = [(by, order.task.clone())];
        let judged = match &order.judged[..] {
            [] => &own,
            judged => judged,
        };
        let lacks_tools = !is_on_record && crate::locked(without_tools).contains(&agent);
        let mut about = judged.iter();
        let is_about_files = about.any(|(task, state)| is_about_files(plan, *task, state));
        if !plan.agent(agent).spec.may_look() || lacks_tools || !is_about_files {
            return Ok(None);
        }
        let (folder, apart) = workspace(plan, by, judged);
        make_folder(&folder, &plan.root_of(by))?;
        let confined = Confined::open(&folder).map_err(WorkError::file("look into", &folder))?;
        let confined = confined.hiding(run.state_folder().path());
        Ok(Some(Self {
            agent,
            name: plan.agent_name(agent).to_owned(),
            toolbox: Arc::new(Toolbox::new(confined, &FOR_REVIEWERS)),
            ledger: ToolLedger::new(order.path(AskFile::Tools), secrets.clone()),
            said: Arc::new(Mutex::new(said)),
            has_form,
            without_tools: without_tools.clone(),
            secrets: secrets.clone(),
            apart,
        }))
    }

    /// Remembers that its provider takes no tools. What is to be told of that, the first time.
    fn goes_without(&self, error: &ModelError) -> Option<String> {
        let mut without_tools = crate::locked(&self.without_tools);
        without_tools.insert(self.agent).then(|| {
            format!(
                "'{}' judges without tools, by what it is shown: its provider takes none ({})",
                self.name, error.message
            )
        })
    }

    /// The words of the work, with those that the tools showed.
    fn said(&self) -> Quoted {
        crate::locked(&self.said).clone()
    }
}

/// Asks a judge, with tools if it has any. A provider that takes none is asked without them, and that is told.
pub async fn ask(question: ToolQuestion<'_>, session: Option<&ToolSession>) -> JudgeAnswer {
    match session {
        None => question.plainly().await,
        Some(session) => {
            let answered = ask_with_tools(question, session).await;
            JudgeAnswer { saw: Some(session.said()), ..answered }
        }
    }
}

async fn ask_with_tools(question: ToolQuestion<'_>, session: &ToolSession) -> JudgeAnswer {
    let mut request = question.request.clone();
    let system = request.system.get_or_insert_default();
    system.push_str(if system.is_empty() { "" } else { "\n\n" });
    system.push_str(TOOLS_HINT);
    if let Some(apart) = &session.apart {
        system.push_str("\n\n");
        system.push_str(apart);
    }
    if let Err(why) = keep(&question.request_file, &request).await {
        return JudgeAnswer::failed(why, request);
    }
    let asked = converse(question.line, question.endpoint, &request, Limits::REVIEWER, session);
    match asked.await {
        Ok(Conversation { reply, spent, by_schema, .. }) => match session.ledger.clone().seal(&spent).await {
            Ok(tools) => {
                let schema = request.schema.take().filter(|_| by_schema);
                JudgeAnswer {
                    tools: Some(tools),
                    ..JudgeAnswer::of(Ok(reply), ModelRequest { schema, ..request })
                }
            }
            // What it did is not on record, so what it says rests on nothing. What it used is used all the same.
            Err(why) => JudgeAnswer {
                used: used(usage_of(&reply), unkept(&spent)),
                ..JudgeAnswer::failed(why, request)
            },
        },
        Err(Broken { error, spent }) if spent.requests == 0 && error.tools_unsupported => {
            let answered = question.plainly().await;
            // If it refuses this as well, it is not about tools.
            let warning = answered.reply.is_ok().then(|| session.goes_without(&error)).flatten();
            JudgeAnswer { warning, ..answered }
        }
        Err(broken) => broke_off(session, broken, request).await,
    }
}

async fn broke_off(session: &ToolSession, broken: Broken, request: ModelRequest) -> JudgeAnswer {
    let Broken { error, spent } = broken;
    if spent.requests == 0 {
        return JudgeAnswer::of(Err(error), request);
    }
    let usage = usage_until(&error, &spent);
    match session.ledger.clone().seal(&spent).await {
        Ok(tools) => JudgeAnswer { used: used(usage, tools), ..JudgeAnswer::of(Err(error), request) },
        Err(why) => JudgeAnswer { used: used(usage, unkept(&spent)), ..JudgeAnswer::failed(why, request) },
    }
}

fn used(usage: Usage, tools: ToolLedgerRef) -> Option<Box<Used>> {
    Some(Box::new(Used { usage, tools }))
}

/// The usage of a conversation that broke off. The usage of a request that ran out of time is unknown.
pub fn usage_until(error: &ModelError, spent: &ConversationUsage) -> Usage {
    match error.class {
        FailureClass::Timeout => Usage::default(),
        _ => Usage {
            input_tokens: spent.usage.input_tokens,
            output_tokens: spent.usage.output_tokens,
            cost: None,
        },
    }
}

impl ToolQuestion<'_> {
    /// One question, one reply.
    async fn plainly(mut self) -> JudgeAnswer {
        if let Err(why) = keep(&self.request_file, &self.request).await {
            return JudgeAnswer::failed(why, self.request);
        }
        let reply = model::complete_by_schema(self.line, self.endpoint, &mut self.request).await;
        JudgeAnswer::of(reply, self.request)
    }
}

/// The request of a judge, word for word.
fn text_of(request: &ModelRequest) -> String {
    match &request.system {
        Some(system) => format!("{system}\n\n{}", request.prompt),
        None => request.prompt.clone(),
    }
}

/// Writes down what a judge is asked.
async fn keep(path: &Path, request: &ModelRequest) -> Result<(), WorkError> {
    let text = text_of(request);
    let path = path.to_owned();
    blocking(move || spool::write(&path, text.as_bytes())).await?
}

impl JudgeAnswer {
    fn of(reply: Result<ModelReply, ModelError>, request: ModelRequest) -> Self {
        Self { reply, request, tools: None, used: None, warning: None, saw: None }
    }

    fn failed(why: WorkError, request: ModelRequest) -> Self {
        Self::of(Err(ModelError::here(why)), request)
    }

    /// The record of what its verdict rests on, with what was really asked and how it was answered.
    pub fn judgement(&self, judgement: Judgement, model: &str, reply: &ModelReply) -> Judgement {
        let judgement = Judgement {
            prompt: Content::of(&text_of(&self.request)),
            // What it saw is no word of a reviewer's either.
            work: self.saw.clone().unwrap_or(judgement.work),
            ..judgement
        };
        judgement.answered(model, &self.request, reply)
    }

    /// The usage of the reply.
    pub fn usage(&self) -> Usage {
        self.reply.as_ref().map_or_else(|_| Usage::default(), usage_of)
    }

    /// The usage of a call that gave nothing: the reply could not be kept, or there is none.
    pub fn in_vain(&self) -> Option<Box<Used>> {
        match &self.reply {
            Ok(reply) => used(usage_of(reply), self.tools.clone().unwrap_or_default()),
            Err(_) => self.used.clone(),
        }
    }
}
