//! The replies of reviewers and of consulted agents: stored, sealed and read in one way, whoever was asked and how.

use std::path::{Path, PathBuf};

use crate::agents::endpoint::Endpoint;
use crate::agents::secrets::Secrets;
use crate::domain::{Digest, FailureClass, Millis};
use crate::engine::{FileRef, ReplyRef, Usage, Used};
use crate::judging::parser::Quoted;
use crate::review::judgement::Judgement;
use crate::review::verdict::{LARGEST_REPLY, Reply};
use crate::store;
use crate::supervisor::Exit;

use super::calls::reviewer_failure;
use super::children::clear;
use super::looking::Answered;
use super::spool::{Sealed, clean, clean_file, clean_stderr, read_claims, read_head_bytes, seal};

/// Where a reply lies, and beside it what its verdict rests on.
pub(super) struct Place {
    pub reply: PathBuf,
    pub judgement: PathBuf,
    /// What a command claims that replied: its model and what it used.
    pub result: PathBuf,
}

/// Why nothing came of a call.
pub(super) struct Failed {
    pub class: FailureClass,
    pub message: String,
    pub retry_after: Option<Millis>,
    /// What the call had used until then.
    pub used: Option<Box<Used>>,
    /// It was never asked, or what it said is lost here: that is no failure of whoever was asked, and nobody stands in.
    pub ours: bool,
}

impl Failed {
    /// A failure of whoever was asked.
    pub fn of(class: FailureClass, message: String) -> Self {
        Self {
            class,
            message,
            retry_after: None,
            used: None,
            ours: false,
        }
    }

    /// A failure of this program.
    pub fn ours(message: String) -> Self {
        Self {
            ours: true,
            ..Self::of(FailureClass::Unknown, message)
        }
    }
}

