//! The state folder as tests know it: how its files are called, how a record is read, and how one is forged. No other
//! test says so: what the program's own form is may change here and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Digest as _;

/// What each run has: its journal.
pub const JOURNAL: &str = "journal.jsonl";
/// What a person put aside of a damaged one.
pub const DAMAGED: &str = "journal.damaged-1.jsonl";
/// The snapshot for readers.
pub const SNAPSHOT: &str = "state.json";
/// The folder of prompts, outputs and replies.
pub const WORK: &str = "work";
/// The socket of the process that owns all children.
pub const SOCKET: &str = "supervisor.sock";
/// How that process calls itself in `/proc`.
pub const SUPERVISOR: &str = "quorum-supervis";
/// What it saw end.
pub const EXITS: &str = "exits.log";
/// Commands that were left while no session lived, in the state folder.
pub const INBOX: &str = "commands";
/// The number of the form of a state folder.
pub const FORMAT: u32 = 4;

/// What records say, as a text in them.
pub mod code {
    /// Tasks were added.
    pub const ADDED: &str = "tasksAdded";
    /// A person is asked.
    pub const ASKED: &str = "opened";
    /// A task waits for a moment.
    pub const DEFERRED: &str = "deferred";
    /// The session ended with outcome ok.
    pub const ENDED_OK: &str = r#"{"run":{"finished":{"outcome":"ok""#;
    /// The first gate was evaluated.
    pub const FIRST_GATE: &str = r#"{"gate":[0,"#;
    /// A command that is a stage has come back.
    pub const STAGE_ENDED: &str = r#""job":{"stage""#;
}

/// The number of a process as a record has it.
pub fn pid(pid: rustix::process::Pid) -> String {
    format!("\"pid\":{}", pid.as_raw_nonzero())
}

/// A code as a record has it.
pub fn has(text: &str, code: &str) -> bool {
    text.contains(&format!("\"{code}\""))
}

/// The journal of a run, from the workspace.
pub fn of(run: &str) -> String {
    format!(".polpo/runs/{run}/{JOURNAL}")
}

/// The snapshot of a run, from the workspace.
pub fn snapshot_of(run: &str) -> String {
    format!(".polpo/runs/{run}/{SNAPSHOT}")
}

/// The folder of a run's prompts, outputs and replies, from the workspace.
pub fn work_of(run: &str) -> String {
    format!(".polpo/runs/{run}/{WORK}")
}

/// What the process that owns all children of a run saw end, from the workspace.
pub fn exits_of(run: &str) -> String {
    format!(".polpo/runs/{run}/{EXITS}")
}

/// A file among the commands that were left, from the workspace; without a name the folder.
pub fn inbox(name: &str) -> String {
    match name {
        "" => format!(".polpo/{INBOX}"),
        name => format!(".polpo/{INBOX}/{name}"),
    }
}

/// A file of a turn, from its run's folder: `what` is prompt, out, err, result.
pub fn turn_file(task: u32, attempt: u32, turn: u32, what: &str) -> String {
    format!("{WORK}/{}.{what}", self::turn(task, attempt, turn))
}

/// A turn as files and records of exits are called after it.
pub fn turn(task: u32, attempt: u32, turn: u32) -> String {
    format!("{task}.{attempt}.{turn}")
}

/// A file of a check, from its run's folder.
pub fn check_file(task: u32, attempt: u32, check: u32, what: &str) -> String {
    format!("{WORK}/{task}.{attempt}.check.{check}.{what}")
}

/// A file of a reviewer, from its run's folder: `call` is seat, round and try.
pub fn seat_path(task: u32, attempt: u32, call: (u32, u32, u32), what: &str) -> String {
    format!("{WORK}/{task}{}", seat_file(attempt, call, what))
}

