//! Levels of settings: what the mission says wins over the project, the project over the user, all over the defaults.
//!
//! An `Option` is decided by the strongest that says anything, a map with keys of its own key by key; lists and named maps
//! that are no `Option` are gathered from all.

use std::num::NonZeroU32;

use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use serde_json::{Value as Json, json};

use super::keys::{Later, Named, Value};
use super::scalar::{Bytes, Fraction, Positive};
use crate::domain::{Bar, Millis, Money};

/// A setting, or a map of settings.
pub trait Level: Sized {
    /// Whether every level adds to it, instead of the strongest deciding alone.
    const GATHERS: bool = false;

    /// Whether every level adds to one of the map's keys, instead of the strongest deciding alone.
    fn gathers(_: &str) -> bool {
        false
    }

    /// Fills in from `below`, the weaker level, what this one leaves open.
    fn over(self, below: Self) -> Self;

    /// The value where no level says anything.
    fn standard(default: Option<&str>) -> Self;

    /// The value of the key at `path` below this one; `None` where this level says nothing of it.
    fn value_at(&self, path: &str) -> Option<Json>;
}

/// A value as `quorum config show` shows it.
pub trait ShowValue {
    /// As a file would say it.
    fn shown(&self) -> Json;
}

impl<T: Value + ShowValue> Level for Option<T> {
    fn over(self, below: Self) -> Self {
        self.or(below)
    }

    fn standard(default: Option<&str>) -> Self {
        default.and_then(T::of_text)
    }

    fn value_at(&self, _: &str) -> Option<Json> {
        self.as_ref().map(ShowValue::shown)
    }
}

impl Level for Later {
    fn over(self, _: Self) -> Self {
        self
    }

    fn standard(_: Option<&str>) -> Self {
        Self
    }

    fn value_at(&self, _: &str) -> Option<Json> {
        None
    }
}

/// Adds the entries of the weaker level: a list of a project or a user stays, whatever a mission adds.
impl Level for Box<[Box<str>]> {
    const GATHERS: bool = true;

    fn over(self, below: Self) -> Self {
        let mut all = self.into_vec();
        for entry in below {
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        all.into()
    }

    fn standard(_: Option<&str>) -> Self {
        Self::default()
    }

    fn value_at(&self, _: &str) -> Option<Json> {
        (!self.is_empty()).then(|| json!(self))
    }
}

impl<T: ShowValue> Level for Named<T> {
    const GATHERS: bool = true;

    fn over(mut self, below: Self) -> Self {
        for (name, value) in below.0 {
            if self.get(&name).is_none() {
                self.0.push((name, value));
            }
        }
        self
    }

    fn standard(_: Option<&str>) -> Self {
        Self::default()
    }

    fn value_at(&self, _: &str) -> Option<Json> {
        let entries = self.0.iter();
        let entries = entries.map(|(name, value)| (name.to_string(), value.shown()));
        (!self.0.is_empty()).then(|| Json::Object(entries.collect()))
    }
}

/// An amount as a file would say it.
pub fn money_value(amount: Money) -> Json {
    json!(Decimal::from(amount).to_f64())
}

/// Makes the levels of a map of keys; `keys!` calls it.
macro_rules! levels {
    ($Name:ident {
        $(
            $(#[doc = $doc:expr])+
            $key:literal $field:ident: $T:ty $(as $As:ty)? $(= $default:expr)?
                $(, $mark:ident $(($($argument:expr),+))?)*;
        )+
    }) => {
        impl $crate::mission::file::levels::Level for $Name {
            fn over(self, below: Self) -> Self {
                Self { $($field: $crate::mission::file::levels::Level::over(self.$field, below.$field),)+ }
            }

            fn standard(_: Option<&str>) -> Self {
                let mut keys = <Self as $crate::mission::file::keys::Keys>::TABLE.keys.iter();
                let mut default = || keys.next().and_then(|key| key.default);
                Self { $($field: $crate::mission::file::levels::Level::standard(default()),)+ }
            }

            fn gathers(key: &str) -> bool {
                match key {
                    $($key => <$T as $crate::mission::file::levels::Level>::GATHERS,)+
                    _ => false,
                }
            }

            fn value_at(&self, path: &str) -> Option<serde_json::Value> {
                let (key, below) = path.split_once('.').unwrap_or((path, ""));
                match key {
                    $($key => $crate::mission::file::levels::Level::value_at(&self.$field, below),)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use levels;

/// Values that JSON has words for.
macro_rules! shown {
    ($($T:ty: |$value:ident| $shown:expr),+ $(,)?) => {$(
        impl $crate::mission::file::levels::ShowValue for $T {
            fn shown(&self) -> serde_json::Value {
                let $value = self;
                serde_json::json!($shown)
            }
        }
    )+};
}
pub(crate) use shown;

shown!(
    bool: |flag| flag,
    u32: |number| number,
    u64: |number| number,
    NonZeroU32: |number| number,
    Box<str>: |text| text,
    Box<[Box<str>]>: |texts| texts,
    Bar: |bar| bar.points.to_f64(),
    Millis: |span| span.to_string(),
    Bytes: |size| size.to_string(),
    Positive: |number| number.get(),
    Fraction: |share| share.to_f64(),
    Money: |amount| money_value(*amount),
);
