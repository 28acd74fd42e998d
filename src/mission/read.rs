//! Serde helpers: how fields of the model read single values, lists and named maps.
//!
//! They ask the deserializer for the text of each single value and leave its meaning to [`Scalar`]. A null value counts
//! as a key that was left out.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use thin_vec::ThinVec;

use super::model::{Remedy, RemedyOrder};
use super::scalar::{Filled, Fraction, RubricLevel, Scalar};
use crate::domain::Points;

/// Reads one value of type `T` from its text.
struct One<T>(PhantomData<T>);

impl<'de, T: Scalar> DeserializeSeed<'de> for One<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<T: Scalar> Visitor<'_> for One<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTS)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).map_err(|fault| E::custom(fault.message))
    }
}

/// A value that may be null.
struct Maybe<S>(S);

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Maybe<S> {
    type Value = Option<S::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or nothing")
    }

    fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.deserialize(deserializer).map(Some)
    }
}

/// A list of values.
struct List<T>(PhantomData<T>);

impl<'de, T: Scalar> DeserializeSeed<'de> for List<T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Scalar> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(One(PhantomData))? {
            list.push(item);
        }
        Ok(list)
    }
}

/// Entries by name, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named<T>(pub Vec<(Box<str>, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(NamedVisitor(PhantomData))
    }
}

struct NamedVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for NamedVisitor<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(name) = map.next_key_seed(One(PhantomData))? {
            entries.push((name, map.next_value()?));
        }
        Ok(Named(entries))
    }
}

/// One value wherever serde wants a type: entries of lists and maps.
pub(super) struct Single<T>(pub T);

impl<'de, T: Scalar> Deserialize<'de> for Single<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        One(PhantomData).deserialize(deserializer).map(Self)
    }
}

/// `Option<T>`: the value, or nothing.
pub(super) fn option<'de, D: Deserializer<'de>, T: Scalar>(deserializer: D) -> Result<Option<T>, D::Error> {
    deserializer.deserialize_option(Maybe(One(PhantomData)))
}

/// `Option<T>` read by the stricter rules of `S`.
pub(super) fn option_as<'de, S, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    S: Scalar,
    T: From<S>,
    D: Deserializer<'de>,
{
    Ok(option::<D, S>(deserializer)?.map(T::from))
}

/// A count of at least one. Nobody counts to more than 65,535 visits.
pub(super) fn visits<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<std::num::NonZeroU16>, D::Error> {
    let count = option::<D, std::num::NonZeroU32>(deserializer)?;
    Ok(count.map(|count| count.try_into().unwrap_or(std::num::NonZeroU16::MAX)))
}

/// A value that few tasks have: it takes one word where it is missing.
pub(super) fn boxed<'de, D: Deserializer<'de>, T: Scalar>(
    deserializer: D,
) -> Result<Option<Box<T>>, D::Error> {
    Ok(option::<D, T>(deserializer)?.map(Box::new))
}

/// A text that few tasks have, read by the stricter rules of `S`: it takes one word where it is missing.
pub(super) fn rare_as<'de, S, D>(deserializer: D) -> Result<Option<Box<Box<str>>>, D::Error>
where
    S: Scalar + Into<Box<str>>,
    D: Deserializer<'de>,
{
    Ok(option::<D, S>(deserializer)?.map(|text| Box::new(text.into())))
}

/// One text, or a list of them, read by the stricter rules of `S`.
pub(super) fn one_or_more<'de, S, D>(deserializer: D) -> Result<Vec<Box<str>>, D::Error>
where
    S: Scalar + Into<Box<str>>,
    D: Deserializer<'de>,
{
    struct OneOrMore<S>(PhantomData<S>);
    impl<'de, S: Scalar + Into<Box<str>>> Visitor<'de> for OneOrMore<S> {
        type Value = Vec<Box<str>>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a list of texts")
        }

        fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
            let text = S::parse(text).map_err(|fault| E::custom(fault.message))?;
            Ok(vec![text.into()])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element_seed(One(PhantomData::<S>))? {
                list.push(item.into());
            }
            Ok(list)
        }
    }
    deserializer.deserialize_any(OneOrMore::<S>(PhantomData))
}

/// The value, which must be there.
pub(super) fn single<'de, D: Deserializer<'de>, T: Scalar>(deserializer: D) -> Result<T, D::Error> {
    Single::deserialize(deserializer).map(|Single(value)| value)
}

/// The value, or its type's default.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Scalar + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(option(deserializer)?.unwrap_or_default())
}

