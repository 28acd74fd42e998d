//! JSON values in a reply, wherever they stand.
//!
//! Own tree type for one reason: `serde_json::Value` keeps the last of two equal keys, and a reply that scores the
//! same thing twice must not be read at all.
//!
//! How the readers of each purpose find their object among them stands in `form`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rust_decimal::Decimal;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use unicode_normalization::UnicodeNormalization;

use super::number::number_in;
use super::own_words::{Parts, is_decoration};
use super::unparsed_reason::Unparsed;
use crate::domain::is_invisible;

/// A JSON value that remembers every key.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// The value `null`.
    Null,
    Bool(bool),
    Number(Decimal),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// The entries of an object.
    pub fn entries(&self) -> &[(String, Json)] {
        match self {
            Self::Object(entries) => entries,
            _ => &[],
        }
    }

    /// A key that an object has twice: it says two things, and readers disagree about which one counts.
    pub fn key_twice(&self) -> Option<&str> {
        match self {
            Self::Object(entries) => {
                let mut seen = BTreeSet::new();
                let mut entries = entries.iter();
                entries.find_map(
                    |(key, value)| {
                        if seen.insert(key) { value.key_twice() } else { Some(key.as_str()) }
                    },
                )
            }
            Self::List(items) => items.iter().find_map(Self::key_twice),
            Self::Text(_) | Self::Number(_) | Self::Bool(_) | Self::Null => None,
        }
    }

    /// The value of the first of `names` that the object has.
    pub fn get(&self, names: &[&str]) -> Option<&Json> {
        names.iter().find_map(|name| {
            let found = self.entries().iter().find(|(key, _)| plain(key) == *name);
            found.map(|(_, value)| value)
        })
    }

    /// The values of all keys among `names`.
    pub fn all<'a>(&'a self, names: &[&str]) -> impl Iterator<Item = &'a Json> {
        let known = move |(key, _): &&(String, Json)| names.contains(&plain(key).as_str());
        self.entries().iter().filter(known).map(|(_, value)| value)
    }

    /// The value itself, if no object in it has a key twice: nobody could say which of the two counts.
    ///
    /// # Errors
    /// When one has.
    pub fn unambiguous(&self) -> Result<&Self, Unparsed> {
        match self.key_twice() {
            Some(key) => Err(Unparsed::Duplicate(key.to_owned())),
            None => Ok(self),
        }
    }

    /// The text of the value, if it is one.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number that a value is, or that its text is and nothing else.
    pub(crate) fn number(&self) -> Option<Decimal> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => number_in(text.trim()),
            _ => None,
        }
    }
}

/// A key without case, spaces, underscores and hyphens, in whichever way its letters are written.
pub(crate) fn plain(key: &str) -> String {
    key.nfkc()
        .filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-') && !is_invisible(*c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Whether a word is one of those in a text, which has a blank before and behind each.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    words.contains(&format!(" {word} "))
}

/// Where a JSON value was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum JsonPlace {
    /// The reply is nothing else.
    Whole,
    /// In a fence, or on lines of its own.
    Embedded,
    /// Within a sentence: it is spoken of.
    Aside,
    /// In the work, too, wherever it stands in the reply.
    InWork,
}

/// The JSON values of a reply.
pub(super) struct ReplyJson {
    pub values: Vec<(Json, JsonPlace)>,
    /// Whether something started like JSON and was not.
    pub broken: bool,
}

/// Finds the outermost JSON objects and lists of objects in the reviewer's own words.
pub(super) fn find(reply: &str, parts: &Parts) -> ReplyJson {
    let mut found = ReplyJson { values: Vec::new(), broken: false };
    if let Some(value) = parse(reply.trim()) {
        found.values.push((value, JsonPlace::Whole));
        return found;
    }
    for fenced in &parts.json {
        match parse(fenced.trim()) {
            // A fence and nothing else is the reply.
            Some(value) if parts.own.iter().all(|line| line.trim().is_empty()) && parts.json.len() == 1 => {
                found.values.push((value, JsonPlace::Whole));
            }
            Some(value) => found.values.push((value, JsonPlace::Embedded)),
            None => scan(fenced, &mut found),
        }
    }
    scan(&parts.own.join("\n"), &mut found);
    found
}

