//! Looking whether a run on the disk is whole: every record, and every file that a record vouches for. And keeping the
//! good beginning of one that is not, because a person wants that.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::executor::spool::{self, Recorded};
use crate::store::{AskFile, DamagedJournal, Reader, RunFolder, Snapshot, SpoolName, keep_prefix};
use rules::domain::Timestamp;
use rules::engine::{AskEvent, Event, FileRef, RunEvent, Salvaged, TurnEvent};
use supervisor::ExitsLog;

use super::adopt::Left;
use super::origin::operator_key;
use super::recover::{RecoverError, recover};
use crate::runtime::outside::operator::ApplyError;

/// The result of a look at a run.
pub struct Inspection {
    /// The journal: records, and bytes of a torn tail.
    pub journal: Result<(u64, Option<u64>), DamagedJournal>,
    /// Whether the run can be folded; nothing is said of that where the journal is damaged.
    pub fold: Option<Result<(), RecoverError>>,
    /// Files that records vouch for and that are as recorded.
    pub files: usize,
    /// Files that records vouch for and that are not, and why.
    pub lost: Vec<(PathBuf, String)>,
    /// Prompts that are gone. They are not synced, so a power loss may take them.
    pub prompts_gone: usize,
    /// The problem of the snapshot, which nobody needs.
    pub snapshot: io::Result<()>,
    /// The supervisor's record of exits.
    pub exits: io::Result<ExitsLog>,
    /// Why the supervisor of a session that died, which still lives, cannot be reached.
    pub unreachable_supervisor: Option<String>,
}

/// Looks at everything of a run. Takes no lock and changes nothing.
pub fn inspect(run: &RunFolder) -> Inspection {
    let mut named = Vec::new();
    let journal = read_all(run, |event| named.extend(named_files(event)));
    let recovered = journal.is_ok().then(|| recover(run, |_, _| {}));
    let mut inspection = Inspection {
        unreachable_supervisor: match &recovered {
            Some(Ok(recovered)) => recovered.left().note(run),
            _ => None,
        },
        fold: recovered.map(|recovered| recovered.map(|_| ())),
        journal,
        files: 0,
        lost: Vec::new(),
        prompts_gone: 0,
        snapshot: Snapshot::compare(run, operator_key().as_ref()).map(|_| ()),
        exits: supervisor::read_exits(&run.exits()),
    };
    for (name, expected) in named {
        let is_prompt = matches!(name, SpoolName::Prompt(_));
        let path = run.spool_file(&name);
        match spool::is_as_recorded(&path, &expected) {
            Ok(()) => inspection.files += 1,
            Err(_) if is_prompt && !path.exists() => inspection.prompts_gone += 1,
            Err(error) => inspection.lost.push((path, error.to_string())),
        }
    }
    inspection
}

/// Reads a journal to its end: how many records, and the length of a torn tail.
fn read_all(run: &RunFolder, mut see: impl FnMut(&Event)) -> Result<(u64, Option<u64>), DamagedJournal> {
    let mut reader = Reader::open(&run.journal())?;
    let mut records = 0;
    while let Some(record) = reader.next_record()? {
        records += 1;
        record.events.iter().for_each(&mut see);
    }
    Ok((records, reader.torn()))
}

/// The files that records of a run vouch for, and what they say of them.
#[derive(Default)]
pub struct VerifiedFiles(HashMap<PathBuf, Recorded>);

impl VerifiedFiles {
    /// Takes what an event says.
    pub fn take(&mut self, run: &RunFolder, event: &Event) {
        let files = named_files(event).into_iter();
        self.0.extend(files.map(|(name, recorded)| (run.spool_file(&name), recorded)));
    }

    /// Whether a file is not what was recorded of it. What is not recorded is as it is. Blocks.
    pub fn is_changed(&self, path: &Path) -> bool {
        let recorded = self.0.get(path);
        recorded.is_some_and(|recorded| spool::is_as_recorded(path, recorded).is_err())
    }
}

