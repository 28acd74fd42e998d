//! What a run has stored, read back where it is as it was recorded.

use serde::de::DeserializeOwned;

use crate::executor::error::WorkError;
use crate::executor::spool::{check, read_head};
use crate::review::judgement::Judgement;
use crate::store::SpoolName;
use rules::engine::{self, AuditReport, FileRef, State};

use super::Rejudge;

/// The largest judgement that is read, in bytes: digests of a work's own verdicts make up most of it.
const LARGEST_JUDGEMENT: u64 = 4 * 1024 * 1024;

impl Rejudge<'_> {
    /// The report of an audit with what it saw, if that is as it was recorded.
    pub fn audited(&self, state: &State, report: &AuditReport) -> Result<Box<AuditReport>, WorkError> {
        let file = report.file.as_ref().ok_or("nothing is on record of what it saw")?;
        let seen = self.stored(file, &SpoolName::AuditSeen(report.number), file.length)?;
        engine::evidence_of_members(&state.plan, &seen).map_err(|stranger| stranger.to_string())?;
        Ok(Box::new(AuditReport { seen: Some(Box::new(seen)), ..report.clone() }))
    }

    /// The judgement behind a verdict, if it is as it was recorded.
    pub fn judgement(&self, file: Option<&FileRef>, name: &SpoolName) -> Result<Judgement, WorkError> {
        let file = file.ok_or("an older version of quorum did not store what the verdict rests on")?;
        self.stored(file, name, LARGEST_JUDGEMENT)
    }

    /// A stored JSON document, if it is as it was recorded.
    fn stored<T: DeserializeOwned>(
        &self,
        file: &FileRef,
        name: &SpoolName,
        most: u64,
    ) -> Result<T, WorkError> {
        self.vouched(name, file)?;
        let path = self.run.spool_file(name);
        let text = read_head(&path, most)?;
        serde_json::from_str(&text)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()).into())
    }

    /// Whether a file is what was recorded; empty ones are not kept.
    pub fn vouched(&self, name: &SpoolName, file: &FileRef) -> Result<(), WorkError> {
        let path = self.run.spool_file(name);
        if file.length == 0 {
            return match path.metadata() {
                Ok(found) if found.len() > 0 => {
                    Err(format!("{} was recorded as empty", path.display()).into())
                }
                _ => Ok(()),
            };
        }
        Ok(check(&path, file)?)
    }
}
