//! Agents, as the file describes them.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;
use std::ops::Deref;
use std::sync::Arc;

use rust_decimal::Decimal;
use serde::Serialize;

use crate::{
    domain::{Millis, Money},
    mission::file::{
        codes::Code,
        document::{Node, NodeKind},
        environment::{Secret, Template, variables},
        keys::{Value, keys, single, words},
        scalar::{AgentName, Fault, Filled, JsonForm, Name, QueueName, Scalar, Temperature, VariableName},
        shape::Shape,
        shown_text::quoted,
    },
};

use super::command_line::CommandLine;
use super::middleware::Around;
use super::permissions::{Permissions, WordOrMap};
use super::preset::{Field, Preset};
use super::tools::{ListOrMap, ToolKind, Tools};
use super::words::{FileScope, NetworkAccess, Sandbox};

keys! {
    /// An agent: someone or something that works or judges.
    #[derive(Default)]
    pub struct Agent: "an agent" {
        /// How the agent is talked to [=].
        "adapter" adapter: AdapterName, or("command");
        /// Its command line: a list is executed as it is, a text by `sh -c`. With a preset, or `acp`, the program to start and
        /// arguments that come first.
        "run" run: Option<CommandLine>;
        /// How a command agent gets its prompt [=].
        "input" input: Input, or("stdin");
        /// Variables for it; ${NAME} is taken from the environment of quorum.
        "env" env: BTreeMap<String, String> as Template;
        /// How long one turn may take, where the task does not say.
        "timeout" timeout: Option<Millis>;
        /// How long it may be silent before somebody is warned; after twice that it is killed.
        "staleThreshold" stale_threshold: Option<Millis>;
        /// Turns that it may work on at the same time.
        "maxConcurrent" max_concurrent: Option<u32> as NonZeroU32;
        /// Its role. With `reviewer` or `qa` it is asked to judge before others are; a command is asked only with such a role, as
        /// the manager or the delegator of whoever worked, or where `reviewers` names it.
        "role" role: Option<String> as Filled;
        /// Its manager, who judges its work where neither a delegator nor a reviewer can; a command may too.
        "reportsTo" reports_to: Option<String> as AgentName;
        /// The family of its model, where it should not be derived from the model's name.
        "family" family: Option<String> as Filled;
        /// The model of an HTTP agent.
        "model" model: Option<String> as Filled;
        /// The address of an HTTP agent, for example http://127.0.0.1:8080/v1.
        "baseUrl" base_url: Option<String> as Url;
        /// The key of an HTTP agent, as ${NAME} of an environment variable.
        "apiKey" api_key: Option<String> as Secret;
        /// Headers of an HTTP agent, in which ${NAME} is taken from the environment.
        "headers" headers: BTreeMap<String, String> as Template;
        /// Sampling temperature of an HTTP agent.
        "temperature" temperature: Option<Decimal> as Temperature;
        /// The most tokens of one reply of an HTTP agent.
        "maxTokens" max_tokens: Option<u32> as NonZeroU32;
        /// Whether it can look at pictures [=].
        "vision" vision: bool, or("false");
        /// What a model behind HTTP may do itself: read (list, read, search), write, run. What is not named is denied
        /// [nothing as a worker; read as a reviewer of files].
        "tools" tools: Option<Tools> as ListOrMap;
        /// Who goes on with its work, or judges, when it cannot be reached: one agent, or several in this order.
        "fallback" fallback: Vec<Box<str>> as OneOrMore;
        /// The most that one of its turns may cost, reserved before it starts and charged where it does not say; 0
        /// for an agent that costs nothing.
        "maxCostPerTurn" max_cost_per_turn: Option<Money>;
        /// Variables that are passed on where they are set.
        "passEnv" pass_env: Vec<String> as VariableName;
        /// Whether a fix goes on in the same session [=; fresh with a `queue`].
        "session" session: Option<SessionUse>, or("keep");
        /// How it asks, delegates and hands in within a turn [=].
        "agentTools" agent_tools: AgentTools, or("cli");
        /// What it may do: read, edit, full, or rules [edit]; and how long a person is waited for who must allow a tool call.
        "permissions" permissions: Permissions as WordOrMap;
        /// The queue of workers on other machines: each of its turns, and each question to it, goes to one of them, which has its program, its variables and
        /// its login.
        "queue" queue: Option<Box<str>> as QueueName;
        #[doc = says!(sandbox)]
        "sandbox" sandbox: Option<Sandbox>, or("auto");
        #[doc = says!(network)]
        "network" network: Option<NetworkAccess>, or("allow");
        #[doc = says!(files)]
        "files" files: Option<FileScope>, or("open");
    } and {
        /// How its program is started and read, where its adapter is a preset.
        pub preset: Option<Arc<Preset>>;
    }
}

