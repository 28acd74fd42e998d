//! The schema of every document: what the program prints fits what it says about it, and the pages name all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{ROOT, errors, schema};
use crate::support::browser::Server;
use crate::support::{Mission, Workspace};

const LABELS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/labels/three-judges.jsonl");

/// Forms of files that quorum keeps for itself: nobody is handed them as a document.
const KEPT: [&str; 4] =
    ["quorum.cassette/v1", "quorum.handoff/v1", "quorum.judgement/v1", "quorum.recorded-reply/v1"];

/// What an agent does that says everything an agent can say.
const TALKS: &str = "cat > /dev/null\n\
    if test -e talked; then echo done > out.txt; exit; fi\n\
    touch talked\n\
    @quorum agent progress '1 of 2' --json > progress.json\n\
    @quorum agent delegate part 'a part of it' --to worker --json > delegate.json\n\
    @quorum agent result 'half of it' --json > result.json\n\
    @quorum agent ask 'Which one?' --json > ask.json\n";

const JUDGES: &str = "cp \"$QUORUM_REVIEW_FILE\" review.json; cat > /dev/null; echo 'SCORE: 80'";

const SCORES: &str = r#"{"scores": {"x": {"reasoning": "why", "score": 4}, "y": {"reasoning": "why", "score": 5}},
    "findings": [{"severity": "low", "description": "no tests", "evidence": "none", "suggestedFix": "write some"}]}"#;

const CRITIQUE: &str =
    r#"{"correctness": 4, "completeness": 4, "code_quality": 4, "edge_cases": 4, "findings": []}"#;

/// A mission that has something of everything.
fn some_of_everything() -> Workspace {
    let panel = json!({
        "type": "llm_review", "reviewers": ["panellist"],
        "dimensions": [{"name": "x", "weight": 0.5}, {"name": "y", "weight": 0.5}],
    });
    let workspace = Mission::new()
        .worker("cat > /dev/null; echo work > work.txt; echo work")
        .agent("talker", TALKS.replace("@quorum", env!("CARGO_BIN_EXE_quorum")))
        .agent("breaker", "exit 1")
        .reviewer("judge", JUDGES)
        .judge("panellist", &[SCORES])
        .judge("critic", &[CRITIQUE])
        .key("channels", json!({"ops": {"type": "command", "run": "cat > told.json"}, "none": {"type": "command", "run": "exit 7"}}))
        .key("budget", json!({"maxRequests": 1000}))
        .key("deadline", "1h")
        .key("qualityThreshold", 3)
        .key("delays", json!([{"name": "breath", "afterTasks": ["panelled"], "blocksTasks": ["late"], "duration": "1ms"}]))
        .key("checkpoints", json!([{"name": "go", "afterTasks": ["panelled"], "blocksTasks": ["gone"], "message": "look"}]))
        .key("qualityGates", json!([
            {"name": "door", "afterTasks": ["panelled", "broken"], "blocksTasks": ["behind"], "requireAllPassed": true},
        ]))
        .setting("defaultChannels", json!(["ops", "none"]))
        .task("panelled", |t| t.expects(panel).check("true").files(["work.txt"]))
        .task("judged", |t| t.set("review", "required"))
        .task("talks", |t| t.by("talker").unreviewed().files(["out.txt"]))
        .task("waits", |t| t.unreviewed().approved())
        .task("broken", |t| t.by("breaker").attempts(2))
        .task("after", |t| t.needs("broken"))
        .task("graded", |t| t.set("acceptance", json!(["It works."])).unreviewed().files(["work.txt"]))
        .tasks(["behind", "late", "gone"])
        .workspace();
    workspace.write("a.txt", "work");
    workspace
}

