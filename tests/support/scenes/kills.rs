//! Kills at moments that look random: what decides them, and who is at work then.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

/// Numbers that look random and are the same in every run of the test.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        let index = self.below(from.len() as u64);
        from[usize::try_from(index).expect("it is an index")]
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// How long a journal is by now.
pub fn length(journal: &Path) -> u64 {
    fs::metadata(journal).map_or(0, |metadata| metadata.len())
}

/// The one child of a runner is its supervisor.
pub fn child_of(runner: Pid) -> Option<Pid> {
    let pid = runner.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
}

/// Processes that work in a folder.
pub fn at_work_in(folder: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let at_work = processes.filter(|process| {
        let cwd = fs::read_link(process.path().join("cwd"));
        cwd.is_ok_and(|cwd| cwd.starts_with(folder))
    });
    at_work.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

/// The number that a variable of the environment says.
pub fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}
