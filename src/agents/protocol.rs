//! What differs between the providers of models: where their own service is, how a key is shown to it, and who reads and
//! writes their JSON. Each provider is one file that implements [`Protocol`], and one line of [`of`].
//!
//! All else about asking a model is the same for all of them and stands in [`super::model`].

use reqwest::Url;
use serde_json::Value;

use crate::mission::model::Adapter;

use super::model::{Answer, Dialogue, ModelRequest, ToldError};
use super::{anthropic, gemini, ollama, openai};

/// How a protocol's key travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyHeader {
    /// The header.
    pub name: &'static str,
    /// What stands before the key.
    pub prefix: &'static str,
}

/// The usual way of a key.
pub(super) const BEARER: KeyHeader = KeyHeader {
    name: "authorization",
    prefix: "Bearer ",
};

/// How the models of one provider are talked to.
pub(super) trait Protocol: Sync {
    /// Its name in a cassette.
    fn name(&self) -> &'static str;

    /// The base URL of the model, unless the agent has a `baseUrl`.
    fn default_base(&self) -> &'static str;

    /// The variable with the key of the provider's own service, if it has one. No other host is ever sent that key.
    fn own_key(&self) -> Option<&'static str>;

    /// The host of the provider's own service, if it has one.
    fn own_host(&self) -> Option<&'static str>;

    /// The header that carries the key.
    fn key_header(&self) -> KeyHeader;

    /// Headers of every request.
    fn fixed_headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    /// The parts of the path that lead from a base URL to the model; `last` is the last part of the base's own path. Bases
    /// are accepted with and without their version, because the tools of the providers differ in that.
    fn path(&self, last: &str, model: &str) -> Vec<String>;

    /// The JSON body of a request. `own_service` says whether the provider's own service is asked.
    fn body(&self, model: &str, own_service: bool, request: &ModelRequest, dialogue: &Dialogue) -> Value;

    /// What a body says that came with a status of success.
    fn answer(&self, body: &Value) -> Answer;

    /// The error that a body tells of.
    fn told_error<'a>(&self, body: &'a Value) -> ToldError<'a>;

    /// Words by which a refusal shows to be about the reply's form rather than about the question.
    fn schema_words(&self) -> &'static [&'static str];

    /// What a reply in this protocol is called.
    fn reply_name(&self) -> &'static str;
}

/// The protocol of an adapter, if it asks a model over HTTP.
pub(super) fn of(adapter: Adapter) -> Option<&'static dyn Protocol> {
    match adapter {
        Adapter::Openai => Some(&openai::Openai),
        Adapter::Anthropic => Some(&anthropic::Anthropic),
        Adapter::GeminiApi => Some(&gemini::Gemini),
        Adapter::Ollama => Some(&ollama::Ollama),
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
        | Adapter::Aider => None,
    }
}

/// Whether the URL is the provider's own service, over an encrypted connection.
pub(super) fn is_own_service(protocol: &dyn Protocol, url: &Url) -> bool {
    let host = protocol.own_host();
    url.scheme() == "https" && host.is_some() && url.host_str() == host && url.port().is_none()
}

/// Turns the base URL into the one that is asked.
pub(super) fn complete_url(protocol: &dyn Protocol, url: &mut Url, model: &str) {
    let base = url.path().trim_end_matches('/').to_owned();
    let last = base.rsplit('/').next().unwrap_or_default();
    url.set_path(&base);
    let Ok(mut path) = url.path_segments_mut() else {
        return;
    };
    path.pop_if_empty();
    path.extend(protocol.path(last, model));
}

/// The version, unless the last part of a base's path names one already: `v1`, `v1beta`.
pub(super) fn version_after(last: &str, version: &'static str) -> Option<String> {
    let number = last.strip_prefix('v').unwrap_or_default();
    let is_version = number.starts_with(|c: char| c.is_ascii_digit());
    (!is_version).then(|| version.to_owned())
}