words! {
    /// The way in which an agent's program keeps its session.
    #[derive(Default)]
    pub enum SessionUse: "what becomes of a session" {
        /// A fix goes on in it.
        #[default]
        Keep = "keep",
        /// Each turn begins a new one.
        Fresh = "fresh",
    }
}

words! {
    /// The way in which an agent speaks to its run within a turn.
    #[derive(Default)]
    pub enum AgentTools: "the tools of an agent" {
        /// By commands: `quorum agent`.
        #[default]
        Cli = "cli",
        /// By tools that its program is handed: those of `quorum mcp --task`.
        Mcp = "mcp",
    }
}

/// `fallback`: one agent, or a list of them.
pub struct OneOrMore;

impl Value<OneOrMore> for Vec<Box<str>> {
    const SHAPE: Shape =
        Shape::Either(&[Shape::NonEmptyList(&Shape::one::<AgentName>()), Shape::one::<AgentName>()]);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        Some(match node.kind() {
            NodeKind::List => node.items().map(|name| name.text().into()).collect(),
            _ => vec![node.text().into()],
        })
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::new())
    }
}

impl Agent {
    /// The names of the environment variables that it needs, in alphabetical order.
    pub fn variables(&self) -> BTreeSet<&str> {
        let texts = self.env.values().chain(self.headers.values());
        texts.chain(&self.api_key).flat_map(|text| variables(text)).collect()
    }

    /// Whether the agent works with tools that this program uses for it.
    pub fn works_with_tools(&self) -> bool {
        self.tools.is_some_and(Tools::any)
    }

    /// Whether the agent's next turn goes on in the session of the last one, where its program has told one.
    pub fn keeps_session(&self) -> bool {
        let resumes = |preset: &Arc<Preset>| !preset.resume.is_empty();
        let can = self.adapter == Adapter::Acp || self.preset.as_ref().is_some_and(resumes);
        can && self.queue.is_none() && self.session != Some(SessionUse::Fresh)
    }

    /// How far middleware comes around its turns.
    pub fn around(&self) -> Around {
        if self.works_with_tools() { Around::Inside } else { Around::Outside }
    }

    /// Whether the agent's tool calls are seen. Plain commands and plain HTTP prompts show none: what they did
    /// is unknown, which is not nothing.
    pub fn has_ledger(&self) -> bool {
        let tells = |preset: &Arc<Preset>| preset.tells(Field::Tool);
        self.preset.as_ref().map_or(self.adapter.has_ledger(), tells) || self.works_with_tools()
    }

    /// Whether the agent could change a file.
    pub fn has_hands(&self) -> bool {
        let writes = |tools: Tools| tools.offers(ToolKind::Write) || tools.offers(ToolKind::Run);
        self.adapter.has_hands() || self.tools.is_some_and(writes)
    }

    /// Whether the agent could delegate work. A model behind HTTP without tools has no way to say so.
    pub fn may_delegate(&self) -> bool {
        self.has_hands() || self.works_with_tools()
    }

    /// Whether the agent may look into the workspace where it judges files: a model behind HTTP, unless its
    /// `tools` deny it.
    pub fn may_look(&self) -> bool {
        self.adapter.is_http() && self.tools.is_none_or(Tools::may_read)
    }

