//! The replies of reviewers and of others who are asked: stored, sealed and read in one way, whoever was asked and how.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::agents::endpoint::Endpoint;
use crate::agents::failure::{FailedCommand, Moment, of_start, read_command};
use crate::agents::model::ModelError;
use crate::agents::preset::Called;
use crate::agents::secrets::Secrets;
use crate::executor::command::{CommandEnd, How, LONGEST_QUOTE};
use crate::executor::error::WorkError;
use crate::executor::program::read_program;
use crate::executor::spool::{self, read_head_bytes, seal};
use crate::review::judgement::Judgement;
use crate::review::stored_reply::{CUT_SHORT, JudgeReply, LARGEST_REPLY};
use rules::domain::{AskId, Digest, FailureClass, Money};
use rules::engine::{AskFailure, FileRef, ReplyRef, ToolLedgerRef, Usage, Used};
use rules::judging::parser::Quoted;
use rules::mission::model::Preset;

use super::context::{blocking, jitter};
use super::reviewer_tools::JudgeAnswer;

/// Where a reply lies, and beside it what its verdict rests on.
pub struct ReplyFiles {
    pub reply: PathBuf,
    pub judgement: PathBuf,
}

/// A failure of whoever was asked, in some call.
pub fn ask_failure(class: FailureClass, message: impl Into<String>) -> AskFailure {
    AskFailure {
        id: AskId::default(),
        class,
        message: message.into(),
        retry_after: None,
        jitter: jitter(),
        used: None,
        ours: false,
        never_began: false,
    }
}

/// The failure of a call to a model.
pub fn failed_model(error: ModelError) -> AskFailure {
    AskFailure { retry_after: error.retry_after, ours: error.ours, ..ask_failure(error.class, error.message) }
}

/// A failure of this program.
pub fn failed_here(message: impl Into<String>) -> AskFailure {
    AskFailure { ours: true, ..ask_failure(FailureClass::Unknown, message) }
}

/// A failure of this program before anybody was asked.
pub fn unasked(message: impl Into<String>) -> AskFailure {
    AskFailure { never_began: true, ..failed_here(message) }
}

/// Why there is no reply of a command: it never ran, or failed in its own words on its outputs, which are quoted. How long
/// it asks to be left alone, where it says so. Blocks.
pub fn no_reply(who: &str, end: &CommandEnd) -> Option<AskFailure> {
    match end.how() {
        How::Exited(0) => return lost(who, end),
        How::NotStarted(why) => {
            return Some(AskFailure { never_began: true, ..ask_failure(of_start(why), why) });
        }
        How::TimedOut => {
            let message = format!("{who} {}", how(end));
            return Some(ask_failure(FailureClass::Timeout, message));
        }
        How::Exited(_) | How::Killed(_) => {}
    }
    let how = how(end);
    let (stdout, stderr) = end.last_words();
    let told = read_command(&FailedCommand {
        code: end.exit.code,
        stderr: &stderr,
        stdout: &stdout,
        at: Moment::of_end(&end.exit),
        ..FailedCommand::default()
    });
    let said: String = told.reason.chars().take(LONGEST_QUOTE).collect();
    let last = stdout.lines().map(str::trim).rfind(|line| !line.is_empty());
    let message = match (said.trim(), last) {
        ("", None) => format!("{who} {how} and printed nothing"),
        ("", Some(last)) => {
            let last: String = last.chars().take(LONGEST_QUOTE).collect();
            format!("{who} {how}; the last line that it printed: {last}")
        }
        (said, _) => format!("{who} {how}: {said}"),
    };
    Some(AskFailure { retry_after: told.retry_after, ..ask_failure(told.class, message) })
}

/// The reply of a command that is not what it printed.
fn lost(who: &str, end: &CommandEnd) -> Option<AskFailure> {
    let why = end.lost()?;
    Some(failed_here(format!("the reply of {who} is lost: {why}")))
}

/// How a command ended, behind the name of whoever was asked.
fn how(end: &CommandEnd) -> String {
    match end.how() {
        How::TimedOut => "was killed after its time-out".to_owned(),
        How::Killed(_) => "was killed".to_owned(),
        How::Exited(code) => format!("exited {code}"),
        How::NotStarted(why) => why.to_owned(),
    }
}

