//! What a stored reply says. The same here and now, and whenever it is read again: nothing but the reply, the plan and
//! the record beside the reply goes in.

use crate::domain::{Advice, Purpose};
use crate::engine::SeatResult;
use crate::judging::advice::{parse_advice, unreadable};
use crate::judging::parser::{Quoted, Unparsed, parse_evaluation, parse_scores};
use crate::mission::Panel;

/// How much of a reply is read, in bytes.
pub const LARGEST_REPLY: u64 = 8 * 1024 * 1024;
/// How much of a reply that could not be read is carried into feedback, in characters.
const EXCERPT_CHARS: usize = 2_000;
const CUT_SHORT: &str = "the reply ran into its token limit and is cut short";

/// A reply, and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct Reply<'a> {
    /// Its text, or the beginning of a very long one.
    pub text: &'a str,
    /// The length of all of it, in bytes.
    pub len: u64,
    /// Whether its end is missing.
    pub cut_short: bool,
}

/// The verdict of a reviewer: of a panel's seat, or without a panel of an evaluation.
#[must_use]
pub fn of_seat(panel: Option<&Panel>, reply: Reply<'_>, work: &Quoted) -> SeatResult {
    let say = |why: Unparsed| why.or_envelope(reply.text).to_string();
    let read = match panel {
        // What comes behind the part that would be read might take it back.
        _ if reply.len > LARGEST_REPLY => Err(too_long(reply.len)),
        Some(panel) => parse_scores(reply.text, &panel.dimensions, work)
            .map(|read| SeatResult::Scores {
                dimensions: read.scores,
                findings: read.findings,
                prior: read.prior,
            })
            .map_err(say),
        None => parse_evaluation(reply.text, work)
            .map(|read| SeatResult::Evaluation {
                points: read.points,
                reasoning: excerpt(&read.reasoning),
                findings: read.findings,
                prior: read.prior,
            })
            .map_err(say),
    };
    match read {
        // Of a reply that was cut, half a number could be read as a whole one.
        Ok(_) if reply.cut_short => SeatResult::Unparsed {
            why: CUT_SHORT.to_owned(),
            excerpt: String::new(),
        },
        Ok(result) => result,
        Err(why) => SeatResult::Unparsed {
            why,
            excerpt: excerpt(reply.text),
        },
    }
}

/// An echo agent repeats its question: a score in it would be the worker's own.
#[must_use]
pub fn of_echo() -> SeatResult {
    SeatResult::Unparsed {
        why: "an echo agent repeats its question and gives no verdict".to_owned(),
        excerpt: String::new(),
    }
}

/// What a consulted agent said. `work` is what a judge was shown of the work; of other questions nothing is held.
#[must_use]
pub fn of_consult(purpose: Purpose, reply: Reply<'_>, work: &Quoted) -> Advice {
    if reply.cut_short {
        return unreadable(purpose, CUT_SHORT, reply.text);
    }
    if reply.len > LARGEST_REPLY {
        return unreadable(purpose, too_long(reply.len), reply.text);
    }
    parse_advice(purpose, reply.text, work)
}

/// What a consulted echo agent said.
#[must_use]
pub fn of_consulted_echo(purpose: Purpose) -> Advice {
    let why = "an echo agent repeats its question and says nothing of its own";
    unreadable(purpose, why, "")
}

fn too_long(bytes: u64) -> String {
    format!(
        "the reply has {bytes} bytes, more than {} MiB",
        LARGEST_REPLY / 1024 / 1024
    )
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT_CHARS) {
        Some((end, _)) => format!("{} […]", &text[..end]),
        None => text.to_owned(),
    }
}
