//! Put into the copy: which mutant is on, and which ones were asked for.

use std::io::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

struct Switch {
    on: u32,
    log: Option<std::fs::File>,
}

static SWITCH: LazyLock<Switch> = LazyLock::new(|| Switch {
    on: std::env::var("QUORUM_MUTANT").ok().and_then(|id| id.parse().ok()).unwrap_or(0),
    log: std::env::var_os("QUORUM_MUTANTS_REACHED")
        .and_then(|path| std::fs::File::options().append(true).create(true).open(path).ok()),
});

static REACHED: [AtomicBool; 1 << 14] = [const { AtomicBool::new(false) }; 1 << 14];

/// Whether the mutant is switched on. Number 0 is none.
pub fn on(id: u32) -> bool {
    let switch = &*SWITCH;
    if let Some(mut log) = switch.log.as_ref()
        && let Some(reached) = REACHED.get(id as usize)
        && !reached.swap(true, Ordering::Relaxed)
    {
        // A lost line makes the mutant seem out of reach, which the result shows.
        let _ = log.write_all(format!("{id}\n").as_bytes());
    }
    switch.on == id
}
