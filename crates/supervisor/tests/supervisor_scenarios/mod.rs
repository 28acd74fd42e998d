//! The harness: runs the scenarios one by one and reports like the usual one.

#![allow(clippy::unwrap_used, reason = "a test that unwraps in vain is red")]

/// Lists the scenarios of a module by the names of their functions.
macro_rules! scenarios {
    ($($name:ident),* $(,)?) => {
        pub const SCENARIOS: &[super::Scenario] = &[$((stringify!($name), $name)),*];
    };
}
use scenarios;

mod adoption;
mod confinement;
mod endings;
mod files;
#[path = "../../../../tests/support/machine.rs"]
mod machine;
mod measure;
mod messages;
mod outputs;
#[path = "../../../../tests/support/refused_calls.rs"]
mod refused_calls;
mod scene;
#[path = "../../../../tests/support/skipped.rs"]
mod skipped;
#[path = "../../../../tests/support/sockets.rs"]
mod sockets;
#[path = "../../../../tests/support/somebody_else.rs"]
mod somebody_else;
mod trees;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

use skipped::skipped_in;

type Scenario = (&'static str, fn());

pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--ignored") {
        measure::cost_per_child();
        measure::cost_of_confinement();
        println!("\ntest result: ok. 1 passed; 0 failed; 0 ignored; 1 measured; 0 filtered out\n");
        return ExitCode::SUCCESS;
    }
    // The only option of the usual harness whose value could be taken for a filter in everyday use.
    let is_filter = |&at: &usize| {
        let follows = at.checked_sub(1).map(|before| arguments[before].as_str());
        !arguments[at].starts_with('-') && follows != Some("--test-threads")
    };
    let filter = (0..arguments.len()).find(is_filter).map(|at| &arguments[at]);
    let all = [
        adoption::SCENARIOS,
        confinement::SCENARIOS,
        endings::SCENARIOS,
        files::SCENARIOS,
        messages::SCENARIOS,
        outputs::SCENARIOS,
        trees::SCENARIOS,
    ]
    .concat();
    let (chosen, others): (Vec<Scenario>, Vec<Scenario>) =
        all.into_iter().partition(|(name, _)| filter.is_none_or(|word| name.contains(word.as_str())));
    if has("--list") {
        chosen.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    println!("\nrunning {} tests", chosen.len());
    let started = Instant::now();
    let failed = chosen.iter().filter(|scenario| !passes(scenario)).count();
    println!(
        "\ntest result: {}. {} passed; {failed} failed; 0 ignored; 0 measured; {} filtered out; finished in {:.2}s\n",
        if failed == 0 { "ok" } else { "FAILED" },
        chosen.len() - failed,
        others.len(),
        started.elapsed().as_secs_f64(),
    );
    ExitCode::from(if failed == 0 { 0 } else { 101 })
}

fn passes((name, scenario): &Scenario) -> bool {
    let is_of_confinement = confinement::SCENARIOS.iter().any(|(other, _)| other == name);
    let play = || match is_of_confinement && !machine::makes_namespaces() {
        true => skipped_in(name, "this machine makes no namespaces for users"),
        false => scenario(),
    };
    let passed = catch_unwind(AssertUnwindSafe(play)).is_ok();
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}
