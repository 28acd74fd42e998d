//! Every single change of what a run has stored.

use std::fs;

use serde_json::Value;

use crate::support::{Workspace, journal};

/// A change of one file.
pub struct Change {
    /// What is done, for whoever reads of it.
    pub name: String,
    /// What is changed, by kind and keys; empty where it can be anything.
    pub value: String,
    /// A word that a reader who finds it may name it by.
    pub named: String,
    /// The file, from the workspace.
    pub path: String,
    pub what: What,
}

/// What becomes of a file.
pub enum What {
    Holds(Vec<u8>),
    Gone,
}

/// All changes, in the same order whenever the same run is made.
pub fn all(workspace: &Workspace) -> Vec<Change> {
    let records = journal::written(&workspace.journal());
    let mut changes = Vec::new();
    for at in 0..records.len() {
        changes.extend(of_frame(&records, at));
        changes.extend(of_fact(&records, at));
        changes.extend(of_decision(&records, at));
        changes.extend(of_place(&records, at));
    }
    changes.extend(of_files(workspace));
    changes
}

fn in_journal(name: String, value: String, records: &[Value]) -> Change {
    Change {
        name,
        value,
        named: "journal.jsonl".to_owned(),
        path: journal::of("r1"),
        what: What::Holds(journal::lines(records).into_bytes()),
    }
}

/// One value of a fact is another one.
fn of_fact(records: &[Value], at: usize) -> Vec<Change> {
    let mut paths = Vec::new();
    leaves(&records[at]["fact"], "/fact".to_owned(), &mut paths);
    paths.into_iter().filter_map(|path| with_another(records, at, &path)).collect()
}

/// One value of what was decided is another one, one event is missing, what became due begins elsewhere.
fn of_decision(records: &[Value], at: usize) -> Vec<Change> {
    let mut paths = Vec::new();
    leaves(&records[at]["events"], "/events".to_owned(), &mut paths);
    let mut changes: Vec<Change> =
        paths.into_iter().filter_map(|path| with_another(records, at, &path)).collect();
    let seq = &records[at]["seq"];
    for event in 0..journal::count(&records[at]) {
        let mut changed = records.to_vec();
        journal::drop_event(&mut changed[at], event);
        journal::renumber(&mut changed);
        let name = format!("record {seq}: event {event} is dropped");
        changes.push(in_journal(name, String::new(), &changed));
    }
    for due in 1..journal::count(&records[at]) {
        let mut changed = records.to_vec();
        let is_so = changed[at]["due"] == due;
        let record = changed[at].as_object_mut().expect("a record is an object");
        match is_so {
            true => record.remove("due"),
            false => record.insert("due".to_owned(), due.into()),
        };
        let name = format!("record {seq}: due is moved to {due}, or away");
        changes.push(in_journal(name, String::new(), &changed));
    }
    changes
}

/// A record is missing, changes places with the next, or stands there twice: with the numbers that it had, and as if it
/// had always been so.
fn of_place(records: &[Value], at: usize) -> Vec<Change> {
    let mut moved = vec![
        ("removed", [&records[..at], &records[at + 1..]].concat()),
        ("repeated", [&records[..=at], &records[at..]].concat()),
    ];
    if at + 1 < records.len() {
        let mut swapped = records.to_vec();
        swapped.swap(at, at + 1);
        moved.push(("swapped", swapped));
    }
    let is_last = at + 1 == records.len();
    let mut changes = Vec::new();
    for (how, records_now) in moved {
        let mut numbered = records_now.clone();
        journal::renumber(&mut numbered);
        let value = match is_last {
            true => format!("{how}.last"),
            false => format!("{how}.{}", journal::fact(&records[at])),
        };
        for (records_now, also) in [(records_now, ""), (numbered, ", with new numbers")] {
            let name = format!("record {} is {how}{also}", records[at]["seq"]);
            changes.push(in_journal(name, value.clone(), &records_now));
        }
    }
    changes
}

