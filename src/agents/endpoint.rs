//! Where an HTTP model is, and the client that reaches it.
//!
//! Keys and headers come from environment variables only. They live in one type that never shows them, neither in
//! errors nor in debug output.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};

use rules::mission::{self, UnsetVariable};
use rules::plan::AgentPlan;

use super::failure::causes;
use super::model::{ModelRequest, RequestPart};
use super::protocol::{self, Protocol, complete_url, is_own_service};
use super::secrets::Secrets;
use super::transport::Transport;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where one agent's model is, with everything that a request needs.
#[derive(Clone)]
pub struct Endpoint {
    /// The protocol of the provider.
    pub(super) protocol: &'static Protocol,
    /// The full URL that is asked.
    pub url: Url,
    /// The model that is asked for.
    pub model: String,
    headers: HeaderMap,
    secrets: Secrets,
    /// The parts of a request that the model was seen to refuse in this session, whoever asks it, each with the
    /// warning that is still due.
    refused: Arc<Mutex<BTreeMap<RequestPart, Option<String>>>>,
}

/// Why an agent's endpoint cannot be used. Found before any work starts; outcome `environment` or `usage`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum EndpointError {
    /// The agent is no model behind HTTP.
    #[error("it is not reached over HTTP")]
    NotHttp,
    /// The agent names no model.
    #[error("it has no model")]
    NoModel,
    /// The base URL cannot be used: what is wrong.
    #[error("baseUrl {0}")]
    BaseUrl(&'static str),
    /// A key that is written into the mission itself.
    #[error("write apiKey as ${{NAME}}, the name of an environment variable")]
    LiteralKey,
    /// A variable that is not set, or empty.
    #[error("it needs the environment variable {0}, which is not set, or not to UTF-8 text")]
    NotSet(String),
    /// No certificates can be read: where they were looked for.
    #[error("https needs CA certificates, and none can be read from {0}")]
    NoCertificates(String),
    /// A header that HTTP does not allow. Its value is not shown.
    #[error("'{0}' is not a header that can be sent")]
    Header(String),
}

impl Endpoint {
    /// The endpoint of an agent; `variable` looks up the environment.
    ///
    /// # Errors
    /// When the agent's model, URL, key or headers cannot be used.
    pub fn of_agent(
        agent: &AgentPlan,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, EndpointError> {
        let protocol = protocol::of(*agent.spec.adapter).ok_or(EndpointError::NotHttp)?;
        let model = agent.spec.model.clone().ok_or(EndpointError::NoModel)?;
        let url = url_of(agent, protocol, &model)?;
        let mut secrets = Vec::new();
        let own = protocol.own_service.filter(|_| is_own_service(protocol, &url));
        let own = own.map(|(_, variable)| variable);
        let key = key(agent.spec.api_key.as_deref(), own, &variable)?;
        let (name, prefix) = protocol.key_header;
        let key_header = key.as_ref().map(|(key, _)| (name, format!("{prefix}{key}")));
        secrets.extend(key);
        let mut texts = Vec::from_iter(key_header);
        for (name, text) in &agent.spec.headers {
            let text = expand(text, &variable, &mut secrets);
            let text = text.map_err(|UnsetVariable(variable)| EndpointError::NotSet(variable))?;
            texts.push((name.as_str(), text));
        }
        let mut headers = headers(texts, EndpointError::Header)?;
        for (header, value) in protocol.fixed_headers {
            headers.entry(*header).or_insert(HeaderValue::from_static(value));
        }
        Ok(Self { protocol, url, model, headers, secrets: Secrets::of(secrets), refused: Arc::default() })
    }

    /// A request without what the model refuses.
    pub(super) fn as_taken(&self, request: &ModelRequest) -> ModelRequest {
        let mut request = request.clone();
        for part in self.refused().keys() {
            match part {
                RequestPart::Limit => request.max_tokens = None,
                RequestPart::Temperature => request.temperature = None,
                RequestPart::System => {
                    let system = request.system.take();
                    let system = system.map(|system| format!("{system}\n\n"));
                    request.prompt.insert_str(0, &system.unwrap_or_default());
                }
                RequestPart::LimitName | RequestPart::Schema => {}
            }
        }
        request
    }

    /// Whether a limit of tokens has its new name: OpenAI's newer models refuse the old one, other servers know no other.
    pub(super) fn takes_new_limit(&self) -> bool {
        self.is_own_service() || self.refused().contains_key(&RequestPart::LimitName)
    }

    /// Remembers that the model refuses a part of requests, by what it said.
    pub(super) fn leave_out(&self, part: RequestPart, message: &str) {
        let (model, what) = (&self.model, part.as_str());
        let told = || format!("'{model}' is asked without {what}, which it refuses ({message})");
        self.refused().entry(part).or_insert_with(|| Some(told()));
    }

    /// The warnings about parts that the model refuses, each once.
    pub fn untold(&self) -> Vec<String> {
        self.refused().values_mut().filter_map(Option::take).collect()
    }

    fn refused(&self) -> MutexGuard<'_, BTreeMap<RequestPart, Option<String>>> {
        crate::locked(&self.refused)
    }

