//! The state folder and what is around it: permissions, space, lock, locale, clock.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, access, statvfs};

use crate::{
    cli::screen::Screen,
    report::{
        documents::RunState,
        documents::doctor::{CheckOutcome, HealthCheck},
    },
    runtime::{HAS_WORKERS, recover},
    store::{Holder, Lock, OperatorKey, StateFolder},
};
use supervisor::files::read_regular;

const MIB: u64 = 1024 * 1024;
/// Less free space than this is worth a word: transcripts of long runs grow.
const LITTLE_SPACE: u64 = 500 * MIB;
/// With less than this a run would fail soon.
const NO_SPACE: u64 = 20 * MIB;
/// No correct clock shows an earlier moment: 2025-01-01.
const EARLIEST: Duration = Duration::from_secs(1_735_689_600);
/// How far in the future a file may lie, for coarse clocks of network file systems.
const TOLERANCE: Duration = Duration::from_secs(120);

pub fn checks(folder: &StateFolder, screen: &Screen) -> Vec<HealthCheck> {
    vec![
        state(folder),
        space(folder.path()),
        key(),
        workers(),
        lock(folder),
        locale(screen),
        clock(folder.path()),
    ]
}

/// The folder itself, or the nearest one above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let found = path.ancestors().find(|folder| folder.exists());
    found.unwrap_or(Path::new("/")).to_owned()
}

/// The key that vouches for runs.
fn key() -> HealthCheck {
    let check = |verdict, message: String| HealthCheck::new("operator key", verdict, message);
    match OperatorKey::existing() {
        Ok(Some(key)) => check(CheckOutcome::Ok, format!("its fingerprint is {}", key.fingerprint())),
        Ok(None) => check(CheckOutcome::Ok, "none yet: the first run makes it".to_owned()),
        Err(why) => check(CheckOutcome::Warn, format!("nobody can vouch for a run: {why}")),
    }
}

/// Whether this build can hand work to other machines.
fn workers() -> HealthCheck {
    let message = if HAS_WORKERS {
        "agents with a `queue` can work on other machines"
    } else {
        "this build hands no work to other machines: it was made without the feature temporal"
    };
    let verdict = if HAS_WORKERS { CheckOutcome::Ok } else { CheckOutcome::Skipped };
    HealthCheck::new("workers", verdict, message)
}

fn state(folder: &StateFolder) -> HealthCheck {
    let path = folder.path();
    let check = |verdict, message: String| HealthCheck::new("state folder", verdict, message);
    if let Err(error) = folder.check() {
        return check(CheckOutcome::Fail, error.to_string());
    }
    let there = nearest(path);
    if !there.is_dir() {
        return check(CheckOutcome::Fail, format!("{} is not a folder", there.display()));
    }
    if let Err(error) = access(&there, Access::WRITE_OK | Access::EXEC_OK) {
        return check(CheckOutcome::Fail, format!("{} cannot be written: {error}", there.display()));
    }
    let message = if there == path {
        format!("{} can be written", path.display())
    } else {
        format!("{} is not there yet and can be made", path.display())
    };
    check(CheckOutcome::Ok, message)
}

fn space(path: &Path) -> HealthCheck {
    let check = |verdict, message: String| HealthCheck::new("free space", verdict, message);
    match statvfs(nearest(path)) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let verdict = match free {
                _ if free < NO_SPACE => CheckOutcome::Fail,
                _ if free < LITTLE_SPACE => CheckOutcome::Warn,
                _ => CheckOutcome::Ok,
            };
            check(verdict, format!("{} MiB", free / MIB))
        }
        Err(error) => check(CheckOutcome::Skipped, format!("the file system does not say: {error}")),
    }
}

pub fn lock(folder: &StateFolder) -> HealthCheck {
    let path = folder.lock_path();
    let (verdict, message) = match Lock::holder(&path) {
        Ok(None) => free(folder),
        Ok(Some(Some(holder))) => (CheckOutcome::Warn, format!("held by {}", describe(&holder))),
        Ok(Some(None)) => (CheckOutcome::Warn, "held by another process".to_owned()),
        Err(error) => (CheckOutcome::Fail, format!("{} cannot be read: {error}", path.display())),
    };
    HealthCheck::new("lock", verdict, message)
}

/// A lock that nobody holds; its file may still tell who had it last.
fn free(folder: &StateFolder) -> (CheckOutcome, String) {
    let last = read_regular(&folder.lock_path(), 4096).ok();
    match last.and_then(|text| serde_json::from_slice::<Holder>(&text).ok()) {
        // The kernel is asked, not the file. But it may only know of this machine.
        Some(holder) if !holder.is_here() => (
            CheckOutcome::Warn,
            format!(
                "free, and last held by {}, which is another machine: a file system that does not share locks between \
                 machines cannot show whether it still works there",
                describe(&holder)
            ),
        ),
        Some(holder) if has_crashed(folder, &holder) => {
            (CheckOutcome::Ok, format!("free (stale: last held by {})", describe(&holder)))
        }
        Some(_) | None => (CheckOutcome::Ok, "free".to_owned()),
    }
}

/// Whether whoever had it last did not let go in order: its session has no end on record.
fn has_crashed(folder: &StateFolder, holder: &Holder) -> bool {
    let Some(run) = holder.run.as_ref().map(|id| folder.run(id)) else {
        return false;
    };
    recover(&run, |_, _| {}).is_ok_and(|recovered| RunState::of(&recovered.state, false) == RunState::Crashed)
}

fn describe(holder: &Holder) -> String {
    format!("process {} on {} since {} ({})", holder.pid, holder.host, holder.started_at, holder.command)
}

fn locale(screen: &Screen) -> HealthCheck {
    if screen.out().style.unicode {
        HealthCheck::new("locale", CheckOutcome::Ok, "UTF-8")
    } else {
        let message = "not UTF-8: symbols are shown in ASCII (set for example LANG=C.UTF-8)";
        HealthCheck::new("locale", CheckOutcome::Warn, message)
    }
}

fn clock(path: &Path) -> HealthCheck {
    let now = SystemTime::now();
    let check = |verdict, message: &str| HealthCheck::new("clock", verdict, message);
    if now.duration_since(UNIX_EPOCH).unwrap_or_default() < EARLIEST {
        return check(
            CheckOutcome::Fail,
            "it shows a time before 2025; deadlines and times of records would be wrong",
        );
    }
    let written = fs::metadata(path).and_then(|data| data.modified());
    match written {
        Ok(written) if written > now + TOLERANCE => {
            check(CheckOutcome::Warn, "the state folder was changed in what is the future by this clock")
        }
        _ => check(CheckOutcome::Ok, "plausible"),
    }
}
