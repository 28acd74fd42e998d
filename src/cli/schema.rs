//! `quorum schema`: what a file may hold, for editors as JSON Schema and for people key by key.

use std::fmt::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::mission::{FieldDoc, FileKind, field_doc, json_schema};

use super::failure::Failure;
use super::screen::Screen;

/// Print the JSON Schema of a file, or document one key
#[derive(Debug, Args)]
#[command(after_help = "Examples: quorum schema > mission.schema.json\n          \
                        quorum schema mission qualityGates.minScore")]
pub struct Schema {
    /// The kind of file
    #[arg(value_name = "FILE", value_enum, default_value_t)]
    pub file: SchemaOf,
    /// A key, by its path: tasks.expectations.threshold
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// A mission file
    #[default]
    Mission,
    /// A quorum.yaml
    Config,
}

/// Prints a schema, or one key's documentation.
pub fn schema(arguments: &Schema, screen: &Screen) -> Result<u8, Failure> {
    let kind = match arguments.file {
        SchemaOf::Mission => FileKind::Mission,
        SchemaOf::Config => FileKind::Config,
    };
    let Some(path) = &arguments.field else {
        // The schema is a document of its own, with its version in `$id`: it is printed the same in every format.
        screen.document(&json_schema(kind));
        return Ok(0);
    };
    let field = field_doc(kind, path).map_err(|error| {
        let help = error.help.clone();
        Failure::usage(error).help(help)
    })?;
    if screen.is_json() {
        screen.document(&document(&field));
    } else {
        screen.result(&text(&field));
    }
    Ok(0)
}

fn document(field: &FieldDoc) -> Value {
    let keys = field.keys.iter();
    let keys: Vec<Value> = keys
        .map(|(name, says)| json!({"name": name, "description": says}))
        .collect();
    json!({
        "schema": "quorum.schema/v1",
        "field": field.path,
        "description": field.says,
        "takes": field.takes,
        "how": field.how,
        "words": field.words,
        "required": field.required,
        "notBuilt": field.not_built,
        "keys": keys,
        "jsonSchema": field.schema,
    })
}

fn text(field: &FieldDoc) -> String {
    let mut text = format!("{}: {}\n\n  takes: {}\n", field.path, field.says, field.takes);
    // Writing to a text never fails.
    if let Some(how) = &field.how {
        let _ = writeln!(text, "  how: {how}");
    }
    if !field.words.is_empty() {
        let _ = writeln!(text, "  one of: {}", field.words.join(", "));
    }
    let _ = writeln!(text, "  required: {}", if field.required { "yes" } else { "no" });
    if let Some(note) = &field.not_built {
        let _ = writeln!(text, "  note: {note}");
    }
    if !field.keys.is_empty() {
        let width = field.keys.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        text.push_str("\n  keys:\n");
        for (name, says) in &field.keys {
            let _ = writeln!(text, "    {name:width$}  {says}");
        }
    }
    text
}
