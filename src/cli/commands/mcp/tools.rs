//! The tools that clients see, and how a call becomes the words of a command.
//!
//! A tool is a command with some of its arguments. What is not listed here cannot be said: no argument approves, answers,
//! overrides, lowers a bar or skips a review.

use std::ffi::OsString;
use std::path::{Component, Path};

use anyhow::bail;
use clap::{ArgAction, Command};
use rmcp::model::{JsonObject, Tool as Declaration, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::report::documents::schema::{DocumentKind, documents};
use rules::mission::suggestion;

/// The longest text of an argument, in bytes. A word of a command line has a limit of the system a little above it.
const LONGEST: usize = 100_000;

/// The way in which a tool is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Manner {
    /// The command looks and changes nothing: its page for people is its text.
    Look,
    /// The command does something, and is not done twice.
    Act,
    /// The command begins a session that outlives the server.
    Begin,
}

/// A tool as it is listed.
struct ToolRow {
    name: &'static str,
    /// The command. What agents say is taken without `agent` before it, too.
    command: &'static str,
    manner: Manner,
    /// The names of its arguments: as clients say them, and as the command line knows them.
    arguments: ArgumentNames,
    says: &'static str,
}

/// An argument of the server alone, see [`McpTool::wait`].
const WAIT: &str = "wait";

/// The arguments of the command line that name files.
const PATHS: [&str; 3] = ["mission", "missions", "subjects"];

/// The run, where the command line has it as a flag.
const RUN: (&str, &str) = ("run", "named");

type ArgumentNames = &'static [(&'static str, &'static str)];

const fn listed(name: &'static str, manner: Manner, arguments: ArgumentNames, says: &'static str) -> ToolRow {
    ToolRow { name, command: name, manner, arguments, says }
}

/// The tools of a client that has missions run.
const OF_CLIENTS: [ToolRow; 14] = [
    listed(
        "validate",
        Manner::Look,
        &[("mission", "missions")],
        "Check mission files. Do this before `run`.",
    ),
    listed(
        "plan",
        Manner::Look,
        &[("mission", "mission"), ("only", "only")],
        "Show what a run would do: who works, who judges, and by which bars.",
    ),
    listed(
        "run",
        Manner::Begin,
        &[
            ("mission", "mission"),
            ("runId", "run_id"),
            ("only", "only"),
            ("timeout", "timeout"),
            ("maxCost", "max_cost"),
        ],
        "Begin a run of a mission. It returns as soon as the run has begun; the session goes on by itself, also when this \
         server ends. `status` with `wait` tells how it ended.",
    ),
    listed(
        "resume",
        Manner::Begin,
        &[RUN, ("timeout", "timeout")],
        "Continue a run that was stopped, or for which a person has decided something. It returns as soon as the session has begun.",
    ),
    listed(
        "status",
        Manner::Look,
        &[RUN],
        "Show a run: tasks, scores, gates, what waits. The work was done and has passed only where `outcome` is `ok`.",
    ),
    listed(
        "show",
        Manner::Look,
        &[("task", "task"), RUN, ("attempt", "attempt")],
        "Show a task of a run: attempts, verdicts, findings.",
    ),
    listed("gate", Manner::Look, &[("gate", "name"), RUN], "Check the gates of a run."),
    listed("inbox", Manner::Look, &[RUN], "List what waits for a person. Only a person can decide it."),
    listed("events", Manner::Look, &[RUN, ("since", "since")], "List the events of a run."),
    listed(
        "logs",
        Manner::Look,
        &[("task", "task"), RUN, ("attempt", "attempt")],
        "Show what the agent of a task wrote.",
    ),
    listed(
        "diff",
        Manner::Look,
        &[("task", "task"), RUN],
        "Show what a task in a worktree, or a run, changed.",
    ),
    listed(
        "explain",
        Manner::Look,
        &[("word", "word")],
        "Explain a word, a code or a flag that a result names.",
    ),
    listed(
        "schema",
        Manner::Look,
        &[("name", "name"), ("field", "field")],
        "Show the JSON Schema of a file or a document, or explain one key: `mission` is the schema of mission files.",
    ),
    listed(
        "review",
        Manner::Act,
        &[("paths", "subjects"), ("diff", "diff"), ("criteria", "criteria"), ("reviewer", "reviewers")],
        "Have files, or the change of `git diff`, judged by criteria. It returns when the judges have answered.",
    ),
];

