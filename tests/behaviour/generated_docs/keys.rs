//! The keys of a mission, as `quorum schema` tells them.

use std::fs;
use std::path::Path;

use rules::mission::{FieldDoc, FileKind, field_doc, json_schema};
use serde_json::Value;

use crate::support::pages::anchor;

use super::{current, page_with, table};

const PAGE: &str = "docs/reference/mission.md";

#[test]
fn the_page_of_the_mission_has_every_key() {
    let sections = Sections::of_the_page();
    let page = page_with(PAGE, |name| match name.strip_prefix("keys") {
        Some(path) => sections.table(path.trim()),
        None => panic!("{PAGE} has a part '{name}' that nobody makes"),
    });
    current(PAGE, &page);
}

#[test]
fn the_page_of_presets_has_every_key() {
    let page = page_with("docs/reference/presets.md", |name| {
        let keys = |path: &str| {
            let schema = json_schema(FileKind::Preset);
            let names = match path {
                "" => schema["properties"].as_object().expect("a preset is a map").keys().cloned().collect(),
                path => {
                    let doc = field_doc(FileKind::Preset, path).expect("it is a key");
                    doc.keys.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>()
                }
            };
            let rows = names.into_iter().map(|name| {
                let below = format!("{path}.{name}");
                let doc = field_doc(FileKind::Preset, below.trim_start_matches('.')).expect("it is a key");
                let (meaning, default) = meaning_and_default(&doc);
                [format!("`{name}`"), tidy(&doc.takes), default, meaning]
            });
            table(["key", "takes", "default", "meaning"], rows)
        };
        match name {
            "preset" => keys(""),
            "rule" => keys("rules"),
            name => panic!("the page of presets has a part '{name}' that nobody makes"),
        }
    });
    current("docs/reference/presets.md", &page);
}

/// Where the page has the keys below a key, in the order of the page: the path of the key, with the anchor of its heading.
struct Sections(Vec<(String, String)>);

impl Sections {
    fn of_the_page() -> Self {
        let text =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).expect("the page is there");
        let (mut sections, mut heading) = (Vec::new(), String::new());
        for line in text.lines() {
            if let Some(text) = line.strip_prefix("## ") {
                heading = anchor(text.trim());
            }
            let mark = line.strip_prefix("<!-- generated: keys");
            if let Some(path) = mark.and_then(|mark| mark.strip_suffix("-->")) {
                sections.push((path.trim().to_owned(), heading.clone()));
            }
        }
        Self(sections)
    }

    fn table(&self, path: &str) -> String {
        let rows = keys_below(path).into_iter().map(|(name, doc)| {
            let (meaning, default) = meaning_and_default(&doc);
            [format!("`{name}`"), self.takes(&doc), default, meaning]
        });
        table(["key", "takes", "default", "meaning"], rows)
    }

    /// The link to the keys below a key. Keys that take the same share one section.
    fn link(&self, doc: &FieldDoc) -> String {
        let below = self.0.iter().filter(|(path, _)| !path.is_empty());
        let own = below.clone().find(|(path, _)| path.starts_with(&doc.path));
        let same = || {
            let mut below = below;
            below.find(|(path, _)| definitions(&of(path).schema) == definitions(&doc.schema))
        };
        let (_, anchor) = own
            .or_else(same)
            .unwrap_or_else(|| panic!("{PAGE} has no section for the keys of `{}`", doc.path));
        format!("[{}](#{anchor})", doc.path.rsplit('.').next().unwrap_or_default())
    }

    /// What a key takes, in a few words.
    fn takes(&self, doc: &FieldDoc) -> String {
        let schema = without_null(&doc.schema);
        let ways: Vec<&str> = doc.takes.split(", or ").collect();
        match schema["anyOf"].as_array() {
            Some(schemas) if schemas.len() == ways.len() => {
                let ways = ways.iter().zip(schemas);
                let ways: Vec<String> = ways.map(|(way, schema)| self.way(doc, way, schema)).collect();
                ways.join(", or ")
            }
            _ => self.way(doc, &doc.takes, schema),
        }
    }

    fn way(&self, doc: &FieldDoc, takes: &str, schema: &Value) -> String {
        let words = |schema: &Value| {
            let words = schema["enum"].as_array()?.iter().filter_map(Value::as_str);
            Some(words.map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "))
        };
        let items = &schema["items"];
        let values = &schema["additionalProperties"];
        if let Some(words) = words(schema) {
            return words;
        }
        match () {
            () if schema["$ref"].is_string() => format!("map, see {}", self.link(doc)),
            () if !definitions(items).is_empty() => format!("list, see {}", self.link(doc)),
            () if !definitions(values).is_empty() => format!("map by name, see {}", self.link(doc)),
            () if items.is_object() => match words(items) {
                Some(words) => format!("list of {words}"),
                None => tidy(takes).replace("list, each entry a text", "list of texts"),
            },
            () if values.is_object() => match takes_numbers(values) {
                true => "map of numbers".to_owned(),
                false => "map of texts".to_owned(),
            },
            () => tidy(takes),
        }
    }
}

