//! Replies with one score: a `SCORE: n` line, or JSON with a `score`.

use std::str::FromStr;

use rust_decimal::Decimal;

use super::json::{self, Json, Place, plain};
use super::panel::score_value;
use super::quoted::Quoted;
use super::text::{fold, split, without_thinking};
use super::{Scale, Unparsed};

/// Digits that a score may have before and after the point. More is not a score but something else.
const MAX_DIGITS: usize = 6;

/// Bytes of a scale in parentheses, such as `(0-100)`.
const MAX_HINT: usize = 24;

/// Characters after the number that are looked at to see whether they belong to it.
pub(super) const MAX_TRAILER: usize = 200;

/// Characters of an unreadable score line that are shown.
const MAX_EXCERPT: usize = 60;

/// Words that may stand before "score" on a score line.
const QUALIFIERS: &[&str] = &["final", "overall", "total", "global", "my", "your", "the"];

/// Keys that an object amid prose may have beside `score` and still be the reviewer's verdict rather than some JSON of
/// the work.
const VERDICT_KEYS: &[&str] = &[
    "score",
    "reasoning",
    "reason",
    "explanation",
    "rationale",
    "justification",
    "findings",
    "issues",
    "summary",
    "verdict",
    "feedback",
    "confidence",
    "comment",
    "comments",
];

/// Keys that name the scale's upper end.
const SCALE_KEYS: &[&str] = &["maxscore", "outof", "max", "maximum", "scale"];

/// The one score of a reply.
pub(super) struct Read {
    pub value: Decimal,
    /// The JSON object that holds it, if one does.
    pub json: Option<Json>,
}

/// What a text says where a score belongs.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Marker {
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
        if text.contains(char::is_numeric) {
            Self::Malformed(excerpt)
        } else {
            Self::Blank(excerpt)
        }
    }
}

/// A marker with the words that it was read from, as they can be compared.
pub(super) struct Found {
    pub marker: Marker,
    pub words: String,
}

/// Reads the one score of a reply on `scale`. What also stands in the work, word for word, may be a quotation: it can
/// contradict, but never testify.
pub(super) fn read(reply: &str, scale: &Scale, work: &Quoted) -> Result<Read, Unparsed> {
    let reply = without_thinking(reply);
    if reply.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    if work.drowns_out() {
        return Err(Unparsed::Drowned);
    }
    let parts = split(reply);
    let values = json::find(reply, &parts).values;
    let (echoed, own): (Vec<_>, Vec<_>) = values.into_iter().partition(|(value, _)| work.has_object(value));
    let (mut markers, object) = json_markers(&own, scale);
    let (mut doubts, _) = json_markers(&echoed, scale);
    for found in line_markers(&parts.own, scale) {
        let side = if work.has_line(&found.words) {
            &mut doubts
        } else {
            &mut markers
        };
        side.push(found.marker);
    }
    let value = match agree(&markers, scale) {
        Err(Unparsed::NoScore) if !doubts.is_empty() => return Err(Unparsed::OnlyInWork),
        agreed => agreed?,
    };
    let unclosed = line_markers(&parts.doubtful, scale).into_iter();
    doubts.extend(unclosed.map(|found| found.marker));
    if doubts.iter().any(|doubt| *doubt != Marker::Value(value)) {
        return Err(Unparsed::Conflicting);
    }
    Ok(Read { value, json: object })
}

/// The value that all markers share. A blank marker says nothing and so contradicts nothing.
pub(super) fn agree(markers: &[Marker], scale: &Scale) -> Result<Decimal, Unparsed> {
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
        (Some(value), _) => Err(Unparsed::OffScale {
            what: "score".to_owned(),
            value,
            scale: *scale,
        }),
        (None, Some(text)) => Err(Unparsed::Malformed(text.clone())),
        (None, None) => Err(Unparsed::NoScore),
    }
}