/// The reply of a program, as a preset reads it.
pub struct ProgramReply {
    pub text: String,
    pub model: Option<String>,
    pub usage: Usage,
}

/// The reply of an agent's program: held to a schema, else its last message. Blocks.
pub fn of_program(who: &str, end: &CommandEnd, preset: &Arc<Preset>) -> Result<ProgramReply, AskFailure> {
    let unread = match end.how() {
        How::NotStarted(_) => no_reply(who, end),
        _ => lost(who, end),
    };
    if let Some(failed) = unread {
        return Err(failed);
    }
    let timed_out = end.exit.timed_out;
    let failed = FailedCommand {
        program: preset.argv.first().map_or("", |program| program),
        code: end.exit.code.filter(|_| !timed_out),
        timed_out,
        at: Moment::of_end(&end.exit),
        ..FailedCommand::default()
    };
    let told = read_program(preset, end, failed);
    let told = told.map_err(|error| failed_here(format!("the reply of {who} cannot be read: {error}")))?;
    let usage = Usage {
        input_tokens: told.heard.usage.input,
        output_tokens: told.heard.usage.output,
        cost: told.heard.usage.cost.and_then(Money::new),
    };
    let Some(failure) = told.failure else {
        let structured = told.heard.structured.map(|value| value.to_string());
        return Ok(ProgramReply {
            text: structured.unwrap_or(told.heard.text),
            model: told.heard.model,
            usage,
        });
    };
    let how = how(end);
    let said: String = failure.reason.chars().take(LONGEST_QUOTE).collect();
    Err(AskFailure {
        retry_after: failure.retry_after,
        used: used(usage),
        ..ask_failure(failure.class, format!("{who} {how}: {said}"))
    })
}

/// The usage of a call that gave no reply; `None` where nothing is known of it.
fn used(usage: Usage) -> Option<Box<Used>> {
    let used = Used { usage, tools: ToolLedgerRef::default() };
    (!usage.is_none()).then(|| Box::new(used))
}

