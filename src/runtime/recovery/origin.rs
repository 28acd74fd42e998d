//! Where a run comes from: whether the key of this machine's operator vouches for it (semantics, section 22).
//!
//! Agents can write to the state folder where nothing confines them. They do not have the key, so a run that they put
//! there, or one whose end they rewrote, carries no code of it, or a wrong one. `run:started` is vouched for by what it
//! says of itself; `run:finished`, and the record of what a person said, by what it says and by everything that stands before
//! it in the journal.
//!
//! A person's word without a code of this key is as if it had never been said, as long as no session went by it: whoever
//! gave it is asked again. Where one did, nobody knows where the run comes from.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::LazyLock;

use regex::bytes::Regex;

use crate::store::{
    DamagedJournal, Journal, JournalDecision, JournalEnd, JournalError, KnownRun, LONGEST_RECORD, LogFile,
    OperatorKey, Reader, Record, RunFolder, StateFolder,
};
use rules::domain::{Digest, OutcomeClass, RunId, Timestamp};
use rules::engine::{Event, OriginCode, RunEvent};
use supervisor::files::open_regular;

/// Finds records that may hold the end of a session, a person's word, or a key's code. A title or a finding
/// that reads like it only costs a closer look.
static END: LazyLock<Regex> = LazyLock::new(|| {
    let parts = r#""run":\{"finished":\{|"fact":\{"(operator|change-mission)":|,"origin":\{"#;
    Regex::new(parts).expect("it is a plain text")
});

/// The warning about a person's word that counts for nothing.
pub const UNSAID: &str = "the last word of a person carries no code of this machine's key: it counts as never said, and is asked for again \
     (machines that share QUORUM_OPERATOR_KEY share words)";

/// How much of a journal is searched at once, in bytes.
const PIECE: u64 = 1 << 20;

worded! {
    /// The origin of a run by this machine's key.
    #[derive(PartialOrd, Ord)]
    pub enum RunOrigin {
        /// A code is not that of what it stands beside: another process made this.
        Forged = "forged",
        /// Nothing is known: the run carries no code, or that of another key, or there is no key here.
        Unknown = "unknown",
        /// The run was made by whoever has the key.
        Verified = "verified",
    }
}

impl RunOrigin {
    /// The note on such a run in every output; `None` where all is well.
    #[must_use]
    pub fn note(self, run: &RunId) -> Option<String> {
        match self {
            Self::Verified => None,
            Self::Unknown => Some(match OperatorKey::existing() {
                Err(why) => format!("origin not verified: the operator's key cannot be used: {why}"),
                Ok(_) => format!(
                    "origin not verified: run {run} carries no code of this machine's key, so nobody can say who wrote it"
                ),
            }),
            Self::Forged => Some(format!(
                "origin not verified: run {run} carries a wrong code; it was changed or put there by somebody else"
            )),
        }
    }
}

/// The key of this machine's operator, if there is one that can be used.
pub fn operator_key() -> Option<OperatorKey> {
    OperatorKey::existing().ok().flatten()
}

/// The code of the beginning of a run.
pub fn code_of_start(key: &OperatorKey, run: &RunId, at: Timestamp, mission: Digest) -> OriginCode {
    code(key, &text_of_start(run, at, mission))
}

fn code(key: &OperatorKey, text: &str) -> OriginCode {
    OriginCode { key: key.fingerprint(), code: key.code(text) }
}

fn text_of_start(run: &RunId, at: Timestamp, mission: Digest) -> String {
    format!("run:started\n{run}\n{}\n{mission}", at.0)
}

fn text_of_end(
    run: &RunId,
    at: Timestamp,
    before: JournalEnd,
    conditions: [&[OutcomeClass]; 2],
    outcome: OutcomeClass,
) -> String {
    let [conditions, allowed] = conditions.map(|classes| {
        let names: Vec<&str> = classes.iter().map(|class| class.as_str()).collect();
        names.join(",")
    });
    let JournalEnd { seq, offset, checksum } = before;
    let (at, outcome) = (at.0, outcome.as_str());
    format!("run:finished\n{run}\n{at}\n{seq} {offset} {checksum}\n{outcome}\n{conditions}\n{allowed}")
}

/// Vouches for the end of a session, if it is among these events, which come next in the journal.
///
/// # Errors
/// When what stands before it cannot be written.
pub fn vouch<F: LogFile>(
    key: Option<&OperatorKey>,
    run: &RunId,
    journal: &mut Journal<F>,
    at: Timestamp,
    events: &mut [Event],
) -> Result<(), JournalError> {
    let Some(Event::Run(RunEvent::Finished { outcome, conditions, allowed, origin })) = events.last_mut()
    else {
        return Ok(());
    };
    if let Some(key) = key {
        journal.write()?;
        let text = text_of_end(run, at, journal.end(), [conditions, allowed], *outcome);
        *origin = Some(Box::new(code(key, &text)));
    }
    Ok(())
}