const ANSWER_LATER: &str =
    "Ask something about the task, then end the turn: the answer comes in the next one.";

/// The tools of an agent within its turn.
const OF_TURNS: [ToolRow; 5] = [
    listed("ask", Manner::Act, &[("text", "text")], ANSWER_LATER),
    listed(
        "delegate",
        Manner::Act,
        &[("title", "title"), ("description", "description"), ("to", "to")],
        "Delegate a subtask, which is made once the task ends clean.",
    ),
    listed("progress", Manner::Act, &[("text", "text")], "Say how far the work is."),
    listed("result", Manner::Act, &[("text", "text")], "Write the result of the turn: what was done."),
    ToolRow {
        command: "result",
        ..listed(
            "nothing-to-do",
            Manner::Act,
            &[("reason", "nothing_to_do")],
            "Say why there was nothing to do.",
        )
    },
];

/// A tool: what clients are told of it, and what becomes of a call.
pub struct McpTool {
    /// The way in which it is done.
    pub manner: Manner,
    /// The name, the texts and the schemas that clients see.
    pub declaration: Declaration,
    /// Whether it can print a document.
    pub has_document: bool,
    /// Whether a call may say how long it waits for the run to come to rest.
    pub waits: bool,
    command: &'static str,
    arguments: Vec<Argument>,
}

/// An argument of a tool.
struct Argument {
    name: &'static str,
    help: String,
    /// The flag of the command line; `None` where the argument has a place there.
    flag: Option<String>,
    is_path: bool,
    takes_several: bool,
    is_required: bool,
}

/// The command that a client asks for with one call.
pub struct Call {
    /// The words of the command, without the program.
    pub words: Vec<OsString>,
    /// The time to wait for the run, where the call says one.
    pub wait: Option<String>,
    /// The run that is named, or is to be named so.
    pub run: Option<String>,
}

/// The tools of a server: those of a turn, or those of a client outside.
pub fn tools(root: &Command, of_turn: bool) -> Vec<McpTool> {
    let listed: &[ToolRow] = if of_turn { &OF_TURNS } else { &OF_CLIENTS };
    listed.iter().filter_map(|listed| McpTool::of(listed, root)).collect()
}

impl McpTool {
    /// A listed tool, with what the command line says of its arguments; `None` where the command line does not know it.
    fn of(listed: &ToolRow, root: &Command) -> Option<Self> {
        let command = root.find_subcommand(listed.command)?;
        let find = |id: &str| command.get_arguments().find(|argument| argument.get_id() == id);
        let known = |(name, id): &(&'static str, &str)| {
            let argument = find(id)?;
            // The visible one of two forms has the help.
            let help = find(name).unwrap_or(argument).get_help().map(ToString::to_string);
            Some(Argument {
                name,
                help: help.unwrap_or_default(),
                flag: argument.get_long().map(str::to_owned),
                is_path: PATHS.contains(id),
                takes_several: matches!(argument.get_action(), ArgAction::Append),
                is_required: argument.is_required_set() || listed.command == "result",
            })
        };
        let arguments = listed.arguments.iter().map(known).collect::<Option<Vec<_>>>()?;
        let waits = listed.name == "status";
        let mut declaration = Declaration::new(listed.name, listed.says, input_schema(&arguments, waits));
        let document = document(listed.command);
        if let Some(Value::Object(schema)) = document.as_ref().map(DocumentKind::json_schema) {
            declaration.output_schema = Some(schema.into());
        }
        let looks = listed.manner == Manner::Look;
        let hints = ToolAnnotations::new().read_only(looks).destructive(false).open_world(!looks);
        declaration.annotations = Some(hints);
        Some(Self {
            manner: listed.manner,
            has_document: document.is_some(),
            declaration,
            waits,
            command: listed.command,
            arguments,
        })
    }

