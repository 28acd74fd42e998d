//! The JSON Schema of mission files, and one key's documentation for people.
//!
//! Both are printed from the tables of keys, so an editor, a reader and the loader never disagree about what a
//! file may hold. The schema is as strict as the loader where JSON Schema has words for it; names, circles and what
//! belongs together are for `quorum validate`.

use serde_json::{Map, Value, json};

use super::key_check::expects;
use super::keys::Keys;
use super::scalar::JsonForm;
use super::shape::{OneShape, Shape, Table, TableKey};
use super::suggest::suggestion;
use crate::mission::model::{Config, Mission, Preset};

/// A kind of file that has a schema.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileKind {
    /// The kind of a mission file.
    Mission,
    /// The kind of a `quorum.yaml`.
    Config,
    /// A preset, as it stands below `presets` of a `quorum.yaml`.
    Preset,
}

impl FileKind {
    fn table(self) -> &'static Table {
        match self {
            Self::Mission => Mission::TABLE,
            Self::Config => Config::TABLE,
            Self::Preset => Preset::TABLE,
        }
    }

    words_of! {
        id {
            Mission => "urn:quorum:mission:v1",
            Config => "urn:quorum:config:v1",
            Preset => "urn:quorum:preset:v1",
        }
    }
}

/// The JSON Schema (draft 2020-12) of a kind of file.
pub fn json_schema(kind: FileKind) -> Value {
    let mut definitions = Map::new();
    let root = table_schema(kind.table(), &mut definitions);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": kind.id(),
        "title": format!("{} of quorum", kind.table().name.trim_start_matches("a ")),
    });
    let keywords = root.as_object().cloned().unwrap_or_default();
    if let Some(schema) = schema.as_object_mut() {
        schema.extend(keywords);
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn reference(table: &'static Table, definitions: &mut Map<String, Value>) -> Value {
    // "a finish gate" is `finish-gate`.
    let name = table.name.trim_start_matches("an ").trim_start_matches("a ");
    let name = name.replace(' ', "-");
    if !definitions.contains_key(&name) {
        // Reserved before it is made: a table that held itself would come here again.
        definitions.insert(name.clone(), Value::Null);
        let schema = table_schema(table, definitions);
        definitions.insert(name.clone(), schema);
    }
    json!({"$ref": format!("#/$defs/{name}")})
}

fn table_schema(table: &'static Table, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), key_schema(key, definitions));
    }
    let required: Vec<&str> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "patternProperties": {"^x-": {}},
        "additionalProperties": false,
    });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn key_schema(key: &'static TableKey, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = shape_schema(&key.shape, definitions);
    if !key.required {
        // `key:` with nothing behind it is the same as no key.
        schema = json!({"anyOf": [schema, {"type": "null"}]});
    }
    schema["description"] = json!(match not_built(key) {
        Some(note) => format!("{} ({note})", key.says()),
        None => key.says(),
    });
    schema
}

/// The part of a key's meaning that is not built yet.
fn not_built(key: &TableKey) -> Option<String> {
    key.later.map(|_| "not built yet".to_owned())
}

fn shape_schema(shape: &'static Shape, definitions: &mut Map<String, Value>) -> Value {
    match shape {
        Shape::One(one) => form_schema(&one.form),
        Shape::List(of) => json!({"type": "array", "items": shape_schema(of, definitions)}),
        Shape::NonEmptyList(of) => {
            json!({"type": "array", "minItems": 1, "items": shape_schema(of, definitions)})
        }
        Shape::Map(table) => reference(table, definitions),
        Shape::Named(name, of) => json!({
            "type": "object",
            "propertyNames": name_schema(&name.form),
            "additionalProperties": shape_schema(of, definitions),
        }),
        Shape::Either(shapes) => {
            let schemas = shapes.iter().map(|shape| shape_schema(shape, definitions));
            json!({"anyOf": schemas.collect::<Vec<_>>()})
        }
        Shape::Expectations(types) => expectations_schema(types, definitions),
    }
}

/// The schema of the expectations. The keys of one depend on its `type`: written as conditions, so that a
/// mistake is reported for that type alone and not once for each.
fn expectations_schema(types: &'static [(&str, &Table)], definitions: &mut Map<String, Value>) -> Value {
    let words: Vec<&str> = types.iter().map(|(word, _)| *word).collect();
    let conditions = types.iter().map(|(word, table)| {
        json!({
            "if": {"properties": {"type": {"const": word}}, "required": ["type"]},
            "then": reference(table, definitions),
        })
    });
    let conditions: Vec<Value> = conditions.collect();
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["type"],
            "properties": {"type": {"enum": words}},
            "allOf": conditions,
        },
    })
}

fn form_schema(form: &JsonForm) -> Value {
    match form {
        // Every single value is read from its text, so `title: 1.0` is a text as well.
        JsonForm::Text("") => json!({"type": ["string", "number", "boolean"]}),
        JsonForm::Text(pattern) => json!({"type": ["string", "number", "boolean"], "pattern": pattern}),
        JsonForm::Mixed(pattern) => json!({"type": "string", "pattern": pattern}),
        JsonForm::Words(words) => json!({"type": "string", "enum": words}),
        JsonForm::Flag => json!({"type": "boolean"}),
        JsonForm::Whole(least, u64::MAX) => json!({"type": "integer", "minimum": least}),
        JsonForm::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        JsonForm::Number { above, least, most } => {
            let mut schema = json!({"type": "number"});
            let bounds = [("exclusiveMinimum", above), ("minimum", least), ("maximum", most)];
            for (keyword, bound) in bounds {
                if let Some(bound) = bound {
                    schema[keyword] = json!(bound);
                }
            }
            schema
        }
        JsonForm::Either(forms) => json!({"anyOf": forms.iter().map(form_schema).collect::<Vec<_>>()}),
    }
}

