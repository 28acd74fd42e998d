//! Replies with one score: a `SCORE: n` line, or JSON with a `score`.

use rust_decimal::Decimal;

use super::json::{Json, JsonPlace, is_in, plain};
use super::keys::SCALE_KEYS;
use super::number::take_number;
use super::own_words::{fold, is_decoration};
use super::unparsed_reason::{Scale, Unparsed};

/// Bytes of a scale in parentheses, such as `(0-100)`.
const MAX_HINT: usize = 24;

/// Characters after the number that are looked at to see whether they belong to it.
pub const MAX_TRAILER: usize = 200;

/// Characters of an unreadable score line that are shown.
const MAX_EXCERPT: usize = 60;

/// Words that may stand before "score" on a score line.
const QUALIFIERS: &[&str] = &["final", "overall", "total", "global", "my", "your", "the"];

/// Keys that an object amid prose may have beside `score` and still be the reviewer's verdict rather than some JSON of
/// the work.
const VERDICT_KEYS: &str = " score reasoning reason explanation rationale justification findings issues summary verdict feedback confidence comment comments ";

/// The reading of a text where a score belongs.
#[derive(Debug, Clone, PartialEq)]
pub enum Marker {
    /// One plain number, on the scale or not.
    Value(Decimal),
    /// Something with digits that is not one plain number on our scale.
    Malformed(String),
    /// No number at all: a heading, or a copy of the instruction.
    Blank(String),
}

impl Marker {
    /// A marker whose text is no plain number.
    fn unreadable(text: &str) -> Self {
        let excerpt = text.trim().chars().take(MAX_EXCERPT).collect();
        if text.contains(char::is_numeric) { Self::Malformed(excerpt) } else { Self::Blank(excerpt) }
    }
}

/// The value that all markers share. A blank marker says nothing and so contradicts nothing.
pub fn agree(markers: &[Marker], scale: &Scale) -> Result<Decimal, Unparsed> {
    let mut agreed = None;
    let mut empty = None;
    for marker in markers {
        match marker {
            Marker::Malformed(text) => return Err(Unparsed::Malformed(text.clone())),
            Marker::Blank(text) => empty = Some(text),
            Marker::Value(value) => match agreed {
                Some(other) if other != *value => return Err(Unparsed::Conflicting),
                _ => agreed = Some(*value),
            },
        }
    }
    match (agreed, empty) {
        (Some(value), _) if scale.contains(value) => Ok(value),
        (Some(value), _) => Err(Unparsed::OffScale { what: "score".to_owned(), value, scale: *scale }),
        (None, Some(text)) => Err(Unparsed::Malformed(text.clone())),
        (None, None) => Err(Unparsed::NoScore),
    }
}

/// The scores of JSON verdicts, and the last object that holds one.
///
/// # Errors
/// When such an object has a key twice.
pub fn json_markers(
    values: &[(Json, JsonPlace)],
    scale: &Scale,
) -> Result<(Vec<Marker>, Option<Json>), Unparsed> {
    let mut markers = Vec::new();
    let mut holder = None;
    for (object, place) in values {
        if !is_verdict(object, *place) {
            continue;
        }
        let fits = scale_fits(object, scale);
        object.unambiguous()?;
        for value in object.all(&["score"]) {
            markers.push(match value.number().filter(|_| fits) {
                Some(number) => Marker::Value(number),
                None => Marker::Malformed(format!("a JSON score that is not a number from {scale}")),
            });
            holder = Some(object.clone());
        }
    }
    Ok((markers, holder))
}

fn is_verdict(object: &Json, place: JsonPlace) -> bool {
    let mut keys = object.entries().iter().map(|(key, _)| plain(key));
    place == JsonPlace::Whole
        || keys.all(|key| is_in(VERDICT_KEYS, &key) || SCALE_KEYS.contains(&key.as_str()))
}

/// Whether the object names no other scale than ours.
fn scale_fits(object: &Json, scale: &Scale) -> bool {
    object.get(SCALE_KEYS).and_then(Json::number).is_none_or(|high| high == scale.high)
}

/// The score lines among `lines`.
pub fn line_markers(lines: &[&str], scale: &Scale) -> Vec<Marker> {
    let mut markers = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !contains_ignore_case(line, "score") && line.is_ascii() {
            continue;
        }
        let line = fold(line);
        if let Some(rest) = after_label(&line, scale) {
            let next = lines[index + 1..].iter().find(|next| !next.trim().is_empty());
            markers.push(value_after_label(rest, next.copied(), scale));
        } else {
            markers.extend(closing_marker(&line, scale));
        }
    }
    markers
}

/// The reply without its score lines, which say what is shown as the score.
pub fn without_score_lines(reply: &str) -> String {
    let lines: Vec<&str> = reply.lines().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let folded = fold(line);
        let Some(rest) = after_label(&folded, &Scale::POINTS) else {
            kept.push(*line);
            continue;
        };
        // The number may stand alone on the next line.
        let next = (at..lines.len()).find(|next| !lines[*next].trim().is_empty());
        if let Some(next) = next.filter(|_| trim_start_decoration(rest).is_empty())
            && matches!(value(&fold(lines[next]), &Scale::POINTS, Remark::Refused), Marker::Value(_))
        {
            at = next + 1;
        }
    }
    kept.join("\n").trim().to_owned()
}

/// The value that follows `SCORE:` on a score line: there, or alone on the next line.
fn value_after_label(rest: &str, next: Option<&str>, scale: &Scale) -> Marker {
    if !trim_start_decoration(rest).is_empty() {
        return value(rest, scale, Remark::Allowed);
    }
    match next.map(|next| value(&fold(next), scale, Remark::Refused)) {
        Some(Marker::Value(number)) => Marker::Value(number),
        _ => Marker::Blank("the score line is empty".to_owned()),
    }
}