/// The end of the name of a reviewer's file: `call` is seat, round and try. Asks are counted: whoever is asked first about
/// a task is number 1, so this holds for the first round about a first attempt.
pub fn seat_file(attempt: u32, call: (u32, u32, u32), what: &str) -> String {
    let (seat, round, attempt_try) = call;
    assert_eq!((attempt, round), (1, 1), "later asks have other numbers");
    format!(".ask.{}.{attempt_try}.{what}", seat + 1)
}

/// The end of the name of a file of an agent that was asked anything else.
pub fn ask_file(number: &Value, what: &str) -> String {
    format!(".ask.{number}.1.{what}")
}

/// What a mission, a script or a place means by `@journal`, `@snapshot`, `@spool`, `@exits`, `@socket`, `@inbox`, the code
/// `@asked`, and `@turn(0.1.2)`: the second turn of the first attempt of the first task.
pub fn with_names(text: &str) -> String {
    let names = [
        ("@journal", JOURNAL),
        ("@snapshot", SNAPSHOT),
        ("@spool", WORK),
        ("@exits", EXITS),
        ("@socket", SOCKET),
        ("@inbox", INBOX),
        ("@asked", code::ASKED),
    ];
    let named = |text: String, (name, file): (&str, &str)| text.replace(name, file);
    let text = names.into_iter().fold(text.to_owned(), named);
    let mut parts = text.split("@turn(");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (place, rest) = part.split_once(')').expect("a turn's place is closed");
        let mut numbers = place.split('.').map(|number| number.parse().expect("a number"));
        let [task, attempt, nth] = [(); 3].map(|()| numbers.next().expect("task, attempt and turn"));
        whole += &turn(task, attempt, nth);
        whole += rest;
    }
    whole
}

/// The files of a run's work whose names end so, by name.
pub fn work_files(run: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(run.join(WORK)).expect("the run has files of its work");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.to_string_lossy().ends_with(end))
        .collect();
    found.sort();
    found
}

/// The records of a journal. A torn line never happened.
pub fn records(journal: &Path) -> Vec<Value> {
    parsed(&fs::read(journal).expect("there is a journal"))
}

/// The records in a part of a journal.
pub fn parsed(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let whole = lines.filter(|line| line.ends_with(b"\n"));
    let record = |line: &[u8]| serde_json::from_slice(line).expect("a whole line is a record");
    whole.map(record).map(told).collect()
}

/// The record with the event that it does not write, because it says nothing but the fact.
fn told(mut record: Value) -> Value {
    if record["told"] == 1 {
        let fact = record["fact"].as_object().and_then(|fact| fact.iter().next());
        let (name, body) = fact.expect("a record has a fact");
        let event = event_of(name, body);
        let mut events = record["events"].as_array().cloned().unwrap_or_default();
        events.insert(0, event);
        record["events"] = events.into();
    }
    record
}

/// A fact as the event that carries what it carries.
fn event_of(name: &str, body: &Value) -> Value {
    let run = |name: &str, body: &Value| json!({"run": {name: body}});
    let of = |entity: &str, id: &str, name: &str| json!({entity: [body[id], {name: body}]});
    match name {
        "start" => run("started", body),
        "resume" => run("resumed", body),
        "salvaged" => run("salvaged", body),
        "protection-noted" => run("protectionNoted", body),
        "stop" => run("stopping", body),
        "work-delivered" => run("workDelivered", body),
        "warn" => run("warning", &json!(["notice", body])),
        "foreign" | "unconfined" => run("warning", &json!([name, body])),
        "filed" => json!({"notice": {"filed": body}}),
        "prompt-ready" => of("turn", "turn", "started"),
        "files-noted" => json!({"turn": [body["turn"], {"filesNoted": {
            "file": body["result"]["Ok"], "shared": body["shared"] == true,
        }}]}),
        "turn-progress" => json!({"turn": [body[0], {"progress": body[1]}]}),
        "turn-ended" => of("turn", "turn", "finished"),
        "job-ended" => {
            json!({"work": [body["turn"][0], {"ended": {"job": body["job"], "end": body["end"]}}]})
        }
        "ask-replied" => of("ask", "id", "replied"),
        "stage-voided" => json!({"task": [null, {"stageVoided": body}]}),
        other => panic!("'{other}' is no fact that is an event"),
    }
}

