//! Replies of a fixed form: one JSON object, alone, fenced or on lines of its own, with whatever keys beside those asked for.
//!
//! There is one way in which such an object is found, for whatever purpose somebody was asked; each purpose has a small
//! reader of its own for what stands in it. What is missing or off the scale is unread, never completed or guessed, and
//! an object that stands in the work too may be a quotation: it can contradict, but never testify. A verdict in words beside
//! what was asked for (`Verdict: FAIL`, `"pass": false`) keeps a reply that says two things from being read as the better.

use std::sync::LazyLock;

use regex::Regex;

use super::findings::findings_of;
use super::json::{self, Json, JsonPlace, is_in, plain};
use super::own_words::{Parts, fold, split};
use super::quoted::Quoted;
use super::reasoning::own_words;
use super::unparsed_reason::{Scale, Unparsed};
use crate::domain::{Finding, Points};

/// The JSON values of a reply, apart by whose words they may be.
pub(crate) struct ReplyValues {
    /// The judge's own values, in their order, each with its place in the reply.
    pub own: Vec<(Json, JsonPlace)>,
    /// The values that stand in the work too, or within a sentence: they can contradict, but never testify.
    pub doubted: Vec<(Json, JsonPlace)>,
    /// Whether something started like JSON and was not.
    pub broken: bool,
    /// Whether the judge declares beside all that that the work passes, if it declares anything and does not say both.
    pub declared: Result<Option<bool>, Unparsed>,
}

/// Takes a reply apart.
///
/// # Errors
/// When it is empty, or the work holds so many verdicts that none can be told from a quotation.
pub(crate) fn values(reply: &str, work: &Quoted) -> Result<ReplyValues, Unparsed> {
    let reply = own_words(reply)?;
    values_of(&reply, &split(&reply), work)
}

/// Reads the values of a reply that was taken apart into lines.
pub(super) fn values_of(reply: &str, parts: &Parts, work: &Quoted) -> Result<ReplyValues, Unparsed> {
    if work.drowns_out() {
        return Err(Unparsed::Drowned);
    }
    let mut found = json::find(reply, parts);
    for (value, place) in &mut found.values {
        if work.has_object(value) {
            *place = JsonPlace::InWork;
        }
    }
    let is_own = |(_, place): &(Json, JsonPlace)| matches!(place, JsonPlace::Whole | JsonPlace::Embedded);
    let (own, doubted): (Vec<_>, Vec<_>) = found.values.into_iter().partition(is_own);
    Ok(ReplyValues { declared: declared(&parts.own, &own), own, doubted, broken: found.broken })
}

impl ReplyValues {
    /// Why no value that `has_form` is the judge's word; `otherwise` where there is none at all.
    pub fn nothing_own(
        &self,
        has_form: impl Fn(&(Json, JsonPlace)) -> bool,
        otherwise: Unparsed,
    ) -> Unparsed {
        match self.doubted.iter().find(|value| has_form(value)) {
            Some((_, JsonPlace::Aside)) => Unparsed::Aside,
            Some(_) => Unparsed::InWork,
            None if self.broken => Unparsed::BrokenJson,
            None => otherwise,
        }
    }

    /// The values that are the judge's own, and behind them those that it only speaks of within a sentence.
    pub fn own_or_spoken(&self) -> impl Iterator<Item = &(Json, JsonPlace)> {
        let doubted = self.doubted.iter();
        let spoken = doubted.filter(|(_, place)| *place == JsonPlace::Aside);
        self.own.iter().chain(spoken)
    }

    /// The findings of the judge, wherever in its reply they stand: at most `most`, and one that several
    /// objects repeat only once. A finding needs no form of its own to count.
    pub fn findings(&self, most: usize) -> Vec<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        for (object, _) in self.own_or_spoken() {
            if matches!(object, Json::List(_)) {
                continue;
            }
            let before = all.len();
            let new = findings_of(object, most).into_iter();
            let new: Vec<_> = new.filter(|finding| !all[..before].contains(finding)).collect();
            all.extend(new);
            if all.len() >= most {
                break;
            }
        }
        all.truncate(most);
        all
    }
}

