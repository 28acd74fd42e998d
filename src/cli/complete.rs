//! What a shell offers at the tab key: commands and flags, and what lies in the state folder and in the mission file.
//!
//! A shell asks by starting the binary with [`VARIABLE`]. Nothing is written and no lock is taken, and whatever goes wrong
//! is silent: there is then nothing to offer.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, Command, ValueEnum as _};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter};
use serde_json::Value;

use crate::{
    report::{documents::asked, folds::view::RunView, sanitize, vocabulary::words},
    runtime::{newest, operator_key, recover},
    store::{RunFolder, StateFolder},
};
use rules::{
    domain::{OutcomeClass, RunId, WaitingReason},
    engine::State,
    mission::{self, Code, FileKind, field_doc, first_line, json_schema},
};
use supervisor::files::read_regular;

use super::args::LATEST;
use super::commands::help::topics;
use super::commands::schema::SchemaOf;
use super::project::state_folder_at;
use super::report_kind::ReportKind;
use super::screen::LiveView;

/// The variable by which a shell asks; it names the shell.
pub const VARIABLE: &str = "_QUORUM_COMPLETE";
/// A journal that is longer takes too long to read between two keys, in bytes.
const LONGEST_JOURNAL: u64 = 8 << 20;
/// The longest mission file that is read between two keys, in bytes.
const LONGEST_FILE: u64 = 1 << 20;
/// How many runs are offered, the newest first.
const RUNS: usize = 50;
/// How many characters of a text are shown beside what is offered.
const SHOWN: usize = 60;

/// Answers a shell that asks. `false` if none does.
pub fn answers_shell(words: &[OsString], root: fn() -> Command) -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let asked = CompletionContext::of(words, &root());
    let factory = || with_completers(root(), &asked);
    let here = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(factory).var(VARIABLE);
    // Whoever presses a key has not asked to hear of errors.
    let _ = environment.try_complete(words.to_vec(), here.as_deref());
    true
}

/// The words on the line that say where to look.
#[derive(Debug, Clone, Default)]
struct CompletionContext {
    state_dir: Option<PathBuf>,
    run: Option<RunId>,
    /// The mission file, where one is named.
    mission: Option<PathBuf>,
    /// The kind of schema that is asked for.
    schema_of: Option<SchemaOf>,
    /// Whether the shell is bash, which hands over what was typed with its backslashes.
    has_escapes: bool,
    /// The commands that are shown.
    commands: Arc<[Completion]>,
}

impl CompletionContext {
    fn of(words: &[OsString], root: &Command) -> Self {
        let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
        let value = |flag: &str| {
            let of_word = |at: usize| match words[at].strip_prefix(flag)? {
                "" => words.get(at + 1).copied(),
                rest => rest.strip_prefix('='),
            };
            (0..words.len()).find_map(of_word)
        };
        let variable = std::env::var_os("QUORUM_STATE_DIR").filter(|folder| !folder.is_empty());
        let mut named = words.iter().skip_while(|word| **word != "schema").skip(1);
        let is_mission = |word: &&&str| word.ends_with(".yaml") || word.ends_with(".yml");
        Self {
            state_dir: value("--state-dir").map(PathBuf::from).or(variable.map(PathBuf::from)),
            // Behind the flag alone: without one nobody knows yet which word it is.
            run: value("--run").and_then(|run| RunId::new(run).ok()),
            mission: words.iter().find(is_mission).map(PathBuf::from),
            schema_of: named.find_map(|word| SchemaOf::named(word)),
            has_escapes: std::env::var(VARIABLE).is_ok_and(|shell| shell.ends_with("bash")),
            commands: commands(root),
        }
    }

    fn folder(&self) -> Option<StateFolder> {
        state_folder_at(self.state_dir.as_deref(), true).ok()
    }

    /// The run that is named, or the newest.
    fn run(&self) -> Option<RunFolder> {
        let folder = self.folder()?;
        let named = self.run.as_ref().filter(|run| run.as_str() != LATEST);
        match named {
            Some(id) => Some(folder.run(id)).filter(|run| run.journal().is_file()),
            None => Some(newest(folder.known_runs().ok()?, operator_key().as_ref()).run?.0),
        }
    }