/// The scores of JSON verdicts, and the last object that holds one.
pub(super) fn json_markers(values: &[(Json, Place)], scale: &Scale) -> (Vec<Marker>, Option<Json>) {
    let mut markers = Vec::new();
    let mut holder = None;
    for (object, place) in values {
        if !is_verdict(object, *place) {
            continue;
        }
        let fits = scale_fits(object, scale);
        let scores = object.entries().iter().filter(|(key, _)| plain(key) == "score");
        for (_, value) in scores {
            markers.push(match score_value(value).filter(|_| fits) {
                Some(number) => Marker::Value(number),
                None => Marker::Malformed(format!("a JSON score that is not a number from {scale}")),
            });
            holder = Some(object.clone());
        }
    }
    (markers, holder)
}

fn is_verdict(object: &Json, place: Place) -> bool {
    let mut keys = object.entries().iter().map(|(key, _)| plain(key));
    place == Place::Whole
        || keys.all(|key| VERDICT_KEYS.contains(&key.as_str()) || SCALE_KEYS.contains(&key.as_str()))
}

/// Whether the object names no other scale than ours.
fn scale_fits(object: &Json, scale: &Scale) -> bool {
    object
        .get(SCALE_KEYS)
        .and_then(score_value)
        .is_none_or(|high| high == scale.high)
}

/// The score lines among `lines`.
pub(super) fn line_markers(lines: &[&str], scale: &Scale) -> Vec<Found> {
    let mut markers = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !contains_ignore_case(line, "score") && line.is_ascii() {
            continue;
        }
        let line = fold(line);
        if let Some(rest) = after_label(&line, scale) {
            let next = lines[index + 1..].iter().find(|next| !next.trim().is_empty());
            markers.push(Found {
                marker: value_after_label(rest, next.copied(), scale),
                words: match next.filter(|_| trim_start_decoration(rest).is_empty()) {
                    Some(next) => words_of(&line) + " " + &words_of(&fold(next)),
                    None => words_of(&line),
                },
            });
        } else {
            markers.extend(closing_marker(&line, scale));
        }
    }
    markers
}

/// A reply without its score lines: they say what is shown as the score.
pub(super) fn without_score_lines(reply: &str) -> String {
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
            && matches!(
                value(&fold(lines[next]), &Scale::POINTS, Remark::Refused),
                Marker::Value(_)
            )
        {
            at = next + 1;
        }
    }
    kept.join("\n").trim().to_owned()
}

/// Score lines of the work that are looked for within one line.
const MOST_IN_LINE: usize = 16;

/// What within the lines of a work would be a score line if it stood alone: behind the place where a search found it, in a
/// cell of a table. And whether that is all: more than a few in one line are a trick.
pub(super) fn inner_markers(lines: &[&str], scale: &Scale) -> (Vec<String>, bool) {
    let mut found = Vec::new();
    let mut all = true;
    for line in lines
        .iter()
        .filter(|line| contains_ignore_case(line, "score") || !line.is_ascii())
    {
        let line = fold(line);
        let starts = label_starts(&line).map(|at| {
            let cell = line[at..].split('|').next().unwrap_or_default();
            cell.trim_end_matches(|c: char| " \"',;)]}>\u{201d}\u{2019}".contains(c))
        });
        let mut inner = starts.filter(|rest| {
            let value = after_label(rest, scale).map(|rest| value(rest, scale, Remark::Allowed));
            matches!(value, Some(Marker::Value(_)))
        });
        found.extend(inner.by_ref().take(MOST_IN_LINE).map(words_of));
        all &= inner.next().is_none();
    }
    (found, all)
}

/// Where a label might begin: at a word of one that follows no other such word.
fn label_starts(line: &str) -> impl Iterator<Item = usize> + '_ {
    let mut at = 0;
    let mut was_label = false;
    std::iter::from_fn(move || {
        loop {
            let rest = &line[at..];
            let (word, _) = take_word(rest);
            let begin = at;
            if word.is_empty() {
                let c = rest.chars().next()?;
                at += c.len_utf8();
                was_label &= is_decoration(c);
                continue;
            }
            at += word.len();
            let is = |other: &&str| word.eq_ignore_ascii_case(other);
            let is_qualifier = QUALIFIERS.iter().any(is);
            let starts = is(&"score") || (is_qualifier && !was_label);
            was_label = is_qualifier;
            if starts {
                return Some(begin);
            }
        }
    })
}

