//! The one table of keys: what may stand where in a mission file, what it may hold, and whether it is built.
//!
//! Documents are checked against it, and the JSON Schema (`quorum schema`) is printed from it.
//! A key marked [`Built::Later`] is checked like any other; `validate` notes it and `run` refuses it.
//!
//! | file | what |
//! |---|---|
//! | `budget` | budgets and prices |
//! | `channels` | the table of channels (18) |
//! | `expectations` | the tables of expectations: what "done" means, by `type` |
//! | `finish_gate` | the table of `verify`: the finish gate of a task |
//! | `later` | keys that nothing acts on yet, checked like any other |
//! | `middleware` | the keys of middleware (17) |
//! | `rubric` | the table of `rubrics` |
//! | `sla` | what is said and done about deadlines |
//! | `stages` | the tables of `stages`, `redTeam` and `vision` |
//! | `tables` | the tables of what is built, with the keys that are not yet in their places |
//! | `verification` | the table of `verification` and what belongs to it on a task |
//! | `waits` | the tables of what a run waits for: approvals, checkpoints, delays |

mod budget;
mod channels;
mod expectations;
mod finish_gate;
mod later;
mod middleware;
mod rubric;
mod sla;
mod stages;
mod tables;
mod verification;
mod waits;

use super::scalar::{Fault, Form, Scalar};

pub(super) use expectations::EXPECTATION_TYPES;
pub(super) use finish_gate::FINISH_GATE;
pub(super) use tables::{CONFIG, MISSION};

/// What may stand in one kind of map.
#[derive(Debug)]
pub(super) struct Table {
    /// What such a map describes, with its article: "a task".
    pub name: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

impl Table {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// One key.
#[derive(Debug)]
pub(super) struct Key {
    /// As written, camelCase.
    pub name: &'static str,
    /// What it holds.
    pub shape: Shape,
    /// What it is for, in one line, with the default in square brackets.
    pub says: &'static str,
    /// Whether the map is incomplete without it.
    pub required: bool,
    /// Whether quorum acts on it.
    pub built: Built,
}

/// The paths of all keys below `settings`, in the order of the table: `concurrency`, `sla.warningThreshold`; each with
/// whether quorum acts on it.
pub(super) fn setting_paths() -> Vec<(String, bool)> {
    let settings = CONFIG.key("settings").map(|key| &key.shape);
    let Some(Shape::Map(table)) = settings else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for key in table.keys {
        let is_built = !matches!(key.built, Built::Later { .. });
        match &key.shape {
            Shape::Map(below) => {
                let below = below.keys.iter();
                let path = |inner: &Key| format!("{}.{}", key.name, inner.name);
                paths.extend(below.map(|inner| {
                    (
                        path(inner),
                        is_built && !matches!(inner.built, Built::Later { .. }),
                    )
                }));
            }
            _ => paths.push((key.name.to_owned(), is_built)),
        }
    }
    paths
}

/// Whether quorum acts on a key.
#[derive(Debug)]
pub(super) enum Built {
    /// It does.
    Yes,
    /// Not yet. `off` is the value that asks for nothing; `area` is the work that will build it.
    Later {
        area: &'static str,
        off: Option<&'static str>,
    },
    /// For these words only.
    Words {
        words: &'static [&'static str],
        area: &'static str,
    },
}

/// What a key holds.
#[derive(Debug)]
pub(super) enum Shape {
    /// One value.
    One(OneShape),
    /// A list.
    List(&'static Shape),
    /// A list that must not be empty.
    NonEmptyList(&'static Shape),
    /// A map with keys of its own.
    Map(&'static Table),
    /// A map from names (of which this is the shape) to something.
    Named(&'static OneShape, &'static Shape),
    /// One of several: the first that fits the kind of value found.
    Either(&'static [Shape]),
    /// A list whose maps have keys according to their `type`.
    Expectations,
}

/// One value: what it must be, by its text.
#[derive(Debug)]
pub(super) struct OneShape {
    /// To complete "this key takes …".
    pub expects: &'static str,
    /// What it looks like, for the schema.
    pub form: Form,
    /// Whether the text stands for such a value.
    pub check: fn(&str) -> Result<(), Fault>,
    /// What it names, if it refers to something.
    pub refers_to: Option<Referent>,
}

/// Things of a mission that have names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Referent {
    Agent,
    Task,
    Channel,
    Rubric,
}

fn check<T: Scalar>(text: &str) -> Result<(), Fault> {
    T::parse(text).map(drop)
}

const fn one_shape<T: Scalar>() -> OneShape {
    OneShape {
        expects: T::EXPECTS,
        form: T::FORM,
        check: check::<T>,
        refers_to: None,
    }
}

/// One value of type `T`.
const fn one<T: Scalar>() -> Shape {
    Shape::One(one_shape::<T>())
}

/// The name of something.
const fn reference(to: Referent) -> Shape {
    Shape::One(OneShape {
        refers_to: Some(to),
        ..one_shape::<super::scalar::Filled>()
    })
}

/// An optional key that is built.
const fn key(name: &'static str, shape: Shape, says: &'static str) -> Key {
    Key {
        name,
        shape,
        says,
        required: false,
        built: Built::Yes,
    }
}

impl Key {
    const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    const fn later(self, area: &'static str) -> Self {
        Self {
            built: Built::Later { area, off: None },
            ..self
        }
    }

    /// Not built; `off` asks for nothing.
    const fn later_unless(self, area: &'static str, off: &'static str) -> Self {
        Self {
            built: Built::Later { area, off: Some(off) },
            ..self
        }
    }

    const fn only(self, words: &'static [&'static str], area: &'static str) -> Self {
        Self {
            built: Built::Words { words, area },
            ..self
        }
    }
}
