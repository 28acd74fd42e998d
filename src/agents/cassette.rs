//! Recorded replies of models: `run --record DIR` writes them, `run --offline --record DIR` works from them.
//!
//! ```text
//! DIR/cassette.json                                       what was recorded
//! DIR/replies/write-the-docs-1a2b3c4d.1.judge.0-1-1.1.json   one question and its answer, for people to read
//! ```
//!
//! A reply is found by what it is for: task, attempt, stage, seat, try. It is given only to the question that was asked
//! when it was recorded; where anything of that differs there is an error that says what, never another's reply. All of
//! them are read before the first agent works and held: nothing that is done to the files afterwards changes a reply. Only
//! the time in a prompt may differ. Keys never stand in a cassette: headers and addresses are not recorded, and a key
//! that a text repeats is blotted out, whoever's key it is: what one agent says is shown to others.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use rules::domain::{Digest, FailureClass, Millis, RunId, undated};
use supervisor::files::no_links::real_path;
use supervisor::files::{LONGEST_FILE, create_dir_durable, if_there, read_regular, replace_file};

use super::endpoint::Endpoint;
use super::model::{Dialogue, ModelError, ModelReply, ModelRequest};
use super::secrets::Secrets;

/// The form of a cassette's head.
const CASSETTE: &str = "quorum.cassette/v1";
/// The form of one recorded reply.
const REPLY: &str = "quorum.recorded-reply/v1";
/// Characters of a title that stand in a file's name.
const LONGEST_SLUG: usize = 40;
/// How much of a recording is held, in bytes.
const MOST_HELD: u64 = 1 << 30;
/// Characters of a line that is shown because it differs.
const LONGEST_LINE: usize = 120;

/// The purpose of a question. Two questions of one run never share it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallKey {
    /// The title of the task.
    pub task: String,
    /// The agent that is asked.
    pub agent: String,
    pub attempt: u32,
    /// `work`, `judge`, or what an agent is asked about.
    pub stage: String,
    /// Where in the stage: turn; or seat, round and try; or number and try.
    pub place: Vec<u32>,
}

impl CallKey {
    /// The name of the file with the reply to the n-th request of the call.
    fn file(&self, request: u32) -> String {
        let mut slug = String::new();
        for c in self.task.chars().flat_map(char::to_lowercase).take(LONGEST_SLUG) {
            if c.is_ascii_alphanumeric() {
                slug.push(c);
            } else if !slug.ends_with('-') {
                slug.push('-');
            }
        }
        let id = Digest::of(self.task.as_bytes()).short();
        let place: Vec<String> = self.place.iter().map(u32::to_string).collect();
        format!(
            "{}-{id}.{}.{}.{}.{request}.json",
            slug.trim_matches('-'),
            self.attempt,
            self.stage,
            place.join("-")
        )
    }

    fn describe(&self) -> String {
        format!("task '{}', attempt {}, {}", self.task, self.attempt, self.stage)
    }
}

/// The request to a model: all of it that can change the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RecordedQuestion {
    protocol: String,
    model: String,
    temperature: Option<Decimal>,
    max_tokens: Option<u32>,
    /// The digest of the JSON Schema that the reply was held to.
    schema: Option<Digest>,
    tools: Vec<String>,
    must_reply: bool,
    system: Option<String>,
    prompt: String,
    /// The results of the tools that the reply before asked for.
    given: Vec<RecordedResult>,
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RecordedResult {
    tool: String,
    failed: bool,
    text: String,
}

impl RecordedQuestion {
    pub(super) fn of(endpoint: &Endpoint, request: &ModelRequest, dialogue: &Dialogue) -> Self {
        let results = dialogue.exchanges.last().into_iter();
        let given = results.flat_map(|exchange| &exchange.calls).map(|(call, result)| RecordedResult {
            tool: call.name.clone(),
            failed: result.failed,
            text: result.text.clone(),
        });
        Self {
            protocol: endpoint.protocol.name.to_owned(),
            model: endpoint.model.clone(),
            temperature: request.temperature,
            max_tokens: request.max_tokens,
            schema: request.schema.as_ref().map(|schema| Digest::of(schema.to_string().as_bytes())),
            tools: dialogue.tools.iter().map(|tool| tool.name.to_owned()).collect(),
            must_reply: dialogue.must_reply,
            system: request.system.as_deref().map(|text| undated(text).into_owned()),
            prompt: undated(&request.prompt).into_owned(),
            given: given.collect(),
        }
    }