/// A score line without its dress, for comparison with another.
fn words_of(line: &str) -> String {
    let line = trim_start_decoration(line).trim_end_matches(|c: char| " *_`.!".contains(c));
    let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

/// What follows `SCORE:` on a score line: the value there, or alone on the next line.
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
fn closing_marker(line: &str, scale: &Scale) -> Option<Found> {
    let mut stops = line.rmatch_indices(['.', '!', '?', ';']);
    let (sentence, rest) = stops.find_map(|(at, _)| {
        let sentence = line[at + 1..].strip_prefix(' ')?;
        Some((sentence, after_label(sentence, scale)?))
    })?;
    match value(rest, scale, Remark::Refused) {
        Marker::Value(number) => Some(Found {
            marker: Marker::Value(number),
            words: words_of(sentence),
        }),
        // Prose that speaks of scores.
        Marker::Malformed(_) | Marker::Blank(_) => None,
    }
}

/// What follows the label of a score line, or `None` if the line has no such label.
fn after_label<'a>(line: &'a str, scale: &Scale) -> Option<&'a str> {
    let mut rest = skip_item_number(trim_start_decoration(line));
    loop {
        let (word, after) = take_word(rest);
        if word.eq_ignore_ascii_case("score") {
            rest = after;
            break;
        }
        if !QUALIFIERS
            .iter()
            .any(|qualifier| word.eq_ignore_ascii_case(qualifier))
        {
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
    if known.contains(&hint.to_ascii_lowercase()) {
        rest
    } else {
        text
    }
}

/// Whether a remark may follow the number.
#[derive(Clone, Copy, PartialEq, Eq)]
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
    let over = start
        .strip_prefix('/')
        .or_else(|| strip_words(start, &["out", "of"]));
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

/// A plain decimal number at the start of the text, and what follows it.
pub(super) fn take_number(text: &str) -> Option<(Decimal, &str)> {
    let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let whole = digits(text);
    let fraction = text[whole..].strip_prefix('.').map_or(0, digits);
    if whole == 0 || whole > MAX_DIGITS || fraction > MAX_DIGITS {
        return None;
    }
    // A point without digits behind it ends a sentence.
    let length = if fraction > 0 { whole + 1 + fraction } else { whole };
    let (number, rest) = text.split_at(length);
    // 1.2.3 is a version, 72nd an ordinal, 7e1 a float, 1,5 is read differently in different countries.
    let follows = rest.chars().next();
    let glued = follows.is_some_and(char::is_alphanumeric);
    let continued = rest.strip_prefix(['.', ',']).is_some_and(|more| digits(more) > 0);
    if glued || continued {
        return None;
    }
    Decimal::from_str(number)
        .ok()
        .map(|number| (number.normalize(), rest))
}

/// The number, if the text is nothing else.
pub(super) fn number_in(text: &str) -> Option<Decimal> {
    take_number(text)
        .filter(|(_, rest)| rest.is_empty())
        .map(|(number, _)| number)
}

fn trim_start_decoration(text: &str) -> &str {
    text.trim_start_matches(is_decoration)
}

fn is_decoration(c: char) -> bool {
    c == ' ' || "#*_`-+~•·‣◦".contains(c)
}

/// The leading letters, and what follows them.
pub(super) fn take_word(text: &str) -> (&str, &str) {
    let length = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    text.split_at(length)
}

/// What follows `words`, if the text starts with them.
fn strip_words<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().try_fold(text, |rest, word| {
        let (first, after) = take_word(rest.trim_start());
        first.eq_ignore_ascii_case(word).then_some(after)
    })
}

fn contains_ignore_case(text: &str, word: &str) -> bool {
    text.as_bytes()
        .windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}