    /// Key and headers of every request. The values are marked as sensitive.
    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Whether this is the service of the protocol's own provider.
    pub fn is_own_service(&self) -> bool {
        is_own_service(self.protocol, &self.url)
    }

    /// The secrets of the endpoint: providers repeat keys in their errors.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// A client for this endpoint: TLS by rustls and ring, no redirects (a key must not travel to another host), no
    /// retries of its own (the engine counts requests), and no proxy in front of this machine itself.
    ///
    /// # Errors
    /// When the platform's TLS roots cannot be used.
    pub fn client(&self) -> Result<Client, reqwest::Error> {
        http_client(&self.url)
    }

    /// Checks whether the endpoint could be reached from this machine: TLS needs certificates. Nothing is
    /// contacted.
    ///
    /// # Errors
    ///
    /// What is missing.
    pub fn is_fit(&self) -> Result<(), EndpointError> {
        if self.url.scheme() != "https" {
            return Ok(());
        }
        self.client().map(drop).map_err(|error| no_certificates(&error))
    }

    /// A line to this endpoint with nothing in between.
    ///
    /// # Errors
    /// As [`Endpoint::client`].
    pub fn line(&self) -> Result<Transport, reqwest::Error> {
        self.client().map(Transport::Direct)
    }
}

fn plain_client(url: &Url) -> reqwest::ClientBuilder {
    let mut builder = Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    builder
}

/// The client for one address; see [`Endpoint::client`].
pub(super) fn http_client(url: &Url) -> Result<Client, reqwest::Error> {
    // Fails only when a provider is installed already, which then serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match plain_client(url).build() {
        // Nothing is vouched for in clear text, so it needs no certificates. Redirects are not followed.
        Err(_) if url.scheme() == "http" => {
            let nobody = rustls::RootCertStore::empty();
            let tls = rustls::ClientConfig::builder().with_root_certificates(nobody);
            let tls = tls.with_no_client_auth();
            plain_client(url).tls_backend_preconfigured(tls).build()
        }
        client => client,
    }
}

/// Why no client can be made: no certificates can be read. Names where they were looked for.
fn no_certificates(error: &reqwest::Error) -> EndpointError {
    let told = ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        Some(format!("{name}={value}"))
    });
    let told: Vec<String> = told.collect();
    let from = if told.is_empty() {
        "this system (install its package `ca-certificates`, or name a file in SSL_CERT_FILE)".to_owned()
    } else {
        told.join(", ")
    };
    let why = causes(error).last().map_or_else(String::new, |cause| format!(": {cause}"));
    EndpointError::NoCertificates(format!("{from}{why}"))
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("url", &self.url.as_str())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The value of a variable without the space around it; `None` for an empty one.
fn value_of(name: &str, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let value = variable(name)?.trim().to_owned();
    (!value.is_empty()).then_some(value)
}

