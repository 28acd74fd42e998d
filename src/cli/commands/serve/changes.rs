//! What has changed of what somebody reads: how far journals have come.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Semaphore, watch};

use crate::{
    cli::writer::has_writer,
    store::{JournalEnd, Lock, Reader, StateFolder},
};
use rules::domain::RunId;

/// Readers that may listen at the same time.
const LISTENERS: usize = 256;

/// What a page shows, and somebody listens to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Watched {
    /// The list of runs.
    Runs,
    Run(RunId),
}

/// The state of what is watched, and how far its journal was read for it.
struct ChangeWatch {
    told: watch::Sender<String>,
    end: JournalEnd,
}

/// What somebody listens to.
pub struct Changes {
    watched: Mutex<HashMap<Watched, ChangeWatch>>,
    pub listeners: Arc<Semaphore>,
}

impl Default for Changes {
    fn default() -> Self {
        Self { watched: Mutex::default(), listeners: Arc::new(Semaphore::new(LISTENERS)) }
    }
}

impl Watched {
    /// The address of its events.
    pub fn address(&self) -> String {
        match self {
            Self::Runs => "/events".to_owned(),
            Self::Run(id) => format!("/events?run={id}"),
        }
    }

    /// The state in a word that changes with it, a run's begins with the number of its events.
    pub fn state(&self, folder: &StateFolder) -> (JournalEnd, String) {
        self.state_since(folder, JournalEnd::START)
    }

    /// The state, where the journal was read so far.
    pub fn state_since(&self, folder: &StateFolder, read: JournalEnd) -> (JournalEnd, String) {
        let id = match self {
            Self::Run(id) => id,
            Self::Runs => return (read, list_state(folder)),
        };
        let run = folder.run(id);
        let live = if has_writer(folder, &run) { "live" } else { "still" };
        let read_on = |from: JournalEnd| {
            let mut reader = Reader::open_at(&run.journal(), from)?;
            while reader.next_record()?.is_some() {}
            Ok::<_, crate::store::DamagedJournal>(reader.end())
        };
        match read_on(read).or_else(|_| read_on(JournalEnd::START)) {
            Ok(end) => (end, format!("{} {live}", end.seq - 1)),
            Err(_) => (JournalEnd::START, format!("unreadable {live}")),
        }
    }
}

/// The number of runs, how long their journals are, and which of them is worked on.
fn list_state(folder: &StateFolder) -> String {
    let runs = folder.runs().unwrap_or_default();
    let lengths = runs.iter().filter_map(|run| std::fs::metadata(run.journal()).ok());
    let bytes: u64 = lengths.map(|journal| journal.len()).sum();
    let holder = Lock::holder(&folder.lock_path()).ok().flatten().flatten();
    let live = holder.and_then(|holder| holder.run).map(|run| run.to_string());
    format!("{} {bytes} {}", runs.len(), live.unwrap_or_default())
}

impl Changes {
    pub fn listen(&self, watched: Watched) -> watch::Receiver<String> {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || ChangeWatch { told: watch::channel(String::new()).0, end: JournalEnd::START };
        let mut listener = all.entry(watched).or_insert_with(fresh).told.subscribe();
        listener.mark_changed();
        listener
    }

    /// What somebody listens to, with how far its journal was read.
    pub fn heard(&self) -> Vec<(Watched, JournalEnd)> {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, watch| watch.told.receiver_count() > 0);
        all.iter().map(|(watched, watch)| (watched.clone(), watch.end)).collect()
    }

    pub fn announce(&self, watched: &Watched, (end, state): (JournalEnd, String)) {
        let mut all = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(watch) = all.get_mut(watched) {
            watch.end = end;
            watch.told.send_if_modified(|told| {
                let is_new = *told != state;
                *told = state;
                is_new
            });
        }
    }
}
