//! The own words of a reply: where its answer begins, behind the reasoning that models, and the templates before them, leave
//! in it.
//!
//! What lies in or before a closing mark of reasoning is no answer, for the opening mark often stands in the prompt and not
//! in the reply. Reasoning that does not end leaves no answer. Where it cannot be told which of the marks are meant, and
//! which are only spoken of, nothing is read.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::json::{self, JsonPlace};
use super::own_words::{Lines, Quotation, split, visible};
use super::unparsed_reason::Unparsed;

/// The marks of reasoning, and those of channels, in whichever brackets.
static MARK: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?xi)
        (?P<answers> assistantfinal | <channel\|> | <\|channel\|?>\s*final (?:.{0,60}?<\|message\|>)? )
        | (?P<closes> <unused95> | <\|inner_suffix\|> )
        | <\|channel\|?>
        | [<＜◁\[] \|? \ ? (?P<end> / | end_?(?:of_)? )? \ ?
          (?P<name> cot | internal | plan | details\ [^<>]*?(?:reason|think)[^<>\s=]* | [a-z0-9_:.-]*?
              (?:think|thought|reason|reflect|scratch|analys|monolog|chain[_-]?of|deliberat|ponder|brainstorm|contemplat
              |introspect|ruminat|musing|planning|draft|inner_prefix|unused94) [a-z0-9_:.-]* )
          (?: [\s=] [^<>▷＞\]]* )? (?P<empty> / )? \|? [>＞▷\]]";
    Regex::new(pattern).expect("the pattern is fixed and tested")
});

/// The own words of a reply: without control sequences, and without the reasoning that some models put before
/// their answer.
///
/// # Errors
///
/// When that is nothing, or when it cannot be told where the answer begins.
pub fn own_words(reply: &str) -> Result<String, Unparsed> {
    let reply = visible(reply);
    // Marks within the texts of an object that is the whole reply are no marks.
    let is_one_value = matches!(json::find(&reply, &split(&reply)).values[..], [(_, JsonPlace::Whole)]);
    let own = if is_one_value {
        reply
    } else {
        let own = without_tokens(answer(&reply)?);
        // Marks that only stand there since tokens were taken out are doubtful.
        let again = answer(&own)?;
        (again.trim() == own.trim()).then_some(()).ok_or(Unparsed::Reasoning)?;
        own
    };
    if own.trim().is_empty() { Err(Unparsed::Empty) } else { Ok(own) }
}

/// Ends a line where a token of a model's template, such as `<|im_end|>`, stands in it.
fn without_tokens(text: &str) -> String {
    let mut pieces = text.split("<|");
    let first = pieces.next();
    let behind = |piece: &'_ str| match piece.split_once("|>") {
        Some((name, _)) if name.len() < 30 => name.len() + 2,
        _ => 0,
    };
    let others = pieces.map(|piece| &piece[behind(piece)..]);
    first.into_iter().chain(others).collect::<Vec<_>>().join("\n")
}

/// Whether a mark is a part of text, as in `Vec<Thought>`, `notes[draft]` and `[thinking of it]`.
fn is_text(before: &str, mark: &Captures) -> bool {
    let (text, name) = (mark.get_match().as_str(), mark.name("name"));
    let is_glued = before.ends_with(char::is_alphanumeric) && mark.name("end").is_none();
    let is_list = text.starts_with('[');
    is_list && (is_glued || text.contains(' '))
        || is_glued && name.is_some_and(|name| name.as_str().starts_with(char::is_uppercase))
}

/// The reply behind its reasoning; all of it where it has none.
///
/// # Errors
///
/// When reasoning does not end, or marks stand where they may be quoted.
fn answer(reply: &str) -> Result<&str, Unparsed> {
    // What remains of the mark of a channel where a program left its brackets out.
    let bare = reply.trim_start().strip_prefix("analysis");
    let mut depth = usize::from(bare.is_some_and(|rest| rest.starts_with(char::is_uppercase)));
    let (mut begin, mut is_doubtful) = (0, false);
    let mut quotation = Quotation::default();
    let lines = Lines { reply, at: 0 };
    for (start, line) in lines {
        // A quotation within reasoning ends with it.
        let is_quotation = depth == 0 && quotation.takes(line);
        let may_have = line.contains(['<', '[', '◁', '＜']) || line.contains("assistantfinal");
        for found in MARK.captures_iter(if may_have { line } else { "" }) {
            let mark = found.get_match();
            if is_text(&line[..mark.start()], &found) {
                continue;
            }
            let quotes = ['`', '\u{22}'];
            let is_quoted = is_quotation
                || line[..mark.start()].ends_with(quotes)
                || line[mark.end()..].starts_with(quotes);
            let closes = ["closes", "end", "empty"].iter().any(|name| found.name(name).is_some());
            match (closes || found.name("answers").is_some(), is_quoted) {
                (false, is_quoted) => depth += usize::from(!is_quoted),
                (true, true) => is_doubtful = true,
                (true, false) => {
                    depth = if closes { depth.saturating_sub(1) } else { 0 };
                    (begin, is_doubtful) = (start + mark.end(), false);
                    quotation = Quotation::default();
                }
            }
        }
    }
    if depth == 0 && !is_doubtful { Ok(&reply[begin..]) } else { Err(Unparsed::Reasoning) }
}
