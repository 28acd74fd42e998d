//! `quorum schema`: what a file may hold, for editors as JSON Schema and for people key by key; and what the documents hold
//! that commands print.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use crate::{
    cli::{command_error::Failure, screen::Screen},
    report::documents::{
        commands::{KeyBelow, KeyDocument},
        schema::{DocumentKind, documents},
    },
};
use rules::mission::{FieldDoc, FileKind, NoSuchField, field_doc, json_schema};

/// Print the JSON Schema of a file or a document, or of one key
#[derive(Debug, Args)]
#[command(after_help = "Examples: quorum schema > mission.schema.json\n          \
                        quorum schema mission qualityGates.minScore\n          \
                        quorum schema run tasks.reviews")]
pub struct Schema {
    /// A kind of file, or a document that commands print as JSON
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(names()), default_value = MISSION)]
    pub name: String,
    /// A key, by its path: tasks.expectations.threshold
    #[arg(value_name = "FIELD")]
    pub field: Option<String>,
}

const MISSION: &str = "mission";
const CONFIG: &str = "config";
const PRESET: &str = "preset";

/// A thing that has a schema.
#[derive(Debug, Clone)]
pub enum SchemaOf {
    /// A file that people write.
    File(FileKind),
    /// A document.
    Document(DocumentKind),
}

impl SchemaOf {
    /// Reads the word for a kind of file, or for a document by its name, with or without its version.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            MISSION => Some(Self::File(FileKind::Mission)),
            CONFIG => Some(Self::File(FileKind::Config)),
            PRESET => Some(Self::File(FileKind::Preset)),
            name => documents()
                .into_iter()
                .find(|known| words(known).any(|word| word == name))
                .map(Self::Document),
        }
    }
}

/// All that means a document: its name, the name with its version, the commands that print it.
fn words(known: &DocumentKind) -> impl Iterator<Item = &'static str> {
    [known.name(), known.schema].into_iter().chain(known.commands())
}

/// The words that can be typed. A document that is called like a file has its version with it.
fn names() -> Vec<PossibleValue> {
    let documents = documents().into_iter().map(|known| match known.name() {
        CONFIG => PossibleValue::new(known.schema),
        name => PossibleValue::new(name).aliases(words(&known)),
    });
    [MISSION, CONFIG, PRESET].map(PossibleValue::new).into_iter().chain(documents).collect()
}

/// Prints a schema, or one key's documentation.
pub fn schema(arguments: &Schema, screen: &Screen) -> Result<u8, Failure> {
    let of = SchemaOf::named(&arguments.name);
    let of = of.ok_or_else(|| usage!("'{}' has no schema", arguments.name))?;
    // A schema is a document of its own, with its version in `$id`: it is printed the same in every format.
    match (of, arguments.field.as_deref()) {
        (SchemaOf::File(kind), None) => screen.document(&json_schema(kind)),
        (SchemaOf::Document(kind), None) => screen.document(&kind.json_schema()),
        (SchemaOf::Document(kind), Some(path)) => screen.document(&kind.field(path).map_err(unknown)?),
        (SchemaOf::File(kind), Some(path)) => {
            let field = field_doc(kind, path).map_err(unknown)?;
            screen.show(&document(&field));
        }
    }
    Ok(0)
}

fn unknown(error: NoSuchField) -> Failure {
    let help = error.help.clone();
    Failure::usage(error).help(help)
}

fn document(field: &FieldDoc) -> KeyDocument<'_> {
    let keys = field.keys.iter();
    KeyDocument {
        field: &field.path,
        description: &field.says,
        takes: &field.takes,
        how: field.how.as_deref(),
        words: field.words,
        required: field.required,
        not_built: field.not_built.as_deref(),
        keys: keys.map(|(name, description)| KeyBelow { name, description }).collect(),
        json_schema: &field.schema,
    }
}