/// The files that an event vouches for.
pub fn named_files(event: &Event) -> Vec<(SpoolName, Recorded)> {
    let named = match event {
        Event::Turn(turn, TurnEvent::Started(prompt)) => {
            let recorded = |digest| (SpoolName::Prompt(*turn), Recorded { len: None, digest });
            return prompt.digest.map(recorded).into_iter().collect();
        }
        Event::Turn(turn, TurnEvent::FilesNoted { file, .. }) => vec![(SpoolName::Before(*turn), Some(file))],
        Event::Run(RunEvent::AuditFinished { number, record, .. }) => {
            vec![(SpoolName::AuditSeen(*number), record.as_ref())]
        }
        Event::Ask(id, AskEvent::HandedOver { file, .. }) => {
            vec![(SpoolName::Ask(*id, AskFile::Handoff), Some(file))]
        }
        Event::Turn(turn, TurnEvent::Finished(end)) => {
            let ledger = end.tools.as_deref().and_then(|tools| tools.ledger.as_ref());
            vec![
                (SpoolName::Out(*turn), end.output.as_ref()),
                (SpoolName::Err(*turn), end.stderr.as_ref()),
                (SpoolName::Result(*turn), end.result_file.as_ref()),
                (SpoolName::TurnTools(*turn), ledger),
            ]
        }
        Event::Ask(id, AskEvent::Replied(said_by)) => {
            let reply = &said_by.reply;
            let ledger = reply.tools.as_deref().and_then(|tools| tools.ledger.as_ref());
            vec![
                (SpoolName::Ask(*id, AskFile::Reply), said(&reply.reply)),
                (SpoolName::Ask(*id, AskFile::Judgement), reply.judgement.as_deref()),
                (SpoolName::Ask(*id, AskFile::Tools), ledger),
            ]
        }
        Event::Ask(id, AskEvent::Failed { used: Some(used), .. }) => {
            vec![(SpoolName::Ask(*id, AskFile::Tools), used.tools.ledger.as_ref())]
        }
        _ => Vec::new(),
    };
    let there = named.into_iter();
    there.filter_map(|(name, file)| Some((name, file?.into()))).collect()
}

/// A file that says something.
fn said(file: &FileRef) -> Option<&FileRef> {
    (file.length > 0).then_some(file)
}

/// Why the good beginning of a journal could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum SalvageError {
    /// The journal cannot be used at all, or what still runs of the run cannot be ended.
    #[error(transparent)]
    Tell(#[from] ApplyError),
    /// The journal has no good beginning.
    #[error("{0}, and nothing stands before it that could be kept")]
    NothingGood(DamagedJournal),
    /// The disk says no.
    #[error("cannot cut {path}: {source}; it is as it was")]
    Io {
        /// The path of the journal.
        path: PathBuf,
        source: io::Error,
    },
}

/// Keeps the records before the damage, on record. `None` if there is no damage. The caller holds the lock of the state
/// folder.
///
/// # Errors
/// [`SalvageError`]; the journal is then as it was.
pub fn salvage(run: &RunFolder, by: &str) -> Result<Option<Salvaged>, SalvageError> {
    if run.foreign_write().exists() {
        let (run, journal) = (run.id().clone(), run.journal());
        return Err(ApplyError::Recover(RecoverError::Foreign { run, journal }).into());
    }
    let damaged = |error: DamagedJournal| ApplyError::Recover(RecoverError::Journal(error));
    let mut reader = Reader::open(&run.journal()).map_err(damaged)?;
    let mut left = Left::default();
    let damage = loop {
        match reader.next_record() {
            Ok(Some(record)) => record.events.iter().for_each(|event| left.take(event)),
            Ok(None) => return Ok(None),
            Err(damage) => break damage,
        }
    };
    let Some((line, _)) = damage.place() else {
        return Err(damaged(damage).into());
    };
    if reader.end().offset == 0 {
        return Err(SalvageError::NothingGood(damage));
    }
    // The records that are lost may have started turns, so none of them goes on.
    left.end().map_err(ApplyError::StillRuns)?;
    let kept = keep_prefix(run, reader.end(), line, by, Timestamp::now());
    kept.map(Some).map_err(|source| SalvageError::Io { path: run.journal(), source })
}