/// Documents under the name that is typed for them.
#[derive(Default)]
struct Printed(BTreeMap<&'static str, Vec<Value>>);

impl Printed {
    fn add(&mut self, name: &'static str, document: Value) {
        self.0.entry(name).or_default().push(document);
    }

    fn take(&mut self, name: &'static str, workspace: &Workspace, code: i32, words: &[&str]) -> Value {
        let all = [words, &["--json"]].concat();
        let document = workspace.quorum(&all).exits(code).json();
        self.add(name, document.clone());
        document
    }

    fn read(&mut self, name: &'static str, workspace: &Workspace, file: &str) {
        let text = workspace.read(file);
        self.add(name, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}\n{text}")));
    }
}

/// What is said of a run.
fn of_a_run(printed: &mut Printed) {
    let workspace = some_of_everything();
    printed.take("plan", &workspace, 0, &["plan"]);
    printed.take("baseline", &workspace, 0, &["plan", "--baseline"]);
    printed.take("validate", &workspace, 0, &["validate"]);
    printed.take("run", &workspace, 3, &["run", "--run-id", "one", "--progress", "none"]);
    for (name, file) in [
        ("ask", "ask.json"),
        ("delegate", "delegate.json"),
        ("progress", "progress.json"),
        ("result", "result.json"),
        ("review-request", "review.json"),
        ("notification", "told.json"),
    ] {
        printed.read(name, &workspace, file);
    }
    let inbox = printed.take("inbox", &workspace, 0, &["inbox"]);
    printed.take("approvals", &workspace, 0, &["approvals"]);
    printed.take("requests", &workspace, 0, &["requests"]);
    let approvals = inbox["approvals"].as_array().expect("a list");
    let asked = approvals.iter().find(|hold| hold["reason"] == "question").expect("the agent asks");
    let id = asked["id"].as_str().expect("it has an id");
    printed.take("command", &workspace, 0, &["answer", id, "The first."]);
    printed.take("run", &workspace, 3, &["resume", "--progress", "none"]);
    printed.take("run", &workspace, 0, &["status"]);
    for task in ["panelled", "judged", "talks", "waits", "broken", "graded"] {
        printed.take("show", &workspace, 0, &["show", task]);
    }
    printed.take("logs", &workspace, 0, &["logs", "talks"]);
    printed.take("metrics", &workspace, 0, &["metrics"]);
    printed.take("gate", &workspace, 4, &["gate"]);
    printed.take("stats", &workspace, 0, &["stats", "--by", "judge"]);
    printed.take("runs", &workspace, 0, &["runs"]);
    printed.add("serve", Server::document(&workspace));
    printed.take("replay", &workspace, 0, &["review", "--replay"]);
    printed.take("salvage", &workspace, 0, &["doctor", "state", "--keep-good-prefix", "one"]);
    printed.take("doctor", &workspace, 0, &["doctor", "state"]);
    let events = printed.take("events", &workspace, 0, &["events"]);
    for event in events["events"].as_array().expect("a list") {
        printed.add("event", event.clone());
    }
    let letters = printed.take("dlq", &workspace, 0, &["dlq", "list"]);
    let letter = letters["letters"][0]["id"].as_str().expect("a channel fails");
    printed.take("dlq", &workspace, 0, &["dlq", "show", letter]);
    printed.take("request", &workspace, 0, &["request", "submit", "more", "--to", "worker"]);
    printed.take("request", &workspace, 0, &["request", "list"]);
    printed.take("clean", &workspace, 0, &["clean", "--all", "--yes"]);
}

/// What is said without one.
fn of_no_run(printed: &mut Printed) {
    let workspace = some_of_everything();
    workspace.write("bad.yaml", "name: bad\ntaskss: []\n");
    printed.take("validate", &workspace, 2, &["validate", "bad.yaml"]);
    printed.take("error", &workspace, 2, &["run", "bad.yaml"]);
    printed.take("error", &workspace, 2, &["status", "nobody"]);
    let review = ["review", "--criteria", "Good.", "--progress", "none", "a.txt"];
    printed.take("review", &workspace, 0, &[&review[..], &["--reviewer", "critic"]].concat());
    printed.take("review", &workspace, 6, &[&review[..], &["--grader", "heuristic"]].concat());
    let judge = ["judge", "test", "critic", "--kind"];
    printed.take("judge-test", &workspace, 0, &[&judge[..], &["panel"]].concat());
    printed.take("judge-test", &workspace, 6, &[&judge[..], &["approve,vision"]].concat());
    let panel = ["--panel", "careful,harsh,careless", "--bootstrap", "20"];
    printed.take("calibration", &workspace, 0, &[&["calibrate", LABELS][..], &panel].concat());
    printed.take("quorum.config/v1", &workspace, 0, &["config", "show", "--origin"]);
    printed.take("explain", &workspace, 0, &["explain"]);
    printed.take("explain", &workspace, 0, &["explain", "regressed"]);
    printed.take("schema", &workspace, 0, &["schema", "mission", "agents.input"]);
    printed.take("completions", &workspace, 0, &["completions", "bash"]);
    printed.take("init", &workspace, 0, &["init", "new", "--yes"]);
    printed.take("runs", &workspace, 0, &["runs"]);
    let twice = Mission::new().worker("true").tasks(["work"]).workspace();
    for run in ["one", "two"] {
        twice.run_json(0, &["--run-id", run]);
    }
    printed.take("compare", &twice, 0, &["compare", "two"]);
    printed.take("stats", &twice, 0, &["stats"]);
    let doctor = workspace.quorum(&["doctor", "--json"]);
    printed.add("doctor", doctor.json());
}

/// The documents by what is typed for them, in the order of the table.
fn names() -> Vec<&'static str> {
    let documents = quorum::documents().into_iter();
    documents.map(|known| if known.name() == "config" { known.schema } else { known.name() }).collect()
}

#[test]
fn every_document_fits_its_schema() {
    let mut printed = Printed::default();
    of_a_run(&mut printed);
    of_no_run(&mut printed);
    for name in names() {
        let schema = schema(name);
        let documents = printed.0.remove(name).unwrap_or_default();
        assert!(!documents.is_empty(), "no case prints the document '{name}'");
        for document in documents {
            let errors = errors(&schema, &document);
            assert_eq!(errors, Vec::<String>::new(), "{name}: {document:#}");
        }
    }
    assert!(printed.0.is_empty(), "documents that the table does not have: {:?}", printed.0.keys());
}

