//! Agents, as the file describes them.

use std::collections::BTreeMap;
use std::fmt;

use rust_decimal::Decimal;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::domain::{Millis, Money};
use crate::mission::codes::Code;
use crate::mission::environment::{Secret, Template};
use crate::mission::read::{self, Single};
use crate::mission::scalar::{Fault, Filled, Form, Scalar, Temperature, words};
use crate::mission::text::quoted;

use super::{Around, Permissions, ToolKind, Tools};

/// An agent: someone or something that works or judges.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Agent {
    /// How it is talked to.
    #[serde(deserialize_with = "read::or_default")]
    pub adapter: Adapter,
    /// `run`: the command line of a command agent.
    #[serde(deserialize_with = "read::or_empty")]
    pub run: Option<CommandLine>,
    /// How a command agent gets its prompt.
    #[serde(deserialize_with = "read::or_default")]
    pub input: Input,
    /// Environment of a command agent, `${NAME}` not yet expanded. What comes from there is a secret.
    #[serde(deserialize_with = "read::templates::<Template, _>")]
    pub env: BTreeMap<String, String>,
    /// How long one turn of this agent may take, where the task does not say.
    #[serde(deserialize_with = "read::option")]
    pub timeout: Option<Millis>,
    /// Turns it may work on at the same time.
    #[serde(deserialize_with = "read::count")]
    pub max_concurrent: Option<u32>,
    /// Its role; `reviewer` and `qa` are asked to judge before others.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub role: Option<String>,
    /// Its manager.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub reports_to: Option<String>,
    /// The model's family, where it should not be derived from provider and model.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub family: Option<String>,
    /// The model of an HTTP agent or agent CLI.
    #[serde(deserialize_with = "read::option_as::<Filled, _, _>")]
    pub model: Option<String>,
    /// The base URL of an HTTP agent.
    #[serde(deserialize_with = "read::option_as::<Url, _, _>")]
    pub base_url: Option<String>,
    /// `${NAME}` of the environment variable with the key of an HTTP agent.
    #[serde(deserialize_with = "read::option_as::<Secret, _, _>")]
    pub api_key: Option<String>,
    /// Headers of an HTTP agent, `${NAME}` not yet expanded.
    #[serde(deserialize_with = "read::templates::<Template, _>")]
    pub headers: BTreeMap<String, String>,
    /// Sampling temperature of an HTTP agent.
    #[serde(deserialize_with = "read::option_as::<Temperature, _, _>")]
    pub temperature: Option<Decimal>,
    /// Completion limit of an HTTP agent.
    #[serde(deserialize_with = "read::count")]
    pub max_tokens: Option<u32>,
    /// Whether it can look at pictures.
    #[serde(deserialize_with = "read::or_default")]
    pub vision: bool,
    /// Who is asked instead when it cannot be reached, in this order.
    #[serde(deserialize_with = "read::one_or_more::<Filled, _>")]
    pub fallback: Vec<Box<str>>,
    /// How long it may be silent.
    #[serde(deserialize_with = "read::option")]
    pub stale_threshold: Option<Millis>,
    /// The most that one of its turns or calls may cost.
    #[serde(deserialize_with = "read::option")]
    pub max_cost_per_turn: Option<Money>,
    /// What a model behind HTTP may do itself; `None` if the file does not say: then it may look where it reviews files,
    /// and works by words alone.
    #[serde(deserialize_with = "read::option_of")]
    pub tools: Option<Tools>,
    /// What holds where it must ask for what it may do.
    #[serde(deserialize_with = "read::or_empty")]
    pub permissions: Permissions,
}

impl Agent {
    /// Whether it works with tools that this program uses for it.
    #[must_use]
    pub fn works_with_tools(&self) -> bool {
        self.tools.is_some_and(Tools::any)
    }

    /// How far middleware comes around its turns.
    #[must_use]
    pub fn around(&self) -> Around {
        match self.works_with_tools() {
            true => Around::Inside,
            false => Around::Outside,
        }
    }

    /// Whether its tool calls are seen. Plain commands and plain HTTP prompts show none: what they did is unknown, which
    /// is not nothing.
    #[must_use]
    pub fn has_ledger(&self) -> bool {
        self.adapter.has_ledger() || self.works_with_tools()
    }

    /// Whether it could change a file.
    #[must_use]
    pub fn has_hands(&self) -> bool {
        let writes = |tools: Tools| tools.offers(ToolKind::Write) || tools.offers(ToolKind::Run);
        self.adapter.has_hands() || self.tools.is_some_and(writes)
    }

    /// Whether it could hand work down. A model behind HTTP without tools has no way to say so.
    #[must_use]
    pub fn may_delegate(&self) -> bool {
        self.has_hands() || self.works_with_tools()
    }

    /// Whether it may look into the workspace where it judges files: a model behind HTTP, unless its `tools` deny it.
    #[must_use]
    pub fn may_look(&self) -> bool {
        self.adapter.is_http() && self.tools.is_none_or(Tools::may_read)
    }

