//! `quorum schema`: what it accepts is what the loader accepts, as far as JSON Schema has words for it.

mod documents;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Has, Says, Workspace};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn schema(file: &str) -> Value {
    let printed = Workspace::new().quorum(&["schema", file]).exits(0).json();
    let draft = "https://json-schema.org/draft/2020-12/schema";
    assert_eq!(printed["$schema"], draft);
    assert!(jsonschema::meta::is_valid(&printed), "the schema itself is not valid");
    printed
}

/// The mission files of a folder.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(ROOT).join(folder)).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "yaml" || kind == "json")).collect();
    files.sort();
    files
}

/// A document as an editor sees it; `None` if it is not YAML at all.
fn document(path: &Path) -> Option<Value> {
    serde_saphyr::from_str(&fs::read_to_string(path).ok()?).ok()
}

/// What the schema finds wrong.
fn errors(schema: &Value, document: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(schema).expect("the schema can be used");
    let errors = validator.iter_errors(document);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_mission_that_loads_fits_the_schema() {
    let schema = schema("mission");
    let workspace = Workspace::new();
    let missions = [files("fixtures/missions"), files("missions")].concat();
    assert!(missions.len() >= 8);
    for path in missions {
        let file = path.to_str().expect("a path of this project");
        let document = document(&path).expect("it is YAML");
        let agents = document["agents"].as_object().into_iter().flatten();
        let is_elsewhere = agents.into_iter().any(|(_, agent)| agent.get("queue").is_some());
        let loads = !is_elsewhere || cfg!(feature = "temporal");
        workspace.quorum(&["validate", file]).exits(if loads { 0 } else { 2 });
        assert_eq!(errors(&schema, &document), Vec::<String>::new(), "{file}");
    }
}

#[test]
fn files_with_wrong_keys_or_values_do_not_fit() {
    let schema = schema("mission");
    for name in ["expectations", "list", "secrets", "unknown-keys", "wrong-types"] {
        let path = Path::new(ROOT).join(format!("fixtures/bad/{name}.yaml"));
        let document = document(&path).expect("it is YAML");
        assert_ne!(errors(&schema, &document), Vec::<String>::new(), "{name}");
    }
}

/// A mission whose one task and one gate have these keys too.
fn mission(task: &Value, gate: &Value) -> Value {
    let mut mission = json!({
        "name": "m",
        "agents": {"a": {"run": "true"}},
        "tasks": [{"title": "one"}, {"title": "two"}],
        "qualityGates": [{"name": "g", "afterTasks": ["one"], "blocksTasks": ["two"]}],
    });
    for (place, more) in [("/tasks/0", task), ("/qualityGates/0", gate)] {
        let map = mission.pointer_mut(place).and_then(Value::as_object_mut);
        map.expect("it is there").extend(more.as_object().expect("an object").clone());
    }
    mission
}

/// The loader and the schema are asked the same.
#[test]
fn loader_and_schema_agree_on_single_values() {
    let schema = schema("mission");
    let workspace = Workspace::new();
    let nothing = json!({});
    let gate = |score: Value| mission(&nothing, &json!({"minScore": score}));
    let task = |keys: Value| mission(&keys, &nothing);
    let with = |expectation: Value| task(json!({"expectations": [expectation]}));
    let cases = [
        (true, gate(json!(4.0))),
        (true, gate(json!(70))),
        (true, gate(json!("10/100"))),
        (false, gate(json!(10))),
        (false, gate(json!(101))),
        (true, task(json!({"x-mine": {"anything": [1]}}))),
        (true, task(json!({"tags": null, "maxDuration": "90s"}))),
        (true, task(json!({"maxDuration": 90_000, "priority": 0.5}))),
        (false, task(json!({"maxDuration": "soon"}))),
        (false, task(json!({"maxDuration": 0}))),
        (false, task(json!({"priority": 0}))),
        (false, task(json!({"title": null}))),
        (false, task(json!({"title": " padded"}))),
        (false, task(json!({"type": "Implement"}))),
        (false, task(json!({"targetFiles": ["/etc/passwd"]}))),
        (false, task(json!({"dependsOnn": []}))),
        (false, task(json!({"maxAttempts": 0}))),
        (true, with(json!({"type": "test", "command": "true"}))),
        (false, with(json!({"type": "test"}))),
        (false, with(json!({"type": "test", "command": "true", "paths": ["a"]}))),
        (false, with(json!({"type": "file_exists", "paths": []}))),
        (true, with(json!({"type": "llm_review", "criteria": "c", "reviewers": 3}))),
        (false, with(json!({"type": "llm_review", "criteria": "c", "reviewers": 0}))),
    ];
    for (fits, document) in cases {
        workspace.write("mission.yaml", document.to_string());
        let code = if fits { 0 } else { 2 };
        workspace.quorum(&["validate", "mission.yaml"]).exits(code);
        let errors = errors(&schema, &document);
        assert_eq!(errors.is_empty(), fits, "{document:#}\n{errors:#?}");
    }
}

#[test]
fn a_configuration_file_has_a_schema_of_its_own() {
    let schema = schema("config");
    assert!(errors(&schema, &json!({"settings": {"evalThreshold": 70}})).is_empty());
    assert!(!errors(&schema, &json!({"tasks": []})).is_empty());
}

#[test]
fn one_key_is_explained_to_people() {
    let workspace = Workspace::new();
    let about = |field: &str| workspace.quorum(&["schema", "mission", field]).exits(0).stdout;
    about("qualityGates.minScore").says(&["mean score", "how: write a score from 1 to 5"]);
    assert!(about("tasks.expectations.llm_review.threshold").contains("60"));
    assert!(about("agents.coder.adapter").contains("openai"));
    assert!(about("tasks").contains("dependsOn"));
    let document = workspace.quorum(&["schema", "mission", "agents.input", "--json"]).exits(0).json();
    document.has(json!({"schema": "quorum.schema/v1", "words": ["stdin", "file", "none"]}));
    let ended = workspace.quorum(&["schema", "mission", "qualityGates.minScor"]).exits(2);
    ended.says(&["a gate has no key 'minScor'", "did you mean 'minScore'?"]);
    workspace.quorum(&["schema", "mission", "name.first"]).exits(2);
}

/// Every key has its line: a schema without descriptions helps nobody.
#[test]
fn every_property_is_described() {
    fn look(schema: &Value, place: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let text = property["description"].as_str().unwrap_or_default();
            assert!(text.len() > 5 && text.contains('.'), "{place}.{name} is not described");
        }
    }
    let schema = schema("mission");
    look(&schema, "mission");
    let definitions = schema["$defs"].as_object().expect("definitions");
    assert!(definitions.len() > 20);
    for (name, definition) in definitions {
        look(definition, name);
    }
}
