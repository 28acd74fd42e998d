//! The supervisor with real processes.
//!
//! A supervisor can only be forked by a process with one thread, so these scenarios have a small harness of their own and
//! run one after the other in the main thread. `-- --ignored` measures instead what a child costs, a word runs only the
//! scenarios whose names contain it.

#[cfg(target_os = "linux")]
mod supervisor_scenarios;

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    // Where bubblewrap confines, this program is what it starts.
    supervisor::live_as_first_of_a_namespace(&std::env::args_os().collect::<Vec<_>>());
    supervisor_scenarios::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("test result: ok. 0 passed; 0 failed; 0 ignored; the supervisor is tested on Linux");
}
