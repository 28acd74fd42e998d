//! The document as written: what serde reads from a mission file. Keys are camelCase and unknown keys are errors.

use std::collections::BTreeMap;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};

use crate::domain::Millis;

/// An agent: someone or something that works or judges.
#[derive(Debug, Clone, Default)]
pub struct Agent {
    /// How it is talked to.
    pub adapter: Adapter,
    /// `run`: the command line of a command agent.
    pub run: Option<CommandLine>,
    /// How a command agent gets its prompt.
    pub input: Input,
    /// Environment of a command agent, `${NAME}` not yet expanded.
    pub env: BTreeMap<String, String>,
    /// How long one turn of this agent may take, where the task does not say.
    pub timeout: Option<Millis>,
    /// Turns it may work on at the same time.
    pub max_concurrent: Option<u32>,
    /// Its role; `reviewer` and `qa` are asked to judge before others.
    pub role: Option<String>,
    /// The model's family, where it should not be derived from provider and model.
    pub family: Option<String>,
    /// The model of an HTTP agent or agent CLI.
    pub model: Option<String>,
    /// The base URL of an HTTP agent.
    pub base_url: Option<String>,
    /// `${NAME}` of the environment variable with the key of an HTTP agent.
    pub api_key: Option<String>,
    /// Headers of an HTTP agent, `${NAME}` not yet expanded.
    pub headers: BTreeMap<String, String>,
    /// Sampling temperature of an HTTP agent.
    pub temperature: Option<Decimal>,
    /// Completion limit of an HTTP agent.
    pub max_tokens: Option<u32>,
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

/// A command line: a list is executed as it is, a string by `sh -c`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// Executed without a shell.
    Argv(Vec<String>),
    /// Executed by `sh -c`; placeholders become positional parameters, never text.
    Shell(String),
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

/// What kind of work a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskType {
    /// New code.
    Implement,
    /// Tests.
    Test,
    /// Changed code.
    Refactor,
    /// Finding out.
    Research,
    /// Writing.
    Document,
    /// Judging.
    Review,
    /// Bringing it to users.
    Deploy,
    /// A verification node of the graph.
    Verification,
    /// Anything else.
    #[default]
    Other,
}

/// Whether a task asks for a review of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Review {
    /// Never evaluated.
    None,
    /// Evaluated where somebody eligible exists.
    #[default]
    Auto,
    /// Evaluated, or referred to a person.
    Required,
}

/// What happens when a task still fails after all attempts (semantics, section 3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnExhausted {
    /// It is failed.
    Fail,
    /// It is accepted below the bar.
    Accept,
    /// It is accepted if half of its files exist.
    Degrade,
    /// A fixup task is made.
    Fixup,
    /// A person decides.
    Refer,
}

/// How the seats' scores become one (semantics, section 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Consensus {
    /// The median.
    #[default]
    Median,
    /// The median of the scores that are not outliers.
    ExcludeOutliers,
    /// The mean.
    Mean,
    /// The mean of the scores clamped to median ± 1.5.
    ClippedMean,
}

/// A deterministic expectation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Check {
    /// A command that must exit 0 (`type: test` and `type: script`).
    Command {
        /// `test` or `script`, as the file says.
        kind: CommandCheck,
        /// The command; several lines run under `bash -euo pipefail`.
        command: String,
        /// How long it may take.
        timeout: Millis,
        /// Where, relative to the workspace.
        cwd: Option<String>,
    },
    /// Files that must exist.
    FileExists {
        /// Paths or globs, relative to the workspace.
        paths: Vec<String>,
        /// The least size of each.
        min_bytes: Option<u64>,
        /// A text that each must contain.
        contains: Option<String>,
    },
    /// A number that a command prints.
    Metric {
        /// Its name.
        name: String,
        /// The command.
        command: String,
        /// The number must not be below this.
        min: Option<Decimal>,
        /// The number must not be above this.
        max: Option<Decimal>,
        /// How long it may take.
        timeout: Millis,
    },
}

/// Which of the two words a command check was declared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommandCheck {
    /// `type: test`
    Test,
    /// `type: script`
    Script,
}
