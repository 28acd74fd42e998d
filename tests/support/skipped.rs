//! What a test cannot play on this machine: told past the capture, counted, and an error where nothing may be left out.

#![allow(dead_code, reason = "each of the test binaries that share it uses a part")]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where it is 1, a test that cannot be played is red.
const NO_SKIPS: &str = "QUORUM_TEST_NO_SKIPS";
/// Names a file that takes a line for each skip, so that somebody can count those of several test binaries.
const LIST: &str = "QUORUM_TEST_SKIPS";

/// Why something was not played, and how often.
static SKIPS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

fn skips() -> MutexGuard<'static, BTreeMap<String, usize>> {
    SKIPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells that this test, or a part of it, is not played on this machine, and why. The sum is told when the tests end.
///
/// # Panics
/// Where `QUORUM_TEST_NO_SKIPS` is 1.
pub fn skipped(why: impl Into<String>) {
    skipped_in(std::thread::current().name().unwrap_or("a test"), why);
}

/// The same of a test that is not named after its thread.
///
/// # Panics
/// As [`skipped`].
pub fn skipped_in(test: &str, why: impl Into<String>) {
    let why = why.into();
    let is_error = std::env::var(NO_SKIPS).is_ok_and(|value| value == "1");
    assert!(!is_error, "{test} is not played, which {NO_SKIPS}=1 forbids: {why}");
    // Not the macro: what it prints is kept back of a test that passes.
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {why}");
    if let Some(list) = std::env::var_os(LIST) {
        let mut list = OpenOptions::new().append(true).create(true).open(list).expect("skips can be noted");
        list.write_all(format!("{test}: {why}\n").as_bytes()).expect("skips can be noted");
    }
    let mut skips = skips();
    if skips.is_empty() {
        // SAFETY: the function needs nothing that could be gone when the process ends.
        unsafe { libc::atexit(tell_the_sum) };
    }
    *skips.entry(why).or_default() += 1;
}

extern "C" fn tell_the_sum() {
    let skips = skips();
    let mut told = format!("\n{} not played on this machine:\n", skips.values().sum::<usize>());
    for (why, times) in skips.iter() {
        told.push_str(&format!("{times:>6} × {why}\n"));
    }
    let _ = io::stderr().write_all(told.as_bytes());
}