fn of(path: &str) -> FieldDoc {
    field_doc(FileKind::Mission, path).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

/// The keys below a path, in the order of the program's table; at the top those of the mission.
fn keys_below(path: &str) -> Vec<(String, FieldDoc)> {
    let names: Vec<String> = match path {
        "" => {
            let schema = json_schema(FileKind::Mission);
            let properties = schema["properties"].as_object().expect("a mission is a map");
            properties.keys().cloned().collect()
        }
        path => of(path).keys.iter().map(|(name, _)| (*name).to_owned()).collect(),
    };
    let keys = names.into_iter().filter_map(|name| {
        let below = format!("{path}.{name}");
        // An expectation of one type has not the keys of the others.
        let doc = field_doc(FileKind::Mission, below.trim_start_matches('.')).ok()?;
        Some((name, doc))
    });
    keys.collect()
}

/// The definitions that a schema names.
fn definitions(schema: &Value) -> Vec<&str> {
    match schema {
        Value::Object(map) => {
            let below = map.iter().flat_map(|(key, value)| match value {
                Value::String(name) if key == "$ref" => vec![name.as_str()],
                value => definitions(value),
            });
            below.collect()
        }
        Value::Array(list) => list.iter().flat_map(definitions).collect(),
        _ => Vec::new(),
    }
}

/// The schema of a value that may be left out: the same without `null`.
fn without_null(schema: &Value) -> &Value {
    match schema["anyOf"].as_array().map(Vec::as_slice) {
        Some([value, null]) if null["type"] == "null" => value,
        _ => schema,
    }
}

fn takes_numbers(schema: &Value) -> bool {
    without_null(schema)["type"] == "number"
}

/// What the table of keys says of a value, without what goes without saying.
fn tidy(takes: &str) -> String {
    let plain = takes
        .replace(" that is not empty", "")
        .replace(" and at most 1000000", "")
        .replace("amount from 0 to 1000000", "number, 0 or more");
    let plain = plain.trim_start_matches("a ").trim_start_matches("an ");
    let (number, bounds) = plain.split_once(" from ").unwrap_or((plain, ""));
    let (least, most) = bounds.split_once(" to ").unwrap_or((bounds, ""));
    match (least, most.len()) {
        ("", _) => plain.to_owned(),
        // A bound that only the size of a number sets is none for people.
        (least, 0 | 10..) => format!("{number}, {least} or more"),
        _ => format!("{number}, {least} to {most}"),
    }
}

/// The meaning of a key, and the default that stands in it in square brackets.
fn meaning_and_default(doc: &FieldDoc) -> (String, String) {
    let note = doc.not_built.as_ref().map(|note| format!(" ({note})"));
    let note = note.unwrap_or_default();
    if doc.required {
        return (doc.says.to_owned() + &note, "**required**".to_owned());
    }
    let bracket = doc.says.split_once(" [");
    match bracket.and_then(|(before, rest)| Some((before, rest.rsplit_once(']')?))) {
        Some((before, (default, after))) => (format!("{before}{after}{note}"), literally(default)),
        None => (doc.says.to_owned() + &note, String::new()),
    }
}

/// Globs as they are, not as emphasis.
fn literally(default: &str) -> String {
    let entries = default.split(", ").map(|entry| match entry.contains('*') {
        true => format!("`{entry}`"),
        false => entry.to_owned(),
    });
    entries.collect::<Vec<_>>().join(", ")
}