/// Reads the object of a reply that has the key `key`, written without case, spaces, underscores and hyphens.
///
/// # Errors
/// When there is none of the judge's own, when `read` makes nothing of it, or when several differ.
pub fn read_object<T: PartialEq>(
    reply: &str,
    work: &Quoted,
    key: &'static str,
    read: impl Fn(&Json) -> Result<T, Unparsed>,
) -> Result<T, Unparsed> {
    let found = values(reply, work)?;
    let has_key = |(value, _): &(Json, JsonPlace)| value.get(&[key]).is_some();
    let mut agreed: Option<T> = None;
    for (object, _) in found.own.iter().filter(|value| has_key(value)) {
        let said = read(object.unambiguous()?)?;
        match &agreed {
            Some(other) if *other != said => return Err(Unparsed::Differing),
            // Of objects that agree the last is the one that the reply ends on.
            _ => agreed = Some(said),
        }
    }
    found.declared.clone()?;
    let said = agreed.ok_or_else(|| found.nothing_own(has_key, Unparsed::NoForm(key)))?;
    let mut doubted = found.doubted.iter().filter(|value| has_key(value));
    if doubted.all(|(value, _)| read(value).is_ok_and(|other| other == said)) {
        Ok(said)
    } else {
        Err(Unparsed::Differing)
    }
}

/// Something of an object that is not what was asked for.
pub fn wrong(what: impl Into<String>) -> Unparsed {
    Unparsed::Wrong(what.into())
}

impl Json {
    /// The value of the only one of `names` that the object has.
    ///
    /// # Errors
    /// When one of them stands there twice: nobody could say which counts.
    pub(crate) fn only(&self, names: &[&str]) -> Result<Option<&Json>, Unparsed> {
        let mut found = self.all(names);
        let first = found.next();
        match found.next() {
            Some(_) => Err(Unparsed::Duplicate(names.first().copied().unwrap_or_default().to_owned())),
            None => Ok(first),
        }
    }

    /// A text that the object may have; trimmed, empty where it has none.
    ///
    /// # Errors
    /// When it stands there twice.
    pub fn text_at(&self, names: &[&str]) -> Result<String, Unparsed> {
        Ok(self.only(names)?.map(Json::words).unwrap_or_default())
    }

    /// A yes or no that the object must have.
    ///
    /// # Errors
    /// When it has none.
    pub fn required_bool(&self, name: &'static str) -> Result<bool, Unparsed> {
        match self.only(&[name])? {
            Some(Json::Bool(value)) => Ok(*value),
            _ => Err(wrong(format!("`{name}` is not true or false"))),
        }
    }

    /// One of the words that are known for a key, in whatever case.
    ///
    /// # Errors
    /// When it is another one.
    pub fn required_word<T: Clone>(&self, name: &'static str, known: &[(&str, T)]) -> Result<T, Unparsed> {
        let said = self.only(&[name])?.and_then(Json::text).unwrap_or_default().trim();
        let mut known_words = known.iter();
        let found = known_words.find(|(word, _)| word.eq_ignore_ascii_case(said));
        let words = || known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        found
            .map(|(_, value)| value.clone())
            .ok_or_else(|| wrong(format!("`{name}` is not one of: {}", words())))
    }

    /// The words of a value: a text, a number, or several of them, with their keys where they have any.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::List(items) => {
                let words = items.iter().map(Json::words);
                words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; ")
            }
            Self::Object(entries) => {
                let words = entries.iter().map(|(key, inner)| (key, inner.words()));
                words
                    .filter(|(_, words)| !words.is_empty())
                    .map(|(key, words)| format!("{key}: {words}"))
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            Self::Bool(true) => "true".to_owned(),
            Self::Null | Self::Bool(false) => String::new(),
        }
    }
}

