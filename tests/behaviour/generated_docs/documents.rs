//! The list of JSON documents, from the table that `quorum schema` prints them by.

use quorum::{DocumentKind, documents};
use serde_json::Value;

use super::{current, page_with, table};

const JSON: &str = "docs/reference/json.md";

#[test]
fn the_page_of_json_has_every_document() {
    let run =
        documents().into_iter().find(|known| known.name() == "run").expect("there are runs").json_schema();
    let rows = documents().into_iter().filter(|known| known.name() != "run").map(|known| {
        let keys = keys(&known, &run["$defs"]);
        let name = if known.has_name() { known.schema } else { "(no key `schema`)" };
        [name.replace("quorum.", "`quorum.").replace("/v1", "/v1`"), known.printed_by.to_owned(), keys]
    });
    let made = table(["schema", "printed by, or given to", "keys beside `schema`"], rows);
    let page = page_with(JSON, |name| match name {
        "documents" => made.clone(),
        name => panic!("{JSON} has a part '{name}' that nobody makes"),
    });
    current(JSON, &page);
}

/// The keys of a document, and of the objects in it that the document of a run does not have.
fn keys(known: &DocumentKind, of_run: &Value) -> String {
    let schema = known.json_schema();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let keys = properties.filter(|(name, _)| *name != "schema").map(|(name, field)| {
        let (below, is_list) = definition(&schema, field);
        let below = below.filter(|(name, below)| of_run.get(name.as_str()) != Some(below));
        let below = below.and_then(|(_, below)| below["properties"].as_object());
        let Some(below) = below else {
            return format!("`{name}`");
        };
        let below: Vec<&str> = below.keys().map(String::as_str).collect();
        let below = below.join(", ");
        match is_list {
            true => format!("`{name} [{{{below}}}]`"),
            false => format!("`{name} {{{below}}}`"),
        }
    });
    keys.collect::<Vec<_>>().join(", ")
}

/// The definition of what a field holds, and whether it is a list of them.
fn definition<'s>(schema: &'s Value, field: &'s Value) -> (Option<(&'s String, &'s Value)>, bool) {
    let is_list = field.get("items").is_some();
    let mut all = field["anyOf"].as_array().into_iter().flatten().chain([field, &field["items"]]);
    let name = all.find_map(|one| one["$ref"].as_str()?.strip_prefix("#/$defs/"));
    let definitions = schema["$defs"].as_object();
    (name.and_then(|name| definitions?.get_key_value(name)), is_list)
}
