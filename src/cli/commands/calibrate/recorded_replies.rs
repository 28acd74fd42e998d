//! Replies of live reviewers that were kept: a file of labelled rows that grows while they are asked.
//!
//! Nothing in it is ever thrown away but a line that was torn while it was written: rows that are not among the labels any
//! more, or were edited since, were paid for too.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use anyhow::anyhow;
use serde_json::{Value, json};

use crate::cli::command_error::Failure;
use rules::{
    domain::Digest,
    judging::calibration::{Collector, row_key},
};
use supervisor::files::no_links::real_path;
use supervisor::files::{LONGEST_FILE, if_there, read_regular, replace_file};

use super::bad_row;

/// The rows with replies that were kept earlier.
#[derive(Debug, Default)]
pub struct RecordedReplies {
    /// One for each row, with all that was said of it, in their order.
    rows: Vec<Value>,
    places: BTreeMap<Digest, usize>,
    /// Where the last whole line ends, in bytes.
    end: u64,
    /// Whether that line lacks its line feed.
    is_open: bool,
}

impl RecordedReplies {
    /// Reads what is there, if anything. Every whole line must be a labelled row that somebody judged.
    pub fn read(record: &Path) -> Result<Self, Failure> {
        let read = real_path(record).and_then(|record| read_regular(&record, LONGEST_FILE));
        let Some(bytes) = if_there(read).map_err(|error| unusable(record, &error))? else {
            return Ok(Self::default());
        };
        let mut kept = Self::default();
        let mut collector = Collector::default();
        for (number, line) in (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n')) {
            let is_whole = line.ends_with(b"\n");
            match whole_row(line, &mut collector) {
                Ok(row) => row.into_iter().for_each(|row| kept.add(row)),
                // It was torn while it was written.
                Err(_) if !is_whole => break,
                Err(why) => return Err(bad_row(record, number, &why)),
            }
            kept.end += line.len() as u64;
            kept.is_open = !is_whole;
        }
        Ok(kept)
    }

    fn add(&mut self, row: Value) {
        match self.places.get(&row_key(&row)) {
            Some(at) => take_over(&mut self.rows[*at], &row),
            None => {
                self.places.insert(row_key(&row), self.rows.len());
                self.rows.push(row);
            }
        }
    }

    /// The kept replies to a row.
    pub fn of(&self, row: &Value) -> Option<&Value> {
        self.places.get(&row_key(row)).map(|at| &self.rows[*at])
    }

    /// Opens the file, to be written on behind its last whole line.
    pub fn open_log(&mut self, record: &Path) -> Result<File, Failure> {
        let open = || {
            let mut log = OpenOptions::new().create(true).append(true).open(record)?;
            log.set_len(self.end)?;
            if self.is_open {
                writeln!(log)?;
            }
            Ok(log)
        };
        open().map_err(|error| unusable(record, &error))
    }

    /// Puts rows in the place of what was kept of them, in their order and each once; the others stay behind them.
    pub fn replace(self, record: &Path, rows: &[Value]) -> io::Result<()> {
        let mut others = self.places;
        let mut text = String::new();
        for row in rows {
            others.remove(&row_key(row));
            text += &format!("{row}\n");
        }
        let others: std::collections::BTreeSet<usize> = others.into_values().collect();
        for at in others {
            text += &format!("{}\n", self.rows[at]);
        }
        real_path(record).and_then(|record| replace_file(&record, text.as_bytes()))
    }
}

/// The row of a line; `None` if nothing stands there.
fn whole_row(line: &[u8], collector: &mut Collector) -> anyhow::Result<Option<Value>> {
    let line = std::str::from_utf8(line).map_err(|_| anyhow!("it is not UTF-8"))?;
    if line.trim().is_empty() {
        return Ok(None);
    }
    let row = serde_json::from_str(line).map_err(|error| anyhow!("it keeps no replies: {error}"))?;
    collector.push(line)?;
    Ok(Some(row))
}

/// The judges that a row has replies of.
pub fn judges(row: &Value) -> Vec<&str> {
    let replies = row["raw_replies"].as_array().into_iter().flatten();
    replies.filter_map(|reply| reply["judge"].as_str()).collect()
}

/// The reply of one judge to a row.
pub fn reply_of<'a>(row: &'a Value, judge: &str) -> Option<&'a Value> {
    let mut replies = row["raw_replies"].as_array().into_iter().flatten();
    replies.find(|reply| reply["judge"] == judge)
}

/// Takes replies that were kept for the same row.
pub fn take_over(row: &mut Value, earlier: &Value) {
    let kept = earlier["raw_replies"].as_array().into_iter().flatten();
    let is_new = |reply: &&Value| {
        let judge = reply["judge"].as_str();
        judge.is_some_and(|judge| reply_of(row, judge).is_none())
    };
    let new: Vec<Value> = kept.filter(is_new).cloned().collect();
    replies_mut(row).extend(new);
}

/// The replies of a row, to be added to.
pub fn replies_mut(row: &mut Value) -> &mut Vec<Value> {
    if !row["raw_replies"].is_array() {
        row["raw_replies"] = json!([]);
    }
    row["raw_replies"].as_array_mut().expect("it was made a list")
}

/// The file cannot be used.
pub fn unusable(record: &Path, error: &io::Error) -> Failure {
    environment!("cannot use {}: {error}", record.display())
}