/// The records of a journal as they are written, without the events that only a fact says.
pub fn written(journal: &Path) -> Vec<Value> {
    let text = fs::read_to_string(journal).expect("the journal is text");
    let record = |line: &str| serde_json::from_str(line).expect("a whole line is a record");
    text.lines().map(record).collect()
}

/// Such records as a journal, each with the checksum that fits.
pub fn lines(records: &[Value]) -> String {
    let line = |record: &Value| {
        let mut body = record.clone();
        body.as_object_mut().expect("a record is an object").remove("crc");
        sealed(&format!("{{\"crc\":\"\",{}", &body.to_string()[1..])) + "\n"
    };
    records.iter().map(line).collect()
}

/// The kind of a record's fact.
pub fn fact(record: &Value) -> &str {
    let fact = &record["fact"];
    let kind = fact.as_object().and_then(|fact| fact.keys().next());
    kind.map_or_else(|| fact.as_str().expect("a record has a fact"), String::as_str)
}

/// How many events such a record stands for.
pub fn count(record: &Value) -> usize {
    let written = record["events"].as_array().map_or(0, Vec::len);
    written + usize::from(record["told"] == 1)
}

/// Takes an event out of such a record, with all that counts it.
pub fn drop_event(record: &mut Value, event: usize) {
    let due = record["due"].as_u64().filter(|due| *due > event as u64);
    let is_told = record["told"] == 1;
    let fields = record.as_object_mut().expect("a record is an object");
    if let Some(due) = due {
        fields.insert("due".to_owned(), (due - 1).into());
    }
    match event.checked_sub(usize::from(is_told)) {
        None => drop(fields.remove("told")),
        Some(at) => drop(fields["events"].as_array_mut().expect("it has events").remove(at)),
    }
}

/// Gives such records the numbers that follow from one another.
pub fn renumber(records: &mut [Value]) {
    let mut seq = 1;
    for record in records {
        record["seq"] = seq.into();
        seq += count(record);
    }
}

/// How many tasks a record adds.
pub fn tasks_added(record: &Value) -> usize {
    let added = events(record).into_iter();
    let added = added.filter(|(name, _)| name.strip_prefix("run.") == Some(code::ADDED));
    added.map(|(_, body)| body["tasks"].as_array().map_or(0, Vec::len)).sum()
}

/// What was decided by one record, in order: each event's name, its entity first (`task.transition`), and its fields, with
/// the id of the entity among them.
pub fn events(record: &Value) -> Vec<(String, Value)> {
    let events = record["events"].as_array().expect("a record has events");
    events.iter().map(named).collect()
}

fn named(event: &Value) -> (String, Value) {
    let only = |value: &Value| {
        let (key, value) = value.as_object().and_then(|one| one.iter().next()).expect("one key");
        (key.clone(), value.clone())
    };
    let (entity, said) = only(event);
    if matches!(entity.as_str(), "deadline" | "notice") {
        return (entity, said);
    }
    let (id, said) = match said {
        Value::Array(parts) => {
            let [id, said] = &parts[..] else { panic!("no id: {event}") };
            (id.clone(), said.clone())
        }
        said => (Value::Null, said),
    };
    let (name, mut fields) = match said {
        Value::String(name) => (name, json!({})),
        said => only(&said),
    };
    if fields.is_string() {
        fields = json!({ "what": fields });
    }
    if !id.is_null() {
        fields["id"] = id;
    }
    (format!("{entity}.{name}"), fields)
}

/// The number of the first event of a record.
pub fn seq(record: &Value) -> Option<u64> {
    record["seq"].as_u64()
}