/// Names of maps are always texts in JSON.
fn name_schema(form: &JsonForm) -> Value {
    match form {
        JsonForm::Text(pattern) if !pattern.is_empty() => json!({"pattern": pattern}),
        JsonForm::Whole(least, most) if *most <= 9 => json!({"pattern": format!("^[{least}-{most}]$")}),
        JsonForm::Words(words) => json!({"enum": words}),
        _ => json!({}),
    }
}

/// The documentation of one key.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDoc {
    /// The place of the key: `qualityGates.minScore`.
    pub path: String,
    /// The meaning of the key in one line, with the default in square brackets.
    pub says: String,
    /// The kind of value that the key takes.
    pub takes: String,
    /// How a value is written, where that is not plain.
    pub how: Option<String>,
    /// The words it takes, if there is a list of them.
    pub words: &'static [&'static str],
    /// Whether the map around it is incomplete without it.
    pub required: bool,
    /// The part of the key's meaning that is not built yet.
    pub not_built: Option<String>,
    /// The keys below it, each with its line.
    pub keys: Vec<(&'static str, String)>,
    /// The JSON Schema of the value, in which other definitions are named but not held.
    pub schema: Value,
}

/// A path at which no key is.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place} has no key '{key}'")]
pub struct NoSuchField {
    /// The map in which the key was looked for.
    pub place: String,
    /// The key that was looked for.
    pub key: String,
    /// The key that was probably meant, or the keys that there are.
    pub help: String,
}

/// The documentation of a key, by its path from the top of the file: keys with dots between them. Names that the file
/// gives (`agents.coder.run`) and types of expectations may stand in the path or be left out.
///
/// # Errors
/// When there is no such key.
pub fn field_doc(kind: FileKind, path: &str) -> Result<FieldDoc, NoSuchField> {
    let mut tables = vec![kind.table()];
    let mut found: Option<&'static TableKey> = None;
    // Whether the tables belong to named entries, or to types, whose name has not been passed yet.
    let mut may_be_named = false;
    for part in path.split('.').map(|part| part.trim_end_matches("[]")).filter(|part| !part.is_empty()) {
        if let Some(key) = tables.iter().find_map(|table| table.key(part)) {
            found = Some(key);
            tables = tables_below(&key.shape);
            may_be_named = matches!(key.shape, Shape::Named(..) | Shape::Expectations(_));
        } else if may_be_named {
            // The types are known; only names are anybody's.
            if let Some(Shape::Expectations(types)) = found.map(|key| key.shape) {
                let of_type = types.iter().find(|(word, _)| *word == part);
                let (_, table) = of_type.ok_or_else(|| no_such_field(&tables, found, part))?;
                tables = vec![table];
            }
            may_be_named = false;
        } else {
            return Err(no_such_field(&tables, found, part));
        }
    }
    let key = found.ok_or_else(|| no_such_field(&tables, None, path))?;
    Ok(FieldDoc {
        path: path.to_owned(),
        says: key.says(),
        takes: expects(&key.shape),
        how: how_to_write(&key.shape),
        words: words_of(&key.shape),
        required: key.required,
        not_built: not_built(key),
        keys: keys_of(&tables_below(&key.shape)),
        schema: key_schema(key, &mut Map::new()),
    })
}

fn no_such_field(tables: &[&'static Table], below: Option<&TableKey>, key: &str) -> NoSuchField {
    let known = keys_of(tables);
    let known = known.iter().map(|(name, _)| *name);
    NoSuchField {
        place: match (tables.first(), below) {
            (Some(table), _) => table.name.to_owned(),
            (None, Some(key)) => format!("`{}`", key.name),
            (None, None) => "the file".to_owned(),
        },
        key: key.to_owned(),
        help: match below {
            Some(below) if tables.is_empty() => {
                format!("`{}` holds one value and has no keys of its own", below.name)
            }
            _ => suggestion(key, known, "known keys"),
        },
    }
}

/// The tables of the maps that a shape holds.
fn tables_below(shape: &'static Shape) -> Vec<&'static Table> {
    match shape {
        Shape::Map(table) => vec![table],
        Shape::List(of) | Shape::NonEmptyList(of) | Shape::Named(_, of) => tables_below(of),
        Shape::Either(shapes) => shapes.iter().flat_map(tables_below).collect(),
        Shape::Expectations(types) => types.iter().map(|(_, table)| *table).collect(),
        Shape::One(_) => Vec::new(),
    }
}

/// The keys of several tables, each once.
fn keys_of(tables: &[&'static Table]) -> Vec<(&'static str, String)> {
    let mut keys: Vec<(&str, String)> = Vec::new();
    for key in tables.iter().flat_map(|table| table.keys) {
        if keys.iter().all(|(name, _)| *name != key.name) {
            keys.push((key.name, key.says()));
        }
    }
    keys
}

/// The advice of the loader to somebody who wrote a value of another shape.
fn how_to_write(shape: &Shape) -> Option<String> {
    match shape {
        Shape::One(one) if !matches!(one.form, JsonForm::Words(_)) => (one.check)("?").err()?.help,
        Shape::List(of) | Shape::NonEmptyList(of) => how_to_write(of),
        Shape::Either(shapes) => shapes.iter().find_map(how_to_write),
        _ => None,
    }
}

fn words_of(shape: &'static Shape) -> &'static [&'static str] {
    match shape {
        Shape::One(OneShape {
            // Words alone, or words or something else.
            form: JsonForm::Words(words) | JsonForm::Either([JsonForm::Words(words), ..]),
            ..
        }) => words,
        Shape::List(of) | Shape::NonEmptyList(of) => words_of(of),
        _ => &[],
    }
}