/// A text read by the stricter rules of `S`, empty if it is missing.
pub(super) fn text_as<'de, S, D>(deserializer: D) -> Result<Box<str>, D::Error>
where
    S: Scalar + Into<Box<str>>,
    D: Deserializer<'de>,
{
    Ok(option::<D, S>(deserializer)?.map(Into::into).unwrap_or_default())
}

/// A list of texts, kept small.
type Texts = Box<[Box<str>]>;

/// A list of texts read by the rules of `S`; `None` if it is missing, which may mean something else than an empty one.
pub(super) fn maybe_list_as<'de, S, D>(deserializer: D) -> Result<Option<Texts>, D::Error>
where
    S: Scalar + Into<Box<str>>,
    D: Deserializer<'de>,
{
    let list: Option<Vec<S>> = deserializer.deserialize_option(Maybe(List(PhantomData)))?;
    Ok(list.map(|list| list.into_iter().map(Into::into).collect()))
}

/// The same of what few tasks have: it takes one word where it is missing.
pub(super) fn maybe_thin_list_as<'de, S, D>(deserializer: D) -> Result<Option<ThinVec<Box<str>>>, D::Error>
where
    S: Scalar + Into<Box<str>>,
    D: Deserializer<'de>,
{
    Ok(maybe_list_as::<S, D>(deserializer)?.map(|list| list.into_iter().collect()))
}

/// A list of texts read by the rules of `S`, empty if it is missing.
pub(super) fn list_as<'de, S, L, D>(deserializer: D) -> Result<L, D::Error>
where
    S: Scalar + Into<Box<str>>,
    L: FromIterator<Box<str>>,
    D: Deserializer<'de>,
{
    let list: Option<Vec<S>> = deserializer.deserialize_option(Maybe(List(PhantomData)))?;
    Ok(list.into_iter().flatten().map(Into::into).collect())
}

/// An order of remedies, if there is one.
pub(super) fn remedies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RemedyOrder>, D::Error> {
    let list: Option<Vec<Remedy>> = deserializer.deserialize_option(Maybe(List(PhantomData)))?;
    Ok(list.map(|list| list.into_iter().collect()))
}

/// An ordered chain of words, if there is one.
pub(super) fn chain<'de, T, C, D>(deserializer: D) -> Result<Option<C>, D::Error>
where
    D: Deserializer<'de>,
    T: Scalar,
    C: FromIterator<T>,
{
    let list: Option<Vec<T>> = deserializer.deserialize_option(Maybe(List(PhantomData)))?;
    Ok(list.map(|list| list.into_iter().collect()))
}

/// The same, kept out of the way where most have none.
pub(super) fn boxed_chain<'de, T, C, D>(deserializer: D) -> Result<Option<Box<C>>, D::Error>
where
    D: Deserializer<'de>,
    T: Scalar,
    C: FromIterator<T>,
{
    Ok(chain::<T, C, D>(deserializer)?.map(Box::new))
}

/// Any type, or its default if the value is null.
pub(super) fn or_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Any type, or nothing if the value is null.
pub(super) fn option_of<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// A count of at least one, as the plain number.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    Ok(option::<D, std::num::NonZeroU32>(deserializer)?.map(std::num::NonZeroU32::get))
}

/// A map of texts read by the rules of `S`, empty if it is missing.
pub(super) fn templates<'de, S, D>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error>
where
    S: Scalar + Into<String>,
    D: Deserializer<'de>,
{
    let map: Named<Single<S>> = or_empty(deserializer)?;
    Ok(map
        .0
        .into_iter()
        .map(|(name, Single(text))| (name.into(), text.into()))
        .collect())
}

/// A map of shares by name, empty if it is missing.
pub(super) fn shares<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<(Box<str>, Points)>, D::Error> {
    let map: Named<Single<Fraction>> = or_empty(deserializer)?;
    let shares = map.0.into_iter();
    Ok(shares
        .map(|(name, Single(share))| (name, share.points()))
        .collect())
}

/// A rubric: texts by level, in the order of the file.
pub(super) fn levels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u8, String)>, D::Error> {
    let map: Named<Single<Filled>> = or_empty(deserializer)?;
    map.0
        .into_iter()
        .map(|(level, Single(text))| match RubricLevel::parse(&level) {
            Ok(RubricLevel(level)) => Ok((level, text.into())),
            Err(fault) => Err(D::Error::custom(fault.message)),
        })
        .collect()
}