    fn digest(&self) -> Digest {
        let text = serde_json::to_vec(self).expect("texts and numbers can be written as JSON");
        Digest::of(&text)
    }

    /// The first thing in which this question differs from the recorded one.
    fn difference(&self, recorded: &Self) -> String {
        const NAMES: [(&str, &str); 10] = [
            ("protocol", "protocol"),
            ("model", "model"),
            ("temperature", "temperature"),
            ("maxTokens", "maxTokens"),
            ("schema", "form of the reply"),
            ("tools", "list of tools"),
            ("mustReply", "end of the tools"),
            ("prompt", "prompt"),
            ("system", "system prompt"),
            ("given", "result of the tools"),
        ];
        let lines = |value: &Value| match value {
            Value::Array(given) => {
                let words = |part: &Value| part.as_str().unwrap_or_default().to_owned();
                let given = given.iter().map(|one| words(&one["tool"]) + ": " + &words(&one["text"]));
                given.collect::<Vec<_>>().join("\n")
            }
            text => text.as_str().unwrap_or_default().to_owned(),
        };
        let [was, is] = [json!(recorded), json!(self)];
        for (key, name) in NAMES {
            let (was, is) = (&was[key], &is[key]);
            if matches!(key, "prompt" | "system" | "given") {
                if let Some((line, was, is)) = first_difference(&lines(was), &lines(is)) {
                    return format!("line {line} of the {name} was {was:?} and is {is:?}");
                }
            } else if was != is {
                return format!("the {name} was {was} and is {is}");
            }
        }
        "it was asked with other words, which were removed as secrets".to_owned()
    }
}

/// The first line that two texts do not share.
fn first_difference(was: &str, is: &str) -> Option<(usize, String, String)> {
    let clip = |line: Option<&str>| -> String {
        line.map_or("(nothing)".to_owned(), |line| line.chars().take(LONGEST_LINE).collect())
    };
    let (mut was, mut is) = (was.lines(), is.lines());
    for number in 1.. {
        let (a, b) = (was.next(), is.next());
        match (a, b) {
            (None, None) => break,
            _ if a != b => return Some((number, clip(a), clip(b))),
            _ => {}
        }
    }
    None
}

/// The answer of a call as it was recorded, or how the call failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RecordedAnswer {
    Reply(ModelReply),
    Error(ModelError),
}

/// A question with its answer, as it stands in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct CassetteEntry {
    call: CallKey,
    request: u32,
    /// The digest of the question: as it was asked, and as it stands here, where that is another. What a model said
    /// with a key in it is part of later questions, and there it is blotted out when they are asked again.
    digests: Vec<Digest>,
    question: RecordedQuestion,
    answer: RecordedAnswer,
}

#[derive(Serialize, Deserialize)]
struct CassetteFile {
    schema: String,
    /// The digest of the entry, so that no reply is anything else than what was recorded.
    checksum: Digest,
    entry: Value,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The folder holds no recording.
    #[error("{0} holds no recording")]
    Nothing(PathBuf),
    /// The folder holds a recording already, and a new one would be mixed with it.
    #[error("{0} holds a recording already")]
    Taken(PathBuf),
    /// The folder holds a recording of another form.
    #[error("{path} is no recording that this version of quorum can read: {problem}")]
    Unknown {
        /// The path of the file.
        path: PathBuf,
        problem: String,
    },
    /// The file system said no.
    #[error("cannot use {path}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
}

impl CassetteError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