/// Puts a decision on record: what a person said, under the key.
pub fn push<F: LogFile>(
    key: Option<&OperatorKey>,
    run: &RunId,
    journal: &mut Journal<F>,
    (at, decision): (Timestamp, &JournalDecision),
) -> Result<(), JournalError> {
    match key.filter(|_| decision.fact.is_a_persons_word()) {
        Some(key) => journal.push_vouched(at, decision, |before, text| code_of_word(key, run, before, text)),
        None => journal.push(at, decision),
    }
}

pub fn code_of_word(key: &OperatorKey, run: &RunId, before: JournalEnd, text: &str) -> OriginCode {
    code(key, &text_of_word(run, before, text))
}

fn text_of_word(run: &RunId, before: JournalEnd, text: &str) -> String {
    format!("word\n{run}\n{} {}\n{text}", before.offset, before.checksum)
}

/// The verdict of a key on the record that was read last.
fn of_record<R: BufRead>(key: &OperatorKey, run: &RunId, record: &Record, reader: &Reader<R>) -> RunOrigin {
    let text = reader.covered().unwrap_or_default();
    says(key, record.origin.as_ref(), &text_of_word(run, reader.before(), text))
}

/// Whether the record that was read last is a person's word that the key of this machine does not vouch for, and that no session
/// has gone by.
///
/// # Errors
/// When the journal behind it cannot be read.
pub fn is_unsaid(run: &RunFolder, record: &Record, reader: &Reader) -> Result<bool, DamagedJournal> {
    let Some(key) = operator_key().filter(|_| record.fact.is_a_persons_word()) else {
        return Ok(false);
    };
    if of_record(&key, run.id(), record, reader) == RunOrigin::Verified {
        return Ok(false);
    }
    is_last_word(&key, run, reader.end())
}

/// Whether nothing but words stands behind a place of a journal, none of which vouches for it.
fn is_last_word(key: &OperatorKey, run: &RunFolder, from: JournalEnd) -> Result<bool, DamagedJournal> {
    let mut behind = Reader::open_at(&run.journal(), from)?;
    while let Some(record) = behind.next_record()? {
        let vouches = !record.fact.is_a_persons_word()
            && of_record(key, run.id(), &record, &behind) == RunOrigin::Verified;
        if vouches || !record.fact.may_come_from_outside() {
            return Ok(false);
        }
    }
    Ok(true)
}

fn says(key: &OperatorKey, origin: Option<&OriginCode>, text: &str) -> RunOrigin {
    match origin {
        Some(origin) if origin.key != key.fingerprint() => RunOrigin::Unknown,
        Some(origin) if key.verifies(text, &origin.code) => RunOrigin::Verified,
        Some(_) => RunOrigin::Forged,
        None => RunOrigin::Unknown,
    }
}

/// The verdict of a key on the beginning of a run.
fn of_start(key: &OperatorKey, run: &RunFolder, first: &Record) -> RunOrigin {
    match first.events.first() {
        Some(Event::Run(RunEvent::Started(started))) if started.run_id == *run.id() => {
            let text = text_of_start(run.id(), first.at, started.mission_digest);
            says(key, started.origin.as_ref(), &text)
        }
        _ => RunOrigin::Forged,
    }
}

/// The verdict of a key on all of a run, see [`vouched`].
pub fn origin(run: &RunFolder, key: Option<&OperatorKey>) -> RunOrigin {
    vouched(run, key).origin
}

/// The verdict of a key on all of a run, and how far its journal was read for that.
#[derive(Debug, Clone, Copy)]
pub struct CheckedOrigin {
    /// The worst that the key says of its beginning, of the end of each session and of what people said that sessions went by,
    /// since somebody vouched for all of it.
    pub origin: RunOrigin,
    /// The bytes of the journal that were read, with their checksum; the number of the event is not counted (0).
    pub read: Option<JournalEnd>,
}

/// Checks all of a run by a key. A journal that cannot be read is for whoever folds it to complain about.
pub fn vouched(run: &RunFolder, key: Option<&OperatorKey>) -> CheckedOrigin {
    let Some(key) = key else {
        return CheckedOrigin { origin: RunOrigin::Unknown, read: None };
    };
    let mut worst = RunOrigin::Verified;
    let mut word = None;
    let looked = each_end(run, |line, before| {
        let record = Record::of_line(line).ok()?;
        let text = Record::covered(line).unwrap_or_default();
        let said = match record.events.last() {
            _ if record.origin.is_some() || record.fact.is_a_persons_word() => {
                let said = says(key, record.origin.as_ref(), &text_of_word(run.id(), before, text));
                match said {
                    RunOrigin::Verified if record.fact.is_a_persons_word() => {}
                    RunOrigin::Verified => (worst, word) = (said, None),
                    _ => {
                        let seq = record.seq;
                        word.get_or_insert((said, JournalEnd { seq, ..before }));
                    }
                }
                return None;
            }
            _ if before.offset == 0 => of_start(key, run, &record),
            Some(Event::Run(RunEvent::Finished { outcome, conditions, allowed, origin })) => {
                let before = JournalEnd { seq: record.seq, ..before };
                let text = text_of_end(run.id(), record.at, before, [conditions, allowed], *outcome);
                let said = says(key, origin.as_deref(), &text);
                word = word.filter(|_| said != RunOrigin::Verified);
                said
            }
            _ => return None,
        };
        worst = worst.min(said);
        Some(())
    });
    if let Some((said, from)) = word
        && !is_last_word(key, run, from).unwrap_or(false)
    {
        worst = worst.min(said);
    }
    let origin = match looked {
        // A flipped byte is not forged: whoever folds the journal names the place.
        Ok(_) if worst == RunOrigin::Forged && !is_whole(run) => RunOrigin::Unknown,
        Ok(_) => worst,
        Err(_) => RunOrigin::Unknown,
    };
    CheckedOrigin { origin, read: looked.ok() }
}

