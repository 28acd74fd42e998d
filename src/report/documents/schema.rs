//! The table of documents, and the JSON Schema of each: derived from its struct, so that neither can say what the other
//! does not.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::commands::{
    CleanDocument, CommandDocument, CompletionsDocument, ConfigDocument, DeadLettersDocument, ErrorDocument,
    ExplainDocument, InitDocument, IntakeDocument, KeyDocument, LogsDocument, RecordedDocument,
    SalvageDocument, ServeDocument, ValidateDocument,
};
use super::compare::CompareDocument;
use super::doctor::DoctorDocument;
use super::plan::PlanDocument;
use super::replay::ReplayDocument;
use super::runs::RunsDocument;
use super::show::TaskDocument;
use super::stats::StatsDocument;
use super::{
    BaselineDocument, EventsDocument, GateDocument, InboxDocument, JudgeTestDocument, MetricsDocument,
    PublicEvent, ReviewDocument, RunDocument, calibration,
};
use crate::runtime::{Notification, ReviewRequest};
use rules::mission::{NoSuchField, suggestion};

/// A document: what it is called, and what its schema is made from.
#[derive(Debug, Clone)]
pub struct DocumentKind {
    /// The value of the key `schema`, such as `quorum.run/v1`; of a document without that key, the kind of
    /// thing it is.
    pub schema: &'static str,
    /// The command that prints the document, or the program that gets it.
    pub printed_by: &'static str,
    make: fn(&mut SchemaGenerator) -> Schema,
}

/// The one table of documents.
pub fn documents() -> Vec<DocumentKind> {
    let inbox = named::<InboxDocument<'_>>;
    let recorded = named::<RecordedDocument>;
    vec![
        kind::<RunDocument<'_>>("`run`, `resume`, `status`"),
        kind::<ValidateDocument<'_>>("`validate`"),
        kind::<PlanDocument<'_>>("`plan`"),
        kind::<BaselineDocument<'_>>("`plan --baseline`"),
        kind::<TaskDocument<'_>>("`show`"),
        kind::<LogsDocument<'_>>("`logs`"),
        kind::<EventsDocument<'_>>("`events`"),
        kind::<PublicEvent>("`events --format jsonl`, a line each"),
        kind::<RunsDocument<'_>>("`runs`"),
        kind::<MetricsDocument<'_>>("`metrics`"),
        kind::<StatsDocument<'_>>("`stats`"),
        kind::<CompareDocument<'_>>("`compare`"),
        kind::<GateDocument<'_>>("`gate`"),
        inbox("quorum.inbox/v1", "`inbox`"),
        inbox("quorum.approvals/v1", "`approvals`"),
        inbox("quorum.requests/v1", "`requests`"),
        kind::<CommandDocument<'_>>("`approve`, `reject`, `answer`, `cancel`, `pause`"),
        kind::<IntakeDocument<'_>>("`request`"),
        kind::<ReviewDocument<'_>>("`review`"),
        kind::<ReplayDocument<'_>>("`review --replay`"),
        kind::<JudgeTestDocument<'_>>("`judge test`"),
        kind::<calibration::CalibrationDocument>("`calibrate`"),
        kind::<DeadLettersDocument<'_>>("`dlq`"),
        kind::<DoctorDocument<'_>>("`doctor`, `doctor state`"),
        kind::<SalvageDocument<'_>>("`doctor state --keep-good-prefix`"),
        kind::<ConfigDocument<'_>>("`config show`"),
        kind::<ExplainDocument>("`explain`"),
        kind::<KeyDocument<'_>>("`schema` of a file, with a key"),
        kind::<CompletionsDocument<'_>>("`completions`"),
        kind::<InitDocument<'_>>("`init`"),
        kind::<CleanDocument<'_>>("`clean`"),
        kind::<ServeDocument<'_>>("`serve`"),
        recorded("quorum.ask/v1", "`agent ask`"),
        recorded("quorum.delegate/v1", "`agent delegate`"),
        recorded("quorum.progress/v1", "`agent progress`"),
        recorded("quorum.result/v1", "`agent result`"),
        kind::<ErrorDocument<'_>>("every command that refuses"),
        kind::<ReviewRequest<'_>>("a judge, in `QUORUM_REVIEW_FILE`"),
        kind::<Notification<'_>>("a channel"),
    ]
}

/// A document that is called what its struct is.
fn kind<T: JsonSchema>(printed_by: &'static str) -> DocumentKind {
    DocumentKind {
        schema: match T::schema_name() {
            Cow::Borrowed(name) => name,
            // Only a type with parameters has a name that is put together.
            Cow::Owned(_) => "document",
        },
        printed_by,
        make: T::json_schema,
    }
}

/// A document of a struct that several have.
fn named<T: JsonSchema>(schema: &'static str, printed_by: &'static str) -> DocumentKind {
    DocumentKind { schema, ..kind::<T>(printed_by) }
}