/// The moment of a record, as it has it.
pub fn at(record: &Value) -> &Value {
    &record["at"]
}

/// A record, or any line of the state folder that begins with a checksum, with the checksum that fits what it says now:
/// whoever forges one can do that much.
pub fn sealed(line: &str) -> String {
    let (_, body) = line.split_once(',').expect("it begins with a checksum");
    format!("{{\"crc\":\"{:08x}\",{body}", crc32fast::hash(body.as_bytes()))
}

/// A record that says that, with a checksum that does not fit.
pub fn unsealed() -> &'static str {
    "{\"crc\":\"00000000\",\"seq\":99,\"at\":1,\"input\":\"x\",\"events\":[]}\n"
}

/// A record that accepts the first task, with a checksum that fits.
pub fn accepting(seq: u64) -> String {
    sealed(&format!(
        r#"{{"crc":"","b":1,"seq":{seq},"at":1,"fact":"advance","events":[{{"task":[0,{{"transition":{{"from":"review","to":"done","qualityFlag":"clean"}}}}]}}]}}"#
    ))
}

/// The beginning of a record that was torn off.
pub const TORN: &str = "{\"crc\":\"0123";

/// Changes all records and seals them again.
pub fn rewrite(journal: &Path, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(journal).expect("the journal is text");
    let line = |line: &str| sealed(&change(line)) + "\n";
    fs::write(journal, text.lines().map(line).collect::<String>()).expect("the journal can be written");
}

