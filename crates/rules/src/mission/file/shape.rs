//! What may stand where in a file: shapes of values, and tables of keys.
//!
//! The shapes come from the types of the model, the tables from their declarations (`keys`). Documents are checked against
//! them, and the JSON Schema (`quorum schema`) is printed from them. A key marked [`TableKey::later`] is checked like any
//! other; `validate` notes it and `run` refuses it.

use super::scalar::{Fault, JsonForm, Referent, Scalar};

/// The keys of one kind of map.
#[derive(Debug)]
pub struct Table {
    /// The thing that such a map describes, with its article: "a task".
    pub name: &'static str,
    pub keys: &'static [TableKey],
}

impl Table {
    /// The key with this name.
    pub fn key(&self, name: &str) -> Option<&'static TableKey> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// The declaration of one key.
#[derive(Debug)]
pub struct TableKey {
    /// The name of the key as written, in camel case.
    pub name: &'static str,
    /// The shape of the value.
    pub shape: Shape,
    /// The meaning of the key, as declared: lines that begin with a space, `[=` where the default is shown.
    pub doc: &'static str,
    /// The value where the key is missing, as a file would spell it.
    pub default: Option<&'static str>,
    /// Whether the map is incomplete without it.
    pub required: bool,
    /// For a key that quorum does not act on yet: the work that will build it.
    pub later: Option<&'static str>,
}

/// The shape of a key's value.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A single value.
    One(OneShape),
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
    Expectations(&'static [(&'static str, &'static Table)]),
}

/// One value: what it must be, by its text.
#[derive(Debug, Clone, Copy)]
pub struct OneShape {
    /// To complete "this key takes …".
    pub expects: &'static str,
    /// The form of the value, for the schema.
    pub form: JsonForm,
    /// Whether the text stands for such a value.
    pub check: fn(&str) -> Result<(), Fault>,
    /// The kind of thing that the value names; `None` where it refers to nothing.
    pub refers_to: Option<Referent>,
}

impl OneShape {
    /// The shape of a scalar type.
    pub const fn of<T: Scalar>() -> Self {
        fn check<T: Scalar>(text: &str) -> Result<(), Fault> {
            T::parse(text).map(drop)
        }
        Self { expects: T::EXPECTS, form: T::FORM, check: check::<T>, refers_to: T::REFERS_TO }
    }
}

impl Shape {
    /// One value of a type.
    pub const fn one<T: Scalar>() -> Self {
        Self::One(OneShape::of::<T>())
    }
}

/// The marks that a declaration may give a key.
impl TableKey {
    /// An optional key that is built.
    pub const fn new(name: &'static str, shape: Shape, doc: &'static str) -> Self {
        Self { name, shape, doc, default: None, required: false, later: None }
    }

    /// Sets the value of a missing key.
    pub const fn or(self, default: &'static str) -> Self {
        Self { default: Some(default), ..self }
    }

    pub const fn required(self) -> Self {
        Self { required: true, ..self }
    }

    /// Refuses an empty list.
    pub const fn filled(self) -> Self {
        let shape = match self.shape {
            Shape::List(of) => Shape::NonEmptyList(of),
            other => other,
        };
        Self { shape, ..self }
    }

    pub const fn later(self, area: &'static str) -> Self {
        Self { later: Some(area), ..self }
    }

    /// The meaning of the key in one line, with the default in square brackets. The default of a list is shown
    /// without its brackets.
    pub fn says(&self) -> String {
        let default = self.default.unwrap_or_default();
        let items = default.strip_prefix('[').and_then(|items| items.strip_suffix(']'));
        let shown = items.unwrap_or(default).replace('\'', "");
        self.doc.trim_start().replace("[=", &format!("[{shown}"))
    }

    /// Whether quorum acts on it.
    pub fn is_built(&self) -> bool {
        self.later.is_none()
    }
}