impl DocumentKind {
    /// The name to type for the document: `run` for `quorum.run/v1`.
    pub fn name(&self) -> &'static str {
        self.versioned().unwrap_or(self.schema)
    }

    /// Whether the key `schema` of the document says what it is.
    pub fn has_name(&self) -> bool {
        self.versioned().is_some()
    }

    fn versioned(&self) -> Option<&'static str> {
        self.schema.strip_prefix("quorum.")?.strip_suffix("/v1")
    }

    /// The commands whose names mean it too: `status`.
    pub fn commands(&self) -> impl Iterator<Item = &'static str> {
        let quoted = self.printed_by.split('`').skip(1).step_by(2);
        quoted.filter(|command| !command.contains(' '))
    }

    /// The JSON Schema of the document (draft 2020-12). Keys beside those that it names may be added at any
    /// time.
    pub fn json_schema(&self) -> Value {
        let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
        let made = (self.make)(&mut generator);
        let Value::Object(mut body) = made.to_value() else {
            return Value::Bool(true);
        };
        if self.has_name() {
            let says = "The name and version of the document.";
            let mut properties = json!({"schema": null});
            merge(&mut properties, body.remove("properties").unwrap_or_default());
            properties["schema"] = json!({"type": "string", "const": self.schema, "description": says});
            body.insert("properties".to_owned(), properties);
            let required = body.entry("required").or_insert_with(|| json!([]));
            if let Some(required) = required.as_array_mut() {
                required.retain(|name| name != "schema");
                required.insert(0, json!("schema"));
            }
        }
        let mut schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": format!("urn:quorum:document:{}:v1", self.name()),
            "title": self.schema,
        });
        merge(&mut schema, Value::Object(body));
        merge(&mut schema, json!({"$defs": generator.take_definitions(true)}));
        // Sizes of numbers in this program: no reader of JSON knows these words.
        let mut schema = Schema::try_from(schema).unwrap_or_default();
        RecursiveTransform(|schema: &mut Schema| {
            let is_ours = |format: &Value| format.as_str().is_some_and(|format| format != "date-time");
            if schema.get("format").is_some_and(is_ours) {
                schema.remove("format");
            }
        })
        .transform(&mut schema);
        schema.to_value()
    }

    /// The schema of one field, by its path from the top of the document: `tasks.reviews.model`.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn field(&self, path: &str) -> Result<Value, NoSuchField> {
        let whole = self.json_schema();
        let (mut place, mut found) = (self.schema.to_string(), &whole);
        for part in path.split('.').map(|part| part.trim_end_matches("[]")) {
            let fields = fields_below(&whole, found);
            let field = fields.iter().find(|(name, _)| *name == part);
            found = field
                .ok_or_else(|| NoSuchField {
                    place: place.clone(),
                    key: part.to_owned(),
                    help: suggestion(part, fields.iter().map(|(name, _)| *name), "its fields are"),
                })?
                .1;
            place = format!("'{part}'");
        }
        let mut definitions = Map::new();
        gather(&whole, found, &mut definitions);
        let mut schema = found.clone();
        if !definitions.is_empty() {
            merge(&mut schema, json!({"$defs": definitions}));
        }
        Ok(schema)
    }

    /// The fields below a path, each with what it is; nothing where there is none.
    pub fn fields(&self, path: &str) -> Vec<(String, String)> {
        let whole = self.json_schema();
        let found = if path.is_empty() { Ok(whole.clone()) } else { self.field(path) };
        let fields = found.iter().flat_map(|found| fields_below(&whole, found));
        let says = |field: &Value| field["description"].as_str().unwrap_or_default().to_owned();
        fields.map(|(name, field)| (name.to_owned(), says(field))).collect()
    }
}

/// The fields of what a schema allows: of the object itself, of the items of a list, of what else it may be than `null`.
fn fields_below<'s>(whole: &'s Value, schema: &'s Value) -> Vec<(&'s str, &'s Value)> {
    let definition = definition_of(schema).and_then(|name| whole["$defs"].get(name));
    let own = schema["properties"].as_object().into_iter().flatten();
    let own = own.map(|(name, field)| (name.as_str(), field));
    let others = schema["anyOf"].as_array().into_iter().flatten();
    let others = others.chain(definition).chain(schema.get("items"));
    own.chain(others.flat_map(|other| fields_below(whole, other))).collect()
}

/// The name of the definition that stands for a schema.
fn definition_of(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// All definitions that a schema needs, those that they need themselves among them.
fn gather(whole: &Value, schema: &Value, found: &mut Map<String, Value>) {
    if let Some(name) = definition_of(schema).filter(|name| !found.contains_key(*name)) {
        let definition = &whole["$defs"][name];
        found.insert(name.to_owned(), definition.clone());
        gather(whole, definition, found);
    }
    match schema {
        Value::Object(map) => map.values().for_each(|below| gather(whole, below, found)),
        Value::Array(list) => list.iter().for_each(|below| gather(whole, below, found)),
        _ => {}
    }
}

/// Adds the keys of one object to another.
fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}