    /// Whether judging is its role.
    #[must_use]
    pub fn has_judging_role(&self) -> bool {
        let role = self.role.as_deref().unwrap_or_default().trim();
        role.eq_ignore_ascii_case("reviewer") || role.eq_ignore_ascii_case("qa")
    }

    /// Whether it may judge the work of anybody without being named (semantics, section 8). An adapter that only runs or
    /// repeats things must have been given the role, or (a command) be the delegator or the manager of whoever worked; a
    /// person is never asked unless the mission says so.
    #[must_use]
    pub fn may_judge(&self) -> bool {
        match self.adapter {
            Adapter::Human => false,
            Adapter::Command | Adapter::Echo => self.has_judging_role(),
            Adapter::Openai
            | Adapter::Anthropic
            | Adapter::GeminiApi
            | Adapter::Ollama
            | Adapter::Acp
            | Adapter::Claude
            | Adapter::Codex
            | Adapter::Gemini
            | Adapter::Opencode
            | Adapter::Qwen
            | Adapter::Pi
            | Adapter::Aider => true,
        }
    }
}

/// How an agent is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adapter {
    /// Any command.
    #[default]
    Command,
    /// Answers with its prompt.
    Echo,
    /// A person.
    Human,
    /// Any OpenAI-compatible endpoint.
    Openai,
    /// Anthropic's API.
    Anthropic,
    /// Google's API.
    GeminiApi,
    /// An Ollama server.
    Ollama,
    /// The Agent Client Protocol.
    Acp,
    /// The Claude Code CLI.
    Claude,
    /// The Codex CLI.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// The opencode CLI.
    Opencode,
    /// The Qwen Code CLI.
    Qwen,
    /// The pi CLI.
    Pi,
    /// The aider CLI.
    Aider,
}

impl Adapter {
    /// Whether it sees the tool calls of its agent by itself.
    fn has_ledger(self) -> bool {
        matches!(
            self,
            Self::Acp
                | Self::Claude
                | Self::Codex
                | Self::Gemini
                | Self::Opencode
                | Self::Qwen
                | Self::Pi
                | Self::Aider
        )
    }

    /// Whether its agent could change a file by itself. A model behind HTTP cannot.
    fn has_hands(self) -> bool {
        self == Self::Command || self.has_ledger()
    }

    /// Whether it asks a model over HTTP.
    #[must_use]
    pub fn is_http(self) -> bool {
        matches!(
            self,
            Self::Openai | Self::Anthropic | Self::GeminiApi | Self::Ollama
        )
    }
}

words!(Adapter: "an adapter",
    "command" => Command, "echo" => Echo, "human" => Human, "openai" => Openai, "anthropic" => Anthropic,
    "gemini-api" => GeminiApi, "ollama" => Ollama, "acp" => Acp, "claude" => Claude, "codex" => Codex,
    "gemini" => Gemini, "opencode" => Opencode, "qwen" => Qwen, "pi" => Pi, "aider" => Aider);

/// A command line: a list is executed as it is, a string by `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// Executed without a shell.
    Argv(Vec<String>),
    /// Executed by `sh -c`; placeholders become positional parameters, never text.
    Shell(String),
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CommandLineVisitor)
    }
}

struct CommandLineVisitor;

impl<'de> Visitor<'de> for CommandLineVisitor {
    type Value = CommandLine;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a command: a list of texts, or one text for the shell")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<CommandLine, E> {
        Ok(CommandLine::Shell(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<CommandLine, A::Error> {
        let mut argv = Vec::new();
        while let Some(Single(item)) = items.next_element()? {
            argv.push(item);
        }
        Ok(CommandLine::Argv(argv))
    }
}

/// How a command agent gets its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Input {
    /// On standard input, and as a file.
    #[default]
    Stdin,
    /// As a file only.
    File,
    /// Not at all; no prompt is written.
    None,
}

words!(Input: "a way to hand over a prompt", "stdin" => Stdin, "file" => File, "none" => None);

/// The base URL of an HTTP agent.
pub(in crate::mission) struct Url(String);

impl From<Url> for String {
    fn from(url: Url) -> Self {
        url.0
    }
}

impl Scalar for Url {
    const EXPECTS: &'static str = "an http or https URL";
    const FORM: Form = Form::Text(r"^https?://[^\s/?#@]");

    fn parse(text: &str) -> Result<Self, Fault> {
        let rest = text
            .strip_prefix("https://")
            .or_else(|| text.strip_prefix("http://"));
        let host = rest
            .unwrap_or_default()
            .split(['/', '?', '#'])
            .next()
            .unwrap_or_default();
        if host.contains('@') {
            return Err(
                Fault::new(Code::SecretInFile, "this URL carries a user name or password")
                    .with_help("write the URL without it and put the secret into `apiKey: ${NAME}`"),
            );
        }
        if host.is_empty() || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Fault::new(
                Code::BadValue,
                format!("{} is not {}", quoted(text), Self::EXPECTS),
            )
            .with_help("write for example https://api.openai.com/v1"));
        }
        Ok(Self(text.to_owned()))
    }
}
