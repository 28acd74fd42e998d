//! The folders of a worker and of its jobs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agents::secrets::Secrets;
use crate::executor::error::WorkError;

/// The folders of a worker.
pub struct WorkerFolder {
    /// The jobs of this worker, locked as long as it lives.
    pub own: JobFolder,
    _lock: fs::File,
}

impl WorkerFolder {
    /// Makes the folders, and removes what workers have left that were killed. Blocks.
    pub fn make(all: &Path) -> Result<Self, WorkError> {
        let jobs = all.join("jobs");
        fs::create_dir_all(&jobs).map_err(WorkError::file("make", &jobs))?;
        let read = || WorkError::file("read", &jobs);
        // Workers that begin at once do so one after the other: a folder is no one's before its lock is held.
        let begins = fs::File::open(&jobs).map_err(read())?;
        begins.lock()?;
        for left in fs::read_dir(&jobs).map_err(read())?.flatten() {
            let is_held = |lock: fs::File| lock.try_lock().is_err();
            if !fs::File::open(left.path().join("lock")).is_ok_and(is_held) {
                drop(JobFolder(left.path()));
            }
        }
        let own = jobs.join(format!("{:016x}", fastrand::u64(..)));
        fs::create_dir(&own).map_err(WorkError::file("make", &own))?;
        let lock = own.join("lock");
        let lock = fs::File::create(&lock).map_err(WorkError::file("make", &lock))?;
        lock.lock()?;
        Ok(Self { own: JobFolder(own), _lock: lock })
    }
}

/// The folder of a job, or of a worker, which is gone with it.
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
    entries.filter(|entry| entry.file_name() != ".git").find_map(|entry| {
        let name = entry.file_name();
        if secrets.occur_in(&name.to_string_lossy()) {
            return Some(
                "the name of a file that it has left holds a key, so nothing of it is handed back".to_owned(),
            );
        }
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder.then(|| named_by_secrets(&entry.path(), secrets)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_begin_at_once_have_a_folder_each_and_what_was_left_is_gone() {
        let all = tempfile::tempdir().unwrap();
        let jobs = all.path().join("jobs");
        for left in ["with-a-lock", "without"] {
            fs::create_dir_all(jobs.join(left)).unwrap();
        }
        fs::write(jobs.join("with-a-lock/lock"), "").unwrap();
        let workers: Vec<_> = std::thread::scope(|scope| {
            let begun: Vec<_> =
                (0..64).map(|_| scope.spawn(|| WorkerFolder::make(all.path()).unwrap())).collect();
            begun.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        assert!(workers.iter().all(|worker| worker.own.0.join("lock").exists()));
        assert_eq!(fs::read_dir(&jobs).unwrap().count(), 64);
        drop(workers);
        assert_eq!(fs::read_dir(&jobs).unwrap().count(), 0);
    }
}