    /// The words of the command that a call asks for.
    ///
    /// # Errors
    /// What is wrong with the arguments of the call, for the client to read.
    pub fn call(&self, given: &JsonObject, folder: &Path) -> anyhow::Result<Call> {
        let names = self.arguments.iter().map(|argument| argument.name).chain(self.waits.then_some(WAIT));
        let names: Vec<&str> = names.collect();
        if let Some(unknown) = given.keys().find(|key| !names.contains(&key.as_str())) {
            let help = suggestion(unknown, names.iter().copied(), "arguments are");
            bail!("'{unknown}' is no argument of `{}`; {help}", self.declaration.name);
        }
        let mut words: Vec<OsString> = vec![self.command.into()];
        let mut positional: Vec<OsString> = Vec::new();
        for argument in &self.arguments {
            for text in texts(argument.name, given.get(argument.name))? {
                if argument.is_path && !lies_below(&text, folder) {
                    let (name, folder) = (argument.name, folder.display());
                    bail!("`{name}`: {text} is not below {folder}, where this server works");
                }
                match &argument.flag {
                    Some(flag) => words.push(format!("--{flag}={text}").into()),
                    None => positional.push(text.into()),
                }
            }
        }
        if !positional.is_empty() {
            words.push("--".into());
            words.append(&mut positional);
        }
        let last = |name| anyhow::Ok(texts(name, given.get(name))?.pop());
        let run = last("run")?.or(last("runId")?);
        Ok(Call { words, wait: last(WAIT)?, run })
    }
}

/// The document that a command prints.
fn document(command: &str) -> Option<DocumentKind> {
    let said = format!("agent {command}");
    let mut known = documents().into_iter();
    match command {
        // It prints schemas, of which each is a document of its own.
        "schema" => None,
        _ => known.find(|kind| {
            kind.commands().any(|name| name == command) || kind.printed_by.trim_matches('`') == said
        }),
    }
}

/// The texts of an argument: one, or several in a list.
fn texts(name: &str, given: Option<&Value>) -> anyhow::Result<Vec<String>> {
    let texts = match given {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(values)) => values.clone(),
        Some(value) => vec![value.clone()],
    };
    let text = |value: Value| {
        let text = match value {
            Value::String(text) => text,
            Value::Number(number) => number.to_string(),
            other => bail!("`{name}` takes text, not {other}"),
        };
        match text.len() {
            0 => bail!("`{name}` is empty"),
            length if length > LONGEST => bail!("`{name}` has {length} bytes; it may have {LONGEST}"),
            _ if text.contains('\0') => bail!("`{name}` has a NUL in it"),
            _ => Ok(text),
        }
    };
    texts.into_iter().map(text).collect()
}

/// The schema of a tool's arguments.
fn input_schema(arguments: &[Argument], waits: bool) -> JsonObject {
    let mut properties = Map::new();
    for argument in arguments {
        // One type each: models' APIs refuse lists of types. What is sent may be one text all the same.
        let mut property = json!({"type": "string", "description": argument.help});
        if argument.takes_several {
            property["type"] = "array".into();
            property["items"] = json!({"type": "string"});
        }
        properties.insert(argument.name.to_owned(), property);
    }
    if waits {
        let help = "Wait so long (30s, 5m; at most 10m) for the run to come to rest, then tell how it stands";
        properties.insert(WAIT.to_owned(), json!({"type": "string", "description": help}));
    }
    let required = arguments.iter().filter(|argument| argument.is_required);
    let required: Vec<_> = required.map(|argument| argument.name).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    schema.as_object().cloned().unwrap_or_default()
}

/// Whether a path stays below a folder: where its links lead, or as it is written where nothing is there.
fn lies_below(path: &str, folder: &Path) -> bool {
    let whole = folder.join(path);
    match (whole.canonicalize(), folder.canonicalize()) {
        (Ok(real), Ok(folder)) => real.starts_with(folder),
        // The command complains about it.
        _ => whole.starts_with(folder) && !whole.components().any(|part| part == Component::ParentDir),
    }
}