/// How often a text within a text is looked into.
const MOST_LAYERS: usize = 3;

/// Hands on all objects and lists of objects in a text, whoever wrote it: those within others too, those within texts of
/// others, and those behind what is broken. What was planted to be quoted need not stand where a reply of ours would have
/// it.
///
/// Nesting is limited, so that no character is read more often than that.
pub(super) fn each_in(text: &str, mut take: impl FnMut(&Json)) {
    look_through(text, MOST_LAYERS, &mut take);
}

fn look_through(text: &str, layers: usize, take: &mut impl FnMut(&Json)) {
    let mut at = 0;
    while let Some(offset) = text[at..].find(['{', '[']) {
        let start = at + offset;
        let rest = &text[start..];
        at = start + 1;
        if !looks_like_json(rest) {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
        if let Some(Ok(value)) = values.next() {
            // Nothing within starts anywhere but where the value knows it.
            at = start + values.byte_offset();
            hand_on(&value, layers, take);
        }
    }
}

fn hand_on(value: &Json, layers: usize, take: &mut impl FnMut(&Json)) {
    match value {
        Json::Object(entries) => {
            take(value);
            entries.iter().for_each(|(_, inner)| hand_on(inner, layers, take));
        }
        Json::List(items) => {
            if items.iter().any(|item| matches!(item, Json::Object(_))) {
                take(value);
            }
            items.iter().for_each(|item| hand_on(item, layers, take));
        }
        Json::Text(text) if layers > 0 => look_through(text, layers - 1, take),
        Json::Text(_) | Json::Number(_) | Json::Bool(_) | Json::Null => {}
    }
}

/// The value, if the text is nothing else.
pub(super) fn parse(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok()
}

/// Finds values amid prose in one pass. A value that is not valid is skipped as a whole and one that never ends takes
/// the rest with it: the pieces of a broken object must not be read as if each were a verdict.
fn scan(text: &str, found: &mut ReplyJson) {
    let mut at = 0;
    while let Some(offset) = text[at..].find(['{', '[']) {
        let start = at + offset;
        if !looks_like_json(&text[start..]) {
            at = start + 1;
            continue;
        }
        let Some(length) = balanced(&text[start..]) else {
            found.broken = true;
            return;
        };
        let (before, behind) = (&text[..start], &text[start + length..]);
        match parse(&text[start..start + length]) {
            Some(value) if is_aside(before, behind) => found.values.push((value, JsonPlace::Aside)),
            Some(value) => found.values.push((value, JsonPlace::Embedded)),
            None => found.broken = true,
        }
        at = start + length;
    }
}

/// Whether a value stands within a sentence: others share its first or last line, or the next line goes on with it.
fn is_aside(before: &str, behind: &str) -> bool {
    let mut behind = behind.split('\n');
    let shared = [before.rsplit('\n').next(), behind.next()];
    shared.into_iter().flatten().any(|line| !line.chars().all(is_decoration))
        || behind.next().is_some_and(|next| next.trim_start().starts_with(char::is_lowercase))
}

/// An opening brace before a quote, or an opening bracket before a brace: what prose and code rarely write.
fn looks_like_json(text: &str) -> bool {
    let mut chars = text.chars();
    let open = chars.next();
    let next = chars.find(|c| !c.is_whitespace());
    matches!((open, next), (Some('{'), Some('"')) | (Some('['), Some('{')))
}

/// The length of the bracketed text at the start of `text`, with brackets in strings left out.
fn balanced(text: &str) -> Option<usize> {
    let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        // The shortest text that means this float, with its point, is what the reviewer wrote.
        Ok(Decimal::from_str(&format!("{value:?}")).map_or(Json::Null, Json::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Json::Object(object))
    }
}