/// Whether every record of a journal can be read.
pub fn is_whole(run: &RunFolder) -> bool {
    Reader::end_of(&run.journal()).is_ok()
}

/// Shows the first whole line of a journal, and each that may hold the end of a session, with what stands before it, and
/// returns how far it read. A journal is searched in pieces, for most of its lines are none of them.
fn each_end(run: &RunFolder, mut see: impl FnMut(&[u8], JournalEnd) -> Option<()>) -> io::Result<JournalEnd> {
    let mut input = BufReader::with_capacity(256 * 1024, open_regular(&run.journal())?);
    let mut checksum = crc32fast::Hasher::new();
    let (mut piece, mut offset) = (Vec::new(), 0);
    let end = |offset, checksum: &crc32fast::Hasher| JournalEnd {
        seq: 0,
        offset,
        checksum: checksum.clone().finalize(),
    };
    loop {
        piece.clear();
        input.by_ref().take(PIECE).read_to_end(&mut piece)?;
        input.by_ref().take(LONGEST_RECORD).read_until(b'\n', &mut piece)?;
        let is_searched = offset == 0 || END.is_match(&piece);
        let lines = piece.split_inclusive(|byte| *byte == b'\n' && is_searched);
        for line in lines {
            if is_searched && (offset == 0 || END.is_match(line)) {
                let Some(record) = line.strip_suffix(b"\n") else {
                    return Ok(end(offset, &checksum));
                };
                see(record, end(offset, &checksum));
            }
            checksum.update(line);
            offset += line.len() as u64;
        }
        if piece.is_empty() {
            return Ok(end(offset, &checksum));
        }
    }
}

/// The verdict of a key on the beginning of each run, and whether it verifies any.
fn beginnings(runs: &[KnownRun], key: Option<&OperatorKey>) -> (Vec<RunOrigin>, RunOrigin) {
    let begins = |known: &KnownRun| match (key, &known.first) {
        (Some(key), Some(first)) => of_start(key, &known.folder, first),
        _ => RunOrigin::Unknown,
    };
    let begins: Vec<RunOrigin> = runs.iter().map(begins).collect();
    let needed = if begins.contains(&RunOrigin::Verified) { RunOrigin::Verified } else { RunOrigin::Unknown };
    (begins, needed)
}

/// The newest run that can be trusted, and what was passed over for it.
#[derive(Debug)]
pub struct Newest {
    /// The run, and what the key says of all of it; `None` where there is none.
    pub run: Option<(RunFolder, CheckedOrigin)>,
    /// Newer ones that another process may have put there, the newest first.
    pub passed_over: Vec<RunFolder>,
}

/// The run that began last. Where this machine's key verifies any run, one that it does not verify is passed over; where
/// it verifies none, because the folder was carried here without its key, only what is plainly forged is.
pub fn newest(runs: Vec<KnownRun>, key: Option<&OperatorKey>) -> Newest {
    let (begins, needed) = beginnings(&runs, key);
    let mut passed_over = Vec::new();
    for (known, begins) in runs.into_iter().zip(begins).rev() {
        // Of one that cannot be read nobody can say that it is not the newest: whoever opens it will hear why.
        let unreadable = known.first.is_none();
        if unreadable || begins >= needed {
            let vouched = vouched(&known.folder, key);
            if unreadable || vouched.origin != RunOrigin::Forged {
                return Newest { run: Some((known.folder, vouched)), passed_over };
            }
        }
        passed_over.push(known.folder);
    }
    Newest { run: None, passed_over }
}

/// The moment that the beginning of the next run gets: now, but behind that of every run of the folder, whatever the
/// clocks of those who made them said (semantics, section 22). A planted run moves no clock.
pub fn next_start(folder: &StateFolder, key: Option<&OperatorKey>) -> Timestamp {
    let runs = folder.known_runs().unwrap_or_default();
    let (begins, needed) = beginnings(&runs, key);
    let trusted = runs.iter().zip(begins).filter(|(_, begins)| *begins >= needed);
    let newest = trusted.filter_map(|(known, _)| Some(known.first.as_ref()?.at)).max();
    let now = Timestamp::now();
    newest.map_or(now, |newest| now.max(Timestamp(newest.0.saturating_add(1))))
}