/// The reply of a command that has ended, as its preset reads it where there is one. Blocks.
pub fn of_command<T>(
    (who, preset): (&str, Option<&Arc<Preset>>),
    end: &CommandEnd,
    mut judgement: Judgement,
    place: &ReplyFiles,
    parse: impl FnOnce(JudgeReply<'_>, &Quoted) -> T,
) -> Result<(T, ReplyRef), AskFailure> {
    if let Some(preset) = preset {
        let said = of_program(who, end, preset)?;
        judgement.cut_short |= end.exit.output_cut;
        write(&place.reply, &said.text).map_err(failed_here)?;
        let least = (said.text.len() as u64, Some(Digest::of(said.text.as_bytes())));
        let read = read(place, &judgement, least, (said.model, said.usage), parse);
        return read.map_err(|failed| AskFailure { used: used(said.usage), ..failed });
    }
    // Claims that cannot be read are none: what was used is unknown then.
    let claims = end.claims().ok().flatten();
    let claims = claims.map(|(_, claims)| claims).unwrap_or_default();
    let usage = claims.usage.as_usage();
    let in_vain = |failed| AskFailure { used: used(usage), ..failed };
    if let Some(failed) = no_reply(who, end) {
        return Err(in_vain(failed));
    }
    let least = (end.exit.stdout_len, end.exit.stdout_digest);
    judgement.cut_short |= end.exit.output_cut;
    read(place, &judgement, least, (claims.model, usage), parse).map_err(in_vain)
}

/// Stores what a model replied, and reads it.
pub async fn of_model<T: Send + 'static>(
    answered: JudgeAnswer,
    judgement: Judgement,
    endpoint: &Endpoint,
    place: ReplyFiles,
    parse: impl FnOnce(JudgeReply<'_>, &Quoted) -> T + Send + 'static,
) -> Result<(T, ReplyRef), AskFailure> {
    let used = answered.in_vain();
    let failed = |failed: AskFailure| AskFailure { used, ..failed };
    let reply = match &answered.reply {
        Ok(reply) => reply,
        Err(error) => {
            return Err(failed(failed_model(error.clone())));
        }
    };
    let judgement = answered.judgement(judgement, &endpoint.model, reply);
    let (text, said) = (reply.text.clone(), (reply.model.clone(), answered.usage()));
    let read = blocking(move || {
        write(&place.reply, &text).map_err(failed_here)?;
        let least = (text.len() as u64, Some(Digest::of(text.as_bytes())));
        read(&place, &judgement, least, said, parse)
    });
    let read = read.await.unwrap_or_else(|why| Err(failed_here(why)));
    let (result, reply) = read.map_err(failed)?;
    let tools = answered.tools.map(Box::new);
    Ok((result, ReplyRef { tools, ..reply }))
}

/// Reads what a stored reply of at least so many bytes, and of this digest where it is known, says, and writes down what its
/// verdict rests on. Blocks.
fn read<T>(
    place: &ReplyFiles,
    judgement: &Judgement,
    (least, digest): (u64, Option<Digest>),
    (model, usage): (Option<String>, Usage),
    parse: impl FnOnce(JudgeReply<'_>, &Quoted) -> T,
) -> Result<(T, ReplyRef), AskFailure> {
    // Of a reply that was cut, half a number could be read as a whole one: that is no word about the work.
    if judgement.cut_short {
        return Err(ask_failure(FailureClass::Unknown, CUT_SHORT));
    }
    // It is there and vouched for, and we cannot read it: that says nothing about the work.
    let unreadable = |why: String| failed_here(format!("the reply cannot be read: {why}"));
    let file = seal(&place.reply).map_err(|error| unreadable(error.to_string()))?;
    // An empty reply is a reply, and says nothing.
    let file = file.unwrap_or_else(nothing);
    if file.length < least {
        return Err(unreadable(format!("it has {} bytes, and had {least}", file.length)));
    }
    if digest.is_some_and(|digest| digest != file.digest) {
        return Err(unreadable("somebody else has written to it".to_owned()));
    }
    let bytes = read_head_bytes(&place.reply, LARGEST_REPLY);
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    // What is read must be what the record vouches for, byte by byte. A reply that is too long is not read at all.
    if file.length <= LARGEST_REPLY && Digest::of(&bytes) != file.digest {
        return Err(unreadable("it was written to while it was read".to_owned()));
    }
    let text = String::from_utf8_lossy(&bytes);
    let judged = write_judgement(&place.judgement, judgement).map_err(failed_here)?;
    let said = JudgeReply { text: &text, len: file.length, cut_short: judgement.cut_short };
    let reply = ReplyRef { reply: file, model, usage, tools: None, judgement: judged };
    Ok((parse(said, &judgement.work), reply))
}

/// Writes a reply to the spool, durable before any record names it.
pub async fn store(path: &Path, text: &str) -> Result<Option<FileRef>, WorkError> {
    let (path, text) = (path.to_owned(), text.to_owned());
    blocking(move || write(&path, &text)).await?
}

/// Writes a reply to the spool, durable before any record names it. Blocks.
pub fn write(path: &Path, text: &str) -> Result<Option<FileRef>, WorkError> {
    spool::write(path, text.as_bytes())?;
    seal(path).map_err(WorkError::file("store", path))
}

/// Writes what a verdict rests on beside the reply, durable before any record names it. Blocks.
pub fn write_judgement(path: &Path, judgement: &Judgement) -> Result<Option<Box<FileRef>>, WorkError> {
    let mut text = serde_json::to_string_pretty(judgement)?;
    text.push('\n');
    Ok(write(path, &text)?.map(Box::new))
}

/// Writes down what a turn was seen to do: calls of tools that its program told of, and its words of progress. Blocks.
pub fn write_steps(
    path: &Path,
    called: &[Called],
    progress: &[String],
    secrets: &Secrets,
) -> Result<Option<Box<ToolLedgerRef>>, WorkError> {
    let words = progress.iter().map(|text| Called {
        tool: "progress".to_owned(),
        arguments: json!({"text": text}),
        exit: None,
    });
    let mut lines = String::new();
    for step in called.iter().cloned().chain(words) {
        let mut step = json!(step);
        secrets.redact_value(&mut step);
        lines.push_str(&format!("{step}\n"));
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let file = write(path, &lines)?;
    Ok(file.map(|file| {
        Box::new(ToolLedgerRef {
            ledger: Some(file),
            calls: u32::try_from(called.len()).unwrap_or(u32::MAX),
            ..ToolLedgerRef::default()
        })
    }))
}

/// A reply of no length.
pub fn nothing() -> FileRef {
    FileRef { length: 0, digest: Digest::of(b"") }
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