/// A moment is another one, a mark is there or not.
fn of_frame(records: &[Value], at: usize) -> Vec<Change> {
    let mut marked = records.to_vec();
    let record = marked[at].as_object_mut().expect("a record is an object");
    if record.remove("b").is_none() {
        record.insert("b".to_owned(), 1.into());
    }
    let name = format!("record {}: another mark of a batch", records[at]["seq"]);
    let mut changes = vec![in_journal(name, "b".to_owned(), &marked)];
    changes.extend(with_another(records, at, "/at"));
    changes
}

/// One byte is another, the end is missing, all of it is missing: of each file that a record names, and of the mission.
fn of_files(workspace: &Workspace) -> Vec<Change> {
    let mut names: Vec<_> = fs::read_dir(workspace.path(&journal::work_of("r1")))
        .expect("the run has files of its work")
        .map(|entry| entry.expect("it can be read").path())
        .filter(|path| path.is_file())
        .collect();
    names.push(workspace.run_folder().join("mission.yaml"));
    names.sort();
    let journal_text = fs::read_to_string(workspace.journal()).expect("it is text");
    // A judgement, which a record names, names what was asked.
    let vouching: Vec<String> = names
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "judgement"))
        .map(|path| fs::read_to_string(path).expect("it is text"))
        .collect();
    let mut changes = Vec::new();
    for path in names {
        let bytes = fs::read(&path).expect("it can be read");
        let digest = journal::digest(&bytes);
        let is_named = journal_text.contains(&digest) || vouching.iter().any(|text| text.contains(&digest));
        if !is_named || bytes.is_empty() {
            continue;
        }
        let mut other = bytes.clone();
        let middle = other.len() / 2;
        other[middle] ^= 1;
        let cut = bytes[..bytes.len() - 1].to_vec();
        let relative = path.strip_prefix(workspace.root()).expect("it is in the workspace");
        let name = path.file_name().expect("it has a name").to_string_lossy();
        for (how, what) in
            [("another byte", What::Holds(other)), ("cut", What::Holds(cut)), ("gone", What::Gone)]
        {
            changes.push(Change {
                name: format!("{name}: {how}"),
                value: String::new(),
                named: name.to_string(),
                path: relative.to_string_lossy().into_owned(),
                what,
            });
        }
    }
    changes
}

/// The pointers of all values that hold no others.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| leaves(value, format!("{path}/{key}"), found))
        }
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| leaves(value, format!("{path}/{at}"), found))
        }
        Value::Null => {}
        _ => found.push(path),
    }
}

/// Another value in the place of one; `None` where the form knows no other.
fn with_another(records: &[Value], at: usize, path: &str) -> Option<Change> {
    let mut changed = records.to_vec();
    let place = changed[at].pointer_mut(path).expect("it was found there");
    let was_some = place.as_u64().is_some_and(|count| count > 0);
    *place = another(place)?;
    // The keys that lead to it, without positions.
    let keys: Vec<&str> =
        path.split('/').filter(|key| !key.is_empty() && key.parse::<usize>().is_err()).collect();
    let name = format!("record {}: {path} is {}", records[at]["seq"], changed[at].pointer(path)?);
    let mut value = keys.join(".");
    if was_some && matches!(value.as_str(), "fact.turn-ended.files.changed" | "fact.turn-ended.files.written")
    {
        value += ".more";
    }
    Some(in_journal(name, value, &changed))
}

fn another(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Bool(is) => Value::Bool(!is),
        Value::Number(number) => Value::from(number.as_u64()?.checked_add(1)?),
        Value::String(text) if text.parse::<u32>().is_ok() => {
            Value::from((text.parse::<u32>().ok()? / 2 + 1).to_string())
        }
        Value::String(text) if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            let first = if text.starts_with('0') { '1' } else { '0' };
            Value::from(format!("{first}{}", &text[1..]))
        }
        Value::String(text) => Value::from(format!("{text}x")),
        _ => return None,
    })
}