/// A reply cannot be written down.
#[derive(Debug, thiserror::Error)]
#[error("cannot record the reply in {0}: {1}")]
pub(super) struct NotRecorded(PathBuf, #[source] io::Error);

/// Why a recording has no reply to a question.
#[derive(Debug, thiserror::Error)]
enum NoEntry {
    #[error("none was recorded")]
    None,
    /// The file could not be read when the recording was opened.
    #[error("{0}")]
    Unread(String),
    #[error("its file cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
    #[error("its file has the form {0:?}")]
    Form(String),
    #[error("its file was changed since it was recorded")]
    Changed,
    #[error("it was recorded for agent '{0}', {1}")]
    OtherCall(String, String),
    #[error("another question was recorded: {0}")]
    OtherQuestion(String),
}

/// The head of a recording.
#[derive(Serialize, Deserialize)]
struct CassetteHead {
    schema: String,
    quorum: String,
    /// The run that was recorded. Files are named by what a call is for, so there is one run in a recording.
    run: Option<RunId>,
}

/// A folder of recorded replies.
#[derive(Debug)]
pub struct Cassette {
    folder: PathBuf,
    /// The files of all replies by name, as they were when it was opened to be worked from.
    held: BTreeMap<String, Result<Vec<u8>, String>>,
    secrets: OnceLock<Secrets>,
}

impl Cassette {
    /// A folder to record a run into. One with replies of another run in it is refused.
    ///
    /// # Errors
    /// [`CassetteError`]
    pub fn record_into(folder: &Path, run: &RunId) -> Result<Self, CassetteError> {
        let cassette = Self::at(folder);
        let replies = cassette.replies();
        create_dir_durable(&replies).map_err(CassetteError::io(&replies))?;
        let mut entries = fs::read_dir(&replies).map_err(CassetteError::io(&replies))?;
        if entries.next().is_some() {
            let of_this = cassette.read_head()?.run.as_ref() == Some(run);
            return if of_this { Ok(cassette) } else { Err(CassetteError::Taken(folder.to_owned())) };
        }
        let head = CassetteHead {
            schema: CASSETTE.to_owned(),
            quorum: env!("CARGO_PKG_VERSION").to_owned(),
            run: Some(run.clone()),
        };
        let path = cassette.head();
        let text =
            serde_json::to_string_pretty(&head).map_err(io::Error::from).map_err(CassetteError::io(&path))?;
        replace_file(&path, format!("{text}\n").as_bytes()).map_err(CassetteError::io(&path))?;
        Ok(cassette)
    }

    /// A folder to work from.
    ///
    /// # Errors
    /// [`CassetteError`]
    pub fn open(folder: &Path) -> Result<Self, CassetteError> {
        let mut cassette = Self::at(folder);
        cassette.read_head()?;
        let replies = cassette.replies();
        let mut left = MOST_HELD;
        let Some(entries) = if_there(fs::read_dir(&replies)).map_err(CassetteError::io(&replies))? else {
            return Ok(cassette);
        };
        for entry in entries {
            let name = entry.map_err(CassetteError::io(&replies))?.file_name().to_string_lossy().into_owned();
            if !name.ends_with(".json") {
                continue;
            }
            let bytes = read_regular(&replies.join(&name), left).map_err(|error| error.to_string());
            left -= bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
            cassette.held.insert(name, bytes);
        }
        Ok(cassette)
    }

    fn at(folder: &Path) -> Self {
        Self {
            // Where it lies is for the user to say, with links or without.
            folder: real_path(folder).unwrap_or_else(|_| folder.to_owned()),
            held: BTreeMap::new(),
            secrets: OnceLock::new(),
        }
    }

    fn read_head(&self) -> Result<CassetteHead, CassetteError> {
        let path = self.head();
        let bytes = if_there(read_regular(&path, LONGEST_FILE)).map_err(CassetteError::io(&path))?;
        let bytes = bytes.ok_or_else(|| CassetteError::Nothing(self.folder.clone()))?;
        let unknown = |problem| CassetteError::Unknown { path: path.clone(), problem };
        let head: Value = serde_json::from_slice(&bytes).map_err(|error| unknown(error.to_string()))?;
        if head["schema"] != CASSETTE {
            return Err(unknown(format!("its schema is {}", head["schema"])));
        }
        serde_json::from_value(head).map_err(|error| unknown(error.to_string()))
    }

    /// Says what must not be recorded: the keys of all agents of the run, however they are reached. Once, before the first
    /// call.
    pub fn hold_back(&self, secrets: Secrets) {
        // A second time it would be the same run with the same agents.
        let _ = self.secrets.set(secrets);
    }

    /// Takes the keys of all agents out of every text.
    fn redact_value(&self, value: &mut Value) {
        if let Some(secrets) = self.secrets.get() {
            secrets.redact_value(value);
        }
    }

    /// The digests of a question as it is, and without any key.
    fn digests(&self, question: &RecordedQuestion) -> Vec<Digest> {
        let as_asked = question.digest();
        let mut clean = serde_json::to_value(question).unwrap_or_default();
        self.redact_value(&mut clean);
        let clean = serde_json::from_value(clean).map_or(as_asked, |clean: RecordedQuestion| clean.digest());
        let mut digests = vec![as_asked, clean];
        digests.dedup();
        digests
    }

    fn head(&self) -> PathBuf {
        self.folder.join("cassette.json")
    }

    fn replies(&self) -> PathBuf {
        self.folder.join("replies")
    }

    /// Writes down what came back. Blocks.
    ///
    /// # Errors
    /// Why it is not on record.
    pub(super) fn put(
        &self,
        call: &CallKey,
        number: u32,
        question: &RecordedQuestion,
        result: &Result<ModelReply, ModelError>,
    ) -> Result<(), NotRecorded> {
        let path = self.replies().join(call.file(number));
        let lost = |error| NotRecorded(path.clone(), error);
        let answer = match result {
            Ok(reply) => RecordedAnswer::Reply(reply.clone()),
            Err(error) => RecordedAnswer::Error(error.clone()),
        };
        let entry = CassetteEntry {
            call: call.clone(),
            request: number,
            digests: self.digests(question),
            question: question.clone(),
            answer,
        };
        let mut entry = serde_json::to_value(entry).map_err(|error| lost(error.into()))?;
        self.redact_value(&mut entry);
        let document = CassetteFile {
            schema: REPLY.to_owned(),
            checksum: Digest::of(entry.to_string().as_bytes()),
            entry,
        };
        let mut text = serde_json::to_string_pretty(&document).map_err(|error| lost(error.into()))?;
        text.push('\n');
        replace_file(&path, text.as_bytes()).map_err(lost)
    }

    /// The recorded answer to the same question. Blocks.
    ///
    /// # Errors
    ///
    /// The failure that was recorded; or, of a class that is not tried again, that there is no such record or
    /// another question was recorded.
    pub(super) fn get(
        &self,
        call: &CallKey,
        number: u32,
        question: &RecordedQuestion,
    ) -> Result<ModelReply, ModelError> {
        let name = call.file(number);
        let path = self.replies().join(&name);
        let entry = self.entry(&name).and_then(|entry| {
            if entry.call != *call || entry.request != number {
                let was = &entry.call;
                return Err(NoEntry::OtherCall(was.agent.clone(), was.describe()));
            }
            let digests = self.digests(question);
            if !digests.iter().any(|digest| entry.digests.contains(digest)) {
                return Err(NoEntry::OtherQuestion(question.difference(&entry.question)));
            }
            Ok(entry)
        });
        match entry.map(|entry| entry.answer) {
            Ok(RecordedAnswer::Reply(reply)) => Ok(reply),
            Ok(RecordedAnswer::Error(error)) => {
                Err(ModelError { retry_after: error.class.passes_by_itself().then_some(Millis(0)), ..error })
            }
            // Of a class that is not tried again, for that would not be answered either; and ours, for the model has said
            // nothing, good or bad.
            Err(why) => Err(ModelError {
                class: FailureClass::PolicyBlocked,
                ..ModelError::here(format!(
                    "offline: {} has no recorded reply of '{}': {why} ({})",
                    call.describe(),
                    call.agent,
                    path.display()
                ))
            }),
        }
    }

    fn entry(&self, name: &str) -> Result<CassetteEntry, NoEntry> {
        let bytes = self.held.get(name).ok_or(NoEntry::None)?;
        let bytes = bytes.as_deref().map_err(|why| NoEntry::Unread(why.clone()))?;
        let document: CassetteFile = serde_json::from_slice(bytes)?;
        if document.schema != REPLY {
            return Err(NoEntry::Form(document.schema));
        }
        if document.checksum != Digest::of(document.entry.to_string().as_bytes()) {
            return Err(NoEntry::Changed);
        }
        Ok(serde_json::from_value(document.entry)?)
    }
}

#[cfg(test)]
mod tests;
