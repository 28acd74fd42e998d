//! One turn as a state machine: lines of the server in, steps to take out. It starts and waits for nothing itself.

use std::mem;
use std::time::Duration;

use serde_json::{Value, json};

use super::failures::{self, AUTH_REQUIRED, Codex};
use super::lines::{self, LONG_TEXT, SHORT_TEXT, ServerFailure, cut};
use super::login;
use super::modes::{self, Change, NeededMode, SessionSettings};
use super::options::Options;
use super::paths::WorkingFolder;
use super::permission::{self, PermissionDecision};
use super::texts::{self, Texts};
use super::tools::TurnTools;
use super::usage::AcpUsage;
use super::wire::{self, RpcError, ServerMessage};

/// The version of the protocol that is spoken here.
const PROTOCOL: u64 = 1;
/// The beginning of an error about a session that is not there any more.
const LOST_SESSION: &str = "cannot go on in the session";
/// How long the server has to end its turn after it was told that a person must be asked first.
const CANCEL_TIME: Duration = Duration::from_secs(2);
/// How many lines of its output may be no messages.
const MOST_NOISE: u32 = 1_000;
/// The time that the server has after somebody wants the turn to end.
pub const TERMINATE_TIME: Duration = Duration::from_secs(1);
/// Exit codes: the turn came to its end, it did not, SIGTERM has ended it.
pub const DONE: u8 = 0;
pub const FAILED: u8 = 1;
pub const TERMINATED: u8 = 128 + 15;

/// Something to do, in order.
#[derive(Debug, PartialEq)]
pub enum TurnStep {
    /// Write this to the server, in a line.
    Send(Value),
    /// Print this, in a line.
    Print(Value),
    /// Call [`Turn::time_is_up`] when so much time has passed.
    WaitAtMost(Duration),
    /// Nothing more is to come: end the server, and then with this code.
    Exit(u8),
}

/// The answer that the turn waits for.
#[derive(Debug)]
enum TurnPhase {
    Initialize,
    Authenticate,
    /// `session/load` or `session/resume` of this session.
    GoOn(String),
    New,
    Model(Change),
    Mode(Change),
    Prompt,
    /// The end of a cancelled prompt, and then the end with this code.
    Cancelled(u8),
    Over,
}

/// The abilities that the server has told of.
#[derive(Debug, Default)]
struct Server {
    logins: Vec<Value>,
    can_load: bool,
    can_resume: bool,
    /// Whether the answer to a prompt tells the usage of the model's last call, not of all.
    tells_last_usage_only: bool,
}

impl Server {
    fn read(answer: &Value) -> Self {
        let capabilities = &answer["agentCapabilities"];
        let name = answer["agentInfo"]["name"].as_str();
        let resume = &capabilities["sessionCapabilities"]["resume"];
        Self {
            logins: login::methods(answer),
            can_load: capabilities["loadSession"] == true,
            can_resume: !resume.is_null() && *resume != false,
            tells_last_usage_only: name.is_some_and(|name| name.eq_ignore_ascii_case("opencode")),
        }
    }
}

/// The state of one turn.
pub struct Turn {
    options: Options,
    folder: WorkingFolder,
    prompt: String,
    needed: NeededMode,
    phase: TurnPhase,
    last_id: u64,
    server: Server,
    has_tried_login: bool,
    /// The session that it runs in, from when that is known.
    session: String,
    is_resumed: bool,
    settings: SessionSettings,
    /// The mode that was told last, from when one is being set.
    mode: Option<String>,
    texts: Texts,
    tools: TurnTools,
    usage: AcpUsage,
    codex: Codex,
    /// The last line of the server's standard error, or of its output where that was no message.
    last_words: String,
    /// How many lines of its output were no messages.
    noise: u32,
    steps: Vec<TurnStep>,
}

