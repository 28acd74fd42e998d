//! The protocols that models are reached by: where their own service is, how a key is shown to it, and who reads and
//! writes their JSON.
//!
//! All else about asking a model is the same for all of them and stands in [`super::model`].

use reqwest::Url;
use serde_json::Value;

use crate::mission::model::Adapter;

use super::model::{Answer, Dialogue, ModelRequest, ToldError};
use super::{anthropic, gemini, ollama, openai};

/// How a model is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Chat completions: OpenAI and everything that is compatible with it.
    Openai,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's chat API.
    Ollama,
}

/// How a protocol's key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHeader {
    /// The header.
    pub name: &'static str,
    /// What stands before the key.
    pub prefix: &'static str,
}

impl Protocol {
    /// The protocol of an adapter, if it is one that asks a model over HTTP.
    pub fn of(adapter: Adapter) -> Option<Self> {
        match adapter {
            Adapter::Openai => Some(Self::Openai),
            Adapter::Anthropic => Some(Self::Anthropic),
            Adapter::GeminiApi => Some(Self::Gemini),
            Adapter::Ollama => Some(Self::Ollama),
            _ => None,
        }
    }

    /// Where the model is, unless the agent says so.
    #[must_use]
    pub fn default_base(self) -> &'static str {
        match self {
            Self::Openai => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com/v1",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }

    /// The variable with the key of the provider's own service, if it has one. Nobody else is ever sent that key.
    #[must_use]
    pub fn own_key(self) -> Option<&'static str> {
        match self {
            Self::Openai => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// Whether the URL is the provider's own service, over an encrypted connection.
    #[must_use]
    pub fn is_own_service(self, url: &Url) -> bool {
        let host = match self {
            Self::Openai => "api.openai.com",
            Self::Anthropic => "api.anthropic.com",
            Self::Gemini => "generativelanguage.googleapis.com",
            Self::Ollama => return false,
        };
        url.scheme() == "https" && url.host_str() == Some(host) && url.port().is_none()
    }

    /// The header that carries the key.
    #[must_use]
    pub fn key_header(self) -> KeyHeader {
        let (name, prefix) = match self {
            Self::Openai | Self::Ollama => ("authorization", "Bearer "),
            Self::Anthropic => ("x-api-key", ""),
            Self::Gemini => ("x-goog-api-key", ""),
        };
        KeyHeader { name, prefix }
    }

    /// Headers that every request needs, whoever asks.
    #[must_use]
    pub fn fixed_headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::Openai | Self::Gemini | Self::Ollama => &[],
        }
    }

    /// Turns the base URL into the one that is asked. Bases are accepted with and without their version, because the
    /// tools of the providers differ in that.
    pub(super) fn complete_url(self, url: &mut Url, model: &str) {
        let base = url.path().trim_end_matches('/').to_owned();
        let last = base.rsplit('/').next().unwrap_or_default();
        url.set_path(&base);
        let Ok(mut path) = url.path_segments_mut() else {
            return;
        };
        path.pop_if_empty();
        match self {
            Self::Openai => {
                path.extend(["chat", "completions"]);
            }
            Self::Anthropic => {
                path.extend((!is_version(last)).then_some("v1"));
                path.push("messages");
            }
            Self::Gemini => {
                path.extend((!is_version(last)).then_some("v1beta"));
                let (kind, name) = model.split_once('/').unwrap_or(("models", model));
                path.push(kind).push(&format!("{name}:generateContent"));
            }
            Self::Ollama => {
                path.extend((last != "api").then_some("api"));
                path.push("chat");
            }
        }
    }

    /// The JSON body of a request. `own_service` says whether the provider itself is asked.
    pub(super) fn body(
        self,
        model: &str,
        own_service: bool,
        request: &ModelRequest,
        dialogue: &Dialogue,
    ) -> Value {
        match self {
            Self::Openai => openai::body(model, own_service, request, dialogue),
            Self::Anthropic => anthropic::body(model, request, dialogue),
            Self::Gemini => gemini::body(request, dialogue),
            Self::Ollama => ollama::body(model, request, dialogue),
        }
    }

    /// What a body says that came with a status of success.
    pub(super) fn answer(self, body: &Value) -> Answer {
        match self {
            Self::Openai => openai::answer(body),
            Self::Anthropic => anthropic::answer(body),
            Self::Gemini => gemini::answer(body),
            Self::Ollama => ollama::answer(body),
        }
    }

    /// The error that a body tells of.
    pub(super) fn told_error(self, body: &Value) -> ToldError<'_> {
        match self {
            Self::Openai => openai::told_error(body),
            Self::Anthropic => anthropic::told_error(body),
            Self::Gemini => gemini::told_error(body),
            Self::Ollama => ollama::told_error(body),
        }
    }

    /// Words by which a refusal shows to be about the reply's form rather than about the question.
    pub(super) fn schema_words(self) -> &'static [&'static str] {
        match self {
            Self::Openai => &[
                "response_format",
                "json_schema",
                "structured output",
                "guided_json",
            ],
            Self::Anthropic => &["tool_choice", "input_schema", "tools."],
            Self::Gemini => &[
                "response_json_schema",
                "responsejsonschema",
                "response_schema",
                "response_mime_type",
                "response mime type",
                "json mode",
            ],
            Self::Ollama => &["format", "grammar", "json schema"],
        }
    }

    /// What a reply in this protocol is called.
    pub(super) fn reply_name(self) -> &'static str {
        match self {
            Self::Openai => "a chat completion",
            Self::Anthropic => "a message",
            Self::Gemini => "a generateContent reply",
            Self::Ollama => "an Ollama chat reply",
        }
    }
}

/// Whether a part of a path names a version: `v1`, `v1beta`.
fn is_version(part: &str) -> bool {
    part.strip_prefix('v')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
