//! Channels: where notifications go, and how one is handed over (semantics, section 18).
//!
//! Addresses and headers may hold secrets, which come from environment variables only. Like those of an endpoint they
//! live in one type that never shows them: neither in errors nor in debug output. No redirect is followed, so that what
//! was meant for one host never travels to another.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::header::HeaderMap;
use reqwest::{Client, Url};
use rustix::fs::{Mode, OFlags};
use serde_json::{Value, json};

use rules::domain::{FailureClass, Millis, Timestamp};
use rules::mission::UnsetVariable;
use rules::mission::model::{ChannelType, Sandbox};
use rules::plan::ChannelPlan;
use supervisor::files::create_dir_durable;
use supervisor::files::no_links::{self, real_path};

use super::command_line::Program;
use super::endpoint::{expand, headers, host, http_client};
use super::failure::{classify_status, of_transport, presentable};
use super::model::retry_after;
use super::secrets::Secrets;

/// How long one delivery may take, where the channel does not say.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Characters of what a receiver says that are kept.
const LONGEST_ANSWER: usize = 200;

/// A channel with everything that a delivery needs.
#[derive(Clone)]
pub struct DeliveryChannel {
    /// The way in which the channel is reached.
    pub way: ChannelRoute,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// Whether the channel's command is not confined.
    pub is_free: bool,
    secrets: Secrets,
}

/// How a channel is reached.
#[derive(Clone)]
pub enum ChannelRoute {
    /// The channel gets a POST.
    Http(Hook),
    /// By starting a command that reads the notification from its standard input.
    Command(Program),
    /// By appending a line to a file.
    File(PathBuf),
}

/// Where something is posted, and in which form.
#[derive(Clone)]
pub struct Hook {
    url: Url,
    headers: HeaderMap,
    form: ChannelType,
    /// The client, made when it is first needed.
    client: OnceLock<Client>,
}

/// Why a notification was not taken.
#[derive(Debug, Clone, PartialEq)]
pub struct DeliveryError {
    /// The class of the failure.
    pub class: FailureClass,
    /// In words, without secrets.
    pub message: String,
    /// The pause that the receiver asks for.
    pub retry_after: Option<Millis>,
}

impl DeliveryError {
    /// A failure after which nobody named a pause.
    pub fn new(class: FailureClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None }
    }
}

