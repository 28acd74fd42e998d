//! Keys, each declared once: `keys!` makes of a declaration the struct, its table, and how it is read.
//!
//! ```text
//! keys! {
//!     /// What is said and done about deadlines.
//!     #[derive(Default)]
//!     pub struct Sla: "sla settings", by level {
//!         /// The share of the time after which a warning is given [=].
//!         "warningThreshold" warning_threshold: Option<Fraction> = "0.8";
//!         /// Channels that hear of a missed deadline.
//!         "violationChannels" violation_channels: Option<Box<[Box<str>]>> as ChannelName = "[]";
//!     }
//! }
//! ```
//!
//! A line has the name in the file, the field, its type, and
//! * `as Scalar`, where the text is read by stricter rules than the type has of its own;
//! * `= "default"` of an `Option`: what holds where nobody says anything, as a file would say it. The method of the
//!   field's name gives it, and the documentation shows it for `[=`;
//! * `, or("default")`: what is stored where the key is missing; of an `Option`, which stays empty, what the documentation
//!   shows for `[=`, because something else decides;
//! * the other marks of a [`Key`](super::shape::Key): `required`, `filled`, `later`.
//!
//! `by level` is for settings, which several files may give: see [`levels`](super::levels). `effective as Name` makes a struct
//! of what those with a default come to, which the plan holds.

use std::collections::BTreeMap;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};

use rust_decimal::Decimal;
use semver::VersionReq;
use serde::{Deserialize, Serialize};
use thin_vec::ThinVec;

use super::document::{Node, Tree};
use super::scalar::{
    Bytes, Deadline, Filled, Fraction, InnerPath, Name, Positive, Reruns, RubricLevel, Scalar, Span,
    Temperature, TryCount, VariableName,
};
use super::shape::{OneShape, Shape, Table};
use crate::domain::{Bar, DeclaredVerdict, Millis, Money, Points, Severity};

/// A type of value for a key: its shape, and how it is read. `As` is the scalar whose rules its texts keep, or
/// the way in which it is written; `()` where the type says that itself.
pub trait Value<As = ()>: Sized {
    /// The shape that the document is checked against.
    const SHAPE: Shape;

    /// Reads a value that is not null. `None`: it is none such, of which the check has told.
    fn read(node: Node<'_, '_>) -> Option<Self>;

    /// Reads the text of a file.
    fn of_text(text: &str) -> Option<Self> {
        let (tree, _) = Tree::parse(text).ok()?;
        Self::read(Node::root(&tree))
    }

    /// Value of an absent key; `None` makes the map unreadable.
    fn missing(default: Option<&str>) -> Option<Self> {
        Self::of_text(default?)
    }
}

/// A map with keys of its own.
pub trait Keys {
    /// The keys of the map.
    const TABLE: &'static Table;
}

/// A value that a default can stand in for: the method that `= "default"` makes.
pub trait Untold {
    /// The type of the value with a default in place of absence.
    type Told;

    /// The value of the file, or the default.
    fn or_text(&self, default: &str) -> Self::Told;
}

impl<T: Value + Clone> Untold for Option<T> {
    type Told = T;

    fn or_text(&self, default: &str) -> T {
        let told = self.clone().or_else(|| T::of_text(default));
        told.expect("a test reads every default")
    }
}

