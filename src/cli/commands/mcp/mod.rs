//! `quorum mcp`: an agent has missions run and reads how they end, by the Model Context Protocol on standard input and output.
//!
//! A tool is a command, done in a process of its own. The agent that has work done must not say that the work is good: no tool
//! decides what a person decides (semantics, section 5).
//!
//! | file | what |
//! |---|---|
//! | `call` | a command as a process of its own: waited for, or left to itself |
//! | `tools` | the tools that clients see, and how a call becomes the words of a command |

mod call;
mod tools;

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{anyhow, bail};
use clap::{Args, Command};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::{
    cli::{
        args::OutputArgs,
        command_error::Failure,
        event_loop::block_on,
        launch::new_run_id,
        options::refuse_loosening,
        project::{current_dir, find_run, own_state_folder, state_folder},
        screen::Screen,
    },
    store::{Lock, RunFolder},
};
use rules::domain::{Millis, RunId};

use call::{OwnProgram, Printed};
use tools::{Call, Manner, McpTool};

/// The exit codes of a session that was refused: usage, environment.
const NOT_BEGUN: [i32; 2] = [2, 9];
/// How often a session that begins is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a client is told that a call still waits. Some give a call up where they hear nothing for a minute.
const STILL_WAITING: Duration = Duration::from_secs(15);
/// The longest that a call waits for a run.
const LONGEST_WAIT: Duration = Duration::from_secs(600);
/// The most characters of a text for people.
const MOST_TEXT: usize = 20_000;

/// Serve tools for agents (MCP) on standard input and output
#[derive(Debug, Args)]
#[command(after_help = "Example: quorum mcp --task")]
pub struct Mcp {
    /// The tools of an agent within its turn: ask, delegate, progress, result, nothing-to-do
    #[arg(long)]
    pub task: bool,
}

/// Serves until the client closes standard input.
pub fn mcp(arguments: &Mcp, root: &Command, screen: &Screen) -> Result<u8, Failure> {
    if !arguments.task {
        refuse_loosening()?;
    }
    let server = McpServer {
        tools: tools::tools(root, arguments.task),
        of_turn: arguments.task,
        folder: current_dir()?,
        program: OwnProgram { state_dir: screen.output().state_dir.clone() },
        output: screen.output().clone(),
    };
    let served = block_on(async {
        match server.serve(rmcp::transport::stdio()).await {
            Ok(served) => served.waiting().await.map(drop).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    });
    match served.map_err(Failure::internal)? {
        Ok(()) => Ok(0),
        Err(why) => Err(usage!("the client did not speak the protocol: {why}")
            .help("`quorum mcp` is started by a program that speaks MCP, see `quorum help from-your-agent`")),
    }
}

/// The server of one client.
struct McpServer {
    tools: Vec<McpTool>,
    of_turn: bool,
    /// The folder that it works in.
    folder: PathBuf,
    program: OwnProgram,
    output: OutputArgs,
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let says = if self.of_turn { include_str!("turn.md") } else { include_str!("client.md") };
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("quorum", env!("CARGO_PKG_VERSION")))
            .with_instructions(says)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(&[
            ProtocolVersion::V_2026_07_28,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2025_06_18,
        ])
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.iter().map(|tool| tool.declaration.clone()).collect()))
    }

    async fn call_tool(
        &self,
        asked: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.declaration.name == asked.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool '{}'", asked.name), None));
        };
        let result = match tool.call(&asked.arguments.unwrap_or_default(), &self.folder) {
            Ok(call) => self.carry_out(tool, call, &context).await,
            Err(why) => Err(why),
        };
        Ok(result
            .unwrap_or_else(|why| CallToolResult::error(vec![ContentBlock::text(why.to_string())]))
            .into())
    }
}

impl McpServer {
    /// Does what a call asks for. An error is for the client to read.
    async fn carry_out(
        &self,
        tool: &McpTool,
        call: Call,
        context: &RequestContext<RoleServer>,
    ) -> anyhow::Result<CallToolResult> {
        let off = || context.ct.cancelled();
        let words = match tool.manner {
            Manner::Begin => self.begin(&call).await?,
            Manner::Look | Manner::Act => {
                if let Some(time) = &call.wait {
                    self.wait(call.run.as_deref(), time, context).await?;
                }
                call.words.clone()
            }
        };
        let in_json = [&words[..1], &["--json".into()], &words[1..]].concat();
        let failed = |error: io::Error| anyhow!("`quorum {}`: {error}", tool.declaration.name);
        if !tool.has_document {
            let said = self.program.done(&words, off()).await.map_err(failed)?;
            return Ok(result(&said, None, &said.out));
        }
        let said = self.program.done(&in_json, off()).await.map_err(failed)?;
        let document = serde_json::from_str(&said.out).ok();
        let mut page = String::new();
        match tool.manner {
            // What went wrong is told already.
            Manner::Act if document.as_ref().is_some_and(is_error) => {}
            Manner::Act => page.push_str(&said.out),
            Manner::Look | Manner::Begin => {
                page = self.program.done(&words, off()).await.map_err(failed)?.out
            }
        }
        if call.words[0] == "run" {
            // By which bars the work will be judged, whoever wrote the mission.
            let plan = [&["plan".into()], &call.words[1..]].concat();
            page.push_str(&self.program.done(&plan, off()).await.map_err(failed)?.out);
        }
        Ok(result(&said, document, &page))
    }