    /// Whether judging is its role.
    pub fn has_judging_role(&self) -> bool {
        let role = self.role.as_deref().unwrap_or_default().trim();
        role.eq_ignore_ascii_case("reviewer") || role.eq_ignore_ascii_case("qa")
    }

    /// Whether the agent may judge the work of anybody without being named (semantics, section 8). An adapter
    /// that only runs or repeats things must have been given the role, or (a command) be the delegator or the
    /// manager of whoever worked; a person is never asked unless the mission says so.
    pub fn may_judge(&self) -> bool {
        match self.adapter.kind() {
            AdapterKind::Person => false,
            AdapterKind::Command | AdapterKind::Echo => self.has_judging_role(),
            AdapterKind::Model { .. } | AdapterKind::AgentCli => true,
        }
    }
}

worded! {
    /// How an agent is talked to.
    #[derive(Default)]
    pub enum Adapter {
        /// Any command.
        #[default]
        Command = "command",
        /// Answers with its prompt.
        Echo = "echo",
        /// A person.
        Human = "human",
        /// Any OpenAI-compatible endpoint.
        Openai = "openai",
        /// Anthropic's API.
        Anthropic = "anthropic",
        /// Google's API.
        GeminiApi = "gemini-api",
        /// An Ollama server.
        Ollama = "ollama",
        /// The Agent Client Protocol.
        Acp = "acp",
        /// The Claude Code CLI.
        Claude = "claude",
        /// The Codex CLI.
        Codex = "codex",
        /// The Gemini CLI.
        Gemini = "gemini",
        /// The opencode CLI.
        Opencode = "opencode",
        /// The Qwen Code CLI.
        Qwen = "qwen",
        /// The pi CLI.
        Pi = "pi",
        /// The aider CLI.
        Aider = "aider",
        /// A preset of the user's own.
        Own = "own",
    }
}

/// The name of an adapter, or of a preset of the user's own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AdapterName {
    adapter: Adapter,
    own: Option<Box<str>>,
}

impl AdapterName {
    /// The name as it is written in the file.
    pub fn as_str(&self) -> &str {
        self.own.as_deref().unwrap_or(self.adapter.as_str())
    }
}

impl Deref for AdapterName {
    type Target = Adapter;

    fn deref(&self) -> &Adapter {
        &self.adapter
    }
}

impl PartialEq<Adapter> for AdapterName {
    fn eq(&self, adapter: &Adapter) -> bool {
        self.adapter == *adapter
    }
}

impl From<Adapter> for AdapterName {
    fn from(adapter: Adapter) -> Self {
        Self { adapter, own: None }
    }
}

impl Serialize for AdapterName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Scalar for AdapterName {
    const EXPECTS: &'static str = "an adapter";
    const FORM: JsonForm = JsonForm::Either(&[Adapter::FORM, Name::FORM]);

    fn parse(text: &str) -> Result<Self, Fault> {
        if let Ok(adapter) = Adapter::parse(text) {
            return Ok(adapter.into());
        }
        Name::parse(text).map(|name| Self { adapter: Adapter::Own, own: Some(String::from(name).into()) })
    }
}

single!(AdapterName);

/// The kind of an adapter. All that differs between adapters here hangs on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AdapterKind {
    /// A command of the mission.
    Command,
    /// Nothing stands behind it: the answer is the prompt.
    Echo,
    Person,
    /// A model that is asked over HTTP. Its calls are priced by their tokens, and it cannot change a file by itself.
    Model {
        /// A model of the provider, for a message that says what to write.
        example: &'static str,
        /// The family of the models, where the provider has only its own.
        family: Option<&'static str>,
    },
    /// A program of its own, started and read by a preset, which shows its tool calls.
    AgentCli,
}

