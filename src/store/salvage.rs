//! Keeping the good beginning of a damaged journal, because a person wants that. Nothing is ever deleted: what is behind
//! the damage is moved aside, and the journal says so itself.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};

use rules::domain::Timestamp;
use rules::engine::{Fact, Salvaged};

use super::layout::RunFolder;
use super::record::{JournalDecision, Record};
use super::snapshot::JournalEnd;
use supervisor::files::no_links::OpenFolder;
use supervisor::files::{if_there, open_regular, remove_file, replace_file};

/// Replaces a journal by its beginning up to `end` and one record that says so, in one step: either the damaged journal is
/// still there, or the one that tells of its damage. The caller holds the lock of the state folder.
///
/// # Errors
/// Whatever the file system says; the damaged journal is then still there.
pub fn keep_prefix(
    run: &RunFolder,
    end: JournalEnd,
    line: u64,
    by: &str,
    now: Timestamp,
) -> io::Result<Salvaged> {
    let mut journal = open_regular(&run.journal())?;
    let mut kept = Vec::new();
    journal.by_ref().take(end.offset).read_to_end(&mut kept)?;
    let mut rest = Vec::new();
    journal.seek(SeekFrom::Start(end.offset))?;
    journal.read_to_end(&mut rest)?;
    let file = free_name(run)?;
    replace_file(&run.path().join(&file), &rest)?;
    let salvaged = Salvaged {
        by: by.to_owned(),
        line,
        lost_bytes: rest.len() as u64,
        lost_records: rest.split_inclusive(|byte| *byte == b'\n').count() as u64,
        file,
    };
    let fact = Fact::Salvaged(salvaged.clone());
    let events = fact.as_event().into_iter().collect();
    Record::encode(&mut kept, true, end.seq, now, &JournalDecision::of(fact, events))?;
    // Turns that are lost will be numbered anew, and must not meet the exits of their namesakes.
    let exits = salvaged.file.replace("journal", "exits");
    let folder = OpenFolder::open(run.path())?;
    if_there(folder.rename("exits.log".as_ref(), &folder, exits.as_ref()))?;
    folder.sync()?;
    replace_file(&run.journal(), &kept)?;
    // It is of the journal as it was; readers who find it would not believe it anyway.
    let _ = remove_file(&run.snapshot());
    Ok(salvaged)
}

fn free_name(run: &RunFolder) -> io::Result<String> {
    for name in (1..).map(|n: u32| format!("journal.damaged-{n}.jsonl")) {
        if if_there(fs::symlink_metadata(run.path().join(&name)))?.is_none() {
            return Ok(name);
        }
    }
    Err(io::Error::other("no name is free"))
}
