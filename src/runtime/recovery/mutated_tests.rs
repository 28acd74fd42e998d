//! Journals in which numbers were changed and the checksums made anew: whatever they say now, nobody panics over them.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::store::StateFolder;
use rules::domain::RunId;
use rules::engine;
use supervisor::files::no_links::scratch_folder;

use super::recover::recover;

const JOURNALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/journals/v5");

/// Where numbers stand in a text, outside of strings.
fn numbers(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut in_string, mut begin) = (Vec::new(), false, None);
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_digit() && !in_string {
            begin.get_or_insert(at);
        } else if let Some(begin) = begin.take() {
            found.push((begin, at));
        }
        in_string ^= byte == b'"' && !text[..at].ends_with('\\');
    }
    found
}

fn with_checksum(line: &str) -> String {
    const COVERED: usize = "{\"crc\":\"00000000\",".len();
    let body = &line[COVERED..];
    format!("{{\"crc\":\"{:08x}\",{body}", crc32fast::hash(body.as_bytes()))
}

/// Every journal with one number changed, as many of them as a unit test has time for.
fn mutants(journal: &str, stride: usize, mut take: impl FnMut(&str, &str)) {
    let lines: Vec<&str> = journal.lines().collect();
    let mut nth = 0;
    for (line_number, line) in lines.iter().enumerate() {
        let events = line.find("\"events\"").unwrap_or(0);
        for (begin, end) in numbers(line).into_iter().filter(|(begin, _)| *begin > events) {
            for value in ["0", "1", "7", "4294967295"] {
                nth += 1;
                if nth % stride != 0 || line[begin..end] == *value {
                    continue;
                }
                let changed = with_checksum(&format!("{}{value}{}", &line[..begin], &line[end..]));
                let mut whole = lines.clone();
                whole[line_number] = &changed;
                take(&(whole.join("\n") + "\n"), &changed);
            }
        }
    }
}

fn placed(place: &Path, name: &str) -> (StateFolder, PathBuf) {
    let run = place.join("runs").join(name);
    fs::create_dir_all(&run).unwrap();
    fs::copy(format!("{JOURNALS}/{name}.mission.yaml"), run.join("mission.yaml")).unwrap();
    (StateFolder::at(place).unwrap(), run.join("journal.jsonl"))
}

#[test]
fn a_journal_with_changed_numbers_and_right_checksums_makes_nobody_panic() {
    let place = scratch_folder().unwrap();
    let names = fs::read_dir(JOURNALS).unwrap().map(|entry| entry.unwrap().file_name());
    let mut panics = Vec::new();
    let (mut tried, mut refused) = (0, 0);
    for name in names.filter_map(|name| name.to_str()?.strip_suffix(".jsonl").map(str::to_owned)) {
        let (state, path) = placed(place.path(), &name);
        let run = state.run(&RunId::new(name.clone()).unwrap());
        let journal = fs::read_to_string(format!("{JOURNALS}/{name}.jsonl")).unwrap();
        mutants(&journal, 5, |mutant, changed| {
            fs::write(&path, mutant).unwrap();
            tried += 1;
            let told = catch_unwind(AssertUnwindSafe(|| match recover(&run, |_, _| {}) {
                Ok(recovered) => {
                    let _ = engine::outcome(&recovered.state);
                    false
                }
                Err(_) => true,
            }));
            match told {
                Ok(is_refused) => refused += u32::from(is_refused),
                Err(_) => panics.push(format!("{name}: {changed}")),
            }
        });
    }
    assert!(tried > 300 && refused > 30, "{tried} tried, {refused} refused");
    assert!(panics.is_empty(), "{} of {tried}:\n{}", panics.len(), panics.join("\n"));
}