impl Adapter {
    /// The one table of adapters.
    pub fn kind(self) -> AdapterKind {
        let model = |example, family| AdapterKind::Model { example, family };
        match self {
            Self::Command => AdapterKind::Command,
            Self::Echo => AdapterKind::Echo,
            Self::Human => AdapterKind::Person,
            Self::Openai => model("gpt-5", None),
            Self::Anthropic => model("claude-sonnet-4-5", Some("claude")),
            Self::GeminiApi => model("gemini-2.5-pro", Some("gemini")),
            Self::Ollama => model("qwen3", None),
            Self::Acp
            | Self::Claude
            | Self::Codex
            | Self::Gemini
            | Self::Opencode
            | Self::Qwen
            | Self::Pi
            | Self::Aider
            | Self::Own => AdapterKind::AgentCli,
        }
    }

    /// Every adapter that the mission's language has a word for.
    pub fn all() -> impl Iterator<Item = Self> {
        let words = match Self::FORM {
            JsonForm::Words(words) => words,
            _ => &[],
        };
        words.iter().filter_map(|word| Self::parse(word).ok())
    }

    /// Whether the adapter's agent is a program that is started for each turn.
    pub fn starts_program(self) -> bool {
        matches!(self.kind(), AdapterKind::Command | AdapterKind::AgentCli)
    }

    /// Whether the adapter sees the tool calls of its agent by itself.
    pub(crate) fn has_ledger(self) -> bool {
        self.kind() == AdapterKind::AgentCli
    }

    /// Whether the adapter's agent could change a file by itself. A model behind HTTP cannot.
    fn has_hands(self) -> bool {
        self.starts_program()
    }

    /// Whether the adapter asks a model over HTTP.
    pub fn is_http(self) -> bool {
        matches!(self.kind(), AdapterKind::Model { .. })
    }
}

/// The words of the adapters that ask a model over HTTP.
pub fn http_adapters() -> impl Iterator<Item = &'static str> {
    Adapter::all().filter(|adapter| adapter.is_http()).map(Adapter::as_str)
}

words!(of Adapter: "an adapter",
    "command" => Command, "echo" => Echo, "human" => Human, "openai" => Openai, "anthropic" => Anthropic,
    "gemini-api" => GeminiApi, "ollama" => Ollama, "acp" => Acp, "claude" => Claude, "codex" => Codex,
    "gemini" => Gemini, "opencode" => Opencode, "qwen" => Qwen, "pi" => Pi, "aider" => Aider);

words! {
    /// How a command agent gets its prompt.
    #[derive(Default)]
    pub enum Input: "a way to hand over a prompt" {
        /// On standard input, and as a file.
        #[default]
        Stdin = "stdin",
        /// As a file only.
        File = "file",
        /// Not at all; no prompt is written.
        None = "none",
    }
}

/// The base URL of an HTTP agent.
pub struct Url(String);

impl From<Url> for Box<str> {
    fn from(url: Url) -> Self {
        url.0.into()
    }
}

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.0
    }
}

impl Scalar for Url {
    const EXPECTS: &'static str = "an http or https URL";
    const FORM: JsonForm = JsonForm::Text(r"^https?://[^\s/?#@]");

    fn parse(text: &str) -> Result<Self, Fault> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let host = rest.unwrap_or_default().split(['/', '?', '#']).next().unwrap_or_default();
        if host.contains('@') {
            return Err(Fault::new(Code::SecretInFile, "this URL carries a user name or password")
                .with_help("write the URL without it and put the secret into `apiKey: ${NAME}`"));
        }
        if host.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Fault::new(Code::BadValue, format!("{} is not {}", quoted(text), Self::EXPECTS))
                .with_help("write for example https://api.openai.com/v1"));
        }
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_an_agent_are_known() {
        let mut agent = Agent { api_key: Some("${B}".to_owned()), ..Agent::default() };
        agent.env.insert("X".to_owned(), "${A}-${B}".to_owned());
        assert_eq!(agent.variables().into_iter().collect::<Vec<_>>(), ["A", "B"]);
    }
}