    /// The run as far as it is told, if that is quick.
    fn state(&self) -> Option<(State, RunView)> {
        let run = self.run()?;
        let length = std::fs::symlink_metadata(run.journal()).ok()?.len();
        if length > LONGEST_JOURNAL {
            return None;
        }
        let mut view = LiveView::default();
        let state = recover(&run, |state, record| view.take(state, record)).ok()?.state;
        let view = view.into_view(&state);
        Some((state, view))
    }

    /// The mission file, as plain data.
    fn mission(&self) -> Option<Value> {
        let path = self.mission.clone().unwrap_or_else(|| "mission.yaml".into());
        let bytes = read_regular(&path, LONGEST_FILE).ok()?;
        mission::plain(std::str::from_utf8(&bytes).ok()?)
    }

    fn runs(&self) -> Vec<Completion> {
        let known = self.folder().and_then(|folder| folder.known_runs().ok());
        let ids = known.into_iter().flatten().rev().take(RUNS);
        let ids = ids.map(|run| Completion::plain(run.folder.id().as_str()));
        std::iter::once(Completion::new(LATEST, "the run that began last")).chain(ids).collect()
    }

    fn tasks(&self) -> Vec<Completion> {
        let Some((state, _)) = self.state() else {
            return Vec::new();
        };
        let plan = &state.plan;
        let status = |id| state.task(id).status().as_str();
        plan.every_task_id().map(|id| Completion::new(plan.title(id), status(id))).collect()
    }

    /// The tasks of the mission file: no run has begun.
    fn planned_tasks(&self) -> Vec<Completion> {
        let mission = self.mission().unwrap_or_default();
        let tasks = mission["tasks"].as_array().into_iter().flatten();
        tasks.filter_map(|task| task["title"].as_str().map(Completion::plain)).collect()
    }

    fn gates(&self) -> Vec<Completion> {
        let Some((state, _)) = self.state() else {
            return Vec::new();
        };
        let ids = state.plan.gate_ids();
        ids.map(|id| Completion::plain(&state.plan.gate(id).name)).collect()
    }

    /// The waits for a person; questions alone for `answer`.
    fn holds(&self, only_questions: bool) -> Vec<Completion> {
        let Some((state, view)) = self.state() else {
            return Vec::new();
        };
        let question = WaitingReason::Question.as_str();
        asked(&state, &view)
            .filter(|asked| !only_questions || asked.reason == question)
            .filter_map(|asked| {
                let words = format!("{}: {}", asked.title(), asked.message);
                Some(Completion::new(asked.id.as_deref()?, &words))
            })
            .collect()
    }

    /// The agents of the mission file and of the run.
    fn agents(&self) -> Vec<Completion> {
        let mission = self.mission().unwrap_or_default();
        let named = mission["agents"].as_object().into_iter().flatten();
        let mut names: Vec<String> = named.map(|(name, _)| name.clone()).collect();
        if let Some((state, _)) = self.state() {
            let plan = &state.plan;
            names.extend(plan.agents.iter().map(|agent| agent.name.to_string()));
        }
        names.sort();
        names.dedup();
        names.iter().map(|name| Completion::plain(name)).collect()
    }

    /// The keys below what was typed up to the last dot.
    fn keys(&self, typed: &str) -> Vec<Completion> {
        let kind = match &self.schema_of {
            Some(SchemaOf::Document(document)) => {
                let above = typed.rsplit_once('.').map(|(above, _)| above);
                let full =
                    |name: &str| above.map_or_else(|| name.to_owned(), |above| format!("{above}.{name}"));
                let fields = document.fields(above.unwrap_or_default()).into_iter();
                return fields.map(|(name, says)| Completion::new(&full(&name), &says)).collect();
            }
            Some(SchemaOf::File(kind)) => *kind,
            None => FileKind::Mission,
        };
        let Some((above, _)) = typed.rsplit_once('.') else {
            let schema = json_schema(kind);
            let keys = schema["properties"].as_object().into_iter().flatten();
            return keys.map(|(key, _)| Completion::plain(key)).collect();
        };
        let field = field_doc(kind, above).map(|field| field.keys).unwrap_or_default();
        field.iter().map(|(key, says)| Completion::new(&format!("{above}.{key}"), says)).collect()
    }