    /// Begins a session. The words of the command that tells of its run.
    async fn begin(&self, call: &Call) -> anyhow::Result<Vec<OsString>> {
        let mut words = call.words.clone();
        let run = match words[0].to_str() {
            Some("run") => self.new_run(call.run.as_deref(), &mut words),
            _ => self.known_run(call.run.as_deref()),
        };
        let run = run.map_err(|failure| anyhow!(failure.message()))?;
        let lock = run.state_folder().lock_path();
        let length = || std::fs::metadata(run.journal()).map_or(0, |journal| journal.len());
        let before = length();
        let failed = |error: io::Error| anyhow!("the session cannot be started: {error}");
        let mut session = self.program.detached(&words).map_err(failed)?;
        let process = session.process();
        loop {
            let ended = session.ended().map_err(failed)?;
            let has_grown = length() > before;
            // Another session's journal grows, too.
            let holds =
                || matches!(Lock::holder(&lock), Ok(Some(Some(holder))) if Some(holder.pid) == process);
            match ended {
                Some(printed) if printed.exit != 0 && (!has_grown || NOT_BEGUN.contains(&printed.exit)) => {
                    bail!(text_of(&printed, &printed.out));
                }
                None if !(has_grown && holds()) => tokio::time::sleep(LOOK).await,
                Some(_) | None => return Ok(["status".into(), "--".into(), run.id().as_str().into()].into()),
            }
        }
    }

    /// The run that is to begin, by the name that the client gave it or one of ours.
    fn new_run(&self, named: Option<&str>, words: &mut Vec<OsString>) -> Result<RunFolder, Failure> {
        let folder = own_state_folder(&self.output)?;
        let id = match named.map(RunId::new).transpose().map_err(|error| usage!("`runId`: {error}"))? {
            Some(id) if folder.run(&id).path().exists() => {
                return Err(usage!("there is a run '{id}' already"));
            }
            Some(id) => id,
            None => {
                let id = new_run_id(&folder)?;
                words.insert(1, format!("--run-id={id}").into());
                id
            }
        };
        words.insert(1, "--over-mcp".into());
        Ok(folder.run(&id))
    }

    fn known_run(&self, named: Option<&str>) -> Result<RunFolder, Failure> {
        let id = named.map(RunId::new).transpose().map_err(|error| usage!("`run`: {error}"))?;
        find_run(&state_folder(&self.output)?, id.as_ref())
    }

    /// Waits until a run comes to rest or the time is over, and tells the client of each event, where it wants to know.
    async fn wait(
        &self,
        run: Option<&str>,
        time: &str,
        context: &RequestContext<RoleServer>,
    ) -> anyhow::Result<()> {
        let time: Millis = time.parse().map_err(|error| anyhow!("`wait`: {error}"))?;
        let mut words: Vec<OsString> = ["events", "--follow"].map(OsString::from).into();
        words.extend(run.map(|run| format!("--run={run}").into()));
        let mut child = self.program.lines_of(&words)?;
        let told = async {
            let Some(out) = child.stdout.take() else { return };
            let mut lines = BufReader::new(out).lines();
            let mut count = 0.0;
            loop {
                let line = match tokio::time::timeout(STILL_WAITING, lines.next_line()).await {
                    Ok(Ok(Some(line))) => line,
                    Ok(_) => return,
                    Err(_) => "the run goes on".to_owned(),
                };
                count += 1.0;
                self.report_progress(line, count, context).await;
            }
        };
        tokio::select! {
            () = told => {}
            () = tokio::time::sleep(time.as_duration().min(LONGEST_WAIT)) => {}
            () = context.ct.cancelled() => {}
        }
        Ok(())
    }

    /// Tells the client what happened, where it asked for that.
    async fn report_progress(&self, line: String, count: f64, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let progress = ProgressNotificationParam::new(token, count).with_message(line);
        // A client that is gone is noticed where its next request is read.
        let _ = context.peer.notify_progress(progress).await;
    }
}

/// The result of a call: the document, where there is one, and a text. What did not exit with 0 is an error, whatever it printed.
fn result(printed: &Printed, document: Option<Value>, page: &str) -> CallToolResult {
    let content = vec![ContentBlock::text(text_of(printed, page))];
    let mut result =
        if printed.exit == 0 { CallToolResult::success(content) } else { CallToolResult::error(content) };
    result.structured_content = document.filter(|document| !is_error(document));
    result
}

/// Whether a document tells of an error alone.
fn is_error(document: &Value) -> bool {
    document["schema"] == "quorum.error/v1"
}

/// The text of a result: how the command ended, where not well, what it complained about, and its page.
fn text_of(printed: &Printed, page: &str) -> String {
    let exit = match printed.exit {
        0 => String::new(),
        code => format!("exit code {code}\n"),
    };
    let text = [exit.as_str(), &printed.error, page].concat();
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => format!("{}\n… (cut)", &text[..end]),
        None => text,
    }
}