/// A marker that is a sentence of its own at the end of a line of prose: `Good work. SCORE: 72`
fn closing_marker(line: &str, scale: &Scale) -> Option<Marker> {
    let mut stops = line.rmatch_indices(['.', '!', '?', ';']);
    let rest = stops.find_map(|(at, _)| after_label(line[at + 1..].strip_prefix(' ')?, scale))?;
    // Anything else is prose that speaks of scores.
    Some(value(rest, scale, Remark::Refused)).filter(|marker| matches!(marker, Marker::Value(_)))
}

/// The text behind the label of a score line, or `None` if the line has no such label.
fn after_label<'a>(line: &'a str, scale: &Scale) -> Option<&'a str> {
    let mut rest = skip_item_number(trim_start_decoration(line));
    loop {
        let (word, after) = take_word(rest);
        if word.eq_ignore_ascii_case("score") {
            rest = after;
            break;
        }
        if !QUALIFIERS.iter().any(|qualifier| word.eq_ignore_ascii_case(qualifier)) {
            return None;
        }
        rest = trim_start_decoration(after);
    }
    rest = skip_scale(trim_start_decoration(rest), scale);
    trim_start_decoration(rest).strip_prefix([':', '='])
}

/// `3.` or `3)` before the label.
fn skip_item_number(text: &str) -> &str {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < text.len() && rest.starts_with(' ') => trim_start_decoration(rest),
        _ => text,
    }
}

/// `(0-100)` between label and colon; another scale is left standing, so that the line is no score line.
fn skip_scale<'a>(text: &'a str, scale: &Scale) -> &'a str {
    let inside = text.strip_prefix('(');
    let end = inside.and_then(|inner| inner.bytes().take(MAX_HINT).position(|byte| byte == b')'));
    let (Some(inside), Some(end)) = (inside, end) else {
        return text;
    };
    let (hint, rest) = (&inside[..end], &inside[end + 1..]);
    let hint: String = hint.chars().filter(|c| *c != ' ').collect();
    let known = [
        format!("{}-{}", scale.low, scale.high),
        format!("{}to{}", scale.low, scale.high),
        format!("outof{}", scale.high),
        format!("/{}", scale.high),
    ];
    if known.contains(&hint.to_ascii_lowercase()) { rest } else { text }
}

/// Whether a remark may follow the number.
#[derive(Clone, Copy, PartialEq)]
enum Remark {
    Allowed,
    Refused,
}

/// Reads the text where a score belongs: a number, perhaps over the scale's upper end, and nothing that could make
/// it another number.
fn value(text: &str, scale: &Scale, remark: Remark) -> Marker {
    let opened = text.trim_start_matches(|c: char| c == ' ' || "*_`\"[".contains(c));
    let bracketed = opened.strip_prefix('<');
    let number = take_number(bracketed.unwrap_or(opened)).and_then(|(number, rest)| {
        let rest = match bracketed {
            Some(_) => rest.strip_prefix('>')?,
            None => rest,
        };
        ends_number(skip_denominator(rest, scale)?, remark).then_some(number)
    });
    number.map_or_else(|| Marker::unreadable(text), Marker::Value)
}

/// Drops `/100`, `out of 100` or `%`; `None` if another number stands there.
fn skip_denominator<'a>(text: &'a str, scale: &Scale) -> Option<&'a str> {
    let start = text.trim_start_matches(|c: char| c == ' ' || "*_`]".contains(c));
    if let Some(rest) = start.strip_prefix('%') {
        return (scale.high == Decimal::ONE_HUNDRED).then_some(rest);
    }
    let over = start.strip_prefix('/').or_else(|| strip_words(start, &["out", "of"]));
    let Some(over) = over else {
        return Some(text);
    };
    let over = over.trim_start_matches(|c: char| c == ' ' || "*_".contains(c));
    let (high, rest) = take_number(over)?;
    (high == scale.high).then_some(rest)
}

/// Whether what follows a number leaves it alone: the end of the line or sentence, or a remark without digits.
fn ends_number(rest: &str, remark: Remark) -> bool {
    let rest = close(rest);
    let rest = close(strip_words(rest, &["points"]).unwrap_or(rest));
    if rest.trim().is_empty() {
        return true;
    }
    if let Some(after) = rest.strip_prefix(['.', '!']) {
        // The next sentence is another matter.
        return close(after).is_empty() || (remark == Remark::Allowed && close(after).starts_with(' '));
    }
    let apart = rest.trim_start().starts_with('(') || rest.starts_with(" - ");
    let mut chars = rest.chars();
    let plain = chars.by_ref().take(MAX_TRAILER).all(|c| !c.is_numeric());
    remark == Remark::Allowed && apart && plain && chars.next().is_none()
}

fn close(text: &str) -> &str {
    text.trim_start_matches(|c: char| "*_`\"])".contains(c))
}

fn trim_start_decoration(text: &str) -> &str {
    text.trim_start_matches(is_decoration)
}

/// The leading letters, and what follows them.
pub fn take_word(text: &str) -> (&str, &str) {
    let length = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    text.split_at(length)
}

/// The text behind `words`, if the text starts with them.
fn strip_words<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().try_fold(text, |rest, word| {
        let (first, after) = take_word(rest.trim_start());
        first.eq_ignore_ascii_case(word).then_some(after)
    })
}

fn contains_ignore_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}
