//! What a stored reply says. The same here and now, and whenever it is read again: nothing but the reply, the plan and
//! the record beside the reply goes in.

use rules::domain::{Answer, Bar, Purpose, StageReply};
use rules::judging::findings_verdict::speaks_of_something_grave;
use rules::judging::parser::Quoted;
use rules::plan::Panel;

use super::questions::{read, review_excerpt};

/// How much of a reply is read, in bytes.
pub const LARGEST_REPLY: u64 = 8 * 1024 * 1024;
/// Characters of a reply that could not be read which are kept.
const EXCERPT_CHARS: usize = 1_000;
/// Why a reply is no word of anybody whose end is missing.
pub const CUT_SHORT: &str = "the reply ran into its token limit and is cut short";

/// A reply, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct JudgeReply<'a> {
    /// The text of the reply, or the beginning of a very long one.
    pub text: &'a str,
    /// The length of the whole reply, in bytes.
    pub len: u64,
    /// Whether the end of the reply is missing.
    pub cut_short: bool,
}

/// Reads the answer of an agent: of a reviewer on a panel by its dimensions, without a panel as one number, of
/// anybody else in the form of its purpose. `bar` is the bar of the work, `work` the words of others that the
/// prompt showed.
pub fn of_ask(
    purpose: Purpose,
    (panel, bar): (Option<&Panel>, Option<Bar>),
    reply: JudgeReply<'_>,
    work: &Quoted,
) -> Answer {
    // Of a reply that was cut, half a number could be read as a whole one.
    if reply.cut_short {
        return unreadable(purpose, CUT_SHORT, reply.text);
    }
    // What comes behind the part that would be read might take it back.
    if reply.len > LARGEST_REPLY {
        return unreadable(purpose, too_long(reply.len), reply.text);
    }
    let read = read(purpose, (panel, bar), reply.text, work);
    read.unwrap_or_else(|why| unreadable(purpose, why.or_envelope(reply.text).to_string(), reply.text))
}

/// The answer of an echo agent, which is none: it repeats its question, and a score in it would be the worker's
/// own.
pub fn of_echo(purpose: Purpose) -> Answer {
    let why = match purpose {
        Purpose::Score(_) => "an echo agent repeats its question and gives no verdict",
        _ => "an echo agent repeats its question and says nothing of its own",
    };
    unreadable(purpose, why, "")
}

fn too_long(bytes: u64) -> String {
    format!("the reply has {bytes} bytes, more than {} MiB", LARGEST_REPLY / 1024 / 1024)
}

/// A reply that says nothing, and why.
fn unreadable(purpose: Purpose, why: impl Into<String>, reply: &str) -> Answer {
    let wanted = purpose.step().and_then(|step| step.stage().reply());
    Answer::Unreadable {
        why: why.into(),
        excerpt: match purpose {
            Purpose::Score(_) => review_excerpt(reply),
            _ => reply.chars().take(EXCERPT_CHARS).collect(),
        },
        grave: wanted == Some(StageReply::Findings) && speaks_of_something_grave(reply),
    }
}
