//! The folders of a worker and of its jobs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agents::secrets::Secrets;
use crate::executor::error::WorkError;

/// The folders of a worker.
pub struct WorkerFolder {
    /// What was fetched, for all workers of this user.
    pub cache: PathBuf,
    /// The jobs of this worker, locked as long as it lives.
    pub own: PathBuf,
    _lock: fs::File,
}

impl WorkerFolder {
    /// Makes the folders, and removes what workers have left that were killed. Blocks.
    pub fn make(all: &Path) -> Result<Self, WorkError> {
        let jobs = all.join("jobs");
        fs::create_dir_all(&jobs).map_err(WorkError::file("make", &jobs))?;
        for left in fs::read_dir(&jobs)
            .map_err(WorkError::file("read", &jobs))?
            .flatten()
        {
            let path = left.path();
            if fs::File::open(path.join("lock")).is_ok_and(|lock| is_free(&lock)) {
                supervisor::files::remove_all(&path).map_err(WorkError::file("remove", &path))?;
            }
        }
        let own = jobs.join(std::process::id().to_string());
        supervisor::files::remove_all(&own).map_err(WorkError::file("remove", &own))?;
        fs::create_dir(&own).map_err(WorkError::file("make", &own))?;
        let lock = own.join("lock");
        let lock = fs::File::create(&lock).map_err(WorkError::file("make", &lock))?;
        is_free(&lock);
        let cache = all.join("cache");
        Ok(Self {
            cache,
            own,
            _lock: lock,
        })
    }
}

/// Takes a lock, if nobody has it.
fn is_free(lock: &fs::File) -> bool {
    rustix::fs::flock(lock, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
}

impl Drop for WorkerFolder {
    fn drop(&mut self) {
        // What is left is removed by the next worker.
        let _ = supervisor::files::remove_all(&self.own);
    }
}

/// The folder of a job, which is gone with it.
pub struct JobFolder(pub PathBuf);

impl Drop for JobFolder {
    fn drop(&mut self) {
        // What is left is removed by the next worker.
        let _ = supervisor::files::remove_all(&self.0);
    }
}

/// Takes secrets out of the files of a folder, and removes files that are named by one. Blocks.
pub fn clean(folder: &Path, secrets: &Secrets) -> Result<(), WorkError> {
    let entries = fs::read_dir(folder).map_err(WorkError::file("read", folder))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if secrets.occur_in(&entry.file_name().to_string_lossy()) {
            supervisor::files::remove_all(&path).map_err(WorkError::file("remove", &path))?;
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            clean(&path, secrets)?;
        } else {
            crate::executor::spool::clean_file(secrets, &path)?;
        }
    }
    Ok(())
}

/// Why a folder cannot be handed back: a file in it is named by a secret. Blocks.
pub fn named_by_secrets(folder: &Path, secrets: &Secrets) -> Option<String> {
    if secrets.is_empty() {
        return None;
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name() != ".git")
        .find_map(|entry| {
            let name = entry.file_name();
            if secrets.occur_in(&name.to_string_lossy()) {
                return Some(
                    "the name of a file that it has left holds a key, so nothing of it is handed back"
                        .to_owned(),
                );
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_folder
                .then(|| named_by_secrets(&entry.path(), secrets))
                .flatten()
        })
}
