//! The engine, the journal and a disk, together, through random histories: every seed is one run of one random mission
//! with its crashes, its clock, its late and doubled news and its people. The same seed is the same history.
//!
//! `QUORUM_SIM_SEED=n` plays one seed, `QUORUM_SIM_SEEDS=n` so many of them (see `measure/README.md`).
//!
//! | file | what |
//! |---|---|
//! | `history` | one random history: what a runner, a disk, a world, a clock and some people do to one run |
//! | `missions` | missions and options that change while a run goes on |
//! | `reference_model` | a simpler account of a run from its events alone, which panics where a rule is broken |
//! | `tally` | how much of what a history had |

mod history;
mod missions;
mod reference_model;
mod tally;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use history::History;
use tally::Tally;

/// How many seeds every `cargo test` plays.
const FEW: u64 = 400;
/// How many the long test plays.
const MANY: u64 = 100_000;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Plays one seed; what it did, or where it went wrong.
fn play(seed: u64) -> Result<Tally, String> {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut history = History::new(seed);
        history.play();
        // Every so often twice: the same inputs must give the same journal, byte by byte.
        if seed.is_multiple_of(16) {
            let mut again = History::new(seed);
            again.play();
            assert!(history.disk() == again.disk(), "another journal from the same inputs");
        }
        history.tally
    }));
    outcome.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// Plays the seeds on all cores; every violation is printed with its seed.
fn play_all(seeds: u64) {
    let begin = Instant::now();
    let (next, violations) = (AtomicU64::new(0), AtomicU64::new(0));
    let sum = Mutex::new(Tally::default());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                let mut own = Tally::default();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        break;
                    }
                    match play(seed) {
                        Ok(tally) => own.add(&tally),
                        Err(what) => {
                            violations.fetch_add(1, Ordering::Relaxed);
                            println!("QUORUM_SIM_SEED={seed}: {what}");
                        }
                    }
                }
                sum.lock().expect("nobody panics while it is held").add(&own);
            });
        }
    });
    let sum = sum.into_inner().expect("nobody panics while it is held");
    let violations = violations.into_inner();
    println!("{seeds} seeds in {:.1} s: {sum}, violations {violations}", begin.elapsed().as_secs_f64());
    assert_eq!(violations, 0, "replay one with QUORUM_SIM_SEED=n");
}

#[test]
fn random_histories_break_no_rule() {
    match number("QUORUM_SIM_SEED") {
        Some(seed) => println!("{}", play(seed).unwrap_or_else(|what| panic!("seed {seed}: {what}"))),
        None => play_all(FEW),
    }
}

#[test]
#[ignore = "minutes; see measure/README.md"]
fn a_hundred_thousand_random_histories_break_no_rule() {
    play_all(number("QUORUM_SIM_SEEDS").unwrap_or(MANY));
}