/// Declares a kind of map with its keys.
macro_rules! keys {
    (
        $(#[$attribute:meta])* $vis:vis struct $Name:ident: $about:literal, by level, effective as $Effective:ident { $($body:tt)+ }
    ) => {
        $crate::mission::file::keys::keys! { $(#[$attribute])* $vis struct $Name: $about, by level { $($body)+ } }
        $crate::mission::file::keys::effective! { $Effective of $Name { $($body)+ } }
    };
    ($(#[$attribute:meta])* $vis:vis struct $Name:ident: $about:literal, by level { $($body:tt)+ }) => {
        $crate::mission::file::keys::keys! { $(#[$attribute])* $vis struct $Name: $about { $($body)+ } }
        $crate::mission::file::levels::levels! { $Name { $($body)+ } }
    };
    (
        $(#[$attribute:meta])*
        $vis:vis struct $Name:ident: $about:literal {
            $(
                $(#[doc = $doc:expr])+
                $key:literal $field:ident: $T:ty $(as $As:ty)? $(= $default:expr)?
                    $(, $mark:ident $(($($argument:expr),+))?)*;
            )+
        }
        $(and { $($(#[$own_attribute:meta])* $own_vis:vis $own:ident: $Own:ty;)+ })?
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq)]
        #[allow(rustdoc::broken_intra_doc_links, reason = "square brackets hold defaults")]
        $vis struct $Name {
            $($(#[doc = $doc])+ $vis $field: $T,)+
            $($($(#[$own_attribute])* $own_vis $own: $Own,)+)?
        }

        impl $crate::mission::file::keys::Keys for $Name {
            const TABLE: &'static $crate::mission::file::shape::Table = {
                static TABLE: $crate::mission::file::shape::Table = $crate::mission::file::shape::Table {
                    name: $about,
                    keys: &[$(
                        $crate::mission::file::shape::TableKey::new(
                            $key,
                            <$T as $crate::mission::file::keys::Value $(<$As>)?>::SHAPE,
                            concat!($($doc),+),
                        ) $(.or($default))? $(.$mark($($($argument),+)?))*
                    ),+],
                };
                &TABLE
            };
        }

        impl $crate::mission::file::keys::Value for $Name {
            const SHAPE: $crate::mission::file::shape::Shape =
                $crate::mission::file::shape::Shape::Map(<Self as $crate::mission::file::keys::Keys>::TABLE);

            fn read(node: $crate::mission::file::document::Node<'_, '_>) -> Option<Self> {
                $(let mut $field = None;)+
                for (key, value) in node.entries() {
                    match key {
                        $($key => {
                            $field = Some(<$T as $crate::mission::file::keys::Value $(<$As>)?>::read(value)?);
                        })+
                        _ => {}
                    }
                }
                let mut keys = <Self as $crate::mission::file::keys::Keys>::TABLE.keys.iter();
                // Fields are filled in the order of the table.
                let mut default = || keys.next().and_then(|key| key.default);
                Some(Self {
                    $($field: match ($field, default()) {
                        (Some(value), _) => value,
                        (None, default) => {
                            <$T as $crate::mission::file::keys::Value $(<$As>)?>::missing(default)?
                        }
                    },)+
                    $($($own: Default::default(),)+)?
                })
            }

            fn missing(_: Option<&str>) -> Option<Self> {
                <Self as $crate::mission::file::keys::Value>::of_text("{}")
            }
        }

        #[allow(dead_code, reason = "a default may be for readers alone")]
        impl $Name {
            $($(
                #[doc = concat!("`", $key, "`, or what holds where nobody says anything.")]
                $vis fn $field(&self) -> <$T as $crate::mission::file::keys::Untold>::Told {
                    $crate::mission::file::keys::Untold::or_text(&self.$field, $default)
                }
            )?)+
        }
    };
}
pub(crate) use keys;

/// Declares what settings come to: of each key with a default, what was said or that.
macro_rules! effective {
    ($Effective:ident of $Name:ident { $(
        $(#[doc = $doc:expr])+
        $key:literal $field:ident: $T:ty $(as $As:ty)? $(= $default:expr)?
            $(, $mark:ident $(($($argument:expr),+))?)*;
    )+ }) => {
        #[doc = concat!("What [`", stringify!($Name), "`] come to: each with a default, as said or that.")]
        #[derive(Debug, Clone, PartialEq)]
        pub struct $Effective {
            $($(
                #[doc = concat!("`", $key, "`, by default `", stringify!($default), "`.")]
                pub $field: <$T as $crate::mission::file::keys::Untold>::Told,
            )?)+
        }

        impl $Name {
            /// Fills in the defaults.
            pub fn effective(&self) -> $Effective {
                $Effective {
                    $($($field: $crate::mission::file::keys::Untold::or_text(&self.$field, $default),)?)+
                }
            }
        }
    };
}
pub(crate) use effective;

/// Makes scalars readable as values.
macro_rules! single {
    ($($T:ty),+ $(,)?) => {$(
        impl $crate::mission::file::keys::Value for $T {
            const SHAPE: $crate::mission::file::shape::Shape = $crate::mission::file::shape::Shape::one::<$T>();

            fn read(node: $crate::mission::file::document::Node<'_, '_>) -> Option<Self> {
                <Self as $crate::mission::file::keys::Value>::of_text(node.text())
            }

            fn of_text(text: &str) -> Option<Self> {
                <$T as $crate::mission::file::scalar::Scalar>::parse(text).ok()
            }
        }
    )+};
}
pub(crate) use single;

single!(
    bool,
    u32,
    u64,
    NonZeroU16,
    NonZeroU32,
    Decimal,
    VersionReq,
    Bar,
    Bytes,
    Deadline,
    DeclaredVerdict,
    Filled,
    Fraction,
    InnerPath,
    Millis,
    Money,
    Points,
    Positive,
    Severity,
    Span,
    TryCount,
);

/// Types that store what a scalar reads.
macro_rules! stored {
    ($($T:ty as $S:ty: $convert:expr),+ $(,)?) => {$(
        impl Value<$S> for $T {
            const SHAPE: Shape = Shape::one::<$S>();

            fn read(node: Node<'_, '_>) -> Option<Self> {
                <$S as Scalar>::parse(node.text()).ok().map($convert)
            }
        }
    )+};
}

stored!(
    u32 as NonZeroU32: NonZeroU32::get,
    u32 as Reruns: u32::from,
    u64 as NonZeroU64: NonZeroU64::get,
    Decimal as Positive: Positive::get,
    Decimal as Temperature: Decimal::from,
    Money as Positive: Money::from,
);

/// Texts: any, or those that keep the rules of a scalar. A missing one that must be there is empty, so that the rest can
/// be looked at.
macro_rules! texts {
    ($($T:ty),+) => {$(
        impl Value for $T {
            const SHAPE: Shape = Shape::one::<$T>();

            fn read(node: Node<'_, '_>) -> Option<Self> {
                Some(node.text().into())
            }

            fn of_text(text: &str) -> Option<Self> {
                Some(text.into())
            }
        }

        impl<S: Scalar + Into<$T>> Value<S> for $T {
            const SHAPE: Shape = Shape::one::<S>();

            fn read(node: Node<'_, '_>) -> Option<Self> {
                S::parse(node.text()).ok().map(Into::into)
            }

            fn missing(_: Option<&str>) -> Option<Self> {
                Some(Self::default())
            }
        }
    )+};
}

texts!(Box<str>, String);

impl<S, T: Value<S>> Value<S> for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(node: Node<'_, '_>) -> Option<Self> {
        T::read(node).map(Some)
    }

    fn of_text(text: &str) -> Option<Self> {
        T::of_text(text).map(Some)
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(None)
    }
}

impl<S, T: Value<S>> Value<S> for Box<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(node: Node<'_, '_>) -> Option<Self> {
        T::read(node).map(Self::new)
    }
}

/// Lists. A missing one is empty.
macro_rules! lists {
    ($($List:ty),+) => {$(
        impl<S, T: Value<S>> Value<S> for $List {
            const SHAPE: Shape = Shape::List(&T::SHAPE);

            fn read(node: Node<'_, '_>) -> Option<Self> {
                // By way of a vector that knows its length, so that nothing more is allocated.
                let items: Option<Vec<T>> = node.items().map(T::read).collect();
                Some(items?.into_iter().collect())
            }

            fn missing(_: Option<&str>) -> Option<Self> {
                Some(Self::default())
            }
        }
    )+};
}

lists!(Vec<T>, ThinVec<T>, Box<[T]>);

/// Reads a list that is not empty, or one value in its place.
macro_rules! list_or_one {
    ($T:ty: [$Item:ty] => $list:expr, $One:ty => $one:expr) => {
        impl $crate::mission::file::keys::Value for $T {
            const SHAPE: $crate::mission::file::shape::Shape =
                $crate::mission::file::shape::Shape::Either(&[
                    $crate::mission::file::shape::Shape::NonEmptyList(
                        &$crate::mission::file::shape::Shape::one::<$Item>(),
                    ),
                    $crate::mission::file::shape::Shape::one::<$One>(),
                ]);

            fn read(node: $crate::mission::file::document::Node<'_, '_>) -> Option<Self> {
                if node.kind() == $crate::mission::file::document::NodeKind::List {
                    return Some($list(node.items().map(|item| item.text().into()).collect()));
                }
                <$One as $crate::mission::file::scalar::Scalar>::parse(node.text()).ok().map($one)
            }
        }
    };
}
pub(crate) use list_or_one;

/// Entries by name, in the order of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Named<T>(pub Vec<(Box<str>, T)>);

impl<T> Named<T> {
    /// The entry of this name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.0.iter().find_map(|(known, entry)| (**known == *name).then_some(entry))
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S, T: Value<S>> Value<S> for Named<T> {
    const SHAPE: Shape = Shape::Named(&OneShape::of::<Name>(), &T::SHAPE);

    fn read(node: Node<'_, '_>) -> Option<Self> {
        let entry = |(name, value): (&str, Node<'_, '_>)| Some((name.into(), T::read(value)?));
        node.entries().map(entry).collect::<Option<_>>().map(Self)
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self::default())
    }
}

/// Makes maps of free names readable. A missing one is empty.
macro_rules! free_names {
    ($($(#[$doc:meta])+ [$($generics:tt)*] $As:ty, $T:ty: $Key:ty => $shape:expr, $entry:expr;)+) => {$(
        $(#[$doc])+
        impl $($generics)* Value<$As> for $T {
            const SHAPE: Shape = Shape::Named(&OneShape::of::<$Key>(), &$shape);

            fn read(node: Node<'_, '_>) -> Option<Self> {
                let entry: fn((&str, Node<'_, '_>)) -> Option<_> = $entry;
                node.entries().map(entry).collect()
            }

            fn missing(_: Option<&str>) -> Option<Self> {
                Some(Self::default())
            }
        }
    )+};
}

free_names! {
    /// Reads texts by name: variables, headers, files of a preset.
    [<S: Scalar + Into<String>>] S, BTreeMap<String, String>: VariableName => Shape::one::<S>(),
        |(name, value)| Some((name.to_owned(), <String as Value<S>>::read(value)?));
    /// Reads the meaning of each level of a scale, in the order of the file.
    [] RubricLevel, Vec<(u8, String)>: RubricLevel => Shape::one::<Filled>(),
        |(level, text)| Some((RubricLevel::parse(level).ok()?.0, text.text().to_owned()));
    /// Reads shares by name.
    [] Fraction, Vec<(Box<str>, Points)>: Name => Shape::one::<Fraction>(),
        |(name, share)| Some((name.into(), Fraction::read(share)?.points()));
}

/// The place of a key that nothing acts on yet. It is checked, as the type that `as` names, and never read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Later;

impl<T: Value> Value<T> for Later {
    const SHAPE: Shape = T::SHAPE;

    fn read(_: Node<'_, '_>) -> Option<Self> {
        Some(Self)
    }

    fn missing(_: Option<&str>) -> Option<Self> {
        Some(Self)
    }
}

/// An enum that is read from one of a fixed list of words, each beside its variant; a `worded!` enum whose words have
/// another order; `of` a type that has words for other readers beside these.
macro_rules! words {
    ($(#[$meta:meta])* $seen:vis enum $type:ident: $expects:literal { $($(#[doc = $doc:literal])* $(#[default] $default:vis)? $value:ident = $word:literal,)+ }) => {
        worded! {
            $(#[$meta])*
            $seen enum $type {
                $($(#[doc = $doc])* $(#[default] $default)? $value = $word,)+
            }
        }

        $crate::mission::file::keys::words!($type: $expects, $($word => $value),+);
    };
    ($type:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        $crate::mission::file::keys::words!(of $type: $expects, $($word => $value),+);
        $crate::mission::file::keys::single!($type);

        impl $crate::mission::file::levels::ShowValue for $type {
            fn shown(&self) -> serde_json::Value {
                self.as_str().into()
            }
        }
    };
    (of $type:ident: $expects:literal, $($word:literal => $value:ident),+ $(,)?) => {
        impl $crate::mission::file::scalar::Scalar for $type {
            const EXPECTS: &'static str = $expects;
            const FORM: $crate::mission::file::scalar::JsonForm = $crate::mission::file::scalar::JsonForm::Words(&[$($word),+]);

            fn parse(text: &str) -> Result<Self, $crate::mission::file::scalar::Fault> {
                match text {
                    $($word => Ok(Self::$value),)+
                    _ => Err($crate::mission::file::scalar::unknown_word(text, Self::EXPECTS, &[$($word),+])),
                }
            }
        }
    };
}
pub(crate) use words;