/// A schema that took everything would fit all documents.
#[test]
fn what_lacks_a_key_or_has_another_word_does_not_fit() {
    let workspace = some_of_everything();
    let document = workspace.quorum(&["run", "--json", "--progress", "none"]).exits(3).json();
    let schema = schema("run");
    for (place, wrong) in [
        ("/schema", json!("quorum.runs/v1")),
        ("/outcome", json!("fine")),
        ("/tasks/0/phase", json!("thinking")),
        ("/tasks/0/points", json!(101)),
        ("/tasks/0/attempts", json!(null)),
        ("/counts/done", json!("1")),
    ] {
        let mut changed = document.clone();
        *changed.pointer_mut(place).expect("it is there") = wrong;
        assert_ne!(errors(&schema, &changed), Vec::<String>::new(), "{place}");
    }
    let mut shorter = document;
    shorter["tasks"][0].as_object_mut().expect("a task").remove("status");
    assert_ne!(errors(&schema, &shorter), Vec::<String>::new());
}

/// Each field has its line, and none of the words of this program's types stands in it.
#[test]
fn every_field_of_a_document_is_described() {
    fn look(schema: &Value, place: &str, missing: &mut Vec<String>) {
        let properties = schema["properties"].as_object().into_iter().flatten();
        for (name, field) in properties {
            let text = field["description"].as_str().unwrap_or_default();
            if text.is_empty() || text.contains("`None`") || text.contains("[`") {
                missing.push(format!("{place}.{name}: {text}"));
            }
        }
    }
    let mut missing = Vec::new();
    for known in quorum::documents() {
        let schema = known.json_schema();
        look(&schema, known.schema, &mut missing);
        for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
            look(definition, name, &mut missing);
        }
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn one_field_of_a_document_has_a_schema_of_its_own() {
    let workspace = Workspace::new();
    let field = |words: &[&str]| workspace.quorum(&[&["schema"][..], words].concat()).exits(0).json();
    let points = field(&["run", "tasks.points"]);
    assert_eq!((&points["maximum"], points.get("$defs")), (&json!(100), None));
    let reviews = field(&["show", "task.reviews"]);
    assert_eq!(reviews["items"]["$ref"], "#/$defs/ReviewRow");
    assert!(
        reviews["$defs"].get("Finding").is_some() && reviews["$defs"].get("Counts").is_none(),
        "{reviews:#}"
    );
    assert!(jsonschema::meta::is_valid(&reviews));
    let unknown = workspace.quorum(&["schema", "run", "tasks.point"]).exits(2);
    unknown.says(&["'tasks' has no key 'point'", "did you mean 'points'?"]);
    workspace.quorum(&["schema", "run", "runId.first"]).exits(2);
    workspace.quorum(&["schema", "rum"]).exits(2);
    // A command's name means what it prints, and so does the name with its version.
    let run = field(&["run"]);
    assert_eq!(run, field(&["status"]));
    assert_eq!(run, field(&["quorum.run/v1"]));
}

/// Every name of a document in a text.
fn named_in(text: &str) -> BTreeSet<&str> {
    let begins = text.match_indices("quorum.").map(|(at, _)| &text[at..]);
    let ends = begins.filter_map(|rest| rest.find("/v1").map(|end| &rest[..end + 3]));
    ends.filter(|name| !name.contains(|c: char| !(c.is_ascii_lowercase() || "./-".contains(c) || c == '1')))
        .collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

#[test]
fn the_table_the_sources_and_the_page_name_the_same_documents() {
    let table: BTreeSet<&str> = quorum::documents().iter().map(|known| known.schema).collect();
    let mut files = Vec::new();
    sources(&Path::new(ROOT).join("src"), &mut files);
    sources(&Path::new(ROOT).join("crates"), &mut files);
    for file in files.iter().filter(|file| file.extension().is_some_and(|kind| kind == "rs")) {
        let text = fs::read_to_string(file).expect("it can be read");
        for name in named_in(&text) {
            let is_known = table.contains(name) || KEPT.contains(&name);
            assert!(is_known, "{} names {name}, which is not in the table of documents", file.display());
        }
    }
    let page = fs::read_to_string(Path::new(ROOT).join("docs/reference/json.md")).expect("it is there");
    let told = named_in(&page);
    for name in table.iter().filter(|name| name.starts_with("quorum.")) {
        assert!(told.contains(name), "docs/reference/json.md does not name {name}");
    }
}

#[test]
fn the_page_of_agents_has_every_adapter_behind_http() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/reference/agents.md")).expect("it is there");
    let adapters: Vec<&str> = rules::mission::model::http_adapters().collect();
    assert!(adapters.len() > 3, "{adapters:?}");
    for adapter in adapters {
        let row = format!("\n| `{adapter}` | `POST ");
        assert!(page.contains(&row), "docs/reference/agents.md has no row for {adapter}");
    }
}
