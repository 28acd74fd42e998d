//! Replies of a fixed form: one JSON object, alone, fenced or amid prose, with whatever keys beside those asked for.
//!
//! There is one way in which such an object is found, for whatever purpose somebody was asked; each purpose has a small
//! reader of its own for what stands in it. What is missing or off the scale is unread, never completed or guessed, and
//! an object that stands in the work too may be a quotation: it can contradict, but never testify.

use super::findings::findings_of;
use super::json::{self, Json, Place};
use super::quoted::Quoted;
use super::text::{split, without_thinking};
use super::{Scale, Unparsed};
use crate::domain::Finding;

/// The JSON values of a reply, apart by whose words they may be.
pub(crate) struct Values {
    /// The judge's own, in their order, each with where it stands.
    pub own: Vec<(Json, Place)>,
    /// Those that stand in the work too.
    pub echoed: Vec<(Json, Place)>,
    /// Whether something started like JSON and was not.
    pub broken: bool,
}

/// Takes a reply apart.
///
/// # Errors
/// When it is empty, or the work holds so many verdicts that none can be told from a quotation.
pub(crate) fn values(reply: &str, work: &Quoted) -> Result<Values, Unparsed> {
    let reply = without_thinking(reply);
    if reply.trim().is_empty() {
        return Err(Unparsed::Empty);
    }
    if work.drowns_out() {
        return Err(Unparsed::Drowned);
    }
    let found = json::find(reply, &split(reply));
    let values = found.values.into_iter();
    let (echoed, own) = values.partition(|(value, _)| work.has_object(value));
    Ok(Values {
        own,
        echoed,
        broken: found.broken,
    })
}

impl Values {
    /// What the judge found, wherever in its reply that stands: at most so many, and what several objects say only once.
    /// What is found needs no form of its own to count.
    pub fn findings(&self, most: usize) -> Vec<Finding> {
        let mut all: Vec<Finding> = Vec::new();
        for (object, _) in self
            .own
            .iter()
            .filter(|(value, _)| matches!(value, Json::Object(_)))
        {
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
pub(crate) fn read_object<T: PartialEq>(
    reply: &str,
    work: &Quoted,
    key: &'static str,
    read: impl Fn(&Json) -> Result<T, Unparsed>,
) -> Result<T, Unparsed> {
    let found = values(reply, work)?;
    let has_key = |value: &&Json| value.get(&[key]).is_some();
    let mut agreed: Option<T> = None;
    for object in found.own.iter().map(|(value, _)| value).filter(has_key) {
        let said = read(object)?;
        match &agreed {
            Some(other) if *other != said => return Err(Unparsed::Differing),
            // Of objects that agree the last is the one that the reply ends on.
            _ => agreed = Some(said),
        }
    }
    let echoed = found.echoed.iter().map(|(value, _)| value);
    let mut echoed = echoed.filter(has_key).peekable();
    match agreed {
        Some(said) => match echoed.all(|value| read(value).is_ok_and(|other| other == said)) {
            true => Ok(said),
            false => Err(Unparsed::Differing),
        },
        None if echoed.peek().is_some() => Err(Unparsed::InWork),
        None if found.broken => Err(Unparsed::BrokenJson),
        None => Err(Unparsed::NoForm(key)),
    }
}

/// Something of an object that is not what was asked for.
pub(crate) fn wrong(what: impl Into<String>) -> Unparsed {
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
            Some(_) => Err(Unparsed::Duplicate(
                names.first().copied().unwrap_or_default().to_owned(),
            )),
            None => Ok(first),
        }
    }

    /// A text that the object may have; trimmed, empty where it has none.
    ///
    /// # Errors
    /// When it stands there twice.
    pub(crate) fn text_at(&self, names: &[&str]) -> Result<String, Unparsed> {
        Ok(self.only(names)?.map(Json::words).unwrap_or_default())
    }

    /// A yes or no that the object must have.
    ///
    /// # Errors
    /// When it has none.
    pub(crate) fn required_bool(&self, name: &'static str) -> Result<bool, Unparsed> {
        match self.only(&[name])? {
            Some(Json::Bool(value)) => Ok(*value),
            _ => Err(wrong(format!("`{name}` is not true or false"))),
        }
    }

    /// One of the words that are known for a key, in whatever case.
    ///
    /// # Errors
    /// When it is another one.
    pub(crate) fn required_word<T: Copy>(
        &self,
        name: &'static str,
        known: &[(&str, T)],
    ) -> Result<T, Unparsed> {
        let said = self
            .only(&[name])?
            .and_then(Json::text)
            .unwrap_or_default()
            .trim();
        let mut known_words = known.iter();
        let found = known_words.find(|(word, _)| word.eq_ignore_ascii_case(said));
        let words = || known.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| wrong(format!("`{name}` is not one of: {}", words())))
    }

    /// What a value says in words: a text, a list of texts, a number; nothing else says anything.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Text(text) => text.trim().to_owned(),
            Self::Number(number) => number.to_string(),
            Self::List(items) => {
                let words = items.iter().map(Json::words);
                words
                    .filter(|words| !words.is_empty())
                    .collect::<Vec<_>>()
                    .join("; ")
            }
            Self::Null | Self::Bool(_) | Self::Object(_) => String::new(),
        }
    }
}

/// A share from 0 to 1, exactly as it was written; `what` names it.
///
/// # Errors
/// When it is no such number.
pub(crate) fn share(value: &Json, what: &str) -> Result<crate::domain::Points, Unparsed> {
    let number = super::panel::score_value(value);
    let number = number.ok_or_else(|| Unparsed::NotANumber(what.to_owned()))?;
    let points = number.checked_mul(rust_decimal::Decimal::ONE_HUNDRED);
    let points = points.and_then(crate::domain::Points::new);
    points.ok_or_else(|| Unparsed::OffScale {
        what: what.to_owned(),
        value: number,
        scale: Scale::SHARE,
    })
}