/// The key: the variable that the agent names, else the provider's own where the agent talks to that provider.
fn key(
    declared: Option<&str>,
    own: Option<&str>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<(String, String)>, EndpointError> {
    let name = match declared.map(str::trim) {
        None => own,
        Some(declared) => {
            let name = declared.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            Some(name.ok_or(EndpointError::LiteralKey)?)
        }
    };
    let value = |name: &str| match value_of(name, variable) {
        Some(value) => Ok((value, name.to_owned())),
        None => Err(EndpointError::NotSet(name.to_owned())),
    };
    name.map(value).transpose()
}

/// The text with every `${NAME}` replaced; the values are added to `secrets`.
pub(super) fn expand(
    text: &str,
    variable: impl Fn(&str) -> Option<String>,
    secrets: &mut Vec<(String, String)>,
) -> Result<String, UnsetVariable> {
    let used = RefCell::new(secrets);
    mission::expand(text, |name| {
        value_of(name, &variable).inspect(|value| used.borrow_mut().push((value.clone(), name.to_owned())))
    })
}

/// Headers whose values are marked as sensitive.
///
/// # Errors
/// Of the name of one that HTTP does not allow.
pub(super) fn headers<N: AsRef<str>, E>(
    texts: impl IntoIterator<Item = (N, String)>,
    refused: impl Fn(String) -> E,
) -> Result<HeaderMap, E> {
    let mut headers = HeaderMap::new();
    for (name, text) in texts {
        let header = HeaderName::try_from(name.as_ref()).ok();
        let header = header.zip(HeaderValue::from_str(&text).ok());
        let (header, mut value) = header.ok_or_else(|| refused(name.as_ref().to_owned()))?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

/// The host of an address, with the port where the address names one.
pub(super) fn host(url: &Url, unknown: &str) -> String {
    let host = url.host_str().unwrap_or(unknown);
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn url_of(agent: &AgentPlan, protocol: &Protocol, model: &str) -> Result<Url, EndpointError> {
    let fail = EndpointError::BaseUrl;
    let base = agent.spec.base_url.as_deref();
    let base = base.unwrap_or(protocol.default_base).trim();
    let mut url = Url::parse(base).map_err(|_| fail("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fail("must start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fail("must not hold credentials: use apiKey or headers"));
    }
    complete_url(protocol, &mut url, model);
    Ok(url)
}

/// Whether the URL points at this machine itself.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::mission::model::{Adapter, Agent};

    fn of(adapter: Adapter, base_url: Option<&str>) -> AgentPlan {
        let mut agent = agent(base_url, None, &[]);
        agent.spec.adapter = adapter.into();
        agent
    }

    fn agent(base_url: Option<&str>, api_key: Option<&str>, headers: &[(&str, &str)]) -> AgentPlan {
        AgentPlan {
            name: "judge".into(),
            removed: false,
            reports_to: None,
            spec: Agent {
                adapter: Adapter::Openai.into(),
                model: Some("m".to_owned()),
                base_url: base_url.map(str::to_owned),
                api_key: api_key.map(str::to_owned),
                headers: headers
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                ..Agent::default()
            },
        }
    }

    fn variable(name: &str) -> Option<String> {
        match name {
            "OPENAI_API_KEY" => Some("sk-of-openai\n".to_owned()),
            "ANTHROPIC_API_KEY" => Some("sk-of-anthropic".to_owned()),
            "GEMINI_API_KEY" => Some("sk-of-gemini".to_owned()),
            "MINE" => Some("sk-of-mine".to_owned()),
            "EMPTY" => Some(" ".to_owned()),
            _ => None,
        }
    }

    fn endpoint(agent: &AgentPlan) -> Result<Endpoint, EndpointError> {
        Endpoint::of_agent(agent, variable)
    }

    fn sent(endpoint: &Endpoint, header: &str) -> Option<String> {
        let value = endpoint.headers().get(header)?;
        Some(value.to_str().unwrap().to_owned())
    }

    #[test]
    fn the_url_is_the_base_and_the_path() {
        for (base, want) in [
            (None, "https://api.openai.com/v1/chat/completions"),
            (Some("http://127.0.0.1:8080/v1/"), "http://127.0.0.1:8080/v1/chat/completions"),
            (Some("https://x.test"), "https://x.test/chat/completions"),
            (Some("https://x.test/a/b?api-version=1"), "https://x.test/a/b/chat/completions?api-version=1"),
        ] {
            assert_eq!(endpoint(&agent(base, None, &[])).unwrap().url.as_str(), want);
        }
        for bad in ["x.test/v1", "ftp://x.test", "https://me:pass@x.test/v1", ""] {
            let error = endpoint(&agent(Some(bad), None, &[])).unwrap_err();
            assert!(matches!(error, EndpointError::BaseUrl(_)), "{bad}: {error}");
            assert!(!error.to_string().contains("pass"), "{error}");
        }
    }

    #[test]
    fn openais_key_goes_to_openai_only() {
        let key = |base, declared| {
            let endpoint = endpoint(&agent(base, declared, &[])).unwrap();
            sent(&endpoint, "authorization")
        };
        assert_eq!(key(None, None).as_deref(), Some("Bearer sk-of-openai"));
        assert_eq!(key(None, Some("${MINE}")).as_deref(), Some("Bearer sk-of-mine"));
        assert_eq!(key(Some("https://x.test/v1"), Some("${MINE}")).as_deref(), Some("Bearer sk-of-mine"));
        for other in [
            "https://x.test/v1",
            "http://api.openai.com/v1",
            "https://api.openai.com.x.test/v1",
            "https://api.openai.com:8443/v1",
            "https://x.test/api.openai.com",
        ] {
            assert_eq!(key(Some(other), None), None, "{other}");
        }
    }

    #[test]
    fn every_protocol_has_its_place_its_path_and_its_own_key() {
        for (adapter, base, url, header, key) in [
            (
                Adapter::Anthropic,
                None,
                "https://api.anthropic.com/v1/messages",
                "x-api-key",
                Some("sk-of-anthropic"),
            ),
            (
                Adapter::Anthropic,
                Some("https://api.anthropic.com"),
                "https://api.anthropic.com/v1/messages",
                "x-api-key",
                Some("sk-of-anthropic"),
            ),
            (
                Adapter::Anthropic,
                Some("https://x.test/a/v1/"),
                "https://x.test/a/v1/messages",
                "x-api-key",
                None,
            ),
            (
                Adapter::GeminiApi,
                None,
                "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
                "x-goog-api-key",
                Some("sk-of-gemini"),
            ),
            (
                Adapter::GeminiApi,
                Some("https://x.test/g?a=b"),
                "https://x.test/g/v1beta/models/m:generateContent?a=b",
                "x-goog-api-key",
                None,
            ),
            (Adapter::Ollama, None, "http://127.0.0.1:11434/api/chat", "authorization", None),
            (Adapter::Ollama, Some("http://x.test/api/"), "http://x.test/api/chat", "authorization", None),
            // A key goes to its own provider only, whatever protocol is spoken there.
            (
                Adapter::Openai,
                Some("https://api.anthropic.com/v1"),
                "https://api.anthropic.com/v1/chat/completions",
                "authorization",
                None,
            ),
        ] {
            let endpoint = endpoint(&of(adapter, base)).unwrap();
            assert_eq!(endpoint.url.as_str(), url);
            assert_eq!(sent(&endpoint, header).as_deref(), key, "{url}");
        }
        let unset = |adapter| Endpoint::of_agent(&of(adapter, None), |_| None);
        assert!(unset(Adapter::Anthropic).is_err() && unset(Adapter::GeminiApi).is_err());
        assert!(unset(Adapter::Ollama).is_ok());
        assert!(matches!(unset(Adapter::Acp), Err(EndpointError::NotHttp)));
    }

    #[test]
    fn a_model_is_a_name_and_never_a_way_out_of_the_path() {
        for (model, want) in [
            ("models/gemini-2.5-pro", "/v1beta/models/gemini-2.5-pro:generateContent"),
            ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
            ("x?y#z/..", "/v1beta/x%3Fy%23z/..:generateContent"),
        ] {
            let mut agent = of(Adapter::GeminiApi, Some("https://x.test"));
            agent.spec.model = Some(model.to_owned());
            let url = endpoint(&agent).unwrap().url;
            assert_eq!((url.path(), url.query(), url.fragment()), (want, None, None));
        }
    }

    #[test]
    fn what_is_not_set_or_written_out_is_refused() {
        let not_set = |variable: &str| EndpointError::NotSet(variable.to_owned());
        assert_eq!(endpoint(&agent(None, Some("${NONE}"), &[])).unwrap_err(), not_set("NONE"));
        assert_eq!(endpoint(&agent(None, Some("${EMPTY}"), &[])).unwrap_err(), not_set("EMPTY"));
        let headers = agent(None, None, &[("x-a", "a ${NONE}")]);
        assert_eq!(endpoint(&headers).unwrap_err(), not_set("NONE"));
        let literal = endpoint(&agent(None, Some("sk-literal"), &[])).unwrap_err();
        assert_eq!(literal, EndpointError::LiteralKey);
        let unset = Endpoint::of_agent(&agent(None, None, &[]), |_| None).unwrap_err();
        assert_eq!(unset, not_set("OPENAI_API_KEY"));
        let mut nameless = agent(None, None, &[]);
        nameless.spec.model = None;
        assert_eq!(endpoint(&nameless).unwrap_err(), EndpointError::NoModel);
    }

    #[test]
    fn headers_are_expanded_and_bad_ones_refused_without_their_value() {
        let good = endpoint(&agent(
            Some("http://h/v1"),
            None,
            &[("X-Org", "a${MINE}b${MINE}"), ("x-plain", "${open")],
        ))
        .unwrap();
        assert_eq!(sent(&good, "x-org").as_deref(), Some("ask-of-minebsk-of-mine"));
        assert_eq!(sent(&good, "x-plain").as_deref(), Some("${open"));
        for bad in [("a b", "sk-secret"), ("x", "sk-secret\n1")] {
            let error = endpoint(&agent(None, None, &[bad])).unwrap_err();
            assert!(matches!(error, EndpointError::Header(_)), "{error}");
            assert!(!error.to_string().contains("sk-secret"), "{error}");
        }
    }

    #[test]
    fn secrets_are_never_shown() {
        let endpoint = endpoint(&agent(None, Some("${MINE}"), &[("x-key", "${OPENAI_API_KEY}")])).unwrap();
        let debug = format!("{endpoint:?} {:?}", endpoint.headers());
        assert!(!debug.contains("sk-of"), "{debug}");
        assert_eq!(endpoint.secrets().redact("bad key sk-of-mine!"), "bad key [redacted]!");
        assert_eq!(endpoint.secrets().redact("sk-of-openai"), "[redacted]");
    }

    #[test]
    fn this_machine_is_recognised() {
        for (url, want) in [
            ("http://localhost:1/v1", true),
            ("http://a.localhost/v1", true),
            ("http://127.9.9.9/v1", true),
            ("http://[::1]:80/v1", true),
            ("http://128.0.0.1/v1", false),
            ("http://localhost.x.test/v1", false),
            ("http://[2001:db8::1]/v1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), want, "{url}");
        }
    }
}
