//! Which parts of a reply are the reviewer's own words.

use std::sync::LazyLock;

use regex::Regex;

use crate::domain::is_invisible;

/// The tag that fences the worker's text in prompts. What a reply repeats between these tags does not count.
pub const UNTRUSTED_TAG: &str = "untrusted";

/// A reply, taken apart.
pub struct Parts<'a> {
    /// Lines of the reviewer's own.
    pub own: Vec<&'a str>,
    /// Contents of closed fences that hold JSON.
    pub json: Vec<&'a str>,
    /// Lines in a fence that was never closed. The work may hold fence marks too, so that what looks like a quotation
    /// may be the reviewer's own words and the other way round: these lines can contradict, but never testify.
    pub doubtful: Vec<&'a str>,
}

/// Control sequences that change nothing of what is read: colours, modes, titles, links, and moves before anything is
/// written on a line.
static HARMLESS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:\x1b\[[ -?]*[@-~])+|\x1b\[(?:[0-9;:?]*[mhlnqt]|0?K)|\x1b[\]PX^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\|$)|\x1b[!-/].")
        .expect("the pattern is fixed and tested")
});
/// Matches all other control sequences.
static MOVES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b(?:\[[ -?]*)?.?").expect("the pattern is fixed and tested"));

/// A text as a terminal shows it, without what nobody sees: colours, titles and links are left out, and what backspaces
/// overwrite is gone. Whatever else moves the cursor within a line leaves a mark that is part of no number.
pub fn visible(text: &str) -> String {
    let text = if text.contains('\x1b') {
        MOVES.replace_all(&HARMLESS.replace_all(text, ""), "\u{fffd}").into_owned()
    } else {
        text.to_owned()
    };
    let (mut shown, mut at): (Vec<char>, usize) = (Vec::new(), 0);
    for c in text.chars() {
        let c = match c {
            '\x08' => {
                at -= usize::from(shown[..at].last().is_some_and(|c| !"\n\r".contains(*c)));
                continue;
            }
            '\n' | '\r' => {
                at = shown.len();
                c
            }
            c if c.is_whitespace() => ' ',
            c if c.is_control() || is_invisible(c) => continue,
            c => c,
        };
        match shown.get_mut(at) {
            Some(there) => *there = c,
            None => shown.push(c),
        }
        at += 1;
    }
    shown.into_iter().collect()
}

/// Separates own words from quotations.
pub fn split(reply: &str) -> Parts<'_> {
    let mut parts = Parts { own: Vec::new(), json: Vec::new(), doubtful: Vec::new() };
    let (mut quotation, mut begin) = (Quotation::default(), 0);
    let mut lines = Lines { reply, at: 0 };
    while let Some((at, line)) = lines.next() {
        let fence = quotation.fence.clone();
        match (fence, quotation.takes(line)) {
            (None, true) => begin = lines.at,
            (Some(fence), _) if quotation.fence.is_none() && fence.holds_json(&reply[begin..at]) => {
                parts.json.push(&reply[begin..at]);
            }
            (_, true) => {}
            (_, false) => parts.own.push(line),
        }
    }
    if quotation.fence.is_some() {
        parts.doubtful = reply[begin..].split(['\n', '\r']).collect();
    }
    parts
}

fn opens_untrusted(line: &str) -> bool {
    let tag = without_bullets(line).strip_prefix('<');
    tag.and_then(|tag| tag.get(..UNTRUSTED_TAG.len()))
        .is_some_and(|name| name.eq_ignore_ascii_case(UNTRUSTED_TAG))
}

fn closes_untrusted(line: &str) -> bool {
    line.split("</").skip(1).any(|tag| {
        tag.get(..UNTRUSTED_TAG.len()).is_some_and(|name| name.eq_ignore_ascii_case(UNTRUSTED_TAG))
    })
}

/// The quotation that a line stands in.
#[derive(Default)]
pub struct Quotation<'a> {
    fence: Option<Fence<'a>>,
    is_untrusted: bool,
}

impl<'a> Quotation<'a> {
    /// Whether the next line is one of a quotation, its first and last lines included.
    pub fn takes(&mut self, line: &'a str) -> bool {
        if let Some(fence) = &self.fence {
            if fence.is_closed_by(line) {
                self.fence = None;
            }
            return true;
        }
        if self.is_untrusted || opens_untrusted(line) {
            self.is_untrusted = !closes_untrusted(line);
            return true;
        }
        self.fence = Fence::opened_by(line);
        self.fence.is_some() || is_quotation(line)
    }
}

fn is_quotation(line: &str) -> bool {
    without_bullets(line).starts_with(['>', '＞', '»'])
}

fn without_bullets(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+' | '•'))
}

/// A Markdown code fence.
#[derive(Clone)]
struct Fence<'a> {
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let text = without_bullets(line);
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = text.trim_start_matches(mark);
        let length = text.len() - info.len();
        // ```like this``` is inline code.
        (length >= 3 && !(mark == '`' && info.contains('`'))).then_some(Self {
            mark,
            length,
            info: info.trim(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let text = line.trim();
        text.len() >= self.length && text.chars().all(|c| c == self.mark)
    }

    fn holds_json(&self, content: &str) -> bool {
        self.info.to_ascii_lowercase().starts_with("json")
            || (self.info.is_empty() && content.trim_start().starts_with(['{', '[']))
    }
}

/// The lines of a text with their offsets. A carriage return ends a line too.
pub struct Lines<'a> {
    pub reply: &'a str,
    /// Where the next line begins.
    pub at: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.reply.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
        self.at = (start + length + 1).min(self.reply.len());
        Some((start, &rest[..length]))
    }
}

/// Whether a character only dresses a line: a blank, or a sign of Markdown.
pub fn is_decoration(c: char) -> bool {
    c == ' ' || "#*_`-+~•·‣◦".contains(c)
}

/// The line with the look-alikes of spaces, colons, dashes, slashes, digits and letters that keyboards and tokenizers
/// produce turned into plain ones.
pub fn fold(line: &str) -> String {
    line.chars()
        .map(|c| match c {
            '\u{ff01}'..='\u{ff5e}' => {
                // The full-width forms lie at a fixed distance from ASCII.
                char::from_u32(c as u32 - 0xfee0).unwrap_or(c)
            }
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{2236}' | '\u{fe55}' | '\u{a789}' => ':',
            '\u{2044}' | '\u{2215}' => '/',
            c if c.is_whitespace() => ' ',
            c => c,
        })
        .collect()
}
