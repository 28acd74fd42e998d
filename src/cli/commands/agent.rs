//! `quorum agent ask`, `delegate`, `progress` and `result`: what an agent says to its run while it works on a task.
//!
//! A message is a file in the folder of the agent's own turn; the run reads it. Nothing here reaches any other turn.

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::{
    cli::{command_error::Failure, screen::Screen},
    report::documents::commands::RecordedDocument,
};
use rules::{
    domain::{Money, Timestamp, without_mark},
    plan::read_delegations,
};
use supervisor::files::write_new;

/// The largest message, in bytes.
const LARGEST_MESSAGE: usize = 64 * 1024;
/// The largest result file, in bytes.
const LARGEST_RESULT: usize = 1024 * 1024;

#[derive(Debug, Args)]
pub struct AgentArgs {
    #[command(subcommand)]
    pub command: AgentCommand,
}

/// The commands of agents. They are also taken without `agent`, under the names that agents were told first.
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// Ask something about the task; the answer comes in the next turn
    #[command(after_help = "Example: quorum agent ask 'Which of the two databases is meant?'")]
    Ask(MessageArgs),
    /// Delegate a subtask, which is made once the task ends clean
    #[command(after_help = "Example: quorum agent delegate 'Write the tests' 'For the parser.' --to tester")]
    Delegate(Delegate),
    /// Say how far the work is
    #[command(after_help = "Example: quorum agent progress '3 of 5 files done'")]
    Progress(MessageArgs),
    /// Write the result file of the turn
    #[command(after_help = "Example: quorum agent result 'All five files are written.' --output-tokens 5000")]
    Result(AgentResult),
}

/// The names of what agents can say.
pub fn names() -> impl Iterator<Item = String> {
    let commands = AgentCommand::augment_subcommands(clap::Command::new("agent"));
    let names: Vec<String> =
        commands.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    names.into_iter()
}

/// Does what an agent says.
pub fn agent(command: &AgentCommand, screen: &Screen) -> Result<u8, Failure> {
    match command {
        AgentCommand::Ask(message) => ask(message, screen),
        AgentCommand::Delegate(arguments) => delegate(arguments, screen),
        AgentCommand::Progress(message) => progress(message, screen),
        AgentCommand::Result(arguments) => result(arguments, screen),
    }
}

#[derive(Debug, Args)]
pub struct MessageArgs {
    /// What to say; `-` reads standard input
    #[arg(value_name = "TEXT")]
    pub text: String,
}

#[derive(Debug, Args)]
pub struct AgentResult {
    /// The output of the task; `-` reads standard input
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// Why there was nothing to do
    #[arg(long, value_name = "REASON")]
    pub nothing_to_do: Option<String>,
    /// Tokens read
    #[arg(long, value_name = "N")]
    pub input_tokens: Option<u64>,
    /// Tokens written
    #[arg(long, value_name = "N")]
    pub output_tokens: Option<u64>,
    /// What that cost
    #[arg(long, value_name = "AMOUNT")]
    pub cost: Option<Money>,
}

/// Records a question. The answer comes in the next turn.
fn ask(message: &MessageArgs, screen: &Screen) -> Result<u8, Failure> {
    let folder = turn_folder()?;
    let text = read(&message.text, LARGEST_MESSAGE)?;
    place(&folder.join(message_name("ask")), text.as_bytes())?;
    said(
        screen,
        "quorum.ask/v1",
        "your question is recorded; end your turn now without doing more: the answer comes in your next turn\n",
    );
    Ok(0)
}

#[derive(Debug, Args)]
pub struct Delegate {
    /// The title of the sub-task; `-` reads sub-tasks as JSON from standard input
    #[arg(value_name = "TITLE")]
    pub title: String,
    /// What is to be done
    #[arg(value_name = "DESCRIPTION")]
    pub description: Option<String>,
    /// The agent that is to do it
    #[arg(long, value_name = "AGENT")]
    pub to: Option<String>,
}

/// Delegates work: the sub-task is made once the task ends clean.
fn delegate(arguments: &Delegate, screen: &Screen) -> Result<u8, Failure> {
    let folder = turn_folder()?;
    let wanted = if arguments.title == "-" {
        let text = read("-", LARGEST_MESSAGE)?;
        serde_json::from_str(without_mark(&text))
            .map_err(|error| usage!("standard input is not valid JSON: {error}"))?
    } else {
        json!({"title": arguments.title, "description": arguments.description, "assignTo": arguments.to})
    };
    let (sub_tasks, refused) = read_delegations(&wanted);
    if let Some(why) = refused.first() {
        return Err(usage!("{why}"));
    }
    if sub_tasks.is_empty() {
        return Err(usage!("there is no sub-task in it"));
    }
    let text = wanted.to_string();
    if text.len() > LARGEST_MESSAGE {
        return Err(too_large(LARGEST_MESSAGE));
    }
    place(&folder.join(message_name("delegate")), text.as_bytes())?;
    said(screen, "quorum.delegate/v1", "");
    Ok(0)
}