/// Why a channel cannot be used, without secrets.
#[derive(Debug, thiserror::Error)]
pub enum ChannelError {
    /// The channel lacks a key that its type needs.
    #[error("it has no `{0}`")]
    Lacks(&'static str),
    /// The environment lacks a variable.
    #[error(transparent)]
    Variable(#[from] UnsetVariable),
    /// The program of the channel cannot be found.
    #[error(transparent)]
    Program(#[from] io::Error),
    /// A header that HTTP does not allow.
    #[error("'{0}' is not a header that can be sent")]
    Header(String),
    /// No address at all.
    #[error("its `url` is not a URL")]
    Url,
    /// The address of something else.
    #[error("its `url` must start with http:// or https://")]
    Scheme,
}

impl DeliveryChannel {
    /// The channel of a plan; relative paths in `folder`, variables as `variable` knows them.
    ///
    /// # Errors
    /// What is missing or cannot be used.
    pub fn of_plan(
        plan: &ChannelPlan,
        folder: &Path,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ChannelError> {
        let spec = &plan.spec;
        let mut secrets = Vec::new();
        let way = match spec.kind {
            ChannelType::File => {
                let path = folder.join(spec.path.as_deref().ok_or(ChannelError::Lacks("path"))?);
                // Links above the folder, and elsewhere, are the user's; below it agents put them.
                ChannelRoute::File(match path.strip_prefix(folder) {
                    Ok(inner) => real_path(folder)?.join(inner),
                    Err(_) => real_path(&path)?,
                })
            }
            ChannelType::Command => {
                let line = spec.run.as_ref().ok_or(ChannelError::Lacks("run"))?;
                ChannelRoute::Command(Program::resolve(line, folder)?)
            }
            form => {
                let url = spec.url.as_deref().ok_or(ChannelError::Lacks("url"))?;
                let url = web_address(&expand(url, &variable, &mut secrets)?)?;
                let mut texts = Vec::new();
                for (name, text) in &spec.headers {
                    texts.push((name, expand(text, &variable, &mut secrets)?));
                }
                let headers = headers(texts, ChannelError::Header)?;
                ChannelRoute::Http(Hook { url, headers, form, client: OnceLock::new() })
            }
        };
        let parts = way.private_parts().into_iter();
        secrets.extend(parts.map(|part| (part, String::new())));
        Ok(Self {
            way,
            timeout: spec.timeout.map_or(TIMEOUT, Millis::as_duration),
            is_free: spec.sandbox == Some(Sandbox::Off),
            secrets: Secrets::of(secrets),
        })
    }

    /// `text` as people may see it: one short line without any of the channel's secrets.
    pub fn presentable(&self, text: &str) -> String {
        presentable(text, &self.secrets, LONGEST_ANSWER).trim().to_owned()
    }

    /// Posts a notification once.
    ///
    /// # Errors
    /// When the receiver does not say that it has taken it.
    pub async fn post(&self, hook: &Hook, notification: &Value) -> Result<(), DeliveryError> {
        let host = &host(&hook.url, "the receiver");
        let request = hook
            .client()?
            .post(hook.url.clone())
            .headers(hook.headers.clone())
            .timeout(self.timeout)
            .json(&body(hook.form, notification));
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Err(self.unreachable(host, error)),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(());
        }
        // Of an error the status is enough; what it says helps people.
        let said = match response.chunk().await {
            Ok(Some(said)) => self.presentable(&String::from_utf8_lossy(&said[..said.len().min(2_000)])),
            Ok(None) | Err(_) => String::new(),
        };
        let class = classify_status(status.as_u16());
        let hint = match (status.is_redirection(), said.is_empty()) {
            (true, _) => ": redirects are not followed, write the address that it leads to".to_owned(),
            (false, true) => String::new(),
            (false, false) => format!(": {said}"),
        };
        Err(DeliveryError {
            retry_after: retry_after(response.headers(), Timestamp::now()),
            ..DeliveryError::new(
                class,
                self.presentable(&format!("HTTP {} from {host}{hint}", status.as_u16())),
            )
        })
    }

    fn unreachable(&self, host: &str, error: reqwest::Error) -> DeliveryError {
        if error.is_timeout() {
            let message = format!("{host} did not answer within {}", Millis::from(self.timeout));
            return DeliveryError::new(FailureClass::Timeout, message);
        }
        let (class, message) = of_transport(host, error);
        DeliveryError::new(class, self.presentable(&message))
    }
}

impl fmt::Debug for DeliveryChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.way {
            ChannelRoute::Http(hook) => hook.url.host_str().unwrap_or_default().to_owned(),
            ChannelRoute::Command(program) => program.path().display().to_string(),
            ChannelRoute::File(path) => path.display().to_string(),
        };
        f.debug_tuple("Channel").field(&kind).finish()
    }
}

impl ChannelRoute {
    /// The parts of the channel that may be secrets, whoever wrote them down: all of an address behind its
    /// host, and the headers.
    fn private_parts(&self) -> Vec<String> {
        let Self::Http(hook) = self else {
            return Vec::new();
        };
        let mut parts: Vec<String> =
            hook.url.path_segments().into_iter().flatten().map(str::to_owned).collect();
        parts.extend(hook.url.query().map(str::to_owned));
        let values = hook.headers.values().filter_map(|value| value.to_str().ok());
        parts.extend(values.map(str::to_owned));
        parts
    }
}

impl Hook {
    fn client(&self) -> Result<&Client, DeliveryError> {
        if let Some(client) = self.client.get() {
            return Ok(client);
        }
        let made = http_client(&self.url).map_err(|error| {
            let message = format!("cannot make an HTTP client: {error}");
            DeliveryError::new(FailureClass::Unknown, message)
        })?;
        Ok(self.client.get_or_init(|| made))
    }
}

fn web_address(text: &str) -> Result<Url, ChannelError> {
    // The text is not repeated: it may be a secret as a whole.
    let url = Url::parse(text).map_err(|_| ChannelError::Url)?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(ChannelError::Scheme),
    }
}

/// The body of a post. A service that wants a form of its own gets title and text.
fn body(form: ChannelType, notification: &Value) -> Value {
    let part = |key: &str| notification[key].as_str().unwrap_or_default();
    let title = part("title");
    let below = [part("text"), part("link")].into_iter().filter(|text| !text.is_empty());
    let text: String = below.flat_map(|text| ["\n", text]).collect();
    match form {
        ChannelType::Slack => {
            let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            json!({"text": format!("*{}*{}", escaped(title), escaped(&text))})
        }
        ChannelType::Telegram => json!({"text": format!("{title}{text}")}),
        _ => notification.clone(),
    }
}

/// Appends a notification to a file, made if it is not there. Blocks.
///
/// # Errors
/// When it is no regular file, a link leads to it, it is inside `forbidden`, or it cannot be written.
pub fn append(path: &Path, forbidden: &Path, notification: &Value) -> Result<(), DeliveryError> {
    let failed = |error: io::Error| {
        let message = format!("cannot write {}: {error}", path.display());
        DeliveryError::new(FailureClass::Unknown, message)
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    create_dir_durable(folder).map_err(failed)?;
    let real = folder.canonicalize().map_err(failed)?;
    if forbidden.canonicalize().is_ok_and(|forbidden| real.starts_with(forbidden)) {
        let message = format!("{} is inside the state folder", path.display());
        return Err(DeliveryError::new(FailureClass::PolicyBlocked, message));
    }
    // A FIFO without a reader must not hold us up.
    let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
    let file = no_links::open(path, flags, Mode::from_raw_mode(0o666)).map_err(failed)?;
    let mut file = File::from(file);
    if !file.metadata().map_err(failed)?.is_file() {
        let message = format!("{} is not a regular file", path.display());
        return Err(DeliveryError::new(FailureClass::Unknown, message));
    }
    // One write, so that lines of several runs do not mix.
    file.write_all(format!("{notification}\n").as_bytes()).map_err(failed)
}