/// What a command replied that has ended. Blocks.
pub(super) fn of_command<T>(
    who: &str,
    (mut exit, stderr): (Exit, &Path),
    secrets: &Secrets,
    judgement: Option<&Judgement>,
    place: &Place,
    parse: impl FnOnce(Reply<'_>, &Quoted) -> T,
) -> Result<(T, ReplyRef), Failed> {
    clean_stderr(secrets, stderr);
    clean(secrets, &place.reply, &mut exit);
    // Without a key in it, it stays what was printed until it is read.
    let printed = exit.stdout_digest.filter(|_| secrets.is_empty());
    if let Some(failed) = reviewer_failure(who, &exit, (&place.reply, stderr)) {
        return Err(failed);
    }
    if let Some(lost) = &exit.output_lost {
        return Err(Failed::ours(format!("the reply of {who} is lost: {lost}")));
    }
    let judgement =
        judgement.ok_or_else(|| Failed::ours(format!("what {who} was asked is not known any more")))?;
    let least = (exit.stdout_len, printed);
    let mut judgement = judgement.clone();
    judgement.cut_short |= exit.output_cut;
    // Claims that cannot be read are none: what was used is unknown then.
    let claims = clean_file(secrets, &place.result).and_then(|()| read_claims(&place.result));
    let claims = claims
        .ok()
        .flatten()
        .map(|(_, claims)| claims)
        .unwrap_or_default();
    read(
        place,
        &judgement,
        least,
        (claims.model, claims.usage.as_usage()),
        parse,
    )
}

/// Makes room for the result file of a command that is asked, and names it to the command.
pub(super) fn offer_result(path: &Path, variables: &mut Vec<(String, String)>) -> Result<(), String> {
    clear(path)?;
    let path = path.to_string_lossy().into_owned();
    variables.push(("QUORUM_RESULT_FILE".to_owned(), path));
    Ok(())
}

/// Stores what a model replied, and reads it.
pub(super) async fn of_model<T: Send + 'static>(
    answered: Answered,
    judgement: Judgement,
    endpoint: &Endpoint,
    place: Place,
    parse: impl FnOnce(Reply<'_>, &Quoted) -> T + Send + 'static,
) -> Result<(T, ReplyRef), Failed> {
    let used = answered.in_vain();
    let failed = |failed: Failed| Failed { used, ..failed };
    let reply = match &answered.reply {
        Ok(reply) => reply,
        Err(error) => {
            return Err(failed(Failed {
                retry_after: error.retry_after,
                ours: error.ours,
                ..Failed::of(error.class, error.message.clone())
            }));
        }
    };
    let judgement = answered.judgement(judgement, &endpoint.model, reply);
    let (text, said) = (reply.text.clone(), (reply.model.clone(), answered.usage()));
    let read = tokio::task::spawn_blocking(move || {
        write(&place.reply, &text).map_err(Failed::ours)?;
        let least = (text.len() as u64, Some(Digest::of(text.as_bytes())));
        read(&place, &judgement, least, said, parse)
    });
    let read = read
        .await
        .unwrap_or_else(|error| Err(Failed::ours(error.to_string())));
    let (result, reply) = read.map_err(failed)?;
    let tools = answered.tools.map(Box::new);
    Ok((result, ReplyRef { tools, ..reply }))
}

/// Reads what a stored reply of at least so many bytes, and of this digest where it is known, says, and writes down what its
/// verdict rests on. Blocks.
fn read<T>(
    place: &Place,
    judgement: &Judgement,
    (least, digest): (u64, Option<Digest>),
    (model, usage): (Option<String>, Usage),
    parse: impl FnOnce(Reply<'_>, &Quoted) -> T,
) -> Result<(T, ReplyRef), Failed> {
    // It is there and vouched for, and we cannot read it: that says nothing about the work.
    let unreadable = |why: String| Failed::ours(format!("the reply cannot be read: {why}"));
    let file = match seal(&place.reply) {
        Sealed::File(file) => file,
        // An empty reply is a reply, and says nothing.
        Sealed::Nothing => nothing(),
        Sealed::Refused(why) => return Err(unreadable(why)),
    };
    if file.len < least {
        return Err(unreadable(format!("it has {} bytes, and had {least}", file.len)));
    }
    if digest.is_some_and(|digest| digest != file.digest) {
        return Err(unreadable("somebody else has written to it".to_owned()));
    }
    let bytes = read_head_bytes(&place.reply, LARGEST_REPLY);
    let bytes = bytes.map_err(|error| unreadable(error.to_string()))?;
    // What is read must be what the record vouches for, byte by byte. A reply that is too long is not read at all.
    if file.len <= LARGEST_REPLY && Digest::of(&bytes) != file.digest {
        return Err(unreadable("it was written to while it was read".to_owned()));
    }
    let text = String::from_utf8_lossy(&bytes);
    let judged = write_judgement(&place.judgement, judgement).map_err(Failed::ours)?;
    let said = Reply {
        text: &text,
        len: file.len,
        cut_short: judgement.cut_short,
    };
    let reply = ReplyRef {
        file,
        model,
        usage,
        tools: None,
        judgement: judged,
    };
    Ok((parse(said, &judgement.work), reply))
}

/// Writes a reply to the spool, durable before any record names it.
pub(super) async fn store(path: &Path, text: &str) -> Result<Option<FileRef>, String> {
    let (path, text) = (path.to_owned(), text.to_owned());
    let stored = tokio::task::spawn_blocking(move || write(&path, &text));
    stored.await.map_err(|error| error.to_string())?
}

/// The same, blocking.
pub(super) fn write(path: &Path, text: &str) -> Result<Option<FileRef>, String> {
    store::write_new(path, text.as_bytes())
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    match seal(path) {
        Sealed::Refused(why) => Err(format!("cannot store {}: {why}", path.display())),
        sealed => Ok(sealed.file()),
    }
}

/// Writes what a verdict rests on beside the reply, durable before any record names it. Blocks.
pub(super) fn write_judgement(path: &Path, judgement: &Judgement) -> Result<Option<Box<FileRef>>, String> {
    let mut text = serde_json::to_string_pretty(judgement).map_err(|error| error.to_string())?;
    text.push('\n');
    Ok(write(path, &text)?.map(Box::new))
}

/// A reply of no length.
pub(super) fn nothing() -> FileRef {
    FileRef {
        len: 0,
        digest: Digest::of(b""),
    }
}