/// Says how far the work is.
fn progress(message: &MessageArgs, screen: &Screen) -> Result<u8, Failure> {
    let folder = turn_folder()?;
    let text = read(&message.text, LARGEST_MESSAGE)?;
    // The last word replaces the one before, whoever wrote it.
    place(&folder.join("progress"), text.as_bytes())?;
    said(screen, "quorum.progress/v1", "");
    Ok(0)
}

/// Writes the result file of the turn; what it holds already and is not said anew stays.
fn result(arguments: &AgentResult, screen: &Screen) -> Result<u8, Failure> {
    let path = PathBuf::from(variable("QUORUM_RESULT_FILE")?);
    let mut object = existing(&path)?;
    if let Some(text) = &arguments.text {
        object.insert("output".to_owned(), read(text, LARGEST_RESULT)?.into());
    }
    if let Some(reason) = &arguments.nothing_to_do {
        object.insert("nothingToDo".to_owned(), read(reason, LARGEST_MESSAGE)?.into());
    }
    for (key, said) in [
        ("inputTokens", arguments.input_tokens.map(Value::from)),
        ("outputTokens", arguments.output_tokens.map(Value::from)),
        ("cost", arguments.cost.map(|cost| Value::from(cost.to_f64()))),
    ] {
        let Some(said) = said else { continue };
        let usage = object.entry("usage").or_insert_with(|| json!({}));
        if !usage.is_object() {
            *usage = json!({});
        }
        usage[key] = said;
    }
    let text = Value::Object(object).to_string();
    if text.len() > LARGEST_RESULT {
        return Err(too_large(LARGEST_RESULT));
    }
    place(&path, text.as_bytes())?;
    said(screen, "quorum.result/v1", "");
    Ok(0)
}

/// Sorts by time; one process says one thing.
fn message_name(kind: &str) -> String {
    format!("{kind}.{:015}-{}", Timestamp::now().0, std::process::id())
}

/// The folder of the turn that this process works in, made if nobody spoke before.
fn turn_folder() -> Result<PathBuf, Failure> {
    let folder = PathBuf::from(variable("QUORUM_TASK_DIR")?);
    match fs::create_dir(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(environment!("cannot make {}: {error}", folder.display()))
        }
        _ => Ok(folder),
    }
}

fn variable(name: &str) -> Result<String, Failure> {
    let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    value.ok_or_else(|| {
        usage!("this command is for agents that work on a task: {name} is not set")
            .help("quorum sets it for the agents it starts; a person answers with `quorum answer`")
    })
}

fn read(text: &str, largest: usize) -> Result<String, Failure> {
    let text = if text == "-" {
        let mut bytes = Vec::new();
        io::stdin()
            .take(largest as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| environment!("cannot read standard input: {error}"))?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        text.to_owned()
    };
    if text.trim().is_empty() {
        return Err(usage!("there is nothing to say: the text is empty"));
    }
    if text.len() > largest {
        return Err(too_large(largest));
    }
    Ok(text)
}

fn too_large(largest: usize) -> Failure {
    usage!("the text has more than {largest} bytes")
        .help("write it to a file of the workspace and say where it is")
}

/// The object in the result file. Anything else is replaced: nobody could read it.
fn existing(path: &Path) -> Result<Map<String, Value>, Failure> {
    let found = fs::symlink_metadata(path);
    if !found.is_ok_and(|found| found.is_file() && found.len() <= LARGEST_RESULT as u64) {
        return Ok(Map::new());
    }
    let bytes = fs::read(path).map_err(|error| environment!("cannot read {}: {error}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(serde_json::from_str(without_mark(&text)).unwrap_or_default())
}

/// Puts a file in its place in one step, so that nobody reads half of it.
fn place(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: io::Error| environment!("cannot write {}: {error}", path.display());
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let temporary = path.with_file_name(format!(".{name}.{}", std::process::id()));
    write_new(&temporary, bytes).map_err(failed)?;
    fs::rename(&temporary, path).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

fn said(screen: &Screen, schema: &'static str, text: &str) {
    if screen.is_json() {
        screen.document(&RecordedDocument { schema, recorded: true });
    } else {
        // Whoever started us may not listen: that is silent.
        let _ = io::stdout().write_all(text.as_bytes());
    }
}
