//! Which parts of a reply are the reviewer's own words.

use super::UNTRUSTED_TAG;

/// A reply, taken apart.
pub(super) struct Parts<'a> {
    /// Lines of the reviewer's own.
    pub own: Vec<&'a str>,
    /// Contents of closed fences that hold JSON.
    pub json: Vec<&'a str>,
    /// Lines in a fence that was never closed. The work may hold fence marks too, so that what looks like a quotation
    /// may be the reviewer's own words and the other way round: these lines can contradict, but never testify.
    pub doubtful: Vec<&'a str>,
}

/// What the reply says after the private thinking that some models put before their answer. Thinking that never ends
/// leaves nothing.
pub(super) fn without_thinking(reply: &str) -> &str {
    let trimmed = reply.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let Some(inside) = trimmed.strip_prefix("<think>") else {
        return reply;
    };
    inside.split_once("</think>").map_or("", |(_, answer)| answer)
}

/// Separates own words from quotations.
pub(super) fn split(reply: &str) -> Parts<'_> {
    let mut parts = Parts {
        own: Vec::new(),
        json: Vec::new(),
        doubtful: Vec::new(),
    };
    let mut lines = Lines { reply, at: 0 };
    while let Some((_, line)) = lines.next() {
        if let Some(fence) = Fence::opened_by(line) {
            take_fence(&mut lines, &fence, &mut parts);
        } else if opens_untrusted(line) {
            if !closes_untrusted(line) {
                skip_untrusted(&mut lines);
            }
        } else if !is_quotation(line) {
            parts.own.push(line);
        }
    }
    parts
}

fn take_fence<'a>(lines: &mut Lines<'a>, fence: &Fence, parts: &mut Parts<'a>) {
    let start = lines.at;
    let mut inside = Vec::new();
    while let Some((at, line)) = lines.next() {
        if fence.is_closed_by(line) {
            let content = &lines.reply[start..at];
            if fence.holds_json(content) {
                parts.json.push(content);
            }
            return;
        }
        inside.push(line);
    }
    parts.doubtful = inside;
}

/// Skips to the end of the quoted block; a block that is never closed is a quotation to the end.
fn skip_untrusted(lines: &mut Lines) {
    lines.any(|(_, line)| closes_untrusted(line));
}

fn opens_untrusted(line: &str) -> bool {
    let tag = without_bullets(line).strip_prefix('<');
    tag.and_then(|tag| tag.get(..UNTRUSTED_TAG.len()))
        .is_some_and(|name| name.eq_ignore_ascii_case(UNTRUSTED_TAG))
}

fn closes_untrusted(line: &str) -> bool {
    line.split("</").skip(1).any(|tag| {
        tag.get(..UNTRUSTED_TAG.len())
            .is_some_and(|name| name.eq_ignore_ascii_case(UNTRUSTED_TAG))
    })
}

fn is_quotation(line: &str) -> bool {
    without_bullets(line).starts_with(['>', '＞', '»'])
}

fn without_bullets(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '*' | '+' | '•'))
}

/// A Markdown code fence.
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

/// Lines with their offsets. A carriage return ends a line too.
struct Lines<'a> {
    reply: &'a str,
    at: usize,
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

/// The line with the look-alikes of spaces, colons, dashes, slashes, digits and letters that keyboards and tokenizers
/// produce turned into plain ones, and invisible characters removed.
pub(super) fn fold(line: &str) -> String {
    line.chars()
        .filter(|c| !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}'))
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