/// Changes the record of a line, from 0, and seals it again.
pub fn rewrite_line(journal: &Path, line: usize, change: impl Fn(&str) -> String) {
    let text = fs::read_to_string(journal).expect("the journal is text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[line] = sealed(&change(&lines[line]));
    fs::write(journal, lines.join("\n") + "\n").expect("the journal can be written");
}

/// Changes the first record that has `which` and seals it again.
pub fn forge(journal: &Path, which: &str, from: &str, to: &str) {
    let text = fs::read_to_string(journal).expect("the journal is text");
    let line = text.lines().position(|line| line.contains(which));
    let line = line.unwrap_or_else(|| panic!("no record has {which}"));
    let change = |line: &str| {
        assert!(line.contains(from), "{line} has no {from}");
        line.replacen(from, to, 1)
    };
    rewrite_line(journal, line, change);
}

/// Ends the journal in front of the first event that says `which`: behind what was decided before it.
pub fn cut_before(journal: &Path, which: &str) {
    let text = fs::read_to_string(journal).expect("the journal is text");
    let (before, _) = text.split_once(which).unwrap_or_else(|| panic!("no event is {which}"));
    let (whole, line) = before.rsplit_once('\n').expect("it is not in the first record");
    let line = line.strip_suffix(',').expect("something was decided before it");
    fs::write(journal, format!("{whole}\n{}\n", sealed(&format!("{line}]}}"))))
        .expect("the journal can be written");
}

/// Makes all sessions ones that went by rules of another number.
pub fn with_rules(journal: &Path, number: u32) {
    let rules = regex::Regex::new("\"rules\":[0-9]+").expect("it is an expression");
    rewrite(journal, |line| rules.replace_all(line, format!("\"rules\":{number}")).into_owned());
}

/// Makes the first record of another moment.
pub fn backdate(journal: &Path, to: u64) {
    let began = format!("\"at\":{}", at(&records(journal)[0]));
    forge(journal, &began, &began, &format!("\"at\":{to}"));
}

/// Changes the first record without sealing it again.
pub fn damage(journal: &Path) {
    let text = fs::read_to_string(journal).expect("the journal is text");
    fs::write(journal, text.replacen("\"seq\":1", "\"seq\":7", 1)).expect("the journal can be written");
}

/// What records say of a task and of a turn, and what none of a small mission can say: a task or turn that it has not, a
/// step in the life of a task that no life has.
pub const STRANGE: [(&str, &str); 3] = [
    (r#"{"from":"assigned","to":"in_progress""#, r#"{"from":"assigned","to":"done""#),
    ("\"task\":[0,", "\"task\":[7,"),
    ("\"turn\":[0,", "\"turn\":[4294967295,"),
];

/// A stage's verdict as a record has it.
pub fn verdict(stage: &str, verdict: &str) -> String {
    format!(r#""stage":"{stage}","verdict":"{verdict}""#)
}

/// A panel's verdict on work that has too few points.
pub fn below_the_bar(points: u32) -> String {
    format!(r#""stage":"judge","verdict":"fail","cause":"score","points":"{points}""#)
}

/// What an evaluation gave.
pub fn evaluated(points: u32) -> String {
    format!(r#""evaluation":{{"points":"{points}""#)
}

/// How good the work is that a task was accepted for.
pub fn flag(flag: &str) -> String {
    format!(r#""qualityFlag":"{flag}""#)
}

/// What a session ended with where all is well.
pub fn outcome(outcome: &str) -> String {
    format!(r#""outcome":"{outcome}","conditions":["ok"]"#)
}

/// How a process ended, in the record of its exit.
pub fn exit(code: i32) -> String {
    format!("\"code\":{code}")
}

/// The line with which the process that owns all children of a run says good-bye, made of what the journal promises.
pub fn farewell(journal: &Path) -> String {
    let first = records(journal).swap_remove(0);
    let promised = &first["fact"]["start"]["supervisor"];
    assert!(promised["farewell"].is_string(), "it was promised");
    let document = json!({
        "crc": "", "label": "", "pid": promised["pid"], "start_time": promised["startTime"], "boot_id": promised["bootId"], "key": 0,
        "timed_out": false, "terminated": false, "stdout_len": 0, "stderr_len": 0, "started_ms": 0,
        "duration_ms": 0, "user_us": 0, "system_us": 0, "max_rss": 0, "at_ms": 1, "note": "",
        "farewell": promised["farewell"],
    });
    sealed(&document.to_string())
}

/// An approval of the first task's first question as it is left while no session lives.
pub fn left_approval(run: &str, by: &str) -> String {
    let command = json!({"do": "approve", "task": 0, "number": 1});
    json!({"id": "x", "run": run, "by": by, "command": command}).to_string()
}

/// The digest of a file as records have it.
pub fn digest(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The code under a key with which a command is left.
pub fn code_of(key: &[u8], body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(key).expect("any length");
    mac.update(b"quorum inbox v1\n");
    mac.update(body.as_bytes());
    let code = mac.finalize().into_bytes();
    code.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// That the first turn of a task has a process, as a record says it.
pub fn spawned(task: u32) -> String {
    format!("\"turn-progress\":[[{task},1,1],{{\"spawned\"")
}

/// That a task moved to a status, as a record says it.
pub fn moved_to(status: &str) -> String {
    format!("\"to\":\"{status}\"")
}

/// A snapshot with the code that somebody gives it who has a key of his own, and with the name of that key or that of the key
/// whose code it had.
pub fn vouched_for(snapshot: &str, key: &[u8], names_key: bool) -> String {
    let (_, members) = snapshot.split_once("\",\"code\":\"").expect("it has a code");
    let (_, members) = members.split_once("\",").expect("it has more than a code");
    let (before, rest) = members.split_once("\"key\":\"").expect("it names a key");
    let (named, rest) = rest.split_once('"').expect("the name ends");
    let own = code_of(key, "fingerprint")[..16].to_owned();
    let name = if names_key { &own } else { named };
    let members = format!("{before}\"key\":\"{name}\"{rest}");
    sealed(&format!("{{\"crc\":\"\",\"code\":\"{}\",{members}", code_of(key, &members)))
}

/// A command with its code, as it is left.
pub fn envelope(code: &Value, body: &str) -> String {
    json!({"code": code, "body": body}).to_string()
}