impl Turn {
    pub fn new(options: Options, folder: WorkingFolder, prompt: String) -> Self {
        Self {
            needed: NeededMode::of(&options),
            options,
            folder,
            prompt,
            phase: TurnPhase::Initialize,
            last_id: 0,
            server: Server::default(),
            has_tried_login: false,
            session: String::new(),
            is_resumed: false,
            settings: SessionSettings::default(),
            mode: None,
            texts: Texts::default(),
            tools: TurnTools::default(),
            usage: AcpUsage::default(),
            codex: Codex::default(),
            last_words: String::new(),
            noise: 0,
            steps: Vec::new(),
        }
    }

    /// Begins the turn, and gives the first steps.
    pub fn begin(&mut self) -> Vec<TurnStep> {
        let params = json!({
            "protocolVersion": PROTOCOL,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "quorum", "title": "quorum", "version": env!("CARGO_PKG_VERSION")},
        });
        self.request("initialize", params, TurnPhase::Initialize);
        mem::take(&mut self.steps)
    }

    /// Takes a line of the server's standard output.
    pub fn line(&mut self, line: &[u8]) -> Vec<TurnStep> {
        if !line.trim_ascii().is_empty() && !matches!(self.phase, TurnPhase::Over) {
            match wire::read(line) {
                Ok(ServerMessage::Answer { id, result }) if id == self.last_id => self.answered(result),
                Ok(ServerMessage::Answer { .. } | ServerMessage::Unknown) => {}
                Ok(ServerMessage::Request { id, method, params }) => self.requested(id, &method, &params),
                Ok(ServerMessage::Notification { method, params }) => self.notified(&method, &params),
                Err(wire::NoMessage) => {
                    let line = cut(&String::from_utf8_lossy(line), SHORT_TEXT);
                    self.noise += 1;
                    if self.noise > MOST_NOISE {
                        let why =
                            format!("the server printed {MOST_NOISE} lines that are no messages: {line}");
                        self.break_off(&why);
                    }
                    self.words(&line);
                }
            }
        }
        mem::take(&mut self.steps)
    }

    /// Takes a line of the server's standard error.
    pub fn words(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.last_words = cut(line.trim(), SHORT_TEXT);
        }
    }

    /// The server cannot be understood or reached any more, or has ended. `why` becomes the error's message, followed by
    /// the server's last words.
    pub fn broken(&mut self, why: &str) -> Vec<TurnStep> {
        self.break_off(why);
        mem::take(&mut self.steps)
    }

    /// Somebody wants us to end.
    pub fn terminate(&mut self) -> Vec<TurnStep> {
        match self.phase {
            TurnPhase::Over => {}
            TurnPhase::Prompt => self.cancel(TERMINATED, TERMINATE_TIME),
            TurnPhase::Cancelled(_) => {
                self.phase = TurnPhase::Cancelled(TERMINATED);
                self.steps.push(TurnStep::WaitAtMost(TERMINATE_TIME));
            }
            _ => self.end(TERMINATED),
        }
        mem::take(&mut self.steps)
    }

    /// The time that was to be waited has passed.
    pub fn time_is_up(&mut self) -> Vec<TurnStep> {
        if let TurnPhase::Cancelled(code) = self.phase {
            self.end(code);
        }
        mem::take(&mut self.steps)
    }

    fn request(&mut self, method: &str, params: Value, phase: TurnPhase) {
        self.last_id += 1;
        self.phase = phase;
        self.send(wire::request(self.last_id, method, params));
    }

    fn send(&mut self, message: Value) {
        self.steps.push(TurnStep::Send(message));
    }

    fn print(&mut self, lines: impl IntoIterator<Item = Value>) {
        self.steps.extend(lines.into_iter().map(TurnStep::Print));
    }

    fn answered(&mut self, result: Result<Value, RpcError>) {
        match (mem::replace(&mut self.phase, TurnPhase::Over), result) {
            (TurnPhase::Initialize, Ok(answer)) => self.initialized(&answer),
            (TurnPhase::Authenticate, Ok(_)) => self.open_session(),
            (TurnPhase::GoOn(id), Ok(answer)) => self.opened(id, &answer, true),
            (TurnPhase::GoOn(id), Err(error)) if !self.logs_in(&error) => {
                let failure = failures::of_error(&error);
                self.lose_session(&id, &failure.message);
            }
            (TurnPhase::New, Ok(answer)) => match answer["sessionId"].as_str() {
                Some(id) if (1..=SHORT_TEXT).contains(&id.len()) => {
                    self.opened(id.to_owned(), &answer, false)
                }
                _ => self.fail_for("the server opened a session without an id"),
            },
            (TurnPhase::New, Err(error)) if !self.logs_in(&error) => self.fail(&failures::of_error(&error)),
            // A login has begun.
            (TurnPhase::GoOn(_) | TurnPhase::New, Err(_)) => {}
            (TurnPhase::Model(change), Ok(answer)) => self.changed("model", &change, &answer),
            (TurnPhase::Mode(change), Ok(answer)) => self.changed("mode", &change, &answer),
            (TurnPhase::Model(change) | TurnPhase::Mode(change), Err(error)) => {
                let failure = failures::of_error(&error);
                let message = format!("the server refuses {}: {}", change.value, failure.message);
                self.fail(&ServerFailure { message, ..failure });
            }
            (TurnPhase::Prompt, Ok(answer)) => self.prompt_answered(&answer),
            (TurnPhase::Prompt, Err(error)) => {
                let mut failure = failures::of_error(&error);
                if self.codex.has_failed() {
                    let other = self.codex.failure();
                    failure.status = failure.status.or(other.status);
                    failure.kind = failure.kind.or(other.kind);
                }
                self.fail(&failure);
            }
            (TurnPhase::Cancelled(code), answer) => {
                if let Ok(answer) = answer {
                    self.take_usage(&answer, false);
                }
                self.end(code);
            }
            (TurnPhase::Initialize | TurnPhase::Authenticate, Err(error)) => {
                self.fail(&failures::of_error(&error))
            }
            (TurnPhase::Over, _) => {}
        }
    }

    fn initialized(&mut self, answer: &Value) {
        if let Some(version) =
            answer.get("protocolVersion").filter(|version| version.as_u64() != Some(PROTOCOL))
        {
            let version = cut(&version.to_string(), SHORT_TEXT);
            let message =
                format!("the server speaks version {version} of the protocol, quorum speaks {PROTOCOL}");
            return self.fail_for(message);
        }
        self.server = Server::read(answer);
        self.open_session();
    }

    /// Goes on in the session that was asked for, or opens a new one.
    fn open_session(&mut self) {
        let Some(id) = self.options.session.clone() else {
            return self.new_session();
        };
        let method = match &self.server {
            Server { can_resume: true, .. } => "session/resume",
            Server { can_load: true, .. } => "session/load",
            _ => return self.lose_session(&id, "the server cannot go on in a session"),
        };
        let params = json!({"sessionId": id, "cwd": self.folder.path(), "mcpServers": self.options.servers});
        self.request(method, params, TurnPhase::GoOn(id));
    }

    fn new_session(&mut self) {
        let params = json!({"cwd": self.folder.path(), "mcpServers": self.options.servers});
        self.request("session/new", params, TurnPhase::New);
    }

    /// Fails the turn because its session is lost: the prompt holds only what is new in that session, and is
    /// none for another one.
    fn lose_session(&mut self, id: &str, message: &str) {
        let id = cut(id, SHORT_TEXT);
        self.fail_for(format!("{LOST_SESSION} {id}: {message}"));
    }

    /// Logs in where an error says that this must be, once, and if there is one way that needs no person. Whether it does.
    fn logs_in(&mut self, error: &RpcError) -> bool {
        if error.code != Some(AUTH_REQUIRED) || self.has_tried_login {
            return false;
        }
        let Some(method) = login::choose(&self.server.logins, &error.data) else {
            return false;
        };
        self.has_tried_login = true;
        self.request("authenticate", json!({"methodId": method}), TurnPhase::Authenticate);
        true
    }

    fn opened(&mut self, id: String, answer: &Value, is_resumed: bool) {
        let can_go_on = self.server.can_resume || self.server.can_load;
        self.print([lines::session(can_go_on.then_some(&id), is_resumed)]);
        self.session = id;
        self.is_resumed = is_resumed;
        self.settings = SessionSettings::read(answer);
        let Some(model) = self.options.model.take() else {
            return self.set_mode();
        };
        match self.settings.set_model(&model, &self.session) {
            Ok(change) => self.request(change.method, change.params.clone(), TurnPhase::Model(change)),
            Err(failure) => self.fail(&failure),
        }
    }

    /// The mode is set last, because another model may bring another mode.
    fn set_mode(&mut self) {
        self.mode = None;
        match self.settings.set_mode(&self.needed, &self.session) {
            Ok(change) => self.request(change.method, change.params.clone(), TurnPhase::Mode(change)),
            Err(failure) => self.fail(&failure),
        }
    }

    /// The server has taken a change, unless it says that the setting has another value.
    fn changed(&mut self, setting: &str, change: &Change, answer: &Value) {
        let told = modes::current_of_option(answer, setting);
        let told = told.or(self.mode.as_deref().filter(|_| setting == "mode"));
        if let Some(other) = told.filter(|told| change.is_offered && *told != change.value) {
            let other = cut(other, SHORT_TEXT);
            let message =
                format!("the server was set to the {setting} {} and stays in {other}", change.value);
            return self.fail_for(message);
        }
        if setting == "model" {
            return self.set_mode();
        }
        self.print([lines::mode(&change.value)]);
        self.usage.begin(!self.is_resumed);
        let prompt = json!([{"type": "text", "text": mem::take(&mut self.prompt)}]);
        self.request(
            "session/prompt",
            json!({"sessionId": self.session, "prompt": prompt}),
            TurnPhase::Prompt,
        );
    }

    fn take_usage(&mut self, answer: &Value, is_whole: bool) {
        let is_last_call_only = self.server.tells_last_usage_only && self.tools.count() > 0;
        self.usage.answer(answer, is_last_call_only, is_whole);
    }

    fn prompt_answered(&mut self, answer: &Value) {
        self.take_usage(answer, true);
        match answer["stopReason"].as_str() {
            Some("end_turn") if self.codex.has_failed_with(answer) => self.fail(&self.codex.failure()),
            Some("end_turn") => {
                self.end_texts();
                self.print([lines::end("end_turn")]);
                self.exit(DONE);
            }
            Some(reason) => {
                let reason = cut(reason, SHORT_TEXT);
                let failure = ServerFailure::new(format!("the turn did not come to its end: {reason}"));
                self.fail(&ServerFailure { kind: Some(reason), ..failure });
            }
            None => self.fail_for("the turn ended without a reason"),
        }
    }

    fn notified(&mut self, method: &str, params: &Value) {
        if method != "session/update" {
            return;
        }
        // Other sessions are those of agents that the agent has started.
        let session = params["sessionId"].as_str();
        if session.is_some_and(|session| !self.session.is_empty() && session != self.session) {
            return;
        }
        let Some(update) = params.get("update") else {
            return;
        };
        let mode = modes::mode_in(update);
        // What is told before the prompt was sent is about earlier turns.
        self.usage.update(update);
        match self.phase {
            TurnPhase::Mode(_) if mode.is_some() => self.mode = mode.map(|mode| cut(mode, SHORT_TEXT)),
            TurnPhase::Prompt => {
                if let Some(mode) = mode.filter(|mode| !self.needed.tolerates(mode)) {
                    let mode = cut(mode, SHORT_TEXT);
                    let message = format!("the agent went into the mode {mode}, in which it may do too much");
                    return self.fail_for(message);
                }
                self.updated(update);
            }
            _ => {}
        }
    }

    fn updated(&mut self, update: &Value) {
        self.codex.update(update);
        let mut printed = Vec::new();
        match update["sessionUpdate"].as_str() {
            Some("agent_message_chunk") => match texts::chunk(update) {
                Some(text) if self.codex.has_failed() => self.codex.words(text),
                Some(text) => {
                    let id = update["messageId"].as_str();
                    self.texts.add(id, text, &mut printed);
                }
                None => {}
            },
            Some("tool_call" | "tool_call_update") => {
                self.texts.end(&mut printed);
                self.tools.update(update, &mut printed);
            }
            _ => {}
        }
        self.print(printed);
    }

    fn requested(&mut self, id: Value, method: &str, params: &Value) {
        let answer = match (method, &self.phase) {
            ("session/request_permission", TurnPhase::Prompt) => return self.asked(id, params),
            ("session/request_permission", _) => wire::answer(id, cancelled()),
            // We offer neither files nor terminals, and no extension.
            _ => wire::unknown_method(id),
        };
        self.send(answer);
    }

    /// The server asks for a permission.
    fn asked(&mut self, id: Value, params: &Value) {
        let mut printed = Vec::new();
        self.texts.end(&mut printed);
        let (request, name) = self.tools.request(&params["toolCall"], &mut printed);
        let decision = request.decide(&self.options, &self.folder);
        let options = &params["options"];
        let is_allowed = match decision {
            PermissionDecision::Allow => true,
            PermissionDecision::Deny => false,
            // It is allowed once.
            PermissionDecision::Ask(wish) if self.options.allowed.as_ref() == Some(&wish) => {
                self.options.allowed = None;
                true
            }
            PermissionDecision::Ask(wish) => {
                printed.push(lines::permission(&wish, &request.kind));
                self.print(printed);
                self.send(wire::answer(id, cancelled()));
                return self.cancel(DONE, CANCEL_TIME);
            }
        };
        let allowing = permission::choose(options, true).filter(|_| is_allowed);
        if allowing.is_none() {
            printed.push(lines::denied(&name, &request.title));
        }
        self.print(printed);
        let outcome = match allowing.or_else(|| permission::choose(options, false)) {
            Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option}}),
            None => cancelled(),
        };
        self.send(wire::answer(id, outcome));
    }

    /// Has the server end its turn, and then ends with `code`.
    fn cancel(&mut self, code: u8, time: Duration) {
        self.phase = TurnPhase::Cancelled(code);
        let params = json!({"sessionId": self.session});
        self.send(wire::notification("session/cancel", params));
        self.steps.push(TurnStep::WaitAtMost(time));
    }

    fn break_off(&mut self, why: &str) {
        match self.phase {
            TurnPhase::Over => {}
            TurnPhase::Cancelled(code) => self.end(code),
            _ if self.last_words.is_empty() => self.fail_for(why),
            _ => {
                let message = format!("{}; its last words: {}", cut(why, LONG_TEXT / 2), self.last_words);
                self.fail_for(message);
            }
        }
    }

    /// Prints what was not told to its end, and what was used.
    fn end_texts(&mut self) {
        let mut printed = Vec::new();
        self.texts.end(&mut printed);
        self.tools.end(&mut printed);
        printed.extend(self.usage.line());
        self.print(printed);
    }

    fn fail_for(&mut self, why: impl Into<String>) {
        self.fail(&ServerFailure::new(why));
    }

    fn fail(&mut self, failure: &ServerFailure) {
        self.end_texts();
        self.print([failure.line()]);
        self.exit(FAILED);
    }

    /// Ends without a word about how the turn ended, which was said before or interests nobody.
    fn end(&mut self, code: u8) {
        self.end_texts();
        self.exit(code);
    }

    fn exit(&mut self, code: u8) {
        self.phase = TurnPhase::Over;
        self.steps.push(TurnStep::Exit(code));
    }
}

/// The outcome of a request that nobody decides.
fn cancelled() -> Value {
    json!({"outcome": {"outcome": "cancelled"}})
}