/// A share from 0 to 1, exactly as it was written; `what` names it.
///
/// # Errors
/// When it is no such number.
pub(crate) fn share(value: &Json, what: &str) -> Result<Points, Unparsed> {
    let number = value.number().ok_or_else(|| Unparsed::NotANumber(what.to_owned()))?;
    let points = number.checked_mul(rust_decimal::Decimal::ONE_HUNDRED);
    let points = points.and_then(Points::new);
    points.ok_or_else(|| Unparsed::OffScale { what: what.to_owned(), value: number, scale: Scale::SHARE })
}

/// A line that is such a word, behind its label or alone. A line of JSON is read as JSON.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xi) ^ [^\w"{\[]*
        (?: (?: (?:final|overall|total|my|your|the) [\W_]+ )* (?P<key> \w+ (?:/\w+)? ) [\W_]*? [:=-] [\W_]* (?P<said> .+ )
        | (?P<alone> pass | passed | fail | failed | approved | rejected ) [\W_]* ) $"#,
    )
    .expect("the pattern is fixed and tested")
});
/// Bytes of such a line.
const LONGEST: usize = 400;
/// Keys of such a word, without case and punctuation.
const KEYS: &str = " verdict decision result outcome status recommendation pass passed passes passing approve approved \
                    approval accept accepted acceptable ok success successful satisfied pass/fail overall final ";
/// Keys that say the opposite.
const OPPOSITES: &str = " fail failed fails failure reject rejected blocked ";
/// Words that say yes.
const YES: &str = " pass passed passes passing approve approved approves accept accepted acceptable ok okay yes true success \
                   successful satisfied satisfactory lgtm ";
/// Words that do not: they say no, or leave it open.
const NO: &str = " fail failed fails failing failure reject rejected rejects disapprove disapproved deny denied decline declined \
                  refuse refused block blocked no false not cannot unacceptable unsatisfactory unsuccessful insufficient \
                  incorrect needs rework revise refer undecided unsure unknown unclear inconclusive abstain ";

/// Whether the own lines and values of a reply say that the work passes; `None` where none of them says anything of it.
fn declared(lines: &[&str], values: &[(Json, JsonPlace)]) -> Result<Option<bool>, Unparsed> {
    let lines = lines.iter().filter_map(|line| of_line(line));
    let mut all: Vec<bool> = lines.collect();
    values.iter().for_each(|(value, _)| of_object(value, &mut all));
    match (all.contains(&true), all.contains(&false)) {
        (true, true) => Err(Unparsed::Differing),
        (false, false) => Ok(None),
        (yes, _) => Ok(Some(yes)),
    }
}

/// Adds what an object declares, and those among its values that are objects under such a key.
fn of_object(object: &Json, all: &mut Vec<bool>) {
    for (key, value) in object.entries() {
        let key = plain(key);
        match value {
            Json::Bool(said) => all.extend(of_key(&key, Some(*said))),
            Json::Number(number) if number.is_zero() && is_in(KEYS, &key) => all.push(false),
            Json::Text(text) => all.extend(of_key(&key, of_words(text))),
            value if is_in(KEYS, &key) => of_object(value, all),
            _ => {}
        }
    }
}

/// The verdict that a key declares; `None` for a key that declares nothing.
fn of_key(key: &str, said: Option<bool>) -> Option<bool> {
    let is_opposite = is_in(OPPOSITES, key);
    let said = said.filter(|_| is_opposite || is_in(KEYS, key))?;
    Some(said != is_opposite)
}

/// `Final verdict: FAIL`, `Approved = no`, or the word alone.
fn of_line(line: &str) -> Option<bool> {
    let line = Some(fold(line)).filter(|line| line.len() <= LONGEST)?;
    let found = LINE.captures(&line)?;
    match (found.name("key"), found.name("said"), found.name("alone")) {
        (Some(key), Some(said), _) => of_key(&plain(key.as_str()), of_words(said.as_str())),
        (_, _, alone) => of_words(alone?.as_str()),
    }
}

/// The verdict in the first word of a text; a plain "no" only where it is all.
fn of_words(text: &str) -> Option<bool> {
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let (first, is_all) = (words.next()?, words.next().is_none());
    if !is_all && ["no", "yes"].contains(&first) {
        return None;
    }
    let yes = is_in(YES, first);
    (yes || is_in(NO, first)).then_some(yes)
}
