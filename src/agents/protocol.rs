//! What differs between the providers of models: where their own service is, how a key is shown to it, and who reads and
//! writes their JSON. Each provider is one file with a [`Protocol`], and one line of [`of`].
//!
//! All else about asking a model is the same for all of them and stands in [`super::model`].
//!
//! | file | what |
//! |---|---|
//! | `anthropic` | Anthropic's Messages API |
//! | `gemini` | Google's `generateContent` |
//! | `ollama` | Ollama's chat API |
//! | `openai` | OpenAI's chat completions, and whatever is compatible with them |

mod anthropic;
mod gemini;
mod ollama;
mod openai;

use reqwest::Url;
use serde_json::Value;

use rules::mission::model::Adapter;

use super::model::{Dialogue, ModelRequest, ProviderError, ResponseBody};

/// The header of a key and what stands before the key in it, as most providers want it.
pub(super) const BEARER: (&str, &str) = ("authorization", "Bearer ");

/// How the models of one provider are talked to.
pub(super) struct Protocol {
    /// The name of the protocol in a cassette.
    pub name: &'static str,
    /// The base URL of the model, unless the agent has a `baseUrl`.
    pub default_base: &'static str,
    /// The host of the provider's own service and the variable with its key, if it has one. No other host is ever sent
    /// that key.
    pub own_service: Option<(&'static str, &'static str)>,
    /// The header that carries the key, and what stands before the key in it.
    pub key_header: (&'static str, &'static str),
    /// Headers of every request.
    pub fixed_headers: &'static [(&'static str, &'static str)],
    /// Words by which a refusal shows to be about the reply's form rather than about the question.
    pub schema_words: &'static [&'static str],
    /// Words that say that a reply is whole, in any case; the empty one stands for a reply that says none.
    pub good_ends: &'static [&'static str],
    /// The name of a reply in this protocol.
    pub reply_name: &'static str,
    /// The parts of the path that lead from a base URL to the model, from the last part of the base's own path and the
    /// model. Bases are accepted with and without their version, because the tools of the providers differ in that.
    pub path: fn(&str, &str) -> Vec<String>,
    /// The JSON body of a request to a model. The second argument says whether a limit of tokens has its new name, where there are two.
    pub body: fn(&str, bool, &ModelRequest, &Dialogue) -> Value,
    /// Reads the body of an answer with a status of success.
    pub answer: fn(&Value) -> ResponseBody,
    /// The error that a body tells of.
    pub error_in: for<'a> fn(&'a Value) -> ProviderError<'a>,
}

/// The protocol of an adapter, if it asks a model over HTTP.
pub(super) fn of(adapter: Adapter) -> Option<&'static Protocol> {
    match adapter {
        Adapter::Openai => Some(&openai::PROTOCOL),
        Adapter::Anthropic => Some(&anthropic::PROTOCOL),
        Adapter::GeminiApi => Some(&gemini::PROTOCOL),
        Adapter::Ollama => Some(&ollama::PROTOCOL),
        Adapter::Command
        | Adapter::Echo
        | Adapter::Human
        | Adapter::Acp
        | Adapter::Claude
        | Adapter::Codex
        | Adapter::Gemini
        | Adapter::Opencode
        | Adapter::Qwen
        | Adapter::Pi
        | Adapter::Aider
        | Adapter::Own => None,
    }
}

/// Whether the URL is the provider's own service, over an encrypted connection.
pub(super) fn is_own_service(protocol: &Protocol, url: &Url) -> bool {
    let host = protocol.own_service.map(|(host, _)| host);
    url.scheme() == "https" && host.is_some() && url.host_str() == host && url.port().is_none()
}

/// Turns the base URL into the one that is asked.
pub(super) fn complete_url(protocol: &Protocol, url: &mut Url, model: &str) {
    let base = url.path().trim_end_matches('/').to_owned();
    let last = base.rsplit('/').next().unwrap_or_default();
    url.set_path(&base);
    let Ok(mut path) = url.path_segments_mut() else {
        return;
    };
    path.pop_if_empty();
    path.extend((protocol.path)(last, model));
}

/// The version, unless the last part of a base's path names one already: `v1`, `v1beta`.
pub(super) fn version_after(last: &str, version: &'static str) -> Option<String> {
    let number = last.strip_prefix('v').unwrap_or_default();
    let is_version = number.starts_with(|c: char| c.is_ascii_digit());
    (!is_version).then(|| version.to_owned())
}