    /// The values that an argument can take, by the name of its value.
    fn offers(&self, value: &str, command: &str, typed: &str) -> Vec<Completion> {
        match value {
            "RUN" => self.runs(),
            "RUN|TASK" => [self.runs(), self.tasks()].concat(),
            "TASK" if ["run", "plan", "quorum"].contains(&command) => self.planned_tasks(),
            "TASK" | "TASK|PATH" => self.tasks(),
            "GATE" => self.gates(),
            "APPROVAL" => self.holds(false),
            "QUESTION" => self.holds(true),
            "AGENT" => self.agents(),
            "FIELD" => self.keys(typed),
            "WORD" => explained(),
            "CLASS" => OutcomeClass::BY_PRECEDENCE.map(|class| Completion::plain(class.as_str())).into(),
            "COMMAND" => self.commands.to_vec(),
            "COMMAND|TOPIC" => [self.commands.to_vec(), topics().map(Completion::plain).collect()].concat(),
            "KIND=PATH" => {
                let kinds = ReportKind::value_variants().iter();
                kinds.map(|kind| Completion::plain(&format!("{}=", kind.as_str()))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Something that can be typed, and a word about it.
#[derive(Debug, Clone)]
struct Completion {
    value: String,
    says: Option<String>,
}

impl Completion {
    fn plain(value: &str) -> Self {
        Self { value: value.to_owned(), says: None }
    }

    fn new(value: &str, says: &str) -> Self {
        let says = sanitize(first_line(says));
        Self { value: value.to_owned(), says: Some(says.chars().take(SHOWN).collect()) }
    }

    /// As the shell gets it. What holds a line feed or moves the cursor cannot be typed.
    fn candidate(self) -> Option<CompletionCandidate> {
        let is_harmless = sanitize(&self.value) == self.value;
        is_harmless.then(|| CompletionCandidate::new(self.value).help(self.says.map(Into::into)))
    }
}

/// All words that `explain` knows.
fn explained() -> Vec<Completion> {
    let codes = Code::ALL.iter().map(|code| Completion::new(code.as_str(), code.summary()));
    let words = words::all().iter().map(|word| Completion::new(word.name(), &word.meaning));
    words.chain(codes).collect()
}

fn commands(root: &Command) -> Arc<[Completion]> {
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    commands.map(|command| Completion::new(command.get_name(), &about(command))).collect()
}

/// Adds completers for the values of a command's arguments.
fn with_completers(command: Command, asked: &CompletionContext) -> Command {
    let name = command.get_name().to_owned();
    command
        .mut_args(|argument| match completer(&argument, &name, asked) {
            Some(completer) => argument.add(completer),
            None => argument,
        })
        .mut_subcommands(|sub| with_completers(sub, asked))
}

/// The completer of an argument, by the name of its value; `None` where clap completes it itself: paths, and
/// words that are listed.
fn completer(argument: &Arg, command: &str, asked: &CompletionContext) -> Option<ArgValueCompleter> {
    const KNOWN: [&str; 15] = [
        "RUN",
        "RUN|TASK",
        "TASK",
        "TASK|PATH",
        "GATE",
        "APPROVAL",
        "QUESTION",
        "AGENT",
        "FIELD",
        "WORD",
        "CLASS",
        "COMMAND",
        "COMMAND|TOPIC",
        "KIND=PATH",
        "AGENT,AGENT,…",
    ];
    let value = argument.get_value_names()?.first()?.as_str().to_owned();
    if !KNOWN.contains(&value.as_str()) {
        return None;
    }
    let (asked, command) = (asked.clone(), command.to_owned());
    let complete = move |typed: &OsStr| {
        let Some(typed) = typed.to_str() else {
            return Vec::new();
        };
        let typed = if asked.has_escapes { typed.replace('\\', "") } else { typed.to_owned() };
        let value = value.split(',').next().unwrap_or_default();
        let offers = asked.offers(value, &command, &typed);
        let is_begun = |offer: &Completion| offer.value.starts_with(&typed);
        let mut found: Vec<CompletionCandidate> =
            offers.into_iter().filter(is_begun).filter_map(Completion::candidate).collect();
        let path = match (value, typed.split_once('=')) {
            ("TASK|PATH", _) => Some((String::new(), typed.as_str())),
            ("KIND=PATH", Some((kind, path))) => Some((format!("{kind}="), path)),
            _ => None,
        };
        if let Some((prefix, path)) = path {
            let paths = PathCompleter::any().complete(OsStr::new(path));
            found.extend(paths.into_iter().map(|path| path.add_prefix(prefix.clone())));
        }
        found
    };
    Some(ArgValueCompleter::new(complete))
}
